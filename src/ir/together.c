/* Loops and whole kernels whose lanes nearly always stay together: for (i = thread; i < n; i += threads), if (i < n) ….
 *
 * The number of rounds of such a loop differs by lane, so behind its first branch everything varies: its index is no row of addresses
 * any more, and every access asks a mask. Yet in nearly all groups all lanes go the same ways. So the part is there twice. In the fast
 * copy the branches that the threads' numbers alone decide are *votes*: all lanes go one way, or all the other, or the group leaves for
 * the ordinary copy at that place and stays there until the part is over (dynamic uniformity: Shin, "Introducing control flow into
 * vectorized code", 2007, and Sujon, Whaley and Yi, "Vectorization past dependent branches through speculation", 2013; here with the
 * way back left out). A vote does not part lanes, so the ordinary analysis finds the fast copy uniform or affine by itself.
 *
 *     before:  branch c -> a, b ; divergent          before:  vote c -> fast a, fast b, mixed
 *                                                     mixed:   branch c -> a, b ; divergent, and the ordinary copy behind it
 *
 * A part lies between a branch that all lanes of a group come to and the place where its ways meet again. It is taken if it has such
 * loops or ends with the kernel, and is small. A loop that data decide is not worth it. Branches within nested loops are no votes: to leave
 * there would be to enter the ordinary loop in its middle. */
#include "ir/flatten.h"
#include "ir/together.h"

#include <stdlib.h>

enum { MOST_CODE = 480 }; /* instructions times chunks that are there twice, in all */

static struct ir_block *block_of(struct ir_func *func, uint32_t block)
{
	return &func->blocks.data[block];
}

/* ---- what the threads' numbers decide --------------------------------------------------------------------------------- */

static bool are_known(const struct ir_inst *inst, const bool *known)
{
	uint32_t flags = inst->op == IR_PTX ? inst->ptx->form->row->flags : ISA_PURE;
	if (inst->op > IR_COPY || !(flags & ISA_PURE) || flags & (ISA_CONVERGENT | ISA_VARYING))
		return false;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (inst->uses[u].value != IR_NONE && !known[inst->uses[u].value])
			return false;
	for (unsigned d = 0; d < inst->def_count; d++)
		if (inst->defs[d].old != IR_NONE && !known[inst->defs[d].old])
			return false;
	return true;
}

void ir_find_known(struct ir_func *func, bool *known)
{
	memset(known, 1, func->values.count);
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < func->order_count; i++) {
			const struct ir_block *b = block_of(func, func->order[i]);
			for (size_t q = 0; q < b->phis.count; q++)
				for (size_t p = 0; p < b->preds.count; p++) {
					uint32_t value = b->phis.data[q].value, argument = b->phis.data[q].arguments[p];
					if (!known[value] || argument == IR_NONE || known[argument])
						continue;
					known[value] = func->values.data[value].shape.kind == IR_UNIFORM;
					changed |= !known[value];
				}
			for (size_t j = 0; j < b->insts.count; j++) {
				const struct ir_inst *inst = &b->insts.data[j];
				bool all = are_known(inst, known);
				for (unsigned d = 0; d < inst->def_count && !all; d++) {
					uint32_t value = inst->defs[d].value;
					if (!known[value] || func->values.data[value].shape.kind == IR_UNIFORM)
						continue;
					known[value] = false;
					changed = true;
				}
			}
		}
	}
}

/* One lane is picked: the group never goes there together. */
static bool picks_lane(struct ir_func *func, uint32_t condition)
{
	const struct ir_value *v = &func->values.data[condition];
	if (v->inst == IR_NONE || v->block == IR_NONE)
		return false;
	const struct ir_inst *inst = &block_of(func, v->block)->insts.data[v->inst];
	if (inst->op != IR_PTX || !(ptx_has(inst->ptx->form, MOD_eq) || ptx_has(inst->ptx->form, MOD_ne)))
		return false;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (inst->uses[u].value != IR_NONE && func->values.data[inst->uses[u].value].shape.kind == IR_AFFINE)
			return true;
	return false;
}

