/* Lanes and warps from a thread's number: t & 31, t >> 5, t < 64.
 *
 * A group's first lane has a number that is a multiple of how many lanes there are, so the low bits count the lanes and the high bits are
 * the group's. Shapes carry how many low bits of the first lane's number are 0 (`zeros`; sums, products and shifts keep account of it, and
 * loops that step by blocks do not lose it). Where the numbers of all lanes stay below the first bit that may be set, nothing is carried
 * from the lanes' bits into the group's: a mask or a shift acts on each apart, and a bound that is a multiple too has all lanes on one
 * side. What is so only within each chunk makes a shape of chunks.
 *
 * t ^ j, which sorts and exchanges of lanes are made of, is a sum or a difference where j has none of the lanes' bits; where it has, and
 * lanes stay within their chunk, it is the chunk's numbers in another order (`flip`): one vector access and a shuffle (address.c). */
#include "ir/bits.h"

#include "base/base.h"

enum { MOST_ZEROS = 31 };

static unsigned count_zeros(uint64_t v)
{
	unsigned n = v ? (unsigned)__builtin_ctzll(v) : MOST_ZEROS;
	return n < MOST_ZEROS ? n : MOST_ZEROS;
}

static bool is_constant(struct ir_shape s)
{
	return s.kind == IR_UNIFORM && s.low == s.high;
}

unsigned ir_low_zeros(struct ir_shape s)
{
	return is_constant(s) ? count_zeros((uint64_t)s.low) : s.kind == IR_VARYING ? 0 : s.zeros;
}

/* The bits that the lanes' distances from the first lane of the group, or of the chunk, may have: 0 to 2^n - 1. False where a
 * carry may leave them. */
static bool lane_bits(struct ir_shape a, unsigned lanes, bool of_chunk, unsigned *bits)
{
	if (a.kind != IR_AFFINE || !a.exact || a.stride <= 0 || a.stride > 1 << 16 || (!of_chunk && !a.linear))
		return false;
	uint64_t most = (uint64_t)a.stride * (lanes - 1);
	unsigned zeros = ir_low_zeros(a);
	if (of_chunk && a.linear) {
		unsigned step = count_zeros((uint64_t)a.stride * lanes);
		zeros = step < zeros ? step : zeros;
	}
	for (*bits = 0; most >> *bits;)
		++*bits;
	return *bits <= zeros;
}

bool ir_lanes_carry_nothing(struct ir_shape s, struct lanes lanes)
{
	unsigned bits;
	return lane_bits(s, s.linear ? lanes.all : lanes.width, !s.linear, &bits);
}

static void set(struct ir_shape *s, enum ir_shape_kind kind, int64_t stride, bool linear, unsigned zeros)
{
	s->kind = kind;
	s->stride = stride;
	s->linear = linear || kind == IR_UNIFORM;
	s->zeros = (uint8_t)(zeros < MOST_ZEROS ? zeros : MOST_ZEROS);
}

bool ir_shape_and(struct ir_shape a, struct ir_shape b, struct lanes lanes, struct ir_shape *s)
{
	struct ir_shape index = is_constant(b) ? a : b;
	unsigned bits, zeros = ir_low_zeros(index);
	if (!is_constant(a) && !is_constant(b))
		return false;
	uint64_t mask = (uint64_t)(is_constant(b) ? b : a).low;
	if (count_zeros(mask) > zeros)
		zeros = count_zeros(mask);
	for (int of_chunk = 0; of_chunk < 2; of_chunk++) {
		if (!lane_bits(index, of_chunk ? lanes.width : lanes.all, of_chunk, &bits))
			continue;
		uint64_t own = mask & ((UINT64_C(1) << bits) - 1);
		if (own && own != (UINT64_C(1) << bits) - 1)
			continue;
		if (own)
			set(s, IR_AFFINE, index.stride, !of_chunk, zeros);
		else
			set(s, of_chunk ? IR_AFFINE : IR_UNIFORM, 0, false, zeros);
		return true;
	}
	return false;
}

/* Bits that the lanes have and bits that the other has: none are both, and it is a sum. */
bool ir_shape_or(struct ir_shape a, struct ir_shape b, struct lanes lanes, struct ir_shape *s)
{
	bool turned = b.kind == IR_AFFINE && b.stride;
	struct ir_shape index = turned ? b : a, other = turned ? a : b;
	unsigned bits, zeros = ir_low_zeros(other);
	for (int of_chunk = 0; of_chunk < 2; of_chunk++) {
		bool same = other.kind == IR_UNIFORM || (of_chunk && other.kind == IR_AFFINE && !other.stride && other.exact && !other.linear);
		if (!same || !lane_bits(index, of_chunk ? lanes.width : lanes.all, of_chunk, &bits) || bits > zeros)
			continue;
		/* s has the range of all numbers so wide */
		if (index.low >= 0 && index.high < INT64_C(1) << zeros && other.high <= s->high - index.high) {
			s->low = other.low + index.low;
			s->high = other.high + index.high;
		}
		unsigned of_index = ir_low_zeros(index);
		if (of_chunk && index.linear) {
			unsigned step = count_zeros((uint64_t)index.stride * lanes.width);
			of_index = step < of_index ? step : of_index;
		}
		set(s, IR_AFFINE, index.stride, !of_chunk, of_index < zeros ? of_index : zeros);
		return true;
	}
	return false;
}

