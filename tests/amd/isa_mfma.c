/* Matrix instructions: WMMA (gfx11, gfx12; waves of 32) and MFMA (gfx90a, gfx942), of 16 × 16 results.
 *
 * Where elements lie is as AMD's Matrix Instruction Calculator has it. Results of f16 and bf16 are the exact sum, rounded once: hardware's
 * order and rounding differ between machines and are not documented. gfx90a takes and gives their subnormals as zeros. */
#include <math.h>
#include "machine.h"

enum element { F16, BF16, F32, F64, I8, I4 };
enum { EDGE = 16, MOST_DEPTH = 32 };

/* What `detail` says. */
#define DETAIL(wmma, element, depth) ((wmma) | (element) << 1 | (depth) << 4)
struct shape { bool wmma; enum element element; unsigned depth, bits; };

static struct shape shape_of(const struct instruction *in)
{
	static const uint8_t bits[] = { [F16] = 16, [BF16] = 16, [F32] = 32, [F64] = 64, [I8] = 8, [I4] = 4 };
	enum element element = (enum element)(in->detail >> 1 & 7);

	return (struct shape){ in->detail & 1, element, in->detail >> 4, bits[element] };
}

struct place { unsigned lane, reg, bit; };

/* Element k of a row of A; of a column of B it is the same. */
static struct place factor_place(const struct wave *w, struct shape s, unsigned row, unsigned k)
{
	unsigned run, in_lane;

	if (s.wmma && w->gpu->generation == 11)	/* each lane a whole row, and the upper half of the wave again */
		return (struct place){ row, k * s.bits / 32, k * s.bits % 32 };
	if (s.wmma && s.bits == 16) return (struct place){ 16 * (k / 4 % 2) + row, 2 * (k / 8) + k / 2 % 2, 16 * (k % 2) };
	run = s.depth / (s.wmma ? 2 : 4);
	in_lane = k % run;
	return (struct place){ 16 * (k / run) + row, in_lane * s.bits / 32, in_lane * s.bits % 32 };
}

static struct place result_place(const struct wave *w, struct shape s, unsigned row, unsigned column)
{
	if (s.wmma && w->gpu->generation == 11) return (struct place){ 16 * (row % 2) + column, row / 2, 0 };
	if (s.wmma) return (struct place){ 16 * (row / 8) + column, row % 8, 0 };
	if (s.element == F64) return (struct place){ 16 * (row % 4) + column, 2 * (row / 4), 0 };
	return (struct place){ 16 * (row / 4) + column, row % 4, 0 };
}

union element_value { double number; int32_t integer; };

static double half_value(const struct wave *w, enum element element, uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	bool flush = w->gpu->cdna && !strcmp(w->gpu->name, "gfx90a");
	float value;

	if (flush && !(bits & (element == F16 ? 0x7c00 : 0x7f80))) return bits & 0x8000 ? -0.0 : 0;
	if (element == F16) return (double)half_to_float(bits);
	memcpy(&value, &wide, 4);
	return (double)value;
}

static union element_value element_at(const struct wave *w, const struct operand *o, struct shape s, struct place p, bool is_signed)
{
	const uint32_t *row = wave_row((struct wave *)w, o->reg + p.reg);
	uint32_t word = row[p.lane] >> p.bit;
	union element_value v = { 0 };
	uint64_t wide;
	float single;

	switch (s.element) {
	case F64:
		wide = word | (uint64_t)row[w->lanes + p.lane] << 32;
		memcpy(&v.number, &wide, 8);
		break;
	case F32:
		memcpy(&single, &word, 4);
		v.number = (double)single;
		break;
	case F16: case BF16:
		v.number = half_value(w, s.element, (uint16_t)word);
		break;
	default:
		v.integer = (int32_t)(word << (32 - s.bits));
		v.integer = is_signed ? v.integer >> (32 - s.bits) : (int32_t)((uint32_t)v.integer >> (32 - s.bits));
	}
	return v;
}

/* false: the launch has failed. */
static bool read_factor(struct wave *w, const struct instruction *in, struct shape s, unsigned operand, union element_value to[EDGE][MOST_DEPTH])
{
	const struct operand *o = &in->o[operand];
	bool is_signed = !s.wmma || in->neg_lo >> (operand - 1) & 1;

	for (unsigned row = 0; row < EDGE; row++)
		for (unsigned k = 0; k < s.depth; k++) {
			struct place p = factor_place(w, s, row, k);

			to[row][k] = element_at(w, o, s, p, is_signed);
			if (!s.wmma || w->gpu->generation != 11) continue;
			const uint32_t *words = wave_row(w, o->reg + p.reg);

			if (words[p.lane] == words[p.lane + 16]) continue;
			wave_fail(w, in, DISPATCH_FAULT, "lanes %u and %u differ, which hold the same row", p.lane, p.lane + 16);
			return false;
		}
	return true;
}

static uint64_t addend_bits(struct wave *w, const struct operand *o, bool wide, struct place p)
{
	const uint32_t *row;

	if (o->kind == OPERAND_CONSTANT) return constant_bits(o, wide ? 'd' : 'u');
	row = wave_row(w, o->reg + p.reg);
	return row[p.lane] | (wide ? (uint64_t)row[w->lanes + p.lane] << 32 : 0);
}

