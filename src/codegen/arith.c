/* Integer and packing helpers of arith.h, and conversions between float formats. The operations with directed roundings
 * are in round.c. */
#include "codegen/arith.h"

#include <string.h>

bool type_is_signed(enum ptx_type type)
{
	switch (type) {
	case PTX_S8: case PTX_S16: case PTX_S32: case PTX_S64: case PTX_S16X2: case PTX_S4:
		return true;
	default:
		return false;
	}
}

bool type_is_float(enum ptx_type type)
{
	switch (type) {
	case PTX_F16: case PTX_F16X2: case PTX_BF16: case PTX_BF16X2: case PTX_F32: case PTX_F32X2: case PTX_F64:
		return true;
	default:
		return false;
	}
}

static LLVMTypeRef lane_of(LLVMTypeRef type)
{
	return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

unsigned lane_bits(LLVMValueRef v)
{
	LLVMTypeRef type = lane_of(LLVMTypeOf(v));
	switch (LLVMGetTypeKind(type)) {
	case LLVMHalfTypeKind:
		return 16;
	case LLVMFloatTypeKind:
		return 32;
	case LLVMDoubleTypeKind:
		return 64;
	default:
		return LLVMGetIntTypeWidth(type);
	}
}

bool constant_lanes(LLVMValueRef v, LLVMValueRef *lane)
{
	if (!LLVMIsConstant(v) || LLVMIsUndef(v))
		return false;
	*lane = v;
	if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind)
		return true;
	unsigned count = LLVMGetVectorSize(LLVMTypeOf(v));
	*lane = LLVMGetAggregateElement(v, 0);
	for (unsigned i = 1; i < count; i++)
		if (LLVMGetAggregateElement(v, i) != *lane)
			return false;
	return *lane != NULL;
}

bool constant_int(LLVMValueRef v, uint64_t *value)
{
	LLVMValueRef lane;
	if (!constant_lanes(v, &lane) || !LLVMIsAConstantInt(lane))
		return false;
	*value = LLVMConstIntGetZExtValue(lane);
	return true;
}

/* ---- integers ---------------------------------------------------------------------------------- */

LLVMValueRef shift_left(struct emitter *e, LLVMValueRef v, LLVMValueRef amount)
{
	LLVMValueRef inside = icmp_(e, LLVMIntULT, amount, kbits(e, lane_bits(v), lane_bits(v)));
	return select_(e, inside, shl_(e, v, amount), LLVMConstNull(LLVMTypeOf(v)));
}

LLVMValueRef shift_right(struct emitter *e, LLVMValueRef v, LLVMValueRef amount, bool is_signed)
{
	unsigned bits = lane_bits(v);
	LLVMValueRef inside = icmp_(e, LLVMIntULT, amount, kbits(e, bits, bits));
	if (is_signed)
		return ashr_(e, v, select_(e, inside, amount, kbits(e, bits, bits - 1)));
	return select_(e, inside, lshr_(e, v, amount), LLVMConstNull(LLVMTypeOf(v)));
}

LLVMValueRef mul_high(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool is_signed)
{
	unsigned bits = lane_bits(a);
	LLVMValueRef wide = mul_(e, resize(e, a, 2 * bits, is_signed), resize(e, b, 2 * bits, is_signed));
	return resize(e, lshr_(e, wide, kbits(e, 2 * bits, bits)), bits, false);
}

LLVMValueRef low_mask(struct emitter *e, LLVMValueRef length)
{
	return not_(e, shift_left(e, LLVMConstAllOnes(LLVMTypeOf(length)), length));
}

/* Vector quotients of 32 bits and fewer, by division of doubles: a quotient of numbers below 2^32 that is no integer
 * is further from one than a double's rounding reaches, so truncation is exact. */
