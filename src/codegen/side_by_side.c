/* Places in shared memory that lanes have read side by side, as a histogram's have: counts[values[i] & 255]++.
 *
 * The lanes' values are one load, a shift and a mask of a vector, and then each lane needs its own in a register of its own: moves out of
 * a vector are few in a cycle, and take long. The machine reads from memory as fast, so where nothing has been written since, each two lanes
 * are read once more, as one word, and the lane computes its place by itself. */
#include "codegen/memory.h"
#include "codegen/values.h"

enum { DEEPEST = 8, LANE_BITS = 32 };

static bool is_plain_load(const struct ptx_instruction *in)
{
	const struct isa_row *row = in->form->row;
	return row->shape == SHAPE_load && in->form->space == PTX_SPACE_GLOBAL && !in->guard && in->operand_count == 2 &&
	       in->operands[0].kind == PTX_OP_REGISTER;
}

/* The place of an instruction in the block of the one that is being emitted, if it is there and in front of it. */
static const struct ir_inst *made_in_this_block(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = ir_value(e, value);
	if (v->block == IR_NONE || v->inst == IR_NONE)
		return NULL;
	const struct ir_block *block = &e->ir->blocks.data[v->block];
	const struct ir_inst *made = &block->insts.data[v->inst];
	return e->inst > made && e->inst < block->insts.data + block->insts.count ? made : NULL;
}

static bool writes_nothing(const struct ir_inst *inst)
{
	return inst->op == IR_COPY || (inst->op == IR_PTX && inst->ptx->form->row->flags & ISA_PURE);
}

/* Is it of one load of global memory and what is the same in all lanes, and has nothing been written since? Nobody else may have a use for what
 * was loaded: were another block to write there meanwhile, they would see two numbers. */
static bool is_of_one_load(struct emitter *e, const struct ptx_operand *place)
{
	uint32_t value = used_value(e, place);
	for (unsigned depth = 0; value != IR_NONE && depth < DEEPEST; depth++) {
		const struct ir_inst *made = made_in_this_block(e, value);
		if (!made || made->op != IR_PTX || ir_value(e, value)->uses != 1)
			return false;
		if (is_plain_load(made->ptx)) {
			while (++made < e->inst)
				if (!writes_nothing(made))
					return false;
			return true;
		}
		value = IR_NONE;
		for (unsigned u = 0; u < made->use_count; u++) {
			if (made->uses[u].value == IR_NONE || ir_value(e, made->uses[u].value)->shape.kind == IR_UNIFORM)
				continue;
			if (value != IR_NONE && value != made->uses[u].value)
				return false;
			value = made->uses[u].value;
		}
	}
	return false;
}

static bool is_lanewise(LLVMOpcode op)
{
	return op == LLVMAnd || op == LLVMOr || op == LLVMXor || op == LLVMAdd || op == LLVMSub || op == LLVMMul || op == LLVMShl || op == LLVMLShr;
}

static bool is_resized(LLVMOpcode op)
{
	return op == LLVMTrunc || op == LLVMZExt || op == LLVMSExt;
}

/* What all lanes have; NULL: it is not so. */
static LLVMValueRef splat_source(LLVMValueRef v)
{
	if (LLVMIsAConstantAggregateZero(v))
		return LLVMConstNull(LLVMGetElementType(LLVMTypeOf(v)));
	if (LLVMIsAConstantDataVector(v) || LLVMIsAConstantVector(v)) {
		LLVMValueRef first = LLVMGetAggregateElement(v, 0);
		for (unsigned i = 1; i < LLVMGetVectorSize(LLVMTypeOf(v)); i++)
			if (LLVMGetAggregateElement(v, i) != first)
				return NULL;
		return first;
	}
	if (!LLVMIsAShuffleVectorInst(v) || !LLVMIsAInsertElementInst(LLVMGetOperand(v, 0)))
		return NULL;
	for (unsigned i = 0; i < LLVMGetNumMaskElements(v); i++)
		if (LLVMGetMaskValue(v, (int)i))
			return NULL;
	LLVMValueRef insert = LLVMGetOperand(v, 0), index = LLVMGetOperand(insert, 2);
	return LLVMIsAConstantInt(index) && !LLVMConstIntGetZExtValue(index) ? LLVMGetOperand(insert, 1) : NULL;
}

