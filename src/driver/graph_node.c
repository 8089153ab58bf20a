/* Adding nodes, and their parameters: the functions for one type each come down to cuGraphAddNode,
 * cuGraphNodeSetParams and work_parameters(). CUDA Driver API 6.23. */
#define _GNU_SOURCE
#include "driver/graph.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/launch.h"

static CUresult find_dependencies(const CUgraphNode *handles, size_t count, struct node ***out)
{
	*out = NULL;
	if (!count)
		return CUDA_SUCCESS;
	if (!handles)
		return CUDA_ERROR_INVALID_VALUE;
	*out = malloc(count * sizeof **out);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++) {
		(*out)[i] = node_check(handles[i]);
		if (!(*out)[i]) {
			free(*out);
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return CUDA_SUCCESS;
}

static CUresult add(CUgraphNode *handle, CUgraph graph_handle, const CUgraphNode *after, const CUgraphEdgeData *data, size_t count,
		    const CUgraphNodeParams *parameters, struct node **out)
{
	struct graph *graph;
	struct node **dependencies, *node;
	struct work work;
	CUresult status = graph_find(graph_handle, &graph);

	if (status)
		return status;
	if (!handle || !parameters)
		return CUDA_ERROR_INVALID_VALUE;
	status = find_dependencies(after, count, &dependencies);
	if (status)
		return status;
	status = work_of_parameters(&work, parameters);
	if (!status) {
		status = graph_add(graph, &work, dependencies, data, count, &node);
		if (status && work.type != CU_GRAPH_NODE_TYPE_GRAPH)
			work_fini(&work);
	}
	free(dependencies);
	if (status)
		return status;
	*handle = (CUgraphNode)node;
	if (out)
		*out = node;
	return CUDA_SUCCESS;
}

/* What the call tells the program through the parameters. */
static void report(const struct node *node, CUgraphNodeParams *parameters)
{
	if (node->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		parameters->alloc.dptr = node->work.allocate.parameters.dptr;
	else if (node->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		parameters->conditional.phGraph_out = node->work.conditional.bodies;
}

CUresult impl_cuGraphAddNode_v2(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *data,
				size_t count, CUgraphNodeParams *parameters)
{
	struct node *node;
	CUresult status = add(handle, graph, after, data, count, parameters, &node);

	if (!status)
		report(node, parameters);
	return status;
}

CUresult impl_cuGraphAddNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count,
			     CUgraphNodeParams *parameters)
{
	return impl_cuGraphAddNode_v2(handle, graph, after, NULL, count, parameters);
}

CUresult impl_cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams *parameters)
{
	struct node *node;
	CUresult status = node_find(handle, &node);

	if (status)
		return status;
	return parameters ? work_set(&node->work, parameters) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
	struct node *node;
	CUresult status = node_find(handle, &node);

	if (status)
		return status;
	if (!type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->work.type;
	return CUDA_SUCCESS;
}

/* The node, where it is of that type. */
static CUresult find_typed(CUgraphNode handle, CUgraphNodeType type, struct node **node)
{
	CUresult status = node_find(handle, node);

	return status || (*node)->work.type == type ? status : CUDA_ERROR_INVALID_VALUE;
}

/* The functions for one type each: their structure, whichever version, is the beginning of its member of CUgraphNodeParams. */

static CUresult add_part(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count, struct part part, const void *in)
{
	CUgraphNodeParams parameters;
	CUresult status = part_parameters(&parameters, part, in);

	return status ? status : add(handle, graph, after, NULL, count, &parameters, NULL);
}

static CUresult get_part(CUgraphNode handle, struct part part, void *out)
{
	CUgraphNodeParams parameters;
	struct node *node;
	CUresult status = find_typed(handle, part.type, &node);

	if (status)
		return status;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	work_parameters(&node->work, &parameters);
	memcpy(out, (const char *)&parameters + part.offset, part.size);
	return CUDA_SUCCESS;
}

static CUresult set_part(CUgraphNode handle, struct part part, const void *in)
{
	CUgraphNodeParams parameters;
	struct node *node;
	CUresult status = part_parameters(&parameters, part, in);

	if (!status)
		status = find_typed(handle, part.type, &node);
	return status ? status : work_set(&node->work, &parameters);
}

CUresult part_parameters(CUgraphNodeParams *parameters, struct part part, const void *in)
{
	*parameters = (CUgraphNodeParams){.type = part.type};
	if (!in)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy((char *)parameters + part.offset, in, part.size);
	return CUDA_SUCCESS;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

CUresult impl_cuGraphAddKernelNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count,
				   const CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
	return add_part(handle, graph, after, count, PART(KERNEL, kernel, *kernel), kernel);
}

CUresult impl_cuGraphAddKernelNode_v2(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count,
				      const CUDA_KERNEL_NODE_PARAMS *kernel)
{
	return add_part(handle, graph, after, count, PART(KERNEL, kernel, *kernel), kernel);
}

CUresult impl_cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
	return get_part(handle, PART(KERNEL, kernel, *kernel), kernel);
}

CUresult impl_cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *kernel)
{
	return get_part(handle, PART(KERNEL, kernel, *kernel), kernel);
}

