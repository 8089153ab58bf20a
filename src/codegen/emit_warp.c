/* Operations of a warp: PTX ISA 9.7.13.8 to 9.7.13.15 (vote, match, activemask, redux, elect). The group is the whole warp, its
 * lanes in registers, or one thread that meets the others through the runtime.
 *
 * Member masks, as the cards have them: one that all lanes agree on says nothing more than who is here; lanes with masks of their
 * own (tiles of a warp) each have the result of their tile. */
#include <stddef.h>
#include <string.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/group.h"
#include "codegen/target.h"
#include "isa_emit.h"

static LLVMTypeRef i32_type(struct emitter *e)
{
	return LLVMInt32TypeInContext(e->context);
}

static LLVMTypeRef i64_type(struct emitter *e)
{
	return LLVMInt64TypeInContext(e->context);
}

static const struct ptx_operand *member_mask(struct emitter *e, const struct ptx_instruction *in)
{
	return has(e, MOD_sync) ? operand(e, in->operand_count - 1u) : NULL;
}

/* Scalar form: words[i] is lane i's `value`; returns the lanes that are here, all in one 32-bit word. */
static LLVMValueRef exchange(struct emitter *e, const struct ptx_operand *mask, LLVMValueRef value, LLVMValueRef words)
{
	LLVMTypeRef types[] = { i32_type(e), i32_type(e), i64_type(e), LLVMPointerTypeInContext(e->context, 0) };
	LLVMValueRef members = mask ? arg_uniform(e, mask, PTX_U32) : i32_constant(e, UINT32_MAX);
	LLVMValueRef arguments[] = { e->first_thread, members, LLVMBuildZExt(e->b, value, i64_type(e), ""), words };
	return call_service(e, offsetof(struct cpu_services, exchange), i32_type(e), types, arguments, 4);
}

static LLVMValueRef words_vector(struct emitter *e, LLVMValueRef words)
{
	LLVMValueRef v = LLVMBuildLoad2(e->b, LLVMVectorType(i64_type(e), 32), words, "");
	LLVMSetAlignment(v, 8);
	return v;
}

/* <32 x i1> as i32 */
static LLVMValueRef pack_bits(struct emitter *e, LLVMValueRef flags)
{
	return LLVMBuildBitCast(e->b, flags, i32_type(e), "");
}

static LLVMValueRef splat32(struct emitter *e, LLVMValueRef scalar)
{
	unsigned w = e->w;
	e->w = 32;
	scalar = splat(e, scalar);
	e->w = w;
	return scalar;
}

static LLVMValueRef own_lane(struct emitter *e)
{
	if (e->target->hooks)
		return e->target->hooks->lane(e);
	return and_(e, e->first_thread, i32_constant(e, 31));
}

/* A machine's own lanes: those of the member mask that are here. */
static LLVMValueRef lanes_here(struct emitter *e, const struct ptx_operand *mask)
{
	LLVMValueRef here = e->target->hooks->ballot(e, LLVMConstInt(LLVMInt1TypeInContext(e->context), 1, false));
	return mask ? and_(e, here, arg_uniform(e, mask, PTX_U32)) : here;
}

/* ---- vote ------------------------------------------------------------------------------------------------------ */

/* From the words of who is here and who votes yes; pieces or scalars. */
static LLVMValueRef count_votes(struct emitter *e, LLVMValueRef here, LLVMValueRef yes)
{
	LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(yes));
	if (has(e, MOD_ballot))
		return yes;
	if (has(e, MOD_any))
		return icmp_(e, LLVMIntNE, yes, zero);
	LLVMValueRef all = icmp_(e, LLVMIntEQ, yes, here);
	return has(e, MOD_all) ? all : or_(e, all, icmp_(e, LLVMIntEQ, yes, zero));
}

