/* Data movement: PTX ISA 9.7.9 (mov, ld, ldu, st, prefetch, cvta, isspacep, mapa, cp.async). Addresses are resolved by
 * emit_address(); cache and eviction modifiers are accepted and mean nothing here; .volatile, .relaxed, .acquire and .release
 * follow the memory model of chapter 8. */
#include <stddef.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/memory.h"
#include "isa_emit.h"

static enum ptx_type bits_type(unsigned bits)
{
	return bits == 8 ? PTX_B8 : bits == 16 ? PTX_B16 : bits == 32 ? PTX_B32 : bits == 64 ? PTX_B64 : PTX_B128;
}

/* ---- mov ------------------------------------------------------------------------------------------------------ */

static unsigned register_bits(const struct ptx_operand *op, unsigned otherwise)
{
	return op->kind == PTX_OP_REGISTER ? ptx_type_bits(op->reg->type) : otherwise;
}

static void unpack(struct emitter *e, const struct ptx_operand *to, const struct ptx_operand *from, unsigned bits)
{
	unsigned part = bits / to->part_count;
	LLVMValueRef whole = value_of(e, from, bits_type(bits));
	for (unsigned i = 0; i < to->part_count; i++)
		if (to->parts[i].kind != PTX_OP_SINK)
			set_value(e, &to->parts[i], resize(e, lshr_(e, whole, kbits(e, bits, (uint64_t)part * i)), part, false));
}

static LLVMValueRef pack(struct emitter *e, const struct ptx_operand *from, unsigned bits)
{
	unsigned part = bits / from->part_count;
	LLVMValueRef whole = NULL;
	for (unsigned i = 0; i < from->part_count; i++) {
		LLVMValueRef v = resize(e, value_of(e, &from->parts[i], bits_type(part)), bits, false);
		v = i ? shl_(e, v, kbits(e, bits, (uint64_t)part * i)) : v;
		whole = whole ? or_(e, whole, v) : v;
	}
	return whole;
}

void emit_mov(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *to = operand(e, 0), *from = operand(e, 1);
	enum ptx_type type = form_type(in);
	unsigned bits = ptx_type_bits(type);
	if (to->kind == PTX_OP_VECTOR) {
		unpack(e, to, from, bits);
	} else if (from->kind == PTX_OP_VECTOR) {
		set_value(e, to, pack(e, from, bits));
	} else {
		set_value(e, to, value_of(e, from, type));
	}
}

/* ---- ld and st -------------------------------------------------------------------------------------------------- */

static bool is_ordered(struct emitter *e)
{
	return has(e, MOD_volatile) || has(e, MOD_relaxed) || has(e, MOD_acquire) || has(e, MOD_release) || has(e, MOD_cv) || has(e, MOD_wt);
}

enum memory_scope named_scope(struct emitter *e)
{
	if (has(e, MOD_cta))
		return SCOPE_BLOCK;
	return has(e, MOD_sys) ? SCOPE_SYSTEM : SCOPE_DEVICE;
}

/* Threads of a block run on one thread of the host: for them it is enough that the compiler keeps the order. */
void emit_memory_fence(struct emitter *e, LLVMAtomicOrdering ordering, bool within_block)
{
	enum memory_scope scope = within_block ? SCOPE_BLOCK : named_scope(e);
	if (e->target->hooks)
		e->target->hooks->fence(e, ordering, scope);
	else
		LLVMBuildFence(e->b, ordering, within_block, "");
}

/* What must not be torn, and a GPU has no instruction for. */
static bool is_wide(struct emitter *e, enum ptx_type type)
{
	return e->target->hooks && ptx_type_bits(type) == 128 && is_ordered(e);
}

/* Elements narrower than their register are extended as the instruction's type says. */
static void set_loaded(struct emitter *e, const struct ptx_operand *to, LLVMValueRef value, enum ptx_type type)
{
	if (to->kind == PTX_OP_SINK)
		return;
	unsigned bits = register_bits(to, lane_bits(value));
	if (bits > lane_bits(value))
		value = resize(e, as_int(e, value), bits, type_is_signed(type));
	set_value(e, to, value);
}

