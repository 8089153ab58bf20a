/* Which numbers a float may be, from how it is made: |x| + 4 is at least 4, so that its reciprocal needs no look at subnormals; -x * x is
 * never above zero. The functions that nvcc inlines (expf, erfcf, logf, ...) are full of such. (Intervals, as in Moore, "Interval Analysis",
 * 1966, with ends that are let out by more than a rounding; the expression is followed upwards, a few steps far.)
 *
 * And what nobody looks at may be anything: erfc(x) is computed for all x, and where |x| > 10.06 zero is taken instead. */
#include "ir/float_range.h"

#include <math.h>

#include "isa_mods.h"

enum { MOST_LOOKED_AT = 48 }; /* instructions, for one question */
enum { MOST_BEHIND = 160 };   /* instructions behind one, until its result is chosen or not */

typedef struct ir_float_range range;

/* What is asked may be known of one value, besides what makes it. */
struct question {
	unsigned budget;
	uint32_t known;
	range known_range;
};

static const range anything = { -INFINITY, INFINITY };

static range operand_range(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op, struct question *q);
static bool is_constant(const struct ir_func *func, const struct ir_inst *inst, unsigned index, double *value);

/* What float arithmetic makes of the exact ends: each a rounding further out, small ones zero. */
static range rounded(double low, double high)
{
	const double step = 0x1p-22, largest = 0x1.fffffep127;
	if (isnan(low) || isnan(high))
		return anything;
	low -= fabs(low) * step;
	high += fabs(high) * step;
	if (low > 0)
		low = low < IR_LEAST_NORMAL ? 0 : fmin(low, largest);
	if (high < 0)
		high = high > -IR_LEAST_NORMAL ? 0 : fmax(high, -largest);
	return (range){ low < -largest ? -INFINITY : low, high > largest ? INFINITY : high };
}

/* 0 times infinity is NaN, which no range speaks of: ends of one are limits of numbers. */
static double times(double a, double b)
{
	return a == 0 || b == 0 ? 0 : a * b;
}

static range product(range a, range b)
{
	double p[] = { times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high) };
	return (range){ fmin(fmin(p[0], p[1]), fmin(p[2], p[3])), fmax(fmax(p[0], p[1]), fmax(p[2], p[3])) };
}

/* inf - inf is NaN too. */
static range sum(range a, range b)
{
	bool unbelow = a.low == -INFINITY || b.low == -INFINITY, unabove = a.high == INFINITY || b.high == INFINITY;
	return (range){ unbelow ? -INFINITY : a.low + b.low, unabove ? INFINITY : a.high + b.high };
}

static range minus(range a)
{
	return (range){ -a.high, -a.low };
}

static range either(range a, range b)
{
	return (range){ fmin(a.low, b.low), fmax(a.high, b.high) };
}

static range size_of(range a)
{
	return (range){ a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, fmax(fabs(a.low), fabs(a.high)) };
}

static uint32_t used(const struct ir_inst *inst, unsigned index)
{
	return ir_used_value(inst, &inst->ptx->operands[index]);
}

static bool is_float_form(const struct ir_inst *inst, enum isa_opcode opcode)
{
	return inst && inst->ptx->form->row->opcode_id == opcode && inst->ptx->form->types[0] == PTX_F32 && !ptx_has(inst->ptx->form, MOD_ftz);
}

static range square(range a)
{
	a = size_of(a);
	return (range){ times(a.low, a.low), times(a.high, a.high) };
}

static bool is_same(const struct ir_inst *inst, unsigned a, unsigned b)
{
	return used(inst, a) != IR_NONE && used(inst, a) == used(inst, b);
}

/* By .rni, .rzi, .rmi or .rpi; else as it is. */
static double to_integer(const struct ptx_form *form, double x)
{
	if (ptx_has(form, MOD_rzi))
		return trunc(x);
	if (ptx_has(form, MOD_rmi))
		return floor(x);
	if (ptx_has(form, MOD_rpi))
		return ceil(x);
	return ptx_has(form, MOD_rni) ? nearbyint(x) : x;
}

