/* From a parsed kernel to basic blocks: functions that it calls are inlined (a fresh copy of their registers and
 * objects each time), control instructions become block ends, and parameters of calls that are only read
 * and written at fixed offsets become registers.
 *
 * PTX ISA 9.7.12 (control flow), 5.1.6 (parameter space), 7.1 (calling convention). */
#include "ir/flatten.h"

#include "ir/builtin.h"
#include "ir/device_runtime.h"

#include <inttypes.h>
#include <stdlib.h>

const struct ptx_operand ir_carry_operand = { .kind = PTX_OP_REGISTER };
const struct ptx_operand ir_stack_operand = { .kind = PTX_OP_REGISTER };
const struct ptx_operand ir_slot_operand = { .kind = PTX_OP_REGISTER };

/* A kernel with everything inlined that is larger than this is not one that anybody wrote. */
enum {
	MAX_INSTANCES = 20000,
	MAX_DEPTH = 200,
	STACK_BYTES = 32 << 10,       /* a thread's, for alloca */
	CALLED_STACK_BYTES = 4 << 10, /* of a function that is called: on the stack of the host's thread */
};

static uint32_t add_variable(struct flatten *f, enum ptx_type type)
{
	vec_push(&f->types, type);
	return (uint32_t)f->types.count - 1;
}

/* Registers of an instance are consecutive variables; a vector register takes one for each component. */
static void add_registers(struct flatten *f, struct instance *instance)
{
	const struct ptx_function *function = instance->function;
	instance->first = arena_array(f->func->arena, uint32_t, function->registers.count + 1);
	for (size_t i = 0; i < function->registers.count; i++) {
		const struct ptx_register *reg = function->registers.data[i];
		instance->first[reg->index] = (uint32_t)f->types.count;
		for (unsigned v = 0; v < (reg->vector ? reg->vector : 1); v++)
			add_variable(f, reg->type);
	}
}

static uint32_t variable_of(struct flatten *f, uint32_t instance, const struct ptx_operand *op)
{
	uint32_t first = f->instances.data[instance]->first[op->reg->index];
	return first + (op->component > 0 ? (uint32_t)op->component : 0);
}

static uint32_t new_block(struct flatten *f)
{
	vec_push(&f->func->blocks, ((struct ir_block){ .condition_variable = IR_NONE, .condition = IR_NONE, .loop = IR_NONE }));
	return (uint32_t)f->func->blocks.count - 1;
}

static struct ir_block *block_at(struct flatten *f, uint32_t block)
{
	return &f->func->blocks.data[block];
}

static void end_block(struct flatten *f, uint32_t block, enum ir_end end, const uint32_t *succs, uint32_t count,
		      struct ptx_location location)
{
	struct ir_block *b = block_at(f, block);
	b->end = end;
	b->succs = arena_array(f->func->arena, uint32_t, count ? count : 1);
	if (count)
		memcpy(b->succs, succs, count * sizeof *succs);
	b->succ_count = count;
	b->location = location;
}

static void jump(struct flatten *f, uint32_t from, uint32_t to, struct ptx_location location)
{
	end_block(f, from, IR_END_JUMP, &to, 1, location);
}

/* ---- objects ------------------------------------------------------------------------------------- */

static uint32_t object_hash(uint32_t instance, const struct ptx_variable *variable)
{
	uint64_t key[2] = { instance, (uintptr_t)variable };
	return (uint32_t)hash_bytes(key, sizeof key, 0);
}

static uint32_t *object_slot(struct flatten *f, uint32_t instance, const struct ptx_variable *variable)
{
	uint32_t mask = f->object_table_size - 1;
	for (uint32_t i = object_hash(instance, variable) & mask;; i = (i + 1) & mask) {
		uint32_t *slot = &f->object_table[i];
		if (*slot == IR_NONE)
			return slot;
		const struct object_key *key = &f->object_keys.data[*slot];
		if (key->instance == instance && key->variable == variable)
			return slot;
	}
}

static void object_table_grow(struct flatten *f)
{
	if ((f->object_keys.count + 1) * 2 <= f->object_table_size)
		return;
	f->object_table_size = f->object_table_size ? f->object_table_size * 2 : 64;
	free(f->object_table);
	f->object_table = malloc(f->object_table_size * sizeof *f->object_table);
	memset(f->object_table, 0xff, f->object_table_size * sizeof *f->object_table);
	for (uint32_t i = 0; i < f->object_keys.count; i++)
		*object_slot(f, f->object_keys.data[i].instance, f->object_keys.data[i].variable) = i;
}

static void bind_object(struct flatten *f, uint32_t instance, const struct ptx_variable *variable, uint32_t object)
{
	object_table_grow(f);
	*object_slot(f, instance, variable) = (uint32_t)f->object_keys.count;
	vec_push(&f->object_keys, ((struct object_key){ instance, variable, object }));
}

/* Of the kernel, or of the function that is compiled to be called: its parameters and results are the caller's memory. */
static bool is_kernel_parameter(const struct flatten *f, const struct ptx_variable *variable)
{
	const struct ptx_function *kernel = f->func->kernel;
	for (size_t i = 0; i < kernel->parameters.count; i++)
		if (kernel->parameters.data[i] == variable)
			return true;
	for (size_t i = 0; i < kernel->results.count; i++)
		if (kernel->results.data[i] == variable)
			return true;
	return false;
}

