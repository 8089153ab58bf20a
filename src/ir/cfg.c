/* The control-flow graph's order, loops, dominators and post-dominators.
 *
 * Order: a topological order but for back edges in which every loop is contiguous and its header comes first; found level by
 * level with Tarjan's strongly connected components (1972), whose components come out in reverse topological order. A component
 * that is entered at more than one block is an irreducible loop; it is ordered the same way, headed by the first of them.
 * Dominators: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001). */
#include "ir/ir.h"

#include <stdlib.h>

struct order {
	struct ir_func *func;
	uint32_t *index, *low, *component; /* Tarjan's, by block */
	uint32_t *region;                  /* number of the region that a block is in at this level */
	bool *on_stack;
	uint32_t *stack, *frame_block, *frame_succ;
	uint32_t next_region;
};

static void visit_region(struct order *o, uint32_t header, uint32_t region, uint32_t loop);

/* Components of the blocks in `region` reachable from `header`, edges to the header left out; *count of them, members
 * consecutive in the returned array, in reverse topological order, ends[] after each. */
static uint32_t *find_components(struct order *o, uint32_t header, uint32_t region, uint32_t **ends, uint32_t *count)
{
	struct ir_func *func = o->func;
	VEC(uint32_t) members = { 0 };
	VEC(uint32_t) bounds = { 0 };
	uint32_t depth = 0, stacked = 0, next = 1;
	o->frame_block[0] = header;
	o->frame_succ[0] = 0;
	o->index[header] = o->low[header] = next++;
	o->stack[stacked++] = header;
	o->on_stack[header] = true;
	for (;;) {
		uint32_t block = o->frame_block[depth];
		struct ir_block *b = &func->blocks.data[block];
		if (o->frame_succ[depth] < b->succ_count) {
			/* the second successor first: a fall-through comes right after its branch */
			uint32_t to = b->succs[o->frame_succ[depth]++];
			if (o->region[to] != region || to == header)
				continue;
			if (!o->index[to]) {
				depth++;
				o->frame_block[depth] = to;
				o->frame_succ[depth] = 0;
				o->index[to] = o->low[to] = next++;
				o->stack[stacked++] = to;
				o->on_stack[to] = true;
			} else if (o->on_stack[to] && o->index[to] < o->low[block]) {
				o->low[block] = o->index[to];
			}
			continue;
		}
		if (o->low[block] == o->index[block]) {
			uint32_t member;
			do {
				member = o->stack[--stacked];
				o->on_stack[member] = false;
				vec_push(&members, member);
			} while (member != block);
			vec_push(&bounds, (uint32_t)members.count);
		}
		if (!depth)
			break;
		depth--;
		uint32_t above = o->frame_block[depth];
		if (o->low[block] < o->low[above])
			o->low[above] = o->low[block];
	}
	*ends = bounds.data;
	*count = (uint32_t)bounds.count;
	return members.data;
}

static bool has_edge(const struct ir_block *b, uint32_t to)
{
	for (uint32_t i = 0; i < b->succ_count; i++)
		if (b->succs[i] == to)
			return true;
	return false;
}

/* The entry of a component: a member with a predecessor outside; irreducible where there are several. */
static uint32_t find_header(struct order *o, const uint32_t *members, uint32_t count, bool *irreducible)
{
	uint32_t header = IR_NONE;
	*irreducible = false;
	for (uint32_t i = 0; i < count; i++) {
		struct ir_block *b = &o->func->blocks.data[members[i]];
		bool entry = false;
		for (size_t p = 0; p < b->preds.count && !entry; p++)
			entry = o->region[b->preds.data[p]] != o->region[members[i]];
		if (!entry)
			continue;
		if (header != IR_NONE)
			*irreducible = true;
		/* members come last-found first: keep the one found first */
		if (header == IR_NONE || o->index[members[i]] < o->index[header])
			header = members[i];
	}
	return header == IR_NONE ? members[count - 1] : header;
}

static void append(struct ir_func *func, uint32_t block, uint32_t loop)
{
	func->blocks.data[block].order = func->order_count;
	func->blocks.data[block].loop = loop;
	func->order[func->order_count++] = block;
}

static void visit_loop(struct order *o, const uint32_t *members, uint32_t count, uint32_t parent)
{
	struct ir_func *func = o->func;
	uint32_t region = ++o->next_region;
	for (uint32_t i = 0; i < count; i++)
		o->region[members[i]] = region;
	bool irreducible;
	uint32_t header = find_header(o, members, count, &irreducible);
	uint32_t loop = (uint32_t)func->loops.count;
	vec_push(&func->loops, ((struct ir_loop){ .header = header, .parent = parent, .irreducible = irreducible,
						   .depth = parent == IR_NONE ? 1 : func->loops.data[parent].depth + 1,
						   .first = func->order_count }));
	for (uint32_t i = 0; i < count; i++)
		o->index[members[i]] = 0;
	visit_region(o, header, region, loop);
	func->loops.data[loop].last = func->order_count - 1;
}

