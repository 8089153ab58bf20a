/* Copies that do not wait, of every shape; copies between devices, arrays, in batches; sets; arrays of several levels and what
 * arrays say of their memory. Expectations: CUDA Runtime API reference manual, "Memory Management". For libcudart.so.13 and
 * libcudart.so.12. */
#include <cuda_runtime_api.h>

#include "check.h"
#include "device_code.h"

#if RUNTIME_MAJOR == 12
cudaError_t plain_batch(void **, void **, size_t *, size_t, struct cudaMemcpyAttributes *, size_t *, size_t, size_t *, cudaStream_t)
	__asm__("cudaMemcpyBatchAsync");
cudaError_t plain_batch_3d(size_t, struct cudaMemcpy3DBatchOp *, size_t *, unsigned long long, cudaStream_t)
	__asm__("cudaMemcpy3DBatchAsync");
static size_t failed;
#define batch(to, from, sizes, count, attributes, indices, n, stream)                                                          \
	plain_batch(to, from, sizes, count, attributes, indices, n, &failed, stream)
#define batch_3d(count, operations, flags, stream) plain_batch_3d(count, operations, &failed, flags, stream)
#else
#define batch(to, from, sizes, count, attributes, indices, n, stream)                                                          \
	cudaMemcpyBatchAsync((void *const *)(to), (const void *const *)(from), sizes, count, attributes, indices, n, stream)
#define batch_3d(count, operations, flags, stream) cudaMemcpy3DBatchAsync(count, operations, flags, stream)
#endif

static cudaStream_t stream;

static void wait(void)
{
	CHECK_OK(cudaStreamSynchronize(stream));
}

/* Rows of ten bytes, counting. */
static unsigned char from[6 * 10], to[6 * 10];

static void fresh(void)
{
	for (int i = 0; i < 60; i++)
		from[i] = (unsigned char)(i + 1);
	memset(to, 0xaa, sizeof to);
}

static void test_rows(void)
{
	void *memory;
	size_t pitch;
	fresh();
	CHECK_OK(cudaMallocPitch(&memory, &pitch, 10, 6));
	CHECK_OK(cudaMemcpy2DAsync(memory, pitch, from, 10, 10, 6, cudaMemcpyHostToDevice, stream));
	CHECK_OK(cudaMemset2DAsync((char *)memory + pitch, pitch, 0x77, 3, 2, stream));
	CHECK_OK(cudaMemcpy2DAsync(to, 10, memory, pitch, 10, 6, cudaMemcpyDeviceToHost, stream));
	wait();
	for (int i = 0; i < 60; i++)
		CHECK_INT(to[i], i / 10 >= 1 && i / 10 < 3 && i % 10 < 3 ? 0x77 : from[i]);
	CHECK_INT(cudaMemcpy2DAsync(memory, 8, from, 10, 10, 2, cudaMemcpyHostToDevice, stream), cudaErrorInvalidPitchValue);
	CHECK_INT(cudaMemset2DAsync(memory, 8, 0, 9, 2, stream), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFree(memory));
}

