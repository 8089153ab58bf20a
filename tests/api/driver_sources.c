/* Where code comes from: images, files, fat binaries, the linker, by every version of the functions; what kernels say of themselves,
 * how many of them fit. Expectations: CUDA Driver API reference manual, "Module Management", "Library Management", "Occupancy";
 * occupancy by the formula of the CUDA C++ Best Practices Guide, on what the device says of itself. */
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stdint.h>
#include <unistd.h>

#include "check.h"
#include "driver_kernels.h"

static CUcontext context;
static CUdeviceptr cell;

static void run_add(CUfunction function, unsigned value, const char *from)
{
	void *parameters[] = {&cell, &value};
	unsigned got = 0;

	CHECK_OK(cuMemsetD32_v2(cell, 0, 1));
	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	CHECK_OK(cuMemcpyDtoH_v2(&got, cell, 4));
	if (got != value) {
		fprintf(stderr, "%s: %u, not %u\n", from, got, value);
		check_failures++;
	}
}

static char *write_file(char *path, const void *bytes, size_t size)
{
	int file = mkstemp(path);

	CHECK(file >= 0 && write(file, bytes, size) == (ssize_t)size);
	close(file);
	return path;
}

static void put(unsigned char *at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> i * 8);
}

/* A container of one entry, PTX as it is: a head of 16 bytes, the entry's of 64, the text padded to eight. */
static void test_fat_binary(void)
{
	enum { HEAD = 16, ENTRY = 64, TEXT = (sizeof kernels_ptx + 7) / 8 * 8 };
	static unsigned char image[HEAD + ENTRY + TEXT];
	unsigned char *entry = image + HEAD;
	CUfunction function;
	CUmodule module;

	put(image, 0xBA55ED50, 4);
	put(image + 4, 1, 2);
	put(image + 6, HEAD, 2);
	put(image + 8, ENTRY + TEXT, 8);
	put(entry, 1, 2);     /* PTX */
	put(entry + 2, 0x101, 2);
	put(entry + 4, ENTRY, 4);
	put(entry + 8, TEXT, 8);
	put(entry + 26, 7, 2); /* PTX 7.8 */
	put(entry + 24, 8, 2);
	put(entry + 28, 80, 4);
	put(entry + 40, 0x11, 8); /* 64 bits, Linux */
	memcpy(entry + ENTRY, kernels_ptx, sizeof kernels_ptx);
	CHECK_OK(cuModuleLoadFatBinary(&module, image));
	CHECK_OK(cuModuleGetFunction(&function, module, "add"));
	run_add(function, 21, "a fat binary");
	CHECK_OK(cuModuleUnload(module));
	put(image, 0, 4);
	CHECK(cuModuleLoadFatBinary(&module, image) != CUDA_SUCCESS);
	CHECK_INT(cuModuleLoadFatBinary(&module, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuModuleLoadFatBinary(NULL, image), CUDA_ERROR_INVALID_VALUE);
}

/* A variable by both versions: the old one says where the address has more bits than it returns. */
static void test_variables(void)
{
	CUdeviceptr_v1 narrow = 0;
	CUdeviceptr wide = 0;
	unsigned size32 = 0, value = 0;
	size_t size = 0;
	CUmodule module;
	CUresult status;

	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetGlobal_v2(&wide, &size, module, "table"));
	CHECK_INT(size, 16);
	status = cuModuleGetGlobal(&narrow, &size32, module, "counter");
	CHECK_OK(cuModuleGetGlobal_v2(&wide, &size, module, "counter"));
	CHECK_INT(status, wide > UINT32_MAX ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
	CHECK(status || (narrow == wide && size32 == 4));
	CHECK_OK(cuMemcpyDtoH_v2(&value, wide, 4));
	CHECK_INT(value, 5);
	CHECK_OK(cuModuleGetGlobal(NULL, &size32, module, "counter")); /* its size alone */
	CHECK_INT(size32, 4);
	CHECK_INT(cuModuleGetGlobal(&narrow, &size32, module, "nothing"), CUDA_ERROR_NOT_FOUND);
	CHECK_INT(cuModuleGetGlobal(&narrow, &size32, module, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuModuleUnload(module));
}

/* One part from memory, one from a file; by the first version and by the second. */
static void test_linker(void)
{
	static char caller[] = ".version 7.8\n.target sm_80\n.address_size 64\n"
			       ".extern .func (.param .u32 r) twice(.param .u32 x);\n"
			       ".visible .entry add(.param .u64 p, .param .u32 v) {\n"
			       "  .reg .b64 %a; .reg .b32 %x;\n"
			       "  ld.param.u64 %a, [p]; ld.param.u32 %x, [v]; cvta.to.global.u64 %a, %a; shr.u32 %x, %x, 1;\n"
			       "  { .param .u32 in; .param .u32 out; st.param.u32 [in], %x; call (out), twice, (in); ld.param.u32 %x, [out]; }\n"
			       "  st.global.u32 [%a], %x; ret; }\n";
	static const char callee[] = ".version 7.8\n.target sm_80\n.address_size 64\n"
				     ".visible .func (.param .u32 r) twice(.param .u32 x) {\n"
				     "  .reg .b32 %x; ld.param.u32 %x, [x]; add.u32 %x, %x, %x; st.param.u32 [r], %x; ret; }\n";
	char path[] = "/tmp/driver-link-XXXXXX";
	CUlinkState states[2];
	CUfunction function;
	CUmodule module;
	void *image;
	size_t size;

	write_file(path, callee, sizeof callee);
	CHECK_OK(cuLinkCreate(0, NULL, NULL, &states[0]));
	CHECK_OK(cuLinkCreate_v2(0, NULL, NULL, &states[1]));
	CHECK_INT(cuLinkCreate(0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuLinkAddData(states[0], CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, NULL, NULL));
	CHECK_OK(cuLinkAddData_v2(states[1], CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, NULL, NULL));
	CHECK_OK(cuLinkAddFile(states[0], CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
	CHECK_OK(cuLinkAddFile_v2(states[1], CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
	CHECK_INT(cuLinkAddFile(states[0], CU_JIT_INPUT_PTX, "/nowhere/at/all", 0, NULL, NULL), CUDA_ERROR_FILE_NOT_FOUND);
	CHECK_INT(cuLinkAddFile_v2(states[0], CU_JIT_INPUT_PTX, NULL, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLinkAddFile(states[0], (CUjitInputType)99, path, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLinkAddData(states[0], CU_JIT_INPUT_PTX, NULL, 0, "none", 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	for (int i = 0; i < 2; i++) {
		CHECK_OK(cuLinkComplete(states[i], &image, &size));
		CHECK_OK(cuModuleLoadData(&module, image));
		CHECK_OK(cuLinkDestroy(states[i]));
		CHECK_OK(cuModuleGetFunction(&function, module, "add"));
		run_add(function, 34, i ? "the linker, version 2" : "the linker");
		CHECK_OK(cuModuleUnload(module));
	}
	unlink(path);
}

static void test_library(void)
{
	char path[] = "/tmp/driver-library-XXXXXX";
	size_t offset = 99, size = 99;
	CUfunction function;
	CUlibrary library;
	CUkernel kernel;
	void *unified = NULL;

	write_file(path, kernels_ptx, sizeof kernels_ptx);
	CHECK_OK(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cuLibraryGetKernel(&kernel, library, "bounded"));
	/* Parameters as PTX lays them out: 8 bytes, one, then 16 that are aligned to eight. */
	CHECK_OK(cuKernelGetParamInfo(kernel, 1, &offset, &size));
	CHECK(offset == 8 && size == 1);
	CHECK_OK(cuKernelGetParamInfo(kernel, 2, &offset, NULL));
	CHECK_INT(offset, 16);
	CHECK_INT(cuKernelGetParamInfo(kernel, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuKernelGetParamInfo(kernel, 0, NULL, &size), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_SHARED, 0));
	CHECK_INT(cuKernelSetCacheConfig(kernel, (CUfunc_cache)9, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuKernelSetCacheConfig((CUkernel)library, CU_FUNC_CACHE_PREFER_L1, 0), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuLibraryGetKernel(&kernel, library, "add"));
	CHECK_OK(cuKernelGetFunction(&function, kernel));
	run_add(function, 55, "a library from a file");
	CHECK_INT(cuLibraryGetUnifiedFunction(&unified, library, "add"), CUDA_ERROR_NOT_FOUND); /* devices have none */
	CHECK_INT(cuLibraryGetUnifiedFunction(NULL, library, "add"), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuLibraryUnload(library));
	CHECK_INT(cuLibraryLoadFromFile(&library, "/nowhere/at/all", NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_FILE_NOT_FOUND);
	CHECK_INT(cuLibraryLoadFromFile(&library, NULL, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	unlink(path);
}

/* What is in a module and in a library, by enumeration. */
static void test_enumeration(void)
{
	CUfunction functions[8] = {NULL}, function;
	unsigned count = 0, adds = 0;
	CUlibrary library;
	CUmodule module = NULL;
	const char *name;

	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunctionCount(&count, module));
	CHECK(count > 0 && count <= 8);
	CHECK_OK(cuModuleEnumerateFunctions(functions, 8, module));
	for (unsigned i = 0; i < count; i++) {
		CHECK_OK(cuFuncGetName(&name, functions[i]));
		if (strcmp(name, "add"))
			continue;
		run_add(functions[i], 12, "an enumerated function");
		adds++;
	}
	CHECK_INT(adds, 1);
	functions[1] = NULL;
	CHECK_OK(cuModuleEnumerateFunctions(functions, 1, module)); /* no more than there is room for */
	CHECK(!functions[1]);
	CHECK_INT(cuModuleEnumerateFunctions(NULL, 8, module), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuModuleGetFunction(&function, module, "fill"));
	CHECK_OK(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_L1)); /* a hint, no more */
	CHECK_INT(cuFuncSetCacheConfig(function, (CUfunc_cache)9), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuModuleUnload(module));
	CHECK_OK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cuLibraryGetModule(&module, library)); /* of the current context */
	CHECK_OK(cuModuleGetFunction(&function, module, "add"));
	run_add(function, 13, "a library's module");
	CHECK_INT(cuLibraryGetModule(NULL, library), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuLibraryUnload(library));
}

/* A function is loaded when it is first needed, or when that is asked for. */
static void test_loading(void)
{
	CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_MAX;
	CUfunction add, fill;
	CUmodule module;

	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunction(&add, module, "add"));
	CHECK_OK(cuModuleGetFunction(&fill, module, "fill"));
	CHECK_OK(cuFuncIsLoaded(&state, add));
	CHECK_INT(state, CU_FUNCTION_LOADING_STATE_UNLOADED);
	run_add(add, 3, "a lazily loaded function");
	CHECK_OK(cuFuncIsLoaded(&state, add));
	CHECK_INT(state, CU_FUNCTION_LOADING_STATE_LOADED);
	CHECK_OK(cuFuncLoad(fill));
	CHECK_OK(cuFuncIsLoaded(&state, fill));
	CHECK_INT(state, CU_FUNCTION_LOADING_STATE_LOADED);
	CHECK_INT(cuFuncIsLoaded(NULL, fill), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuFuncIsLoaded(&state, NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuModuleUnload(module));
}

static size_t shared_of(int block)
{
	return (size_t)block * 64;
}

/* Multiples of 128 bytes and 1024 more for each block, and as many threads as a multiprocessor holds. */
static void test_occupancy(void)
{
	int blocks = -1, with_flags = -1, grid = -1, block = -1, threads = 0, multiprocessors = 0, shared = 0, most = 0;
	CUfunction fill;
	CUmodule module;

	CHECK_OK(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
	CHECK_OK(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 0));
	CHECK_OK(cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 0));
	CHECK_OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunction(&fill, module, "fill"));
	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&with_flags, fill, 256, 0, CU_OCCUPANCY_DEFAULT));
	CHECK_INT(with_flags, threads / 256 < most ? threads / 256 : most);
	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 64, 10000));
	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&with_flags, fill, 64, 10000, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
	CHECK(blocks == with_flags && blocks == shared / (10112 + 1024));
	CHECK_OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, fill, NULL, 0, 0, CU_OCCUPANCY_DEFAULT));
	CHECK(block > 0 && block <= 1024 && grid * block == threads * multiprocessors);
	CHECK_OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, fill, NULL, 0, 128, CU_OCCUPANCY_DEFAULT));
	CHECK(block <= 128);
	/* Shared memory that grows with the block: 64 bytes a thread, so what fits is told by it, not by the threads. */
	CHECK_OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, fill, shared_of, 0, 0, CU_OCCUPANCY_DEFAULT));
	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, block, shared_of(block)));
	CHECK_INT(grid, blocks * multiprocessors);
	CHECK_INT(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, fill, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, fill, 32, 0, 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(NULL, fill, 32, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, NULL, fill, NULL, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, fill, NULL, 0, 0, 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuModuleUnload(module));
}

