/* Atomic operations: PTX ISA 9.7.13.5 and 9.7.13.6 (atom, red).
 *
 * A block's threads run on one thread of the host, so for its shared memory a plain load, operation and store is atomic. Elsewhere
 * it is the machine's atomic operation, or a compare-and-swap loop where it has none; lanes go one after the other. When
 * all lanes add to one address, their sum is made in registers first. */
#include "codegen/atomic.h"

#include "codegen/arith.h"
#include "codegen/group.h"
#include "codegen/memory.h"
#include "isa_emit.h"

enum operation atomic_operation(struct emitter *e)
{
	static const struct {
		enum ptx_mod mod;
		enum operation operation;
	} names[] = {
		{ MOD_add, OPERATION_ADD }, { MOD_min, OPERATION_MIN }, { MOD_max, OPERATION_MAX }, { MOD_and, OPERATION_AND },
		{ MOD_or, OPERATION_OR }, { MOD_xor, OPERATION_XOR }, { MOD_exch, OPERATION_EXCH }, { MOD_cas, OPERATION_CAS },
		{ MOD_inc, OPERATION_INC },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (has(e, names[i].mod))
			return names[i].operation;
	return OPERATION_DEC;
}

static LLVMAtomicOrdering ordering_of(struct emitter *e)
{
	if (has(e, MOD_acq_rel))
		return LLVMAtomicOrderingAcquireRelease;
	if (has(e, MOD_acquire))
		return LLVMAtomicOrderingAcquire;
	return has(e, MOD_release) ? LLVMAtomicOrderingRelease : LLVMAtomicOrderingMonotonic;
}

/* ---- what is stored ------------------------------------------------------------------------------------------ */

static LLVMValueRef float_update(struct emitter *e, const struct atomic *a, LLVMValueRef old, LLVMValueRef b)
{
	enum ptx_type type = a->type;
	bool is_max = a->operation == OPERATION_MAX, packed = type == PTX_F16X2 || type == PTX_BF16X2;
	if (packed)
		packed_open(e, 2);
	bool bf16 = type == PTX_BF16 || type == PTX_BF16X2;
	enum ptx_type lane = bf16 ? PTX_BF16 : packed ? PTX_F16 : type;
	LLVMValueRef x = as_lanes(e, old, lane_type(e, lane)), y = as_lanes(e, b, lane_type(e, lane)), r;
	if (bf16 && a->operation == OPERATION_ADD)
		r = bf16_fma(e, x, kbits(e, 16, 0x3f80), y);
	else if (bf16)
		r = float_to_bf16(e, float_min_max(e, bf16_to_float(e, x), bf16_to_float(e, y), is_max, false), ROUND_ZERO);
	else if (a->operation == OPERATION_ADD)
		r = flush_if(e, a->flushes, fadd_(e, flush_if(e, a->flushes, x), flush_if(e, a->flushes, y)));
	else
		r = float_min_max(e, x, y, is_max, false);
	r = as_int(e, bf16 ? r : canonical_nan(e, r));
	if (packed)
		packed_close(e, 2);
	return as_lanes(e, r, a->lane);
}

/* The new value, given the old one and the operands; pieces of e->w lanes. */
static LLVMValueRef update(struct emitter *e, const struct atomic *a, LLVMValueRef old, LLVMValueRef b, LLVMValueRef c)
{
	bool is_signed = type_is_signed(a->type);
	LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(old));
	LLVMValueRef one = kbits(e, lane_bits(old), 1);
	if (type_is_float(a->type))
		return float_update(e, a, old, b);
	switch (a->operation) {
	case OPERATION_ADD:
		return add_(e, old, b);
	case OPERATION_MIN:
		return intrinsic2(e, is_signed ? "llvm.smin" : "llvm.umin", old, b);
	case OPERATION_MAX:
		return intrinsic2(e, is_signed ? "llvm.smax" : "llvm.umax", old, b);
	case OPERATION_AND:
		return and_(e, old, b);
	case OPERATION_OR:
		return or_(e, old, b);
	case OPERATION_XOR:
		return xor_(e, old, b);
	case OPERATION_EXCH:
		return b;
	case OPERATION_CAS:
		return select_(e, icmp_(e, LLVMIntEQ, old, b), c, old);
	case OPERATION_INC:
		return select_(e, icmp_(e, LLVMIntUGE, old, b), zero, add_(e, old, one));
	default:
		return select_(e, or_(e, icmp_(e, LLVMIntEQ, old, zero), icmp_(e, LLVMIntUGT, old, b)), b, sub_(e, old, one));
	}
}

