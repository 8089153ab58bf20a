/* The next group of threads begins before this one ends: software pipelining (Lam, "Software Pipelining", 1988; here with two stages).
 *
 * A kernel such as Black-Scholes is one chain of two hundred cycles a group, and the machine's window is too short to find the next
 * group's beginning behind it. So the body of the loop over groups is cut near its middle, where few vectors cross: what comes before the
 * cut is computed for the next group, beside what comes behind it for this one, and what crosses goes around the loop. The first group's
 * is computed in front of the loop. The last group has none behind it, and computes its own again, which nobody reads.
 *
 * Threads of a block that meet at no barrier may run in any order, so that loads may pass the stores of the group in front, which are other
 * threads'. No load passes a store of its own group. */
#include "codegen/straight.h"

#include <stdlib.h>

enum {
	LEAST = 192, MOST = 4000, /* instructions of the body: fewer the machine sees by itself */
	LEAST_GROUPS = 8,         /* of a block, for each of which the first part is computed once, and for the first twice */
	MOST_CARRIED = 12,        /* vectors that go around the loop */
	WIDTH = 3                 /* instructions in a cycle, where the machine has no chains to wait for */
};

struct step {
	LLVMValueRef inst, first, next; /* first, next: what it is for the first group in front of the loop, and in it for the next group */
	uint32_t end;                   /* cycles, from the body's beginning */
	bool is_vector, is_late;        /* late: behind a store of the group, or what both parts cannot compute */
	bool is_needed;                 /* a scalar that the first part reads */
};

struct ahead {
	LLVMBasicBlockRef body, from;
	LLVMBuilderRef b;
	LLVMValueRef thread, thread_now, thread_next; /* the group's first; now and next: where the loop is entered, and around it */
	LLVMValueRef again;
	struct step *steps;
	uint32_t count, length; /* cycles of the whole body */
	struct map numbers;     /* steps by instruction */
};

static struct step *step_of(struct ahead *a, LLVMValueRef v)
{
	return map_get_n(&a->numbers, (const char *)&v, sizeof v);
}

/* ---- the loop ----------------------------------------------------------------------------------------------------------------- */

/* A block that goes on to itself, and whose one number is the group's. */
static bool find_loop(struct ahead *a)
{
	LLVMValueRef phi = LLVMGetFirstInstruction(a->body), end = LLVMGetBasicBlockTerminator(a->body);
	size_t length;
	if (!phi || !LLVMIsAPHINode(phi) || LLVMIsAPHINode(LLVMGetNextInstruction(phi)) ||
	    strcmp(LLVMGetValueName2(phi, &length), "first_thread") != 0)
		return false;
	if (LLVMCountIncoming(phi) != 2 || !LLVMIsABranchInst(end) || !LLVMIsConditional(end) || LLVMGetSuccessor(end, 0) != a->body)
		return false;
	unsigned around = LLVMGetIncomingBlock(phi, 1) == a->body;
	a->from = LLVMGetIncomingBlock(phi, 1 - around);
	if (LLVMGetIncomingBlock(phi, around) != a->body || LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(a->from)) != 1)
		return false;
	a->thread = phi;
	a->thread_now = LLVMGetIncomingValue(phi, 1 - around);
	a->thread_next = LLVMGetIncomingValue(phi, around);
	a->again = LLVMGetCondition(end);
	return true;
}

/* false: something in it must stay where it is, or the machine has enough to do. */
static bool find_steps(struct ahead *a)
{
	uint32_t vectors = 0;
	bool stored = false;
	for (LLVMValueRef v = LLVMGetNextInstruction(a->thread); v != LLVMGetBasicBlockTerminator(a->body); v = LLVMGetNextInstruction(v)) {
		enum straight_kind kind = straight_kind(v);
		if (kind == STRAIGHT_OTHER || a->count == MOST)
			return false;
		struct step *step = &a->steps[a->count++];
		*step = (struct step){ .inst = v, .is_vector = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind };
		stored |= kind == STRAIGHT_WRITE;
		step->is_late = kind != STRAIGHT_PURE && stored;
		for (int i = 0; i < LLVMGetNumOperands(v); i++) {
			const struct step *of = step_of(a, LLVMGetOperand(v, (unsigned)i));
			step->end = of && of->end > step->end ? of->end : step->end;
			step->is_late |= of && (of->is_late || (of->is_vector && !step->is_vector));
		}
		step->end += straight_delay(v);
		a->length = step->end > a->length ? step->end : a->length;
		vectors += step->is_vector && straight_delay(v);
		map_put_n(&a->numbers, (const char *)&step->inst, sizeof v, step);
		if (!step_of(a, v)) /* no memory */
			return false;
	}
	const struct step *next = step_of(a, a->thread_next), *again = step_of(a, a->again);
	return next && !next->is_late && again && !again->is_late && a->count >= LEAST && vectors < a->length * WIDTH;
}

/* ---- the cut -------------------------------------------------------------------------------------------------------------------- */

static bool is_early(const struct step *step, uint32_t cut)
{
	return step->is_vector && !step->is_late && step->end <= cut;
}

/* The first cut that has all that reads the vector in front of it; without such: behind the last. */
static uint32_t end_of_readers(struct ahead *a, const struct step *step)
{
	uint32_t end = step->end;
	for (LLVMUseRef use = LLVMGetFirstUse(step->inst); use; use = LLVMGetNextUse(use)) {
		const struct step *reader = step_of(a, LLVMGetUser(use));
		if (!reader || !is_early(reader, a->length))
			return a->length + 1;
		end = reader->end > end ? reader->end : end;
	}
	return end;
}

