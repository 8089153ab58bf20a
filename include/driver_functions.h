/* Makers of the small structs that the runtime API takes by value. */
#ifndef __DRIVER_FUNCTIONS_H__
#define __DRIVER_FUNCTIONS_H__

#include "driver_types.h"

static __inline__ __host__ struct cudaPitchedPtr make_cudaPitchedPtr(void *ptr, size_t pitch,
								     size_t xsize, size_t ysize)
{
	struct cudaPitchedPtr pitched = { ptr, pitch, xsize, ysize };
	return pitched;
}

static __inline__ __host__ struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
	struct cudaPos pos = { x, y, z };
	return pos;
}

static __inline__ __host__ struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
	struct cudaExtent extent = { width, height, depth };
	return extent;
}

#endif
