/* The instructions of loops over lanes (ir/lane_loop.c). An array is one element a lane, in the frame: vectors write it and scalars read it,
 * or the other way round. What is the same in all lanes is not put there. */
#include "codegen/state.h"

#include "codegen/arith.h"
#include "ir/flatten.h"

/* A predicate is a byte. */
static enum ptx_type element_type(struct emitter *e, uint32_t value)
{
	enum ptx_type type = e->ir->values.data[value].type;
	unsigned bits = ptx_type_bits(type);
	return type == PTX_PRED ? PTX_B8 : bits == 64 ? PTX_B64 : bits == 32 ? PTX_B32 : PTX_B16;
}

static LLVMValueRef array_of(struct emitter *e, enum ptx_type type)
{
	struct emitter_state *s = e->state;
	if (!s->arrays)
		s->arrays = arena_array(s->arena, LLVMValueRef, e->ir->array_count + 1);
	if (!s->arrays[e->inst->array])
		s->arrays[e->inst->array] = entry_alloca(e, LLVMArrayType2(int_type(e, ptx_type_bits(type)), e->lanes), "lanes");
	return s->arrays[e->inst->array];
}

static LLVMValueRef element(struct emitter *e, enum ptx_type type, LLVMValueRef lane)
{
	LLVMValueRef array = array_of(e, type);
	return LLVMBuildGEP2(e->b, int_type(e, ptx_type_bits(type)), array, &lane, 1, "");
}

static LLVMValueRef chunk_of(struct emitter *e, enum ptx_type type, unsigned chunk)
{
	return element(e, type, LLVMConstInt(int_type(e, 64), chunk * e->width, 0));
}

/* uses[index] in the current piece */
static LLVMValueRef read_use(struct emitter *e, unsigned index, enum ptx_type type)
{
	struct ir_inst one = *e->inst;
	const struct ir_inst *whole = e->inst;
	one.uses = &whole->uses[index]; /* they all have the same operand */
	one.use_count = 1;
	e->inst = &one;
	LLVMValueRef v = value_of(e, &ir_slot_operand, type == PTX_B8 ? PTX_PRED : type);
	e->inst = whole;
	return type == PTX_B8 ? resize(e, v, 8, false) : v;
}

static LLVMValueRef lane_number(struct emitter *e)
{
	return LLVMBuildZExt(e->b, read_use(e, 1, PTX_B32), int_type(e, 64), "");
}

static bool is_uniform(struct emitter *e, uint32_t value)
{
	return value == IR_NONE || e->ir->values.data[value].shape.kind == IR_UNIFORM;
}

/* From lane to lane the same step further: the first lane's number and the step tell all of them, and there is no array. */
static bool is_line(struct emitter *e, uint32_t value)
{
	const struct ir_value *v = &e->ir->values.data[value];
	return v->shape.kind == IR_AFFINE && v->shape.linear && v->shape.exact && ptx_type_bits(v->type) >= 32 && v->type != PTX_B128;
}

/* What an element stands for. */
static LLVMValueRef as_value(struct emitter *e, uint32_t value, LLVMValueRef v)
{
	enum ptx_type type = e->ir->values.data[value].type;
	return type == PTX_PRED ? resize(e, v, 1, false) : as_type(e, v, type);
}

static void define(struct emitter *e, unsigned def, LLVMValueRef v)
{
	e->state->values[e->inst->defs[def].value].uniform = v;
}

/* The spilled value itself is only looked at where it is uniform. */
static void spill(struct emitter *e)
{
	uint32_t value = e->inst->defs[0].value;
	enum ptx_type type = element_type(e, value);
	if (is_uniform(e, value)) {
		define(e, 0, as_value(e, value, read_use(e, 0, type)));
		return;
	}
	if (is_line(e, value)) {
		e->piece = PIECE_BASE;
		e->chunk = 0;
		e->state->values[value].uniform = as_int(e, read_use(e, 0, type));
		return;
	}
	e->piece = PIECE_CHUNK;
	e->w = e->width;
	for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
		LLVMSetAlignment(LLVMBuildStore(e->b, read_use(e, 0, type), chunk_of(e, type, e->chunk)), e->width * ptx_type_bits(type) / 8);
}

static void read_lane(struct emitter *e)
{
	uint32_t from = e->inst->uses[0].value;
	enum ptx_type type = element_type(e, e->inst->defs[0].value);
	LLVMValueRef v;
	if (is_uniform(e, from)) {
		v = read_use(e, 0, type);
	} else if (is_line(e, from)) {
		LLVMTypeRef number = int_type(e, ptx_type_bits(type));
		LLVMValueRef step = LLVMConstInt(number, (uint64_t)e->ir->values.data[from].shape.stride, 1);
		v = LLVMBuildTrunc(e->b, lane_number(e), number, "");
		v = add_(e, e->state->values[from].uniform, mul_(e, v, step));
	} else {
		v = LLVMBuildLoad2(e->b, lane_type(e, type), element(e, type, lane_number(e)), "");
	}
	define(e, 0, as_value(e, e->inst->defs[0].value, v));
}

static void load(struct emitter *e)
{
	uint32_t value = e->inst->defs[0].value;
	enum ptx_type type = element_type(e, value);
	e->piece = PIECE_CHUNK;
	e->w = e->width;
	for (e->chunk = 0; e->chunk < e->chunks; e->chunk++)
		define_chunk(e, value, as_value(e, value, LLVMBuildLoad2(e->b, piece_type(e, type), chunk_of(e, type, e->chunk), "")));
}

static void first(struct emitter *e)
{
	LLVMValueRef bits = read_use(e, 0, PTX_B32), args[2] = { bits, LLVMConstInt(int_type(e, 1), 1, 0) };
	unsigned id = LLVMLookupIntrinsicID("llvm.cttz", 9);
	LLVMTypeRef type = int_type(e, 32);
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &type, 1);
	define(e, 0, LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, &type, 1), f, args, 2, "lane"));
	define(e, 1, and_(e, bits, LLVMBuildSub(e->b, bits, LLVMConstInt(type, 1, 0), "")));
}

void emit_lane_op(struct emitter *e)
{
	e->piece = PIECE_UNIFORM;
	e->w = 1;
	e->mask = NULL;
	switch (e->inst->op) {
	case IR_LANE_MASK:
		current_masks(e, &e->state->group);
		define(e, 0, mask_bits(e));
		break;
	case IR_LANE_MORE:
		define(e, 0, LLVMBuildICmp(e->b, LLVMIntNE, read_use(e, 0, PTX_B32), LLVMConstNull(int_type(e, 32)), ""));
		break;
	case IR_LANE_FIRST:
		first(e);
		break;
	case IR_LANE_SPILL:
		spill(e);
		break;
	case IR_LANE_READ:
		read_lane(e);
		break;
	case IR_LANE_WRITE: {
		enum ptx_type type = element_type(e, e->inst->uses[0].value);
		LLVMBuildStore(e->b, read_use(e, 0, type), element(e, type, lane_number(e)));
		break;
	}
	default:
		load(e);
	}
}
