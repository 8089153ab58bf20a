/* The types that the runtime API's entries and implementations see: the public headers, and what
 * CUDA 11 and 12 had that CUDA 13 removed.
 * CUDA Runtime API reference manual 12.8 and 11.8, "Data types used by CUDA Runtime". */
#ifndef DRAGOMAN_API_CUDART_TYPES_H
#define DRAGOMAN_API_CUDART_TYPES_H

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include "cuda_egl_interop.h"
#include "cuda_gl_interop.h"
#include "cuda_runtime_api.h"
#include "cuda_vdpau_interop.h"

#ifndef DRAGOMAN_CUDART_MAJOR
#define DRAGOMAN_CUDART_MAJOR 13
#endif

/* What cudaGetDeviceProperties() of CUDA 11 fills in; CUDA 12 added to its end. */
#define DRAGOMAN_PROPERTIES_OF_11                                              \
	char name[256];                                                        \
	cudaUUID_t uuid;                                                       \
	char luid[8];                                                          \
	unsigned int luidDeviceNodeMask;                                       \
	size_t totalGlobalMem;                                                 \
	size_t sharedMemPerBlock;                                              \
	int regsPerBlock;                                                      \
	int warpSize;                                                          \
	size_t memPitch;                                                       \
	int maxThreadsPerBlock;                                                \
	int maxThreadsDim[3];                                                  \
	int maxGridSize[3];                                                    \
	int clockRate;                                                         \
	size_t totalConstMem;                                                  \
	int major;                                                             \
	int minor;                                                             \
	size_t textureAlignment;                                               \
	size_t texturePitchAlignment;                                          \
	int deviceOverlap;                                                     \
	int multiProcessorCount;                                               \
	int kernelExecTimeoutEnabled;                                          \
	int integrated;                                                        \
	int canMapHostMemory;                                                  \
	int computeMode;                                                       \
	int maxTexture1D;                                                      \
	int maxTexture1DMipmap;                                                \
	int maxTexture1DLinear;                                                \
	int maxTexture2D[2];                                                   \
	int maxTexture2DMipmap[2];                                             \
	int maxTexture2DLinear[3];                                             \
	int maxTexture2DGather[2];                                             \
	int maxTexture3D[3];                                                   \
	int maxTexture3DAlt[3];                                                \
	int maxTextureCubemap;                                                 \
	int maxTexture1DLayered[2];                                            \
	int maxTexture2DLayered[3];                                            \
	int maxTextureCubemapLayered[2];                                       \
	int maxSurface1D;                                                      \
	int maxSurface2D[2];                                                   \
	int maxSurface3D[3];                                                   \
	int maxSurface1DLayered[2];                                            \
	int maxSurface2DLayered[3];                                            \
	int maxSurfaceCubemap;                                                 \
	int maxSurfaceCubemapLayered[2];                                       \
	size_t surfaceAlignment;                                               \
	int concurrentKernels;                                                 \
	int ECCEnabled;                                                        \
	int pciBusID;                                                          \
	int pciDeviceID;                                                       \
	int pciDomainID;                                                       \
	int tccDriver;                                                         \
	int asyncEngineCount;                                                  \
	int unifiedAddressing;                                                 \
	int memoryClockRate;                                                   \
	int memoryBusWidth;                                                    \
	int l2CacheSize;                                                       \
	int persistingL2CacheMaxSize;                                          \
	int maxThreadsPerMultiProcessor;                                       \
	int streamPrioritiesSupported;                                         \
	int globalL1CacheSupported;                                            \
	int localL1CacheSupported;                                             \
	size_t sharedMemPerMultiprocessor;                                     \
	int regsPerMultiprocessor;                                             \
	int managedMemory;                                                     \
	int isMultiGpuBoard;                                                   \
	int multiGpuBoardGroupID;                                              \
	int hostNativeAtomicSupported;                                         \
	int singleToDoublePrecisionPerfRatio;                                  \
	int pageableMemoryAccess;                                              \
	int concurrentManagedAccess;                                           \
	int computePreemptionSupported;                                        \
	int canUseHostPointerForRegisteredMem;                                 \
	int cooperativeLaunch;                                                 \
	int cooperativeMultiDeviceLaunch;                                      \
	size_t sharedMemPerBlockOptin;                                         \
	int pageableMemoryAccessUsesHostPageTables;                            \
	int directManagedMemAccessFromHost;                                    \
	int maxBlocksPerMultiProcessor;                                        \
	int accessPolicyMaxWindowSize;                                         \
	size_t reservedSharedMemPerBlock;

