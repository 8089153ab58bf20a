/* Barriers other than number 0 of all threads: PTX ISA 9.7.13.1, with ids, counts, arrivals and reductions; and who goes on among threads that
 * are resumed where they wait (ir/resume.c).
 *
 * The state lies in LDS behind the kernel's static shared memory. A barrier's word is its generation (high half) and the threads that have
 * arrived (low half). Whoever sees that enough have swaps in the next generation: also who waits, since threads that leave
 * the kernel make fewer enough. A reduction's word, one for each of four generations, counts true predicates (low half) and false ones: one is
 * read, the next one added to; the one after that is cleared as a generation ends, by whoever ends it.
 *
 * Threads are counted in whole warps, as the manual has it: a warp that comes together is 32, of threads that come by themselves the
 * block's last one stands for those that its warp has not. */
#include "devlib/amd/library.h"
#include "ir/resume.h"

enum { BARRIERS = 16, WARP = 32, GENERATIONS = 4 };
enum { OP_NONE, OP_POPC, OP_AND, OP_OR }; /* as struct cpu_services' */

struct barriers {
	uint32_t left; /* threads that have left the kernel */
	uint32_t words[BARRIERS + 1], reduced[BARRIERS + 1][GENERATIONS];
};
_Static_assert(sizeof(struct barriers) <= AMD_BARRIER_BYTES, "the kernel has room for them");
_Static_assert(RESUME_CLUSTER_BARRIER == BARRIERS, "which is the last one");

