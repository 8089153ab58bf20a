/* Stream-ordered memory. CUDA Driver API 6.15 "Stream Ordered Memory Allocator".
 *
 * A pool keeps freed blocks by size class. The stream that freed one may have it again at once; another only when that
 * stream has got past the free. What is free beyond the release threshold goes back to the device at a synchronisation. */
#define _GNU_SOURCE
#include "driver/pool.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"
#include "driver/graph.h"
#include "driver/ipc.h"

enum { STEPS = 4, CLASS_UNIT = 512 }; /* four classes to a power of two: at most a quarter is lost */

/* ---- classes ------------------------------------------------------------------------------------------------------ */

static unsigned size_class(size_t size, size_t *class_size)
{
	size_t unit = CLASS_UNIT;
	unsigned class = 0;

	while (size > unit * 2 && class < POOL_CLASSES - 2 * STEPS) {
		unit *= 2;
		class += STEPS;
	}
	for (unsigned step = 0;; step++) { /* unit, unit*5/4 … unit*2 */
		size_t bytes = unit + unit / STEPS * step;

		if (size <= bytes || step == STEPS) {
			*class_size = align_up(bytes < size ? size : bytes, CLASS_UNIT);
			return class + step;
		}
	}
}

static void block_settle(struct pool_block *block)
{
	if (block->queue)
		queue_drop(block->queue);
	block->queue = NULL;
}

static bool block_is_done(const struct pool_block *block)
{
	return !block->queue || queue_is_done(block->queue, block->ticket);
}

static struct pool_block *take_free_locked(struct pool *pool, unsigned class, const struct queue *queue)
{
	for (struct pool_block **link = &pool->state->free[class]; *link; link = &(*link)->next) {
		struct pool_block *block = *link;

		if (block->queue != queue && !block_is_done(block))
			continue;
		*link = block->next;
		return block;
	}
	return NULL;
}

static void trim_locked(struct pool *pool, uint64_t keep)
{
	struct pool_state *state = pool->state;

	for (unsigned class = POOL_CLASSES; class-- > 0 && state->reserved > keep;) {
		for (struct pool_block **link = &state->free[class]; *link && state->reserved > keep;) {
			struct pool_block *block = *link;

			if (!block_is_done(block)) {
				link = &block->next;
				continue;
			}
			*link = block->next;
			block_settle(block);
			if (block->shared)
				ipc_unshare(block->shared, block->base, align_up(block->size, (size_t)sysconf(_SC_PAGESIZE)));
			pool->device->ops->release(pool->device->device, block->memory);
			state->reserved -= block->size;
			free(block);
		}
	}
}

static CUresult take_fresh(struct pool *pool, size_t size, struct pool_block **out)
{
	const struct device_ops *ops = pool->device->ops;
	struct pool_block *block = calloc(1, sizeof *block);
	/* What other processes may map has pages of its own. */
	size_t page = pool->properties.handleTypes ? (size_t)sysconf(_SC_PAGESIZE) : 0;
	CUresult status;

	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	status = (CUresult)ops->allocate(pool->device->device, page ? align_up(size, page) + page : size, &block->memory);
	if (status) {
		pools_trim(pool->device);
		status = (CUresult)ops->allocate(pool->device->device, page ? align_up(size, page) + page : size, &block->memory);
	}
	if (status) {
		free(block);
		return status;
	}
	block->base = page ? align_up((uintptr_t)block->memory, page) : (uintptr_t)block->memory;
	block->size = size;
	*out = block;
	return CUDA_SUCCESS;
}

static void count_used_locked(struct pool_state *state, const struct pool_block *block, bool fresh)
{
	if (fresh)
		state->reserved += block->size;
	state->used += block->size;
	if (state->reserved > state->reserved_high)
		state->reserved_high = state->reserved;
	if (state->used > state->used_high)
		state->used_high = state->used;
}

