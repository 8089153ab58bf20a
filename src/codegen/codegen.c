/* From a kernel to an object: builds the IR, emits LLVM IR through it, optimises, and writes the code.
 *
 * The function that comes out is described in backend/cpu/abi.h: a loop over groups of lanes around the kernel's blocks. */
#include "codegen/codegen.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Support.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/amd/abi.h"
#include "backend/cpu/abi.h"
#include "codegen/amd_link.h"
#include "codegen/state.h"

/* ---- small pieces of the emitters' interface ------------------------------------------------------------------------- */

LLVMValueRef entry_alloca(struct emitter *e, LLVMTypeRef type, const char *name)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(e->state->prologue));
	LLVMValueRef slot = LLVMBuildAlloca(e->b, type, name);
	/* An array is one value a lane, which vectors write and read: 16 lanes of 64 bits are aligned to 128 bytes. */
	if (LLVMGetTypeKind(type) == LLVMArrayTypeKind)
		LLVMSetAlignment(slot, e->target->hooks ? 16 : 128);
	slot = flat_pointer(e, slot);
	LLVMPositionBuilderAtEnd(e->b, here);
	return slot;
}

/* Kernels with hundreds of matrix products had a megabyte of fragments on the stack, none of which is needed for long. (On GPUs they become
 * registers, and LLVM sees best which of them when each is memory of its own.) */
LLVMValueRef room_alloca(struct emitter *e, LLVMTypeRef type, const char *name)
{
	struct emitter_state *s = e->state;
	for (size_t i = 0; i < s->rooms.count && !e->target->hooks; i++) {
		struct room *room = &s->rooms.data[i];
		if (room->type != type || room->taken == s->emitted)
			continue;
		room->taken = s->emitted;
		return room->memory;
	}
	LLVMValueRef memory = entry_alloca(e, type, name);
	vec_push(&s->rooms, ((struct room){ type, memory, s->emitted }));
	return memory;
}

LLVMValueRef flat_pointer(struct emitter *e, LLVMValueRef pointer)
{
	return LLVMTypeOf(pointer) == ptr_type(e) ? pointer : LLVMBuildAddrSpaceCast(e->b, pointer, ptr_type(e), "");
}

LLVMBasicBlockRef new_block(struct emitter *e, const char *name)
{
	return LLVMAppendBasicBlockInContext(e->context, e->function, name);
}

LLVMValueRef intrinsic(struct emitter *e, const char *name, LLVMValueRef const *arguments, unsigned count)
{
	LLVMTypeRef overload = LLVMTypeOf(arguments[0]);
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	if (!id) {
		unsupported(e, "LLVM has no intrinsic %s", name);
		return arguments[0];
	}
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &overload, 1);
	LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, &overload, 1);
	return LLVMBuildCall2(e->b, type, f, (LLVMValueRef *)arguments, count, "");
}

LLVMValueRef machine_intrinsic(struct emitter *e, const char *name, LLVMValueRef const *arguments, unsigned count)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, NULL, 0);
	return LLVMBuildCall2(e->b, type, LLVMGetIntrinsicDeclaration(e->module, id, NULL, 0), (LLVMValueRef *)arguments, count, "");
}

LLVMValueRef intrinsic1(struct emitter *e, const char *name, LLVMValueRef a)
{
	return intrinsic(e, name, &a, 1);
}

LLVMValueRef intrinsic2(struct emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b)
{
	LLVMValueRef args[2] = { a, b };
	return intrinsic(e, name, args, 2);
}

LLVMValueRef intrinsic3(struct emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
	LLVMValueRef args[3] = { a, b, c };
	return intrinsic(e, name, args, 3);
}

LLVMValueRef select_(struct emitter *e, LLVMValueRef condition, LLVMValueRef yes, LLVMValueRef no)
{
	return LLVMBuildSelect(e->b, condition, yes, no, "");
}

LLVMValueRef lane_get(struct emitter *e, LLVMValueRef piece, unsigned lane)
{
	if (LLVMGetTypeKind(LLVMTypeOf(piece)) != LLVMVectorTypeKind)
		return piece;
	return LLVMBuildExtractElement(e->b, piece, LLVMConstInt(int_type(e, 32), lane, 0), "");
}

LLVMValueRef lane_put(struct emitter *e, LLVMValueRef piece, LLVMValueRef scalar, unsigned lane)
{
	if (LLVMGetTypeKind(LLVMTypeOf(piece)) != LLVMVectorTypeKind)
		return scalar;
	return LLVMBuildInsertElement(e->b, piece, scalar, LLVMConstInt(int_type(e, 32), lane, 0), "");
}

LLVMValueRef undef_piece(struct emitter *e, LLVMTypeRef lane)
{
	return LLVMGetPoison(piece_of(e, lane));
}