/* The object that a variable named in this instance stands for; IR_NONE for one that is not the thread's or block's own. */
static uint32_t object_of(struct flatten *f, uint32_t instance, const struct ptx_variable *variable)
{
	if (variable->space == PTX_SPACE_SHARED || variable->space == PTX_SPACE_SHARED_CLUSTER)
		instance = IR_NONE; /* one for the block, however often the function is inlined */
	else if (variable->space != PTX_SPACE_LOCAL && (variable->space != PTX_SPACE_PARAM || is_kernel_parameter(f, variable)))
		return IR_NONE;
	else if (!variable->function)
		instance = IR_NONE;
	object_table_grow(f);
	uint32_t *slot = object_slot(f, instance, variable);
	if (*slot != IR_NONE)
		return f->object_keys.data[*slot].object;
	uint32_t object = (uint32_t)f->func->objects.count;
	vec_push(&f->func->objects, ((struct ir_object){ .variable = variable, .instance = instance, .offset = UINT64_MAX,
							  .promoted = variable->space == PTX_SPACE_PARAM }));
	bind_object(f, instance, variable, object);
	return object;
}

const struct ir_object *ir_find_object(const struct ir_func *func, uint32_t instance, const struct ptx_variable *variable)
{
	struct flatten *f = func->flatten;
	if (variable->space == PTX_SPACE_SHARED || variable->space == PTX_SPACE_SHARED_CLUSTER || !variable->function)
		instance = IR_NONE;
	if (!f->object_table_size)
		return NULL;
	uint32_t *slot = object_slot(f, instance, variable);
	return *slot == IR_NONE ? NULL : &func->objects.data[f->object_keys.data[*slot].object];
}

/* ---- uses and definitions ------------------------------------------------------------------------- */

struct collect {
	struct flatten *f;
	uint32_t instance;
	VEC(struct ir_use) uses;
	VEC(struct ir_def) defs;
};

static void collect_operand(struct collect *c, const struct ptx_operand *op, bool is_result)
{
	switch (op->kind) {
	case PTX_OP_REGISTER: {
		uint32_t variable = variable_of(c->f, c->instance, op);
		if (is_result)
			vec_push(&c->defs, ((struct ir_def){ .operand = op, .value = variable, .old = IR_NONE }));
		else
			vec_push(&c->uses, ((struct ir_use){ .operand = op, .value = variable }));
		break;
	}
	case PTX_OP_ADDRESS:
	case PTX_OP_TEXTURE:
		is_result = false; /* [d] is read, whatever is done to the memory there */
		/* fallthrough */
	case PTX_OP_VECTOR:
	case PTX_OP_LIST:
	case PTX_OP_PAIR:
		for (unsigned i = 0; i < op->part_count; i++)
			collect_operand(c, &op->parts[i], is_result);
		break;
	case PTX_OP_SYMBOL:
		if (op->symbol->kind == PTX_SYMBOL_VARIABLE)
			object_of(c->f, c->instance, (const struct ptx_variable *)op->symbol);
		break;
	default:
		break;
	}
}

static bool carry_in(const struct ptx_instruction *in)
{
	unsigned op = in->form->row->opcode_id;
	return op == OP_addc || op == OP_subc || op == OP_madc;
}

/* alloca, stacksave and stackrestore read or set the height of the stack. */
static bool reads_stack(const struct ptx_instruction *in)
{
	return in->form->row->opcode_id == OP_alloca || in->form->row->opcode_id == OP_stacksave;
}

static bool sets_stack(const struct ptx_instruction *in)
{
	return in->form->row->opcode_id == OP_alloca || in->form->row->opcode_id == OP_stackrestore;
}

static struct ir_inst *finish_inst(struct flatten *f, uint32_t block, struct collect *c, struct ir_inst inst,
				   const struct ptx_register *guard)
{
	struct arena *arena = f->func->arena;
	if (guard) {
		struct ptx_operand op = { .reg = guard, .component = -1 };
		vec_push(&c->uses, ((struct ir_use){ .value = variable_of(f, c->instance, &op) }));
	}
	inst.instance = c->instance;
	inst.use_count = (uint16_t)c->uses.count;
	inst.def_count = (uint16_t)c->defs.count;
	inst.uses = arena_array(arena, struct ir_use, c->uses.count + 1);
	inst.defs = arena_array(arena, struct ir_def, c->defs.count + 1);
	for (size_t i = 0; i < c->uses.count; i++)
		inst.uses[i] = c->uses.data[i];
	for (size_t i = 0; i < c->defs.count; i++) {
		inst.defs[i] = c->defs.data[i];
		if (guard)
			inst.defs[i].old = inst.defs[i].value; /* a variable until renaming */
	}
	c->uses.count = c->defs.count = 0;
	struct ir_block *b = block_at(f, block);
	vec_push(&b->insts, inst);
	return &b->insts.data[b->insts.count - 1];
}

