/* Graphs, explicit and captured. Expectations: CUDA Driver API reference manual, "Graph Management", "Stream Management"
 * (capture); CUDA C++ Programming Guide, "CUDA Graphs"; error statuses as cards answer. */
#define _GNU_SOURCE
#include <cuda.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "driver_kernels.h"

static CUfunction add, multiply;
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

	CHECK_OK(cuMemcpyDtoH(&value, cell, 4));
	return value;
}

static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction function, void **parameters)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
					 .blockDimY = 1, .blockDimZ = 1, .kernelParams = parameters};
}

/* fill 1 -> +4 -> *10 -> host; the parameters are copied when a node is added. */
static void test_explicit(void)
{
	unsigned value = 4;
	void *parameters[] = {&cell, &value};
	CUDA_KERNEL_NODE_PARAMS plus = kernel(add, parameters), times = kernel(multiply, parameters), got;
	CUDA_MEMSET_NODE_PARAMS one = {.dst = cell, .value = 1, .elementSize = 4, .width = 1, .height = 1};
	CUDA_HOST_NODE_PARAMS host = {count_up, (void *)1};
	CUgraph graph, clone;
	CUgraphNode a, b, c, d, found, from[8], to[8], nodes[8], bad = NULL;
	CUgraphExec exec;
	CUgraphNodeType type;
	size_t count = 8;
	unsigned enabled = 0;

	atomic_store(&host_calls, 0);
	CHECK_INT(cuGraphCreate(&graph, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &one, NULL));
	CHECK_OK(cuGraphAddKernelNode(&b, graph, &a, 1, &plus));
	value = 10;
	CHECK_OK(cuGraphAddKernelNode(&c, graph, &b, 1, &times));
	CHECK_OK(cuGraphAddHostNode(&d, graph, &c, 1, &host));
	value = 999;
	CHECK_INT(cuGraphAddKernelNode(&bad, graph, &bad, 1, &times), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphAddKernelNode(&bad, graph, (CUgraphNode[]){a, a}, 2, &times), CUDA_ERROR_INVALID_VALUE);
	times.gridDimX = 0;
	CHECK_INT(cuGraphAddKernelNode(&bad, graph, NULL, 0, &times), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphAddDependencies(graph, &d, &a, NULL, 1), CUDA_ERROR_INVALID_VALUE); /* a circle */
	CHECK_INT(cuGraphAddDependencies(graph, &a, &b, NULL, 1), CUDA_ERROR_INVALID_VALUE); /* there already */
	CHECK_OK(cuGraphAddDependencies(graph, &a, &d, NULL, 1));
	CHECK_OK(cuGraphRemoveDependencies(graph, &a, &d, NULL, 1));
	CHECK_INT(cuGraphRemoveDependencies(graph, &a, &d, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphGetNodes(graph, NULL, &count));
	CHECK_INT(count, 4);
	count = 8;
	CHECK_OK(cuGraphGetNodes(graph, nodes, &count));
	CHECK(count == 4 && !nodes[4]);
	count = 8;
	CHECK_OK(cuGraphGetRootNodes(graph, nodes, &count));
	CHECK(count == 1 && nodes[0] == a);
	count = 8;
	CHECK_OK(cuGraphGetEdges(graph, from, to, NULL, &count));
	CHECK(count == 3 && from[0] == a && to[0] == b);
	CHECK_OK(cuGraphNodeGetType(c, &type));
	CHECK_INT(type, CU_GRAPH_NODE_TYPE_KERNEL);
	CHECK_OK(cuGraphKernelNodeGetParams(b, &got));
	CHECK(got.func == add && got.blockDimX == 1 && *(unsigned *)got.kernelParams[1] == 4);
	CHECK_INT(cuGraphKernelNodeGetParams(a, &got), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphClone(&clone, graph));
	CHECK_OK(cuGraphNodeFindInClone(&found, c, clone));
	CHECK(found && found != c);

	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 50);
	CHECK_INT(atomic_load(&host_calls), 2);
	/* The executable graph alone changes. */
	value = 7;
	times.gridDimX = 1;
	CHECK_OK(cuGraphExecKernelNodeSetParams(exec, c, &times));
	host.userData = (void *)100;
	CHECK_OK(cuGraphExecHostNodeSetParams(exec, d, &host));
	CHECK_INT(cuGraphExecHostNodeSetParams(exec, a, &host), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 35);
	CHECK_INT(atomic_load(&host_calls), 102);
	CHECK_OK(cuGraphNodeSetEnabled(exec, b, 0));
	CHECK_OK(cuGraphNodeGetEnabled(exec, b, &enabled));
	CHECK_INT(enabled, 0);
	CHECK_INT(cuGraphNodeSetEnabled(exec, d, 0), CUDA_ERROR_INVALID_VALUE); /* not for host nodes */
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 7);
	CHECK_OK(cuGraphDestroyNode(b));
	CHECK_OK(cuGraphDestroy(graph)); /* the executable graph goes on without it */
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_INT(cuGraphExecDestroy(exec), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphInstantiate(&exec, clone, 0)); /* a clone shares nothing with it */
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 50);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(clone));
}

