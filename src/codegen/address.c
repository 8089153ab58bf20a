/* Where memory operands point, and loads and stores of a piece's lanes.
 *
 * Generic, global and constant addresses are host pointers. Shared addresses are offsets from the block's shared memory, local ones
 * offsets in the thread's own (PTX ISA 5.1, 6.4). A lane that takes no part reads from and writes to a scratch
 * place instead of being branched around: a branch a lane costs more than all of the access. */
#include "codegen/state.h"

#include <stddef.h>

#include "backend/cpu/abi.h"
#include "backend/status.h"
#include "codegen/memory.h"
#include "codegen/quick.h"

/* Bytes that lanes that are off may be beyond their range, which is of those that are here: as far as a group's lanes are from each other. */
enum { GROUP_REACH = 8 << 10 };

static LLVMValueRef i64_of(struct emitter *e, uint64_t value)
{
	return LLVMConstInt(int_type(e, 64), value, 0);
}

static LLVMValueRef lane_number(struct emitter *e, unsigned lane)
{
	return LLVMConstInt(int_type(e, 32), lane, 0);
}

static LLVMValueRef add64(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
	return LLVMBuildAdd(e->b, a, b, "");
}

static LLVMValueRef to_pointer(struct emitter *e, LLVMValueRef v)
{
	LLVMTypeRef type = ptr_type(e);
	if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind)
		type = LLVMVectorType(type, LLVMGetVectorSize(LLVMTypeOf(v)));
	return LLVMBuildIntToPtr(e->b, v, type, "");
}

LLVMValueRef symbol_address(struct emitter *e, const struct ptx_symbol *symbol)
{
	struct emitter_state *s = e->state;
	uintptr_t number = (uintptr_t)map_get(&s->unit->symbol_numbers, symbol->name);
	if (!number) {
		vec_push(&s->unit->symbol_list, symbol);
		number = s->unit->symbol_list.count;
		map_put(&s->unit->symbol_numbers, symbol->name, (void *)number);
	}
	LLVMValueRef index = LLVMConstInt(int_type(e, 64), number - 1, 0);
	LLVMValueRef slot = LLVMBuildGEP2(e->b, ptr_type(e), s->symbols, &index, 1, "");
	LLVMValueRef load = LLVMBuildLoad2(e->b, int_type(e, 64), slot, symbol->name);
	unsigned kind = LLVMGetMDKindIDInContext(e->context, "invariant.load", 14);
	LLVMSetMetadata(load, kind, LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, NULL, 0)));
	return load;
}

/* ---- windows -------------------------------------------------------------------------------------------------------- */

static enum ptx_space base_space(struct emitter *e, const struct ptx_operand *base, enum ptx_space space)
{
	if (base->kind != PTX_OP_SYMBOL || base->symbol->kind != PTX_SYMBOL_VARIABLE)
		return space == PTX_SPACE_PARAM ? PTX_SPACE_GENERIC : space; /* [%rd] in .param: mov gave a host address */
	const struct ptx_variable *variable = (const struct ptx_variable *)base->symbol;
	if (ir_find_object(e->ir, e->inst->instance, variable) && variable->space == PTX_SPACE_PARAM)
		return PTX_SPACE_LOCAL; /* a call's parameter that lives in memory */
	if (space == PTX_SPACE_GENERIC || space == PTX_SPACE_PARAM)
		return variable->space == PTX_SPACE_PARAM ? PTX_SPACE_GENERIC : variable->space;
	return space;
}

/* Start of the local memory of the current piece's lane 0: i64, scalar. A function that is called keeps its own on its stack. */
static LLVMValueRef local_base(struct emitter *e)
{
	if (!e->ir->kernel->is_entry)
		return e->state->local;
	enum piece piece = e->piece;
	unsigned w = e->w;
	if (piece == PIECE_CHUNK)
		e->piece = PIECE_BASE;
	e->w = 1;
	LLVMValueRef thread = LLVMBuildZExt(e->b, thread_index(e), int_type(e, 64), "");
	e->piece = piece;
	e->w = w;
	return add64(e, e->state->local, LLVMBuildMul(e->b, thread, i64_of(e, align_up(e->ir->local_bytes, 16)), ""));
}

