/* One call for a whole block: the regions of region.c one after the other, each in a loop over the block's groups of lanes.
 *
 * What lives from one region to another has a *home* (Karrenberg and Hack 2012, "live value" analysis around barriers; pocl's context
 * arrays): a scalar of the function where the block's groups agree on it, else a place in the group's context, an array that the runtime
 * lends. Cheap functions of the thread's number have none and are computed again. A definition also writes its home; a region reads what it
 * uses of others where it begins. A leader's phis live in their homes, and the edges into it write them. That is safe as long as
 * homes that all groups share are read before the loop over the groups: one that has gone on must not be seen by the next.
 *
 * An edge into another region ends the group's turn and says which region is next. A group whose threads have all exited passes;
 * when none is left, none says what is next, and the block is done. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/abi.h"
#include "codegen/state.h"
#include "codegen/values.h"
#include "isa_emit.h"

enum {
	REMAKE_COST = 6,
	APART_MOST = 600 /* instructions, in chunks, of all groups of a region */
};

struct need {
	uint32_t *data;
	size_t count, capacity;
};

struct fission {
	uint32_t region;
	struct home *homes;       /* by value */
	struct need *needs;       /* by region: values that it reads where it begins, definitions first */
	bool *vectors;            /* by value: is more of it read than its chunks' first lanes? */
	uint32_t *needed_in;      /* by value: the last region, + 1, whose list it has been put on */
	LLVMBasicBlockRef *entry; /* by region */
	LLVMBasicBlockRef *leave; /* by region that the current group goes on to; NULL: it does not */
	bool *goes;               /* by region that the current one goes on to */
	bool apart;               /* the groups of the region have code of their own */
	LLVMBasicBlockRef after;  /* behind the current region's loop */
	LLVMValueRef context;     /* the current group's */
	LLVMValueRef next;        /* slot: the region that is next */
	LLVMValueRef true_count, some_false; /* slots: what bar.red has gathered */
	uint32_t context_bytes, mask_offset;
	bool *mortal, *masked;    /* by region: may threads exit in it; may some have before it */
};

static uint32_t region_of_block(struct emitter *e, uint32_t block)
{
	return e->ir->blocks.data[block].region;
}

static bool is_leader(struct emitter *e, uint32_t block)
{
	uint32_t region = region_of_block(e, block);
	return region != IR_NONE && e->ir->leaders[region] == block;
}

bool fission_crosses(struct emitter *e, uint32_t value, uint32_t block)
{
	uint32_t from = e->ir->values.data[value].block;
	return e->state->fission && from != IR_NONE && region_of_block(e, from) != region_of_block(e, block);
}

bool fission_leads(struct emitter *e, uint32_t node)
{
	uint32_t blocks = (uint32_t)e->ir->blocks.count;
	return e->state->fission && is_leader(e, node < blocks ? node : e->ir->loops.data[node - blocks].header);
}

uint32_t fission_context_bytes(struct emitter *e)
{
	return e->state->fission ? e->state->fission->context_bytes : 0;
}

/* ---- homes ---------------------------------------------------------------------------------------------------- */

/* Is the number whole for each chunk by its first lane's? Then it is kept so. */
static bool is_kept_by_base(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = &e->ir->values.data[value];
	return v->shape.kind == IR_AFFINE && v->type != PTX_PRED && (v->shape.exact || !e->state->fission->vectors[value]);
}

/* Does the instruction look at more of an index that is good for addresses than its first lane's? (emit_lanes and emit_address) */
static bool reads_vector(struct emitter *e, const struct ir_inst *inst, const struct ir_use *use)
{
	if (inst->mode != IR_MODE_LANES || !use->operand)
		return true;
	const struct ir_value *v = &e->ir->values.data[use->value];
	bool pure = inst->op == IR_COPY || inst->ptx->form->row->flags & ISA_PURE, affine = pure && inst->def_count, exact = true, read = false;
	for (unsigned d = 0; d < inst->def_count; d++) {
		const struct ir_value *of = &e->ir->values.data[inst->defs[d].value];
		affine &= of->shape.kind == IR_AFFINE && inst->defs[d].old == IR_NONE;
		exact &= of->shape.exact && of->type != PTX_PRED;
		read |= e->state->fission->vectors[inst->defs[d].value];
	}
	if (affine)
		return !exact && read;
	if (inst->op != IR_PTX || (inst->ptx->form->row->opcode_id != OP_ld && inst->ptx->form->row->opcode_id != OP_st) ||
	    ptx_type_bits(v->type) != 64)
		return true;
	for (unsigned i = 0; i < inst->ptx->operand_count; i++) {
		const struct ptx_operand *op = &inst->ptx->operands[i];
		if (op->kind == PTX_OP_ADDRESS && &op->parts[0] == use->operand)
			return false;
	}
	return true;
}