/* The lanes' signs by the machine's instruction: without LLVM's passes for speed it takes a dozen for the bits of a mask, and long to find them. */
static LLVMValueRef signs_of(struct emitter *e, LLVMValueRef mask)
{
	LLVMTypeRef words = LLVMVectorType(int_type(e, 32), 8), floats = LLVMVectorType(LLVMFloatTypeInContext(e->context), 8);
	LLVMValueRef lanes = LLVMBuildBitCast(e->b, LLVMBuildSExt(e->b, mask, words, ""), floats, "");
	return machine_intrinsic(e, "llvm.x86.avx.movmsk.ps.256", &lanes, 1);
}

LLVMValueRef any_lane(struct emitter *e, LLVMValueRef mask)
{
	LLVMTypeRef type = LLVMTypeOf(mask);
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
		return mask;
	if (is_quick(e) && !LLVMIsConstant(mask) && LLVMGetVectorSize(type) == 8 && e->target->has_signs && !e->target->bit_masks)
		return LLVMBuildICmp(e->b, LLVMIntNE, signs_of(e, mask), LLVMConstNull(int_type(e, 32)), "any");
	LLVMTypeRef bits = int_type(e, LLVMGetVectorSize(type));
	return LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildBitCast(e->b, mask, bits, ""), LLVMConstNull(bits), "any");
}

LLVMValueRef all_lanes(struct emitter *e, LLVMValueRef mask)
{
	LLVMTypeRef type = LLVMTypeOf(mask);
	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
		return mask;
	LLVMTypeRef bits = int_type(e, LLVMGetVectorSize(type));
	return LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildBitCast(e->b, mask, bits, ""), LLVMConstAllOnes(bits), "all");
}

void for_each_active_lane(struct emitter *e, void (*emit_lane)(struct emitter *, unsigned, void *), void *data)
{
	for (unsigned lane = 0; lane < e->w; lane++) {
		if (!e->mask) {
			emit_lane(e, lane, data);
			continue;
		}
		LLVMBasicBlockRef then = new_block(e, "lane"), after = new_block(e, "after");
		LLVMBuildCondBr(e->b, lane_get(e, e->mask, lane), then, after);
		LLVMPositionBuilderAtEnd(e->b, then);
		emit_lane(e, lane, data);
		LLVMBuildBr(e->b, after);
		LLVMPositionBuilderAtEnd(e->b, after);
	}
}

static LLVMValueRef load_field(struct emitter *e, LLVMValueRef object, LLVMTypeRef type, size_t offset)
{
	LLVMValueRef at = LLVMConstInt(int_type(e, 64), offset, 0);
	LLVMValueRef load = LLVMBuildLoad2(e->b, type, LLVMBuildGEP2(e->b, int_type(e, 8), object, &at, 1, ""), "");
	unsigned kind = LLVMGetMDKindIDInContext(e->context, "invariant.load", 14);
	LLVMSetMetadata(load, kind, LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, NULL, 0)));
	return load;
}

LLVMValueRef block_field(struct emitter *e, LLVMTypeRef type, size_t offset)
{
	if (e->target->hooks)
		return e->target->hooks->block_field(e, type, offset);
	if (e->state->block_x && offset == offsetof(struct cpu_block, index))
		return e->state->block_x;
	return load_field(e, e->block, type, offset);
}

LLVMValueRef launch_field(struct emitter *e, LLVMTypeRef type, size_t offset)
{
	if (e->target->hooks)
		return e->target->hooks->launch_field(e, type, offset);
	return load_field(e, e->state->launch, type, offset);
}

static bool may_suspend(size_t offset)
{
	static const size_t services[] = { offsetof(struct cpu_services, barrier), offsetof(struct cpu_services, exchange),
					   offsetof(struct cpu_services, yield), offsetof(struct cpu_services, grid_barrier),
					   offsetof(struct cpu_services, cluster_arrive), offsetof(struct cpu_services, cluster_wait) };
	for (size_t i = 0; i < ARRAY_LENGTH(services); i++)
		if (services[i] == offset)
			return true;
	return false;
}

LLVMValueRef call_service(struct emitter *e, size_t offset, LLVMTypeRef result, LLVMTypeRef const *types, LLVMValueRef const *arguments,
			  unsigned count)
{
	if (e->target->hooks)
		return e->target->hooks->call_service(e, offset, result, types, arguments, count);
	LLVMTypeRef all_types[12] = { ptr_type(e) };
	LLVMValueRef all[12] = { e->block };
	for (unsigned i = 0; i < count && i < 11; i++) {
		all_types[i + 1] = types[i];
		all[i + 1] = arguments[i];
	}
	if (may_suspend(offset))
		e->state->unit->kernel_flags |= KERNEL_SUSPENDS;
	if (offset == offsetof(struct cpu_services, yield))
		e->state->unit->kernel_flags |= KERNEL_YIELDS;
	if (offset == offsetof(struct cpu_services, grid_barrier))
		e->state->unit->kernel_flags |= KERNEL_COOPERATIVE;
	if (offset == offsetof(struct cpu_services, print))
		e->state->unit->kernel_flags |= KERNEL_PRINTS;
	LLVMValueRef function = load_field(e, e->state->services, ptr_type(e), offset);
	LLVMTypeRef type = LLVMFunctionType(result, all_types, count + 1, 0);
	return LLVMBuildCall2(e->b, type, function, all, count + 1, "");
}

