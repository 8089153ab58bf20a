/* Calls of functions that the runtime provides (PTX ISA 9.7.12 and the CUDA guide's "system calls"). */
#ifndef DRAGOMAN_EMIT_CALL_H
#define DRAGOMAN_EMIT_CALL_H

#include "codegen/emit.h"

/* false where no system call has that name. */
bool emit_system_call(struct emitter *e, const struct ptx_instruction *in, const char *name);

#endif
