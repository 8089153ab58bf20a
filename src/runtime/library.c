/* Device code that the program loads itself, and functions of the driver by name. CUDA Runtime API, "Library Management"
 * and "Driver Entry Point Access", "Error Log Management Functions". */
#include "runtime.h"

/* cudaJitOption and cudaLibraryOption have the driver's numbers. */
cudaError_t impl_cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
				     void **jit_values, unsigned int jit_count, enum cudaLibraryOption *options, void **values,
				     unsigned int count)
{
	return RUNTIME(cuLibraryLoadData(library, code, (CUjit_option *)jit_options, jit_values, jit_count,
					 (CUlibraryOption *)options, values, count));
}

cudaError_t impl_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, enum cudaJitOption *jit_options,
					 void **jit_values, unsigned int jit_count, enum cudaLibraryOption *options,
					 void **values, unsigned int count)
{
	return RUNTIME(cuLibraryLoadFromFile(library, path, (CUjit_option *)jit_options, jit_values, jit_count,
					     (CUlibraryOption *)options, values, count));
}

cudaError_t impl_cudaLibraryUnload(cudaLibrary_t library)
{
	return RUNTIME(cuLibraryUnload(library));
}

cudaError_t impl_cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
	return RUNTIME(cuLibraryGetKernel(kernel, library, name));
}

cudaError_t impl_cudaLibraryGetGlobal(void **address, size_t *size, cudaLibrary_t library, const char *name)
{
	return RUNTIME(cuLibraryGetGlobal((CUdeviceptr *)address, size, library, name));
}

cudaError_t impl_cudaLibraryGetManaged(void **address, size_t *size, cudaLibrary_t library, const char *name)
{
	return RUNTIME(cuLibraryGetManaged((CUdeviceptr *)address, size, library, name));
}

cudaError_t impl_cudaLibraryGetUnifiedFunction(void **function, cudaLibrary_t library, const char *name)
{
	return RUNTIME(cuLibraryGetUnifiedFunction(function, library, name));
}

cudaError_t impl_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t library)
{
	return RUNTIME(cuLibraryGetKernelCount(count, library));
}

cudaError_t impl_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int count, cudaLibrary_t library)
{
	return RUNTIME(cuLibraryEnumerateKernels(kernels, count, library));
}

cudaError_t impl_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value, int device)
{
	return RUNTIME(cuKernelSetAttribute((CUfunction_attribute)attribute, value, kernel, device));
}

cudaError_t impl_cudaGetExportTable(const void **table, const cudaUUID_t *id)
{
	return runtime_result(cuGetExportTable(table, (const CUuuid *)id));
}

/* ---- functions of the driver --------------------------------------------------------------------------------------------------- */

/* That there is no such function is an answer, not a failure, where the program asks to be told. */
static cudaError_t entry_point(const char *symbol, void **function, int version, unsigned long long flags,
			       enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
	if (!symbol || !function)
		return runtime_result(cudaErrorInvalidValue);
	if (flags == cudaEnableDefault && api_per_thread_stream())
		flags = cudaEnablePerThreadDefaultStream;
	CUresult result = cuGetProcAddress_v2(symbol, function, version, flags, &found);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	if (result == CUDA_ERROR_NOT_FOUND || found != CU_GET_PROC_ADDRESS_SUCCESS) {
		*function = NULL;
		result = status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
	}
	return runtime_result(result);
}

cudaError_t impl_cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *status)
{
	return entry_point(symbol, function, RUNTIME_VERSION, flags, status);
}

cudaError_t impl_cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version,
						  unsigned long long flags, enum cudaDriverEntryPointQueryResult *status)
{
	return entry_point(symbol, function, (int)version, flags, status);
}

/* ---- the error log -------------------------------------------------------------------------------------------------------------- */

cudaError_t impl_cudaLogsRegisterCallback(cudaLogsCallback_t callback, void *argument, cudaLogsCallbackHandle *handle)
{
	return RUNTIME(cuLogsRegisterCallback((CUlogsCallback)callback, argument, handle));
}

cudaError_t impl_cudaLogsUnregisterCallback(cudaLogsCallbackHandle handle)
{
	return RUNTIME(cuLogsUnregisterCallback(handle));
}

cudaError_t impl_cudaLogsCurrent(cudaLogIterator *iterator, unsigned int flags)
{
	return RUNTIME(cuLogsCurrent(iterator, flags));
}

cudaError_t impl_cudaLogsDumpToFile(cudaLogIterator *iterator, const char *path, unsigned int flags)
{
	return RUNTIME(cuLogsDumpToFile(iterator, path, flags));
}

cudaError_t impl_cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
	return RUNTIME(cuLogsDumpToMemory(iterator, buffer, size, flags));
}
