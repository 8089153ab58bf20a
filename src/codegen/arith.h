/* Pieces of arithmetic that several emitters share: short names for LLVM's builders, packed halves, the number formats of
 * PTX ISA 5.2 (flushing, canonical NaNs, rounding between formats) and exact integer helpers.
 *
 * Everything works on the piece at hand (emit.h): a scalar or a vector of e->w lanes. */
#ifndef DRAGOMAN_ARITH_H
#define DRAGOMAN_ARITH_H

#include "codegen/emit.h"

/* ---- builders with names that fit on a line -------------------------------------------------- */

static inline LLVMValueRef add_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildAdd(e->b, a, b, ""); }
static inline LLVMValueRef sub_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildSub(e->b, a, b, ""); }
static inline LLVMValueRef mul_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildMul(e->b, a, b, ""); }
static inline LLVMValueRef and_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildAnd(e->b, a, b, ""); }
static inline LLVMValueRef or_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildOr(e->b, a, b, ""); }
static inline LLVMValueRef xor_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildXor(e->b, a, b, ""); }
static inline LLVMValueRef not_(struct emitter *e, LLVMValueRef a) { return LLVMBuildNot(e->b, a, ""); }
static inline LLVMValueRef shl_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildShl(e->b, a, b, ""); }
static inline LLVMValueRef lshr_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildLShr(e->b, a, b, ""); }
static inline LLVMValueRef ashr_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildAShr(e->b, a, b, ""); }
static inline LLVMValueRef fadd_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildFAdd(e->b, a, b, ""); }
static inline LLVMValueRef fsub_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildFSub(e->b, a, b, ""); }
static inline LLVMValueRef fmul_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildFMul(e->b, a, b, ""); }
static inline LLVMValueRef fdiv_(struct emitter *e, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildFDiv(e->b, a, b, ""); }
static inline LLVMValueRef fneg_(struct emitter *e, LLVMValueRef a) { return LLVMBuildFNeg(e->b, a, ""); }
static inline LLVMValueRef icmp_(struct emitter *e, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b)
{
	return LLVMBuildICmp(e->b, p, a, b, "");
}
static inline LLVMValueRef fcmp_(struct emitter *e, LLVMRealPredicate p, LLVMValueRef a, LLVMValueRef b)
{
	return LLVMBuildFCmp(e->b, p, a, b, "");
}
static inline LLVMValueRef fma_(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
	return intrinsic3(e, "llvm.fma", a, b, c);
}
static inline LLVMValueRef fabs_(struct emitter *e, LLVMValueRef a) { return intrinsic1(e, "llvm.fabs", a); }

/* ---- types ------------------------------------------------------------------------------------- */

static inline enum ptx_type form_type(const struct ptx_instruction *in) { return in->form->types[0]; }
bool type_is_signed(enum ptx_type type);
bool type_is_float(enum ptx_type type);     /* f16, bf16, f32, f64 and the packed ones */
unsigned lane_bits(LLVMValueRef v);         /* width of the integer or float elements of a piece */
bool constant_lanes(LLVMValueRef v, LLVMValueRef *lane); /* all lanes one constant */
bool constant_int(LLVMValueRef v, uint64_t *value);      /* likewise, an integer */

/* ---- integers ---------------------------------------------------------------------------------- */

/* Shifts by any amount (of v's width): 0, or copies of the sign, once the amount reaches the width. */
LLVMValueRef shift_left(struct emitter *e, LLVMValueRef v, LLVMValueRef amount);
LLVMValueRef shift_right(struct emitter *e, LLVMValueRef v, LLVMValueRef amount, bool is_signed);
LLVMValueRef mul_high(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool is_signed);
LLVMValueRef low_mask(struct emitter *e, LLVMValueRef length); /* the low `length` bits set; all from the width on */
LLVMValueRef integer_divide(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool is_signed, bool remainder);
LLVMValueRef clamp_int(struct emitter *e, LLVMValueRef v, bool v_signed, unsigned bits, bool is_signed);

/* ---- packed registers ---------------------------------------------------------------------------- */

