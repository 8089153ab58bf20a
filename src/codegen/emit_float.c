/* Floating-point arithmetic: PTX ISA 9.7.3 to 9.7.5 for f32, f64, f16, bf16 and their packed forms, in every rounding mode,
 * with .ftz, .sat and .relu (NaN results are made the GPU's own by the core); and the entries of the opcodes that integers share. Approximations of transcendental functions are in
 * emit_math.c, the rounding itself in round.c. */
#include "codegen/arith.h"
#include "codegen/emit_int.h"
#include "codegen/target.h"
#include "isa_emit.h"

/* ---- one operation for scalars, packed registers and every type --------------------------------------- */

enum { MAX_ARGUMENTS = 3 };

/* The operation on lanes of `type` (f16, bf16, f32 or f64): half, i16 bits, float or double pieces. */
typedef LLVMValueRef float_operation(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count);

static enum ptx_type unpacked(enum ptx_type type)
{
	switch (type) {
	case PTX_F16X2:
		return PTX_F16;
	case PTX_BF16X2:
		return PTX_BF16;
	case PTX_F32X2:
		return PTX_F32;
	default:
		return type;
	}
}

/* Two floats in 64 bits, as scalars: LLVM 19 loses the sign of a negated <2 x float> on AMDGPU where one element is used elsewhere too. */
static LLVMValueRef one_by_one(struct emitter *e, LLVMValueRef const *a, unsigned count, float_operation *operation)
{
	LLVMValueRef both = NULL;
	for (unsigned half = 0; half < 2; half++) {
		LLVMValueRef b[MAX_ARGUMENTS];
		for (unsigned i = 0; i < count; i++)
			b[i] = as_type(e, resize(e, lshr_(e, a[i], kbits(e, 64, 32 * half)), 32, false), PTX_F32);
		LLVMValueRef r = resize(e, as_int(e, canonical_nan(e, operation(e, PTX_F32, b, count))), 64, false);
		both = half ? or_(e, both, shl_(e, r, kbits(e, 64, 32))) : r;
	}
	return both;
}

static void emit_lanewise(struct emitter *e, const struct ptx_instruction *in, unsigned count, float_operation *operation)
{
	enum ptx_type type = form_type(in), lane = unpacked(type);
	LLVMValueRef a[MAX_ARGUMENTS], r;
	for (unsigned i = 0; i < count; i++)
		a[i] = arg_typed(e, i + 1, type);
	if (lane == type) {
		set_result(e, 0, operation(e, type, a, count));
		return;
	}
	if (lane == PTX_F32 && e->target->hooks) {
		set_result(e, 0, one_by_one(e, a, count, operation));
		return;
	}
	packed_open(e, 2);
	for (unsigned i = 0; i < count; i++)
		a[i] = as_lanes(e, a[i], lane_type(e, lane));
	r = operation(e, lane, a, count);
	if (lane == PTX_F32) /* a register of bits: the core does not look into it */
		r = canonical_nan(e, r);
	packed_close(e, 2);
	set_result(e, 0, as_lanes(e, r, LLVMIntTypeInContext(e->context, ptx_type_bits(type))));
}

/* Is the operand what another instruction with .ftz has flushed already? Chains of them, as -use_fast_math makes, pay once a link. */
static bool is_flushed(struct emitter *e, unsigned index)
{
	const struct ptx_operand *op = operand(e, index);
	for (unsigned i = 0; op && i < e->inst->use_count; i++) {
		if (e->inst->uses[i].operand != op || e->inst->uses[i].value == IR_NONE)
			continue;
		const struct ir_value *v = &e->ir->values.data[e->inst->uses[i].value];
		if (v->block == IR_NONE || v->inst == IR_NONE)
			return false;
		const struct ir_inst *from = &e->ir->blocks.data[v->block].insts.data[v->inst];
		return from->op == IR_PTX && !from->ptx->guard && ptx_has(from->ptx->form, MOD_ftz) && form_type(from->ptx) == PTX_F32;
	}
	return false;
}

