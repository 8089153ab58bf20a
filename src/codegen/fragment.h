/* Fragments of matrices: vectors of registers whose lanes hold parts of one matrix (PTX ISA 9.7.14). */
#ifndef DRAGOMAN_FRAGMENT_H
#define DRAGOMAN_FRAGMENT_H

#include "codegen/emit.h"

/* The .m16n8k16 of a spelling; false where it has none. */
bool fragment_shape(const struct ptx_instruction *in, unsigned *m, unsigned *n, unsigned *k);
unsigned fragment_parts(const struct ptx_operand *op);
const struct ptx_operand *fragment_part(const struct ptx_operand *op, unsigned index);

/* The first `count` registers (of 32 or 64 bits) of all 32 lanes as words in memory, register after register; and back. */
LLVMValueRef fragment_store(struct emitter *e, const struct ptx_operand *op, unsigned bits, unsigned count);
void fragment_load(struct emitter *e, const struct ptx_operand *op, unsigned bits, unsigned count, LLVMValueRef base);
LLVMValueRef fragment_word(struct emitter *e, LLVMValueRef base, unsigned bits, unsigned index); /* ptr */

#endif
