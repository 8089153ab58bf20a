/* Modules, functions, launches, libraries, the linker, faults. Expectations: CUDA Driver API reference manual, "Module
 * Management", "Library Management", "Execution Control", "Occupancy"; error statuses as cards answer. */
#define _GNU_SOURCE
#include <cuda.h>

#include "check.h"
#include "driver_kernels.h"

static CUcontext context;

static CUresult run(CUfunction function, unsigned grid, unsigned block, unsigned shared, void **parameters)
{
	return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, NULL, parameters, NULL);
}

static void test_loading(void)
{
	static const char wrong[] = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry x() { frobnicate.u32 1; ret; }\n";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	char log[256] = "old", small[8] = "old";
	void *values[] = {log, (void *)sizeof log}, *small_values[] = {small, (void *)sizeof small};
	CUmodule module = NULL;
	CUfunction function = (CUfunction)1;
	CUdeviceptr pointer;
	CUmoduleLoadingMode mode;
	unsigned value = 0, count = 0;
	unsigned char table[16];
	size_t size = 0;

	CHECK_INT(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuModuleLoadData(NULL, kernels_ptx), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuModuleLoadDataEx(&module, wrong, 2, options, values), CUDA_ERROR_INVALID_PTX);
	CHECK(strstr(log, "frobnicate") && (size_t)values[1] == strlen(log) + 1);
	CHECK_INT(cuModuleLoadDataEx(&module, wrong, 2, options, small_values), CUDA_ERROR_INVALID_PTX);
	CHECK_INT(strlen(small), 7); /* cut, with its NUL */
	CHECK_INT(cuModuleLoadDataEx(&module, kernels_ptx, 2, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuModuleLoad(&module, "/nonexistent/file.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
	CHECK_OK(cuModuleGetLoadingMode(&mode));
	CHECK_OK(cuModuleLoadDataEx(&module, kernels_ptx, 2, options, values));
	CHECK_INT(cuModuleGetFunction(&function, module, "missing"), CUDA_ERROR_NOT_FOUND);
	CHECK_INT(cuModuleGetFunction(&function, (CUmodule)&log, "add"), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuModuleGetFunction(&function, module, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuModuleGetFunctionCount(&count, module));
	CHECK_INT(count, 6);
	CHECK_OK(cuModuleGetGlobal(&pointer, &size, module, "counter"));
	CHECK_INT(size, 4);
	CHECK_OK(cuMemcpyDtoH(&value, pointer, 4));
	CHECK_INT(value, 5);
	CHECK_INT(cuMemcpyDtoH(table, pointer, 16), CUDA_ERROR_INVALID_VALUE); /* more than the variable has */
	CHECK_OK(cuModuleGetGlobal(&pointer, NULL, module, "table"));
	CHECK_OK(cuMemcpyDtoH(table, pointer, 16));
	CHECK(table[0] == 1 && table[15] == 16);
	CHECK_INT(cuModuleGetGlobal(&pointer, &size, module, "add"), CUDA_ERROR_NOT_FOUND);
	CHECK_OK(cuModuleUnload(module));
	CHECK_INT(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuModuleGetFunction(&function, module, "add"), CUDA_ERROR_INVALID_HANDLE);
	for (int i = 0; i < 200; i++) { /* modules come and go */
		CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
		CHECK_OK(cuModuleGetFunction(&function, module, "add"));
		CHECK_OK(cuModuleUnload(module));
	}
}

static void test_attributes(CUmodule module)
{
	CUfunction add, bounded;
	CUmodule of = NULL;
	const char *name = NULL;
	size_t offset = 0, size = 0;
	int value = 0;

	CHECK_OK(cuModuleGetFunction(&add, module, "add"));
	CHECK_OK(cuModuleGetFunction(&bounded, module, "bounded"));
	CHECK_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add));
	CHECK_INT(value, 1024);
	CHECK_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
	CHECK_INT(value, 64);
	CHECK_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, bounded));
	CHECK_INT(value, 1000);
	CHECK_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bounded));
	CHECK_INT(value, 49152 - 1000);
	CHECK_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, add));
	CHECK_INT(value, 16);
	CHECK_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, add));
	CHECK_INT(value, 80);
	CHECK_INT(cuFuncGetAttribute(&value, (CUfunction_attribute)99, add), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, add), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
	CHECK_INT(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 24), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuFuncGetModule(&of, add));
	CHECK(of == module);
	CHECK_OK(cuFuncGetName(&name, add));
	CHECK_TEXT(name, "add");
	CHECK_OK(cuFuncGetParamInfo(bounded, 0, &offset, &size));
	CHECK(offset == 0 && size == 8);
	CHECK_OK(cuFuncGetParamInfo(bounded, 1, &offset, &size));
	CHECK(offset == 8 && size == 1);
	CHECK_OK(cuFuncGetParamInfo(bounded, 2, &offset, &size));
	CHECK(offset == 16 && size == 16);
	CHECK_INT(cuFuncGetParamInfo(bounded, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

static size_t shared_of(int block)
{
	return (size_t)block * 64;
}

static void test_occupancy(CUmodule module)
{
	CUfunction add;
	int blocks = 77, grid = 0, block = 0;
	size_t bytes = 77;

	CHECK_OK(cuModuleGetFunction(&add, module, "add"));
	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0));
	CHECK_INT(blocks, 2); /* 2048 threads a multiprocessor */
	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 32, 0));
	CHECK_INT(blocks, 32); /* the limit of blocks */
	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 128, 32768));
	CHECK_INT(blocks, 4); /* 167936 bytes of shared memory, 1024 more a block */
	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1025, 0));
	CHECK_INT(blocks, 0);
	CHECK_INT(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 0));
	CHECK(grid > 0 && block > 0 && block <= 1024);
	CHECK_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, shared_of, 0, 256));
	CHECK(block > 0 && block <= 256);
	CHECK_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 1 << 20, 0));
	CHECK(grid == 0 && block == 0); /* nothing fits */
	CHECK_OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, add, 2, 128));
	CHECK_INT(bytes, 49152);
	CHECK_OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, add, 8, 128)); /* 167936/8 in units of 128, less 1024 */
	CHECK_INT(bytes, 20992 - 1024);
	CHECK_INT(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, add, 99, 128), CUDA_ERROR_INVALID_VALUE);
}