/* What no flushing would change: not below the least normal number in size, or NaN. */
static bool is_normal(struct ir_float_range range)
{
	return range.low >= IR_LEAST_NORMAL || range.high <= -IR_LEAST_NORMAL;
}

static void flush_arguments(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count)
{
	if (has(e, MOD_ftz) && type != PTX_BF16)
		for (unsigned i = 0; i < count; i++)
			a[i] = type == PTX_F32 && (is_flushed(e, i + 1) || is_normal(float_range_of(e, i + 1))) ? a[i] : flush(e, a[i]);
}

static LLVMValueRef finish(struct emitter *e, enum ptx_type type, LLVMValueRef r)
{
	if (type == PTX_BF16)
		return has(e, MOD_relu) ? relu(e, type, r) : r;
	r = flush_if(e, has(e, MOD_ftz), r);
	if (has(e, MOD_sat))
		r = saturate(e, r);
	return has(e, MOD_relu) ? relu(e, type, r) : r;
}

static LLVMValueRef bf16_constant(struct emitter *e, uint64_t bits)
{
	return kbits(e, 16, bits);
}

static LLVMValueRef operation_add(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count)
{
	flush_arguments(e, type, a, count);
	if (type == PTX_BF16)
		return finish(e, type, bf16_fma(e, a[0], bf16_constant(e, 0x3f80), a[1]));
	return finish(e, type, float_add(e, a[0], a[1], rounding_of(e)));
}

static LLVMValueRef operation_sub(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count)
{
	flush_arguments(e, type, a, count);
	if (type == PTX_BF16)
		return finish(e, type, bf16_fma(e, a[1], bf16_constant(e, 0xbf80), a[0]));
	if (rounding_of(e) == ROUND_NEAREST && !(type == PTX_F64 && e->target->hooks))
		return finish(e, type, fsub_(e, a[0], a[1]));
	LLVMValueRef minus = fneg_(e, a[1]);
	if (type == PTX_F64 && e->target->hooks) /* which has no subtraction: a NaN keeps its sign */
		minus = select_(e, is_nan(e, a[1]), a[1], minus);
	return finish(e, type, float_add(e, a[0], minus, rounding_of(e)));
}

static LLVMValueRef operation_mul(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count)
{
	flush_arguments(e, type, a, count);
	if (type == PTX_BF16)
		return finish(e, type, bf16_fma(e, a[0], a[1], bf16_constant(e, 0x8000)));
	return finish(e, type, float_mul(e, a[0], a[1], rounding_of(e)));
}

/* The NaN that tensor copies leave for elements outside a tensor: all ones. */
static LLVMValueRef out_of_bounds(struct emitter *e, LLVMValueRef a)
{
	LLVMValueRef bits = as_int(e, a);
	return icmp_(e, LLVMIntEQ, bits, LLVMConstAllOnes(LLVMTypeOf(bits)));
}

static LLVMValueRef operation_fma(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count)
{
	LLVMValueRef r, outside = has(e, MOD_oob) ? or_(e, out_of_bounds(e, a[0]), out_of_bounds(e, a[1])) : NULL;
	flush_arguments(e, type, a, count);
	if (type == PTX_BF16)
		r = bf16_fma(e, a[0], a[1], a[2]);
	else if (type == PTX_F16)
		r = half_fma(e, a[0], a[1], a[2]);
	else
		r = float_fma(e, a[0], a[1], a[2], rounding_of(e));
	r = finish(e, type, r);
	return outside ? select_(e, outside, LLVMConstNull(LLVMTypeOf(r)), r) : r;
}

/* 9.7.5: an operand of 16 bits with float ones. */
static LLVMValueRef widened(struct emitter *e, const struct ptx_instruction *in, unsigned index)
{
	LLVMValueRef v = arg(e, index);
	return in->form->types[1] == PTX_BF16 ? bf16_to_float(e, v) : to_float(e, v);
}

