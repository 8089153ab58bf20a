/* Integer arithmetic: PTX ISA 9.7.1 and the carry chain of 9.7.2. Forms that are one LLVM operation need no code here:
 * their row in spec/ptx.isa names it. Opcodes shared with floating point (add, mul, min …) start in emit_float.c and
 * come here for integer types. */
#include "codegen/arith.h"
#include "codegen/emit_int.h"
#include "codegen/target.h"
#include "isa_emit.h"

/* ---- add, sub, mul, mad -------------------------------------------------------------------------- */

/* `.u16x2` and `.s16x2`: the halves as lanes. */
static void emit_packed16(struct emitter *e, const char *name, bool relu)
{
	LLVMTypeRef i16 = LLVMInt16TypeInContext(e->context);
	LLVMValueRef a = arg_typed(e, 1, PTX_B32), b = arg_typed(e, 2, PTX_B32), r;
	packed_open(e, 2);
	a = as_lanes(e, a, i16);
	b = as_lanes(e, b, i16);
	r = name ? intrinsic2(e, name, a, b) : add_(e, a, b);
	if (relu)
		r = intrinsic2(e, "llvm.smax", r, kbits(e, 16, 0));
	packed_close(e, 2);
	set_result(e, 0, as_lanes(e, r, LLVMInt32TypeInContext(e->context)));
}

void emit_int_add(struct emitter *e, const struct ptx_instruction *in, bool subtract)
{
	if (form_type(in) == PTX_U16X2 || form_type(in) == PTX_S16X2) {
		emit_packed16(e, NULL, false);
		return;
	}
	LLVMValueRef a = arg(e, 1), b = arg(e, 2);
	if (has(e, MOD_sat))
		set_result(e, 0, intrinsic2(e, subtract ? "llvm.ssub.sat" : "llvm.sadd.sat", a, b));
	else
		set_result(e, 0, subtract ? sub_(e, a, b) : add_(e, a, b));
}

static LLVMValueRef multiply(struct emitter *e, const struct ptx_instruction *in, LLVMValueRef a, LLVMValueRef b)
{
	bool is_signed = type_is_signed(form_type(in));
	unsigned bits = ptx_type_bits(form_type(in));
	if (has(e, MOD_wide))
		return mul_(e, resize(e, a, 2 * bits, is_signed), resize(e, b, 2 * bits, is_signed));
	return has(e, MOD_hi) ? mul_high(e, a, b, is_signed) : mul_(e, a, b);
}

void emit_int_mul(struct emitter *e, const struct ptx_instruction *in)
{
	set_result(e, 0, multiply(e, in, arg(e, 1), arg(e, 2)));
}

void emit_int_mad(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef product = multiply(e, in, arg(e, 1), arg(e, 2)), c = arg(e, 3);
	set_result(e, 0, has(e, MOD_sat) ? intrinsic2(e, "llvm.sadd.sat", product, c) : add_(e, product, c));
}

/* The product of the low 24 bits: .lo is its bits 31…0, .hi its bits 47…16. */
static LLVMValueRef multiply24(struct emitter *e, const struct ptx_instruction *in)
{
	bool is_signed = type_is_signed(form_type(in));
	LLVMValueRef eight = kbits(e, 32, 8), a = shl_(e, arg(e, 1), eight), b = shl_(e, arg(e, 2), eight);
	a = is_signed ? ashr_(e, a, eight) : lshr_(e, a, eight);
	b = is_signed ? ashr_(e, b, eight) : lshr_(e, b, eight);
	if (has(e, MOD_lo))
		return mul_(e, a, b);
	LLVMValueRef wide = mul_(e, resize(e, a, 64, is_signed), resize(e, b, 64, is_signed));
	return resize(e, lshr_(e, wide, kbits(e, 64, 16)), 32, false);
}

void emit_mul24(struct emitter *e, const struct ptx_instruction *in)
{
	set_result(e, 0, multiply24(e, in));
}

void emit_mad24(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef product = multiply24(e, in), c = arg(e, 3);
	set_result(e, 0, has(e, MOD_sat) ? intrinsic2(e, "llvm.sadd.sat", product, c) : add_(e, product, c));
}

void emit_sad(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef a = arg(e, 1), b = arg(e, 2);
	LLVMValueRef less = icmp_(e, type_is_signed(form_type(in)) ? LLVMIntSLT : LLVMIntULT, a, b);
	LLVMValueRef distance = select_(e, less, sub_(e, b, a), sub_(e, a, b));
	set_result(e, 0, add_(e, arg(e, 3), distance));
}

