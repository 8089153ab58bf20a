/* Operands and results as emit.h has them: what an instruction reads, and what becomes of what it makes. */
#include <stdio.h>
#include <stdlib.h>

#include "codegen/arith.h"
#include "codegen/memory.h"
#include "codegen/values.h"
#include "ir/flatten.h"

/* ---- operands ------------------------------------------------------------------------------------------------------------ */

const struct ptx_operand *operand(struct emitter *e, unsigned index)
{
	return index < e->inst->ptx->operand_count ? &e->inst->ptx->operands[index] : NULL;
}

enum ptx_type operand_type(struct emitter *e, unsigned index)
{
	const struct ptx_form *form = e->inst->ptx->form;
	if (index >= form->row->operand_count)
		return form->types[0];
	const struct isa_operand *op = &form->row->operands[index];
	return op->type ? (enum ptx_type)op->type : form->types[op->type_slot];
}

bool has(struct emitter *e, enum ptx_mod mod)
{
	return ptx_has(e->inst->ptx->form, mod);
}

uint32_t used_value(struct emitter *e, const struct ptx_operand *op)
{
	for (unsigned i = 0; i < e->inst->use_count; i++)
		if (e->inst->uses[i].operand == op)
			return e->inst->uses[i].value;
	return IR_NONE;
}

const struct ptx_instruction *definition_of(struct emitter *e, const struct ptx_operand *op)
{
	uint32_t value = op->kind == PTX_OP_REGISTER ? used_value(e, op) : IR_NONE;
	const struct ir_value *v = value == IR_NONE ? NULL : ir_value(e, value);
	if (!v || v->block == IR_NONE || v->inst == IR_NONE)
		return NULL;
	const struct ir_inst *inst = &e->ir->blocks.data[v->block].insts.data[v->inst];
	return inst->op == IR_PTX && inst->def_count == 1 && !inst->ptx->guard ? inst->ptx : NULL;
}

struct ir_float_range float_range_of(struct emitter *e, unsigned index)
{
	return ir_float_range(e->ir, e->inst, operand(e, index));
}

/* Arithmetic on floats does not look at a NaN's bits, nor does a copy that stays as raw. */
static bool sees_bits(struct emitter *e, const struct ptx_operand *op, enum ptx_type type)
{
	uint32_t shuffled = ir_shuffled_result(e->ir, e->inst, op);
	if (shuffled != IR_NONE)
		return !is_raw(e, shuffled);
	if (ir_copies_bits(e->ir, e->inst))
		return !is_raw(e, e->inst->defs[0].value);
	if (e->inst->op != IR_PTX)
		return true;
	const struct isa_row *row = e->inst->ptx->form->row;
	if (!(row->flags & ISA_PURE))
		return true;
	if (ir_absorbs_nan(e->ir, e->inst))
		return false;
	return type != PTX_F32 || (row->operand_count && operand_type(e, 0) == PTX_F64);
}

static LLVMValueRef fit(struct emitter *e, LLVMValueRef v, enum ptx_type type)
{
	unsigned from = type_lane_bits(LLVMTypeOf(v)), to = ptx_type_bits(type) ? ptx_type_bits(type) : 64;
	if (from != to)
		v = resize(e, as_int(e, v), to, false);
	return as_type(e, v, type);
}

static LLVMValueRef constant(struct emitter *e, const struct ptx_operand *op, enum ptx_type type)
{
	unsigned bits = ptx_type_bits(type) ? ptx_type_bits(type) : 64;
	uint64_t value = op->bits;
	if (op->kind == PTX_OP_FLOAT) {
		if (op->is_f32 && bits == 64) { /* a float where a double is wanted */
			uint32_t half = (uint32_t)value;
			float f;
			memcpy(&f, &half, 4);
			double d = f;
			memcpy(&value, &d, 8);
		} else if (!op->is_f32 && bits < 64) {
			double d;
			memcpy(&d, &value, 8);
			if (type == PTX_F16 || bits == 16)
				return recast(e, LLVMConstReal(LLVMHalfTypeInContext(e->context), d), lane_type(e, type));
			float f = (float)d;
			uint32_t half;
			memcpy(&half, &f, 4);
			value = half;
		}
	}
	if (op->negated && type == PTX_PRED)
		value = !value;
	if (bits <= 64)
		return recast(e, LLVMConstInt(int_type(e, bits), value, 0), lane_type(e, type));
	uint64_t words[2] = { value, op->is_unsigned || (int64_t)value >= 0 ? 0 : UINT64_MAX };
	return LLVMConstIntOfArbitraryPrecision(int_type(e, bits), 2, words);
}