static void visit_region(struct order *o, uint32_t header, uint32_t region, uint32_t loop)
{
	struct ir_func *func = o->func;
	uint32_t *ends, count;
	uint32_t *members = find_components(o, header, region, &ends, &count);
	for (uint32_t c = count; c-- > 0;) {
		uint32_t start = c ? ends[c - 1] : 0, size = ends[c] - start;
		uint32_t first = members[start];
		if (size == 1 && (first == header || !has_edge(&func->blocks.data[first], first)))
			append(func, first, loop);
		else
			visit_loop(o, members + start, size, loop);
	}
	free(members);
	free(ends);
}

static void find_preds(struct ir_func *func)
{
	for (size_t i = 0; i < func->blocks.count; i++)
		func->blocks.data[i].preds.count = 0;
	for (size_t i = 0; i < func->blocks.count; i++)
		for (uint32_t s = 0; s < func->blocks.data[i].succ_count; s++)
			vec_push(&func->blocks.data[func->blocks.data[i].succs[s]].preds, (uint32_t)i);
}

/* A block that only returns is left out: whoever branches to it is done. */
static void skip_to_exit(struct ir_func *func)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < func->blocks.count; i++)
			for (uint32_t s = 0; s < func->blocks.data[i].succ_count; s++) {
				uint32_t *to = &func->blocks.data[i].succs[s];
				const struct ir_block *b = &func->blocks.data[*to];
				if (*to == 0 || b->insts.count || b->end != IR_END_JUMP || b->succs[0] != 1)
					continue;
				*to = 1;
				changed = true;
			}
	}
}

/* A branch whose ways are the same is a jump: two equal edges would need two entries in each phi. */
static void simplify_ends(struct ir_func *func)
{
	skip_to_exit(func);
	for (size_t i = 0; i < func->blocks.count; i++) {
		struct ir_block *b = &func->blocks.data[i];
		if ((b->end != IR_END_BRANCH && b->end != IR_END_VOTE) || b->succs[0] != b->succs[1])
			continue;
		b->end = IR_END_JUMP;
		b->succ_count = 1;
		b->condition_variable = IR_NONE;
	}
}

/* A switch names each successor once: repeated targets get a block between. */
static void split_repeated_targets(struct ir_func *func)
{
	size_t count = func->blocks.count;
	for (size_t i = 0; i < count; i++) {
		if (func->blocks.data[i].end != IR_END_SWITCH)
			continue;
		for (uint32_t s = 1; s < func->blocks.data[i].succ_count; s++) {
			bool repeated = false;
			for (uint32_t t = 0; t < s; t++)
				repeated |= func->blocks.data[i].succs[t] == func->blocks.data[i].succs[s];
			if (!repeated)
				continue;
			uint32_t *to = arena_new(func->arena, uint32_t);
			*to = func->blocks.data[i].succs[s];
			func->blocks.data[i].succs[s] = (uint32_t)func->blocks.count;
			vec_push(&func->blocks, ((struct ir_block){ .end = IR_END_JUMP, .succs = to, .succ_count = 1, .loop = IR_NONE,
								    .condition_variable = IR_NONE, .condition = IR_NONE,
								    .location = func->blocks.data[i].location }));
		}
	}
}

static void drop_unreachable(struct ir_func *func)
{
	for (size_t i = 0; i < func->blocks.count; i++) {
		struct ir_block *b = &func->blocks.data[i];
		if (b->order == IR_NONE) {
			b->succ_count = 0;
			b->insts.count = 0;
		}
	}
	find_preds(func);
}

/* The nearest common ancestor in a (post-)dominator tree: ancestors have smaller numbers. */
static uint32_t intersect(const uint32_t *parent, const uint32_t *number, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (number[a] > number[b])
			a = parent[a];
		while (number[b] > number[a])
			b = parent[b];
	}
	return a;
}

static void find_dominators(struct ir_func *func)
{
	uint32_t *parent = malloc(func->blocks.count * sizeof *parent), *number = malloc(func->blocks.count * sizeof *number);
	memset(parent, 0xff, func->blocks.count * sizeof *parent);
	for (size_t i = 0; i < func->blocks.count; i++)
		number[i] = func->blocks.data[i].order;
	parent[0] = 0;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 1; i < func->order_count; i++) {
			uint32_t block = func->order[i], idom = IR_NONE;
			struct ir_block *b = &func->blocks.data[block];
			for (size_t p = 0; p < b->preds.count; p++) {
				uint32_t pred = b->preds.data[p];
				if (parent[pred] != IR_NONE)
					idom = idom == IR_NONE ? pred : intersect(parent, number, pred, idom);
			}
			changed |= idom != parent[block];
			parent[block] = idom;
		}
	}
	for (size_t i = 1; i < func->blocks.count; i++)
		func->blocks.data[i].idom = parent[i];
	free(parent);
	free(number);
}

