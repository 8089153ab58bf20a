/* Matrix products as the tensor cores of Ampere compute them (arXiv 2511.10909, 2512.07004): products are exact; the products of a
 * step and the addend are aligned to the largest exponent and cut to 24 fractional bits, added exactly, and rounded once, towards zero to
 * f32 or to nearest to f16. A step is 8 products of 16-bit and 4 of tf32 elements, of twice as many places in a sparse product. An
 * operand's exponent is that of its format, so subnormals are not normalised; zeros have none. The largest exponent is taken to be at least
 * 2^-132 (f16: 2^-20). 8-bit floats are as on Ada: 16 products a step, 13 fractional bits, which an f32 result keeps too. f64 is a
 * chain of fma in the order of k; integers are exact, and saturate after each 16 products of bytes. The kinds of sm_120a are one step, of
 * 25 fractional bits, 35 where both factors have 4 bits, scales taken into the products (MMA-Sim's model of Blackwell; no recordings).
 *
 * Each kind of product is one function of the module. A vector holds the 8 columns of a row of D, or the 2 that are the thread's own (mma.h);
 * its elements of A are broadcast.
 * Terms are added as 32-bit integers: an aligned term is below 2^26. */
#include "codegen/mma.h"
#include "codegen/state.h"

#include <llvm-c/DebugInfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/arith.h"
#include "codegen/minifloat.h"

enum {
	COLUMNS = 8,
	ZERO_EXPONENT = -1000,    /* of an element; two of them are still above ZERO_ADDEND */
	ZERO_ADDEND = -3000,
	SPECIAL_EXPONENT = 10000,
	MAX_STEP = 32,
	MODERATE = 40,            /* exponents up to here, both ways: products and scales stay normal floats */
	LEAST_NARROW = -100,      /* below all products of such; its scale is still a float */
	LEAST_F32 = -132, LEAST_F16 = -20,
	SATURATED = 16,           /* products that are added before integers saturate */
	NEWEST_FRACTION = 25, PACKED_FRACTION = 35,
};

struct builder {
	struct emitter *e;
	const struct mma_tile *tile;
	unsigned elements, blocks;        /* of a register; registers along k */
	unsigned rows, columns;           /* that are made; in the own form fewer than the tile has */
	LLVMValueRef a, b, c, d, scales;  /* parameters */
	LLVMValueRef a_value, a_exponent; /* A by element, in the fragments' order */
	LLVMValueRef b_value, b_exponent; /* B as k rows of 8 */
	LLVMValueRef row;                 /* i64: of D, being made */
	LLVMValueRef beyond;              /* a mask by lane, of wide formats: see note_range() */
	bool narrow;                      /* products are made of values; else of fractions, which have no range */
};

unsigned mma_register_bits(enum ptx_type type)
{
	return type == PTX_F64 ? 64 : 32;
}

/* fp6 and fp4 elements take a byte each in matrix registers, pairs of fp4 one for both. */
static unsigned element_bits(enum ptx_type type)
{
	const struct minifloat *format = minifloat_format(type);
	if (type == PTX_E2M1X2)
		return 4;
	return format ? 8 : type == PTX_TF32 ? 32 : ptx_type_bits(type);
}

unsigned mma_elements(enum ptx_type type)
{
	return mma_register_bits(type) / element_bits(type);
}

unsigned mma_a_registers(const struct mma_tile *tile)
{
	return tile->m / 8 * tile->k / (4 * mma_elements(tile->a));
}

unsigned mma_b_registers(const struct mma_tile *tile)
{
	return tile->k / (4 * mma_elements(tile->b));
}

unsigned mma_c_registers(const struct mma_tile *tile, enum ptx_type type)
{
	return tile->m / 8 * (type == PTX_F16 ? 1 : 2);
}

static bool is_float_product(const struct mma_tile *tile)
{
	return minifloat_format(tile->a) || tile->a == PTX_F16 || tile->a == PTX_BF16 || tile->a == PTX_TF32;
}

/* Formats whose products, and what they are scaled by, stay well inside a float's range. */
static bool is_narrow(enum ptx_type type)
{
	return type == PTX_F16 || minifloat_format(type);
}

static unsigned step_of(const struct mma_tile *tile)
{
	unsigned step = tile->a == PTX_TF32 ? 4 : tile->a == PTX_F16 || tile->a == PTX_BF16 ? 8 : 16;
	return tile->sparse ? 2 * step : step;
}

static unsigned fraction_bits(const struct mma_tile *tile)
{
	return minifloat_format(tile->a) ? 13 : 24;
}

/* ---- small things ---------------------------------------------------------------------------------------------- */

static LLVMTypeRef i32_type(struct builder *b)
{
	return LLVMInt32TypeInContext(b->e->context);
}

static LLVMTypeRef i64_type(struct builder *b)
{
	return LLVMInt64TypeInContext(b->e->context);
}

static LLVMTypeRef f32_type(struct builder *b)
{
	return LLVMFloatTypeInContext(b->e->context);
}

static LLVMValueRef k64(struct builder *b, uint64_t value)
{
	return LLVMConstInt(i64_type(b), value, false);
}

static LLVMValueRef element_pointer(struct builder *b, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef index)
{
	return LLVMBuildGEP2(b->e->b, type, base, &index, 1, "");
}

static LLVMValueRef load_at(struct builder *b, LLVMTypeRef type, LLVMTypeRef element, LLVMValueRef base, LLVMValueRef index, unsigned align)
{
	LLVMValueRef v = LLVMBuildLoad2(b->e->b, type, element_pointer(b, element, base, index), "");
	LLVMSetAlignment(v, align);
	return v;
}

static void store_at(struct builder *b, LLVMValueRef v, LLVMTypeRef element, LLVMValueRef base, LLVMValueRef index, unsigned align)
{
	LLVMSetAlignment(LLVMBuildStore(b->e->b, v, element_pointer(b, element, base, index)), align);
}

