/* One instruction: the pieces that it is emitted in (emit.h), once, a chunk at a time or as a group, and its guard. */
#include "codegen/values.h"
#include "isa_emit.h"

/* Lanes of the block that the instruction's guard lets through, for one chunk; NULL: all. */
static LLVMValueRef piece_mask(struct emitter *e, const struct lane_masks *block)
{
	LLVMValueRef m = block->full ? NULL : block->chunk[e->chunk];
	if (!has_guard(e->inst))
		return m;
	LLVMValueRef g = read_guard(e);
	if (!is_vector(g) && e->width > 1)
		g = splat(e, g);
	return m ? LLVMBuildAnd(e->b, m, g, "") : g;
}

static const struct isa_emit *emitter_of(const struct ir_inst *inst)
{
	return &isa_emit_table[inst->ptx->form->row->index];
}

static void emit_piece(struct emitter *e)
{
	const struct ir_inst *inst = e->inst;
	if (inst->op == IR_COPY) {
		LLVMValueRef v = value_of(e, inst->source, inst->source_type);
		set_value(e, inst->defs[0].operand, v);
		return;
	}
	const struct isa_emit *how = emitter_of(inst);
	LLVMValueRef args[4];
	unsigned count = inst->ptx->operand_count - 1;
	switch (how->kind) {
	case EMIT_BINARY:
		set_result(e, 0, LLVMBuildBinOp(e->b, (LLVMOpcode)how->llvm_opcode, arg(e, 1), arg(e, 2), ""));
		break;
	case EMIT_INTRINSIC:
		for (unsigned i = 0; i < count && i < 4; i++)
			args[i] = arg(e, i + 1);
		set_result(e, 0, intrinsic(e, how->intrinsic, args, count));
		break;
	default:
		if (!how->emit)
			unsupported(e, "this instruction is not supported yet");
		else
			how->emit(e, inst->ptx);
	}
}

/* Scalar code under a branch on the guard: for what must not run where the guard is false. Results go through an alloca. */
static void emit_branched(struct emitter *e)
{
	const struct ir_inst *inst = e->inst;
	LLVMValueRef slots[16] = { 0 };
	unsigned defs = inst->def_count < 16 ? inst->def_count : 16;
	for (unsigned d = 0; d < defs; d++) {
		uint32_t value = inst->defs[d].value;
		slots[d] = entry_alloca(e, stored_type(e, value, false), "");
		LLVMBuildStore(e->b, read_old(e, &inst->defs[d], false), slots[d]);
	}
	LLVMBasicBlockRef then = new_block(e, "guarded"), after = new_block(e, "after");
	LLVMBuildCondBr(e->b, read_guard(e), then, after);
	LLVMPositionBuilderAtEnd(e->b, then);
	emit_piece(e);
	for (unsigned d = 0; d < defs; d++)
		if (e->state->values[inst->defs[d].value].uniform)
			LLVMBuildStore(e->b, e->state->values[inst->defs[d].value].uniform, slots[d]);
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, after);
	for (unsigned d = 0; d < defs; d++) {
		uint32_t value = inst->defs[d].value;
		e->state->values[value].uniform = LLVMBuildLoad2(e->b, stored_type(e, value, false), slots[d], "");
	}
}

static void emit_once(struct emitter *e)
{
	e->piece = PIECE_UNIFORM;
	e->w = 1;
	e->mask = NULL;
	bool pure = e->inst->op == IR_COPY || e->inst->ptx->form->row->flags & ISA_PURE;
	if (has_guard(e->inst) && !pure)
		emit_branched(e);
	else
		emit_piece(e);
}

/* Slots that hold a group instruction's results as they were before; then what the instruction made of them. */
static LLVMValueRef **group_results(struct emitter *e)
{
	const struct ir_inst *inst = e->inst;
	LLVMValueRef **slots = arena_array(e->state->arena, LLVMValueRef *, inst->def_count + 1u);
	enum piece piece = e->piece;
	unsigned w = e->w;
	for (unsigned d = 0; d < inst->def_count; d++) {
		uint32_t value = inst->defs[d].value;
		bool uniform = ir_value(e, value)->shape.kind == IR_UNIFORM;
		slots[d] = arena_array(e->state->arena, LLVMValueRef, e->chunks);
		e->piece = uniform ? PIECE_UNIFORM : PIECE_CHUNK;
		e->w = uniform ? 1 : e->width;
		for (e->chunk = 0; e->chunk < (uniform ? 1 : e->chunks); e->chunk++) {
			LLVMValueRef old = read_old(e, &inst->defs[d], !uniform);
			slots[d][e->chunk] = entry_alloca(e, stored_type(e, value, !uniform), "");
			LLVMBuildStore(e->b, uniform ? old : splat(e, old), slots[d][e->chunk]);
		}
	}
	e->piece = piece;
	e->w = w;
	return slots;
}

static void group_results_take(struct emitter *e, LLVMValueRef **slots, LLVMBasicBlockRef after)
{
	const struct ir_inst *inst = e->inst;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned d = 0; d < inst->def_count; d++) {
			struct value_code *code = &e->state->values[inst->defs[d].value];
			bool uniform = ir_value(e, inst->defs[d].value)->shape.kind == IR_UNIFORM;
			for (unsigned c = 0; c < (uniform ? 1 : e->chunks); c++) {
				LLVMValueRef *v = uniform ? &code->uniform : &code->chunk[c];
				if (!pass)
					LLVMBuildStore(e->b, *v, slots[d][c]);
				else
					*v = LLVMBuildLoad2(e->b, stored_type(e, inst->defs[d].value, !uniform), slots[d][c], "");
				if (pass && ir_value(e, inst->defs[d].value)->shape.kind == IR_AFFINE)
					code->base[c] = lane_get(e, *v, 0);
			}
		}
		if (!pass) {
			LLVMBuildBr(e->b, after);
			LLVMPositionBuilderAtEnd(e->b, after);
		}
	}
}

