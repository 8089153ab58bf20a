/* Accesses of the quick form: see quick.c. */
#ifndef DRAGOMAN_CODEGEN_QUICK_H
#define DRAGOMAN_CODEGEN_QUICK_H

#include "codegen/emit.h"

/* Is it one that the next two are for: lanes here and there, of 4 or 8 bytes, in the quick form? */
bool quick_accesses(struct emitter *e, struct address address, LLVMTypeRef lane);
LLVMValueRef quick_load(struct emitter *e, struct address address, LLVMTypeRef lane);
void quick_store(struct emitter *e, struct address address, LLVMValueRef value);

#endif
