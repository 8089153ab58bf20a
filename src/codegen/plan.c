/* Partial control-flow linearization: see plan.h. */
#include "codegen/plan.h"

#include <stdlib.h>

enum { FAR = 64 }; /* steps up a dominator tree */

static bool in_loop(const struct ir_func *func, uint32_t block, uint32_t loop)
{
	uint32_t at = func->blocks.data[block].order;
	return at >= func->loops.data[loop].first && at <= func->loops.data[loop].last;
}

static bool in_irreducible_loop(const struct ir_func *func, uint32_t block)
{
	for (uint32_t l = func->blocks.data[block].loop; l != IR_NONE; l = func->loops.data[l].parent)
		if (func->loops.data[l].irreducible)
			return true;
	return false;
}

uint32_t plan_target(const struct plan *plan, uint32_t block, uint32_t successor)
{
	const struct ir_func *func = plan->func;
	uint32_t to = func->blocks.data[block].succs[successor];
	if (func->blocks.data[to].order > func->blocks.data[block].order)
		return to;
	uint32_t l = func->blocks.data[block].loop; /* back: to the innermost loop that holds both */
	while (!in_loop(func, to, l))
		l = func->loops.data[l].parent;
	return (uint32_t)func->blocks.count + l;
}

static bool add_pending(struct plan *plan, uint32_t node, uint32_t position)
{
	struct plan_node *n = &plan->nodes[node];
	uint32_t at = 0;
	while (at < n->pending_count && n->pending[at] < position)
		at++;
	if (at < n->pending_count && n->pending[at] == position)
		return false;
	if (n->pending_count == n->pending_capacity) {
		n->pending_capacity = n->pending_capacity ? 2 * n->pending_capacity : 4;
		uint32_t *wider = arena_array(plan->arena, uint32_t, n->pending_capacity);
		if (n->pending_count)
			memcpy(wider, n->pending, n->pending_count * sizeof *wider);
		n->pending = wider;
	}
	memmove(n->pending + at + 1, n->pending + at, (n->pending_count - at) * sizeof *n->pending);
	n->pending[at] = position;
	n->pending_count++;
	plan->nodes[plan->sequence[position]].deferred = true;
	return true;
}

static void make_sequence(struct plan *plan)
{
	const struct ir_func *func = plan->func;
	for (uint32_t i = 0; i < func->order_count; i++) {
		plan->nodes[func->order[i]].position = plan->sequence_count;
		plan->sequence[plan->sequence_count++] = func->order[i];
		/* latches of the loops that end here, inner ones first */
		for (uint32_t l = func->blocks.data[func->order[i]].loop; l != IR_NONE; l = func->loops.data[l].parent) {
			if (func->loops.data[l].last != i)
				continue;
			uint32_t node = (uint32_t)func->blocks.count + l;
			plan->nodes[node].position = plan->sequence_count;
			plan->sequence[plan->sequence_count++] = node;
		}
	}
}

/* Sends control from `node` to the first of its pending places and `own`; the rest become pending there. */
static uint32_t go(struct plan *plan, uint32_t node, const uint32_t *own, uint32_t own_count)
{
	const struct plan_node n = plan->nodes[node];
	uint32_t first = n.pending_count ? n.pending[0] : UINT32_MAX;
	for (uint32_t i = 0; i < own_count; i++)
		if (plan->nodes[own[i]].position < first)
			first = plan->nodes[own[i]].position;
	uint32_t next = plan->sequence[first];
	for (uint32_t i = 0; i < n.pending_count; i++)
		if (n.pending[i] != first)
			add_pending(plan, next, n.pending[i]);
	for (uint32_t i = 0; i < own_count; i++)
		if (plan->nodes[own[i]].position != first)
			add_pending(plan, next, plan->nodes[own[i]].position);
	return next;
}

static void visit_block(struct plan *plan, uint32_t block)
{
	const struct ir_block *b = &plan->func->blocks.data[block];
	struct plan_node *n = &plan->nodes[block];
	uint32_t *targets = malloc((b->succ_count + 1) * sizeof *targets);
	for (uint32_t s = 0; s < b->succ_count; s++)
		targets[s] = plan_target(plan, block, s);
	n->linear = b->succ_count > 1 && (b->divergent || (plan->func->lanes > 1 && in_irreducible_loop(plan->func, block)));
	if (!n->next)
		n->next = arena_array(plan->arena, uint32_t, b->succ_count + 1);
	if (n->linear)
		n->next[0] = go(plan, block, targets, b->succ_count);
	else
		for (uint32_t s = 0; s < b->succ_count; s++)
			n->next[s] = go(plan, block, &targets[s], 1);
	free(targets);
}

