/* Managed memory: allocation, advice, prefetching. CUDA Runtime API, "Memory Management". */
#include "runtime.h"

_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "locations differ");

static CUmemLocation location_to_driver(struct cudaMemLocation location)
{
	return (CUmemLocation){ (CUmemLocationType)location.type, location.id };
}

cudaError_t impl_cudaMallocManaged(void **pointer, size_t size, unsigned int flags)
{
	CUdeviceptr address;
	RUNTIME_REQUIRE();
	if (!pointer)
		return runtime_result(cudaErrorInvalidValue);
	CUresult result = cuMemAllocManaged(&address, size, flags);
	if (!result)
		*pointer = host_pointer(address);
	return runtime_result(result);
}

cudaError_t impl_cudaMemPrefetchAsync_v2(const void *pointer, size_t count, struct cudaMemLocation location, unsigned int flags,
					 cudaStream_t stream)
{
	return RUNTIME(cuMemPrefetchAsync_v2(device_pointer(pointer), count, location_to_driver(location), flags, stream));
}

cudaError_t impl_cudaMemAdvise_v2(const void *pointer, size_t count, enum cudaMemoryAdvise advice,
				  struct cudaMemLocation location)
{
	return RUNTIME(cuMemAdvise_v2(device_pointer(pointer), count, (CUmem_advise)advice, location_to_driver(location)));
}

#if DRAGOMAN_CUDART_MAJOR == 13
cudaError_t impl_cudaMemPrefetchAsync(const void *pointer, size_t count, struct cudaMemLocation location, unsigned int flags,
				      cudaStream_t stream)
{
	return impl_cudaMemPrefetchAsync_v2(pointer, count, location, flags, stream);
}

cudaError_t impl_cudaMemAdvise(const void *pointer, size_t count, enum cudaMemoryAdvise advice, struct cudaMemLocation location)
{
	return impl_cudaMemAdvise_v2(pointer, count, advice, location);
}
#endif

cudaError_t impl_cudaMemPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations,
					   size_t *location_indices, size_t location_count, unsigned long long flags,
					   cudaStream_t stream)
{
	return RUNTIME(cuMemPrefetchBatchAsync((CUdeviceptr *)pointers, sizes, count, (CUmemLocation *)locations,
					       location_indices, location_count, flags, stream));
}

cudaError_t impl_cudaMemDiscardBatchAsync(void **pointers, size_t *sizes, size_t count, unsigned long long flags,
					  cudaStream_t stream)
{
	return RUNTIME(cuMemDiscardBatchAsync((CUdeviceptr *)pointers, sizes, count, flags, stream));
}

cudaError_t impl_cudaMemDiscardAndPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count,
						     struct cudaMemLocation *locations, size_t *location_indices,
						     size_t location_count, unsigned long long flags, cudaStream_t stream)
{
	return RUNTIME(cuMemDiscardAndPrefetchBatchAsync((CUdeviceptr *)pointers, sizes, count, (CUmemLocation *)locations,
							 location_indices, location_count, flags, stream));
}

cudaError_t impl_cudaMemRangeGetAttribute(void *data, size_t size, enum cudaMemRangeAttribute attribute, const void *pointer,
					  size_t count)
{
	return RUNTIME(cuMemRangeGetAttribute(data, size, (CUmem_range_attribute)attribute, device_pointer(pointer), count));
}

cudaError_t impl_cudaMemRangeGetAttributes(void **data, size_t *sizes, enum cudaMemRangeAttribute *attributes, size_t n,
					   const void *pointer, size_t count)
{
	return RUNTIME(cuMemRangeGetAttributes(data, sizes, (CUmem_range_attribute *)attributes, n, device_pointer(pointer),
					       count));
}
