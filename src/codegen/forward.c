/* Shared memory of straight code stays in registers.
 *
 * Where the regions of a kernel have code of their own for each group of lanes (fission.c), the rounds of a scan or of a reduction are one block of
 * straight code, whose accesses are at constant places: s[t - 8] of one group is the register that another has stored. Barriers are gone, and what
 * one round stores and the next reads need not go through memory. For each 32-bit word of shared memory, in order of the code: which
 * lane of which value is in it.
 *
 *     s[t] stored, s[t - 8] read      the register of the vector before
 *     s[t - 1] read                   a shuffle of two registers
 *     s[0] read                       a lane of the register
 *     stored again, or the kernel's end, with nothing in between that may read memory: the first store is dropped
 *
 * (Scalar replacement of array elements: Callahan, Carr and Kennedy, "Improving Register Allocation for Subscripted Variables", 1990.)
 * It runs after LLVM's passes, which make such blocks of what fission.c emits, and do not take vectors apart. order.c then
 * orders what computes, since all that a round computed was ordered by the round. */
#include <stdlib.h>

#include "backend/cpu/abi.h"
#include "codegen/straight.h"

enum {
	WORDS_MOST = 1 << 16,
	WORTH_ORDERING = 16 /* loads of a block that have become registers */
};

struct writer {
	LLVMValueRef store;
	unsigned left; /* words of its that nothing has overwritten */
	bool needed;   /* memory is read that may be its */
};

struct word {
	unsigned generation; /* known where it is the forwarder's */
	unsigned lane;       /* in words */
	LLVMValueRef value;
	struct writer *writer; /* NULL: memory has it already */
};

struct forwarder {
	struct arena *arena;
	LLVMBuilderRef b;
	LLVMValueRef root;
	struct word *words;
	size_t word_count;
	unsigned generation, forwarded;
	VEC(struct writer *) pending; /* stores that nothing has needed yet */
};

