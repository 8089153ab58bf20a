/* Matrix instructions: PTX ISA 9.7.14 (wmma.mma, mma, mma.sp). A fragment's registers are laid down as words in the order of the lanes and
 * multiplied tile by tile (mma.c). How wmma spreads a matrix over fragments is not specified: here it is as for mma, tile after
 * tile, with the registers that are left over holding copies. In the scalar form threads first exchange their registers. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/fragment.h"
#include "codegen/group.h"
#include "codegen/memory.h"
#include "codegen/minifloat.h"
#include "codegen/mma.h"
#include "codegen/state.h"
#include "isa_emit.h"

bool fragment_shape(const struct ptx_instruction *in, unsigned *m, unsigned *n, unsigned *k)
{
	for (unsigned i = 0; i < in->form->mod_count; i++)
		if (in->form->mods[i] && sscanf(isa_mod_name((enum ptx_mod)in->form->mods[i]), "m%un%uk%u", m, n, k) == 3)
			return true;
	return false;
}

const struct ptx_operand *fragment_part(const struct ptx_operand *op, unsigned index)
{
	return op->kind == PTX_OP_VECTOR ? &op->parts[index] : op;
}

unsigned fragment_parts(const struct ptx_operand *op)
{
	return op->kind == PTX_OP_VECTOR ? op->part_count : 1;
}

LLVMValueRef fragment_word(struct emitter *e, LLVMValueRef base, unsigned bits, unsigned index)
{
	LLVMTypeRef word = LLVMIntTypeInContext(e->context, bits);
	LLVMValueRef at = LLVMConstInt(LLVMInt64TypeInContext(e->context), index, false);
	return LLVMBuildGEP2(e->b, word, base, &at, 1, "");
}

static void exchange_words(struct emitter *e, LLVMValueRef thread, LLVMValueRef own, LLVMValueRef words, unsigned bits, LLVMValueRef to)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context), i64 = LLVMInt64TypeInContext(e->context);
	LLVMTypeRef types[] = { i32, i32, i64, LLVMPointerTypeInContext(e->context, 0) };
	LLVMValueRef arguments[] = { thread, LLVMConstInt(i32, UINT32_MAX, false), own, words };
	call_service(e, offsetof(struct cpu_services, exchange), i32, types, arguments, 4);
	LLVMValueRef all = LLVMBuildLoad2(e->b, LLVMVectorType(i64, 32), words, "");
	LLVMSetAlignment(all, 8);
	if (bits == 32)
		all = LLVMBuildTrunc(e->b, all, LLVMVectorType(i32, 32), "");
	LLVMSetAlignment(LLVMBuildStore(e->b, all, to), 8);
}

/* The same as a function void (block, services, thread, own, to): kernels of thousands of registers took half a minute to compile. */
static LLVMValueRef exchange_function(struct emitter *e, unsigned bits, LLVMTypeRef *type)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context), pointer = LLVMPointerTypeInContext(e->context, 0);
	LLVMTypeRef types[] = { pointer, pointer, LLVMInt32TypeInContext(e->context), i64, pointer };
	const char *name = bits == 32 ? "exchange.32" : "exchange.64";
	*type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, 5, false);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name), outer = e->function, block = e->block, services = e->state->services;
	if (f)
		return f;
	LLVMBasicBlockRef at = LLVMGetInsertBlock(e->b);
	f = e->function = add_own_function(e, name, *type);
	e->block = LLVMGetParam(f, 0);
	e->state->services = LLVMGetParam(f, 1);
	LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->context, f, "entry"));
	LLVMValueRef words = LLVMBuildAlloca(e->b, LLVMArrayType2(i64, 32), "words");
	exchange_words(e, LLVMGetParam(f, 2), LLVMGetParam(f, 3), words, bits, LLVMGetParam(f, 4));
	LLVMBuildRetVoid(e->b);
	e->function = outer;
	e->block = block;
	e->state->services = services;
	LLVMPositionBuilderAtEnd(e->b, at);
	return f;
}

/* One register of all lanes, from an exchange: the scalar form. */
static void exchange_register(struct emitter *e, const struct ptx_operand *op, unsigned bits, LLVMValueRef to)
{
	LLVMTypeRef type;
	LLVMValueRef own = arg_uniform(e, op, bits == 64 ? PTX_B64 : PTX_B32);
	own = LLVMBuildZExt(e->b, own, LLVMInt64TypeInContext(e->context), "");
	if (e->target->hooks) {
		exchange_words(e, e->first_thread, own, lane_words(e), bits, to);
		return;
	}
	LLVMValueRef function = exchange_function(e, bits, &type);
	LLVMValueRef arguments[] = { e->block, e->state->services, e->first_thread, own, to };
	LLVMBuildCall2(e->b, type, function, arguments, 5, "");
}

