/* Allocations, copies, sets and what addresses are. Expectations: CUDA Runtime API reference manual, "Memory Management",
 * "Unified Addressing", "Stream Ordered Memory Allocator". For libcudart.so.13 and libcudart.so.12. */
#include <cuda_runtime_api.h>

#include <stdint.h>

#include "check.h"

static void test_allocation(void)
{
	void *memory = (void *)1, *second = NULL;
	size_t pitch = 0, free_bytes = 0, total = 0;
	CHECK_OK(cudaMalloc(&memory, 0));
	CHECK(memory == NULL);
	CHECK_OK(cudaFree(NULL));
	CHECK_OK(cudaFreeHost(NULL));
	CHECK_OK(cudaMalloc(&memory, 1000));
	CHECK_OK(cudaMalloc(&second, 1));
	CHECK_INT((uintptr_t)memory % 256, 0); /* "suitably aligned for any kind of variable", and textures */
	CHECK_INT((uintptr_t)second % 256, 0);
	CHECK_INT(cudaFree((char *)memory + 8), cudaErrorInvalidValue);
	CHECK_OK(cudaFree(memory));
	CHECK_INT(cudaFree(memory), cudaErrorInvalidValue);
	CHECK_OK(cudaFree(second));
	CHECK_INT(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
	CHECK_INT(cudaMalloc(&memory, (size_t)1 << 60), cudaErrorMemoryAllocation);
	CHECK_INT(cudaGetLastError(), cudaErrorMemoryAllocation);
	CHECK_OK(cudaMallocPitch(&memory, &pitch, 100, 7));
	CHECK(pitch >= 100 && pitch % 32 == 0);
	CHECK_OK(cudaFree(memory));
	CHECK_OK(cudaMemGetInfo(&free_bytes, &total));
	CHECK(free_bytes > 0 && free_bytes <= total);
}

static void test_copies(void)
{
	unsigned char from[256], to[256];
	void *a, *b;
	for (int i = 0; i < 256; i++)
		from[i] = (unsigned char)(i * 7);
	memset(to, 0, sizeof to);
	CHECK_OK(cudaMalloc(&a, 256));
	CHECK_OK(cudaMalloc(&b, 256));
	CHECK_OK(cudaMemcpy(a, from, 256, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemcpy(b, a, 256, cudaMemcpyDeviceToDevice));
	CHECK_OK(cudaMemcpy(to, b, 256, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(from, to, 256));
	memset(to, 0, sizeof to);
	CHECK_OK(cudaMemcpy(to, a, 256, cudaMemcpyDefault));
	CHECK(!memcmp(from, to, 256));
	memset(to, 0, sizeof to);
	CHECK_OK(cudaMemcpy(to, from, 256, cudaMemcpyHostToHost));
	CHECK(!memcmp(from, to, 256));
	CHECK_OK(cudaMemcpy((char *)a + 3, from, 5, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemcpy(to, a, 256, cudaMemcpyDeviceToHost));
	CHECK(to[2] == from[2] && to[3] == from[0] && to[7] == from[4] && to[8] == from[8]);
	CHECK_OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
	CHECK_INT(cudaMemcpy(a, from, 4, (enum cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
	CHECK_INT(cudaMemcpy(from, to, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue); /* the source is no device memory */
	CHECK_INT(cudaMemcpy(a, from, 257, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidValue);
	CHECK_OK(cudaMemcpyPeer(b, 0, a, 0, 16));
	CHECK_INT(cudaMemcpyPeer(b, 99, a, 0, 16), cudaErrorInvalidDevice);
	cudaGetLastError();
	CHECK_OK(cudaFree(a));
	CHECK_OK(cudaFree(b));
}

static void test_sets(void)
{
	unsigned char bytes[64 * 8];
	void *memory;
	CHECK_OK(cudaMalloc(&memory, sizeof bytes));
	CHECK_OK(cudaMemset(memory, 0x1ff, sizeof bytes)); /* only the low byte counts */
	CHECK_OK(cudaMemset2D((char *)memory + 2, 64, 0x22, 3, 4));
	CHECK_OK(cudaMemcpy(bytes, memory, sizeof bytes, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 64 * 8; i++) {
		int inside = i / 64 < 4 && i % 64 >= 2 && i % 64 < 5;
		CHECK_INT(bytes[i], inside ? 0x22 : 0xff);
	}
	/* Three slices of two rows out of four, four bytes wide, 16 apart. */
	struct cudaPitchedPtr pitched = { memory, 16, 16, 4 };
	struct cudaExtent extent = { 4, 2, 3 };
	CHECK_OK(cudaMemset(memory, 0, sizeof bytes));
	CHECK_OK(cudaMemset3D(pitched, 7, extent));
	CHECK_OK(cudaMemcpy(bytes, memory, sizeof bytes, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 64 * 8; i++) {
		int slice = i / 64, row = i % 64 / 16, column = i % 16;
		CHECK_INT(bytes[i], slice < 3 && row < 2 && column < 4 ? 7 : 0);
	}
	CHECK_OK(cudaMemset(memory, 1, 0));
	CHECK_INT(cudaMemset2D(memory, 8, 0, 9, 2), cudaErrorInvalidValue);
	CHECK_INT(cudaMemset(NULL, 0, 4), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFree(memory));
}

static void test_rows(void)
{
	unsigned char from[6 * 10], to[8 * 12];
	void *memory;
	size_t pitch;
	for (int i = 0; i < 60; i++)
		from[i] = (unsigned char)(i + 1);
	memset(to, 0xaa, sizeof to);
	CHECK_OK(cudaMallocPitch(&memory, &pitch, 10, 6));
	CHECK_OK(cudaMemcpy2D(memory, pitch, from, 10, 10, 6, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemcpy2D(to + 1, 12, (char *)memory + pitch + 2, pitch, 5, 4, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 8 * 12; i++) {
		int row = i / 12, column = i % 12 - 1;
		int inside = row < 4 && column >= 0 && column < 5;
		CHECK_INT(to[i], inside ? from[(row + 1) * 10 + column + 2] : 0xaa);
	}
	CHECK_INT(cudaMemcpy2D(memory, 8, from, 10, 10, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
	CHECK_OK(cudaMemcpy2D(memory, pitch, from, 10, 10, 0, cudaMemcpyHostToDevice));
	cudaGetLastError();
	CHECK_OK(cudaFree(memory));
}

/* A box out of the middle of one volume into the middle of another. */
static void test_volumes(void)
{
	enum { W = 6, H = 5, D = 4 };
	unsigned char from[W * H * D], to[W * H * D];
	struct cudaPitchedPtr volume;
	struct cudaExtent whole = { W, H, D };
	struct cudaMemcpy3DParms in = { 0 }, out = { 0 };
	for (int i = 0; i < W * H * D; i++)
		from[i] = (unsigned char)i;
	memset(to, 0xcc, sizeof to);
	CHECK_OK(cudaMalloc3D(&volume, whole));
	CHECK_INT(volume.xsize, W);
	CHECK_INT(volume.ysize, H);
	in.srcPtr = (struct cudaPitchedPtr){ from, W, W, H };
	in.dstPtr = volume;
	in.extent = whole;
	in.kind = cudaMemcpyHostToDevice;
	CHECK_OK(cudaMemcpy3D(&in));
	out.srcPtr = volume;
	out.srcPos = (struct cudaPos){ 1, 2, 1 };
	out.dstPtr = (struct cudaPitchedPtr){ to, W, W, H };
	out.dstPos = (struct cudaPos){ 2, 1, 2 };
	out.extent = (struct cudaExtent){ 3, 2, 2 };
	out.kind = cudaMemcpyDeviceToHost;
	CHECK_OK(cudaMemcpy3D(&out));
	for (int z = 0; z < D; z++)
		for (int y = 0; y < H; y++)
			for (int x = 0; x < W; x++) {
				int inside = x >= 2 && x < 5 && y >= 1 && y < 3 && z >= 2;
				int source = (x - 1) + (y + 1) * W + (z - 1) * W * H;
				CHECK_INT(to[x + y * W + z * W * H], inside ? from[source] : 0xcc);
			}
	out.srcPtr.ptr = NULL;
	CHECK_INT(cudaMemcpy3D(&out), cudaErrorInvalidValue);
	CHECK_INT(cudaMemcpy3D(NULL), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFree(volume.ptr));
}

static void test_pointers(void)
{
	struct cudaPointerAttributes attributes;
	void *device, *pinned, *managed, *mapped = NULL, *registered;
	unsigned flags = 0;
	int local = 0;
	CHECK_OK(cudaMalloc(&device, 64));
	CHECK_OK(cudaHostAlloc(&pinned, 64, cudaHostAllocPortable | cudaHostAllocMapped));
	CHECK_OK(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal));
	CHECK_OK(cudaPointerGetAttributes(&attributes, (char *)device + 5));
	CHECK_INT(attributes.type, cudaMemoryTypeDevice);
	CHECK_INT(attributes.device, 0);
	CHECK(attributes.devicePointer == (char *)device + 5);
	CHECK_OK(cudaPointerGetAttributes(&attributes, pinned));
	CHECK_INT(attributes.type, cudaMemoryTypeHost);
	CHECK(attributes.hostPointer == pinned);
	CHECK_OK(cudaPointerGetAttributes(&attributes, managed));
	CHECK_INT(attributes.type, cudaMemoryTypeManaged);
	CHECK(attributes.hostPointer == managed && attributes.devicePointer == managed);
	CHECK_OK(cudaPointerGetAttributes(&attributes, &local));
	CHECK_INT(attributes.type, cudaMemoryTypeUnregistered);
	CHECK(attributes.devicePointer == NULL);
	CHECK_OK(cudaHostGetFlags(&flags, pinned));
	CHECK_INT(flags & cudaHostAllocPortable, cudaHostAllocPortable);
	CHECK_OK(cudaHostGetDevicePointer(&mapped, pinned, 0));
	CHECK(mapped != NULL);
	registered = malloc(8192);
	CHECK_OK(cudaHostRegister(registered, 8192, cudaHostRegisterDefault));
	CHECK_OK(cudaPointerGetAttributes(&attributes, (char *)registered + 100));
	CHECK_INT(attributes.type, cudaMemoryTypeHost);
	CHECK_INT(cudaHostRegister(registered, 100, 0), cudaErrorHostMemoryAlreadyRegistered);
	CHECK_OK(cudaHostUnregister(registered));
	CHECK_INT(cudaHostUnregister(registered), cudaErrorHostMemoryNotRegistered);
	cudaGetLastError();
	free(registered);
	memset(managed, 3, 64);
	CHECK_OK(cudaMemcpy(pinned, managed, 64, cudaMemcpyDefault));
	CHECK_INT(((char *)pinned)[63], 3);
	CHECK_OK(cudaFree(device));
	CHECK_OK(cudaFreeHost(pinned));
	CHECK_OK(cudaFree(managed));
	CHECK_INT(cudaMallocManaged(&managed, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
	CHECK_INT(cudaMallocManaged(&managed, 8, cudaMemAttachSingle), cudaErrorInvalidValue);
	cudaGetLastError();
}

static void test_pools(void)
{
	cudaMemPool_t pool;
	cudaStream_t stream;
	void *memory = NULL;
	int supported = 0, value = 0;
	unsigned long long threshold = 1;
	CHECK_OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
	CHECK_OK(cudaStreamCreate(&stream));
	CHECK_OK(cudaMallocAsync(&memory, 400, stream));
	CHECK_OK(cudaMemsetAsync(memory, 0x11, 400, stream));
	CHECK_OK(cudaMemcpyAsync(&value, memory, 4, cudaMemcpyDeviceToHost, stream));
	CHECK_OK(cudaFreeAsync(memory, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_INT(value, 0x11111111);
	CHECK_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	CHECK_INT(threshold, 0);
	struct cudaMemPoolProps properties = { .allocType = cudaMemAllocationTypePinned,
					       .location = { cudaMemLocationTypeDevice, 0 } };
	CHECK_OK(cudaMemPoolCreate(&pool, &properties));
	CHECK_OK(cudaMallocFromPoolAsync(&memory, 100, pool, stream));
	CHECK_OK(cudaFreeAsync(memory, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_OK(cudaMemPoolDestroy(pool));
	CHECK_INT(cudaMallocFromPoolAsync(&memory, 100, NULL, stream), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaStreamDestroy(stream));
}

int main(void)
{
	test_allocation();
	test_copies();
	test_sets();
	test_rows();
	test_volumes();
	test_pointers();
	test_pools();
	return check_end();
}
