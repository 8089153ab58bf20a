/* Blocks, branches, masks and phis, as the plan says (plan.h). In the scalar form all of it falls back to an
 * ordinary graph: one lane, no masks.
 *
 * Masks and phis live in allocas between blocks; LLVM's sroa makes registers of them. */
#include <stddef.h>
#include <stdio.h>

#include "backend/cpu/abi.h"
#include "codegen/memory.h"
#include "codegen/state.h"

enum { TWICE_MOST = 160 }; /* instructions times chunks of a block that is worth two bodies */

static LLVMTypeRef mask_lane_type(struct emitter *e)
{
	/* <n x i1> across blocks becomes <n x i16> on a machine without mask registers; full-width lanes stay as they are */
	return int_type(e, e->target->bit_masks || e->width == 1 ? 1 : 32);
}

LLVMTypeRef mask_type(struct emitter *e)
{
	LLVMTypeRef lane = mask_lane_type(e);
	return e->width == 1 ? lane : LLVMVectorType(lane, e->width);
}

static LLVMTypeRef bool_type(struct emitter *e)
{
	LLVMTypeRef lane = int_type(e, 1);
	return e->width == 1 ? lane : LLVMVectorType(lane, e->width);
}

LLVMValueRef load_mask(struct emitter *e, LLVMValueRef slot)
{
	LLVMValueRef m = LLVMBuildLoad2(e->b, mask_type(e), slot, "");
	if (mask_type(e) == bool_type(e))
		return m;
	return LLVMBuildICmp(e->b, LLVMIntSLT, m, LLVMConstNull(mask_type(e)), "mask");
}

void store_mask(struct emitter *e, LLVMValueRef slot, LLVMValueRef mask)
{
	if (mask_type(e) != bool_type(e))
		mask = LLVMBuildSExt(e->b, mask, mask_type(e), "");
	LLVMBuildStore(e->b, mask, slot);
}

LLVMValueRef mask_of(struct emitter *e, const struct lane_masks *masks, unsigned chunk)
{
	return masks->full ? LLVMConstAllOnes(bool_type(e)) : masks->chunk[chunk];
}

LLVMValueRef any_of(struct emitter *e, const struct lane_masks *masks)
{
	if (masks->full)
		return LLVMConstInt(int_type(e, 1), 1, 0);
	if (masks->any)
		return masks->any;
	LLVMValueRef all = masks->chunk[0];
	for (unsigned c = 1; c < e->chunks; c++)
		all = LLVMBuildOr(e->b, all, masks->chunk[c], "");
	return any_lane(e, all);
}

void current_masks(struct emitter *e, struct lane_masks *out)
{
	uint32_t class = e->state->plan.nodes[e->state->node].mask_class, region = e->ir->blocks.data[e->state->node].region;
	/* what a region begins with is its leader's, whichever block of another region it was first made for */
	if (e->state->fission && e->ir->blocks.data[class].region != region)
		class = e->ir->leaders[region];
	*out = e->state->nodes[class].masks;
}

/* Where control goes on to a node. */
static LLVMBasicBlockRef node_entry(struct emitter *e, uint32_t node)
{
	return fission_leads(e, node) ? fission_leave(e, node) : e->state->nodes[node].entry;
}

/* The node whose slots hold the mask that a block runs under, or IR_NONE where it shares its class's. */
bool has_own_mask(struct emitter *e, uint32_t block)
{
	return block != 0 && block != 1 && e->lanes > 1 && e->state->plan.nodes[block].mask_class == block;
}

static void make_slots(struct emitter *e)
{
	struct emitter_state *s = e->state;
	for (uint32_t i = 0; i < e->ir->order_count; i++) {
		uint32_t block = e->ir->order[i];
		struct block_code *code = &s->nodes[block];
		if (!has_own_mask(e, block))
			continue;
		code->mask_slots = arena_array(s->arena, LLVMValueRef, e->chunks);
		for (unsigned c = 0; c < e->chunks; c++)
			code->mask_slots[c] = entry_alloca(e, mask_type(e), "mask");
	}
}

