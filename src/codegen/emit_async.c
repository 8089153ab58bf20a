/* Asynchronous copies and what belongs to them: PTX ISA 9.7.9.25 to 9.7.9.27 (cp.async.bulk, cp.reduce.async.bulk, st.async,
 * st.bulk, red.async) and multimem on a machine with one device. A copy is made when it is issued; groups of copies are then
 * always complete, and an mbarrier hears of the bytes at once. */
#include <stddef.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/atomic.h"
#include "codegen/group.h"
#include "codegen/mbarrier.h"
#include "codegen/memory.h"
#include "codegen/state.h"
#include "isa_emit.h"

static LLVMTypeRef i64_type(struct emitter *e)
{
	return LLVMInt64TypeInContext(e->context);
}

struct bulk {
	struct address to, from, barrier;
	LLVMValueRef size; /* i32 piece */
	bool has_barrier;
	LLVMValueRef blocks; /* .multicast: i16 piece, a bit for each rank; NULL */
	LLVMValueRef bytes;  /* .cp_mask: i16 piece, a bit for each byte of 16 */
	struct atomic atomic;
};

static LLVMValueRef lane_size(struct emitter *e, const struct bulk *b, unsigned lane)
{
	return LLVMBuildZExt(e->b, lane_get(e, b->size, lane), i64_type(e), "");
}

static void report(struct emitter *e, const struct bulk *b, unsigned lane, LLVMValueRef bytes)
{
	if (b->has_barrier)
		mbarrier_complete(e, lane_pointer(e, b->barrier, lane), bytes, true);
}

/* The spelling names the destination's space first, then the source's. */
static struct bulk parse_bulk(struct emitter *e, const struct ptx_instruction *in)
{
	struct bulk b = { .has_barrier = has(e, MOD_mbarrier__complete_tx__bytes) };
	enum ptx_space to = in->form->space;
	enum ptx_space from = to != PTX_SPACE_GLOBAL && has(e, MOD_global) ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED;
	b.to = emit_address(e, operand(e, 0), to, 16);
	b.from = emit_address(e, operand(e, 1), from, 16);
	b.size = arg_typed(e, 2, PTX_U32);
	if (b.has_barrier)
		b.barrier = emit_address(e, operand(e, 3), to, 8);
	if (has(e, MOD_multicast__cluster))
		b.blocks = arg_typed(e, 4, PTX_U16);
	if (has(e, MOD_cp_mask)) /* behind the policy of the cache */
		b.bytes = arg_typed(e, has(e, MOD_L2__cache_hint) ? 4 : 3, PTX_U16);
	return b;
}

static LLVMValueRef moved(struct emitter *e, LLVMValueRef pointer, LLVMValueRef distance)
{
	return LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->context), pointer, &distance, 1, "");
}

/* To the same place in each block of the mask, whose mbarriers hear of it. */
static void copy_to_blocks(struct emitter *e, const struct bulk *b, unsigned lane)
{
	LLVMTypeRef i64 = i64_type(e);
	LLVMValueRef step = e->target->hooks ? e->target->hooks->cluster_step(e) : LLVMConstInt(i64, 1u << CLUSTER_SHIFT, false), one = LLVMConstInt(i64, 1, false), zero = LLVMConstInt(i64, 0, false);
	LLVMValueRef size = lane_size(e, b, lane), to = lane_pointer(e, b->to, lane), barrier = lane_pointer(e, b->barrier, lane);
	LLVMValueRef mask = LLVMBuildZExt(e->b, lane_get(e, b->blocks, lane), i64, "");
	LLVMValueRef own = LLVMBuildZExt(e->b, block_field(e, LLVMInt32TypeInContext(e->context), offsetof(struct cpu_block, cluster_rank)), i64, "");
	LLVMValueRef start = LLVMBuildMul(e->b, LLVMBuildNeg(e->b, own, ""), step, "");
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = new_block(e, "block"), body = new_block(e, "copy"), next = new_block(e, "next"),
			  done = new_block(e, "copied");
	LLVMBuildBr(e->b, loop);
	LLVMPositionBuilderAtEnd(e->b, loop);
	LLVMValueRef rest = LLVMBuildPhi(e->b, i64, ""), distance = LLVMBuildPhi(e->b, i64, "");
	LLVMValueRef named = LLVMBuildTrunc(e->b, rest, LLVMInt1TypeInContext(e->context), "");
	LLVMBuildCondBr(e->b, named, body, next);
	LLVMPositionBuilderAtEnd(e->b, body);
	LLVMBuildMemCpy(e->b, moved(e, to, distance), 16, lane_pointer(e, b->from, lane), 16, size);
	mbarrier_complete(e, moved(e, barrier, distance), size, true);
	LLVMBuildBr(e->b, next);
	LLVMPositionBuilderAtEnd(e->b, next);
	LLVMValueRef rest_next = LLVMBuildLShr(e->b, rest, one, "");
	LLVMValueRef distance_next = LLVMBuildAdd(e->b, distance, step, "");
	LLVMAddIncoming(rest, &mask, &before, 1);
	LLVMAddIncoming(rest, &rest_next, &next, 1);
	LLVMAddIncoming(distance, &start, &before, 1);
	LLVMAddIncoming(distance, &distance_next, &next, 1);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, rest_next, zero, ""), loop, done);
	LLVMPositionBuilderAtEnd(e->b, done);
}

