/* Accesses of one to sixteen elements a lane (.v2 .v4 .v8 and the like) in as few machine accesses as the address allows:
 * lanes that stand side by side are one block of memory, shuffled apart in registers; lanes that are scattered read their
 * elements as one short vector each. */
#include "codegen/memory.h"
#include "codegen/quick.h"

#include "codegen/arith.h"

static LLVMTypeRef i32_type(struct emitter *e)
{
	return LLVMInt32TypeInContext(e->context);
}

static LLVMValueRef pointer_plus(struct emitter *e, LLVMValueRef pointer, int64_t bytes)
{
	if (!bytes)
		return pointer;
	LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(e->context), (uint64_t)bytes, true);
	return LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->context), pointer, &offset, 1, "");
}

struct address address_plus(struct emitter *e, struct address address, int64_t bytes)
{
	address.pointer = pointer_plus(e, address.pointer, bytes);
	if (address.window && bytes)
		address.window = add_(e, address.window, LLVMConstInt(LLVMTypeOf(address.window), (uint64_t)bytes, true));
	while (bytes && address.align > 1 && bytes % address.align)
		address.align /= 2;
	return address;
}

/* From 32-bit offsets two lanes are one move out of the vector, a move and a shift; from pointers each is a move, and half of them a shuffle. */
static LLVMValueRef lane_of_pair(struct emitter *e, LLVMValueRef offsets, unsigned lane)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	LLVMValueRef pair = lane_get(e, LLVMBuildBitCast(e->b, offsets, LLVMVectorType(i64, e->w / 2), "pairs"), lane / 2);
	if (lane % 2)
		return LLVMBuildLShr(e->b, pair, LLVMConstInt(i64, 32, false), "");
	return LLVMBuildAnd(e->b, pair, LLVMConstInt(i64, UINT32_MAX, false), "");
}

static LLVMValueRef lane_of_window(struct emitter *e, struct address address, unsigned lane)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
	LLVMValueRef offset = address.words ? LLVMBuildZExt(e->b, lane_of_words(e, address.words, address.offsets, lane), i64, "") :
					      lane_of_pair(e, address.offsets, lane);
	LLVMValueRef window = LLVMBuildIntToPtr(e->b, address.window, LLVMPointerTypeInContext(e->context, 0), "");
	return LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->context), window, &offset, 1, "");
}

LLVMValueRef lane_pointer(struct emitter *e, struct address address, unsigned lane)
{
	switch (address.kind) {
	case ADDRESS_STRIDED:
		return pointer_plus(e, address.pointer, address.stride * lane);
	case ADDRESS_LANES:
		return address.offsets && e->w > 1 ? lane_of_window(e, address, lane) : lane_get(e, address.pointer, lane);
	default:
		return address.pointer;
	}
}

struct address address_of_lanes(struct emitter *e, LLVMValueRef pointers, unsigned align)
{
	LLVMTypeRef pointer = LLVMPointerTypeInContext(e->context, 0);
	struct address address = { .kind = e->w > 1 ? ADDRESS_LANES : ADDRESS_ONE, .align = align };
	address.pointer = LLVMBuildIntToPtr(e->b, pointers, piece_of(e, pointer), "");
	return address;
}

LLVMValueRef mask_restrict(struct emitter *e, LLVMValueRef condition)
{
	LLVMValueRef before = e->mask;
	e->mask = before ? and_(e, before, condition) : condition;
	return before;
}

/* ---- shuffles between lanes' order and memory's order -------------------------------------------------------- */

/* Element `index` of every lane from lanes that stand one after the other, `count` elements each. */
static LLVMValueRef gather_element(struct emitter *e, LLVMValueRef block, unsigned index, unsigned count)
{
	LLVMValueRef order[MAX_WIDTH];
	for (unsigned i = 0; i < e->w; i++)
		order[i] = LLVMConstInt(i32_type(e), i * count + index, false);
	return LLVMBuildShuffleVector(e->b, block, LLVMGetUndef(LLVMTypeOf(block)), LLVMConstVector(order, e->w), "");
}

/* a followed by b; both of `size` elements. */
static LLVMValueRef concatenate(struct emitter *e, LLVMValueRef a, LLVMValueRef b, unsigned size)
{
	LLVMValueRef order[2 * MAX_WIDTH * MAX_ELEMENTS];
	for (unsigned i = 0; i < 2 * size; i++)
		order[i] = LLVMConstInt(i32_type(e), i, false);
	return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(order, 2 * size), "");
}

/* parts[0] parts[1] … of `size` elements as one vector; `count` is a power of two. Parts are used up. */
static LLVMValueRef join(struct emitter *e, LLVMValueRef *parts, unsigned count, unsigned size)
{
	for (; count > 1; count /= 2, size *= 2)
		for (unsigned i = 0; i < count / 2; i++)
			parts[i] = concatenate(e, parts[2 * i], parts[2 * i + 1], size);
	return parts[0];
}

