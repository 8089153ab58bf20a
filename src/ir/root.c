/* Which of the kernel's parameters an address comes from: through sums, of which one side alone is a pointer, conversions between windows, and
 * loops that step. What two parameters point to may be the same memory; but nobody hands things from lane to lane that way. */
#include "ir/each.h"
#include "ir/flatten.h"
#include "isa_mods.h"

#include <stdlib.h>

enum { DEEPEST = 200 };

struct roots {
	const struct ir_func *func;
	unsigned depth;
	bool *busy;              /* by value: the search comes from there */
};

static const struct ptx_operand *root_of(struct roots *r, uint32_t value, bool *none);

static const struct ptx_operand *root_of_operand(struct roots *r, const struct ir_inst *inst, const struct ptx_operand *op, bool *none)
{
	for (unsigned u = 0; u < inst->use_count; u++)
		if (inst->uses[u].operand == op)
			return root_of(r, inst->uses[u].value, none);
	return NULL;
}

static const struct ptx_operand *root_of_result(struct roots *r, const struct ir_inst *inst, bool *none)
{
	const struct ptx_instruction *in = inst->ptx;
	const struct ptx_operand *a, *b;
	if (inst->op == IR_COPY && inst->use_count == 1)
		return root_of(r, inst->uses[0].value, none);
	if (inst->op != IR_PTX || inst->def_count != 1 || inst->defs[0].old != IR_NONE || in->guard)
		return NULL;
	switch (in->form->row->opcode_id) {
	case OP_ld:
		return in->form->space == PTX_SPACE_PARAM && ptx_type_bits(in->form->types[0]) == 64 && in->form->vector == 1 ? &in->operands[1] : NULL;
	case OP_mov:
	case OP_cvta:
		return root_of_operand(r, inst, &in->operands[1], none);
	case OP_mad:
		return root_of_operand(r, inst, &in->operands[3], none);
	case OP_add:
		a = root_of_operand(r, inst, &in->operands[1], none);
		b = root_of_operand(r, inst, &in->operands[2], none);
		return a && b ? NULL : a ? a : b;
	default:
		return NULL;
	}
}

bool ir_same_root(const struct ptx_operand *a, const struct ptx_operand *b)
{
	return a && b && a->kind == PTX_OP_ADDRESS && b->kind == PTX_OP_ADDRESS && a->parts[0].kind == PTX_OP_SYMBOL &&
	       b->parts[0].kind == PTX_OP_SYMBOL && a->parts[0].symbol == b->parts[0].symbol && a->offset == b->offset;
}

static const struct ptx_operand *root_of_phi(struct roots *r, const struct ir_block *b, uint32_t value, bool *none)
{
	const struct ptx_operand *root = NULL;
	for (size_t q = 0; q < b->phis.count; q++)
		for (size_t p = 0; p < b->preds.count && b->phis.data[q].value == value; p++) {
			bool round = false;
			const struct ptx_operand *one = root_of(r, b->phis.data[q].arguments[p], &round);
			if (!one && round) /* back where the search comes from */
				continue;
			if (!one || (root && !ir_same_root(root, one)))
				return NULL;
			root = one;
		}
	*none |= !root;
	return root;
}

/* NULL: not known; with *none set: the value goes round a loop, and says nothing by itself. */
static const struct ptx_operand *root_of(struct roots *r, uint32_t value, bool *none)
{
	if (value == IR_NONE || r->depth > DEEPEST)
		return NULL;
	const struct ir_value *v = &r->func->values.data[value];
	if (v->block == IR_NONE || ptx_type_bits(v->type) != 64)
		return NULL;
	if (r->busy[value]) {
		*none = true;
		return NULL;
	}
	const struct ir_block *b = &r->func->blocks.data[v->block];
	r->busy[value] = true;
	r->depth++;
	const struct ptx_operand *root = v->inst == IR_NONE ? root_of_phi(r, b, value, none) : root_of_result(r, &b->insts.data[v->inst], none);
	r->depth--;
	r->busy[value] = false;
	return root;
}

const struct ptx_operand *ir_find_root(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op)
{
	struct roots r = { func, 0, calloc(func->values.count + 1, 1) };
	bool none = false;
	const struct ptx_operand *base = op->kind == PTX_OP_ADDRESS ? &op->parts[0] : op;
	const struct ptx_operand *root = r.busy && base->kind == PTX_OP_REGISTER ? root_of_operand(&r, inst, base, &none) : NULL;
	free(r.busy);
	return root && root->kind == PTX_OP_ADDRESS && root->parts[0].kind == PTX_OP_SYMBOL ? root : NULL;
}
