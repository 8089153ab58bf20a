/* Operands, results and the pieces that an instruction is emitted in (emit.h), and where values are kept between blocks. */
#include "codegen/state.h"

#include <stdio.h>
#include <stdlib.h>

#include "codegen/arith.h"
#include "codegen/memory.h"
#include "ir/flatten.h"
#include "isa_emit.h"

/* ---- types and constants ----------------------------------------------------------------------------------------- */

LLVMTypeRef int_type(struct emitter *e, unsigned bits)
{
	return LLVMIntTypeInContext(e->context, bits);
}

LLVMTypeRef ptr_type(struct emitter *e)
{
	return LLVMPointerTypeInContext(e->context, 0);
}

LLVMTypeRef lane_type(struct emitter *e, enum ptx_type type)
{
	switch (type) {
	case PTX_F16:
		return LLVMHalfTypeInContext(e->context);
	case PTX_F32:
		return LLVMFloatTypeInContext(e->context);
	case PTX_F64:
		return LLVMDoubleTypeInContext(e->context);
	default: {
		unsigned bits = ptx_type_bits(type);
		return int_type(e, bits ? bits : 64);
	}
	}
}

LLVMTypeRef piece_of(struct emitter *e, LLVMTypeRef lane)
{
	return e->w == 1 ? lane : LLVMVectorType(lane, e->w);
}

LLVMTypeRef piece_type(struct emitter *e, enum ptx_type type)
{
	return piece_of(e, lane_type(e, type));
}

LLVMTypeRef piece_int(struct emitter *e, unsigned bits)
{
	return piece_of(e, int_type(e, bits));
}

static bool is_vector(LLVMValueRef v)
{
	return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

static LLVMTypeRef element_type(LLVMTypeRef type)
{
	return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

LLVMValueRef splat(struct emitter *e, LLVMValueRef scalar)
{
	if (e->w == 1 || is_vector(scalar))
		return scalar;
	if (LLVMIsConstant(scalar)) {
		LLVMValueRef lanes[MAX_WIDTH];
		for (unsigned i = 0; i < e->w; i++)
			lanes[i] = scalar;
		return LLVMConstVector(lanes, e->w);
	}
	LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), e->w);
	LLVMValueRef one = LLVMBuildInsertElement(e->b, LLVMGetPoison(type), scalar, LLVMConstInt(int_type(e, 32), 0, 0), "");
	return LLVMBuildShuffleVector(e->b, one, LLVMGetPoison(type), LLVMConstNull(LLVMVectorType(int_type(e, 32), e->w)), "splat");
}

LLVMValueRef kbits(struct emitter *e, unsigned bits, uint64_t value)
{
	return splat(e, LLVMConstInt(int_type(e, bits), value, 0));
}

LLVMValueRef k(struct emitter *e, enum ptx_type type, uint64_t value)
{
	return kbits(e, ptx_type_bits(type), value);
}

LLVMValueRef kf(struct emitter *e, enum ptx_type type, double value)
{
	return splat(e, LLVMConstReal(lane_type(e, type), value));
}

static unsigned type_lane_bits(LLVMTypeRef type)
{
	type = element_type(type);
	switch (LLVMGetTypeKind(type)) {
	case LLVMHalfTypeKind:
		return 16;
	case LLVMFloatTypeKind:
		return 32;
	case LLVMDoubleTypeKind:
	case LLVMPointerTypeKind:
		return 64;
	default:
		return LLVMGetIntTypeWidth(type);
	}
}

static LLVMValueRef recast(struct emitter *e, LLVMValueRef v, LLVMTypeRef lane)
{
	LLVMTypeRef to = is_vector(v) ? LLVMVectorType(lane, LLVMGetVectorSize(LLVMTypeOf(v))) : lane;
	if (LLVMTypeOf(v) == to)
		return v;
	return LLVMBuildBitCast(e->b, v, to, "");
}

LLVMValueRef as_int(struct emitter *e, LLVMValueRef v)
{
	return recast(e, v, int_type(e, type_lane_bits(LLVMTypeOf(v))));
}

LLVMValueRef as_type(struct emitter *e, LLVMValueRef v, enum ptx_type type)
{
	return recast(e, v, lane_type(e, type));
}

