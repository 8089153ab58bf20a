/* The functions as programs get them that are compiled for the thread's own default stream (_ptsz, _ptds): stream 0 is it. The
 * stream is captured, which the legacy one cannot be: whatever is given to stream 0 must become a node. Expectations: CUDA Driver
 * API reference manual, "Stream synchronization behavior"; API synchronization behavior. */
#define _GNU_SOURCE
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <cuda.h>

#include <stdatomic.h>
#include <time.h>

#include "check.h"
#include "driver_kernels.h"

static CUcontext context;
static CUdeviceptr a, b;
static CUfunction add;
static atomic_int gate;

static void nothing(void *unused)
{
	(void)unused;
}

static void pass_gate(void *unused)
{
	(void)unused;
	while (!atomic_load(&gate))
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static size_t node_count(void)
{
	CUstreamCaptureStatus status;
	cuuint64_t id;
	CUgraph graph = NULL;
	size_t count = 0;

	CHECK_OK(cuStreamGetCaptureInfo(0, &status, &id, &graph, NULL, NULL, NULL));
	CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	if (graph)
		CHECK_OK(cuGraphGetNodes(graph, NULL, &count));
	return count;
}

#define BECOMES_A_NODE(call)                                                                                            \
	do {                                                                                                           \
		size_t before = node_count();                                                                          \
		CHECK_OK(call);                                                                                        \
		if (node_count() != before + 1) {                                                                      \
			fprintf(stderr, "not captured: %s\n", #call);                                                  \
			check_failures++;                                                                              \
		}                                                                                                      \
	} while (0)

static void test_captured(void)
{
	static unsigned host[64];
	unsigned one = 1;
	void *parameters[] = {&a, &one};
	CUDA_ARRAY_DESCRIPTOR line = {.Width = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
	CUDA_MEMCPY2D plane = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b,
			       .WidthInBytes = 4, .Height = 2, .srcPitch = 8, .dstPitch = 8};
	CUDA_MEMCPY3D solid = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b,
			       .WidthInBytes = 4, .Height = 1, .Depth = 1};
	CUDA_MEMCPY3D_PEER peer = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .srcContext = context, .WidthInBytes = 4,
				   .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b, .dstContext = context, .Height = 1, .Depth = 1};
	CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
	CUstreamBatchMemOpParams write = {.writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, 0, {0}, 0, 0}};
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUgraph graph, inner;
	size_t size = 4, first = 0;
	CUgraphNodeParams empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	CUgraphNode node;
	CUgraphExec exec;
	CUdeviceptr p = 0;
	CUarray array;
	CUevent event;

	write.writeValue.address = a;
	CHECK_OK(cuArrayCreate(&array, &line));
	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuGraphCreate(&inner, 0));
	CHECK_OK(cuGraphAddNode(&node, inner, NULL, NULL, 0, &empty));
	CHECK_OK(cuGraphInstantiate(&exec, inner, 0));
	CHECK_OK(cuStreamBeginCapture(0, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK_OK(cuStreamIsCapturing(0, &status));
	CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	BECOMES_A_NODE(cuMemcpyAsync(b, a, 4, 0));
	BECOMES_A_NODE(cuMemcpyHtoDAsync(a, host, 4, 0));
	BECOMES_A_NODE(cuMemcpyDtoHAsync(host, a, 4, 0));
	BECOMES_A_NODE(cuMemcpyDtoDAsync(b, a, 4, 0));
	BECOMES_A_NODE(cuMemcpyPeerAsync(b, context, a, context, 4, 0));
	BECOMES_A_NODE(cuMemcpyHtoAAsync(array, 0, host, 4, 0));
	BECOMES_A_NODE(cuMemcpyAtoHAsync(host, array, 0, 4, 0));
	BECOMES_A_NODE(cuMemcpy2DAsync(&plane, 0));
	BECOMES_A_NODE(cuMemcpy3DAsync(&solid, 0));
	BECOMES_A_NODE(cuMemcpy3DPeerAsync(&peer, 0));
	BECOMES_A_NODE(cuMemcpyBatchAsync(&b, &a, &size, 1, &attributes, &first, 1, 0));
	BECOMES_A_NODE(cuMemsetD8Async(a, 1, 4, 0));
	BECOMES_A_NODE(cuMemsetD16Async(a, 1, 4, 0));
	BECOMES_A_NODE(cuMemsetD32Async(a, 1, 4, 0));
	BECOMES_A_NODE(cuMemsetD2D8Async(a, 16, 1, 4, 2, 0));
	BECOMES_A_NODE(cuMemsetD2D16Async(a, 16, 1, 4, 2, 0));
	BECOMES_A_NODE(cuMemsetD2D32Async(a, 16, 1, 4, 2, 0));
	BECOMES_A_NODE(cuMemAllocAsync(&p, 64, 0));
	BECOMES_A_NODE(cuMemFreeAsync(p, 0));
	BECOMES_A_NODE(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, parameters, NULL));
	BECOMES_A_NODE(cuLaunchKernelEx(&config, add, parameters, NULL));
	BECOMES_A_NODE(cuLaunchCooperativeKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, parameters));
	BECOMES_A_NODE(cuLaunchHostFunc(0, nothing, NULL));
	BECOMES_A_NODE(cuEventRecordWithFlags(event, 0, CU_EVENT_RECORD_EXTERNAL));
	BECOMES_A_NODE(cuStreamWaitEvent(0, event, CU_EVENT_WAIT_EXTERNAL));
	BECOMES_A_NODE(cuStreamWriteValue32(0, a, 1, 0));
	BECOMES_A_NODE(cuStreamWriteValue64(0, a, 1, 0));
	BECOMES_A_NODE(cuStreamWaitValue32(0, a, 1, CU_STREAM_WAIT_VALUE_GEQ));
	BECOMES_A_NODE(cuStreamWaitValue64(0, a, 1, CU_STREAM_WAIT_VALUE_GEQ));
	BECOMES_A_NODE(cuStreamBatchMemOp(0, 1, &write, 0));
	BECOMES_A_NODE(cuGraphLaunch(exec, 0));
	CHECK_OK(cuEventRecord(event, 0)); /* a point, no node */
	CHECK_OK(cuStreamUpdateCaptureDependencies(0, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	CHECK_OK(cuStreamEndCapture(0, &graph));
	CHECK_OK(cuStreamIsCapturing(0, &status));
	CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_NONE);
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(inner));
	CHECK_OK(cuEventDestroy(event));
	CHECK_OK(cuArrayDestroy(array));
}

