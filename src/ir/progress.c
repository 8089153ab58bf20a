/* Loops that wait for memory which another thread must write: spin locks, flags between blocks, look-back scans.
 *
 * Such a loop must let others run (kernel code yields on its way back), and where its lanes may leave it in different
 * iterations the thread that would end the waiting can be a lane of the same group, standing behind the loop: then the kernel is run
 * a thread at a time (independent thread scheduling, CUDA programming guide 7.27).
 *
 * A loop waits if it is left depending on a value that it reads again in each round by a volatile, relaxed or acquire
 * load, or by an atomic that changes nothing until someone else acts: compare-and-swap against, or exchange for, a
 * value that stays the same. Lock-free retries (compare with what was just read) succeed by themselves and do not count. */
#include "ir/flatten.h"

#include <stdlib.h>
#include <string.h>

static bool in_loop(const struct ir_func *func, const struct ir_loop *loop, uint32_t value)
{
	if (value == IR_NONE)
		return false;
	uint32_t block = func->values.data[value].block;
	if (block == IR_NONE)
		return false;
	uint32_t at = func->blocks.data[block].order;
	return at >= loop->first && at <= loop->last;
}

static bool changes_in_loop(const struct ir_func *func, const struct ir_loop *loop, const struct ir_inst *inst, const struct ptx_operand *op)
{
	if (op->kind != PTX_OP_REGISTER)
		return false;
	for (unsigned i = 0; i < inst->use_count; i++) {
		if (inst->uses[i].operand != op || !in_loop(func, loop, inst->uses[i].value))
			continue;
		/* a constant moved to a register each time stays what it is */
		const struct ir_value *v = &func->values.data[inst->uses[i].value];
		return !(v->shape.kind == IR_UNIFORM && v->shape.low == v->shape.high);
	}
	return false;
}

static bool is_zero(const struct ptx_operand *op)
{
	return op->kind == PTX_OP_IMMEDIATE && op->bits == 0;
}

/* Does the instruction read what others write, without bringing the loop nearer to its end by itself? */
static bool is_waiting_read(const struct ir_func *func, const struct ir_loop *loop, const struct ir_inst *inst)
{
	if (inst->op != IR_PTX || !inst->def_count)
		return false;
	const struct ptx_instruction *in = inst->ptx;
	const struct ptx_form *form = in->form;
	if (form->row->opcode_id == OP_ld)
		return ptx_has(form, MOD_volatile) || ptx_has(form, MOD_relaxed) || ptx_has(form, MOD_acquire) || ptx_has(form, MOD_cv) ||
		       ptx_has(form, MOD_mmio);
	if (form->row->opcode_id != OP_atom || in->operand_count < 3)
		return false;
	if (ptx_has(form, MOD_cas) || ptx_has(form, MOD_exch))
		return !changes_in_loop(func, loop, inst, &in->operands[2]);
	if (ptx_has(form, MOD_add) || ptx_has(form, MOD_or) || ptx_has(form, MOD_xor))
		return is_zero(&in->operands[2]);
	return false;
}

/* Do lanes come to the block, or by one of several ways, as a branch in the loop says that depends on what is waited for? `done` is set where
 * a lock has been taken, and the loop ends by it. Where vectors of lanes run under masks that hangs nobody. */
static bool is_controlled(const struct ir_func *func, const struct ir_loop *loop, const bool *waiting, uint32_t block, bool joins)
{
	uint32_t at = func->blocks.data[block].order;
	for (uint32_t i = loop->first; i < at && func->options.in_step; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		uint32_t meets = b->ipdom == IR_NONE ? loop->last + 1 : func->blocks.data[b->ipdom].order;
		bool inside = meets <= i || meets > loop->last || at < meets + joins;
		if (b->condition != IR_NONE && waiting[b->condition] && inside)
			return true;
	}
	return false;
}

