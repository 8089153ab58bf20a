/* Contexts: the stack of each thread, primary contexts, what a context holds and how it ends.
 * CUDA Driver API 6.7 "Primary Context Management" and 6.8 "Context Management"; statuses as recorded
 * on cards: no context, SetCurrent(NULL) pops, flags, release of an unretained context. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/pool.h"

/* ---- the calling thread's stack -------------------------------------------------------------------- */

struct stack_entry {
	struct context *context;
	uint32_t generation; /* of the handle slot: tells a destroyed context from its slot's next user */
};

static _Thread_local struct {
	struct stack_entry *entries;
	size_t count, capacity;
} stack STATIC_TLS;

static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static void stack_free(void *entries)
{
	vec_free(entries);
	stack.entries = NULL; /* the C library may run API calls of other destructors after this one */
	stack.count = stack.capacity = 0;
}

static void stack_make_key(void)
{
	pthread_key_create(&stack_key, stack_free);
}

static bool entry_is_live(const struct stack_entry *entry)
{
	return handle_check(entry->context, HANDLE_CONTEXT) && entry->context->handle.generation == entry->generation &&
	       atomic_load_explicit(&entry->context->live, memory_order_acquire);
}

struct context *context_top(void)
{
	return stack.count ? stack.entries[stack.count - 1].context : NULL;
}

CUresult context_push(struct context *context)
{
	struct stack_entry *entries = stack.entries;

	if (!vec_reserve(&stack.entries, &stack.capacity, stack.count, sizeof *stack.entries))
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack.entries[stack.count++] = (struct stack_entry){context, context->handle.generation};
	if (stack.entries != entries) {
		pthread_once(&stack_once, stack_make_key);
		pthread_setspecific(stack_key, stack.entries);
	}
	return CUDA_SUCCESS;
}

CUresult context_pop(struct context **context)
{
	if (!stack.count)
		return CUDA_ERROR_INVALID_CONTEXT;
	*context = stack.entries[--stack.count].context;
	return CUDA_SUCCESS;
}

CUresult context_set(struct context *context)
{
	if (stack.count)
		stack.count--;
	return context ? context_push(context) : CUDA_SUCCESS;
}

CUresult context_current_quiet(struct context **context)
{
	const struct stack_entry *top;

	REQUIRE_READY();
	if (!stack.count)
		return CUDA_ERROR_INVALID_CONTEXT;
	top = &stack.entries[stack.count - 1];
	if (!entry_is_live(top))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*context = top->context;
	return CUDA_SUCCESS;
}

CUresult context_error(struct context *context)
{
	return (CUresult)context->ops->error(context->device->device);
}

CUresult context_current(struct context **context)
{
	CUresult status = context_current_quiet(context);

	return status ? status : context_error(*context);
}

struct context *context_check(CUcontext handle)
{
	struct context *context = handle_check(handle, HANDLE_CONTEXT);

	return context && atomic_load_explicit(&context->live, memory_order_acquire) ? context : NULL;
}

/* ---- what waits for queues ---------------------------------------------------------------------------- */

void context_defer(struct context *context, struct queue *queue, uint64_t ticket, void (*function)(void *), void *argument)
{
	struct deferred *deferred = malloc(sizeof *deferred);

	if (!deferred) { /* no memory to remember it: wait instead */
		context->ops->queue_synchronize(queue->device_queue, ticket);
		function(argument);
		return;
	}
	queue_hold(queue);
	*deferred = (struct deferred){NULL, queue, ticket, function, argument};
	pthread_mutex_lock(&context->lock);
	deferred->next = context->deferred;
	context->deferred = deferred;
	atomic_store(&context->litter, true);
	pthread_mutex_unlock(&context->lock);
}

static struct deferred *take_ready_locked(struct context *context)
{
	struct deferred *ready = NULL;

	for (struct deferred **link = &context->deferred; *link;) {
		struct deferred *deferred = *link;

		if (queue_is_done(deferred->queue, deferred->ticket)) {
			*link = deferred->next;
			deferred->next = ready;
			ready = deferred;
		} else {
			link = &deferred->next;
		}
	}
	return ready;
}

static struct queue *take_dead_locked(struct context *context)
{
	struct queue *dead = NULL;

	for (struct queue **link = &context->dying; *link;) {
		struct queue *queue = *link;

		if (queue_is_done(queue, queue_last(queue))) {
			*link = queue->next_dying;
			queue->next_dying = dead;
			dead = queue;
		} else {
			link = &queue->next_dying;
		}
	}
	return dead;
}

