/* Before, during and after cuInit; devices and their attributes; CUDA_VISIBLE_DEVICES; fork. Expectations: CUDA Driver API
 * reference manual, "Initialization", "Device Management"; CUDA C++ Programming Guide, "CUDA Environment Variables".
 * Each case that needs a fresh process runs in a child that is made before cuInit() is called here. */
#define _GNU_SOURCE
#include <cuda.h>

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void in_child(const char *visible, void (*body)(void))
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (visible)
			setenv("CUDA_VISIBLE_DEVICES", visible, 1);
		body();
		fflush(NULL);
		_exit(check_failures ? 1 : 0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void before_init(void)
{
	CUdevice device;
	CUcontext context;
	CUdeviceptr pointer;
	CUstream stream;
	const char *text;
	int count, version;

	CHECK_INT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_INT(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_INT(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_INT(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_INT(cuMemAlloc(&pointer, 16), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_INT(cuStreamCreate(&stream, 0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_OK(cuDriverGetVersion(&version)); /* these two need no initialisation */
	CHECK(version >= 13000);
	CHECK_OK(cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &text));
	CHECK_TEXT(text, "CUDA_ERROR_NOT_INITIALIZED");
	CHECK_INT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
}

static void empty_list(void)
{
	int count;

	CHECK_INT(cuInit(0), CUDA_ERROR_NO_DEVICE);
	CHECK_INT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
}

static void first_only(void)
{
	int count = 0;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuDeviceGetCount(&count));
	CHECK_INT(count, 1);
}

static void duplicate(void)
{
	CHECK_INT(cuInit(0), CUDA_ERROR_INVALID_DEVICE);
}

static void after_parent_init(void)
{
	CUcontext context;
	int count;

	CHECK_INT(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_INT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_INT(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
}

static int attribute(CUdevice_attribute id)
{
	int value = -12345;

	CHECK_OK(cuDeviceGetAttribute(&value, id, 0));
	return value;
}

static void test_device(void)
{
	CUdevice device = -1, again;
	CUuuid uuid, same;
	char name[256] = "", id[32] = "", small[4];
	size_t bytes = 0;
	int count = 0, major = 0, minor = -1, value;

	CHECK_OK(cuDeviceGetCount(&count));
	CHECK(count >= 1);
	CHECK_OK(cuDeviceGet(&device, 0));
	CHECK_INT(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuDeviceGetName(name, sizeof name, device));
	CHECK(name[0]);
	CHECK_OK(cuDeviceGetName(small, sizeof small, device));
	CHECK(strlen(small) == 3 && !strncmp(small, name, 3));
	CHECK_INT(cuDeviceGetName(NULL, 16, device), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetName(name, sizeof name, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_OK(cuDeviceTotalMem(&bytes, device));
	CHECK(bytes > 1 << 20);
	CHECK_OK(cuDeviceGetUuid(&uuid, device));
	CHECK_OK(cuDeviceGetUuid_v2(&same, device));
	CHECK(!memcmp(&uuid, &same, sizeof uuid));
	CHECK_OK(cuDeviceComputeCapability(&major, &minor, device));
	CHECK_INT(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), major);
	CHECK_INT(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), minor);
	CHECK_INT(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
	CHECK_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
	CHECK_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z), 64);
	CHECK_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), 2147483647);
	CHECK_INT(attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY), 65536);
	CHECK_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), 49152);
	CHECK_INT(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
	CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) >= 1);
	CHECK_INT(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, device), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetAttribute(&value, (CUdevice_attribute)100000, device), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuDeviceGetPCIBusId(id, sizeof id, device));
	CHECK_OK(cuDeviceGetByPCIBusId(&again, id));
	CHECK_INT(again, device);
	CHECK_INT(cuDeviceGetByPCIBusId(&again, "nonsense"), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetByPCIBusId(&again, "FFFF:FF:1F.7"), CUDA_ERROR_INVALID_DEVICE);
}

static void test_errors(void)
{
	const char *text = "unchanged";

	CHECK_OK(cuGetErrorString(CUDA_SUCCESS, &text));
	CHECK_TEXT(text, "no error");
	CHECK_INT(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
	CHECK(!text);
	CHECK_INT(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
	CHECK(!text);
	CHECK_INT(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_entry_points(void)
{
	CUdriverProcAddressQueryResult found;
	void *function = NULL;
	int count = 0;

	CHECK_OK(cuGetProcAddress("cuDeviceGetCount", &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &found));
	CHECK_INT(found, CU_GET_PROC_ADDRESS_SUCCESS);
	CHECK(function);
	if (function)
		CHECK_OK(((CUresult (*)(int *))(uintptr_t)function)(&count));
	CHECK(count >= 1);
	cuGetProcAddress("cuNoSuchFunction", &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &found);
	CHECK_INT(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CHECK(!function);
	cuGetProcAddress("cuGraphCreate", &function, 9000, CU_GET_PROC_ADDRESS_DEFAULT, &found);
	CHECK_INT(found, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	CHECK_INT(cuGetProcAddress(NULL, &function, 12000, 0, &found), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGetProcAddress("cuInit", NULL, 12000, 0, &found), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGetProcAddress("cuInit", &function, 12000, 77, &found), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	in_child(NULL, before_init);
	in_child("", empty_list);
	in_child("-1", empty_list);
	in_child("none", empty_list);
	in_child("0", first_only);
	in_child("0,-1,0", first_only); /* the first bad entry ends the list */
	in_child("0x1", first_only);    /* numbers are read as far as they go: this is 0 */
	in_child("0,0", duplicate);
	CHECK_OK(cuInit(0));
	CHECK_OK(cuInit(0));
	test_device();
	test_errors();
	test_entry_points();
	in_child(NULL, after_parent_init);
	return check_end();
}
