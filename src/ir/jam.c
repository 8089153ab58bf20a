/* Several warps as one group, for loops that do little: a sum of products, one chain of additions that each wait for the one before.
 *
 * A product of matrices as it is written first has, for each round, a load that the threads of a row share, one that the threads of a column
 * share, and an addition that takes four cycles. With eight vectors under way the additions fill each other's waits; and rows that are
 * side by side load the column's elements once, columns the row's: LLVM sees that the addresses are the same. (Unroll and jam, over
 * threads: Carr and Kennedy, "Improving the Ratio of Memory Operations to Floating-Point Operations in Loops", 1994.)
 *
 * A group of more than a warp is only for kernels in which nobody can tell: nothing of warps in them (shuffles, votes, %laneid), no atomics
 * or calls, and no branch that lanes take different ways; barriers cut the kernel into regions. */
#include "ir/flatten.h"

#include "isa_mods.h"

enum {
	JAM_CHUNKS = 8,     /* of a group; two registers each, an accumulator and a product or load, fill sixteen */
	MOST_CHAINS = 1,    /* values that a loop carries, other than indices */
};

static bool asks_for_warps(const struct ptx_operand *op)
{
	static const uint16_t whole[] = { SREG_tid, SREG_ntid, SREG_ctaid, SREG_nctaid };
	if (op->kind == PTX_OP_TEXTURE)
		return true;
	for (size_t i = 0; op->kind == PTX_OP_SREG && i < ARRAY_LENGTH(whole); i++)
		if (op->sreg == whole[i])
			return false;
	if (op->kind == PTX_OP_SREG)
		return true;
	for (unsigned i = 0; i < op->part_count; i++)
		if (asks_for_warps(&op->parts[i]))
			return true;
	return false;
}

/* Does it do the same whichever threads are one warp? */
static bool knows_no_warps(const struct ir_inst *inst)
{
	if (inst->op == IR_COPY)
		return !asks_for_warps(inst->source);
	if (inst->op != IR_PTX || inst->ptx->form->row->flags & (ISA_CONVERGENT | ISA_CALL | ISA_EFFECT | ISA_UNIFORM))
		return false;
	for (unsigned i = 0; i < inst->ptx->operand_count; i++)
		if (asks_for_warps(&inst->ptx->operands[i]))
			return false;
	return true;
}

/* May it run for lanes of several warps at once? */
bool ir_is_of_threads(const struct ir_inst *inst)
{
	if (!knows_no_warps(inst))
		return false;
	if (inst->op == IR_COPY)
		return true;
	const struct isa_row *row = inst->ptx->form->row;
	if (row->flags & (ISA_ATOMIC | ISA_VARYING | ISA_TRAPS))
		return false;
	if (row->flags & (ISA_READS | ISA_WRITES) && row->opcode_id != OP_ld && row->opcode_id != OP_st)
		return false;
	return !(row->flags & ISA_BARRIER) || (!inst->def_count && inst->ptx->operand_count < 2);
}

/* An access whose address is the same in a chunk, or goes up along it by what each lane reads or writes. */
static bool is_whole_access(const struct ir_func *func, const struct ir_inst *inst)
{
	unsigned bytes = ptx_type_bits(inst->ptx->form->types[0]) / 8;
	for (unsigned i = 0; i < inst->ptx->operand_count; i++) {
		const struct ptx_operand *op = &inst->ptx->operands[i];
		for (unsigned u = 0; op->kind == PTX_OP_ADDRESS && u < inst->use_count; u++) {
			const struct ir_shape s = func->values.data[inst->uses[u].value == IR_NONE ? 0 : inst->uses[u].value].shape;
			if (inst->uses[u].operand == &op->parts[0] && inst->uses[u].value != IR_NONE &&
			    (s.kind == IR_VARYING || (s.kind == IR_AFFINE && s.stride && s.stride != (int64_t)bytes)))
				return false;
		}
	}
	return true;
}

static bool is_innermost(const struct ir_func *func, uint32_t loop)
{
	for (uint32_t l = 0; l < func->loops.count; l++)
		if (func->loops.data[l].parent == loop)
			return false;
	return !func->loops.data[loop].irreducible;
}

/* One chain of sums, of products of what is loaded in whole vectors or broadcast. */
static bool is_sum_of_products(const struct ir_func *func, uint32_t index)
{
	const struct ir_loop *loop = &func->loops.data[index];
	const struct ir_block *header = &func->blocks.data[loop->header];
	unsigned chains = 0, loads = 0, products = 0;
	for (size_t p = 0; p < header->phis.count; p++)
		chains += func->values.data[header->phis.data[p].value].shape.kind == IR_VARYING;
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ir_inst *inst = &b->insts.data[j];
			if (inst->op != IR_PTX)
				continue;
			const struct ptx_form *form = inst->ptx->form;
			if (form->row->flags & (ISA_READS | ISA_WRITES) && !is_whole_access(func, inst))
				return false;
			loads += form->row->opcode_id == OP_ld;
			products += form->row->opcode_id == OP_fma && form->types[0] == PTX_F32;
		}
	}
	return is_innermost(func, index) && chains == MOST_CHAINS && products && loads && 3 * products >= loads;
}

unsigned ir_jam_lanes(const struct ir_func *func)
{
	const struct compile_options *options = &func->options;
	uint64_t threads = (uint64_t)options->block[0] * options->block[1] * options->block[2];
	unsigned lanes = JAM_CHUNKS * func->width;
	bool sums = false;
	if (options->lanes || options->fibers || func->lanes == 1 || func->calls || lanes <= func->lanes || !threads || threads % lanes)
		return 0;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		if (b->divergent)
			return 0;
		for (size_t j = 0; j < b->insts.count; j++)
			if (!ir_is_of_threads(&b->insts.data[j]))
				return 0;
	}
	for (uint32_t l = 0; l < func->loops.count; l++)
		sums |= is_sum_of_products(func, l);
	return sums ? lanes : 0;
}

bool ir_shows_no_warps(const struct ir_func *func)
{
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ir_inst *inst = &b->insts.data[j];
			uint32_t flags = inst->op == IR_PTX ? inst->ptx->form->row->flags : 0;
			uint16_t opcode = inst->op == IR_PTX ? inst->ptx->form->row->opcode_id : OP_ld;
			bool barrier = flags & ISA_BARRIER;
			/* numbered barriers count warps as they arrive, one to a wave */
			bool numbered = barrier && inst->ptx->operand_count && !(inst->ptx->operands[0].kind == PTX_OP_IMMEDIATE && !inst->ptx->operands[0].bits);
			if (!knows_no_warps(inst) || (numbered && !func->alone) || (barrier && (inst->def_count || inst->ptx->operand_count > 1)) ||
			    (flags & (ISA_READS | ISA_WRITES) && opcode != OP_ld && opcode != OP_st && opcode != OP_atom && opcode != OP_red))
				return false;
		}
	}
	for (size_t l = 0; l < func->loops.count; l++)
		if (func->loops.data[l].waits)
			return false;
	return func->kernel->is_entry && (!(func->flags_used & ISA_BARRIER) || func->region_count || func->alone);
}
