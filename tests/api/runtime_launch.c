/* Kernels and variables as compiled programs register them, launches in both the CUDA 12 and the CUDA 13 way, launch
 * errors, kernel attributes, occupancy, and kernel nodes of graphs. The device code is PTX in a fat binary made here.
 * Expectations: CUDA Runtime API reference manual; error numbers as on hardware (9 for a bad configuration, 1 for too much
 * shared memory, 13 for what is no symbol, 98 for what is no kernel). For libcudart.so.13 and libcudart.so.12. */
#include <cuda_runtime_api.h>

#include <stdint.h>

#include "check.h"
#include "device_code.h"

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 5;\n"
	".visible .const .align 4 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0};\n"
	".extern .shared .align 4 .b8 dynamic[];\n"
	/* out[global thread index] = value + table[1] */
	".visible .entry fill(.param .u64 out, .param .u32 value)\n{\n"
	"  .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
	"  ld.param.u64 %d1, [out]; ld.param.u32 %r1, [value];\n"
	"  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"  cvta.to.global.u64 %d1, %d1; mul.wide.u32 %d2, %r5, 4; add.s64 %d3, %d1, %d2;\n"
	"  ld.const.u32 %r6, [table+4]; add.s32 %r7, %r1, %r6;\n"
	"  st.global.u32 [%d3], %r7; ret;\n}\n"
	/* counter += 1, by every thread */
	".visible .entry count()\n.maxntid 128, 1, 1\n{\n"
	"  .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
	"  mov.u64 %d1, counter; cvta.global.u64 %d1, %d1; atom.add.u32 %r1, [%d1], 1; ret;\n}\n"
	/* out[0] = the thread index of the last thread, by way of dynamic shared memory */
	".visible .entry last(.param .u64 out)\n{\n"
	"  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<2>;\n"
	"  mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, dynamic; shl.b32 %r4, %r1, 2; add.u32 %r4, %r3, %r4;\n"
	"  st.shared.u32 [%r4], %r1; bar.sync 0;\n"
	"  setp.ne.u32 %p, %r1, 0; @%p bra DONE;\n"
	"  sub.u32 %r5, %r2, 1; shl.b32 %r5, %r5, 2; add.u32 %r5, %r3, %r5; ld.shared.u32 %r6, [%r5];\n"
	"  ld.param.u64 %d1, [out]; st.global.u32 [%d1], %r6;\n"
	"DONE:\n  ret;\n}\n";

/* What stand for the kernels and variables on the host: only their addresses matter. */
static char fill[1], count[1], last[1], missing[1], unregistered[1];
static unsigned counter;
static unsigned table[4];
static void **handle;

