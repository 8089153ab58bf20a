/* AMD GPUs: address spaces and the operations of the memory model.
 *
 * Where PTX names the space so does the pointer: global memory is addrspace(1), shared memory is LDS, whose offsets are PTX's shared
 * addresses as they are (the kernel's group segment begins at 0), local memory is one array in scratch, of which local addresses
 * are offsets, parameters and constants are addrspace(4). Generic addresses are flat ones: the apertures of LDS and scratch are the
 * windows of 5.1.
 *
 * In code for clusters shared memory is device memory (state->shared, backend/amd/abi.h), and so are generic addresses of it. Another block's
 * shared addresses are the CPU's: 1 << CLUSTER_SHIFT for each rank that it is away, signed.
 *
 * llvm-c 19 cannot name a synchronisation scope: what needs one is a function of one instruction, written as text, that
 * finish_module() links in and LLVM inlines. */
#include "codegen/amd.h"

#include <stdio.h>
#include <string.h>

#include "backend/amd/abi.h"
#include "backend/cpu/abi.h"

static LLVMTypeRef pointer_type(struct emitter *e, unsigned space)
{
	return LLVMPointerTypeInContext(e->context, space);
}

static LLVMValueRef plus(struct emitter *e, LLVMValueRef pointer, int64_t offset)
{
	LLVMValueRef at = LLVMConstInt(int_type(e, 64), (uint64_t)offset, true);
	if (offset > 0) /* without "in bounds" LLVM does not see that accesses are neighbours */
		return LLVMBuildInBoundsGEP2(e->b, int_type(e, 8), pointer, &at, 1, "");
	return offset ? LLVMBuildGEP2(e->b, int_type(e, 8), pointer, &at, 1, "") : pointer;
}

static LLVMValueRef low_word(struct emitter *e, LLVMValueRef a)
{
	return LLVMBuildTrunc(e->b, a, int_type(e, 32), "");
}

static LLVMValueRef lds_pointer(struct emitter *e, LLVMValueRef a)
{
	return LLVMBuildIntToPtr(e->b, low_word(e, a), pointer_type(e, SPACE_LDS), "");
}

/* ---- shared memory of clusters ------------------------------------------------------------------------------------------ */

static LLVMValueRef cluster_shift(struct emitter *e)
{
	LLVMTypeRef i64 = int_type(e, 64);
	return LLVMBuildZExt(e->b, amd_argument(e, int_type(e, 32), offsetof(struct amd_launch, cluster_shift)), i64, "");
}

LLVMValueRef amd_cluster_step(struct emitter *e)
{
	LLVMTypeRef i64 = int_type(e, 64);
	return e->ir->options.cluster ? LLVMBuildShl(e->b, LLVMConstInt(i64, 1, false), cluster_shift(e), "") : LLVMConstInt(i64, 0, false);
}

/* An address of shared memory, the block's own or one of its cluster's, as one of device memory. */
static LLVMValueRef cluster_address(struct emitter *e, enum ptx_space space, LLVMValueRef a)
{
	LLVMTypeRef i64 = int_type(e, 64);
	LLVMValueRef narrow = low_word(e, a), by = LLVMConstInt(i64, CLUSTER_SHIFT, false);
	if (space == PTX_SPACE_SHARED)
		return LLVMBuildAdd(e->b, e->state->shared, LLVMBuildZExt(e->b, narrow, i64, ""), "");
	a = LLVMBuildSExt(e->b, narrow, i64, "");
	LLVMValueRef within = LLVMBuildAnd(e->b, a, LLVMConstInt(i64, (1u << CLUSTER_SHIFT) - 1, false), "");
	LLVMValueRef away = LLVMBuildShl(e->b, LLVMBuildAShr(e->b, a, by, ""), cluster_shift(e), "");
	return LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, e->state->shared, away, ""), within, "");
}

static LLVMValueRef from_cluster_address(struct emitter *e, enum ptx_space space, LLVMValueRef a)
{
	LLVMTypeRef i64 = int_type(e, 64);
	LLVMValueRef distance = LLVMBuildSub(e->b, a, e->state->shared, ""), by = LLVMConstInt(i64, CLUSTER_SHIFT, false), shift = cluster_shift(e);
	if (space == PTX_SPACE_SHARED)
		return LLVMBuildZExt(e->b, low_word(e, distance), i64, "");
	LLVMValueRef away = LLVMBuildAShr(e->b, distance, shift, "");
	LLVMValueRef within = LLVMBuildSub(e->b, distance, LLVMBuildShl(e->b, away, shift, ""), "");
	return LLVMBuildOr(e->b, LLVMBuildShl(e->b, away, by, ""), within, "");
}

