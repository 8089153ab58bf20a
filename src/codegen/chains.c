/* The order of long straight arithmetic: chains that do not need one another, side by side.
 *
 * A kernel such as Black-Scholes calls erfcf twice, which nvcc inlines one behind the other: two hundred instructions that each wait for the
 * last, then two hundred more. The machine looks a few hundred instructions ahead, of two vectors, and finds two things to do at a time.
 * So once LLVM's passes are done, the instructions of such blocks are put into the order in which a machine of the same delays would take them
 * if it saw all of them: the one first that the longest chain hangs on (list scheduling: Graham 1969; Gibbons and Muchnick, "Efficient
 * Instruction Scheduling for a Pipelined Architecture", 1986).
 *
 * That takes more registers than there are, and what goes to the stack and back costs less than the waiting, up to a point: where so many
 * vectors wait to be read, those instructions come first after which fewer do (Goodman and Hsu, "Code Scheduling and Register Allocation in
 * Large Basic Blocks", 1988). LLVM's own scheduler would undo it all for the registers' sake, but it does not move anything across a label.
 * Those set here are labels that nothing refers to, and no code.
 *
 * Whether it pays is asked of a model of both orders: instructions come into a window in order, a few in a cycle, begin when what they read is
 * there, and leave in order. Blocks of many accesses keep their order. */
#include "codegen/straight.h"

#include <stdlib.h>

enum {
	LEAST = 192, MOST = 4000,  /* instructions of a block: fewer the machine sees by itself */
	WORK_PER_ACCESS = 12,
	MOST_LIVE = 80,            /* vectors that wait to be read */
	WINDOW = 256, TAKEN = 4,   /* instructions that the machine looks at, and takes in a cycle */
	TICKS = 12,                /* of a cycle */
	MADE = 9,                  /* ticks between instructions in the order that is made */
	FULL = 16, OVERFULL = 4,   /* vectors that wait to be read, and how many more before those that free most come first */
	PER_LABEL = 32
};

struct node {
	LLVMValueRef instruction;
	VEC(uint32_t) readers;   /* what must come behind it */
	VEC(uint32_t) read;      /* whose values it reads, each once */
	uint32_t waits_for;      /* how many of those in front of it are not there yet */
	uint32_t delay, height;  /* in cycles: of its own, and to the end of the block */
	uint32_t ready;          /* ticks */
	uint32_t unread;         /* readers of its value that are still to come */
	bool is_vector, is_free; /* free: no instruction of the machine's */
};

struct block_order {
	LLVMBasicBlockRef block;
	LLVMBuilderRef b;
	struct node *nodes;
	uint32_t count, *old, *made;
	VEC(uint32_t) waiting; /* for nothing but time */
	bool failed; /* no memory: the order stays as it is */
};

enum straight_kind straight_kind(LLVMValueRef v)
{
	switch (LLVMGetInstructionOpcode(v)) {
	case LLVMLoad:
		return LLVMGetVolatile(v) || LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic ? STRAIGHT_OTHER : STRAIGHT_READ;
	case LLVMStore:
		return LLVMGetVolatile(v) || LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic ? STRAIGHT_OTHER : STRAIGHT_WRITE;
	case LLVMCall:
		return is_pure_call(v) ? STRAIGHT_PURE : calls_intrinsic(v, "llvm.masked.load") ? STRAIGHT_READ : calls_intrinsic(v, "llvm.masked.store") ? STRAIGHT_WRITE : STRAIGHT_OTHER;
	case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMAnd: case LLVMOr: case LLVMXor: case LLVMShl: case LLVMLShr: case LLVMAShr:
	case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFNeg: case LLVMICmp: case LLVMFCmp: case LLVMSelect:
	case LLVMTrunc: case LLVMZExt: case LLVMSExt: case LLVMFPTrunc: case LLVMFPExt: case LLVMFPToSI: case LLVMFPToUI: case LLVMSIToFP:
	case LLVMUIToFP: case LLVMBitCast: case LLVMPtrToInt: case LLVMIntToPtr: case LLVMGetElementPtr: case LLVMExtractElement:
	case LLVMInsertElement: case LLVMShuffleVector: case LLVMFreeze:
		return STRAIGHT_PURE;
	default:
		return STRAIGHT_OTHER;
	}
}

