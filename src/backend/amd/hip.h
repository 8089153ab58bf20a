/* What the AMD back end calls of HIP (libamdhip64): one row a function, in our own words from HIP's public reference
 * (https://rocm.docs.amd.com/projects/HIP, "HIP runtime API"). Entries are looked up by name in whatever release is installed
 * (5.2 to 7), and every one may be missing: hip.c makes a table of pointers of the rows, and each use asks first. What a test double must
 * offer is the same list.
 *
 * Handles are opaque. Sizes are bytes, times ms, clocks kHz. A result is a hipError_t: an int here, its numbers below. */
#ifndef DRAGOMAN_AMD_HIP_H
#define DRAGOMAN_AMD_HIP_H

#include <stddef.h>
#include <stdint.h>

typedef void *hip_module, *hip_function, *hip_stream, *hip_event;
typedef void *hip_memory; /* apart from addresses */
typedef void hip_host_function(void *argument);
typedef void hip_stream_callback(hip_stream stream, int status, void *argument);

struct hip_ipc_handle { /* hipIpcMemHandle_t */
	uint8_t bytes[64];
};
struct hip_location { /* hipMemLocation */
	int type, id;
};
struct hip_memory_properties { /* hipMemAllocationProp */
	int type, handle_type;
	struct hip_location location;
	void *windows;
	uint8_t compression, rdma;
	uint16_t usage;
};
struct hip_access { /* hipMemAccessDesc */
	struct hip_location location;
	int flags; /* as CUDA's */
};