/* ---- one lane -------------------------------------------------------------------------------------------------- */

static bool machine_operation(const struct atomic *a, LLVMAtomicRMWBinOp *op)
{
	bool is_signed = type_is_signed(a->type);
	if (type_is_float(a->type))
		return false;
	switch (a->operation) {
	case OPERATION_ADD:
		*op = LLVMAtomicRMWBinOpAdd;
		return true;
	case OPERATION_MIN:
		*op = is_signed ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
		return true;
	case OPERATION_MAX:
		*op = is_signed ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
		return true;
	case OPERATION_AND:
		*op = LLVMAtomicRMWBinOpAnd;
		return true;
	case OPERATION_OR:
		*op = LLVMAtomicRMWBinOpOr;
		return true;
	case OPERATION_XOR:
		*op = LLVMAtomicRMWBinOpXor;
		return true;
	case OPERATION_EXCH:
		*op = LLVMAtomicRMWBinOpXchg;
		return true;
	default:
		return false;
	}
}

static LLVMAtomicOrdering failure_ordering(LLVMAtomicOrdering ordering)
{
	bool acquires = ordering == LLVMAtomicOrderingAcquire || ordering == LLVMAtomicOrderingAcquireRelease;
	return acquires ? LLVMAtomicOrderingAcquire : LLVMAtomicOrderingMonotonic;
}

/* Scalar; returns what was there. */
static LLVMValueRef compare_and_swap(struct emitter *e, const struct atomic *a, LLVMValueRef pointer, LLVMValueRef expected,
				     LLVMValueRef desired, LLVMValueRef *success)
{
	if (e->target->hooks) {
		LLVMValueRef seen = e->target->hooks->compare_and_swap(e, pointer, expected, desired, a->ordering, a->scope);
		*success = LLVMBuildICmp(e->b, LLVMIntEQ, seen, expected, "");
		return seen;
	}
	LLVMValueRef pair = LLVMBuildAtomicCmpXchg(e->b, pointer, expected, desired, a->ordering, failure_ordering(a->ordering), false);
	LLVMSetAlignment(pair, ptx_type_bits(a->type) / 8);
	*success = LLVMBuildExtractValue(e->b, pair, 1, "");
	return LLVMBuildExtractValue(e->b, pair, 0, "");
}

static LLVMValueRef update_loop(struct emitter *e, const struct atomic *a, LLVMValueRef pointer, LLVMValueRef b, LLVMValueRef c)
{
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = new_block(e, "retry"), done = new_block(e, "swapped");
	LLVMValueRef first = LLVMBuildLoad2(e->b, a->lane, pointer, ""), success, seen;
	LLVMSetVolatile(first, true);
	LLVMBuildBr(e->b, loop);
	LLVMPositionBuilderAtEnd(e->b, loop);
	LLVMValueRef old = LLVMBuildPhi(e->b, a->lane, "");
	seen = compare_and_swap(e, a, pointer, old, update(e, a, old, b, c), &success);
	LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b);
	LLVMAddIncoming(old, &first, &before, 1);
	LLVMAddIncoming(old, &seen, &end, 1);
	LLVMBuildCondBr(e->b, success, done, loop);
	LLVMPositionBuilderAtEnd(e->b, done);
	return seen;
}

