/* What an instruction's emitter sees. Read this page before writing one.
 *
 * A kernel is emitted for groups of `lanes` threads as `chunks` native vectors of `width` lanes (1,1 is the scalar form, also
 * what a GPU target uses). An emitter never asks which: it is called for one *piece* of the work at a time, and
 * everything it gets and makes has the type of that piece: T, or <width x T>. So
 *
 *     void emit_bfind(struct emitter *e, const struct ptx_instruction *in)
 *     {
 *             LLVMValueRef a = arg(e, 1);                   // operand 1, as its row types it
 *             ...
 *             set_result(e, 0, LLVMBuildAdd(e->b, a, k(e, PTX_U32, 1), ""));
 *     }
 *
 * is all there is for a pure instruction: the core calls it once with scalars where all operands are uniform, else once a chunk, and
 * once more on chunk bases (lane 0) where addresses need the scalar chain. Guards (@p), destination `_`, masks, phis and NaN
 * canonicalisation are the core's business. Instructions that touch memory are called the same way, with e->mask
 * holding the lanes that take part. Group instructions (ISA_CONVERGENT, ISA_BARRIER, ISA_CALL, ISA_EFFECT) are called once;
 * they use arg_chunk()/set_result_chunk() and mask_chunk().
 *
 * Values of a .pred are i1 / <width x i1>. Integers and floats come as the LLVM type of the operand's PTX type (u and s alike iN; .f16 half,
 * .bf16 as i16 bits, f16x2 and other packed types as the integer of their size). Result types likewise. */
#ifndef DRAGOMAN_EMIT_H
#define DRAGOMAN_EMIT_H

#include <llvm-c/Core.h>

#include "ir/float_range.h"

enum { MAX_CHUNKS = 32, MAX_WIDTH = 64 }; /* 16 lanes to a vector; packed registers are handled as up to four times that */

enum piece { PIECE_UNIFORM, PIECE_CHUNK, PIECE_BASE, PIECE_GROUP };

struct target;
struct emitter {
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef b;               /* stands at the end of the code emitted so far */
	LLVMValueRef function;
	const struct target *target;
	struct ir_func *ir;
	struct ptx_diagnostic *diagnostic;
	unsigned width, chunks, lanes;

	/* the piece at hand */
	const struct ir_inst *inst;
	enum piece piece;
	unsigned chunk;                 /* PIECE_CHUNK, PIECE_BASE */
	unsigned w;                     /* lanes of this piece's values: 1 or width */
	LLVMValueRef mask;              /* i1 / <width x i1>: lanes that take part; NULL: all of them, known at compile time */

	/* function-wide */
	LLVMValueRef block;             /* struct cpu_block * */
	LLVMValueRef first_thread;      /* i32: number of the group's lane 0 in the block */
	struct emitter_state *state;    /* the core's own (codegen.c) */
};

/* ---- types and constants of the current piece ------------------------------------------------ */

LLVMTypeRef lane_type(struct emitter *e, enum ptx_type type);  /* of one lane: i32, half, float, i1 … */
unsigned type_bytes(LLVMTypeRef type); /* in memory: of one number, or of all of a vector's */
LLVMTypeRef piece_type(struct emitter *e, enum ptx_type type); /* lane_type or a vector of it */
LLVMTypeRef piece_int(struct emitter *e, unsigned bits);
LLVMTypeRef piece_of(struct emitter *e, LLVMTypeRef lane);     /* lane or <w x lane> */
LLVMValueRef k(struct emitter *e, enum ptx_type type, uint64_t value); /* integer constant, splat */
LLVMValueRef kf(struct emitter *e, enum ptx_type type, double value);  /* f16/f32/f64 constant, splat */
LLVMValueRef kbits(struct emitter *e, unsigned bits, uint64_t value);
LLVMValueRef splat(struct emitter *e, LLVMValueRef scalar);    /* to the current piece's width */
LLVMValueRef as_int(struct emitter *e, LLVMValueRef v);        /* bitcasts float/half/double pieces to iN */
LLVMValueRef as_type(struct emitter *e, LLVMValueRef v, enum ptx_type type); /* bitcast of equal size */
LLVMValueRef resize(struct emitter *e, LLVMValueRef v, unsigned bits, bool is_signed); /* trunc / sext / zext */

