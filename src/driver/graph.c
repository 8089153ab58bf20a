/* Graphs as objects: nodes, edges, clones. CUDA Driver API 6.23. */
#define _GNU_SOURCE
#include "driver/graph.h"

#include <stdlib.h>

#include "api/cuda_impl.h"

struct graph *graph_check(CUgraph handle)
{
	return handle_check(handle, HANDLE_GRAPH);
}

struct node *node_check(CUgraphNode handle)
{
	return handle_check(handle, HANDLE_GRAPH_NODE);
}

CUresult graph_find(CUgraph handle, struct graph **graph)
{
	REQUIRE_READY();
	*graph = graph_check(handle);
	return *graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult node_find(CUgraphNode handle, struct node **node)
{
	REQUIRE_READY();
	*node = node_check(handle);
	return *node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct graph *graph_create(struct context *context)
{
	struct graph *graph = handle_create(HANDLE_GRAPH);

	if (graph) {
		graph->id = driver_next_id();
		graph->context = context;
	}
	return graph;
}

/* ---- edges ---------------------------------------------------------------------------------------------------- */

static bool edge_is_there(const struct node *from, const struct node *to)
{
	for (size_t i = 0; i < to->in.count; i++)
		if (to->in.data[i].from == from)
			return true;
	return false;
}

/* Below compute capability 9.0 edges are plain, or programmatic ones from kernels: (1,0,1), (2,0,0). */
static CUresult edge_check(const struct node *from, const CUgraphEdgeData *data)
{
	bool kernel = from->work.type == CU_GRAPH_NODE_TYPE_KERNEL;

	for (size_t i = 0; i < sizeof data->reserved; i++)
		if (data->reserved[i])
			return CUDA_ERROR_INVALID_VALUE;
	if (data->to_port || data->type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
		return CUDA_ERROR_INVALID_VALUE;
	if (!data->from_port && !data->type)
		return CUDA_SUCCESS;
	if (!kernel || data->from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER)
		return CUDA_ERROR_INVALID_VALUE;
	return data->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER && !data->type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data)
{
	struct edge edge = {from, to, {0}};

	if (data)
		edge.data = *data;
	if (!vec_push(&to->in, edge))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!vec_push(&from->out, to)) {
		to->in.count--;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static void out_remove(struct node *from, const struct node *to)
{
	for (size_t i = 0; i < from->out.count; i++) {
		if (from->out.data[i] == to) {
			memmove(&from->out.data[i], &from->out.data[i + 1], (from->out.count - i - 1) * sizeof *from->out.data);
			from->out.count--;
			return;
		}
	}
}

static bool edge_remove(struct node *from, struct node *to)
{
	for (size_t i = 0; i < to->in.count; i++) {
		if (to->in.data[i].from != from)
			continue;
		memmove(&to->in.data[i], &to->in.data[i + 1], (to->in.count - i - 1) * sizeof *to->in.data);
		to->in.count--;
		out_remove(from, to);
		return true;
	}
	return false;
}

struct node **graph_order(const struct graph *graph)
{
	size_t count = graph->nodes.count, done = 0, filled = 0;
	struct node **order = malloc((count ? count : 1) * sizeof *order);
	uint32_t *missing = calloc(graph->next_id ? graph->next_id : 1, sizeof *missing);

	if (!order || !missing) {
		free(order);
		free(missing);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		struct node *node = graph->nodes.data[i];

		missing[node->id] = (uint32_t)node->in.count;
		if (!node->in.count)
			order[filled++] = node;
	}
	for (; done < filled; done++)
		for (size_t i = 0; i < order[done]->out.count; i++)
			if (!--missing[order[done]->out.data[i]->id])
				order[filled++] = order[done]->out.data[i];
	free(missing);
	if (filled != count) { /* a cycle, which edge_add's callers do not let come into being */
		free(order);
		return NULL;
	}
	return order;
}

/* Is there a way from `from` to `to`? */
static bool reaches(const struct graph *graph, struct node *from, const struct node *to)
{
	uint8_t *seen = calloc(graph->next_id ? graph->next_id : 1, 1);
	VEC(struct node *) open = {0};
	bool found = !seen || from == to;

	while (from && !found) {
		for (size_t i = 0; i < from->out.count && !found; i++) {
			struct node *next = from->out.data[i];

			found = next == to;
			if (!found && !seen[next->id]) {
				seen[next->id] = 1;
				found = !vec_push(&open, next); /* without memory: better refuse the edge */
			}
		}
		from = open.count ? open.data[--open.count] : NULL;
	}
	vec_fini(&open);
	free(seen);
	return found;
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

static void node_free(struct node *node)
{
	work_fini(&node->work);
	vec_fini(&node->in);
	vec_fini(&node->out);
	free(node->attributes);
	handle_destroy(node);
}

CUresult graph_add(struct graph *graph, struct work *work, struct node *const *after, const CUgraphEdgeData *data, size_t count,
		   struct node **out)
{
	struct node *node;
	CUresult status = CUDA_SUCCESS;

	for (size_t i = 0; i < count; i++) {
		if (after[i]->graph != graph)
			return api_error(CUDA_ERROR_INVALID_VALUE, "a dependency is a node of another graph");
		for (size_t k = 0; k < i; k++)
			if (after[k] == after[i])
				return api_error(CUDA_ERROR_INVALID_VALUE, "a dependency is named twice");
		if (data && edge_check(after[i], &data[i]))
			return api_error(CUDA_ERROR_INVALID_VALUE, "edge data that the device does not have");
	}
	node = handle_create(HANDLE_GRAPH_NODE);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->graph = graph;
	node->id = graph->next_id;
	for (size_t i = 0; i < count && !status; i++)
		status = edge_add(after[i], node, data ? &data[i] : NULL);
	if (!status && !vec_push(&graph->nodes, node))
		status = CUDA_ERROR_OUT_OF_MEMORY;
	if (status) {
		while (node->in.count)
			edge_remove(node->in.data[0].from, node);
		node_free(node);
		return status;
	}
	graph->next_id++;
	node->work = *work;
	if (work->type == CU_GRAPH_NODE_TYPE_GRAPH)
		work->child.graph->owner = node;
	if (work->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		for (unsigned i = 0; i < work->conditional.size; i++)
			graph_check(work->conditional.bodies[i])->owner = node;
	*out = node;
	return CUDA_SUCCESS;
}

static void node_destroy(struct node *node)
{
	struct graph *graph = node->graph;

	while (node->in.count)
		edge_remove(node->in.data[0].from, node);
	while (node->out.count)
		edge_remove(node, node->out.data[0]);
	for (size_t i = 0; i < graph->nodes.count; i++) {
		if (graph->nodes.data[i] == node) {
			memmove(&graph->nodes.data[i], &graph->nodes.data[i + 1], (graph->nodes.count - i - 1) * sizeof *graph->nodes.data);
			graph->nodes.count--;
			break;
		}
	}
	node_free(node);
}

void graph_destroy(struct graph *graph)
{
	for (size_t i = 0; i < graph->nodes.count; i++)
		node_free(graph->nodes.data[i]);
	vec_fini(&graph->nodes);
	graph_release_objects(graph);
	vec_fini(&graph->held);
	conditionals_release(graph);
	handle_destroy(graph);
}

bool graph_has_memory_nodes(const struct graph *graph)
{
	for (size_t i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.data[i]->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
		    graph->nodes.data[i]->work.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			return true;
	return false;
}

/* ---- clones ------------------------------------------------------------------------------------------------------ */

static CUresult clone_node(const struct node *node, struct graph *clone, struct node **by_id)
{
	struct node *copy = handle_create(HANDLE_GRAPH_NODE);
	CUresult status;

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	status = work_copy(&copy->work, &node->work);
	copy->graph = clone;
	copy->id = node->id;
	copy->original = node;
	copy->attributes_set = node->attributes_set;
	if (!status && node->attributes) {
		copy->attributes = malloc(NODE_ATTRIBUTES * sizeof *copy->attributes);
		if (copy->attributes)
			memcpy(copy->attributes, node->attributes, NODE_ATTRIBUTES * sizeof *copy->attributes);
		else
			status = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!status && !vec_push(&clone->nodes, copy))
		status = CUDA_ERROR_OUT_OF_MEMORY;
	if (status) {
		node_free(copy);
		return status;
	}
	if (copy->work.type == CU_GRAPH_NODE_TYPE_GRAPH)
		copy->work.child.graph->owner = copy;
	by_id[node->id] = copy;
	return CUDA_SUCCESS;
}

static CUresult clone_edges(const struct graph *graph, struct node *const *by_id)
{
	for (size_t i = 0; i < graph->nodes.count; i++) {
		const struct node *node = graph->nodes.data[i];

		for (size_t k = 0; k < node->in.count; k++) {
			CUresult status = edge_add(by_id[node->in.data[k].from->id], by_id[node->id], &node->in.data[k].data);

			if (status)
				return status;
		}
	}
	return CUDA_SUCCESS;
}

CUresult graph_clone(const struct graph *graph, struct graph **out)
{
	struct graph *clone = graph_create(graph->context);
	struct node **by_id = calloc(graph->next_id ? graph->next_id : 1, sizeof *by_id);
	CUresult status = clone && by_id ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (size_t i = 0; !status && i < graph->nodes.count; i++)
		status = clone_node(graph->nodes.data[i], clone, by_id);
	if (!status)
		status = clone_edges(graph, by_id);
	for (size_t i = 0; !status && i < graph->held.count; i++) {
		status = user_object_hold(graph->held.data[i].object, graph->held.data[i].count);
		if (!status)
			vec_push(&clone->held, graph->held.data[i]);
	}
	free(by_id);
	if (status) {
		if (clone)
			graph_destroy(clone);
		return status;
	}
	clone->next_id = graph->next_id;
	clone->original = graph;
	*out = clone;
	return CUDA_SUCCESS;
}

/* ---- entries: graphs -------------------------------------------------------------------------------------------- */

CUresult impl_cuGraphCreate(CUgraph *handle, unsigned int flags)
{
	struct context *context = NULL;
	struct graph *graph;

	REQUIRE_READY();
	if (!handle || flags)
		return CUDA_ERROR_INVALID_VALUE;
	context_current_quiet(&context); /* a graph needs none */
	graph = graph_create(context);
	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*handle = (CUgraph)graph;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphDestroy(CUgraph handle)
{
	struct graph *graph;
	CUresult status = graph_find(handle, &graph);

	if (status)
		return status;
	if (graph->owner || atomic_load(&graph->captures))
		return api_error(CUDA_ERROR_INVALID_VALUE, "the graph belongs to a node or is being captured to");
	graph_destroy(graph);
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphClone(CUgraph *clone_handle, CUgraph handle)
{
	struct graph *graph, *clone;
	CUresult status = graph_find(handle, &graph);

	if (status)
		return status;
	if (!clone_handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (graph_has_memory_nodes(graph))
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "graphs with allocation or free nodes cannot be cloned");
	status = graph_clone(graph, &clone);
	if (!status)
		*clone_handle = (CUgraph)clone;
	return status;
}

CUresult impl_cuGraphNodeFindInClone(CUgraphNode *found, CUgraphNode original_handle, CUgraph clone_handle)
{
	struct graph *clone;
	struct node *original;
	CUresult status = graph_find(clone_handle, &clone);

	if (!status)
		status = node_find(original_handle, &original);
	if (status)
		return status;
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < clone->nodes.count; i++) {
		if (clone->nodes.data[i]->original == original) {
			*found = (CUgraphNode)clone->nodes.data[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGraphDestroyNode(CUgraphNode handle)
{
	struct node *node;
	CUresult status = node_find(handle, &node);

	if (status)
		return status;
	if (node->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->work.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "allocation and free nodes cannot be destroyed one by one");
	if (atomic_load(&node->graph->captures))
		return CUDA_ERROR_INVALID_VALUE;
	node_destroy(node);
	return CUDA_SUCCESS;
}

/* Fills a list as all of these functions do: without a list the count is told; entries without a node are NULL. */
struct listing {
	CUgraphNode *nodes, *others;
	CUgraphEdgeData *data;
	size_t room, count;
};

static void listing_add(struct listing *list, const struct node *node, const struct node *other, const CUgraphEdgeData *data)
{
	if (list->nodes && list->count < list->room) {
		list->nodes[list->count] = (CUgraphNode)(uintptr_t)node;
		if (list->others)
			list->others[list->count] = (CUgraphNode)(uintptr_t)other;
		if (list->data)
			list->data[list->count] = data ? *data : (CUgraphEdgeData){0};
	}
	list->count++;
}

static CUresult listing_end(struct listing *list, size_t *count)
{
	if (!list->nodes) {
		*count = list->count;
		return CUDA_SUCCESS;
	}
	for (size_t i = list->count; i < list->room; i++) {
		list->nodes[i] = NULL;
		if (list->others)
			list->others[i] = NULL;
	}
	*count = list->count < list->room ? list->count : list->room;
	return CUDA_SUCCESS;
}

static CUresult list_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count, bool roots)
{
	struct listing list = {.nodes = nodes, .room = count ? *count : 0};
	struct graph *graph;
	CUresult status = graph_find(handle, &graph);

	if (status)
		return status;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < graph->nodes.count; i++)
		if (!roots || !graph->nodes.data[i]->in.count)
			listing_add(&list, graph->nodes.data[i], NULL, NULL);
	return listing_end(&list, count);
}

CUresult impl_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return list_nodes(graph, nodes, count, false);
}

CUresult impl_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return list_nodes(graph, nodes, count, true);
}

static bool data_is_plain(const CUgraphEdgeData *data)
{
	return !data->from_port && !data->to_port && !data->type;
}

/* Without room for edge data, a graph that has some is refused: it would be lost. */
static CUresult list_edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count, bool has_data)
{
	struct listing list = {.nodes = from, .others = to, .data = data, .room = count ? *count : 0};
	struct graph *graph;
	CUresult status = graph_find(handle, &graph);

	if (status)
		return status;
	if (!count || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < graph->nodes.count; i++) {
		const struct node *node = graph->nodes.data[i];

		for (size_t k = 0; k < node->in.count; k++) {
			if ((!has_data || (from && !data)) && !data_is_plain(&node->in.data[k].data))
				return CUDA_ERROR_LOSSY_QUERY;
			listing_add(&list, node->in.data[k].from, node, &node->in.data[k].data);
		}
	}
	return listing_end(&list, count);
}

CUresult impl_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return list_edges(graph, from, to, NULL, count, false);
}

CUresult impl_cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	return list_edges(graph, from, to, data, count, true);
}

static CUresult list_dependencies(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count, bool has_data)
{
	struct listing list = {.nodes = nodes, .data = data, .room = count ? *count : 0};
	struct node *node;
	CUresult status = node_find(handle, &node);

	if (status)
		return status;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < node->in.count; i++) {
		if ((!has_data || (nodes && !data)) && !data_is_plain(&node->in.data[i].data))
			return CUDA_ERROR_LOSSY_QUERY;
		listing_add(&list, node->in.data[i].from, NULL, &node->in.data[i].data);
	}
	return listing_end(&list, count);
}

CUresult impl_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return list_dependencies(node, nodes, NULL, count, false);
}

CUresult impl_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
	return list_dependencies(node, nodes, data, count, true);
}

static const CUgraphEdgeData *data_between(const struct node *from, const struct node *to)
{
	for (size_t i = 0; i < to->in.count; i++)
		if (to->in.data[i].from == from)
			return &to->in.data[i].data;
	return NULL;
}

static CUresult list_dependents(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count, bool has_data)
{
	struct listing list = {.nodes = nodes, .data = data, .room = count ? *count : 0};
	struct node *node;
	CUresult status = node_find(handle, &node);

	if (status)
		return status;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < node->out.count; i++) {
		const CUgraphEdgeData *edge = data_between(node, node->out.data[i]);

		if ((!has_data || (nodes && !data)) && edge && !data_is_plain(edge))
			return CUDA_ERROR_LOSSY_QUERY;
		listing_add(&list, node->out.data[i], NULL, edge);
	}
	return listing_end(&list, count);
}

CUresult impl_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return list_dependents(node, nodes, NULL, count, false);
}

