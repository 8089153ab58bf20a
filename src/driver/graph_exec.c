/* Executable graphs: instantiation, launch, updates. CUDA Driver API 6.23.
 *
 * A graph is flattened into a list in an order that respects its edges, and each entry is given a lane. Lane 0 is the
 * stream of the launch, the others are queues of the executable graph's own; an entry waits only for entries of other lanes.
 * A chain therefore launches as plain commands of one queue. */
#define _GNU_SOURCE
#include "driver/graph_exec.h"

#include <pthread.h>
#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"

enum { NO_LANE = -1 };

/* ---- flattening ------------------------------------------------------------------------------------------------------ */

static CUresult make_bodies(struct exec *exec, struct exec_node *entry, const struct node *node)
{
	unsigned size = node->work.conditional.size;

	entry->bodies = calloc(size, sizeof *entry->bodies);
	if (!entry->bodies)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < size; i++) {
		CUresult status = exec_create(graph_check(node->work.conditional.bodies[i]), exec->context, 0, &entry->bodies[i]);

		if (status)
			return status;
	}
	return CUDA_SUCCESS;
}

static CUresult add_wait(struct exec_node *entry, uint32_t index)
{
	uint32_t *waits = realloc(entry->waits, (entry->wait_count + 1) * sizeof *waits);

	if (!waits)
		return CUDA_ERROR_OUT_OF_MEMORY;
	entry->waits = waits;
	waits[entry->wait_count++] = index;
	return CUDA_SUCCESS;
}

static CUresult flatten(struct exec *exec, const struct graph *graph, const uint32_t *before, uint32_t before_count, uint32_t *last);

/* One entry that waits for `before`; conditional bodies are graphs of their own. */
static CUresult add_entry(struct exec *exec, const struct node *node, const uint32_t *before, uint32_t count)
{
	struct exec_node entry = {.source = node};
	CUresult status;

	if (node && node->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
		entry.work = node->work;
		entry.work.conditional.bodies = NULL;
		status = make_bodies(exec, &entry, node);
	} else if (node && node->work.type != CU_GRAPH_NODE_TYPE_GRAPH) {
		status = work_copy(&entry.work, &node->work);
	} else {
		entry.work = (struct work){.type = CU_GRAPH_NODE_TYPE_EMPTY};
		status = CUDA_SUCCESS;
	}
	for (uint32_t i = 0; i < count && !status; i++)
		status = add_wait(&entry, before[i]);
	if (!status && !vec_push(&exec->nodes, entry))
		status = CUDA_ERROR_OUT_OF_MEMORY;
	return status;
}

