/* Events. CUDA Runtime API, "Event Management". Handles are the driver's. */
#include "runtime.h"

cudaError_t impl_cudaEventCreate(cudaEvent_t *event)
{
	return RUNTIME(cuEventCreate(event, CU_EVENT_DEFAULT));
}

cudaError_t impl_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	return RUNTIME(cuEventCreate(event, flags));
}

cudaError_t impl_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return RUNTIME(cuEventRecord(event, stream));
}

cudaError_t impl_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	return RUNTIME(cuEventRecordWithFlags(event, stream, flags));
}

cudaError_t impl_cudaEventQuery(cudaEvent_t event)
{
	return RUNTIME(cuEventQuery(event));
}

cudaError_t impl_cudaEventSynchronize(cudaEvent_t event)
{
	return RUNTIME(cuEventSynchronize(event));
}

cudaError_t impl_cudaEventDestroy(cudaEvent_t event)
{
	return RUNTIME(cuEventDestroy_v2(event));
}

cudaError_t impl_cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
	return RUNTIME(cuEventElapsedTime_v2(milliseconds, start, end));
}

cudaError_t impl_cudaEventElapsedTime_v2(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
	return impl_cudaEventElapsedTime(milliseconds, start, end);
}