void emit_vote(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *d = operand(e, 0), *mask = member_mask(e, in);
	LLVMValueRef here, yes;
	if (e->target->hooks) {
		here = lanes_here(e, mask);
		yes = e->target->hooks->ballot(e, arg_uniform(e, operand(e, 1), PTX_PRED));
		set_value_uniform(e, d, count_votes(e, here, and_(e, yes, here)));
		return;
	}
	if (e->lanes == 1) {
		LLVMValueRef words = lane_words(e);
		here = exchange(e, mask, arg_uniform(e, operand(e, 1), PTX_PRED), words);
		LLVMValueRef flags = LLVMBuildTrunc(e->b, words_vector(e, words), LLVMVectorType(LLVMInt1TypeInContext(e->context), 32), "");
		set_value_uniform(e, d, count_votes(e, here, and_(e, pack_bits(e, flags), here)));
		return;
	}
	here = mask_bits(e);
	yes = group_bits(e, operand(e, 1));
	if (!mask || operand_is_uniform(e, mask)) {
		set_value_uniform(e, d, count_votes(e, here, yes));
		return;
	}
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		LLVMValueRef members = arg_chunk(e, mask, PTX_U32, c);
		LLVMValueRef r = count_votes(e, and_(e, splat(e, here), members), and_(e, splat(e, yes), members));
		group_leave(e, place);
		set_value_chunk(e, d, r, c);
	}
}

void emit_activemask(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	LLVMValueRef bits = mask_bits(e);
	if (e->target->hooks)
		bits = lanes_here(e, NULL);
	else if (e->lanes == 1) /* nobody else is known to be here */
		bits = shl_(e, i32_constant(e, 1), own_lane(e));
	set_value_uniform(e, operand(e, 0), bits);
}

static LLVMValueRef lowest_bit(struct emitter *e, LLVMValueRef bits)
{
	LLVMValueRef arguments[] = { bits, LLVMConstInt(LLVMInt1TypeInContext(e->context), 0, false) };
	return intrinsic(e, "llvm.cttz", arguments, 2);
}

/* The lowest lane of the mask leads. */
void emit_elect(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *d = operand(e, 0), *mask = member_mask(e, in);
	const struct ptx_operand *number = d->kind == PTX_OP_PAIR ? &d->parts[0] : d, *flag = d->kind == PTX_OP_PAIR ? &d->parts[1] : NULL;
	if (e->lanes == 1) {
		LLVMValueRef here = e->target->hooks ? lanes_here(e, mask) : exchange(e, mask, i32_constant(e, 0), lane_words(e));
		LLVMValueRef leader = lowest_bit(e, and_(e, here, arg_uniform(e, mask, PTX_U32)));
		set_value_uniform(e, number, leader);
		if (flag)
			set_value_uniform(e, flag, icmp_(e, LLVMIntEQ, leader, own_lane(e)));
		return;
	}
	LLVMValueRef here = mask_bits(e), numbers[MAX_WIDTH];
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		for (unsigned i = 0; i < e->width; i++)
			numbers[i] = i32_constant(e, c * e->width + i);
		LLVMValueRef leader = lowest_bit(e, and_(e, splat(e, here), arg_chunk(e, mask, PTX_U32, c)));
		LLVMValueRef leads = icmp_(e, LLVMIntEQ, leader, LLVMConstVector(numbers, e->width));
		group_leave(e, place);
		set_value_chunk(e, number, leader, c);
		if (flag)
			set_value_chunk(e, flag, leads, c);
	}
}

/* ---- match ------------------------------------------------------------------------------------------------------- */

/* The lanes whose value is `one`, among those that are here. */
static LLVMValueRef equal_lanes(struct emitter *e, LLVMValueRef const *values, LLVMValueRef one)
{
	LLVMValueRef chunks[MAX_CHUNKS];
	unsigned w = e->w;
	e->w = e->width;
	one = splat(e, one);
	for (unsigned c = 0; c < e->chunks; c++)
		chunks[c] = and_(e, icmp_(e, LLVMIntEQ, values[c], one), mask_chunk(e, c));
	e->w = w;
	return bits_of_mask(e, chunks);
}

static void match_scalar(struct emitter *e, const struct ptx_operand *mask, enum ptx_type type, const struct ptx_operand *d,
			 const struct ptx_operand *p)
{
	LLVMValueRef words = lane_words(e), own = arg_uniform(e, operand(e, 1), type);
	LLVMValueRef here = exchange(e, mask, own, words), wide = LLVMBuildZExt(e->b, own, i64_type(e), "");
	LLVMValueRef equal = LLVMBuildICmp(e->b, LLVMIntEQ, words_vector(e, words), splat32(e, wide), "");
	equal = and_(e, pack_bits(e, equal), here);
	LLVMValueRef all = icmp_(e, LLVMIntEQ, equal, here);
	set_value_uniform(e, d, has(e, MOD_all) ? select_(e, all, here, i32_constant(e, 0)) : equal);
	if (p)
		set_value_uniform(e, p, all);
}

