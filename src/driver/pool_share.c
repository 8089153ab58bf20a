/* Pools that several processes share. CUDA Driver API 6.15, cuMemPoolExport* and cuMemPoolImport*.
 *
 * A pool's file descriptor stands for a small file that says whose it is; a pointer's data are a handle of the block's pages
 * (ipc.c), which are moved into a file when one of them is first exported. An imported pool has no memory of its own.
 *
 * A device whose memory is not the host's has handles of its own, as large as a pointer's data: they are in the pool's file, one behind the other,
 * and a pointer's data say which one. */
#define _GNU_SOURCE
#include "driver/pool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/cuda_impl.h"
#include "driver/ipc.h"

enum { POOL_MAGIC = 0x4c4f4f50 };

struct pool_file {
	uint32_t magic;
	int32_t process, device, unused; /* no padding: other processes see these bytes */
	uint64_t id;
};

struct pool_pointer { /* the 64 bytes of a CUmemPoolPtrExportData */
	uint64_t pool;
	struct ipc_handle block;
};
_Static_assert(sizeof(struct pool_pointer) <= sizeof(CUmemPoolPtrExportData), "what is exported of a pointer is 64 bytes");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is shared first */

enum { OWN_HANDLE = 0x4e574f50 }; /* struct ipc_handle.magic of a pointer's data: `offset` is the number of an entry */

static off_t entry_at(uint64_t entry)
{
	return (off_t)(sizeof(struct pool_file) + entry * DEVICE_IPC_BYTES);
}

/* Ids of different processes differ as well as their pids do. */
static CUresult file_make_locked(struct pool *pool)
{
	struct pool_file content = {POOL_MAGIC, getpid(), pool->device->ordinal, 0, (uint64_t)getpid() << 32 | (driver_next_id() & UINT32_MAX)};
	CUresult status = pool->file ? CUDA_SUCCESS : ipc_file(sizeof content, &pool->file);

	if (status || pool->share_id)
		return status;
	if (pwrite(pool->file, &content, sizeof content, 0) != sizeof content)
		return CUDA_ERROR_OPERATING_SYSTEM;
	pool->share_id = content.id;
	return CUDA_SUCCESS;
}

