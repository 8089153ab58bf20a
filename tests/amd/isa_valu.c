/* Vector ALU: a source operand becomes a row of lanes, the instruction's loop (valu.def) runs over all of them, and the
 * result is merged into the destination under EXEC. What all instructions share (DPP, SDWA, neg, abs, op_sel, omod,
 * clamp, flushing of denormals, NaNs) is done here once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "machine.h"

/* ---- what valu.def's expressions use ---- */
static inline uint32_t bits_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static inline float float_of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static inline uint64_t bits_of_d(double d) { uint64_t q; memcpy(&q, &d, 8); return q; }
static inline double double_of(uint64_t q) { double d; memcpy(&d, &q, 8); return d; }
static inline uint32_t min_u(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t max_u(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline int32_t min_i(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t max_i(int32_t a, int32_t b) { return a > b ? a : b; }
static inline int32_t saturate_i32(int64_t v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v; }
static inline int32_t saturate_i16(int32_t v) { return v > 32767 ? 32767 : v < -32768 ? -32768 : v; }
static inline uint32_t saturate_u8(int32_t v) { return v > 255 ? 255 : v < 0 ? 0 : (uint32_t)v; }
static inline int64_t signed_24(uint32_t v) { return (int32_t)(v << 8) >> 8; }

static inline uint32_t bit_reverse(uint32_t x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(x);
}

static inline int32_t bit_field_signed(int32_t x, uint32_t offset, uint32_t width)
{
	if (!width) return 0;
	x >>= offset;
	return (int32_t)((uint32_t)x << (32 - width)) >> (32 - width);
}

static inline int32_t sign_bits(int32_t x)
{
	uint32_t y = (uint32_t)(x < 0 ? ~x : x);

	return y ? __builtin_clz(y) : -1;
}

/* v_perm_b32: selectors 0-3 pick of b, 4-7 of a; 8-11 a sign; 12: 0; above: 0xff. */
static inline uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t selectors)
{
	uint64_t data = (uint64_t)a << 32 | b;
	uint32_t result = 0;

	for (unsigned i = 0; i < 4; i++) {
		uint32_t s = selectors >> 8 * i & 255, byte;

		if (s < 8) byte = data >> 8 * s & 255;
		else if (s < 12) byte = data >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
		else byte = s == 12 ? 0 : 255;
		result |= byte << 8 * i;
	}
	return result;
}

static inline uint32_t sad_u8(uint32_t a, uint32_t b, uint32_t mask)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 32; i += 8) {
		int32_t d = (int32_t)(a >> i & 255) - (int32_t)(b >> i & 255);

		if (mask >> i & 255) sum += (uint32_t)(d < 0 ? -d : d);
	}
	return sum;
}
static inline uint32_t msad_u8(uint32_t a, uint32_t b) { return sad_u8(a, b, b); }
static inline uint32_t sad_u16(uint32_t a, uint32_t b)
{
	int32_t low = (int32_t)(a & 0xffff) - (int32_t)(b & 0xffff), high = (int32_t)(a >> 16) - (int32_t)(b >> 16);

	return (uint32_t)(low < 0 ? -low : low) + (uint32_t)(high < 0 ? -high : high);
}
static inline uint32_t lerp_u8(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t result = 0;

	for (unsigned i = 0; i < 32; i += 8) result |= (((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1) << i;
	return result;
}
static inline uint32_t dot_u8(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 32; i += 8) sum += (a >> i & 255) * (b >> i & 255);
	return sum;
}
static inline int32_t dot_i8(uint32_t a, uint32_t b)
{
	int32_t sum = 0;

	for (unsigned i = 0; i < 32; i += 8) sum += (int8_t)(a >> i) * (int8_t)(b >> i);
	return sum;
}

static inline uint32_t dot_4bit(uint32_t a, uint32_t b, bool sign)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 32; i += 4) {
		int32_t x = (int32_t)(a >> i & 15), y = (int32_t)(b >> i & 15);

		if (sign) x -= (x & 8) << 1, y -= (y & 8) << 1;
		sum += (uint32_t)(x * y);
	}
	return sum;
}

/* min and max: a NaN gives the other operand; -0 is less than +0. */
#define MIN_MAX(suffix, type, bits_type, bits, value) \
static inline type max_##suffix(type a, type b) \
{ \
	if (a > b || b != b) return a; \
	if (a < b || a != a) return b; \
	return value(bits(a) & bits(b)); \
} \
static inline type min_##suffix(type a, type b) \
{ \
	if (a < b || b != b) return a; \
	if (a > b || a != a) return b; \
	return value(bits(a) | bits(b)); \
} \
static inline type maximum_##suffix(type a, type b) { return a != a ? a : b != b ? b : max_##suffix(a, b); } \
static inline type minimum_##suffix(type a, type b) { return a != a ? a : b != b ? b : min_##suffix(a, b); }
MIN_MAX(f32, float, uint32_t, bits_of, float_of)
MIN_MAX(f64, double, uint64_t, bits_of_d, double_of)

static inline float med3_f32(float a, float b, float c)
{
	if (a != a || b != b || c != c) return min_f32(min_f32(a, b), c);
	return max_f32(min_f32(a, b), min_f32(max_f32(a, b), c));
}

static inline float fract_f32(float x)
{
	float f = x - floorf(x);

	return isinf(x) ? NAN : f >= 1 ? 0x1.fffffep-1f : f;
}
static inline double fract_f64(double x)
{
	double f = x - floor(x);

	return isinf(x) ? NAN : f >= 1 ? 0x1.fffffffffffffp-1 : f;
}
static inline float fract_f16(float x)
{
	float f = x - floorf(x);

	return isinf(x) ? NAN : f > 0x1.ffcp-1f ? 0x1.ffcp-1f : f;
}
static inline float ldexp_f32(float x, int32_t n) { return ldexpf(x, n); }
static inline float frexp_mantissa_f32(float x) { int e; return isfinite(x) ? frexpf(x, &e) : x; }
static inline double frexp_mantissa_f64(double x) { int e; return isfinite(x) ? frexp(x, &e) : x; }
static inline int32_t frexp_exponent_f32(float x) { int e = 0; if (isfinite(x)) frexpf(x, &e); return e; }
static inline int32_t frexp_exponent_f64(double x) { int e = 0; if (isfinite(x)) frexp(x, &e); return e; }