static uint32_t region_of(struct emitter *e, uint32_t node)
{
	uint32_t blocks = (uint32_t)e->ir->blocks.count;
	return e->ir->blocks.data[node < blocks ? node : e->ir->loops.data[node - blocks].header].region;
}

static void make_blocks(struct emitter *e, uint32_t region)
{
	struct emitter_state *s = e->state;
	for (uint32_t i = 0; i < s->plan.sequence_count; i++) {
		uint32_t node = s->plan.sequence[i];
		if (region != IR_NONE && node != 1 && region_of(e, node) != region)
			continue;
		struct block_code *code = &s->nodes[node];
		if (node == 1 || fission_leads(e, node)) { /* the former is the end of the group's loop */
			code->entry = code->body = s->group_next;
			continue;
		}
		char name[32];
		snprintf(name, sizeof name, node < e->ir->blocks.count ? "block%u" : "latch%u",
			 node < e->ir->blocks.count ? node : node - (uint32_t)e->ir->blocks.count);
		code->entry = new_block(e, name);
		code->body = s->plan.nodes[node].skip != IR_NONE ? new_block(e, "run") : code->entry;
	}
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

/* The lanes of the only edge to a block where they are known now (lane 0, say), and the block is not come to without them. */
static LLVMValueRef *known_lanes(struct emitter *e, uint32_t block, uint32_t to, const struct lane_masks *edge)
{
	LLVMValueRef *known = arena_array(e->state->arena, LLVMValueRef, e->chunks);
	if (e->ir->blocks.data[to].preds.count != 1 || !plan_dominates(&e->state->plan, block, to))
		return NULL;
	for (unsigned c = 0; c < e->chunks; c++) {
		known[c] = mask_of(e, edge, c);
		if (!LLVMIsConstant(known[c]))
			return NULL;
	}
	return known;
}

/* Gives the edge's lanes to the successor: its mask and its phis. */
static void emit_edge(struct emitter *e, uint32_t block, uint32_t successor, const struct lane_masks *edge)
{
	struct emitter_state *s = e->state;
	uint32_t to = e->ir->blocks.data[block].succs[successor];
	const struct ir_block *t = &e->ir->blocks.data[to];
	if (has_own_mask(e, to)) {
		s->nodes[to].any = t->preds.count == 1 ? edge->any : NULL;
		s->nodes[to].all = t->preds.count == 1 ? edge->all : NULL;
		s->nodes[to].known = known_lanes(e, block, to, edge);
		for (unsigned c = 0; c < e->chunks; c++) {
			LLVMValueRef m = mask_of(e, edge, c);
			if (s->plan.nodes[plan_target(&s->plan, block, successor)].deferred || t->preds.count > 1)
				m = LLVMBuildOr(e->b, load_mask(e, s->nodes[to].mask_slots[c]), m, "");
			store_mask(e, s->nodes[to].mask_slots[c], m);
		}
	}
	if (!t->phis.count)
		return;
	bool whole = plan_edge_is_whole(&s->plan, block, successor);
	LLVMValueRef any = whole ? NULL : any_of(e, edge);
	for (size_t p = 0; p < t->preds.count; p++)
		for (size_t i = 0; t->preds.data[p] == block && i < t->phis.count; i++)
			store_phi(e, t->phis.data[i].value, t->phis.data[i].arguments[p], edge, any, whole);
}

static void edge_masks(struct emitter *e, const struct lane_masks *from, uint32_t condition, bool negated, uint32_t index,
		       bool is_switch, struct lane_masks *out)
{
	out->full = false;
	out->any = out->all = NULL;
	if (from->full && !is_switch)
		ends_of_branch(e, condition, negated, &out->any, &out->all);
	e->piece = PIECE_CHUNK;
	e->w = e->width;
	for (unsigned c = 0; c < e->chunks; c++) {
		e->chunk = c;
		LLVMValueRef m;
		if (is_switch) {
			LLVMValueRef v = read_chunk(e, condition, c);
			m = LLVMBuildICmp(e->b, LLVMIntEQ, v, splat(e, LLVMConstInt(int_type(e, 32), index, 0)), "");
		} else {
			m = condition_chunk(e, condition, c);
			if (negated)
				m = LLVMBuildNot(e->b, m, "");
		}
		out->chunk[c] = from->full ? m : LLVMBuildAnd(e->b, from->chunk[c], m, "");
	}
}

/* A branch that lanes take different ways: each successor gets its lanes, control goes on in order. */
static void end_linear(struct emitter *e, uint32_t block)
{
	struct emitter_state *s = e->state;
	const struct ir_block *b = &e->ir->blocks.data[block];
	struct lane_masks from, edge;
	current_masks(e, &from);
	for (uint32_t i = 0; i < b->succ_count; i++) {
		if (b->succs[i] == 1)
			continue; /* these are done */
		edge_masks(e, &from, b->condition, b->end == IR_END_BRANCH && (i == 1) != b->negated, i, b->end == IR_END_SWITCH, &edge);
		emit_edge(e, block, i, &edge);
	}
	LLVMBuildBr(e->b, node_entry(e, s->plan.nodes[block].next[0]));
}

static bool edge_needs_code(struct emitter *e, uint32_t block, uint32_t successor)
{
	uint32_t to = e->ir->blocks.data[block].succs[successor];
	return to != 1 && (has_own_mask(e, to) || e->ir->blocks.data[to].phis.count);
}

/* The block that a uniform branch goes to for successor i: the next node, or code for the edge in front of it. */
static LLVMBasicBlockRef edge_block(struct emitter *e, uint32_t block, uint32_t i, const struct lane_masks *from)
{
	struct emitter_state *s = e->state;
	LLVMBasicBlockRef next = node_entry(e, s->plan.nodes[block].next[i]);
	if (!edge_needs_code(e, block, i))
		return next;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), edge = new_block(e, "edge");
	LLVMPositionBuilderAtEnd(e->b, edge);
	emit_edge(e, block, i, from);
	LLVMBuildBr(e->b, next);
	LLVMPositionBuilderAtEnd(e->b, here);
	return edge;
}

