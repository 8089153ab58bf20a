/* Streams: queues of a back end with CUDA's rules for the default streams on top.
 * CUDA Driver API 6.18 "Stream Management" and "Stream synchronization behavior".
 *
 * The legacy stream waits for all earlier work of the context's blocking streams, and their later work waits for it.
 * A blocking stream with work since then is on context->dirty; context->legacy_order tells it that the legacy stream moved. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"
#include "driver/pool.h"

enum { PRIORITY_LEAST = 0, PRIORITY_GREATEST = -5 };

/* ---- queues ------------------------------------------------------------------------------------------ */

void queue_hold(struct queue *queue)
{
	atomic_fetch_add_explicit(&queue->uses, 1, memory_order_relaxed);
}

uint64_t queue_last(const struct queue *queue)
{
	uint64_t ticket = 0;

	queue->context->ops->queue_ticket(queue->device_queue, &ticket);
	return ticket;
}

bool queue_is_done(const struct queue *queue, uint64_t ticket)
{
	return queue->context->ops->queue_done(queue->device_queue, ticket);
}

uint64_t queue_mark(const struct queue *queue)
{
	uint64_t ticket = 0;

	if (!queue->context->ops->queue_mark)
		return queue_last(queue);
	queue->context->ops->queue_mark(queue->device_queue, &ticket);
	return ticket;
}

struct foreign_wait {
	struct queue *queue;
	uint64_t ticket;
};

static void wait_for_foreign(void *argument)
{
	struct foreign_wait wait = *(struct foreign_wait *)argument;

	free(argument);
	wait.queue->context->ops->queue_synchronize(wait.queue->device_queue, wait.ticket);
	queue_drop(wait.queue);
}

/* Back ends know nothing of one another: between them a thread of the host waits. */
CUresult queue_wait_for(struct queue *queue, struct queue *other, uint64_t ticket)
{
	const struct device_ops *ops = queue->context->ops;
	struct foreign_wait *wait;
	CUresult status;

	if (ops == other->context->ops)
		return (CUresult)ops->queue_wait(queue->device_queue, other->device_queue, ticket);
	wait = malloc(sizeof *wait);
	if (!wait)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*wait = (struct foreign_wait){other, ticket};
	queue_hold(other);
	status = (CUresult)ops->queue_host_function(queue->device_queue, wait_for_foreign, wait);
	if (status) {
		queue_drop(other);
		free(wait);
	}
	return status;
}

/* Destroying waits for the queue's work; a program that destroys a stream does not. */
void queue_drop(struct queue *queue)
{
	struct context *context = queue->context;

	if (atomic_fetch_sub_explicit(&queue->uses, 1, memory_order_acq_rel) != 1)
		return;
	if (queue_is_done(queue, queue_last(queue))) {
		context->ops->queue_destroy(queue->device_queue);
		free(queue);
		return;
	}
	pthread_mutex_lock(&context->lock);
	queue->next_dying = context->dying;
	context->dying = queue;
	atomic_store(&context->litter, true);
	pthread_mutex_unlock(&context->lock);
}

/* ---- the default-stream rules ----------------------------------------------------------------------------- */

static CUresult legacy_wait_for_dirty(struct stream *legacy)
{
	struct context *context = legacy->context;
	CUresult status = CUDA_SUCCESS;

	if (!atomic_load_explicit(&context->dirty, memory_order_acquire))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&context->lock);
	for (struct stream *s = atomic_load(&context->dirty), *next; s; s = next) {
		uint64_t ticket;

		next = s->next_dirty;
		atomic_store(&s->is_dirty, false); /* before the ticket: work that comes later marks it again */
		ticket = queue_last(s->queue);
		if (!queue_is_done(s->queue, ticket) && !status)
			status = (CUresult)context->ops->queue_wait(legacy->queue->device_queue, s->queue->device_queue, ticket);
	}
	atomic_store(&context->dirty, NULL);
	pthread_mutex_unlock(&context->lock);
	return status;
}

