/* Textures and surfaces: PTX ISA 9.7.10 (tex, tld4, txq, istypep) and 9.7.11 (suld, sust, sured, suq). The work is the runtime's
 * (backend/common/texture.h): the operands of all lanes of a piece go through memory, one call serves them. Lanes that name
 * different objects are served one at a time. A reference stands for the object that is bound to it. */
#include <stddef.h>

#include "backend/common/texture.h"
#include "backend/cpu/abi.h"
#include "backend/common/texture.h"
#include "backend/cpu/abi.h"
#include "backend/sampler.h"
#include "codegen/arith.h"
#include "codegen/state.h"
#include "isa_emit.h"


static LLVMTypeRef i32_type(struct emitter *e)
{
	return LLVMInt32TypeInContext(e->context);
}

static LLVMTypeRef i64_type(struct emitter *e)
{
	return LLVMInt64TypeInContext(e->context);
}

static LLVMValueRef i32_of(struct emitter *e, uint32_t value)
{
	return LLVMConstInt(i32_type(e), value, false);
}

/* ---- arguments and results in memory ---------------------------------------------------------------------------------- */

struct call {
	size_t service;                /* offset in struct cpu_services */
	const struct ptx_operand *object;
	uint32_t form;
	unsigned bits;                 /* of a result's words: 32, or 64 for surfaces */
	LLVMValueRef arguments, out;   /* ptr: word a of lane i at a * w + i */
};

static LLVMValueRef words(struct emitter *e, unsigned bits, unsigned count, const char *name)
{
	return entry_alloca(e, LLVMArrayType2(LLVMIntTypeInContext(e->context, bits), count * e->w), name);
}

static LLVMValueRef word_at(struct emitter *e, LLVMValueRef base, unsigned bits, unsigned index)
{
	LLVMValueRef at = LLVMConstInt(i64_type(e), index, false);
	return index ? LLVMBuildGEP2(e->b, LLVMIntTypeInContext(e->context, bits), base, &at, 1, "") : base;
}

static void put(struct emitter *e, LLVMValueRef base, unsigned bits, unsigned argument, LLVMValueRef v)
{
	LLVMSetAlignment(LLVMBuildStore(e->b, v, word_at(e, base, bits, argument * e->w)), bits / 8);
}

static LLVMValueRef get(struct emitter *e, const struct call *call, unsigned result)
{
	LLVMValueRef v = LLVMBuildLoad2(e->b, piece_int(e, call->bits), word_at(e, call->out, call->bits, result * e->w), "");
	LLVMSetAlignment(v, call->bits / 8);
	return v;
}

/* ---- calls ------------------------------------------------------------------------------------------------------------- */

/* The number that the operand stands for: i64 piece. */
static LLVMValueRef object_value(struct emitter *e, const struct ptx_operand *op)
{
	if (op->kind != PTX_OP_SYMBOL)
		return value_of(e, op, PTX_U64);
	LLVMValueRef at = LLVMBuildIntToPtr(e->b, lane_get(e, value_of(e, op, PTX_U64), 0), ptr_type(e), "");
	return splat(e, LLVMBuildLoad2(e->b, i64_type(e), at, ""));
}

static LLVMValueRef piece_mask_bits(struct emitter *e)
{
	if (!e->mask)
		return i32_of(e, e->w == 32 ? UINT32_MAX : (1u << e->w) - 1);
	LLVMValueRef bits = e->w > 1 ? LLVMBuildBitCast(e->b, e->mask, LLVMIntTypeInContext(e->context, e->w), "") : e->mask;
	return e->w == 32 ? bits : LLVMBuildZExt(e->b, bits, i32_type(e), "");
}

/* Words stay `lanes` apart: a call for one lane is a call for all with one bit in its mask. */
static void call_for(struct emitter *e, const struct call *call, LLVMValueRef object, LLVMValueRef mask)
{
	LLVMTypeRef i32 = i32_type(e), types[] = { i64_type(e), i32, i32, i32, ptr_type(e), ptr_type(e) };
	LLVMValueRef arguments[] = { object, i32_of(e, call->form), i32_of(e, e->w), mask, call->arguments, call->out };
	call_service(e, call->service, LLVMVoidTypeInContext(e->context), types, arguments, 6);
}