/* ---- accesses --------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef strip_offset(LLVMValueRef v, int64_t *offset)
{
	for (*offset = 0;;) {
		if (LLVMIsAIntToPtrInst(v) || LLVMIsAPtrToIntInst(v)) {
			v = LLVMGetOperand(v, 0);
			continue;
		}
		bool add = LLVMIsABinaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMAdd;
		bool step = LLVMIsAGetElementPtrInst(v) && LLVMGetNumOperands(v) == 2 &&
			    LLVMGetTypeKind(LLVMGetGEPSourceElementType(v)) == LLVMIntegerTypeKind &&
			    LLVMGetIntTypeWidth(LLVMGetGEPSourceElementType(v)) == 8;
		LLVMValueRef by = add || step ? LLVMGetOperand(v, 1) : NULL;
		if (!by || !LLVMIsAConstantInt(by) || LLVMGetIntTypeWidth(LLVMTypeOf(by)) != 64)
			return v;
		*offset += LLVMConstIntGetSExtValue(by);
		v = LLVMGetOperand(v, 0);
	}
}

static bool is_block_field(LLVMValueRef load, LLVMValueRef function, size_t field)
{
	int64_t offset;
	return LLVMIsALoadInst(load) && strip_offset(LLVMGetOperand(load, 0), &offset) == LLVMGetParam(function, 0) && offset == (int64_t)field;
}

LLVMValueRef shared_root(LLVMValueRef function)
{
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
	for (LLVMValueRef v = LLVMGetFirstInstruction(entry); v; v = LLVMGetNextInstruction(v))
		if (is_block_field(v, function, offsetof(struct cpu_block, shared)))
			return v;
	return NULL;
}

static unsigned words_of(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMFloatTypeKind:
		return 1;
	case LLVMDoubleTypeKind:
		return 2;
	case LLVMIntegerTypeKind:
		return LLVMGetIntTypeWidth(type) == 32 ? 1 : LLVMGetIntTypeWidth(type) == 64 ? 2 : 0;
	case LLVMVectorTypeKind:
		return LLVMGetVectorSize(type) * words_of(LLVMGetElementType(type));
	default:
		return 0;
	}
}

bool calls_intrinsic(LLVMValueRef inst, const char *name)
{
	return LLVMIsACallInst(inst) && LLVMGetIntrinsicID(LLVMGetCalledValue(inst)) == LLVMLookupIntrinsicID(name, strlen(name));
}

bool as_shared_access(LLVMValueRef root, LLVMValueRef inst, struct shared_access *out)
{
	LLVMValueRef pointer;
	int64_t offset;
	*out = (struct shared_access){ 0 };
	if (LLVMIsALoadInst(inst) || LLVMIsAStoreInst(inst)) {
		if (LLVMGetVolatile(inst) || LLVMGetOrdering(inst) != LLVMAtomicOrderingNotAtomic)
			return false;
		out->value = LLVMIsAStoreInst(inst) ? LLVMGetOperand(inst, 0) : NULL;
		pointer = LLVMGetOperand(inst, out->value ? 1 : 0);
		out->align = LLVMGetAlignment(inst);
	} else if (calls_intrinsic(inst, "llvm.masked.load") || calls_intrinsic(inst, "llvm.masked.store")) {
		unsigned is_store = calls_intrinsic(inst, "llvm.masked.store");
		out->value = is_store ? LLVMGetOperand(inst, 0) : NULL;
		out->passthrough = is_store ? NULL : LLVMGetOperand(inst, 3);
		pointer = LLVMGetOperand(inst, is_store);
		out->align = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(inst, 1 + is_store));
		out->mask = LLVMGetOperand(inst, 2 + is_store);
	} else {
		return false;
	}
	if (strip_offset(pointer, &offset) != root)
		return false;
	out->type = LLVMTypeOf(out->value ? out->value : inst);
	out->words = words_of(out->type);
	out->element_words = out->words;
	if (LLVMGetTypeKind(out->type) == LLVMVectorTypeKind && out->words)
		out->element_words /= LLVMGetVectorSize(out->type);
	out->first = offset / 4;
	return out->words && out->words <= 4 * MAX_WIDTH && !(offset % 4);
}

bool is_pure_call(LLVMValueRef inst)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("memory", 6);
	LLVMValueRef callee = LLVMGetCalledValue(inst);
	if (!LLVMGetIntrinsicID(callee))
		return false;
	LLVMAttributeRef memory = LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind);
	return memory && !LLVMGetEnumAttributeValue(memory);
}

bool touches_no_memory(LLVMValueRef inst)
{
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMLoad:
	case LLVMStore:
	case LLVMFence:
	case LLVMAtomicCmpXchg:
	case LLVMAtomicRMW:
	case LLVMAlloca:
	case LLVMPHI:
	case LLVMVAArg:
	case LLVMInvoke:
	case LLVMCallBr:
		return false;
	case LLVMCall:
		return is_pure_call(inst);
	default:
		return !LLVMIsATerminatorInst(inst);
	}
}

bool is_apart_from_shared(LLVMValueRef inst)
{
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst)), block = LLVMGetParam(function, 0), base;
	int64_t offset;
	if (calls_intrinsic(inst, "llvm.prefetch"))
		return true;
	if (!LLVMIsALoadInst(inst) && !LLVMIsAStoreInst(inst))
		return false;
	base = strip_offset(LLVMGetOperand(inst, LLVMIsAStoreInst(inst) ? 1 : 0), &offset);
	if (LLVMIsAAllocaInst(base) || base == block)
		return true;
	/* what the runtime lends, but for the shared memory */
	return LLVMIsALoadInst(base) && strip_offset(LLVMGetOperand(base, 0), &offset) == block && offset != offsetof(struct cpu_block, shared);
}

/* ---- what is where ------------------------------------------------------------------------------------------------------------- */

static struct word *find_word(struct forwarder *f, int64_t at)
{
	if (at < 0 || (size_t)at >= f->word_count || f->words[at].generation != f->generation)
		return NULL;
	return &f->words[at];
}