static LLVMValueRef array(struct builder *b, LLVMTypeRef element, unsigned count)
{
	LLVMValueRef a = LLVMBuildAlloca(b->e->b, LLVMArrayType2(element, count), "");
	LLVMSetAlignment(a, 32);
	return flat_pointer(b->e, a);
}

/* for (i = 0; i < count; i += step): leaves the builder in the body; loop_close() ends it. */
struct loop {
	LLVMBasicBlockRef body, before;
	LLVMValueRef index;
	unsigned count, step;
};

static struct loop loop_open(struct builder *b, unsigned count, unsigned step)
{
	struct emitter *e = b->e;
	struct loop loop = { .body = new_block(e, "loop"), .before = LLVMGetInsertBlock(e->b), .count = count, .step = step };
	LLVMValueRef zero = k64(b, 0);
	LLVMBuildBr(e->b, loop.body);
	LLVMPositionBuilderAtEnd(e->b, loop.body);
	loop.index = LLVMBuildPhi(e->b, i64_type(b), "");
	LLVMAddIncoming(loop.index, &zero, &loop.before, 1);
	return loop;
}

/* LLVM would unroll loops over arrays of a thread's own to thousands of instructions. */
static void keep_rolled(struct emitter *e, LLVMValueRef branch)
{
	LLVMMetadataRef disable = LLVMMDStringInContext2(e->context, "llvm.loop.unroll.disable", 24);
	LLVMMetadataRef self = LLVMTemporaryMDNode(e->context, NULL, 0);
	LLVMMetadataRef nodes[] = { self, LLVMMDNodeInContext2(e->context, &disable, 1) }, loop = LLVMMDNodeInContext2(e->context, nodes, 2);
	LLVMMetadataReplaceAllUsesWith(self, loop);
	LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->context, "llvm.loop", 9), LLVMMetadataAsValue(e->context, loop));
}

static void loop_close(struct builder *b, struct loop loop)
{
	struct emitter *e = b->e;
	LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b), after = new_block(e, "after");
	LLVMValueRef next = LLVMBuildAdd(e->b, loop.index, k64(b, loop.step), "");
	LLVMAddIncoming(loop.index, &next, &end, 1);
	LLVMValueRef branch = LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, k64(b, loop.count), ""), loop.body, after);
	if (b->tile->own)
		keep_rolled(e, branch);
	LLVMPositionBuilderAtEnd(e->b, after);
}

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* A piece of integers that hold an element each in their low bits, as a float piece. */
static LLVMValueRef element_value(struct emitter *e, enum ptx_type type, LLVMValueRef bits)
{
	const struct minifloat *format = minifloat_format(type);
	if (format) {
		bits = resize(e, bits, 32, false);
		return minifloat_decode(e, format, type == PTX_E2M1 ? lshr_(e, bits, kbits(e, 32, 2)) : bits);
	}
	switch (type) {
	case PTX_F16:
		return to_float(e, as_type(e, resize(e, bits, 16, false), PTX_F16));
	case PTX_BF16:
		return bf16_to_float(e, resize(e, bits, 16, false));
	case PTX_TF32:
		return as_type(e, and_(e, bits, kbits(e, 32, 0xffffe000)), PTX_F32);
	default: {
		LLVMTypeRef f32 = piece_type(e, PTX_F32);
		bits = resize(e, bits, element_bits(type), false);
		return type_is_signed(type) ? LLVMBuildSIToFP(e->b, bits, f32, "") : LLVMBuildUIToFP(e->b, bits, f32, "");
	}
	}
}

static int least_exponent(enum ptx_type type)
{
	const struct minifloat *format = minifloat_format(type);
	return format ? 1 - format->bias : type == PTX_F16 ? -14 : -126;
}

/* The exponent in its format. Zeros and specials (infinity, NaN) have ones of their own. */
static LLVMValueRef element_exponent(struct emitter *e, enum ptx_type type, LLVMValueRef v, int zero)
{
	LLVMValueRef magnitude = and_(e, as_int(e, v), kbits(e, 32, 0x7fffffff)), field = lshr_(e, magnitude, kbits(e, 32, 23)), r;
	r = sub_(e, field, kbits(e, 32, 127));
	r = intrinsic2(e, "llvm.smax", r, kbits(e, 32, (uint64_t)least_exponent(type)));
	r = select_(e, icmp_(e, LLVMIntEQ, field, kbits(e, 32, 0xff)), kbits(e, 32, SPECIAL_EXPONENT), r);
	/* as integers: a comparison of floats that were halves is made of halves, lane by lane */
	return select_(e, icmp_(e, LLVMIntEQ, magnitude, kbits(e, 32, 0)), kbits(e, 32, (uint64_t)zero), r);
}

/* v / 2^exponent, in ±[1, 2) or below; specials stay. */
static LLVMValueRef fraction_of(struct emitter *e, LLVMValueRef v)
{
	LLVMValueRef bits = as_int(e, v), field = and_(e, bits, kbits(e, 32, 0x7f800000)), normal;
	normal = as_type(e, or_(e, and_(e, bits, kbits(e, 32, 0x807fffff)), kbits(e, 32, 0x3f800000)), PTX_F32);
	LLVMValueRef small = fmul_(e, v, kf(e, PTX_F32, 0x1p126));
	normal = select_(e, icmp_(e, LLVMIntEQ, field, kbits(e, 32, 0)), small, normal);
	return select_(e, icmp_(e, LLVMIntEQ, field, kbits(e, 32, 0x7f800000)), v, normal);
}