LLVMValueRef resize(struct emitter *e, LLVMValueRef v, unsigned bits, bool is_signed)
{
	unsigned from = type_lane_bits(LLVMTypeOf(v));
	LLVMTypeRef lane = int_type(e, bits);
	LLVMTypeRef to = is_vector(v) ? LLVMVectorType(lane, LLVMGetVectorSize(LLVMTypeOf(v))) : lane;
	if (from == bits)
		return v;
	if (from > bits)
		return LLVMBuildTrunc(e->b, v, to, "");
	return is_signed ? LLVMBuildSExt(e->b, v, to, "") : LLVMBuildZExt(e->b, v, to, "");
}

/* ---- values --------------------------------------------------------------------------------------------------------- */

static const struct ir_value *ir_value(struct emitter *e, uint32_t value)
{
	return &e->ir->values.data[value];
}

/* The LLVM type that a value has between blocks: floats stay floats, so that loops carry them as such. */
static LLVMTypeRef stored_lane_type(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = ir_value(e, value);
	if (v->type == PTX_PRED)
		return int_type(e, 1);
	if (v->flags & IR_RAW_NAN && ptx_type_bits(v->type) == 32)
		return LLVMFloatTypeInContext(e->context);
	return lane_type(e, v->type);
}

static LLVMValueRef fit_stored(struct emitter *e, uint32_t value, LLVMValueRef v)
{
	return recast(e, v, stored_lane_type(e, value));
}

static LLVMTypeRef stored_type(struct emitter *e, uint32_t value, bool vector)
{
	LLVMTypeRef lane = stored_lane_type(e, value);
	return vector && e->width > 1 ? LLVMVectorType(lane, e->width) : lane;
}

/* Predicates are kept as full-width lanes between blocks where there are no mask registers. */
LLVMTypeRef slot_type(struct emitter *e, uint32_t value, bool vector)
{
	if (ir_value(e, value)->type == PTX_PRED && vector && e->width > 1 && !e->target->bit_masks)
		return LLVMVectorType(int_type(e, 32), e->width);
	return stored_type(e, value, vector);
}

static LLVMValueRef load_slot(struct emitter *e, uint32_t value, LLVMValueRef slot, bool vector)
{
	LLVMTypeRef type = slot_type(e, value, vector);
	LLVMValueRef v = LLVMBuildLoad2(e->b, type, slot, "");
	if (type == stored_type(e, value, vector))
		return v;
	return LLVMBuildICmp(e->b, LLVMIntSLT, v, LLVMConstNull(type), "");
}

static void store_slot(struct emitter *e, uint32_t value, LLVMValueRef slot, LLVMValueRef v, bool vector)
{
	LLVMTypeRef type = slot_type(e, value, vector);
	if (type != stored_type(e, value, vector))
		v = LLVMBuildSExt(e->b, v, type, "");
	LLVMBuildStore(e->b, v, slot);
}

static LLVMValueRef *make_value_slots(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = ir_value(e, value);
	if (v->shape.kind == IR_UNIFORM) {
		LLVMValueRef *slots = arena_array(e->state->arena, LLVMValueRef, 1);
		slots[0] = entry_alloca(e, slot_type(e, value, false), "");
		return slots;
	}
	LLVMValueRef *slots = arena_array(e->state->arena, LLVMValueRef, 2 * e->chunks);
	for (unsigned c = 0; c < e->chunks; c++) {
		slots[c] = entry_alloca(e, slot_type(e, value, true), "");
		if (v->shape.kind == IR_AFFINE)
			slots[e->chunks + c] = entry_alloca(e, slot_type(e, value, false), "");
	}
	return slots;
}

static void make_code_arrays(struct emitter *e, uint32_t value)
{
	struct value_code *code = &e->state->values[value];
	if (ir_value(e, value)->shape.kind == IR_UNIFORM || code->chunk)
		return;
	code->chunk = arena_array(e->state->arena, LLVMValueRef, 2 * e->chunks);
	code->base = code->chunk + e->chunks;
}

static bool reads_slots(struct emitter *e, uint32_t value)
{
	return e->state->values[value].needs_slots && ir_value(e, value)->block != e->state->node;
}

