/* Logic, shifts and byte permutation: PTX ISA 9.7.8 and prmt of 9.7.9. */
#include "codegen/arith.h"
#include "isa_emit.h"

void emit_not(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	set_result(e, 0, not_(e, arg(e, 1)));
}

void emit_cnot(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	LLVMValueRef a = arg(e, 1);
	LLVMValueRef is_zero = icmp_(e, LLVMIntEQ, a, LLVMConstNull(LLVMTypeOf(a)));
	set_result(e, 0, LLVMBuildZExt(e->b, is_zero, LLVMTypeOf(a), ""));
}

/* ---- lop3 ---------------------------------------------------------------------------------------------- */

/* The function of a and b whose truth table is the four bits of `table` (bit 2a + b). */
static LLVMValueRef logic2(struct emitter *e, LLVMValueRef a, LLVMValueRef b, unsigned table)
{
	switch (table) {
	case 0x0: return LLVMConstNull(LLVMTypeOf(a));
	case 0x1: return not_(e, or_(e, a, b));
	case 0x2: return and_(e, not_(e, a), b);
	case 0x3: return not_(e, a);
	case 0x4: return and_(e, a, not_(e, b));
	case 0x5: return not_(e, b);
	case 0x6: return xor_(e, a, b);
	case 0x7: return not_(e, and_(e, a, b));
	case 0x8: return and_(e, a, b);
	case 0x9: return not_(e, xor_(e, a, b));
	case 0xa: return b;
	case 0xb: return or_(e, not_(e, a), b);
	case 0xc: return a;
	case 0xd: return or_(e, a, not_(e, b));
	case 0xe: return or_(e, a, b);
	default:  return LLVMConstAllOnes(LLVMTypeOf(a));
	}
}

/* The function of a, b, c whose truth table is `table` (bit 4a + 2b + c), split on c. */
static LLVMValueRef logic3(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, unsigned table)
{
	unsigned without = 0, with = 0;
	for (unsigned i = 0; i < 4; i++) {
		without |= (table >> (2 * i) & 1) << i;
		with |= (table >> (2 * i + 1) & 1) << i;
	}
	if (with == without)
		return logic2(e, a, b, with);
	if (with == (without ^ 0xf))
		return xor_(e, logic2(e, a, b, without), c);
	LLVMValueRef yes = and_(e, c, logic2(e, a, b, with)), no = and_(e, not_(e, c), logic2(e, a, b, without));
	return or_(e, yes, no);
}

void emit_lop3(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *table = operand(e, 4);
	if (table->kind != PTX_OP_IMMEDIATE) {
		unsupported(e, "the table of lop3 must be a number");
		return;
	}
	LLVMValueRef r = logic3(e, arg(e, 1), arg(e, 2), arg(e, 3), table->bits & 0xff);
	if (in->operand_count < 6) {
		set_result(e, 0, r);
		return;
	}
	LLVMValueRef any = icmp_(e, LLVMIntNE, r, LLVMConstNull(LLVMTypeOf(r))), q = arg_typed(e, 5, PTX_PRED);
	set_pair(e, 0, r, has(e, MOD_or) ? or_(e, any, q) : and_(e, any, q));
}

/* ---- shifts -------------------------------------------------------------------------------------------- */

/* The amount at the width of the value: a 16-bit value keeps what matters of a large amount. */
static LLVMValueRef shift_amount(struct emitter *e, unsigned index, unsigned bits)
{
	LLVMValueRef amount = arg_typed(e, index, PTX_U32);
	if (bits == 16)
		amount = intrinsic2(e, "llvm.umin", amount, kbits(e, 32, 16));
	return resize(e, amount, bits, false);
}

void emit_shl(struct emitter *e, const struct ptx_instruction *in)
{
	set_result(e, 0, shift_left(e, arg(e, 1), shift_amount(e, 2, ptx_type_bits(form_type(in)))));
}

void emit_shr(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef amount = shift_amount(e, 2, ptx_type_bits(form_type(in)));
	set_result(e, 0, shift_right(e, arg(e, 1), amount, type_is_signed(form_type(in))));
}

void emit_shf(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	bool left = has(e, MOD_l);
	LLVMValueRef a = arg(e, 1), b = arg(e, 2), amount = arg_typed(e, 3, PTX_U32);
	LLVMValueRef r = intrinsic3(e, left ? "llvm.fshl" : "llvm.fshr", b, a, amount);
	if (has(e, MOD_clamp))
		r = select_(e, icmp_(e, LLVMIntUGE, amount, kbits(e, 32, 32)), left ? a : b, r);
	set_result(e, 0, r);
}

