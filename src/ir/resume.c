/* Threads that are resumed, for a machine that runs the lanes of a warp in step and brings those that part together again where their ways
 * meet. There a lane that has taken a lock would wait, at the end of the loop that takes it, for the lanes that are still in the
 * loop and want that lock; and lanes at a barrier for those on another way that leads to another barrier.
 *
 * In this form each thread has a state: the number of the place where it waits. Nobody waits there: all go back to one block, the
 * head, which all lanes of a warp come to together, round by round. It asks who may go on (IR_TURN), and a switch sends those on to
 * where they were; the others stay for the next round. So each lane gets on as far as the next place in each round, whatever the others do.
 *
 *     before:  st; LOOP: cas; branch taken -> LOOP, WORK; WORK: …; barrier; …; exit
 *     after:   st; state = 0 -> head
 *              head:   turn = IR_TURN(state, ticket); switch turn -> LOOP, LOOP, BEHIND, latch
 *              LOOP:   cas; branch taken -> again, WORK     again: state = 1 -> latch
 *              WORK:   …; ticket = IR_ARRIVE(barrier); state = 2 -> latch
 *              BEHIND: …; IR_LEFT; state = done -> latch
 *              latch:  more = IR_MORE(state); branch more -> head, exit
 *
 * Places to wait at: barriers; operations of a warp with a member mask, at which its lanes meet again; and the way back of each loop that waits
 * for memory or has such places in it (a loop entered at a place in its middle would be none that has one header). What lives across is
 * in phis of the head: the pass changes blocks of variables, and SSA is built again behind it. What all threads come through in front of
 * the first place stays in front of the head: where some of them go another way, to the end even, that way is part of the rounds, or
 * the hardware might let them wait, with what they have to tell, until the rounds are over.
 *
 * Functions that are called and not inlined have rounds of their own, of the lanes that called together; the others wait meanwhile. */
#include "ir/resume.h"

#include "ir/change.h"
#include "ir/flatten.h"

#include <stdlib.h>

struct edge {
	uint32_t from, successor;
};

struct resume {
	struct ir_func *func;
	uint32_t state, ticket; /* variables */
	uint32_t start;         /* the block that leads to the head */
	uint32_t head, latch, done;
	VEC(uint32_t) ways;     /* blocks that threads go on at, by number */
	VEC(struct edge) back;  /* ways back of loops that go by way of the head */
	bool barriers;
};

static struct ir_block *block_of(struct ir_func *func, uint32_t block)
{
	return &func->blocks.data[block];
}

/* ---- places to wait at ---------------------------------------------------------------------------------------------------- */

static uint32_t flags_of(const struct ir_inst *inst)
{
	return inst->op == IR_PTX ? inst->ptx->form->row->flags : 0;
}

/* RESUME_RUN: the instruction is no such place. To a cluster's barrier the lanes of a warp come together, but where a block is a cluster. */
static enum resume_kind kind_of(const struct ir_func *func, const struct ir_inst *inst)
{
	uint32_t flags = flags_of(inst);
	const struct ptx_form *form = flags ? inst->ptx->form : NULL;
	if (flags & ISA_BARRIER && ptx_has(form, MOD_cluster) && func->options.cluster)
		return RESUME_WARP;
	if (flags & ISA_BARRIER)
		return ptx_has(form, MOD_arrive) ? RESUME_RUN : RESUME_BARRIER;
	if (!(flags & ISA_CONVERGENT) || !(ptx_has(form, MOD_sync) || form->row->opcode_id == OP_bar))
		return RESUME_RUN; /* without a mask it is for those that are here */
	return form->row->opcode_id == OP_bar ? RESUME_JOIN : RESUME_WARP;
}

/* Does the loop have places to wait at, or wait itself? By the loop's number. */
static bool *find_loops(const struct ir_func *func)
{
	bool *found = arena_array(func->arena, bool, func->loops.count + 1);
	for (uint32_t l = 0; l < func->loops.count; l++)
		found[l] = func->loops.data[l].waits;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count && b->loop != IR_NONE; j++)
			found[b->loop] |= kind_of(func, &b->insts.data[j]) != RESUME_RUN || ir_waits_at_mbarrier(&b->insts.data[j]);
	}
	for (uint32_t l = (uint32_t)func->loops.count; l-- > 0;) /* inner ones come later */
		if (found[l] && func->loops.data[l].parent != IR_NONE)
			found[func->loops.data[l].parent] = true;
	return found;
}

