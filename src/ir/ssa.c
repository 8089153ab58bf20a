/* Static single assignment: each register occurrence gets the number of the value it reads or makes.
 *
 * Phis are placed only where the register is live (pruned, Choi et al. 1991) and, beyond the iterated dominance frontier (Cytron et
 * al. 1991), wherever a loop that assigns the register is left while it is live: there the lanes that leave in different
 * iterations bring different values (loop-closed form). Registers that live within one block, nearly all, cost nothing. */
#include "ir/flatten.h"

#include <stdlib.h>

struct list {
	uint32_t *data;
	size_t count, capacity;
};

struct undo {
	uint32_t variable, value;
};

struct undo_list {
	struct undo *data;
	size_t count, capacity;
};

struct ssa {
	struct ir_func *func;
	uint32_t variable_count;
	const enum ptx_type *types;
	/* by block: dominance frontiers, dominator-tree children, and the loops' exits */
	struct list *frontier, *children;
	struct list *loop_exits; /* by loop */
	/* by variable, of those live across blocks: blocks that assign it, and that read it before assigning */
	uint32_t *global; /* number among the global ones, IR_NONE */
	struct list *assigned, *exposed;
	uint32_t *current; /* value of each variable while renaming */
};

static void find_frontiers(struct ssa *s)
{
	struct ir_func *func = s->func;
	for (uint32_t i = 0; i < func->order_count; i++) {
		uint32_t block = func->order[i];
		struct ir_block *b = &func->blocks.data[block];
		if (b->idom != IR_NONE)
			vec_push(&s->children[b->idom], block);
		if (b->preds.count < 2)
			continue;
		for (size_t p = 0; p < b->preds.count; p++)
			for (uint32_t at = b->preds.data[p]; at != b->idom && at != IR_NONE; at = func->blocks.data[at].idom) {
				if (s->frontier[at].count && s->frontier[at].data[s->frontier[at].count - 1] == block)
					break; /* this chain has been walked for `block` */
				vec_push(&s->frontier[at], block);
			}
	}
}

static bool in_loop(const struct ir_func *func, uint32_t block, uint32_t loop)
{
	uint32_t at = func->blocks.data[block].order;
	return at >= func->loops.data[loop].first && at <= func->loops.data[loop].last;
}

static void find_loop_exits(struct ssa *s)
{
	struct ir_func *func = s->func;
	for (uint32_t l = 0; l < func->loops.count; l++)
		for (uint32_t i = func->loops.data[l].first; i <= func->loops.data[l].last; i++) {
			struct ir_block *b = &func->blocks.data[func->order[i]];
			for (uint32_t e = 0; e < b->succ_count; e++)
				if (!in_loop(func, b->succs[e], l))
					vec_push(&s->loop_exits[l], b->succs[e]);
		}
}

/* ---- which registers are live across blocks ----------------------------------------------------------- */

static void note_use(struct ssa *s, uint32_t variable, uint32_t block, const uint32_t *assigned_in)
{
	if (assigned_in[variable] == block)
		return;
	if (s->global[variable] == IR_NONE)
		s->global[variable] = 0;
}

static void find_globals(struct ssa *s)
{
	struct ir_func *func = s->func;
	uint32_t *assigned_in = malloc(s->variable_count * sizeof *assigned_in);
	memset(assigned_in, 0xff, s->variable_count * sizeof *assigned_in);
	memset(s->global, 0xff, s->variable_count * sizeof *s->global);
	for (uint32_t i = 0; i < func->order_count; i++) {
		uint32_t block = func->order[i];
		struct ir_block *b = &func->blocks.data[block];
		for (size_t j = 0; j < b->insts.count; j++) {
			struct ir_inst *inst = &b->insts.data[j];
			for (unsigned u = 0; u < inst->use_count; u++)
				note_use(s, inst->uses[u].value, block, assigned_in);
			for (unsigned d = 0; d < inst->def_count; d++) {
				if (inst->defs[d].old != IR_NONE)
					note_use(s, inst->defs[d].value, block, assigned_in);
				assigned_in[inst->defs[d].value] = block;
			}
		}
		if (b->condition_variable != IR_NONE)
			note_use(s, b->condition_variable, block, assigned_in);
	}
	free(assigned_in);
}

