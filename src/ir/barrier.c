/* Barriers that nobody has to wait at, where a block runs as regions, its groups of lanes one after the other (region.c).
 *
 *     for each group: other = t >= d ? sums[t - d] : 0        for each group, the last one first:
 *     for each group: sums[t] += other                             other = t >= d ? sums[t - d] : 0;  sums[t] += other
 *
 * What a barrier keeps apart may be one loop over the groups if no group comes too early for another: when the part behind the barrier
 * has run for one group, the groups after it have still to run the part in front, and must find memory as it was, and leave alone what was
 * made of it. Who touches what in shared memory is known thread by thread where addresses follow from the threads' numbers (each.c), so
 * that is looked up; the groups may go upwards or downwards. Then values stay in registers which lived across in memory, and loops
 * over the groups are saved: steps of sorts and transforms that stay within a warp, sums whose last rounds are one warp's, scans.
 * (Loop fusion with a dependence test, Kennedy and McKinley, "Maximizing Loop Parallelism and Improving Data Locality via Loop Fusion and
 * Distribution", 1993, here with dependences that are listed and not solved for; Stratton et al., "MCUDA", 2008, for the loops.)
 *
 * Blocks of the flow graph between which there is a way without a barrier are one *segment*. Taking a barrier away makes one of two; the more
 * values live across it alone, the earlier its turn. Lanes of a group still go through both parts in step, one after the other. */
#include "ir/each.h"
#include "ir/flatten.h"
#include "isa_mods.h"

#include <stdlib.h>

enum { UP = 1, DOWN = 2 };
enum { SHARED, GLOBAL, SPACES };
enum { GRANULE = 4, MOST_SHARED = 1 << 18, MOST_BARRIERS = 256, MOST_WORK = 1 << 25 };

/* The groups that do something to a place: none where first > last. */
struct groups {
	int16_t first, last;
};

struct access {
	uint32_t block;
	const uint64_t *address; /* in shared memory, by thread; NULL: not known */
	const struct ir_inst *inst;
	const uint64_t *guard;   /* 0: the thread does not; NULL: all do */
	bool guard_negated;
	uint32_t bytes;
	bool spaces[SPACES], reads, writes, atomic;
};

struct candidate {
	uint32_t from, to; /* blocks: the one that ends with the barrier, and what follows */
	unsigned across;   /* values that one side makes and the other reads */
};

struct segment {
	uint8_t ways;  /* orders that its groups may go in */
	bool exits;
};

struct fusion {
	struct ir_func *func;
	struct each *each;
	uint32_t threads;
	uint32_t *parent;      /* of a block: union and find */
	struct segment *segments;
	bool **comes;          /* by block, by thread: may it come there */
	VEC(struct access) accesses;
	size_t granules;
	struct groups *reads, *writes; /* by granule, of known accesses */
	struct groups known[SPACES][2], unknown[SPACES][2]; /* of the segment in front; [1]: writes */
};

static uint32_t segment_of(struct fusion *f, uint32_t block)
{
	while (f->parent[block] != block)
		block = f->parent[block] = f->parent[f->parent[block]];
	return block;
}

static struct ir_block *block_of(struct fusion *f, uint32_t block)
{
	return &f->func->blocks.data[block];
}

static const struct ir_inst *barrier_of(struct fusion *f, uint32_t block)
{
	const struct ir_block *b = block_of(f, block);
	const struct ir_inst *last = b->insts.count ? &b->insts.data[b->insts.count - 1] : NULL;
	return last && last->op == IR_PTX && last->ptx->form->row->flags & ISA_BARRIER ? last : NULL;
}

/* ---- who comes where ------------------------------------------------------------------------------------------------------ */

static bool pass(struct fusion *f, uint32_t from, uint32_t successor)
{
	const struct ir_block *b = block_of(f, from);
	const uint64_t *condition = b->end == IR_END_BRANCH ? ir_each_value(f->each, b->condition) : NULL;
	bool *to = f->comes[b->succs[successor]], changed = false;
	for (uint32_t t = 0; t < f->threads; t++) {
		bool taken = !condition || (successor == 0) == (!condition[t] == b->negated);
		if (f->comes[from][t] && taken && !to[t])
			to[t] = changed = true;
	}
	return changed;
}

static void find_comers(struct fusion *f)
{
	memset(f->comes[0], 1, f->threads);
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < f->func->order_count; i++)
			for (uint32_t s = 0; s < block_of(f, f->func->order[i])->succ_count; s++)
				changed |= pass(f, f->func->order[i], s);
	}
}