/* Shifts choose by how far they go, which is known here. */
static LLVMValueRef chosen(LLVMValueRef v)
{
	LLVMValueRef condition = LLVMIsASelectInst(v) ? splat_source(LLVMGetOperand(v, 0)) : NULL;
	if (!condition || !LLVMIsAConstantInt(condition))
		return v;
	return LLVMGetOperand(v, LLVMConstIntGetZExtValue(condition) ? 1 : 2);
}

/* The load that `v` comes of, lane by lane; NULL: of none, or of more. */
static LLVMValueRef load_below(struct emitter *e, LLVMValueRef v, unsigned depth)
{
	v = chosen(v);
	if (LLVMIsALoadInst(v))
		return type_lane_bits(LLVMTypeOf(v)) == LANE_BITS && !LLVMGetVolatile(v) ? v : NULL;
	if (!LLVMIsAInstruction(v) || depth == DEEPEST)
		return NULL;
	LLVMOpcode op = LLVMGetInstructionOpcode(v);
	if (is_resized(op))
		return load_below(e, LLVMGetOperand(v, 0), depth + 1);
	if (!is_lanewise(op))
		return NULL;
	LLVMValueRef left = LLVMGetOperand(v, 0), right = LLVMGetOperand(v, 1);
	if (splat_source(right))
		return load_below(e, left, depth + 1);
	return splat_source(left) ? load_below(e, right, depth + 1) : NULL;
}

LLVMValueRef words_side_by_side(struct emitter *e, const struct ptx_operand *place, LLVMValueRef offsets)
{
	if (is_quick(e) || e->w % 2 || e->w == 1 || !is_of_one_load(e, place))
		return NULL;
	return load_below(e, offsets, 0);
}

/* Two lanes' words, once for both as long as the code is in one piece. */
static LLVMValueRef pair_of(struct emitter *e, LLVMValueRef words, unsigned pair)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	struct word_pair *last = &e->state->last_pair;
	if (last->words == words && last->number == pair && last->block == LLVMGetInsertBlock(e->b))
		return last->value;
	LLVMValueRef index = LLVMConstInt(i64, pair, false);
	LLVMValueRef at = LLVMBuildGEP2(e->b, i64, LLVMGetOperand(words, 0), &index, 1, "");
	*last = (struct word_pair){ words, pair, LLVMGetInsertBlock(e->b), LLVMBuildLoad2(e->b, i64, at, "two") };
	LLVMSetAlignment(last->value, LANE_BITS / 8);
	return last->value;
}

LLVMValueRef lane_of_words(struct emitter *e, LLVMValueRef words, LLVMValueRef v, unsigned lane)
{
	LLVMTypeRef type = element_type(LLVMTypeOf(v));
	v = chosen(v);
	if (v == words) {
		LLVMValueRef two = pair_of(e, words, lane / 2);
		if (lane % 2)
			two = LLVMBuildLShr(e->b, two, LLVMConstInt(LLVMTypeOf(two), LANE_BITS, false), "");
		return LLVMBuildTrunc(e->b, two, type, "");
	}
	LLVMValueRef same = splat_source(v);
	if (same)
		return same;
	LLVMOpcode op = LLVMGetInstructionOpcode(v);
	LLVMValueRef left = lane_of_words(e, words, LLVMGetOperand(v, 0), lane);
	if (is_resized(op))
		return LLVMBuildCast(e->b, op, left, type, "");
	return LLVMBuildBinOp(e->b, op, left, lane_of_words(e, words, LLVMGetOperand(v, 1), lane), "");
}
