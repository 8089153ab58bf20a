/* Where the NaNs of f32 arithmetic are made the GPU's one NaN, 0x7fffffff.
 *
 * Our arithmetic leaves other NaNs behind, and arithmetic does not care. So a result is left as it is ("raw") and made canonical where
 * its bits are seen: stored, moved to an integer, exchanged. A register may hold such a result on one way and bits that must stay as they are
 * (loaded, or an integer) on another: there the raw ones are made canonical where the ways meet, unless nobody ever sees the bits. A shuffle
 * is a copy from another lane.
 *
 * 2^n is made of n by a shift: n + 127 + 1.5 2^23 as a float, its bits to the left by 23. Where n is NaN that shift gives whatever it gives:
 * it is multiplied with 2^f, where f is what n leaves of the argument, and NaN too. */
#include "ir/flatten.h"

#include "isa_mods.h"

#include <stdlib.h>

enum nan_class {
	NAN_FINITE, /* neither NaN nor infinite */
	NAN_NONE, /* no NaN */
	NAN_RAW,  /* whatever the machine's arithmetic makes */
	NAN_BITS  /* bits as they are */
};

static bool makes_raw_nan(const struct ir_inst *inst, unsigned def)
{
	if (inst->op != IR_PTX)
		return false;
	const struct isa_row *row = inst->ptx->form->row;
	if (!(row->flags & ISA_PURE) || row->flags & ISA_BITS || inst->defs[def].operand == &ir_carry_operand)
		return false;
	enum ptx_type type = row->operand_count ? (enum ptx_type)row->operands[0].type : PTX_TYPE_NONE;
	if (type == PTX_TYPE_NONE)
		type = inst->ptx->form->types[row->operands[0].type_slot];
	/* the narrower formats are made canonical where they are made */
	return type == PTX_F32 && row->shape != SHAPE_mov && row->shape != SHAPE_select && row->shape != SHAPE_load;
}

static bool is_word(const struct ir_func *func, uint32_t value)
{
	return ptx_type_bits(func->values.data[value].type) == 32;
}

bool ir_copies_bits(const struct ir_func *func, const struct ir_inst *inst)
{
	if (inst->def_count != 1 || !is_word(func, inst->defs[0].value))
		return false;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (inst->uses[u].value != IR_NONE && inst->uses[u].operand && !is_word(func, inst->uses[u].value) &&
		    func->values.data[inst->uses[u].value].type != PTX_PRED)
			return false;
	if (inst->op != IR_PTX)
		return inst->op == IR_COPY && ptx_type_bits(inst->source_type) == 32;
	uint8_t shape = inst->ptx->form->row->shape;
	return (shape == SHAPE_mov || shape == SHAPE_select) && inst->ptx->operands[1].kind != PTX_OP_VECTOR;
}

uint32_t ir_shuffled_result(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op)
{
	if (inst->op != IR_PTX || inst->ptx->form->row->opcode_id != OP_shfl || op != &inst->ptx->operands[1])
		return IR_NONE;
	const struct ptx_operand *d = &inst->ptx->operands[0];
	if (d->kind == PTX_OP_PAIR)
		d = &d->parts[0];
	for (unsigned i = 0; i < inst->def_count; i++)
		if (inst->defs[i].operand == d && is_word(func, inst->defs[i].value))
			return inst->defs[i].value;
	return IR_NONE;
}

/* The type that the row gives an operand, nested ones included. */
static enum ptx_type operand_type(const struct ptx_instruction *in, const struct ptx_operand *op)
{
	const struct isa_row *row = in->form->row;
	for (unsigned i = 0; i < in->operand_count && i < row->operand_count; i++) {
		const struct ptx_operand *whole = &in->operands[i];
		if (op == whole || (op >= whole->parts && op < whole->parts + whole->part_count))
			return row->operands[i].type ? (enum ptx_type)row->operands[i].type : in->form->types[row->operands[i].type_slot];
	}
	return PTX_TYPE_NONE;
}