CUresult impl_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
	return list_dependents(node, nodes, data, count, true);
}

/* ---- entries: edges ------------------------------------------------------------------------------------------------- */

static CUresult pair_find(const struct graph *graph, CUgraphNode from_handle, CUgraphNode to_handle, struct node **from,
			  struct node **to)
{
	*from = node_check(from_handle);
	*to = node_check(to_handle);
	if (!*from || !*to || (*from)->graph != graph || (*to)->graph != graph || *from == *to)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* All of the list, or nothing. */
static CUresult add_edges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t count)
{
	struct graph *graph;
	struct node *a, *b;
	size_t done = 0;
	CUresult status = graph_find(handle, &graph);

	if (status)
		return status;
	if (count && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	for (; done < count && !status; done++) {
		status = pair_find(graph, from[done], to[done], &a, &b);
		if (!status && (edge_is_there(a, b) || reaches(graph, b, a) || (data && edge_check(a, &data[done]))))
			status = api_error(CUDA_ERROR_INVALID_VALUE, "edge %zu is there already, closes a circle or has unknown data", done);
		if (!status)
			status = edge_add(a, b, data ? &data[done] : NULL);
		if (status)
			break;
	}
	while (status && done-- > 0)
		if (!pair_find(graph, from[done], to[done], &a, &b))
			edge_remove(a, b);
	return status;
}

CUresult impl_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	return add_edges(graph, from, to, NULL, count);
}

CUresult impl_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
					size_t count)
{
	return add_edges(graph, from, to, data, count);
}

static CUresult remove_edges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	struct graph *graph;
	struct node *a, *b;
	CUresult status = graph_find(handle, &graph);

	if (status)
		return status;
	if (count && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (pair_find(graph, from[i], to[i], &a, &b) || !edge_is_there(a, b))
			return api_error(CUDA_ERROR_INVALID_VALUE, "edge %zu is not there", i);
	for (size_t i = 0; i < count; i++)
		if (!pair_find(graph, from[i], to[i], &a, &b))
			edge_remove(a, b);
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	return remove_edges(graph, from, to, count);
}

CUresult impl_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
					   const CUgraphEdgeData *data, size_t count)
{
	(void)data; /* an edge is named by its ends */
	return remove_edges(graph, from, to, count);
}
