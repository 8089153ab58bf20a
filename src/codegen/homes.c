/* What loops carry around their barriers, with less of it going through memory.
 *
 * *Two values, one home.* A leader's phi has a home, and so has what the end of the loop's body gives it; the edge between them would copy one to the other for each
 * group of the block, and a region with nothing else in it would still go through all of them (a sum in registers of a product of
 * tiles: a quarter of its loads and stores). Where neither is read after the other is written they are one (Chaitin, "Register
 * allocation and spilling via graph coloring", 1982: coalescing), and nothing is copied.
 *
 * Homes are read where a region begins only, so that is where the question is asked: no way leads from where one is written to the
 * beginning of a region that reads the other, but by where that is written again.
 *
 * *Steps that the block agrees on.* An address that each group has of its own, and that goes on by as much for all of them, stays in its home as
 * the loop began with it; what has been added since is one number for the block, in a register (of two induction variables, one per
 * lane and one for all: Allen, Cocke and Kennedy, "Reduction of operator strength", 1981, the other way round). */
#include <stdlib.h>

#include "codegen/state.h"
#include "codegen/values.h"
#include "isa_emit.h"

struct homes {
	struct emitter *e;
	struct home *homes;
	const bool *reads; /* by region and value */
	uint32_t *work;
	bool *seen;
};

static bool is_read_at(const struct homes *h, uint32_t block, uint32_t value)
{
	uint32_t region = h->e->ir->blocks.data[block].region;
	return region != IR_NONE && h->e->ir->leaders[region] == block && h->reads[region * h->e->ir->values.count + value];
}

static void go_to(struct homes *h, uint32_t block, uint32_t *count)
{
	if (!h->seen[block])
		h->work[(*count)++] = block;
	h->seen[block] = true;
}

/* Is `value` read on a way from the end of `from`, or from its beginning, that does not go through `writer`? */
static bool is_read_after(struct homes *h, uint32_t from, bool from_end, uint32_t value, uint32_t writer)
{
	const struct ir_func *ir = h->e->ir;
	uint32_t count = 0;
	memset(h->seen, 0, ir->blocks.count);
	if (!from_end)
		go_to(h, from, &count);
	for (uint32_t s = 0; from_end && s < ir->blocks.data[from].succ_count; s++)
		go_to(h, ir->blocks.data[from].succs[s], &count);
	while (count) {
		uint32_t block = h->work[--count];
		if (block == writer)
			continue;
		if (is_read_at(h, block, value))
			return true;
		for (uint32_t s = 0; s < ir->blocks.data[block].succ_count; s++)
			go_to(h, ir->blocks.data[block].succs[s], &count);
	}
	return false;
}

static const struct ir_inst *definition(const struct emitter *e, uint32_t value)
{
	const struct ir_value *v = value == IR_NONE ? NULL : &e->ir->values.data[value];
	return v && v->block != IR_NONE && v->inst != IR_NONE ? &e->ir->blocks.data[v->block].insts.data[v->inst] : NULL;
}

uint32_t homes_source(const struct emitter *e, uint32_t value)
{
	for (;;) {
		const struct ir_inst *inst = definition(e, value);
		bool copy = inst && inst->use_count == 1 && inst->def_count == 1 && inst->defs[0].old == IR_NONE && (!inst->ptx || !inst->ptx->guard) &&
			    (inst->op == IR_COPY || (inst->op == IR_PTX && inst->ptx->form->row->opcode_id == OP_mov)) &&
			    inst->uses[0].value != IR_NONE && e->ir->values.data[inst->uses[0].value].type == e->ir->values.data[value].type;
		if (!copy)
			return value;
		value = inst->uses[0].value;
	}
}

/* Does the edge give the phi just what it is given, in the same form? */
static bool is_copy(struct emitter *e, uint32_t phi, uint32_t argument)
{
	const struct ir_value *to = &e->ir->values.data[phi], *from = &e->ir->values.data[argument];
	return to->type == from->type && to->shape.kind == from->shape.kind && to->shape.exact == from->shape.exact &&
	       (to->shape.kind != IR_AFFINE || to->shape.stride == from->shape.stride) && to->shape.linear == from->shape.linear &&
	       (to->flags & IR_RAW_NAN || !(from->flags & IR_RAW_NAN)) && fission_home_bytes(e, phi) == fission_home_bytes(e, argument);
}

static bool may_share(struct homes *h, uint32_t phi, uint32_t argument)
{
	if (argument == IR_NONE || argument == phi || h->homes[argument].kind != HOME_GROUP || h->homes[argument].with != IR_NONE || h->homes[argument].steps ||
	    !is_copy(h->e, phi, argument))
		return false;
	uint32_t leader = h->e->ir->values.data[phi].block, definition = h->e->ir->values.data[argument].block;
	bool by_edges = fission_leads(h->e, definition) && h->e->ir->values.data[argument].inst == IR_NONE; /* else in the block */
	return definition != leader && !is_read_after(h, definition, !by_edges, phi, leader) &&
	       !is_read_after(h, leader, false, argument, definition);
}

