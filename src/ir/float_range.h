/* Which numbers a float may be (float_range.c). */
#ifndef DRAGOMAN_IR_FLOAT_RANGE_H
#define DRAGOMAN_IR_FLOAT_RANGE_H

#include "ir/ir.h"

/* Unless it is NaN, the float lies in [low, high]; a zero may have either sign. */
struct ir_float_range {
	double low, high;
};

#define IR_LEAST_NORMAL 0x1p-126 /* the least float that .ftz keeps */

/* Of an f32 operand of `inst`; [-inf, inf] where nothing is known. Of rcp and ex2: in lanes where what they make is used. */
struct ir_float_range ir_float_range(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op);

/* Is `inst` a selp that keeps a float in [-limit, limit], |x| > limit ? copysign(limit, x) : x? Then x is its operand 2. */
bool ir_is_limit(const struct ir_func *func, const struct ir_inst *inst, double *limit);

#endif
