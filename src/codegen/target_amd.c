/* AMD GPUs as a target: the kernel around the emitter's scalar form, the numbers of threads, the warp, and what stands for the CPU's
 * fields and services. backend/amd/abi.h is the contract.
 *
 * A thread is a lane of the hardware and control flow stays as it is: LLVM's structurizer makes masks of branches. A warp is a wave of 32
 * lanes (gfx10 and later), or the lower half of one of 64, whose upper half has left; in kernels that know of no warps, and in large
 * blocks, two warps share one of 64. */
#include "codegen/amd.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/amd/abi.h"
#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/memory.h"
#include "devlib/library.h"
#include "ir/device_runtime.h"
#include "isa_emit.h"

LLVMValueRef amd_intrinsic(struct emitter *e, const char *name, LLVMTypeRef const *overload, unsigned overload_count,
			   LLVMValueRef const *arguments, unsigned count)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	if (!id) {
		unsupported(e, "LLVM has no intrinsic %s", name);
		return LLVMConstNull(int_type(e, 32));
	}
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, (LLVMTypeRef *)overload, overload_count);
	LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, (LLVMTypeRef *)overload, overload_count);
	return LLVMBuildCall2(e->b, type, f, (LLVMValueRef *)arguments, count, "");
}

static LLVMValueRef i32_of(struct emitter *e, uint32_t value)
{
	return LLVMConstInt(int_type(e, 32), value, false);
}

/* ---- what a launch says ----------------------------------------------------------------------------------------------- */

LLVMValueRef amd_argument(struct emitter *e, LLVMTypeRef type, size_t offset)
{
	LLVMValueRef at = LLVMConstInt(int_type(e, 64), offset, 0);
	LLVMValueRef load = LLVMBuildLoad2(e->b, type, LLVMBuildInBoundsGEP2(e->b, int_type(e, 8), e->state->launch, &at, 1, ""), "");
	unsigned kind = LLVMGetMDKindIDInContext(e->context, "invariant.load", 14);
	LLVMSetMetadata(load, kind, LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, NULL, 0)));
	return load;
}

static LLVMValueRef block_size(struct emitter *e, unsigned axis)
{
	const uint32_t *block = e->ir->options.block;
	return block[0] ? i32_of(e, block[axis]) : amd_argument(e, int_type(e, 32), offsetof(struct amd_launch, block) + 4 * axis);
}

static LLVMValueRef block_threads(struct emitter *e)
{
	LLVMValueRef plane = LLVMBuildMul(e->b, block_size(e, 0), block_size(e, 1), "");
	return LLVMBuildMul(e->b, plane, block_size(e, 2), "");
}

/* A word of struct amd_cluster_block, which all threads of the block read alike. */
static LLVMValueRef cluster_word(struct emitter *e, size_t offset)
{
	LLVMTypeRef i32 = int_type(e, 32);
	LLVMValueRef at = LLVMConstIntToPtr(i32_of(e, AMD_CLUSTER_AT + (uint32_t)offset), LLVMPointerTypeInContext(e->context, SPACE_LDS));
	LLVMValueRef word = LLVMBuildLoad2(e->b, i32, at, "");
	return amd_intrinsic(e, "llvm.amdgcn.readfirstlane", &i32, 1, &word, 1);
}

static LLVMValueRef block_number(struct emitter *e, unsigned axis)
{
	static const char *const names[3] = { "llvm.amdgcn.workgroup.id.x", "llvm.amdgcn.workgroup.id.y", "llvm.amdgcn.workgroup.id.z" };
	return e->ir->options.cluster ? cluster_word(e, offsetof(struct amd_cluster_block, index) + 4 * axis) :
					amd_intrinsic(e, names[axis], NULL, 0, NULL, 0);
}

static bool is_axis_of(size_t offset, size_t field, unsigned *axis)
{
	*axis = (unsigned)(offset - field) / 4;
	return offset >= field && offset < field + 12;
}

static LLVMValueRef amd_block_field(struct emitter *e, LLVMTypeRef type, size_t offset)
{
	unsigned axis;
	if (is_axis_of(offset, offsetof(struct cpu_block, index), &axis))
		return block_number(e, axis);
	if (is_axis_of(offset, offsetof(struct cpu_block, block), &axis))
		return block_size(e, axis);
	if (is_axis_of(offset, offsetof(struct cpu_block, grid), &axis))
		return amd_argument(e, type, offsetof(struct amd_launch, grid) + 4 * axis);
	if (offset == offsetof(struct cpu_block, thread_count))
		return block_threads(e);
	if (offset == offsetof(struct cpu_block, cluster_rank))
		return e->ir->options.cluster ? cluster_word(e, offsetof(struct amd_cluster_block, rank)) : i32_of(e, 0);
	if (offset == offsetof(struct cpu_block, smid)) /* no two blocks are told apart by where they run */
		return i32_of(e, 0);
	unsupported(e, "not supported on AMD GPUs");
	return LLVMConstNull(type);
}

static LLVMValueRef amd_launch_field(struct emitter *e, LLVMTypeRef type, size_t offset)
{
	static const struct {
		size_t from, to, size;
	} fields[] = {
#define FIELD(name) { offsetof(struct cpu_launch, name), offsetof(struct amd_launch, name), sizeof(((struct amd_launch *)0)->name) }
		FIELD(grid), FIELD(block), FIELD(cluster), FIELD(dynamic_shared), FIELD(static_shared), FIELD(grid_id), FIELD(envreg),
		FIELD(sm_count),
#undef FIELD
	};
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++)
		if (offset >= fields[i].from && offset < fields[i].from + fields[i].size)
			return amd_argument(e, type, fields[i].to + offset - fields[i].from);
	unsupported(e, "not supported on AMD GPUs");
	return LLVMConstNull(type);
}

