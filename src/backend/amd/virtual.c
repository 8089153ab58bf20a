/* Virtual memory management by hipMem*, and memory of other processes by hipIpc*. HIP's releases differ in what they take beyond the plain case
 * (offsets, handles for other processes, rights of the host), so that only that is asked for. */
#include "backend/amd/amd.h"

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
	return status ? status : amd_failed(HIP_CALL(hipMemMap, base, size, 0, memory, 0), "hipMemMap");
}

static int unmap(struct device *device, void *base, uint64_t size)
{
	int status = amd_enter(device);
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
