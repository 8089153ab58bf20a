/* DRAGOMAN_DUMP=ir: blocks in order with loops, phis, divergence, and each value's shape.
 *
 *     block 4 (loop 1, depth 1) region 2 join:
 *         v17.u32 = phi v3 v40                     ; uniform [0, 1023]
 *         v18.u64 = mul.wide.s32 v12               ; affine 4
 *         branch v30 -> 5, 9                       ; divergent
 */
#include "ir/flatten.h"

#include <inttypes.h>

static void print_value(struct text *out, uint32_t value)
{
	if (value == IR_NONE)
		text_printf(out, " undef");
	else
		text_printf(out, " v%u", value);
}

static void print_shape(const struct ir_func *func, uint32_t value, struct text *out)
{
	const struct ir_value *v = &func->values.data[value];
	switch (v->shape.kind) {
	case IR_UNIFORM:
		text_printf(out, "uniform");
		break;
	case IR_AFFINE:
		text_printf(out, "affine %" PRId64 "%s%s", v->shape.stride, v->shape.linear ? " all over" : "", v->shape.exact ? "" : " (address)");
		break;
	default:
		text_printf(out, v->shape.flip ? "varying, %" PRId64 " * lane ^ %u" : "varying", v->shape.stride, v->shape.flip);
	}
	if (v->shape.high < INT32_MAX && v->shape.low > INT32_MIN)
		text_printf(out, " [%" PRId64 ", %" PRId64 "]", v->shape.low, v->shape.high);
	if (v->flags & IR_RAW_NAN)
		text_printf(out, " raw");
}

static void pad(struct text *out, size_t start)
{
	size_t used = out->count - start;
	text_printf(out, "%*s; ", used < 56 ? (int)(56 - used) : 1, "");
}

static void print_inst(const struct ir_func *func, const struct ir_inst *inst, struct text *out)
{
	static const char *const op_names[] = { [IR_COPY] = "copy", [IR_TRAP] = "trap", [IR_LANE_MASK] = "lane.mask", [IR_LANE_MORE] = "lane.more",
						[IR_LANE_FIRST] = "lane.first", [IR_LANE_SPILL] = "lane.spill", [IR_LANE_READ] = "lane.read",
						[IR_LANE_WRITE] = "lane.write", [IR_LANE_LOAD] = "lane.load", [IR_ARRIVE] = "arrive",
						[IR_ARRIVED] = "arrived", [IR_TURN] = "turn", [IR_MORE] = "more", [IR_LEFT] = "left",
						[IR_GO] = "go", [IR_GONE] = "gone" };
	size_t start = out->count;
	text_printf(out, "    ");
	for (unsigned d = 0; d < inst->def_count; d++)
		text_printf(out, "%sv%u.%s", d ? ", " : "", inst->defs[d].value, ptx_type_name(func->values.data[inst->defs[d].value].type));
	text_printf(out, "%s%s", inst->def_count ? " = " : "", inst->op == IR_PTX ? inst->ptx->form->text : op_names[inst->op]);
	for (unsigned u = 0; u < inst->use_count; u++) {
		if (!inst->uses[u].operand)
			text_printf(out, " @");
		print_value(out, inst->uses[u].value);
	}
	static const char *const modes[] = { "once", "lanes", "group" };
	pad(out, start);
	text_printf(out, "%s", modes[inst->mode]);
	for (unsigned d = 0; d < inst->def_count; d++) {
		text_printf(out, "; ");
		print_shape(func, inst->defs[d].value, out);
	}
	if (inst->op == IR_PTX)
		text_printf(out, "  :%u", inst->ptx->location.line);
	text_printf(out, "\n");
}

static void print_end(const struct ir_block *b, struct text *out)
{
	static const char *const names[] = { "jump", "branch", "vote", "vote all", "switch", "exit" };
	text_printf(out, "    %s", names[b->end]);
	if (b->condition != IR_NONE) {
		text_printf(out, "%s", b->negated ? " not" : "");
		print_value(out, b->condition);
	}
	for (uint32_t s = 0; s < b->succ_count; s++)
		text_printf(out, "%s%u", s ? ", " : " -> ", b->succs[s]);
	text_printf(out, "%s\n", b->divergent ? "  ; divergent" : "");
}