/* Byte by byte, those of each 16 whose bit is set. */
static void copy_bytes(struct emitter *e, const struct bulk *b, unsigned lane)
{
	LLVMTypeRef i64 = i64_type(e), i8 = LLVMInt8TypeInContext(e->context);
	LLVMValueRef zero = LLVMConstInt(i64, 0, false), one = LLVMConstInt(i64, 1, false), size = lane_size(e, b, lane);
	LLVMValueRef mask = LLVMBuildZExt(e->b, lane_get(e, b->bytes, lane), i64, ""), to = lane_pointer(e, b->to, lane), from = lane_pointer(e, b->from, lane);
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = new_block(e, "byte"), body = new_block(e, "copy"), next = new_block(e, "next"),
			  done = new_block(e, "copied");
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, size, zero, ""), loop, done);
	LLVMPositionBuilderAtEnd(e->b, loop);
	LLVMValueRef i = LLVMBuildPhi(e->b, i64, ""), bit = LLVMBuildLShr(e->b, mask, LLVMBuildAnd(e->b, i, LLVMConstInt(i64, 15, false), ""), "");
	LLVMBuildCondBr(e->b, LLVMBuildTrunc(e->b, bit, LLVMInt1TypeInContext(e->context), ""), body, next);
	LLVMPositionBuilderAtEnd(e->b, body);
	LLVMBuildStore(e->b, LLVMBuildLoad2(e->b, i8, moved(e, from, i), ""), moved(e, to, i));
	LLVMBuildBr(e->b, next);
	LLVMPositionBuilderAtEnd(e->b, next);
	LLVMValueRef following = LLVMBuildAdd(e->b, i, one, "");
	LLVMAddIncoming(i, &zero, &before, 1);
	LLVMAddIncoming(i, &following, &next, 1);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, following, size, ""), loop, done);
	LLVMPositionBuilderAtEnd(e->b, done);
}

static void copy_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct bulk *b = data;
	LLVMValueRef size = lane_size(e, b, lane);
	if (b->blocks) {
		copy_to_blocks(e, b, lane);
		return;
	}
	if (b->bytes) {
		copy_bytes(e, b, lane);
		return;
	}
	LLVMBuildMemCpy(e->b, lane_pointer(e, b->to, lane), 16, lane_pointer(e, b->from, lane), 16, size);
	report(e, b, lane, size);
}

void emit_cp_async_bulk(struct emitter *e, const struct ptx_instruction *in)
{
	struct bulk b = parse_bulk(e, in);
	for_each_active_lane(e, copy_lane, &b);
}

void emit_cp_async_bulk_group(struct emitter *e, const struct ptx_instruction *in)
{
	(void)e;
	(void)in;
}

void emit_cp_async_bulk_prefetch(struct emitter *e, const struct ptx_instruction *in)
{
	(void)e;
	(void)in;
}

