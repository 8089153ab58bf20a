/* Running blocks. Code that does not suspend runs all threads of a block in one call, on the worker's main fiber. Code that
 * does is called once for each group of `lanes` threads, each call on a fiber of its own; a group that must wait switches
 * straight to the next one that can run. Barriers follow PTX ISA 9.7.13.1: named, with counts, and threads that have
 * exited are not waited for. When no group can run, the block is finished, waits for other blocks, or is stuck for
 * good, which is reported and ends the launch.
 *
 * Blocks that make progress together (cooperative launches, code that spins on memory) are kept, as many as a
 * multiprocessor would hold, and continued in turn. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum {
	MAIN_STACK = 8 << 20,
	GROUP_STACK = 256 << 10,
	THREAD_STACK = 64 << 10,   /* of a group of one thread */
	GUARD = 64 << 10,          /* below every stack: more than a frame that skips probing should be */
	STAGGER = 192,             /* bytes between stack tops, modulo a page: else all would share cache sets */
	IDLE_SPINS = 64
};
#define SHARED_RESERVE ((size_t)4 << 30) /* every 32-bit shared address is ours: those past the window fault */

/* ---- floating-point environment: what PTX assumes, whatever the host thread has set ------------ */

static unsigned long float_enter(void)
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

static void float_leave(unsigned long saved)
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
	unsigned long saved = float_enter();
	fiber_switch(&worker->home, &worker->main);
	float_leave(saved);
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
		run->shared_map = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (run->shared_map == MAP_FAILED)
			continue;
		run->shared_map_bytes = bytes;
		return !mprotect(run->shared_map, SHARED_WINDOW, PROT_READ | PROT_WRITE);
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
	run->block.shared = run->shared_map;
	run->block.shared_window = SHARED_WINDOW;
	run->block.cluster_shared[0] = run->shared_map;
	return run;
}

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
	if (run->shared_map)
		munmap(run->shared_map, run->shared_map_bytes);
	text_fini(&run->printed);
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

static uint32_t group_units(const struct block_run *run, const struct group *group)
{
	uint32_t threads = run->block.thread_count;
	/* The last warp counts whole at barriers. */
	return group->end - group->first + (group->end == threads ? (uint32_t)align_up(threads, WARP) - threads : 0);
}

/* Makes the run fit for the launch's blocks. */
static bool run_bind(struct block_run *run, struct launch *launch, struct fiber *home)
{
	const struct kernel_info *info = &launch->variant->info;
	struct cpu_block *block = &run->block;
	uint32_t threads = launch->abi.block[0] * launch->abi.block[1] * launch->abi.block[2];
	run->launch = launch;
	run->home = home;
	block->launch = &launch->abi;
	block->parameters = launch->abi.parameters;
	block->symbols = launch->abi.symbols;
	block->services = launch->abi.services;
	block->local_stride = align_up(info->local_bytes, 16);
	memcpy(block->block, launch->abi.block, sizeof block->block);
	memcpy(block->grid, launch->abi.grid, sizeof block->grid);
	block->thread_count = threads;
	run->units = (uint32_t)align_up(threads, WARP);
	run->lanes = info->flags & KERNEL_SUSPENDS ? info->lanes : threads;
	run->lane_shift = info->flags & KERNEL_SUSPENDS ? (uint32_t)__builtin_ctz(info->lanes) : 31;
	run->group_count = (threads + run->lanes - 1) / run->lanes;
	run->direct = run->group_count == 1 && !launch->concurrent;
	if (!need_local(run, block->local_stride * threads) || !need_groups(run, run->group_count))
		return false;
	block->local = run->local;
	size_t stack = (run->lanes == 1 ? THREAD_STACK : GROUP_STACK) +
		       align_up(run->worker->device->stack_limit * (run->lanes < WARP ? run->lanes : WARP), 4096);
	if (!run->direct && !need_stacks(run, run->group_count, stack))
		return false;
	for (uint32_t i = 0; i < run->group_count; i++) {
		struct group *group = &run->groups[i];
		group->run = run;
		group->first = i * run->lanes;
		group->end = group->first + run->lanes < threads ? group->first + run->lanes : threads;
		group->units = group_units(run, group);
	}
	return true;
}