/* Address of a variable in its own space: an offset in the shared or local window, else a host pointer. */
static LLVMValueRef symbol_value(struct emitter *e, const struct ptx_operand *op)
{
	LLVMTypeRef i64 = int_type(e, 64);
	LLVMValueRef address;
	if (op->symbol->kind == PTX_SYMBOL_VARIABLE) {
		const struct ptx_variable *variable = (const struct ptx_variable *)op->symbol;
		const struct ir_object *object = ir_find_object(e->ir, e->inst->instance, variable);
		if (object && object->floats)
			address = LLVMBuildZExt(e->b, shared_behind(e), i64, "");
		else if (object)
			return LLVMConstInt(i64, object->offset + (uint64_t)op->offset, 0);
		else if (variable->space == PTX_SPACE_PARAM)
			address = parameter_address(e, variable);
		else
			address = symbol_address(e, op->symbol);
	} else {
		address = symbol_address(e, op->symbol);
	}
	return op->offset ? LLVMBuildAdd(e->b, address, LLVMConstInt(i64, (uint64_t)op->offset, 0), "") : address;
}

LLVMValueRef value_of(struct emitter *e, const struct ptx_operand *op, enum ptx_type type)
{
	switch (op->kind) {
	case PTX_OP_REGISTER: {
		uint32_t value = used_value(e, op);
		LLVMValueRef v = value == IR_NONE ? splat(e, LLVMConstNull(lane_type(e, type))) : read_piece(e, value);
		if (is_raw(e, value) && sees_bits(e, op, type))
			v = canonical(e, v);
		v = fit(e, v, type);
		return op->negated && type == PTX_PRED ? LLVMBuildNot(e->b, v, "") : v;
	}
	case PTX_OP_IMMEDIATE:
	case PTX_OP_FLOAT:
		return splat(e, constant(e, op, type));
	case PTX_OP_SYMBOL:
		return splat(e, fit(e, symbol_value(e, op), type));
	case PTX_OP_SREG:
		return fit(e, special_register(e, op->sreg, op->component), type);
	case PTX_OP_ADDRESS: /* [a] given where a plain address is meant */
		return value_of(e, &op->parts[0], type);
	default:
		unsupported(e, "this kind of operand");
		return splat(e, LLVMConstNull(lane_type(e, type)));
	}
}

LLVMValueRef arg_typed(struct emitter *e, unsigned index, enum ptx_type type)
{
	return value_of(e, operand(e, index), type);
}

LLVMValueRef arg(struct emitter *e, unsigned index)
{
	return arg_typed(e, index, operand_type(e, index));
}

LLVMValueRef raw_arg(struct emitter *e, unsigned index)
{
	return fit(e, read_piece(e, used_value(e, operand(e, index))), PTX_F32);
}

bool copies_raw(struct emitter *e, unsigned index)
{
	const struct ptx_operand *op = operand(e, index);
	return op->kind == PTX_OP_REGISTER && is_raw(e, used_value(e, op)) && sees_bits(e, op, PTX_F32);
}

bool operand_is_uniform(struct emitter *e, const struct ptx_operand *op)
{
	if (op->kind == PTX_OP_REGISTER) {
		uint32_t value = used_value(e, op);
		return value == IR_NONE || ir_value(e, value)->shape.kind == IR_UNIFORM;
	}
	if (op->kind == PTX_OP_SREG)
		return e->lanes == 1 || op->sreg == SREG_ctaid || op->sreg == SREG_nctaid || op->sreg == SREG_ntid;
	return true;
}

/* Runs `read` for another piece than the current one. */
static LLVMValueRef read_as(struct emitter *e, enum piece piece, unsigned chunk, const struct ptx_operand *op, enum ptx_type type)
{
	enum piece old_piece = e->piece;
	unsigned old_chunk = e->chunk, old_w = e->w;
	e->piece = piece;
	e->chunk = chunk;
	e->w = piece == PIECE_CHUNK ? e->width : 1;
	LLVMValueRef v = value_of(e, op, type);
	e->piece = old_piece;
	e->chunk = old_chunk;
	e->w = old_w;
	return v;
}