static void need_all(struct forwarder *f)
{
	for (size_t i = 0; i < f->pending.count; i++)
		f->pending.data[i]->needed = true;
	f->pending.count = 0;
}

static void need_word(struct forwarder *f, int64_t at)
{
	struct word *word = find_word(f, at);
	if (word && word->writer)
		word->writer->needed = true;
}

static void forget_all(struct forwarder *f)
{
	need_all(f);
	f->generation++;
}

/* The word is another's from here on. */
static void lose_word(struct forwarder *f, int64_t at)
{
	struct word *word = find_word(f, at);
	if (!word)
		return;
	word->generation = 0;
	struct writer *writer = word->writer;
	if (!writer || --writer->left || writer->needed)
		return;
	LLVMInstructionEraseFromParent(writer->store);
	writer->store = NULL;
	writer->needed = true;
}

static void put_word(struct forwarder *f, int64_t at, LLVMValueRef value, unsigned lane, struct writer *writer)
{
	if (at >= 0 && (size_t)at < f->word_count)
		f->words[at] = (struct word){ f->generation, lane, value, writer };
}

/* Is the element on, off, or does only the running program know? */
static int element_state(const struct shared_access *a, unsigned word)
{
	if (!a->mask)
		return 1;
	if (!LLVMIsConstant(a->mask))
		return -1;
	LLVMValueRef element = LLVMGetAggregateElement(a->mask, word / a->element_words);
	return element && LLVMIsAConstantInt(element) && LLVMConstIntGetZExtValue(element);
}

static bool is_mask_known(const struct shared_access *a)
{
	return !a->mask || LLVMIsConstant(a->mask);
}

/* ---- values out of words ------------------------------------------------------------------------------------------------------- */

struct source {
	LLVMValueRef values[2];
	unsigned count;
	int lanes[4 * MAX_WIDTH];    /* by word: of the value, -1: any number will do */
	unsigned from[4 * MAX_WIDTH]; /* by word: which value */
};

static bool add_source(struct source *s, unsigned word, LLVMValueRef value, unsigned lane)
{
	unsigned i = 0;
	while (i < s->count && s->values[i] != value)
		i++;
	if (i == 2)
		return false;
	s->values[i] = value;
	s->count = i == s->count ? i + 1 : s->count;
	s->from[word] = i;
	s->lanes[word] = (int)lane;
	return true;
}

static unsigned value_words(LLVMValueRef value)
{
	return words_of(LLVMTypeOf(value));
}

/* Does one shuffle of the machine do, or two: lanes that stay where they are, or all of which move by the same distance? */
static bool is_cheap(const struct source *s, unsigned words)
{
	bool stay = true, follow[2] = { true, true };
	int distance[2] = { 0, 0 };
	bool known[2] = { false, false };
	if (s->count < 2 || LLVMIsConstant(s->values[0]) || LLVMIsConstant(s->values[1]))
		return true;
	for (unsigned i = 0; i < words; i++) {
		if (s->lanes[i] < 0)
			continue;
		stay &= s->lanes[i] == (int)i;
		for (unsigned order = 0; order < 2; order++) {
			int at = s->lanes[i] - (int)i + (s->from[i] == order ? 0 : (int)value_words(s->values[order]));
			follow[order] &= !known[order] || distance[order] == at;
			distance[order] = at;
			known[order] = true;
		}
	}
	return stay || follow[0] || follow[1];
}

/* Where memory has it all, a load takes no longer than a shuffle. */
static bool find_source(struct forwarder *f, const struct shared_access *a, struct source *s)
{
	bool same = true, stored = false;
	s->count = 0;
	for (unsigned i = 0; i < a->words; i++) {
		s->lanes[i] = -1;
		s->from[i] = 0;
		if (element_state(a, i)) {
			struct word *word = find_word(f, a->first + i);
			if (!word || !add_source(s, i, word->value, word->lane))
				return false;
			same &= word->lane == i;
			stored |= word->writer != NULL;
		} else if (a->passthrough && !LLVMIsUndef(a->passthrough) && !add_source(s, i, a->passthrough, i)) {
			return false;
		}
	}
	return s->count && (stored || (same && s->count == 1)) && is_cheap(s, a->words);
}

