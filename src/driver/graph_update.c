/* Changes to an executable graph: parameters of its nodes, which of them run, and whole updates from another graph.
 * CUDA Driver API 6.23. */
#define _GNU_SOURCE
#include "driver/graph_exec.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"

/* ---- changes to an executable graph --------------------------------------------------------------------------------------------- */

static CUresult entry_find(struct exec *exec, CUgraphNode handle, struct exec_node **entry)
{
	struct node *node = node_check(handle);

	for (size_t i = 0; node && i < exec->nodes.count; i++) {
		struct exec_node *at = &exec->nodes.data[i];

		/* A clone that was instantiated answers to the nodes of the graph it was made from, too. */
		if (at->source == node) {
			*entry = at;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_entry(CUgraphExec handle, CUgraphNode node, const CUgraphNodeParams *parameters)
{
	struct exec *exec;
	struct exec_node *entry;
	CUresult status = exec_find(handle, &exec);

	if (status)
		return status;
	pthread_mutex_lock(&exec->lock);
	exec_unprepare(exec);
	status = entry_find(exec, node, &entry);
	if (!status && parameters->type == CU_GRAPH_NODE_TYPE_KERNEL && entry->work.type == CU_GRAPH_NODE_TYPE_KERNEL) {
		struct context *popped;

		/* The node stays in its context, whichever is current. */
		status = context_push(entry->work.kernel.function->module->context);
		if (!status) {
			status = work_set(&entry->work, parameters);
			context_pop(&popped);
		}
	} else if (!status) {
		status = work_set(&entry->work, parameters);
	}
	pthread_mutex_unlock(&exec->lock);
	return status;
}

CUresult impl_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *parameters)
{
	REQUIRE_READY();
	return parameters ? set_entry(exec, node, parameters) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_part(CUgraphExec exec, CUgraphNode node, struct part part, const void *in)
{
	CUgraphNodeParams parameters;
	CUresult status = part_parameters(&parameters, part, in);

	return status ? status : set_entry(exec, node, &parameters);
}

CUresult impl_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
	return set_part(exec, node, PART(KERNEL, kernel, *kernel), kernel);
}

CUresult impl_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
	return set_part(exec, node, PART(KERNEL, kernel, *kernel), kernel);
}

CUresult impl_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy, CUcontext context)
{
	CUgraphNodeParams parameters;
	CUresult status = part_parameters(&parameters, PART(MEMCPY, memcpy.copyParams, *copy), copy);

	parameters.memcpy.copyCtx = context;
	return status ? status : set_entry(exec, node, &parameters);
}

CUresult impl_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *fill,
					     CUcontext context)
{
	CUgraphNodeParams parameters;
	CUresult status = part_parameters(&parameters, PART(MEMSET, memset, *fill), fill);

	parameters.memset.ctx = context;
	return status ? status : set_entry(exec, node, &parameters);
}

CUresult impl_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *host)
{
	return set_part(exec, node, PART(HOST, host, *host), host);
}

CUresult impl_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	return set_part(exec, node, PART(EVENT_RECORD, eventRecord.event, event), &event);
}

CUresult impl_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	return set_part(exec, node, PART(WAIT_EVENT, eventWait.event, event), &event);
}

CUresult impl_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *batch)
{
	return set_part(exec, node, PART(BATCH_MEM_OP, memOp, *batch), batch);
}

static bool can_be_disabled(CUgraphNodeType type)
{
	return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult impl_cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned int enabled)
{
	struct exec *exec;
	struct exec_node *entry;
	CUresult status = exec_find(handle, &exec);

	if (status)
		return status;
	pthread_mutex_lock(&exec->lock);
	status = entry_find(exec, node, &entry);
	if (!status && !can_be_disabled(entry->work.type))
		status = CUDA_ERROR_INVALID_VALUE;
	if (!status && entry->disabled != !enabled) {
		exec_unprepare(exec);
		entry->disabled = !enabled;
	}
	pthread_mutex_unlock(&exec->lock);
	return status;
}

CUresult impl_cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node, unsigned int *enabled)
{
	struct exec *exec;
	struct exec_node *entry;
	CUresult status = exec_find(handle, &exec);

	if (!status)
		status = entry_find(exec, node, &entry);
	if (!status && (!enabled || !can_be_disabled(entry->work.type)))
		status = CUDA_ERROR_INVALID_VALUE;
	if (!status)
		*enabled = !entry->disabled;
	return status;
}

