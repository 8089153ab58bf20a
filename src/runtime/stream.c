/* Streams and their capture. CUDA Runtime API, "Stream Management". Handles are the driver's. */
#include "runtime.h"

_Static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUstreamAttrValue), "stream attributes differ");
_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "edge data differ");

cudaError_t impl_cudaStreamCreate(cudaStream_t *stream)
{
	return RUNTIME(cuStreamCreate(stream, CU_STREAM_DEFAULT));
}

cudaError_t impl_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	return RUNTIME(cuStreamCreate(stream, flags));
}

cudaError_t impl_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
	return RUNTIME(cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t impl_cudaStreamDestroy(cudaStream_t stream)
{
	return RUNTIME(cuStreamDestroy_v2(stream));
}

cudaError_t impl_cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	return RUNTIME(cuStreamGetPriority(stream, priority));
}

cudaError_t impl_cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
	return RUNTIME(cuStreamGetFlags(stream, flags));
}

cudaError_t impl_cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
	return RUNTIME(cuStreamGetId(stream, id));
}

cudaError_t impl_cudaStreamGetDevice(cudaStream_t stream, int *device)
{
	return RUNTIME(cuStreamGetDevice(stream, device));
}

cudaError_t impl_cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from)
{
	return RUNTIME(cuStreamCopyAttributes(to, from));
}

cudaError_t impl_cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value)
{
	return RUNTIME(cuStreamGetAttribute(stream, (CUstreamAttrID)attribute, (CUstreamAttrValue *)value));
}

cudaError_t impl_cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
					const cudaLaunchAttributeValue *value)
{
	return RUNTIME(cuStreamSetAttribute(stream, (CUstreamAttrID)attribute, (const CUstreamAttrValue *)value));
}

cudaError_t impl_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	return RUNTIME(cuStreamWaitEvent(stream, event, flags));
}

/* cudaError_t and CUresult are both enums of an int's size with equal numbers, so the callback can be passed on. */
cudaError_t impl_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *argument, unsigned int flags)
{
	return RUNTIME(cuStreamAddCallback(stream, (CUstreamCallback)callback, argument, flags));
}

cudaError_t impl_cudaStreamSynchronize(cudaStream_t stream)
{
	return RUNTIME(cuStreamSynchronize(stream));
}

cudaError_t impl_cudaStreamQuery(cudaStream_t stream)
{
	return RUNTIME(cuStreamQuery(stream));
}

cudaError_t impl_cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t length, unsigned int flags)
{
	return RUNTIME(cuStreamAttachMemAsync(stream, device_pointer(pointer), length, flags));
}

/* ---- capture -------------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return RUNTIME(cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode));
}

cudaError_t impl_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					       const cudaGraphEdgeData *edges, size_t count, enum cudaStreamCaptureMode mode)
{
	return RUNTIME(cuStreamBeginCaptureToGraph(stream, graph, dependencies, (const CUgraphEdgeData *)edges, count,
						   (CUstreamCaptureMode)mode));
}

cudaError_t impl_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	return RUNTIME(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

cudaError_t impl_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	return RUNTIME(cuStreamEndCapture(stream, graph));
}

cudaError_t impl_cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	return RUNTIME(cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status));
}

cudaError_t impl_cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
					     cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count)
{
	return RUNTIME(cuStreamGetCaptureInfo_v2(stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph, dependencies,
						 count));
}

cudaError_t impl_cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
					     cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
					     const cudaGraphEdgeData **edges, size_t *count)
{
	return RUNTIME(cuStreamGetCaptureInfo_v3(stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph, dependencies,
						 (const CUgraphEdgeData **)edges, count));
}

cudaError_t impl_cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t *dependencies,
							const cudaGraphEdgeData *edges, size_t count, unsigned int flags)
{
	return RUNTIME(cuStreamUpdateCaptureDependencies_v2(stream, dependencies, (const CUgraphEdgeData *)edges, count, flags));
}

#if DRAGOMAN_CUDART_MAJOR == 13
cudaError_t impl_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
					  cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
					  const cudaGraphEdgeData **edges, size_t *count)
{
	return impl_cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, edges, count);
}

cudaError_t impl_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
						     const cudaGraphEdgeData *edges, size_t count, unsigned int flags)
{
	return impl_cudaStreamUpdateCaptureDependencies_v2(stream, dependencies, edges, count, flags);
}
#endif