static void add_ptx(struct flatten *f, struct collect *c, uint32_t block, const struct ptx_instruction *in, bool keep_guard)
{
	const struct isa_row *row = in->form->row;
	for (unsigned i = 0; i < in->operand_count; i++) {
		bool is_result = i < row->operand_count && row->operands[i].is_result;
		if (row->flags & ISA_CALL) /* (results), target, (parameters): the list before the target is written */
			is_result = i == 0 && in->operands[0].kind == PTX_OP_LIST && in->operand_count > 1;
		collect_operand(c, &in->operands[i], is_result);
	}
	if (carry_in(in))
		vec_push(&c->uses, ((struct ir_use){ .operand = &ir_carry_operand, .value = f->carry }));
	if (ptx_has(in->form, MOD_cc))
		vec_push(&c->defs, ((struct ir_def){ .operand = &ir_carry_operand, .value = f->carry, .old = IR_NONE }));
	uint32_t stack = f->instances.data[c->instance]->stack;
	if (reads_stack(in))
		vec_push(&c->uses, ((struct ir_use){ .operand = &ir_stack_operand, .value = stack }));
	if (sets_stack(in))
		vec_push(&c->defs, ((struct ir_def){ .operand = &ir_stack_operand, .value = stack, .old = IR_NONE }));
	f->uses_stack |= reads_stack(in) || sets_stack(in);
	f->func->flags_used |= row->flags;
	finish_inst(f, block, c, (struct ir_inst){ .op = IR_PTX, .ptx = in }, keep_guard ? in->guard : NULL);
}

/* def = source, both variables' operands or a constant. */
static void add_copy(struct flatten *f, struct collect *c, uint32_t block, uint32_t to, const struct ptx_operand *source,
		     uint32_t source_instance, enum ptx_type type)
{
	struct ir_inst inst = { .op = IR_COPY, .source = source, .source_type = type };
	if (source->kind == PTX_OP_REGISTER)
		vec_push(&c->uses, ((struct ir_use){ .operand = source, .value = variable_of(f, source_instance, source) }));
	vec_push(&c->defs, ((struct ir_def){ .operand = &ir_slot_operand, .value = to, .old = IR_NONE }));
	finish_inst(f, block, c, inst, NULL);
}

/* ---- control flow ----------------------------------------------------------------------------------- */

struct walk { /* one function instance being flattened */
	struct flatten *f;
	struct collect collect;
	const struct ptx_function *function;
	uint32_t instance, depth;
	uint32_t *block_at; /* block that begins at an instruction, IR_NONE: none does */
	uint32_t exit, done; /* where `exit` and `ret` go */
};

static bool flatten_function(struct flatten *f, uint32_t instance, uint32_t entry, uint32_t done, uint32_t depth);

static void mark_leaders(struct walk *w)
{
	const struct ptx_function *function = w->function;
	w->block_at = malloc((function->instruction_count + 1) * sizeof *w->block_at);
	memset(w->block_at, 0xff, (function->instruction_count + 1) * sizeof *w->block_at);
	for (size_t i = 0; i < function->labels.count; i++)
		if (function->labels.data[i]->defined)
			w->block_at[function->labels.data[i]->at] = IR_NONE - 1;
	for (uint32_t i = 0; i < function->instruction_count; i++) {
		const struct ptx_instruction *in = &function->instructions[i];
		if (in->form->row->flags & ISA_BRANCH)
			w->block_at[i + 1] = IR_NONE - 1;
	}
	for (uint32_t i = 0; i <= function->instruction_count; i++)
		if (w->block_at[i] == IR_NONE - 1)
			w->block_at[i] = new_block(w->f);
}

static void branch(struct walk *w, uint32_t from, const struct ptx_instruction *in, uint32_t taken, uint32_t next)
{
	if (!in->guard) {
		jump(w->f, from, taken, in->location);
		return;
	}
	uint32_t succs[2] = { taken, next };
	end_block(w->f, from, IR_END_BRANCH, succs, 2, in->location);
	struct ptx_operand op = { .reg = in->guard, .component = -1 };
	struct ir_block *b = block_at(w->f, from);
	b->condition_variable = variable_of(w->f, w->instance, &op);
	b->negated = in->guard_negated;
}

/* A guarded instruction that ends or splits a block runs in a block of its own: returns that block. */
static uint32_t guarded_block(struct walk *w, uint32_t from, const struct ptx_instruction *in, uint32_t next)
{
	if (!in->guard)
		return from;
	uint32_t own = new_block(w->f);
	branch(w, from, in, own, next);
	return own;
}

static const struct ptx_label *label_of(const struct ptx_operand *op)
{
	return (const struct ptx_label *)op->symbol;
}

static bool flatten_switch(struct walk *w, uint32_t from, const struct ptx_instruction *in, uint32_t next)
{
	struct flatten *f = w->f;
	uint32_t own = guarded_block(w, from, in, next);
	const struct ptx_targets *targets = (const struct ptx_targets *)in->operands[1].symbol;
	uint32_t *succs = arena_array(f->func->arena, uint32_t, targets->count + 1);
	for (uint32_t i = 0; i < targets->count; i++)
		succs[i] = w->block_at[((const struct ptx_label *)targets->targets[i])->at];
	if (in->operands[0].kind == PTX_OP_IMMEDIATE) {
		uint32_t to = in->operands[0].bits < targets->count ? succs[in->operands[0].bits] : w->exit;
		jump(f, own, to, in->location);
		return true;
	}
	end_block(f, own, IR_END_SWITCH, succs, targets->count, in->location);
	block_at(f, own)->condition_variable = variable_of(f, w->instance, &in->operands[0]);
	return true;
}

static bool recursive(const struct flatten *f, uint32_t instance, const struct ptx_function *function)
{
	for (; instance != IR_NONE; instance = f->instances.data[instance]->parent)
		if (f->instances.data[instance]->function == function)
			return true;
	return false;
}

static uint32_t new_instance(struct flatten *f, uint32_t parent, const struct ptx_function *function)
{
	struct instance *instance = arena_new(f->func->arena, struct instance);
	instance->function = function;
	instance->parent = parent;
	add_registers(f, instance);
	instance->stack = add_variable(f, PTX_U64);
	vec_push(&f->instances, instance);
	return (uint32_t)f->instances.count - 1;
}