/* Marks the loop's values that follow from waiting reads; false where there is no such read. */
static bool mark_waiting(const struct ir_func *func, const struct ir_loop *loop, bool *waiting)
{
	bool any = false;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = loop->first; i <= loop->last; i++) {
			const struct ir_block *b = &func->blocks.data[func->order[i]];
			bool controlled = any && b->phis.count && is_controlled(func, loop, waiting, func->order[i], true);
			for (size_t p = 0; p < b->phis.count; p++)
				for (size_t a = 0; a < b->preds.count; a++) {
					uint32_t argument = b->phis.data[p].arguments[a];
					if ((controlled || (argument != IR_NONE && waiting[argument])) && !waiting[b->phis.data[p].value])
						waiting[b->phis.data[p].value] = changed = true;
				}
			for (size_t j = 0; j < b->insts.count; j++) {
				const struct ir_inst *inst = &b->insts.data[j];
				bool read = is_waiting_read(func, loop, inst), from = read;
				any |= read;
				for (unsigned u = 0; !from && u < inst->use_count; u++)
					from = inst->uses[u].value != IR_NONE && waiting[inst->uses[u].value];
				for (unsigned d = 0; from && d < inst->def_count; d++)
					if (!waiting[inst->defs[d].value])
						waiting[inst->defs[d].value] = changed = true;
			}
		}
		if (!any)
			return false;
	}
	return true;
}

/* Is there an exit that depends on what is waited for? `divergent`: lanes may take it at different times. */
static bool exits_wait(const struct ir_func *func, const struct ir_loop *loop, const bool *waiting, bool *divergent)
{
	bool waits = false;
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (uint32_t s = 0; s < b->succ_count; s++) {
			uint32_t to = func->blocks.data[b->succs[s]].order;
			if (to >= loop->first && to <= loop->last)
				continue;
			if ((b->condition == IR_NONE || !waiting[b->condition]) && !is_controlled(func, loop, waiting, func->order[i], false))
				continue;
			waits = true;
			*divergent |= b->divergent;
		}
	}
	return waits;
}

static const struct ir_inst *defining_inst(const struct ir_func *func, uint32_t value)
{
	const struct ir_value *v = &func->values.data[value];
	return v->block == IR_NONE || v->inst == IR_NONE ? NULL : &func->blocks.data[v->block].insts.data[v->inst];
}

/* Is the branch taken by one lane of a group at most? `if (threadIdx.x == 0)`: a value that differs in all lanes against one that is
 * the same in all. */
static bool one_lane_passes(const struct ir_func *func, const struct ir_block *b, uint32_t successor)
{
	const uint32_t *block = func->options.block;
	if (b->end != IR_END_BRANCH || !b->divergent || !block[0] || (block[1] * block[2] != 1 && block[0] % func->lanes))
		return false;
	const struct ir_inst *inst = defining_inst(func, b->condition);
	if (!inst || inst->op != IR_PTX || inst->ptx->form->row->opcode_id != OP_setp || inst->def_count != 1 || inst->ptx->guard)
		return false;
	bool when_equal = (successor == 0) != b->negated;
	if (!ptx_has(inst->ptx->form, when_equal ? MOD_eq : MOD_ne))
		return false;
	unsigned different = 0, same = 0;
	for (unsigned i = 1; i < inst->ptx->operand_count; i++) {
		const struct ptx_operand *op = &inst->ptx->operands[i];
		uint32_t value = IR_NONE;
		for (unsigned u = 0; u < inst->use_count; u++)
			if (inst->uses[u].operand == op)
				value = inst->uses[u].value;
		struct ir_shape shape = value == IR_NONE ? (struct ir_shape){ .kind = IR_UNIFORM } : func->values.data[value].shape;
		/* of two warps' lanes as well, where it is a number of the whole block's */
		bool own = !func->options.two_warps || shape.high - shape.low >= (int64_t)block[0] * block[1] * block[2] - 1;
		different += shape.kind == IR_AFFINE && shape.exact && (shape.stride == 1 || shape.stride == -1) && own;
		same += shape.kind == IR_UNIFORM;
	}
	return different == 1 && same == 1;
}

/* From `block` on, do the lanes meet before any of them writes memory? Then none of them can be what the one lane waits for. */
static bool meets_first(const struct ir_func *func, uint32_t block)
{
	for (int blocks = 0; block != IR_NONE && blocks < 8; blocks++) {
		const struct ir_block *b = &func->blocks.data[block];
		if (block == 1) /* the end */
			return true;
		for (size_t i = 0; i < b->insts.count; i++) {
			uint32_t flags = b->insts.data[i].op == IR_PTX ? b->insts.data[i].ptx->form->row->flags : 0;
			if (flags & (ISA_BARRIER | ISA_CONVERGENT))
				return true;
			if (flags & (ISA_WRITES | ISA_ATOMIC | ISA_CALL))
				return false;
		}
		block = b->succ_count == 1 ? b->succs[0] : IR_NONE;
	}
	return false;
}