void emit_match(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *result = operand(e, 0), *mask = member_mask(e, in);
	const struct ptx_operand *d = result->kind == PTX_OP_PAIR ? &result->parts[0] : result;
	const struct ptx_operand *p = result->kind == PTX_OP_PAIR ? &result->parts[1] : NULL;
	enum ptx_type type = ptx_type_bits(form_type(in)) == 64 ? PTX_B64 : PTX_B32;
	LLVMValueRef values[MAX_CHUNKS], here = mask_bits(e), equal[32];
	if (e->lanes == 1) {
		match_scalar(e, mask, type, d, p);
		return;
	}
	for (unsigned c = 0; c < e->chunks; c++)
		values[c] = arg_chunk(e, operand(e, 1), type, c);
	if (has(e, MOD_all) && operand_is_uniform(e, mask)) {
		LLVMValueRef same = equal_lanes(e, values, group_scalar(e, operand(e, 1), type)), all = icmp_(e, LLVMIntEQ, same, here);
		set_value_uniform(e, d, select_(e, all, here, i32_constant(e, 0)));
		if (p)
			set_value_uniform(e, p, all);
		return;
	}
	for (unsigned i = 0; i < e->lanes; i++) {
		LLVMValueRef one = LLVMBuildExtractElement(e->b, values[i / e->width], i32_constant(e, i % e->width), "");
		equal[i] = equal_lanes(e, values, one);
	}
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		LLVMValueRef found = undef_piece(e, i32_type(e)), members = arg_chunk(e, mask, PTX_U32, c), all;
		for (unsigned i = 0; i < e->width; i++)
			found = lane_put(e, found, equal[c * e->width + i], i);
		LLVMValueRef among = operand_is_uniform(e, mask) ? splat(e, here) : and_(e, splat(e, here), members);
		found = and_(e, found, among);
		all = icmp_(e, LLVMIntEQ, found, among);
		if (has(e, MOD_all))
			found = select_(e, all, among, kbits(e, 32, 0));
		group_leave(e, place);
		set_value_chunk(e, d, found, c);
		if (p)
			set_value_chunk(e, p, all, c);
	}
}

/* ---- redux ------------------------------------------------------------------------------------------------------- */

static LLVMValueRef reduce_two(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
	bool is_signed = has(e, MOD_s32);
	if (has(e, MOD_f32)) {
		a = as_type(e, a, PTX_F32);
		b = as_type(e, b, PTX_F32);
		return as_int(e, float_min_max(e, a, b, has(e, MOD_max), has(e, MOD_NaN)));
	}
	if (has(e, MOD_add))
		return add_(e, a, b);
	if (has(e, MOD_and))
		return and_(e, a, b);
	if (has(e, MOD_or))
		return or_(e, a, b);
	if (has(e, MOD_xor))
		return xor_(e, a, b);
	if (has(e, MOD_min))
		return intrinsic2(e, is_signed ? "llvm.smin" : "llvm.umin", a, b);
	return intrinsic2(e, is_signed ? "llvm.smax" : "llvm.umax", a, b);
}

static uint32_t identity(struct emitter *e)
{
	if (has(e, MOD_f32)) /* a NaN, which numbers beat; with .NaN the other end of the numbers */
		return !has(e, MOD_NaN) ? 0x7fffffff : has(e, MOD_max) ? 0xff800000 : 0x7f800000;
	if (has(e, MOD_and))
		return UINT32_MAX;
	if (has(e, MOD_min))
		return has(e, MOD_s32) ? INT32_MAX : UINT32_MAX;
	return has(e, MOD_max) && has(e, MOD_s32) ? UINT32_C(0x80000000) : 0;
}

