/* Moving matrices between memory and fragments: PTX ISA 9.7.14.4 and 9.7.14.5 (wmma.load, wmma.store, ldmatrix, stmatrix,
 * movmatrix). Fragments are laid out as for mma (mma.h): lane 4g + t holds row (or column) g, elements from t on. */
#include <stddef.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/fragment.h"
#include "codegen/group.h"
#include "codegen/memory.h"
#include "codegen/mma.h"
#include "codegen/state.h"
#include "isa_emit.h"

static LLVMTypeRef i32_type(struct emitter *e)
{
	return LLVMInt32TypeInContext(e->context);
}

/* The lane numbers of the piece: constants, but in the scalar form. */
static LLVMValueRef lane_numbers(struct emitter *e)
{
	LLVMValueRef numbers[MAX_WIDTH];
	if (e->lanes == 1)
		return special_register(e, SREG_laneid, -1);
	for (unsigned i = 0; i < e->width; i++)
		numbers[i] = i32_constant(e, e->chunk * e->width + i);
	return LLVMConstVector(numbers, e->width);
}

/* An address as a piece of i64. */
static LLVMValueRef address_words(struct emitter *e, struct address address)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	LLVMValueRef steps[MAX_WIDTH], base = LLVMBuildPtrToInt(e->b, address.kind == ADDRESS_LANES ? address.pointer : flat_pointer(e, address.pointer), address.kind == ADDRESS_LANES ? piece_of(e, i64) : i64, "");
	if (address.kind == ADDRESS_LANES)
		return base;
	if (address.kind == ADDRESS_ONE)
		return splat(e, base);
	for (unsigned i = 0; i < e->w; i++)
		steps[i] = LLVMConstInt(i64, (uint64_t)address.stride * i, true);
	return add_(e, splat(e, base), LLVMConstVector(steps, e->w));
}

/* ---- 8 × 8 matrices of 16 bits -------------------------------------------------------------------------------------- */

enum { ROWS = 8 };

static LLVMTypeRef row_type(struct emitter *e)
{
	return LLVMVectorType(LLVMInt16TypeInContext(e->context), ROWS);
}

/* Elements of a and b in turn, of their lower or upper halves. */
static LLVMValueRef interleave_rows(struct emitter *e, LLVMValueRef a, LLVMValueRef b, bool upper)
{
	LLVMValueRef order[ROWS];
	for (unsigned i = 0; i < ROWS; i++)
		order[i] = i32_constant(e, i / 2 + (upper ? ROWS / 2 : 0) + (i % 2 ? ROWS : 0));
	return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(order, ROWS), "");
}

/* The usual three rounds of unpacking: rows become columns. */
static void transpose(struct emitter *e, LLVMValueRef rows[ROWS])
{
	LLVMValueRef next[ROWS];
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < ROWS / 2; i++) {
			next[2 * i] = interleave_rows(e, rows[i], rows[i + ROWS / 2], false);
			next[2 * i + 1] = interleave_rows(e, rows[i], rows[i + ROWS / 2], true);
		}
		for (unsigned i = 0; i < ROWS; i++)
			rows[i] = next[i];
	}
}

/* Rows of the matrix as the register of a chunk's lanes: 4 lanes a row. */
static LLVMValueRef rows_to_chunk(struct emitter *e, LLVMValueRef const rows[ROWS], unsigned chunk)
{
	unsigned count = e->width / 4;
	LLVMValueRef result = LLVMGetUndef(LLVMVectorType(i32_type(e), e->width)), order[4 * MAX_WIDTH];
	for (unsigned r = 0; r < count; r++) {
		LLVMValueRef row = LLVMBuildBitCast(e->b, rows[chunk * count + r], LLVMVectorType(i32_type(e), 4), "");
		for (unsigned i = 0; i < e->width; i++)
			order[i] = i32_constant(e, i % 4);
		row = LLVMBuildShuffleVector(e->b, row, LLVMGetUndef(LLVMTypeOf(row)), LLVMConstVector(order, e->width), "");
		for (unsigned i = 0; i < e->width; i++)
			order[i] = i32_constant(e, i / 4 == r ? e->width + i : i);
		result = LLVMBuildShuffleVector(e->b, result, row, LLVMConstVector(order, e->width), "");
	}
	return result;
}

static void chunks_to_rows(struct emitter *e, LLVMValueRef const *chunks, LLVMValueRef rows[ROWS])
{
	unsigned count = e->width / 4;
	LLVMValueRef order[4];
	for (unsigned r = 0; r < ROWS; r++) {
		for (unsigned i = 0; i < 4; i++)
			order[i] = i32_constant(e, r % count * 4 + i);
		LLVMValueRef chunk = chunks[r / count];
		LLVMValueRef row = LLVMBuildShuffleVector(e->b, chunk, LLVMGetUndef(LLVMTypeOf(chunk)), LLVMConstVector(order, 4), "");
		rows[r] = LLVMBuildBitCast(e->b, row, row_type(e), "");
	}
}

