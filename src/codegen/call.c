/* Calls that could not be inlined: through pointers and recursive ones. PTX ISA 7.1, 9.7.12.6.
 *
 * A thread that exits in a function returns all the same, to callers that ask whether it has: a byte behind the results tells (IR_GO, IR_GONE).
 *
 * The function called is compiled into the same object in its scalar form (cpu_function_fn), so a kernel with such a call is compiled in
 * the scalar form too. What is called through a pointer may be in another kernel's object: a table of symbols is handed on, its own. Parameters are passed as the bytes of their .param variables, each naturally aligned, in order. A function's
 * address is that of a stub that jumps to it: the same in every kernel of the module. */
#include <stddef.h>

#include "backend/cpu/abi.h"
#include "codegen/emit_call.h"
#include "codegen/state.h"
#include "ir/device_runtime.h"
#include "isa_emit.h"

/* On a GPU symbols are constants of the object. */
static unsigned argument_count(const struct emitter *e)
{
	return e->target->hooks ? 4 : 5;
}

LLVMTypeRef function_type(struct emitter *e)
{
	LLVMTypeRef types[] = { ptr_type(e), int_type(e, 32), ptr_type(e), ptr_type(e), ptr_type(e) };
	return LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, argument_count(e), 0);
}

LLVMValueRef declare_function(struct emitter *e, const struct ptx_function *function)
{
	LLVMValueRef f = LLVMGetNamedFunction(e->module, function->symbol.name);
	return f ? f : LLVMAddFunction(e->module, function->symbol.name, function_type(e));
}

static void need_function(struct emitter_unit *unit, const struct ptx_function *function)
{
	if (map_get(&unit->function_numbers, function->symbol.name))
		return;
	vec_push(&unit->functions, function);
	map_put(&unit->function_numbers, function->symbol.name, (void *)(uintptr_t)unit->functions.count);
}

/* ---- functions that a pointer may lead to ------------------------------------------------------------------------------ */

static void add_if_function(struct emitter_unit *unit, const struct ptx_symbol *symbol)
{
	if (symbol && symbol->kind == PTX_SYMBOL_FUNCTION) {
		const struct ptx_function *function = (const struct ptx_function *)symbol;
		if (!function->is_entry && !function->is_declaration)
			need_function(unit, function);
	}
}

static void add_from_variables(struct emitter_unit *unit, const struct ptx_module *module)
{
	for (size_t i = 0; i < module->variables.count; i++) {
		const struct ptx_variable *variable = module->variables.data[i];
		for (uint32_t j = 0; j < variable->initial_count; j++)
			if (variable->initial[j].symbol)
				add_if_function(unit, map_get(&module->symbols, variable->initial[j].symbol->name));
	}
}

void add_pointed_functions(struct emitter_unit *unit, const struct ptx_module *module)
{
	add_from_variables(unit, module);
	for (size_t i = 0; i < module->functions.count; i++) {
		const struct ptx_function *function = module->functions.data[i];
		for (uint32_t j = 0; j < function->instruction_count; j++) {
			const struct ptx_instruction *in = &function->instructions[j];
			for (unsigned o = 0; o < in->operand_count && !(in->form->row->flags & ISA_CALL); o++)
				if (in->operands[o].kind == PTX_OP_SYMBOL)
					add_if_function(unit, map_get(&module->symbols, in->operands[o].symbol->name));
		}
	}
}

/* ---- parameters -------------------------------------------------------------------------------------------------------------- */

static uint64_t place(uint64_t *end, const struct ptx_variable *variable)
{
	uint64_t at = align_up(*end, variable->align ? variable->align : 1);
	*end = at + variable->size;
	return at;
}

/* A formal's place among those of the function being compiled. */
static bool formal_offset(const struct ptx_variable *const *formals, size_t count, const struct ptx_variable *variable, uint64_t *offset)
{
	uint64_t end = 0;
	for (size_t i = 0; i < count; i++) {
		*offset = place(&end, formals[i]);
		if (formals[i] == variable)
			return true;
	}
	return false;
}

