/* Blocks next to each other in x, row by row.
 *
 * A kernel over a picture or a grid is launched in blocks of, say, 32 x 8 threads. Block after block, its accesses are 128 bytes of a row, then
 * 128 of the next one, which neither the processor's prefetchers nor memory's open pages follow. No order is promised between threads that do
 * not wait for each other, of one block or of several. So one call of the code runs many blocks, and of all of them the first row before the
 * second: memory is read and written from end to end, as a loop over the picture would do it, and what the blocks of a row agree on is
 * computed once. (Loop interchange, over the launch: Allen and Kennedy, "Automatic Loop Interchange", 1984.)
 *
 * Only for kernels in which nobody can tell: no shared memory, which the blocks of a worker have in one place, no barriers, atomics, calls or
 * operations of warps. And only where it helps: straight code, since loops may come back to what the block has in the caches; and lanes that
 * access what lies side by side, since those that go down columns find in the block's next row the lines of this one. */
#include "ir/ir.h"

#include "isa_mods.h"

enum { MOST_BYTES_APART = 16 }; /* from lane to lane: a float4's components one by one */

/* One place for the lanes of a chunk, or places side by side. */
static bool is_in_line(const struct ir_func *func, const struct ir_inst *inst)
{
	for (unsigned u = 0; u < inst->use_count; u++) {
		if (inst->uses[u].value == IR_NONE)
			continue;
		bool address = false;
		for (unsigned i = 0; i < inst->ptx->operand_count; i++) {
			const struct ptx_operand *op = &inst->ptx->operands[i];
			address |= op->kind == PTX_OP_ADDRESS && inst->uses[u].operand == &op->parts[0];
		}
		const struct ir_shape s = func->values.data[inst->uses[u].value].shape;
		if (address && (s.kind == IR_VARYING || (s.kind == IR_AFFINE && (s.stride < 0 || s.stride > MOST_BYTES_APART))))
			return false;
	}
	return true;
}

static bool allows_rows(const struct ir_func *func, const struct ir_inst *inst)
{
	if (!ir_is_of_threads(inst))
		return false;
	if (inst->op == IR_COPY)
		return true;
	const struct isa_row *row = inst->ptx->form->row;
	enum ptx_space space = inst->ptx->form->space;
	if (row->flags & ISA_BARRIER || space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER) /* cvta.shared, too */
		return false;
	return !(row->flags & (ISA_READS | ISA_WRITES)) || is_in_line(func, inst);
}

/* Threads of a row: the block's, or the group's where that spans several of them. */
static uint32_t row_threads(const struct ir_func *func)
{
	const uint32_t *block = func->options.block;
	uint32_t threads = block[0] * block[1] * block[2], row = block[0] > func->lanes ? block[0] : func->lanes;
	bool whole = threads && row % func->lanes == 0 && row % block[0] == 0 && threads % row == 0;
	return whole && threads > row ? row : 0;
}

uint32_t ir_find_rows(const struct ir_func *func)
{
	if (!func->kernel->is_entry || func->lanes == 1 || func->calls || func->loops.count || func->region_count || func->lane_loops ||
	    func->options.fibers)
		return 0;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++)
			if (!allows_rows(func, &b->insts.data[j]))
				return 0;
	}
	return row_threads(func);
}
