/* shfl: PTX ISA 9.7.9.5 and 9.7.9.6. Lanes in registers: a pattern known now is one shufflevector a chunk, others are permutes of
 * each source chunk. In the scalar form threads meet through the runtime. A source lane that takes no part reads as 0; member masks are what
 * the lanes that are here make them (see emit_warp.c). */
#include <stddef.h>
#include <string.h>

#include "backend/cpu/abi.h"
#include "codegen/arith.h"
#include "codegen/group.h"
#include "codegen/target.h"
#include "isa_emit.h"

enum shuffle_mode { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX };

struct shuffle {
	enum shuffle_mode mode;
	const struct ptx_operand *d, *p, *a, *b, *c, *m;
};

static LLVMTypeRef i32_type(struct emitter *e)
{
	return LLVMInt32TypeInContext(e->context);
}

static struct shuffle parse(struct emitter *e)
{
	const struct ptx_operand *d = operand(e, 0);
	bool pair = d->kind == PTX_OP_PAIR;
	struct shuffle s = { .d = pair ? &d->parts[0] : d, .p = pair ? &d->parts[1] : NULL };
	s.mode = has(e, MOD_up) ? SHUFFLE_UP : has(e, MOD_down) ? SHUFFLE_DOWN : has(e, MOD_bfly) ? SHUFFLE_BFLY : SHUFFLE_IDX;
	s.a = operand(e, 1);
	s.b = operand(e, 2);
	s.c = operand(e, 3);
	s.m = has(e, MOD_sync) ? operand(e, 4) : NULL;
	return s;
}

/* ---- patterns known now ------------------------------------------------------------------------------------- */

/* The lane that `lane` reads; *inside: its result predicate. The manual's own algorithm. */
static unsigned source_lane(enum shuffle_mode mode, int lane, unsigned b, unsigned c, bool *inside)
{
	int bval = b & 31, cval = c & 31, segment = c >> 8 & 31, j;
	int last = (lane & segment) | (cval & ~segment), first = lane & segment;
	switch (mode) {
	case SHUFFLE_UP:
		j = lane - bval;
		*inside = j >= last;
		break;
	case SHUFFLE_DOWN:
		j = lane + bval;
		*inside = j <= last;
		break;
	case SHUFFLE_BFLY:
		j = lane ^ bval;
		*inside = j <= last;
		break;
	default:
		j = first | (bval & ~segment);
		*inside = j <= last;
	}
	return (unsigned)(*inside ? j : lane);
}

/* Chunk `to` of the warp whose lane i reads lane source[i]; values[] are the chunks read from. */
static LLVMValueRef shuffle_chunk(struct emitter *e, LLVMValueRef const *values, const unsigned *source, unsigned to)
{
	LLVMValueRef order[MAX_WIDTH], result = NULL;
	unsigned width = e->width;
	for (unsigned from = 0; from < e->chunks; from++) {
		bool used = false;
		for (unsigned i = 0; i < width; i++) {
			bool here = source[to * width + i] / width == from;
			used |= here;
			order[i] = i32_constant(e, here ? (result ? width : 0) + source[to * width + i] % width : result ? i : 0);
		}
		if (!used)
			continue;
		LLVMValueRef other = result ? values[from] : LLVMGetUndef(LLVMTypeOf(values[from]));
		result = LLVMBuildShuffleVector(e->b, result ? result : values[from], other, LLVMConstVector(order, width), "");
	}
	return result;
}

static void shuffle_known(struct emitter *e, const struct shuffle *s, LLVMValueRef const *values, unsigned b, unsigned c)
{
	unsigned source[32];
	bool inside[32];
	LLVMValueRef flags[MAX_WIDTH];
	for (int i = 0; i < 32; i++)
		source[i] = source_lane(s->mode, i, b, c, &inside[i]);
	for (unsigned chunk = 0; chunk < e->chunks; chunk++) {
		set_value_chunk(e, s->d, shuffle_chunk(e, values, source, chunk), chunk);
		if (!s->p)
			continue;
		for (unsigned i = 0; i < e->width; i++)
			flags[i] = LLVMConstInt(LLVMInt1TypeInContext(e->context), inside[chunk * e->width + i], false);
		set_value_chunk(e, s->p, LLVMConstVector(flags, e->width), chunk);
	}
}

