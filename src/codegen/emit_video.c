/* Video instructions: PTX ISA 9.7.18. Scalar ones select a byte, half or word of each operand, work in more than 32 bits, saturate
 * and combine with c; SIMD ones do the same with two halves or four bytes picked from a and b. */
#include "codegen/arith.h"
#include "isa_emit.h"

enum { SELECT_H0 = 4, SELECT_H1, SELECT_HALVES, SELECT_BYTES };

/* ---- parts of operands --------------------------------------------------------------------------------------- */

static LLVMValueRef part(struct emitter *e, LLVMValueRef v, unsigned shift, unsigned bits, bool is_signed)
{
	LLVMValueRef up = kbits(e, 32, 32 - bits - shift), down = kbits(e, 32, 32 - bits);
	v = shl_(e, v, up);
	return is_signed ? ashr_(e, v, down) : lshr_(e, v, down);
}

static unsigned selector_bits(const struct ptx_operand *op)
{
	return op->selector < 0 ? 32 : op->selector < SELECT_H0 ? 8 : 16;
}

static unsigned selector_shift(const struct ptx_operand *op)
{
	return op->selector < 0 ? 0 : op->selector < SELECT_H0 ? 8 * (unsigned)op->selector : 16 * (unsigned)(op->selector - SELECT_H0);
}

/* The selected part as a 64-bit integer. */
static LLVMValueRef selected(struct emitter *e, unsigned index, enum ptx_type type)
{
	const struct ptx_operand *op = operand(e, index);
	bool is_signed = type_is_signed(type);
	LLVMValueRef v = arg_typed(e, index, PTX_B32);
	if (op->selector >= 0)
		v = part(e, v, selector_shift(op), selector_bits(op), is_signed);
	return resize(e, v, 64, is_signed);
}

static LLVMValueRef clamp64(struct emitter *e, LLVMValueRef v, unsigned bits, bool is_signed)
{
	int64_t high = is_signed ? (INT64_C(1) << (bits - 1)) - 1 : (INT64_C(1) << bits) - 1, low = is_signed ? -high - 1 : 0;
	v = intrinsic2(e, "llvm.smin", v, kbits(e, 64, (uint64_t)high));
	return intrinsic2(e, "llvm.smax", v, kbits(e, 64, (uint64_t)low));
}

static LLVMValueRef compare_values(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
	LLVMIntPredicate p = has(e, MOD_eq) ? LLVMIntEQ : has(e, MOD_ne) ? LLVMIntNE : has(e, MOD_lt) ? LLVMIntSLT :
			     has(e, MOD_le) ? LLVMIntSLE : has(e, MOD_gt) ? LLVMIntSGT : LLVMIntSGE;
	return LLVMBuildZExt(e->b, icmp_(e, p, a, b), LLVMTypeOf(a), "");
}

/* ---- scalar ---------------------------------------------------------------------------------------------------- */

static LLVMValueRef shift_values(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool left)
{
	LLVMValueRef limit = kbits(e, 64, 32);
	b = has(e, MOD_wrap) ? and_(e, b, kbits(e, 64, 31)) : select_(e, icmp_(e, LLVMIntUGT, b, limit), limit, b);
	if (left && has(e, MOD_sat))
		return intrinsic2(e, "llvm.sshl.sat", a, b); /* 32 bits moved up by 32 would lose their sign */
	return left ? shl_(e, a, b) : ashr_(e, a, b); /* a is extended: an unsigned one stays positive */
}

static LLVMValueRef scalar_operation(struct emitter *e, unsigned opcode, LLVMValueRef a, LLVMValueRef b)
{
	LLVMValueRef zero = kbits(e, 64, 0), d;
	switch (opcode) {
	case OP_vadd:
		return add_(e, a, b);
	case OP_vsub:
		return sub_(e, a, b);
	case OP_vabsdiff:
		d = sub_(e, a, b);
		return select_(e, icmp_(e, LLVMIntSLT, d, zero), sub_(e, zero, d), d);
	case OP_vmin:
		return intrinsic2(e, "llvm.smin", a, b);
	case OP_vmax:
		return intrinsic2(e, "llvm.smax", a, b);
	case OP_vshl:
		return shift_values(e, a, b, true);
	case OP_vshr:
		return shift_values(e, a, b, false);
	default:
		return compare_values(e, a, b);
	}
}

