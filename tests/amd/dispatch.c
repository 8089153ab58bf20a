/* A dispatch: blocks made of waves, their registers set up as the kernel descriptor asks, run to the end.
 *
 * A block's waves take turns of some instructions each, so that those that wait for another in a loop make progress.
 * Blocks run one after the other on up to two threads. One that takes long may wait for others: then the next one begins too, as many
 * as the GPU has room for, and they take turns. Those of a cooperative dispatch all do, from the beginning.
 * What hardware leaves undefined (LDS, registers, private memory) is filled with rubbish. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "machine.h"

enum { TURN = 4000, THREADS = 2, PATIENCE = 32 /* turns */, RUBBISH = 0xa5 };

/* Kernel code properties, bits */
enum { PRIVATE_BUFFER = 1, DISPATCH_POINTER = 2, QUEUE_POINTER = 4, KERNARG_POINTER = 8, DISPATCH_ID = 16, FLAT_SCRATCH_INIT = 32, PRIVATE_SIZE = 64 };

static atomic_ulong total_instructions, total_lane_instructions;

void dispatch_count(uint64_t *instructions, uint64_t *lane_instructions)
{
	*instructions = total_instructions;
	*lane_instructions = total_lane_instructions;
}

static uint32_t private_bytes(const struct dispatch *dispatch)
{
	uint32_t bytes = dispatch->kernel->private_bytes;

	if (dispatch->kernel->dynamic_stack && bytes < dispatch->stack_bytes) bytes = dispatch->stack_bytes;
	return (bytes + 15) & ~15u;
}

static void block_free(struct block *block)
{
	for (unsigned i = 0; block->waves && i < block->wave_count; i++) {
		free(block->waves[i].v);
		free(block->waves[i].private_memory);
	}
	free(block->waves);
	free(block->lds);
}

static bool block_allocate(struct block *block, struct run *run)
{
	const struct dispatch *d = run->dispatch;
	const struct gpu_model *gpu = code_object_gpu(d->kernel->object);
	unsigned lanes = d->kernel->wave_size, threads = d->block[0] * d->block[1] * d->block[2];

	memset(block, 0, sizeof *block);
	block->run = run;
	block->lds_bytes = d->kernel->group_bytes + d->dynamic_group_bytes;
	block->lds = aligned_alloc(64, (block->lds_bytes + 127) & ~63u);
	block->wave_count = (threads + lanes - 1) / lanes;
	block->waves = calloc(block->wave_count, sizeof *block->waves);
	if (!block->lds || !block->waves) return false;
	for (unsigned i = 0; i < block->wave_count; i++) {
		struct wave *w = &block->waves[i];

		w->lanes = lanes;
		w->registers = 256;
		w->index = i;
		w->block = block;
		w->gpu = gpu;
		w->object = d->kernel->object;
		w->private_bytes = private_bytes(d);
		w->v = aligned_alloc(64, (size_t)gpu->vector_registers * lanes * 4);
		w->private_memory = w->private_bytes ? aligned_alloc(64, ((size_t)lanes * w->private_bytes + 63) & ~63ull) : NULL;
		if (!w->v || (w->private_bytes && !w->private_memory)) return false;
	}
	return true;
}

/* User and system SGPRs. */
static void wave_set_scalars(struct wave *w, const struct run *run)
{
	const struct dispatch *d = run->dispatch;
	const struct kernel *k = d->kernel;
	const uint32_t *id = w->block->id;
	uint64_t pointers[][2] = {
		{ DISPATCH_POINTER, (uint64_t)(uintptr_t)run->packet },
		{ QUEUE_POINTER, 0 },	/* no queue: reading through it is a fault */
		{ KERNARG_POINTER, (uint64_t)(uintptr_t)d->kernarg },
		{ DISPATCH_ID, 1 },
		{ FLAT_SCRATCH_INIT, PRIVATE_RESOURCE_BASE },
	};
	unsigned at = 0;

	memset(w->s, RUBBISH, sizeof w->s);
	w->s[SGPR_NULL] = 0;
	if (k->properties & PRIVATE_BUFFER) {
		w->s[0] = (uint32_t)PRIVATE_RESOURCE_BASE;
		w->s[1] = (uint32_t)(PRIVATE_RESOURCE_BASE >> 32) | 1u << 31;
		w->s[2] = ~0u;
		w->s[3] = 0x00e00000;
		at = 4;
	}
	for (unsigned i = 0; i < sizeof pointers / sizeof *pointers; i++) {
		if (!(k->properties & pointers[i][0])) continue;
		w->s[at++] = (uint32_t)pointers[i][1];
		w->s[at++] = (uint32_t)(pointers[i][1] >> 32);
	}
	if (k->properties & PRIVATE_SIZE) w->s[at++] = k->private_bytes;
	at = k->rsrc2 >> 1 & 31;
	if (w->gpu->generation >= 12) {
		w->s[SGPR_TTMP + 9] = id[0];
		w->s[SGPR_TTMP + 7] = (id[1] & 0xffff) | id[2] << 16;
	} else {
		for (unsigned i = 0; i < 3; i++)
			if (k->rsrc2 >> (7 + i) & 1) w->s[at++] = id[i];
	}
	if (k->rsrc2 >> 10 & 1) w->s[at++] = w->block->wave_count;
	/* the wave's offset in the scratch of its queue; private memory is a lane's own here */
	if ((k->rsrc2 & 1) && (w->gpu->generation <= 10) && strcmp(w->gpu->name, "gfx942")) w->s[at++] = 0;
}