static LLVMValueRef is_in_cluster(struct emitter *e, enum ptx_space space, LLVMValueRef a)
{
	LLVMTypeRef i64 = int_type(e, 64);
	LLVMValueRef base = e->state->shared, shift = cluster_shift(e), blocks = LLVMConstInt(i64, 1, false);
	if (space == PTX_SPACE_SHARED_CLUSTER) {
		LLVMValueRef rank = block_field(e, int_type(e, 32), offsetof(struct cpu_block, cluster_rank));
		base = LLVMBuildSub(e->b, base, LLVMBuildShl(e->b, LLVMBuildZExt(e->b, rank, i64, ""), shift, ""), "");
		for (unsigned axis = 0; axis < 3; axis++) {
			LLVMValueRef size = amd_argument(e, int_type(e, 32), offsetof(struct amd_launch, cluster) + 4 * axis);
			blocks = LLVMBuildMul(e->b, blocks, LLVMBuildZExt(e->b, size, i64, ""), "");
		}
	}
	return LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, a, base, ""), LLVMBuildShl(e->b, blocks, shift, ""), "");
}

/* ---- addresses ------------------------------------------------------------------------------------------------------------ */

static bool is_shared(enum ptx_space space)
{
	return space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER;
}

static LLVMValueRef scratch_pointer(struct emitter *e, LLVMValueRef a)
{
	LLVMValueRef at = low_word(e, a);
	return LLVMBuildGEP2(e->b, int_type(e, 8), e->state->local, &at, 1, "");
}

LLVMValueRef amd_pointer(struct emitter *e, const struct ptx_operand *base, LLVMValueRef a, enum ptx_space space, int64_t offset)
{
	if (base->kind == PTX_OP_SYMBOL && base->symbol->kind == PTX_SYMBOL_VARIABLE) {
		const struct ptx_variable *variable = (const struct ptx_variable *)base->symbol;
		if (e->ir->kernel->is_entry && variable->space == PTX_SPACE_PARAM && !ir_find_object(e->ir, e->inst->instance, variable))
			return plus(e, e->state->parameters, (int64_t)variable->offset + base->offset + offset);
	}
	if (e->ir->options.cluster && is_shared(space)) {
		a = cluster_address(e, space, a);
		space = PTX_SPACE_GLOBAL;
	}
	switch (space) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
		return plus(e, lds_pointer(e, a), offset);
	case PTX_SPACE_LOCAL:
		return plus(e, scratch_pointer(e, a), offset);
	case PTX_SPACE_GLOBAL:
		return plus(e, LLVMBuildIntToPtr(e->b, a, pointer_type(e, SPACE_GLOBAL), ""), offset);
	case PTX_SPACE_CONST:
		return plus(e, LLVMBuildIntToPtr(e->b, a, pointer_type(e, SPACE_CONSTANT), ""), offset);
	default:
		return plus(e, LLVMBuildIntToPtr(e->b, a, ptr_type(e), ""), offset);
	}
}

LLVMValueRef amd_to_generic(struct emitter *e, enum ptx_space space, LLVMValueRef a)
{
	LLVMValueRef p;
	if (e->ir->options.cluster && is_shared(space))
		return cluster_address(e, space, a);
	if (is_shared(space))
		p = lds_pointer(e, a);
	else if (space == PTX_SPACE_LOCAL)
		p = scratch_pointer(e, a);
	else
		return a;
	return LLVMBuildPtrToInt(e->b, LLVMBuildAddrSpaceCast(e->b, p, ptr_type(e), ""), int_type(e, 64), "");
}

LLVMValueRef amd_from_generic(struct emitter *e, enum ptx_space space, LLVMValueRef a)
{
	LLVMTypeRef i32 = int_type(e, 32), i64 = int_type(e, 64);
	if (is_shared(space))
		return e->ir->options.cluster ? from_cluster_address(e, space, a) : LLVMBuildZExt(e->b, low_word(e, a), i64, "");
	if (space != PTX_SPACE_LOCAL)
		return a;
	LLVMValueRef base = LLVMBuildPtrToInt(e->b, e->state->local, i32, "");
	return LLVMBuildZExt(e->b, LLVMBuildSub(e->b, low_word(e, a), base, ""), i64, "");
}

