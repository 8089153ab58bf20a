/* Memory and events of other processes, external memory and semaphores, and graphics resources. CUDA Runtime API, "Device
 * Management" (IPC), "External Resource Interoperability", "Graphics Interoperability". What the driver refuses, it names. */
#include "runtime.h"

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle), "memory handles differ");
_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle), "event handles differ");
_Static_assert(sizeof(struct cudaExternalMemoryHandleDesc) == sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC), "descriptions differ");
_Static_assert(sizeof(struct cudaExternalMemoryBufferDesc) == sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC), "descriptions differ");
_Static_assert(sizeof(struct cudaExternalSemaphoreHandleDesc) == sizeof(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC),
	       "descriptions differ");
_Static_assert(sizeof(struct cudaExternalSemaphoreSignalParams) == sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS),
	       "parameters differ");
_Static_assert(sizeof(struct cudaExternalSemaphoreWaitParams) == sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS),
	       "parameters differ");

/* ---- processes -------------------------------------------------------------------------------------------------------------- */

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

/* ---- external memory and semaphores -------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaImportExternalMemory(cudaExternalMemory_t *memory, const struct cudaExternalMemoryHandleDesc *desc)
{
	return RUNTIME(cuImportExternalMemory((CUexternalMemory *)memory, (const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *)desc));
}

cudaError_t impl_cudaExternalMemoryGetMappedBuffer(void **pointer, cudaExternalMemory_t memory,
						   const struct cudaExternalMemoryBufferDesc *desc)
{
	return RUNTIME(cuExternalMemoryGetMappedBuffer((CUdeviceptr *)pointer, (CUexternalMemory)memory,
						       (const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *)desc));
}

cudaError_t impl_cudaExternalMemoryGetMappedMipmappedArray(cudaMipmappedArray_t *array, cudaExternalMemory_t memory,
							   const struct cudaExternalMemoryMipmappedArrayDesc *desc)
{
	CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC converted = { 0 };
	RUNTIME_REQUIRE();
	if (!desc)
		return runtime_result(cudaErrorInvalidValue);
	converted.offset = desc->offset;
	converted.numLevels = desc->numLevels;
	converted.arrayDesc = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = desc->extent.width, .Height = desc->extent.height,
							 .Depth = desc->extent.depth, .Flags = desc->flags };
	cudaError_t error = array_format_to_driver(&desc->formatDesc, &converted.arrayDesc.Format,
						   &converted.arrayDesc.NumChannels);
	if (error)
		return runtime_result(error);
	return runtime_result(cuExternalMemoryGetMappedMipmappedArray((CUmipmappedArray *)array, (CUexternalMemory)memory,
								      &converted));
}

cudaError_t impl_cudaDestroyExternalMemory(cudaExternalMemory_t memory)
{
	return RUNTIME(cuDestroyExternalMemory((CUexternalMemory)memory));
}

cudaError_t impl_cudaImportExternalSemaphore(cudaExternalSemaphore_t *semaphore,
					     const struct cudaExternalSemaphoreHandleDesc *desc)
{
	return RUNTIME(cuImportExternalSemaphore((CUexternalSemaphore *)semaphore,
						 (const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *)desc));
}

cudaError_t impl_cudaSignalExternalSemaphoresAsync_v2(const cudaExternalSemaphore_t *semaphores,
						      const struct cudaExternalSemaphoreSignalParams *parameters,
						      unsigned int count, cudaStream_t stream)
{
	return RUNTIME(cuSignalExternalSemaphoresAsync((const CUexternalSemaphore *)semaphores,
						       (const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *)parameters, count,
						       stream));
}

cudaError_t impl_cudaWaitExternalSemaphoresAsync_v2(const cudaExternalSemaphore_t *semaphores,
						    const struct cudaExternalSemaphoreWaitParams *parameters,
						    unsigned int count, cudaStream_t stream)
{
	return RUNTIME(cuWaitExternalSemaphoresAsync((const CUexternalSemaphore *)semaphores,
						     (const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *)parameters, count, stream));
}

#if DRAGOMAN_CUDART_MAJOR == 13
cudaError_t impl_cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t *semaphores,
						   const struct cudaExternalSemaphoreSignalParams *parameters,
						   unsigned int count, cudaStream_t stream)
{
	return impl_cudaSignalExternalSemaphoresAsync_v2(semaphores, parameters, count, stream);
}

cudaError_t impl_cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *semaphores,
						 const struct cudaExternalSemaphoreWaitParams *parameters, unsigned int count,
						 cudaStream_t stream)
{
	return impl_cudaWaitExternalSemaphoresAsync_v2(semaphores, parameters, count, stream);
}
#endif

cudaError_t impl_cudaDestroyExternalSemaphore(cudaExternalSemaphore_t semaphore)
{
	return RUNTIME(cuDestroyExternalSemaphore((CUexternalSemaphore)semaphore));
}

/* ---- graphics resources ----------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource)
{
	return RUNTIME(cuGraphicsUnregisterResource((CUgraphicsResource)resource));
}

cudaError_t impl_cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned int flags)
{
	return RUNTIME(cuGraphicsResourceSetMapFlags_v2((CUgraphicsResource)resource, flags));
}

cudaError_t impl_cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources, cudaStream_t stream)
{
	if (count < 0)
		return runtime_result(cudaErrorInvalidValue);
	return RUNTIME(cuGraphicsMapResources((unsigned)count, (CUgraphicsResource *)resources, stream));
}

cudaError_t impl_cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t *resources, cudaStream_t stream)
{
	if (count < 0)
		return runtime_result(cudaErrorInvalidValue);
	return RUNTIME(cuGraphicsUnmapResources((unsigned)count, (CUgraphicsResource *)resources, stream));
}

cudaError_t impl_cudaGraphicsResourceGetMappedPointer(void **pointer, size_t *size, cudaGraphicsResource_t resource)
{
	return RUNTIME(cuGraphicsResourceGetMappedPointer_v2((CUdeviceptr *)pointer, size, (CUgraphicsResource)resource));
}

cudaError_t impl_cudaGraphicsSubResourceGetMappedArray(cudaArray_t *array, cudaGraphicsResource_t resource, unsigned int index,
						       unsigned int level)
{
	return RUNTIME(cuGraphicsSubResourceGetMappedArray((CUarray *)array, (CUgraphicsResource)resource, index, level));
}

cudaError_t impl_cudaGraphicsResourceGetMappedMipmappedArray(cudaMipmappedArray_t *array, cudaGraphicsResource_t resource)
{
	return RUNTIME(cuGraphicsResourceGetMappedMipmappedArray((CUmipmappedArray *)array, (CUgraphicsResource)resource));
}
