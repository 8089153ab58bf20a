/* Every copy and every fill, by each version of its function: those of CUDA 3.1, today's, and the ones for streams. One table for
 * each side of a copy; what is moved is checked where it arrives. Expectations: CUDA Driver API reference manual, "Memory
 * Management". */
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "check.h"

enum { BYTES = 16, ROOM = 64 };

static CUcontext context;
static CUstream stream;
static CUdeviceptr_v1 from, to;   /* below 4 GiB: both versions of the functions take them */
static CUarray from_array, to_array;
static unsigned char in[BYTES], out[BYTES];
enum place { TO_HOST, TO_DEVICE, TO_ARRAY };

static void prepare(void)
{
	unsigned char zero[ROOM] = {0};

	memset(out, 0, sizeof out);
	CHECK_OK(cuMemcpyHtoD_v2(from, in, BYTES));
	CHECK_OK(cuMemcpyHtoD_v2(to, zero, ROOM));
	CHECK_OK(cuMemcpyHtoA_v2(from_array, 0, in, BYTES));
	CHECK_OK(cuMemcpyHtoA_v2(to_array, 0, zero, BYTES));
	CHECK_OK(cuCtxSynchronize());
}

static void moved(enum place place, const char *call)
{
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuCtxSynchronize());
	if (place == TO_DEVICE)
		CHECK_OK(cuMemcpyDtoH_v2(out, to, BYTES));
	else if (place == TO_ARRAY)
		CHECK_OK(cuMemcpyAtoH_v2(out, to_array, 0, BYTES));
	if (memcmp(in, out, BYTES)) {
		fprintf(stderr, "not moved by %s\n", call);
		check_failures++;
	}
}
#define MOVES(place, call)                                                                                              \
	do {                                                                                                           \
		prepare();                                                                                             \
		CHECK_OK(call);                                                                                        \
		moved(place, #call);                                                                                   \
	} while (0)

static void test_rows(void)
{
	MOVES(TO_DEVICE, cuMemcpyHtoD(to, in, BYTES));
	MOVES(TO_DEVICE, cuMemcpyHtoD_v2(to, in, BYTES));
	MOVES(TO_DEVICE, cuMemcpyHtoDAsync(to, in, BYTES, stream));
	MOVES(TO_DEVICE, cuMemcpyHtoDAsync_v2(to, in, BYTES, stream));
	MOVES(TO_HOST, cuMemcpyDtoH(out, from, BYTES));
	MOVES(TO_HOST, cuMemcpyDtoH_v2(out, from, BYTES));
	MOVES(TO_HOST, cuMemcpyDtoHAsync(out, from, BYTES, stream));
	MOVES(TO_HOST, cuMemcpyDtoHAsync_v2(out, from, BYTES, stream));
	MOVES(TO_DEVICE, cuMemcpyDtoD(to, from, BYTES));
	MOVES(TO_DEVICE, cuMemcpyDtoD_v2(to, from, BYTES));
	MOVES(TO_DEVICE, cuMemcpyDtoDAsync(to, from, BYTES, stream));
	MOVES(TO_DEVICE, cuMemcpyDtoDAsync_v2(to, from, BYTES, stream));
	MOVES(TO_DEVICE, cuMemcpy(to, from, BYTES));
	MOVES(TO_HOST, cuMemcpy((CUdeviceptr)(size_t)out, from, BYTES)); /* addresses say which side they are of */
	MOVES(TO_DEVICE, cuMemcpyAsync(to, (CUdeviceptr)(size_t)in, BYTES, stream));
	MOVES(TO_DEVICE, cuMemcpyPeer(to, context, from, context, BYTES));
	MOVES(TO_DEVICE, cuMemcpyPeerAsync(to, context, from, context, BYTES, stream));
	MOVES(TO_ARRAY, cuMemcpyHtoA(to_array, 0, in, BYTES));
	MOVES(TO_ARRAY, cuMemcpyHtoA_v2(to_array, 0, in, BYTES));
	MOVES(TO_ARRAY, cuMemcpyHtoAAsync(to_array, 0, in, BYTES, stream));
	MOVES(TO_ARRAY, cuMemcpyHtoAAsync_v2(to_array, 0, in, BYTES, stream));
	MOVES(TO_HOST, cuMemcpyAtoH(out, from_array, 0, BYTES));
	MOVES(TO_HOST, cuMemcpyAtoH_v2(out, from_array, 0, BYTES));
	MOVES(TO_HOST, cuMemcpyAtoHAsync(out, from_array, 0, BYTES, stream));
	MOVES(TO_HOST, cuMemcpyAtoHAsync_v2(out, from_array, 0, BYTES, stream));
	MOVES(TO_ARRAY, cuMemcpyDtoA(to_array, 0, from, BYTES));
	MOVES(TO_ARRAY, cuMemcpyDtoA_v2(to_array, 0, from, BYTES));
	MOVES(TO_DEVICE, cuMemcpyAtoD(to, from_array, 0, BYTES));
	MOVES(TO_DEVICE, cuMemcpyAtoD_v2(to, from_array, 0, BYTES));
	MOVES(TO_ARRAY, cuMemcpyAtoA(to_array, 0, from_array, 0, BYTES));
	MOVES(TO_ARRAY, cuMemcpyAtoA_v2(to_array, 0, from_array, 0, BYTES));
	/* Past the end of what was allocated, or of the array; a stream that is none. */
	CHECK_INT(cuMemcpyHtoD(to + ROOM - 8, in, BYTES), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyDtoH(out, to + ROOM - 8, BYTES), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyDtoDAsync(to + ROOM - 8, from, BYTES, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyHtoAAsync(to_array, 8, in, BYTES, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyAtoHAsync_v2(out, from_array, 8, BYTES, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyAtoA(to_array, 0, from_array, 8, BYTES), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyHtoDAsync(to, in, BYTES, (CUstream)from_array), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuMemcpyAsync(to, from, BYTES, (CUstream)from_array), CUDA_ERROR_INVALID_HANDLE);
}

/* Sixteen bytes as four rows of four, far apart on the device. */
static void test_planes(void)
{
	CUDA_MEMCPY2D_v1 old2 = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 4, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				 .dstDevice = to, .dstPitch = 4, .WidthInBytes = 4, .Height = 4};
	CUDA_MEMCPY2D new2 = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 4, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = to, .dstPitch = 4, .WidthInBytes = 4, .Height = 4};
	CUDA_MEMCPY3D_v1 old3 = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from, .srcPitch = 4, .srcHeight = 2,
				 .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out, .dstPitch = 4, .dstHeight = 2, .WidthInBytes = 4,
				 .Height = 2, .Depth = 2};
	CUDA_MEMCPY3D new3 = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from, .srcPitch = 4, .srcHeight = 2,
			      .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out, .dstPitch = 4, .dstHeight = 2, .WidthInBytes = 4,
			      .Height = 2, .Depth = 2};
	CUDA_MEMCPY3D_PEER peer = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from, .srcContext = context, .srcPitch = 4,
				   .srcHeight = 2, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = to, .dstContext = context,
				   .dstPitch = 4, .dstHeight = 2, .WidthInBytes = 4, .Height = 2, .Depth = 2};

	MOVES(TO_DEVICE, cuMemcpy2D(&old2));
	MOVES(TO_DEVICE, cuMemcpy2D_v2(&new2));
	MOVES(TO_DEVICE, cuMemcpy2DUnaligned(&old2));
	MOVES(TO_DEVICE, cuMemcpy2DUnaligned_v2(&new2));
	MOVES(TO_DEVICE, cuMemcpy2DAsync(&old2, stream));
	MOVES(TO_DEVICE, cuMemcpy2DAsync_v2(&new2, stream));
	MOVES(TO_HOST, cuMemcpy3D(&old3));
	MOVES(TO_HOST, cuMemcpy3D_v2(&new3));
	MOVES(TO_HOST, cuMemcpy3DAsync(&old3, stream));
	MOVES(TO_HOST, cuMemcpy3DAsync_v2(&new3, stream));
	MOVES(TO_DEVICE, cuMemcpy3DPeer(&peer));
	MOVES(TO_DEVICE, cuMemcpy3DPeerAsync(&peer, stream));
	/* Rows longer than the pitch; nothing; more than there is. */
	new2.WidthInBytes = 5;
	CHECK_INT(cuMemcpy2DAsync_v2(&new2, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpy2DAsync(NULL, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpy2DUnaligned(NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpy3DAsync(NULL, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpy3DPeerAsync(NULL, stream), CUDA_ERROR_INVALID_VALUE);
	new3.Depth = 100;
	CHECK_INT(cuMemcpy3DAsync_v2(&new3, stream), CUDA_ERROR_INVALID_VALUE);
	peer.Depth = 100;
	CHECK_INT(cuMemcpy3DPeerAsync(&peer, stream), CUDA_ERROR_INVALID_VALUE);
}

/* What a fill of COUNT elements a row leaves: rows PITCH bytes apart, everything else zero. */
static void filled(unsigned value, unsigned element, size_t pitch, size_t width, size_t height, const char *call)
{
	unsigned char expected[ROOM] = {0}, got[ROOM];

	for (size_t y = 0; y < height; y++)
		for (size_t x = 0; x < width * element; x++)
			expected[y * pitch + x] = (unsigned char)(value >> x % element * 8);
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuMemcpyDtoH_v2(got, to, ROOM));
	if (memcmp(expected, got, ROOM)) {
		fprintf(stderr, "not filled by %s\n", call);
		check_failures++;
	}
}
#define FILLS(value, element, pitch, width, height, call)                                                               \
	do {                                                                                                           \
		prepare();                                                                                             \
		CHECK_OK(call);                                                                                        \
		filled(value, element, pitch, width, height, #call);                                                   \
	} while (0)

static void test_fills(void)
{
	FILLS(0x81, 1, 0, 7, 1, cuMemsetD8(to, 0x81, 7));
	FILLS(0x81, 1, 0, 7, 1, cuMemsetD8_v2(to, 0x81, 7));
	FILLS(0x81, 1, 0, 7, 1, cuMemsetD8Async(to, 0x81, 7, stream));
	FILLS(0x8142, 2, 0, 7, 1, cuMemsetD16(to, 0x8142, 7));
	FILLS(0x8142, 2, 0, 7, 1, cuMemsetD16_v2(to, 0x8142, 7));
	FILLS(0x8142, 2, 0, 7, 1, cuMemsetD16Async(to, 0x8142, 7, stream));
	FILLS(0x81426399, 4, 0, 7, 1, cuMemsetD32(to, 0x81426399, 7));
	FILLS(0x81426399, 4, 0, 7, 1, cuMemsetD32_v2(to, 0x81426399, 7));
	FILLS(0x81426399, 4, 0, 7, 1, cuMemsetD32Async(to, 0x81426399, 7, stream));
	FILLS(0x81, 1, 16, 7, 3, cuMemsetD2D8(to, 16, 0x81, 7, 3));
	FILLS(0x81, 1, 16, 7, 3, cuMemsetD2D8_v2(to, 16, 0x81, 7, 3));
	FILLS(0x81, 1, 16, 7, 3, cuMemsetD2D8Async(to, 16, 0x81, 7, 3, stream));
	FILLS(0x8142, 2, 16, 7, 3, cuMemsetD2D16(to, 16, 0x8142, 7, 3));
	FILLS(0x8142, 2, 16, 7, 3, cuMemsetD2D16_v2(to, 16, 0x8142, 7, 3));
	FILLS(0x8142, 2, 16, 7, 3, cuMemsetD2D16Async(to, 16, 0x8142, 7, 3, stream));
	FILLS(0x81426399, 4, 16, 3, 3, cuMemsetD2D32(to, 16, 0x81426399, 3, 3));
	FILLS(0x81426399, 4, 16, 3, 3, cuMemsetD2D32_v2(to, 16, 0x81426399, 3, 3));
	FILLS(0x81426399, 4, 16, 3, 3, cuMemsetD2D32Async(to, 16, 0x81426399, 3, 3, stream));
	FILLS(0, 1, 0, 0, 1, cuMemsetD8Async(to, 0x81, 0, stream)); /* nothing is no mistake */
	/* Misaligned, too long, rows that overlap. */
	CHECK_INT(cuMemsetD16(to + 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD16Async(to + 1, 1, 1, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD32Async(to + 2, 1, 1, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD2D8(to, 16, 1, 7, 5), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD2D8Async(to, 6, 1, 7, 2, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD2D16Async(to, 16, 1, 9, 2, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD2D32(to, 16, 1, 5, 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD2D32Async(to, 16, 1, 3, 99, stream), CUDA_ERROR_INVALID_VALUE);
}

/* Batches: all or as far as the first that is wrong, whose number the older versions tell. */
static void test_batches(void)
{
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUdeviceptr tos[2] = {to, to + 8}, froms[2] = {from, from + 8};
	CUDA_MEMCPY3D_BATCH_OP ops[2] = {
		{.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER}, .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER}, .extent = {8, 1, 1},
		 .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
		{.src = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY}, .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER}, .extent = {8, 1, 1},
		 .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
	size_t sizes[2] = {8, 8}, first = 0, failed = 0;

	ops[0].src.op.ptr.ptr = from;
	ops[0].dst.op.ptr.ptr = to;
	ops[1].src.op.array.array = from_array;
	ops[1].src.op.array.offset.x = 8;
	ops[1].dst.op.ptr.ptr = to + 8;
	MOVES(TO_DEVICE, cuMemcpyBatchAsync(tos, froms, sizes, 2, &attributes, &first, 1, &failed, stream));
	MOVES(TO_DEVICE, cuMemcpyBatchAsync_v2(tos, froms, sizes, 2, &attributes, &first, 1, stream));
	MOVES(TO_DEVICE, cuMemcpy3DBatchAsync(2, ops, &failed, 0, stream));
	MOVES(TO_DEVICE, cuMemcpy3DBatchAsync_v2(2, ops, 0, stream));
	sizes[1] = ROOM * 2;
	CHECK_INT(cuMemcpyBatchAsync(tos, froms, sizes, 2, &attributes, &first, 1, &failed, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(failed, 1);
	sizes[1] = 8;
	CHECK_INT(cuMemcpyBatchAsync(tos, froms, sizes, 0, &attributes, &first, 1, &failed, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK(failed == SIZE_MAX); /* none of them in particular */
	CHECK_INT(cuMemcpyBatchAsync_v2(tos, froms, sizes, 2, &attributes, &first, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	ops[1].src.op.array.offset.x = 9;
	CHECK_INT(cuMemcpy3DBatchAsync(2, ops, &failed, 0, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(failed, 1);
	CHECK_INT(cuMemcpy3DBatchAsync(2, ops, &failed, 1, stream), CUDA_ERROR_INVALID_VALUE); /* no flags are known */
	CHECK_INT(cuMemcpy3DBatchAsync_v2(2, ops, 0, CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpy3DBatchAsync_v2(0, ops, 0, stream), CUDA_ERROR_INVALID_VALUE);
	ops[0].src.type = (CUmemcpy3DOperandType)9;
	CHECK_INT(cuMemcpy3DBatchAsync_v2(1, ops, 0, stream), CUDA_ERROR_INVALID_VALUE);
}

/* Making arrays and host memory by the old functions; what deferred, sparse or planar arrays would tell. */
static void test_making(void)
{
	CUDA_ARRAY3D_DESCRIPTOR_v1 shape = {.Width = 4, .Height = 3, .Depth = 2, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2}, got;
	CUDA_ARRAY3D_DESCRIPTOR wide = {.Width = 4, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
	CUDA_ARRAY_SPARSE_PROPERTIES sparse;
	CUmipmappedArray mipmap;
	CUarray array, plane;
	CUdeviceptr wide_pointer = 0;
	CUdeviceptr_v1 pointer = 0;
	void *host = NULL;

	CHECK_OK(cuArray3DCreate(&array, &shape));
	CHECK_OK(cuArray3DGetDescriptor(&got, array));
	CHECK(got.Width == 4 && got.Height == 3 && got.Depth == 2 && got.Format == CU_AD_FORMAT_FLOAT && got.NumChannels == 2);
	CHECK_INT(cuArray3DCreate(&plane, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuArray3DGetDescriptor(NULL, array), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuArray3DGetDescriptor(&got, (CUarray)stream), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuMipmappedArrayCreate(&mipmap, &wide, 3));
	CHECK_INT(cuArrayGetSparseProperties(&sparse, array), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMipmappedArrayGetSparseProperties(&sparse, mipmap), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuArrayGetMemoryRequirements(&needs, array, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuArrayGetMemoryRequirements(&needs, array, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuArrayGetPlane(&plane, array, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuArrayGetPlane(&plane, NULL, 0), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuMipmappedArrayDestroy(mipmap));
	CHECK_OK(cuArrayDestroy(array));
	CHECK_OK(cuMemAllocHost(&host, 4096));
	CHECK_OK(cuMemHostGetDevicePointer_v2(&wide_pointer, host, 0));
	CHECK_OK(cuMemcpyHtoD_v2(wide_pointer, in, BYTES));
	CHECK(!memcmp(host, in, BYTES));
	/* The old function says so where the pointer has more bits than it returns. */
	if (wide_pointer > UINT32_MAX)
		CHECK_INT(cuMemHostGetDevicePointer(&pointer, host, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemHostGetDevicePointer(NULL, host, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemHostGetDevicePointer_v2(&wide_pointer, host, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFreeHost(host));
	CHECK_OK(cuMemAllocHost_v2(&host, 4096));
	memset(host, 1, 4096);
	CHECK_INT(cuMemAllocHost_v2(NULL, 4096), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFreeHost(host));
	host = aligned_alloc(4096, 8192);
	CHECK_OK(cuMemHostRegister(host, 8192, 0));
	CHECK_INT(cuMemHostRegister(host, 8192, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_OK(cuMemHostUnregister(host));
	CHECK_INT(cuMemHostUnregister(host), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	free(host);
}

int main(void)
{
	CUDA_ARRAY_DESCRIPTOR line = {.Width = BYTES, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};

	for (int i = 0; i < BYTES; i++)
		in[i] = (unsigned char)(i * 7 + 1);
	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate_v2(&context, 0, 0));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemAlloc(&from, ROOM));
	CHECK_OK(cuMemAlloc(&to, ROOM));
	CHECK_OK(cuArrayCreate_v2(&from_array, &line));
	CHECK_OK(cuArrayCreate_v2(&to_array, &line));
	test_rows();
	test_planes();
	test_fills();
	test_batches();
	test_making();
	CHECK_OK(cuArrayDestroy(from_array));
	CHECK_OK(cuArrayDestroy(to_array));
	CHECK_OK(cuMemFree(from));
	CHECK_OK(cuMemFree(to));
	CHECK_OK(cuCtxDestroy_v2(context));
	return check_end();
}