/* ---- the warp --------------------------------------------------------------------------------------------------------- */

/* Two warps to a wave of 64, of which the second has the upper half: where it makes no difference which threads are a warp, and in blocks that
 * padding would make too large. */
bool amd_is_packed(struct emitter *e)
{
	const uint32_t *block = e->ir->options.block;
	return e->target->wave64 && (e->ir->warpless || block[0] * block[1] * block[2] > AMD_PADDED_THREADS_MAX);
}

static bool is_padded(struct emitter *e)
{
	return e->target->wave64 && !amd_is_packed(e);
}

static LLVMValueRef hardware_lane(struct emitter *e)
{
	LLVMValueRef arguments[] = { i32_of(e, UINT32_MAX), i32_of(e, 0) };
	arguments[1] = amd_intrinsic(e, "llvm.amdgcn.mbcnt.lo", NULL, 0, arguments, 2);
	return amd_is_packed(e) ? amd_intrinsic(e, "llvm.amdgcn.mbcnt.hi", NULL, 0, arguments, 2) : arguments[1];
}

/* 32 in the upper half of a wave that two warps share, else 0. */
static LLVMValueRef upper_half(struct emitter *e)
{
	return amd_is_packed(e) ? LLVMBuildAnd(e->b, hardware_lane(e), i32_of(e, 32), "") : i32_of(e, 0);
}

static LLVMValueRef amd_lane(struct emitter *e)
{
	LLVMValueRef lane = hardware_lane(e);
	return amd_is_packed(e) ? LLVMBuildAnd(e->b, lane, i32_of(e, 31), "") : lane;
}

static LLVMValueRef amd_ballot(struct emitter *e, LLVMValueRef predicate)
{
	LLVMTypeRef type = int_type(e, e->target->wave64 ? 64 : 32);
	LLVMValueRef bits = amd_intrinsic(e, "llvm.amdgcn.ballot", &type, 1, &predicate, 1);
	if (amd_is_packed(e))
		bits = LLVMBuildLShr(e->b, bits, LLVMBuildZExt(e->b, upper_half(e), type, ""), "");
	return e->target->wave64 ? LLVMBuildTrunc(e->b, bits, int_type(e, 32), "") : bits;
}

static LLVMValueRef amd_read_lane(struct emitter *e, LLVMValueRef value, LLVMValueRef lane)
{
	lane = LLVMBuildOr(e->b, lane, upper_half(e), "");
	LLVMValueRef arguments[] = { LLVMBuildShl(e->b, lane, i32_of(e, 2), ""), value };
	return amd_intrinsic(e, "llvm.amdgcn.ds.bpermute", NULL, 0, arguments, 2);
}

static void amd_barrier(struct emitter *e)
{
	amd_fence(e, LLVMAtomicOrderingRelease, SCOPE_BLOCK);
	amd_intrinsic(e, "llvm.amdgcn.s.barrier", NULL, 0, NULL, 0);
	amd_fence(e, LLVMAtomicOrderingAcquire, SCOPE_BLOCK);
}

/* ---- services --------------------------------------------------------------------------------------------------------- */

static LLVMValueRef amd_call_library(struct emitter *e, const char *name, LLVMTypeRef result, LLVMValueRef const *arguments, unsigned count)
{
	LLVMTypeRef types[12];
	for (unsigned i = 0; i < count; i++)
		types[i] = LLVMTypeOf(arguments[i]);
	LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
	if (!f)
		f = LLVMAddFunction(e->module, name, LLVMFunctionType(result, types, count, 0));
	e->state->unit->needs_library = true;
	return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, (LLVMValueRef *)arguments, count, "");
}

static LLVMValueRef read_uniform_lane(struct emitter *e, LLVMValueRef value, unsigned lane)
{
	LLVMTypeRef i32 = int_type(e, 32);
	LLVMValueRef arguments[] = { value, i32_of(e, lane) };
	if (amd_is_packed(e))
		return amd_read_lane(e, value, arguments[1]);
	return LLVMIsConstant(value) ? value : amd_intrinsic(e, "llvm.amdgcn.readlane", &i32, 1, arguments, 2);
}

/* (thread, members, i64 value, i64 values[32]): all lanes' values; returns which of them are here. */
static LLVMValueRef exchange(struct emitter *e, LLVMValueRef const *arguments)
{
	LLVMTypeRef i32 = int_type(e, 32), i64 = int_type(e, 64);
	LLVMValueRef low = LLVMBuildTrunc(e->b, arguments[2], i32, ""), by = LLVMConstInt(i64, 32, false);
	LLVMValueRef high = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, arguments[2], by, ""), i32, "");
	for (unsigned lane = 0; lane < 32; lane++) {
		LLVMValueRef value = LLVMBuildZExt(e->b, read_uniform_lane(e, low, lane), i64, ""), at = i32_of(e, lane);
		LLVMValueRef upper = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, read_uniform_lane(e, high, lane), i64, ""), by, "");
		LLVMBuildStore(e->b, LLVMBuildOr(e->b, value, upper, ""), LLVMBuildGEP2(e->b, i64, arguments[3], &at, 1, ""));
	}
	LLVMValueRef here = amd_ballot(e, LLVMConstInt(int_type(e, 1), 1, false));
	return LLVMBuildAnd(e->b, here, arguments[1], "");
}