/* ---- patterns known when it runs ------------------------------------------------------------------------------ */

/* The same algorithm on pieces. */
static LLVMValueRef source_lanes(struct emitter *e, enum shuffle_mode mode, LLVMValueRef lane, LLVMValueRef b, LLVMValueRef c,
				 LLVMValueRef *inside)
{
	LLVMValueRef low = kbits(e, 32, 31), bval = and_(e, b, low), cval = and_(e, c, low), j;
	LLVMValueRef segment = and_(e, lshr_(e, c, kbits(e, 32, 8)), low), first = and_(e, lane, segment);
	LLVMValueRef last = or_(e, first, and_(e, cval, not_(e, segment)));
	if (mode == SHUFFLE_UP)
		j = sub_(e, lane, bval);
	else if (mode == SHUFFLE_DOWN)
		j = add_(e, lane, bval);
	else if (mode == SHUFFLE_BFLY)
		j = xor_(e, lane, bval);
	else
		j = or_(e, first, and_(e, bval, not_(e, segment)));
	*inside = icmp_(e, mode == SHUFFLE_UP ? LLVMIntSGE : LLVMIntSLE, j, last);
	return select_(e, *inside, j, lane);
}

/* The machine's permute of 32-bit lanes, where it has one. */
static const char *permute_name(struct emitter *e)
{
	if (strncmp(e->target->triple, "x86_64", 6))
		return NULL;
	if (e->width == 8 && strstr(e->target->features, "+avx2"))
		return "llvm.x86.avx2.permd";
	return e->width == 16 && strstr(e->target->features, "+avx512f") ? "llvm.x86.avx512.permvar.si.512" : NULL;
}

static LLVMValueRef permute(struct emitter *e, const char *name, LLVMValueRef v, LLVMValueRef index)
{
	LLVMValueRef arguments[] = { v, index };
	return machine_intrinsic(e, name, arguments, 2);
}

static LLVMValueRef gather_permuted(struct emitter *e, const char *name, LLVMValueRef const *values, LLVMValueRef j)
{
	unsigned shift = e->width == 8 ? 3 : 4;
	LLVMValueRef from = lshr_(e, j, kbits(e, 32, shift)), result = permute(e, name, values[0], j);
	for (unsigned c = 1; c < e->chunks; c++)
		result = select_(e, icmp_(e, LLVMIntEQ, from, kbits(e, 32, c)), permute(e, name, values[c], j), result);
	return result;
}

static LLVMValueRef gather_from_memory(struct emitter *e, LLVMValueRef words, LLVMValueRef j)
{
	LLVMValueRef result = undef_piece(e, i32_type(e));
	for (unsigned i = 0; i < e->width; i++) {
		LLVMValueRef index = lane_get(e, j, i), at = LLVMBuildGEP2(e->b, i32_type(e), words, &index, 1, "");
		result = lane_put(e, result, LLVMBuildLoad2(e->b, i32_type(e), at, ""), i);
	}
	return result;
}

static void shuffle_variable(struct emitter *e, const struct shuffle *s, LLVMValueRef const *values)
{
	const char *name = permute_name(e);
	LLVMValueRef words = name ? NULL : lane_words(e), numbers[MAX_WIDTH], inside;
	for (unsigned c = 0; words && c < e->chunks; c++) {
		LLVMValueRef index = i32_constant(e, c * e->width), at = LLVMBuildGEP2(e->b, i32_type(e), words, &index, 1, "");
		LLVMBuildStore(e->b, values[c], at);
	}
	for (unsigned c = 0; c < e->chunks; c++) {
		struct group_place place = group_enter(e, c);
		for (unsigned i = 0; i < e->width; i++)
			numbers[i] = i32_constant(e, c * e->width + i);
		LLVMValueRef b = arg_chunk(e, s->b, PTX_U32, c), segment = arg_chunk(e, s->c, PTX_U32, c);
		LLVMValueRef j = source_lanes(e, s->mode, LLVMConstVector(numbers, e->width), b, segment, &inside);
		LLVMValueRef r = name ? gather_permuted(e, name, values, j) : gather_from_memory(e, words, j);
		group_leave(e, place);
		set_value_chunk(e, s->d, r, c);
		if (s->p)
			set_value_chunk(e, s->p, inside, c);
	}
}

