/* The fake HIP itself: what each call says to wrong arguments, streams that run in order and beside each other, events, host functions, faults.
 *
 *     test_hip KERNELS.co     (hip_kernels.c for the GPU that DRAGOMAN_EMULATE names) */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/amd/hip.h"

#define PROTOTYPE(name, result, arguments) result name arguments;
HIP_ENTRIES(PROTOTYPE)

static int checks, failures;

static void expect(int line, const char *text, long got, long want)
{
	checks++;
	if (got == want) return;
	failures++;
	printf("line %d: %s: %ld, not %ld\n", line, text, got, want);
}
#define EXPECT(call, want) expect(__LINE__, #call, (long)(call), (long)(want))

static hip_module module;
static hip_function fill, spin, fault, trapping, counted, shared_kernel;

/* out[i] = value for i below count */
struct fill_arguments {
	uint32_t *out;
	uint32_t value, count;
};

static int launch(hip_function function, unsigned grid, unsigned block, hip_stream stream, void *arguments, size_t size)
{
	void *extra[] = { HIP_LAUNCH_BUFFER, arguments, HIP_LAUNCH_SIZE, &size, HIP_LAUNCH_END };

	return hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, NULL, extra);
}

static void check_arguments(void)
{
	int value;
	char name[64];
	void *pointer = NULL;
	size_t size;
	hip_stream stream;
	hip_event event;
	uint8_t host[64] = { 0 };
	static char not_elf[512];

	EXPECT(hipInit(1), HIP_INVALID_VALUE);
	EXPECT(hipGetDeviceCount(NULL), HIP_INVALID_VALUE);
	EXPECT(hipSetDevice(9), HIP_INVALID_DEVICE);
	EXPECT(hipSetDevice(-1), HIP_INVALID_DEVICE);
	EXPECT(hipDeviceGetName(NULL, 5, 0), HIP_INVALID_VALUE);
	EXPECT(hipDeviceGetName(name, 64, 3), HIP_INVALID_DEVICE);
	EXPECT(hipDeviceGetAttribute(NULL, HIP_WARP_SIZE, 0), HIP_INVALID_VALUE);
	EXPECT(hipDeviceGetAttribute(&value, HIP_WARP_SIZE, 7), HIP_INVALID_DEVICE);
	EXPECT(hipDeviceGetAttribute(&value, 123456, 0), HIP_INVALID_VALUE);
	EXPECT(hipMalloc(NULL, 5), HIP_INVALID_VALUE);
	EXPECT(hipMalloc(&pointer, 0), HIP_SUCCESS);
	EXPECT(pointer == NULL, 1);
	EXPECT(hipMalloc(&pointer, (size_t)1 << 50), HIP_OUT_OF_MEMORY);
	EXPECT(hipFree(NULL), HIP_SUCCESS);
	EXPECT(hipFree(host), HIP_INVALID_VALUE);
	EXPECT(hipHostFree(host), HIP_INVALID_VALUE);
	EXPECT(hipMalloc(&pointer, 100), HIP_SUCCESS);
	EXPECT(hipFree((char *)pointer + 4), HIP_INVALID_VALUE);
	EXPECT(hipMemcpy(pointer, host, 64, 7), HIP_INVALID_COPY_DIRECTION);
	EXPECT(hipMemcpy(NULL, host, 64, HIP_COPY_DEFAULT), HIP_INVALID_VALUE);
	EXPECT(hipMemcpy(pointer, host, 0, HIP_COPY_DEFAULT), HIP_SUCCESS);
	EXPECT(hipMemcpy((char *)pointer + 50, host, 51, HIP_COPY_DEFAULT), HIP_INVALID_VALUE);
	EXPECT(hipMemcpy2DAsync(pointer, 4, host, 8, 6, 2, HIP_COPY_DEFAULT, NULL), HIP_INVALID_PITCH);
	EXPECT(hipMemsetD32Async((char *)pointer + 1, 1, 2, NULL), HIP_INVALID_VALUE);
	EXPECT(hipMemsetD8Async(pointer, 1, 101, NULL), HIP_INVALID_VALUE);
	EXPECT(hipMemsetD8Async(host, 1, 10, NULL), HIP_INVALID_VALUE);
	EXPECT(hipFree(pointer), HIP_SUCCESS);
	EXPECT(hipFree(pointer), HIP_INVALID_VALUE);
	EXPECT(hipHostRegister(host, sizeof host, 0), HIP_SUCCESS);
	EXPECT(hipHostRegister(host + 8, 8, 0), HIP_HOST_MEMORY_ALREADY_REGISTERED);
	EXPECT(hipHostGetDevicePointer(&pointer, host, 0), HIP_SUCCESS);
	EXPECT(hipHostUnregister(host), HIP_SUCCESS);
	EXPECT(hipHostUnregister(host), HIP_HOST_MEMORY_NOT_REGISTERED);
	EXPECT(hipStreamCreateWithFlags(NULL, 0), HIP_INVALID_VALUE);
	EXPECT(hipStreamCreateWithFlags(&stream, 8), HIP_INVALID_VALUE);
	EXPECT(hipStreamDestroy(host), HIP_INVALID_HANDLE);
	EXPECT(hipStreamSynchronize(host), HIP_INVALID_HANDLE);
	EXPECT(hipEventDestroy(NULL), HIP_INVALID_HANDLE);
	EXPECT(hipEventRecord(host, NULL), HIP_INVALID_HANDLE);
	EXPECT(hipEventCreateWithFlags(&event, 64), HIP_INVALID_VALUE);
	EXPECT(hipModuleLoadData(&module, NULL), HIP_INVALID_VALUE);
	EXPECT(hipModuleLoadData(&module, not_elf), HIP_INVALID_IMAGE);
	EXPECT(hipModuleUnload(host), HIP_INVALID_HANDLE);
	EXPECT(hipModuleGetFunction(&fill, host, "fill"), HIP_INVALID_HANDLE);
	EXPECT(hipFuncGetAttribute(&value, 0, host), HIP_INVALID_DEVICE_FUNCTION);
	EXPECT(hipMemGetInfo(&size, NULL), HIP_INVALID_VALUE);
	EXPECT(strcmp(hipGetErrorName(HIP_NOT_READY), "hipErrorNotReady"), 0);
}