/* `ends` says for each node, by its id, which entry it ends with; `first` is what roots wait for, or NULL. */
static CUresult flatten_node(struct exec *exec, const struct node *node, uint32_t *ends, const uint32_t *first)
{
	bool unordered = node->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && !node->in.count;
	size_t entries = exec->nodes.count;
	uint32_t *before = malloc((node->in.count + entries + 1) * sizeof *before), count = 0;
	CUresult status;

	if (!before)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* Programs forget that a condition comes after the kernel that sets it (cuda-samples' graphConditionalNodes does); a GPU
	 * happens to run them in the order in which they were added. */
	for (size_t i = 0; unordered && i < entries; i++)
		before[count++] = (uint32_t)i;
	for (size_t i = 0; i < node->in.count; i++)
		before[count++] = ends[node->in.data[i].from->id];
	if (!count && first)
		before[count++] = *first;
	if (node->work.type == CU_GRAPH_NODE_TYPE_GRAPH) {
		status = flatten(exec, node->work.child.graph, before, count, &ends[node->id]);
	} else {
		status = add_entry(exec, node, before, count);
		ends[node->id] = (uint32_t)exec->nodes.count - 1;
	}
	free(before);
	return status;
}

/* The nodes of a graph behind `before`. A child graph begins and ends with an empty entry; the whole has before = NULL. */
static CUresult flatten(struct exec *exec, const struct graph *graph, const uint32_t *before, uint32_t before_count, uint32_t *last)
{
	size_t count = graph->nodes.count;
	struct node **order = graph_order(graph);
	uint32_t *ends = calloc(graph->next_id + 1, sizeof *ends), *leaves = malloc((count + 1) * sizeof *leaves);
	uint32_t first = 0, leaf_count = 0;
	CUresult status = order && ends && leaves ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	if (!status && before) {
		status = add_entry(exec, NULL, before, before_count);
		first = (uint32_t)exec->nodes.count - 1;
	}
	for (size_t i = 0; i < count && !status; i++) {
		status = flatten_node(exec, order[i], ends, before ? &first : NULL);
		if (!order[i]->out.count)
			leaves[leaf_count++] = ends[order[i]->id];
	}
	if (!status && before) {
		if (!leaf_count)
			leaves[leaf_count++] = first;
		status = add_entry(exec, NULL, leaves, leaf_count);
		*last = (uint32_t)exec->nodes.count - 1;
	}
	free(order);
	free(ends);
	free(leaves);
	return status;
}

/* An entry takes over the lane of an entry it waits for and that nobody has taken over yet, else a new lane. */
static void assign_lanes(struct exec *exec)
{
	uint32_t tail[LANES_MOST]; /* the entry that each lane ends with */
	unsigned most = (unsigned)exec->context->device->properties.multiprocessors * 2; /* more would only take turns */
	bool root_taken = false;

	if (most > LANES_MOST)
		most = LANES_MOST;

	exec->lane_count = 1;
	for (uint32_t i = 0; i < exec->nodes.count; i++) {
		struct exec_node *entry = &exec->nodes.data[i];
		int lane = NO_LANE;

		for (uint32_t k = 0; k < entry->wait_count && lane == NO_LANE; k++)
			if (tail[exec->nodes.data[entry->waits[k]].lane] == entry->waits[k])
				lane = (int)exec->nodes.data[entry->waits[k]].lane;
		if (lane == NO_LANE && !root_taken)
			lane = 0;
		if (lane == NO_LANE)
			lane = exec->lane_count < most ? (int)exec->lane_count++ : (int)(i % most);
		root_taken = true;
		entry->lane = (unsigned)lane;
		tail[lane] = i;
	}
	for (uint32_t i = 0; i < exec->nodes.count; i++) { /* what a lane's order says already need not be waited for */
		struct exec_node *entry = &exec->nodes.data[i];
		uint32_t kept = 0;

		for (uint32_t k = 0; k < entry->wait_count; k++) {
			if (exec->nodes.data[entry->waits[k]].lane == entry->lane)
				continue;
			exec->nodes.data[entry->waits[k]].watched = true;
			entry->waits[kept++] = entry->waits[k];
		}
		entry->wait_count = kept;
	}
}

static CUresult make_lanes(struct exec *exec)
{
	for (unsigned i = 1; i < exec->lane_count; i++) {
		struct queue *queue = calloc(1, sizeof *queue);
		CUresult status;

		if (!queue)
			return CUDA_ERROR_OUT_OF_MEMORY;
		atomic_init(&queue->uses, 1);
		queue->context = exec->context;
		status = (CUresult)exec->context->ops->queue_create(exec->context->device->device, 0, &queue->device_queue);
		if (status) {
			free(queue);
			return status;
		}
		exec->lanes[i] = queue;
	}
	return CUDA_SUCCESS;
}

static CUresult hold_objects(struct exec *exec, const struct graph *graph)
{
	for (size_t i = 0; i < graph->held.count; i++) {
		if (!vec_push(&exec->held, graph->held.data[i]))
			return CUDA_ERROR_OUT_OF_MEMORY;
		user_object_hold(graph->held.data[i].object, graph->held.data[i].count);
	}
	for (size_t i = 0; i < graph->conditionals.count; i++) {
		if (!vec_push(&exec->conditionals, graph->conditionals.data[i]))
			return CUDA_ERROR_OUT_OF_MEMORY;
		conditional_hold(graph->conditionals.data[i]);
	}
	return CUDA_SUCCESS;
}

CUresult exec_create(const struct graph *graph, struct context *context, uint64_t flags, struct exec **out)
{
	struct exec *exec = handle_create(HANDLE_GRAPH_EXEC);
	uint32_t unused;
	CUresult status;

	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->context = context;
	exec->flags = flags;
	exec->graph = graph;
	pthread_mutex_init(&exec->lock, NULL);
	status = flatten(exec, graph, NULL, 0, &unused);
	if (!status) {
		assign_lanes(exec);
		status = make_lanes(exec);
	}
	if (!status)
		status = hold_objects(exec, graph);
	if (status) {
		exec_free(exec);
		return status;
	}
	*out = exec;
	return CUDA_SUCCESS;
}

static void exec_node_fini(struct exec_node *entry)
{
	if (entry->bodies)
		for (unsigned i = 0; i < entry->work.conditional.size; i++)
			if (entry->bodies[i])
				exec_free(entry->bodies[i]);
	free(entry->bodies);
	work_fini(&entry->work);
	free(entry->waits);
}

void exec_free(struct exec *exec)
{
	exec_unprepare(exec);
	for (size_t i = 0; i < exec->nodes.count; i++)
		exec_node_fini(&exec->nodes.data[i]);
	vec_fini(&exec->nodes);
	for (unsigned i = 1; i < exec->lane_count; i++)
		if (exec->lanes[i])
			queue_drop(exec->lanes[i]);
	if (exec->last_queue)
		queue_drop(exec->last_queue);
	for (size_t i = 0; i < exec->held.count; i++)
		user_object_drop(exec->held.data[i].object, exec->held.data[i].count);
	vec_fini(&exec->held);
	for (size_t i = 0; i < exec->conditionals.count; i++)
		conditional_drop(exec->conditionals.data[i]);
	vec_fini(&exec->conditionals);
	pthread_mutex_destroy(&exec->lock);
	handle_destroy(exec);
}

/* ---- instantiation ---------------------------------------------------------------------------------------------------- */

enum { INSTANTIATE_FLAGS = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
			   CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY };

static struct context *context_of_graph(const struct graph *graph)
{
	struct context *current;

	for (size_t i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.data[i]->work.type == CU_GRAPH_NODE_TYPE_KERNEL)
			return graph->nodes.data[i]->work.kernel.function->module->context;
	if (!context_current_quiet(&current))
		return current;
	return graph->context && atomic_load(&graph->context->live) ? graph->context : NULL;
}

static CUresult instantiate(CUgraphExec *handle, CUgraph graph_handle, uint64_t flags)
{
	struct context *context;
	struct graph *graph;
	struct exec *exec;
	CUresult status = graph_find(graph_handle, &graph);

	if (status)
		return status;
	if (!handle || flags & ~(uint64_t)INSTANTIATE_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "graphs that kernels launch are not supported");
	if (graph->owner && graph->owner->work.type == CU_GRAPH_NODE_TYPE_GRAPH)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "the graph belongs to a node");
	status = capture_forbid_unsafe();
	if (status)
		return status;
	if (graph_has_memory_nodes(graph) && graph->instantiated_once)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "a graph with allocation nodes can be instantiated once at a time");
	context = context_of_graph(graph);
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	status = exec_create(graph, context, flags, &exec);
	if (status)
		return status;
	if (graph_has_memory_nodes(graph))
		graph->instantiated_once = true;
	*handle = (CUgraphExec)exec;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	return instantiate(exec, graph, flags);
}

