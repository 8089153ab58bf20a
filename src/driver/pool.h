/* Stream-ordered memory: pools. CUDA Driver API 6.15 "Stream Ordered Memory Allocator". */
#ifndef DRAGOMAN_DRIVER_POOL_H
#define DRAGOMAN_DRIVER_POOL_H

#include "driver/driver.h"

enum { POOL_CLASSES = 256 };

struct pool_block {
	struct pool_block *next;
	uintptr_t base;
	size_t size;          /* of its class */
	void *memory;         /* that the device gave: `base` is in it */
	struct ipc_memory *shared; /* with other processes; NULL: not */
	uint32_t entry;       /* of the pool's file, plus 1: how others open it, where the device has handles of its own; 0: not shared */
	struct driver_device *opened; /* it is another process's, and that device opened it so; NULL: mapped, or our own */
	struct queue *queue;  /* that the free is in; NULL: nothing to wait for */
	uint64_t ticket;
};

struct pool_state {
	pthread_mutex_t lock;
	struct pool_block *free[POOL_CLASSES];
	uint64_t threshold, reserved, reserved_high, used, used_high;
	int reuse[3];
	CUmemAccess_flags access[64];
};

struct pool {
	struct handle handle;
	struct driver_device *device; /* whose memory it is */
	bool is_default, host;
	CUmemPoolProps properties;
	uint64_t share_id;            /* what processes that share the pool know it by; 0: not shared */
	int file;                     /* that says so to other processes, or the other process's; 0: none yet */
	uint32_t entries;             /* of the file */
	bool imported;                /* another process's: its blocks are mapped, none is made */
	_Atomic uint32_t uses;        /* the program's, and one for each allocation */
	struct pool_state *state;
};

HANDLE_FITS(struct pool);

CUresult pool_find(CUmemoryPool handle, struct pool **pool);
struct pool *pool_new(struct driver_device *device); /* with one use, which is the program's */
/* A block of another process's pool is not needed any more, once the queue (NULL: now) has got that far. */
void pool_block_unmap(struct pool_block *block, struct queue *queue);

/* An allocation of a pool's leaves the map: its memory returns to the pool. */
void pool_give_back(const struct allocation *allocation);
/* The device's memory is short: give it all that pools hold free. */
void pools_trim(struct driver_device *device);
/* The host has waited for work of the device: give back what pools hold beyond their thresholds. */
void pools_synchronized(struct driver_device *device);
void pools_forget_context(struct context *context);
unsigned pool_handle_types(const struct allocation *allocation);

#endif