static inline float no_denormal(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static inline float approximate(double x) { return no_denormal((float)x); }
/* The hardware's v_rcp_f64, v_rsq_f64, v_sqrt_f64 are accurate to 2^29 ulp: code has to refine them. */
static inline double approximate_f64(double x)
{
	return isfinite(x) ? double_of(bits_of_d(x) & ~0xfffffffull) : x;
}
/* v_sin, v_cos: of turns; outside of ±256 the result is sin 0. */
static inline double sin_turns(float x)
{
	return fabsf(x) > 256 ? (isinf(x) ? NAN : 0) : sin(6.283185307179586476925 * ((double)x - rint((double)x)));
}
static inline double cos_turns(float x)
{
	return fabsf(x) > 256 ? (isinf(x) ? NAN : 1) : cos(6.283185307179586476925 * ((double)x - rint((double)x)));
}

static inline int exponent_f32(float x) { return (int)(bits_of(x) >> 23 & 255); }
static inline int exponent_f64(double x) { return (int)(bits_of_d(x) >> 52 & 2047); }

/* x: the quotient so far, y: denominator, z: numerator. */
static float div_fixup_f32(float x, float y, float z)
{
	bool negative = signbit(y) ^ signbit(z);
	float sign = negative ? -1.0f : 1.0f;

	if (z != z) return float_of(bits_of(z) | 0x400000);
	if (y != y) return float_of(bits_of(y) | 0x400000);
	if ((y == 0 && z == 0) || (isinf(y) && isinf(z))) return float_of(0xffc00000);
	if (y == 0 || isinf(z)) return sign * INFINITY;
	if (isinf(y) || z == 0) return sign * 0.0f;
	if (exponent_f32(z) - exponent_f32(y) < -150) return sign * 0x1p-149f * 0x1p-20f;	/* rounded as MODE says */
	if (exponent_f32(z) - exponent_f32(y) > 129) return sign * 0x1p127f * 0x1p20f;
	return copysignf(x, sign);
}
static double div_fixup_f64(double x, double y, double z)
{
	bool negative = signbit(y) ^ signbit(z);
	double sign = negative ? -1.0 : 1.0;

	if (z != z) return double_of(bits_of_d(z) | 1ull << 51);
	if (y != y) return double_of(bits_of_d(y) | 1ull << 51);
	if ((y == 0 && z == 0) || (isinf(y) && isinf(z))) return double_of(0xfff8000000000000ull);
	if (y == 0 || isinf(z)) return sign * (double)INFINITY;
	if (isinf(y) || z == 0) return sign * 0.0;
	if (exponent_f64(z) - exponent_f64(y) < -1075) return sign * 0x1p-1074 * 0x1p-20;
	if (exponent_f64(z) - exponent_f64(y) > 1025) return sign * 0x1p1023 * 0x1p20;
	return copysign(x, sign);
}

static inline uint32_t to_u32(double x) { return !(x > 0) ? 0 : x >= 4294967295.0 ? ~0u : (uint32_t)x; }
static inline int32_t to_i32(double x)
{
	return x != x ? 0 : x <= -2147483648.0 ? INT32_MIN : x >= 2147483647.0 ? INT32_MAX : (int32_t)x;
}
static inline uint32_t to_u16(float x) { return !(x > 0) ? 0 : x >= 65535.0f ? 65535 : (uint32_t)x; }
static inline int32_t to_i16(float x) { return x != x ? 0 : x <= -32768.0f ? -32768 : x >= 32767.0f ? 32767 : (int32_t)x; }
static inline uint32_t to_u8(float x) { x = roundevenf(x); return !(x > 0) ? 0 : x >= 255.0f ? 255 : (uint32_t)x; }
static inline uint32_t norm_i16(float x)
{
	return (uint16_t)(x != x ? 0 : (int32_t)roundevenf((x < -1 ? -1 : x > 1 ? 1 : x) * 32767));
}
static inline uint32_t norm_u16(float x) { return !(x > 0) ? 0 : (uint32_t)roundevenf((x > 1 ? 1 : x) * 65535); }
static inline float bfloat_to_float(uint32_t b) { return float_of(b << 16); }
static inline uint32_t bfloat_from_float(float x)
{
	uint32_t u = bits_of(x);

	if (x != x) return u >> 16 | 0x40;
	return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
static inline float dot2_f16(uint32_t a, uint32_t b, float c)
{
	float sum = fmaf(half_to_float((uint16_t)(a >> 16)), half_to_float((uint16_t)(b >> 16)), c);

	return fmaf(half_to_float((uint16_t)a), half_to_float((uint16_t)b), sum);
}
static inline float dot2_bf16(uint32_t a, uint32_t b, float c)
{
	float sum = fmaf(bfloat_to_float(a >> 16), bfloat_to_float(b >> 16), c);

	return fmaf(bfloat_to_float(a & 0xffff), bfloat_to_float(b & 0xffff), sum);
}

/* ---- sources ---- */
static inline bool is_half(char type) { return type == 's' || type == 't' || type == 'h' || type == 'H'; }

/* One register of a source in all lanes, through DPP. `enabled` loses the lanes that DPP switches off. */
static const uint32_t *register_row(struct wave *w, const struct instruction *in, unsigned operand, unsigned reg, uint32_t *buffer,
	uint64_t *enabled)
{
	const struct dpp *dpp = in->dpp;
	unsigned first = in->op && in->op->first ? (unsigned)in->op->first : 1;
	const uint32_t *row;
	uint64_t exec;

	if (w->index_mode && reg < ACCUMULATION && operand >= first && w->index_bits >> (operand - first) & 1) {
		reg += w->s[SGPR_M0] & 255;
		if (reg >= w->registers) reg = 0;
	}
	row = wave_row(w, reg);
	if (!dpp || operand != first) return row;
	exec = wave_exec(w);
	if (enabled) *enabled &= dpp->write;
	for (unsigned lane = 0; lane < w->lanes; lane++) {
		unsigned from = dpp->source[lane];

		if (from < w->lanes && (dpp->fetch_inactive || exec >> from & 1)) buffer[lane] = row[from];
		else {
			buffer[lane] = 0;
			if (!dpp->zero_outside && enabled) *enabled &= ~(1ull << lane);
		}
	}
	return buffer;
}

static void sdwa_select(uint32_t *row, unsigned lanes, const struct operand *o)
{
	for (unsigned i = 0; i < lanes; i++) {
		uint32_t v = row[i];

		if (o->select >= SDWA_WORD_0) {
			v = v >> 16 * (o->select - SDWA_WORD_0) & 0xffff;
			if (o->sign_extend) v = (uint32_t)(int16_t)v;
		} else if (o->select) {
			v = v >> 8 * (o->select - SDWA_BYTE_0) & 0xff;
			if (o->sign_extend) v = (uint32_t)(int8_t)v;
		}
		row[i] = v;
	}
}

static const uint32_t *source_u32(struct wave *w, const struct instruction *in, unsigned operand, uint32_t *buffer, uint64_t *enabled)
{
	const struct operand *o = &in->o[operand];
	const uint32_t *row;

	if (o->kind == OPERAND_VECTOR) {
		row = register_row(w, in, operand, o->reg, buffer, enabled);
	} else if (o->row) {
		row = o->row->u;
	} else {
		uint32_t value = (uint32_t)scalar_read(w, o, false);

		for (unsigned i = 0; i < w->lanes; i++) buffer[i] = value;
		row = buffer;
	}
	if (!in->sdwa || !o->select) return row;
	if (row != buffer) memcpy(buffer, row, w->lanes * sizeof *buffer);
	sdwa_select(buffer, w->lanes, o);
	return buffer;
}

static const uint64_t *source_u64(struct wave *w, const struct instruction *in, unsigned operand, uint64_t *buffer, uint64_t *enabled)
{
	const struct operand *o = &in->o[operand];

	if (o->kind == OPERAND_VECTOR) {
		uint32_t low_buffer[MAX_LANES], high_buffer[MAX_LANES];
		const uint32_t *low = register_row(w, in, operand, o->reg, low_buffer, enabled);
		const uint32_t *high = register_row(w, in, operand, o->reg + 1u, high_buffer, enabled);

		for (unsigned i = 0; i < w->lanes; i++) buffer[i] = low[i] | (uint64_t)high[i] << 32;
	} else if (o->row) {
		return o->row->q;
	} else {
		uint64_t value = scalar_read(w, o, true);

		for (unsigned i = 0; i < w->lanes; i++) buffer[i] = value;
	}
	return buffer;
}

static void flush_f32(uint32_t *row, unsigned lanes)
{
	for (unsigned i = 0; i < lanes; i++) row[i] &= row[i] & 0x7f800000 ? ~0u : 0x80000000u;
}
static void flush_f64(uint64_t *row, unsigned lanes)
{
	for (unsigned i = 0; i < lanes; i++) row[i] &= row[i] & 0x7ff0000000000000ull ? ~0ull : 1ull << 63;
}

static bool flushes(const struct wave *w, bool wide, bool output) { return !(w->mode >> ((wide ? 6 : 4) + output) & 1); }

/* 16 bits of a source: `high` half, sign changed with `negate`. As bits, or as f32 (h) or f64 (H). */
static const void *source_half(struct wave *w, const uint32_t *row, bool high, bool absolute, bool negate, char type, union row *buffer)
{
	uint32_t and = absolute ? 0x7fff : 0xffff, xor = negate ? 0x8000 : 0;
	unsigned shift = high ? 16 : 0;

	if (type != 'h' && type != 'H') {
		for (unsigned i = 0; i < w->lanes; i++) buffer->u[i] = (row[i] >> shift & and) ^ xor;
		return buffer;
	}
	uint16_t halves[MAX_LANES];
	bool flush = flushes(w, true, false);

	for (unsigned i = 0; i < w->lanes; i++) {
		halves[i] = (uint16_t)((row[i] >> shift & and) ^ xor);
		if (flush && !(halves[i] & 0x7c00)) halves[i] &= 0x8000;
	}
	if (type == 'h')
		for (unsigned i = 0; i < w->lanes; i++) buffer->f[i] = half_to_float(halves[i]);
	else
		for (unsigned i = 0; i < w->lanes; i++) buffer->d[i] = (double)half_to_float(halves[i]);
	return buffer;
}

/* An EXEC-like mask as a word a lane. */
static const void *source_mask(struct wave *w, const struct instruction *in, unsigned operand, union row *buffer)
{
	uint64_t mask = in->o[operand].kind == OPERAND_NONE ? vcc_read(w) : mask_read(w, &in->o[operand]);

	for (unsigned i = 0; i < w->lanes; i++) buffer->u[i] = mask >> i & 1 ? ~0u : 0;
	return buffer;
}

const void *vector_source(struct wave *w, const struct instruction *in, unsigned operand, char type, union row *buffer, uint64_t *enabled)
{
	const struct operand *o = &in->o[operand];
	unsigned lanes = w->lanes;
	bool flush;

	if (type == 'm') return source_mask(w, in, operand, buffer);
	if (type == 'q' || type == 'l' || type == 'd') {
		const uint64_t *row = source_u64(w, in, operand, buffer->q, enabled);

		flush = type == 'd' && flushes(w, true, false);
		if (!o->negate && !o->absolute && !flush) return row;
		uint64_t and = o->absolute ? ~0ull >> 1 : ~0ull, xor = o->negate ? 1ull << 63 : 0;

		for (unsigned i = 0; i < lanes; i++) buffer->q[i] = (row[i] & and) ^ xor;
		if (flush) flush_f64(buffer->q, lanes);
		return buffer;
	}
	const uint32_t *row = source_u32(w, in, operand, buffer->u, enabled);

	if (is_half(type))
		return source_half(w, row, o->high || (o->kind != OPERAND_CONSTANT && in->op_sel >> (operand - 1) & 1), o->absolute, o->negate, type, buffer);
	flush = type == 'f' && flushes(w, false, false);
	if (!o->negate && !o->absolute && !flush) return row;
	uint32_t and = o->absolute ? 0x7fffffff : ~0u, xor = o->negate ? 0x80000000 : 0;

	for (unsigned i = 0; i < lanes; i++) buffer->u[i] = (row[i] & and) ^ xor;
	if (flush) flush_f32(buffer->u, lanes);
	return buffer;
}

/* ---- results ---- */
static void merge(struct wave *w, uint32_t *d, const uint32_t *result, uint64_t enabled)
{
	if (enabled == wave_all(w)) {
		memcpy(d, result, w->lanes * sizeof *d);
	} else if (enabled == wave_exec(w)) {
		const uint32_t *mask = wave_lane_mask(w);

		for (unsigned i = 0; i < w->lanes; i++) d[i] = (d[i] & ~mask[i]) | (result[i] & mask[i]);
	} else {
		for (unsigned i = 0; i < w->lanes; i++)
			if (enabled >> i & 1) d[i] = result[i];
	}
}

static uint32_t *destination_row(struct wave *w, const struct operand *d, unsigned index)
{
	unsigned reg = d->reg + index;

	if (w->index_mode && (w->index_bits & 8) && reg < ACCUMULATION) {
		reg += w->s[SGPR_M0] & 255;
		if (reg >= w->registers) reg = 0;
	}
	return wave_row(w, reg);
}

void vector_write_u32(struct wave *w, const struct operand *d, const uint32_t *result, uint64_t enabled)
{
	merge(w, destination_row(w, d, 0), result, enabled);
}

void vector_write_u64(struct wave *w, const struct operand *d, const uint64_t *result, uint64_t enabled)
{
	uint32_t low[MAX_LANES], high[MAX_LANES];

	for (unsigned i = 0; i < w->lanes; i++) low[i] = (uint32_t)result[i], high[i] = (uint32_t)(result[i] >> 32);
	merge(w, destination_row(w, d, 0), low, enabled);
	merge(w, destination_row(w, d, 1), high, enabled);
}

/* clamp and omod of a float; a NaN clamps to 0. */
static float modify_f32(const struct instruction *in, float x)
{
	if (in->omod) x *= in->omod == 1 ? 2.0f : in->omod == 2 ? 4.0f : 0.5f;
	if (in->clamp) x = x > 1 ? 1 : x > 0 ? x : 0;
	return x;
}
static double modify_f64(const struct instruction *in, double x)
{
	if (in->omod) x *= in->omod == 1 ? 2.0 : in->omod == 2 ? 4.0 : 0.5;
	if (in->clamp) x = x > 1 ? 1 : x > 0 ? x : 0;
	return x;
}

/* 16 bits into one half of the destination. The other half is kept, but where gfx9 clears it: all but its own forms with three sources. */
static void write_half(struct wave *w, const struct instruction *in, const struct operand *d, const uint32_t *result, uint64_t enabled)
{
	unsigned sources = in->op ? in->op->sources : 0;
	bool high = d->high || in->op_sel >> sources & 1;
	bool keep = w->gpu->generation >= 10 || high || (sources == 3 && !strstr(in->op->stem, "_legacy_"));
	const uint32_t *old = destination_row(w, d, 0);
	uint32_t merged[MAX_LANES];

	for (unsigned i = 0; i < w->lanes; i++)
		merged[i] = high ? (old[i] & 0xffff) | result[i] << 16 : (keep ? old[i] & 0xffff0000 : 0) | (result[i] & 0xffff);
	vector_write_u32(w, d, merged, enabled);
}

static void write_sdwa(struct wave *w, const struct instruction *in, const struct operand *d, const uint32_t *result, uint64_t enabled)
{
	const uint32_t *old = destination_row(w, d, 0);
	uint32_t merged[MAX_LANES];
	bool word = in->dst_sel >= SDWA_WORD_0;
	unsigned shift = word ? 16 * (in->dst_sel - SDWA_WORD_0) : 8 * (in->dst_sel - SDWA_BYTE_0);
	uint32_t mask = (word ? 0xffffu : 0xffu) << shift;

	for (unsigned i = 0; i < w->lanes; i++) {
		uint32_t value = result[i] << shift & mask;

		if (in->dst_unused == 2) value |= old[i] & ~mask;
		else if (in->dst_unused == 1 && result[i] >> (word ? 15 : 7) & 1) value |= ~(mask | (mask - 1));
		merged[i] = value;
	}
	vector_write_u32(w, d, merged, enabled);
}

/* The result of arithmetic as MODE and the modifiers want it, in place: f and d stay, h and H become 16 bits. */
static void finish(struct wave *w, const struct instruction *in, char type, union row *result)
{
	unsigned lanes = w->lanes, round = w->mode >> 2 & 3;

	if (type == 'f') {
		if (in->omod || in->clamp)
			for (unsigned i = 0; i < lanes; i++) result->f[i] = modify_f32(in, result->f[i]);
		if (flushes(w, false, true)) flush_f32(result->u, lanes);
	} else if (type == 'd') {
		if (in->omod || in->clamp)
			for (unsigned i = 0; i < lanes; i++) result->d[i] = modify_f64(in, result->d[i]);
		if (flushes(w, true, true)) flush_f64(result->q, lanes);
	} else if (type == 'h' || type == 'H') {
		bool flush = flushes(w, true, true);

		for (unsigned i = 0; i < lanes; i++) {	/* forwards: a word is written where it or an earlier one was read */
			uint16_t half = type == 'h' ? half_from_float(modify_f32(in, result->f[i]), round)
				: half_from_double(modify_f64(in, result->d[i]), round);

			if (flush && !(half & 0x7c00)) half &= 0x8000;
			result->u[i] = half;
		}
	}
}

void vector_write(struct wave *w, const struct instruction *in, const struct operand *d, char type, const union row *result, uint64_t enabled)
{
	if (in->sdwa && in->dst_sel) write_sdwa(w, in, d, result->u, enabled);
	else if (type == 'q' || type == 'l' || type == 'd') vector_write_u64(w, d, result->q, enabled);
	else if (is_half(type)) write_half(w, in, d, result->u, enabled);
	else vector_write_u32(w, d, result->u, enabled);
}

/* A NaN result is the first NaN source made quiet, or else the default NaN; the host's differs. */
static void fix_nans_f32(union row *result, const void *const *sources, const char *types, unsigned count, unsigned lanes)
{
	uint32_t any = 0;

	for (unsigned i = 0; i < lanes; i++) any |= result->f[i] != result->f[i];
	if (!any) return;
	for (unsigned i = 0; i < lanes; i++) {
		uint32_t nan = 0x7fc00000;

		if (result->f[i] == result->f[i]) continue;
		for (unsigned s = count; s-- > 0;) {
			if (types[s] == 'f' || types[s] == 'h') {
				float x = ((const float *)sources[s])[i];
				if (x != x) nan = bits_of(x) | 0x400000;
			} else if (types[s] == 'd') {
				double x = ((const double *)sources[s])[i];
				if (x != x) nan = 0x7fc00000 | (uint32_t)(bits_of_d(x) >> 32 & 0x80000000) | (uint32_t)(bits_of_d(x) >> 29 & 0x3fffff);
			}
		}
		result->u[i] = nan;
	}
}

static void fix_nans_f64(union row *result, const void *const *sources, const char *types, unsigned count, unsigned lanes)
{
	for (unsigned i = 0; i < lanes; i++) {
		uint64_t nan = 0x7ff8000000000000ull;

		if (result->d[i] == result->d[i]) continue;
		for (unsigned s = count; s-- > 0;) {
			if (types[s] == 'd' || types[s] == 'H') {
				double x = ((const double *)sources[s])[i];
				if (x != x) nan = bits_of_d(x) | 1ull << 51;
			} else if (types[s] == 'f') {
				float x = ((const float *)sources[s])[i];
				if (x != x) nan = bits_of_d((double)x) | 1ull << 51;
			}
		}
		result->q[i] = nan;
	}
}

/* Which of MODE's fields rule, by the result or, for integer results, the first source. */
static void set_rounding(const struct wave *w, const char *types)
{
	char ruling = types[0] == 'f' || types[0] == 'd' || types[0] == 'h' || types[0] == 'H' ? types[0] : types[1];

	if (ruling == 'f') rounding_set(w->mode & 3);
	else if (ruling == 'd' || ruling == 'h' || ruling == 'H') rounding_set(w->mode >> 2 & 3);
}

/* The instruction's result in `result`, not written yet. */
static void compute(struct wave *w, const struct instruction *in, union row *result, uint64_t *enabled)
{
	const struct opcode *op = in->op;
	union row buffers[3];
	const void *sources[3] = { NULL, NULL, NULL };
	char kind = op->types[0];

	for (unsigned i = 0; i < op->sources; i++) {
		if (op->accumulate && i + 1 == op->sources) {
			const struct operand *d = &in->o[0];
			const uint32_t *row = wave_row(w, d->reg);

			if (kind == 'd') {
				for (unsigned l = 0; l < w->lanes; l++) buffers[i].q[l] = row[l] | (uint64_t)wave_row(w, d->reg + 1u)[l] << 32;
				if (flushes(w, true, false)) flush_f64(buffers[i].q, w->lanes);
				sources[i] = &buffers[i];
			} else if (kind == 'h' || kind == 'H') {
				sources[i] = source_half(w, row, d->high, false, false, kind, &buffers[i]);
			} else if (kind == 'f' && flushes(w, false, false)) {
				memcpy(buffers[i].u, row, w->lanes * 4);
				flush_f32(buffers[i].u, w->lanes);
				sources[i] = &buffers[i];
			} else {
				sources[i] = row;
			}
			continue;
		}
		sources[i] = vector_source(w, in, i + 1, op->types[i + 1], &buffers[i], enabled);
	}
	set_rounding(w, op->types);
	op->lanes(result, sources[0], sources[1], sources[2], w->lanes);
	if (kind == 'f' || kind == 'h') fix_nans_f32(result, sources, op->types + 1, op->sources, w->lanes);
	else if (kind == 'd' || kind == 'H') fix_nans_f64(result, sources, op->types + 1, op->sources, w->lanes);
	else return;
	finish(w, in, kind, result);
}

void valu_execute(struct wave *w, const struct instruction *in)
{
	uint64_t enabled = wave_exec(w);
	union row result;

	compute(w, in, &result, &enabled);
	vector_write(w, in, &in->o[0], in->op->types[0], &result, enabled);
}

/* VOPD: both halves read before either writes. */
void valu_dual(struct wave *w, const struct instruction *in)
{
	uint64_t first_enabled = wave_exec(w), second_enabled = first_enabled;
	union row first, second;

	if (in->op->execute != valu_execute || in->dual->op->execute != valu_execute) {
		wave_fail(w, in, DISPATCH_UNSUPPORTED, "this pair is not modelled");
		return;
	}
	compute(w, in, &first, &first_enabled);
	compute(w, in->dual, &second, &second_enabled);
	vector_write(w, in, &in->o[0], in->op->types[0], &first, first_enabled);
	vector_write(w, in->dual, &in->dual->o[0], in->dual->op->types[0], &second, second_enabled);
}

/* VOP3P: the instruction on the low halves and on the high halves, each source's half chosen by op_sel, op_sel_hi. */
void valu_packed(struct wave *w, const struct instruction *in)
{
	const struct opcode *op = in->op;
	uint64_t enabled = wave_exec(w);
	union row buffers[3], halves[3], results[2];
	uint8_t op_sel_hi = in->has_op_sel_hi ? in->op_sel_hi : 7;

	for (unsigned half = 0; half < 2; half++) {
		const void *sources[3] = { NULL, NULL, NULL };

		for (unsigned i = 0; i < op->sources; i++) {
			const struct operand *o = &in->o[i + 1];
			const uint32_t *row = source_u32(w, in, i + 1, buffers[i].u, &enabled);
			bool high = (half ? op_sel_hi : in->op_sel) >> i & 1;
			bool negate = ((half ? in->neg_hi : in->neg_lo) >> i & 1) ^ o->negate;

			sources[i] = source_half(w, row, high, o->absolute, negate, op->types[i + 1], &halves[i]);
		}
		set_rounding(w, op->types);
		op->lanes(&results[half], sources[0], sources[1], sources[2], w->lanes);
		if (op->types[0] == 'h') fix_nans_f32(&results[half], sources, op->types + 1, op->sources, w->lanes);
		if (op->types[0] == 'H') fix_nans_f64(&results[half], sources, op->types + 1, op->sources, w->lanes);
		finish(w, in, op->types[0], &results[half]);
	}
	for (unsigned i = 0; i < w->lanes; i++) results[0].u[i] = (results[0].u[i] & 0xffff) | results[1].u[i] << 16;
	vector_write_u32(w, &in->o[0], results[0].u, enabled);
}

/* Packed f32: two registers; op_sel and op_sel_hi choose the register of the pair. */
void valu_packed_f32(struct wave *w, const struct instruction *in)
{
	const struct opcode *op = in->op;
	uint64_t enabled = wave_exec(w);
	union row buffers[3], results[2];
	uint8_t op_sel_hi = in->has_op_sel_hi ? in->op_sel_hi : 7;

	for (unsigned half = 0; half < 2; half++) {
		const void *sources[3] = { NULL, NULL, NULL };

		for (unsigned i = 0; i < op->sources; i++) {
			const struct operand *o = &in->o[i + 1];
			bool high = (half ? op_sel_hi : in->op_sel) >> i & 1, negate = (half ? in->neg_hi : in->neg_lo) >> i & 1;
			uint32_t value = 0;
			const uint32_t *row = NULL;

			if (o->kind == OPERAND_VECTOR) row = wave_row(w, o->reg + high);
			else if (o->kind == OPERAND_CONSTANT) value = o->bits;
			else value = (uint32_t)(scalar_read(w, o, true) >> (high ? 32 : 0));
			for (unsigned l = 0; l < w->lanes; l++) buffers[i].u[l] = (row ? row[l] : value) ^ (negate ? 0x80000000u : 0);
			if (flushes(w, false, false)) flush_f32(buffers[i].u, w->lanes);
			sources[i] = &buffers[i];
		}
		set_rounding(w, op->types);
		op->lanes(&results[half], sources[0], sources[1], sources[2], w->lanes);
		fix_nans_f32(&results[half], sources, op->types + 1, op->sources, w->lanes);
		finish(w, in, 'f', &results[half]);
	}
	for (unsigned half = 0; half < 2; half++) merge(w, wave_row(w, in->o[0].reg + half), results[half].u, enabled);
}

/* ---- comparisons ---- */
enum { COMPARE_EXEC = 1 };

static void compare(struct wave *w, const struct instruction *in)
{
	const struct opcode *op = in->op;
	union row buffers[2], result;
	uint64_t enabled = wave_exec(w), mask = 0;
	const void *a = vector_source(w, in, 1, op->types[1], &buffers[0], &enabled);
	const void *b = vector_source(w, in, 2, op->types[2], &buffers[1], &enabled);

	op->lanes(&result, a, b, NULL, w->lanes);
	for (unsigned i = 0; i < w->lanes; i++) mask |= (uint64_t)(result.u[i] & 1) << i;
	mask &= enabled;
	if (in->o[0].kind != OPERAND_NONE) mask_write(w, &in->o[0], mask);
	if (in->detail & COMPARE_EXEC) wave_set_exec(w, mask);
}

/* v_cmp_class: bits of the mask in ISA order: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf. */
static inline unsigned class_bit(bool negative, bool nan, bool quiet, bool infinite, bool zero, bool denormal)
{
	unsigned positive = infinite ? 9 : zero ? 6 : denormal ? 7 : 8;

	return nan ? quiet : negative ? 11 - positive : positive;
}
static inline uint32_t class_f32(uint32_t x, uint32_t mask)
{
	uint32_t e = x >> 23 & 255, m = x & 0x7fffff;

	return mask >> class_bit(x >> 31, e == 255 && m, m >> 22, e == 255, !e && !m, !e) & 1;
}
static inline uint32_t class_f64(uint64_t x, uint32_t mask)
{
	uint64_t e = x >> 52 & 2047, m = x & 0xfffffffffffffull;

	return mask >> class_bit(x >> 63, e == 2047 && m, m >> 51, e == 2047, !e && !m, !e) & 1;
}
static inline uint32_t class_f16(uint32_t x, uint32_t mask)
{
	uint32_t e = x >> 10 & 31, m = x & 0x3ff;

	return mask >> class_bit(x >> 15 & 1, e == 31 && m, m >> 9, e == 31, !e && !m, !e) & 1;
}

/* ---- instructions that are more than an expression ---- */

/* d, carry out, a, b[, carry in]; detail: 0 a + b, 1 a - b, 2 b - a */
static void add_carry(struct wave *w, const struct instruction *in)
{
	union row buffer_a, buffer_b;
	uint64_t enabled = wave_exec(w), carry = 0;
	uint64_t carry_in = in->operand_count > 4 ? mask_read(w, &in->o[4]) : 0;
	const uint32_t *a = vector_source(w, in, 2, 'u', &buffer_a, &enabled), *b = vector_source(w, in, 3, 'u', &buffer_b, &enabled);
	union row result;

	for (unsigned i = 0; i < w->lanes; i++) {
		uint64_t x = in->detail == 2 ? b[i] : a[i], y = in->detail == 2 ? a[i] : b[i], c = carry_in >> i & 1;
		uint64_t sum = in->detail ? x - y - c : x + y + c;

		result.u[i] = (uint32_t)sum;
		carry |= (sum >> 32 & 1) << i;
	}
	vector_write(w, in, &in->o[0], 'u', &result, enabled);
	mask_write(w, &in->o[1], carry & enabled);
}

/* v_mad_u64_u32, v_mad_i64_i32: d, carry out, a, b, c */
static void mad_64(struct wave *w, const struct instruction *in)
{
	union row buffers[3];
	uint64_t enabled = wave_exec(w), carry = 0;
	const uint32_t *a = vector_source(w, in, 2, 'u', &buffers[0], &enabled), *b = vector_source(w, in, 3, 'u', &buffers[1], &enabled);
	const uint64_t *c = vector_source(w, in, 4, 'q', &buffers[2], &enabled);
	uint64_t result[MAX_LANES];

	for (unsigned i = 0; i < w->lanes; i++) {
		uint64_t product = in->detail ? (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i]) : (uint64_t)a[i] * b[i];

		result[i] = product + c[i];
		if (in->detail) carry |= (uint64_t)(((product ^ result[i]) & (c[i] ^ result[i])) >> 63) << i;
		else carry |= (uint64_t)(result[i] < product) << i;
	}
	vector_write_u64(w, &in->o[0], result, enabled);
	mask_write(w, &in->o[1], carry & enabled);
}

/* v_div_scale: d, vcc, s0, s1 (denominator), s2 (numerator); scales the one that s0 is, and says where the quotient has to be scaled back. */
static double scale_division(double s0, double s1, double s2, bool wide, bool *vcc)
{
	int big = wide ? 768 : 96, step = wide ? 128 : 64, tiny = wide ? 53 : 23;
	int difference = wide ? exponent_f64(s2) - exponent_f64(s1) : exponent_f32((float)s2) - exponent_f32((float)s1);
	long double least = wide ? 0x1p-1022L : 0x1p-126L;
	bool denominator_denormal = fabs(s1) < (double)least;
	bool reciprocal_denormal = fabsl(1 / (long double)s1) < least, quotient_denormal = fabsl((long double)s2 / (long double)s1) < least;

	*vcc = false;
	if (s2 == 0 || s1 == 0) return NAN;
	if (s0 != s0 || s1 != s1 || s2 != s2 || isinf(s1) || isinf(s2)) return s0;
	if (difference >= big) {
		*vcc = true;
		return s0 == s1 ? ldexp(s0, step) : s0;
	}
	if (denominator_denormal) return ldexp(s0, step);
	if (reciprocal_denormal && quotient_denormal) {
		*vcc = true;
		return s0 == s1 ? ldexp(s0, -step) : s0;	/* AMD's text has +, which overflows */
	}
	if (reciprocal_denormal) return ldexp(s0, -step);
	if (quotient_denormal) {
		*vcc = true;
		return s0 == s2 ? ldexp(s0, step) : s0;
	}
	if ((wide ? exponent_f64(s2) : exponent_f32((float)s2)) <= tiny) return ldexp(s0, step);
	return s0;
}

static void div_scale(struct wave *w, const struct instruction *in)
{
	bool wide = in->detail;
	union row buffers[3], result;
	uint64_t enabled = wave_exec(w), flags = 0;
	const void *s[3];

	for (unsigned i = 0; i < 3; i++) s[i] = vector_source(w, in, i + 2, wide ? 'd' : 'f', &buffers[i], &enabled);
	rounding_set(0);
	for (unsigned i = 0; i < w->lanes; i++) {
		double x[3], scaled;
		bool flag;

		for (unsigned k = 0; k < 3; k++) x[k] = wide ? ((const double *)s[k])[i] : (double)((const float *)s[k])[i];
		scaled = scale_division(x[0], x[1], x[2], wide, &flag);
		flags |= (uint64_t)flag << i;
		if (wide) result.d[i] = scaled;
		else result.f[i] = (float)scaled;
	}
	if (wide) vector_write_u64(w, &in->o[0], result.q, enabled);
	else vector_write_u32(w, &in->o[0], result.u, enabled);
	mask_write(w, &in->o[1], flags & enabled);
}

/* a × b + c so that its last bit says whether it is exact (round to odd), in more than twice the type's precision: scaling it and
 * rounding it to the type then rounds once. */
static double fma_odd_f32(float a, float b, float c)
{
	double p = (double)a * b, s = p + c, back = s - p, error = (p - (s - back)) + (c - back);
	uint64_t bits = bits_of_d(s);

	if (error == 0 || bits & 1 || !isfinite(s)) return s;
	return double_of((error > 0) == (s > 0) ? bits | 1 : bits - 1);
}

#ifdef __x86_64__
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif
__extension__ typedef unsigned __int128 quad_bits;
static quad fma_odd_f64(double a, double b, double c)
{
	quad p = (quad)a * b, s = p + c, back = s - p, error = (p - (s - back)) + (c - back);
	quad_bits bits;

	memcpy(&bits, &s, sizeof bits);
	if (error == 0 || bits & 1 || error != error) return s;
	if ((error > 0) == (s > 0)) bits |= 1;
	else bits--;
	memcpy(&s, &bits, sizeof bits);
	return s;
}

/* fma, times what v_div_scale left to do: 2^64 (f64: 2^128) where the quotient is large, else 2^-64. */
static void div_fmas(struct wave *w, const struct instruction *in)
{
	bool wide = in->detail;
	union row buffers[3], result;
	uint64_t enabled = wave_exec(w), vcc = vcc_read(w);
	const void *s[3];

	for (unsigned i = 0; i < 3; i++) s[i] = vector_source(w, in, i + 1, wide ? 'd' : 'f', &buffers[i], &enabled);
	for (unsigned i = 0; i < w->lanes; i++) {
		bool scale = vcc >> i & 1;

		if (wide) {
			const double *a = s[0], *b = s[1], *c = s[2];
			quad exact;

			rounding_set(0);
			exact = scale ? fma_odd_f64(a[i], b[i], c[i]) * (exponent_f64(c[i]) > 1023 ? (quad)0x1p128 : (quad)0x1p-128) : 0;
			rounding_set(w->mode >> 2 & 3);
			result.d[i] = scale ? (double)exact : fma(a[i], b[i], c[i]);
		} else {
			const float *a = s[0], *b = s[1], *c = s[2];
			double exact;

			rounding_set(0);
			exact = scale ? fma_odd_f32(a[i], b[i], c[i]) * (exponent_f32(c[i]) > 127 ? 0x1p64 : 0x1p-64) : 0;
			rounding_set(w->mode & 3);
			result.f[i] = scale ? (float)exact : fmaf(a[i], b[i], c[i]);
		}
	}
	finish(w, in, wide ? 'd' : 'f', &result);
	vector_write(w, in, &in->o[0], wide ? 'd' : 'f', &result, enabled);
}

/* v_fma_mix: each source f32 or, by op_sel_hi, a half of it as f16. detail: 0 f32 result, 1 f16 in the low half, 2 in the high half */
static void fma_mix(struct wave *w, const struct instruction *in)
{
	union row buffers[3], halves[3], result;
	const void *sources[3];
	uint64_t enabled = wave_exec(w);

	for (unsigned i = 0; i < 3; i++) {
		const struct operand *o = &in->o[i + 1];
		bool half = in->op_sel_hi >> i & 1, absolute = o->absolute || in->neg_hi >> i & 1, negate = o->negate ^ (in->neg_lo >> i & 1);

		if (o->kind == OPERAND_CONSTANT) {
			uint32_t bits = half ? (uint32_t)constant_bits(o, 'h') : (uint32_t)constant_bits(o, 'f');
			for (unsigned l = 0; l < w->lanes; l++) buffers[i].u[l] = bits;
		} else {
			const uint32_t *row = source_u32(w, in, i + 1, buffers[i].u, &enabled);
			if (row != buffers[i].u) memcpy(buffers[i].u, row, w->lanes * 4);
		}
		if (half) {
			sources[i] = source_half(w, buffers[i].u, in->op_sel >> i & 1, absolute, negate, 'h', &halves[i]);
			continue;
		}
		for (unsigned l = 0; l < w->lanes; l++)
			buffers[i].u[l] = (absolute ? buffers[i].u[l] & 0x7fffffff : buffers[i].u[l]) ^ (negate ? 0x80000000u : 0);
		if (flushes(w, false, false)) flush_f32(buffers[i].u, w->lanes);
		sources[i] = &buffers[i];
	}
	rounding_set(in->detail ? w->mode >> 2 & 3 : w->mode & 3);
	for (unsigned l = 0; l < w->lanes; l++) {
		float x = ((const float *)sources[0])[l], y = ((const float *)sources[1])[l], z = ((const float *)sources[2])[l];

		result.f[l] = fmaf(x, y, z);
	}
	fix_nans_f32(&result, sources, "fff", 3, w->lanes);
	finish(w, in, in->detail ? 'h' : 'f', &result);
	if (!in->detail) {
		vector_write_u32(w, &in->o[0], result.u, enabled);
		return;
	}
	const uint32_t *old = wave_row(w, in->o[0].reg);

	for (unsigned l = 0; l < w->lanes; l++)
		result.u[l] = in->detail == 2 ? (old[l] & 0xffff) | result.u[l] << 16 : (old[l] & 0xffff0000) | result.u[l];
	vector_write_u32(w, &in->o[0], result.u, enabled);
}

/* v_dot4_i32_iu8, v_dot8_i32_iu4: neg_lo says which sources are signed */
static void dot_mixed(struct wave *w, const struct instruction *in)
{
	union row buffers[3];
	uint64_t enabled = wave_exec(w);
	const uint32_t *a = vector_source(w, in, 1, 'u', &buffers[0], &enabled), *b = vector_source(w, in, 2, 'u', &buffers[1], &enabled);
	const uint32_t *c = vector_source(w, in, 3, 'u', &buffers[2], &enabled);
	unsigned width = in->detail;
	uint32_t result[MAX_LANES];

	for (unsigned i = 0; i < w->lanes; i++) {
		int64_t sum = (int32_t)c[i];

		for (unsigned at = 0; at < 32; at += width) {
			int32_t x = (int32_t)(a[i] << (32 - width - at)), y = (int32_t)(b[i] << (32 - width - at));
			int64_t p = in->neg_lo & 1 ? x >> (32 - width) : (int64_t)((uint32_t)x >> (32 - width));
			int64_t q = in->neg_lo & 2 ? y >> (32 - width) : (int64_t)((uint32_t)y >> (32 - width));

			sum += p * q;
		}
		result[i] = in->clamp ? (uint32_t)saturate_i32(sum) : (uint32_t)sum;
	}
	vector_write_u32(w, &in->o[0], result, enabled);
}

static void pk_mov(struct wave *w, const struct instruction *in)
{
	uint64_t enabled = wave_exec(w);
	uint32_t results[2][MAX_LANES];

	for (unsigned half = 0; half < 2; half++) {
		const struct operand *o = &in->o[half + 1];
		bool high = in->op_sel >> half & 1;
		const uint32_t *row = o->kind == OPERAND_VECTOR ? wave_row(w, o->reg + high) : NULL;
		uint32_t value = row ? 0 : o->kind == OPERAND_CONSTANT ? o->bits : (uint32_t)(scalar_read(w, o, true) >> (high ? 32 : 0));

		for (unsigned l = 0; l < w->lanes; l++) results[half][l] = row ? row[l] : value;
	}
	for (unsigned half = 0; half < 2; half++) merge(w, wave_row(w, in->o[0].reg + half), results[half], enabled);
}

/* ---- the table ---- */
#define TYPE_u uint32_t
#define TYPE_i int32_t
#define TYPE_q uint64_t
#define TYPE_l int64_t
#define TYPE_s uint16_t
#define TYPE_t int16_t
#define TYPE_f float
#define TYPE_d double
#define TYPE_h float
#define TYPE_H double
#define TYPE_m uint32_t
#define TYPE__ int
#define LOAD_u(p, i) ((const uint32_t *)(p))[i]
#define LOAD_i(p, i) ((const int32_t *)(p))[i]
#define LOAD_q(p, i) ((const uint64_t *)(p))[i]
#define LOAD_l(p, i) ((const int64_t *)(p))[i]
#define LOAD_s(p, i) (uint16_t)((const uint32_t *)(p))[i]
#define LOAD_t(p, i) (int16_t)((const uint32_t *)(p))[i]
#define LOAD_f(p, i) ((const float *)(p))[i]
#define LOAD_d(p, i) ((const double *)(p))[i]
#define LOAD_h(p, i) ((const float *)(p))[i]
#define LOAD_H(p, i) ((const double *)(p))[i]
#define LOAD_m(p, i) ((const uint32_t *)(p))[i]
#define LOAD__(p, i) 0
#define STORE_u(p, i, v) ((uint32_t *)(p))[i] = (v)
#define STORE_i(p, i, v) ((int32_t *)(p))[i] = (v)
#define STORE_q(p, i, v) ((uint64_t *)(p))[i] = (v)
#define STORE_l(p, i, v) ((int64_t *)(p))[i] = (v)
#define STORE_s(p, i, v) ((uint32_t *)(p))[i] = (uint16_t)(v)
#define STORE_t(p, i, v) ((uint32_t *)(p))[i] = (uint16_t)(v)
#define STORE_f(p, i, v) ((float *)(p))[i] = (v)
#define STORE_d(p, i, v) ((double *)(p))[i] = (v)
#define STORE_h(p, i, v) ((float *)(p))[i] = (v)
#define STORE_H(p, i, v) ((double *)(p))[i] = (v)

#define COUNT_(c) (sizeof #c == 2 && #c[0] == '_' ? 0 : 1)
#define LANES(function, D, A, B, C, expression) \
static void function(void *d, const void *a, const void *b, const void *c, unsigned lanes) \
{ \
	(void)a, (void)b, (void)c; \
	for (unsigned i = 0; i < lanes; i++) { \
		TYPE_##A x = LOAD_##A(a, i); \
		TYPE_##B y = LOAD_##B(b, i); \
		TYPE_##C z = LOAD_##C(c, i); \
		(void)y, (void)z; \
		STORE_##D(d, i, expression); \
	} \
}

/* Rows have names with dots, so functions are numbered by line. */
#define GLUE(a, b) a##b
#define NAME(line) GLUE(lanes_, line)
#define V(stem, D, A, B, C, expression) LANES(NAME(__LINE__), D, A, B, C, expression)
#define VA V
#define VP V
#define VF V
#include "valu.def"
#undef V
#undef VA
#undef VP
#undef VF

/* Comparisons: the same loop for each type and condition. */
#define COMPARE_INTEGER(X, type, T) \
	X(lt, type, T, x < y) X(eq, type, T, x == y) X(le, type, T, x <= y) X(gt, type, T, x > y) X(ne, type, T, x != y) X(ge, type, T, x >= y)
#define COMPARE_FLOAT(X, type, T) \
	X(lt, type, T, x < y) X(eq, type, T, x == y) X(le, type, T, x <= y) X(gt, type, T, x > y) X(lg, type, T, x < y || x > y) \
	X(ge, type, T, x >= y) X(o, type, T, x == x && y == y) X(u, type, T, x != x || y != y) X(nge, type, T, !(x >= y)) \
	X(nlg, type, T, !(x < y || x > y)) X(ngt, type, T, !(x > y)) X(nle, type, T, !(x <= y)) X(neq, type, T, x != y) X(nlt, type, T, !(x < y))
#define COMPARISONS(X) \
	COMPARE_INTEGER(X, u32, u) COMPARE_INTEGER(X, i32, i) COMPARE_INTEGER(X, u64, q) COMPARE_INTEGER(X, i64, l) \
	COMPARE_INTEGER(X, u16, s) COMPARE_INTEGER(X, i16, t) COMPARE_FLOAT(X, f32, f) COMPARE_FLOAT(X, f64, d) COMPARE_FLOAT(X, f16, h)
#define COMPARE_LANES(condition, type, T, expression) LANES(compare_##condition##_##type, u, T, T, _, expression)
COMPARISONS(COMPARE_LANES)
LANES(compare_class_f32, u, u, u, _, class_f32(x, y))
LANES(compare_class_f64, u, q, u, _, class_f64(x, y))
LANES(compare_class_f16, u, s, u, _, class_f16(x, y))

#define LETTER(T) #T[0]
#define SOURCES(A, B, C) COUNT_(A) + COUNT_(B) + COUNT_(C)
const struct opcode valu_opcodes[] = {
#define ROW(stem, D, A, B, C, run, added) \
	{ #stem, run, NAME(__LINE__), { LETTER(D), LETTER(A), LETTER(B), LETTER(C) }, SOURCES(A, B, C), added, 0, 0 },
#define V(stem, D, A, B, C, expression) ROW(stem, D, A, B, C, valu_execute, false)
#define VA(stem, D, A, B, C, expression) ROW(stem, D, A, B, C, valu_execute, true)
#define VP(stem, D, A, B, C, expression) ROW(stem, D, A, B, C, valu_packed, false)
#define VF(stem, D, A, B, C, expression) ROW(stem, D, A, B, C, valu_packed_f32, false)
#include "valu.def"
#define COMPARE_ROW(condition, type, T, expression) \
	{ "v_cmp_" #condition "_" #type, compare, compare_##condition##_##type, { 'u', LETTER(T), LETTER(T) }, 2, false, 0, 0 },
	COMPARISONS(COMPARE_ROW)
	{ "v_cmp_class_f32", compare, compare_class_f32, "uuu", 2, false, 0, 0 },
	{ "v_cmp_class_f64", compare, compare_class_f64, "uqu", 2, false, 0, 0 },
	{ "v_cmp_class_f16", compare, compare_class_f16, "usu", 2, false, 0, 0 },
	{ "v_add_co_u32", add_carry, NULL, "uuuu", 3, false, 0, 2 },
	{ "v_add_co_ci_u32", add_carry, NULL, "uuuu", 3, false, 0, 2 },
	{ "v_sub_co_u32", add_carry, NULL, "uuuu", 3, false, 1, 2 },
	{ "v_sub_co_ci_u32", add_carry, NULL, "uuuu", 3, false, 1, 2 },
	{ "v_subrev_co_u32", add_carry, NULL, "uuuu", 3, false, 2, 2 },
	{ "v_subrev_co_ci_u32", add_carry, NULL, "uuuu", 3, false, 2, 2 },
	{ "v_mad_u64_u32", mad_64, NULL, "quuuq", 4, false, 0, 2 },
	{ "v_mad_i64_i32", mad_64, NULL, "quuul", 4, false, 1, 2 },
	{ "v_div_scale_f32", div_scale, NULL, "fufff", 4, false, 0, 2 },
	{ "v_div_scale_f64", div_scale, NULL, "duddd", 4, false, 1, 2 },
	{ "v_div_fmas_f32", div_fmas, NULL, "ffff", 3, false, 0, 0 },
	{ "v_div_fmas_f64", div_fmas, NULL, "dddd", 3, false, 1, 0 },
	{ "v_fma_mix_f32", fma_mix, NULL, "f", 0, false, 0, 0 },
	{ "v_fma_mixlo_f16", fma_mix, NULL, "h", 0, false, 1, 0 },
	{ "v_fma_mixhi_f16", fma_mix, NULL, "h", 0, false, 2, 0 },
	{ "v_dot4_i32_iu8", dot_mixed, NULL, "f", 0, false, 8, 0 },
	{ "v_dot8_i32_iu4", dot_mixed, NULL, "f", 0, false, 4, 0 },
	{ "v_pk_mov_b32", pk_mov, NULL, "", 0, false, 0, 0 },
	{ NULL, NULL, NULL, "", 0, false, 0, 0 },
};

/* v_cmpx_…: as v_cmp_…, and EXEC is written; since gfx10 it has no other destination. */
bool compare_bind(struct instruction *in, const char *stem)
{
	char plain[64] = "v_cmp";

	if (strncmp(stem, "v_cmpx_", 7)) return false;
	strncat(plain, stem + 6, sizeof plain - 6);
	in->op = opcode_find(plain);
	if (!in->op || in->operand_count < 2) return false;
	in->execute = in->op->execute;
	in->detail = COMPARE_EXEC;
	if (in->operand_count == 2) {
		in->o[2] = in->o[1];
		in->o[1] = in->o[0];
		memset(&in->o[0], 0, sizeof in->o[0]);
		in->operand_count = 3;
	}
	return true;
}
