/* The two sides of a copy as the API's many structures describe them, and what they come down to. */
#ifndef DRAGOMAN_DRIVER_COPY_H
#define DRAGOMAN_DRIVER_COPY_H

#include "driver/array.h"

enum side_kind { SIDE_PAGEABLE, SIDE_PINNED, SIDE_MANAGED, SIDE_DEVICE };

struct copy_side {
	/* as the program says it */
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t x, y, z, level;  /* x in bytes */
	size_t row, rows;       /* pitch in bytes, rows a slice; 0: as the copy needs */
	/* found out by copy_place() */
	size_t slice;
	void *pointer;
	enum side_kind kind;
	bool writes;
};

/* Checks both sides and fills the rest of `copy`, whose width, height and depth are set. */
CUresult copy_place(struct copy_side *to, struct copy_side *from, struct copy *copy);
/* Checks and does a copy in the stream; not `async`: in the default stream, waiting where CUDA waits. */
CUresult copy_run(CUstream handle, bool async, struct copy_side *to, struct copy_side *from, size_t width, size_t height,
		  size_t depth);
void copy_sides_of_3d(const CUDA_MEMCPY3D *parameters, struct copy_side *to, struct copy_side *from);

#endif