/* Memory's order of `count` values a lane. */
static LLVMValueRef interleave(struct emitter *e, LLVMValueRef const *values, unsigned count)
{
	LLVMValueRef parts[MAX_ELEMENTS], order[MAX_WIDTH * MAX_ELEMENTS], all;
	if (e->w == 1) {
		all = LLVMGetUndef(LLVMVectorType(LLVMTypeOf(values[0]), count));
		for (unsigned i = 0; i < count; i++)
			all = LLVMBuildInsertElement(e->b, all, values[i], LLVMConstInt(i32_type(e), i, false), "");
		return all;
	}
	for (unsigned i = 0; i < count; i++)
		parts[i] = values[i];
	all = join(e, parts, count, e->w);
	for (unsigned i = 0; i < count * e->w; i++)
		order[i] = LLVMConstInt(i32_type(e), i % count * e->w + i / count, false);
	return LLVMBuildShuffleVector(e->b, all, LLVMGetUndef(LLVMTypeOf(all)), LLVMConstVector(order, count * e->w), "");
}

/* ---- loads --------------------------------------------------------------------------------------------------- */

static void load_each(struct emitter *e, struct address address, LLVMTypeRef lane, unsigned count, bool is_volatile,
		      LLVMValueRef *values)
{
	for (unsigned i = 0; i < count; i++)
		values[i] = load_lanes(e, address_plus(e, address, (int64_t)i * type_bytes(lane)), lane, is_volatile);
}

/* How `bytes` are moved at once: as an integer or a vector of 64-bit ones, so that nothing splits them. On the machines we know,
 * aligned accesses of 16 bytes are whole, which programs rely on (flag and value in one .v2.u64). */
static LLVMTypeRef whole_type(struct emitter *e, unsigned bytes)
{
	if (bytes <= 8)
		return LLVMIntTypeInContext(e->context, 8 * bytes);
	return LLVMVectorType(LLVMInt64TypeInContext(e->context), bytes / 8);
}

static LLVMValueRef load_block(struct emitter *e, LLVMValueRef pointer, LLVMTypeRef lane, unsigned count, unsigned align,
			       bool is_volatile)
{
	LLVMValueRef block = LLVMBuildLoad2(e->b, whole_type(e, type_bytes(lane) * count), pointer, "");
	LLVMSetAlignment(block, align);
	LLVMSetVolatile(block, is_volatile);
	return LLVMBuildBitCast(e->b, block, LLVMVectorType(lane, count), "");
}

/* One address for all lanes (or one lane). */
static void load_one(struct emitter *e, struct address address, LLVMTypeRef lane, unsigned count, bool is_volatile,
		     LLVMValueRef *values)
{
	LLVMValueRef pointer = address.pointer, block;
	unsigned align = address.align;
	if (e->mask) {
		pointer = LLVMBuildSelect(e->b, any_lane(e, e->mask), pointer, e->block, "");
		align = align > 8 ? 8 : align;
	}
	block = load_block(e, pointer, lane, count, align, is_volatile);
	for (unsigned i = 0; i < count; i++)
		values[i] = splat(e, LLVMBuildExtractElement(e->b, block, LLVMConstInt(i32_type(e), i, false), ""));
}

/* Scattered: each lane's elements as a short vector; lanes that are off read where nothing can go wrong. */
static void load_scattered(struct emitter *e, struct address address, LLVMTypeRef lane, unsigned count, bool is_volatile,
			   LLVMValueRef *values)
{
	LLVMValueRef parts[MAX_WIDTH], block;
	for (unsigned i = 0; i < e->w; i++) {
		LLVMValueRef pointer = lane_pointer(e, address, i);
		if (e->mask)
			pointer = LLVMBuildSelect(e->b, lane_get(e, e->mask, i), pointer, e->block, "");
		parts[i] = load_block(e, pointer, lane, count, e->mask && address.align > 8 ? 8 : address.align, is_volatile);
	}
	block = join(e, parts, e->w, count);
	for (unsigned i = 0; i < count; i++)
		values[i] = gather_element(e, block, i, count);
}

/* The elements of a lane together, where the quick form calls for accesses of their size: NULL elsewhere. */
static LLVMTypeRef called_type(struct emitter *e, struct address address, unsigned bytes, bool is_volatile)
{
	LLVMTypeRef type = bytes <= 8 ? whole_type(e, bytes) : NULL;
	bool beside = address.kind == ADDRESS_STRIDED && address.stride == (int64_t)bytes;
	return type && !beside && !is_volatile && quick_accesses(e, address, type) ? type : NULL;
}

static void load_called(struct emitter *e, struct address address, LLVMTypeRef whole, LLVMTypeRef lane, unsigned count, LLVMValueRef *values)
{
	LLVMValueRef block = LLVMBuildBitCast(e->b, quick_load(e, address, whole), LLVMVectorType(lane, e->w * count), "");
	for (unsigned i = 0; i < count; i++)
		values[i] = gather_element(e, block, i, count);
}