void context_reap(struct context *context)
{
	struct deferred *ready;
	struct queue *dead;

	pthread_mutex_lock(&context->lock);
	ready = take_ready_locked(context);
	dead = take_dead_locked(context);
	atomic_store(&context->litter, context->deferred || context->dying);
	pthread_mutex_unlock(&context->lock);
	while (ready) {
		struct deferred *next = ready->next;

		ready->function(ready->argument);
		queue_drop(ready->queue);
		free(ready);
		ready = next;
	}
	while (dead) {
		struct queue *next = dead->next_dying;

		context->ops->queue_destroy(dead->device_queue);
		free(dead);
		dead = next;
	}
}

enum { FEW_QUEUES = 8 };

/* The queues of all streams, in `few` or in memory of their own. Held by the caller afterwards. */
static size_t collect_queues(struct context *context, struct queue **few, struct queue ***queues)
{
	size_t count = 1, at = 0;

	pthread_mutex_lock(&context->lock);
	for (struct stream *s = context->streams; s; s = s->next)
		count++;
	*queues = count <= FEW_QUEUES ? few : malloc(count * sizeof **queues);
	if (*queues) {
		(*queues)[at++] = context->legacy->queue;
		for (struct stream *s = context->streams; s; s = s->next)
			(*queues)[at++] = s->queue;
		for (size_t i = 0; i < at; i++)
			queue_hold((*queues)[i]);
		/* A dying queue has no users left: it is only destroyed by context_reap(), and it is waited for there. */
	}
	pthread_mutex_unlock(&context->lock);
	return at;
}

CUresult context_synchronize(struct context *context)
{
	struct queue *few[FEW_QUEUES], **queues;
	size_t count = collect_queues(context, few, &queues);
	CUresult status = CUDA_SUCCESS;

	if (!queues)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++) {
		CUresult one = (CUresult)context->ops->queue_synchronize(queues[i]->device_queue, queue_last(queues[i]));

		if (!status)
			status = one;
		queue_drop(queues[i]);
	}
	if (queues != few)
		free(queues);
	while (atomic_load_explicit(&context->litter, memory_order_acquire)) { /* streams destroyed while they worked */
		struct queue *queue;

		pthread_mutex_lock(&context->lock);
		queue = context->dying;
		if (queue)
			context->dying = queue->next_dying;
		pthread_mutex_unlock(&context->lock);
		if (!queue)
			break;
		context->ops->queue_destroy(queue->device_queue); /* waits for its work */
		free(queue);
	}
	if (atomic_load_explicit(&context->litter, memory_order_relaxed))
		context_reap(context);
	pools_synchronized(context->device);
	return status ? status : context_error(context);
}

/* ---- beginning and end ------------------------------------------------------------------------------------ */