static bool may_vote(struct ir_func *func, uint32_t block, const bool *known)
{
	const struct ir_block *b = block_of(func, block);
	return b->divergent && b->end == IR_END_BRANCH && b->condition != IR_NONE && known[b->condition] && !picks_lane(func, b->condition);
}

/* ---- parts ------------------------------------------------------------------------------------------------------------- */

void ir_find_apart_blocks(struct ir_func *func, bool of_block, bool *apart)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < func->order_count; i++) {
			const struct ir_block *b = block_of(func, func->order[i]);
			bool parts = b->divergent || (of_block && b->parts) || apart[func->order[i]];
			for (uint32_t s = 0; parts && s < b->succ_count; s++)
				for (uint32_t at = b->succs[s]; at != b->ipdom && at != IR_NONE; at = block_of(func, at)->ipdom) {
					changed |= !apart[at];
					apart[at] = true;
				}
		}
	}
}

static bool is_allowed(struct ir_func *func, uint32_t block)
{
	const struct ir_block *b = block_of(func, block);
	for (uint32_t l = b->loop; l != IR_NONE; l = func->loops.data[l].parent)
		if (func->loops.data[l].waits || func->loops.data[l].irreducible)
			return false;
	if (b->after_barrier || b->end == IR_END_SWITCH)
		return false;
	for (size_t j = 0; j < b->insts.count; j++) {
		const struct ir_inst *inst = &b->insts.data[j];
		uint32_t flags = inst->op == IR_PTX ? inst->ptx->form->row->flags : 0;
		if (inst->op > IR_COPY || flags & (ISA_BARRIER | ISA_CALL | ISA_BRANCH | ISA_EFFECT | ISA_CONVERGENT))
			return false;
	}
	return true;
}

static bool find_part(struct ir_func *func, uint32_t start, uint32_t exit, struct part *part)
{
	uint32_t done = 0;
	const struct ir_block *s = block_of(func, start);
	part->start = start;
	part->exit = exit;
	part->count = 0;
	memset(part->inside, 0, func->blocks.count);
	if (part->exit == IR_NONE)
		return false;
	for (;;) {
		for (uint32_t e = 0; e < s->succ_count; e++) {
			uint32_t to = s->succs[e];
			if (to == part->exit || part->inside[to])
				continue;
			if (to == start || to <= 1)
				return false;
			part->inside[to] = true;
			part->blocks[part->count++] = to;
		}
		if (done == part->count)
			break;
		s = block_of(func, part->blocks[done++]);
	}
	for (uint32_t i = 0; i < part->count; i++) {
		const struct ir_block *b = block_of(func, part->blocks[i]);
		for (size_t p = 0; p < b->preds.count; p++)
			if (!part->inside[b->preds.data[p]] && b->preds.data[p] != start)
				return false;
		if (!is_allowed(func, part->blocks[i]))
			return false;
	}
	return part->count;
}

/* Loops around the block within the part. */
static uint32_t depth_in(struct ir_func *func, const struct part *part, uint32_t block)
{
	uint32_t depth = 0;
	for (uint32_t l = block_of(func, block)->loop; l != IR_NONE; l = func->loops.data[l].parent)
		depth += part->inside[func->loops.data[l].header];
	return depth;
}

/* Does the branch leave for where the ordinary copy may be entered: outside of loops, or where a loop begins? */
static bool is_vote(struct ir_func *func, const struct part *part, uint32_t block, const bool *known)
{
	const struct ir_block *b = block_of(func, block);
	if (!may_vote(func, block, known))
		return false;
	uint32_t depth = depth_in(func, part, block);
	for (uint32_t s = 0; s < b->succ_count; s++) {
		uint32_t to = b->succs[s];
		bool enters = part->inside[to] && depth_in(func, part, to) && (block_of(func, to)->loop == IR_NONE || func->loops.data[block_of(func, to)->loop].header != to);
		if (enters || depth > 1)
			return false;
	}
	return true;
}