/* min and max leave NaNs out: beside a constant the other one may be such, and the result the constant. */
static range smaller_or_larger(const struct ptx_instruction *in, range a, range b, bool larger)
{
	if (in->operand_count != 3 || ptx_has(in->form, MOD_abs) || ptx_has(in->form, MOD_xorsign) || ptx_has(in->form, MOD_NaN))
		return anything;
	range r = either(a, b);
	if (a.low == a.high && larger)
		r.low = a.low;
	else if (a.low == a.high)
		r.high = a.high;
	if (b.low == b.high && larger)
		r.low = fmax(r.low, b.low);
	else if (b.low == b.high)
		r.high = fmin(r.high, b.high);
	return r;
}

static range of_root(range a)
{
	return (range){ sqrt(fmax(a.low, 0)), sqrt(fmax(a.high, 0)) };
}

static range of_reciprocal(range a)
{
	return a.low > 0 || a.high < 0 ? (range){ 1 / a.high, 1 / a.low } : anything;
}

/* What the instruction takes operand `index` for: .ftz flushes. */
static range argument(const struct ir_func *func, const struct ir_inst *inst, unsigned index, struct question *q)
{
	range r = operand_range(func, inst, &inst->ptx->operands[index], q);
	return ptx_has(inst->ptx->form, MOD_ftz) ? rounded(r.low, r.high) : r;
}

static range converted(const struct ir_func *func, const struct ir_inst *inst, struct question *q)
{
	const struct ptx_form *form = inst->ptx->form;
	range a;
	switch (form->type_count > 1 ? form->types[1] : PTX_TYPE_NONE) {
	case PTX_F32:
		a = argument(func, inst, 1, q);
		return (range){ to_integer(form, a.low), to_integer(form, a.high) };
	case PTX_U8: return (range){ 0, 255 };
	case PTX_S8: return (range){ -128, 127 };
	case PTX_U16: return (range){ 0, 65535 };
	case PTX_S16: return (range){ -32768, 32767 };
	case PTX_U32: return (range){ 0, 0x1p32 };
	case PTX_S32: return (range){ -0x1p31, 0x1p31 };
	case PTX_U64: return (range){ 0, 0x1p64 };
	case PTX_S64: return (range){ -0x1p63, 0x1p63 };
	default: return anything;
	}
}

/* y - n / c, where n is y c as an integer, and kept in [-limit, limit]: where it is not cut off, an integer's part of 1 / c, and what
 * lies beyond the limit. */
static bool reduced(const struct ir_func *func, const struct ir_inst *inst, range y, range *out, struct question *q)
{
	double step, c, limit = INFINITY;
	const struct ir_inst *n = ir_maker(func, used(inst, 1));
	if (!is_constant(func, inst, 2, &step) || step == 0 || !isfinite(y.low) || !isfinite(y.high))
		return false;
	if (n && ir_is_limit(func, n, &limit))
		n = ir_maker(func, used(n, 2));
	const struct ir_inst *product = is_float_form(n, OP_cvt) && n->ptx->form->types[1] == PTX_F32 ? ir_maker(func, used(n, 1)) : NULL;
	if (!product || !(ptx_has(n->ptx->form, MOD_rzi) || ptx_has(n->ptx->form, MOD_rni)) || !is_float_form(product, OP_mul) ||
	    used(product, 1) == IR_NONE || used(product, 1) != used(inst, 3) || !is_constant(func, product, 2, &c) || fabs(1 + c * step) > 0x1p-20)
		return false;
	q->budget -= q->budget > 0;
	double rounding = fmax(fabs(y.low), fabs(y.high)) * 0x1p-18, part = fabs(step) + rounding, beyond = limit * fabs(step);
	*out = (range){ fmin(-part, y.low + beyond - rounding), fmax(part, y.high - beyond + rounding) };
	return true;
}

