/* System calls of device code: vprintf, malloc, free and others, as nvcc and NVRTC call them. Each lane that takes part calls
 * for itself, in the order of the lanes. Their parameters lie in .param variables, their pointers are generic. */
#include "codegen/emit_call.h"

#include <stddef.h>
#include <string.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/group.h"
#include "codegen/memory.h"
#include "ir/device_runtime.h"

enum { MAX_PARAMETERS = 5 };

struct system_call {
	const char *name;
	uint8_t parameters[MAX_PARAMETERS]; /* bytes of each */
	uint8_t result;                     /* bytes; 0: none */
	size_t service;                     /* offset in struct cpu_services */
};

static const struct system_call system_calls[] = {
	{ "vprintf", { 8, 8 }, 4, offsetof(struct cpu_services, print) },
	{ "malloc", { 8 }, 8, offsetof(struct cpu_services, allocate) },
	{ "free", { 8 }, 0, offsetof(struct cpu_services, release) },
	{ "__assertfail", { 8, 8, 4, 8 }, 0, offsetof(struct cpu_services, assert_fail) },
	{ "cudaGraphSetConditional", { 8, 4 }, 0, offsetof(struct cpu_services, set_conditional) },
	{ "__assert_fail", { 8, 8, 4, 8 }, 0, offsetof(struct cpu_services, assert_fail) },
};

struct lane_call {
	const struct system_call *call;
	struct address parameters[MAX_PARAMETERS], result;
	bool has_result;
};

static LLVMTypeRef bytes_type(struct emitter *e, unsigned bytes)
{
	return LLVMIntTypeInContext(e->context, 8 * bytes);
}

static void call_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct lane_call *c = data;
	LLVMTypeRef types[MAX_PARAMETERS + 1] = { LLVMInt32TypeInContext(e->context) };
	LLVMValueRef arguments[MAX_PARAMETERS + 1];
	unsigned count = 1, number = e->chunk * e->width + lane;
	arguments[0] = LLVMBuildAdd(e->b, e->first_thread, i32_constant(e, number), "");
	for (unsigned i = 0; i < MAX_PARAMETERS && c->call->parameters[i]; i++, count++) {
		types[count] = bytes_type(e, c->call->parameters[i]);
		arguments[count] = LLVMBuildLoad2(e->b, types[count], lane_pointer(e, c->parameters[i], lane), "");
	}
	LLVMTypeRef type = c->call->result ? bytes_type(e, c->call->result) : LLVMVoidTypeInContext(e->context);
	LLVMValueRef r = call_service(e, c->call->service, type, types, arguments, count);
	if (c->has_result)
		LLVMBuildStore(e->b, r, lane_pointer(e, c->result, lane));
}

/* The lists of results and of parameters of a call, either may be NULL. */
static void find_lists(const struct ptx_instruction *in, const struct ptx_operand **results, const struct ptx_operand **parameters)
{
	bool after_target = false;
	*results = *parameters = NULL;
	for (unsigned i = 0; i < in->operand_count; i++) {
		if (in->operands[i].kind != PTX_OP_LIST)
			after_target = true;
		else if (after_target && !*parameters)
			*parameters = &in->operands[i];
		else if (!after_target)
			*results = &in->operands[i];
	}
}

static const struct system_call *find_system_call(const char *name)
{
	for (size_t i = 0; i < sizeof(system_calls) / sizeof(system_calls[0]); i++)
		if (!strcmp(system_calls[i].name, name))
			return &system_calls[i];
	return NULL;
}

/* ---- the device runtime ------------------------------------------------------------------------------------------- */

enum { MOST_RUNTIME_PARAMETERS = 8 };

struct runtime_call {
	int number;
	struct address parameters[MOST_RUNTIME_PARAMETERS], result;
	unsigned count, result_bytes;
	LLVMValueRef list; /* of pointers to the parameters */
};

static void runtime_call_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct runtime_call *c = data;
	LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context), pointer = LLVMPointerTypeInContext(e->context, 0);
	LLVMTypeRef types[] = { i32, i32, pointer };
	LLVMValueRef thread = LLVMBuildAdd(e->b, e->first_thread, i32_constant(e, e->chunk * e->width + lane), "");
	for (unsigned i = 0; i < c->count; i++) {
		LLVMValueRef index = i32_constant(e, i);
		LLVMBuildStore(e->b, flat_pointer(e, lane_pointer(e, c->parameters[i], lane)), LLVMBuildGEP2(e->b, pointer, c->list, &index, 1, ""));
	}
	LLVMValueRef arguments[] = { thread, i32_constant(e, (uint32_t)c->number), c->list };
	LLVMValueRef r = call_service(e, offsetof(struct cpu_services, syscall), LLVMInt64TypeInContext(e->context), types, arguments, 3);
	if (c->result_bytes == 4)
		r = LLVMBuildTrunc(e->b, r, i32, "");
	if (c->result_bytes)
		LLVMBuildStore(e->b, r, lane_pointer(e, c->result, lane));
}

static void emit_runtime_call(struct emitter *e, const struct ptx_instruction *in, int number)
{
	struct runtime_call c = { .number = number, .list = lane_words(e) };
	const struct ptx_operand *results, *parameters;
	find_lists(in, &results, &parameters);
	for (unsigned chunk = 0; chunk < e->chunks; chunk++) {
		struct group_place place = group_enter(e, chunk);
		c.count = parameters ? parameters->part_count : 0;
		if (c.count > MOST_RUNTIME_PARAMETERS) {
			unsupported(e, "a call of the device runtime with %u parameters", c.count);
			c.count = 0;
		}
		for (unsigned i = 0; i < c.count; i++)
			c.parameters[i] = emit_address(e, &parameters->parts[i], PTX_SPACE_PARAM, 1);
		if (results && results->part_count && results->parts[0].kind == PTX_OP_SYMBOL) {
			c.result_bytes = (unsigned)((const struct ptx_variable *)results->parts[0].symbol)->size;
			c.result = emit_address(e, &results->parts[0], PTX_SPACE_PARAM, c.result_bytes);
		}
		for_each_active_lane(e, runtime_call_lane, &c);
		group_leave(e, place);
	}
}

bool emit_system_call(struct emitter *e, const struct ptx_instruction *in, const char *name)
{
	struct lane_call c = { .call = find_system_call(name) };
	const struct ptx_operand *results, *parameters;
	if (ir_device_call(name) >= 0) {
		emit_runtime_call(e, in, ir_device_call(name));
		return true;
	}
	if (!c.call)
		return false;
	find_lists(in, &results, &parameters);
	for (unsigned chunk = 0; chunk < e->chunks; chunk++) {
		struct group_place place = group_enter(e, chunk);
		for (unsigned i = 0; i < MAX_PARAMETERS && c.call->parameters[i]; i++) {
			if (!parameters || i >= parameters->part_count) {
				unsupported(e, "a call of %s with too few parameters", name);
				break;
			}
			c.parameters[i] = emit_address(e, &parameters->parts[i], PTX_SPACE_PARAM, c.call->parameters[i]);
		}
		c.has_result = c.call->result && results && results->part_count;
		if (c.has_result)
			c.result = emit_address(e, &results->parts[0], PTX_SPACE_PARAM, c.call->result);
		for_each_active_lane(e, call_lane, &c);
		group_leave(e, place);
	}
	return true;
}
