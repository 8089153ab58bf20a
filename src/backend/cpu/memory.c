/* Device memory: one large reserved range, PROT_NONE but for what is allocated, so that an address that strays far
 * from its allocation faults. The range is divided into units of 2 MiB. A large allocation has units of its own and an
 * inaccessible one behind it; small ones (512-byte grains, as on the GPU) share a unit, a slab.
 * Addresses are found through a table with one entry a unit. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	UNIT_SHIFT = 21,
	GRAIN_SHIFT = 9,
	GRAINS = 1 << (UNIT_SHIFT - GRAIN_SHIFT), /* of a slab */
};
#define UNIT ((uint64_t)1 << UNIT_SHIFT)
#define GRAIN ((uint64_t)1 << GRAIN_SHIFT)
#define LARGE (UNIT / 2) /* from here on an allocation has units of its own */

/* One large allocation, or a slab. A slab notes at each allocation's first grain how many grains it has and how many bytes
 * were asked for. */
struct region {
	uint64_t unit, units; /* without the guard */
	uint64_t skew;        /* bytes before a large allocation */
	uint64_t size;        /* asked for; 0: a slab */
	uint32_t used;        /* grains, of a slab */
	uint32_t hint;        /* no free grain below */
	struct region *next_slab;
	struct grain {
		uint16_t count; /* grains, at an allocation's first one */
		bool taken;
		uint32_t size;
	} *grains;
};

struct memory {
	pthread_mutex_t lock;
	void *reserved;                 /* one unit more than there are, so that base can be aligned */
	uint8_t *base;
	uint64_t unit_count, next_unit; /* search starts here: addresses are not reused at once */
	struct region **units;          /* region of each unit, its guard included */
	struct region *slabs;
	uint64_t used, total;
	unsigned larges;                /* made so far */
};

static bool reserve(struct memory *memory)
{
	uint64_t want = align_up(memory->total * 4 + ((uint64_t)64 << 30), UNIT);
	/* Where addresses are limited (RLIMIT_AS) a device with less memory is better than none. */
	for (; want >= 32 * UNIT; want = align_up(want / 2, UNIT)) {
		void *at = mmap(NULL, want + UNIT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at == MAP_FAILED)
			continue;
		memory->reserved = at;
		memory->base = (uint8_t *)align_up((uintptr_t)at, UNIT);
		memory->unit_count = want >> UNIT_SHIFT;
		memory->units = calloc(memory->unit_count, sizeof *memory->units);
		if (memory->units) {
			if (memory->total > want / 2)
				memory->total = want / 2;
			return true;
		}
		munmap(at, want + UNIT);
	}
	return false;
}

struct memory *cpu_memory_create(uint64_t total)
{
	struct memory *memory = calloc(1, sizeof *memory);
	if (!memory)
		return NULL;
	pthread_mutex_init(&memory->lock, NULL);
	memory->total = total;
	if (reserve(memory))
		return memory;
	log_error("cannot reserve %" PRIu64 " MiB of addresses for device memory (is there a limit on virtual memory?)", total >> 20);
	free(memory);
	return NULL;
}

static void region_free(struct region *region)
{
	free(region->grains);
	free(region);
}

void cpu_memory_destroy(struct memory *memory)
{
	if (!memory)
		return;
	for (uint64_t i = 0; i < memory->unit_count; i++) {
		struct region *region = memory->units[i];
		if (!region)
			continue;
		i = region->unit + region->units; /* its guard */
		region_free(region);
	}
	munmap(memory->reserved, (memory->unit_count + 1) << UNIT_SHIFT);
	free(memory->units);
	pthread_mutex_destroy(&memory->lock);
	free(memory);
}

/* The first of `count` free units in a row from next_unit on, wrapping once; unit_count: none. */
static uint64_t find_units(const struct memory *memory, uint64_t count)
{
	for (int pass = 0; pass < 2; pass++) {
		uint64_t at = pass ? 0 : memory->next_unit, run = 0;
		while (at < memory->unit_count) {
			const struct region *region = memory->units[at];
			if (region) {
				run = 0;
				at = region->unit + region->units + 1;
				continue;
			}
			at++;
			if (++run == count)
				return at - count;
		}
	}
	return memory->unit_count;
}

static void *unit_address(const struct memory *memory, uint64_t unit)
{
	return memory->base + (unit << UNIT_SHIFT);
}

static uint8_t *region_address(const struct memory *memory, const struct region *region)
{
	return (uint8_t *)unit_address(memory, region->unit) + region->skew;
}

