/* A quarter of a warp as a group, in loops that keep much.
 *
 * Where a kernel has barriers a group is a warp: 32 doubles are eight registers of four, and a loop that keeps six of them for each thread (a
 * body's place, the forces on it) keeps 48 in sixteen registers. With eight lanes they are twelve, and stay where they are. Six floats are 24,
 * and six. What is kept in memory costs more than its loads and stores: sums there are chains from store to load, and the loop fills the
 * processor's queues, which then hold too little of what a root or a division leaves time for.
 *
 * A warp is more than a group of lanes for programs that let its lanes hand things to each other in memory, with no barrier in between because
 * a warp runs in step. So only where none can: no operations of warps, no atomics, and no way from barrier to barrier that both reads and
 * writes the same memory, as far as can be seen (barrier.c). The quick form has such groups wherever it may: they are a quarter of the code. */
#include "ir/flatten.h"

#include <stdlib.h>

#include "isa_mods.h"

enum {
	LEAST_KEPT = 2,   /* numbers of each thread that a loop carries: two doubles of a warp are all registers */
	REGISTERS = 16, FREE = 4 /* of those, what a round needs beside what is kept */
};

/* Words of each thread that a loop has from outside. */
static unsigned kept_from_outside(const struct ir_func *func, const struct ir_loop *loop, bool *seen)
{
	unsigned kept = 0;
	memset(seen, 0, func->values.count);
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ir_inst *inst = &b->insts.data[j];
			for (unsigned u = 0; u < inst->use_count; u++) {
				uint32_t value = inst->uses[u].value;
				if (value == IR_NONE || seen[value] || func->values.data[value].shape.kind != IR_VARYING ||
				    !ir_is_outside(func, loop, value))
					continue;
				seen[value] = true;
				kept += ptx_type_bits(func->values.data[value].type) > 32 ? 2 : 1;
			}
		}
	}
	return kept;
}

/* A loop between barriers that carries doubles along, or floats: with what else it keeps too many for a warp's registers, but not for a
 * quarter's. */
static bool keeps_much(const struct ir_func *func, const struct ir_loop *loop, bool *seen)
{
	const struct ir_block *header = &func->blocks.data[loop->header];
	unsigned doubles = 0, floats = 0;
	for (uint32_t i = loop->first; i <= loop->last; i++)
		if (func->blocks.data[func->order[i]].region != header->region || func->blocks.data[func->order[i]].after_barrier)
			return false;
	for (size_t p = 0; p < header->phis.count; p++) {
		const struct ir_value *v = &func->values.data[header->phis.data[p].value];
		doubles += v->type == PTX_F64 && v->shape.kind == IR_VARYING;
		floats += v->type == PTX_F32 && v->shape.kind == IR_VARYING;
	}
	if (doubles >= LEAST_KEPT || floats < LEAST_KEPT)
		return doubles >= LEAST_KEPT;
	unsigned kept = 2 * doubles + floats + kept_from_outside(func, loop, seen);
	return kept * func->chunks > REGISTERS && kept <= REGISTERS - FREE;
}

bool ir_may_be_narrowed(struct ir_func *func)
{
	const uint32_t *block = func->options.block;
	if (func->options.lanes || func->options.fibers || func->lanes <= func->width || func->width < 8 || func->calls || func->lane_loops ||
	    !func->region_count || func->barriers_dropped || block[0] * block[1] * block[2] % func->width)
		return false;
	return block[0] && ir_shows_no_warps(func) && !ir_hands_over(func, func->width);
}

unsigned ir_narrowed_lanes(struct ir_func *func)
{
	bool keeps = false;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++)
			if (b->insts.data[j].op == IR_PTX && b->insts.data[j].ptx->form->row->flags & ISA_ATOMIC)
				return 0;
	}
	bool *seen = calloc(func->values.count + 1, sizeof *seen);
	for (size_t l = 0; seen && func->region_count && l < func->loops.count; l++)
		keeps |= keeps_much(func, &func->loops.data[l], seen);
	free(seen);
	return keeps && ir_may_be_narrowed(func) ? func->width : 0;
}