LLVMValueRef arg_uniform(struct emitter *e, const struct ptx_operand *op, enum ptx_type type)
{
	return read_as(e, PIECE_UNIFORM, 0, op, type);
}

LLVMValueRef arg_chunk(struct emitter *e, const struct ptx_operand *op, enum ptx_type type, unsigned chunk)
{
	return read_as(e, PIECE_CHUNK, chunk, op, type);
}

/* ---- results ------------------------------------------------------------------------------------------------------------- */

static const struct ir_def *find_def(struct emitter *e, const struct ptx_operand *op)
{
	for (unsigned i = 0; i < e->inst->def_count; i++)
		if (e->inst->defs[i].operand == op)
			return &e->inst->defs[i];
	return NULL;
}

/* The type that the row gives a result operand, nested ones included. */
static enum ptx_type result_type(struct emitter *e, const struct ptx_operand *op)
{
	const struct ptx_instruction *in = e->inst->ptx;
	if (e->inst->op == IR_COPY)
		return e->inst->source_type;
	for (unsigned i = 0; i < in->operand_count; i++) {
		const struct ptx_operand *whole = &in->operands[i];
		if (op == whole)
			return operand_type(e, i);
		for (unsigned j = 0; j < whole->part_count; j++)
			if (op == &whole->parts[j]) {
				if (whole->kind == PTX_OP_PAIR && j == 1 && i < in->form->row->operand_count)
					return in->form->row->operands[i].pair_type ? (enum ptx_type)in->form->row->operands[i].pair_type : PTX_PRED;
				return operand_type(e, i);
			}
	}
	return PTX_TYPE_NONE;
}

static bool signed_type(enum ptx_type type)
{
	return type >= PTX_S8 && type <= PTX_S64;
}

/* 0x7fff in either half for the half-precision formats; f32 is made canonical where it is seen. */
static LLVMValueRef canonical_halves(struct emitter *e, LLVMValueRef v, enum ptx_type type)
{
	bool f16 = type == PTX_F16 || type == PTX_F16X2, packed = type == PTX_F16X2 || type == PTX_BF16X2;
	if ((!f16 && type != PTX_BF16 && type != PTX_BF16X2) || !(e->inst->ptx->form->row->flags & ISA_PURE) ||
	    e->inst->ptx->form->row->flags & ISA_BITS)
		return v;
	uint8_t shape = e->inst->ptx->form->row->shape;
	if (shape == SHAPE_mov || shape == SHAPE_select || shape == SHAPE_load)
		return v;
	LLVMValueRef bits = as_int(e, v);
	for (unsigned half = 0; half < (packed ? 2u : 1u); half++) {
		unsigned shift = half * 16, total = packed ? 32 : 16;
		uint64_t magnitude = UINT64_C(0x7fff) << shift, infinity = (f16 ? UINT64_C(0x7c00) : UINT64_C(0x7f80)) << shift;
		LLVMValueRef m = LLVMBuildAnd(e->b, bits, kbits(e, total, magnitude), "");
		LLVMValueRef nan = LLVMBuildICmp(e->b, LLVMIntUGT, m, kbits(e, total, infinity), "");
		LLVMValueRef rest = LLVMBuildAnd(e->b, bits, kbits(e, total, ~(UINT64_C(0xffff) << shift)), "");
		LLVMValueRef with = LLVMBuildOr(e->b, rest, kbits(e, total, magnitude), "");
		bits = LLVMBuildSelect(e->b, nan, with, bits, "");
	}
	return recast(e, bits, element_type(LLVMTypeOf(v)));
}

/* To the register's width. */
static LLVMValueRef fit_result(struct emitter *e, uint32_t value, LLVMValueRef v, enum ptx_type type)
{
	if (e->inst->op == IR_PTX)
		v = canonical_halves(e, v, type);
	unsigned want = ptx_type_bits(ir_value(e, value)->type), have = type_lane_bits(LLVMTypeOf(v));
	if (want != have)
		v = resize(e, as_int(e, v), want, signed_type(type));
	if (ir_value(e, value)->flags & IR_RAW_RESULT)
		v = canonical(e, v);
	return fit_stored(e, value, v);
}