static void find_vectors_of_block(struct emitter *e, const struct ir_block *b, bool *changed)
{
	bool *vectors = e->state->fission->vectors;
	for (size_t j = 0; j < b->insts.count; j++) {
		const struct ir_inst *inst = &b->insts.data[j];
		for (unsigned u = 0; u < inst->use_count; u++)
			if (inst->uses[u].value != IR_NONE && !vectors[inst->uses[u].value] && reads_vector(e, inst, &inst->uses[u]))
				vectors[inst->uses[u].value] = *changed = true;
		for (unsigned d = 0; d < inst->def_count; d++)
			if (inst->defs[d].old != IR_NONE && !vectors[inst->defs[d].old])
				vectors[inst->defs[d].old] = *changed = true;
	}
	if (b->condition != IR_NONE && !vectors[b->condition])
		vectors[b->condition] = *changed = true;
	for (size_t q = 0; q < b->phis.count; q++) {
		uint32_t value = b->phis.data[q].value;
		const struct ir_value *v = &e->ir->values.data[value];
		if (v->shape.kind == IR_AFFINE && v->type != PTX_PRED && (v->shape.exact || !vectors[value]))
			continue;
		for (size_t p = 0; p < b->preds.count; p++) {
			uint32_t argument = b->phis.data[q].arguments[p];
			if (argument != IR_NONE && !vectors[argument])
				vectors[argument] = *changed = true;
		}
	}
}

/* Of which values more is read than each chunk's first lane. */
static void find_vectors(struct emitter *e)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = e->ir->order_count; i-- > 0;)
			find_vectors_of_block(e, &e->ir->blocks.data[e->ir->order[i]], &changed);
	}
}

static const struct ir_inst *definition(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = &e->ir->values.data[value];
	return v->block == IR_NONE || v->inst == IR_NONE ? NULL : &e->ir->blocks.data[v->block].insts.data[v->inst];
}

static bool is_cheap_opcode(const struct ir_inst *inst)
{
	static const uint16_t cheap[] = { OP_mov, OP_add, OP_sub, OP_mul, OP_mad, OP_shl, OP_shr, OP_and, OP_or, OP_xor, OP_cvt, OP_cvta,
					  OP_min, OP_max, OP_not, OP_setp };
	if (inst->op == IR_COPY)
		return !inst->ptx || !inst->ptx->guard;
	if (inst->op != IR_PTX || inst->ptx->guard || inst->def_count != 1 || !(inst->ptx->form->row->flags & ISA_PURE))
		return false;
	for (size_t i = 0; i < ARRAY_LENGTH(cheap); i++)
		if (inst->ptx->form->row->opcode_id == cheap[i])
			return true;
	return false;
}

/* Is it the same numbers in each group, made of nothing but constants and lanes' numbers (a mask of the lanes before one's own)? */
static bool is_constant_vector(struct emitter *e, uint32_t value, unsigned depth)
{
	if (value == IR_NONE || known_number(e, value) || known_base(e, value, 0))
		return true;
	const struct ir_inst *inst = definition(e, value);
	if (!inst || depth > REMAKE_COST || !is_cheap_opcode(inst) || inst->op != IR_PTX)
		return false;
	for (unsigned i = 1; i < inst->ptx->operand_count; i++)
		if (inst->ptx->operands[i].kind != PTX_OP_REGISTER && inst->ptx->operands[i].kind != PTX_OP_IMMEDIATE)
			return false;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (!is_constant_vector(e, inst->uses[u].value, depth + 1))
			return false;
	return true;
}

/* Instructions that it takes to compute the value again from what the block agrees on; more than REMAKE_COST: not worth it. A comparison of
 * an index takes no longer than a mask's load, and where groups have code of their own it is known. */
static unsigned cost_of_remaking(struct emitter *e, uint32_t value, unsigned depth)
{
	const struct ir_inst *inst = definition(e, value);
	if (value == IR_NONE || e->ir->values.data[value].block_uniform)
		return 0;
	bool varies = e->ir->values.data[value].shape.kind == IR_VARYING && !is_constant_vector(e, value, 0);
	if (!inst || depth > REMAKE_COST || !is_cheap_opcode(inst) || (varies && (inst->op != IR_PTX || inst->ptx->form->row->opcode_id != OP_setp)))
		return REMAKE_COST + 1;
	unsigned cost = 1;
	for (unsigned u = 0; u < inst->use_count && cost <= REMAKE_COST; u++)
		cost += cost_of_remaking(e, inst->uses[u].value, depth + 1);
	return cost;
}

