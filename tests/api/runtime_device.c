/* Devices, versions, properties and attributes, limits, names of errors. Expectations: CUDA Runtime API reference manual;
 * the device is of compute capability 8.0 or later, whose limits the CUDA C++ Programming Guide tabulates. For libcudart.so.13 and
 * libcudart.so.12. */
#include <cuda_runtime_api.h>

#include "check.h"

/* What CUDA 12 had and 13 no longer declares. */
cudaError_t cudaThreadExit(void);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config);
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaSetDoubleForDevice(double *value);
cudaError_t cudaSetDoubleForHost(double *value);

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

/* CUDA 11's layout under the plain name: 728 bytes, and the same places. */
cudaError_t plain_properties(void *properties, int device) __asm__("cudaGetDeviceProperties");
cudaError_t plain_choose(int *device, const void *properties) __asm__("cudaChooseDevice");

static void test_choose(void)
{
	enum { BYTES = 728, WARP_SIZE_AT = 308, MAJOR_AT = 360 };
	unsigned char p[1032 + 16];
	int value, device = -1;
	memset(p, 0xee, sizeof p);
	CHECK_OK(plain_properties(p, 0));
	for (int i = BYTES; i < BYTES + 16; i++)
		CHECK_INT(p[i], 0xee);
	memcpy(&value, p + WARP_SIZE_AT, sizeof value);
	CHECK_INT(value, 32);
	memset(p, 0, sizeof p);
	memcpy(p + MAJOR_AT, &(int){ 3 }, sizeof value);
	CHECK_OK(plain_choose(&device, p));
	CHECK(device >= 0);
}
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

/* Between a device and itself there is nothing to ask; of the host, what atomics can do. */
static void test_capabilities(void)
{
	enum cudaAtomicOperation operations[] = { cudaAtomicOperationIntegerAdd, cudaAtomicOperationCAS };
	unsigned capabilities[2] = { 99, 99 };
	int value = -1, native = -1;
	CHECK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 99) != cudaSuccess);
	CHECK(cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 0) != cudaSuccess);
	CHECK(cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)99, 0, 0) != cudaSuccess);
	CHECK_OK(cudaDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0));
	CHECK(capabilities[0] != 99 && capabilities[1] != 99);
	CHECK_OK(cudaDeviceGetAttribute(&native, cudaDevAttrHostNativeAtomicSupported, 0));
	CHECK(!native || capabilities[0]);
	CHECK_INT(cudaDeviceGetHostAtomicCapabilities(NULL, operations, 2, 0), cudaErrorInvalidValue);
	CHECK_INT(cudaDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 99), cudaErrorInvalidDevice);
	CHECK(cudaDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 99) != cudaSuccess);
	CHECK(cudaDeviceGetP2PAtomicCapabilities(NULL, operations, 2, 0, 0) != cudaSuccess);
	cudaGetLastError();

	int count = 0;
	CHECK_OK(cudaGetDeviceCount(&count));
	if (count < 2) {
		CHECK(cudaDeviceDisablePeerAccess(0) != cudaSuccess);
		cudaGetLastError();
		return;
	}
	CHECK_OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
	CHECK_INT(value, 1);
	CHECK_OK(cudaDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 1));
	CHECK_INT(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
	CHECK_OK(cudaDeviceEnablePeerAccess(1, 0));
	CHECK_INT(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
	CHECK_OK(cudaDeviceDisablePeerAccess(1));
	cudaGetLastError();
}

static void never_called(cudaAsyncNotificationInfo_t *info, void *place, cudaAsyncCallbackHandle_t handle)
{
	(void)info, (void)handle;
	*(int *)place = 1;
}

static void test_settings(void)
{
	enum cudaSharedMemConfig banks = cudaSharedMemBankSizeEightByte;
	struct cudaChannelFormatDesc desc = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
	cudaAsyncCallbackHandle_t handle;
	int devices[2] = { 0, 99 }, called = 0, linear = 0;
	size_t width = 0;
	CHECK_OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte)); /* accepted; there is one size */
	CHECK_OK(cudaDeviceGetSharedMemConfig(&banks));
	CHECK_INT(banks, cudaSharedMemBankSizeFourByte);
	CHECK_INT(cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)9), cudaErrorInvalidValue);
	CHECK_INT(cudaDeviceGetSharedMemConfig(NULL), cudaErrorInvalidValue);
	CHECK_OK(cudaDeviceGetTexture1DLinearMaxWidth(&width, &desc, 0));
	CHECK_OK(cudaDeviceGetAttribute(&linear, cudaDevAttrMaxTexture1DLinearWidth, 0));
	CHECK(width >= 1 << 27 && linear >= 1 << 27);
	CHECK_INT(cudaDeviceGetTexture1DLinearMaxWidth(NULL, &desc, 0), cudaErrorInvalidValue);
	CHECK_INT(cudaDeviceGetTexture1DLinearMaxWidth(&width, NULL, 0), cudaErrorInvalidValue);
	CHECK_OK(cudaCtxResetPersistingL2Cache());
	CHECK_OK(cudaDeviceSynchronize());
	cudaError_t flushed = cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
								 cudaFlushGPUDirectRDMAWritesToOwner);
	int rdma = 0;
	CHECK_OK(cudaDeviceGetAttribute(&rdma, cudaDevAttrGPUDirectRDMASupported, 0));
	CHECK(!rdma == (flushed != cudaSuccess));
	CHECK(cudaDeviceFlushGPUDirectRDMAWrites((enum cudaFlushGPUDirectRDMAWritesTarget)7, cudaFlushGPUDirectRDMAWritesToOwner) !=
	      cudaSuccess);
	CHECK_OK(cudaSetValidDevices(devices, 1));
	CHECK_INT(cudaSetValidDevices(devices, 2), cudaErrorInvalidDevice);
	CHECK_INT(cudaSetValidDevices(NULL, 1), cudaErrorInvalidValue);
	CHECK_OK(cudaSetValidDevices(NULL, 0));
	CHECK_OK(cudaDeviceRegisterAsyncNotification(0, never_called, &called, &handle));
	CHECK_OK(cudaDeviceUnregisterAsyncNotification(0, handle));
	CHECK(cudaDeviceUnregisterAsyncNotification(0, handle) != cudaSuccess);
	CHECK_INT(cudaDeviceRegisterAsyncNotification(0, NULL, NULL, &handle), cudaErrorInvalidValue);
	CHECK_INT(cudaDeviceRegisterAsyncNotification(99, never_called, NULL, &handle), cudaErrorInvalidDevice);
	CHECK_INT(called, 0);
	cudaGetLastError();
}

