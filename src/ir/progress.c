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
		different += shape.kind == IR_AFFINE && shape.exact && (shape.stride == 1 || shape.stride == -1);
		same += shape.kind == IR_UNIFORM;
	}
	return different == 1 && same == 1;
}

/* From `block` on, do the lanes meet before any of them writes memory? Then none of them can be what the one lane waits for. */
static bool meets_first(const struct ir_func *func, uint32_t block)
{
	for (int blocks = 0; block != IR_NONE && blocks < 8; blocks++) {
		const struct ir_block *b = &func->blocks.data[block];
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

/* Does it write what others may wait for: so that they see it at once, or behind a fence? */
static bool is_signal(const struct ir_inst *inst, bool fences)
{
	if (inst->op != IR_PTX || !(inst->ptx->form->row->flags & ISA_WRITES) || inst->ptx->form->space == PTX_SPACE_LOCAL ||
	    inst->ptx->form->space == PTX_SPACE_PARAM)
		return false;
	const struct ptx_form *form = inst->ptx->form;
	return fences || form->row->flags & ISA_ATOMIC || ptx_has(form, MOD_volatile) || ptx_has(form, MOD_relaxed) || ptx_has(form, MOD_release) ||
	       ptx_has(form, MOD_mmio);
}

static bool is_fence(const struct ir_inst *inst)
{
	return inst->op == IR_PTX && (inst->ptx->form->row->opcode_id == OP_membar || inst->ptx->form->row->opcode_id == OP_fence);
}

/* Does any thread write what a lane in the loop may wait for? A release within the loop is no better than one behind it: LLVM leads the lane
 * that is through with waiting straight out, and what it does on its way there is then done when all are out. */
static bool has_signals(const struct ir_func *func, const struct ir_loop *loop)
{
	bool fences = false, signals = false;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count && !fences; j++)
			fences = is_fence(&b->insts.data[j]);
	}
	for (uint32_t i = 0; i < func->order_count && !signals; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count && !signals; j++)
			signals = is_signal(&b->insts.data[j], fences) && !is_waiting_read(func, loop, &b->insts.data[j]);
	}
	return signals;
}

/* Do some lanes come to the loop while others go another way, by a branch above it? */
static bool entered_parted(const struct ir_func *func, const struct ir_loop *loop)
{
	for (uint32_t above = func->blocks.data[loop->header].idom; above != IR_NONE; above = func->blocks.data[above].idom) {
		const struct ir_block *b = &func->blocks.data[above];
		if (b->divergent && (b->ipdom == IR_NONE || func->blocks.data[b->ipdom].order > loop->last))
			return true;
	}
	return false;
}

/* The same, with a signal on the other way: it may be what they wait for. */
static bool waits_across_branch(const struct ir_func *func, const struct ir_loop *loop)
{
	for (uint32_t above = func->blocks.data[loop->header].idom; above != IR_NONE; above = func->blocks.data[above].idom) {
		const struct ir_block *b = &func->blocks.data[above];
		uint32_t meet = b->ipdom == IR_NONE ? func->order_count : func->blocks.data[b->ipdom].order;
		for (uint32_t i = b->order + 1; i < meet && b->divergent && meet > loop->last; i++) {
			const struct ir_block *other = &func->blocks.data[func->order[i]];
			for (size_t j = 0; j < other->insts.count && !ir_dominates(func, loop->header, func->order[i]); j++)
				if (is_signal(&other->insts.data[j], false))
					return true;
		}
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
	return waits && (func->options.two_warps || (waits_across_branch(func, loop) && !entered_alone(func, loop)));
}

const char *ir_find_apart(const struct ir_func *func)
{
	const char *why = lanes_meet_apart(func) ? "barriers that lanes of a warp come to on ways of their own" : NULL;
	bool *waiting = calloc(func->values.count + 1, 1), two_warps = func->options.two_warps;
	for (size_t l = 0; l < func->loops.count && !why; l++) {
		const struct ir_loop *loop = &func->loops.data[l];
		memset(waiting, 0, func->values.count);
		bool divergent = false;
		bool waits = mark_waiting(func, loop, waiting) && exits_wait(func, loop, waiting, &divergent);
		bool parted = (divergent || loop->divergent || entered_parted(func, loop)) && !entered_alone(func, loop);
		if (waits && (two_warps || parted) && (takes_lock(func, loop) || has_signals(func, loop)))
			why = "lanes of a warp that wait for what another of them may do";
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
		apart |= loop->waits && (divergent || loop->divergent || waits_across_branch(func, loop)) && !entered_alone(func, loop);
		apart |= waits_apart_at_mbarrier(func, loop);
	}
	free(waiting);
	return apart || lanes_meet_apart(func);
}