/* ---- accesses -------------------------------------------------------------------------------------------------------------- */

static bool is_harmless(const struct ptx_instruction *in)
{
	switch (in->form->row->opcode_id) {
	case OP_membar:
	case OP_fence:
		return true;
	case OP_bar:
		return ptx_has(in->form, MOD_warp);
	default:
		return false;
	}
}

static bool takes_part(struct fusion *f, const struct access *a, uint32_t thread)
{
	return f->comes[a->block][thread] && (!a->guard || !a->guard[thread] == a->guard_negated);
}

static void add_access(struct fusion *f, uint32_t block, const struct ir_inst *inst)
{
	const struct ptx_instruction *in = inst->ptx;
	uint32_t flags = in->form->row->flags;
	enum ptx_space space = in->form->space;
	struct access a = { .block = block, .inst = inst, .reads = flags & (ISA_READS | ISA_ATOMIC), .writes = flags & (ISA_WRITES | ISA_ATOMIC),
			    .atomic = flags & ISA_ATOMIC };
	if (flags & ISA_BARRIER || !(flags & (ISA_READS | ISA_WRITES | ISA_ATOMIC | ISA_CALL | ISA_EFFECT)) || is_harmless(in))
		return;
	bool plain = (in->form->row->opcode_id == OP_ld || in->form->row->opcode_id == OP_st) && !(flags & ISA_EFFECT);
	if (plain && (space == PTX_SPACE_PARAM || space == PTX_SPACE_LOCAL || space == PTX_SPACE_CONST || ptx_has(in->form, MOD_nc)))
		return;
	bool one_place = plain || in->form->row->opcode_id == OP_atom || in->form->row->opcode_id == OP_red;
	a.spaces[SHARED] = !one_place || space != PTX_SPACE_GLOBAL;
	a.spaces[GLOBAL] = !one_place || space != PTX_SPACE_SHARED;
	if (flags & (ISA_CALL | ISA_EFFECT)) /* whatever it is */
		a.reads = a.writes = true;
	if (plain && space == PTX_SPACE_SHARED) {
		a.bytes = in->form->vector * ptx_type_bits(in->form->types[0]) / 8;
		a.address = ir_each_shared_address(f->each, inst, &in->operands[in->form->row->opcode_id == OP_ld ? 1 : 0]);
	}
	for (unsigned u = 0; u < inst->use_count; u++)
		if (!inst->uses[u].operand) {
			a.guard = ir_each_value(f->each, inst->uses[u].value);
			a.guard_negated = in->guard_negated;
		}
	for (uint32_t t = 0; t < f->threads && a.address; t++) {
		if (!takes_part(f, &a, t))
			continue;
		if (a.address[t] + a.bytes > MOST_SHARED)
			a.address = NULL;
		else if ((a.address[t] + a.bytes) / GRANULE >= f->granules)
			f->granules = (a.address[t] + a.bytes) / GRANULE + 1;
	}
	vec_push(&f->accesses, a);
}

static void find_accesses(struct fusion *f)
{
	for (uint32_t i = 0; i < f->func->order_count; i++) {
		const struct ir_block *b = block_of(f, f->func->order[i]);
		for (size_t j = 0; j < b->insts.count; j++)
			if (b->insts.data[j].op == IR_PTX)
				add_access(f, f->func->order[i], &b->insts.data[j]);
	}
}

/* ---- is one segment free to run with the next? ------------------------------------------------------------------------- */

static void add_group(struct groups *g, int16_t group)
{
	if (group < g->first)
		g->first = group;
	if (group > g->last)
		g->last = group;
}

static void note_front(struct fusion *f, const struct access *a)
{
	for (uint32_t t = 0; t < f->threads; t++) {
		int16_t group = (int16_t)(t / f->func->lanes);
		if (!takes_part(f, a, t))
			continue;
		for (unsigned s = 0; s < SPACES; s++)
			for (unsigned w = 0; w < 2; w++)
				if (a->spaces[s] && (w ? a->writes : a->reads))
					add_group(a->address ? &f->known[s][w] : &f->unknown[s][w], group);
		for (uint64_t at = a->address ? a->address[t] / GRANULE : 1; a->address && at <= (a->address[t] + a->bytes - 1) / GRANULE; at++) {
			if (a->reads)
				add_group(&f->reads[at], group);
			if (a->writes)
				add_group(&f->writes[at], group);
		}
	}
}

