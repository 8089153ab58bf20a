/* cudaDeviceProp, in each of its layouts: CUDA 13 dropped fields of CUDA 12's, which had added to CUDA 11's. All fields but
 * a few are device attributes. CUDA Runtime API, "cudaDeviceProp". */
#include "runtime.h"

struct property {
	uint16_t offset, size;
	CUdevice_attribute attribute;
};
#define PROPERTY(type, field, name)                                                                                    \
	{ offsetof(struct type, field), sizeof(((struct type *)NULL)->field), CU_DEVICE_ATTRIBUTE_##name },

/* In all layouts. */
#define PROPERTIES(T)                                                                                                  \
	PROPERTY(T, sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK)                                                    \
	PROPERTY(T, regsPerBlock, MAX_REGISTERS_PER_BLOCK)                                                             \
	PROPERTY(T, warpSize, WARP_SIZE)                                                                               \
	PROPERTY(T, memPitch, MAX_PITCH)                                                                               \
	PROPERTY(T, maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                                                         \
	PROPERTY(T, maxThreadsDim[0], MAX_BLOCK_DIM_X)                                                                 \
	PROPERTY(T, maxThreadsDim[1], MAX_BLOCK_DIM_Y)                                                                 \
	PROPERTY(T, maxThreadsDim[2], MAX_BLOCK_DIM_Z)                                                                 \
	PROPERTY(T, maxGridSize[0], MAX_GRID_DIM_X)                                                                    \
	PROPERTY(T, maxGridSize[1], MAX_GRID_DIM_Y)                                                                    \
	PROPERTY(T, maxGridSize[2], MAX_GRID_DIM_Z)                                                                    \
	PROPERTY(T, totalConstMem, TOTAL_CONSTANT_MEMORY)                                                              \
	PROPERTY(T, major, COMPUTE_CAPABILITY_MAJOR)                                                                   \
	PROPERTY(T, minor, COMPUTE_CAPABILITY_MINOR)                                                                   \
	PROPERTY(T, textureAlignment, TEXTURE_ALIGNMENT)                                                               \
	PROPERTY(T, texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT)                                                    \
	PROPERTY(T, multiProcessorCount, MULTIPROCESSOR_COUNT)                                                         \
	PROPERTY(T, integrated, INTEGRATED)                                                                            \
	PROPERTY(T, canMapHostMemory, CAN_MAP_HOST_MEMORY)                                                             \
	PROPERTY(T, maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH)                                                             \
	PROPERTY(T, maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH)                                             \
	PROPERTY(T, maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH)                                                          \
	PROPERTY(T, maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT)                                                         \
	PROPERTY(T, maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH)                                          \
	PROPERTY(T, maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT)                                         \
	PROPERTY(T, maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH)                                             \
	PROPERTY(T, maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)                                            \
	PROPERTY(T, maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH)                                             \
	PROPERTY(T, maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH)                                             \
	PROPERTY(T, maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT)                                            \
	PROPERTY(T, maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH)                                                          \
	PROPERTY(T, maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT)                                                         \
	PROPERTY(T, maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH)                                                          \
	PROPERTY(T, maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE)                                             \
	PROPERTY(T, maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE)                                            \
	PROPERTY(T, maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE)                                             \
	PROPERTY(T, maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH)                                                   \
	PROPERTY(T, maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH)                                           \
	PROPERTY(T, maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS)                                          \
	PROPERTY(T, maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH)                                           \
	PROPERTY(T, maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT)                                          \
	PROPERTY(T, maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS)                                          \
	PROPERTY(T, maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH)                                 \
	PROPERTY(T, maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS)                                \
	PROPERTY(T, maxSurface1D, MAXIMUM_SURFACE1D_WIDTH)                                                             \
	PROPERTY(T, maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH)                                                          \
	PROPERTY(T, maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT)                                                         \
	PROPERTY(T, maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH)                                                          \
	PROPERTY(T, maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT)                                                         \
	PROPERTY(T, maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH)                                                          \
	PROPERTY(T, maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH)                                           \
	PROPERTY(T, maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS)                                          \
	PROPERTY(T, maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH)                                           \
	PROPERTY(T, maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT)                                          \
	PROPERTY(T, maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS)                                          \
	PROPERTY(T, maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH)                                                   \
	PROPERTY(T, maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH)                                 \
	PROPERTY(T, maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS)                                \
	PROPERTY(T, surfaceAlignment, SURFACE_ALIGNMENT)                                                               \
	PROPERTY(T, concurrentKernels, CONCURRENT_KERNELS)                                                             \
	PROPERTY(T, ECCEnabled, ECC_ENABLED)                                                                           \
	PROPERTY(T, pciBusID, PCI_BUS_ID)                                                                              \
	PROPERTY(T, pciDeviceID, PCI_DEVICE_ID)                                                                        \
	PROPERTY(T, pciDomainID, PCI_DOMAIN_ID)                                                                        \
	PROPERTY(T, tccDriver, TCC_DRIVER)                                                                             \
	PROPERTY(T, asyncEngineCount, ASYNC_ENGINE_COUNT)                                                              \
	PROPERTY(T, unifiedAddressing, UNIFIED_ADDRESSING)                                                             \
	PROPERTY(T, memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                                                           \
	PROPERTY(T, l2CacheSize, L2_CACHE_SIZE)                                                                        \
	PROPERTY(T, persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE)                                            \
	PROPERTY(T, maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)                                       \
	PROPERTY(T, streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED)                                            \
	PROPERTY(T, globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED)                                                 \
	PROPERTY(T, localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED)                                                   \
	PROPERTY(T, sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)                                  \
	PROPERTY(T, regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)                                           \
	PROPERTY(T, managedMemory, MANAGED_MEMORY)                                                                     \
	PROPERTY(T, isMultiGpuBoard, MULTI_GPU_BOARD)                                                                  \
	PROPERTY(T, multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID)                                                    \
	PROPERTY(T, hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED)                                           \
	PROPERTY(T, pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS)                                                      \
	PROPERTY(T, concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS)                                                \
	PROPERTY(T, computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED)                                          \
	PROPERTY(T, canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)                        \
	PROPERTY(T, cooperativeLaunch, COOPERATIVE_LAUNCH)                                                             \
	PROPERTY(T, sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                                         \
	PROPERTY(T, pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)              \
	PROPERTY(T, directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST)                               \
	PROPERTY(T, maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)                                         \
	PROPERTY(T, accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE)                                          \
	PROPERTY(T, reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)

/* In those before 13. */
#define PROPERTIES_BEFORE_13(T)                                                                                        \
	PROPERTY(T, clockRate, CLOCK_RATE)                                                                             \
	PROPERTY(T, deviceOverlap, GPU_OVERLAP)                                                                        \
	PROPERTY(T, kernelExecTimeoutEnabled, KERNEL_EXEC_TIMEOUT)                                                     \
	PROPERTY(T, computeMode, COMPUTE_MODE)                                                                         \
	PROPERTY(T, maxTexture1DLinear, MAXIMUM_TEXTURE1D_LINEAR_WIDTH)                                                \
	PROPERTY(T, memoryClockRate, MEMORY_CLOCK_RATE)                                                                \
	PROPERTY(T, singleToDoublePrecisionPerfRatio, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)                           \
	PROPERTY(T, cooperativeMultiDeviceLaunch, COOPERATIVE_MULTI_DEVICE_LAUNCH)

/* In those from 12 on. */
#define PROPERTIES_SINCE_12(T)                                                                                         \
	PROPERTY(T, hostRegisterSupported, HOST_REGISTER_SUPPORTED)                                                    \
	PROPERTY(T, sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED)                                             \
	PROPERTY(T, hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED)                                  \
	PROPERTY(T, timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED)                           \
	PROPERTY(T, memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                                                      \
	PROPERTY(T, gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED)                                                 \
	PROPERTY(T, gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)                             \
	PROPERTY(T, gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING)                                      \
	PROPERTY(T, memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES)                                    \
	PROPERTY(T, deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED)                          \
	PROPERTY(T, ipcEventSupported, IPC_EVENT_SUPPORTED)                                                            \
	PROPERTY(T, clusterLaunch, CLUSTER_LAUNCH)                                                                     \
	PROPERTY(T, unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS)

/* In 13. */
#define PROPERTIES_SINCE_13(T)                                                                                         \
	PROPERTY(T, deviceNumaConfig, NUMA_CONFIG)                                                                     \
	PROPERTY(T, deviceNumaId, NUMA_ID)                                                                             \
	PROPERTY(T, mpsEnabled, MPS_ENABLED)                                                                           \
	PROPERTY(T, hostNumaId, HOST_NUMA_ID)                                                                          \
	PROPERTY(T, gpuPciDeviceID, GPU_PCI_DEVICE_ID)                                                                 \
	PROPERTY(T, gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID)                                                           \
	PROPERTY(T, hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED)

#if DRAGOMAN_CUDART_MAJOR == 13
static const struct property properties_13[] = { PROPERTIES(cudaDeviceProp) PROPERTIES_SINCE_12(cudaDeviceProp)
							 PROPERTIES_SINCE_13(cudaDeviceProp) };
#else
static const struct property properties_11[] = { PROPERTIES(cudaDeviceProp_v11) PROPERTIES_BEFORE_13(cudaDeviceProp_v11) };
#endif
static const struct property properties_12[] = { PROPERTIES(cudaDeviceProp_v12) PROPERTIES_BEFORE_13(cudaDeviceProp_v12)
							 PROPERTIES_SINCE_12(cudaDeviceProp_v12) };

/* The first fields are the same in all layouts: name, uuid, luid, its node mask, the size of memory. */
static cudaError_t properties_fill(struct cudaDeviceProp *head, size_t size, const struct property *properties, size_t count,
				   int device)
{
	int devices = 0;
	cudaError_t error = runtime_initialize();
	if (!error && !head)
		error = cudaErrorInvalidValue;
	if (!error)
		error = (cudaError_t)cuDeviceGetCount(&devices);
	if (error)
		return runtime_result(error);
	if (device < 0 || device >= devices)
		return runtime_fail(cudaErrorInvalidDevice, "there is no device %d, only %d", device, devices);

	char *bytes = (char *)head;
	memset(bytes, 0, size);
	CUresult result = cuDeviceGetName(head->name, sizeof head->name, device);
	if (!result)
		result = cuDeviceGetUuid_v2((CUuuid *)(void *)&head->uuid, device);
	if (!result)
		result = cuDeviceTotalMem_v2(&head->totalGlobalMem, device);
	for (size_t i = 0; i < count && !result; i++) {
		int value = 0;
		result = cuDeviceGetAttribute(&value, properties[i].attribute, device);
		if (properties[i].size == sizeof(size_t))
			*(size_t *)(void *)(bytes + properties[i].offset) = (size_t)value;
		else
			*(int *)(void *)(bytes + properties[i].offset) = value;
	}
	return runtime_result(result);
}

#define FILL(properties, device, table)                                                                                \
	properties_fill((struct cudaDeviceProp *)(void *)(properties), sizeof *(properties), table, ARRAY_LENGTH(table), device)

#if DRAGOMAN_CUDART_MAJOR == 13
cudaError_t impl_cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	return FILL(properties, device, properties_13);
}
#else
cudaError_t impl_cudaGetDeviceProperties(struct cudaDeviceProp_v11 *properties, int device)
{
	return FILL(properties, device, properties_11);
}
#endif

cudaError_t impl_cudaGetDeviceProperties_v2(struct cudaDeviceProp_v12 *properties, int device)
{
	return FILL(properties, device, properties_12);
}

/* ---- the device that is most like a description ---------------------------------------------------------------------------- */

/* The number of fields that the program filled in and that the device satisfies. */
static int properties_score(const char *wanted, const char *has, const struct property *properties, size_t count)
{
	int score = 0;
	for (size_t i = 0; i < count; i++) {
		size_t offset = properties[i].offset;
		uint64_t want = 0, have = 0;
		memcpy(&want, wanted + offset, properties[i].size);
		memcpy(&have, has + offset, properties[i].size);
		score += want != 0 && have >= want;
	}
	return score;
}

cudaError_t impl_cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
	int count = 0, best = -1;
	if (!device || !wanted)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = impl_cudaGetDeviceCount(&count);
	for (int i = 0; i < count && !error; i++) {
#if DRAGOMAN_CUDART_MAJOR == 13
		const struct property *table = properties_13;
		size_t fields = ARRAY_LENGTH(properties_13);
		struct cudaDeviceProp has;
		error = impl_cudaGetDeviceProperties(&has, i);
#else
		const struct property *table = properties_12;
		size_t fields = ARRAY_LENGTH(properties_12);
		struct cudaDeviceProp_v12 has;
		error = impl_cudaGetDeviceProperties_v2(&has, i);
#endif
		int score = error ? 0 : properties_score((const char *)wanted, (const char *)&has, table, fields);
		score += !error && wanted->totalGlobalMem && has.totalGlobalMem >= wanted->totalGlobalMem;
		if (!error && score > best) {
			best = score;
			*device = i;
		}
	}
	return error;
}
