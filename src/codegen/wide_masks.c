/* Masks that live from block to block are kept as full-width lanes, on machines without mask registers.
 *
 * LLVM selects instructions for one block at a time. Within a block it sees that a <8 x i1> comes from a comparison, whose lanes are as wide as
 * what was compared, and ends in a blend or a movemask, which take such lanes as they are. Across blocks it knows no more than the type, which
 * it makes <8 x i16>: each mask is packed at the end of one block, unpacked in the next, and what joins it in between is packed too. So once
 * LLVM's passes are done,
 *
 *     m = icmp …                 m = icmp …
 *                                w = sext m to <8 x i32>          free: this is what the comparison makes
 *     next block:                next block:
 *     … select m …               n = icmp slt w, 0                free: a blend looks at the sign
 *                                … select n …
 *
 * Phis of masks become phis of lanes, and so do logical operations on what comes from another block, choices between masks, and masks whose
 * lanes change places. ("A warp's masks are register-width values", docs/architecture.md; legalisation of predicates is what whole-function
 * vectorisers stumble over: Karrenberg and Hack, "Improving Performance of OpenCL on CPUs", 2012.) */
#include "codegen/state.h"

#include <stdlib.h>

struct mask {
	LLVMValueRef narrow, wide;
	struct mask *next;
};

struct reading { /* a mask as a block reads it that it comes into */
	struct {
		LLVMValueRef mask;
		LLVMBasicBlockRef block;
	} key;
	LLVMValueRef narrow;
};

struct widener {
	struct arena *arena;
	LLVMBuilderRef b;
	struct map map;          /* struct mask by the bytes of `narrow` */
	struct map readings;     /* by their keys */
	struct mask *first, **last;
};

static bool is_mask(LLVMValueRef v)
{
	LLVMTypeRef type = LLVMTypeOf(v);
	return LLVMGetTypeKind(type) == LLVMVectorTypeKind && LLVMGetElementType(type) == LLVMInt1TypeInContext(LLVMGetTypeContext(type));
}

static LLVMTypeRef wide_type(LLVMValueRef mask)
{
	LLVMTypeRef type = LLVMTypeOf(mask);
	return LLVMVectorType(LLVMInt32TypeInContext(LLVMGetTypeContext(type)), LLVMGetVectorSize(type));
}

static bool is_phi(LLVMValueRef v)
{
	return LLVMIsAPHINode(v) != NULL;
}

static bool is_logical(LLVMValueRef v)
{
	LLVMOpcode op = LLVMGetInstructionOpcode(v);
	return op == LLVMAnd || op == LLVMOr || op == LLVMXor;
}

/* One mask or another: LLVM would pack the three of them, in one block too. */
static bool is_choice(LLVMValueRef v)
{
	return LLVMIsASelectInst(v) != NULL;
}

/* The lanes of one mask in another order. */
static bool is_shuffle(LLVMValueRef v)
{
	return LLVMIsAShuffleVectorInst(v) && LLVMGetNumMaskElements(v) == LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(v, 0)));
}

/* Is it made of masks in their wide form, so that the narrow one is not needed? */
static bool is_made_of_wide(LLVMValueRef v)
{
	return is_phi(v) || is_logical(v) || is_choice(v) || is_shuffle(v);
}

static struct mask *find(struct widener *w, LLVMValueRef v)
{
	return map_get_n(&w->map, (const char *)&v, sizeof v);
}

static void add(struct widener *w, LLVMValueRef v)
{
	struct mask *m = arena_new(w->arena, struct mask);
	m->narrow = v;
	*w->last = m;
	w->last = &m->next;
	map_put_n(&w->map, (const char *)&m->narrow, sizeof m->narrow, m);
}

static bool lives_on(LLVMValueRef v)
{
	if (is_phi(v))
		return true;
	for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use))
		if (LLVMGetInstructionParent(LLVMGetUser(use)) != LLVMGetInstructionParent(v) || is_phi(LLVMGetUser(use)))
			return true;
	return false;
}

/* Does it join masks of which one comes from elsewhere? In the order of the blocks: what comes later comes over a phi. */
static bool joins(struct widener *w, LLVMValueRef v)
{
	return is_logical(v) && (find(w, LLVMGetOperand(v, 0)) || find(w, LLVMGetOperand(v, 1)));
}

static void find_masks(struct widener *w, LLVMValueRef function)
{
	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
		for (LLVMValueRef v = LLVMGetFirstInstruction(block); v; v = LLVMGetNextInstruction(v))
			if (is_mask(v) && (lives_on(v) || joins(w, v) || is_choice(v) || is_shuffle(v)))
				add(w, v);
}

/* ---- the wide ones ---------------------------------------------------------------------------------------------------------- */

static void before_next(struct widener *w, LLVMValueRef v)
{
	LLVMPositionBuilderBefore(w->b, LLVMGetNextInstruction(v));
}

/* One lane of a mask whose others are nobody's: where they are all to be one that is the same for the warp. */
static bool is_one_lane(LLVMValueRef v)
{
	return LLVMIsAInsertElementInst(v) && LLVMIsPoison(LLVMGetOperand(v, 0));
}

