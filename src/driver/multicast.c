/* Multicast objects: one address for the memory of several devices. CUDA Driver API 6.16.
 *
 * A store there would go to several places at once, which no device of ours does; CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED is 0,
 * and the functions answer as a driver does whose devices are not connected by NVSwitch. There are no objects then. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"

static CUresult check(const CUmulticastObjectProp *properties)
{
	REQUIRE_READY();
	if (!properties || !properties->numDevices || properties->flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (properties->numDevices > (unsigned)driver.count)
		return CUDA_ERROR_INVALID_DEVICE;
	return api_error(CUDA_ERROR_NOT_SUPPORTED, "no device has multicast (CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED)");
}

static CUresult no_object(void)
{
	REQUIRE_READY();
	return api_error(CUDA_ERROR_INVALID_VALUE, "the handle is of no multicast object");
}

CUresult impl_cuMulticastCreate(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *properties)
{
	REQUIRE_READY();
	return handle && properties && properties->size ? check(properties) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *properties,
					CUmulticastGranularity_flags option)
{
	REQUIRE_READY();
	if (!granularity || (option != CU_MULTICAST_GRANULARITY_MINIMUM && option != CU_MULTICAST_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	return check(properties);
}

CUresult impl_cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice dev)
{
	(void)handle;
	REQUIRE_READY();
	return driver_device(dev) ? no_object() : CUDA_ERROR_INVALID_DEVICE;
}

CUresult impl_cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset, CUmemGenericAllocationHandle memory,
				 size_t memory_offset, size_t size, unsigned long long flags)
{
	(void)handle, (void)offset, (void)memory, (void)memory_offset, (void)size, (void)flags;
	return no_object();
}

CUresult impl_cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr pointer, size_t size,
				  unsigned long long flags)
{
	(void)handle, (void)offset, (void)pointer, (void)size, (void)flags;
	return no_object();
}

CUresult impl_cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset, size_t size)
{
	(void)handle, (void)offset, (void)size;
	REQUIRE_READY();
	return driver_device(dev) ? no_object() : CUDA_ERROR_INVALID_DEVICE;
}
