/* Names and texts of errors. CUDA Runtime API, "Error Handling". */
#include "runtime.h"

const char *impl_cudaGetErrorName(cudaError_t error)
{
	const struct api_status *status = api_status_find((int)error);
	return status && status->runtime_name ? status->runtime_name : "unrecognized error code";
}

const char *impl_cudaGetErrorString(cudaError_t error)
{
	const struct api_status *status = api_status_find((int)error);
	return status && status->runtime_name ? status->text : "unrecognized error code";
}
