/* The mbarrier object (PTX ISA 9.7.13.15) as 64 bits of memory:
 *
 *     bits 0…19 pending arrivals    20…39 expected arrivals    40…60 pending bytes (signed)    61…63 phase
 */
#ifndef DRAGOMAN_MBARRIER_H
#define DRAGOMAN_MBARRIER_H

#include "codegen/emit.h"

/* What one operation does to it; i64 scalars, NULL for 0. */
struct mbarrier_change {
	LLVMValueRef arrivals;  /* fewer pending */
	LLVMValueRef dropped;   /* fewer expected */
	LLVMValueRef bytes;     /* more pending */
};

/* Scalar code at one lane's pointer: the object as it was. `remote`: other threads of the host may change it too. */
LLVMValueRef mbarrier_update(struct emitter *e, LLVMValueRef pointer, struct mbarrier_change change, bool remote);
/* `bytes` (i64) of a copy have come. */
void mbarrier_complete(struct emitter *e, LLVMValueRef pointer, LLVMValueRef bytes, bool remote);

#endif
