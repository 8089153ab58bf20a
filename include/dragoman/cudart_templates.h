/* The C++ overloads of the runtime API: typed pointers in the place of void *, kernels and
 * variables in the place of addresses. CUDA Runtime API reference manual, "C++ API Routines". */
#ifndef DRAGOMAN_CUDART_TEMPLATES_H
#define DRAGOMAN_CUDART_TEMPLATES_H

#include <utility>

/* ---- memory --------------------------------------------------------------------------------- */

template <class T> static inline cudaError_t cudaMalloc(T **devPtr, size_t size)
{
	return ::cudaMalloc(reinterpret_cast<void **>(devPtr), size);
}

template <class T> static inline cudaError_t cudaMallocHost(T **ptr, size_t size, unsigned int flags = 0)
{
	return ::cudaHostAlloc(reinterpret_cast<void **>(ptr), size, flags);
}

template <class T> static inline cudaError_t cudaHostAlloc(T **ptr, size_t size, unsigned int flags)
{
	return ::cudaHostAlloc(reinterpret_cast<void **>(ptr), size, flags);
}

template <class T>
static inline cudaError_t cudaHostGetDevicePointer(T **pDevice, void *pHost, unsigned int flags)
{
	return ::cudaHostGetDevicePointer(reinterpret_cast<void **>(pDevice), pHost, flags);
}

template <class T>
static inline cudaError_t cudaMallocManaged(T **devPtr, size_t size,
					    unsigned int flags = cudaMemAttachGlobal)
{
	return ::cudaMallocManaged(reinterpret_cast<void **>(devPtr), size, flags);
}

template <class T>
static inline cudaError_t cudaMallocPitch(T **devPtr, size_t *pitch, size_t width, size_t height)
{
	return ::cudaMallocPitch(reinterpret_cast<void **>(devPtr), pitch, width, height);
}

template <class T>
static inline cudaError_t cudaMallocAsync(T **devPtr, size_t size, cudaStream_t stream)
{
	return ::cudaMallocAsync(reinterpret_cast<void **>(devPtr), size, stream);
}

template <class T>
static inline cudaError_t cudaMallocAsync(T **devPtr, size_t size, cudaMemPool_t memPool,
					  cudaStream_t stream)
{
	return ::cudaMallocFromPoolAsync(reinterpret_cast<void **>(devPtr), size, memPool, stream);
}

template <class T>
static inline cudaError_t cudaMallocFromPoolAsync(T **devPtr, size_t size, cudaMemPool_t memPool,
						  cudaStream_t stream)
{
	return ::cudaMallocFromPoolAsync(reinterpret_cast<void **>(devPtr), size, memPool, stream);
}

template <class T>
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *devPtr, size_t length = 0,
						   unsigned int flags = cudaMemAttachSingle)
{
	return ::cudaStreamAttachMemAsync(stream, static_cast<void *>(devPtr), length, flags);
}

/* ---- variables ------------------------------------------------------------------------------ */

template <class T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, size_t count,
					     size_t offset = 0,
					     enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
	return ::cudaMemcpyToSymbol(static_cast<const void *>(&symbol), src, count, offset, kind);
}

template <class T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t count,
						  size_t offset = 0,
						  enum cudaMemcpyKind kind = cudaMemcpyHostToDevice,
						  cudaStream_t stream = 0)
{
	return ::cudaMemcpyToSymbolAsync(static_cast<const void *>(&symbol), src, count, offset, kind, stream);
}

template <class T>
static inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t count,
					       size_t offset = 0,
					       enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
	return ::cudaMemcpyFromSymbol(dst, static_cast<const void *>(&symbol), count, offset, kind);
}

template <class T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const T &symbol, size_t count,
						    size_t offset = 0,
						    enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
						    cudaStream_t stream = 0)
{
	return ::cudaMemcpyFromSymbolAsync(dst, static_cast<const void *>(&symbol), count, offset, kind,
					   stream);
}

template <class T> static inline cudaError_t cudaGetSymbolAddress(void **devPtr, const T &symbol)
{
	return ::cudaGetSymbolAddress(devPtr, static_cast<const void *>(&symbol));
}

template <class T> static inline cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol)
{
	return ::cudaGetSymbolSize(size, static_cast<const void *>(&symbol));
}

/* ---- kernels -------------------------------------------------------------------------------- */

template <class T>
static inline cudaError_t cudaLaunchKernel(T *func, dim3 gridDim, dim3 blockDim, void **args,
					   size_t sharedMem = 0, cudaStream_t stream = 0)
{
	return ::cudaLaunchKernel(reinterpret_cast<const void *>(func), gridDim, blockDim, args, sharedMem,
				  stream);
}

