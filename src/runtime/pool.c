/* Stream-ordered memory and its pools. CUDA Runtime API, "Stream Ordered Memory Allocator". The structures are the
 * driver's under other names. */
#include "runtime.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "pool properties differ");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "access descriptions differ");
_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData), "exported pointers differ");

static cudaError_t allocate_async(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
	CUdeviceptr address = 0;
	CUresult result = CUDA_SUCCESS;
	RUNTIME_REQUIRE();
	if (!pointer)
		return runtime_result(cudaErrorInvalidValue);
	if (size && pool)
		result = cuMemAllocFromPoolAsync(&address, size, pool, stream);
	else if (size)
		result = cuMemAllocAsync(&address, size, stream);
	if (!result)
		*pointer = host_pointer(address);
	return runtime_result(result);
}

cudaError_t impl_cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream)
{
	return allocate_async(pointer, size, NULL, stream);
}

cudaError_t impl_cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
	if (!pool)
		return runtime_result(cudaErrorInvalidValue);
	return allocate_async(pointer, size, pool, stream);
}

cudaError_t impl_cudaFreeAsync(void *pointer, cudaStream_t stream)
{
	return RUNTIME(pointer ? cuMemFreeAsync(device_pointer(pointer), stream) : CUDA_SUCCESS);
}

cudaError_t impl_cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
	return RUNTIME(cuMemPoolCreate(pool, (const CUmemPoolProps *)properties));
}

cudaError_t impl_cudaMemPoolDestroy(cudaMemPool_t pool)
{
	return RUNTIME(cuMemPoolDestroy(pool));
}

cudaError_t impl_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
	return RUNTIME(cuMemPoolTrimTo(pool, keep));
}

cudaError_t impl_cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	return RUNTIME(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t impl_cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	return RUNTIME(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t impl_cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *descriptions, size_t count)
{
	return RUNTIME(cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)descriptions, count));
}

cudaError_t impl_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *location)
{
	return RUNTIME(cuMemPoolGetAccess((CUmemAccess_flags *)flags, pool, (CUmemLocation *)location));
}

cudaError_t impl_cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	return RUNTIME(cuDeviceGetDefaultMemPool(pool, device));
}

cudaError_t impl_cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	return RUNTIME(cuDeviceGetMemPool(pool, device));
}

cudaError_t impl_cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	return RUNTIME(cuDeviceSetMemPool(device, pool));
}

cudaError_t impl_cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
					  enum cudaMemAllocationType type)
{
	return RUNTIME(cuMemGetDefaultMemPool(pool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t impl_cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
	return RUNTIME(cuMemGetMemPool(pool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t impl_cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type, cudaMemPool_t pool)
{
	return RUNTIME(cuMemSetMemPool((CUmemLocation *)location, (CUmemAllocationType)type, pool));
}

/* ---- pools of other processes ------------------------------------------------------------------------------------------------ */

cudaError_t impl_cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type,
						    unsigned int flags)
{
	return RUNTIME(cuMemPoolExportToShareableHandle(handle, pool, (CUmemAllocationHandleType)type, flags));
}

cudaError_t impl_cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle, enum cudaMemAllocationHandleType type,
						      unsigned int flags)
{
	return RUNTIME(cuMemPoolImportFromShareableHandle(pool, handle, (CUmemAllocationHandleType)type, flags));
}

cudaError_t impl_cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *pointer)
{
	return RUNTIME(cuMemPoolExportPointer((CUmemPoolPtrExportData *)data, device_pointer(pointer)));
}

cudaError_t impl_cudaMemPoolImportPointer(void **pointer, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data)
{
	return RUNTIME(cuMemPoolImportPointer((CUdeviceptr *)pointer, pool, (CUmemPoolPtrExportData *)data));
}
