/* The driver API's functions that are about the API itself: functions by name, status codes by name.
 * They need no driver and work before cuInit. CUDA Driver API, "Driver Entry Point Access" and
 * "Error Handling". */
#include "api/api.h"
#include "api/cuda_impl.h"

/* The address of `symbol` in *pfn, or NULL and the reason. */
static CUresult look_up(const char *symbol, void **pfn, int version, cuuint64_t flags,
			enum api_proc_result *result)
{
	const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	if (!symbol || !pfn)
		return (CUresult)api_error(CUDA_ERROR_INVALID_VALUE, "no name, or no place for the address");
	if (flags & ~known || flags == known)
		return (CUresult)api_error(CUDA_ERROR_INVALID_VALUE, "%s: unknown flags 0x%llx", symbol,
					   (unsigned long long)flags);
	if (version > CUDA_VERSION)
		return (CUresult)api_error(CUDA_ERROR_INVALID_VALUE, "%s of CUDA %d.%d: this is %d.%d", symbol,
					   version / 1000, version % 1000 / 10, CUDA_VERSION / 1000,
					   CUDA_VERSION % 1000 / 10);
	const struct api_proc *proc =
		api_find_proc(symbol, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, result);
	*pfn = NULL;
	if (proc)
		memcpy(pfn, &proc->function, sizeof *pfn);
	else
		log_info("cuGetProcAddress: no %s in CUDA %d.%d", symbol, version / 1000, version % 1000 / 10);
	return CUDA_SUCCESS;
}

CUresult impl_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	enum api_proc_result result;
	CUresult error = look_up(symbol, pfn, cudaVersion, flags, &result);
	return error ? error : *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult impl_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *symbolStatus)
{
	static const CUdriverProcAddressQueryResult statuses[] = {
		[API_PROC_FOUND] = CU_GET_PROC_ADDRESS_SUCCESS,
		[API_PROC_NOT_FOUND] = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
		[API_PROC_VERSION_TOO_OLD] = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
	};
	enum api_proc_result result;
	CUresult error = look_up(symbol, pfn, cudaVersion, flags, &result);
	if (!error && symbolStatus)
		*symbolStatus = statuses[result];
	return error;
}

CUresult impl_cuGetErrorName(CUresult error, const char **pStr)
{
	const struct api_status *status = api_status_find((int)error);
	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = status ? status->driver_name : NULL;
	return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGetErrorString(CUresult error, const char **pStr)
{
	const struct api_status *status = api_status_find((int)error);
	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = status && status->driver_name ? status->text : NULL;
	return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