void emit_int_div(struct emitter *e, const struct ptx_instruction *in)
{
	set_result(e, 0, integer_divide(e, arg(e, 1), arg(e, 2), type_is_signed(form_type(in)), false));
}

void emit_rem(struct emitter *e, const struct ptx_instruction *in)
{
	set_result(e, 0, integer_divide(e, arg(e, 1), arg(e, 2), type_is_signed(form_type(in)), true));
}

void emit_int_neg(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	set_result(e, 0, LLVMBuildNeg(e->b, arg(e, 1), ""));
}

void emit_int_abs(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	LLVMValueRef a = arg(e, 1), zero = LLVMConstNull(LLVMTypeOf(a));
	set_result(e, 0, select_(e, icmp_(e, LLVMIntSLT, a, zero), sub_(e, zero, a), a));
}

void emit_int_min_max(struct emitter *e, const struct ptx_instruction *in, bool is_max)
{
	enum ptx_type type = form_type(in);
	bool is_signed = type_is_signed(type);
	const char *name = is_max ? is_signed ? "llvm.smax" : "llvm.umax" : is_signed ? "llvm.smin" : "llvm.umin";
	if (type == PTX_U16X2 || type == PTX_S16X2) {
		emit_packed16(e, name, has(e, MOD_relu));
		return;
	}
	LLVMValueRef r = intrinsic2(e, name, arg(e, 1), arg(e, 2));
	if (has(e, MOD_relu))
		r = intrinsic2(e, "llvm.smax", r, LLVMConstNull(LLVMTypeOf(r)));
	set_result(e, 0, r);
}

/* ---- counting and fields --------------------------------------------------------------------------- */

/* The bits of eight i32s, by AVX2: counted in each byte, which LLVM does by two look-ups, and four bytes added up by two multiplications
 * by 1, for which LLVM takes five steps. */
static LLVMValueRef count_bits_of_chunk(struct emitter *e, LLVMValueRef v)
{
	LLVMTypeRef i8 = LLVMInt8TypeInContext(e->context), i16 = LLVMInt16TypeInContext(e->context);
	LLVMValueRef ones[2][32];
	for (unsigned i = 0; i < 32; i++) {
		ones[0][i] = LLVMConstInt(i8, 1, false);
		ones[1][i] = LLVMConstInt(i16, 1, false);
	}
	LLVMValueRef counts[] = { intrinsic1(e, "llvm.ctpop", LLVMBuildBitCast(e->b, v, LLVMVectorType(i8, 32), "")), LLVMConstVector(ones[0], 32) };
	LLVMValueRef sums[] = { machine_intrinsic(e, "llvm.x86.avx2.pmadd.ub.sw", counts, 2), LLVMConstVector(ones[1], 16) };
	return machine_intrinsic(e, "llvm.x86.avx2.pmadd.wd", sums, 2);
}

void emit_popc(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef a = arg(e, 1);
	bool chunk = e->w == 8 && ptx_type_bits(form_type(in)) == 32 && e->target->byte_sums;
	set_result(e, 0, chunk ? count_bits_of_chunk(e, a) : resize(e, intrinsic1(e, "llvm.ctpop", a), 32, false));
}

static LLVMValueRef leading_zeros(struct emitter *e, LLVMValueRef v)
{
	LLVMValueRef arguments[] = { v, LLVMConstInt(LLVMInt1TypeInContext(e->context), 0, false) };
	return intrinsic(e, "llvm.ctlz", arguments, 2);
}

void emit_clz(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	set_result(e, 0, resize(e, leading_zeros(e, arg(e, 1)), 32, false));
}

/* The highest bit that differs from the sign (for .u: that is set); all ones where there is none. */
void emit_bfind(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned bits = ptx_type_bits(form_type(in));
	LLVMValueRef a = arg(e, 1), zero = LLVMConstNull(LLVMTypeOf(a));
	if (type_is_signed(form_type(in)))
		a = xor_(e, a, ashr_(e, a, kbits(e, bits, bits - 1)));
	LLVMValueRef position = resize(e, leading_zeros(e, a), 32, false);
	if (!has(e, MOD_shiftamt))
		position = sub_(e, kbits(e, 32, bits - 1), position);
	set_result(e, 0, select_(e, icmp_(e, LLVMIntEQ, a, zero), kbits(e, 32, UINT32_MAX), position));
}

