/* amd_link() as a program, for the tests:
 *     link_object IN.o OUT
 *     link_object --mutate COUNT SEED IN.o    links damaged copies: each is refused with a line or gives an object that is within its bounds */
#include "codegen/amd_link.h"

#include "base/base.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;

	if (file && !fseek(file, 0, SEEK_END)) {
		*size = (size_t)ftell(file);
		rewind(file);
		bytes = malloc(*size + 1);
		if (bytes && fread(bytes, 1, *size, file) != *size)
			*size = 0;
	}
	if (file)
		fclose(file);
	return bytes;
}

static uint32_t next(uint32_t *state) /* xorshift */
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* The segments of what was linked lie in the file. */
static bool is_sound(const uint8_t *image, size_t size)
{
	Elf64_Ehdr e;

	if (size < sizeof e)
		return false;
	memcpy(&e, image, sizeof e);
	if (e.e_phoff + e.e_phnum * sizeof(Elf64_Phdr) > size || e.e_shoff + e.e_shnum * sizeof(Elf64_Shdr) > size)
		return false;
	for (int i = 0; i < e.e_phnum; i++) {
		Elf64_Phdr p;

		memcpy(&p, image + e.e_phoff + (size_t)i * sizeof p, sizeof p);
		if (p.p_offset > size || p.p_filesz > size - p.p_offset || p.p_memsz < p.p_filesz || (p.p_vaddr - p.p_offset) % 4096)
			return false;
	}
	return true;
}

static const uint64_t awkward[] = { 0, 1, 7, 0x40, 0xff1f, 0xfff1, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX, UINT64_MAX - 7, 1u << 28 };

/* Mostly in the tables, where a byte means something. */
static void damage(uint8_t *bytes, size_t size, uint32_t *state)
{
	for (uint32_t n = 1 + next(state) % 3; n; n--) {
		Elf64_Ehdr e;
		size_t at = next(state) % size, width = (size_t)1 << next(state) % 4;

		memcpy(&e, bytes, sizeof e);
		if (next(state) % 4 && e.e_shoff < size)
			at = e.e_shoff + next(state) % (size - e.e_shoff);
		else if (next(state) % 4 == 0)
			at = next(state) % sizeof e;
		if (next(state) & 1)
			at -= at % width;
		uint64_t value = next(state) & 1 ? awkward[next(state) % ARRAY_LENGTH(awkward)] : next(state);
		if (at + width <= size)
			memcpy(bytes + at, &value, width);
	}
}

static int mutate(uint32_t count, uint32_t seed, const char *path)
{
	size_t size = 0, linked_size;
	uint8_t *object = read_file(path, &size), *copy;
	uint32_t linked = 0, refused = 0, state = seed | 1;

	for (uint32_t i = 0; object && i < count; i++) {
		char error[256] = "";
		/* to the byte, so that a sanitizer sees what is read behind it */
		size_t length = i % 16 ? size : next(&state) % size;

		copy = malloc(length ? length : 1);
		memcpy(copy, object, length);
		if (length > sizeof(Elf64_Ehdr))
			damage(copy, length, &state);
		void *image = amd_link(copy, length, &linked_size, error, sizeof error);
		if (image ? !is_sound(image, linked_size) : !*error) {
			fprintf(stderr, "mutation %u of seed %u: %s\n", i, seed, image ? "the image is not sound" : "no message");
			return 1;
		}
		linked += image != NULL;
		refused += !image;
		free(image);
		free(copy);
	}
	free(object);
	printf("%u linked, %u refused\n", linked, refused);
	return !(linked && refused);
}

int main(int argc, char **argv)
{
	size_t size = 0, linked_size;
	char error[256];

	if (argc == 5 && !strcmp(argv[1], "--mutate"))
		return mutate((uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]), argv[4]);
	if (argc != 3)
		return 2;
	uint8_t *object = read_file(argv[1], &size);
	void *image = object ? amd_link(object, size, &linked_size, error, sizeof error) : NULL;
	if (!image) {
		fprintf(stderr, "%s: %s\n", argv[1], object ? error : "cannot be read");
		free(object);
		return 1;
	}
	FILE *out = fopen(argv[2], "wb");
	bool written = out && fwrite(image, 1, linked_size, out) == linked_size;
	written = out && !fclose(out) && written;
	free(image);
	free(object);
	return !written;
}