static CUresult pool_allocate(struct pool *pool, size_t size, struct stream *stream, CUdeviceptr *pointer)
{
	struct allocation *allocation = calloc(1, sizeof *allocation);
	struct pool_state *state = pool->state;
	struct pool_block *block;
	bool fresh = false;
	size_t class_size;
	unsigned class = size_class(size, &class_size);
	CUresult status = CUDA_SUCCESS;

	if (!allocation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (pool->properties.maxSize && state->used + class_size > pool->properties.maxSize) {
		free(allocation);
		return api_error(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes: the pool's limit is %zu", size, pool->properties.maxSize);
	}
	pthread_mutex_lock(&state->lock);
	block = take_free_locked(pool, class, stream->queue);
	pthread_mutex_unlock(&state->lock);
	if (block) {
		block_settle(block);
	} else {
		fresh = true;
		status = take_fresh(pool, class_size, &block);
	}
	if (status) {
		free(allocation);
		return api_error(status, "%zu bytes", size);
	}
	allocation->kind = MEMORY_POOL;
	allocation->base = block->base;
	allocation->size = size;
	allocation->context = stream->context;
	allocation->device = pool->device;
	allocation->pool = pool;
	allocation->owner = block;
	pthread_mutex_lock(&state->lock);
	count_used_locked(state, block, fresh);
	pthread_mutex_unlock(&state->lock);
	atomic_fetch_add(&pool->uses, 1);
	status = memory_map_add(allocation);
	if (!status)
		*pointer = allocation->base;
	return status;
}

static void pool_drop(struct pool *pool)
{
	if (atomic_fetch_sub(&pool->uses, 1) != 1)
		return;
	for (unsigned class = 0; class < POOL_CLASSES; class++) { /* nobody can use the pool any more: wait for its last frees */
		for (struct pool_block *block = pool->state->free[class]; block; block = block->next) {
			if (block->queue)
				block->queue->context->ops->queue_synchronize(block->queue->device_queue, block->ticket);
			block_settle(block);
		}
	}
	trim_locked(pool, 0);
	if (pool->file)
		close(pool->file);
	pthread_mutex_destroy(&pool->state->lock);
	free(pool->state);
	handle_destroy(pool);
}

static void give_back(struct pool *pool, struct pool_block *block, struct queue *queue)
{
	struct pool_state *state = pool->state;
	size_t unused;
	unsigned class = size_class(block->size, &unused);

	if (pool->imported) {
		pool_block_unmap(block, queue);
		pool_drop(pool);
		return;
	}
	if (queue) {
		queue_hold(queue);
		block->ticket = queue_last(queue);
	}
	block->queue = queue;
	pthread_mutex_lock(&state->lock);
	block->next = state->free[class];
	state->free[class] = block;
	state->used -= block->size;
	pthread_mutex_unlock(&state->lock);
	atomic_store(&pool->device->pools_hold, true);
	pool_drop(pool);
}

void pool_give_back(const struct allocation *allocation)
{
	give_back(allocation->pool, allocation->owner, NULL);
}

void pools_trim(struct driver_device *device)
{
	for (struct pool *pool = handle_next(NULL, HANDLE_POOL); pool; pool = handle_next(pool, HANDLE_POOL)) {
		if (pool->device != device)
			continue;
		pthread_mutex_lock(&pool->state->lock);
		trim_locked(pool, 0);
		pthread_mutex_unlock(&pool->state->lock);
	}
}

void pools_synchronized(struct driver_device *device)
{
	if (!atomic_load_explicit(&device->pools_hold, memory_order_relaxed) || !atomic_exchange(&device->pools_hold, false))
		return;
	for (struct pool *pool = handle_next(NULL, HANDLE_POOL); pool; pool = handle_next(pool, HANDLE_POOL)) {
		if (pool->device != device)
			continue;
		pthread_mutex_lock(&pool->state->lock);
		trim_locked(pool, pool->state->threshold);
		pthread_mutex_unlock(&pool->state->lock);
	}
}

void pools_forget_context(struct context *context)
{
	for (struct pool *pool = handle_next(NULL, HANDLE_POOL); pool; pool = handle_next(pool, HANDLE_POOL)) {
		pthread_mutex_lock(&pool->state->lock);
		for (unsigned class = 0; class < POOL_CLASSES; class++)
			for (struct pool_block *block = pool->state->free[class]; block; block = block->next)
				if (block->queue && block->queue->context == context)
					block_settle(block);
		pthread_mutex_unlock(&pool->state->lock);
	}
}

unsigned pool_handle_types(const struct allocation *allocation)
{
	return allocation->pool ? allocation->pool->properties.handleTypes : CU_MEM_HANDLE_TYPE_NONE;
}

/* ---- pools as objects ----------------------------------------------------------------------------------------------- */

struct pool *pool_new(struct driver_device *device)
{
	struct pool *pool = handle_create(HANDLE_POOL);

	if (!pool)
		return NULL;
	pool->state = calloc(1, sizeof *pool->state);
	if (!pool->state) {
		handle_destroy(pool);
		return NULL;
	}
	pthread_mutex_init(&pool->state->lock, NULL);
	pool->device = device;
	atomic_init(&pool->uses, 1);
	pool->properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	pool->properties.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal};
	for (int i = 0; i < 3; i++)
		pool->state->reuse[i] = 1;
	for (int i = 0; i < 64; i++)
		pool->state->access[i] = i == device->ordinal ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return pool;
}

static CUresult default_pool(struct driver_device *device, bool current, struct pool **out)
{
	pthread_mutex_lock(&device->lock);
	if (!device->default_pool && (device->default_pool = pool_new(device)))
		device->default_pool->is_default = true;
	if (!device->current_pool)
		device->current_pool = device->default_pool;
	*out = current ? device->current_pool : device->default_pool;
	pthread_mutex_unlock(&device->lock);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult pool_find(CUmemoryPool handle, struct pool **pool)
{
	REQUIRE_READY();
	*pool = handle_check(handle, HANDLE_POOL);
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult device_pool(CUmemoryPool *handle, CUdevice dev, bool current)
{
	struct driver_device *device = driver_device(dev);
	struct pool *pool;
	CUresult status;

	REQUIRE_READY();
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	status = default_pool(device, current, &pool);
	if (!status)
		*handle = (CUmemoryPool)pool;
	return status;
}

CUresult impl_cuDeviceGetDefaultMemPool(CUmemoryPool *handle, CUdevice dev)
{
	return device_pool(handle, dev, false);
}

CUresult impl_cuDeviceGetMemPool(CUmemoryPool *handle, CUdevice dev)
{
	return device_pool(handle, dev, true);
}

CUresult impl_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle)
{
	struct driver_device *device = driver_device(dev);
	struct pool *pool;
	CUresult status = pool_find(handle, &pool);

	if (status)
		return status;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (pool->device != device || pool->host || pool->imported)
		return api_error(CUDA_ERROR_INVALID_VALUE, "the pool is not of that device");
	pthread_mutex_lock(&device->lock);
	device->current_pool = pool;
	pthread_mutex_unlock(&device->lock);
	return CUDA_SUCCESS;
}

static CUresult location_device(const CUmemLocation *location, struct driver_device **device, bool *host)
{
	*host = false;
	switch ((int)location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*device = driver_device(location->id);
		return *device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		*device = driver_device(0);
		*host = true;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult pool_create(CUmemoryPool *handle, const CUmemPoolProps *properties)
{
	struct driver_device *device;
	struct pool *pool;
	bool host;
	CUresult status = location_device(&properties->location, &device, &host);

	if (status)
		return status;
	if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED && properties->allocType != CU_MEM_ALLOCATION_TYPE_MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	if (properties->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    (properties->handleTypes && !device->properties.host_backed && !device->ops->memory_share))
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "pools are shared by file descriptors only");
	pool = pool_new(device);
	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pool->properties = *properties;
	pool->host = host;
	*handle = (CUmemoryPool)pool;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolCreate(CUmemoryPool *handle, const CUmemPoolProps *properties)
{
	CUresult status;

	REQUIRE_READY();
	if (!handle || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	status = capture_forbid_unsafe();
	return status ? status : pool_create(handle, properties);
}

CUresult impl_cuMemPoolDestroy(CUmemoryPool handle)
{
	struct pool *pool;
	CUresult status = pool_find(handle, &pool);

	if (status)
		return status;
	if (pool->is_default)
		return api_error(CUDA_ERROR_NOT_PERMITTED, "a device's default pool stays");
	pthread_mutex_lock(&pool->device->lock);
	if (pool->device->current_pool == pool)
		pool->device->current_pool = pool->device->default_pool;
	pthread_mutex_unlock(&pool->device->lock);
	pool_drop(pool);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
	struct pool *pool;
	CUresult status = pool_find(handle, &pool);

	if (!status)
		status = capture_forbid_unsafe();
	if (status)
		return status;
	pthread_mutex_lock(&pool->state->lock);
	trim_locked(pool, keep);
	pthread_mutex_unlock(&pool->state->lock);
	return CUDA_SUCCESS;
}

/* Where an attribute is kept; of a high mark also what it is set back to, of a current value nothing: it is only read. */
struct pool_attribute {
	int *flag;
	uint64_t *count;
	const uint64_t *current;
	bool fixed;
};

static struct pool_attribute attribute_of(struct pool_state *state, CUmemPool_attribute attribute)
{
	switch ((int)attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: return (struct pool_attribute){.flag = &state->reuse[0]};
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: return (struct pool_attribute){.flag = &state->reuse[1]};
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: return (struct pool_attribute){.flag = &state->reuse[2]};
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return (struct pool_attribute){.count = &state->threshold};
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return (struct pool_attribute){.count = &state->reserved, .fixed = true};
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return (struct pool_attribute){.count = &state->reserved_high, .current = &state->reserved};
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return (struct pool_attribute){.count = &state->used, .fixed = true};
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return (struct pool_attribute){.count = &state->used_high, .current = &state->used};
	default: return (struct pool_attribute){.fixed = true};
	}
}

static CUresult attribute_set(const struct pool_attribute *at, const void *value)
{
	if (at->fixed || (at->current && *(const cuuint64_t *)value)) /* a high mark can only be reset */
		return CUDA_ERROR_INVALID_VALUE;
	if (at->flag)
		*at->flag = *(const int *)value != 0;
	else
		*at->count = at->current ? *at->current : *(const cuuint64_t *)value;
	return CUDA_SUCCESS;
}

static CUresult attribute_get(const struct pool_attribute *at, void *value)
{
	if (at->flag)
		*(int *)value = *at->flag;
	else if (at->count)
		*(cuuint64_t *)value = *at->count;
	return at->flag || at->count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult attribute_access(CUmemoryPool handle, CUmemPool_attribute attribute, void *value, bool set)
{
	struct pool_attribute at;
	struct pool *pool;
	CUresult status = pool_find(handle, &pool);

	if (status)
		return status;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	at = attribute_of(pool->state, attribute);
	pthread_mutex_lock(&pool->state->lock);
	status = set ? attribute_set(&at, value) : attribute_get(&at, value);
	pthread_mutex_unlock(&pool->state->lock);
	return status;
}

CUresult impl_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	return attribute_access(handle, attribute, value, true);
}

CUresult impl_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	return attribute_access(handle, attribute, value, false);
}

CUresult impl_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
	struct pool *pool;
	CUresult status = pool_find(handle, &pool);

	if (status)
		return status;
	if (count && !map)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !driver_device(map[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE && driver_device(map[i].location.id) == pool->device)
			return api_error(CUDA_ERROR_INVALID_VALUE, "a pool's own device keeps its access");
	}
	pthread_mutex_lock(&pool->state->lock);
	for (size_t i = 0; i < count; i++)
		pool->state->access[map[i].location.id & 63] = map[i].flags;
	pthread_mutex_unlock(&pool->state->lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
	struct pool *pool;
	CUresult status = pool_find(handle, &pool);

	if (status)
		return status;
	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (!driver_device(location->id))
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = pool->state->access[location->id & 63];
	return CUDA_SUCCESS;
}

CUresult impl_cuMemGetDefaultMemPool(CUmemoryPool *handle, CUmemLocation *location, CUmemAllocationType type)
{
	struct driver_device *device;
	struct pool *pool;
	bool host;
	CUresult status;

	REQUIRE_READY();
	if (!handle || !location || (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	status = location_device(location, &device, &host);
	if (!status && host)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "default pools of host memory");
	if (!status)
		status = default_pool(device, false, &pool);
	if (!status)
		*handle = (CUmemoryPool)pool;
	return status;
}

CUresult impl_cuMemGetMemPool(CUmemoryPool *handle, CUmemLocation *location, CUmemAllocationType type)
{
	if (location && location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED)
		return impl_cuDeviceGetMemPool(handle, location->id);
	return impl_cuMemGetDefaultMemPool(handle, location, type);
}

CUresult impl_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	REQUIRE_READY();
	if (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	return impl_cuDeviceSetMemPool(location->id, pool);
}

/* ---- allocating and freeing ------------------------------------------------------------------------------------------- */

static CUresult allocate(CUdeviceptr *pointer, size_t size, struct pool *pool, CUstream handle)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!pointer || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (!pool) {
		status = default_pool(stream->context->device, true, &pool);
		if (status)
			return status;
	}
	if (pool->imported)
		return api_error(CUDA_ERROR_INVALID_VALUE, "only the process that made the pool allocates from it");
	if (atomic_load_explicit(&stream->capture, memory_order_acquire))
		return capture_allocate(stream, pool, size, pointer);
	return pool_allocate(pool, size, stream, pointer);
}

CUresult impl_cuMemAllocAsync(CUdeviceptr *pointer, size_t size, CUstream stream)
{
	return allocate(pointer, size, NULL, stream);
}

CUresult impl_cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t size, CUmemoryPool handle, CUstream stream)
{
	struct pool *pool;
	CUresult status = pool_find(handle, &pool);

	return status ? status : allocate(pointer, size, pool, stream);
}

static void release_later(void *argument)
{
	allocation_release(argument);
}

CUresult impl_cuMemFreeAsync(CUdeviceptr pointer, CUstream handle)
{
	struct allocation found, *allocation;
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!pointer)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire))
		return capture_free(stream, pointer);
	if (graph_memory_free(pointer))
		return CUDA_SUCCESS;
	if (!memory_map_find(pointer, &found) || found.base != pointer ||
	    (found.kind != MEMORY_POOL && found.kind != MEMORY_DEVICE && found.kind != MEMORY_MANAGED))
		return api_error(CUDA_ERROR_INVALID_VALUE, "0x%llx is not the start of an allocation", pointer);
	status = stream_enter(stream); /* the default stream waits for the others before it frees */
	if (status)
		return status;
	allocation = memory_map_remove(pointer);
	if (!allocation)
		return CUDA_ERROR_INVALID_VALUE;
	if (allocation->kind == MEMORY_POOL) {
		give_back(allocation->pool, allocation->owner, stream->queue);
		free(allocation);
	} else {
		context_defer(stream->context, stream->queue, queue_last(stream->queue), release_later, allocation);
	}
	stream_leave(stream);
	return CUDA_SUCCESS;
}
