/* mbarrier: PTX ISA 9.7.13.15. Arrivals are counted as they happen; a copy that the object waits for has been made by the time it is
 * issued. Waiting lets the other warps and blocks run once before it says no. */
#include "codegen/mbarrier.h"

#include <stddef.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/group.h"
#include "codegen/memory.h"
#include "isa_emit.h"

enum { COUNT_BITS = 20, TX_BITS = 21, EXPECTED_SHIFT = 20, TX_SHIFT = 40, PHASE_SHIFT = 61 };

static LLVMTypeRef i64_type(struct emitter *e)
{
	return LLVMInt64TypeInContext(e->context);
}

static LLVMValueRef k64(struct emitter *e, uint64_t value)
{
	return LLVMConstInt(i64_type(e), value, false);
}

static LLVMValueRef field(struct emitter *e, LLVMValueRef object, unsigned shift, unsigned bits)
{
	return and_(e, lshr_(e, object, k64(e, shift)), k64(e, (UINT64_C(1) << bits) - 1));
}

/* The phase ends when no arrivals and no bytes are pending. */
static LLVMValueRef changed(struct emitter *e, LLVMValueRef old, struct mbarrier_change change)
{
	LLVMValueRef zero = k64(e, 0), pending = field(e, old, 0, COUNT_BITS), expected = field(e, old, EXPECTED_SHIFT, COUNT_BITS);
	LLVMValueRef bytes = field(e, old, TX_SHIFT, TX_BITS), phase = lshr_(e, old, k64(e, PHASE_SHIFT));
	LLVMValueRef tx_mask = k64(e, (1u << TX_BITS) - 1);
	pending = change.arrivals ? sub_(e, pending, change.arrivals) : pending;
	expected = change.dropped ? sub_(e, expected, change.dropped) : expected;
	bytes = change.bytes ? and_(e, add_(e, bytes, change.bytes), tx_mask) : bytes;
	LLVMValueRef complete = icmp_(e, LLVMIntEQ, or_(e, pending, bytes), zero);
	pending = LLVMBuildSelect(e->b, complete, expected, pending, "");
	phase = add_(e, phase, LLVMBuildZExt(e->b, complete, i64_type(e), ""));
	LLVMValueRef r = or_(e, pending, shl_(e, expected, k64(e, EXPECTED_SHIFT)));
	return or_(e, r, or_(e, shl_(e, bytes, k64(e, TX_SHIFT)), shl_(e, phase, k64(e, PHASE_SHIFT))));
}

static LLVMValueRef update_atomically(struct emitter *e, LLVMValueRef pointer, LLVMValueRef first, struct mbarrier_change change)
{
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), retry = new_block(e, "retry"), done = new_block(e, "done");
	LLVMBuildBr(e->b, retry);
	LLVMPositionBuilderAtEnd(e->b, retry);
	LLVMValueRef old = LLVMBuildPhi(e->b, i64_type(e), ""), next = changed(e, old, change), pair, seen;
	if (e->target->hooks) {
		seen = e->target->hooks->compare_and_swap(e, pointer, old, next, LLVMAtomicOrderingAcquireRelease, SCOPE_DEVICE);
	} else {
		pair = LLVMBuildAtomicCmpXchg(e->b, pointer, old, next, LLVMAtomicOrderingAcquireRelease, LLVMAtomicOrderingAcquire, false);
		seen = LLVMBuildExtractValue(e->b, pair, 0, "");
	}
	LLVMAddIncoming(old, &first, &before, 1);
	LLVMAddIncoming(old, &seen, &retry, 1);
	LLVMBuildCondBr(e->b, icmp_(e, LLVMIntEQ, seen, old), done, retry);
	LLVMPositionBuilderAtEnd(e->b, done);
	return seen;
}

LLVMValueRef mbarrier_update(struct emitter *e, LLVMValueRef pointer, struct mbarrier_change change, bool remote)
{
	LLVMValueRef old = LLVMBuildLoad2(e->b, i64_type(e), pointer, "");
	LLVMSetVolatile(old, true);
	if (remote || e->target->hooks)
		return update_atomically(e, pointer, old, change);
	LLVMSetVolatile(LLVMBuildStore(e->b, changed(e, old, change), pointer), true);
	return old;
}

void mbarrier_complete(struct emitter *e, LLVMValueRef pointer, LLVMValueRef bytes, bool remote)
{
	mbarrier_update(e, pointer, (struct mbarrier_change){ .bytes = LLVMBuildNeg(e->b, bytes, "") }, remote);
}

/* ---- the operations -------------------------------------------------------------------------------------------- */

struct lane_operation {
	struct address address;
	LLVMValueRef count; /* i32 piece, or NULL for 1 */
	LLVMValueRef slot;  /* where old states go, one i64 a lane; NULL */
	bool remote;
};

static LLVMValueRef lane_count(struct emitter *e, const struct lane_operation *o, unsigned lane)
{
	return o->count ? LLVMBuildZExt(e->b, lane_get(e, o->count, lane), i64_type(e), "") : k64(e, 1);
}

static void arrive_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct lane_operation *o = data;
	LLVMValueRef count = lane_count(e, o, lane), old;
	struct mbarrier_change change = { .arrivals = count };
	if (has(e, MOD_expect_tx))
		change = (struct mbarrier_change){ .arrivals = k64(e, 1), .bytes = count };
	if (has(e, MOD_arrive_drop))
		change.dropped = change.arrivals;
	old = mbarrier_update(e, lane_pointer(e, o->address, lane), change, o->remote);
	if (!o->slot)
		return;
	LLVMValueRef index = LLVMConstInt(LLVMInt32TypeInContext(e->context), lane, false);
	LLVMBuildStore(e->b, old, LLVMBuildGEP2(e->b, i64_type(e), o->slot, &index, 1, ""));
}