static unsigned lane_bytes(struct emitter *e, uint32_t value, bool vector)
{
	enum ptx_type type = e->ir->values.data[value].type;
	if (type == PTX_PRED)
		return vector && e->width > 1 && !e->target->bit_masks ? 4 : 1;
	return ptx_type_bits(type) / 8;
}

static uint32_t take_context(struct fission *f, uint32_t bytes, uint32_t align)
{
	uint32_t at = (uint32_t)align_up(f->context_bytes, align < 64 ? align : 64);
	f->context_bytes = at + bytes;
	return at;
}

static void give_home(struct emitter *e, uint32_t value)
{
	struct fission *f = e->state->fission;
	struct home *home = &f->homes[value];
	const struct ir_value *v = &e->ir->values.data[value];
	if (home->kind)
		return;
	if (v->block_uniform) {
		home->kind = HOME_BLOCK;
		home->slot = entry_alloca(e, slot_type(e, value, false), "home");
	} else if (cost_of_remaking(e, value, 0) <= REMAKE_COST) {
		home->kind = HOME_REMADE;
	} else {
		home->kind = HOME_GROUP;
		home->offset = IR_NONE;
		home->with = IR_NONE;
	}
}

uint32_t fission_home_bytes(struct emitter *e, uint32_t value)
{
	uint32_t vector = lane_bytes(e, value, true) * e->width, scalar = lane_bytes(e, value, false);
	enum ir_shape_kind kind = e->ir->values.data[value].shape.kind;
	if (kind == IR_UNIFORM)
		return scalar;
	return e->chunks * (is_kept_by_base(e, value) ? scalar : vector + (kind == IR_AFFINE ? scalar : 0));
}

static void place_home(struct emitter *e, uint32_t value)
{
	struct home *home = &e->state->fission->homes[value];
	if (home->kind != HOME_GROUP || home->offset != IR_NONE)
		return;
	bool scalar = e->ir->values.data[value].shape.kind == IR_UNIFORM || is_kept_by_base(e, value);
	home->offset = take_context(e->state->fission, fission_home_bytes(e, value), lane_bytes(e, value, !scalar) * (scalar ? 1 : e->width));
	if (home->with != IR_NONE)
		e->state->fission->homes[home->with].offset = home->offset;
}

bool fission_carries(struct emitter *e, uint32_t phi, uint32_t argument)
{
	const struct fission *f = e->state->fission;
	if (!f || f->homes[phi].kind != HOME_GROUP || !fission_leads(e, e->ir->values.data[phi].block))
		return false;
	if (f->homes[phi].steps)
		return homes_step(e, f->homes, phi, argument);
	return argument != IR_NONE && f->homes[phi].with == homes_source(e, argument);
}

static LLVMValueRef context_at(struct emitter *e, uint32_t offset)
{
	LLVMValueRef at = LLVMConstInt(int_type(e, 64), offset, 0);
	return LLVMBuildGEP2(e->b, int_type(e, 8), e->state->fission->context, &at, 1, "");
}

LLVMValueRef *fission_home(struct emitter *e, uint32_t value)
{
	struct fission *f = e->state->fission;
	if (!f || f->homes[value].kind == HOME_NONE || f->homes[value].kind == HOME_REMADE)
		return NULL;
	const struct home *home = &f->homes[value];
	LLVMValueRef *slots = arena_array(e->state->arena, LLVMValueRef, 2 * e->chunks);
	if (home->kind == HOME_BLOCK) {
		slots[0] = home->slot;
		return slots;
	}
	uint32_t vector = lane_bytes(e, value, true) * e->width, scalar = lane_bytes(e, value, false);
	const struct ir_shape shape = e->ir->values.data[value].shape;
	bool by_base = is_kept_by_base(e, value);
	if (shape.kind == IR_UNIFORM)
		slots[0] = context_at(e, home->offset);
	for (unsigned c = 0; c < e->chunks && by_base; c++)
		slots[e->chunks + c] = context_at(e, home->offset + c * scalar);
	for (unsigned c = 0; c < e->chunks && shape.kind != IR_UNIFORM && !by_base; c++) {
		slots[c] = context_at(e, home->offset + c * vector);
		if (shape.kind == IR_AFFINE)
			slots[e->chunks + c] = context_at(e, home->offset + e->chunks * vector + c * scalar);
	}
	return slots;
}

/* Says so to LLVM where groups have code of their own, so that what one has read stays known while another writes what lives across. In loops
 * over groups it would only take registers (sgemm_tiled). */
