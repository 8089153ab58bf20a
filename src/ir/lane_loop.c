/* Parts that lanes go through one after the other: where each lane has a number of rounds of its own, and reads and writes where no
 * other does, vectors gain nothing. Masks have to be kept, every access is made lane by lane anyway, and a group takes as long as its
 * longest lane. So the part becomes scalar code in a loop over the lanes that are there (ispc's foreach_active, found by the compiler;
 * "Regions ruled by gathers run scalar" of Kerr, Diamos and Yalamanchili, "Dynamic Compilation of Data-Parallel Kernels for Vector
 * Processors", 2012, and "Scalar Waving", Yilmazer et al., 2014):
 *
 *     before:  bits = lane.mask;  a = lane.spill v …           what the part reads of others is put into arrays, an element a lane
 *              branch lane.more bits -> head, after
 *     head:    lane, bits = lane.first bits;  v = lane.read a, lane …
 *              the part as it was; ways out of it lead to
 *     latch:   lane.write w, lane …                            what others read of the part
 *              branch lane.more bits -> head, after
 *     after:   w = lane.load …
 *
 * All of it is written in variables, and SSA is built again. In the part everything is uniform then, by the ordinary analysis.
 *
 * A part has one entry and one place where all its ways meet again. It begins as a loop that lanes leave in different rounds, and grows
 * upwards while nothing that vectors do well comes in: so two loops in a row, as unrolling makes them, are one part, and what few of the
 * lanes read in front of a loop is read by those. What it costs
 * either way is estimated from what was measured on AVX2 (a gather of 8 lanes takes 12 cycles, as scalar loads do). */
#include "ir/change.h"
#include "ir/flatten.h"

#include <stdlib.h>

enum {
	MOST_PARTS = 8,
	MOST_GROWN = 12,     /* instructions of a block that a part may take in upwards */
	MOST_VALUES = 24,    /* that go in or out */
	LOOP_WEIGHT = 8,     /* rounds of a loop, where they are not known */
	/* quarter cycles */
	SCALAR_STEP = 1, VECTOR_STEP = 2, MASK_STEP = 8, SCALAR_ACCESS = 3, VECTOR_ACCESS = 8, LANE_ACCESS = 7, LANE_STORE = 9,
	SCALAR_STREAM = 24   /* a lane's access in a row that all lanes walk along together: each takes a line of its own */
};

struct part {
	uint32_t entry, exit; /* the exit is no more in it */
	uint32_t *blocks;
	uint32_t count;
	size_t known;   /* blocks of the function then */
	bool *inside;   /* by block, of those that there were */
};

struct lists {
	VEC(uint32_t) in, out; /* variables */
};

static struct ir_block *block_of(struct ir_func *func, uint32_t block)
{
	return &func->blocks.data[block];
}

/* ---- what a part is --------------------------------------------------------------------------------------------- */

static bool is_in_loop(struct ir_func *func, uint32_t block, uint32_t l)
{
	return block_of(func, block)->order >= func->loops.data[l].first && block_of(func, block)->order <= func->loops.data[l].last;
}

/* All that `entry` leads to before `exit`; false where control comes in elsewhere too. */
static bool find_part(struct ir_func *func, uint32_t entry, uint32_t exit, struct part *part)
{
	uint32_t done = 0;
	part->entry = entry;
	part->exit = exit;
	part->count = 0;
	memset(part->inside, 0, func->blocks.count);
	if (entry == 0 || entry == 1 || part->exit == IR_NONE || block_of(func, entry)->after_barrier)
		return false;
	part->inside[entry] = true;
	part->blocks[part->count++] = entry;
	while (done < part->count) {
		const struct ir_block *b = block_of(func, part->blocks[done++]);
		for (uint32_t s = 0; s < b->succ_count; s++) {
			if (b->succs[s] == part->exit || part->inside[b->succs[s]])
				continue;
			part->inside[b->succs[s]] = true;
			part->blocks[part->count++] = b->succs[s];
		}
	}
	for (uint32_t i = 0; i < part->count; i++) {
		const struct ir_block *b = block_of(func, part->blocks[i]);
		if (part->blocks[i] == 1 || part->blocks[i] == 0)
			return false;
		for (size_t p = 0; p < b->preds.count; p++)
			if (!part->inside[b->preds.data[p]] && part->blocks[i] != entry)
				return false;
	}
	return true;
}

