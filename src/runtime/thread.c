/* The calling thread as the runtime sees it: which device it uses, the context that stands for it, and the last error.
 * CUDA Runtime API, "Error Handling" and "Interactions with the CUDA Driver API": the runtime uses the context that is
 * current, whoever made it so, and else makes its device's primary context current. */
#include "runtime.h"

#include <stdio.h>

_Thread_local struct runtime_thread runtime_thread STATIC_TLS;

enum { MAX_DEVICES = 64 };

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[MAX_DEVICES]; /* retained by us */
/* Grows with each cudaDeviceReset(): contexts that threads hold current may be gone. */
static _Atomic unsigned runtime_epoch = 1;

cudaError_t runtime_result(int result)
{
	if (result != cudaSuccess)
		runtime_thread.last_error = (cudaError_t)result;
	return (cudaError_t)result;
}

cudaError_t runtime_fail(cudaError_t error, const char *format, ...)
{
	char message[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	api_error(error, "%s", message);
	return runtime_result(error);
}

cudaError_t runtime_initialize(void)
{
	return (cudaError_t)cuInit(0);
}

CUresult runtime_primary(int device, CUcontext *context)
{
	if (device < 0 || device >= MAX_DEVICES)
		return CUDA_ERROR_INVALID_DEVICE;
	CUresult result = CUDA_SUCCESS;
	pthread_mutex_lock(&primary_lock);
	if (!primaries[device])
		result = cuDevicePrimaryCtxRetain(&primaries[device], device);
	*context = primaries[device];
	pthread_mutex_unlock(&primary_lock);
	return result;
}

static CUresult runtime_attach(unsigned epoch)
{
	CUcontext context;
	CUresult result = (CUresult)runtime_initialize();
	if (!result)
		result = runtime_primary(runtime_thread.device, &context);
	if (!result)
		result = cuCtxSetCurrent(context);
	if (!result)
		runtime_thread.epoch = epoch;
	return result;
}

bool runtime_enter(void)
{
	CUcontext context = NULL;
	unsigned version, epoch = atomic_load_explicit(&runtime_epoch, memory_order_acquire);
	CUresult result = cuCtxGetCurrent(&context);
	if (!result && context) {
		if (runtime_thread.epoch == epoch)
			return true;
		if (!cuCtxGetApiVersion(context, &version)) { /* it outlived the reset, or is the program's own */
			runtime_thread.epoch = epoch;
			return true;
		}
	}
	runtime_thread.entry = (cudaError_t)runtime_attach(epoch);
	return runtime_thread.entry == cudaSuccess;
}

int runtime_device(void)
{
	CUdevice device;
	CUcontext context = NULL;
	if (!cuCtxGetCurrent(&context) && context && !cuCtxGetDevice(&device))
		return device;
	return runtime_thread.device;
}

/* ---- the last error -------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaGetLastError(void)
{
	cudaError_t error = runtime_thread.last_error;
	runtime_thread.last_error = cudaSuccess;
	return error;
}

cudaError_t impl_cudaPeekAtLastError(void)
{
	return runtime_thread.last_error;
}

/* ---- the current device ------------------------------------------------------------------------------------------------ */

static cudaError_t device_select(int device)
{
	CUcontext context;
	int count = 0;
	cudaError_t error = runtime_initialize();
	if (!error)
		error = (cudaError_t)cuDeviceGetCount(&count);
	if (error)
		return runtime_result(error);
	if (device < 0 || device >= count)
		return runtime_fail(cudaErrorInvalidDevice, "there is no device %d, only %d", device, count);
	CUresult result = runtime_primary(device, &context);
	if (!result)
		result = cuCtxSetCurrent(context);
	if (!result) {
		runtime_thread.device = device;
		runtime_thread.epoch = atomic_load(&runtime_epoch);
	}
	return runtime_result(result);
}

cudaError_t impl_cudaSetDevice(int device)
{
	return device_select(device);
}

cudaError_t impl_cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
	if (flags & ~cudaInitDeviceFlagsAreValid)
		return runtime_result(cudaErrorInvalidValue);
	CUcontext context;
	cudaError_t error = runtime_initialize();
	if (!error && flags)
		error = (cudaError_t)cuDevicePrimaryCtxSetFlags_v2(device, device_flags);
	if (!error)
		error = (cudaError_t)runtime_primary(device, &context);
	return runtime_result(error);
}

cudaError_t impl_cudaGetDevice(int *device)
{
	if (!device)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = runtime_initialize();
	if (error)
		return runtime_result(error);
	*device = runtime_device();
	return cudaSuccess;
}

cudaError_t impl_cudaSetValidDevices(int *devices, int length)
{
	int count = 0;
	cudaError_t error = runtime_initialize();
	if (!error)
		error = (cudaError_t)cuDeviceGetCount(&count);
	if (error)
		return runtime_result(error);
	if (length < 0 || (length > 0 && !devices))
		return runtime_result(cudaErrorInvalidValue);
	for (int i = 0; i < length; i++)
		if (devices[i] < 0 || devices[i] >= count)
			return runtime_fail(cudaErrorInvalidDevice, "there is no device %d", devices[i]);
	/* Until a thread chooses, the first of the list is its device. A list only orders: all devices stay valid. */
	CUcontext context = NULL;
	if (length > 0 && !cuCtxGetCurrent(&context) && !context)
		runtime_thread.device = devices[0];
	return cudaSuccess;
}

/* The flags that cuDevicePrimaryCtxSetFlags() takes; mapping host memory is always possible. */
enum { PRIMARY_FLAGS = cudaDeviceMask & ~cudaDeviceMapHost };

cudaError_t impl_cudaSetDeviceFlags(unsigned int flags)
{
	if (flags & ~(unsigned)cudaDeviceMask)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = runtime_initialize();
	if (!error)
		error = (cudaError_t)cuDevicePrimaryCtxSetFlags_v2(runtime_device(), flags & PRIMARY_FLAGS);
	return runtime_result(error);
}

cudaError_t impl_cudaGetDeviceFlags(unsigned int *flags)
{
	if (!flags)
		return runtime_result(cudaErrorInvalidValue);
	int active;
	CUcontext context = NULL;
	cudaError_t error = runtime_initialize();
	if (error)
		return runtime_result(error);
	if (!cuCtxGetCurrent(&context) && context)
		error = (cudaError_t)cuCtxGetFlags(flags);
	else
		error = (cudaError_t)cuDevicePrimaryCtxGetState(runtime_thread.device, flags, &active);
	if (!error)
		*flags |= cudaDeviceMapHost;
	return runtime_result(error);
}

cudaError_t impl_cudaDeviceReset(void)
{
	cudaError_t error = runtime_initialize();
	if (error)
		return runtime_result(error);
	int device = runtime_device();
	CUresult result = CUDA_SUCCESS;
	pthread_mutex_lock(&primary_lock);
	if (device < MAX_DEVICES && primaries[device]) {
		result = cuDevicePrimaryCtxReset_v2(device);
		cuDevicePrimaryCtxRelease_v2(device);
		primaries[device] = NULL;
		atomic_fetch_add(&runtime_epoch, 1);
	} else {
		result = cuDevicePrimaryCtxReset_v2(device);
	}
	pthread_mutex_unlock(&primary_lock);
	cuCtxSetCurrent(NULL);
	runtime_thread.device = device;
	runtime_thread.epoch = 0;
	return runtime_result(result);
}