static CUresult instantiate_with_log(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size)
{
	if (node)
		*node = NULL;
	if (log && size)
		log[0] = '\0';
	return instantiate(exec, graph, 0);
}

CUresult impl_cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size)
{
	return instantiate_with_log(exec, graph, node, log, size);
}

CUresult impl_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size)
{
	return instantiate_with_log(exec, graph, node, log, size);
}

CUresult impl_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
	CUresult status;

	if (!parameters) {
		REQUIRE_READY();
		return CUDA_ERROR_INVALID_VALUE;
	}
	parameters->hErrNode_out = NULL;
	status = instantiate(exec, graph, parameters->flags);
	parameters->result_out = !status ? CUDA_GRAPH_INSTANTIATE_SUCCESS :
				 status == CUDA_ERROR_NOT_SUPPORTED ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED :
								      CUDA_GRAPH_INSTANTIATE_ERROR;
	return status;
}

CUresult exec_find(CUgraphExec handle, struct exec **exec)
{
	REQUIRE_READY();
	*exec = handle_check(handle, HANDLE_GRAPH_EXEC);
	return *exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void free_later(void *exec)
{
	exec_free(exec);
}

CUresult impl_cuGraphExecDestroy(CUgraphExec handle)
{
	struct exec *exec;
	CUresult status = exec_find(handle, &exec);

	if (status)
		return status;
	for (struct graph *graph = handle_next(NULL, HANDLE_GRAPH); graph; graph = handle_next(graph, HANDLE_GRAPH))
		if (graph == exec->graph)
			graph->instantiated_once = false;
	if (exec->last_queue && !queue_is_done(exec->last_queue, exec->last_ticket)) {
		atomic_store(&exec->handle.kind, HANDLE_FREE); /* gone for the program; its work goes on */
		context_defer(exec->context, exec->last_queue, exec->last_ticket, free_later, exec);
		return CUDA_SUCCESS;
	}
	exec_free(exec);
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
	struct exec *exec;
	CUresult status = exec_find(handle, &exec);

	if (status)
		return status;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags;
	return CUDA_SUCCESS;
}

/* ---- lists of launches ----------------------------------------------------------------------------------------------------- */

static bool is_launch(const struct exec_node *entry)
{
	return entry->work.type == CU_GRAPH_NODE_TYPE_KERNEL && !entry->disabled && !entry->work.kernel.function->ptx->blocksareclusters;
}

/* Does the entry put nothing into its lane's queue, nor do others wait for it? */
static bool is_nothing(const struct exec_node *entry)
{
	bool idle = entry->disabled || entry->work.type == CU_GRAPH_NODE_TYPE_EMPTY;

	return idle && !entry->wait_count && !entry->watched;
}

/* The launches from entry `first` on that its lane does with nothing between them. */
static size_t collect_launches(struct exec *exec, size_t first, struct device_launch *launches)
{
	unsigned lane = exec->nodes.data[first].lane;
	size_t count = 0;

	for (size_t i = first; i < exec->nodes.count; i++) {
		struct exec_node *entry = &exec->nodes.data[i];

		if (entry->lane != lane || is_nothing(entry))
			continue;
		if (!is_launch(entry) || (i > first && entry->wait_count))
			break;
		entry->in_list = true;
		launches[count++] = (struct device_launch){entry->work.kernel.function->kernel, &entry->work.kernel.config};
		atomic_store_explicit(&entry->work.kernel.function->loaded, true, memory_order_relaxed);
		if (entry->watched)
			break;
	}
	return count;
}

/* Checks and copies what launches need once, not at each launch of the graph. */
static CUresult exec_prepare(struct exec *exec)
{
	const struct device_ops *ops = exec->context->ops;
	struct device_launch *launches;
	CUresult status = CUDA_SUCCESS;

	if (exec->prepared || !ops->list_create || driver.compares)
		return CUDA_SUCCESS;
	launches = malloc((exec->nodes.count + 1) * sizeof *launches);
	if (!launches)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < exec->nodes.count && !status; i++) {
		struct exec_node *entry = &exec->nodes.data[i];

		if (!is_launch(entry) || entry->in_list)
			continue;
		status = (CUresult)ops->list_create(exec->context->device->device, launches, collect_launches(exec, i, launches),
						    &entry->list);
	}
	free(launches);
	if (status)
		exec_unprepare(exec);
	exec->prepared = !status;
	return status;
}