/* A diamond of many branches: all of them before the last node, every time. */
static void test_branches(void)
{
	enum { BRANCHES = 40 };
	CUgraph graph, child;
	CUgraphNode first, ends[BRANCHES], last, inner;
	CUgraphExec exec;
	CUdeviceptr cells;
	unsigned out[BRANCHES], value = 1;
	CUDA_MEMSET_NODE_PARAMS zero = {.value = 0, .elementSize = 4, .width = BRANCHES, .height = 1};
	CUDA_HOST_NODE_PARAMS host = {count_up, (void *)1};

	CHECK_OK(cuMemAlloc(&cells, sizeof out));
	zero.dst = cells;
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddMemsetNode(&first, graph, NULL, 0, &zero, NULL));
	for (int i = 0; i < BRANCHES; i++) {
		CUdeviceptr at = cells + (CUdeviceptr)i * 4;
		void *parameters[] = {&at, &value};
		CUDA_KERNEL_NODE_PARAMS plus = kernel(add, parameters);

		value = (unsigned)i;
		CHECK_OK(cuGraphAddKernelNode(&ends[i], graph, &first, 1, &plus));
		value = 1;
		CHECK_OK(cuGraphAddKernelNode(&ends[i], graph, &ends[i], 1, &plus));
	}
	CHECK_OK(cuGraphCreate(&child, 0)); /* in a child graph: the host node after all of them */
	CHECK_OK(cuGraphAddHostNode(&inner, child, NULL, 0, &host));
	CHECK_OK(cuGraphAddChildGraphNode(&last, graph, ends, BRANCHES, child));
	CHECK_OK(cuGraphDestroy(child)); /* the node has its own */
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	atomic_store(&host_calls, 0);
	for (int round = 0; round < 20; round++) {
		CHECK_OK(cuGraphLaunch(exec, stream));
		CHECK_OK(cuStreamSynchronize(stream));
		CHECK_INT(atomic_load(&host_calls), round + 1);
		CHECK_OK(cuMemcpyDtoH(out, cells, sizeof out));
		for (int i = 0; i < BRANCHES; i++)
			CHECK_INT(out[i], i + 1);
	}
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuMemFree(cells));
}