/* The innermost loop that both blocks are in. */
static uint32_t common_loop(const struct ir_func *func, uint32_t a, uint32_t b)
{
	uint32_t l = func->blocks.data[a].loop;
	while (l != IR_NONE && (func->blocks.data[b].order < func->loops.data[l].first || func->blocks.data[b].order > func->loops.data[l].last))
		l = func->loops.data[l].parent;
	return l;
}

static void find_back_edges(struct resume *r)
{
	struct ir_func *func = r->func;
	const bool *found = find_loops(func);
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = block_of(func, func->order[i]);
		for (uint32_t s = 0; s < b->succ_count; s++) {
			uint32_t l = block_of(func, b->succs[s])->order > i ? IR_NONE : common_loop(func, func->order[i], b->succs[s]);
			if (l != IR_NONE && found[l])
				vec_push(&r->back, ((struct edge){ func->order[i], s }));
		}
	}
}

/* ---- where it begins --------------------------------------------------------------------------------------------------------- */

static uint32_t depth_of(const struct ir_func *func, uint32_t block)
{
	uint32_t depth = 0;
	for (; func->blocks.data[block].idom != IR_NONE; block = func->blocks.data[block].idom)
		depth++;
	return depth;
}

static uint32_t common_dominator(const struct ir_func *func, uint32_t a, uint32_t b)
{
	uint32_t depth_a = depth_of(func, a), depth_b = depth_of(func, b);
	while (a != b) {
		bool up = depth_a >= depth_b;
		*(up ? &a : &b) = func->blocks.data[up ? a : b].idom;
		*(up ? &depth_a : &depth_b) -= 1;
	}
	return a;
}

/* Marks what can be come to from `block`. false: some of that, which may be the exit, also without coming through it. */
static bool mark_behind(const struct ir_func *func, uint32_t block, bool *behind)
{
	memset(behind, 0, func->blocks.count);
	behind[block] = true;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < func->order_count; i++) {
			const struct ir_block *b = &func->blocks.data[func->order[i]];
			for (uint32_t s = 0; behind[func->order[i]] && s < b->succ_count; s++) {
				changed |= !behind[b->succs[s]];
				behind[b->succs[s]] = true;
			}
		}
	}
	for (uint32_t i = 0; i < func->order_count; i++)
		if (behind[func->order[i]] && !ir_dominates(func, block, func->order[i]))
			return false;
	return true;
}

static uint32_t find_start(struct resume *r, bool *behind)
{
	struct ir_func *func = r->func;
	uint32_t start = IR_NONE;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = block_of(func, func->order[i]);
		bool waits = false;
		for (size_t j = 0; j < b->insts.count; j++)
			waits |= kind_of(func, &b->insts.data[j]) != RESUME_RUN;
		if (waits)
			start = start == IR_NONE ? func->order[i] : common_dominator(func, start, func->order[i]);
	}
	for (size_t i = 0; i < r->back.count; i++) {
		uint32_t to = block_of(func, r->back.data[i].from)->succs[r->back.data[i].successor];
		start = start == IR_NONE ? to : common_dominator(func, start, to);
	}
	while (start && start != IR_NONE && (block_of(func, start)->loop != IR_NONE || !mark_behind(func, start, behind)))
		start = block_of(func, start)->idom;
	if (start != IR_NONE)
		mark_behind(func, start, behind);
	return start;
}

/* ---- blocks --------------------------------------------------------------------------------------------------------------- */

/* `uses` and `defs` are variables; NULL: none. */
static void add_op(struct ir_func *func, uint32_t block, enum ir_op op, uint32_t def, const uint32_t *uses, unsigned use_count)
{
	struct ir_inst inst = { .op = op, .def_count = def != IR_NONE, .use_count = (uint16_t)use_count };
	inst.uses = arena_array(func->arena, struct ir_use, use_count + 1u);
	inst.defs = arena_array(func->arena, struct ir_def, 1);
	inst.defs[0] = (struct ir_def){ .operand = &ir_slot_operand, .value = def, .old = IR_NONE, .variable = def };
	for (unsigned i = 0; i < use_count; i++)
		inst.uses[i] = (struct ir_use){ .operand = &ir_slot_operand, .value = uses[i], .variable = uses[i] };
	vec_push(&block_of(func, block)->insts, inst);
}