static bool is_own_special(const struct ir_func *func, const struct ptx_operand *op)
{
	if (op->kind == PTX_OP_SREG)
		return op->sreg != SREG_ctaid && op->sreg != SREG_nctaid && op->sreg != SREG_ntid;
	for (unsigned i = 0; i < op->part_count; i++)
		if (is_own_special(func, &op->parts[i]))
			return true;
	return false;
}

/* Does the operand name memory of the thread's own? */
static bool is_own_object(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op)
{
	if (op->kind == PTX_OP_SYMBOL && op->symbol->kind == PTX_SYMBOL_VARIABLE) {
		const struct ptx_variable *variable = (const struct ptx_variable *)op->symbol;
		return variable->space != PTX_SPACE_SHARED && ir_find_object(func, inst->instance, variable);
	}
	for (unsigned i = 0; i < op->part_count; i++)
		if (is_own_object(func, inst, &op->parts[i]))
			return true;
	return false;
}

/* Can one lane run the instruction by itself, as scalar code of the group's? */
static bool is_allowed(const struct ir_func *func, const struct ir_inst *inst)
{
	if (inst->op == IR_COPY)
		return !inst->source || !is_own_special(func, inst->source);
	if (inst->op != IR_PTX)
		return false;
	const struct ptx_instruction *in = inst->ptx;
	unsigned opcode = in->form->row->opcode_id;
	uint32_t flags = in->form->row->flags;
	if (flags & ISA_PURE ? flags & (ISA_CONVERGENT | ISA_UNIFORM | ISA_VARYING) :
			       opcode != OP_ld && opcode != OP_st && opcode != OP_atom && opcode != OP_red)
		return false;
	if (in->form->space == PTX_SPACE_LOCAL || in->form->space == PTX_SPACE_SHARED_CLUSTER)
		return false;
	for (unsigned i = 0; i < in->operand_count; i++)
		if (is_own_special(func, &in->operands[i]) || is_own_object(func, inst, &in->operands[i]))
			return false;
	return true;
}

static bool is_allowed_block(struct ir_func *func, uint32_t block)
{
	const struct ir_block *b = block_of(func, block);
	for (uint32_t l = b->loop; l != IR_NONE; l = func->loops.data[l].parent)
		if (func->loops.data[l].waits || func->loops.data[l].irreducible)
			return false;
	if (b->after_barrier || b->end == IR_END_VOTE || b->end == IR_END_ALL)
		return false;
	for (size_t j = 0; j < b->insts.count; j++)
		if (!is_allowed(func, &b->insts.data[j]))
			return false;
	return true;
}

static bool is_allowed_part(struct ir_func *func, const struct part *part)
{
	for (uint32_t i = 0; i < part->count; i++)
		if (!is_allowed_block(func, part->blocks[i]))
			return false;
	return true;
}

/* ---- what it costs ------------------------------------------------------------------------------------------------ */

struct cost {
	uint64_t scalar, vector; /* of all lanes of a group */
	unsigned streams;        /* accesses where lanes walk along together */
	unsigned scattered;      /* … and where they do not */
};

