/* Where values are kept: in SSA form within a block, in slots between blocks; and what a piece sees of them. */
#include "codegen/values.h"

const struct ir_value *ir_value(struct emitter *e, uint32_t value)
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

LLVMValueRef fit_stored(struct emitter *e, uint32_t value, LLVMValueRef v)
{
	return recast(e, v, stored_lane_type(e, value));
}

LLVMTypeRef stored_type(struct emitter *e, uint32_t value, bool vector)
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
	fission_mark_access(e, v, false);
	if (type == stored_type(e, value, vector))
		return v;
	return LLVMBuildICmp(e->b, LLVMIntSLT, v, LLVMConstNull(type), "");
}

static void store_slot(struct emitter *e, uint32_t value, LLVMValueRef slot, LLVMValueRef v, bool vector)
{
	LLVMTypeRef type = slot_type(e, value, vector);
	if (type != stored_type(e, value, vector))
		v = LLVMBuildSExt(e->b, v, type, "");
	fission_mark_access(e, LLVMBuildStore(e->b, v, slot), false);
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

void make_code_arrays(struct emitter *e, uint32_t value)
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
bool first_tells(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = ir_value(e, value);
	return v->shape.kind == IR_AFFINE && v->shape.linear && v->shape.exact && v->type != PTX_PRED;
}

LLVMValueRef base_from_first(struct emitter *e, uint32_t value, LLVMValueRef first, unsigned chunk)
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
LLVMValueRef read_piece(struct emitter *e, uint32_t value)
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
LLVMValueRef known_base(struct emitter *e, uint32_t value, unsigned chunk)
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
LLVMValueRef spread(struct emitter *e, uint32_t value, LLVMValueRef base)
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
LLVMValueRef known_number(struct emitter *e, uint32_t value)
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
void store_copies(struct emitter *e, uint32_t value)
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

void shift_value(struct emitter *e, uint32_t value, LLVMValueRef by)
{
	struct value_code *code = &e->state->values[value];
	const struct ir_value *v = ir_value(e, value);
	for (unsigned c = 0; c < e->chunks; c++) {
		code->base[c] = fit_stored(e, value, LLVMBuildAdd(e->b, as_int(e, code->base[c]), by, ""));
		if (v->shape.exact)
			code->chunk[c] = fit_stored(e, value, spread(e, value, as_int(e, code->base[c])));
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
LLVMValueRef canonical(struct emitter *e, LLVMValueRef v)
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

bool is_raw(struct emitter *e, uint32_t value)
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
	if (fission_carries(e, phi, argument))
		return;
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
