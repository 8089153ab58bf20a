/* What memory a kernel will read next, where the machine's prefetchers do not see it coming.
 *
 * Loops that step over memory by more than the machine's prefetchers follow: loops over a grid, a row of 32 lanes here and the next
 * one far away. Each round asks for what the next one will read: lanes side by side, at an address that goes on by a constant
 * (Mowry, Lam and Gupta, "Design and Evaluation of a Compiler Algorithm for Prefetching", 1992).
 *
 * Blocks that compute between barriers ask for what the next ones will read, and where they begin for the lines that they will write: a
 * store whose line is not there holds up all those behind it, to shared memory too, until there is no room for more. */
#include "codegen/memory.h"
#include "codegen/state.h"

#include "isa_emit.h"

#include <stdlib.h>

enum {
	NEAREST = 8 << 10, /* bytes: nearer ones the machine finds itself, or they are in its caches */
	BLOCKS_AHEAD = 2 << 10, /* bytes at least, from block to block */
	LINE = 64,
	MOST_WRITTEN = 4, /* stores of a kernel whose lines are asked for */
	DEEPEST = 8
};

static const struct ir_inst *definition(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = &e->ir->values.data[value];
	return v->inst == IR_NONE ? NULL : &e->ir->blocks.data[v->block].insts.data[v->inst];
}

static bool in_loop(struct emitter *e, const struct ir_loop *loop, uint32_t block)
{
	return e->ir->blocks.data[block].order >= loop->first && e->ir->blocks.data[block].order <= loop->last;
}

static bool find_step(struct emitter *e, const struct ir_loop *loop, uint32_t value, unsigned depth, int64_t *step);

static bool operand_step(struct emitter *e, const struct ir_loop *loop, const struct ir_inst *inst, unsigned index, unsigned depth, int64_t *step)
{
	const struct ptx_operand *op = &inst->ptx->operands[index];
	*step = 0;
	if (op->kind != PTX_OP_REGISTER)
		return op->kind == PTX_OP_IMMEDIATE;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (inst->uses[u].operand == op)
			return find_step(e, loop, inst->uses[u].value, depth, step);
	return false;
}

static bool find_constant(struct emitter *e, const struct ir_inst *inst, unsigned index, int64_t *constant)
{
	const struct ptx_operand *op = &inst->ptx->operands[index];
	*constant = (int64_t)op->bits;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (inst->uses[u].operand == op && inst->uses[u].value != IR_NONE) {
			const struct ir_shape shape = e->ir->values.data[inst->uses[u].value].shape;
			*constant = shape.low;
			return shape.kind == IR_UNIFORM && shape.low == shape.high;
		}
	return op->kind == PTX_OP_IMMEDIATE;
}

/* By how much the value has grown a round later. */
static bool find_step(struct emitter *e, const struct ir_loop *loop, uint32_t value, unsigned depth, int64_t *step)
{
	int64_t other, factor;
	*step = 0;
	if (value == IR_NONE || e->ir->values.data[value].block == IR_NONE || !in_loop(e, loop, e->ir->values.data[value].block))
		return true;
	const struct ir_value *v = &e->ir->values.data[value];
	const struct ir_inst *inst = definition(e, value);
	if (!depth)
		return false;
	if (!inst) { /* a phi of the loop's: what comes back is so much more */
		const struct ir_block *b = &e->ir->blocks.data[v->block];
		for (size_t q = 0; v->block == loop->header && q < b->phis.count; q++)
			for (size_t p = 0; b->phis.data[q].value == value && p < b->preds.count; p++) {
				uint32_t back = b->phis.data[q].arguments[p];
				if (!in_loop(e, loop, b->preds.data[p]))
					continue;
				const struct ir_inst *add = back == IR_NONE ? NULL : definition(e, back);
				if (!add || add->op != IR_PTX || add->ptx->guard || add->ptx->form->row->opcode_id != OP_add || add->use_count > 2)
					return false;
				bool first = add->uses[0].value == value && add->uses[0].operand == &add->ptx->operands[1];
				return first && find_constant(e, add, 2, step);
			}
		return false;
	}
	if (inst->op != IR_PTX || inst->ptx->guard || inst->def_count != 1)
		return false;
	switch (inst->ptx->form->row->opcode_id) {
	case OP_add:
		if (!operand_step(e, loop, inst, 1, depth - 1, step) || !operand_step(e, loop, inst, 2, depth - 1, &other))
			return false;
		*step += other;
		return true;
	case OP_mul:
	case OP_shl:
		if (!operand_step(e, loop, inst, 1, depth - 1, step) || !find_constant(e, inst, 2, &factor) || factor < 0 || factor > 1 << 16)
			return false;
		*step *= inst->ptx->form->row->opcode_id == OP_mul ? factor : INT64_C(1) << (factor & 31);
		return true;
	case OP_cvt:
	case OP_cvta:
	case OP_mov:
		return operand_step(e, loop, inst, 1, depth - 1, step);
	default:
		return false;
	}
}