/* Takes away the orders in which `group` would be too early for groups of the part in front. */
static void meet(struct groups g, int16_t group, unsigned *ways)
{
	if (g.first > g.last)
		return;
	if (g.last > group)
		*ways &= ~(unsigned)UP;
	if (g.first < group)
		*ways &= ~(unsigned)DOWN;
}

static void meet_back(struct fusion *f, const struct access *a, unsigned *ways)
{
	for (uint32_t t = 0; t < f->threads && *ways; t++) {
		int16_t group = (int16_t)(t / f->func->lanes);
		if (!takes_part(f, a, t))
			continue;
		for (unsigned s = 0; s < SPACES; s++)
			for (unsigned w = a->writes ? 0 : 1; a->spaces[s] && w < 2; w++) { /* reads of the other's writes alone matter */
				meet(f->unknown[s][w], group, ways);
				if (!a->address)
					meet(f->known[s][w], group, ways);
			}
		for (uint64_t at = a->address ? a->address[t] / GRANULE : 1; a->address && at <= (a->address[t] + a->bytes - 1) / GRANULE; at++) {
			meet(f->writes[at], group, ways);
			if (a->writes)
				meet(f->reads[at], group, ways);
		}
	}
}

static unsigned find_ways(struct fusion *f, uint32_t front, uint32_t back)
{
	const struct groups none = { INT16_MAX, -1 };
	unsigned ways = f->segments[front].ways & f->segments[back].ways;
	if (!ways)
		return 0;
	for (size_t i = 0; i < f->granules; i++)
		f->reads[i] = f->writes[i] = none;
	for (unsigned s = 0; s < SPACES; s++)
		for (unsigned w = 0; w < 2; w++)
			f->known[s][w] = f->unknown[s][w] = none;
	for (size_t i = 0; i < f->accesses.count; i++)
		if (segment_of(f, f->accesses.data[i].block) == front)
			note_front(f, &f->accesses.data[i]);
	for (size_t i = 0; i < f->accesses.count && ways; i++)
		if (segment_of(f, f->accesses.data[i].block) == back)
			meet_back(f, &f->accesses.data[i], &ways);
	return ways;
}

/* ---- segments and barriers ------------------------------------------------------------------------------------------------- */

static void unite(struct fusion *f, uint32_t a, uint32_t b)
{
	a = segment_of(f, a);
	b = segment_of(f, b);
	if (a == b)
		return;
	f->parent[b] = a;
	f->segments[a].ways &= f->segments[b].ways;
	f->segments[a].exits |= f->segments[b].exits;
}

static void find_segments(struct fusion *f)
{
	for (uint32_t i = 0; i < f->func->blocks.count; i++) {
		f->parent[i] = i;
		f->segments[i] = (struct segment){ .ways = UP | DOWN };
	}
	for (uint32_t i = 0; i < f->func->order_count; i++) {
		const struct ir_block *b = block_of(f, f->func->order[i]);
		for (uint32_t s = 0; s < b->succ_count; s++) {
			if (b->succs[s] == 1)
				f->segments[segment_of(f, f->func->order[i])].exits = true;
			else if (!block_of(f, b->succs[s])->after_barrier)
				unite(f, f->func->order[i], b->succs[s]);
		}
	}
}

static bool varies(struct fusion *f, uint32_t value)
{
	return value != IR_NONE && f->func->values.data[value].shape.kind == IR_VARYING;
}

static unsigned uses_from(struct fusion *f, uint32_t user, uint32_t value, uint32_t front, uint32_t back)
{
	if (!varies(f, value) || f->func->values.data[value].block == IR_NONE || ir_each_value(f->each, value))
		return 0;
	return segment_of(f, user) == back && segment_of(f, f->func->values.data[value].block) == front;
}

static unsigned count_across(struct fusion *f, uint32_t front, uint32_t back)
{
	unsigned count = 0;
	for (uint32_t i = 0; i < f->func->order_count; i++) {
		const struct ir_block *b = block_of(f, f->func->order[i]);
		for (size_t j = 0; j < b->insts.count; j++)
			for (unsigned u = 0; u < b->insts.data[j].use_count; u++)
				count += uses_from(f, f->func->order[i], b->insts.data[j].uses[u].value, front, back);
		for (size_t q = 0; q < b->phis.count; q++)
			for (size_t p = 0; p < b->preds.count; p++)
				count += uses_from(f, b->preds.data[p], b->phis.data[q].arguments[p], front, back);
	}
	return count;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->across != y->across)
		return x->across > y->across ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static unsigned find_candidates(struct fusion *f, struct candidate *list)
{
	unsigned count = 0;
	for (uint32_t i = 0; i < f->func->order_count && count < MOST_BARRIERS; i++) {
		uint32_t to = f->func->order[i];
		const struct ir_block *b = block_of(f, to);
		if (!b->after_barrier || b->preds.count != 1)
			continue;
		const struct ir_inst *barrier = barrier_of(f, b->preds.data[0]);
		if (!barrier || barrier->def_count || block_of(f, b->preds.data[0])->succ_count != 1)
			continue;
		list[count++] = (struct candidate){ b->preds.data[0], to, count_across(f, segment_of(f, b->preds.data[0]), segment_of(f, to)) };
	}
	qsort(list, count, sizeof *list, compare_candidates);
	while (count && !list[count - 1].across)
		count--;
	return count;
}