/* A loop that one lane of a group enters alone, while the others go straight to where all meet (a grid's barrier by thread 0). */
static bool entered_alone(const struct ir_func *func, const struct ir_loop *loop)
{
	for (uint32_t block = loop->header, above; (above = func->blocks.data[block].idom) != IR_NONE; block = above) {
		const struct ir_block *b = &func->blocks.data[above];
		for (uint32_t s = 0; s < b->succ_count; s++)
			if (b->succs[s] == block && func->blocks.data[block].preds.count == 1 && one_lane_passes(func, b, s) &&
			    b->succs[1 - s] == b->ipdom && meets_first(func, b->ipdom))
				return true;
	}
	return false;
}

/* ---- barriers that lanes come to on ways of their own -------------------------------------------------------------------- */

/* barrier.sync and .red without .aligned (9.7.13.1): each thread comes to one by itself, perhaps to one elsewhere in the code. */
static bool is_own_barrier(const struct ir_inst *inst)
{
	if (inst->op != IR_PTX)
		return false;
	const struct ptx_form *form = inst->ptx->form;
	return form->row->opcode_id == OP_barrier && !ptx_has(form, MOD_aligned) && !ptx_has(form, MOD_arrive) && !ptx_has(form, MOD_cluster);
}

static unsigned count_barriers(const struct ir_block *b)
{
	unsigned count = 0;
	for (size_t i = 0; i < b->insts.count; i++)
		count += b->insts.data[i].op == IR_PTX && b->insts.data[i].ptx->form->row->flags & ISA_BARRIER;
	return count;
}

/* Marks the blocks from which a marked one can be reached; ways through `barred` do not count. */
static void mark_above(const struct ir_func *func, bool *marked, uint32_t barred)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = func->order_count; i-- > 0;) {
			uint32_t block = func->order[i];
			const struct ir_block *b = &func->blocks.data[block];
			for (uint32_t s = 0; s < b->succ_count && !marked[block] && block != barred; s++)
				if (marked[b->succs[s]])
					marked[block] = changed = true;
		}
	}
}

/* Can lanes that part at `branch` come to `block` before they are all together again, going on at `next` first? `marked`: room. */
static bool comes_there_parted(const struct ir_func *func, uint32_t branch, uint32_t next, uint32_t block, bool *marked)
{
	uint32_t together = func->blocks.data[branch].ipdom;
	if (next == together || block == together)
		return false;
	memset(marked, 0, func->blocks.count);
	marked[block] = true;
	mark_above(func, marked, together);
	return marked[next];
}

/* May lanes part above `block`, whose barrier some wait at, while others go to another barrier and never come here? As one
 * group the first would wait for the others, which wait for them. */
static bool lanes_meet_elsewhere(const struct ir_func *func, uint32_t block, bool *marked)
{
	size_t count = func->blocks.count;
	bool *above = marked, *around = marked + count, *elsewhere = marked + 2 * count;
	memset(marked, 0, 3 * count);
	above[block] = around[1] = true; /* block 1 is the exit */
	for (uint32_t i = 0; i < func->order_count; i++)
		elsewhere[func->order[i]] = func->order[i] != block && count_barriers(&func->blocks.data[func->order[i]]);
	mark_above(func, above, IR_NONE);
	mark_above(func, around, block);
	mark_above(func, elsewhere, block);
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		if (!b->divergent || func->order[i] == block)
			continue;
		for (uint32_t s = 0; s < b->succ_count; s++)
			for (uint32_t t = 0; t < b->succ_count; t++)
				if (b->succs[s] != b->succs[t] && above[b->succs[s]] && around[b->succs[t]] && elsewhere[b->succs[t]] &&
				    comes_there_parted(func, func->order[i], b->succs[s], block, marked + 3 * count))
					return true;
	}
	return false;
}

static bool guard_varies(const struct ir_func *func, const struct ir_inst *inst)
{
	for (unsigned i = 0; i < inst->use_count; i++)
		if (!inst->uses[i].operand && inst->uses[i].value != IR_NONE && func->values.data[inst->uses[i].value].shape.kind != IR_UNIFORM)
			return true;
	return false;
}

