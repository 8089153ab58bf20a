/* Products of 16-bit floats and of tf32, in the steps that mma.c describes, for the numbers that programs have.
 *
 * A step cuts each product, and the addend, to 24 bits below the largest exponent among them, and adds integers. Nothing about
 * that can be left out (where the addend is the largest, nearly every product loses bits), but all of it is cheap when the scale by which
 * a term becomes an integer is known not to leave the range of a float:
 *
 *   - a product of two elements is exact in float, and so is its multiple by 2^(24 - largest), wherever that is 1 or more; below, it is cut to
 *     0, however it was rounded. So a term costs two multiplications, a conversion, which cuts, and an addition.
 *   - exponents are bytes: of 4 rows by 8 columns, 32 at a time.
 *   - an integer below 2^30 is cut to a float's 24 bits by its conversion, where the processor rounds towards zero: mma.fast… sets that for
 *     the time that mma.steps… takes. For .f16, which is rounded to nearest, and on other machines than x86-64, the bits of x >> 24 are
 *     cleared in x: the highest of these is half a unit of the last place, and none is among the 24, so what is left rounds down.
 *
 * The conditions: elements are 0, or normal numbers (.f16: any number) with exponents of at most MODERATE both ways; addends are 0, or
 * from 2^(OF_ZERO + 2) to 2^HIGHEST. OF_ZERO is the most that a product with a zero in it has as its exponent here, where it should have
 * none: that is below all products without one, and addends have no bits that it would cut. The smallest and largest
 * numbers met are gathered on the way, and tested by vector comparisons at the end: where a condition failed, mma_function() makes the
 * product again. A step's result needs no test: it is a multiple of its unit, and below 2^100.
 *
 * All tiles of an instruction are one call: A and B are taken apart once. A vector is a row's columns 0, 2, 4, 6, 1, 3, 5, 7, as C's
 * registers have them; then B's registers need but be transposed in fours.
 *
 * DRAGOMAN_MMA=fast wants none of that: mma.plain… makes each element of D as a chain of single precision fma in the order of k. PTX ISA 9.7.14
 * asks for single precision at least, and says nothing about the order. */
#include <stdio.h>
#include <string.h>

#include "codegen/arith.h"
#include "codegen/mma.h"
#include "codegen/target.h"

enum {
	COLUMNS = 8, WORDS = 32 /* of a register */,
	FRACTION = 24, BIAS = 127,
	MODERATE = 40,
	HIGHEST = 60,
	ZERO_HALF = -60,      /* exponent of a zero of .f16; with the largest element's it is still below the least product's, 2^-28 */
	ZERO_WIDE = -127,     /* .bf16, .tf32: what the field says */
	LEAST = -88, LEAST_F16 = -20, /* of the largest exponent; that of .f16 is the card's */
	GROUP = 4,            /* rows whose exponents are made together */
};

struct fast {
	struct emitter *e;
	const struct mma_tile *tile;
	unsigned row_tiles, column_tiles, step, steps;
	bool wide, to_half;               /* wide: exponents of 8 bits */
	bool plain;                       /* a chain of float operations each */
	bool rounds_to_zero;              /* the processor, while it makes the products */
	LLVMValueRef a, b, c, d;          /* parameters */
	LLVMValueRef a_value, b_value;    /* floats: A by tile, step, row, k; B by tile, k, column */
	LLVMValueRef a_exponent, b_exponent, largest; /* bytes, likewise; of products of a tile by row, column, with a float's bias */
	LLVMValueRef addends;             /* floats: of a tile's rows, between steps */
	LLVMValueRef beyond;              /* vector of integers: .f16: the largest element; else not 0 where one is not moderate */
	LLVMValueRef c_most, c_least;     /* of addends, without sign, doubled; c_least of those less 1, so that 0 is the most */
};

/* ---- small things ---------------------------------------------------------------------------------------------------- */

static LLVMTypeRef int_of(struct fast *f, unsigned bits)
{
	return LLVMIntTypeInContext(f->e->context, bits);
}

static LLVMTypeRef float_of(struct fast *f)
{
	return LLVMFloatTypeInContext(f->e->context);
}

static LLVMValueRef number(struct fast *f, uint64_t value)
{
	return LLVMConstInt(int_of(f, 64), value, false);
}

static LLVMValueRef times(struct fast *f, LLVMValueRef index, uint64_t factor)
{
	return LLVMBuildMul(f->e->b, index, number(f, factor), "");
}

static LLVMValueRef plus(struct fast *f, LLVMValueRef index, uint64_t more)
{
	return LLVMBuildAdd(f->e->b, index, number(f, more), "");
}

