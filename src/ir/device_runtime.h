/* The functions of the device runtime (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"; their prototypes are in NVIDIA's
 * cuda_device_runtime_api.h). NVIDIA's library for them is linked into programs as machine code, sometimes as PTX: either way calls of
 * them go to the back end, as system calls do. What the library itself calls (cnp…, __cuda_syscall_cnpv2…) is behind them: no
 * compiler emits such calls into a program, and a kernel that has one is refused by its name. */
#ifndef DRAGOMAN_DEVICE_RUNTIME_H
#define DRAGOMAN_DEVICE_RUNTIME_H

#define DEVICE_CALLS(X)                                                                                                \
	X(DeviceGetAttribute) X(DeviceGetLimit) X(DeviceGetCacheConfig) X(DeviceGetSharedMemConfig) X(GetLastError)      \
	X(PeekAtLastError) X(GetErrorString) X(GetErrorName) X(GetDeviceCount) X(GetDevice) X(StreamCreateWithFlags)     \
	X(StreamDestroy) X(StreamWaitEvent) X(EventCreateWithFlags) X(EventRecord) X(EventRecordWithFlags) X(EventDestroy) \
	X(FuncGetAttributes) X(Free) X(Malloc) X(MemcpyAsync) X(Memcpy2DAsync) X(Memcpy3DAsync) X(MemsetAsync)           \
	X(Memset2DAsync) X(Memset3DAsync) X(RuntimeGetVersion) X(GetParameterBuffer) X(GetParameterBufferV2)             \
	X(LaunchDevice) X(LaunchDeviceV2) X(OccupancyMaxActiveBlocksPerMultiprocessor)                                   \
	X(OccupancyMaxActiveBlocksPerMultiprocessorWithFlags) X(DeviceSynchronize)

enum device_call {
#define X(name) DEVICE_CALL_##name,
	DEVICE_CALLS(X)
#undef X
	DEVICE_CALL_COUNT
};

/* The call that a function of that name is; -1: none. Version 1 of dynamic parallelism (CUDA 11 and before, and on request in 12) calls
 * cudaLaunchDevice() what version 2 calls __cudaCDP2LaunchDevice(), and has cudaDeviceSynchronize(). */
int ir_device_call(const char *name);

#endif
