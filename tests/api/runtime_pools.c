/* Stream-ordered memory, its pools, and managed memory: attributes, access, limits, which pool a device uses; advice, prefetching,
 * what a range says of itself. Expectations: CUDA Runtime API reference manual, "Stream Ordered Memory Allocator", "Memory
 * Management". For libcudart.so.13 and libcudart.so.12. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include "check.h"

#if RUNTIME_MAJOR == 12
cudaError_t plain_prefetch(const void *, size_t, int, cudaStream_t) __asm__("cudaMemPrefetchAsync");
cudaError_t plain_advise(const void *, size_t, enum cudaMemoryAdvise, int) __asm__("cudaMemAdvise");
#define prefetch(pointer, count, device, stream) plain_prefetch(pointer, count, device, stream)
#define advise(pointer, count, advice, device) plain_advise(pointer, count, advice, device)
#else
static struct cudaMemLocation location_of(int device)
{
	return (struct cudaMemLocation){ device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
					 device == cudaCpuDeviceId ? 0 : device };
}
#define prefetch(pointer, count, device, stream) cudaMemPrefetchAsync(pointer, count, location_of(device), 0, stream)
#define advise(pointer, count, advice, device) cudaMemAdvise(pointer, count, advice, location_of(device))
#endif
cudaError_t cudaMemPrefetchAsync_v2(const void *pointer, size_t count, struct cudaMemLocation location, unsigned int flags,
				    cudaStream_t stream);
cudaError_t cudaMemAdvise_v2(const void *pointer, size_t count, enum cudaMemoryAdvise advice, struct cudaMemLocation location);

static cudaStream_t stream;

static cudaMemPool_t make_pool(void)
{
	struct cudaMemPoolProps properties = { .allocType = cudaMemAllocationTypePinned,
					       .location = { cudaMemLocationTypeDevice, 0 } };
	cudaMemPool_t pool = NULL;
	CHECK_OK(cudaMemPoolCreate(&pool, &properties));
	return pool;
}

static unsigned long long attribute(cudaMemPool_t pool, enum cudaMemPoolAttr which)
{
	unsigned long long value = 0xdead;
	CHECK_OK(cudaMemPoolGetAttribute(pool, which, &value));
	return value;
}

static void test_attributes(void)
{
	cudaMemPool_t pool = make_pool();
	unsigned long long keep = ~0ULL, zero = 0, one = 1;
	int reuse = 9;
	void *a, *b;
	CHECK_INT(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0);
	CHECK_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	CHECK(attribute(pool, cudaMemPoolAttrReleaseThreshold) == keep);
	CHECK_OK(cudaMallocFromPoolAsync(&a, 1 << 20, pool, stream));
	CHECK_OK(cudaMallocFromPoolAsync(&b, 1 << 16, pool, stream));
	CHECK(attribute(pool, cudaMemPoolAttrUsedMemCurrent) >= (1 << 20) + (1 << 16));
	CHECK(attribute(pool, cudaMemPoolAttrReservedMemCurrent) >= attribute(pool, cudaMemPoolAttrUsedMemCurrent));
	CHECK_OK(cudaFreeAsync(a, stream));
	CHECK_OK(cudaFreeAsync(b, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_INT(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0);
	CHECK(attribute(pool, cudaMemPoolAttrUsedMemHigh) >= (1 << 20) + (1 << 16));
	/* The threshold keeps what is free; trimming does not. */
	CHECK(attribute(pool, cudaMemPoolAttrReservedMemCurrent) >= 1 << 20);
	CHECK_OK(cudaMemPoolTrimTo(pool, 0));
	CHECK_INT(attribute(pool, cudaMemPoolAttrReservedMemCurrent), 0);
	CHECK(attribute(pool, cudaMemPoolAttrReservedMemHigh) >= 1 << 20);
	CHECK_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
	CHECK_INT(attribute(pool, cudaMemPoolAttrReservedMemHigh), 0);
	CHECK_INT(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one), cudaErrorInvalidValue); /* only to 0 */
	CHECK_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, &reuse));
	CHECK_INT(reuse, 1);
	reuse = 0;
	CHECK_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse));
	reuse = 9;
	CHECK_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse));
	CHECK_INT(reuse, 0);
	CHECK_INT(cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)99, &zero), cudaErrorInvalidValue);
	CHECK_INT(cudaMemPoolTrimTo(NULL, 0), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaMemPoolDestroy(pool));
}

