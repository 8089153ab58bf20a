/* Devices: numbers, names, attributes, peers. CUDA Driver API 6.5 "Device Management" and 6.19 "Peer Context Memory
 * Access". What a back end does not know of itself is answered as a recorded sm_80 card does. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/cuda_impl.h"

CUresult impl_cuDeviceGet(CUdevice *device, int ordinal)
{
	REQUIRE_READY();
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!driver_device(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetCount(int *count)
{
	REQUIRE_READY();
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = driver.count;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetName(char *name, int length, CUdevice dev)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!name || length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)length, "%s", device->properties.name);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(uuid->bytes, device->properties.uuid, sizeof uuid->bytes);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return impl_cuDeviceGetUuid_v2(uuid, dev);
}

CUresult impl_cuDeviceGetLuid(char *luid, unsigned int *mask, CUdevice dev)
{
	REQUIRE_READY();
	(void)luid, (void)mask, (void)dev;
	return CUDA_ERROR_NOT_SUPPORTED; /* Windows' own */
}

CUresult impl_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = device->properties.memory;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*major = device->properties.major;
	*minor = device->properties.minor;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetProperties(CUdevprop *properties, CUdevice dev)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!properties)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*properties = (CUdevprop){
		.maxThreadsPerBlock = MAX_BLOCK_THREADS,
		.maxThreadsDim = {1024, 1024, 64},
		.maxGridSize = {2147483647, 65535, 65535},
		.sharedMemPerBlock = device->properties.shared_per_block,
		.totalConstantMemory = 65536,
		.SIMDWidth = WARP_SIZE,
		.memPitch = 2147483647,
		.regsPerBlock = device->properties.registers_per_block,
		.clockRate = device->properties.clock_khz,
		.textureAlign = 512,
	};
	return CUDA_SUCCESS;
}