static bool is_mixed(const struct ptx_instruction *in)
{
	return in->form->type_count > 1;
}

void emit_add(struct emitter *e, const struct ptx_instruction *in)
{
	if (!type_is_float(form_type(in))) {
		emit_int_add(e, in, false);
	} else if (is_mixed(in)) {
		LLVMValueRef a[] = { widened(e, in, 1), arg_typed(e, 2, PTX_F32) };
		set_result(e, 0, operation_add(e, PTX_F32, a, 2));
	} else {
		emit_lanewise(e, in, 2, operation_add);
	}
}

void emit_sub(struct emitter *e, const struct ptx_instruction *in)
{
	if (!type_is_float(form_type(in))) {
		emit_int_add(e, in, true);
	} else if (is_mixed(in)) {
		LLVMValueRef a[] = { widened(e, in, 1), arg_typed(e, 2, PTX_F32) };
		set_result(e, 0, operation_sub(e, PTX_F32, a, 2));
	} else {
		emit_lanewise(e, in, 2, operation_sub);
	}
}

void emit_mul(struct emitter *e, const struct ptx_instruction *in)
{
	if (type_is_float(form_type(in)))
		emit_lanewise(e, in, 2, operation_mul);
	else
		emit_int_mul(e, in);
}

static bool constant_float(LLVMValueRef v, double *value)
{
	LLVMValueRef lane;
	LLVMBool loses;
	if (!constant_lanes(v, &lane) || !LLVMIsAConstantFP(lane))
		return false;
	*value = LLVMConstRealGetDouble(lane, &loses);
	return true;
}

/* fma.rm as expf and its kin have it: x from 0 to 1 (a .sat result), times b, plus c, with 0 <= b <= c. Rounded to nearest the result r lies
 * between c and 2 c, so c - r is exact (Sterbenz), and the sign of x b + (c - r), rounded or not, tells whether r is too large. Other
 * operands take the way through double, several times as long. */
static LLVMValueRef fma_above_constant(struct emitter *e, const struct ptx_instruction *in)
{
	enum rounding rounding = rounding_of(e);
	double times, plus;
	if (form_type(in) != PTX_F32 || has(e, MOD_sat) || (rounding != ROUND_DOWN && rounding != ROUND_ZERO))
		return NULL;
	const struct ptx_instruction *from = definition_of(e, operand(e, 1));
	if (!from || !ptx_has(from->form, MOD_sat) || form_type(from) != PTX_F32)
		return NULL;
	LLVMValueRef x = arg(e, 1), b = arg(e, 2), c = arg(e, 3);
	if (!constant_float(b, &times) || !constant_float(c, &plus) || !(times >= 0 && times <= plus && plus >= 1 && plus < 0x1p100))
		return NULL;
	LLVMValueRef r = fma_(e, x, b, c), beyond = fcmp_(e, LLVMRealOLT, fma_(e, x, b, fsub_(e, c, r)), kf(e, PTX_F32, 0));
	return as_type(e, add_(e, as_int(e, r), LLVMBuildSExt(e->b, beyond, piece_int(e, 32), "")), PTX_F32);
}

void emit_fma(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef above = is_mixed(in) ? NULL : fma_above_constant(e, in);
	if (above) {
		set_result(e, 0, above);
	} else if (is_mixed(in)) {
		LLVMValueRef a[] = { widened(e, in, 1), widened(e, in, 2), arg_typed(e, 3, PTX_F32) };
		set_result(e, 0, operation_fma(e, PTX_F32, a, 3));
	} else {
		emit_lanewise(e, in, 3, operation_fma);
	}
}

/* mad of floats is fma on every target that nvcc 11 and later know (sm_20 on). */
void emit_mad(struct emitter *e, const struct ptx_instruction *in)
{
	if (type_is_float(form_type(in)))
		emit_lanewise(e, in, 3, operation_fma);
	else
		emit_int_mad(e, in);
}

