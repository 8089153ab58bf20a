/* The types that the driver API's entries and implementations see: all of cuda.h under the
 * functions' own names, and the graphics interoperation. */
#ifndef DRAGOMAN_API_CUDA_TYPES_H
#define DRAGOMAN_API_CUDA_TYPES_H

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include "cuda.h"
#include "cudaEGL.h"
#include "cudaGL.h"
#include "cudaVDPAU.h"

#endif
