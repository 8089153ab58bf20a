/* What the quick form calls, where the full one has code for each lane in place: accesses of lanes that are not side by side. Selecting
 * instructions takes most of the time that compiling takes, and a call is far fewer of them than eight loads with what is around them. */
#include "codegen/memory.h"
#include "codegen/mma.h"
#include "codegen/quick.h"
#include "codegen/state.h"

#include <stdio.h>

enum { POINTER, STRIDE, LANES, SCRATCH, VALUE, PARAMETERS };

static LLVMTypeRef int_of(struct emitter *e, unsigned bits)
{
	return LLVMIntTypeInContext(e->context, bits);
}

static LLVMValueRef number(struct emitter *e, unsigned bits, uint64_t value)
{
	return LLVMConstInt(int_of(e, bits), value, false);
}

bool quick_accesses(struct emitter *e, struct address address, LLVMTypeRef lane)
{
	bool known = e->mask && LLVMIsConstant(e->mask);
	return is_quick(e) && e->w == e->width && e->w > 1 && !known && address.kind != ADDRESS_ONE && (type_bytes(lane) == 4 || type_bytes(lane) == 8);
}

/* Where lane i reads or writes: the scratch place where it takes no part. */
static LLVMValueRef place(struct emitter *e, LLVMValueRef function, unsigned i)
{
	LLVMValueRef pointer = LLVMGetParam(function, POINTER), bits = LLVMGetParam(function, LANES);
	if (LLVMGetTypeKind(LLVMTypeOf(pointer)) == LLVMVectorTypeKind) {
		pointer = LLVMBuildExtractElement(e->b, pointer, number(e, 32, i), "");
	} else {
		LLVMValueRef at = LLVMBuildMul(e->b, LLVMGetParam(function, STRIDE), number(e, 64, i), "");
		pointer = LLVMBuildGEP2(e->b, int_of(e, 8), pointer, &at, 1, "");
	}
	LLVMValueRef bit = LLVMBuildAnd(e->b, bits, number(e, 32, UINT64_C(1) << i), "");
	LLVMValueRef here = LLVMBuildICmp(e->b, LLVMIntNE, bit, number(e, 32, 0), "");
	return LLVMBuildSelect(e->b, here, pointer, LLVMGetParam(function, SCRATCH), "");
}

static void build_body(struct emitter *e, LLVMValueRef function, LLVMTypeRef type, unsigned align, bool stores)
{
	LLVMValueRef result = LLVMGetPoison(type);
	LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->context, function, "entry"));
	for (unsigned i = 0; i < e->w; i++) {
		LLVMValueRef at = place(e, function, i), access;
		if (stores)
			access = LLVMBuildStore(e->b, LLVMBuildExtractElement(e->b, LLVMGetParam(function, VALUE), number(e, 32, i), ""), at);
		else
			access = LLVMBuildLoad2(e->b, LLVMGetElementType(type), at, "");
		LLVMSetAlignment(access, align);
		if (!stores)
			result = LLVMBuildInsertElement(e->b, result, access, number(e, 32, i), "");
	}
	if (stores)
		LLVMBuildRetVoid(e->b);
	else
		LLVMBuildRet(e->b, result);
}

/* value: NULL: a load. `lane` is an integer. */
static LLVMValueRef access_lanes(struct emitter *e, struct address address, LLVMTypeRef lane, LLVMValueRef value)
{
	LLVMTypeRef type = LLVMVectorType(lane, e->w), pointer = LLVMTypeOf(address.pointer);
	LLVMTypeRef types[PARAMETERS] = { pointer, int_of(e, 64), int_of(e, 32), LLVMTypeOf(e->state->scratch), type };
	LLVMTypeRef function_type = LLVMFunctionType(value ? LLVMVoidTypeInContext(e->context) : type, types, value ? PARAMETERS : VALUE, false);
	unsigned align = address.align < type_bytes(lane) ? address.align : type_bytes(lane);
	char name[64];
	snprintf(name, sizeof name, "%s.%s.%u.%u", value ? "store" : "load", address.kind == ADDRESS_LANES ? "lanes" : "strided", type_bytes(lane), align);
	LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
	if (!function) {
		LLVMBasicBlockRef at = LLVMGetInsertBlock(e->b);
		function = add_own_function(e, name, function_type);
		build_body(e, function, type, align, value != NULL);
		LLVMPositionBuilderAtEnd(e->b, at);
	}
	LLVMValueRef arguments[PARAMETERS] = { address.pointer, number(e, 64, (uint64_t)address.stride), number(e, 32, UINT32_MAX), e->state->scratch, value };
	if (e->mask)
		arguments[LANES] = LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, e->mask, int_of(e, e->w), ""), int_of(e, 32), "");
	return LLVMBuildCall2(e->b, function_type, function, arguments, value ? PARAMETERS : VALUE, "");
}

LLVMValueRef quick_load(struct emitter *e, struct address address, LLVMTypeRef lane)
{
	LLVMValueRef v = access_lanes(e, address, int_of(e, 8 * type_bytes(lane)), NULL);
	return LLVMBuildBitCast(e->b, v, LLVMVectorType(lane, e->w), "");
}

void quick_store(struct emitter *e, struct address address, LLVMValueRef value)
{
	LLVMTypeRef lane = int_of(e, 8 * type_bytes(LLVMGetElementType(LLVMTypeOf(value))));
	access_lanes(e, address, lane, LLVMBuildBitCast(e->b, value, LLVMVectorType(lane, e->w), ""));
}
