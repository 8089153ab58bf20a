/* Scalar ALU and program control: S(stem, width of the result, expression of x and y, SCC) a line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "machine.h"

static inline uint32_t reverse_32(uint32_t x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(x);
}
static inline uint64_t reverse_64(uint64_t x) { return (uint64_t)reverse_32((uint32_t)x) << 32 | reverse_32((uint32_t)(x >> 32)); }

/* Whole quads where any bit is set, and its kin. */
static inline uint64_t whole_quads(uint64_t x)
{
	uint64_t result = 0;

	for (unsigned i = 0; i < 64; i += 4)
		if (x >> i & 15) result |= 15ull << i;
	return result;
}

static inline uint64_t bits_replicated(uint32_t x)
{
	uint64_t result = 0;

	for (unsigned i = 0; i < 32; i++) result |= (uint64_t)(x >> i & 1) * 3 << 2 * i;
	return result;
}

static inline uint64_t field_64(uint64_t x, uint32_t control, bool sign)
{
	unsigned offset = control & 63, width = control >> 16 & 127;

	if (!width) return 0;
	x = sign ? (uint64_t)((int64_t)x >> offset) : x >> offset;
	if (width >= 64) return x;
	x &= (1ull << width) - 1;
	return sign ? (uint64_t)((int64_t)(x << (64 - width)) >> (64 - width)) : x;
}
static inline uint32_t field_32(uint32_t x, uint32_t control, bool sign)
{
	unsigned offset = control & 31, width = control >> 16 & 127;

	if (!width) return 0;
	x = sign ? (uint32_t)((int32_t)x >> offset) : x >> offset;
	if (width >= 32) return x;
	x &= (1u << width) - 1;
	return sign ? (uint32_t)((int32_t)(x << (32 - width)) >> (32 - width)) : x;
}
static inline int32_t sign_run(int64_t x, unsigned width)
{
	uint64_t y = (uint64_t)(x < 0 ? ~x : x);

	return y ? __builtin_clzll(y) - (int32_t)(64 - width) : -1;
}