/* An element of a wide format that a product of narrow ones could not have. */
static void note_range(struct builder *b, LLVMValueRef exponent)
{
	struct emitter *e = b->e;
	if (!b->beyond)
		return;
	LLVMValueRef out = icmp_(e, LLVMIntUGT, add_(e, exponent, kbits(e, 32, MODERATE)), kbits(e, 32, 2 * MODERATE));
	out = and_(e, out, icmp_(e, LLVMIntNE, exponent, kbits(e, 32, (uint64_t)ZERO_EXPONENT)));
	LLVMValueRef before = load_at(b, piece_int(e, 32), i32_type(b), b->beyond, k64(b, 0), 32);
	store_at(b, or_(e, before, LLVMBuildSExt(e->b, out, piece_int(e, 32), "")), i32_type(b), b->beyond, k64(b, 0), 32);
}

static void take_apart(struct builder *b, enum ptx_type type, LLVMValueRef bits, LLVMValueRef *value, LLVMValueRef *exponent)
{
	*value = element_value(b->e, type, bits);
	*exponent = element_exponent(b->e, type, *value, ZERO_EXPONENT);
	note_range(b, *exponent);
}

static LLVMTypeRef element_type(struct builder *b, enum ptx_type type)
{
	return LLVMIntTypeInContext(b->e->context, element_bits(type));
}

/* All of A, element by element. */
static void prepare_a(struct builder *b)
{
	struct emitter *e = b->e;
	const struct mma_tile *tile = b->tile;
	LLVMTypeRef element = element_type(b, tile->a);
	struct loop loop = loop_open(b, b->rows * tile->k, COLUMNS);
	e->w = COLUMNS;
	LLVMValueRef start = element_bits(tile->a) < 8 ? LLVMBuildLShr(e->b, loop.index, k64(b, 1), "") : loop.index, value, exponent;
	LLVMTypeRef unit = element_bits(tile->a) < 8 ? LLVMInt8TypeInContext(e->context) : element;
	LLVMValueRef bits = load_at(b, LLVMVectorType(element, COLUMNS), unit, b->a, start, 4);
	if (is_float_product(tile)) {
		take_apart(b, tile->a, bits, &value, &exponent);
		store_at(b, exponent, i32_type(b), b->a_exponent, loop.index, 32);
	} else {
		value = element_value(e, tile->a, bits);
	}
	store_at(b, value, f32_type(b), b->a_value, loop.index, 32);
	loop_close(b, loop);
	e->w = b->columns;
}

/* The words of register `block` whose lane is `t` in its group of four: one for each column. */
static LLVMValueRef column_words(struct builder *b, unsigned block, unsigned t, LLVMTypeRef word)
{
	struct emitter *e = b->e;
	LLVMValueRef order[COLUMNS], all = load_at(b, LLVMVectorType(word, 4 * b->columns), word, b->b, k64(b, 4 * b->columns * block), 8);
	for (unsigned i = 0; i < b->columns; i++)
		order[i] = LLVMConstInt(i32_type(b), 4 * i + t, false);
	return LLVMBuildShuffleVector(e->b, all, LLVMGetUndef(LLVMTypeOf(all)), LLVMConstVector(order, b->columns), "");
}

static void prepare_b_element(struct builder *b, LLVMValueRef element, LLVMValueRef at)
{
	LLVMValueRef value, exponent;
	if (is_float_product(b->tile)) {
		take_apart(b, b->tile->b, element, &value, &exponent);
		store_at(b, exponent, i32_type(b), b->b_exponent, at, 4 * b->columns);
	} else {
		value = element_value(b->e, b->tile->b, element);
	}
	store_at(b, value, f32_type(b), b->b_value, at, 4 * b->columns);
}

/* Of one thread, and in the quick form: a loop over the words that all columns have. */
static void prepare_b_in_loop(struct builder *b)
{
	struct emitter *e = b->e;
	unsigned bits = element_bits(b->tile->b);
	struct loop loop = loop_open(b, 4 * b->blocks, 1);
	LLVMValueRef words = LLVMGetUndef(piece_int(e, 32)), block = LLVMBuildAnd(e->b, loop.index, k64(b, ~UINT64_C(3)), "");
	/* 4 * columns * block + t */
	LLVMValueRef first = LLVMBuildAdd(e->b, loop.index, LLVMBuildMul(e->b, block, k64(b, b->columns - 1), ""), "");
	for (unsigned column = 0; column < b->columns; column++) {
		LLVMValueRef at = LLVMBuildAdd(e->b, first, k64(b, 4 * column), "");
		words = lane_put(e, words, load_at(b, i32_type(b), i32_type(b), b->b, at, 4), column);
	}
	LLVMValueRef to = LLVMBuildMul(e->b, loop.index, k64(b, b->elements * b->columns), "");
	for (unsigned i = 0; i < b->elements; i++)
		prepare_b_element(b, lshr_(e, words, kbits(e, 32, i * bits)), LLVMBuildAdd(e->b, to, k64(b, i * b->columns), ""));
	loop_close(b, loop);
}

static void prepare_b(struct builder *b)
{
	struct emitter *e = b->e;
	const struct mma_tile *tile = b->tile;
	unsigned bits = element_bits(tile->b);
	for (unsigned k = 0; k < tile->k; k++) {
		unsigned in_block = k % (4 * b->elements);
		LLVMValueRef words = column_words(b, k / (4 * b->elements), in_block / b->elements, i32_type(b));
		prepare_b_element(b, lshr_(e, words, kbits(e, 32, in_block % b->elements * bits)), k64(b, k * b->columns));
	}
}