static uint32_t register_named(struct flatten *f, uint32_t instance, const char *name)
{
	const struct ptx_function *function = f->instances.data[instance]->function;
	for (size_t i = 0; i < function->registers.count; i++)
		if (!strcmp(function->registers.data[i]->name, name))
			return f->instances.data[instance]->first[function->registers.data[i]->index];
	return IR_NONE;
}

/* Formal `formal` of instance `callee` becomes the actual `actual` of `caller`. A .param actual is the same object; a
 * register or constant is copied, before the call for parameters and after it for results. */
static void bind_parameter(struct walk *w, uint32_t callee, const struct ptx_variable *formal, const struct ptx_operand *actual,
			   bool is_result, uint32_t block)
{
	struct flatten *f = w->f;
	if (actual->kind == PTX_OP_SYMBOL && actual->symbol->kind == PTX_SYMBOL_VARIABLE && formal->space == PTX_SPACE_PARAM) {
		uint32_t object = object_of(f, w->instance, (const struct ptx_variable *)actual->symbol);
		if (object != IR_NONE) {
			bind_object(f, callee, formal, object);
			return;
		}
	}
	uint32_t variable;
	if (formal->space == PTX_SPACE_REG) {
		variable = register_named(f, callee, formal->symbol.name);
	} else { /* a .param formal with a register actual: its one slot is that register's copy */
		uint32_t object = object_of(f, callee, formal);
		variable = add_variable(f, formal->type);
		vec_push(&f->slots, ((struct param_slot){ object, 0, ptx_type_bits(formal->type), variable }));
	}
	if (variable == IR_NONE)
		return;
	if (is_result)
		vec_push(&f->result_copies, ((struct result_copy){ variable, actual, formal->type }));
	else
		add_copy(f, &w->collect, block, variable, actual, w->instance, formal->type);
}

struct call_parts {
	const struct ptx_operand *results, *target, *parameters;
};

static struct call_parts call_parts(const struct ptx_instruction *in)
{
	struct call_parts parts = { 0 };
	unsigned i = 0;
	if (in->operand_count > 1 && in->operands[0].kind == PTX_OP_LIST)
		parts.results = &in->operands[i++];
	parts.target = &in->operands[i++];
	if (i < in->operand_count && in->operands[i].kind == PTX_OP_LIST)
		parts.parameters = &in->operands[i];
	return parts;
}

static const struct ptx_function *callee_of(const struct flatten *f, const struct ptx_operand *target)
{
	if (target->kind != PTX_OP_SYMBOL || target->symbol->kind != PTX_SYMBOL_FUNCTION)
		return NULL;
	const struct ptx_function *callee = (const struct ptx_function *)target->symbol;
	for (int hops = 0; callee->alias_of && hops < 16; hops++)
		callee = callee->alias_of;
	if (callee->is_declaration) { /* defined further down */
		const struct ptx_symbol *symbol = map_get(&f->func->module->symbols, callee->symbol.name);
		if (symbol && symbol->kind == PTX_SYMBOL_FUNCTION)
			callee = (const struct ptx_function *)symbol;
	}
	const struct ptx_function *builtin = callee->is_declaration ? ir_builtin(callee->symbol.name) : NULL;
	return builtin ? builtin : callee;
}

static bool takes_stack(const struct ptx_function *function)
{
	for (uint32_t i = 0; i < function->instruction_count; i++)
		if (sets_stack(&function->instructions[i]))
			return true;
	return false;
}

/* May a thread be gone when a function of the module returns? */
static bool functions_exit(const struct ptx_module *module)
{
	for (size_t i = 0; i < module->functions.count; i++) {
		const struct ptx_function *function = module->functions.data[i];
		for (uint32_t k = 0; !function->is_entry && k < function->instruction_count; k++) {
			unsigned opcode = function->instructions[k].form->row->opcode_id;
			if (opcode == OP_exit || opcode == OP_trap)
				return true;
		}
	}
	return false;
}

/* Behind a call that is one: the thread goes the way of `exit` if it has exited in there. Returns the block that goes on. */
static uint32_t leave_if_gone(struct walk *w, uint32_t from, const struct ptx_instruction *in)
{
	uint32_t behind = new_block(w->f), gone = add_variable(w->f, PTX_PRED), succs[2] = { w->exit, behind };
	vec_push(&w->collect.defs, ((struct ir_def){ .operand = &ir_slot_operand, .value = gone, .old = IR_NONE }));
	finish_inst(w->f, from, &w->collect, (struct ir_inst){ .op = IR_GONE, .ptx = in }, NULL);
	end_block(w->f, from, IR_END_BRANCH, succs, 2, in->location);
	block_at(w->f, from)->condition_variable = gone;
	w->f->func->exits_in_calls = true;
	return behind;
}