static void set_variable(struct ir_func *func, uint32_t block, uint32_t variable, uint32_t number)
{
	struct ptx_operand *source = arena_new(func->arena, struct ptx_operand);
	*source = (struct ptx_operand){ .kind = PTX_OP_IMMEDIATE, .bits = number, .component = -1 };
	add_op(func, block, IR_COPY, variable, NULL, 0);
	struct ir_inst *inst = &block_of(func, block)->insts.data[block_of(func, block)->insts.count - 1];
	inst->source = source;
	inst->source_type = PTX_B32;
}

static uint32_t way_to(struct resume *r, uint32_t block)
{
	for (uint32_t i = 0; i < r->ways.count; i++)
		if (r->ways.data[i] == block)
			return i;
	vec_push(&r->ways, block);
	return (uint32_t)r->ways.count - 1;
}

/* The thread goes to the head, or by way of the latch there, and on from there by the way to `block`. */
static void go_by(struct resume *r, uint32_t from, enum resume_kind kind, uint32_t block, uint32_t next)
{
	uint32_t way = block == IR_NONE ? 0 : way_to(r, block);
	set_variable(r->func, from, r->state, (uint32_t)kind << RESUME_KIND_SHIFT | way);
	ir_end_block(r->func, from, IR_NONE, next, 0);
}

/* What is left of the block from the instruction on, and how it ends, becomes one of its own. */
static uint32_t split(struct ir_func *func, uint32_t block, size_t from)
{
	uint32_t rest = ir_new_block(func, block);
	struct ir_block *a = block_of(func, block), *b = block_of(func, rest);
	for (size_t j = from; j < a->insts.count; j++)
		vec_push(&b->insts, a->insts.data[j]);
	a->insts.count = from;
	b->end = a->end;
	b->condition_variable = a->condition_variable;
	b->negated = a->negated;
	b->succs = a->succs;
	b->succ_count = a->succ_count;
	b->location = a->location;
	return rest;
}

/* The instruction without its guard, which has been asked; its variable. */
static uint32_t take_guard(struct ir_func *func, struct ir_inst *inst)
{
	uint32_t guard = IR_NONE;
	unsigned kept = 0;
	struct ir_use *uses = arena_array(func->arena, struct ir_use, inst->use_count + 1u);
	for (unsigned i = 0; i < inst->use_count; i++)
		if (inst->uses[i].operand)
			uses[kept++] = inst->uses[i];
		else
			guard = inst->uses[i].value;
	inst->uses = uses;
	inst->use_count = (uint16_t)kept;
	for (unsigned d = 0; d < inst->def_count; d++)
		inst->defs[d].old = IR_NONE;
	return guard;
}

/* The last instruction of `block` is a place to wait at; what follows it is in `rest`. */
static void wait_at_last(struct resume *r, uint32_t block, uint32_t rest)
{
	struct ir_func *func = r->func;
	struct ir_block *b = block_of(func, block);
	struct ir_inst inst = b->insts.data[--b->insts.count], arrive;
	enum resume_kind kind = kind_of(func, &inst);
	uint32_t wait = ir_new_block(func, block), after = ir_new_block(func, block), guard = take_guard(func, &inst);
	ir_end_block(func, block, guard, wait, rest);
	block_of(func, block)->negated = guard != IR_NONE && inst.ptx->guard_negated;
	arrive = inst;
	arrive.op = IR_ARRIVE;
	arrive.uses = arena_array(func->arena, struct ir_use, inst.use_count + 1u); /* each is renamed by itself */
	memcpy(arrive.uses, inst.uses, inst.use_count * sizeof *arrive.uses);
	arrive.def_count = 1;
	arrive.defs = arena_array(func->arena, struct ir_def, 1);
	arrive.defs[0] = (struct ir_def){ .operand = &ir_slot_operand, .value = r->ticket, .old = IR_NONE, .variable = r->ticket };
	vec_push(&block_of(func, wait)->insts, arrive);
	go_by(r, wait, kind, after, r->latch);
	if (kind == RESUME_BARRIER) {
		inst.op = IR_ARRIVED;
		inst.use_count = 1;
		inst.uses = arena_array(func->arena, struct ir_use, 1);
		inst.uses[0] = (struct ir_use){ .operand = &ir_slot_operand, .value = r->ticket, .variable = r->ticket };
	}
	if (kind != RESUME_BARRIER || inst.def_count)
		vec_push(&block_of(func, after)->insts, inst);
	ir_end_block(func, after, IR_NONE, rest, 0);
}