template <class T>
static inline cudaError_t cudaLaunchCooperativeKernel(T *func, dim3 gridDim, dim3 blockDim, void **args,
						      size_t sharedMem = 0, cudaStream_t stream = 0)
{
	return ::cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(func), gridDim, blockDim, args,
					     sharedMem, stream);
}

template <class... Expected, class... Actual>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Expected...),
					     Actual &&...args)
{
	return [&](Expected... values) {
		void *pointers[sizeof...(Expected) + 1] = { &values... };
		return ::cudaLaunchKernelExC(config, reinterpret_cast<const void *>(kernel), pointers);
	}(std::forward<Actual>(args)...);
}

template <class T> static inline cudaError_t cudaFuncSetCacheConfig(T *func, enum cudaFuncCache cacheConfig)
{
	return ::cudaFuncSetCacheConfig(reinterpret_cast<const void *>(func), cacheConfig);
}

template <class T>
static inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, T *entry)
{
	return ::cudaFuncGetAttributes(attr, reinterpret_cast<const void *>(entry));
}

template <class T>
static inline cudaError_t cudaFuncSetAttribute(T *func, enum cudaFuncAttribute attr, int value)
{
	return ::cudaFuncSetAttribute(reinterpret_cast<const void *>(func), attr, value);
}

template <class T> static inline cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, T *symbol)
{
	return ::cudaGetFuncBySymbol(functionPtr, reinterpret_cast<const void *>(symbol));
}

template <class T> static inline cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, T *func)
{
	return ::cudaGetKernel(kernelPtr, reinterpret_cast<const void *>(func));
}

/* ---- occupancy ------------------------------------------------------------------------------ */

template <class T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, T func,
									int blockSize,
									size_t dynamicSMemSize)
{
	return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		numBlocks, reinterpret_cast<const void *>(func), blockSize, dynamicSMemSize,
		cudaOccupancyDefault);
}

/* The block size with the most threads on a multiprocessor, where the shared memory of a block
 * follows from its size; the larger one of two that are equal. */
template <class UnaryFunction, class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
	int *minGridSize, int *blockSize, T func, UnaryFunction blockSizeToDynamicSMemSize,
	int blockSizeLimit = 0, unsigned int flags = 0)
{
	int device, processors, warp, limit, blocks, most = 0;
	struct cudaFuncAttributes attributes;
	const void *address = reinterpret_cast<const void *>(func);
	cudaError_t error = ::cudaGetDevice(&device);
	if (!error)
		error = ::cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	if (!error)
		error = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
	if (!error)
		error = ::cudaFuncGetAttributes(&attributes, address);
	if (error)
		return error;
	limit = attributes.maxThreadsPerBlock;
	if (blockSizeLimit > 0 && blockSizeLimit < limit)
		limit = blockSizeLimit;
	*minGridSize = *blockSize = 0;
	for (int rounded = (limit + warp - 1) / warp * warp; rounded > 0; rounded -= warp) {
		int size = rounded < limit ? rounded : limit;
		error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			&blocks, address, size, blockSizeToDynamicSMemSize(size), flags);
		if (error)
			return error;
		if (blocks * size > most) {
			most = blocks * size;
			*blockSize = size;
			*minGridSize = blocks * processors;
		}
	}
	return cudaSuccess;
}

template <class UnaryFunction, class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(
	int *minGridSize, int *blockSize, T func, UnaryFunction blockSizeToDynamicSMemSize,
	int blockSizeLimit = 0)
{
	return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
		minGridSize, blockSize, func, blockSizeToDynamicSMemSize, blockSizeLimit, cudaOccupancyDefault);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
								      T func, size_t dynamicSMemSize = 0,
								      int blockSizeLimit = 0,
								      unsigned int flags = 0)
{
	return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
		minGridSize, blockSize, func, [=](int) { return dynamicSMemSize; }, blockSizeLimit, flags);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, T func,
							     size_t dynamicSMemSize = 0,
							     int blockSizeLimit = 0)
{
	return cudaOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, dynamicSMemSize,
							   blockSizeLimit, cudaOccupancyDefault);
}

/* ---- events and graphs ---------------------------------------------------------------------- */

static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
	return ::cudaEventCreateWithFlags(event, flags);
}

static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
					       cudaGraphNode_t *pErrorNode, char *pLogBuffer,
					       size_t bufferSize)
{
	if (pErrorNode)
		*pErrorNode = 0;
	if (pLogBuffer && bufferSize)
		*pLogBuffer = 0;
	return ::cudaGraphInstantiate(pGraphExec, graph, 0);
}

#endif
