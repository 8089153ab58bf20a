/* Number formats of 8, 6 and 4 bits (PTX ISA 5.2.3): e4m3, e5m2, e2m3, e3m2, e2m1, and the scale ue8m0. */
#ifndef DRAGOMAN_MINIFLOAT_H
#define DRAGOMAN_MINIFLOAT_H

#include "codegen/emit.h"

struct minifloat {
	uint8_t bits, mantissa, bias;
	uint8_t spacing; /* bits from one to the next in a packed register: 8, or 4 */
	float largest;
	uint8_t nan;     /* what NaN becomes */
	uint8_t top;     /* the code of `largest` */
};

const struct minifloat *minifloat_format(enum ptx_type type); /* NULL: it is none; packed types tell their element's */
LLVMValueRef minifloat_encode(struct emitter *e, const struct minifloat *format, LLVMValueRef v); /* float piece -> i32 codes */
LLVMValueRef minifloat_decode(struct emitter *e, const struct minifloat *format, LLVMValueRef code); /* i32 -> float piece */
/* Scales of blocks, as their bits in an i32 piece: .ue4m3, else .ue8m0; as double. */
LLVMValueRef minifloat_scale(struct emitter *e, bool e4m3, LLVMValueRef code);
void emit_minifloat(struct emitter *e, const struct ptx_instruction *in);
void emit_stochastic(struct emitter *e, const struct ptx_instruction *in); /* cvt.rs */

#endif