/* HIP(name, result, (arguments)) */
#define HIP_ENTRIES(HIP) \
	/* The machine and its devices. Ordinals are those that HIP_VISIBLE_DEVICES leaves. */ \
	HIP(hipInit, int, (unsigned flags)) \
	HIP(hipDriverGetVersion, int, (int *version)) \
	HIP(hipRuntimeGetVersion, int, (int *version)) \
	HIP(hipGetDeviceCount, int, (int *count)) \
	HIP(hipSetDevice, int, (int device)) /* of the calling thread */ \
	HIP(hipGetDevice, int, (int *device)) \
	HIP(hipDeviceGetName, int, (char *name, int size, int device)) \
	HIP(hipDeviceGetUuid, int, (uint8_t uuid[16], int device)) \
	HIP(hipDeviceGetAttribute, int, (int *value, int attribute, int device)) \
	HIP(hipDeviceTotalMem, int, (size_t *bytes, int device)) \
	HIP(hipGetDeviceProperties, int, (void *properties, int device)) /* the layout of releases up to 5 */ \
	HIP(hipGetDevicePropertiesR0600, int, (void *properties, int device)) /* of 6 and later */ \
	HIP(hipMemGetInfo, int, (size_t *free_bytes, size_t *total_bytes)) /* of the current device */ \
	HIP(hipDeviceSynchronize, int, (void)) \
	HIP(hipDeviceGetStreamPriorityRange, int, (int *least, int *greatest)) \
	HIP(hipDeviceSetLimit, int, (int limit, size_t value)) \
	HIP(hipDeviceCanAccessPeer, int, (int *can, int device, int peer)) \
	HIP(hipDeviceEnablePeerAccess, int, (int peer, unsigned flags)) /* from the current device */ \
	HIP(hipGetErrorName, const char *, (int error)) \
	HIP(hipGetErrorString, const char *, (int error)) \
	/* Memory */ \
	HIP(hipMalloc, int, (void **pointer, size_t size)) \
	HIP(hipFree, int, (void *pointer)) \
	HIP(hipHostMalloc, int, (void **pointer, size_t size, unsigned flags)) \
	HIP(hipHostFree, int, (void *pointer)) \
	HIP(hipHostRegister, int, (void *pointer, size_t size, unsigned flags)) \
	HIP(hipHostUnregister, int, (void *pointer)) \
	HIP(hipHostGetDevicePointer, int, (void **device_pointer, void *host_pointer, unsigned flags)) \
	HIP(hipMallocManaged, int, (void **pointer, size_t size, unsigned flags)) \
	HIP(hipMemGetAddressRange, int, (void **base, size_t *size, void *pointer)) \
	/* Memory of other processes; flags: HIP_IPC_PEERS */ \
	HIP(hipIpcGetMemHandle, int, (struct hip_ipc_handle *handle, void *pointer)) \
	HIP(hipIpcOpenMemHandle, int, (void **pointer, struct hip_ipc_handle handle, unsigned flags)) \
	HIP(hipIpcCloseMemHandle, int, (void *pointer)) \
	/* Addresses and memory apart. Releases differ in what they take: flags and offsets are 0, memory is mapped as a whole. */ \
	HIP(hipMemGetAllocationGranularity, int, (size_t *size, const struct hip_memory_properties *properties, int option)) \
	HIP(hipMemAddressReserve, int, (void **base, size_t size, size_t alignment, void *hint, unsigned long long flags)) \
	HIP(hipMemAddressFree, int, (void *base, size_t size)) \
	HIP(hipMemCreate, int, (hip_memory *memory, size_t size, const struct hip_memory_properties *properties, unsigned long long flags)) \
	HIP(hipMemRelease, int, (hip_memory memory)) \
	HIP(hipMemMap, int, (void *base, size_t size, size_t offset, hip_memory memory, unsigned long long flags)) \
	HIP(hipMemUnmap, int, (void *base, size_t size)) \
	HIP(hipMemSetAccess, int, (void *base, size_t size, const struct hip_access *access, size_t count)) \
	/* Copies and fills, in a stream; kind: HIP_COPY_DEFAULT, decided by the addresses */ \
	HIP(hipMemcpy, int, (void *to, const void *from, size_t size, int kind)) \
	HIP(hipMemcpyAsync, int, (void *to, const void *from, size_t size, int kind, hip_stream stream)) \
	HIP(hipMemcpy2DAsync, int, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, \
				    int kind, hip_stream stream)) \
	HIP(hipMemsetD8Async, int, (void *to, unsigned char value, size_t count, hip_stream stream)) \
	HIP(hipMemsetD16Async, int, (void *to, unsigned short value, size_t count, hip_stream stream)) \
	HIP(hipMemsetD32Async, int, (void *to, int value, size_t count, hip_stream stream)) \
	HIP(hipMemset2DAsync, int, (void *to, size_t pitch, int value, size_t width, size_t height, hip_stream stream)) \
	/* Streams and events */ \
	HIP(hipStreamCreateWithFlags, int, (hip_stream *stream, unsigned flags)) \
	HIP(hipStreamCreateWithPriority, int, (hip_stream *stream, unsigned flags, int priority)) \
	HIP(hipStreamDestroy, int, (hip_stream stream)) \
	HIP(hipStreamSynchronize, int, (hip_stream stream)) \
	HIP(hipStreamQuery, int, (hip_stream stream)) /* HIP_NOT_READY while there is work */ \
	HIP(hipStreamWaitEvent, int, (hip_stream stream, hip_event event, unsigned flags)) \
	/* Until the word (& mask) is as the flags say: 0 no less than the value, 1 equal, 2 a common bit, 3 a bit that neither has */ \
	HIP(hipStreamWaitValue32, int, (hip_stream stream, void *address, uint32_t value, unsigned flags, uint32_t mask)) \
	HIP(hipStreamWaitValue64, int, (hip_stream stream, void *address, uint64_t value, unsigned flags, uint64_t mask)) \
	HIP(hipStreamAddCallback, int, (hip_stream stream, hip_stream_callback *callback, void *argument, unsigned flags)) \
	HIP(hipLaunchHostFunc, int, (hip_stream stream, hip_host_function *function, void *argument)) \
	HIP(hipEventCreateWithFlags, int, (hip_event *event, unsigned flags)) \
	HIP(hipEventDestroy, int, (hip_event event)) \
	HIP(hipEventRecord, int, (hip_event event, hip_stream stream)) \
	HIP(hipEventQuery, int, (hip_event event)) /* HIP_NOT_READY until it is reached */ \
	HIP(hipEventSynchronize, int, (hip_event event)) \
	HIP(hipEventElapsedTime, int, (float *ms, hip_event start, hip_event stop)) \
	/* Code */ \
	HIP(hipModuleLoadData, int, (hip_module *module, const void *image)) \
	HIP(hipModuleUnload, int, (hip_module module)) \
	HIP(hipModuleGetFunction, int, (hip_function *function, hip_module module, const char *name)) \
	HIP(hipModuleGetGlobal, int, (void **pointer, size_t *size, hip_module module, const char *name)) \
	HIP(hipFuncGetAttribute, int, (int *value, int attribute, hip_function function)) \
	HIP(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, int, (int *blocks, hip_function function, int threads, \
								      size_t dynamic_shared)) \
	/* Grid in blocks, block in threads. `extra`: HIP_LAUNCH_BUFFER, arguments, HIP_LAUNCH_SIZE, address of their size, HIP_LAUNCH_END */ \
	HIP(hipModuleLaunchKernel, int, (hip_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
					 unsigned block_y, unsigned block_z, unsigned dynamic_shared, hip_stream stream, void **arguments, \
					 void **extra)) \
	/* All blocks resident at once, or HIP_COOPERATIVE_TOO_LARGE. Arguments by address only: the kernel has one, its block of bytes */ \
	HIP(hipModuleLaunchCooperativeKernel, int, (hip_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
						    unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared, \
						    hip_stream stream, void **arguments))