static LLVMValueRef lane_steps(struct emitter *e, int64_t stride)
{
	LLVMValueRef steps[MAX_WIDTH];
	for (unsigned i = 0; i < e->w; i++)
		steps[i] = i64_of(e, (uint64_t)stride * i);
	return LLVMConstVector(steps, e->w);
}

LLVMValueRef local_window(struct emitter *e)
{
	LLVMValueRef base = local_base(e);
	if (e->w == 1)
		return base;
	return add64(e, splat(e, base), lane_steps(e, (int64_t)align_up(e->ir->local_bytes, 16)));
}

static LLVMValueRef window_of(struct emitter *e, enum ptx_space space)
{
	if (space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER)
		return e->state->shared;
	return space == PTX_SPACE_LOCAL ? local_base(e) : NULL;
}

/* The shape of an address operand's base register; immediates and symbols are uniform. */
static struct ir_shape base_shape(struct emitter *e, const struct ptx_operand *base)
{
	struct ir_shape uniform = { .kind = IR_UNIFORM, .exact = true };
	if (base->kind != PTX_OP_REGISTER)
		return uniform;
	for (unsigned i = 0; i < e->inst->use_count; i++)
		if (e->inst->uses[i].operand == base && e->inst->uses[i].value != IR_NONE)
			return e->ir->values.data[e->inst->uses[i].value].shape;
	return uniform;
}

static bool is_narrow(const struct ptx_operand *base)
{
	return base->kind == PTX_OP_REGISTER && ptx_type_bits(base->reg->type) == 32;
}

/* Shared addresses of a cluster are signed (abi.h): those that have been widened without their sign get it back. */
LLVMValueRef cluster_offset(struct emitter *e, LLVMValueRef a)
{
	LLVMTypeRef narrow = int_type(e, 32);
	if (LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMVectorTypeKind)
		narrow = LLVMVectorType(narrow, LLVMGetVectorSize(LLVMTypeOf(a)));
	return LLVMBuildSExt(e->b, LLVMBuildTrunc(e->b, a, narrow, ""), LLVMTypeOf(a), "");
}

static LLVMValueRef read_base_register(struct emitter *e, const struct ptx_operand *base, enum piece piece)
{
	enum piece old = e->piece;
	unsigned w = e->w;
	bool narrow = is_narrow(base);
	e->piece = piece;
	e->w = piece == PIECE_CHUNK ? e->width : 1;
	/* Signed: where lane 0 takes no part its address may lie below zero, and the others' still follow from it. */
	LLVMValueRef v = resize(e, value_of(e, base, narrow ? PTX_U32 : PTX_U64), 64, true);
	e->piece = old;
	e->w = w;
	return v;
}

/* Of a vector that was widened the lane alone is, where nobody else may want the whole: the quick form's instructions are selected one by one. */
static LLVMValueRef lane_of_widened(struct emitter *e, LLVMValueRef v, unsigned lane)
{
	LLVMOpcode opcode = LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMUnreachable;
	if (opcode != LLVMSExt && opcode != LLVMZExt)
		return LLVMBuildExtractElement(e->b, v, lane_number(e, lane), "");
	LLVMValueRef narrow = LLVMBuildExtractElement(e->b, LLVMGetOperand(v, 0), lane_number(e, lane), "");
	return LLVMBuildCast(e->b, opcode, narrow, LLVMGetElementType(LLVMTypeOf(v)), "");
}