/* ---- wmma.load, wmma.store -------------------------------------------------------------------------------------- */

enum matrix { MATRIX_A, MATRIX_B, MATRIX_C };

struct wmma {
	enum matrix matrix;
	enum ptx_type type;
	unsigned m, n, k, tile_m;
	unsigned bits, elements;      /* of a register; elements in it */
	unsigned needed;              /* registers that are not copies */
	bool by_rows;                 /* .row: rows are contiguous */
	LLVMValueRef stride;          /* i64 scalar: elements between rows (columns) */
};

/* Row and column, in the matrix, of the first element of register `index`: constants to add to multiples of g and t. */
struct position {
	unsigned row, column;         /* for g = t = 0 */
	bool g_is_row;                /* g counts rows, t columns; else the other way round */
};

static struct position register_position(const struct wmma *w, unsigned index)
{
	unsigned blocks = w->tile_m / 8, width = 4 * w->elements, per_tile, per = w->bits == 32 && w->type == PTX_F16 ? 1 : 2;
	switch (w->matrix) {
	case MATRIX_A:
		per_tile = blocks * w->k / width;
		return (struct position){ index / per_tile * w->tile_m + index % per_tile % blocks * 8, index % per_tile / blocks * width, true };
	case MATRIX_B:
		per_tile = w->k / width;
		return (struct position){ index % per_tile * width, index / per_tile * 8, false };
	default: {
		unsigned tile = index / (blocks * per), in_tile = index % (blocks * per), columns = w->n / 8;
		return (struct position){ tile / columns * w->tile_m + in_tile / per * 8, tile % columns * 8 + in_tile % per, true };
	}
	}
}

/* Elements that t steps over. */
static unsigned t_step(const struct wmma *w)
{
	return w->matrix == MATRIX_C ? 2 : w->elements;
}

static LLVMValueRef wide(struct emitter *e, LLVMValueRef v)
{
	return resize(e, v, 64, false);
}

/* Byte offset of element p of register `index` for the piece's lanes. */
static LLVMValueRef element_offset(struct emitter *e, const struct wmma *w, unsigned index, unsigned p)
{
	struct position at = register_position(w, index);
	LLVMValueRef lane = lane_numbers(e), g = lshr_(e, lane, kbits(e, 32, 2)), t = and_(e, lane, kbits(e, 32, 3)), row, column;
	t = add_(e, mul_(e, t, kbits(e, 32, t_step(w))), kbits(e, 32, p));
	row = add_(e, at.g_is_row ? g : t, kbits(e, 32, at.row));
	column = add_(e, at.g_is_row ? t : g, kbits(e, 32, at.column));
	LLVMValueRef outer = wide(e, w->by_rows ? row : column), inner = wide(e, w->by_rows ? column : row);
	LLVMValueRef offset = add_(e, mul_(e, outer, splat(e, w->stride)), inner);
	offset = mul_(e, offset, kbits(e, 64, ptx_type_bits(w->type) < 8 ? ptx_type_bits(w->type) : ptx_type_bits(w->type) / 8));
	return ptx_type_bits(w->type) < 8 ? lshr_(e, offset, kbits(e, 64, 3)) : offset;
}

/* Are the elements of a register side by side in memory? */
static bool is_contiguous(const struct wmma *w)
{
	return w->elements == 1 || (w->matrix == MATRIX_B) != w->by_rows;
}

static bool parse_wmma(struct emitter *e, const struct ptx_instruction *in, const struct ptx_operand *stride, struct wmma *w)
{
	w->type = form_type(in);
	w->matrix = has(e, MOD_a) ? MATRIX_A : has(e, MOD_b) ? MATRIX_B : MATRIX_C;
	w->by_rows = has(e, MOD_row);
	if (!fragment_shape(in, &w->m, &w->n, &w->k)) {
		unsupported(e, "this shape of a matrix");
		return false;
	}
	w->tile_m = w->m < 16 ? w->m : 16;
	w->bits = mma_register_bits(w->type);
	w->elements = w->type == PTX_S32 || w->type == PTX_F32 ? 1 : mma_elements(w->type);
	unsigned rows = w->matrix == MATRIX_B ? w->k : w->m, columns = w->matrix == MATRIX_A ? w->k : w->n;
	w->needed = rows * columns / 32 / w->elements;
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	if (stride)
		w->stride = LLVMBuildZExt(e->b, group_scalar(e, stride, PTX_U32), i64, "");
	else
		w->stride = LLVMConstInt(i64, w->by_rows ? columns : rows, false);
	return w->needed > 0;
}

static enum ptx_type register_type(const struct wmma *w)
{
	return w->bits == 64 ? PTX_B64 : PTX_B32;
}

