/* Vector instructions across lanes and registers: readlane, writelane, mbcnt, permlane, relative moves, swaps. */
#include <stdlib.h>
#include <string.h>
#include "machine.h"

static void read_lane(struct wave *w, const struct instruction *in)
{
	uint64_t exec = wave_exec(w);
	unsigned lane = in->detail ? (unsigned)scalar_read(w, &in->o[2], false) % w->lanes : exec ? (unsigned)__builtin_ctzll(exec) : 0;
	union row buffer;

	scalar_write(w, &in->o[0], lane_source(w, in, 1, &buffer)[lane], false);
}

static void write_lane(struct wave *w, const struct instruction *in)
{
	wave_row(w, in->o[0].reg)[scalar_read(w, &in->o[2], false) % w->lanes] = (uint32_t)scalar_read(w, &in->o[1], false);
}

/* Bits of the mask below the lane, in the low (detail 0) or high half of the wave. */
static void count_below(struct wave *w, const struct instruction *in)
{
	union row buffers[2];
	uint64_t enabled = wave_exec(w);
	const uint32_t *mask = vector_source(w, in, 1, 'u', &buffers[0], &enabled), *add = vector_source(w, in, 2, 'u', &buffers[1], &enabled);
	uint32_t result[MAX_LANES];

	for (unsigned i = 0; i < w->lanes; i++) {
		uint64_t below = (1ull << i) - 1;

		result[i] = (uint32_t)__builtin_popcount(mask[i] & (uint32_t)(in->detail ? below >> 32 : below)) + add[i];
	}
	vector_write_u32(w, &in->o[0], result, enabled);
}

/* v_permlane16, v_permlanex16: lane selectors of four bits in two scalars; x: of the other row of the pair.
 * op_sel[0]: fetch from lanes that are off; op_sel[1]: 0 where that is not done, instead of the old value. */
static void permute_row(struct wave *w, const struct instruction *in)
{
	union row buffer;
	const uint32_t *data = lane_source(w, in, 1, &buffer);
	uint64_t selectors = (uint32_t)scalar_read(w, &in->o[2], false) | scalar_read(w, &in->o[3], false) << 32;
	uint64_t exec = wave_exec(w);
	const uint32_t *old = wave_row(w, in->o[0].reg);
	uint32_t result[MAX_LANES];

	for (unsigned i = 0; i < w->lanes; i++) {
		unsigned row = (i & ~15u) ^ (in->detail ? 16 : 0), from = row | (selectors >> 4 * (i & 15) & 15);

		result[i] = in->op_sel & 1 || exec >> from & 1 ? data[from] : in->op_sel & 2 ? 0 : old[i];
	}
	vector_write_u32(w, &in->o[0], result, exec);
}

/* gfx12: the selectors are a vector */
static void permute_row_variable(struct wave *w, const struct instruction *in)
{
	union row buffers[2];
	const uint32_t *data = lane_source(w, in, 1, &buffers[0]), *selectors = lane_source(w, in, 2, &buffers[1]);
	uint64_t exec = wave_exec(w);
	const uint32_t *old = wave_row(w, in->o[0].reg);
	uint32_t result[MAX_LANES];

	for (unsigned i = 0; i < w->lanes; i++) {
		unsigned from = ((i & ~15u) ^ (in->detail ? 16 : 0)) | (selectors[i] & 15);

		result[i] = in->op_sel & 1 || exec >> from & 1 ? data[from] : in->op_sel & 2 ? 0 : old[i];
	}
	vector_write_u32(w, &in->o[0], result, exec);
}

/* Swaps the halves of a wave of 64; in one of 32 nothing happens. */
static void permute_halves(struct wave *w, const struct instruction *in)
{
	const uint32_t *data = wave_row(w, in->o[1].reg);
	uint32_t result[MAX_LANES];

	if (w->lanes == 32) return;
	for (unsigned i = 0; i < w->lanes; i++) result[i] = wave_exec(w) >> (i ^ 32) & 1 ? data[i ^ 32] : 0;
	vector_write_u32(w, &in->o[0], result, wave_exec(w));
}

static void swap(struct wave *w, const struct instruction *in)
{
	uint32_t first[MAX_LANES], second[MAX_LANES];

	memcpy(first, wave_row(w, in->o[0].reg), w->lanes * 4);
	memcpy(second, wave_row(w, in->o[1].reg), w->lanes * 4);
	vector_write_u32(w, &in->o[0], second, wave_exec(w));
	vector_write_u32(w, &in->o[1], first, wave_exec(w));
}

/* v_movrels: the source register plus M0; v_movreld (detail 1): the destination; v_movrelsd (2): both */
static void move_relative(struct wave *w, const struct instruction *in)
{
	struct operand d = in->o[0], s = in->o[1];
	uint32_t by = w->s[SGPR_M0];
	union row buffer;
	uint32_t copy[MAX_LANES];
	const uint32_t *row;

	if (in->detail != 0) d.reg = (uint16_t)(d.reg + by);
	if (in->detail != 1) s.reg = (uint16_t)(s.reg + by);
	if (by >= w->registers || d.reg >= w->registers || (s.kind == OPERAND_VECTOR && s.reg >= w->registers)) {
		wave_fail(w, in, DISPATCH_FAULT, "M0 = %u leads out of the registers", by);
		return;
	}
	row = s.kind == OPERAND_VECTOR ? wave_row(w, s.reg) : lane_source(w, in, 1, &buffer);
	memcpy(copy, row, w->lanes * 4);
	vector_write_u32(w, &d, copy, wave_exec(w));
}

#define ROW(stem, execute, detail) { #stem, execute, NULL, "", 0, false, detail, 0 },
const struct opcode lane_opcodes[] = {
	ROW(v_readfirstlane_b32, read_lane, 0) ROW(v_readlane_b32, read_lane, 1) ROW(v_writelane_b32, write_lane, 0)
	ROW(v_mbcnt_lo_u32_b32, count_below, 0) ROW(v_mbcnt_hi_u32_b32, count_below, 1)
	ROW(v_permlane16_b32, permute_row, 0) ROW(v_permlanex16_b32, permute_row, 1)
	ROW(v_permlane16_var_b32, permute_row_variable, 0) ROW(v_permlanex16_var_b32, permute_row_variable, 1)
	ROW(v_permlane64_b32, permute_halves, 0)
	ROW(v_swap_b32, swap, 0)
	ROW(v_movrels_b32, move_relative, 0) ROW(v_movreld_b32, move_relative, 1) ROW(v_movrelsd_b32, move_relative, 2)
	{ NULL, NULL, NULL, "", 0, false, 0, 0 },
};