static struct address resolve(struct emitter *e, const struct ptx_operand *op, enum ptx_space space, unsigned access_bytes, bool any_order)
{
	const struct ptx_operand *base = op->kind == PTX_OP_ADDRESS ? &op->parts[0] : op;
	struct ir_shape shape = base_shape(e, base);
	int64_t offset = op->kind == PTX_OP_ADDRESS ? op->offset : 0;
	if (shape.kind == IR_AFFINE && is_narrow(base) && ir_stride_is_far(shape.stride))
		shape.kind = IR_VARYING;
	space = base_space(e, base, space);
	if (e->target->hooks) {
		LLVMValueRef p = e->target->hooks->pointer(e, base, read_base_register(e, base, e->piece), space, offset);
		return (struct address){ .kind = ADDRESS_ONE, .pointer = p, .align = access_bytes };
	}
	int64_t window_stride = space == PTX_SPACE_LOCAL && e->lanes > 1 ? (int64_t)align_up(e->ir->local_bytes, 16) : 0;
	bool lanes = e->piece == PIECE_CHUNK && e->lanes > 1;
	bool own = space == PTX_SPACE_SHARED && base->kind == PTX_OP_REGISTER && shape.low + offset >= 0;
	bool inside = own && shape.high <= SHARED_WINDOW - GROUP_REACH - offset - (int64_t)access_bytes;
	if (!lanes || shape.kind != IR_VARYING) {
		enum piece piece = !lanes ? e->piece : shape.kind == IR_UNIFORM ? PIECE_UNIFORM : PIECE_BASE;
		LLVMValueRef a = read_base_register(e, base, piece);
		if (space == PTX_SPACE_SHARED_CLUSTER)
			a = cluster_offset(e, a);
		LLVMValueRef window = window_of(e, space);
		if (window)
			a = add64(e, a, window);
		if (offset)
			a = add64(e, a, i64_of(e, (uint64_t)offset));
		int64_t stride = lanes ? (shape.kind == IR_AFFINE ? shape.stride : 0) + window_stride : 0;
		return (struct address){ .kind = stride ? ADDRESS_STRIDED : ADDRESS_ONE, .pointer = to_pointer(e, a), .stride = stride,
					 .align = access_bytes, .own = own, .inside = inside };
	}
	LLVMValueRef a = read_base_register(e, base, PIECE_CHUNK), window = window_of(e, space);
	if (any_order && shape.flip && shape.stride == access_bytes && !window_stride && space != PTX_SPACE_SHARED_CLUSTER) {
		a = lane_of_widened(e, a, shape.flip);
		a = window ? add64(e, a, window) : a;
		a = add64(e, a, i64_of(e, (uint64_t)offset));
		return (struct address){ .kind = ADDRESS_STRIDED, .pointer = to_pointer(e, a), .stride = shape.stride, .align = access_bytes,
					 .flip = shape.flip, .own = own, .inside = inside };
	}
	struct address address = { .kind = ADDRESS_LANES, .align = access_bytes };
	if (space == PTX_SPACE_SHARED && is_narrow(base)) {
		address.window = window;
		address.offsets = LLVMBuildTrunc(e->b, add64(e, a, kbits(e, 64, (uint64_t)offset)), LLVMVectorType(int_type(e, 32), e->w), "");
		address.words = words_side_by_side(e, base, address.offsets);
	}
	if (space == PTX_SPACE_SHARED_CLUSTER)
		a = cluster_offset(e, a);
	if (window) {
		window = splat(e, window);
		a = add64(e, a, window_stride ? add64(e, window, lane_steps(e, window_stride)) : window);
	}
	if (offset)
		a = add64(e, a, kbits(e, 64, (uint64_t)offset));
	address.pointer = to_pointer(e, a);
	return address;
}

/* The lanes that take part and whose address is no multiple of the access's size: i1 or <w x i1>. */
static LLVMValueRef misaligned_lanes(struct emitter *e, struct address address, unsigned bytes)
{
	LLVMValueRef low;
	if (address.kind == ADDRESS_LANES) {
		low = LLVMBuildPtrToInt(e->b, address.pointer, LLVMVectorType(int_type(e, 64), e->w), "");
	} else {
		low = splat(e, LLVMBuildPtrToInt(e->b, address.pointer, int_type(e, 64), ""));
		if (address.kind == ADDRESS_STRIDED)
			low = add64(e, low, lane_steps(e, address.stride));
	}
	low = LLVMBuildAnd(e->b, low, splat(e, i64_of(e, bytes - 1)), "");
	LLVMValueRef bad = LLVMBuildICmp(e->b, LLVMIntNE, low, LLVMConstNull(LLVMTypeOf(low)), "misaligned");
	return e->mask ? LLVMBuildAnd(e->b, bad, e->mask, "") : bad;
}

/* A card reports an error where an address is not aligned; PTX (5, "Addresses as Operands") leaves undefined what comes of it, and code for
 * this machine goes on. DRAGOMAN_CHECK_ALIGNMENT=1 is for finding such programs. */
