/* Events: a point in a stream's queue and, where timing is on, when the queue reached it.
 * CUDA Driver API 6.20 "Event Management". */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"
#include "driver/ipc.h"
#include "driver/pool.h"

struct stamp { /* written by the back end; may not move or go while its queue has not passed the ticket */
	struct stamp *next;
	struct queue *queue;
	uint64_t ticket;
	uint64_t when_ns;
};

enum { EVENT_FLAGS = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS };

CUresult event_find(CUevent handle, struct event **event)
{
	REQUIRE_READY();
	*event = handle_check(handle, HANDLE_EVENT);
	return *event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuEventCreate(CUevent *handle, unsigned int flags)
{
	struct event *event;

	REQUIRE_CONTEXT(context);
	if (!handle || flags & ~(unsigned)EVENT_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
		return api_error(CUDA_ERROR_INVALID_VALUE, "an interprocess event has no timing");
	event = handle_create(HANDLE_EVENT);
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->context = context;
	event->flags = flags;
	pthread_mutex_init(&event->lock, NULL);
	pthread_mutex_lock(&context->lock);
	event->next = context->events;
	context->events = event;
	if (event->next)
		event->next->previous = event;
	pthread_mutex_unlock(&context->lock);
	*handle = (CUevent)event;
	return CUDA_SUCCESS;
}

static void stamp_free(void *argument)
{
	free(argument);
}

void event_release(struct event *event)
{
	struct context *context = event->context;

	pthread_mutex_lock(&context->lock);
	if (event->previous)
		event->previous->next = event->next;
	else
		context->events = event->next;
	if (event->next)
		event->next->previous = event->previous;
	pthread_mutex_unlock(&context->lock);
	for (struct stamp *stamp = event->stamps, *next; stamp; stamp = next) {
		struct queue *queue = stamp->queue;

		next = stamp->next;
		if (queue_is_done(queue, stamp->ticket))
			free(stamp);
		else
			context_defer(queue->context, queue, stamp->ticket, stamp_free, stamp);
		queue_drop(queue);
	}
	if (event->queue)
		queue_drop(event->queue);
	capture_event_gone(event);
	if (event->ipc)
		ipc_event_release(event->ipc);
	pthread_mutex_destroy(&event->lock);
	handle_destroy(event);
}

CUresult impl_cuEventDestroy_v2(CUevent handle)
{
	struct event *event;
	CUresult status = event_find(handle, &event);

	if (!status)
		event_release(event);
	return status;
}

CUresult impl_cuEventDestroy(CUevent handle)
{
	return impl_cuEventDestroy_v2(handle);
}

/* A stamp whose last writer is through, or a new one. */
static struct stamp *stamp_take_locked(struct event *event)
{
	struct stamp *stamp = event->stamps;

	while (stamp && !queue_is_done(stamp->queue, stamp->ticket))
		stamp = stamp->next;
	if (stamp) {
		queue_drop(stamp->queue);
		stamp->queue = NULL;
		return stamp;
	}
	stamp = calloc(1, sizeof *stamp);
	if (stamp) {
		stamp->next = event->stamps;
		event->stamps = stamp;
	}
	return stamp;
}

static CUresult record_locked(struct event *event, struct queue *queue)
{
	struct stamp *stamp = NULL;
	CUresult status = CUDA_SUCCESS;

	if (!(event->flags & CU_EVENT_DISABLE_TIMING)) {
		stamp = stamp_take_locked(event);
		if (!stamp)
			return CUDA_ERROR_OUT_OF_MEMORY;
		status = (CUresult)queue->context->ops->queue_timestamp(queue->device_queue, &stamp->when_ns);
		queue_hold(queue);
		stamp->queue = queue;
		stamp->ticket = queue_last(queue);
	}
	if (status)
		return status;
	queue_hold(queue);
	if (event->queue)
		queue_drop(event->queue);
	event->queue = queue;
	event->ticket = stamp ? stamp->ticket : queue_mark(queue);
	event->stamp = stamp;
	event->capture_id = 0;
	if (event->ipc)
		status = ipc_event_record(event->ipc, queue);
	return status;
}

CUresult event_record_in(struct event *event, struct queue *queue)
{
	CUresult status;

	pthread_mutex_lock(&event->lock);
	status = record_locked(event, queue);
	pthread_mutex_unlock(&event->lock);
	return status;
}

CUresult event_record(struct event *event, struct stream *stream)
{
	CUresult status;

	if (event->context != stream->context)
		return api_error(CUDA_ERROR_INVALID_HANDLE, "the event and the stream are of different contexts");
	status = stream_enter(stream);
	if (status)
		return status;
	status = event_record_in(event, stream->queue);
	stream_leave(stream);
	return status;
}

CUresult impl_cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags)
{
	struct stream *stream;
	struct event *event;
	CUresult status = event_find(handle, &event);

	if (!status)
		status = stream_require(stream_handle, &stream);
	if (status)
		return status;
	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire))
		return capture_event_record(stream, event, flags & CU_EVENT_RECORD_EXTERNAL);
	if (flags)
		return api_error(CUDA_ERROR_INVALID_VALUE, "CU_EVENT_RECORD_EXTERNAL is for streams under capture");
	return event_record(event, stream);
}

CUresult impl_cuEventRecord(CUevent handle, CUstream stream)
{
	return impl_cuEventRecordWithFlags(handle, stream, 0);
}