static LLVMValueRef load(struct fast *f, LLVMTypeRef type, LLVMTypeRef element, LLVMValueRef base, LLVMValueRef index, unsigned align)
{
	LLVMValueRef v = LLVMBuildLoad2(f->e->b, type, LLVMBuildGEP2(f->e->b, element, base, &index, 1, ""), "");
	LLVMSetAlignment(v, align);
	return v;
}

static void store(struct fast *f, LLVMValueRef v, LLVMTypeRef element, LLVMValueRef base, LLVMValueRef index, unsigned align)
{
	LLVMSetAlignment(LLVMBuildStore(f->e->b, v, LLVMBuildGEP2(f->e->b, element, base, &index, 1, "")), align);
}

static LLVMValueRef shuffled(struct fast *f, LLVMValueRef a, LLVMValueRef b, const unsigned *order, unsigned count)
{
	LLVMValueRef constants[64];
	for (unsigned i = 0; i < count; i++)
		constants[i] = LLVMConstInt(int_of(f, 32), order[i], false);
	return LLVMBuildShuffleVector(f->e->b, a, b ? b : LLVMGetUndef(LLVMTypeOf(a)), LLVMConstVector(constants, count), "");
}

static LLVMValueRef array(struct fast *f, LLVMTypeRef element, unsigned count)
{
	LLVMValueRef a = LLVMBuildAlloca(f->e->b, LLVMArrayType2(element, count), "");
	LLVMSetAlignment(a, 32);
	return a;
}

/* A vector in memory that LLVM makes a register of. */
static LLVMValueRef variable(struct fast *f, LLVMValueRef initial)
{
	LLVMValueRef v = LLVMBuildAlloca(f->e->b, LLVMTypeOf(initial), "");
	LLVMBuildStore(f->e->b, initial, v);
	return v;
}

static void gather(struct fast *f, LLVMValueRef variable, const char *by, LLVMValueRef v)
{
	LLVMValueRef before = LLVMBuildLoad2(f->e->b, LLVMTypeOf(v), variable, "");
	LLVMBuildStore(f->e->b, by ? intrinsic2(f->e, by, before, v) : or_(f->e, before, v), variable);
}

static void take_parameters(struct fast *f, LLVMValueRef function)
{
	f->a = LLVMGetParam(function, 0);
	f->b = LLVMGetParam(function, 1);
	f->c = LLVMGetParam(function, 2);
	f->d = LLVMGetParam(function, 3);
}

/* for (i = 0; i < count; i++): leaves the builder in the body; loop_close() ends it. */
struct loop {
	LLVMBasicBlockRef body;
	LLVMValueRef index;
	unsigned count;
};

static struct loop loop_open(struct fast *f, unsigned count)
{
	struct emitter *e = f->e;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
	LLVMValueRef zero = number(f, 0);
	struct loop loop = { .body = new_block(e, "loop"), .count = count };
	LLVMBuildBr(e->b, loop.body);
	LLVMPositionBuilderAtEnd(e->b, loop.body);
	loop.index = LLVMBuildPhi(e->b, int_of(f, 64), "");
	LLVMAddIncoming(loop.index, &zero, &before, 1);
	return loop;
}

static void loop_close(struct fast *f, struct loop loop)
{
	struct emitter *e = f->e;
	LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b), after = new_block(e, "after");
	LLVMValueRef next = plus(f, loop.index, 1);
	LLVMAddIncoming(loop.index, &next, &end, 1);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, number(f, loop.count), ""), loop.body, after);
	LLVMPositionBuilderAtEnd(e->b, after);
}

/* ---- elements ---------------------------------------------------------------------------------------------------------- */

static unsigned element_bits(const struct fast *f)
{
	return f->tile->a == PTX_TF32 ? 32 : 16;
}