static void wave_start(struct wave *w, const struct run *run)
{
	const struct dispatch *d = run->dispatch;
	const struct kernel *k = d->kernel;
	unsigned threads = d->block[0] * d->block[1] * d->block[2];
	bool packed = w->gpu->cdna || w->gpu->generation >= 11;
	unsigned ids = k->rsrc2 >> 11 & 3;
	uint64_t exec = 0;

	wave_set_scalars(w, run);
	memset(w->v, RUBBISH, (size_t)w->gpu->vector_registers * w->lanes * 4);
	if (w->private_memory) memset(w->private_memory, RUBBISH, (size_t)w->lanes * w->private_bytes);
	for (unsigned lane = 0; lane < w->lanes; lane++) {
		unsigned thread = w->index * w->lanes + lane;
		uint32_t x = thread % d->block[0], y = thread / d->block[0] % d->block[1], z = thread / d->block[0] / d->block[1];

		if (thread >= threads) break;
		exec |= 1ull << lane;
		if (packed) {
			wave_row(w, 0)[lane] = x | (ids > 0 ? y << 10 : 0) | (ids > 1 ? z << 20 : 0);
		} else {
			wave_row(w, 0)[lane] = x;
			if (ids > 0) wave_row(w, 1)[lane] = y;
			if (ids > 1) wave_row(w, 2)[lane] = z;
		}
	}
	w->s[SGPR_EXEC + 1] = 0;
	wave_set_exec(w, exec);
	w->lane_mask_of = ~exec;
	w->scc = 0;
	w->mode = (k->rsrc1 >> 12 & 0xff) | (k->rsrc1 >> 21 & 1) << 8 | (k->rsrc1 >> 23 & 1) << 9;
	w->pc = k->entry;
	w->state = WAVE_RUNNING;
	w->barriers = 0;
	w->index_mode = false;
	w->memory_length = 0;
}

static void block_start(struct block *block, uint64_t number)
{
	const struct dispatch *d = block->run->dispatch;

	block->id[0] = (uint32_t)(number % d->grid[0]);
	block->id[1] = (uint32_t)(number / d->grid[0] % d->grid[1]);
	block->id[2] = (uint32_t)(number / d->grid[0] / d->grid[1]);
	block->live = block->wave_count;
	block->signals = block->barriers = 0;
	memset(block->lds, RUBBISH, block->lds_bytes);
	for (unsigned i = 0; i < block->wave_count; i++) wave_start(&block->waves[i], block->run);
}

/* One turn for each wave. True while there are waves that have not ended. */
static bool block_turn(struct block *block)
{
	for (unsigned i = 0; i < block->wave_count && !block->run->failed; i++) {
		struct wave *w = &block->waves[i];

		if (w->state == WAVE_BARRIER && block->barriers != w->barriers) {
			w->barriers++;
			w->state = WAVE_RUNNING;
		}
		if (w->state != WAVE_RUNNING) continue;
		wave_run(w, TURN);
		if (w->state != WAVE_DONE) continue;
		block->live--;
		barrier_check(block);
	}
	if (block->run->dispatch->stop && *block->run->dispatch->stop && !block->run->failed)
		wave_fail(&block->waves[0], NULL, DISPATCH_FAULT, "stopped");
	return block->live && !block->run->failed;
}

static void count(const struct block *block)
{
	for (unsigned i = 0; i < block->wave_count; i++) {
		total_instructions += block->waves[i].instructions;
		total_lane_instructions += block->waves[i].lane_instructions;
		block->waves[i].instructions = block->waves[i].lane_instructions = 0;
	}
}

static void out_of_memory(struct run *run)
{
	pthread_mutex_lock(&run->lock);
	if (!run->failed) snprintf(run->error, run->error_size, "kernel %s: no memory for its waves", run->dispatch->kernel->name);
	run->failed = true;
	run->status = DISPATCH_UNSUPPORTED;
	pthread_mutex_unlock(&run->lock);
}

