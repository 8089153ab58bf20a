/* One block. Code that does not suspend runs all its threads in one call. Code that does is called once for each group of `lanes`
 * threads, each call on a fiber of its own; a group that must wait switches straight to the next one that can run.
 * Barriers follow PTX ISA 9.7.13.1: named, with counts, and threads that have exited are not waited for. When no group
 * can run, the block is finished, waits for other blocks, or is stuck for good, which is reported and ends the launch. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <sched.h>
#include <stdio.h>

/* ---- switching between groups ------------------------------------------------------------------ */

/* Which groups can run, and which wait at a barrier, is kept in bits: releasing a barrier is an or. */
static struct group *next_ready(struct block_run *run)
{
	uint32_t i = run->current->index, word = i / 64;
	uint64_t bits = run->ready[word] & ~UINT64_C(1) << i % 64; /* those behind the current one */
	for (uint32_t k = 0; !bits && k < run->words; k++) {
		word = word + 1 == run->words ? 0 : word + 1;
		bits = run->ready[word];
	}
	return bits ? &run->groups[word * 64 + (uint32_t)__builtin_ctzll(bits)] : NULL;
}

bool cpu_block_can_run(const struct block_run *run)
{
	uint64_t any = 0;
	for (uint32_t i = 0; i < run->words; i++)
		any |= run->ready[i];
	return any;
}

/* The current group has to wait: others run until it is ready again. */
static void group_wait(struct block_run *run)
{
	struct group *self = run->current, *next = next_ready(run);
	if (next == self)
		return;
	if (run->direct)
		cpu_block_stuck(run);
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
	run->ready[group->index / 64] |= UINT64_C(1) << group->index % 64;
}

static void make_waiting(struct block_run *run, struct group *group, enum group_state state)
{
	group->state = (uint8_t)state;
	run->ready[group->index / 64] &= ~(UINT64_C(1) << group->index % 64);
}

static bool is_ready(const struct block_run *run, const struct group *group)
{
	return run->ready[group->index / 64] >> group->index % 64 & 1;
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
	for (uint32_t i = 0; i < run->words; i++) {
		run->ready[i] |= barrier->waiting[i];
		for (uint64_t left = barrier->op ? barrier->waiting[i] : 0; left; left &= left - 1)
			run->groups[i * 64 + (uint32_t)__builtin_ctzll(left)].result = result;
		barrier->waiting[i] = 0;
	}
	barrier->arrived = barrier->popc = barrier->missing = barrier->op = 0;
	run->begun &= ~(1u << (barrier - run->barriers));
	return result;
}

static struct group *group_of(struct block_run *run, uint32_t thread)
{
	return &run->groups[thread >> run->lane_shift];
}

static void barrier_arrive(struct block_run *run, struct group *group, struct barrier *barrier, uint32_t count)
{
	run->begun |= 1u << (barrier - run->barriers);
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
	barrier_arrive(run, group, barrier, count);
	if (barrier_complete(run, barrier))
		return barrier_release(run, barrier);
	group->barrier = (uint8_t)(id % BARRIERS);
	barrier->waiting[group->index / 64] |= UINT64_C(1) << group->index % 64;
	make_waiting(run, group, GROUP_AT_BARRIER);
	group_wait(run);
	return group->result;
}

