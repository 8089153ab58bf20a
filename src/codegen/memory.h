/* Memory accesses of several elements a lane, for the emitters of ld, st, cp.async, red and the matrix loads. */
#ifndef DRAGOMAN_CODEGEN_MEMORY_H
#define DRAGOMAN_CODEGEN_MEMORY_H

#include "codegen/emit.h"
#include "codegen/target.h"

enum { MAX_ELEMENTS = 16 };

struct address address_plus(struct emitter *e, struct address address, int64_t bytes);
LLVMValueRef lane_pointer(struct emitter *e, struct address address, unsigned lane); /* ptr */
/* The same address from a piece of i64 host addresses. */
struct address address_of_lanes(struct emitter *e, LLVMValueRef pointers, unsigned align);

/* `count` consecutive elements of type `lane` from each lane's address, as that many pieces. Lanes that take no part
 * get anything. */
void load_elements(struct emitter *e, struct address address, LLVMTypeRef lane, unsigned count, bool is_volatile,
		   LLVMValueRef *values);
void store_elements(struct emitter *e, struct address address, LLVMValueRef const *values, unsigned count, bool is_volatile);

/* Runs what follows with the mask also restricted by `condition`; returns the mask to put back. */
LLVMValueRef mask_restrict(struct emitter *e, LLVMValueRef condition);

/* What .cta, .gpu, .cluster or .sys say; the device where nothing does. */
enum memory_scope named_scope(struct emitter *e);

/* Fences of the memory model (8.8): what a scope needs on this target. */
void emit_memory_fence(struct emitter *e, LLVMAtomicOrdering ordering, bool within_block);

/* Barrier number 0 of all threads, without more: what hardware has. */
bool barrier_is_plain(const struct ptx_instruction *in);
/* The two halves of a barrier that threads wait at by themselves (ir/resume.c): coming there, which makes a ticket; and behind it, the result of
 * a reduction. */
LLVMValueRef arrive_at_barrier(struct emitter *e, const struct ptx_instruction *in);
void take_reduction(struct emitter *e, LLVMValueRef ticket);

/* A .shared::cluster address, i64 scalar or piece, as the distance from the block's own shared memory. */
LLVMValueRef cluster_offset(struct emitter *e, LLVMValueRef a);

/* The value of a special register (chapter 10), of its own type. */
LLVMValueRef special_register(struct emitter *e, unsigned sreg, int component);
LLVMValueRef shared_behind(struct emitter *e); /* where dynamic shared memory begins: i32 of the piece */

/* side_by_side.c: the load of side-by-side 32-bit words that the lanes' offsets come of, while nothing has been written since; NULL: there is
 * none. And one lane of such offsets, computed by itself. */
LLVMValueRef words_side_by_side(struct emitter *e, const struct ptx_operand *place, LLVMValueRef offsets);
LLVMValueRef lane_of_words(struct emitter *e, LLVMValueRef words, LLVMValueRef offsets, unsigned lane);

/* prefetch.c: where the load is in a loop that steps far, asks for what its next round will read. */
void prefetch_next(struct emitter *e, const struct ptx_operand *op, struct address address);
/* Where the kernel begins: asks for what its block will write between later barriers. */
void prefetch_written(struct emitter *e);

#endif
