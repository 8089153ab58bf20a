/* Copies of every shape: rows, slices, arrays, peers, batches; arrays and mipmapped arrays. Expectations: CUDA Driver API
 * reference manual, cuMemcpy*, cuArray*, cuMipmappedArray*. */
#define _GNU_SOURCE
#include <cuda.h>

#include "check.h"

static CUcontext context;

/* A 5×4 piece at (3,2) of a 32×10 host picture goes to (1,1) of a pitched one and comes back at (0,0). */
static void test_rows(void)
{
	unsigned char picture[10][32], back[4][7];
	CUdeviceptr p;
	size_t pitch;
	CUDA_MEMCPY2D copy;

	for (int y = 0; y < 10; y++)
		for (int x = 0; x < 32; x++)
			picture[y][x] = (unsigned char)(y * 32 + x);
	memset(back, 0xEE, sizeof back);
	CHECK_OK(cuMemAllocPitch(&p, &pitch, 16, 8, 4));
	CHECK_OK(cuMemsetD2D8(p, pitch, 0, 16, 8));
	copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = picture, .srcPitch = 32, .srcXInBytes = 3, .srcY = 2,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = p, .dstPitch = pitch, .dstXInBytes = 1, .dstY = 1,
			       .WidthInBytes = 5, .Height = 4};
	CHECK_OK(cuMemcpy2D(&copy));
	copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = p, .srcPitch = pitch, .srcXInBytes = 1, .srcY = 1,
			       .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = 7, .WidthInBytes = 5, .Height = 4};
	CHECK_OK(cuMemcpy2DUnaligned(&copy));
	for (int y = 0; y < 4; y++)
		for (int x = 0; x < 7; x++)
			CHECK_INT(back[y][x], x < 5 ? (y + 2) * 32 + x + 3 : 0xEE);
	copy.dstPitch = 4; /* narrower than the rows */
	CHECK_INT(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
	copy.Height = 1; /* a pitch means nothing for one row */
	CHECK_OK(cuMemcpy2D(&copy));
	copy.Height = 100;
	copy.dstPitch = 7;
	CHECK_INT(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE); /* past the end of device memory */
	copy.srcMemoryType = (CUmemorytype)9;
	CHECK_INT(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpy2D(NULL), CUDA_ERROR_INVALID_VALUE);
	copy.WidthInBytes = 0;
	CHECK_OK(cuMemcpy2D(&copy));
	CHECK_OK(cuMemFree(p));
}

static void test_slices(void)
{
	int cube[4][4][4], back[4][4][4];
	CUdeviceptr p;
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = cube, .srcPitch = 16, .srcHeight = 4,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstPitch = 64, .dstHeight = 5, .WidthInBytes = 16, .Height = 4,
			      .Depth = 4};

	for (int i = 0; i < 64; i++)
		((int *)cube)[i] = i;
	memset(back, 0xFF, sizeof back);
	CHECK_OK(cuMemAlloc(&p, 64 * 5 * 4));
	copy.dstDevice = p;
	CHECK_OK(cuMemcpy3D(&copy));
	copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = p, .srcPitch = 64, .srcHeight = 5, .srcXInBytes = 12,
			       .srcY = 1, .srcZ = 1, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = 16, .dstHeight = 4,
			       .dstZ = 2, .WidthInBytes = 4, .Height = 3, .Depth = 2};
	CHECK_OK(cuMemcpy3D(&copy));
	for (int z = 0; z < 4; z++)
		for (int y = 0; y < 4; y++)
			for (int x = 0; x < 4; x++)
				CHECK_INT(back[z][y][x], z >= 2 && y < 3 && !x ? (z - 1) * 16 + (y + 1) * 4 + 3 : -1);
	copy.srcHeight = 2; /* fewer rows than are copied from */
	CHECK_INT(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree(p));
}

