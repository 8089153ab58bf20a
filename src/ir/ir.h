/* A kernel in SSA form: PTX instructions kept as they are, with a value number for each register they read or write.
 *
 *     ir_build()     flatten.c   the kernel and, inlined, the functions it calls; basic blocks
 *                    cfg.c       order, dominators, post-dominators, loops (also irreducible ones)
 *                    ssa.c       phis (pruned, closed at loop exits), renaming
 *     ir_analyze()   uniform.c   which branches diverge, which values differ between lanes, and how (shape)
 *                    bits.c      … where numbers are taken apart into bits: lanes and warps from a thread's number
 *                    nan.c       which floats' NaNs are not the GPU's yet
 *                    progress.c  loops that wait for other threads
 *                    region.c    the parts of a kernel between barriers
 *                    barrier.c   … which barriers need not be kept, what lanes hand to each other; each.c: what each thread computes from
 *                                its number; root.c: which parameter an address comes from
 *     ir_leave_at_once()   exits.c     what is done behind a loop's many exits, in front of them
 *     ir_keep_together()   together.c   fast copies of parts where lanes nearly always go the same way
 *     ir_jam_lanes()   jam.c       several warps together, where loops do little
 *     ir_paired_lanes()    pair.c      two vectors of a warp together, where arithmetic waits for itself
 *     ir_narrowed_lanes()  narrow.c    a quarter of a warp, where a loop between barriers keeps much
 *     ir_find_rows()       rows.c      blocks next to each other in x, row by row
 *     ir_add_lane_loops()  lane_loop.c  parts that lanes go through one after the other
 *     ir_print()     print.c     DRAGOMAN_DUMP=ir
 *
 * SSA construction: Cytron et al. 1991. Divergence: sync dependence as in Karrenberg and Hack 2012 / Rosemann et al.
 * 2021. Everything is numbered from 0 and kept in arrays; one arena holds it all. */
#ifndef DRAGOMAN_IR_H
#define DRAGOMAN_IR_H

#include "codegen/codegen.h"

#define IR_NONE UINT32_MAX /* no block, value or loop */

/* How a value differs between the lanes of a group. */
enum ir_shape_kind {
	IR_UNIFORM, /* the same in all lanes of the group */
	IR_AFFINE,  /* within each chunk: base + stride * lane; stride 0: the same within the chunk */
	IR_VARYING
};
struct ir_shape {
	uint8_t kind;
	bool linear;     /* AFFINE: not only within each chunk, but all over the group */
	bool exact;      /* AFFINE: holds bit for bit; else only where no lane's 32-bit index wraps: good for addresses alone */
	uint8_t zeros;   /* integers: low bits known to be 0 (AFFINE: of the first lane of the group, or of each chunk where not linear) */
	uint8_t flip;    /* VARYING: not 0: within each chunk it is base + stride * (lane ^ flip), bit for bit (bits.c) */
	int64_t stride;  /* AFFINE, or with a flip */
	int64_t low, high; /* integers: every lane's value, as a signed number of its width, lies in [low, high] */
};

enum ir_value_flags {
	IR_RAW_NAN = 1,   /* a float whose NaN may not be the GPU's canonical one: made so where its bits are seen */
	IR_RAW_RESULT = 2 /* its instruction's result is such a float, but it is kept with bits that must not change */
};

struct ir_value {
	enum ptx_type type; /* the register's: gives the width; PTX_PRED is one bit */
	uint8_t flags;
	bool block_uniform; /* the same in all groups of a block; only where the kernel has regions */
	struct ir_shape shape;
	uint32_t block;     /* where it is defined; IR_NONE: undefined (reads as 0) */
	uint32_t inst;      /* index in block->insts, or IR_NONE for a phi */
	uint32_t variable;  /* the register it is a version of */
	uint32_t uses;
};

/* One register occurrence of an instruction. */
struct ir_use {
	const struct ptx_operand *operand; /* REGISTER operand, wherever it is nested; NULL: the guard */
	uint32_t value;    /* before SSA: the variable */
	uint32_t variable; /* in SSA: what `value` was before */
};
struct ir_def {
	const struct ptx_operand *operand; /* NULL: a promoted parameter's variable */
	uint32_t value;
	uint32_t old; /* guarded instruction: the value kept where the guard is false; else IR_NONE */
	uint32_t variable;
	bool guarded;
};