/* Between open and close, pieces are of `count` times as many lanes: a packed register's halves are lanes of
 * their own, the low half first. Values move in and out by as_lanes() and from_lanes(). */
void packed_open(struct emitter *e, unsigned count);
void packed_close(struct emitter *e, unsigned count);
LLVMValueRef as_lanes(struct emitter *e, LLVMValueRef v, LLVMTypeRef lane); /* bitcast to a piece of that lane type */

/* ---- floating point ------------------------------------------------------------------------------ */

enum rounding { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP };
enum rounding rounding_of(struct emitter *e); /* .rn .rz .rm .rp; to nearest where none is written */

LLVMValueRef flush(struct emitter *e, LLVMValueRef v);         /* subnormals to zero of their sign */
LLVMValueRef flush_if(struct emitter *e, bool ftz, LLVMValueRef v);
LLVMValueRef saturate(struct emitter *e, LLVMValueRef v);      /* [+0, 1], NaN to +0 */
LLVMValueRef relu(struct emitter *e, enum ptx_type type, LLVMValueRef v); /* f16, bf16 bits, f32 */
LLVMValueRef is_nan(struct emitter *e, LLVMValueRef v);
LLVMValueRef canonical_nan(struct emitter *e, LLVMValueRef v); /* half, float: NaN becomes 0x7fff, 0x7fffffff */
LLVMValueRef to_double(struct emitter *e, LLVMValueRef v);
LLVMValueRef to_float(struct emitter *e, LLVMValueRef v);      /* half to float, double to float to nearest */
LLVMValueRef next_toward(struct emitter *e, LLVMValueRef v, LLVMValueRef up, LLVMValueRef when); /* one ulp, up or down, where `when` */

LLVMValueRef bf16_to_float(struct emitter *e, LLVMValueRef bits);
LLVMValueRef float_to_bf16(struct emitter *e, LLVMValueRef v, enum rounding rounding); /* NaN 0x7fff */
LLVMValueRef float_to_half(struct emitter *e, LLVMValueRef v, enum rounding rounding);
LLVMValueRef double_to_float(struct emitter *e, LLVMValueRef v, enum rounding rounding);
/* Double to float so that a later rounding to 22 or fewer bits is as if made at once ("to odd"). */
LLVMValueRef double_to_float_odd(struct emitter *e, LLVMValueRef v);
/* a + b, rounded to odd at the operands' own precision: exact for a later rounding to fewer bits. */
LLVMValueRef add_odd(struct emitter *e, LLVMValueRef a, LLVMValueRef b);

/* Operations of the operands' own type, float or double, correctly rounded in each mode, in ranges and subnormals too. */
LLVMValueRef float_add(struct emitter *e, LLVMValueRef a, LLVMValueRef b, enum rounding rounding);
LLVMValueRef float_mul(struct emitter *e, LLVMValueRef a, LLVMValueRef b, enum rounding rounding);
LLVMValueRef float_fma(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, enum rounding rounding);
LLVMValueRef float_div(struct emitter *e, LLVMValueRef a, LLVMValueRef b, enum rounding rounding);
LLVMValueRef float_sqrt(struct emitter *e, LLVMValueRef a, enum rounding rounding);
/* Halves, exactly: not through two roundings. */
LLVMValueRef half_fma(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef bf16_fma(struct emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c); /* of bits */
/* min or max of half, float, double: numbers beat NaN (or lose to it: nan_wins), -0 < +0. */
LLVMValueRef float_min_max(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool is_max, bool nan_wins);

/* Inline approximations (emit_math.c) for uses outside their own instructions. */
LLVMValueRef approximate_exp2(struct emitter *e, LLVMValueRef x);
LLVMValueRef approximate_tanh(struct emitter *e, LLVMValueRef x);

/* ---- the carry flag: a hidden register of the thread (9.7.2) -------------------------------------- */
LLVMValueRef carry_get(struct emitter *e); /* i1 piece */
void carry_set(struct emitter *e, LLVMValueRef carry);

/* ---- likewise the bytes that alloca has taken of the thread's stack (9.7.17): i64 piece ------------- */
LLVMValueRef stack_get(struct emitter *e);
void stack_set(struct emitter *e, LLVMValueRef bytes);

#endif