LLVMValueRef fragment_store(struct emitter *e, const struct ptx_operand *op, unsigned bits, unsigned count)
{
	LLVMTypeRef word = LLVMIntTypeInContext(e->context, bits);
	LLVMValueRef base = room_alloca(e, LLVMArrayType2(word, 32 * count), "fragment");
	for (unsigned i = 0; i < count; i++) {
		const struct ptx_operand *part = fragment_part(op, i);
		if (e->lanes == 1) {
			exchange_register(e, part, bits, fragment_word(e, base, bits, 32 * i));
			continue;
		}
		for (unsigned c = 0; c < e->chunks; c++) {
			LLVMValueRef v = arg_chunk(e, part, bits == 64 ? PTX_B64 : PTX_B32, c);
			LLVMBuildStore(e->b, v, fragment_word(e, base, bits, 32 * i + c * e->width));
		}
	}
	return base;
}

void fragment_load(struct emitter *e, const struct ptx_operand *op, unsigned bits, unsigned count, LLVMValueRef base)
{
	LLVMTypeRef word = LLVMIntTypeInContext(e->context, bits);
	for (unsigned i = 0; i < count; i++) {
		const struct ptx_operand *part = fragment_part(op, i);
		if (e->lanes == 1) {
			LLVMValueRef lane = special_register(e, SREG_laneid, -1), first = fragment_word(e, base, bits, 32 * i);
			set_value_uniform(e, part, LLVMBuildLoad2(e->b, word, LLVMBuildGEP2(e->b, word, first, &lane, 1, ""), ""));
			continue;
		}
		for (unsigned c = 0; c < e->chunks; c++) {
			LLVMTypeRef type = LLVMVectorType(word, e->width);
			LLVMValueRef v = LLVMBuildLoad2(e->b, type, fragment_word(e, base, bits, 32 * i + c * e->width), "");
			set_value_chunk(e, part, v, c);
		}
	}
}

/* ---- a thread's own words (mma.h) -------------------------------------------------------------------------------------- */

static LLVMValueRef read_register(struct emitter *e, LLVMValueRef v, LLVMValueRef lane)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context), i64 = LLVMInt64TypeInContext(e->context);
	if (LLVMTypeOf(v) != i64)
		return e->target->hooks->read_lane(e, v, lane);
	LLVMValueRef by = LLVMConstInt(i64, 32, false);
	LLVMValueRef low = e->target->hooks->read_lane(e, LLVMBuildTrunc(e->b, v, i32, ""), lane);
	LLVMValueRef high = e->target->hooks->read_lane(e, LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, v, by, ""), i32, ""), lane);
	return LLVMBuildOr(e->b, LLVMBuildZExt(e->b, low, i64, ""), LLVMBuildShl(e->b, LLVMBuildZExt(e->b, high, i64, ""), by, ""), "");
}

/* The first of the lanes whose words a thread needs: of A's rows 4 g, of B's columns 8 t, of lane 4 g + t. */
static LLVMValueRef first_lane(struct emitter *e, bool of_a)
{
	LLVMValueRef lane = special_register(e, SREG_laneid, -1);
	if (of_a)
		return LLVMBuildAnd(e->b, lane, i32_constant(e, ~3u), "");
	return LLVMBuildShl(e->b, LLVMBuildAnd(e->b, lane, i32_constant(e, 3), ""), i32_constant(e, 3), "");
}

/* `words` of each register: MMA_OWN_A, MMA_OWN_B or, the thread's alone, 1. */
static LLVMValueRef own_store(struct emitter *e, const struct ptx_operand *op, unsigned bits, unsigned count, unsigned words)
{
	LLVMValueRef base = entry_alloca(e, LLVMArrayType2(LLVMIntTypeInContext(e->context, bits), words * count), "fragment");
	LLVMValueRef first = words > 1 ? first_lane(e, words == MMA_OWN_A) : NULL;
	for (unsigned i = 0; i < count; i++) {
		LLVMValueRef own = arg_uniform(e, fragment_part(op, i), bits == 64 ? PTX_B64 : PTX_B32);
		for (unsigned j = 0; j < words; j++) {
			LLVMValueRef v = words > 1 ? read_register(e, own, LLVMBuildAdd(e->b, first, i32_constant(e, j), "")) : own;
			LLVMBuildStore(e->b, v, fragment_word(e, base, bits, words * i + j));
		}
	}
	return base;
}