/* Blocks of an irreducible loop other than its header that edges go back to: lanes wait there when the header runs again. */
static bool add_back_targets(struct plan *plan, uint32_t l)
{
	const struct ir_func *func = plan->func;
	const struct ir_loop *loop = &func->loops.data[l];
	bool changed = false;
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (uint32_t s = 0; s < b->succ_count; s++) {
			uint32_t to = b->succs[s];
			if (plan_target(plan, func->order[i], s) == func->blocks.count + l && to != loop->header)
				changed |= add_pending(plan, loop->header, plan->nodes[to].position);
		}
	}
	return changed;
}

/* Does an edge leave the loop while control stays in it? */
static bool leaves_later(const struct plan *plan, uint32_t l)
{
	const struct ir_func *func = plan->func;
	const struct ir_loop *loop = &func->loops.data[l];
	uint32_t end = plan->nodes[func->blocks.count + l].position;
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		const struct plan_node *n = &plan->nodes[func->order[i]];
		for (uint32_t s = 0; s < b->succ_count; s++) {
			uint32_t to = plan_target(plan, func->order[i], s);
			if (plan->nodes[to].position > end && (n->linear || n->next[s] != to))
				return true;
		}
	}
	return false;
}

/* Places outside of the loop that its latch may have to go on to must be known to its header too: a later iteration may leave
 * by another way. True where something was new. */
static bool visit_latch(struct plan *plan, uint32_t l)
{
	const struct ir_loop *loop = &plan->func->loops.data[l];
	struct plan_node *latch = &plan->nodes[plan->func->blocks.count + l];
	bool changed = false;
	for (uint32_t i = 0; i < latch->pending_count; i++)
		changed |= add_pending(plan, loop->header, latch->pending[i]);
	latch->check |= leaves_later(plan, l);
	if (loop->irreducible && plan->func->lanes > 1) {
		latch->check = true;
		changed |= add_back_targets(plan, l);
	}
	if (latch->check && latch->pending_count)
		latch->after = go(plan, (uint32_t)plan->func->blocks.count + l, NULL, 0);
	return changed;
}

static bool is_cheap(const struct ir_block *b)
{
	if (b->insts.count > 6 || (b->succ_count > 1 && !b->divergent))
		return false;
	for (size_t i = 0; i < b->insts.count; i++)
		if (b->insts.data[i].op != IR_COPY && (b->insts.data[i].op != IR_PTX || !(b->insts.data[i].ptx->form->row->flags & ISA_PURE)))
			return false;
	return true;
}

static bool heads_loop(const struct ir_func *func, uint32_t block)
{
	uint32_t l = func->blocks.data[block].loop;
	return l != IR_NONE && func->loops.data[l].header == block;
}

/* Does control go from the block to another region? Then what it leaves there must be some lane's. */
static bool leaves_region(const struct ir_func *func, const struct ir_block *b)
{
	for (uint32_t s = 0; s < b->succ_count; s++)
		if (func->region_count && b->succs[s] != 1 && func->leaders[func->blocks.data[b->succs[s]].region] == b->succs[s])
			return true;
	return false;
}

/* May the blocks that share `node`'s mask run with no lane at all? Not where a loop would have to end by itself. */
static void find_cheap_classes(const struct plan *plan, bool *cheap)
{
	const struct ir_func *func = plan->func;
	memset(cheap, 1, plan->node_count);
	for (uint32_t i = 0; i < func->order_count; i++) {
		uint32_t block = func->order[i], class = plan->nodes[block].mask_class;
		if (class != IR_NONE && (!is_cheap(&func->blocks.data[block]) || heads_loop(func, block) || leaves_region(func, &func->blocks.data[block])))
			cheap[class] = false;
	}
}