/* Before .sat, in exact arithmetic. */
static range computed(const struct ir_func *func, const struct ir_inst *inst, struct question *q)
{
	const struct ptx_instruction *in = inst->ptx;
	enum isa_opcode opcode = (enum isa_opcode)in->form->row->opcode_id;
	range a, b, r;
	double limit;
	switch (opcode) {
	case OP_mov:
		return argument(func, inst, 1, q);
	case OP_abs:
		return size_of(argument(func, inst, 1, q));
	case OP_neg:
		return minus(argument(func, inst, 1, q));
	case OP_copysign:
		a = size_of(argument(func, inst, 2, q));
		return (range){ -a.high, a.high };
	case OP_selp:
		a = argument(func, inst, 2, q);
		if (ir_is_limit(func, inst, &limit))
			return (range){ fmax(a.low, -limit), fmin(a.high, limit) };
		return either(a, argument(func, inst, 1, q));
	case OP_cvt:
		return converted(func, inst, q);
	case OP_sqrt:
		return of_root(argument(func, inst, 1, q));
	case OP_rcp:
		return of_reciprocal(argument(func, inst, 1, q));
	case OP_ex2:
		a = argument(func, inst, 1, q);
		return (range){ exp2(a.low), exp2(a.high) };
	case OP_add:
	case OP_sub:
		a = argument(func, inst, 1, q);
		b = argument(func, inst, 2, q);
		return sum(a, opcode == OP_sub ? minus(b) : b);
	case OP_mul:
	case OP_fma:
	case OP_mad:
		a = argument(func, inst, 1, q);
		a = is_same(inst, 1, 2) ? square(a) : product(a, argument(func, inst, 2, q));
		if (opcode == OP_mul)
			return a;
		b = argument(func, inst, 3, q);
		return is_float_form(inst, OP_fma) && reduced(func, inst, b, &r, q) ? r : sum(a, b);
	case OP_min:
	case OP_max:
		a = argument(func, inst, 1, q);
		b = argument(func, inst, 2, q);
		return smaller_or_larger(in, a, b, opcode == OP_max);
	default:
		return anything;
	}
}

static range value_range(const struct ir_func *func, uint32_t value, struct question *q)
{
	if (value == IR_NONE) /* undefined: reads as 0 */
		return (range){ 0, 0 };
	const struct ir_inst *inst = q->budget ? ir_maker(func, value) : NULL;
	if (!inst)
		return anything;
	const struct ptx_form *form = inst->ptx->form;
	bool moves = form->row->shape == SHAPE_mov || form->row->shape == SHAPE_select;
	if (form->types[0] != PTX_F32 && !(moves && form->types[0] == PTX_B32))
		return anything;
	q->budget -= inst->use_count > 0; /* constants cost nothing */
	if (ptx_has(form, MOD_sat))
		return (range){ 0, 1 };
	range r = computed(func, inst, q);
	r = form->row->flags & ISA_BITS || moves ? r : rounded(r.low, r.high);
	if (value == q->known)
		r = (range){ fmax(r.low, q->known_range.low), fmin(r.high, q->known_range.high) };
	return r;
}

static range operand_range(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op, struct question *q)
{
	if (op->kind == PTX_OP_REGISTER) {
		for (unsigned u = 0; u < inst->use_count && !op->negated; u++)
			if (inst->uses[u].operand == op)
				return value_range(func, inst->uses[u].value, q);
		return anything;
	}
	double x;
	float f;
	uint32_t word = (uint32_t)op->bits;
	memcpy(&f, &word, sizeof f);
	memcpy(&x, &op->bits, sizeof x);
	if (op->kind == PTX_OP_FLOAT)
		x = op->is_f32 ? (double)f : (double)(float)x;
	else if (op->kind == PTX_OP_IMMEDIATE)
		x = f;
	else
		return anything;
	return isnan(x) || op->negated ? anything : (range){ x, x };
}

static bool is_constant(const struct ir_func *func, const struct ir_inst *inst, unsigned index, double *value)
{
	struct question q = { .budget = MOST_LOOKED_AT, .known = IR_NONE };
	range r = operand_range(func, inst, &inst->ptx->operands[index], &q);
	*value = r.low;
	return r.low == r.high;
}