static bool lanes_meet_apart(const struct ir_func *func)
{
	unsigned barriers = 0;
	bool apart = false;
	for (uint32_t i = 0; i < func->order_count; i++)
		barriers += count_barriers(&func->blocks.data[func->order[i]]);
	if (barriers < 2)
		return false;
	bool *marked = calloc(func->blocks.count + 1, 4);
	for (uint32_t i = 0; i < func->order_count && !apart; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		bool own = false;
		for (size_t j = 0; j < b->insts.count && !apart; j++)
			if (is_own_barrier(&b->insts.data[j])) {
				apart = guard_varies(func, &b->insts.data[j]);
				own = true;
			}
		apart |= own && lanes_meet_elsewhere(func, func->order[i], marked);
	}
	free(marked);
	return apart;
}

/* Does the loop take a lock? */
static bool takes_lock(const struct ir_func *func, const struct ir_loop *loop)
{
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++)
			if (is_waiting_read(func, loop, &b->insts.data[j]) && b->insts.data[j].ptx->form->row->flags & ISA_ATOMIC)
				return true;
	}
	return false;
}

/* Does it write, so that others see it at once, what they may wait for? */
static bool is_signal(const struct ir_inst *inst)
{
	if (inst->op != IR_PTX || !(inst->ptx->form->row->flags & ISA_WRITES))
		return false;
	const struct ptx_form *form = inst->ptx->form;
	if (form->row->opcode_id == OP_mbarrier && (ptx_has(form, MOD_init) || ptx_has(form, MOD_inval)))
		return false;
	return form->row->flags & ISA_ATOMIC || ptx_has(form, MOD_volatile) || ptx_has(form, MOD_relaxed) || ptx_has(form, MOD_release) ||
	       ptx_has(form, MOD_mmio);
}

static bool is_of_space(const struct ir_inst *inst, enum ptx_space space)
{
	return inst->ptx->form->space == space || inst->ptx->form->space == PTX_SPACE_GENERIC || space == PTX_SPACE_GENERIC;
}

/* Of those that no mbarrier is changed by. */
static bool is_plain_atomic(const struct ir_inst *inst)
{
	unsigned opcode = inst->ptx->form->row->opcode_id;
	return (opcode == OP_atom || opcode == OP_red || opcode == OP_st) && !ptx_has(inst->ptx->form, MOD_async);
}

/* A signal for what the loop waits with? */
static bool is_signal_for(const struct ir_func *func, const struct ir_loop *loop, const struct ir_inst *inst)
{
	if (!is_signal(inst) || is_waiting_read(func, loop, inst))
		return false;
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ir_inst *wait = &b->insts.data[j];
			bool waits = is_waiting_read(func, loop, wait) || (ir_waits_at_mbarrier(wait) && !is_plain_atomic(inst));
			if (waits && is_of_space(inst, wait->ptx->form->space))
				return true;
		}
	}
	return false;
}

static const struct ptx_operand *address_of(const struct ir_inst *inst)
{
	for (unsigned i = 0; i < inst->ptx->operand_count; i++)
		if (inst->ptx->operands[i].kind == PTX_OP_ADDRESS)
			return &inst->ptx->operands[i];
	return NULL;
}

static bool is_same_operand(const struct ptx_operand *a, const struct ptx_operand *b)
{
	if (a->kind != b->kind || a->part_count != b->part_count || a->offset != b->offset || a->component != b->component || a->negated != b->negated ||
	    (a->kind == PTX_OP_SREG && a->sreg != b->sreg) || (a->kind == PTX_OP_IMMEDIATE && a->bits != b->bits) ||
	    (a->kind == PTX_OP_SYMBOL && a->symbol != b->symbol))
		return false;
	for (unsigned i = 0; i < a->part_count; i++)
		if (!is_same_operand(&a->parts[i], &b->parts[i]))
			return false;
	return true;
}

