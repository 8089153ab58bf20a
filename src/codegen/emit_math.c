/* The approximate functions of PTX ISA 9.7.3 and 9.7.4 (ex2, lg2, sin, cos, tanh), as inline vector code without calls. Errors are below
 * the manual's bounds on the whole range:
 *
 *     ex2    2 ulp                                              here below 1
 *     lg2    2^-22 absolute on (0.5, 2), else 2^-22 relative    2^-23.5
 *     sin, cos   2^-20.5 absolute on [-2π, 2π]                  2^-23.5
 *     tanh   2^-11 relative                                     2^-19
 *
 * Polynomials are near-minimax fits (Chebyshev) with coefficients rounded to float; coefficients stand lowest degree first. */
#include "codegen/arith.h"
#include "codegen/target.h"
#include "isa_emit.h"

static LLVMValueRef constant(struct emitter *e, double value)
{
	return kf(e, PTX_F32, value);
}

static LLVMValueRef polynomial(struct emitter *e, LLVMValueRef x, const float *c, unsigned count)
{
	LLVMValueRef r = constant(e, c[count - 1]);
	for (unsigned i = count - 1; i-- > 0;)
		r = fma_(e, r, x, constant(e, c[i]));
	return r;
}

/* x in [low, high]; NaN passes. */
static LLVMValueRef limit(struct emitter *e, LLVMValueRef x, double low, double high)
{
	x = select_(e, fcmp_(e, LLVMRealOGT, x, constant(e, high)), constant(e, high), x);
	return select_(e, fcmp_(e, LLVMRealOLT, x, constant(e, low)), constant(e, low), x);
}

/* x to the nearest integer, |x| < 2^22: as a float, and in the low bits of *bits. */
static LLVMValueRef nearest(struct emitter *e, LLVMValueRef x, LLVMValueRef *bits)
{
	LLVMValueRef magic = constant(e, 12582912.0), sum = fadd_(e, x, magic); /* 1.5 × 2^23 */
	*bits = as_int(e, sum);
	return fsub_(e, sum, magic);
}

/* x, or `high` where it is above; NaN passes. */
static LLVMValueRef at_most(struct emitter *e, LLVMValueRef x, double high)
{
	return select_(e, fcmp_(e, LLVMRealOGT, x, constant(e, high)), constant(e, high), x);
}

/* 2^x = 2^n 2^f, |f| <= 1/2, for x in [-126, 128], where adding n to the exponent makes no subnormal: 2^128 is infinite, as it should be,
 * and for n = 128 below that 2^f has the exponent -1. What comes out for other x means nothing. */
static LLVMValueRef exp2_inside(struct emitter *e, LLVMValueRef x)
{
	static const float c[] = { 0x1.62e43p-1F, 0x1.ebfbep-3F, 0x1.c6af6cp-5F, 0x1.3b2a54p-7F, 0x1.5f089p-10F, 0x1.44138ap-13F };
	LLVMValueRef bits, f = fsub_(e, x, nearest(e, x, &bits));
	LLVMValueRef power = fma_(e, polynomial(e, f, c, 6), f, constant(e, 1));
	return as_type(e, add_(e, as_int(e, power), shl_(e, bits, kbits(e, 32, 23))), PTX_F32);
}

/* Where x >= -126 does not hold: 0, or the NaN that x is. */
static LLVMValueRef nothing_or_nan(struct emitter *e, LLVMValueRef x)
{
	LLVMValueRef zero = constant(e, 0);
	return select_(e, fcmp_(e, LLVMRealOGT, zero, x), zero, x);
}

/* Some NaN where it is one: a number's bits, all set. */
static LLVMValueRef or_nan(struct emitter *e, LLVMValueRef nan, LLVMValueRef x)
{
	LLVMValueRef bits = as_int(e, x);
	return as_type(e, or_(e, bits, LLVMBuildSExt(e->b, nan, LLVMTypeOf(bits), "")), PTX_F32);
}

/* Subnormal results are 0; subnormal arguments give 1 by themselves. */
static LLVMValueRef approximate_exp2_ftz(struct emitter *e, LLVMValueRef x)
{
	struct ir_float_range range = float_range_of(e, 1);
	LLVMValueRef r = exp2_inside(e, range.high <= 128 ? x : at_most(e, x, 128));
	if (range.low >= -126)
		return or_nan(e, is_nan(e, x), r);
	return select_(e, fcmp_(e, LLVMRealOGE, x, constant(e, -126)), r, nothing_or_nan(e, x));
}

