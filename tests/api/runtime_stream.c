/* Streams, events, host functions, callbacks and capture, without kernels. Expectations: CUDA Runtime API reference
 * manual, "Stream Management", "Event Management", "Graph Management". */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"

static atomic_int gate_open, reached;

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void wait_at_gate(void *unused)
{
	(void)unused;
	atomic_fetch_add(&reached, 1);
	while (!atomic_load(&gate_open))
		sleep_ms(1);
}

static void count_up(void *counter)
{
	atomic_fetch_add((atomic_int *)counter, 1);
}

static void CUDART_CB note_status(cudaStream_t stream, cudaError_t status, void *place)
{
	(void)stream;
	*(int *)place = (int)status + 100;
}

static void test_queries(void)
{
	cudaStream_t stream;
	cudaEvent_t event;
	atomic_store(&gate_open, 0);
	CHECK_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK_OK(cudaEventCreate(&event));
	CHECK_OK(cudaEventQuery(event)); /* never recorded: as if done */
	CHECK_OK(cudaStreamQuery(stream));
	CHECK_OK(cudaLaunchHostFunc(stream, wait_at_gate, NULL));
	CHECK_OK(cudaEventRecord(event, stream));
	CHECK_INT(cudaStreamQuery(stream), cudaErrorNotReady);
	CHECK_INT(cudaEventQuery(event), cudaErrorNotReady);
	atomic_store(&gate_open, 1);
	CHECK_OK(cudaEventSynchronize(event));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_OK(cudaStreamQuery(stream));
	CHECK_OK(cudaEventQuery(event));
	cudaGetLastError();
	CHECK_OK(cudaEventDestroy(event));
	CHECK_OK(cudaStreamDestroy(stream));
}

static void test_order(void)
{
	cudaStream_t first, second;
	cudaEvent_t event;
	atomic_int counter = 0;
	int status = 0;
	atomic_store(&gate_open, 0);
	CHECK_OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	CHECK_OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	CHECK_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK_OK(cudaLaunchHostFunc(first, wait_at_gate, NULL));
	CHECK_OK(cudaEventRecord(event, first));
	CHECK_OK(cudaStreamWaitEvent(second, event, 0));
	CHECK_OK(cudaLaunchHostFunc(second, count_up, &counter));
	CHECK_OK(cudaStreamAddCallback(second, note_status, &status, 0));
	sleep_ms(30);
	CHECK_INT(atomic_load(&counter), 0); /* behind the event */
	atomic_store(&gate_open, 1);
	CHECK_OK(cudaStreamSynchronize(second));
	CHECK_INT(atomic_load(&counter), 1);
	CHECK_INT(status, 100);
	CHECK_OK(cudaDeviceSynchronize());
	CHECK_OK(cudaEventDestroy(event));
	CHECK_OK(cudaStreamDestroy(first));
	CHECK_OK(cudaStreamDestroy(second));
}

static void test_properties(void)
{
	cudaStream_t stream;
	unsigned flags = 9;
	int priority = 9, device = -1;
	unsigned long long id = 0, other = 0;
	CHECK_OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1));
	CHECK_OK(cudaStreamGetFlags(stream, &flags));
	CHECK_INT(flags, cudaStreamNonBlocking);
	CHECK_OK(cudaStreamGetPriority(stream, &priority));
	CHECK_INT(priority, -1);
	CHECK_OK(cudaStreamGetDevice(stream, &device));
	CHECK_INT(device, 0);
	CHECK_OK(cudaStreamGetId(stream, &id));
	CHECK_OK(cudaStreamGetId(NULL, &other));
	CHECK(id != other);
	CHECK_OK(cudaStreamDestroy(stream));
	CHECK_INT(cudaStreamCreateWithFlags(&stream, 0x80), cudaErrorInvalidValue);
	CHECK_INT(cudaStreamSynchronize((cudaStream_t)(void *)&flags), cudaErrorInvalidResourceHandle);
	CHECK_INT(cudaEventSynchronize((cudaEvent_t)(void *)&flags), cudaErrorInvalidResourceHandle);
	CHECK_INT(cudaStreamWaitEvent(NULL, NULL, 0), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
}