void ir_print(const struct ir_func *func, struct text *out)
{
	text_printf(out, "kernel %s: lanes %u, width %u, shared %u, local %u", func->kernel->symbol.name, func->lanes, func->width,
		    func->shared_bytes, func->local_bytes);
	if (func->flags_used & ISA_BARRIER) {
		if (func->barriers_dropped)
			text_printf(out, ", %u barriers dropped", func->barriers_dropped);
		if (func->region_count)
			text_printf(out, ", %u regions between barriers", func->region_count);
		else
			text_printf(out, ", barriers: %s", func->alone ? "one group" : "fibers");
	}
	if (func->rows)
		text_printf(out, ", rows of %u across blocks", func->rows);
	text_printf(out, "\n");
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		text_printf(out, "block %u", func->order[i]);
		if (b->loop != IR_NONE)
			text_printf(out, " (loop %u, depth %u%s%s)", b->loop, func->loops.data[b->loop].depth,
				    func->loops.data[b->loop].divergent ? ", divergent" : "",
				    func->loops.data[b->loop].waits ? ", waits" : func->loops.data[b->loop].irreducible ? ", irreducible" : "");
		if (func->region_count && b->region != IR_NONE && func->leaders[b->region] == func->order[i])
			text_printf(out, " region %u%s", b->region, b->downwards ? " downwards" : "");
		text_printf(out, "%s:\n", b->join ? " join" : b->one_lane ? " one lane" : "");
		for (size_t p = 0; p < b->phis.count; p++) {
			size_t start = out->count;
			text_printf(out, "    v%u.%s = phi", b->phis.data[p].value, ptx_type_name(func->values.data[b->phis.data[p].value].type));
			for (size_t a = 0; a < b->preds.count; a++)
				print_value(out, b->phis.data[p].arguments[a]);
			pad(out, start);
			print_shape(func, b->phis.data[p].value, out);
			text_printf(out, "\n");
		}
		for (size_t j = 0; j < b->insts.count; j++)
			print_inst(func, &b->insts.data[j], out);
		print_end(b, out);
	}
}

/* Every use is dominated by its definition, phis have an argument a predecessor, loops are contiguous. */
bool ir_verify(const struct ir_func *func, struct text *why)
{
	for (uint32_t i = 0; i < func->order_count; i++) {
		uint32_t block = func->order[i];
		const struct ir_block *b = &func->blocks.data[block];
		for (size_t j = 0; j < b->insts.count; j++) {
			const struct ir_inst *inst = &b->insts.data[j];
			for (unsigned u = 0; u < inst->use_count; u++) {
				uint32_t value = inst->uses[u].value;
				if (value == IR_NONE)
					continue;
				const struct ir_value *v = &func->values.data[value];
				if (v->block == block ? v->inst != IR_NONE && v->inst >= j : !ir_dominates(func, v->block, block)) {
					text_printf(why, "block %u: use of v%u before its definition", block, value);
					return false;
				}
			}
		}
		for (size_t p = 0; p < b->preds.count; p++) {
			const struct ir_block *pred = &func->blocks.data[b->preds.data[p]];
			for (size_t q = 0; q < b->phis.count; q++) {
				uint32_t value = b->phis.data[q].arguments[p];
				if (value != IR_NONE && pred->order != IR_NONE && !ir_dominates(func, func->values.data[value].block, b->preds.data[p])) {
					text_printf(why, "block %u: phi v%u: v%u does not reach from block %u", block, b->phis.data[q].value, value,
						    b->preds.data[p]);
					return false;
				}
			}
		}
	}
	for (size_t l = 0; l < func->loops.count; l++) {
		const struct ir_loop *loop = &func->loops.data[l];
		if (func->order[loop->first] != loop->header) {
			text_printf(why, "loop %zu does not begin with its header", l);
			return false;
		}
	}
	return true;
}