/* Index of A's element (row, k) in the fragments' order. */
static LLVMValueRef a_index_at(struct builder *b, LLVMValueRef k)
{
	LLVMBuilderRef builder = b->e->b;
	unsigned width = 4 * b->elements; /* a power of two */
	LLVMValueRef in_block = LLVMBuildAnd(builder, k, k64(b, width - 1), ""), block = LLVMBuildSub(builder, k, in_block, "");
	LLVMValueRef in_row = LLVMBuildAdd(builder, LLVMBuildMul(builder, b->row, k64(b, width), ""), in_block, "");
	return LLVMBuildAdd(builder, in_row, LLVMBuildMul(builder, block, k64(b, b->rows), ""), "");
}

static LLVMValueRef a_index(struct builder *b, unsigned k)
{
	return a_index_at(b, k64(b, k));
}

static LLVMValueRef a_at(struct builder *b, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef k)
{
	return splat(b->e, load_at(b, type, type, base, a_index_at(b, k), 4));
}

static LLVMValueRef b_at(struct builder *b, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef k)
{
	LLVMValueRef index = LLVMBuildMul(b->e->b, k, k64(b, b->columns), "");
	return load_at(b, LLVMVectorType(type, b->columns), type, base, index, 4 * b->columns);
}

static LLVMValueRef a_broadcast(struct builder *b, LLVMTypeRef type, LLVMValueRef base, unsigned k)
{
	return a_at(b, type, base, k64(b, k));
}

static LLVMValueRef b_row(struct builder *b, LLVMTypeRef type, LLVMValueRef base, unsigned k)
{
	return b_at(b, type, base, k64(b, k));
}

/* v = step(v, k, data) for each k: one after the other, or, of one thread, in a loop. */
typedef LLVMValueRef fold_step(struct builder *b, LLVMValueRef v, LLVMValueRef k, const LLVMValueRef *data);

static LLVMValueRef fold(struct builder *b, LLVMValueRef v, unsigned first, unsigned count, fold_step *step, const LLVMValueRef *data)
{
	if (!b->tile->own) {
		for (unsigned k = first; k < first + count; k++)
			v = step(b, v, k64(b, k), data);
		return v;
	}
	struct loop loop = loop_open(b, count, 1);
	LLVMValueRef phi = LLVMBuildPhi(b->e->b, LLVMTypeOf(v), "");
	LLVMAddIncoming(phi, &v, &loop.before, 1);
	v = step(b, phi, LLVMBuildAdd(b->e->b, loop.index, k64(b, first), ""), data);
	LLVMBasicBlockRef end = LLVMGetInsertBlock(b->e->b);
	LLVMAddIncoming(phi, &v, &end, 1);
	loop_close(b, loop);
	return v;
}

/* ---- rows of C and D ---------------------------------------------------------------------------------------------- */

/* Word of the row's first lane in the register that holds its even (or all) columns. */
static LLVMValueRef row_index(struct builder *b, unsigned registers)
{
	LLVMBuilderRef builder = b->e->b;
	if (b->tile->own)
		return LLVMBuildMul(builder, b->row, k64(b, registers), "");
	LLVMValueRef block = LLVMBuildLShr(builder, b->row, k64(b, 3), ""), in_block = LLVMBuildAnd(builder, b->row, k64(b, 7), "");
	return LLVMBuildAdd(builder, LLVMBuildMul(builder, block, k64(b, 32 * registers), ""), LLVMBuildMul(builder, in_block, k64(b, 4), ""), "");
}

static LLVMTypeRef c_element(struct builder *b, enum ptx_type type)
{
	return type == PTX_F32 ? f32_type(b) : type == PTX_F64 ? LLVMDoubleTypeInContext(b->e->context) : i32_type(b);
}

/* Columns 0, 2, 4, 6 and 1, 3, 5, 7 side by side become 0 … 7. */
static LLVMValueRef load_row(struct builder *b)
{
	struct emitter *e = b->e;
	enum ptx_type type = b->tile->c;
	LLVMTypeRef element = c_element(b, type), four = LLVMVectorType(element, 4);
	LLVMValueRef order[COLUMNS], index = row_index(b, type == PTX_F16 ? 1 : 2);
	if (type == PTX_F16) {
		LLVMTypeRef row = LLVMVectorType(LLVMHalfTypeInContext(e->context), b->columns);
		return to_float(e, load_at(b, row, i32_type(b), b->c, index, 4));
	}
	if (b->tile->own)
		return load_at(b, LLVMVectorType(element, b->columns), element, b->c, index, 4);
	LLVMValueRef even = load_at(b, four, element, b->c, index, 4), odd;
	odd = load_at(b, four, element, b->c, LLVMBuildAdd(e->b, index, k64(b, 32), ""), 4);
	for (unsigned i = 0; i < COLUMNS; i++)
		order[i] = LLVMConstInt(i32_type(b), i / 2 + i % 2 * 4, false);
	return LLVMBuildShuffleVector(e->b, even, odd, LLVMConstVector(order, COLUMNS), "");
}

static void store_row(struct builder *b, LLVMValueRef v)
{
	struct emitter *e = b->e;
	enum ptx_type type = b->tile->d;
	LLVMValueRef index = row_index(b, type == PTX_F16 ? 1 : 2), order[4];
	if (type == PTX_F16) {
		store_at(b, canonical_nan(e, float_to_half(e, v, ROUND_NEAREST)), i32_type(b), b->d, index, 4);
		return;
	}
	if (b->tile->own) {
		store_at(b, v, c_element(b, type), b->d, index, 4);
		return;
	}
	for (unsigned half = 0; half < 2; half++) {
		for (unsigned i = 0; i < 4; i++)
			order[i] = LLVMConstInt(i32_type(b), 2 * i + half, false);
		LLVMValueRef part = LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(order, 4), "");
		store_at(b, part, c_element(b, type), b->d, LLVMBuildAdd(e->b, index, k64(b, 32 * half), ""), 4);
	}
}

/* ---- one step of floats -------------------------------------------------------------------------------------------- */

