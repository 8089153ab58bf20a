/* For emitters of group instructions (emit.h), which see all lanes of the group at once. */
#ifndef DRAGOMAN_GROUP_H
#define DRAGOMAN_GROUP_H

#include "codegen/emit.h"

/* The state of the emitter while one chunk of the group is worked on. */
struct group_place {
	enum piece piece;
	unsigned chunk, w;
	LLVMValueRef mask;
};
struct group_place group_enter(struct emitter *e, unsigned chunk); /* e->mask: the chunk's lanes; e->w: width */
void group_leave(struct emitter *e, struct group_place place);

/* A scalar that all lanes which take part agree on: the operand, or, where analysis could not tell, the first lane's. */
LLVMValueRef group_scalar(struct emitter *e, const struct ptx_operand *op, enum ptx_type type);
/* Predicates of the lanes as one word. */
LLVMValueRef group_bits(struct emitter *e, const struct ptx_operand *op);
LLVMValueRef i32_constant(struct emitter *e, uint32_t value); /* scalar, whatever e->w is */
LLVMValueRef lane_words(struct emitter *e); /* ptr: room for 32 × 64 bits, for services->exchange */

#endif