static void run_set_block(struct block_run *run, uint64_t number)
{
	const uint32_t *grid = run->block.grid;
	run->number = number;
	run->block.index[0] = (uint32_t)(number % grid[0]);
	run->block.index[1] = (uint32_t)(number / grid[0] % grid[1]);
	run->block.index[2] = (uint32_t)(number / grid[0] / grid[1]);
}

static void run_next_block(struct block_run *run)
{
	run->number++;
	if (++run->block.index[0] < run->block.grid[0])
		return;
	run->block.index[0] = 0;
	if (++run->block.index[1] < run->block.grid[1])
		return;
	run->block.index[1] = 0;
	run->block.index[2]++;
}

/* ---- switching between groups ------------------------------------------------------------------ */

static struct group *next_ready(struct block_run *run)
{
	if (!run->ready)
		return NULL;
	uint32_t i = (uint32_t)(run->current - run->groups);
	for (uint32_t k = 0; k < run->group_count; k++) {
		if (++i >= run->group_count)
			i = 0;
		if (run->groups[i].state == GROUP_READY)
			return &run->groups[i];
	}
	return NULL;
}

static _Noreturn void stuck(struct block_run *run);

/* The current group has to wait: others run until it is ready again. */
static void group_wait(struct block_run *run)
{
	struct group *self = run->current, *next = next_ready(run);
	if (next == self)
		return;
	if (run->direct)
		stuck(run);
	if (next) {
		run->current = next;
		fiber_switch(&self->fiber, &next->fiber);
	} else {
		fiber_switch(&self->fiber, run->home);
	}
}

static void make_ready(struct block_run *run, struct group *group)
{
	group->state = GROUP_READY;
	run->ready++;
}

static void make_waiting(struct block_run *run, struct group *group, enum group_state state)
{
	group->state = (uint8_t)state;
	run->ready--;
}

/* ---- barriers --------------------------------------------------------------------------------- */

static bool barrier_complete(const struct block_run *run, const struct barrier *barrier)
{
	uint32_t expected = barrier->expected ? barrier->expected : run->units - run->exited;
	return barrier->arrived && barrier->arrived >= expected;
}

static uint32_t barrier_release(struct block_run *run, struct barrier *barrier)
{
	uint32_t result = barrier->op == 1 ? barrier->popc : barrier->op == 2 ? !barrier->missing : barrier->popc != 0;
	uint8_t id = (uint8_t)(barrier - run->barriers);
	for (uint32_t i = 0; barrier->waiting && i < run->group_count; i++) {
		struct group *group = &run->groups[i];
		if (group->state != GROUP_AT_BARRIER || group->barrier != id)
			continue;
		group->result = result;
		make_ready(run, group);
		barrier->waiting--;
	}
	*barrier = (struct barrier){ 0 };
	return result;
}

static struct group *group_of(struct block_run *run, uint32_t thread)
{
	return &run->groups[thread >> run->lane_shift];
}

static void barrier_arrive(struct group *group, struct barrier *barrier, uint32_t count)
{
	barrier->arrived += group->units;
	barrier->expected = count ? (uint32_t)align_up(count, WARP) : 0;
}

uint32_t cpu_block_barrier(struct cpu_block *block, uint32_t first_thread, uint32_t mask, uint32_t id, uint32_t count, uint32_t op,
		       uint32_t predicate)
{
	struct block_run *run = block->worker;
	struct group *group = group_of(run, first_thread);
	struct barrier *barrier = &run->barriers[id % BARRIERS];
	if (op) {
		barrier->popc += (uint32_t)__builtin_popcount(predicate & mask);
		barrier->missing += (uint32_t)__builtin_popcount(~predicate & mask);
		barrier->op = op;
	}
	barrier_arrive(group, barrier, count);
	if (barrier_complete(run, barrier))
		return barrier_release(run, barrier);
	group->barrier = (uint8_t)(id % BARRIERS);
	barrier->waiting++;
	make_waiting(run, group, GROUP_AT_BARRIER);
	group_wait(run);
	return group->result;
}

void cpu_block_barrier_arrive(struct cpu_block *block, uint32_t first_thread, uint32_t mask, uint32_t id, uint32_t count)
{
	struct block_run *run = block->worker;
	struct barrier *barrier = &run->barriers[id % BARRIERS];
	(void)mask;
	barrier_arrive(group_of(run, first_thread), barrier, count);
	if (barrier_complete(run, barrier))
		barrier_release(run, barrier);
}