static void note_exposed(struct ssa *s, uint32_t variable, uint32_t block)
{
	uint32_t g = s->global[variable];
	if (g == IR_NONE)
		return;
	if (s->assigned[g].count && s->assigned[g].data[s->assigned[g].count - 1] == block)
		return;
	if (s->exposed[g].count && s->exposed[g].data[s->exposed[g].count - 1] == block)
		return;
	vec_push(&s->exposed[g], block);
}

static void note_assigned(struct ssa *s, uint32_t variable, uint32_t block)
{
	uint32_t g = s->global[variable];
	if (g == IR_NONE || (s->assigned[g].count && s->assigned[g].data[s->assigned[g].count - 1] == block))
		return;
	vec_push(&s->assigned[g], block);
}

static void find_exposed(struct ssa *s)
{
	struct ir_func *func = s->func;
	for (uint32_t i = 0; i < func->order_count; i++) {
		uint32_t block = func->order[i];
		struct ir_block *b = &func->blocks.data[block];
		for (size_t j = 0; j < b->insts.count; j++) {
			struct ir_inst *inst = &b->insts.data[j];
			for (unsigned u = 0; u < inst->use_count; u++)
				note_exposed(s, inst->uses[u].value, block);
			for (unsigned d = 0; d < inst->def_count; d++) {
				if (inst->defs[d].old != IR_NONE)
					note_exposed(s, inst->defs[d].value, block);
				note_assigned(s, inst->defs[d].value, block);
			}
		}
		if (b->condition_variable != IR_NONE)
			note_exposed(s, b->condition_variable, block);
	}
}

/* ---- phis ---------------------------------------------------------------------------------------------- */

struct place { /* for one variable; stamps save clearing arrays by block */
	uint32_t *live, *has_phi, *queued, *assigned, stamp;
	uint32_t *work;
};

/* Blocks where the variable is live on entry: backwards from the exposed reads to the assignments. */
static void mark_live(struct ssa *s, struct place *p, uint32_t g)
{
	uint32_t count = 0;
	for (size_t i = 0; i < s->assigned[g].count; i++)
		p->assigned[s->assigned[g].data[i]] = p->stamp;
	for (size_t i = 0; i < s->exposed[g].count; i++) {
		p->live[s->exposed[g].data[i]] = p->stamp;
		p->work[count++] = s->exposed[g].data[i];
	}
	while (count) {
		struct ir_block *b = &s->func->blocks.data[p->work[--count]];
		for (size_t i = 0; i < b->preds.count; i++) {
			uint32_t pred = b->preds.data[i];
			if (p->live[pred] == p->stamp || p->assigned[pred] == p->stamp)
				continue;
			p->live[pred] = p->stamp;
			p->work[count++] = pred;
		}
	}
}

static void add_phi(struct ssa *s, struct place *p, uint32_t variable, uint32_t block, uint32_t *count)
{
	struct ir_func *func = s->func;
	if (p->has_phi[block] == p->stamp || p->live[block] != p->stamp)
		return;
	p->has_phi[block] = p->stamp;
	struct ir_block *b = &func->blocks.data[block];
	uint32_t value = (uint32_t)func->values.count;
	vec_push(&func->values, ((struct ir_value){ .type = s->types[variable], .block = block, .inst = IR_NONE, .variable = variable }));
	uint32_t *arguments = arena_array(func->arena, uint32_t, b->preds.count + 1);
	memset(arguments, 0xff, b->preds.count * sizeof *arguments);
	vec_push(&b->phis, ((struct ir_phi){ value, arguments }));
	if (p->queued[block] != p->stamp) {
		p->queued[block] = p->stamp;
		p->work[(*count)++] = block;
	}
}