LLVMValueRef thread_index(struct emitter *e)
{
	if (e->lanes == 1 || e->piece == PIECE_GROUP || e->piece == PIECE_UNIFORM)
		return e->first_thread;
	LLVMValueRef t = e->first_thread;
	if (e->chunk)
		t = LLVMBuildAdd(e->b, t, LLVMConstInt(int_type(e, 32), e->chunk * e->width, 0), "");
	return e->piece == PIECE_BASE ? t : LLVMBuildAdd(e->b, splat(e, t), e->state->lane_numbers, "thread");
}

void unsupported(struct emitter *e, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	e->state->failed = true;
	e->diagnostic->unsupported = true;
	const struct ptx_instruction *in = e->inst ? e->inst->ptx : NULL;
	ptx_error(e->diagnostic, e->ir->module, e->ir->kernel, in ? in->location : e->ir->kernel->symbol.location, "%s%s%s%s", text,
		  in ? " ('" : "", in ? in->form->text : "", in ? "')" : "");
}

/* ---- the function around the blocks ------------------------------------------------------------------------------------ */

static void add_attribute(struct emitter *e, const char *name, const char *value)
{
	LLVMAttributeRef a = LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
	LLVMAddAttributeAtIndex(e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

static void add_enum_attribute(struct emitter *e, unsigned index, const char *name, uint64_t value)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	LLVMAddAttributeAtIndex(e->function, index, LLVMCreateEnumAttribute(e->context, kind, value));
}

/* A function called by a kernel: one thread, void (block, thread, parameters, results). */
static void begin_called_function(struct emitter *e)
{
	struct emitter_state *s = e->state;
	e->function = declare_function(e, e->ir->kernel);
	s->parameters = LLVMGetParam(e->function, 2);
	s->results = LLVMGetParam(e->function, 3);
	e->first_thread = LLVMGetParam(e->function, 1);
	s->thread_end = NULL;
}

/* A kernel: a loop over groups of lanes, void (block, first_thread, end_thread). */
static void begin_kernel(struct emitter *e)
{
	LLVMTypeRef i32 = int_type(e, 32), types[3] = { ptr_type(e), i32, i32 };
	e->function = LLVMAddFunction(e->module, "kernel", LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, 3, 0));
	e->state->thread_end = LLVMGetParam(e->function, 2);
	const uint32_t *block = e->ir->options.block;
	if (block[0] && (e->ir->region_count || (e->ir->alone && e->lanes > 1)))
		e->state->thread_end = LLVMConstInt(i32, block[0] * block[1] * block[2], 0);
}

/* LLVM must not know that nobody else has this memory: it would turn each access that may go there into a branch. */
static LLVMValueRef make_scratch(struct emitter *e)
{
	LLVMValueRef own = LLVMBuildAlloca(e->b, LLVMArrayType2(int_type(e, 64), 32), "scratch");
	LLVMSetAlignment(own, 64);
	LLVMTypeRef pointer = ptr_type(e), type = LLVMFunctionType(pointer, &pointer, 1, 0);
	static const char constraints[] = "=r,0";
	LLVMValueRef hide = LLVMGetInlineAsm(type, "", 0, constraints, sizeof constraints - 1, 0, 0, LLVMInlineAsmDialectATT, 0);
	return LLVMBuildCall2(e->b, type, hide, &own, 1, "scratch");
}