static struct ir_shape address_shape(const struct ir_func *func, const struct ir_inst *inst, uint32_t *value)
{
	struct ir_shape uniform = { .kind = IR_UNIFORM };
	*value = IR_NONE;
	for (unsigned i = 0; i < inst->ptx->operand_count; i++) {
		const struct ptx_operand *op = &inst->ptx->operands[i];
		if (op->kind != PTX_OP_ADDRESS)
			continue;
		for (unsigned u = 0; u < inst->use_count; u++)
			if (inst->uses[u].operand == &op->parts[0] && inst->uses[u].value != IR_NONE) {
				*value = inst->uses[u].value;
				return func->values.data[*value].shape;
			}
	}
	return uniform;
}

static uint32_t depth_of(struct ir_func *func, uint32_t loop)
{
	return loop == IR_NONE ? 0 : func->loops.data[loop].depth;
}

static void add_access(struct ir_func *func, const struct part *part, const struct ir_inst *inst, uint64_t weight, uint32_t depth, struct cost *cost)
{
	uint32_t value;
	struct ir_shape shape = address_shape(func, inst, &value);
	bool writes = inst->ptx->form->row->flags & (ISA_WRITES | ISA_ATOMIC);
	uint32_t from = value == IR_NONE ? IR_NONE : func->values.data[value].block;
	bool moves = from != IR_NONE && part->inside[from] && depth_of(func, block_of(func, from)->loop) > depth;
	if (shape.kind == IR_VARYING || (shape.kind == IR_AFFINE && (shape.stride > 16 || shape.stride < 0))) {
		cost->scattered++;
		cost->scalar += weight * SCALAR_ACCESS * func->lanes;
		cost->vector += weight * (writes ? LANE_STORE : LANE_ACCESS) * func->lanes;
		return;
	}
	cost->streams += moves && shape.kind == IR_AFFINE && shape.stride;
	cost->scalar += weight * (moves ? SCALAR_STREAM : SCALAR_ACCESS) * func->lanes;
	cost->vector += weight * VECTOR_ACCESS * func->chunks;
}

static void add_block(struct ir_func *func, const struct part *part, uint32_t block, uint32_t depth, struct cost *cost)
{
	const struct ir_block *b = block_of(func, block);
	uint64_t weight = 1;
	for (uint32_t l = b->loop; l != IR_NONE && func->loops.data[l].depth > depth; l = func->loops.data[l].parent)
		weight *= LOOP_WEIGHT;
	cost->vector += weight * (MASK_STEP + b->phis.count * VECTOR_STEP) * func->chunks;
	cost->scalar += weight * (b->succ_count > 1 ? 2 : 1) * SCALAR_STEP * func->lanes;
	for (size_t j = 0; j < b->insts.count; j++) {
		const struct ir_inst *inst = &b->insts.data[j];
		if (inst->op == IR_PTX && !(inst->ptx->form->row->flags & ISA_PURE)) {
			add_access(func, part, inst, weight, depth, cost);
			continue;
		}
		bool uniform = inst->mode == IR_MODE_ONCE, wide = inst->def_count && ptx_type_bits(func->values.data[inst->defs[0].value].type) == 64;
		cost->scalar += weight * SCALAR_STEP * func->lanes;
		cost->vector += weight * VECTOR_STEP * (uniform ? 1 : func->chunks * (wide ? 2 : 1));
	}
}

static bool heads_loop(struct ir_func *func, uint32_t block)
{
	uint32_t l = block_of(func, block)->loop;
	return l != IR_NONE && func->loops.data[l].header == block;
}

static bool is_worth_it(struct ir_func *func, const struct part *part, uint32_t depth)
{
	struct cost cost = { 0 };
	for (uint32_t i = 0; i < part->count; i++)
		add_block(func, part, part->blocks[i], depth, &cost);
	if (block_of(func, part->entry)->rare) /* what there is a fast copy of had better be short */
		return cost.scattered;
	return cost.scattered && cost.scattered >= cost.streams && cost.scalar < cost.vector;
}

/* A load that a lane may as well do by itself: its own place takes no longer than an element of an array where a vector has been put. Threads
 * that hand one another something without a barrier do so in shared memory, or say volatile and the like. */
