/* The items of a launch. Most launches are run block by block, each to its end. Where blocks make progress together
 * (cooperative launches, code that spins on memory) a worker keeps as many as a multiprocessor would hold and
 * continues them in turn. What blocks print is put in their order when the launch is over. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

enum {
	IDLE_SPINS = 64,
	ROW_THREADS = 8192, /* of a row: 32 KiB where each reads four bytes */
};

/* ---- what is printed ----------------------------------------------------------------------------- */

/* What a block printed goes to its launch, whose end sorts the blocks. */
static void collect_prints(struct block_run *run)
{
	if (!run->printed.count)
		return;
	struct launch *launch = run->launch;
	struct print_part part = { run->number, run->printed.data, run->printed.count };
	spinlock_lock(&launch->lock);
	bool kept = vec_push(&launch->printed, part);
	if (kept)
		launch->printed_bytes += part.length;
	bool full = launch->printed_bytes > atomic_load_explicit(&run->worker->device->print_limit, memory_order_relaxed);
	spinlock_unlock(&launch->lock);
	if (!kept)
		free(run->printed.data);
	run->printed = (struct text){ 0 };
	if (full) /* on to where older output gives way to newer */
		cpu_launch_finish(launch, run->worker->device);
}

static int compare_parts(const void *a, const void *b)
{
	const struct print_part *x = a, *y = b;
	return (x->block > y->block) - (x->block < y->block);
}

void cpu_launch_finish(struct launch *launch, struct device *device)
{
	VEC(struct print_part) printed;
	spinlock_lock(&launch->lock);
	memcpy(&printed, &launch->printed, sizeof printed);
	memset(&launch->printed, 0, sizeof launch->printed);
	launch->printed_bytes = 0;
	spinlock_unlock(&launch->lock);
	if (!printed.count)
		return;
	qsort(printed.data, printed.count, sizeof *printed.data, compare_parts);
	spinlock_lock(&device->print_lock);
	for (size_t i = 0; i < printed.count; i++)
		text_add(&device->printed, printed.data[i].data, printed.data[i].length);
	print_forget(&device->printed, atomic_load_explicit(&device->print_limit, memory_order_relaxed));
	spinlock_unlock(&device->print_lock);
	atomic_store_explicit(&device->print_waiting, true, memory_order_release);
	for (size_t i = 0; i < printed.count; i++)
		free(printed.data[i].data);
	vec_fini(&printed);
}

/* ---- items ------------------------------------------------------------------------------------- */

/* Code that goes through blocks row by row gets those that are left of their row in the grid, or of the item, and no more than that what lies
 * above and below stays in the caches. Returns how many. */
static uint64_t run_row(struct block_run *run, uint64_t left)
{
	struct cpu_block *block = &run->block;
	uint64_t count = block->grid[0] - block->index[0], most = 1 + ROW_THREADS / block->block[0];
	count = count < left ? count : left;
	count = count < most ? count : most;
	block->more_x = (uint32_t)count - 1;
	run->form->entry(block, 0, block->thread_count);
	block->more_x = 0;
	run->number += count - 1; /* the code has counted the index on */
	return count;
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

struct range {
	struct block_run *run;
	uint64_t begin, end;
};

static void run_range(void *argument)
{
	struct range range = *(struct range *)argument;
	struct block_run *run = range.run;
	struct launch *launch = run->launch;
	cpu_kernel_fn *entry = run->form->entry;
	bool rows = run->form->common.info.flags & KERNEL_ROWS;
	bool simple = !(run->form->common.info.flags & (KERNEL_SUSPENDS | KERNEL_PRINTS));
	cpu_run_set_block(run, range.begin);
	for (uint64_t number = range.begin;;) {
		uint64_t done = 1;
		if (rows) {
			done = run_row(run, range.end - number);
		} else if (simple) {
			entry(&run->block, 0, run->block.thread_count);
		} else {
			cpu_block_begin(run);
			if (run->direct) {
				run->current = run->groups;
				entry(&run->block, 0, run->block.thread_count);
			} else {
				cpu_block_continue(run, &run->worker->main);
				if (run->alive)
					cpu_block_stuck(run);
			}
			collect_prints(run);
		}
		number += done;
		if (number == range.end || atomic_load_explicit(&launch->failed, memory_order_relaxed))
			return;
		run_next_block(run);
	}
}

static void run_plain(struct worker *worker, struct launch *launch, uint64_t begin, uint64_t end)
{
	struct range range = { worker->run, begin, end };
	struct block_run *outer = worker->active;
	if (!cpu_run_bind(worker->run, launch, &worker->main)) {
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
	uint32_t resident_count, items;
	uint64_t next, end; /* blocks of the current item not begun yet */
};

/* The first of the blocks to begin next: one, or a cluster's. */
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
	*number = t->next;
	t->next += t->launch->cluster_blocks;
	return true;
}

static struct block_run *together_begin(struct together *t, uint64_t number)
{
	struct worker *worker = t->worker;
	struct block_run *run = worker->spare;
	if (run)
		worker->spare = run->next;
	else
		run = cpu_block_run_create(worker);
	if (!run || !cpu_run_bind(run, t->launch, &worker->home)) {
		log_error("kernel %s: out of memory for block %" PRIu64, t->launch->abi.name, number);
		cpu_launch_fail(t->launch, worker->device, STATUS_LAUNCH_OUT_OF_RESOURCES);
		cpu_block_run_destroy(run);
		return NULL;
	}
	cpu_run_set_block(run, number);
	cpu_block_begin(run);
	run->next = worker->residents;
	worker->residents = run;
	t->resident_count++;
	return run;
}

static void together_begin_cluster(struct together *t, uint64_t number)
{
	uint32_t size = t->launch->cluster_blocks;
	struct cluster *cluster = cpu_cluster_take(t->worker, size);
	if (!cluster) {
		log_error("kernel %s: out of memory for a cluster", t->launch->abi.name);
		cpu_launch_fail(t->launch, t->worker->device, STATUS_LAUNCH_OUT_OF_RESOURCES);
		return;
	}
	for (uint32_t rank = 0; rank < size; rank++) {
		struct block_run *run = together_begin(t, number + rank);
		if (run)
			cpu_run_join(run, cluster, rank);
	}
	if (!cluster->left)
		cpu_cluster_give(t->worker, cluster);
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
		cpu_grid_release(run);
	}
	if (!cpu_block_can_run(run) && cpu_cluster_waits(run))
		return false;
	worker->active = run;
	worker->fault.signal = 0;
	worker->guarded = true;
	unsigned long saved = cpu_float_enter();
	cpu_block_continue(run, &worker->home);
	cpu_float_leave(saved);
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
		cpu_grid_arrive(run);
	else if (!cpu_block_can_run(run) && !cpu_cluster_waits(run))
		cpu_block_report_stuck(run), *over = true;
	return true;
}