static void check_launches(void)
{
	struct fill_arguments a = { NULL, 77, 1000 };
	size_t size = sizeof a, small = 8;
	void *out, *address = &a, *extra[] = { HIP_LAUNCH_BUFFER, address, HIP_LAUNCH_SIZE, &size, HIP_LAUNCH_END };
	void *too_small[] = { HIP_LAUNCH_BUFFER, address, HIP_LAUNCH_SIZE, &small, HIP_LAUNCH_END };
	uint32_t result[1001];
	void *global;
	int value;

	EXPECT(hipModuleGetFunction(&fill, module, "nothing"), HIP_NOT_FOUND);
	EXPECT(hipModuleGetFunction(&fill, module, "fill"), HIP_SUCCESS);
	EXPECT(hipModuleGetFunction(&spin, module, "spin"), HIP_SUCCESS);
	EXPECT(hipModuleGetFunction(&fault, module, "fault"), HIP_SUCCESS);
	EXPECT(hipModuleGetFunction(&trapping, module, "trapping"), HIP_SUCCESS);
	EXPECT(hipModuleGetFunction(&counted, module, "counted"), HIP_SUCCESS);
	EXPECT(hipModuleGetFunction(&shared_kernel, module, "shared_kernel"), HIP_SUCCESS);
	EXPECT(hipModuleGetGlobal(&global, &size, module, "variable"), HIP_SUCCESS);
	EXPECT(size, 12);
	EXPECT(((uint32_t *)global)[1], 22);
	EXPECT(hipModuleGetGlobal(&global, &size, module, "fill"), HIP_NOT_FOUND);
	size = sizeof a;
	EXPECT(hipFuncGetAttribute(&value, HIP_FUNCTION_SHARED_BYTES, shared_kernel), HIP_SUCCESS);
	EXPECT(value, 1024);
	EXPECT(hipMalloc(&out, sizeof result), HIP_SUCCESS);
	a.out = out;
	EXPECT(hipModuleLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), HIP_INVALID_HANDLE);
	EXPECT(hipModuleLaunchKernel(fill, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), HIP_INVALID_CONFIGURATION);
	EXPECT(hipModuleLaunchKernel(fill, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, extra), HIP_INVALID_CONFIGURATION);
	EXPECT(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 32, 1, 0, NULL, NULL, extra), HIP_INVALID_CONFIGURATION);
	EXPECT(hipModuleLaunchKernel(fill, 1, 70000, 1, 1, 1, 1, 0, NULL, NULL, extra), HIP_INVALID_CONFIGURATION);
	EXPECT(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 65537, NULL, NULL, extra), HIP_INVALID_VALUE);
	EXPECT(hipModuleLaunchKernel(shared_kernel, 1, 1, 1, 64, 1, 1, 64512 + 4, NULL, NULL, extra), HIP_INVALID_VALUE);
	EXPECT(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, too_small), HIP_INVALID_VALUE);
	EXPECT(hipModuleLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, out, NULL, extra), HIP_INVALID_HANDLE);
	EXPECT(hipMemsetD8Async(out, 0, sizeof result, NULL), HIP_SUCCESS);
	EXPECT(launch(fill, 4, 256, NULL, &a, sizeof a), HIP_SUCCESS);
	a.value = 0;	/* it was copied */
	EXPECT(hipMemcpy(result, out, sizeof result, HIP_COPY_DEFAULT), HIP_SUCCESS);
	for (int i = 0; i < 1000; i++) EXPECT(result[i], 77);
	EXPECT(result[1000], 0);
	/* by addresses of arguments */
	a.value = 5;
	void *arguments[] = { &a.out, &a.value, &a.count };
	EXPECT(hipModuleLaunchKernel(fill, 4, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL), HIP_SUCCESS);
	EXPECT(hipMemcpy(result, out, sizeof result, HIP_COPY_DEFAULT), HIP_SUCCESS);
	EXPECT(result[999], 5);
	EXPECT(hipFree(out), HIP_SUCCESS);
}

