/* The loops around a kernel that goes through several blocks row by row (ir/rows.c): over rows, over blocks in x, over the groups of a row.
 *
 * The runtime says in cpu_block.more_x how many blocks in x follow the one at hand. The index of the one that runs is left where the runtime
 * looks for it when something goes wrong; the kernel itself reads it from `block_x`. */
#include <stddef.h>

#include "backend/cpu/abi.h"
#include "codegen/state.h"

static LLVMValueRef i32(struct emitter *e, uint32_t value)
{
	return LLVMConstInt(int_type(e, 32), value, 0);
}

struct counter {
	LLVMValueRef value;
	LLVMBasicBlockRef body, next; /* `next` is to be branched to where a round ends */
};

/* A loop of value = first; value < end; value += step, which runs once at least: the builder is left in its body. */
static struct counter count(struct emitter *e, const char *name, LLVMBasicBlockRef after, LLVMValueRef first, uint32_t step, LLVMValueRef end)
{
	LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
	struct counter c = { NULL, new_block(e, name), new_block(e, "next") };
	LLVMBuildBr(e->b, c.body);
	LLVMPositionBuilderAtEnd(e->b, c.body);
	c.value = LLVMBuildPhi(e->b, int_type(e, 32), name);
	LLVMPositionBuilderAtEnd(e->b, c.next);
	LLVMValueRef next = LLVMBuildAdd(e->b, c.value, i32(e, step), "");
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, end, ""), c.body, after);
	LLVMValueRef values[2] = { first, next };
	LLVMBasicBlockRef ways[2] = { from, c.next };
	LLVMAddIncoming(c.value, values, ways, 2);
	LLVMPositionBuilderAtEnd(e->b, c.body);
	return c;
}

void begin_rows(struct emitter *e)
{
	struct emitter_state *s = e->state;
	const uint32_t *shape = e->ir->options.block;
	LLVMPositionBuilderAtEnd(e->b, s->prologue);
	LLVMValueRef first_x = block_field(e, int_type(e, 32), offsetof(struct cpu_block, index));
	LLVMValueRef more = block_field(e, int_type(e, 32), offsetof(struct cpu_block, more_x));
	LLVMValueRef end_x = LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, first_x, more, ""), i32(e, 1), "");
	struct counter row = count(e, "row", s->done, i32(e, 0), e->ir->rows, i32(e, shape[0] * shape[1] * shape[2]));
	struct counter block = count(e, "block_x", row.next, first_x, 1, end_x), group = block;
	s->block_x = block.value;
	LLVMValueRef at = LLVMConstInt(int_type(e, 64), offsetof(struct cpu_block, index), 0);
	LLVMBuildStore(e->b, block.value, LLVMBuildGEP2(e->b, int_type(e, 8), e->block, &at, 1, "")); /* volatile, it would keep loads in the loop */
	e->first_thread = row.value;
	if (e->ir->rows > e->lanes) {
		group = count(e, "group", block.next, i32(e, 0), e->lanes, i32(e, e->ir->rows));
		e->first_thread = LLVMBuildAdd(e->b, row.value, group.value, "first_thread");
	}
	s->group_head = group.body;
	s->group_next = group.next;
	s->unit->kernel_flags |= KERNEL_ROWS;
}