static LLVMValueRef truncated(struct emitter *e, LLVMValueRef v)
{
	return LLVMBuildFPToSI(e->b, v, piece_int(e, 32), "");
}

/* 2^n as float; 0 for n below the normal numbers. */
static LLVMValueRef power(struct emitter *e, LLVMValueRef n)
{
	LLVMValueRef field = intrinsic2(e, "llvm.smax", add_(e, n, kbits(e, 32, 127)), kbits(e, 32, 0));
	return as_type(e, shl_(e, field, kbits(e, 32, 23)), PTX_F32);
}

/* What an f32 keeps of a sum of products of 8-bit floats. */
static LLVMValueRef cut_result(struct builder *b, LLVMValueRef r)
{
	unsigned cut = 23 - fraction_bits(b->tile);
	if (!minifloat_format(b->tile->a) || b->tile->d == PTX_F16)
		return r;
	return as_type(b->e, and_(b->e, as_int(b->e, r), kbits(b->e, 32, ~((UINT64_C(1) << cut) - 1))), PTX_F32);
}

/* An integer below 2^31 as float, cut to 24 bits; *inexact tells where bits were lost. */
static LLVMValueRef cut_sum(struct emitter *e, LLVMValueRef sum, LLVMValueRef *inexact)
{
	LLVMValueRef r = LLVMBuildSIToFP(e->b, sum, piece_type(e, PTX_F32), ""), back = truncated(e, r);
	LLVMValueRef negative = icmp_(e, LLVMIntSLT, sum, kbits(e, 32, 0));
	LLVMValueRef away = select_(e, negative, icmp_(e, LLVMIntSLT, back, sum), icmp_(e, LLVMIntSGT, back, sum));
	*inexact = icmp_(e, LLVMIntNE, back, sum);
	LLVMValueRef bits = sub_(e, as_int(e, r), select_(e, away, kbits(e, 32, 1), kbits(e, 32, 0)));
	return as_type(e, bits, PTX_F32);
}

/* sum × 2^(largest - fraction) for narrow products; to f16 it is rounded to odd first, then to nearest. */
static LLVMValueRef finish_narrow(struct builder *b, LLVMValueRef sum, LLVMValueRef largest)
{
	struct emitter *e = b->e;
	LLVMValueRef inexact, r = cut_sum(e, sum, &inexact);
	if (b->tile->d == PTX_F16) {
		LLVMValueRef sticky = select_(e, inexact, kbits(e, 32, 1), kbits(e, 32, 0));
		r = as_type(e, or_(e, as_int(e, r), sticky), PTX_F32);
	}
	r = fmul_(e, r, power(e, sub_(e, largest, kbits(e, 32, fraction_bits(b->tile)))));
	return b->tile->d == PTX_F16 ? to_float(e, float_to_half(e, r, ROUND_NEAREST)) : cut_result(b, r);
}

/* The same where the result may be subnormal or overflow. */
static LLVMValueRef finish_wide(struct builder *b, LLVMValueRef sum, LLVMValueRef largest)
{
	struct emitter *e = b->e;
	LLVMValueRef exponent = resize(e, add_(e, largest, kbits(e, 32, 1023 - fraction_bits(b->tile))), 64, true);
	LLVMValueRef scale = as_type(e, shl_(e, exponent, kbits(e, 64, 52)), PTX_F64);
	LLVMValueRef v = fmul_(e, LLVMBuildSIToFP(e->b, sum, piece_type(e, PTX_F64), ""), scale), r = double_to_float(e, v, ROUND_ZERO);
	LLVMValueRef overflow = fcmp_(e, LLVMRealOGE, fabs_(e, v), kf(e, PTX_F64, 0x1p128)), arguments[] = { kf(e, PTX_F32, INFINITY), r };
	return select_(e, overflow, intrinsic(e, "llvm.copysign", arguments, 2), r);
}

static LLVMValueRef add_plainly(struct builder *b, LLVMValueRef c, LLVMValueRef k, const LLVMValueRef *unused)
{
	(void)unused;
	return fma_(b->e, a_at(b, f32_type(b), b->a_value, k), b_at(b, f32_type(b), b->b_value, k), c);
}

/* Infinities and NaNs come out of plain arithmetic. */
static LLVMValueRef special_sum(struct builder *b, LLVMValueRef c, unsigned first, unsigned count)
{
	return canonical_nan(b->e, fold(b, c, first, count, add_plainly, NULL));
}

static LLVMValueRef choose_special(struct builder *b, LLVMValueRef sum, LLVMValueRef c, LLVMValueRef largest, unsigned first, unsigned count)
{
	struct emitter *e = b->e;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), slow = new_block(e, "special"), after = new_block(e, "after");
	LLVMValueRef special = icmp_(e, LLVMIntSGT, largest, kbits(e, 32, SPECIAL_EXPONENT / 2));
	LLVMBuildCondBr(e->b, any_lane(e, special), slow, after);
	LLVMPositionBuilderAtEnd(e->b, slow);
	LLVMValueRef chosen = select_(e, special, special_sum(b, c, first, count), sum);
	slow = LLVMGetInsertBlock(e->b);
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, after);
	LLVMValueRef phi = LLVMBuildPhi(e->b, LLVMTypeOf(sum), ""), values[] = { sum, chosen };
	LLVMBasicBlockRef from[] = { before, slow };
	LLVMAddIncoming(phi, values, from, 2);
	return phi;
}

static LLVMValueRef product(struct builder *b, unsigned k)
{
	return fmul_(b->e, a_broadcast(b, f32_type(b), b->a_value, k), b_row(b, f32_type(b), b->b_value, k));
}

