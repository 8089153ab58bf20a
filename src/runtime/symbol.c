/* Variables of device code, named by the address of their host shadows. CUDA Runtime API, "Memory Management". */
#include "runtime.h"

cudaError_t symbol_range(const void *symbol, size_t offset, size_t count, void **address)
{
	CUdeviceptr start;
	size_t size;
	cudaError_t error = register_find_variable(symbol, &start, &size);
	if (error)
		return error;
	if (offset > size || count > size - offset)
		return (cudaError_t)api_error(cudaErrorInvalidValue, "bytes %zu to %zu of a variable of %zu bytes", offset,
					      offset + count, size);
	*address = host_pointer(start + offset);
	return cudaSuccess;
}

cudaError_t impl_cudaGetSymbolAddress(void **address, const void *symbol)
{
	RUNTIME_REQUIRE();
	return runtime_result(address ? symbol_range(symbol, 0, 0, address) : cudaErrorInvalidValue);
}

cudaError_t impl_cudaGetSymbolSize(size_t *size, const void *symbol)
{
	CUdeviceptr address;
	RUNTIME_REQUIRE();
	return runtime_result(size ? register_find_variable(symbol, &address, size) : cudaErrorInvalidValue);
}

static cudaError_t copy_to_symbol(const void *symbol, const void *from, size_t count, size_t offset, enum cudaMemcpyKind kind,
				  cudaStream_t stream, bool wait)
{
	void *address;
	RUNTIME_REQUIRE();
	if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost)
		return runtime_fail(cudaErrorInvalidMemcpyDirection, "a variable is device memory");
	cudaError_t error = symbol_range(symbol, offset, count, &address);
	return runtime_result(error ? error : copy_bytes(address, from, count, kind, stream, wait));
}

static cudaError_t copy_from_symbol(void *to, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
				    cudaStream_t stream, bool wait)
{
	void *address;
	RUNTIME_REQUIRE();
	if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice)
		return runtime_fail(cudaErrorInvalidMemcpyDirection, "a variable is device memory");
	cudaError_t error = symbol_range(symbol, offset, count, &address);
	return runtime_result(error ? error : copy_bytes(to, address, count, kind, stream, wait));
}

cudaError_t impl_cudaMemcpyToSymbol(const void *symbol, const void *from, size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	return copy_to_symbol(symbol, from, count, offset, kind, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t count, size_t offset,
					 enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_to_symbol(symbol, from, count, offset, kind, stream, false);
}

cudaError_t impl_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	return copy_from_symbol(to, symbol, count, offset, kind, runtime_default_stream(), true);
}

cudaError_t impl_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
					   cudaStream_t stream)
{
	return copy_from_symbol(to, symbol, count, offset, kind, stream, false);
}
