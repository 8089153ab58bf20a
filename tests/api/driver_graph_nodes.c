/* What nodes are made with, what they say of it, and how it is changed before a graph is instantiated; edges and their data;
 * attributes of kernel nodes. Expectations: CUDA Driver API reference manual, "Graph Management"; edge data as cards of compute
 * capability below 9.0 take it. */
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stdatomic.h>

#include "check.h"
#include "driver_kernels.h"

static CUcontext context;
static CUfunction add, multiply;
static CUdeviceptr cell;
static CUstream stream;
static atomic_int host_calls, destroyed;

static void count_up(void *step)
{
	atomic_fetch_add(&host_calls, (int)(size_t)step);
}

static void count_destroyed(void *step)
{
	atomic_fetch_add(&destroyed, (int)(size_t)step);
}

static void run(CUgraph graph)
{
	CUgraphExec exec;

	CHECK_OK(cuMemsetD32_v2(cell, 0, 1));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuGraphExecDestroy(exec));
}

static unsigned read_cell(void)
{
	unsigned value = 0;

	CHECK_OK(cuMemcpyDtoH_v2(&value, cell, 4));
	return value;
}

static CUDA_KERNEL_NODE_PARAMS_v1 kernel(CUfunction function, void **parameters)
{
	return (CUDA_KERNEL_NODE_PARAMS_v1){.func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
					    .blockDimY = 1, .blockDimZ = 1, .kernelParams = parameters};
}

/* Kernel nodes by version 1 and 2 of the functions: the second has a context and a CUkernel. */
static void test_kernels(void)
{
	unsigned value = 4;
	void *parameters[] = {&cell, &value};
	CUDA_KERNEL_NODE_PARAMS_v1 plus = kernel(add, parameters), old;
	CUDA_KERNEL_NODE_PARAMS full = {0}, got;
	CUgraphNode a, b;
	CUgraph graph;

	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddKernelNode(&a, graph, NULL, 0, &plus));
	CHECK_INT(cuGraphAddKernelNode(&a, graph, NULL, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	value = 5;
	memcpy(&full, &plus, sizeof plus);
	full.ctx = context;
	CHECK_OK(cuGraphAddKernelNode_v2(&b, graph, &a, 1, &full));
	CHECK_OK(cuGraphKernelNodeGetParams(a, &old));
	CHECK(old.func == add && old.gridDimX == 1 && *(unsigned *)old.kernelParams[1] == 4 && !old.extra);
	CHECK_OK(cuGraphKernelNodeGetParams_v2(b, &got));
	CHECK(got.func == add && got.ctx == context && *(unsigned *)got.kernelParams[1] == 5);
	CHECK_INT(cuGraphKernelNodeGetParams(a, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphKernelNodeGetParams((CUgraphNode)graph, &old), CUDA_ERROR_INVALID_VALUE);
	run(graph);
	CHECK_INT(read_cell(), 9);
	value = 20;
	CHECK_OK(cuGraphKernelNodeSetParams(a, &plus));
	full.func = multiply;
	value = 3;
	CHECK_OK(cuGraphKernelNodeSetParams_v2(b, &full)); /* another function of the same context */
	CHECK_INT(cuGraphKernelNodeSetParams(a, NULL), CUDA_ERROR_INVALID_VALUE);
	full.blockDimX = 1025;
	CHECK_INT(cuGraphKernelNodeSetParams_v2(b, &full), CUDA_ERROR_INVALID_VALUE); /* and nothing changes */
	run(graph);
	CHECK_INT(read_cell(), 60);
	CHECK_OK(cuGraphDestroy(graph));
}

static void test_copies_and_fills(void)
{
	CUDA_MEMSET_NODE_PARAMS fill = {.dst = cell, .value = 0x1234, .elementSize = 2, .width = 2, .height = 1}, fill_got;
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .dstMemoryType = CU_MEMORYTYPE_HOST, .WidthInBytes = 4, .Height = 1,
			      .Depth = 1}, copy_got;
	CUDA_HOST_NODE_PARAMS host = {count_up, (void *)3}, host_got;
	CUgraphNode a, b, c;
	unsigned out[2] = {0};
	CUgraph graph;

	copy.srcDevice = cell;
	copy.dstHost = &out[0];
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &fill, context));
	CHECK_OK(cuGraphAddMemcpyNode(&b, graph, &a, 1, &copy, context));
	CHECK_OK(cuGraphAddHostNode(&c, graph, &b, 1, &host));
	CHECK_OK(cuGraphMemsetNodeGetParams(a, &fill_got));
	CHECK(fill_got.dst == cell && fill_got.value == 0x1234 && fill_got.elementSize == 2 && fill_got.width == 2);
	CHECK_OK(cuGraphMemcpyNodeGetParams(b, &copy_got));
	CHECK(copy_got.srcDevice == cell && copy_got.dstHost == &out[0] && copy_got.WidthInBytes == 4);
	CHECK_OK(cuGraphHostNodeGetParams(c, &host_got));
	CHECK(host_got.fn == count_up && host_got.userData == (void *)3);
	atomic_store(&host_calls, 0);
	run(graph);
	CHECK_INT(out[0], 0x12341234);
	CHECK_INT(atomic_load(&host_calls), 3);
	fill.value = 0xabcdef01;
	fill.elementSize = 4;
	fill.width = 1;
	CHECK_OK(cuGraphMemsetNodeSetParams(a, &fill));
	copy.dstHost = &out[1];
	CHECK_OK(cuGraphMemcpyNodeSetParams(b, &copy));
	host.userData = (void *)50;
	CHECK_OK(cuGraphHostNodeSetParams(c, &host));
	run(graph);
	CHECK_INT(out[1], 0xabcdef01);
	CHECK_INT(atomic_load(&host_calls), 53);
	/* Wrong: an element of three bytes, no rows, nothing to call, a node of another type, no node at all. */
	fill.elementSize = 3;
	CHECK_INT(cuGraphMemsetNodeSetParams(a, &fill), CUDA_ERROR_INVALID_VALUE);
	copy.Height = 0;
	CHECK_INT(cuGraphMemcpyNodeSetParams(b, &copy), CUDA_ERROR_INVALID_VALUE);
	host.fn = NULL;
	CHECK_INT(cuGraphHostNodeSetParams(c, &host), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphMemsetNodeGetParams(b, &fill_got), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphMemcpyNodeGetParams(a, &copy_got), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphHostNodeGetParams(a, &host_got), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphMemcpyNodeGetParams(NULL, &copy_got), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphMemsetNodeGetParams(a, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphDestroy(graph));
}