void begin_groups(struct emitter *e, LLVMBasicBlockRef from, LLVMBasicBlockRef after, bool downwards)
{
	struct emitter_state *s = e->state;
	LLVMTypeRef i32 = int_type(e, 32);
	bool whole = e->ir->region_count || (e->ir->alone && e->lanes > 1); /* one call for the block */
	LLVMValueRef first = whole ? LLVMConstInt(i32, 0, 0) : LLVMGetParam(e->function, 1);
	s->group_head = new_block(e, "group");
	s->group_next = new_block(e, "next");
	LLVMPositionBuilderAtEnd(e->b, from);
	LLVMBuildBr(e->b, s->group_head);
	if (e->ir->alone && whole) {
		e->first_thread = first;
		LLVMPositionBuilderAtEnd(e->b, s->group_next);
		LLVMBuildBr(e->b, after);
		LLVMPositionBuilderAtEnd(e->b, s->group_head);
		return;
	}
	LLVMPositionBuilderAtEnd(e->b, s->group_head);
	e->first_thread = LLVMBuildPhi(e->b, i32, "first_thread");
	LLVMPositionBuilderAtEnd(e->b, s->group_next);
	LLVMValueRef lanes = LLVMConstInt(i32, e->lanes, 0), next;
	if (downwards) {
		const uint32_t *block = e->ir->options.block;
		first = LLVMConstInt(i32, (block[0] * block[1] * block[2] - 1) / e->lanes * e->lanes, 0);
		next = LLVMBuildSub(e->b, e->first_thread, lanes, "");
		LLVMValueRef last = LLVMBuildICmp(e->b, LLVMIntEQ, e->first_thread, LLVMConstInt(i32, 0, 0), "");
		LLVMBuildCondBr(e->b, last, after, s->group_head);
	} else {
		next = LLVMBuildAdd(e->b, e->first_thread, lanes, "");
		LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, s->thread_end, ""), s->group_head, after);
	}
	LLVMValueRef values[2] = { first, next };
	LLVMBasicBlockRef ways[2] = { from, s->group_next };
	LLVMAddIncoming(e->first_thread, values, ways, 2);
	LLVMPositionBuilderAtEnd(e->b, s->group_head);
}