/* What a guarded instruction's result was before, for the current piece. */
LLVMValueRef read_old(struct emitter *e, const struct ir_def *def, bool vector)
{
	if (def->old == IR_NONE)
		return LLVMConstNull(stored_type(e, def->value, vector));
	LLVMValueRef old = read_piece(e, def->old);
	if (is_raw(e, def->old) && !is_raw(e, def->value))
		old = canonical(e, old);
	return fit_stored(e, def->value, old);
}

static uint32_t guard_value(const struct ir_inst *inst)
{
	for (unsigned i = 0; i < inst->use_count; i++)
		if (!inst->uses[i].operand)
			return inst->uses[i].value;
	return IR_NONE;
}

/* A guarded call or trap runs in a block of its own, behind a branch: there its guard is no more. */
bool has_guard(const struct ir_inst *inst)
{
	if (!inst->ptx || !inst->ptx->guard)
		return false;
	for (unsigned i = 0; i < inst->use_count; i++)
		if (!inst->uses[i].operand)
			return true;
	return false;
}

/* The guard of the current piece, as i1 or a vector of them. */
LLVMValueRef read_guard(struct emitter *e)
{
	uint32_t value = guard_value(e->inst);
	LLVMValueRef g = value == IR_NONE ? kbits(e, 1, 0) : read_piece(e, value);
	return e->inst->ptx->guard_negated ? LLVMBuildNot(e->b, g, "") : g;
}

void keep(struct emitter *e, uint32_t value, LLVMValueRef v)
{
	struct value_code *code = &e->state->values[value];
	enum ir_shape_kind kind = ir_value(e, value)->shape.kind;
	if (kind == IR_UNIFORM && known_number(e, value)) {
		code->uniform = known_number(e, value);
		return;
	}
	if (kind == IR_UNIFORM) {
		code->uniform = is_vector(v) ? LLVMBuildExtractElement(e->b, v, LLVMConstInt(int_type(e, 32), 0, 0), "") : v;
		return;
	}
	make_code_arrays(e, value);
	switch (e->piece) {
	case PIECE_CHUNK:
		code->chunk[e->chunk] = v;
		break;
	case PIECE_BASE:
		code->base[e->chunk] = v;
		break;
	default: /* one result for all lanes */
		for (unsigned c = 0; c < e->chunks; c++) {
			unsigned w = e->w;
			e->w = e->width;
			code->chunk[c] = splat(e, v);
			code->base[c] = v;
			e->w = w;
		}
	}
}

void set_value(struct emitter *e, const struct ptx_operand *op, LLVMValueRef v)
{
	const struct ir_def *def = find_def(e, op);
	if (!def)
		return; /* `_` */
	v = fit_result(e, def->value, v, result_type(e, op));
	if (has_guard(e->inst) && e->piece != PIECE_GROUP) {
		LLVMValueRef old = read_old(e, def, is_vector(v));
		if (!is_vector(old) && is_vector(v))
			old = splat(e, old);
		v = LLVMBuildSelect(e->b, read_guard(e), v, old, "");
	}
	keep(e, def->value, v);
}

void set_result(struct emitter *e, unsigned index, LLVMValueRef value)
{
	const struct ptx_operand *op = operand(e, index);
	set_value(e, op->kind == PTX_OP_PAIR ? &op->parts[0] : op, value);
}

void set_pair(struct emitter *e, unsigned index, LLVMValueRef first, LLVMValueRef second)
{
	const struct ptx_operand *op = operand(e, index);
	if (op->kind != PTX_OP_PAIR) {
		set_value(e, op, first);
		return;
	}
	set_value(e, &op->parts[0], first);
	set_value(e, &op->parts[1], second);
}

