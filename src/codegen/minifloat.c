/* Conversions to and from the small formats of PTX ISA 5.2.3 and 9.7.9.21: rounded to nearest even in float arithmetic, clamped to
 * the largest number (they are all .satfinite), coded by shifts; or rounded by given random bits (.rs), in integers, to these and to
 * pairs of halves. Matrix instructions decode with the same functions. */
#include "codegen/minifloat.h"

#include <math.h>

#include "codegen/arith.h"

static const struct minifloat e4m3 = { 8, 3, 7, 8, 448, 0x7f, 0x7e }, e5m2 = { 8, 2, 15, 8, 57344, 0x7f, 0x7b };
static const struct minifloat e2m3 = { 6, 3, 1, 8, 7.5F, 0x1f, 0x1f }, e3m2 = { 6, 2, 3, 8, 28, 0x1f, 0x1f };
static const struct minifloat e2m1 = { 4, 1, 1, 4, 6, 0x7, 0x7 };

const struct minifloat *minifloat_format(enum ptx_type type)
{
	switch (type) {
	case PTX_E4M3: case PTX_E4M3X2: case PTX_E4M3X4:
		return &e4m3;
	case PTX_E5M2: case PTX_E5M2X2: case PTX_E5M2X4:
		return &e5m2;
	case PTX_E2M3: case PTX_E2M3X2: case PTX_E2M3X4:
		return &e2m3;
	case PTX_E3M2: case PTX_E3M2X2: case PTX_E3M2X4:
		return &e3m2;
	case PTX_E2M1: case PTX_E2M1X2: case PTX_E2M1X4:
		return &e2m1;
	default:
		return NULL;
	}
}

LLVMValueRef minifloat_encode(struct emitter *e, const struct minifloat *format, LLVMValueRef v)
{
	LLVMTypeRef f32 = piece_type(e, PTX_F32);
	int least = 127 + 1 - format->bias; /* exponent field of the smallest normal number */
	LLVMValueRef bits = as_int(e, v), largest = kf(e, PTX_F32, format->largest), m = fabs_(e, v);
	m = select_(e, fcmp_(e, LLVMRealOLT, m, largest), m, largest);
	/* Adding 2^(exponent + 23 - mantissa) leaves just the mantissa's bits in front of the binary point. */
	LLVMValueRef exponent = lshr_(e, as_int(e, m), kbits(e, 32, 23));
	exponent = intrinsic2(e, "llvm.smax", exponent, kbits(e, 32, (uint64_t)least));
	LLVMValueRef unit = shl_(e, add_(e, exponent, kbits(e, 32, 23u - format->mantissa)), kbits(e, 32, 23));
	unit = LLVMBuildBitCast(e->b, unit, f32, "");
	m = fsub_(e, fadd_(e, m, unit), unit);
	/* Scaled so that both formats' exponents agree, subnormals included, the code is the upper part of the float. */
	LLVMValueRef code = as_int(e, fmul_(e, m, kf(e, PTX_F32, ldexp(1, format->bias - 127))));
	code = lshr_(e, code, kbits(e, 32, 23u - format->mantissa));
	LLVMValueRef sign = and_(e, lshr_(e, bits, kbits(e, 32, 32u - format->bits)), kbits(e, 32, UINT64_C(1) << (format->bits - 1)));
	code = or_(e, code, sign);
	if (has(e, MOD_relu))
		code = select_(e, icmp_(e, LLVMIntSLT, bits, kbits(e, 32, 0)), kbits(e, 32, 0), code);
	return select_(e, is_nan(e, v), kbits(e, 32, format->nan), code);
}

LLVMValueRef minifloat_decode(struct emitter *e, const struct minifloat *format, LLVMValueRef code)
{
	uint64_t magnitude_bits = (UINT64_C(1) << (format->bits - 1)) - 1;
	LLVMValueRef magnitude = and_(e, code, kbits(e, 32, magnitude_bits)), v;
	LLVMValueRef sign = shl_(e, lshr_(e, and_(e, code, kbits(e, 32, magnitude_bits + 1)), kbits(e, 32, format->bits - 1u)), kbits(e, 32, 31));
	v = LLVMBuildBitCast(e->b, shl_(e, magnitude, kbits(e, 32, 23u - format->mantissa)), piece_type(e, PTX_F32), "");
	v = fmul_(e, v, kf(e, PTX_F32, ldexp(1, 127 - format->bias)));
	LLVMValueRef result = or_(e, as_int(e, v), sign);
	if (format == &e5m2) {
		LLVMValueRef special = icmp_(e, LLVMIntUGE, magnitude, kbits(e, 32, 0x7c));
		LLVMValueRef nan = icmp_(e, LLVMIntUGT, magnitude, kbits(e, 32, 0x7c));
		result = select_(e, special, or_(e, sign, kbits(e, 32, 0x7f800000)), result);
		result = select_(e, nan, kbits(e, 32, 0x7fffffff), result);
	} else if (format == &e4m3) {
		result = select_(e, icmp_(e, LLVMIntEQ, magnitude, kbits(e, 32, 0x7f)), kbits(e, 32, 0x7fffffff), result);
	}
	return LLVMBuildBitCast(e->b, result, piece_type(e, PTX_F32), "");
}