/* Memory apart from addresses, handles for other processes, waiting for values. */
static void check_memory(void)
{
	struct hip_memory_properties properties = { .type = HIP_PINNED, .location = { HIP_LOCATION_DEVICE, 0 } }, shared = properties;
	struct hip_access access = { { HIP_LOCATION_DEVICE, 0 }, 3 }, wrong = { { HIP_LOCATION_DEVICE, 9 }, 3 };
	struct hip_ipc_handle handle;
	hip_memory memory = NULL;
	void *range = NULL, *base = NULL, *opened = NULL;
	size_t unit = 0, size = 0;
	uint32_t *words = NULL, value = 0;

	EXPECT(hipMemGetAllocationGranularity(&unit, &properties, HIP_GRANULARITY_LEAST), HIP_SUCCESS);
	EXPECT(hipMemGetAllocationGranularity(&unit, &properties, 2), HIP_INVALID_VALUE);
	EXPECT(hipMemAddressReserve(&range, 4 * unit, 0, NULL, 1), HIP_INVALID_VALUE);
	EXPECT(hipMemAddressReserve(&range, unit / 2, 0, NULL, 0), HIP_OUT_OF_MEMORY);
	EXPECT(hipMemAddressReserve(&range, 4 * unit, 8 * unit, NULL, 0), HIP_SUCCESS);
	EXPECT((uintptr_t)range % (8 * unit), 0);
	shared.handle_type = 1;
	EXPECT(hipMemCreate(&memory, 2 * unit, &shared, 0), HIP_NOT_SUPPORTED);
	EXPECT(hipMemCreate(&memory, unit / 2, &properties, 0), HIP_INVALID_VALUE);
	EXPECT(hipMemCreate(&memory, 2 * unit, &properties, 0), HIP_SUCCESS);
	EXPECT(hipMemMap(range, 2 * unit, unit, memory, 0), HIP_INVALID_VALUE); /* only from its start */
	EXPECT(hipMemMap(range, 3 * unit, 0, memory, 0), HIP_INVALID_VALUE);
	EXPECT(hipMemMap(range, unit, 0, memory, 0), HIP_SUCCESS); /* a part */
	EXPECT(hipMemUnmap(range, unit), HIP_SUCCESS);
	EXPECT(hipMemMap((uint8_t *)range + 3 * unit, 2 * unit, 0, memory, 0), HIP_INVALID_VALUE); /* beyond what is reserved */
	EXPECT(hipMemMap(range, 2 * unit, 0, memory, 0), HIP_SUCCESS);
	EXPECT(hipMemMap((uint8_t *)range + unit, 2 * unit, 0, memory, 0), HIP_INVALID_VALUE); /* it overlaps */
	EXPECT(hipMemSetAccess(range, 2 * unit, &wrong, 1), HIP_INVALID_VALUE);
	EXPECT(hipMemSetAccess(range, 2 * unit, &access, 1), HIP_SUCCESS);
	value = 0x1234;
	EXPECT(hipMemcpy(range, &value, 4, HIP_COPY_DEFAULT), HIP_SUCCESS);
	EXPECT(hipMemRelease(memory), HIP_SUCCESS); /* it stays as long as it is mapped */
	EXPECT(hipMemRelease(memory), HIP_INVALID_VALUE);
	value = 0;
	EXPECT(hipMemcpy(&value, range, 4, HIP_COPY_DEFAULT), HIP_SUCCESS);
	EXPECT(value, 0x1234);
	EXPECT(hipMemUnmap(range, unit), HIP_INVALID_VALUE);
	EXPECT(hipMemUnmap(range, 2 * unit), HIP_SUCCESS);
	EXPECT(hipMemUnmap(range, 2 * unit), HIP_INVALID_VALUE);
	EXPECT(hipMemAddressFree(range, unit), HIP_INVALID_VALUE);
	EXPECT(hipMemAddressFree(range, 4 * unit), HIP_SUCCESS);
	EXPECT(hipMemMap(range, 2 * unit, 0, NULL, 0), HIP_INVALID_VALUE);

	EXPECT(hipMalloc((void **)&words, 8192), HIP_SUCCESS);
	EXPECT(hipMemGetAddressRange(&base, &size, words + 100), HIP_SUCCESS);
	EXPECT(base == words && size == 8192, 1);
	EXPECT(hipIpcGetMemHandle(&handle, &value), HIP_INVALID_VALUE); /* the host's */
	EXPECT(hipIpcGetMemHandle(&handle, words + 8), HIP_SUCCESS);
	EXPECT(hipIpcOpenMemHandle(&opened, handle, 0), HIP_INVALID_VALUE);
	EXPECT(hipIpcOpenMemHandle(&opened, handle, HIP_IPC_PEERS), HIP_INVALID_CONTEXT); /* its own process */
	EXPECT(hipIpcCloseMemHandle(words), HIP_INVALID_VALUE);
	EXPECT(hipStreamWaitValue32(NULL, words, 1, 4, UINT32_MAX), HIP_INVALID_VALUE);
	EXPECT(hipStreamWaitValue32(NULL, &value, 1, 0, UINT32_MAX), HIP_INVALID_VALUE);
	EXPECT(hipFree(words), HIP_SUCCESS);
}