/* What stands for a variable of an inlined function in this place: formal parameters are their actuals. */
struct ir_object {
	const struct ptx_variable *variable;
	uint32_t instance;
	uint64_t offset;  /* in the thread's local memory, or in static shared memory */
	bool floats;      /* dynamic shared memory, in a function that is called: it begins where the running kernel's static part ends */
	bool promoted;    /* .param object whose accesses became copies: no memory */
};

enum ir_op {
	IR_PTX,     /* ptx tells */
	IR_COPY,    /* def = use (promoted parameters) */
	IR_TRAP,    /* control fell into something that cannot be: reported */
	/* of lane loops (lane_loop.c); arrays hold one value a lane */
	IR_LANE_MASK,  /* def = the lanes that are here, as bits */
	IR_LANE_MORE,  /* def = are there any in use 0? */
	IR_LANE_FIRST, /* def 0 = the first lane in use 0, def 1 = the others */
	IR_LANE_SPILL, /* def = use, of all lanes, also into the array */
	IR_LANE_READ,  /* def = use 0, spilled to the array, of the lane that use 1 says */
	IR_LANE_WRITE, /* the array's element of lane use 1 = use 0 */
	IR_LANE_LOAD,  /* def = the array */
	/* of threads that are resumed (resume.c); `ptx` is the barrier, or the operation of a warp */
	IR_ARRIVE,     /* def, the ticket = what the thread waits for from here on */
	IR_ARRIVED,    /* def = what the barrier whose ticket is use 0 has reduced */
	IR_TURN,       /* def = the way on from state use 0, if the thread with ticket use 1 may go; else the last of the switch */
	IR_MORE,       /* def = has any thread of the warp a state, use 0, that is not the end? */
	IR_LEFT,       /* the thread comes to no barrier any more */
	/* of threads that exit in functions that are called and not inlined (flatten.c) */
	IR_GO,         /* in the function: its caller is to know that the thread is gone */
	IR_GONE        /* behind a call: def = is it? */
};

struct ir_inst {
	enum ir_op op;
	const struct ptx_instruction *ptx;
	uint32_t instance;  /* which inlined copy of a function: names its objects */
	struct ir_use *uses;
	struct ir_def *defs;
	uint16_t use_count, def_count;
	uint8_t mode;       /* enum ir_mode, by ir_analyze() */
	bool one_lane;      /* in a lane loop: it is one lane that runs it */
	uint32_t array;     /* IR_LANE_… */
	/* IR_COPY of an immediate or a special register actual: the operand copied; else NULL */
	const struct ptx_operand *source;
	enum ptx_type source_type;
};

/* How the emitter runs an instruction. */
enum ir_mode {
	IR_MODE_ONCE,   /* scalar: all operands uniform */
	IR_MODE_LANES,  /* chunk by chunk */
	IR_MODE_GROUP   /* once for all chunks: the emitter of the instruction walks them (shfl, barriers, calls) */
};

struct ir_phi {
	uint32_t value;
	uint32_t *arguments; /* one a predecessor, in order */
};

enum ir_end {
	IR_END_JUMP,    /* successors[0] */
	IR_END_BRANCH,  /* guard true: successors[0], else successors[1]; condition is a value, maybe negated */
	IR_END_VOTE,    /* all lanes that are here would take a branch on the condition: succs[0]; none: succs[1]; else succs[2] (together.c) */
	IR_END_ALL,     /* the same of all threads of the block where regions are, each group's turn ends here (rounds.c) */
	IR_END_SWITCH,  /* brx.idx: successors[index]; the condition is the index */
	IR_END_EXIT     /* the virtual exit block only: threads are done */
};

struct ir_block {
	VEC(struct ir_inst) insts;  /* without the terminator, unless `end_inst` must run first (trap) */
	VEC(struct ir_phi) phis;
	VEC(uint32_t) preds;
	uint32_t *succs;
	uint32_t succ_count;
	enum ir_end end;
	uint32_t condition;         /* value; IR_NONE for JUMP */
	bool negated;
	bool divergent;             /* the branch, by ir_analyze() */
	bool join;                  /* lanes of one group may arrive here along different edges */
	bool parts;                 /* threads of one block may leave along different edges (region.c) */
	bool fast, rare;            /* a copy for when lanes stay together; what there is such a copy of (together.c) */
	bool one_lane;              /* in a lane loop: it is one lane that runs it, and no others join it */
	bool after_barrier;         /* what follows a barrier: its only predecessor ends with one */
	bool downwards;             /* groups go through the block's region the last one first (barrier.c) */
	uint32_t region;            /* number in func->leaders; IR_NONE: the exit, or the kernel has no regions */
	struct ptx_location location; /* of the terminator */
	uint32_t order;             /* position in func->order */
	uint32_t idom, ipdom;       /* block numbers; IR_NONE at the ends */
	uint32_t loop;              /* innermost loop, IR_NONE */
	/* for flatten/ssa */
	uint32_t condition_variable;
};

