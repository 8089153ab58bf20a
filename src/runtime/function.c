/* What a program can ask about a kernel and set on it, and occupancy. CUDA Runtime API, "Execution Control" and
 * "Occupancy". */
#include "runtime.h"

static const struct {
	size_t offset;
	bool wide; /* a size_t */
	CUfunction_attribute attribute;
} function_fields[] = {
	{ offsetof(struct cudaFuncAttributes, sharedSizeBytes), true, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES },
	{ offsetof(struct cudaFuncAttributes, constSizeBytes), true, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES },
	{ offsetof(struct cudaFuncAttributes, localSizeBytes), true, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES },
	{ offsetof(struct cudaFuncAttributes, maxThreadsPerBlock), false, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK },
	{ offsetof(struct cudaFuncAttributes, numRegs), false, CU_FUNC_ATTRIBUTE_NUM_REGS },
	{ offsetof(struct cudaFuncAttributes, ptxVersion), false, CU_FUNC_ATTRIBUTE_PTX_VERSION },
	{ offsetof(struct cudaFuncAttributes, binaryVersion), false, CU_FUNC_ATTRIBUTE_BINARY_VERSION },
	{ offsetof(struct cudaFuncAttributes, cacheModeCA), false, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA },
	{ offsetof(struct cudaFuncAttributes, maxDynamicSharedSizeBytes), false,
	  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES },
	{ offsetof(struct cudaFuncAttributes, preferredShmemCarveout), false,
	  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT },
	{ offsetof(struct cudaFuncAttributes, clusterDimMustBeSet), false, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET },
	{ offsetof(struct cudaFuncAttributes, requiredClusterWidth), false, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH },
	{ offsetof(struct cudaFuncAttributes, requiredClusterHeight), false, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT },
	{ offsetof(struct cudaFuncAttributes, requiredClusterDepth), false, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH },
	{ offsetof(struct cudaFuncAttributes, clusterSchedulingPolicyPreference), false,
	  CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE },
	{ offsetof(struct cudaFuncAttributes, nonPortableClusterSizeAllowed), false,
	  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED },
};

cudaError_t impl_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *symbol)
{
	CUfunction function;
	RUNTIME_REQUIRE();
	if (!attributes)
		return runtime_result(cudaErrorInvalidValue);
	cudaError_t error = register_find_function(symbol, &function);
	if (error)
		return runtime_result(error);
	struct cudaFuncAttributes result = { 0 };
	for (size_t i = 0; i < ARRAY_LENGTH(function_fields); i++) {
		int value;
		char *field = (char *)&result + function_fields[i].offset;
		error = (cudaError_t)cuFuncGetAttribute(&value, function_fields[i].attribute, function);
		if (error)
			return runtime_result(error);
		if (function_fields[i].wide)
			*(size_t *)(void *)field = (size_t)value;
		else
			*(int *)(void *)field = value;
	}
	*attributes = result;
	return cudaSuccess;
}

/* With the function behind the program's `func`, the driver's call; one line for each of the simple cases. */
#define WITH_FUNCTION(symbol, call)                                                                                    \
	do {                                                                                                           \
		CUfunction function;                                                                                   \
		RUNTIME_REQUIRE();                                                                                     \
		cudaError_t error_ = register_find_function(symbol, &function);                                        \
		return runtime_result(error_ ? (int)error_ : (int)(call));                                             \
	} while (0)

cudaError_t impl_cudaFuncSetAttribute(const void *symbol, enum cudaFuncAttribute attribute, int value)
{
	WITH_FUNCTION(symbol, cuFuncSetAttribute(function, (CUfunction_attribute)attribute, value));
}

cudaError_t impl_cudaFuncSetCacheConfig(const void *symbol, enum cudaFuncCache config)
{
	WITH_FUNCTION(symbol, cuFuncSetCacheConfig(function, (CUfunc_cache)config));
}

cudaError_t impl_cudaFuncSetSharedMemConfig(const void *symbol, enum cudaSharedMemConfig config)
{
	WITH_FUNCTION(symbol, cuFuncSetSharedMemConfig(function, (CUsharedconfig)config));
}

cudaError_t impl_cudaFuncGetName(const char **name, const void *symbol)
{
	WITH_FUNCTION(symbol, cuFuncGetName(name, function));
}

cudaError_t impl_cudaFuncGetParamInfo(const void *symbol, size_t index, size_t *offset, size_t *size)
{
	WITH_FUNCTION(symbol, cuFuncGetParamInfo(function, index, offset, size));
}

/* ---- occupancy ------------------------------------------------------------------------------------------------------------ */

cudaError_t impl_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *symbol, int block_size, size_t shared)
{
	WITH_FUNCTION(symbol, cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared));
}

cudaError_t impl_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *symbol, int block_size,
									size_t shared, unsigned int flags)
{
	WITH_FUNCTION(symbol,
		      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared, flags));
}

cudaError_t impl_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *symbol, int blocks, int block_size)
{
	WITH_FUNCTION(symbol, cuOccupancyAvailableDynamicSMemPerBlock(shared, function, blocks, block_size));
}

cudaError_t impl_cudaOccupancyMaxPotentialClusterSize(int *size, const void *symbol, const cudaLaunchConfig_t *config)
{
	if (!config)
		return runtime_result(cudaErrorInvalidValue);
	CUlaunchConfig converted = launch_config_to_driver(config);
	WITH_FUNCTION(symbol, cuOccupancyMaxPotentialClusterSize(size, function, &converted));
}

cudaError_t impl_cudaOccupancyMaxActiveClusters(int *clusters, const void *symbol, const cudaLaunchConfig_t *config)
{
	if (!config)
		return runtime_result(cudaErrorInvalidValue);
	CUlaunchConfig converted = launch_config_to_driver(config);
	WITH_FUNCTION(symbol, cuOccupancyMaxActiveClusters(clusters, function, &converted));
}