LLVMValueRef read_uniform(struct emitter *e, uint32_t value)
{
	if (value == IR_NONE)
		return LLVMConstInt(int_type(e, 1), 0, 0);
	struct value_code *code = &e->state->values[value];
	if (reads_slots(e, value))
		return load_slot(e, value, code->slots[0], false);
	return code->uniform ? code->uniform : LLVMConstNull(stored_type(e, value, false));
}

LLVMValueRef read_chunk(struct emitter *e, uint32_t value, unsigned chunk)
{
	if (value == IR_NONE || ir_value(e, value)->shape.kind == IR_UNIFORM)
		return splat(e, read_uniform(e, value));
	struct value_code *code = &e->state->values[value];
	if (reads_slots(e, value))
		return load_slot(e, value, code->slots[chunk], true);
	return code->chunk && code->chunk[chunk] ? code->chunk[chunk] : LLVMConstNull(stored_type(e, value, true));
}

/* Of an index that goes on from chunk to chunk the group's first lane tells all: one number to make, and to carry around loops. */
static bool first_tells(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = ir_value(e, value);
	return v->shape.kind == IR_AFFINE && v->shape.linear && v->shape.exact && v->type != PTX_PRED;
}

static LLVMValueRef base_from_first(struct emitter *e, uint32_t value, LLVMValueRef first, unsigned chunk)
{
	uint64_t further = (uint64_t)ir_value(e, value)->shape.stride * (chunk * e->width);
	LLVMValueRef bits = as_int(e, first);
	if (!further)
		return first;
	return fit_stored(e, value, LLVMBuildAdd(e->b, bits, LLVMConstInt(LLVMTypeOf(bits), further, true), ""));
}

static LLVMValueRef read_base(struct emitter *e, uint32_t value, unsigned chunk)
{
	if (value == IR_NONE || ir_value(e, value)->shape.kind == IR_UNIFORM)
		return read_uniform(e, value);
	struct value_code *code = &e->state->values[value];
	if (ir_value(e, value)->shape.kind == IR_VARYING) {
		LLVMValueRef whole = read_chunk(e, value, chunk);
		return is_vector(whole) ? LLVMBuildExtractElement(e->b, whole, LLVMConstInt(int_type(e, 32), 0, 0), "") : whole;
	}
	if (reads_slots(e, value) && first_tells(e, value))
		return base_from_first(e, value, load_slot(e, value, code->slots[e->chunks], false), chunk);
	if (reads_slots(e, value))
		return load_slot(e, value, code->slots[e->chunks + chunk], false);
	return code->base[chunk] ? code->base[chunk] : LLVMConstNull(stored_type(e, value, false));
}

LLVMValueRef condition_chunk(struct emitter *e, uint32_t value, unsigned chunk)
{
	if (value == IR_NONE)
		return kbits(e, 1, 0);
	return read_chunk(e, value, chunk);
}

/* What the current piece sees of a value, as stored. */
static LLVMValueRef read_piece(struct emitter *e, uint32_t value)
{
	switch (e->piece) {
	case PIECE_CHUNK:
		return read_chunk(e, value, e->chunk);
	case PIECE_BASE:
		return read_base(e, value, e->chunk);
	default:
		return e->lanes > 1 && value != IR_NONE && ir_value(e, value)->shape.kind != IR_UNIFORM ? read_base(e, value, 0) :
													 read_uniform(e, value);
	}
}

/* A chunk's first lane where the range says what it is: an index that goes once through all of its range in a group, as %laneid does. */
static LLVMValueRef known_base(struct emitter *e, uint32_t value, unsigned chunk)
{
	const struct ir_value *v = ir_value(e, value);
	int64_t stride = v->shape.stride, span = stride * (int64_t)(e->lanes - 1);
	if (v->shape.kind != IR_AFFINE || !v->shape.linear || !v->shape.exact || v->type == PTX_PRED || ptx_type_bits(v->type) > 64 || stride <= 0 ||
	    ir_stride_is_far(stride) || v->shape.high < v->shape.low || (uint64_t)v->shape.high - (uint64_t)v->shape.low != (uint64_t)span)
		return NULL;
	int64_t first = v->shape.low + stride * (int64_t)(chunk * e->width);
	return fit_stored(e, value, LLVMConstInt(int_type(e, ptx_type_bits(v->type)), (uint64_t)first, true));
}

