/* The two forms of functions with a default stream: ..._ptsz and ..._ptds mean the calling thread's own where others mean the legacy
 * one. Expectations: CUDA Runtime API reference manual, "Stream synchronization behavior". For libcudart.so.13 and libcudart.so.12.
 *
 * Of those that return before they are done: while the thread's own stream is under capture, the own form of each, given stream 0,
 * adds its node to that capture. Of those that wait: with a blocking stream held up, the own form returns all the same, and the
 * legacy form would wait for it. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"
#include "device_code.h"

#if RUNTIME_MAJOR == 12
cudaError_t prefetch_own(const void *, size_t, int, cudaStream_t) __asm__("cudaMemPrefetchAsync_ptsz");
#else
#define prefetch_own(pointer, count, device, stream)                                                                           \
	cudaMemPrefetchAsync_ptsz(pointer, count, (struct cudaMemLocation){ cudaMemLocationTypeDevice, device }, 0, stream)
#endif
cudaError_t cudaMemPrefetchAsync_v2_ptsz(const void *pointer, size_t count, struct cudaMemLocation location, unsigned flags,
					 cudaStream_t stream);
cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t cudaLaunch_ptsz(const void *function);

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
			  ".visible .global .align 4 .b8 table[16];\n.visible .entry nothing() { ret; }\n";
static char nothing[1];
static unsigned table[4];
static const dim3 one = { 1, 1, 1 };
static char *memory, *managed;
static char host[256];
static cudaArray_t array;
static cudaEvent_t event;
static cudaGraphExec_t small;
static struct cudaMemcpy3DParms volume;

static void do_nothing(void *unused)
{
	(void)unused;
}

static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void *unused)
{
	(void)stream, (void)status, (void)unused;
}

/* ---- those that return at once ------------------------------------------------------------------------------------------------ */

static cudaError_t launch(void) { return cudaLaunchKernel_ptsz(nothing, one, one, NULL, 0, NULL); }
static cudaError_t launch_old(void)
{
	cudaError_t error = cudaConfigureCall(one, one, 0, NULL);
	return error ? error : cudaLaunch_ptsz(nothing);
}
static cudaError_t launch_ex(void)
{
	cudaLaunchConfig_t config = { .gridDim = one, .blockDim = one };
	return cudaLaunchKernelExC_ptsz(&config, nothing, NULL);
}
static cudaError_t launch_cooperative(void) { return cudaLaunchCooperativeKernel_ptsz(nothing, one, one, NULL, 0, NULL); }
static cudaError_t launch_handle(void)
{
	cudaKernel_t kernel;
	cudaError_t error = __cudaGetKernel(&kernel, nothing);
	return error ? error : __cudaLaunchKernel_ptsz(kernel, one, one, NULL, 0, NULL);
}
static cudaError_t host_function(void) { return cudaLaunchHostFunc_ptsz(NULL, do_nothing, NULL); }
static cudaError_t copy(void) { return cudaMemcpyAsync_ptsz(memory, host, 16, cudaMemcpyHostToDevice, NULL); }
static cudaError_t copy_2d(void) { return cudaMemcpy2DAsync_ptsz(memory, 8, host, 8, 8, 2, cudaMemcpyHostToDevice, NULL); }
static cudaError_t copy_3d(void) { return cudaMemcpy3DAsync_ptsz(&volume, NULL); }
static cudaError_t copy_to_array(void)
{
	return cudaMemcpy2DToArrayAsync_ptsz(array, 0, 0, host, 8, 8, 2, cudaMemcpyHostToDevice, NULL);
}
static cudaError_t copy_from_array(void)
{
	return cudaMemcpy2DFromArrayAsync_ptsz(host, 8, array, 0, 0, 8, 2, cudaMemcpyDeviceToHost, NULL);
}
static cudaError_t line_to_array(void) { return cudaMemcpyToArrayAsync_ptsz(array, 0, 0, host, 8, cudaMemcpyHostToDevice, NULL); }
static cudaError_t line_from_array(void) { return cudaMemcpyFromArrayAsync_ptsz(host, array, 0, 0, 8, cudaMemcpyDeviceToHost, NULL); }
static cudaError_t copy_to_symbol(void) { return cudaMemcpyToSymbolAsync_ptsz(table, host, 4, 0, cudaMemcpyHostToDevice, NULL); }
static cudaError_t copy_from_symbol(void)
{
	return cudaMemcpyFromSymbolAsync_ptsz(host, table, 4, 0, cudaMemcpyDeviceToHost, NULL);
}
static cudaError_t set(void) { return cudaMemsetAsync_ptsz(memory, 1, 16, NULL); }
static cudaError_t set_2d(void) { return cudaMemset2DAsync_ptsz(memory, 8, 1, 4, 2, NULL); }
static cudaError_t set_3d(void)
{
	return cudaMemset3DAsync_ptsz((struct cudaPitchedPtr){ memory, 8, 8, 2 }, 1, (struct cudaExtent){ 4, 2, 1 }, NULL);
}
static cudaError_t graph_launch(void) { return cudaGraphLaunch_ptsz(small, NULL); }
static cudaError_t allocate(void)
{
	void *pointer;
	return cudaMallocAsync_ptsz(&pointer, 64, NULL);
}
static cudaError_t record(void) { return cudaEventRecordWithFlags_ptsz(event, NULL, cudaEventRecordExternal); }
static cudaError_t wait_event(void) { return cudaStreamWaitEvent_ptsz(NULL, event, cudaEventWaitExternal); }