static bool take_away(struct fusion *f, const struct candidate *c)
{
	uint32_t front = segment_of(f, c->from), back = segment_of(f, c->to);
	if (front == back || f->segments[front].exits)
		return false;
	unsigned ways = find_ways(f, front, back);
	if (!ways)
		return false;
	f->segments[front].ways = (uint8_t)ways;
	unite(f, front, back);
	block_of(f, c->from)->insts.count--;
	block_of(f, c->to)->after_barrier = false;
	return true;
}

static struct fusion begin(struct ir_func *func)
{
	const uint32_t *block = func->options.block;
	struct fusion f = { .func = func, .threads = block[0] * block[1] * block[2], .each = ir_each_new(func) };
	size_t blocks = func->blocks.count;
	f.parent = arena_array(func->arena, uint32_t, blocks);
	f.segments = arena_array(func->arena, struct segment, blocks);
	f.comes = arena_array(func->arena, bool *, blocks);
	for (size_t i = 0; i < blocks; i++)
		f.comes[i] = arena_array(func->arena, bool, f.threads);
	find_segments(&f);
	return f;
}

bool ir_drop_barriers(struct ir_func *func)
{
	struct candidate list[MOST_BARRIERS];
	if (func->region_count < 2 || !func->options.block[0])
		return false;
	struct fusion f = begin(func);
	unsigned count = find_candidates(&f, list), before = func->barriers_dropped;
	if (count) {
		find_comers(&f);
		find_accesses(&f);
		f.reads = arena_array(func->arena, struct groups, f.granules);
		f.writes = arena_array(func->arena, struct groups, f.granules);
	}
	if ((uint64_t)count * f.accesses.count * f.threads > MOST_WORK)
		count = 0;
	for (unsigned i = 0; i < count; i++)
		func->barriers_dropped += take_away(&f, &list[i]);
	for (uint32_t i = 0; i < func->order_count && func->barriers_dropped > before; i++)
		block_of(&f, func->order[i])->downwards = f.segments[segment_of(&f, func->order[i])].ways == DOWN;
	vec_fini(&f.accesses);
	return func->barriers_dropped > before;
}

/* ---- do lanes of a warp hand things to each other? ------------------------------------------------------------------------ */

/* What may have been done since the last barrier, and to what: bits of enum memory, and one for each parameter that points to some. */
struct touched {
	uint64_t reads, writes, atomics;
};
enum memory { SOMEWHERE = 1 /* of global memory */, ANY_SHARED = 2, KNOWN_SHARED = 4, OF_SHARED = 6, FIRST_ROOT = 3, MOST_ROOTS = 61 };

static const struct ptx_operand *root_of(struct fusion *f, const struct access *a)
{
	const struct ptx_form *form = a->inst->ptx->form;
	switch (form->space == PTX_SPACE_GLOBAL || form->space == PTX_SPACE_GENERIC ? form->row->opcode_id : OP_bar) {
	case OP_ld:
	case OP_atom:
		return ir_find_root(f->func, a->inst, &a->inst->ptx->operands[1]);
	case OP_st:
	case OP_red:
		return ir_find_root(f->func, a->inst, &a->inst->ptx->operands[0]);
	default:
		return NULL;
	}
}

static uint64_t memory_of(struct fusion *f, const struct access *a, const struct ptx_operand **roots, unsigned *count)
{
	const struct ptx_operand *root = root_of(f, a);
	unsigned number = 0;
	if (root) {
		while (number < *count && !ir_same_root(roots[number], root))
			number++;
		if (number == MOST_ROOTS)
			return SOMEWHERE;
		roots[number] = root;
		*count += number == *count;
		return UINT64_C(1) << (FIRST_ROOT + number);
	}
	return (a->spaces[GLOBAL] ? SOMEWHERE : 0) | (a->address ? KNOWN_SHARED : a->spaces[SHARED] ? ANY_SHARED : 0);
}