/* ---- operands and results ---------------------------------------------------------------------- */

const struct ptx_operand *operand(struct emitter *e, unsigned index); /* in written order, results included; NULL if absent */
enum ptx_type operand_type(struct emitter *e, unsigned index);        /* as the row types it, slots resolved */
/* The instruction that alone makes a register operand's value, for all lanes; NULL: there is none. */
const struct ptx_instruction *definition_of(struct emitter *e, const struct ptx_operand *op);
/* Which numbers an f32 operand may be (ir/float_range.h). */
struct ir_float_range float_range_of(struct emitter *e, unsigned index);
bool has(struct emitter *e, enum ptx_mod mod);                        /* the instruction's spelling has .mod */
LLVMValueRef arg(struct emitter *e, unsigned index);                  /* by operand_type(); wider registers are truncated */
LLVMValueRef arg_typed(struct emitter *e, unsigned index, enum ptx_type type);
LLVMValueRef value_of(struct emitter *e, const struct ptx_operand *op, enum ptx_type type); /* any nested operand */
/* The same without making NaNs canonical: for arithmetic of that float type, and nothing else. arg() of a row whose operand has a float
 * type already does this. */
LLVMValueRef raw_arg(struct emitter *e, unsigned index);              /* an f32 register, of whatever use */
bool copies_raw(struct emitter *e, unsigned index);                   /* of a copy whose result must be canonical: must it be made so? */
void set_result(struct emitter *e, unsigned index, LLVMValueRef value);
void set_value(struct emitter *e, const struct ptx_operand *op, LLVMValueRef value); /* any nested result operand; `_` is dropped.
	a narrower value than the register is zero- or sign-extended as the operand's type says */
void set_pair(struct emitter *e, unsigned index, LLVMValueRef first, LLVMValueRef second); /* d|p, p|q */

/* Group instructions. chunk counts from 0 to e->chunks - 1 (lane = chunk * width + i). Uniform operands are splat. */
LLVMValueRef arg_chunk(struct emitter *e, const struct ptx_operand *op, enum ptx_type type, unsigned chunk);
void set_value_chunk(struct emitter *e, const struct ptx_operand *op, LLVMValueRef value, unsigned chunk);
void set_value_uniform(struct emitter *e, const struct ptx_operand *op, LLVMValueRef scalar);
LLVMValueRef mask_chunk(struct emitter *e, unsigned chunk);    /* <width x i1> (i1 in the scalar form); never NULL */
LLVMValueRef mask_bits(struct emitter *e);                     /* i32: bit i = lane i of the group takes part */
LLVMValueRef bits_of_mask(struct emitter *e, LLVMValueRef const *chunk_masks); /* the same of any masks, one a chunk */
LLVMValueRef mask_of_bits(struct emitter *e, LLVMValueRef bits, unsigned chunk); /* i32 -> <width x i1> */
bool operand_is_uniform(struct emitter *e, const struct ptx_operand *op);
LLVMValueRef arg_uniform(struct emitter *e, const struct ptx_operand *op, enum ptx_type type); /* scalar; only if operand_is_uniform */

/* ---- code ---------------------------------------------------------------------------------------- */