/* The exponents of a piece of elements, as bytes. */
static LLVMValueRef exponents_of(struct fast *f, LLVMValueRef elements)
{
	struct emitter *e = f->e;
	unsigned bits = element_bits(f), fraction = f->tile->a == PTX_F16 ? 10 : f->tile->a == PTX_BF16 ? 7 : 23;
	LLVMValueRef magnitude = and_(e, elements, kbits(e, bits, (UINT64_C(1) << (bits - 1)) - 1)), zero = kbits(e, bits, 0), r;
	if (f->tile->a == PTX_TF32)
		magnitude = and_(e, magnitude, kbits(e, 32, 0x7fffe000));
	LLVMValueRef field = lshr_(e, magnitude, kbits(e, bits, fraction)), none = icmp_(e, LLVMIntEQ, magnitude, zero);
	if (f->wide) {
		LLVMValueRef low = sub_(e, field, kbits(e, bits, BIAS - MODERATE)), out = icmp_(e, LLVMIntUGT, low, kbits(e, bits, 2 * MODERATE));
		gather(f, f->beyond, NULL, LLVMBuildSExt(e->b, and_(e, out, not_(e, none)), piece_int(e, bits), ""));
		r = sub_(e, field, kbits(e, bits, BIAS)); /* of 0: ZERO_WIDE */
	} else {
		gather(f, f->beyond, "llvm.umax", magnitude);
		LLVMValueRef lower = and_(e, LLVMBuildSExt(e->b, none, piece_int(e, bits), ""), kbits(e, bits, 1 - 15 - ZERO_HALF));
		r = sub_(e, sub_(e, intrinsic2(e, "llvm.umax", field, kbits(e, bits, 1)), kbits(e, bits, 15)), lower);
	}
	return LLVMBuildTrunc(e->b, r, piece_int(e, 8), "");
}

static LLVMValueRef values_of(struct fast *f, LLVMValueRef elements)
{
	struct emitter *e = f->e;
	switch (f->tile->a) {
	case PTX_F16:
		return to_float(e, as_type(e, elements, PTX_F16));
	case PTX_BF16:
		return bf16_to_float(e, elements);
	default:
		return as_type(e, and_(e, elements, kbits(e, 32, 0xffffe000)), PTX_F32);
	}
}

/* A's registers are rows of a step's elements already. */
static void prepare_a(struct fast *f)
{
	struct emitter *e = f->e;
	unsigned bits = element_bits(f);
	LLVMTypeRef element = int_of(f, bits);
	e->w = 256 / bits;
	struct loop loop = loop_open(f, f->row_tiles * f->tile->m * f->tile->k / e->w);
	LLVMValueRef at = times(f, loop.index, e->w), elements = load(f, LLVMVectorType(element, e->w), element, f->a, at, 32);
	if (!f->plain)
		store(f, exponents_of(f, elements), int_of(f, 8), f->a_exponent, at, 8);
	store(f, values_of(f, elements), float_of(f), f->a_value, at, 32);
	loop_close(f, loop);
}

/* A register's words by t, the columns in the order of a row: word[t] holds word 4 column + t of each. */
static void transpose(struct fast *f, LLVMValueRef register_words, LLVMValueRef word[4])
{
	static const unsigned low[] = { 0, 8, 1, 9, 4, 12, 5, 13 }, high[] = { 2, 10, 3, 11, 6, 14, 7, 15 };
	static const unsigned first[] = { 0, 1, 8, 9, 4, 5, 12, 13 }, last[] = { 2, 3, 10, 11, 6, 7, 14, 15 };
	LLVMValueRef v[4];
	for (unsigned i = 0; i < 4; i++)
		v[i] = load(f, LLVMVectorType(int_of(f, 32), 8), int_of(f, 32), f->b, plus(f, register_words, 8 * i), 32);
	for (unsigned half = 0; half < 2; half++) {
		LLVMValueRef a = shuffled(f, v[0], v[1], half ? high : low, 8), b = shuffled(f, v[2], v[3], half ? high : low, 8);
		word[2 * half] = shuffled(f, a, b, first, 8);
		word[2 * half + 1] = shuffled(f, a, b, last, 8);
	}
}

/* Words of two elements: those of k, then those of k + 1. */
static LLVMValueRef halves_apart(struct fast *f, LLVMValueRef words)
{
	unsigned order[2 * COLUMNS];
	for (unsigned i = 0; i < 2 * COLUMNS; i++)
		order[i] = i % COLUMNS * 2 + i / COLUMNS;
	LLVMValueRef halves = LLVMBuildBitCast(f->e->b, words, LLVMVectorType(int_of(f, 16), 2 * COLUMNS), "");
	return shuffled(f, halves, NULL, order, 2 * COLUMNS);
}

static void prepare_b(struct fast *f)
{
	struct emitter *e = f->e;
	bool pairs = element_bits(f) == 16;
	struct loop loop = loop_open(f, f->column_tiles * f->steps);
	LLVMValueRef word[4];
	transpose(f, times(f, loop.index, WORDS), word);
	e->w = pairs ? 2 * COLUMNS : COLUMNS;
	for (unsigned t = 0; t < 4; t++) {
		LLVMValueRef elements = pairs ? halves_apart(f, word[t]) : word[t], at = plus(f, times(f, loop.index, f->step * COLUMNS), t * e->w);
		if (!f->plain)
			store(f, exponents_of(f, elements), int_of(f, 8), f->b_exponent, at, 8);
		store(f, values_of(f, elements), float_of(f), f->b_value, at, 32);
	}
	loop_close(f, loop);
}