static void own_load(struct emitter *e, const struct ptx_operand *op, unsigned bits, unsigned count, LLVMValueRef base)
{
	LLVMTypeRef word = LLVMIntTypeInContext(e->context, bits);
	for (unsigned i = 0; i < count; i++)
		set_value_uniform(e, fragment_part(op, i), LLVMBuildLoad2(e->b, word, fragment_word(e, base, bits, i), ""));
}

/* ---- the product --------------------------------------------------------------------------------------------------- */

static bool set_types(const struct ptx_instruction *in, struct mma_tile *tile)
{
	const enum ptx_type *types = in->form->types;
	switch (in->form->type_count) {
	case 2: /* wmma of .f16: the types of d and c */
		*tile = (struct mma_tile){ .d = types[0], .a = PTX_F16, .b = PTX_F16, .c = types[1] };
		return true;
	case 4:
		*tile = (struct mma_tile){ .d = types[0], .a = types[1], .b = types[2], .c = types[3] };
		return true;
	default:
		return false;
	}
}

struct product {
	struct mma_tile tile;
	unsigned a, b, c, d;      /* registers of a tile */
	unsigned row_tiles, column_tiles;
	LLVMValueRef a_words, b_words, c_words, d_words;
	LLVMValueRef scales;      /* NULL: none */
};

/* Words that are kept of a register: of A, B, and C and D. */
static unsigned a_unit(const struct product *p)
{
	return p->tile.own ? MMA_OWN_A : 32;
}

static unsigned b_unit(const struct product *p)
{
	return p->tile.own ? MMA_OWN_B : 32;
}

static unsigned c_unit(const struct product *p)
{
	return p->tile.own ? 1 : 32;
}

static LLVMValueRef store_words(struct emitter *e, const struct product *p, const struct ptx_operand *op, unsigned bits, unsigned count,
				unsigned unit)
{
	return p->tile.own ? own_store(e, op, bits, count, unit) : fragment_store(e, op, bits, count);
}

static void call_words(struct emitter *e, LLVMValueRef function, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, LLVMValueRef d, LLVMValueRef scales)
{
	LLVMTypeRef pointer = LLVMPointerTypeInContext(e->context, 0), types[MMA_POINTERS] = { pointer, pointer, pointer, pointer, pointer };
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, MMA_POINTERS, false);
	LLVMValueRef arguments[MMA_POINTERS] = { a, b, c, d, scales ? scales : LLVMGetUndef(pointer) };
	LLVMBuildCall2(e->b, type, function, arguments, MMA_POINTERS, "");
}

static LLVMValueRef word_array(struct emitter *e, unsigned bits, unsigned count, const char *name)
{
	return room_alloca(e, LLVMArrayType2(LLVMIntTypeInContext(e->context, bits), count), name);
}

static void multiply_tiles(struct emitter *e, struct product *p, LLVMValueRef function)
{
	unsigned ab = mma_register_bits(p->tile.a), cd = mma_register_bits(p->tile.d);
	for (unsigned row = 0; row < p->row_tiles; row++)
		for (unsigned column = 0; column < p->column_tiles; column++) {
			unsigned at = row * p->column_tiles + column;
			call_words(e, function, fragment_word(e, p->a_words, ab, a_unit(p) * p->a * row),
				   fragment_word(e, p->b_words, ab, b_unit(p) * p->b * column),
				   fragment_word(e, p->c_words, cd, c_unit(p) * p->c * at),
				   fragment_word(e, p->d_words, cd, c_unit(p) * p->d * at), p->scales);
		}
}

/* Two rows of lanes hold A's places as they are stored: half of them. */
static LLVMValueRef expand_sparse(struct emitter *e, struct product *p)
{
	const struct ptx_operand *selector = operand(e, 5);
	LLVMValueRef sparse = store_words(e, p, operand(e, 1), 32, p->a / 2, MMA_OWN_A);
	LLVMValueRef metadata = store_words(e, p, operand(e, 4), 32, 1, MMA_OWN_A);
	LLVMValueRef dense = word_array(e, 32, a_unit(p) * p->a, "dense");
	LLVMValueRef function = mma_expand_function(e, &p->tile, (unsigned)selector->bits & 3);
	call_words(e, function, sparse, metadata, dense, dense, NULL);
	return dense;
}

