/* Loops over the grid, for (i = thread; i < n; i += threads of the grid), round by round for the whole block.
 *
 * With barriers around, a block's groups run one after the other (region.c): the first warp goes through all its rounds, then the next. Each
 * access is then 128 bytes, and the next one where the whole grid's are over, often a power of two further on, in the same set of every
 * cache. All groups of a block a round each read the block's kilobytes in a row, as the card would. (Loop interchange: of the loop over groups
 * with the loop inside it; Allen and Kennedy, "Automatic loop interchange", 1984. Nobody can tell: no order is promised between warps.)
 *
 * The part of the kernel that has a fast copy (together.c) gets one more, in which a branch asks the whole block: a group's turn ends there,
 * and when all groups have voted they go on together, all one way or all the other. Where they do not agree, the block leaves for one place,
 * whatever the vote, that sends each group to the same vote of the fast copy; there it stays until the part is over.
 *
 *     before:  vote c -> fast a, fast b, mixed        before:  where = 0; vote all c -> rounds a, rounds b, ask
 *                                                     ask:     switch where -> vote 0, vote 1, …
 *                                                     vote 0:  vote c -> fast a, fast b, mixed
 *
 * One place, because a region is entered at its leader alone: two would cut the fast copy into regions, and its votes, which part the
 * block's groups, must not be able to reach two of those. */
#include "ir/change.h"
#include "ir/flatten.h"
#include "ir/together.h"

#include "isa_mods.h"

enum {
	MOST_CODE = 320, /* instructions times chunks of the part: it is there three times */
	FAR = 16,        /* steps of a round, in elements or words a thread: nearer ones are the caches' own business */
	MOST_CARRIED = 2 /* values of a loop that are more than indices: each is written and read in each round */
};

static struct ir_block *block_of(struct ir_func *func, uint32_t block)
{
	return &func->blocks.data[block];
}

static const struct ir_inst *definition_of(struct ir_func *func, uint32_t value)
{
	const struct ir_value *v = value == IR_NONE ? NULL : &func->values.data[value];
	return v && v->block != IR_NONE && v->inst != IR_NONE ? &block_of(func, v->block)->insts.data[v->inst] : NULL;
}

static bool in_loop(struct ir_func *func, const struct ir_loop *loop, uint32_t block)
{
	uint32_t at = block_of(func, block)->order;
	return at >= loop->first && at <= loop->last;
}

/* Is it a sum of the phi with something that is not known, or so large? */
static bool is_far_sum(struct ir_func *func, uint32_t phi, const struct ir_inst *add, int64_t far)
{
	if (!add || add->op != IR_PTX || add->ptx->form->row->opcode_id != OP_add)
		return false;
	for (unsigned o = 1; o < add->ptx->operand_count; o++)
		if (add->ptx->operands[o].kind == PTX_OP_IMMEDIATE)
			return (int64_t)add->ptx->operands[o].bits >= far;
	for (unsigned u = 0; u < add->use_count; u++) {
		const struct ir_shape by = func->values.data[add->uses[u].value].shape;
		if (add->uses[u].value != phi && by.kind == IR_UNIFORM)
			return by.low != by.high || by.low >= far;
	}
	return false;
}

/* Does a round of the loop lead far on? */
static bool goes_far(struct ir_func *func, const struct ir_loop *loop, const bool *known)
{
	const struct ir_block *header = block_of(func, loop->header);
	int64_t threads = (int64_t)func->options.block[0] * func->options.block[1] * func->options.block[2];
	for (size_t q = 0; q < header->phis.count; q++) {
		uint32_t phi = header->phis.data[q].value;
		int64_t far = FAR * threads * (ptx_type_bits(func->values.data[phi].type) == 64 ? 4 : 1);
		for (size_t p = 0; p < header->preds.count && known[phi]; p++)
			if (in_loop(func, loop, header->preds.data[p]) &&
			    is_far_sum(func, phi, definition_of(func, header->phis.data[q].arguments[p]), far))
				return true;
	}
	return false;
}

