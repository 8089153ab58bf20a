/* What the nodes of graphs do: the runtime's parameters in the driver's terms, and back. CUDA Runtime API, "Graph
 * Management". */
#include "runtime.h"

_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "parameters differ");
_Static_assert(sizeof(struct cudaMemAllocNodeParamsV2) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2), "parameters differ");
_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "parameters differ");
_Static_assert(sizeof(struct cudaExternalSemaphoreSignalNodeParams) == sizeof(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS),
	       "parameters differ");
_Static_assert(sizeof(struct cudaExternalSemaphoreWaitNodeParams) == sizeof(CUDA_EXT_SEM_WAIT_NODE_PARAMS),
	       "parameters differ");
_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(CUgraphNodeParams), "parameters differ");

static CUcontext node_context(void)
{
	CUcontext context = NULL;
	cuCtxGetCurrent(&context);
	return context;
}

/* ---- kernels -------------------------------------------------------------------------------------------------------------- */

/* A kernel that the program registered is a CUkernel, for which the driver has a field of its own. */
static cudaError_t kernel_to_driver(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *out)
{
	CUfunction function;
	const char *name;
	if (!p)
		return cudaErrorInvalidValue;
	cudaError_t error = register_find_function(p->func, &function);
	if (error)
		return error;
	*out = (CUDA_KERNEL_NODE_PARAMS){
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
		.ctx = node_context(),
	};
	if (!cuKernelGetName(&name, (CUkernel)function))
		out->kern = (CUkernel)function;
	else
		out->func = function;
	return cudaSuccess;
}

static void kernel_from_driver(const CUDA_KERNEL_NODE_PARAMS *p, struct cudaKernelNodeParams *out)
{
	/* A kernel may be in either place: a CUkernel serves as a CUfunction too. */
	const void *function = register_host_address(p->kern ? p->kern : (CUkernel)p->func);
	*out = (struct cudaKernelNodeParams){
		.func = (void *)(uintptr_t)function,
		.gridDim = { p->gridDimX, p->gridDimY, p->gridDimZ },
		.blockDim = { p->blockDimX, p->blockDimY, p->blockDimZ },
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
}

cudaError_t impl_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					size_t count, const struct cudaKernelNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS converted;
	RUNTIME_REQUIRE();
	cudaError_t error = kernel_to_driver(parameters, &converted);
	return runtime_result(error ? (int)error :
				      (int)cuGraphAddKernelNode_v2(node, graph, dependencies, count, &converted));
}

cudaError_t impl_cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS found;
	RUNTIME_REQUIRE();
	CUresult result = parameters ? cuGraphKernelNodeGetParams_v2(node, &found) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		kernel_from_driver(&found, parameters);
	return runtime_result(result);
}

cudaError_t impl_cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS converted;
	RUNTIME_REQUIRE();
	cudaError_t error = kernel_to_driver(parameters, &converted);
	return runtime_result(error ? (int)error : (int)cuGraphKernelNodeSetParams_v2(node, &converted));
}

cudaError_t impl_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						  const struct cudaKernelNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS converted;
	RUNTIME_REQUIRE();
	cudaError_t error = kernel_to_driver(parameters, &converted);
	return runtime_result(error ? (int)error : (int)cuGraphExecKernelNodeSetParams_v2(exec, node, &converted));
}

cudaError_t impl_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from)
{
	return RUNTIME(cuGraphKernelNodeCopyAttributes(to, from));
}

cudaError_t impl_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
						 cudaLaunchAttributeValue *value)
{
	return RUNTIME(cuGraphKernelNodeGetAttribute(node, (CUkernelNodeAttrID)attribute, (CUkernelNodeAttrValue *)value));
}

cudaError_t impl_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
						 const cudaLaunchAttributeValue *value)
{
	return RUNTIME(cuGraphKernelNodeSetAttribute(node, (CUkernelNodeAttrID)attribute, (const CUkernelNodeAttrValue *)value));
}

/* ---- copies ------------------------------------------------------------------------------------------------------------------- */