LLVMValueRef atomic_scalar(struct emitter *e, const struct atomic *a, LLVMValueRef pointer, LLVMValueRef b, LLVMValueRef c)
{
	LLVMAtomicRMWBinOp op;
	LLVMValueRef old, success;
	unsigned bytes = ptx_type_bits(a->type) / 8;
	if (a->shared) {
		old = LLVMBuildLoad2(e->b, a->lane, pointer, "");
		LLVMSetAlignment(old, bytes);
		LLVMSetAlignment(LLVMBuildStore(e->b, update(e, a, old, b, c), pointer), bytes);
		return old;
	}
	if (e->target->hooks && bytes > 8)
		return e->target->hooks->wide(e, pointer, c ? b : NULL, c ? c : b, a->scope);
	if (machine_operation(a, &op)) {
		if (e->target->hooks)
			return e->target->hooks->atomic(e, op, pointer, b, a->ordering, a->scope);
		old = LLVMBuildAtomicRMW(e->b, op, pointer, b, a->ordering, false);
		LLVMSetAlignment(old, bytes);
		return old;
	}
	if (a->operation == OPERATION_CAS)
		return compare_and_swap(e, a, pointer, b, c, &success);
	return update_loop(e, a, pointer, b, c);
}

static void atomic_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct atomic *a = data;
	LLVMValueRef b = lane_get(e, a->b, lane), c = a->c ? lane_get(e, a->c, lane) : NULL;
	LLVMValueRef pointer = lane_pointer(e, a->address, lane), mask = e->mask;
	unsigned w = e->w;
	e->w = 1;
	e->mask = NULL;
	LLVMValueRef old = atomic_scalar(e, a, pointer, b, c);
	e->w = w;
	e->mask = mask;
	if (!a->slot)
		return;
	LLVMValueRef index = LLVMConstInt(LLVMInt32TypeInContext(e->context), lane, false);
	LLVMBuildStore(e->b, old, LLVMBuildGEP2(e->b, a->lane, a->slot, &index, 1, ""));
}

/* ---- all lanes at one address ------------------------------------------------------------------------------------ */

static LLVMValueRef rotate_up(struct emitter *e, LLVMValueRef v, unsigned by)
{
	LLVMValueRef order[MAX_WIDTH];
	for (unsigned i = 0; i < e->w; i++)
		order[i] = LLVMConstInt(LLVMInt32TypeInContext(e->context), i < by ? e->w : i - by, false);
	return LLVMBuildShuffleVector(e->b, v, LLVMConstNull(LLVMTypeOf(v)), LLVMConstVector(order, e->w), "");
}

/* Integer sums may be added in any order: one addition of them all; each lane's old value follows from a running sum. */
static LLVMValueRef add_together(struct emitter *e, const struct atomic *a)
{
	LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a->b)), values = e->mask ? select_(e, e->mask, a->b, zero) : a->b, sum = values;
	LLVMBasicBlockRef some = NULL, none = NULL, done = NULL;
	for (unsigned by = 1; by < e->w; by *= 2)
		sum = add_(e, sum, rotate_up(e, sum, by));
	LLVMValueRef total = lane_get(e, sum, e->w - 1);
	if (e->mask) {
		none = LLVMGetInsertBlock(e->b);
		some = new_block(e, "some");
		done = new_block(e, "added");
		LLVMBuildCondBr(e->b, any_lane(e, e->mask), some, done);
		LLVMPositionBuilderAtEnd(e->b, some);
	}
	LLVMValueRef old = LLVMBuildAtomicRMW(e->b, LLVMAtomicRMWBinOpAdd, a->address.pointer, total, a->ordering, false);
	LLVMSetAlignment(old, ptx_type_bits(a->type) / 8);
	if (e->mask) {
		LLVMBuildBr(e->b, done);
		LLVMPositionBuilderAtEnd(e->b, done);
		LLVMValueRef incoming[] = { old, LLVMConstNull(a->lane) };
		LLVMBasicBlockRef from[] = { some, none };
		old = LLVMBuildPhi(e->b, a->lane, "");
		LLVMAddIncoming(old, incoming, from, 2);
	}
	return add_(e, splat(e, old), sub_(e, sum, values));
}

/* ---- the opcodes --------------------------------------------------------------------------------------------------- */