/* ---- warp-wide exchange of the scalar form ------------------------------------------------------ */

/* Are all threads of `mask` that have not exited in an exchange with this very mask? Then they get each other's values. */
static bool exchange_complete(struct block_run *run, uint32_t warp, uint32_t mask, const struct group *self)
{
	struct warp_state *state = &run->warps[warp];
	struct group *groups = &run->groups[warp * WARP];
	uint32_t present = mask & state->alive;
	uint64_t values[WARP] = { 0 };
	if (present & ~state->exchanging)
		return false;
	for (uint32_t left = present; left; left &= left - 1) {
		int lane = __builtin_ctz(left);
		if (groups[lane].membermask != mask)
			return false;
		values[lane] = groups[lane].value;
	}
	state->exchanging &= ~present;
	for (uint32_t left = present; left; left &= left - 1) {
		struct group *group = &groups[__builtin_ctz(left)];
		memcpy(group->values, values, sizeof values);
		group->result = present;
		if (group != self)
			make_ready(run, group);
	}
	return true;
}

uint32_t cpu_block_exchange(struct cpu_block *block, uint32_t thread, uint32_t membermask, uint64_t value, uint64_t values[32])
{
	struct block_run *run = block->worker;
	struct group *group = group_of(run, thread);
	if (!(membermask >> thread % WARP & 1))
		block->services->trap(block, thread, STATUS_ILLEGAL_INSTRUCTION);
	group->membermask = membermask;
	group->value = value;
	group->values = values;
	if (run->lanes != 1) {
		/* One call for the whole block can only be a block of one thread. */
		memset(values, 0, WARP * sizeof *values);
		values[thread % WARP] = value;
		return UINT32_C(1) << thread % WARP;
	}
	run->warps[thread / WARP].exchanging |= UINT32_C(1) << thread % WARP;
	if (exchange_complete(run, thread / WARP, membermask, group))
		return group->result;
	make_waiting(run, group, GROUP_IN_EXCHANGE);
	group_wait(run);
	return group->result;
}

/* A thread has exited: those of its warp may have waited for nobody else. */
static void exchange_after_exit(struct block_run *run, const struct group *gone)
{
	uint32_t warp = gone->first / WARP;
	run->warps[warp].alive &= ~(UINT32_C(1) << gone->first % WARP);
	for (uint32_t i = warp * WARP; i < warp * WARP + WARP && i < run->group_count; i++) {
		struct group *group = &run->groups[i];
		if (group->state == GROUP_IN_EXCHANGE && exchange_complete(run, warp, group->membermask, NULL))
			return;
	}
}

/* ---- yield and grid barrier -------------------------------------------------------------------- */

void cpu_block_yield(struct cpu_block *block, uint32_t first_thread)
{
	struct block_run *run = block->worker;
	(void)first_thread;
	if (run->direct) {
		sched_yield();
		return;
	}
	struct group *self = run->current, *next = next_ready(run);
	/* Once around the block's groups, then the other blocks have their turn. */
	if (next > self) {
		run->current = next;
		fiber_switch(&self->fiber, &next->fiber);
	} else if (run->launch->concurrent) {
		run->yielded = true;
		fiber_switch(&self->fiber, run->home);
	} else {
		sched_yield();
		if (next != self) {
			run->current = next;
			fiber_switch(&self->fiber, &next->fiber);
		}
	}
}

/* A block is at the grid barrier when all its groups that are left are; the worker then counts it (grid_arrive). */
void cpu_block_grid_barrier(struct cpu_block *block, uint32_t first_thread, uint32_t mask, uint32_t kind)
{
	struct block_run *run = block->worker;
	struct group *group = group_of(run, first_thread);
	(void)mask, (void)kind;
	if (!run->launch->concurrent)
		return; /* a grid of its own: nobody else to meet; told apart by the driver */
	run->at_grid++;
	make_waiting(run, group, GROUP_AT_GRID);
	group_wait(run);
}