/* vmad: 128 bits hold any product; one more bit of addend stands for .po or a negation. */
static void emit_vmad(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *a = operand(e, 1), *b = operand(e, 2), *c = operand(e, 3);
	bool product_negated = a->negated != b->negated;
	bool is_signed = type_is_signed(in->form->types[1]) || type_is_signed(in->form->types[2]) || product_negated || c->negated;
	LLVMValueRef x = resize(e, selected(e, 1, in->form->types[1]), 128, true), y = resize(e, selected(e, 2, in->form->types[2]), 128, true);
	LLVMValueRef r = mul_(e, x, y), addend = resize(e, arg_typed(e, 3, PTX_B32), 32, false);
	bool one = has(e, MOD_po) || product_negated || c->negated;
	if (!has(e, MOD_po) && product_negated)
		r = not_(e, r);
	else if (!has(e, MOD_po) && c->negated)
		addend = not_(e, addend);
	r = add_(e, r, resize(e, addend, 128, is_signed));
	if (one)
		r = add_(e, r, kbits(e, 128, 1));
	unsigned shift = has(e, MOD_shr7) ? 7 : has(e, MOD_shr15) ? 15 : 0;
	r = resize(e, is_signed ? ashr_(e, r, kbits(e, 128, shift)) : lshr_(e, r, kbits(e, 128, shift)), 64, false);
	if (has(e, MOD_sat) && is_signed)
		r = clamp64(e, r, 32, true);
	else if (has(e, MOD_sat))
		r = intrinsic2(e, "llvm.umin", r, kbits(e, 64, UINT32_MAX));
	set_result(e, 0, resize(e, r, 32, false));
}

/* The second operation with c, or the place in c that the result takes. */
static LLVMValueRef combine(struct emitter *e, const struct ptx_instruction *in, LLVMValueRef r, bool is_signed)
{
	const struct ptx_operand *d = operand(e, 0);
	bool second = has(e, MOD_add) || has(e, MOD_min) || has(e, MOD_max);
	if (in->operand_count < 4 || (!second && d->selector < 0))
		return r;
	LLVMValueRef c = arg_typed(e, 3, PTX_B32);
	if (has(e, MOD_add))
		return add_(e, r, c);
	if (second) {
		bool min = has(e, MOD_min);
		return intrinsic2(e, is_signed ? min ? "llvm.smin" : "llvm.smax" : min ? "llvm.umin" : "llvm.umax", r, c);
	}
	uint64_t mask = ((UINT64_C(1) << selector_bits(d)) - 1) << selector_shift(d);
	r = and_(e, shl_(e, r, kbits(e, 32, selector_shift(d))), kbits(e, 32, mask));
	return or_(e, r, and_(e, c, kbits(e, 32, ~mask)));
}

void emit_video(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned opcode = in->form->row->opcode_id;
	const enum ptx_type *types = in->form->types;
	bool compares = opcode == OP_vset, is_signed = !compares && type_is_signed(types[0]);
	if (opcode == OP_vmad) {
		emit_vmad(e, in);
		return;
	}
	LLVMValueRef a = selected(e, 1, types[compares ? 0 : 1]), b = selected(e, 2, types[compares ? 1 : 2]);
	LLVMValueRef r = scalar_operation(e, opcode, a, b);
	if (has(e, MOD_sat))
		r = clamp64(e, r, selector_bits(operand(e, 0)), is_signed);
	set_result(e, 0, combine(e, in, resize(e, r, 32, false), is_signed));
}

/* ---- SIMD -------------------------------------------------------------------------------------------------------- */

/* Which elements of {b, a} an operand takes, as hexadecimal digits, the lowest element's last. */
static unsigned element_digits(const struct ptx_operand *op, unsigned otherwise)
{
	return op->selector == SELECT_HALVES || op->selector == SELECT_BYTES ? (unsigned)op->offset : otherwise;
}

/* The elements of the result that are written, as bits. */
static unsigned written_elements(const struct ptx_operand *d, unsigned count)
{
	unsigned bits = 0;
	if (d->selector < 0)
		return (1u << count) - 1;
	if (d->selector < SELECT_HALVES)
		return 1u << (d->selector < SELECT_H0 ? d->selector : d->selector - SELECT_H0);
	for (unsigned digits = (unsigned)d->offset, first = 1; digits || first; digits >>= 4, first = 0)
		bits |= 1u << (digits & 0xf);
	return bits;
}

