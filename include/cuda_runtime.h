/* The CUDA runtime API with its C++ conveniences: the overloads that take typed pointers, kernels
 * and symbols. Device functions (threadIdx, __syncthreads, mathematics) are in dragoman_device.h,
 * which CUDA compilations alone include. */
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__

#include "builtin_types.h"
#include "channel_descriptor.h"
#include "cuda_runtime_api.h"
#include "driver_functions.h"
#include "library_types.h"
#include "vector_functions.h"

#ifdef __cplusplus
#include "dragoman/cudart_templates.h"
#endif

#if defined(__CUDACC__) || defined(__CUDA__)
#include "dragoman_device.h"
#endif

#endif