struct lane_call {
	const struct call *call;
	LLVMValueRef objects;
};

static void call_lane(struct emitter *e, unsigned lane, void *data)
{
	struct lane_call *l = data;
	call_for(e, l->call, lane_get(e, l->objects, lane), i32_of(e, 1u << lane));
}

static void call_all(struct emitter *e, const struct call *call)
{
	e->state->unit->kernel_flags |= KERNEL_TEXTURES;
	if (e->w == 1 || operand_is_uniform(e, call->object)) {
		LLVMValueRef object = object_value(e, call->object);
		call_for(e, call, lane_get(e, object, 0), piece_mask_bits(e));
		return;
	}
	struct lane_call l = { call, object_value(e, call->object) };
	for_each_active_lane(e, call_lane, &l);
}

/* ---- geometry ----------------------------------------------------------------------------------------------------------- */

static unsigned geometry_of(struct emitter *e, bool *layered)
{
	*layered = has(e, MOD_a1d) || has(e, MOD_a2d) || has(e, MOD_acube) || has(e, MOD_a2dms);
	if (has(e, MOD_1d) || has(e, MOD_a1d))
		return TEXTURE_1D;
	if (has(e, MOD_3d))
		return TEXTURE_3D;
	return has(e, MOD_cube) || has(e, MOD_acube) ? TEXTURE_CUBE : TEXTURE_2D;
}

static unsigned axes_of(unsigned geometry)
{
	return geometry == TEXTURE_1D ? 1 : geometry == TEXTURE_2D ? 2 : 3;
}

static const struct ptx_operand *part_of(const struct ptx_operand *op, unsigned index)
{
	if (op->kind != PTX_OP_VECTOR)
		return index ? NULL : op;
	return index < op->part_count ? &op->parts[index] : NULL;
}

static void put_part(struct emitter *e, LLVMValueRef base, unsigned argument, const struct ptx_operand *op, unsigned index, enum ptx_type type)
{
	const struct ptx_operand *part = part_of(op, index);
	LLVMValueRef v = part ? as_int(e, value_of(e, part, type)) : kbits(e, 32, 0);
	put(e, base, 32, argument, v);
}

/* {layer, x, y, z}; `layer` is where the layer goes. Before them the number of a sample, of which no array has more than one: graphics
 * makes such textures. */
static void put_coordinates(struct emitter *e, LLVMValueRef base, const struct ptx_operand *op, unsigned geometry, bool layered,
			    enum ptx_type type, unsigned layer)
{
	unsigned next = has(e, MOD_2dms) || has(e, MOD_a2dms);
	if (layered)
		put_part(e, base, layer, op, next++, PTX_U32);
	for (unsigned i = 0; i < axes_of(geometry); i++)
		put_part(e, base, i, op, next++, type);
}

/* ---- tex, tld4 ------------------------------------------------------------------------------------------------------------ */

/* The .samplerref variable whose state is known here; NULL: the operand is a parameter, another module's variable or a pointer. */
static const struct ptx_variable *known_sampler(const struct ptx_operand *op)
{
	const struct ptx_variable *v = op->kind == PTX_OP_SYMBOL && op->symbol->kind == PTX_SYMBOL_VARIABLE ?
		(const struct ptx_variable *)op->symbol : NULL;
	return v && v->type == PTX_SAMPLERREF && v->space != PTX_SPACE_PARAM && v->linkage != PTX_EXTERN ? v : NULL;
}

static void put_sampler(struct emitter *e, struct call *call, const struct ptx_operand *op)
{
	const struct ptx_variable *v = known_sampler(op);
	if (v) {
		call->form |= FETCH_SAMPLER | ((uint32_t)sampler_word(v) & FETCH_SAMPLER_BITS);
		return;
	}
	LLVMValueRef value = object_value(e, op);
	call->form |= FETCH_SAMPLERS;
	put(e, call->arguments, 32, FETCH_SAMPLER_LOW, resize(e, value, 32, false));
	put(e, call->arguments, 32, FETCH_SAMPLER_HIGH, resize(e, lshr_(e, value, kbits(e, 64, 32)), 32, false));
}

