/* Barriers other than number 0 of all threads: PTX ISA 9.7.13.1, with ids, counts, arrivals and reductions.
 *
 * The state lies in LDS behind the kernel's static shared memory. A barrier's word is its generation (high half) and the warps that have
 * arrived (low half). Whoever sees that enough have swaps in the next generation: also a warp that waits, since warps that leave
 * the kernel make fewer enough. A reduction's word, one for every other generation, counts true predicates (low half) and false ones. */
#include "devlib/amd/library.h"

enum { BARRIERS = 16 };
enum { OP_NONE, OP_POPC, OP_AND, OP_OR }; /* as struct cpu_services' */

struct barriers {
	uint32_t left; /* warps that have left the kernel */
	uint32_t words[BARRIERS], reduced[BARRIERS][2];
};
_Static_assert(sizeof(struct barriers) <= AMD_BARRIER_BYTES, "the kernel has room for them");

INLINE uint32_t load(LDS uint32_t *word)
{
	return __scoped_atomic_load_n(word, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

INLINE uint32_t needed(LDS struct barriers *b, launch_ptr launch, uint32_t count)
{
	uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
	return count ? (count + 31) / 32 : (threads + 31) / 32 - load(&b->left);
}

/* Before anything else in the kernel, by all threads; then they meet. */
ENTRY void device_barriers_start(uint32_t base, uint32_t thread)
{
	LDS uint32_t *words = (LDS uint32_t *)base;
	if (thread < 32)
		for (uint32_t i = thread; i < sizeof(struct barriers) / 4; i += 32)
			words[i] = 0;
}

ENTRY void device_barriers_leave(uint32_t base)
{
	if (leads())
		__scoped_atomic_fetch_add(&((LDS struct barriers *)base)->left, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_WRKGRP);
}

/* Returns the barrier's generation at arrival. */
INLINE uint32_t arrive(LDS struct barriers *b, uint32_t id, uint32_t votes)
{
	uint32_t generation = 0;
	if (leads()) {
		/* The generation cannot change before this warp has arrived, but where counts say so: then anything goes. */
		if (votes)
			__scoped_atomic_fetch_add(&b->reduced[id][load(&b->words[id]) >> 16 & 1], votes, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
		generation = __scoped_atomic_fetch_add(&b->words[id], 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP) >> 16;
	}
	return from_leader(generation);
}

/* Ends the generation where enough are here. */
INLINE void complete(LDS struct barriers *b, launch_ptr launch, uint32_t id, uint32_t count, uint32_t generation)
{
	uint32_t word = load(&b->words[id]);
	if (word >> 16 != generation || (word & 0xffff) < needed(b, launch, count))
		return;
	if (leads()) {
		uint32_t next = (generation + 1) << 16;
		b->reduced[id][(generation + 1) & 1] = 0;
		__scoped_atomic_compare_exchange_n(&b->words[id], &word, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
	}
}

ENTRY uint32_t device_barrier(launch_ptr launch, uint32_t base, uint32_t id, uint32_t count, uint32_t op, uint32_t predicate)
{
	LDS struct barriers *b = (LDS struct barriers *)base;
	uint32_t here = lanes_here(), yes = (uint32_t)llvm_ballot(predicate), votes = 0;
	id = from_leader(id) & (BARRIERS - 1);
	count = from_leader(count);
	if (op != OP_NONE)
		votes = (uint32_t)__builtin_popcount(yes) | (uint32_t)__builtin_popcount(here & ~yes) << 16;
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	uint32_t generation = arrive(b, id, votes);
	for (;;) {
		complete(b, launch, id, count, generation);
		if (from_leader(load(&b->words[id])) >> 16 != generation)
			break;
		__builtin_amdgcn_s_sleep(1);
		leave_if_trapped(launch);
	}
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	uint32_t all = op == OP_NONE ? 0 : load(&b->reduced[id][generation & 1]);
	return op == OP_POPC ? all & 0xffff : op == OP_AND ? !(all >> 16) : op == OP_OR ? (all & 0xffff) != 0 : 0;
}

ENTRY void device_barrier_arrive(launch_ptr launch, uint32_t base, uint32_t id, uint32_t count)
{
	LDS struct barriers *b = (LDS struct barriers *)base;
	id = from_leader(id) & (BARRIERS - 1);
	count = from_leader(count);
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	complete(b, launch, id, count, arrive(b, id, 0));
}
