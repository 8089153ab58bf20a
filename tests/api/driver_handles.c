/* Arguments that mean nothing: NULL, small numbers, the program's own memory, handles of another kind, wild pointers. Every
 * function must say so by its status and leave everything as it was; none may crash. Expectations: CUDA Driver API reference
 * manual, "CUDA_ERROR_INVALID_HANDLE" and the functions' own pages. */
#define _GNU_SOURCE
#include <cuda.h>

#include <stdint.h>

#include "check.h"
#include "driver_kernels.h"

#define REFUSED(call) CHECK((call) != CUDA_SUCCESS)

static char own[4096];

static void try_stream(CUstream s)
{
	CUstreamCaptureStatus status;
	CUstreamAttrValue value = {{0}};
	CUgraph graph;
	CUevent event = NULL;
	unsigned flags;
	int number;
	unsigned long long id;

	REFUSED(cuStreamSynchronize(s));
	REFUSED(cuStreamQuery(s));
	REFUSED(cuStreamDestroy(s));
	REFUSED(cuStreamGetFlags(s, &flags));
	REFUSED(cuStreamGetPriority(s, &number));
	REFUSED(cuStreamGetId(s, &id));
	REFUSED(cuStreamIsCapturing(s, &status));
	REFUSED(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	REFUSED(cuStreamEndCapture(s, &graph));
	REFUSED(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
	REFUSED(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
	REFUSED(cuStreamCopyAttributes(s, s));
	REFUSED(cuStreamWaitEvent(s, event, 0));
	REFUSED(cuLaunchHostFunc(s, NULL, NULL));
	REFUSED(cuMemAllocAsync((CUdeviceptr *)own, 16, s));
	REFUSED(cuMemsetD8Async((CUdeviceptr)16, 0, 1, s));
	REFUSED(cuMemcpyHtoDAsync((CUdeviceptr)16, own, 1, s));
	REFUSED(cuStreamAttachMemAsync(s, (CUdeviceptr)16, 0, 1));
}

static void try_event(CUevent e)
{
	CUipcEventHandle handle;
	float ms;

	REFUSED(cuEventRecord(e, NULL));
	REFUSED(cuEventQuery(e));
	REFUSED(cuEventSynchronize(e));
	REFUSED(cuEventElapsedTime(&ms, e, e));
	REFUSED(cuStreamWaitEvent(NULL, e, 0));
	REFUSED(cuIpcGetEventHandle(&handle, e));
	REFUSED(cuEventDestroy(e));
}

static void try_code(void *h)
{
	void *parameters[4] = {own, own, own, own};
	CUdeviceptr pointer;
	CUfunction function;
	CUkernel kernel;
	CUmodule module;
	const char *name;
	size_t size;
	unsigned count;
	int value;

	REFUSED(cuModuleUnload(h));
	REFUSED(cuModuleGetFunction(&function, h, "add"));
	REFUSED(cuModuleGetGlobal(&pointer, &size, h, "counter"));
	REFUSED(cuModuleGetFunctionCount(&count, h));
	REFUSED(cuModuleEnumerateFunctions(&function, 1, h));
	REFUSED(cuLibraryUnload(h));
	REFUSED(cuLibraryGetKernel(&kernel, h, "add"));
	REFUSED(cuLibraryGetModule(&module, h));
	REFUSED(cuLibraryGetGlobal(&pointer, &size, h, "counter"));
	REFUSED(cuLibraryGetKernelCount(&count, h));
	REFUSED(cuKernelGetFunction(&function, h));
	REFUSED(cuKernelGetName(&name, h));
	REFUSED(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, h, 0));
	REFUSED(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, h));
	REFUSED(cuFuncSetAttribute(h, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
	REFUSED(cuFuncSetCacheConfig(h, CU_FUNC_CACHE_PREFER_L1));
	REFUSED(cuFuncGetModule(&module, h));
	REFUSED(cuFuncGetName(&name, h));
	REFUSED(cuFuncLoad(h));
	REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, h, 32, 0));
	REFUSED(cuLaunchKernel(h, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	REFUSED(cuLinkComplete(h, (void **)own, &size));
	REFUSED(cuLinkDestroy(h));
}

static void try_memory(void *h)
{
	CUmemAllocationProp properties;
	CUDA_ARRAY_DESCRIPTOR descriptor;
	CUDA_RESOURCE_DESC resource;
	CUmemPoolProps pool_properties;
	cuuint64_t value = 0;
	CUarray array;
	CUdeviceptr pointer = (CUdeviceptr)(uintptr_t)h;

	(void)pool_properties;
	if (pointer)
		REFUSED(cuMemFree(pointer));
	if (h)
		REFUSED(cuMemFreeHost(h));
	REFUSED(cuMemHostUnregister(h));
	REFUSED(cuMemGetAddressRange(NULL, NULL, pointer));
	REFUSED(cuPointerGetAttribute(own, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer));
	REFUSED(cuMemFreeAsync(pointer, NULL));
	REFUSED(cuArrayDestroy(h));
	REFUSED(cuArrayGetDescriptor(&descriptor, h));
	REFUSED(cuMipmappedArrayDestroy(h));
	REFUSED(cuMipmappedArrayGetLevel(&array, h, 0));
	REFUSED(cuMemPoolDestroy(h));
	REFUSED(cuMemPoolTrimTo(h, 0));
	REFUSED(cuMemPoolGetAttribute(h, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
	REFUSED(cuMemAllocFromPoolAsync(&pointer, 16, h, NULL));
	REFUSED(cuMemRelease((CUmemGenericAllocationHandle)(uintptr_t)h));
	REFUSED(cuMemGetAllocationPropertiesFromHandle(&properties, (CUmemGenericAllocationHandle)(uintptr_t)h));
	REFUSED(cuMemUnmap((CUdeviceptr)(uintptr_t)h, 1 << 21));
	REFUSED(cuMemAddressFree((CUdeviceptr)(uintptr_t)h, 1 << 21));
	REFUSED(cuIpcCloseMemHandle((CUdeviceptr)(uintptr_t)h));
	REFUSED(cuTexObjectGetResourceDesc(&resource, (CUtexObject)(uintptr_t)h));
	REFUSED(cuSurfObjectGetResourceDesc(&resource, (CUsurfObject)(uintptr_t)h));
}

static void try_graph(void *h)
{
	CUDA_KERNEL_NODE_PARAMS kernel = {0};
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec;
	CUgraphNode node;
	CUgraphNodeType type;
	CUgraph graph;
	size_t count = 0;

	REFUSED(cuGraphDestroy(h));
	REFUSED(cuGraphClone(&graph, h));
	REFUSED(cuGraphGetNodes(h, NULL, &count));
	REFUSED(cuGraphGetEdges(h, NULL, NULL, NULL, &count));
	REFUSED(cuGraphInstantiate(&exec, h, 0));
	REFUSED(cuGraphAddEmptyNode(&node, h, NULL, 0));
	REFUSED(cuGraphAddKernelNode(&node, h, NULL, 0, &kernel));
	REFUSED(cuGraphNodeGetType(h, &type));
	REFUSED(cuGraphDestroyNode(h));
	REFUSED(cuGraphKernelNodeGetParams(h, &kernel));
	REFUSED(cuGraphNodeGetDependencies(h, NULL, NULL, &count));
	REFUSED(cuGraphChildGraphNodeGetGraph(h, &graph));
	REFUSED(cuGraphLaunch(h, NULL));
	REFUSED(cuGraphExecDestroy(h));
	REFUSED(cuGraphExecUpdate(h, h, &info));
	REFUSED(cuGraphDebugDotPrint(h, "/dev/null", 0));
	REFUSED(cuUserObjectRelease(h, 1));
	REFUSED(cuGraphRetainUserObject(h, h, 1, 0));
	REFUSED(cuGreenCtxDestroy(h));
	REFUSED(cuCtxDestroy(h));
	REFUSED(cuCtxPushCurrent(h));
}

/* What functions write through must not be NULL. */
static void try_null_outputs(CUmodule module, CUfunction function)
{
	CUstream stream;
	CUevent event;

	CHECK_OK(cuStreamCreate(&stream, 0));
	CHECK_OK(cuEventCreate(&event, 0));
	REFUSED(cuDeviceGetCount(NULL));
	REFUSED(cuDeviceTotalMem(NULL, 0));
	REFUSED(cuDeviceGetUuid(NULL, 0));
	REFUSED(cuDriverGetVersion(NULL));
	REFUSED(cuCtxGetCurrent(NULL));
	REFUSED(cuCtxGetDevice(NULL));
	REFUSED(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
	REFUSED(cuMemGetInfo(NULL, NULL));
	REFUSED(cuMemHostAlloc(NULL, 16, 0));
	REFUSED(cuMemAllocManaged(NULL, 16, CU_MEM_ATTACH_GLOBAL));
	REFUSED(cuMemAllocAsync(NULL, 16, stream));
	REFUSED(cuStreamGetFlags(stream, NULL));
	REFUSED(cuStreamGetId(stream, NULL));
	REFUSED(cuEventCreate(NULL, 0));
	REFUSED(cuModuleGetFunction(NULL, module, "add"));
	REFUSED(cuModuleGetGlobal(NULL, NULL, module, NULL));
	REFUSED(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
	REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, function, 32, 0));
	REFUSED(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_CONTEXT, 0));
	REFUSED(cuPointerGetAttributes(1, NULL, NULL, 0));
	REFUSED(cuGraphCreate(NULL, 0));
	REFUSED(cuGetExportTable(NULL, NULL));
	REFUSED(cuMemcpy3D(NULL));
	REFUSED(cuArrayCreate(NULL, NULL));
	REFUSED(cuMemPoolCreate(NULL, NULL));
	REFUSED(cuTexObjectCreate(NULL, NULL, NULL, NULL));
	REFUSED(cuStreamBatchMemOp(stream, 1, NULL, 0));
	REFUSED(cuLaunchKernelEx(NULL, function, NULL, NULL));
	CHECK_OK(cuStreamDestroy(stream));
	CHECK_OK(cuEventDestroy(event));
}

int main(void)
{
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUdeviceptr p;
	void *wild[8];
	unsigned count = 0, value = 0;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunction(&function, module, "add"));
	CHECK_OK(cuMemAlloc(&p, 4));
	wild[count++] = (void *)3;
	wild[count++] = (void *)(uintptr_t)0x1000;
	wild[count++] = own;
	wild[count++] = (void *)(uintptr_t)UINTPTR_MAX;
	wild[count++] = (void *)((uintptr_t)function + 8);   /* inside a handle */
	wild[count++] = (void *)((uintptr_t)context + (1 << 19)); /* where there is none yet */
	for (unsigned i = 0; i < count; i++) {
		try_stream(wild[i]);
		try_event(wild[i]);
		try_code(wild[i]);
		try_memory(wild[i]);
		try_graph(wild[i]);
	}
	/* Handles of other kinds. */
	try_stream((CUstream)function);
	try_stream((CUstream)context);
	try_event((CUevent)module);
	try_graph(module);
	try_code(context);
	try_memory(module);
	try_event(NULL);
	try_code(NULL);
	try_graph(NULL);
	try_memory(NULL);
	try_null_outputs(module, function);
	/* Everything is as it was. */
	void *parameters[] = {&p, (unsigned[]){9}};
	CHECK_OK(cuMemsetD32(p, 1, 1));
	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	CHECK_OK(cuMemcpyDtoH(&value, p, 4));
	CHECK_INT(value, 10);
	CHECK_OK(cuMemFree(p));
	CHECK_OK(cuModuleUnload(module));
	CHECK_OK(cuCtxDestroy(context));
	return check_end();
}