static void begin_function(struct emitter *e)
{
	struct emitter_state *s = e->state;
	LLVMTypeRef i32 = int_type(e, 32), i64 = int_type(e, 64);
	bool is_kernel = e->ir->kernel->is_entry;
	if (e->target->hooks) {
		e->target->hooks->begin_function(e);
		return;
	}
	if (is_kernel)
		begin_kernel(e);
	else
		begin_called_function(e);
	add_attribute(e, "target-cpu", e->target->cpu);
	add_attribute(e, "target-features", e->target->features);
	add_attribute(e, "prefer-vector-width", "256");
	add_attribute(e, "probe-stack", "inline-asm"); /* a large frame must not step over the stack's guard */
	add_enum_attribute(e, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
	e->block = LLVMGetParam(e->function, 0);
	s->prologue = new_block(e, "prologue");
	s->done = new_block(e, "done");
	LLVMPositionBuilderAtEnd(e->b, s->prologue);
	s->launch = block_field(e, ptr_type(e), offsetof(struct cpu_block, launch));
	if (is_kernel)
		s->parameters = block_field(e, ptr_type(e), offsetof(struct cpu_block, parameters));
	s->symbols = is_kernel ? block_field(e, ptr_type(e), offsetof(struct cpu_block, symbols)) : LLVMGetParam(e->function, 4);
	s->services = block_field(e, ptr_type(e), offsetof(struct cpu_block, services));
	s->shared = block_field(e, i64, offsetof(struct cpu_block, shared));
	if (is_kernel) {
		s->local = block_field(e, i64, offsetof(struct cpu_block, local));
	} else {
		LLVMValueRef own = LLVMBuildAlloca(e->b, LLVMArrayType2(int_type(e, 8), e->ir->local_bytes + 1), "local");
		LLVMSetAlignment(own, 64);
		s->local = LLVMBuildPtrToInt(e->b, own, i64, "");
	}
	s->scratch = make_scratch(e);
	LLVMValueRef lanes[MAX_WIDTH];
	for (unsigned i = 0; i < e->width; i++)
		lanes[i] = LLVMConstInt(i32, i, 0);
	s->lane_numbers = e->width > 1 ? LLVMConstVector(lanes, e->width) : lanes[0];

	LLVMPositionBuilderAtEnd(e->b, s->done);
	LLVMBuildRetVoid(e->b);
	if (is_kernel && e->ir->rows) {
		begin_rows(e);
		return;
	}
	if (is_kernel && !e->ir->region_count) {
		begin_groups(e, s->prologue, s->done, false);
		return;
	}
	s->group_head = new_block(e, "group");
	s->group_next = s->done; /* the thread of a function is done; regions have loops of their own */
	LLVMPositionBuilderAtEnd(e->b, s->prologue);
	LLVMBuildBr(e->b, s->group_head);
	LLVMPositionBuilderAtEnd(e->b, s->group_head);
}

static bool emit_kernel(struct emitter *e)
{
	struct emitter_state *s = e->state;
	begin_function(e);
	plan_build(&s->plan, s->arena, e->ir);
	s->nodes = arena_array(s->arena, struct block_code, s->plan.node_count);
	if (e->ir->region_count && !fission_prepare(e)) {
		s->uncut = true;
		return false;
	}
	emitter_init_values(e);
	emit_blocks(e);
	/* Something else waits for other threads: it needs a fiber. */
	s->uncut = s->fission && s->unit->kernel_flags & KERNEL_SUSPENDS;
	return !s->failed && !s->uncut;
}

static uint32_t groups_of_block(const struct emitter *e)
{
	const uint32_t *block = e->ir->options.block;
	return block[0] * block[1] * block[2] / e->lanes;
}

static bool optimise(struct emitter *e, LLVMTargetMachineRef machine, unsigned opt_level)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	/* What pays for straight SIMD code, and no more: facts measured on the table of kernels in docs/performance.md. */
	const char *passes = opt_level > 1 ? "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,"
					     "instcombine<no-verify-fixpoint>,simplifycfg)" :
			     opt_level	   ? "function(mem2reg,early-cse,instsimplify,simplifycfg,adce)" :
					     "function(sroa)";
	if (e->target->hooks)
		passes = opt_level ? e->target->hooks->passes : "always-inline,function(infer-address-spaces,sroa)";
	LLVMErrorRef error = LLVMRunPasses(e->module, passes, machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (!error && opt_level > 1 && e->width > 1 && e->state->fission)
		forward_shared(LLVMGetNamedFunction(e->module, "kernel"), e->state->arena);
	if (!error && opt_level > 0 && e->width > 1 && !e->target->bit_masks)
		widen_masks(e->module, e->state->arena);
	if (!error && opt_level > 1 && e->width > 1 && !e->ir->region_count)
		begin_groups_ahead(e->module, groups_of_block(e));
	if (!error && opt_level > 1 && e->width > 1)
		interleave_chains(e->module);
	if (!error)
		return true;
	char *message = LLVMGetErrorMessage(error);
	log_error("LLVM: %s", message);
	LLVMDisposeErrorMessage(message);
	return false;
}

static void dump_text(const char *what, const char *kernel, const char *text)
{
	if (env_dump(what))
		fprintf(stderr, "; ---- %s of %s\n%s\n", what, kernel, text);
}

static void dump_llvm(struct emitter *e)
{
	if (!env_dump("llvm"))
		return;
	char *text = LLVMPrintModuleToString(e->module);
	dump_text("llvm", e->ir->kernel->symbol.name, text);
	LLVMDisposeMessage(text);
}

static void dump_assembly(struct emitter *e, LLVMTargetMachineRef machine)
{
	if (!env_dump("asm"))
		return;
	LLVMModuleRef copy = LLVMCloneModule(e->module); /* the passes behind it change what they are given, and would not take it again */
	LLVMMemoryBufferRef buffer;
	char *message = NULL;
	if (!LLVMTargetMachineEmitToMemoryBuffer(machine, copy, LLVMAssemblyFile, &message, &buffer)) {
		dump_text("asm", e->ir->kernel->symbol.name, LLVMGetBufferStart(buffer));
		LLVMDisposeMemoryBuffer(buffer);
	}
	LLVMDisposeModule(copy);
}

static bool verify(struct emitter *e)
{
	char *message = NULL;
	bool broken = LLVMVerifyModule(e->module, LLVMReturnStatusAction, &message);
	if (broken) {
		dump_llvm(e);
		char line[400];
		snprintf(line, sizeof line, "%s", message);
		e->inst = NULL;
		unsupported(e, "internal error, please report it: LLVM says: %s", line);
	}
	LLVMDisposeMessage(message);
	return !broken;
}

/* On a GPU with what the library keeps behind it; for clusters the program's alone, which is not LDS. */
static uint32_t shared_bytes(struct emitter *e)
{
	uint32_t bytes = e->ir->shared_bytes;
	if (!e->target->hooks)
		return bytes;
	return (uint32_t)align_up(bytes, 16) + (e->ir->options.cluster ? 0 : e->state->unit->library_shared);
}

static void fill_info(struct emitter *e, struct compile_result *result)
{
	struct ir_func *ir = e->ir;
	const struct ptx_function *kernel = ir->kernel;
	uint32_t most = 0;
	const uint32_t *bound = kernel->reqntid[0] ? kernel->reqntid : kernel->maxntid;
	if (bound[0])
		most = bound[0] * (bound[1] ? bound[1] : 1) * (bound[2] ? bound[2] : 1);
	result->info = (struct kernel_info){
		.abi = e->target->hooks ? AMD_ABI : CPU_ABI,
		.lanes = ir->lanes,
		.shared_bytes = shared_bytes(e),
		.shared_align = ir->shared_align,
		.local_bytes = ir->local_bytes,
		.parameter_bytes = kernel->parameter_bytes,
		.max_threads = most,
		.registers = 32,
		.context_bytes = fission_context_bytes(e),
		.flags = e->state->unit->kernel_flags,
		.symbol_count = (uint32_t)e->state->unit->symbol_list.count,
	};
	struct text names = { 0 };
	for (size_t i = 0; i < e->state->unit->symbol_list.count; i++)
		text_add(&names, e->state->unit->symbol_list.data[i]->name, strlen(e->state->unit->symbol_list.data[i]->name) + 1);
	result->symbols = names.data;
	result->symbols_size = names.count;
}

static void keep_object(const char *folder, uint64_t number, const char *ending, const void *object, size_t size)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%016" PRIx64 ".%s", folder, number, ending);
	FILE *file = fopen(path, "wb");
	bool written = file && fwrite(object, 1, size, file) == size;
	if (!file || fclose(file) || !written)
		log_error("DRAGOMAN_DUMP=object: %s cannot be written", path);
}