CUresult impl_cuGraphKernelNodeSetParams(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
	return set_part(handle, PART(KERNEL, kernel, *kernel), kernel);
}

CUresult impl_cuGraphKernelNodeSetParams_v2(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
	return set_part(handle, PART(KERNEL, kernel, *kernel), kernel);
}

static CUresult attribute_index(CUkernelNodeAttrID attribute, unsigned *index)
{
	struct launch_config unused = {0};
	CUlaunchAttributeValue zero = {0};

	if ((int)attribute <= 0 || (unsigned)attribute >= NODE_ATTRIBUTES || launch_apply_attribute(attribute, &zero, &unused))
		return CUDA_ERROR_INVALID_VALUE;
	*index = (unsigned)attribute;
	return CUDA_SUCCESS;
}

static CUresult attributes_room(struct node *node)
{
	if (!node->attributes)
		node->attributes = calloc(NODE_ATTRIBUTES, sizeof *node->attributes);
	return node->attributes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult impl_cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute, const CUkernelNodeAttrValue *value)
{
	struct node *node;
	unsigned index;
	CUresult status = find_typed(handle, CU_GRAPH_NODE_TYPE_KERNEL, &node);

	if (!status && !value)
		status = CUDA_ERROR_INVALID_VALUE;
	if (!status)
		status = attribute_index(attribute, &index);
	if (!status)
		status = attributes_room(node);
	if (status)
		return status;
	if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && !cluster_possible(node->work.kernel.function) &&
	    (uint64_t)value->clusterDim.x * value->clusterDim.y * value->clusterDim.z > 1)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	status = launch_apply_attribute(attribute, value, &node->work.kernel.config);
	if (status)
		return status;
	node->attributes[index] = *value;
	node->attributes_set |= 1u << index;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue *value)
{
	struct node *node;
	unsigned index;
	CUresult status = find_typed(handle, CU_GRAPH_NODE_TYPE_KERNEL, &node);

	if (!status && !value)
		status = CUDA_ERROR_INVALID_VALUE;
	if (!status)
		status = attribute_index(attribute, &index);
	if (status)
		return status;
	memset(value, 0, sizeof *value);
	if (node->attributes_set >> index & 1)
		*value = node->attributes[index];
	else if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		value->cooperative = node->work.kernel.config.cooperative;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphKernelNodeCopyAttributes(CUgraphNode to_handle, CUgraphNode from_handle)
{
	struct node *to, *from;
	CUresult status = find_typed(to_handle, CU_GRAPH_NODE_TYPE_KERNEL, &to);

	if (!status)
		status = find_typed(from_handle, CU_GRAPH_NODE_TYPE_KERNEL, &from);
	for (unsigned i = 0; i < NODE_ATTRIBUTES && !status; i++)
		if (from->attributes_set >> i & 1)
			status = impl_cuGraphKernelNodeSetAttribute(to_handle, (CUkernelNodeAttrID)i, &from->attributes[i]);
	return status;
}

/* ---- copies, fills, host functions ------------------------------------------------------------------------------------- */

CUresult impl_cuGraphAddMemcpyNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count,
				   const CUDA_MEMCPY3D *copy, CUcontext context)
{
	CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	if (!copy)
		return CUDA_ERROR_INVALID_VALUE;
	parameters.memcpy.copyCtx = context;
	parameters.memcpy.copyParams = *copy;
	return add(handle, graph, after, NULL, count, &parameters, NULL);
}

CUresult impl_cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *copy)
{
	return get_part(handle, PART(MEMCPY, memcpy.copyParams, *copy), copy);
}