/* Below -126: 2^(x+64) 2^-64, which is rounded once. */
LLVMValueRef approximate_exp2(struct emitter *e, LLVMValueRef x)
{
	LLVMValueRef low = fcmp_(e, LLVMRealOLT, x, constant(e, -126)), far = fcmp_(e, LLVMRealOGE, x, constant(e, -190)), zero = constant(e, 0);
	LLVMValueRef moved = fadd_(e, at_most(e, x, 128), select_(e, low, constant(e, 64), zero));
	LLVMValueRef r = fmul_(e, exp2_inside(e, moved), select_(e, low, constant(e, 0x1p-64), constant(e, 1)));
	return select_(e, far, r, nothing_or_nan(e, x));
}

/* log2(m 2^n) = n + log2(m), m in [√½, √2). */
static LLVMValueRef approximate_log2(struct emitter *e, LLVMValueRef x)
{
	static const float c[] = { 0x1.715476p+0F, -0x1.71547p-1F, 0x1.ec70aap-2F, -0x1.715a7p-2F, 0x1.277a52p-2F,
				   -0x1.eab7aap-3F, 0x1.a38c68p-3F, -0x1.87f6a2p-3F, 0x1.7a63ap-3F, -0x1.b84fb6p-4F };
	LLVMValueRef zero = constant(e, 0), tiny = fcmp_(e, LLVMRealOLT, x, constant(e, 0x1p-126));
	LLVMValueRef normal = select_(e, tiny, fmul_(e, x, constant(e, 0x1p24)), x), root = kbits(e, 32, 0x3f3504f3);
	LLVMValueRef bits = sub_(e, as_int(e, normal), root), exponent = ashr_(e, bits, kbits(e, 32, 23));
	LLVMValueRef m = as_type(e, add_(e, and_(e, bits, kbits(e, 32, 0x7fffff)), root), PTX_F32);
	LLVMValueRef n = LLVMBuildSIToFP(e->b, exponent, piece_type(e, PTX_F32), ""), f = fsub_(e, m, constant(e, 1));
	n = fsub_(e, n, select_(e, tiny, constant(e, 24), zero));
	LLVMValueRef r = fma_(e, f, polynomial(e, f, c, 10), n);
	LLVMValueRef infinity = LLVMBuildFDiv(e->b, constant(e, 1), zero, "");
	r = select_(e, fcmp_(e, LLVMRealOEQ, x, infinity), infinity, r);
	r = select_(e, fcmp_(e, LLVMRealOEQ, x, zero), fneg_(e, infinity), r);
	return select_(e, fcmp_(e, LLVMRealULT, x, zero), fdiv_(e, zero, zero), r); /* negative or NaN */
}

/* x - k π/2 in three steps, each exact but for its last bit; the quadrant is k's low bits. Far out, where k is no longer
 * exact and the manual promises nothing, the result stays a sine of some angle. */
static LLVMValueRef reduce_angle(struct emitter *e, LLVMValueRef x, LLVMValueRef *quadrant)
{
	LLVMValueRef k = nearest(e, fmul_(e, x, constant(e, 0x1.45f306p-1)), quadrant), minus = fneg_(e, k);
	LLVMValueRef r = fma_(e, minus, constant(e, 0x1.921fb6p+0), x);
	r = fma_(e, minus, constant(e, -0x1.777a5cp-25), r);
	r = fma_(e, minus, constant(e, -0x1.ee59dap-50), r);
	r = select_(e, fcmp_(e, LLVMRealOEQ, k, constant(e, 0)), x, r); /* -0 too */
	return limit(e, r, -0.8, 0.8);
}

static LLVMValueRef sine_or_cosine(struct emitter *e, LLVMValueRef x, bool cosine)
{
	static const float s[] = { -0x1.555556p-3F, 0x1.11110ep-7F, -0x1.a01366p-13F, 0x1.6da906p-19F };
	static const float c[] = { -0x1p-1F, 0x1.55554cp-5F, -0x1.6c0daep-10F, 0x1.9a5258p-16F };
	LLVMValueRef quadrant, r = reduce_angle(e, x, &quadrant), z = fmul_(e, r, r), one = kbits(e, 32, 1), flip;
	LLVMValueRef sine = fmul_(e, fma_(e, polynomial(e, z, s, 4), z, constant(e, 1)), r); /* keeps the sign of zero */
	LLVMValueRef cosines = fma_(e, polynomial(e, z, c, 4), z, constant(e, 1));
	quadrant = cosine ? add_(e, quadrant, one) : quadrant;
	LLVMValueRef odd = icmp_(e, LLVMIntNE, and_(e, quadrant, one), kbits(e, 32, 0));
	flip = shl_(e, and_(e, quadrant, kbits(e, 32, 2)), kbits(e, 32, 30));
	return as_type(e, xor_(e, as_int(e, select_(e, odd, cosines, sine)), flip), PTX_F32);
}