/* Where the barriers of the device library have their state: behind all of the kernel's own shared memory, where that is LDS. */
static LLVMValueRef barrier_base(struct emitter *e)
{
	if (e->ir->options.cluster)
		return i32_of(e, AMD_CLUSTER_BYTES);
	LLVMValueRef dynamic = amd_argument(e, int_type(e, 32), offsetof(struct amd_launch, dynamic_shared));
	dynamic = LLVMBuildAnd(e->b, LLVMBuildAdd(e->b, dynamic, i32_of(e, 15), ""), i32_of(e, ~15u), "");
	return LLVMBuildAdd(e->b, dynamic, i32_of(e, e->state->unit->kernel_shared), "");
}

static LLVMValueRef library_barrier(struct emitter *e, bool waits, LLVMTypeRef result, LLVMValueRef const *more, unsigned count)
{
	LLVMValueRef arguments[8] = { e->state->launch, barrier_base(e) };
	for (unsigned i = 0; i < count; i++)
		arguments[i + 2] = more[i];
	e->state->unit->kernel_flags |= KERNEL_TRAPS;
	if (amd_is_packed(e)) /* in kernels threads are resumed there */
		unsupported(e, "barriers with numbers in functions that are called and not inlined are not supported in blocks of more than %u threads "
			       "on this GPU", AMD_PADDED_THREADS_MAX);
	return amd_call_library(e, waits ? "device_barrier" : "device_barrier_arrive", result, arguments, count + 2);
}

static LLVMValueRef call_of_cluster(struct emitter *e, const char *name)
{
	LLVMValueRef arguments[] = { e->state->launch, e->first_thread, i32_of(e, amd_is_packed(e) ? 64 : 32) };
	return amd_call_library(e, name, LLVMVoidTypeInContext(e->context), arguments, 3);
}

static LLVMValueRef cluster_barrier(struct emitter *e, bool waits)
{
	if (e->ir->options.cluster)
		call_of_cluster(e, waits ? "device_cluster_wait" : "device_cluster_arrive");
	else if (waits) /* the block is all of its cluster */
		amd_barrier(e);
	return NULL;
}

/* Threads that are resumed where they wait. */
static LLVMValueRef amd_resume(struct emitter *e, enum resume_op op, LLVMValueRef const *arguments, unsigned count)
{
	static const struct {
		const char *function;
		bool launch, base, thread;
	} functions[] = {
		[RESUME_OP_ARRIVES] = { "device_thread_arrives", true, true, true },
		[RESUME_OP_ARRIVED] = { "device_thread_arrived", false, true, false },
		[RESUME_OP_TURN] = { "device_threads_turn", true, true, false },
		[RESUME_OP_MORE] = { "device_threads_more", false, false, false },
		[RESUME_OP_LEFT] = { "device_thread_left", true, true, true },
	};
	LLVMValueRef all[12];
	unsigned before = 0;
	if (functions[op].launch)
		all[before++] = e->state->launch;
	if (functions[op].base)
		all[before++] = e->state->unit->library_shared ? barrier_base(e) : i32_of(e, AMD_NO_BARRIERS);
	if (functions[op].thread)
		all[before++] = e->first_thread;
	for (unsigned i = 0; i < count; i++)
		all[before++] = arguments[i];
	e->state->unit->kernel_flags |= KERNEL_TRAPS;
	return amd_call_library(e, functions[op].function, op == RESUME_OP_LEFT ? LLVMVoidTypeInContext(e->context) : int_type(e, 32), all, before);
}

static const struct {
	size_t service;
	const char *function;
	uint32_t flags;
	bool threadless; /* the CPU's is not told the thread */
} library_services[] = {
	{ offsetof(struct cpu_services, print), "device_print", KERNEL_PRINTS, false },
	{ offsetof(struct cpu_services, allocate), "device_allocate", KERNEL_ALLOCATES, false },
	{ offsetof(struct cpu_services, release), "device_release", KERNEL_ALLOCATES, false },
	{ offsetof(struct cpu_services, trap), "device_trap", KERNEL_TRAPS, false },
	{ offsetof(struct cpu_services, assert_fail), "device_assert_fail", KERNEL_TRAPS, false },
	{ offsetof(struct cpu_services, texture), "device_texture", KERNEL_TRAPS, true },
	{ offsetof(struct cpu_services, surface), "device_surface", KERNEL_TRAPS, true },
	{ offsetof(struct cpu_services, query), "device_texture_query", KERNEL_TRAPS, true },
};

static LLVMValueRef library_service(struct emitter *e, size_t which, LLVMTypeRef result, LLVMValueRef const *arguments, unsigned count)
{
	LLVMValueRef all[12] = { e->state->launch };
	unsigned before = 1;
	if (library_services[which].threadless)
		all[before++] = e->first_thread;
	for (unsigned i = 0; i < count; i++)
		all[before + i] = arguments[i];
	e->state->unit->kernel_flags |= library_services[which].flags;
	return amd_call_library(e, library_services[which].function, result, all, count + before);
}

/* ---- the device runtime: backend/amd/abi.h, struct amd_children ------------------------------------------------------- */

/* The thread's last error, in functions that call the device runtime. */
static LLVMValueRef last_error(struct emitter *e)
{
	struct emitter_state *s = e->state;
	if (!s->last_error) {
		s->last_error = entry_alloca(e, int_type(e, 32), "last_error");
		LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
		LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(s->prologue));
		LLVMBuildStore(e->b, i32_of(e, 0), s->last_error);
		LLVMPositionBuilderAtEnd(e->b, here);
	}
	return s->last_error;
}

