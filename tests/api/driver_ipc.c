/* Memory and events between processes. Expectations: CUDA Driver API reference manual, cuIpc*, cuMemExportToShareableHandle.
 * The child is made before the driver is initialised, as CUDA asks for; the two talk over pipes. */
#define _GNU_SOURCE
#include <cuda.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

struct message {
	CUipcMemHandle large, small, neighbour;
	CUipcEventHandle event;
};

/* The function's first version, which headers do not give a name any more. */
static CUresult open_first(CUdeviceptr *pointer, CUipcMemHandle handle)
{
	CUresult (*open)(CUdeviceptr *, CUipcMemHandle, unsigned) = NULL;
	void *entry = dlsym(RTLD_DEFAULT, "cuIpcOpenMemHandle");

	memcpy(&open, &entry, sizeof open);
	return open ? open(pointer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) : CUDA_ERROR_NOT_FOUND;
}

static void child(int in, int out)
{
	CUdeviceptr large, small, neighbour;
	CUipcMemHandle nonsense;
	CUcontext context;
	CUstream stream;
	CUevent event;
	struct message message;
	unsigned value = 0;
	char go = 1;

	CHECK(read(in, &message, sizeof message) == sizeof message);
	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	memset(&nonsense, 7, sizeof nonsense);
	CHECK(cuIpcOpenMemHandle(&large, nonsense, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
	CHECK_OK(cuIpcOpenMemHandle(&large, message.large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK_OK(cuIpcOpenMemHandle(&small, message.small, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK(open_first(&neighbour, nonsense) != CUDA_SUCCESS);
	CHECK_OK(open_first(&neighbour, message.neighbour)); /* on the same page as the one before */
	CHECK_OK(cuIpcOpenEventHandle(&event, message.event));
	CHECK_OK(cuMemcpyDtoH(&value, large + (4 << 20) - 4, 4));
	CHECK_INT(value, 0xAAAA);
	CHECK_OK(cuMemcpyDtoH(&value, small, 4));
	CHECK_INT(value, 0xBBBB);
	CHECK_OK(cuMemcpyDtoH(&value, neighbour + 60, 4));
	CHECK_INT(value, 0xDDDD);
	CHECK_OK(cuMemsetD32Async(small, 0xEEEE, 1, stream));
	CHECK_OK(cuMemsetD32Async(neighbour, 0xFFFF, 1, stream));
	CHECK_OK(cuMemsetD32Async(large, 0xCCCC, 4, stream));
	CHECK_OK(cuEventRecord(event, stream));
	CHECK(write(out, &go, 1) == 1);
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK(read(in, &go, 1) == 1); /* the parent has looked */
	CHECK_OK(cuIpcCloseMemHandle(large));
	CHECK_INT(cuIpcCloseMemHandle(large), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuIpcCloseMemHandle(small));
	CHECK_OK(cuIpcCloseMemHandle(neighbour));
	CHECK_OK(cuEventDestroy(event));
	CHECK_OK(cuCtxDestroy(context));
}

static void parent(int in, int out)
{
	CUdeviceptr large, small, neighbour, again;
	CUcontext context;
	CUstream stream;
	CUevent event, plain;
	struct message message;
	unsigned value = 0;
	char go = 0;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemAlloc(&large, 4 << 20));
	CHECK_OK(cuMemAlloc(&small, 64));
	CHECK_OK(cuMemAlloc(&neighbour, 64));
	CHECK_OK(cuMemsetD32(large, 0xAAAA, 1 << 20));
	CHECK_OK(cuMemsetD32(small, 0xBBBB, 16));
	CHECK_OK(cuMemsetD32(neighbour, 0xDDDD, 16));
	CHECK_OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuEventCreate(&plain, CU_EVENT_DEFAULT));
	CHECK_INT(cuIpcGetEventHandle(&message.event, plain), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuIpcGetMemHandle(&message.large, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuIpcGetMemHandle(&message.large, large));
	CHECK_OK(cuIpcGetMemHandle(&message.small, small));
	CHECK_OK(cuIpcGetMemHandle(&message.neighbour, neighbour));
	CHECK_OK(cuIpcGetEventHandle(&message.event, event));
	CHECK(cuIpcOpenMemHandle(&again, message.large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS); /* its own */
	CHECK(write(out, &message, sizeof message) == sizeof message);
	CHECK(read(in, &go, 1) == 1); /* the child has recorded the event */
	CHECK_OK(cuStreamWaitEvent(stream, event, 0));
	CHECK_OK(cuMemcpyDtoHAsync(&value, large + 12, 4, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(value, 0xCCCC);
	CHECK_OK(cuEventSynchronize(event));
	CHECK_OK(cuMemcpyDtoH(&value, small, 4));
	CHECK_INT(value, 0xEEEE);
	CHECK_OK(cuMemcpyDtoH(&value, neighbour, 4));
	CHECK_INT(value, 0xFFFF);
	CHECK_OK(cuMemcpyDtoH(&value, neighbour + 4, 4));
	CHECK_INT(value, 0xDDDD);
	CHECK(write(out, &go, 1) == 1);
	CHECK_OK(cuMemFree(large));
	CHECK_OK(cuMemFree(small));
	CHECK_OK(cuMemAlloc(&large, 4 << 20));
	CHECK_OK(cuMemsetD32(large, 1, 1 << 20));
	CHECK_OK(cuCtxDestroy(context));
}

int main(void)
{
	int down[2], up[2], status = 0;
	pid_t other;

	if (pipe(down) || pipe(up))
		return 2;
	other = fork();
	if (!other) {
		child(down[0], up[1]);
		fflush(NULL);
		_exit(check_end());
	}
	parent(up[0], down[1]);
	CHECK(waitpid(other, &status, 0) == other);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	return check_end();
}
