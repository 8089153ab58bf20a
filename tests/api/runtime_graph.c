/* Graphs: every type of node as it is added, asked about, changed and changed again in an executable graph; structure, with and
 * without edge data; instantiation, updates, user objects, memory, conditions. Expectations: CUDA Runtime API reference manual,
 * "Graph Management"; edges and statuses of a device below compute capability 9 as recorded on one. For libcudart.so.13 and
 * libcudart.so.12. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <stdatomic.h>
#include <unistd.h>

#include "check.h"
#include "device_code.h"

/* What the releases have with other prototypes, and what only 12 declares. */
#if RUNTIME_MAJOR == 12
cudaError_t plain_get_edges(cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, size_t *) __asm__("cudaGraphGetEdges");
cudaError_t plain_dependencies(cudaGraphNode_t, cudaGraphNode_t *, size_t *) __asm__("cudaGraphNodeGetDependencies");
cudaError_t plain_dependents(cudaGraphNode_t, cudaGraphNode_t *, size_t *) __asm__("cudaGraphNodeGetDependentNodes");
cudaError_t plain_add(cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, size_t) __asm__("cudaGraphAddDependencies");
cudaError_t plain_remove(cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, size_t)
	__asm__("cudaGraphRemoveDependencies");
cudaError_t plain_add_node(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t, struct cudaGraphNodeParams *)
	__asm__("cudaGraphAddNode");
#else
#define plain_get_edges(graph, from, to, count) cudaGraphGetEdges(graph, from, to, NULL, count)
#define plain_dependencies(node, nodes, count) cudaGraphNodeGetDependencies(node, nodes, NULL, count)
#define plain_dependents(node, nodes, count) cudaGraphNodeGetDependentNodes(node, nodes, NULL, count)
#define plain_add(graph, from, to, count) cudaGraphAddDependencies(graph, from, to, NULL, count)
#define plain_remove(graph, from, to, count) cudaGraphRemoveDependencies(graph, from, to, NULL, count)
#define plain_add_node(node, graph, nodes, count, parameters) cudaGraphAddNode(node, graph, nodes, NULL, count, parameters)
#endif
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
				 size_t *count);
cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count);
cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
					      size_t *count);
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					const cudaGraphEdgeData *edges, size_t count);
cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					   const cudaGraphEdgeData *edges, size_t count);
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
				const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *parameters);

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".visible .global .align 4 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0};\n"
	/* *p = *p * 2 + v */
	".visible .entry step(.param .u64 p, .param .u32 v)\n{\n"
	"  .reg .b32 %r<3>; .reg .b64 %d;\n"
	"  ld.param.u64 %d, [p]; ld.param.u32 %r1, [v]; cvta.to.global.u64 %d, %d;\n"
	"  ld.global.u32 %r2, [%d]; mad.lo.u32 %r2, %r2, 2, %r1; st.global.u32 [%d], %r2; ret;\n}\n"
	".visible .entry other(.param .u64 p, .param .u32 v)\n{\n"
	"  .reg .b32 %r<2>; .reg .b64 %d;\n"
	"  ld.param.u64 %d, [p]; ld.param.u32 %r1, [v]; cvta.to.global.u64 %d, %d; st.global.u32 [%d], %r1; ret;\n}\n";

static char step[1], other[1];
static unsigned table[4];
static unsigned *memory; /* 16 words of the device */
static cudaStream_t stream;

static unsigned word(int i)
{
	unsigned value = 0xdeadbeef;
	CHECK_OK(cudaMemcpy(&value, memory + i, 4, cudaMemcpyDeviceToHost));
	return value;
}

static void set_word(int i, unsigned value)
{
	CHECK_OK(cudaMemcpy(memory + i, &value, 4, cudaMemcpyHostToDevice));
}