static void open_gate(void *gate) { atomic_store((atomic_uint *)gate, 1); }
static void wait_gate(void *gate)
{
	while (!atomic_load((atomic_uint *)gate)) usleep(100);
}
static int callback_status = -1;
static void note_status(hip_stream stream, int status, void *argument)
{
	(void)stream;
	callback_status = status;
	open_gate(argument);
}

static void check_streams(void)
{
	hip_stream first, second;
	hip_event event, timed;
	uint32_t *flag, *out, result[4];
	atomic_uint gate = 0, callback_gate = 0;
	float ms = -1;

	EXPECT(hipStreamCreateWithFlags(&first, HIP_STREAM_NON_BLOCKING), HIP_SUCCESS);
	EXPECT(hipStreamCreateWithFlags(&second, HIP_STREAM_NON_BLOCKING), HIP_SUCCESS);
	EXPECT(hipEventCreateWithFlags(&event, HIP_EVENT_NO_TIMING), HIP_SUCCESS);
	EXPECT(hipEventCreateWithFlags(&timed, 0), HIP_SUCCESS);
	EXPECT(hipHostMalloc((void **)&flag, 64, HIP_HOST_COHERENT), HIP_SUCCESS);
	EXPECT(hipMalloc((void **)&out, 64), HIP_SUCCESS);
	EXPECT(hipEventQuery(event), HIP_SUCCESS);	/* never recorded */
	EXPECT(hipEventElapsedTime(&ms, event, timed), HIP_INVALID_HANDLE);

	/* A kernel spins on memory that the host writes; another stream waits for it through an event. */
	*flag = 0;
	struct { uint32_t *flag; } spin_arguments = { flag };
	struct fill_arguments a = { out, 9, 4 };
	EXPECT(launch(spin, 1, 64, first, &spin_arguments, sizeof spin_arguments), HIP_SUCCESS);
	EXPECT(hipEventRecord(event, first), HIP_SUCCESS);
	EXPECT(hipStreamWaitEvent(second, event, 0), HIP_SUCCESS);
	EXPECT(launch(fill, 1, 64, second, &a, sizeof a), HIP_SUCCESS);
	EXPECT(hipEventRecord(timed, second), HIP_SUCCESS);
	usleep(20000);
	EXPECT(hipStreamQuery(first), HIP_NOT_READY);
	EXPECT(hipStreamQuery(second), HIP_NOT_READY);
	EXPECT(hipEventQuery(event), HIP_NOT_READY);
	EXPECT(hipEventElapsedTime(&ms, timed, timed), HIP_NOT_READY);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	EXPECT(hipStreamSynchronize(second), HIP_SUCCESS);
	EXPECT(hipEventQuery(event), HIP_SUCCESS);
	EXPECT(hipEventSynchronize(timed), HIP_SUCCESS);
	EXPECT(hipEventElapsedTime(&ms, timed, timed), HIP_SUCCESS);
	EXPECT(ms == 0, 1);
	EXPECT(hipMemcpy(result, out, sizeof result, HIP_COPY_DEFAULT), HIP_SUCCESS);
	EXPECT(result[3], 9);

	/* Host functions, in order, beside another stream. */
	EXPECT(hipLaunchHostFunc(first, NULL, NULL), HIP_INVALID_VALUE);
	EXPECT(hipStreamAddCallback(first, note_status, NULL, 1), HIP_INVALID_VALUE);
	EXPECT(hipLaunchHostFunc(first, wait_gate, &gate), HIP_SUCCESS);
	EXPECT(hipStreamAddCallback(first, note_status, &callback_gate, 0), HIP_SUCCESS);
	EXPECT(hipStreamQuery(first), HIP_NOT_READY);
	EXPECT(hipLaunchHostFunc(second, open_gate, &gate), HIP_SUCCESS);
	EXPECT(hipStreamSynchronize(first), HIP_SUCCESS);
	EXPECT(callback_status, HIP_SUCCESS);

	/* The null stream waits for blocking streams, and they for it. */
	hip_stream blocking;
	EXPECT(hipStreamCreateWithFlags(&blocking, 0), HIP_SUCCESS);
	atomic_store(&gate, 0);
	EXPECT(hipLaunchHostFunc(blocking, wait_gate, &gate), HIP_SUCCESS);
	a.value = 1;
	EXPECT(launch(fill, 1, 64, NULL, &a, sizeof a), HIP_SUCCESS);
	a.value = 2;
	EXPECT(launch(fill, 1, 64, blocking, &a, sizeof a), HIP_SUCCESS);
	usleep(20000);
	EXPECT(hipStreamQuery(NULL), HIP_NOT_READY);
	atomic_store(&gate, 1);
	EXPECT(hipStreamSynchronize(blocking), HIP_SUCCESS);
	EXPECT(hipMemcpy(result, out, sizeof result, HIP_COPY_DEFAULT), HIP_SUCCESS);
	EXPECT(result[0], 2);
	EXPECT(hipStreamDestroy(blocking), HIP_SUCCESS);
	EXPECT(hipStreamDestroy(blocking), HIP_INVALID_HANDLE);
	EXPECT(hipStreamDestroy(first), HIP_SUCCESS);
	EXPECT(hipStreamDestroy(second), HIP_SUCCESS);
	EXPECT(hipEventDestroy(event), HIP_SUCCESS);
	EXPECT(hipEventDestroy(timed), HIP_SUCCESS);
	EXPECT(hipHostFree(flag), HIP_SUCCESS);
	EXPECT(hipFree(out), HIP_SUCCESS);
}