/* Do all lanes agree on the branch, and how? */
static void count_votes(struct emitter *e, uint32_t condition, const struct lane_masks *from, LLVMValueRef *yes, LLVMValueRef *no)
{
	LLVMValueRef some = NULL, every = NULL;
	if (votes_by_ends(e, condition, yes, no))
		return;
	e->piece = PIECE_CHUNK;
	e->w = e->width;
	for (e->chunk = 0; e->chunk < e->chunks; e->chunk++) {
		LLVMValueRef c = condition_chunk(e, condition, e->chunk), in = c, out = c;
		if (!from->full) {
			in = LLVMBuildAnd(e->b, from->chunk[e->chunk], c, "");
			out = LLVMBuildOr(e->b, LLVMBuildNot(e->b, from->chunk[e->chunk], ""), c, "");
		}
		some = some ? LLVMBuildOr(e->b, some, in, "") : in;
		every = every ? LLVMBuildAnd(e->b, every, out, "") : out;
	}
	*yes = all_lanes(e, every);
	*no = LLVMBuildNot(e->b, any_lane(e, some), "");
}

static void end_vote(struct emitter *e, uint32_t block, const struct lane_masks *from)
{
	const struct ir_block *b = &e->ir->blocks.data[block];
	LLVMValueRef yes, no;
	count_votes(e, b->condition, from, &yes, &no);
	LLVMBasicBlockRef not_all = new_block(e, "vote"), way[3];
	for (unsigned i = 0; i < 3; i++)
		way[i] = edge_block(e, block, i, from);
	LLVMBuildCondBr(e->b, yes, way[b->negated], not_all);
	LLVMPositionBuilderAtEnd(e->b, not_all);
	LLVMBuildCondBr(e->b, no, way[!b->negated], way[2]);
}

