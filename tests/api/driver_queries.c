/* What devices and contexts answer, by every version of the functions; the profiler, core dumps, the error log. Expectations: CUDA
 * Driver API reference manual, "Device Management", "Primary Context Management", "Context Management", "Coredump Attributes
 * Control", "Error Log Management"; error statuses as cards answer. */
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stdbool.h>
#include <unistd.h>

#include "check.h"

static int attribute(CUdevice_attribute which)
{
	int value = -1;

	CHECK_OK(cuDeviceGetAttribute(&value, which, 0));
	return value;
}

static void test_device(void)
{
	CUatomicOperation operations[] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS}, wrong = (CUatomicOperation)99;
	unsigned capabilities[2] = {0}, mask = 0;
	CUdevprop properties;
	CUuuid first, second;
	size_t width = 0, total = 0;
	unsigned total32 = 0;
	char luid[8];
	int supported = 1, major = 0, minor = -1;

	CHECK_OK(cuDeviceGetUuid(&first, 0));
	CHECK_OK(cuDeviceGetUuid_v2(&second, 0));
	CHECK(!memcmp(&first, &second, sizeof first));
	CHECK_INT(cuDeviceGetUuid(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetUuid(&first, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuDeviceGetLuid(luid, &mask, 0), CUDA_ERROR_NOT_SUPPORTED); /* there are none on Linux */
	CHECK_OK(cuDeviceGetProperties(&properties, 0));
	CHECK(properties.maxThreadsPerBlock == attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
	CHECK(properties.sharedMemPerBlock == attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
	CHECK(properties.SIMDWidth == 32 && properties.totalConstantMemory == 65536 && properties.maxGridSize[1] == 65535);
	CHECK(properties.regsPerBlock == attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
	CHECK(properties.clockRate == attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
	CHECK_INT(cuDeviceGetProperties(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetProperties(&properties, -1), CUDA_ERROR_INVALID_DEVICE);
	CHECK_OK(cuDeviceComputeCapability(&major, &minor, 0));
	CHECK(major == attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
	CHECK_OK(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 4, 0));
	CHECK_INT(width, attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
	CHECK_INT(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 3, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuDeviceTotalMem_v2(&total, 0));
	CHECK_OK(cuDeviceTotalMem(&total32, 0)); /* as much of it as 32 bits can say */
	CHECK(total32 == (total > UINT32_MAX ? UINT32_MAX : total));
	CHECK_OK(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
	CHECK(supported == 0 || supported == 1);
	CHECK_INT(cuDeviceGetExecAffinitySupport(&supported, (CUexecAffinityType)7, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0));
	if (attribute(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED))
		CHECK(capabilities[0] & CU_ATOMIC_CAPABILITY_SCALAR_32 && capabilities[1] & CU_ATOMIC_CAPABILITY_SCALAR_64);
	CHECK_INT(cuDeviceGetHostAtomicCapabilities(capabilities, &wrong, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 0), CUDA_ERROR_INVALID_DEVICE); /* no peer of itself */
}

static void test_primary(void)
{
	CUcontext context, again;
	unsigned flags = 99;
	int active = 99;

	CHECK_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK_INT(active, 0);
	CHECK_OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
	CHECK_INT(cuDevicePrimaryCtxSetFlags(0, CU_CTX_MAP_HOST), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDevicePrimaryCtxSetFlags_v2(0, 3), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT); /* nobody has retained it */
	CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK_OK(cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(context == again);
	CHECK_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active == 1 && flags == (CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST));
	CHECK_OK(cuDevicePrimaryCtxRelease(0));
	CHECK_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK_INT(active, 1);
	CHECK_OK(cuDevicePrimaryCtxReset(0));
	CHECK_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK_INT(active, 0);
	CHECK_OK(cuDevicePrimaryCtxRelease_v2(0));
	CHECK_INT(cuDevicePrimaryCtxRelease(99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuDevicePrimaryCtxReset(99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_OK(cuDevicePrimaryCtxSetFlags(0, 0));
}

/* Contexts by the versions of cuCtxCreate; the stack by both versions of its functions. */
static void test_contexts(void)
{
	CUexecAffinityParam affinity = {.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT, .param = {.smCount = {1}}}, got;
	CUcontext a, b, c, top, popped;
	CUsharedconfig banks;
	CUdevice device = 99;
	unsigned flags = 99;

	CHECK_OK(cuCtxCreate(&a, CU_CTX_SCHED_YIELD, 0));
	CHECK_OK(cuCtxCreate_v2(&b, CU_CTX_SCHED_SPIN, 0));
	CHECK_OK(cuCtxCreate_v3(&c, NULL, 0, 0, 0));
	CHECK(a != b && b != c);
	CHECK_INT(cuCtxCreate_v3(&top, &affinity, 1, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
	CHECK_INT(cuCtxCreate_v3(&top, NULL, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuCtxCreate_v2(&top, 3, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuCtxCreate_v2(&top, 0, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_OK(cuCtxGetCurrent(&top));
	CHECK(top == c);
	CHECK_OK(cuCtxPopCurrent(&popped));
	CHECK(popped == c);
	CHECK_OK(cuCtxGetFlags(&flags));
	CHECK_INT(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_SPIN);
	CHECK_OK(cuCtxSetFlags(CU_CTX_SCHED_BLOCKING_SYNC));
	CHECK_OK(cuCtxGetFlags(&flags));
	CHECK_INT(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_BLOCKING_SYNC);
	CHECK_INT(cuCtxSetFlags(3), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuCtxPushCurrent(a));
	CHECK_OK(cuCtxGetCurrent(&top));
	CHECK(top == a);
	CHECK_INT(cuCtxPushCurrent((CUcontext)&top), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuCtxGetDevice_v2(&device, c)); /* of one that is not current */
	CHECK_INT(device, 0);
	CHECK_INT(cuCtxGetDevice_v2(&device, (CUcontext)&top), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxGetDevice_v2(NULL, c), CUDA_ERROR_INVALID_VALUE);
	/* Attached once, detached twice: the second time it goes. */
	CHECK_OK(cuCtxAttach(&top, 0));
	CHECK(top == a);
	CHECK_INT(cuCtxAttach(&top, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuCtxDetach(a));
	CHECK_OK(cuCtxSynchronize_v2(a));
	CHECK_OK(cuCtxDetach(a));
	CHECK_INT(cuCtxSynchronize_v2(a), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuCtxSetCurrent(b));
	CHECK_OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)); /* taken, and of no effect since 5.0 */
	CHECK_OK(cuCtxGetSharedMemConfig(&banks));
	CHECK(banks == CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || banks == CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
	CHECK_INT(cuCtxSetSharedMemConfig((CUsharedconfig)3), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuCtxGetSharedMemConfig(NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuCtxGetExecAffinity(&got, CU_EXEC_AFFINITY_TYPE_SM_COUNT), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
	CHECK_INT(cuCtxGetExecAffinity(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuCtxDestroy_v2(c));
	CHECK_OK(cuCtxDestroy(b));
}

/* Persisting lines of the cache, profiler marks, writes of third parties: nothing to see but the status. */
static void test_hints(void)
{
	int options = attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
	CUresult status;

	CHECK_OK(cuCtxResetPersistingL2Cache());
	CHECK_OK(cuProfilerStart());
	CHECK_OK(cuProfilerStart()); /* twice is no error */
	CHECK_OK(cuProfilerStop());
	CHECK_INT(cuProfilerInitialize("config", "output", CU_OUT_CSV), CUDA_ERROR_NOT_SUPPORTED);
	status = cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
	CHECK_INT(status, options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
	CHECK_INT(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)5, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
		  CUDA_ERROR_INVALID_VALUE);
}

/* Without a context they answer so; the device's own questions need none. */
static void test_no_context(void)
{
	CUsharedconfig banks;
	bool on = true;
	size_t size = sizeof on;

	CHECK_INT(cuCtxResetPersistingL2Cache(), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxGetSharedMemConfig(&banks), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuProfilerStart(), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuProfilerStop(), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size), CUDA_ERROR_INVALID_CONTEXT);
}

static void test_core_dumps(void)
{
	bool on = true;
	char name[64] = "", set[] = "dump_%p";
	size_t size = sizeof on;
	unsigned flags = CU_COREDUMP_SKIP_SHARED_MEMORY, got = 0;

	CHECK_OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
	CHECK(!on && size == sizeof on);
	on = true;
	CHECK_OK(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
	on = false;
	CHECK_OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
	CHECK(on);
	size = sizeof set;
	CHECK_OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, set, &size));
	size = 0;
	CHECK_OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, NULL, &size)); /* how long it is */
	CHECK_INT(size, sizeof set);
	size = sizeof name;
	CHECK_OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, name, &size));
	CHECK_TEXT(name, "dump_%p");
	size = sizeof flags;
	CHECK_OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_GENERATION_FLAGS, &flags, &size));
	CHECK_OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_GENERATION_FLAGS, &got, &size));
	CHECK_INT(got, CU_COREDUMP_SKIP_SHARED_MEMORY);
	CHECK_INT(cuCoredumpGetAttribute((CUcoredumpSettings)99, &on, &size), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuCoredumpSetAttribute(CU_COREDUMP_FILE, NULL, &size), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, set, NULL), CUDA_ERROR_INVALID_VALUE);
}

static struct { int calls; CUlogLevel level; size_t length; bool terminated; } told;

static void hear(void *data, CUlogLevel level, char *message, size_t length)
{
	if (data != &told)
		return;
	told.calls++;
	told.level = level;
	told.length = length;
	told.terminated = !message[length] && strlen(message) == length;
}

/* A failing call that says why. */
static void fail(void)
{
	CUevent event;

	CHECK_INT(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void test_log(void)
{
	CUlogsCallbackHandle handle = NULL;
	CUlogIterator at, end;
	char text[4096], path[] = "/tmp/driver-log-XXXXXX";
	size_t size = sizeof text;
	FILE *file;
	int descriptor = mkstemp(path);

	CHECK(descriptor >= 0);
	CHECK_OK(cuLogsRegisterCallback(hear, &told, &handle));
	CHECK_OK(cuLogsCurrent(&at, 0));
	CHECK_OK(cuLogsDumpToMemory(&at, text, &size, 0)); /* nothing yet */
	CHECK(size == 0 && !text[0]);
	fail();
	CHECK(told.calls == 1 && told.level == CU_LOG_LEVEL_ERROR && told.length > 0 && told.terminated);
	CHECK_OK(cuLogsUnregisterCallback(handle));
	CHECK_INT(cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
	fail();
	CHECK_INT(told.calls, 1);
	end = at;
	CHECK_OK(cuLogsDumpToFile(&end, path, 0));
	size = sizeof text;
	CHECK_OK(cuLogsDumpToMemory(&at, text, &size, 0));
	CHECK(size == strlen(text) && lines_of(text) == 2 && strstr(text, "cuEventCreate"));
	CHECK(at == end); /* both have gone on */
	size = sizeof text;
	CHECK_OK(cuLogsDumpToMemory(&at, text, &size, 0));
	CHECK_INT(size, 0);
	file = fopen(path, "r");
	CHECK(file && fgets(text, sizeof text, file) && fgets(text, sizeof text, file) && !fgets(text + 2048, 2048, file));
	CHECK(strstr(text, "cuEventCreate"));
	if (file)
		fclose(file);
	/* More than there is room for: the newest, and a word of the others; no room at all is an error. */
	for (int i = 0; i < 150; i++)
		fail();
	size = sizeof text;
	CHECK_OK(cuLogsDumpToMemory(NULL, text, &size, 0));
	CHECK(size > 1024 && size < sizeof text && lines_of(text) > 2 && lines_of(text) < 100);
	size = 2;
	CHECK_INT(cuLogsDumpToMemory(NULL, text, &size, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(size, 0);
	size = sizeof text;
	CHECK_INT(cuLogsDumpToMemory(&at, NULL, &size, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLogsDumpToMemory(&at, text, &size, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLogsDumpToFile(&at, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLogsDumpToFile(&at, "/nowhere/at/all", 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLogsCurrent(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLogsCurrent(&at, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLogsRegisterCallback(NULL, NULL, &handle), CUDA_ERROR_INVALID_VALUE);
	close(descriptor);
	unlink(path);
}

static void notice(CUasyncNotificationInfo *info, void *data, CUasyncCallbackHandle handle)
{
	(void)info, (void)data, (void)handle;
}

static void test_notifications(void)
{
	CUasyncCallbackHandle first = NULL, second = NULL;

	CHECK_OK(cuDeviceRegisterAsyncNotification(0, notice, NULL, &first));
	CHECK_OK(cuDeviceRegisterAsyncNotification(0, notice, NULL, &second));
	CHECK(first && second && first != second);
	CHECK_OK(cuDeviceUnregisterAsyncNotification(0, first));
	CHECK_INT(cuDeviceUnregisterAsyncNotification(0, first), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuDeviceUnregisterAsyncNotification(0, second));
	CHECK_INT(cuDeviceRegisterAsyncNotification(0, NULL, NULL, &first), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceRegisterAsyncNotification(99, notice, NULL, &first), CUDA_ERROR_INVALID_DEVICE);
}

/* Tables of functions beside the public ones, as libraries of NVIDIA's ask for them: the fourth entry of this one says a context's
 * id. Of an id that nobody knows there is none. */
static void test_tables(CUcontext context)
{
	const CUuuid id = {{0x21, 0x31, (char)0x8C, 0x60, (char)0x97, 0x14, 0x32, 0x48, (char)0x8C, (char)0xA6, 0x41, (char)0xFF, 0x73, 0x24,
			    (char)0xC8, (char)0xF2}};
	const CUuuid unknown = {{1, 2, 3}};
	CUresult (*get_id)(CUcontext, unsigned long long *) = NULL;
	unsigned long long by_table = 0, by_name = 1;
	const void *table = NULL;

	CHECK_OK(cuGetExportTable(&table, &id));
	CHECK(table);
	if (table) {
		memcpy(&get_id, (const char *)table + 4 * sizeof(void *), sizeof get_id);
		CHECK_OK(get_id(context, &by_table));
		CHECK_OK(cuCtxGetId(context, &by_name));
		CHECK(by_table == by_name);
	}
	CHECK_INT(cuGetExportTable(&table, &unknown), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGetExportTable(NULL, &id), CUDA_ERROR_INVALID_VALUE);
}

/* The first version of cuGetProcAddress has no status: what is not there is an error. */
static void test_entries(void)
{
	CUresult (*count)(int *) = NULL;
	void *entry = NULL;
	int devices = 0;

	CHECK_OK(cuGetProcAddress("cuDeviceGetCount", &entry, 12000, CU_GET_PROC_ADDRESS_DEFAULT));
	memcpy(&count, &entry, sizeof count);
	CHECK(count);
	if (count)
		CHECK_OK(count(&devices));
	CHECK(devices > 0);
	CHECK_INT(cuGetProcAddress("cuNothingOfTheKind", &entry, 12000, CU_GET_PROC_ADDRESS_DEFAULT), CUDA_ERROR_NOT_FOUND);
	CHECK(!entry);
	CHECK_INT(cuGetProcAddress("cuGraphLaunch", &entry, 9000, CU_GET_PROC_ADDRESS_DEFAULT), CUDA_ERROR_NOT_FOUND); /* of 10.0 */
	CHECK_INT(cuGetProcAddress(NULL, &entry, 12000, CU_GET_PROC_ADDRESS_DEFAULT), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGetProcAddress("cuInit", NULL, 12000, CU_GET_PROC_ADDRESS_DEFAULT), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	CUcontext context;

	CHECK_OK(cuInit(0));
	test_no_context();
	test_device();
	test_primary();
	test_contexts();
	CHECK_OK(cuCtxCreate_v2(&context, 0, 0));
	test_hints();
	test_core_dumps();
	test_log();
	test_notifications();
	test_entries();
	test_tables(context);
	CHECK_OK(cuCtxDestroy_v2(context));
	return check_end();
}