static struct region *region_create(struct memory *memory, uint64_t bytes, uint64_t size)
{
	uint64_t units = (bytes + UNIT - 1) >> UNIT_SHIFT;
	uint64_t unit = find_units(memory, units + 1);
	struct region *region = unit < memory->unit_count ? calloc(1, sizeof *region) : NULL;
	if (!region)
		return NULL;
	void *at = unit_address(memory, unit);
	size_t mapped = align_up(bytes, 4096);
	if (mmap(at, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
		free(region);
		return NULL;
	}
	if (mapped >= UNIT)
		madvise(at, mapped, MADV_HUGEPAGE);
	*region = (struct region){ .unit = unit, .units = units, .size = size };
	for (uint64_t i = 0; i <= units; i++)
		memory->units[unit + i] = region;
	memory->next_unit = unit + units + 1;
	if (memory->next_unit >= memory->unit_count)
		memory->next_unit = 0;
	return region;
}

static void region_destroy(struct memory *memory, struct region *region)
{
	/* A fresh inaccessible mapping: gives the pages back and leaves no gap that others could map into. */
	mmap(unit_address(memory, region->unit), region->units << UNIT_SHIFT, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	for (uint64_t i = 0; i <= region->units; i++)
		memory->units[region->unit + i] = NULL;
	region_free(region);
}

static struct region *slab_create(struct memory *memory)
{
	struct region *slab = region_create(memory, UNIT, 0);
	if (!slab)
		return NULL;
	slab->grains = calloc(GRAINS, sizeof *slab->grains);
	if (!slab->grains) {
		region_destroy(memory, slab);
		return NULL;
	}
	slab->next_slab = memory->slabs;
	memory->slabs = slab;
	return slab;
}

/* First fit. */
static void *slab_take(struct memory *memory, struct region *slab, uint32_t count, uint64_t size)
{
	if (GRAINS - slab->used < count)
		return NULL;
	uint32_t run = 0;
	bool first_free = true;
	for (uint32_t i = slab->hint; i < GRAINS; i++) {
		if (slab->grains[i].taken) {
			run = 0;
			continue;
		}
		if (first_free)
			slab->hint = i;
		first_free = false;
		if (++run < count)
			continue;
		uint32_t start = i + 1 - count;
		for (uint32_t k = start; k <= i; k++)
			slab->grains[k] = (struct grain){ .taken = true };
		slab->grains[start].count = (uint16_t)count;
		slab->grains[start].size = (uint32_t)size;
		slab->used += count;
		return (uint8_t *)unit_address(memory, slab->unit) + ((uint64_t)start << GRAIN_SHIFT);
	}
	return NULL;
}

static void *allocate_small(struct memory *memory, uint64_t size)
{
	uint32_t count = (uint32_t)((size + GRAIN - 1) >> GRAIN_SHIFT);
	for (struct region *slab = memory->slabs; slab; slab = slab->next_slab) {
		void *at = slab_take(memory, slab, count, size);
		if (at)
			return at;
	}
	struct region *slab = slab_create(memory);
	return slab ? slab_take(memory, slab, count, size) : NULL;
}

/* Arrays of one size that are all walked through together would otherwise have equal addresses modulo a page, and a load
 * that follows a store to another of them at the same place would wait for it (Intel Optimization Manual, "4K aliasing"). */
static void *allocate_large(struct memory *memory, uint64_t size)
{
	uint64_t skew = memory->larges++ % 8 * GRAIN;
	struct region *region = region_create(memory, size + skew, size);
	if (!region)
		return NULL;
	region->skew = skew;
	return region_address(memory, region);
}

int cpu_memory_allocate(struct memory *memory, uint64_t size, void **pointer)
{
	if (!size)
		return STATUS_INVALID_VALUE;
	pthread_mutex_lock(&memory->lock);
	void *at = NULL;
	uint64_t rounded = size > memory->total ? size : align_up(size, GRAIN);
	if (rounded <= memory->total && memory->used <= memory->total - rounded) {
		if (size >= LARGE) {
			at = allocate_large(memory, size);
		} else {
			at = allocate_small(memory, size);
		}
	}
	if (at)
		memory->used += rounded;
	pthread_mutex_unlock(&memory->lock);
	if (!at)
		return STATUS_OUT_OF_MEMORY;
	*pointer = at;
	return STATUS_SUCCESS;
}

static struct region *region_at(const struct memory *memory, uint64_t address)
{
	uint64_t offset = address - (uintptr_t)memory->base;
	if (address < (uintptr_t)memory->base || offset >> UNIT_SHIFT >= memory->unit_count)
		return NULL;
	return memory->units[offset >> UNIT_SHIFT];
}

static void slab_release(struct memory *memory, struct region *slab, uint32_t start)
{
	uint32_t count = slab->grains[start].count;
	for (uint32_t k = start; k < start + count; k++)
		slab->grains[k] = (struct grain){ 0 };
	slab->used -= count;
	if (start < slab->hint)
		slab->hint = start;
	/* The last slab stays: programs allocate and release in turns. */
	if (slab->used || (memory->slabs == slab && !slab->next_slab))
		return;
	struct region **link = &memory->slabs;
	while (*link != slab)
		link = &(*link)->next_slab;
	*link = slab->next_slab;
	region_destroy(memory, slab);
}

int cpu_memory_release(struct memory *memory, void *pointer)
{
	uint64_t address = (uintptr_t)pointer;
	int status = STATUS_INVALID_VALUE;
	pthread_mutex_lock(&memory->lock);
	struct region *region = region_at(memory, address);
	uint64_t offset = region ? address - (uintptr_t)region_address(memory, region) : 0;
	if (region && region->size && !offset) {
		memory->used -= align_up(region->size, GRAIN);
		region_destroy(memory, region);
		status = STATUS_SUCCESS;
	} else if (region && region->grains && !(offset % GRAIN) && offset >> GRAIN_SHIFT < GRAINS &&
		   region->grains[offset >> GRAIN_SHIFT].count) {
		uint32_t start = (uint32_t)(offset >> GRAIN_SHIFT);
		memory->used -= align_up(region->grains[start].size, GRAIN);
		slab_release(memory, region, start);
		status = STATUS_SUCCESS;
	}
	pthread_mutex_unlock(&memory->lock);
	return status;
}

void cpu_memory_info(struct memory *memory, uint64_t *free_bytes, uint64_t *total_bytes)
{
	uint64_t available = cpu_host_memory_available();
	pthread_mutex_lock(&memory->lock);
	*free_bytes = memory->total - memory->used;
	*total_bytes = memory->total;
	pthread_mutex_unlock(&memory->lock);
	if (*free_bytes > available)
		*free_bytes = available;
}

/* The last allocation of a slab that starts at or before `grain`. */
static bool slab_find(const struct memory *memory, const struct region *slab, uint64_t grain, uint64_t *start, uint64_t *size)
{
	if (grain >= GRAINS)
		grain = GRAINS - 1;
	for (uint64_t i = grain + 1; i-- > 0;) {
		if (!slab->grains[i].count)
			continue;
		*start = (uintptr_t)unit_address(memory, slab->unit) + (i << GRAIN_SHIFT);
		*size = slab->grains[i].size;
		return true;
	}
	return false;
}

bool cpu_memory_find(struct memory *memory, uint64_t address, uint64_t *start, uint64_t *size)
{
	bool found = false;
	pthread_mutex_lock(&memory->lock);
	uint64_t base = (uintptr_t)memory->base;
	if (address >= base && (address - base) >> UNIT_SHIFT < memory->unit_count) {
		uint64_t unit = (address - base) >> UNIT_SHIFT;
		/* Nothing further than 64 GiB behind is called near. */
		for (uint64_t tries = 0; tries < 32768 && !found; tries++, unit--) {
			const struct region *region = memory->units[unit];
			if (region && region->grains) {
				uint64_t offset = address - (uintptr_t)unit_address(memory, region->unit);
				found = slab_find(memory, region, offset >> GRAIN_SHIFT, start, size);
			} else if (region) {
				*start = (uintptr_t)region_address(memory, region);
				*size = region->size;
				found = *start <= address;
			}
			if (!unit)
				break;
		}
	}
	pthread_mutex_unlock(&memory->lock);
	return found;
}

void cpu_memory_describe(struct memory *memory, uint64_t address, char *out, size_t size)
{
	enum { NEAR = 1 << 20, FAR = 16 << 20 };
	uint64_t start, bytes, next, next_bytes;
	bool after = cpu_memory_find(memory, address, &start, &bytes);
	uint64_t distance = after && address >= start + bytes ? address - start - bytes : 0;
	if (address < 65536) {
		snprintf(out, size, " (a null pointer%s)", address ? " with an offset" : "");
	} else if (after && address < start + bytes) {
		snprintf(out, size, " (%" PRIu64 " bytes into a %" PRIu64 "-byte allocation at 0x%" PRIx64 ")", address - start, bytes, start);
	} else if (cpu_memory_find(memory, address + NEAR, &next, &next_bytes) && next > address && (!after || next - address < distance)) {
		snprintf(out, size, " (%" PRIu64 " bytes before a %" PRIu64 "-byte allocation at 0x%" PRIx64 ")", next - address, next_bytes, next);
	} else if (after && distance < FAR) {
		snprintf(out, size, " (%" PRIu64 " bytes past the end of a %" PRIu64 "-byte allocation at 0x%" PRIx64 ")", distance, bytes, start);
	} else {
		snprintf(out, size, after ? " (in no allocation)" : " (not device memory)");
	}
}
