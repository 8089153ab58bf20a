/* From a kernel to analysed SSA: the order of the steps, and how many lanes run together. */
#include "ir/flatten.h"

#include "isa_mods.h"

#include <stdlib.h>

/* Instructions times chunks above which compiling a kernel as vectors takes longer than most programs run it for: such
 * kernels (sorts and look-back scans with everything unrolled) get the scalar form. */
enum { LARGEST_VECTOR_CODE = 16000, SMALL_CODE = 40 };

static size_t count_instructions(const struct ir_func *func)
{
	size_t count = 0;
	for (uint32_t i = 0; i < func->order_count; i++)
		count += func->blocks.data[func->order[i]].insts.count;
	return count;
}

/* Threads that one call runs. A warp where lanes of a warp meet or exchange values, or where a barrier makes each
 * group a fiber (fewer switches); else one native vector, which needs the fewest registers. */
void ir_choose_lanes(struct ir_func *func)
{
	const struct compile_options *options = &func->options;
	unsigned width = options->vector ? options->vector : 8, lanes = options->lanes;
	uint64_t threads = (uint64_t)options->block[0] * options->block[1] * options->block[2];
	uint32_t meets = ISA_CONVERGENT | ISA_BARRIER;
	if (!lanes && threads && threads <= 2)
		lanes = 1; /* nothing to put into lanes */
	if (func->calls)
		lanes = 1; /* what is called runs a thread at a time, and may meet other threads */
	if (!lanes)
		lanes = func->flags_used & meets ? 32 : width;
	if (!options->lanes && count_instructions(func) * lanes / width > LARGEST_VECTOR_CODE)
		lanes = 1;
	if (lanes == 1)
		width = 1;
	if (lanes < width)
		width = lanes;
	if (lanes > 1 && func->flags_used & ISA_CONVERGENT)
		lanes = 32;
	func->width = width;
	func->lanes = lanes;
	func->chunks = lanes / width;
	func->alone = threads && threads <= lanes;
}

static void analyze(struct ir_func *func)
{
	if (ir_may_have_regions(func))
		ir_analyze_block(func);
	ir_analyze(func);
}

static void take_lanes(struct ir_func *func, unsigned lanes)
{
	func->options.lanes = (uint8_t)lanes;
	ir_choose_lanes(func);
	analyze(func);
}

static bool has_divergence(const struct ir_func *func)
{
	for (uint32_t i = 0; i < func->order_count; i++)
		if (func->blocks.data[func->order[i]].divergent)
			return true;
	return false;
}

/* Where barriers are there, they must have cut the kernel: a fiber's group is a warp. */
static void jam(struct ir_func *func)
{
	unsigned lanes = func->flags_used & ISA_BARRIER && !func->region_count ? 0 : ir_jam_lanes(func);
	if (!lanes || func->lane_loops)
		return;
	unsigned before = func->options.lanes;
	take_lanes(func, lanes);
	if (has_divergence(func))
		take_lanes(func, before);
}

static const struct ir_inst *defined_by(const struct ir_func *func, uint32_t value)
{
	const struct ir_value *v = value == IR_NONE ? NULL : &func->values.data[value];
	return v && v->block != IR_NONE && v->inst != IR_NONE ? &func->blocks.data[v->block].insts.data[v->inst] : NULL;
}

/* Does the branch single out one lane by its number, as `if (threadIdx.x == 0)` does? */
static bool picks_a_lane(const struct ir_func *func, const struct ir_block *b)
{
	const struct ir_inst *inst = b->end == IR_END_BRANCH ? defined_by(func, b->condition) : NULL;
	if (!inst || inst->op != IR_PTX || inst->ptx->form->row->opcode_id != OP_setp)
		return false;
	bool lane = false;
	for (unsigned u = 0; u < inst->use_count; u++) {
		struct ir_shape shape = inst->uses[u].value == IR_NONE ? (struct ir_shape){ .kind = IR_UNIFORM } : func->values.data[inst->uses[u].value].shape;
		if (shape.kind == IR_VARYING)
			return false;
		lane |= shape.kind == IR_AFFINE && shape.linear && shape.stride;
	}
	return lane && (ptx_has(inst->ptx->form, MOD_eq) || ptx_has(inst->ptx->form, MOD_ne));
}

static bool is_of_others(const struct ir_inst *inst)
{
	enum ptx_space space = inst->op == IR_PTX ? inst->ptx->form->space : PTX_SPACE_PARAM;
	return space == PTX_SPACE_GLOBAL || space == PTX_SPACE_SHARED || space == PTX_SPACE_GENERIC;
}

/* Do all lanes write, and one that is singled out then read? With nothing in between that is a race, but not one that a warp in step loses,
 * and programs rely on it. A vector of eight lanes would go on before the others have written. */
static bool hands_over(const struct ir_func *func)
{
	bool written = false, picked = false;
	for (uint32_t i = 0; i < func->order_count; i++) {
		const struct ir_block *b = &func->blocks.data[func->order[i]];
		for (size_t j = 0; j < b->insts.count; j++) {
			uint32_t flags = b->insts.data[j].op == IR_PTX ? b->insts.data[j].ptx->form->row->flags : 0;
			if (flags & ISA_READS && picked && is_of_others(&b->insts.data[j]))
				return true;
			written |= flags & ISA_WRITES && is_of_others(&b->insts.data[j]);
		}
		picked |= written && picks_a_lane(func, b);
	}
	return false;
}