/* Blocks that stand for endless loops: they count as if they could jump to the exit, so that all blocks reach it. */
static uint32_t *find_endless(struct ir_func *func, uint32_t *count)
{
	bool *reaches = calloc(func->blocks.count, 1);
	uint32_t *work = malloc((func->blocks.count + 1) * sizeof *work), *endless = malloc((func->blocks.count + 1) * sizeof *endless);
	*count = 0;
	for (uint32_t i = func->order_count; i-- > 0;) {
		uint32_t block = func->order[i], pending = 0;
		if (reaches[block])
			continue;
		if (block != 1)
			endless[(*count)++] = block; /* the last one in order */
		reaches[block] = true;
		work[pending++] = block;
		while (pending) {
			struct ir_block *b = &func->blocks.data[work[--pending]];
			for (size_t p = 0; p < b->preds.count; p++)
				if (!reaches[b->preds.data[p]]) {
					reaches[b->preds.data[p]] = true;
					work[pending++] = b->preds.data[p];
				}
		}
	}
	free(reaches);
	free(work);
	return endless;
}

/* Numbers blocks in reverse post-order of the reversed graph, from the exit; order[number] = block. */
static uint32_t number_backwards(struct ir_func *func, const uint32_t *endless, uint32_t endless_count, uint32_t *number, uint32_t *order)
{
	size_t n = func->blocks.count;
	uint32_t *frame = malloc((n + 1) * sizeof *frame), *next = calloc(n, sizeof *next), depth = 0, at = func->order_count;
	bool *seen = calloc(n, 1);
	frame[0] = 1;
	seen[1] = true;
	for (;;) {
		uint32_t block = frame[depth];
		struct ir_block *b = &func->blocks.data[block];
		uint32_t i = next[block], to = IR_NONE;
		if (i < b->preds.count)
			to = b->preds.data[i];
		else if (block == 1 && i - b->preds.count < endless_count)
			to = endless[i - b->preds.count];
		if (to != IR_NONE) {
			next[block]++;
			if (!seen[to]) {
				seen[to] = true;
				frame[++depth] = to;
			}
			continue;
		}
		number[block] = --at;
		order[at] = block;
		if (!depth)
			break;
		depth--;
	}
	free(frame);
	free(next);
	free(seen);
	return at;
}

static void find_post_dominators(struct ir_func *func)
{
	size_t n = func->blocks.count;
	uint32_t endless_count, *endless = find_endless(func, &endless_count);
	uint32_t *parent = malloc(n * sizeof *parent), *number = calloc(n, sizeof *number), *order = calloc(n + 1, sizeof *order);
	memset(parent, 0xff, n * sizeof *parent);
	uint32_t first = number_backwards(func, endless, endless_count, number, order);
	parent[1] = 1;
	for (uint32_t i = 0; i < endless_count; i++)
		parent[endless[i]] = 1;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = first + 1; i < func->order_count; i++) {
			struct ir_block *b = &func->blocks.data[order[i]];
			uint32_t ipdom = IR_NONE;
			for (uint32_t e = 0; e < endless_count; e++)
				if (endless[e] == order[i])
					ipdom = 1;
			for (uint32_t s = 0; s < b->succ_count; s++)
				if (parent[b->succs[s]] != IR_NONE)
					ipdom = ipdom == IR_NONE ? b->succs[s] : intersect(parent, number, b->succs[s], ipdom);
			changed |= ipdom != parent[order[i]];
			parent[order[i]] = ipdom;
		}
	}
	for (size_t i = 0; i < n; i++)
		func->blocks.data[i].ipdom = i == 1 ? IR_NONE : parent[i];
	free(endless);
	free(parent);
	free(number);
	free(order);
}

void ir_find_order(struct ir_func *func)
{
	simplify_ends(func);
	split_repeated_targets(func);
	find_preds(func);
	size_t n = func->blocks.count;
	struct order o = { .func = func };
	o.index = calloc(n, sizeof *o.index);
	o.low = calloc(n, sizeof *o.low);
	o.region = calloc(n, sizeof *o.region);
	o.on_stack = calloc(n, sizeof *o.on_stack);
	o.stack = calloc(n + 1, sizeof *o.stack);
	o.frame_block = calloc(n + 1, sizeof *o.frame_block);
	o.frame_succ = calloc(n + 1, sizeof *o.frame_succ);
	for (size_t i = 0; i < n; i++)
		func->blocks.data[i].order = func->blocks.data[i].idom = func->blocks.data[i].ipdom = IR_NONE;
	func->order = arena_array(func->arena, uint32_t, n + 1);
	func->order_count = 0;
	func->loops.count = 0;
	o.region[1] = IR_NONE; /* the exit comes last of all */
	visit_region(&o, 0, 0, IR_NONE);
	append(func, 1, IR_NONE);
	free(o.index);
	free(o.low);
	free(o.region);
	free(o.on_stack);
	free(o.stack);
	free(o.frame_block);
	free(o.frame_succ);
	drop_unreachable(func);
	find_dominators(func);
	find_post_dominators(func);
}

bool ir_dominates(const struct ir_func *func, uint32_t a, uint32_t b)
{
	while (b != IR_NONE && b != a)
		b = func->blocks.data[b].idom;
	return b == a;
}

bool ir_is_outside(const struct ir_func *func, const struct ir_loop *loop, uint32_t value)
{
	uint32_t block = func->values.data[value].block;
	if (block == IR_NONE)
		return true;
	uint32_t order = func->blocks.data[block].order;
	return order < loop->first || order > loop->last;
}