static void emit_group(struct emitter *e)
{
	struct lane_masks block;
	LLVMValueRef **results = NULL;
	current_masks(e, &block);
	e->piece = PIECE_GROUP;
	e->w = 1;
	e->mask = NULL;
	e->state->group = block;
	if (has_guard(e->inst) && e->lanes == 1) {
		emit_branched(e);
		return;
	}
	LLVMBasicBlockRef after = NULL;
	if (has_guard(e->inst)) {
		e->piece = PIECE_CHUNK;
		e->w = e->width;
		e->state->group.full = false;
		for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
			e->state->group.chunk[e->chunk] = piece_mask(e, &block);
		e->piece = PIECE_GROUP;
		e->w = 1;
		if (!e->inst->def_count || e->inst->ptx->form->row->flags & ISA_BARRIER) { /* a barrier must not be met by nobody */
			results = group_results(e);
			LLVMValueRef any = e->state->group.chunk[0];
			for (unsigned c = 1; c < e->chunks; c++)
				any = LLVMBuildOr(e->b, any, e->state->group.chunk[c], "");
			LLVMBasicBlockRef then = new_block(e, "some");
			after = new_block(e, "after");
			LLVMBuildCondBr(e->b, any_lane(e, any), then, after);
			LLVMPositionBuilderAtEnd(e->b, then);
		}
	}
	emit_piece(e);
	if (after && !e->state->failed)
		group_results_take(e, results, after);
}

/* Of a chunk whose lanes all take no part. */
static void no_results(struct emitter *e)
{
	for (unsigned d = 0; d < e->inst->def_count; d++) {
		uint32_t value = e->inst->defs[d].value;
		if (ir_value(e, value)->shape.kind != IR_UNIFORM)
			keep(e, value, splat(e, read_old(e, &e->inst->defs[d], true)));
	}
}

static void emit_lanes(struct emitter *e)
{
	const struct ir_inst *inst = e->inst;
	struct lane_masks block;
	current_masks(e, &block);
	bool pure = inst->op == IR_COPY || inst->ptx->form->row->flags & ISA_PURE;
	bool affine = pure && inst->def_count, exact = true, first = true;
	for (unsigned d = 0; d < inst->def_count; d++) {
		const struct ir_value *v = ir_value(e, inst->defs[d].value);
		affine &= v->shape.kind == IR_AFFINE;
		exact &= v->shape.exact && v->type != PTX_PRED;
		first &= first_tells(e, inst->defs[d].value);
	}
	for (e->chunk = 0; e->chunk < e->chunks; e->chunk++) {
		e->mask = NULL;
		if (affine && first && e->chunk) {
			for (unsigned d = 0; d < inst->def_count; d++) {
				struct value_code *code = &e->state->values[inst->defs[d].value];
				code->base[e->chunk] = base_from_first(e, inst->defs[d].value, code->base[0], e->chunk);
			}
		} else if (affine) {
			e->piece = PIECE_BASE;
			e->w = 1;
			emit_piece(e);
		}
		e->piece = PIECE_CHUNK;
		e->w = e->width;
		if (affine && exact) {
			for (unsigned d = 0; d < inst->def_count; d++) {
				struct value_code *code = &e->state->values[inst->defs[d].value];
				LLVMValueRef known = known_base(e, inst->defs[d].value, e->chunk);
				code->base[e->chunk] = known ? known : code->base[e->chunk];
				code->chunk[e->chunk] = spread(e, inst->defs[d].value, as_int(e, code->base[e->chunk]));
				code->chunk[e->chunk] = fit_stored(e, inst->defs[d].value, code->chunk[e->chunk]);
			}
			continue;
		}
		e->mask = pure ? NULL : piece_mask(e, &block);
		if (e->mask && e->mask == LLVMConstAllOnes(LLVMTypeOf(e->mask)))
			e->mask = NULL;
		if (e->mask && LLVMIsNull(e->mask)) /* nobody is here, as is known now */
			no_results(e);
		else
			emit_piece(e);
		for (unsigned d = 0; d < inst->def_count && !affine; d++) {
			struct value_code *code = &e->state->values[inst->defs[d].value];
			if (ir_value(e, inst->defs[d].value)->shape.kind == IR_AFFINE && code->chunk && code->chunk[e->chunk])
				code->base[e->chunk] = LLVMBuildExtractElement(e->b, code->chunk[e->chunk], LLVMConstInt(int_type(e, 32), 0, 0), "");
		}
	}
}

bool emit_instruction(struct emitter *e, const struct ir_inst *inst)
{
	e->inst = inst;
	e->state->emitted++;
	if (inst->op >= IR_LANE_MASK) {
		if (inst->op >= IR_GO)
			emit_exit_op(e);
		else if (inst->op >= IR_ARRIVE)
			emit_resume_op(e);
		else
			emit_lane_op(e);
		for (unsigned d = 0; d < inst->def_count; d++)
			store_copies(e, inst->defs[d].value);
		return true;
	}
	switch (inst->mode) {
	case IR_MODE_ONCE:
		emit_once(e);
		break;
	case IR_MODE_GROUP:
		emit_group(e);
		break;
	default:
		emit_lanes(e);
	}
	if (e->state->failed)
		return false;
	for (unsigned d = 0; d < inst->def_count; d++)
		store_copies(e, inst->defs[d].value);
	return true;
}