static uint32_t float_result(const struct wave *w, struct shape s, const union element_value *a, const union element_value *b, uint32_t addend)
{
	float c, r;
	double sum;
	uint32_t bits;

	memcpy(&c, &addend, 4);
	r = c;
	sum = (double)c;
	for (unsigned k = 0; k < s.depth; k++) {
		r = fmaf((float)a[k].number, (float)b[k].number, r);
		sum += a[k].number * b[k].number;
	}
	if (s.element != F32) r = (float)sum;
	if (s.element != F32 && !strcmp(w->gpu->name, "gfx90a") && fabsf(r) < 0x1p-126f) r = copysignf(0, r);
	memcpy(&bits, &r, 4);
	return bits;
}

static uint32_t integer_result(const struct instruction *in, struct shape s, const union element_value *a, const union element_value *b, uint32_t addend)
{
	int64_t sum = (int32_t)addend;

	for (unsigned k = 0; k < s.depth; k++) sum += (int64_t)a[k].integer * b[k].integer;
	if (!in->clamp) return (uint32_t)sum;
	return (uint32_t)(sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum);
}

static double double_result(struct shape s, const union element_value *a, const union element_value *b, uint64_t addend)
{
	double r;

	memcpy(&r, &addend, 8);
	for (unsigned k = 0; k < s.depth; k++) r = fma(a[k].number, b[k].number, r);
	return r;
}

/* MFMA takes all lanes for active; of WMMA all must be. */
static void multiply(struct wave *w, const struct instruction *in)
{
	struct shape s = shape_of(in);
	bool wide = s.element == F64;
	static _Thread_local union element_value a[EDGE][MOST_DEPTH], b[EDGE][MOST_DEPTH];
	uint64_t results[EDGE][EDGE];

	if (s.wmma && (w->lanes != 32 || wave_exec(w) != wave_all(w))) {
		wave_fail(w, in, DISPATCH_UNSUPPORTED, "not of 32 active lanes");
		return;
	}
	if (in->op_sel || in->neg_hi || in->cbsz || in->abid || in->blgp || (s.element < I8 && in->neg_lo)) {
		wave_fail(w, in, DISPATCH_UNSUPPORTED, "modifiers that are not modelled");
		return;
	}
	if (!read_factor(w, in, s, 1, a) || !read_factor(w, in, s, 2, b)) return;
	rounding_set(0);
	for (unsigned row = 0; row < EDGE; row++)
		for (unsigned column = 0; column < EDGE; column++) {
			uint64_t c = addend_bits(w, &in->o[3], wide, result_place(w, s, row, column));
			double r;

			if (s.element >= I8) {
				results[row][column] = integer_result(in, s, a[row], b[column], (uint32_t)c);
			} else if (!wide) {
				results[row][column] = float_result(w, s, a[row], b[column], (uint32_t)c);
			} else {
				r = double_result(s, a[row], b[column], c);
				memcpy(&results[row][column], &r, 8);
			}
		}
	for (unsigned row = 0; row < EDGE; row++)
		for (unsigned column = 0; column < EDGE; column++) {
			struct place p = result_place(w, s, row, column);
			uint32_t *d = wave_row(w, in->o[0].reg + p.reg) + p.lane;

			d[0] = (uint32_t)results[row][column];
			if (wide) d[w->lanes] = (uint32_t)(results[row][column] >> 32);
		}
}

#define WMMA(stem, element, depth) { "v_wmma_" #stem, multiply, NULL, "", 0, false, DETAIL(1, element, depth), 0 },
/* gfx90a's name, gfx942's */
#define MFMA(stem, other, element, depth) { "v_mfma_" #stem, multiply, NULL, "", 0, false, DETAIL(0, element, depth), 0 }, \
	{ "v_mfma_" #other, multiply, NULL, "", 0, false, DETAIL(0, element, depth), 0 },
const struct opcode mfma_opcodes[] = {
	WMMA(f32_16x16x16_f16, F16, 16)
	WMMA(f32_16x16x16_bf16, BF16, 16)
	WMMA(i32_16x16x16_iu8, I8, 16)
	WMMA(i32_16x16x16_iu4, I4, 16)
	WMMA(i32_16x16x32_iu4, I4, 32)
	MFMA(f32_16x16x16f16, f32_16x16x16_f16, F16, 16)
	MFMA(f32_16x16x16bf16_1k, f32_16x16x16_bf16, BF16, 16)
	MFMA(f32_16x16x4f32, f32_16x16x4_f32, F32, 4)
	{ "v_mfma_i32_16x16x16i8", multiply, NULL, "", 0, false, DETAIL(0, I8, 16), 0 },
	{ "v_mfma_i32_16x16x32_i8", multiply, NULL, "", 0, false, DETAIL(0, I8, 32), 0 },
	MFMA(f64_16x16x4f64, f64_16x16x4_f64, F64, 4)
	{ NULL, NULL, NULL, "", 0, false, 0, 0 },
};