/* (thread, number, i64 *parameters[]) */
static LLVMValueRef runtime_call(struct emitter *e, LLVMValueRef const *arguments)
{
	enum { LEAST_ADDRESS = 4096 }; /* less is a status */
	LLVMTypeRef i32 = int_type(e, 32), i64 = int_type(e, 64);
	unsigned number = (unsigned)LLVMConstIntGetZExtValue(arguments[1]);
	LLVMValueRef last = last_error(e), none = LLVMConstNull(i64);
	switch (number) {
	case DEVICE_CALL_GetLastError:
	case DEVICE_CALL_PeekAtLastError: {
		LLVMValueRef value = LLVMBuildLoad2(e->b, i32, last, "");
		if (number == DEVICE_CALL_GetLastError)
			LLVMBuildStore(e->b, i32_of(e, 0), last);
		return LLVMBuildZExt(e->b, value, i64, "");
	}
	case DEVICE_CALL_DeviceSynchronize:
		unsupported(e, "cudaDeviceSynchronize() in device code: kernels on AMD GPUs cannot wait for what they launch");
		return none;
	case DEVICE_CALL_DeviceGetAttribute:
	case DEVICE_CALL_DeviceGetLimit:
	case DEVICE_CALL_FuncGetAttributes:
	case DEVICE_CALL_OccupancyMaxActiveBlocksPerMultiprocessor:
	case DEVICE_CALL_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags:
		e->state->unit->kernel_flags |= KERNEL_TRAPS; /* who waits for an answer looks for traps */
		break;
	default: break;
	}
	e->state->unit->kernel_flags |= KERNEL_LAUNCHES;
	if (number == DEVICE_CALL_Malloc || number == DEVICE_CALL_Free)
		e->state->unit->kernel_flags |= KERNEL_ALLOCATES;
	LLVMValueRef all[] = { e->state->launch, arguments[0], arguments[1], arguments[2] };
	LLVMValueRef r = amd_call_library(e, "device_runtime_call", i64, all, 4);
	LLVMValueRef is_status = LLVMBuildICmp(e->b, LLVMIntULT, r, LLVMConstInt(i64, LEAST_ADDRESS, false), "");
	LLVMValueRef fails = LLVMBuildAnd(e->b, is_status, LLVMBuildICmp(e->b, LLVMIntNE, r, none, ""), "");
	LLVMValueRef before = LLVMBuildLoad2(e->b, i32, last, "");
	LLVMBuildStore(e->b, LLVMBuildSelect(e->b, fails, LLVMBuildTrunc(e->b, r, i32, ""), before, ""), last);
	bool address = number == DEVICE_CALL_GetParameterBuffer || number == DEVICE_CALL_GetParameterBufferV2;
	return address ? LLVMBuildSelect(e->b, is_status, none, r, "") : r;
}

static LLVMValueRef amd_call_service(struct emitter *e, size_t offset, LLVMTypeRef result, LLVMTypeRef const *types, LLVMValueRef const *arguments,
				     unsigned count)
{
	LLVMTypeRef i64 = int_type(e, 64);
	(void)types;
	(void)count;
	if (offset == offsetof(struct cpu_services, yield))
		return amd_call_library(e, "device_yield", result, &e->state->launch, 1);
	if (offset == offsetof(struct cpu_services, exchange))
		return exchange(e, arguments);
	if (offset == offsetof(struct cpu_services, clock))
		return amd_intrinsic(e, "llvm.readcyclecounter", NULL, 0, NULL, 0);
	if (offset == offsetof(struct cpu_services, global_timer)) { /* 100 MHz */
		LLVMValueRef ticks = amd_intrinsic(e, "llvm.readsteadycounter", NULL, 0, NULL, 0);
		return LLVMBuildMul(e->b, ticks, LLVMConstInt(i64, 10, false), "");
	}
	if (offset == offsetof(struct cpu_services, barrier) || offset == offsetof(struct cpu_services, barrier_arrive))
		return library_barrier(e, offset == offsetof(struct cpu_services, barrier), result, arguments + 2, count - 2);
	if (offset == offsetof(struct cpu_services, syscall))
		return runtime_call(e, arguments);
	if (offset == offsetof(struct cpu_services, set_conditional)) { /* (thread, handle, value): the handle is an address in host memory */
		LLVMValueRef at = LLVMBuildIntToPtr(e->b, arguments[1], LLVMPointerTypeInContext(e->context, SPACE_GLOBAL), "");
		LLVMValueRef store = LLVMBuildStore(e->b, arguments[2], at);
		LLVMSetOrdering(store, LLVMAtomicOrderingRelease);
		LLVMSetAlignment(store, 4);
		return NULL;
	}
	if (offset == offsetof(struct cpu_services, cluster_arrive) || offset == offsetof(struct cpu_services, cluster_wait))
		return cluster_barrier(e, offset == offsetof(struct cpu_services, cluster_wait));
	for (size_t i = 0; i < ARRAY_LENGTH(library_services); i++)
		if (offset == library_services[i].service)
			return library_service(e, i, result, arguments, count);
	unsupported(e, "not supported on AMD GPUs yet");
	return LLVMGetTypeKind(result) == LLVMVoidTypeKind ? NULL : LLVMConstNull(result);
}

/* ---- the function ------------------------------------------------------------------------------------------------------- */

static void add_attribute(struct emitter *e, LLVMValueRef function, const char *name, const char *value)
{
	LLVMAttributeRef a = LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
	LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

static LLVMAttributeRef enum_attribute(struct emitter *e, const char *name, uint64_t value)
{
	return LLVMCreateEnumAttribute(e->context, LLVMGetEnumAttributeKindForName(name, strlen(name)), value);
}

static void describe_machine(struct emitter *e, LLVMValueRef function)
{
	add_attribute(e, function, "target-cpu", e->target->cpu);
	add_attribute(e, function, "target-features", e->target->features);
	add_attribute(e, function, "denormal-fp-math", "ieee,ieee");
	add_attribute(e, function, "denormal-fp-math-f32", "ieee,ieee");
	LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, enum_attribute(e, "nounwind", 0));
}