/* A copy to or from a variable is one of plain bytes, once it is known where the variable lies. */
static cudaError_t to_symbol(const void *symbol, const void *from, size_t count, size_t offset, enum cudaMemcpyKind kind,
			     CUDA_MEMCPY3D *copy)
{
	void *address;
	if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost)
		return cudaErrorInvalidMemcpyDirection;
	cudaError_t error = symbol_range(symbol, offset, count, &address);
	return error ? error : copy_linear(address, from, count, kind, copy);
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
			       CUDA_MEMCPY3D *copy)
{
	void *address;
	if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice)
		return cudaErrorInvalidMemcpyDirection;
	cudaError_t error = symbol_range(symbol, offset, count, &address);
	return error ? error : copy_linear(to, address, count, kind, copy);
}

/* The body of the copy functions: `convert` fills `copy`, and `call` hands it to the driver. */
#define WITH_COPY(convert, call)                                                                                       \
	do {                                                                                                           \
		CUDA_MEMCPY3D copy;                                                                                    \
		RUNTIME_REQUIRE();                                                                                     \
		cudaError_t error_ = (convert);                                                                        \
		return runtime_result(error_ ? (int)error_ : (int)(call));                                             \
	} while (0)

cudaError_t impl_cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					size_t count, const struct cudaMemcpy3DParms *parameters)
{
	WITH_COPY(copy_to_driver(parameters, &copy),
		  cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, node_context()));
}

cudaError_t impl_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					  size_t count, void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
	WITH_COPY(copy_linear(to, from, size, kind, &copy),
		  cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, node_context()));
}

cudaError_t impl_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
						size_t count, const void *symbol, const void *from, size_t size, size_t offset,
						enum cudaMemcpyKind kind)
{
	WITH_COPY(to_symbol(symbol, from, size, offset, kind, &copy),
		  cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, node_context()));
}

cudaError_t impl_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
						  size_t count, void *to, const void *symbol, size_t size, size_t offset,
						  enum cudaMemcpyKind kind)
{
	WITH_COPY(from_symbol(to, symbol, size, offset, kind, &copy),
		  cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, node_context()));
}

cudaError_t impl_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *parameters)
{
	CUDA_MEMCPY3D copy;
	RUNTIME_REQUIRE();
	CUresult result = parameters ? cuGraphMemcpyNodeGetParams(node, &copy) : CUDA_ERROR_INVALID_VALUE;
	return runtime_result(result ? (int)result : (int)copy_from_driver(&copy, parameters));
}

cudaError_t impl_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *parameters)
{
	WITH_COPY(copy_to_driver(parameters, &copy), cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t impl_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t size,
						enum cudaMemcpyKind kind)
{
	WITH_COPY(copy_linear(to, from, size, kind, &copy), cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t impl_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *from, size_t size,
						      size_t offset, enum cudaMemcpyKind kind)
{
	WITH_COPY(to_symbol(symbol, from, size, offset, kind, &copy), cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t impl_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *to, const void *symbol, size_t size,
							size_t offset, enum cudaMemcpyKind kind)
{
	WITH_COPY(from_symbol(to, symbol, size, offset, kind, &copy), cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t impl_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						  const struct cudaMemcpy3DParms *parameters)
{
	WITH_COPY(copy_to_driver(parameters, &copy), cuGraphExecMemcpyNodeSetParams(exec, node, &copy, node_context()));
}

cudaError_t impl_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *from,
						    size_t size, enum cudaMemcpyKind kind)
{
	WITH_COPY(copy_linear(to, from, size, kind, &copy), cuGraphExecMemcpyNodeSetParams(exec, node, &copy, node_context()));
}

cudaError_t impl_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void *symbol,
							  const void *from, size_t size, size_t offset,
							  enum cudaMemcpyKind kind)
{
	WITH_COPY(to_symbol(symbol, from, size, offset, kind, &copy),
		  cuGraphExecMemcpyNodeSetParams(exec, node, &copy, node_context()));
}

cudaError_t impl_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
							    const void *symbol, size_t size, size_t offset,
							    enum cudaMemcpyKind kind)
{
	WITH_COPY(from_symbol(to, symbol, size, offset, kind, &copy),
		  cuGraphExecMemcpyNodeSetParams(exec, node, &copy, node_context()));
}

/* ---- sets ----------------------------------------------------------------------------------------------------------------------- */

static CUDA_MEMSET_NODE_PARAMS set_to_driver(const struct cudaMemsetParams *p)
{
	return (CUDA_MEMSET_NODE_PARAMS){ device_pointer(p->dst), p->pitch, p->value, p->elementSize, p->width, p->height };
}

cudaError_t impl_cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					size_t count, const struct cudaMemsetParams *parameters)
{
	if (!parameters)
		return runtime_result(cudaErrorInvalidValue);
	CUDA_MEMSET_NODE_PARAMS converted = set_to_driver(parameters);
	return RUNTIME(cuGraphAddMemsetNode(node, graph, dependencies, count, &converted, node_context()));
}

