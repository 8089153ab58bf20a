/* Occupancy: how many blocks a multiprocessor would hold. CUDA Driver API 6.26 "Occupancy", with the rules of sm_80
 * (CUDA C++ Programming Guide, "Occupancy"; checked against a card's answers: registers a warp come in units of 256
 * from one of four register files, shared memory in units of 128 bytes with 1024 more a block). */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"

enum { REGISTER_UNIT = 256, SUB_PARTITIONS = 4, SHARED_UNIT = 128, SHARED_RESERVED = 1024 };

static int least(int a, int b)
{
	return a < b ? a : b;
}

CUresult occupancy_blocks(const struct function *function, int block_size, size_t dynamic_shared, int *blocks)
{
	const struct device_properties *p = &function->module->context->device->properties;
	size_t shared = align_up(function->static_shared + dynamic_shared, SHARED_UNIT) + SHARED_RESERVED;
	int warps = (block_size + WARP_SIZE - 1) / WARP_SIZE, warp_registers, by_warps, by_registers, by_shared;

	if (block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = 0;
	if ((uint32_t)block_size > function->max_threads ||
	    function->static_shared + dynamic_shared > (size_t)p->shared_per_block_optin)
		return CUDA_SUCCESS;
	warp_registers = (int)align_up(function->registers * WARP_SIZE, REGISTER_UNIT);
	by_warps = p->threads_per_multiprocessor / WARP_SIZE / warps;
	by_registers = p->registers_per_block / SUB_PARTITIONS / warp_registers * SUB_PARTITIONS / warps;
	by_shared = (int)((size_t)p->shared_per_multiprocessor / shared);
	*blocks = least(least(by_warps, by_registers), least(by_shared, p->blocks_per_multiprocessor));
	return CUDA_SUCCESS;
}

static CUresult find_here(CUfunction handle, struct function **function)
{
	struct context *context;
	CUresult status = context_current(&context);

	return status ? status : function_find(handle, context, function);
}

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle, int block_size, size_t shared,
								   unsigned int flags)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (!blocks || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	return occupancy_blocks(function, block_size, shared, blocks);
}

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block_size, size_t shared)
{
	return impl_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared, 0);
}

/* A warp less at a time; a strictly better total is kept, a full multiprocessor ends the search. */
static CUresult best_block(const struct function *function, CUoccupancyB2DSize shared_of, size_t shared, int limit, int *grid,
			   int *block)
{
	const struct device_properties *p = &function->module->context->device->properties;
	int best = 0, best_block = 0, best_blocks = 0;

	if (limit <= 0 || limit > (int)function->max_threads)
		limit = (int)function->max_threads;
	for (int size = (int)align_up((size_t)limit, WARP_SIZE); size > 0; size -= WARP_SIZE) {
		int tried = least(size, limit), blocks;
		CUresult status = occupancy_blocks(function, tried, shared_of ? shared_of(tried) : shared, &blocks);

		if (status)
			return status;
		if (tried * blocks > best) {
			best = tried * blocks;
			best_block = tried;
			best_blocks = blocks;
		}
		if (best == p->threads_per_multiprocessor)
			break;
	}
	*grid = best_blocks * p->multiprocessors;
	*block = best_block;
	return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle, CUoccupancyB2DSize shared_of,
							size_t shared, int limit, unsigned int flags)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (!grid || !block || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	return best_block(function, shared_of, shared, limit, grid, block);
}

CUresult impl_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared_of,
					       size_t shared, int limit)
{
	return impl_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, limit, 0);
}

CUresult impl_cuOccupancyAvailableDynamicSMemPerBlock(size_t *size, CUfunction handle, int blocks, int block_size)
{
	const struct device_properties *p;
	struct function *function;
	long each, room;
	int possible;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (!size || blocks <= 0 || block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	p = &function->module->context->device->properties;
	status = occupancy_blocks(function, block_size, 0, &possible);
	if (status)
		return status;
	if (blocks > possible)
		return CUDA_ERROR_INVALID_VALUE;
	room = p->shared_per_block - (long)function->static_shared;
	each = p->shared_per_multiprocessor / blocks / SHARED_UNIT * SHARED_UNIT - SHARED_RESERVED - (long)function->static_shared;
	if (each > room)
		each = room;
	*size = each > 0 ? (size_t)each : 0;
	return CUDA_SUCCESS;
}
