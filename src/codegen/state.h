/* The emitter's core, shared by codegen.c, control.c, values.c and address.c. Instruction emitters see emit.h alone. */
#ifndef DRAGOMAN_EMITTER_STATE_H
#define DRAGOMAN_EMITTER_STATE_H

#include "codegen/emit.h"
#include "codegen/plan.h"
#include "codegen/target.h"

/* What has been emitted for an SSA value. */
struct value_code {
	LLVMValueRef uniform;   /* IR_UNIFORM */
	LLVMValueRef *chunk;    /* otherwise: vectors … */
	LLVMValueRef *base;     /* … and IR_AFFINE: lane 0 of each */
	/* Allocas: where the definition does not dominate all uses the value is kept in `slots` too and read from there; a phi's
	 * predecessors leave its next value in `phi_slots`. Layout: [0] uniform; or [0, chunks) vectors, [chunks, 2 chunks) bases. */
	LLVMValueRef *slots, *phi_slots;
	bool needs_slots;
};

/* The lanes of a group that run a block: vectors of i1, one a chunk; full: all of them, no vectors made. */
struct lane_masks {
	bool full;
	LLVMValueRef chunk[MAX_CHUNKS];
};

struct block_code {
	LLVMBasicBlockRef entry; /* tests whether the block can be skipped */
	LLVMBasicBlockRef body;
	LLVMBasicBlockRef end;   /* where the builder stood when the block was done */
	LLVMValueRef *mask_slots; /* one a chunk, where the block has a mask of its own */
	struct lane_masks masks;
};

struct emitter_state {
	struct arena *arena;
	struct plan plan;
	struct value_code *values;
	struct block_code *nodes;
	LLVMBasicBlockRef prologue;    /* allocas, loads of what never changes */
	LLVMBasicBlockRef group_head, group_next, done;
	LLVMValueRef parameters;       /* block->parameters etc. loaded once, ptr */
	LLVMValueRef shared, local, symbols, services, launch;
	LLVMValueRef local_stride;
	LLVMValueRef thread_end;       /* i32: end_thread */
	LLVMValueRef lane_numbers;     /* <width x i32> 0, 1, 2 … */
	LLVMValueRef scratch;          /* 64 bytes that masked-off lanes read and write */
	uint32_t node;                 /* being emitted */
	bool failed;

	struct lane_masks group;       /* GROUP piece: lanes that take part */

	LLVMValueRef results;          /* a called function's: ptr */
	struct emitter_unit *unit;
};

/* What the kernel and the functions compiled along with it share: they go into one object. */
struct emitter_unit {
	/* symbols read through block->symbols */
	VEC(const struct ptx_symbol *) symbol_list;
	struct map symbol_numbers; /* name -> number + 1 */
	uint32_t kernel_flags;     /* enum kernel_flags */
	VEC(const struct ptx_function *) functions; /* called, in order of discovery */
	struct map function_numbers;                /* name -> number + 1 */
	bool calls_pointers;
};

/* call.c */
LLVMValueRef parameter_address(struct emitter *e, const struct ptx_variable *variable); /* i64 */
LLVMTypeRef function_type(struct emitter *e);                                           /* cpu_function_fn */
LLVMValueRef declare_function(struct emitter *e, const struct ptx_function *function);
void add_pointed_functions(struct emitter_unit *unit, const struct ptx_module *module);


LLVMTypeRef int_type(struct emitter *e, unsigned bits);
LLVMTypeRef ptr_type(struct emitter *e);
LLVMValueRef entry_alloca(struct emitter *e, LLVMTypeRef type, const char *name);

/* values.c */
void emitter_init_values(struct emitter *e);
bool emit_instruction(struct emitter *e, const struct ir_inst *inst);
LLVMValueRef read_uniform(struct emitter *e, uint32_t value);                 /* scalar; the register's own LLVM type */
LLVMValueRef read_chunk(struct emitter *e, uint32_t value, unsigned chunk);
LLVMValueRef condition_chunk(struct emitter *e, uint32_t value, unsigned chunk); /* <w x i1> */
void load_phi(struct emitter *e, uint32_t phi);                               /* where its block begins */
/* Along an edge: the lanes of `edge` bring `argument`. whole: no other lane's value need be kept. */
void store_phi(struct emitter *e, uint32_t phi, uint32_t argument, const struct lane_masks *edge, LLVMValueRef any, bool whole);

/* control.c */
void emit_blocks(struct emitter *e);
void current_masks(struct emitter *e, struct lane_masks *out);

#endif
