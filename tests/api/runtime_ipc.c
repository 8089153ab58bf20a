/* Memory, events and pools of another process. Expectations: CUDA Runtime API reference manual, "Device Management" (cudaIpc*),
 * "Stream Ordered Memory Allocator" (export and import). For libcudart.so.13 and libcudart.so.12. The child is made before CUDA is
 * initialised; the two talk over a socket, which can pass on the file that stands for a pool. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

struct message {
	cudaIpcMemHandle_t memory;
	cudaIpcEventHandle_t event;
	struct cudaMemPoolPtrExportData pointer;
	int with_pool;
};

static void send_message(int to, const struct message *message, int file)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { (void *)(size_t)message, sizeof *message };
	struct msghdr all = { .msg_iov = &data, .msg_iovlen = 1 };
	memset(&control, 0, sizeof control);
	if (file >= 0) {
		all.msg_control = &control;
		all.msg_controllen = sizeof control;
		struct cmsghdr *header = CMSG_FIRSTHDR(&all);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof file);
		memcpy(CMSG_DATA(header), &file, sizeof file);
	}
	CHECK(sendmsg(to, &all, 0) == sizeof *message);
}

static int receive_message(int from, struct message *message)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { message, sizeof *message };
	struct msghdr all = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	int file = -1;
	CHECK(recvmsg(from, &all, MSG_WAITALL) == sizeof *message);
	struct cmsghdr *header = CMSG_FIRSTHDR(&all);
	if (header)
		memcpy(&file, CMSG_DATA(header), sizeof file);
	return file;
}

static void use_pool(const struct message *message, int file)
{
	cudaMemPool_t pool;
	void *pointer;
	unsigned value = 0;
	CHECK_OK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(size_t)file, cudaMemHandleTypePosixFileDescriptor, 0));
	struct cudaMemPoolPtrExportData data = message->pointer;
	CHECK_OK(cudaMemPoolImportPointer(&pointer, pool, &data));
	CHECK_OK(cudaMemcpy(&value, pointer, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(value, 0x77777777);
	CHECK_OK(cudaMemset(pointer, 0x66, 4));
	CHECK(cudaMallocFromPoolAsync(&pointer, 64, pool, NULL) != cudaSuccess); /* nothing new from an imported pool */
	cudaGetLastError();
	CHECK_OK(cudaMemPoolImportPointer(&pointer, pool, &data) ? cudaSuccess : cudaFree(pointer));
	CHECK_OK(cudaDeviceSynchronize());
	CHECK_OK(cudaMemPoolDestroy(pool));
}

