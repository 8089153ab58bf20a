/* Memory and events of other processes. CUDA Runtime API, "Device Management" (IPC). */
#include "runtime.h"

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle), "memory handles differ");
_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle), "event handles differ");

cudaError_t impl_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	return RUNTIME(cuIpcGetEventHandle((CUipcEventHandle *)handle, event));
}

cudaError_t impl_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle driver_handle;
	memcpy(&driver_handle, &handle, sizeof driver_handle);
	return RUNTIME(cuIpcOpenEventHandle(event, driver_handle));
}

cudaError_t impl_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
	return RUNTIME(cuIpcGetMemHandle((CUipcMemHandle *)handle, device_pointer(pointer)));
}

cudaError_t impl_cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned int flags)
{
	CUipcMemHandle driver_handle;
	memcpy(&driver_handle, &handle, sizeof driver_handle);
	return RUNTIME(cuIpcOpenMemHandle_v2((CUdeviceptr *)pointer, driver_handle, flags));
}

cudaError_t impl_cudaIpcCloseMemHandle(void *pointer)
{
	return RUNTIME(cuIpcCloseMemHandle(device_pointer(pointer)));
}