/* A power of two alone: the exponent of |v|, rounded down or up; NaN 0xff. */
static LLVMValueRef scale_encode(struct emitter *e, LLVMValueRef v)
{
	LLVMValueRef bits = and_(e, as_int(e, v), kbits(e, 32, 0x7fffffff));
	if (has(e, MOD_rp)) /* subnormals up to 2^-127 are that number */
		bits = select_(e, icmp_(e, LLVMIntULE, bits, kbits(e, 32, 0x400000)), kbits(e, 32, 0), add_(e, bits, kbits(e, 32, 0x7fffff)));
	LLVMValueRef code = intrinsic2(e, "llvm.umin", lshr_(e, bits, kbits(e, 32, 23)), kbits(e, 32, 254));
	return select_(e, is_nan(e, v), kbits(e, 32, 0xff), code);
}

/* 2^(code - 127); code 0 is a subnormal float. */
static LLVMValueRef scale_decode(struct emitter *e, LLVMValueRef code)
{
	LLVMValueRef bits = shl_(e, code, kbits(e, 32, 23)), zero = kbits(e, 32, 0);
	bits = select_(e, icmp_(e, LLVMIntEQ, code, zero), kbits(e, 32, 0x400000), bits);
	bits = select_(e, icmp_(e, LLVMIntEQ, code, kbits(e, 32, 0xff)), kbits(e, 32, 0x7fffffff), bits);
	return LLVMBuildBitCast(e->b, bits, piece_type(e, PTX_F32), "");
}

LLVMValueRef minifloat_scale(struct emitter *e, bool is_e4m3, LLVMValueRef code)
{
	return to_double(e, is_e4m3 ? minifloat_decode(e, &e4m3, and_(e, code, kbits(e, 32, 0x7f))) : scale_decode(e, code));
}

/* Element `upper` of a packed source as float. */
static LLVMValueRef unpack_float(struct emitter *e, const struct ptx_instruction *in, bool upper)
{
	enum ptx_type from = in->form->types[1];
	const struct minifloat *format = minifloat_format(from);
	unsigned spacing = format ? format->spacing : from == PTX_UE8M0X2 ? 8 : 16;
	if (from == PTX_F32)
		return arg_typed(e, upper ? 1 : 2, PTX_F32);
	enum ptx_type whole = spacing == 16 ? PTX_B32 : spacing == 8 ? PTX_B16 : PTX_B8;
	LLVMValueRef v = resize(e, arg_typed(e, 1, whole), 32, false);
	v = upper ? lshr_(e, v, kbits(e, 32, spacing)) : v;
	v = and_(e, v, kbits(e, 32, (UINT64_C(1) << spacing) - 1));
	if (format)
		return minifloat_decode(e, format, v);
	if (from == PTX_UE8M0X2)
		return scale_decode(e, v);
	v = resize(e, v, 16, false);
	return from == PTX_BF16X2 ? bf16_to_float(e, v) : to_float(e, as_type(e, v, PTX_F16));
}

/* ---- .rs ---------------------------------------------------------------------------------------------------------------------- */

struct target_format {
	unsigned bits, mantissa, bias, spacing;
	unsigned random;           /* bits that are added to the uppermost ones of those that go */
	uint64_t limit, nan;       /* what numbers too large become, and NaNs */
};