/* base + stride * lane, as a vector */
static LLVMValueRef spread(struct emitter *e, uint32_t value, LLVMValueRef base)
{
	const struct ir_value *v = ir_value(e, value);
	enum piece piece = e->piece;
	unsigned w = e->w;
	e->piece = PIECE_CHUNK;
	e->w = e->width;
	LLVMValueRef whole = splat(e, base);
	if (v->shape.stride) {
		LLVMValueRef lanes[MAX_WIDTH];
		LLVMTypeRef type = LLVMTypeOf(base);
		for (unsigned i = 0; i < e->width; i++)
			lanes[i] = LLVMConstInt(type, (uint64_t)v->shape.stride * i, 0);
		whole = LLVMBuildAdd(e->b, whole, LLVMConstVector(lanes, e->width), "");
	}
	e->piece = piece;
	e->w = w;
	return whole;
}

/* A value that is one number wherever it is made. Lanes that take no part may have made another of it, so it is not read from them. */
static LLVMValueRef known_number(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = ir_value(e, value);
	unsigned bits = ptx_type_bits(v->type);
	if (v->shape.kind != IR_UNIFORM || v->shape.low != v->shape.high || !bits || bits > 64)
		return NULL;
	return fit_stored(e, value, LLVMConstInt(int_type(e, bits), (uint64_t)v->shape.low, true));
}

void store_value(struct emitter *e, uint32_t value, LLVMValueRef const *slots)
{
	struct value_code *code = &e->state->values[value];
	const struct ir_value *v = ir_value(e, value);
	if (v->shape.kind == IR_UNIFORM) {
		if (code->uniform)
			store_slot(e, value, slots[0], code->uniform, false);
		return;
	}
	for (unsigned c = 0; c < e->chunks; c++) {
		if (code->chunk[c] && slots[c])
			store_slot(e, value, slots[c], code->chunk[c], true);
		if (v->shape.kind == IR_AFFINE && code->base[c] && (!c || !first_tells(e, value)))
			store_slot(e, value, slots[e->chunks + c], code->base[c], false);
	}
}

void store_slots(struct emitter *e, uint32_t value)
{
	if (e->state->values[value].needs_slots)
		store_value(e, value, e->state->values[value].slots);
}

/* After a definition: its copies for uses that it does not dominate, and for other regions. */
static void store_copies(struct emitter *e, uint32_t value)
{
	store_slots(e, value);
	LLVMValueRef *home = fission_home(e, value);
	if (home)
		store_value(e, value, home);
}

void load_value(struct emitter *e, uint32_t value, LLVMValueRef const *slots)
{
	struct value_code *code = &e->state->values[value];
	const struct ir_value *v = ir_value(e, value);
	make_code_arrays(e, value);
	if (v->shape.kind == IR_UNIFORM) {
		LLVMValueRef known = known_number(e, value);
		code->uniform = known ? known : load_slot(e, value, slots[0], false);
		return;
	}
	for (unsigned c = 0; c < e->chunks; c++) {
		if (v->shape.kind == IR_AFFINE) {
			code->base[c] = c && first_tells(e, value) ? base_from_first(e, value, code->base[0], c)
								   : load_slot(e, value, slots[e->chunks + c], false);
			if (v->shape.exact && v->type != PTX_PRED) {
				code->chunk[c] = fit_stored(e, value, spread(e, value, as_int(e, code->base[c])));
				continue;
			}
		}
		code->chunk[c] = slots[c] ? load_slot(e, value, slots[c], true) : NULL; /* nobody reads it */
	}
}

void define_chunk(struct emitter *e, uint32_t value, LLVMValueRef v)
{
	make_code_arrays(e, value);
	e->state->values[value].chunk[e->chunk] = fit_stored(e, value, v);
}

void load_phi(struct emitter *e, uint32_t phi)
{
	struct value_code *code = &e->state->values[phi];
	if (!code->phi_slots)
		code->phi_slots = make_value_slots(e, phi);
	load_value(e, phi, code->phi_slots);
	store_copies(e, phi);
}

