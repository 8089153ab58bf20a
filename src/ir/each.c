/* What every thread of a block computes, number by number, where it follows from the thread's own number and constants alone.
 *
 * Shapes say that an index is affine; they have no words for t ^ 24, 2 * t - (t & 7), or the bits of t turned round. With the block's shape
 * known there are at most 1024 threads, and integer arithmetic on their numbers is quickly done for all of them: so who touches what in shared
 * memory is known exactly, whatever the expression (barrier.c asks). Values that need anything else (memory, parameters, %ctaid, what loops
 * carry) are not known. */
#include "ir/each.h"

#include "ir/flatten.h"
#include "isa_mods.h"

enum {
	MOST_NUMBERS = 1 << 21, /* in all arrays */
	DEEPEST = 200
};

struct each {
	const struct ir_func *func;
	uint32_t threads;
	size_t numbers; /* taken so far */
	unsigned depth;
	uint64_t **known;
	bool *tried;
};

struct each *ir_each_new(const struct ir_func *func)
{
	const uint32_t *block = func->options.block;
	struct each *each = arena_new(func->arena, struct each);
	*each = (struct each){ .func = func, .threads = block[0] * block[1] * block[2] };
	each->known = arena_array(func->arena, uint64_t *, func->values.count + 1);
	each->tried = arena_array(func->arena, bool, func->values.count + 1);
	return each;
}

static uint64_t low_bits(uint64_t v, unsigned bits)
{
	return bits < 64 ? v & ((UINT64_C(1) << bits) - 1) : v;
}

static int64_t as_signed(uint64_t v, unsigned bits)
{
	return bits < 64 ? (int64_t)(v << (64 - bits)) >> (64 - bits) : (int64_t)v;
}

static uint64_t *new_numbers(struct each *each)
{
	if (each->numbers + each->threads > MOST_NUMBERS)
		return NULL;
	each->numbers += each->threads;
	return arena_array(each->func->arena, uint64_t, each->threads);
}

static const uint64_t *constant(struct each *each, uint64_t v)
{
	uint64_t *n = new_numbers(each);
	for (uint32_t t = 0; n && t < each->threads; t++)
		n[t] = v;
	return n;
}

static const uint64_t *special(struct each *each, const struct ptx_operand *op)
{
	const uint32_t *block = each->func->options.block;
	unsigned axis = op->component > 0 ? (unsigned)op->component : 0;
	uint64_t *n = axis < 3 && (op->sreg == SREG_tid || op->sreg == SREG_ntid || op->sreg == SREG_laneid) ? new_numbers(each) : NULL;
	for (uint32_t t = 0; n && t < each->threads; t++) {
		uint32_t at[3] = { t % block[0], t / block[0] % block[1], t / block[0] / block[1] };
		n[t] = op->sreg == SREG_tid ? at[axis] : op->sreg == SREG_ntid ? block[axis] : t % 32;
	}
	return n;
}

/* The place of a variable in the block's static shared memory. */
static const uint64_t *symbol(struct each *each, const struct ir_inst *inst, const struct ptx_operand *op)
{
	if (op->symbol->kind != PTX_SYMBOL_VARIABLE)
		return NULL;
	const struct ptx_variable *variable = (const struct ptx_variable *)op->symbol;
	const struct ir_object *object = variable->space == PTX_SPACE_SHARED ? ir_find_object(each->func, inst->instance, variable) : NULL;
	return object && !object->floats ? constant(each, object->offset + (uint64_t)op->offset) : NULL;
}

static const uint64_t *numbers_of(struct each *each, const struct ir_inst *inst, const struct ptx_operand *op)
{
	switch (op->kind) {
	case PTX_OP_REGISTER:
		for (unsigned u = 0; u < inst->use_count; u++)
			if (inst->uses[u].operand == op)
				return op->negated ? NULL : ir_each_value(each, inst->uses[u].value);
		return NULL;
	case PTX_OP_IMMEDIATE:
		return constant(each, op->bits);
	case PTX_OP_SREG:
		return special(each, op);
	case PTX_OP_SYMBOL:
		return symbol(each, inst, op);
	default:
		return NULL;
	}
}

const uint64_t *ir_each_shared_address(struct each *each, const struct ir_inst *inst, const struct ptx_operand *op)
{
	const uint64_t *base = op->kind == PTX_OP_ADDRESS && op->part_count ? numbers_of(each, inst, &op->parts[0]) : NULL;
	uint64_t *n = base ? new_numbers(each) : NULL;
	for (uint32_t t = 0; n && t < each->threads; t++)
		n[t] = low_bits(base[t] + (uint64_t)op->offset, 32);
	return n;
}

/* ---- instructions ---------------------------------------------------------------------------------------------------- */

static bool is_signed(enum ptx_type type)
{
	return type >= PTX_S8 && type <= PTX_S64;
}

static bool is_integer(enum ptx_type type)
{
	return type == PTX_PRED || (type >= PTX_B8 && type <= PTX_S64 && type != PTX_B128);
}

static uint64_t reversed(uint64_t v, unsigned bits)
{
	uint64_t r = 0;
	for (unsigned i = 0; i < bits; i++)
		r |= (v >> i & 1) << (bits - 1 - i);
	return r;
}

