/* Fragments that are not laid out as mma.c wants them: the sparse A of mma.sp (PTX ISA 9.7.14.6.1: which two of four elements, or one of two
 * of .tf32, a row holds is in the metadata) and the quarters of .m8n8k4 (9.7.14.5.1). Both are scalar loops over memory: who uses
 * them does so rarely enough. */
#include <stdio.h>

#include "codegen/mma.h"

struct layout {
	struct emitter *e;
	LLVMValueRef parameters[4];
	LLVMBasicBlockRef head;
	LLVMValueRef index;            /* i64: of the loop */
	bool own;                      /* see mma.h: the loop is over two rows */
};

static LLVMTypeRef int_of(struct layout *l, unsigned bits)
{
	return LLVMIntTypeInContext(l->e->context, bits);
}

static LLVMValueRef number(struct layout *l, uint64_t value)
{
	return LLVMConstInt(int_of(l, 64), value, false);
}

static LLVMValueRef place(struct layout *l, LLVMValueRef base, unsigned bits, LLVMValueRef index)
{
	return LLVMBuildGEP2(l->e->b, int_of(l, bits), base, &index, 1, "");
}

static LLVMValueRef load(struct layout *l, LLVMValueRef base, unsigned bits, LLVMValueRef index)
{
	return LLVMBuildLoad2(l->e->b, int_of(l, bits), place(l, base, bits, index), "");
}

static void store(struct layout *l, LLVMValueRef base, unsigned bits, LLVMValueRef index, LLVMValueRef v)
{
	LLVMBuildStore(l->e->b, v, place(l, base, bits, index));
}

/* for (index = 0; index < count; index++) */
static void loop_open(struct layout *l)
{
	LLVMBuilderRef b = l->e->b;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
	LLVMValueRef zero = number(l, 0);
	l->head = new_block(l->e, "loop");
	LLVMBuildBr(b, l->head);
	LLVMPositionBuilderAtEnd(b, l->head);
	l->index = LLVMBuildPhi(b, int_of(l, 64), "");
	LLVMAddIncoming(l->index, &zero, &before, 1);
}

static void loop_close(struct layout *l, unsigned count)
{
	LLVMBuilderRef b = l->e->b;
	LLVMBasicBlockRef end = LLVMGetInsertBlock(b), after = new_block(l->e, "after");
	LLVMValueRef next = LLVMBuildAdd(b, l->index, number(l, 1), "");
	LLVMAddIncoming(l->index, &next, &end, 1);
	LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, number(l, count), ""), l->head, after);
	LLVMPositionBuilderAtEnd(b, after);
}

/* Where the builder and the emitter stood before a function of their own. */
struct outer {
	LLVMBasicBlockRef at;
	LLVMValueRef function;
	unsigned w;
};

static struct outer function_open(struct layout *l, struct emitter *e, const char *name)
{
	struct outer outer = { LLVMGetInsertBlock(e->b), e->function, e->w };
	*l = (struct layout){ .e = e };
	e->function = mma_add_function(e, name);
	e->w = 1;
	for (unsigned i = 0; i < 4; i++)
		l->parameters[i] = LLVMGetParam(e->function, i);
	LLVMPositionBuilderAtEnd(e->b, new_block(e, "entry"));
	return outer;
}

static LLVMValueRef function_close(struct layout *l, struct outer outer)
{
	struct emitter *e = l->e;
	LLVMValueRef f = e->function;
	LLVMBuildRetVoid(e->b);
	e->function = outer.function;
	e->w = outer.w;
	LLVMPositionBuilderAtEnd(e->b, outer.at);
	return f;
}

/* ---- mma.sp --------------------------------------------------------------------------------------------------------------- */

/* A chunk has four bits of a row's metadata. Of bytes and less, a lane holds eight chunks of a row, lanes of rows below 8 and of those
 * above in turn; of wider elements four chunks of a row, and above them those of row + 8. */