void emit_ld(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *to = operand(e, 0);
	enum ptx_type type = form_type(in);
	unsigned count = to->kind == PTX_OP_VECTOR ? to->part_count : 1;
	LLVMValueRef values[MAX_ELEMENTS];
	if (count > MAX_ELEMENTS || (count & (count - 1))) {
		unsupported(e, "a load of %u elements", count);
		return;
	}
	struct address address = (count == 1 ? emit_address_in_any_order : emit_address)(e, operand(e, 1), in->form->space, ptx_type_bits(type) / 8 * count);
	if (is_wide(e, type))
		values[0] = e->target->hooks->wide(e, address.pointer, NULL, NULL, named_scope(e));
	else
		load_elements(e, address, lane_type(e, type), count, is_ordered(e), values);
	if (in->form->space == PTX_SPACE_GLOBAL && !is_ordered(e))
		prefetch_next(e, operand(e, 1), address);
	if (has(e, MOD_acquire))
		emit_memory_fence(e, LLVMAtomicOrderingAcquire, has(e, MOD_cta));
	for (unsigned i = 0; i < count; i++)
		set_loaded(e, to->kind == PTX_OP_VECTOR ? &to->parts[i] : to, values[i], type);
}

void emit_ldu(struct emitter *e, const struct ptx_instruction *in)
{
	emit_ld(e, in);
}

/* Stored bits are seen: NaNs are read as integers, which makes them what the GPU has. */
static LLVMValueRef stored_bits(struct emitter *e, const struct ptx_operand *op, enum ptx_type type)
{
	if (op->kind == PTX_OP_FLOAT)
		return as_int(e, value_of(e, op, type));
	return value_of(e, op, bits_type(ptx_type_bits(type)));
}

/* Element by element, all of them read before one is written. */
void emit_mov_vector(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *to = operand(e, 0), *from = operand(e, 1);
	LLVMValueRef values[MAX_ELEMENTS];
	for (unsigned i = 0; i < from->part_count && i < MAX_ELEMENTS; i++)
		values[i] = stored_bits(e, &from->parts[i], form_type(in));
	for (unsigned i = 0; i < to->part_count && i < from->part_count; i++)
		if (to->parts[i].kind != PTX_OP_SINK)
			set_value(e, &to->parts[i], values[i]);
}

