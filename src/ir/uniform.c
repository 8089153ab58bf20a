/* Which branches send the lanes of one group different ways, and how values differ between lanes.
 *
 * An optimistic fixed point: every value starts uniform and every branch whole; operands push results up the lattice
 * uniform < affine < varying. A branch on a value that is not uniform diverges; then phis where its ways meet again vary
 * (sync dependence), also behind a loop whose lanes leave it in different iterations. Karrenberg and Hack, "Improving
 * Performance of OpenCL on CPUs" (2012); Rosemann, Moll, Hack, "An Abstract Interpretation for SPMD Divergence on
 * Reducible Control Flow Graphs" (2021).
 *
 * Shapes follow from the launch's block shape: with 256x1x1 threads %tid.x is 0, 1, 2 … along the lanes; addresses made
 * from it are then plain vector accesses. Value ranges tell whether a 32-bit index can wrap before it is widened. */
#include "ir/bits.h"
#include "ir/flatten.h"
#include "ir/range.h"

#include <stdlib.h>

__extension__ typedef __int128 int128; /* sums and products of 64-bit bounds */

struct uniform {
	struct ir_func *func;
	uint8_t *changes;      /* of each value: 0 = not reached yet; ranges are widened after a few */
	uint32_t *label, *label_stamp, stamp; /* sync dependence */
	uint32_t *work;
	bool *queued;
	bool changed;
};

static int64_t lowest(unsigned bits)
{
	return bits >= 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1));
}

static int64_t highest(unsigned bits)
{
	return bits >= 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
}

static struct ir_shape shape_of(enum ir_shape_kind kind, unsigned bits)
{
	return (struct ir_shape){ .kind = kind, .exact = true, .low = lowest(bits), .high = highest(bits) };
}

static bool is_whole_range(struct ir_shape s, unsigned bits)
{
	return s.low <= lowest(bits) && s.high >= highest(bits);
}

static bool is_constant(struct ir_shape s)
{
	return s.kind == IR_UNIFORM && s.low == s.high;
}

static struct ir_shape with_range(struct ir_shape s, int128 low, int128 high, unsigned bits)
{
	if (low < lowest(bits) || high > highest(bits)) {
		s.low = lowest(bits);
		s.high = highest(bits);
	} else {
		s.low = (int64_t)low;
		s.high = (int64_t)high;
	}
	return s;
}

static bool is_linear(struct ir_shape s)
{
	return s.kind == IR_UNIFORM || (s.kind == IR_AFFINE && s.linear);
}

static bool lane_constant(struct ir_shape s) /* the same in all lanes of a chunk */
{
	return s.kind == IR_UNIFORM || (s.kind == IR_AFFINE && !s.stride);
}

/* ---- special registers ------------------------------------------------------------------------------------ */

static struct ir_shape range(enum ir_shape_kind kind, int64_t stride, int64_t low, int64_t high)
{
	return (struct ir_shape){ .kind = kind, .exact = true, .stride = stride, .low = low, .high = high };
}

/* Counts lanes from a multiple of as many as a group has, or a chunk. */
static struct ir_shape counting(const struct ir_func *func, bool linear, int64_t high)
{
	struct ir_shape s = range(IR_AFFINE, 1, 0, high);
	s.linear = linear;
	s.zeros = (uint8_t)__builtin_ctz(linear ? func->lanes : func->width);
	return s;
}

static struct lanes lanes_of(const struct ir_func *func)
{
	const uint32_t *block = func->options.block;
	return (struct lanes){ func->width, func->whole_block && block[0] ? block[0] * block[1] * block[2] : func->lanes };
}

static struct ir_shape tid_shape(const struct ir_func *func, unsigned axis)
{
	const uint32_t *block = func->options.block;
	if (func->lanes == 1)
		return range(IR_UNIFORM, 0, 0, 1023);
	if (func->whole_block && block[0] > 1 && block[1] * block[2] == 1 && !axis) {
		struct ir_shape s = range(IR_AFFINE, 1, 0, block[0] - 1);
		s.linear = true;
		s.zeros = 10; /* it begins with 0, which is a multiple of whatever a block may have */
		return s;
	}
	if (func->whole_block && block[0])
		return range(block[axis] == 1 ? IR_UNIFORM : IR_VARYING, 0, 0, block[axis] - 1);
	if (!block[0])
		return range(IR_VARYING, 0, 0, 1023);
	if (block[axis] == 1)
		return range(IR_UNIFORM, 0, 0, 0);
	if (block[1] == 1 && block[2] == 1)
		return counting(func, true, block[0] - 1);
	if (block[0] % func->width)
		return range(IR_VARYING, 0, 0, block[axis] - 1);
	if (axis == 0 && block[0] % func->lanes == 0)
		return counting(func, true, block[0] - 1);
	if (axis == 0)
		return counting(func, false, block[0] - 1);
	return range(block[0] % func->lanes ? IR_AFFINE : IR_UNIFORM, 0, 0, block[axis] - 1);
}

