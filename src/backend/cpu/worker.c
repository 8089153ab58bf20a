/* What a thread needs to run blocks: a stack for kernels that do not suspend, the floating-point setting that PTX assumes, and
 * for a block its shared and local memory, its groups and their stacks. All of it is mapped when first needed, in
 * address space rather than memory, and used again for the next block. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <stdlib.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum {
	MAIN_STACK = 8 << 20,
	GROUP_STACK = 2 << 20,     /* reserved, not used: kernels with many fragments have frames of half a megabyte */
	THREAD_STACK = 512 << 10,  /* of a group of one thread; what is unrolled thousands of times has frames of a hundred kilobytes and more */
	STAGGER = 192              /* bytes between stack tops, modulo a page: else all would share cache sets */
};
/* A page in front of the window, to be read: lanes that take no part may point there (s[t - 1] of lane 0), and processors are said to take
 * long over a masked load beside a page that is not there, though it reads nothing of it. (No gain was measured on the table's scan.) */
#define SHARED_FRONT ((size_t)4096)
#define SHARED_RESERVE ((size_t)4 << 30) /* every 32-bit shared address is ours: those past the window fault */

/* ---- floating-point environment: what PTX assumes, whatever the host thread has set ------------ */

unsigned long cpu_float_enter(void)
{
	unsigned long saved = 0;
#if defined(__x86_64__)
	saved = _mm_getcsr();
	_mm_setcsr(0x1f80);
#elif defined(__aarch64__)
	__asm__ volatile("mrs %0, fpcr" : "=r"(saved));
	__asm__ volatile("msr fpcr, %0" : : "r"(0ul));
#endif
	return saved;
}

void cpu_float_leave(unsigned long saved)
{
#if defined(__x86_64__)
	_mm_setcsr((unsigned)saved);
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" : : "r"(saved));
#else
	(void)saved;
#endif
}

/* ---- workers --------------------------------------------------------------------------------- */