void set_value_chunk(struct emitter *e, const struct ptx_operand *op, LLVMValueRef v, unsigned chunk)
{
	const struct ir_def *def = find_def(e, op);
	if (!def)
		return;
	enum piece piece = e->piece;
	unsigned old_chunk = e->chunk, w = e->w;
	e->piece = PIECE_CHUNK;
	e->chunk = chunk;
	e->w = e->width;
	v = fit_result(e, def->value, v, result_type(e, op));
	if (has_guard(e->inst)) {
		LLVMValueRef old = read_old(e, def, true);
		v = LLVMBuildSelect(e->b, read_guard(e), v, old, "");
	}
	enum ir_shape_kind kind = ir_value(e, def->value)->shape.kind;
	if (kind != IR_UNIFORM || chunk == 0)
		keep(e, def->value, v);
	if (kind == IR_AFFINE)
		e->state->values[def->value].base[chunk] = lane_get(e, v, 0);
	e->piece = piece;
	e->chunk = old_chunk;
	e->w = w;
}

void set_value_uniform(struct emitter *e, const struct ptx_operand *op, LLVMValueRef scalar)
{
	const struct ir_def *def = find_def(e, op);
	if (!def)
		return;
	if (ir_value(e, def->value)->shape.kind == IR_UNIFORM && !(has_guard(e->inst) && def->old != IR_NONE)) {
		unsigned w = e->w;
		e->w = 1;
		keep(e, def->value, fit_result(e, def->value, scalar, result_type(e, op)));
		e->w = w;
		return;
	}
	for (unsigned c = 0; c < e->chunks; c++) {
		unsigned w = e->w;
		e->w = e->width;
		LLVMValueRef v = splat(e, scalar);
		e->w = w;
		set_value_chunk(e, op, v, c);
	}
}

LLVMValueRef carry_get(struct emitter *e)
{
	uint32_t value = used_value(e, &ir_carry_operand);
	return value == IR_NONE ? kbits(e, 1, 0) : read_piece(e, value);
}

void carry_set(struct emitter *e, LLVMValueRef v)
{
	set_value(e, &ir_carry_operand, v);
}

LLVMValueRef stack_get(struct emitter *e)
{
	uint32_t value = used_value(e, &ir_stack_operand);
	return value == IR_NONE ? kbits(e, 64, 0) : read_piece(e, value);
}

void stack_set(struct emitter *e, LLVMValueRef v)
{
	set_value(e, &ir_stack_operand, v);
}

/* ---- masks --------------------------------------------------------------------------------------------------------------- */

LLVMValueRef mask_chunk(struct emitter *e, unsigned chunk)
{
	struct lane_masks *group = &e->state->group;
	if (!group->full)
		return group->chunk[chunk];
	LLVMTypeRef lane = int_type(e, 1);
	return LLVMConstAllOnes(e->width == 1 ? lane : LLVMVectorType(lane, e->width));
}

LLVMValueRef bits_of_mask(struct emitter *e, LLVMValueRef const *chunk_masks)
{
	LLVMTypeRef i32 = int_type(e, 32);
	LLVMValueRef all = NULL;
	for (unsigned c = 0; c < e->chunks; c++) {
		LLVMValueRef m = chunk_masks[c];
		if (e->width > 1)
			m = LLVMBuildBitCast(e->b, m, int_type(e, e->width), "");
		m = e->width == 32 ? m : LLVMBuildZExt(e->b, m, i32, "");
		if (c)
			m = LLVMBuildShl(e->b, m, LLVMConstInt(i32, c * e->width, 0), "");
		all = all ? LLVMBuildOr(e->b, all, m, "") : m;
	}
	return all;
}

LLVMValueRef mask_bits(struct emitter *e)
{
	LLVMValueRef masks[MAX_CHUNKS];
	for (unsigned c = 0; c < e->chunks; c++)
		masks[c] = mask_chunk(e, c);
	return bits_of_mask(e, masks);
}

LLVMValueRef mask_of_bits(struct emitter *e, LLVMValueRef bits, unsigned chunk)
{
	LLVMTypeRef i32 = int_type(e, 32);
	if (chunk)
		bits = LLVMBuildLShr(e->b, bits, LLVMConstInt(i32, chunk * e->width, 0), "");
	if (e->width == 1)
		return LLVMBuildTrunc(e->b, bits, int_type(e, 1), "");
	LLVMValueRef narrow = LLVMBuildTrunc(e->b, bits, int_type(e, e->width), "");
	return LLVMBuildBitCast(e->b, narrow, LLVMVectorType(int_type(e, 1), e->width), "");
}