static const size_t limit_defaults[CONTEXT_LIMITS] = {
	[CU_LIMIT_STACK_SIZE] = 1024,
	[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
	[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
	[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
	[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
	[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
	[CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = 0,
};

static CUresult context_start(struct context *context)
{
	struct driver_device *device = context->device;
	struct stream *legacy = handle_create(HANDLE_STREAM);
	struct queue *queue = calloc(1, sizeof *queue);
	CUresult status = CUDA_ERROR_OUT_OF_MEMORY;

	if (legacy && queue)
		status = (CUresult)device->ops->queue_create(device->device, 0, &queue->device_queue);
	if (status) {
		handle_destroy(legacy);
		free(queue);
		return status;
	}
	atomic_init(&queue->uses, 1);
	queue->context = context;
	legacy->context = context;
	legacy->queue = queue;
	legacy->rule = STREAM_LEGACY;
	legacy->id = driver_next_id();
	legacy->synchronization_policy = CU_SYNC_POLICY_AUTO;
	context->legacy = legacy;
	context->id = driver_next_id();
	context->cache_config = CU_FUNC_CACHE_PREFER_NONE;
	context->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	memcpy(context->limits, limit_defaults, sizeof limit_defaults);
	atomic_store_explicit(&context->live, true, memory_order_release);
	return CUDA_SUCCESS;
}

static CUresult context_create(struct driver_device *device, unsigned flags, struct context **out)
{
	struct context *context = handle_create(HANDLE_CONTEXT);

	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context->device = device;
	context->ops = device->ops;
	context->flags = flags;
	context->api_version = 3020;
	pthread_mutex_init(&context->lock, NULL);
	*out = context;
	return CUDA_SUCCESS;
}

static bool device_in_use(const struct driver_device *device)
{
	for (struct context *c = handle_next(NULL, HANDLE_CONTEXT); c; c = handle_next(c, HANDLE_CONTEXT))
		if (c->device == device && atomic_load(&c->live))
			return true;
	return false;
}

static void context_stop(struct context *context)
{
	context_synchronize(context);
	storage_release(context);
	library_forget_context(context);
	pools_forget_context(context);
	atomic_store_explicit(&context->live, false, memory_order_release);
	while (context->modules)
		module_destroy(context->modules);
	while (context->events)
		event_release(context->events);
	while (context->streams)
		stream_release(context->streams);
	stream_release(context->legacy);
	context->legacy = NULL;
	atomic_store(&context->dirty, NULL);
	context_reap(context);
	allocation_release_all(context);
	atomic_store(&context->peers, 0);
	atomic_store(&context->used_heap, false);
	atomic_store(&context->used_printf, false);
	if (!device_in_use(context->device))
		context->ops->reset(context->device->device);
}

CUresult context_primary_peek(struct driver_device *device, struct context **out)
{
	CUresult status = CUDA_SUCCESS;

	pthread_mutex_lock(&device->lock);
	if (!device->primary) {
		status = context_create(device, device->primary_flags, &device->primary);
		if (!status)
			device->primary->primary = true;
	}
	*out = device->primary;
	if (!status)
		device->primary->of_runtime = true;
	pthread_mutex_unlock(&device->lock);
	return status;
}

CUresult context_primary_retain(struct driver_device *device, struct context **out)
{
	CUresult status = CUDA_SUCCESS;

	pthread_mutex_lock(&device->lock);
	if (!device->primary) {
		status = context_create(device, device->primary_flags, &device->primary);
		if (!status)
			device->primary->primary = true;
	}
	if (!status && !atomic_load(&device->primary->live)) {
		device->primary->flags = device->primary_flags;
		status = context_start(device->primary);
	}
	if (!status) {
		device->primary_uses++;
		*out = device->primary;
	}
	pthread_mutex_unlock(&device->lock);
	return status;
}

CUresult context_primary_use(struct driver_device *device, struct context **out)
{
	struct context *primary;
	CUresult status = context_primary_peek(device, &primary);

	if (status)
		return status;
	if (!atomic_load_explicit(&primary->live, memory_order_acquire))
		status = context_primary_retain(device, &primary);
	*out = primary;
	return status;
}

/* The CUDA runtime takes the primary context's handle from a private table and expects that making it current
 * activates it. */
static struct context *activated(CUcontext handle)
{
	struct context *context = handle_check(handle, HANDLE_CONTEXT);
	struct context *active;

	if (!context || atomic_load_explicit(&context->live, memory_order_acquire))
		return context;
	if (!context->of_runtime || context_primary_use(context->device, &active))
		return NULL;
	return active;
}

CUresult impl_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice dev)
{
	struct driver_device *device = driver_device(dev);
	struct context *primary;
	CUresult status;

	REQUIRE_READY();
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	status = context_primary_retain(device, &primary);
	if (!status)
		*context = (CUcontext)primary;
	return status;
}

CUresult impl_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct driver_device *device = driver_device(dev);
	CUresult status = CUDA_SUCCESS;

	REQUIRE_READY();
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&device->lock);
	if (!device->primary_uses)
		status = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--device->primary_uses && atomic_load(&device->primary->live))
		context_stop(device->primary);
	pthread_mutex_unlock(&device->lock);
	return status;
}

CUresult impl_cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return impl_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult impl_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&device->lock);
	if (device->primary && atomic_load(&device->primary->live))
		context_stop(device->primary);
	pthread_mutex_unlock(&device->lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxReset(CUdevice dev)
{
	return impl_cuDevicePrimaryCtxReset_v2(dev);
}

/* One scheduling choice of four, and the other flags of the manual. */
bool context_flags_are_valid(unsigned flags)
{
	unsigned schedule = flags & CU_CTX_SCHED_MASK;

	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return false;
	return schedule == 0 || schedule == CU_CTX_SCHED_SPIN || schedule == CU_CTX_SCHED_YIELD || schedule == CU_CTX_SCHED_BLOCKING_SYNC;
}

CUresult impl_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!context_flags_are_valid(flags) || flags & CU_CTX_MAP_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&device->lock);
	device->primary_flags = flags;
	if (device->primary)
		device->primary->flags = flags;
	pthread_mutex_unlock(&device->lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return impl_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult impl_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&device->lock);
	*active = device->primary && atomic_load(&device->primary->live);
	*flags = device->primary_flags | (*active ? CU_CTX_MAP_HOST : 0);
	pthread_mutex_unlock(&device->lock);
	return CUDA_SUCCESS;
}