/* The GPU's one NaN, 0x7fffffff, where a float's bits are seen. */
static LLVMValueRef canonical(struct emitter *e, LLVMValueRef v)
{
	LLVMValueRef f = recast(e, v, LLVMFloatTypeInContext(e->context));
	LLVMValueRef nan = LLVMBuildFCmp(e->b, LLVMRealUNO, f, f, "");
	LLVMValueRef bits = recast(e, v, int_type(e, 32));
	LLVMValueRef the_nan = LLVMConstInt(int_type(e, 32), 0x7fffffff, 0);
	if (is_vector(bits)) {
		LLVMValueRef lanes[MAX_WIDTH];
		unsigned n = LLVMGetVectorSize(LLVMTypeOf(bits));
		for (unsigned i = 0; i < n; i++)
			lanes[i] = the_nan;
		the_nan = LLVMConstVector(lanes, n);
	}
	return LLVMBuildSelect(e->b, nan, the_nan, bits, "");
}

static bool is_raw(struct emitter *e, uint32_t value)
{
	return value != IR_NONE && ir_value(e, value)->flags & IR_RAW_NAN;
}

static LLVMValueRef argument_or_zero(struct emitter *e, uint32_t phi, uint32_t argument, bool vector, unsigned chunk)
{
	if (argument == IR_NONE)
		return LLVMConstNull(stored_type(e, phi, vector));
	LLVMValueRef v = vector ? read_chunk(e, argument, chunk) : read_base(e, argument, chunk);
	if (is_raw(e, argument) && !is_raw(e, phi))
		v = canonical(e, v);
	return fit_stored(e, phi, v);
}

void store_phi(struct emitter *e, uint32_t phi, uint32_t argument, const struct lane_masks *edge, LLVMValueRef any, bool whole)
{
	struct value_code *code = &e->state->values[phi];
	const struct ir_value *v = ir_value(e, phi);
	LLVMValueRef *slots = fission_leads(e, v->block) ? fission_home(e, phi) : code->phi_slots;
	if (!slots)
		slots = code->phi_slots = make_value_slots(e, phi);
	e->piece = PIECE_CHUNK;
	e->w = e->width;
	for (unsigned c = 0; c < (v->shape.kind == IR_UNIFORM || first_tells(e, phi) ? 1 : e->chunks); c++) {
		if (v->shape.kind != IR_VARYING) { /* all lanes that come bring the same base */
			unsigned slot = v->shape.kind == IR_UNIFORM ? 0 : e->chunks + c;
			LLVMValueRef a = argument_or_zero(e, phi, argument, false, c);
			if (!whole)
				a = LLVMBuildSelect(e->b, any, a, load_slot(e, phi, slots[slot], false), "");
			store_slot(e, phi, slots[slot], a, false);
			if (v->shape.kind == IR_UNIFORM || (v->shape.exact && v->type != PTX_PRED) || !slots[c])
				continue;
		}
		LLVMValueRef a = argument_or_zero(e, phi, argument, true, c);
		if (!whole && !edge->full)
			a = LLVMBuildSelect(e->b, edge->chunk[c], a, load_slot(e, phi, slots[c], true), "");
		store_slot(e, phi, slots[c], a, true);
	}
}

/* ---- which values need slots ----------------------------------------------------------------------------------------- */

static void note_use(struct emitter *e, uint32_t value, uint32_t block)
{
	if (value == IR_NONE || e->state->values[value].needs_slots || fission_crosses(e, value, block))
		return;
	uint32_t from = ir_value(e, value)->block;
	if (from != block && !plan_dominates(&e->state->plan, from, block))
		e->state->values[value].needs_slots = true;
}

void emitter_init_values(struct emitter *e)
{
	struct emitter_state *s = e->state;
	s->values = arena_array(s->arena, struct value_code, e->ir->values.count + 1);
	for (uint32_t i = 0; i < e->ir->order_count; i++) {
		uint32_t block = e->ir->order[i];
		const struct ir_block *b = &e->ir->blocks.data[block];
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ir_inst *inst = &b->insts.data[j];
			for (unsigned u = 0; u < inst->use_count; u++)
				note_use(e, inst->uses[u].value, block);
			for (unsigned d = 0; d < inst->def_count; d++)
				note_use(e, inst->defs[d].old, block);
		}
		note_use(e, b->condition, block);
		for (size_t p = 0; p < b->preds.count; p++)
			for (size_t q = 0; q < b->phis.count; q++)
				note_use(e, b->phis.data[q].arguments[p], b->preds.data[p]);
	}
	for (uint32_t v = 0; v < e->ir->values.count; v++)
		if (s->values[v].needs_slots)
			s->values[v].slots = make_value_slots(e, v);
}

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

