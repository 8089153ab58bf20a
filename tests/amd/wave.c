/* A wave: its scalar registers and state that instructions read and write, and the loop that runs it. */
#include <fenv.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "machine.h"

void wave_fail(struct wave *w, const struct instruction *in, enum dispatch_status status, const char *format, ...)
{
	struct run *run = w->block->run;
	const struct code *code = code_object_code(w->object);
	char reason[200];
	va_list list;

	va_start(list, format);
	vsnprintf(reason, sizeof reason, format, list);
	va_end(list);
	w->state = WAVE_DONE;
	pthread_mutex_lock(&run->lock);
	if (!run->failed) {
		if (in)
			snprintf(run->error, run->error_size, "kernel %s, block %u,%u,%u, wave %u, pc 0x%llx: %s: %s", run->dispatch->kernel->name,
				w->block->id[0], w->block->id[1], w->block->id[2], w->index, (unsigned long long)(in->pc - code->start), in->text, reason);
		else
			snprintf(run->error, run->error_size, "kernel %s, block %u,%u,%u, wave %u: %s", run->dispatch->kernel->name,
				w->block->id[0], w->block->id[1], w->block->id[2], w->index, reason);
		run->status = status;
		run->failed = true;
	}
	pthread_mutex_unlock(&run->lock);
}

/* ---- scalar registers ---- */
uint64_t scalar_read(const struct wave *w, const struct operand *o, bool wide)
{
	switch (o->kind) {
	case OPERAND_SCALAR:
		if (o->reg == SGPR_NULL) return 0;
		return w->s[o->reg] | (wide ? (uint64_t)w->s[o->reg + 1] << 32 : 0);
	case OPERAND_CONSTANT:
		return wide ? o->wide : o->bits;
	case OPERAND_SPECIAL:
		switch (o->reg) {
		case SPECIAL_SCC: return w->scc;
		case SPECIAL_VCCZ: return !vcc_read(w);
		case SPECIAL_EXECZ: return !wave_exec(w);
		/* read as 32 bits, apertures give their high half */
		case SPECIAL_SHARED_BASE: return wide ? (uint64_t)SHARED_APERTURE << 32 : SHARED_APERTURE;
		case SPECIAL_SHARED_LIMIT: return wide ? (uint64_t)SHARED_APERTURE << 32 | 0xffffffff : SHARED_APERTURE;
		case SPECIAL_PRIVATE_BASE: return wide ? (uint64_t)PRIVATE_APERTURE << 32 : PRIVATE_APERTURE;
		case SPECIAL_PRIVATE_LIMIT: return wide ? (uint64_t)PRIVATE_APERTURE << 32 | 0xffffffff : PRIVATE_APERTURE;
		}
	}
	return 0;
}

void scalar_write(struct wave *w, const struct operand *o, uint64_t value, bool wide)
{
	if (o->kind != OPERAND_SCALAR || o->reg == SGPR_NULL) return;
	w->s[o->reg] = (uint32_t)value;
	if (wide) w->s[o->reg + 1] = (uint32_t)(value >> 32);
}

const uint32_t *wave_lane_mask(struct wave *w)
{
	uint64_t exec = wave_exec(w);

	if (exec != w->lane_mask_of) {
		for (unsigned i = 0; i < w->lanes; i++) w->lane_mask[i] = exec >> i & 1 ? ~0u : 0;
		w->lane_mask_of = exec;
	}
	return w->lane_mask;
}

/* ---- the host's rounding ---- */
static _Thread_local unsigned current_rounding;

void rounding_set(unsigned round)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

	if (round == current_rounding) return;
	fesetround(modes[round]);
	current_rounding = round;
}

/* ---- hardware registers ---- */
enum hwreg { HW_MODE, HW_STATUS, HW_ID, HW_ID1, HW_ID2, HW_FLAT_SCR_LO, HW_FLAT_SCR_HI, HW_SHADER_CYCLES, HW_SHADER_CYCLES_LO,
	HW_SHADER_CYCLES_HI, HW_XCC_ID, HW_WAVE_MODE };