static bool is_depth(const struct ptx_operand *op)
{
	return op->kind == PTX_OP_FLOAT || (op->kind == PTX_OP_REGISTER && op->reg->type == PTX_F32);
}

/* What may follow: an offset, and a depth to compare with, which a texture without that state ignores. */
static void put_offset(struct emitter *e, struct call *call, unsigned index, unsigned axes)
{
	const struct ptx_operand *op = operand(e, index);
	if (!op || is_depth(op))
		return;
	call->form |= FETCH_OFFSET;
	for (unsigned i = 0; i < 3; i++) {
		if (i < axes)
			put_part(e, call->arguments, FETCH_SHIFT + i, op, i, PTX_S32);
		else
			put(e, call->arguments, 32, FETCH_SHIFT + i, kbits(e, 32, 0));
	}
}

static void put_gradients(struct emitter *e, struct call *call, unsigned axes)
{
	call->form |= FETCH_GRADIENT;
	for (unsigned i = 0; i < axes; i++) {
		put_part(e, call->arguments, FETCH_DX + i, operand(e, 2), i, PTX_F32);
		put_part(e, call->arguments, FETCH_DY + i, operand(e, 3), i, PTX_F32);
	}
}

static LLVMValueRef half_bits(struct emitter *e, LLVMValueRef word)
{
	return as_int(e, canonical_nan(e, float_to_half(e, as_type(e, word, PTX_F32), ROUND_NEAREST)));
}

static void set_texels(struct emitter *e, const struct call *call, const struct ptx_operand *d)
{
	enum ptx_type type = e->inst->ptx->form->types[0];
	for (unsigned i = 0; i < d->part_count; i++) {
		LLVMValueRef v;
		if (type == PTX_F16X2) {
			LLVMValueRef high = resize(e, half_bits(e, get(e, call, 2 * i + 1)), 32, false);
			v = or_(e, resize(e, half_bits(e, get(e, call, 2 * i)), 32, false), shl_(e, high, kbits(e, 32, 16)));
		} else {
			v = type == PTX_F16 ? half_bits(e, get(e, call, i)) : get(e, call, i);
		}
		set_value(e, &d->parts[i], v);
	}
}

static void emit_fetch(struct emitter *e, const struct ptx_instruction *in, uint32_t form)
{
	const struct ptx_operand *d = operand(e, 0), *texture = operand(e, 1);
	bool layered, pair = d->kind == PTX_OP_PAIR, integer = in->form->types[1] == PTX_S32;
	unsigned geometry = geometry_of(e, &layered), axes = axes_of(geometry), next = 2;
	if (texture->kind != PTX_OP_TEXTURE || texture->part_count < 2 || texture->part_count > 3) {
		unsupported(e, "this texture operand");
		return;
	}
	/* [texture, {coordinates}], and with .texmode_independent [texture, sampler, {coordinates}] */
	const struct ptx_operand *coordinates = &texture->parts[texture->part_count - 1];
	struct call call = { offsetof(struct cpu_services, texture), &texture->parts[0], form | geometry, 32, NULL, NULL };
	call.arguments = words(e, 32, FETCH_ARGUMENTS, "coordinates");
	call.out = words(e, 32, 4, "texels");
	call.form |= (layered ? FETCH_LAYERED : 0) | (integer ? FETCH_INTEGER : 0);
	put_coordinates(e, call.arguments, coordinates, geometry, layered, integer ? PTX_S32 : PTX_F32, FETCH_LAYER);
	if (texture->part_count == 3)
		put_sampler(e, &call, &texture->parts[1]);
	if (has(e, MOD_level)) {
		call.form |= FETCH_LEVEL;
		put_part(e, call.arguments, FETCH_LOD, operand(e, next++), 0, integer ? PTX_S32 : PTX_F32);
	} else if (has(e, MOD_grad)) {
		put_gradients(e, &call, axes);
		next += 2;
	}
	put_offset(e, &call, next, axes);
	call_all(e, &call);
	set_texels(e, &call, pair ? &d->parts[0] : d);
	if (pair) /* all of a texture is there */
		set_value(e, &d->parts[1], LLVMConstAllOnes(piece_int(e, 1)));
}

