/* The instructions of threads that are resumed (ir/resume.c): on a machine with lanes of its own, in the scalar form. */
#include "ir/resume.h"

#include "codegen/memory.h"
#include "codegen/state.h"
#include "isa_emit.h"

static LLVMValueRef i32_of(struct emitter *e, uint32_t value)
{
	return LLVMConstInt(int_type(e, 32), value, false);
}

/* A register of the pass's own; 0 where none is written: a ticket where no place gives one. */
static LLVMValueRef use(struct emitter *e, unsigned index)
{
	uint32_t value = e->inst->uses[index].value;
	return value == IR_NONE ? i32_of(e, 0) : read_uniform(e, value);
}

/* To the barrier of a cluster of several blocks the threads of a warp come together. */
static bool is_of_block(struct emitter *e)
{
	return e->inst->ptx->form->row->flags & ISA_BARRIER && !(has(e, MOD_cluster) && e->ir->options.cluster);
}

/* What the threads of a warp that meet here are: all of them, but where there is a mask. */
static LLVMValueRef members(struct emitter *e)
{
	const struct ptx_instruction *in = e->inst->ptx;
	return has(e, MOD_aligned) || has(e, MOD_cluster) ? i32_of(e, UINT32_MAX) : arg_uniform(e, operand(e, in->operand_count - 1u), PTX_U32);
}

static LLVMValueRef turn(struct emitter *e)
{
	const struct ir_block *b = &e->ir->blocks.data[e->state->node];
	LLVMValueRef arguments[] = { use(e, 0), use(e, 1), i32_of(e, b->succ_count - 1) };
	return e->target->hooks->resume(e, RESUME_OP_TURN, arguments, 3);
}

static LLVMValueRef more(struct emitter *e)
{
	LLVMValueRef state = use(e, 0);
	return LLVMBuildICmp(e->b, LLVMIntNE, e->target->hooks->resume(e, RESUME_OP_MORE, &state, 1), i32_of(e, 0), "");
}

void emit_resume_op(struct emitter *e)
{
	LLVMValueRef *def = e->inst->def_count ? &e->state->values[e->inst->defs[0].value].uniform : NULL;
	current_masks(e, &e->state->group);
	e->piece = PIECE_GROUP;
	e->w = 1;
	e->mask = NULL;
	switch (e->inst->op) {
	case IR_ARRIVE:
		*def = is_of_block(e) ? arrive_at_barrier(e, e->inst->ptx) : members(e);
		break;
	case IR_ARRIVED:
		take_reduction(e, use(e, 0));
		break;
	case IR_TURN:
		*def = turn(e);
		break;
	case IR_MORE:
		*def = more(e);
		break;
	default:
		e->target->hooks->resume(e, RESUME_OP_LEFT, NULL, 0);
	}
}