static void test_questions(void)
{
	unsigned long long own = 0, zero = 1, legacy = 0;
	CUdevice device = 9;
	CUcontext of = NULL;
	CUgreenCtx green;
	unsigned flags = 9;
	int priority = 9;

	CHECK_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
	CHECK_OK(cuStreamGetId(0, &zero));
	CHECK_OK(cuStreamGetId(CU_STREAM_LEGACY, &legacy));
	CHECK(own == zero && own != legacy);
	CHECK_OK(cuStreamGetPriority(0, &priority));
	CHECK_INT(priority, 0);
	CHECK_OK(cuStreamGetFlags(0, &flags));
	CHECK_INT(flags, CU_STREAM_DEFAULT);
	CHECK_OK(cuStreamGetDevice(0, &device));
	CHECK_INT(device, 0);
	CHECK_OK(cuStreamGetCtx(0, &of, &green));
	CHECK(of == context);
	atomic_store(&gate, 0);
	CHECK_OK(cuLaunchHostFunc(0, pass_gate, NULL));
	CHECK_INT(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
	CHECK_INT(cuStreamQuery(0), CUDA_ERROR_NOT_READY);
	atomic_store(&gate, 1);
	CHECK_OK(cuStreamSynchronize(0));
	CHECK_OK(cuStreamQuery(CU_STREAM_PER_THREAD));
}

/* Calls that wait and name no stream are in the thread's own, behind what it was given. */
static void test_waiting(void)
{
	unsigned host[4] = {0};
	CUDA_MEMCPY2D plane = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = host,
			       .WidthInBytes = 4, .Height = 1};
	CUDA_MEMCPY3D solid = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = host,
			       .WidthInBytes = 4, .Height = 1, .Depth = 1};

	CHECK_OK(cuMemsetD32Async(a, 5, 4, 0));
	CHECK_OK(cuMemcpyDtoH(host, a, 4));
	CHECK_INT(host[0], 5);
	CHECK_OK(cuMemsetD32Async(a, 6, 4, 0));
	CHECK_OK(cuMemcpy2D(&plane));
	CHECK_INT(host[0], 6);
	CHECK_OK(cuMemsetD32Async(a, 7, 4, 0));
	CHECK_OK(cuMemcpy3D(&solid));
	CHECK_INT(host[0], 7);
	host[0] = 8;
	CHECK_OK(cuMemcpyHtoD(a, host, 4));
	CHECK_OK(cuMemcpyDtoD(b, a, 4));
	CHECK_OK(cuMemcpy((CUdeviceptr)(size_t)&host[1], b, 4));
	CHECK_INT(host[1], 8);
	CHECK_OK(cuMemsetD8(a, 1, 4));
	CHECK_OK(cuMemcpyDtoHAsync(&host[2], a, 4, 0));
	CHECK_OK(cuStreamSynchronize(0));
	CHECK_INT(host[2], 0x01010101);
}

int main(void)
{
	CUmodule module;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunction(&add, module, "add"));
	CHECK_OK(cuMemAlloc(&a, 256));
	CHECK_OK(cuMemAlloc(&b, 256));
	test_captured();
	test_questions();
	test_waiting();
	CHECK_OK(cuCtxDestroy(context));
	return check_end();
}