#define I32(v) ((int32_t)(v))
#define I64(v) ((int64_t)(v))
/* S(stem, result bits, x bits, y bits, result, SCC): r is the result, w->scc the old SCC; KEEP leaves SCC. */
#define KEEP w->scc
#define S_ROWS(S) \
	S(s_mov_b32, 32, 32, 0, x, KEEP) S(s_mov_b64, 64, 64, 0, x, KEEP) \
	S(s_cmov_b32, 32, 32, 0, w->scc ? x : old, KEEP) S(s_cmov_b64, 64, 64, 0, w->scc ? x : old, KEEP) \
	S(s_not_b32, 32, 32, 0, ~x, r != 0) S(s_not_b64, 64, 64, 0, ~x, r != 0) \
	S(s_and_b32, 32, 32, 32, x & y, r != 0) S(s_and_b64, 64, 64, 64, x & y, r != 0) \
	S(s_or_b32, 32, 32, 32, x | y, r != 0) S(s_or_b64, 64, 64, 64, x | y, r != 0) \
	S(s_xor_b32, 32, 32, 32, x ^ y, r != 0) S(s_xor_b64, 64, 64, 64, x ^ y, r != 0) \
	S(s_and_not1_b32, 32, 32, 32, x & ~y, r != 0) S(s_and_not1_b64, 64, 64, 64, x & ~y, r != 0) \
	S(s_or_not1_b32, 32, 32, 32, x | ~y, r != 0) S(s_or_not1_b64, 64, 64, 64, x | ~y, r != 0) \
	S(s_nand_b32, 32, 32, 32, ~(x & y), r != 0) S(s_nand_b64, 64, 64, 64, ~(x & y), r != 0) \
	S(s_nor_b32, 32, 32, 32, ~(x | y), r != 0) S(s_nor_b64, 64, 64, 64, ~(x | y), r != 0) \
	S(s_xnor_b32, 32, 32, 32, ~(x ^ y), r != 0) S(s_xnor_b64, 64, 64, 64, ~(x ^ y), r != 0) \
	S(s_add_u32, 32, 32, 32, x + y, r < x) S(s_sub_u32, 32, 32, 32, x - y, x < y) \
	S(s_add_i32, 32, 32, 32, x + y, ((x ^ r) & (y ^ r)) >> 31) S(s_sub_i32, 32, 32, 32, x - y, ((x ^ y) & (x ^ r)) >> 31) \
	S(s_addc_u32, 32, 32, 32, x + y + w->scc, ((uint64_t)x + y + w->scc) >> 32) \
	S(s_subb_u32, 32, 32, 32, x - y - w->scc, (uint64_t)x < (uint64_t)y + w->scc) \
	S(s_add_nc_u64, 64, 64, 64, x + y, KEEP) S(s_sub_nc_u64, 64, 64, 64, x - y, KEEP) S(s_mul_u64, 64, 64, 64, x * y, KEEP) \
	S(s_mul_i32, 32, 32, 32, x * y, KEEP) S(s_mul_hi_u32, 32, 32, 32, (uint32_t)((uint64_t)x * y >> 32), KEEP) \
	S(s_mul_hi_i32, 32, 32, 32, (uint32_t)((int64_t)I32(x) * I32(y) >> 32), KEEP) \
	S(s_lshl_b32, 32, 32, 32, x << (y & 31), r != 0) S(s_lshl_b64, 64, 64, 32, x << (y & 63), r != 0) \
	S(s_lshr_b32, 32, 32, 32, x >> (y & 31), r != 0) S(s_lshr_b64, 64, 64, 32, x >> (y & 63), r != 0) \
	S(s_ashr_i32, 32, 32, 32, (uint32_t)(I32(x) >> (y & 31)), r != 0) S(s_ashr_i64, 64, 64, 32, (uint64_t)(I64(x) >> (y & 63)), r != 0) \
	S(s_lshl1_add_u32, 32, 32, 32, (x << 1) + y, ((uint64_t)x * 2 + y) >> 32 != 0) S(s_lshl2_add_u32, 32, 32, 32, (x << 2) + y, ((uint64_t)x * 4 + y) >> 32 != 0) \
	S(s_lshl3_add_u32, 32, 32, 32, (x << 3) + y, ((uint64_t)x * 8 + y) >> 32 != 0) S(s_lshl4_add_u32, 32, 32, 32, (x << 4) + y, ((uint64_t)x * 16 + y) >> 32 != 0) \
	S(s_bfm_b32, 32, 32, 32, ((1u << (x & 31)) - 1) << (y & 31), KEEP) S(s_bfm_b64, 64, 32, 32, ((1ull << (x & 63)) - 1) << (y & 63), KEEP) \
	S(s_bfe_u32, 32, 32, 32, field_32(x, y, false), r != 0) S(s_bfe_i32, 32, 32, 32, field_32(x, y, true), r != 0) \
	S(s_bfe_u64, 64, 64, 32, field_64(x, y, false), r != 0) S(s_bfe_i64, 64, 64, 32, field_64(x, y, true), r != 0) \
	S(s_min_u32, 32, 32, 32, x < y ? x : y, x < y) S(s_max_u32, 32, 32, 32, x > y ? x : y, x > y) \
	S(s_min_i32, 32, 32, 32, I32(x) < I32(y) ? x : y, I32(x) < I32(y)) S(s_max_i32, 32, 32, 32, I32(x) > I32(y) ? x : y, I32(x) > I32(y)) \
	S(s_absdiff_i32, 32, 32, 32, I32(x) > I32(y) ? x - y : y - x, r != 0) \
	S(s_abs_i32, 32, 32, 0, I32(x) < 0 ? -x : x, r != 0) \
	S(s_cselect_b32, 32, 32, 32, w->scc ? x : y, KEEP) S(s_cselect_b64, 64, 64, 64, w->scc ? x : y, KEEP) \
	S(s_pack_ll_b32_b16, 32, 32, 32, (x & 0xffff) | y << 16, KEEP) S(s_pack_lh_b32_b16, 32, 32, 32, (x & 0xffff) | (y & 0xffff0000), KEEP) \
	S(s_pack_hh_b32_b16, 32, 32, 32, x >> 16 | (y & 0xffff0000), KEEP) S(s_pack_hl_b32_b16, 32, 32, 32, x >> 16 | y << 16, KEEP) \
	S(s_sext_i32_i8, 32, 32, 0, (uint32_t)(int8_t)x, KEEP) S(s_sext_i32_i16, 32, 32, 0, (uint32_t)(int16_t)x, KEEP) \
	S(s_brev_b32, 32, 32, 0, reverse_32(x), KEEP) S(s_brev_b64, 64, 64, 0, reverse_64(x), KEEP) \
	S(s_bcnt0_i32_b32, 32, 32, 0, 32 - (uint32_t)__builtin_popcount(x), r != 0) S(s_bcnt1_i32_b32, 32, 32, 0, (uint32_t)__builtin_popcount(x), r != 0) \
	S(s_bcnt0_i32_b64, 32, 64, 0, 64 - (uint32_t)__builtin_popcountll(x), r != 0) S(s_bcnt1_i32_b64, 32, 64, 0, (uint32_t)__builtin_popcountll(x), r != 0) \
	S(s_ctz_i32_b32, 32, 32, 0, x ? (uint32_t)__builtin_ctz(x) : ~0u, KEEP) S(s_ctz_i32_b64, 32, 64, 0, x ? (uint32_t)__builtin_ctzll(x) : ~0u, KEEP) \
	S(s_clz_i32_u32, 32, 32, 0, x ? (uint32_t)__builtin_clz(x) : ~0u, KEEP) S(s_clz_i32_u64, 32, 64, 0, x ? (uint32_t)__builtin_clzll(x) : ~0u, KEEP) \
	S(s_cls_i32, 32, 32, 0, (uint32_t)sign_run(I32(x), 32), KEEP) S(s_cls_i32_i64, 32, 64, 0, (uint32_t)sign_run(I64(x), 64), KEEP) \
	S(s_ff0_i32_b32, 32, 32, 0, ~x ? (uint32_t)__builtin_ctz(~x) : ~0u, KEEP) S(s_ff0_i32_b64, 32, 64, 0, ~x ? (uint32_t)__builtin_ctzll(~x) : ~0u, KEEP) \
	S(s_bitset0_b32, 32, 32, 0, old & ~(1u << (x & 31)), KEEP) S(s_bitset1_b32, 32, 32, 0, old | 1u << (x & 31), KEEP) \
	S(s_bitset0_b64, 64, 32, 0, old & ~(1ull << (x & 63)), KEEP) S(s_bitset1_b64, 64, 32, 0, old | 1ull << (x & 63), KEEP) \
	S(s_wqm_b32, 32, 32, 0, (uint32_t)whole_quads(x), r != 0) S(s_wqm_b64, 64, 64, 0, whole_quads(x), r != 0) \
	S(s_bitreplicate_b64_b32, 64, 32, 0, bits_replicated(x), KEEP)