static LLVMValueRef float_step(struct builder *b, LLVMValueRef c, unsigned first, unsigned count)
{
	struct emitter *e = b->e;
	bool narrow = b->narrow, to_half = b->tile->d == PTX_F16;
	unsigned fraction = fraction_bits(b->tile);
	LLVMValueRef exponents[MAX_STEP], products = NULL, sum, c_exponent;
	c_exponent = element_exponent(e, to_half ? PTX_F16 : PTX_F32, c, ZERO_ADDEND);
	for (unsigned i = 0; i < count; i++) {
		LLVMValueRef a = a_broadcast(b, i32_type(b), b->a_exponent, first + i);
		exponents[i] = add_(e, a, b_row(b, i32_type(b), b->b_exponent, first + i));
		products = products ? intrinsic2(e, "llvm.smax", products, exponents[i]) : exponents[i];
	}
	LLVMValueRef least = kbits(e, 32, (uint64_t)(to_half ? LEAST_F16 : LEAST_F32)), safe, r;
	LLVMValueRef largest = intrinsic2(e, "llvm.smax", intrinsic2(e, "llvm.smax", products, c_exponent), least);
	if (narrow) {
		safe = intrinsic2(e, "llvm.smax", largest, kbits(e, 32, (uint64_t)LEAST_NARROW));
		LLVMValueRef scale = power(e, sub_(e, kbits(e, 32, fraction), safe));
		sum = truncated(e, fmul_(e, c, scale));
		for (unsigned i = 0; i < count; i++)
			sum = add_(e, sum, truncated(e, fmul_(e, product(b, first + i), scale)));
		r = finish_narrow(b, sum, safe);
		/* products all too small to count, or zero: the addend alone, which may be below the scale's range */
		LLVMValueRef alone = icmp_(e, LLVMIntSLT, add_(e, products, kbits(e, 32, fraction + 3)), c_exponent);
		LLVMValueRef kept = to_half ? to_float(e, float_to_half(e, c, ROUND_NEAREST)) : cut_result(b, c);
		r = select_(e, alone, kept, r);
	} else {
		LLVMValueRef down = sub_(e, kbits(e, 32, fraction), largest);
		sum = truncated(e, fmul_(e, fraction_of(e, c), power(e, add_(e, c_exponent, down))));
		for (unsigned i = 0; i < count; i++)
			sum = add_(e, sum, truncated(e, fmul_(e, product(b, first + i), power(e, add_(e, exponents[i], down)))));
		r = finish_wide(b, sum, largest);
	}
	return choose_special(b, r, c, largest, first, count);
}

/* ---- the kinds of sm_120a ----------------------------------------------------------------------------------------- */

/* 2^n as double, for |n| below 1000. */
static LLVMValueRef double_power(struct emitter *e, LLVMValueRef n)
{
	return as_type(e, shl_(e, resize(e, add_(e, n, kbits(e, 32, 1023)), 64, true), kbits(e, 64, 52)), PTX_F64);
}

/* The product of the scales of row and columns, and its exponent. */
static LLVMValueRef block_scale(struct builder *b, unsigned block, LLVMValueRef *exponent)
{
	struct emitter *e = b->e;
	LLVMTypeRef f64 = LLVMDoubleTypeInContext(e->context);
	LLVMValueRef of_row = LLVMBuildAdd(e->b, b->row, k64(b, block * MMA_SCALES), "");
	LLVMValueRef s = splat(e, load_at(b, f64, f64, b->scales, of_row, 8));
	s = fmul_(e, s, load_at(b, LLVMVectorType(f64, b->columns), f64, b->scales, k64(b, block * MMA_SCALES + 16), 8));
	LLVMValueRef field = resize(e, lshr_(e, as_int(e, s), kbits(e, 64, 52)), 32, false);
	*exponent = sub_(e, and_(e, field, kbits(e, 32, 0x7ff)), kbits(e, 32, 1023));
	return s;
}

/* data: the scales' exponent */
static LLVMValueRef larger_exponent(struct builder *b, LLVMValueRef largest, LLVMValueRef k, const LLVMValueRef *data)
{
	struct emitter *e = b->e;
	LLVMValueRef exponent = add_(e, a_at(b, i32_type(b), b->a_exponent, k), b_at(b, i32_type(b), b->b_exponent, k));
	return intrinsic2(e, "llvm.smax", largest, *data ? add_(e, exponent, *data) : exponent);
}

/* data: by what a product is scaled up; the scales */
static LLVMValueRef add_cut(struct builder *b, LLVMValueRef sum, LLVMValueRef k, const LLVMValueRef *data)
{
	struct emitter *e = b->e;
	LLVMValueRef product = fmul_(e, a_at(b, f32_type(b), b->a_value, k), b_at(b, f32_type(b), b->b_value, k));
	LLVMValueRef v = fmul_(e, to_double(e, product), data[0]);
	return fadd_(e, sum, intrinsic1(e, "llvm.trunc", data[1] ? fmul_(e, v, data[1]) : v));
}