cudaError_t impl_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *parameters)
{
	CUDA_MEMSET_NODE_PARAMS p;
	RUNTIME_REQUIRE();
	CUresult result = parameters ? cuGraphMemsetNodeGetParams(node, &p) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*parameters = (struct cudaMemsetParams){ host_pointer(p.dst), p.pitch, p.value, p.elementSize, p.width, p.height };
	return runtime_result(result);
}

cudaError_t impl_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *parameters)
{
	if (!parameters)
		return runtime_result(cudaErrorInvalidValue);
	CUDA_MEMSET_NODE_PARAMS converted = set_to_driver(parameters);
	return RUNTIME(cuGraphMemsetNodeSetParams(node, &converted));
}

cudaError_t impl_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						  const struct cudaMemsetParams *parameters)
{
	if (!parameters)
		return runtime_result(cudaErrorInvalidValue);
	CUDA_MEMSET_NODE_PARAMS converted = set_to_driver(parameters);
	return RUNTIME(cuGraphExecMemsetNodeSetParams(exec, node, &converted, node_context()));
}

/* ---- host functions, child graphs, events, nothing --------------------------------------------------------------------------------- */

cudaError_t impl_cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				      size_t count, const struct cudaHostNodeParams *parameters)
{
	return RUNTIME(cuGraphAddHostNode(node, graph, dependencies, count, (const CUDA_HOST_NODE_PARAMS *)parameters));
}

cudaError_t impl_cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *parameters)
{
	return RUNTIME(cuGraphHostNodeGetParams(node, (CUDA_HOST_NODE_PARAMS *)parameters));
}

cudaError_t impl_cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *parameters)
{
	return RUNTIME(cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS *)parameters));
}

cudaError_t impl_cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
						const struct cudaHostNodeParams *parameters)
{
	return RUNTIME(cuGraphExecHostNodeSetParams(exec, node, (const CUDA_HOST_NODE_PARAMS *)parameters));
}

cudaError_t impl_cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					    size_t count, cudaGraph_t child)
{
	return RUNTIME(cuGraphAddChildGraphNode(node, graph, dependencies, count, child));
}

cudaError_t impl_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph)
{
	return RUNTIME(cuGraphChildGraphNodeGetGraph(node, graph));
}

cudaError_t impl_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child)
{
	return RUNTIME(cuGraphExecChildGraphNodeSetParams(exec, node, child));
}

cudaError_t impl_cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				       size_t count)
{
	return RUNTIME(cuGraphAddEmptyNode(node, graph, dependencies, count));
}

cudaError_t impl_cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					     size_t count, cudaEvent_t event)
{
	return RUNTIME(cuGraphAddEventRecordNode(node, graph, dependencies, count, event));
}

cudaError_t impl_cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
	return RUNTIME(cuGraphEventRecordNodeGetEvent(node, event));
}

cudaError_t impl_cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	return RUNTIME(cuGraphEventRecordNodeSetEvent(node, event));
}

cudaError_t impl_cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event)
{
	return RUNTIME(cuGraphExecEventRecordNodeSetEvent(exec, node, event));
}

cudaError_t impl_cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					   size_t count, cudaEvent_t event)
{
	return RUNTIME(cuGraphAddEventWaitNode(node, graph, dependencies, count, event));
}

cudaError_t impl_cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
	return RUNTIME(cuGraphEventWaitNodeGetEvent(node, event));
}

cudaError_t impl_cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	return RUNTIME(cuGraphEventWaitNodeSetEvent(node, event));
}

cudaError_t impl_cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event)
{
	return RUNTIME(cuGraphExecEventWaitNodeSetEvent(exec, node, event));
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					  size_t count, struct cudaMemAllocNodeParams *parameters)
{
	return RUNTIME(cuGraphAddMemAllocNode(node, graph, dependencies, count, (CUDA_MEM_ALLOC_NODE_PARAMS *)parameters));
}

