/* Interoperation of the CUDA runtime API with OpenGL. */
#ifndef __CUDA_GL_INTEROP_H__
#define __CUDA_GL_INTEROP_H__

#include "cuda_runtime_api.h"

#if defined(__has_include)
#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#define DRAGOMAN_HAVE_GL
#endif
#endif
#if !defined(DRAGOMAN_HAVE_GL) && !defined(DRAGOMAN_GL_TYPES)
#define DRAGOMAN_GL_TYPES
typedef unsigned int GLuint;
typedef unsigned int GLenum;
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum cudaGLDeviceList {
	cudaGLDeviceListAll = 1,
	cudaGLDeviceListCurrentFrame = 2,
	cudaGLDeviceListNextFrame = 3,
};

enum cudaGLMapFlags {
	cudaGLMapFlagsNone = 0,
	cudaGLMapFlagsReadOnly = 1,
	cudaGLMapFlagsWriteDiscard = 2,
};

#include "dragoman/cudart_gl_functions.h"

#ifdef __cplusplus
}
#endif

#endif