LLVMValueRef approximate_tanh(struct emitter *e, LLVMValueRef x)
{
	static const float c[] = { -0x1.55551ap-2F, 0x1.10e7cap-3F, -0x1.b0ee2p-5F, 0x1.0f9d2p-6F };
	LLVMValueRef size = fabs_(e, x), z = fmul_(e, x, x), one = constant(e, 1);
	LLVMValueRef near = fmul_(e, fma_(e, polynomial(e, z, c, 4), z, one), x);
	LLVMValueRef power = approximate_exp2(e, fmul_(e, limit(e, size, 0, 20), constant(e, 0x1.715476p+1)));
	LLVMValueRef far = fsub_(e, one, fdiv_(e, constant(e, 2), fadd_(e, power, one)));
	LLVMValueRef arguments[] = { far, x };
	far = intrinsic(e, "llvm.copysign", arguments, 2);
	return select_(e, fcmp_(e, LLVMRealOLT, size, constant(e, 0.6)), near, far);
}

/* ---- the opcodes --------------------------------------------------------------------------------------------------- */

typedef LLVMValueRef approximation(struct emitter *e, LLVMValueRef x);

static LLVMValueRef sine(struct emitter *e, LLVMValueRef x)
{
	return sine_or_cosine(e, x, false);
}

static LLVMValueRef cosine(struct emitter *e, LLVMValueRef x)
{
	return sine_or_cosine(e, x, true);
}

static LLVMValueRef of_half(struct emitter *e, enum ptx_type lane, LLVMValueRef v, approximation *function)
{
	bool bf16 = lane == PTX_BF16;
	v = function(e, bf16 ? flush_if(e, has(e, MOD_ftz), bf16_to_float(e, v)) : to_float(e, v));
	return bf16 ? float_to_bf16(e, flush_if(e, has(e, MOD_ftz), v), ROUND_NEAREST) : float_to_half(e, v, ROUND_NEAREST);
}

/* By an instruction of the machine's; NULL: it has none. */
static LLVMValueRef machine_approximation(struct emitter *e, approximation *function, LLVMValueRef v, bool ftz)
{
	const struct target_hooks *hooks = e->target->hooks;
	if (!hooks || (function != approximate_exp2 && function != approximate_log2))
		return NULL;
	return hooks->approximate(e, function == approximate_exp2 ? APPROXIMATE_EXP2 : APPROXIMATE_LOG2, v, ftz);
}

static void emit_approximation(struct emitter *e, const struct ptx_instruction *in, approximation *function)
{
	enum ptx_type type = form_type(in);
	bool ftz = has(e, MOD_ftz);
	LLVMValueRef v = arg_typed(e, 1, type);
	if (type == PTX_F32) {
		LLVMValueRef r = machine_approximation(e, function, v, ftz);
		if (!r && ftz && function == approximate_exp2)
			r = approximate_exp2_ftz(e, v);
		set_result(e, 0, r ? r : flush_if(e, ftz, function(e, flush_if(e, ftz, v))));
		return;
	}
	if (type == PTX_F16 || type == PTX_BF16) {
		set_result(e, 0, of_half(e, type, v, function));
		return;
	}
	enum ptx_type lane = type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
	packed_open(e, 2);
	v = of_half(e, lane, as_lanes(e, v, lane_type(e, lane)), function);
	packed_close(e, 2);
	set_result(e, 0, as_lanes(e, v, LLVMInt32TypeInContext(e->context)));
}

void emit_ex2(struct emitter *e, const struct ptx_instruction *in)
{
	emit_approximation(e, in, approximate_exp2);
}

void emit_lg2(struct emitter *e, const struct ptx_instruction *in)
{
	emit_approximation(e, in, approximate_log2);
}

void emit_sin(struct emitter *e, const struct ptx_instruction *in)
{
	emit_approximation(e, in, sine);
}

void emit_cos(struct emitter *e, const struct ptx_instruction *in)
{
	emit_approximation(e, in, cosine);
}

void emit_tanh(struct emitter *e, const struct ptx_instruction *in)
{
	emit_approximation(e, in, approximate_tanh);
}
