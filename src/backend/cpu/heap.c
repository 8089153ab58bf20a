/* malloc and free of device code (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation"): the C library's, with a
 * limit and a check that what is released was allocated here. */
#include "backend/cpu/cpu.h"

#include <stdlib.h>

struct header { /* in front of each allocation; 32 bytes keep it aligned to 16 */
	struct header *next, *previous;
	uint64_t size;
	uint64_t seal; /* tells an allocation from anything else */
};

struct heap {
	struct spinlock lock;
	struct header *first;
	uint64_t used, limit;
};

struct heap *cpu_heap_create(uint64_t limit)
{
	struct heap *heap = calloc(1, sizeof *heap);
	if (heap)
		heap->limit = limit;
	return heap;
}

void cpu_heap_destroy(struct heap *heap)
{
	while (heap && heap->first) {
		struct header *header = heap->first;
		heap->first = header->next;
		free(header);
	}
	free(heap);
}

void cpu_heap_set_limit(struct heap *heap, uint64_t limit)
{
	spinlock_lock(&heap->lock);
	heap->limit = limit;
	spinlock_unlock(&heap->lock);
}

static uint64_t seal_of(const struct heap *heap, const struct header *header)
{
	return ((uintptr_t)header ^ (uintptr_t)heap) * UINT64_C(0x9E3779B97F4A7C15);
}

void *cpu_heap_allocate(struct heap *heap, uint64_t size)
{
	if (!size || size > SIZE_MAX / 2)
		return NULL;
	uint64_t whole = align_up(size, 16) + sizeof(struct header);
	spinlock_lock(&heap->lock);
	bool fits = heap->used <= heap->limit && whole <= heap->limit - heap->used;
	if (fits)
		heap->used += whole;
	spinlock_unlock(&heap->lock);
	if (!fits)
		return NULL;
	struct header *header = aligned_alloc(16, whole);
	spinlock_lock(&heap->lock);
	if (header) {
		*header = (struct header){ .next = heap->first, .size = whole, .seal = seal_of(heap, header) };
		if (heap->first)
			heap->first->previous = header;
		heap->first = header;
	} else {
		heap->used -= whole;
	}
	spinlock_unlock(&heap->lock);
	return header ? header + 1 : NULL;
}

bool cpu_heap_release(struct heap *heap, void *pointer)
{
	struct header *header = (struct header *)pointer - 1;
	if ((uintptr_t)pointer % 16)
		return false;
	/* Read before the lock is taken: a wild pointer faults, and a fault must not leave a lock behind. */
	if (*(volatile uint64_t *)&header->seal != seal_of(heap, header))
		return false;
	spinlock_lock(&heap->lock);
	bool ours = header->seal == seal_of(heap, header);
	if (ours) {
		header->seal = 0;
		heap->used -= header->size;
		if (header->next)
			header->next->previous = header->previous;
		if (header->previous)
			header->previous->next = header->next;
		else
			heap->first = header->next;
	}
	spinlock_unlock(&heap->lock);
	if (ours)
		free(header);
	return ours;
}
