/* Executable graphs: every way to make one, to change it and to launch it again. Expectations: CUDA Driver API reference manual,
 * "Graph Management"; CUDA C++ Programming Guide, "Updating Instantiated Graphs". */
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stdatomic.h>
#include <time.h>

#include "../../src/base/sanitizer.h"
#include "check.h"
#include "driver_kernels.h"

#if defined(WITH_TSAN) || defined(WITH_ASAN)
enum { CHAIN = 30, SANITIZED = 1 }; /* it is the checks that take the time then */
#else
enum { CHAIN = 200, SANITIZED = 0 };
#endif

static CUcontext context;
static CUfunction add, multiply, fill;
static CUdeviceptr cell;
static CUstream stream;
static atomic_int host_calls;

static void count_up(void *step)
{
	atomic_fetch_add(&host_calls, (int)(size_t)step);
}

static unsigned read_cell(void)
{
	unsigned value = 0;

	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemcpyDtoH_v2(&value, cell, 4));
	return value;
}

static void set_cell(unsigned value)
{
	CHECK_OK(cuMemsetD32_v2(cell, value, 1));
	CHECK_OK(cuCtxSynchronize());
}

static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction function, void **parameters)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
					 .blockDimY = 1, .blockDimZ = 1, .kernelParams = parameters};
}

/* cell += value, COUNT times one after the other. */
static CUgraph make_chain(CUgraphNode *nodes, int count, unsigned value)
{
	void *parameters[] = {&cell, &value};
	CUDA_KERNEL_NODE_PARAMS plus = kernel(add, parameters);
	CUgraph graph;

	CHECK_OK(cuGraphCreate(&graph, 0));
	for (int i = 0; i < count; i++)
		CHECK_OK(cuGraphAddKernelNode_v2(&nodes[i], graph, i ? &nodes[i - 1] : NULL, i != 0, &plus));
	return graph;
}

/* Launches that are on their way keep what they were launched with; disabled nodes and nodes that do nothing leave the rest. */
static void test_chain(void)
{
	unsigned ten = 10;
	void *parameters[] = {&cell, &ten};
	CUDA_KERNEL_NODE_PARAMS plus = kernel(add, parameters), times = kernel(multiply, parameters);
	CUgraphNode nodes[CHAIN], empty, last;
	CUgraph graph = make_chain(nodes, CHAIN, 1);
	CUgraphExec exec;
	CUstream second;

	set_cell(0);
	CHECK_OK(cuGraphAddEmptyNode(&empty, graph, &nodes[CHAIN - 1], 1));
	CHECK_OK(cuGraphAddKernelNode_v2(&last, graph, &empty, 1, &plus));
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < 5; i++)
		CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_INT(read_cell(), 5 * (CHAIN + 10));
	CHECK_OK(cuGraphLaunch(exec, stream)); /* +1 … +1 +10 */
	CHECK_OK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[CHAIN / 2], &plus));
	CHECK_OK(cuGraphLaunch(exec, stream)); /* one of them is +10 */
	CHECK_OK(cuGraphNodeSetEnabled(exec, last, 0));
	CHECK_OK(cuGraphLaunch(exec, stream)); /* without the last */
	CHECK_OK(cuGraphNodeSetEnabled(exec, nodes[0], 0));
	CHECK_OK(cuGraphLaunch(exec, stream)); /* without the first, too */
	CHECK_INT(read_cell(), 5 * (CHAIN + 10) + (CHAIN + 10) + (CHAIN + 19) + (CHAIN + 9) + (CHAIN + 8));

	/* One launch in another stream comes after the one before. */
	CHECK_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuGraphNodeSetEnabled(exec, nodes[0], 1));
	ten = 0;
	CHECK_OK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &times)); /* *0 first: each launch gives the same */
	for (int i = 0; i < 10; i++)
		CHECK_OK(cuGraphLaunch(exec, i % 2 ? second : stream));
	CHECK_OK(cuStreamSynchronize(second));
	CHECK_INT(read_cell(), CHAIN - 2 + 10);
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuGraphExecDestroy(exec)); /* its work goes on */
	CHECK_INT(read_cell(), CHAIN - 2 + 10);
	CHECK_OK(cuStreamDestroy_v2(second));
	CHECK_OK(cuGraphDestroy(graph));
}