/* ---- prmt ---------------------------------------------------------------------------------------------- */

/* Selectors that the modes stand for, by the low two bits of c. */
static const uint16_t *prmt_selectors(struct emitter *e)
{
	static const uint16_t f4e[] = { 0x3210, 0x4321, 0x5432, 0x6543 }, b4e[] = { 0x5670, 0x6701, 0x7012, 0x0123 };
	static const uint16_t rc8[] = { 0x0000, 0x1111, 0x2222, 0x3333 }, ecl[] = { 0x3210, 0x3211, 0x3222, 0x3333 };
	static const uint16_t ecr[] = { 0x0000, 0x1110, 0x2210, 0x3210 }, rc16[] = { 0x1010, 0x3232, 0x1010, 0x3232 };
	return has(e, MOD_f4e) ? f4e : has(e, MOD_b4e) ? b4e : has(e, MOD_rc8) ? rc8 : has(e, MOD_ecl) ? ecl :
	       has(e, MOD_ecr) ? ecr : has(e, MOD_rc16) ? rc16 : NULL;
}

/* A selector known now: one byte shuffle. */
static LLVMValueRef permute_constant(struct emitter *e, LLVMValueRef a, LLVMValueRef b, unsigned selector)
{
	LLVMTypeRef i8 = LLVMInt8TypeInContext(e->context), i32 = LLVMInt32TypeInContext(e->context);
	LLVMValueRef order[4 * MAX_WIDTH], signs[4 * MAX_WIDTH];
	unsigned lanes = e->w;
	packed_open(e, 4);
	for (unsigned i = 0; i < 4 * lanes; i++) {
		unsigned nibble = selector >> (i % 4 * 4) & 0xf, byte = nibble & 7, from = i / 4 * 4 + byte;
		order[i] = LLVMConstInt(i32, byte < 4 ? from : from - 4 + 4 * lanes, false);
		signs[i] = LLVMConstInt(i8, nibble & 8 ? 0xff : 0, false);
	}
	LLVMValueRef r = LLVMBuildShuffleVector(e->b, as_lanes(e, a, i8), as_lanes(e, b, i8), LLVMConstVector(order, 4 * lanes), "");
	if (selector & 0x8888) {
		LLVMValueRef mask = LLVMConstVector(signs, 4 * lanes), sign = ashr_(e, r, kbits(e, 8, 7));
		r = or_(e, and_(e, r, not_(e, mask)), and_(e, sign, mask));
	}
	packed_close(e, 4);
	return as_lanes(e, r, i32);
}

static LLVMValueRef permute(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef selector)
{
	LLVMValueRef both = or_(e, resize(e, a, 64, false), shl_(e, resize(e, b, 64, false), kbits(e, 64, 32))), r = kbits(e, 32, 0);
	for (unsigned i = 0; i < 4; i++) {
		LLVMValueRef nibble = lshr_(e, selector, kbits(e, 32, 4 * i));
		LLVMValueRef at = shl_(e, and_(e, nibble, kbits(e, 32, 7)), kbits(e, 32, 3));
		LLVMValueRef byte = resize(e, lshr_(e, both, resize(e, at, 64, false)), 8, false);
		LLVMValueRef sign = icmp_(e, LLVMIntNE, and_(e, nibble, kbits(e, 32, 8)), kbits(e, 32, 0));
		byte = select_(e, sign, ashr_(e, byte, kbits(e, 8, 7)), byte);
		r = or_(e, r, shl_(e, resize(e, byte, 32, false), kbits(e, 32, 8 * i)));
	}
	return r;
}

void emit_prmt(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	LLVMValueRef a = arg(e, 1), b = arg(e, 2), c = arg_typed(e, 3, PTX_U32);
	const uint16_t *modes = prmt_selectors(e);
	uint64_t known;
	if (constant_int(c, &known)) {
		set_result(e, 0, permute_constant(e, a, b, modes ? modes[known & 3] : known & 0xffff));
		return;
	}
	if (modes) {
		LLVMValueRef which = and_(e, c, kbits(e, 32, 3));
		c = kbits(e, 32, modes[0]);
		for (unsigned i = 1; i < 4; i++)
			c = select_(e, icmp_(e, LLVMIntEQ, which, kbits(e, 32, i)), kbits(e, 32, modes[i]), c);
	}
	set_result(e, 0, permute(e, a, b, c));
}