void fission_mark_access(struct emitter *e, LLVMValueRef access, bool of_program)
{
	if (!fission_context_bytes(e) || !e->state->fission->apart)
		return;
	LLVMMetadataRef domain = LLVMMDStringInContext2(e->context, "dragoman", 8), name = LLVMMDStringInContext2(e->context, "contexts", 8);
	domain = LLVMMDNodeInContext2(e->context, &domain, 1);
	LLVMMetadataRef scope[] = { name, domain }, list = LLVMMDNodeInContext2(e->context, scope, 2);
	list = LLVMMDNodeInContext2(e->context, &list, 1);
	const char *kind = of_program ? "noalias" : "alias.scope";
	LLVMSetMetadata(access, LLVMGetMDKindIDInContext(e->context, kind, (unsigned)strlen(kind)), LLVMMetadataAsValue(e->context, list));
}

/* ---- which values live across -------------------------------------------------------------------------------------- */

/* In the emitter's memory: where the kernel turns out not to be one call, nobody comes by to give it back. */
static void push_need(struct emitter *e, struct need *need, uint32_t value)
{
	if (need->count == need->capacity) {
		need->capacity = need->capacity ? 2 * need->capacity : 16;
		uint32_t *data = arena_array(e->state->arena, uint32_t, need->capacity);
		if (need->count)
			memcpy(data, need->data, need->count * sizeof *data);
		need->data = data;
	}
	need->data[need->count++] = value;
}

static void need_value(struct emitter *e, uint32_t region, uint32_t value)
{
	struct fission *f = e->state->fission;
	if (value == IR_NONE || e->ir->values.data[value].block == IR_NONE || f->needed_in[value] == region + 1)
		return;
	f->needed_in[value] = region + 1;
	give_home(e, value);
	const struct ir_inst *inst = definition(e, value);
	for (unsigned u = 0; f->homes[value].kind == HOME_REMADE && u < inst->use_count; u++)
		need_value(e, region, inst->uses[u].value);
	push_need(e, &f->needs[region], value); /* behind what it is made from */
}

static void note_use(struct emitter *e, uint32_t value, uint32_t block)
{
	if (value != IR_NONE && fission_crosses(e, value, block))
		need_value(e, region_of_block(e, block), value);
}

static void find_needs_of_block(struct emitter *e, uint32_t block)
{
	const struct ir_block *b = &e->ir->blocks.data[block];
	for (size_t p = 0; p < b->phis.count && is_leader(e, block); p++)
		need_value(e, b->region, b->phis.data[p].value);
	for (size_t j = 0; j < b->insts.count; j++) {
		const struct ir_inst *inst = &b->insts.data[j];
		for (unsigned u = 0; u < inst->use_count; u++)
			note_use(e, inst->uses[u].value, block);
		for (unsigned d = 0; d < inst->def_count; d++)
			note_use(e, inst->defs[d].old, block);
	}
	note_use(e, b->condition, block);
	for (uint32_t s = 0; s < b->succ_count; s++) { /* edges read for the phis that they lead to */
		const struct ir_block *to = &e->ir->blocks.data[b->succs[s]];
		for (size_t p = 0; p < to->preds.count; p++)
			for (size_t q = 0; to->preds.data[p] == block && q < to->phis.count; q++)
				note_use(e, to->phis.data[q].arguments[p], block);
	}
}

static void find_needs(struct emitter *e)
{
	for (uint32_t r = 0; r < e->ir->region_count; r++)
		for (uint32_t i = 0; i < e->ir->order_count; i++)
			if (region_of_block(e, e->ir->order[i]) == r)
				find_needs_of_block(e, e->ir->order[i]);
}

static void place_homes(struct emitter *e)
{
	struct fission *f = e->state->fission;
	size_t values = e->ir->values.count;
	bool *reads = arena_array(e->state->arena, bool, e->ir->region_count * values);
	for (uint32_t r = 0; r < e->ir->region_count; r++)
		for (size_t i = 0; i < f->needs[r].count; i++)
			reads[r * values + f->needs[r].data[i]] = true;
	homes_share(e, f->homes, reads);
	for (uint32_t r = 0; r < e->ir->region_count; r++)
		for (size_t i = 0; i < f->needs[r].count; i++)
			place_home(e, f->needs[r].data[i]);
}

/* ---- threads that exit ----------------------------------------------------------------------------------------------------- */

