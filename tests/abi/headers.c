/* All public headers in one source, read as C and as C++: that they stand beside one another, and
 * that the C++ overloads take what programs pass. */
#include "cuda.h"
#include "cudaEGL.h"
#include "cudaGL.h"
#include "cudaProfiler.h"
#include "cudaTypedefs.h"
#include "cudaVDPAU.h"
#include "cuda_egl_interop.h"
#include "cuda_gl_interop.h"
#include "cuda_profiler_api.h"
#include "cuda_runtime.h"
#include "cuda_vdpau_interop.h"
#include "library_types.h"

#ifdef __cplusplus
static void kernel(int *, float)
{
}
static int symbol;

static cudaError_t overloads(int **device, cudaStream_t stream)
{
	cudaLaunchConfig_t config = {};
	void *arguments[] = { nullptr };
	int grid, block;
	cudaMalloc(device, 4);
	cudaMallocHost(device, 4);
	cudaMallocManaged(device, 4);
	cudaMemcpyToSymbol(symbol, arguments, 4);
	cudaMemcpyFromSymbol(arguments, symbol, 4);
	cudaLaunchKernel(kernel, dim3(1), dim3(2, 3), arguments);
	cudaLaunchKernelEx(&config, kernel, *device, 2.0);
	cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 16);
	cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel);
	cudaMemcpyAsync(*device, arguments, 4, cudaMemcpyDefault, stream);
	(void)cudaCreateChannelDesc<float4>();
	return cudaStreamWaitEvent(stream, nullptr);
}
#endif

int main(void)
{
#ifdef __cplusplus
	(void)&overloads;
	(void)&kernel;
#endif
	struct cudaDeviceProp properties;
	CUdeviceptr pointer = 0;
	(void)pointer;
	return sizeof properties == 1008 && sizeof(CUtensorMap) == 128 ? 0 : 1;
}
