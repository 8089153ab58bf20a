/* Functions by name, and names of errors. CUDA Driver API 6.34 "Driver Entry Point Access" and 6.1 "Error Handling". */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"

static const CUdriverProcAddressQueryResult results[] = {
	[API_PROC_FOUND] = CU_GET_PROC_ADDRESS_SUCCESS,
	[API_PROC_NOT_FOUND] = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
	[API_PROC_VERSION_TOO_OLD] = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
};

/* A name that is not there is no error to a caller that takes the reason. */
CUresult impl_cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *status)
{
	const struct api_proc *proc;
	enum api_proc_result result;

	if (!name || !function || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	proc = api_find_proc(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &result);
	*function = proc ? (void *)(uintptr_t)proc->function : NULL;
	if (status)
		*status = results[result];
	if (proc || status)
		return CUDA_SUCCESS;
	return api_error(CUDA_ERROR_NOT_FOUND, "no function \"%s\" of version %d", name, version);
}

CUresult impl_cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
	return impl_cuGetProcAddress_v2(name, function, version, flags, NULL);
}

CUresult impl_cuGetErrorString(CUresult error, const char **text)
{
	const struct api_status *status = api_status_find((int)error);

	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = status && status->driver_name ? status->text : NULL;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGetErrorName(CUresult error, const char **name)
{
	const struct api_status *status = api_status_find((int)error);

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = status ? status->driver_name : NULL;
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