static uint64_t block_total(const struct dispatch *d) { return (uint64_t)d->grid[0] * d->grid[1] * d->grid[2]; }

/* A thread's blocks that have begun. */
struct residents {
	struct block **blocks;
	unsigned made, live;	/* allocated; the first `live` of them run */
};

static bool start_another(struct residents *r, struct run *run)
{
	uint64_t number = run->next_block++;

	if (number >= block_total(run->dispatch)) return false;
	if (r->live == r->made) {
		r->blocks[r->made] = calloc(1, sizeof **r->blocks);
		if (!r->blocks[r->made] || !block_allocate(r->blocks[r->made++], run)) {
			out_of_memory(run);
			return false;
		}
	}
	block_start(r->blocks[r->live++], number);
	return true;
}

/* A turn for each; those that are over make room. */
static void turn_all(struct residents *r)
{
	for (unsigned i = 0; i < r->live;) {
		struct block *block = r->blocks[i];

		if (block_turn(block)) {
			i++;
			continue;
		}
		count(block);
		r->blocks[i] = r->blocks[--r->live];
		r->blocks[r->live] = block;
	}
}

/* Takes block after block until there are none left. */
static void *run_blocks(void *argument)
{
	struct run *run = argument;
	unsigned most = run->dispatch->resident ? run->dispatch->resident : 1, turns = 0;
	struct residents r = { .blocks = calloc(most, sizeof *r.blocks) };
	bool more = true;

	if (!r.blocks) out_of_memory(run);
	while (!run->failed && (r.live || more)) {
		if (more && (!r.live || (turns >= PATIENCE && r.live < most))) {
			more = start_another(&r, run);
			turns = 0;
		}
		turn_all(&r);
		turns++;
	}
	for (unsigned i = 0; i < r.live; i++) count(r.blocks[i]);
	for (unsigned i = 0; i < r.made; i++) {
		block_free(r.blocks[i]);
		free(r.blocks[i]);
	}
	free(r.blocks);
	return NULL;
}

static void run_cooperative(struct run *run)
{
	uint64_t total = block_total(run->dispatch);
	struct block *blocks = calloc(total, sizeof *blocks);
	bool live = true;

	if (!blocks) {
		out_of_memory(run);
		return;
	}
	for (uint64_t i = 0; i < total; i++) {
		if (!block_allocate(&blocks[i], run)) {
			out_of_memory(run);
			break;
		}
		block_start(&blocks[i], i);
	}
	while (live && !run->failed) {
		live = false;
		for (uint64_t i = 0; i < total && !run->failed; i++)
			if (blocks[i].live) live |= block_turn(&blocks[i]);
	}
	for (uint64_t i = 0; i < total; i++) {
		count(&blocks[i]);
		block_free(&blocks[i]);
	}
	free(blocks);
}

/* The AQL packet that dispatch_ptr leads to. */
static void make_packet(struct run *run)
{
	const struct dispatch *d = run->dispatch;
	uint64_t object = (uint64_t)(uintptr_t)d->kernel->descriptor, kernarg = (uint64_t)(uintptr_t)d->kernarg;
	uint32_t group = d->kernel->group_bytes + d->dynamic_group_bytes;

	run->packet[0] = 2;	/* kernel dispatch */
	run->packet[2] = 3;	/* dimensions */
	for (unsigned i = 0; i < 3; i++) {
		uint16_t threads = (uint16_t)d->block[i];
		uint32_t items = d->grid[i] * d->block[i];

		memcpy(run->packet + 4 + 2 * i, &threads, 2);
		memcpy(run->packet + 12 + 4 * i, &items, 4);
	}
	memcpy(run->packet + 24, &d->kernel->private_bytes, 4);
	memcpy(run->packet + 28, &group, 4);
	memcpy(run->packet + 32, &object, 8);
	memcpy(run->packet + 40, &kernarg, 8);
}

enum dispatch_status dispatch_run(const struct dispatch *dispatch, char *error, size_t error_size)
{
	struct run run = { .dispatch = dispatch, .error = error, .error_size = error_size, .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t helper;
	bool helped = false;

	make_packet(&run);
	memory_add(run.packet, sizeof run.packet);
	if (dispatch->kernarg) memory_add(dispatch->kernarg, (dispatch->kernarg_bytes + 63) & ~63ull);
	if (dispatch->cooperative) {
		run_cooperative(&run);
	} else {
		if (THREADS > 1 && block_total(dispatch) > 4 && sysconf(_SC_NPROCESSORS_ONLN) > 1)
			helped = !pthread_create(&helper, NULL, run_blocks, &run);
		run_blocks(&run);
		if (helped) pthread_join(helper, NULL);
	}
	if (dispatch->kernarg) memory_remove(dispatch->kernarg);
	memory_remove(run.packet);
	return run.status;
}
