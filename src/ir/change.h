/* What changes to a kernel's blocks are made with. They are written in variables: ir_undo_ssa() and the rest of build.c follow. */
#ifndef DRAGOMAN_IR_CHANGE_H
#define DRAGOMAN_IR_CHANGE_H

#include "ir/ir.h"

uint32_t ir_new_variable(struct ir_func *func, enum ptx_type type);
/* An empty block, which has no end yet, said to be where `like` is. */
uint32_t ir_new_block(struct ir_func *func, uint32_t like);
/* To `yes` where the condition, a variable, holds, else to `no`; IR_NONE: always to `yes`. */
void ir_end_block(struct ir_func *func, uint32_t block, uint32_t condition, uint32_t yes, uint32_t no);

#endif
