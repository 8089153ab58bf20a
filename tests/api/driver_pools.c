/* Memory pools: which is a device's, who may access it, and pools that two processes share. Expectations: CUDA Driver API
 * reference manual, "Stream Ordered Memory Allocator"; error statuses as cards answer. The child is made before the driver is
 * initialised; a socket takes the pool's file descriptor to it. */
#define _GNU_SOURCE
#include <cuda.h>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const CUmemPoolProps shareable = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
					 .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

static void send_descriptor(int socket, int file)
{
	char byte = 0, control[CMSG_SPACE(sizeof file)] = {0};
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof file);
	memcpy(CMSG_DATA(header), &file, sizeof file);
	CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_descriptor(int socket)
{
	int file = -1;
	char byte, control[CMSG_SPACE(sizeof file)];
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};

	CHECK(recvmsg(socket, &message, 0) == 1);
	if (CMSG_FIRSTHDR(&message))
		memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
	return file;
}

static void child(int socket)
{
	CUmemPoolPtrExportData data[2], wrong;
	CUdeviceptr a = 0, b = 0, none;
	CUmemoryPool pool;
	CUcontext context;
	CUstream stream;
	unsigned value = 0;
	char go = 1;
	int file = receive_descriptor(socket);

	CHECK(read(socket, data, sizeof data) == sizeof data);
	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(size_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	close(file);
	CHECK_OK(cuMemPoolImportPointer(&a, pool, &data[0]));
	CHECK_OK(cuMemPoolImportPointer(&b, pool, &data[1]));
	CHECK(a && b && a != b);
	CHECK_OK(cuMemcpyDtoH(&value, a + 4092, 4));
	CHECK_INT(value, 0x1234);
	CHECK_OK(cuMemcpyDtoH(&value, b, 4));
	CHECK_INT(value, 0x77);
	CHECK_OK(cuMemsetD32Async(a, 0x4321, 1024, stream)); /* the maker sees it */
	CHECK_OK(cuStreamSynchronize(stream));
	/* Nothing is made of another process's pool, and what was not exported of it is not imported. */
	CHECK_INT(cuMemAllocFromPoolAsync(&none, 64, pool, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPoolExportPointer(&wrong, a), CUDA_ERROR_INVALID_VALUE);
	memset(&wrong, 3, sizeof wrong);
	CHECK_INT(cuMemPoolImportPointer(&none, pool, &wrong), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFreeAsync(a, stream)); /* before the maker frees it */
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(cuMemFreeAsync(a, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree(b));
	CHECK(write(socket, &go, 1) == 1);
	CHECK_OK(cuMemPoolDestroy(pool));
	CHECK_OK(cuCtxDestroy(context));
}

static void test_sharing(int socket)
{
	CUmemPoolPtrExportData data[2], unused;
	CUdeviceptr a, b, other;
	CUmemoryPool pool, current, imported;
	CUstream stream;
	unsigned value = 0;
	char go = 0;
	int file = -1;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemPoolCreate(&pool, &shareable));
	CHECK_OK(cuMemAllocFromPoolAsync(&a, 4096, pool, stream));
	CHECK_OK(cuMemAllocFromPoolAsync(&b, 4, pool, stream));
	CHECK_OK(cuMemAllocAsync(&other, 64, stream));
	CHECK_OK(cuMemsetD32Async(a, 0x1234, 1024, stream));
	CHECK_OK(cuMemsetD32Async(b, 0x77, 1, stream));
	CHECK_OK(cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CHECK_OK(cuMemPoolExportPointer(&data[0], a)); /* behind the fills */
	CHECK_OK(cuMemPoolExportPointer(&data[1], b));
	/* A pool of no handle type, another type, a flag; an address that is not a block's first, or another pool's. */
	CHECK_OK(cuDeviceGetMemPool(&current, 0));
	CHECK_INT(cuMemPoolExportToShareableHandle(&go, current, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPoolExportToShareableHandle(&go, pool, CU_MEM_HANDLE_TYPE_WIN32, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPoolExportToShareableHandle(&go, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPoolExportToShareableHandle(NULL, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPoolExportPointer(&unused, a + 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPoolExportPointer(&unused, other), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPoolExportPointer(NULL, a), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPoolImportFromShareableHandle(&imported, (void *)(size_t)0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		  CUDA_ERROR_INVALID_VALUE); /* standard input is no pool */
	CHECK_INT(cuMemPoolImportPointer(&other, pool, &data[0]), CUDA_ERROR_INVALID_VALUE); /* that was not imported */
	send_descriptor(socket, file);
	close(file);
	CHECK(write(socket, data, sizeof data) == sizeof data);
	CHECK(read(socket, &go, 1) == 1);
	CHECK_OK(cuMemcpyDtoH(&value, a, 4));
	CHECK_INT(value, 0x4321);
	CHECK_OK(cuMemcpyDtoH(&value, b, 4));
	CHECK_INT(value, 0x77);
	/* What is freed is used again, and goes back to the device in the end. */
	CHECK_OK(cuMemFreeAsync(a, stream));
	CHECK_OK(cuMemAllocFromPoolAsync(&a, 4096, pool, stream));
	CHECK_OK(cuMemsetD8Async(a, 5, 4096, stream));
	CHECK_OK(cuMemcpyDtoHAsync(&value, a + 4092, 4, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(value, 0x05050505);
	CHECK_OK(cuMemFreeAsync(a, stream));
	CHECK_OK(cuMemFreeAsync(b, stream));
	CHECK_OK(cuMemFreeAsync(other, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemPoolTrimTo(pool, 0));
	CHECK_OK(cuMemPoolDestroy(pool));
	CHECK_OK(cuStreamDestroy(stream));
}

/* Which pool a device allocates from: its default one, or what the program has put in its place. */
static void test_current(void)
{
	CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, nowhere = {CU_MEM_LOCATION_TYPE_INVALID, 0};
	CUmemoryPool standard, current = NULL, own, by_location = NULL;
	CUdeviceptr p;
	cuuint64_t used = 0;

	CHECK_OK(cuDeviceGetDefaultMemPool(&standard, 0));
	CHECK_OK(cuMemGetDefaultMemPool(&by_location, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
	CHECK(by_location == standard);
	CHECK_OK(cuMemPoolCreate(&own, &shareable));
	CHECK_OK(cuDeviceSetMemPool(0, own));
	CHECK_OK(cuDeviceGetMemPool(&current, 0));
	CHECK(current == own);
	CHECK_OK(cuMemGetMemPool(&current, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
	CHECK(current == own);
	CHECK_OK(cuMemAllocAsync(&p, 1000, NULL));
	CHECK_OK(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	CHECK(used >= 1000);
	CHECK_OK(cuMemFreeAsync(p, NULL));
	CHECK_OK(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, standard));
	CHECK_OK(cuDeviceGetMemPool(&current, 0));
	CHECK(current == standard);
	CHECK_OK(cuDeviceSetMemPool(0, own));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuMemPoolDestroy(own)); /* the default one takes its place */
	CHECK_OK(cuDeviceGetMemPool(&current, 0));
	CHECK(current == standard);
	CHECK_INT(cuMemPoolDestroy(standard), CUDA_ERROR_NOT_PERMITTED);
	CHECK_INT(cuDeviceSetMemPool(0, (CUmemoryPool)&here), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceSetMemPool(99, standard), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuMemGetDefaultMemPool(&current, &nowhere, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemGetMemPool(&current, NULL, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemSetMemPool(&nowhere, CU_MEM_ALLOCATION_TYPE_PINNED, standard), CUDA_ERROR_INVALID_VALUE);
}

static void test_access(void)
{
	CUmemAccessDesc none = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
	CUmemAccessDesc both = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, far = {CU_MEM_LOCATION_TYPE_DEVICE, 99};
	CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	CUmemoryPool pool;

	CHECK_OK(cuMemPoolCreate(&pool, &shareable));
	CHECK_OK(cuMemPoolGetAccess(&flags, pool, &here)); /* the device it is on */
	CHECK_INT(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CHECK_OK(cuMemPoolSetAccess(pool, &both, 1));
	CHECK_INT(cuMemPoolSetAccess(pool, &none, 1), CUDA_ERROR_INVALID_VALUE); /* which keeps it */
	both.location.id = 99;
	CHECK_INT(cuMemPoolSetAccess(pool, &both, 1), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuMemPoolSetAccess(pool, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuMemPoolGetAccess(&flags, pool, &far), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuMemPoolGetAccess(NULL, pool, &here), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemPoolDestroy(pool));
	CHECK_INT(cuMemPoolGetAccess(&flags, pool, &here), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	CUcontext context;
	int sockets[2], status = 0;
	pid_t other;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 2;
	other = fork();
	if (!other) {
		close(sockets[0]);
		child(sockets[1]);
		fflush(NULL);
		_exit(check_end());
	}
	close(sockets[1]);
	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	test_sharing(sockets[0]);
	test_current();
	test_access();
	CHECK_OK(cuCtxDestroy(context));
	CHECK(waitpid(other, &status, 0) == other);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	return check_end();
}