/* What HIP loads in place of the relocatable object. */
static bool link_object(struct emitter *e, struct compile_result *result)
{
	char error[256];
	size_t size;
	void *linked = amd_link(result->object, result->object_size, &size, error, sizeof error);
	e->inst = NULL;
	if (!linked) {
		unsupported(e, "internal error, please report it: %s", error);
		return false;
	}
	if (env_dump("object")) { /* named by their contents: many kernels of tests are alike */
		const char *folder = env_get("DRAGOMAN_DUMP_FOLDER");
		uint64_t number = hash_bytes(result->object, result->object_size, 0);
		keep_object(folder ? folder : ".", number, "o", result->object, result->object_size);
		keep_object(folder ? folder : ".", number, "co", linked, size);
	}
	free(result->object);
	result->object = linked;
	result->object_size = size;
	return true;
}

static bool write_object(struct emitter *e, LLVMTargetMachineRef machine, struct compile_result *result)
{
	LLVMMemoryBufferRef buffer;
	char *message = NULL;
	if (LLVMTargetMachineEmitToMemoryBuffer(machine, e->module, LLVMObjectFile, &message, &buffer)) {
		e->inst = NULL;
		unsupported(e, "LLVM cannot make code: %s", message);
		LLVMDisposeMessage(message);
		return false;
	}
	result->object_size = LLVMGetBufferSize(buffer);
	result->object = malloc(result->object_size ? result->object_size : 1);
	if (result->object)
		memcpy(result->object, LLVMGetBufferStart(buffer), result->object_size);
	LLVMDisposeMemoryBuffer(buffer);
	return result->object && (!e->target->hooks || link_object(e, result));
}

/* ---- compilation ------------------------------------------------------------------------------------------------------------ */

static pthread_once_t llvm_once = PTHREAD_ONCE_INIT;

/* LLVM's scheduler compares the memory accesses of a block in pairs up to so many: with its own limits, 1000 and 500, straight code
 * with hundreds of them (inlined functions of -G, unrolled sorts) took most of its time. Scheduling a second time, when registers are
 * assigned, took a fifth of the rest and does nothing for CPUs that reorder by themselves. And CodeGenPrepare goes through a whole
 * function again after each change but where it takes it for huge, as it shall always: half of the time of scalar code in a thousand
 * blocks. DRAGOMAN_LLVM adds options of LLVM's own (and keeps the cache out of it). */
static void llvm_start(void)
{
	static char text[1000]; /* LLVM keeps what it is given */
	const char *options[32] = { "dragoman", "-dag-maps-huge-region=50", "-dag-maps-reduction-size=25", "-disable-post-ra",
				      "-cgpp-huge-func=0" };
	const char *more = env_get("DRAGOMAN_LLVM");
	int count = 5;
	char *rest;
	snprintf(text, sizeof text, "%s", more ? more : "");
	for (char *word = strtok_r(text, " ", &rest); word && count < (int)ARRAY_LENGTH(options); word = strtok_r(NULL, " ", &rest))
		options[count++] = word;
	LLVMInitializeNativeTarget();
	LLVMInitializeNativeAsmPrinter();
#ifdef DRAGOMAN_AMDGPU
	LLVMInitializeAMDGPUTargetInfo();
	LLVMInitializeAMDGPUTarget();
	LLVMInitializeAMDGPUTargetMC();
	LLVMInitializeAMDGPUAsmPrinter();
#endif
	LLVMParseCommandLineOptions(count, options, NULL);
}

/* Code with debug information (-G) is not optimised as it comes, everything inlined here included: beyond some size it is not here either. */
static unsigned opt_level_for(const struct ir_func *ir, unsigned wanted)
{
	enum { LARGE = 1000 };
	size_t count = 0;
	for (size_t i = 0; ir->module->debug && i < ir->blocks.count; i++)
		count += ir->blocks.data[i].insts.count;
	return count > LARGE ? 0 : wanted;
}

struct compilation {
	struct arena arena;
	struct target target;
	struct compile_options options;
	struct emitter e;
	struct emitter_state state;
	struct emitter_unit unit;
	struct machine *machine;
};