/* May some threads of the block exit in the region while others go on to another? */
static bool is_mortal(struct emitter *e, uint32_t region)
{
	uint32_t *work = malloc((e->ir->blocks.count + 1) * sizeof *work), count = 0;
	bool *seen = calloc(e->ir->blocks.count, 1), exits = false, goes_on = false;
	for (uint32_t i = 0; i < e->ir->order_count; i++) {
		const struct ir_block *b = &e->ir->blocks.data[e->ir->order[i]];
		for (uint32_t s = 0; s < b->succ_count; s++)
			goes_on |= b->region == region && is_leader(e, b->succs[s]);
		if (b->region == region && b->parts)
			work[count++] = e->ir->order[i];
	}
	while (count && !exits) {
		const struct ir_block *b = &e->ir->blocks.data[work[--count]];
		for (uint32_t s = 0; s < b->succ_count; s++) {
			exits |= b->succs[s] == 1;
			if (b->succs[s] == 1 || is_leader(e, b->succs[s]) || seen[b->succs[s]])
				continue;
			seen[b->succs[s]] = true;
			work[count++] = b->succs[s];
		}
	}
	free(work);
	free(seen);
	return exits && goes_on;
}

/* Regions that come after one where threads may have exited begin with a mask; in the others all threads of the block are there. */
static void find_masked(struct emitter *e)
{
	struct fission *f = e->state->fission;
	for (uint32_t r = 0; r < e->ir->region_count; r++)
		f->mortal[r] = is_mortal(e, r);
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < e->ir->order_count; i++) {
			const struct ir_block *b = &e->ir->blocks.data[e->ir->order[i]];
			for (uint32_t s = 0; s < b->succ_count; s++) {
				if (!is_leader(e, b->succs[s]) || !(f->mortal[b->region] || f->masked[b->region]))
					continue;
				bool *masked = &f->masked[region_of_block(e, b->succs[s])];
				changed |= !*masked;
				*masked = true;
			}
		}
	}
}

/* ---- before and after --------------------------------------------------------------------------------------------------- */

/* Where a region begins no lane may wait anywhere else: all have come, or are gone. */
static bool plan_allows(struct emitter *e)
{
	const struct plan *plan = &e->state->plan;
	for (uint32_t r = 1; r < e->ir->region_count; r++) {
		const struct plan_node *n = &plan->nodes[e->ir->leaders[r]];
		for (uint32_t i = 0; i < n->pending_count; i++)
			if (plan->sequence[n->pending[i]] != 1)
				return false;
	}
	for (uint32_t i = 0; i < plan->sequence_count; i++)
		if (plan->sequence[i] >= e->ir->blocks.count && fission_leads(e, plan->sequence[i]) && plan->nodes[plan->sequence[i]].check)
			return false;
	return true;
}

bool fission_prepare(struct emitter *e)
{
	struct emitter_state *s = e->state;
	struct fission *f = s->fission = arena_new(s->arena, struct fission);
	uint32_t regions = e->ir->region_count;
	f->homes = arena_array(s->arena, struct home, e->ir->values.count + 1);
	f->needs = arena_array(s->arena, struct need, regions);
	f->needed_in = arena_array(s->arena, uint32_t, e->ir->values.count + 1);
	f->vectors = arena_array(s->arena, bool, e->ir->values.count + 1);
	find_vectors(e);
	f->entry = arena_array(s->arena, LLVMBasicBlockRef, regions);
	f->leave = arena_array(s->arena, LLVMBasicBlockRef, regions);
	f->goes = arena_array(s->arena, bool, regions);
	f->entry[0] = s->group_head;
	for (uint32_t r = 1; r < regions; r++)
		f->entry[r] = new_block(e, "region");
	f->next = entry_alloca(e, int_type(e, 32), "next");
	f->true_count = entry_alloca(e, int_type(e, 32), "true");
	f->some_false = entry_alloca(e, int_type(e, 32), "false");
	f->mortal = arena_array(s->arena, bool, regions);
	f->masked = arena_array(s->arena, bool, regions);
	find_masked(e);
	for (uint32_t r = 0; r < regions && !f->context_bytes; r++)
		if (f->masked[r])
			f->mask_offset = take_context(f, e->chunks * 4 * e->width, 4 * e->width);
	find_needs(e);
	place_homes(e);
	f->context_bytes = (uint32_t)align_up(f->context_bytes, 64);
	return f->context_bytes <= CONTEXT_MAX && plan_allows(e);
}