static LLVMValueRef in_aperture(struct emitter *e, const char *name, LLVMValueRef a)
{
	LLVMValueRef p = LLVMBuildIntToPtr(e->b, a, ptr_type(e), "");
	return amd_intrinsic(e, name, NULL, 0, &p, 1);
}

LLVMValueRef amd_is_in_space(struct emitter *e, enum ptx_space space, LLVMValueRef a)
{
	LLVMTypeRef i64 = int_type(e, 64);
	LLVMValueRef size = LLVMConstInt(i64, e->ir->kernel->parameter_bytes, false), r;
	switch (space) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
		return e->ir->options.cluster ? is_in_cluster(e, space, a) : in_aperture(e, "llvm.amdgcn.is.shared", a);
	case PTX_SPACE_LOCAL:
		return in_aperture(e, "llvm.amdgcn.is.private", a);
	case PTX_SPACE_PARAM:
		a = LLVMBuildSub(e->b, a, LLVMBuildPtrToInt(e->b, e->state->parameters, i64, ""), "");
		return LLVMBuildICmp(e->b, LLVMIntULT, a, size, "");
	case PTX_SPACE_GLOBAL: /* what the other windows leave */
		r = LLVMBuildOr(e->b, amd_is_in_space(e, PTX_SPACE_SHARED_CLUSTER, a), amd_is_in_space(e, PTX_SPACE_LOCAL, a), "");
		return LLVMBuildNot(e->b, LLVMBuildOr(e->b, r, amd_is_in_space(e, PTX_SPACE_PARAM, a), ""), "");
	default:
		return LLVMConstInt(int_type(e, 1), 0, false);
	}
}

/* ---- operations with a scope ------------------------------------------------------------------------------------------ */

static const char *ordering_name(LLVMAtomicOrdering ordering)
{
	switch (ordering) {
	case LLVMAtomicOrderingAcquire:
		return "acquire";
	case LLVMAtomicOrderingRelease:
		return "release";
	case LLVMAtomicOrderingAcquireRelease:
		return "acq_rel";
	case LLVMAtomicOrderingSequentiallyConsistent:
		return "seq_cst";
	default:
		return "monotonic";
	}
}

static const char *const scope_names[] = { "workgroup", "agent", "system" };
static const char *const scope_texts[] = { "syncscope(\"workgroup\")", "syncscope(\"agent\")", "" };

static const char *operation_name(LLVMAtomicRMWBinOp op)
{
	static const char *const names[] = { [LLVMAtomicRMWBinOpXchg] = "xchg", [LLVMAtomicRMWBinOpAdd] = "add", [LLVMAtomicRMWBinOpAnd] = "and",
					     [LLVMAtomicRMWBinOpOr] = "or", [LLVMAtomicRMWBinOpXor] = "xor", [LLVMAtomicRMWBinOpMax] = "max",
					     [LLVMAtomicRMWBinOpMin] = "min", [LLVMAtomicRMWBinOpUMax] = "umax", [LLVMAtomicRMWBinOpUMin] = "umin",
					     [LLVMAtomicRMWBinOpFAdd] = "fadd", [LLVMAtomicRMWBinOpUIncWrap] = "uinc_wrap",
					     [LLVMAtomicRMWBinOpUDecWrap] = "udec_wrap" };
	return names[op];
}

/* The function of that name, of `text` where it is new. */
static LLVMValueRef call_text(struct emitter *e, const char *name, const char *text, LLVMTypeRef result, LLVMValueRef const *arguments,
			      unsigned count)
{
	LLVMTypeRef types[3];
	for (unsigned i = 0; i < count; i++)
		types[i] = LLVMTypeOf(arguments[i]);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
	if (!f) {
		f = LLVMAddFunction(e->module, name, LLVMFunctionType(result, types, count, 0));
		text_add(&e->state->unit->prelude, text, strlen(text));
	}
	return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, (LLVMValueRef *)arguments, count, "");
}

/* "addrspace(3)"'s number, and the scope: nobody but the block sees LDS. */
static unsigned space_of(LLVMValueRef pointer, enum memory_scope *scope)
{
	unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
	if (space == SPACE_LDS || space == SPACE_SCRATCH)
		*scope = SCOPE_BLOCK;
	return space;
}