void exec_unprepare(struct exec *exec)
{
	for (size_t i = 0; i < exec->nodes.count; i++) {
		struct exec_node *entry = &exec->nodes.data[i];

		if (entry->list)
			exec->context->ops->list_release(entry->list);
		entry->list = NULL;
		entry->in_list = false;
	}
	exec->prepared = false;
}

/* ---- launch ---------------------------------------------------------------------------------------------------------------- */

static CUresult exec_put(struct exec *exec, struct queue *queue);

/* Runs a body to its end on the calling (host-function) thread. */
static CUresult run_body(struct exec *body, struct queue *queue)
{
	CUresult status = exec_put(body, queue);

	return status ? status : (CUresult)queue->context->ops->queue_synchronize(queue->device_queue, queue_last(queue));
}

struct conditional_run {
	struct exec_node *entry;
	struct queue *queue; /* of its own: the lane's queue waits for this function */
	struct device_queue *behind; /* a thread: when it begins */
	uint64_t ticket;
	pthread_t thread;
};

static void run_bodies(struct conditional_run *run)
{
	const struct work_conditional *conditional = &run->entry->work.conditional;
	struct exec **bodies = run->entry->bodies;
	uint32_t value = conditional_value(conditional->handle);
	CUresult status = CUDA_SUCCESS;

	switch ((int)conditional->type) {
	case CU_GRAPH_COND_TYPE_IF:
		if (value)
			status = run_body(bodies[0], run->queue);
		else if (conditional->size > 1)
			status = run_body(bodies[1], run->queue);
		break;
	case CU_GRAPH_COND_TYPE_WHILE:
		while (value && !status) {
			status = run_body(bodies[0], run->queue);
			value = conditional_value(conditional->handle);
		}
		break;
	default:
		if (value < conditional->size)
			status = run_body(bodies[value], run->queue);
		break;
	}
	if (status)
		api_error(status, "the body of a conditional node failed");
	queue_drop(run->queue);
}

