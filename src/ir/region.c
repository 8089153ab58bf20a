/* The parts of a kernel between its barriers, so that one call of the code can run a whole block: each part, a *region*, runs for one
 * group of lanes after the other before the next part begins, and no group ever has to wait (Stratton, Stone and Hwu, "MCUDA", 2008: loop
 * fission at barriers; Jääskeläinen et al., "pocl", 2015: parallel regions).
 *
 * A region begins with a *leader*: the entry, what follows a barrier or a vote of the block (rounds.c), and any block that can be come to
 * from two regions. So a region is entered at its leader alone, and nothing of the code is there twice. Branches between regions are taken once
 * for the block, as one of its groups says; that is right if all threads that are left say the same. Therefore a branch that threads of the
 * block take different ways must not be able to reach two leaders; loops and branches around barriers are then uniform in the block. That
 * is asked of the analysis of uniform.c, with the whole block as the group. Where the answer is no, and where threads meet in other
 * ways (counts, half barriers, other blocks), barriers go on switching fibers. */
#include "ir/flatten.h"

#include <stdlib.h>

bool ir_may_have_regions(const struct ir_func *func)
{
	return func->flags_used & ISA_BARRIER && func->lanes > 1 && !func->alone && !func->calls && !func->options.fibers;
}

/* ---- before SSA ----------------------------------------------------------------------------------------------- */

static bool in_loop(const struct ir_func *func, const struct ir_loop *loop, uint32_t block)
{
	uint32_t at = func->blocks.data[block].order;
	return at >= loop->first && at <= loop->last;
}

static bool add_preheader(struct ir_func *func, const struct ir_loop *loop)
{
	uint32_t outside = 0, own = (uint32_t)func->blocks.count;
	for (size_t p = 0; p < func->blocks.data[loop->header].preds.count; p++)
		outside += !in_loop(func, loop, func->blocks.data[loop->header].preds.data[p]);
	if (outside < 2 || loop->irreducible)
		return false;
	for (size_t p = 0; p < func->blocks.data[loop->header].preds.count; p++) {
		struct ir_block *pred = &func->blocks.data[func->blocks.data[loop->header].preds.data[p]];
		if (in_loop(func, loop, func->blocks.data[loop->header].preds.data[p]))
			continue;
		for (uint32_t s = 0; s < pred->succ_count; s++)
			if (pred->succs[s] == loop->header)
				pred->succs[s] = own;
	}
	uint32_t *to = arena_new(func->arena, uint32_t);
	*to = loop->header;
	vec_push(&func->blocks, ((struct ir_block){ .end = IR_END_JUMP, .succs = to, .succ_count = 1, .loop = IR_NONE,
						    .condition_variable = IR_NONE, .condition = IR_NONE,
						    .location = func->blocks.data[loop->header].location }));
	return true;
}

void ir_add_preheaders(struct ir_func *func)
{
	bool added = false;
	for (size_t l = 0; l < func->loops.count; l++)
		added |= add_preheader(func, &func->loops.data[l]);
	if (added)
		ir_find_order(func);
}

/* ---- what is uniform in a block --------------------------------------------------------------------------------- */

void ir_analyze_block(struct ir_func *func)
{
	func->whole_block = true;
	ir_analyze(func);
	func->whole_block = false;
	for (size_t v = 0; v < func->values.count; v++)
		func->values.data[v].block_uniform = func->values.data[v].shape.kind == IR_UNIFORM;
	for (size_t b = 0; b < func->blocks.count; b++)
		func->blocks.data[b].parts = func->blocks.data[b].divergent;
}

/* ---- regions ------------------------------------------------------------------------------------------------------ */

/* A barrier for all threads of the block, which ends its block. */
static bool is_whole_barrier(const struct ir_inst *inst)
{
	const struct ptx_instruction *in = inst->ptx;
	if (in->guard || ptx_has(in->form, MOD_arrive) || ptx_has(in->form, MOD_cluster))
		return false;
	if (ptx_has(in->form, MOD_red))
		return in->operand_count == 3 && in->operands[1].kind == PTX_OP_IMMEDIATE;
	return in->operand_count == 1 && in->operands[0].kind == PTX_OP_IMMEDIATE;
}