static uint32_t used_value(struct emitter *e, const struct ptx_operand *op)
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
		if (object)
			return LLVMConstInt(i64, object->offset + (uint64_t)op->offset, 0);
		if (variable->space == PTX_SPACE_PARAM)
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
static LLVMValueRef read_old(struct emitter *e, const struct ir_def *def, bool vector)
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
static bool has_guard(const struct ir_inst *inst)
{
	if (!inst->ptx || !inst->ptx->guard)
		return false;
	for (unsigned i = 0; i < inst->use_count; i++)
		if (!inst->uses[i].operand)
			return true;
	return false;
}

/* The guard of the current piece, as i1 or a vector of them. */
static LLVMValueRef read_guard(struct emitter *e)
{
	uint32_t value = guard_value(e->inst);
	LLVMValueRef g = value == IR_NONE ? kbits(e, 1, 0) : read_piece(e, value);
	return e->inst->ptx->guard_negated ? LLVMBuildNot(e->b, g, "") : g;
}

static void keep(struct emitter *e, uint32_t value, LLVMValueRef v)
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

/* Lanes of the block that the instruction's guard lets through, for one chunk; NULL: all. */
static LLVMValueRef piece_mask(struct emitter *e, const struct lane_masks *block)
{
	LLVMValueRef m = block->full ? NULL : block->chunk[e->chunk];
	if (!has_guard(e->inst))
		return m;
	LLVMValueRef g = read_guard(e);
	if (!is_vector(g) && e->width > 1)
		g = splat(e, g);
	return m ? LLVMBuildAnd(e->b, m, g, "") : g;
}

/* ---- one instruction ------------------------------------------------------------------------------------------------------- */

static const struct isa_emit *emitter_of(const struct ir_inst *inst)
{
	return &isa_emit_table[inst->ptx->form->row->index];
}

static void emit_piece(struct emitter *e)
{
	const struct ir_inst *inst = e->inst;
	if (inst->op == IR_COPY) {
		LLVMValueRef v = value_of(e, inst->source, inst->source_type);
		set_value(e, inst->defs[0].operand, v);
		return;
	}
	const struct isa_emit *how = emitter_of(inst);
	LLVMValueRef args[4];
	unsigned count = inst->ptx->operand_count - 1;
	switch (how->kind) {
	case EMIT_BINARY:
		set_result(e, 0, LLVMBuildBinOp(e->b, (LLVMOpcode)how->llvm_opcode, arg(e, 1), arg(e, 2), ""));
		break;
	case EMIT_INTRINSIC:
		for (unsigned i = 0; i < count && i < 4; i++)
			args[i] = arg(e, i + 1);
		set_result(e, 0, intrinsic(e, how->intrinsic, args, count));
		break;
	default:
		if (!how->emit)
			unsupported(e, "this instruction is not supported yet");
		else
			how->emit(e, inst->ptx);
	}
}

/* Scalar code under a branch on the guard: for what must not run where the guard is false. Results go through an alloca. */
static void emit_branched(struct emitter *e)
{
	const struct ir_inst *inst = e->inst;
	LLVMValueRef slots[16] = { 0 };
	unsigned defs = inst->def_count < 16 ? inst->def_count : 16;
	for (unsigned d = 0; d < defs; d++) {
		uint32_t value = inst->defs[d].value;
		slots[d] = entry_alloca(e, stored_type(e, value, false), "");
		LLVMBuildStore(e->b, read_old(e, &inst->defs[d], false), slots[d]);
	}
	LLVMBasicBlockRef then = new_block(e, "guarded"), after = new_block(e, "after");
	LLVMBuildCondBr(e->b, read_guard(e), then, after);
	LLVMPositionBuilderAtEnd(e->b, then);
	emit_piece(e);
	for (unsigned d = 0; d < defs; d++)
		if (e->state->values[inst->defs[d].value].uniform)
			LLVMBuildStore(e->b, e->state->values[inst->defs[d].value].uniform, slots[d]);
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, after);
	for (unsigned d = 0; d < defs; d++) {
		uint32_t value = inst->defs[d].value;
		e->state->values[value].uniform = LLVMBuildLoad2(e->b, stored_type(e, value, false), slots[d], "");
	}
}