/* Are they the same number for a thread: one value, or made the same way? */
static bool is_same_value(const struct ir_func *func, uint32_t a, uint32_t b, unsigned depth)
{
	if (a == b)
		return true;
	const struct ir_inst *first = a == IR_NONE || !depth ? NULL : defining_inst(func, a), *second = b == IR_NONE ? NULL : defining_inst(func, b);
	if (!first || !second || first->op != IR_PTX || second->op != IR_PTX || first->ptx->form != second->ptx->form || first->ptx->guard ||
	    second->ptx->guard || first->instance != second->instance || first->use_count != second->use_count ||
	    !(first->ptx->form->row->flags & ISA_PURE || first->ptx->form->space == PTX_SPACE_PARAM) || first->def_count != 1 || second->def_count != 1)
		return false;
	for (unsigned i = 1; i < first->ptx->operand_count; i++)
		if (!is_same_operand(&first->ptx->operands[i], &second->ptx->operands[i]))
			return false;
	for (unsigned u = 0; u < first->use_count; u++)
		if (!is_same_value(func, first->uses[u].value, second->uses[u].value, depth - 1))
			return false;
	return true;
}

/* Do both write the very same place, as their addresses are made? */
static bool is_same_place(const struct ir_func *func, const struct ir_inst *a, const struct ir_inst *b)
{
	enum { DEPTH = 8 };
	const struct ptx_operand *to = address_of(a), *other = address_of(b);
	if (!to || !other || to->offset != other->offset || to->parts[0].kind != other->parts[0].kind)
		return false;
	if (to->parts[0].kind == PTX_OP_SYMBOL)
		return to->parts[0].symbol == other->parts[0].symbol && to->parts[0].offset == other->parts[0].offset;
	for (unsigned u = 0; u < a->use_count; u++)
		for (unsigned v = 0; v < b->use_count; v++)
			if (a->uses[u].operand == &to->parts[0] && b->uses[v].operand == &other->parts[0])
				return is_same_value(func, a->uses[u].value, b->uses[v].value, DEPTH);
	return false;
}

/* Has the thread that writes `inst` written something there in front of the loop? Then whoever waited for that had it already: look-back scans
 * tell of a part first and of the whole later. */
static bool has_told_before(const struct ir_func *func, const struct ir_loop *loop, const struct ir_inst *inst)
{
	for (uint32_t i = 0; i < loop->first; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++)
			if (&b->insts.data[j] != inst && is_signal(&b->insts.data[j]) && is_same_place(func, &b->insts.data[j], inst))
				return true;
	}
	return false;
}

/* Is the block in a loop around this one, and so behind it as well? */
static bool is_around(const struct ir_func *func, const struct ir_loop *loop, uint32_t block)
{
	for (uint32_t l = loop->parent; l != IR_NONE; l = func->loops.data[l].parent)
		if (func->blocks.data[block].order >= func->loops.data[l].first && func->blocks.data[block].order <= func->loops.data[l].last)
			return true;
	return false;
}

/* Are there signals for the loop that are given in it or behind it, or by the wave's other warp somewhere else? A release within the loop is no
 * better than one behind it: LLVM leads the lane that is through with waiting straight out, and what it does on its way there is then
 * done when all are out. */
static bool has_signals(const struct ir_func *func, const struct ir_loop *loop)
{
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		bool late = i >= loop->first || is_around(func, loop, func->order[i]);
		late |= func->options.two_warps && !ir_dominates(func, func->order[i], loop->header);
		for (size_t j = 0; j < b->insts.count && late; j++)
			if (is_signal_for(func, loop, &b->insts.data[j]) && !has_told_before(func, loop, &b->insts.data[j]))
				return true;
	}
	return false;
}

/* May some lanes leave the loop while others stay? */
static bool is_left_apart(const struct ir_func *func, const struct ir_loop *loop)
{
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		uint32_t meet = !b->divergent ? 0 : b->ipdom == IR_NONE ? func->order_count : func->blocks.data[b->ipdom].order;
		meet = meet > loop->last || (b->divergent && meet <= i) ? loop->last + 1 : meet;
		for (uint32_t k = i; k < meet; k++) { /* blocks that not all lanes come to, and the branch itself */
			const struct ir_block *out = &func->blocks.data[func->order[k]];
			for (uint32_t s = 0; s < out->succ_count; s++)
				if (func->blocks.data[out->succs[s]].order < loop->first || func->blocks.data[out->succs[s]].order > loop->last)
					return true;
		}
	}
	return false;
}

/* Do some lanes come to the loop while others go another way, by a branch above it, on which there is a signal? With `behind`: or one behind
 * the place where the ways meet again, if they do not wait for each other first? */