static void cut_block(struct resume *r, uint32_t block)
{
	for (size_t j = 0; j < block_of(r->func, block)->insts.count; j++) {
		if (kind_of(r->func, &block_of(r->func, block)->insts.data[j]) == RESUME_RUN)
			continue;
		uint32_t rest = split(r->func, block, j + 1);
		wait_at_last(r, block, rest);
		block = rest;
		j = (size_t)-1;
	}
}

static void redirect(struct ir_func *func, uint32_t block, uint32_t from, uint32_t to)
{
	struct ir_block *b = block_of(func, block);
	for (uint32_t s = 0; s < b->succ_count; s++)
		if (b->succs[s] == from)
			b->succs[s] = to;
}

/* The block before the head, and the one that the first way leads to. */
static uint32_t begin(struct resume *r, const bool *behind, size_t old_count)
{
	struct ir_func *func = r->func;
	size_t from = 0;
	const struct ir_block *b = block_of(func, r->start);
	while (b->loop == IR_NONE && from < b->insts.count && kind_of(func, &b->insts.data[from]) == RESUME_RUN)
		from++;
	uint32_t first = split(func, r->start, from);
	for (uint32_t i = 0; i < old_count; i++) /* the kernel may begin with a loop */
		if (behind[i] && i != r->start)
			redirect(func, i, r->start, first);
	redirect(func, first, r->start, first);
	go_by(r, r->start, RESUME_RUN, first, r->head);
	return first;
}

static void end_head(struct resume *r)
{
	struct ir_func *func = r->func;
	uint32_t turn = ir_new_variable(func, PTX_B32), more = ir_new_variable(func, PTX_PRED), uses[2] = { r->state, r->ticket };
	add_op(func, r->head, IR_TURN, turn, uses, 2);
	struct ir_block *head = block_of(func, r->head);
	head->end = IR_END_SWITCH;
	head->condition_variable = turn;
	head->succ_count = (uint32_t)r->ways.count + 1;
	head->succs = arena_array(func->arena, uint32_t, head->succ_count);
	memcpy(head->succs, r->ways.data, r->ways.count * sizeof *head->succs);
	head->succs[r->ways.count] = r->latch;
	add_op(func, r->latch, IR_MORE, more, uses, 1);
	ir_end_block(func, r->latch, more, r->head, 1);
}

/* Whoever ends says so, and stays until all have. */
static void end_threads(struct resume *r)
{
	struct ir_func *func = r->func;
	if (r->barriers)
		add_op(func, r->done, IR_LEFT, IR_NONE, NULL, 0);
	go_by(r, r->done, RESUME_DONE, IR_NONE, r->latch);
	for (uint32_t i = 0; i < func->blocks.count; i++)
		if (i != r->latch)
			redirect(func, i, 1, r->done);
}

void ir_make_resumable(struct ir_func *func)
{
	struct resume r = { .func = func, .barriers = func->flags_used & ISA_BARRIER };
	bool *behind = arena_array(func->arena, bool, func->blocks.count);
	uint32_t old_count = (uint32_t)func->blocks.count;
	find_back_edges(&r);
	r.start = find_start(&r, behind);
	if (r.start != IR_NONE) {
		ir_undo_ssa(func);
		for (uint32_t i = 0; i < old_count; i++)
			block_of(func, i)->after_barrier = false;
		r.state = ir_new_variable(func, PTX_B32);
		r.ticket = ir_new_variable(func, PTX_B32);
		r.head = ir_new_block(func, r.start);
		r.latch = ir_new_block(func, r.start);
		r.done = ir_new_block(func, r.start);
		uint32_t first = begin(&r, behind, old_count);
		for (size_t i = 0; i < r.back.count; i++) {
			uint32_t from = r.back.data[i].from == r.start ? first : r.back.data[i].from, again = ir_new_block(func, from);
			uint32_t *to = &block_of(func, from)->succs[r.back.data[i].successor];
			go_by(&r, again, RESUME_YIELD, *to, r.latch);
			*to = again;
		}
		for (uint32_t i = 0; i < old_count; i++)
			if (behind[i] && i != r.start && i != 1)
				cut_block(&r, i);
		cut_block(&r, first);
		end_head(&r);
		end_threads(&r);
		func->resumes = true;
		ir_find_order(func);
		ir_build_ssa(func, (uint32_t)func->flatten->types.count, func->flatten->types.data);
	}
	vec_fini(&r.ways);
	vec_fini(&r.back);
}