static void test_capture(void)
{
	unsigned value = 3, other = 2;
	void *parameters[] = {&cell, &value}, *others[] = {&cell, &other};
	CUstreamCaptureStatus status;
	CUstream second;
	CUevent fork, join;
	CUgraph graph = NULL, captured = NULL;
	CUgraphExec exec;
	CUdeviceptr p;
	cuuint64_t id = 0;
	size_t count = 0;

	CHECK_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	CHECK_INT(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_INT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
	CHECK_OK(cuMemsetD32(cell, 1, 1));
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK_INT(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_ILLEGAL_STATE);
	CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
	CHECK_OK(cuEventRecord(fork, stream));
	CHECK_OK(cuStreamWaitEvent(second, fork, 0)); /* brings the second stream in */
	CHECK_OK(cuLaunchKernel(multiply, 1, 1, 1, 1, 1, 1, 0, second, others, NULL));
	CHECK_OK(cuEventRecord(join, second));
	CHECK_OK(cuStreamIsCapturing(second, &status));
	CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CHECK_OK(cuStreamGetCaptureInfo(stream, &status, &id, &captured, NULL, NULL, &count));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id && captured && count == 1);
	CHECK_OK(cuStreamWaitEvent(stream, join, 0));
	CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, others, NULL));
	CHECK_OK(cuStreamEndCapture(stream, &graph));
	CHECK(graph == captured);
	CHECK_OK(cuStreamIsCapturing(second, &status));
	CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_NONE);
	CHECK_INT(read_cell(), 1); /* nothing has run */
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), (1 + 3) * 2 + 2);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));

	/* What ends a capture, and how. */
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_INT(cuMemAlloc(&p, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_INT(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK_INT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK(!graph);
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK_OK(cuMemAlloc(&p, 16)); /* a relaxed capture allows it */
	CHECK_OK(cuMemFree(p));
	CHECK_INT(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_INT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK_OK(cuEventRecord(fork, stream));
	CHECK_OK(cuStreamWaitEvent(second, fork, 0));
	CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, second, parameters, NULL));
	CHECK_INT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	/* A stream that is destroyed before the end counts as joined, or not, by what it did. */
	for (int joined = 0; joined < 2; joined++) {
		CUstream third;

		CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		CHECK_OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
		CHECK_OK(cuEventRecord(fork, stream));
		CHECK_OK(cuStreamWaitEvent(third, fork, 0));
		CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, third, parameters, NULL));
		CHECK_OK(cuEventRecord(join, third));
		if (joined)
			CHECK_OK(cuStreamWaitEvent(stream, join, 0));
		CHECK_OK(cuStreamDestroy(third));
		CHECK_INT(cuStreamEndCapture(stream, &graph), joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	}
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK_OK(cuEventRecord(fork, stream));
	CHECK_INT(cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
	CHECK_INT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK_OK(cuEventRecord(fork, second)); /* usable again */
	CHECK_OK(cuEventSynchronize(fork));
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK_INT(cuStreamWaitEvent(stream, fork, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	CHECK_INT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK_OK(cuEventDestroy(fork));
	CHECK_OK(cuEventDestroy(join));
	CHECK_OK(cuStreamDestroy(second));
}

static void test_memory_nodes(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS allocate = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							     .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}, .bytesize = 1000};
	CUDA_MEMSET_NODE_PARAMS set = {.value = 6, .elementSize = 4, .width = 1, .height = 1};
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = cell,
			      .WidthInBytes = 4, .Height = 1, .Depth = 1};
	CUgraph graph, clone;
	CUgraphNode a, b, c, d;
	CUgraphExec exec, twice;
	CUdeviceptr p;

	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddMemAllocNode(&a, graph, NULL, 0, &allocate));
	CHECK(allocate.dptr);
	set.dst = copy.srcDevice = allocate.dptr;
	CHECK_OK(cuGraphAddMemsetNode(&b, graph, &a, 1, &set, NULL));
	CHECK_OK(cuGraphAddMemcpyNode(&c, graph, &b, 1, &copy, NULL));
	CHECK_OK(cuGraphAddMemFreeNode(&d, graph, &c, 1, allocate.dptr));
	CHECK_INT(cuGraphAddMemFreeNode(&d, graph, &c, 1, cell), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	CHECK_INT(cuGraphInstantiate(&twice, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
	for (int i = 0; i < 3; i++)
		CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 6);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
	/* The same by capture; what a launch leaves allocated must be freed before the next. */
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK_OK(cuMemAllocAsync(&p, 64, stream));
	CHECK_OK(cuMemsetD32Async(p, 9, 1, stream));
	CHECK_OK(cuMemcpyDtoDAsync(cell, p, 4, stream));
	CHECK_OK(cuStreamEndCapture(stream, &graph));
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 9);
	CHECK_INT(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFreeAsync(p, stream));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemFree(p));
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
}

