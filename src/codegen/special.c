/* Special registers: PTX ISA chapter 10. Each is a field of the launch or the block, a service, or arithmetic on the number of
 * the thread in its block. With a block shape known at compile time thread indices cost an add, or divisions by constants. */
#include <stddef.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/memory.h"

#define BLOCK_U32(e, field) splat(e, block_field(e, LLVMInt32TypeInContext((e)->context), offsetof(struct cpu_block, field)))
#define LAUNCH_U32(e, field) splat(e, launch_field(e, LLVMInt32TypeInContext((e)->context), offsetof(struct cpu_launch, field)))

static LLVMValueRef u32(struct emitter *e, uint32_t value)
{
	return kbits(e, 32, value);
}

static LLVMValueRef block_u32(struct emitter *e, size_t offset, unsigned axis)
{
	return splat(e, block_field(e, LLVMInt32TypeInContext(e->context), offset + 4 * axis));
}

static LLVMValueRef launch_u32(struct emitter *e, size_t offset, unsigned axis)
{
	return splat(e, launch_field(e, LLVMInt32TypeInContext(e->context), offset + 4 * axis));
}

static LLVMValueRef block_size(struct emitter *e, unsigned axis)
{
	const uint32_t *block = e->ir->options.block;
	return block[0] ? u32(e, block[axis]) : block_u32(e, offsetof(struct cpu_block, block), axis);
}

static LLVMValueRef quotient(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool remainder)
{
	LLVMValueRef lane;
	if (e->w > 1 && !constant_lanes(b, &lane))
		return integer_divide(e, a, b, false, remainder); /* no machine divides integer vectors */
	return remainder ? LLVMBuildURem(e->b, a, b, "") : LLVMBuildUDiv(e->b, a, b, "");
}

/* Where a piece begins, along an axis, in scalar code, if its threads lie in one row. A group begins with a row, or rows with groups: how far
 * into its row a chunk lies is then known, and that rows of the group have the same columns is seen in the code. */
static LLVMValueRef row_begin(struct emitter *e, unsigned axis)
{
	const uint32_t *block = e->ir->options.block;
	unsigned at = e->piece == PIECE_CHUNK || e->piece == PIECE_BASE ? e->chunk * e->width : 0;
	LLVMValueRef thread = e->first_thread, row;
	if (e->lanes % block[0] == 0) {
		if (axis == 0)
			return u32(e, at % block[0]);
		row = add_(e, LLVMBuildUDiv(e->b, thread, u32(e, block[0]), ""), u32(e, at / block[0]));
	} else if (block[0] % e->lanes == 0) {
		if (axis == 0)
			return add_(e, LLVMBuildURem(e->b, thread, u32(e, block[0]), ""), u32(e, at));
		row = LLVMBuildUDiv(e->b, thread, u32(e, block[0]), "");
	} else {
		thread = add_(e, thread, u32(e, at));
		if (axis == 0)
			return LLVMBuildURem(e->b, thread, u32(e, block[0]), "");
		row = LLVMBuildUDiv(e->b, thread, u32(e, block[0]), "");
	}
	if (axis == 2)
		return LLVMBuildUDiv(e->b, row, u32(e, block[1]), "");
	return block[2] == 1 ? row : LLVMBuildURem(e->b, row, u32(e, block[1]), "");
}

static LLVMValueRef row_index(struct emitter *e, unsigned axis)
{
	unsigned lanes = e->w;
	LLVMValueRef lane_numbers[MAX_WIDTH], r;
	e->w = 1;
	r = row_begin(e, axis);
	e->w = lanes;
	if (lanes == 1)
		return r;
	for (unsigned i = 0; i < lanes; i++)
		lane_numbers[i] = LLVMConstInt(LLVMInt32TypeInContext(e->context), i, false);
	return axis == 0 ? add_(e, splat(e, r), LLVMConstVector(lane_numbers, lanes)) : splat(e, r);
}

static LLVMValueRef thread_axis(struct emitter *e, unsigned axis)
{
	const uint32_t *block = e->ir->options.block;
	if (e->target->hooks)
		return e->target->hooks->thread_axis(e, axis);
	LLVMValueRef thread = thread_index(e), x = block_size(e, 0), y = block_size(e, 1);
	if (block[0] && block[axis] == 1)
		return u32(e, 0);
	if (block[0] && block[1] == 1 && block[2] == 1)
		return thread;
	if (e->lanes > 1 && block[0] && block[0] % e->width == 0)
		return row_index(e, axis);
	if (axis == 0)
		return quotient(e, thread, x, true);
	if (axis == 1)
		return quotient(e, quotient(e, thread, x, false), y, true);
	return quotient(e, thread, mul_(e, x, y), false);
}

static LLVMValueRef lane_index(struct emitter *e)
{
	return e->target->hooks ? e->target->hooks->lane(e) : and_(e, thread_index(e), u32(e, 31));
}

static LLVMValueRef lane_mask(struct emitter *e, unsigned sreg)
{
	LLVMValueRef bit = shl_(e, u32(e, 1), lane_index(e)), below = sub_(e, bit, u32(e, 1));
	switch (sreg) {
	case SREG_lanemask_eq:
		return bit;
	case SREG_lanemask_lt:
		return below;
	case SREG_lanemask_le:
		return or_(e, below, bit);
	case SREG_lanemask_ge:
		return not_(e, below);
	default:
		return not_(e, or_(e, below, bit));
	}
}

