/* Memory of every kind, and what is known of pointers. Expectations: CUDA Driver API reference manual, "Memory
 * Management", "Unified Addressing", "Stream Ordered Memory Allocator", "Virtual Memory Management"; error statuses as cards answer. */
#define _GNU_SOURCE
#include <cuda.h>

#include <stdint.h>
#include <unistd.h>

#include "check.h"

static CUdevice device;
static CUcontext context;

static void test_device_memory(void)
{
	CUdeviceptr a = 0, b = 0, base = 0;
	size_t size = 0, available = 0, total = 0, pitch = 0;
	unsigned char bytes[64], back[64];

	CHECK_INT(cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemAlloc(NULL, 16), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemAlloc(&a, SIZE_MAX / 2), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_INT(cuMemAlloc(&a, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_OK(cuMemGetInfo(&available, &total));
	CHECK(available <= total && total > 0);
	CHECK_INT(cuMemAlloc(&a, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_OK(cuMemAlloc(&a, 1000));
	CHECK_OK(cuMemAlloc(&b, 1));
	CHECK(a && b && a != b);
	CHECK_INT(a % 256, 0); /* suitably aligned for any variable, and for textures */
	CHECK_INT(b % 256, 0);
	CHECK_OK(cuMemGetAddressRange(&base, &size, a + 999));
	CHECK(base == a);
	CHECK_INT(size, 1000);
	CHECK(cuMemGetAddressRange(&base, &size, a + 5000000) != CUDA_SUCCESS);
	for (int i = 0; i < 64; i++)
		bytes[i] = (unsigned char)(i * 7);
	CHECK_OK(cuMemcpyHtoD(a + 100, bytes, 64));
	CHECK_OK(cuMemcpyDtoH(back, a + 100, 64));
	CHECK(!memcmp(bytes, back, 64));
	CHECK_INT(cuMemcpyHtoD(a + 990, bytes, 64), CUDA_ERROR_INVALID_VALUE); /* past the end */
	CHECK_INT(cuMemcpyHtoD(0, bytes, 64), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyDtoH(back, (CUdeviceptr)16, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemcpyHtoD(a, NULL, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemcpyHtoD(a, bytes, 0));
	CHECK_INT(cuMemFree(a + 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemFree((CUdeviceptr)(uintptr_t)bytes), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree(a));
	CHECK_INT(cuMemFree(a), CUDA_ERROR_INVALID_VALUE); /* twice */
	CHECK_OK(cuMemFree(b));
	CHECK_OK(cuMemFree(0));
	CHECK_OK(cuMemAllocPitch(&a, &pitch, 100, 10, 4));
	CHECK(pitch >= 100 && pitch % 32 == 0);
	CHECK_OK(cuMemFree(a));
	CHECK_INT(cuMemAllocPitch(&a, &pitch, 100, 10, 5), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemAllocPitch(&a, &pitch, SIZE_MAX / 4, SIZE_MAX / 4, 4), CUDA_ERROR_OUT_OF_MEMORY);
}

static void test_memset(void)
{
	CUdeviceptr p;
	unsigned char back[256];
	unsigned words[8];
	unsigned short halves[8];

	CHECK_OK(cuMemAlloc(&p, 256));
	CHECK_OK(cuMemsetD8(p, 0x5A, 256));
	CHECK_OK(cuMemsetD8(p + 10, 1, 20));
	CHECK_OK(cuMemcpyDtoH(back, p, 256));
	for (int i = 0; i < 256; i++)
		CHECK_INT(back[i], i >= 10 && i < 30 ? 1 : 0x5A);
	CHECK_OK(cuMemsetD16(p, 0xBEEF, 8));
	CHECK_OK(cuMemcpyDtoH(halves, p, sizeof halves));
	CHECK_INT(halves[0], 0xBEEF);
	CHECK_INT(halves[7], 0xBEEF);
	CHECK_OK(cuMemsetD32(p, 0xDEADBEEF, 8));
	CHECK_OK(cuMemcpyDtoH(words, p, sizeof words));
	CHECK(words[0] == 0xDEADBEEF && words[7] == 0xDEADBEEF);
	CHECK_INT(cuMemsetD16(p + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD32(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD8(p, 0, 257), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD8(p, 0, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD32(p, 0, SIZE_MAX / 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemsetD8(p, 0, 0));
	CHECK_OK(cuMemsetD8(0, 0, 0)); /* nothing to set always works */
	CHECK_OK(cuMemsetD2D8(p, 64, 9, 3, 4));
	CHECK_OK(cuMemcpyDtoH(back, p, 256));
	CHECK(back[0] == 9 && back[2] == 9 && back[3] != 9 && back[64] == 9 && back[194] == 9 && back[195] != 9);
	CHECK_INT(cuMemsetD2D8(p, 2, 9, 3, 4), CUDA_ERROR_INVALID_VALUE); /* a pitch below the width */
	CHECK_OK(cuMemsetD2D8(p, 2, 9, 3, 1));                            /* means nothing for one row */
	CHECK_INT(cuMemsetD2D8(p, 64, 9, 3, 5), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree(p));
}

static void test_host_memory(void)
{
	CUdeviceptr p = 0;
	CUmemorytype type = 0;
	unsigned flags = 0;
	char *pinned = NULL, *mine = malloc(8192);

	CHECK_OK(cuMemHostAlloc((void **)&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE));
	memset(pinned, 1, 4096);
	CHECK_OK(cuMemHostGetDevicePointer(&p, pinned + 8, 0));
	CHECK(p == (CUdeviceptr)(uintptr_t)(pinned + 8)); /* one address space */
	CHECK_INT(cuMemHostGetDevicePointer(&p, pinned, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemHostGetFlags(&flags, pinned));
	CHECK(flags & CU_MEMHOSTALLOC_PORTABLE);
	CHECK_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pinned));
	CHECK_INT(type, CU_MEMORYTYPE_HOST);
	CHECK_OK(cuMemsetD8((CUdeviceptr)(uintptr_t)pinned, 7, 16));
	CHECK(pinned[0] == 7 && pinned[15] == 7 && pinned[16] == 1);
	CHECK_INT(cuMemHostAlloc((void **)&pinned, 64, 0x100), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemFreeHost(pinned + 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemFreeHost(mine), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFreeHost(pinned));
	CHECK_INT(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemHostGetDevicePointer(&p, mine, 0), CUDA_ERROR_INVALID_VALUE);

	CHECK_OK(cuMemHostRegister(mine, 8192, 0));
	CHECK_INT(cuMemHostRegister(mine, 8192, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_INT(cuMemHostRegister(mine + 4096, 8192, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CHECK_OK(cuMemHostGetDevicePointer(&p, mine + 100, 0));
	CHECK_INT(cuMemHostUnregister(mine + 100), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD8((CUdeviceptr)(uintptr_t)mine, 0, 16), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemHostUnregister(mine));
	CHECK_INT(cuMemHostUnregister(mine), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	CHECK_INT(cuMemHostRegister(NULL, 16, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemHostRegister(mine, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemHostRegister(mine, 16, 0x80), CUDA_ERROR_INVALID_VALUE);
	free(mine);
}

static void test_managed(void)
{
	CUdeviceptr p = 0;
	CUmemLocation there = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
	unsigned char managed = 0;
	int *values, read_mostly = -1;

	CHECK_INT(cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemAllocManaged(&p, 64, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
	CHECK_OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
	CHECK_INT(managed, 1);
	values = (int *)(uintptr_t)p;
	values[3] = 42;
	CHECK_OK(cuMemsetD32(p, 5, 3));
	CHECK_OK(cuCtxSynchronize());
	CHECK(values[0] == 5 && values[2] == 5 && values[3] == 42);
	CHECK_OK(cuMemAdvise(p, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, there));
	CHECK_OK(cuMemRangeGetAttribute(&read_mostly, sizeof read_mostly, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 4096));
	CHECK_INT(read_mostly, 1);
	CHECK_OK(cuMemPrefetchAsync(p, 4096, there, 0, NULL));
	CHECK_OK(cuMemPrefetchAsync(p, 4096, host, 0, NULL));
	CHECK_INT(cuMemPrefetchAsync(p, 8192, there, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemAdvise(p, 4096, (CUmem_advise)77, there), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuMemFree(p));
}

static void test_pointer_attributes(void)
{
	CUdeviceptr p;
	CUcontext owner = NULL;
	CUpointer_attribute wanted[3] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
					 CU_POINTER_ATTRIBUTE_HOST_POINTER};
	unsigned type = 99;
	CUdeviceptr device_pointer = 99;
	void *host_pointer = &type, *out[3] = {&type, &device_pointer, &host_pointer};
	unsigned long long id = 0, other = 0;
	size_t size = 0;
	int ordinal = -1;

	CHECK_OK(cuMemAlloc(&p, 5000));
	CHECK_OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, p + 4999));
	CHECK(owner == context);
	CHECK_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
	CHECK_INT(ordinal, device);
	CHECK_OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 10));
	CHECK_INT(size, 5000);
	CHECK_OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
	CHECK_OK(cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, p + 1));
	CHECK(id && id == other);
	CHECK_INT(cuPointerGetAttribute(&host_pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, p), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuPointerGetAttribute(&type, (CUpointer_attribute)99, p), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&type),
		  CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuPointerGetAttributes(3, wanted, out, p));
	CHECK(type == CU_MEMORYTYPE_DEVICE && device_pointer == p && !host_pointer);
	CHECK_OK(cuPointerGetAttributes(3, wanted, out, (CUdeviceptr)(uintptr_t)&type)); /* unknown memory is no error here */
	CHECK(type == 0 && device_pointer == 0 && !host_pointer);
	CHECK_OK(cuMemFree(p));
	CHECK_OK(cuMemAlloc(&p, 5000));
	CHECK_OK(cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
	CHECK(id != other); /* never the same again in a process */
	CHECK_OK(cuMemFree(p));
}

static void test_pools(void)
{
	CUmemoryPool standard, same, own;
	CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUdeviceptr a, b, c;
	CUstream stream;
	cuuint64_t value = 77, keep = UINT64_MAX;
	unsigned char byte = 0;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuDeviceGetDefaultMemPool(&standard, device));
	CHECK_OK(cuDeviceGetMemPool(&same, device));
	CHECK(standard == same);
	CHECK_OK(cuMemPoolGetAttribute(standard, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
	CHECK_INT(value, 0);
	CHECK_OK(cuMemPoolCreate(&own, &properties));
	CHECK_OK(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	CHECK_OK(cuMemAllocFromPoolAsync(&a, 1000, own, stream));
	CHECK_OK(cuMemsetD8Async(a, 3, 1000, stream));
	CHECK_OK(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
	CHECK(value >= 1000);
	CHECK_OK(cuMemFreeAsync(a, stream));
	CHECK_OK(cuMemAllocFromPoolAsync(&b, 1000, own, stream)); /* the same stream may have it again at once */
	CHECK(a == b);
	CHECK_OK(cuMemcpyDtoHAsync(&byte, b, 1, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemAllocAsync(&c, 1 << 20, stream));
	CHECK(c != b);
	CHECK_OK(cuMemFreeAsync(c, stream));
	CHECK_INT(cuMemFreeAsync(c, stream), CUDA_ERROR_INVALID_VALUE); /* twice */
	CHECK_INT(cuMemAllocAsync(&c, 0, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemPoolGetAttribute(standard, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
	CHECK_INT(value, 0); /* a threshold of 0: a synchronisation gives everything back */
	CHECK_OK(cuMemFree(b)); /* cuMemFree() takes pool memory too */
	CHECK_OK(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
	CHECK_INT(value, 0);
	CHECK_OK(cuMemPoolTrimTo(own, 0));
	CHECK_OK(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
	CHECK_INT(value, 0);
	value = 5;
	CHECK_INT(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemPoolDestroy(own));
	CHECK(cuMemPoolDestroy(standard) != CUDA_SUCCESS);
	CHECK(cuMemPoolDestroy((CUmemoryPool)0x77) != CUDA_SUCCESS);
	CHECK_OK(cuStreamDestroy(stream));
}

static void test_virtual_memory(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle = 0, again = 0, imported = 0;
	CUdeviceptr range = 0, second = 0;
	size_t unit = 0;
	unsigned value = 0;
	unsigned char bytes[256];
	int file = -1, shares = 0;

	CHECK_OK(cuDeviceGetAttribute(&shares, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
	properties.requestedHandleTypes = shares ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
	CHECK_OK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK(unit > 0 && !(unit & (unit - 1)));
	CHECK_OK(cuMemAddressReserve(&range, 4 * unit, 0, 0, 0));
	CHECK_OK(cuMemCreate(&handle, 2 * unit, &properties, 0));
	CHECK_INT(cuMemCreate(&again, unit / 2, &properties, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemsetD32(range, 1, 1), CUDA_ERROR_INVALID_VALUE); /* reserved is not mapped */
	CHECK_OK(cuMemMap(range + unit, 2 * unit, 0, handle, 0));
	CHECK(cuMemMap(range + 2 * unit, 2 * unit, 0, handle, 0) != CUDA_SUCCESS); /* overlaps */
	CHECK_OK(cuMemSetAccess(range + unit, 2 * unit, &access, 1));
	CHECK_OK(cuMemsetD32(range + unit, 0x1234, 2 * unit / 4));
	CHECK_OK(cuMemcpyDtoH(&value, range + 3 * unit - 4, 4));
	CHECK_INT(value, 0x1234);
	CHECK_OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(range + unit + 5)));
	CHECK(again == handle);
	CHECK_OK(cuMemRelease(again));
	if (shares) {
		CHECK_OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
		CHECK(file >= 0);
		CHECK_OK(cuMemImportFromShareableHandle(&imported, (void *)(uintptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
		close(file);
	} else {
		CHECK_INT(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_ERROR_INVALID_VALUE);
		CHECK_OK(cuMemRetainAllocationHandle(&imported, (void *)(uintptr_t)(range + unit)));
	}
	CHECK_OK(cuMemAddressReserve(&second, 2 * unit, 0, 0, 0));
	CHECK_OK(cuMemMap(second, 2 * unit, 0, imported, 0));
	CHECK_OK(cuMemSetAccess(second, 2 * unit, &access, 1));
	CHECK_OK(cuMemsetD32(second, 0x5678, 1)); /* the same memory at two places */
	CHECK_OK(cuMemcpyDtoH(&value, range + unit, 4));
	CHECK_INT(value, 0x5678);
	CHECK_OK(cuMemUnmap(second, 2 * unit));
	CHECK_OK(cuMemAddressFree(second, 2 * unit));
	CHECK_OK(cuMemRelease(imported));
	CHECK_OK(cuMemCreate(&again, 2 * unit, &properties, 0)); /* another in the same range, with its first part */
	CHECK_OK(cuMemMap(range, unit, 0, again, 0));
	CHECK(cuMemMap(range + 3 * unit, 3 * unit, 0, again, 0) != CUDA_SUCCESS); /* more than there is */
	CHECK_OK(cuMemMap(range + 3 * unit, unit, 0, again, 0));
	CHECK_OK(cuMemSetAccess(range, 4 * unit, &access, 1));
	CHECK_OK(cuMemsetD32(range + unit - 4, 0x9abc, 2)); /* over both */
	CHECK_OK(cuMemcpyDtoH(&value, range + 4 * unit - 4, 4));
	CHECK_INT(value, 0x9abc); /* the same memory at two places */
	CHECK_OK(cuMemcpyDtoH(&value, range + unit, 4));
	CHECK_INT(value, 0x9abc);
	CHECK_OK(cuMemsetD8(range + unit - 128, 0, 256));
	CHECK_OK(cuMemsetD2D8(range + unit - 72, 64, 0x77, 16, 3)); /* the second row lies in both */
	CHECK_OK(cuMemcpyDtoD(range + 3 * unit - 100, range + unit - 128, 256));
	CHECK_OK(cuMemcpyDtoH(bytes, range + 3 * unit - 100, 256));
	for (int i = 0; i < 256; i++)
		CHECK_INT(bytes[i], (i >= 56 && i < 72) || (i >= 120 && i < 136) || (i >= 184 && i < 200) ? 0x77 : 0);
	CHECK_OK(cuMemRelease(again));
	CHECK_OK(cuMemUnmap(range, unit));
	CHECK_OK(cuMemUnmap(range + 3 * unit, unit));
	CHECK(cuMemAddressFree(range, 4 * unit) != CUDA_SUCCESS); /* still mapped */
	CHECK_OK(cuMemUnmap(range + unit, 2 * unit));
	CHECK_OK(cuMemRelease(handle));
	CHECK(cuMemRelease(handle) != CUDA_SUCCESS);
	CHECK_OK(cuMemAddressFree(range, 4 * unit));
	CHECK(cuMemAddressFree(range, 4 * unit) != CUDA_SUCCESS);
	CHECK(cuMemMap(range, unit, 0, (CUmemGenericAllocationHandle)1234, 0) != CUDA_SUCCESS);
}

int main(void)
{
	CHECK_OK(cuInit(0));
	CHECK_OK(cuDeviceGet(&device, 0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, device));
	test_device_memory();
	test_memset();
	test_host_memory();
	test_managed();
	test_pointer_attributes();
	test_pools();
	test_virtual_memory();
	CHECK_OK(cuCtxDestroy(context));
	return check_end();
}