static void run_conditional(void *argument)
{
	run_bodies(argument);
	free(argument);
}

/* Host functions must not call HIP. There a thread does what the node does, and the host function waits for it. A node within a body is done at
 * once by the thread that it is in: its host function would wait for another. */
static _Thread_local bool in_body;

static void *conditional_thread(void *argument)
{
	struct conditional_run *run = argument;

	in_body = true;
	run->queue->context->ops->queue_synchronize(run->behind, run->ticket);
	run_bodies(run);
	return NULL;
}

static void join_conditional(void *argument)
{
	struct conditional_run *run = argument;

	pthread_join(run->thread, NULL);
	free(run);
}

static CUresult start_conditional(struct conditional_run *run, struct queue *queue)
{
	const struct device_ops *ops = queue->context->ops;
	CUresult status = CUDA_SUCCESS;

	run->behind = queue->device_queue;
	if (ops->queue_mark)
		status = (CUresult)ops->queue_mark(run->behind, &run->ticket);
	else
		status = (CUresult)ops->queue_ticket(run->behind, &run->ticket);
	if (!status && in_body) {
		ops->queue_synchronize(run->behind, run->ticket);
		run_conditional(run);
		return CUDA_SUCCESS;
	}
	if (!status && pthread_create(&run->thread, NULL, conditional_thread, run))
		status = CUDA_ERROR_OUT_OF_MEMORY;
	if (status) {
		queue_drop(run->queue);
		free(run);
		return status;
	}
	status = (CUresult)ops->queue_host_function(run->behind, join_conditional, run);
	if (status)
		join_conditional(run);
	return status;
}

static CUresult put_conditional(struct exec_node *entry, struct queue *queue)
{
	const struct device_ops *ops = queue->context->ops;
	struct conditional_run *run = malloc(sizeof *run);
	struct queue *own = calloc(1, sizeof *own);
	CUresult status = CUDA_ERROR_OUT_OF_MEMORY;

	if (run && own) {
		atomic_init(&own->uses, 1);
		own->context = queue->context;
		status = (CUresult)ops->queue_create(queue->context->device->device, 0, &own->device_queue);
	}
	if (!status) {
		*run = (struct conditional_run){.entry = entry, .queue = own};
		if (!queue->context->device->properties.host_backed)
			return start_conditional(run, queue);
		status = (CUresult)ops->queue_host_function(queue->device_queue, run_conditional, run);
		if (status)
			ops->queue_destroy(own->device_queue);
	}
	if (status) {
		free(run);
		free(own);
	}
	return status;
}

static CUresult put_entry(struct exec *exec, struct exec_node *entry, struct queue *first)
{
	struct queue *queue = entry->lane ? exec->lanes[entry->lane] : first;
	const struct device_ops *ops = queue->context->ops;
	CUresult status = CUDA_SUCCESS;

	for (uint32_t i = 0; i < entry->wait_count && !status; i++) {
		const struct exec_node *other = &exec->nodes.data[entry->waits[i]];
		const struct queue *from = other->lane ? exec->lanes[other->lane] : first;

		status = (CUresult)ops->queue_wait(queue->device_queue, from->device_queue, other->ticket);
	}
	if (!status && entry->list)
		status = (CUresult)ops->queue_launch_list(queue->device_queue, entry->list);
	else if (!status && !entry->disabled && !entry->in_list)
		status = entry->bodies ? put_conditional(entry, queue) : work_put(&entry->work, queue);
	if (entry->watched)
		entry->ticket = queue_last(queue);
	return status;
}

