/* Tensor maps, decompression, multicast: what devices of compute capability 9.0 and 10.0 brought, on whatever device there is.
 * Expectations: CUDA Driver API reference manual, "Tensor Map Object Management", cuMemBatchDecompressAsync, "Multicast Object
 * Management". A map is opaque: two calls are compared with each other. */
#define _GNU_SOURCE
#include <cuda.h>

#include "check.h"

static CUdeviceptr memory;
static CUtensorMap map, same;

/* A tensor of 64×32×8 floats with boxes of 16×8×1, one thing about it changed by each test. */
struct tiled {
	CUtensorMapDataType type;
	cuuint32_t rank;
	size_t offset;
	cuuint64_t dims[5], strides[4];
	cuuint32_t box[5], steps[5];
	CUtensorMapInterleave interleave;
	CUtensorMapSwizzle swizzle;
	CUtensorMapL2promotion promotion;
	CUtensorMapFloatOOBfill fill;
};
static const struct tiled good = {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, .rank = 3, .dims = {64, 32, 8}, .strides = {256, 8192},
				  .box = {16, 8, 1}, .steps = {1, 1, 1}, .swizzle = CU_TENSOR_MAP_SWIZZLE_64B};

static CUresult tiled(CUtensorMap *to, const struct tiled *t)
{
	return cuTensorMapEncodeTiled(to, t->type, t->rank, (void *)(size_t)(memory + t->offset), t->dims, t->strides, t->box, t->steps,
				      t->interleave, t->swizzle, t->promotion, t->fill);
}

/* CHANGE to the good one: refused, or taken and different from it. */
#define REFUSED(change)                                                                                                 \
	do {                                                                                                           \
		struct tiled t = good;                                                                                 \
		change;                                                                                                \
		CHECK_INT(tiled(&map, &t), CUDA_ERROR_INVALID_VALUE);                                                  \
	} while (0)
#define TAKEN(change)                                                                                                   \
	do {                                                                                                           \
		struct tiled t = good;                                                                                 \
		change;                                                                                                \
		CHECK_OK(tiled(&map, &t));                                                                             \
		CHECK(memcmp(&map, &same, sizeof map));                                                                \
	} while (0)