static void test_events_and_batches(void)
{
	CUstreamBatchMemOpParams operations[2] = {{.writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, 0, {0}, 0, 0}},
						  {.waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, 0, {0}, CU_STREAM_WAIT_VALUE_EQ, 0}}};
	CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {context, 2, operations, 0}, got;
	CUgraphNode record, wait, write;
	CUevent event, other, found = NULL;
	CUgraph graph;

	operations[0].writeValue.address = operations[1].waitValue.address = cell;
	operations[0].writeValue.value = operations[1].waitValue.value = 77;
	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuEventCreate(&other, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddEventRecordNode(&record, graph, NULL, 0, event));
	CHECK_OK(cuGraphAddEventWaitNode(&wait, graph, &record, 1, event));
	CHECK_OK(cuGraphAddBatchMemOpNode(&write, graph, &wait, 1, &batch));
	CHECK_INT(cuGraphAddEventRecordNode(&record, graph, NULL, 0, NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuGraphEventRecordNodeGetEvent(record, &found));
	CHECK(found == event);
	CHECK_OK(cuGraphEventRecordNodeSetEvent(record, other));
	CHECK_OK(cuGraphEventRecordNodeGetEvent(record, &found));
	CHECK(found == other);
	CHECK_OK(cuGraphEventWaitNodeSetEvent(wait, other));
	CHECK_OK(cuGraphEventWaitNodeGetEvent(wait, &found));
	CHECK(found == other);
	CHECK_INT(cuGraphEventWaitNodeGetEvent(record, &found), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphEventRecordNodeGetEvent(wait, &found), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphEventWaitNodeSetEvent(wait, NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuGraphBatchMemOpNodeGetParams(write, &got));
	CHECK(got.count == 2 && got.ctx == context && got.paramArray != operations && got.paramArray[0].writeValue.value == 77);
	run(graph);
	CHECK_INT(read_cell(), 77);
	operations[0].writeValue.value = 78;
	batch.count = 1;
	CHECK_OK(cuGraphBatchMemOpNodeSetParams(write, &batch));
	run(graph);
	CHECK_INT(read_cell(), 78);
	operations[0].operation = (CUstreamBatchMemOpType)99;
	CHECK_INT(cuGraphBatchMemOpNodeSetParams(write, &batch), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphBatchMemOpNodeSetParams(write, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphBatchMemOpNodeGetParams(wait, &got), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuEventDestroy_v2(event));
	CHECK_OK(cuEventDestroy_v2(other));
}

/* Memory that a graph allocates: what the device says of it, before, while it is there, and after. */
static void test_memory(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS request = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}, .bytesize = 1 << 20}, got;
	CUDA_MEMSET_NODE_PARAMS fill = {.value = 9, .elementSize = 1, .width = 1 << 20, .height = 1};
	cuuint64_t used = 99, high = 99, reserved = 99, zero = 0;
	CUgraphNode allocate, release, node;
	CUdeviceptr pointer = 0;
	CUgraphExec exec;
	CUgraph graph;

	CHECK_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	CHECK_INT(used, 0);
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddMemAllocNode(&allocate, graph, NULL, 0, &request));
	CHECK(request.dptr);
	CHECK_OK(cuGraphMemAllocNodeGetParams(allocate, &got));
	CHECK(got.dptr == request.dptr && got.bytesize == 1 << 20);
	fill.dst = request.dptr;
	CHECK_OK(cuGraphAddMemsetNode(&node, graph, &allocate, 1, &fill, context));
	CHECK_OK(cuGraphAddMemFreeNode(&release, graph, &node, 1, request.dptr));
	CHECK_OK(cuGraphMemFreeNodeGetParams(release, &pointer));
	CHECK(pointer == request.dptr);
	CHECK_INT(cuGraphMemFreeNodeGetParams(allocate, &pointer), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphMemAllocNodeGetParams(release, &got), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphMemAllocNodeGetParams(allocate, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphAddMemFreeNode(&node, graph, NULL, 0, cell), CUDA_ERROR_INVALID_VALUE); /* not a graph's */
	CHECK_INT(cuGraphDestroyNode(allocate), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	CHECK_INT(used, 0);
	CHECK_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high));
	CHECK_INT(high, 1 << 20);
	CHECK_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
	CHECK(reserved >= 1 << 20);
	CHECK_OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
	CHECK_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high));
	CHECK_INT(high, 0);
	CHECK_INT(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)9, &high), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDeviceGetGraphMemAttribute(99, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high), CUDA_ERROR_INVALID_DEVICE);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuDeviceGraphMemTrim(0));
	CHECK_INT(cuDeviceGraphMemTrim(-1), CUDA_ERROR_INVALID_DEVICE);
	CHECK_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
	CHECK_INT(reserved, 0);
}