#define SCALAR_32 uint32_t
#define SCALAR_64 uint64_t
#define SCALAR_0 uint32_t
#define S_FUNCTION(stem, D, A, B, result, condition) \
static void run_##stem(struct wave *w, const struct instruction *in) \
{ \
	SCALAR_##A x = (SCALAR_##A)scalar_read(w, &in->o[1], A == 64); \
	SCALAR_##B y = B ? (SCALAR_##B)scalar_read(w, &in->o[2], B == 64) : 0; \
	SCALAR_##D old = (SCALAR_##D)scalar_read(w, &in->o[0], D == 64), r; \
	(void)y, (void)old; \
	r = result; \
	scalar_write(w, &in->o[0], r, D == 64); \
	w->scc = condition; \
}
S_ROWS(S_FUNCTION)

/* s_cmp: SC(stem, bits, condition) */
#define SC_ROWS(C) \
	C(s_cmp_eq_u32, 32, x == y) C(s_cmp_lg_u32, 32, x != y) C(s_cmp_lt_u32, 32, x < y) C(s_cmp_le_u32, 32, x <= y) \
	C(s_cmp_gt_u32, 32, x > y) C(s_cmp_ge_u32, 32, x >= y) C(s_cmp_eq_i32, 32, x == y) C(s_cmp_lg_i32, 32, x != y) \
	C(s_cmp_lt_i32, 32, I32(x) < I32(y)) C(s_cmp_le_i32, 32, I32(x) <= I32(y)) C(s_cmp_gt_i32, 32, I32(x) > I32(y)) \
	C(s_cmp_ge_i32, 32, I32(x) >= I32(y)) C(s_cmp_eq_u64, 64, x == y) C(s_cmp_lg_u64, 64, x != y) \
	C(s_bitcmp0_b32, 32, !(x >> (y & 31) & 1)) C(s_bitcmp1_b32, 32, x >> (y & 31) & 1) \
	C(s_bitcmp0_b64, 64, !(x >> (y & 63) & 1)) C(s_bitcmp1_b64, 64, x >> (y & 63) & 1)