/* Calls an overloaded LLVM intrinsic on the type of the first argument ("llvm.ctpop"). */
LLVMValueRef intrinsic(struct emitter *e, const char *name, LLVMValueRef const *arguments, unsigned count);
LLVMValueRef intrinsic1(struct emitter *e, const char *name, LLVMValueRef a);
LLVMValueRef machine_intrinsic(struct emitter *e, const char *name, LLVMValueRef const *arguments, unsigned count); /* one that is not overloaded */
LLVMValueRef intrinsic2(struct emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef intrinsic3(struct emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef select_(struct emitter *e, LLVMValueRef condition, LLVMValueRef yes, LLVMValueRef no);
LLVMValueRef lane_get(struct emitter *e, LLVMValueRef piece, unsigned lane); /* extractelement, or the scalar itself */
LLVMValueRef lane_put(struct emitter *e, LLVMValueRef piece, LLVMValueRef scalar, unsigned lane);
LLVMValueRef undef_piece(struct emitter *e, LLVMTypeRef lane);
LLVMValueRef flat_pointer(struct emitter *e, LLVMValueRef pointer); /* of whatever address space, as one of 0 */
LLVMBasicBlockRef new_block(struct emitter *e, const char *name); /* appended to the function; position the builder yourself */
/* Runs emit_lane(e, lane, data) for each lane that takes part, one after the other, under a branch on its mask bit. */
void for_each_active_lane(struct emitter *e, void (*emit_lane)(struct emitter *, unsigned lane, void *), void *data);
LLVMValueRef any_lane(struct emitter *e, LLVMValueRef mask); /* i1 */
LLVMValueRef all_lanes(struct emitter *e, LLVMValueRef mask);

/* struct cpu_block / cpu_launch fields by offset; services by offset of struct cpu_services. */
LLVMValueRef block_field(struct emitter *e, LLVMTypeRef type, size_t offset);  /* a load, marked invariant */
LLVMValueRef launch_field(struct emitter *e, LLVMTypeRef type, size_t offset);
LLVMValueRef call_service(struct emitter *e, size_t offset, LLVMTypeRef result, LLVMTypeRef const *types, LLVMValueRef const *arguments,
			  unsigned count); /* void * block is passed first by this function */
LLVMValueRef thread_index(struct emitter *e); /* i32 piece: number of each lane's thread in the block (chunk/base/uniform aware) */
LLVMValueRef symbol_address(struct emitter *e, const struct ptx_symbol *symbol); /* i64: of a module variable or function */

/* Where a memory operand points. */
struct address {
	enum { ADDRESS_ONE, ADDRESS_STRIDED, ADDRESS_LANES } kind;
	LLVMValueRef pointer;  /* ONE, STRIDED: ptr, of lane 0; LANES: <w x ptr> (a ptr in scalar pieces, where kind is always ONE) */
	int64_t stride;        /* STRIDED: bytes between lanes */
	unsigned align;        /* bytes that pointer is known to be a multiple of (at least the access size, PTX 5.x) */
	unsigned flip;         /* STRIDED: the lane is at the place of lane ^ flip (ir/bits.c); only of emit_address_in_any_order() */
	bool own;              /* STRIDED, in shared memory, not below its start: nobody else is there while this block's thread runs */
	bool inside;           /* own, and within the window whether lanes take part or not */
	LLVMValueRef window, offsets; /* LANES in shared memory: the same as an i64 and <w x i32>, unsigned; NULL: not known so */
	LLVMValueRef words;    /* of offsets: the load that they come of (side_by_side.c), or NULL */
};
LLVMValueRef local_window(struct emitter *e); /* i64 piece: where each lane's own local memory starts */
/* Resolves [a+offset] in `space` to generic host pointers: shared and local windows added, parameters found. */
struct address emit_address(struct emitter *e, const struct ptx_operand *op, enum ptx_space space, unsigned access_bytes);
/* The same for load_lanes() and store_lanes() alone, which know of lanes that are side by side in another order. */
struct address emit_address_in_any_order(struct emitter *e, const struct ptx_operand *op, enum ptx_space space, unsigned access_bytes);
/* Memory of `address` as a piece of `lane` values. Lanes that take no part read anything, and write nothing, or in memory of the block's own
 * what is there. `is_volatile` also orders. */
LLVMValueRef load_lanes(struct emitter *e, struct address address, LLVMTypeRef lane, bool is_volatile);
void store_lanes(struct emitter *e, struct address address, LLVMValueRef value, bool is_volatile);

/* The first error ends the kernel: message with the instruction's text and caret; code emitted after it does not matter. */
void unsupported(struct emitter *e, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