/* Cycles from the beginning, as near to the middle as can be; 0: too much crosses from a third to two. */
static uint32_t find_cut(struct ahead *a)
{
	int32_t *crossing = calloc(a->length + 2, sizeof *crossing); /* how many more than one cycle before */
	uint32_t best = 0, middle = a->length / 2, least = a->length / 6;
	for (uint32_t i = 0; crossing && i < a->count; i++) {
		if (!is_early(&a->steps[i], a->length))
			continue;
		crossing[a->steps[i].end]++;
		crossing[end_of_readers(a, &a->steps[i])]--;
	}
	int32_t carried = 0;
	for (uint32_t cut = 0; crossing && cut < a->length; cut++) {
		uint32_t off = cut < middle ? middle - cut : cut - middle;
		carried += crossing[cut];
		if (carried > MOST_CARRIED || off >= least)
			continue;
		least = off;
		best = cut;
	}
	free(crossing);
	return best;
}

/* ---- the two parts -------------------------------------------------------------------------------------------------------------- */

/* What the first part reads: vectors of its own, and scalars. */
static void find_needed(struct ahead *a, uint32_t cut)
{
	for (uint32_t i = a->count; i-- > 0;) {
		struct step *step = &a->steps[i];
		if (!step->is_needed && !is_early(step, cut))
			continue;
		for (int k = 0; k < LLVMGetNumOperands(step->inst); k++) {
			struct step *of = step_of(a, LLVMGetOperand(step->inst, (unsigned)k));
			if (of)
				of->is_needed = true;
		}
	}
}

static LLVMValueRef copy(struct ahead *a, const struct step *step, LLVMValueRef thread, bool first)
{
	LLVMValueRef made = LLVMInstructionClone(step->inst);
	for (int i = 0; i < LLVMGetNumOperands(made); i++) {
		LLVMValueRef v = LLVMGetOperand(made, (unsigned)i);
		const struct step *of = step_of(a, v);
		if (of)
			LLVMSetOperand(made, (unsigned)i, first ? of->first : of->next);
		else if (v == a->thread)
			LLVMSetOperand(made, (unsigned)i, thread);
	}
	LLVMInsertIntoBuilder(a->b, made);
	return made;
}

/* The scalars come first, which both parts read. */
static LLVMValueRef move_scalars(struct ahead *a)
{
	LLVMValueRef place = NULL;
	for (uint32_t i = 0; i < a->count; i++) {
		LLVMValueRef v = a->steps[i].inst;
		bool is_scalar = !a->steps[i].is_vector && !a->steps[i].is_late && !LLVMIsAStoreInst(v);
		if (!is_scalar && !place)
			place = v;
		if (!is_scalar || !place)
			continue;
		LLVMInstructionRemoveFromParent(v);
		LLVMPositionBuilderBefore(a->b, place);
		LLVMInsertIntoBuilder(a->b, v);
	}
	return place;
}

static void carry(struct ahead *a, struct step *step)
{
	LLVMPositionBuilderBefore(a->b, LLVMGetFirstInstruction(a->body));
	LLVMValueRef phi = LLVMBuildPhi(a->b, LLVMTypeOf(step->inst), "ahead"), values[] = { step->first, step->next };
	LLVMBasicBlockRef blocks[] = { a->from, a->body };
	LLVMAddIncoming(phi, values, blocks, 2);
	LLVMReplaceAllUsesWith(step->inst, phi);
}

static void cut_body(struct ahead *a, uint32_t cut)
{
	find_needed(a, cut);
	LLVMPositionBuilderBefore(a->b, LLVMGetBasicBlockTerminator(a->from));
	for (uint32_t i = 0; i < a->count; i++)
		if (a->steps[i].is_needed || is_early(&a->steps[i], cut))
			a->steps[i].first = copy(a, &a->steps[i], a->thread_now, true);
	LLVMPositionBuilderBefore(a->b, move_scalars(a));
	LLVMValueRef thread = LLVMBuildSelect(a->b, a->again, a->thread_next, a->thread, "");
	for (uint32_t i = 0; i < a->count; i++)
		if (a->steps[i].first)
			a->steps[i].next = copy(a, &a->steps[i], thread, false);
	for (uint32_t i = a->count; i-- > 0;) {
		struct step *step = &a->steps[i];
		if (!is_early(step, cut))
			continue;
		if (LLVMGetFirstUse(step->inst)) /* of the first part itself nothing reads it any more */
			carry(a, step);
		LLVMInstructionEraseFromParent(step->inst);
	}
}

void begin_groups_ahead(LLVMModuleRef module, uint32_t groups)
{
	struct ahead a = { .b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module)), .steps = malloc(MOST * sizeof *a.steps) };
	LLVMValueRef kernel = LLVMGetNamedFunction(module, "kernel");
	a.body = kernel && a.steps && groups >= LEAST_GROUPS ? LLVMGetFirstBasicBlock(kernel) : NULL;
	for (; a.body; a.body = LLVMGetNextBasicBlock(a.body)) {
		a.count = a.length = 0;
		uint32_t cut = find_loop(&a) && find_steps(&a) ? find_cut(&a) : 0;
		if (cut)
			cut_body(&a, cut);
		map_fini(&a.numbers);
		a.numbers = (struct map){ 0 };
	}
	free(a.steps);
	LLVMDisposeBuilder(a.b);
}