static uint32_t most_threads(struct emitter *e)
{
	const struct ptx_function *kernel = e->ir->kernel;
	const uint32_t *block = e->ir->options.block, *bound = kernel->reqntid[0] ? kernel->reqntid : kernel->maxntid;
	if (block[0])
		return block[0] * block[1] * block[2];
	uint32_t most = bound[0] ? bound[0] * (bound[1] ? bound[1] : 1) * (bound[2] ? bound[2] : 1) : 1024;
	return most < 1024 ? most : 1024;
}

static void bound_threads(struct emitter *e)
{
	char range[32];
	uint32_t most = most_threads(e), least = e->ir->options.block[0] ? most : 1;
	if (is_padded(e)) {
		most = amd_padded_threads(most > AMD_PADDED_THREADS_MAX ? AMD_PADDED_THREADS_MAX : most);
		least = amd_padded_threads(least > AMD_PADDED_THREADS_MAX ? AMD_PADDED_THREADS_MAX : least);
	}
	snprintf(range, sizeof range, "%u,%u", least, most);
	add_attribute(e, e->function, "amdgpu-flat-work-group-size", range);
}

static LLVMValueRef hardware_thread(struct emitter *e, unsigned axis)
{
	static const char *const names[3] = { "llvm.amdgcn.workitem.id.x", "llvm.amdgcn.workitem.id.y", "llvm.amdgcn.workitem.id.z" };
	return amd_intrinsic(e, names[axis], NULL, 0, NULL, 0);
}

/* The number of the thread in its block. In the padded form what is no thread goes to `done`. */
static LLVMValueRef number_thread(struct emitter *e)
{
	struct emitter_state *s = e->state;
	const uint32_t *block = e->ir->options.block;
	LLVMValueRef x = hardware_thread(e, 0);
	if (!is_padded(e)) {
		if (block[0] && block[1] * block[2] == 1)
			return x;
		LLVMValueRef row = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, hardware_thread(e, 2), block_size(e, 1), ""), hardware_thread(e, 1), "");
		return LLVMBuildAdd(e->b, LLVMBuildMul(e->b, row, block_size(e, 0), ""), x, "thread");
	}
	LLVMBasicBlockRef threads = new_block(e, "threads");
	LLVMValueRef lane = LLVMBuildAnd(e->b, x, i32_of(e, 31), ""), half = LLVMBuildLShr(e->b, x, i32_of(e, 1), "");
	LLVMValueRef thread = LLVMBuildOr(e->b, LLVMBuildAnd(e->b, half, i32_of(e, ~31u), ""), lane, "thread");
	LLVMValueRef is_one = LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildAnd(e->b, x, i32_of(e, 32), ""), i32_of(e, 0), "");
	if (!block[0] || block[0] * block[1] * block[2] % 32)
		is_one = LLVMBuildAnd(e->b, is_one, LLVMBuildICmp(e->b, LLVMIntULT, thread, block_threads(e), ""), "");
	LLVMBuildCondBr(e->b, is_one, threads, s->done);
	LLVMPositionBuilderAtEnd(e->b, threads);
	s->unit->kernel_flags |= KERNEL_PADDED;
	return thread;
}

static LLVMValueRef amd_thread_axis(struct emitter *e, unsigned axis)
{
	const uint32_t *block = e->ir->options.block;
	LLVMValueRef thread = e->first_thread;
	if (block[0] && block[axis] == 1)
		return i32_of(e, 0);
	if (!is_padded(e))
		return hardware_thread(e, axis);
	if (block[0] && block[1] * block[2] == 1)
		return thread;
	if (axis == 0)
		return LLVMBuildURem(e->b, thread, block_size(e, 0), "");
	LLVMValueRef row = LLVMBuildUDiv(e->b, thread, block_size(e, 0), "");
	return axis == 1 ? LLVMBuildURem(e->b, row, block_size(e, 1), "") : LLVMBuildUDiv(e->b, row, block_size(e, 1), "");
}

static bool has_library_barriers(const struct ptx_function *function)
{
	for (uint32_t i = 0; i < function->instruction_count; i++) {
		const struct ptx_instruction *in = &function->instructions[i];
		if (isa_emit_table[in->form->row->index].emit == emit_barrier && !barrier_is_plain(in))
			return true;
	}
	return false;
}

/* Whether the kernel has such, or a function that it may call and that is not inlined. */
static bool needs_library_barriers(const struct ir_func *ir)
{
	if (ir->resumes ? ir->flags_used & ISA_BARRIER : ir_has_numbered_barriers(ir))
		return true;
	bool needs = false;
	for (size_t i = 0; ir->calls && i < ir->module->functions.count && !needs; i++)
		needs = !ir->module->functions.data[i]->is_entry && has_library_barriers(ir->module->functions.data[i]);
	return needs;
}

/* Their state begins as zeros, and hears of warps that leave. */
static void start_barriers(struct emitter *e)
{
	struct emitter_state *s = e->state;
	LLVMTypeRef nothing = LLVMVoidTypeInContext(e->context);
	LLVMValueRef arguments[] = { s->launch, barrier_base(e), e->first_thread };
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	amd_call_library(e, "device_barriers_start", nothing, arguments, 3);
	amd_barrier(e);
	if (e->ir->resumes) /* each thread says so */
		return;
	s->group_next = new_block(e, "leave");
	LLVMPositionBuilderAtEnd(e->b, s->group_next);
	amd_call_library(e, "device_barriers_leave", nothing, arguments + 1, 1);
	LLVMBuildBr(e->b, s->done);
	LLVMPositionBuilderAtEnd(e->b, here);
}