struct ir_loop {
	uint32_t header;       /* first in order; an irreducible loop may be entered elsewhere too */
	uint32_t parent;       /* IR_NONE */
	uint32_t depth;        /* from 1 */
	uint32_t first, last;  /* positions in func->order: loops are contiguous */
	bool irreducible;
	bool divergent;        /* lanes may leave in different iterations */
	bool waits;            /* for memory that another thread writes: others must get to run */
};

struct ir_func {
	struct arena *arena;
	const struct ptx_module *module;
	const struct ptx_function *kernel;
	struct compile_options options;
	unsigned width, chunks, lanes; /* lanes = width * chunks: threads of a group; 1,1,1: the scalar form */
	VEC(struct ir_block) blocks;   /* 0 is the entry, 1 the exit */
	uint32_t *order;               /* block numbers: topological but for back edges, loops contiguous */
	uint32_t order_count;
	VEC(struct ir_loop) loops;
	VEC(struct ir_value) values;
	VEC(struct ir_object) objects;
	uint32_t local_bytes, shared_bytes, shared_align;
	uint32_t stack_offset, stack_bytes; /* of what alloca takes from, in the local memory; 0 bytes: nothing does */
	uint32_t flags_used;           /* OR of the rows' ISA_ flags */
	bool whole_block;              /* ir_analyze() takes all threads of a block for one group */
	bool alone;                    /* a block is one group: it meets nobody at a barrier */
	uint32_t *leaders;             /* blocks that regions begin with: [0] is the entry */
	uint32_t region_count;         /* 0: barriers switch fibers */
	uint32_t barriers_dropped;     /* that regions need not end at (barrier.c) */
	bool lane_loops;               /* there are such */
	uint32_t array_count;          /* of theirs */
	const char *apart;             /* options.in_step: why the threads of a warp cannot run so; NULL: they can */
	bool resumes;                  /* its threads are resumed where they wait (resume.c) */
	bool warpless;                 /* options.in_step: ir_shows_no_warps() */
	uint32_t rows;                 /* threads of a row, where blocks go through theirs together; 0: block by block (rows.c) */
	bool calls;                    /* calls functions that could not be inlined: pointers, recursion */
	bool exits_in_calls;        /* … in which threads may exit */
	uint32_t kernel_flags;         /* KERNEL_… */
	struct flatten *flatten;       /* instances and objects: ir_find_object() */
};

/* NULL and a diagnostic where the kernel cannot be compiled. `func` lives in `arena`. Its options are the ones given, but for opt_level, which
 * becomes 1 where the quick form may come (may_be_quick) and it is plain early that the full one would take long. */
struct ir_func *ir_build(struct arena *arena, const struct ptx_module *module, const struct ptx_function *kernel,
			 const struct compile_options *options, struct ptx_diagnostic *diagnostic);
