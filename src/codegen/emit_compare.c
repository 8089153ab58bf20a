/* Comparison and selection: PTX ISA 9.7.6 and 9.7.7 (set, setp, selp, slct). */
#include "codegen/arith.h"
#include "isa_emit.h"

struct comparison {
	enum ptx_mod mod;
	LLVMIntPredicate of_signed, of_unsigned;
	LLVMRealPredicate of_float; /* ordered, but for the …u forms and .ne: 9.7.6 */
};

static const struct comparison comparisons[] = {
	{ MOD_eq, LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ },
	{ MOD_ne, LLVMIntNE, LLVMIntNE, LLVMRealONE },
	{ MOD_lt, LLVMIntSLT, LLVMIntULT, LLVMRealOLT },
	{ MOD_le, LLVMIntSLE, LLVMIntULE, LLVMRealOLE },
	{ MOD_gt, LLVMIntSGT, LLVMIntUGT, LLVMRealOGT },
	{ MOD_ge, LLVMIntSGE, LLVMIntUGE, LLVMRealOGE },
	{ MOD_lo, LLVMIntULT, LLVMIntULT, LLVMRealOLT },
	{ MOD_ls, LLVMIntULE, LLVMIntULE, LLVMRealOLE },
	{ MOD_hi, LLVMIntUGT, LLVMIntUGT, LLVMRealOGT },
	{ MOD_hs, LLVMIntUGE, LLVMIntUGE, LLVMRealOGE },
	{ MOD_equ, LLVMIntEQ, LLVMIntEQ, LLVMRealUEQ },
	{ MOD_neu, LLVMIntNE, LLVMIntNE, LLVMRealUNE },
	{ MOD_ltu, LLVMIntSLT, LLVMIntULT, LLVMRealULT },
	{ MOD_leu, LLVMIntSLE, LLVMIntULE, LLVMRealULE },
	{ MOD_gtu, LLVMIntSGT, LLVMIntUGT, LLVMRealUGT },
	{ MOD_geu, LLVMIntSGE, LLVMIntUGE, LLVMRealUGE },
	{ MOD_num, LLVMIntEQ, LLVMIntEQ, LLVMRealORD },
	{ MOD_nan, LLVMIntEQ, LLVMIntEQ, LLVMRealUNO },
};

static const struct comparison *find_comparison(struct emitter *e)
{
	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
		if (has(e, comparisons[i].mod))
			return &comparisons[i];
	unsupported(e, "comparison");
	return &comparisons[0];
}

/* One predicate a lane of a and b, which are lanes of `type` (f16, bf16 bits, f32, f64 or integers). */
static LLVMValueRef compare(struct emitter *e, enum ptx_type type, LLVMValueRef a, LLVMValueRef b)
{
	const struct comparison *c = find_comparison(e);
	if (!type_is_float(type))
		return icmp_(e, type_is_signed(type) ? c->of_signed : c->of_unsigned, a, b);
	if (type == PTX_BF16) {
		a = bf16_to_float(e, a);
		b = bf16_to_float(e, b);
	}
	bool ftz = has(e, MOD_ftz);
	return fcmp_(e, c->of_float, flush_if(e, ftz, a), flush_if(e, ftz, b));
}

/* `result` combined with the predicate operand at `index`, where the form has .and, .or or .xor. */
static LLVMValueRef combine(struct emitter *e, LLVMValueRef result, LLVMValueRef c)
{
	return has(e, MOD_and) ? and_(e, result, c) : has(e, MOD_or) ? or_(e, result, c) : xor_(e, result, c);
}

static bool combines(struct emitter *e)
{
	return has(e, MOD_and) || has(e, MOD_or) || has(e, MOD_xor);
}

/* Packed operands compared half by half: *low and *high. */
static void compare_packed(struct emitter *e, enum ptx_type type, unsigned first, LLVMValueRef halves[2])
{
	enum ptx_type lane = type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
	LLVMValueRef a = arg_typed(e, first, PTX_B32), b = arg_typed(e, first + 1, PTX_B32);
	for (unsigned i = 0; i < 2; i++) {
		LLVMValueRef shift = kbits(e, 32, 16 * i);
		LLVMValueRef x = resize(e, lshr_(e, a, shift), 16, false), y = resize(e, lshr_(e, b, shift), 16, false);
		halves[i] = compare(e, lane, as_lanes(e, x, lane_type(e, lane)), as_lanes(e, y, lane_type(e, lane)));
	}
}

