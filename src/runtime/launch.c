/* Launches. CUDA Runtime API, "Execution Control"; CUDA C++ Programming Guide, "Execution Configuration". A launch in the
 * program's source, k<<<grid, block, shared, stream>>>(...), becomes a pushed configuration and a call of the kernel's host
 * stub, which pops it and launches. */
#include "runtime.h"

#include <stdlib.h>

/* Attributes go to the driver as they are. */
_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "launch attributes differ");
_Static_assert(offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value), "launch attributes differ");

/* ---- configurations ----------------------------------------------------------------------------------------------------- */

enum { OLD_ARGUMENT_BYTES = 4096 };

/* What few threads need, and what is too large for STATIC_TLS. */
struct thread_more {
	struct call_configuration deeper[CALL_CONFIGURATIONS - 1]; /* than the first */
	struct old_arguments {
		size_t size;
		_Alignas(16) unsigned char bytes[OLD_ARGUMENT_BYTES];
	} old;
};

static pthread_key_t more_key;
static pthread_once_t more_once = PTHREAD_ONCE_INIT;

static void make_more_key(void)
{
	pthread_key_create(&more_key, free);
}

/* NULL: out of memory. */
static struct thread_more *thread_more(void)
{
	pthread_once(&more_once, make_more_key);
	struct thread_more *more = pthread_getspecific(more_key);
	if (more)
		return more;
	more = calloc(1, sizeof *more);
	if (!more || !pthread_setspecific(more_key, more))
		return more;
	free(more);
	return NULL;
}

static struct call_configuration *configuration(int depth)
{
	if (!depth)
		return &runtime_thread.configuration;
	struct thread_more *more = thread_more();
	return more ? &more->deeper[depth - 1] : NULL;
}

unsigned int impl___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
	struct runtime_thread *thread = &runtime_thread;
	if (thread->configuration_count == CALL_CONFIGURATIONS) {
		runtime_fail(cudaErrorLaunchFailure, "%d launches are nested in one another's arguments", CALL_CONFIGURATIONS);
		return 1;
	}
	struct call_configuration *next = configuration(thread->configuration_count);
	if (!next) {
		runtime_result(cudaErrorMemoryAllocation);
		return 1;
	}
	*next = (struct call_configuration){ grid, block, shared, stream };
	thread->configuration_count++;
	return 0;
}

cudaError_t impl___cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	struct runtime_thread *thread = &runtime_thread;
	if (thread->configuration_count == 0)
		return runtime_fail(cudaErrorMissingConfiguration, "a kernel was called without <<<...>>>");
	const struct call_configuration *top = configuration(--thread->configuration_count);
	*grid = top->grid;
	*block = top->block;
	*shared = top->shared;
	*(cudaStream_t *)stream = top->stream;
	return cudaSuccess;
}

/* ---- launching ---------------------------------------------------------------------------------------------------------- */

static bool size_fits(const unsigned size[3], CUdevice device, CUdevice_attribute x_limit)
{
	for (int axis = 0; axis < 3; axis++) {
		int limit = 0;
		cuDeviceGetAttribute(&limit, (CUdevice_attribute)((int)x_limit + axis), device);
		if (size[axis] == 0 || size[axis] > (unsigned)limit)
			return false;
	}
	return true;
}

/* The driver calls every refused launch an invalid value; the runtime has a status of its own for a grid or a block that
 * the device cannot have. */
static cudaError_t launch_error(CUresult result, dim3 grid, dim3 block)
{
	CUdevice device;
	int threads = 0;
	if (result != CUDA_ERROR_INVALID_VALUE || cuCtxGetDevice(&device))
		return (cudaError_t)result;
	cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
	if (!size_fits((unsigned[]){ grid.x, grid.y, grid.z }, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) ||
	    !size_fits((unsigned[]){ block.x, block.y, block.z }, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) ||
	    (uint64_t)block.x * block.y * block.z > (uint64_t)threads)
		return cudaErrorInvalidConfiguration;
	return cudaErrorInvalidValue;
}

static cudaError_t launch(CUfunction function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream,
			  bool cooperative)
{
	CUresult result;
	if (shared > UINT32_MAX)
		return runtime_fail(cudaErrorInvalidValue, "%zu bytes of dynamic shared memory", shared);
	if (cooperative)
		result = cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
						   stream, arguments);
	else
		result = cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared, stream,
					arguments, NULL);
	return result ? runtime_result(launch_error(result, grid, block)) : cudaSuccess;
}

static cudaError_t launch_symbol(const void *symbol, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream,
				 bool cooperative)
{
	CUfunction function;
	RUNTIME_REQUIRE();
	cudaError_t error = register_find_function(symbol, &function);
	if (error == cudaErrorInvalidDeviceFunction)
		return runtime_fail(error, "%p is not a kernel", symbol);
	return error ? runtime_result(error) : launch(function, grid, block, arguments, shared, stream, cooperative);
}