/* One register's worth at `base` for the lanes of the chunk. */
static LLVMValueRef load_register(struct emitter *e, const struct wmma *w, LLVMValueRef base, unsigned index)
{
	LLVMTypeRef whole = lane_type(e, register_type(w));
	if (is_contiguous(w))
		return load_lanes(e, address_of_lanes(e, add_(e, base, element_offset(e, w, index, 0)), w->bits / 8), whole, false);
	unsigned bits = ptx_type_bits(w->type);
	LLVMValueRef value = NULL;
	for (unsigned p = 0; p < w->elements; p++) {
		struct address address = address_of_lanes(e, add_(e, base, element_offset(e, w, index, p)), bits / 8);
		LLVMValueRef part = resize(e, load_lanes(e, address, LLVMIntTypeInContext(e->context, bits), false), w->bits, false);
		part = p ? shl_(e, part, kbits(e, w->bits, (uint64_t)bits * p)) : part;
		value = value ? or_(e, value, part) : part;
	}
	return value;
}

static void store_register(struct emitter *e, const struct wmma *w, LLVMValueRef base, unsigned index, LLVMValueRef value)
{
	if (is_contiguous(w)) {
		store_lanes(e, address_of_lanes(e, add_(e, base, element_offset(e, w, index, 0)), w->bits / 8), value, false);
		return;
	}
	unsigned bits = ptx_type_bits(w->type);
	for (unsigned p = 0; p < w->elements; p++) {
		struct address address = address_of_lanes(e, add_(e, base, element_offset(e, w, index, p)), bits / 8);
		LLVMValueRef part = resize(e, lshr_(e, value, kbits(e, w->bits, (uint64_t)bits * p)), bits, false);
		store_lanes(e, address, part, false);
	}
}

/* ---- whole rows: where the matrix is at one address and every lane takes part, as programs have it ----------------------- */

/* Four lanes hold 16 bytes of a row: a load for them, and not for each. 8 × 8 elements of 16 bits that memory has the other way round are
 * transposed in registers, and of .f32 sums two registers hold every other element of 32 bytes. */
enum by_row { BY_LANE, BY_ROW, BY_COLUMN, BY_PAIRS };

static enum by_row row_access(struct emitter *e, const struct wmma *w)
{
	bool along = (w->matrix == MATRIX_B) != w->by_rows;
	if (e->lanes == 1 || w->bits != 32)
		return BY_LANE;
	if (w->matrix == MATRIX_C)
		return w->elements == 1 ? (w->by_rows ? BY_PAIRS : BY_LANE) : w->by_rows ? BY_ROW : BY_COLUMN;
	return along ? BY_ROW : w->elements == 2 ? BY_COLUMN : BY_LANE;
}

/* The matrix's address where it is one for all lanes; else NULL. */
static LLVMValueRef whole_base(struct emitter *e, const struct ptx_instruction *in, const struct ptx_operand *op)
{
	struct group_place place = group_enter(e, 0);
	struct address address = { .kind = ADDRESS_LANES };
	if (!e->mask)
		address = emit_address(e, op, in->form->space, 4);
	group_leave(e, place);
	return address.kind == ADDRESS_ONE ? address.pointer : NULL;
}

/* Of `outer` (row, or column if these are contiguous) from `inner` on. */
static LLVMValueRef row_pointer(struct emitter *e, const struct wmma *w, LLVMValueRef base, unsigned outer, unsigned inner)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	LLVMValueRef at = LLVMBuildMul(e->b, w->stride, LLVMConstInt(i64, outer, false), "");
	at = LLVMBuildAdd(e->b, at, LLVMConstInt(i64, inner, false), "");
	at = LLVMBuildMul(e->b, at, LLVMConstInt(i64, ptx_type_bits(w->type), false), "");
	at = LLVMBuildLShr(e->b, at, LLVMConstInt(i64, 3, false), "");
	return LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->context), base, &at, 1, "");
}

static LLVMValueRef load_aligned(struct emitter *e, LLVMTypeRef type, LLVMValueRef pointer)
{
	LLVMValueRef v = LLVMBuildLoad2(e->b, type, pointer, "");
	LLVMSetAlignment(v, 4);
	return v;
}

/* The rows of eight (g) of register `index`, 16 bytes each; row i in memory is `outer`. */
static LLVMValueRef register_row(struct emitter *e, const struct wmma *w, LLVMValueRef base, unsigned index, unsigned i)
{
	struct position at = register_position(w, index);
	return row_pointer(e, w, base, (w->by_rows ? at.row : at.column) + i, w->by_rows ? at.column : at.row);
}

/* Bytes from one row in memory to the next. */
static LLVMValueRef row_step(struct emitter *e, const struct wmma *w)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	LLVMValueRef bits = LLVMBuildMul(e->b, w->stride, LLVMConstInt(i64, ptx_type_bits(w->type), false), "");
	return LLVMBuildLShr(e->b, bits, LLVMConstInt(i64, 3, false), "");
}