void emit_tex(struct emitter *e, const struct ptx_instruction *in)
{
	emit_fetch(e, in, 0);
}

void emit_tld4(struct emitter *e, const struct ptx_instruction *in)
{
	uint32_t component = has(e, MOD_g) ? 1 : has(e, MOD_b) ? 2 : has(e, MOD_a) ? 3 : 0;
	emit_fetch(e, in, FETCH_GATHER | component << FETCH_COMPONENT);
}

/* ---- surfaces ----------------------------------------------------------------------------------------------------------- */

static uint32_t log2_of(unsigned value)
{
	uint32_t n = 0;
	while (1u << n < value)
		n++;
	return n;
}

static uint32_t operation_of(struct emitter *e)
{
	return has(e, MOD_min) ? SURFACE_MIN : has(e, MOD_max) ? SURFACE_MAX : has(e, MOD_and) ? SURFACE_AND :
	       has(e, MOD_or)  ? SURFACE_OR  : SURFACE_ADD;
}

/* Opens a call: `at` is the surface operand, elements of `type`. */
static void open_surface(struct emitter *e, const struct ptx_operand *at, enum ptx_type type, unsigned elements, uint32_t form,
			 struct call *call)
{
	bool layered;
	unsigned geometry = geometry_of(e, &layered);
	*call = (struct call){ offsetof(struct cpu_services, surface), &at->parts[0], form | geometry, 64, NULL, NULL };
	call->arguments = words(e, 32, SURFACE_ARGUMENTS, "coordinates");
	call->out = words(e, 64, 4, "elements");
	call->form |= (layered ? SURFACE_LAYERED : 0) | (has(e, MOD_clamp) ? SURFACE_CLAMP : 0) | (has(e, MOD_zero) ? SURFACE_ZERO : 0);
	call->form |= has(e, MOD_p) ? SURFACE_FORMATTED : 0;
	call->form |= log2_of(ptx_type_bits(type) / 8) << SURFACE_BYTES | log2_of(elements) << SURFACE_ELEMENTS;
	put_coordinates(e, call->arguments, &at->parts[1], geometry, layered, PTX_S32, SURFACE_LAYER);
}

void emit_suld(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *d = operand(e, 0);
	enum ptx_type type = form_type(in);
	struct call call;
	open_surface(e, operand(e, 1), type, in->form->vector, 0, &call);
	call_all(e, &call);
	for (unsigned i = 0; i < in->form->vector; i++)
		set_value(e, part_of(d, i), resize(e, get(e, &call, i), ptx_type_bits(type), false));
}

static void put_elements(struct emitter *e, const struct call *call, const struct ptx_operand *op, unsigned count, enum ptx_type type)
{
	for (unsigned i = 0; i < count; i++)
		put(e, call->out, 64, i, resize(e, as_int(e, value_of(e, part_of(op, i), type)), 64, false));
}

void emit_sust(struct emitter *e, const struct ptx_instruction *in)
{
	enum ptx_type type = form_type(in);
	struct call call;
	open_surface(e, operand(e, 0), type, in->form->vector, SURFACE_STORE, &call);
	put_elements(e, &call, operand(e, 1), in->form->vector, type);
	call_all(e, &call);
}

void emit_sured(struct emitter *e, const struct ptx_instruction *in)
{
	enum ptx_type type = form_type(in);
	uint32_t form = SURFACE_REDUCE | operation_of(e) << SURFACE_OPERATION | (type_is_signed(type) ? SURFACE_SIGNED : 0);
	struct call call;
	open_surface(e, operand(e, 0), type, 1, form, &call);
	put_elements(e, &call, operand(e, 1), 1, ptx_type_bits(type) == 64 ? PTX_B64 : PTX_B32);
	call_all(e, &call);
}

/* ---- queries ------------------------------------------------------------------------------------------------------------ */