/* In code for clusters: where the block's shared memory is, uniform. */
static void find_shared(struct emitter *e)
{
	LLVMTypeRef i64 = int_type(e, 64);
	LLVMValueRef low = LLVMBuildZExt(e->b, cluster_word(e, offsetof(struct amd_cluster_block, shared)), i64, "");
	LLVMValueRef high = LLVMBuildZExt(e->b, cluster_word(e, offsetof(struct amd_cluster_block, shared) + 4), i64, "");
	e->state->shared = LLVMBuildOr(e->b, low, LLVMBuildShl(e->b, high, LLVMConstInt(i64, 32, false), ""), "shared");
}

/* The block takes its number, and its waves say when they leave. */
static void start_cluster(struct emitter *e)
{
	struct emitter_state *s = e->state;
	LLVMTypeRef nothing = LLVMVoidTypeInContext(e->context);
	LLVMValueRef arguments[] = { s->launch, e->first_thread };
	amd_call_library(e, "device_cluster_start", nothing, arguments, 2);
	amd_barrier(e);
	amd_call_library(e, "device_cluster_begin", nothing, NULL, 0);
	find_shared(e);
	s->unit->kernel_flags |= KERNEL_TRAPS; /* waiting blocks look for traps */
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), then = s->group_next;
	s->group_next = new_block(e, "leave_cluster");
	LLVMPositionBuilderAtEnd(e->b, s->group_next);
	call_of_cluster(e, "device_cluster_leave");
	LLVMBuildBr(e->b, then);
	LLVMPositionBuilderAtEnd(e->b, here);
}

static void begin_blocks(struct emitter *e)
{
	struct emitter_state *s = e->state;
	s->prologue = new_block(e, "prologue");
	s->group_head = new_block(e, "thread");
	s->done = new_block(e, "done");
	s->group_next = s->done;
	LLVMPositionBuilderAtEnd(e->b, s->done);
	LLVMBuildRetVoid(e->b);
	LLVMPositionBuilderAtEnd(e->b, s->prologue);
}

/* What kernels and functions have alike, given the launch. */
static void begin_thread(struct emitter *e)
{
	struct emitter_state *s = e->state;
	LLVMTypeRef constant = LLVMPointerTypeInContext(e->context, SPACE_CONSTANT);
	s->symbols = LLVMBuildIntToPtr(e->b, amd_argument(e, int_type(e, 64), offsetof(struct amd_launch, symbols)), constant, "symbols");
	s->local = LLVMBuildAlloca(e->b, LLVMArrayType2(int_type(e, 8), e->ir->local_bytes + !e->ir->local_bytes), "local");
	LLVMSetAlignment(s->local, 16);
	s->scratch = LLVMGetPoison(ptr_type(e));
	s->lane_numbers = i32_of(e, 0);
}

/* A function that could not be inlined: (launch, thread, parameters, results). */
static void begin_called_function(struct emitter *e)
{
	struct emitter_state *s = e->state;
	e->function = declare_function(e, e->ir->kernel);
	describe_machine(e, e->function);
	begin_blocks(e);
	LLVMTypeRef constant = LLVMPointerTypeInContext(e->context, SPACE_CONSTANT);
	e->block = s->launch = LLVMBuildAddrSpaceCast(e->b, LLVMGetParam(e->function, 0), constant, "launch");
	e->first_thread = LLVMGetParam(e->function, 1);
	s->parameters = LLVMGetParam(e->function, 2);
	s->results = LLVMGetParam(e->function, 3);
	begin_thread(e);
	if (e->ir->options.cluster)
		find_shared(e);
	LLVMBuildBr(e->b, s->group_head);
	LLVMPositionBuilderAtEnd(e->b, s->group_head);
}

/* Traps and assertions; what misuses textures, barriers that nobody can end and wild calls are not looked for. */
static bool may_stop(const struct ptx_module *module)
{
	return module->traps || map_get(&module->symbols, "__assertfail") || map_get(&module->symbols, "__assert_fail");
}

/* Nothing runs behind what has trapped. */
static void leave_if_stopped(struct emitter *e)
{
	LLVMTypeRef i32 = int_type(e, 32), i64 = int_type(e, 64);
	LLVMBasicBlockRef go_on = new_block(e, "go_on");
	LLVMValueRef at = LLVMBuildIntToPtr(e->b, amd_argument(e, i64, offsetof(struct amd_launch, stopped)),
					    LLVMPointerTypeInContext(e->context, SPACE_GLOBAL), "");
	LLVMValueRef stopped = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildLoad2(e->b, i32, at, "stopped"), i32_of(e, 0), "");
	LLVMBuildCondBr(e->b, stopped, e->state->done, go_on);
	LLVMPositionBuilderAtEnd(e->b, go_on);
}

