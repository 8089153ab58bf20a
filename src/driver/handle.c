/* The slots behind handle.h: one reserved range, made accessible a piece at a time. */
#define _GNU_SOURCE
#include "driver/handle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SLAB_STEP = 1 << 20,   /* made accessible at once */
	SLAB_REST = 1024       /* slots that lie free before one is used again */
};

struct free_slot { /* what a free slot holds behind its struct handle */
	struct handle handle;
	struct free_slot *next;
};

static struct {
	pthread_mutex_t lock;
	uint8_t *base;
	size_t reserved;
	_Atomic size_t ready; /* bytes that may be touched; grows only */
	size_t used;          /* bytes that were ever given out */
	struct free_slot *oldest, *newest;
	size_t free_count;
} slab = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* LeakSanitizer does not look for pointers in mapped memory unless told; absent in normal builds. */
void __lsan_register_root_region(const void *, size_t) __attribute__((weak));

static bool slab_reserve_locked(void)
{
	for (size_t size = (size_t)8 << 30; size >= SLAB_STEP; size /= 2) {
		void *base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (base != MAP_FAILED) {
			slab.base = base;
			slab.reserved = size;
			return true;
		}
	}
	return false;
}

static struct free_slot *slab_take_locked(void)
{
	struct free_slot *slot = slab.oldest;
	size_t ready = atomic_load_explicit(&slab.ready, memory_order_relaxed);

	if (slot && (slab.free_count > SLAB_REST || slab.used >= slab.reserved)) {
		slab.oldest = slot->next;
		slab.free_count--;
		if (!slab.oldest)
			slab.newest = NULL;
		return slot;
	}
	if (!slab.base && !slab_reserve_locked())
		return NULL;
	if (slab.used == slab.reserved)
		return NULL;
	if (slab.used == ready) {
		if (mprotect(slab.base + ready, SLAB_STEP, PROT_READ | PROT_WRITE))
			return NULL;
		if (__lsan_register_root_region)
			__lsan_register_root_region(slab.base + ready, SLAB_STEP);
		atomic_store_explicit(&slab.ready, ready + SLAB_STEP, memory_order_release);
	}
	slot = (struct free_slot *)(slab.base + slab.used);
	slab.used += HANDLE_SLOT_BYTES;
	return slot;
}

void *handle_create(enum handle_kind kind)
{
	struct free_slot *slot;

	pthread_mutex_lock(&slab.lock);
	slot = slab_take_locked();
	pthread_mutex_unlock(&slab.lock);
	if (!slot)
		return NULL;
	memset((char *)slot + sizeof slot->handle, 0, HANDLE_SLOT_BYTES - sizeof slot->handle);
	atomic_store_explicit(&slot->handle.kind, kind, memory_order_release);
	return slot;
}

void handle_destroy(void *object)
{
	struct free_slot *slot = object;

	if (!slot)
		return;
	atomic_store_explicit(&slot->handle.kind, HANDLE_FREE, memory_order_release);
	slot->handle.generation++;
	pthread_mutex_lock(&slab.lock);
	slot->next = NULL;
	if (slab.newest)
		slab.newest->next = slot;
	else
		slab.oldest = slot;
	slab.newest = slot;
	slab.free_count++;
	pthread_mutex_unlock(&slab.lock);
}

void *handle_check(const void *pointer, enum handle_kind kind)
{
	size_t ready = atomic_load_explicit(&slab.ready, memory_order_acquire);
	uintptr_t offset = (uintptr_t)pointer - (uintptr_t)slab.base;
	struct handle *handle = (struct handle *)(uintptr_t)pointer;

	if (offset >= ready || offset % HANDLE_SLOT_BYTES)
		return NULL;
	return atomic_load_explicit(&handle->kind, memory_order_acquire) == kind ? handle : NULL;
}

void *handle_next(const void *previous, enum handle_kind kind)
{
	uint8_t *end = slab.base + atomic_load_explicit(&slab.ready, memory_order_acquire);
	uint8_t *at = previous ? (uint8_t *)(uintptr_t)previous + HANDLE_SLOT_BYTES : slab.base;

	for (; at < end; at += HANDLE_SLOT_BYTES)
		if (handle_check(at, kind))
			return at;
	return NULL;
}
