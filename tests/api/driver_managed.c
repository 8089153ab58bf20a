/* Managed memory: advice, prefetching, ranges, one by one and in batches; what pointers say and are told; access to mapped memory.
 * Expectations: CUDA Driver API reference manual, "Unified Addressing", "Memory Management", "Virtual Memory Management". */
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stdbool.h>

#include "check.h"

enum { BYTES = 1 << 20 };

static CUdeviceptr managed, plain;
static CUstream stream;
static const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
static const CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_INVALID, 0}, far = {CU_MEM_LOCATION_TYPE_DEVICE, 99};

static int range_attribute(CUmem_range_attribute attribute)
{
	int value = -77;

	CHECK_OK(cuMemRangeGetAttribute(&value, sizeof value, attribute, managed, BYTES));
	return value;
}

static void test_advice(void)
{
	int read_mostly = -1, preferred = -1, users[2] = {-1, -1};
	void *data[] = {&read_mostly, &preferred, users};
	size_t sizes[] = {sizeof read_mostly, sizeof preferred, sizeof users};
	CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
					      CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY};

	CHECK_INT(range_attribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
	CHECK_OK(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	CHECK_INT(range_attribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
	CHECK_OK(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
	CHECK_INT(range_attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
	CHECK_OK(cuMemAdvise_v2(managed, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
	CHECK_OK(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
	CHECK_OK(cuMemRangeGetAttributes(data, sizes, attributes, 3, managed, BYTES));
	CHECK(read_mostly == 1 && preferred == 0 && users[0] == 0 && users[1] == CU_DEVICE_INVALID);
	CHECK_OK(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
	CHECK_OK(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0));
	CHECK_OK(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 0));
	CHECK_OK(cuMemRangeGetAttributes(data, sizes, attributes, 3, managed, BYTES));
	CHECK(read_mostly == 0 && preferred == CU_DEVICE_INVALID && users[0] == CU_DEVICE_INVALID);
	CHECK_INT(cuMemAdvise(managed, BYTES, (CUmem_advise)99, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuMemAdvise(plain, BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE); /* not managed */
	CHECK_INT(cuMemRangeGetAttributes(data, sizes, attributes, 0, managed, BYTES), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemRangeGetAttributes(NULL, sizes, attributes, 3, managed, BYTES), CUDA_ERROR_INVALID_VALUE);
	sizes[0] = 3;
	CHECK_INT(cuMemRangeGetAttributes(data, sizes, attributes, 3, managed, BYTES), CUDA_ERROR_INVALID_VALUE);
}

static void test_prefetch(void)
{
	CUdeviceptr ranges[2] = {managed, managed + BYTES / 2};
	size_t sizes[2] = {BYTES / 2, BYTES / 2}, starts[2] = {0, 1}, bad[2] = {1, 1};
	CUmemLocation locations[2] = {device, host};
	volatile unsigned char *bytes = (volatile unsigned char *)(size_t)managed;

	bytes[0] = 5;
	CHECK_OK(cuMemPrefetchAsync(managed, BYTES, 0, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(range_attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
	CHECK_OK(cuMemPrefetchAsync(managed, BYTES, CU_DEVICE_CPU, stream));
	CHECK_INT(range_attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_CPU);
	CHECK_OK(cuMemPrefetchBatchAsync(ranges, sizes, 2, &locations[0], starts, 1, 0, stream));
	CHECK_INT(range_attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(bytes[0], 5); /* where it is, it is what it was */
	CHECK_OK(cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, starts, 2, 0, stream));
	CHECK_OK(cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 1, &locations[0], starts, 1, 0, stream));
	CHECK_INT(range_attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
	CHECK_OK(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, stream));
	CHECK_OK(cuMemsetD8Async(managed, 9, BYTES, stream)); /* what is discarded can be written again */
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK(bytes[0] == 9 && bytes[BYTES - 1] == 9);
	CHECK_INT(cuMemPrefetchAsync(plain, BYTES, 0, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPrefetchAsync(managed, BYTES, 99, stream), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuMemPrefetchAsync(managed, 0, 0, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, bad, 1, 0, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, starts, 3, 0, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, starts, 2, 1, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemDiscardBatchAsync(ranges, sizes, 0, 0, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemDiscardBatchAsync(ranges, sizes, 2, 1, stream), CUDA_ERROR_INVALID_VALUE);
	ranges[1] = plain;
	CHECK_INT(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 2, locations, starts, 1, 0, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemDiscardAndPrefetchBatchAsync(NULL, sizes, 2, locations, starts, 1, 0, stream), CUDA_ERROR_INVALID_VALUE);
}

static void test_pointers(void)
{
	unsigned on = 1;
	bool synchronous = false;

	CHECK_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain));
	CHECK_OK(cuPointerGetAttribute(&synchronous, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain + 100));
	CHECK(synchronous);
	on = 0;
	CHECK_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain));
	CHECK_OK(cuPointerGetAttribute(&synchronous, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain));
	CHECK(!synchronous);
	CHECK_INT(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, plain), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 64), CUDA_ERROR_INVALID_VALUE);
}

/* Memory attached to a stream, or to all again: whole allocations of managed memory only. */
static void test_attachment(void)
{
	CHECK_OK(cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE));
	CHECK_OK(cuMemsetD8Async(managed, 3, BYTES, stream)); /* the stream still may */
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(*(volatile unsigned char *)(size_t)managed, 3);
	CHECK_OK(cuStreamAttachMemAsync(stream, managed, BYTES, CU_MEM_ATTACH_GLOBAL));
	CHECK_INT(cuStreamAttachMemAsync(stream, managed, BYTES / 2, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamAttachMemAsync(stream, plain, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamAttachMemAsync(NULL, managed, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamAttachMemAsync(stream, managed, 0, 3), CUDA_ERROR_INVALID_VALUE);
}

static void test_access(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}, got;
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READ};
	CUmemGenericAllocationHandle memory;
	unsigned long long flags = 99;
	CUdeviceptr at;
	size_t unit = 0;

	CHECK_OK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK_OK(cuMemAddressReserve(&at, unit, 0, 0, 0));
	CHECK_OK(cuMemCreate(&memory, unit, &properties, 0));
	CHECK_OK(cuMemGetAllocationPropertiesFromHandle(&got, memory));
	CHECK(got.type == CU_MEM_ALLOCATION_TYPE_PINNED && got.location.type == CU_MEM_LOCATION_TYPE_DEVICE && got.location.id == 0);
	CHECK_INT(cuMemGetAllocationPropertiesFromHandle(NULL, memory), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemMap(at, unit, 0, memory, 0));
	CHECK_OK(cuMemGetAccess(&flags, &device, at));
	CHECK_INT(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	CHECK_OK(cuMemSetAccess(at, unit, &access, 1));
	CHECK_OK(cuMemGetAccess(&flags, &device, at + unit / 2));
	CHECK_INT(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CHECK_OK(cuMemSetAccess(at, unit, &access, 1));
	CHECK_OK(cuMemGetAccess(&flags, &device, at));
	CHECK_INT(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CHECK_INT(cuMemGetAccess(&flags, &far, at), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuMemGetAccess(&flags, &device, plain), CUDA_ERROR_INVALID_VALUE); /* not mapped memory */
	CHECK_INT(cuMemGetAccess(NULL, &device, at), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemGetAccess(&flags, NULL, at), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemUnmap(at, unit));
	CHECK_INT(cuMemGetAccess(&flags, &device, at), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemRelease(memory));
	CHECK_OK(cuMemAddressFree(at, unit));
}

int main(void)
{
	CUcontext context;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate_v2(&context, 0, 0));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
	CHECK_OK(cuMemAlloc_v2(&plain, BYTES));
	CHECK_INT(cuMemAdvise_v2(managed, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, nowhere), CUDA_ERROR_INVALID_VALUE);
	test_advice();
	test_prefetch();
	test_pointers();
	test_attachment();
	test_access();
	CHECK_OK(cuMemFree_v2(managed));
	CHECK_OK(cuMemFree_v2(plain));
	CHECK_OK(cuCtxDestroy_v2(context));
	return check_end();
}
