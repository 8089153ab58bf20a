/* Arrays: memory that textures and surfaces read, laid out here as pitched rows and slices.
 * CUDA Driver API 6.13, cuArray*, cuMipmappedArray*. */
#ifndef DRAGOMAN_DRIVER_ARRAY_H
#define DRAGOMAN_DRIVER_ARRAY_H

#include "driver/driver.h"

struct array {
	struct handle handle;
	struct context *context;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	size_t element;             /* bytes of one texel or block */
	size_t row_bytes;           /* of its width */
	size_t rows, slices;        /* at least 1; layers and faces are slices */
	size_t pitch, slice;        /* bytes from row to row, slice to slice */
	uint8_t *base;
	struct mipmap *parent;      /* it is a level, and goes with its parent */
	struct array *planes[2];
};

struct mipmap {
	struct handle handle;
	struct context *context;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	unsigned level_count;
	struct array *levels[16];
	uint8_t *base;
	size_t bytes;
};

HANDLE_FITS(struct array);
HANDLE_FITS(struct mipmap);

struct array *array_check(CUarray handle);
size_t array_format_bytes(CUarray_format format); /* of one channel; 0 where it is not known */

#endif