/* Side by side: one block, or, where some lanes are off, lane by lane. */
static void load_contiguous(struct emitter *e, struct address address, LLVMTypeRef lane, unsigned count, bool is_volatile,
			    LLVMValueRef *values)
{
	LLVMBasicBlockRef whole = NULL, some = NULL, done = NULL;
	LLVMValueRef slow[MAX_ELEMENTS], block;
	if (e->mask) {
		whole = new_block(e, "whole");
		some = new_block(e, "some");
		done = new_block(e, "loaded");
		LLVMBuildCondBr(e->b, all_lanes(e, e->mask), whole, some);
		LLVMPositionBuilderAtEnd(e->b, some);
		load_scattered(e, address, lane, count, is_volatile, slow);
		some = LLVMGetInsertBlock(e->b);
		LLVMBuildBr(e->b, done);
		LLVMPositionBuilderAtEnd(e->b, whole);
	}
	block = load_block(e, address.pointer, lane, e->w * count, address.align, is_volatile);
	for (unsigned i = 0; i < count; i++)
		values[i] = gather_element(e, block, i, count);
	if (!e->mask)
		return;
	LLVMBuildBr(e->b, done);
	LLVMPositionBuilderAtEnd(e->b, done);
	for (unsigned i = 0; i < count; i++) {
		LLVMValueRef incoming[] = { values[i], slow[i] }, phi = LLVMBuildPhi(e->b, LLVMTypeOf(values[i]), "");
		LLVMBasicBlockRef from[] = { whole, some };
		LLVMAddIncoming(phi, incoming, from, 2);
		values[i] = phi;
	}
}

void load_elements(struct emitter *e, struct address address, LLVMTypeRef lane, unsigned count, bool is_volatile,
		   LLVMValueRef *values)
{
	unsigned bytes = type_bytes(lane) * count;
	LLVMTypeRef called = count > 1 ? called_type(e, address, bytes, is_volatile) : NULL;
	if (called)
		load_called(e, address, called, lane, count, values);
	else if (count == 1 || bytes > 64 || (e->mask && e->target->hooks))
		load_each(e, address, lane, count, is_volatile, values);
	else if (e->w == 1 || address.kind == ADDRESS_ONE)
		load_one(e, address, lane, count, is_volatile, values);
	else if (address.kind == ADDRESS_STRIDED && address.stride == (int64_t)bytes)
		load_contiguous(e, address, lane, count, is_volatile, values);
	else
		load_scattered(e, address, lane, count, is_volatile, values);
}

/* ---- stores -------------------------------------------------------------------------------------------------- */

static void store_block(struct emitter *e, LLVMValueRef block, LLVMValueRef pointer, unsigned align, bool is_volatile)
{
	unsigned bytes = lane_bits(block) / 8 * LLVMGetVectorSize(LLVMTypeOf(block));
	block = LLVMBuildBitCast(e->b, block, whole_type(e, bytes), "");
	LLVMValueRef store = LLVMBuildStore(e->b, block, pointer);
	LLVMSetAlignment(store, align);
	LLVMSetVolatile(store, is_volatile);
}

struct lane_store {
	struct address address;
	LLVMValueRef block;
	unsigned count;
	bool is_volatile;
};

static void store_lane(struct emitter *e, unsigned lane, void *data)
{
	const struct lane_store *s = data;
	LLVMValueRef order[MAX_ELEMENTS], part;
	for (unsigned i = 0; i < s->count; i++)
		order[i] = LLVMConstInt(i32_type(e), lane * s->count + i, false);
	part = LLVMBuildShuffleVector(e->b, s->block, LLVMGetUndef(LLVMTypeOf(s->block)), LLVMConstVector(order, s->count), "");
	store_block(e, part, lane_pointer(e, s->address, lane), s->address.align, s->is_volatile);
}

void store_elements(struct emitter *e, struct address address, LLVMValueRef const *values, unsigned count, bool is_volatile)
{
	unsigned bytes = lane_bits(values[0]) / 8 * count;
	if (count == 1) {
		store_lanes(e, address, values[0], is_volatile);
		return;
	}
	struct lane_store s = { address, interleave(e, values, count), count, is_volatile };
	LLVMTypeRef called = called_type(e, address, bytes, is_volatile);
	if (called) {
		quick_store(e, address, LLVMBuildBitCast(e->b, s.block, LLVMVectorType(called, e->w), ""));
		return;
	}
	if (address.kind != ADDRESS_STRIDED || address.stride != (int64_t)bytes) {
		for_each_active_lane(e, store_lane, &s);
		return;
	}
	LLVMBasicBlockRef done = NULL;
	if (e->mask) {
		LLVMBasicBlockRef whole = new_block(e, "whole"), some = new_block(e, "some");
		done = new_block(e, "stored");
		LLVMBuildCondBr(e->b, all_lanes(e, e->mask), whole, some);
		LLVMPositionBuilderAtEnd(e->b, some);
		for_each_active_lane(e, store_lane, &s);
		LLVMBuildBr(e->b, done);
		LLVMPositionBuilderAtEnd(e->b, whole);
	}
	store_block(e, s.block, address.pointer, address.align, is_volatile);
	if (done) {
		LLVMBuildBr(e->b, done);
		LLVMPositionBuilderAtEnd(e->b, done);
	}
}
