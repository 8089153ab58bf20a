/* Integer forms of opcodes that floating point shares: emit_float.c sees the type and comes here. */
#ifndef DRAGOMAN_EMIT_INT_H
#define DRAGOMAN_EMIT_INT_H

#include "codegen/emit.h"

void emit_int_add(struct emitter *e, const struct ptx_instruction *in, bool subtract);
void emit_int_mul(struct emitter *e, const struct ptx_instruction *in);
void emit_int_mad(struct emitter *e, const struct ptx_instruction *in);
void emit_int_div(struct emitter *e, const struct ptx_instruction *in);
void emit_int_neg(struct emitter *e, const struct ptx_instruction *in);
void emit_int_abs(struct emitter *e, const struct ptx_instruction *in);
void emit_int_min_max(struct emitter *e, const struct ptx_instruction *in, bool is_max);

#endif