static void run(cudaGraphExec_t exec)
{
	CHECK_OK(cudaGraphLaunch(exec, stream));
	CHECK_OK(cudaStreamSynchronize(stream));
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec = NULL;
	CHECK_OK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void done(cudaGraph_t graph, cudaGraphExec_t exec)
{
	CHECK_OK(cudaGraphExecDestroy(exec));
	CHECK_OK(cudaGraphDestroy(graph));
}

/* ---- kernels ------------------------------------------------------------------------------------------------------------- */

static void test_kernel_node(void)
{
	cudaGraph_t graph;
	cudaGraphNode_t node, second;
	unsigned value = 3;
	void *arguments[] = { &memory, &value };
	struct cudaKernelNodeParams parameters = { .func = step, .gridDim = { 1, 1, 1 }, .blockDim = { 1, 1, 1 },
						   .kernelParams = arguments }, found;
	cudaLaunchAttributeValue attribute = { .priority = -1 }, got;
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &parameters));
	CHECK_OK(cudaGraphAddKernelNode(&second, graph, &node, 1, &parameters));
	value = 5;
	CHECK_OK(cudaGraphKernelNodeSetParams(second, &parameters));
	CHECK_OK(cudaGraphKernelNodeGetParams(second, &found));
	CHECK_INT(*(unsigned *)found.kernelParams[1], 5);
	CHECK_OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &attribute));
	CHECK_OK(cudaGraphKernelNodeCopyAttributes(second, node));
	memset(&got, 0, sizeof got);
	CHECK_OK(cudaGraphKernelNodeGetAttribute(second, cudaLaunchAttributePriority, &got));
	CHECK_INT(got.priority, -1);
	CHECK_INT(cudaGraphKernelNodeGetAttribute(second, cudaLaunchAttributePriority, NULL), cudaErrorInvalidValue);
	CHECK_INT(cudaGraphKernelNodeSetParams(second, NULL), cudaErrorInvalidValue);
	cudaGraphExec_t exec = instantiate(graph);
	set_word(0, 1);
	run(exec);
	CHECK_INT(word(0), (1 * 2 + 3) * 2 + 5);
	value = 100;
	CHECK_OK(cudaGraphExecKernelNodeSetParams(exec, second, &parameters));
	set_word(0, 1);
	run(exec);
	CHECK_INT(word(0), 110);
	cudaGetLastError();
	done(graph, exec);
}

/* ---- copies and sets ------------------------------------------------------------------------------------------------------- */