/* Edges by both versions: with data where a kernel launches programmatically dependent ones, which plain queries would lose. */
static void test_edges(void)
{
	unsigned value = 1;
	void *parameters[] = {&cell, &value};
	CUDA_KERNEL_NODE_PARAMS_v1 plus = kernel(add, parameters);
	CUgraphEdgeData order = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER}, data[4], wrong = {.from_port = 7};
	CUgraphNodeParams empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	CUgraphNode a, b, c, d, from[4], to[4];
	CUgraph graph;
	size_t count;

	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddKernelNode(&a, graph, NULL, 0, &plus));
	CHECK_OK(cuGraphAddKernelNode(&b, graph, NULL, 0, &plus));
	CHECK_OK(cuGraphAddNode(&c, graph, &b, 1, &empty));
	CHECK_INT(cuGraphAddNode(&d, graph, &b, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphAddDependencies(graph, &a, &b, 1));
	CHECK_INT(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphAddDependencies(graph, &c, &a, 1), CUDA_ERROR_INVALID_VALUE); /* a circle */
	CHECK_INT(cuGraphAddDependencies(graph, (CUgraphNode[]){a, c}, (CUgraphNode[]){c, a}, 2), CUDA_ERROR_INVALID_VALUE);
	count = 4;
	CHECK_OK(cuGraphGetEdges(graph, from, to, &count)); /* the list above was all or nothing */
	CHECK(count == 2 && from[0] == a && to[0] == b && from[1] == b && to[1] == c && !from[2] && !to[3]);
	count = 4;
	CHECK_OK(cuGraphNodeGetDependencies(c, from, &count));
	CHECK(count == 1 && from[0] == b);
	count = 4;
	CHECK_OK(cuGraphNodeGetDependentNodes(a, from, &count));
	CHECK(count == 1 && from[0] == b && !from[1]);
	CHECK_OK(cuGraphNodeGetDependentNodes(c, NULL, &count));
	CHECK_INT(count, 0);
	CHECK_INT(cuGraphGetEdges(graph, from, NULL, &count), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphGetEdges(graph, from, to, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphRemoveDependencies(graph, &a, &b, 1));
	CHECK_INT(cuGraphRemoveDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphAddDependencies_v2(graph, &a, &b, &wrong, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphAddDependencies_v2(graph, &c, &a, &order, 1), CUDA_ERROR_INVALID_VALUE); /* not from a kernel */
	CHECK_OK(cuGraphAddDependencies_v2(graph, &a, &b, &order, 1));
	count = 4;
	CHECK_INT(cuGraphGetEdges(graph, from, to, &count), CUDA_ERROR_LOSSY_QUERY);
	CHECK_INT(cuGraphNodeGetDependentNodes(a, from, &count), CUDA_ERROR_LOSSY_QUERY);
	CHECK_INT(cuGraphNodeGetDependencies(b, from, &count), CUDA_ERROR_LOSSY_QUERY);
	count = 4;
	CHECK_OK(cuGraphNodeGetDependentNodes_v2(a, to, data, &count));
	CHECK(count == 1 && to[0] == b && data[0].from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
	count = 4;
	CHECK_OK(cuGraphNodeGetDependencies_v2(b, from, data, &count));
	CHECK(count == 1 && from[0] == a && data[0].from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
	count = 1;
	CHECK_OK(cuGraphGetEdges_v2(graph, from, to, data, &count)); /* no more than there is room for */
	CHECK(count == 1 && from[0] == a && data[0].from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
	CHECK_OK(cuGraphAddNode_v2(&d, graph, &b, &order, 1, &empty));
	run(graph);
	CHECK_INT(read_cell(), 2);
	CHECK_OK(cuGraphRemoveDependencies_v2(graph, &a, &b, &order, 1));
	count = 0;
	CHECK_OK(cuGraphNodeGetDependencies_v2(b, NULL, NULL, &count));
	CHECK_INT(count, 0);
	CHECK_OK(cuGraphDestroy(graph));
}

static void test_attributes(void)
{
	unsigned value = 1;
	void *parameters[] = {&cell, &value};
	CUDA_KERNEL_NODE_PARAMS_v1 plus = kernel(add, parameters);
	CUkernelNodeAttrValue set = {.cooperative = 1}, got;
	CUDA_HOST_NODE_PARAMS host = {count_up, (void *)1};
	CUgraphNode a, b, c;
	CUgraph graph;

	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddKernelNode(&a, graph, NULL, 0, &plus));
	CHECK_OK(cuGraphAddKernelNode(&b, graph, &a, 1, &plus));
	CHECK_OK(cuGraphAddHostNode(&c, graph, &b, 1, &host));
	CHECK_OK(cuGraphKernelNodeGetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
	CHECK_INT(got.cooperative, 0);
	CHECK_OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &set));
	set = (CUkernelNodeAttrValue){.priority = -3};
	CHECK_OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &set));
	CHECK_OK(cuGraphKernelNodeCopyAttributes(b, a));
	CHECK_OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
	CHECK_INT(got.cooperative, 1);
	CHECK_OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got));
	CHECK_INT(got.priority, -3);
	run(graph);
	CHECK_INT(read_cell(), 2);
	set.clusterDim.x = set.clusterDim.y = set.clusterDim.z = 1;
	CHECK_OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &set));
	CHECK_INT(cuGraphKernelNodeSetAttribute(a, (CUkernelNodeAttrID)999, &set), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphKernelNodeGetAttribute(a, (CUkernelNodeAttrID)999, &got), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphKernelNodeSetAttribute(c, CU_LAUNCH_ATTRIBUTE_PRIORITY, &set), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphKernelNodeCopyAttributes(c, a), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphDestroy(graph));
}