static void find_skips(struct plan *plan)
{
	bool *cheap = malloc(plan->node_count);
	find_cheap_classes(plan, cheap);
	for (uint32_t i = 0; i < plan->sequence_count; i++) {
		uint32_t node = plan->sequence[i];
		struct plan_node *n = &plan->nodes[node];
		n->skip = IR_NONE;
		if (node < plan->func->blocks.count && n->pending_count && n->mask_class == node && !cheap[node])
			n->skip = go(plan, node, NULL, 0);
	}
	free(cheap);
}

/* ---- mask classes ------------------------------------------------------------------------------------------------ */

static void feed_class(uint32_t *class, uint32_t to, uint32_t from_class)
{
	if (class[to] == IR_NONE)
		class[to] = from_class;
	else if (class[to] != from_class)
		class[to] = to;
}

static bool post_dominates(const struct ir_func *func, uint32_t a, uint32_t b)
{
	for (unsigned steps = 0; b != a && b != IR_NONE && steps < FAR; steps++)
		b = func->blocks.data[b].ipdom;
	return a == b;
}

/* A block further up that the very same lanes run: every way from it leads here, and every way here from it (control equivalence). IR_NONE
 * where there is none, or none near. */
static uint32_t find_equivalent(const struct ir_func *func, uint32_t block)
{
	uint32_t above = func->blocks.data[block].idom;
	if (func->lanes == 1 || func->blocks.data[block].preds.count < 2 || in_irreducible_loop(func, block))
		return IR_NONE;
	for (unsigned steps = 0; above != IR_NONE && steps < FAR; steps++) {
		if (func->blocks.data[above].loop == func->blocks.data[block].loop && post_dominates(func, block, above))
			return above;
		above = func->blocks.data[above].idom;
	}
	return IR_NONE;
}

/* Blocks that run for exactly the lanes of the block before them need no mask of their own. Loop headers begin with what the
 * edges into the loop say; where the way back disagrees, the header gets its own and everything is done again. */
static void find_classes(struct plan *plan)
{
	const struct ir_func *func = plan->func;
	uint32_t *class = malloc(plan->node_count * sizeof *class), *same = malloc(plan->node_count * sizeof *same);
	bool *own = calloc(plan->node_count, 1);
	for (uint32_t i = 0; i < func->order_count; i++)
		same[func->order[i]] = find_equivalent(func, func->order[i]);
	for (bool again = true; again;) {
		again = false;
		memset(class, 0xff, plan->node_count * sizeof *class);
		class[0] = 0;
		for (uint32_t i = 0; i < plan->sequence_count; i++) {
			uint32_t node = plan->sequence[i];
			struct plan_node *n = &plan->nodes[node];
			if (node >= func->blocks.count) {
				uint32_t header = func->loops.data[node - func->blocks.count].header;
				if (class[node] == IR_NONE)
					continue; /* nothing goes back */
				if (n->deferred || n->check || class[node] != class[header]) {
					again |= !own[header];
					own[header] = true;
				}
				continue;
			}
			if (same[node] != IR_NONE)
				class[node] = class[same[node]];
			else if (own[node] || n->deferred || class[node] == IR_NONE)
				class[node] = node;
			const struct ir_block *b = &func->blocks.data[node];
			for (uint32_t s = 0; s < b->succ_count; s++) {
				uint32_t to = plan_target(plan, node, s);
				feed_class(class, to, n->linear ? to : class[node]);
			}
		}
	}
	for (uint32_t i = 0; i < plan->node_count; i++)
		plan->nodes[i].mask_class = class[i];
	free(class);
	free(same);
	free(own);
}

/* ---- dominators of the graph as executed ----------------------------------------------------------------------------- */

/* A block that can be skipped is two places: its gate, where its mask is looked at (node_count + block), and what comes behind
 * it. Whoever skips the block has been at the gate but has not run the block. */
static uint32_t gate_of(const struct plan *plan, uint32_t node)
{
	return plan->nodes[node].skip != IR_NONE ? plan->node_count + node : node;
}

static uint32_t place_of(const struct plan *plan, uint32_t at)
{
	return at >= plan->node_count ? 2 * plan->nodes[at - plan->node_count].position : 2 * plan->nodes[at].position + 1;
}