static LLVMValueRef parameter_row(struct emitter *e, LLVMValueRef function, unsigned i)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	LLVMValueRef at = LLVMBuildMul(e->b, LLVMGetParam(function, 1), LLVMConstInt(i64, i, false), "");
	return LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->context), LLVMGetParam(function, 0), &at, 1, "");
}

/* void (first row, step, to): a register's rows, as words in the order of the lanes. The quick form calls it. */
static LLVMValueRef rows_function(struct emitter *e, bool turned)
{
	LLVMTypeRef pointer = LLVMPointerTypeInContext(e->context, 0), types[] = { pointer, LLVMInt64TypeInContext(e->context), pointer };
	const char *name = turned ? "matrix.columns" : "matrix.rows";
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name), rows[ROWS];
	if (f)
		return f;
	LLVMBasicBlockRef at = LLVMGetInsertBlock(e->b);
	f = add_own_function(e, name, LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, 3, false));
	LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->context, f, "entry"));
	for (unsigned i = 0; i < ROWS; i++)
		rows[i] = load_aligned(e, row_type(e), parameter_row(e, f, i));
	if (turned)
		transpose(e, rows);
	for (unsigned c = 0; c < e->chunks; c++)
		LLVMSetAlignment(LLVMBuildStore(e->b, rows_to_chunk(e, rows, c), fragment_word(e, LLVMGetParam(f, 2), 32, c * e->width)), 4);
	LLVMBuildRetVoid(e->b);
	LLVMPositionBuilderAtEnd(e->b, at);
	return f;
}

static void call_load_rows(struct emitter *e, const struct wmma *w, LLVMValueRef base, unsigned index, bool turned, LLVMValueRef *chunks)
{
	LLVMValueRef f = rows_function(e, turned), to = room_alloca(e, LLVMArrayType2(i32_type(e), 32), "rows");
	LLVMValueRef arguments[] = { register_row(e, w, base, index, 0), row_step(e, w), to };
	LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, arguments, 3, "");
	for (unsigned c = 0; c < e->chunks; c++)
		chunks[c] = load_aligned(e, LLVMVectorType(i32_type(e), e->width), fragment_word(e, to, 32, c * e->width));
}

static void load_rows(struct emitter *e, const struct wmma *w, LLVMValueRef base, unsigned index, bool turned, LLVMValueRef *chunks)
{
	LLVMValueRef rows[ROWS];
	if (is_quick(e)) {
		call_load_rows(e, w, base, index, turned, chunks);
		return;
	}
	for (unsigned i = 0; i < ROWS; i++)
		rows[i] = load_aligned(e, row_type(e), register_row(e, w, base, index, i));
	if (turned)
		transpose(e, rows);
	for (unsigned c = 0; c < e->chunks; c++)
		chunks[c] = rows_to_chunk(e, rows, c);
}

static void store_rows(struct emitter *e, const struct wmma *w, LLVMValueRef base, unsigned index, bool turned, LLVMValueRef const *chunks)
{
	LLVMValueRef rows[ROWS];
	chunks_to_rows(e, chunks, rows);
	if (turned)
		transpose(e, rows);
	for (unsigned i = 0; i < ROWS; i++)
		LLVMSetAlignment(LLVMBuildStore(e->b, rows[i], register_row(e, w, base, index, i)), 4);
}

/* Elements of rows of eight words: even ones are register `index`, odd ones the next. */
static void load_pairs(struct emitter *e, const struct wmma *w, LLVMValueRef base, unsigned index, LLVMValueRef *even, LLVMValueRef *odd)
{
	LLVMValueRef halves[2][ROWS], order[ROWS];
	for (unsigned i = 0; i < ROWS; i++) {
		LLVMValueRef row = load_aligned(e, LLVMVectorType(i32_type(e), ROWS), register_row(e, w, base, index, i));
		for (unsigned p = 0; p < 2; p++) {
			for (unsigned t = 0; t < 4; t++)
				order[t] = i32_constant(e, 2 * t + p);
			halves[p][i] = LLVMBuildShuffleVector(e->b, row, LLVMGetUndef(LLVMTypeOf(row)), LLVMConstVector(order, 4), "");
		}
	}
	for (unsigned c = 0; c < e->chunks; c++) {
		even[c] = rows_to_chunk(e, halves[0], c);
		odd[c] = rows_to_chunk(e, halves[1], c);
	}
}

static LLVMValueRef pair_row(struct emitter *e, LLVMValueRef const *even, LLVMValueRef const *odd, unsigned i)
{
	unsigned count = e->width / 4;
	LLVMValueRef order[ROWS];
	for (unsigned t = 0; t < ROWS; t++)
		order[t] = i32_constant(e, i % count * 4 + t / 2 + (t % 2 ? e->width : 0));
	return LLVMBuildShuffleVector(e->b, even[i / count], odd[i / count], LLVMConstVector(order, ROWS), "");
}

