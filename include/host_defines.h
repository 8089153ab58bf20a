/* Function and variable qualifiers of CUDA C++ (CUDA C++ Programming Guide, "Function execution
 * space specifiers" and "Variable memory space specifiers"). A host compiler sees nothing of them;
 * clang's CUDA front end has them as attributes. */
#ifndef __HOST_DEFINES_H__
#define __HOST_DEFINES_H__

#ifdef _WIN32
#define CUDARTAPI __stdcall
#define CUDARTAPI_CDECL __cdecl
#else
#define CUDARTAPI
#define CUDARTAPI_CDECL
#endif

#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __no_return__ __attribute__((noreturn))
#ifndef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif

#if defined(__CUDA__) || defined(__CUDACC__)
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__ __attribute__((grid_constant))
#else
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __grid_constant__
#endif

#endif
