/* Devices, versions, properties and attributes, limits, names of errors. Expectations: CUDA Runtime API reference manual;
 * the device is of compute capability 8.0 or later, whose limits the CUDA C++ Programming Guide tabulates. */
#include <cuda_runtime_api.h>

#include "check.h"

static void test_count(void)
{
	int count = -1, device = -1;
	CHECK_OK(cudaGetDeviceCount(&count));
	CHECK(count >= 1);
	CHECK_INT(cudaGetDeviceCount(NULL), cudaErrorInvalidValue);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidValue);
	CHECK_OK(cudaGetDevice(&device));
	CHECK_INT(device, 0);
	CHECK_INT(cudaSetDevice(-1), cudaErrorInvalidDevice);
	CHECK_INT(cudaSetDevice(count), cudaErrorInvalidDevice);
	CHECK_OK(cudaSetDevice(count - 1));
	CHECK_OK(cudaGetDevice(&device));
	CHECK_INT(device, count - 1);
	CHECK_OK(cudaSetDevice(0));
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidDevice);
	CHECK_INT(cudaGetLastError(), cudaSuccess);
}

static void test_versions(void)
{
	int runtime = 0, driver = 0;
	CHECK_OK(cudaRuntimeGetVersion(&runtime));
	CHECK_OK(cudaDriverGetVersion(&driver));
	CHECK_INT(runtime / 1000, RUNTIME_MAJOR);
	CHECK(driver >= 13000);
	CHECK_INT(cudaRuntimeGetVersion(NULL), cudaErrorInvalidValue);
	cudaGetLastError();
}