static bool query_of(struct emitter *e, uint32_t *query)
{
	static const struct {
		enum ptx_mod mod;
		enum texture_query query;
	} queries[] = {
		{ MOD_width, QUERY_WIDTH }, { MOD_height, QUERY_HEIGHT }, { MOD_depth, QUERY_DEPTH },
		{ MOD_channel_data_type, QUERY_CHANNEL_TYPE }, { MOD_channel_order, QUERY_CHANNEL_ORDER },
		{ MOD_normalized_coords, QUERY_NORMALIZED }, { MOD_array_size, QUERY_LAYERS }, { MOD_num_mipmap_levels, QUERY_LEVELS },
		{ MOD_num_samples, QUERY_SAMPLES }, { MOD_filter_mode, QUERY_FILTER }, { MOD_addr_mode_0, QUERY_ADDRESS_0 },
		{ MOD_addr_mode_1, QUERY_ADDRESS_1 }, { MOD_addr_mode_2, QUERY_ADDRESS_2 }, { MOD_memory_layout, QUERY_LAYOUT },
		{ MOD_force_unnormalized_coords, QUERY_UNNORMALIZED },
	};
	for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
		if (has(e, queries[i].mod)) {
			*query = queries[i].query;
			return true;
		}
	unsupported(e, "this query");
	return false;
}

static LLVMValueRef ask(struct emitter *e, LLVMValueRef object, uint32_t query, LLVMValueRef level)
{
	LLVMTypeRef types[] = { i64_type(e), i32_type(e), i32_type(e) };
	LLVMValueRef arguments[] = { object, i32_of(e, query), level };
	return call_service(e, offsetof(struct cpu_services, query), i32_type(e), types, arguments, 3);
}

struct lane_query {
	uint32_t query;
	LLVMValueRef objects, levels, out;
};

static void ask_lane(struct emitter *e, unsigned lane, void *data)
{
	struct lane_query *q = data;
	LLVMValueRef r = ask(e, lane_get(e, q->objects, lane), q->query, lane_get(e, q->levels, lane));
	LLVMBuildStore(e->b, r, word_at(e, q->out, 32, lane));
}

static void emit_query(struct emitter *e)
{
	const struct ptx_operand *address = operand(e, 1), *level = has(e, MOD_level) ? operand(e, 2) : NULL;
	struct lane_query q;
	if (!query_of(e, &q.query))
		return;
	q.objects = object_value(e, &address->parts[0]);
	q.levels = level ? value_of(e, level, PTX_B32) : kbits(e, 32, 0);
	q.out = words(e, 32, 1, "answers");
	for_each_active_lane(e, ask_lane, &q);
	LLVMValueRef r = LLVMBuildLoad2(e->b, piece_int(e, 32), q.out, "");
	LLVMSetAlignment(r, 4);
	set_result(e, 0, r);
}

void emit_txq(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	emit_query(e);
}

void emit_suq(struct emitter *e, const struct ptx_instruction *in)
{
	(void)in;
	emit_query(e);
}

/* Of references only: a number in a register says nothing of its kind before the kernel runs. */
void emit_istypep(struct emitter *e, const struct ptx_instruction *in)
{
	const struct ptx_operand *op = operand(e, 1);
	enum ptx_type type = has(e, MOD_texref) ? PTX_TEXREF : has(e, MOD_samplerref) ? PTX_SAMPLERREF : PTX_SURFREF;
	(void)in;
	if (op->kind == PTX_OP_SYMBOL && op->symbol->kind == PTX_SYMBOL_VARIABLE) {
		bool is = ((const struct ptx_variable *)op->symbol)->type == type;
		set_result(e, 0, is ? LLVMConstAllOnes(piece_int(e, 1)) : LLVMConstNull(piece_int(e, 1)));
		return;
	}
	LLVMValueRef answer = ask(e, lane_get(e, object_value(e, op), 0), QUERY_KIND, i32_of(e, 0));
	set_result(e, 0, splat(e, icmp_(e, LLVMIntEQ, answer, i32_of(e, type == PTX_TEXREF ? 1 : type == PTX_SURFREF ? 2 : 3))));
}
