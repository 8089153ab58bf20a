/* The order of straight code whose shared memory has become registers.
 *
 * A round of a scan computes all vectors of the block, then comes the next: in that order every value of a round lives until the next one has read
 * it, which takes more registers than there are. But a vector's last round needs a few vectors of the round before, and so on: whatever computes is
 * put in front of the first that reads it, what writes memory stays in order, and where stores at different places follow one another, they are
 * taken from either end. Of the orders that this makes, and the one that is there, the one where the fewest values
 * wait in memory for their readers is taken. (Depth-first evaluation: Sethi and Ullman, "The Generation of Optimal
 * Code for Arithmetic Expressions", 1970, for trees; here values are shared, and it is a heuristic.) */
#include <stdlib.h>

#include "codegen/straight.h"

enum {
	INSTRUCTIONS_MOST = 6000, /* the depth of what recurs */
	REGISTERS = 15            /* vectors; one is for what comes and goes */
};

struct item {
	LLVMValueRef inst;
	bool fixed;    /* keeps its place among the fixed ones */
	bool load;     /* of shared memory, which may wait until something is stored there */
	bool done;
	struct shared_access access; /* of loads and stores of shared memory */
	bool is_shared;
	unsigned last; /* when its value is read for the last time, in the order at hand */
};

struct order {
	LLVMValueRef root;
	struct item *items;
	unsigned count;
	struct map numbers;      /* of the block's instructions: item by the bytes of inst */
	struct item **out;
	unsigned out_count;
};

static struct item *item_of(struct order *o, LLVMValueRef v)
{
	return map_get_n(&o->numbers, (const char *)&v, sizeof v);
}

static bool overlaps(const struct shared_access *a, const struct shared_access *b)
{
	return a->first < b->first + (int64_t)b->words && b->first < a->first + (int64_t)a->words;
}

/* ---- items ---------------------------------------------------------------------------------------------------------------------- */

/* Does a load find what a store of the block in front of it leaves? */
static bool reads_stored(const struct order *o, unsigned load)
{
	for (unsigned i = 0; i < load; i++)
		if (o->items[i].fixed && !is_apart_from_shared(o->items[i].inst) && !LLVMIsALoadInst(o->items[i].inst) &&
		    (!o->items[i].is_shared || overlaps(&o->items[i].access, &o->items[load].access)))
			return true;
	return false;
}

static void add_item(struct order *o, LLVMValueRef inst)
{
	struct item *item = &o->items[o->count];
	item->inst = inst;
	item->fixed = !touches_no_memory(inst);
	item->is_shared = item->fixed && as_shared_access(o->root, inst, &item->access);
	item->load = item->is_shared && !item->access.value && !reads_stored(o, o->count);
	item->fixed &= !item->load;
	map_put_n(&o->numbers, (const char *)&item->inst, sizeof item->inst, item);
	o->count++;
}

/* ---- an order ------------------------------------------------------------------------------------------------------------------- */

static void put(struct order *o, struct item *item)
{
	if (item->done)
		return;
	item->done = true;
	for (int i = 0; i < LLVMGetNumOperands(item->inst); i++) {
		struct item *of = item_of(o, LLVMGetOperand(item->inst, (unsigned)i));
		if (of)
			put(o, of);
	}
	o->out[o->out_count++] = item;
}

/* Loads that stood in front of what may write, and read what it may write, come before it. */
static void put_loads(struct order *o, const struct item *writer)
{
	if (LLVMIsALoadInst(writer->inst) || is_apart_from_shared(writer->inst))
		return;
	for (struct item *item = o->items; item < writer; item++)
		if (item->load && (!writer->is_shared || overlaps(&writer->access, &item->access)))
			put(o, item);
}

static void put_fixed(struct order *o, struct item *item)
{
	put_loads(o, item);
	put(o, item);
}