/* The magnitude's bits that do not fit are cut off after the random ones have been added to the uppermost of them: a carry rounds up. */
static LLVMValueRef encode_stochastic(struct emitter *e, const struct target_format *format, LLVMValueRef v, LLVMValueRef random)
{
	LLVMValueRef bits = as_int(e, v), zero = kbits(e, 32, 0), m = and_(e, bits, kbits(e, 32, 0x7fffffff)), least = kbits(e, 32, 128 - format->bias);
	LLVMValueRef field = lshr_(e, m, kbits(e, 32, 23)), hidden = select_(e, icmp_(e, LLVMIntEQ, field, zero), zero, kbits(e, 32, 1u << 23));
	LLVMValueRef fraction = or_(e, and_(e, m, kbits(e, 32, 0x7fffff)), hidden);
	field = intrinsic2(e, "llvm.smax", field, kbits(e, 32, 1));
	LLVMValueRef exponent = intrinsic2(e, "llvm.smax", field, least);
	LLVMValueRef cut = add_(e, sub_(e, exponent, field), kbits(e, 32, 23u - format->mantissa));
	/* of what lies far below, the uppermost bits are all zeros */
	LLVMValueRef far = intrinsic2(e, "llvm.umin", intrinsic2(e, "llvm.usub.sat", cut, kbits(e, 32, 31)), kbits(e, 32, 31));
	cut = intrinsic2(e, "llvm.umin", cut, kbits(e, 32, 31));
	fraction = add_(e, lshr_(e, fraction, far), shl_(e, random, sub_(e, cut, kbits(e, 32, format->random))));
	LLVMValueRef code = add_(e, lshr_(e, fraction, cut), shl_(e, sub_(e, exponent, least), kbits(e, 32, format->mantissa)));
	code = intrinsic2(e, "llvm.umin", code, kbits(e, 32, format->limit));
	code = or_(e, code, and_(e, lshr_(e, bits, kbits(e, 32, 32 - format->bits)), kbits(e, 32, UINT64_C(1) << (format->bits - 1))));
	if (has(e, MOD_relu))
		code = select_(e, icmp_(e, LLVMIntSLT, bits, zero), zero, code);
	return select_(e, is_nan(e, v), kbits(e, 32, format->nan), code);
}

static struct target_format target_format(struct emitter *e, enum ptx_type to)
{
	const struct minifloat *small = minifloat_format(to);
	bool finite = has(e, MOD_satfinite);
	if (small)
		return (struct target_format){ small->bits, small->mantissa, small->bias, small->spacing, 16, small->top, small->nan };
	if (to == PTX_F16X2)
		return (struct target_format){ 16, 10, 15, 16, 13, finite ? 0x7bff : 0x7c00, 0x7fff };
	return (struct target_format){ 16, 7, 127, 16, 16, finite ? 0x7f7f : 0x7f80, 0x7fff };
}

/* The random bits of element i, counted from the upper end of d. Of four, two and two have the same; e2m1's are a byte of each half. */
static LLVMValueRef random_bits(struct emitter *e, enum ptx_type to, const struct target_format *format, LLVMValueRef random, unsigned i, unsigned count)
{
	bool upper = i < count / 2;
	LLVMValueRef mask = kbits(e, 32, (UINT64_C(1) << format->random) - 1);
	if (to != PTX_E2M1X4)
		return and_(e, upper ? lshr_(e, random, kbits(e, 32, 16)) : random, mask);
	random = upper ? lshr_(e, random, kbits(e, 32, 8)) : random;
	LLVMValueRef low = and_(e, random, kbits(e, 32, 0xff)), high = and_(e, lshr_(e, random, kbits(e, 32, 8)), kbits(e, 32, 0xff00));
	return or_(e, high, low);
}

void emit_stochastic(struct emitter *e, const struct ptx_instruction *in)
{
	enum ptx_type to = in->form->types[0];
	const struct ptx_operand *list = operand(e, 1);
	unsigned count = list->kind == PTX_OP_VECTOR ? list->part_count : 2;
	struct target_format format = target_format(e, to);
	LLVMValueRef r = kbits(e, 32, 0), random = arg_typed(e, in->operand_count - 1u, PTX_B32);
	for (unsigned i = 0; i < count; i++) {
		LLVMValueRef v = count == 4 ? value_of(e, &list->parts[i], PTX_F32) : arg_typed(e, 1 + i, PTX_F32);
		LLVMValueRef code = encode_stochastic(e, &format, v, random_bits(e, to, &format, random, i, count));
		r = or_(e, r, shl_(e, code, kbits(e, 32, (count - 1 - i) * format.spacing)));
	}
	set_result(e, 0, resize(e, r, count * format.spacing, false));
}

/* ---- to nearest --------------------------------------------------------------------------------------------------------------- */

void emit_minifloat(struct emitter *e, const struct ptx_instruction *in)
{
	enum ptx_type to = in->form->types[0];
	const struct minifloat *format = minifloat_format(to);
	unsigned spacing = format ? format->spacing : to == PTX_UE8M0X2 ? 8 : 16;
	LLVMValueRef r = kbits(e, 32, 0);
	for (unsigned i = 0; i < 2; i++) {
		LLVMValueRef v = unpack_float(e, in, i == 1);
		if (format)
			v = minifloat_encode(e, format, v);
		else if (to == PTX_UE8M0X2)
			v = scale_encode(e, v);
		else if (to == PTX_F16X2)
			v = as_int(e, has(e, MOD_relu) ? relu(e, PTX_F16, float_to_half(e, v, ROUND_NEAREST)) : float_to_half(e, v, ROUND_NEAREST));
		else
			v = float_to_bf16(e, v, ROUND_NEAREST);
		r = or_(e, r, shl_(e, resize(e, v, 32, false), kbits(e, 32, i * spacing)));
	}
	set_result(e, 0, resize(e, r, 2 * spacing, false));
}