static void place_phis(struct ssa *s, struct place *p, uint32_t variable)
{
	struct ir_func *func = s->func;
	uint32_t g = s->global[variable], count = 0;
	p->stamp++;
	if (!s->assigned[g].count)
		return;
	mark_live(s, p, g);
	for (size_t i = 0; i < s->assigned[g].count; i++) {
		p->queued[s->assigned[g].data[i]] = p->stamp;
		p->work[count++] = s->assigned[g].data[i];
	}
	while (count) {
		uint32_t block = p->work[--count];
		for (size_t i = 0; i < s->frontier[block].count; i++)
			add_phi(s, p, variable, s->frontier[block].data[i], &count);
		for (uint32_t l = func->blocks.data[block].loop; l != IR_NONE; l = func->loops.data[l].parent)
			for (size_t i = 0; i < s->loop_exits[l].count; i++)
				add_phi(s, p, variable, s->loop_exits[l].data[i], &count);
	}
}

/* ---- renaming --------------------------------------------------------------------------------------------- */

static uint32_t read_value(struct ssa *s, uint32_t variable)
{
	uint32_t value = s->current[variable];
	if (value != IR_NONE)
		s->func->values.data[value].uses++;
	return value;
}

static void rename_block(struct ssa *s, uint32_t block, struct undo_list *undo)
{
	struct ir_func *func = s->func;
	struct ir_block *b = &func->blocks.data[block];
	for (size_t i = 0; i < b->phis.count; i++) {
		uint32_t value = b->phis.data[i].value, variable = func->values.data[value].variable;
		vec_push(undo, ((struct undo){ variable, s->current[variable] }));
		s->current[variable] = value;
	}
	for (size_t i = 0; i < b->insts.count; i++) {
		struct ir_inst *inst = &b->insts.data[i];
		for (unsigned u = 0; u < inst->use_count; u++) {
			inst->uses[u].variable = inst->uses[u].value;
			inst->uses[u].value = read_value(s, inst->uses[u].variable);
		}
		for (unsigned d = 0; d < inst->def_count; d++) {
			inst->defs[d].guarded = inst->defs[d].old != IR_NONE;
			inst->defs[d].variable = inst->defs[d].value;
			if (inst->defs[d].guarded)
				inst->defs[d].old = read_value(s, inst->defs[d].old);
		}
		for (unsigned d = 0; d < inst->def_count; d++) {
			uint32_t variable = inst->defs[d].value, value = (uint32_t)func->values.count;
			vec_push(&func->values, ((struct ir_value){ .type = s->types[variable], .block = block, .inst = (uint32_t)i, .variable = variable }));
			vec_push(undo, ((struct undo){ variable, s->current[variable] }));
			s->current[variable] = value;
			inst->defs[d].value = value;
		}
	}
	if (b->condition_variable != IR_NONE)
		b->condition = read_value(s, b->condition_variable);
	for (uint32_t e = 0; e < b->succ_count; e++) {
		struct ir_block *to = &func->blocks.data[b->succs[e]];
		for (size_t p = 0; p < to->preds.count; p++) {
			if (to->preds.data[p] != block)
				continue;
			for (size_t i = 0; i < to->phis.count; i++)
				to->phis.data[i].arguments[p] = read_value(s, func->values.data[to->phis.data[i].value].variable);
		}
	}
}

/* Depth-first over the dominator tree, without recursion: trees of unrolled kernels are deep. */
static void rename_all(struct ssa *s)
{
	struct ir_func *func = s->func;
	struct frame {
		uint32_t block, child;
		size_t undo;
	} *frames = malloc((func->blocks.count + 1) * sizeof *frames);
	struct undo_list undo = { 0 };
	uint32_t depth = 0;
	memset(s->current, 0xff, s->variable_count * sizeof *s->current);
	frames[0] = (struct frame){ 0, 0, 0 };
	rename_block(s, 0, &undo);
	for (;;) {
		struct frame *frame = &frames[depth];
		if (frame->child < s->children[frame->block].count) {
			uint32_t child = s->children[frame->block].data[frame->child++];
			frames[++depth] = (struct frame){ child, 0, undo.count };
			rename_block(s, child, &undo);
			continue;
		}
		while (undo.count > frame->undo) {
			undo.count--;
			s->current[undo.data[undo.count].variable] = undo.data[undo.count].value;
		}
		if (!depth)
			break;
		depth--;
	}
	vec_fini(&undo);
	free(frames);
}

