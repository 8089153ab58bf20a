/* Clusters: blocks that run together and share their shared memory. CUDA C++ Programming Guide, "Thread Block Clusters"; PTX ISA
 * 11.4 (.reqnctapercluster, .explicitcluster, .maxclusterrank, .blocksareclusters). They are of compute capability 9.0; a kernel whose PTX
 * is for such a device may have them here whatever capability is shown, since it could run on no older one. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"
#include "driver/launch.h"

enum { PORTABLE_BLOCKS = 8, MOST_BLOCKS = 16 };

static const char *kernel_name(const struct function *function)
{
	return function->ptx->symbol.name;
}

bool cluster_possible(const struct function *function)
{
	return function->module->context->device->properties.major >= 9 || function->module->code->ptx->sm >= 90;
}

static uint64_t volume(const uint32_t size[3])
{
	return (uint64_t)(size[0] ? size[0] : 1) * (size[1] ? size[1] : 1) * (size[2] ? size[2] : 1);
}

static uint32_t most_blocks(const struct function *function)
{
	uint32_t most = function->non_portable_cluster ? MOST_BLOCKS : PORTABLE_BLOCKS;

	if (!cluster_possible(function))
		return 1;
	return function->ptx->maxclusterrank && function->ptx->maxclusterrank < most ? function->ptx->maxclusterrank : most;
}

/* What the kernel's own directive or attribute says goes where the launch says nothing; both must agree. */
static CUresult take_required(const struct function *function, uint32_t cluster[3])
{
	const uint32_t *required = function->required_cluster;

	if (!required[0]) {
		if (function->ptx->explicitcluster && !cluster[0])
			return api_error(CUDA_ERROR_INVALID_CLUSTER_SIZE, "%s must be launched with a cluster size", kernel_name(function));
		return CUDA_SUCCESS;
	}
	for (int i = 0; i < 3; i++) {
		uint32_t blocks = required[i] ? required[i] : 1;

		if (cluster[0] && (cluster[i] ? cluster[i] : 1) != blocks)
			return api_error(CUDA_ERROR_INVALID_CLUSTER_SIZE, "%s must be launched with clusters of %u×%u×%u blocks",
					 kernel_name(function), required[0], required[1] ? required[1] : 1, required[2] ? required[2] : 1);
	}
	for (int i = 0; i < 3; i++)
		cluster[i] = required[i] ? required[i] : 1;
	return CUDA_SUCCESS;
}

CUresult cluster_check(const struct function *function, struct launch_config *config)
{
	bool grid_of_clusters = function->ptx->blocksareclusters;
	CUresult status = take_required(function, config->cluster);

	if (status)
		return status;
	for (int i = 0; i < 3; i++)
		if (!config->cluster[i])
			config->cluster[i] = 1;
	if (volume(config->cluster) == 1)
		return CUDA_SUCCESS;
	if (volume(config->cluster) > most_blocks(function))
		return api_error(CUDA_ERROR_INVALID_CLUSTER_SIZE, "%s: clusters of %llu blocks, %u are possible", kernel_name(function),
				 (unsigned long long)volume(config->cluster), most_blocks(function));
	for (int i = 0; i < 3; i++)
		if (!grid_of_clusters && config->grid[i] % config->cluster[i])
			return api_error(CUDA_ERROR_INVALID_CLUSTER_SIZE, "%s: a grid of %u×%u×%u blocks in clusters of %u×%u×%u",
					 kernel_name(function), config->grid[0], config->grid[1], config->grid[2], config->cluster[0],
					 config->cluster[1], config->cluster[2]);
	return CUDA_SUCCESS;
}

/* .blocksareclusters: the program counts the grid in clusters. */
bool cluster_scale_grid(const struct function *function, const struct launch_config *config, struct launch_config *scaled)
{
	if (!function->ptx->blocksareclusters)
		return false;
	*scaled = *config;
	for (int i = 0; i < 3; i++)
		scaled->grid[i] *= config->cluster[i] ? config->cluster[i] : 1;
	return true;
}

/* ---- how many -------------------------------------------------------------------------------------------------- */

static CUresult find_for(CUfunction handle, const void *result, const CUlaunchConfig *config, struct function **function)
{
	struct context *context;
	CUresult status = context_current(&context);

	if (!status)
		status = function_find(handle, context, function);
	if (!status && (!result || !config))
		status = CUDA_ERROR_INVALID_VALUE;
	if (!status && !cluster_possible(*function))
		status = api_error(CUDA_ERROR_NOT_SUPPORTED, "clusters need compute capability 9.0, or a kernel made for it");
	return status;
}

static CUresult blocks_at_once(const struct function *function, const CUlaunchConfig *config, int *blocks)
{
	const struct device_properties *p = &function->module->context->device->properties;
	uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
	CUresult status = threads && threads <= MAX_BLOCK_THREADS ? occupancy_blocks(function, (int)threads, config->sharedMemBytes, blocks) :
								    CUDA_ERROR_INVALID_VALUE;

	*blocks *= p->multiprocessors;
	return status;
}

/* The largest cluster that could be launched: what blocks need of a multiprocessor is looked at, since all of a cluster are resident. */
CUresult impl_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *config)
{
	struct function *function;
	int blocks = 0;
	CUresult status = find_for(handle, size, config, &function);

	if (!status)
		status = blocks_at_once(function, config, &blocks);
	if (status)
		return status;
	*size = (int)most_blocks(function);
	if (!blocks)
		*size = 0;
	return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxActiveClusters(int *count, CUfunction handle, const CUlaunchConfig *config)
{
	uint32_t cluster[3] = {0};
	struct function *function;
	int blocks = 0;
	CUresult status = find_for(handle, count, config, &function);

	if (status)
		return status;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttributeValue *value = &config->attrs[i].value;

		if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			continue;
		cluster[0] = value->clusterDim.x;
		cluster[1] = value->clusterDim.y;
		cluster[2] = value->clusterDim.z;
	}
	status = take_required(function, cluster);
	if (!status && volume(cluster) > most_blocks(function))
		status = CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (!status)
		status = blocks_at_once(function, config, &blocks);
	if (!status) /* a worker runs a whole cluster, however large */
		*count = blocks && (uint64_t)blocks < volume(cluster) ? 1 : (int)((uint64_t)blocks / volume(cluster));
	return status;
}