INLINE uint32_t load(LDS uint32_t *word)
{
	return __scoped_atomic_load_n(word, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

INLINE uint32_t threads_of(launch_ptr launch)
{
	return launch->block[0] * launch->block[1] * launch->block[2];
}

INLINE uint32_t in_warps(uint32_t threads)
{
	return (threads + WARP - 1) / WARP * WARP;
}

INLINE uint32_t needed(LDS struct barriers *b, launch_ptr launch, uint32_t count)
{
	return count ? in_warps(count) : in_warps(threads_of(launch)) - load(&b->left);
}

/* Before anything else in the kernel, by all threads; then they meet. */
ENTRY void device_barriers_start(launch_ptr launch, uint32_t base, uint32_t thread)
{
	LDS uint32_t *words = (LDS uint32_t *)base;
	uint32_t threads = threads_of(launch), step = threads < WARP ? threads : WARP;
	if (thread < WARP)
		for (uint32_t i = thread; i < sizeof(struct barriers) / 4; i += step)
			words[i] = 0;
}

/* Ends the generation where enough are here. By one thread. */
INLINE void complete(LDS struct barriers *b, launch_ptr launch, uint32_t id, uint32_t count, uint32_t generation)
{
	uint32_t word = load(&b->words[id]), next = (generation + 1) << 16;
	if (word >> 16 == generation && (word & 0xffff) >= needed(b, launch, count) &&
	    __scoped_atomic_compare_exchange_n(&b->words[id], &word, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP))
		__scoped_atomic_store_n(&b->reduced[id][(generation + 2) % GENERATIONS], 0, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

/* Returns the barrier's generation at arrival. By one thread, which stands for some. */
INLINE uint32_t arrive(LDS struct barriers *b, uint32_t id, uint32_t threads, uint32_t votes)
{
	/* The generation cannot change before this one has arrived, but where counts say so: then anything goes. */
	if (votes)
		__scoped_atomic_fetch_add(&b->reduced[id][(load(&b->words[id]) >> 16) % GENERATIONS], votes, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
	return __scoped_atomic_fetch_add(&b->words[id], threads, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP) >> 16;
}

INLINE uint32_t reduced(LDS struct barriers *b, uint32_t id, uint32_t generation, uint32_t op)
{
	uint32_t all = op == OP_NONE ? 0 : load(&b->reduced[id][generation % GENERATIONS]);
	return op == OP_POPC ? all & 0xffff : op == OP_AND ? !(all >> 16) : op == OP_OR ? (all & 0xffff) != 0 : 0;
}

/* ---- warps ---------------------------------------------------------------------------------------------------------------- */

ENTRY void device_barriers_leave(uint32_t base)
{
	if (leads())
		__scoped_atomic_fetch_add(&((LDS struct barriers *)base)->left, WARP, __ATOMIC_RELEASE, __MEMORY_SCOPE_WRKGRP);
}

INLINE uint32_t arrive_as_warp(LDS struct barriers *b, launch_ptr launch, uint32_t id, uint32_t count, uint32_t votes)
{
	uint32_t generation = 0;
	if (leads()) {
		generation = arrive(b, id, WARP, votes);
		complete(b, launch, id, count, generation);
	}
	return from_leader(generation);
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
	uint32_t generation = arrive_as_warp(b, launch, id, count, votes);
	while (from_leader(load(&b->words[id])) >> 16 == generation) {
		__builtin_amdgcn_s_sleep(1);
		leave_if_trapped(launch);
		if (leads())
			complete(b, launch, id, count, generation);
	}
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	return reduced(b, id, generation, op);
}

ENTRY void device_barrier_arrive(launch_ptr launch, uint32_t base, uint32_t id, uint32_t count)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	arrive_as_warp((LDS struct barriers *)base, launch, from_leader(id) & (BARRIERS - 1), from_leader(count), 0);
}

/* ---- threads that are resumed ------------------------------------------------------------------------------------------------ */

/* As how many the thread counts. */
INLINE uint32_t weight(launch_ptr launch, uint32_t thread)
{
	return thread + 1 == threads_of(launch) ? WARP - thread % WARP : 1;
}

ENTRY INLINED void device_thread_left(launch_ptr launch, uint32_t base, uint32_t thread)
{
	__scoped_atomic_fetch_add(&((LDS struct barriers *)base)->left, weight(launch, thread), __ATOMIC_RELEASE, __MEMORY_SCOPE_WRKGRP);
}

/* A ticket: the barrier's number, whether it has a count (then it does not end because threads leave), and the generation. */
enum { TICKET_COUNTED = 1 << 8 };

ENTRY INLINED uint32_t device_thread_arrives(launch_ptr launch, uint32_t base, uint32_t thread, uint32_t id, uint32_t count, uint32_t op,
					     uint32_t predicate)
{
	LDS struct barriers *b = (LDS struct barriers *)base;
	id = id == RESUME_CLUSTER_BARRIER ? id : id & (BARRIERS - 1);
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	uint32_t generation = arrive(b, id, weight(launch, thread), op == OP_NONE ? 0 : predicate ? 1 : 1 << 16);
	complete(b, launch, id, count, generation);
	return generation << 16 | (count ? TICKET_COUNTED : 0) | id;
}

ENTRY INLINED uint32_t device_thread_arrived(uint32_t base, uint32_t ticket, uint32_t op)
{
	return reduced((LDS struct barriers *)base, ticket & 0xff, ticket >> 16, op);
}

INLINE bool barrier_is_over(launch_ptr launch, uint32_t base, uint32_t ticket)
{
	LDS struct barriers *b = (LDS struct barriers *)base;
	uint32_t id = ticket & 0xff, generation = ticket >> 16;
	if (!(ticket & TICKET_COUNTED))
		complete(b, launch, id, 0, generation);
	return load(&b->words[id]) >> 16 != generation;
}

/* The lanes of the wave that wait in state `state`, of those in `waiting`. */
INLINE uint64_t lanes_with(uint32_t state, uint64_t waiting)
{
	uint64_t same = 0;
	while (waiting) { /* the same for all lanes */
		uint32_t one = __builtin_amdgcn_readlane(state, (uint32_t)__builtin_ctzll(waiting));
		uint64_t those = llvm_ballot(state == one);
		if (state == one)
			same = those;
		waiting &= ~those;
	}
	return same;
}

/* By all lanes of the wave together, those whose threads have ended too: does this one go on now? */
INLINE bool may_go(launch_ptr launch, uint32_t base, uint32_t state, uint32_t ticket)
{
	uint32_t kind = state >> RESUME_KIND_SHIFT, half = __builtin_amdgcn_mbcnt_hi(~0u, lane_number()) & WARP;
	bool go = kind == RESUME_RUN || kind == RESUME_YIELD, meets = kind == RESUME_WARP || kind == RESUME_JOIN;
	if (base != AMD_NO_BARRIERS && kind == RESUME_BARRIER) {
		go = barrier_is_over(launch, base, ticket);
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	}
	uint64_t meeting = llvm_ballot(meets);
	if (meeting) {
		uint64_t alive = llvm_ballot(kind != RESUME_DONE), joining = llvm_ballot(kind == RESUME_JOIN);
		uint64_t there = lanes_with(state, llvm_ballot(kind == RESUME_WARP));
		if (kind == RESUME_JOIN)
			there = joining;
		if (meets)
			go = !(ticket & (uint32_t)((alive & ~there) >> half));
		/* Nobody can come any more: the program is wrong, but does not hang. */
		if (!llvm_ballot(go || kind == RESUME_BARRIER))
			go = meets && state == (uint32_t)__builtin_amdgcn_readlane(state, (uint32_t)__builtin_ctzll(meeting));
	}
	if (!llvm_ballot(go && kind != RESUME_YIELD)) {
		__builtin_amdgcn_s_sleep(1);
		leave_if_trapped(launch);
	}
	return go;
}

/* The number of the way on, or `stay`. */
ENTRY INLINED CONVERGENT uint32_t device_threads_turn(launch_ptr launch, uint32_t base, uint32_t state, uint32_t ticket, uint32_t stay)
{
	__asm__ volatile("" : "+v"(state)); /* ways that are known must not be taken past the lanes' meeting here */
	return may_go(launch, base, state, ticket) ? state & ((1u << RESUME_KIND_SHIFT) - 1) : stay;
}

ENTRY INLINED CONVERGENT uint32_t device_threads_more(uint32_t state)
{
	return llvm_ballot(state >> RESUME_KIND_SHIFT != RESUME_DONE) != 0;
}
