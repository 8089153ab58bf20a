/* The interpreter's threads, memory and control: see interpret.h. PTX ISA 5 (state spaces), 7.1 (calls), 9.7.12 (control flow),
 * 9.7.13 (barriers, warp operations). Threads run one after the other, each until it ends or must meet others. */
#include "interpret.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_STEPS = 200000000, STACK_BYTES = 1 << 16, MAX_DEPTH = 64, SHARED_BYTES = 48 << 10, WARP = 32 };

enum state { RUNNING, AT_WARP, AT_BARRIER, EXITED };

struct frame {
	const struct ptx_function *function;
	uint32_t at; /* next instruction */
	uint64_t *values;
	uint8_t *defined;
	uint8_t *memory;                     /* parameters, results and local variables */
	const struct ptx_instruction *call; /* that made this frame */
	size_t stack_before;
};

struct thread {
	enum state state;
	uint32_t number;
	bool carry;
	struct frame frames[MAX_DEPTH];
	unsigned depth; /* of frames */
	uint8_t *stack, *stack_written; /* written: which of its bytes were */
	size_t stack_used;
};

struct layout { /* of a function's frame: offsets of its variables */
	const struct ptx_function *function;
	struct map offsets; /* name -> offset + 1 */
	size_t bytes;
};

struct machine {
	const struct ptx_module *module;
	const struct ptx_function *kernel;
	const struct interpret_launch *launch;
	struct layout *layouts; /* by function index */
	struct map globals;     /* name -> memory, of the module's variables */
	uint8_t **global_memory;
	struct map shared;      /* name -> offset + 1 */
	uint8_t *shared_memory, *shared_written;
	struct thread *threads;
	uint32_t thread_count, block[3];
	uint64_t steps;
	jmp_buf *escape;
	enum interpret_result result;
	char *why;
	size_t why_size;
};

static void stop(struct machine *m, enum interpret_result result, const struct ptx_instruction *in, const char *format, ...)
{
	va_list list;
	int used = in ? snprintf(m->why, m->why_size, "line %u: ", in->location.line) : 0;
	va_start(list, format);
	vsnprintf(m->why + used, m->why_size - (size_t)used, format, list);
	va_end(list);
	m->result = result;
	longjmp(*m->escape, 1);
}

/* ---- variables --------------------------------------------------------------------------------------------- */

static void place_variable(struct layout *layout, const struct ptx_variable *v)
{
	layout->bytes = align_up(layout->bytes, v->align ? v->align : 1);
	map_put(&layout->offsets, v->symbol.name, (void *)(uintptr_t)(layout->bytes + 1));
	layout->bytes += v->size;
}

static void place_shared(struct machine *m, const struct ptx_variable *v, size_t *used)
{
	*used = align_up(*used, v->align ? v->align : 1);
	map_put(&m->shared, v->symbol.name, (void *)(uintptr_t)(*used + 1));
	*used += v->size;
	if (*used > SHARED_BYTES)
		stop(m, INTERPRET_UNKNOWN, NULL, "too much shared memory");
}

static void place_all(struct machine *m)
{
	size_t shared = 0;
	for (size_t i = 0; i < m->module->variables.count; i++) {
		const struct ptx_variable *v = m->module->variables.data[i];
		if (v->space == PTX_SPACE_SHARED) {
			place_shared(m, v, &shared);
			continue;
		}
		m->global_memory[i] = calloc(v->size + 8, 1);
		for (uint32_t k = 0; k < v->initial_count; k++) {
			if (v->initial[k].symbol)
				stop(m, INTERPRET_UNKNOWN, NULL, "initialiser with an address");
			memcpy(m->global_memory[i] + v->initial[k].offset, &v->initial[k].bits, ptx_type_bits(v->initial[k].type) / 8);
		}
		map_put(&m->globals, v->symbol.name, m->global_memory[i]);
	}
	for (size_t f = 0; f < m->module->functions.count; f++) {
		const struct ptx_function *function = m->module->functions.data[f];
		struct layout *layout = &m->layouts[function->index];
		layout->function = function;
		for (size_t i = 0; !function->is_entry && i < function->parameters.count; i++)
			place_variable(layout, function->parameters.data[i]);
		for (size_t i = 0; i < function->results.count; i++)
			place_variable(layout, function->results.data[i]);
		for (size_t i = 0; i < function->variables.count; i++) {
			if (function->variables.data[i]->space == PTX_SPACE_SHARED)
				place_shared(m, function->variables.data[i], &shared);
			else
				place_variable(layout, function->variables.data[i]);
		}
	}
}

static struct frame *top(struct thread *t)
{
	return &t->frames[t->depth - 1];
}

static void *frame_variable(struct machine *m, struct frame *frame, const char *name)
{
	uintptr_t at = (uintptr_t)map_get(&m->layouts[frame->function->index].offsets, name);
	return at ? frame->memory + at - 1 : NULL;
}

