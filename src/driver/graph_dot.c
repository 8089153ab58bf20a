/* A graph as a picture, in the language of Graphviz. CUDA Driver API 6.23, cuGraphDebugDotPrint. */
#define _GNU_SOURCE
#include "driver/graph.h"

#include <errno.h>
#include <stdio.h>

#include "api/cuda_impl.h"

static const char *const type_names[] = {
	[CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL", [CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY", [CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",
	[CU_GRAPH_NODE_TYPE_HOST] = "HOST", [CU_GRAPH_NODE_TYPE_GRAPH] = "GRAPH", [CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
	[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "EVENT_WAIT", [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT_RECORD",
	[CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL] = "EXT_SEMAS_SIGNAL", [CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT] = "EXT_SEMAS_WAIT",
	[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM_ALLOC", [CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM_FREE",
	[CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "BATCH_MEM_OP", [CU_GRAPH_NODE_TYPE_CONDITIONAL] = "CONDITIONAL",
};

static void print_details(FILE *file, const struct work *work, unsigned flags)
{
	bool all = flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE;

	switch ((int)work->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		fprintf(file, "\\n%s", work->kernel.function->ptx->symbol.name);
		if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)
			fprintf(file, "\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", work->kernel.config.grid[0], work->kernel.config.grid[1],
				work->kernel.config.grid[2], work->kernel.config.block[0], work->kernel.config.block[1],
				work->kernel.config.block[2], work->kernel.config.dynamic_shared);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)
			fprintf(file, "\\n%p to %p\\n%zu x %zu x %zu bytes", work->copy.copy.from, work->copy.copy.to, work->copy.copy.width,
				work->copy.copy.height, work->copy.copy.depth);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)
			fprintf(file, "\\n%p = 0x%x\\n%zu x %zu elements of %u bytes", work->fill.fill.to, work->fill.fill.value,
				work->fill.fill.width, work->fill.fill.height, work->fill.fill.element);
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		if (all || flags & CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS)
			fprintf(file, "\\nfunction %p(%p)", (void *)(uintptr_t)work->host.function, work->host.argument);
		break;
	default: break;
	}
}

static void print_graph(FILE *file, const struct graph *graph, unsigned flags);

static void print_node(FILE *file, const struct node *node, unsigned flags)
{
	unsigned long long graph = node->graph->id;

	fprintf(file, "\"graph_%llu_node_%u\" [shape=\"record\" label=\"%u\\n%s", graph, node->id, node->id, type_names[node->work.type]);
	print_details(file, &node->work, flags);
	if (flags & CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)
		fprintf(file, "\\nhandle %p", (const void *)node);
	fprintf(file, "\"];\n");
	for (size_t i = 0; i < node->in.count; i++)
		fprintf(file, "\"graph_%llu_node_%u\" -> \"graph_%llu_node_%u\";\n", graph, node->in.data[i].from->id, graph, node->id);
	if (node->work.type == CU_GRAPH_NODE_TYPE_GRAPH)
		print_graph(file, node->work.child.graph, flags);
	if (node->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		for (unsigned i = 0; i < node->work.conditional.size; i++)
			print_graph(file, graph_check(node->work.conditional.bodies[i]), flags);
}

static void print_graph(FILE *file, const struct graph *graph, unsigned flags)
{
	fprintf(file, "subgraph cluster_%llu {\nlabel=\"graph_%llu\"\n", (unsigned long long)graph->id, (unsigned long long)graph->id);
	for (size_t i = 0; i < graph->nodes.count; i++)
		print_node(file, graph->nodes.data[i], flags);
	fprintf(file, "}\n");
}

CUresult impl_cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned int flags)
{
	struct graph *graph;
	FILE *file;
	CUresult status = graph_find(handle, &graph);

	if (status)
		return status;
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	file = fopen(path, "we");
	if (!file)
		return api_error(CUDA_ERROR_OPERATING_SYSTEM, "%s: %s", path, strerror(errno));
	fprintf(file, "digraph dot {\n");
	print_graph(file, graph, flags);
	fprintf(file, "}\n");
	return fclose(file) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
