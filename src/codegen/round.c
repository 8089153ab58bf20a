/* Floating-point operations rounded in every mode of PTX ISA 9.7.3 (.rn .rz .rm .rp), without touching the host's rounding
 * mode: changing it costs more than the operation and would be wrong for the code around it.
 *
 * float goes through double, where sums are made "to odd" and products and quotients are exact enough, and is then
 * rounded once. double is rounded to nearest by the machine; the sign of the exact error (error-free transformations:
 * Knuth, Dekker; Boldo and Muller 2005 for fma) then says whether to step to the neighbour. Errors are formed on
 * operands scaled to exponent 0, so they hold for subnormal and huge numbers too. */
#include "codegen/arith.h"
#include "codegen/target.h"

#include <math.h>

/* ---- error-free transformations -------------------------------------------------------------------- */

/* a + b = sum + error exactly, unless the sum overflows. Operands are ordered by size: no step but the first can overflow. */
static LLVMValueRef two_sum(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *error)
{
	LLVMValueRef swap = fcmp_(e, LLVMRealOLT, fabs_(e, a), fabs_(e, b));
	LLVMValueRef large = select_(e, swap, b, a), small = select_(e, swap, a, b), sum = fadd_(e, a, b);
	*error = fsub_(e, small, fsub_(e, sum, large));
	return sum;
}

LLVMValueRef add_odd(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
	LLVMValueRef error, sum = two_sum(e, a, b, &error), zero = LLVMConstNull(LLVMTypeOf(a));
	unsigned bits = lane_bits(a);
	LLVMValueRef even = icmp_(e, LLVMIntEQ, and_(e, as_int(e, sum), kbits(e, bits, 1)), kbits(e, bits, 0));
	LLVMValueRef inexact = fcmp_(e, LLVMRealONE, error, zero);
	return next_toward(e, sum, fcmp_(e, LLVMRealOGT, error, zero), and_(e, even, inexact));
}

/* Steps r, the result to nearest, given the sign of (exact result - r). An infinite r of finite operands, which
 * `overflow` tells, is the largest number where the mode rounds towards zero there. */
static LLVMValueRef step(struct emitter *e, LLVMValueRef r, LLVMValueRef error, LLVMValueRef overflow, enum rounding rounding)
{
	LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(r)), low = fcmp_(e, LLVMRealOLT, error, zero), high = fcmp_(e, LLVMRealOGT, error, zero);
	unsigned bits = lane_bits(r);
	LLVMValueRef negative = icmp_(e, LLVMIntSLT, as_int(e, r), kbits(e, bits, 0)), positive = not_(e, negative);
	LLVMValueRef never = LLVMConstNull(LLVMTypeOf(low));
	low = select_(e, overflow, positive, low);
	high = select_(e, overflow, negative, high);
	LLVMValueRef down = rounding == ROUND_UP ? never : rounding == ROUND_DOWN ? low : and_(e, low, positive);
	LLVMValueRef up = rounding == ROUND_DOWN ? never : rounding == ROUND_UP ? high : and_(e, high, negative);
	return next_toward(e, r, up, or_(e, up, down));
}

static LLVMValueRef is_finite(struct emitter *e, LLVMValueRef v)
{
	return fcmp_(e, LLVMRealOLT, fabs_(e, v), kf(e, PTX_F64, INFINITY));
}

static LLVMValueRef is_infinite(struct emitter *e, LLVMValueRef v)
{
	return fcmp_(e, LLVMRealOEQ, fabs_(e, v), kf(e, PTX_F64, INFINITY));
}

/* An exact zero sum of numbers of different signs is -0 when rounding down. */
static LLVMValueRef zero_sum(struct emitter *e, LLVMValueRef sum, LLVMValueRef a, LLVMValueRef b, enum rounding rounding)
{
	if (rounding != ROUND_DOWN)
		return sum;
	unsigned bits = lane_bits(sum);
	LLVMValueRef sign = and_(e, or_(e, as_int(e, a), as_int(e, b)), kbits(e, bits, UINT64_C(1) << (bits - 1)));
	LLVMValueRef is_zero = fcmp_(e, LLVMRealOEQ, sum, LLVMConstNull(LLVMTypeOf(sum)));
	return select_(e, is_zero, LLVMBuildBitCast(e->b, sign, LLVMTypeOf(sum), ""), sum);
}

/* ---- numbers taken apart --------------------------------------------------------------------------- */

