/* Atomic accesses of 128 bits, for which the machine has no instruction: each is done under one of the device's locks, which the address
 * chooses. So they are atomic among each other, by whatever block, and not for the host or for another device. */
#include "devlib/amd/library.h"

__extension__ typedef unsigned __int128 wide;

INLINE wide under_lock(GLOBAL uint32_t *lock, volatile uint64_t *place, uint32_t operation, wide expected, wide desired)
{
	(void)*place; /* an address that faults does so while no lock is held */
	while (__scoped_atomic_exchange_n(lock, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE))
		__builtin_amdgcn_s_sleep(1);
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"); /* of all memory: the place may be in LDS */
	wide old = place[0] | (wide)place[1] << 64;
	if (operation == AMD_WIDE_EXCHANGE || (operation == AMD_WIDE_COMPARE && old == expected)) {
		place[0] = (uint64_t)desired;
		place[1] = (uint64_t)(desired >> 64);
	}
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
	__scoped_atomic_store_n(lock, 0, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
	return old;
}

/* The lanes one after the other: none waits for a lock that another of its wave has. */
ENTRY wide device_wide(launch_ptr launch, uint64_t address, uint32_t operation, wide expected, wide desired)
{
	uint32_t hash = (uint32_t)(address >> 4) ^ (uint32_t)(address >> 12), lane = __builtin_amdgcn_mbcnt_hi(~0u, lane_number());
	GLOBAL uint32_t *lock = (GLOBAL uint32_t *)service_of(launch)->locks + hash % AMD_LOCKS * AMD_LOCK_WORDS;
	wide old = 0;
	for (uint64_t here = llvm_ballot(true); here; here &= here - 1)
		if (lane == (uint32_t)__builtin_ctzll(here))
			old = under_lock(lock, (volatile uint64_t *)address, operation, expected, desired);
	return old;
}