static LLVMValueRef simd_operation(struct emitter *e, unsigned opcode, LLVMValueRef a, LLVMValueRef b)
{
	LLVMValueRef zero = kbits(e, 32, 0), r;
	switch (opcode) {
	case OP_vadd2: case OP_vadd4:
		return add_(e, a, b);
	case OP_vsub2: case OP_vsub4:
		return sub_(e, a, b);
	case OP_vavrg2: case OP_vavrg4: /* halves are rounded away from zero */
		r = add_(e, a, b);
		r = add_(e, r, select_(e, icmp_(e, LLVMIntSGE, r, zero), kbits(e, 32, 1), zero));
		return ashr_(e, r, kbits(e, 32, 1));
	case OP_vabsdiff2: case OP_vabsdiff4:
		r = sub_(e, a, b);
		return select_(e, icmp_(e, LLVMIntSLT, r, zero), sub_(e, zero, r), r);
	case OP_vmin2: case OP_vmin4:
		return intrinsic2(e, "llvm.smin", a, b);
	case OP_vmax2: case OP_vmax4:
		return intrinsic2(e, "llvm.smax", a, b);
	default:
		return compare_values(e, a, b);
	}
}

static bool has_four(unsigned opcode)
{
	switch (opcode) {
	case OP_vadd4: case OP_vsub4: case OP_vavrg4: case OP_vabsdiff4: case OP_vmin4: case OP_vmax4: case OP_vset4:
		return true;
	default:
		return false;
	}
}

struct simd {
	unsigned opcode, count, bits;
	enum ptx_type a_type, b_type;
	bool d_signed;
	unsigned a_digits, b_digits, written;
	LLVMValueRef sources[2];
};

static LLVMValueRef simd_source(struct emitter *e, const struct simd *s, unsigned digit, enum ptx_type type)
{
	return part(e, s->sources[digit / s->count & 1], digit % s->count * s->bits, s->bits, type_is_signed(type));
}

static LLVMValueRef simd_element(struct emitter *e, const struct simd *s, unsigned i)
{
	LLVMValueRef a = simd_source(e, s, s->a_digits >> (4 * i) & 0xf, s->a_type), b = simd_source(e, s, s->b_digits >> (4 * i) & 0xf, s->b_type);
	LLVMValueRef r = simd_operation(e, s->opcode, a, b);
	return has(e, MOD_sat) ? clamp_int(e, r, true, s->bits, s->d_signed) : r;
}

void emit_video_simd(struct emitter *e, const struct ptx_instruction *in)
{
	struct simd s = { .opcode = in->form->row->opcode_id };
	bool compares = s.opcode == OP_vset2 || s.opcode == OP_vset4;
	const enum ptx_type *types = in->form->types;
	s.count = has_four(s.opcode) ? 4 : 2;
	s.bits = 32 / s.count;
	s.a_type = types[compares ? 0 : 1];
	s.b_type = types[compares ? 1 : 2];
	s.d_signed = !compares && type_is_signed(types[0]);
	s.a_digits = element_digits(operand(e, 1), s.count == 4 ? 0x3210 : 0x10);
	s.b_digits = element_digits(operand(e, 2), s.count == 4 ? 0x7654 : 0x32);
	s.written = written_elements(operand(e, 0), s.count);
	s.sources[0] = arg_typed(e, 1, PTX_B32);
	s.sources[1] = arg_typed(e, 2, PTX_B32);
	LLVMValueRef c = arg_typed(e, 3, PTX_B32), r = has(e, MOD_add) ? c : kbits(e, 32, 0);
	uint64_t element_mask = (UINT64_C(1) << s.bits) - 1;
	for (unsigned i = 0; i < s.count; i++) {
		bool written = s.written >> i & 1;
		if (has(e, MOD_add)) {
			r = written ? add_(e, r, simd_element(e, &s, i)) : r;
			continue;
		}
		LLVMValueRef v = written ? shl_(e, and_(e, simd_element(e, &s, i), kbits(e, 32, element_mask)), kbits(e, 32, i * s.bits)) :
					   and_(e, c, kbits(e, 32, element_mask << (i * s.bits)));
		r = or_(e, r, v);
	}
	set_result(e, 0, r);
}
