/* The functions of CUDA 3.1 and before, whose device pointers and sizes have 32 bits. Memory that they allocate lies
 * below 4 GiB, so it can be passed to any function; a pointer of today's functions does not fit into theirs. Scripts that look up
 * "cuMemAlloc" by name get these. CUDA Driver API, "_v2" functions. */
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

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static CUresult narrow(uint64_t value, unsigned *out)
{
	if (value > UINT32_MAX)
		return api_error(CUDA_ERROR_INVALID_VALUE, "0x%llx does not fit into 32 bits: use the function's _v2", (unsigned long long)value);
	*out = (unsigned)value;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemAlloc(CUdeviceptr_v1 *pointer, unsigned int size)
{
	void *memory = NULL;
	CUresult status = memory_allocate(size, MEMORY_LOW, 0, pointer ? &memory : NULL);

	return status ? status : narrow((uintptr_t)memory, pointer);
}

CUresult impl_cuMemAllocPitch(CUdeviceptr_v1 *pointer, unsigned int *pitch, unsigned int width, unsigned int height,
			      unsigned int element)
{
	const uint64_t row = align_up(width, 512), size = row * height;
	CUresult status;

	REQUIRE_READY();
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (size > UINT32_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	status = impl_cuMemAlloc(pointer, (unsigned)size);
	if (!status)
		*pitch = (unsigned)row;
	return status;
}

CUresult impl_cuMemFree(CUdeviceptr_v1 pointer)
{
	return impl_cuMemFree_v2(pointer);
}

CUresult impl_cuMemGetAddressRange(CUdeviceptr_v1 *base, unsigned int *size, CUdeviceptr_v1 pointer)
{
	CUdeviceptr start;
	size_t bytes;
	CUresult status = impl_cuMemGetAddressRange_v2(&start, &bytes, pointer);

	if (!status && base)
		status = narrow(start, base);
	if (!status && size)
		status = narrow(bytes, size);
	return status;
}

CUresult impl_cuMemHostGetDevicePointer(CUdeviceptr_v1 *out, void *pointer, unsigned int flags)
{
	CUdeviceptr wide;
	CUresult status = impl_cuMemHostGetDevicePointer_v2(out ? &wide : NULL, pointer, flags);

	return status ? status : narrow(wide, out);
}

CUresult impl_cuModuleGetGlobal(CUdeviceptr_v1 *pointer, unsigned int *size, CUmodule module, const char *name)
{
	CUdeviceptr wide;
	size_t bytes;
	CUresult status = impl_cuModuleGetGlobal_v2(&wide, &bytes, module, name);

	if (!status && size)
		*size = clamp(bytes);
	return status || !pointer ? status : narrow(wide, pointer);
}

/* ---- copies and fills ------------------------------------------------------------------------------------------------ */

CUresult impl_cuMemcpyHtoD(CUdeviceptr_v1 to, const void *from, unsigned int size)
{
	return impl_cuMemcpyHtoD_v2(to, from, size);
}

CUresult impl_cuMemcpyDtoH(void *to, CUdeviceptr_v1 from, unsigned int size)
{
	return impl_cuMemcpyDtoH_v2(to, from, size);
}

CUresult impl_cuMemcpyDtoD(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int size)
{
	return impl_cuMemcpyDtoD_v2(to, from, size);
}

CUresult impl_cuMemcpyDtoA(CUarray to, unsigned int offset, CUdeviceptr_v1 from, unsigned int size)
{
	return impl_cuMemcpyDtoA_v2(to, offset, from, size);
}

CUresult impl_cuMemcpyAtoD(CUdeviceptr_v1 to, CUarray from, unsigned int offset, unsigned int size)
{
	return impl_cuMemcpyAtoD_v2(to, from, offset, size);
}

CUresult impl_cuMemcpyHtoDAsync(CUdeviceptr_v1 to, const void *from, unsigned int size, CUstream stream)
{
	return impl_cuMemcpyHtoDAsync_v2(to, from, size, stream);
}

CUresult impl_cuMemcpyDtoHAsync(void *to, CUdeviceptr_v1 from, unsigned int size, CUstream stream)
{
	return impl_cuMemcpyDtoHAsync_v2(to, from, size, stream);
}

CUresult impl_cuMemcpyDtoDAsync(CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int size, CUstream stream)
{
	return impl_cuMemcpyDtoDAsync_v2(to, from, size, stream);
}

static CUDA_MEMCPY2D widen_2d(const CUDA_MEMCPY2D_v1 *p)
{
	return (CUDA_MEMCPY2D){p->srcXInBytes, p->srcY, p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcPitch,
			       p->dstXInBytes, p->dstY, p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstPitch,
			       p->WidthInBytes, p->Height};
}

CUresult impl_cuMemcpy2D(const CUDA_MEMCPY2D_v1 *p)
{
	CUDA_MEMCPY2D wide;

	if (!p)
		return impl_cuMemcpy2D_v2(NULL);
	wide = widen_2d(p);
	return impl_cuMemcpy2D_v2(&wide);
}

CUresult impl_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1 *p)
{
	return impl_cuMemcpy2D(p);
}

CUresult impl_cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1 *p, CUstream stream)
{
	CUDA_MEMCPY2D wide;

	if (!p)
		return impl_cuMemcpy2DAsync_v2(NULL, stream);
	wide = widen_2d(p);
	return impl_cuMemcpy2DAsync_v2(&wide, stream);
}