static void grid_check_locked(struct launch *launch)
{
	if (launch->grid_arrived + launch->grid_exited < launch->blocks)
		return;
	launch->grid_arrived = 0;
	atomic_fetch_add_explicit(&launch->grid_generation, 1, memory_order_release);
}

static void grid_arrive(struct block_run *run)
{
	struct launch *launch = run->launch;
	spinlock_lock(&launch->lock);
	run->grid_generation = atomic_load_explicit(&launch->grid_generation, memory_order_relaxed);
	run->grid_arrived = true;
	launch->grid_arrived++;
	grid_check_locked(launch);
	spinlock_unlock(&launch->lock);
}

static void grid_exit(struct launch *launch)
{
	spinlock_lock(&launch->lock);
	launch->grid_exited++;
	if (launch->grid_arrived)
		grid_check_locked(launch);
	spinlock_unlock(&launch->lock);
}

static void grid_release(struct block_run *run)
{
	run->grid_arrived = false;
	run->at_grid = 0;
	for (uint32_t i = 0; i < run->group_count; i++)
		if (run->groups[i].state == GROUP_AT_GRID)
			make_ready(run, &run->groups[i]);
}

/* ---- one block --------------------------------------------------------------------------------- */

static void group_exit(struct block_run *run, struct group *group)
{
	group->state = GROUP_DONE;
	run->ready--;
	run->alive--;
	run->exited += group->units;
	if (!run->alive)
		return;
	for (int i = 0; i < BARRIERS; i++)
		if (run->barriers[i].arrived && !run->barriers[i].expected && barrier_complete(run, &run->barriers[i]))
			barrier_release(run, &run->barriers[i]);
	if (run->lanes == 1)
		exchange_after_exit(run, group);
}

static void group_main(void *argument)
{
	struct group *group = argument;
	struct block_run *run = group->run;
	run->launch->variant->entry(&run->block, group->first, group->end);
	group_exit(run, group);
	struct group *next = next_ready(run);
	if (next)
		run->current = next;
	fiber_jump(&group->fiber, next ? &next->fiber : run->home);
}

static void block_begin(struct block_run *run)
{
	run->alive = run->ready = run->group_count;
	run->exited = run->at_grid = 0;
	run->grid_arrived = false;
	memset(run->barriers, 0, sizeof run->barriers);
	memset(run->warps, 0, sizeof run->warps);
	run->current = &run->groups[run->group_count - 1]; /* so that the first is next */
	for (uint32_t i = 0; i < run->group_count; i++) {
		struct group *group = &run->groups[i];
		group->state = GROUP_READY;
		if (run->lanes == 1)
			run->warps[i / WARP].alive |= UINT32_C(1) << i % WARP;
		if (run->direct)
			continue;
		uint8_t *stack = run->stacks + i * stack_stride(run->stack_size) + GUARD;
		fiber_make(&group->fiber, stack, run->stack_size - (i * STAGGER % 4096 & ~63u), group_main, group);
	}
}

/* Runs the block's groups until none can run, or one has yielded for all. */
static void block_continue(struct block_run *run, struct fiber *home)
{
	struct group *next = next_ready(run);
	run->yielded = false;
	run->home = home;
	if (!next)
		return;
	run->current = next;
	fiber_switch(home, &next->fiber);
}

static void describe_waiting(const struct block_run *run, char *out, size_t size)
{
	size_t used = 0;
	out[0] = 0;
	for (uint32_t i = 0; i < run->group_count && used + 80 < size; i++) {
		const struct group *group = &run->groups[i];
		if (group->state == GROUP_AT_BARRIER)
			used += (size_t)snprintf(out + used, size - used, ", threads %u to %u at barrier %u (%u of %u)", group->first,
						 group->end - 1, group->barrier, run->barriers[group->barrier].arrived,
						 run->barriers[group->barrier].expected ? run->barriers[group->barrier].expected :
											  run->units - run->exited);
		else if (group->state == GROUP_IN_EXCHANGE)
			used += (size_t)snprintf(out + used, size - used, ", thread %u in a warp exchange with mask 0x%08x", group->first,
						 group->membermask);
		else if (group->state == GROUP_AT_GRID)
			used += (size_t)snprintf(out + used, size - used, ", threads %u to %u at the grid barrier", group->first,
						 group->end - 1);
	}
}