/* Blocks along an axis; with small_grid their threads' global numbers stay below 2^31. */
static int64_t most_blocks(const struct ir_func *func, unsigned axis)
{
	int64_t most = axis ? 65535 : INT32_MAX;
	if (func->options.small_grid && func->options.block[0] && !axis)
		most = INT32_MAX / (int64_t)func->options.block[axis];
	return most;
}

static struct ir_shape sreg_shape(const struct ir_func *func, const struct ptx_operand *op)
{
	unsigned axis = op->component > 0 ? (unsigned)op->component : 0;
	if (axis > 2)
		return range(IR_UNIFORM, 0, 0, 0);
	switch (op->sreg) {
	case SREG_tid:
		return tid_shape(func, axis);
	case SREG_ntid:
		if (func->options.block[0])
			return range(IR_UNIFORM, 0, func->options.block[axis], func->options.block[axis]);
		return range(IR_UNIFORM, 0, 1, 1024);
	case SREG_ctaid:
		return range(IR_UNIFORM, 0, 0, most_blocks(func, axis) - 1);
	case SREG_nctaid:
		return range(IR_UNIFORM, 0, 1, most_blocks(func, axis));
	case SREG_laneid:
		return func->lanes == 1 ? range(IR_UNIFORM, 0, 0, 31) : counting(func, true, 31);
	case SREG_warpid:
	case SREG_clock:
	case SREG_clock_hi:
	case SREG_clock64:
	case SREG_globaltimer:
	case SREG_globaltimer_lo:
	case SREG_globaltimer_hi: /* each group reads its own */
		return shape_of(func->whole_block ? IR_VARYING : IR_UNIFORM, ptx_type_bits((enum ptx_type)isa_sregs[op->sreg].type));
	case SREG_lanemask_eq:
	case SREG_lanemask_le:
	case SREG_lanemask_lt:
	case SREG_lanemask_ge:
	case SREG_lanemask_gt:
		return shape_of(func->lanes == 1 ? IR_UNIFORM : IR_VARYING, 32);
	default:
		return shape_of(IR_UNIFORM, ptx_type_bits((enum ptx_type)isa_sregs[op->sreg].type));
	}
}

/* ---- operands ------------------------------------------------------------------------------------------------ */

static struct ir_shape value_shape(const struct ir_func *func, uint32_t value)
{
	return value == IR_NONE ? range(IR_UNIFORM, 0, 0, 0) : func->values.data[value].shape;
}

static uint8_t fewer_zeros(struct ir_shape a, struct ir_shape b)
{
	unsigned of_a = ir_low_zeros(a), of_b = ir_low_zeros(b);
	if (a.kind == IR_AFFINE && b.kind == IR_AFFINE && a.linear != b.linear) { /* of the group's first lane and of the chunks' */
		unsigned step = (unsigned)__builtin_ctzll((uint64_t)(a.linear ? a.stride : b.stride) | UINT64_C(1) << 31);
		of_a = step < of_a ? step : of_a;
	}
	return (uint8_t)(of_a < of_b ? of_a : of_b);
}

static struct ir_shape join(struct ir_shape a, struct ir_shape b)
{
	struct ir_shape s = a;
	s.low = a.low < b.low ? a.low : b.low;
	s.high = a.high > b.high ? a.high : b.high;
	s.exact = a.exact && b.exact;
	s.linear = is_linear(a) && is_linear(b);
	s.zeros = fewer_zeros(a, b);
	if (a.kind == IR_UNIFORM && b.kind == IR_UNIFORM)
		return s;
	s.flip = 0;
	if (a.kind == IR_VARYING || b.kind == IR_VARYING || (a.kind == IR_UNIFORM ? 0 : a.stride) != (b.kind == IR_UNIFORM ? 0 : b.stride)) {
		s.kind = IR_VARYING;
		s.stride = 0;
		return s;
	}
	s.kind = IR_AFFINE;
	return s;
}

static uint64_t local_stride(const struct ir_func *func)
{
	return align_up(func->local_bytes, 16);
}

