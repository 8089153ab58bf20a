/* Conversion: PTX ISA 9.7.9.21 to 9.7.9.23 (cvt, cvt.pack) between integers, f64, f32, f16, bf16 and tf32, all as vector code. The
 * eight-bit and smaller formats are in minifloat.c.
 *
 * A float source becomes a float or a double piece, exactly; the result is rounded from it once. Floats that leave an integer's
 * range are clamped, with .sat or without; NaN gives what the cards give. */
#include <math.h>

#include "codegen/arith.h"
#include "codegen/minifloat.h"
#include "isa_emit.h"

/* ---- integers to floats ------------------------------------------------------------------------------------------ */

static LLVMValueRef int_to(struct emitter *e, LLVMValueRef v, bool is_signed, enum ptx_type type)
{
	LLVMTypeRef to = piece_type(e, type);
	return is_signed ? LLVMBuildSIToFP(e->b, v, to, "") : LLVMBuildUIToFP(e->b, v, to, "");
}

/* 64-bit integers as double: both halves are exact, so their sum is rounded once. */
static LLVMValueRef long_to_double(struct emitter *e, LLVMValueRef v, bool is_signed, enum rounding rounding)
{
	if (e->w == 1 && rounding == ROUND_NEAREST)
		return int_to(e, v, is_signed, PTX_F64);
	LLVMValueRef shift = kbits(e, 64, 32), high = resize(e, lshr_(e, v, shift), 32, false), low = resize(e, v, 32, false);
	high = fmul_(e, int_to(e, high, is_signed, PTX_F64), kf(e, PTX_F64, 4294967296.0));
	LLVMValueRef sum = float_add(e, high, int_to(e, low, false, PTX_F64), rounding);
	/* 0 + 0 is exact, and +0 also where sums of zeros round down. */
	return rounding == ROUND_DOWN ? select_(e, icmp_(e, LLVMIntEQ, v, kbits(e, 64, 0)), kf(e, PTX_F64, 0.0), sum) : sum;
}

/* 64-bit integers as a double that stands for them in a later rounding to 40 bits or fewer: what does not fit is kept
 * as one bit that says it is there. */
static LLVMValueRef long_to_double_odd(struct emitter *e, LLVMValueRef v, bool is_signed)
{
	LLVMValueRef zero = kbits(e, 64, 0), low = and_(e, v, kbits(e, 64, 0xfff)), top;
	LLVMValueRef sticky = select_(e, icmp_(e, LLVMIntEQ, low, zero), zero, kbits(e, 64, 0x800));
	LLVMValueRef rounded = or_(e, and_(e, v, kbits(e, 64, ~UINT64_C(0xfff))), sticky);
	top = lshr_(e, is_signed ? add_(e, v, kbits(e, 64, UINT64_C(1) << 52)) : v, kbits(e, 64, 53));
	return long_to_double(e, select_(e, icmp_(e, LLVMIntEQ, top, zero), v, rounded), is_signed, ROUND_NEAREST);
}

/* A float or double piece from which a result of `to` may be rounded. */
static LLVMValueRef int_source(struct emitter *e, LLVMValueRef v, bool is_signed, enum ptx_type to, enum rounding rounding)
{
	unsigned bits = lane_bits(v);
	if (bits <= 16)
		return int_to(e, v, is_signed, PTX_F32);
	if (bits == 64)
		return to == PTX_F64 ? long_to_double(e, v, is_signed, rounding) : long_to_double_odd(e, v, is_signed);
	if (to == PTX_F32 && rounding == ROUND_NEAREST)
		return int_to(e, v, is_signed, PTX_F32);
	return int_to(e, v, is_signed, PTX_F64);
}

/* ---- floats to floats -------------------------------------------------------------------------------------------- */

static LLVMValueRef round_integral(struct emitter *e, LLVMValueRef v)
{
	if (has(e, MOD_rni))
		return intrinsic1(e, "llvm.roundeven", v);
	if (has(e, MOD_rzi))
		return intrinsic1(e, "llvm.trunc", v);
	if (has(e, MOD_rmi))
		return intrinsic1(e, "llvm.floor", v);
	return has(e, MOD_rpi) ? intrinsic1(e, "llvm.ceil", v) : v;
}

/* Infinities, also those of overflow, become the largest number. Of half or bf16 bits. */
static LLVMValueRef saturate_finite(struct emitter *e, LLVMValueRef bits, uint64_t largest)
{
	LLVMValueRef magnitude = and_(e, bits, kbits(e, 16, 0x7fff)), infinite = icmp_(e, LLVMIntEQ, magnitude, kbits(e, 16, largest + 1));
	return select_(e, infinite, sub_(e, bits, kbits(e, 16, 1)), bits);
}