static void test_arrays(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {.Width = 20, .Height = 6, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2}, got;
	CUDA_ARRAY3D_DESCRIPTOR deep = {.Width = 8, .Height = 4, .Depth = 3, .Format = CU_AD_FORMAT_UNSIGNED_INT16, .NumChannels = 4},
				layers = {.Width = 16, .Height = 16, .Depth = 5, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1,
					  .Flags = CUDA_ARRAY3D_LAYERED}, got3;
	float in[6][40], out[6][40];
	CUarray array, other, level;
	CUmipmappedArray mipmap;
	CUDA_MEMCPY2D copy;
	CUdeviceptr p;

	CHECK_OK(cuArrayCreate(&array, &flat));
	CHECK_OK(cuArrayCreate(&other, &flat));
	CHECK_OK(cuArrayGetDescriptor(&got, array));
	CHECK(!memcmp(&got, &flat, sizeof flat));
	for (int i = 0; i < 240; i++)
		((float *)in)[i] = (float)i;
	copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 160, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			       .dstArray = array, .WidthInBytes = 160, .Height = 6};
	CHECK_OK(cuMemcpy2D(&copy));
	copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			       .dstArray = other, .WidthInBytes = 160, .Height = 6};
	CHECK_OK(cuMemcpy2D(&copy));
	copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = other, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out,
			       .dstPitch = 160, .WidthInBytes = 160, .Height = 6};
	CHECK_OK(cuMemcpy2D(&copy));
	CHECK(!memcmp(in, out, sizeof in));
	copy.Height = 7; /* more rows than the array has */
	CHECK_INT(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
	copy.Height = 1;
	copy.srcXInBytes = 8;
	CHECK_INT(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemcpyHtoA(array, 8, in, 16));
	CHECK_OK(cuMemcpyAtoH(out, array, 8, 16));
	CHECK(out[0][0] == 0 && out[0][3] == 3);
	CHECK_OK(cuMemAlloc(&p, 64));
	CHECK_OK(cuMemcpyAtoD(p, array, 8, 16));
	CHECK_OK(cuMemcpyDtoA(other, 0, p, 16));
	CHECK_OK(cuMemcpyAtoA(array, 0, other, 0, 16));
	CHECK_INT(cuMemcpyHtoA(NULL, 0, in, 16), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuMemcpyHtoA((CUarray)&copy, 0, in, 16), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuMemFree(p));
	CHECK_OK(cuArrayDestroy(other));
	CHECK_OK(cuArrayDestroy(array));
	CHECK_INT(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuArray3DCreate(&array, &deep));
	CHECK_OK(cuArray3DGetDescriptor(&got3, array));
	CHECK(got3.Depth == 3 && got3.NumChannels == 4);
	CHECK_OK(cuArrayDestroy(array));
	CHECK_OK(cuArray3DCreate(&array, &layers));
	CHECK_OK(cuArrayDestroy(array));
	flat.NumChannels = 3;
	CHECK_INT(cuArrayCreate(&array, &flat), CUDA_ERROR_INVALID_VALUE);
	flat.NumChannels = 1;
	flat.Width = 0;
	CHECK_INT(cuArrayCreate(&array, &flat), CUDA_ERROR_INVALID_VALUE);
	layers.Flags = CUDA_ARRAY3D_CUBEMAP; /* six faces it has not */
	CHECK_INT(cuArray3DCreate(&array, &layers), CUDA_ERROR_INVALID_VALUE);
	layers.Flags = 0x80000;
	CHECK_INT(cuArray3DCreate(&array, &layers), CUDA_ERROR_INVALID_VALUE);
	layers.Flags = 0;
	CHECK_OK(cuMipmappedArrayCreate(&mipmap, &layers, 99)); /* as many levels as there can be: 16, 8, 4, 2, 1 */
	CHECK_OK(cuMipmappedArrayGetLevel(&level, mipmap, 4));
	CHECK_OK(cuArray3DGetDescriptor(&got3, level));
	CHECK(got3.Width == 1 && got3.Height == 1 && got3.Depth == 1);
	CHECK_INT(cuMipmappedArrayGetLevel(&level, mipmap, 5), CUDA_ERROR_INVALID_VALUE);
	CHECK(cuArrayDestroy(level) != CUDA_SUCCESS); /* it goes with the whole */
	CHECK_OK(cuMipmappedArrayDestroy(mipmap));
	CHECK_INT(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuMipmappedArrayCreate(&mipmap, &layers, 0), CUDA_ERROR_INVALID_VALUE);
}

static void test_batch(void)
{
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUdeviceptr p, to[3], from[3];
	size_t sizes[3] = {4, 4, 4}, first = 0, bad = 1;
	unsigned in[3] = {1, 2, 3}, out[3] = {0};
	CUstream stream;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemAlloc(&p, 64));
	for (int i = 0; i < 3; i++) {
		to[i] = p + (CUdeviceptr)i * 16;
		from[i] = (CUdeviceptr)(size_t)&in[i];
	}
	CHECK_OK(cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream));
	for (int i = 0; i < 3; i++)
		CHECK_OK(cuMemcpyDtoHAsync(&out[i], to[i], 4, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK(out[0] == 1 && out[1] == 2 && out[2] == 3);
	CHECK_INT(cuMemcpyBatchAsync(to, from, sizes, 0, &attributes, &first, 1, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &bad, 1, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	sizes[1] = 0;
	CHECK_INT(cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree(p));
	CHECK_OK(cuStreamDestroy(stream));
}

/* Two contexts of one device are peers to these calls. */
static void test_peers(void)
{
	CUcontext other, popped;
	CUdeviceptr here, there;
	unsigned value = 0;
	CUDA_MEMCPY3D_PEER copy;

	CHECK_OK(cuMemAlloc(&here, 16));
	CHECK_OK(cuMemsetD32(here, 31, 4));
	CHECK_OK(cuCtxCreate(&other, NULL, 0, 0));
	CHECK_OK(cuMemAlloc(&there, 16));
	CHECK_OK(cuCtxPopCurrent(&popped));
	CHECK_OK(cuMemcpyPeer(there, other, here, context, 16));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuMemcpyDtoH(&value, there, 4));
	CHECK_INT(value, 31);
	CHECK_INT(cuMemcpyPeer(there, (CUcontext)0x70, here, context, 16), CUDA_ERROR_INVALID_CONTEXT);
	copy = (CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = here, .srcContext = context, .srcPitch = 8,
				    .srcHeight = 2, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = &value, .dstPitch = 8, .dstHeight = 2,
				    .WidthInBytes = 4, .Height = 1, .Depth = 1};
	value = 0;
	CHECK_OK(cuMemcpy3DPeer(&copy));
	CHECK_INT(value, 31);
	copy.srcContext = NULL;
	CHECK_INT(cuMemcpy3DPeer(&copy), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuCtxDestroy(other));
	CHECK_OK(cuMemFree(here));
}

int main(void)
{
	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	test_rows();
	test_slices();
	test_arrays();
	test_batch();
	test_peers();
	CHECK_OK(cuCtxDestroy(context));
	return check_end();
}