/* hipError_t. Most are CUresult's numbers too; error.c has those that are not. */
enum {
	HIP_SUCCESS = 0,
	HIP_INVALID_VALUE = 1,
	HIP_OUT_OF_MEMORY = 2,
	HIP_NOT_INITIALIZED = 3,
	HIP_DEINITIALIZED = 4,
	HIP_INVALID_CONFIGURATION = 9,
	HIP_INVALID_PITCH = 12,
	HIP_INVALID_SYMBOL = 13,
	HIP_INVALID_DEVICE_POINTER = 17,
	HIP_INVALID_COPY_DIRECTION = 21,
	HIP_INSUFFICIENT_DRIVER = 35,
	HIP_MISSING_CONFIGURATION = 52,
	HIP_PRIOR_LAUNCH_FAILURE = 53,
	HIP_INVALID_DEVICE_FUNCTION = 98,
	HIP_NO_DEVICE = 100,
	HIP_INVALID_DEVICE = 101,
	HIP_INVALID_IMAGE = 200,
	HIP_INVALID_CONTEXT = 201,
	HIP_NO_BINARY_FOR_GPU = 209, /* the code object is for another GPU */
	HIP_UNSUPPORTED_LIMIT = 215,
	HIP_PEER_ACCESS_UNSUPPORTED = 217,
	HIP_INVALID_KERNEL_FILE = 218,
	HIP_FILE_NOT_FOUND = 301,
	HIP_SYMBOL_NOT_FOUND = 302,
	HIP_INIT_FAILED = 303,
	HIP_OPERATING_SYSTEM = 304,
	HIP_INVALID_HANDLE = 400,
	HIP_ILLEGAL_STATE = 401,
	HIP_NOT_FOUND = 500,
	HIP_NOT_READY = 600,
	HIP_ILLEGAL_ADDRESS = 700,
	HIP_LAUNCH_OUT_OF_RESOURCES = 701,
	HIP_LAUNCH_TIMEOUT = 702,
	HIP_PEER_ACCESS_ALREADY_ENABLED = 704,
	HIP_ASSERT = 710,
	HIP_HOST_MEMORY_ALREADY_REGISTERED = 712,
	HIP_HOST_MEMORY_NOT_REGISTERED = 713,
	HIP_LAUNCH_FAILURE = 719,
	HIP_COOPERATIVE_TOO_LARGE = 720,
	HIP_NOT_SUPPORTED = 801,
	HIP_UNKNOWN = 999,
	HIP_RUNTIME_MEMORY = 1052, /* a call of ROCr failed */
	HIP_RUNTIME_OTHER = 1053
};