static void *map_guarded(size_t size)
{
	uint8_t *at = mmap(NULL, size + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	mprotect(at, GUARD, PROT_NONE);
	return at;
}

bool cpu_worker_init(struct worker *worker, struct device *device, uint32_t number)
{
	memset(worker, 0, sizeof *worker);
	worker->device = device;
	worker->number = number;
	worker->stack = map_guarded(MAIN_STACK);
	worker->run = worker->stack ? cpu_block_run_create(worker) : NULL;
	if (worker->run)
		return true;
	cpu_worker_fini(worker);
	log_error("out of memory for a worker");
	return false;
}

void cpu_worker_fini(struct worker *worker)
{
	cpu_block_run_destroy(worker->run);
	while (worker->spare) {
		struct block_run *run = worker->spare;
		worker->spare = run->next;
		cpu_block_run_destroy(run);
	}
	while (worker->spare_clusters) {
		struct cluster *cluster = worker->spare_clusters;
		worker->spare_clusters = cluster->next;
		munmap(cluster->map, cluster->map_bytes);
		free(cluster);
	}
	fiber_release(&worker->main);
	fiber_release(&worker->home);
	if (worker->stack)
		munmap(worker->stack, MAIN_STACK + GUARD);
}

struct guarded {
	struct worker *worker;
	void (*body)(void *);
	void *argument;
};

static void guard_main(void *argument)
{
	struct guarded guarded = *(struct guarded *)argument;
	guarded.body(guarded.argument);
	fiber_jump(&guarded.worker->main, &guarded.worker->home);
}

bool cpu_worker_guard(struct worker *worker, void (*body)(void *), void *argument)
{
	struct guarded guarded = { worker, body, argument };
	size_t top = MAIN_STACK - worker->number % 16 * STAGGER;
	worker->fault.signal = 0;
	fiber_make(&worker->main, worker->stack + GUARD, top & ~(size_t)63, guard_main, &guarded);
	worker->guarded = true;
	unsigned long saved = cpu_float_enter();
	fiber_switch(&worker->home, &worker->main);
	cpu_float_leave(saved);
	worker->guarded = false;
	return !worker->fault.signal;
}

_Noreturn void cpu_worker_abandon(struct worker *worker)
{
	struct block_run *run = worker->active;
	fiber_jump(run && run->current && !run->direct ? &run->current->fiber : &worker->main, &worker->home);
}

/* ---- what a block needs ----------------------------------------------------------------------- */

static bool map_shared(struct block_run *run)
{
	/* Address space is all that this takes; where even that is limited, just the window and its guard. */
	for (size_t bytes = SHARED_RESERVE; bytes > SHARED_WINDOW; bytes = bytes == SHARED_RESERVE ? SHARED_WINDOW + GUARD : 0) {
		run->shared_map = mmap(NULL, bytes + SHARED_FRONT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (run->shared_map == MAP_FAILED)
			continue;
		run->shared_map_bytes = bytes + SHARED_FRONT;
		if (mprotect(run->shared_map, SHARED_FRONT, PROT_READ))
			return false;
		(void)*(volatile uint8_t *)run->shared_map; /* now it is there */
		return !mprotect(run->shared_map + SHARED_FRONT, SHARED_WINDOW, PROT_READ | PROT_WRITE);
	}
	run->shared_map = NULL;
	return false;
}

struct block_run *cpu_block_run_create(struct worker *worker)
{
	struct block_run *run = calloc(1, sizeof *run);
	if (!run)
		return NULL;
	run->worker = worker;
	if (!map_shared(run)) {
		cpu_block_run_destroy(run);
		return NULL;
	}
	run->block.worker = run;
	run->block.smid = worker->number;
	run->block.shared_window = SHARED_WINDOW;
	run->alone.size = 1;
	run->alone.runs[0] = run;
	return run;
}

/* ---- clusters --------------------------------------------------------------------------------- */

/* The blocks' windows in a row, in the middle of what 32-bit shared addresses reach from any of them, or, where address
 * space is limited, alone. */
static bool map_cluster(struct cluster *cluster)
{
	const size_t windows = (size_t)CLUSTER_BLOCKS << CLUSTER_SHIFT;
	for (size_t around = SHARED_RESERVE / 2;; around = 0) {
		cluster->map_bytes = windows + 2 * around;
		cluster->map = mmap(NULL, cluster->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (cluster->map != MAP_FAILED) {
			cluster->shared = cluster->map + around;
			return true;
		}
		if (!around)
			return false;
	}
}

struct cluster *cpu_cluster_take(struct worker *worker, uint32_t size)
{
	struct cluster *cluster = worker->spare_clusters;
	if (cluster) {
		worker->spare_clusters = cluster->next;
	} else {
		cluster = calloc(1, sizeof *cluster);
		if (!cluster || !map_cluster(cluster)) {
			free(cluster);
			return NULL;
		}
	}
	for (uint32_t rank = 0; rank < size; rank++) {
		if (mprotect(cluster->shared + ((size_t)rank << CLUSTER_SHIFT), SHARED_WINDOW, PROT_READ | PROT_WRITE)) {
			cpu_cluster_give(worker, cluster);
			return NULL;
		}
	}
	memset(cluster->runs, 0, sizeof cluster->runs);
	cluster->size = size;
	cluster->left = cluster->units = cluster->exited = cluster->arrived = cluster->phase = 0;
	return cluster;
}

void cpu_cluster_give(struct worker *worker, struct cluster *cluster)
{
	cluster->next = worker->spare_clusters;
	worker->spare_clusters = cluster;
}

void cpu_run_join(struct block_run *run, struct cluster *cluster, uint32_t rank)
{
	run->cluster = cluster;
	cluster->runs[rank] = run;
	cluster->units += run->units;
	cluster->left++;
	run->block.cluster_rank = rank;
	run->block.shared = cluster->shared + ((size_t)rank << CLUSTER_SHIFT);
	run->block.cluster_window = ((cluster->size - 1) << CLUSTER_SHIFT) + SHARED_WINDOW;
}

bool cpu_run_shares(const struct block_run *run, uint64_t address)
{
	const struct cluster *cluster = run->cluster;
	const uint8_t *start = cluster == &run->alone ? run->shared_map : cluster->map;
	return address - (uintptr_t)start < (cluster == &run->alone ? run->shared_map_bytes : cluster->map_bytes);
}

/* ---- what a block needs, on demand -------------------------------------------------------------- */

static void stacks_free(struct block_run *run)
{
	for (uint32_t i = 0; i < run->group_capacity; i++)
		fiber_release(&run->groups[i].fiber);
	if (run->stacks)
		munmap(run->stacks, run->stacks_bytes);
	run->stacks = NULL;
	run->stacks_count = 0;
}

void cpu_block_run_destroy(struct block_run *run)
{
	if (!run)
		return;
	stacks_free(run);
	free(run->groups);
	if (run->local)
		munmap(run->local, run->local_bytes + GUARD);
	free(run->block.context);
	if (run->shared_map)
		munmap(run->shared_map, run->shared_map_bytes);
	text_fini(&run->printed);
	free(run->errors);
	free(run);
}

static bool need_local(struct block_run *run, uint64_t bytes)
{
	if (bytes <= run->local_bytes)
		return true;
	if (run->local)
		munmap(run->local, run->local_bytes + GUARD);
	run->local_bytes = 0;
	bytes = align_up(bytes, 64 << 10);
	run->local = mmap(NULL, bytes + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (run->local == MAP_FAILED) {
		run->local = NULL;
		return false;
	}
	mprotect(run->local + bytes, GUARD, PROT_NONE);
	run->local_bytes = bytes;
	return true;
}

static bool need_context(struct block_run *run, size_t bytes)
{
	if (bytes <= run->context_bytes)
		return true;
	free(run->block.context);
	run->context_bytes = 0;
	bytes = align_up(bytes, 4096);
	run->block.context = aligned_alloc(4096, bytes);
	if (!run->block.context)
		return false;
	run->context_bytes = bytes;
	return true;
}

static bool need_groups(struct block_run *run, uint32_t count)
{
	if (count <= run->group_capacity)
		return true;
	struct group *groups = realloc(run->groups, count * sizeof *groups);
	if (!groups)
		return false;
	memset(groups + run->group_capacity, 0, (count - run->group_capacity) * sizeof *groups);
	run->groups = groups;
	run->group_capacity = count;
	return true;
}

/* From one stack to the next: an odd number of pages, so that they share no cache sets. */
static size_t stack_stride(size_t size)
{
	return ((size + GUARD) | 4096);
}

/* Stacks for all groups in one mapping, each with a guard below it as far as the system allows so many mappings. */
static bool need_stacks(struct block_run *run, uint32_t count, size_t size)
{
	if (count <= run->stacks_count && size <= run->stack_size)
		return true;
	stacks_free(run);
	size_t each = stack_stride(size);
	run->stacks_bytes = count * each;
	run->stacks = mmap(NULL, run->stacks_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (run->stacks == MAP_FAILED) {
		run->stacks = NULL;
		return false;
	}
	run->stacks_count = count;
	run->stack_size = size;
	for (uint32_t i = 0; i < count; i++)
		if (mprotect(run->stacks + i * each, GUARD, PROT_NONE))
			break;
	return true;
}

void *cpu_run_stack(const struct block_run *run, uint32_t index, size_t *size)
{
	*size = run->stack_size - (index * STAGGER % 4096 & ~63u);
	return run->stacks + index * stack_stride(run->stack_size) + GUARD;
}

static uint32_t group_units(const struct block_run *run, const struct group *group)
{
	uint32_t threads = run->block.thread_count;
	/* The last warp counts whole at barriers. */
	return group->end - group->first + (group->end == threads ? (uint32_t)align_up(threads, WARP) - threads : 0);
}

/* Makes the run fit for the launch's blocks. */
bool cpu_run_bind(struct block_run *run, struct launch *launch, struct fiber *home)
{
	const struct kernel_variant *form = run->form = cpu_variant_now(launch->variant);
	const struct kernel_info *info = &form->common.info;
	struct cpu_block *block = &run->block;
	uint32_t threads = launch->abi.block[0] * launch->abi.block[1] * launch->abi.block[2];
	run->launch = launch;
	run->home = home;
	memset(run->ready, 0, sizeof run->ready);
	block->launch = &launch->abi;
	block->parameters = launch->abi.parameters;
	block->symbols = form->symbols;
	block->services = launch->abi.services;
	block->local_stride = align_up(info->local_bytes, 16);
	memcpy(block->block, launch->abi.block, sizeof block->block);
	memcpy(block->grid, launch->abi.grid, sizeof block->grid);
	block->thread_count = threads;
	block->shared = run->shared_map + SHARED_FRONT;
	block->more_x = 0;
	block->cluster_rank = 0;
	block->cluster_window = SHARED_WINDOW;
	run->units = (uint32_t)align_up(threads, WARP);
	run->cluster = &run->alone;
	run->alone.units = run->units;
	run->lanes = info->flags & KERNEL_SUSPENDS ? info->lanes : threads;
	run->lane_shift = info->flags & KERNEL_SUSPENDS ? (uint32_t)__builtin_ctz(info->lanes) : 31;
	run->group_count = (threads + run->lanes - 1) / run->lanes;
	run->direct = run->group_count == 1 && !launch->concurrent;
	size_t context = (size_t)info->context_bytes * ((threads + info->lanes - 1) / info->lanes);
	if (!need_local(run, block->local_stride * threads) || !need_context(run, context) || !need_groups(run, run->group_count))
		return false;
	block->local = run->local;
	size_t stack = (run->lanes == 1 ? THREAD_STACK : GROUP_STACK) +
		       align_up(run->worker->device->stack_limit * (run->lanes < WARP ? run->lanes : WARP), 4096);
	if (!run->direct && !need_stacks(run, run->group_count, stack))
		return false;
	for (uint32_t i = 0; i < run->group_count; i++) {
		struct group *group = &run->groups[i];
		group->run = run;
		group->index = i;
		group->first = i * run->lanes;
		group->end = group->first + run->lanes < threads ? group->first + run->lanes : threads;
		group->units = group_units(run, group);
	}
	return true;
}

/* Cluster launches count cluster after cluster, and in each its blocks by their ranks, x fastest. */
static uint64_t number_in_grid(const struct launch *launch, uint64_t number)
{
	const uint32_t *grid = launch->abi.grid, *cluster = launch->abi.cluster;
	uint64_t rank = number % launch->cluster_blocks, which = number / launch->cluster_blocks;
	uint64_t across = grid[0] / cluster[0], down = grid[1] / cluster[1];
	uint64_t x = which % across * cluster[0] + rank % cluster[0];
	uint64_t y = which / across % down * cluster[1] + rank / cluster[0] % cluster[1];
	uint64_t z = which / across / down * cluster[2] + rank / cluster[0] / cluster[1];
	return (z * grid[1] + y) * grid[0] + x;
}

void cpu_run_set_block(struct block_run *run, uint64_t number)
{
	const uint32_t *grid = run->block.grid;
	if (run->launch->cluster_blocks > 1)
		number = number_in_grid(run->launch, number);
	run->number = number;
	run->block.index[0] = (uint32_t)(number % grid[0]);
	run->block.index[1] = (uint32_t)(number / grid[0] % grid[1]);
	run->block.index[2] = (uint32_t)(number / grid[0] / grid[1]);
}