static void test_tiled(void)
{
	CHECK_OK(tiled(&same, &good));
	CHECK_OK(tiled(&map, &good));
	CHECK(!memcmp(&map, &same, sizeof map));
	TAKEN(t.type = CU_TENSOR_MAP_DATA_TYPE_INT32);
	TAKEN(t.offset = 16);
	TAKEN(t.rank = 2);
	TAKEN(t.dims[2] = UINT64_C(1) << 32);
	TAKEN(t.strides[1] = (UINT64_C(1) << 40) - 16);
	TAKEN(t.box[1] = 256);
	TAKEN(t.steps[1] = 8);
	TAKEN(t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B);
	TAKEN(t.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
	TAKEN(t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
	TAKEN((t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B, t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B));
	TAKEN((t.type = CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B, t.dims[0] = 128, t.box[0] = 128, t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B));
	REFUSED(t.type = (CUtensorMapDataType)16);
	REFUSED(t.rank = 0);
	REFUSED(t.rank = 6);
	REFUSED(t.offset = 8);
	REFUSED(t.dims[1] = 0);
	REFUSED(t.dims[2] = (UINT64_C(1) << 32) + 1);
	REFUSED(t.strides[0] = 264);
	REFUSED(t.strides[1] = UINT64_C(1) << 40);
	REFUSED(t.box[0] = 0);
	REFUSED(t.box[2] = 257);
	REFUSED(t.box[0] = 3);  /* 12 bytes */
	REFUSED(t.box[0] = 32); /* 128 bytes, in a swizzle of 64 */
	REFUSED(t.steps[1] = 0);
	REFUSED(t.steps[2] = 9);
	REFUSED((t.rank = 2, t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B));
	REFUSED(t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B); /* needs a swizzle of 32 bytes */
	REFUSED(t.interleave = (CUtensorMapInterleave)3);
	REFUSED(t.swizzle = (CUtensorMapSwizzle)7);
	REFUSED(t.promotion = (CUtensorMapL2promotion)4);
	REFUSED(t.fill = (CUtensorMapFloatOOBfill)2);
	REFUSED((t.type = CU_TENSOR_MAP_DATA_TYPE_INT32, t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA));
	REFUSED((t.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, t.dims[0] = 64, t.box[0] = 128, t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B));
	CHECK_INT(tiled(NULL, &good), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(tiled((CUtensorMap *)((char *)&map + 8), &good), CUDA_ERROR_INVALID_VALUE);
}

/* The address of a map is replaced, whatever its kind: as if it had been made so. */
static void test_address(void)
{
	struct tiled moved = good;

	moved.offset = 4096;
	CHECK_OK(tiled(&same, &moved));
	CHECK_OK(tiled(&map, &good));
	CHECK_OK(cuTensorMapReplaceAddress(&map, (void *)(size_t)(memory + 4096)));
	CHECK(!memcmp(&map, &same, sizeof map));
	CHECK_INT(cuTensorMapReplaceAddress(&map, (void *)(size_t)(memory + 8)), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTensorMapReplaceAddress(NULL, (void *)(size_t)memory), CUDA_ERROR_INVALID_VALUE);
	CHECK(!memcmp(&map, &same, sizeof map));
	memset(&map, 0, sizeof map);
	CHECK_INT(cuTensorMapReplaceAddress(&map, (void *)(size_t)memory), CUDA_ERROR_INVALID_VALUE); /* never encoded */
}

static CUresult im2col(CUtensorMap *to, cuuint32_t rank, const int *lower, const int *upper, cuuint32_t channels, cuuint32_t pixels)
{
	static const cuuint64_t dims[] = {64, 32, 32, 8, 2}, strides[] = {128, 4096, 131072, 1048576};
	static const cuuint32_t steps[] = {1, 1, 1, 1, 1};

	return cuTensorMapEncodeIm2col(to, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, (void *)(size_t)memory, dims, strides, lower, upper, channels,
				       pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
				       CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static void test_im2col(void)
{
	const int zero[3] = {0}, inner[3] = {-1, -1, -1}, outer[3] = {1, 1, 1}, far3[1] = {-32768}, far4[2] = {-129, 0};
	const int empty[2] = {-40, -40}, far5[3] = {16, 0, 0};

	CHECK_OK(im2col(&same, 4, zero, zero, 64, 128));
	CHECK_OK(im2col(&map, 4, inner, outer, 64, 128));
	CHECK(memcmp(&map, &same, sizeof map));
	CHECK_OK(im2col(&map, 4, zero, zero, 32, 128));
	CHECK(memcmp(&map, &same, sizeof map));
	CHECK_OK(im2col(&map, 5, inner, outer, 64, 1024));
	CHECK_OK(im2col(&map, 3, far3, zero, 64, 1));
	CHECK_INT(im2col(&map, 2, zero, zero, 64, 128), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(im2col(&map, 4, far4, zero, 64, 128), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(im2col(&map, 5, zero, far5, 64, 128), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(im2col(&map, 4, zero, empty, 64, 128), CUDA_ERROR_INVALID_VALUE); /* no pixels are left */
	CHECK_INT(im2col(&map, 4, NULL, zero, 64, 128), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(im2col(&map, 4, zero, zero, 257, 128), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(im2col(&map, 4, zero, zero, 64, 1025), CUDA_ERROR_INVALID_VALUE);
}

static CUresult wide(CUtensorMap *to, int lower, int upper, cuuint32_t pixels, CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle)
{
	static const cuuint64_t dims[] = {64, 32, 32, 8}, strides[] = {128, 4096, 131072};
	static const cuuint32_t steps[] = {1, 1, 1, 1};

	return cuTensorMapEncodeIm2colWide(to, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, (void *)(size_t)memory, dims, strides, lower, upper, 64, pixels,
					   steps, CU_TENSOR_MAP_INTERLEAVE_NONE, mode, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
					   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static void test_wide(void)
{
	const CUtensorMapIm2ColWideMode w = CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, w128 = CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
	const CUtensorMapSwizzle s = CU_TENSOR_MAP_SWIZZLE_128B;

	CHECK_OK(wide(&same, 0, 0, 128, w, s));
	CHECK_OK(wide(&map, -1, 1, 128, w, s));
	CHECK(memcmp(&map, &same, sizeof map));
	CHECK_OK(wide(&same, 0, 0, 5000, w128, s)); /* the pixels do not count then */
	CHECK_OK(wide(&map, 0, 0, 7, w128, s));
	CHECK(!memcmp(&map, &same, sizeof map));
	CHECK_INT(wide(&map, 0, 0, 1025, w, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(wide(&map, -32769, 0, 128, w, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(wide(&map, 0, -32, 128, w, s), CUDA_ERROR_INVALID_VALUE); /* no pixels are left */
	CHECK_INT(wide(&map, 0, 0, 128, (CUtensorMapIm2ColWideMode)2, s), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(wide(&map, 0, 0, 128, w, CU_TENSOR_MAP_SWIZZLE_NONE), CUDA_ERROR_INVALID_VALUE);
}

/* Blocks written by hand to the LZ4 block format: a literal, a match of 12 at distance 1, five literals; five literals alone. */
static void test_decompression(void)
{
	static const unsigned char first[] = {0x18, 'a', 1, 0, 0x50, 'b', 'c', 'd', 'e', 'f'}, second[] = {0x50, 'h', 'e', 'l', 'l', 'o'};
	static const unsigned char damaged[] = {0x18, 'a', 9, 0, 0x50, 'b', 'c', 'd', 'e', 'f'}; /* from before the beginning */
	CUmemDecompressParams items[3] = {{.srcNumBytes = sizeof first, .dstNumBytes = 64, .algo = CU_MEM_DECOMPRESS_ALGORITHM_LZ4},
					  {.srcNumBytes = sizeof second, .dstNumBytes = 64, .algo = CU_MEM_DECOMPRESS_ALGORITHM_LZ4},
					  {.srcNumBytes = sizeof damaged, .dstNumBytes = 64, .algo = CU_MEM_DECOMPRESS_ALGORITHM_LZ4}};
	cuuint32_t lengths[3] = {9, 9, 9};
	char out[64] = "";
	size_t failed = 99;
	CUstream stream;
	int mask = 0;

	CHECK_OK(cuDeviceGetAttribute(&mask, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, 0));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemcpyHtoD(memory, first, sizeof first));
	CHECK_OK(cuMemcpyHtoD(memory + 64, second, sizeof second));
	CHECK_OK(cuMemcpyHtoD(memory + 128, damaged, sizeof damaged));
	for (int i = 0; i < 3; i++) {
		items[i].src = (const void *)(size_t)(memory + (CUdeviceptr)i * 64);
		items[i].dst = (void *)(size_t)(memory + 1024 + (CUdeviceptr)i * 64);
		items[i].dstActBytes = &lengths[i];
	}
	if (!(mask & CU_MEM_DECOMPRESS_ALGORITHM_LZ4)) {
		CHECK_INT(cuMemBatchDecompressAsync(items, 3, 0, &failed, stream), CUDA_ERROR_NOT_SUPPORTED);
		return;
	}
	CHECK_OK(cuMemBatchDecompressAsync(items, 3, 0, &failed, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK(lengths[0] == 18 && lengths[1] == 5 && lengths[2] == 0);
	CHECK_OK(cuMemcpyDtoH(out, memory + 1024, 18));
	CHECK_TEXT(out, "aaaaaaaaaaaaabcdef");
	memset(out, 0, sizeof out);
	CHECK_OK(cuMemcpyDtoH(out, memory + 1088, 5));
	CHECK_TEXT(out, "hello");
	items[0].dstNumBytes = 17; /* one byte too few: nothing is said to have come */
	CHECK_OK(cuMemBatchDecompressAsync(items, 1, 0, &failed, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(lengths[0], 0);
	items[1].src = NULL;
	CHECK_INT(cuMemBatchDecompressAsync(items, 2, 0, &failed, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(failed, 1);
	CHECK_INT(cuMemBatchDecompressAsync(items, 1, 1, &failed, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemBatchDecompressAsync(items, 0, 0, &failed, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemBatchDecompressAsync(NULL, 1, 0, &failed, stream), CUDA_ERROR_INVALID_VALUE);
	items[0].algo = CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE;
	if (!(mask & CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE))
		CHECK_INT(cuMemBatchDecompressAsync(items, 1, 0, &failed, stream), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_OK(cuStreamDestroy(stream));
}

/* Without NVSwitch there is no multicast, the attribute says so, and no handle is of such an object. Sharing of address ranges by
 * DMA-BUF and arrays with tiles of their own are alike. */
static void test_absent(void)
{
	CUmulticastObjectProp properties = {.numDevices = 1, .size = 2 << 20};
	CUmemGenericAllocationHandle handle = 0;
	CUarrayMapInfo info = {0};
	size_t granularity = 0;
	int multicast = 1, dma_buf = 1, sparse = 1, file = -1;

	CHECK_OK(cuDeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
	CHECK_OK(cuDeviceGetAttribute(&dma_buf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0));
	CHECK_OK(cuDeviceGetAttribute(&sparse, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0));
	if (!multicast) {
		CHECK_INT(cuMulticastCreate(&handle, &properties), CUDA_ERROR_NOT_SUPPORTED);
		CHECK_INT(cuMulticastGetGranularity(&granularity, &properties, CU_MULTICAST_GRANULARITY_MINIMUM), CUDA_ERROR_NOT_SUPPORTED);
	}
	CHECK(!handle && !granularity);
	CHECK_INT(cuMulticastCreate(NULL, &properties), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMulticastGetGranularity(&granularity, &properties, (CUmulticastGranularity_flags)2), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMulticastAddDevice(handle, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMulticastAddDevice(handle, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuMulticastBindMem(handle, 0, 0, 0, 2 << 20, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMulticastBindAddr(handle, 0, memory, 2 << 20, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMulticastUnbind(handle, 0, 0, 2 << 20), CUDA_ERROR_INVALID_VALUE);
	properties.flags = 1;
	CHECK_INT(cuMulticastCreate(&handle, &properties), CUDA_ERROR_INVALID_VALUE);
	if (!dma_buf)
		CHECK_INT(cuMemGetHandleForAddressRange(&file, memory, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_INT(cuMemGetHandleForAddressRange(NULL, memory, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemGetHandleForAddressRange(&file, 64, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemGetHandleForAddressRange(&file, memory, 4096, (CUmemRangeHandleType)9, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(file, -1);
	if (!sparse)
		CHECK_INT(cuMemMapArrayAsync(&info, 1, NULL), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_INT(cuMemMapArrayAsync(NULL, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemMapArrayAsync(&info, 0, NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	CUcontext context;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK_OK(cuMemAlloc(&memory, 1 << 20));
	test_tiled();
	test_address();
	test_im2col();
	test_wide();
	test_decompression();
	test_absent();
	CHECK_OK(cuMemFree(memory));
	CHECK_OK(cuCtxDestroy(context));
	return check_end();
}