/* Does the instruction look at more of a float than its value? */
static bool sees_bits(const struct ir_inst *inst, const struct ptx_operand *op)
{
	if (inst->op != IR_PTX)
		return true;
	const struct isa_row *row = inst->ptx->form->row;
	if (!(row->flags & ISA_PURE) || row->flags & ISA_BITS || operand_type(inst->ptx, op) != PTX_F32)
		return true;
	/* a double keeps a NaN's payload */
	return row->operand_count && operand_type(inst->ptx, &inst->ptx->operands[0]) == PTX_F64;
}

/* ---- shifts that absorb a NaN -------------------------------------------------------------------------------------------- */

static uint32_t used(const struct ir_inst *inst, unsigned index)
{
	return ir_used_value(inst, &inst->ptx->operands[index]);
}

/* Is it NaN whenever an operand is? */
static bool hands_nan_on(const struct ir_inst *inst)
{
	const struct ptx_form *form = inst->ptx->form;
	enum isa_opcode opcode = (enum isa_opcode)form->row->opcode_id;
	return form->types[0] == PTX_F32 && form->type_count == 1 && !ptx_has(form, MOD_sat) &&
	       (opcode == OP_add || opcode == OP_sub || opcode == OP_mul || opcode == OP_fma || opcode == OP_neg || opcode == OP_abs ||
		opcode == OP_ex2 || (opcode == OP_mov && inst->ptx->operands[1].kind == PTX_OP_REGISTER));
}

/* What alone can make the value NaN, one step further up: a copy, or a number added; IR_NONE. */
static uint32_t cause_of_nan(const struct ir_func *func, uint32_t value)
{
	const struct ir_inst *inst = ir_maker(func, value);
	if (!inst)
		return IR_NONE;
	if (ir_copies_bits(func, inst) && inst->use_count == 1)
		return inst->uses[0].value;
	if (!hands_nan_on(inst) || inst->ptx->form->row->opcode_id != OP_add || inst->use_count != 1)
		return IR_NONE;
	for (unsigned i = 1; i < 3; i++) {
		const struct ptx_operand *added = &inst->ptx->operands[i];
		if (added->kind == PTX_OP_FLOAT && added->is_f32 && (added->bits & 0x7f800000) != 0x7f800000)
			return inst->uses[0].value;
	}
	return IR_NONE;
}

/* Is `value` NaN whenever one of the causes is? */
static bool follows(const struct ir_func *func, uint32_t value, const uint32_t *causes, unsigned count, unsigned *budget)
{
	for (unsigned i = 0; i < count; i++)
		if (causes[i] == value)
			return value != IR_NONE;
	const struct ir_inst *inst = *budget ? ir_maker(func, value) : NULL;
	if (!inst || !hands_nan_on(inst))
		return false;
	--*budget;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (follows(func, inst->uses[u].value, causes, count, budget))
			return true;
	return false;
}

/* The one instruction that reads the value, further on in its block; NULL: there is none, or there are others. */
static const struct ir_inst *only_reader(const struct ir_func *func, uint32_t value)
{
	const struct ir_value *v = &func->values.data[value];
	if (v->uses != 1 || v->block == IR_NONE || v->inst == IR_NONE)
		return NULL;
	const struct ir_block *b = &func->blocks.data[v->block];
	for (size_t j = v->inst + 1; j < b->insts.count; j++)
		for (unsigned u = 0; u < b->insts.data[j].use_count; u++)
			if (b->insts.data[j].uses[u].value == value)
				return &b->insts.data[j];
	return NULL;
}

