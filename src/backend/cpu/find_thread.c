/* Which thread was it? Code that runs many threads a call faults as a whole. So, once it has, the block is run again a thread at a
 * time, with the scalar form of the kernel, until a thread faults at the same address: that is the one to name. What the
 * second run writes does no harm, since after the fault nothing can read it but through memory shared with the host.
 * Kernels whose threads wait for memory are left alone: alone, a block might wait for ever. DRAGOMAN_FAULT_THREAD=0 turns it off. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <stdlib.h>

/* Code that does not suspend could run all threads in one call even in its scalar form: here it gets one a call. */
static void run_apart(void *argument)
{
	struct block_run *run = argument;
	struct group *group = run->groups;
	run->current = group;
	for (uint32_t thread = 0; thread < run->block.thread_count; thread++) {
		group->first = thread;
		group->end = thread + 1;
		run->form->entry(&run->block, thread, thread + 1);
	}
}

static void run_groups(void *argument)
{
	struct block_run *run = argument;
	cpu_block_begin(run);
	cpu_block_continue(run, &run->worker->main);
}

static bool run_again(struct worker *worker, struct launch *again, uint64_t number, uint32_t *thread)
{
	const struct fault first = worker->fault;
	struct block_run *run = worker->run;
	bool suspends = again->variant->common.info.flags & KERNEL_SUSPENDS;
	if ((suspends && again->variant->common.info.lanes != 1) || !cpu_run_bind(run, again, &worker->main))
		return false;
	if (suspends && run->direct)
		return false; /* one thread: no question */
	cpu_run_set_block(run, number);
	worker->active = run;
	bool faulted = !cpu_worker_guard(worker, suspends ? run_groups : run_apart, run);
	bool found = faulted && worker->fault.address == first.address && worker->fault.signal == first.signal;
	*thread = run->current->first;
	worker->fault = first;
	return found;
}

bool cpu_find_thread(struct worker *worker, uint32_t *thread)
{
	struct block_run *run = worker->active;
	struct launch *launch = run->launch;
	const struct kernel_variant *scalar;
	const uint32_t *index = run->block.index, *grid = run->block.grid; /* a call may have run several blocks */
	uint64_t number = ((uint64_t)index[2] * grid[1] + index[1]) * grid[0] + index[0];
	if (launch->concurrent || run != worker->run || !env_long("DRAGOMAN_FAULT_THREAD", 1, 0, 1))
		return false;
	struct variant_key key = launch->variant->common.key;
	key.by_thread = true;
	if (cpu_kernel_variant_get(launch->kernel, key, &scalar) || (scalar->common.info.flags & (KERNEL_YIELDS | KERNEL_COOPERATIVE)))
		return false;
	/* A launch of its own, so that nothing of the real one's state is touched. */
	struct launch *again = aligned_alloc(64, align_up(sizeof *again, 64));
	if (!again)
		return false;
	struct text printed = run->printed;
	run->printed = (struct text){ 0 };
	memcpy(again, launch, sizeof *again);
	again->variant = scalar;
	again->abi.static_shared = scalar->common.info.shared_bytes;
	atomic_store(&again->failed, 0);
	bool found = run_again(worker, again, number, thread);
	text_fini(&run->printed);
	run->printed = printed;
	/* The message is about the real one. */
	cpu_run_bind(run, launch, &worker->main);
	cpu_run_set_block(run, number);
	free(again);
	return found;
}
