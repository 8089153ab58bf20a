/* The functions of CUDA 3.1 and before, by their own names: 32-bit device pointers and sizes. Their memory lies below 4 GiB
 * and works with today's functions too. Expectations: CUDA Driver API reference manual of the functions' _v2 forms. */
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "check.h"

int main(void)
{
	CUcontext context, popped;
	CUdeviceptr_v1 p = 0, q = 0, base = 0;
	CUdeviceptr wide;
	CUarray array;
	CUDA_ARRAY_DESCRIPTOR_v1 shape = {.Width = 8, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1}, got;
	CUDA_MEMCPY2D_v1 rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcPitch = 8, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
				 .WidthInBytes = 8, .Height = 4};
	CUDA_MEMCPY3D_v1 slices = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcPitch = 8, .srcHeight = 2,
				   .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstPitch = 8, .dstHeight = 2, .WidthInBytes = 4, .Height = 2,
				   .Depth = 2};
	unsigned char in[32], out[32];
	unsigned size = 0, pitch = 0, total = 0, available = 0;
	void *host = NULL;

	for (int i = 0; i < 32; i++)
		in[i] = (unsigned char)(i * 3);
	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, 0, 0));
	CHECK_INT(cuMemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemAlloc(NULL, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemAlloc(&p, 64));
	CHECK_OK(cuMemAlloc(&q, 64));
	CHECK(p && q && p != q);
	CHECK_OK(cuMemcpyHtoD(p, in, 32));
	CHECK_OK(cuMemcpyDtoD(q, p, 32));
	CHECK_OK(cuMemcpyDtoH(out, q, 32));
	CHECK(!memcmp(in, out, 32));
	CHECK_OK(cuMemcpyDtoH_v2(out, (CUdeviceptr)q, 32));
	CHECK_INT(cuMemcpyHtoD(p + 60, in, 32), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemGetAddressRange(&base, &size, p + 5));
	CHECK(base == p && size == 64);
	CHECK_OK(cuMemAlloc_v2(&wide, 16));
	CHECK_OK(cuMemFree_v2(wide));
	CHECK_OK(cuArrayCreate(&array, &shape));
	CHECK_OK(cuArrayGetDescriptor(&got, array));
	CHECK(got.Width == 8 && got.Height == 4);
	rows.srcDevice = p;
	rows.dstArray = array;
	CHECK_OK(cuMemcpy2D(&rows));
	CHECK_OK(cuMemcpyAtoH(out, array, 0, 8));
	CHECK(!memcmp(in, out, 8));
	CHECK_OK(cuArrayDestroy(array));
	CHECK_OK(cuMemsetD8(q, 0, 64));
	slices.srcDevice = p;
	slices.dstDevice = q;
	CHECK_OK(cuMemcpy3D(&slices));
	CHECK_OK(cuMemcpyDtoH(out, q, 32));
	for (int i = 0; i < 32; i++)
		CHECK_INT(out[i], i % 8 < 4 ? in[i] : 0);
	CHECK_OK(cuMemsetD32(q, 0x01020304, 2));
	CHECK_OK(cuMemsetD2D16(q + 8, 8, 0x0506, 2, 2));
	CHECK_OK(cuMemcpyDtoH(out, q, 32));
	CHECK(out[0] == 4 && out[3] == 1 && out[8] == 6 && out[11] == 5 && out[16] == 6);
	CHECK_OK(cuMemFree(q));
	CHECK_INT(cuMemFree(q), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemAllocPitch(&q, &pitch, 100, 3, 4));
	CHECK(pitch >= 100);
	CHECK_OK(cuMemFree(q));
	CHECK_OK(cuMemFree(p));
	CHECK_OK(cuMemAllocHost(&host, 64));
	CHECK_OK(cuMemFreeHost(host));
	CHECK_OK(cuMemGetInfo(&available, &total));
	CHECK(available > 0 && total >= available);
	CHECK_OK(cuDeviceTotalMem(&total, 0));
	CHECK(total > 0);
	CHECK_OK(cuCtxPopCurrent(&popped));
	CHECK_OK(cuCtxDestroy(context));
	return check_end();
}