static CUDA_MEMCPY3D widen_3d(const CUDA_MEMCPY3D_v1 *p)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcXInBytes, .srcY = p->srcY, .srcZ = p->srcZ, .srcLOD = p->srcLOD, .srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost, .srcDevice = p->srcDevice, .srcArray = p->srcArray, .srcPitch = p->srcPitch,
		.srcHeight = p->srcHeight, .dstXInBytes = p->dstXInBytes, .dstY = p->dstY, .dstZ = p->dstZ, .dstLOD = p->dstLOD,
		.dstMemoryType = p->dstMemoryType, .dstHost = p->dstHost, .dstDevice = p->dstDevice, .dstArray = p->dstArray,
		.dstPitch = p->dstPitch, .dstHeight = p->dstHeight, .WidthInBytes = p->WidthInBytes, .Height = p->Height,
		.Depth = p->Depth,
	};
}

CUresult impl_cuMemcpy3D(const CUDA_MEMCPY3D_v1 *p)
{
	CUDA_MEMCPY3D wide;

	if (!p)
		return impl_cuMemcpy3D_v2(NULL);
	wide = widen_3d(p);
	return impl_cuMemcpy3D_v2(&wide);
}

CUresult impl_cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1 *p, CUstream stream)
{
	CUDA_MEMCPY3D wide;

	if (!p)
		return impl_cuMemcpy3DAsync_v2(NULL, stream);
	wide = widen_3d(p);
	return impl_cuMemcpy3DAsync_v2(&wide, stream);
}

CUresult impl_cuMemsetD8(CUdeviceptr_v1 to, unsigned char value, unsigned int count)
{
	return impl_cuMemsetD8_v2(to, value, count);
}

CUresult impl_cuMemsetD16(CUdeviceptr_v1 to, unsigned short value, unsigned int count)
{
	return impl_cuMemsetD16_v2(to, value, count);
}

CUresult impl_cuMemsetD32(CUdeviceptr_v1 to, unsigned int value, unsigned int count)
{
	return impl_cuMemsetD32_v2(to, value, count);
}

CUresult impl_cuMemsetD2D8(CUdeviceptr_v1 to, unsigned int pitch, unsigned char value, unsigned int width, unsigned int height)
{
	return impl_cuMemsetD2D8_v2(to, pitch, value, width, height);
}

CUresult impl_cuMemsetD2D16(CUdeviceptr_v1 to, unsigned int pitch, unsigned short value, unsigned int width, unsigned int height)
{
	return impl_cuMemsetD2D16_v2(to, pitch, value, width, height);
}

CUresult impl_cuMemsetD2D32(CUdeviceptr_v1 to, unsigned int pitch, unsigned int value, unsigned int width, unsigned int height)
{
	return impl_cuMemsetD2D32_v2(to, pitch, value, width, height);
}

/* ---- texture references ------------------------------------------------------------------------------------------- */

CUresult impl_cuTexRefSetAddress(unsigned int *offset, CUtexref reference, CUdeviceptr_v1 pointer, unsigned int bytes)
{
	size_t before;
	CUresult status = impl_cuTexRefSetAddress_v2(offset ? &before : NULL, reference, pointer, bytes);

	if (!status && offset)
		*offset = (unsigned)before;
	return status;
}

CUresult impl_cuTexRefSetAddress2D(CUtexref reference, const CUDA_ARRAY_DESCRIPTOR_v1 *d, CUdeviceptr_v1 pointer, unsigned int pitch)
{
	CUDA_ARRAY_DESCRIPTOR full;

	if (!d)
		return impl_cuTexRefSetAddress2D_v3(reference, NULL, pointer, pitch);
	full = (CUDA_ARRAY_DESCRIPTOR){d->Width, d->Height, d->Format, d->NumChannels};
	return impl_cuTexRefSetAddress2D_v3(reference, &full, pointer, pitch);
}

CUresult impl_cuTexRefGetAddress(CUdeviceptr_v1 *pointer, CUtexref reference)
{
	CUdeviceptr full;
	CUresult status = impl_cuTexRefGetAddress_v2(pointer ? &full : NULL, reference);

	return status ? status : narrow(full, pointer);
}