static const struct {
	const char *name;
	cudaError_t (*call)(void);
	int type; /* of the node that the call adds */
} at_once[] = {
	{ "cudaLaunchKernel", launch, cudaGraphNodeTypeKernel },
	{ "cudaLaunch", launch_old, cudaGraphNodeTypeKernel },
	{ "cudaLaunchKernelExC", launch_ex, cudaGraphNodeTypeKernel },
	{ "cudaLaunchCooperativeKernel", launch_cooperative, cudaGraphNodeTypeKernel },
	{ "__cudaLaunchKernel", launch_handle, cudaGraphNodeTypeKernel },
	{ "cudaLaunchHostFunc", host_function, cudaGraphNodeTypeHost },
	{ "cudaMemcpyAsync", copy, cudaGraphNodeTypeMemcpy },
	{ "cudaMemcpy2DAsync", copy_2d, cudaGraphNodeTypeMemcpy },
	{ "cudaMemcpy3DAsync", copy_3d, cudaGraphNodeTypeMemcpy },
	{ "cudaMemcpy2DToArrayAsync", copy_to_array, cudaGraphNodeTypeMemcpy },
	{ "cudaMemcpy2DFromArrayAsync", copy_from_array, cudaGraphNodeTypeMemcpy },
	{ "cudaMemcpyToArrayAsync", line_to_array, cudaGraphNodeTypeMemcpy },
	{ "cudaMemcpyFromArrayAsync", line_from_array, cudaGraphNodeTypeMemcpy },
	{ "cudaMemcpyToSymbolAsync", copy_to_symbol, cudaGraphNodeTypeMemcpy },
	{ "cudaMemcpyFromSymbolAsync", copy_from_symbol, cudaGraphNodeTypeMemcpy },
	{ "cudaMemsetAsync", set, cudaGraphNodeTypeMemset },
	{ "cudaMemset2DAsync", set_2d, cudaGraphNodeTypeMemset },
	{ "cudaMemset3DAsync", set_3d, cudaGraphNodeTypeMemset },
	{ "cudaGraphLaunch", graph_launch, cudaGraphNodeTypeGraph },
	{ "cudaMallocAsync", allocate, cudaGraphNodeTypeMemAlloc },
	{ "cudaEventRecordWithFlags", record, cudaGraphNodeTypeEventRecord },
	{ "cudaStreamWaitEvent", wait_event, cudaGraphNodeTypeWaitEvent },
};

static void test_at_once(size_t i)
{
	cudaGraph_t graph = NULL;
	cudaGraphNode_t node = NULL;
	enum cudaGraphNodeType type = (enum cudaGraphNodeType)99;
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	size_t count = 1;
	int before = check_failures;
	CHECK_OK(cudaStreamBeginCapture_ptsz(NULL, cudaStreamCaptureModeRelaxed));
	CHECK_OK(cudaStreamIsCapturing(cudaStreamPerThread, &status));
	CHECK_INT(status, cudaStreamCaptureStatusActive);
	CHECK_OK(at_once[i].call());
	CHECK_OK(cudaStreamEndCapture_ptsz(NULL, &graph));
	CHECK_OK(cudaGraphGetNodes(graph, &node, &count));
	CHECK_INT(count, 1);
	CHECK_OK(cudaGraphNodeGetType(node, &type));
	CHECK_INT(type, at_once[i].type);
	CHECK_OK(cudaGraphDestroy(graph));
	if (check_failures > before)
		fprintf(stderr, "that was %s_ptsz\n", at_once[i].name);
}

/* ---- those that wait --------------------------------------------------------------------------------------------------------------- */