#define SC_FUNCTION(stem, bits, condition) \
static void run_##stem(struct wave *w, const struct instruction *in) \
{ \
	SCALAR_##bits x = (SCALAR_##bits)scalar_read(w, &in->o[0], bits == 64), y = (SCALAR_##bits)scalar_read(w, &in->o[1], bits == 64); \
	w->scc = condition; \
}
SC_ROWS(SC_FUNCTION)

/* SOPK: a 16-bit constant, which the text may give as a number of either sign; taken from the encoding. */
static int32_t constant_16(const struct instruction *in) { return (int16_t)in->words[0]; }

#define SK_ROWS(K) \
	K(s_cmpk_eq_i32, x == k) K(s_cmpk_lg_i32, x != k) K(s_cmpk_gt_i32, x > k) K(s_cmpk_ge_i32, x >= k) K(s_cmpk_lt_i32, x < k) K(s_cmpk_le_i32, x <= k) \
	K(s_cmpk_eq_u32, u == (k & 0xffff)) K(s_cmpk_lg_u32, u != (k & 0xffff)) K(s_cmpk_gt_u32, u > (k & 0xffff)) K(s_cmpk_ge_u32, u >= (k & 0xffff)) \
	K(s_cmpk_lt_u32, u < (k & 0xffff)) K(s_cmpk_le_u32, u <= (k & 0xffff))
#define SK_FUNCTION(stem, condition) \
static void run_##stem(struct wave *w, const struct instruction *in) \
{ \
	int32_t x = (int32_t)scalar_read(w, &in->o[0], false), k = constant_16(in); \
	int64_t u = (uint32_t)x; \
	(void)u; \
	w->scc = condition; \
}
SK_ROWS(SK_FUNCTION)

enum { K_MOV, K_CMOV, K_ADD, K_MUL };
static void constant_operation(struct wave *w, const struct instruction *in)
{
	uint32_t x = (uint32_t)scalar_read(w, &in->o[0], false), k = (uint32_t)constant_16(in), r = x;

	switch (in->detail) {
	case K_MOV: r = k; break;
	case K_CMOV: r = w->scc ? k : x; break;
	case K_MUL: r = x * k; break;
	case K_ADD:
		r = x + k;
		w->scc = ((x ^ r) & (k ^ r)) >> 31;
		break;
	}
	scalar_write(w, &in->o[0], r, false);
}

/* …_saveexec: the old EXEC to the destination; …_wrexec: the new EXEC too. x: the source, e: EXEC */
enum { X_AND, X_OR, X_XOR, X_AND_NOT1, X_OR_NOT1, X_AND_NOT0, X_OR_NOT0, X_NAND, X_NOR, X_XNOR, X_WRITE = 16 };
static void exec_operation(struct wave *w, const struct instruction *in)
{
	bool wide = strstr(in->op->stem, "_b64") != NULL;
	uint64_t e = wide ? w->s[SGPR_EXEC] | (uint64_t)w->s[SGPR_EXEC + 1] << 32 : w->s[SGPR_EXEC];
	uint64_t x = scalar_read(w, &in->o[1], wide), r = 0;

	switch (in->detail & 15) {
	case X_AND: r = x & e; break;
	case X_OR: r = x | e; break;
	case X_XOR: r = x ^ e; break;
	case X_AND_NOT1: r = x & ~e; break;
	case X_OR_NOT1: r = x | ~e; break;
	case X_AND_NOT0: r = ~x & e; break;
	case X_OR_NOT0: r = ~x | e; break;
	case X_NAND: r = ~(x & e); break;
	case X_NOR: r = ~(x | e); break;
	case X_XNOR: r = ~(x ^ e); break;
	}
	if (!wide) r = (uint32_t)r;
	scalar_write(w, &in->o[0], in->detail & X_WRITE ? r : e, wide);
	w->s[SGPR_EXEC] = (uint32_t)r;
	if (wide) w->s[SGPR_EXEC + 1] = (uint32_t)(r >> 32);
	w->scc = r != 0;
}