CUresult impl_cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D *copy)
{
	return set_part(handle, PART(MEMCPY, memcpy.copyParams, *copy), copy);
}

CUresult impl_cuGraphAddMemsetNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count,
				   const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
{
	CUgraphNodeParams parameters;
	CUresult status = part_parameters(&parameters, PART(MEMSET, memset, *fill), fill);

	parameters.memset.ctx = context;
	return status ? status : add(handle, graph, after, NULL, count, &parameters, NULL);
}

CUresult impl_cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS *fill)
{
	return get_part(handle, PART(MEMSET, memset, *fill), fill);
}

CUresult impl_cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS *fill)
{
	return set_part(handle, PART(MEMSET, memset, *fill), fill);
}

CUresult impl_cuGraphAddHostNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count,
				 const CUDA_HOST_NODE_PARAMS *host)
{
	return add_part(handle, graph, after, count, PART(HOST, host, *host), host);
}

CUresult impl_cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS *host)
{
	return get_part(handle, PART(HOST, host, *host), host);
}

CUresult impl_cuGraphHostNodeSetParams(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS *host)
{
	return set_part(handle, PART(HOST, host, *host), host);
}

/* ---- child graphs, empty nodes, events ------------------------------------------------------------------------------------ */

CUresult impl_cuGraphAddChildGraphNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count, CUgraph child)
{
	return add_part(handle, graph, after, count, PART(GRAPH, graph.graph, child), &child);
}

CUresult impl_cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *child)
{
	return get_part(handle, PART(GRAPH, graph.graph, *child), child);
}

CUresult impl_cuGraphAddEmptyNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count)
{
	CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	return add(handle, graph, after, NULL, count, &parameters, NULL);
}

CUresult impl_cuGraphAddEventRecordNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count, CUevent event)
{
	return add_part(handle, graph, after, count, PART(EVENT_RECORD, eventRecord.event, event), &event);
}

CUresult impl_cuGraphEventRecordNodeGetEvent(CUgraphNode handle, CUevent *event)
{
	return get_part(handle, PART(EVENT_RECORD, eventRecord.event, *event), event);
}

CUresult impl_cuGraphEventRecordNodeSetEvent(CUgraphNode handle, CUevent event)
{
	return set_part(handle, PART(EVENT_RECORD, eventRecord.event, event), &event);
}

CUresult impl_cuGraphAddEventWaitNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count, CUevent event)
{
	return add_part(handle, graph, after, count, PART(WAIT_EVENT, eventWait.event, event), &event);
}

CUresult impl_cuGraphEventWaitNodeGetEvent(CUgraphNode handle, CUevent *event)
{
	return get_part(handle, PART(WAIT_EVENT, eventWait.event, *event), event);
}

CUresult impl_cuGraphEventWaitNodeSetEvent(CUgraphNode handle, CUevent event)
{
	return set_part(handle, PART(WAIT_EVENT, eventWait.event, event), &event);
}

/* ---- memory, batches of memory operations ------------------------------------------------------------------------------------- */

CUresult impl_cuGraphAddMemAllocNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count,
				     CUDA_MEM_ALLOC_NODE_PARAMS *allocate)
{
	CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	struct node *node;
	CUresult status;

	if (!allocate)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&parameters.alloc, allocate, sizeof *allocate);
	status = add(handle, graph, after, NULL, count, &parameters, &node);
	if (!status)
		allocate->dptr = node->work.allocate.parameters.dptr;
	return status;
}

CUresult impl_cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS *allocate)
{
	return get_part(handle, PART(MEM_ALLOC, alloc, *allocate), allocate);
}

CUresult impl_cuGraphAddMemFreeNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count,
				    CUdeviceptr pointer)
{
	return add_part(handle, graph, after, count, PART(MEM_FREE, free.dptr, pointer), &pointer);
}

CUresult impl_cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr *pointer)
{
	return get_part(handle, PART(MEM_FREE, free.dptr, *pointer), pointer);
}

CUresult impl_cuGraphAddBatchMemOpNode(CUgraphNode *handle, CUgraph graph, const CUgraphNode *after, size_t count,
				       const CUDA_BATCH_MEM_OP_NODE_PARAMS *batch)
{
	return add_part(handle, graph, after, count, PART(BATCH_MEM_OP, memOp, *batch), batch);
}