/* ---- masks --------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef mask_home(struct emitter *e, unsigned chunk)
{
	return context_at(e, e->state->fission->mask_offset + chunk * 4 * e->width);
}

/* The lanes that are left when a region begins; a group without any goes no further. One that ends in the region must be found ended. */
static void begin_masks(struct emitter *e, uint32_t leader)
{
	struct fission *f = e->state->fission;
	struct lane_masks *masks = &e->state->nodes[leader].masks;
	if (f->masked[f->region]) {
		masks->full = false;
		for (unsigned c = 0; c < e->chunks; c++)
			masks->chunk[c] = load_mask(e, mask_home(e, c));
		LLVMBasicBlockRef alive = new_block(e, "alive");
		LLVMBuildCondBr(e->b, any_of(e, masks), alive, e->state->group_next);
		LLVMPositionBuilderAtEnd(e->b, alive);
	} else {
		entry_masks(e, masks);
	}
	for (unsigned c = 0; c < e->chunks && f->mortal[f->region]; c++)
		LLVMBuildStore(e->b, LLVMConstNull(mask_type(e)), mask_home(e, c));
}

/* Leaves the mask of the lanes that go on in the context, unless it is still there, and says whether there are any. */
static LLVMValueRef end_masks(struct emitter *e, uint32_t leader)
{
	struct emitter_state *s = e->state;
	struct fission *f = s->fission;
	struct lane_masks masks = { .full = false };
	uint32_t class = s->plan.nodes[leader].mask_class, here = e->ir->leaders[f->region];
	LLVMValueRef yes = LLVMConstInt(int_type(e, 1), 1, 0);
	if (!f->masked[region_of_block(e, leader)])
		return yes;
	bool same = !has_own_mask(e, leader) && (class == here || region_of_block(e, class) != f->region);
	if (same && f->masked[f->region] && !f->mortal[f->region])
		return yes;
	if (!has_own_mask(e, leader))
		masks = s->nodes[same ? here : class].masks;
	for (unsigned c = 0; c < e->chunks; c++) {
		if (has_own_mask(e, leader))
			masks.chunk[c] = load_mask(e, s->nodes[leader].mask_slots[c]);
		store_mask(e, mask_home(e, c), mask_of(e, &masks, c));
	}
	return same ? yes : any_of(e, &masks);
}

/* ---- regions --------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef i32(struct emitter *e, uint32_t value)
{
	return LLVMConstInt(int_type(e, 32), value, 0);
}

LLVMBasicBlockRef fission_leave(struct emitter *e, uint32_t node)
{
	struct fission *f = e->state->fission;
	uint32_t blocks = (uint32_t)e->ir->blocks.count;
	uint32_t leader = node < blocks ? node : e->ir->loops.data[node - blocks].header, to = region_of_block(e, leader);
	if (f->leave[to])
		return f->leave[to];
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), some = new_block(e, "some");
	f->leave[to] = new_block(e, "leave");
	f->goes[to] = true;
	LLVMPositionBuilderAtEnd(e->b, f->leave[to]);
	LLVMBuildCondBr(e->b, end_masks(e, leader), some, e->state->group_next);
	LLVMPositionBuilderAtEnd(e->b, some);
	LLVMBuildStore(e->b, i32(e, to), f->next);
	LLVMBuildBr(e->b, e->state->group_next);
	LLVMPositionBuilderAtEnd(e->b, here);
	return f->leave[to];
}

void fission_vote(struct emitter *e, const uint32_t *leaders, LLVMValueRef all, LLVMValueRef none)
{
	struct fission *f = e->state->fission;
	LLVMValueRef to[3];
	for (unsigned i = 0; i < 3; i++) {
		uint32_t region = region_of_block(e, leaders[i]);
		f->goes[region] = true;
		to[i] = i32(e, region);
		end_masks(e, leaders[i]);
	}
	LLVMValueRef own = LLVMBuildSelect(e->b, all, to[0], LLVMBuildSelect(e->b, none, to[1], to[2], ""), "");
	LLVMValueRef others = LLVMBuildLoad2(e->b, int_type(e, 32), f->next, "");
	LLVMValueRef agree = LLVMBuildOr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, others, own, ""),
					 LLVMBuildICmp(e->b, LLVMIntEQ, others, i32(e, e->ir->region_count), ""), "");
	LLVMBuildStore(e->b, LLVMBuildSelect(e->b, agree, own, to[2], ""), f->next);
	LLVMBuildBr(e->b, e->state->group_next);
}

static void read_needs(struct emitter *e, bool of_block)
{
	struct fission *f = e->state->fission;
	const struct need *need = &f->needs[f->region];
	for (size_t i = 0; i < need->count; i++) {
		uint32_t value = need->data[i];
		struct home *home = &f->homes[value];
		if (of_block && home->steps) {
			LLVMTypeRef type = int_type(e, ptx_type_bits(e->ir->values.data[value].type));
			home->added = LLVMBuildLoad2(e->b, type, home->steps, "");
		}
		if ((home->kind == HOME_BLOCK) != of_block)
			continue;
		if (home->kind == HOME_REMADE) {
			emit_instruction(e, definition(e, value));
		} else {
			load_value(e, value, fission_home(e, value));
			if (home->steps)
				shift_value(e, value, home->added);
			store_slots(e, value);
		}
	}
}

static LLVMValueRef group_context(struct emitter *e)
{
	LLVMTypeRef i64 = int_type(e, 64);
	LLVMValueRef all = block_field(e, ptr_type(e), offsetof(struct cpu_block, context));
	LLVMValueRef group = LLVMBuildUDiv(e->b, e->first_thread, i32(e, e->lanes), "");
	LLVMValueRef at = LLVMBuildMul(e->b, LLVMBuildZExt(e->b, group, i64, ""), LLVMConstInt(i64, e->state->fission->context_bytes, 0), "");
	return LLVMBuildGEP2(e->b, int_type(e, 8), all, &at, 1, "context");
}

/* Is it decided by the number of the group: a comparison of an index along the lanes with a constant? */
static bool is_known_by_group(struct emitter *e, const struct ir_inst *inst)
{
	bool index = false, constant = false;
	if (!inst || inst->op != IR_PTX || inst->ptx->form->row->opcode_id != OP_setp || inst->ptx->operand_count != 3)
		return false;
	for (unsigned i = 1; i < 3; i++)
		constant |= inst->ptx->operands[i].kind == PTX_OP_IMMEDIATE;
	for (unsigned u = 0; u < inst->use_count; u++) {
		if (inst->uses[u].value == IR_NONE)
			continue;
		const struct ir_shape shape = e->ir->values.data[inst->uses[u].value].shape;
		index |= shape.kind == IR_AFFINE && shape.linear && shape.exact && shape.low >= 0 && shape.high < 1024;
		constant |= shape.kind == IR_UNIFORM && shape.low == shape.high;
	}
	return index && constant;
}