static void register_code(void)
{
	handle = __cudaRegisterFatBinary(device_code_wrap(ptx));
	__cudaRegisterFunction(handle, fill, (char *)"fill", "fill", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(handle, count, (char *)"count", "count", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(handle, last, (char *)"last", "last", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(handle, missing, (char *)"missing", "missing", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(handle, (char *)&counter, (char *)"counter", "counter", 0, 4, 0, 0);
	__cudaRegisterVar(handle, (char *)table, (char *)"table", "table", 0, 16, 1, 0);
	__cudaRegisterFatBinaryEnd(handle);
}

static const dim3 one = { 1, 1, 1 };

static dim3 line(unsigned x)
{
	return (dim3){ x, 1, 1 };
}

static unsigned counted(void)
{
	unsigned value = 0;
	CHECK_OK(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost));
	return value;
}

static void test_launch(void)
{
	unsigned out[96], value = 40, seven = 7;
	void *memory;
	CHECK_OK(cudaMalloc(&memory, sizeof out));
	CHECK_OK(cudaMemset(memory, 0, sizeof out));
	void *arguments[] = { &memory, &value };
	CHECK_OK(cudaLaunchKernel(fill, line(2), line(32), arguments, 0, NULL));
	CHECK_OK(cudaMemcpy(out, memory, sizeof out, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 96; i++)
		CHECK_INT(out[i], i < 64 ? 42 : 0);
	CHECK_OK(cudaMemcpyToSymbol(table, &seven, 4, 4, cudaMemcpyHostToDevice));
	CHECK_OK(cudaLaunchKernel(fill, one, one, arguments, 0, NULL));
	CHECK_OK(cudaMemcpy(out, memory, 8, cudaMemcpyDeviceToHost));
	CHECK_INT(out[0], 47);
	CHECK_INT(out[1], 42);

	/* As <<<>>> does it: push, and the host stub pops; nested once. */
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
	CHECK_OK(__cudaPushCallConfiguration(line(3), line(4), 5, NULL));
	CHECK_OK(__cudaPushCallConfiguration(line(6), line(7), 8, cudaStreamPerThread));
	CHECK_OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	CHECK(grid.x == 6 && block.x == 7 && shared == 8 && stream == cudaStreamPerThread);
	CHECK_OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	CHECK(grid.x == 3 && block.x == 4 && shared == 5 && stream == NULL);
	CHECK_INT(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
	cudaGetLastError();

	/* CUDA 13's way: a handle once, then launches by it. */
	cudaKernel_t kernel = NULL;
	value = 100;
	CHECK_OK(__cudaGetKernel(&kernel, fill));
	CHECK_OK(__cudaLaunchKernel(kernel, one, one, arguments, 0, NULL));
	CHECK_OK(cudaMemcpy(out, memory, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(out[0], 107);
	CHECK_OK(cudaGetKernel(&kernel, fill));
	value = 200;
	CHECK_OK(cudaLaunchKernel((const void *)kernel, one, one, arguments, 0, NULL));
	CHECK_OK(cudaMemcpy(out, memory, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(out[0], 207);
	CHECK_OK(cudaFree(memory));
}

static void test_launch_errors(void)
{
	const void *kernel = count;
	unsigned before = counted();
	CHECK_INT(cudaLaunchKernel(kernel, one, line(1025), NULL, 0, NULL), cudaErrorInvalidConfiguration);
	CHECK_INT(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
	CHECK_OK(cudaDeviceSynchronize()); /* does not clear it */
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidConfiguration);
	CHECK_INT(cudaGetLastError(), cudaSuccess);
	CHECK_INT(cudaLaunchKernel(kernel, line(0), one, NULL, 0, NULL), cudaErrorInvalidConfiguration);
	CHECK_INT(cudaLaunchKernel(kernel, one, line(0), NULL, 0, NULL), cudaErrorInvalidConfiguration);
	CHECK_INT(cudaLaunchKernel(kernel, one, (dim3){ 1, 1, 65 }, NULL, 0, NULL), cudaErrorInvalidConfiguration);
	CHECK_INT(cudaLaunchKernel(kernel, (dim3){ 1, 65536, 1 }, one, NULL, 0, NULL), cudaErrorInvalidConfiguration);
	CHECK_INT(cudaLaunchKernel(kernel, one, (dim3){ 32, 33, 1 }, NULL, 0, NULL), cudaErrorInvalidConfiguration);
	CHECK_INT(cudaLaunchKernel(kernel, one, one, NULL, 1 << 20, NULL), cudaErrorInvalidValue);
	CHECK(cudaLaunchKernel(kernel, one, line(256), NULL, 0, NULL) != cudaSuccess); /* over .maxntid */
	CHECK_INT(cudaLaunchKernel(unregistered, one, one, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
	CHECK_INT(cudaLaunchKernel(missing, one, one, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
	CHECK_INT(cudaLaunchKernel(NULL, one, one, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
	CHECK_INT(cudaLaunchKernel(kernel, one, one, NULL, 0, (cudaStream_t)(void *)&before), cudaErrorInvalidResourceHandle);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidResourceHandle);
	CHECK_OK(cudaLaunchKernel(kernel, line(2), line(64), NULL, 0, NULL));
	CHECK_INT(counted(), before + 128); /* the one good launch and none of the others */
}

static void test_symbols(void)
{
	unsigned values[4] = { 10, 20, 30, 40 }, back[4] = { 0 };
	size_t size = 0;
	void *address = NULL, *local = NULL;
	int not_a_symbol = 0;
	CHECK_OK(cudaGetSymbolSize(&size, table));
	CHECK_INT(size, 16);
	CHECK_OK(cudaGetSymbolAddress(&address, &counter));
	CHECK(address != NULL);
	CHECK_OK(cudaMemset(address, 0, 4));
	CHECK_INT(counted(), 0);
	CHECK_OK(cudaMemcpyToSymbol(table, values, 16, 0, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemcpyFromSymbol(back, table, 8, 8, cudaMemcpyDeviceToHost));
	CHECK(back[0] == 30 && back[1] == 40 && back[2] == 0);
	CHECK_INT(cudaMemcpyToSymbol(table, values, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_INT(cudaMemcpyToSymbol(table, values, 4, SIZE_MAX, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_INT(cudaMemcpyToSymbol(table, values, 4, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
	CHECK_INT(cudaMemcpyToSymbol(&not_a_symbol, values, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
	CHECK_INT(cudaGetSymbolAddress(&local, NULL), cudaErrorInvalidSymbol);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidSymbol);
}

static void test_attributes(void)
{
	struct cudaFuncAttributes attributes;
	const char *name = NULL;
	size_t offset = 0, size = 0, shared = 0;
	int blocks = -1;
	CHECK_OK(cudaFuncGetAttributes(&attributes, count));
	CHECK_INT(attributes.maxThreadsPerBlock, 128);
	CHECK_INT(attributes.sharedSizeBytes, 0);
	CHECK_OK(cudaFuncGetAttributes(&attributes, fill));
	CHECK_INT(attributes.maxThreadsPerBlock, 1024);
	CHECK_INT(attributes.ptxVersion, 80); /* the target that it was compiled for */
	CHECK_INT(cudaFuncGetAttributes(&attributes, unregistered), cudaErrorInvalidDeviceFunction);
	CHECK_OK(cudaFuncGetName(&name, fill));
	CHECK_TEXT(name, "fill");
	CHECK_OK(cudaFuncGetParamInfo(fill, 1, &offset, &size));
	CHECK_INT(offset, 8);
	CHECK_INT(size, 4);
	CHECK_INT(cudaFuncGetParamInfo(fill, 2, &offset, &size), cudaErrorInvalidValue);
	CHECK_OK(cudaFuncSetCacheConfig(fill, cudaFuncCachePreferShared));
	CHECK_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 1024, 0));
	CHECK(blocks >= 1);
	CHECK_OK(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, fill, 1, 128));
	CHECK_INT(shared, 49152);

	/* More dynamic shared memory than 48 KiB has to be asked for. */
	unsigned out = 0;
	void *memory;
	CHECK_OK(cudaMalloc(&memory, 4));
	void *arguments[] = { &memory };
	CHECK_OK(cudaLaunchKernel(last, one, line(256), arguments, 1024, NULL));
	CHECK_OK(cudaMemcpy(&out, memory, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(out, 255);
	CHECK_INT(cudaLaunchKernel(last, one, line(64), arguments, 60000, NULL), cudaErrorInvalidValue);
	CHECK_OK(cudaFuncSetAttribute(last, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
	CHECK_OK(cudaLaunchKernel(last, one, line(64), arguments, 60000, NULL));
	CHECK_OK(cudaMemcpy(&out, memory, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(out, 63);
	CHECK_INT(cudaFuncSetAttribute(last, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 24),
		  cudaErrorInvalidValue);
	cudaGetLastError();
	CHECK_OK(cudaFree(memory));
}

static void test_ex(void)
{
	cudaLaunchAttribute attribute = { .id = cudaLaunchAttributeCooperative, .val = { .cooperative = 1 } };
	cudaLaunchConfig_t config = { .gridDim = { 1, 1, 1 }, .blockDim = { 32, 1, 1 }, .attrs = &attribute, .numAttrs = 1 };
	unsigned before = counted();
	CHECK_OK(cudaLaunchKernelExC(&config, count, NULL));
	CHECK_OK(cudaLaunchCooperativeKernel(count, one, line(16), NULL, 0, NULL));
	CHECK_INT(counted(), before + 48);
	CHECK_INT(cudaLaunchKernelExC(NULL, count, NULL), cudaErrorInvalidValue);
	config.blockDim.x = 2000;
	CHECK_INT(cudaLaunchKernelExC(&config, count, NULL), cudaErrorInvalidConfiguration);
	CHECK_INT(cudaLaunchCooperativeKernel(count, line(1000000), line(128), NULL, 0, NULL),
		  cudaErrorCooperativeLaunchTooLarge);
	cudaGetLastError();
}

static void test_graph(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	unsigned out[4] = { 0 }, value = 1;
	void *memory;
	CHECK_OK(cudaMalloc(&memory, 16));
	CHECK_OK(cudaMemset(memory, 0, 16));
	value = 1;
	CHECK_OK(cudaMemcpyToSymbol(table, &value, 4, 4, cudaMemcpyHostToDevice));
	value = 20;
	void *arguments[] = { &memory, &value };
	struct cudaKernelNodeParams parameters = { .func = fill, .gridDim = { 1, 1, 1 }, .blockDim = { 2, 1, 1 },
						   .kernelParams = arguments };
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &parameters));
	struct cudaKernelNodeParams found;
	CHECK_OK(cudaGraphKernelNodeGetParams(node, &found));
	CHECK(found.func == fill);
	CHECK_INT(found.blockDim.x, 2);
	CHECK_INT(*(unsigned *)found.kernelParams[1], 20);
	CHECK_OK(cudaGraphInstantiate(&exec, graph, 0));
	value = 99; /* the parameters were copied */
	CHECK_OK(cudaGraphLaunch(exec, NULL));
	CHECK_OK(cudaMemcpy(out, memory, 16, cudaMemcpyDeviceToHost));
	CHECK(out[0] == 21 && out[1] == 21 && out[2] == 0);
	parameters.blockDim.x = 3;
	CHECK_OK(cudaGraphExecKernelNodeSetParams(exec, node, &parameters));
	CHECK_OK(cudaGraphLaunch(exec, NULL));
	CHECK_OK(cudaMemcpy(out, memory, 16, cudaMemcpyDeviceToHost));
	CHECK(out[0] == 100 && out[2] == 100 && out[3] == 0);
	parameters.func = unregistered;
	CHECK_INT(cudaGraphAddKernelNode(&node, graph, NULL, 0, &parameters), cudaErrorInvalidDeviceFunction);
	cudaGetLastError();
	CHECK_OK(cudaGraphExecDestroy(exec));
	CHECK_OK(cudaGraphDestroy(graph));
	CHECK_OK(cudaFree(memory));
}

/* Code is gone with its registration, and other code stays. */
static void test_unregister(void)
{
	__cudaUnregisterFatBinary(handle);
	CHECK_INT(cudaLaunchKernel(count, one, one, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
	register_code();
	CHECK_OK(cudaLaunchKernel(count, one, one, NULL, 0, NULL));
	CHECK_INT(counted(), 6); /* a fresh copy, which begins with 5 */
	__cudaUnregisterFatBinary(handle);
}

int main(void)
{
	register_code();
	test_launch();
	test_launch_errors();
	test_symbols();
	test_attributes();
	test_ex();
	test_graph();
	test_unregister();
	return check_end();
}