CUresult impl_cuGraphBatchMemOpNodeGetParams(CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS *batch)
{
	return get_part(handle, PART(BATCH_MEM_OP, memOp, *batch), batch);
}

CUresult impl_cuGraphBatchMemOpNodeSetParams(CUgraphNode handle, const CUDA_BATCH_MEM_OP_NODE_PARAMS *batch)
{
	return set_part(handle, PART(BATCH_MEM_OP, memOp, *batch), batch);
}

/* ---- conditional handles -------------------------------------------------------------------------------------------------------- */

struct conditional {
	struct handle handle;
	uint32_t initial;
	_Atomic uint32_t uses; /* the graph it was made for, and executable ones */
	bool assign;           /* the value starts from `initial` at each launch */
	_Atomic uint32_t *value; /* what kernels write; its address is the program's handle */
	_Atomic uint32_t own;
	struct context *context; /* of `value` where it is not `own`: memory that a device with memory of its own reaches */
};

static struct conditional *conditional_of(CUgraphConditionalHandle handle)
{
	struct conditional *c = handle_check((const void *)(uintptr_t)(handle - offsetof(struct conditional, own)), HANDLE_CONDITIONAL);

	if (c)
		return c->context ? NULL : c;
	while ((c = handle_next(c, HANDLE_CONDITIONAL)))
		if (c->context && (uintptr_t)c->value == handle)
			return c;
	return NULL;
}

bool conditional_is_live(CUgraphConditionalHandle handle)
{
	return conditional_of(handle);
}

uint32_t conditional_value(CUgraphConditionalHandle handle)
{
	struct conditional *conditional = conditional_of(handle);

	return conditional ? atomic_load(conditional->value) : 0;
}

void conditional_reset(CUgraphConditionalHandle handle)
{
	struct conditional *conditional = conditional_of(handle);

	if (conditional && conditional->assign)
		atomic_store(conditional->value, conditional->initial);
}

void conditional_hold(CUgraphConditionalHandle handle)
{
	struct conditional *conditional = conditional_of(handle);

	if (conditional)
		atomic_fetch_add(&conditional->uses, 1);
}

void conditional_drop(CUgraphConditionalHandle handle)
{
	struct conditional *conditional = conditional_of(handle);

	if (!conditional || atomic_fetch_sub(&conditional->uses, 1) != 1)
		return;
	if (conditional->context)
		conditional->context->ops->release_host(conditional->context->device->device, (void *)conditional->value);
	handle_destroy(conditional);
}

/* Where kernels of the context's device can write it. */
static CUresult place_value(struct conditional *conditional, struct context *context)
{
	void *memory = NULL;
	CUresult status;

	conditional->value = &conditional->own;
	if (context->device->properties.host_backed || !context->ops->allocate_host)
		return CUDA_SUCCESS;
	status = (CUresult)context->ops->allocate_host(context->device->device, sizeof *conditional->value, 0, &memory);
	if (status)
		return status;
	conditional->value = memory;
	conditional->context = context;
	return CUDA_SUCCESS;
}

void conditionals_release(struct graph *graph)
{
	for (size_t i = 0; i < graph->conditionals.count; i++)
		conditional_drop(graph->conditionals.data[i]);
	vec_fini(&graph->conditionals);
}

CUresult impl_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph_handle, CUcontext context,
					     unsigned int initial, unsigned int flags)
{
	struct conditional *conditional;
	struct context *own = NULL;
	struct graph *graph;
	CUgraphConditionalHandle handle;
	CUresult status = graph_find(graph_handle, &graph);

	if (status)
		return status;
	if (!out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	if (context && !context_check(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	status = context ? CUDA_SUCCESS : context_current(&own);
	if (status)
		return status;
	conditional = handle_create(HANDLE_CONDITIONAL);
	if (!conditional)
		return CUDA_ERROR_OUT_OF_MEMORY;
	status = place_value(conditional, context ? context_check(context) : own);
	if (status) {
		handle_destroy(conditional);
		return status;
	}
	conditional->initial = initial;
	atomic_init(&conditional->uses, 1);
	conditional->assign = flags;
	atomic_init(conditional->value, initial);
	handle = (CUgraphConditionalHandle)(uintptr_t)conditional->value;
	if (!vec_push(&graph->conditionals, handle)) {
		conditional_drop(handle);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = handle;
	return CUDA_SUCCESS;
}
