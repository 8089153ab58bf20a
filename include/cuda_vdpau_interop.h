/* Interoperation of the CUDA runtime API with VDPAU. */
#ifndef __CUDA_VDPAU_INTEROP_H__
#define __CUDA_VDPAU_INTEROP_H__

#include <stdint.h>

#include "cuda_runtime_api.h"

#if defined(__has_include)
#if __has_include(<vdpau/vdpau.h>)
#include <vdpau/vdpau.h>
#define DRAGOMAN_HAVE_VDPAU
#endif
#endif
#if !defined(DRAGOMAN_HAVE_VDPAU) && !defined(DRAGOMAN_VDPAU_TYPES)
#define DRAGOMAN_VDPAU_TYPES
typedef uint32_t VdpDevice;
typedef uint32_t VdpVideoSurface;
typedef uint32_t VdpOutputSurface;
typedef int VdpGetProcAddress(VdpDevice device, uint32_t function_id, void **function_pointer);
#endif

#ifdef __cplusplus
extern "C" {
#endif

#include "dragoman/cudart_vdpau_functions.h"

#ifdef __cplusplus
}
#endif

#endif