static void emit_once(struct emitter *e)
{
	e->piece = PIECE_UNIFORM;
	e->w = 1;
	e->mask = NULL;
	bool pure = e->inst->op == IR_COPY || e->inst->ptx->form->row->flags & ISA_PURE;
	if (has_guard(e->inst) && !pure)
		emit_branched(e);
	else
		emit_piece(e);
}

/* Slots that hold a group instruction's results as they were before; then what the instruction made of them. */
static LLVMValueRef **group_results(struct emitter *e)
{
	const struct ir_inst *inst = e->inst;
	LLVMValueRef **slots = arena_array(e->state->arena, LLVMValueRef *, inst->def_count + 1u);
	enum piece piece = e->piece;
	unsigned w = e->w;
	for (unsigned d = 0; d < inst->def_count; d++) {
		uint32_t value = inst->defs[d].value;
		bool uniform = ir_value(e, value)->shape.kind == IR_UNIFORM;
		slots[d] = arena_array(e->state->arena, LLVMValueRef, e->chunks);
		e->piece = uniform ? PIECE_UNIFORM : PIECE_CHUNK;
		e->w = uniform ? 1 : e->width;
		for (e->chunk = 0; e->chunk < (uniform ? 1 : e->chunks); e->chunk++) {
			LLVMValueRef old = read_old(e, &inst->defs[d], !uniform);
			slots[d][e->chunk] = entry_alloca(e, stored_type(e, value, !uniform), "");
			LLVMBuildStore(e->b, uniform ? old : splat(e, old), slots[d][e->chunk]);
		}
	}
	e->piece = piece;
	e->w = w;
	return slots;
}

static void group_results_take(struct emitter *e, LLVMValueRef **slots, LLVMBasicBlockRef after)
{
	const struct ir_inst *inst = e->inst;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned d = 0; d < inst->def_count; d++) {
			struct value_code *code = &e->state->values[inst->defs[d].value];
			bool uniform = ir_value(e, inst->defs[d].value)->shape.kind == IR_UNIFORM;
			for (unsigned c = 0; c < (uniform ? 1 : e->chunks); c++) {
				LLVMValueRef *v = uniform ? &code->uniform : &code->chunk[c];
				if (!pass)
					LLVMBuildStore(e->b, *v, slots[d][c]);
				else
					*v = LLVMBuildLoad2(e->b, stored_type(e, inst->defs[d].value, !uniform), slots[d][c], "");
				if (pass && ir_value(e, inst->defs[d].value)->shape.kind == IR_AFFINE)
					code->base[c] = lane_get(e, *v, 0);
			}
		}
		if (!pass) {
			LLVMBuildBr(e->b, after);
			LLVMPositionBuilderAtEnd(e->b, after);
		}
	}
}

static void emit_group(struct emitter *e)
{
	struct lane_masks block;
	LLVMValueRef **results = NULL;
	current_masks(e, &block);
	e->piece = PIECE_GROUP;
	e->w = 1;
	e->mask = NULL;
	e->state->group = block;
	if (has_guard(e->inst) && e->lanes == 1) {
		emit_branched(e);
		return;
	}
	LLVMBasicBlockRef after = NULL;
	if (has_guard(e->inst)) {
		e->piece = PIECE_CHUNK;
		e->w = e->width;
		e->state->group.full = false;
		for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
			e->state->group.chunk[e->chunk] = piece_mask(e, &block);
		e->piece = PIECE_GROUP;
		e->w = 1;
		if (!e->inst->def_count || e->inst->ptx->form->row->flags & ISA_BARRIER) { /* a barrier must not be met by nobody */
			results = group_results(e);
			LLVMValueRef any = e->state->group.chunk[0];
			for (unsigned c = 1; c < e->chunks; c++)
				any = LLVMBuildOr(e->b, any, e->state->group.chunk[c], "");
			LLVMBasicBlockRef then = new_block(e, "some");
			after = new_block(e, "after");
			LLVMBuildCondBr(e->b, any_lane(e, any), then, after);
			LLVMPositionBuilderAtEnd(e->b, then);
		}
	}
	emit_piece(e);
	if (after && !e->state->failed)
		group_results_take(e, results, after);
}