/* Inlines the call in `from`; control goes on in `*current`. */
static bool flatten_call(struct walk *w, uint32_t from, const struct ptx_instruction *in, uint32_t *current)
{
	struct flatten *f = w->f;
	struct call_parts parts = call_parts(in);
	const struct ptx_function *callee = callee_of(f, parts.target);
	bool system = callee && (callee->is_declaration || ir_device_call(callee->symbol.name) >= 0);
	bool real = !system && (!callee || recursive(f, w->instance, callee) || w->depth > MAX_DEPTH || f->instances.count > MAX_INSTANCES);
	f->func->calls |= real;
	if (system || real) { /* into the system, through a pointer, or recursive: the emitter's */
		uint32_t next = in->guard ? new_block(f) : IR_NONE;
		uint32_t own = guarded_block(w, from, in, next);
		add_ptx(f, &w->collect, own, in, false);
		if (real && functions_exit(f->func->module))
			own = leave_if_gone(w, own, in);
		if (in->guard)
			jump(f, own, next, in->location);
		*current = in->guard ? next : own;
		return true;
	}
	uint32_t next = new_block(f);
	uint32_t own = guarded_block(w, from, in, next);
	uint32_t instance = new_instance(f, w->instance, callee);
	size_t first_copy = f->result_copies.count;
	for (size_t i = 0; i < callee->parameters.count && parts.parameters && i < parts.parameters->part_count; i++)
		bind_parameter(w, instance, callee->parameters.data[i], &parts.parameters->parts[i], false, own);
	for (size_t i = 0; i < callee->results.count && parts.results && i < parts.results->part_count; i++)
		bind_parameter(w, instance, callee->results.data[i], &parts.results->parts[i], true, own);
	uint32_t entry = new_block(f), after = new_block(f);
	if (takes_stack(callee)) {
		vec_push(&w->collect.uses, ((struct ir_use){ .operand = &ir_slot_operand, .value = f->instances.data[w->instance]->stack }));
		vec_push(&w->collect.defs, ((struct ir_def){ .operand = &ir_slot_operand, .value = f->instances.data[instance]->stack, .old = IR_NONE }));
		finish_inst(f, own, &w->collect, (struct ir_inst){ .op = IR_COPY, .source = &ir_slot_operand, .source_type = PTX_U64 }, NULL);
	} else {
		f->instances.data[instance]->stack = f->instances.data[w->instance]->stack;
	}
	jump(f, own, entry, in->location);
	if (!flatten_function(f, instance, entry, after, w->depth + 1))
		return false;
	for (size_t i = first_copy; i < f->result_copies.count; i++) {
		struct result_copy copy = f->result_copies.data[i];
		if (copy.actual->kind != PTX_OP_REGISTER)
			continue;
		vec_push(&w->collect.uses, ((struct ir_use){ .operand = &ir_slot_operand, .value = copy.variable }));
		uint32_t actual = variable_of(f, w->instance, copy.actual);
		vec_push(&w->collect.defs, ((struct ir_def){ .operand = copy.actual, .value = actual, .old = IR_NONE }));
		finish_inst(f, after, &w->collect, (struct ir_inst){ .op = IR_COPY, .source = &ir_slot_operand, .source_type = copy.type }, NULL);
	}
	f->result_copies.count = first_copy;
	jump(f, after, next, in->location);
	*current = next;
	return true;
}

/* Handles one control instruction in `current`; false on error. Leaves in *current the block that goes on,
 * IR_NONE where none does (the next leader does). */
static bool flatten_control(struct walk *w, uint32_t *current, const struct ptx_instruction *in, uint32_t next)
{
	struct flatten *f = w->f;
	uint32_t from = *current;
	*current = IR_NONE;
	switch (in->form->row->opcode_id) {
	case OP_bra: {
		const struct ptx_label *label = label_of(&in->operands[0]);
		branch(w, from, in, w->block_at[label->at], next);
		return true;
	}
	case OP_brx:
		return flatten_switch(w, from, in, next);
	case OP_ret:
		branch(w, from, in, w->done, next);
		return true;
	case OP_exit:
		branch(w, from, in, w->exit, next);
		return true;
	default: { /* trap and its like: run, then the thread is gone */
		uint32_t own = guarded_block(w, from, in, next);
		add_ptx(f, &w->collect, own, in, false);
		jump(f, own, w->exit, in->location);
		return true;
	}
	}
}

/* ---- what all threads read behind a barrier ---- */

static bool is_fixed_shared(const struct ptx_instruction *in, unsigned operand)
{
	const struct ptx_operand *op = &in->operands[operand];
	return op->kind == PTX_OP_ADDRESS && op->parts[0].kind == PTX_OP_SYMBOL;
}

static bool is_load_of_all(const struct ptx_instruction *in)
{
	return in->form->row->opcode_id == OP_ld && in->form->space == PTX_SPACE_SHARED && !in->guard && in->operand_count == 2 &&
	       is_fixed_shared(in, 1);
}

static bool may_overwrite(const struct ptx_instruction *in, const struct ptx_instruction *load)
{
	if (!(in->form->row->flags & ISA_WRITES) || in->form->space != PTX_SPACE_SHARED || !in->operand_count)
		return false;
	unsigned at = in->form->row->opcode_id == OP_atom;
	return at >= in->operand_count || !is_fixed_shared(in, at) || in->operands[at].parts[0].symbol == load->operands[1].parts[0].symbol;
}

/* Programs let each thread read a sum at one place behind a barrier and then use that place for the next sum, with no barrier in
 * between: a race, but one that a GPU's warps, which leave a barrier at about the same time, never lose. Here one group of lanes goes on
 * to the next barrier before another has left this one. So the barrier is there once more behind such loads. Returns the last of
 * them; IR_NONE: there is nothing to do. */