/* ---- a step --------------------------------------------------------------------------------------------------------------- */

/* The largest exponents among the products of the step, for all rows. a, b: index of the step's first element. */
static void largest_exponents(struct fast *f, LLVMValueRef a, LLVMValueRef b)
{
	struct emitter *e = f->e;
	unsigned order[GROUP * COLUMNS];
	LLVMTypeRef byte = int_of(f, 8);
	LLVMValueRef columns[8];
	e->w = GROUP * COLUMNS;
	for (unsigned k = 0; k < f->step; k++) {
		for (unsigned i = 0; i < e->w; i++)
			order[i] = i % COLUMNS;
		columns[k] = shuffled(f, load(f, LLVMVectorType(byte, COLUMNS), byte, f->b_exponent, plus(f, b, k * COLUMNS), 8), NULL, order, e->w);
	}
	struct loop loop = loop_open(f, f->tile->m / GROUP);
	LLVMValueRef at = LLVMBuildAdd(e->b, a, times(f, loop.index, GROUP * f->step), "");
	LLVMValueRef rows = load(f, LLVMVectorType(byte, GROUP * f->step), byte, f->a_exponent, at, 16);
	LLVMValueRef most = kbits(e, 8, (uint64_t)(f->to_half ? LEAST_F16 : LEAST));
	for (unsigned k = 0; k < f->step; k++) {
		for (unsigned i = 0; i < e->w; i++)
			order[i] = i / COLUMNS * f->step + k;
		most = intrinsic2(e, "llvm.smax", most, intrinsic2(e, "llvm.sadd.sat", shuffled(f, rows, NULL, order, e->w), columns[k]));
	}
	store(f, add_(e, most, kbits(e, 8, BIAS)), byte, f->largest, times(f, loop.index, e->w), 32);
	loop_close(f, loop);
}

/* Word of the row's first lane, within a tile, in the register that holds its even (or all) columns. */
static LLVMValueRef row_word(struct fast *f, LLVMValueRef row)
{
	struct emitter *e = f->e;
	LLVMValueRef block = LLVMBuildLShr(e->b, row, number(f, 3), "");
	LLVMValueRef further = times(f, block, (f->to_half ? 1 : 2) * WORDS - 4 * COLUMNS); /* eight rows are 4 * 8 words of one register */
	return LLVMBuildAdd(e->b, times(f, row, 4), further, "");
}