static bool compare(const struct ptx_form *form, uint64_t a, uint64_t b, bool *result)
{
	enum ptx_type type = form->types[0];
	unsigned bits = ptx_type_bits(type);
	int64_t x = as_signed(a, bits), y = as_signed(b, bits);
	a = low_bits(a, bits);
	b = low_bits(b, bits);
	bool less = is_signed(type) ? x < y : a < b;
	if (ptx_has(form, MOD_eq))
		*result = a == b;
	else if (ptx_has(form, MOD_ne))
		*result = a != b;
	else if (ptx_has(form, MOD_lt) || ptx_has(form, MOD_lo))
		*result = less;
	else if (ptx_has(form, MOD_ge) || ptx_has(form, MOD_hs))
		*result = !less;
	else if (ptx_has(form, MOD_le) || ptx_has(form, MOD_ls))
		*result = less || a == b;
	else if (ptx_has(form, MOD_gt) || ptx_has(form, MOD_hi))
		*result = !less && a != b;
	else
		return false;
	return true;
}

/* One thread's result, not yet cut to its width; false: not an instruction that is known here. */
static bool calculate(const struct ptx_form *form, const uint64_t *arg, unsigned count, uint64_t *result)
{
	enum ptx_type type = form->types[0];
	unsigned bits = ptx_type_bits(type);
	uint64_t a = count > 0 ? arg[0] : 0, b = count > 1 ? arg[1] : 0, c = count > 2 ? arg[2] : 0;
	bool sign = is_signed(type), wide = ptx_has(form, MOD_wide), truth;
	int64_t x = as_signed(a, bits), y = as_signed(b, bits);
	if (ptx_has(form, MOD_sat) || ptx_has(form, MOD_cc) || ptx_has(form, MOD_relu) || (bits != 32 && bits != 64 && type != PTX_PRED && form->row->opcode_id != OP_cvt))
		return false;
	a = low_bits(a, bits);
	b = low_bits(b, bits);
	uint64_t product = sign && wide ? (uint64_t)x * (uint64_t)y : a * b, shift = low_bits(b, 32);
	switch (form->row->opcode_id) {
	case OP_mov: *result = a; return count == 1;
	case OP_add: *result = a + b; return count == 2;
	case OP_sub: *result = a - b; return count == 2;
	case OP_neg: *result = 0 - a; return count == 1;
	case OP_and: *result = a & b; return count == 2;
	case OP_or: *result = a | b; return count == 2;
	case OP_xor: *result = a ^ b; return count == 2;
	case OP_not: *result = ~a; return count == 1;
	case OP_brev: *result = reversed(a, bits); return count == 1;
	case OP_mul: *result = product; return count == 2 && (wide ? bits == 32 : ptx_has(form, MOD_lo));
	case OP_mad: *result = product + c; return count == 3 && (wide ? bits == 32 : ptx_has(form, MOD_lo));
	case OP_min: *result = (sign ? x < y : a < b) ? a : b; return count == 2;
	case OP_max: *result = (sign ? x > y : a > b) ? a : b; return count == 2;
	case OP_shl: *result = shift < bits ? a << shift : 0; return count == 2;
	case OP_shr:
		if (sign)
			*result = (uint64_t)(x >> (shift < bits ? shift : bits - 1));
		else
			*result = shift < bits ? a >> shift : 0;
		return count == 2;
	case OP_selp: *result = c & 1 ? a : b; return count == 3;
	case OP_setp:
		if (count != 2 || !compare(form, a, b, &truth))
			return false;
		*result = truth;
		return true;
	case OP_cvt: {
		enum ptx_type from = form->type_count > 1 ? form->types[1] : type;
		unsigned width = ptx_type_bits(from);
		if (count != 1 || !is_integer(from))
			return false;
		*result = is_signed(from) ? (uint64_t)as_signed(arg[0], width) : low_bits(arg[0], width);
		if (sign)
			*result = (uint64_t)as_signed(*result, bits);
		else
			*result = low_bits(*result, bits);
		return true;
	}
	default:
		return false;
	}
}

static const uint64_t *results_of(struct each *each, const struct ir_inst *inst, unsigned bits)
{
	const uint64_t *args[3];
	const struct ptx_instruction *in = inst->ptx;
	unsigned count = 0;
	if (inst->op != IR_PTX || inst->one_lane || inst->def_count != 1 || inst->defs[0].guarded || inst->defs[0].old != IR_NONE ||
	    !(in->form->row->flags & ISA_PURE) || !is_integer(in->form->types[0]) || in->operand_count < 2 || in->operand_count > 4)
		return NULL;
	for (unsigned i = 1; i < in->operand_count; i++)
		if (!(args[count++] = numbers_of(each, inst, &in->operands[i])))
			return NULL;
	uint64_t *n = new_numbers(each);
	for (uint32_t t = 0; n && t < each->threads; t++) {
		uint64_t arg[3] = { 0 };
		for (unsigned i = 0; i < count; i++)
			arg[i] = args[i][t];
		if (!calculate(in->form, arg, count, &n[t]))
			return NULL;
		n[t] = low_bits(n[t], bits);
	}
	return n;
}

const uint64_t *ir_each_value(struct each *each, uint32_t value)
{
	if (value == IR_NONE || each->depth > DEEPEST)
		return NULL;
	const struct ir_value *v = &each->func->values.data[value];
	if (each->tried[value] || v->block == IR_NONE || v->inst == IR_NONE)
		return each->known[value];
	each->tried[value] = true;
	each->depth++;
	each->known[value] = (uint64_t *)results_of(each, &each->func->blocks.data[v->block].insts.data[v->inst], ptx_type_bits(v->type));
	each->depth--;
	return each->known[value];
}