/* Attributes by name against what they must be on any device of that capability. */
static void test_attributes(void)
{
	int value = 0;
	static const struct {
		enum cudaDeviceAttr attribute;
		int value;
	} fixed[] = {
		{ cudaDevAttrMaxThreadsPerBlock, 1024 }, { cudaDevAttrMaxBlockDimX, 1024 },
		{ cudaDevAttrMaxBlockDimY, 1024 },       { cudaDevAttrMaxBlockDimZ, 64 },
		{ cudaDevAttrMaxGridDimX, 2147483647 },  { cudaDevAttrMaxGridDimY, 65535 },
		{ cudaDevAttrMaxGridDimZ, 65535 },       { cudaDevAttrWarpSize, 32 },
		{ cudaDevAttrTotalConstantMemory, 65536 }, { cudaDevAttrMaxSharedMemoryPerBlock, 49152 },
		{ cudaDevAttrMaxRegistersPerBlock, 65536 }, { cudaDevAttrUnifiedAddressing, 1 },
		{ cudaDevAttrManagedMemory, 1 },
	};
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
		CHECK_OK(cudaDeviceGetAttribute(&value, fixed[i].attribute, 0));
		CHECK_INT(value, fixed[i].value);
	}
	CHECK_OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	CHECK(value >= 1);
	CHECK_INT(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99), cudaErrorInvalidDevice);
	CHECK_INT(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
	CHECK_INT(cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
	cudaGetLastError();
}

#if RUNTIME_MAJOR == 13
static void test_properties(void)
{
	struct cudaDeviceProp p;
	int value;
	CHECK_OK(cudaGetDeviceProperties(&p, 0));
	CHECK(p.name[0] != 0);
	CHECK(p.totalGlobalMem > (size_t)64 << 20);
	CHECK_INT(p.warpSize, 32);
	CHECK_INT(p.maxThreadsPerBlock, 1024);
	CHECK_INT(p.maxThreadsDim[2], 64);
	CHECK_INT(p.maxGridSize[0], 2147483647);
	CHECK_INT(p.totalConstMem, 65536);
	CHECK(p.major >= 8);
	CHECK_INT(p.unifiedAddressing, 1);
	CHECK_OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	CHECK_INT(p.multiProcessorCount, value);
	CHECK_OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	CHECK_INT(p.sharedMemPerBlockOptin, value);
	CHECK_OK(cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, 0));
	CHECK_INT(p.pciBusID, value);
	CHECK_OK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
	CHECK_INT(p.memoryPoolsSupported, value);
	CHECK_INT(cudaGetDeviceProperties(&p, 99), cudaErrorInvalidDevice);
	CHECK_INT(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
	cudaGetLastError();
}

static void test_choose(void)
{
	struct cudaDeviceProp wanted;
	int device = -1;
	memset(&wanted, 0, sizeof wanted);
	wanted.major = 3;
	CHECK_OK(cudaChooseDevice(&device, &wanted));
	CHECK(device >= 0);
}
#else
/* CUDA 12's layout: 1032 bytes, with fields that 13 dropped. Offsets from the structure in CUDA 12's manual. */
cudaError_t cudaGetDeviceProperties_v2(void *properties, int device);

static void test_properties(void)
{
	enum { BYTES = 1032, WARP_SIZE_AT = 308, MAX_THREADS_AT = 320, CLOCK_RATE_AT = 348, TOTAL_CONST_AT = 352, MAJOR_AT = 360 };
	unsigned char p[BYTES + 16];
	int value, expected;
	size_t constants;
	memset(p, 0xee, sizeof p);
	CHECK_OK(cudaGetDeviceProperties_v2(p, 0));
	for (int i = BYTES; i < BYTES + 16; i++)
		CHECK_INT(p[i], 0xee);
	memcpy(&value, p + WARP_SIZE_AT, sizeof value);
	CHECK_INT(value, 32);
	memcpy(&value, p + MAX_THREADS_AT, sizeof value);
	CHECK_INT(value, 1024);
	memcpy(&value, p + CLOCK_RATE_AT, sizeof value);
	CHECK_OK(cudaDeviceGetAttribute(&expected, cudaDevAttrClockRate, 0));
	CHECK_INT(value, expected);
	memcpy(&constants, p + TOTAL_CONST_AT, sizeof constants);
	CHECK_INT(constants, 65536);
	memcpy(&value, p + MAJOR_AT, sizeof value);
	CHECK(value >= 8);
}

static void test_choose(void) {}
#endif

static void test_bus_id(void)
{
	char id[32];
	int device = -1;
	CHECK_OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
	CHECK_OK(cudaDeviceGetByPCIBusId(&device, id));
	CHECK_INT(device, 0);
	CHECK(cudaDeviceGetByPCIBusId(&device, "not a bus id") != cudaSuccess);
	CHECK_INT(cudaDeviceGetPCIBusId(NULL, 0, 0), cudaErrorInvalidValue);
	cudaGetLastError();
}

static void test_limits(void)
{
	size_t value = 0;
	int least = -99, greatest = 99;
	CHECK_OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
	CHECK_INT(value, 1024);
	CHECK_OK(cudaDeviceSetLimit(cudaLimitStackSize, 2000));
	CHECK_OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
	CHECK_INT(value, 2000); /* a multiple of 16 already */
	CHECK_INT(cudaDeviceGetLimit(&value, (enum cudaLimit)77), cudaErrorInvalidValue);
	CHECK_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	CHECK_INT(least, 0);
	CHECK(greatest <= 0);
	enum cudaFuncCache config = cudaFuncCachePreferShared;
	CHECK_OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
	CHECK_OK(cudaDeviceGetCacheConfig(&config));
	CHECK_INT(config, cudaFuncCachePreferL1);
	cudaGetLastError();
}

static void test_peers(void)
{
	int can = -1;
	CHECK_OK(cudaDeviceCanAccessPeer(&can, 0, 0));
	CHECK_INT(can, 0);
	CHECK(cudaDeviceEnablePeerAccess(0, 0) != cudaSuccess);
	CHECK_INT(cudaDeviceEnablePeerAccess(99, 0), cudaErrorInvalidDevice);
	CHECK_INT(cudaDeviceEnablePeerAccess(0, 1), cudaErrorInvalidValue);
	cudaGetLastError();
}

static void test_names(void)
{
	CHECK_TEXT(cudaGetErrorName(cudaSuccess), "cudaSuccess");
	CHECK_TEXT(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
	CHECK_TEXT(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration");
	CHECK_TEXT(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
	CHECK_TEXT(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
	CHECK_TEXT(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered");
	CHECK_TEXT(cudaGetErrorString(cudaSuccess), "no error");
	CHECK_TEXT(cudaGetErrorName((cudaError_t)54321), "unrecognized error code");
	CHECK_TEXT(cudaGetErrorString((cudaError_t)54321), "unrecognized error code");
}

static void test_flags_and_reset(void)
{
	unsigned flags = 0;
	void *memory = NULL;
	CHECK_OK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
	CHECK_OK(cudaGetDeviceFlags(&flags));
	CHECK_INT(flags & cudaDeviceScheduleMask, cudaDeviceScheduleYield);
	CHECK_INT(flags & cudaDeviceMapHost, cudaDeviceMapHost);
	CHECK_INT(cudaSetDeviceFlags(0x4000), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaMalloc(&memory, 4096));
	CHECK_OK(cudaDeviceReset());
	CHECK_INT(cudaFree(memory), cudaErrorInvalidValue); /* went with the context */
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidValue);
	CHECK_OK(cudaMalloc(&memory, 4096));
	CHECK_OK(cudaFree(memory));
	CHECK_OK(cudaInitDevice(0, 0, 0));
}

int main(void)
{
	test_count();
	test_versions();
	test_attributes();
	test_properties();
	test_choose();
	test_bus_id();
	test_limits();
	test_peers();
	test_names();
	test_flags_and_reset();
	return check_end();
}