static bool feed_idom(struct plan *plan, uint32_t from, uint32_t to)
{
	struct plan_node *t = &plan->nodes[to];
	uint32_t a = from, b = t->idom;
	if (to == 0 || plan->nodes[from].idom == IR_NONE)
		return false;
	if (b == IR_NONE) {
		t->idom = from;
		return true;
	}
	while (a != b) {
		if (place_of(plan, a) > place_of(plan, b))
			a = plan->nodes[a].idom;
		else
			b = plan->nodes[b].idom;
	}
	if (t->idom == a)
		return false;
	t->idom = a;
	return true;
}

static bool feed_latch(struct plan *plan, uint32_t node)
{
	const struct plan_node *n = &plan->nodes[node];
	const struct ir_loop *loop = &plan->func->loops.data[node - plan->func->blocks.count];
	/* lanes wait: the header's gate need not be asked again (control.c) */
	bool changed = feed_idom(plan, node, n->check && !loop->irreducible ? loop->header : gate_of(plan, loop->header));
	if (n->check && n->after != IR_NONE)
		changed |= feed_idom(plan, node, gate_of(plan, n->after));
	return changed;
}

static void find_dominators(struct plan *plan)
{
	const struct ir_func *func = plan->func;
	for (uint32_t i = 0; i < 2 * plan->node_count; i++)
		plan->nodes[i].idom = IR_NONE;
	plan->nodes[0].idom = 0;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < plan->sequence_count; i++) {
			uint32_t node = plan->sequence[i];
			struct plan_node *n = &plan->nodes[node];
			if (node >= func->blocks.count) {
				changed |= feed_latch(plan, node);
				continue;
			}
			if (n->skip != IR_NONE) {
				changed |= feed_idom(plan, gate_of(plan, node), node);
				changed |= feed_idom(plan, gate_of(plan, node), gate_of(plan, n->skip));
			}
			const struct ir_block *b = &func->blocks.data[node];
			for (uint32_t s = 0; s < (n->linear ? 1 : b->succ_count); s++)
				changed |= feed_idom(plan, node, gate_of(plan, n->next[s]));
		}
	}
	plan->nodes[0].idom = IR_NONE;
}

bool plan_dominates(const struct plan *plan, uint32_t a, uint32_t b)
{
	while (b != a && b != IR_NONE && place_of(plan, b) > place_of(plan, a))
		b = plan->nodes[b].idom;
	return a == b;
}

bool plan_edge_is_whole(const struct plan *plan, uint32_t block, uint32_t successor)
{
	const struct ir_func *func = plan->func;
	if (func->lanes == 1)
		return true;
	uint32_t to = func->blocks.data[block].succs[successor], node = plan_target(plan, block, successor);
	if (in_irreducible_loop(func, block) || in_irreducible_loop(func, to))
		return false;
	if (!plan->nodes[block].linear && !plan->nodes[node].deferred)
		return true; /* all lanes of `to` come now, along this edge */
	/* out of a loop: lanes that left in earlier iterations keep what they brought */
	for (uint32_t l = func->blocks.data[block].loop; l != IR_NONE; l = func->loops.data[l].parent)
		if (!in_loop(func, to, l) && plan->nodes[func->blocks.count + l].check)
			return false;
	/* the only edge from its side: lanes not in it are not in `to` either */
	bool back = node >= func->blocks.count;
	uint32_t same_side = 0;
	const struct ir_block *t = &func->blocks.data[to];
	for (size_t p = 0; p < t->preds.count; p++)
		same_side += (func->blocks.data[t->preds.data[p]].order >= t->order) == back;
	return same_side == 1;
}

void plan_build(struct plan *plan, struct arena *arena, const struct ir_func *func)
{
	*plan = (struct plan){ .arena = arena, .func = func };
	plan->node_count = (uint32_t)(func->blocks.count + func->loops.count);
	plan->nodes = arena_array(arena, struct plan_node, 2 * plan->node_count); /* the second half: gates */
	plan->sequence = arena_array(arena, uint32_t, plan->node_count);
	for (uint32_t i = 0; i < plan->node_count; i++)
		plan->nodes[i].after = plan->nodes[i].skip = plan->nodes[i].mask_class = IR_NONE;
	make_sequence(plan);
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < plan->sequence_count; i++) {
			uint32_t node = plan->sequence[i];
			if (node < func->blocks.count)
				visit_block(plan, node);
			else
				changed |= visit_latch(plan, node - (uint32_t)func->blocks.count);
		}
	}
	find_classes(plan);
	find_skips(plan);
	find_dominators(plan);
}