/* The kinds of sm_120a. As many scales as .scale_vec says share the elements along k. */
static void set_kind(struct emitter *e, struct mma_tile *tile)
{
	bool packed = has(e, MOD_kind__mxf4) || has(e, MOD_kind__mxf4nvf4);
	tile->newest = packed || has(e, MOD_kind__f8f6f4) || has(e, MOD_kind__mxf8f6f4);
	if (packed)
		tile->a = tile->b = PTX_E2M1X2;
	if (has(e, MOD_block_scale))
		tile->block = tile->k / (has(e, MOD_scale_vec__4X) ? 4 : packed ? 2 : 1);
}

/* Lane 4g + 2s + i holds the scales of row g + 8i of A, lane 4g + s those of column g of B, a byte each from the named one on; s, the
 * thread id, and the byte id are what stands in braces. */
static LLVMValueRef gather_scales(struct emitter *e, unsigned index, bool of_a, bool own, LLVMValueRef *first_byte)
{
	unsigned count = own ? 2 : of_a ? 16 : 8;
	const struct ptx_operand *selector = operand(e, index + 1);
	LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
	LLVMValueRef words = own ? arg_uniform(e, operand(e, index), PTX_B32) : fragment_store(e, operand(e, index), 32, 1);
	LLVMValueRef thread = group_scalar(e, fragment_part(selector, 1), PTX_U16), first = own ? first_lane(e, of_a) : NULL;
	*first_byte = LLVMBuildZExt(e->b, group_scalar(e, fragment_part(selector, 0), PTX_U16), i32, "");
	thread = LLVMBuildAnd(e->b, LLVMBuildZExt(e->b, thread, i32, ""), i32_constant(e, of_a ? 1 : 3), "");
	e->w = count;
	LLVMValueRef all = undef_piece(e, i32);
	for (unsigned i = 0; i < count; i++) {
		LLVMValueRef lane = LLVMBuildShl(e->b, thread, i32_constant(e, of_a), ""), word;
		if (own) {
			lane = LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, lane, first, ""), i32_constant(e, of_a ? i : 4 * i), "");
			word = read_register(e, words, lane);
		} else {
			lane = LLVMBuildAdd(e->b, lane, i32_constant(e, i % 8 * 4 + i / 8), "");
			word = LLVMBuildLoad2(e->b, i32, LLVMBuildGEP2(e->b, i32, words, &lane, 1, ""), "");
		}
		all = lane_put(e, all, word, i);
	}
	return all;
}

static LLVMValueRef store_scales(struct emitter *e, const struct mma_tile *tile, bool sparse)
{
	unsigned w = e->w, blocks = tile->k / tile->block;
	LLVMValueRef base = word_array(e, 64, blocks * MMA_SCALES, "scales"), first;
	for (unsigned part = 0; part < 2; part++) {
		LLVMValueRef words = gather_scales(e, (sparse ? 6 : 4) + 2 * part, !part, tile->own, &first);
		first = LLVMBuildShl(e->b, LLVMBuildAnd(e->b, first, i32_constant(e, 3), ""), i32_constant(e, 3), "");
		words = lshr_(e, words, splat(e, first));
		for (unsigned i = 0; i < blocks; i++) {
			LLVMValueRef code = and_(e, lshr_(e, words, kbits(e, 32, 8 * i)), kbits(e, 32, 0xff));
			LLVMValueRef at = fragment_word(e, base, 64, i * MMA_SCALES + (part ? 16 : 0));
			LLVMSetAlignment(LLVMBuildStore(e->b, minifloat_scale(e, has(e, MOD_ue4m3), code), at), 8);
		}
		e->w = w;
	}
	return base;
}

static bool set_shape(struct emitter *e, const struct ptx_instruction *in, struct product *p)
{
	unsigned m, n, k;
	if (!set_types(in, &p->tile) || !fragment_shape(in, &m, &n, &k))
		return false;
	p->tile.m = m < 16 ? m : 16;
	p->tile.k = k;
	p->tile.satfinite = has(e, MOD_satfinite);
	p->tile.bit_and = p->tile.a == PTX_B1 && has(e, MOD_and);
	p->tile.rounding = rounding_of(e);
	set_kind(e, &p->tile);
	p->row_tiles = m / p->tile.m;
	p->column_tiles = n / 8;
	p->a = mma_a_registers(&p->tile);
	p->b = mma_b_registers(&p->tile);
	p->c = mma_c_registers(&p->tile, p->tile.c);
	p->d = mma_c_registers(&p->tile, p->tile.d);
	return true;
}

enum { MOST_REGISTERS = 64 };

static void read_registers(struct emitter *e, const struct ptx_operand *op, unsigned count, LLVMValueRef *to)
{
	for (unsigned i = 0; i < count; i++)
		to[i] = arg_uniform(e, fragment_part(op, i), PTX_B32);
}

