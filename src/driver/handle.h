/* Handles: the objects behind CUcontext, CUstream, CUfunction and the rest.
 *
 * A program may pass any bits where a handle is expected, and must then get CUDA_ERROR_INVALID_HANDLE (or the status
 * that the function's page names), never a crash. All handle objects therefore live in slots of one reserved address range:
 * whether a pointer can be a handle is a range and alignment test, after which reading the slot's kind is safe.
 * No lock is taken to check one, so the launch path may. Slots are reused oldest first, which keeps a stale handle
 * recognisable for a while. */
#ifndef DRAGOMAN_DRIVER_HANDLE_H
#define DRAGOMAN_DRIVER_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

enum { HANDLE_SLOT_BYTES = 512 };

enum handle_kind {
	HANDLE_FREE,
	HANDLE_CONTEXT,
	HANDLE_STREAM,
	HANDLE_EVENT,
	HANDLE_MODULE,
	HANDLE_FUNCTION,
	HANDLE_LIBRARY,
	HANDLE_KERNEL,
	HANDLE_LINK,
	HANDLE_ARRAY,
	HANDLE_MIPMAP,
	HANDLE_TEXREF,
	HANDLE_SURFREF,
	HANDLE_POOL,
	HANDLE_GRAPH,
	HANDLE_GRAPH_NODE,
	HANDLE_GRAPH_EXEC,
	HANDLE_USER_OBJECT,
	HANDLE_CONDITIONAL,
	HANDLE_GREEN_CONTEXT,
	HANDLE_RESOURCE,
	HANDLE_LOG_CALLBACK,
	HANDLE_NOTIFICATION,
	HANDLE_MEMORY, /* CUmemGenericAllocationHandle */
	HANDLE_OBJECT  /* texture and surface objects, by their 64-bit number */
};

struct handle { /* first member of every such object */
	_Atomic uint32_t kind;
	uint32_t generation; /* grows each time the slot is given back */
};

#define HANDLE_FITS(type) _Static_assert(sizeof(type) <= HANDLE_SLOT_BYTES, "an object behind a handle has one slot")

/* A zeroed object of that kind; NULL where memory is gone. */
void *handle_create(enum handle_kind kind);
void handle_destroy(void *object);
/* The object, or NULL where `pointer` is not a live handle of that kind. */
void *handle_check(const void *pointer, enum handle_kind kind);
/* The next live object of a kind after `previous` (NULL: the first): for clean-up by walking. */
void *handle_next(const void *previous, enum handle_kind kind);

#endif
