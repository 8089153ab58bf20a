/* Straight code, after LLVM's passes: what forward.c, order.c, chains.c and ahead.c have in common. */
#ifndef DRAGOMAN_STRAIGHT_H
#define DRAGOMAN_STRAIGHT_H

#include "codegen/state.h"

/* An access of whole 32-bit words at a constant distance from where the block's shared memory begins. */
struct shared_access {
	LLVMTypeRef type;      /* of what is loaded or stored */
	LLVMValueRef value;    /* stores; loads: NULL */
	LLVMValueRef mask;     /* of an element each, or NULL: all */
	LLVMValueRef passthrough; /* masked loads: what elements that are off have */
	int64_t first;         /* word */
	unsigned words, element_words, align;
};

/* The block's shared memory in the kernel's function, as its first block loads it; NULL: it does not. */
LLVMValueRef shared_root(LLVMValueRef function);
bool as_shared_access(LLVMValueRef root, LLVMValueRef inst, struct shared_access *out);
bool touches_no_memory(LLVMValueRef inst); /* nor has it any other effect */
/* A load from what no program writes while the block runs, or an access to the function's own stack. */
bool is_apart_from_shared(LLVMValueRef inst);

bool calls_intrinsic(LLVMValueRef inst, const char *name);
bool is_pure_call(LLVMValueRef call); /* of an intrinsic that reads and writes no memory */

/* chains.c. OTHER: it must stay where it is. Cycles until others can use the result, on machines of today; 0: it is no
 * instruction of theirs. */
enum straight_kind { STRAIGHT_PURE, STRAIGHT_READ, STRAIGHT_WRITE, STRAIGHT_OTHER };
enum straight_kind straight_kind(LLVMValueRef inst);
uint32_t straight_delay(LLVMValueRef inst);

/* order.c */
void order_straight_code(LLVMValueRef root, LLVMBasicBlockRef block, struct arena *arena);

#endif