static const unsigned apart[COLUMNS] = { 0, 2, 4, 6, 1, 3, 5, 7 }, in_order[COLUMNS] = { 0, 4, 1, 5, 2, 6, 3, 7 };
static const unsigned joined[COLUMNS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static LLVMValueRef load_row(struct fast *f, LLVMValueRef base, LLVMValueRef word)
{
	struct emitter *e = f->e;
	if (f->to_half) {
		LLVMTypeRef row = LLVMVectorType(LLVMHalfTypeInContext(e->context), COLUMNS);
		return to_float(e, shuffled(f, load(f, row, int_of(f, 32), base, word, 16), NULL, apart, COLUMNS));
	}
	LLVMTypeRef four = LLVMVectorType(float_of(f), 4);
	LLVMValueRef even = load(f, four, float_of(f), base, word, 16), odd = load(f, four, float_of(f), base, plus(f, word, WORDS), 16);
	return shuffled(f, even, odd, joined, COLUMNS);
}

static void store_row(struct fast *f, LLVMValueRef v, LLVMValueRef word)
{
	if (f->to_half) {
		store(f, shuffled(f, v, NULL, in_order, COLUMNS), int_of(f, 32), f->d, word, 16);
		return;
	}
	for (unsigned half = 0; half < 2; half++)
		store(f, shuffled(f, v, NULL, joined + 4 * half, 4), float_of(f), f->d, plus(f, word, half * WORDS), 16);
}

static LLVMValueRef cut(struct fast *f, LLVMValueRef v)
{
	return LLVMBuildFPToSI(f->e->b, v, piece_int(f->e, 32), "");
}

/* The sum as a float: cut to 24 bits, which the processor does where it rounds towards zero; for .f16 its last bit is set where it is not all. */
static LLVMValueRef sum_to_float(struct fast *f, LLVMValueRef sum)
{
	struct emitter *e = f->e;
	if (f->rounds_to_zero)
		return LLVMBuildSIToFP(e->b, sum, piece_type(e, PTX_F32), "");
	LLVMValueRef arguments[] = { sum, LLVMConstInt(int_of(f, 1), 0, false) }, size = intrinsic(e, "llvm.abs", arguments, 2);
	LLVMValueRef kept = and_(e, size, not_(e, lshr_(e, size, kbits(e, 32, FRACTION))));
	LLVMValueRef r = LLVMBuildSIToFP(e->b, kept, piece_type(e, PTX_F32), ""), bits = as_int(e, r);
	if (f->to_half) {
		LLVMValueRef rest = icmp_(e, LLVMIntNE, cut(f, r), size);
		bits = or_(e, bits, and_(e, LLVMBuildSExt(e->b, rest, piece_int(e, 32), ""), kbits(e, 32, 1)));
	}
	return as_type(e, or_(e, bits, and_(e, sum, kbits(e, 32, 0x80000000))), PTX_F32);
}

/* The addend's exponent with its bias, where a float has it; 0 for 0. Halves have their own least one. */
static LLVMValueRef addend_field(struct fast *f, LLVMValueRef c, bool tested)
{
	struct emitter *e = f->e;
	LLVMValueRef bits = as_int(e, c), twice = shl_(e, bits, kbits(e, 32, 1)), field = and_(e, bits, kbits(e, 32, 0x7f800000));
	if (tested) {
		gather(f, f->c_most, "llvm.umax", twice);
		gather(f, f->c_least, "llvm.umin", sub_(e, twice, kbits(e, 32, 1)));
	}
	if (!f->to_half)
		return field;
	LLVMValueRef some = LLVMBuildSExt(e->b, icmp_(e, LLVMIntNE, twice, kbits(e, 32, 0)), piece_int(e, 32), "");
	return intrinsic2(e, "llvm.smax", field, and_(e, some, kbits(e, 32, (BIAS - 14) << 23)));
}

static LLVMTypeRef row_of(LLVMTypeRef element)
{
	return LLVMVectorType(element, COLUMNS);
}

/* A row's addend, as it begins the step's sum, in units that it and the products give. */
struct addend {
	LLVMValueRef scale, down, sum; /* what makes terms integers, and the sum a float again */
};

static struct addend begin_row(struct fast *f, LLVMValueRef words, unsigned step, LLVMValueRef row)
{
	struct emitter *e = f->e;
	LLVMValueRef at = times(f, row, COLUMNS), word = LLVMBuildAdd(e->b, words, row_word(f, row), "");
	LLVMValueRef c = step ? load(f, row_of(float_of(f)), float_of(f), f->addends, at, 32) : load_row(f, f->c, word);
	LLVMValueRef field = addend_field(f, c, !step || f->to_half); /* a half may have become infinite */
	LLVMValueRef of_products = resize(e, load(f, row_of(int_of(f, 8)), int_of(f, 8), f->largest, at, 8), 32, false);
	struct addend r;
	field = intrinsic2(e, "llvm.smax", field, shl_(e, of_products, kbits(e, 32, 23)));
	r.scale = as_type(e, sub_(e, kbits(e, 32, (2u * BIAS + FRACTION) << 23), field), PTX_F32);
	r.down = as_type(e, sub_(e, field, kbits(e, 32, FRACTION << 23)), PTX_F32);
	r.sum = cut(f, fmul_(e, c, r.scale));
	return r;
}

static LLVMValueRef carried(struct fast *f, LLVMValueRef initial, LLVMBasicBlockRef before)
{
	LLVMValueRef phi = LLVMBuildPhi(f->e->b, LLVMTypeOf(initial), "");
	LLVMAddIncoming(phi, &initial, &before, 1);
	return phi;
}

static void carry(struct fast *f, LLVMValueRef phi, LLVMValueRef next)
{
	LLVMBasicBlockRef at = LLVMGetInsertBlock(f->e->b);
	LLVMAddIncoming(phi, &next, &at, 1);
}

/* A step of a tile's rows, from addends to what is the next step's addend, or the result. A row takes the processor some thirty cycles from end
 * to end, and its schedulers hold the operations of two: so a row is begun while the one before is added up. */
static void add_rows(struct fast *f, LLVMValueRef a, LLVMValueRef b, LLVMValueRef words, unsigned step)
{
	struct emitter *e = f->e;
	LLVMValueRef columns[8], sums[2];
	e->w = COLUMNS;
	for (unsigned k = 0; k < f->step; k++)
		columns[k] = load(f, row_of(float_of(f)), float_of(f), f->b_value, plus(f, b, k * COLUMNS), 32);
	struct addend own = begin_row(f, words, step, number(f, 0)), next;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
	struct loop loop = loop_open(f, f->tile->m);
	own = (struct addend){ carried(f, own.scale, before), carried(f, own.down, before), carried(f, own.sum, before) };
	/* behind the last row comes the first, for nothing */
	next = begin_row(f, words, step, LLVMBuildAnd(e->b, plus(f, loop.index, 1), number(f, f->tile->m - 1), ""));
	LLVMValueRef of_a = LLVMBuildAdd(e->b, a, times(f, loop.index, f->step), ""), at = times(f, loop.index, COLUMNS);
	sums[0] = own.sum;
	sums[1] = NULL;
	for (unsigned k = 0; k < f->step; k++) {
		LLVMValueRef x = splat(e, load(f, float_of(f), float_of(f), f->a_value, plus(f, of_a, k), 4));
		LLVMValueRef term = cut(f, fmul_(e, fmul_(e, x, columns[k]), own.scale));
		sums[1 - k % 2] = sums[1 - k % 2] ? add_(e, sums[1 - k % 2], term) : term;
	}
	LLVMValueRef r = fmul_(e, sum_to_float(f, add_(e, sums[0], sums[1])), own.down);
	if (f->to_half)
		r = float_to_half(e, r, ROUND_NEAREST);
	if (step + 1 == f->steps)
		store_row(f, r, LLVMBuildAdd(e->b, words, row_word(f, loop.index), ""));
	else
		store(f, f->to_half ? to_float(e, r) : r, float_of(f), f->addends, at, 32);
	carry(f, own.scale, next.scale);
	carry(f, own.down, next.down);
	carry(f, own.sum, next.sum);
	loop_close(f, loop);
}

static void multiply(struct fast *f)
{
	struct emitter *e = f->e;
	const struct mma_tile *tile = f->tile;
	struct loop loop = loop_open(f, f->row_tiles * f->column_tiles);
	LLVMValueRef columns = number(f, f->column_tiles), row = LLVMBuildUDiv(e->b, loop.index, columns, "");
	LLVMValueRef a = times(f, row, tile->m * tile->k), b = times(f, LLVMBuildURem(e->b, loop.index, columns, ""), COLUMNS * tile->k);
	LLVMValueRef words = times(f, loop.index, WORDS * mma_c_registers(tile, tile->c));
	for (unsigned i = 0; i < f->steps; i++) {
		LLVMValueRef of_a = plus(f, a, i * tile->m * f->step), of_b = plus(f, b, i * f->step * COLUMNS);
		largest_exponents(f, of_a, of_b);
		add_rows(f, of_a, of_b, words, i);
	}
	loop_close(f, loop);
}

/* ---- or in floats --------------------------------------------------------------------------------------------------------- */

/* Sums of several rows in all columns stay in registers: eight vectors, as many multiplications as two units have under way. */
static void multiply_plainly(struct fast *f)
{
	struct emitter *e = f->e;
	const struct mma_tile *tile = f->tile;
	enum { SUMS = 8, MOST_COLUMNS = 4 };
	unsigned columns = f->column_tiles, rows = SUMS / columns, registers = mma_c_registers(tile, tile->c);
	LLVMValueRef sums[SUMS], of_b[MOST_COLUMNS];
	e->w = COLUMNS;
	struct loop loop = loop_open(f, f->row_tiles * tile->m / rows);
	LLVMValueRef first = times(f, loop.index, rows), tile_row = LLVMBuildUDiv(e->b, first, number(f, tile->m), "");
	LLVMValueRef row = LLVMBuildURem(e->b, first, number(f, tile->m), ""), words = row_word(f, row);
	LLVMValueRef of_a = LLVMBuildAdd(e->b, times(f, tile_row, tile->m * tile->k), times(f, row, f->step), "");
	words = LLVMBuildAdd(e->b, words, times(f, tile_row, WORDS * registers * columns), "");
	for (unsigned i = 0; i < SUMS; i++)
		sums[i] = load_row(f, f->c, plus(f, words, WORDS * registers * (i % columns) + 4 * (i / columns)));
	for (unsigned k = 0; k < tile->k; k++) {
		for (unsigned c = 0; c < columns; c++)
			of_b[c] = load(f, row_of(float_of(f)), float_of(f), f->b_value, number(f, COLUMNS * (c * tile->k + k)), 32);
		for (unsigned r = 0; r < rows; r++) {
			LLVMValueRef at = plus(f, of_a, k / f->step * tile->m * f->step + r * f->step + k % f->step);
			LLVMValueRef x = splat(e, load(f, float_of(f), float_of(f), f->a_value, at, 4));
			for (unsigned c = 0; c < columns; c++)
				sums[r * columns + c] = fma_(e, x, of_b[c], sums[r * columns + c]);
		}
	}
	for (unsigned i = 0; i < SUMS; i++) {
		LLVMValueRef r = canonical_nan(e, sums[i]);
		r = f->to_half ? float_to_half(e, r, ROUND_NEAREST) : r;
		store_row(f, r, plus(f, words, WORDS * registers * (i % columns) + 4 * (i / columns)));
	}
	loop_close(f, loop);
}

static LLVMValueRef build_plain(struct fast *f, const char *name)
{
	struct emitter *e = f->e;
	const struct mma_tile *tile = f->tile;
	LLVMValueRef function = e->function = mma_add_function(e, name);
	take_parameters(f, function);
	LLVMPositionBuilderAtEnd(e->b, new_block(e, "entry"));
	f->a_value = array(f, float_of(f), f->row_tiles * tile->m * tile->k);
	f->b_value = array(f, float_of(f), f->column_tiles * COLUMNS * tile->k);
	prepare_a(f);
	prepare_b(f);
	multiply_plainly(f);
	LLVMBuildRetVoid(e->b);
	return function;
}

/* ---- the function ------------------------------------------------------------------------------------------------------------ */

static LLVMValueRef read(struct fast *f, LLVMValueRef variable)
{
	return LLVMBuildLoad2(f->e->b, LLVMGetAllocatedType(variable), variable, "");
}

/* Was anything met that the conditions exclude? */
static LLVMValueRef failed(struct fast *f)
{
	struct emitter *e = f->e;
	unsigned bits = element_bits(f), least = BIAS + (f->wide ? ZERO_WIDE + MODERATE : ZERO_HALF + 15) + 2;
	e->w = 256 / bits;
	LLVMValueRef elements = any_lane(e, icmp_(e, LLVMIntUGT, read(f, f->beyond), kbits(e, bits, f->wide ? 0 : 0x7bff)));
	e->w = COLUMNS;
	LLVMValueRef most = icmp_(e, LLVMIntUGT, read(f, f->c_most), kbits(e, 32, (uint64_t)(BIAS + HIGHEST) << 24));
	LLVMValueRef small = icmp_(e, LLVMIntULT, read(f, f->c_least), kbits(e, 32, ((uint64_t)least << 24) - 1));
	return LLVMBuildOr(e->b, elements, any_lane(e, or_(e, most, small)), "");
}

static void call_exact(struct fast *f, LLVMValueRef exact)
{
	LLVMBuilderRef b = f->e->b;
	const struct mma_tile *tile = f->tile;
	for (unsigned i = 0; i < f->row_tiles * f->column_tiles; i++) {
		LLVMValueRef bases[] = { f->a, f->b, f->c, f->d, f->d };
		const unsigned registers[] = { mma_a_registers(tile), mma_b_registers(tile), mma_c_registers(tile, tile->c), mma_c_registers(tile, tile->d), 0 };
		const unsigned tiles[] = { i / f->column_tiles, i % f->column_tiles, i, i, 0 };
		for (unsigned p = 0; p < MMA_POINTERS; p++) {
			LLVMValueRef at = number(f, WORDS * registers[p] * tiles[p]);
			bases[p] = LLVMBuildGEP2(b, int_of(f, 32), bases[p], &at, 1, "");
		}
		LLVMBuildCall2(b, LLVMGlobalGetValueType(exact), exact, bases, MMA_POINTERS, "");
	}
}

/* The products: a function of its own, so that no conversion can be moved to where the processor rounds otherwise. Its fifth pointer is to a
 * word that is not 0 afterwards where a condition failed. */
static LLVMValueRef build_products(struct fast *f, const char *name)
{
	struct emitter *e = f->e;
	const struct mma_tile *tile = f->tile;
	char inner[160];
	unsigned bits = element_bits(f), of_a = f->row_tiles * tile->m * tile->k, of_b = f->column_tiles * COLUMNS * tile->k;
	snprintf(inner, sizeof(inner), "mma.steps%s", name + strlen("mma.fast"));
	LLVMValueRef function = e->function = mma_add_function(e, inner);
	take_parameters(f, function);
	LLVMPositionBuilderAtEnd(e->b, new_block(e, "entry"));
	f->a_value = array(f, float_of(f), of_a);
	f->b_value = array(f, float_of(f), of_b);
	f->a_exponent = array(f, int_of(f, 8), of_a);
	f->b_exponent = array(f, int_of(f, 8), of_b);
	f->largest = array(f, int_of(f, 8), tile->m * COLUMNS);
	f->addends = array(f, float_of(f), tile->m * COLUMNS);
	e->w = 256 / bits;
	f->beyond = variable(f, kbits(e, bits, 0));
	e->w = COLUMNS;
	f->c_most = variable(f, kbits(e, 32, 0));
	f->c_least = variable(f, kbits(e, 32, UINT32_MAX));
	prepare_a(f);
	prepare_b(f);
	multiply(f);
	LLVMBuildStore(e->b, LLVMBuildZExt(e->b, failed(f), int_of(f, 32), ""), LLVMGetParam(function, 4));
	LLVMBuildRetVoid(e->b);
	return function;
}

static void control_word(struct fast *f, const char *name, LLVMValueRef pointer)
{
	struct emitter *e = f->e;
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, NULL, 0);
	LLVMBuildCall2(e->b, type, LLVMGetIntrinsicDeclaration(e->module, id, NULL, 0), &pointer, 1, "");
}