static LLVMValueRef wide_lane(struct widener *w, LLVMValueRef v)
{
	LLVMTypeRef type = wide_type(v);
	LLVMValueRef lane = LLVMBuildSExt(w->b, LLVMGetOperand(v, 1), LLVMGetElementType(type), "");
	return LLVMBuildInsertElement(w->b, LLVMGetPoison(type), lane, LLVMGetOperand(v, 2), "");
}

/* The wide form of an operand, for an instruction that the builder stands behind. */
static LLVMValueRef wide_operand(struct widener *w, LLVMValueRef v)
{
	struct mask *m = find(w, v);
	if (m && m->wide)
		return m->wide;
	return is_one_lane(v) ? wide_lane(w, v) : LLVMBuildSExt(w->b, v, wide_type(v), "");
}

static LLVMValueRef shuffled(struct widener *w, LLVMValueRef v)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(wide_type(v)));
	LLVMValueRef a = wide_operand(w, LLVMGetOperand(v, 0)), b = LLVMGetOperand(v, 1), order[MAX_WIDTH];
	unsigned count = LLVMGetNumMaskElements(v);
	b = LLVMIsUndef(b) ? LLVMGetPoison(LLVMTypeOf(a)) : wide_operand(w, b);
	for (unsigned i = 0; i < count; i++) {
		int from = LLVMGetMaskValue(v, i);
		order[i] = from == LLVMGetUndefMaskElem() ? LLVMGetPoison(i32) : LLVMConstInt(i32, (unsigned)from, false);
	}
	return LLVMBuildShuffleVector(w->b, a, b, LLVMConstVector(order, count), "");
}

static void widen(struct widener *w, struct mask *m)
{
	LLVMValueRef v = m->narrow;
	if (is_phi(v)) {
		LLVMPositionBuilderBefore(w->b, v);
		m->wide = LLVMBuildPhi(w->b, wide_type(v), "");
		return;
	}
	before_next(w, v);
	if (is_logical(v)) {
		LLVMValueRef a = wide_operand(w, LLVMGetOperand(v, 0)), b = wide_operand(w, LLVMGetOperand(v, 1));
		m->wide = LLVMBuildBinOp(w->b, LLVMGetInstructionOpcode(v), a, b, "");
	} else if (is_choice(v)) {
		LLVMValueRef condition = LLVMGetOperand(v, 0), a = wide_operand(w, LLVMGetOperand(v, 1)), b = wide_operand(w, LLVMGetOperand(v, 2));
		if (is_mask(condition)) {
			LLVMValueRef lanes = wide_operand(w, condition);
			condition = LLVMBuildICmp(w->b, LLVMIntSLT, lanes, LLVMConstNull(LLVMTypeOf(lanes)), "");
		}
		m->wide = LLVMBuildSelect(w->b, condition, a, b, "");
	} else if (is_shuffle(v)) {
		m->wide = shuffled(w, v);
	} else {
		m->wide = LLVMBuildSExt(w->b, v, wide_type(v), "");
	}
}

static void fill_phi(struct widener *w, struct mask *m)
{
	for (unsigned i = 0; i < LLVMCountIncoming(m->narrow); i++) {
		LLVMValueRef from = LLVMGetIncomingValue(m->narrow, i), wide;
		LLVMBasicBlockRef block = LLVMGetIncomingBlock(m->narrow, i);
		LLVMPositionBuilderBefore(w->b, LLVMGetBasicBlockTerminator(block));
		wide = wide_operand(w, from);
		LLVMAddIncoming(m->wide, &wide, &block, 1);
	}
}

/* ---- who reads them --------------------------------------------------------------------------------------------------------- */

static LLVMValueRef first_behind_phis(LLVMBasicBlockRef block)
{
	LLVMValueRef v = LLVMGetFirstInstruction(block);
	while (is_phi(v))
		v = LLVMGetNextInstruction(v);
	return v;
}

/* The mask as `user` reads it. */
static LLVMValueRef reading(struct widener *w, struct mask *m, LLVMValueRef user)
{
	struct reading *r = arena_new(w->arena, struct reading), *known;
	r->key.mask = m->narrow;
	r->key.block = LLVMGetInstructionParent(user);
	if ((known = map_get_n(&w->readings, (const char *)&r->key, sizeof r->key)))
		return known->narrow;
	if (LLVMGetInstructionParent(m->narrow) == r->key.block && !is_phi(m->narrow))
		before_next(w, m->wide);
	else
		LLVMPositionBuilderBefore(w->b, first_behind_phis(r->key.block));
	r->narrow = LLVMBuildICmp(w->b, LLVMIntSLT, m->wide, LLVMConstNull(LLVMTypeOf(m->wide)), "");
	map_put_n(&w->readings, (const char *)&r->key, sizeof r->key, r);
	return r->narrow;
}

/* A comparison is read as it is where it is made. */
static bool reads_as_is(const struct mask *m, LLVMValueRef user)
{
	return !is_made_of_wide(m->narrow) && LLVMGetInstructionParent(user) == LLVMGetInstructionParent(m->narrow);
}