/* All threads wait and nothing will ever wake them. On a GPU this hangs; here it ends the launch. */
static void report_stuck(struct block_run *run)
{
	char waiting[400];
	describe_waiting(run, waiting, sizeof waiting);
	log_error("kernel %s, block (%u,%u,%u): deadlock: no thread can go on%s", run->launch->abi.name, run->block.index[0],
		  run->block.index[1], run->block.index[2], waiting);
	cpu_launch_fail(run->launch, run->worker->device, STATUS_LAUNCH_FAILED);
}

static _Noreturn void stuck(struct block_run *run)
{
	report_stuck(run);
	cpu_worker_abandon(run->worker);
}

/* What a block printed goes to its launch, whose end sorts the blocks. */
static void collect_prints(struct block_run *run)
{
	if (!run->printed.count)
		return;
	struct launch *launch = run->launch;
	struct print_part part = { run->number, run->printed.data, run->printed.count };
	spinlock_lock(&launch->lock);
	bool kept = vec_push(&launch->printed, part);
	spinlock_unlock(&launch->lock);
	if (!kept)
		free(run->printed.data);
	run->printed = (struct text){ 0 };
}

static int compare_parts(const void *a, const void *b)
{
	const struct print_part *x = a, *y = b;
	return (x->block > y->block) - (x->block < y->block);
}

void cpu_launch_finish(struct launch *launch, struct device *device)
{
	if (!launch->printed.count)
		return;
	qsort(launch->printed.data, launch->printed.count, sizeof *launch->printed.data, compare_parts);
	spinlock_lock(&device->print_lock);
	for (size_t i = 0; i < launch->printed.count; i++)
		text_add(&device->printed, launch->printed.data[i].data, launch->printed.data[i].length);
	spinlock_unlock(&device->print_lock);
	atomic_store_explicit(&device->print_waiting, true, memory_order_release);
	for (size_t i = 0; i < launch->printed.count; i++)
		free(launch->printed.data[i].data);
	vec_fini(&launch->printed);
}

/* ---- items ------------------------------------------------------------------------------------- */

struct range {
	struct block_run *run;
	uint64_t begin, end;
};

static void run_range(void *argument)
{
	struct range range = *(struct range *)argument;
	struct block_run *run = range.run;
	struct launch *launch = run->launch;
	cpu_kernel_fn *entry = launch->variant->entry;
	bool simple = !(launch->variant->info.flags & (KERNEL_SUSPENDS | KERNEL_PRINTS));
	run_set_block(run, range.begin);
	for (uint64_t number = range.begin;;) {
		if (simple) {
			entry(&run->block, 0, run->block.thread_count);
		} else {
			block_begin(run);
			if (run->direct) {
				run->current = run->groups;
				entry(&run->block, 0, run->block.thread_count);
			} else {
				block_continue(run, &run->worker->main);
				if (run->alive)
					stuck(run);
			}
			collect_prints(run);
		}
		if (++number == range.end || atomic_load_explicit(&launch->failed, memory_order_relaxed))
			return;
		run_next_block(run);
	}
}

static void run_plain(struct worker *worker, struct launch *launch, uint64_t begin, uint64_t end)
{
	struct range range = { worker->run, begin, end };
	struct block_run *outer = worker->active;
	if (!run_bind(worker->run, launch, &worker->main)) {
		log_error("kernel %s: out of memory for its stacks or local memory", launch->abi.name);
		cpu_launch_fail(launch, worker->device, STATUS_LAUNCH_OUT_OF_RESOURCES);
		return;
	}
	worker->run->current = worker->run->groups;
	worker->active = worker->run;
	if (!cpu_worker_guard(worker, run_range, &range))
		cpu_fault_report(worker);
	collect_prints(worker->run);
	worker->active = outer;
}

/* A worker's part of a launch whose blocks make progress together. */
struct together {
	struct worker *worker;
	struct command *command;
	struct launch *launch;
	struct block_run *residents;
	uint32_t resident_count, items;
	uint64_t next, end; /* blocks of the current item not begun yet */
};