/* ---- whole updates ---------------------------------------------------------------------------------------------------------------- */

/* Why the entry cannot become what `fresh` does. */
static CUgraphExecUpdateResult compare(const struct exec_node *old, const struct exec_node *fresh)
{
	if (old->work.type != fresh->work.type)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	if (old->wait_count != fresh->wait_count || old->lane != fresh->lane ||
	    memcmp(old->waits ? old->waits : &old->wait_count, fresh->waits ? fresh->waits : &old->wait_count,
		   old->wait_count * sizeof *old->waits))
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	switch ((int)old->work.type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		if (old->work.kernel.function->module->context != fresh->work.kernel.function->module->context)
			return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE: return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
	default: break;
	}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult compare_all(const struct exec *exec, const struct exec *fresh, const struct exec_node **at)
{
	*at = NULL;
	if (exec->nodes.count != fresh->nodes.count)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (size_t i = 0; i < exec->nodes.count; i++) {
		CUgraphExecUpdateResult result = compare(&exec->nodes.data[i], &fresh->nodes.data[i]);

		if (result) {
			*at = &fresh->nodes.data[i];
			return result;
		}
	}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* The work changes places; the handles that the program knows the nodes by stay those of the first graph. */
static void take_over(struct exec *exec, struct exec *fresh)
{
	exec_unprepare(exec);
	for (size_t i = 0; i < exec->nodes.count; i++) {
		struct exec_node *old = &exec->nodes.data[i], *from = &fresh->nodes.data[i];
		struct work work = old->work;
		struct exec **bodies = old->bodies;

		old->work = from->work;
		old->bodies = from->bodies;
		from->work = work;
		from->bodies = bodies;
	}
}

static CUresult update(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo *info)
{
	const struct exec_node *at;
	struct graph *graph;
	struct exec *exec, *fresh;
	CUresult status = exec_find(handle, &exec);

	memset(info, 0, sizeof *info);
	info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
	if (!status)
		status = graph_find(graph_handle, &graph);
	if (!status)
		status = capture_forbid_unsafe();
	if (!status)
		status = exec_create(graph, exec->context, 0, &fresh);
	if (status)
		return status;
	pthread_mutex_lock(&exec->lock);
	if (exec->last_queue) /* its parameters may be in use: host functions, staging of copies */
		exec->context->ops->queue_synchronize(exec->last_queue->device_queue, exec->last_ticket);
	info->result = compare_all(exec, fresh, &at);
	if (info->result) {
		info->errorNode = at ? (CUgraphNode)(uintptr_t)at->source : NULL;
		status = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	} else {
		take_over(exec, fresh);
	}
	pthread_mutex_unlock(&exec->lock);
	exec_free(fresh);
	return status;
}

CUresult impl_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	REQUIRE_READY();
	return info ? update(exec, graph, info) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *result)
{
	CUgraphExecUpdateResultInfo info;
	CUresult status = update(exec, graph, &info);

	if (node)
		*node = info.errorNode;
	if (result)
		*result = info.result;
	return status;
}

CUresult impl_cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode node_handle, CUgraph child_handle)
{
	struct graph *child;
	struct exec *exec, *fresh;
	struct node *node = node_check(node_handle);
	size_t at = 0, matched = 0;
	CUresult status = exec_find(handle, &exec);

	if (!status)
		status = graph_find(child_handle, &child);
	if (status)
		return status;
	if (!node || node->work.type != CU_GRAPH_NODE_TYPE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	status = exec_create(child, exec->context, 0, &fresh);
	if (status)
		return status;
	pthread_mutex_lock(&exec->lock);
	exec_unprepare(exec);
	/* The child's entries follow one another, in the order that its nodes have. */
	while (at < exec->nodes.count &&
	       !(exec->nodes.data[at].source && exec->nodes.data[at].source->graph == node->work.child.graph))
		at++;
	while (at + matched < exec->nodes.count && matched < fresh->nodes.count &&
	       exec->nodes.data[at + matched].work.type == fresh->nodes.data[matched].work.type)
		matched++;
	if (matched != fresh->nodes.count || matched != node->work.child.graph->nodes.count)
		status = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < matched && !status; i++) {
		struct work work = exec->nodes.data[at + i].work;

		exec->nodes.data[at + i].work = fresh->nodes.data[i].work;
		fresh->nodes.data[i].work = work;
	}
	pthread_mutex_unlock(&exec->lock);
	exec_free(fresh);
	return status;
}