/* Kernels of many blocks, copies and host functions between kernels, several lanes: each after what it depends on. */
static void test_mixture(void)
{
	enum { BLOCKS = 64, THREADS = 64, COUNT = BLOCKS * THREADS, ROUNDS = SANITIZED ? 5 : 50 };
	static unsigned out[2][COUNT];
	CUdeviceptr from, to;
	void *parameters[] = {&from};
	CUDA_KERNEL_NODE_PARAMS ramp = kernel(fill, parameters);
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .WidthInBytes = sizeof out[0], .Height = 1, .Depth = 1};
	CUDA_MEMSET_NODE_PARAMS clear = {.elementSize = 4, .width = COUNT, .height = 1};
	CUDA_HOST_NODE_PARAMS host = {count_up, (void *)1};
	CUgraphNode a, b, c, d, e, f;
	CUgraphExec exec;
	CUgraph graph;

	CHECK_OK(cuMemAlloc_v2(&from, sizeof out[0]));
	CHECK_OK(cuMemAlloc_v2(&to, sizeof out[0]));
	ramp.gridDimX = BLOCKS;
	ramp.blockDimX = THREADS;
	copy.srcDevice = from;
	copy.dstDevice = to;
	clear.dst = from;
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddKernelNode_v2(&a, graph, NULL, 0, &ramp));           /* from = 0 1 2 … */
	CHECK_OK(cuGraphAddMemcpyNode(&b, graph, &a, 1, &copy, context));       /* to = from */
	CHECK_OK(cuGraphAddMemsetNode(&c, graph, &b, 1, &clear, context));      /* from = 0 */
	CHECK_OK(cuGraphAddHostNode(&d, graph, &b, 1, &host));
	parameters[0] = &to;
	CHECK_OK(cuGraphAddKernelNode_v2(&e, graph, &d, 1, &ramp));             /* the same again */
	CHECK_OK(cuGraphAddKernelNode_v2(&f, graph, (CUgraphNode[]){c, e}, 2, &ramp));
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_OK(cuGraphUpload(exec, stream));
	CHECK_INT(cuGraphUpload((CUgraphExec)graph, stream), CUDA_ERROR_INVALID_VALUE);
	atomic_store(&host_calls, 0);
	for (int round = 0; round < ROUNDS; round++) {
		CHECK_OK(cuMemsetD32_v2(to, 99, COUNT));
		CHECK_OK(cuCtxSynchronize());
		CHECK_OK(cuGraphLaunch(exec, stream));
		CHECK_OK(cuStreamSynchronize(stream));
		CHECK_OK(cuMemcpyDtoH_v2(out[0], from, sizeof out[0]));
		CHECK_OK(cuMemcpyDtoH_v2(out[1], to, sizeof out[1]));
		for (int i = 0; i < COUNT; i++)
			if (out[0][i] || out[1][i] != (unsigned)i)
				CHECK(!"each element");
	}
	CHECK_INT(atomic_load(&host_calls), ROUNDS);
	/* The copy and the fill change. */
	clear.value = 7;
	copy.WidthInBytes = 8;
	CHECK_OK(cuGraphExecMemsetNodeSetParams(exec, c, &clear, context));
	CHECK_OK(cuGraphExecMemcpyNodeSetParams(exec, b, &copy, context));
	CHECK_INT(cuGraphExecMemcpyNodeSetParams(exec, c, &copy, context), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphExecMemsetNodeSetParams(exec, b, &clear, context), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphExecMemsetNodeSetParams(exec, c, NULL, context), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphNodeSetEnabled(exec, e, 0));
	CHECK_OK(cuGraphNodeSetEnabled(exec, f, 0));
	CHECK_OK(cuMemsetD32_v2(to, 99, COUNT));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemcpyDtoH_v2(out[0], from, sizeof out[0]));
	CHECK_OK(cuMemcpyDtoH_v2(out[1], to, sizeof out[1]));
	CHECK(out[0][0] == 7 && out[0][COUNT - 1] == 7 && out[1][0] == 0 && out[1][1] == 1 && out[1][2] == 99);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuMemFree_v2(from));
	CHECK_OK(cuMemFree_v2(to));
}