static void test_access(void)
{
	cudaMemPool_t pool = make_pool();
	struct cudaMemLocation here = { cudaMemLocationTypeDevice, 0 }, nowhere = { cudaMemLocationTypeDevice, 99 };
	struct cudaMemAccessDesc access = { here, cudaMemAccessFlagsProtReadWrite };
	enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
	CHECK_OK(cudaMemPoolGetAccess(&flags, pool, &here));
	CHECK_INT(flags, cudaMemAccessFlagsProtReadWrite);
	CHECK_OK(cudaMemPoolSetAccess(pool, &access, 1));
	access.flags = cudaMemAccessFlagsProtNone; /* its own device cannot lose it */
	CHECK(cudaMemPoolSetAccess(pool, &access, 1) != cudaSuccess);
	access.location = nowhere;
	CHECK(cudaMemPoolSetAccess(pool, &access, 1) != cudaSuccess);
	CHECK(cudaMemPoolGetAccess(&flags, pool, &nowhere) != cudaSuccess);
	CHECK_INT(cudaMemPoolGetAccess(NULL, pool, &here), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaMemPoolDestroy(pool));
}

/* The device's current pool is where cudaMallocAsync() takes memory from; a pool that goes is the current one no more. */
static void test_current(void)
{
	cudaMemPool_t pool = make_pool(), standard, found;
	struct cudaMemLocation here = { cudaMemLocationTypeDevice, 0 };
	void *memory;
	CHECK_OK(cudaDeviceGetDefaultMemPool(&standard, 0));
	CHECK_OK(cudaDeviceGetMemPool(&found, 0));
	CHECK(found == standard);
	CHECK_OK(cudaDeviceSetMemPool(0, pool));
	CHECK_OK(cudaDeviceGetMemPool(&found, 0));
	CHECK(found == pool);
	CHECK_OK(cudaMallocAsync(&memory, 1000, stream));
	CHECK(attribute(pool, cudaMemPoolAttrUsedMemCurrent) >= 1000);
	CHECK_OK(cudaFreeAsync(memory, stream));
	CHECK_OK(cudaMemGetMemPool(&found, &here, cudaMemAllocationTypePinned));
	CHECK(found == pool);
	CHECK_OK(cudaMemGetDefaultMemPool(&found, &here, cudaMemAllocationTypePinned));
	CHECK(found == standard);
	CHECK_OK(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, standard));
	CHECK_OK(cudaDeviceGetMemPool(&found, 0));
	CHECK(found == standard);
	CHECK_OK(cudaDeviceSetMemPool(0, pool));
	CHECK_OK(cudaMemPoolDestroy(pool));
	CHECK_OK(cudaDeviceGetMemPool(&found, 0));
	CHECK(found == standard);
	CHECK(cudaMemPoolDestroy(standard) != cudaSuccess);
	CHECK_INT(cudaDeviceGetMemPool(NULL, 0), cudaErrorInvalidValue);
	CHECK_INT(cudaDeviceGetMemPool(&found, 99), cudaErrorInvalidDevice);
	CHECK(cudaDeviceSetMemPool(0, NULL) != cudaSuccess);
	CHECK_INT(cudaMemGetMemPool(NULL, &here, cudaMemAllocationTypePinned), cudaErrorInvalidValue);
	CHECK(cudaMemGetDefaultMemPool(&found, NULL, cudaMemAllocationTypePinned) != cudaSuccess);
	CHECK(cudaMemSetMemPool(NULL, cudaMemAllocationTypePinned, standard) != cudaSuccess);
	cudaGetLastError();
}

/* ---- managed memory ------------------------------------------------------------------------------------------------------- */