static bool barriers_are_whole(const struct ir_func *func)
{
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ir_inst *inst = &b->insts.data[j];
			if (inst->op == IR_PTX && inst->ptx->form->row->flags & ISA_BARRIER && !is_whole_barrier(inst))
				return false;
		}
	}
	return true;
}

static bool loops_are_simple(const struct ir_func *func)
{
	for (size_t l = 0; l < func->loops.count; l++)
		if (func->loops.data[l].irreducible || func->loops.data[l].waits)
			return false;
	return true;
}

/* The region that a block is in: its predecessors', where they agree. True where it has become a leader. */
static bool find_region(struct ir_func *func, uint32_t block, bool *leader, uint32_t *region, bool *changed)
{
	const struct ir_block *b = &func->blocks.data[block];
	for (size_t p = 0; p < b->preds.count && !leader[block]; p++) {
		uint32_t from = region[b->preds.data[p]];
		if (from == IR_NONE || from == region[block])
			continue;
		*changed = true;
		if (region[block] != IR_NONE)
			return leader[block] = true;
		region[block] = from;
	}
	return false;
}

/* leader[]: the closure of the entry and what follows barriers; region[]: each block's leader. */
static void find_leaders(struct ir_func *func, bool *leader, uint32_t *region)
{
	leader[0] = true;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		leader[func->order[i]] |= b->after_barrier;
		for (uint32_t s = 0; s < b->succ_count && b->end == IR_END_ALL; s++)
			leader[b->succs[s]] = true;
	}
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < func->blocks.count; i++)
			region[i] = leader[i] ? (uint32_t)i : IR_NONE;
		for (bool changed = true; changed && !again;) {
			changed = false;
			for (uint32_t i = 0; i < func->order_count && !again; i++)
				if (func->order[i] != 1)
					again = find_region(func, func->order[i], leader, region, &changed);
		}
	}
}

/* How many leaders control can come to from the ways out of `block`, none in between: 0, 1, or 2 for more. */
static unsigned reachable_leaders(const struct ir_func *func, uint32_t block, const bool *leader, uint32_t *stamp, uint32_t *work)
{
	uint32_t count = 0, found = IR_NONE;
	work[count++] = block;
	while (count) {
		const struct ir_block *b = &func->blocks.data[work[--count]];
		for (uint32_t s = 0; s < b->succ_count; s++) {
			uint32_t to = b->succs[s];
			if (leader[to] || func->blocks.data[to].end == IR_END_ALL) { /* where a turn ends all have come together again */
				if (found != IR_NONE && found != to)
					return 2;
				found = to;
			} else if (stamp[to] != block + 1) {
				stamp[to] = block + 1;
				work[count++] = to;
			}
		}
	}
	return found != IR_NONE;
}

static bool branches_stay_together(const struct ir_func *func, const bool *leader)
{
	uint32_t *stamp = calloc(func->blocks.count, sizeof *stamp), *work = malloc((func->blocks.count + 1) * sizeof *work);
	bool together = true;
	for (uint32_t i = 0; i < func->order_count && together; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		if (b->parts || b->divergent)
			together = reachable_leaders(func, func->order[i], leader, stamp, work) < 2;
	}
	free(stamp);
	free(work);
	return together;
}

static void number_regions(struct ir_func *func, const bool *leader, const uint32_t *region)
{
	uint32_t *number = malloc(func->blocks.count * sizeof *number);
	func->leaders = arena_array(func->arena, uint32_t, func->order_count);
	for (uint32_t i = 0; i < func->order_count; i++)
		if (leader[func->order[i]]) {
			number[func->order[i]] = func->region_count;
			func->leaders[func->region_count++] = func->order[i];
		}
	for (size_t i = 0; i < func->blocks.count; i++)
		func->blocks.data[i].region = region[i] == IR_NONE ? IR_NONE : number[region[i]];
	for (size_t v = 0; v < func->values.count; v++)
		func->values.data[v].block_uniform &= func->values.data[v].shape.kind == IR_UNIFORM;
	free(number);
}

void ir_find_regions(struct ir_func *func)
{
	func->region_count = 0;
	if (!barriers_are_whole(func) || !loops_are_simple(func))
		return;
	bool *leader = calloc(func->blocks.count, 1);
	uint32_t *region = malloc(func->blocks.count * sizeof *region);
	find_leaders(func, leader, region);
	if (branches_stay_together(func, leader))
		number_regions(func, leader, region);
	free(leader);
	free(region);
}