static void test_instantiation(void)
{
	CUgraphNode nodes[3], error = (CUgraphNode)1;
	CUgraph graph = make_chain(nodes, 3, 2);
	CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY,
						    .hErrNode_out = (CUgraphNode)1, .result_out = CUDA_GRAPH_INSTANTIATE_ERROR};
	CUgraphExec first, second, third;
	char log[32] = "not empty";
	cuuint64_t flags = 99;

	set_cell(0);
	CHECK_OK(cuGraphInstantiate(&first, graph, &error, log, sizeof log));
	CHECK(!error && !log[0]);
	CHECK_OK(cuGraphInstantiate_v2(&second, graph, NULL, NULL, 0));
	CHECK_OK(cuGraphInstantiateWithParams(&third, graph, &parameters));
	CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS && !parameters.hErrNode_out);
	CHECK_OK(cuGraphExecGetFlags(first, &flags));
	CHECK_INT(flags, 0);
	CHECK_OK(cuGraphExecGetFlags(third, &flags));
	CHECK_INT(flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
	CHECK_INT(cuGraphExecGetFlags(third, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphExecGetFlags((CUgraphExec)graph, &flags), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphInstantiate(NULL, graph, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphInstantiate_v2(&second, NULL, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphInstantiateWithParams(&third, graph, NULL), CUDA_ERROR_INVALID_VALUE);
	parameters.flags = 1u << 20;
	CHECK_INT(cuGraphInstantiateWithParams(&third, graph, &parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(parameters.result_out, CUDA_GRAPH_INSTANTIATE_ERROR);
	CHECK_OK(cuGraphLaunch(first, stream));
	CHECK_OK(cuGraphLaunch(second, stream));
	CHECK_OK(cuGraphLaunch(third, stream));
	CHECK_INT(read_cell(), 18);
	CHECK_OK(cuGraphExecDestroy(first));
	CHECK_OK(cuGraphExecDestroy(second));
	CHECK_OK(cuGraphExecDestroy(third));
	CHECK_OK(cuGraphDestroy(graph));
}

/* A graph of the same shape takes the place of what was instantiated; one of another shape is refused and changes nothing. */
static void test_update(void)
{
	CUgraphNode nodes[3], others[3], more[4], error, host_node;
	CUgraph graph = make_chain(nodes, 3, 1), other = make_chain(others, 3, 5), longer = make_chain(more, 4, 1), mixed;
	CUDA_HOST_NODE_PARAMS host = {count_up, (void *)1};
	CUgraphExecUpdateResultInfo info;
	CUgraphExecUpdateResult result;
	CUgraphExec exec;

	set_cell(0);
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuGraphExecUpdate(exec, other, &error, &result));
	CHECK_INT(result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_INT(read_cell(), 3 + 15);
	CHECK_INT(cuGraphExecUpdate(exec, longer, &error, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	CHECK_INT(result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	mixed = make_chain(others, 2, 1);
	CHECK_OK(cuGraphAddHostNode(&host_node, mixed, &others[1], 1, &host));
	CHECK_INT(cuGraphExecUpdate_v2(exec, mixed, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	CHECK(info.errorNode == host_node);
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_INT(read_cell(), 3 + 15 + 15);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuGraphDestroy(other));
	CHECK_OK(cuGraphDestroy(longer));
	CHECK_OK(cuGraphDestroy(mixed));
}

/* Each kind of parameter of an executable graph, the generic way and its own. */
static void test_parameters(void)
{
	unsigned three = 3;
	void *parameters[] = {&cell, &three};
	CUDA_KERNEL_NODE_PARAMS_v1 plus = {.func = add, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
					   .blockDimZ = 1, .kernelParams = parameters};
	CUgraphNodeParams generic = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {count_up, (void *)10}};
	CUDA_HOST_NODE_PARAMS host = {count_up, (void *)1};
	CUgraphNode nodes[2], inner[2], child_node, host_node;
	CUgraph graph = make_chain(nodes, 2, 1), child = make_chain(inner, 2, 100), other = make_chain(inner, 2, 1000);
	CUgraph shorter = make_chain(inner, 1, 1);
	CUgraphExec exec;

	set_cell(0);
	atomic_store(&host_calls, 0);
	CHECK_OK(cuGraphAddChildGraphNode(&child_node, graph, &nodes[1], 1, child));
	CHECK_OK(cuGraphAddHostNode(&host_node, graph, &child_node, 1, &host));
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_INT(read_cell(), 202);
	CHECK_OK(cuGraphExecKernelNodeSetParams(exec, nodes[1], &plus));
	CHECK_INT(cuGraphExecKernelNodeSetParams(exec, child_node, &plus), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphExecKernelNodeSetParams(exec, nodes[1], NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphExecChildGraphNodeSetParams(exec, child_node, other));
	CHECK_INT(cuGraphExecChildGraphNodeSetParams(exec, child_node, shorter), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphExecChildGraphNodeSetParams(exec, nodes[0], other), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphExecNodeSetParams(exec, host_node, &generic));
	CHECK_INT(cuGraphExecNodeSetParams(exec, nodes[0], &generic), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphExecNodeSetParams(exec, host_node, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_INT(read_cell(), 202 + 1 + 3 + 2000);
	CHECK_INT(atomic_load(&host_calls), 11);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuGraphDestroy(child));
	CHECK_OK(cuGraphDestroy(other));
	CHECK_OK(cuGraphDestroy(shorter));
}

/* Events and words of memory in nodes: who waits for whom is seen from what the host finds. */
static void test_events(void)
{
	CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {.count = 1, .ctx = context};
	CUstreamBatchMemOpParams operation = {.writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, 0, {0}, 0, 0}};
	CUgraphNode record, write, wait;
	CUevent event, other;
	CUgraphExec exec;
	CUgraph graph;

	set_cell(0);
	operation.writeValue.address = cell;
	operation.writeValue.value = 11;
	batch.paramArray = &operation;
	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuEventCreate(&other, CU_EVENT_DEFAULT));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddBatchMemOpNode(&write, graph, NULL, 0, &batch));
	CHECK_OK(cuGraphAddEventRecordNode(&record, graph, &write, 1, event));
	CHECK_OK(cuGraphAddEventWaitNode(&wait, graph, &record, 1, event));
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuEventSynchronize(event)); /* recorded behind the write */
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 11);
	operation.writeValue.value = 12;
	CHECK_OK(cuGraphExecBatchMemOpNodeSetParams(exec, write, &batch));
	CHECK_INT(cuGraphExecBatchMemOpNodeSetParams(exec, record, &batch), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphExecBatchMemOpNodeSetParams(exec, write, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphExecEventRecordNodeSetEvent(exec, record, other));
	CHECK_OK(cuGraphExecEventWaitNodeSetEvent(exec, wait, other));
	CHECK_INT(cuGraphExecEventRecordNodeSetEvent(exec, wait, other), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphExecEventWaitNodeSetEvent(exec, record, other), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphExecEventRecordNodeSetEvent(exec, record, NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 12);
	{
		float ms = -1;

		CHECK_OK(cuEventElapsedTime_v2(&ms, other, other)); /* it was recorded */
		CHECK(ms == 0);
	}
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuEventDestroy_v2(event));
	CHECK_OK(cuEventDestroy_v2(other));
}

static double now_us(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

/* What graphs are for: launching one costs less than launching its kernels. The best of many rounds of each, in turn. */
static void test_cost(void)
{
	unsigned one = 1;
	void *parameters[] = {&cell, &one};
	CUgraphNode nodes[CHAIN];
	CUgraph graph = make_chain(nodes, CHAIN, 1);
	double launches = 1e9, relaunch = 1e9, from;
	CUgraphExec exec;

	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int round = 0; round < (SANITIZED ? 3 : 200); round++) {
		from = now_us();
		for (int i = 0; i < CHAIN; i++)
			CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
		CHECK_OK(cuStreamSynchronize(stream));
		if (now_us() - from < launches)
			launches = now_us() - from;
		from = now_us();
		CHECK_OK(cuGraphLaunch(exec, stream));
		CHECK_OK(cuStreamSynchronize(stream));
		if (now_us() - from < relaunch)
			relaunch = now_us() - from;
	}
	printf("%d launches %.1f us, relaunched as a graph %.1f us: %.2f\n", CHAIN, launches, relaunch, relaunch / launches);
	CHECK(SANITIZED || relaunch < 0.6 * launches);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
}

/* A kernel that fails ends the graph, and the context with it. */
static void test_failure(CUfunction fault)
{
	CUDA_KERNEL_NODE_PARAMS bad = kernel(fault, NULL);
	CUgraphNode nodes[3], last, after;
	CUgraph graph = make_chain(nodes, 3, 1);
	unsigned one = 1;
	void *parameters[] = {&cell, &one};
	CUDA_KERNEL_NODE_PARAMS plus = kernel(add, parameters);
	CUgraphExec exec;

	CHECK_OK(cuGraphAddKernelNode_v2(&last, graph, &nodes[2], 1, &bad));
	CHECK_OK(cuGraphAddKernelNode_v2(&after, graph, &last, 1, &plus));
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_INT(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_INT(cuGraphLaunch(exec, stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
}

int main(void)
{
	CUmodule module = kernels_begin(&context);

	add = kernels_get(module, "add");
	multiply = kernels_get(module, "multiply");
	fill = kernels_get(module, "fill");
	CHECK_OK(cuMemAlloc_v2(&cell, 4));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	test_chain();
	test_mixture();
	test_instantiation();
	test_update();
	test_parameters();
	test_events();
	test_cost();
	test_failure(kernels_get(module, "fault"));
	cuCtxDestroy_v2(context);
	return check_end();
}