static void touch_by_block(struct fusion *f, struct touched *touched)
{
	const struct ptx_operand *roots[MOST_ROOTS];
	unsigned count = 0;
	for (size_t i = 0; i < f->accesses.count; i++) {
		const struct access *a = &f->accesses.data[i];
		uint64_t memory = memory_of(f, a, roots, &count);
		touched[a->block].reads |= a->reads && !a->atomic ? memory : 0;
		touched[a->block].writes |= a->writes && !a->atomic ? memory : 0;
		touched[a->block].atomics |= a->atomic ? memory : 0;
	}
}

/* May it be the same memory? What is done to places that are known is looked at place by place. */
static bool meets(uint64_t a, uint64_t b)
{
	bool shared = (a & ANY_SHARED && b & OF_SHARED) || (b & ANY_SHARED && a & OF_SHARED);
	return shared || (a & SOMEWHERE && b & ~(uint64_t)OF_SHARED) || (b & SOMEWHERE && a & ~(uint64_t)OF_SHARED) || (a & b & ~(uint64_t)OF_SHARED);
}

static bool pass_touched(struct touched *to, const struct touched *from)
{
	struct touched all = { to->reads | from->reads, to->writes | from->writes, to->atomics | from->atomics };
	bool more = all.reads != to->reads || all.writes != to->writes || all.atomics != to->atomics;
	*to = all;
	return more;
}

/* Is there a way from barrier to barrier that does two different things to the same memory? */
static bool may_touch_twice(struct fusion *f)
{
	struct touched *touched = arena_array(f->func->arena, struct touched, f->func->blocks.count);
	bool twice = false;
	touch_by_block(f, touched);
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < f->func->order_count; i++) {
			const struct ir_block *b = block_of(f, f->func->order[i]);
			for (uint32_t s = 0; s < b->succ_count; s++)
				changed |= !block_of(f, b->succs[s])->after_barrier && pass_touched(&touched[b->succs[s]], &touched[f->func->order[i]]);
		}
	}
	for (size_t i = 0; i < f->func->blocks.count && !twice; i++) {
		const struct touched *t = &touched[i];
		twice = meets(t->reads, t->writes) || meets(t->reads, t->atomics) || meets(t->writes, t->atomics);
	}
	return twice;
}

/* Notes who touches a place. false: threads of two groups of `lanes`, and one of them writes. */
static bool touch_places(struct fusion *f, const struct access *a, unsigned lanes)
{
	for (uint32_t t = 0; t < f->threads; t++) {
		int16_t group = (int16_t)(t / lanes);
		if (!takes_part(f, a, t))
			continue;
		for (uint64_t at = a->address[t] / GRANULE; at <= (a->address[t] + a->bytes - 1) / GRANULE; at++) {
			struct groups *reads = &f->reads[at], *writes = &f->writes[at];
			if (a->reads)
				add_group(reads, group);
			if (a->writes)
				add_group(writes, group);
			if (writes->first <= writes->last && (writes->first != writes->last ||
			    (reads->first <= reads->last && (reads->first != writes->first || reads->last != writes->first))))
				return false;
		}
	}
	return true;
}

/* Of places that are known. */
static bool segment_hands_over(struct fusion *f, uint32_t segment, unsigned lanes)
{
	for (size_t i = 0; i < f->granules; i++)
		f->reads[i] = f->writes[i] = (struct groups){ INT16_MAX, -1 };
	for (size_t i = 0; i < f->accesses.count; i++) {
		const struct access *a = &f->accesses.data[i];
		if (segment_of(f, a->block) == segment && a->address && !touch_places(f, a, lanes))
			return true;
	}
	return false;
}

bool ir_hands_over(struct ir_func *func, unsigned lanes)
{
	struct fusion f = begin(func);
	bool *seen = arena_array(func->arena, bool, func->blocks.count), hands = false;
	find_comers(&f);
	find_accesses(&f);
	f.reads = arena_array(func->arena, struct groups, f.granules);
	f.writes = arena_array(func->arena, struct groups, f.granules);
	hands = (uint64_t)f.accesses.count * f.threads > MOST_WORK || may_touch_twice(&f);
	for (size_t i = 0; i < f.accesses.count && !hands; i++) {
		uint32_t segment = segment_of(&f, f.accesses.data[i].block);
		hands = !seen[segment] && segment_hands_over(&f, segment, lanes);
		seen[segment] = true;
	}
	vec_fini(&f.accesses);
	return hands;
}
