/* What every thread of a block computes, where it follows from the thread's number: see each.c. */
#ifndef DRAGOMAN_IR_EACH_H
#define DRAGOMAN_IR_EACH_H

#include "ir/ir.h"

struct each;

/* For a kernel of known block shape; lives in the function's arena. */
struct each *ir_each_new(const struct ir_func *func);
/* A number for each thread, as wide as the value's register and the bits above 0; NULL: not known. */
const uint64_t *ir_each_value(struct each *each, uint32_t value);
/* Where a memory operand in shared memory points, counted from where the block's begins; NULL: not known. */
const uint64_t *ir_each_shared_address(struct each *each, const struct ir_inst *inst, const struct ptx_operand *op);

#endif