static bool together_round(struct together *t)
{
	bool progress = false;
	for (struct block_run **link = &t->worker->residents; *link;) {
		struct block_run *run = *link;
		bool over = false;
		progress = together_continue(t, run, &over) || progress;
		if (!over) {
			link = &run->next;
			continue;
		}
		*link = run->next;
		t->resident_count--;
		cpu_grid_exit(t->launch);
		cpu_cluster_leave(run);
		collect_prints(run);
		run->next = t->worker->spare;
		t->worker->spare = run;
	}
	return progress;
}

/* May this worker hold one more block? As many as a multiprocessor would; more when nothing moves, up to the whole device's share: the
 * other workers may be busy with what waits for this launch. */
static bool together_has_room(const struct together *t, unsigned idle)
{
	uint64_t limit = t->launch->resident_limit;
	if (idle > IDLE_SPINS)
		limit *= (uint64_t)t->worker->device->pool.size;
	return t->resident_count < limit;
}

static uint32_t run_together(struct worker *worker, struct command *command, uint64_t begin, uint64_t end)
{
	struct launch *launch = command->launch;
	struct together t = { .worker = worker, .command = command, .launch = launch, .items = 1, .next = begin, .end = end };
	unsigned idle = 0;
	for (;;) {
		bool progress = together_round(&t);
		cpu_children_submit(command);
		uint64_t number;
		bool failed = atomic_load_explicit(&launch->failed, memory_order_relaxed);
		if (failed)
			t.next = t.end; /* what is left is only counted */
		/* A block more when those at hand all wait. */
		if ((!progress || failed) && together_has_room(&t, idle) && together_next(&t, &number)) {
			if (!failed && launch->cluster_blocks > 1)
				together_begin_cluster(&t, number);
			else if (!failed)
				together_begin(&t, number);
			continue;
		}
		if (progress) {
			idle = 0;
		} else if (!worker->residents) {
			return t.items;
		} else if (++idle <= IDLE_SPINS) {
			cpu_relax();
		} else if (!cpu_pool_run_plain(worker)) {
			/* What they wait for may be another thread's doing, on this very CPU. */
			sched_yield();
		}
	}
}

/* It may have taken longer because caches were cold, or the processor was away: no more than twice as long is believed at a time. */
static void note_time(const struct kernel_variant *variant, uint64_t nanoseconds, uint64_t blocks)
{
	_Atomic uint32_t *time = &((struct kernel_variant *)variant)->block_time;
	uint64_t each = nanoseconds < UINT64_C(1) << 40 ? nanoseconds * 16 / blocks : UINT32_MAX;
	uint64_t before = atomic_load_explicit(time, memory_order_relaxed), most = before ? 2 * before : UINT32_MAX;
	each = each < 1 ? 1 : each > most ? most : each;
	atomic_store_explicit(time, each > UINT32_MAX ? UINT32_MAX : (uint32_t)each, memory_order_relaxed);
}

uint32_t cpu_launch_run_item(struct worker *worker, struct command *command, uint32_t item)
{
	struct launch *launch = command->launch;
	uint64_t begin = item * launch->chunk;
	uint64_t end = launch->blocks - begin < launch->chunk ? launch->blocks : begin + launch->chunk;
	if (atomic_load_explicit(&launch->failed, memory_order_relaxed))
		return 1;
	if (launch->concurrent)
		return run_together(worker, command, begin, end);
	bool matters = !item && (!command->list || launch->blocks > launch->share); /* who runs it, or with whom */
	uint64_t start = matters ? clock_ns() : 0;
	run_plain(worker, launch, begin, end);
	if (matters)
		note_time(launch->variant, clock_ns() - start, end - begin);
	return 1;
}