/* The same of the whole block: the group writes what it takes along on the ways that the block may go, and its turn ends. */
static void end_all(struct emitter *e, uint32_t block, const struct lane_masks *from)
{
	const struct ir_block *b = &e->ir->blocks.data[block];
	LLVMValueRef yes, no, choice[2];
	count_votes(e, b->condition, from, &yes, &no);
	choice[b->negated] = yes;
	choice[!b->negated] = no;
	if (edge_needs_code(e, block, 2))
		emit_edge(e, block, 2, from);
	for (unsigned i = 0; i < 2; i++) {
		if (!edge_needs_code(e, block, i))
			continue;
		LLVMBasicBlockRef edge = new_block(e, "edge"), on = new_block(e, "on");
		LLVMBuildCondBr(e->b, choice[i], edge, on);
		LLVMPositionBuilderAtEnd(e->b, edge);
		emit_edge(e, block, i, from);
		LLVMBuildBr(e->b, on);
		LLVMPositionBuilderAtEnd(e->b, on);
	}
	fission_vote(e, b->succs, choice[0], choice[1]);
}

static void end_uniform(struct emitter *e, uint32_t block)
{
	struct emitter_state *s = e->state;
	const struct ir_block *b = &e->ir->blocks.data[block];
	struct lane_masks from;
	current_masks(e, &from);
	if (b->end == IR_END_JUMP) {
		if (b->succs[0] != 1)
			emit_edge(e, block, 0, &from);
		LLVMBuildBr(e->b, node_entry(e, s->plan.nodes[block].next[0]));
		return;
	}
	if (b->end == IR_END_ALL && s->fission) {
		end_all(e, block, &from);
		return;
	}
	if (b->end == IR_END_VOTE || b->end == IR_END_ALL) {
		end_vote(e, block, &from);
		return;
	}
	e->piece = PIECE_UNIFORM;
	e->w = 1;
	LLVMValueRef condition = read_uniform(e, b->condition);
	if (b->end == IR_END_BRANCH) {
		LLVMBasicBlockRef yes = edge_block(e, block, b->negated ? 1 : 0, &from);
		LLVMBasicBlockRef no = edge_block(e, block, b->negated ? 0 : 1, &from);
		LLVMBuildCondBr(e->b, condition, yes, no);
		return;
	}
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), wrong = new_block(e, "nowhere");
	LLVMPositionBuilderAtEnd(e->b, wrong);
	if (e->ir->resumes) /* nobody leaves but by the latch */
		LLVMBuildUnreachable(e->b);
	else
		LLVMBuildBr(e->b, s->group_next); /* an index past the list: undefined by the manual */
	LLVMPositionBuilderAtEnd(e->b, here);
	LLVMValueRef sw = LLVMBuildSwitch(e->b, condition, wrong, b->succ_count);
	for (uint32_t i = 0; i < b->succ_count; i++)
		LLVMAddCase(sw, LLVMConstInt(LLVMTypeOf(condition), i, 0), edge_block(e, block, i, &from));
}

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

void entry_masks(struct emitter *e, struct lane_masks *out)
{
	const uint32_t *shape = e->ir->options.block;
	out->full = true;
	if (e->lanes == 1 || (shape[0] && shape[0] * shape[1] * shape[2] % e->lanes == 0))
		return;
	out->full = false;
	e->piece = PIECE_CHUNK;
	e->w = e->width;
	for (unsigned c = 0; c < e->chunks; c++) {
		e->chunk = c;
		out->chunk[c] = LLVMBuildICmp(e->b, LLVMIntULT, thread_index(e), splat(e, e->state->thread_end), "mask");
	}
}