static void keep_warps(struct ir_func *func)
{
	uint32_t threads = func->options.block[0] * func->options.block[1] * func->options.block[2];
	if (func->options.lanes || func->lanes == 1 || func->lanes != func->width || (threads && threads <= func->width) ||
	    count_instructions(func) * 32 / func->width > LARGEST_VECTOR_CODE || !hands_over(func))
		return;
	take_lanes(func, 32);
}

static void pair(struct ir_func *func)
{
	unsigned lanes = func->region_count ? ir_narrowed_lanes(func) : ir_paired_lanes(func);
	if (lanes)
		take_lanes(func, lanes);
}

/* A guard that lanes nearly always agree on takes as long as the little that it guards: it is asked once for a warp, not for each vector. */
static void ask_once_a_warp(struct ir_func *func)
{
	const uint32_t *block = func->options.block;
	if (func->options.lanes || func->width != 8 || func->lanes != 8 || !block[0] || block[0] * block[1] * block[2] % 32)
		return;
	func->options.lanes = 32;
	ir_choose_lanes(func);
}

/* After a change to the blocks. */
static void build_again(struct ir_func *func)
{
	ir_undo_ssa(func);
	ir_find_order(func);
	ir_build_ssa(func, (uint32_t)func->flatten->types.count, func->flatten->types.data);
	analyze(func);
	ir_find_waiting(func);
}

/* Looks at the kernel as if a warp were one group. Two warps in step must not come to different barriers either. */
static void find_apart(struct ir_func *func)
{
	struct compile_options own = func->options;
	bool within;
	func->options.lanes = func->options.vector = 32;
	ir_choose_lanes(func);
	func->lanes = func->width = 32; /* also where something is called */
	func->chunks = 1;
	analyze(func);
	func->apart = ir_find_apart(func, &within);
	ir_find_waiting(func);
	if (ir_may_have_regions(func))
		ir_find_regions(func);
	func->warpless = ir_shows_no_warps(func);
	func->region_count = 0; /* the machine has barriers */
	func->options = own;
	if (func->kernel->is_entry ? func->apart || (own.two_warps && ir_has_numbered_barriers(func)) : func->apart && within) {
		ir_make_resumable(func);
		func->apart = NULL;
	}
}

/* Would the full form take more than 60 ms to compile, if not much? Of the table's kernels those of up to 404 instructions times chunks took up
 * to 60 ms of a processor, 1232 and more 130 ms to 0.8 s; in between it is 30 to 50 ms where lanes are side by side, and 110 to 170 where they go to
 * memory each by itself. The quick form takes a third of that at most. */
bool ir_takes_long(const struct ir_func *func)
{
	enum { LONG = 500 };
	return count_instructions(func) * func->chunks > LONG;
}

struct ir_func *ir_build(struct arena *arena, const struct ptx_module *module, const struct ptx_function *kernel,
			 const struct compile_options *options, struct ptx_diagnostic *diagnostic)
{
	struct ir_func *func = arena_new(arena, struct ir_func);
	struct flatten *flatten = arena_new(arena, struct flatten);
	func->arena = arena;
	func->module = module;
	func->kernel = kernel;
	func->options = *options;
	func->shared_align = 16;
	if (!ir_flatten(flatten, func, diagnostic)) {
		ir_destroy(func);
		return NULL;
	}
	ir_find_order(func);
	if (func->flags_used & ISA_BARRIER)
		ir_add_preheaders(func);
	ir_build_ssa(func, (uint32_t)flatten->types.count, flatten->types.data);
	if (options->in_step)
		find_apart(func);
	ir_choose_lanes(func);
	analyze(func);
	/* Also where lanes were asked for (DRAGOMAN_LANES): as one group such lanes would wait for each other, or meet where they do not. */
	if (ir_find_waiting(func) && func->lanes > 1) {
		func->options.lanes = 1;
		ir_choose_lanes(func);
		ir_analyze(func);
	}
	keep_warps(func);
	if (options->may_be_quick && options->opt_level == 2 && !module->debug && ir_takes_long(func))
		func->options.opt_level = 1; /* at once: nearly all that follows adds to the code, and takes as long as all before it */
	if (func->options.opt_level == 1) { /* the quick form: nothing that is there twice, or for speed alone */
		if (ir_may_have_regions(func))
			ir_find_regions(func);
		if (ir_may_be_narrowed(func)) { /* less code */
			take_lanes(func, func->width);
			ir_find_regions(func);
		}
		return func;
	}
	if (ir_leave_at_once(func))
		build_again(func);
	bool small = count_instructions(func) <= SMALL_CODE;
	if (ir_keep_together(func)) {
		if (small)
			ask_once_a_warp(func);
		build_again(func);
	}
	if (ir_add_lane_loops(func))
		build_again(func);
	if (ir_may_have_regions(func))
		ir_find_regions(func);
	if (ir_drop_barriers(func))
		ir_find_regions(func);
	jam(func);
	pair(func);
	func->rows = ir_find_rows(func);
	return func;
}

void ir_destroy(struct ir_func *func)
{
	for (size_t i = 0; i < func->blocks.count; i++) {
		struct ir_block *b = &func->blocks.data[i];
		vec_fini(&b->insts);
		vec_fini(&b->phis);
		vec_fini(&b->preds);
	}
	vec_fini(&func->blocks);
	vec_fini(&func->loops);
	vec_fini(&func->values);
	vec_fini(&func->objects);
	if (func->flatten)
		ir_flatten_fini(func->flatten);
}
