/* What the ranges of numbers decide: comparisons, the smaller and the larger of two, and how far a loop's counter goes.
 *
 * A loop over a row with a constant length, i = tid; i < 1024; i += 256, has as many rounds in all lanes: nvcc's count of them,
 * (max(i + 256, 1024) - 1 - tid) / 256, comes out as one number when ranges are followed through it. A counter's range is what it begins with
 * and what its loop's bound lets through; widening (uniform.c) would have lost it. Harrison, "Compiler Analysis of the Value Ranges for
 * Variables" (1977). */
#include "ir/range.h"

#include "isa_mods.h"

enum { MOST_STEPS = 8 }; /* additions between a counter and what is made of it */

enum order { ORDER_LT, ORDER_LE, ORDER_GT, ORDER_GE, ORDER_EQ, ORDER_NE };

static bool is_integer(enum ptx_type type)
{
	return type == PTX_S32 || type == PTX_U32 || type == PTX_B32 || type == PTX_S64 || type == PTX_U64 || type == PTX_B64;
}

static bool find_order(const struct ptx_form *form, enum order *order)
{
	static const struct {
		enum ptx_mod mod;
		enum order order;
	} table[] = { { MOD_lt, ORDER_LT }, { MOD_le, ORDER_LE }, { MOD_gt, ORDER_GT }, { MOD_ge, ORDER_GE }, { MOD_eq, ORDER_EQ },
		      { MOD_ne, ORDER_NE }, { MOD_lo, ORDER_LT }, { MOD_ls, ORDER_LE }, { MOD_hi, ORDER_GT }, { MOD_hs, ORDER_GE } };
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (ptx_has(form, table[i].mod)) {
			*order = table[i].order;
			return true;
		}
	return false;
}

/* Ranges are of signed numbers; unsigned ones below 2^(n-1) are in the same order. */
static bool ranges_are_in_order(const struct ptx_form *form, struct ir_shape a, struct ir_shape b)
{
	enum ptx_type type = form->types[0];
	if (!is_integer(type))
		return false;
	return type == PTX_S32 || type == PTX_S64 || (a.low >= 0 && b.low >= 0);
}

bool ir_range_compare(const struct ptx_form *form, struct ir_shape a, struct ir_shape b, bool *result)
{
	enum order order;
	if (!find_order(form, &order) || !ranges_are_in_order(form, a, b))
		return false;
	bool below = a.high < b.low, above = a.low > b.high, same = a.low == a.high && b.low == b.high && a.low == b.low;
	bool not_above = a.high <= b.low, not_below = a.low >= b.high;
	switch (order) {
	case ORDER_LT: *result = below; return below || not_below;
	case ORDER_LE: *result = not_above; return not_above || above;
	case ORDER_GT: *result = above; return above || not_above;
	case ORDER_GE: *result = not_below; return not_below || below;
	case ORDER_EQ: *result = same; return same || below || above;
	default: *result = !same; return same || below || above;
	}
}

void ir_shape_min_max(const struct ptx_form *form, bool max, struct ir_shape a, struct ir_shape b, struct ir_shape *s)
{
	if (!ranges_are_in_order(form, a, b))
		return;
	bool a_is_less = a.high <= b.low, b_is_less = b.high <= a.low;
	if (a_is_less || b_is_less) {
		*s = a_is_less != max ? a : b;
		return;
	}
	bool of_low = max ? a.low > b.low : a.low < b.low, of_high = max ? a.high > b.high : a.high < b.high;
	s->low = of_low ? a.low : b.low;
	s->high = of_high ? a.high : b.high;
}

/* ---- counters -------------------------------------------------------------------------------------------------------- */

/* An operand's range: of an immediate, or of a register. */
static bool operand_range(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op, unsigned bits, int64_t *low,
			  int64_t *high)
{
	if (op->kind == PTX_OP_IMMEDIATE) {
		*low = *high = (int64_t)(op->bits << (64 - bits)) >> (64 - bits);
		return true;
	}
	uint32_t value = op->kind == PTX_OP_REGISTER ? ir_used_value(inst, op) : IR_NONE;
	if (value == IR_NONE)
		return false;
	*low = func->values.data[value].shape.low;
	*high = func->values.data[value].shape.high;
	return true;
}