static void test_copy_node(void)
{
	cudaGraph_t graph;
	cudaGraphNode_t node;
	unsigned from[4] = { 10, 20, 30, 40 };
	struct cudaMemcpy3DParms copy = { .srcPtr = { from, 4, 4, 1 }, .dstPtr = { memory, 4, 4, 1 }, .extent = { 4, 1, 1 },
					  .kind = cudaMemcpyHostToDevice }, found;
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &copy));
	copy.srcPtr.ptr = from + 1;
	CHECK_OK(cudaGraphMemcpyNodeSetParams(node, &copy));
	CHECK_OK(cudaGraphMemcpyNodeGetParams(node, &found));
	CHECK(found.srcPtr.ptr == from + 1);
	cudaGraphExec_t exec = instantiate(graph);
	set_word(0, 0);
	run(exec);
	CHECK_INT(word(0), 20);
	copy.srcPtr.ptr = from + 2;
	CHECK_OK(cudaGraphExecMemcpyNodeSetParams(exec, node, &copy));
	run(exec);
	CHECK_INT(word(0), 30);
	CHECK_OK(cudaGraphMemcpyNodeSetParams1D(node, memory + 1, from, 8, cudaMemcpyHostToDevice));
	CHECK_OK(cudaGraphExecDestroy(exec));
	exec = instantiate(graph);
	run(exec);
	CHECK_INT(word(1), 10);
	CHECK_INT(word(2), 20);
	CHECK_OK(cudaGraphExecMemcpyNodeSetParams1D(exec, node, memory + 1, from + 2, 8, cudaMemcpyHostToDevice));
	run(exec);
	CHECK_INT(word(1), 30);
	CHECK_INT(word(2), 40);
	CHECK_INT(cudaGraphMemcpyNodeSetParams1D(node, memory, from, 8, (enum cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
	CHECK_INT(cudaGraphExecMemcpyNodeSetParams(exec, node, NULL), cudaErrorInvalidValue);
	cudaGetLastError();
	done(graph, exec);
}

static void test_symbol_nodes(void)
{
	cudaGraph_t graph;
	cudaGraphNode_t to, from;
	unsigned in[4] = { 7, 8, 9, 10 }, out[4] = { 0 };
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, NULL, 0, table, in, 8, 4, cudaMemcpyHostToDevice));
	CHECK_OK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, out, table, 16, 0, cudaMemcpyDeviceToHost));
	cudaGraphExec_t exec = instantiate(graph);
	run(exec);
	CHECK(out[0] == 1 && out[1] == 7 && out[2] == 8 && out[3] == 4);
	CHECK_OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to, table, in + 2, 4, 12, cudaMemcpyHostToDevice));
	CHECK_OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, from, out, table, 4, 12, cudaMemcpyDeviceToHost));
	run(exec);
	CHECK_INT(out[0], 9);
	CHECK_OK(cudaGraphExecDestroy(exec));
	CHECK_OK(cudaGraphMemcpyNodeSetParamsToSymbol(to, table, in + 3, 4, 0, cudaMemcpyHostToDevice));
	CHECK_OK(cudaGraphMemcpyNodeSetParamsFromSymbol(from, out + 1, table, 4, 0, cudaMemcpyDeviceToHost));
	exec = instantiate(graph);
	run(exec);
	CHECK_INT(out[1], 10);
	CHECK_INT(cudaGraphMemcpyNodeSetParamsToSymbol(to, in, in, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
	CHECK_INT(cudaGraphMemcpyNodeSetParamsFromSymbol(from, out, table, 4, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
	CHECK_INT(cudaGraphAddMemcpyNodeToSymbol(&to, graph, NULL, 0, table, in, 4, 0, cudaMemcpyDeviceToHost),
		  cudaErrorInvalidMemcpyDirection);
	cudaGetLastError();
	done(graph, exec);
}

static void test_set_node(void)
{
	cudaGraph_t graph;
	cudaGraphNode_t node;
	struct cudaMemsetParams set = { .dst = memory, .value = 0x11, .elementSize = 1, .width = 4, .height = 1 }, found;
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &set));
	set.value = 0x2222;
	set.elementSize = 2;
	set.width = 2;
	CHECK_OK(cudaGraphMemsetNodeSetParams(node, &set));
	CHECK_OK(cudaGraphMemsetNodeGetParams(node, &found));
	CHECK_INT(found.elementSize, 2);
	cudaGraphExec_t exec = instantiate(graph);
	run(exec);
	CHECK_INT(word(0), 0x22222222);
	set.elementSize = 3;
	CHECK_INT(cudaGraphMemsetNodeSetParams(node, &set), cudaErrorInvalidValue);
	CHECK_INT(cudaGraphMemsetNodeSetParams(node, NULL), cudaErrorInvalidValue);
	cudaGetLastError();
	done(graph, exec);
}

/* ---- host functions, child graphs, events ------------------------------------------------------------------------------------ */

static void add_one(void *counter)
{
	atomic_fetch_add((atomic_int *)counter, 1);
}

static void add_ten(void *counter)
{
	atomic_fetch_add((atomic_int *)counter, 10);
}

static void test_host_node(void)
{
	cudaGraph_t graph;
	cudaGraphNode_t node;
	atomic_int counter = 0;
	struct cudaHostNodeParams host = { add_one, &counter }, found;
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddHostNode(&node, graph, NULL, 0, &host));
	host.fn = add_ten;
	CHECK_OK(cudaGraphHostNodeSetParams(node, &host));
	CHECK_OK(cudaGraphHostNodeGetParams(node, &found));
	CHECK(found.fn == add_ten && found.userData == &counter);
	cudaGraphExec_t exec = instantiate(graph);
	run(exec);
	CHECK_INT(atomic_load(&counter), 10);
	host.fn = add_one;
	CHECK_OK(cudaGraphExecHostNodeSetParams(exec, node, &host));
	run(exec);
	CHECK_INT(atomic_load(&counter), 11);
	CHECK_INT(cudaGraphHostNodeSetParams(node, NULL), cudaErrorInvalidValue);
	cudaGetLastError();
	done(graph, exec);
}