/* v = significand × 2^exponent with the significand in ±[1, 2); zeros, infinities and NaNs come out as some number. */
static LLVMValueRef split(struct emitter *e, LLVMValueRef v, LLVMValueRef *exponent)
{
	LLVMTypeRef f64 = LLVMTypeOf(v);
	LLVMValueRef tiny = fcmp_(e, LLVMRealOLT, fabs_(e, v), kf(e, PTX_F64, 0x1p-1022));
	v = select_(e, tiny, fmul_(e, v, kf(e, PTX_F64, 0x1p64)), v);
	LLVMValueRef bits = as_int(e, v), field = and_(e, lshr_(e, bits, kbits(e, 64, 52)), kbits(e, 64, 0x7ff));
	*exponent = sub_(e, field, select_(e, tiny, kbits(e, 64, 1023 + 64), kbits(e, 64, 1023)));
	bits = or_(e, and_(e, bits, kbits(e, 64, UINT64_C(0x800fffffffffffff))), kbits(e, 64, UINT64_C(0x3ff0000000000000)));
	return LLVMBuildBitCast(e->b, bits, f64, "");
}

static LLVMValueRef power_of_two(struct emitter *e, LLVMValueRef exponent)
{
	LLVMValueRef field = add_(e, exponent, kbits(e, 64, 1023));
	field = intrinsic2(e, "llvm.smin", intrinsic2(e, "llvm.smax", field, kbits(e, 64, 1)), kbits(e, 64, 2046));
	return LLVMBuildBitCast(e->b, shl_(e, field, kbits(e, 64, 52)), piece_type(e, PTX_F64), "");
}

/* v × 2^exponent, exact where both it and v are normal (or v is a subnormal made larger). */
static LLVMValueRef scale(struct emitter *e, LLVMValueRef v, LLVMValueRef exponent)
{
	LLVMValueRef half = ashr_(e, exponent, kbits(e, 64, 1)), rest = sub_(e, exponent, half);
	return fmul_(e, fmul_(e, v, power_of_two(e, half)), power_of_two(e, rest));
}

/* ---- double ---------------------------------------------------------------------------------------- */

static LLVMValueRef double_add(struct emitter *e, LLVMValueRef a, LLVMValueRef b, enum rounding rounding)
{
	LLVMValueRef error, r = two_sum(e, a, b, &error);
	LLVMValueRef overflow = and_(e, is_infinite(e, r), and_(e, is_finite(e, a), is_finite(e, b)));
	return zero_sum(e, step(e, r, error, overflow, rounding), a, b, rounding);
}

static LLVMValueRef double_mul(struct emitter *e, LLVMValueRef a, LLVMValueRef b, enum rounding rounding)
{
	LLVMValueRef r = fmul_(e, a, b), a_exponent, b_exponent, zero = LLVMConstNull(LLVMTypeOf(r));
	LLVMValueRef x = split(e, a, &a_exponent), y = split(e, b, &b_exponent);
	LLVMValueRef finite = and_(e, is_finite(e, a), is_finite(e, b)), overflow = and_(e, is_infinite(e, r), finite);
	LLVMValueRef is_zero = or_(e, fcmp_(e, LLVMRealOEQ, a, zero), fcmp_(e, LLVMRealOEQ, b, zero));
	LLVMValueRef scaled = scale(e, r, sub_(e, kbits(e, 64, 0), add_(e, a_exponent, b_exponent)));
	LLVMValueRef error = fma_(e, x, y, fneg_(e, scaled));
	error = select_(e, or_(e, is_zero, not_(e, finite)), zero, error);
	return step(e, r, error, overflow, rounding);
}

static LLVMValueRef double_quotient(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
	return e->target->hooks ? e->target->hooks->divide(e, a, b) : fdiv_(e, a, b);
}

static LLVMValueRef double_div(struct emitter *e, LLVMValueRef a, LLVMValueRef b, enum rounding rounding)
{
	LLVMValueRef r = double_quotient(e, a, b), a_exponent, b_exponent, zero = LLVMConstNull(LLVMTypeOf(r));
	LLVMValueRef x = split(e, a, &a_exponent), y = split(e, b, &b_exponent);
	LLVMValueRef regular = and_(e, and_(e, is_finite(e, a), is_finite(e, b)),
				    and_(e, fcmp_(e, LLVMRealUNE, a, zero), fcmp_(e, LLVMRealUNE, b, zero)));
	LLVMValueRef scaled = scale(e, r, sub_(e, b_exponent, a_exponent));
	LLVMValueRef error = fma_(e, fneg_(e, scaled), y, x);
	error = select_(e, fcmp_(e, LLVMRealOLT, b, zero), fneg_(e, error), error);
	return step(e, r, select_(e, regular, error, zero), and_(e, is_infinite(e, r), regular), rounding);
}