static LLVMValueRef chunk_metadata(struct layout *l, unsigned bits, unsigned chunk, unsigned holders, unsigned selector)
{
	LLVMBuilderRef b = l->e->b;
	bool bytes = bits == 8;
	LLVMValueRef row = l->index, upper = l->own ? row : LLVMBuildLShr(b, row, number(l, 3), "");
	LLVMValueRef lane = l->own ? number(l, 0) : LLVMBuildShl(b, LLVMBuildAnd(b, row, number(l, 7), ""), number(l, 2), "");
	lane = LLVMBuildAdd(b, lane, number(l, holders * selector + (bytes ? chunk / 8 * 2 : chunk / 4)), "");
	if (bytes)
		lane = LLVMBuildAdd(b, lane, upper, "");
	LLVMValueRef word = LLVMBuildZExt(b, load(l, l->parameters[1], 32, lane), int_of(l, 64), "");
	LLVMValueRef shift = bytes ? number(l, chunk % 8 * 4) : LLVMBuildShl(b, upper, number(l, 4), "");
	return LLVMBuildLShr(b, word, bytes ? shift : LLVMBuildAdd(b, shift, number(l, chunk % 4 * 4), ""), "");
}

/* Of element k of the row that the loop is at: registers lie one after the other, 16 rows of `width` elements in two of them. */
static LLVMValueRef row_element(struct layout *l, unsigned width, LLVMValueRef k)
{
	LLVMBuilderRef b = l->e->b;
	LLVMValueRef block = LLVMBuildUDiv(b, k, number(l, width), ""), in_block = LLVMBuildURem(b, k, number(l, width), "");
	LLVMValueRef at = LLVMBuildMul(b, block, number(l, (l->own ? 2 : 16) * width), "");
	at = LLVMBuildAdd(b, at, LLVMBuildMul(b, l->index, number(l, width), ""), "");
	return LLVMBuildAdd(b, at, in_block, "");
}

/* Elements of 4 bits move in pairs: as bytes. .tf32 has one place of two, which its four bits name by their uppermost. */
static void expand_row(struct layout *l, unsigned bits, unsigned k, unsigned selector)
{
	LLVMBuilderRef b = l->e->b;
	bool one_of_two = bits == 32;
	unsigned width = 4 * 32 / bits, chunk_size = one_of_two ? 2 : 4, kept = chunk_size / 2, chunks = k / chunk_size;
	for (unsigned chunk = 0; chunk < chunks; chunk++) {
		LLVMValueRef metadata = chunk_metadata(l, bits, chunk, chunks / 4, selector);
		for (unsigned i = 0; i < kept; i++) {
			LLVMValueRef v = load(l, l->parameters[0], bits, row_element(l, width, number(l, chunk * kept + i)));
			LLVMValueRef to = LLVMBuildLShr(b, metadata, number(l, one_of_two ? 3 : 2 * i), "");
			to = LLVMBuildAnd(b, to, number(l, one_of_two ? 1 : 3), "");
			to = LLVMBuildAdd(b, to, number(l, chunk * chunk_size), "");
			store(l, l->parameters[2], bits, row_element(l, width, to), v);
		}
	}
}

LLVMValueRef mma_expand_function(struct emitter *e, const struct mma_tile *tile, unsigned selector)
{
	unsigned bits = 32 / mma_elements(tile->a), k = bits < 8 ? tile->k / 2 : tile->k;
	char name[64];
	struct layout l;
	snprintf(name, sizeof(name), "mma.expand%s.%u.%u.%u", tile->own ? ".own" : "", k, bits < 8 ? 8 : bits, selector);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
	if (f)
		return f;
	struct outer outer = function_open(&l, e, name);
	l.own = tile->own;
	unsigned bytes = 4 * (tile->own ? MMA_OWN_A : 32) * mma_a_registers(tile);
	LLVMBuildMemSet(e->b, l.parameters[2], LLVMConstNull(int_of(&l, 8)), number(&l, bytes), 4);
	loop_open(&l);
	expand_row(&l, bits < 8 ? 8 : bits, k, selector);
	loop_close(&l, tile->own ? 2 : 16);
	return function_close(&l, outer);
}

/* ---- .m8n8k4 --------------------------------------------------------------------------------------------------------------- */

/* The quarter that the loop is at has lanes 4q … 4q + 3 and those 16 above: `lane` counts them from 0 to 7. Index of element `i` of
 * that lane's fragment, of `bits`. */