static void test_child_node(void)
{
	cudaGraph_t graph, child, inside;
	cudaGraphNode_t node, host, empty;
	atomic_int counter = 0;
	size_t count = 0;
	struct cudaHostNodeParams one = { add_one, &counter }, ten = { add_ten, &counter };
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphCreate(&child, 0));
	CHECK_OK(cudaGraphAddHostNode(&host, child, NULL, 0, &one));
	CHECK_OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
	CHECK_OK(cudaGraphAddChildGraphNode(&node, graph, &empty, 1, child));
	CHECK_OK(cudaGraphChildGraphNodeGetGraph(node, &inside));
	CHECK(inside != child); /* the child was cloned */
	CHECK_OK(cudaGraphGetNodes(inside, NULL, &count));
	CHECK_INT(count, 1);
	cudaGraphExec_t exec = instantiate(graph);
	run(exec);
	CHECK_INT(atomic_load(&counter), 1);
	CHECK_OK(cudaGraphHostNodeSetParams(host, &ten));
	CHECK_OK(cudaGraphExecChildGraphNodeSetParams(exec, node, child));
	run(exec);
	CHECK_INT(atomic_load(&counter), 11);
	CHECK_OK(cudaGraphAddHostNode(&host, child, NULL, 0, &ten)); /* another shape */
	CHECK(cudaGraphExecChildGraphNodeSetParams(exec, node, child) != cudaSuccess);
	cudaGetLastError();
	CHECK_OK(cudaGraphDestroy(child));
	done(graph, exec);
}

static void test_event_nodes(void)
{
	cudaGraph_t graph;
	cudaGraphNode_t record, wait;
	cudaEvent_t first, second, found;
	CHECK_OK(cudaEventCreate(&first));
	CHECK_OK(cudaEventCreate(&second));
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddEventRecordNode(&record, graph, NULL, 0, first));
	CHECK_OK(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, first));
	CHECK_OK(cudaGraphEventRecordNodeGetEvent(record, &found));
	CHECK(found == first);
	CHECK_OK(cudaGraphEventWaitNodeGetEvent(wait, &found));
	CHECK(found == first);
	CHECK_OK(cudaGraphEventRecordNodeSetEvent(record, second));
	CHECK_OK(cudaGraphEventWaitNodeSetEvent(wait, second));
	CHECK_OK(cudaGraphEventRecordNodeGetEvent(record, &found));
	CHECK(found == second);
	CHECK_OK(cudaGraphEventWaitNodeGetEvent(wait, &found));
	CHECK(found == second);
	cudaGraphExec_t exec = instantiate(graph);
	float ms = -1;
	CHECK_OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, first));
	CHECK_OK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, first));
	run(exec);
	CHECK_OK(cudaEventElapsedTime(&ms, first, first)); /* recorded, as the other is not */
	CHECK(ms == 0.0f);
	CHECK_INT(cudaEventElapsedTime(&ms, second, second), cudaErrorInvalidResourceHandle);
	CHECK(cudaGraphEventRecordNodeGetEvent(wait, &found) != cudaSuccess);
	cudaGetLastError();
	done(graph, exec);
	CHECK_OK(cudaEventDestroy(first));
	CHECK_OK(cudaEventDestroy(second));
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------- */