static LLVMValueRef round_to(struct emitter *e, LLVMValueRef v, enum ptx_type to, enum rounding rounding)
{
	LLVMValueRef r;
	switch (to) {
	case PTX_F64:
		return to_double(e, v);
	case PTX_F32:
		return lane_bits(v) == 64 ? double_to_float(e, v, rounding) : v;
	case PTX_F16:
		v = lane_bits(v) == 64 ? double_to_float_odd(e, v) : v;
		r = float_to_half(e, v, rounding);
		if (has(e, MOD_satfinite))
			r = as_type(e, saturate_finite(e, as_int(e, r), 0x7bff), PTX_F16);
		break;
	default:
		v = lane_bits(v) == 64 ? double_to_float_odd(e, v) : v;
		r = float_to_bf16(e, v, rounding);
		if (has(e, MOD_satfinite))
			r = saturate_finite(e, r, 0x7f7f);
	}
	return has(e, MOD_relu) ? relu(e, to, r) : r;
}

/* A float operand as a float or double piece. */
static LLVMValueRef float_source(struct emitter *e, unsigned index, enum ptx_type from)
{
	if (from == PTX_BF16)
		return bf16_to_float(e, arg_typed(e, index, PTX_B16));
	if (from == PTX_F16)
		return to_float(e, arg_typed(e, index, PTX_F16));
	if (from == PTX_F64)
		return arg_typed(e, index, PTX_F64);
	LLVMValueRef v = arg_typed(e, index, PTX_F32);
	return has(e, MOD_ftz) ? canonical_nan(e, flush(e, v)) : v;
}

static void float_to_float(struct emitter *e, enum ptx_type to, enum ptx_type from)
{
	LLVMValueRef v = round_integral(e, float_source(e, 1, from));
	if (has(e, MOD_sat))
		v = saturate(e, v);
	v = round_to(e, v, to, rounding_of(e));
	set_result(e, 0, flush_if(e, has(e, MOD_ftz) && to == PTX_F32, v));
}

static void int_to_float(struct emitter *e, enum ptx_type to, enum ptx_type from)
{
	enum rounding rounding = rounding_of(e);
	LLVMValueRef v = int_source(e, arg_typed(e, 1, from), type_is_signed(from), to, rounding);
	if (has(e, MOD_sat))
		v = saturate(e, v);
	set_result(e, 0, round_to(e, v, to, rounding));
}

/* cvt.…x2.f32 d, a, b: a becomes the upper half. */
static void two_floats(struct emitter *e, enum ptx_type to)
{
	enum ptx_type half = to == PTX_F16X2 ? PTX_F16 : PTX_BF16;
	LLVMValueRef r[2];
	for (unsigned i = 0; i < 2; i++) {
		LLVMValueRef v = round_to(e, arg_typed(e, 2 - i, PTX_F32), half, rounding_of(e));
		r[i] = resize(e, as_int(e, v), 32, false);
	}
	set_result(e, 0, or_(e, r[0], shl_(e, r[1], kbits(e, 32, 16))));
}

/* Ten bits of mantissa in a float's place: .rna rounds ties away from zero, NaNs only lose bits. */
static void float_to_tf32(struct emitter *e)
{
	LLVMValueRef v = arg_typed(e, 1, PTX_F32), bits = as_type(e, arg_typed(e, 1, PTX_B32), PTX_B32), up;
	if (has(e, MOD_rna))
		up = kbits(e, 32, 0x1000);
	else if (has(e, MOD_rn))
		up = add_(e, and_(e, lshr_(e, bits, kbits(e, 32, 13)), kbits(e, 32, 1)), kbits(e, 32, 0xfff));
	else
		up = kbits(e, 32, 0);
	LLVMValueRef nan = is_nan(e, v), kept = kbits(e, 32, 0xffffe000), rounded = add_(e, bits, up), infinite;
	if (has(e, MOD_satfinite)) {
		infinite = icmp_(e, LLVMIntUGE, and_(e, rounded, kbits(e, 32, 0x7fffffff)), kbits(e, 32, 0x7f800000));
		rounded = select_(e, infinite, or_(e, and_(e, bits, kbits(e, 32, 0x80000000)), kbits(e, 32, 0x7f7fe000)), rounded);
	}
	rounded = and_(e, select_(e, nan, bits, rounded), kept);
	if (has(e, MOD_relu))
		rounded = select_(e, and_(e, not_(e, nan), icmp_(e, LLVMIntSLT, bits, kbits(e, 32, 0))), kbits(e, 32, 0), rounded);
	set_result(e, 0, rounded);
}

/* ---- floats to integers -------------------------------------------------------------------------------------------- */