static LLVMValueRef divide_by_double(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool is_signed)
{
	unsigned bits = lane_bits(a);
	LLVMTypeRef f64 = piece_type(e, PTX_F64), wide = piece_int(e, 64);
	LLVMValueRef x = is_signed ? LLVMBuildSIToFP(e->b, a, f64, "") : LLVMBuildUIToFP(e->b, a, f64, "");
	LLVMValueRef y = is_signed ? LLVMBuildSIToFP(e->b, b, f64, "") : LLVMBuildUIToFP(e->b, b, f64, "");
	LLVMValueRef q = intrinsic1(e, "llvm.trunc", fdiv_(e, x, y));
	/* An integer below 2^51 in size, added to 1.5 × 2^52, stands in the low bits. */
	q = LLVMBuildBitCast(e->b, fadd_(e, q, kf(e, PTX_F64, 6755399441055744.0)), wide, "");
	return resize(e, q, bits, false);
}

LLVMValueRef integer_divide(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool is_signed, bool remainder)
{
	unsigned bits = lane_bits(a);
	LLVMValueRef zero = kbits(e, bits, 0), one = kbits(e, bits, 1), ones = LLVMConstAllOnes(LLVMTypeOf(a));
	LLVMValueRef by_zero = icmp_(e, LLVMIntEQ, b, zero), safe = select_(e, by_zero, one, b), r;
	LLVMValueRef lane;
	if (is_signed) {
		LLVMValueRef least = kbits(e, bits, UINT64_C(1) << (bits - 1));
		LLVMValueRef wraps = and_(e, icmp_(e, LLVMIntEQ, a, least), icmp_(e, LLVMIntEQ, b, ones));
		safe = select_(e, wraps, one, safe);
	}
	if (e->w > 1 && bits <= 32 && !constant_lanes(safe, &lane)) {
		r = divide_by_double(e, a, safe, is_signed);
		if (remainder)
			r = sub_(e, a, mul_(e, r, safe));
	} else if (remainder) {
		r = is_signed ? LLVMBuildSRem(e->b, a, safe, "") : LLVMBuildURem(e->b, a, safe, "");
	} else {
		r = is_signed ? LLVMBuildSDiv(e->b, a, safe, "") : LLVMBuildUDiv(e->b, a, safe, "");
	}
	return select_(e, by_zero, ones, r);
}

LLVMValueRef clamp_int(struct emitter *e, LLVMValueRef v, bool v_signed, unsigned bits, bool is_signed)
{
	unsigned width = lane_bits(v);
	uint64_t top = is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	if (!v_signed)
		return width > bits || (width == bits && is_signed) ? intrinsic2(e, "llvm.umin", v, kbits(e, width, top)) : v;
	if (is_signed) {
		if (width <= bits)
			return v;
		v = intrinsic2(e, "llvm.smin", v, kbits(e, width, top));
		return intrinsic2(e, "llvm.smax", v, kbits(e, width, ~top));
	}
	v = intrinsic2(e, "llvm.smax", v, kbits(e, width, 0));
	return width > bits ? intrinsic2(e, "llvm.umin", v, kbits(e, width, top)) : v;
}

/* ---- packed registers ---------------------------------------------------------------------------- */

void packed_open(struct emitter *e, unsigned count)
{
	e->w *= count;
}

void packed_close(struct emitter *e, unsigned count)
{
	e->w /= count;
}

LLVMValueRef as_lanes(struct emitter *e, LLVMValueRef v, LLVMTypeRef lane)
{
	LLVMTypeRef to = piece_of(e, lane);
	return LLVMTypeOf(v) == to ? v : LLVMBuildBitCast(e->b, v, to, "");
}

/* ---- floating point ------------------------------------------------------------------------------ */

enum rounding rounding_of(struct emitter *e)
{
	return has(e, MOD_rz) ? ROUND_ZERO : has(e, MOD_rm) ? ROUND_DOWN : has(e, MOD_rp) ? ROUND_UP : ROUND_NEAREST;
}