/* By how much the value is more in the next block along x; blocks that follow one another mostly run on one worker. */
static bool find_block_step(struct emitter *e, uint32_t value, unsigned depth, int64_t *step);

static bool operand_block_step(struct emitter *e, const struct ir_inst *inst, unsigned index, unsigned depth, int64_t *step)
{
	const struct ptx_operand *op = &inst->ptx->operands[index];
	*step = op->kind == PTX_OP_SREG && op->sreg == SREG_ctaid && op->component <= 0;
	if (op->kind != PTX_OP_REGISTER)
		return op->kind == PTX_OP_IMMEDIATE || op->kind == PTX_OP_SREG;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (inst->uses[u].operand == op)
			return find_block_step(e, inst->uses[u].value, depth, step);
	return false;
}

static bool find_block_step(struct emitter *e, uint32_t value, unsigned depth, int64_t *step)
{
	const struct ir_inst *inst = value == IR_NONE || e->ir->values.data[value].block == IR_NONE ? NULL : definition(e, value);
	int64_t other, factor;
	if (!inst || !depth || inst->op != IR_PTX || inst->ptx->guard || inst->def_count != 1)
		return false;
	*step = 0;
	switch (inst->ptx->form->row->opcode_id) {
	case OP_ld:
		return inst->ptx->form->space == PTX_SPACE_PARAM;
	case OP_add:
	case OP_or:
		if (!operand_block_step(e, inst, 1, depth - 1, step) || !operand_block_step(e, inst, 2, depth - 1, &other))
			return false;
		*step += other;
		return true;
	case OP_mul:
	case OP_shl:
		if (!operand_block_step(e, inst, 1, depth - 1, step) || !find_constant(e, inst, 2, &factor) || factor < 0 || factor > 1 << 16)
			return false;
		*step *= inst->ptx->form->row->opcode_id == OP_mul ? factor : INT64_C(1) << (factor & 31);
		return true;
	case OP_mad:
		if (!operand_block_step(e, inst, 1, depth - 1, step) || !find_constant(e, inst, 2, &factor) || factor < 0 || factor > 1 << 16 ||
		    !operand_block_step(e, inst, 3, depth - 1, &other))
			return false;
		*step = *step * factor + other;
		return true;
	case OP_cvt:
	case OP_cvta:
	case OP_mov:
		return operand_block_step(e, inst, 1, depth - 1, step);
	default:
		return false;
	}
}

/* Has an access shortly before, from the same base, asked for the line already? */
static bool is_asked_for(struct emitter *e, const struct ptx_operand *op, uint32_t base)
{
	const struct ir_block *b = &e->ir->blocks.data[e->state->node];
	for (const struct ir_inst *i = b->insts.data; i < e->inst; i++) {
		if (i->op != IR_PTX || i->ptx->form->row->opcode_id != e->inst->ptx->form->row->opcode_id)
			continue;
		const struct ptx_operand *other = &i->ptx->operands[op - e->inst->ptx->operands];
		for (unsigned u = 0; u < i->use_count; u++)
			if (other->kind == PTX_OP_ADDRESS && i->uses[u].operand == &other->parts[0] && i->uses[u].value == base &&
			    other->offset - op->offset < LINE && op->offset - other->offset < LINE)
				return true;
	}
	return false;
}

static void ask_for(struct emitter *e, LLVMValueRef from, int64_t further, bool to_write)
{
	LLVMTypeRef i32 = int_type(e, 32), pointer = ptr_type(e);
	LLVMValueRef offset = LLVMConstInt(int_type(e, 64), (uint64_t)further, true);
	LLVMValueRef args[4] = { LLVMBuildGEP2(e->b, int_type(e, 8), from, &offset, 1, ""), LLVMConstInt(i32, to_write, 0), LLVMConstInt(i32, 3, 0),
				 LLVMConstInt(i32, 1, 0) };
	unsigned id = LLVMLookupIntrinsicID("llvm.prefetch", 13);
	LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, &pointer, 1), LLVMGetIntrinsicDeclaration(e->module, id, &pointer, 1), args, 4, "");
}