static bool waits_across_branch(const struct ir_func *func, const struct ir_loop *loop, bool behind)
{
	for (uint32_t above = func->blocks.data[loop->header].idom; above != IR_NONE; above = func->blocks.data[above].idom) {
		const struct ir_block *b = &func->blocks.data[above];
		uint32_t meet = b->ipdom == IR_NONE ? func->order_count : func->blocks.data[b->ipdom].order;
		if (!b->divergent || meet <= loop->last)
			continue;
		for (uint32_t i = b->order + 1; i < meet; i++) {
			const struct ir_block *other = &func->blocks.data[func->order[i]];
			for (size_t j = 0; j < other->insts.count && !ir_dominates(func, loop->header, func->order[i]); j++)
				if (is_signal_for(func, loop, &other->insts.data[j]))
					return true;
		}
		if (behind && !meets_first(func, b->ipdom) && has_signals(func, loop))
			return true;
	}
	return false;
}

bool ir_waits_at_mbarrier(const struct ir_inst *inst)
{
	return inst->op == IR_PTX && inst->ptx->form->row->opcode_id == OP_mbarrier &&
	       (ptx_has(inst->ptx->form, MOD_test_wait) || ptx_has(inst->ptx->form, MOD_try_wait));
}

/* Lanes that wait at an mbarrier nearly always do so together, for other warps or for copies: but for one that others of the warp come to on
 * another way. */
static bool waits_apart_at_mbarrier(const struct ir_func *func, const struct ir_loop *loop)
{
	bool waits = false;
	for (uint32_t i = loop->first; i <= loop->last && !waits; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count && !waits; j++)
			waits = ir_waits_at_mbarrier(&b->insts.data[j]);
	}
	if (waits && func->options.two_warps)
		return has_signals(func, loop);
	return waits && waits_across_branch(func, loop, false) && !entered_alone(func, loop);
}

const char *ir_find_apart(const struct ir_func *func, bool *within)
{
	const char *why = lanes_meet_apart(func) ? "barriers that lanes of a warp come to on ways of their own" : NULL;
	bool *waiting = calloc(func->values.count + 1, 1), two_warps = func->options.two_warps;
	*within = !why && !two_warps && !(func->flags_used & ISA_BARRIER);
	for (size_t l = 0; l < func->loops.count && (!why || *within); l++) {
		const struct ir_loop *loop = &func->loops.data[l];
		memset(waiting, 0, func->values.count);
		bool divergent = false;
		bool waits = mark_waiting(func, loop, waiting) && exits_wait(func, loop, waiting, &divergent);
		bool lock = waits && takes_lock(func, loop), parted = waits && !entered_alone(func, loop);
		bool apart = two_warps || is_left_apart(func, loop);
		if (parted && ((apart && (lock || has_signals(func, loop))) || waits_across_branch(func, loop, true))) {
			why = "lanes of a warp that wait for what another of them may do";
			*within = *within && (has_signals(func, loop) || waits_across_branch(func, loop, true));
		}
		if (!why && waits_apart_at_mbarrier(func, loop))
			why = "lanes of a warp that wait at an mbarrier for others of them";
	}
	free(waiting);
	return why;
}

bool ir_has_numbered_barriers(const struct ir_func *func)
{
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ptx_instruction *in = b->insts.data[j].op == IR_PTX ? b->insts.data[j].ptx : NULL;
			if (in && in->form->row->flags & ISA_BARRIER && !ptx_has(in->form, MOD_cluster) &&
			    (in->operand_count != 1 || in->operands[0].kind != PTX_OP_IMMEDIATE || in->operands[0].bits))
				return true;
		}
	}
	return false;
}

bool ir_find_waiting(struct ir_func *func)
{
	bool apart = false;
	bool *waiting = calloc(func->values.count + 1, 1);
	for (size_t l = 0; l < func->loops.count && !func->resumes; l++) { /* else whoever waits is already out of its loop */
		struct ir_loop *loop = &func->loops.data[l];
		memset(waiting, 0, func->values.count);
		bool divergent = false;
		loop->waits = mark_waiting(func, loop, waiting) && exits_wait(func, loop, waiting, &divergent);
		apart |= loop->waits && (divergent || loop->divergent || waits_across_branch(func, loop, false)) && !entered_alone(func, loop);
		apart |= waits_apart_at_mbarrier(func, loop);
	}
	free(waiting);
	return apart || lanes_meet_apart(func);
}
