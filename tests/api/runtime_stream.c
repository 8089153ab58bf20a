/* Streams, events, host functions, callbacks and capture, without kernels. Expectations: CUDA Runtime API reference
 * manual, "Stream Management", "Event Management", "Graph Management". For libcudart.so.13 and libcudart.so.12. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"

/* What the releases have with other prototypes, and what only 12 declares. */
#if RUNTIME_MAJOR == 12
cudaError_t plain_info(cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *, cudaGraph_t *, const cudaGraphNode_t **,
		       size_t *) __asm__("cudaStreamGetCaptureInfo");
cudaError_t plain_update(cudaStream_t, cudaGraphNode_t *, size_t, unsigned) __asm__("cudaStreamUpdateCaptureDependencies");
#else
#define plain_info(stream, status, id, graph, nodes, count) cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, NULL, count)
#define plain_update(stream, nodes, count, flags) cudaStreamUpdateCaptureDependencies(stream, nodes, NULL, count, flags)
#endif
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
					cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *count);
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
					cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
					size_t *count);
cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges,
						   size_t count, unsigned flags);
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end);

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

static void test_attributes(void)
{
	cudaStream_t stream, other;
	cudaLaunchAttributeValue value = { .syncPolicy = cudaSyncPolicyYield }, found = { 0 };
	CHECK_OK(cudaStreamCreate(&stream));
	CHECK_OK(cudaStreamCreate(&other));
	CHECK_OK(cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
	CHECK_OK(cudaStreamCopyAttributes(other, stream));
	CHECK_OK(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, &found));
	CHECK_INT(found.syncPolicy, cudaSyncPolicyYield);
	CHECK_INT(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, NULL), cudaErrorInvalidValue);
	CHECK_INT(cudaStreamSetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, NULL), cudaErrorInvalidValue);
	CHECK(cudaStreamSetAttribute(other, (cudaLaunchAttributeID)999, &value) != cudaSuccess);
	CHECK(cudaStreamCopyAttributes(other, (cudaStream_t)(void *)&value) != cudaSuccess);
	cudaGetLastError();
	CHECK_OK(cudaStreamDestroy(stream));
	CHECK_OK(cudaStreamDestroy(other));
}