/* libcudart.so.12 has it under the plain name. */
struct cudaDeviceProp_v11 {
	DRAGOMAN_PROPERTIES_OF_11
};

/* What cudaGetDeviceProperties_v2() of CUDA 12 fills in. */
struct cudaDeviceProp_v12 {
	DRAGOMAN_PROPERTIES_OF_11
	int hostRegisterSupported;
	int sparseCudaArraySupported;
	int hostRegisterReadOnlySupported;
	int timelineSemaphoreInteropSupported;
	int memoryPoolsSupported;
	int gpuDirectRDMASupported;
	unsigned int gpuDirectRDMAFlushWritesOptions;
	int gpuDirectRDMAWritesOrdering;
	unsigned int memoryPoolSupportedHandleTypes;
	int deferredMappingCudaArraySupported;
	int ipcEventSupported;
	int clusterLaunch;
	int unifiedFunctionPointers;
	int reserved[63];
};

/* One launch of cudaLaunchCooperativeKernelMultiDevice(). */
struct cudaLaunchParams {
	void *func;
	dim3 gridDim;
	dim3 blockDim;
	void **args;
	size_t sharedMem;
	cudaStream_t stream;
};

/* External semaphores before CUDA 11.2. */
struct cudaExternalSemaphoreSignalParams_v1 {
	struct {
		struct {
			unsigned long long value;
		} fence;
		union {
			void *fence;
			unsigned long long reserved;
		} nvSciSync;
		struct {
			unsigned long long key;
		} keyedMutex;
	} params;
	unsigned int flags;
};

struct cudaExternalSemaphoreWaitParams_v1 {
	struct {
		struct {
			unsigned long long value;
		} fence;
		union {
			void *fence;
			unsigned long long reserved;
		} nvSciSync;
		struct {
			unsigned long long key;
			unsigned int timeoutMs;
		} keyedMutex;
	} params;
	unsigned int flags;
};

/* Texture and surface references, which CUDA 12 removed. */
struct surfaceReference {
	struct cudaChannelFormatDesc channelDesc;
};

struct textureReference {
	int normalized;
	enum cudaTextureFilterMode filterMode;
	enum cudaTextureAddressMode addressMode[3];
	struct cudaChannelFormatDesc channelDesc;
	int sRGB;
	unsigned int maxAnisotropy;
	enum cudaTextureFilterMode mipmapFilterMode;
	float mipmapLevelBias;
	float minMipmapLevelClamp;
	float maxMipmapLevelClamp;
	int disableTrilinearOptimization;
	int __cudaReserved[14];
};

struct cudaTextureDesc_v2 {
	enum cudaTextureAddressMode addressMode[3];
	enum cudaTextureFilterMode filterMode;
	enum cudaTextureReadMode readMode;
	int sRGB;
	float borderColor[4];
	int normalizedCoords;
	unsigned int maxAnisotropy;
	enum cudaTextureFilterMode mipmapFilterMode;
	float mipmapLevelBias;
	float minMipmapLevelClamp;
	float maxMipmapLevelClamp;
	int disableTrilinearOptimization;
	int seamlessCubemap;
};

/* Formats of the old profiler. */
typedef enum cudaOutputMode {
	cudaKeyValuePair = 0x0,
	cudaCSV = 0x1,
} cudaOutputMode_t;

#endif