static struct ir_shape operand_shape(const struct ir_func *func, const struct ir_inst *inst, const struct ptx_operand *op, unsigned bits)
{
	switch (op->kind) {
	case PTX_OP_REGISTER:
		return value_shape(func, ir_used_value(inst, op));
	case PTX_OP_IMMEDIATE: {
		int64_t v = (int64_t)op->bits;
		if (bits < 64)
			v = (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
		return range(IR_UNIFORM, 0, v, v);
	}
	case PTX_OP_SREG:
		return sreg_shape(func, op);
	case PTX_OP_ADDRESS:
	case PTX_OP_VECTOR:
	case PTX_OP_TEXTURE:
	case PTX_OP_LIST:
	case PTX_OP_PAIR: {
		struct ir_shape s = shape_of(IR_UNIFORM, 64);
		for (unsigned i = 0; i < op->part_count; i++)
			s = join(s, operand_shape(func, inst, &op->parts[i], 64));
		if (op->kind == PTX_OP_ADDRESS && op->part_count)
			s = operand_shape(func, inst, &op->parts[0], 64);
		return s;
	}
	case PTX_OP_SYMBOL: { /* of the block's or the thread's memory: an offset */
		bool variable = op->symbol->kind == PTX_SYMBOL_VARIABLE;
		const struct ir_object *object = variable ? ir_find_object(func, inst->instance, (const struct ptx_variable *)op->symbol) : NULL;
		int64_t offset = object ? (int64_t)object->offset + op->offset : 0;
		return object && !object->floats ? range(IR_UNIFORM, 0, offset, offset) : shape_of(IR_UNIFORM, 64);
	}
	default:
		return shape_of(IR_UNIFORM, 64);
	}
}

/* ---- transfer functions ------------------------------------------------------------------------------------------ */

static struct ir_shape shape_sum(struct ir_shape a, struct ir_shape b, int sign, unsigned bits)
{
	struct ir_shape s = shape_of(IR_VARYING, bits);
	s.exact = a.exact && b.exact;
	s.zeros = fewer_zeros(a, b);
	if (a.kind != IR_VARYING && b.kind != IR_VARYING) {
		s.kind = a.kind == IR_UNIFORM && b.kind == IR_UNIFORM ? IR_UNIFORM : IR_AFFINE;
		s.stride = (a.kind == IR_AFFINE ? a.stride : 0) + sign * (b.kind == IR_AFFINE ? b.stride : 0);
		s.linear = is_linear(a) && is_linear(b);
	} else if (a.flip && lane_constant(b) && b.exact) {
		s.flip = a.flip;
		s.stride = a.stride;
	} else if (b.flip && lane_constant(a) && a.exact && sign > 0) {
		s.flip = b.flip;
		s.stride = b.stride;
	}
	if (sign > 0)
		return with_range(s, (int128)a.low + b.low, (int128)a.high + b.high, bits);
	return with_range(s, (int128)a.low - b.high, (int128)a.high - b.low, bits);
}

static struct ir_shape shape_product(struct ir_shape a, struct ir_shape b, unsigned bits)
{
	struct ir_shape s = shape_of(IR_VARYING, bits);
	s.exact = a.exact && b.exact;
	if (a.kind == IR_UNIFORM && b.kind == IR_UNIFORM) {
		s.kind = IR_UNIFORM;
	} else if (lane_constant(a) && lane_constant(b)) {
		s.kind = IR_AFFINE;
	} else if (a.kind == IR_AFFINE && is_constant(b)) {
		s.kind = IR_AFFINE;
		s.stride = (int64_t)((uint64_t)a.stride * (uint64_t)b.low);
		s.linear = a.linear;
	} else if (b.kind == IR_AFFINE && is_constant(a)) {
		s.kind = IR_AFFINE;
		s.stride = (int64_t)((uint64_t)b.stride * (uint64_t)a.low);
		s.linear = b.linear;
	} else if ((a.flip && is_constant(b)) || (b.flip && is_constant(a))) {
		s.flip = a.flip | b.flip; /* a constant has none */
		s.stride = (int64_t)((uint64_t)(a.flip ? a : b).stride * (uint64_t)(a.flip ? b : a).low);
	}
	unsigned zeros = ir_low_zeros(a) + ir_low_zeros(b);
	s.zeros = (uint8_t)(zeros < 31 ? zeros : 31);
	int128 corner[4] = { (int128)a.low * b.low, (int128)a.low * b.high, (int128)a.high * b.low, (int128)a.high * b.high };
	int128 low = corner[0], high = corner[0];
	for (int i = 1; i < 4; i++) {
		low = corner[i] < low ? corner[i] : low;
		high = corner[i] > high ? corner[i] : high;
	}
	return with_range(s, low, high, bits);
}

bool ir_stride_is_far(int64_t stride)
{
	return stride > 1 << 16 || stride < -(1 << 16);
}

/* A value of `from` bits read as signed or not, as one of more bits. */
static struct ir_shape shape_widened(struct ir_shape a, unsigned from, bool is_signed, struct lanes lanes)
{
	if (a.low < lowest(from) || a.high > highest(from)) { /* of a wider register: its low bits are meant */
		a.low = lowest(from);
		a.high = highest(from);
		if (a.kind == IR_AFFINE && a.stride)
			a.kind = IR_VARYING;
		a.flip = 0;
	}
	if (a.flip && (is_whole_range(a, from) || (!is_signed && a.low < 0)))
		a.flip = 0;
	if (!is_signed && a.low < 0) {
		a.low = 0;
		a.high = from >= 63 ? INT64_MAX : (INT64_C(1) << from) - 1;
		if (a.kind == IR_AFFINE && a.stride && !ir_lanes_carry_nothing(a, lanes))
			a.kind = IR_VARYING; /* 0xffffffff, 0, 1 …: lane 0 below zero is common */
		return a;
	}
	if (a.kind == IR_AFFINE && a.stride && is_whole_range(a, from) && !ir_lanes_carry_nothing(a, lanes)) {
		if (ir_stride_is_far(a.stride))
			a.kind = IR_VARYING;
		a.exact = false; /* a wrap inside a chunk would be 2^31 elements away */
	}
	return a;
}

static struct ir_shape shape_pure(struct ir_shape const *args, unsigned count, unsigned bits)
{
	bool uniform = true, constant = true, exact = true;
	for (unsigned i = 0; i < count; i++) {
		uniform &= args[i].kind == IR_UNIFORM;
		constant &= lane_constant(args[i]);
		exact &= args[i].exact;
	}
	struct ir_shape s = shape_of(uniform ? IR_UNIFORM : constant ? IR_AFFINE : IR_VARYING, bits);
	s.exact = exact;
	return s;
}

static bool type_is_integer(enum ptx_type type)
{
	return type >= PTX_B8 && type <= PTX_S64 && type != PTX_B128;
}

static bool type_is_signed(enum ptx_type type)
{
	return type >= PTX_S8 && type <= PTX_S64;
}

static struct ir_shape shape_converted(const struct ptx_form *form, struct ir_shape a, unsigned bits, struct lanes lanes)
{
	enum ptx_type to = form->types[0], from = form->type_count > 1 ? form->types[1] : form->types[0];
	struct ir_shape generic = shape_pure(&a, 1, bits);
	if (!type_is_integer(to) || !type_is_integer(from) || ptx_has(form, MOD_sat) || ptx_type_bits(to) < 32 || ptx_type_bits(from) < 32)
		return generic;
	if (ptx_type_bits(to) <= ptx_type_bits(from)) {
		if (a.kind == IR_AFFINE)
			generic.kind = IR_AFFINE, generic.stride = a.stride, generic.linear = a.linear, generic.zeros = a.zeros;
		if (a.low >= lowest(ptx_type_bits(to)) && a.high <= highest(ptx_type_bits(to)))
			generic.low = a.low, generic.high = a.high;
		return generic;
	}
	return shape_widened(a, ptx_type_bits(from), type_is_signed(from), lanes);
}

/* cvta.local adds the thread's own window, cvta.to.local takes it away; cvta.shared the block's. Windows are anywhere: of the number that comes
 * out nothing is known but how it differs from lane to lane. */
static struct ir_shape shape_cvta(const struct ir_func *func, const struct ptx_form *form, struct ir_shape a)
{
	if (form->space != PTX_SPACE_LOCAL && form->space != PTX_SPACE_SHARED && form->space != PTX_SPACE_SHARED_CLUSTER)
		return a;
	bool own = form->space == PTX_SPACE_LOCAL && func->lanes > 1;
	struct ir_shape window = own ? range(IR_AFFINE, (int64_t)local_stride(func), INT64_MIN, INT64_MAX) : shape_of(IR_UNIFORM, 64);
	window.zeros = a.zeros;
	return shape_sum(a, window, ptx_has(form, MOD_to) ? -1 : 1, 64);
}

/* Of the groups of a block each may get another result though all ask for the same: votes, and memory that others may be writing. */
static bool differs_between_groups(const struct ptx_instruction *in)
{
	static const enum ptx_mod racing[] = { MOD_volatile, MOD_relaxed, MOD_acquire, MOD_cv, MOD_mmio };
	uint32_t flags = in->form->row->flags;
	if (flags & ISA_BARRIER)
		return false;
	for (size_t i = 0; flags & ISA_READS && i < ARRAY_LENGTH(racing); i++)
		if (ptx_has(in->form, racing[i]))
			return true;
	return flags & (ISA_CONVERGENT | ISA_EFFECT | ISA_ATOMIC | ISA_UNIFORM);
}

/* As the row types the operand: the numbers that immediates stand for depend on it. */
static unsigned operand_bits(const struct ptx_instruction *in, unsigned index)
{
	const struct isa_row *row = in->form->row;
	enum ptx_type type = in->form->types[0];
	if (index < row->operand_count)
		type = row->operands[index].type ? (enum ptx_type)row->operands[index].type : in->form->types[row->operands[index].type_slot];
	unsigned bits = ptx_type_bits(type);
	return bits && bits < 64 ? bits : 64;
}

static struct ir_shape shape_result(struct uniform *u, const struct ir_inst *inst, unsigned bits)
{
	const struct ptx_instruction *in = inst->ptx;
	const struct isa_row *row = in->form->row;
	enum ptx_type type = in->form->types[0];
	struct ir_shape a[ISA_MAX_OPERANDS] = { 0 };
	unsigned count = 0;
	for (unsigned i = 0; i < in->operand_count && count < ISA_MAX_OPERANDS; i++)
		if (i >= row->operand_count || !row->operands[i].is_result || in->operands[i].kind == PTX_OP_ADDRESS)
			a[count++] = operand_shape(u->func, inst, &in->operands[i], operand_bits(in, i));
	for (unsigned i = 0; i < inst->use_count; i++)
		if ((inst->uses[i].operand == &ir_carry_operand || inst->uses[i].operand == &ir_stack_operand) && count < ISA_MAX_OPERANDS)
			a[count++] = value_shape(u->func, inst->uses[i].value);
	if (inst->one_lane && row->flags & ISA_ATOMIC)
		return shape_of(u->func->whole_block ? IR_VARYING : IR_UNIFORM, bits);
	/* What one lane tells the whole warp; it decides which way a warp goes that works in step, and no more is asked there. */
	if (u->func->options.in_step && row->opcode_id == OP_shfl && ptx_has(in->form, MOD_idx) && count > 2 && a[1].kind == IR_UNIFORM &&
	    is_constant(a[2]) && a[2].low == 31 && !u->func->whole_block)
		return shape_of(IR_UNIFORM, bits);
	if (row->flags & ISA_VARYING)
		return shape_of(IR_VARYING, bits);
	if (u->func->whole_block && differs_between_groups(in))
		return shape_of(IR_VARYING, bits);
	if (row->flags & ISA_UNIFORM) {
		/* Lanes with masks of their own (tiles of a warp) have results of their own. */
		bool grouped = ptx_has(in->form, MOD_sync) && in->operand_count && count && a[count - 1].kind != IR_UNIFORM;
		return shape_of(grouped ? IR_VARYING : IR_UNIFORM, bits);
	}
	if (row->flags & ISA_BARRIER) /* a reduction over all threads that meet */
		return shape_of(IR_UNIFORM, bits);
	if (row->flags & (ISA_ATOMIC | ISA_CALL))
		return shape_of(IR_VARYING, bits);
	if (row->flags & ISA_READS) {
		bool own = in->form->space == PTX_SPACE_LOCAL || shape_pure(a, count, bits).kind != IR_UNIFORM;
		if (in->form->space == PTX_SPACE_PARAM && !u->func->kernel->is_entry)
			own = true; /* of a function that is called */
		if (in->form->space == PTX_SPACE_PARAM && in->operand_count > 1 && in->operands[1].kind == PTX_OP_ADDRESS &&
		    in->operands[1].parts[0].kind == PTX_OP_SYMBOL &&
		    ir_find_object(u->func, inst->instance, (const struct ptx_variable *)in->operands[1].parts[0].symbol))
			own = true; /* a call's parameter in memory: the thread's own */
		return shape_of(own ? IR_VARYING : IR_UNIFORM, bits);
	}
	if (inst->def_count > 1)
		return shape_pure(a, count, bits);
	if (row->opcode_id == OP_cvta)
		return shape_cvta(u->func, in->form, a[0]);
	switch (row->shape) {
	case SHAPE_mov:
		return count == 1 && in->operands[1].kind != PTX_OP_VECTOR ? a[0] : shape_pure(a, count, bits);
	case SHAPE_add:
		return shape_sum(a[0], a[1], 1, bits);
	case SHAPE_sub:
		return shape_sum(a[0], a[1], -1, bits);
	case SHAPE_mul:
		return shape_product(a[0], a[1], bits);
	case SHAPE_mad:
		return shape_sum(shape_product(a[0], a[1], bits), a[2], 1, bits);
	case SHAPE_mulwide:
	case SHAPE_madwide: {
		unsigned half = ptx_type_bits(type);
		struct ir_shape product = shape_product(shape_widened(a[0], half, type_is_signed(type), lanes_of(u->func)),
							shape_widened(a[1], half, type_is_signed(type), lanes_of(u->func)), bits);
		return row->shape == SHAPE_mulwide ? product : shape_sum(product, a[2], 1, bits);
	}
	case SHAPE_shl:
		if (is_constant(a[1]) && a[1].low >= 0 && a[1].low < (int64_t)bits && a[1].low < 63)
			return shape_product(a[0], range(IR_UNIFORM, 0, INT64_C(1) << a[1].low, INT64_C(1) << a[1].low), bits);
		return shape_pure(a, count, bits);
	case SHAPE_neg:
		return shape_sum(range(IR_UNIFORM, 0, 0, 0), a[0], -1, bits);
	case SHAPE_cvt:
		return shape_converted(in->form, a[0], bits, lanes_of(u->func));
	case SHAPE_select:
		if (a[2].kind == IR_UNIFORM)
			return join(a[0], a[1]);
		return shape_pure(a, count, bits);
	case SHAPE_xor:
		if (bits >= 32 && !(is_constant(a[0]) && !a[0].low) && !(is_constant(a[1]) && !a[1].low)) {
			struct ir_shape s = shape_pure(a, count, bits);
			ir_shape_xor(a[0], a[1], lanes_of(u->func), &s);
			return s;
		} /* fall through */
	case SHAPE_or:
		for (int i = 0; i < 2; i++)
			if (is_constant(a[i]) && !a[i].low)
				return a[1 - i];
		if (bits >= 32) {
			struct ir_shape s = shape_pure(a, count, bits);
			ir_shape_or(a[0], a[1], lanes_of(u->func), &s);
			return s;
		}
		return shape_pure(a, count, bits);
	case SHAPE_min:
	case SHAPE_max: {
		struct ir_shape s = shape_pure(a, count, bits);
		ir_shape_min_max(in->form, row->shape == SHAPE_max, a[0], a[1], &s);
		return s;
	}
	case SHAPE_and: {
		struct ir_shape s = shape_pure(a, count, bits);
		for (int i = 0; i < 2; i++)
			if (a[i].low >= 0 && (s.low < 0 || a[i].high < s.high))
				s = with_range(s, 0, a[i].high, bits);
		ir_shape_and(a[0], a[1], lanes_of(u->func), &s);
		return s;
	}
	case SHAPE_shr: {
		struct ir_shape s = shape_pure(a, count, bits);
		if (is_constant(a[1]) && a[1].low >= 0 && a[1].low < (int64_t)bits && (a[0].low >= 0 || type_is_signed(type)))
			s = with_range(s, a[0].low >> a[1].low, a[0].high >> a[1].low, bits);
		ir_shape_shr(a[0], a[1], bits, type_is_signed(type), lanes_of(u->func), &s);
		return s;
	}
	case SHAPE_compare: {
		struct ir_shape s = shape_pure(a, count, bits);
		bool result;
		if (count == 2 && in->operand_count == 3 && ir_range_compare(in->form, a[0], a[1], &result))
			s.low = s.high = result ? -1 : 0;
		else if (count == 2)
			ir_shape_compare(in->form, a[0], a[1], lanes_of(u->func), &s);
		return s;
	}
	default:
		return shape_pure(a, count, bits);
	}
}

/* ---- the fixed point ------------------------------------------------------------------------------------------------ */

static bool is_same(struct ir_shape a, struct ir_shape b)
{
	return a.kind == b.kind && a.stride == b.stride && a.flip == b.flip && a.exact == b.exact && a.linear == b.linear && a.zeros == b.zeros && a.low == b.low &&
	       a.high == b.high;
}

/* bounded: the range is not what widening has to end. */
static void raise_value(struct uniform *u, uint32_t value, struct ir_shape s, bool bounded)
{
	struct ir_value *v = &u->func->values.data[value];
	unsigned bits = ptx_type_bits(v->type);
	if (s.low == s.high && bits <= 64)
		s.kind = IR_UNIFORM; /* one number */
	if (s.kind != IR_VARYING)
		s.flip = 0;
	if (s.kind != IR_AFFINE)
		s.stride = s.flip ? s.stride : 0, s.linear = s.kind == IR_UNIFORM;
	s.zeros = (uint8_t)ir_low_zeros(s);
	struct ir_shape old = v->shape;
	if (!u->changes[value]) { /* the first time */
		v->shape = s;
		u->changes[value] = 1;
		u->changed = true;
		return;
	}
	if (old.kind == IR_VARYING)
		s.kind = IR_VARYING;
	if (old.kind == IR_AFFINE && s.kind == IR_UNIFORM)
		s.kind = IR_AFFINE, s.stride = old.stride;
	if (old.kind == IR_AFFINE && s.kind == IR_AFFINE && old.stride != s.stride && u->changes[value] > 2)
		s.kind = IR_VARYING;
	if (s.kind == IR_VARYING && (old.kind != IR_VARYING || old.flip != s.flip || old.stride != s.stride))
		s.stride = 0, s.flip = 0;
	s.exact = s.exact && old.exact;
	s.linear = s.linear && is_linear(old);
	s.zeros = fewer_zeros(s, old);
	if (is_same(s, old))
		return;
	if (u->changes[value] < 255)
		u->changes[value]++;
	if (u->changes[value] > 4) {
		s.low = bounded ? s.low : lowest(bits);
		s.high = bounded ? s.high : highest(bits);
	}
	if (u->changes[value] > 8)
		s.zeros = 0;
	if (u->changes[value] > 12) {
		s.kind = IR_VARYING;
		s.stride = 0;
		s.flip = 0;
	}
	if (is_same(s, old))
		return;
	v->shape = s;
	u->changed = true;
}

static struct ir_shape shape_of_lane_op(const struct ir_func *func, const struct ir_inst *inst, unsigned bits)
{
	if (inst->op == IR_LANE_SPILL)
		return value_shape(func, inst->uses[0].value);
	bool varies = inst->op == IR_LANE_LOAD || func->whole_block || (inst->op == IR_GONE && func->lanes > 1);
	return shape_of(varies ? IR_VARYING : IR_UNIFORM, bits);
}

static void visit_inst(struct uniform *u, const struct ir_inst *inst)
{
	struct ir_func *func = u->func;
	struct ir_shape guard = shape_of(IR_UNIFORM, 1);
	for (unsigned i = 0; i < inst->use_count; i++)
		if (!inst->uses[i].operand)
			guard = value_shape(func, inst->uses[i].value);
	for (unsigned d = 0; d < inst->def_count; d++) {
		uint32_t value = inst->defs[d].value;
		unsigned bits = ptx_type_bits(func->values.data[value].type);
		struct ir_shape s;
		if (inst->op >= IR_LANE_MASK) {
			s = shape_of_lane_op(func, inst, bits);
		} else if (inst->op == IR_COPY) {
			s = inst->use_count && inst->uses[0].operand ? value_shape(func, inst->uses[0].value) :
								   operand_shape(func, inst, inst->source, bits);
			if (ptx_type_bits(inst->source_type) < bits || (inst->source->kind == PTX_OP_SREG))
				s = inst->source->kind == PTX_OP_SREG ? s : shape_pure(&s, 1, bits);
		} else {
			s = shape_result(u, inst, bits);
		}
		if (inst->defs[d].old != IR_NONE || guard.kind != IR_UNIFORM) {
			s = join(s, value_shape(func, inst->defs[d].old));
			s.linear &= guard.kind == IR_UNIFORM;
			if (guard.kind != IR_UNIFORM)
				s.kind = guard.kind == IR_AFFINE && s.kind != IR_VARYING && !s.stride ? IR_AFFINE : IR_VARYING;
		}
		raise_value(u, value, s, false);
	}
}

static void visit_phi(struct uniform *u, const struct ir_block *b, const struct ir_phi *phi)
{
	struct ir_shape s = { 0 };
	bool first = true;
	for (size_t p = 0; p < b->preds.count; p++) {
		uint32_t argument = phi->arguments[p];
		if (argument == phi->value || (argument != IR_NONE && !u->changes[argument]))
			continue; /* itself, or a way not reached yet */
		struct ir_shape a = value_shape(u->func, argument);
		s = first ? a : join(s, a);
		first = false;
	}
	if (b->join)
		s.kind = IR_VARYING, s.flip = 0;
	bool bounded = ir_counter_range(u->func, b, phi, &s.low, &s.high);
	raise_value(u, phi->value, s, bounded);
}

/* ---- sync dependence ---------------------------------------------------------------------------------------------- */

static void reach(struct uniform *u, uint32_t block, uint32_t label, uint32_t *count)
{
	if (u->label_stamp[block] != u->stamp) {
		u->label_stamp[block] = u->stamp;
		u->label[block] = label;
	} else if (u->label[block] == label) {
		return;
	} else {
		struct ir_block *b = &u->func->blocks.data[block];
		if (!b->join && !b->one_lane) {
			b->join = true;
			u->changed = true;
		}
		if (u->label[block] == block)
			return;
		u->label[block] = block; /* from here on they are together again */
	}
	if (!u->queued[block]) {
		u->queued[block] = true;
		u->work[(*count)++] = block;
	}
}

static bool is_in_loop(const struct ir_func *func, uint32_t block, const struct ir_loop *loop)
{
	return func->blocks.data[block].order >= loop->first && func->blocks.data[block].order <= loop->last;
}

/* Is there a way within the loop from the one block to the other that does not come by `avoided`? around: by the loop's header, too. */
static bool leads(struct uniform *u, uint32_t from, uint32_t to, const struct ir_loop *loop, uint32_t avoided, bool around)
{
	uint32_t count = 0;
	u->stamp++;
	u->work[count++] = from;
	while (count) {
		const struct ir_block *b = &u->func->blocks.data[u->work[--count]];
		for (uint32_t e = 0; e < b->succ_count; e++) {
			uint32_t next = b->succs[e];
			bool skipped = next == avoided || !is_in_loop(u->func, next, loop) || (next == loop->header && !around && !loop->irreducible);
			if (skipped || u->label_stamp[next] == u->stamp)
				continue;
			if (next == to)
				return true;
			u->label_stamp[next] = u->stamp;
			u->work[count++] = next;
		}
	}
	return false;
}

/* Where some of the lanes that part at `branch` come to a way out of the loop while others may go around the loop without, they leave in
 * different iterations, also if all that come there leave alike. */
static void mark_ways_out(struct uniform *u, uint32_t branch)
{
	struct ir_func *func = u->func;
	for (uint32_t l = func->blocks.data[branch].loop; l != IR_NONE; l = func->loops.data[l].parent) {
		const struct ir_loop *loop = &func->loops.data[l];
		uint32_t again = loop->irreducible ? branch : loop->header;
		for (uint32_t i = loop->first; i <= loop->last; i++) {
			uint32_t from = func->order[i];
			const struct ir_block *b = &func->blocks.data[from];
			for (uint32_t e = 0; e < b->succ_count && from != branch && !b->divergent; e++) {
				struct ir_block *to = &func->blocks.data[b->succs[e]];
				if (is_in_loop(func, b->succs[e], loop) || to->join || to->one_lane || from == again ||
				    !leads(u, branch, from, loop, IR_NONE, false) || !leads(u, branch, again, loop, from, true))
					continue;
				to->join = true;
				u->changed = true;
			}
		}
	}
}

/* Marks the blocks where lanes that part at `branch` may meet: those reached along two different ways before all come together
 * at its post-dominator. A way back through the loop counts too: that is how lanes leave in different iterations. */
static void mark_joins(struct uniform *u, uint32_t branch)
{
	struct ir_func *func = u->func;
	struct ir_block *from = &func->blocks.data[branch];
	uint32_t stop = from->ipdom, count = 0;
	u->stamp++;
	for (uint32_t e = 0; e < from->succ_count; e++)
		reach(u, from->succs[e], from->succs[e], &count);
	while (count) {
		uint32_t block = u->work[--count];
		u->queued[block] = false;
		if (block == stop)
			continue;
		struct ir_block *b = &func->blocks.data[block];
		for (uint32_t e = 0; e < b->succ_count; e++)
			reach(u, b->succs[e], u->label[block], &count);
	}
	mark_ways_out(u, branch);
}

static void visit_end(struct uniform *u, uint32_t block)
{
	struct ir_block *b = &u->func->blocks.data[block];
	if ((b->end == IR_END_VOTE && !u->func->whole_block) || b->end == IR_END_ALL)
		return; /* the group goes one way; groups may go different ones. The block goes one way */
	if (b->divergent || b->condition == IR_NONE || value_shape(u->func, b->condition).kind == IR_UNIFORM)
		return;
	b->divergent = true;
	u->changed = true;
	mark_joins(u, block);
}

static void mark_divergent_loops(struct ir_func *func)
{
	for (uint32_t l = 0; l < func->loops.count; l++) {
		struct ir_loop *loop = &func->loops.data[l];
		for (uint32_t i = loop->first; i <= loop->last; i++) {
			struct ir_block *b = &func->blocks.data[func->order[i]];
			for (uint32_t e = 0; e < b->succ_count; e++) {
				struct ir_block *to = &func->blocks.data[b->succs[e]];
				if ((to->order < loop->first || to->order > loop->last) && (b->divergent || to->join))
					loop->divergent = true;
			}
		}
	}
}

/* ---- modes ------------------------------------------------------------------------------------------------- */

static bool has_guard(const struct ir_inst *inst)
{
	for (unsigned i = 0; i < inst->use_count; i++)
		if (!inst->uses[i].operand)
			return true;
	return false;
}

static bool results_are_uniform(const struct ir_func *func, const struct ir_inst *inst)
{
	for (unsigned d = 0; d < inst->def_count; d++)
		if (func->values.data[inst->defs[d].value].shape.kind != IR_UNIFORM)
			return false;
	for (unsigned i = 0; i < inst->use_count; i++)
		if (value_shape(func, inst->uses[i].value).kind == IR_VARYING)
			return false;
	return true;
}

static void choose_mode(struct ir_func *func, struct ir_inst *inst)
{
	bool uniform = true;
	for (unsigned i = 0; i < inst->use_count; i++)
		uniform &= value_shape(func, inst->uses[i].value).kind == IR_UNIFORM;
	for (unsigned d = 0; d < inst->def_count; d++)
		uniform &= func->values.data[inst->defs[d].value].shape.kind == IR_UNIFORM;
	uint32_t flags = inst->op == IR_PTX ? inst->ptx->form->row->flags : ISA_PURE;
	if (inst->def_count && flags & ISA_PURE && !has_guard(inst)) /* what lane 0 makes of its index, the group makes */
		uniform = results_are_uniform(func, inst);
	if (inst->op >= IR_LANE_MASK)
		inst->mode = IR_MODE_GROUP;
	else if (inst->one_lane)
		inst->mode = IR_MODE_ONCE;
	else if (flags & (ISA_CONVERGENT | ISA_BARRIER | ISA_CALL | ISA_BRANCH))
		inst->mode = IR_MODE_GROUP;
	else if (flags & ISA_EFFECT && !(flags & (ISA_READS | ISA_WRITES | ISA_PURE)))
		inst->mode = IR_MODE_GROUP;
	else if (func->lanes == 1 || (uniform && !(flags & (ISA_WRITES | ISA_ATOMIC))))
		inst->mode = IR_MODE_ONCE;
	else
		inst->mode = IR_MODE_LANES;
}

void ir_analyze(struct ir_func *func)
{
	size_t blocks = func->blocks.count;
	struct uniform u = { .func = func };
	u.changes = calloc(func->values.count + 1, 1);
	u.label = calloc(blocks, sizeof *u.label);
	u.label_stamp = calloc(blocks, sizeof *u.label_stamp);
	u.work = calloc(blocks + 1, sizeof *u.work);
	u.queued = calloc(blocks, sizeof *u.queued);
	for (size_t i = 0; i < func->values.count; i++)
		func->values.data[i].shape = (struct ir_shape){ .kind = IR_UNIFORM, .exact = true };
	for (size_t i = 0; i < blocks; i++)
		func->blocks.data[i].divergent = func->blocks.data[i].join = false;
	for (u.changed = true; u.changed;) {
		u.changed = false;
		for (uint32_t i = 0; i < func->order_count; i++) {
			struct ir_block *b = &func->blocks.data[func->order[i]];
			for (size_t p = 0; p < b->phis.count; p++)
				visit_phi(&u, b, &b->phis.data[p]);
			for (size_t j = 0; j < b->insts.count; j++)
				visit_inst(&u, &b->insts.data[j]);
			if (func->lanes > 1)
				visit_end(&u, func->order[i]);
		}
	}
	if (func->lanes == 1)
		for (size_t i = 0; i < func->values.count; i++)
			func->values.data[i].shape.kind = IR_UNIFORM;
	mark_divergent_loops(func);
	ir_mark_raw_nans(func);
	for (uint32_t i = 0; i < func->order_count; i++) {
		struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++)
			choose_mode(func, &b->insts.data[j]);
	}
	free(u.changes);
	free(u.label);
	free(u.label_stamp);
	free(u.work);
	free(u.queued);
}