static void test_times(void)
{
	cudaEvent_t start, end, untimed;
	float ms = -1.0f;
	CHECK_OK(cudaEventCreate(&start));
	CHECK_OK(cudaEventCreate(&end));
	CHECK_OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
	CHECK_INT(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle); /* not recorded */
	CHECK_OK(cudaEventRecord(start, NULL));
	CHECK_OK(cudaStreamSynchronize(NULL));
	sleep_ms(20);
	CHECK_OK(cudaEventRecord(end, NULL));
	CHECK_OK(cudaEventRecord(untimed, NULL));
	CHECK_OK(cudaEventSynchronize(end));
	CHECK_OK(cudaEventElapsedTime(&ms, start, end));
	CHECK(ms >= 19.0f && ms < 20000.0f);
	CHECK_INT(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
	CHECK_INT(cudaEventCreateWithFlags(&untimed, cudaEventInterprocess), cudaErrorInvalidValue); /* needs DisableTiming */
	cudaGetLastError();
	CHECK_OK(cudaEventDestroy(start));
	CHECK_OK(cudaEventDestroy(end));
	CHECK_OK(cudaEventDestroy(untimed));
}

/* Captured work runs when the graph does, and as often. */
static void test_capture(void)
{
	cudaStream_t stream;
	cudaGraph_t graph = NULL;
	cudaGraphExec_t exec;
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
	atomic_int counter = 0;
	void *memory;
	int value = 0;
	size_t nodes = 0;
	CHECK_OK(cudaMalloc(&memory, 16));
	CHECK_OK(cudaStreamCreate(&stream));
	CHECK_OK(cudaStreamIsCapturing(stream, &status));
	CHECK_INT(status, cudaStreamCaptureStatusNone);
	CHECK_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CHECK_OK(cudaStreamIsCapturing(stream, &status));
	CHECK_INT(status, cudaStreamCaptureStatusActive);
	CHECK_OK(cudaMemsetAsync(memory, 5, 16, stream));
	CHECK_OK(cudaLaunchHostFunc(stream, count_up, &counter));
	CHECK_OK(cudaMemcpyAsync(&value, memory, 4, cudaMemcpyDeviceToHost, stream));
	CHECK_OK(cudaStreamEndCapture(stream, &graph));
	CHECK(graph != NULL);
	CHECK_INT(atomic_load(&counter), 0);
	CHECK_OK(cudaGraphGetNodes(graph, NULL, &nodes));
	CHECK_INT(nodes, 3);
	CHECK_OK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 1; i <= 3; i++) {
		value = 0;
		CHECK_OK(cudaGraphLaunch(exec, stream));
		CHECK_OK(cudaStreamSynchronize(stream));
		CHECK_INT(atomic_load(&counter), i);
		CHECK_INT(value, 0x05050505);
	}
	CHECK_OK(cudaGraphExecDestroy(exec));
	CHECK_OK(cudaGraphDestroy(graph));
	/* Waiting for the stream is not allowed while it is under capture, and spoils the capture. */
	CHECK_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CHECK_INT(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
	CHECK_INT(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
	CHECK_INT(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
	cudaGetLastError();
	CHECK_OK(cudaStreamDestroy(stream));
	CHECK_OK(cudaFree(memory));
}

static void test_graph(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t set, copy, host, nodes[4];
	enum cudaGraphNodeType type;
	atomic_int counter = 0;
	void *memory;
	unsigned value = 0;
	size_t count = 4;
	CHECK_OK(cudaMalloc(&memory, 64));
	CHECK_OK(cudaGraphCreate(&graph, 0));
	struct cudaMemsetParams setting = { .dst = memory, .value = 0x01020304, .elementSize = 4, .width = 4, .height = 1 };
	CHECK_OK(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &setting));
	CHECK_OK(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, &value, (char *)memory + 8, 4, cudaMemcpyDeviceToHost));
	struct cudaHostNodeParams calling = { count_up, &counter };
	CHECK_OK(cudaGraphAddHostNode(&host, graph, &copy, 1, &calling));
	CHECK_OK(cudaGraphNodeGetType(copy, &type));
	CHECK_INT(type, cudaGraphNodeTypeMemcpy);
	CHECK_OK(cudaGraphGetRootNodes(graph, nodes, &count));
	CHECK_INT(count, 1);
	CHECK(nodes[0] == set);

	struct cudaMemcpy3DParms copied;
	CHECK_OK(cudaGraphMemcpyNodeGetParams(copy, &copied));
	CHECK(copied.srcPtr.ptr == (char *)memory + 8 && copied.dstPtr.ptr == (void *)&value);
	CHECK_INT(copied.extent.width, 4);
	CHECK_INT(copied.kind, cudaMemcpyDeviceToHost);
	struct cudaMemsetParams found;
	CHECK_OK(cudaGraphMemsetNodeGetParams(set, &found));
	CHECK_INT(found.value, 0x01020304);
	CHECK(found.dst == memory);

	CHECK_OK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cudaGraphLaunch(exec, NULL));
	CHECK_OK(cudaStreamSynchronize(NULL));
	CHECK_INT(value, 0x01020304);
	CHECK_INT(atomic_load(&counter), 1);
	setting.value = 0x0a0b0c0d;
	CHECK_OK(cudaGraphExecMemsetNodeSetParams(exec, set, &setting));
	CHECK_OK(cudaGraphLaunch(exec, NULL));
	CHECK_OK(cudaStreamSynchronize(NULL));
	CHECK_INT(value, 0x0a0b0c0d);
	CHECK_OK(cudaGraphExecDestroy(exec));
	CHECK_OK(cudaGraphDestroy(graph));
	CHECK_INT(cudaGraphLaunch(NULL, NULL), cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFree(memory));
}

int main(void)
{
	test_queries();
	test_order();
	test_properties();
	test_times();
	test_capture();
	test_graph();
	return check_end();
}