cudaError_t impl_cudaLaunchKernel(const void *symbol, dim3 grid, dim3 block, void **arguments, size_t shared,
				  cudaStream_t stream)
{
	return launch_symbol(symbol, grid, block, arguments, shared, stream, false);
}

cudaError_t impl_cudaLaunchCooperativeKernel(const void *symbol, dim3 grid, dim3 block, void **arguments, size_t shared,
					     cudaStream_t stream)
{
	return launch_symbol(symbol, grid, block, arguments, shared, stream, true);
}

/* `handle` is what __cudaGetKernel() gave the host stub: a registration, not a handle of the driver's. */
cudaError_t impl___cudaLaunchKernel(cudaKernel_t handle, dim3 grid, dim3 block, void **arguments, size_t shared,
				    cudaStream_t stream)
{
	CUkernel kernel;
	RUNTIME_REQUIRE();
	if (!handle)
		return runtime_result(cudaErrorInvalidDeviceFunction);
	cudaError_t error = register_kernel_handle((struct registered_kernel *)handle, &kernel);
	return error ? runtime_result(error) :
		       launch((CUfunction)kernel, grid, block, arguments, shared, stream, false);
}

/* ---- CUDA 6 and before: a configuration, arguments one by one, the launch ------------------------------------------------- */

/* Arguments are those of the launch that is being prepared: launches within them are through before its own first one is set. */

cudaError_t impl_cudaConfigureCall(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
	struct thread_more *more = thread_more();
	if (!more)
		return runtime_result(cudaErrorMemoryAllocation);
	more->old.size = 0;
	return impl___cudaPushCallConfiguration(grid, block, shared, stream) ? runtime_thread.last_error : cudaSuccess;
}

cudaError_t impl_cudaSetupArgument(const void *argument, size_t size, size_t offset)
{
	if (!runtime_thread.configuration_count)
		return runtime_fail(cudaErrorMissingConfiguration, "no launch is configured");
	struct thread_more *more = thread_more();
	if (!more)
		return runtime_result(cudaErrorMemoryAllocation);
	if (!argument || offset > OLD_ARGUMENT_BYTES || size > OLD_ARGUMENT_BYTES - offset)
		return runtime_result(cudaErrorInvalidValue);
	memcpy(more->old.bytes + offset, argument, size);
	more->old.size = offset + size > more->old.size ? offset + size : more->old.size;
	return cudaSuccess;
}

cudaError_t impl_cudaLaunch(const void *symbol)
{
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
	CUfunction function;
	cudaError_t error = impl___cudaPopCallConfiguration(&grid, &block, &shared, &stream);
	if (error)
		return error;
	RUNTIME_REQUIRE();
	error = register_find_function(symbol, &function);
	if (error || shared > UINT32_MAX)
		return runtime_result(error ? error : cudaErrorInvalidValue);
	struct thread_more *more = thread_more();
	if (!more)
		return runtime_result(cudaErrorMemoryAllocation);
	struct old_arguments *old = &more->old;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, old->bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &old->size, CU_LAUNCH_PARAM_END };
	CUresult result = cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
					 stream ? stream : runtime_default_stream(), NULL, old->size ? extra : NULL);
	old->size = 0;
	return result ? runtime_result(launch_error(result, grid, block)) : cudaSuccess;
}

/* ---- with attributes --------------------------------------------------------------------------------------------------------- */

CUlaunchConfig launch_config_to_driver(const cudaLaunchConfig_t *config)
{
	cudaStream_t stream = config->stream ? config->stream : runtime_default_stream();
	return (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned)config->dynamicSmemBytes,
		.hStream = stream,
		.attrs = (CUlaunchAttribute *)config->attrs,
		.numAttrs = config->numAttrs,
	};
}

cudaError_t impl_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *symbol, void **arguments)
{
	CUfunction function;
	RUNTIME_REQUIRE();
	if (!config || config->dynamicSmemBytes > UINT32_MAX)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = register_find_function(symbol, &function);
	if (error == cudaErrorInvalidDeviceFunction)
		return runtime_fail(error, "%p is not a kernel", symbol);
	if (error)
		return runtime_result(error);
	CUlaunchConfig converted = launch_config_to_driver(config);
	CUresult result = cuLaunchKernelEx(&converted, function, arguments, NULL);
	return result ? runtime_result(launch_error(result, config->gridDim, config->blockDim)) : cudaSuccess;
}

cudaError_t impl_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument)
{
	return RUNTIME(cuLaunchHostFunc(stream, function, argument));
}