static bool is_shareable(const struct pool *pool)
{
	return pool && !pool->imported && pool->properties.handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

CUresult impl_cuMemPoolExportToShareableHandle(void *out, CUmemoryPool handle, CUmemAllocationHandleType type, unsigned long long flags)
{
	struct pool *pool;
	int file;
	CUresult status = pool_find(handle, &pool);

	if (status)
		return status;
	if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !is_shareable(pool))
		return api_error(CUDA_ERROR_INVALID_VALUE, "the pool was not made to be shared by that type of handle");
	pthread_mutex_lock(&lock);
	status = file_make_locked(pool);
	pthread_mutex_unlock(&lock);
	if (status)
		return status;
	file = fcntl(pool->file, F_DUPFD_CLOEXEC, 0);
	if (file < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)out = file;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolImportFromShareableHandle(CUmemoryPool *handle, void *os_handle, CUmemAllocationHandleType type,
						 unsigned long long flags)
{
	struct pool_file content;
	struct driver_device *device;
	struct pool *pool;
	int file = (int)(uintptr_t)os_handle;

	REQUIRE_READY();
	if (!handle || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "pools are shared by file descriptors only");
	if (pread(file, &content, sizeof content, 0) != sizeof content || content.magic != POOL_MAGIC)
		return api_error(CUDA_ERROR_INVALID_VALUE, "file descriptor %d is no pool of ours", file);
	device = driver_device(content.device);
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	file = fcntl(file, F_DUPFD_CLOEXEC, 0);
	if (file < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	pool = pool_new(device);
	if (!pool) {
		close(file);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pool->file = file;
	pool->imported = true;
	pool->share_id = content.id;
	pool->properties.handleTypes = type;
	*handle = (CUmemoryPool)pool;
	return CUDA_SUCCESS;
}

static CUresult share_block_locked(struct pool *pool, struct pool_block *block)
{
	const struct device_ops *ops = pool->device->ops;
	uint8_t handle[DEVICE_IPC_BYTES];
	CUresult status;

	if (!ops->memory_share)
		return block->shared ? CUDA_SUCCESS :
				       ipc_share(block->base, align_up(block->size, (size_t)sysconf(_SC_PAGESIZE)), &block->shared);
	if (block->entry)
		return CUDA_SUCCESS;
	status = (CUresult)ops->memory_share(pool->device->device, (void *)block->base, handle);
	if (!status && pwrite(pool->file, handle, sizeof handle, entry_at(pool->entries)) != sizeof handle)
		status = CUDA_ERROR_OPERATING_SYSTEM;
	if (!status)
		block->entry = ++pool->entries;
	return status;
}

static struct ipc_handle describe_block(const struct pool_block *block, size_t size, int device)
{
	if (block->shared)
		return ipc_describe(block->shared, size, device);
	return (struct ipc_handle){.magic = OWN_HANDLE, .process = getpid(), .offset = block->entry - 1, .size = size, .device = device};
}

/* The memory behind a pointer's data. */
static CUresult open_block(const struct pool *pool, const struct ipc_handle *handle, struct pool_block *block)
{
	const struct device_ops *ops = pool->device->ops;
	uint8_t own[DEVICE_IPC_BYTES];
	void *pointer = NULL;
	uint64_t size = 0;
	CUresult status;

	block->size = handle->size;
	if (!ops->memory_open)
		return ipc_map(handle, true, &block->base);
	if (handle->magic != OWN_HANDLE || handle->offset > UINT32_MAX || pread(pool->file, own, sizeof own, entry_at(handle->offset)) != sizeof own)
		return api_error(CUDA_ERROR_INVALID_VALUE, "the pointer's data are not of this pool's device");
	status = (CUresult)ops->memory_open(pool->device->device, own, &pointer, &size);
	if (status)
		return status;
	block->base = (uintptr_t)pointer;
	block->opened = pool->device;
	if (handle->size <= size)
		return CUDA_SUCCESS;
	ops->memory_close(pool->device->device, pointer);
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr pointer)
{
	struct allocation found;
	struct pool_pointer exported;
	struct pool_block *block;
	CUresult status;

	REQUIRE_READY();
	if (!out || !memory_map_find(pointer, &found) || found.kind != MEMORY_POOL || found.base != pointer || !is_shareable(found.pool))
		return api_error(CUDA_ERROR_INVALID_VALUE, "0x%llx is not the start of an allocation of a pool that is shared", pointer);
	block = found.owner;
	pthread_mutex_lock(&lock);
	status = file_make_locked(found.pool);
	if (!status && !block->shared && !block->entry)
		status = context_synchronize(found.context); /* nothing may write while the pages are copied */
	if (!status)
		status = share_block_locked(found.pool, block);
	pthread_mutex_unlock(&lock);
	if (status)
		return status;
	exported = (struct pool_pointer){found.pool->share_id, describe_block(block, found.size, found.device->ordinal)};
	memset(out, 0, sizeof *out);
	memcpy(out, &exported, sizeof exported);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool handle, CUmemPoolPtrExportData *data)
{
	struct pool_pointer exported;
	struct allocation *allocation;
	struct pool_block *block;
	struct pool *pool;
	CUresult status;

	REQUIRE_CONTEXT(context);
	status = pool_find(handle, &pool);
	if (status)
		return status;
	if (!out || !data)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&exported, data, sizeof exported);
	if (!pool->imported || exported.pool != pool->share_id)
		return api_error(CUDA_ERROR_INVALID_VALUE, "the pointer was exported from another pool");
	block = calloc(1, sizeof *block);
	allocation = calloc(1, sizeof *allocation);
	status = block && allocation ? open_block(pool, &exported.block, block) : CUDA_ERROR_OUT_OF_MEMORY;
	if (status) {
		free(block);
		free(allocation);
		return status;
	}
	*allocation = (struct allocation){.kind = MEMORY_POOL, .base = block->base, .size = block->size, .context = context,
					  .device = pool->device, .pool = pool, .owner = block};
	status = memory_map_add(allocation);
	if (status) {
		pool_block_unmap(block, NULL);
		free(allocation);
		return status;
	}
	atomic_fetch_add(&pool->uses, 1);
	*out = (CUdeviceptr)block->base;
	return CUDA_SUCCESS;
}

static void unmap_now(void *argument)
{
	struct pool_block *block = argument;

	if (block->opened)
		block->opened->ops->memory_close(block->opened->device, (void *)block->base);
	else
		ipc_unmap(block->base, block->size);
	free(block);
}

void pool_block_unmap(struct pool_block *block, struct queue *queue)
{
	if (queue)
		context_defer(queue->context, queue, queue_last(queue), unmap_now, block);
	else
		unmap_now(block);
}