static bool in_loop(struct ir_func *func, uint32_t block, const struct ir_loop *loop)
{
	return block_of(func, block)->order >= loop->first && block_of(func, block)->order <= loop->last;
}

/* Whether lanes leave the part's loops where they vote only; *any: they leave one in different rounds. */
static bool loops_vote(struct ir_func *func, const struct part *part, const bool *known, bool *any)
{
	*any = false;
	for (uint32_t l = 0; l < func->loops.count; l++) {
		const struct ir_loop *loop = &func->loops.data[l];
		if (!part->inside[loop->header])
			continue;
		for (uint32_t i = loop->first; i <= loop->last; i++) {
			const struct ir_block *b = block_of(func, func->order[i]);
			for (uint32_t s = 0; s < b->succ_count; s++) {
				if (!b->divergent || in_loop(func, b->succs[s], loop))
					continue;
				*any = true;
				if (!is_vote(func, part, func->order[i], known))
					return false;
			}
		}
	}
	return true;
}

static bool has_rows(struct ir_func *func, const struct part *part)
{
	for (uint32_t i = 0; i < part->count; i++) {
		const struct ir_block *b = block_of(func, part->blocks[i]);
		for (size_t j = 0; j < b->insts.count; j++)
			if (b->insts.data[j].op == IR_PTX && b->insts.data[j].mode == IR_MODE_LANES &&
			    b->insts.data[j].ptx->form->row->flags & (ISA_READS | ISA_WRITES))
				return true;
	}
	return false;
}

static size_t count_code(struct ir_func *func, const struct part *part)
{
	size_t count = 0;
	for (uint32_t i = 0; i < part->count; i++)
		count += block_of(func, part->blocks[i])->insts.count + 1;
	return count * func->chunks;
}

static bool is_worth_it(struct ir_func *func, const struct part *part, const bool *known)
{
	bool loops;
	for (uint32_t l = block_of(func, part->start)->loop; l != IR_NONE; l = func->loops.data[l].parent)
		if (func->loops.data[l].divergent)
			return false;
	return loops_vote(func, part, known, &loops) && (loops || part->exit == 1) && has_rows(func, part);
}

static bool try_part(struct ir_func *func, uint32_t start, uint32_t exit, size_t room, const bool *known, struct part *part)
{
	return find_part(func, start, exit, part) && is_worth_it(func, part, known) && count_code(func, part) <= room;
}

/* What follows a part is in it too where it reads values that came along different ways: from the fast copy alone they come as rows. */
static bool choose_part(struct ir_func *func, uint32_t start, size_t room, const bool *known, struct part *part)
{
	uint32_t exit = block_of(func, start)->ipdom, chosen = IR_NONE;
	for (;;) {
		if (exit == IR_NONE || (exit != 1 && block_of(func, exit)->order <= block_of(func, start)->order))
			break;
		if (try_part(func, start, exit, room, known, part))
			chosen = exit;
		if (exit == 1 || !block_of(func, exit)->phis.count || !is_allowed(func, exit))
			break;
		exit = block_of(func, exit)->ipdom;
	}
	return chosen != IR_NONE && try_part(func, start, chosen, room, known, part);
}

/* ---- the fast copy --------------------------------------------------------------------------------------------------------- */

static uint32_t new_block(struct ir_func *func, const struct ir_block *like)
{
	struct ir_block b = { .end = like->end, .loop = IR_NONE, .condition_variable = like->condition_variable, .condition = IR_NONE,
			      .negated = like->negated, .location = like->location, .succ_count = like->succ_count };
	b.succs = arena_array(func->arena, uint32_t, like->succ_count + 1);
	memcpy(b.succs, like->succs, like->succ_count * sizeof *b.succs);
	vec_push(&func->blocks, b);
	return (uint32_t)func->blocks.count - 1;
}