static void check_alignment(struct emitter *e, struct address address, unsigned bytes)
{
	LLVMTypeRef i32 = int_type(e, 32), types[] = { i32, i32 };
	LLVMValueRef bad = misaligned_lanes(e, address, bytes);
	LLVMValueRef bits = e->w > 1 ? LLVMBuildBitCast(e->b, bad, int_type(e, e->w), "") : bad;
	bits = LLVMBuildZExtOrBitCast(e->b, bits, i32, "");
	LLVMBasicBlockRef some = new_block(e, "misaligned"), after = new_block(e, "aligned");
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, bits, LLVMConstNull(i32), ""), some, after);
	LLVMPositionBuilderAtEnd(e->b, some);
	unsigned id = LLVMLookupIntrinsicID("llvm.cttz", 9);
	LLVMValueRef args[] = { bits, LLVMConstInt(int_type(e, 1), 1, 0) };
	LLVMValueRef lane = LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, &i32, 1),
					   LLVMGetIntrinsicDeclaration(e->module, id, &i32, 1), args, 2, "");
	LLVMValueRef first = e->w > 1 ? LLVMBuildAdd(e->b, e->first_thread, LLVMConstInt(i32, e->chunk * e->width, 0), "") : e->first_thread;
	LLVMValueRef arguments[] = { LLVMBuildAdd(e->b, first, lane, ""), LLVMConstInt(i32, STATUS_MISALIGNED_ADDRESS, 0) };
	call_service(e, offsetof(struct cpu_services, trap), LLVMVoidTypeInContext(e->context), types, arguments, 2);
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, after);
}

static struct address checked_address(struct emitter *e, const struct ptx_operand *op, enum ptx_space space, unsigned access_bytes, bool any_order)
{
	bool check = e->ir->options.check_alignment && access_bytes > 1 && space != PTX_SPACE_PARAM; /* it names the lane */
	struct address address = resolve(e, op, space, access_bytes, any_order && !check);
	if (check)
		check_alignment(e, address, access_bytes);
	return address;
}

struct address emit_address(struct emitter *e, const struct ptx_operand *op, enum ptx_space space, unsigned access_bytes)
{
	return checked_address(e, op, space, access_bytes, false);
}

struct address emit_address_in_any_order(struct emitter *e, const struct ptx_operand *op, enum ptx_space space, unsigned access_bytes)
{
	return checked_address(e, op, space, access_bytes, true);
}

/* ---- accesses ---------------------------------------------------------------------------------------------------------- */

static LLVMValueRef plain_load(struct emitter *e, LLVMTypeRef type, LLVMValueRef pointer, unsigned align, bool is_volatile)
{
	LLVMValueRef v = LLVMBuildLoad2(e->b, type, pointer, "");
	LLVMSetAlignment(v, align);
	LLVMSetVolatile(v, is_volatile);
	fission_mark_access(e, v, true);
	return v;
}

static void plain_store(struct emitter *e, LLVMValueRef value, LLVMValueRef pointer, unsigned align, bool is_volatile)
{
	LLVMValueRef v = LLVMBuildStore(e->b, value, pointer);
	LLVMSetAlignment(v, align);
	LLVMSetVolatile(v, is_volatile);
	fission_mark_access(e, v, true);
}

static LLVMValueRef or_scratch(struct emitter *e, LLVMValueRef condition, LLVMValueRef pointer)
{
	if (condition && LLVMIsConstant(condition))
		return LLVMIsNull(condition) ? e->state->scratch : pointer;
	return condition ? LLVMBuildSelect(e->b, condition, pointer, e->state->scratch, "") : pointer;
}

/* Where a vector of memory of the block's own can be read or written, whoever takes part. Where one of its lanes is in place all of it is
 * mapped, as no block has the end of the window (backend/cpu/abi.h). */
static LLVMValueRef own_pointer(struct emitter *e, struct address address)
{
	return address.inside ? address.pointer : or_scratch(e, any_lane(e, e->mask), address.pointer);
}

/* Which lanes take part is known now: those that do not need no place of their own. */
static bool is_known(LLVMValueRef mask)
{
	return mask && LLVMIsConstant(mask);
}

static bool is_left_out(struct emitter *e, unsigned lane)
{
	return is_known(e->mask) && LLVMIsNull(LLVMBuildExtractElement(e->b, e->mask, lane_number(e, lane), ""));
}