static void init_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct lane_operation *o = data;
	LLVMValueRef count = lane_count(e, o, lane), object = or_(e, count, shl_(e, count, k64(e, EXPECTED_SHIFT)));
	LLVMSetVolatile(LLVMBuildStore(e->b, object, lane_pointer(e, o->address, lane)), true);
}

/* expect_tx and complete_tx alone. */
static void bytes_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct lane_operation *o = data;
	LLVMValueRef bytes = lane_count(e, o, lane);
	if (has(e, MOD_complete_tx))
		bytes = LLVMBuildNeg(e->b, bytes, "");
	mbarrier_update(e, lane_pointer(e, o->address, lane), (struct mbarrier_change){ .bytes = bytes }, o->remote);
}

static struct lane_operation operation_at(struct emitter *e, const struct ptx_instruction *in, unsigned address)
{
	const struct ptx_operand *count = operand(e, address + 1);
	struct lane_operation o = { .address = emit_address(e, operand(e, address), in->form->space, 8) };
	o.count = count ? arg_typed(e, address + 1, PTX_U32) : NULL;
	o.remote = in->form->space == PTX_SPACE_SHARED_CLUSTER || in->form->space == PTX_SPACE_GENERIC;
	return o;
}

static void emit_arrive(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *d = operand(e, 0);
	struct lane_operation o = operation_at(e, in, 1);
	o.slot = d->kind == PTX_OP_SINK ? NULL : lane_words(e);
	for_each_active_lane(e, arrive_lane, &o);
	if (!o.slot)
		return;
	LLVMValueRef old = LLVMBuildLoad2(e->b, piece_of(e, i64_type(e)), o.slot, "");
	LLVMSetAlignment(old, 8);
	set_value(e, d, old);
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

/* Has the phase that the state (or parity) stands for ended? */
static LLVMValueRef phase_ended(struct emitter *e, struct address address)
{
	LLVMValueRef object = load_lanes(e, address, i64_type(e), true), phase = lshr_(e, object, kbits(e, 64, PHASE_SHIFT)), waited;
	if (!has(e, MOD_parity))
		waited = lshr_(e, arg_typed(e, 2, PTX_B64), kbits(e, 64, PHASE_SHIFT));
	else
		waited = resize(e, arg_typed(e, 2, PTX_U32), 64, false);
	LLVMValueRef differ = and_(e, xor_(e, phase, waited), kbits(e, 64, has(e, MOD_parity) ? 1 : 7));
	return icmp_(e, LLVMIntNE, differ, kbits(e, 64, 0));
}

static void yield_once(struct emitter *e)
{
	LLVMTypeRef types[] = { LLVMInt32TypeInContext(e->context) };
	call_service(e, offsetof(struct cpu_services, yield), LLVMVoidTypeInContext(e->context), types, &e->first_thread, 1);
}

static void emit_wait(struct emitter *e, const struct ptx_instruction *in)
{
	struct address address = emit_address(e, operand(e, 1), in->form->space, 8);
	LLVMValueRef ended = phase_ended(e, address), waits = not_(e, ended), again;
	LLVMBasicBlockRef before, others = new_block(e, "others"), done = new_block(e, "waited"), after;
	before = LLVMGetInsertBlock(e->b);
	waits = e->mask ? and_(e, waits, e->mask) : waits;
	LLVMBuildCondBr(e->b, any_lane(e, waits), others, done);
	LLVMPositionBuilderAtEnd(e->b, others);
	yield_once(e);
	again = phase_ended(e, address);
	after = LLVMGetInsertBlock(e->b);
	LLVMBuildBr(e->b, done);
	LLVMPositionBuilderAtEnd(e->b, done);
	LLVMValueRef phi = LLVMBuildPhi(e->b, LLVMTypeOf(ended), ""), values[] = { ended, again };
	LLVMBasicBlockRef from[] = { before, after };
	LLVMAddIncoming(phi, values, from, 2);
	if (!has(e, MOD_relaxed))
		emit_memory_fence(e, LLVMAtomicOrderingAcquire, false);
	set_result(e, 0, phi);
}

void emit_mbarrier(struct emitter *e, const struct ptx_instruction *in)
{
	struct lane_operation o;
	if (has(e, MOD_arrive) || has(e, MOD_arrive_drop)) {
		emit_arrive(e, in);
	} else if (has(e, MOD_test_wait) || has(e, MOD_try_wait)) {
		emit_wait(e, in);
	} else if (has(e, MOD_pending_count)) {
		LLVMValueRef pending = and_(e, arg_typed(e, 1, PTX_B64), kbits(e, 64, (1u << COUNT_BITS) - 1));
		set_result(e, 0, resize(e, pending, 32, false));
	} else if (!has(e, MOD_inval)) { /* invalid memory is memory like any other */
		o = operation_at(e, in, 0);
		for_each_active_lane(e, has(e, MOD_init) ? init_lane : bytes_lane, &o);
	}
}

/* All copies issued before are made. Without .noinc the arrival was added to what is pending first: together, nothing. */
void emit_cp_async_mbarrier(struct emitter *e, const struct ptx_instruction *in)
{
	struct lane_operation o = { .address = emit_address(e, operand(e, 0), in->form->space, 8) };
	o.remote = in->form->space == PTX_SPACE_GENERIC;
	if (has(e, MOD_noinc))
		for_each_active_lane(e, arrive_lane, &o);
}
