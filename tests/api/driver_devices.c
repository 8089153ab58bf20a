/* Several devices on one machine: their own memory, peers, copies and events between them. Runs with however many there are
 * and skips where there is one; the test's environment asks for four. Expectations: CUDA Driver API reference manual, "Peer
 * Context Memory Access", "Unified Addressing". */
#define _GNU_SOURCE
#include <cuda.h>

#include "check.h"
#include "driver_kernels.h"

static CUcontext contexts[2];

static void test_identity(int count)
{
	CUuuid first, other;
	char a[32] = "", b[32] = "";

	for (int i = 1; i < count; i++) {
		CHECK_OK(cuDeviceGetUuid(&first, 0));
		CHECK_OK(cuDeviceGetUuid(&other, i));
		CHECK(memcmp(&first, &other, sizeof first));
		CHECK_OK(cuDeviceGetPCIBusId(a, sizeof a, 0));
		CHECK_OK(cuDeviceGetPCIBusId(b, sizeof b, i));
		CHECK(strcmp(a, b));
	}
}

/* What one device's atomics do on another's memory: all that native atomics are, where the attribute says that there are any. */
static void test_atomics(void)
{
	CUatomicOperation operations[] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_EXCHANGE}, wrong = (CUatomicOperation)99;
	unsigned capabilities[2] = {0};
	int native = 0;

	CHECK_OK(cuDeviceGetP2PAttribute(&native, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1));
	CHECK_OK(cuDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 1));
	if (native)
		CHECK(capabilities[0] & CU_ATOMIC_CAPABILITY_SCALAR_32 && capabilities[1] & CU_ATOMIC_CAPABILITY_SCALAR_64);
	CHECK_INT(cuDeviceGetP2PAtomicCapabilities(capabilities, &wrong, 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetP2PAtomicCapabilities(NULL, operations, 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 99), CUDA_ERROR_INVALID_DEVICE);
}