void emit_st(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *from = operand(e, 1);
	enum ptx_type type = form_type(in);
	unsigned count = from->kind == PTX_OP_VECTOR ? from->part_count : 1;
	LLVMValueRef values[MAX_ELEMENTS];
	if (count > MAX_ELEMENTS || (count & (count - 1))) {
		unsupported(e, "a store of %u elements", count);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		values[i] = stored_bits(e, from->kind == PTX_OP_VECTOR ? &from->parts[i] : from, type);
	struct address address = (count == 1 ? emit_address_in_any_order : emit_address)(e, operand(e, 0), in->form->space, ptx_type_bits(type) / 8 * count);
	if (has(e, MOD_release))
		emit_memory_fence(e, LLVMAtomicOrderingRelease, has(e, MOD_cta));
	if (is_wide(e, type))
		e->target->hooks->wide(e, address.pointer, NULL, values[0], named_scope(e));
	else
		store_elements(e, address, values, count, is_ordered(e));
}

/* A hint: no effect on what a program computes. */
void emit_prefetch(struct emitter *e, const struct ptx_instruction *in)
{
	(void)e;
	(void)in;
}

/* ---- the stack: alloca, stacksave, stackrestore (9.7.17) --------------------------------------------------------------- */

/* Addresses in the local window; the stack grows upwards from its offset there. */
void emit_alloca(struct emitter *e, const struct ptx_instruction *in)
{
	enum { NOWHERE = 0x7ff00000 }; /* what does not fit faults where it is used */
	const struct ptx_operand *alignment = in->operand_count > 2 ? operand(e, 2) : NULL;
	unsigned bits = ptx_type_bits(form_type(in));
	uint64_t align = alignment && alignment->bits > 8 ? alignment->bits : 8, base = e->ir->stack_offset, end = base + e->ir->stack_bytes;
	if (align & (align - 1)) {
		unsupported(e, "an alignment that is no power of two");
		return;
	}
	LLVMValueRef size = resize(e, arg_typed(e, 1, bits == 64 ? PTX_U64 : PTX_U32), 64, false), start = add_(e, stack_get(e), kbits(e, 64, base + align - 1));
	start = and_(e, start, kbits(e, 64, ~(align - 1)));
	LLVMValueRef room = sub_(e, kbits(e, 64, end), start), fits = and_(e, icmp_(e, LLVMIntULE, start, kbits(e, 64, end)), icmp_(e, LLVMIntULE, size, room));
	LLVMValueRef top = select_(e, fits, add_(e, start, size), kbits(e, 64, end));
	stack_set(e, sub_(e, top, kbits(e, 64, base)));
	set_result(e, 0, resize(e, select_(e, fits, start, kbits(e, 64, NOWHERE)), bits, false));
}

void emit_stacksave(struct emitter *e, const struct ptx_instruction *in)
{
	set_result(e, 0, resize(e, add_(e, stack_get(e), kbits(e, 64, e->ir->stack_offset)), ptx_type_bits(form_type(in)), false));
}

void emit_stackrestore(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef a = resize(e, arg_typed(e, 0, ptx_type_bits(form_type(in)) == 64 ? PTX_U64 : PTX_U32), 64, false);
	stack_set(e, sub_(e, a, kbits(e, 64, e->ir->stack_offset)));
}

/* ---- generic addresses -------------------------------------------------------------------------------------------- */

static LLVMValueRef block_pointer(struct emitter *e, size_t offset)
{
	LLVMValueRef pointer = block_field(e, LLVMPointerTypeInContext(e->context, 0), offset);
	return splat(e, LLVMBuildPtrToInt(e->b, pointer, LLVMInt64TypeInContext(e->context), ""));
}

static LLVMValueRef block_u32(struct emitter *e, size_t offset) /* as an i64 piece */
{
	return resize(e, splat(e, block_field(e, LLVMInt32TypeInContext(e->context), offset)), 64, false);
}

static LLVMValueRef block_u64(struct emitter *e, size_t offset)
{
	return splat(e, block_field(e, LLVMInt64TypeInContext(e->context), offset));
}

/* Where a thread's window of `space` starts as a host address; NULL where its addresses are host addresses. */
static LLVMValueRef window(struct emitter *e, enum ptx_space space)
{
	if (space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER)
		return block_pointer(e, offsetof(struct cpu_block, shared));
	if (space != PTX_SPACE_LOCAL)
		return NULL;
	return local_window(e);
}

void emit_cvta(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned bits = ptx_type_bits(form_type(in));
	LLVMValueRef a = resize(e, value_of(e, operand(e, 1), form_type(in)), 64, false), base;
	const struct target_hooks *hooks = e->target->hooks;
	if (hooks) {
		a = has(e, MOD_to) ? hooks->from_generic(e, in->form->space, a) : hooks->to_generic(e, in->form->space, a);
		set_result(e, 0, resize(e, a, bits, false));
		return;
	}
	base = window(e, in->form->space);
	if (in->form->space == PTX_SPACE_SHARED_CLUSTER && !has(e, MOD_to))
		a = cluster_offset(e, a);
	if (base)
		a = has(e, MOD_to) ? sub_(e, a, base) : add_(e, a, base);
	set_result(e, 0, resize(e, a, bits, false));
}

static LLVMValueRef inside(struct emitter *e, LLVMValueRef a, LLVMValueRef base, LLVMValueRef size)
{
	return icmp_(e, LLVMIntULT, sub_(e, a, base), size);
}

static LLVMValueRef inside_space(struct emitter *e, LLVMValueRef a, enum ptx_space space)
{
	LLVMValueRef size, base;
	switch (space) {
	case PTX_SPACE_SHARED:
		return inside(e, a, block_pointer(e, offsetof(struct cpu_block, shared)), block_u32(e, offsetof(struct cpu_block, shared_window)));
	case PTX_SPACE_SHARED_CLUSTER:
		base = block_u32(e, offsetof(struct cpu_block, cluster_rank));
		base = sub_(e, block_pointer(e, offsetof(struct cpu_block, shared)), shl_(e, base, kbits(e, 64, CLUSTER_SHIFT)));
		return inside(e, a, base, block_u32(e, offsetof(struct cpu_block, cluster_window)));
	case PTX_SPACE_LOCAL:
		size = mul_(e, block_u32(e, offsetof(struct cpu_block, thread_count)), block_u64(e, offsetof(struct cpu_block, local_stride)));
		return inside(e, a, block_pointer(e, offsetof(struct cpu_block, local)), size);
	case PTX_SPACE_PARAM:
		size = kbits(e, 64, e->ir->kernel->parameter_bytes);
		return inside(e, a, block_pointer(e, offsetof(struct cpu_block, parameters)), size);
	default:
		return LLVMConstNull(piece_type(e, PTX_PRED));
	}
}

/* Global memory is what the other windows leave; constants lie there too. */
void emit_isspacep(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *op = operand(e, 1);
	enum ptx_type type = op->kind == PTX_OP_REGISTER && ptx_type_bits(op->reg->type) == 32 ? PTX_U32 : PTX_U64;
	LLVMValueRef a = resize(e, value_of(e, op, type), 64, false), r;
	if (e->target->hooks) {
		r = e->target->hooks->is_in_space(e, in->form->space, a);
	} else if (in->form->space == PTX_SPACE_GLOBAL) {
		r = or_(e, inside_space(e, a, PTX_SPACE_SHARED_CLUSTER), inside_space(e, a, PTX_SPACE_LOCAL));
		r = not_(e, or_(e, r, inside_space(e, a, PTX_SPACE_PARAM)));
	} else {
		r = inside_space(e, a, in->form->space);
	}
	set_result(e, 0, r);
}

/* ---- clusters: other blocks' shared memory (CLUSTER_SHIFT, backend/cpu/abi.h) ------------------------------------- */

/* How many blocks an address of shared memory lies behind the thread's own: i64, signed. */
static LLVMValueRef blocks_away(struct emitter *e, LLVMValueRef offset)
{
	return LLVMBuildAShr(e->b, offset, kbits(e, 64, CLUSTER_SHIFT), "");
}

/* `a` is shared or generic: either moves by the same distance. */
void emit_mapa(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned bits = ptx_type_bits(form_type(in));
	LLVMValueRef a = resize(e, value_of(e, operand(e, 1), form_type(in)), 64, true), own = a;
	LLVMValueRef rank = resize(e, arg_typed(e, 2, PTX_U32), 64, false);
	const struct target_hooks *hooks = e->target->hooks;
	bool is_generic = !has(e, MOD_shared__cluster);
	if (is_generic)
		own = hooks ? hooks->from_generic(e, PTX_SPACE_SHARED_CLUSTER, a) : sub_(e, a, block_pointer(e, offsetof(struct cpu_block, shared)));
	/* It may be another block's already: what counts is where in that one it points. */
	LLVMValueRef blocks = sub_(e, sub_(e, rank, block_u32(e, offsetof(struct cpu_block, cluster_rank))), blocks_away(e, own));
	blocks = shl_(e, blocks, kbits(e, 64, CLUSTER_SHIFT));
	a = is_generic && hooks ? hooks->to_generic(e, PTX_SPACE_SHARED_CLUSTER, add_(e, own, blocks)) : add_(e, a, blocks);
	set_result(e, 0, resize(e, a, bits, false));
}

void emit_getctarank(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef a = resize(e, value_of(e, operand(e, 1), form_type(in)), 64, true);
	if (has(e, MOD_shared__cluster))
		a = cluster_offset(e, a);
	else if (e->target->hooks)
		a = e->target->hooks->from_generic(e, PTX_SPACE_SHARED_CLUSTER, a);
	else
		a = sub_(e, a, block_pointer(e, offsetof(struct cpu_block, shared)));
	a = add_(e, blocks_away(e, a), block_u32(e, offsetof(struct cpu_block, cluster_rank)));
	set_result(e, 0, resize(e, a, 32, false));
}

/* A policy is a hint that no access here looks at. */
void emit_createpolicy(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	set_result(e, 0, kbits(e, 64, 0));
}

/* ---- cp.async ------------------------------------------------------------------------------------------------------- */

struct partial_copy {
	struct address to, from;
	LLVMValueRef count; /* i32 piece: bytes of the source that count; the rest is zero */
	unsigned bytes;
};

static void copy_partial_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct partial_copy *c = data;
	LLVMTypeRef i8 = LLVMInt8TypeInContext(e->context);
	LLVMValueRef to = lane_pointer(e, c->to, lane), from = lane_pointer(e, c->from, lane);
	LLVMBuildMemSet(e->b, to, LLVMConstInt(i8, 0, false), LLVMConstInt(LLVMInt64TypeInContext(e->context), c->bytes, false), 1);
	LLVMBuildMemCpy(e->b, to, 1, from, 1, lane_get(e, c->count, lane));
}