/* How many fixed items from here on are stores of one kind at different places, in shared memory. */
static unsigned run_length(struct item **fixed, unsigned count)
{
	unsigned n = 0;
	for (; n < count && fixed[n]->is_shared && LLVMIsAStoreInst(fixed[n]->inst); n++)
		for (unsigned i = 0; i < n; i++)
			if (overlaps(&fixed[i]->access, &fixed[n]->access))
				return n;
	return n;
}

static void make_order(struct order *o, struct item **fixed, unsigned fixed_count, bool backwards)
{
	o->out_count = 0;
	for (unsigned i = 0; i < o->count; i++)
		o->items[i].done = false;
	for (unsigned i = 0; i < fixed_count;) {
		unsigned run = backwards ? run_length(&fixed[i], fixed_count - i) : 0;
		run = run ? run : 1;
		for (unsigned r = 0; r < run; r++)
			put_fixed(o, fixed[i + run - 1 - r]);
		i += run;
	}
	for (unsigned i = 0; i < o->count; i++) /* what only other blocks read */
		put(o, &o->items[i]);
}

/* ---- what it costs ---------------------------------------------------------------------------------------------------------------- */

/* Sum over the order of the vectors that no register is left for. */
static uint64_t cost_of(struct order *o, struct item **order, uint8_t *ends)
{
	uint64_t cost = 0;
	unsigned live = 0;
	memset(ends, 0, o->count);
	for (unsigned i = 0; i < o->count; i++)
		order[i]->last = o->count; /* until a reader has been seen: none */
	for (unsigned i = o->count; i-- > 0;)
		for (int k = 0; k < LLVMGetNumOperands(order[i]->inst); k++) {
			struct item *of = item_of(o, LLVMGetOperand(order[i]->inst, (unsigned)k));
			if (!of || of->last != o->count || LLVMGetTypeKind(LLVMTypeOf(of->inst)) != LLVMVectorTypeKind)
				continue;
			of->last = i;
			ends[i]++;
		}
	for (unsigned i = 0; i < o->count; i++) {
		live -= ends[i];
		live += order[i]->last != o->count;
		cost += live > REGISTERS ? live - REGISTERS : 0;
	}
	return cost;
}

/* ---- the block -------------------------------------------------------------------------------------------------------------------- */

static void apply(struct order *o, struct item **order, LLVMBasicBlockRef block)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(o->root)));
	LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(block));
	for (unsigned i = 0; i < o->count; i++) {
		LLVMInstructionRemoveFromParent(order[i]->inst);
		LLVMInsertIntoBuilder(b, order[i]->inst);
	}
	LLVMDisposeBuilder(b);
}

void order_straight_code(LLVMValueRef root, LLVMBasicBlockRef block, struct arena *arena)
{
	struct order o = { .root = root };
	unsigned count = 0, fixed_count = 0;
	for (LLVMValueRef v = LLVMGetFirstInstruction(block); v; v = LLVMGetNextInstruction(v))
		count++;
	if (count > INSTRUCTIONS_MOST)
		return;
	o.items = arena_array(arena, struct item, count);
	struct item **fixed = arena_array(arena, struct item *, count), **best = arena_array(arena, struct item *, count);
	uint8_t *ends = arena_array(arena, uint8_t, count);
	for (LLVMValueRef v = LLVMGetFirstInstruction(block); v; v = LLVMGetNextInstruction(v))
		if (!LLVMIsAPHINode(v) && !LLVMIsATerminatorInst(v) && !LLVMIsAAllocaInst(v))
			add_item(&o, v);
	for (unsigned i = 0; i < o.count; i++) {
		best[i] = &o.items[i];
		if (o.items[i].fixed)
			fixed[fixed_count++] = &o.items[i];
	}
	uint64_t least = cost_of(&o, best, ends);
	bool moved = false;
	for (unsigned way = 0; way < 2; way++) {
		o.out = arena_array(arena, struct item *, count);
		make_order(&o, fixed, fixed_count, way);
		uint64_t cost = cost_of(&o, o.out, ends);
		if (cost >= least)
			continue;
		least = cost;
		best = o.out;
		moved = true;
	}
	if (moved)
		apply(&o, best, block);
	map_fini(&o.numbers);
}