static void test_peers(void)
{
	CUdeviceptr here, there;
	unsigned values[4] = {1, 2, 3, 4}, back[4] = {0};
	int can = 0, ordinal = -1;

	CHECK_OK(cuDeviceCanAccessPeer(&can, 0, 1));
	CHECK_INT(can, 1);
	CHECK_OK(cuDeviceCanAccessPeer(&can, 0, 0));
	CHECK_INT(can, 0);
	CHECK_OK(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
	CHECK_INT(can, 1);
	CHECK(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0) != CUDA_SUCCESS);
	test_atomics();
	CHECK_OK(cuCtxSetCurrent(contexts[0]));
	CHECK_OK(cuCtxEnablePeerAccess(contexts[1], 0));
	CHECK_INT(cuCtxEnablePeerAccess(contexts[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	CHECK_INT(cuCtxEnablePeerAccess(contexts[1], 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemAlloc(&here, 16));
	CHECK_OK(cuMemcpyHtoD(here, values, 16));
	CHECK_OK(cuCtxSetCurrent(contexts[1]));
	CHECK_OK(cuMemAlloc(&there, 16));
	CHECK_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there));
	CHECK_INT(ordinal, 1);
	CHECK_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, here));
	CHECK_INT(ordinal, 0);
	CHECK_OK(cuMemcpyPeer(there, contexts[1], here, contexts[0], 16));
	CHECK_OK(cuMemcpyDtoH(back, there, 16));
	CHECK(!memcmp(values, back, 16));
	CHECK_OK(cuMemFree(there));
	CHECK_OK(cuCtxSetCurrent(contexts[0]));
	CHECK_OK(cuMemFree(here));
	CHECK_OK(cuCtxDisablePeerAccess(contexts[1]));
	CHECK_INT(cuCtxDisablePeerAccess(contexts[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

/* One library on two devices; an event of the first makes a stream of the second wait. */
static void test_together(void)
{
	CUdeviceptr cells[2];
	CUlibrary library;
	CUkernel add;
	CUstream streams[2];
	CUevent event;
	unsigned value = 5, out = 0;

	CHECK_OK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cuLibraryGetKernel(&add, library, "add"));
	for (int i = 0; i < 2; i++) {
		CHECK_OK(cuCtxSetCurrent(contexts[i]));
		CHECK_OK(cuLibraryGetGlobal(&cells[i], NULL, library, "counter"));
		CHECK_OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	}
	CHECK(cells[0] != cells[1]);
	CHECK_OK(cuCtxSetCurrent(contexts[0]));
	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	for (int round = 0; round < 50; round++) {
		void *first[] = {&cells[0], &value};

		CHECK_OK(cuCtxSetCurrent(contexts[0]));
		CHECK_OK(cuLaunchKernel((CUfunction)add, 1, 1, 1, 1, 1, 1, 0, streams[0], first, NULL));
		CHECK_INT(cuEventRecord(event, streams[1]), CUDA_ERROR_INVALID_HANDLE); /* the event is of the other device */
		CHECK_OK(cuEventRecord(event, streams[0]));
		CHECK_OK(cuCtxSetCurrent(contexts[1]));
		CHECK_OK(cuStreamWaitEvent(streams[1], event, 0));
		CHECK_OK(cuMemcpyPeerAsync(cells[1], contexts[1], cells[0], contexts[0], 4, streams[1]));
		CHECK_INT(cuLaunchKernel((CUfunction)add, 1, 1, 1, 1, 1, 1, 0, streams[0], first, NULL), CUDA_ERROR_INVALID_HANDLE);
		CHECK_OK(cuStreamSynchronize(streams[1]));
		CHECK_OK(cuMemcpyDtoH(&out, cells[1], 4));
		CHECK_INT(out, 5 + 5 * (round + 1));
	}
	for (int i = 0; i < 2; i++) {
		CHECK_OK(cuCtxSetCurrent(contexts[i]));
		CHECK_OK(cuStreamDestroy(streams[i]));
	}
	CHECK_OK(cuEventDestroy(event));
	CHECK_OK(cuLibraryUnload(library));
}

/* Managed variables are one for all devices. */
static void test_managed_variable(void)
{
	static const char code[] = ".version 7.8\n.target sm_80\n.address_size 64\n"
				   ".visible .global .attribute(.managed) .align 4 .u32 shared_value = 9;\n"
				   ".visible .entry bump() { .reg .b32 %x; ld.global.u32 %x, [shared_value]; add.u32 %x, %x, 1;\n"
				   " st.global.u32 [shared_value], %x; ret; }\n";
	CUlibrary library;
	CUkernel bump;
	CUdeviceptr pointers[2];

	CHECK_OK(cuLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cuLibraryGetKernel(&bump, library, "bump"));
	for (int i = 0; i < 2; i++) {
		CHECK_OK(cuCtxSetCurrent(contexts[i]));
		CHECK_OK(cuLibraryGetManaged(&pointers[i], NULL, library, "shared_value"));
		CHECK_OK(cuLaunchKernel((CUfunction)bump, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
		CHECK_OK(cuCtxSynchronize());
	}
	CHECK(pointers[0] == pointers[1]);
	CHECK_INT(*(unsigned *)(size_t)pointers[0], 11);
	CHECK_OK(cuLibraryUnload(library));
}

int main(void)
{
	int count = 0;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuDeviceGetCount(&count));
	if (count < 2) {
		fprintf(stderr, "skipped: one device\n");
		return 77;
	}
	test_identity(count);
	for (int i = 0; i < 2; i++)
		CHECK_OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
	test_peers();
	test_together();
	test_managed_variable();
	CHECK_OK(cuCtxSetCurrent(NULL));
	for (int i = 0; i < 2; i++)
		CHECK_OK(cuDevicePrimaryCtxRelease(i));
	return check_end();
}
