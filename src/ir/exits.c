/* What a lane does behind a loop's exit, before its ways meet again, is done in front of the exit where it is no more than a sum or two.
 *
 * A loop that a compiler has unrolled has many exits, each with a block of its own that says which round it was: `n = n + 5`. Lanes that have
 * left wait until all have, and meanwhile each exit needs a mask of those that took it and a copy of what they had, sixteen of each for a
 * loop unrolled sixteen times. With the sum in front of the branch all exits lead to the same place: one mask, one `n`.
 *
 *     before:  branch p -> out5, next           after:  x = n + 5
 *       out5:  n = n + 5                                 branch p -> done, next
 *              branch -> done                     …       (where n comes as it is: x = n)
 *       done:                                    done:   n = x
 *
 * All lanes make the sum then, which pure instructions allow (speculation; tail merging of exits). Written in variables, SSA is built again. */
#include "ir/flatten.h"

#include <stdlib.h>

enum {
	MOST_WORK = 2,  /* instructions of such a block */
	MOST_EXITS = 256
};

struct exit { /* from -> block -> to becomes from -> to */
	uint32_t from, block, to;
};

struct renamed { /* a variable on its way to a block where exits meet */
	uint32_t to, variable, instead;
};

struct exits {
	struct ir_func *func;
	VEC(struct exit) all;
	VEC(struct renamed) names;
};

static struct ir_block *block_of(struct ir_func *func, uint32_t block)
{
	return &func->blocks.data[block];
}

static bool leads_to(const struct ir_block *b, uint32_t to)
{
	for (uint32_t s = 0; s < b->succ_count; s++)
		if (b->succs[s] == to)
			return true;
	return false;
}

/* May all lanes run it, and is it as good as nothing? */
static bool is_easy(const struct ir_inst *inst)
{
	for (unsigned u = 0; u < inst->use_count; u++)
		if (!inst->uses[u].operand)
			return false; /* a guard */
	if (inst->op == IR_COPY)
		return true;
	if (inst->op != IR_PTX || inst->def_count != 1)
		return false;
	const struct isa_row *row = inst->ptx->form->row;
	return row->flags & ISA_PURE && !(row->flags & (ISA_CONVERGENT | ISA_UNIFORM | ISA_VARYING | ISA_TRAPS)) &&
	       (row->shape == SHAPE_mov || row->opcode_id == OP_add || row->opcode_id == OP_sub || row->opcode_id == OP_selp);
}

static bool is_exit(struct ir_func *func, uint32_t block)
{
	const struct ir_block *b = block_of(func, block);
	if (block == 0 || block == 1 || b->preds.count != 1 || b->end != IR_END_JUMP || b->after_barrier || b->insts.count > MOST_WORK)
		return false;
	const struct ir_block *from = block_of(func, b->preds.data[0]), *to = block_of(func, b->succs[0]);
	if (b->succs[0] == 1 || from->end != IR_END_BRANCH || !from->divergent || from->loop == IR_NONE || from->loop == b->loop ||
	    to->preds.count < 2 || to->after_barrier || leads_to(from, b->succs[0]))
		return false;
	for (uint32_t l = b->loop; l != IR_NONE; l = func->loops.data[l].parent)
		if (l == from->loop)
			return false; /* a loop within the loop */
	for (size_t i = 0; i < b->insts.count; i++)
		if (!is_easy(&b->insts.data[i]))
			return false;
	return true;
}

static void find_exits(struct exits *e)
{
	for (uint32_t i = 0; i < e->func->order_count && e->all.count < MOST_EXITS; i++) {
		uint32_t block = e->func->order[i];
		if (!is_exit(e->func, block))
			continue;
		const struct ir_block *b = block_of(e->func, block);
		struct exit exit = { b->preds.data[0], block, b->succs[0] };
		bool twice = false; /* both ways of one branch to one place: which it was must stay known */
		for (size_t k = 0; k < e->all.count; k++)
			twice |= e->all.data[k].from == exit.from && e->all.data[k].to == exit.to;
		if (!twice)
			vec_push(&e->all, exit);
	}
}

/* ---- names ------------------------------------------------------------------------------------------------------------------ */

/* The name that `variable` has before `to`; IR_NONE: its own. */
static uint32_t name_of(const struct exits *e, uint32_t to, uint32_t variable)
{
	for (size_t i = 0; i < e->names.count; i++)
		if (e->names.data[i].to == to && e->names.data[i].variable == variable)
			return e->names.data[i].instead;
	return IR_NONE;
}

