/* Who waits for whom: events, words of memory, callbacks, green contexts; what capturing streams say. Every version of the
 * functions. Expectations: CUDA Driver API reference manual, "Stream Management", "Event Management", "Stream Memory Operations",
 * "Green Contexts". A stream that must not go on is held by a host function until the test lets it. */
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stdatomic.h>
#include <time.h>

#include "check.h"
#include "driver_kernels.h"

static CUcontext context;
static CUfunction add;
static CUdeviceptr cell;
static CUstream first, second;
static atomic_int gate, seen;

static void pass_gate(void *unused)
{
	(void)unused;
	while (!atomic_load(&gate))
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void hold(CUstream stream)
{
	atomic_store(&gate, 0);
	CHECK_OK(cuLaunchHostFunc(stream, pass_gate, NULL));
}

static void let_go(void)
{
	atomic_store(&gate, 1);
}

static unsigned read_cell(void)
{
	unsigned value = 0;

	CHECK_OK(cuMemcpyDtoH_v2(&value, cell, 4));
	return value;
}

static void set_cell(unsigned value)
{
	CHECK_OK(cuMemsetD32_v2(cell, value, 1));
	CHECK_OK(cuCtxSynchronize());
}

static void test_events(void)
{
	CUevent a, b;
	float ms = -1;

	set_cell(0);
	CHECK_OK(cuEventCreate(&a, CU_EVENT_DEFAULT));
	CHECK_OK(cuEventCreate(&b, CU_EVENT_DEFAULT));
	CHECK_INT(cuEventElapsedTime(&ms, a, b), CUDA_ERROR_INVALID_HANDLE); /* not recorded yet */
	hold(first);
	CHECK_OK(cuMemsetD32Async(cell, 5, 1, first));
	CHECK_OK(cuEventRecordWithFlags(a, first, CU_EVENT_RECORD_DEFAULT));
	CHECK_OK(cuStreamWaitEvent(second, a, 0));
	CHECK_OK(cuEventRecordWithFlags(b, second, CU_EVENT_RECORD_DEFAULT));
	CHECK_INT(cuEventQuery(b), CUDA_ERROR_NOT_READY);
	CHECK_INT(cuEventElapsedTime(&ms, a, b), CUDA_ERROR_NOT_READY);
	let_go();
	CHECK_OK(cuEventSynchronize(b));
	CHECK_INT(read_cell(), 5);
	CHECK_OK(cuEventElapsedTime(&ms, a, b));
	CHECK(ms >= 0 && ms < 10000);
	CHECK_OK(cuEventElapsedTime_v2(&ms, b, a));
	CHECK(ms <= 0);
	CHECK_INT(cuEventRecordWithFlags(a, first, 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuEventRecordWithFlags(a, first, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_INVALID_VALUE); /* for captures */
	CHECK_INT(cuEventRecordWithFlags(NULL, first, 0), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuEventElapsedTime(NULL, a, b), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuEventDestroy(a));
	CHECK_INT(cuEventDestroy(a), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuEventDestroy_v2(b));
}

/* An event of the whole context is behind all its streams; all of them wait for one. */
static void test_context_events(void)
{
	CUevent event, other;
	CUstream third;

	set_cell(0);
	CHECK_OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuEventCreate(&other, CU_EVENT_DISABLE_TIMING));
	hold(first);
	CHECK_OK(cuMemsetD32Async(cell, 7, 1, first));
	CHECK_OK(cuCtxRecordEvent(context, event));
	CHECK_INT(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	CHECK_OK(cuCtxWaitEvent(context, event));
	CHECK_OK(cuEventRecord(other, third)); /* a stream with nothing to do but wait */
	CHECK_INT(cuEventQuery(other), CUDA_ERROR_NOT_READY);
	let_go();
	CHECK_OK(cuEventSynchronize(other));
	CHECK_INT(read_cell(), 7);
	CHECK_INT(cuCtxRecordEvent((CUcontext)event, event), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxWaitEvent(NULL, event), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxWaitEvent(context, NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuEventDestroy_v2(event));
	CHECK_OK(cuEventDestroy_v2(other));
	CHECK_OK(cuStreamDestroy(third));
	CHECK_INT(cuStreamDestroy(third), CUDA_ERROR_INVALID_HANDLE);
}

static void called(CUstream stream, CUresult status, void *data)
{
	if (stream == first && status == CUDA_SUCCESS)
		atomic_store(&seen, (int)(size_t)data);
}

static void test_streams(void)
{
	CUdevice device = 99;
	CUcontext of = NULL;

	CHECK_OK(cuStreamGetDevice(first, &device));
	CHECK_INT(device, 0);
	CHECK_OK(cuStreamGetDevice(NULL, &device));
	CHECK_INT(cuStreamGetDevice(first, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamGetDevice((CUstream)context, &device), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuStreamGetCtx(first, &of));
	CHECK(of == context);
	CHECK_INT(cuStreamGetCtx(first, NULL), CUDA_ERROR_INVALID_VALUE);
	atomic_store(&seen, 0);
	hold(first);
	CHECK_OK(cuStreamAddCallback(first, called, (void *)6, 0));
	CHECK_INT(atomic_load(&seen), 0);
	let_go();
	CHECK_OK(cuStreamSynchronize(first));
	CHECK_INT(atomic_load(&seen), 6);
	CHECK_INT(cuStreamAddCallback(first, called, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamAddCallback(first, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

/* Attributes are kept, and copied to another stream; its priority stays its own. */
static void test_attributes(void)
{
	CUstreamAttrValue set = {.accessPolicyWindow = {.num_bytes = 64, .hitRatio = 0.5f}}, got = {{0}};

	CHECK_OK(cuStreamSetAttribute(first, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &set));
	CHECK_OK(cuStreamGetAttribute(first, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &got));
	CHECK(got.accessPolicyWindow.num_bytes == 64 && got.accessPolicyWindow.hitRatio == 0.5f);
	set.syncPolicy = CU_SYNC_POLICY_YIELD;
	CHECK_OK(cuStreamSetAttribute(first, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &set));
	CHECK_OK(cuStreamGetAttribute(second, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
	CHECK(got.syncPolicy != CU_SYNC_POLICY_YIELD);
	CHECK_OK(cuStreamCopyAttributes(second, first));
	CHECK_OK(cuStreamGetAttribute(second, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
	CHECK_INT(got.syncPolicy, CU_SYNC_POLICY_YIELD);
	CHECK_OK(cuStreamGetAttribute(second, CU_STREAM_ATTRIBUTE_PRIORITY, &got));
	CHECK_INT(got.priority, 0);
	set.accessPolicyWindow.hitRatio = 2;
	CHECK_INT(cuStreamSetAttribute(first, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &set), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamSetAttribute(first, (CUstreamAttrID)99, &set), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamGetAttribute(first, CU_STREAM_ATTRIBUTE_PRIORITY, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamCopyAttributes(second, (CUstream)context), CUDA_ERROR_INVALID_HANDLE);
}

/* One stream waits until another has written; each comparison, 32 and 64 bits, both versions. */
static void test_words(void)
{
	CUstreamBatchMemOpParams batch[2] = {{.writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_64, 0, {0}, 0, 0}},
					     {.waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, 0, {0}, CU_STREAM_WAIT_VALUE_EQ, 0}}};
	CUdeviceptr words;
	unsigned long long wide = 0;
	unsigned value = 0;

	CHECK_OK(cuMemAlloc_v2(&words, 64));
	CHECK_OK(cuMemsetD32_v2(words, 0, 16));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuStreamWaitValue32(second, words, 3, CU_STREAM_WAIT_VALUE_GEQ));
	CHECK_OK(cuStreamWriteValue32_v2(second, words + 16, 1, 0));
	CHECK_INT(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
	CHECK_OK(cuStreamWriteValue32(first, words, 4, CU_STREAM_WRITE_VALUE_DEFAULT));
	CHECK_OK(cuStreamSynchronize(second));
	CHECK_OK(cuMemcpyDtoH_v2(&value, words + 16, 4));
	CHECK_INT(value, 1);
	CHECK_OK(cuStreamWaitValue64(second, words + 8, UINT64_C(1) << 40, CU_STREAM_WAIT_VALUE_EQ));
	CHECK_OK(cuStreamWriteValue64_v2(second, words + 24, UINT64_C(1) << 41, 0));
	CHECK_INT(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
	CHECK_OK(cuStreamWriteValue64(first, words + 8, UINT64_C(1) << 40, 0));
	CHECK_OK(cuStreamSynchronize(second));
	CHECK_OK(cuMemcpyDtoH_v2(&wide, words + 24, 8));
	CHECK(wide == UINT64_C(1) << 41);
	CHECK_OK(cuStreamWaitValue32_v2(first, words, 4, CU_STREAM_WAIT_VALUE_AND));
	CHECK_OK(cuStreamWaitValue64_v2(first, words + 8, 7, CU_STREAM_WAIT_VALUE_NOR)); /* ~(w | 7) != 0 */
	CHECK_OK(cuStreamSynchronize(first));
	/* A batch: its writes and waits in their order. */
	batch[0].writeValue.address = words + 32;
	batch[0].writeValue.value64 = UINT64_C(5) << 33;
	batch[1].waitValue.address = words;
	batch[1].waitValue.value = 4;
	CHECK_OK(cuStreamBatchMemOp(first, 2, batch, 0));
	CHECK_OK(cuStreamSynchronize(first));
	CHECK_OK(cuMemcpyDtoH_v2(&wide, words + 32, 8));
	CHECK(wide == UINT64_C(5) << 33);
	batch[0].writeValue.value64 = 6;
	CHECK_OK(cuStreamBatchMemOp_v2(first, 2, batch, 0));
	CHECK_OK(cuStreamSynchronize(first));
	CHECK_OK(cuMemcpyDtoH_v2(&wide, words + 32, 8));
	CHECK_INT(wide, 6);
	/* A word that is not aligned, flags and operations that there are not. */
	CHECK_INT(cuStreamWriteValue32(first, words + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamWriteValue64(first, words + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamWaitValue32(first, words, 1, 64), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamWaitValue64(first, words, 1, 64), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamBatchMemOp(first, 2, batch, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamBatchMemOp(first, 2, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamBatchMemOp(first, 300, batch, 0), CUDA_ERROR_INVALID_VALUE); /* 256 at most */
	batch[0].operation = (CUstreamBatchMemOpType)99;
	CHECK_INT(cuStreamBatchMemOp(first, 2, batch, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree_v2(words));
}

/* Capture by the first versions, into a graph that is there already, with dependencies the program sets. */
static void test_capture(void)
{
	unsigned one = 1;
	void *parameters[] = {&cell, &one};
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUgraphNodeParams empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	const CUgraphNode *after = NULL;
	CUgraphNode before, others[4];
	CUgraph graph, captured = NULL, told = NULL;
	cuuint64_t id = 0, again = 0;
	size_t count = 0;
	CUgraphExec exec;

	CHECK_OK(cuStreamGetCaptureInfo(first, &status, &id));
	CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_NONE);
	CHECK_OK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK_INT(mode, CU_STREAM_CAPTURE_MODE_GLOBAL); /* what threads begin with */
	CHECK_OK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK_INT(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	mode = (CUstreamCaptureMode)9;
	CHECK_INT(cuThreadExchangeStreamCaptureMode(&mode), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuThreadExchangeStreamCaptureMode(NULL), CUDA_ERROR_INVALID_VALUE);

	CHECK_OK(cuStreamBeginCapture(first)); /* as by CU_STREAM_CAPTURE_MODE_GLOBAL */
	CHECK_INT(cuStreamBeginCapture(first), CUDA_ERROR_ILLEGAL_STATE);
	CHECK_OK(cuStreamGetCaptureInfo(first, &status, &id));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id);
	CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, first, parameters, NULL));
	CHECK_OK(cuStreamGetCaptureInfo_v2(first, &status, &again, &told, &after, &count));
	CHECK(again == id && told && count == 1 && after);
	CHECK_OK(cuStreamEndCapture(first, &captured));
	CHECK(captured == told);
	CHECK_OK(cuGraphDestroy(captured));

	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddNode(&before, graph, NULL, 0, &empty));
	CHECK_OK(cuStreamBeginCaptureToGraph(first, graph, &before, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, first, parameters, NULL)); /* a */
	CHECK_OK(cuStreamGetCaptureInfo_v2(first, &status, NULL, NULL, &after, &count));
	CHECK_INT(count, 1);
	others[0] = after[0];
	CHECK_OK(cuStreamUpdateCaptureDependencies(first, &before, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, first, parameters, NULL)); /* beside a */
	CHECK_OK(cuStreamUpdateCaptureDependencies_v2(first, others, NULL, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	CHECK_OK(cuStreamGetCaptureInfo_v2(first, &status, NULL, NULL, &after, &count));
	CHECK_INT(count, 2);
	CHECK_INT(cuStreamUpdateCaptureDependencies(first, others, 1, 7), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamUpdateCaptureDependencies(first, NULL, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamUpdateCaptureDependencies(second, others, 1, 0), CUDA_ERROR_ILLEGAL_STATE); /* not captured */
	CHECK_OK(cuStreamEndCapture(first, &captured));
	CHECK(captured == graph);
	count = 4;
	CHECK_OK(cuGraphNodeGetDependentNodes(before, others, &count));
	CHECK_INT(count, 2);
	CHECK_INT(cuStreamBeginCaptureToGraph(first, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamBeginCaptureToGraph(first, graph, NULL, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_INVALID_VALUE);
	set_cell(0);
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, first));
	CHECK_OK(cuStreamSynchronize(first));
	CHECK(read_cell() == 2 || read_cell() == 1); /* two at a time on the same word */
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
}

/* A green context has a share of the multiprocessors; its streams are streams of its own. */
static void test_green(void)
{
	CUdevResource all, groups[2], rest, got;
	CUdevResourceDesc description;
	CUcontext as_context = NULL, of = NULL;
	unsigned long long id = 0, other_id = 0;
	unsigned count = 1, multiprocessors;
	CUgreenCtx green, other, found = NULL;
	CUstream stream;
	CUevent event;
	int attribute = 0;

	CHECK_OK(cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CHECK_OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	CHECK(all.type == CU_DEV_RESOURCE_TYPE_SM && all.sm.smCount == (unsigned)attribute);
	CHECK_OK(cuCtxGetDevResource(context, &got, CU_DEV_RESOURCE_TYPE_SM));
	CHECK_INT(got.sm.smCount, all.sm.smCount);
	multiprocessors = all.sm.smCount;
	CHECK_INT(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_INVALID), CUDA_ERROR_INVALID_RESOURCE_TYPE);
	CHECK_INT(cuDeviceGetDevResource(99, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuCtxGetDevResource(NULL, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuDevSmResourceSplitByCount(NULL, &count, &all, NULL, 0, 1)); /* how many there could be */
	CHECK(count >= 1 && count <= multiprocessors);
	count = 1;
	CHECK_OK(cuDevSmResourceSplitByCount(groups, &count, &all, &rest, 0, 1));
	CHECK(count == 1 && groups[0].sm.smCount >= 1);
	CHECK(groups[0].sm.smCount + (rest.type == CU_DEV_RESOURCE_TYPE_SM ? rest.sm.smCount : 0) == multiprocessors);
	CHECK_INT(cuDevSmResourceSplitByCount(groups, &count, &all, NULL, 0, multiprocessors + 100), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
	CHECK_INT(cuDevSmResourceSplitByCount(groups, NULL, &all, NULL, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuDevResourceGenerateDesc(&description, groups, 1));
	CHECK_INT(cuDevResourceGenerateDesc(&description, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	CHECK_OK(cuGreenCtxCreate(&other, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	CHECK_INT(cuGreenCtxCreate(&other, description, 0, 0), CUDA_ERROR_INVALID_VALUE); /* the flag is asked for */
	CHECK_INT(cuGreenCtxCreate(&other, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM));
	CHECK_INT(got.sm.smCount, groups[0].sm.smCount);
	CHECK_OK(cuGreenCtxGetId(green, &id));
	CHECK_OK(cuGreenCtxGetId(other, &other_id));
	CHECK(id != other_id);
	CHECK_OK(cuCtxFromGreenCtx(&as_context, green));
	CHECK(as_context && as_context != context);
	CHECK_OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
	CHECK_INT(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_DEFAULT, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuStreamGetGreenCtx(stream, &found));
	CHECK(found == green);
	CHECK_OK(cuStreamGetGreenCtx(first, &found));
	CHECK(!found);
	CHECK_OK(cuStreamGetCtx_v2(stream, &of, &found));
	CHECK(!of && found == green); /* one or the other */
	CHECK_OK(cuStreamGetCtx_v2(first, &of, &found));
	CHECK(of == context && !found);
	/* An event of the green context is behind the work of its streams, which wait for one. */
	CHECK_OK(cuCtxPushCurrent_v2(as_context));
	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	hold(stream);
	CHECK_OK(cuGreenCtxRecordEvent(green, event));
	CHECK_INT(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	let_go();
	CHECK_OK(cuEventSynchronize(event));
	CHECK_OK(cuGreenCtxWaitEvent(green, event));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(cuGreenCtxRecordEvent(NULL, event), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuGreenCtxWaitEvent((CUgreenCtx)stream, event), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuEventDestroy_v2(event));
	CHECK_OK(cuStreamDestroy_v2(stream));
	CHECK_OK(cuCtxPopCurrent_v2(NULL));
	CHECK_OK(cuGreenCtxDestroy(green));
	CHECK_INT(cuGreenCtxGetId(green, &id), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuGreenCtxDestroy(other));
}

int main(void)
{
	CUmodule module = kernels_begin(&context);

	add = kernels_get(module, "add");
	CHECK_OK(cuMemAlloc_v2(&cell, 4));
	CHECK_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	test_events();
	test_context_events();
	test_streams();
	test_attributes();
	test_words();
	test_capture();
	test_green();
	CHECK_OK(cuCtxDestroy_v2(context));
	return check_end();
}
