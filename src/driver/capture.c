/* Stream capture: a graph is written by streams that seem to work. CUDA Driver API 6.18, cuStreamBeginCapture, and
 * the CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture". What the modes refuse is as recorded on cards.
 *
 * A captured stream has a set of nodes that its next node will come after. An event recorded in it keeps the set of that
 * moment; a stream that waits for the event joins the capture with it. */
#define _GNU_SOURCE
#include "driver/capture.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/graph.h"

struct node_set {
	VEC(struct node *) nodes;
	VEC(CUgraphEdgeData) data; /* of the edges to come; as many as nodes */
};

struct session { /* one capture, from begin to end */
	uint64_t id;
	CUstreamCaptureMode mode;
	pthread_t thread;
	struct graph *graph;
	bool owns_graph;           /* not cuStreamBeginCaptureToGraph() */
	struct stream *origin;
	_Atomic bool invalid;
	struct node_set left;      /* what destroyed streams ended with */
	struct session *next;      /* all of them */
};

struct capture { /* of one stream */
	struct session *session;
	struct node_set after;
};

/* All of the following under one lock: captures are rare and short calls. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *sessions;
static _Atomic uint32_t session_count;
static _Thread_local CUstreamCaptureMode thread_mode STATIC_TLS = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* ---- sets ---------------------------------------------------------------------------------------------------------- */

static void set_clear(struct node_set *set)
{
	set->nodes.count = set->data.count = 0;
}

static void set_fini(struct node_set *set)
{
	vec_fini(&set->nodes);
	vec_fini(&set->data);
}