static LLVMValueRef double_sqrt(struct emitter *e, LLVMValueRef a, enum rounding rounding)
{
	LLVMValueRef r = intrinsic1(e, "llvm.sqrt", a), exponent, zero = LLVMConstNull(LLVMTypeOf(a));
	LLVMValueRef x = split(e, a, &exponent), odd = and_(e, exponent, kbits(e, 64, 1));
	LLVMValueRef half = ashr_(e, exponent, kbits(e, 64, 1));
	x = fmul_(e, x, select_(e, icmp_(e, LLVMIntEQ, odd, kbits(e, 64, 0)), kf(e, PTX_F64, 1.0), kf(e, PTX_F64, 2.0)));
	LLVMValueRef scaled = scale(e, r, sub_(e, kbits(e, 64, 0), half));
	LLVMValueRef error = fma_(e, fneg_(e, scaled), scaled, x);
	LLVMValueRef regular = and_(e, fcmp_(e, LLVMRealOGT, a, zero), is_finite(e, a));
	return step(e, r, select_(e, regular, error, zero), LLVMConstNull(LLVMTypeOf(regular)), rounding);
}

/* The sign of a × b + c - r where r is that rounded to nearest: with significands in [1, 2) and the addend and r scaled
 * alike. An addend too small to matter stands for its sign; one so large that r is the addend leaves the product's sign. */
static LLVMValueRef fma_error(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, LLVMValueRef r)
{
	LLVMValueRef a_exponent, b_exponent, c_exponent, e1, e2, e3, e4, zero = LLVMConstNull(LLVMTypeOf(r));
	LLVMValueRef x = split(e, a, &a_exponent), y = split(e, b, &b_exponent), z = split(e, c, &c_exponent);
	LLVMValueRef product_exponent = add_(e, a_exponent, b_exponent), down = sub_(e, kbits(e, 64, 0), product_exponent);
	LLVMValueRef distance = add_(e, c_exponent, down), c_zero = fcmp_(e, LLVMRealOEQ, c, zero);
	LLVMValueRef large = and_(e, icmp_(e, LLVMIntSGT, distance, kbits(e, 64, 120)), not_(e, c_zero));
	z = fmul_(e, z, power_of_two(e, intrinsic2(e, "llvm.smax", distance, kbits(e, 64, (uint64_t)-300))));
	z = select_(e, c_zero, zero, z);
	LLVMValueRef product = fmul_(e, x, y), low = fma_(e, x, y, fneg_(e, product)), scaled = scale(e, r, down);
	/* x·y + z - r = (product - r + z …): Boldo and Muller's ErrFma */
	LLVMValueRef alpha = two_sum(e, z, low, &e1), beta = two_sum(e, product, alpha, &e2);
	LLVMValueRef gamma = fadd_(e, fsub_(e, beta, scaled), e2);
	e3 = two_sum(e, gamma, e1, &e4);
	LLVMValueRef error = select_(e, fcmp_(e, LLVMRealOEQ, e3, zero), e4, e3);
	LLVMValueRef product_zero = or_(e, fcmp_(e, LLVMRealOEQ, a, zero), fcmp_(e, LLVMRealOEQ, b, zero));
	error = select_(e, large, product, error);
	return select_(e, product_zero, zero, error);
}

static LLVMValueRef double_fma(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, enum rounding rounding)
{
	LLVMValueRef r = fma_(e, a, b, c), zero = LLVMConstNull(LLVMTypeOf(r));
	LLVMValueRef finite = and_(e, and_(e, is_finite(e, a), is_finite(e, b)), is_finite(e, c));
	LLVMValueRef error = select_(e, finite, fma_error(e, a, b, c, r), zero);
	LLVMValueRef stepped = step(e, r, error, and_(e, is_infinite(e, r), finite), rounding);
	/* The product's sign is what an exact zero's sign depends on; an underflown sum is not exact. */
	LLVMValueRef sign = LLVMBuildBitCast(e->b, xor_(e, as_int(e, a), as_int(e, b)), LLVMTypeOf(a), "");
	return select_(e, fcmp_(e, LLVMRealOEQ, error, zero), zero_sum(e, stepped, sign, c, rounding), stepped);
}

/* ---- either type ------------------------------------------------------------------------------------ */

LLVMValueRef float_add(struct emitter *e, LLVMValueRef a, LLVMValueRef b, enum rounding rounding)
{
	if (rounding == ROUND_NEAREST)
		return fadd_(e, a, b);
	if (lane_bits(a) == 64)
		return double_add(e, a, b, rounding);
	LLVMValueRef x = to_double(e, a), y = to_double(e, b);
	return double_to_float(e, zero_sum(e, add_odd(e, x, y), x, y, rounding), rounding);
}