/* The generic function changes whatever type the node is of, and refuses another. */
static void test_generic(void)
{
	CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_MEMSET}, host = {.type = CU_GRAPH_NODE_TYPE_HOST};
	CUgraphNode a, b, c;
	CUgraph graph;

	parameters.memset = (CUDA_MEMSET_NODE_PARAMS_v2){.dst = cell, .value = 5, .elementSize = 4, .width = 1, .height = 1, .ctx = context};
	host.host = (CUDA_HOST_NODE_PARAMS_v2){count_up, (void *)1};
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddNode(&a, graph, NULL, 0, &parameters));
	CHECK_OK(cuGraphAddNode(&b, graph, &a, 1, &host));
	run(graph);
	CHECK_INT(read_cell(), 5);
	parameters.memset.value = 6;
	CHECK_OK(cuGraphNodeSetParams(a, &parameters));
	CHECK_INT(cuGraphNodeSetParams(b, &parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphNodeSetParams(a, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphNodeSetParams(NULL, &parameters), CUDA_ERROR_INVALID_VALUE);
	run(graph);
	CHECK_INT(read_cell(), 6);
	parameters.type = (CUgraphNodeType)99;
	CHECK_INT(cuGraphAddNode(&c, graph, NULL, 0, &parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphDestroy(graph));
}

/* A child graph is the node's own: a clone, which does what the graph did when the node was added. */
static void test_children(void)
{
	CUgraphNodeParams five = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
	CUgraph graph, child, own = NULL;
	CUgraphNode node, inner, other;
	size_t count = 0;

	five.memset = (CUDA_MEMSET_NODE_PARAMS_v2){.dst = cell, .value = 5, .elementSize = 4, .width = 1, .height = 1, .ctx = context};
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphCreate(&child, 0));
	CHECK_OK(cuGraphAddNode(&inner, child, NULL, 0, &five));
	CHECK_OK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
	five.memset.value = 6;
	CHECK_OK(cuGraphNodeSetParams(inner, &five)); /* too late for the node */
	CHECK_OK(cuGraphChildGraphNodeGetGraph(node, &own));
	CHECK(own && own != child);
	CHECK_OK(cuGraphGetNodes(own, NULL, &count));
	CHECK_INT(count, 1);
	run(graph);
	CHECK_INT(read_cell(), 5);
	count = 1;
	CHECK_OK(cuGraphGetNodes(own, &other, &count));
	CHECK_OK(cuGraphNodeSetParams(other, &five)); /* but that is the node's */
	run(graph);
	CHECK_INT(read_cell(), 6);
	CHECK_INT(cuGraphChildGraphNodeGetGraph(inner, &own), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphChildGraphNodeGetGraph(node, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuGraphDestroy(own), CUDA_ERROR_INVALID_VALUE); /* it goes with the node */
	CHECK_OK(cuGraphDestroy(child));
	CHECK_OK(cuGraphDestroy(graph));
}

/* An object lives as long as anybody has a reference: the program, a graph, an executable graph. */
static void test_user_objects(void)
{
	CUuserObject object;
	CUgraphExec exec;
	CUgraph graph;

	atomic_store(&destroyed, 0);
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_INT(cuUserObjectCreate(&object, NULL, count_destroyed, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuUserObjectCreate(&object, (void *)1, count_destroyed, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	CHECK_OK(cuUserObjectRetain(object, 2));
	CHECK_INT(cuUserObjectRetain(object, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphRetainUserObject(graph, object, 2, CU_GRAPH_USER_OBJECT_MOVE)); /* of three, one is left */
	CHECK_OK(cuGraphReleaseUserObject(graph, object, 1));
	CHECK_INT(cuGraphReleaseUserObject(graph, object, 2), CUDA_ERROR_INVALID_VALUE); /* it has one */
	CHECK_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK_OK(cuUserObjectRelease(object, 1));
	CHECK_INT(atomic_load(&destroyed), 0);
	CHECK_OK(cuGraphReleaseUserObject(graph, object, 1));
	CHECK_INT(cuGraphReleaseUserObject(graph, object, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(atomic_load(&destroyed), 0); /* the executable graph's */
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_INT(atomic_load(&destroyed), 1);
	CHECK_INT(cuUserObjectRetain(object, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphDestroy(graph));
}

int main(void)
{
	CUmodule module = kernels_begin(&context);

	add = kernels_get(module, "add");
	multiply = kernels_get(module, "multiply");
	CHECK_OK(cuMemAlloc_v2(&cell, 4));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	test_kernels();
	test_copies_and_fills();
	test_events_and_batches();
	test_memory();
	test_edges();
	test_attributes();
	test_generic();
	test_children();
	test_user_objects();
	CHECK_OK(cuCtxDestroy_v2(context));
	return check_end();
}