static LLVMValueRef exponent_is_zero(struct emitter *e, LLVMValueRef bits)
{
	unsigned width = lane_bits(bits);
	uint64_t exponent = width == 16 ? 0x7c00 : width == 32 ? 0x7f800000 : UINT64_C(0x7ff0000000000000);
	return icmp_(e, LLVMIntEQ, and_(e, bits, kbits(e, width, exponent)), kbits(e, width, 0));
}

LLVMValueRef flush(struct emitter *e, LLVMValueRef v)
{
	LLVMTypeRef type = LLVMTypeOf(v);
	LLVMValueRef bits = as_int(e, v), sign = kbits(e, lane_bits(v), UINT64_C(1) << (lane_bits(v) - 1));
	bits = select_(e, exponent_is_zero(e, bits), and_(e, bits, sign), bits);
	return LLVMBuildBitCast(e->b, bits, type, "");
}

LLVMValueRef flush_if(struct emitter *e, bool ftz, LLVMValueRef v)
{
	return ftz ? flush(e, v) : v;
}

LLVMValueRef saturate(struct emitter *e, LLVMValueRef v)
{
	LLVMTypeRef lane = lane_of(LLVMTypeOf(v));
	if (LLVMGetTypeKind(lane) == LLVMHalfTypeKind) /* exact; of halves LLVM would make calls of fmaxf */
		return LLVMBuildFPTrunc(e->b, saturate(e, to_float(e, v)), LLVMTypeOf(v), "");
	LLVMValueRef zero = splat(e, LLVMConstReal(lane, 0.0)), one = splat(e, LLVMConstReal(lane, 1.0));
	v = select_(e, fcmp_(e, LLVMRealOGT, v, zero), v, zero);
	return select_(e, fcmp_(e, LLVMRealOLT, v, one), v, one);
}

/* The relu of bf16 bits and of floats: negative numbers and -0 become +0, NaN stays. */
LLVMValueRef relu(struct emitter *e, enum ptx_type type, LLVMValueRef v)
{
	LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(v)), nan = type == PTX_BF16 ? is_nan(e, bf16_to_float(e, v)) : is_nan(e, v);
	LLVMValueRef bits = as_int(e, v), negative = icmp_(e, LLVMIntSLT, bits, LLVMConstNull(LLVMTypeOf(bits)));
	return select_(e, and_(e, negative, not_(e, nan)), zero, v);
}

LLVMValueRef is_nan(struct emitter *e, LLVMValueRef v)
{
	return fcmp_(e, LLVMRealUNO, v, v);
}

LLVMValueRef canonical_nan(struct emitter *e, LLVMValueRef v)
{
	unsigned bits = lane_bits(v);
	if (bits == 64)
		return v;
	LLVMValueRef nan = LLVMConstBitCast(kbits(e, bits, bits == 16 ? 0x7fff : 0x7fffffff), LLVMTypeOf(v));
	return select_(e, is_nan(e, v), nan, v);
}

LLVMValueRef to_double(struct emitter *e, LLVMValueRef v)
{
	return lane_bits(v) == 64 ? v : LLVMBuildFPExt(e->b, v, piece_type(e, PTX_F64), "");
}

LLVMValueRef to_float(struct emitter *e, LLVMValueRef v)
{
	unsigned bits = lane_bits(v);
	if (bits == 32)
		return v;
	LLVMTypeRef f32 = piece_type(e, PTX_F32);
	return bits < 32 ? LLVMBuildFPExt(e->b, v, f32, "") : LLVMBuildFPTrunc(e->b, v, f32, "");
}

/* The neighbour in the order of numbers: bits move up for a step away from zero, down for one towards it. `when` must
 * not hold for a step past infinity, for NaN, or from a zero to the side of the other sign. */