bool ir_is_limit(const struct ir_func *func, const struct ir_inst *inst, double *limit)
{
	double other;
	if (!is_float_form(inst, OP_selp) || inst->ptx->operands[3].negated)
		return false;
	uint32_t x = used(inst, 2);
	const struct ir_inst *sign = ir_maker(func, used(inst, 1)), *compare = ir_maker(func, used(inst, 3));
	if (x == IR_NONE || !is_float_form(sign, OP_copysign) || used(sign, 1) != x || !is_constant(func, sign, 2, limit) || !(*limit > 0))
		return false;
	if (!is_float_form(compare, OP_setp) || compare->ptx->operand_count != 3 || !ptx_has(compare->ptx->form, MOD_gt) ||
	    !is_constant(func, compare, 2, &other) || other != *limit)
		return false;
	const struct ir_inst *size = ir_maker(func, used(compare, 1));
	return is_float_form(size, OP_abs) && used(size, 1) == x;
}

/* ---- what is not chosen ------------------------------------------------------------------------------------------------------ */

/* Of the selp `choice`, which takes the marked values only in one of its operands: what the number that its condition compares with a
 * constant is where they are taken. */
static bool range_where_chosen(const struct ir_func *func, const struct ir_inst *choice, const bool *taken, struct question *q)
{
	const struct ir_inst *compare = ir_maker(func, used(choice, 3));
	double bound;
	if (taken[0] == taken[1] || choice->ptx->operands[3].negated || !is_float_form(compare, OP_setp) || compare->ptx->operand_count != 3 ||
	    compare->ptx->operands[1].negated || !is_constant(func, compare, 2, &bound))
		return false;
	const struct ptx_form *form = compare->ptx->form;
	bool greater = ptx_has(form, MOD_gt) || ptx_has(form, MOD_ge);
	if (!greater && !ptx_has(form, MOD_lt) && !ptx_has(form, MOD_le))
		return false;
	q->known = used(compare, 1);
	q->known_range = greater == taken[0] ? (range){ bound, INFINITY } : (range){ -INFINITY, bound };
	return q->known != IR_NONE;
}

struct reach {
	uint32_t values[MOST_BEHIND], count;
	uint32_t unseen; /* reads of them that have not been met yet */
};

static bool reached(const struct reach *r, uint32_t value)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->values[i] == value)
			return true;
	return false;
}

static void reach(struct reach *r, const struct ir_func *func, uint32_t value)
{
	r->values[r->count++] = value;
	r->unseen += func->values.data[value].uses;
}

/* Does all that the instruction's result makes come to one selp, of the same block, that takes it or leaves it? */
static void find_choice(const struct ir_func *func, const struct ir_inst *inst, struct question *q)
{
	if (inst->op != IR_PTX || inst->def_count != 1 || inst->defs[0].value == IR_NONE || ir_maker(func, inst->defs[0].value) != inst)
		return;
	const struct ir_value *v = &func->values.data[inst->defs[0].value];
	const struct ir_block *b = &func->blocks.data[v->block];
	struct reach r = { .count = 0 };
	reach(&r, func, inst->defs[0].value);
	for (size_t j = v->inst + 1; j < b->insts.count && j <= v->inst + MOST_BEHIND && r.unseen; j++) {
		const struct ir_inst *next = &b->insts.data[j];
		bool taken[3] = { false }, reads = false; /* taken: by operands 1 to 3 */
		for (unsigned u = 0; u < next->use_count; u++)
			if (reached(&r, next->uses[u].value)) {
				reads = true;
				r.unseen--;
				for (unsigned i = 0; i < 3 && next->op == IR_PTX && i + 1 < next->ptx->operand_count; i++)
					taken[i] |= next->uses[u].operand == &next->ptx->operands[i + 1];
			}
		if (!reads)
			continue;
		if (next->op != IR_PTX || next->def_count != 1 || ir_maker(func, next->defs[0].value) != next ||
		    !(next->ptx->form->row->flags & ISA_PURE) || r.count == MOST_BEHIND)
			return;
		if (!r.unseen && !taken[2] && is_float_form(next, OP_selp) && range_where_chosen(func, next, taken, q))
			return;
		reach(&r, func, next->defs[0].value);
	}
}

struct ir_float_range ir_float_range(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op)
{
	struct question q = { .budget = MOST_LOOKED_AT, .known = IR_NONE };
	enum isa_opcode opcode = inst->op == IR_PTX ? (enum isa_opcode)inst->ptx->form->row->opcode_id : OP_selp;
	if (opcode == OP_rcp || opcode == OP_ex2)
		find_choice(func, inst, &q);
	return operand_range(func, inst, op, &q);
}