/* Scalar floats (gfx11.5, gfx12) are the vector instruction's loop with one lane. */
static const struct opcode *vector_twin(const struct instruction *in)
{
	char stem[64] = "v";

	if (in->detail == 2) return opcode_find("v_cvt_f32_f16");	/* of the high half */
	/* s_add_f32 and v_s_rcp_f32 */
	strncat(stem, in->op->stem + (in->op->stem[0] == 'v' ? 3 : 1), sizeof stem - 2);
	return opcode_find(unalias(stem));
}

static void scalar_float(struct wave *w, const struct instruction *in)
{
	const struct opcode *twin = vector_twin(in);
	union row sources[3], result;
	bool compare = in->detail == 1;
	bool half = twin && (twin->types[1] == 'h' || twin->types[1] == 'H');
	unsigned count = twin ? twin->sources : 0;

	if (!twin) {
		wave_fail(w, in, DISPATCH_UNSUPPORTED, "the instruction is not modelled");
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		bool last = twin->accumulate && i + 1 == count;
		const struct operand *o = &in->o[compare ? i : last ? 0 : i + 1];
		char type = twin->types[i + 1];
		uint32_t bits = o->kind == OPERAND_CONSTANT ? (uint32_t)constant_bits(o, type) : (uint32_t)scalar_read(w, o, false);

		sources[i].u[0] = bits;
		if (in->detail == 2) bits >>= 16;
		if (type == 'h') sources[i].f[0] = half_to_float((uint16_t)bits);
		if (type == 'H') sources[i].d[0] = (double)half_to_float((uint16_t)bits);
	}
	rounding_set(half || twin->types[0] == 'h' ? w->mode >> 2 & 3 : w->mode & 3);
	twin->lanes(&result, &sources[0], &sources[1], &sources[2], 1);
	if (compare) {
		w->scc = result.u[0] & 1;
		return;
	}
	if (twin->types[0] == 'h') result.u[0] = half_from_float(result.f[0], w->mode >> 2 & 3);
	if (twin->types[0] == 'H') result.u[0] = half_from_double(result.d[0], w->mode >> 2 & 3);
	if (twin->types[0] == 'f' && result.f[0] != result.f[0]) result.u[0] = 0x7fc00000;
	scalar_write(w, &in->o[0], result.u[0], false);
}

/* ---- control ---- */
enum { B_ALWAYS, B_SCC0, B_SCC1, B_VCCZ, B_VCCNZ, B_EXECZ, B_EXECNZ };
static void branch(struct wave *w, const struct instruction *in)
{
	bool taken = true;

	switch (in->detail) {
	case B_SCC0: taken = !w->scc; break;
	case B_SCC1: taken = w->scc; break;
	case B_VCCZ: taken = !vcc_read(w); break;
	case B_VCCNZ: taken = vcc_read(w) != 0; break;
	case B_EXECZ: taken = !wave_exec(w); break;
	case B_EXECNZ: taken = wave_exec(w) != 0; break;
	}
	if (taken) w->pc += (uint64_t)((int64_t)constant_16(in) * 4);
}

enum { J_GET, J_SET, J_SWAP, J_CALL };
static void jump(struct wave *w, const struct instruction *in)
{
	uint64_t next = w->pc;

	switch (in->detail) {
	case J_GET: scalar_write(w, &in->o[0], next, true); break;
	case J_SET: w->pc = scalar_read(w, &in->o[0], true); break;
	case J_SWAP:
		w->pc = scalar_read(w, &in->o[1], true);
		scalar_write(w, &in->o[0], next, true);
		break;
	case J_CALL:
		scalar_write(w, &in->o[0], next, true);
		w->pc += (uint64_t)((int64_t)constant_16(in) * 4);
		break;
	}
}

static void end_program(struct wave *w, const struct instruction *in)
{
	(void)in;
	w->state = WAVE_DONE;
}

static void hint(struct wave *w, const struct instruction *in) { (void)w, (void)in; }
static void let_others_run(struct wave *w, const struct instruction *in) { (void)in; w->yield = true; }

static void trap(struct wave *w, const struct instruction *in)
{
	if ((in->words[0] & 0xff) == 3) return;	/* a debugger's, without one */
	wave_fail(w, in, DISPATCH_TRAP, "trap %u", in->words[0] & 0xff);
}

/* s_barrier; detail 1: only signals, 2: only waits (gfx12), 3: signals, and SCC says whether it was the first.
 * A wave that waits is woken by the scheduler (dispatch.c) when the barrier has opened once more than the wave has passed it. */