/* Counters are read once for all lanes of the piece. */
static LLVMValueRef counter(struct emitter *e, size_t service, unsigned shift, unsigned bits)
{
	unsigned lanes = e->w;
	LLVMValueRef time = call_service(e, service, LLVMInt64TypeInContext(e->context), NULL, NULL, 0);
	e->w = 1;
	time = resize(e, lshr_(e, time, kbits(e, 64, shift)), bits, false);
	e->w = lanes;
	return splat(e, time);
}

static LLVMValueRef cluster_axis(struct emitter *e, unsigned sreg, unsigned axis)
{
	LLVMValueRef size = launch_u32(e, offsetof(struct cpu_launch, cluster), axis);
	LLVMValueRef block = block_u32(e, offsetof(struct cpu_block, index), axis);
	switch (sreg) {
	case SREG_clusterid:
		return quotient(e, block, size, false);
	case SREG_cluster_ctaid:
		return quotient(e, block, size, true);
	case SREG_nclusterid:
		return quotient(e, block_u32(e, offsetof(struct cpu_block, grid), axis), size, false);
	default:
		return size;
	}
}

static LLVMValueRef cluster_blocks(struct emitter *e)
{
	LLVMValueRef x = LAUNCH_U32(e, cluster[0]), y = LAUNCH_U32(e, cluster[1]), z = LAUNCH_U32(e, cluster[2]);
	return mul_(e, mul_(e, x, y), z);
}

LLVMValueRef shared_behind(struct emitter *e)
{
	return and_(e, add_(e, LAUNCH_U32(e, static_shared), u32(e, 15)), u32(e, ~15u));
}

static LLVMValueRef shared_total(struct emitter *e)
{
	LLVMValueRef fixed = LAUNCH_U32(e, static_shared), dynamic = LAUNCH_U32(e, dynamic_shared);
	return add_(e, select_(e, icmp_(e, LLVMIntEQ, dynamic, u32(e, 0)), fixed, shared_behind(e)), dynamic);
}

static LLVMValueRef of_four(struct emitter *e, unsigned sreg, unsigned axis)
{
	if (axis > 2) /* .w */
		return u32(e, 0);
	switch (sreg) {
	case SREG_tid:
		return thread_axis(e, axis);
	case SREG_ntid:
		return block_size(e, axis);
	case SREG_ctaid:
		return block_u32(e, offsetof(struct cpu_block, index), axis);
	case SREG_nctaid:
		return block_u32(e, offsetof(struct cpu_block, grid), axis);
	default:
		return cluster_axis(e, sreg, axis);
	}
}

static LLVMValueRef of_launch(struct emitter *e, unsigned sreg)
{
	switch (sreg) {
	case SREG_smid:
		return BLOCK_U32(e, smid);
	case SREG_nsmid:
		return LAUNCH_U32(e, sm_count);
	case SREG_gridid:
		return splat(e, launch_field(e, LLVMInt64TypeInContext(e->context), offsetof(struct cpu_launch, grid_id)));
	case SREG_is_explicit_cluster:
		return icmp_(e, LLVMIntUGT, cluster_blocks(e), u32(e, 1));
	case SREG_cluster_ctarank:
		return BLOCK_U32(e, cluster_rank);
	case SREG_cluster_nctarank:
		return cluster_blocks(e);
	case SREG_dynamic_smem_size:
		return LAUNCH_U32(e, dynamic_shared);
	case SREG_total_smem_size:
	case SREG_aggr_smem_size:
		return shared_total(e);
	default:
		return NULL;
	}
}

static LLVMValueRef of_thread(struct emitter *e, unsigned sreg)
{
	switch (sreg) {
	case SREG_laneid:
		return lane_index(e);
	case SREG_warpid:
		return lshr_(e, thread_index(e), u32(e, 5));
	case SREG_nwarpid:
		return lshr_(e, add_(e, BLOCK_U32(e, thread_count), u32(e, 31)), u32(e, 5));
	case SREG_lanemask_eq:
	case SREG_lanemask_le:
	case SREG_lanemask_lt:
	case SREG_lanemask_ge:
	case SREG_lanemask_gt:
		return lane_mask(e, sreg);
	case SREG_clock:
		return counter(e, offsetof(struct cpu_services, clock), 0, 32);
	case SREG_clock_hi:
		return counter(e, offsetof(struct cpu_services, clock), 32, 32);
	case SREG_clock64:
		return counter(e, offsetof(struct cpu_services, clock), 0, 64);
	case SREG_globaltimer:
		return counter(e, offsetof(struct cpu_services, global_timer), 0, 64);
	case SREG_globaltimer_lo:
		return counter(e, offsetof(struct cpu_services, global_timer), 0, 32);
	case SREG_globaltimer_hi:
		return counter(e, offsetof(struct cpu_services, global_timer), 32, 32);
	default:
		return NULL;
	}
}

LLVMValueRef special_register(struct emitter *e, unsigned sreg, int component)
{
	if (isa_sregs[sreg].components > 1)
		return of_four(e, sreg, component > 0 ? (unsigned)component : 0);
	if (sreg >= SREG_envreg0 && sreg < SREG_envreg0 + 4)
		return launch_u32(e, offsetof(struct cpu_launch, envreg), sreg - SREG_envreg0);
	LLVMValueRef value = of_launch(e, sreg);
	if (!value)
		value = of_thread(e, sreg);
	/* The rest are the driver's own: environment registers without a use here, performance counters that do not count, shared memory that
	 * the system reserves (none). */
	return value ? value : kbits(e, ptx_type_bits((enum ptx_type)isa_sregs[sreg].type), 0);
}
