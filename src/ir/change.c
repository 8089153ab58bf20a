/* See change.h. */
#include "ir/change.h"

#include "ir/flatten.h"

uint32_t ir_new_variable(struct ir_func *func, enum ptx_type type)
{
	vec_push(&func->flatten->types, type);
	return (uint32_t)func->flatten->types.count - 1;
}

uint32_t ir_new_block(struct ir_func *func, uint32_t like)
{
	vec_push(&func->blocks, ((struct ir_block){ .end = IR_END_JUMP, .loop = IR_NONE, .condition_variable = IR_NONE, .condition = IR_NONE,
						    .location = func->blocks.data[like].location }));
	return (uint32_t)func->blocks.count - 1;
}

void ir_end_block(struct ir_func *func, uint32_t block, uint32_t condition, uint32_t yes, uint32_t no)
{
	struct ir_block *b = &func->blocks.data[block];
	b->end = condition == IR_NONE ? IR_END_JUMP : IR_END_BRANCH;
	b->condition_variable = condition;
	b->negated = false;
	b->succ_count = condition == IR_NONE ? 1 : 2;
	b->succs = arena_array(func->arena, uint32_t, 2);
	b->succs[0] = yes;
	b->succs[1] = no;
}