static void test_memory_nodes(void)
{
	cudaGraph_t graph, clone;
	cudaGraphNode_t allocate, set, copy, release;
	unsigned out = 0;
	unsigned long long bytes = 99;
	struct cudaMemAllocNodeParams parameters = { .poolProps = { .allocType = cudaMemAllocationTypePinned,
								   .location = { cudaMemLocationTypeDevice, 0 } },
						     .bytesize = 4096 }, found;
	void *freed = NULL;
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddMemAllocNode(&allocate, graph, NULL, 0, &parameters));
	CHECK(parameters.dptr != NULL);
	CHECK_OK(cudaGraphMemAllocNodeGetParams(allocate, &found));
	CHECK(found.dptr == parameters.dptr && found.bytesize == 4096);
	struct cudaMemsetParams setting = { .dst = parameters.dptr, .value = 5, .elementSize = 4, .width = 4, .height = 1 };
	CHECK_OK(cudaGraphAddMemsetNode(&set, graph, &allocate, 1, &setting));
	CHECK_OK(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, &out, (char *)parameters.dptr + 12, 4, cudaMemcpyDeviceToHost));
	CHECK_OK(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, parameters.dptr));
	CHECK_OK(cudaGraphMemFreeNodeGetParams(release, &freed));
	CHECK(freed == parameters.dptr);
	CHECK(cudaGraphClone(&clone, graph) != cudaSuccess); /* not with memory nodes */
	cudaGraphExec_t exec = instantiate(graph);
	run(exec);
	run(exec);
	CHECK_INT(out, 5);
	CHECK_OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &bytes));
	CHECK_INT(bytes, 0);
	CHECK_OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
	CHECK(bytes >= 4096);
	bytes = 0;
	CHECK_OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes)); /* resets the mark */
	CHECK_OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
	CHECK_INT(bytes, 0);
	CHECK_INT(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &bytes), cudaErrorInvalidValue);
	cudaGetLastError();
	done(graph, exec);
	CHECK_OK(cudaDeviceGraphMemTrim(0));
	CHECK_OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &bytes));
	CHECK_INT(bytes, 0);
	CHECK_INT(cudaDeviceGraphMemTrim(99), cudaErrorInvalidDevice);
	cudaGetLastError();
}

/* ---- structure ---------------------------------------------------------------------------------------------------------------- */

static void test_structure(void)
{
	cudaGraph_t graph, clone;
	cudaGraphNode_t a, b, c, nodes[4], to[4], found;
	cudaGraphEdgeData data[4];
	size_t count;
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
	CHECK_OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
	CHECK_OK(cudaGraphAddEmptyNode(&c, graph, NULL, 0));
	CHECK_OK(plain_add(graph, &b, &c, 1));
	CHECK_INT(plain_add(graph, &b, &c, 1), cudaErrorInvalidValue); /* twice */
	CHECK_OK(cudaGraphAddDependencies_v2(graph, &a, &c, NULL, 1));
	count = 4;
	CHECK_OK(plain_get_edges(graph, nodes, to, &count));
	CHECK_INT(count, 3);
	count = 0;
	CHECK_OK(plain_get_edges(graph, NULL, NULL, &count));
	CHECK_INT(count, 3);
	count = 4;
	memset(data, 0xff, sizeof data);
	CHECK_OK(cudaGraphGetEdges_v2(graph, nodes, to, data, &count));
	CHECK_INT(count, 3);
	CHECK(data[0].from_port == 0 && data[0].to_port == 0 && data[0].type == 0);
	count = 4;
	CHECK_OK(plain_dependencies(c, nodes, &count));
	CHECK_INT(count, 2);
	count = 4;
	CHECK_OK(cudaGraphNodeGetDependencies_v2(b, nodes, data, &count));
	CHECK_INT(count, 1);
	CHECK(nodes[0] == a);
	count = 4;
	CHECK_OK(plain_dependents(a, nodes, &count));
	CHECK_INT(count, 2);
	count = 4;
	CHECK_OK(cudaGraphNodeGetDependentNodes_v2(b, nodes, data, &count));
	CHECK_INT(count, 1);
	CHECK(nodes[0] == c);
	CHECK_OK(cudaGraphClone(&clone, graph));
	CHECK_OK(cudaGraphNodeFindInClone(&found, c, clone));
	CHECK(found != c);
	count = 4;
	CHECK_OK(plain_dependencies(found, nodes, &count));
	CHECK_INT(count, 2);
	CHECK(cudaGraphNodeFindInClone(&found, c, graph) != cudaSuccess);
	CHECK_OK(plain_remove(graph, &a, &c, 1));
	CHECK_OK(cudaGraphRemoveDependencies_v2(graph, &b, &c, NULL, 1));
	CHECK_INT(plain_remove(graph, &b, &c, 1), cudaErrorInvalidValue);
	count = 4;
	CHECK_OK(cudaGraphGetRootNodes(graph, nodes, &count));
	CHECK_INT(count, 2);
	CHECK_OK(cudaGraphDestroyNode(a));
	CHECK_OK(cudaGraphGetNodes(graph, NULL, &count));
	CHECK_INT(count, 2);
	/* The clone has its own nodes. */
	CHECK_OK(cudaGraphGetNodes(clone, NULL, &count));
	CHECK_INT(count, 3);
	/* A graph with a circle cannot be instantiated. */
	cudaGraphExec_t exec;
	CHECK_OK(plain_add(graph, &b, &c, 1));
	cudaError_t circle = plain_add(graph, &c, &b, 1);
	CHECK(circle != cudaSuccess || cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess);
	cudaGetLastError();
	CHECK_OK(cudaGraphDestroy(clone));
	CHECK_OK(cudaGraphDestroy(graph));
}