static uint32_t last_load_of_all(const struct walk *w, uint32_t barrier)
{
	enum { NEAR = 16 };
	const struct ptx_function *function = w->function;
	const struct ptx_instruction *in = &function->instructions[barrier], *load = NULL;
	uint32_t last = IR_NONE, i = barrier + 1;
	if (w->f->func->options.in_step || in->operand_count != 1 || in->operands[0].kind != PTX_OP_IMMEDIATE || ptx_has(in->form, MOD_arrive))
		return IR_NONE;
	for (; i < function->instruction_count && i < (load ? last : barrier) + NEAR && w->block_at[i] == IR_NONE; i++) {
		in = &function->instructions[i];
		if (is_load_of_all(in)) {
			load = in;
			last = i;
		} else if (!(in->form->row->flags & ISA_PURE) || in->form->row->flags & (ISA_BRANCH | ISA_CALL)) {
			break;
		}
	}
	for (i = last; load && i < function->instruction_count; i++) {
		in = &function->instructions[i];
		if (in->form->row->flags & ISA_BARRIER)
			break;
		if (may_overwrite(in, load))
			return last;
	}
	return IR_NONE;
}

static uint32_t end_at_barrier(struct flatten *f, uint32_t current, const struct ptx_instruction *barrier)
{
	uint32_t behind = new_block(f);
	jump(f, current, behind, barrier->location);
	block_at(f, behind)->after_barrier = true;
	return behind;
}

static bool flatten_function(struct flatten *f, uint32_t instance, uint32_t entry, uint32_t done, uint32_t depth)
{
	struct walk w = { .f = f, .collect = { .f = f, .instance = instance }, .function = f->instances.data[instance]->function,
			  .instance = instance, .depth = depth, .exit = f->exit, .done = done };
	const struct ptx_function *function = w.function;
	mark_leaders(&w);
	uint32_t current = entry, barrier = 0, again = IR_NONE;
	bool ok = true;
	for (uint32_t i = 0; ok && i < function->instruction_count; i++) {
		const struct ptx_instruction *in = &function->instructions[i];
		if (w.block_at[i] != IR_NONE) {
			if (current != IR_NONE)
				jump(f, current, w.block_at[i], in->location);
			current = w.block_at[i];
		}
		if (current == IR_NONE)
			current = new_block(f); /* unreachable: dropped later */
		if (in->form->row->flags & ISA_BRANCH)
			ok = flatten_control(&w, &current, in, w.block_at[i + 1]);
		else if (in->form->row->flags & ISA_CALL)
			ok = flatten_call(&w, current, in, &current);
		else
			add_ptx(f, &w.collect, current, in, true);
		if (in->form->row->flags & ISA_BARRIER && !in->guard) {
			current = end_at_barrier(f, current, in);
			barrier = i;
			again = last_load_of_all(&w, i);
		} else if (i == again) {
			in = &function->instructions[barrier];
			add_ptx(f, &w.collect, current, in, true);
			current = end_at_barrier(f, current, in);
		}
	}
	uint32_t tail = w.block_at[function->instruction_count];
	struct ptx_location end = function->symbol.location;
	if (tail != IR_NONE) {
		if (current != IR_NONE)
			jump(f, current, tail, end);
		current = tail;
	}
	if (current != IR_NONE)
		jump(f, current, done, end); /* falling off the end returns */
	free(w.block_at);
	vec_fini(&w.collect.uses);
	vec_fini(&w.collect.defs);
	return ok;
}

/* ---- parameters of calls as registers ---------------------------------------------------------------- */

/* The .param object and byte offset that an ld.param/st.param names directly; IR_NONE if it does not. */
static uint32_t slot_access(struct flatten *f, const struct ir_inst *inst, unsigned operand, int64_t *offset)
{
	const struct ptx_operand *op = &inst->ptx->operands[operand];
	if (op->kind != PTX_OP_ADDRESS || op->parts[0].kind != PTX_OP_SYMBOL || op->parts[0].symbol->kind != PTX_SYMBOL_VARIABLE)
		return IR_NONE;
	*offset = op->offset + op->parts[0].offset;
	return object_of(f, inst->instance, (const struct ptx_variable *)op->parts[0].symbol);
}

static bool is_slot_move(const struct ir_inst *inst)
{
	unsigned op = inst->ptx->form->row->opcode_id;
	return (op == OP_ld || op == OP_st) && inst->ptx->form->space == PTX_SPACE_PARAM && inst->ptx->operand_count == 2;
}

/* The slot for [offset, offset + bits/8) of an object; a slot that overlaps it otherwise makes the object memory. */
static struct param_slot *find_slot(struct flatten *f, uint32_t object, int64_t offset, unsigned bits)
{
	for (size_t i = 0; i < f->slots.count; i++) {
		struct param_slot *slot = &f->slots.data[i];
		if (slot->object == object && slot->offset == offset && slot->bits == bits)
			return slot;
	}
	return NULL;
}

static bool overlaps_slot(struct flatten *f, uint32_t object, int64_t offset, unsigned bits)
{
	for (size_t i = 0; i < f->slots.count; i++) {
		const struct param_slot *slot = &f->slots.data[i];
		if (slot->object == object && offset < slot->offset + slot->bits / 8 && slot->offset < offset + bits / 8)
			return true;
	}
	return false;
}

static enum ptx_type bits_type(unsigned bits)
{
	return bits == 8 ? PTX_B8 : bits == 16 ? PTX_B16 : bits == 32 ? PTX_B32 : bits == 64 ? PTX_B64 : PTX_B128;
}