/* Element after element, each atomically. */
static void reduce_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct bulk *b = data;
	unsigned bytes = ptx_type_bits(b->atomic.type) / 8, w = e->w;
	LLVMValueRef size = lane_size(e, b, lane), to = lane_pointer(e, b->to, lane), from = lane_pointer(e, b->from, lane), mask = e->mask;
	LLVMValueRef count = LLVMBuildUDiv(e->b, size, LLVMConstInt(i64_type(e), bytes, false), ""), zero = LLVMConstInt(i64_type(e), 0, false);
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = new_block(e, "element"), body = new_block(e, "reduce"), done = new_block(e, "reduced");
	e->w = 1;
	e->mask = NULL;
	LLVMBuildBr(e->b, loop);
	LLVMPositionBuilderAtEnd(e->b, loop);
	LLVMValueRef i = LLVMBuildPhi(e->b, i64_type(e), "");
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, i, count, ""), body, done);
	LLVMPositionBuilderAtEnd(e->b, body);
	LLVMValueRef value = LLVMBuildLoad2(e->b, b->atomic.lane, LLVMBuildGEP2(e->b, b->atomic.lane, from, &i, 1, ""), "");
	atomic_scalar(e, &b->atomic, LLVMBuildGEP2(e->b, b->atomic.lane, to, &i, 1, ""), value, NULL);
	LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b);
	LLVMValueRef next = LLVMBuildAdd(e->b, i, LLVMConstInt(i64_type(e), 1, false), "");
	LLVMAddIncoming(i, &zero, &before, 1);
	LLVMAddIncoming(i, &next, &end, 1);
	LLVMBuildBr(e->b, loop);
	LLVMPositionBuilderAtEnd(e->b, done);
	e->w = w;
	e->mask = mask;
	report(e, b, lane, size);
}

static struct atomic atomic_of(struct emitter *e, const struct ptx_instruction *in, enum ptx_space space)
{
	struct atomic a = { .operation = atomic_operation(e), .type = form_type(in), .ordering = LLVMAtomicOrderingMonotonic };
	a.shared = space == PTX_SPACE_SHARED;
	a.flushes = a.type == PTX_F32 && !a.shared;
	a.lane = LLVMIntTypeInContext(e->context, ptx_type_bits(a.type));
	return a;
}

void emit_cp_reduce_async_bulk(struct emitter *e, const struct ptx_instruction *in)
{
	struct bulk b = parse_bulk(e, in);
	b.atomic = atomic_of(e, in, in->form->space);
	for_each_active_lane(e, reduce_lane, &b);
}

/* ---- one element ------------------------------------------------------------------------------------------------ */

struct element_operation {
	struct address to, barrier;
	bool has_barrier;
	LLVMValueRef value;
	struct atomic atomic;
	uint64_t bytes;
};

static void complete_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct element_operation *o = data;
	mbarrier_complete(e, lane_pointer(e, o->barrier, lane), LLVMConstInt(i64_type(e), o->bytes, false), true);
}

void emit_st_async(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *from = operand(e, 1);
	unsigned count = from->kind == PTX_OP_VECTOR ? from->part_count : 1, bits = ptx_type_bits(form_type(in));
	enum ptx_type type = bits == 64 ? PTX_B64 : bits == 32 ? PTX_B32 : bits == 16 ? PTX_B16 : PTX_B8;
	LLVMValueRef values[MAX_ELEMENTS];
	bool cluster = has(e, MOD_mbarrier__complete_tx__bytes);
	enum ptx_space space = cluster ? PTX_SPACE_SHARED_CLUSTER : in->form->space;
	struct element_operation o = { .to = emit_address(e, operand(e, 0), space, bits / 8 * count), .bytes = bits / 8 * count };
	for (unsigned i = 0; i < count && i < MAX_ELEMENTS; i++)
		values[i] = value_of(e, from->kind == PTX_OP_VECTOR ? &from->parts[i] : from, type);
	if (has(e, MOD_release))
		emit_memory_fence(e, LLVMAtomicOrderingRelease, false);
	store_elements(e, o.to, values, count, true);
	if (!cluster)
		return;
	o.barrier = emit_address(e, operand(e, 2), space, 8);
	for_each_active_lane(e, complete_lane, &o);
}

static void reduce_element(struct emitter *e, unsigned lane, void *data)
{
	const struct element_operation *o = data;
	unsigned w = e->w;
	LLVMValueRef mask = e->mask, value = lane_get(e, o->value, lane), pointer = lane_pointer(e, o->to, lane);
	e->w = 1;
	e->mask = NULL;
	atomic_scalar(e, &o->atomic, pointer, value, NULL);
	e->w = w;
	e->mask = mask;
	if (o->has_barrier)
		complete_lane(e, lane, data);
}

void emit_red_async(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned bits = ptx_type_bits(form_type(in));
	bool cluster = has(e, MOD_mbarrier__complete_tx__bytes);
	enum ptx_space space = cluster ? PTX_SPACE_SHARED_CLUSTER : in->form->space;
	struct element_operation o = { .to = emit_address(e, operand(e, 0), space, bits / 8), .has_barrier = cluster, .bytes = bits / 8 };
	o.value = arg_typed(e, 1, bits == 64 ? PTX_B64 : PTX_B32);
	o.atomic = atomic_of(e, in, space);
	if (cluster)
		o.barrier = emit_address(e, operand(e, 2), space, 8);
	for_each_active_lane(e, reduce_element, &o);
}