/* Each is told once, and work after it goes on. */
static void check_faults(void)
{
	uint32_t *out, result[4];
	struct fill_arguments beyond = { NULL, 3, 4096 };

	EXPECT(hipMalloc((void **)&out, 4096), HIP_SUCCESS);
	beyond.out = out;
	EXPECT(launch(fault, 1, 64, NULL, &beyond, sizeof beyond), HIP_SUCCESS);
	EXPECT(hipDeviceSynchronize(), HIP_ILLEGAL_ADDRESS);
	EXPECT(hipDeviceSynchronize(), HIP_SUCCESS);
	EXPECT(launch(fill, 16, 256, NULL, &beyond, sizeof beyond), HIP_SUCCESS);	/* runs over the end */
	EXPECT(hipStreamSynchronize(NULL), HIP_ILLEGAL_ADDRESS);
	EXPECT(launch(trapping, 1, 64, NULL, &beyond, sizeof beyond), HIP_SUCCESS);
	EXPECT(hipStreamSynchronize(NULL), HIP_LAUNCH_FAILURE);
	beyond.count = 4;
	EXPECT(launch(fill, 1, 64, NULL, &beyond, sizeof beyond), HIP_SUCCESS);
	EXPECT(hipMemcpy(result, out, sizeof result, HIP_COPY_DEFAULT), HIP_SUCCESS);
	EXPECT(result[3], 3);
	EXPECT(hipFree(out), HIP_SUCCESS);
}