static void test_update(void)
{
	unsigned value = 1;
	void *parameters[] = {&cell, &value};
	CUDA_KERNEL_NODE_PARAMS plus = kernel(add, parameters);
	CUgraphExecUpdateResultInfo info;
	CUgraph graph, other;
	CUgraphNode a, b;
	CUgraphExec exec;

	CHECK_OK(cuMemsetD32Async(cell, 0, 1, stream));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddKernelNode(&a, graph, NULL, 0, &plus));
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cuGraphCreate(&other, 0));
	value = 40;
	CHECK_OK(cuGraphAddKernelNode(&a, other, NULL, 0, &plus));
	CHECK_OK(cuGraphExecUpdate(exec, other, &info));
	CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 40);
	CHECK_OK(cuGraphAddEmptyNode(&b, other, &a, 1));
	CHECK_INT(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	CHECK_OK(cuGraphDestroy(other));
	CHECK_OK(cuGraphCreate(&other, 0));
	CHECK_OK(cuGraphAddEmptyNode(&b, other, NULL, 0));
	CHECK_INT(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	CHECK_OK(cuGraphDestroy(other));
	CHECK_OK(cuGraphLaunch(exec, stream)); /* as it was */
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 80);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
}

/* Conditional nodes whose value stays at its default, since nothing sets it. */
static void test_conditional(void)
{
	unsigned value = 1;
	void *parameters[] = {&cell, &value};
	CUDA_KERNEL_NODE_PARAMS plus = kernel(add, parameters);
	CUgraphNodeParams condition = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUgraphConditionalHandle yes, no;
	CUgraph graph;
	CUgraphNode a, b, c, inner;
	CUgraphExec exec;

	CHECK_OK(cuMemsetD32Async(cell, 0, 1, stream));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphConditionalHandleCreate(&yes, graph, NULL, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	CHECK_OK(cuGraphConditionalHandleCreate(&no, graph, NULL, 0, CU_GRAPH_COND_ASSIGN_DEFAULT));
	condition.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){.handle = yes, .type = CU_GRAPH_COND_TYPE_IF, .size = 1};
	CHECK_OK(cuGraphAddNode(&a, graph, NULL, NULL, 0, &condition));
	CHECK(condition.conditional.phGraph_out && condition.conditional.phGraph_out[0]);
	value = 5;
	CHECK_OK(cuGraphAddKernelNode(&inner, condition.conditional.phGraph_out[0], NULL, 0, &plus));
	condition.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){.handle = no, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1};
	CHECK_OK(cuGraphAddNode(&b, graph, &a, NULL, 1, &condition));
	value = 1000;
	CHECK_OK(cuGraphAddKernelNode(&inner, condition.conditional.phGraph_out[0], NULL, 0, &plus));
	value = 20;
	CHECK_OK(cuGraphAddKernelNode(&c, graph, &b, 1, &plus));
	condition.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){.handle = 1234, .type = CU_GRAPH_COND_TYPE_IF, .size = 1};
	CHECK_INT(cuGraphAddNode(&b, graph, NULL, NULL, 0, &condition), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_INT(read_cell(), 50);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
}