static void test_launches(CUmodule module)
{
	struct { CUdeviceptr p; unsigned char odd; _Alignas(8) unsigned pair[4]; } packed = {0, 1, {1, 2, 3, 77}};
	size_t packed_size = 32, short_size = 8;
	unsigned char odd = 1;
	unsigned pair[4] = {1, 2, 3, 44}, value = 3, out[64];
	CUfunction add, fill, bounded;
	CUdeviceptr p;
	void *parameters[] = {&p, &value}, *fill_parameters[] = {&p}, *bounded_parameters[] = {&p, &odd, pair};
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_size, CU_LAUNCH_PARAM_END};
	void *short_extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &short_size, CU_LAUNCH_PARAM_END};
	void *odd_extra[] = {(void *)99, &packed, CU_LAUNCH_PARAM_END};
	CUlaunchAttribute attributes[2] = {{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY}, {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE}};
	CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
				 .attrs = attributes, .numAttrs = 2};

	CHECK_OK(cuModuleGetFunction(&add, module, "add"));
	CHECK_OK(cuModuleGetFunction(&fill, module, "fill"));
	CHECK_OK(cuModuleGetFunction(&bounded, module, "bounded"));
	CHECK_OK(cuMemAlloc(&p, sizeof out));
	CHECK_OK(cuMemsetD32(p, 10, 1));
	CHECK_OK(run(add, 1, 1, 0, parameters));
	CHECK_OK(cuMemcpyDtoH(out, p, 4));
	CHECK_INT(out[0], 13);
	CHECK_OK(run(fill, 4, 16, 0, fill_parameters));
	CHECK_OK(cuMemcpyDtoH(out, p, sizeof out));
	for (unsigned i = 0; i < 64; i++)
		CHECK_INT(out[i], i);
	CHECK_OK(run(bounded, 1, 1, 48000, bounded_parameters));
	CHECK_OK(cuMemcpyDtoH(out, p, 4));
	CHECK_INT(out[0], 44);
	packed.p = p;
	CHECK_OK(cuLaunchKernel(bounded, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	CHECK_OK(cuMemcpyDtoH(out, p, 4));
	CHECK_INT(out[0], 77);
	CHECK_OK(cuLaunchKernelEx(&config, add, parameters, NULL));
	CHECK_OK(cuMemcpyDtoH(out, p, 4));
	CHECK_INT(out[0], 80);
	CHECK_OK(cuLaunchCooperativeKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, parameters));
	CHECK_INT(cuLaunchCooperativeKernel(add, 1 << 20, 1, 1, 1024, 1, 1, 0, NULL, parameters),
		  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	/* None of the following may run. */
	CHECK_INT(run(add, 0, 1, 0, parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(run(add, 1, 0, 0, parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(run(add, 1, 1025, 0, parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(run(add, 2147483648u, 1, 0, parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLaunchKernel(add, 1, 65536, 1, 1, 1, 1, 0, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLaunchKernel(add, 1, 1, 1, 1, 1, 65, 0, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLaunchKernel(add, 1, 1, 1, 64, 64, 1, 0, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(run(bounded, 1, 65, 0, bounded_parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(run(add, 1, 1, 49153, parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(run(bounded, 1, 1, 49152 - 999, bounded_parameters), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(run(add, 1, 1, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLaunchKernel(bounded, 1, 1, 1, 1, 1, 1, 0, NULL, bounded_parameters, extra), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLaunchKernel(bounded, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, short_extra), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLaunchKernel(bounded, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, odd_extra), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(run(NULL, 1, 1, 0, parameters), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(run((CUfunction)&p, 1, 1, 0, parameters), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(run((CUfunction)module, 1, 1, 0, parameters), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, (CUstream)0x99, parameters, NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuLaunchKernelEx(NULL, add, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
	attributes[0].id = (CUlaunchAttributeID)777;
	CHECK_INT(cuLaunchKernelEx(&config, add, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemcpyDtoH(out, p, 4));
	CHECK_INT(out[0], 83);
	CHECK_OK(cuMemFree(p));
}

static void test_library(void)
{
	CUlibrary library = NULL, of = NULL;
	CUkernel kernel = NULL, same = NULL, all[8];
	CUfunction function = NULL;
	CUdeviceptr counter, p;
	CUcontext other;
	const char *name = NULL;
	unsigned count = 0, value = 4, out = 0;
	void *parameters[] = {&p, &value};
	int attribute = 0;

	CHECK_OK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_INT(cuLibraryGetKernel(&kernel, library, "missing"), CUDA_ERROR_NOT_FOUND);
	CHECK_OK(cuLibraryGetKernel(&kernel, library, "add"));
	CHECK_OK(cuLibraryGetKernel(&same, library, "add"));
	CHECK(kernel == same);
	CHECK_OK(cuLibraryGetKernelCount(&count, library));
	CHECK_INT(count, 6);
	CHECK_OK(cuLibraryEnumerateKernels(all, 6, library));
	CHECK_OK(cuKernelGetName(&name, kernel));
	CHECK_TEXT(name, "add");
	CHECK_OK(cuKernelGetLibrary(&of, kernel));
	CHECK(of == library);
	CHECK_OK(cuKernelGetFunction(&function, kernel));
	CHECK_OK(cuKernelGetAttribute(&attribute, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
	CHECK_INT(attribute, 1024);
	CHECK_OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, kernel, 0));
	CHECK_OK(cuLibraryGetGlobal(&counter, NULL, library, "counter"));
	CHECK_INT(cuLibraryGetManaged(&counter, NULL, library, "counter"), CUDA_ERROR_NOT_FOUND);
	p = counter;
	CHECK_OK(run((CUfunction)kernel, 1, 1, 60000, parameters)); /* a CUkernel in the place of a CUfunction */
	CHECK_OK(run(function, 1, 1, 0, parameters));
	CHECK_OK(cuMemcpyDtoH(&out, counter, 4));
	CHECK_INT(out, 13);
	/* Another context has the library's variables for itself. */
	CHECK_OK(cuCtxCreate(&other, NULL, 0, 0));
	CHECK_OK(cuLibraryGetGlobal(&counter, NULL, library, "counter"));
	CHECK(counter != p);
	p = counter;
	CHECK_OK(run((CUfunction)kernel, 1, 1, 60000, parameters)); /* with the attribute that was set before */
	CHECK_OK(cuMemcpyDtoH(&out, counter, 4));
	CHECK_INT(out, 9);
	CHECK_INT(run(function, 1, 1, 0, parameters), CUDA_ERROR_INVALID_HANDLE); /* the first context's */
	CHECK_OK(cuCtxDestroy(other));
	CHECK_OK(run((CUfunction)kernel, 1, 1, 0, (p = 0, cuLibraryGetGlobal(&p, NULL, library, "counter"), parameters)));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuLibraryUnload(library));
	CHECK_INT(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(run((CUfunction)kernel, 1, 1, 0, parameters), CUDA_ERROR_INVALID_HANDLE);
}

static void test_linker(void)
{
	static char a[] = ".version 7.8\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) twice(.param .b32 x);\n"
			  ".visible .entry k(.param .u64 p) { .reg .b64 %a; .reg .b32 %x; .param .b32 in; .param .b32 out;\n"
			  " ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a; ld.global.u32 %x, [%a]; st.param.b32 [in], %x;\n"
			  " call.uni (out), twice, (in); ld.param.b32 %x, [out]; st.global.u32 [%a], %x; ret; }\n";
	static char b[] = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .func (.param .b32 r) twice(.param .b32 x) {\n"
			  " .reg .b32 %v; ld.param.b32 %v, [x]; add.u32 %v, %v, %v; st.param.b32 [r], %v; ret; }\n";
	CUlinkState state = NULL;
	CUmodule module;
	CUfunction function;
	CUdeviceptr p;
	void *image = NULL, *parameters[] = {&p};
	unsigned value = 21;
	size_t size = 0;

	CHECK_OK(cuLinkCreate(0, NULL, NULL, &state));
	CHECK_INT(cuLinkComplete(state, &image, &size), CUDA_ERROR_INVALID_VALUE); /* nothing was added */
	CHECK_OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, a, sizeof a, "a", 0, NULL, NULL));
	CHECK_INT(cuLinkAddData(state, CU_JIT_INPUT_PTX, (char[]){"nonsense"}, 9, "n", 0, NULL, NULL), CUDA_ERROR_INVALID_PTX);
	CHECK_OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, b, sizeof b, "b", 0, NULL, NULL));
	CHECK_OK(cuLinkComplete(state, &image, &size));
	CHECK(image && size > 0);
	CHECK_OK(cuModuleLoadData(&module, image));
	CHECK_OK(cuLinkDestroy(state));
	CHECK_INT(cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuModuleGetFunction(&function, module, "k"));
	CHECK_OK(cuMemAlloc(&p, 4));
	CHECK_OK(cuMemcpyHtoD(p, &value, 4));
	CHECK_OK(run(function, 1, 1, 0, parameters));
	CHECK_OK(cuMemcpyDtoH(&value, p, 4));
	CHECK_INT(value, 42);
	CHECK_OK(cuMemFree(p));
	CHECK_OK(cuModuleUnload(module));
}

/* A limit on registers holds for every kernel that is loaded or linked with it. */
static void test_register_limit(void)
{
	static char many[] = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() { .reg .b32 %r<900>; ret; }\n";
	CUjit_option option = CU_JIT_MAX_REGISTERS;
	void *limit = (void *)(size_t)32, *image = NULL;
	CUlinkState state;
	CUmodule module;
	CUfunction function;
	size_t size;
	int before = 0, after = 0;

	CHECK_OK(cuModuleLoadData(&module, many));
	CHECK_OK(cuModuleGetFunction(&function, module, "k"));
	CHECK_OK(cuFuncGetAttribute(&before, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
	CHECK_OK(cuModuleUnload(module));
	CHECK_OK(cuModuleLoadDataEx(&module, many, 1, &option, &limit));
	CHECK_OK(cuModuleGetFunction(&function, module, "k"));
	CHECK_OK(cuFuncGetAttribute(&after, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
	CHECK(after <= 32 && after <= before);
	CHECK_OK(run(function, 1, 1, 0, NULL));
	CHECK_OK(cuModuleUnload(module));
	limit = (void *)(size_t)24;
	CHECK_OK(cuLinkCreate(1, &option, &limit, &state));
	CHECK_OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, many, sizeof many, "many", 0, NULL, NULL));
	CHECK_OK(cuLinkComplete(state, &image, &size));
	CHECK_OK(cuModuleLoadData(&module, image));
	CHECK_OK(cuLinkDestroy(state));
	CHECK_OK(cuModuleGetFunction(&function, module, "k"));
	CHECK_OK(cuFuncGetAttribute(&after, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
	CHECK(after <= 24);
	CHECK_OK(cuModuleUnload(module));
}

/* A fault sticks to its context: the launch succeeds, every later call on the context repeats the status. */
static void test_fault(const char *name, CUresult status)
{
	CUcontext broken;
	CUmodule module;
	CUfunction function;
	CUdeviceptr p;
	CUdevice device;
	CUevent event;
	int count = 0;

	CHECK_OK(cuCtxCreate(&broken, NULL, 0, 0));
	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunction(&function, module, name));
	CHECK_OK(run(function, 1, 1, 0, NULL));
	CHECK_INT(cuCtxSynchronize(), status);
	CHECK_INT(cuCtxSynchronize(), status);
	CHECK_INT(cuMemAlloc(&p, 16), status);
	CHECK_INT(cuEventCreate(&event, 0), status);
	CHECK_INT(run(function, 1, 1, 0, NULL), status);
	CHECK_INT(cuModuleGetFunction(&function, module, "add"), status);
	CHECK_OK(cuDeviceGetCount(&count)); /* what needs no context works */
	CHECK_OK(cuCtxGetDevice(&device));
	CHECK_OK(cuCtxDestroy(broken));
}

int main(void)
{
	CUmodule module;
	CUdeviceptr p;

	CHECK_OK(cuInit(0));
	/* First, while no other context shares the device with the broken one. */
	test_fault("fault", CUDA_ERROR_ILLEGAL_ADDRESS);
	test_fault("trap_", CUDA_ERROR_LAUNCH_FAILED);
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK_OK(cuMemAlloc(&p, 16)); /* the device works again */
	CHECK_OK(cuMemFree(p));
	test_loading();
	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	test_attributes(module);
	test_occupancy(module);
	test_launches(module);
	CHECK_OK(cuModuleUnload(module));
	test_library();
	test_linker();
	test_register_limit();
	CHECK_OK(cuCtxDestroy(context));
	return check_end();
}