void prefetch_next(struct emitter *e, const struct ptx_operand *op, struct address address)
{
	const struct ir_block *b = &e->ir->blocks.data[e->state->node];
	int64_t step = 0, bytes = address.stride * e->width;
	bool of_loop = b->fast && b->loop != IR_NONE, of_block = b->loop == IR_NONE && e->state->fission && e->ir->options.block[0];
	if (is_quick(e) || !(of_loop || of_block) || address.kind != ADDRESS_STRIDED || bytes <= 0 || bytes > LINE || e->mask ||
	    (int64_t)e->chunk * bytes % LINE || op->kind != PTX_OP_ADDRESS || op->parts[0].kind != PTX_OP_REGISTER)
		return;
	for (unsigned u = 0; u < e->inst->use_count; u++)
		if (e->inst->uses[u].operand == &op->parts[0] &&
		    !(of_loop ? find_step(e, &e->ir->loops.data[b->loop], e->inst->uses[u].value, DEEPEST, &step) :
				(find_block_step(e, e->inst->uses[u].value, DEEPEST, &step) && !is_asked_for(e, op, e->inst->uses[u].value))))
			return;
	const uint32_t *block = e->ir->options.block;
	if (of_loop ? step < NEAREST && step > -NEAREST : step != address.stride * (int64_t)block[0] || block[1] * block[2] != 1)
		return;
	for (int64_t near = step; of_block && step < BLOCKS_AHEAD;)
		step += near;
	ask_for(e, address.pointer, step, false);
}

/* ---- what a block will write ------------------------------------------------------------------------------------------- */

/* Has block 0 the value, or can it be made there from what it has? Such values are made of few instructions (find_block_step). */
static bool make_early(struct emitter *e, uint32_t value, bool *made)
{
	const struct ir_value *v = &e->ir->values.data[value];
	if (value == IR_NONE || v->block == IR_NONE || v->block == 0 || (made && made[value]))
		return true;
	const struct ir_inst *inst = definition(e, value);
	if (!inst || e->ir->blocks.data[v->block].region == 0)
		return false;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (!make_early(e, inst->uses[u].value, made))
			return false;
	if (!made)
		return true;
	made[value] = true;
	return emit_instruction(e, inst);
}

/* The value that a store of lanes side by side has its address from, a block's threads next to the next block's; IR_NONE: it is no such. */
static uint32_t base_of_store(struct emitter *e, const struct ir_inst *inst)
{
	const uint32_t *block = e->ir->options.block;
	if (inst->op != IR_PTX || inst->ptx->guard || inst->ptx->form->row->opcode_id != OP_st || inst->ptx->form->space != PTX_SPACE_GLOBAL)
		return IR_NONE;
	const struct ptx_operand *op = &inst->ptx->operands[0];
	int64_t step = 0, bytes = inst->ptx->form->vector * ptx_type_bits(inst->ptx->form->types[0]) / 8;
	for (unsigned u = 0; u < inst->use_count && op->kind == PTX_OP_ADDRESS; u++) {
		uint32_t value = inst->uses[u].value;
		if (inst->uses[u].operand != &op->parts[0] || value == IR_NONE)
			continue;
		const struct ir_shape shape = e->ir->values.data[value].shape;
		if (shape.kind == IR_AFFINE && shape.stride == bytes && find_block_step(e, value, DEEPEST, &step) && step == bytes * block[0])
			return value;
	}
	return IR_NONE;
}

/* Do the lanes that begin the region come to the block, once? */
static bool comes_once(struct emitter *e, uint32_t block)
{
	const struct ir_block *b = &e->ir->blocks.data[block];
	uint32_t class = e->state->plan.nodes[block].mask_class;
	return b->region != IR_NONE && b->region != 0 && b->loop == IR_NONE && !b->rare &&
	       (class == e->ir->leaders[b->region] || e->ir->blocks.data[class].region != b->region);
}

void prefetch_written(struct emitter *e)
{
	const uint32_t *block = e->ir->options.block;
	unsigned left = MOST_WRITTEN;
	if (!e->state->fission || is_quick(e) || !block[0] || block[1] * block[2] != 1 || e->lanes == 1 || e->ir->options.check_alignment)
		return;
	bool *made = calloc(e->ir->values.count + 1, 1);
	for (uint32_t i = 0; i < e->ir->order_count; i++) {
		const struct ir_block *b = &e->ir->blocks.data[e->ir->order[i]];
		for (size_t j = 0; j < b->insts.count && left && comes_once(e, e->ir->order[i]); j++) {
			const struct ir_inst *inst = &b->insts.data[j];
			uint32_t base = base_of_store(e, inst);
			if (base == IR_NONE || !make_early(e, base, NULL) || !make_early(e, base, made))
				continue;
			left--;
			e->inst = inst;
			e->piece = PIECE_CHUNK;
			e->w = e->width;
			e->mask = NULL;
			for (e->chunk = 0; e->chunk < e->chunks; e->chunk++) {
				struct address address = emit_address(e, &inst->ptx->operands[0], PTX_SPACE_GLOBAL, 1);
				if (address.kind == ADDRESS_STRIDED && e->chunk * address.stride * e->width % LINE == 0)
					ask_for(e, address.pointer, 0, true);
			}
		}
	}
	free(made);
}