static bool together_next(struct together *t, uint64_t *number)
{
	if (t->next == t->end) {
		uint32_t left = atomic_load_explicit(&t->command->remaining, memory_order_acquire);
		do {
			if (!left)
				return false;
		} while (!atomic_compare_exchange_weak(&t->command->remaining, &left, left - 1));
		t->items++;
		t->next = (t->command->items - left) * t->launch->chunk;
		t->end = t->next + t->launch->chunk < t->launch->blocks ? t->next + t->launch->chunk : t->launch->blocks;
	}
	*number = t->next++;
	return true;
}

static void together_begin(struct together *t, uint64_t number)
{
	struct worker *worker = t->worker;
	struct block_run *run = worker->spare;
	if (run)
		worker->spare = run->next;
	else
		run = cpu_block_run_create(worker);
	if (!run || !run_bind(run, t->launch, &worker->home)) {
		log_error("kernel %s: out of memory for block %" PRIu64, t->launch->abi.name, number);
		cpu_launch_fail(t->launch, worker->device, STATUS_LAUNCH_OUT_OF_RESOURCES);
		cpu_block_run_destroy(run);
		return;
	}
	run_set_block(run, number);
	block_begin(run);
	run->next = t->residents;
	t->residents = run;
	t->resident_count++;
}

/* Continues one block; says whether it got anywhere and whether it is over. */
static bool together_continue(struct together *t, struct block_run *run, bool *over)
{
	struct worker *worker = t->worker;
	if (atomic_load_explicit(&t->launch->failed, memory_order_relaxed)) {
		*over = true;
		return true;
	}
	if (run->grid_arrived) {
		if (run->grid_generation == atomic_load_explicit(&t->launch->grid_generation, memory_order_acquire))
			return false;
		grid_release(run);
	}
	worker->active = run;
	worker->fault.signal = 0;
	worker->guarded = true;
	unsigned long saved = float_enter();
	block_continue(run, &worker->home);
	float_leave(saved);
	worker->guarded = false;
	if (worker->fault.signal)
		cpu_fault_report(worker);
	worker->active = NULL;
	if (atomic_load_explicit(&t->launch->failed, memory_order_relaxed))
		*over = true;
	else if (!run->alive)
		*over = true;
	else if (run->yielded)
		return false;
	else if (run->at_grid == run->alive)
		grid_arrive(run);
	else if (!run->ready)
		report_stuck(run), *over = true;
	return true;
}

static bool together_round(struct together *t)
{
	bool progress = false;
	for (struct block_run **link = &t->residents; *link;) {
		struct block_run *run = *link;
		bool over = false;
		progress = together_continue(t, run, &over) || progress;
		if (!over) {
			link = &run->next;
			continue;
		}
		*link = run->next;
		t->resident_count--;
		grid_exit(t->launch);
		collect_prints(run);
		run->next = t->worker->spare;
		t->worker->spare = run;
	}
	return progress;
}

static uint32_t run_together(struct worker *worker, struct command *command, uint64_t begin, uint64_t end)
{
	struct launch *launch = &command->launch;
	struct together t = { .worker = worker, .command = command, .launch = launch, .items = 1, .next = begin, .end = end };
	unsigned idle = 0;
	for (;;) {
		bool progress = together_round(&t);
		uint64_t number;
		bool failed = atomic_load_explicit(&launch->failed, memory_order_relaxed);
		/* Those at hand have had their turn: one more, if there may be. */
		if (failed)
			t.next = t.end;
		if (t.resident_count < launch->resident_limit && together_next(&t, &number)) {
			if (!failed)
				together_begin(&t, number);
			idle = 0;
			continue;
		}
		if (!t.residents)
			return t.items;
		if (progress) {
			idle = 0;
		} else if (++idle < IDLE_SPINS) {
			cpu_relax();
		} else if (!cpu_pool_run_plain(worker)) {
			/* What they wait for may be another thread's doing, on this very CPU. */
			sched_yield();
		}
	}
}

uint32_t cpu_launch_run_item(struct worker *worker, struct command *command, uint32_t item)
{
	struct launch *launch = &command->launch;
	uint64_t begin = item * launch->chunk;
	uint64_t end = launch->blocks - begin < launch->chunk ? launch->blocks : begin + launch->chunk;
	if (atomic_load_explicit(&launch->failed, memory_order_relaxed))
		return 1;
	if (launch->concurrent)
		return run_together(worker, command, begin, end);
	run_plain(worker, launch, begin, end);
	return 1;
}