static void barrier(struct wave *w, const struct instruction *in)
{
	struct block *block = w->block;

	if (in->detail && (in->o[0].kind != OPERAND_CONSTANT || (int16_t)in->o[0].integer != -1)) {
		wave_fail(w, in, DISPATCH_UNSUPPORTED, "only the block's own barrier is modelled");
		return;
	}
	if (in->detail == 3) w->scc = !block->signals;
	if (in->detail != 2) {
		block->signals++;
		barrier_check(block);
	}
	if (in->detail & 1) return;
	if (block->barriers != w->barriers) w->barriers++;
	else w->state = WAVE_BARRIER;
}

static void get_register(struct wave *w, const struct instruction *in)
{
	uint32_t value;

	if (hwreg_read(w, &in->o[1], &value)) scalar_write(w, &in->o[0], value, false);
	else wave_fail(w, in, DISPATCH_UNSUPPORTED, "this register is not modelled");
}
static void set_register(struct wave *w, const struct instruction *in)
{
	if (!hwreg_write(w, &in->o[0], (uint32_t)scalar_read(w, &in->o[1], false)))
		wave_fail(w, in, DISPATCH_UNSUPPORTED, "this register, or what is written, is not modelled");
}
/* s_round_mode, s_denorm_mode: four bits of MODE from bit `detail` */
static void set_mode(struct wave *w, const struct instruction *in)
{
	w->mode = (w->mode & ~(15u << in->detail)) | (in->words[0] & 15) << in->detail;
}

static void read_clock(struct wave *w, const struct instruction *in)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	scalar_write(w, &in->o[0], in->detail ? ns / 10 : ns + w->instructions, true);	/* real time: 100 MHz */
}

static void message_with_result(struct wave *w, const struct instruction *in)
{
	enum { GET_REALTIME = 131 };

	if ((in->words[0] & 0xff) == GET_REALTIME) read_clock(w, in);
	else wave_fail(w, in, DISPATCH_UNSUPPORTED, "this message is not modelled");
}

enum { M_RELS_32, M_RELS_64, M_RELD_32, M_RELD_64 };
static void move_relative(struct wave *w, const struct instruction *in)
{
	bool wide = in->detail & 1, destination = in->detail >= M_RELD_32;
	struct operand d = in->o[0], s = in->o[1];
	unsigned last = SGPR_VCC - (wide ? 2 : 1);

	if (destination) d.reg = (uint16_t)(d.reg + w->s[SGPR_M0]);
	else s.reg = (uint16_t)(s.reg + w->s[SGPR_M0]);
	if (d.reg > last || (s.kind == OPERAND_SCALAR && s.reg > last && !destination)) {
		wave_fail(w, in, DISPATCH_FAULT, "M0 = %u is out of range", w->s[SGPR_M0]);
		return;
	}
	scalar_write(w, &d, scalar_read(w, &s, wide), wide);
}

static void index_mode(struct wave *w, const struct instruction *in)
{
	w->index_mode = in->detail;
	if (!in->detail) return;
	w->s[SGPR_M0] = (w->s[SGPR_M0] & ~0xffu) | ((uint32_t)scalar_read(w, &in->o[0], false) & 0xff);
	w->index_bits = in->words[0] >> 8 & 15;
}