/* void (first row, step, the even register's chunks, the odd one's) */
static void call_store_pairs(struct emitter *e, LLVMValueRef row, LLVMValueRef step, LLVMValueRef const *even, LLVMValueRef const *odd)
{
	LLVMTypeRef types[2 + 2 * MAX_CHUNKS] = { LLVMTypeOf(row), LLVMTypeOf(step) };
	LLVMValueRef arguments[2 + 2 * MAX_CHUNKS] = { row, step }, chunks[2 * MAX_CHUNKS];
	unsigned count = 2 + 2 * e->chunks;
	for (unsigned c = 0; c < 2 * e->chunks; c++) {
		arguments[2 + c] = c < e->chunks ? even[c] : odd[c - e->chunks];
		types[2 + c] = LLVMTypeOf(arguments[2 + c]);
	}
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, count, false);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, "matrix.pairs");
	if (!f) {
		LLVMBasicBlockRef at = LLVMGetInsertBlock(e->b);
		f = add_own_function(e, "matrix.pairs", type);
		LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->context, f, "entry"));
		for (unsigned c = 0; c < 2 * e->chunks; c++)
			chunks[c] = LLVMGetParam(f, 2 + c);
		for (unsigned i = 0; i < ROWS; i++)
			LLVMSetAlignment(LLVMBuildStore(e->b, pair_row(e, chunks, chunks + e->chunks, i), parameter_row(e, f, i)), 4);
		LLVMBuildRetVoid(e->b);
		LLVMPositionBuilderAtEnd(e->b, at);
	}
	LLVMBuildCall2(e->b, type, f, arguments, count, "");
}

static void store_pairs(struct emitter *e, const struct wmma *w, LLVMValueRef base, unsigned index, LLVMValueRef const *even, LLVMValueRef const *odd)
{
	if (is_quick(e)) {
		call_store_pairs(e, register_row(e, w, base, index, 0), row_step(e, w), even, odd);
		return;
	}
	for (unsigned i = 0; i < ROWS; i++)
		LLVMSetAlignment(LLVMBuildStore(e->b, pair_row(e, even, odd, i), register_row(e, w, base, index, i)), 4);
}

static bool load_whole(struct emitter *e, const struct ptx_instruction *in, const struct wmma *w)
{
	enum by_row way = row_access(e, w);
	LLVMValueRef base = way == BY_LANE ? NULL : whole_base(e, in, operand(e, 1)), chunks[32][MAX_CHUNKS];
	const struct ptx_operand *d = operand(e, 0);
	if (!base)
		return false;
	for (unsigned i = 0; i < w->needed; i += way == BY_PAIRS ? 2 : 1)
		if (way == BY_PAIRS)
			load_pairs(e, w, base, i, chunks[i], chunks[i + 1]);
		else
			load_rows(e, w, base, i, way == BY_COLUMN, chunks[i]);
	for (unsigned i = 0; i < fragment_parts(d); i++)
		for (unsigned c = 0; c < e->chunks; c++)
			set_value_chunk(e, fragment_part(d, i), chunks[i % w->needed][c], c);
	return true;
}

static bool store_whole(struct emitter *e, const struct ptx_instruction *in, const struct wmma *w)
{
	enum by_row way = row_access(e, w);
	LLVMValueRef base = way == BY_LANE ? NULL : whole_base(e, in, operand(e, 0)), chunks[32][MAX_CHUNKS];
	const struct ptx_operand *from = operand(e, 1);
	if (!base)
		return false;
	for (unsigned i = 0; i < w->needed; i++)
		for (unsigned c = 0; c < e->chunks; c++)
			chunks[i][c] = arg_chunk(e, fragment_part(from, i), PTX_B32, c);
	for (unsigned i = 0; i < w->needed; i += way == BY_PAIRS ? 2 : 1)
		if (way == BY_PAIRS)
			store_pairs(e, w, base, i, chunks[i], chunks[i + 1]);
		else
			store_rows(e, w, base, i, way == BY_COLUMN, chunks[i]);
	return true;
}

/* ---- or lane by lane ------------------------------------------------------------------------------------------------------ */

void emit_wmma_load(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *d = operand(e, 0);
	struct wmma w = { 0 };
	if (!parse_wmma(e, in, in->operand_count > 2 ? operand(e, 2) : NULL, &w) || load_whole(e, in, &w))
		return;
	for (unsigned c = 0; c < e->chunks; c++) {
		LLVMValueRef values[32];
		struct group_place place = group_enter(e, c);
		LLVMValueRef base = address_words(e, emit_address(e, operand(e, 1), in->form->space, w.bits / 8));
		for (unsigned i = 0; i < w.needed && i < 32; i++)
			values[i] = load_register(e, &w, base, i);
		group_leave(e, place);
		for (unsigned i = 0; i < fragment_parts(d); i++)
			set_value_chunk(e, fragment_part(d, i), values[i % w.needed], c);
	}
}

