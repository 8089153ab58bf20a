/* The functions of CUDA 3.1 and before, whose device pointers and sizes have 32 bits: those that can be answered without a
 * device pointer. The others are refused by name: nothing is below 4 GiB. CUDA Driver API, "_v2" functions. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"

static unsigned clamp(size_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (unsigned)value;
}

CUresult impl_cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
	size_t all;
	CUresult status = impl_cuDeviceTotalMem_v2(bytes ? &all : NULL, dev);

	if (!status)
		*bytes = clamp(all);
	return status;
}

CUresult impl_cuMemGetInfo(unsigned int *available, unsigned int *total)
{
	size_t a, t;
	CUresult status = impl_cuMemGetInfo_v2(available ? &a : NULL, total ? &t : NULL);

	if (!status) {
		*available = clamp(a);
		*total = clamp(t);
	}
	return status;
}

CUresult impl_cuMemAllocHost(void **pointer, unsigned int size)
{
	return impl_cuMemAllocHost_v2(pointer, size);
}

CUresult impl_cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR_v1 *d)
{
	CUDA_ARRAY_DESCRIPTOR full;

	if (!d)
		return impl_cuArrayCreate_v2(array, NULL);
	full = (CUDA_ARRAY_DESCRIPTOR){d->Width, d->Height, d->Format, d->NumChannels};
	return impl_cuArrayCreate_v2(array, &full);
}

CUresult impl_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *d, CUarray array)
{
	CUDA_ARRAY_DESCRIPTOR full;
	CUresult status = impl_cuArrayGetDescriptor_v2(d ? &full : NULL, array);

	if (!status)
		*d = (CUDA_ARRAY_DESCRIPTOR_v1){clamp(full.Width), clamp(full.Height), full.Format, full.NumChannels};
	return status;
}

CUresult impl_cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d)
{
	CUDA_ARRAY3D_DESCRIPTOR full;

	if (!d)
		return impl_cuArray3DCreate_v2(array, NULL);
	full = (CUDA_ARRAY3D_DESCRIPTOR){d->Width, d->Height, d->Depth, d->Format, d->NumChannels, d->Flags};
	return impl_cuArray3DCreate_v2(array, &full);
}

CUresult impl_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *d, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR full;
	CUresult status = impl_cuArray3DGetDescriptor_v2(d ? &full : NULL, array);

	if (!status)
		*d = (CUDA_ARRAY3D_DESCRIPTOR_v1){clamp(full.Width), clamp(full.Height), clamp(full.Depth), full.Format, full.NumChannels,
						  full.Flags};
	return status;
}

CUresult impl_cuMemcpyHtoA(CUarray to, unsigned int offset, const void *from, unsigned int size)
{
	return impl_cuMemcpyHtoA_v2(to, offset, from, size);
}

CUresult impl_cuMemcpyHtoAAsync(CUarray to, unsigned int offset, const void *from, unsigned int size, CUstream stream)
{
	return impl_cuMemcpyHtoAAsync_v2(to, offset, from, size, stream);
}

CUresult impl_cuMemcpyAtoH(void *to, CUarray from, unsigned int offset, unsigned int size)
{
	return impl_cuMemcpyAtoH_v2(to, from, offset, size);
}

CUresult impl_cuMemcpyAtoHAsync(void *to, CUarray from, unsigned int offset, unsigned int size, CUstream stream)
{
	return impl_cuMemcpyAtoHAsync_v2(to, from, offset, size, stream);
}

CUresult impl_cuMemcpyAtoA(CUarray to, unsigned int to_offset, CUarray from, unsigned int from_offset, unsigned int size)
{
	return impl_cuMemcpyAtoA_v2(to, to_offset, from, from_offset, size);
}