/* Any kind of node from one structure. */
static void test_any_node(void)
{
	cudaGraph_t graph;
	cudaGraphNode_t set, kernel, host;
	unsigned value = 1;
	void *arguments[] = { &memory, &value };
	atomic_int counter = 0;
	struct cudaGraphNodeParams p = { .type = cudaGraphNodeTypeMemset };
	p.memset.dst = memory;
	p.memset.elementSize = 4;
	p.memset.value = 6;
	p.memset.width = 1;
	p.memset.height = 1;
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(plain_add_node(&set, graph, NULL, 0, &p));
	p = (struct cudaGraphNodeParams){ .type = cudaGraphNodeTypeKernel };
	p.kernel.func = step;
	p.kernel.gridDim = p.kernel.blockDim = (dim3){ 1, 1, 1 };
	p.kernel.kernelParams = arguments;
	CHECK_OK(cudaGraphAddNode_v2(&kernel, graph, &set, NULL, 1, &p));
	struct cudaGraphNodeParams h = { .type = cudaGraphNodeTypeHost };
	h.host.fn = add_one;
	h.host.userData = &counter;
	CHECK_OK(cudaGraphAddNode_v2(&host, graph, &kernel, NULL, 1, &h));
	value = 2;
	CHECK_OK(cudaGraphNodeSetParams(kernel, &p));
	cudaGraphExec_t exec = instantiate(graph);
	run(exec);
	CHECK_INT(word(0), 6 * 2 + 2);
	CHECK_INT(atomic_load(&counter), 1);
	value = 30;
	CHECK_OK(cudaGraphExecNodeSetParams(exec, kernel, &p));
	h.host.fn = add_ten;
	CHECK_OK(cudaGraphExecNodeSetParams(exec, host, &h));
	run(exec);
	CHECK_INT(word(0), 6 * 2 + 30);
	CHECK_INT(atomic_load(&counter), 11);
	CHECK(cudaGraphNodeSetParams(kernel, &h) != cudaSuccess); /* of another type */
	CHECK(cudaGraphExecNodeSetParams(exec, kernel, &h) != cudaSuccess);
	CHECK_INT(cudaGraphAddNode_v2(&host, graph, NULL, NULL, 0, NULL), cudaErrorInvalidValue);
	cudaGetLastError();
	done(graph, exec);
}

/* ---- executable graphs ---------------------------------------------------------------------------------------------------------- */