/* ---- sign and selection --------------------------------------------------------------------------------- */

/* A double NaN keeps its sign and is made quiet, as any operation does. */
static LLVMValueRef quiet_double(struct emitter *e, LLVMValueRef a, LLVMValueRef r)
{
	if (lane_bits(a) != 64)
		return r;
	LLVMValueRef quiet = or_(e, as_int(e, a), kbits(e, 64, UINT64_C(0x0008000000000000)));
	return select_(e, is_nan(e, a), as_type(e, quiet, PTX_F64), r);
}

static LLVMValueRef operation_neg(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count)
{
	flush_arguments(e, type, a, count);
	if (type != PTX_BF16)
		return quiet_double(e, a[0], finish(e, type, fneg_(e, a[0])));
	return xor_(e, a[0], kbits(e, 16, 0x8000));
}

static LLVMValueRef operation_abs(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count)
{
	flush_arguments(e, type, a, count);
	if (type != PTX_BF16)
		return quiet_double(e, a[0], finish(e, type, fabs_(e, a[0])));
	return and_(e, a[0], kbits(e, 16, 0x7fff));
}

void emit_neg(struct emitter *e, const struct ptx_instruction *in)
{
	if (type_is_float(form_type(in)))
		emit_lanewise(e, in, 1, operation_neg);
	else
		emit_int_neg(e, in);
}

void emit_abs(struct emitter *e, const struct ptx_instruction *in)
{
	if (type_is_float(form_type(in)))
		emit_lanewise(e, in, 1, operation_abs);
	else
		emit_int_abs(e, in);
}

static LLVMValueRef min_max(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool is_max)
{
	if (!has(e, MOD_xorsign))
		return float_min_max(e, a, b, is_max, has(e, MOD_NaN));
	LLVMTypeRef type = LLVMTypeOf(a);
	unsigned bits = lane_bits(a);
	LLVMValueRef r = float_min_max(e, fabs_(e, a), fabs_(e, b), is_max, has(e, MOD_NaN));
	LLVMValueRef sign = and_(e, xor_(e, as_int(e, a), as_int(e, b)), kbits(e, bits, UINT64_C(1) << (bits - 1)));
	LLVMValueRef with_sign = LLVMBuildBitCast(e->b, or_(e, as_int(e, r), sign), type, "");
	return select_(e, is_nan(e, r), r, with_sign);
}

static LLVMValueRef operation_min_max(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count, bool is_max)
{
	flush_arguments(e, type, a, count);
	if (type == PTX_BF16)
		for (unsigned i = 0; i < count; i++)
			a[i] = bf16_to_float(e, a[i]);
	if (has(e, MOD_abs) && !has(e, MOD_xorsign))
		for (unsigned i = 0; i < count; i++)
			a[i] = fabs_(e, a[i]);
	LLVMValueRef r = min_max(e, a[0], a[1], is_max);
	if (count == 3)
		r = min_max(e, r, a[2], is_max);
	if (type == PTX_BF16)
		return float_to_bf16(e, r, ROUND_ZERO); /* one of the operands: exact */
	return r;
}

static LLVMValueRef operation_min(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count)
{
	return operation_min_max(e, type, a, count, false);
}

static LLVMValueRef operation_max(struct emitter *e, enum ptx_type type, LLVMValueRef *a, unsigned count)
{
	return operation_min_max(e, type, a, count, true);
}

void emit_min(struct emitter *e, const struct ptx_instruction *in)
{
	if (type_is_float(form_type(in)))
		emit_lanewise(e, in, in->operand_count - 1, operation_min);
	else
		emit_int_min_max(e, in, false);
}

void emit_max(struct emitter *e, const struct ptx_instruction *in)
{
	if (type_is_float(form_type(in)))
		emit_lanewise(e, in, in->operand_count - 1, operation_max);
	else
		emit_int_min_max(e, in, true);
}