uint32_t ir_copy_block(struct ir_func *func, uint32_t from)
{
	struct ir_block like = *block_of(func, from);
	uint32_t to = new_block(func, &like);
	for (size_t j = 0; j < block_of(func, from)->insts.count; j++) {
		struct ir_inst inst = block_of(func, from)->insts.data[j];
		const struct ir_use *uses = inst.uses;
		const struct ir_def *defs = inst.defs;
		inst.uses = arena_array(func->arena, struct ir_use, inst.use_count + 1u);
		inst.defs = arena_array(func->arena, struct ir_def, inst.def_count + 1u);
		memcpy(inst.uses, uses, inst.use_count * sizeof *uses);
		memcpy(inst.defs, defs, inst.def_count * sizeof *defs);
		vec_push(&block_of(func, to)->insts, inst);
	}
	return to;
}

/* Makes the branch at the end of `block` a vote; where lanes do not agree, they go on in the ordinary copy of its ways. */
static void make_vote(struct ir_func *func, uint32_t block, const uint32_t *fast)
{
	struct ir_block branch = *block_of(func, block);
	uint32_t mixed = new_block(func, &branch);
	struct ir_block *b = block_of(func, block);
	block_of(func, mixed)->rare = true;
	b->end = IR_END_VOTE;
	b->succs = arena_array(func->arena, uint32_t, 3);
	b->succ_count = 3;
	for (uint32_t s = 0; s < 2; s++)
		b->succs[s] = fast[branch.succs[s]];
	b->succs[2] = mixed;
}

/* The fast copy's blocks, by those of the part. */
static uint32_t *add_copy(struct ir_func *func, const struct part *part)
{
	size_t count = func->blocks.count;
	uint32_t *fast = arena_array(func->arena, uint32_t, count);
	for (size_t i = 0; i < count; i++)
		fast[i] = (uint32_t)i;
	for (uint32_t i = 0; i < part->count; i++) {
		fast[part->blocks[i]] = ir_copy_block(func, part->blocks[i]);
		block_of(func, fast[part->blocks[i]])->fast = true;
		block_of(func, part->blocks[i])->rare = true;
	}
	make_vote(func, part->start, fast);
	for (uint32_t i = 0; i < part->count; i++) {
		struct ir_block *b = block_of(func, fast[part->blocks[i]]);
		if (part->votes[part->blocks[i]]) {
			make_vote(func, fast[part->blocks[i]], fast);
			continue;
		}
		for (uint32_t s = 0; s < b->succ_count; s++)
			b->succs[s] = fast[b->succs[s]];
	}
	return fast;
}

bool ir_keep_together(struct ir_func *func)
{
	struct part part;
	size_t code = 0, blocks = func->blocks.count;
	uint32_t count = 0, limit = func->order_count;
	if (func->lanes == 1 || func->calls)
		return false;
	bool *known = arena_array(func->arena, bool, func->values.count + 1);
	bool *taken = arena_array(func->arena, bool, blocks);
	part.blocks = arena_array(func->arena, uint32_t, blocks);
	bool *apart = arena_array(func->arena, bool, blocks), *apart_in_block = arena_array(func->arena, bool, blocks);
	ir_find_known(func, known);
	ir_find_apart_blocks(func, false, apart);
	ir_find_apart_blocks(func, true, apart_in_block);
	if (ir_may_have_regions(func))
		ir_find_regions(func);
	for (uint32_t i = 0; i < limit; i++) {
		uint32_t start = func->order[i];
		part.inside = arena_array(func->arena, bool, func->blocks.count);
		if (taken[start] || !may_vote(func, start, known) || apart[start] ||
		    !choose_part(func, start, MOST_CODE - code, known, &part))
			continue;
		code += count_code(func, &part);
		for (uint32_t k = 0; k < part.count; k++)
			taken[part.blocks[k]] = true;
		taken[start] = true;
		part.votes = arena_array(func->arena, bool, func->blocks.count);
		for (uint32_t k = 0; k < part.count; k++)
			part.votes[part.blocks[k]] = is_vote(func, &part, part.blocks[k], known);
		part.votes[start] = true;
		bool rounds = ir_rounds_pay(func, &part, known, apart_in_block);
		const uint32_t *fast = add_copy(func, &part);
		if (rounds)
			ir_add_rounds(func, &part, fast);
		count++;
	}
	return count;
}