CUresult stream_enter(struct stream *stream)
{
	struct context *context = stream->context;
	struct queue *legacy;
	uint64_t order, ticket;
	CUresult status = CUDA_SUCCESS;

	if (stream->rule == STREAM_NON_BLOCKING)
		return CUDA_SUCCESS;
	if (stream->rule == STREAM_LEGACY) {
		status = capture_check_legacy(context);
		return status ? status : legacy_wait_for_dirty(stream);
	}
	order = atomic_load_explicit(&context->legacy_order, memory_order_acquire);
	if (order == atomic_load_explicit(&stream->legacy_seen, memory_order_acquire))
		return CUDA_SUCCESS;
	legacy = context->legacy->queue;
	ticket = queue_last(legacy);
	if (!queue_is_done(legacy, ticket))
		status = (CUresult)context->ops->queue_wait(stream->queue->device_queue, legacy->device_queue, ticket);
	if (!status) /* after the wait is in the queue: another thread that sees it may go on */
		atomic_store_explicit(&stream->legacy_seen, order, memory_order_release);
	return status;
}

void stream_leave(struct stream *stream)
{
	struct context *context = stream->context;

	if (stream->rule == STREAM_LEGACY)
		atomic_fetch_add_explicit(&context->legacy_order, 1, memory_order_acq_rel);
	if (stream->rule != STREAM_BLOCKING || atomic_load(&stream->is_dirty))
		return;
	pthread_mutex_lock(&context->lock);
	if (!atomic_exchange(&stream->is_dirty, true)) {
		stream->next_dirty = atomic_load(&context->dirty);
		atomic_store(&context->dirty, stream);
	}
	pthread_mutex_unlock(&context->lock);
}

CUresult stream_wait(struct stream *stream)
{
	struct context *context = stream->context;
	CUresult status = stream_enter(stream);

	if (!status)
		status = (CUresult)context->ops->queue_synchronize(stream->queue->device_queue, queue_last(stream->queue));
	if (atomic_load_explicit(&context->litter, memory_order_relaxed))
		context_reap(context);
	pools_synchronized(context->device);
	return status ? status : context_error(context);
}

CUresult context_join(struct context *context)
{
	struct device_queue *legacy = context->legacy->queue->device_queue;
	CUresult status = stream_enter(context->legacy);

	pthread_mutex_lock(&context->lock);
	for (struct stream *s = context->streams; s && !status; s = s->next)
		status = (CUresult)context->ops->queue_wait(legacy, s->queue->device_queue, queue_last(s->queue));
	pthread_mutex_unlock(&context->lock);
	stream_leave(context->legacy);
	return status;
}

/* ---- making and ending streams -------------------------------------------------------------------------------- */

static CUresult stream_create(struct context *context, enum stream_rule rule, int priority, struct stream **out)
{
	struct stream *stream = handle_create(HANDLE_STREAM);
	struct queue *queue = calloc(1, sizeof *queue);
	CUresult status = CUDA_ERROR_OUT_OF_MEMORY;

	if (stream && queue)
		status = (CUresult)context->ops->queue_create(context->device->device, priority, &queue->device_queue);
	if (status) {
		handle_destroy(stream);
		free(queue);
		return status;
	}
	atomic_init(&queue->uses, 1);
	queue->context = context;
	stream->context = context;
	stream->queue = queue;
	stream->rule = rule;
	stream->priority = priority;
	stream->id = driver_next_id();
	stream->synchronization_policy = CU_SYNC_POLICY_AUTO;
	stream->domain_map.remote = 1;
	pthread_mutex_lock(&context->lock);
	stream->next = context->streams;
	context->streams = stream;
	pthread_mutex_unlock(&context->lock);
	*out = stream;
	return CUDA_SUCCESS;
}

static void unlink_locked(struct context *context, struct stream *stream)
{
	for (struct stream **link = &context->streams; *link; link = &(*link)->next) {
		if (*link == stream) {
			*link = stream->next;
			break;
		}
	}
	if (!atomic_load(&stream->is_dirty))
		return;
	if (atomic_load(&context->dirty) == stream) {
		atomic_store(&context->dirty, stream->next_dirty);
		return;
	}
	for (struct stream *s = atomic_load(&context->dirty); s; s = s->next_dirty)
		if (s->next_dirty == stream) {
			s->next_dirty = stream->next_dirty;
			return;
		}
}

void stream_release(struct stream *stream)
{
	struct context *context = stream->context;
	struct queue *queue = stream->queue;
	uint64_t ticket = queue_last(queue);

	capture_stream_gone(stream);
	pthread_mutex_lock(&context->lock);
	unlink_locked(context, stream);
	/* The legacy stream still has to wait for what this one was given. */
	if (stream->rule == STREAM_BLOCKING && context->legacy && !queue_is_done(queue, ticket))
		context->ops->queue_wait(context->legacy->queue->device_queue, queue->device_queue, ticket);
	pthread_mutex_unlock(&context->lock);
	handle_destroy(stream);
	queue_drop(queue);
}