/* Integers narrower than 32 bits: the range is made in float. */
static LLVMValueRef clamp_narrow(struct emitter *e, LLVMValueRef v, unsigned bits, bool is_signed)
{
	enum ptx_type type = lane_bits(v) == 64 ? PTX_F64 : PTX_F32;
	LLVMValueRef low = kf(e, type, is_signed ? -ldexp(1, (int)bits - 1) : 0);
	LLVMValueRef high = kf(e, type, ldexp(1, (int)bits - is_signed) - 1);
	v = select_(e, fcmp_(e, LLVMRealOGT, v, high), high, v);
	v = select_(e, fcmp_(e, LLVMRealOLT, v, low), low, v);
	v = select_(e, is_nan(e, v), LLVMConstNull(LLVMTypeOf(v)), v);
	return resize(e, LLVMBuildFPToSI(e->b, v, piece_int(e, 32), ""), bits, false);
}

static LLVMValueRef clamp_wide(struct emitter *e, LLVMValueRef v, unsigned bits, bool is_signed)
{
	enum ptx_type type = lane_bits(v) == 64 ? PTX_F64 : PTX_F32;
	LLVMTypeRef to = piece_int(e, bits);
	LLVMValueRef limit = kf(e, type, ldexp(1, (int)bits - is_signed));
	LLVMValueRef low = kf(e, type, is_signed ? -ldexp(1, (int)bits - 1) : 0), zero = LLVMConstNull(LLVMTypeOf(v));
	LLVMValueRef above = fcmp_(e, LLVMRealOGE, v, limit), below = fcmp_(e, LLVMRealOLT, v, low);
	LLVMValueRef inside = and_(e, fcmp_(e, LLVMRealOGE, v, low), fcmp_(e, LLVMRealOLT, v, limit)), safe = select_(e, inside, v, zero);
	LLVMValueRef r = is_signed ? LLVMBuildFPToSI(e->b, safe, to, "") : LLVMBuildFPToUI(e->b, safe, to, "");
	uint64_t least = UINT64_C(1) << (bits - 1);
	r = select_(e, above, is_signed ? kbits(e, bits, least - 1) : LLVMConstAllOnes(to), r);
	return is_signed ? select_(e, below, kbits(e, bits, least), r) : r;
}

static void float_to_int(struct emitter *e, enum ptx_type to, enum ptx_type from)
{
	unsigned bits = ptx_type_bits(to);
	bool is_signed = type_is_signed(to);
	LLVMValueRef v = round_integral(e, float_source(e, 1, from)), r;
	r = bits < 32 ? clamp_narrow(e, v, bits, is_signed) : clamp_wide(e, v, bits, is_signed);
	if (from == PTX_F64 || bits == 64)
		r = select_(e, is_nan(e, v), kbits(e, bits, UINT64_C(1) << (bits - 1)), r);
	set_result(e, 0, r);
}

/* ---- the opcode ------------------------------------------------------------------------------------------------------ */

static void int_to_int(struct emitter *e, enum ptx_type to, enum ptx_type from)
{
	LLVMValueRef v = arg_typed(e, 1, from);
	if (has(e, MOD_sat))
		v = clamp_int(e, v, type_is_signed(from), ptx_type_bits(to), type_is_signed(to));
	set_result(e, 0, resize(e, v, ptx_type_bits(to), type_is_signed(from)));
}

void emit_cvt(struct emitter *e, const struct ptx_instruction *in)
{
	enum ptx_type to = in->form->types[0], from = in->form->types[1];
	if (has(e, MOD_rs))
		emit_stochastic(e, in);
	else if (minifloat_format(to) || minifloat_format(from) || to == PTX_UE8M0X2 || from == PTX_UE8M0X2)
		emit_minifloat(e, in);
	else if (to == PTX_TF32)
		float_to_tf32(e);
	else if (to == PTX_F16X2 || to == PTX_BF16X2)
		two_floats(e, to);
	else if (type_is_float(to))
		(type_is_float(from) ? float_to_float : int_to_float)(e, to, from);
	else
		(type_is_float(from) ? float_to_int : int_to_int)(e, to, from);
}

/* cvt.pack.sat: a and b, clamped, below what c had (9.7.9.23). */
void emit_cvt_pack(struct emitter *e, const struct ptx_instruction *in)
{
	enum ptx_type to = in->form->types[0];
	bool pairs = has(e, MOD_u2) || has(e, MOD_s2); /* two bits: no type of their own */
	bool is_signed = pairs ? has(e, MOD_s2) : type_is_signed(to);
	unsigned bits = pairs ? 2 : ptx_type_bits(to);
	LLVMValueRef r = kbits(e, 32, 0);
	if (in->operand_count > 3)
		r = shl_(e, arg_typed(e, 3, PTX_B32), kbits(e, 32, 2 * bits));
	for (unsigned i = 0; i < 2; i++) {
		LLVMValueRef v = clamp_int(e, arg_typed(e, 2 - i, PTX_S32), true, bits, is_signed);
		v = and_(e, v, kbits(e, 32, (UINT64_C(1) << bits) - 1));
		r = or_(e, r, shl_(e, v, kbits(e, 32, i * bits)));
	}
	set_result(e, 0, r);
}