static void test_managed(void)
{
	enum { BYTES = 1 << 16 };
	unsigned char *memory;
	int value = -9, device = -9, mostly = -9;
	struct cudaMemLocation host = { cudaMemLocationTypeHost, 0 }, card = { cudaMemLocationTypeDevice, 0 };
	CHECK_OK(cudaMallocManaged((void **)&memory, BYTES, cudaMemAttachGlobal));
	memset(memory, 3, BYTES);
	CHECK_OK(advise(memory, BYTES, cudaMemAdviseSetReadMostly, 0));
	CHECK_OK(cudaMemRangeGetAttribute(&mostly, 4, cudaMemRangeAttributeReadMostly, memory, BYTES));
	CHECK_INT(mostly, 1);
	CHECK_OK(advise(memory, BYTES, cudaMemAdviseUnsetReadMostly, 0));
	CHECK_OK(cudaMemAdvise_v2(memory, BYTES, cudaMemAdviseSetPreferredLocation, card));
	CHECK_OK(cudaMemRangeGetAttribute(&device, 4, cudaMemRangeAttributePreferredLocation, memory, BYTES));
	CHECK_INT(device, 0);
	CHECK_OK(cudaMemAdvise_v2(memory, BYTES, cudaMemAdviseSetPreferredLocation, host));
	CHECK_OK(prefetch(memory, BYTES, 0, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	void *answers[] = { &mostly, &device, &value };
	size_t sizes[] = { 4, 4, 4 };
	enum cudaMemRangeAttribute asked[] = { cudaMemRangeAttributeReadMostly, cudaMemRangeAttributePreferredLocation,
					       cudaMemRangeAttributeLastPrefetchLocation };
	CHECK_OK(cudaMemRangeGetAttributes(answers, sizes, asked, 3, memory, BYTES));
	CHECK_INT(mostly, 0);
	CHECK_INT(device, cudaCpuDeviceId);
	CHECK_INT(value, 0);
	CHECK_OK(cudaMemPrefetchAsync_v2(memory, BYTES, host, 0, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeLastPrefetchLocation, memory, BYTES));
	CHECK_INT(value, cudaCpuDeviceId);
	CHECK(memory[0] == 3 && memory[BYTES - 1] == 3); /* wherever it is */
	CHECK(cudaMemRangeGetAttribute(&value, 3, cudaMemRangeAttributeReadMostly, memory, BYTES) != cudaSuccess);
	CHECK_INT(cudaMemRangeGetAttribute(NULL, 4, cudaMemRangeAttributeReadMostly, memory, BYTES), cudaErrorInvalidValue);
	CHECK_INT(cudaMemRangeGetAttributes(NULL, sizes, asked, 3, memory, BYTES), cudaErrorInvalidValue);
	CHECK_INT(advise(memory, BYTES, (enum cudaMemoryAdvise)77, 0), cudaErrorInvalidValue);
	CHECK_INT(prefetch(memory, BYTES, 99, stream), cudaErrorInvalidDevice);
	CHECK_INT(cudaMemPrefetchAsync_v2(memory, BYTES, card, 1, stream), cudaErrorInvalidValue); /* flags */
	cudaGetLastError();
	/* To a stream, and back to all. */
	CHECK_OK(cudaStreamAttachMemAsync(stream, memory, 0, cudaMemAttachSingle));
	CHECK_OK(cudaStreamAttachMemAsync(stream, memory, 0, cudaMemAttachGlobal));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_INT(cudaStreamAttachMemAsync(stream, memory, 0, 0x80), cudaErrorInvalidValue);
	CHECK(cudaStreamAttachMemAsync(NULL, memory, 0, cudaMemAttachSingle) != cudaSuccess); /* the default stream has all */
	cudaGetLastError();
	CHECK_OK(cudaFree(memory));
}

static void test_batches(void)
{
	enum { BYTES = 1 << 16 };
	unsigned char *memory;
	void *pointers[2];
	size_t sizes[2] = { BYTES / 4, BYTES / 4 }, index = 0;
	struct cudaMemLocation card = { cudaMemLocationTypeDevice, 0 };
	CHECK_OK(cudaMallocManaged((void **)&memory, BYTES, cudaMemAttachGlobal));
	memset(memory, 7, BYTES);
	pointers[0] = memory;
	pointers[1] = memory + BYTES / 2;
	CHECK_OK(cudaMemPrefetchBatchAsync(pointers, sizes, 2, &card, &index, 1, 0, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	int where = -9;
	CHECK_OK(cudaMemRangeGetAttribute(&where, 4, cudaMemRangeAttributeLastPrefetchLocation, memory, BYTES / 4));
	CHECK_INT(where, 0);
	CHECK(memory[0] == 7 && memory[BYTES - 1] == 7);
	/* What is discarded may read as anything; what is not keeps its value, and writes after it hold. */
	CHECK_OK(cudaMemDiscardBatchAsync(pointers, sizes, 1, 0, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_INT(memory[BYTES / 4], 7);
	memset(memory, 8, BYTES / 4);
	CHECK_OK(cudaMemDiscardAndPrefetchBatchAsync(pointers + 1, sizes, 1, &card, &index, 1, 0, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_INT(memory[0], 8);
	CHECK_INT(memory[BYTES / 2 - 1], 7);
	CHECK_INT(memory[BYTES - 1], 7);
	CHECK_INT(cudaMemPrefetchBatchAsync(pointers, sizes, 0, &card, &index, 1, 0, stream), cudaErrorInvalidValue);
	CHECK_INT(cudaMemPrefetchBatchAsync(NULL, sizes, 2, &card, &index, 1, 0, stream), cudaErrorInvalidValue);
	CHECK_INT(cudaMemDiscardBatchAsync(pointers, NULL, 2, 0, stream), cudaErrorInvalidValue);
	CHECK_INT(cudaMemDiscardAndPrefetchBatchAsync(pointers, sizes, 2, NULL, &index, 1, 0, stream), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFree(memory));
}

int main(void)
{
	CHECK_OK(cudaStreamCreate(&stream));
	test_attributes();
	test_access();
	test_current();
	test_managed();
	test_batches();
	CHECK_OK(cudaStreamDestroy(stream));
	return check_end();
}
