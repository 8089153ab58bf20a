/* Do any lanes of a group take a branch, do all? Where the branch compares a number that goes up or down along the lanes (an index) with
 * one that is the same in all (a bound), the group's first and last lane tell: two scalar comparisons in place of a vector of them.
 * The shape is uniform.c's; its range says that nothing comes round within the group. */
#include "codegen/state.h"

#include "isa_emit.h"

struct ends {
	const struct ptx_operand *index, *bound;
	enum ptx_type type;
	struct ir_shape shape; /* the index's */
	LLVMIntPredicate predicate; /* index ? bound */
};

static struct ir_shape operand_shape(struct emitter *e, const struct ir_inst *inst, const struct ptx_operand *op)
{
	struct ir_shape varying = { .kind = IR_VARYING }, uniform = { .kind = IR_UNIFORM };
	if (op->kind == PTX_OP_IMMEDIATE)
		return uniform;
	for (unsigned i = 0; i < inst->use_count; i++)
		if (inst->uses[i].operand == op)
			return inst->uses[i].value == IR_NONE ? uniform : e->ir->values.data[inst->uses[i].value].shape;
	return varying;
}

static bool find_predicate(const struct ptx_form *form, bool is_signed, LLVMIntPredicate *predicate)
{
	static const struct {
		enum ptx_mod mod;
		LLVMIntPredicate of_signed, of_unsigned;
	} table[] = {
		{ MOD_eq, LLVMIntEQ, LLVMIntEQ },   { MOD_ne, LLVMIntNE, LLVMIntNE },   { MOD_lt, LLVMIntSLT, LLVMIntULT },
		{ MOD_le, LLVMIntSLE, LLVMIntULE }, { MOD_gt, LLVMIntSGT, LLVMIntUGT }, { MOD_ge, LLVMIntSGE, LLVMIntUGE },
		{ MOD_lo, LLVMIntULT, LLVMIntULT }, { MOD_ls, LLVMIntULE, LLVMIntULE }, { MOD_hi, LLVMIntUGT, LLVMIntUGT },
		{ MOD_hs, LLVMIntUGE, LLVMIntUGE },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
		if (ptx_has(form, table[i].mod)) {
			*predicate = is_signed ? table[i].of_signed : table[i].of_unsigned;
			return true;
		}
	return false;
}

/* a ? b as b ? a */
static LLVMIntPredicate turned(LLVMIntPredicate predicate)
{
	switch (predicate) {
	case LLVMIntSLT: return LLVMIntSGT;
	case LLVMIntSLE: return LLVMIntSGE;
	case LLVMIntSGT: return LLVMIntSLT;
	case LLVMIntSGE: return LLVMIntSLE;
	case LLVMIntULT: return LLVMIntUGT;
	case LLVMIntULE: return LLVMIntUGE;
	case LLVMIntUGT: return LLVMIntULT;
	case LLVMIntUGE: return LLVMIntULE;
	default: return predicate;
	}
}

/* The comparison that makes the condition, if it is of that kind and its operands can be read where the builder stands. */
static const struct ir_inst *find_any_comparison(struct emitter *e, uint32_t condition, struct ends *ends)
{
	const struct ir_value *v = &e->ir->values.data[condition];
	if (v->block == IR_NONE || v->inst == IR_NONE || fission_crosses(e, condition, e->state->node) ||
	    (e->state->values[condition].needs_slots && v->block != e->state->node))
		return NULL;
	const struct ir_inst *inst = &e->ir->blocks.data[v->block].insts.data[v->inst];
	if (inst->op != IR_PTX || inst->ptx->form->row->opcode_id != OP_setp || inst->ptx->guard || inst->def_count != 1 ||
	    inst->ptx->operand_count != 3 || inst->ptx->operands[0].kind != PTX_OP_REGISTER)
		return NULL;
	ends->type = inst->ptx->form->types[0];
	bool is_signed = ends->type == PTX_S32 || ends->type == PTX_S64;
	if (!is_signed && ends->type != PTX_U32 && ends->type != PTX_U64 && ends->type != PTX_B32 && ends->type != PTX_B64)
		return NULL;
	const struct ptx_operand *a = &inst->ptx->operands[1], *b = &inst->ptx->operands[2];
	struct ir_shape of_a = operand_shape(e, inst, a), of_b = operand_shape(e, inst, b);
	if (!find_predicate(inst->ptx->form, is_signed, &ends->predicate))
		return NULL;
	bool turn = of_a.kind == IR_UNIFORM;
	ends->index = turn ? b : a;
	ends->bound = turn ? a : b;
	ends->shape = turn ? of_b : of_a;
	if (turn)
		ends->predicate = turned(ends->predicate);
	if ((turn ? of_a : of_b).kind != IR_UNIFORM || ends->shape.kind != IR_AFFINE || !ends->shape.linear || !ends->shape.exact ||
	    !ends->shape.stride || ends->index->kind != PTX_OP_REGISTER ||
	    ptx_type_bits(ends->index->reg->type) != ptx_type_bits(ends->type))
		return NULL;
	return inst;
}

/* … where the range says that nothing comes round. */
static const struct ir_inst *find_comparison(struct emitter *e, uint32_t condition, struct ends *ends)
{
	const struct ir_inst *inst = find_any_comparison(e, condition, ends);
	if (!inst)
		return NULL;
	bool is_signed = ends->type == PTX_S32 || ends->type == PTX_S64;
	/* signed numbers that do not come round; as unsigned ones, none below zero */
	int64_t most = ptx_type_bits(ends->type) == 64 ? INT64_MAX : INT32_MAX;
	if ((ends->shape.low <= -most && ends->shape.high >= most) || (!is_signed && ends->shape.low < 0))
		return NULL;
	return inst;
}

static LLVMValueRef read_scalar(struct emitter *e, const struct ir_inst *inst, const struct ptx_operand *op, enum ptx_type type)
{
	const struct ir_inst *old = e->inst;
	e->inst = inst;
	e->piece = PIECE_BASE;
	e->chunk = 0;
	e->w = 1;
	LLVMValueRef v = value_of(e, op, type);
	e->inst = old;
	return v;
}

bool ends_of_branch(struct emitter *e, uint32_t condition, bool negated, LLVMValueRef *any, LLVMValueRef *all)
{
	struct ends ends;
	const struct ir_inst *inst = condition == IR_NONE || e->lanes == 1 ? NULL : find_comparison(e, condition, &ends);
	if (!inst)
		return false;
	bool equal = ends.predicate == LLVMIntEQ || ends.predicate == LLVMIntNE;
	if (equal && ends.shape.stride != 1)
		return false;
	LLVMValueRef first = read_scalar(e, inst, ends.index, ends.type), bound = read_scalar(e, inst, ends.bound, ends.type);
	LLVMValueRef span = LLVMConstInt(LLVMTypeOf(first), (uint64_t)ends.shape.stride * (e->lanes - 1), 0);
	LLVMValueRef last = LLVMBuildAdd(e->b, first, span, "");
	LLVMValueRef yes, no, of_first, of_last; /* yes: some lane's is true; no: some lane's is false */
	if (equal) {
		of_first = LLVMBuildICmp(e->b, LLVMIntSLE, first, bound, "");
		of_last = LLVMBuildICmp(e->b, LLVMIntSGE, last, bound, "");
		yes = LLVMBuildAnd(e->b, of_first, of_last, "");
		no = LLVMConstInt(int_type(e, 1), 1, 0);
		if (ends.predicate == LLVMIntNE) {
			LLVMValueRef other = yes;
			yes = no;
			no = other;
		}
	} else {
		bool below = ends.predicate == LLVMIntSLT || ends.predicate == LLVMIntSLE || ends.predicate == LLVMIntULT ||
			     ends.predicate == LLVMIntULE;
		of_first = LLVMBuildICmp(e->b, ends.predicate, first, bound, "");
		of_last = LLVMBuildICmp(e->b, ends.predicate, last, bound, "");
		bool first_is_likelier = below == (ends.shape.stride > 0);
		yes = first_is_likelier ? of_first : of_last;
		no = LLVMBuildNot(e->b, first_is_likelier ? of_last : of_first, "");
	}
	*any = negated ? no : yes;
	*all = LLVMBuildNot(e->b, negated ? yes : no, "");
	return true;
}

/* ---- votes -------------------------------------------------------------------------------------------------------------- */

/* Is the last lane's number less than once around from the first's? Then that it is not out of order says that nothing came round. */
static bool is_within_one_round(const struct emitter *e, const struct ends *ends)
{
	uint64_t stride = ends->shape.stride < 0 ? -(uint64_t)ends->shape.stride : (uint64_t)ends->shape.stride;
	unsigned bits = ptx_type_bits(ends->type);
	return stride <= (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1) / (e->lanes > 1 ? e->lanes - 1 : 1);
}

/* Where first and last lane say the same, and nothing comes round between them, all lanes do. */
static bool vote_of_comparison(struct emitter *e, uint32_t condition, LLVMValueRef *yes, LLVMValueRef *no)
{
	struct ends ends;
	const struct ir_inst *inst = find_any_comparison(e, condition, &ends);
	if (!inst || ends.predicate == LLVMIntEQ || ends.predicate == LLVMIntNE || !is_within_one_round(e, &ends))
		return false;
	bool is_signed = ends.type == PTX_S32 || ends.type == PTX_S64, up = ends.shape.stride > 0;
	LLVMValueRef first = read_scalar(e, inst, ends.index, ends.type), bound = read_scalar(e, inst, ends.bound, ends.type);
	LLVMValueRef last = LLVMBuildAdd(e->b, first, LLVMConstInt(LLVMTypeOf(first), (uint64_t)ends.shape.stride * (e->lanes - 1), 0), "");
	LLVMValueRef of_first = LLVMBuildICmp(e->b, ends.predicate, first, bound, "");
	LLVMValueRef of_last = LLVMBuildICmp(e->b, ends.predicate, last, bound, "");
	bool below = ends.predicate == LLVMIntSLT || ends.predicate == LLVMIntSLE || ends.predicate == LLVMIntULT || ends.predicate == LLVMIntULE;
	LLVMIntPredicate order = is_signed ? (up ? LLVMIntSLE : LLVMIntSGE) : (up ? LLVMIntULE : LLVMIntUGE);
	LLVMValueRef in_order = LLVMBuildICmp(e->b, order, first, last, "");
	*yes = LLVMBuildAnd(e->b, in_order, below == up ? of_last : of_first, "");
	*no = LLVMBuildAnd(e->b, in_order, LLVMBuildNot(e->b, below == up ? of_first : of_last, ""), "");
	return true;
}

static bool vote_of(struct emitter *e, uint32_t condition, unsigned depth, LLVMValueRef *yes, LLVMValueRef *no)
{
	LLVMValueRef other_yes, other_no;
	const struct ir_value *v = &e->ir->values.data[condition];
	if (v->shape.kind == IR_UNIFORM) {
		e->piece = PIECE_UNIFORM;
		e->w = 1;
		*yes = read_uniform(e, condition);
		*no = LLVMBuildNot(e->b, *yes, "");
		return true;
	}
	if (vote_of_comparison(e, condition, yes, no))
		return true;
	if (!depth || v->block != e->state->node || v->inst == IR_NONE)
		return false;
	const struct ir_inst *inst = &e->ir->blocks.data[v->block].insts.data[v->inst];
	if (inst->op != IR_PTX || inst->ptx->guard || inst->use_count != 2 || inst->uses[0].value == IR_NONE || inst->uses[1].value == IR_NONE)
		return false;
	unsigned opcode = inst->ptx->form->row->opcode_id;
	if ((opcode != OP_or && opcode != OP_and) || inst->ptx->operands[1].negated || inst->ptx->operands[2].negated ||
	    !vote_of(e, inst->uses[0].value, depth - 1, yes, no) || !vote_of(e, inst->uses[1].value, depth - 1, &other_yes, &other_no))
		return false;
	*yes = opcode == OP_or ? LLVMBuildOr(e->b, *yes, other_yes, "") : LLVMBuildAnd(e->b, *yes, other_yes, "");
	*no = opcode == OP_or ? LLVMBuildAnd(e->b, *no, other_no, "") : LLVMBuildOr(e->b, *no, other_no, "");
	return true;
}

bool votes_by_ends(struct emitter *e, uint32_t condition, LLVMValueRef *yes, LLVMValueRef *no)
{
	return vote_of(e, condition, 4, yes, no);
}