LLVMValueRef next_toward(struct emitter *e, LLVMValueRef v, LLVMValueRef up, LLVMValueRef when)
{
	LLVMTypeRef type = LLVMTypeOf(v);
	unsigned width = lane_bits(v);
	LLVMValueRef bits = as_int(e, v), one = kbits(e, width, 1), zero = kbits(e, width, 0);
	LLVMValueRef away = icmp_(e, LLVMIntNE, icmp_(e, LLVMIntSLT, bits, zero), up);
	LLVMValueRef step = select_(e, away, one, LLVMConstAllOnes(LLVMTypeOf(bits)));
	return LLVMBuildBitCast(e->b, add_(e, bits, select_(e, when, step, zero)), type, "");
}

LLVMValueRef bf16_to_float(struct emitter *e, LLVMValueRef bits)
{
	LLVMValueRef wide = shl_(e, resize(e, bits, 32, false), kbits(e, 32, 16));
	return LLVMBuildBitCast(e->b, wide, piece_type(e, PTX_F32), "");
}

LLVMValueRef float_to_bf16(struct emitter *e, LLVMValueRef v, enum rounding rounding)
{
	LLVMValueRef bits = as_int(e, v), sixteen = kbits(e, 32, 16), up;
	LLVMValueRef negative = icmp_(e, LLVMIntSLT, bits, kbits(e, 32, 0));
	switch (rounding) {
	case ROUND_NEAREST: /* half an ulp less one, and one more where the last bit kept is odd */
		up = add_(e, and_(e, lshr_(e, bits, sixteen), kbits(e, 32, 1)), kbits(e, 32, 0x7fff));
		break;
	case ROUND_DOWN:
		up = select_(e, negative, kbits(e, 32, 0xffff), kbits(e, 32, 0));
		break;
	case ROUND_UP:
		up = select_(e, negative, kbits(e, 32, 0), kbits(e, 32, 0xffff));
		break;
	default:
		up = kbits(e, 32, 0);
	}
	LLVMValueRef rounded = lshr_(e, add_(e, bits, up), sixteen);
	return resize(e, select_(e, is_nan(e, v), kbits(e, 32, 0x7fff), rounded), 16, false);
}

/* Steps `r`, which is v rounded to nearest, to what the mode wants. back = r in v's format. */
static LLVMValueRef direct(struct emitter *e, LLVMValueRef r, LLVMValueRef back, LLVMValueRef v, enum rounding rounding)
{
	if (rounding == ROUND_NEAREST)
		return r;
	LLVMValueRef above = fcmp_(e, LLVMRealOGT, back, v), below = fcmp_(e, LLVMRealOLT, back, v), down, up;
	LLVMValueRef never = LLVMConstNull(LLVMTypeOf(above));
	LLVMValueRef positive = fcmp_(e, LLVMRealOGT, v, LLVMConstNull(LLVMTypeOf(v)));
	down = rounding == ROUND_UP ? never : rounding == ROUND_DOWN ? above : and_(e, above, positive);
	up = rounding == ROUND_DOWN ? never : rounding == ROUND_UP ? below : and_(e, below, not_(e, positive));
	return next_toward(e, r, up, or_(e, up, down));
}

LLVMValueRef float_to_half(struct emitter *e, LLVMValueRef v, enum rounding rounding)
{
	LLVMValueRef r = LLVMBuildFPTrunc(e->b, v, piece_type(e, PTX_F16), "");
	return direct(e, r, to_float(e, r), v, rounding);
}

LLVMValueRef double_to_float(struct emitter *e, LLVMValueRef v, enum rounding rounding)
{
	LLVMValueRef r = to_float(e, v);
	return direct(e, r, to_double(e, r), v, rounding);
}

LLVMValueRef double_to_float_odd(struct emitter *e, LLVMValueRef v)
{
	LLVMValueRef r = to_float(e, v), back = to_double(e, r);
	LLVMValueRef inexact = fcmp_(e, LLVMRealONE, back, v);
	LLVMValueRef even = icmp_(e, LLVMIntEQ, and_(e, as_int(e, r), kbits(e, 32, 1)), kbits(e, 32, 0));
	return next_toward(e, r, fcmp_(e, LLVMRealOLT, back, v), and_(e, inexact, even));
}
