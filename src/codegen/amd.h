/* Code for AMD GPUs (target_amd.c, amd_memory.c): what its files share. */
#ifndef DRAGOMAN_CODEGEN_AMD_H
#define DRAGOMAN_CODEGEN_AMD_H

#include "codegen/mma.h"
#include "codegen/state.h"

/* LLVM's address spaces of AMDGPU. */
enum { SPACE_FLAT = 0, SPACE_GLOBAL = 1, SPACE_LDS = 3, SPACE_CONSTANT = 4, SPACE_SCRATCH = 5 };

LLVMValueRef amd_intrinsic(struct emitter *e, const char *name, LLVMTypeRef const *overload, unsigned overload_count,
			   LLVMValueRef const *arguments, unsigned count);

/* amd_memory.c: fields of struct target_hooks */
LLVMValueRef amd_pointer(struct emitter *e, const struct ptx_operand *base, LLVMValueRef a, enum ptx_space space, int64_t offset);
LLVMValueRef amd_to_generic(struct emitter *e, enum ptx_space space, LLVMValueRef a);
LLVMValueRef amd_from_generic(struct emitter *e, enum ptx_space space, LLVMValueRef a);
LLVMValueRef amd_is_in_space(struct emitter *e, enum ptx_space space, LLVMValueRef a);
LLVMValueRef amd_cluster_step(struct emitter *e);
LLVMValueRef amd_atomic(struct emitter *e, LLVMAtomicRMWBinOp op, LLVMValueRef pointer, LLVMValueRef b, LLVMAtomicOrdering ordering,
			enum memory_scope scope);
LLVMValueRef amd_compare_and_swap(struct emitter *e, LLVMValueRef pointer, LLVMValueRef expected, LLVMValueRef desired,
				  LLVMAtomicOrdering ordering, enum memory_scope scope);
LLVMValueRef amd_wide(struct emitter *e, LLVMValueRef pointer, LLVMValueRef expected, LLVMValueRef desired, enum memory_scope scope);
/* amd_mma.c: the hook multiply */
bool amd_multiply(struct emitter *e, const struct mma_tile *tile, unsigned columns, LLVMValueRef const *a, LLVMValueRef const *b,
		  LLVMValueRef const *c, LLVMValueRef *d);
/* A field of struct amd_launch. */
LLVMValueRef amd_argument(struct emitter *e, LLVMTypeRef type, size_t offset);
/* Two warps to a wave? */
bool amd_is_packed(struct emitter *e);
void amd_fence(struct emitter *e, LLVMAtomicOrdering ordering, enum memory_scope scope);

#endif