static CUresult set_add(struct node_set *set, struct node *node, const CUgraphEdgeData *data)
{
	CUgraphEdgeData plain = {0};

	for (size_t i = 0; i < set->nodes.count; i++)
		if (set->nodes.data[i] == node)
			return CUDA_SUCCESS;
	if (!vec_push(&set->nodes, node))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!vec_push(&set->data, data ? *data : plain)) {
		set->nodes.count--;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static CUresult set_merge(struct node_set *to, const struct node_set *from)
{
	CUresult status = CUDA_SUCCESS;

	for (size_t i = 0; i < from->nodes.count && !status; i++)
		status = set_add(to, from->nodes.data[i], &from->data.data[i]);
	return status;
}

/* ---- what must not be done meanwhile --------------------------------------------------------------------------------- */

static CUresult invalidate(struct session *session, const char *why)
{
	atomic_store(&session->invalid, true);
	return api_error(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s", why);
}

/* Refused where the thread is not relaxed and has a capture of its own that is not, or is global while anybody's global
 * capture runs. */
static CUresult forbid_unsafe_locked(void)
{
	CUresult status = CUDA_SUCCESS;

	for (struct session *session = sessions; session; session = session->next) {
		bool mine = pthread_equal(session->thread, pthread_self()) && session->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
		bool others = thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && session->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;

		if (mine || others)
			status = invalidate(session, "a call that may wait for the device, during a stream capture");
	}
	return status;
}

CUresult capture_forbid_unsafe(void)
{
	CUresult status;

	if (!atomic_load_explicit(&session_count, memory_order_acquire) || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	status = forbid_unsafe_locked();
	pthread_mutex_unlock(&lock);
	return status;
}

CUresult capture_forbid_stream(struct stream *stream)
{
	struct capture *capture;
	CUresult status;

	if (!atomic_load_explicit(&session_count, memory_order_acquire))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	capture = atomic_load(&stream->capture);
	if (capture)
		status = invalidate(capture->session, "the stream is being captured");
	else
		status = thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED ? CUDA_SUCCESS : forbid_unsafe_locked();
	pthread_mutex_unlock(&lock);
	return status;
}

CUresult capture_check_legacy(struct context *context)
{
	CUresult status = CUDA_SUCCESS;

	if (!atomic_load_explicit(&context->captures, memory_order_acquire))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	for (struct session *session = sessions; session; session = session->next) {
		if (session->origin->context != context || session->origin->rule != STREAM_BLOCKING)
			continue;
		atomic_store(&session->invalid, true);
		status = api_error(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream would have to wait for a stream under capture");
	}
	pthread_mutex_unlock(&lock);
	return status;
}

static struct session *session_of_event(const struct event *event)
{
	for (struct session *session = sessions; session; session = session->next)
		if (session->id == event->capture_id)
			return session;
	return NULL;
}

CUresult capture_forbid_event(struct event *event)
{
	struct session *session;

	pthread_mutex_lock(&lock);
	session = session_of_event(event);
	if (session)
		atomic_store(&session->invalid, true);
	pthread_mutex_unlock(&lock);
	return api_error(CUDA_ERROR_CAPTURED_EVENT, "the event was last recorded in a stream under capture");
}

void capture_event_gone(struct event *event)
{
	if (!event->captured)
		return;
	pthread_mutex_lock(&lock);
	set_fini(event->captured);
	pthread_mutex_unlock(&lock);
	free(event->captured);
	event->captured = NULL;
}

/* ---- leaving --------------------------------------------------------------------------------------------------------------- */

static void session_end_locked(struct session *session)
{
	for (struct session **link = &sessions; *link; link = &(*link)->next) {
		if (*link == session) {
			*link = session->next;
			break;
		}
	}
	atomic_fetch_sub(&session_count, 1);
	if (session->origin->rule == STREAM_BLOCKING)
		atomic_fetch_sub(&session->origin->context->captures, 1);
	atomic_fetch_sub(&session->graph->captures, 1);
	for (struct stream *stream = handle_next(NULL, HANDLE_STREAM); stream; stream = handle_next(stream, HANDLE_STREAM)) {
		struct capture *capture = atomic_load(&stream->capture);

		if (!capture || capture->session != session)
			continue;
		atomic_store(&stream->capture, NULL);
		set_fini(&capture->after);
		free(capture);
	}
	set_fini(&session->left);
}

void capture_stream_gone(struct stream *stream)
{
	struct capture *capture;

	if (!atomic_load_explicit(&stream->capture, memory_order_acquire))
		return;
	pthread_mutex_lock(&lock);
	capture = atomic_load(&stream->capture);
	if (capture && capture->session->origin == stream) { /* the capture ends without a graph */
		struct session *session = capture->session;

		session_end_locked(session);
		if (session->owns_graph)
			graph_destroy(session->graph);
		free(session);
	} else if (capture) {
		if (set_merge(&capture->session->left, &capture->after))
			atomic_store(&capture->session->invalid, true);
		atomic_store(&stream->capture, NULL);
		set_fini(&capture->after);
		free(capture);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- beginning and ending -------------------------------------------------------------------------------------------------------- */

static CUresult begin(struct stream *stream, CUstreamCaptureMode mode, struct graph *graph, const struct node_set *after)
{
	struct session *session = calloc(1, sizeof *session);
	struct capture *capture = calloc(1, sizeof *capture);
	CUresult status = session && capture ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	if (!status) {
		session->owns_graph = !graph;
		session->graph = graph ? graph : graph_create(stream->context);
		if (!session->graph)
			status = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!status && after)
		status = set_merge(&capture->after, after);
	if (status) {
		free(session);
		free(capture);
		return status;
	}
	session->id = driver_next_id();
	session->mode = mode;
	session->thread = pthread_self();
	session->origin = stream;
	capture->session = session;
	pthread_mutex_lock(&lock);
	session->next = sessions;
	sessions = session;
	atomic_fetch_add(&session_count, 1);
	atomic_fetch_add(&session->graph->captures, 1);
	if (stream->rule == STREAM_BLOCKING)
		atomic_fetch_add(&stream->context->captures, 1);
	atomic_store_explicit(&stream->capture, capture, memory_order_release);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult begin_checked(CUstream handle, CUstreamCaptureMode mode, struct graph *graph, const struct node_set *after)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if ((int)mode < 0 || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->rule == STREAM_LEGACY)
		return api_error(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
	if (atomic_load(&stream->capture))
		return api_error(CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured already");
	return begin(stream, mode, graph, after);
}

CUresult impl_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	return begin_checked(stream, mode, NULL, NULL);
}

CUresult impl_cuStreamBeginCapture(CUstream stream)
{
	return begin_checked(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL);
}

CUresult impl_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph_handle, const CUgraphNode *dependencies,
					  const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
	struct node_set after = {0};
	struct graph *graph;
	CUresult status = graph_find(graph_handle, &graph);

	if (!status && count && !dependencies)
		status = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !status; i++) {
		struct node *node = node_check(dependencies[i]);

		status = node && node->graph == graph ? set_add(&after, node, data ? &data[i] : NULL) : CUDA_ERROR_INVALID_VALUE;
	}
	if (!status)
		status = begin_checked(stream, mode, graph, &after);
	set_fini(&after);
	return status;
}

/* Marks the nodes that `node` comes after. */
static void mark_before(const struct graph *graph, struct node *node, uint8_t *marks)
{
	VEC(struct node *) open = {0};

	(void)graph;
	while (node) {
		if (!marks[node->id]) {
			marks[node->id] = 1;
			for (size_t i = 0; i < node->in.count; i++)
				vec_push(&open, node->in.data[i].from);
		}
		node = open.count ? open.data[--open.count] : NULL;
	}
	vec_fini(&open);
}

/* Has every stream of the capture been joined to the one it began with? */
static bool is_joined_locked(const struct session *session, const struct capture *origin)
{
	uint8_t *marks = calloc(session->graph->next_id + 1, 1);
	bool joined = marks;

	for (size_t i = 0; marks && i < origin->after.nodes.count; i++)
		mark_before(session->graph, origin->after.nodes.data[i], marks);
	for (struct stream *stream = handle_next(NULL, HANDLE_STREAM); stream && joined; stream = handle_next(stream, HANDLE_STREAM)) {
		const struct capture *capture = atomic_load(&stream->capture);

		if (!capture || capture->session != session)
			continue;
		for (size_t i = 0; i < capture->after.nodes.count; i++)
			joined = joined && marks[capture->after.nodes.data[i]->id];
	}
	for (size_t i = 0; joined && i < session->left.nodes.count; i++)
		joined = marks[session->left.nodes.data[i]->id];
	free(marks);
	return joined;
}

static CUresult end_locked(struct stream *stream, CUgraph *graph)
{
	struct capture *capture = atomic_load(&stream->capture);
	struct session *session;
	CUresult status = CUDA_SUCCESS;

	if (!capture)
		return api_error(CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured");
	session = capture->session;
	if (session->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(session->thread, pthread_self()))
		return api_error(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture began on another thread");
	if (session->origin != stream) {
		atomic_store(&session->invalid, true);
		return api_error(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began with another stream");
	}
	if (atomic_load(&session->invalid))
		status = api_error(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "a call in between has ended the capture");
	else if (!is_joined_locked(session, capture))
		status = api_error(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream of the capture has not been joined to the first");
	session_end_locked(session);
	if (graph) /* a program that captures to a graph of its own need not ask for it */
		*graph = status ? NULL : (CUgraph)session->graph;
	if (status && session->owns_graph)
		graph_destroy(session->graph);
	free(session);
	return status;
}

CUresult impl_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	pthread_mutex_lock(&lock);
	status = end_locked(stream, graph);
	pthread_mutex_unlock(&lock);
	return status;
}

/* ---- nodes in the place of commands ------------------------------------------------------------------------------------------------- */

static CUresult usable_locked(struct stream *stream, struct capture **capture)
{
	*capture = atomic_load(&stream->capture);
	if (!*capture)
		return CUDA_ERROR_ILLEGAL_STATE; /* it ended on another thread a moment ago */
	return atomic_load(&(*capture)->session->invalid) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

/* Takes the work over, on an error too. */
static CUresult add_node(struct stream *stream, struct work *work, struct node **out)
{
	struct capture *capture;
	struct node *node = NULL;
	CUresult status;

	pthread_mutex_lock(&lock);
	status = usable_locked(stream, &capture);
	if (!status)
		status = graph_add(capture->session->graph, work, capture->after.nodes.data, capture->after.data.data,
				   capture->after.nodes.count, &node);
	if (!status) {
		set_clear(&capture->after);
		status = set_add(&capture->after, node, NULL);
	}
	pthread_mutex_unlock(&lock);
	if (!node)
		work_fini(work);
	if (out)
		*out = node;
	return status;
}

CUresult capture_host(struct stream *stream, CUhostFn function, void *argument)
{
	struct work work = {.type = CU_GRAPH_NODE_TYPE_HOST};

	work.host.function = function;
	work.host.argument = argument;
	return add_node(stream, &work, NULL);
}

CUresult capture_copy(struct stream *stream, const struct copy *copy)
{
	struct work work = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
	CUDA_MEMCPY3D *p = &work.copy.parameters;

	work.copy.copy = *copy;
	work.copy.context = (CUcontext)stream->context;
	*p = (CUDA_MEMCPY3D){
		.srcMemoryType = copy->from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, .srcHost = copy->from_host ? copy->from : NULL,
		.srcDevice = copy->from_host ? 0 : (CUdeviceptr)(uintptr_t)copy->from, .srcPitch = copy->from_pitch,
		.srcHeight = copy->from_pitch ? copy->from_slice / copy->from_pitch : 0,
		.dstMemoryType = copy->to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, .dstHost = copy->to_host ? copy->to : NULL,
		.dstDevice = copy->to_host ? 0 : (CUdeviceptr)(uintptr_t)copy->to, .dstPitch = copy->to_pitch,
		.dstHeight = copy->to_pitch ? copy->to_slice / copy->to_pitch : 0,
		.WidthInBytes = copy->width, .Height = copy->height, .Depth = copy->depth,
	};
	return add_node(stream, &work, NULL);
}

CUresult capture_fill(struct stream *stream, const struct fill *fill)
{
	struct work work = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

	work.fill.fill = *fill;
	work.fill.parameters = (CUDA_MEMSET_NODE_PARAMS_v2){(CUdeviceptr)(uintptr_t)fill->to, fill->pitch, fill->value, fill->element,
							    fill->width, fill->height, (CUcontext)stream->context};
	return add_node(stream, &work, NULL);
}

CUresult capture_launch(struct stream *stream, struct function *function, const struct launch_config *config)
{
	struct work work;
	CUresult status = work_of_kernel(&work, function, (CUkernel)function->library_kernel, config);

	return status ? status : add_node(stream, &work, NULL);
}

CUresult capture_memops(struct stream *stream, const CUstreamBatchMemOpParams *operations, unsigned count)
{
	CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
	struct work work;
	CUresult status;

	parameters.memOp.ctx = (CUcontext)stream->context;
	parameters.memOp.count = count;
	parameters.memOp.paramArray = (CUstreamBatchMemOpParams *)(uintptr_t)operations;
	status = work_of_parameters(&work, &parameters);
	return status ? status : add_node(stream, &work, NULL);
}

CUresult capture_graph(struct stream *stream, struct graph *graph)
{
	struct work work = {.type = CU_GRAPH_NODE_TYPE_GRAPH};

	work.child.graph = graph;
	return add_node(stream, &work, NULL);
}

CUresult capture_allocate(struct stream *stream, struct pool *pool, size_t size, CUdeviceptr *pointer)
{
	CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	struct work work;
	struct node *node;
	CUresult status;

	(void)pool; /* graphs have memory of their own, on the stream's device */
	parameters.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	parameters.alloc.poolProps.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, stream->context->device->ordinal};
	parameters.alloc.bytesize = size;
	status = work_of_parameters(&work, &parameters);
	if (!status)
		status = add_node(stream, &work, &node);
	if (!status)
		*pointer = node->work.allocate.parameters.dptr;
	return status;
}

CUresult capture_free(struct stream *stream, CUdeviceptr pointer)
{
	CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
	struct work work;
	CUresult status;

	parameters.free.dptr = pointer;
	status = work_of_parameters(&work, &parameters);
	return status ? status : add_node(stream, &work, NULL);
}

/* ---- events ------------------------------------------------------------------------------------------------------------------------ */

static CUresult add_event_node(struct stream *stream, CUgraphNodeType type, struct event *event)
{
	struct work work = {.type = type};

	work.event = (CUevent)event;
	return add_node(stream, &work, NULL);
}

CUresult capture_event_record(struct stream *stream, struct event *event, bool external)
{
	struct capture *capture;
	CUresult status;

	if (external)
		return add_event_node(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
	pthread_mutex_lock(&lock);
	status = usable_locked(stream, &capture);
	if (!status && !event->captured && !(event->captured = calloc(1, sizeof *event->captured)))
		status = CUDA_ERROR_OUT_OF_MEMORY;
	if (!status) {
		set_clear(event->captured);
		status = set_merge(event->captured, &capture->after);
		atomic_store(&event->capture_id, capture->session->id);
	}
	pthread_mutex_unlock(&lock);
	return status;
}

/* The stream comes into the capture that the event was recorded in, if it is not in it. */
static CUresult join_locked(struct stream *stream, struct event *event)
{
	struct session *session = session_of_event(event);
	struct capture *capture = atomic_load(&stream->capture);

	if (!session)
		return api_error(CUDA_ERROR_CAPTURED_EVENT, "the capture that the event was recorded in has ended");
	if (atomic_load(&session->invalid))
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (capture && capture->session != session) {
		atomic_store(&session->invalid, true);
		atomic_store(&capture->session->invalid, true);
		return api_error(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the wait would join two captures");
	}
	if (stream->rule == STREAM_LEGACY) {
		atomic_store(&session->invalid, true);
		return api_error(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream cannot join a capture");
	}
	if (!capture) {
		capture = calloc(1, sizeof *capture);
		if (!capture)
			return CUDA_ERROR_OUT_OF_MEMORY;
		capture->session = session;
		atomic_store_explicit(&stream->capture, capture, memory_order_release);
	}
	return set_merge(&capture->after, event->captured);
}

CUresult capture_event_wait(struct stream *stream, struct event *event, bool external)
{
	CUresult status;

	if (external)
		return atomic_load(&stream->capture) ? add_event_node(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event) : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (atomic_load(&event->capture_id)) {
		status = join_locked(stream, event);
	} else { /* work outside of the capture cannot be waited for inside it */
		struct capture *capture = atomic_load(&stream->capture);

		if (capture)
			atomic_store(&capture->session->invalid, true);
		status = api_error(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "the event was recorded outside of the capture");
	}
	pthread_mutex_unlock(&lock);
	return status;
}

/* ---- questions --------------------------------------------------------------------------------------------------------------------- */

static CUstreamCaptureStatus status_of(const struct capture *capture)
{
	if (!capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return atomic_load(&capture->session->invalid) ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* The legacy stream may not even be asked while a blocking stream is captured. */
static CUresult ask(CUstream handle, struct stream **stream)
{
	CUresult status = stream_require(handle, stream);

	if (!status && (*stream)->rule == STREAM_LEGACY && atomic_load(&(*stream)->context->captures))
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	return status;
}

CUresult impl_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *out)
{
	struct stream *stream;
	CUresult status = ask(handle, &stream);

	if (status)
		return status;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	*out = status_of(atomic_load(&stream->capture));
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *out, cuuint64_t *id, CUgraph *graph,
					const CUgraphNode **dependencies, const CUgraphEdgeData **data, size_t *count)
{
	struct capture *capture;
	struct stream *stream;
	CUresult status = ask(handle, &stream);

	if (status)
		return status;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	capture = atomic_load(&stream->capture);
	*out = status_of(capture);
	if (*out == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
		if (id)
			*id = capture->session->id;
		if (graph)
			*graph = (CUgraph)capture->session->graph;
		if (dependencies)
			*dependencies = (const CUgraphNode *)capture->after.nodes.data;
		if (data)
			*data = capture->after.data.data;
		if (count)
			*count = capture->after.nodes.count;
	}
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *out, cuuint64_t *id, CUgraph *graph,
					const CUgraphNode **dependencies, size_t *count)
{
	return impl_cuStreamGetCaptureInfo_v3(handle, out, id, graph, dependencies, NULL, count);
}

CUresult impl_cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *out, cuuint64_t *id)
{
	return impl_cuStreamGetCaptureInfo_v3(handle, out, id, NULL, NULL, NULL, NULL);
}

CUresult impl_cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *dependencies, const CUgraphEdgeData *data,
						   size_t count, unsigned int flags)
{
	struct capture *capture;
	struct stream *stream;
	struct node_set fresh = {0};
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	status = usable_locked(stream, &capture);
	if (!status && flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
		status = set_merge(&fresh, &capture->after);
	for (size_t i = 0; i < count && !status; i++) {
		struct node *node = node_check(dependencies[i]);

		status = node && node->graph == capture->session->graph ? set_add(&fresh, node, data ? &data[i] : NULL) :
									  CUDA_ERROR_INVALID_VALUE;
	}
	if (!status) {
		struct node_set old = capture->after;

		capture->after = fresh;
		fresh = old;
	}
	pthread_mutex_unlock(&lock);
	set_fini(&fresh);
	return status;
}

CUresult impl_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies, size_t count, unsigned int flags)
{
	return impl_cuStreamUpdateCaptureDependencies_v2(stream, dependencies, NULL, count, flags);
}

CUresult impl_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = thread_mode;

	REQUIRE_READY();
	if (!mode || (int)*mode < 0 || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