/* Position of the n-th set bit of m (n from 1), by halving on the count of the low bits. `found` tells whether there is one. */
static LLVMValueRef nth_set_bit(struct emitter *e, LLVMValueRef m, LLVMValueRef n, LLVMValueRef *found)
{
	LLVMValueRef position = kbits(e, 32, 0);
	for (unsigned step = 16; step > 0; step /= 2) {
		LLVMValueRef low = intrinsic1(e, "llvm.ctpop", and_(e, m, kbits(e, 32, (1u << step) - 1)));
		LLVMValueRef above = icmp_(e, LLVMIntUGT, n, low);
		n = sub_(e, n, select_(e, above, low, kbits(e, 32, 0)));
		position = add_(e, position, select_(e, above, kbits(e, 32, step), kbits(e, 32, 0)));
		m = select_(e, above, lshr_(e, m, kbits(e, 32, step)), m);
	}
	LLVMValueRef one = kbits(e, 32, 1);
	*found = and_(e, icmp_(e, LLVMIntEQ, n, one), icmp_(e, LLVMIntEQ, and_(e, m, one), one));
	return position;
}

/* fns: the offset-th set bit at or above `base` (below, where the offset is negative; base itself for offset 0). */
void emit_fns(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	LLVMValueRef mask = arg(e, 1), base = arg(e, 2), offset = arg(e, 3);
	LLVMValueRef zero = kbits(e, 32, 0), none = kbits(e, 32, UINT32_MAX), last = kbits(e, 32, 31);
	LLVMValueRef inside = icmp_(e, LLVMIntULE, base, last), at = and_(e, base, last);
	LLVMValueRef down = icmp_(e, LLVMIntSLT, offset, zero), here = icmp_(e, LLVMIntEQ, offset, zero);
	LLVMValueRef up_mask = lshr_(e, mask, at), down_mask = lshr_(e, intrinsic1(e, "llvm.bitreverse", mask), sub_(e, last, at));
	LLVMValueRef m = select_(e, down, down_mask, up_mask);
	m = select_(e, here, and_(e, m, kbits(e, 32, 1)), m);
	LLVMValueRef n = select_(e, down, sub_(e, zero, offset), select_(e, here, kbits(e, 32, 1), offset)), found;
	LLVMValueRef distance = nth_set_bit(e, m, n, &found);
	LLVMValueRef position = select_(e, down, sub_(e, at, distance), add_(e, at, distance));
	set_result(e, 0, select_(e, and_(e, found, inside), position, none));
}

/* Position and length operands of bfe and bfi: their low 8 bits, at the field's width. */
static LLVMValueRef field_operand(struct emitter *e, unsigned index, unsigned bits)
{
	return resize(e, and_(e, arg_typed(e, index, PTX_U32), kbits(e, 32, 0xff)), bits, false);
}

void emit_bfe(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned bits = ptx_type_bits(form_type(in));
	bool is_signed = type_is_signed(form_type(in));
	LLVMValueRef a = arg(e, 1), position = field_operand(e, 2, bits), length = field_operand(e, 3, bits);
	LLVMValueRef field = shift_right(e, a, position, is_signed);
	if (!is_signed) {
		set_result(e, 0, and_(e, field, low_mask(e, length)));
		return;
	}
	/* Sign-extend from bit length - 1; bits past the top of `a` are copies of its sign already. */
	LLVMValueRef zero = kbits(e, bits, 0), full = kbits(e, bits, bits);
	LLVMValueRef room = sub_(e, full, select_(e, icmp_(e, LLVMIntULT, length, full), length, full));
	LLVMValueRef safe = select_(e, icmp_(e, LLVMIntEQ, room, full), zero, room);
	LLVMValueRef extended = ashr_(e, shl_(e, field, safe), safe);
	set_result(e, 0, select_(e, icmp_(e, LLVMIntEQ, length, zero), zero, extended));
}

void emit_bfi(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned bits = ptx_type_bits(form_type(in));
	LLVMValueRef a = arg(e, 1), b = arg(e, 2), position = field_operand(e, 3, bits), length = field_operand(e, 4, bits);
	LLVMValueRef mask = shift_left(e, low_mask(e, length), position), field = shift_left(e, a, position);
	set_result(e, 0, or_(e, and_(e, b, not_(e, mask)), and_(e, field, mask)));
}

void emit_bmsk(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	LLVMValueRef a = arg(e, 1), b = arg(e, 2), five = kbits(e, 32, 31);
	if (has(e, MOD_wrap)) {
		a = and_(e, a, five);
		b = and_(e, b, five);
	}
	/* A clamped position of 32 or more leaves no bits, a clamped length all above the position. */
	set_result(e, 0, shift_left(e, low_mask(e, b), a));
}