cudaError_t impl_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *parameters)
{
	return RUNTIME(cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)parameters));
}

cudaError_t impl_cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					 size_t count, void *pointer)
{
	return RUNTIME(cuGraphAddMemFreeNode(node, graph, dependencies, count, device_pointer(pointer)));
}

cudaError_t impl_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *pointer)
{
	return RUNTIME(cuGraphMemFreeNodeGetParams(node, (CUdeviceptr *)pointer));
}

/* ---- any kind of node ----------------------------------------------------------------------------------------------------------------- */

static cudaError_t any_to_driver(const struct cudaGraphNodeParams *p, CUgraphNodeParams *out)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	cudaError_t error = cudaSuccess;
	*out = (CUgraphNodeParams){ .type = (CUgraphNodeType)p->type };
	switch (p->type) {
	case cudaGraphNodeTypeKernel:
		error = kernel_to_driver((const struct cudaKernelNodeParams *)(const void *)&p->kernel, &kernel);
		_Static_assert(sizeof out->kernel == sizeof kernel, "kernel node parameters differ");
		memcpy(&out->kernel, &kernel, sizeof kernel);
		break;
	case cudaGraphNodeTypeMemcpy:
		out->memcpy.flags = p->memcpy.flags;
		out->memcpy.copyCtx = node_context();
		error = copy_to_driver(&p->memcpy.copyParams, &out->memcpy.copyParams);
		break;
	case cudaGraphNodeTypeMemset:
		out->memset = (CUDA_MEMSET_NODE_PARAMS_v2){ device_pointer(p->memset.dst), p->memset.pitch, p->memset.value,
							    p->memset.elementSize, p->memset.width, p->memset.height,
							    node_context() };
		break;
	case cudaGraphNodeTypeConditional:
		out->conditional.handle = p->conditional.handle;
		out->conditional.type = (CUgraphConditionalNodeType)p->conditional.type;
		out->conditional.size = p->conditional.size;
		out->conditional.phGraph_out = p->conditional.phGraph_out;
		out->conditional.ctx = node_context();
		break;
	default: /* the others are alike in both APIs */
		memcpy(out->reserved1, p->reserved1, sizeof out->reserved1);
	}
	return error;
}

/* What the driver fills in when it adds a node: where memory lies, the bodies of a condition. */
static void any_take_results(struct cudaGraphNodeParams *p, const CUgraphNodeParams *converted)
{
	if (p->type == cudaGraphNodeTypeMemAlloc)
		p->alloc.dptr = host_pointer(converted->alloc.dptr);
	else if (p->type == cudaGraphNodeTypeConditional)
		p->conditional.phGraph_out = converted->conditional.phGraph_out;
}

cudaError_t impl_cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				     const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *parameters)
{
	CUgraphNodeParams converted;
	RUNTIME_REQUIRE();
	cudaError_t error = parameters ? any_to_driver(parameters, &converted) : cudaErrorInvalidValue;
	if (!error)
		error = (cudaError_t)cuGraphAddNode_v2(node, graph, dependencies, (const CUgraphEdgeData *)edges, count,
						       &converted);
	if (!error)
		any_take_results(parameters, &converted);
	return runtime_result(error);
}

#if DRAGOMAN_CUDART_MAJOR == 13
cudaError_t impl_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				  const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *parameters)
{
	return impl_cudaGraphAddNode_v2(node, graph, dependencies, edges, count, parameters);
}
#endif

cudaError_t impl_cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *parameters)
{
	CUgraphNodeParams converted;
	RUNTIME_REQUIRE();
	cudaError_t error = parameters ? any_to_driver(parameters, &converted) : cudaErrorInvalidValue;
	return runtime_result(error ? (int)error : (int)cuGraphNodeSetParams(node, &converted));
}

cudaError_t impl_cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *parameters)
{
	CUgraphNodeParams converted;
	RUNTIME_REQUIRE();
	cudaError_t error = parameters ? any_to_driver(parameters, &converted) : cudaErrorInvalidValue;
	return runtime_result(error ? (int)error : (int)cuGraphExecNodeSetParams(exec, node, &converted));
}
