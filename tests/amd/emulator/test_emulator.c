/* The emulator against the host: each case of corpus.inc is executed as a kernel and as the same C compiled for this machine.
 *
 *     test_emulator CODE-OBJECT…          all cases of each; -c CASE: one; -v: every difference */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../emulator.h"
#include "corpus.h"

enum { COUNT = 3000 };

static const struct { const char *name; void (*run)(u64, u64, u64, u64 *); } cases[] = {
#define CASE(name, ...) { #name, case_##name },
#include "corpus.inc"
#undef CASE
};

static u64 random_state = 88172645463325252ul;
static u64 random_64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dul;
}

/* Bits that are interesting as one of the types; the lower part of a double's is too as another type's. */
static u64 random_word(void)
{
	static const u32 singles[] = { 0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x807fffff, 0x00800000,
		0x7f7fffff, 0xff7fffff, 0x4b000000, 0x4effffff, 0x3f000000, 0x40490fdb, 0x1fffffff };
	static const u64 doubles[] = { 0, 1ul << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 1,
		0x800ffffffffffffful, 0x0010000000000000, 0x7feffffffffffffful, 0x4330000000000000, 0x41dfffffffc00000, 0x3fe0000000000000, 0x400921fb54442d18 };
	static const u16 halves[] = { 0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 1, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x3800, 0x4248 };
	u64 x = random_64();
	double d;
	float f;

	switch (random_64() % 10) {
	case 0: case 1: return x;
	case 2: return (u64)((i64)x >> 58);
	case 3: return (u32)((i32)x >> (x >> 32 & 31));
	case 4: return x >> 32 << 32 | singles[(u32)x % (sizeof singles / sizeof *singles)];
	case 5: f = (float)(i32)x * 0x1p-22f; return (x >> 32 << 32) | f32_bits(f);
	case 6: d = (double)(i64)x * 0x1p-52; return f64_bits(d);
	case 7: return doubles[x % (sizeof doubles / sizeof *doubles)];
	case 8: return x >> 16 << 16 | halves[(u16)x % (sizeof halves / sizeof *halves)];
	default: return (u64)(u16)(0x3000 + (x >> 20 & 0x1fff)) << 16 | (x & 0xbfff);
	}
}

static bool verbose;

/* The number of results that differ. */
static int run_case(struct code_object *object, size_t number, const u64 *in, u64 *out)
{
	static _Alignas(64) uint8_t kernarg[64];
	const struct kernel *kernel = code_object_kernel(object, cases[number].name);
	const u64 *pointers[2] = { out, in };
	char error[512];
	u32 count = COUNT;
	int differences = 0;

	if (!kernel) {
		printf("%s: no such kernel\n", cases[number].name);
		return 1;
	}
	memcpy(kernarg, pointers, 16);
	memcpy(kernarg + 16, &count, 4);
	memset(out, 0x5c, COUNT * sizeof *out);
	struct dispatch dispatch = { .kernel = kernel, .grid = { (COUNT + 255) / 256, 1, 1 }, .block = { 256, 1, 1 }, .stack_bytes = 4096, .kernarg = kernarg,
		.kernarg_bytes = sizeof kernarg };
	if (dispatch_run(&dispatch, error, sizeof error)) {
		printf("%s\n", error);
		return 1;
	}
	for (int i = 0; i < COUNT; i++) {
		u64 want;

		cases[number].run(in[3 * i], in[3 * i + 1], in[3 * i + 2], &want);
		if (out[i] == want) continue;
		if (!differences++ || verbose)
			printf("%s: of %016lx %016lx %016lx: %016lx, not %016lx\n", cases[number].name, in[3 * i], in[3 * i + 1], in[3 * i + 2], out[i], want);
	}
	return differences;
}

static int run_object(const char *path, const char *only)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	long size;
	char error[256] = "";
	struct code_object *object;
	u64 *in = malloc(3 * COUNT * sizeof *in), *out = malloc(COUNT * sizeof *out);
	int failed = 0, passed = 0;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 64 || !(bytes = malloc((size_t)size)) || fseek(file, 0, SEEK_SET)
		|| fread(bytes, 1, (size_t)size, file) != (size_t)size || !in || !out) {
		printf("%s: cannot be read\n", path);
		return 1;
	}
	fclose(file);
	object = code_object_load(bytes, code_object_size(bytes), error, sizeof error);
	if (!object) {
		printf("%s: %s\n", path, error);
		return 1;
	}
	for (int i = 0; i < 3 * COUNT; i++) in[i] = random_word();
	memory_add(in, 3 * COUNT * sizeof *in);
	memory_add(out, COUNT * sizeof *out);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (only && strcmp(only, cases[i].name)) continue;
		if (run_case(object, i, in, out)) failed++;
		else passed++;
	}
	memory_remove(in);
	memory_remove(out);
	code_object_destroy(object);
	free(in);
	free(out);
	free(bytes);
	printf("%s: %d passed, %d failed\n", path, passed, failed);
	return failed;
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	int failed = 0, objects = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v")) verbose = true;
		else if (!strcmp(argv[i], "-c") && i + 1 < argc) only = argv[++i];
		else {
			failed += run_object(argv[i], only);
			objects++;
		}
	}
	return failed || !objects;
}