static bool is_own_load(const struct ir_inst *inst)
{
	const struct ptx_form *form = inst->ptx->form;
	return form->row->opcode_id == OP_ld && form->space == PTX_SPACE_GLOBAL && !(form->row->flags & ISA_WRITES) && !ptx_has(form, MOD_volatile) &&
	       !ptx_has(form, MOD_relaxed) && !ptx_has(form, MOD_acquire);
}

/* May a part take the block in? It brings not much that vectors do better. */
static bool may_grow(struct ir_func *func, uint32_t block)
{
	if (block == IR_NONE)
		return false;
	const struct ir_block *b = block_of(func, block);
	if (block == 0 || block == 1 || b->insts.count > MOST_GROWN || !is_allowed_block(func, block))
		return false;
	for (size_t j = 0; j < b->insts.count; j++) {
		const struct ir_inst *inst = &b->insts.data[j];
		if (inst->op == IR_PTX && !(inst->ptx->form->row->flags & ISA_PURE) && !is_own_load(inst))
			return false;
	}
	return true;
}

static void copy_part(struct ir_func *func, struct part *to, const struct part *from)
{
	to->entry = from->entry;
	to->exit = from->exit;
	to->count = from->count;
	memcpy(to->blocks, from->blocks, from->count * sizeof *to->blocks);
	memcpy(to->inside, from->inside, func->blocks.count);
}

static struct part new_part(struct ir_func *func)
{
	struct part part = { .known = func->blocks.count };
	part.blocks = arena_array(func->arena, uint32_t, part.known);
	part.inside = arena_array(func->arena, bool, part.known);
	return part;
}

/* Where the ways from a block meet again, outside of loop `l`. */
static uint32_t exit_of(struct ir_func *func, uint32_t block, uint32_t l)
{
	uint32_t exit = block_of(func, block)->ipdom;
	while (exit != IR_NONE && is_in_loop(func, exit, l))
		exit = block_of(func, exit)->ipdom;
	return exit;
}

static bool try_part(struct ir_func *func, uint32_t entry, uint32_t exit, const bool *taken, struct part *part)
{
	if (!find_part(func, entry, exit, part) || !is_allowed_part(func, part))
		return false;
	for (uint32_t i = 0; i < part->count; i++)
		if (taken[part->blocks[i]])
			return false;
	return is_worth_it(func, part, depth_of(func, block_of(func, entry)->loop) - (heads_loop(func, entry) ? 1 : 0));
}

/* Do data decide when lanes leave the loop? Where their numbers do, lanes side by side mostly stay so. */
static bool parts_lanes(struct ir_func *func, const struct ir_loop *loop, const bool *known)
{
	for (uint32_t i = loop->first; loop->divergent && i <= loop->last; i++) {
		const struct ir_block *b = block_of(func, func->order[i]);
		for (uint32_t s = 0; b->divergent && s < b->succ_count; s++)
			if ((block_of(func, b->succs[s])->order < loop->first || block_of(func, b->succs[s])->order > loop->last) &&
			    (b->rare || b->condition == IR_NONE || !known[b->condition]))
				return true;
	}
	return false;
}

/* The largest part around the loop; `trial` is room. */
static bool choose_part(struct ir_func *func, uint32_t l, const bool *known, const bool *taken, struct part *part, struct part *trial)
{
	const struct ir_loop *loop = &func->loops.data[l];
	if (!parts_lanes(func, loop, known) || loop->irreducible || loop->waits || !try_part(func, loop->header, exit_of(func, loop->header, l), taken, part))
		return false;
	for (bool grown = true; grown;) {
		uint32_t up = block_of(func, part->entry)->idom, down = part->exit;
		grown = may_grow(func, up) && try_part(func, up, exit_of(func, up, l), taken, trial);
		if (!grown && may_grow(func, down))
			grown = try_part(func, part->entry, exit_of(func, down, l), taken, trial);
		if (grown)
			copy_part(func, part, trial);
	}
	return true;
}