/* One lane after the other. In shared memory, where an operation takes less time than a branch, there are none as long as all lanes take part. */
static void each_lane(struct emitter *e, struct atomic *a)
{
	LLVMValueRef mask = e->mask;
	if (!mask || e->w == 1 || !a->shared) {
		for_each_active_lane(e, atomic_lane, a);
		return;
	}
	LLVMBasicBlockRef whole = new_block(e, "whole"), part = new_block(e, "part"), after = new_block(e, "after");
	LLVMBuildCondBr(e->b, all_lanes(e, mask), whole, part);
	LLVMPositionBuilderAtEnd(e->b, whole);
	e->mask = NULL;
	for_each_active_lane(e, atomic_lane, a);
	e->mask = mask;
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, part);
	for_each_active_lane(e, atomic_lane, a);
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, after);
}

/* Old values as a piece, where they are wanted. */
static LLVMValueRef run_atomic(struct emitter *e, struct atomic *a)
{
	bool together = e->w > 1 && !a->shared && a->operation == OPERATION_ADD && !type_is_float(a->type);
	if (together && a->address.kind == ADDRESS_ONE)
		return add_together(e, a);
	a->slot = a->returns ? lane_words(e) : NULL;
	each_lane(e, a);
	if (!a->slot)
		return NULL;
	LLVMValueRef old = LLVMBuildLoad2(e->b, piece_of(e, a->lane), a->slot, "");
	LLVMSetAlignment(old, 8);
	return old;
}

static enum ptx_type bits_of(enum ptx_type type)
{
	switch (ptx_type_bits(type)) {
	case 16:
		return PTX_B16;
	case 32:
		return PTX_B32;
	case 64:
		return PTX_B64;
	default:
		return PTX_B128;
	}
}

static LLVMValueRef atomic_operand(struct emitter *e, const struct ptx_operand *op, enum ptx_type type)
{
	if (op->kind == PTX_OP_FLOAT)
		return as_int(e, value_of(e, op, type));
	return value_of(e, op, bits_of(type));
}

/* Programs compiled without care ask for old values that nobody reads. */
static bool is_read(struct emitter *e, const struct ptx_operand *d)
{
	for (unsigned i = 0; d->kind == PTX_OP_REGISTER && i < e->inst->def_count; i++)
		if (e->inst->defs[i].operand == d)
			return e->ir->values.data[e->inst->defs[i].value].uses;
	return d->kind != PTX_OP_SINK;
}

/* Operands from `at` on are [a], b and for cas c; d is before them where the old value is returned. */
static void emit_atomic(struct emitter *e, const struct ptx_instruction *in, unsigned at)
{
	const struct ptx_operand *b = operand(e, at + 1), *d = at ? operand(e, 0) : NULL;
	enum ptx_space space = in->form->space;
	struct atomic a = { .operation = atomic_operation(e), .type = form_type(in), .ordering = ordering_of(e), .returns = d && is_read(e, d) };
	unsigned count = b->kind == PTX_OP_VECTOR ? b->part_count : 1, bytes = ptx_type_bits(a.type) / 8;
	a.shared = space == PTX_SPACE_SHARED && !e->target->hooks;
	a.scope = named_scope(e);
	a.flushes = a.type == PTX_F32 && space != PTX_SPACE_SHARED;
	a.lane = lane_type(e, bits_of(a.type));
	a.address = emit_address(e, operand(e, at), space, bytes * count);
	for (unsigned i = 0; i < count; i++) {
		struct atomic element = a;
		element.address = address_plus(e, a.address, (int64_t)i * bytes);
		element.b = atomic_operand(e, b->kind == PTX_OP_VECTOR ? &b->parts[i] : b, a.type);
		if (a.operation == OPERATION_CAS)
			element.c = atomic_operand(e, operand(e, at + 2), a.type);
		LLVMValueRef old = run_atomic(e, &element);
		const struct ptx_operand *to = d && d->kind == PTX_OP_VECTOR ? &d->parts[i] : d;
		if (a.returns && to->kind != PTX_OP_SINK)
			set_value(e, to, old);
	}
}

void emit_atom(struct emitter *e, const struct ptx_instruction *in)
{
	emit_atomic(e, in, 1);
}

void emit_red(struct emitter *e, const struct ptx_instruction *in)
{
	emit_atomic(e, in, 0);
}