static uint32_t count_groups(struct emitter *e)
{
	const uint32_t *block = e->ir->options.block;
	return (block[0] * block[1] * block[2] + e->lanes - 1) / e->lanes;
}

static bool writes_memory(struct emitter *e, uint32_t region)
{
	for (uint32_t i = 0; i < e->ir->order_count; i++) {
		const struct ir_block *b = &e->ir->blocks.data[e->ir->order[i]];
		for (size_t j = 0; b->region == region && j < b->insts.count; j++)
			if (b->insts.data[j].op == IR_PTX && !(b->insts.data[j].ptx->form->row->flags & (ISA_PURE | ISA_BARRIER)) &&
			    b->insts.data[j].ptx->form->row->opcode_id != OP_ld)
				return true;
	}
	return false;
}

/* What the instruction adds to code for each group: nothing where the group decides it, and where nobody writes what the block agrees on
 * is there once. */
static size_t cost_apart(struct emitter *e, const struct ir_inst *inst, bool writes)
{
	bool once = !writes && inst->def_count && inst->mode == IR_MODE_ONCE;
	for (unsigned d = 0; d < inst->def_count; d++)
		once &= e->ir->values.data[inst->defs[d].value].block_uniform;
	if (is_known_by_group(e, inst))
		return 0;
	return once ? 1 : (size_t)(inst->mode == IR_MODE_ONCE ? 1 : e->chunks) * count_groups(e);
}

/* Small regions where that is so (the rounds of a reduction, sums over the warps before one's own) have code for each group: most of it comes
 * to nothing. */
static bool groups_are_apart(struct emitter *e, uint32_t region)
{
	size_t cost = 0;
	bool known = false, writes = writes_memory(e, region);
	for (uint32_t i = 0; i < e->ir->order_count && e->ir->options.block[0] && !is_quick(e); i++) {
		const struct ir_block *b = &e->ir->blocks.data[e->ir->order[i]];
		for (size_t j = 0; b->region == region && j < b->insts.count; j++) {
			cost += cost_apart(e, &b->insts.data[j], writes);
			known |= is_known_by_group(e, &b->insts.data[j]);
		}
		known |= b->region == region && b->condition != IR_NONE && is_known_by_group(e, definition(e, b->condition));
	}
	return known && cost <= APART_MOST;
}