static void test_volumes(void)
{
	struct cudaPitchedPtr volume;
	struct cudaExtent whole = { 5, 4, 3 };
	struct cudaMemcpy3DParms in = { 0 }, out = { 0 };
	fresh();
	CHECK_OK(cudaMalloc3D(&volume, whole));
	in.srcPtr = (struct cudaPitchedPtr){ from, 5, 5, 4 };
	in.dstPtr = volume;
	in.extent = whole;
	in.kind = cudaMemcpyHostToDevice;
	CHECK_OK(cudaMemcpy3DAsync(&in, stream));
	CHECK_OK(cudaMemset3DAsync(volume, 0x55, (struct cudaExtent){ 2, 2, 2 }, stream));
	out.srcPtr = volume;
	out.dstPtr = (struct cudaPitchedPtr){ to, 5, 5, 4 };
	out.extent = whole;
	out.kind = cudaMemcpyDeviceToHost;
	CHECK_OK(cudaMemcpy3DAsync(&out, stream));
	wait();
	for (int i = 0; i < 60; i++)
		CHECK_INT(to[i], i % 5 < 2 && i / 5 % 4 < 2 && i / 20 < 2 ? 0x55 : from[i]);

	/* From the device to itself, as if to a peer. */
	struct cudaPitchedPtr second;
	struct cudaMemcpy3DPeerParms peer = { .srcPtr = volume, .srcPos = { 0, 0, 2 }, .extent = { 5, 4, 1 } };
	CHECK_OK(cudaMalloc3D(&second, whole));
	CHECK_OK(cudaMemset3D(second, 0, whole));
	peer.dstPtr = second;
	CHECK_OK(cudaMemcpy3DPeerAsync(&peer, stream));
	wait();
	peer.dstPos.z = 1;
	peer.srcPos.z = 1;
	CHECK_OK(cudaMemcpy3DPeer(&peer));
	out.srcPtr = second;
	memset(to, 0xaa, sizeof to);
	CHECK_OK(cudaMemcpy3D(&out));
	CHECK_INT(to[0], from[40]);
	CHECK_INT(to[19], from[59]);
	CHECK_INT(to[39], from[39]);
	CHECK_INT(to[40], 0);
	peer.dstDevice = 99;
	CHECK_INT(cudaMemcpy3DPeerAsync(&peer, stream), cudaErrorInvalidDevice);
	CHECK_INT(cudaMemcpy3DPeerAsync(NULL, stream), cudaErrorInvalidValue);
	CHECK_OK(cudaMemcpyPeerAsync(second.ptr, 0, volume.ptr, 0, 4, stream));
	wait();
	CHECK_OK(cudaMemcpy(to, second.ptr, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(to[0], 0x55);
	CHECK_INT(to[3], from[3]);
	CHECK_INT(cudaMemcpyPeerAsync(second.ptr, 0, volume.ptr, 7, 4, stream), cudaErrorInvalidDevice);
	cudaGetLastError();
	CHECK_OK(cudaFree(volume.ptr));
	CHECK_OK(cudaFree(second.ptr));
}

static void test_arrays(void)
{
	struct cudaChannelFormatDesc bytes = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned), desc;
	cudaArray_t first, second;
	fresh();
	CHECK_OK(cudaMallocArray(&first, &bytes, 10, 6, cudaArrayDefault));
	CHECK_OK(cudaMallocArray(&second, &bytes, 10, 6, cudaArrayDefault));
	CHECK_OK(cudaGetChannelDesc(&desc, first));
	CHECK_INT(desc.x, 8);
	CHECK_OK(cudaMemcpy2DToArrayAsync(first, 0, 0, from, 10, 10, 6, cudaMemcpyHostToDevice, stream));
	wait();
	CHECK_OK(cudaMemcpy2DArrayToArray(second, 2, 1, first, 0, 0, 8, 5, cudaMemcpyDeviceToDevice));
	CHECK_OK(cudaMemcpy2DFromArrayAsync(to, 8, second, 2, 1, 8, 5, cudaMemcpyDeviceToHost, stream));
	wait();
	for (int y = 0; y < 5; y++)
		for (int x = 0; x < 8; x++)
			CHECK_INT(to[y * 8 + x], from[y * 10 + x]);
	/* One-dimensional copies go on in the next row. */
	CHECK_OK(cudaMemcpyToArray(first, 8, 0, from + 50, 4, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemcpyToArrayAsync(first, 0, 5, from + 10, 10, cudaMemcpyHostToDevice, stream));
	CHECK_OK(cudaMemcpyFromArrayAsync(to, first, 8, 0, 4, cudaMemcpyDeviceToHost, stream));
	wait();
	CHECK(to[0] == from[50] && to[1] == from[51] && to[2] == from[52] && to[3] == from[53]);
	CHECK_OK(cudaMemcpyArrayToArray(second, 9, 3, first, 9, 4, 2, cudaMemcpyDeviceToDevice));
	CHECK_OK(cudaMemcpyFromArray(to, second, 9, 3, 2, cudaMemcpyDeviceToHost));
	CHECK(to[0] == from[49] && to[1] == from[10]);
	CHECK_INT(cudaMemcpyToArray(first, 0, 0, from, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
	CHECK_INT(cudaMemcpyToArray(first, 0, 5, from, 11, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_INT(cudaMemcpy2DArrayToArray(second, 0, 0, first, 0, 0, 4, 4, cudaMemcpyHostToDevice),
		  cudaErrorInvalidMemcpyDirection);
	CHECK_INT(cudaMemcpy2DFromArrayAsync(to, 4, first, 0, 0, 8, 2, cudaMemcpyDeviceToHost, stream), cudaErrorInvalidPitchValue);
	cudaGetLastError();
	CHECK_OK(cudaFreeArray(first));
	CHECK_OK(cudaFreeArray(second));
}

static unsigned table[4];

static void test_symbols(void)
{
	static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .b8 table[16];\n";
	void **code = __cudaRegisterFatBinary(device_code_wrap(ptx));
	unsigned in[3] = { 5, 6, 7 }, out[2] = { 0 };
	__cudaRegisterVar(code, (char *)table, (char *)"table", "table", 0, 16, 0, 0);
	__cudaRegisterFatBinaryEnd(code);
	CHECK_OK(cudaMemcpyToSymbolAsync(table, in, 12, 4, cudaMemcpyHostToDevice, stream));
	CHECK_OK(cudaMemcpyFromSymbolAsync(out, table, 8, 8, cudaMemcpyDeviceToHost, stream));
	wait();
	CHECK(out[0] == 6 && out[1] == 7);
	CHECK_INT(cudaMemcpyToSymbolAsync(table, in, 12, 8, cudaMemcpyHostToDevice, stream), cudaErrorInvalidValue);
	CHECK_INT(cudaMemcpyFromSymbolAsync(out, in, 4, 0, cudaMemcpyDeviceToHost, stream), cudaErrorInvalidSymbol);
	cudaGetLastError();
	__cudaUnregisterFatBinary(code);
}

static void test_batches(void)
{
	unsigned char *memory;
	fresh();
	CHECK_OK(cudaMalloc((void **)&memory, 128));
	CHECK_OK(cudaMemset(memory, 0, 128));
	struct cudaMemcpyAttributes attributes = { .srcAccessOrder = cudaMemcpySrcAccessOrderStream };
	void *tos[3] = { memory, memory + 64, memory + 100 }, *froms[3] = { from, from + 10, from + 20 };
	size_t sizes[3] = { 10, 20, 1 }, index = 0;
	CHECK_OK(batch(tos, froms, sizes, 3, &attributes, &index, 1, stream));
	wait();
	unsigned char back[128];
	CHECK_OK(cudaMemcpy(back, memory, 128, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 128; i++)
		CHECK_INT(back[i], i < 10 ? i + 1 : i >= 64 && i < 84 ? i - 64 + 11 : i == 100 ? 21 : 0);
	CHECK_INT(batch(tos, froms, sizes, 0, &attributes, &index, 1, stream), cudaErrorInvalidValue);
	CHECK_INT(batch(tos, froms, sizes, 3, &attributes, &index, 1, NULL), cudaErrorInvalidValue); /* the legacy stream */
	sizes[1] = 0;
	CHECK_INT(batch(tos, froms, sizes, 3, &attributes, &index, 1, stream), cudaErrorInvalidValue);
	cudaGetLastError();

	/* Two boxes: 3 x 2 bytes from the rows of ten, and a line. */
	struct cudaMemcpy3DBatchOp operations[2];
	memset(operations, 0, sizeof operations);
	for (int i = 0; i < 2; i++) {
		operations[i].src.type = operations[i].dst.type = cudaMemcpyOperandTypePointer;
		operations[i].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
		operations[i].dst.op.ptr.locHint = (struct cudaMemLocation){ .type = cudaMemLocationTypeDevice, .id = 0 };
		operations[i].src.op.ptr.locHint = (struct cudaMemLocation){ .type = cudaMemLocationTypeHost, .id = 0 };
	}
	operations[0].src.op.ptr.ptr = from + 12;
	operations[0].src.op.ptr.rowLength = 10;
	operations[0].dst.op.ptr.ptr = memory;
	operations[0].dst.op.ptr.rowLength = 3;
	operations[0].extent = (struct cudaExtent){ 3, 2, 1 };
	operations[1].src.op.ptr.ptr = from;
	operations[1].dst.op.ptr.ptr = memory + 64;
	operations[1].extent = (struct cudaExtent){ 5, 1, 1 };
	CHECK_OK(cudaMemset(memory, 0, 128));
	CHECK_OK(batch_3d(2, operations, 0, stream));
	wait();
	CHECK_OK(cudaMemcpy(back, memory, 128, cudaMemcpyDeviceToHost));
	CHECK(back[0] == 13 && back[1] == 14 && back[2] == 15 && back[3] == 23 && back[5] == 25 && back[6] == 0);
	CHECK(back[64] == 1 && back[68] == 5 && back[69] == 0);
	CHECK_INT(batch_3d(2, operations, 1, stream), cudaErrorInvalidValue); /* no flags are defined */
	CHECK_INT(batch_3d(2, NULL, 0, stream), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFree(memory));
}

static void test_mipmaps(void)
{
	struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	struct cudaExtent extent;
	cudaMipmappedArray_t mipmap;
	cudaArray_t level;
	float in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
	CHECK_OK(cudaMallocMipmappedArray(&mipmap, &desc, (struct cudaExtent){ 8, 4, 0 }, 3, cudaArrayDefault));
	for (unsigned i = 0; i < 3; i++) {
		CHECK_OK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
		CHECK_OK(cudaArrayGetInfo(NULL, &extent, NULL, level));
		CHECK_INT(extent.width, 8 >> i);
		CHECK_INT(extent.height, 4 >> i);
	}
	CHECK_OK(cudaMemcpy2DToArray(level, 0, 0, in, 8, 8, 1, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemcpy2DFromArray(out, 8, level, 0, 0, 8, 1, cudaMemcpyDeviceToHost));
	CHECK(out[0] == 1.0f && out[1] == 2.0f);
	CHECK_INT(cudaGetMipmappedArrayLevel(&level, mipmap, 3), cudaErrorInvalidValue);
	CHECK_INT(cudaGetMipmappedArrayLevel(NULL, mipmap, 0), cudaErrorInvalidValue);
	/* Its memory is the program's to ask about only where the program places it. */
	struct cudaArrayMemoryRequirements requirements;
	struct cudaArraySparseProperties sparse;
	CHECK(cudaMipmappedArrayGetMemoryRequirements(&requirements, mipmap, 0) != cudaSuccess);
	CHECK(cudaMipmappedArrayGetSparseProperties(&sparse, mipmap) != cudaSuccess);
	CHECK_INT(cudaMipmappedArrayGetMemoryRequirements(NULL, mipmap, 0), cudaErrorInvalidValue);
	CHECK_INT(cudaMipmappedArrayGetSparseProperties(NULL, mipmap), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFreeMipmappedArray(mipmap));
	CHECK(cudaFreeMipmappedArray(mipmap) != cudaSuccess);
	CHECK_OK(cudaFreeMipmappedArray(NULL));
	cudaGetLastError();
}

static void test_array_memory(void)
{
	struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	struct cudaArrayMemoryRequirements requirements = { 0 };
	struct cudaArraySparseProperties sparse = { 0 };
	cudaMipmappedArray_t mipmap;
	cudaArray_t array, plane;
	int deferred = 0, supported = 0;
	CHECK_OK(cudaDeviceGetAttribute(&deferred, cudaDevAttrDeferredMappingCudaArraySupported, 0));
	CHECK_OK(cudaDeviceGetAttribute(&supported, cudaDevAttrSparseCudaArraySupported, 0));
	CHECK_OK(cudaMallocArray(&array, &desc, 16, 16, 0));
	CHECK(cudaArrayGetPlane(&plane, array, 0) != cudaSuccess); /* of formats with planes only */
	CHECK(cudaArrayGetSparseProperties(&sparse, array) != cudaSuccess);
	CHECK_INT(cudaArrayGetSparseProperties(NULL, array), cudaErrorInvalidValue);
	CHECK_INT(cudaArrayGetMemoryRequirements(NULL, array, 0), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFreeArray(array));
	cudaError_t error = cudaMalloc3DArray(&array, &desc, (struct cudaExtent){ 16, 16, 0 }, cudaArrayDeferredMapping);
	if (deferred) {
		CHECK_OK(error);
		CHECK_OK(cudaArrayGetMemoryRequirements(&requirements, array, 0));
		CHECK(requirements.size >= 16 * 16 * 4 && requirements.alignment);
		CHECK_INT(requirements.size % requirements.alignment, 0);
		CHECK_OK(cudaFreeArray(array));
		CHECK_OK(cudaMallocMipmappedArray(&mipmap, &desc, (struct cudaExtent){ 16, 16, 0 }, 2, cudaArrayDeferredMapping));
		CHECK_OK(cudaMipmappedArrayGetMemoryRequirements(&requirements, mipmap, 0));
		CHECK(requirements.size >= 16 * 16 * 4 + 8 * 8 * 4);
		CHECK_OK(cudaFreeMipmappedArray(mipmap));
	} else {
		CHECK(error != cudaSuccess);
	}
	error = cudaMalloc3DArray(&array, &desc, (struct cudaExtent){ 256, 256, 0 }, cudaArraySparse);
	if (supported) {
		CHECK_OK(error);
		CHECK_OK(cudaArrayGetSparseProperties(&sparse, array));
		CHECK(sparse.tileExtent.width && sparse.tileExtent.height);
		CHECK_OK(cudaFreeArray(array));
	} else {
		CHECK(error != cudaSuccess);
	}
	cudaGetLastError();
	/* Luminance, and chrominance at half the size. */
	desc = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindNV12);
	if (!cudaMallocArray(&array, &desc, 16, 16, 0)) {
		struct cudaExtent extent;
		CHECK_OK(cudaArrayGetPlane(&plane, array, 1));
		CHECK_OK(cudaArrayGetInfo(NULL, &extent, NULL, plane));
		CHECK_INT(extent.width, 8);
		CHECK_INT(extent.height, 8);
		CHECK_INT(cudaArrayGetPlane(&plane, array, 2), cudaErrorInvalidValue);
		CHECK_OK(cudaFreeArray(array));
	}
	cudaGetLastError();
}

int main(void)
{
	CHECK_OK(cudaStreamCreate(&stream));
	test_rows();
	test_volumes();
	test_arrays();
	test_symbols();
	test_batches();
	test_mipmaps();
	test_array_memory();
	CHECK_OK(cudaStreamDestroy(stream));
	return check_end();
}
