/* Matrix products of fragments, for mma, mma.sp and wmma.mma. */
#ifndef DRAGOMAN_MMA_H
#define DRAGOMAN_MMA_H

#include "codegen/arith.h"
#include "codegen/emit.h"

/* One product of tiles: D (m × 8) = A (m × k) B (k × 8) + C. Fragments are as PTX ISA 9.7.14.5 lays them out, a tile's
 * registers each as 32 words (or doubles) in the order of the lanes: register r of lane l is word 32 r + l.
 *
 * `own`: the form for a thread of its own, as on GPUs, which makes the places of D that it holds: rows g and g + 8 and columns 2 t and 2 t + 1,
 * of lane 4 g + t. Of a register it has only the words it needs: of A those of lanes 4 g to 4 g + 3, of B of lanes 8 t to 8 t + 7, of C and
 * D its own; and scales of its rows and columns, as rows 0 and 1 and columns 0 and 1. */
enum { MMA_OWN_A = 4, MMA_OWN_B = 8 };
enum { MMA_POINTERS = 5, MMA_SCALES = 16 + 8 /* of a block */ };

struct mma_tile {
	unsigned m, k;                /* 8 or 16 rows */
	enum ptx_type a, b, c, d;
	bool satfinite, bit_and;      /* bit_and: of .b1; else xor */
	bool sparse;                  /* half of A's places hold nothing: a step has twice as many */
	bool newest;                  /* .kind::…, of sm_120a; .e2m1x2 are then elements of 4 bits side by side, .e2m1 bits 2 to 5 of a byte */
	unsigned block;               /* elements along k that share a scale; 0: there are none */
	enum rounding rounding;       /* of .f64 */
	bool own;
};

unsigned mma_elements(enum ptx_type type);        /* of one register */
unsigned mma_register_bits(enum ptx_type type);   /* 64 for .f64, else 32 */
unsigned mma_a_registers(const struct mma_tile *tile);
unsigned mma_b_registers(const struct mma_tile *tile);
unsigned mma_c_registers(const struct mma_tile *tile, enum ptx_type type);

/* A function void (ptr a, ptr b, ptr c, ptr d, ptr scales) of the module that makes the product; made on first use. NULL and an error where
 * the types are not known. Scales are doubles: for each block 16 of A's rows and 8 of B's columns. */
LLVMValueRef mma_function(struct emitter *e, const struct mma_tile *tile);

/* mma_fast.c: likewise, but of all tiles of an instruction, one after the other in each array; column tiles of A's first row come first. NULL where
 * there is no faster way than mma_function() for each. */
LLVMValueRef mma_fast_function(struct emitter *e, const struct mma_tile *tile, unsigned row_tiles, unsigned column_tiles);

/* A function of ours, called from the kernel and never inlined: what is long and there often. */
LLVMValueRef add_own_function(struct emitter *e, const char *name, LLVMTypeRef type);
/* A function of that name with five pointers, to which no code has been added yet. */
LLVMValueRef mma_add_function(struct emitter *e, const char *name);

/* mma_layout.c: functions void (ptr, ptr, ptr, ptr, ptr) that lay fragments out for mma_function().
 * Of mma.sp: (sparse A, metadata, A of the tile, -). `selector` tells which lanes hold the metadata. */
LLVMValueRef mma_expand_function(struct emitter *e, const struct mma_tile *tile, unsigned selector);
/* Of .m8n8k4 of .f16, four products of a quarter of the warp each: the whole product of (a, b, c, d) as the instruction has them. */
LLVMValueRef mma_quarters_function(struct emitter *e, const struct mma_tile *tile, bool a_by_columns, bool b_by_rows);

#endif