#define S_ROW(stem, D, A, B, result, condition) \
	{ #stem, run_##stem, NULL, { D == 64 ? 'q' : 'u', A == 64 ? 'q' : 'u', B == 64 ? 'q' : 'u' }, (A != 0) + (B != 0), false, 0, 0 },
#define SC_ROW(stem, bits, condition) { #stem, run_##stem, NULL, "", 0, false, 0, 0 },
#define SK_ROW(stem, condition) { #stem, run_##stem, NULL, "", 0, false, 0, 0 },
#define ROW(stem, execute, detail) { #stem, execute, NULL, "", 0, false, detail, 0 },
#define SAVE_ROWS(width) \
	ROW(s_and_saveexec_b##width, exec_operation, X_AND) ROW(s_or_saveexec_b##width, exec_operation, X_OR) \
	ROW(s_xor_saveexec_b##width, exec_operation, X_XOR) ROW(s_and_not1_saveexec_b##width, exec_operation, X_AND_NOT1) \
	ROW(s_or_not1_saveexec_b##width, exec_operation, X_OR_NOT1) ROW(s_and_not0_saveexec_b##width, exec_operation, X_AND_NOT0) \
	ROW(s_or_not0_saveexec_b##width, exec_operation, X_OR_NOT0) ROW(s_nand_saveexec_b##width, exec_operation, X_NAND) \
	ROW(s_nor_saveexec_b##width, exec_operation, X_NOR) ROW(s_xnor_saveexec_b##width, exec_operation, X_XNOR) \
	ROW(s_and_not0_wrexec_b##width, exec_operation, X_AND_NOT0 | X_WRITE) ROW(s_and_not1_wrexec_b##width, exec_operation, X_AND_NOT1 | X_WRITE)
#define FLOAT_TYPES(F, type) \
	F(s_add_##type, 0) F(s_sub_##type, 0) F(s_mul_##type, 0) F(s_fmac_##type, 0) F(s_min_num_##type, 0) F(s_max_num_##type, 0) \
	F(s_minimum_##type, 0) F(s_maximum_##type, 0) F(s_min_##type, 0) F(s_max_##type, 0) \
	F(s_ceil_##type, 0) F(s_floor_##type, 0) F(s_trunc_##type, 0) F(s_rndne_##type, 0) \
	F(s_cmp_lt_##type, 1) F(s_cmp_eq_##type, 1) F(s_cmp_le_##type, 1) F(s_cmp_gt_##type, 1) F(s_cmp_lg_##type, 1) F(s_cmp_ge_##type, 1) \
	F(s_cmp_o_##type, 1) F(s_cmp_u_##type, 1) F(s_cmp_nge_##type, 1) F(s_cmp_nlg_##type, 1) F(s_cmp_ngt_##type, 1) F(s_cmp_nle_##type, 1) \
	F(s_cmp_neq_##type, 1) F(s_cmp_nlt_##type, 1)
#define FLOAT_ROW(stem, detail) { #stem, scalar_float, NULL, "fff", 2, false, detail, 0 },
#define HALF_ROW(stem, detail) { #stem, scalar_float, NULL, "hhh", 2, false, detail, 0 },

const struct opcode salu_opcodes[] = {
	S_ROWS(S_ROW)
	SC_ROWS(SC_ROW)
	SK_ROWS(SK_ROW)
	ROW(s_movk_i32, constant_operation, K_MOV) ROW(s_cmovk_i32, constant_operation, K_CMOV)
	ROW(s_addk_i32, constant_operation, K_ADD) ROW(s_mulk_i32, constant_operation, K_MUL)
	SAVE_ROWS(32) SAVE_ROWS(64)
	FLOAT_TYPES(FLOAT_ROW, f32) FLOAT_TYPES(HALF_ROW, f16)
	FLOAT_ROW(v_s_exp_f32, 0) FLOAT_ROW(v_s_log_f32, 0) FLOAT_ROW(v_s_rcp_f32, 0) FLOAT_ROW(v_s_rsq_f32, 0) FLOAT_ROW(v_s_sqrt_f32, 0)
	HALF_ROW(v_s_exp_f16, 0) HALF_ROW(v_s_log_f16, 0) HALF_ROW(v_s_rcp_f16, 0) HALF_ROW(v_s_rsq_f16, 0) HALF_ROW(v_s_sqrt_f16, 0)
	FLOAT_ROW(s_fmamk_f32, 0) FLOAT_ROW(s_fmaak_f32, 0)
	FLOAT_ROW(s_cvt_f32_i32, 0) FLOAT_ROW(s_cvt_f32_u32, 0) FLOAT_ROW(s_cvt_i32_f32, 0) FLOAT_ROW(s_cvt_u32_f32, 0)
	FLOAT_ROW(s_cvt_f16_f32, 0) HALF_ROW(s_cvt_f32_f16, 0) HALF_ROW(s_cvt_hi_f32_f16, 2) FLOAT_ROW(s_cvt_pk_rtz_f16_f32, 0)
	ROW(s_movrels_b32, move_relative, M_RELS_32) ROW(s_movrels_b64, move_relative, M_RELS_64)
	ROW(s_movreld_b32, move_relative, M_RELD_32) ROW(s_movreld_b64, move_relative, M_RELD_64)
	{ NULL, NULL, NULL, "", 0, false, 0, 0 },
};

const struct opcode control_opcodes[] = {
	ROW(s_branch, branch, B_ALWAYS) ROW(s_cbranch_scc0, branch, B_SCC0) ROW(s_cbranch_scc1, branch, B_SCC1)
	ROW(s_cbranch_vccz, branch, B_VCCZ) ROW(s_cbranch_vccnz, branch, B_VCCNZ)
	ROW(s_cbranch_execz, branch, B_EXECZ) ROW(s_cbranch_execnz, branch, B_EXECNZ)
	ROW(s_getpc_b64, jump, J_GET) ROW(s_setpc_b64, jump, J_SET) ROW(s_swappc_b64, jump, J_SWAP) ROW(s_call_b64, jump, J_CALL)
	ROW(s_endpgm, end_program, 0)
	ROW(s_trap, trap, 0)
	ROW(s_barrier, barrier, 0) ROW(s_barrier_signal, barrier, 1) ROW(s_barrier_wait, barrier, 2) ROW(s_barrier_signal_isfirst, barrier, 3)
	ROW(s_getreg_b32, get_register, 0) ROW(s_setreg_b32, set_register, 0) ROW(s_setreg_imm32_b32, set_register, 0)
	ROW(s_round_mode, set_mode, 0) ROW(s_denorm_mode, set_mode, 4)
	ROW(s_memtime, read_clock, 0) ROW(s_memrealtime, read_clock, 1)
	ROW(s_sendmsg_rtn_b64, message_with_result, 1)
	ROW(s_set_gpr_idx_on, index_mode, 1) ROW(s_set_gpr_idx_off, index_mode, 0)
	ROW(s_wakeup, hint, 0) ROW(s_sleep, let_others_run, 0) ROW(s_sleep_var, let_others_run, 0)
	/* order and caches: every access is done, and seen, when the next instruction runs */
	ROW(s_nop, hint, 0) ROW(s_waitcnt, hint, 0) ROW(s_waitcnt_vscnt, hint, 0) ROW(s_waitcnt_vmcnt, hint, 0) ROW(s_waitcnt_lgkmcnt, hint, 0)
	ROW(s_waitcnt_expcnt, hint, 0) ROW(s_waitcnt_depctr, hint, 0) ROW(s_wait_alu, hint, 0) ROW(s_wait_idle, hint, 0)
	ROW(s_wait_loadcnt, hint, 0) ROW(s_wait_storecnt, hint, 0) ROW(s_wait_samplecnt, hint, 0) ROW(s_wait_bvhcnt, hint, 0)
	ROW(s_wait_expcnt, hint, 0) ROW(s_wait_dscnt, hint, 0) ROW(s_wait_kmcnt, hint, 0) ROW(s_wait_loadcnt_dscnt, hint, 0)
	ROW(s_wait_storecnt_dscnt, hint, 0) ROW(s_wait_event, hint, 0)
	ROW(s_delay_alu, hint, 0) ROW(s_clause, hint, 0) ROW(s_sendmsg, hint, 0) ROW(s_inst_prefetch, hint, 0)
	ROW(s_set_inst_prefetch_distance, hint, 0) ROW(s_setprio, hint, 0) ROW(s_icache_inv, hint, 0) ROW(s_dcache_inv, hint, 0)
	ROW(s_dcache_wb, hint, 0) ROW(s_dcache_wb_vol, hint, 0) ROW(s_dcache_inv_vol, hint, 0) ROW(s_gl1_inv, hint, 0) ROW(s_version, hint, 0)
	ROW(s_prefetch_inst, hint, 0) ROW(s_prefetch_inst_pc_rel, hint, 0) ROW(s_prefetch_data, hint, 0) ROW(s_prefetch_data_pc_rel, hint, 0)
	ROW(buffer_gl0_inv, hint, 0) ROW(buffer_gl1_inv, hint, 0) ROW(buffer_inv, hint, 0) ROW(buffer_invl2, hint, 0) ROW(buffer_wbl2, hint, 0)
	ROW(buffer_wbinvl1, hint, 0) ROW(buffer_wbinvl1_vol, hint, 0) ROW(global_inv, hint, 0) ROW(global_wb, hint, 0) ROW(global_wbinv, hint, 0)
	ROW(v_nop, hint, 0)
	{ NULL, NULL, NULL, "", 0, false, 0, 0 },
};