/* ---- what goes in and out -------------------------------------------------------------------------------------------- */

static bool is_listed(const uint32_t *list, size_t count, uint32_t variable)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == variable)
			return true;
	return false;
}

static void note_in(struct lists *lists, uint32_t variable)
{
	if (!is_listed(lists->in.data, lists->in.count, variable))
		vec_push(&lists->in, variable);
}

static void note_out(struct lists *lists, uint32_t variable)
{
	if (!is_listed(lists->out.data, lists->out.count, variable))
		vec_push(&lists->out, variable);
}

/* A use in `block`, or along an edge from there. */
static void note_use(struct ir_func *func, const struct part *part, struct lists *lists, uint32_t value, uint32_t variable, uint32_t block)
{
	uint32_t from = value == IR_NONE ? IR_NONE : func->values.data[value].block;
	bool inside = from != IR_NONE && part->inside[from];
	if (part->inside[block] && !inside)
		note_in(lists, variable);
	if (!part->inside[block] && inside)
		note_out(lists, variable);
}

static void note_phi(struct ir_func *func, const struct part *part, struct lists *lists, uint32_t block, const struct ir_phi *phi)
{
	const struct ir_block *b = block_of(func, block);
	uint32_t variable = func->values.data[phi->value].variable;
	bool brought = false;
	for (size_t p = 0; p < b->preds.count; p++) {
		uint32_t value = phi->arguments[p], from = value == IR_NONE ? IR_NONE : func->values.data[value].block;
		bool inside = from != IR_NONE && part->inside[from];
		if (part->inside[block]) {
			if (!inside)
				note_in(lists, variable); /* comes in, along an edge from outside or through the part */
		} else if (inside) {
			note_out(lists, variable);
			brought = true;
		}
	}
	if (part->inside[block] || !brought)
		return;
	for (size_t p = 0; p < b->preds.count; p++) { /* on another way through the part it stays as it was */
		uint32_t value = phi->arguments[p], from = value == IR_NONE ? IR_NONE : func->values.data[value].block;
		if (part->inside[b->preds.data[p]] && (from == IR_NONE || !part->inside[from]))
			note_in(lists, variable);
	}
}

static void find_lists(struct ir_func *func, const struct part *part, struct lists *lists)
{
	for (uint32_t i = 0; i < func->order_count; i++) {
		uint32_t block = func->order[i];
		const struct ir_block *b = block_of(func, block);
		for (size_t p = 0; p < b->phis.count; p++)
			note_phi(func, part, lists, block, &b->phis.data[p]);
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ir_inst *inst = &b->insts.data[j];
			for (unsigned u = 0; u < inst->use_count; u++)
				note_use(func, part, lists, inst->uses[u].value, inst->uses[u].variable, block);
			for (unsigned d = 0; d < inst->def_count; d++)
				if (inst->defs[d].guarded)
					note_use(func, part, lists, inst->defs[d].old, inst->defs[d].variable, block);
		}
		if (b->condition_variable != IR_NONE)
			note_use(func, part, lists, b->condition, b->condition_variable, block);
	}
}

static bool is_assigned(struct ir_func *func, const struct part *part, uint32_t variable)
{
	for (uint32_t i = 0; i < part->count; i++) {
		const struct ir_block *b = block_of(func, part->blocks[i]);
		for (size_t j = 0; j < b->insts.count; j++)
			for (unsigned d = 0; d < b->insts.data[j].def_count; d++)
				if (b->insts.data[j].defs[d].variable == variable)
					return true;
	}
	return false;
}

/* What the part only hands on (a phi where it begins, of a value from before it) does not come out of it. */
static void drop_unassigned(struct ir_func *func, const struct part *part, struct lists *lists)
{
	size_t kept = 0;
	for (size_t i = 0; i < lists->out.count; i++)
		if (is_assigned(func, part, lists->out.data[i]))
			lists->out.data[kept++] = lists->out.data[i];
	lists->out.count = kept;
}

