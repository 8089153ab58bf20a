/* Atomic operations of one lane, for atom, red and the copies that reduce. */
#ifndef DRAGOMAN_ATOMIC_H
#define DRAGOMAN_ATOMIC_H

#include "codegen/memory.h"

enum operation {
	OPERATION_ADD, OPERATION_MIN, OPERATION_MAX, OPERATION_AND, OPERATION_OR, OPERATION_XOR, OPERATION_EXCH, OPERATION_CAS,
	OPERATION_INC, OPERATION_DEC
};

struct atomic {
	enum operation operation;
	enum ptx_type type;           /* of one element */
	bool shared;                  /* plain operations will do */
	enum memory_scope scope;
	bool flushes;                 /* f32 add outside shared memory (9.7.13.5) */
	bool returns;
	LLVMAtomicOrdering ordering;
	struct address address;
	LLVMValueRef b, c;            /* pieces; integers of the type's size */
	LLVMTypeRef lane;             /* that integer */
	LLVMValueRef slot;            /* alloca of the old values, one a lane */
};

enum operation atomic_operation(struct emitter *e); /* the one that the spelling names */
/* Scalar code at `pointer`; returns what was there. b and c are integers of the type's size. */
LLVMValueRef atomic_scalar(struct emitter *e, const struct atomic *a, LLVMValueRef pointer, LLVMValueRef b, LLVMValueRef c);

#endif
