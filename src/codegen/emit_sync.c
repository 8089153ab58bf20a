/* Barriers, fences and waiting: PTX ISA 9.7.13.1 to 9.7.13.4 (bar, barrier, bar.warp.sync, barrier.cluster, membar, fence),
 * 9.7.13.13 (griddepcontrol) and 9.7.19 (brkpt, nanosleep, pmevent, trap, setmaxnreg). Threads of a block run on one thread of the host; a
 * group that waits is put aside by the runtime's services. */
#include <stddef.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/group.h"
#include "codegen/memory.h"
#include "codegen/state.h"
#include "ir/resume.h"
#include "isa_emit.h"

static LLVMTypeRef i32_type(struct emitter *e)
{
	return LLVMInt32TypeInContext(e->context);
}

static LLVMTypeRef void_type(struct emitter *e)
{
	return LLVMVoidTypeInContext(e->context);
}

/* The group's first thread, its lanes that take part, then `more` words. */
static LLVMValueRef call_group(struct emitter *e, size_t service, LLVMTypeRef result, LLVMValueRef const *more, unsigned count)
{
	LLVMTypeRef types[8];
	LLVMValueRef arguments[8] = { e->first_thread, mask_bits(e) };
	for (unsigned i = 0; i < count; i++)
		arguments[i + 2] = more[i];
	for (unsigned i = 0; i < count + 2; i++)
		types[i] = i32_type(e);
	return call_service(e, service, result, types, arguments, count + 2);
}

/* ---- bar, barrier ------------------------------------------------------------------------------------------- */

enum { REDUCE_NONE, REDUCE_POPC, REDUCE_AND, REDUCE_OR };

struct barrier {
	LLVMValueRef id, count, op, bits; /* bits: the group's predicates */
};

static unsigned reduction_of(struct emitter *e)
{
	return !has(e, MOD_red) ? REDUCE_NONE : has(e, MOD_popc) ? REDUCE_POPC : has(e, MOD_and) ? REDUCE_AND : REDUCE_OR;
}

static struct barrier read_barrier(struct emitter *e, const struct ptx_instruction *in)
{
	unsigned op = reduction_of(e), first = op != REDUCE_NONE; /* behind the result */
	bool counted = in->operand_count > (op == REDUCE_NONE ? 1 : 3);
	struct barrier b = { .id = group_scalar(e, operand(e, first), PTX_U32), .op = i32_constant(e, op) };
	b.count = counted ? group_scalar(e, operand(e, first + 1), PTX_U32) : i32_constant(e, 0);
	b.bits = op == REDUCE_NONE ? i32_constant(e, 0) : group_bits(e, operand(e, in->operand_count - 1u));
	return b;
}

static void set_reduction(struct emitter *e, LLVMValueRef r)
{
	if (!has(e, MOD_popc))
		r = LLVMBuildICmp(e->b, LLVMIntNE, r, i32_constant(e, 0), "");
	set_value_uniform(e, operand(e, 0), r);
}

LLVMValueRef arrive_at_barrier(struct emitter *e, const struct ptx_instruction *in)
{
	struct barrier b = { .id = i32_constant(e, RESUME_CLUSTER_BARRIER) };
	if (has(e, MOD_cluster))
		b.count = b.op = b.bits = i32_constant(e, 0);
	else
		b = read_barrier(e, in);
	LLVMValueRef arguments[] = { b.id, b.count, b.op, b.bits };
	return e->target->hooks->resume(e, RESUME_OP_ARRIVES, arguments, 4);
}

void take_reduction(struct emitter *e, LLVMValueRef ticket)
{
	LLVMValueRef arguments[] = { ticket, i32_constant(e, reduction_of(e)) };
	set_reduction(e, e->target->hooks->resume(e, RESUME_OP_ARRIVED, arguments, 2));
}

/* All threads of the block in one group: they are together. */
static void emit_barrier_alone(struct emitter *e, const struct ptx_instruction *in)
{
	if (!has(e, MOD_red))
		return;
	LLVMValueRef bits = group_bits(e, operand(e, in->operand_count - 1u)), r = bits;
	if (has(e, MOD_popc))
		r = intrinsic1(e, "llvm.ctpop", bits);
	else if (has(e, MOD_and))
		r = LLVMBuildICmp(e->b, LLVMIntEQ, bits, mask_bits(e), "");
	else
		r = LLVMBuildICmp(e->b, LLVMIntNE, bits, i32_constant(e, 0), "");
	set_value_uniform(e, operand(e, 0), r);
}

bool barrier_is_plain(const struct ptx_instruction *in)
{
	const struct ptx_operand *id = &in->operands[0];
	return in->operand_count == 1 && !ptx_has(in->form, MOD_arrive) && id->kind == PTX_OP_IMMEDIATE && !id->bits;
}