static void find_names(struct exits *e)
{
	for (size_t i = 0; i < e->all.count; i++) {
		const struct ir_block *b = block_of(e->func, e->all.data[i].block);
		for (size_t j = 0; j < b->insts.count; j++)
			for (unsigned d = 0; d < b->insts.data[j].def_count; d++) {
				uint32_t variable = b->insts.data[j].defs[d].variable, to = e->all.data[i].to;
				if (name_of(e, to, variable) != IR_NONE)
					continue;
				vec_push(&e->func->flatten->types, e->func->flatten->types.data[variable]);
				vec_push(&e->names, ((struct renamed){ to, variable, (uint32_t)e->func->flatten->types.count - 1 }));
			}
	}
}

static struct ir_inst copy_of(struct ir_func *func, uint32_t to, uint32_t from)
{
	struct ir_inst inst = { .op = IR_COPY, .source = &ir_slot_operand, .source_type = func->flatten->types.data[from],
				.use_count = 1, .def_count = 1 };
	inst.uses = arena_array(func->arena, struct ir_use, 1);
	inst.defs = arena_array(func->arena, struct ir_def, 1);
	inst.uses[0] = (struct ir_use){ .operand = &ir_slot_operand, .value = from, .variable = from };
	inst.defs[0] = (struct ir_def){ .operand = &ir_slot_operand, .value = to, .old = IR_NONE, .variable = to };
	return inst;
}

/* ---- the change --------------------------------------------------------------------------------------------------------------- */

static bool is_taken(const struct exits *e, uint32_t block)
{
	for (size_t i = 0; i < e->all.count; i++)
		if (e->all.data[i].block == block)
			return true;
	return false;
}

/* At the end of a block that goes on to `to`: what the exits' blocks define has its other name, what they do not is copied. */
static void give_names(struct exits *e, uint32_t block, uint32_t to, const bool *defined)
{
	for (size_t i = 0; i < e->names.count; i++)
		if (e->names.data[i].to == to && !(defined && defined[i]))
			vec_push(&block_of(e->func, block)->insts, copy_of(e->func, e->names.data[i].instead, e->names.data[i].variable));
}

static void move_work(struct exits *e, const struct exit *exit)
{
	bool *defined = arena_array(e->func->arena, bool, e->names.count + 1);
	for (size_t j = 0; j < block_of(e->func, exit->block)->insts.count; j++) {
		struct ir_inst inst = block_of(e->func, exit->block)->insts.data[j];
		for (unsigned u = 0; u < inst.use_count; u++)
			for (size_t i = 0; i < e->names.count; i++)
				if (defined[i] && e->names.data[i].variable == inst.uses[u].variable && e->names.data[i].to == exit->to)
					inst.uses[u].value = inst.uses[u].variable = e->names.data[i].instead;
		for (unsigned d = 0; d < inst.def_count; d++)
			for (size_t i = 0; i < e->names.count; i++)
				if (e->names.data[i].variable == inst.defs[d].variable && e->names.data[i].to == exit->to) {
					inst.defs[d].value = inst.defs[d].variable = e->names.data[i].instead;
					defined[i] = true;
					break;
				}
		vec_push(&block_of(e->func, exit->from)->insts, inst);
	}
	give_names(e, exit->from, exit->to, defined);
	struct ir_block *from = block_of(e->func, exit->from);
	for (uint32_t s = 0; s < from->succ_count; s++)
		if (from->succs[s] == exit->block)
			from->succs[s] = exit->to;
}

/* Where exits meet their names end, which all others that lead there have to give too. */
static void end_names(struct exits *e, uint32_t to)
{
	struct ir_block *b = block_of(e->func, to);
	VEC(struct ir_inst) insts = { 0 };
	for (size_t i = 0; i < e->names.count; i++)
		if (e->names.data[i].to == to)
			vec_push(&insts, copy_of(e->func, e->names.data[i].variable, e->names.data[i].instead));
	for (size_t j = 0; j < b->insts.count; j++)
		vec_push(&insts, b->insts.data[j]);
	vec_fini(&b->insts);
	b->insts.data = insts.data;
	b->insts.count = insts.count;
	b->insts.capacity = insts.capacity;
	for (size_t p = 0; p < b->preds.count; p++)
		if (!is_taken(e, b->preds.data[p]))
			give_names(e, b->preds.data[p], to, NULL);
}

bool ir_leave_at_once(struct ir_func *func)
{
	struct exits e = { .func = func };
	if (func->lanes == 1)
		return false;
	find_exits(&e);
	find_names(&e);
	for (size_t i = 0; i < e.all.count; i++) {
		bool first = true;
		for (size_t k = 0; k < i; k++)
			first &= e.all.data[k].to != e.all.data[i].to;
		if (first)
			end_names(&e, e.all.data[i].to);
	}
	for (size_t i = 0; i < e.all.count; i++)
		move_work(&e, &e.all.data[i]);
	bool changed = e.all.count;
	vec_fini(&e.all);
	vec_fini(&e.names);
	return changed;
}