static CUresult context_new(CUcontext *out, unsigned flags, CUdevice dev, unsigned version)
{
	struct driver_device *device = driver_device(dev);
	struct context *context;
	CUresult status;

	REQUIRE_READY();
	if (!out || !context_flags_are_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	status = context_create(device, flags, &context);
	if (status)
		return status;
	context->api_version = version;
	status = context_start(context);
	if (!status)
		status = context_push(context);
	if (status) {
		if (atomic_load(&context->live))
			context_stop(context);
		handle_destroy(context);
		return status;
	}
	*out = (CUcontext)context;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice dev)
{
	return context_new(context, flags, dev, 3010);
}

CUresult impl_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice dev)
{
	return context_new(context, flags, dev, 3020);
}

CUresult impl_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count, unsigned int flags, CUdevice dev)
{
	if (count < 0 || (count && !affinity))
		return CUDA_ERROR_INVALID_VALUE;
	if (count)
		return api_error(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity is for MPS clients");
	return context_new(context, flags, dev, 3020);
}

CUresult impl_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned int flags, CUdevice dev)
{
	if (parameters && parameters->cigParams)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "contexts for graphics (CIG) are not supported");
	if (parameters && parameters->numExecAffinityParams)
		return impl_cuCtxCreate_v3(context, parameters->execAffinityParams, parameters->numExecAffinityParams, flags, dev);
	return context_new(context, flags, dev, 3020);
}

CUresult impl_cuCtxDestroy_v2(CUcontext handle)
{
	struct context *context = context_check(handle);

	REQUIRE_READY();
	if (!context)
		return handle ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
	if (context->primary)
		return api_error(CUDA_ERROR_INVALID_CONTEXT, "a primary context is released, not destroyed");
	if (context_top() == context)
		stack.count--;
	context_stop(context);
	pthread_mutex_destroy(&context->lock);
	handle_destroy(context);
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxDestroy(CUcontext handle)
{
	return impl_cuCtxDestroy_v2(handle);
}

CUresult impl_cuCtxAttach(CUcontext *context, unsigned int flags)
{
	REQUIRE_CONTEXT(current);
	if (!context || flags)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_fetch_add(&current->attached, 1);
	*context = (CUcontext)current;
	return CUDA_SUCCESS;
}

/* The last use of it is that of the thread that made it. */
CUresult impl_cuCtxDetach(CUcontext handle)
{
	struct context *context = context_check(handle);
	unsigned uses = context ? atomic_load(&context->attached) : 0;

	while (uses)
		if (atomic_compare_exchange_weak(&context->attached, &uses, uses - 1))
			return CUDA_SUCCESS;
	return impl_cuCtxDestroy_v2(handle);
}

/* ---- the stack, for programs --------------------------------------------------------------------------------- */

CUresult impl_cuCtxPushCurrent_v2(CUcontext handle)
{
	struct context *context;

	REQUIRE_READY();
	context = activated(handle);
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	return context ? context_push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult impl_cuCtxPushCurrent(CUcontext handle)
{
	return impl_cuCtxPushCurrent_v2(handle);
}

CUresult impl_cuCtxPopCurrent_v2(CUcontext *handle)
{
	struct context *context;
	CUresult status;

	REQUIRE_READY();
	status = context_pop(&context);
	if (!status && handle)
		*handle = (CUcontext)context;
	return status;
}

CUresult impl_cuCtxPopCurrent(CUcontext *handle)
{
	return impl_cuCtxPopCurrent_v2(handle);
}

CUresult impl_cuCtxSetCurrent(CUcontext handle)
{
	struct context *context;

	REQUIRE_READY();
	context = activated(handle);
	if (handle && !context)
		return CUDA_ERROR_INVALID_CONTEXT;
	return context_set(context);
}

CUresult impl_cuCtxGetCurrent(CUcontext *handle)
{
	REQUIRE_READY();
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUcontext)context_top();
	return CUDA_SUCCESS;
}