/* Are they one or two, as is known now? Then they are scalar accesses. */
static bool is_known_few(struct emitter *e)
{
	unsigned here = 0;
	for (unsigned i = 0; is_known(e->mask) && i < e->w; i++)
		here += !is_left_out(e, i);
	return is_known(e->mask) && here <= 2;
}

/* ptr of one lane, the scratch place where it takes no part */
static LLVMValueRef safe_pointer(struct emitter *e, struct address address, LLVMValueRef safe_lanes, unsigned lane)
{
	if (address.kind == ADDRESS_LANES && safe_lanes == address.pointer)
		return lane_pointer(e, address, lane);
	if (address.kind == ADDRESS_LANES)
		return LLVMBuildExtractElement(e->b, safe_lanes, lane_number(e, lane), "");
	LLVMValueRef at = LLVMConstInt(int_type(e, 64), (uint64_t)address.stride * lane, 0);
	LLVMValueRef p = LLVMBuildGEP2(e->b, int_type(e, 8), address.pointer, &at, 1, "");
	return or_scratch(e, e->mask ? LLVMBuildExtractElement(e->b, e->mask, lane_number(e, lane), "") : NULL, p);
}

static LLVMValueRef safe_lanes(struct emitter *e, struct address address)
{
	if (address.kind != ADDRESS_LANES)
		return NULL;
	return e->mask && !is_known(e->mask) ? LLVMBuildSelect(e->b, e->mask, address.pointer, splat(e, e->state->scratch), "") : address.pointer;
}

static LLVMValueRef all_ones_mask(struct emitter *e)
{
	return e->mask ? e->mask : LLVMConstAllOnes(LLVMVectorType(int_type(e, 1), e->w));
}

static bool wide_lane(LLVMTypeRef lane)
{
	return LLVMGetTypeKind(lane) != LLVMVectorTypeKind && (type_bytes(lane) == 4 || type_bytes(lane) == 8);
}

static LLVMValueRef memory_intrinsic(struct emitter *e, const char *name, LLVMTypeRef const *overload, unsigned overload_count,
				     LLVMValueRef *args, unsigned count)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, (LLVMTypeRef *)overload, overload_count);
	LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, (LLVMTypeRef *)overload, overload_count);
	return LLVMBuildCall2(e->b, type, f, args, count, "");
}

/* Where a lane costs its branch nothing (a GPU), and pointers have address spaces: no scratch place. */
static LLVMValueRef load_branched(struct emitter *e, struct address address, LLVMTypeRef lane, bool is_volatile)
{
	LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(e->b), new_block(e, "load") }, after = new_block(e, "after");
	LLVMBuildCondBr(e->b, e->mask, from[1], after);
	LLVMPositionBuilderAtEnd(e->b, from[1]);
	LLVMValueRef values[2] = { LLVMConstNull(lane), plain_load(e, lane, address.pointer, address.align, is_volatile) };
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, after);
	LLVMValueRef phi = LLVMBuildPhi(e->b, lane, "");
	LLVMAddIncoming(phi, values, from, 2);
	return phi;
}

static void store_branched(struct emitter *e, struct address address, LLVMValueRef value, unsigned align, bool is_volatile)
{
	LLVMBasicBlockRef then = new_block(e, "store"), after = new_block(e, "after");
	LLVMBuildCondBr(e->b, e->mask, then, after);
	LLVMPositionBuilderAtEnd(e->b, then);
	plain_store(e, value, address.pointer, align, is_volatile);
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, after);
}

static LLVMValueRef load_scalar(struct emitter *e, struct address address, LLVMTypeRef lane, bool is_volatile)
{
	if (e->mask && e->target->hooks)
		return load_branched(e, address, lane, is_volatile);
	return plain_load(e, lane, or_scratch(e, e->mask, address.pointer), address.align, is_volatile);
}

/* Lane i becomes lane i ^ flip. */
static LLVMValueRef flipped(struct emitter *e, LLVMValueRef v, unsigned flip)
{
	LLVMValueRef order[MAX_WIDTH];
	for (unsigned i = 0; i < e->w; i++)
		order[i] = lane_number(e, i ^ flip);
	return LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(order, e->w), "");
}

/* The same access in the order of memory, and the mask that belongs to it. */
static struct address in_order(struct emitter *e, struct address address)
{
	e->mask = e->mask ? flipped(e, e->mask, address.flip) : NULL;
	address.flip = 0;
	return address;
}

