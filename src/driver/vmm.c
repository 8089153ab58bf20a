/* Virtual memory management: addresses and memory apart. CUDA Driver API 6.14.
 * Where the device works on the host's memory, as the CPU back end does, a memory handle is a memfd, and mapping it is mmap over a reserved
 * range. Other devices do it themselves (device_ops.virtual_memory): memory is mapped from its beginning, and only devices reach it. A range
 * belongs to the device that was current when it was reserved, or to the first. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/cuda_impl.h"

enum { UNIT = VIRTUAL_UNIT };

struct memory { /* behind CUmemGenericAllocationHandle */
	struct handle handle;
	int file;              /* -1: `memory` */
	void *memory;          /* the device's own */
	size_t size;
	CUmemAllocationProp properties;
	_Atomic uint32_t uses; /* the program's handles, and mappings */
};

HANDLE_FITS(struct memory);

struct reservation {
	struct reservation *next;
	uintptr_t base;
	size_t size;
	size_t mapped;
	struct driver_device *device; /* whose addresses these are; NULL: the host's */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the reservations */
static struct reservation *reservations;

static bool is_unit_multiple(uint64_t value)
{
	return value && value % UNIT == 0;
}

static struct memory *memory_of(CUmemGenericAllocationHandle handle)
{
	return handle_check((const void *)(uintptr_t)handle, HANDLE_MEMORY);
}

static struct driver_device *device_of(const struct memory *memory)
{
	return driver_device(memory->properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? memory->properties.location.id : 0);
}

static void memory_unref(struct memory *memory)
{
	struct driver_device *device = device_of(memory);

	if (atomic_fetch_sub(&memory->uses, 1) != 1)
		return;
	if (memory->file < 0)
		device->ops->virtual_memory->release(device->device, memory->memory);
	else
		close(memory->file);
	handle_destroy(memory);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static CUresult check_properties(const CUmemAllocationProp *p)
{
	struct driver_device *device;

	if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned)p->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "memory is shared by file descriptors only");
	switch ((int)p->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE: device = driver_device(p->location.id); break;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: device = driver_device(0); break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (device->properties.host_backed)
		return CUDA_SUCCESS;
	if (!device->properties.virtual_memory)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "virtual memory management: this device's runtime has none");
	if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE || p->requestedHandleTypes)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "here virtual memory is the device's and no other process's");
	return CUDA_SUCCESS;
}

CUresult impl_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
					    CUmemAllocationGranularity_flags option)
{
	CUresult status;

	REQUIRE_READY();
	if (!granularity || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	status = check_properties(properties);
	if (!status)
		*granularity = UNIT;
	return status;
}

static CUresult memory_new(int file, void *own, size_t size, const CUmemAllocationProp *properties, CUmemGenericAllocationHandle *handle)
{
	struct memory *memory = handle_create(HANDLE_MEMORY);

	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory->file = file;
	memory->memory = own;
	memory->size = size;
	memory->properties = *properties;
	atomic_init(&memory->uses, 1);
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)memory;
	return CUDA_SUCCESS;
}

static CUresult create_own(struct driver_device *device, CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *properties)
{
	const struct device_virtual_memory *ops = device->ops->virtual_memory;
	void *memory;
	CUresult status = (CUresult)ops->create(device->device, size, &memory);

	if (status)
		return status;
	status = memory_new(-1, memory, size, properties, handle);
	if (status)
		ops->release(device->device, memory);
	return status;
}

