/* Copies between devices, copies in batches, and sets. CUDA Runtime API, "Memory Management". */
#include "runtime.h"

_Static_assert(sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes), "batch attributes differ");
_Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP), "batch operations differ");

/* ---- between devices ------------------------------------------------------------------------------------------------------- */

static CUresult peer_contexts(int to, int from, CUcontext contexts[2])
{
	int count = 0;
	CUresult result = cuDeviceGetCount(&count);
	if (!result && (to < 0 || to >= count || from < 0 || from >= count))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (!result)
		result = runtime_primary(to, &contexts[0]);
	return result ? result : runtime_primary(from, &contexts[1]);
}

static cudaError_t copy_peer(void *to, int to_device, const void *from, int from_device, size_t size, cudaStream_t stream,
			     bool wait)
{
	CUcontext contexts[2];
	RUNTIME_REQUIRE();
	CUresult result = peer_contexts(to_device, from_device, contexts);
	if (result || !size)
		return runtime_result(result);
	if (wait)
		return runtime_result(cuMemcpyPeer(device_pointer(to), contexts[0], device_pointer(from), contexts[1], size));
	return runtime_result(cuMemcpyPeerAsync(device_pointer(to), contexts[0], device_pointer(from), contexts[1], size, stream));
}

cudaError_t impl_cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
	return copy_peer(to, to_device, from, from_device, size, NULL, true);
}

cudaError_t impl_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
				     cudaStream_t stream)
{
	return copy_peer(to, to_device, from, from_device, size, stream, false);
}

static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream, bool wait)
{
	CUDA_MEMCPY3D copy;
	CUcontext contexts[2];
	RUNTIME_REQUIRE();
	if (!p)
		return runtime_result(cudaErrorInvalidValue);
	struct cudaMemcpy3DParms parameters = { p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
						p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDeviceToDevice };
	cudaError_t error = copy_to_driver(&parameters, &copy);
	if (!error)
		error = (cudaError_t)peer_contexts(p->dstDevice, p->srcDevice, contexts);
	if (error || !copy.WidthInBytes || !copy.Height || !copy.Depth)
		return runtime_result(error);
	CUDA_MEMCPY3D_PEER peer;
	_Static_assert(sizeof peer == sizeof copy, "the peer form has contexts where the other has reserved fields");
	memcpy(&peer, &copy, sizeof peer);
	peer.dstContext = contexts[0];
	peer.srcContext = contexts[1];
	if (wait && !stream)
		return runtime_result(cuMemcpy3DPeer(&peer));
	CUresult result = cuMemcpy3DPeerAsync(&peer, stream);
	return runtime_result(result || !wait ? result : cuStreamSynchronize(stream));
}

cudaError_t impl_cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *parameters)
{
	return copy_3d_peer(parameters, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *parameters, cudaStream_t stream)
{
	return copy_3d_peer(parameters, stream, false);
}

/* ---- batches ------------------------------------------------------------------------------------------------------------------ */

#if DRAGOMAN_CUDART_MAJOR == 13
cudaError_t impl_cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count,
				      struct cudaMemcpyAttributes *attributes, size_t *attribute_indices, size_t attribute_count,
				      cudaStream_t stream)
{
	return RUNTIME(cuMemcpyBatchAsync_v2((CUdeviceptr *)(uintptr_t)to, (CUdeviceptr *)(uintptr_t)from,
					     (size_t *)(uintptr_t)sizes, count, (CUmemcpyAttributes *)attributes,
					     attribute_indices, attribute_count, stream));
}

cudaError_t impl_cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *operations, unsigned long long flags,
					cudaStream_t stream)
{
	return RUNTIME(cuMemcpy3DBatchAsync_v2(count, (CUDA_MEMCPY3D_BATCH_OP *)operations, flags, stream));
}
#else
cudaError_t impl_cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count,
				      struct cudaMemcpyAttributes *attributes, size_t *attribute_indices, size_t attribute_count,
				      size_t *failed, cudaStream_t stream)
{
	return RUNTIME(cuMemcpyBatchAsync((CUdeviceptr *)to, (CUdeviceptr *)from, sizes, count,
					  (CUmemcpyAttributes *)attributes, attribute_indices, attribute_count, failed, stream));
}

cudaError_t impl_cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *operations, size_t *failed,
					unsigned long long flags, cudaStream_t stream)
{
	return RUNTIME(cuMemcpy3DBatchAsync(count, (CUDA_MEMCPY3D_BATCH_OP *)operations, failed, flags, stream));
}
#endif

/* ---- sets ------------------------------------------------------------------------------------------------------------------------ */

/* Without a stream, a set waits only where its target is host memory, which the driver's own form sees to. */
static cudaError_t set_bytes(void *pointer, int value, size_t count, cudaStream_t stream, bool wait)
{
	RUNTIME_REQUIRE();
	if (!count)
		return cudaSuccess;
	if (wait && !stream)
		return runtime_result(cuMemsetD8_v2(device_pointer(pointer), (unsigned char)value, count));
	return runtime_result(cuMemsetD8Async(device_pointer(pointer), (unsigned char)value, count, stream));
}

cudaError_t impl_cudaMemset(void *pointer, int value, size_t count)
{
	return set_bytes(pointer, value, count, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemsetAsync(void *pointer, int value, size_t count, cudaStream_t stream)
{
	return set_bytes(pointer, value, count, stream, false);
}

static cudaError_t set_rows(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream, bool wait)
{
	CUdeviceptr to = device_pointer(pointer);
	RUNTIME_REQUIRE();
	if (!width || !height)
		return cudaSuccess;
	if (height > 1 && width > pitch)
		return runtime_fail(cudaErrorInvalidValue, "rows of %zu bytes, a pitch of %zu", width, pitch);
	if (wait && !stream)
		return runtime_result(cuMemsetD2D8_v2(to, pitch, (unsigned char)value, width, height));
	return runtime_result(cuMemsetD2D8Async(to, pitch, (unsigned char)value, width, height, stream));
}

cudaError_t impl_cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height)
{
	return set_rows(pointer, pitch, value, width, height, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	return set_rows(pointer, pitch, value, width, height, stream, false);
}

/* Slices lie ysize rows apart; where all of their rows are set they are one run of rows. */
static cudaError_t set_slices(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent, cudaStream_t stream, bool wait)
{
	cudaError_t error = cudaSuccess;
	if (extent.depth > 1 && extent.height > pitched.ysize)
		return runtime_fail(cudaErrorInvalidValue, "%zu rows in slices of %zu", extent.height, pitched.ysize);
	if (extent.height == pitched.ysize || extent.depth == 1)
		return set_rows(pitched.ptr, pitched.pitch, value, extent.width, extent.height * extent.depth, stream, wait);
	for (size_t z = 0; z < extent.depth && !error; z++)
		error = set_rows((char *)pitched.ptr + z * pitched.ysize * pitched.pitch, pitched.pitch, value, extent.width,
				 extent.height, stream, wait);
	return error;
}

cudaError_t impl_cudaMemset3D(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent)
{
	return set_slices(pitched, value, extent, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemset3DAsync(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent, cudaStream_t stream)
{
	return set_slices(pitched, value, extent, stream, false);
}