const char *hwreg_name(unsigned reg)
{
	static const char *const list[] = { "HW_REG_MODE", "HW_REG_STATUS", "HW_REG_HW_ID", "HW_REG_HW_ID1", "HW_REG_HW_ID2", "HW_REG_FLAT_SCR_LO",
		"HW_REG_FLAT_SCR_HI", "HW_REG_SHADER_CYCLES", "HW_REG_SHADER_CYCLES_LO", "HW_REG_SHADER_CYCLES_HI", "HW_REG_XCC_ID",
		"HW_REG_WAVE_MODE" };

	return reg < sizeof list / sizeof *list ? list[reg] : NULL;
}

/* Cycles that the wave has run, as if each instruction took four. */
static uint64_t cycles(const struct wave *w)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) + w->instructions;
}

bool hwreg_read(struct wave *w, const struct operand *o, uint32_t *value)
{
	uint32_t full;

	switch (o->reg) {
	case HW_MODE: case HW_WAVE_MODE: full = w->mode; break;
	case HW_STATUS: full = w->scc | (uint32_t)!wave_exec(w) << 9 | (uint32_t)!vcc_read(w) << 10; break;
	/* every wave says that it runs on the first unit of the first engine */
	case HW_ID: case HW_ID1: case HW_ID2: case HW_XCC_ID: full = 0; break;
	case HW_FLAT_SCR_LO: full = w->flat_scratch[0]; break;
	case HW_FLAT_SCR_HI: full = w->flat_scratch[1]; break;
	case HW_SHADER_CYCLES: full = (uint32_t)cycles(w) & 0xfffff; break;
	case HW_SHADER_CYCLES_LO: full = (uint32_t)cycles(w); break;
	case HW_SHADER_CYCLES_HI: full = (uint32_t)(cycles(w) >> 32); break;
	default: return false;
	}
	*value = full >> o->hwreg_offset & (o->hwreg_width == 32 ? ~0u : (1u << o->hwreg_width) - 1);
	return true;
}

bool hwreg_write(struct wave *w, const struct operand *o, uint32_t value)
{
	uint32_t mask = (o->hwreg_width == 32 ? ~0u : (1u << o->hwreg_width) - 1) << o->hwreg_offset;
	uint32_t *full = o->reg == HW_MODE || o->reg == HW_WAVE_MODE ? &w->mode : o->reg == HW_FLAT_SCR_LO ? &w->flat_scratch[0]
		: o->reg == HW_FLAT_SCR_HI ? &w->flat_scratch[1] : NULL;

	if (!full) return false;
	*full = (*full & ~mask) | (value << o->hwreg_offset & mask);
	/* MODE: rounding, denormals, DX10_CLAMP, IEEE and the bits that have no effect here; not exceptions (12 to 20) */
	return full != &w->mode || !(w->mode & 0x1ff000);
}

/* ---- running ---- */
void barrier_check(struct block *block)
{
	if (!block->signals || block->signals < block->live) return;
	block->signals = 0;
	block->barriers++;
}

void wave_run(struct wave *w, unsigned budget)
{
	struct code *code = code_object_code(w->object);
	char error[512];
	uint64_t executed = 0, lanes = 0;

	w->yield = false;
	while (budget-- && w->state == WAVE_RUNNING && !w->yield) {
		uint64_t at = (w->pc - code->start) / 4;
		const struct instruction *in = NULL;

		if (w->pc >= code->start && w->pc < code->end) in = atomic_load_explicit(&code->cache[at], memory_order_acquire);
		if (!in) in = decode(w->object, w->pc, error, sizeof error);
		if (!in) {
			wave_fail(w, NULL, DISPATCH_UNSUPPORTED, "%s", error);
			break;
		}
		executed++;
		lanes += (unsigned)__builtin_popcountll(wave_exec(w));
		w->pc += in->size;
		in->execute(w, in);
	}
	w->instructions += executed;
	w->lane_instructions += lanes;
	rounding_set(0);
}