bool ir_absorbs_nan(const struct ir_func *func, const struct ir_inst *inst)
{
	enum { MOST_CAUSES = 4, MOST_FOLLOWED = 16 };
	if (inst->op != IR_PTX || inst->ptx->form->row->opcode_id != OP_shl || inst->def_count != 1 || inst->use_count != 1 ||
	    !is_word(func, inst->defs[0].value) || inst->ptx->guard)
		return false;
	uint32_t causes[MOST_CAUSES], value = inst->defs[0].value, cause = used(inst, 1);
	unsigned count = 0, budget = MOST_FOLLOWED;
	for (; cause != IR_NONE && count < MOST_CAUSES; cause = cause_of_nan(func, cause))
		causes[count++] = cause;
	const struct ir_inst *reader = only_reader(func, value);
	while (reader && reader->op == IR_PTX && ir_copies_bits(func, reader) && reader->use_count == 1) {
		value = reader->defs[0].value;
		reader = only_reader(func, value);
	}
	if (!reader || reader->op != IR_PTX || reader->def_count != 1 || reader->ptx->guard || !hands_nan_on(reader) ||
	    reader->ptx->form->row->opcode_id != OP_mul)
		return false;
	uint32_t other = used(reader, 1) == value ? used(reader, 2) : used(reader, 1);
	return follows(func, other, causes, count, &budget);
}

/* ---- where bits are seen ---------------------------------------------------------------------------------------------------- */

static bool mark(bool *seen, uint32_t value)
{
	if (value == IR_NONE || seen[value])
		return false;
	return seen[value] = true;
}

static bool use_is_seen(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op, const bool *seen)
{
	uint32_t shuffled = ir_shuffled_result(func, inst, op);
	if (shuffled != IR_NONE)
		return seen[shuffled];
	return op && sees_bits(inst, op) && !ir_absorbs_nan(func, inst);
}

/* Values whose bits are seen, directly or through copies. */
static void find_seen(const struct ir_func *func, bool *seen)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = func->order_count; i-- > 0;) {
			const struct ir_block *b = &func->blocks.data[func->order[i]];
			changed |= mark(seen, b->condition);
			for (size_t j = b->insts.count; j-- > 0;) {
				const struct ir_inst *inst = &b->insts.data[j];
				bool copies = ir_copies_bits(func, inst);
				for (unsigned u = 0; u < inst->use_count; u++)
					if (copies ? seen[inst->defs[0].value] : use_is_seen(func, inst, inst->uses[u].operand, seen))
						changed |= mark(seen, inst->uses[u].value);
				for (unsigned d = 0; d < inst->def_count; d++)
					if (seen[inst->defs[d].value])
						changed |= mark(seen, inst->defs[d].old);
			}
			for (size_t p = 0; p < b->phis.count; p++)
				for (size_t a = 0; seen[b->phis.data[p].value] && a < b->preds.count; a++)
					changed |= mark(seen, b->phis.data[p].arguments[a]);
		}
	}
}

static enum nan_class larger(enum nan_class a, enum nan_class b)
{
	return a > b ? a : b;
}

static enum nan_class class_of(const uint8_t *classes, uint32_t value)
{
	return value == IR_NONE ? NAN_FINITE : (enum nan_class)classes[value]; /* undefined: reads as 0 */
}

static enum nan_class constant_class(const struct ptx_operand *op)
{
	if (op->kind == PTX_OP_IMMEDIATE || (op->kind == PTX_OP_FLOAT && op->is_f32)) {
		uint32_t size = op->bits & 0x7fffffff;
		return size < 0x7f800000 ? NAN_FINITE : size == 0x7f800000 ? NAN_NONE : NAN_BITS;
	}
	return op->kind == PTX_OP_FLOAT ? NAN_NONE : NAN_BITS;
}

/* What a copy gives its result. */
static enum nan_class copied_class(const struct ir_inst *inst, const uint8_t *classes)
{
	enum nan_class c = NAN_FINITE;
	for (unsigned u = 0; u < inst->use_count; u++)
		if (inst->uses[u].operand)
			c = larger(c, class_of(classes, inst->uses[u].value));
	if (inst->op == IR_COPY)
		return !inst->source || inst->source->kind == PTX_OP_REGISTER ? c : larger(c, constant_class(inst->source));
	for (unsigned i = 1; i < inst->ptx->operand_count; i++)
		if (inst->ptx->operands[i].kind != PTX_OP_REGISTER)
			c = larger(c, constant_class(&inst->ptx->operands[i]));
	return c;
}

