/* The device library for AMD GPUs: C that clang compiles to LLVM IR when Dragoman is built, and that the compiler links into kernels
 * which call it (amd_call_library). Freestanding: no libc. Functions that kernels call are named device_…; their first argument is the launch. */
#ifndef DRAGOMAN_DEVLIB_AMD_H
#define DRAGOMAN_DEVLIB_AMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/amd/abi.h"

#define CONSTANT __attribute__((address_space(4)))
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
#define INLINE static inline __attribute__((always_inline))
#define ENTRY __attribute__((visibility("hidden")))
#define CONVERGENT __attribute__((convergent)) /* called by all lanes that are there, together */
#define INLINED __attribute__((always_inline)) /* others are called: LLVM takes what is freestanding for something of another kind */

typedef const CONSTANT struct amd_launch *launch_ptr;

/* LLVM's names for what clang has no builtin for without naming a machine. */
uint64_t llvm_ballot(bool) __asm("llvm.amdgcn.ballot.i64");

INLINE GLOBAL struct amd_service *service_of(launch_ptr launch)
{
	return (GLOBAL struct amd_service *)launch->service;
}

INLINE uint32_t lane_number(void)
{
	return __builtin_amdgcn_mbcnt_lo(~0u, 0);
}

INLINE uint32_t lanes_here(void)
{
	return (uint32_t)llvm_ballot(true);
}

/* Is this the lowest lane of those that are here? */
INLINE bool leads(void)
{
	return lane_number() == (uint32_t)__builtin_ctz(lanes_here());
}

INLINE uint32_t from_leader(uint32_t value)
{
	return __builtin_amdgcn_readfirstlane(value);
}

/* In code for clusters: where the block says what it is. */
INLINE LDS struct amd_cluster_block *cluster_block(void)
{
	return (LDS struct amd_cluster_block *)AMD_CLUSTER_AT;
}

INLINE uint32_t block_number(launch_ptr launch, uint32_t axis)
{
	if (launch->clusters)
		return cluster_block()->index[axis];
	return axis == 0 ? __builtin_amdgcn_workgroup_id_x() : axis == 1 ? __builtin_amdgcn_workgroup_id_y() : __builtin_amdgcn_workgroup_id_z();
}

INLINE bool has_trapped(launch_ptr launch)
{
	return __scoped_atomic_load_n((GLOBAL uint32_t *)launch->stopped, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/* Ends the wave where some thread has trapped: nobody must wait for it. */
INLINE void leave_if_trapped(launch_ptr launch)
{
	if (from_leader(has_trapped(launch)))
		__builtin_amdgcn_endpgm();
}

#endif
