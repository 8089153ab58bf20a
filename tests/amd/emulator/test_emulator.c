/* The emulator against the host: each case of corpus.inc is executed as a kernel and as the same C compiled for this machine.
 *
 *     test_emulator CODE-OBJECT…          all cases of each; -c CASE: one; -v: every difference */
#include <fenv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../emulator.h"
#include "corpus.h"

enum { COUNT = 3000 };

/* ---- what instructions.inc's expressions use ---- */
static u32 half_toward_zero(float x)
{
	u16 sign = (u16)(f32_bits(x) >> 16 & 0x8000);
	half h = (half)x;

	if (x != x) return 0x7e00 | (f32_bits(x) >> 16 & 0x8000);
	if (__builtin_isinf(x)) return sign | 0x7c00u;
	if (__builtin_fabsf((float)h) > __builtin_fabsf(x)) return f16_bits(h) - 1;
	return sign | f16_bits(h);
}

static unsigned class_of(u32 x)
{
	float f = bits_f32(x);
	bool negative = x >> 31;

	if (f != f) return x >> 22 & 1;
	if (__builtin_isinf(f)) return negative ? 2 : 9;
	if (f == 0) return negative ? 5 : 6;
	if (__builtin_isnormal(f)) return negative ? 3 : 8;
	return negative ? 4 : 7;
}

static float flushed(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x; }