static LLVMValueRef lane_constant(struct forwarder *f, int lane)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(f->root)));
	return lane < 0 ? LLVMGetUndef(i32) : LLVMConstInt(i32, (unsigned)lane, false);
}

/* The value as a vector of `words` words, of which those behind its own may be anything. */
static LLVMValueRef as_words(struct forwarder *f, LLVMValueRef value, unsigned words)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(value)));
	unsigned own = value_words(value);
	LLVMValueRef order[4 * MAX_WIDTH];
	value = LLVMBuildBitCast(f->b, value, LLVMVectorType(i32, own), "");
	if (own == words)
		return value;
	for (unsigned i = 0; i < words; i++)
		order[i] = lane_constant(f, i < own ? (int)i : -1);
	return LLVMBuildShuffleVector(f->b, value, LLVMGetUndef(LLVMTypeOf(value)), LLVMConstVector(order, words), "");
}

static LLVMValueRef build_source(struct forwarder *f, const struct source *s, const struct shared_access *a)
{
	unsigned own = value_words(s->values[0]), other = s->count > 1 ? value_words(s->values[1]) : 0, most = own > other ? own : other;
	bool same = s->count == 1 && own == a->words;
	LLVMValueRef order[4 * MAX_WIDTH];
	for (unsigned i = 0; i < a->words; i++) {
		same &= s->lanes[i] < 0 || s->lanes[i] == (int)i;
		order[i] = lane_constant(f, s->lanes[i] < 0 ? -1 : s->lanes[i] + (int)(s->from[i] ? most : 0));
	}
	if (same)
		return LLVMBuildBitCast(f->b, s->values[0], a->type, "");
	LLVMValueRef first = as_words(f, s->values[0], most), r;
	LLVMValueRef second = s->count > 1 ? as_words(f, s->values[1], most) : LLVMGetUndef(LLVMTypeOf(first));
	r = LLVMBuildShuffleVector(f->b, first, second, LLVMConstVector(order, a->words), "");
	return LLVMBuildBitCast(f->b, r, a->type, "");
}

/* ---- accesses, one after the other ---------------------------------------------------------------------------------------------- */

static void forward_load(struct forwarder *f, LLVMValueRef inst, const struct shared_access *a)
{
	struct source s;
	if (find_source(f, a, &s)) {
		LLVMPositionBuilderBefore(f->b, inst);
		LLVMValueRef v = build_source(f, &s, a);
		if (!is_mask_known(a))
			v = LLVMBuildSelect(f->b, a->mask, v, a->passthrough, "");
		LLVMReplaceAllUsesWith(inst, v);
		LLVMInstructionEraseFromParent(inst);
		f->forwarded++;
		return;
	}
	for (unsigned i = 0; i < a->words; i++) {
		need_word(f, a->first + i);
		if (element_state(a, i) == 1 && !find_word(f, a->first + i))
			put_word(f, a->first + i, inst, i, NULL);
	}
}

/* A store whose mask the program decides, where what else would stay is known, becomes one of all lanes. */
static LLVMValueRef without_mask(struct forwarder *f, LLVMValueRef inst, struct shared_access *a)
{
	struct source s;
	if (!find_source(f, a, &s))
		return NULL;
	LLVMValueRef mask = a->mask;
	LLVMPositionBuilderBefore(f->b, inst);
	a->value = LLVMBuildSelect(f->b, mask, a->value, build_source(f, &s, a), "");
	a->mask = NULL;
	LLVMValueRef store = LLVMBuildStore(f->b, a->value, LLVMGetOperand(inst, 1));
	LLVMSetAlignment(store, a->align);
	LLVMInstructionEraseFromParent(inst);
	return store;
}