/* The copy is made at once; waiting for it is nothing. `.ca` takes 4, 8 or 16 bytes, `.cg` 16. */
static void copy_whole(struct emitter *e, struct address to, struct address from, unsigned bytes, LLVMValueRef ignored)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
	LLVMValueRef values[4], zero = kbits(e, 32, 0), before = e->mask;
	if (ignored)
		mask_restrict(e, not_(e, ignored));
	load_elements(e, from, i32, bytes / 4, false, values);
	e->mask = before;
	for (unsigned i = 0; ignored && i < bytes / 4; i++)
		values[i] = select_(e, ignored, zero, values[i]);
	store_elements(e, to, values, bytes / 4, false);
}

void emit_cp_async(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *size = operand(e, 2);
	bool has_extra = in->operand_count > (has(e, MOD_L2__cache_hint) ? 4 : 3);
	unsigned bytes = size->kind == PTX_OP_IMMEDIATE ? (unsigned)size->bits : 0;
	if (bytes != 4 && bytes != 8 && bytes != 16) {
		unsupported(e, "cp.async of a size other than 4, 8 and 16");
		return;
	}
	struct address to = emit_address(e, operand(e, 0), PTX_SPACE_SHARED, bytes);
	struct address from = emit_address(e, operand(e, 1), PTX_SPACE_GLOBAL, bytes);
	const struct ptx_operand *extra = has_extra ? operand(e, 3) : NULL;
	if (!extra) {
		copy_whole(e, to, from, bytes, NULL);
		return;
	}
	if (extra->kind == PTX_OP_REGISTER && extra->reg->type == PTX_PRED) {
		copy_whole(e, to, from, bytes, value_of(e, extra, PTX_PRED));
		return;
	}
	LLVMValueRef count = intrinsic2(e, "llvm.umin", value_of(e, extra, PTX_U32), kbits(e, 32, bytes)), before;
	LLVMValueRef none = icmp_(e, LLVMIntEQ, count, kbits(e, 32, 0)), all = icmp_(e, LLVMIntEQ, count, kbits(e, 32, bytes));
	/* Nearly always all or nothing: partial lanes are finished apart. */
	copy_whole(e, to, from, bytes, not_(e, all));
	struct partial_copy partial = { to, from, count, bytes };
	before = mask_restrict(e, not_(e, or_(e, none, all)));
	LLVMBasicBlockRef some = new_block(e, "partial"), done = new_block(e, "copied");
	LLVMBuildCondBr(e->b, any_lane(e, e->mask), some, done);
	LLVMPositionBuilderAtEnd(e->b, some);
	for_each_active_lane(e, copy_partial_lane, &partial);
	LLVMBuildBr(e->b, done);
	LLVMPositionBuilderAtEnd(e->b, done);
	e->mask = before;
}

void emit_cp_async_group(struct emitter *e, const struct ptx_instruction *in)
{
	(void)e;
	(void)in;
}
