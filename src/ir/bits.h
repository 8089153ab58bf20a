/* Shapes of what takes numbers along the lanes apart into bits: see bits.c. */
#ifndef DRAGOMAN_IR_BITS_H
#define DRAGOMAN_IR_BITS_H

#include "ir/ir.h"

struct lanes {
	unsigned width, all; /* of a chunk, of the group */
};

/* How many low bits of a number that a group begins with are known to be 0. */
unsigned ir_low_zeros(struct ir_shape s);
/* Do the lanes' steps leave the bits alone above those that the first lane has free for them? Then the number wraps in no lane. */
bool ir_lanes_carry_nothing(struct ir_shape s, struct lanes lanes);
/* Each sets the kind, stride and so on of `s`, which has its range already, where it knows better than "varying". */
bool ir_shape_and(struct ir_shape a, struct ir_shape b, struct lanes lanes, struct ir_shape *s);
bool ir_shape_or(struct ir_shape a, struct ir_shape b, struct lanes lanes, struct ir_shape *s); /* and of xor */
/* Exclusive or: the range too. */
void ir_shape_xor(struct ir_shape a, struct ir_shape b, struct lanes lanes, struct ir_shape *s);
bool ir_shape_shr(struct ir_shape a, struct ir_shape by, unsigned bits, bool is_signed, struct lanes lanes, struct ir_shape *s);
bool ir_shape_compare(const struct ptx_form *form, struct ir_shape a, struct ir_shape b, struct lanes lanes, struct ir_shape *s);

#endif