void emit_barrier(struct emitter *e, const struct ptx_instruction *in)
{
	if (e->ir->alone && in->operand_count == (has(e, MOD_red) ? 3 : 1)) {
		emit_barrier_alone(e, in);
		return;
	}
	if (e->target->hooks && barrier_is_plain(in)) {
		e->target->hooks->barrier(e);
		return;
	}
	if (e->state->fission) { /* between two regions */
		if (has(e, MOD_red))
			fission_reduce(e, group_bits(e, operand(e, 2)));
		return;
	}
	if (e->ir->resumes) { /* an arrival: what waits is in halves */
		arrive_at_barrier(e, in);
		return;
	}
	struct barrier b = read_barrier(e, in);
	LLVMValueRef more[] = { b.id, b.count, b.op, b.bits };
	if (has(e, MOD_arrive)) {
		call_group(e, offsetof(struct cpu_services, barrier_arrive), void_type(e), more, 2);
		return;
	}
	LLVMValueRef r = call_group(e, offsetof(struct cpu_services, barrier), i32_type(e), more, 4);
	if (has(e, MOD_red))
		set_reduction(e, r);
}

/* Fences order memory shared with other clusters too: a cluster's own blocks run on one thread of the host. */
void emit_barrier_cluster(struct emitter *e, const struct ptx_instruction *in)
{
	bool wait = has(e, MOD_wait);
	(void)in;
	if (!wait && !has(e, MOD_relaxed))
		emit_memory_fence(e, LLVMAtomicOrderingRelease, false);
	call_group(e, wait ? offsetof(struct cpu_services, cluster_wait) : offsetof(struct cpu_services, cluster_arrive), void_type(e), NULL, 0);
	if (wait)
		emit_memory_fence(e, LLVMAtomicOrderingAcquire, false);
}

/* Lanes of a group are together anyhow. */
void emit_bar_warp(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	emit_memory_fence(e, LLVMAtomicOrderingAcquireRelease, true);
	if (e->lanes > 1 || e->target->hooks)
		return;
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context), pointer = LLVMPointerTypeInContext(e->context, 0);
	LLVMValueRef values = lane_words(e);
	LLVMTypeRef types[] = { i32_type(e), i32_type(e), i64, pointer };
	LLVMValueRef arguments[] = { e->first_thread, group_scalar(e, operand(e, 0), PTX_U32), LLVMConstInt(i64, 0, false), values };
	call_service(e, offsetof(struct cpu_services, exchange), i32_type(e), types, arguments, 4);
}

/* ---- fences --------------------------------------------------------------------------------------------------- */

void emit_fence(struct emitter *e, const struct ptx_instruction *in)
{
	bool is_membar = in->form->row->opcode_id == OP_membar;
	LLVMAtomicOrdering ordering = LLVMAtomicOrderingAcquireRelease;
	if (is_membar || has(e, MOD_sc))
		ordering = LLVMAtomicOrderingSequentiallyConsistent;
	else if (has(e, MOD_acquire))
		ordering = LLVMAtomicOrderingAcquire;
	else if (has(e, MOD_release))
		ordering = LLVMAtomicOrderingRelease;
	emit_memory_fence(e, ordering, has(e, MOD_cta));
}

/* ---- waiting and stopping --------------------------------------------------------------------------------------- */

void emit_nanosleep(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	LLVMTypeRef types[] = { i32_type(e) };
	call_service(e, offsetof(struct cpu_services, yield), void_type(e), types, &e->first_thread, 1);
}

static void stop(struct emitter *e, uint32_t status)
{
	LLVMTypeRef i32 = i32_type(e), types[] = { i32, i32 };
	LLVMTypeRef overload[] = { i32 };
	LLVMValueRef bits = mask_bits(e), count[] = { bits, LLVMConstInt(LLVMInt1TypeInContext(e->context), 0, false) };
	unsigned id = LLVMLookupIntrinsicID("llvm.cttz", 9);
	LLVMValueRef cttz = LLVMGetIntrinsicDeclaration(e->module, id, overload, 1);
	/* A block may be passed through with no lane of its own. */
	LLVMBasicBlockRef some = new_block(e, "stop"), after = new_block(e, "after");
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, bits, i32_constant(e, 0), ""), some, after);
	LLVMPositionBuilderAtEnd(e->b, some);
	LLVMValueRef first = LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, overload, 1), cttz, count, 2, "");
	LLVMValueRef arguments[] = { LLVMBuildAdd(e->b, e->first_thread, first, ""), i32_constant(e, status) };
	call_service(e, offsetof(struct cpu_services, trap), void_type(e), types, arguments, 2);
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, after);
}

/* CUDA_ERROR_LAUNCH_FAILED. */
void emit_trap(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	stop(e, 719);
}

/* Without a debugger a breakpoint ends the kernel, as on the card. */
void emit_brkpt(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	stop(e, 719);
}

/* Nothing to do: a performance event, an amount of registers, launches that already wait for their predecessors. */
void emit_pmevent(struct emitter *e, const struct ptx_instruction *in)
{
	(void)e;
	(void)in;
}

void emit_setmaxnreg(struct emitter *e, const struct ptx_instruction *in)
{
	(void)e;
	(void)in;
}

void emit_griddepcontrol(struct emitter *e, const struct ptx_instruction *in)
{
	(void)e;
	(void)in;
}