/* Behind what is in the queue; the queue ends behind all of it. */
static CUresult exec_put(struct exec *exec, struct queue *queue)
{
	const struct device_ops *ops = exec->context->ops;
	CUresult status = exec_prepare(exec);

	if (!status && exec->last_queue && exec->last_queue != queue && !queue_is_done(exec->last_queue, exec->last_ticket))
		status = (CUresult)ops->queue_wait(queue->device_queue, exec->last_queue->device_queue, exec->last_ticket);
	if (exec->lane_count > 1) {
		uint64_t begin = queue_last(queue);

		for (unsigned i = 1; i < exec->lane_count && !status; i++)
			status = (CUresult)ops->queue_wait(exec->lanes[i]->device_queue, queue->device_queue, begin);
	}
	for (size_t i = 0; i < exec->nodes.count && !status; i++)
		status = put_entry(exec, &exec->nodes.data[i], queue);
	for (unsigned i = 1; i < exec->lane_count && !status; i++)
		status = (CUresult)ops->queue_wait(queue->device_queue, exec->lanes[i]->device_queue, queue_last(exec->lanes[i]));
	return status;
}

/* An allocation that the last launch left must be freed before the next, unless the graph does so itself. */
static CUresult check_allocations(const struct exec *exec)
{
	if (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
		return CUDA_SUCCESS;
	for (size_t i = 0; i < exec->nodes.count; i++) {
		const struct work *work = &exec->nodes.data[i].work;

		if (work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && atomic_load(&work->allocate.memory->allocated))
			return api_error(CUDA_ERROR_INVALID_VALUE, "memory that the last launch allocated has not been freed");
	}
	return CUDA_SUCCESS;
}

static CUresult launch(struct exec *exec, struct stream *stream)
{
	CUresult status = check_allocations(exec);

	if (!status)
		status = stream_enter(stream);
	if (status)
		return status;
	if (exec->conditionals.count) {
		/* The values belong to the launch before until it has ended. */
		if (exec->last_queue)
			exec->context->ops->queue_synchronize(exec->last_queue->device_queue, exec->last_ticket);
		for (size_t i = 0; i < exec->conditionals.count; i++)
			conditional_reset(exec->conditionals.data[i]);
	}
	status = exec_put(exec, stream->queue);
	stream_leave(stream);
	queue_hold(stream->queue);
	if (exec->last_queue)
		queue_drop(exec->last_queue);
	exec->last_queue = stream->queue;
	exec->last_ticket = queue_last(stream->queue);
	return status;
}

/* A graph that does the same: the one it was made from may be gone. */
static CUresult graph_of_exec(const struct exec *exec, struct graph **out)
{
	struct graph *graph = graph_create(exec->context);
	struct node **nodes = calloc(exec->nodes.count + 1, sizeof *nodes), **after = calloc(LANES_MOST + 1, sizeof *after);
	struct node *tails[LANES_MOST] = {NULL};
	CUresult status = graph && nodes && after ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (size_t i = 0; i < exec->nodes.count && !status; i++) {
		const struct exec_node *entry = &exec->nodes.data[i];
		struct work work;
		size_t count = 0;

		if (entry->bodies || entry->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || entry->work.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			status = api_error(CUDA_ERROR_NOT_SUPPORTED, "a graph with conditional or allocation nodes in another graph");
		for (uint32_t k = 0; k < entry->wait_count && count < LANES_MOST; k++)
			after[count++] = nodes[entry->waits[k]];
		if (tails[entry->lane])
			after[count++] = tails[entry->lane];
		if (!status)
			status = work_copy(&work, &entry->work);
		if (!status)
			status = graph_add(graph, &work, after, NULL, count, &nodes[i]);
		tails[entry->lane] = nodes[i];
	}
	free(nodes);
	free(after);
	if (status && graph)
		graph_destroy(graph);
	*out = graph;
	return status;
}

static CUresult capture_exec(struct stream *stream, const struct exec *exec)
{
	struct graph *graph;
	CUresult status = graph_of_exec(exec, &graph);

	return status ? status : capture_graph(stream, graph);
}

CUresult impl_cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
	struct stream *stream;
	struct exec *exec;
	CUresult status = exec_find(handle, &exec);

	if (!status)
		status = stream_require(stream_handle, &stream);
	if (status)
		return status;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire))
		return capture_exec(stream, exec);
	pthread_mutex_lock(&exec->lock);
	status = launch(exec, stream);
	pthread_mutex_unlock(&exec->lock);
	return status;
}

CUresult impl_cuGraphUpload(CUgraphExec handle, CUstream stream_handle)
{
	struct stream *stream;
	struct exec *exec;
	CUresult status = exec_find(handle, &exec);

	if (!status)
		status = stream_require(stream_handle, &stream);
	if (status)
		return status;
	pthread_mutex_lock(&exec->lock);
	status = exec_prepare(exec);
	pthread_mutex_unlock(&exec->lock);
	return status;
}