static LLVMValueRef quarter_element(struct layout *l, unsigned bits, unsigned lane, unsigned i)
{
	LLVMBuilderRef b = l->e->b;
	unsigned per = 32 / bits, fixed = (i / per * 32 + lane / 4 * 16 + lane % 4) * per + i % per;
	return LLVMBuildAdd(b, LLVMBuildMul(b, l->index, number(l, 4 * per), ""), number(l, fixed), "");
}

/* Rows (of A; columns of B) and k of the elements that a lane holds. */
static void gather_factor(struct layout *l, LLVMValueRef from, LLVMValueRef to, bool lane_is_k)
{
	for (unsigned lane = 0; lane < 8; lane++)
		for (unsigned i = 0; i < 4; i++) {
			unsigned outer = lane_is_k ? i + lane / 4 * 4 : lane, k = lane_is_k ? lane % 4 : i;
			store(l, to, 16, number(l, outer * 8 + k), load(l, from, 16, quarter_element(l, 16, lane, i)));
		}
}

/* Index, in a tile's registers, of the element that a lane has as its i-th of an accumulator. */
static unsigned accumulator_element(bool half, unsigned lane, unsigned i)
{
	if (half)
		return lane * 8 + i;
	unsigned row = (lane & 1) + (i & 2) + lane / 4 * 4, column = (i & 4) + (lane & 2) + (i & 1);
	return column % 2 * 32 + row * 4 + column / 2;
}

static void move_accumulator(struct layout *l, LLVMValueRef warp, LLVMValueRef tile, enum ptx_type type, bool to_tile)
{
	unsigned bits = type == PTX_F16 ? 16 : 32;
	for (unsigned lane = 0; lane < 8; lane++)
		for (unsigned i = 0; i < 8; i++) {
			LLVMValueRef of_warp = quarter_element(l, bits, lane, i), of_tile = number(l, accumulator_element(bits == 16, lane, i));
			if (to_tile)
				store(l, tile, bits, of_tile, load(l, warp, bits, of_warp));
			else
				store(l, warp, bits, of_warp, load(l, tile, bits, of_tile));
		}
}

LLVMValueRef mma_quarters_function(struct emitter *e, const struct mma_tile *tile, bool a_by_columns, bool b_by_rows)
{
	char name[64];
	struct layout l;
	snprintf(name, sizeof(name), "mma.quarters.%s.%s.%d.%d", ptx_type_name(tile->d), ptx_type_name(tile->c), a_by_columns, b_by_rows);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name), product = mma_function(e, tile), tiles[MMA_POINTERS];
	if (f || !product)
		return f;
	struct outer outer = function_open(&l, e, name);
	LLVMTypeRef pointer = LLVMPointerTypeInContext(e->context, 0), types[MMA_POINTERS] = { pointer, pointer, pointer, pointer, pointer };
	for (unsigned i = 0; i < 4; i++) {
		tiles[i] = LLVMBuildAlloca(e->b, LLVMArrayType2(int_of(&l, 32), 64), "tile");
		LLVMSetAlignment(tiles[i], 32);
		tiles[i] = flat_pointer(e, tiles[i]);
	}
	tiles[4] = LLVMGetUndef(pointer); /* no scales */
	LLVMBuildMemSet(e->b, tiles[0], LLVMConstNull(int_of(&l, 8)), number(&l, 128), 32); /* k from 4 to 7 is not there */
	LLVMBuildMemSet(e->b, tiles[1], LLVMConstNull(int_of(&l, 8)), number(&l, 128), 32);
	loop_open(&l);
	gather_factor(&l, l.parameters[0], tiles[0], a_by_columns);
	gather_factor(&l, l.parameters[1], tiles[1], b_by_rows);
	move_accumulator(&l, l.parameters[2], tiles[2], tile->c, true);
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, MMA_POINTERS, false);
	LLVMBuildCall2(e->b, type, product, tiles, MMA_POINTERS, "");
	move_accumulator(&l, l.parameters[3], tiles[3], tile->d, false);
	loop_close(&l, 4);
	return function_close(&l, outer);
}