/* ---- st.bulk ------------------------------------------------------------------------------------------------------ */

static void clear_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct element_operation *o = data;
	LLVMValueRef zero = LLVMConstInt(LLVMInt8TypeInContext(e->context), 0, false);
	LLVMBuildMemSet(e->b, lane_pointer(e, o->to, lane), zero, lane_get(e, o->value, lane), 8);
}

void emit_st_bulk(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	struct element_operation o = { .to = emit_address(e, operand(e, 0), PTX_SPACE_SHARED, 8) };
	o.value = arg_typed(e, 1, PTX_U64);
	for_each_active_lane(e, clear_lane, &o);
}

/* ---- clusterlaunchcontrol: taking over blocks that have not begun (9.7.13.17) --------------------------------------------- */

struct cancel {
	struct bulk bulk;
	LLVMValueRef response; /* where it is written to */
};

/* A request may always be refused, and here it is: each block of the grid is run as itself. The answer is {ctaid.x, .y, .z, granted}. */
static void cancel_lane(struct emitter *e, unsigned lane, void *data)
{
	struct cancel *c = data;
	LLVMTypeRef words = LLVMVectorType(LLVMInt32TypeInContext(e->context), 4);
	if (!c->bulk.blocks) {
		LLVMSetAlignment(LLVMBuildStore(e->b, LLVMConstNull(words), lane_pointer(e, c->bulk.to, lane)), 16);
		report(e, &c->bulk, lane, LLVMConstInt(i64_type(e), 16, false));
		return;
	}
	LLVMSetAlignment(LLVMBuildStore(e->b, LLVMConstNull(words), c->response), 16);
	copy_to_blocks(e, &c->bulk, lane);
}

static void emit_try_cancel(struct emitter *e, const struct ptx_instruction *in)
{
	enum ptx_space space = in->form->space;
	struct cancel c = { .bulk = { .has_barrier = true } };
	c.bulk.to = emit_address(e, operand(e, 0), space, 16);
	c.bulk.barrier = emit_address(e, operand(e, 1), space, 8);
	if (has(e, MOD_multicast__cluster__all)) {
		LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
		LLVMValueRef size = special_register(e, SREG_cluster_nctarank, 0);
		LLVMValueRef all = sub_(e, shl_(e, kbits(e, 32, 1), size), kbits(e, 32, 1));
		c.response = entry_alloca(e, LLVMVectorType(i32, 4), "response");
		c.bulk.from = (struct address){ .kind = ADDRESS_ONE, .pointer = c.response, .align = 16 };
		c.bulk.size = kbits(e, 32, 16);
		c.bulk.blocks = resize(e, all, 16, false);
	}
	for_each_active_lane(e, cancel_lane, &c);
}

static LLVMValueRef word_of(struct emitter *e, LLVMValueRef handle, unsigned index)
{
	return resize(e, lshr_(e, handle, kbits(e, 128, 32 * index)), 32, false);
}

void emit_clusterlaunchcontrol(struct emitter *e, const struct ptx_instruction *in)
{
	if (has(e, MOD_try_cancel)) {
		emit_try_cancel(e, in);
		return;
	}
	const struct ptx_operand *to = operand(e, 0);
	LLVMValueRef handle = value_of(e, operand(e, 1), PTX_B128);
	if (has(e, MOD_is_canceled))
		set_result(e, 0, icmp_(e, LLVMIntNE, word_of(e, handle, 3), kbits(e, 32, 0)));
	else if (to->kind == PTX_OP_VECTOR)
		for (unsigned i = 0; i < to->part_count; i++)
			set_value(e, &to->parts[i], i < 3 ? word_of(e, handle, i) : kbits(e, 32, 0));
	else
		set_result(e, 0, word_of(e, handle, has(e, MOD_get_first_ctaid__y) ? 1 : has(e, MOD_get_first_ctaid__z) ? 2 : 0));
}

/* ---- multimem: with one device, its own memory ---------------------------------------------------------------------- */

void emit_multimem(struct emitter *e, const struct ptx_instruction *in)
{
	if (has(e, MOD_ld_reduce))
		emit_ld(e, in);
	else if (has(e, MOD_st))
		emit_st(e, in);
	else
		emit_red(e, in);
}
