/* The emitter's core, shared by codegen.c, control.c, values.c and its neighbours. Instruction emitters see emit.h alone. */
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
	LLVMValueRef any, all; /* i1, where they are known without looking at all lanes; else NULL */
};

struct block_code {
	LLVMBasicBlockRef entry; /* tests whether the block can be skipped */
	LLVMBasicBlockRef body;
	LLVMBasicBlockRef end;   /* where the builder stood when the block was done */
	LLVMValueRef *mask_slots; /* one a chunk, where the block has a mask of its own */
	LLVMValueRef any, all;    /* as the only edge to it knows them */
	LLVMValueRef *known;      /* its lanes, where that edge brings the same ones always: constants, one a chunk; else NULL */
	struct lane_masks masks;
};

/* Where a value that lives from one region to another is kept (fission.c). */
enum home_kind {
	HOME_NONE,
	HOME_BLOCK, /* once: the block's groups agree on it */
	HOME_GROUP, /* in the group's context */
	HOME_REMADE /* nowhere: it is computed again */
};
struct home {
	uint8_t kind;
	uint32_t offset;   /* GROUP; IR_NONE: not decided */
	uint32_t with;     /* GROUP: the value that it is shared with (homes.c), or IR_NONE */
	LLVMValueRef steps; /* GROUP: slot of what the whole block has added since (homes.c), or NULL */
	LLVMValueRef added; /* of these, what the current region began with */
	LLVMValueRef slot; /* BLOCK */
};

/* Memory that one instruction needs for itself (room_alloca). */
struct room {
	LLVMTypeRef type;
	LLVMValueRef memory;
	size_t taken; /* by which instruction last, as emitter_state.emitted counts */
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
	LLVMValueRef block_x;          /* i32: %ctaid.x where one call runs several blocks (rows.c); else NULL */
	LLVMValueRef thread_end;       /* i32: end_thread */
	LLVMValueRef lane_numbers;     /* <width x i32> 0, 1, 2 … */
	LLVMValueRef scratch;          /* 64 bytes that masked-off lanes read and write */
	uint32_t node;                 /* being emitted */
	bool failed;
	struct fission *fission;       /* NULL: the kernel is not cut into regions */
	bool uncut;                    /* it was, but cannot be: to be compiled again with fibers */

	struct word_pair {             /* what side_by_side.c has read last */
		LLVMValueRef words;
		unsigned number;
		LLVMBasicBlockRef block;
		LLVMValueRef value;
	} last_pair;

	struct lane_masks group;       /* GROUP piece: lanes that take part */
	VEC(struct room) rooms;
	size_t emitted;                /* instructions so far, each time that one is emitted */
	LLVMValueRef *arrays;          /* of lane loops: allocas, NULL before their first use */

	LLVMValueRef results;          /* a called function's: ptr */
	LLVMValueRef gone; /* a byte behind the results of the last call: has the thread exited in it? */
	LLVMValueRef last_error;       /* of the device runtime, on AMD GPUs: an alloca; NULL before its first use */
	struct emitter_unit *unit;
};

/* What the kernel and the functions compiled along with it share: they go into one object. */
struct emitter_unit {
	/* symbols read through block->symbols */
	VEC(const struct ptx_symbol *) symbol_list;
	struct map symbol_numbers; /* name -> number + 1 */
	uint32_t kernel_flags;     /* enum kernel_flags */
	struct text prelude;       /* LLVM IR as text, for what llvm-c cannot say: linked in at the end */
	bool needs_library;        /* calls functions of src/devlib */
	uint32_t library_shared;   /* bytes of shared memory for them, behind … */
	uint32_t kernel_shared;    /* … the kernel's own */
	VEC(const struct ptx_function *) functions; /* called, in order of discovery */
	struct map function_numbers;                /* name -> number + 1 */
	bool calls_pointers;
};

/* call.c */
LLVMValueRef parameter_address(struct emitter *e, const struct ptx_variable *variable); /* i64 */
LLVMTypeRef function_type(struct emitter *e);                                           /* cpu_function_fn */
LLVMValueRef declare_function(struct emitter *e, const struct ptx_function *function);
void add_pointed_functions(struct emitter_unit *unit, const struct ptx_module *module);

/* types.c, codegen.c */
LLVMTypeRef int_type(struct emitter *e, unsigned bits);
LLVMTypeRef ptr_type(struct emitter *e);
LLVMValueRef entry_alloca(struct emitter *e, LLVMTypeRef type, const char *name);
/* The same for what is used within the instruction alone: later ones use it again. */
LLVMValueRef room_alloca(struct emitter *e, LLVMTypeRef type, const char *name);

bool emit_instruction(struct emitter *e, const struct ir_inst *inst); /* instruction.c */

/* values.c */
void emitter_init_values(struct emitter *e);
LLVMValueRef read_uniform(struct emitter *e, uint32_t value);                 /* scalar; the register's own LLVM type */
LLVMValueRef read_chunk(struct emitter *e, uint32_t value, unsigned chunk);
LLVMValueRef condition_chunk(struct emitter *e, uint32_t value, unsigned chunk); /* <w x i1> */
void define_chunk(struct emitter *e, uint32_t value, LLVMValueRef v);           /* of the chunk at hand: a varying value */
void load_phi(struct emitter *e, uint32_t phi);                               /* where its block begins */
/* Along an edge: the lanes of `edge` bring `argument`. whole: no other lane's value need be kept. */
void store_phi(struct emitter *e, uint32_t phi, uint32_t argument, const struct lane_masks *edge, LLVMValueRef any, bool whole);