/* Sums of integers below 2^38 are exact in double. */
static LLVMValueRef newest_row(struct builder *b, LLVMValueRef c)
{
	struct emitter *e = b->e;
	const struct mma_tile *tile = b->tile;
	enum { MAX_BLOCKS = 4 };
	bool to_half = tile->d == PTX_F16;
	unsigned k = tile->k, block = tile->block ? tile->block : k, fraction = tile->a == PTX_E2M1X2 ? PACKED_FRACTION : NEWEST_FRACTION;
	LLVMValueRef scales[MAX_BLOCKS] = { NULL }, exponents[MAX_BLOCKS] = { NULL }, nan = NULL, sum, r;
	LLVMValueRef largest = element_exponent(e, to_half ? PTX_F16 : PTX_F32, c, ZERO_ADDEND);
	for (unsigned i = 0; tile->block && i < k / block; i++) {
		scales[i] = block_scale(b, i, &exponents[i]);
		nan = nan ? or_(e, nan, is_nan(e, scales[i])) : is_nan(e, scales[i]);
	}
	for (unsigned i = 0; i < k / block; i++)
		largest = fold(b, largest, i * block, block, larger_exponent, &exponents[i]);
	LLVMValueRef range[] = { kbits(e, 32, (uint64_t)(to_half ? LEAST_F16 : LEAST_F32)), kbits(e, 32, 600) };
	LLVMValueRef safe = intrinsic2(e, "llvm.smin", intrinsic2(e, "llvm.smax", largest, range[0]), range[1]);
	LLVMValueRef up = double_power(e, sub_(e, kbits(e, 32, fraction), safe));
	sum = intrinsic1(e, "llvm.trunc", fmul_(e, to_double(e, c), up));
	for (unsigned i = 0; i < k / block; i++) {
		LLVMValueRef factors[] = { up, scales[i] };
		sum = fold(b, sum, i * block, block, add_cut, factors);
	}
	LLVMValueRef v = fmul_(e, sum, double_power(e, sub_(e, safe, kbits(e, 32, fraction))));
	if (to_half) {
		r = to_float(e, float_to_half(e, double_to_float_odd(e, v), ROUND_NEAREST));
	} else {
		LLVMValueRef overflow = fcmp_(e, LLVMRealOGE, fabs_(e, v), kf(e, PTX_F64, 0x1p128));
		r = double_to_float(e, v, ROUND_ZERO);
		LLVMValueRef arguments[] = { kf(e, PTX_F32, INFINITY), r };
		r = select_(e, overflow, intrinsic(e, "llvm.copysign", arguments, 2), r);
	}
	r = choose_special(b, r, c, largest, 0, k);
	return nan ? select_(e, nan, as_type(e, kbits(e, 32, 0x7fffffff), PTX_F32), r) : r;
}

/* ---- rows ------------------------------------------------------------------------------------------------------------ */

static LLVMValueRef float_row(struct builder *b, LLVMValueRef c)
{
	unsigned step = step_of(b->tile);
	if (b->tile->newest)
		return newest_row(b, c);
	for (unsigned k = 0; k < b->tile->k; k += step)
		c = float_step(b, c, k, step < b->tile->k - k ? step : b->tile->k - k);
	return c;
}

/* Sums of at most 128 products of bytes are exact in float. */
static LLVMValueRef integer_row(struct builder *b, LLVMValueRef c)
{
	struct emitter *e = b->e;
	unsigned k = b->tile->k, step = b->tile->satfinite && element_bits(b->tile->a) == 8 ? SATURATED : k;
	if (b->tile->sparse && step < k)
		step *= 2;
	for (unsigned first = 0; first < k; first += step) {
		LLVMValueRef sum = kf(e, PTX_F32, 0);
		for (unsigned i = first; i < first + step && i < k; i++)
			sum = fma_(e, a_broadcast(b, f32_type(b), b->a_value, i), b_row(b, f32_type(b), b->b_value, i), sum);
		sum = truncated(e, sum);
		c = b->tile->satfinite ? intrinsic2(e, "llvm.sadd.sat", c, sum) : add_(e, c, sum);
	}
	return c;
}

static LLVMValueRef bit_row(struct builder *b, LLVMValueRef c)
{
	struct emitter *e = b->e;
	for (unsigned word = 0; word < b->tile->k / 32; word++) {
		LLVMValueRef in_row = LLVMBuildMul(e->b, b->row, k64(b, 4), "");
		LLVMValueRef index = LLVMBuildAdd(e->b, in_row, k64(b, word / 4 * b->rows * 4 + word % 4), "");
		LLVMValueRef x = splat(e, load_at(b, i32_type(b), i32_type(b), b->a, index, 4)), y = column_words(b, word / 4, word % 4, i32_type(b));
		c = add_(e, c, intrinsic1(e, "llvm.ctpop", b->tile->bit_and ? and_(e, x, y) : xor_(e, x, y)));
	}
	return c;
}

static LLVMValueRef double_row(struct builder *b, LLVMValueRef c)
{
	struct emitter *e = b->e;
	LLVMTypeRef f64 = LLVMDoubleTypeInContext(e->context);
	for (unsigned k = 0; k < b->tile->k; k++) {
		LLVMValueRef x = splat(e, load_at(b, f64, f64, b->a, a_index(b, k), 8));
		c = float_fma(e, x, column_words(b, k / 4, k % 4, f64), c, b->tile->rounding);
	}
	return c;
}

static void product_rows(struct builder *b)
{
	const struct mma_tile *tile = b->tile;
	bool bits = tile->a == PTX_B1, doubles = tile->a == PTX_F64;
	struct loop loop = loop_open(b, b->rows, 1);
	b->row = loop.index;
	LLVMValueRef c = load_row(b);
	store_row(b, bits ? bit_row(b, c) : doubles ? double_row(b, c) : is_float_product(tile) ? float_row(b, c) : integer_row(b, c));
	loop_close(b, loop);
}

static void to_fractions(struct builder *b, LLVMValueRef values, unsigned count)
{
	struct emitter *e = b->e;
	struct loop loop = loop_open(b, count, COLUMNS);
	e->w = COLUMNS;
	LLVMValueRef v = load_at(b, piece_type(e, PTX_F32), f32_type(b), values, loop.index, 32);
	store_at(b, fraction_of(e, v), f32_type(b), values, loop.index, 32);
	loop_close(b, loop);
	e->w = b->columns;
}