/* Bits are copied, NaN or not: the operands are read as such. */
void emit_copysign(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned bits = ptx_type_bits(form_type(in));
	enum ptx_type integer = bits == 64 ? PTX_B64 : PTX_B32;
	LLVMValueRef sign = kbits(e, bits, UINT64_C(1) << (bits - 1));
	LLVMValueRef a = arg_typed(e, 1, integer), b = arg_typed(e, 2, integer);
	LLVMValueRef r = or_(e, and_(e, a, sign), and_(e, b, not_(e, sign)));
	set_result(e, 0, as_type(e, r, form_type(in)));
}

void emit_testp(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned bits = ptx_type_bits(form_type(in));
	uint64_t top = bits == 64 ? UINT64_C(0x7ff0000000000000) : 0x7f800000;
	LLVMValueRef a = as_int(e, arg(e, 1)), exponent = and_(e, a, kbits(e, bits, top)), infinite = kbits(e, bits, top), r;
	LLVMValueRef magnitude = and_(e, a, kbits(e, bits, ~(UINT64_C(1) << (bits - 1)))), zero = kbits(e, bits, 0);
	LLVMValueRef subnormal = and_(e, icmp_(e, LLVMIntEQ, exponent, zero), icmp_(e, LLVMIntNE, magnitude, zero));
	LLVMValueRef finite = icmp_(e, LLVMIntNE, exponent, infinite);
	if (has(e, MOD_finite))
		r = finite;
	else if (has(e, MOD_infinite))
		r = icmp_(e, LLVMIntEQ, magnitude, infinite);
	else if (has(e, MOD_number))
		r = icmp_(e, LLVMIntULE, magnitude, infinite);
	else if (has(e, MOD_notanumber))
		r = icmp_(e, LLVMIntUGT, magnitude, infinite);
	else if (has(e, MOD_subnormal))
		r = subnormal;
	else /* .normal: zero counts, as the cards have it */
		r = and_(e, finite, not_(e, subnormal));
	set_result(e, 0, r);
}

/* ---- division and roots ----------------------------------------------------------------------------------- */

/* Within 2 ulp: the product with the reciprocal, where that is one instruction. */
static LLVMValueRef quotient(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
	const struct target_hooks *hooks = e->target->hooks;
	LLVMValueRef r = hooks && has(e, MOD_ftz) ? hooks->approximate(e, APPROXIMATE_RECIPROCAL, b, true) : NULL;
	return r ? fmul_(e, a, r) : fdiv_(e, a, b);
}

