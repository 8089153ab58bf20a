/* Matrix products of fragments, for mma, mma.sp and wmma.mma. */
#ifndef DRAGOMAN_MMA_H
#define DRAGOMAN_MMA_H

#include "codegen/emit.h"

/* One product of tiles: D (m × 8) = A (m × k) B (k × 8) + C. Fragments are as PTX ISA 9.7.14.5 lays them out, a tile's
 * registers each as 32 words (or doubles) in the order of the lanes: register r of lane l is word 32 r + l. */
struct mma_tile {
	unsigned m, k;                /* 8 or 16 rows */
	enum ptx_type a, b, c, d;
	bool satfinite, bit_and;      /* bit_and: of .b1; else xor */
};

unsigned mma_elements(enum ptx_type type);        /* of one register */
unsigned mma_register_bits(enum ptx_type type);   /* 64 for .f64, else 32 */
unsigned mma_a_registers(const struct mma_tile *tile);
unsigned mma_b_registers(const struct mma_tile *tile);
unsigned mma_c_registers(const struct mma_tile *tile, enum ptx_type type);

/* A function void (ptr a, ptr b, ptr c, ptr d) of the module that makes the product; made on first use. NULL and an error where
 * the types are not known. */
LLVMValueRef mma_function(struct emitter *e, const struct mma_tile *tile);

#endif