/* All lanes of a vector of `count` into one scalar. */
static LLVMValueRef reduce_vector(struct emitter *e, LLVMValueRef v, unsigned count)
{
	LLVMValueRef low[16], high[16];
	unsigned w = e->w;
	for (; count > 1; count /= 2) {
		for (unsigned i = 0; i < count / 2; i++) {
			low[i] = i32_constant(e, i);
			high[i] = i32_constant(e, i + count / 2);
		}
		LLVMValueRef undef = LLVMGetUndef(LLVMTypeOf(v));
		LLVMValueRef a = LLVMBuildShuffleVector(e->b, v, undef, LLVMConstVector(low, count / 2), "");
		LLVMValueRef b = LLVMBuildShuffleVector(e->b, v, undef, LLVMConstVector(high, count / 2), "");
		e->w = count / 2;
		if (e->w == 1) {
			a = LLVMBuildExtractElement(e->b, a, i32_constant(e, 0), "");
			b = LLVMBuildExtractElement(e->b, b, i32_constant(e, 0), "");
		}
		v = reduce_two(e, a, b);
	}
	e->w = w;
	return v;
}

/* Of scalar bits: the GPU's NaN for any. */
static LLVMValueRef one_nan(struct emitter *e, LLVMValueRef bits)
{
	if (!has(e, MOD_f32))
		return bits;
	LLVMValueRef v = LLVMBuildBitCast(e->b, bits, LLVMFloatTypeInContext(e->context), "");
	LLVMValueRef nan = LLVMBuildFCmp(e->b, LLVMRealUNO, v, v, "");
	return LLVMBuildSelect(e->b, nan, i32_constant(e, 0x7fffffff), bits, "");
}

/* Over the lanes of `members` (i32) that are here; NULL: all that are here. */
static LLVMValueRef reduce_group(struct emitter *e, LLVMValueRef const *values, LLVMValueRef members)
{
	LLVMValueRef all = NULL;
	unsigned w = e->w;
	e->w = e->width;
	for (unsigned c = 0; c < e->chunks; c++) {
		LLVMValueRef mask = mask_chunk(e, c);
		if (members)
			mask = and_(e, mask, mask_of_bits(e, members, c));
		LLVMValueRef v = LLVMBuildSelect(e->b, mask, values[c], kbits(e, 32, identity(e)), "");
		all = all ? reduce_two(e, all, v) : v;
	}
	e->w = w;
	return one_nan(e, reduce_vector(e, all, e->width));
}

/* .abs is taken of the operands. */
static LLVMValueRef prepared(struct emitter *e, LLVMValueRef v)
{
	return has(e, MOD_abs) ? and_(e, v, kbits(e, 32, 0x7fffffff)) : v;
}

static void redux_scalar(struct emitter *e, const struct ptx_operand *mask)
{
	LLVMValueRef words = lane_words(e), own = prepared(e, arg_uniform(e, operand(e, 1), PTX_B32));
	LLVMValueRef here = exchange(e, mask, own, words), all = NULL;
	for (unsigned i = 0; i < 32; i++) {
		LLVMValueRef index = i32_constant(e, i), word = LLVMBuildLoad2(e->b, i64_type(e), LLVMBuildGEP2(e->b, i64_type(e), words, &index, 1, ""), "");
		LLVMValueRef there = LLVMBuildTrunc(e->b, lshr_(e, here, index), LLVMInt1TypeInContext(e->context), "");
		word = select_(e, there, resize(e, word, 32, false), i32_constant(e, identity(e)));
		all = all ? reduce_two(e, all, word) : word;
	}
	set_value_uniform(e, operand(e, 0), one_nan(e, all));
}

void emit_redux(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *d = operand(e, 0), *mask = member_mask(e, in);
	LLVMValueRef values[MAX_CHUNKS];
	if (e->lanes == 1) {
		redux_scalar(e, mask);
		return;
	}
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		values[c] = prepared(e, arg_chunk(e, operand(e, 1), PTX_B32, c));
		group_leave(e, place);
	}
	if (operand_is_uniform(e, mask)) {
		set_value_uniform(e, d, reduce_group(e, values, NULL));
		return;
	}
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		LLVMValueRef r = undef_piece(e, i32_type(e)), members = arg_chunk(e, mask, PTX_U32, c);
		for (unsigned i = 0; i < e->width; i++)
			r = lane_put(e, r, reduce_group(e, values, lane_get(e, members, i)), i);
		group_leave(e, place);
		set_value_chunk(e, d, r, c);
	}
}