void emit_div(struct emitter *e, const struct ptx_instruction *in)
{
	if (!type_is_float(form_type(in))) {
		emit_int_div(e, in);
		return;
	}
	LLVMValueRef v[] = { arg(e, 1), arg(e, 2) };
	flush_arguments(e, form_type(in), v, 2);
	LLVMValueRef r = has(e, MOD_approx) ? quotient(e, v[0], v[1]) : float_div(e, v[0], v[1], rounding_of(e));
	if (has(e, MOD_approx)) {
		/* The manual's range: beyond 2^126 the reciprocal would be flushed. The quotient itself may be the exact one. */
		LLVMValueRef zero = fmul_(e, v[0], LLVMConstNull(LLVMTypeOf(r))); /* NaN for an infinite dividend */
		LLVMValueRef sign = LLVMBuildBitCast(e->b, and_(e, as_int(e, v[1]), kbits(e, 32, 0x80000000)), LLVMTypeOf(r), "");
		LLVMValueRef signed_zero = LLVMBuildBitCast(e->b, xor_(e, as_int(e, zero), as_int(e, sign)), LLVMTypeOf(r), "");
		LLVMValueRef size = fabs_(e, v[1]), beyond = fcmp_(e, LLVMRealOGT, size, kf(e, PTX_F32, 0x1p126));
		r = select_(e, beyond, signed_zero, r);
	}
	set_result(e, 0, flush_if(e, has(e, MOD_ftz), r));
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and make the upper 32 bits only. */
static LLVMValueRef upper_half(struct emitter *e, LLVMValueRef v)
{
	return LLVMBuildBitCast(e->b, and_(e, as_int(e, v), kbits(e, 64, UINT64_C(0xffffffff00000000))), LLVMTypeOf(v), "");
}

/* .approx of floats by an instruction of the machine's; false: it has none. */
static bool machine_root(struct emitter *e, const struct ptx_instruction *in, enum approximation function)
{
	const struct target_hooks *hooks = e->target->hooks;
	LLVMValueRef r = NULL;
	if (hooks && has(e, MOD_approx) && form_type(in) == PTX_F32)
		r = hooks->approximate(e, function, arg(e, 1), has(e, MOD_ftz));
	if (r)
		set_result(e, 0, r);
	return r != NULL;
}

/* 1 / a, flushed: it is subnormal where a is above 2^126. To be asked of a, while the division goes on, not of the quotient. */
static LLVMValueRef flushed_reciprocal(struct emitter *e, LLVMValueRef a, struct ir_float_range range)
{
	LLVMValueRef one = kf(e, PTX_F32, 1), r = float_div(e, one, is_normal(range) ? a : flush(e, a), ROUND_NEAREST);
	if (range.high <= 0x1p126 && range.low >= -0x1p126)
		return r;
	LLVMValueRef beyond = fcmp_(e, LLVMRealOGT, range.low >= 0 ? a : fabs_(e, a), kf(e, PTX_F32, 0x1p126));
	LLVMValueRef kept = kbits(e, 32, range.low >= 0 ? 0 : 0x80000000);
	LLVMValueRef mask = select_(e, beyond, kept, LLVMConstAllOnes(LLVMTypeOf(kept)));
	return as_type(e, and_(e, as_int(e, r), mask), PTX_F32);
}

static void emit_reciprocal(struct emitter *e, const struct ptx_instruction *in, bool root)
{
	bool ftz = has(e, MOD_ftz), gross = form_type(in) == PTX_F64 && has(e, MOD_approx) && ftz;
	if (machine_root(e, in, root ? APPROXIMATE_RECIPROCAL_ROOT : APPROXIMATE_RECIPROCAL))
		return;
	if (ftz && !root && form_type(in) == PTX_F32 && rounding_of(e) == ROUND_NEAREST) {
		set_result(e, 0, flushed_reciprocal(e, arg(e, 1), float_range_of(e, 1)));
		return;
	}
	bool flushes = ftz && !(form_type(in) == PTX_F32 && is_normal(float_range_of(e, 1)));
	LLVMValueRef a = flush_if(e, flushes, arg(e, 1)), one = kf(e, form_type(in), 1.0);
	if (gross)
		a = upper_half(e, a);
	/* 1/√a with two roundings stays within 2^-23 (the manual allows 2^-22.9), and is no subnormal. */
	LLVMValueRef r = float_div(e, one, root ? float_sqrt(e, a, ROUND_NEAREST) : a, rounding_of(e));
	if (gross)
		r = select_(e, is_nan(e, r), r, upper_half(e, r));
	set_result(e, 0, flush_if(e, ftz && !root, r));
}

void emit_rcp(struct emitter *e, const struct ptx_instruction *in)
{
	emit_reciprocal(e, in, false);
}

void emit_rsqrt(struct emitter *e, const struct ptx_instruction *in)
{
	emit_reciprocal(e, in, true);
}

void emit_sqrt(struct emitter *e, const struct ptx_instruction *in)
{
	if (machine_root(e, in, APPROXIMATE_ROOT))
		return;
	bool flushes = has(e, MOD_ftz) && !(form_type(in) == PTX_F32 && is_normal(float_range_of(e, 1)));
	LLVMValueRef a = flush_if(e, flushes, arg(e, 1));
	set_result(e, 0, float_sqrt(e, a, rounding_of(e)));
}