/* Lanes that come from one region by two ways would write over what the others have brought. */
static bool is_entered_once_a_region(const struct emitter *e, const struct ir_block *leader)
{
	for (size_t p = 0; p < leader->preds.count; p++)
		for (size_t q = 0; q < p; q++)
			if (e->ir->blocks.data[leader->preds.data[p]].region == e->ir->blocks.data[leader->preds.data[q]].region)
				return false;
	return true;
}

/* The instruction that adds to the phi what the block agrees on, or NULL. */
static const struct ir_inst *step_of(struct emitter *e, uint32_t phi, uint32_t argument)
{
	const struct ir_inst *add = definition(e, argument);
	bool of_phi = false;
	if (!add || add->op != IR_PTX || add->ptx->guard || add->ptx->form->row->opcode_id != OP_add || add->def_count != 1 ||
	    e->ir->values.data[argument].type != e->ir->values.data[phi].type)
		return NULL;
	for (unsigned u = 0; u < add->use_count; u++) {
		uint32_t value = add->uses[u].value;
		if (value == IR_NONE || (value != phi && !e->ir->values.data[value].block_uniform) || (value == phi && of_phi))
			return NULL;
		of_phi |= value == phi;
	}
	for (unsigned i = 1; i < add->ptx->operand_count; i++)
		if (add->ptx->operands[i].kind != PTX_OP_REGISTER && add->ptx->operands[i].kind != PTX_OP_IMMEDIATE)
			return NULL;
	return of_phi ? add : NULL;
}

/* Does the loop add nothing to the phi but what the block agrees on? */
static bool goes_in_steps(const struct homes *h, const struct ir_block *leader, const struct ir_phi *phi)
{
	const struct ir_value *v = &h->e->ir->values.data[phi->value];
	unsigned steps = 0;
	if (h->homes[phi->value].kind != HOME_GROUP || v->shape.kind != IR_AFFINE || v->type == PTX_PRED ||
	    fission_home_bytes(h->e, phi->value) != h->e->chunks * ptx_type_bits(v->type) / 8)
		return false;
	for (size_t p = 0; p < leader->preds.count; p++)
		steps += step_of(h->e, phi->value, homes_source(h->e, phi->arguments[p])) != NULL;
	return steps && steps < leader->preds.count;
}

bool homes_step(struct emitter *e, struct home *homes, uint32_t phi, uint32_t argument)
{
	const struct ir_inst *add = step_of(e, phi, homes_source(e, argument));
	LLVMTypeRef type = int_type(e, ptx_type_bits(e->ir->values.data[phi].type));
	LLVMValueRef by = NULL;
	if (!add) {
		LLVMBuildStore(e->b, LLVMConstNull(type), homes[phi].steps);
		return false;
	}
	for (unsigned u = 0; u < add->use_count; u++)
		if (add->uses[u].value != phi)
			by = as_int(e, read_uniform(e, add->uses[u].value));
	for (unsigned i = 1; i < add->ptx->operand_count; i++)
		if (add->ptx->operands[i].kind == PTX_OP_IMMEDIATE)
			by = LLVMConstInt(type, add->ptx->operands[i].bits, 0);
	LLVMBuildStore(e->b, LLVMBuildAdd(e->b, homes[phi].added, by, ""), homes[phi].steps);
	return true;
}

static void share_of_leader(struct homes *h, uint32_t block)
{
	const struct ir_block *b = &h->e->ir->blocks.data[block];
	for (size_t q = 0; q < b->phis.count; q++) {
		uint32_t phi = b->phis.data[q].value;
		if (goes_in_steps(h, b, &b->phis.data[q])) {
			h->homes[phi].steps = entry_alloca(h->e, int_type(h->e, ptx_type_bits(h->e->ir->values.data[phi].type)), "steps");
			continue;
		}
		/* One argument: several would have to get on with each other too. */
		for (size_t p = 0; p < b->preds.count && h->homes[phi].kind == HOME_GROUP && h->homes[phi].with == IR_NONE; p++) {
			uint32_t argument = homes_source(h->e, b->phis.data[q].arguments[p]);
			if (may_share(h, phi, argument))
				h->homes[phi].with = argument, h->homes[argument].with = phi;
		}
	}
}

void homes_share(struct emitter *e, struct home *homes, const bool *reads)
{
	struct homes h = { .e = e, .homes = homes, .reads = reads };
	h.work = malloc((e->ir->blocks.count + 1) * sizeof *h.work);
	h.seen = malloc(e->ir->blocks.count + 1);
	for (uint32_t r = 0; r < e->ir->region_count && h.work && h.seen; r++)
		if (is_entered_once_a_region(e, &e->ir->blocks.data[e->ir->leaders[r]]))
			share_of_leader(&h, e->ir->leaders[r]);
	free(h.work);
	free(h.seen);
}
