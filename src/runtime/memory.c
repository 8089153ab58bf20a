/* Allocations. CUDA Runtime API, "Memory Management" and "Unified Addressing". Unlike the driver, the runtime takes
 * allocations of no bytes and frees of null pointers as successes. */
#include "runtime.h"

cudaError_t impl_cudaMalloc(void **pointer, size_t size)
{
	CUdeviceptr address = 0;
	RUNTIME_REQUIRE();
	if (!pointer)
		return runtime_result(cudaErrorInvalidValue);
	CUresult result = size ? cuMemAlloc_v2(&address, size) : CUDA_SUCCESS;
	if (!result)
		*pointer = host_pointer(address);
	return runtime_result(result);
}

cudaError_t impl_cudaFree(void *pointer)
{
	return RUNTIME(pointer ? cuMemFree_v2(device_pointer(pointer)) : CUDA_SUCCESS);
}

static cudaError_t allocate_host(void **pointer, size_t size, unsigned flags)
{
	RUNTIME_REQUIRE();
	if (!pointer)
		return runtime_result(cudaErrorInvalidValue);
	if (!size) {
		*pointer = NULL;
		return cudaSuccess;
	}
	return runtime_result(cuMemHostAlloc(pointer, size, flags));
}

/* All of the runtime's pinned memory is mapped and of use to every device, as with unified addressing it always is. */
cudaError_t impl_cudaMallocHost(void **pointer, size_t size)
{
	return allocate_host(pointer, size, 0);
}

cudaError_t impl_cudaHostAlloc(void **pointer, size_t size, unsigned int flags)
{
	return allocate_host(pointer, size, flags);
}

cudaError_t impl_cudaFreeHost(void *pointer)
{
	return RUNTIME(pointer ? cuMemFreeHost(pointer) : CUDA_SUCCESS);
}

cudaError_t impl_cudaHostRegister(void *pointer, size_t size, unsigned int flags)
{
	return RUNTIME(cuMemHostRegister_v2(pointer, size, flags));
}

cudaError_t impl_cudaHostUnregister(void *pointer)
{
	return RUNTIME(cuMemHostUnregister(pointer));
}

cudaError_t impl_cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
	return RUNTIME(cuMemHostGetDevicePointer_v2((CUdeviceptr *)device, host, flags));
}

cudaError_t impl_cudaHostGetFlags(unsigned int *flags, void *pointer)
{
	return RUNTIME(cuMemHostGetFlags(flags, pointer));
}

cudaError_t impl_cudaMemGetInfo(size_t *free, size_t *total)
{
	return RUNTIME(cuMemGetInfo_v2(free, total));
}

/* Rows begin at multiples that suit any element size of a texture or a coalesced access. */
static cudaError_t allocate_pitched(void **pointer, size_t *pitch, size_t width, size_t rows)
{
	CUdeviceptr address = 0;
	RUNTIME_REQUIRE();
	*pitch = 0;
	CUresult result = width && rows ? cuMemAllocPitch_v2(&address, pitch, width, rows, 4) : CUDA_SUCCESS;
	if (!result)
		*pointer = host_pointer(address);
	return runtime_result(result);
}

cudaError_t impl_cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
	if (!pointer || !pitch)
		return runtime_result(cudaErrorInvalidValue);
	return allocate_pitched(pointer, pitch, width, height);
}

cudaError_t impl_cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
	struct cudaPitchedPtr result = { .xsize = extent.width, .ysize = extent.height };
	size_t rows;
	if (!pitched || __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = allocate_pitched(&result.ptr, &result.pitch, extent.width, rows);
	if (!error)
		*pitched = result;
	return error;
}

/* ---- what an address is ------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
	CUmemorytype type = 0;
	unsigned managed = 0;
	int device = cudaInvalidDeviceId;
	CUdeviceptr on_device = 0;
	void *on_host = NULL;
	CUpointer_attribute asked[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
					CU_POINTER_ATTRIBUTE_HOST_POINTER };
	void *answers[] = { &type, &managed, &device, &on_device, &on_host };

	RUNTIME_REQUIRE();
	if (!attributes)
		return runtime_result(cudaErrorInvalidValue);
	/* The plural form gives no error for memory that CUDA knows nothing of, but zeros. */
	CUresult result = cuPointerGetAttributes(ARRAY_LENGTH(asked), asked, answers, device_pointer(pointer));
	if (result)
		return runtime_result(result);
	struct cudaPointerAttributes found = { .device = device, .devicePointer = host_pointer(on_device),
					       .hostPointer = on_host };
	if (managed)
		found.type = cudaMemoryTypeManaged;
	else if (type == CU_MEMORYTYPE_HOST)
		found.type = cudaMemoryTypeHost;
	else if (type == CU_MEMORYTYPE_DEVICE)
		found.type = cudaMemoryTypeDevice;
	else
		found = (struct cudaPointerAttributes){ .type = cudaMemoryTypeUnregistered, .device = cudaInvalidDeviceId,
							.hostPointer = (void *)(uintptr_t)pointer };
	*attributes = found;
	return cudaSuccess;
}