/* Address of a variable: host pointers, but for shared memory, where it is the offset. */
static uint64_t symbol_address(struct machine *m, struct thread *t, const struct ptx_instruction *in, const struct ptx_operand *op)
{
	const char *name = op->symbol->name;
	void *at = frame_variable(m, top(t), name);
	if (!at && op->symbol->kind == PTX_SYMBOL_VARIABLE && ((const struct ptx_variable *)op->symbol)->space == PTX_SPACE_PARAM &&
	    t->depth == 1)
		at = (uint8_t *)(uintptr_t)m->launch->parameters + ((const struct ptx_variable *)op->symbol)->offset;
	if (!at)
		at = map_get(&m->globals, name);
	if (at)
		return (uint64_t)(uintptr_t)at + (uint64_t)op->offset;
	uintptr_t shared = (uintptr_t)map_get(&m->shared, name);
	if (!shared)
		stop(m, INTERPRET_UNKNOWN, in, "symbol %s", name);
	return shared - 1 + (uint64_t)op->offset;
}

/* ---- operands ------------------------------------------------------------------------------------------------ */

static uint64_t cut(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static uint32_t axis_of(const uint32_t v[3], int component)
{
	return component < 0 ? v[0] : component < 3 ? v[component] : 0;
}

static uint64_t special(struct machine *m, struct thread *t, const struct ptx_instruction *in, const struct ptx_operand *op)
{
	const uint32_t *shape = m->launch->block;
	uint32_t n = t->number, tid[3] = { n % shape[0], n / shape[0] % shape[1], n / shape[0] / shape[1] }, lane = n % WARP;
	switch (op->sreg) {
	case SREG_tid:
		return axis_of(tid, op->component);
	case SREG_ntid:
		return axis_of(shape, op->component);
	case SREG_ctaid:
		return axis_of(m->block, op->component);
	case SREG_nctaid:
		return axis_of(m->launch->grid, op->component);
	case SREG_laneid:
		return lane;
	case SREG_lanemask_eq:
		return UINT32_C(1) << lane;
	case SREG_lanemask_lt:
		return (UINT32_C(1) << lane) - 1;
	case SREG_lanemask_le:
		return UINT32_MAX >> (31 - lane);
	case SREG_lanemask_gt:
		return ~(UINT32_MAX >> (31 - lane));
	case SREG_lanemask_ge:
		return ~((UINT32_C(1) << lane) - 1);
	default:
		stop(m, INTERPRET_UNKNOWN, in, "special register");
		return 0;
	}
}

static uint64_t read_register(struct machine *m, struct thread *t, const struct ptx_instruction *in, const struct ptx_register *reg)
{
	struct frame *frame = top(t);
	if (!frame->defined[reg->index])
		stop(m, INTERPRET_INVALID, in, "%s is read before it is written", reg->name);
	return frame->values[reg->index];
}

static uint64_t float_constant(const struct ptx_operand *op, unsigned bits)
{
	uint64_t v = op->bits;
	if (op->is_f32 == (bits == 32))
		return v;
	if (op->is_f32) {
		float f;
		uint32_t word = (uint32_t)v;
		memcpy(&f, &word, 4);
		double d = (double)f;
		memcpy(&v, &d, 8);
		return v;
	}
	double d;
	memcpy(&d, &v, 8);
	float f = (float)d;
	uint32_t word;
	memcpy(&word, &f, 4);
	return word;
}

static uint64_t read_operand(struct machine *m, struct thread *t, const struct ptx_instruction *in, const struct ptx_operand *op,
			     unsigned bits)
{
	switch (op->kind) {
	case PTX_OP_REGISTER:
		if (op->negated)
			return !read_register(m, t, in, op->reg);
		return cut(read_register(m, t, in, op->reg), bits);
	case PTX_OP_IMMEDIATE:
		return cut(op->bits, bits);
	case PTX_OP_FLOAT:
		return float_constant(op, bits);
	case PTX_OP_SREG:
		return cut(special(m, t, in, op), bits);
	case PTX_OP_SYMBOL:
		return cut(symbol_address(m, t, in, op), bits);
	default:
		stop(m, INTERPRET_UNKNOWN, in, "kind of operand");
		return 0;
	}
}

static bool is_signed(enum ptx_type type)
{
	return type >= PTX_S8 && type <= PTX_S64;
}

/* A result of `type` into a register that may be wider. */
static void write_operand(struct thread *t, const struct ptx_operand *op, uint64_t v, enum ptx_type type)
{
	if (op->kind != PTX_OP_REGISTER)
		return;
	struct frame *frame = top(t);
	unsigned bits = ptx_type_bits(type), wide = ptx_type_bits(op->reg->type);
	v = cut(v, bits);
	if (is_signed(type) && bits < wide && v >> (bits - 1) & 1)
		v |= ~UINT64_C(0) << bits;
	frame->values[op->reg->index] = cut(v, wide);
	frame->defined[op->reg->index] = 1;
}

static enum ptx_type operand_type(const struct ptx_instruction *in, unsigned index)
{
	const struct isa_row *row = in->form->row;
	if (index >= row->operand_count)
		return in->form->types[0];
	return row->operands[index].type ? (enum ptx_type)row->operands[index].type : in->form->types[row->operands[index].type_slot];
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static bool within(const void *start, size_t size, uint64_t at, size_t bytes)
{
	uint64_t from = (uint64_t)(uintptr_t)start;
	return at >= from && at + bytes <= from + size && at + bytes >= at;
}

static bool is_shared(enum ptx_space space)
{
	return space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER;
}

static uint8_t *memory_at(struct machine *m, struct thread *t, const struct ptx_instruction *in, uint64_t at, size_t bytes)
{
	bool good = within(m->launch->memory, m->launch->memory_bytes, at, bytes) || within(m->shared_memory, SHARED_BYTES, at, bytes) ||
		    within(t->stack, STACK_BYTES, at, bytes) || within(m->launch->parameters, m->kernel->parameter_bytes, at, bytes);
	for (size_t i = 0; !good && i < m->module->variables.count; i++)
		good = m->global_memory[i] && within(m->global_memory[i], m->module->variables.data[i]->size, at, bytes);
	if (!good)
		stop(m, INTERPRET_INVALID, in, "access out of bounds");
	if (at % bytes)
		stop(m, INTERPRET_INVALID, in, "misaligned access");
	return (uint8_t *)(uintptr_t)at;
}

/* Shared and local memory begin without values. NULL: other memory, which has them. */
static uint8_t *written_at(struct machine *m, struct thread *t, const uint8_t *at)
{
	if (within(m->shared_memory, SHARED_BYTES, (uint64_t)(uintptr_t)at, 1))
		return m->shared_written + (at - m->shared_memory);
	if (within(t->stack, STACK_BYTES, (uint64_t)(uintptr_t)at, 1))
		return t->stack_written + (at - t->stack);
	return NULL;
}

static void check_written(struct machine *m, struct thread *t, const struct ptx_instruction *in, const uint8_t *at, size_t bytes)
{
	const uint8_t *written = written_at(m, t, at);
	if (written && memchr(written, 0, bytes))
		stop(m, INTERPRET_INVALID, in, "memory is read before it is written");
}

static void mark_written(struct machine *m, struct thread *t, const uint8_t *at, size_t bytes)
{
	uint8_t *written = written_at(m, t, at);
	if (written)
		memset(written, 1, bytes);
}

static uint64_t address_of(struct machine *m, struct thread *t, const struct ptx_instruction *in, const struct ptx_operand *op)
{
	enum ptx_space space = in->form->space;
	const struct ptx_operand *base = op->kind == PTX_OP_ADDRESS ? &op->parts[0] : op;
	uint64_t at = read_operand(m, t, in, base, 64) + (uint64_t)(op->kind == PTX_OP_ADDRESS ? op->offset : 0);
	bool shared_symbol = base->kind == PTX_OP_SYMBOL && base->symbol->kind == PTX_SYMBOL_VARIABLE &&
			     is_shared(((const struct ptx_variable *)base->symbol)->space);
	if (is_shared(space) || shared_symbol)
		at += (uint64_t)(uintptr_t)m->shared_memory;
	return at;
}

static void load(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
	enum ptx_type type = in->form->types[0];
	size_t bytes = ptx_type_bits(type) / 8;
	const struct ptx_operand *d = &in->operands[0];
	unsigned count = d->kind == PTX_OP_VECTOR ? d->part_count : 1;
	uint8_t *at = memory_at(m, t, in, address_of(m, t, in, &in->operands[1]), bytes);
	memory_at(m, t, in, (uint64_t)(uintptr_t)(at + bytes * (count - 1)), bytes);
	if ((uint64_t)(uintptr_t)at % (bytes * count))
		stop(m, INTERPRET_INVALID, in, "misaligned access");
	for (unsigned i = 0; i < count; i++) {
		uint64_t v = 0;
		check_written(m, t, in, at + bytes * i, bytes);
		memcpy(&v, at + bytes * i, bytes);
		write_operand(t, d->kind == PTX_OP_VECTOR ? &d->parts[i] : d, v, type);
	}
}

static void store(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
	enum ptx_type type = in->form->types[0];
	size_t bytes = ptx_type_bits(type) / 8;
	const struct ptx_operand *b = &in->operands[1];
	unsigned count = b->kind == PTX_OP_VECTOR ? b->part_count : 1;
	uint8_t *at = memory_at(m, t, in, address_of(m, t, in, &in->operands[0]), bytes);
	memory_at(m, t, in, (uint64_t)(uintptr_t)(at + bytes * (count - 1)), bytes);
	if ((uint64_t)(uintptr_t)at % (bytes * count))
		stop(m, INTERPRET_INVALID, in, "misaligned access");
	for (unsigned i = 0; i < count; i++) {
		uint64_t v = read_operand(m, t, in, b->kind == PTX_OP_VECTOR ? &b->parts[i] : b, (unsigned)bytes * 8);
		memcpy(at + bytes * i, &v, bytes);
		mark_written(m, t, at + bytes * i, bytes);
	}
}

static uint64_t combine(struct machine *m, const struct ptx_instruction *in, uint64_t old, uint64_t b, uint64_t c, unsigned bits)
{
	const struct ptx_form *f = in->form;
	bool s = is_signed(f->types[0]);
	int64_t x = (int64_t)(old << (64 - bits)) >> (64 - bits), y = (int64_t)(b << (64 - bits)) >> (64 - bits);
	if (f->types[0] == PTX_F32 || f->types[0] == PTX_F64 || bits < 32)
		stop(m, INTERPRET_UNKNOWN, in, "atomic");
	if (ptx_has(f, MOD_add))
		return old + b;
	if (ptx_has(f, MOD_and))
		return old & b;
	if (ptx_has(f, MOD_or))
		return old | b;
	if (ptx_has(f, MOD_xor))
		return old ^ b;
	if (ptx_has(f, MOD_min))
		return (s ? x < y : old < b) ? old : b;
	if (ptx_has(f, MOD_max))
		return (s ? x > y : old > b) ? old : b;
	if (ptx_has(f, MOD_exch))
		return b;
	if (ptx_has(f, MOD_cas))
		return old == b ? c : old;
	if (ptx_has(f, MOD_inc))
		return old >= b ? 0 : old + 1;
	if (ptx_has(f, MOD_dec))
		return old == 0 || old > b ? b : old - 1;
	stop(m, INTERPRET_UNKNOWN, in, "atomic");
	return 0;
}

static void atomic(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
	bool red = in->form->row->opcode_id == OP_red;
	enum ptx_type type = in->form->types[0];
	unsigned bits = ptx_type_bits(type), first = red ? 0 : 1;
	uint8_t *at = memory_at(m, t, in, address_of(m, t, in, &in->operands[first]), bits / 8);
	uint64_t b = read_operand(m, t, in, &in->operands[first + 1], bits), c = 0, old = 0;
	if (ptx_has(in->form, MOD_cas))
		c = read_operand(m, t, in, &in->operands[first + 2], bits);
	check_written(m, t, in, at, bits / 8);
	memcpy(&old, at, bits / 8);
	uint64_t v = combine(m, in, old, b, c, bits);
	memcpy(at, &v, bits / 8);
	if (!red)
		write_operand(t, &in->operands[0], old, type);
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

static void enter(struct machine *m, struct thread *t, const struct ptx_function *function, const struct ptx_instruction *call)
{
	size_t registers = function->registers.count + 1, bytes = align_up(m->layouts[function->index].bytes + 16, 16);
	if (t->depth == MAX_DEPTH || t->stack_used + bytes + registers * 9 + 16 > STACK_BYTES)
		stop(m, INTERPRET_INVALID, call, "stack overflow");
	struct frame *frame = &t->frames[t->depth++];
	*frame = (struct frame){ .function = function, .call = call, .stack_before = t->stack_used };
	frame->memory = t->stack + t->stack_used;
	frame->values = (uint64_t *)(void *)(frame->memory + bytes);
	frame->defined = (uint8_t *)(frame->values + registers);
	memset(frame->memory, 0, bytes + registers * 9);
	memset(t->stack_written + t->stack_used, 0, bytes);
	t->stack_used = align_up(t->stack_used + bytes + registers * 9, 16);
}

static void copy_parameter(struct machine *m, struct thread *t, const struct ptx_instruction *in, struct frame *from, struct frame *to,
			   const struct ptx_operand *actual, const struct ptx_variable *formal)
{
	void *target = frame_variable(m, to, formal->symbol.name);
	void *source = actual->kind == PTX_OP_SYMBOL ? frame_variable(m, from, actual->symbol->name) : NULL;
	if (!target || !source)
		stop(m, INTERPRET_UNKNOWN, in, "parameter of a call");
	check_written(m, t, in, source, formal->size);
	memcpy(target, source, formal->size);
	mark_written(m, t, target, formal->size);
}

static void call(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
	const struct ptx_operand *ops = in->operands, *parameters = NULL;
	unsigned at = ops[0].kind == PTX_OP_LIST ? 1 : 0;
	if (ops[at].kind != PTX_OP_SYMBOL || ops[at].symbol->kind != PTX_SYMBOL_FUNCTION || in->operand_count > at + 2)
		stop(m, INTERPRET_UNKNOWN, in, "indirect call");
	const struct ptx_function *function = (const struct ptx_function *)ops[at].symbol;
	if (at + 1 < in->operand_count && ops[at + 1].kind == PTX_OP_LIST)
		parameters = &ops[at + 1];
	enter(m, t, function, in);
	for (unsigned i = 0; parameters && i < parameters->part_count && i < function->parameters.count; i++)
		copy_parameter(m, t, in, &t->frames[t->depth - 2], top(t), &parameters->parts[i], function->parameters.data[i]);
}

static void leave(struct machine *m, struct thread *t)
{
	struct frame *frame = top(t);
	const struct ptx_instruction *in = frame->call;
	if (t->depth == 1) {
		t->state = EXITED;
		return;
	}
	struct frame *above = &t->frames[t->depth - 2];
	for (unsigned i = 0; in->operands[0].kind == PTX_OP_LIST && i < in->operands[0].part_count; i++) {
		const struct ptx_variable *result = frame->function->results.data[i];
		void *target = frame_variable(m, above, in->operands[0].parts[i].symbol->name);
		void *source = frame_variable(m, frame, result->symbol.name);
		if (!target || !source)
			stop(m, INTERPRET_UNKNOWN, in, "result of a call");
		check_written(m, t, in, source, result->size);
		memcpy(target, source, result->size);
		mark_written(m, t, target, result->size);
	}
	t->stack_used = frame->stack_before;
	t->depth--;
}

/* ---- warp operations ------------------------------------------------------------------------------------------------ */

static uint32_t member_mask(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
	if (!ptx_has(in->form, MOD_sync))
		stop(m, INTERPRET_UNKNOWN, in, "warp operation without a mask");
	uint32_t mask = (uint32_t)read_operand(m, t, in, &in->operands[in->operand_count - 1], 32);
	if (!(mask >> (t->number % WARP) & 1))
		stop(m, INTERPRET_INVALID, in, "a thread is not in its own member mask");
	return mask;
}

static const struct ptx_instruction *instruction_of(struct thread *t)
{
	return &top(t)->function->instructions[top(t)->at];
}

struct meeting {
	const struct ptx_instruction *in;
	uint32_t here;          /* lanes */
	struct thread *threads; /* lane 0 of the warp */
	uint64_t a[WARP];
};

static void do_vote(struct machine *m, struct meeting *w)
{
	uint32_t yes = 0;
	(void)m;
	for (unsigned i = 0; i < WARP; i++)
		yes |= (uint32_t)(w->here >> i & 1 && w->a[i]) << i;
	uint64_t r = ptx_has(w->in->form, MOD_all) ? yes == w->here :
		     ptx_has(w->in->form, MOD_any) ? yes != 0 :
		     ptx_has(w->in->form, MOD_uni) ? yes == w->here || !yes :
						     yes;
	for (unsigned i = 0; i < WARP; i++)
		if (w->here >> i & 1)
			write_operand(&w->threads[i], &w->in->operands[0], r, ptx_has(w->in->form, MOD_ballot) ? PTX_B32 : PTX_PRED);
}

static void do_match(struct machine *m, struct meeting *w)
{
	bool all = ptx_has(w->in->form, MOD_all);
	const struct ptx_operand *d = &w->in->operands[0], *p = d->kind == PTX_OP_PAIR ? &d->parts[1] : NULL;
	(void)m;
	for (unsigned i = 0; i < WARP; i++) {
		uint32_t same = 0;
		for (unsigned j = 0; j < WARP; j++)
			same |= (uint32_t)(w->here >> j & 1 && w->a[j] == w->a[i]) << j;
		if (!(w->here >> i & 1))
			continue;
		write_operand(&w->threads[i], p ? &d->parts[0] : d, all && same != w->here ? 0 : same, PTX_B32);
		if (p)
			write_operand(&w->threads[i], p, same == w->here, PTX_PRED);
	}
}

static void do_redux(struct machine *m, struct meeting *w)
{
	uint64_t r = 0;
	bool first = true;
	if (w->in->form->types[0] == PTX_F32)
		stop(m, INTERPRET_UNKNOWN, w->in, "redux.f32");
	for (unsigned i = 0; i < WARP; i++) {
		if (!(w->here >> i & 1))
			continue;
		r = first ? w->a[i] : cut(combine(m, w->in, r, w->a[i], 0, 32), 32);
		first = false;
	}
	for (unsigned i = 0; i < WARP; i++)
		if (w->here >> i & 1)
			write_operand(&w->threads[i], &w->in->operands[0], r, PTX_B32);
}

/* 9.7.9.6, as its pseudo code has it. */
static void do_shuffle(struct machine *m, struct meeting *w)
{
	const struct ptx_operand *d = &w->in->operands[0], *p = d->kind == PTX_OP_PAIR ? &d->parts[1] : NULL;
	const struct ptx_form *f = w->in->form;
	for (int lane = 0; lane < WARP; lane++) {
		if (!(w->here >> lane & 1))
			continue;
		struct thread *t = &w->threads[lane];
		int b = (int)(read_operand(m, t, w->in, &w->in->operands[2], 32) & 31);
		int c = (int)read_operand(m, t, w->in, &w->in->operands[3], 32);
		int segment = c >> 8 & 31, clamp = c & 31, last = (lane & segment) | (clamp & ~segment), first = lane & segment, j;
		bool inside;
		if (ptx_has(f, MOD_up)) {
			j = lane - b;
			inside = j >= last;
		} else if (ptx_has(f, MOD_down)) {
			j = lane + b;
			inside = j <= last;
		} else if (ptx_has(f, MOD_bfly)) {
			j = lane ^ b;
			inside = j <= last;
		} else {
			j = first | (b & ~segment);
			inside = j <= last;
		}
		if (!inside)
			j = lane;
		if (!(w->here >> j & 1))
			stop(m, INTERPRET_INVALID, w->in, "shuffle from a lane that is not here");
		write_operand(t, p ? &d->parts[0] : d, w->a[j], PTX_B32);
		if (p)
			write_operand(t, p, inside, PTX_PRED);
	}
}

static bool is_warp_operation(const struct ptx_instruction *in)
{
	return in->form->row->flags & ISA_CONVERGENT;
}

static void do_warp_operation(struct machine *m, struct meeting *w)
{
	for (unsigned i = 0; i < WARP; i++)
		if (w->here >> i & 1 && w->in->operand_count > 1)
			w->a[i] = read_operand(m, &w->threads[i], w->in, &w->in->operands[1],
					       w->in->form->row->opcode_id == OP_vote ? 1 : ptx_type_bits(operand_type(w->in, 1)));
	switch (w->in->form->row->opcode_id) {
	case OP_vote:
		do_vote(m, w);
		break;
	case OP_match:
		do_match(m, w);
		break;
	case OP_redux:
		do_redux(m, w);
		break;
	case OP_shfl:
		do_shuffle(m, w);
		break;
	case OP_bar:
		break; /* bar.warp.sync */
	default:
		stop(m, INTERPRET_UNKNOWN, w->in, "%s", w->in->form->text);
	}
}

/* Lets one group of a warp's threads meet; false where none can. */
static bool meet(struct machine *m, uint32_t first)
{
	struct thread *threads = &m->threads[first];
	unsigned count = m->thread_count - first < WARP ? m->thread_count - first : WARP;
	uint32_t alive = 0;
	for (unsigned i = 0; i < count; i++)
		alive |= (uint32_t)(threads[i].state != EXITED) << i;
	for (unsigned i = 0; i < count; i++) {
		if (threads[i].state != AT_WARP)
			continue;
		const struct ptx_instruction *in = instruction_of(&threads[i]);
		uint32_t mask = in->form->row->opcode_id == OP_bar ? (uint32_t)read_operand(m, &threads[i], in, &in->operands[0], 32) :
								     member_mask(m, &threads[i], in);
		uint32_t wanted = mask & alive;
		bool good = true;
		for (unsigned j = 0; j < count && good; j++)
			if (wanted >> j & 1) {
				good = threads[j].state == AT_WARP && instruction_of(&threads[j]) == in;
				good = good && (in->form->row->opcode_id == OP_bar || member_mask(m, &threads[j], in) == mask);
			}
		if (!good)
			continue;
		struct meeting w = { .in = in, .here = wanted, .threads = threads };
		do_warp_operation(m, &w);
		for (unsigned j = 0; j < count; j++)
			if (wanted >> j & 1) {
				threads[j].state = RUNNING;
				top(&threads[j])->at++;
			}
		return true;
	}
	return false;
}

/* ---- barriers ---------------------------------------------------------------------------------------------------------- */

/* All threads that are left wait at barrier 0 or at the same other one: releases them. */
static void release_barrier(struct machine *m)
{
	const struct ptx_instruction *in = NULL;
	uint64_t yes = 0, here = 0, id = 0;
	for (uint32_t i = 0; i < m->thread_count; i++) {
		struct thread *t = &m->threads[i];
		if (t->state == EXITED)
			continue;
		const struct ptx_instruction *own = instruction_of(t);
		bool red = ptx_has(own->form, MOD_red);
		if (t->state != AT_BARRIER || (in && own->form != in->form))
			stop(m, INTERPRET_INVALID, own, "threads wait for one another");
		if (own->operand_count > (red ? 3 : 1) || ptx_has(own->form, MOD_arrive))
			stop(m, INTERPRET_UNKNOWN, own, "barrier with a count");
		uint64_t own_id = read_operand(m, t, own, &own->operands[red ? 1 : 0], 32);
		if (in && own_id != id)
			stop(m, INTERPRET_INVALID, own, "threads wait at different barriers");
		id = own_id;
		in = own;
		here++;
		yes += red ? read_operand(m, t, own, &own->operands[2], 1) : 0;
	}
	if (!in)
		return;
	for (uint32_t i = 0; i < m->thread_count; i++) {
		struct thread *t = &m->threads[i];
		if (t->state == EXITED)
			continue;
		const struct ptx_instruction *own = instruction_of(t);
		if (ptx_has(own->form, MOD_popc))
			write_operand(t, &own->operands[0], yes, PTX_U32);
		else if (ptx_has(own->form, MOD_red))
			write_operand(t, &own->operands[0], ptx_has(own->form, MOD_and) ? yes == here : yes != 0, PTX_PRED);
		t->state = RUNNING;
		top(t)->at++;
	}
}

/* ---- one instruction ------------------------------------------------------------------------------------------------------ */

static void pure(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
	struct interpret_pure p = { .in = in, .carry = t->carry };
	const struct ptx_operand *d = &in->operands[0], *second = NULL;
	if (d->kind == PTX_OP_PAIR) {
		second = &d->parts[1];
		d = &d->parts[0];
	}
	if (d->kind == PTX_OP_VECTOR || (in->operand_count > 1 && in->operands[1].kind == PTX_OP_VECTOR)) {
		/* mov packs and unpacks */
		const struct ptx_operand *a = &in->operands[1];
		unsigned total = ptx_type_bits(in->form->types[0]);
		uint64_t v = 0;
		if (a->kind == PTX_OP_VECTOR)
			for (unsigned i = 0; i < a->part_count; i++)
				v |= read_operand(m, t, in, &a->parts[i], total / a->part_count) << (i * (total / a->part_count));
		else
			v = read_operand(m, t, in, a, total);
		if (d->kind != PTX_OP_VECTOR) {
			write_operand(t, d, v, in->form->types[0]);
			return;
		}
		for (unsigned i = 0; i < d->part_count; i++) {
			unsigned bits = total / d->part_count;
			write_operand(t, &d->parts[i], v >> (i * bits), bits == 32 ? PTX_B32 : bits == 16 ? PTX_B16 : PTX_B8);
		}
		return;
	}
	for (unsigned i = 1; i < in->operand_count && p.count < 8; i++) {
		enum ptx_type type = operand_type(in, i);
		bool any = type == PTX_TYPE_NONE || !ptx_type_bits(type);
		p.a[p.count++] = read_operand(m, t, in, &in->operands[i], any ? ptx_type_bits(in->form->types[0]) : ptx_type_bits(type));
	}
	enum ptx_type result = operand_type(in, 0);
	if (in->form->row->opcode_id == OP_mov)
		result = in->form->types[0];
	if (!interpret_pure(&p))
		stop(m, INTERPRET_UNKNOWN, in, "%s", in->form->text);
	write_operand(t, d, p.result, result);
	if (second)
		write_operand(t, second, p.second, PTX_PRED);
	t->carry = p.carry;
}

static void branch(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
	struct frame *frame = top(t);
	switch (in->form->row->opcode_id) {
	case OP_bra:
		frame->at = ((const struct ptx_label *)in->operands[0].symbol)->at;
		return;
	case OP_brx: {
		const struct ptx_targets *targets = (const struct ptx_targets *)in->operands[1].symbol;
		uint64_t index = read_operand(m, t, in, &in->operands[0], 32);
		if (index >= targets->count)
			stop(m, INTERPRET_INVALID, in, "index past the end of the list");
		frame->at = ((const struct ptx_label *)targets->targets[index])->at;
		return;
	}
	case OP_exit:
		t->state = EXITED;
		return;
	case OP_ret:
		leave(m, t);
		return;
	default:
		stop(m, INTERPRET_UNKNOWN, in, "%s", in->form->text);
	}
}

static uint64_t converted_address(struct machine *m, struct thread *t, const struct ptx_instruction *in)
{
	uint64_t at = read_operand(m, t, in, &in->operands[1], 64), window = (uint64_t)(uintptr_t)m->shared_memory;
	if (!is_shared(in->form->space))
		return at;
	return ptx_has(in->form, MOD_to) ? at - window : at + window;
}

/* Runs one instruction of a thread. */
static void step(struct machine *m, struct thread *t)
{
	struct frame *frame = top(t);
	if (frame->at >= frame->function->instruction_count) {
		leave(m, t);
		return;
	}
	const struct ptx_instruction *in = &frame->function->instructions[frame->at];
	if (++m->steps > MAX_STEPS)
		stop(m, INTERPRET_INVALID, in, "too many steps");
	if (in->guard && (read_register(m, t, in, in->guard) != 0) == in->guard_negated) {
		frame->at++;
		return;
	}
	uint32_t flags = in->form->row->flags;
	if (is_warp_operation(in)) {
		t->state = AT_WARP;
		return;
	}
	if (flags & ISA_BARRIER) {
		t->state = AT_BARRIER;
		return;
	}
	frame->at++;
	if (flags & ISA_BRANCH)
		branch(m, t, in);
	else if (flags & ISA_CALL)
		call(m, t, in);
	else if (flags & ISA_ATOMIC)
		atomic(m, t, in);
	else if (in->form->row->opcode_id == OP_ld)
		load(m, t, in);
	else if (in->form->row->opcode_id == OP_st)
		store(m, t, in);
	else if (in->form->row->opcode_id == OP_cvta)
		write_operand(t, &in->operands[0], converted_address(m, t, in), in->form->types[0]);
	else if (in->form->row->opcode_id == OP_membar || in->form->row->opcode_id == OP_fence)
		return;
	else if (flags & ISA_PURE)
		pure(m, t, in);
	else
		stop(m, INTERPRET_UNKNOWN, in, "%s", in->form->text);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------------ */

static void run_block(struct machine *m)
{
	memset(m->shared_written, 0, SHARED_BYTES);
	for (uint32_t i = 0; i < m->thread_count; i++) {
		struct thread *t = &m->threads[i];
		t->state = RUNNING;
		t->number = i;
		t->depth = 0;
		t->stack_used = 0;
		t->carry = false;
		enter(m, t, m->kernel, NULL);
	}
	for (bool alive = true; alive;) {
		for (uint32_t k = 0; k < m->thread_count; k++) {
			struct thread *t = &m->threads[m->launch->backwards ? m->thread_count - 1 - k : k];
			while (t->state == RUNNING)
				step(m, t);
		}
		bool met = false;
		for (uint32_t first = 0; first < m->thread_count; first += WARP)
			while (meet(m, first))
				met = true;
		alive = met;
		for (uint32_t i = 0; !met && i < m->thread_count; i++)
			alive |= m->threads[i].state != EXITED;
		if (alive && !met)
			release_barrier(m);
	}
}

static void run_grid(struct machine *m)
{
	const uint32_t *grid = m->launch->grid;
	uint32_t count = grid[0] * grid[1] * grid[2];
	for (uint32_t k = 0; k < count; k++) {
		uint32_t i = m->launch->backwards ? count - 1 - k : k;
		m->block[0] = i % grid[0];
		m->block[1] = i / grid[0] % grid[1];
		m->block[2] = i / grid[0] / grid[1];
		run_block(m);
	}
}

enum interpret_result interpret_run(const struct ptx_module *module, const struct ptx_function *kernel,
				    const struct interpret_launch *launch, char *why, size_t why_size)
{
	jmp_buf escape;
	struct machine *m = calloc(1, sizeof *m);
	*m = (struct machine){ .module = module, .kernel = kernel, .launch = launch, .escape = &escape, .why = why, .why_size = why_size };
	m->thread_count = launch->block[0] * launch->block[1] * launch->block[2];
	m->layouts = calloc(module->functions.count + 1, sizeof *m->layouts);
	m->global_memory = calloc(module->variables.count + 1, sizeof *m->global_memory);
	m->shared_memory = aligned_alloc(64, SHARED_BYTES);
	m->threads = calloc(m->thread_count, sizeof *m->threads);
	m->shared_written = malloc(SHARED_BYTES);
	uint8_t *stacks = aligned_alloc(64, (size_t)m->thread_count * 2 * STACK_BYTES);
	for (uint32_t i = 0; i < m->thread_count; i++) {
		m->threads[i].stack = stacks + (size_t)i * 2 * STACK_BYTES;
		m->threads[i].stack_written = m->threads[i].stack + STACK_BYTES;
	}
	if (!setjmp(escape)) {
		place_all(m);
		run_grid(m);
		m->result = INTERPRET_DONE;
	}
	enum interpret_result result = m->result;
	for (size_t i = 0; i < module->functions.count; i++)
		map_fini(&m->layouts[i].offsets);
	for (size_t i = 0; i < module->variables.count; i++)
		free(m->global_memory[i]);
	map_fini(&m->globals);
	map_fini(&m->shared);
	free(m->layouts);
	free(m->global_memory);
	free(m->shared_memory);
	free(m->shared_written);
	free(m->threads);
	free(stacks);
	free(m);
	return result;
}