static void child(int socket)
{
	struct message message;
	cudaIpcMemHandle_t nonsense;
	cudaStream_t stream;
	cudaEvent_t event;
	unsigned *memory, value = 0;
	char go = 1;
	int file = receive_message(socket, &message);
	CHECK_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	memset(&nonsense, 7, sizeof nonsense);
	CHECK(cudaIpcOpenMemHandle((void **)&memory, nonsense, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess);
	CHECK(cudaIpcOpenMemHandle((void **)&memory, message.memory, 0x40) != cudaSuccess);
	cudaGetLastError();
	CHECK_OK(cudaIpcOpenMemHandle((void **)&memory, message.memory, cudaIpcMemLazyEnablePeerAccess));
	CHECK_OK(cudaIpcOpenEventHandle(&event, message.event));
	CHECK_OK(cudaMemcpy(&value, memory + 5, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(value, 0x11111111);
	CHECK_OK(cudaMemsetAsync(memory, 0x22, 4, stream));
	CHECK_OK(cudaEventRecord(event, stream));
	if (message.with_pool)
		use_pool(&message, file);
	CHECK(write(socket, &go, 1) == 1);
	CHECK(read(socket, &go, 1) == 1);
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_OK(cudaIpcCloseMemHandle(memory));
	CHECK_INT(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
	CHECK_OK(cudaEventDestroy(event));
}

static cudaMemPool_t pool;
static void *pooled;

/* The file that stands for the pool; -1 where the device's pools cannot be shared. */
static int export_pool(struct message *message, cudaStream_t stream)
{
	struct cudaMemPoolProps properties = { .allocType = cudaMemAllocationTypePinned,
					       .handleTypes = cudaMemHandleTypePosixFileDescriptor,
					       .location = { cudaMemLocationTypeDevice, 0 } };
	cudaMemPool_t plain;
	int file = -1, types = 0;
	CHECK_OK(cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
	message->with_pool = (types & cudaMemHandleTypePosixFileDescriptor) != 0;
	if (!message->with_pool)
		return -1;
	CHECK_OK(cudaMemPoolCreate(&pool, &properties));
	CHECK_OK(cudaMemPoolExportToShareableHandle(&file, pool, cudaMemHandleTypePosixFileDescriptor, 0));
	CHECK(file >= 0);
	CHECK_OK(cudaMallocFromPoolAsync(&pooled, 4096, pool, stream));
	CHECK_OK(cudaMemsetAsync(pooled, 0x77, 4096, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_OK(cudaMemPoolExportPointer(&message->pointer, pooled));
	properties.handleTypes = cudaMemHandleTypeNone;
	CHECK_OK(cudaMemPoolCreate(&plain, &properties));
	CHECK_INT(cudaMemPoolExportToShareableHandle(&file, plain, cudaMemHandleTypePosixFileDescriptor, 0), cudaErrorInvalidValue);
	CHECK_INT(cudaMemPoolExportPointer(&message->pointer, &file), cudaErrorInvalidValue);
	CHECK_INT(cudaMemPoolExportPointer(NULL, pooled), cudaErrorInvalidValue);
	CHECK_OK(cudaMemPoolDestroy(plain));
	cudaGetLastError();
	return file;
}

static void parent(int socket)
{
	struct message message = { .with_pool = 0 };
	cudaStream_t stream;
	cudaEvent_t event, local;
	unsigned *memory, value = 0;
	char go = 0;
	CHECK_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK_OK(cudaMalloc((void **)&memory, 64));
	CHECK_OK(cudaMemset(memory, 0x11, 64));
	CHECK_OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
	CHECK_OK(cudaEventCreate(&local));
	CHECK(cudaIpcGetEventHandle(&message.event, local) != cudaSuccess); /* made for this process alone */
	CHECK_INT(cudaEventCreateWithFlags(&local, cudaEventInterprocess), cudaErrorInvalidValue); /* they have no times */
	CHECK_OK(cudaIpcGetEventHandle(&message.event, event));
	CHECK_OK(cudaIpcGetMemHandle(&message.memory, memory));

	int file = export_pool(&message, stream);
	send_message(socket, &message, file);
	CHECK(read(socket, &go, 1) == 1);
	CHECK_OK(cudaStreamWaitEvent(stream, event, 0));
	CHECK_OK(cudaMemcpyAsync(&value, memory, 4, cudaMemcpyDeviceToHost, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_INT(value, 0x22222222);
	if (message.with_pool) {
		CHECK_OK(cudaMemcpy(&value, pooled, 4, cudaMemcpyDeviceToHost));
		CHECK_INT(value, 0x66666666);
	}
	CHECK(write(socket, &go, 1) == 1);
	if (message.with_pool) {
		CHECK_OK(cudaFreeAsync(pooled, stream));
		CHECK_OK(cudaStreamSynchronize(stream));
		CHECK_OK(cudaMemPoolDestroy(pool));
		close(file);
	}
	CHECK_OK(cudaFree(memory));
}

int main(void)
{
	int ends[2], status = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 2;
	pid_t other = fork();
	if (!other) {
		child(ends[0]);
		fflush(NULL);
		_exit(check_end());
	}
	parent(ends[1]);
	CHECK(waitpid(other, &status, 0) == other);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	return check_end();
}