bool ir_takes_long(const struct ir_func *func);
void ir_destroy(struct ir_func *func); /* what is not the arena's */
void ir_find_order(struct ir_func *func);   /* order, loops, idom, ipdom; drops unreachable blocks */
bool ir_dominates(const struct ir_func *func, uint32_t a, uint32_t b); /* does block a block b? */
bool ir_is_outside(const struct ir_func *func, const struct ir_loop *loop, uint32_t value); /* is it made outside of the loop? */
/* The PTX instruction that alone makes a value, for all lanes; NULL: there is none. */
const struct ir_inst *ir_maker(const struct ir_func *func, uint32_t value);
uint32_t ir_used_value(const struct ir_inst *inst, const struct ptx_operand *op); /* IR_NONE where it is no register */
void ir_build_ssa(struct ir_func *func, uint32_t variable_count, const enum ptx_type *variable_types);
void ir_undo_ssa(struct ir_func *func);     /* back to variables: blocks may be changed, ir_find_order() and ir_build_ssa() follow */
/* known[]: values that follow from numbers of threads and from what is the same in all lanes, by nothing but arithmetic. */
void ir_find_known(struct ir_func *func, bool *known);
/* Moves what little the analysed function does behind loops' exits in front of them: true where it did, and all must be built again. */
bool ir_leave_at_once(struct ir_func *func);
/* Copies parts where lanes nearly always go the same way; as the next one. */
bool ir_keep_together(struct ir_func *func);
/* Puts loops around parts where lanes do better one by one, for the analysed function: true where it did, and all must be built again. */
bool ir_add_lane_loops(struct ir_func *func);
/* How many lanes the analysed function does better with, of several warps (jam.c); 0: it does as it is. */
unsigned ir_jam_lanes(const struct ir_func *func);
unsigned ir_paired_lanes(const struct ir_func *func); /* the same of one warp (pair.c) */
unsigned ir_narrowed_lanes(struct ir_func *func); /* fewer than a warp's, where barriers ask for one (narrow.c); 0 */
bool ir_may_be_narrowed(struct ir_func *func);    /* would that change nothing but how fast it is? */
/* May the instruction run for lanes of several warps at once? (jam.c) */
bool ir_is_of_threads(const struct ir_inst *inst);
uint32_t ir_find_rows(const struct ir_func *func); /* ir_func.rows of the analysed function */
/* Is the kernel the same whichever of its threads are one warp? No operation of a warp, nothing that says which it is, no waiting for
 * other threads, and barriers that the whole block comes to by one way (regions have been looked for). */
bool ir_shows_no_warps(const struct ir_func *func);
void ir_choose_lanes(struct ir_func *func); /* width and chunks, from the options and what the kernel does */
void ir_analyze(struct ir_func *func);
/* Finds loops that wait; true where lanes of a group may wait for one another, in such a loop or at barriers on ways of their own, so
 * that the kernel takes the scalar form. */
bool ir_find_waiting(struct ir_func *func);
/* What a warp whose lanes run in step would hang at, or get wrong; NULL: nothing that is known. Lanes that only wait for what nobody in the
 * kernel writes are no such thing. *within: what they wait for is done in this very function, as far as can be seen. */
const char *ir_find_apart(const struct ir_func *func, bool *within);
bool ir_waits_at_mbarrier(const struct ir_inst *inst);
/* Has the analysed function barriers with numbers, counts or results? */
bool ir_has_numbered_barriers(const struct ir_func *func);
/* For a kernel that waits in such ways: each thread goes on by itself (resume.c). The function is in SSA form again, not analysed. */
void ir_make_resumable(struct ir_func *func);
/* Could a chunk of such 32-bit numbers come round to where it began? Then it is not affine in 64 bits. */
bool ir_stride_is_far(int64_t stride);
/* Gives loops that several blocks lead into a block in front: regions then meet there and not at the loop. */
void ir_add_preheaders(struct ir_func *func);
/* Whether it is worth looking for regions, and ir_analyze() for the block as a whole. */
bool ir_may_have_regions(const struct ir_func *func);
void ir_analyze_block(struct ir_func *func);
void ir_find_regions(struct ir_func *func);
/* Takes barriers away that regions need not end at: true where it did, and regions must be found again. */
bool ir_drop_barriers(struct ir_func *func);
/* The operand that the parameter was read with which a memory operand's address is counted from (root.c); NULL: not known. */
const struct ptx_operand *ir_find_root(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op);
bool ir_same_root(const struct ptx_operand *a, const struct ptx_operand *b);
/* Might threads of a block hand something to each other in memory, with no barrier between, from one group of `lanes` to another? */
bool ir_hands_over(struct ir_func *func, unsigned lanes);
void ir_mark_raw_nans(struct ir_func *func);
/* Is the instruction's one result, of 32 bits, one of its operands as it is? */
bool ir_copies_bits(const struct ir_func *func, const struct ir_inst *inst);
/* An integer of a float's bits that shows a NaN's bits to nobody: it is shifted, and what it is multiplied with is NaN too. */
bool ir_absorbs_nan(const struct ir_func *func, const struct ir_inst *inst);
/* Where `op` is what a shuffle moves: its result of 32 bits, which has the operand's bits from another lane. Else IR_NONE. */
uint32_t ir_shuffled_result(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op);
void ir_print(const struct ir_func *func, struct text *out);
bool ir_verify(const struct ir_func *func, struct text *why); /* DRAGOMAN_VALIDATE=1 */

/* The object that a variable is in this instance; NULL for module variables (a symbol). */
const struct ir_object *ir_find_object(const struct ir_func *func, uint32_t instance, const struct ptx_variable *variable);

#endif