/* Cycles until others can use the result, on machines of today (Zen 3, Ice Lake: within one of each other). */
uint32_t straight_delay(LLVMValueRef v)
{
	switch (LLVMGetInstructionOpcode(v)) {
	case LLVMLoad:
		return 8;
	case LLVMFDiv:
		return 11;
	case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMSIToFP: case LLVMFPToSI:
		return 3;
	case LLVMBitCast: case LLVMIntToPtr: case LLVMPtrToInt: case LLVMFNeg:
		return 0;
	case LLVMCall:
		return calls_intrinsic(v, "llvm.masked.load") ? 8 : calls_intrinsic(v, "llvm.sqrt") ? 15 : calls_intrinsic(v, "llvm.fma") ? 4 : calls_intrinsic(v, "llvm.fabs") ? 1 : 3;
	default:
		return 1;
	}
}

/* ---- what must come before what ------------------------------------------------------------------------------------------ */

static void put_behind(struct block_order *o, uint32_t first, uint32_t second)
{
	o->failed |= !vec_push(&o->nodes[first].readers, second);
	o->nodes[second].waits_for++;
}

/* false: something in it must stay where it is, or it is not worth the time. */
static bool find_nodes(struct block_order *o, LLVMValueRef from)
{
	uint32_t accesses = 0, vectors = 0;
	for (LLVMValueRef v = from; v != LLVMGetBasicBlockTerminator(o->block); v = LLVMGetNextInstruction(v)) {
		enum straight_kind kind = straight_kind(v);
		if (kind == STRAIGHT_OTHER || o->count == MOST)
			return false;
		struct node *node = &o->nodes[o->count];
		*node = (struct node){ .instruction = v, .delay = straight_delay(v),
				       .is_vector = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind, .is_free = !straight_delay(v) };
		accesses += kind != STRAIGHT_PURE;
		vectors += node->is_vector;
		o->count++;
	}
	return o->count >= LEAST && vectors >= o->count / 2 && accesses * WORK_PER_ACCESS <= o->count;
}

static bool reads_already(const struct node *node, uint32_t other)
{
	for (size_t v = 0; v < node->read.count; v++)
		if (node->read.data[v] == other)
			return true;
	return false;
}

static void find_values(struct block_order *o)
{
	struct map numbers = { 0 };
	for (uint32_t i = 0; i < o->count; i++) {
		LLVMValueRef v = o->nodes[i].instruction;
		for (int a = 0; a < LLVMGetNumOperands(v); a++) {
			LLVMValueRef read = LLVMGetOperand(v, (unsigned)a);
			struct node *from = map_get_n(&numbers, (const char *)&read, sizeof read);
			if (from)
				put_behind(o, (uint32_t)(from - o->nodes), i);
			if (from && !reads_already(&o->nodes[i], (uint32_t)(from - o->nodes))) {
				o->failed |= !vec_push(&o->nodes[i].read, (uint32_t)(from - o->nodes));
				from->unread++;
			}
		}
		map_put_n(&numbers, (const char *)&o->nodes[i].instruction, sizeof v, &o->nodes[i]);
	}
	map_fini(&numbers);
}

/* Reads may pass reads. */
static void find_accesses(struct block_order *o)
{
	uint32_t write = o->count;
	VEC(uint32_t) reads = { 0 };
	for (uint32_t i = 0; i < o->count; i++) {
		enum straight_kind kind = straight_kind(o->nodes[i].instruction);
		if (kind == STRAIGHT_PURE)
			continue;
		if (write != o->count)
			put_behind(o, write, i);
		if (kind == STRAIGHT_READ) {
			o->failed |= !vec_push(&reads, i);
			continue;
		}
		for (size_t r = 0; r < reads.count; r++)
			put_behind(o, reads.data[r], i);
		reads.count = 0;
		write = i;
	}
	vec_fini(&reads);
}

