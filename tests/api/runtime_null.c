/* Null pointers, stale handles and handles of another kind, wherever a program can pass them: a status, never a crash, and
 * nothing written. CUDA Runtime API reference manual: cudaErrorInvalidValue for pointers, mostly
 * cudaErrorInvalidResourceHandle for handles. For libcudart.so.13 and libcudart.so.12. */
#include <cuda_runtime_api.h>

#include <stdint.h>

#include "check.h"

#define REFUSED(call) CHECK((call) != cudaSuccess)
#define INVALID_VALUE(call) CHECK_INT(call, cudaErrorInvalidValue)

static void test_null(void)
{
	struct cudaMemcpy3DParms copy = { 0 };
	struct cudaExtent extent = { 4, 4, 4 };
	struct cudaChannelFormatDesc desc = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
	cudaGraph_t graph;
	cudaGraphNode_t node;
	cudaEvent_t event;
	cudaStream_t stream;
	char byte[8] = { 0 };
	size_t size;
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaEventCreate(&event));
	CHECK_OK(cudaStreamCreate(&stream));

	INVALID_VALUE(cudaGetDevice(NULL));
	INVALID_VALUE(cudaGetDeviceFlags(NULL));
	INVALID_VALUE(cudaDriverGetVersion(NULL));
	INVALID_VALUE(cudaChooseDevice(NULL, NULL));
	INVALID_VALUE(cudaDeviceGetLimit(NULL, cudaLimitStackSize));
	INVALID_VALUE(cudaDeviceGetCacheConfig(NULL));
	INVALID_VALUE(cudaDeviceCanAccessPeer(NULL, 0, 0));
	INVALID_VALUE(cudaDeviceGetByPCIBusId(NULL, NULL));
	INVALID_VALUE(cudaDeviceGetDefaultMemPool(NULL, 0));
	INVALID_VALUE(cudaStreamCreate(NULL));
	INVALID_VALUE(cudaStreamCreateWithPriority(NULL, 0, 0));
	INVALID_VALUE(cudaStreamGetFlags(stream, NULL));
	INVALID_VALUE(cudaStreamGetPriority(stream, NULL));
	INVALID_VALUE(cudaStreamGetId(stream, NULL));
	INVALID_VALUE(cudaStreamIsCapturing(stream, NULL));
	INVALID_VALUE(cudaStreamAddCallback(stream, NULL, NULL, 0));
	INVALID_VALUE(cudaLaunchHostFunc(stream, NULL, NULL));
	INVALID_VALUE(cudaThreadExchangeStreamCaptureMode(NULL));
	REFUSED(cudaStreamEndCapture(stream, NULL));
	INVALID_VALUE(cudaEventCreate(NULL));
	INVALID_VALUE(cudaEventElapsedTime(NULL, event, event));
	INVALID_VALUE(cudaMallocHost(NULL, 8));
	INVALID_VALUE(cudaHostAlloc(NULL, 8, 0));
	INVALID_VALUE(cudaMallocManaged(NULL, 8, cudaMemAttachGlobal));
	INVALID_VALUE(cudaMallocAsync(NULL, 8, stream));
	INVALID_VALUE(cudaMallocPitch(NULL, NULL, 8, 8));
	INVALID_VALUE(cudaMalloc3D(NULL, extent));
	INVALID_VALUE(cudaMalloc3DArray(NULL, &desc, extent, 0));
	INVALID_VALUE(cudaMallocMipmappedArray(NULL, &desc, extent, 1, 0));
	REFUSED(cudaHostRegister(NULL, 64, 0));
	REFUSED(cudaHostGetDevicePointer(NULL, byte, 0));
	INVALID_VALUE(cudaPointerGetAttributes(NULL, byte));
	INVALID_VALUE(cudaMemcpy3D(&copy));
	INVALID_VALUE(cudaMemcpy3DPeer(NULL));
	INVALID_VALUE(cudaGetSymbolAddress(NULL, byte));
	INVALID_VALUE(cudaGetSymbolSize(NULL, byte));
	INVALID_VALUE(cudaFuncGetAttributes(NULL, byte));
	INVALID_VALUE(cudaOccupancyMaxActiveClusters(NULL, byte, NULL));
	INVALID_VALUE(cudaMemPoolCreate(NULL, NULL));
	INVALID_VALUE(cudaGetDriverEntryPoint(NULL, NULL, 0, NULL));
	INVALID_VALUE(cudaGetTextureObjectTextureDesc(NULL, 1));
	INVALID_VALUE(cudaCreateSurfaceObject(NULL, NULL));
	INVALID_VALUE(cudaGetChannelDesc(NULL, NULL));
	INVALID_VALUE(cudaGraphCreate(NULL, 0));
	INVALID_VALUE(cudaGraphInstantiate(NULL, graph, 0));
	INVALID_VALUE(cudaGraphClone(NULL, graph));
	INVALID_VALUE(cudaGraphGetNodes(graph, NULL, NULL));
	INVALID_VALUE(cudaGraphAddKernelNode(&node, graph, NULL, 0, NULL));
	INVALID_VALUE(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, NULL));
	INVALID_VALUE(cudaGraphAddMemsetNode(&node, graph, NULL, 0, NULL));
	INVALID_VALUE(cudaGraphAddHostNode(&node, graph, NULL, 0, NULL));
	INVALID_VALUE(cudaGraphAddEmptyNode(&node, graph, NULL, 3));
	INVALID_VALUE(cudaGraphAddEmptyNode(NULL, graph, NULL, 0));
	INVALID_VALUE(cudaIpcGetMemHandle(NULL, byte));
	REFUSED(cudaIpcCloseMemHandle(byte));
	REFUSED(cudaImportExternalMemory(NULL, NULL));
	REFUSED(cudaLibraryLoadData(NULL, NULL, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cudaGraphGetNodes(graph, NULL, &size));
	CHECK_INT(size, 0);
	CHECK_OK(cudaGraphDestroy(graph));
	CHECK_OK(cudaEventDestroy(event));
	CHECK_OK(cudaStreamDestroy(stream));
	cudaGetLastError();
}