LLVMValueRef amd_atomic(struct emitter *e, LLVMAtomicRMWBinOp op, LLVMValueRef pointer, LLVMValueRef b, LLVMAtomicOrdering ordering,
			enum memory_scope scope)
{
	char name[128], text[512], *type = LLVMPrintTypeToString(LLVMTypeOf(b));
	unsigned space = space_of(pointer, &scope);
	snprintf(name, sizeof name, "atomic.%s.%s.p%u.%s.%s", operation_name(op), type, space, scope_names[scope], ordering_name(ordering));
	snprintf(text, sizeof text,
		 "define linkonce_odr hidden %s @%s(ptr addrspace(%u) %%p, %s %%v) alwaysinline {\n"
		 "%%o = atomicrmw %s ptr addrspace(%u) %%p, %s %%v %s %s, align %u\nret %s %%o\n}\n",
		 type, name, space, type, operation_name(op), space, type, scope_texts[scope], ordering_name(ordering), type_bytes(LLVMTypeOf(b)), type);
	LLVMDisposeMessage(type);
	LLVMValueRef arguments[] = { pointer, b };
	return call_text(e, name, text, LLVMTypeOf(b), arguments, 2);
}

LLVMValueRef amd_compare_and_swap(struct emitter *e, LLVMValueRef pointer, LLVMValueRef expected, LLVMValueRef desired,
				  LLVMAtomicOrdering ordering, enum memory_scope scope)
{
	char name[128], text[512], *type = LLVMPrintTypeToString(LLVMTypeOf(expected));
	unsigned space = space_of(pointer, &scope);
	/* 16 bits are a loop of LLVM's own, which came out wrong inside loops of the program's (swapped, and said not to be). */
	const char *inlining = type_bytes(LLVMTypeOf(expected)) < 4 ? "noinline optnone" : "alwaysinline";
	bool acquires = ordering == LLVMAtomicOrderingAcquire || ordering == LLVMAtomicOrderingAcquireRelease;
	snprintf(name, sizeof name, "atomic.cas.%s.p%u.%s.%s", type, space, scope_names[scope], ordering_name(ordering));
	snprintf(text, sizeof text,
		 "define linkonce_odr hidden %s @%s(ptr addrspace(%u) %%p, %s %%e, %s %%d) %s {\n"
		 "%%r = cmpxchg ptr addrspace(%u) %%p, %s %%e, %s %%d %s %s %s, align %u\n%%o = extractvalue { %s, i1 } %%r, 0\nret %s %%o\n}\n",
		 type, name, space, type, type, inlining, space, type, type, scope_texts[scope], ordering_name(ordering), acquires ? "acquire" : "monotonic",
		 type_bytes(LLVMTypeOf(expected)), type, type);
	LLVMDisposeMessage(type);
	LLVMValueRef arguments[] = { pointer, expected, desired };
	return call_text(e, name, text, LLVMTypeOf(expected), arguments, 3);
}

void amd_fence(struct emitter *e, LLVMAtomicOrdering ordering, enum memory_scope scope)
{
	char name[64], text[256];
	snprintf(name, sizeof name, "fence.%s.%s", scope_names[scope], ordering_name(ordering));
	snprintf(text, sizeof text, "define linkonce_odr hidden void @%s() alwaysinline {\nfence %s %s\nret void\n}\n", name, scope_texts[scope],
		 ordering_name(ordering));
	call_text(e, name, text, LLVMVoidTypeInContext(e->context), NULL, 0);
}

LLVMValueRef amd_wide(struct emitter *e, LLVMValueRef pointer, LLVMValueRef expected, LLVMValueRef desired, enum memory_scope scope)
{
	LLVMTypeRef i32 = int_type(e, 32), i64 = int_type(e, 64), i128 = int_type(e, 128);
	uint32_t operation = expected ? AMD_WIDE_COMPARE : desired ? AMD_WIDE_EXCHANGE : AMD_WIDE_LOAD;
	LLVMValueRef zero = LLVMConstNull(i128), arguments[] = { e->state->launch, LLVMBuildPtrToInt(e->b, flat_pointer(e, pointer), i64, ""),
		LLVMConstInt(i32, operation, false), expected ? expected : zero, desired ? desired : zero };
	if (scope == SCOPE_SYSTEM)
		amd_fence(e, LLVMAtomicOrderingRelease, scope);
	LLVMValueRef old = e->target->hooks->call_library(e, "device_wide", i128, arguments, 5);
	if (scope == SCOPE_SYSTEM)
		amd_fence(e, LLVMAtomicOrderingAcquire, scope);
	return old;
}