static void begin_function(struct emitter *e)
{
	if (!e->ir->kernel->is_entry) {
		begin_called_function(e);
		return;
	}
	struct emitter_state *s = e->state;
	LLVMTypeRef i8 = int_type(e, 8), i64 = int_type(e, 64), constant = LLVMPointerTypeInContext(e->context, SPACE_CONSTANT);
	uint32_t launch = amd_launch_offset(e->ir->kernel->parameter_bytes), bytes = launch + (uint32_t)sizeof(struct amd_launch);
	char size[32];
	e->function = LLVMAddFunction(e->module, "kernel", LLVMFunctionType(LLVMVoidTypeInContext(e->context), &constant, 1, 0));
	LLVMSetFunctionCallConv(e->function, LLVMAMDGPUKERNELCallConv);
	LLVMSetVisibility(e->function, LLVMProtectedVisibility);
	unsigned byref = LLVMGetEnumAttributeKindForName("byref", 5);
	LLVMAddAttributeAtIndex(e->function, 1, LLVMCreateTypeAttribute(e->context, byref, LLVMArrayType2(i8, bytes)));
	LLVMAddAttributeAtIndex(e->function, 1, enum_attribute(e, "align", 16));
	LLVMAddAttributeAtIndex(e->function, 1, enum_attribute(e, "noalias", 0));
	describe_machine(e, e->function);
	bound_threads(e);
	add_attribute(e, e->function, "amdgpu-implicitarg-num-bytes", "0");
	add_attribute(e, e->function, "uniform-work-group-size", "true");
	bool barriers = needs_library_barriers(e->ir);
	s->unit->library_shared = barriers ? AMD_BARRIER_BYTES : 0;
	s->unit->kernel_shared = (uint32_t)align_up(e->ir->shared_bytes, 16);
	uint32_t before = e->ir->options.cluster ? AMD_CLUSTER_BYTES : s->unit->kernel_shared;
	snprintf(size, sizeof size, "%u", before + s->unit->library_shared);
	add_attribute(e, e->function, "amdgpu-lds-size", size);

	begin_blocks(e);
	s->parameters = LLVMGetParam(e->function, 0);
	LLVMValueRef at = LLVMConstInt(i64, launch, false);
	e->block = s->launch = LLVMBuildInBoundsGEP2(e->b, i8, s->parameters, &at, 1, "launch");
	begin_thread(e);
	LLVMBasicBlockRef first = s->prologue;
	if (may_stop(e->ir->module))
		leave_if_stopped(e);
	e->first_thread = number_thread(e);
	s->prologue = first;
	if (barriers)
		start_barriers(e);
	if (e->ir->options.cluster)
		start_cluster(e);
	LLVMBuildBr(e->b, s->group_head);
	LLVMPositionBuilderAtEnd(e->b, s->group_head);
}

/* ---- what the code calls ------------------------------------------------------------------------------------------------ */

static bool link_text(struct emitter *e, const char *text, size_t size)
{
	LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, size, "prelude");
	LLVMModuleRef module;
	char *message = NULL;
	if (LLVMParseIRInContext(e->context, buffer, &module, &message)) {
		unsupported(e, "internal error, please report it: LLVM says: %s", message);
		LLVMDisposeMessage(message);
		return false;
	}
	LLVMSetTarget(module, e->target->triple);
	LLVMSetModuleDataLayout(module, LLVMGetModuleDataLayout(e->module));
	return !LLVMLinkModules2(e->module, module);
}

static bool link_library(struct emitter *e)
{
	if (!amd_library_size) {
		unsupported(e, "this kernel needs the device library for AMD GPUs, which this build is without (it takes clang 19)");
		return false;
	}
	LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange((const char *)amd_library, amd_library_size, "library", false);
	LLVMModuleRef module;
	bool good = !LLVMGetBitcodeModuleInContext2(e->context, buffer, &module); /* takes the buffer; bodies are read when needed */
	if (good) {
		for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
			if (!LLVMGetNamedFunction(e->module, LLVMGetValueName(f)) && LLVMGetLinkage(f) == LLVMExternalLinkage && !LLVMIsDeclaration(f))
				LLVMSetLinkage(f, LLVMInternalLinkage); /* what nothing calls stays behind */
		LLVMSetTarget(module, e->target->triple);
		LLVMSetModuleDataLayout(module, LLVMGetModuleDataLayout(e->module));
		good = !LLVMLinkModules2(e->module, module);
	}
	if (!good)
		unsupported(e, "internal error, please report it: the device library is damaged");
	return good;
}

/* The kernel is all that anybody outside sees. */
static void hide_functions(struct emitter *e)
{
	LLVMValueRef kernel = LLVMGetNamedFunction(e->module, "kernel");
	for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f)) {
		if (f == kernel || LLVMIsDeclaration(f))
			continue;
		LLVMSetLinkage(f, LLVMInternalLinkage);
		describe_machine(e, f);
	}
}

static bool finish_module(struct emitter *e)
{
	const struct text *prelude = &e->state->unit->prelude;
	e->inst = NULL;
	LLVMMetadataRef version = LLVMValueAsMetadata(i32_of(e, 500));
	LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorError, "amdhsa_code_object_version", 26, version);
	if (prelude->count && !link_text(e, prelude->data, prelude->count))
		return false;
	if (e->state->unit->needs_library && !link_library(e))
		return false;
	hide_functions(e);
	return true;
}

/* ---- approximations ------------------------------------------------------------------------------------------------------- */

/* The instructions are good to an ulp but take and give subnormals as zeros: without .ftz operands that small are scaled up first, and
 * exponents whose power is that small are moved. */
static LLVMValueRef amd_approximate(struct emitter *e, enum approximation function, LLVMValueRef x, bool ftz)
{
	static const struct {
		const char *name;
		double scale;  /* of the operand: a power of two */
		double factor; /* of its result; for the logarithm what is added */
	} functions[] = {
		[APPROXIMATE_EXP2] = { "llvm.amdgcn.exp2", 64, 0x1p-64 },
		[APPROXIMATE_LOG2] = { "llvm.amdgcn.log", 0x1p32, -32 },
		[APPROXIMATE_RECIPROCAL] = { "llvm.amdgcn.rcp", 0x1p32, 0x1p32 },
		[APPROXIMATE_ROOT] = { "llvm.amdgcn.sqrt", 0x1p32, 0x1p-16 },
		[APPROXIMATE_RECIPROCAL_ROOT] = { "llvm.amdgcn.rsq", 0x1p32, 0x1p16 },
	};
	LLVMTypeRef f32 = LLVMTypeOf(x);
	const char *name = functions[function].name;
	if (ftz)
		return flush(e, amd_intrinsic(e, name, &f32, 1, &x, 1));
	LLVMValueRef one = LLVMConstReal(f32, 1), zero = LLVMConstReal(f32, 0), scale = LLVMConstReal(f32, functions[function].scale);
	LLVMValueRef factor = LLVMConstReal(f32, functions[function].factor), small, r;
	if (function == APPROXIMATE_EXP2) {
		small = fcmp_(e, LLVMRealOLT, x, LLVMConstReal(f32, -126));
		x = fadd_(e, x, select_(e, small, scale, zero));
		return fmul_(e, amd_intrinsic(e, name, &f32, 1, &x, 1), select_(e, small, factor, one));
	}
	if (function == APPROXIMATE_RECIPROCAL) /* large operands have subnormal reciprocals */
		return LLVMBuildFDiv(e->b, one, x, "");
	small = fcmp_(e, LLVMRealOLT, x, LLVMConstReal(f32, 0x1p-100));
	x = fmul_(e, x, select_(e, small, scale, one));
	r = amd_intrinsic(e, name, &f32, 1, &x, 1);
	if (function == APPROXIMATE_LOG2)
		return fadd_(e, r, select_(e, small, factor, zero));
	return fmul_(e, r, select_(e, small, factor, one));
}