/* Is what the loop carries read in it alone? A vote at its end has given the next round's by then, whatever comes of the vote. */
static bool keeps_to_itself(struct ir_func *func, const struct ir_loop *loop)
{
	const struct ir_block *header = block_of(func, loop->header);
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = block_of(func, func->order[i]);
		if (in_loop(func, loop, func->order[i]))
			continue;
		for (size_t q = 0; q < header->phis.count; q++) {
			uint32_t phi = header->phis.data[q].value;
			if (b->condition == phi)
				return false;
			for (size_t j = 0; j < b->insts.count; j++) {
				for (unsigned u = 0; u < b->insts.data[j].use_count; u++)
					if (b->insts.data[j].uses[u].value == phi)
						return false;
				for (unsigned d = 0; d < b->insts.data[j].def_count; d++)
					if (b->insts.data[j].defs[d].old == phi)
						return false;
			}
			for (size_t k = 0; k < b->phis.count; k++)
				for (size_t p = 0; p < b->preds.count; p++)
					if (b->phis.data[k].arguments[p] == phi)
						return false;
		}
	}
	return true;
}

static bool loops_pay(struct ir_func *func, const struct part *part, const bool *known)
{
	bool far = false;
	for (uint32_t l = 0; l < func->loops.count; l++) {
		const struct ir_loop *loop = &func->loops.data[l];
		const struct ir_block *header = block_of(func, loop->header);
		unsigned carried = 0;
		if (!part->inside[loop->header])
			continue;
		for (size_t q = 0; q < header->phis.count; q++)
			carried += !known[header->phis.data[q].value];
		if (carried > MOST_CARRIED || !keeps_to_itself(func, loop))
			return false;
		far |= goes_far(func, loop, known);
	}
	return far;
}

bool ir_rounds_pay(struct ir_func *func, const struct part *part, const bool *known, const bool *apart_in_block)
{
	uint64_t threads = (uint64_t)func->options.block[0] * func->options.block[1] * func->options.block[2];
	size_t code = 0;
	if (!func->region_count || func->lanes % 32 || threads < 2 * func->lanes || part->exit == 1 || apart_in_block[part->start])
		return false;
	for (uint32_t i = 0; i < part->count; i++) {
		const struct ir_block *b = block_of(func, part->blocks[i]);
		code += (b->insts.count + 1) * func->chunks;
		if ((b->divergent || b->parts) && !part->votes[part->blocks[i]])
			return false;
	}
	return code <= MOST_CODE && loops_pay(func, part, known);
}

/* ---- the copy ------------------------------------------------------------------------------------------------------------------------ */

static struct ir_inst constant(struct ir_func *func, uint32_t variable, uint32_t number)
{
	struct ptx_operand *source = arena_new(func->arena, struct ptx_operand);
	*source = (struct ptx_operand){ .kind = PTX_OP_IMMEDIATE, .bits = number };
	struct ir_inst inst = { .op = IR_COPY, .source = source, .source_type = PTX_U32, .def_count = 1 };
	inst.uses = arena_array(func->arena, struct ir_use, 1);
	inst.defs = arena_array(func->arena, struct ir_def, 1);
	inst.defs[0] = (struct ir_def){ .operand = &ir_slot_operand, .value = variable, .old = IR_NONE, .variable = variable };
	return inst;
}

static bool defines(const struct ir_inst *inst, uint32_t variable)
{
	for (unsigned d = 0; d < inst->def_count; d++)
		if (inst->defs[d].variable == variable)
			return true;
	return false;
}