void fission_begin_region(struct emitter *e, uint32_t region)
{
	struct emitter_state *s = e->state;
	struct fission *f = s->fission;
	f->region = region;
	f->after = new_block(e, "after");
	f->apart = groups_are_apart(e, region);
	memset(f->goes, 0, e->ir->region_count * sizeof *f->goes);
	s->node = e->ir->leaders[region];
	LLVMPositionBuilderAtEnd(e->b, f->entry[region]);
	LLVMBuildStore(e->b, i32(e, e->ir->region_count), f->next);
	LLVMBuildStore(e->b, i32(e, 0), f->true_count);
	LLVMBuildStore(e->b, i32(e, 0), f->some_false);
	read_needs(e, true);
	s->group_next = f->entry[region];
}

static void begin_one_group(struct emitter *e, uint32_t copy, uint32_t group)
{
	struct emitter_state *s = e->state;
	LLVMBasicBlockRef from = s->group_next;
	s->group_head = new_block(e, "group");
	s->group_next = new_block(e, "next");
	e->first_thread = i32(e, group * e->lanes);
	LLVMPositionBuilderAtEnd(e->b, from);
	LLVMBuildBr(e->b, s->group_head);
	if (copy + 1 == count_groups(e)) {
		LLVMPositionBuilderAtEnd(e->b, s->group_next);
		LLVMBuildBr(e->b, s->fission->after);
	}
	LLVMPositionBuilderAtEnd(e->b, s->group_head);
}

bool fission_begin_groups(struct emitter *e, uint32_t copy)
{
	struct emitter_state *s = e->state;
	struct fission *f = s->fission;
	if (copy >= (f->apart ? count_groups(e) : 1))
		return false;
	s->node = e->ir->leaders[f->region];
	memset(f->leave, 0, e->ir->region_count * sizeof *f->leave);
	bool downwards = e->ir->blocks.data[s->node].downwards;
	if (f->apart)
		begin_one_group(e, copy, downwards ? count_groups(e) - 1 - copy : copy);
	else
		begin_groups(e, f->entry[f->region], f->after, downwards);
	f->context = group_context(e);
	begin_masks(e, s->node);
	read_needs(e, false);
	return true;
}

void fission_reduce(struct emitter *e, LLVMValueRef bits)
{
	struct fission *f = e->state->fission;
	LLVMTypeRef type = int_type(e, 32);
	LLVMValueRef wrong = LLVMBuildAnd(e->b, LLVMBuildNot(e->b, bits, ""), mask_bits(e), "");
	LLVMValueRef count = LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, type, f->true_count, ""), intrinsic1(e, "llvm.ctpop", bits), "");
	LLVMBuildStore(e->b, count, f->true_count);
	LLVMBuildStore(e->b, LLVMBuildOr(e->b, LLVMBuildLoad2(e->b, type, f->some_false, ""), wrong, ""), f->some_false);
}

/* The result of the bar.red that a region ended with. */
static void write_reduction(struct emitter *e, uint32_t leader)
{
	struct fission *f = e->state->fission;
	const struct ir_block *b = &e->ir->blocks.data[leader];
	if (!b->after_barrier || !e->ir->blocks.data[b->preds.data[0]].insts.count)
		return;
	const struct ir_block *before = &e->ir->blocks.data[b->preds.data[0]];
	const struct ir_inst *inst = &before->insts.data[before->insts.count - 1];
	if (inst->op != IR_PTX || !(inst->ptx->form->row->flags & ISA_BARRIER) || !inst->def_count)
		return;
	uint32_t value = inst->defs[0].value;
	if (f->homes[value].kind != HOME_BLOCK)
		return;
	LLVMTypeRef type = int_type(e, 32);
	LLVMValueRef r = LLVMBuildLoad2(e->b, type, f->true_count, "");
	if (ptx_has(inst->ptx->form, MOD_and))
		r = LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildLoad2(e->b, type, f->some_false, ""), i32(e, 0), "");
	else if (ptx_has(inst->ptx->form, MOD_or))
		r = LLVMBuildICmp(e->b, LLVMIntNE, r, i32(e, 0), "");
	LLVMBuildStore(e->b, r, f->homes[value].slot);
}

void fission_end_region(struct emitter *e)
{
	struct emitter_state *s = e->state;
	struct fission *f = s->fission;
	LLVMPositionBuilderAtEnd(e->b, f->after);
	LLVMValueRef way = LLVMBuildSwitch(e->b, LLVMBuildLoad2(e->b, int_type(e, 32), f->next, ""), s->done, 2);
	for (uint32_t r = 0; r < e->ir->region_count; r++) {
		if (!f->goes[r])
			continue;
		LLVMBasicBlockRef on = new_block(e, "on");
		LLVMAddCase(way, i32(e, r), on);
		LLVMPositionBuilderAtEnd(e->b, on);
		write_reduction(e, e->ir->leaders[r]);
		LLVMBuildBr(e->b, f->entry[r]);
	}
}