/* setp: p takes the comparison, q its complement, each combined with c; of packed halves p is the low and q the high one. */
void emit_setp(struct emitter *e, const struct ptx_instruction *in)
{
	enum ptx_type type = form_type(in);
	LLVMValueRef p[2], c = combines(e) ? arg_typed(e, 3, PTX_PRED) : NULL;
	if (type == PTX_F16X2 || type == PTX_BF16X2) {
		compare_packed(e, type, 1, p);
	} else {
		p[0] = compare(e, type, arg_typed(e, 1, type), arg_typed(e, 2, type));
		p[1] = operand(e, 0)->kind == PTX_OP_PAIR ? not_(e, p[0]) : NULL;
	}
	for (unsigned i = 0; c && i < 2; i++)
		p[i] = p[i] ? combine(e, p[i], c) : NULL;
	if (operand(e, 0)->kind == PTX_OP_PAIR)
		set_pair(e, 0, p[0], p[1]);
	else
		set_result(e, 0, p[0]);
}

/* What set stores for true: 1.0, or all ones. */
static LLVMValueRef truth(struct emitter *e, enum ptx_type type, LLVMValueRef p)
{
	LLVMValueRef yes;
	switch (type) {
	case PTX_F32:
	case PTX_F16:
		yes = kf(e, type, 1.0);
		break;
	case PTX_BF16:
		yes = kbits(e, 16, 0x3f80);
		break;
	default:
		yes = kbits(e, ptx_type_bits(type), UINT64_MAX);
	}
	return select_(e, p, yes, LLVMConstNull(LLVMTypeOf(yes)));
}

void emit_set(struct emitter *e, const struct ptx_instruction *in)
{
	enum ptx_type to = in->form->types[0], type = in->form->types[1];
	LLVMValueRef c = combines(e) ? arg_typed(e, 3, PTX_PRED) : NULL;
	if (type != PTX_F16X2 && type != PTX_BF16X2) {
		LLVMValueRef p = compare(e, type, arg_typed(e, 1, type), arg_typed(e, 2, type));
		set_result(e, 0, truth(e, to, c ? combine(e, p, c) : p));
		return;
	}
	enum ptx_type half = to == PTX_F16X2 ? PTX_F16 : to == PTX_BF16X2 ? PTX_BF16 : PTX_U16;
	LLVMValueRef p[2], r[2];
	compare_packed(e, type, 1, p);
	for (unsigned i = 0; i < 2; i++)
		r[i] = resize(e, as_int(e, truth(e, half, c ? combine(e, p[i], c) : p[i])), 32, false);
	set_result(e, 0, or_(e, r[0], shl_(e, r[1], kbits(e, 32, 16))));
}

/* x in [-limit, limit], NaN as it is: what expf and its kin do in front of ex2. */
static LLVMValueRef limited(struct emitter *e, LLVMValueRef x, double limit, struct ir_float_range range)
{
	LLVMValueRef high = kf(e, PTX_F32, limit), low = kf(e, PTX_F32, -limit);
	if (range.high > limit)
		x = select_(e, fcmp_(e, LLVMRealOGT, x, high), high, x);
	return range.low < -limit ? select_(e, fcmp_(e, LLVMRealOLT, x, low), low, x) : x;
}

/* Floats are moved, not computed with: selp reads their bits. */
void emit_selp(struct emitter *e, const struct ptx_instruction *in)
{
	double limit;
	if (form_type(in) == PTX_F32 && ir_is_limit(e->ir, e->inst, &limit))
		set_result(e, 0, limited(e, arg_typed(e, 2, PTX_F32), limit, float_range_of(e, 2)));
	else if (form_type(in) == PTX_F32 && copies_raw(e, 1) && copies_raw(e, 2)) /* once, and not in front of it twice */
		set_result(e, 0, canonical_nan(e, select_(e, arg(e, 3), raw_arg(e, 1), raw_arg(e, 2))));
	else
		set_result(e, 0, select_(e, arg(e, 3), arg(e, 1), arg(e, 2)));
}

static LLVMValueRef moved_bits(struct emitter *e, unsigned index, enum ptx_type type)
{
	const struct ptx_operand *op = operand(e, index);
	return op->kind == PTX_OP_FLOAT ? as_int(e, arg(e, index)) : arg_typed(e, index, type);
}

void emit_slct(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef c = arg(e, 3), zero = LLVMConstNull(LLVMTypeOf(c)), take;
	if (in->form->types[1] == PTX_F32) /* NaN takes b */
		take = fcmp_(e, LLVMRealOGE, flush_if(e, has(e, MOD_ftz), c), zero);
	else
		take = icmp_(e, LLVMIntSGE, c, zero);
	/* a and b are moved as they are */
	unsigned bits = ptx_type_bits(form_type(in));
	enum ptx_type type = bits == 64 ? PTX_B64 : bits == 32 ? PTX_B32 : PTX_B16;
	set_result(e, 0, select_(e, take, moved_bits(e, 1, type), moved_bits(e, 2, type)));
}