/* The names of CUDA 3: the calling thread's, which has been the device's since CUDA 4. */
static void test_old_names(void)
{
	size_t value = 0;
	enum cudaFuncCache config = cudaFuncCachePreferNone;
	double number = 1.5;
	void *memory;
	CHECK_OK(cudaThreadSetLimit(cudaLimitStackSize, 4096));
	CHECK_OK(cudaThreadGetLimit(&value, cudaLimitStackSize));
	CHECK_INT(value, 4096);
	CHECK_OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
	CHECK_INT(value, 4096);
	CHECK_OK(cudaThreadSetCacheConfig(cudaFuncCachePreferEqual));
	CHECK_OK(cudaThreadGetCacheConfig(&config));
	CHECK_INT(config, cudaFuncCachePreferEqual);
	CHECK_OK(cudaThreadSynchronize());
	CHECK_OK(cudaSetDoubleForDevice(&number));
	CHECK_OK(cudaSetDoubleForHost(&number));
	CHECK(number == 1.5);
	CHECK_INT(cudaSetDoubleForDevice(NULL), cudaErrorInvalidValue);
	CHECK_INT(cudaSetDoubleForHost(NULL), cudaErrorInvalidValue);
	CHECK_OK(cudaMalloc(&memory, 16));
	CHECK_OK(cudaThreadExit());
	CHECK_INT(cudaFree(memory), cudaErrorInvalidValue); /* went with the context */
	CHECK_OK(cudaThreadGetLimit(&value, cudaLimitStackSize));
	CHECK_INT(value, 1024);
	cudaGetLastError();
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
	test_capabilities();
	test_settings();
	test_old_names();
	return check_end();
}