static const int roundings[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
static u32 with_rounding(int mode, float x, float y, i64 operation)
{
	volatile float p = x, q = y, r;
	volatile i32 n = (i32)(operation >> 4);

	fesetround(roundings[mode]);
	switch (operation & 15) {
	case 0: r = p + q; break;
	case 1: r = p * q; break;
	case 2: r = __builtin_fmaf(p, q, 1.0f); break;
	default: r = (float)n; break;
	}
	fesetround(FE_TONEAREST);
	return f32_bits(r);
}
static u64 with_rounding_f64(int mode, double x, double y)
{
	volatile double p = x, q = y, r;

	fesetround(roundings[mode]);
	r = p + q;
	fesetround(FE_TONEAREST);
	return f64_bits(r);
}

static u32 first_lane_bits(u32 s4)
{
	u64 sum = (u64)(s4 >> 3 & 127) + bit_reverse_32(s4);

	return (u32)sum + (u32)__builtin_popcount(s4) + (u32)(sum >> 32);
}
static u32 scalar_compared(u32 s4)
{
	i32 x = (i32)s4;
	u32 s5 = (x < 100 ? 11 : 22) + 5 + (s4 > 0xfff0), s6 = x > 9 ? s4 - 9 : 9 - s4;

	s6 = ((i32)s6 > x ? s6 : s4) >> 4;
	return s5 ^ s6;
}

/* `first`: the a of the wave's first lane */
typedef void case_function(u64 a, u64 b, u64 c, u64 first, u64 *result);
#define CASE(name, ...) static void run_##name(u64 a, u64 b, u64 c, u64 first, u64 *result) { (void)first; case_##name(a, b, c, result); }
#include "corpus.inc"
#undef CASE
#define ASM(name, where, text, ...) static void run_asm_##name(u64 a, u64 b, u64 c, u64 first, u64 *result) \
	{ u64 r = 0; (void)a, (void)b, (void)c, (void)first; __VA_ARGS__; *result = (u32)r; }
#define WIDE(name, where, text, ...) static void run_asm_##name(u64 a, u64 b, u64 c, u64 first, u64 *result) \
	{ u64 r = 0; (void)a, (void)b, (void)c, (void)first; __VA_ARGS__; *result = r; }
#include "instructions.inc"
#undef ASM
#undef WIDE

static const struct { const char *name; case_function *run; bool nan_differs; } cases[] = {
#define CASE(name, ...) { #name, run_##name, false },
#include "corpus.inc"
#undef CASE
#define ASM(name, where, text, ...) { "asm_" #name, run_asm_##name, false },
#define WIDE(name, where, text, ...) { "asm_" #name, run_asm_##name, true },
#include "instructions.inc"
};

/* A NaN's payload and sign are not specified by C: any is as good. */
static bool same(const char *name, bool wide, u64 got, u64 want)
{
	if (got == want) return true;
	if (strncmp(name, "asm_", 4)) return false;
	if (wide && bits_f64(want) != bits_f64(want) && bits_f64(got) != bits_f64(got)) return true;
	for (int i = 0; i < 64; i += 32) {
		u32 x = (u32)(got >> i), y = (u32)(want >> i);
		bool halves = true;

		if (x == y || (bits_f32(x) != bits_f32(x) && bits_f32(y) != bits_f32(y))) continue;
		for (int k = 0; k < 32; k += 16) {
			half p = bits_f16((u16)(x >> k)), q = bits_f16((u16)(y >> k));

			if ((u16)(x >> k) != (u16)(y >> k) && !(p != p && q != q)) halves = false;
		}
		if (!halves) return false;
	}
	return true;
}

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

/* Kernels of one block: what each thread gives is told by the words of all. */
enum { THREADS = 192 };
typedef void block_function(const u64 *in, u32 t, u32 width, u64 *result);
#define GPU(...)
#define HOST(...) __VA_ARGS__;
#define A(x) in[3 * (x)]
#define B(x) in[3 * (x) + 1]
/* The thread's registers of C + A B, folded as blocks_gpu.c does: lane l's element e is of row (column) l mod 16 and k `k_of`; the lane's
 * register e of the result is of row `row_of` and its own column. */
#define MATRIX(elements, k_of, row_of, registers, words_of, nibbles_unsigned) \
	i64 x[16][32] = { 0 }, y[16][32] = { 0 }; \
	for (u32 l = 0; l < width; l++) \
		for (u32 e = 0; e < (elements); e++) { \
			x[l & 15][k_of] = (nibbles_unsigned) ? SMALL(A(words_of), e) & 15 : SMALL(A(words_of), e); \
			y[l & 15][k_of] = SMALL(B(words_of), e); \
		} \
	for (u32 e = 0; e < (registers); e++) { \
		i64 sum = SMALL(c, e); \
		for (u32 k = 0; k < 32; k++) sum += x[row_of][k] * y[lane & 15][k]; \
		r += (u64)sum * (2 * e + 1); \
	}
#define BLOCK(name, where, ...) static void run_block_##name(const u64 *in, u32 t, u32 width, u64 *result) \
{ \
	u32 lane = t % width, wave = t - lane; \
	u64 a = in[3 * t], b = in[3 * t + 1], c = in[3 * t + 2], r = 0; \
\
	(void)lane, (void)wave, (void)a, (void)b, (void)c; \
	__VA_ARGS__ \
	*result = r; \
}
#include "blocks.inc"
#undef BLOCK
static const struct { const char *name; block_function *run; } blocks[] = {
#define BLOCK(name, where, ...) { "block_" #name, run_block_##name },
#include "blocks.inc"
};

static bool verbose;

static int run_block(struct code_object *object, size_t number, const u64 *in, u64 *out)
{
	static _Alignas(64) uint8_t kernarg[64], counters[64];
	const struct kernel *kernel = code_object_kernel(object, blocks[number].name);
	const void *pointers[3] = { out, in, counters };
	char error[512];
	int differences = 0;

	memcpy(kernarg, pointers, sizeof pointers);
	memset(counters, 0, sizeof counters);
	memset(out, 0x5c, THREADS * sizeof *out);
	memory_add(counters, sizeof counters);
	struct dispatch dispatch = { .kernel = kernel, .grid = { 1, 1, 1 }, .block = { THREADS, 1, 1 }, .stack_bytes = 4096, .kernarg = kernarg,
		.kernarg_bytes = sizeof kernarg };
	enum dispatch_status status = dispatch_run(&dispatch, error, sizeof error);
	memory_remove(counters);
	if (status) {
		printf("%s\n", error);
		return 1;
	}
	for (u32 t = 0; t < THREADS; t++) {
		u64 want;

		blocks[number].run(in, t, kernel->wave_size, &want);
		if (out[t] == want) continue;
		if (!differences++ || verbose) printf("%s: thread %u: %016lx, not %016lx\n", blocks[number].name, t, out[t], want);
	}
	return differences;
}

/* The number of results that differ. */
static int run_case(struct code_object *object, size_t number, const u64 *in, u64 *out)
{
	static _Alignas(64) uint8_t kernarg[64];
	const struct kernel *kernel = code_object_kernel(object, cases[number].name);
	const u64 *pointers[2] = { out, in };
	char error[512];
	u32 count = COUNT;
	int differences = 0;

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

		cases[number].run(in[3 * i], in[3 * i + 1], in[3 * i + 2], in[3 * (i - i % (int)kernel->wave_size)], &want);
		if (same(cases[number].name, cases[number].nan_differs, out[i], want)) continue;
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
		if ((only && strcmp(only, cases[i].name)) || !code_object_kernel(object, cases[i].name)) continue;
		if (run_case(object, i, in, out)) failed++;
		else passed++;
	}
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		if ((only && strcmp(only, blocks[i].name)) || !code_object_kernel(object, blocks[i].name)) continue;
		if (run_block(object, i, in, out)) failed++;
		else passed++;
	}
	memory_remove(in);
	memory_remove(out);
	code_object_destroy(object);
	free(in);
	free(out);
	free(bytes);
	printf("%s: %d passed, %d failed\n", path, passed, failed);
	return failed + !passed;
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