static bool can_be_elements(struct ir_func *func, const uint32_t *variables, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum ptx_type type = func->flatten->types.data[variables[i]];
		unsigned bits = ptx_type_bits(type);
		if (type != PTX_PRED && bits != 16 && bits != 32 && bits != 64)
			return false;
	}
	return true;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------------ */

static void add_op(struct ir_func *func, uint32_t block, enum ir_op op, uint32_t array, const uint32_t *defs, unsigned def_count,
		   const uint32_t *uses, unsigned use_count)
{
	struct ir_inst inst = { .op = op, .array = array, .def_count = (uint16_t)def_count, .use_count = (uint16_t)use_count };
	inst.uses = arena_array(func->arena, struct ir_use, use_count + 1u);
	inst.defs = arena_array(func->arena, struct ir_def, def_count + 1u);
	for (unsigned i = 0; i < use_count; i++)
		inst.uses[i] = (struct ir_use){ .operand = &ir_slot_operand, .value = uses[i], .variable = uses[i] };
	for (unsigned i = 0; i < def_count; i++)
		inst.defs[i] = (struct ir_def){ .operand = &ir_slot_operand, .value = defs[i], .old = IR_NONE, .variable = defs[i] };
	vec_push(&block_of(func, block)->insts, inst);
}

static void redirect(struct ir_func *func, uint32_t block, uint32_t from, uint32_t to)
{
	struct ir_block *b = block_of(func, block);
	for (uint32_t s = 0; s < b->succ_count; s++)
		if (b->succs[s] == from)
			b->succs[s] = to;
}

static void rename_uses(struct ir_func *func, const struct part *part, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < part->count; i++) {
		struct ir_block *b = block_of(func, part->blocks[i]);
		for (size_t j = 0; j < b->insts.count; j++)
			for (unsigned u = 0; u < b->insts.data[j].use_count; u++)
				if (b->insts.data[j].uses[u].variable == from)
					b->insts.data[j].uses[u].variable = to;
		if (b->condition_variable == from)
			b->condition_variable = to;
	}
}

/* What the part reads: as it is for all lanes, under another name, and in the part for the lane at hand. */
static void bring_in(struct ir_func *func, const struct part *part, uint32_t variable, uint32_t lane, uint32_t before, uint32_t head)
{
	enum ptx_type type = func->flatten->types.data[variable];
	uint32_t spilled = ir_new_variable(func, type), own = variable, uses[2] = { spilled, lane };
	if (!is_assigned(func, part, variable)) { /* others go on to read it as it was */
		own = ir_new_variable(func, type);
		rename_uses(func, part, variable, own);
	}
	add_op(func, before, IR_LANE_SPILL, func->array_count, &spilled, 1, &variable, 1);
	add_op(func, head, IR_LANE_READ, func->array_count++, &own, 1, uses, 2);
}