static void free_lists(struct list *lists, size_t count)
{
	for (size_t i = 0; i < count; i++)
		vec_fini(&lists[i]);
	free(lists);
}

void ir_build_ssa(struct ir_func *func, uint32_t variable_count, const enum ptx_type *variable_types)
{
	size_t blocks = func->blocks.count, globals = 0;
	struct ssa s = { .func = func, .variable_count = variable_count, .types = variable_types };
	s.frontier = calloc(blocks, sizeof *s.frontier);
	s.children = calloc(blocks, sizeof *s.children);
	s.loop_exits = calloc(func->loops.count + 1, sizeof *s.loop_exits);
	s.global = malloc((variable_count + 1) * sizeof *s.global);
	s.current = malloc((variable_count + 1) * sizeof *s.current);
	find_frontiers(&s);
	find_loop_exits(&s);
	find_globals(&s);
	for (uint32_t v = 0; v < variable_count; v++)
		if (s.global[v] != IR_NONE)
			s.global[v] = (uint32_t)globals++;
	s.assigned = calloc(globals + 1, sizeof *s.assigned);
	s.exposed = calloc(globals + 1, sizeof *s.exposed);
	find_exposed(&s);
	struct place p = { 0 };
	uint32_t *stamps = calloc(blocks * 5 + 5, sizeof *stamps);
	p.live = stamps;
	p.has_phi = stamps + blocks;
	p.queued = stamps + 2 * blocks;
	p.assigned = stamps + 3 * blocks;
	p.work = stamps + 4 * blocks;
	for (uint32_t v = 0; v < variable_count; v++)
		if (s.global[v] != IR_NONE)
			place_phis(&s, &p, v);
	rename_all(&s);
	free(stamps);
	free_lists(s.frontier, blocks);
	free_lists(s.children, blocks);
	free_lists(s.loop_exits, func->loops.count);
	free_lists(s.assigned, globals);
	free_lists(s.exposed, globals);
	free(s.global);
	free(s.current);
}

void ir_undo_ssa(struct ir_func *func)
{
	for (size_t i = 0; i < func->blocks.count; i++) {
		struct ir_block *b = &func->blocks.data[i];
		b->phis.count = 0;
		b->condition = IR_NONE;
		for (size_t j = 0; j < b->insts.count; j++) {
			struct ir_inst *inst = &b->insts.data[j];
			for (unsigned u = 0; u < inst->use_count; u++)
				inst->uses[u].value = inst->uses[u].variable;
			for (unsigned d = 0; d < inst->def_count; d++) {
				inst->defs[d].value = inst->defs[d].variable;
				inst->defs[d].old = inst->defs[d].guarded ? inst->defs[d].variable : IR_NONE;
			}
		}
	}
	func->values.count = 0;
}

/* ---- for those that read it ---------------------------------------------------------------------------------------------- */

const struct ir_inst *ir_maker(const struct ir_func *func, uint32_t value)
{
	const struct ir_value *v = value == IR_NONE ? NULL : &func->values.data[value];
	if (!v || v->block == IR_NONE || v->inst == IR_NONE)
		return NULL;
	const struct ir_inst *inst = &func->blocks.data[v->block].insts.data[v->inst];
	return inst->op == IR_PTX && inst->def_count == 1 && inst->defs[0].old == IR_NONE && !inst->ptx->guard ? inst : NULL;
}

uint32_t ir_used_value(const struct ir_inst *inst, const struct ptx_operand *op)
{
	for (unsigned i = 0; i < inst->use_count; i++)
		if (inst->uses[i].operand == op)
			return inst->uses[i].value;
	return IR_NONE;
}