CUresult impl_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *properties,
			  unsigned long long flags)
{
	struct driver_device *device;
	uint64_t available, total;
	int file;
	CUresult status;

	REQUIRE_READY();
	if (!handle || flags || !is_unit_multiple(size))
		return CUDA_ERROR_INVALID_VALUE;
	status = check_properties(properties);
	if (status)
		return status;
	device = driver_device(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? properties->location.id : 0);
	status = (CUresult)device->ops->memory_info(device->device, &available, &total);
	if (status)
		return status;
	if (size > available)
		return api_error(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes, %llu are free", size, (unsigned long long)available);
	if (!device->properties.host_backed)
		return create_own(device, handle, size, properties);
	file = memfd_create("dragoman", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file < 0)
		return api_error(CUDA_ERROR_OPERATING_SYSTEM, "memfd_create: %s", strerror(errno));
	if (ftruncate(file, (off_t)size)) {
		close(file);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	status = memory_new(file, NULL, size, properties, handle);
	if (status)
		close(file);
	return status;
}

CUresult impl_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct memory *memory;

	REQUIRE_READY();
	memory = memory_of(handle);
	if (!memory)
		return CUDA_ERROR_INVALID_VALUE;
	memory_unref(memory);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle)
{
	struct memory *memory;

	REQUIRE_READY();
	memory = memory_of(handle);
	if (!properties || !memory)
		return CUDA_ERROR_INVALID_VALUE;
	*properties = memory->properties;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
					   unsigned long long flags)
{
	struct memory *memory;
	int file;

	REQUIRE_READY();
	memory = memory_of(handle);
	if (!out || !memory || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !(memory->properties.requestedHandleTypes & type))
		return api_error(CUDA_ERROR_INVALID_VALUE, "the memory was not made to be shared by that type of handle");
	file = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
	if (file < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)out = file;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle, CUmemAllocationHandleType type)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
					  .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
	struct stat info;
	int file = (int)(uintptr_t)os_handle;
	CUresult status;

	REQUIRE_READY();
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "memory is shared by file descriptors only");
	/* Only a memfd answers F_GET_SEALS. */
	if (fcntl(file, F_GET_SEALS) < 0 || fstat(file, &info) || !is_unit_multiple((uint64_t)info.st_size))
		return api_error(CUDA_ERROR_INVALID_VALUE, "file descriptor %d is no shared memory of ours", file);
	file = fcntl(file, F_DUPFD_CLOEXEC, 0);
	if (file < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	status = memory_new(file, NULL, (size_t)info.st_size, &properties, handle);
	if (status)
		close(file);
	return status;
}

/* ---- addresses ------------------------------------------------------------------------------------------------------ */

/* The device whose addresses a reservation gets; NULL: the host's. */
static struct driver_device *device_to_reserve_for(void)
{
	struct context *context;
	struct driver_device *device = context_current(&context) ? driver_device(0) : context->device;

	return device && !device->properties.host_backed && device->properties.virtual_memory ? device : NULL;
}