static void compilation_fini(struct compilation *c)
{
	if (c->e.b)
		LLVMDisposeBuilder(c->e.b);
	if (c->e.module)
		LLVMDisposeModule(c->e.module);
	if (c->e.context)
		LLVMContextDispose(c->e.context);
	if (c->machine)
		machine_give(c->machine);
	if (c->e.ir)
		ir_destroy(c->e.ir);
	vec_fini(&c->state.rooms);
	vec_fini(&c->unit.symbol_list);
	map_fini(&c->unit.symbol_numbers);
	vec_fini(&c->unit.functions);
	map_fini(&c->unit.function_numbers);
	text_fini(&c->unit.prelude);
	arena_fini(&c->arena);
}

/* The IR of a kernel or of a function that it calls. */
static struct ir_func *build_ir(struct compilation *c, const struct ptx_module *module, const struct ptx_function *function,
				struct ptx_diagnostic *diagnostic)
{
	struct ir_func *ir = ir_build(&c->arena, module, function, &c->options, diagnostic);
	struct text text = { 0 };
	if (ir && env_dump("ir")) {
		ir_print(ir, &text);
		dump_text("ir", function->symbol.name, text.data);
		text.count = 0;
	}
	if (ir && env_flag("DRAGOMAN_VALIDATE") && !ir_verify(ir, &text)) {
		ptx_error(diagnostic, module, function, function->symbol.location, "internal error, please report it: %s", text.data);
		ir_destroy(ir);
		ir = NULL;
	}
	text_fini(&text);
	return ir;
}

static bool start_module(struct compilation *c, const char *name)
{
	struct emitter *e = &c->e;
	c->machine = machine_take(&c->target, c->options.opt_level);
	if (!c->machine)
		return false;
	e->context = LLVMContextCreate();
	e->module = LLVMModuleCreateWithNameInContext(name, e->context);
	LLVMSetTarget(e->module, c->target.triple);
	LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine_llvm(c->machine));
	LLVMSetModuleDataLayout(e->module, layout);
	LLVMDisposeTargetData(layout);
	e->b = LLVMCreateBuilderInContext(e->context);
	e->target = &c->target;
	return true;
}

/* Emits c->e.ir into the module. */
static bool emit_ir(struct compilation *c, struct ptx_diagnostic *diagnostic)
{
	struct emitter *e = &c->e;
	vec_fini(&c->state.rooms);
	c->state = (struct emitter_state){ .arena = &c->arena, .unit = &c->unit };
	c->unit.kernel_flags |= e->ir->kernel_flags;
	e->diagnostic = diagnostic;
	e->inst = NULL;
	e->width = e->ir->width;
	e->chunks = e->ir->chunks;
	e->lanes = e->ir->lanes;
	e->w = 1;
	e->state = &c->state;
	return emit_kernel(e);
}

/* false: said with unsupported(). In functions that are called threads are resumed only where what they wait for is done there too: others of
 * the warp, which did not call, go on when the function is over. */
static bool runs_in_step(struct compilation *c, bool kernel_resumes, struct ptx_diagnostic *diagnostic)
{
	const char *why = c->e.ir->apart;
	if (!why && c->options.in_step && kernel_resumes && c->e.ir->flags_used & ISA_BARRIER)
		why = "barriers, in a kernel whose threads come to such by themselves";
	if (!why)
		return true;
	c->e.state = &c->state;
	c->e.diagnostic = diagnostic;
	c->e.inst = NULL;
	unsupported(&c->e, "%s, in a function that is called and not inlined: not on a GPU that runs the threads of a warp in step", why);
	return false;
}

/* Functions that are called through pointers or recursively: one thread at a time, in the same object. */
static bool emit_called_functions(struct compilation *c, const struct ptx_module *module, struct ptx_diagnostic *diagnostic)
{
	struct ir_func *kernel = c->e.ir;
	bool ok = true;
	c->options.lanes = 1;
	for (size_t i = 0;; i++) {
		if (i == c->unit.functions.count && c->unit.calls_pointers) {
			c->unit.calls_pointers = false;
			add_pointed_functions(&c->unit, module);
		}
		if (i >= c->unit.functions.count || !ok)
			break;
		c->e.ir = build_ir(c, module, c->unit.functions.data[i], diagnostic);
		ok = c->e.ir && runs_in_step(c, kernel->resumes, diagnostic) && emit_ir(c, diagnostic);
		if (c->e.ir)
			ir_destroy(c->e.ir);
	}
	c->e.ir = kernel;
	return ok;
}