static void note_store(struct forwarder *f, LLVMValueRef inst, struct shared_access *a)
{
	if (!is_mask_known(a)) {
		LLVMValueRef plain = without_mask(f, inst, a);
		for (unsigned i = 0; i < a->words && !plain; i++) {
			need_word(f, a->first + i);
			lose_word(f, a->first + i);
		}
		if (!plain)
			return;
		inst = plain;
	}
	struct writer *writer = arena_new(f->arena, struct writer);
	writer->store = inst;
	for (unsigned i = 0; i < a->words; i++)
		writer->left += element_state(a, i) == 1;
	for (unsigned i = 0; i < a->words; i++) {
		if (element_state(a, i) != 1)
			continue;
		lose_word(f, a->first + i);
		put_word(f, a->first + i, a->value, i, writer);
		writer->needed |= a->first + i < 0 || (size_t)(a->first + i) >= f->word_count;
	}
	if (!writer->needed)
		vec_push(&f->pending, writer);
}

static void drop_pending(struct forwarder *f)
{
	for (size_t i = 0; i < f->pending.count; i++)
		if (!f->pending.data[i]->needed)
			LLVMInstructionEraseFromParent(f->pending.data[i]->store);
	f->pending.count = 0;
}

/* Addresses that nothing is read from or written to any more. */
static void drop_addresses(LLVMBasicBlockRef block)
{
	for (LLVMValueRef v = LLVMGetLastInstruction(block), before; v; v = before) {
		before = LLVMGetPreviousInstruction(v);
		if (!LLVMGetFirstUse(v) && touches_no_memory(v))
			LLVMInstructionEraseFromParent(v);
	}
}

/* Where the kernel returns, its block of threads ends, and what is in its shared memory with it. */
static void forward_block(struct forwarder *f, LLVMBasicBlockRef block)
{
	struct shared_access access;
	f->generation++;
	f->forwarded = 0;
	for (LLVMValueRef v = LLVMGetFirstInstruction(block), next; v; v = next) {
		next = LLVMGetNextInstruction(v);
		if (as_shared_access(f->root, v, &access)) {
			if (access.value)
				note_store(f, v, &access);
			else
				forward_load(f, v, &access);
		} else if (LLVMIsALoadInst(v) && !LLVMGetVolatile(v) && LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic) {
			if (!is_apart_from_shared(v))
				need_all(f);
		} else if (!touches_no_memory(v) && !is_apart_from_shared(v) && !LLVMIsAPHINode(v) && !LLVMIsATerminatorInst(v)) {
			forget_all(f);
		}
	}
	if (LLVMIsAReturnInst(LLVMGetBasicBlockTerminator(block)))
		drop_pending(f);
	f->pending.count = 0;
	if (!f->forwarded)
		return;
	drop_addresses(block);
	if (f->forwarded >= WORTH_ORDERING)
		order_straight_code(f->root, block, f->arena);
}

/* Words up to the last that an access at a constant place is to. */
static size_t count_words(LLVMValueRef root, LLVMValueRef function)
{
	struct shared_access access;
	int64_t count = 0;
	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
		for (LLVMValueRef v = LLVMGetFirstInstruction(block); v; v = LLVMGetNextInstruction(v))
			if (as_shared_access(root, v, &access) && access.first + (int64_t)access.words > count)
				count = access.first + (int64_t)access.words;
	return count < WORDS_MOST ? (size_t)count : WORDS_MOST;
}

void forward_shared(LLVMValueRef function, struct arena *arena)
{
	struct forwarder f = { .arena = arena, .root = shared_root(function) };
	if (!f.root || !(f.word_count = count_words(f.root, function)))
		return;
	f.words = arena_array(arena, struct word, f.word_count);
	f.b = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(f.root)));
	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
		forward_block(&f, block);
	LLVMDisposeBuilder(f.b);
	vec_fini(&f.pending);
}