/* Takes the block's lanes from its slots, which are then free for those that come next. */
static void begin_block(struct emitter *e, uint32_t block)
{
	struct emitter_state *s = e->state;
	struct block_code *code = &s->nodes[block];
	if (code->mask_slots) {
		LLVMPositionBuilderAtEnd(e->b, code->entry);
		if (code->entry != code->body) {
			struct lane_masks masks = { .full = false, .any = code->known ? NULL : code->any };
			for (unsigned c = 0; c < e->chunks; c++)
				masks.chunk[c] = code->known ? code->known[c] : load_mask(e, code->mask_slots[c]);
			LLVMBuildCondBr(e->b, any_of(e, &masks), code->body, node_entry(e, s->plan.nodes[block].skip));
		}
		LLVMPositionBuilderAtEnd(e->b, code->body);
		for (unsigned c = 0; c < e->chunks; c++) {
			code->masks.chunk[c] = code->known ? code->known[c] : load_mask(e, code->mask_slots[c]);
			LLVMBuildStore(e->b, LLVMConstNull(mask_type(e)), code->mask_slots[c]);
		}
		return;
	}
	LLVMPositionBuilderAtEnd(e->b, code->body);
	if (block != 0)
		return;
	entry_masks(e, &code->masks);
}

/* region: IR_NONE where there are none */
static void clear_slots(struct emitter *e, uint32_t region)
{
	for (uint32_t i = 0; i < e->ir->order_count; i++) {
		uint32_t block = e->ir->order[i];
		struct block_code *code = &e->state->nodes[block];
		if (region != IR_NONE && e->ir->blocks.data[block].region != region && !fission_leads(e, block))
			continue;
		for (unsigned c = 0; code->mask_slots && c < e->chunks; c++)
			LLVMBuildStore(e->b, LLVMConstNull(mask_type(e)), code->mask_slots[c]);
	}
}

/* Back to the header while lanes wait in the loop. */
static void emit_latch(struct emitter *e, uint32_t node)
{
	struct emitter_state *s = e->state;
	const struct ir_loop *loop = &e->ir->loops.data[node - e->ir->blocks.count];
	const struct plan_node *n = &s->plan.nodes[node];
	struct block_code *header = &s->nodes[loop->header];
	LLVMPositionBuilderAtEnd(e->b, s->nodes[node].entry);
	if (loop->waits) {
		LLVMTypeRef i32 = int_type(e, 32);
		e->piece = PIECE_GROUP;
		call_service(e, offsetof(struct cpu_services, yield), LLVMVoidTypeInContext(e->context), &i32, &e->first_thread, 1);
	}
	if (!n->check) {
		LLVMBuildBr(e->b, node_entry(e, loop->header));
		return;
	}
	struct lane_masks waiting = { .full = false };
	for (unsigned c = 0; c < e->chunks; c++)
		waiting.chunk[c] = LLVMConstNull(bool_type(e));
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		struct block_code *code = &s->nodes[e->ir->order[i]];
		if (!code->mask_slots || (!loop->irreducible && e->ir->order[i] != loop->header))
			continue;
		for (unsigned c = 0; c < e->chunks; c++)
			waiting.chunk[c] = LLVMBuildOr(e->b, waiting.chunk[c], load_mask(e, code->mask_slots[c]), "");
	}
	LLVMBasicBlockRef after = n->after == IR_NONE ? s->group_next : node_entry(e, n->after);
	LLVMBuildCondBr(e->b, any_of(e, &waiting), loop->irreducible ? header->entry : header->body, after);
}

static bool heads_loop(struct emitter *e, uint32_t block)
{
	uint32_t l = e->ir->blocks.data[block].loop;
	return l != IR_NONE && e->ir->loops.data[l].header == block;
}

static void emit_rest_of_block(struct emitter *e, uint32_t block)
{
	struct emitter_state *s = e->state;
	const struct ir_block *b = &e->ir->blocks.data[block];
	for (size_t j = 0; j < b->insts.count && !s->failed; j++)
		s->failed = !emit_instruction(e, &b->insts.data[j]);
	if (s->failed)
		return;
	if (block == 0)
		prefetch_written(e);
	if (s->plan.nodes[block].linear)
		end_linear(e, block);
	else
		end_uniform(e, block);
}

/* Is the block worth having twice, once for when all lanes take part? Accesses of memory are far cheaper then. Nobody else may read
 * what it defines but through slots. */