LLVMValueRef parameter_address(struct emitter *e, const struct ptx_variable *variable)
{
	const struct ptx_function *function = e->ir->kernel;
	uint64_t offset = variable->offset;
	LLVMValueRef base = e->state->parameters;
	if (!function->is_entry &&
	    !formal_offset((const struct ptx_variable *const *)function->parameters.data, function->parameters.count, variable, &offset)) {
		formal_offset((const struct ptx_variable *const *)function->results.data, function->results.count, variable, &offset);
		base = e->state->results;
	}
	return LLVMBuildAdd(e->b, LLVMBuildPtrToInt(e->b, base, int_type(e, 64), ""), LLVMConstInt(int_type(e, 64), offset, 0), "");
}

/* ---- the call ------------------------------------------------------------------------------------------------------------------ */

struct call {
	const struct ptx_operand *results, *target, *parameters;
};

static struct call read_call(const struct ptx_instruction *in)
{
	struct call call = { 0 };
	unsigned i = 0;
	if (in->operand_count > 1 && in->operands[0].kind == PTX_OP_LIST)
		call.results = &in->operands[i++];
	call.target = &in->operands[i++];
	if (i < in->operand_count && in->operands[i].kind == PTX_OP_LIST)
		call.parameters = &in->operands[i];
	return call;
}

static const struct ptx_variable *param_variable(const struct ptx_operand *op)
{
	return op->kind == PTX_OP_SYMBOL && op->symbol->kind == PTX_SYMBOL_VARIABLE ? (const struct ptx_variable *)op->symbol : NULL;
}

/* Host address of a .param variable of this thread. */
static LLVMValueRef variable_pointer(struct emitter *e, const struct ptx_operand *op)
{
	const struct ir_object *object = ir_find_object(e->ir, e->inst->instance, param_variable(op));
	LLVMValueRef a = value_of(e, op, PTX_U64);
	if (e->target->hooks && object)
		a = e->target->hooks->to_generic(e, PTX_SPACE_LOCAL, a);
	else if (object)
		a = LLVMBuildAdd(e->b, a, local_window(e), "");
	return LLVMBuildIntToPtr(e->b, a, ptr_type(e), "");
}

static LLVMValueRef list_buffer(struct emitter *e, const struct ptx_operand *list, uint64_t *end)
{
	*end = 0;
	for (unsigned i = 0; list && i < list->part_count; i++) {
		if (param_variable(&list->parts[i]))
			place(end, param_variable(&list->parts[i]));
		else
			unsupported(e, "a register as a parameter of a call that is not inlined");
	}
	return entry_alloca(e, LLVMArrayType2(int_type(e, 8), *end + 1), "call");
}

static LLVMValueRef byte_at(struct emitter *e, LLVMValueRef buffer, uint64_t offset)
{
	LLVMValueRef at = LLVMConstInt(int_type(e, 64), offset, 0);
	return LLVMBuildGEP2(e->b, int_type(e, 8), buffer, &at, 1, "");
}

/* Copies the variables of a list into their buffer, or out of it. */
static void pass_list(struct emitter *e, const struct ptx_operand *list, LLVMValueRef buffer, bool in)
{
	uint64_t end = 0;
	for (unsigned i = 0; list && !e->state->failed && i < list->part_count; i++) {
		const struct ptx_variable *variable = param_variable(&list->parts[i]);
		LLVMValueRef there = byte_at(e, buffer, place(&end, variable));
		LLVMValueRef here = variable_pointer(e, &list->parts[i]), size = LLVMConstInt(int_type(e, 64), variable->size, 0);
		LLVMBuildMemCpy(e->b, in ? there : here, 1, in ? here : there, 1, size);
	}
}

static bool symbol_of_function(const struct ptx_operand *target)
{
	return target->kind == PTX_OP_SYMBOL && target->symbol->kind == PTX_SYMBOL_FUNCTION;
}

static LLVMValueRef call_target(struct emitter *e, const struct ptx_operand *target)
{
	if (symbol_of_function(target)) {
		const struct ptx_symbol *symbol = map_get(&e->ir->module->symbols, target->symbol->name);
		need_function(e->state->unit, (const struct ptx_function *)(symbol ? symbol : target->symbol));
		return declare_function(e, (const struct ptx_function *)(symbol ? symbol : target->symbol));
	}
	e->state->unit->calls_pointers = true;
	return LLVMBuildIntToPtr(e->b, value_of(e, target, PTX_U64), ptr_type(e), "");
}

