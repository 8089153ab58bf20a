/* What CUDA 12's runtime has in a form that CUDA 13 dropped: functions without edge data, with devices where there are
 * locations now, and names from CUDA 11 and before. CUDA Runtime API reference manual, CUDA 12.9; its chapter on deprecated
 * functions. Those that no release has any longer with another meaning are in both libraries. */
#include "runtime.h"

#include <stdlib.h>

#if DRAGOMAN_CUDART_MAJOR == 12

/* ---- streams ------------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
					  cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count)
{
	return impl_cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count);
}

cudaError_t impl_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count,
						     unsigned int flags)
{
	return RUNTIME(cuStreamUpdateCaptureDependencies(stream, dependencies, count, flags));
}

/* ---- graphs ---------------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
{
	return RUNTIME(cuGraphGetEdges(graph, from, to, count));
}

cudaError_t impl_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *dependencies, size_t *count)
{
	return RUNTIME(cuGraphNodeGetDependencies(node, dependencies, count));
}

cudaError_t impl_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *dependents, size_t *count)
{
	return RUNTIME(cuGraphNodeGetDependentNodes(node, dependents, count));
}

cudaError_t impl_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					  size_t count)
{
	return RUNTIME(cuGraphAddDependencies(graph, from, to, count));
}

cudaError_t impl_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					     size_t count)
{
	return RUNTIME(cuGraphRemoveDependencies(graph, from, to, count));
}

cudaError_t impl_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
				  struct cudaGraphNodeParams *parameters)
{
	return impl_cudaGraphAddNode_v2(node, graph, dependencies, NULL, count, parameters);
}

/* ---- managed memory ---------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaMemPrefetchAsync(const void *pointer, size_t count, int device, cudaStream_t stream)
{
	return RUNTIME(cuMemPrefetchAsync(device_pointer(pointer), count, device, stream));
}

cudaError_t impl_cudaMemAdvise(const void *pointer, size_t count, enum cudaMemoryAdvise advice, int device)
{
	return RUNTIME(cuMemAdvise(device_pointer(pointer), count, (CUmem_advise)advice, device));
}

#endif

/* ---- in both libraries ------------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaThreadExit(void)
{
	return impl_cudaDeviceReset();
}

cudaError_t impl_cudaThreadSynchronize(void)
{
	return impl_cudaDeviceSynchronize();
}

cudaError_t impl_cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
	return impl_cudaDeviceSetLimit(limit, value);
}

cudaError_t impl_cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
	return impl_cudaDeviceGetLimit(value, limit);
}

cudaError_t impl_cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
	return impl_cudaDeviceGetCacheConfig(config);
}

cudaError_t impl_cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
	return impl_cudaDeviceSetCacheConfig(config);
}

/* Of devices without double precision, which there are none of any more: the number stays as it is. */
cudaError_t impl_cudaSetDoubleForDevice(double *value)
{
	return runtime_result(value ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t impl_cudaSetDoubleForHost(double *value)
{
	return runtime_result(value ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t impl_cudaLaunchCooperativeKernelMultiDevice(struct cudaLaunchParams *launches, unsigned int count,
							unsigned int flags)
{
	RUNTIME_REQUIRE();
	if (!launches || !count)
		return runtime_result(cudaErrorInvalidValue);
	CUDA_LAUNCH_PARAMS *converted = calloc(count, sizeof *converted);
	cudaError_t error = converted ? cudaSuccess : cudaErrorMemoryAllocation;
	for (unsigned i = 0; i < count && !error; i++) {
		const struct cudaLaunchParams *p = &launches[i];
		converted[i] = (CUDA_LAUNCH_PARAMS){
			NULL,	      p->gridDim.x,  p->gridDim.y,	     p->gridDim.z, p->blockDim.x,
			p->blockDim.y, p->blockDim.z, (unsigned)p->sharedMem, p->stream,   p->args,
		};
		error = register_find_function(p->func, &converted[i].function);
	}
	if (!error)
		error = (cudaError_t)cuLaunchCooperativeKernelMultiDevice(converted, count, flags);
	free(converted);
	return runtime_result(error);
}

/* ---- texture objects of CUDA 11.8, whose description is today's -------------------------------------------------------------------- */

_Static_assert(sizeof(struct cudaTextureDesc_v2) == sizeof(struct cudaTextureDesc), "texture descriptions differ");

cudaError_t impl_cudaCreateTextureObject_v2(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
					    const struct cudaTextureDesc_v2 *texture, const struct cudaResourceViewDesc *view)
{
	return impl_cudaCreateTextureObject(object, resource, (const struct cudaTextureDesc *)texture, view);
}

cudaError_t impl_cudaGetTextureObjectTextureDesc_v2(struct cudaTextureDesc_v2 *texture, cudaTextureObject_t object)
{
	return impl_cudaGetTextureObjectTextureDesc((struct cudaTextureDesc *)texture, object);
}

/* The file that the arguments name steered a profiler that is no more. */
cudaError_t impl_cudaProfilerInitialize(const char *configuration, const char *output, cudaOutputMode_t mode)
{
	return RUNTIME(cuProfilerInitialize(configuration, output, (CUoutput_mode)mode));
}