static void collect_slots(struct flatten *f, const struct ir_inst *inst)
{
	if (inst->op != IR_PTX)
		return;
	for (unsigned i = 0; i < inst->ptx->operand_count; i++) {
		const struct ptx_operand *op = &inst->ptx->operands[i];
		int64_t offset = 0;
		uint32_t object = slot_access(f, inst, i, &offset);
		if (object != IR_NONE && f->func->objects.data[object].variable->space == PTX_SPACE_PARAM && is_slot_move(inst) && offset >= 0) {
			unsigned bits = ptx_type_bits(inst->ptx->form->types[0]);
			for (unsigned v = 0; v < inst->ptx->form->vector; v++, offset += bits / 8) {
				if (find_slot(f, object, offset, bits))
					continue;
				if (overlaps_slot(f, object, offset, bits))
					f->func->objects.data[object].promoted = false;
				vec_push(&f->slots, ((struct param_slot){ object, offset, bits, add_variable(f, bits_type(bits)) }));
			}
		} else if (object != IR_NONE) {
			f->func->objects.data[object].promoted = false;
		} else if (op->kind == PTX_OP_SYMBOL && op->symbol->kind == PTX_SYMBOL_VARIABLE) {
			object = object_of(f, inst->instance, (const struct ptx_variable *)op->symbol);
			if (object != IR_NONE)
				f->func->objects.data[object].promoted = false; /* its address is taken */
		}
	}
	/* parameters of calls that are not inlined live in memory */
	if (inst->ptx->form->row->flags & ISA_CALL)
		for (unsigned i = 0; i < inst->ptx->operand_count; i++)
			for (unsigned j = 0; inst->ptx->operands[i].kind == PTX_OP_LIST && j < inst->ptx->operands[i].part_count; j++) {
				const struct ptx_operand *op = &inst->ptx->operands[i].parts[j];
				if (op->kind != PTX_OP_SYMBOL || op->symbol->kind != PTX_SYMBOL_VARIABLE)
					continue;
				uint32_t object = object_of(f, inst->instance, (const struct ptx_variable *)op->symbol);
				if (object != IR_NONE)
					f->func->objects.data[object].promoted = false;
			}
}

/* Rewrites the ld.param/st.param at data[at] into copies; the block's list is rebuilt into `out`. */
static bool rewrite_slot_move(struct flatten *f, struct collect *c, uint32_t block, const struct ir_inst *inst)
{
	if (inst->op != IR_PTX || !is_slot_move(inst))
		return false;
	bool load = inst->ptx->form->row->opcode_id == OP_ld;
	int64_t offset = 0;
	uint32_t object = slot_access(f, inst, load ? 1 : 0, &offset);
	if (object == IR_NONE || !f->func->objects.data[object].promoted)
		return false;
	const struct ptx_operand *other = &inst->ptx->operands[load ? 0 : 1];
	enum ptx_type type = inst->ptx->form->types[0];
	c->instance = inst->instance;
	for (unsigned v = 0; v < inst->ptx->form->vector; v++, offset += ptx_type_bits(type) / 8) {
		const struct ptx_operand *part = other->kind == PTX_OP_VECTOR ? &other->parts[v] : other;
		struct param_slot *slot = find_slot(f, object, offset, ptx_type_bits(type));
		if (part->kind == PTX_OP_SINK)
			continue;
		struct ir_inst copy = { .op = IR_COPY, .ptx = inst->ptx, .source = load ? &ir_slot_operand : part, .source_type = type };
		if (load) {
			vec_push(&c->uses, ((struct ir_use){ .operand = &ir_slot_operand, .value = slot->variable }));
			vec_push(&c->defs, ((struct ir_def){ .operand = part, .value = variable_of(f, inst->instance, part), .old = IR_NONE }));
		} else {
			if (part->kind == PTX_OP_REGISTER)
				vec_push(&c->uses, ((struct ir_use){ .operand = part, .value = variable_of(f, inst->instance, part) }));
			vec_push(&c->defs, ((struct ir_def){ .operand = &ir_slot_operand, .value = slot->variable, .old = IR_NONE }));
		}
		finish_inst(f, block, c, copy, inst->ptx->guard);
	}
	return true;
}

static void promote_parameters(struct flatten *f)
{
	struct collect c = { .f = f };
	for (size_t b = 0; b < f->func->blocks.count; b++)
		for (size_t i = 0; i < f->func->blocks.data[b].insts.count; i++)
			collect_slots(f, &f->func->blocks.data[b].insts.data[i]);
	if (!f->slots.count)
		return;
	for (size_t b = 0; b < f->func->blocks.count; b++) {
		struct ir_block *block = &f->func->blocks.data[b];
		struct ir_inst *old = block->insts.data;
		size_t count = block->insts.count;
		memset(&block->insts, 0, sizeof block->insts);
		for (size_t i = 0; i < count; i++)
			if (!rewrite_slot_move(f, &c, (uint32_t)b, &old[i]))
				vec_push(&block->insts, old[i]);
		free(old);
	}
	vec_fini(&c.uses);
	vec_fini(&c.defs);
}

/* ---- memory of the thread and the block ----------------------------------------------------------------- */

static bool is_dynamic(const struct ptx_variable *variable)
{
	return variable->unsized || (variable->linkage == PTX_EXTERN && !variable->size);
}

static bool is_shared(const struct ptx_variable *variable)
{
	return variable->space == PTX_SPACE_SHARED || variable->space == PTX_SPACE_SHARED_CLUSTER;
}