static void build_body(struct fast *f, LLVMValueRef function, LLVMValueRef products, LLVMValueRef exact)
{
	enum { TO_ZERO = 0x6000 };
	struct emitter *e = f->e;
	LLVMTypeRef word = int_of(f, 32);
	take_parameters(f, function);
	LLVMPositionBuilderAtEnd(e->b, new_block(e, "entry"));
	LLVMValueRef before = LLVMBuildAlloca(e->b, word, ""), during = LLVMBuildAlloca(e->b, word, ""), again = LLVMBuildAlloca(e->b, word, "");
	if (f->rounds_to_zero) {
		control_word(f, "llvm.x86.sse.stmxcsr", before);
		LLVMBuildStore(e->b, LLVMBuildOr(e->b, LLVMBuildLoad2(e->b, word, before, ""), LLVMConstInt(word, TO_ZERO, false), ""), during);
		control_word(f, "llvm.x86.sse.ldmxcsr", during);
	}
	LLVMValueRef arguments[MMA_POINTERS] = { f->a, f->b, f->c, f->d, again };
	LLVMBuildCall2(e->b, LLVMGlobalGetValueType(products), products, arguments, MMA_POINTERS, "");
	if (f->rounds_to_zero)
		control_word(f, "llvm.x86.sse.ldmxcsr", before);
	LLVMBasicBlockRef failure = new_block(e, "again"), done = new_block(e, "done");
	LLVMValueRef flag = LLVMBuildLoad2(e->b, word, again, "");
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, flag, LLVMConstInt(word, 0, false), ""), failure, done);
	LLVMPositionBuilderAtEnd(e->b, failure);
	call_exact(f, exact);
	LLVMBuildBr(e->b, done);
	LLVMPositionBuilderAtEnd(e->b, done);
	LLVMBuildRetVoid(e->b);
}