static bool is_replaced(struct widener *w, LLVMValueRef user)
{
	return is_mask(user) && is_made_of_wide(user) && find(w, user);
}

static void replace_uses(struct widener *w, struct mask *m)
{
	VEC(LLVMValueRef) users = { 0 };
	for (LLVMUseRef use = LLVMGetFirstUse(m->narrow); use; use = LLVMGetNextUse(use))
		vec_push(&users, LLVMGetUser(use));
	for (size_t i = 0; i < users.count; i++) {
		LLVMValueRef user = users.data[i];
		if (reads_as_is(m, user) || is_replaced(w, user))
			continue;
		if (LLVMIsASExtInst(user) && LLVMTypeOf(user) == LLVMTypeOf(m->wide)) {
			LLVMReplaceAllUsesWith(user, m->wide);
			LLVMInstructionEraseFromParent(user);
			continue;
		}
		LLVMValueRef narrow = reading(w, m, user);
		for (int op = 0; op < LLVMGetNumOperands(user); op++)
			if (LLVMGetOperand(user, (unsigned)op) == m->narrow)
				LLVMSetOperand(user, (unsigned)op, narrow);
	}
	vec_fini(&users);
}

/* What is made of wide ones, and what nobody reads any more; they read each other. */
static void drop(struct widener *w)
{
	for (struct mask *m = w->first; m; m = m->next)
		if (is_made_of_wide(m->narrow))
			LLVMReplaceAllUsesWith(m->narrow, LLVMGetPoison(LLVMTypeOf(m->narrow)));
	for (struct mask *m = w->first, *next; m; m = next) {
		next = m->next;
		if (!is_made_of_wide(m->narrow))
			continue;
		LLVMValueRef lane = is_shuffle(m->narrow) ? LLVMGetOperand(m->narrow, 0) : NULL;
		LLVMInstructionEraseFromParent(m->narrow);
		if (lane && is_one_lane(lane) && !find(w, lane) && !LLVMGetFirstUse(lane))
			LLVMInstructionEraseFromParent(lane);
	}
}

/* ---- who stays, and who leaves ------------------------------------------------------------------------------------------------- */

static bool is_opposite_of(LLVMValueRef v, LLVMValueRef other)
{
	return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == LLVMXor && LLVMGetOperand(v, 0) == other &&
	       LLVMGetOperand(v, 1) == LLVMConstAllOnes(LLVMTypeOf(v));
}

static bool are_opposites(LLVMValueRef a, LLVMValueRef b)
{
	return is_opposite_of(a, b) || is_opposite_of(b, a);
}

/* and_: of `whole` those lanes that are in `other` too. */
struct part {
	LLVMValueRef and_, whole, other;
};

/* Those of a mask that stay in a loop are those that do not leave it. LLVM compares twice for that, the second time for the opposite, where it
 * is one operation on what is there: whole & ~other is whole ^ (whole & other), and the other way round. */
static void use_rests(struct widener *w, LLVMBasicBlockRef block)
{
	VEC(struct part) parts = { 0 };
	for (LLVMValueRef v = LLVMGetFirstInstruction(block), next; v; v = next) {
		next = LLVMGetNextInstruction(v);
		if (!is_mask(v) || LLVMGetInstructionOpcode(v) != LLVMAnd)
			continue;
		LLVMValueRef rest = NULL;
		for (unsigned op = 0; op < 2; op++) {
			struct part part = { v, LLVMGetOperand(v, op), LLVMGetOperand(v, !op) };
			for (size_t i = 0; !rest && i < parts.count; i++)
				if (parts.data[i].whole == part.whole && are_opposites(parts.data[i].other, part.other))
					rest = parts.data[i].and_;
			if (rest) {
				LLVMPositionBuilderBefore(w->b, v);
				rest = LLVMBuildXor(w->b, part.whole, rest, "");
				break;
			}
			vec_push(&parts, part);
		}
		if (rest) {
			LLVMReplaceAllUsesWith(v, rest);
			LLVMInstructionEraseFromParent(v);
		}
	}
	vec_fini(&parts);
}

static void widen_function(struct widener *w, LLVMValueRef function)
{
	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
		use_rests(w, block);
	w->first = NULL;
	w->last = &w->first;
	find_masks(w, function);
	for (struct mask *m = w->first; m; m = m->next)
		widen(w, m);
	for (struct mask *m = w->first; m; m = m->next)
		if (is_phi(m->narrow))
			fill_phi(w, m);
	for (struct mask *m = w->first; m; m = m->next)
		replace_uses(w, m);
	drop(w);
}

void widen_masks(LLVMModuleRef module, struct arena *arena)
{
	struct widener w = { .arena = arena, .b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module)) };
	for (LLVMValueRef function = LLVMGetFirstFunction(module); function; function = LLVMGetNextFunction(function))
		if (!LLVMIsDeclaration(function))
			widen_function(&w, function);
	map_fini(&w.map);
	map_fini(&w.readings);
	LLVMDisposeBuilder(w.b);
}