/* Of a chunk whose lanes all take no part. */
static void no_results(struct emitter *e)
{
	for (unsigned d = 0; d < e->inst->def_count; d++) {
		uint32_t value = e->inst->defs[d].value;
		if (ir_value(e, value)->shape.kind != IR_UNIFORM)
			keep(e, value, splat(e, read_old(e, &e->inst->defs[d], true)));
	}
}

static void emit_lanes(struct emitter *e)
{
	const struct ir_inst *inst = e->inst;
	struct lane_masks block;
	current_masks(e, &block);
	bool pure = inst->op == IR_COPY || inst->ptx->form->row->flags & ISA_PURE;
	bool affine = pure && inst->def_count, exact = true, first = true;
	for (unsigned d = 0; d < inst->def_count; d++) {
		const struct ir_value *v = ir_value(e, inst->defs[d].value);
		affine &= v->shape.kind == IR_AFFINE;
		exact &= v->shape.exact && v->type != PTX_PRED;
		first &= first_tells(e, inst->defs[d].value);
	}
	for (e->chunk = 0; e->chunk < e->chunks; e->chunk++) {
		e->mask = NULL;
		if (affine && first && e->chunk) {
			for (unsigned d = 0; d < inst->def_count; d++) {
				struct value_code *code = &e->state->values[inst->defs[d].value];
				code->base[e->chunk] = base_from_first(e, inst->defs[d].value, code->base[0], e->chunk);
			}
		} else if (affine) {
			e->piece = PIECE_BASE;
			e->w = 1;
			emit_piece(e);
		}
		e->piece = PIECE_CHUNK;
		e->w = e->width;
		if (affine && exact) {
			for (unsigned d = 0; d < inst->def_count; d++) {
				struct value_code *code = &e->state->values[inst->defs[d].value];
				LLVMValueRef known = known_base(e, inst->defs[d].value, e->chunk);
				code->base[e->chunk] = known ? known : code->base[e->chunk];
				code->chunk[e->chunk] = spread(e, inst->defs[d].value, as_int(e, code->base[e->chunk]));
				code->chunk[e->chunk] = fit_stored(e, inst->defs[d].value, code->chunk[e->chunk]);
			}
			continue;
		}
		e->mask = pure ? NULL : piece_mask(e, &block);
		if (e->mask && e->mask == LLVMConstAllOnes(LLVMTypeOf(e->mask)))
			e->mask = NULL;
		if (e->mask && LLVMIsNull(e->mask)) /* nobody is here, as is known now */
			no_results(e);
		else
			emit_piece(e);
		for (unsigned d = 0; d < inst->def_count && !affine; d++) {
			struct value_code *code = &e->state->values[inst->defs[d].value];
			if (ir_value(e, inst->defs[d].value)->shape.kind == IR_AFFINE && code->chunk && code->chunk[e->chunk])
				code->base[e->chunk] = LLVMBuildExtractElement(e->b, code->chunk[e->chunk], LLVMConstInt(int_type(e, 32), 0, 0), "");
		}
	}
}

bool emit_instruction(struct emitter *e, const struct ir_inst *inst)
{
	e->inst = inst;
	if (inst->op >= IR_LANE_MASK) {
		emit_lane_op(e);
		for (unsigned d = 0; d < inst->def_count; d++)
			store_copies(e, inst->defs[d].value);
		return true;
	}
	switch (inst->mode) {
	case IR_MODE_ONCE:
		emit_once(e);
		break;
	case IR_MODE_GROUP:
		emit_group(e);
		break;
	default:
		emit_lanes(e);
	}
	if (e->state->failed)
		return false;
	for (unsigned d = 0; d < inst->def_count; d++)
		store_copies(e, inst->defs[d].value);
	return true;
}