/* ---- per-thread default streams ---------------------------------------------------------------------------------- */

struct thread_stream {
	uint64_t context_id;
	struct stream *stream;
};

static _Thread_local struct {
	struct thread_stream *data;
	size_t count, capacity;
} mine STATIC_TLS;

static pthread_key_t mine_key;
static pthread_once_t mine_once = PTHREAD_ONCE_INIT;

static bool thread_stream_is_live(const struct thread_stream *entry)
{
	struct stream *stream = handle_check(entry->stream, HANDLE_STREAM);

	return stream && stream->per_thread && atomic_load(&stream->context->live) && stream->context->id == entry->context_id;
}

static void mine_release(void *data)
{
	for (size_t i = 0; i < mine.count; i++)
		if (thread_stream_is_live(&mine.data[i]))
			stream_release(mine.data[i].stream);
	vec_free(data);
	mine.data = NULL;
	mine.count = mine.capacity = 0;
}

static void mine_make_key(void)
{
	pthread_key_create(&mine_key, mine_release);
}

static CUresult stream_of_thread(struct context *context, struct stream **out)
{
	struct thread_stream entry = {context->id, NULL};
	CUresult status;

	for (size_t i = 0; i < mine.count; i++) {
		if (mine.data[i].context_id == context->id) {
			*out = mine.data[i].stream;
			return CUDA_SUCCESS;
		}
	}
	status = stream_create(context, STREAM_BLOCKING, PRIORITY_LEAST, &entry.stream);
	if (status)
		return status;
	entry.stream->per_thread = true;
	if (!vec_push(&mine, entry)) {
		stream_release(entry.stream);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_once(&mine_once, mine_make_key);
	pthread_setspecific(mine_key, mine.data);
	*out = entry.stream;
	return CUDA_SUCCESS;
}

CUresult stream_find(struct context *context, CUstream handle, struct stream **stream)
{
	if (!handle || handle == CU_STREAM_LEGACY) {
		*stream = context->legacy;
		return CUDA_SUCCESS;
	}
	if (handle == CU_STREAM_PER_THREAD)
		return stream_of_thread(context, stream);
	*stream = handle_check(handle, HANDLE_STREAM);
	return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult stream_require(CUstream handle, struct stream **stream)
{
	struct context *context;
	CUresult status;

	if ((uintptr_t)handle <= 2) {
		status = context_current(&context);
		return status ? status : stream_find(context, handle, stream);
	}
	REQUIRE_READY();
	*stream = handle_check(handle, HANDLE_STREAM);
	return *stream ? context_error((*stream)->context) : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- entries ------------------------------------------------------------------------------------------------ */

CUresult impl_cuStreamCreateWithPriority(CUstream *handle, unsigned int flags, int priority)
{
	struct stream *stream;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!handle || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	if (priority > PRIORITY_LEAST)
		priority = PRIORITY_LEAST;
	if (priority < PRIORITY_GREATEST)
		priority = PRIORITY_GREATEST;
	context_reap(context);
	status = stream_create(context, flags ? STREAM_NON_BLOCKING : STREAM_BLOCKING, priority, &stream);
	if (!status)
		*handle = (CUstream)stream;
	return status;
}

CUresult impl_cuStreamCreate(CUstream *handle, unsigned int flags)
{
	return impl_cuStreamCreateWithPriority(handle, flags, PRIORITY_LEAST);
}

CUresult impl_cuStreamDestroy_v2(CUstream handle)
{
	struct stream *stream;

	REQUIRE_READY();
	if ((uintptr_t)handle <= 2)
		return CUDA_ERROR_INVALID_HANDLE;
	stream = handle_check(handle, HANDLE_STREAM);
	if (!stream || stream == stream->context->legacy || stream->per_thread)
		return CUDA_ERROR_INVALID_HANDLE;
	stream_release(stream);
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamDestroy(CUstream handle)
{
	return impl_cuStreamDestroy_v2(handle);
}

CUresult impl_cuStreamSynchronize(CUstream handle)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (!status)
		status = capture_forbid_stream(stream);
	return status ? status : stream_wait(stream);
}

CUresult impl_cuStreamQuery(CUstream handle)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (!status)
		status = capture_forbid_stream(stream);
	if (!status)
		status = stream_enter(stream);
	if (status)
		return status;
	if (!queue_is_done(stream->queue, queue_last(stream->queue)))
		return CUDA_ERROR_NOT_READY;
	return context_error(stream->context);
}

/* What a stream is, in one value. */
#define GETTER(name, type, value)                                                                                      \
	CUresult impl_cuStreamGet##name(CUstream handle, type *out)                                                    \
	{                                                                                                              \
		struct stream *stream;                                                                                 \
		CUresult status = stream_require(handle, &stream);                                                     \
                                                                                                                       \
		if (status)                                                                                            \
			return status;                                                                                 \
		if (!out)                                                                                              \
			return CUDA_ERROR_INVALID_VALUE;                                                               \
		*out = (value);                                                                                        \
		return CUDA_SUCCESS;                                                                                   \
	}
GETTER(Priority, int, stream->priority)
GETTER(Flags, unsigned int, stream->rule == STREAM_NON_BLOCKING ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT)
GETTER(Id, unsigned long long, stream->id)
GETTER(Ctx, CUcontext, (CUcontext)stream->context)
GETTER(Device, CUdevice, stream->context->device->ordinal)

/* ---- attributes ------------------------------------------------------------------------------------------------ */

CUresult impl_cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attribute) {
	case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW: *value = stream->access_policy; break;
	case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY: value->syncPolicy = (CUsynchronizationPolicy)stream->synchronization_policy; break;
	case CU_STREAM_ATTRIBUTE_PRIORITY: value->priority = stream->priority; break;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: value->memSyncDomainMap = stream->domain_map; break;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN: value->memSyncDomain = (CUlaunchMemSyncDomain)stream->domain; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attribute) {
	case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		if (value->accessPolicyWindow.hitRatio < 0 || value->accessPolicyWindow.hitRatio > 1)
			return CUDA_ERROR_INVALID_VALUE;
		stream->access_policy = *value;
		break;
	case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
			return CUDA_ERROR_INVALID_VALUE;
		stream->synchronization_policy = value->syncPolicy;
		break;
	case CU_STREAM_ATTRIBUTE_PRIORITY:
		stream->priority = value->priority > PRIORITY_LEAST ? PRIORITY_LEAST :
				   value->priority < PRIORITY_GREATEST ? PRIORITY_GREATEST : value->priority;
		break;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: stream->domain_map = value->memSyncDomainMap; break;
	case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN: stream->domain = value->memSyncDomain; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle)
{
	struct stream *to, *from;
	CUresult status = stream_require(to_handle, &to);

	if (!status)
		status = stream_require(from_handle, &from);
	if (status)
		return status;
	to->access_policy = from->access_policy;
	to->synchronization_policy = from->synchronization_policy;
	to->domain_map = from->domain_map;
	to->domain = from->domain;
	return CUDA_SUCCESS;
}

/* ---- host functions ---------------------------------------------------------------------------------------------- */

CUresult command_host(struct stream *stream, void (*function)(void *), void *argument)
{
	CUresult status = stream_enter(stream);

	if (!status)
		status = (CUresult)stream->context->ops->queue_host_function(stream->queue->device_queue, function, argument);
	stream_leave(stream);
	return status;
}

CUresult impl_cuLaunchHostFunc(CUstream handle, CUhostFn function, void *argument)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire))
		return capture_host(stream, function, argument);
	return command_host(stream, function, argument);
}

struct stream_callback {
	CUstreamCallback function;
	CUstream stream;
	struct context *context;
	void *argument;
};

static void run_callback(void *argument)
{
	struct stream_callback callback = *(struct stream_callback *)argument;

	free(argument);
	callback.function(callback.stream, context_error(callback.context), callback.argument);
}

CUresult impl_cuStreamAddCallback(CUstream handle, CUstreamCallback function, void *argument, unsigned int flags)
{
	struct stream *stream;
	struct stream_callback *callback;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!function || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire))
		return capture_forbid_stream(stream);
	callback = malloc(sizeof *callback);
	if (!callback)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*callback = (struct stream_callback){function, handle, stream->context, argument};
	status = command_host(stream, run_callback, callback);
	if (status)
		free(callback);
	return status;
}