/* What a capture says of itself, and where its next node goes. */
static void test_capture_info(void)
{
	cudaStream_t stream;
	cudaGraph_t graph = NULL, same = NULL;
	const cudaGraphNode_t *nodes = NULL;
	const cudaGraphEdgeData *edges = NULL;
	cudaGraphNode_t first, added, roots[4];
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
	unsigned long long id = 0, id_too = 0;
	atomic_int counter = 0;
	size_t count = 9;
	CHECK_OK(cudaStreamCreate(&stream));
	CHECK_OK(plain_info(stream, &status, &id, NULL, NULL, NULL));
	CHECK_INT(status, cudaStreamCaptureStatusNone);
	CHECK_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	CHECK_OK(cudaLaunchHostFunc(stream, count_up, &counter));
	CHECK_OK(plain_info(stream, &status, &id, &graph, &nodes, &count));
	CHECK_INT(status, cudaStreamCaptureStatusActive);
	CHECK(id != 0 && graph != NULL);
	CHECK_INT(count, 1);
	first = nodes[0];
	CHECK_OK(cudaStreamGetCaptureInfo_v2(stream, &status, &id_too, &same, &nodes, &count));
	CHECK(id_too == id && same == graph && nodes[0] == first);
	CHECK_OK(cudaStreamGetCaptureInfo_v3(stream, &status, &id_too, &same, &nodes, &edges, &count));
	CHECK(id_too == id && count == 1 && nodes[0] == first);
	/* A node that the program adds itself; the next one follows both, then only that one. */
	CHECK_OK(cudaGraphAddEmptyNode(&added, graph, NULL, 0));
	CHECK_OK(plain_update(stream, &added, 1, cudaStreamAddCaptureDependencies));
	CHECK_OK(plain_info(stream, &status, NULL, NULL, &nodes, &count));
	CHECK_INT(count, 2);
	CHECK_OK(cudaStreamUpdateCaptureDependencies_v2(stream, &added, NULL, 1, cudaStreamSetCaptureDependencies));
	CHECK_OK(plain_info(stream, &status, NULL, NULL, &nodes, &count));
	CHECK_INT(count, 1);
	CHECK(nodes[0] == added);
	CHECK_INT(plain_update(stream, &added, 1, 77), cudaErrorInvalidValue);
	CHECK_OK(cudaStreamEndCapture(stream, &same));
	CHECK(same == graph);
	CHECK(plain_update(stream, &added, 1, cudaStreamAddCaptureDependencies) != cudaSuccess); /* no capture */
	count = 4;
	CHECK_OK(cudaGraphGetRootNodes(graph, roots, &count));
	CHECK_INT(count, 2);

	/* Capture into a graph that is there: its new nodes follow those named. */
	CHECK_OK(cudaStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1, cudaStreamCaptureModeThreadLocal));
	CHECK_OK(cudaLaunchHostFunc(stream, count_up, &counter));
	CHECK_OK(cudaStreamEndCapture(stream, &same));
	CHECK(same == graph);
	CHECK_OK(cudaGraphGetNodes(graph, NULL, &count));
	CHECK_INT(count, 3);
	count = 4;
	CHECK_OK(cudaGraphGetRootNodes(graph, roots, &count));
	CHECK_INT(count, 2);
	cudaGraphExec_t exec;
	CHECK_OK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cudaGraphLaunch(exec, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
	CHECK_INT(atomic_load(&counter), 2);
	CHECK(cudaStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0, cudaStreamCaptureModeRelaxed) != cudaSuccess);
	cudaGetLastError();
	CHECK_OK(cudaGraphExecDestroy(exec));
	CHECK_OK(cudaGraphDestroy(graph));
	CHECK_OK(cudaStreamDestroy(stream));
}

static void test_record_flags(void)
{
	cudaStream_t stream;
	cudaEvent_t start, end;
	cudaGraph_t graph;
	cudaGraphNode_t node;
	enum cudaGraphNodeType type;
	float ms = -1, ms_too = -1;
	size_t count = 1;
	CHECK_OK(cudaStreamCreate(&stream));
	CHECK_OK(cudaEventCreate(&start));
	CHECK_OK(cudaEventCreate(&end));
	CHECK_OK(cudaEventRecordWithFlags(start, stream, cudaEventRecordDefault));
	CHECK_OK(cudaEventRecordWithFlags(end, stream, cudaEventRecordDefault));
	CHECK_OK(cudaEventSynchronize(end));
	CHECK_OK(cudaEventElapsedTime(&ms, start, end));
	CHECK_OK(cudaEventElapsedTime_v2(&ms_too, start, end));
	CHECK(ms >= 0 && ms == ms_too);
	CHECK_INT(cudaEventElapsedTime_v2(NULL, start, end), cudaErrorInvalidValue);
	CHECK_INT(cudaEventRecordWithFlags(start, stream, 0x40), cudaErrorInvalidValue);
	/* Under capture an external event becomes a node. */
	CHECK_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	CHECK_OK(cudaEventRecordWithFlags(start, stream, cudaEventRecordExternal));
	CHECK_OK(cudaStreamEndCapture(stream, &graph));
	CHECK_OK(cudaGraphGetNodes(graph, &node, &count));
	CHECK_INT(count, 1);
	CHECK_OK(cudaGraphNodeGetType(node, &type));
	CHECK_INT(type, cudaGraphNodeTypeEventRecord);
	cudaGetLastError();
	CHECK_OK(cudaGraphDestroy(graph));
	CHECK_OK(cudaEventDestroy(start));
	CHECK_OK(cudaEventDestroy(end));
	CHECK_OK(cudaStreamDestroy(stream));
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
	test_attributes();
	test_capture();
	test_capture_info();
	test_record_flags();
	test_graph();
	return check_end();
}
