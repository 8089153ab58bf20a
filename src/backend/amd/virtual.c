/* Virtual memory management by hipMem*, and memory of other processes by hipIpc*. HIP's releases differ in what they take beyond the plain case
 * (offsets, handles for other processes, rights of the host), so that only that is asked for. */
#include "backend/amd/amd.h"

#include <stdlib.h>

/* ---- what is mapped ---------------------------------------------------------------------------------------- */

/* To HIP each mapping is a memory of its own, beyond the end of which it neither copies nor fills, also where the next one begins there.
 * These are all mappings, by address. */
struct mapping {
	uintptr_t base;
	uint64_t size;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the following */
static VEC(struct mapping) mappings;
static _Atomic size_t mapping_count; /* of them: also read without the lock, for most programs have none */

/* The number of mappings that begin at the address or before it. */
static size_t count_until_locked(uintptr_t address)
{
	size_t first = 0, end = mappings.count;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (mappings.data[middle].base <= address)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static void note_mapping(void *base, uint64_t size)
{
	struct mapping mapping = { (uintptr_t)base, size };
	pthread_mutex_lock(&lock);
	size_t at = count_until_locked(mapping.base);
	if (vec_push(&mappings, mapping)) { /* else HIP refuses what goes over its end */
		memmove(&mappings.data[at + 1], &mappings.data[at], (mappings.count - 1 - at) * sizeof mapping);
		mappings.data[at] = mapping;
	}
	atomic_store(&mapping_count, mappings.count);
	pthread_mutex_unlock(&lock);
}

static void forget_mapping(const void *base)
{
	pthread_mutex_lock(&lock);
	size_t at = count_until_locked((uintptr_t)base);
	if (at && mappings.data[at - 1].base == (uintptr_t)base) {
		memmove(&mappings.data[at - 1], &mappings.data[at], (mappings.count - at) * sizeof *mappings.data);
		mappings.count--;
	}
	atomic_store(&mapping_count, mappings.count);
	if (!mappings.count)
		vec_fini(&mappings);
	pthread_mutex_unlock(&lock);
}

uint64_t amd_bytes_together(const void *address, uint64_t size)
{
	if (!atomic_load_explicit(&mapping_count, memory_order_relaxed))
		return size;
	pthread_mutex_lock(&lock);
	size_t at = count_until_locked((uintptr_t)address);
	if (at) {
		const struct mapping *m = &mappings.data[at - 1];
		uint64_t before = (uintptr_t)address - m->base;
		if (before < m->size && size > m->size - before)
			size = m->size - before;
	}
	pthread_mutex_unlock(&lock);
	return size;
}

/* ---- HIP's calls -------------------------------------------------------------------------------------------- */

static struct hip_location location_of(const struct device *device)
{
	return (struct hip_location){ HIP_LOCATION_DEVICE, device->hip };
}

static struct hip_memory_properties properties_of(const struct device *device)
{
	return (struct hip_memory_properties){ .type = HIP_PINNED, .location = location_of(device) };
}

/* All entries are there, and HIP's unit goes into ours. */
bool amd_has_virtual_memory(struct device *device)
{
	const struct hip *hip = amd_hip();
	struct hip_memory_properties properties = properties_of(device);
	size_t unit = 0;
	if (!hip->hipMemGetAllocationGranularity || !hip->hipMemAddressReserve || !hip->hipMemAddressFree || !hip->hipMemCreate ||
	    !hip->hipMemRelease || !hip->hipMemMap || !hip->hipMemUnmap || !hip->hipMemSetAccess)
		return false;
	return !amd_enter(device) && !hip->hipMemGetAllocationGranularity(&unit, &properties, HIP_GRANULARITY_LEAST) && unit && VIRTUAL_UNIT % unit == 0;
}

static int create(struct device *device, uint64_t size, void **memory)
{
	struct hip_memory_properties properties = properties_of(device);
	int status = amd_enter(device);
	if (status)
		return status;
	int error = HIP_CALL(hipMemCreate, memory, size, &properties, 0);
	return error == HIP_OUT_OF_MEMORY ? STATUS_OUT_OF_MEMORY : amd_failed(error, "hipMemCreate");
}

static int release(struct device *device, void *memory)
{
	int status = amd_enter(device);
	return status ? status : amd_failed(HIP_CALL(hipMemRelease, memory), "hipMemRelease");
}

static int reserve(struct device *device, uint64_t size, uint64_t alignment, void *hint, void **base)
{
	int status = amd_enter(device);
	if (status)
		return status;
	int error = HIP_CALL(hipMemAddressReserve, base, size, alignment, hint, 0);
	return error == HIP_OUT_OF_MEMORY ? STATUS_OUT_OF_MEMORY : amd_failed(error, "hipMemAddressReserve");
}

static int unreserve(struct device *device, void *base, uint64_t size)
{
	int status = amd_enter(device);
	return status ? status : amd_failed(HIP_CALL(hipMemAddressFree, base, size), "hipMemAddressFree");
}

static int map(struct device *device, void *base, uint64_t size, void *memory)
{
	int status = amd_enter(device);
	if (!status)
		status = amd_failed(HIP_CALL(hipMemMap, base, size, 0, memory, 0), "hipMemMap");
	if (!status)
		note_mapping(base, size);
	return status;
}

static int unmap(struct device *device, void *base, uint64_t size)
{
	int status = amd_enter(device);
	forget_mapping(base);
	return status ? status : amd_failed(HIP_CALL(hipMemUnmap, base, size), "hipMemUnmap");
}

static int set_access(struct device *device, void *base, uint64_t size, unsigned flags)
{
	struct hip_access access = { location_of(device), (int)flags };
	int status = amd_enter(device);
	return status ? status : amd_failed(HIP_CALL(hipMemSetAccess, base, size, &access, 1), "hipMemSetAccess");
}

const struct device_virtual_memory amd_virtual_memory = {
	.create = create,
	.release = release,
	.reserve = reserve,
	.unreserve = unreserve,
	.map = map,
	.unmap = unmap,
	.set_access = set_access,
};

/* ---- other processes ------------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct hip_ipc_handle) == DEVICE_IPC_BYTES, "HIP's handles are passed on as they are");

int amd_memory_share(struct device *device, void *pointer, uint8_t handle[DEVICE_IPC_BYTES])
{
	struct hip_ipc_handle made;
	int status = amd_enter(device);
	if (!status)
		status = amd_failed(HIP_CALL(hipIpcGetMemHandle, &made, pointer), "hipIpcGetMemHandle");
	if (!status)
		memcpy(handle, made.bytes, sizeof made.bytes);
	return status;
}

int amd_memory_open(struct device *device, const uint8_t handle[DEVICE_IPC_BYTES], void **pointer, uint64_t *size)
{
	struct hip_ipc_handle given;
	size_t bytes = 0;
	void *base;
	int status = amd_enter(device);
	memcpy(given.bytes, handle, sizeof given.bytes);
	if (!status)
		status = amd_failed(HIP_CALL(hipIpcOpenMemHandle, pointer, given, HIP_IPC_PEERS), "hipIpcOpenMemHandle");
	if (status)
		return status;
	status = amd_failed(HIP_CALL(hipMemGetAddressRange, &base, &bytes, *pointer), "hipMemGetAddressRange");
	if (status)
		HIP_CALL(hipIpcCloseMemHandle, *pointer);
	else
		*size = bytes - (size_t)((uint8_t *)*pointer - (uint8_t *)base);
	return status;
}

int amd_memory_close(struct device *device, void *pointer)
{
	int status = amd_enter(device);
	return status ? status : amd_failed(HIP_CALL(hipIpcCloseMemHandle, pointer), "hipIpcCloseMemHandle");
}
