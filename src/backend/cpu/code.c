/* Memory for code: writable while it is filled, executable afterwards, never both. Chunks are mapped whole and given out
 * in pages, so that the objects of a program's many kernels lie side by side in a few mappings. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, CHUNK_PAGES = 512, STUB = 16 };

struct code_chunk {
	struct code_chunk *next;
	uint8_t *base;
	size_t pages, used;
	bool taken[];
};

void cpu_code_arena_init(struct code_arena *arena)
{
	pthread_mutex_init(&arena->lock, NULL);
	arena->chunks = NULL;
}

void cpu_code_arena_fini(struct code_arena *arena)
{
	while (arena->chunks) {
		struct code_chunk *chunk = arena->chunks;
		arena->chunks = chunk->next;
		munmap(chunk->base, chunk->pages * PAGE);
		free(chunk);
	}
	pthread_mutex_destroy(&arena->lock);
}

static struct code_chunk *chunk_create(struct code_arena *arena, size_t pages)
{
	if (pages < CHUNK_PAGES)
		pages = CHUNK_PAGES;
	struct code_chunk *chunk = calloc(1, sizeof *chunk + pages * sizeof chunk->taken[0]);
	if (!chunk)
		return NULL;
	chunk->base = mmap(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (chunk->base == MAP_FAILED) {
		free(chunk);
		return NULL;
	}
	chunk->pages = pages;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	return chunk;
}

static uint8_t *chunk_take(struct code_chunk *chunk, size_t pages)
{
	size_t run = 0;
	for (size_t i = 0; i < chunk->pages; i++) {
		run = chunk->taken[i] ? 0 : run + 1;
		if (run < pages)
			continue;
		memset(chunk->taken + i + 1 - pages, 1, pages);
		chunk->used += pages;
		return chunk->base + (i + 1 - pages) * PAGE;
	}
	return NULL;
}

void *cpu_code_arena_take(struct code_arena *arena, size_t bytes)
{
	size_t pages = (bytes + PAGE - 1) / PAGE;
	uint8_t *at = NULL;
	pthread_mutex_lock(&arena->lock);
	for (struct code_chunk *chunk = arena->chunks; chunk && !at; chunk = chunk->next)
		if (chunk->pages - chunk->used >= pages)
			at = chunk_take(chunk, pages);
	if (!at) {
		struct code_chunk *chunk = chunk_create(arena, pages);
		at = chunk ? chunk_take(chunk, pages) : NULL;
	}
	pthread_mutex_unlock(&arena->lock);
	if (at && mprotect(at, pages * PAGE, PROT_READ | PROT_WRITE)) {
		cpu_code_arena_give(arena, at, bytes);
		return NULL;
	}
#ifdef MADV_POPULATE_WRITE
	/* All of them will be written now: one call in place of a fault for each. Older systems do not know it, and nothing is lost. */
	if (at && pages > 4)
		madvise(at, pages * PAGE, MADV_POPULATE_WRITE);
#endif
	return at;
}

bool cpu_code_arena_seal(void *at, size_t bytes)
{
	__builtin___clear_cache((char *)at, (char *)at + bytes);
	return !mprotect(at, align_up(bytes, PAGE), PROT_READ | PROT_EXEC);
}

void cpu_code_arena_give(struct code_arena *arena, void *at, size_t bytes)
{
	size_t pages = (bytes + PAGE - 1) / PAGE;
	madvise(at, pages * PAGE, MADV_DONTNEED);
	mprotect(at, pages * PAGE, PROT_NONE);
	pthread_mutex_lock(&arena->lock);
	for (struct code_chunk *chunk = arena->chunks; chunk; chunk = chunk->next) {
		size_t offset = (size_t)((uint8_t *)at - chunk->base);
		if ((uint8_t *)at < chunk->base || offset >= chunk->pages * PAGE)
			continue;
		memset(chunk->taken + offset / PAGE, 0, pages);
		chunk->used -= pages;
		break;
	}
	pthread_mutex_unlock(&arena->lock);
}

/* The stubs' pages are followed by the pages of the pointers, which stay writable: all targets, then all tables. A stub loads its table into
 * the register of a function's fifth argument, whatever the caller has there, and jumps. */
bool cpu_code_stubs_create(struct code_stubs *stubs, struct code_arena *arena, size_t count, void *target)
{
	size_t code = align_up(count * STUB, PAGE), bytes = code + align_up(2 * count * sizeof(void *), PAGE);
	uint8_t *at = cpu_code_arena_take(arena, bytes);
	if (!at)
		return false;
	for (size_t i = 0; i < count; i++) {
		uint8_t *stub = at + i * STUB;
		int32_t distance = (int32_t)(code + i * sizeof(void *) - i * STUB), table = distance + (int32_t)(count * sizeof(void *));
#if defined(__x86_64__)
		static const uint8_t load[] = { 0x4c, 0x8b, 0x05 }, jump[] = { 0xff, 0x25 }; /* mov table(%rip), %r8; jmp *distance(%rip) */
		memcpy(stub, load, sizeof load);
		table -= 7;
		memcpy(stub + 3, &table, 4);
		memcpy(stub + 7, jump, sizeof jump);
		distance -= 13;
		memcpy(stub + 9, &distance, 4);
#elif defined(__aarch64__)
		/* ldr x4, table; ldr x16, distance; br x16 */
		uint32_t words[3] = { 0x58000004u | (uint32_t)(table / 4) << 5, 0x58000010u | (uint32_t)(distance / 4 - 1) << 5, 0xd61f0200u };
		memcpy(stub, words, sizeof words);
#else
		(void)stub, (void)distance, (void)table;
		return false;
#endif
		memcpy(at + code + i * sizeof target, &target, sizeof target);
	}
	if (!cpu_code_arena_seal(at, code)) {
		cpu_code_arena_give(arena, at, bytes);
		return false;
	}
	*stubs = (struct code_stubs){ .code = at, .targets = (_Atomic(void *) *)(void *)(at + code), .bytes = bytes };
	stubs->tables = (void **)(void *)(at + code) + count;
	return true;
}

void cpu_code_stubs_destroy(struct code_stubs *stubs, struct code_arena *arena)
{
	if (stubs->code)
		cpu_code_arena_give(arena, stubs->code, stubs->bytes);
	*stubs = (struct code_stubs){ 0 };
}

bool cpu_code_stub_find(const struct code_stubs *stubs, uint64_t address, size_t *index)
{
	uint64_t at = address - (uintptr_t)stubs->code;
	if (!stubs->code || at >= stubs->bytes || at % STUB)
		return false;
	*index = at / STUB;
	return true;
}

void *cpu_code_stub(const struct code_stubs *stubs, size_t index)
{
	return stubs->code + index * STUB;
}
