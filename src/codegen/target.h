/* A code-generation target as one table. */
#ifndef DRAGOMAN_TARGET_H
#define DRAGOMAN_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "codegen/emit.h"

/* Who sees an atomic operation or a fence as one (PTX ISA 8.5). */
enum memory_scope { SCOPE_BLOCK, SCOPE_DEVICE, SCOPE_SYSTEM };

struct mma_tile;

/* What threads do that are resumed (ir/resume.c): the arguments, and what it returns, are i32s. */
enum resume_op {
	RESUME_OP_ARRIVES, /* (barrier, count, reduction, predicate): the ticket */
	RESUME_OP_ARRIVED, /* (ticket, reduction): its result */
	RESUME_OP_TURN,    /* (state, ticket, stay): the way on, or `stay` */
	RESUME_OP_MORE,    /* (state): are there threads in the wave that have not ended? */
	RESUME_OP_LEFT     /* (); nothing */
};

enum approximation { APPROXIMATE_EXP2, APPROXIMATE_LOG2, APPROXIMATE_RECIPROCAL, APPROXIMATE_ROOT, APPROXIMATE_RECIPROCAL_ROOT };

/* What a machine with lanes of its own (a GPU) has in place of the CPU's: the emitter runs in its scalar form, one call of the function is
 * one thread, and these make what the CPU has a runtime and windows for. Values are scalars. A service or a field that
 * the machine has nothing for is refused by name. */
struct target_hooks {
	/* The function up to where the kernel's blocks begin: e->function, e->block, e->first_thread and of the state prologue, done,
	 * group_head, group_next, parameters, symbols. */
	void (*begin_function)(struct emitter *e);
	/* Once all is emitted: brings in what the code calls. false: said with unsupported(). */
	bool (*finish_module)(struct emitter *e);
	/* By offset in struct cpu_block, struct cpu_launch, struct cpu_services. */
	LLVMValueRef (*block_field)(struct emitter *e, LLVMTypeRef type, size_t offset);
	LLVMValueRef (*launch_field)(struct emitter *e, LLVMTypeRef type, size_t offset);
	LLVMValueRef (*call_service)(struct emitter *e, size_t offset, LLVMTypeRef result, LLVMTypeRef const *types,
				     LLVMValueRef const *arguments, unsigned count);
	LLVMValueRef (*thread_axis)(struct emitter *e, unsigned axis); /* %tid */
	LLVMValueRef (*lane)(struct emitter *e);                       /* %laneid */

	/* Addresses. `a` is i64, as PTX has it: an offset in the window of shared or local memory. */
	LLVMValueRef (*pointer)(struct emitter *e, const struct ptx_operand *base, LLVMValueRef a, enum ptx_space space, int64_t offset);
	LLVMValueRef (*to_generic)(struct emitter *e, enum ptx_space space, LLVMValueRef a);
	LLVMValueRef (*from_generic)(struct emitter *e, enum ptx_space space, LLVMValueRef a);
	LLVMValueRef (*is_in_space)(struct emitter *e, enum ptx_space space, LLVMValueRef a); /* i1 */
	LLVMValueRef (*cluster_step)(struct emitter *e); /* i64: from a block's shared memory to that of the next rank, in bytes */

	/* Memory that others see. The type of `b` is the operation's; result: what was there. */
	LLVMValueRef (*atomic)(struct emitter *e, LLVMAtomicRMWBinOp op, LLVMValueRef pointer, LLVMValueRef b, LLVMAtomicOrdering ordering,
			       enum memory_scope scope);
	LLVMValueRef (*compare_and_swap)(struct emitter *e, LLVMValueRef pointer, LLVMValueRef expected, LLVMValueRef desired,
					 LLVMAtomicOrdering ordering, enum memory_scope scope); /* what was there */
	/* Of 128 bits; a load, an exchange where `desired` is given, or a compare and swap where `expected` is too. */
	LLVMValueRef (*wide)(struct emitter *e, LLVMValueRef pointer, LLVMValueRef expected, LLVMValueRef desired, enum memory_scope scope);
	void (*fence)(struct emitter *e, LLVMAtomicOrdering ordering, enum memory_scope scope);

	/* The warp. Lanes that are not here count as 0. */
	LLVMValueRef (*ballot)(struct emitter *e, LLVMValueRef predicate);                  /* i32 */
	LLVMValueRef (*read_lane)(struct emitter *e, LLVMValueRef value, LLVMValueRef lane); /* i32s; lane below 32 */
	LLVMValueRef (*call_library)(struct emitter *e, const char *name, LLVMTypeRef result, LLVMValueRef const *arguments, unsigned count);
	void (*barrier)(struct emitter *e); /* of all threads of the block that there still are */
	LLVMValueRef (*resume)(struct emitter *e, enum resume_op op, LLVMValueRef const *arguments, unsigned count);

	/* An approximation of a float function by the machine's own instruction, within the manual's bounds; NULL: it has none for it. With
	 * `ftz` subnormals may be taken and given as zero. */
	LLVMValueRef (*approximate)(struct emitter *e, enum approximation function, LLVMValueRef x, bool ftz);

	LLVMValueRef (*divide)(struct emitter *e, LLVMValueRef a, LLVMValueRef b); /* doubles, to nearest */

	/* D = A B + C of a row of `columns` tiles (mma.h) by the machine's own instructions: registers of 32 bits as the lane has them, of A's tile,
	 * of each of B's, C's and D's, in that order. false, and nothing done: it has none for such, or they round otherwise than they should. */
	bool (*multiply)(struct emitter *e, const struct mma_tile *tile, unsigned columns, LLVMValueRef const *a, LLVMValueRef const *b,
			 LLVMValueRef const *c, LLVMValueRef *d);

	const char *passes; /* LLVM's, when optimising */
};

struct target {
	const char *name;        /* "cpu", "amd" */
	unsigned width;          /* native lanes of 32 bits */
	bool fast_gather;        /* llvm.masked.gather/scatter are instructions worth using */
	bool fast_masked_memory; /* masked contiguous loads and stores cost about what plain ones do */
	bool has_signs;          /* vmovmskps of eight lanes */
	bool bit_masks;          /* masks live in mask registers (AVX-512): <n x i1> may cross blocks */
	bool byte_sums;          /* AVX2's ways to add up bytes, and nothing that counts bits in vectors */
	bool wave64;             /* hardware lanes of a wave, of which a warp takes half */
	char triple[64], cpu[64], features[2048];
	LLVMCodeModel model;
	const struct target_hooks *hooks; /* NULL: the CPU */
};

/* false where LLVM has no such target. */
bool target_init(struct target *target, const struct compile_options *options);
/* What LLVM makes code with, of the target's triple, cpu and features: one that was given back, or a new one. NULL after a message. (machine.c) */
struct machine;
struct machine *machine_take(const struct target *target, unsigned opt_level);
LLVMTargetMachineRef machine_llvm(const struct machine *machine);
void machine_give(struct machine *machine); /* once all that was made with it is gone */
bool target_init_amd(struct target *target, const struct compile_options *options); /* target_amd.c */

#endif
