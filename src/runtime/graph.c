/* Graphs: their life, structure and execution. CUDA Runtime API, "Graph Management". Graphs, nodes and executable graphs
 * are the driver's; graph_node.c translates what nodes do. */
#include "runtime.h"

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "edge data differ");
_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS), "parameters differ");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo), "update results differ");

cudaError_t impl_cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
	return RUNTIME(cuGraphCreate(graph, flags));
}

cudaError_t impl_cudaGraphDestroy(cudaGraph_t graph)
{
	return RUNTIME(cuGraphDestroy(graph));
}

cudaError_t impl_cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
	return RUNTIME(cuGraphClone(clone, graph));
}

cudaError_t impl_cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
	return RUNTIME(cuGraphDebugDotPrint(graph, path, flags | CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES));
}

/* ---- structure ------------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone)
{
	return RUNTIME(cuGraphNodeFindInClone(node, original, clone));
}

cudaError_t impl_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
	return RUNTIME(cuGraphNodeGetType(node, (CUgraphNodeType *)type));
}

cudaError_t impl_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	return RUNTIME(cuGraphGetNodes(graph, nodes, count));
}

cudaError_t impl_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	return RUNTIME(cuGraphGetRootNodes(graph, nodes, count));
}

cudaError_t impl_cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
				      size_t *count)
{
	return RUNTIME(cuGraphGetEdges_v2(graph, from, to, (CUgraphEdgeData *)edges, count));
}

cudaError_t impl_cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *dependencies, cudaGraphEdgeData *edges,
						 size_t *count)
{
	return RUNTIME(cuGraphNodeGetDependencies_v2(node, dependencies, (CUgraphEdgeData *)edges, count));
}

cudaError_t impl_cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t *dependents, cudaGraphEdgeData *edges,
						   size_t *count)
{
	return RUNTIME(cuGraphNodeGetDependentNodes_v2(node, dependents, (CUgraphEdgeData *)edges, count));
}

cudaError_t impl_cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					     const cudaGraphEdgeData *edges, size_t count)
{
	return RUNTIME(cuGraphAddDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges, count));
}

cudaError_t impl_cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
						const cudaGraphEdgeData *edges, size_t count)
{
	return RUNTIME(cuGraphRemoveDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges, count));
}

#if DRAGOMAN_CUDART_MAJOR == 13
cudaError_t impl_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
				   size_t *count)
{
	return impl_cudaGraphGetEdges_v2(graph, from, to, edges, count);
}

cudaError_t impl_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *dependencies, cudaGraphEdgeData *edges,
					      size_t *count)
{
	return impl_cudaGraphNodeGetDependencies_v2(node, dependencies, edges, count);
}

cudaError_t impl_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *dependents, cudaGraphEdgeData *edges,
						size_t *count)
{
	return impl_cudaGraphNodeGetDependentNodes_v2(node, dependents, edges, count);
}

cudaError_t impl_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					  const cudaGraphEdgeData *edges, size_t count)
{
	return impl_cudaGraphAddDependencies_v2(graph, from, to, edges, count);
}

cudaError_t impl_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					     const cudaGraphEdgeData *edges, size_t count)
{
	return impl_cudaGraphRemoveDependencies_v2(graph, from, to, edges, count);
}
#endif

cudaError_t impl_cudaGraphDestroyNode(cudaGraphNode_t node)
{
	return RUNTIME(cuGraphDestroyNode(node));
}

/* ---- executable graphs -------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	return RUNTIME(cuGraphInstantiateWithFlags(exec, graph, flags));
}

cudaError_t impl_cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	return impl_cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t impl_cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *parameters)
{
	return RUNTIME(cuGraphInstantiateWithParams(exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)parameters));
}

cudaError_t impl_cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
	return RUNTIME(cuGraphExecGetFlags(exec, (cuuint64_t *)flags));
}

cudaError_t impl_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
	return RUNTIME(cuGraphExecUpdate_v2(exec, graph, (CUgraphExecUpdateResultInfo *)info));
}

cudaError_t impl_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
	return RUNTIME(cuGraphUpload(exec, stream));
}

cudaError_t impl_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	return RUNTIME(cuGraphLaunch(exec, stream));
}

cudaError_t impl_cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	return RUNTIME(cuGraphExecDestroy(exec));
}

cudaError_t impl_cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled)
{
	return RUNTIME(cuGraphNodeSetEnabled(exec, node, enabled));
}

cudaError_t impl_cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *enabled)
{
	return RUNTIME(cuGraphNodeGetEnabled(exec, node, enabled));
}

/* ---- user objects, memory of graphs, conditions ----------------------------------------------------------------------------------- */

cudaError_t impl_cudaUserObjectCreate(cudaUserObject_t *object, void *pointer, cudaHostFn_t destroy, unsigned int count,
				      unsigned int flags)
{
	return RUNTIME(cuUserObjectCreate(object, pointer, destroy, count, flags));
}

cudaError_t impl_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
	return RUNTIME(cuUserObjectRetain(object, count));
}

cudaError_t impl_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
	return RUNTIME(cuUserObjectRelease(object, count));
}

cudaError_t impl_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags)
{
	return RUNTIME(cuGraphRetainUserObject(graph, object, count, flags));
}

cudaError_t impl_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
	return RUNTIME(cuGraphReleaseUserObject(graph, object, count));
}

cudaError_t impl_cudaDeviceGraphMemTrim(int device)
{
	return RUNTIME(cuDeviceGraphMemTrim(device));
}

cudaError_t impl_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value)
{
	return RUNTIME(cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value));
}

cudaError_t impl_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value)
{
	return RUNTIME(cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value));
}

cudaError_t impl_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned int value,
						  unsigned int flags)
{
	CUcontext context;
	RUNTIME_REQUIRE();
	CUresult result = cuCtxGetCurrent(&context);
	return runtime_result(result ? result :
				       cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)handle, graph, context, value,
								      flags));
}