/* Reserves more than is asked for where that is needed for the alignment, and gives the rest back. */
static void *reserve(uintptr_t hint, size_t size, size_t align)
{
	uint8_t *at = mmap((void *)hint, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *base;

	if (at == MAP_FAILED)
		return NULL;
	base = (uint8_t *)align_up((uintptr_t)at, align);
	if (base > at)
		munmap(at, (size_t)(base - at));
	if (base < at + align)
		munmap(base + size, (size_t)(at + align - base));
	return base;
}

CUresult impl_cuMemAddressReserve(CUdeviceptr *pointer, size_t size, size_t alignment, CUdeviceptr address,
				  unsigned long long flags)
{
	struct driver_device *device;
	struct reservation *reservation;
	void *base = NULL;

	REQUIRE_READY();
	if (!pointer || !is_unit_multiple(size) || alignment & (alignment - 1) || flags || size > SIZE_MAX / 4 || alignment > SIZE_MAX / 4)
		return CUDA_ERROR_INVALID_VALUE;
	reservation = malloc(sizeof *reservation);
	alignment = alignment > UNIT ? alignment : UNIT;
	device = device_to_reserve_for();
	if (reservation && !device)
		base = reserve((uintptr_t)address, size, alignment);
	else if (reservation && device->ops->virtual_memory->reserve(device->device, size, alignment, (void *)(uintptr_t)address, &base))
		base = NULL;
	if (!base) {
		free(reservation);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*reservation = (struct reservation){.base = (uintptr_t)base, .size = size, .device = device};
	pthread_mutex_lock(&lock);
	reservation->next = reservations;
	reservations = reservation;
	pthread_mutex_unlock(&lock);
	*pointer = (CUdeviceptr)(uintptr_t)base;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemAddressFree(CUdeviceptr pointer, size_t size)
{
	struct reservation *found = NULL;
	CUresult status = CUDA_SUCCESS;

	REQUIRE_READY();
	pthread_mutex_lock(&lock);
	for (struct reservation **link = &reservations; *link; link = &(*link)->next) {
		if ((*link)->base != pointer || (*link)->size != size)
			continue;
		found = *link;
		if (found->mapped)
			status = api_error(CUDA_ERROR_INVALID_VALUE, "memory is still mapped there");
		else
			*link = found->next;
		break;
	}
	pthread_mutex_unlock(&lock);
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	if (!status) {
		if (found->device)
			found->device->ops->virtual_memory->unreserve(found->device->device, (void *)found->base, found->size);
		else
			munmap((void *)found->base, found->size);
		free(found);
	}
	return status;
}

static struct reservation *reservation_locked(uintptr_t base, size_t size)
{
	for (struct reservation *r = reservations; r; r = r->next)
		if (base >= r->base && size <= r->size && base - r->base <= r->size - size)
			return r;
	return NULL;
}

static CUresult map_pages(uintptr_t base, size_t size, size_t offset, const struct memory *memory)
{
	const struct driver_device *device = device_of(memory);

	if (memory->file < 0)
		return (CUresult)device->ops->virtual_memory->map(device->device, (void *)base, size, memory->memory);
	if (mmap((void *)base, size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, (off_t)offset) == MAP_FAILED)
		return api_error(CUDA_ERROR_OPERATING_SYSTEM, "mmap: %s", strerror(errno));
	return CUDA_SUCCESS;
}

static void unmap_pages(uintptr_t base, size_t size, const struct memory *memory)
{
	const struct driver_device *device = device_of(memory);

	if (memory->file < 0)
		device->ops->virtual_memory->unmap(device->device, (void *)base, size);
	else
		mmap((void *)base, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Can the memory lie there, from that offset on? */
static CUresult check_place(const struct reservation *reservation, size_t offset, const struct memory *memory)
{
	bool own = memory->file < 0;

	if (!reservation)
		return api_error(CUDA_ERROR_INVALID_VALUE, "the range is not reserved");
	if (own ? !reservation->device || reservation->device->ops != device_of(memory)->ops : reservation->device != NULL)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "the range was reserved for another kind of device's memory");
	if (own && offset) /* as CUDA has it: "currently must be zero" */
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "this device's memory is mapped from its beginning");
	return CUDA_SUCCESS;
}

static CUresult map_locked(uintptr_t base, size_t size, size_t offset, struct memory *memory)
{
	struct reservation *reservation = reservation_locked(base, size);
	struct allocation *allocation;
	CUresult status = check_place(reservation, offset, memory);

	if (status)
		return status;
	allocation = calloc(1, sizeof *allocation);
	if (!allocation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	allocation->kind = MEMORY_MAPPED;
	allocation->base = base;
	allocation->size = size;
	allocation->device = device_of(memory);
	allocation->owner = memory;
	allocation->flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	status = memory_map_add(allocation);
	if (status) {
		free(allocation);
		return api_error(CUDA_ERROR_INVALID_VALUE, "memory is mapped there already");
	}
	status = map_pages(base, size, offset, memory);
	if (status) {
		free(memory_map_remove(base));
		return status;
	}
	reservation->mapped += size;
	atomic_fetch_add(&memory->uses, 1);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemMap(CUdeviceptr pointer, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		       unsigned long long flags)
{
	struct memory *memory;
	CUresult status;

	REQUIRE_READY();
	memory = memory_of(handle);
	if (!memory || flags || !is_unit_multiple(size) || pointer % UNIT || offset % UNIT || offset > memory->size ||
	    size > memory->size - offset)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	status = map_locked((uintptr_t)pointer, size, offset, memory);
	pthread_mutex_unlock(&lock);
	return status;
}

/* Is [base, base + size) made of whole mappings? */
static bool is_covered(uintptr_t base, size_t size)
{
	uintptr_t end = base + size;
	struct allocation found;

	if (end < base)
		return false;
	while (base < end) {
		if (!memory_map_find(base, &found) || found.kind != MEMORY_MAPPED || found.base != base || found.size > end - base)
			return false;
		base += found.size;
	}
	return size > 0 && base == end;
}

static void wait_for_everybody(void)
{
	for (struct context *c = handle_next(NULL, HANDLE_CONTEXT); c; c = handle_next(c, HANDLE_CONTEXT))
		if (atomic_load(&c->live))
			context_synchronize(c);
}

CUresult impl_cuMemUnmap(CUdeviceptr pointer, size_t size)
{
	uintptr_t base = (uintptr_t)pointer, end = base + size;
	struct reservation *reservation;

	REQUIRE_READY();
	if (!is_covered(base, size))
		return api_error(CUDA_ERROR_INVALID_VALUE, "the range is not made of whole mappings");
	wait_for_everybody();
	pthread_mutex_lock(&lock);
	reservation = reservation_locked(base, size);
	while (reservation && base < end) {
		struct allocation *allocation = memory_map_remove(base);

		if (!allocation)
			break;
		unmap_pages(base, allocation->size, allocation->owner);
		reservation->mapped -= allocation->size;
		base += allocation->size;
		memory_unref(allocation->owner);
		free(allocation);
	}
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static void set_flags(struct allocation *allocation, void *flags)
{
	allocation->flags = *(const unsigned *)flags;
	allocation->read_only = allocation->flags == CU_MEM_ACCESS_FLAGS_PROT_READ;
}

static CUresult protect(const struct allocation *mapping, unsigned flags)
{
	int protection = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE :
			 flags == CU_MEM_ACCESS_FLAGS_PROT_READ	     ? PROT_READ :
								       PROT_NONE;

	if (mprotect((void *)mapping->base, mapping->size, protection))
		return api_error(CUDA_ERROR_OPERATING_SYSTEM, "mprotect: %s", strerror(errno));
	return CUDA_SUCCESS;
}

/* Of a device's own memory: each device has what it is given. */
static CUresult give_access(const struct allocation *mapping, const CUmemAccessDesc *access, size_t count)
{
	CUresult status = CUDA_SUCCESS;

	for (size_t i = 0; i < count && !status; i++) {
		struct driver_device *device = access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE ? driver_device(access[i].location.id) : NULL;

		if (!device || device->ops != mapping->device->ops)
			return api_error(CUDA_ERROR_NOT_SUPPORTED, "that memory is reached by devices of its own kind only");
		status = (CUresult)device->ops->virtual_memory->set_access(device->device, (void *)mapping->base, mapping->size, access[i].flags);
	}
	return status;
}

/* The host has one set of page tables: the widest access that any device is given is what all have. */
CUresult impl_cuMemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc *access, size_t count)
{
	uintptr_t base = (uintptr_t)pointer, end = base + size;
	unsigned flags = 0;
	struct allocation found;
	CUresult status;

	REQUIRE_READY();
	if (!access || !count || !is_covered(base, size))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && !driver_device(access[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		if (access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
		    access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE;
		flags |= access[i].flags;
	}
	for (; base < end && memory_map_find(base, &found); base += found.size) {
		status = ((const struct memory *)found.owner)->file < 0 ? give_access(&found, access, count) : protect(&found, flags);
		if (status)
			return status;
		memory_map_edit(base, set_flags, &flags);
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr pointer)
{
	struct allocation found;

	REQUIRE_READY();
	if (!flags || !location || !memory_map_find(pointer, &found) || found.kind != MEMORY_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	if (location->type == CU_MEM_LOCATION_TYPE_DEVICE && !driver_device(location->id))
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = found.flags;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	struct allocation found;
	struct memory *memory;

	REQUIRE_READY();
	if (!handle || !memory_map_find((uintptr_t)address, &found) || found.kind != MEMORY_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	memory = found.owner;
	atomic_fetch_add(&memory->uses, 1);
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)memory;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned int count, CUstream stream)
{
	struct stream *found;
	CUresult status = stream_require(stream, &found);

	if (status)
		return status;
	if (!list || !count)
		return CUDA_ERROR_INVALID_VALUE;
	return api_error(CUDA_ERROR_NOT_SUPPORTED, "sparse arrays are not supported");
}

CUresult impl_cuMemGetHandleForAddressRange(void *handle, CUdeviceptr pointer, size_t size, CUmemRangeHandleType type,
					    unsigned long long flags)
{
	struct allocation found;

	REQUIRE_READY();
	if (!handle || !size || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags & ~(unsigned long long)CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE ||
	    !memory_is_device((uintptr_t)pointer, size, &found))
		return CUDA_ERROR_INVALID_VALUE;
	return api_error(CUDA_ERROR_NOT_SUPPORTED, "memory has no DMA-BUF handles here");
}