static void find_heights(struct block_order *o)
{
	for (uint32_t i = o->count; i-- > 0;) {
		uint32_t behind = 0;
		for (size_t r = 0; r < o->nodes[i].readers.count; r++) {
			uint32_t height = o->nodes[o->nodes[i].readers.data[r]].height;
			behind = height > behind ? height : behind;
		}
		o->nodes[i].height = behind + o->nodes[i].delay;
		o->old[i] = i;
	}
}

/* ---- the order -------------------------------------------------------------------------------------------------------------- */

/* How many more vectors wait to be read after the instruction than before it. */
static int more_live(const struct block_order *o, const struct node *node)
{
	int more = node->is_vector && node->unread;
	for (size_t v = 0; v < node->read.count; v++)
		more -= o->nodes[node->read.data[v]].is_vector && o->nodes[node->read.data[v]].unread == 1;
	return more;
}

static bool is_higher(const struct node *node, const struct node *other)
{
	return !other || node->height > other->height || (node->height == other->height && node < other);
}

/* Of those that wait for nothing: the highest that is ready; where many vectors are live, of those first after which no more are, though one
 * of them be ready later. NULL: none is ready. */
static struct node *next_node(struct block_order *o, int live, uint32_t now)
{
	struct node *highest = NULL, *level = NULL, *soonest = NULL;
	int most_freed = 0;
	for (size_t w = 0; w < o->waiting.count; w++) {
		struct node *node = &o->nodes[o->waiting.data[w]];
		bool ready = node->ready <= now;
		if (ready && is_higher(node, highest))
			highest = node;
		int more = live < FULL ? 0 : more_live(o, node), freed = live > FULL + OVERFULL && more < 0 ? -more : 0;
		if (live >= FULL && more < 0 && (!soonest || node->ready < soonest->ready))
			soonest = node;
		if (!ready || live < FULL || more > 0 || (level && (freed < most_freed || (freed == most_freed && !is_higher(node, level)))))
			continue;
		level = node;
		most_freed = freed;
	}
	return !highest ? NULL : level ? level : soonest ? soonest : highest;
}

static uint32_t first_ready(const struct block_order *o)
{
	uint32_t first = UINT32_MAX;
	for (size_t w = 0; w < o->waiting.count; w++)
		first = o->nodes[o->waiting.data[w]].ready < first ? o->nodes[o->waiting.data[w]].ready : first;
	return first;
}

static void stop_waiting(struct block_order *o, uint32_t number)
{
	size_t w = 0;
	while (o->waiting.data[w] != number)
		w++;
	o->waiting.data[w] = o->waiting.data[--o->waiting.count];
}

static void make_order(struct block_order *o)
{
	uint32_t now = 0, done = 0;
	int live = 0;
	o->waiting.count = 0;
	for (uint32_t i = 0; i < o->count; i++)
		if (!o->nodes[i].waits_for)
			o->failed |= !vec_push(&o->waiting, i);
	while (o->waiting.count && !o->failed) {
		struct node *node = next_node(o, live, now);
		if (!node) {
			now = first_ready(o);
			continue;
		}
		now = node->ready > now ? node->ready : now;
		o->made[done++] = (uint32_t)(node - o->nodes);
		stop_waiting(o, o->made[done - 1]);
		live += more_live(o, node);
		for (size_t v = 0; v < node->read.count; v++)
			o->nodes[node->read.data[v]].unread--;
		now += node->is_free ? 0 : MADE;
		for (size_t r = 0; r < node->readers.count; r++) {
			struct node *reader = &o->nodes[node->readers.data[r]];
			uint32_t ready = now + node->delay * TICKS;
			reader->ready = ready > reader->ready ? ready : reader->ready;
			if (!--reader->waits_for)
				o->failed |= !vec_push(&o->waiting, (uint32_t)(reader - o->nodes));
		}
	}
}

/* Ticks that the machine takes for them in this order. */
static uint32_t time_of(struct block_order *o, const uint32_t *order)
{
	uint32_t *left = calloc(o->count, sizeof *left), last = 0, taken = 0; /* left: when each leaves the window */
	for (uint32_t i = 0; i < o->count; i++)
		o->nodes[i].ready = 0;
	for (uint32_t i = 0; left && i < o->count; i++) {
		struct node *node = &o->nodes[order[i]];
		taken += TICKS / TAKEN;
		if (i >= WINDOW && left[i - WINDOW] > taken)
			taken = left[i - WINDOW];
		uint32_t end = (node->ready > taken ? node->ready : taken) + node->delay * TICKS;
		for (size_t r = 0; r < node->readers.count; r++) {
			struct node *reader = &o->nodes[node->readers.data[r]];
			reader->ready = end > reader->ready ? end : reader->ready;
		}
		last = left[i] = end > last ? end : last;
	}
	free(left);
	return last;
}