/* Up to verified LLVM IR, not optimised. */
static bool compilation_try(struct compilation *c, const struct ptx_module *module, const struct ptx_function *kernel,
			     const struct compile_options *options, struct ptx_diagnostic *diagnostic)
{
	pthread_once(&llvm_once, llvm_start);
	arena_init(&c->arena);
	c->options = *options;
	if (!target_init(&c->target, options)) {
		ptx_error(diagnostic, module, kernel, kernel->symbol.location, "no code can be made for the target '%s'", options->target);
		return false;
	}
	c->options.vector = (uint8_t)c->target.width;
	if (c->target.hooks) {
		const uint32_t *block = options->block;
		c->options.lanes = 1;
		c->options.in_step = true;
		c->options.two_warps = c->target.wave64 && block[0] * block[1] * block[2] > AMD_PADDED_THREADS_MAX;
	}
	c->e.ir = build_ir(c, module, kernel, diagnostic);
	if (!c->e.ir)
		return false;
	c->options.opt_level = (uint8_t)opt_level_for(c->e.ir, c->e.ir->options.opt_level);
	c->options.may_be_quick = false; /* it is decided, for the functions that are called too */
	if (options->may_be_quick && c->options.opt_level == 2 && ir_takes_long(c->e.ir)) {
		ir_destroy(c->e.ir);
		c->options.opt_level = 1;
		c->e.ir = build_ir(c, module, kernel, diagnostic);
		if (!c->e.ir)
			return false;
	}
	if (!start_module(c, kernel->symbol.name))
		return false;
	if (!emit_ir(c, diagnostic) || !emit_called_functions(c, module, diagnostic))
		return false;
	return (!c->target.hooks || c->target.hooks->finish_module(&c->e)) && verify(&c->e);
}

static bool compilation_emit(struct compilation *c, const struct ptx_module *module, const struct ptx_function *kernel,
			     const struct compile_options *options, struct ptx_diagnostic *diagnostic)
{
	struct compile_options own = *options;
	bool ok = compilation_try(c, module, kernel, options, diagnostic);
	if (ok || !c->state.uncut)
		return ok;
	compilation_fini(c);
	*c = (struct compilation){ 0 };
	own.fibers = true;
	return compilation_try(c, module, kernel, &own, diagnostic);
}

static bool compile(const struct ptx_module *module, const struct ptx_function *kernel, const struct compile_options *options,
		    struct compile_result *result, struct ptx_diagnostic *diagnostic)
{
	struct compilation c = { 0 };
	*result = (struct compile_result){ 0 };
	uint64_t start = clock_ns();
	bool ok = compilation_emit(&c, module, kernel, options, diagnostic);
	if (ok) {
		ok = optimise(&c.e, machine_llvm(c.machine), c.options.opt_level);
		dump_llvm(&c.e);
		dump_assembly(&c.e, machine_llvm(c.machine));
	}
	if (ok)
		fill_info(&c.e, result);
	result->quick = c.options.opt_level == 1 && options->opt_level == 2;
	ok = ok && write_object(&c.e, machine_llvm(c.machine), result);
	compilation_fini(&c);
	log_debug("%s %s for %u,%u,%u in %.1f ms", ok ? "compiled" : "could not compile", kernel->symbol.name, options->block[0],
		  options->block[1], options->block[2], (double)(clock_ns() - start) / 1e6);
	if (!ok)
		compile_result_fini(result);
	return ok;
}

static char *dump(const struct ptx_module *module, const struct ptx_function *kernel, const struct compile_options *options,
		  const char *what, struct ptx_diagnostic *diagnostic)
{
	struct compilation c = { 0 };
	char *out = NULL;
	if (compilation_emit(&c, module, kernel, options, diagnostic)) {
		struct text text = { 0 };
		if (!strcmp(what, "ir")) {
			ir_print(c.e.ir, &text);
			out = text.data;
		} else if (optimise(&c.e, machine_llvm(c.machine), c.options.opt_level)) {
			LLVMMemoryBufferRef buffer;
			char *message = NULL;
			if (!strcmp(what, "llvm")) {
				char *printed = LLVMPrintModuleToString(c.e.module);
				out = strdup(printed);
				LLVMDisposeMessage(printed);
			} else if (!LLVMTargetMachineEmitToMemoryBuffer(machine_llvm(c.machine), c.e.module, LLVMAssemblyFile, &message, &buffer)) {
				out = strndup(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
				LLVMDisposeMemoryBuffer(buffer);
			}
		}
	}
	compilation_fini(&c);
	return out;
}

__attribute__((visibility("default"))) const struct compiler *dragoman_compiler(void)
{
	static char version[64];
	static struct compiler compiler = { COMPILER_INTERFACE, version, compile, dump };
	unsigned major, minor, patch;
	LLVMGetVersion(&major, &minor, &patch);
	snprintf(version, sizeof version, "dragoman %s, LLVM %u.%u.%u", DRAGOMAN_VERSION, major, minor, patch);
	return &compiler;
}