/* value = phi + *offset? Through copies and additions of constants. */
static bool is_counter_plus(const struct ir_func *func, uint32_t value, uint32_t phi, unsigned bits, int64_t *offset)
{
	*offset = 0;
	for (unsigned step = 0; step < MOST_STEPS; step++) {
		if (value == phi)
			return true;
		const struct ir_inst *inst = ir_maker(func, value);
		const struct ptx_form *form = inst ? inst->ptx->form : NULL;
		if (!inst || !is_integer(form->types[0]) || ptx_type_bits(form->types[0]) != bits || inst->ptx->operands[1].kind != PTX_OP_REGISTER)
			return false;
		if (form->row->opcode_id == OP_add && inst->ptx->operand_count == 3 && form->row->shape == SHAPE_add) {
			int64_t low, high;
			if (!operand_range(func, inst, &inst->ptx->operands[2], bits, &low, &high) || low != high || low > INT32_MAX || low < -INT32_MAX)
				return false;
			*offset += low;
		} else if (form->row->opcode_id != OP_mov) {
			return false;
		}
		value = ir_used_value(inst, &inst->ptx->operands[1]);
	}
	return false;
}

/* The loop goes on while phi + *offset is at most *bound. */
static bool find_bound(const struct ir_func *func, const struct ir_block *latch, bool on_true, uint32_t phi, unsigned bits, bool *is_signed,
		       int64_t *offset, int64_t *bound)
{
	const struct ir_inst *inst = ir_maker(func, latch->condition);
	enum order order;
	int64_t low, high;
	if (!inst || inst->ptx->form->row->opcode_id != OP_setp || inst->ptx->operand_count != 3 || !is_integer(inst->ptx->form->types[0]) ||
	    ptx_type_bits(inst->ptx->form->types[0]) != bits || !find_order(inst->ptx->form, &order))
		return false;
	const struct ptx_operand *a = &inst->ptx->operands[1];
	if (a->kind != PTX_OP_REGISTER || !is_counter_plus(func, ir_used_value(inst, a), phi, bits, offset) ||
	    !operand_range(func, inst, &inst->ptx->operands[2], bits, &low, &high))
		return false;
	*is_signed = inst->ptx->form->types[0] == PTX_S32 || inst->ptx->form->types[0] == PTX_S64;
	bool below = on_true ? order == ORDER_LT : order == ORDER_GE, at_most = on_true ? order == ORDER_LE : order == ORDER_GT;
	if ((!below && !at_most) || (!*is_signed && low < 0) || high == INT64_MIN)
		return false;
	*bound = below ? high - 1 : high;
	return true;
}

bool ir_counter_range(const struct ir_func *func, const struct ir_block *header, const struct ir_phi *phi, int64_t *low, int64_t *high)
{
	unsigned bits = ptx_type_bits(func->values.data[phi->value].type);
	const struct ir_block *latch = NULL;
	uint32_t next = IR_NONE;
	bool begun = false, is_signed;
	int64_t first = 0, last = 0, step, offset, bound, most = bits == 64 ? INT64_MAX : INT32_MAX;
	if (bits != 32 && bits != 64)
		return false;
	for (size_t p = 0; p < header->preds.count; p++) {
		const struct ir_block *from = &func->blocks.data[header->preds.data[p]];
		uint32_t argument = phi->arguments[p];
		if (argument == IR_NONE)
			return false;
		if (from->order >= header->order) { /* back */
			if (latch)
				return false;
			latch = from;
			next = argument;
			continue;
		}
		struct ir_shape s = func->values.data[argument].shape;
		first = begun && first < s.low ? first : s.low;
		last = begun && last > s.high ? last : s.high;
		begun = true;
	}
	if (!latch || !begun || latch->end != IR_END_BRANCH || latch->succ_count != 2 || latch->succs[0] == latch->succs[1])
		return false;
	bool on_true = (&func->blocks.data[latch->succs[0]] == header) != latch->negated;
	if (!is_counter_plus(func, next, phi->value, bits, &step) || step <= 0 ||
	    !find_bound(func, latch, on_true, phi->value, bits, &is_signed, &offset, &bound) || offset < 0 || (!is_signed && first < 0))
		return false;
	/* What comes back is at most bound - offset + step; neither that nor what is compared may come round. */
	int64_t further = step > offset ? step : offset;
	if (bound > most - further)
		return false;
	last = bound - offset + step > last ? bound - offset + step : last;
	if (last > most - further)
		return false;
	*low = first;
	*high = last;
	return true;
}