LLVMValueRef load_lanes(struct emitter *e, struct address address, LLVMTypeRef lane, bool is_volatile)
{
	if (address.flip) {
		LLVMValueRef mask = e->mask, v = load_lanes(e, in_order(e, address), lane, is_volatile);
		e->mask = mask;
		return flipped(e, v, address.flip);
	}
	unsigned bytes = type_bytes(lane), align = address.align < bytes ? address.align : bytes;
	if (e->w == 1)
		return load_scalar(e, address, lane, is_volatile);
	LLVMTypeRef type = LLVMVectorType(lane, e->w);
	if (address.kind == ADDRESS_ONE) {
		LLVMValueRef p = or_scratch(e, e->mask ? any_lane(e, e->mask) : NULL, address.pointer);
		return splat(e, plain_load(e, lane, p, align, is_volatile));
	}
	if (address.kind == ADDRESS_STRIDED && address.stride == bytes) {
		if (!e->mask)
			return plain_load(e, type, address.pointer, align, is_volatile);
		if (address.own && !is_known_few(e) && (address.inside || is_volatile || !wide_lane(lane)))
			return plain_load(e, type, own_pointer(e, address), align, is_volatile);
		if (wide_lane(lane) && !is_volatile && !is_known_few(e)) {
			LLVMTypeRef overload[2] = { type, ptr_type(e) };
			LLVMValueRef args[4] = { address.pointer, LLVMConstInt(int_type(e, 32), align, 0), e->mask, LLVMConstNull(type) };
			return memory_intrinsic(e, "llvm.masked.load", overload, 2, args, 4);
		}
	}
	if (address.kind == ADDRESS_LANES && e->target->fast_gather && wide_lane(lane) && !is_volatile && !is_known_few(e)) {
		LLVMTypeRef overload[2] = { type, LLVMTypeOf(address.pointer) };
		LLVMValueRef args[4] = { address.pointer, LLVMConstInt(int_type(e, 32), align, 0), all_ones_mask(e), LLVMConstNull(type) };
		return memory_intrinsic(e, "llvm.masked.gather", overload, 2, args, 4);
	}
	if (quick_accesses(e, address, lane) && !is_volatile)
		return quick_load(e, address, lane);
	LLVMValueRef v = is_known(e->mask) ? LLVMConstNull(type) : LLVMGetPoison(type), lanes = safe_lanes(e, address);
	for (unsigned i = 0; i < e->w; i++)
		v = is_left_out(e, i) ? v : LLVMBuildInsertElement(e->b, v, plain_load(e, lane, safe_pointer(e, address, lanes, i), align, is_volatile),
					   lane_number(e, i), "");
	return v;
}

/* One address for all lanes: one of them wins, here the last that takes part. */
static void store_one(struct emitter *e, struct address address, LLVMValueRef value, unsigned align, bool is_volatile)
{
	LLVMTypeRef i32 = int_type(e, 32);
	if (!e->mask) {
		plain_store(e, LLVMBuildExtractElement(e->b, value, lane_number(e, e->w - 1), ""), address.pointer, align, is_volatile);
		return;
	}
	LLVMValueRef bits = LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, e->mask, int_type(e, e->w), ""), i32, "");
	LLVMValueRef any = LLVMBuildICmp(e->b, LLVMIntNE, bits, LLVMConstNull(i32), "");
	LLVMValueRef args[2] = { LLVMBuildOr(e->b, bits, LLVMConstInt(i32, 1, 0), ""), LLVMConstInt(int_type(e, 1), 1, 0) };
	unsigned id = LLVMLookupIntrinsicID("llvm.ctlz", 9);
	LLVMValueRef zeros = LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, &i32, 1),
					    LLVMGetIntrinsicDeclaration(e->module, id, &i32, 1), args, 2, "");
	LLVMValueRef last = LLVMBuildSub(e->b, LLVMConstInt(i32, 31, 0), zeros, "");
	plain_store(e, LLVMBuildExtractElement(e->b, value, last, ""), or_scratch(e, any, address.pointer), align, is_volatile);
}

/* Lanes that are off write what is there: a block, and a cluster, has one thread of the host. A masked store takes ten times as long where
 * there are no mask registers (Zen 3: twelve cycles), and what is read after it waits for it. */