static cudaError_t wait_copy(void) { return cudaMemcpy_ptds(memory, host, 16, cudaMemcpyHostToDevice); }
static cudaError_t wait_copy_2d(void) { return cudaMemcpy2D_ptds(memory, 8, host, 8, 8, 2, cudaMemcpyHostToDevice); }
static cudaError_t wait_copy_3d(void) { return cudaMemcpy3D_ptds(&volume); }
static cudaError_t wait_to_array(void) { return cudaMemcpy2DToArray_ptds(array, 0, 0, host, 8, 8, 2, cudaMemcpyHostToDevice); }
static cudaError_t wait_from_array(void) { return cudaMemcpy2DFromArray_ptds(host, 8, array, 0, 0, 8, 2, cudaMemcpyDeviceToHost); }
static cudaError_t wait_arrays(void)
{
	return cudaMemcpy2DArrayToArray_ptds(array, 0, 0, array, 0, 2, 8, 2, cudaMemcpyDeviceToDevice);
}
static cudaError_t wait_line_to_array(void) { return cudaMemcpyToArray_ptds(array, 0, 0, host, 8, cudaMemcpyHostToDevice); }
static cudaError_t wait_line_from_array(void) { return cudaMemcpyFromArray_ptds(host, array, 0, 0, 8, cudaMemcpyDeviceToHost); }
static cudaError_t wait_lines(void) { return cudaMemcpyArrayToArray_ptds(array, 0, 0, array, 0, 2, 8, cudaMemcpyDeviceToDevice); }
static cudaError_t wait_to_symbol(void) { return cudaMemcpyToSymbol_ptds(table, host, 4, 0, cudaMemcpyHostToDevice); }
static cudaError_t wait_from_symbol(void) { return cudaMemcpyFromSymbol_ptds(host, table, 4, 0, cudaMemcpyDeviceToHost); }
static cudaError_t wait_peer(void)
{
	struct cudaMemcpy3DPeerParms peer = { .srcPtr = { memory, 8, 8, 2 }, .dstPtr = { memory + 64, 8, 8, 2 }, .extent = { 8, 2, 1 } };
	return cudaMemcpy3DPeer_ptds(&peer);
}
static cudaError_t wait_set(void) { return cudaMemset_ptds(memory, 1, 16); }
static cudaError_t wait_set_2d(void) { return cudaMemset2D_ptds(memory, 8, 1, 4, 2); }
static cudaError_t wait_set_3d(void)
{
	return cudaMemset3D_ptds((struct cudaPitchedPtr){ memory, 8, 8, 2 }, 1, (struct cudaExtent){ 4, 2, 1 });
}
static cudaError_t wait_stream(void) { return cudaStreamSynchronize_ptsz(NULL); }
static cudaError_t wait_query(void) { return cudaStreamQuery_ptsz(NULL); }
static cudaError_t wait_prefetch(void) { return prefetch_own(managed, 64, 0, NULL); }
static cudaError_t wait_prefetch_v2(void)
{
	struct cudaMemLocation here = { cudaMemLocationTypeDevice, 0 };
	return cudaMemPrefetchAsync_v2_ptsz(managed, 64, here, 0, NULL);
}
static cudaError_t wait_record(void) { return cudaEventRecord_ptsz(event, NULL) ? cudaGetLastError() : cudaEventSynchronize(event); }
static cudaError_t wait_callback(void) { return cudaStreamAddCallback_ptsz(NULL, callback, NULL, 0); }
static cudaError_t wait_upload(void) { return cudaGraphUpload_ptsz(small, NULL); }
static cudaError_t wait_attach(void) { return cudaStreamAttachMemAsync_ptsz(NULL, managed, 0, cudaMemAttachSingle); }
static cudaError_t wait_free(void)
{
	void *pointer;
	cudaError_t error = cudaMallocAsync_ptsz(&pointer, 64, NULL);
	return error ? error : cudaFreeAsync_ptsz(pointer, NULL);
}

static const struct {
	const char *name;
	cudaError_t (*call)(void);
} waiting[] = {
	{ "cudaMemcpy", wait_copy },
	{ "cudaMemcpy2D", wait_copy_2d },
	{ "cudaMemcpy3D", wait_copy_3d },
	{ "cudaMemcpy2DToArray", wait_to_array },
	{ "cudaMemcpy2DFromArray", wait_from_array },
	{ "cudaMemcpy2DArrayToArray", wait_arrays },
	{ "cudaMemcpyToArray", wait_line_to_array },
	{ "cudaMemcpyFromArray", wait_line_from_array },
	{ "cudaMemcpyArrayToArray", wait_lines },
	{ "cudaMemcpyToSymbol", wait_to_symbol },
	{ "cudaMemcpyFromSymbol", wait_from_symbol },
	{ "cudaMemcpy3DPeer", wait_peer },
	{ "cudaMemset", wait_set },
	{ "cudaMemset2D", wait_set_2d },
	{ "cudaMemset3D", wait_set_3d },
	{ "cudaStreamSynchronize", wait_stream },
	{ "cudaStreamQuery", wait_query },
	{ "cudaMemPrefetchAsync", wait_prefetch },
	{ "cudaMemPrefetchAsync_v2", wait_prefetch_v2 },
	{ "cudaEventRecord", wait_record },
	{ "cudaStreamAddCallback", wait_callback },
	{ "cudaGraphUpload", wait_upload },
	{ "cudaStreamAttachMemAsync", wait_attach },
	{ "cudaFreeAsync", wait_free },
};