void emit_wmma_store(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *from = operand(e, 1);
	struct wmma w = { 0 };
	if (!parse_wmma(e, in, in->operand_count > 2 ? operand(e, 2) : NULL, &w) || store_whole(e, in, &w))
		return;
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		LLVMValueRef base = address_words(e, emit_address(e, operand(e, 0), in->form->space, w.bits / 8));
		for (unsigned i = 0; i < w.needed && i < fragment_parts(from); i++)
			store_register(e, &w, base, i, arg_chunk(e, fragment_part(from, i), register_type(&w), c));
		group_leave(e, place);
	}
}

/* ---- ldmatrix, stmatrix, movmatrix ------------------------------------------------------------------------------------ */

/* Addresses of 8 rows of 16 bytes, given by lanes 8 × matrix …, as scalar pointers. */
static void row_pointers(struct emitter *e, struct address const *addresses, unsigned matrix, LLVMValueRef pointers[ROWS])
{
	for (unsigned r = 0; r < ROWS; r++) {
		unsigned lane = matrix * ROWS + r;
		struct group_place place = group_enter(e, lane / e->width);
		pointers[r] = lane_pointer(e, addresses[lane / e->width], lane % e->width);
		group_leave(e, place);
	}
}

static void matrix_addresses(struct emitter *e, const struct ptx_instruction *in, const struct ptx_operand *op, struct address *addresses)
{
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		addresses[c] = emit_address(e, op, in->form->space, 16);
		group_leave(e, place);
	}
}

static unsigned matrix_count(struct emitter *e)
{
	return has(e, MOD_x4) ? 4 : has(e, MOD_x2) ? 2 : 1;
}

/* ---- the scalar form: what this lane reads or writes, at addresses that other lanes hold ------------------------------- */

static LLVMValueRef exchange_address(struct emitter *e, const struct ptx_instruction *in, const struct ptx_operand *op)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context), types[] = { i32_type(e), i32_type(e), i64, LLVMPointerTypeInContext(e->context, 0) };
	LLVMValueRef own = LLVMBuildPtrToInt(e->b, flat_pointer(e, emit_address(e, op, in->form->space, 16).pointer), i64, ""), words = lane_words(e);
	LLVMValueRef arguments[] = { e->first_thread, i32_constant(e, UINT32_MAX), own, words };
	call_service(e, offsetof(struct cpu_services, exchange), i32_type(e), types, arguments, 4);
	return words;
}

/* Pointer to element (row, column) of a matrix; both i32 scalars. */
static LLVMValueRef scalar_element(struct emitter *e, LLVMValueRef words, unsigned matrix, LLVMValueRef row, LLVMValueRef column)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	LLVMValueRef lane = add_(e, row, i32_constant(e, matrix * ROWS)), start;
	start = LLVMBuildLoad2(e->b, i64, LLVMBuildGEP2(e->b, i64, words, &lane, 1, ""), "");
	start = add_(e, start, LLVMBuildZExt(e->b, shl_(e, column, i32_constant(e, 1)), i64, ""));
	return LLVMBuildIntToPtr(e->b, start, LLVMPointerTypeInContext(e->context, 0), "");
}

static LLVMValueRef own_element(struct emitter *e, LLVMValueRef words, unsigned matrix, unsigned p, bool transposed)
{
	LLVMValueRef lane = lane_numbers(e), g = lshr_(e, lane, i32_constant(e, 2)), t = and_(e, lane, i32_constant(e, 3));
	t = add_(e, shl_(e, t, i32_constant(e, 1)), i32_constant(e, p));
	return scalar_element(e, words, matrix, transposed ? t : g, transposed ? g : t);
}

static void ldmatrix_scalar(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMTypeRef i16 = LLVMInt16TypeInContext(e->context);
	LLVMValueRef words = exchange_address(e, in, operand(e, 1));
	for (unsigned m = 0; m < matrix_count(e); m++) {
		LLVMValueRef r = NULL;
		for (unsigned p = 0; p < 2; p++) {
			LLVMValueRef v = LLVMBuildLoad2(e->b, i16, own_element(e, words, m, p, has(e, MOD_trans)), "");
			v = resize(e, v, 32, false);
			r = p ? or_(e, r, shl_(e, v, i32_constant(e, 16))) : v;
		}
		set_value_uniform(e, fragment_part(operand(e, 0), m), r);
	}
}

static void stmatrix_scalar(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef words = exchange_address(e, in, operand(e, 0));
	for (unsigned m = 0; m < matrix_count(e); m++) {
		LLVMValueRef v = arg_uniform(e, fragment_part(operand(e, 1), m), PTX_B32);
		for (unsigned p = 0; p < 2; p++) {
			LLVMValueRef half = resize(e, lshr_(e, v, i32_constant(e, 16 * p)), 16, false);
			LLVMBuildStore(e->b, half, own_element(e, words, m, p, has(e, MOD_trans)));
		}
	}
}

