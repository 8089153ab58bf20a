/* Dragoman's own libcuda, as a program that the command itself is uses it: for selftest and cache warm. */
#ifndef DRAGOMAN_CMD_CUDA_H
#define DRAGOMAN_CMD_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef void *cuda_handle;

/* CUDA(field, "entry", (arguments)): each returns a CUresult, 0 for success. */
#define CUDA_CALLS(CUDA) \
	CUDA(init, "cuInit", (unsigned flags)) \
	CUDA(device_count, "cuDeviceGetCount", (int *count)) \
	CUDA(device_get, "cuDeviceGet", (int *device, int ordinal)) \
	CUDA(device_name, "cuDeviceGetName", (char *name, int size, int device)) \
	CUDA(context_retain, "cuDevicePrimaryCtxRetain", (cuda_handle *context, int device)) \
	CUDA(context_set, "cuCtxSetCurrent", (cuda_handle context)) \
	CUDA(context_wait, "cuCtxSynchronize", (void)) \
	CUDA(module_load, "cuModuleLoadData", (cuda_handle *module, const void *image)) \
	CUDA(module_unload, "cuModuleUnload", (cuda_handle module)) \
	CUDA(module_function, "cuModuleGetFunction", (cuda_handle *function, cuda_handle module, const char *name)) \
	CUDA(module_count, "cuModuleGetFunctionCount", (unsigned *count, cuda_handle module)) \
	CUDA(module_functions, "cuModuleEnumerateFunctions", (cuda_handle *functions, unsigned room, cuda_handle module)) \
	CUDA(function_name, "cuFuncGetName", (const char **name, cuda_handle function)) \
	CUDA(function_load, "cuFuncLoad", (cuda_handle function)) \
	CUDA(allocate, "cuMemAlloc_v2", (uint64_t *pointer, size_t size)) \
	CUDA(release, "cuMemFree_v2", (uint64_t pointer)) \
	CUDA(to_device, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t size)) \
	CUDA(to_host, "cuMemcpyDtoH_v2", (void *to, uint64_t from, size_t size)) \
	CUDA(copy, "cuMemcpyDtoD_v2", (uint64_t to, uint64_t from, size_t size)) \
	CUDA(launch, "cuLaunchKernel", (cuda_handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
					unsigned shared, cuda_handle stream, void **parameters, void **extra)) \
	CUDA(error_name, "cuGetErrorName", (int error, const char **name))

#define CUDA_FIELD(field, entry, arguments) int(*field) arguments;
struct cuda {
	CUDA_CALLS(CUDA_FIELD)
};
#undef CUDA_FIELD

/* Opens the library beside this command, initialises it and makes device 0's context current. NULL after a message. */
const struct cuda *cuda_open(void);
const char *cuda_error(const struct cuda *cuda, int error);

#endif