/* How many vectors wait to be read, at most. */
static uint32_t most_live(struct block_order *o)
{
	uint32_t *place = calloc(o->count, sizeof *place), *ends = calloc(o->count, sizeof *ends), live = 0, most = 0;
	for (uint32_t i = 0; place && ends && i < o->count; i++)
		place[o->made[i]] = i;
	for (uint32_t i = 0; place && ends && i < o->count; i++) {
		const struct node *node = &o->nodes[o->made[i]];
		uint32_t last = i;
		for (size_t r = 0; r < node->readers.count; r++)
			last = place[node->readers.data[r]] > last ? place[node->readers.data[r]] : last;
		live += node->is_vector;
		ends[last] += node->is_vector;
		most = live > most ? live : most;
		live -= ends[i];
	}
	free(place);
	free(ends);
	return most;
}

static void set_label(struct block_order *o, LLVMModuleRef module)
{
	LLVMContextRef context = LLVMGetModuleContext(module);
	LLVMMetadataRef text = LLVMMDStringInContext2(context, "order", 5), list = LLVMMDNodeInContext2(context, &text, 1);
	unsigned id = LLVMLookupIntrinsicID("llvm.codeview.annotation", 24);
	LLVMValueRef argument = LLVMMetadataAsValue(context, list);
	LLVMBuildCall2(o->b, LLVMIntrinsicGetType(context, id, NULL, 0), LLVMGetIntrinsicDeclaration(module, id, NULL, 0), &argument, 1, "");
}

static void move_all(struct block_order *o, LLVMModuleRef module)
{
	for (uint32_t i = 0; i < o->count; i++)
		LLVMInstructionRemoveFromParent(o->nodes[i].instruction);
	LLVMPositionBuilderBefore(o->b, LLVMGetBasicBlockTerminator(o->block));
	for (uint32_t i = 0; i < o->count; i++) {
		LLVMInsertIntoBuilder(o->b, o->nodes[o->made[i]].instruction);
		if (i % PER_LABEL == PER_LABEL - 1)
			set_label(o, module);
	}
}

static void free_node(struct node *node)
{
	vec_fini(&node->readers);
	vec_fini(&node->read);
}

static void order_block(struct block_order *o, LLVMModuleRef module)
{
	LLVMValueRef from = LLVMGetFirstInstruction(o->block);
	while (from && LLVMIsAPHINode(from))
		from = LLVMGetNextInstruction(from);
	o->count = 0;
	o->failed = false;
	if (from && LLVMGetBasicBlockTerminator(o->block) && find_nodes(o, from)) {
		find_values(o);
		find_accesses(o);
		find_heights(o);
		make_order(o);
		if (!o->failed && most_live(o) <= MOST_LIVE && time_of(o, o->made) < time_of(o, o->old) / 8 * 7)
			move_all(o, module);
	}
	for (uint32_t i = 0; i < o->count; i++)
		free_node(&o->nodes[i]);
}

void interleave_chains(LLVMModuleRef module)
{
	LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
	struct block_order o = { .b = b, .nodes = malloc(MOST * sizeof *o.nodes) };
	o.old = malloc(MOST * sizeof *o.old);
	o.made = malloc(MOST * sizeof *o.made);
	for (LLVMValueRef function = LLVMGetFirstFunction(module); function && o.nodes && o.old && o.made; function = LLVMGetNextFunction(function))
		for (o.block = LLVMGetFirstBasicBlock(function); o.block; o.block = LLVMGetNextBasicBlock(o.block))
			order_block(&o, module);
	vec_fini(&o.waiting);
	free(o.nodes);
	free(o.old);
	free(o.made);
	LLVMDisposeBuilder(b);
}