static void test_executable(void)
{
	cudaGraph_t graph, wider;
	cudaGraphNode_t node, more;
	cudaGraphExec_t exec, second;
	unsigned value = 4, enabled = 9;
	unsigned long long flags = 9;
	void *arguments[] = { &memory, &value };
	struct cudaKernelNodeParams kernel = { .func = step, .gridDim = { 1, 1, 1 }, .blockDim = { 1, 1, 1 }, .kernelParams = arguments };
	cudaGraphInstantiateParams how = { .flags = cudaGraphInstantiateFlagUseNodePriority };
	cudaGraphExecUpdateResultInfo result;
	char path[] = "/tmp/dragoman-graph-XXXXXX", text[64] = "";
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
	CHECK_OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
	CHECK_OK(cudaGraphExecGetFlags(exec, &flags));
	CHECK_INT(flags, cudaGraphInstantiateFlagAutoFreeOnLaunch);
	CHECK_OK(cudaGraphInstantiateWithParams(&second, graph, &how));
	CHECK_INT(how.result_out, cudaGraphInstantiateSuccess);
	CHECK_OK(cudaGraphExecGetFlags(second, &flags));
	CHECK_INT(flags, cudaGraphInstantiateFlagUseNodePriority);
	CHECK_OK(cudaGraphUpload(exec, stream));
	set_word(0, 1);
	run(exec);
	CHECK_INT(word(0), 6);
	/* A node that is off does nothing, and those behind it go on. */
	CHECK_OK(cudaGraphNodeSetEnabled(exec, node, 0));
	CHECK_OK(cudaGraphNodeGetEnabled(exec, node, &enabled));
	CHECK_INT(enabled, 0);
	run(exec);
	CHECK_INT(word(0), 6);
	CHECK_OK(cudaGraphNodeSetEnabled(exec, node, 1));
	run(exec);
	CHECK_INT(word(0), 16);
	CHECK(cudaGraphNodeGetEnabled(exec, node, NULL) != cudaSuccess);
	/* An update takes other parameters; another shape is refused, and says so. */
	value = 50;
	CHECK_OK(cudaGraphKernelNodeSetParams(node, &kernel));
	memset(&result, 0xff, sizeof result);
	CHECK_OK(cudaGraphExecUpdate(exec, graph, &result));
	CHECK_INT(result.result, cudaGraphExecUpdateSuccess);
	run(exec);
	CHECK_INT(word(0), 82);
	CHECK_OK(cudaGraphClone(&wider, graph));
	CHECK_OK(cudaGraphAddEmptyNode(&more, wider, NULL, 0));
	CHECK_INT(cudaGraphExecUpdate(exec, wider, &result), cudaErrorGraphExecUpdateFailure);
	CHECK_INT(result.result, cudaGraphExecUpdateErrorTopologyChanged);
	cudaGetLastError();
	/* The picture of a graph names its kernels. */
	int file = mkstemp(path);
	CHECK(file >= 0);
	close(file);
	CHECK_OK(cudaGraphDebugDotPrint(graph, path, cudaGraphDebugDotFlagsVerbose));
	FILE *dot = fopen(path, "r");
	CHECK(dot && fgets(text, sizeof text, dot));
	CHECK(!strncmp(text, "digraph", 7));
	if (dot)
		fclose(dot);
	unlink(path);
	CHECK(cudaGraphDebugDotPrint(graph, "/nowhere/at/all", 0) != cudaSuccess);
	cudaGetLastError();
	CHECK_OK(cudaGraphDestroy(wider));
	CHECK_OK(cudaGraphExecDestroy(second));
	done(graph, exec);
}

/* ---- user objects ------------------------------------------------------------------------------------------------------------------ */