/* ---- a machine's own lanes --------------------------------------------------------------------------------------- */

static void shuffle_hardware(struct emitter *e, const struct shuffle *s)
{
	LLVMValueRef inside, own = arg_uniform(e, s->a, PTX_B32), lane = e->target->hooks->lane(e);
	LLVMValueRef j = source_lanes(e, s->mode, lane, arg_uniform(e, s->b, PTX_U32), arg_uniform(e, s->c, PTX_U32), &inside);
	set_value_uniform(e, s->d, e->target->hooks->read_lane(e, own, and_(e, j, kbits(e, 32, 31))));
	if (s->p)
		set_value_uniform(e, s->p, inside);
}

/* ---- one thread at a time ---------------------------------------------------------------------------------------- */

static void shuffle_scalar(struct emitter *e, const struct shuffle *s)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context), pointer = LLVMPointerTypeInContext(e->context, 0), i32 = i32_type(e);
	LLVMValueRef words = lane_words(e), members = s->m ? arg_uniform(e, s->m, PTX_U32) : i32_constant(e, UINT32_MAX), inside;
	LLVMTypeRef types[] = { i32, i32, i64, pointer };
	LLVMValueRef own = LLVMBuildZExt(e->b, arg_uniform(e, s->a, PTX_B32), i64, "");
	LLVMValueRef arguments[] = { e->first_thread, members, own, words };
	LLVMValueRef present = call_service(e, offsetof(struct cpu_services, exchange), i32, types, arguments, 4);
	LLVMValueRef lane = and_(e, e->first_thread, kbits(e, 32, 31));
	LLVMValueRef j = source_lanes(e, s->mode, lane, arg_uniform(e, s->b, PTX_U32), arg_uniform(e, s->c, PTX_U32), &inside);
	j = and_(e, j, kbits(e, 32, 31));
	LLVMValueRef there = LLVMBuildTrunc(e->b, lshr_(e, present, j), LLVMInt1TypeInContext(e->context), "");
	LLVMValueRef word = LLVMBuildLoad2(e->b, i64, LLVMBuildGEP2(e->b, i64, words, &j, 1, ""), "");
	set_value_uniform(e, s->d, select_(e, there, resize(e, word, 32, false), kbits(e, 32, 0)));
	if (s->p)
		set_value_uniform(e, s->p, inside);
}

static bool known(struct emitter *e, const struct ptx_operand *op, uint64_t *value)
{
	return operand_is_uniform(e, op) && constant_int(arg_uniform(e, op, PTX_U32), value);
}

void emit_shfl(struct emitter *e, const struct ptx_instruction *in)
{
	struct shuffle s = parse(e);
	LLVMValueRef values[MAX_CHUNKS];
	uint64_t b, c;
	(void)in;
	if (e->target->hooks) {
		shuffle_hardware(e, &s);
		return;
	}
	if (e->lanes == 1) {
		shuffle_scalar(e, &s);
		return;
	}
	for (unsigned i = 0; i < e->chunks; i++) {
		LLVMValueRef v = arg_chunk(e, s.a, PTX_B32, i);
		values[i] = LLVMBuildSelect(e->b, mask_chunk(e, i), v, LLVMConstNull(LLVMTypeOf(v)), "");
	}
	if (known(e, s.b, &b) && known(e, s.c, &c))
		shuffle_known(e, &s, values, (unsigned)b, (unsigned)c);
	else
		shuffle_variable(e, &s, values);
}