/* Stale, of another kind, or no address at all. */
static void test_handles(void)
{
	cudaStream_t stream, bad_stream;
	cudaEvent_t event;
	cudaGraph_t graph;
	void *bad[3];
	int value;
	CHECK_OK(cudaStreamCreate(&stream));
	CHECK_OK(cudaEventCreate(&event));
	CHECK_OK(cudaGraphCreate(&graph, 0));
	bad[0] = event;
	bad[1] = (void *)(uintptr_t)0xdead0008;
	bad[2] = graph;
	for (int i = 0; i < 3; i++) {
		bad_stream = bad[i];
		CHECK_INT(cudaStreamSynchronize(bad_stream), cudaErrorInvalidResourceHandle);
		CHECK_INT(cudaStreamQuery(bad_stream), cudaErrorInvalidResourceHandle);
		CHECK_INT(cudaStreamDestroy(bad_stream), cudaErrorInvalidResourceHandle);
		CHECK_INT(cudaEventRecord(event, bad_stream), cudaErrorInvalidResourceHandle);
		CHECK_INT(cudaMemcpyAsync(&value, &value, 4, cudaMemcpyDefault, bad_stream), cudaErrorInvalidResourceHandle);
		REFUSED(cudaStreamBeginCapture(bad_stream, cudaStreamCaptureModeRelaxed));
		if (bad[i] != event) {
			CHECK_INT(cudaEventSynchronize(bad[i]), cudaErrorInvalidResourceHandle);
			CHECK_INT(cudaEventDestroy(bad[i]), cudaErrorInvalidResourceHandle);
			CHECK_INT(cudaStreamWaitEvent(stream, bad[i], 0), cudaErrorInvalidResourceHandle);
		}
		if (bad[i] != graph) {
			REFUSED(cudaGraphDestroy(bad[i]));
			REFUSED(cudaGraphLaunch(bad[i], stream));
			REFUSED(cudaGraphDestroyNode(bad[i]));
		}
		REFUSED(cudaFreeArray(bad[i]));
		REFUSED(cudaMemPoolDestroy(bad[i]));
		REFUSED(cudaLibraryUnload(bad[i]));
		REFUSED(cudaDestroyTextureObject((cudaTextureObject_t)(uintptr_t)bad[i]));
		REFUSED(cudaFree(bad[i]));
		REFUSED(cudaLaunchKernel(bad[i], (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL));
	}
	CHECK_OK(cudaStreamDestroy(stream));
	CHECK_INT(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
	CHECK_OK(cudaEventDestroy(event));
	CHECK_INT(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
	CHECK_OK(cudaGraphDestroy(graph));
	REFUSED(cudaGraphDestroy(graph));
	cudaGetLastError();
	CHECK_OK(cudaDeviceSynchronize());
}

int main(void)
{
	test_null();
	test_handles();
	return check_end();
}