static void test_user_objects(void)
{
	cudaGraph_t graph, clone;
	cudaGraphNode_t empty;
	cudaUserObject_t object;
	atomic_int destroyed = 0;
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
	CHECK_INT(cudaUserObjectCreate(&object, &destroyed, add_one, 1, 0), cudaErrorInvalidValue); /* flags must say "no sync" */
	CHECK_OK(cudaUserObjectCreate(&object, &destroyed, add_one, 1, cudaUserObjectNoDestructorSync));
	CHECK_OK(cudaUserObjectRetain(object, 2));
	CHECK_OK(cudaUserObjectRelease(object, 2));
	CHECK_OK(cudaGraphRetainUserObject(graph, object, 1, 0));
	CHECK_OK(cudaUserObjectRelease(object, 1)); /* the graph still has it */
	CHECK_INT(atomic_load(&destroyed), 0);
	CHECK_OK(cudaGraphClone(&clone, graph));
	CHECK_OK(cudaGraphReleaseUserObject(graph, object, 1));
	CHECK_INT(atomic_load(&destroyed), 0); /* so does the clone */
	CHECK_INT(cudaGraphReleaseUserObject(graph, object, 1), cudaErrorInvalidValue); /* the graph has none left */
	CHECK_OK(cudaGraphDestroy(clone));
	for (int i = 0; i < 1000 && !atomic_load(&destroyed); i++) /* the destructor is called later, on another thread */
		usleep(1000);
	CHECK_INT(atomic_load(&destroyed), 1);
	/* Moved into the graph with the caller's reference. */
	CHECK_OK(cudaUserObjectCreate(&object, &destroyed, add_ten, 1, cudaUserObjectNoDestructorSync));
	CHECK_OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
	CHECK_OK(cudaGraphDestroy(graph));
	for (int i = 0; i < 1000 && atomic_load(&destroyed) < 11; i++)
		usleep(1000);
	CHECK_INT(atomic_load(&destroyed), 11);
	CHECK_INT(cudaUserObjectCreate(NULL, &destroyed, add_one, 1, cudaUserObjectNoDestructorSync), cudaErrorInvalidValue);
	cudaGetLastError();
}

/* ---- conditions ---------------------------------------------------------------------------------------------------------------------- */

/* The body runs as the condition's value says, which each launch sets to its default. */
static void test_conditions(void)
{
	for (unsigned value = 0; value < 2; value++) {
		cudaGraph_t graph, body;
		cudaGraphNode_t node, host;
		cudaGraphConditionalHandle handle;
		atomic_int counter = 0;
		struct cudaHostNodeParams one = { add_one, &counter };
		struct cudaGraphNodeParams p = { .type = cudaGraphNodeTypeConditional };
		(void)host, (void)one;
		CHECK_OK(cudaGraphCreate(&graph, 0));
		CHECK_OK(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault));
		p.conditional.handle = handle;
		p.conditional.type = cudaGraphCondTypeIf;
		p.conditional.size = 1;
		CHECK_OK(cudaGraphAddNode_v2(&node, graph, NULL, NULL, 0, &p));
		body = p.conditional.phGraph_out[0];
		CHECK(body != NULL);
		unsigned amount = 1;
		void *arguments[] = { &memory, &amount };
		struct cudaKernelNodeParams kernel = { .func = other, .gridDim = { 1, 1, 1 }, .blockDim = { 1, 1, 1 },
						       .kernelParams = arguments };
		CHECK_OK(cudaGraphAddKernelNode(&host, body, NULL, 0, &kernel));
		set_word(0, 77);
		cudaGraphExec_t exec = instantiate(graph);
		run(exec);
		CHECK_INT(word(0), value ? 1 : 77);
		set_word(0, 77);
		run(exec);
		CHECK_INT(word(0), value ? 1 : 77);
		done(graph, exec);
	}
	CHECK_INT(cudaGraphConditionalHandleCreate(NULL, NULL, 0, 0), cudaErrorInvalidValue);
	cudaGetLastError();
}

int main(void)
{
	void **code = __cudaRegisterFatBinary(device_code_wrap(ptx));
	__cudaRegisterFunction(code, step, (char *)"step", "step", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(code, other, (char *)"other", "other", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(code, (char *)table, (char *)"table", "table", 0, 16, 0, 0);
	__cudaRegisterFatBinaryEnd(code);
	CHECK_OK(cudaMalloc((void **)&memory, 64));
	CHECK_OK(cudaStreamCreate(&stream));
	test_kernel_node();
	test_copy_node();
	test_symbol_nodes();
	test_set_node();
	test_host_node();
	test_child_node();
	test_event_nodes();
	test_memory_nodes();
	test_structure();
	test_any_node();
	test_executable();
	test_user_objects();
	test_conditions();
	CHECK_OK(cudaStreamDestroy(stream));
	CHECK_OK(cudaFree(memory));
	CHECK_INT(cudaGetLastError(), cudaSuccess);
	__cudaUnregisterFatBinary(code);
	return check_end();
}