void emit_szext(struct emitter *e, const struct ptx_instruction *in)
{
	bool is_signed = type_is_signed(form_type(in));
	LLVMValueRef a = arg(e, 1), b = arg(e, 2), zero = kbits(e, 32, 0), width = kbits(e, 32, 32);
	LLVMValueRef length = has(e, MOD_wrap) ? and_(e, b, kbits(e, 32, 31)) : b;
	if (!is_signed) {
		set_result(e, 0, and_(e, a, low_mask(e, length)));
		return;
	}
	LLVMValueRef whole = icmp_(e, LLVMIntUGE, length, width), none = icmp_(e, LLVMIntEQ, length, zero);
	LLVMValueRef room = select_(e, or_(e, whole, none), zero, sub_(e, width, length));
	set_result(e, 0, select_(e, none, zero, ashr_(e, shl_(e, a, room), room)));
}

/* ---- dot products --------------------------------------------------------------------------------- */

/* Element `index` of `bits` bits of a 32-bit register. */
static LLVMValueRef element(struct emitter *e, LLVMValueRef v, unsigned index, unsigned bits, bool is_signed)
{
	LLVMValueRef left = kbits(e, 32, 32 - bits - index * bits), right = kbits(e, 32, 32 - bits);
	v = shl_(e, v, left);
	return is_signed ? ashr_(e, v, right) : lshr_(e, v, right);
}

static void emit_dot(struct emitter *e, const struct ptx_instruction *in, unsigned count, unsigned a_bits, unsigned b_first)
{
	bool a_signed = type_is_signed(in->form->types[0]), b_signed = type_is_signed(in->form->types[1]);
	LLVMValueRef a = arg_typed(e, 1, PTX_B32), b = arg_typed(e, 2, PTX_B32);
	LLVMValueRef sum = arg_typed(e, 3, PTX_B32);
	for (unsigned i = 0; i < count; i++)
		sum = add_(e, sum, mul_(e, element(e, a, i, a_bits, a_signed), element(e, b, b_first + i, 8, b_signed)));
	set_result(e, 0, sum);
}

void emit_dp4a(struct emitter *e, const struct ptx_instruction *in)
{
	emit_dot(e, in, 4, 8, 0);
}

void emit_dp2a(struct emitter *e, const struct ptx_instruction *in)
{
	emit_dot(e, in, 2, 16, has(e, MOD_hi) ? 2 : 0);
}

/* ---- the carry chain (9.7.2) ----------------------------------------------------------------------- */

/* a + b + carry, or a - b - carry (a borrow); carry may be NULL. */
static void add_with_carry(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool subtract, bool reads, bool writes)
{
	LLVMValueRef r = subtract ? sub_(e, a, b) : add_(e, a, b);
	LLVMValueRef out = subtract ? icmp_(e, LLVMIntULT, a, b) : icmp_(e, LLVMIntULT, r, a);
	if (reads) {
		LLVMValueRef carry = LLVMBuildZExt(e->b, carry_get(e), LLVMTypeOf(a), ""), before = r;
		r = subtract ? sub_(e, r, carry) : add_(e, r, carry);
		out = or_(e, out, subtract ? icmp_(e, LLVMIntULT, before, carry) : icmp_(e, LLVMIntULT, r, before));
	}
	if (writes)
		carry_set(e, out);
	set_result(e, 0, r);
}

void emit_add_cc(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	add_with_carry(e, arg(e, 1), arg(e, 2), false, false, true);
}

void emit_addc(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	add_with_carry(e, arg(e, 1), arg(e, 2), false, true, has(e, MOD_cc));
}

void emit_sub_cc(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	add_with_carry(e, arg(e, 1), arg(e, 2), true, false, true);
}

void emit_subc(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	add_with_carry(e, arg(e, 1), arg(e, 2), true, true, has(e, MOD_cc));
}

void emit_mad_cc(struct emitter *e, const struct ptx_instruction *in)
{
	add_with_carry(e, multiply(e, in, arg(e, 1), arg(e, 2)), arg(e, 3), false, false, true);
}

void emit_madc(struct emitter *e, const struct ptx_instruction *in)
{
	add_with_carry(e, multiply(e, in, arg(e, 1), arg(e, 2)), arg(e, 3), false, true, has(e, MOD_cc));
}
