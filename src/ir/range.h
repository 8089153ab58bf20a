/* What the ranges of numbers decide: see range.c. */
#ifndef DRAGOMAN_IR_RANGE_H
#define DRAGOMAN_IR_RANGE_H

#include "ir/ir.h"

/* Is the comparison of two integers the same wherever they lie in their ranges? */
bool ir_range_compare(const struct ptx_form *form, struct ir_shape a, struct ir_shape b, bool *result);
/* min or max of integers, where the ranges say which of the two it is; else the range of *s alone is set. */
void ir_shape_min_max(const struct ptx_form *form, bool max, struct ir_shape a, struct ir_shape b, struct ir_shape *s);
/* A loop's counter that goes up by a constant while it is below a bound: the range it stays in. */
bool ir_counter_range(const struct ir_func *func, const struct ir_block *header, const struct ir_phi *phi, int64_t *low, int64_t *high);

#endif