static bool is_fast(const struct mma_tile *tile)
{
	bool known = tile->a == tile->b && (tile->a == PTX_F16 || tile->a == PTX_BF16 || tile->a == PTX_TF32);
	return known && tile->c == tile->d && !tile->sparse && !tile->newest && !tile->satfinite;
}

LLVMValueRef mma_fast_function(struct emitter *e, const struct mma_tile *tile, unsigned row_tiles, unsigned column_tiles)
{
	char name[128];
	bool plain = e->ir->options.fast_products;
	if (!is_fast(tile))
		return NULL;
	snprintf(name, sizeof(name), "mma.%s.%ux%u.%ux%u.%s.%s", plain ? "plain" : "fast", row_tiles * tile->m, column_tiles * COLUMNS, tile->m, tile->k,
		 ptx_type_name(tile->d), ptx_type_name(tile->a));
	LLVMValueRef outer = e->function, exact = plain ? NULL : mma_function(e, tile), function = LLVMGetNamedFunction(e->module, name);
	if (function || (!exact && !plain))
		return function;
	LLVMBasicBlockRef at = LLVMGetInsertBlock(e->b);
	unsigned w = e->w;
	struct fast f = { .e = e, .tile = tile, .row_tiles = row_tiles, .column_tiles = column_tiles, .plain = plain };
	f.wide = tile->a != PTX_F16;
	f.to_half = tile->d == PTX_F16;
	f.step = tile->a == PTX_TF32 ? 4 : 8;
	f.steps = tile->k / f.step;
	f.rounds_to_zero = !plain && !f.to_half && !strncmp(e->target->triple, "x86_64", 6);
	if (plain) {
		function = build_plain(&f, name);
	} else {
		LLVMValueRef products = build_products(&f, name);
		function = e->function = mma_add_function(e, name);
		build_body(&f, function, products, exact);
	}
	e->function = outer;
	e->w = w;
	LLVMPositionBuilderAtEnd(e->b, at);
	return function;
}