/* ---- matrices of bytes (sm_100a): rows of 16 elements, fetched by the lanes one by one --------------------------------- */

/* The addresses that the lanes hold, in memory: i64[32]. */
static LLVMValueRef row_addresses(struct emitter *e, const struct ptx_instruction *in, const struct ptx_operand *op)
{
	if (e->lanes == 1)
		return exchange_address(e, in, op);
	LLVMValueRef words = lane_words(e);
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		LLVMValueRef a = address_words(e, emit_address(e, op, in->form->space, 16));
		LLVMSetAlignment(LLVMBuildStore(e->b, a, fragment_word(e, words, 64, c * e->width)), 8);
		group_leave(e, place);
	}
	return words;
}

/* Where lane `row` says its row begins, and `bytes` on; both i32 pieces. */
static struct address in_row(struct emitter *e, LLVMValueRef words, LLVMValueRef row, LLVMValueRef bytes)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	LLVMValueRef base = splat(e, LLVMBuildPtrToInt(e->b, words, i64, ""));
	base = add_(e, base, shl_(e, wide(e, row), kbits(e, 64, 3)));
	base = load_lanes(e, address_of_lanes(e, base, 8), i64, false);
	return address_of_lanes(e, add_(e, base, wide(e, bytes)), 1);
}

/* Element `column` of a row of bytes, or of 6 or 4 bits each with the padding behind them, as the low bits of an i32. */
static LLVMValueRef row_element(struct emitter *e, LLVMValueRef words, LLVMValueRef row, LLVMValueRef column, unsigned bits)
{
	LLVMValueRef at = mul_(e, column, kbits(e, 32, bits)), v;
	unsigned fetched = bits == 6 ? 16 : 8;
	v = load_lanes(e, in_row(e, words, row, lshr_(e, at, kbits(e, 32, 3))), LLVMIntTypeInContext(e->context, fetched), false);
	v = lshr_(e, resize(e, v, 32, false), and_(e, at, kbits(e, 32, 7)));
	return and_(e, v, kbits(e, 32, (UINT64_C(1) << bits) - 1));
}

/* .m16n16: two registers a matrix, of columns g and g + 8, rows 4t to 4t + 3. .m8n16: of row g, columns 4t to 4t + 3. */
static void load_bytes(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *to = operand(e, 0);
	unsigned bits = has(e, MOD_b6x16_p32) ? 6 : has(e, MOD_b4x16_p64) ? 4 : 8;
	LLVMValueRef words = row_addresses(e, in, operand(e, 1));
	for (unsigned c = 0; c < e->chunks; c++) {
		LLVMValueRef values[4] = { 0 };
		struct group_place place = group_enter(e, c);
		LLVMValueRef lane = lane_numbers(e), g = lshr_(e, lane, kbits(e, 32, 2)), t = shl_(e, and_(e, lane, kbits(e, 32, 3)), kbits(e, 32, 2));
		for (unsigned i = 0; i < fragment_parts(to); i++)
			for (unsigned j = 0; j < 4; j++) {
				LLVMValueRef along = add_(e, t, kbits(e, 32, j)), v;
				if (has(e, MOD_trans))
					v = row_element(e, words, add_(e, along, kbits(e, 32, i / 2 * 16)), add_(e, g, kbits(e, 32, i % 2 * 8)), bits);
				else
					v = row_element(e, words, add_(e, g, kbits(e, 32, i * ROWS)), along, bits);
				values[i] = j ? or_(e, values[i], shl_(e, v, kbits(e, 32, 8 * j))) : v;
			}
		group_leave(e, place);
		for (unsigned i = 0; i < fragment_parts(to); i++)
			set_value_chunk(e, fragment_part(to, i), values[i], c);
	}
}

/* .m16n8: eight rows of 16 bytes; a lane holds rows 2t and 2t + 1 of column g, then of column g + 8. */
static void store_bytes(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *from = operand(e, 1);
	LLVMValueRef words = row_addresses(e, in, operand(e, 0));
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		LLVMValueRef lane = lane_numbers(e), g = lshr_(e, lane, kbits(e, 32, 2)), t = shl_(e, and_(e, lane, kbits(e, 32, 3)), kbits(e, 32, 1));
		for (unsigned i = 0; i < fragment_parts(from); i++) {
			LLVMValueRef v = arg_chunk(e, fragment_part(from, i), PTX_B32, c);
			for (unsigned j = 0; j < 4; j++) {
				struct address at = in_row(e, words, add_(e, t, kbits(e, 32, i * ROWS + j % 2)), add_(e, g, kbits(e, 32, j / 2 * 8)));
				store_lanes(e, at, resize(e, lshr_(e, v, kbits(e, 32, 8 * j)), 8, false), false);
			}
		}
		group_leave(e, place);
	}
}