LLVMValueRef float_mul(struct emitter *e, LLVMValueRef a, LLVMValueRef b, enum rounding rounding)
{
	if (rounding == ROUND_NEAREST)
		return fmul_(e, a, b);
	if (lane_bits(a) == 64)
		return double_mul(e, a, b, rounding);
	return double_to_float(e, fmul_(e, to_double(e, a), to_double(e, b)), rounding); /* 48 bits: exact */
}

LLVMValueRef float_fma(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, enum rounding rounding)
{
	if (rounding == ROUND_NEAREST)
		return fma_(e, a, b, c);
	if (lane_bits(a) == 64)
		return double_fma(e, a, b, c, rounding);
	LLVMValueRef product = fmul_(e, to_double(e, a), to_double(e, b)), z = to_double(e, c);
	return double_to_float(e, zero_sum(e, add_odd(e, product, z), product, z, rounding), rounding);
}

/* A quotient or root of floats that is no float (or midpoint of two) is further from one than a double rounds. */
LLVMValueRef float_div(struct emitter *e, LLVMValueRef a, LLVMValueRef b, enum rounding rounding)
{
	if (rounding == ROUND_NEAREST)
		return lane_bits(a) == 64 ? double_quotient(e, a, b) : fdiv_(e, a, b);
	if (lane_bits(a) == 64)
		return double_div(e, a, b, rounding);
	return double_to_float(e, fdiv_(e, to_double(e, a), to_double(e, b)), rounding);
}

/* From -inf up to the least below zero: as integers, because LLVM takes any NaN for what the root of such a number is. */
static LLVMValueRef is_negative(struct emitter *e, LLVMValueRef a)
{
	LLVMValueRef above = sub_(e, as_int(e, a), kbits(e, 64, UINT64_C(0x8000000000000001)));
	return icmp_(e, LLVMIntULT, above, kbits(e, 64, UINT64_C(0x7ff0000000000000)));
}

/* The NaN of other invalid operations, which the root of a negative number is too. */
static LLVMValueRef invalid_double(struct emitter *e)
{
	return LLVMConstBitCast(kbits(e, 64, UINT64_C(0xfff8000000000000)), piece_type(e, PTX_F64));
}

static LLVMValueRef double_root(struct emitter *e, LLVMValueRef a, enum rounding rounding)
{
	return rounding == ROUND_NEAREST ? intrinsic1(e, "llvm.sqrt", a) : double_sqrt(e, a, rounding);
}

LLVMValueRef float_sqrt(struct emitter *e, LLVMValueRef a, enum rounding rounding)
{
	if (lane_bits(a) == 64) {
		LLVMValueRef r = double_root(e, a, rounding);
		return e->target->hooks ? select_(e, is_negative(e, a), invalid_double(e), r) : r;
	}
	if (rounding == ROUND_NEAREST)
		return intrinsic1(e, "llvm.sqrt", a);
	return double_to_float(e, intrinsic1(e, "llvm.sqrt", to_double(e, a)), rounding);
}

/* The product of halves is exact in float; their sum is made to odd there, then rounded once. */
LLVMValueRef half_fma(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
	LLVMValueRef product = fmul_(e, to_float(e, a), to_float(e, b));
	return float_to_half(e, add_odd(e, product, to_float(e, c)), ROUND_NEAREST);
}

LLVMValueRef bf16_fma(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
	LLVMValueRef x = to_double(e, bf16_to_float(e, a)), y = to_double(e, bf16_to_float(e, b));
	LLVMValueRef sum = add_odd(e, fmul_(e, x, y), to_double(e, bf16_to_float(e, c)));
	return float_to_bf16(e, double_to_float_odd(e, sum), ROUND_NEAREST);
}

LLVMValueRef float_min_max(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool is_max, bool nan_wins)
{
	LLVMRealPredicate better = is_max ? LLVMRealOGT : LLVMRealOLT;
	LLVMTypeRef type = LLVMTypeOf(a);
	LLVMValueRef lane, r = select_(e, fcmp_(e, better, a, b), a, b);
	LLVMBool loses;
	bool plain = constant_lanes(b, &lane) && LLVMIsAConstantFP(lane);
	double constant = plain ? LLVMConstRealGetDouble(lane, &loses) : 0;
	if (plain && !nan_wins && !isnan(constant) && (constant != 0 || signbit(constant) != is_max))
		return r;
	/* Equal operands differ at most in a zero's sign. */
	LLVMValueRef x = as_int(e, a), y = as_int(e, b), both = is_max ? and_(e, x, y) : or_(e, x, y);
	r = select_(e, fcmp_(e, LLVMRealOEQ, a, b), LLVMBuildBitCast(e->b, both, type, ""), r);
	if (nan_wins)
		return select_(e, is_nan(e, a), a, r); /* a comparison with a NaN has already chosen b */
	return select_(e, is_nan(e, b), a, r);
}