/* A kernel chooses the body; a loop runs until a kernel in its body says so. */
static void test_set_condition(void)
{
	static const char code[] =
		".version 8.3\n.target sm_80\n.address_size 64\n"
		".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
		".visible .entry choose(.param .u64 h, .param .u64 p) { .reg .b64 %h, %p; .reg .b32 %v; .param .b64 a; .param .b32 b;\n"
		" ld.param.u64 %h, [h]; ld.param.u64 %p, [p]; ld.global.u32 %v, [%p]; st.param.b64 [a], %h; st.param.b32 [b], %v;\n"
		" call.uni cudaGraphSetConditional, (a, b); ret; }\n"
		/* counts down; goes on while it is not zero */
		".visible .entry down(.param .u64 h, .param .u64 p) { .reg .b64 %h, %p; .reg .b32 %v; .param .b64 a; .param .b32 b;\n"
		" ld.param.u64 %h, [h]; ld.param.u64 %p, [p]; ld.global.u32 %v, [%p]; sub.u32 %v, %v, 1; st.global.u32 [%p], %v;\n"
		" st.param.b64 [a], %h; st.param.b32 [b], %v; call.uni cudaGraphSetConditional, (a, b); ret; }\n";
	CUgraphNodeParams condition = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUDA_HOST_NODE_PARAMS host = {count_up, NULL};
	CUgraphConditionalHandle which, more;
	CUgraph graph;
	CUgraphNode a, b, c, d, inner;
	CUgraphExec exec;
	CUmodule module;
	CUfunction choose, down;
	void *choose_parameters[] = {&which, &cell}, *more_parameters[] = {&more, &cell};
	CUDA_KERNEL_NODE_PARAMS first, again, loop;

	CHECK_OK(cuModuleLoadData(&module, code));
	CHECK_OK(cuModuleGetFunction(&choose, module, "choose"));
	CHECK_OK(cuModuleGetFunction(&down, module, "down"));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphConditionalHandleCreate(&which, graph, NULL, 0, 0));
	CHECK_OK(cuGraphConditionalHandleCreate(&more, graph, NULL, 0, 0));
	first = kernel(choose, choose_parameters);
	CHECK_OK(cuGraphAddKernelNode(&a, graph, NULL, 0, &first));
	condition.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){.handle = which, .type = CU_GRAPH_COND_TYPE_SWITCH, .size = 4};
	CHECK_OK(cuGraphAddNode(&b, graph, &a, NULL, 1, &condition));
	for (size_t i = 0; i < 4; i++) {
		host.userData = (void *)((i + 1) * 1000);
		CHECK_OK(cuGraphAddHostNode(&inner, condition.conditional.phGraph_out[i], NULL, 0, &host));
	}
	again = kernel(choose, more_parameters);
	CHECK_OK(cuGraphAddKernelNode(&c, graph, &b, 1, &again));
	condition.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){.handle = more, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1};
	CHECK_OK(cuGraphAddNode(&d, graph, &c, NULL, 1, &condition));
	loop = kernel(down, more_parameters);
	CHECK_OK(cuGraphAddKernelNode(&inner, condition.conditional.phGraph_out[0], NULL, 0, &loop));
	host.userData = (void *)1;
	CHECK_OK(cuGraphAddHostNode(&inner, condition.conditional.phGraph_out[0], &inner, 1, &host));
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	for (unsigned value = 0; value < 6; value++) {
		atomic_store(&host_calls, 0);
		CHECK_OK(cuMemsetD32Async(cell, value, 1, stream));
		CHECK_OK(cuGraphLaunch(exec, stream));
		CHECK_OK(cuStreamSynchronize(stream));
		CHECK_INT(atomic_load(&host_calls), (value < 4 ? (value + 1) * 1000 : 0) + value); /* a switch has no default */
		CHECK_INT(read_cell(), 0);
	}
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuModuleUnload(module));
}

static void test_objects(void)
{
	char path[] = "driver_graph-XXXXXX", text[4096] = "";
	CUuserObject object;
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;
	FILE *file;
	int descriptor = mkstemp(path);

	atomic_store(&host_calls, 0);
	CHECK_INT(cuUserObjectCreate(&object, (void *)1, count_up, 1, 0), CUDA_ERROR_INVALID_VALUE); /* the flag is required */
	CHECK_OK(cuUserObjectCreate(&object, (void *)1, count_up, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	CHECK_OK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cuGraphDebugDotPrint(graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
	file = fopen(path, "r");
	CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
	CHECK(!strncmp(text, "digraph", 7) && strstr(text, "EMPTY"));
	if (file)
		fclose(file);
	close(descriptor);
	unlink(path);
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_INT(atomic_load(&host_calls), 0); /* the executable graph keeps it */
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_INT(atomic_load(&host_calls), 1);
}

int main(void)
{
	CUcontext context;
	CUmodule module;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunction(&add, module, "add"));
	CHECK_OK(cuModuleGetFunction(&multiply, module, "multiply"));
	CHECK_OK(cuMemAlloc(&cell, 4));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	test_explicit();
	test_branches();
	test_capture();
	test_memory_nodes();
	test_update();
	test_conditional();
	test_set_condition();
	test_objects();
	CHECK_OK(cuStreamDestroy(stream));
	CHECK_OK(cuCtxDestroy(context));
	return check_end();
}
