/* Arenas, growable arrays and text buffers. */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	_Alignas(16) char data[];
};

enum { FIRST_CHUNK = 4 << 10, LARGEST_CHUNK = 1 << 20 };

void arena_init(struct arena *arena)
{
	*arena = (struct arena){ 0 };
}

void arena_fini(struct arena *arena)
{
	struct arena_chunk *chunk = arena->chunks;
	while (chunk) {
		struct arena_chunk *next = chunk->next;
		free(chunk);
		chunk = next;
	}
	arena_init(arena);
}

/* The one place where Dragoman gives up: tens of bytes could not be had. Nothing that follows in
 * the host program could succeed either. Large, data-sized requests never come through an arena. */
static _Noreturn void arena_exhausted(size_t size)
{
	fprintf(stderr, "dragoman: out of memory (%zu bytes for an internal table)\n", size);
	abort();
}

static void *arena_take(struct arena *arena, size_t size, size_t align)
{
	char *at = (char *)align_up((uintptr_t)arena->next, align);
	if (arena->next && at <= arena->end && size <= (size_t)(arena->end - at)) {
		arena->next = at + size;
		return at;
	}
	size_t want = arena->bytes ? arena->bytes / 2 : FIRST_CHUNK;
	if (want < FIRST_CHUNK)
		want = FIRST_CHUNK;
	if (want > LARGEST_CHUNK)
		want = LARGEST_CHUNK;
	if (size > want / 2)
		want = size;
	struct arena_chunk *chunk = malloc(sizeof *chunk + want);
	if (!chunk)
		arena_exhausted(size);
	chunk->size = want;
	arena->bytes += sizeof *chunk + want;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->next = chunk->data + size;
	arena->end = chunk->data + want;
	return chunk->data;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	return memset(arena_take(arena, size, 16), 0, size);
}

char *arena_text(struct arena *arena, size_t size)
{
	return arena_take(arena, size, 8);
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_take(arena, length + 1, 1);
	memcpy(copy, text, length);
	copy[length] = 0;
	return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	char *out = arena_take(arena, (size_t)length + 1, 1);
	va_start(arguments, format);
	vsnprintf(out, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return out;
}

bool vec_reserve(void *data_pointer, size_t *capacity, size_t count, size_t size)
{
	if (count < *capacity)
		return true;
	size_t want = *capacity ? *capacity * 2 : 8;
	void *data;
	memcpy(&data, data_pointer, sizeof data);
	data = realloc(data, want * size);
	if (!data)
		return false;
	memcpy(data_pointer, &data, sizeof data);
	*capacity = want;
	return true;
}

void vec_free(void *data)
{
	free(data);
}

static bool text_room(struct text *text, size_t more)
{
	if (text->count + more + 1 <= text->capacity)
		return true;
	size_t want = text->capacity ? text->capacity * 2 : 256;
	while (want < text->count + more + 1)
		want *= 2;
	char *data = realloc(text->data, want);
	if (!data)
		return false;
	text->data = data;
	text->capacity = want;
	return true;
}

void text_add(struct text *text, const char *bytes, size_t length)
{
	if (!text_room(text, length))
		return;
	memcpy(text->data + text->count, bytes, length);
	text->count += length;
	text->data[text->count] = 0;
}

void text_vprintf(struct text *text, const char *format, va_list arguments)
{
	va_list again;
	va_copy(again, arguments);
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0 || !text_room(text, (size_t)length))
		return;
	vsnprintf(text->data + text->count, (size_t)length + 1, format, arguments);
	text->count += (size_t)length;
}

void text_printf(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	text_vprintf(text, format, arguments);
	va_end(arguments);
}

void text_fini(struct text *text)
{
	free(text->data);
	*text = (struct text){ 0 };
}