static atomic_int gate, late;

static void wait_at_gate(void *unused)
{
	(void)unused;
	while (!atomic_load(&gate))
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

/* Opens the gate in the end, so that a call that waits for the other stream is a failure and not a hang. */
static void *open_late(void *unused)
{
	(void)unused;
	for (int i = 0; i < 20000 && !atomic_load(&gate); i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	if (!atomic_exchange(&gate, 1))
		atomic_store(&late, 1);
	return NULL;
}

static void test_waiting(void)
{
	cudaStream_t blocking;
	pthread_t thread;
	CHECK_OK(cudaDeviceSynchronize());
	CHECK_OK(cudaStreamCreate(&blocking));
	CHECK_OK(cudaLaunchHostFunc(blocking, wait_at_gate, NULL));
	pthread_create(&thread, NULL, open_late, NULL);
	for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++) {
		int before = check_failures;
		CHECK_OK(waiting[i].call());
		CHECK_OK(cudaStreamSynchronize_ptsz(NULL));
		CHECK_INT(atomic_load(&late), 0);
		if (check_failures > before)
			fprintf(stderr, "that was %s\n", waiting[i].name);
	}
	CHECK_INT(cudaStreamQuery(blocking), cudaErrorNotReady);
	CHECK_INT(cudaStreamQuery(NULL), cudaErrorNotReady); /* the legacy stream stands behind it */
	cudaGetLastError();
	atomic_store(&gate, 1);
	pthread_join(thread, NULL);
	CHECK_OK(cudaDeviceSynchronize());
	CHECK_OK(cudaStreamDestroy(blocking));
}

/* What a stream says of itself. */
static void test_questions(void)
{
	unsigned long long id = 0, own = 0, legacy = 0;
	unsigned flags = 0;
	int priority = 9, device = -1;
	cudaLaunchAttributeValue value = { .syncPolicy = cudaSyncPolicySpin };
	CHECK_OK(cudaStreamGetId_ptsz(NULL, &id));
	CHECK_OK(cudaStreamGetId(cudaStreamPerThread, &own));
	CHECK_OK(cudaStreamGetId(NULL, &legacy));
	CHECK(id == own && id != legacy);
	CHECK_OK(cudaStreamGetFlags_ptsz(NULL, &flags));
	CHECK_OK(cudaStreamGetPriority_ptsz(NULL, &priority));
	CHECK_INT(priority, 0);
	CHECK_OK(cudaStreamGetDevice_ptsz(NULL, &device));
	CHECK_INT(device, 0);
	CHECK_OK(cudaStreamSetAttribute_ptsz(NULL, cudaLaunchAttributeSynchronizationPolicy, &value));
	value.syncPolicy = cudaSyncPolicyAuto;
	CHECK_OK(cudaStreamGetAttribute(cudaStreamPerThread, cudaLaunchAttributeSynchronizationPolicy, &value));
	CHECK_INT(value.syncPolicy, cudaSyncPolicySpin);
}

int main(void)
{
	void **code = __cudaRegisterFatBinary(device_code_wrap(ptx));
	struct cudaChannelFormatDesc bytes = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
	cudaGraph_t graph;
	cudaGraphNode_t node;
	__cudaRegisterFunction(code, nothing, (char *)"nothing", "nothing", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(code, (char *)table, (char *)"table", "table", 0, 16, 0, 0);
	__cudaRegisterFatBinaryEnd(code);
	CHECK_OK(cudaMalloc((void **)&memory, 256));
	CHECK_OK(cudaMallocManaged((void **)&managed, 64, cudaMemAttachGlobal));
	CHECK_OK(cudaMallocArray(&array, &bytes, 8, 4, 0));
	CHECK_OK(cudaEventCreate(&event));
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
	CHECK_OK(cudaGraphInstantiate(&small, graph, 0));
	volume.srcPtr = (struct cudaPitchedPtr){ host, 8, 8, 2 };
	volume.dstPtr = (struct cudaPitchedPtr){ memory, 8, 8, 2 };
	volume.extent = (struct cudaExtent){ 8, 2, 1 };
	volume.kind = cudaMemcpyHostToDevice;
	for (size_t i = 0; i < sizeof at_once / sizeof *at_once; i++)
		test_at_once(i);
	test_waiting();
	test_questions();
	CHECK_OK(cudaGraphExecDestroy(small));
	CHECK_OK(cudaGraphDestroy(graph));
	CHECK_OK(cudaEventDestroy(event));
	CHECK_OK(cudaFreeArray(array));
	CHECK_OK(cudaFree(managed));
	CHECK_OK(cudaFree(memory));
	__cudaUnregisterFatBinary(code);
	return check_end();
}