/* Takes a value from slots, laid out as value_code's: here it is defined. */
void load_value(struct emitter *e, uint32_t value, LLVMValueRef const *slots);
/* An index whose bases have been loaded is by so much further on. */
void shift_value(struct emitter *e, uint32_t value, LLVMValueRef by);
void store_value(struct emitter *e, uint32_t value, LLVMValueRef const *slots);
void store_slots(struct emitter *e, uint32_t value); /* to code->slots, where it has any */
LLVMTypeRef slot_type(struct emitter *e, uint32_t value, bool vector);

/* control.c */
void emit_blocks(struct emitter *e);
void current_masks(struct emitter *e, struct lane_masks *out);
void entry_masks(struct emitter *e, struct lane_masks *out); /* lanes whose threads the block has */
bool has_own_mask(struct emitter *e, uint32_t block);
LLVMTypeRef mask_type(struct emitter *e);
void widen_masks(LLVMModuleRef module, struct arena *arena); /* wide_masks.c */
/* forward.c: shared memory of straight code in registers. For kernels of which one call runs a whole block. */
void forward_shared(LLVMValueRef function, struct arena *arena);
void begin_groups_ahead(LLVMModuleRef module, uint32_t groups); /* ahead.c: part of the next group beside this one */
void interleave_chains(LLVMModuleRef module); /* chains.c: independent arithmetic side by side */
LLVMValueRef load_mask(struct emitter *e, LLVMValueRef slot);
void store_mask(struct emitter *e, LLVMValueRef slot, LLVMValueRef mask);
LLVMValueRef mask_of(struct emitter *e, const struct lane_masks *masks, unsigned chunk);
LLVMValueRef any_of(struct emitter *e, const struct lane_masks *masks);

/* ends.c: false where they cannot be told from the first lane and the last. */
bool votes_by_ends(struct emitter *e, uint32_t condition, LLVMValueRef *yes, LLVMValueRef *no); /* all lanes', no lane's; or not told */
bool ends_of_branch(struct emitter *e, uint32_t condition, bool negated, LLVMValueRef *any, LLVMValueRef *all);

/* lane_loop.c: IR_LANE_… */
void emit_lane_op(struct emitter *e);

void emit_resume_op(struct emitter *e); /* resume.c: IR_ARRIVE … */
void emit_exit_op(struct emitter *e);   /* call.c: IR_GO, IR_GONE */

/* codegen.c: a loop over the groups of the block, come to from `from`; the builder then stands in it. downwards: the last one first, where
 * the block's shape is known. */
void begin_rows(struct emitter *e); /* rows.c */
void begin_groups(struct emitter *e, LLVMBasicBlockRef from, LLVMBasicBlockRef after, bool downwards);

/* fission.c */
bool fission_prepare(struct emitter *e);                 /* false: barriers must switch fibers after all */
bool fission_crosses(struct emitter *e, uint32_t value, uint32_t block); /* is it defined in another region? */
LLVMValueRef *fission_home(struct emitter *e, uint32_t value); /* slots in the current group's context, NULL ones for vectors that are
	not kept; NULL: no home */
uint32_t fission_home_bytes(struct emitter *e, uint32_t value); /* of such a home in the context */
bool fission_carries(struct emitter *e, uint32_t phi, uint32_t argument); /* the edge's store has been seen to (homes.c) */
bool fission_leads(struct emitter *e, uint32_t node);    /* does going to the node leave the region? */
LLVMBasicBlockRef fission_leave(struct emitter *e, uint32_t node);
/* The group's turn ends with its vote: where all groups say `all`, leaders[0] is next; `none`: leaders[1]; else leaders[2]. */
void fission_vote(struct emitter *e, const uint32_t *leaders, LLVMValueRef all, LLVMValueRef none);
void fission_begin_region(struct emitter *e, uint32_t region);
bool fission_begin_groups(struct emitter *e, uint32_t copy); /* the region's code for all groups, or for each; false: no more */
void fission_end_region(struct emitter *e);
void fission_reduce(struct emitter *e, LLVMValueRef bits); /* bar.red: the lanes' predicates join the block's */
uint32_t fission_context_bytes(struct emitter *e);
/* homes.c; `reads` by region and value */
void homes_share(struct emitter *e, struct home *homes, const bool *reads);
uint32_t homes_source(const struct emitter *e, uint32_t value); /* what it is a copy of, or itself */
bool homes_step(struct emitter *e, struct home *homes, uint32_t phi, uint32_t argument);
void fission_mark_access(struct emitter *e, LLVMValueRef access, bool of_program); /* the program's memory is never a context */

/* The quick form (compile_options.opt_level): nothing for speed alone that is more code. */
static inline bool is_quick(const struct emitter *e)
{
	return e->ir->options.opt_level == 1;
}

#endif