/* hipDeviceAttribute_t: the same numbers from 5.2 to 7. */
enum {
	HIP_ASYNC_ENGINES = 2,
	HIP_CLOCK_KHZ = 5,
	HIP_CONCURRENT_MANAGED = 9,
	HIP_COOPERATIVE = 10,
	HIP_INTEGRATED = 16,
	HIP_L2_BYTES = 19,
	HIP_MANAGED = 24,
	HIP_THREADS_PER_BLOCK = 56,
	HIP_THREADS_PER_MULTIPROCESSOR = 57,
	HIP_MEMORY_BUS_WIDTH = 59,
	HIP_MEMORY_CLOCK_KHZ = 60,
	HIP_MULTIPROCESSORS = 63, /* RDNA: of two compute units each where the runtime is set so */
	HIP_PAGEABLE_ACCESS = 65,
	HIP_PCI_BUS = 67,
	HIP_PCI_DEVICE = 68,
	HIP_PCI_DOMAIN = 69,
	HIP_REGISTERS_PER_BLOCK = 71,
	HIP_SHARED_PER_BLOCK = 74,
	HIP_WARP_SIZE = 87,
	HIP_SHARED_PER_MULTIPROCESSOR = 10002,
	HIP_LARGE_BAR = 10011, /* the host reaches device memory */
	HIP_FINE_GRAIN = 10016,
	HIP_WALL_CLOCK_KHZ = 10017 /* of s_memrealtime; 5.4 and later */
};

/* hipFunction_attribute */
enum { HIP_FUNCTION_THREADS_PER_BLOCK = 0, HIP_FUNCTION_SHARED_BYTES = 1, HIP_FUNCTION_LOCAL_BYTES = 3, HIP_FUNCTION_REGISTERS = 4 };

/* hipDeviceProp_t is read for one thing that no attribute tells: the architecture's name ("gfx90a:sramecc+:xnack-"), 256 bytes at … */
enum {
	HIP_PROPERTIES_ROOM = 4096, /* more than any release writes */
	HIP_ARCHITECTURE_AT = 396, /* hipGetDeviceProperties */
	HIP_ARCHITECTURE_AT_R0600 = 1160, /* hipGetDevicePropertiesR0600 */
	HIP_ARCHITECTURE_SIZE = 256
};

enum { HIP_COPY_DEFAULT = 4 }; /* hipMemcpyKind */
enum { HIP_STREAM_NON_BLOCKING = 1 }; /* no implicit order with the null stream */
enum { HIP_EVENT_BLOCKING = 1, HIP_EVENT_NO_TIMING = 2 };
enum { HIP_HOST_PORTABLE = 1, HIP_HOST_MAPPED = 2, HIP_HOST_WRITE_COMBINED = 4 };
#define HIP_HOST_COHERENT 0x40000000u /* fine-grained: device and host see each other's stores while a kernel runs */
enum { HIP_IPC_PEERS = 1 }; /* hipIpcMemLazyEnablePeerAccess: the one value there is */
enum { HIP_PINNED = 1, HIP_LOCATION_DEVICE = 1, HIP_GRANULARITY_LEAST = 0 };
enum { HIP_ATTACH_GLOBAL = 1 }; /* of hipMallocManaged */
enum { HIP_LIMIT_STACK = 0, HIP_LIMIT_HEAP = 2 };

#define HIP_LAUNCH_BUFFER ((void *)1)
#define HIP_LAUNCH_SIZE ((void *)2)
#define HIP_LAUNCH_END ((void *)3)

#define HIP_FIELD(name, result, arguments) result(*name) arguments;
struct hip {
	HIP_ENTRIES(HIP_FIELD)
};
#undef HIP_FIELD

#endif