/* What was recorded last; the queue is held. false: nothing yet. */
static bool event_point(struct event *event, struct queue **queue, uint64_t *ticket)
{
	pthread_mutex_lock(&event->lock);
	*queue = event->queue;
	*ticket = event->ticket;
	if (*queue)
		queue_hold(*queue);
	pthread_mutex_unlock(&event->lock);
	return *queue;
}

CUresult event_wait_in(struct event *event, struct queue *queue)
{
	struct queue *other;
	uint64_t ticket;
	CUresult status = CUDA_SUCCESS;

	if (event->ipc && ipc_event_is_foreign(event->ipc))
		return ipc_event_wait(event->ipc, queue);
	if (!event_point(event, &other, &ticket))
		return CUDA_SUCCESS;
	if (other != queue && !queue_is_done(other, ticket))
		status = queue_wait_for(queue, other, ticket);
	queue_drop(other);
	return status;
}

CUresult event_wait(struct event *event, struct stream *stream)
{
	CUresult status = stream_enter(stream);

	if (!status)
		status = event_wait_in(event, stream->queue);
	stream_leave(stream);
	return status;
}

CUresult impl_cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned int flags)
{
	struct stream *stream;
	struct event *event;
	CUresult status = stream_require(stream_handle, &stream);

	if (!status)
		status = event_find(handle, &event);
	if (status)
		return status;
	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (event->capture_id || atomic_load_explicit(&stream->capture, memory_order_acquire))
		return capture_event_wait(stream, event, flags & CU_EVENT_WAIT_EXTERNAL);
	if (flags)
		return api_error(CUDA_ERROR_INVALID_VALUE, "CU_EVENT_WAIT_EXTERNAL is for streams under capture");
	return event_wait(event, stream);
}

/* Has what was recorded last been reached? `wait`: it has when this returns. */
static CUresult event_ask(CUevent handle, bool wait)
{
	struct queue *queue;
	struct event *event;
	uint64_t ticket;
	CUresult status = event_find(handle, &event);

	if (!status)
		status = context_error(event->context);
	if (status)
		return status;
	if (event->capture_id)
		return capture_forbid_event(event);
	if (event->ipc && ipc_event_is_foreign(event->ipc))
		return wait ? ipc_event_synchronize(event->ipc) : ipc_event_query(event->ipc);
	if (!event_point(event, &queue, &ticket))
		return CUDA_SUCCESS;
	if (wait)
		status = (CUresult)queue->context->ops->queue_synchronize(queue->device_queue, ticket);
	else if (!queue_is_done(queue, ticket))
		status = CUDA_ERROR_NOT_READY;
	queue_drop(queue);
	if (wait)
		pools_synchronized(event->context->device);
	return status ? status : context_error(event->context);
}

CUresult impl_cuEventQuery(CUevent handle)
{
	return event_ask(handle, false);
}

CUresult impl_cuEventSynchronize(CUevent handle)
{
	return event_ask(handle, true);
}

/* When the event was reached. */
static CUresult event_time(struct event *event, uint64_t *when)
{
	CUresult status = CUDA_SUCCESS;

	pthread_mutex_lock(&event->lock);
	if (!event->queue || !event->stamp)
		status = CUDA_ERROR_INVALID_HANDLE; /* never recorded, or without timing */
	else if (!queue_is_done(event->queue, event->ticket))
		status = CUDA_ERROR_NOT_READY;
	else
		*when = event->stamp->when_ns;
	pthread_mutex_unlock(&event->lock);
	return status;
}

CUresult impl_cuEventElapsedTime_v2(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
	struct event *start, *end;
	uint64_t from, to;
	CUresult status = event_find(start_handle, &start);

	if (!status)
		status = event_find(end_handle, &end);
	if (!status)
		status = context_error(start->context);
	if (status)
		return status;
	if (!milliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	if (start->context->device != end->context->device)
		return api_error(CUDA_ERROR_INVALID_HANDLE, "the events are of different devices");
	status = event_time(start, &from);
	if (!status)
		status = event_time(end, &to);
	if (!status)
		*milliseconds = (float)((double)(int64_t)(to - from) / 1e6);
	return status;
}

CUresult impl_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
	return impl_cuEventElapsedTime_v2(milliseconds, start, end);
}

CUresult impl_cuCtxRecordEvent(CUcontext handle, CUevent event_handle)
{
	struct event *event;
	CUresult status = event_find(event_handle, &event);
	struct context *context = context_check(handle);

	if (status)
		return status;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	/* The legacy stream comes after the blocking ones; the others are joined to it here. */
	status = context_join(context);
	return status ? status : event_record(event, context->legacy);
}

CUresult impl_cuCtxWaitEvent(CUcontext handle, CUevent event_handle)
{
	struct event *event;
	struct queue *queue;
	uint64_t ticket;
	CUresult status = event_find(event_handle, &event);
	struct context *context = context_check(handle);

	if (status)
		return status;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!event_point(event, &queue, &ticket))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&context->lock);
	status = queue_wait_for(context->legacy->queue, queue, ticket);
	for (struct stream *s = context->streams; s && !status; s = s->next)
		status = queue_wait_for(s->queue, queue, ticket);
	pthread_mutex_unlock(&context->lock);
	queue_drop(queue);
	return status;
}
