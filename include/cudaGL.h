/* Interoperation of the CUDA driver API with OpenGL. */
#ifndef CUDAGL_H
#define CUDAGL_H

#include "cuda.h"

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

typedef enum CUGLDeviceList_enum {
	CU_GL_DEVICE_LIST_ALL = 0x1,
	CU_GL_DEVICE_LIST_CURRENT_FRAME = 0x2,
	CU_GL_DEVICE_LIST_NEXT_FRAME = 0x3,
} CUGLDeviceList;

typedef enum CUGLmap_flags_enum {
	CU_GL_MAP_RESOURCE_FLAGS_NONE = 0x0,
	CU_GL_MAP_RESOURCE_FLAGS_READ_ONLY = 0x1,
	CU_GL_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 0x2,
} CUGLmap_flags;

#include "dragoman/cuda_gl_functions.h"

#ifdef __cplusplus
}
#endif

#endif
