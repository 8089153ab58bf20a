/* The table of memory that kernels may touch: live allocations, sorted by address. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "emulator.h"

struct range {
	uint64_t start, size;
};
static struct range *ranges;
static size_t range_count, range_capacity;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_ulong generation = 1;

/* The index of the first range that begins after `address`. */
static size_t upper_bound(uint64_t address)
{
	size_t low = 0, high = range_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ranges[middle].start <= address) low = middle + 1;
		else high = middle;
	}
	return low;
}

void memory_add(const void *start, size_t size)
{
	size_t at;

	pthread_rwlock_wrlock(&lock);
	if (range_count == range_capacity) {
		range_capacity = range_capacity ? 2 * range_capacity : 64;
		ranges = realloc(ranges, range_capacity * sizeof *ranges);
		if (!ranges) abort();
	}
	at = upper_bound((uint64_t)(uintptr_t)start);
	memmove(ranges + at + 1, ranges + at, (range_count - at) * sizeof *ranges);
	ranges[at] = (struct range){ (uint64_t)(uintptr_t)start, size };
	range_count++;
	generation++;
	pthread_rwlock_unlock(&lock);
}

void memory_remove(const void *start)
{
	size_t at;

	pthread_rwlock_wrlock(&lock);
	at = upper_bound((uint64_t)(uintptr_t)start);
	if (at && ranges[at - 1].start == (uint64_t)(uintptr_t)start) {
		memmove(ranges + at - 1, ranges + at, (range_count - at) * sizeof *ranges);
		range_count--;
		generation++;
	}
	if (!range_count) {
		free(ranges);
		ranges = NULL;
		range_capacity = 0;
	}
	pthread_rwlock_unlock(&lock);
}

bool memory_find(uint64_t address, size_t size, uint64_t *start, size_t *length)
{
	bool found = false;
	size_t at;

	pthread_rwlock_rdlock(&lock);
	at = upper_bound(address);
	if (at) {
		const struct range *range = &ranges[at - 1];

		found = address - range->start <= range->size && size <= range->size - (address - range->start);
		if (found && start) *start = range->start;
		if (found && length) *length = range->size;
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

uint64_t memory_generation(void) { return generation; }