/* Where every element is in the range of the narrow formats, as nearly always, so is the product. */
static void wide_rows(struct builder *b)
{
	struct emitter *e = b->e;
	LLVMBasicBlockRef wide = new_block(e, "wide"), narrow = new_block(e, "narrow"), done = new_block(e, "done");
	e->w = COLUMNS;
	LLVMValueRef beyond = load_at(b, piece_int(e, 32), i32_type(b), b->beyond, k64(b, 0), 32);
	LLVMBuildCondBr(e->b, any_lane(e, icmp_(e, LLVMIntNE, beyond, kbits(e, 32, 0))), wide, narrow);
	e->w = b->columns;
	LLVMPositionBuilderAtEnd(e->b, wide);
	to_fractions(b, b->a_value, b->rows * b->tile->k);
	to_fractions(b, b->b_value, b->columns * b->tile->k);
	b->narrow = false;
	product_rows(b);
	LLVMBuildBr(e->b, done);
	LLVMPositionBuilderAtEnd(e->b, narrow);
	b->narrow = true;
	product_rows(b);
	LLVMBuildBr(e->b, done);
	LLVMPositionBuilderAtEnd(e->b, done);
}

static void build_body(struct builder *b)
{
	struct emitter *e = b->e;
	const struct mma_tile *tile = b->tile;
	bool wide = is_float_product(tile) && !is_narrow(tile->a);
	if (tile->a != PTX_B1 && tile->a != PTX_F64) {
		b->a_value = array(b, f32_type(b), b->rows * tile->k);
		b->b_value = array(b, f32_type(b), b->columns * tile->k);
		b->a_exponent = array(b, i32_type(b), b->rows * tile->k);
		b->b_exponent = array(b, i32_type(b), b->columns * tile->k);
		if (wide) {
			b->beyond = array(b, i32_type(b), COLUMNS);
			store_at(b, LLVMConstNull(LLVMVectorType(i32_type(b), COLUMNS)), i32_type(b), b->beyond, k64(b, 0), 32);
		}
		prepare_a(b);
		if (tile->own || is_quick(e))
			prepare_b_in_loop(b);
		else
			prepare_b(b);
	}
	b->narrow = !wide;
	if (wide)
		wide_rows(b);
	else
		product_rows(b);
	LLVMBuildRetVoid(e->b);
}

/* ---- the function --------------------------------------------------------------------------------------------------- */

static bool known_types(const struct mma_tile *tile)
{
	switch (tile->a) {
	case PTX_F16:
		return tile->b == PTX_F16;
	case PTX_BF16: case PTX_TF32: case PTX_F64: case PTX_B1:
		return tile->a == tile->b;
	case PTX_S8: case PTX_U8:
		return tile->b == PTX_S8 || tile->b == PTX_U8;
	case PTX_S4: case PTX_U4:
		return tile->b == PTX_S4 || tile->b == PTX_U4;
	default:
		return minifloat_format(tile->a) && minifloat_format(tile->b);
	}
}

LLVMValueRef add_own_function(struct emitter *e, const char *name, LLVMTypeRef type)
{
	static const char *const inherited[] = { "target-cpu", "target-features", "prefer-vector-width" };
	LLVMValueRef f = LLVMAddFunction(e->module, name, type);
	LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
	LLVMSetLinkage(f, LLVMInternalLinkage);
	for (size_t i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++) {
		LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(e->function, whole, inherited[i], (unsigned)strlen(inherited[i]));
		if (a)
			LLVMAddAttributeAtIndex(f, whole, a);
	}
	LLVMAddAttributeAtIndex(f, whole, LLVMCreateEnumAttribute(e->context, LLVMGetEnumAttributeKindForName("noinline", 8), 0));
	LLVMAddAttributeAtIndex(f, whole, LLVMCreateEnumAttribute(e->context, LLVMGetEnumAttributeKindForName("nounwind", 8), 0));
	return f;
}

LLVMValueRef mma_add_function(struct emitter *e, const char *name)
{
	LLVMTypeRef pointer = LLVMPointerTypeInContext(e->context, 0), types[MMA_POINTERS] = { pointer, pointer, pointer, pointer, pointer };
	return add_own_function(e, name, LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, MMA_POINTERS, false));
}

LLVMValueRef mma_function(struct emitter *e, const struct mma_tile *tile)
{
	static const char *const roundings[] = { "", ".rz", ".rm", ".rp" };
	char name[128];
	snprintf(name, sizeof(name), "mma%s%s.%u.%ux8x%u.%s.%s.%s.%s%s%s%s%s", tile->own ? ".own" : "", tile->newest ? ".newest" : "", tile->block, tile->m, tile->k, ptx_type_name(tile->d), ptx_type_name(tile->a),
		 ptx_type_name(tile->b), ptx_type_name(tile->c), tile->satfinite ? ".satfinite" : "", tile->bit_and ? ".and" : "",
		 tile->sparse ? ".sp" : "", roundings[tile->rounding]);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name), outer = e->function;
	if (f)
		return f;
	if (!known_types(tile)) {
		unsupported(e, "a matrix product of %s and %s", ptx_type_name(tile->a), ptx_type_name(tile->b));
		return NULL;
	}
	LLVMBasicBlockRef at = LLVMGetInsertBlock(e->b);
	unsigned w = e->w;
	struct builder b = { .e = e, .tile = tile, .elements = mma_elements(tile->a) };
	b.blocks = tile->k / (4 * b.elements);
	b.rows = tile->own ? tile->m / 8 : tile->m;
	b.columns = tile->own ? 2 : COLUMNS;
	f = e->function = mma_add_function(e, name);
	e->w = b.columns;
	b.a = LLVMGetParam(f, 0);
	b.b = LLVMGetParam(f, 1);
	b.c = LLVMGetParam(f, 2);
	b.d = LLVMGetParam(f, 3);
	b.scales = LLVMGetParam(f, 4);
	LLVMPositionBuilderAtEnd(e->b, new_block(e, "entry"));
	build_body(&b);
	e->function = outer;
	e->w = w;
	LLVMPositionBuilderAtEnd(e->b, at);
	return f;
}