/* ---- the opcodes ----------------------------------------------------------------------------------------------------------- */

void emit_ldmatrix(struct emitter *e, const struct ptx_instruction *in)
{
	struct address addresses[MAX_CHUNKS];
	if (!has(e, MOD_m8n8)) {
		load_bytes(e, in);
		return;
	}
	if (e->lanes == 1) {
		ldmatrix_scalar(e, in);
		return;
	}
	matrix_addresses(e, in, operand(e, 1), addresses);
	for (unsigned m = 0; m < matrix_count(e); m++) {
		LLVMValueRef rows[ROWS];
		row_pointers(e, addresses, m, rows);
		for (unsigned r = 0; r < ROWS; r++) {
			rows[r] = LLVMBuildLoad2(e->b, row_type(e), rows[r], "");
			LLVMSetAlignment(rows[r], 16);
		}
		if (has(e, MOD_trans))
			transpose(e, rows);
		for (unsigned c = 0; c < e->chunks; c++) {
			struct group_place place = group_enter(e, c);
			LLVMValueRef v = rows_to_chunk(e, rows, c);
			group_leave(e, place);
			set_value_chunk(e, fragment_part(operand(e, 0), m), v, c);
		}
	}
}

static void fragment_rows(struct emitter *e, const struct ptx_operand *op, LLVMValueRef rows[ROWS])
{
	LLVMValueRef chunks[MAX_CHUNKS];
	for (unsigned c = 0; c < e->chunks; c++)
		chunks[c] = arg_chunk(e, op, PTX_B32, c);
	chunks_to_rows(e, chunks, rows);
}

void emit_stmatrix(struct emitter *e, const struct ptx_instruction *in)
{
	struct address addresses[MAX_CHUNKS];
	if (!has(e, MOD_m8n8)) {
		store_bytes(e, in);
		return;
	}
	if (e->lanes == 1) {
		stmatrix_scalar(e, in);
		return;
	}
	matrix_addresses(e, in, operand(e, 0), addresses);
	for (unsigned m = 0; m < matrix_count(e); m++) {
		LLVMValueRef rows[ROWS], pointers[ROWS];
		fragment_rows(e, fragment_part(operand(e, 1), m), rows);
		row_pointers(e, addresses, m, pointers);
		if (has(e, MOD_trans))
			transpose(e, rows);
		for (unsigned r = 0; r < ROWS; r++)
			LLVMSetAlignment(LLVMBuildStore(e->b, rows[r], pointers[r]), 16);
	}
}

/* Lane 4g + t gets elements (2t, g) and (2t + 1, g), which lanes 8t + g/2 and 8t + 4 + g/2 hold. */
static void movmatrix_scalar(struct emitter *e)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context), types[] = { i32_type(e), i32_type(e), i64, LLVMPointerTypeInContext(e->context, 0) };
	LLVMValueRef words = lane_words(e), own = LLVMBuildZExt(e->b, arg_uniform(e, operand(e, 1), PTX_B32), i64, ""), r = NULL;
	LLVMValueRef arguments[] = { e->first_thread, i32_constant(e, UINT32_MAX), own, words }, lane = lane_numbers(e);
	call_service(e, offsetof(struct cpu_services, exchange), i32_type(e), types, arguments, 4);
	LLVMValueRef g = lshr_(e, lane, i32_constant(e, 2)), t = and_(e, lane, i32_constant(e, 3));
	LLVMValueRef first = add_(e, shl_(e, t, i32_constant(e, 3)), lshr_(e, g, i32_constant(e, 1)));
	LLVMValueRef shift = shl_(e, and_(e, g, i32_constant(e, 1)), i32_constant(e, 4));
	for (unsigned p = 0; p < 2; p++) {
		LLVMValueRef from = add_(e, first, i32_constant(e, 4 * p));
		LLVMValueRef word = LLVMBuildLoad2(e->b, i64, LLVMBuildGEP2(e->b, i64, words, &from, 1, ""), "");
		LLVMValueRef half = and_(e, lshr_(e, resize(e, word, 32, false), shift), i32_constant(e, 0xffff));
		r = p ? or_(e, r, shl_(e, half, i32_constant(e, 16))) : half;
	}
	set_value_uniform(e, operand(e, 0), r);
}

void emit_movmatrix(struct emitter *e, const struct ptx_instruction *in)
{
	LLVMValueRef rows[ROWS];
	(void)in;
	if (e->lanes == 1) {
		movmatrix_scalar(e);
		return;
	}
	fragment_rows(e, operand(e, 1), rows);
	transpose(e, rows);
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		LLVMValueRef v = rows_to_chunk(e, rows, c);
		group_leave(e, place);
		set_value_chunk(e, operand(e, 0), v, c);
	}
}