void cpu_block_barrier_arrive(struct cpu_block *block, uint32_t first_thread, uint32_t mask, uint32_t id, uint32_t count)
{
	struct block_run *run = block->worker;
	struct barrier *barrier = &run->barriers[id % BARRIERS];
	(void)mask;
	barrier_arrive(run, group_of(run, first_thread), barrier, count);
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
void cpu_block_grid_barrier(struct cpu_block *block, uint32_t first_thread, uint32_t mask)
{
	struct block_run *run = block->worker;
	struct group *group = group_of(run, first_thread);
	(void)mask;
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

void cpu_grid_arrive(struct block_run *run)
{
	struct launch *launch = run->launch;
	spinlock_lock(&launch->lock);
	run->grid_generation = atomic_load_explicit(&launch->grid_generation, memory_order_relaxed);
	run->grid_arrived = true;
	launch->grid_arrived++;
	grid_check_locked(launch);
	spinlock_unlock(&launch->lock);
}

void cpu_grid_exit(struct launch *launch)
{
	spinlock_lock(&launch->lock);
	launch->grid_exited++;
	if (launch->grid_arrived)
		grid_check_locked(launch);
	spinlock_unlock(&launch->lock);
}

void cpu_grid_release(struct block_run *run)
{
	run->grid_arrived = false;
	run->at_grid = 0;
	for (uint32_t i = 0; i < run->group_count; i++)
		if (run->groups[i].state == GROUP_AT_GRID)
			make_ready(run, &run->groups[i]);
}

/* ---- the cluster's barrier (PTX ISA 9.7.13.4) ------------------------------------------------------- */

static void cluster_check(struct cluster *cluster)
{
	if (!cluster->arrived || cluster->arrived + cluster->exited < cluster->units)
		return;
	cluster->arrived = 0;
	cluster->phase++;
	for (uint32_t rank = 0; rank < cluster->size; rank++) {
		struct block_run *run = cluster->runs[rank];
		for (uint32_t i = 0; run && i < run->words; i++) {
			for (uint64_t left = run->at_cluster[i]; left; left &= left - 1)
				run->groups[i * 64 + (uint32_t)__builtin_ctzll(left)].state = GROUP_READY;
			run->ready[i] |= run->at_cluster[i];
			run->at_cluster[i] = 0;
		}
	}
}

/* A group arrives as a whole with the first of its lanes, as warps do: those that come by another way, where lanes have
 * parted, are not counted again. */
void cpu_block_cluster_arrive(struct cpu_block *block, uint32_t first_thread, uint32_t mask)
{
	struct block_run *run = block->worker;
	struct cluster *cluster = run->cluster;
	struct group *group = group_of(run, first_thread);
	if (group->cluster_lanes && !(group->cluster_lanes & mask)) {
		group->cluster_lanes |= mask;
		return;
	}
	group->cluster_lanes = mask;
	group->cluster_phase = cluster->phase;
	cluster->arrived += group->units;
	cluster_check(cluster);
}

static bool has_arrived(const struct cluster *cluster, const struct group *group)
{
	return group->cluster_lanes && group->cluster_phase == cluster->phase;
}

void cpu_block_cluster_wait(struct cpu_block *block, uint32_t first_thread, uint32_t mask)
{
	struct block_run *run = block->worker;
	struct group *group = group_of(run, first_thread);
	(void)mask;
	if (!has_arrived(run->cluster, group))
		return; /* all the others have come since */
	make_waiting(run, group, GROUP_AT_CLUSTER);
	run->at_cluster[group->index / 64] |= UINT64_C(1) << group->index % 64;
	group_wait(run);
}

/* Whoever has exited is not waited for, nor counted twice. */
static void cluster_after_exit(struct block_run *run, const struct group *gone)
{
	struct cluster *cluster = run->cluster;
	if (has_arrived(cluster, gone))
		cluster->arrived -= gone->units;
	cluster->exited += gone->units;
	cluster_check(cluster);
}

bool cpu_cluster_waits(const struct block_run *run)
{
	uint64_t waiting = 0;
	for (uint32_t i = 0; i < run->words; i++)
		waiting |= run->at_cluster[i];
	for (uint32_t rank = 0; waiting && rank < run->cluster->size; rank++) {
		const struct block_run *other = run->cluster->runs[rank];
		if (other && other != run && cpu_block_can_run(other))
			return true;
	}
	return false;
}

void cpu_cluster_leave(struct block_run *run)
{
	struct cluster *cluster = run->cluster;
	if (cluster == &run->alone)
		return;
	cluster->runs[run->block.cluster_rank] = NULL;
	if (!--cluster->left)
		cpu_cluster_give(run->worker, cluster);
}

/* ---- one block --------------------------------------------------------------------------------- */

static void group_exit(struct block_run *run, struct group *group)
{
	make_waiting(run, group, GROUP_DONE);
	run->alive--;
	run->exited += group->units;
	cluster_after_exit(run, group);
	if (!run->alive)
		return;
	for (uint32_t left = run->begun; left; left &= left - 1) {
		struct barrier *barrier = &run->barriers[__builtin_ctz(left)];
		if (!barrier->expected && barrier_complete(run, barrier))
			barrier_release(run, barrier);
	}
	if (run->lanes == 1)
		exchange_after_exit(run, group);
}

static void group_main(void *argument)
{
	struct group *group = argument;
	struct block_run *run = group->run;
	run->form->entry(&run->block, group->first, group->end);
	group_exit(run, group);
	struct group *next = next_ready(run);
	if (next)
		run->current = next;
	fiber_jump(&group->fiber, next ? &next->fiber : run->home);
}

void cpu_block_begin(struct block_run *run)
{
	run->alive = run->group_count;
	run->exited = run->at_grid = 0;
	run->grid_arrived = false;
	run->alone.exited = run->alone.arrived = 0;
	/* What the last block left behind: it may have been ended, or have arrived where nobody waited. */
	for (; run->begun; run->begun &= run->begun - 1)
		memset(&run->barriers[__builtin_ctz(run->begun)], 0, sizeof run->barriers[0]);
	run->words = (run->group_count + 63) / 64;
	memset(run->at_cluster, 0, sizeof run->at_cluster);
	if (run->lanes == 1)
		memset(run->warps, 0, sizeof run->warps);
	run->current = &run->groups[run->group_count - 1]; /* so that the first is next */
	for (uint32_t i = 0; i < run->group_count; i++) {
		struct group *group = &run->groups[i];
		make_ready(run, group);
		group->cluster_lanes = 0;
		if (run->lanes == 1)
			run->warps[i / WARP].alive |= UINT32_C(1) << i % WARP;
		if (run->direct)
			continue;
		size_t size;
		void *stack = cpu_run_stack(run, i, &size);
		fiber_make(&group->fiber, stack, size, group_main, group);
	}
}

/* Runs the block's groups until none can run, or one has yielded for all. */
void cpu_block_continue(struct block_run *run, struct fiber *home)
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
		if (is_ready(run, group))
			continue;
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
		else if (group->state == GROUP_AT_CLUSTER)
			used += (size_t)snprintf(out + used, size - used, ", threads %u to %u at the cluster's barrier (%u of %u)", group->first,
						 group->end - 1, run->cluster->arrived, run->cluster->units - run->cluster->exited);
	}
}

/* All threads wait and nothing will ever wake them. On a GPU this hangs; here it ends the launch. */
void cpu_block_report_stuck(struct block_run *run)
{
	char waiting[400];
	describe_waiting(run, waiting, sizeof waiting);
	log_error("kernel %s, block (%u,%u,%u): deadlock: no thread can go on%s", run->launch->abi.name, run->block.index[0],
		  run->block.index[1], run->block.index[2], waiting);
	cpu_launch_fail(run->launch, run->worker->device, STATUS_LAUNCH_FAILED);
}

_Noreturn void cpu_block_stuck(struct block_run *run)
{
	cpu_block_report_stuck(run);
	cpu_worker_abandon(run->worker);
}
