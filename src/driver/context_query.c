/* What a context tells of itself and lets be set: device, flags, limits, preferences, peers. CUDA Driver API 6.8 "Context
 * Management", 6.19 "Peer Context Memory Access"; limits as recorded on cards. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include "api/cuda_impl.h"

/* ---- questions ---------------------------------------------------------------------------------------------- */

CUresult impl_cuCtxGetDevice(CUdevice *dev)
{
	struct context *context;
	CUresult status = context_current_quiet(&context);

	if (status)
		return status;
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	*dev = context->device->ordinal;
	return CUDA_SUCCESS;
}

/* The context of a handle, the current one where that is NULL. */
static CUresult context_of(CUcontext handle, struct context **context)
{
	if (!handle)
		return context_current_quiet(context);
	REQUIRE_READY();
	*context = context_check(handle);
	return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult impl_cuCtxGetDevice_v2(CUdevice *dev, CUcontext handle)
{
	struct context *context;
	CUresult status = context_of(handle, &context);

	if (status)
		return status;
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	*dev = context->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetFlags(unsigned int *flags)
{
	REQUIRE_CONTEXT(context);
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = context->flags | CU_CTX_MAP_HOST;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetFlags(unsigned int flags)
{
	REQUIRE_CONTEXT(context);
	if (!context_flags_are_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	context->flags = flags;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct context *context;
	CUresult status = context_of(handle, &context);

	if (status)
		return status;
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = context->id;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
	struct context *context;
	CUresult status = context_of(handle, &context);

	if (status)
		return status;
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = context->api_version;
	return CUDA_SUCCESS;
}

static CUresult synchronize_checked(struct context *context)
{
	CUresult status = context_error(context);

	if (status)
		return status;
	if (atomic_load(&context->captures))
		return api_error(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a stream of the context is being captured");
	return context_synchronize(context);
}

CUresult impl_cuCtxSynchronize(void)
{
	REQUIRE_CONTEXT(context);
	return synchronize_checked(context);
}

CUresult impl_cuCtxSynchronize_v2(CUcontext handle)
{
	struct context *context;
	CUresult status = context_of(handle, &context);

	return status ? status : synchronize_checked(context);
}

/* What is rounded, raised to a minimum and refused: as cards do it. */
static CUresult limit_set(struct context *context, CUlimit limit, size_t value)
{
	switch ((int)limit) {
	case CU_LIMIT_STACK_SIZE:
		if (value > (512 << 10))
			return CUDA_ERROR_INVALID_VALUE;
		value = align_up(value, 16);
		break;
	case CU_LIMIT_PRINTF_FIFO_SIZE:
		if (atomic_load(&context->used_printf) && value != context->limits[limit])
			return CUDA_ERROR_INVALID_VALUE;
		if (value < 393216)
			value = 393216;
		break;
	case CU_LIMIT_MALLOC_HEAP_SIZE:
		if (atomic_load(&context->used_heap) && value != context->limits[limit])
			return CUDA_ERROR_INVALID_VALUE;
		if (value < 4 << 20)
			value = 4 << 20;
		break;
	case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
		if (value > 24)
			return CUDA_ERROR_INVALID_VALUE;
		break;
	case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
		if (value < 32)
			value = 32;
		break;
	case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
		if (value > 128)
			return CUDA_ERROR_INVALID_VALUE;
		break;
	case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
		if (value > (size_t)context->device->properties.l2_bytes / 4 * 3)
			value = (size_t)context->device->properties.l2_bytes / 4 * 3;
		break;
	case CU_LIMIT_SHMEM_SIZE:
	case CU_LIMIT_CIG_ENABLED:
		return CUDA_ERROR_NOT_PERMITTED;
	case CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED:
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	CUresult status = CUDA_SUCCESS;
	if (context->ops->set_limit && (limit == CU_LIMIT_STACK_SIZE || limit == CU_LIMIT_MALLOC_HEAP_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE))
		status = (CUresult)context->ops->set_limit(context->device->device,
							   limit == CU_LIMIT_STACK_SIZE       ? DEVICE_LIMIT_STACK :
							   limit == CU_LIMIT_MALLOC_HEAP_SIZE ? DEVICE_LIMIT_HEAP :
												DEVICE_LIMIT_PRINTF,
							   value);
	if (!status)
		context->limits[limit] = value;
	return status;
}

CUresult impl_cuCtxSetLimit(CUlimit limit, size_t value)
{
	REQUIRE_CONTEXT(context);
	return limit_set(context, limit, value);
}

CUresult impl_cuCtxGetLimit(size_t *value, CUlimit limit)
{
	REQUIRE_CONTEXT(context);
	if (!value || (int)limit < 0 || (int)limit > CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED)
		return CUDA_ERROR_INVALID_VALUE;
	if ((int)limit >= CONTEXT_LIMITS) {
		if (limit == CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED)
			return CUDA_ERROR_UNSUPPORTED_LIMIT;
		*value = 0;
		return CUDA_SUCCESS;
	}
	*value = context->limits[limit];
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetCacheConfig(CUfunc_cache *config)
{
	REQUIRE_CONTEXT(context);
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = context->cache_config;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetCacheConfig(CUfunc_cache config)
{
	REQUIRE_CONTEXT(context);
	if ((int)config < 0 || config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	context->cache_config = config;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	REQUIRE_CONTEXT(context);
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = context->shared_config;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	REQUIRE_CONTEXT(context);
	(void)context; /* banks are fixed since sm_50: accepted, without effect */
	return (int)config < 0 || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult impl_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	REQUIRE_CONTEXT(context);
	(void)context;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxResetPersistingL2Cache(void)
{
	REQUIRE_CONTEXT(context);
	(void)context; /* nothing persists in a CPU's cache on purpose */
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetExecAffinity(CUexecAffinityParam *affinity, CUexecAffinityType type)
{
	REQUIRE_CONTEXT(context);
	(void)context;
	if (!affinity || (int)type < 0 || type >= CU_EXEC_AFFINITY_TYPE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

/* ---- peers ------------------------------------------------------------------------------------------------- */

static CUresult peer_of(struct context *context, CUcontext handle, struct context **peer)
{
	*peer = context_check(handle);
	if (!*peer)
		return CUDA_ERROR_INVALID_CONTEXT;
	if ((*peer)->device == context->device)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags)
{
	struct context *peer;
	uint64_t bit;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	status = peer_of(context, handle, &peer);
	if (status)
		return status;
	bit = (uint64_t)1 << (peer->device->ordinal & 63);
	return atomic_fetch_or(&context->peers, bit) & bit ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
}

CUresult impl_cuCtxDisablePeerAccess(CUcontext handle)
{
	struct context *peer;
	uint64_t bit;
	CUresult status;

	REQUIRE_CONTEXT(context);
	status = peer_of(context, handle, &peer);
	if (status)
		return status == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : status;
	bit = (uint64_t)1 << (peer->device->ordinal & 63);
	return atomic_fetch_and(&context->peers, ~bit) & bit ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
