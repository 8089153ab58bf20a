/* Device, host, registered and managed memory. CUDA Driver API 6.13 "Memory Management".
 * All of it is in one address space: a pointer means the same on the host and on every device. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"
#include "driver/graph.h"
#include "driver/ipc.h"
#include "driver/pool.h"

enum { PITCH_ALIGN = 512 };

/* ---- allocations -------------------------------------------------------------------------------------- */

static CUresult host_obtain(struct context *context, size_t size, unsigned flags, void **pointer)
{
	void *memory;

	if (context->ops->allocate_host)
		return (CUresult)context->ops->allocate_host(context->device->device, size, flags, pointer);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pointer = memory;
	return CUDA_SUCCESS;
}

/* Memory whose address fits in 32 bits, which only machines that know MAP_32BIT can give. */
static CUresult low_obtain(struct context *context, size_t size, void **pointer)
{
#ifdef MAP_32BIT
	void *memory;

	if (!context->device->properties.host_backed)
		return CUDA_ERROR_NOT_SUPPORTED;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (memory == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pointer = memory;
	return CUDA_SUCCESS;
#else
	(void)context, (void)size, (void)pointer;
	return CUDA_ERROR_NOT_SUPPORTED;
#endif
}

static CUresult obtain(struct context *context, size_t size, enum memory_kind kind, unsigned flags, void **pointer)
{
	const struct device_ops *ops = context->ops;
	struct device *device = context->device->device;

	if (kind == MEMORY_HOST)
		return host_obtain(context, size, flags, pointer);
	if (kind == MEMORY_LOW)
		return low_obtain(context, size, pointer);
	if (kind == MEMORY_MANAGED && ops->allocate_managed)
		return (CUresult)ops->allocate_managed(device, size, pointer);
	return (CUresult)ops->allocate(device, size, pointer);
}

static void give_back(struct allocation *allocation)
{
	struct context *context = allocation->context;
	void *memory = (void *)allocation->base;

	switch (allocation->kind) {
	case MEMORY_HOST:
		if (context->ops->release_host)
			context->ops->release_host(context->device->device, memory);
		else if (!context->ops->allocate_host)
			munmap(memory, allocation->size);
		break;
	case MEMORY_DEVICE:
		ipc_memory_release(allocation);
		context->ops->release(context->device->device, memory);
		break;
	case MEMORY_MANAGED:
	case MEMORY_ARRAY:
		context->ops->release(context->device->device, memory);
		break;
	case MEMORY_POOL:
		pool_give_back(allocation);
		break;
	case MEMORY_IPC: ipc_memory_close(allocation); break;
	case MEMORY_LOW: munmap(memory, allocation->size); break;
	default: /* not ours to release */
		break;
	}
}

CUresult memory_copy_now(struct context *context, void *to, const void *from, size_t size)
{
	if (context->ops->copy_now)
		return (CUresult)context->ops->copy_now(context->device->device, to, from, size);
	memcpy(to, from, size);
	return CUDA_SUCCESS;
}

CUresult allocation_create(struct context *context, size_t size, enum memory_kind kind, unsigned flags,
			   struct allocation **out)
{
	struct allocation *allocation = calloc(1, sizeof *allocation);
	void *pointer = NULL;
	CUresult status;

	if (!allocation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context_reap(context); /* memory that waited for a queue */
	status = obtain(context, size, kind, flags, &pointer);
	if (status == CUDA_ERROR_OUT_OF_MEMORY) {
		pools_trim(context->device);
		status = obtain(context, size, kind, flags, &pointer);
	}
	if (status) {
		free(allocation);
		return status;
	}
	allocation->kind = kind;
	allocation->base = (uintptr_t)pointer;
	allocation->size = size;
	allocation->context = context;
	allocation->device = context->device;
	allocation->flags = flags;
	allocation->preferred.type = allocation->prefetched.type = CU_MEM_LOCATION_TYPE_INVALID;
	status = memory_map_add(allocation);
	if (status) { /* a registered range that was unmapped and is now ours: the program forgot to unregister it */
		struct allocation stale;

		while (memory_map_find(allocation->base, &stale) && stale.kind == MEMORY_REGISTERED)
			free(memory_map_remove(stale.base));
		status = memory_map_add(allocation);
	}
	if (status) {
		give_back(allocation);
		free(allocation);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = allocation;
	return CUDA_SUCCESS;
}

void allocation_release(struct allocation *allocation)
{
	give_back(allocation);
	free(allocation);
}

void allocation_release_all(struct context *context)
{
	struct allocation *allocation;

	while ((allocation = memory_map_take(context)))
		allocation_release(allocation);
}

CUresult allocation_note(struct context *context, void *base, size_t size, bool managed)
{
	struct allocation *allocation = calloc(1, sizeof *allocation);
	CUresult status = CUDA_ERROR_OUT_OF_MEMORY;

	if (allocation) {
		allocation->kind = MEMORY_SYMBOL;
		allocation->flags = managed ? CU_MEM_ATTACH_GLOBAL : 0;
		allocation->base = (uintptr_t)base;
		allocation->size = size;
		allocation->context = context;
		allocation->device = context ? context->device : &driver.devices[0];
		status = memory_map_add(allocation);
		if (status)
			free(allocation);
	}
	return status;
}

bool memory_is_device(uintptr_t address, size_t size, struct allocation *found)
{
	struct allocation local;

	if (!found)
		found = &local;
	if (!memory_map_find(address, found) || (found->kind == MEMORY_MAPPED && !found->flags))
		return false; /* nothing there, or mapped without access */
	if (size <= found->size - (address - found->base))
		return true;
	/* Neighbouring mappings of one reservation are one range to programs. */
	return found->kind == MEMORY_MAPPED && memory_is_device(found->base + found->size, size - (found->base + found->size - address), NULL);
}

bool memory_is_pinned(const void *address)
{
	return memory_map_find((uintptr_t)address, NULL);
}

/* ---- device memory ------------------------------------------------------------------------------------- */

CUresult impl_cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	uint64_t available, total;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!free_bytes || !total_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	status = (CUresult)context->ops->memory_info(context->device->device, &available, &total);
	if (!status) {
		*free_bytes = available;
		*total_bytes = total;
	}
	return status;
}

CUresult memory_allocate(size_t size, enum memory_kind kind, unsigned flags, void **pointer)
{
	struct allocation *allocation;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!pointer || !size)
		return CUDA_ERROR_INVALID_VALUE;
	status = capture_forbid_unsafe();
	if (!status)
		status = allocation_create(context, size, kind, flags, &allocation);
	if (status)
		return status == CUDA_ERROR_OUT_OF_MEMORY ? api_error(status, "%zu bytes", size) : status;
	*pointer = (void *)allocation->base;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemAlloc_v2(CUdeviceptr *pointer, size_t size)
{
	void *memory = NULL;
	CUresult status = memory_allocate(size, MEMORY_DEVICE, 0, pointer ? &memory : NULL);

	if (!status)
		*pointer = (CUdeviceptr)(uintptr_t)memory;
	return status;
}

CUresult impl_cuMemAllocPitch_v2(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned int element)
{
	size_t row = align_up(width, PITCH_ALIGN), size;
	CUresult status;

	if (!pointer || !pitch || !width || !height || (element != 4 && element != 8 && element != 16)) {
		REQUIRE_READY();
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (row < width || __builtin_mul_overflow(row, height, &size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	status = impl_cuMemAlloc_v2(pointer, size);
	if (!status)
		*pitch = row;
	return status;
}

static bool kind_is_freed_by_memfree(enum memory_kind kind)
{
	return kind == MEMORY_DEVICE || kind == MEMORY_MANAGED || kind == MEMORY_POOL || kind == MEMORY_LOW;
}

CUresult impl_cuMemFree_v2(CUdeviceptr pointer)
{
	struct allocation found;
	CUresult status;

	REQUIRE_READY();
	if (!pointer)
		return CUDA_SUCCESS;
	if (graph_memory_free(pointer))
		return CUDA_SUCCESS;
	if (!memory_map_find(pointer, &found) || found.base != pointer || !kind_is_freed_by_memfree(found.kind)) {
		REQUIRE_CONTEXT(context);
		(void)context;
		return api_error(CUDA_ERROR_INVALID_VALUE, "0x%llx is not the start of an allocation", pointer);
	}
	status = context_error(found.context);
	if (!status)
		status = capture_forbid_unsafe();
	if (status)
		return status;
	status = context_synchronize(found.context); /* work that uses it may be under way */
	struct allocation *allocation = memory_map_remove(pointer);
	if (!allocation)
		return api_error(CUDA_ERROR_INVALID_VALUE, "0x%llx was freed by another thread", pointer);
	allocation_release(allocation);
	return status;
}

CUresult impl_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr pointer)
{
	struct allocation found;

	REQUIRE_CONTEXT(context);
	(void)context;
	if (!memory_map_find(pointer, &found) || found.kind == MEMORY_REGISTERED)
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = found.base;
	if (size)
		*size = found.size;
	return CUDA_SUCCESS;
}

/* ---- host memory ------------------------------------------------------------------------------------------- */

enum { HOST_ALLOC_FLAGS = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED };

CUresult impl_cuMemHostAlloc(void **pointer, size_t size, unsigned int flags)
{
	if (flags & ~(unsigned)HOST_ALLOC_FLAGS) {
		REQUIRE_CONTEXT(context);
		(void)context;
		return CUDA_ERROR_INVALID_VALUE;
	}
	return memory_allocate(size, MEMORY_HOST, flags, pointer);
}

CUresult impl_cuMemAllocHost_v2(void **pointer, size_t size)
{
	return memory_allocate(size, MEMORY_HOST, 0, pointer);
}

CUresult impl_cuMemFreeHost(void *pointer)
{
	struct allocation found, *allocation;
	CUresult status;

	REQUIRE_READY();
	if (!pointer)
		return CUDA_SUCCESS;
	if (!memory_map_find((uintptr_t)pointer, &found) || found.base != (uintptr_t)pointer || found.kind != MEMORY_HOST) {
		REQUIRE_CONTEXT(context);
		(void)context;
		return api_error(CUDA_ERROR_INVALID_VALUE, "%p is not the start of pinned memory", pointer);
	}
	status = capture_forbid_unsafe();
	if (status)
		return status;
	status = context_synchronize(found.context);
	allocation = memory_map_remove(found.base);
	if (!allocation)
		return CUDA_ERROR_INVALID_VALUE;
	allocation_release(allocation);
	return status;
}

CUresult impl_cuMemHostGetDevicePointer_v2(CUdeviceptr *device_pointer, void *pointer, unsigned int flags)
{
	struct allocation found;

	REQUIRE_CONTEXT(context);
	(void)context;
	if (!device_pointer || !pointer || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory_map_find((uintptr_t)pointer, &found) || (found.kind != MEMORY_HOST && found.kind != MEMORY_REGISTERED))
		return CUDA_ERROR_INVALID_VALUE;
	*device_pointer = (CUdeviceptr)(uintptr_t)pointer;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemHostGetFlags(unsigned int *flags, void *pointer)
{
	struct allocation found;

	REQUIRE_CONTEXT(context);
	(void)context;
	if (!flags || !pointer || !memory_map_find((uintptr_t)pointer, &found) ||
	    (found.kind != MEMORY_HOST && found.kind != MEMORY_REGISTERED))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = found.flags | CU_MEMHOSTALLOC_DEVICEMAP; /* all host memory is mapped in a unified address space */
	return CUDA_SUCCESS;
}

enum { HOST_REGISTER_FLAGS = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |
			     CU_MEMHOSTREGISTER_READ_ONLY };

/* Is every page there? mincore() says ENOMEM where one is not. */
static bool is_mapped(const void *pointer, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)pointer & ~(page - 1), last = ((uintptr_t)pointer + size - 1) & ~(page - 1);
	unsigned char resident;

	return !mincore((void *)first, 1, &resident) && !mincore((void *)last, 1, &resident);
}

CUresult impl_cuMemHostRegister_v2(void *pointer, size_t size, unsigned int flags)
{
	struct allocation *allocation;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!pointer || !size || flags & ~(unsigned)HOST_REGISTER_FLAGS || (uintptr_t)pointer + size < (uintptr_t)pointer)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "CU_MEMHOSTREGISTER_IOMEMORY");
	status = capture_forbid_unsafe();
	if (status)
		return status;
	if (!is_mapped(pointer, size))
		return api_error(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p are not mapped", size, pointer);
	allocation = calloc(1, sizeof *allocation);
	if (!allocation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	allocation->kind = MEMORY_REGISTERED;
	allocation->base = (uintptr_t)pointer;
	allocation->size = size;
	allocation->context = context;
	allocation->device = context->device;
	allocation->flags = flags;
	allocation->read_only = flags & CU_MEMHOSTREGISTER_READ_ONLY;
	status = memory_map_add(allocation);
	if (!status && context->ops->register_host) {
		status = (CUresult)context->ops->register_host(context->device->device, pointer, size);
		if (status)
			allocation = memory_map_remove((uintptr_t)pointer);
	}
	if (status)
		free(allocation);
	return status;
}

CUresult impl_cuMemHostRegister(void *pointer, size_t size, unsigned int flags)
{
	return impl_cuMemHostRegister_v2(pointer, size, flags);
}

CUresult impl_cuMemHostUnregister(void *pointer)
{
	struct allocation found;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!pointer)
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory_map_find((uintptr_t)pointer, &found))
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	if (found.kind != MEMORY_REGISTERED || found.base != (uintptr_t)pointer)
		return CUDA_ERROR_INVALID_VALUE;
	status = capture_forbid_unsafe();
	if (status)
		return status;
	status = context_synchronize(context);
	if (found.context->ops->unregister_host)
		found.context->ops->unregister_host(found.device->device, pointer);
	free(memory_map_remove(found.base));
	return status;
}

/* ---- managed memory ---------------------------------------------------------------------------------------- */

CUresult impl_cuMemAllocManaged(CUdeviceptr *pointer, size_t size, unsigned int flags)
{
	void *memory = NULL;
	CUresult status;

	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
		REQUIRE_CONTEXT(context);
		(void)context;
		return CUDA_ERROR_INVALID_VALUE;
	}
	status = memory_allocate(size, MEMORY_MANAGED, flags, pointer ? &memory : NULL);
	if (!status)
		*pointer = (CUdeviceptr)(uintptr_t)memory;
	return status;
}