static void store_blended(struct emitter *e, struct address address, LLVMValueRef value, unsigned align, bool is_volatile)
{
	LLVMValueRef p = own_pointer(e, address);
	LLVMValueRef old = plain_load(e, LLVMTypeOf(value), p, align, is_volatile);
	plain_store(e, LLVMBuildSelect(e->b, e->mask, value, old, ""), p, align, is_volatile);
}

static void store_contiguous(struct emitter *e, struct address address, LLVMValueRef value, unsigned align)
{
	LLVMTypeRef overload[2] = { LLVMTypeOf(value), ptr_type(e) };
	LLVMValueRef args[4] = { value, address.pointer, LLVMConstInt(int_type(e, 32), align, 0), e->mask };
	if (e->target->fast_masked_memory || is_quick(e)) {
		memory_intrinsic(e, "llvm.masked.store", overload, 2, args, 4);
		return;
	}
	/* a masked store costs ten plain ones; nearly always all lanes take part, or none */
	LLVMBasicBlockRef whole = new_block(e, "whole"), part = new_block(e, "part"), some = new_block(e, "some"), after = new_block(e, "after");
	LLVMBuildCondBr(e->b, all_lanes(e, e->mask), whole, part);
	LLVMPositionBuilderAtEnd(e->b, whole);
	plain_store(e, value, address.pointer, align, false);
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, part);
	LLVMBuildCondBr(e->b, any_lane(e, e->mask), some, after);
	LLVMPositionBuilderAtEnd(e->b, some);
	memory_intrinsic(e, "llvm.masked.store", overload, 2, args, 4);
	LLVMBuildBr(e->b, after);
	LLVMPositionBuilderAtEnd(e->b, after);
}

void store_lanes(struct emitter *e, struct address address, LLVMValueRef value, bool is_volatile)
{
	if (address.flip) {
		LLVMValueRef mask = e->mask;
		store_lanes(e, in_order(e, address), flipped(e, value, address.flip), is_volatile);
		e->mask = mask;
		return;
	}
	LLVMTypeRef type = LLVMTypeOf(value);
	if (e->w == 1) {
		unsigned bytes = type_bytes(type), align = address.align < bytes ? address.align : bytes;
		if (e->mask && e->target->hooks)
			store_branched(e, address, value, align, is_volatile);
		else
			plain_store(e, value, or_scratch(e, e->mask, address.pointer), align, is_volatile);
		return;
	}
	LLVMTypeRef lane = LLVMGetElementType(type);
	unsigned bytes = type_bytes(lane), align = address.align < bytes ? address.align : bytes;
	if (address.kind == ADDRESS_ONE) {
		store_one(e, address, value, align, is_volatile);
		return;
	}
	if (address.kind == ADDRESS_STRIDED && address.stride == bytes) {
		if (!e->mask) {
			plain_store(e, value, address.pointer, align, is_volatile);
			return;
		}
		if (address.own && !is_known_few(e) && (!e->target->fast_masked_memory || is_volatile || !wide_lane(lane))) {
			store_blended(e, address, value, align, is_volatile);
			return;
		}
		if (wide_lane(lane) && !is_volatile && !is_known_few(e)) {
			store_contiguous(e, address, value, align);
			return;
		}
	}
	if (address.kind == ADDRESS_LANES && e->target->fast_gather && wide_lane(lane) && !is_volatile && !is_known_few(e)) {
		LLVMTypeRef overload[2] = { type, LLVMTypeOf(address.pointer) };
		LLVMValueRef args[4] = { value, address.pointer, LLVMConstInt(int_type(e, 32), align, 0), all_ones_mask(e) };
		memory_intrinsic(e, "llvm.masked.scatter", overload, 2, args, 4);
		return;
	}
	if (quick_accesses(e, address, lane) && !is_volatile) {
		quick_store(e, address, value);
		return;
	}
	LLVMValueRef lanes = safe_lanes(e, address);
	for (unsigned i = 0; i < e->w; i++)
		if (!is_left_out(e, i))
			plain_store(e, LLVMBuildExtractElement(e->b, value, lane_number(e, i), ""), safe_pointer(e, address, lanes, i), align, is_volatile);
}