/* Attributes that say the same on every device of ours: those that cards of several generations agree on. */
static const struct {
	CUdevice_attribute attribute;
	int value;
} fixed_attributes[] = {
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, MAX_BLOCK_THREADS},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
	{CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, WARP_SIZE},
	{CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
	{CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
	{CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
	{CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 131072},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 131072},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 65536},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 16384},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 16384},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16384},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048},
	{CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048},
	{CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER, 1},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, 8192},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, 8192},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 32768},
	{CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, 131072},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, 65536},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, 16384},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, 16384},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH, 16384},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS, 2048},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2048},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 2046},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 268435456},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 32768},
	{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 32768},
	{CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
	{CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0},
	{CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 134213632},
	{CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 0},
	{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
	{CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
	{CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 1},
	{CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
	{CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0},
	{CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID, 0x20B2 << 16 | 0x10DE},
};

static int attribute_of_properties(const struct device_properties *p, CUdevice_attribute attribute, int *value)
{
	switch ((int)attribute) {
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = p->shared_per_block; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = p->shared_per_block_optin; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = p->shared_per_multiprocessor; break;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *value = p->registers_per_block; break;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = p->registers_per_block; break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = p->threads_per_multiprocessor; break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: *value = p->blocks_per_multiprocessor; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = p->multiprocessors; break;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = p->clock_khz; break;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = p->memory_clock_khz; break;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = p->bus_width; break;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = p->l2_bytes; break;
	case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE: *value = p->l2_bytes / 4 * 3; break;
	case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK:
		*value = p->host_backed ? CU_MEM_DECOMPRESS_ALGORITHM_LZ4 : CU_MEM_DECOMPRESS_UNSUPPORTED;
		break;
	case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH: *value = p->host_backed ? DECOMPRESS_MOST : 0; break;
	case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: *value = p->host_backed || p->virtual_memory; break;
	case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: *value = p->host_backed; break;
	case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
		*value = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: *value = p->pci_domain; break;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = p->pci_bus; break;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: *value = p->pci_device; break;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: *value = p->async_engines; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = p->major; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = p->minor; break;
	case CU_DEVICE_ATTRIBUTE_INTEGRATED: *value = p->integrated; break;
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: *value = p->managed_concurrent; break;
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS: *value = p->pageable_access; break;
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: *value = p->pageable_access; break;
	case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST: *value = p->managed_concurrent; break;
	case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED: *value = p->host_backed; break;
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: *value = p->cooperative; break;
	case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: *value = p->major >= 9; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

int device_attribute(const struct driver_device *device, CUdevice_attribute attribute, int *value)
{
	if ((int)attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!attribute_of_properties(&device->properties, attribute, value))
		return CUDA_SUCCESS;
	for (size_t i = 0; i < ARRAY_LENGTH(fixed_attributes); i++) {
		if (fixed_attributes[i].attribute == attribute) {
			*value = fixed_attributes[i].value;
			return CUDA_SUCCESS;
		}
	}
	*value = 0; /* a feature that is not there */
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	return (CUresult)device_attribute(device, attribute, value);
}

CUresult impl_cuDeviceGetPCIBusId(char *id, int length, CUdevice dev)
{
	struct driver_device *device = driver_device(dev);
	char text[32];
	int n;

	REQUIRE_READY();
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	n = snprintf(text, sizeof text, "%04X:%02X:%02X.0", (unsigned)device->properties.pci_domain,
		     (unsigned)device->properties.pci_bus, (unsigned)device->properties.pci_device);
	if (length <= n)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(id, text, (size_t)n + 1);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned domain = 0, bus, slot, function = 0;

	REQUIRE_READY();
	if (!dev || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
		domain = 0;
		if (sscanf(id, "%x:%x.%x", &bus, &slot, &function) < 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (int i = 0; i < driver.count; i++) {
		const struct device_properties *p = &driver.devices[i].properties;

		if ((unsigned)p->pci_domain == domain && (unsigned)p->pci_bus == bus && (unsigned)p->pci_device == slot) {
			*dev = i;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

CUresult impl_cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	REQUIRE_READY();
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!driver_device(dev) || !driver_device(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = dev != peer;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice target)
{
	REQUIRE_READY();
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!driver_device(source) || !driver_device(target) || source == target)
		return CUDA_ERROR_INVALID_DEVICE;
	switch ((int)attribute) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
	case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult impl_cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice dev)
{
	REQUIRE_READY();
	if (!supported || (int)type < 0 || type >= CU_EXEC_AFFINITY_TYPE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!driver_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*supported = 0;
	return CUDA_SUCCESS;
}

static size_t format_bytes(CUarray_format format)
{
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8: return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF: return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT: return 4;
	default: return 0;
	}
}

CUresult impl_cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels, CUdevice dev)
{
	REQUIRE_READY();
	if (!width || !format_bytes(format) || (channels != 1 && channels != 2 && channels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	if (!driver_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*width = (size_t)268435456;
	return CUDA_SUCCESS;
}

/* Which atomic operations another side may do on a device's memory: the CPU back end's are the host's own. */
static CUresult atomic_capabilities(unsigned *capabilities, const CUatomicOperation *operations, unsigned count)
{
	if (!capabilities || !operations || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		unsigned both = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64;

		switch ((int)operations[i]) {
		case CU_ATOMIC_OPERATION_INTEGER_ADD:
		case CU_ATOMIC_OPERATION_INTEGER_MIN:
		case CU_ATOMIC_OPERATION_INTEGER_MAX:
			capabilities[i] = both | CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_REDUCTION;
			break;
		case CU_ATOMIC_OPERATION_INTEGER_INCREMENT:
		case CU_ATOMIC_OPERATION_INTEGER_DECREMENT:
			capabilities[i] = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_REDUCTION;
			break;
		case CU_ATOMIC_OPERATION_AND:
		case CU_ATOMIC_OPERATION_OR:
		case CU_ATOMIC_OPERATION_XOR:
		case CU_ATOMIC_OPERATION_FLOAT_ADD:
			capabilities[i] = both | CU_ATOMIC_CAPABILITY_REDUCTION;
			break;
		case CU_ATOMIC_OPERATION_EXCHANGE:
		case CU_ATOMIC_OPERATION_CAS:
			capabilities[i] = both;
			break;
		case CU_ATOMIC_OPERATION_FLOAT_MIN:
		case CU_ATOMIC_OPERATION_FLOAT_MAX:
			capabilities[i] = 0;
			break;
		default:
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetHostAtomicCapabilities(unsigned *capabilities, const CUatomicOperation *operations, unsigned count,
						CUdevice dev)
{
	REQUIRE_READY();
	if (!driver_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return atomic_capabilities(capabilities, operations, count);
}

CUresult impl_cuDeviceGetP2PAtomicCapabilities(unsigned *capabilities, const CUatomicOperation *operations, unsigned count,
					       CUdevice source, CUdevice target)
{
	REQUIRE_READY();
	if (!driver_device(source) || !driver_device(target) || source == target)
		return CUDA_ERROR_INVALID_DEVICE;
	return atomic_capabilities(capabilities, operations, count);
}