/* What f32 arithmetic makes: no NaN of finite numbers where there is only one infinity to be had. */
static enum nan_class computed_class(const struct ir_inst *inst, const uint8_t *classes)
{
	const struct ptx_form *form = inst->ptx->form;
	if (ptx_has(form, MOD_sat))
		return NAN_FINITE; /* a NaN becomes 0 */
	switch (form->row->opcode_id) {
	case OP_add:
	case OP_sub:
	case OP_mul:
	case OP_fma:
	case OP_mad:
		return copied_class(inst, classes) == NAN_FINITE ? NAN_NONE : NAN_RAW;
	case OP_abs:
	case OP_neg:
	case OP_min:
	case OP_max: {
		enum nan_class c = copied_class(inst, classes);
		return c > NAN_NONE ? NAN_RAW : c;
	}
	case OP_ex2:
		return copied_class(inst, classes) > NAN_NONE ? NAN_RAW : NAN_NONE;
	default:
		return NAN_RAW;
	}
}

/* What a shuffle gives a result: as its source is, or 0. */
static enum nan_class shuffled_class(const struct ir_func *func, const struct ir_inst *inst, uint32_t value, const uint8_t *classes)
{
	for (unsigned u = 0; u < inst->use_count; u++)
		if (inst->uses[u].operand && ir_shuffled_result(func, inst, inst->uses[u].operand) == value)
			return class_of(classes, inst->uses[u].value);
	return NAN_BITS;
}

static bool raise_class(uint8_t *classes, uint32_t value, enum nan_class c)
{
	if (c <= classes[value])
		return false;
	classes[value] = (uint8_t)c;
	return true;
}

static void find_classes(const struct ir_func *func, uint8_t *classes)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < func->order_count; i++) {
			const struct ir_block *b = &func->blocks.data[func->order[i]];
			for (size_t p = 0; p < b->phis.count; p++)
				for (size_t a = 0; a < b->preds.count; a++)
					changed |= raise_class(classes, b->phis.data[p].value, class_of(classes, b->phis.data[p].arguments[a]));
			for (size_t j = 0; j < b->insts.count; j++) {
				const struct ir_inst *inst = &b->insts.data[j];
				for (unsigned d = 0; d < inst->def_count; d++) {
					enum nan_class own = NAN_BITS;
					if (makes_raw_nan(inst, d))
						own = computed_class(inst, classes);
					else if (ir_copies_bits(func, inst))
						own = copied_class(inst, classes);
					else if (inst->op == IR_PTX)
						own = shuffled_class(func, inst, inst->defs[d].value, classes);
					changed |= raise_class(classes, inst->defs[d].value, larger(own, class_of(classes, inst->defs[d].old)));
				}
			}
		}
	}
}

void ir_mark_raw_nans(struct ir_func *func)
{
	bool *seen = calloc(func->values.count + 1, sizeof *seen);
	uint8_t *classes = calloc(func->values.count + 1, 1);
	find_seen(func, seen);
	find_classes(func, classes);
	for (size_t v = 0; v < func->values.count; v++)
		if (is_word(func, (uint32_t)v) && (classes[v] == NAN_RAW || (classes[v] == NAN_BITS && !seen[v])))
			func->values.data[v].flags |= IR_RAW_NAN;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++)
			for (unsigned d = 0; d < b->insts.data[j].def_count; d++) {
				struct ir_value *v = &func->values.data[b->insts.data[j].defs[d].value];
				if (!(v->flags & IR_RAW_NAN) && makes_raw_nan(&b->insts.data[j], d) && computed_class(&b->insts.data[j], classes) == NAN_RAW)
					v->flags |= IR_RAW_RESULT;
			}
	}
	free(seen);
	free(classes);
}