void ir_shape_xor(struct ir_shape a, struct ir_shape b, struct lanes lanes, struct ir_shape *s)
{
	struct ir_shape index = is_constant(b) ? a : b, other = is_constant(b) ? b : a;
	unsigned bits;
	if (a.low >= 0 && b.low >= 0) {
		int64_t most = a.high | b.high, high = 0;
		while (high < most)
			high = high << 1 | 1;
		s->low = 0;
		s->high = high < s->high ? high : s->high;
	}
	if (ir_shape_or(a, b, lanes, s) || !is_constant(other) || other.low < 0 || index.low < 0 || !lane_bits(index, lanes.width, true, &bits))
		return;
	/* stride * lane has the bits from the stride's up to `bits`, all of them where that is a power of 2 */
	uint64_t own = (uint64_t)other.low & ((UINT64_C(1) << bits) - 1), stride = (uint64_t)index.stride;
	if ((stride & (stride - 1)) || own % stride || own / stride >= lanes.width)
		return;
	s->kind = IR_VARYING;
	s->stride = index.stride;
	s->flip = (uint8_t)(own / stride);
}

bool ir_shape_shr(struct ir_shape a, struct ir_shape by, unsigned bits, bool is_signed, struct lanes lanes, struct ir_shape *s)
{
	unsigned own, zeros = ir_low_zeros(a);
	if (!is_constant(by) || by.low < 0 || by.low >= (int64_t)bits || (!is_signed && a.low < 0))
		return false;
	unsigned n = (unsigned)by.low;
	bool in_order = (uint64_t)a.high - (uint64_t)a.low < UINT64_C(1) << (bits - 1); /* no lane has come round */
	if (a.kind == IR_AFFINE && a.exact && in_order && a.stride > 0 && n <= zeros && count_zeros((uint64_t)a.stride) >= n) {
		set(s, IR_AFFINE, a.stride >> n, a.linear, zeros - n);
		return true;
	}
	for (int of_chunk = 0; of_chunk < 2; of_chunk++)
		if (lane_bits(a, of_chunk ? lanes.width : lanes.all, of_chunk, &own) && own <= n) {
			set(s, of_chunk ? IR_AFFINE : IR_UNIFORM, 0, false, zeros > n ? zeros - n : 0);
			return true;
		}
	return false;
}

/* index < bound, index >= bound: +0; index <= bound, index > bound: +1 to the bound. False for the others. */
static bool find_step(const struct ptx_form *form, bool turned, int64_t *step)
{
	static const struct {
		enum ptx_mod mod;
		int8_t step, turned;
	} table[] = { { MOD_lt, 0, 1 }, { MOD_ge, 0, 1 }, { MOD_le, 1, 0 }, { MOD_gt, 1, 0 },
		      { MOD_lo, 0, 1 }, { MOD_hs, 0, 1 }, { MOD_ls, 1, 0 }, { MOD_hi, 1, 0 } };
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
		if (ptx_has(form, table[i].mod)) {
			*step = turned ? table[i].turned : table[i].step;
			return true;
		}
	return false;
}

bool ir_shape_compare(const struct ptx_form *form, struct ir_shape a, struct ir_shape b, struct lanes lanes, struct ir_shape *s)
{
	bool turned = a.kind == IR_UNIFORM;
	struct ir_shape index = turned ? b : a, bound = turned ? a : b;
	unsigned bits;
	int64_t step;
	if (bound.kind != IR_UNIFORM || ptx_type_bits(form->types[0]) < 32 || !find_step(form, turned, &step))
		return false;
	if (step && !is_constant(bound))
		return false;
	/* past the largest number nothing is: wherever the lanes are, they are together */
	unsigned zeros = is_constant(bound) ? count_zeros((uint64_t)bound.low + (uint64_t)step) : ir_low_zeros(bound);
	for (int of_chunk = 0; of_chunk < 2; of_chunk++)
		if (lane_bits(index, of_chunk ? lanes.width : lanes.all, of_chunk, &bits) && bits <= zeros) {
			set(s, of_chunk ? IR_AFFINE : IR_UNIFORM, 0, false, 0);
			return true;
		}
	return false;
}
