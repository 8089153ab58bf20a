/* Clusters of several blocks: which block of which cluster this one is, and the cluster's barrier (PTX ISA 9.7.13.4). backend/amd/abi.h has
 * the whole of it.
 *
 * What is counted are waves. Lanes of a wave that come to one arrival apart from each other are counted with the first of them. The word of
 * the barrier is only ever changed by read-modify-write operations, so that whoever sees the next phase has what was released by all. */
#include "devlib/amd/library.h"

_Static_assert(sizeof(struct amd_cluster_block) <= AMD_CLUSTER_BYTES - AMD_CLUSTER_AT, "the kernel has room for it");

INLINE uint32_t load_word(GLOBAL uint32_t *word)
{
	return __scoped_atomic_load_n(word, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

INLINE uint32_t add(GLOBAL uint32_t *word, uint32_t value, int order)
{
	return __scoped_atomic_fetch_add(word, value, order, __MEMORY_SCOPE_DEVICE);
}

INLINE bool replace(GLOBAL uint32_t *word, uint32_t old, uint32_t new)
{
	return __scoped_atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/* Of all 64 lanes that a wave may have. */
INLINE bool leads_wave(void)
{
	return __builtin_amdgcn_mbcnt_hi(~0u, lane_number()) == (uint32_t)__builtin_ctzll(llvm_ballot(true));
}

INLINE GLOBAL struct amd_cluster *own_cluster(void)
{
	return (GLOBAL struct amd_cluster *)cluster_block()->cluster;
}

INLINE uint32_t blocks_of(launch_ptr launch)
{
	return launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
}

INLINE uint32_t waves_of(launch_ptr launch, uint32_t threads_per_wave)
{
	uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
	return (threads + threads_per_wave - 1) / threads_per_wave * blocks_of(launch);
}

/* Clusters are counted with x fastest, and so are the blocks of one. */
static void find_place(launch_ptr launch, uint32_t number, LDS struct amd_cluster_block *own)
{
	uint32_t blocks = blocks_of(launch), rank = number % blocks, which = number / blocks, place = which % launch->cluster_slots;
	uint32_t across = launch->grid[0] / launch->cluster[0], down = launch->grid[1] / launch->cluster[1];
	GLOBAL struct amd_cluster *cluster = &((GLOBAL struct amd_clusters *)launch->clusters)->places[place];
	uint64_t shared = launch->cluster_shared + ((uint64_t)(place * blocks + rank) << launch->cluster_shift);
	own->rank = rank;
	own->index[0] = which % across * launch->cluster[0] + rank % launch->cluster[0];
	own->index[1] = which / across % down * launch->cluster[1] + rank / launch->cluster[0] % launch->cluster[1];
	own->index[2] = which / across / down * launch->cluster[2] + rank / launch->cluster[0] / launch->cluster[1];
	own->cluster = (uint64_t)cluster;
	while (shared && load_word(&cluster->rounds) != which / launch->cluster_slots) {
		__builtin_amdgcn_s_sleep(1);
		shared = has_trapped(launch) ? 0 : shared;
	}
	own->shared = shared;
}

/* Before anything else in the kernel, by all threads; then they meet, and device_cluster_begin() follows. */
ENTRY void device_cluster_start(launch_ptr launch, uint32_t thread)
{
	LDS struct amd_cluster_block *own = cluster_block();
	if (thread < AMD_WAVES_MAX)
		own->waves[thread].phase = 0;
	if (!thread)
		find_place(launch, add(&((GLOBAL struct amd_clusters *)launch->clusters)->started, 1, __ATOMIC_RELAXED), own);
}

ENTRY void device_cluster_begin(void)
{
	if (!cluster_block()->shared)
		__builtin_amdgcn_endpgm();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"); /* what the cluster before has left is no longer looked at */
}

/* Ends the phase where all that still come to barriers have come. */
INLINE void end_phase(GLOBAL struct amd_cluster *cluster, uint32_t waves)
{
	uint32_t word = load_word(&cluster->barrier);
	if (word & 0xffff && (word & 0xffff) + load_word(&cluster->exited) >= waves && leads_wave())
		replace(&cluster->barrier, word, (word & 0xffff0000) + 0x10000);
}

INLINE LDS struct amd_cluster_wave *own_wave(uint32_t thread, uint32_t threads_per_wave)
{
	return &cluster_block()->waves[from_leader(thread / threads_per_wave)];
}

ENTRY void device_cluster_arrive(launch_ptr launch, uint32_t thread, uint32_t threads_per_wave)
{
	GLOBAL struct amd_cluster *cluster = own_cluster();
	LDS struct amd_cluster_wave *wave = own_wave(thread, threads_per_wave);
	/* The phase cannot end before this wave has come to it. */
	uint32_t phase = from_leader((load_word(&cluster->barrier) >> 16) + 1);
	uint64_t here = llvm_ballot(true), others = wave->lanes[0] | (uint64_t)wave->lanes[1] << 32;
	bool comes_later = wave->phase == phase && !(others & here);
	if (leads_wave()) {
		here |= comes_later ? others : 0;
		wave->phase = phase;
		wave->lanes[0] = (uint32_t)here;
		wave->lanes[1] = (uint32_t)(here >> 32);
		if (!comes_later)
			add(&cluster->barrier, 1, __ATOMIC_RELAXED);
	}
	end_phase(cluster, waves_of(launch, threads_per_wave));
}

ENTRY void device_cluster_wait(launch_ptr launch, uint32_t thread, uint32_t threads_per_wave)
{
	GLOBAL struct amd_cluster *cluster = own_cluster();
	uint32_t phase = own_wave(thread, threads_per_wave)->phase;
	while (from_leader((load_word(&cluster->barrier) >> 16) + 1) == phase) {
		end_phase(cluster, waves_of(launch, threads_per_wave));
		__builtin_amdgcn_s_sleep(1);
		leave_if_trapped(launch);
	}
}

/* The last of all: nobody waits for the wave any more, and once all have left another cluster has their memory. */
ENTRY void device_cluster_leave(launch_ptr launch, uint32_t thread, uint32_t threads_per_wave)
{
	GLOBAL struct amd_cluster *cluster = own_cluster();
	uint32_t waves = waves_of(launch, threads_per_wave), phase = own_wave(thread, threads_per_wave)->phase, word;
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
	if (!leads_wave())
		return;
	do /* an arrival that the wave did not wait for is taken back: it is one of those that have gone */
		word = load_word(&cluster->barrier);
	while ((word >> 16) + 1 == phase && !replace(&cluster->barrier, word, word - 1));
	add(&cluster->exited, 1, __ATOMIC_RELAXED);
	end_phase(cluster, waves);
	if (add(&cluster->left, 1, __ATOMIC_ACQ_REL) + 1 < waves)
		return;
	cluster->exited = cluster->left = 0;
	add(&cluster->rounds, 1, __ATOMIC_RELEASE);
}