/* By the machine's own instructions, where it has such. */
static bool multiply_by_machine(struct emitter *e, const struct product *p)
{
	LLVMValueRef a[MOST_REGISTERS], b[MOST_REGISTERS], c[MOST_REGISTERS], d[MOST_REGISTERS];
	unsigned tiles = p->row_tiles * p->column_tiles;
	if (!e->target->hooks || !e->target->hooks->multiply || p->tile.a == PTX_F64)
		return false;
	read_registers(e, operand(e, 1), p->a * p->row_tiles, a);
	read_registers(e, operand(e, 2), p->b * p->column_tiles, b);
	read_registers(e, operand(e, 3), p->c * tiles, c);
	for (unsigned row = 0; row < p->row_tiles; row++) {
		unsigned at = row * p->column_tiles;
		if (!e->target->hooks->multiply(e, &p->tile, p->column_tiles, a + p->a * row, b, c + p->c * at, d + p->d * at))
			return false;
	}
	for (unsigned i = 0; i < p->d * tiles; i++)
		set_value_uniform(e, fragment_part(operand(e, 0), i), d[i]);
	return true;
}

static void emit_product(struct emitter *e, const struct ptx_instruction *in, bool sparse)
{
	struct product p = { 0 };
	if (!set_shape(e, in, &p) || !p.a || !p.b) {
		unsupported(e, "this kind of matrix product");
		return;
	}
	p.tile.sparse = sparse;
	if (!sparse && multiply_by_machine(e, &p))
		return;
	p.tile.own = e->target->hooks;
	LLVMValueRef whole = p.tile.own ? NULL : mma_fast_function(e, &p.tile, p.row_tiles, p.column_tiles);
	LLVMValueRef function = whole ? whole : mma_function(e, &p.tile);
	if (!function)
		return;
	unsigned ab = mma_register_bits(p.tile.a), cd = mma_register_bits(p.tile.d), tiles = p.row_tiles * p.column_tiles;
	p.a_words = sparse ? expand_sparse(e, &p) : store_words(e, &p, operand(e, 1), ab, p.a * p.row_tiles, MMA_OWN_A);
	p.b_words = store_words(e, &p, operand(e, 2), ab, p.b * p.column_tiles, MMA_OWN_B);
	p.c_words = store_words(e, &p, operand(e, 3), cd, p.c * tiles, 1);
	p.d_words = word_array(e, cd, c_unit(&p) * p.d * tiles, "product");
	p.scales = p.tile.block ? store_scales(e, &p.tile, sparse) : NULL;
	if (whole)
		call_words(e, whole, p.a_words, p.b_words, p.c_words, p.d_words, NULL);
	else
		multiply_tiles(e, &p, function);
	if (p.tile.own)
		own_load(e, operand(e, 0), cd, p.d * tiles, p.d_words);
	else
		fragment_load(e, operand(e, 0), cd, p.d * tiles, p.d_words);
}

/* Four products of a quarter of the warp each: 9.7.14.5.1. Their rows of four places are halves of a tile's of eight. */
static void emit_quarters(struct emitter *e, const struct ptx_instruction *in)
{
	struct product p = { 0 };
	if (!set_shape(e, in, &p)) {
		unsupported(e, "this kind of matrix product");
		return;
	}
	p.tile.k = 8;
	unsigned c = p.tile.c == PTX_F16 ? 4 : 8, d = p.tile.d == PTX_F16 ? 4 : 8;
	bool a_by_columns = in->form->mods[3] == MOD_col, b_by_rows = in->form->mods[4] == MOD_row;
	LLVMValueRef function = mma_quarters_function(e, &p.tile, a_by_columns, b_by_rows);
	if (!function)
		return;
	LLVMValueRef product = word_array(e, 32, 32 * d, "product");
	call_words(e, function, fragment_store(e, operand(e, 1), 32, 2), fragment_store(e, operand(e, 2), 32, 2),
		   fragment_store(e, operand(e, 3), 32, c), product, NULL);
	fragment_load(e, operand(e, 0), 32, d, product);
}

void emit_mma(struct emitter *e, const struct ptx_instruction *in)
{
	if (has(e, MOD_m8n8k4) && in->form->types[1] == PTX_F16)
		emit_quarters(e, in);
	else
		emit_product(e, in, false);
}

void emit_mma_sp(struct emitter *e, const struct ptx_instruction *in)
{
	emit_product(e, in, true);
}

void emit_wmma_mma(struct emitter *e, const struct ptx_instruction *in)
{
	emit_product(e, in, false);
}
