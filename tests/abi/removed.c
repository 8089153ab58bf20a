/* The types that CUDA 13 removed, against the sizes and offsets that NVIDIA's headers of CUDA 12.8
 * and 11.8 give on 64-bit Linux (measured there; those headers are not at hand where tests run). */
#include <stddef.h>

#include "api/cudart_types.h"

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#define AT(type, member, bytes) _Static_assert(offsetof(type, member) == (bytes), #type "." #member)

/* What both releases have in the same places. */
#define PROPERTIES(type)                                                                           \
	AT(type, uuid, 256);                                                                       \
	AT(type, totalGlobalMem, 288);                                                             \
	AT(type, clockRate, 348);                                                                  \
	AT(type, totalConstMem, 352);                                                              \
	AT(type, multiProcessorCount, 388);                                                        \
	AT(type, computeMode, 404);                                                                \
	AT(type, maxTexture1D, 408);                                                               \
	AT(type, pciBusID, 584);                                                                   \
	AT(type, maxThreadsPerMultiProcessor, 624);                                                \
	AT(type, sharedMemPerMultiprocessor, 640);                                                 \
	AT(type, cooperativeLaunch, 688);                                                          \
	AT(type, sharedMemPerBlockOptin, 696);                                                     \
	AT(type, reservedSharedMemPerBlock, 720)

PROPERTIES(struct cudaDeviceProp_v11);
SIZE(struct cudaDeviceProp_v11, 728);
PROPERTIES(struct cudaDeviceProp_v12);
AT(struct cudaDeviceProp_v12, memoryPoolsSupported, 744);
AT(struct cudaDeviceProp_v12, unifiedFunctionPointers, 776);
SIZE(struct cudaDeviceProp_v12, 1032);
SIZE(struct cudaLaunchParams, 56);
SIZE(struct cudaExternalSemaphoreSignalParams_v1, 32);
SIZE(struct cudaExternalSemaphoreWaitParams_v1, 40);
SIZE(struct textureReference, 124);
SIZE(struct surfaceReference, 20);
SIZE(struct cudaTextureDesc_v2, 72);
