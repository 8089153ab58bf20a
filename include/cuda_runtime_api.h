/* The CUDA runtime API, version 13.0, for C and C++, as Dragoman's libcudart.so.13 provides it.
 * Prototypes come from spec/cudart.api by way of tools/api_gen.py. Behaviour: CUDA Runtime API
 * reference manual. */
#ifndef __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__

#define CUDART_VERSION 13000
#ifndef __CUDART_API_VERSION
#define __CUDART_API_VERSION CUDART_VERSION
#endif

#include "builtin_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void (CUDART_CB *cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *userData);
typedef void (*cudaLogsCallback_t)(void *data, cudaLogLevel logLevel, char *message, size_t length);

#ifndef DRAGOMAN_TYPES_ONLY
#include "dragoman/cudart_functions.h"
#endif

#ifdef __cplusplus
}
#endif

#endif