/* On a GPU whose kernels are objects of their own a function's address is what the back end says, and no place to go to: it is compared with
 * those of all functions that it can be. */
static void call_one_of(struct emitter *e, LLVMValueRef address, LLVMValueRef *args)
{
	struct emitter_unit *unit = e->state->unit;
	LLVMBasicBlockRef done = new_block(e, "called");
	add_pointed_functions(unit, e->ir->module);
	for (size_t i = 0; i < unit->functions.count; i++) {
		const struct ptx_function *function = unit->functions.data[i];
		LLVMBasicBlockRef then = new_block(e, "call"), next = new_block(e, "next");
		LLVMValueRef is_it = LLVMBuildICmp(e->b, LLVMIntEQ, address, symbol_address(e, &function->symbol), "");
		LLVMBuildCondBr(e->b, is_it, then, next);
		LLVMPositionBuilderAtEnd(e->b, then);
		LLVMBuildCall2(e->b, function_type(e), declare_function(e, function), args, argument_count(e), "");
		LLVMBuildBr(e->b, done);
		LLVMPositionBuilderAtEnd(e->b, next);
	}
	LLVMTypeRef i32 = int_type(e, 32), types[] = { i32, i32 };
	LLVMValueRef nowhere[] = { e->first_thread, LLVMConstInt(i32, 700, false) }; /* CUDA_ERROR_ILLEGAL_ADDRESS */
	call_service(e, offsetof(struct cpu_services, trap), LLVMVoidTypeInContext(e->context), types, nowhere, 2);
	LLVMBuildBr(e->b, done);
	LLVMPositionBuilderAtEnd(e->b, done);
}

void emit_call(struct emitter *e, const struct ptx_instruction *in)
{
	struct call call = read_call(in);
	const struct ptx_symbol *symbol = NULL;
	if (call.target->kind == PTX_OP_SYMBOL)
		symbol = map_get(&e->ir->module->symbols, call.target->symbol->name);
	if (symbol && symbol->kind == PTX_SYMBOL_FUNCTION &&
	    (((const struct ptx_function *)symbol)->is_declaration || ir_device_call(symbol->name) >= 0)) {
		if (!emit_system_call(e, in, symbol->name))
			unsupported(e, "call of '%s', which nothing defines", symbol->name);
		return;
	}
	uint64_t end;
	LLVMValueRef parameters = list_buffer(e, call.parameters, &end), results = list_buffer(e, call.results, &end);
	if (e->ir->exits_in_calls) {
		e->state->gone = byte_at(e, results, end);
		LLVMBuildStore(e->b, LLVMConstNull(int_type(e, 8)), e->state->gone);
	}
	pass_list(e, call.parameters, parameters, true);
	LLVMValueRef args[] = { flat_pointer(e, e->block), e->first_thread, parameters, results, e->state->symbols };
	if (e->target->hooks && !symbol_of_function(call.target))
		call_one_of(e, value_of(e, call.target, PTX_U64), args);
	else
		LLVMBuildCall2(e->b, function_type(e), call_target(e, call.target), args, argument_count(e), "");
	pass_list(e, call.results, results, false);
}

void emit_exit_op(struct emitter *e)
{
	LLVMTypeRef byte = int_type(e, 8);
	uint64_t end = 0;
	if (e->inst->op == IR_GONE) {
		LLVMValueRef gone = LLVMBuildLoad2(e->b, byte, e->state->gone, "");
		e->state->values[e->inst->defs[0].value].uniform = LLVMBuildICmp(e->b, LLVMIntNE, gone, LLVMConstNull(byte), "gone");
		return;
	}
	for (size_t i = 0; i < e->ir->kernel->results.count; i++)
		place(&end, e->ir->kernel->results.data[i]);
	LLVMBuildStore(e->b, LLVMConstInt(byte, 1, false), byte_at(e, e->state->results, end));
}