/* Every block waits until all have come: only a cooperative launch runs them together. */
static void check_cooperative(void)
{
	uint32_t *counter, blocks = 40, result;
	void *arguments[] = { &counter, &blocks };

	EXPECT(hipMalloc((void **)&counter, 4), HIP_SUCCESS);
	EXPECT(hipMemsetD32Async(counter, 0, 1, NULL), HIP_SUCCESS);
	EXPECT(hipModuleLaunchCooperativeKernel(counted, 1000000, 1, 1, 64, 1, 1, 0, NULL, arguments), HIP_COOPERATIVE_TOO_LARGE);
	EXPECT(hipModuleLaunchCooperativeKernel(counted, blocks, 1, 1, 64, 1, 1, 0, NULL, arguments), HIP_SUCCESS);
	EXPECT(hipMemcpy(&result, counter, 4, HIP_COPY_DEFAULT), HIP_SUCCESS);
	EXPECT(result, 40);
	EXPECT(hipFree(counter), HIP_SUCCESS);
}

int main(int argc, char **argv)
{
	static uint8_t image[1 << 20];
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;

	if (!file || fread(image, 1, sizeof image, file) < 64) {
		puts("usage: test_hip KERNELS.co");
		return 1;
	}
	fclose(file);
	EXPECT(hipInit(0), HIP_SUCCESS);
	check_arguments();
	EXPECT(hipModuleLoadData(&module, image), HIP_SUCCESS);
	if (!failures) {
		check_launches();
		check_memory();
		check_streams();
		check_faults();
		check_cooperative();
		EXPECT(hipModuleUnload(module), HIP_SUCCESS);
	}
	printf("%d passed, %d failed\n", checks - failures, failures);
	return failures != 0;
}