static bool is_worth_twice(struct emitter *e, uint32_t block)
{
	const struct ir_block *b = &e->ir->blocks.data[block];
	const struct plan *plan = &e->state->plan;
	bool accesses = false;
	if (is_quick(e) || !has_own_mask(e, block) || e->state->nodes[block].known || plan->nodes[block].skip == IR_NONE || b->end != IR_END_JUMP || b->succs[0] == 1 || b->rare ||
	    fission_leads(e, plan->nodes[block].next[0]) || plan_dominates(plan, block, b->succs[0]) || heads_loop(e, block) ||
	    b->insts.count * e->chunks > TWICE_MOST)
		return false;
	for (size_t i = 0; i < b->insts.count; i++) {
		const struct ir_inst *inst = &b->insts.data[i];
		if (inst->mode == IR_MODE_GROUP)
			return false;
		accesses |= inst->op == IR_PTX && inst->mode == IR_MODE_LANES && inst->ptx->form->row->flags & (ISA_READS | ISA_WRITES);
	}
	return accesses;
}

/* Gives the block two bodies, and leaves the builder in the one that has all lanes; returns the other. */
static LLVMBasicBlockRef split_body(struct emitter *e, uint32_t block, struct lane_masks *masks)
{
	struct block_code *code = &e->state->nodes[block];
	LLVMBasicBlockRef whole = new_block(e, "whole"), part = new_block(e, "part");
	LLVMValueRef all = code->all;
	for (unsigned c = 0; c < e->chunks && !code->all; c++)
		all = all ? LLVMBuildAnd(e->b, all, code->masks.chunk[c], "") : code->masks.chunk[c];
	LLVMBuildCondBr(e->b, all_lanes(e, all), whole, part);
	LLVMPositionBuilderAtEnd(e->b, whole);
	*masks = code->masks;
	code->masks.full = true;
	return part;
}

static void emit_block(struct emitter *e, uint32_t block)
{
	struct emitter_state *s = e->state;
	const struct ir_block *b = &e->ir->blocks.data[block];
	if (!fission_leads(e, block)) { /* else the region has begun with it */
		begin_block(e, block);
		for (size_t p = 0; p < b->phis.count; p++)
			load_phi(e, b->phis.data[p].value);
	}
	if (is_worth_twice(e, block)) {
		struct lane_masks masks;
		LLVMBasicBlockRef part = split_body(e, block, &masks);
		emit_rest_of_block(e, block);
		LLVMPositionBuilderAtEnd(e->b, part);
		s->nodes[block].masks = masks;
	}
	if (!s->failed)
		emit_rest_of_block(e, block);
}

static void emit_nodes(struct emitter *e, uint32_t region)
{
	struct emitter_state *s = e->state;
	for (uint32_t i = 0; i < s->plan.sequence_count && !s->failed; i++) {
		uint32_t node = s->plan.sequence[i];
		bool latch = node >= e->ir->blocks.count;
		if (node == 1 || (region != IR_NONE && (region_of(e, node) != region || (latch && fission_leads(e, node)))))
			continue;
		s->node = node;
		if (latch)
			emit_latch(e, node);
		else
			emit_block(e, node);
	}
}

void emit_blocks(struct emitter *e)
{
	struct emitter_state *s = e->state;
	make_slots(e);
	if (!s->fission) {
		make_blocks(e, IR_NONE);
		clear_slots(e, IR_NONE); /* the builder stands in the group's head */
		LLVMBuildBr(e->b, s->nodes[0].entry);
		emit_nodes(e, IR_NONE);
		return;
	}
	for (uint32_t r = 0; r < e->ir->region_count && !s->failed; r++) {
		fission_begin_region(e, r);
		for (uint32_t copy = 0; !s->failed && fission_begin_groups(e, copy); copy++) {
			make_blocks(e, r);
			clear_slots(e, r);
			emit_nodes(e, r);
		}
		fission_end_region(e);
	}
}