static uint64_t place_shared(struct ir_func *func, const struct ptx_variable *variable)
{
	uint32_t align = variable->align ? variable->align : 1;
	uint64_t offset = align_up(func->shared_bytes, align);
	uint64_t end = offset + variable->size, most = UINT32_C(1) << 31; /* which no block has */
	func->shared_bytes = (uint32_t)(end < most ? end : most);
	func->shared_align = func->shared_align < align ? align : func->shared_align;
	return offset;
}

static void mark_variables(const struct ptx_operand *op, bool *used)
{
	if (op->kind == PTX_OP_SYMBOL && op->symbol->kind == PTX_SYMBOL_VARIABLE && !((const struct ptx_variable *)op->symbol)->function)
		used[((const struct ptx_variable *)op->symbol)->index] = true;
	for (unsigned i = 0; i < op->part_count; i++)
		mark_variables(&op->parts[i], used);
}

static void place_if_static(struct ir_func *func, const struct ptx_variable *variable)
{
	if (!is_shared(variable) || is_dynamic(variable))
		return;
	uint64_t offset = place_shared(func, variable);
	struct ir_object *object = (struct ir_object *)(uintptr_t)ir_find_object(func, IR_NONE, variable);
	if (object)
		object->offset = offset;
}

/* A function that is called by whichever kernel, and each of these, must mean the same by a variable of the block's: those that functions name
 * come first, in the module's order, named here or not. */
static void place_for_calls(struct ir_func *func)
{
	const struct ptx_module *module = func->module;
	if (func->kernel->is_entry && !func->calls)
		return;
	bool *used = arena_array(func->arena, bool, module->variables.count + 1);
	for (size_t i = 0; i < module->functions.count; i++) {
		const struct ptx_function *function = module->functions.data[i];
		for (size_t k = 0; !function->is_entry && k < function->variables.count; k++)
			place_if_static(func, function->variables.data[k]);
		for (uint32_t k = 0; !function->is_entry && k < function->instruction_count; k++)
			for (unsigned o = 0; o < function->instructions[k].operand_count; o++)
				mark_variables(&function->instructions[k].operands[o], used);
	}
	for (size_t i = 0; i < module->variables.count; i++)
		if (used[i])
			place_if_static(func, module->variables.data[i]);
}

static void place_objects(struct ir_func *func)
{
	place_for_calls(func);
	for (int pass = 0; pass < 2; pass++) { /* dynamic shared memory begins where the static part ends */
		for (size_t i = 0; i < func->objects.count; i++) {
			struct ir_object *object = &func->objects.data[i];
			const struct ptx_variable *variable = object->variable;
			uint32_t align = variable->align ? variable->align : 1;
			bool shared = is_shared(variable), dynamic = shared && is_dynamic(variable);
			if (object->promoted || dynamic != (pass == 1) || object->offset != UINT64_MAX)
				continue;
			if (dynamic) {
				object->offset = func->kernel->is_entry ? align_up(func->shared_bytes, 16) : 0;
				object->floats = !func->kernel->is_entry;
			} else if (shared) {
				object->offset = place_shared(func, variable);
			} else {
				object->offset = align_up(func->local_bytes, align < 16 ? 16 : align);
				func->local_bytes = (uint32_t)(object->offset + variable->size);
			}
		}
	}
}

static bool too_large(struct flatten *f)
{
	uint64_t shared = 0, local = 0;
	for (size_t i = 0; i < f->func->objects.count; i++) {
		const struct ptx_variable *variable = f->func->objects.data[i].variable;
		*(variable->space == PTX_SPACE_LOCAL || variable->space == PTX_SPACE_PARAM ? &local : &shared) += variable->size + variable->align;
	}
	if (shared <= UINT32_C(1) << 30 && local <= UINT32_C(1) << 30)
		return false;
	ptx_error(f->diagnostic, f->func->module, f->func->kernel, f->func->kernel->symbol.location,
		  "%s memory of %" PRIu64 " bytes is more than a thread block can have", shared > local ? "shared" : "local",
		  shared > local ? shared : local);
	return true;
}

bool ir_flatten(struct flatten *f, struct ir_func *func, struct ptx_diagnostic *diagnostic)
{
	f->func = func;
	f->diagnostic = diagnostic;
	func->flatten = f;
	f->carry = add_variable(f, PTX_PRED);
	uint32_t entry = new_block(f), exit_block = new_block(f);
	end_block(f, exit_block, IR_END_EXIT, NULL, 0, func->kernel->symbol.location);
	f->exit = exit_block;
	if (!func->kernel->is_entry && functions_exit(func->module)) {
		struct collect none = { .f = f };
		f->exit = new_block(f);
		finish_inst(f, f->exit, &none, (struct ir_inst){ .op = IR_GO }, NULL);
		jump(f, f->exit, exit_block, func->kernel->symbol.location);
	}
	if (!flatten_function(f, new_instance(f, IR_NONE, func->kernel), entry, exit_block, 0))
		return false;
	promote_parameters(f);
	if (too_large(f))
		return false;
	place_objects(func);
	if (f->uses_stack) {
		func->stack_bytes = func->kernel->is_entry ? STACK_BYTES : CALLED_STACK_BYTES;
		func->stack_offset = align_up(func->local_bytes, 16);
		func->local_bytes = func->stack_offset + func->stack_bytes;
	}
	return true;
}

void ir_flatten_fini(struct flatten *f)
{
	vec_fini(&f->types);
	vec_fini(&f->instances);
	vec_fini(&f->slots);
	vec_fini(&f->result_copies);
	vec_fini(&f->object_keys);
	free(f->object_table);
}
