/* Devices and what holds for the whole of one. CUDA Runtime API, "Device Management", "Peer Device Memory Access",
 * "Version Management", "Profiler Control". */
#include "runtime.h"

/* With the driver initialised, but without a context. */
#define DEVICE(call)                                                                                                   \
	do {                                                                                                           \
		cudaError_t error_ = runtime_initialize();                                                             \
		return runtime_result(error_ ? (int)error_ : (int)(call));                                             \
	} while (0)

cudaError_t impl_cudaGetDeviceCount(int *count)
{
	if (!count)
		return runtime_result(cudaErrorInvalidValue);
	*count = 0;
	cudaError_t error = runtime_initialize();
	if (!error)
		error = (cudaError_t)cuDeviceGetCount(count);
	if (!error && *count == 0)
		error = cudaErrorNoDevice;
	return runtime_result(error);
}

/* Attributes have the driver's numbers. */
cudaError_t impl_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	DEVICE(cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device));
}

cudaError_t impl_cudaDeviceGetByPCIBusId(int *device, const char *id)
{
	DEVICE(cuDeviceGetByPCIBusId(device, id));
}

cudaError_t impl_cudaDeviceGetPCIBusId(char *id, int length, int device)
{
	DEVICE(cuDeviceGetPCIBusId(id, length, device));
}

cudaError_t impl_cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct cudaChannelFormatDesc *desc, int device)
{
	CUarray_format format;
	unsigned channels;
	cudaError_t error = desc ? array_format_to_driver(desc, &format, &channels) : cudaErrorInvalidValue;
	if (error)
		return runtime_result(error);
	DEVICE(cuDeviceGetTexture1DLinearMaxWidth(width, format, channels, device));
}

cudaError_t impl_cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities, const enum cudaAtomicOperation *operations,
						     unsigned int count, int device)
{
	DEVICE(cuDeviceGetHostAtomicCapabilities(capabilities, (const CUatomicOperation *)operations, count, device));
}

cudaError_t impl_cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities, const enum cudaAtomicOperation *operations,
						    unsigned int count, int from, int to)
{
	DEVICE(cuDeviceGetP2PAtomicCapabilities(capabilities, (const CUatomicOperation *)operations, count, from, to));
}

cudaError_t impl_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int from, int to)
{
	DEVICE(cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attribute, from, to));
}

cudaError_t impl_cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callback, void *argument,
						     cudaAsyncCallbackHandle_t *handle)
{
	DEVICE(cuDeviceRegisterAsyncNotification(device, (CUasyncCallback)callback, argument,
						 (CUasyncCallbackHandle *)handle));
}

cudaError_t impl_cudaDeviceUnregisterAsyncNotification(int device, cudaAsyncCallbackHandle_t handle)
{
	DEVICE(cuDeviceUnregisterAsyncNotification(device, (CUasyncCallbackHandle)handle));
}

cudaError_t impl_cudaDriverGetVersion(int *version)
{
	return runtime_result(version ? (int)cuDriverGetVersion(version) : (int)cudaErrorInvalidValue);
}

cudaError_t impl_cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return runtime_result(cudaErrorInvalidValue);
	*version = RUNTIME_VERSION;
	return cudaSuccess;
}

/* ---- the current device ----------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaDeviceSynchronize(void)
{
	return RUNTIME(cuCtxSynchronize());
}

cudaError_t impl_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	return RUNTIME(cuCtxSetLimit((CUlimit)limit, value));
}

cudaError_t impl_cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
	return RUNTIME(cuCtxGetLimit(value, (CUlimit)limit));
}

cudaError_t impl_cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
	return RUNTIME(cuCtxSetCacheConfig((CUfunc_cache)config));
}

cudaError_t impl_cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
	return RUNTIME(cuCtxGetCacheConfig((CUfunc_cache *)config));
}

cudaError_t impl_cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
	return RUNTIME(cuCtxSetSharedMemConfig((CUsharedconfig)config));
}

cudaError_t impl_cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config)
{
	return RUNTIME(cuCtxGetSharedMemConfig((CUsharedconfig *)config));
}

cudaError_t impl_cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	return RUNTIME(cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t impl_cudaCtxResetPersistingL2Cache(void)
{
	return RUNTIME(cuCtxResetPersistingL2Cache());
}

cudaError_t impl_cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
						    enum cudaFlushGPUDirectRDMAWritesScope scope)
{
	return RUNTIME(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)target,
						  (CUflushGPUDirectRDMAWritesScope)scope));
}

/* ---- peers -------------------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	DEVICE(cuDeviceCanAccessPeer(can, device, peer));
}

static CUresult peer_context(int peer, CUcontext *context)
{
	int count = 0;
	CUresult result = cuDeviceGetCount(&count);
	if (result)
		return result;
	return peer < 0 || peer >= count ? CUDA_ERROR_INVALID_DEVICE : runtime_primary(peer, context);
}

cudaError_t impl_cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	CUcontext context;
	RUNTIME_REQUIRE();
	if (flags)
		return runtime_result(cudaErrorInvalidValue);
	CUresult result = peer_context(peer, &context);
	return runtime_result(result ? result : cuCtxEnablePeerAccess(context, 0));
}

cudaError_t impl_cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext context;
	RUNTIME_REQUIRE();
	CUresult result = peer_context(peer, &context);
	return runtime_result(result ? result : cuCtxDisablePeerAccess(context));
}

/* ---- profiler control ------------------------------------------------------------------------------------------------------------ */

cudaError_t impl_cudaProfilerStart(void)
{
	return RUNTIME(cuProfilerStart());
}

cudaError_t impl_cudaProfilerStop(void)
{
	return RUNTIME(cuProfilerStop());
}
