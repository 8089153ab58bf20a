/* Two vectors a group, for arithmetic that waits for itself.
 *
 * A loop like Mandelbrot's is one chain: each operation needs the last one's result, three or four cycles later, and the machine could
 * begin eight others meanwhile. A second vector of the same warp fills half of them. Long straight code gains otherwise: polynomials are
 * mostly constants, which are loaded once for both. ("Chunks" of ispc's -x2 targets; interleaved multithreading within a warp, as in
 * Karrenberg, "Automatic SIMD Vectorization of SSA-based Control Flow Graphs", 2015, chapter 8.)
 *
 * It costs registers, and rounds of loops in which only the other vector's lanes are left. So loops must hold arithmetic alone, and few
 * values. Loops that read memory are ruled by that (jam.c, lane_loop.c). */
#include "ir/flatten.h"

#include <stdlib.h>

enum {
	MOST_HELD = 8,      /* values that a loop holds on to, a vector each; the machine has sixteen registers */
	LONG_CODE = 48,     /* instructions of floats that make straight code worth it */
	WORK_PER_ACCESS = 8 /* of those, for each access of memory */
};

static bool varies(const struct ir_func *func, uint32_t value)
{
	return value != IR_NONE && func->values.data[value].shape.kind == IR_VARYING;
}

static bool is_arithmetic(const struct ir_inst *inst)
{
	return inst->op == IR_COPY || (inst->op == IR_PTX && inst->ptx->form->row->flags & ISA_PURE);
}

/* Does it hold few values, and compute with nothing but them? */
static bool is_chain(const struct ir_func *func, const struct ir_loop *loop, bool *seen)
{
	unsigned held = loop->divergent ? 2 : 0; /* who is in it, who has left */
	const struct ir_block *header = &func->blocks.data[loop->header];
	memset(seen, 0, func->values.count);
	for (size_t p = 0; p < header->phis.count; p++)
		held += varies(func, header->phis.data[p].value);
	for (uint32_t i = loop->first; i <= loop->last; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ir_inst *inst = &b->insts.data[j];
			if (!is_arithmetic(inst))
				return false;
			for (unsigned u = 0; u < inst->use_count; u++) {
				uint32_t value = inst->uses[u].value;
				if (!varies(func, value) || seen[value] || !ir_is_outside(func, loop, value))
					continue;
				seen[value] = true;
				held++;
			}
		}
	}
	return held <= MOST_HELD;
}

static bool is_float(const struct ir_inst *inst)
{
	if (inst->op != IR_PTX || !inst->def_count || !(inst->ptx->form->row->flags & ISA_PURE))
		return false;
	const struct isa_row *row = inst->ptx->form->row;
	return row->shape != SHAPE_mov && inst->ptx->form->types[row->operands[0].type_slot] == PTX_F32;
}

/* Straight code that computes far more than it reads and writes. */
static bool is_long(const struct ir_func *func)
{
	size_t work = 0, accesses = 0;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++) {
			work += is_float(&b->insts.data[j]) && b->insts.data[j].mode == IR_MODE_LANES;
			accesses += !is_arithmetic(&b->insts.data[j]);
		}
	}
	return work >= LONG_CODE && work >= accesses * WORK_PER_ACCESS;
}

unsigned ir_paired_lanes(const struct ir_func *func)
{
	const uint32_t *block = func->options.block;
	unsigned lanes = 2 * func->width;
	if (func->options.lanes || func->lanes == 1 || func->lanes != func->width || lanes > 32 || func->lane_loops || !block[0] ||
	    block[0] * block[1] * block[2] % lanes)
		return 0;
	if (!func->loops.count)
		return is_long(func) ? lanes : 0;
	bool *seen = calloc(func->values.count + 1, sizeof *seen), chains = seen != NULL;
	for (uint32_t l = 0; chains && l < func->loops.count; l++)
		chains = !func->loops.data[l].irreducible && !func->loops.data[l].waits && is_chain(func, &func->loops.data[l], seen);
	free(seen);
	return chains ? lanes : 0;
}