/* The comparison at the end of `block` is made again where its groups vote by themselves, rather than kept from one turn to another. */
static void make_again(struct ir_func *func, uint32_t block, uint32_t to)
{
	const struct ir_block *b = block_of(func, block);
	for (size_t j = b->insts.count; j-- > 0;) {
		const struct ir_inst *inst = &b->insts.data[j];
		if (!defines(inst, b->condition_variable))
			continue;
		if (inst->op != IR_PTX || !(inst->ptx->form->row->flags & ISA_PURE) || inst->ptx->guard || inst->def_count != 1)
			return;
		for (size_t k = j; k < b->insts.count; k++)
			for (unsigned u = 0; u < inst->use_count; u++)
				if (defines(&b->insts.data[k], inst->uses[u].variable))
					return;
		struct ir_inst again = *inst;
		again.uses = arena_array(func->arena, struct ir_use, inst->use_count + 1u);
		again.defs = arena_array(func->arena, struct ir_def, 1);
		memcpy(again.uses, inst->uses, inst->use_count * sizeof *again.uses);
		again.defs[0] = inst->defs[0];
		vec_push(&block_of(func, to)->insts, again);
		return;
	}
}

struct rounds {
	struct ir_func *func;
	uint32_t *copy; /* by block of the part; others: themselves */
	uint32_t ask, where;
	VEC(uint32_t) votes;
};

/* The end of `block`, which is of the new copy, asks the whole block; `vote` is where its groups are asked in the fast copy. */
static void ask_all(struct rounds *r, uint32_t block, uint32_t vote, const uint32_t *succs)
{
	struct ir_func *func = r->func;
	uint32_t own = ir_copy_block(func, vote);
	vec_fini(&block_of(func, own)->insts);
	make_again(func, vote, own);
	block_of(func, own)->rare = true;
	vec_push(&block_of(func, block)->insts, constant(func, r->where, (uint32_t)r->votes.count));
	struct ir_block *b = block_of(func, block);
	b->end = IR_END_ALL;
	b->succ_count = 3;
	b->succs = arena_array(func->arena, uint32_t, 3);
	b->succs[0] = r->copy[succs[0]];
	b->succs[1] = r->copy[succs[1]];
	b->succs[2] = r->ask;
	vec_push(&r->votes, own);
}

void ir_add_rounds(struct ir_func *func, const struct part *part, const uint32_t *fast)
{
	struct rounds r = { .func = func, .copy = arena_array(func->arena, uint32_t, func->blocks.count + 1) };
	const uint32_t *mixed = block_of(func, block_of(func, part->start)->succs[2])->succs; /* the ways of the branch as it was */
	for (uint32_t i = 0; i < func->blocks.count; i++)
		r.copy[i] = i;
	r.where = ir_new_variable(func, PTX_U32);
	for (uint32_t i = 0; i < part->count; i++) {
		r.copy[part->blocks[i]] = ir_copy_block(func, part->blocks[i]);
		block_of(func, r.copy[part->blocks[i]])->fast = true;
	}
	r.ask = (uint32_t)func->blocks.count;
	vec_push(&func->blocks, ((struct ir_block){ .end = IR_END_SWITCH, .loop = IR_NONE, .condition = IR_NONE, .condition_variable = r.where,
						    .rare = true, .location = block_of(func, part->start)->location }));
	ask_all(&r, part->start, part->start, mixed);
	for (uint32_t i = 0; i < part->count; i++) {
		uint32_t block = part->blocks[i];
		struct ir_block *b = block_of(func, r.copy[block]);
		if (part->votes[block])
			ask_all(&r, r.copy[block], fast[block], block_of(func, block)->succs);
		else
			for (uint32_t s = 0; s < b->succ_count; s++)
				b->succs[s] = r.copy[b->succs[s]];
	}
	struct ir_block *ask = block_of(func, r.ask);
	ask->succ_count = (uint32_t)r.votes.count;
	ask->succs = arena_array(func->arena, uint32_t, r.votes.count);
	memcpy(ask->succs, r.votes.data, r.votes.count * sizeof *ask->succs);
	vec_fini(&r.votes);
}