/* The loop around a part. The function is in variables for what is new; what it had comes back to them when all parts are done. */
static void add_loop(struct ir_func *func, const struct part *part, const struct lists *lists)
{
	uint32_t before = ir_new_block(func, part->entry), head = ir_new_block(func, part->entry), latch = ir_new_block(func, part->exit),
		 after = ir_new_block(func, part->exit), count = (uint32_t)part->count;
	uint32_t bits = ir_new_variable(func, PTX_B32), lane = ir_new_variable(func, PTX_B32), some = ir_new_variable(func, PTX_PRED),
		 more = ir_new_variable(func, PTX_PRED), first[2] = { lane, bits };
	size_t old_count = before;
	for (size_t i = 0; i < old_count; i++)
		if (i >= part->known || !part->inside[i])
			redirect(func, (uint32_t)i, part->entry, before);
	for (uint32_t i = 0; i < count; i++) {
		redirect(func, part->blocks[i], part->exit, latch);
		struct ir_block *b = block_of(func, part->blocks[i]);
		b->one_lane = true;
		for (size_t j = 0; j < b->insts.count; j++)
			b->insts.data[j].one_lane = true;
	}
	block_of(func, head)->one_lane = block_of(func, latch)->one_lane = true;
	add_op(func, before, IR_LANE_MASK, 0, &bits, 1, NULL, 0);
	add_op(func, head, IR_LANE_FIRST, 0, first, 2, &bits, 1);
	for (size_t i = 0; i < lists->in.count; i++)
		bring_in(func, part, lists->in.data[i], lane, before, head);
	for (size_t i = 0; i < lists->out.count; i++) {
		uint32_t variable = lists->out.data[i], uses[2] = { variable, lane };
		add_op(func, latch, IR_LANE_WRITE, func->array_count, NULL, 0, uses, 2);
		add_op(func, after, IR_LANE_LOAD, func->array_count++, &variable, 1, NULL, 0);
	}
	add_op(func, before, IR_LANE_MORE, 0, &some, 1, &bits, 1);
	ir_end_block(func, before, some, head, after);
	ir_end_block(func, head, IR_NONE, part->entry, 0);
	add_op(func, latch, IR_LANE_MORE, 0, &more, 1, &bits, 1);
	ir_end_block(func, latch, more, head, after);
	ir_end_block(func, after, IR_NONE, part->exit, 0);
}

/* What all lanes have alike needs no array: it is there. Uniform values that the part changes must still begin anew for each lane. */
static void drop_uniform(struct ir_func *func, const struct part *part, struct lists *lists)
{
	size_t kept = 0;
	for (size_t i = 0; i < lists->in.count; i++) {
		uint32_t variable = lists->in.data[i];
		bool keep = false;
		for (size_t v = 0; v < func->values.count && !keep; v++)
			keep = func->values.data[v].variable == variable && func->values.data[v].block != IR_NONE &&
			       (part->inside[func->values.data[v].block] || func->values.data[v].shape.kind != IR_UNIFORM);
		if (keep)
			lists->in.data[kept++] = variable;
	}
	lists->in.count = kept;
}

bool ir_add_lane_loops(struct ir_func *func)
{
	struct part parts[MOST_PARTS], trial;
	struct lists lists[MOST_PARTS] = { 0 };
	unsigned count = 0;
	if (func->lanes == 1 || func->lanes > 32)
		return false;
	bool *taken = arena_array(func->arena, bool, func->blocks.count);
	bool *known = arena_array(func->arena, bool, func->values.count + 1);
	ir_find_known(func, known);
	trial = new_part(func);
	for (uint32_t l = 0; l < func->loops.count && count < MOST_PARTS; l++) { /* outer ones first */
		if (taken[func->loops.data[l].header] || !func->loops.data[l].divergent)
			continue;
		parts[count] = new_part(func);
		if (!choose_part(func, l, known, taken, &parts[count], &trial))
			continue;
		find_lists(func, &parts[count], &lists[count]);
		drop_unassigned(func, &parts[count], &lists[count]);
		drop_uniform(func, &parts[count], &lists[count]);
		struct lists *own = &lists[count];
		if (own->in.count + own->out.count > MOST_VALUES || !can_be_elements(func, own->in.data, own->in.count) ||
		    !can_be_elements(func, own->out.data, own->out.count)) {
			own->in.count = own->out.count = 0;
			continue;
		}
		for (uint32_t i = 0; i < parts[count].count; i++)
			taken[parts[count].blocks[i]] = true;
		count++;
	}
	for (unsigned i = 0; i < count; i++)
		add_loop(func, &parts[i], &lists[i]);
	for (unsigned i = 0; i < MOST_PARTS; i++) {
		vec_fini(&lists[i].in);
		vec_fini(&lists[i].out);
	}
	func->lane_loops = count;
	return count;
}