/* A grid over several devices, of one device: as an ordinary cooperative launch. */
static void test_multi_device(void)
{
	unsigned value = 9, got = 0;
	void *parameters[] = {&cell, &value};
	CUDA_LAUNCH_PARAMS launch = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
				     .kernelParams = parameters};
	CUmodule module;

	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunction(&launch.function, module, "add"));
	CHECK_OK(cuStreamCreate(&launch.hStream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemsetD32_v2(cell, 1, 1));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuLaunchCooperativeKernelMultiDevice(&launch, 1, 0));
	CHECK_OK(cuStreamSynchronize(launch.hStream));
	CHECK_OK(cuMemcpyDtoH_v2(&got, cell, 4));
	CHECK_INT(got, 10);
	CHECK_INT(cuLaunchCooperativeKernelMultiDevice(NULL, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLaunchCooperativeKernelMultiDevice(&launch, 0, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLaunchCooperativeKernelMultiDevice(&launch, 1, 8), CUDA_ERROR_INVALID_VALUE);
	launch.gridDimX = 1 << 20; /* more than are resident at a time */
	CHECK_INT(cuLaunchCooperativeKernelMultiDevice(&launch, 1, 0), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	CHECK_OK(cuStreamDestroy_v2(launch.hStream));
	CHECK_OK(cuModuleUnload(module));
}

int main(void)
{
	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate_v2(&context, 0, 0));
	CHECK_OK(cuMemAlloc_v2(&cell, 4));
	test_fat_binary();
	test_variables();
	test_linker();
	test_library();
	test_enumeration();
	test_loading();
	test_occupancy();
	test_multi_device();
	CHECK_OK(cuCtxDestroy_v2(context));
	return check_end();
}