/* LLVM's own way but for one step. A reciprocal y within an ulp is made the nearest one by y + y (1 - b y), and then one step more makes the
 * quotient the nearest (Markstein) - unless all bits of b's mantissa are ones: there 1/b lies so little above the middle of 2^-n and
 * the next number that the sum cannot tell, and stays at 2^-n, from whatever the machine's reciprocal was. That number's last bit is set. */
static LLVMValueRef amd_divide(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
	LLVMTypeRef f64 = LLVMTypeOf(a);
	LLVMValueRef of_b[] = { a, b, LLVMConstInt(int_type(e, 1), 0, false) }, of_a[] = { a, b, LLVMConstInt(int_type(e, 1), 1, false) };
	LLVMValueRef scaled = amd_intrinsic(e, "llvm.amdgcn.div.scale", &f64, 1, of_b, 3), one = LLVMConstReal(f64, 1);
	LLVMValueRef divisor = LLVMBuildExtractValue(e->b, scaled, 0, ""), minus = LLVMBuildFNeg(e->b, divisor, "");
	LLVMValueRef y = amd_intrinsic(e, "llvm.amdgcn.rcp", &f64, 1, &divisor, 1);
	for (unsigned i = 0; i < 2; i++)
		y = fma_(e, y, fma_(e, minus, y, one), y);
	LLVMValueRef mantissa = LLVMBuildOr(e->b, as_int(e, divisor), kbits(e, 64, UINT64_C(0xfff) << 52), "");
	LLVMValueRef last = LLVMBuildZExt(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, mantissa, kbits(e, 64, UINT64_MAX), ""), int_type(e, 64), "");
	y = LLVMBuildBitCast(e->b, LLVMBuildOr(e->b, as_int(e, y), last, ""), f64, "");
	scaled = amd_intrinsic(e, "llvm.amdgcn.div.scale", &f64, 1, of_a, 3);
	LLVMValueRef dividend = LLVMBuildExtractValue(e->b, scaled, 0, ""), q = LLVMBuildFMul(e->b, dividend, y, "");
	LLVMValueRef last_step[] = { fma_(e, minus, q, dividend), y, q, LLVMBuildExtractValue(e->b, scaled, 1, "") };
	LLVMValueRef fixed[] = { amd_intrinsic(e, "llvm.amdgcn.div.fmas", &f64, 1, last_step, 4), b, a };
	return amd_intrinsic(e, "llvm.amdgcn.div.fixup", &f64, 1, fixed, 3);
}

static const struct target_hooks hooks = {
	.begin_function = begin_function,
	.finish_module = finish_module,
	.block_field = amd_block_field,
	.launch_field = amd_launch_field,
	.call_service = amd_call_service,
	.thread_axis = amd_thread_axis,
	.lane = amd_lane,
	.pointer = amd_pointer,
	.to_generic = amd_to_generic,
	.from_generic = amd_from_generic,
	.is_in_space = amd_is_in_space,
	.cluster_step = amd_cluster_step,
	.atomic = amd_atomic,
	.compare_and_swap = amd_compare_and_swap,
	.wide = amd_wide,
	.fence = amd_fence,
	.ballot = amd_ballot,
	.read_lane = amd_read_lane,
	.call_library = amd_call_library,
	.barrier = amd_barrier,
	.resume = amd_resume,
	.approximate = amd_approximate,
	.divide = amd_divide,
	.multiply = amd_multiply,
	.passes = "default<O2>,function(load-store-vectorizer)", /* again: what the code generator does before its own hides neighbours */
};

/* ---- the machines --------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool wave64;
} machines[] = {
	{ "gfx906", true },   { "gfx90a", true },   { "gfx942", true },   { "gfx1030", false }, { "gfx1100", false }, { "gfx1101", false },
	{ "gfx1102", false }, { "gfx1103", false }, { "gfx1150", false }, { "gfx1151", false }, { "gfx1200", false }, { "gfx1201", false },
};

bool target_init_amd(struct target *target, const struct compile_options *options)
{
	for (size_t i = 0; i < ARRAY_LENGTH(machines); i++) {
		if (strcmp(options->target, machines[i].name))
			continue;
		*target = (struct target){ .name = "amd", .width = 1, .wave64 = machines[i].wave64, .model = LLVMCodeModelDefault, .hooks = &hooks };
		snprintf(target->triple, sizeof target->triple, "amdgcn-amd-amdhsa");
		snprintf(target->cpu, sizeof target->cpu, "%s", machines[i].name);
		snprintf(target->features, sizeof target->features, "%s", machines[i].wave64 ? "" : "+wavefrontsize32");
		return true;
	}
	return false;
}
