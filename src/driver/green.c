/* Green contexts: a share of a device's multiprocessors. CUDA Driver API 6.37.
 * Accepted rather than enforced: the workers of the CPU back end are shared by all streams. A green context stands for
 * the device's primary context; its streams are streams of that. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

#include "api/cuda_impl.h"

struct green {
	struct handle handle;
	uint64_t id;
	struct context *context;
	CUdevResource resource;
};

struct description { /* behind CUdevResourceDesc */
	struct handle handle;
	CUdevResource resource;
};

enum { PARTITION = 2 }; /* multiprocessors come in pairs, as on sm_80 */

static unsigned partition_of(unsigned all)
{
	return all < PARTITION ? 1 : PARTITION;
}

static CUresult resource_of(const struct driver_device *device, CUdevResource *resource, CUdevResourceType type)
{
	unsigned all = (unsigned)device->properties.multiprocessors;

	if (!resource)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	memset(resource, 0, sizeof *resource);
	resource->type = type;
	resource->sm.smCount = all;
	resource->sm.minSmPartitionSize = resource->sm.smCoscheduledAlignment = partition_of(all);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetDevResource(CUdevice dev, CUdevResource *resource, CUdevResourceType type)
{
	struct driver_device *device = driver_device(dev);

	REQUIRE_READY();
	return device ? resource_of(device, resource, type) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult impl_cuCtxGetDevResource(CUcontext handle, CUdevResource *resource, CUdevResourceType type)
{
	struct context *context = context_check(handle);

	REQUIRE_READY();
	return context ? resource_of(context->device, resource, type) : CUDA_ERROR_INVALID_CONTEXT;
}

/* As many groups of `least` (rounded up to whole partitions) as fit; what is left over goes to `remaining`. */
CUresult impl_cuDevSmResourceSplitByCount(CUdevResource *groups, unsigned int *count, const CUdevResource *input,
					  CUdevResource *remaining, unsigned int flags, unsigned int least)
{
	const unsigned known = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
	unsigned each, possible, wanted;

	REQUIRE_READY();
	if (!count || !input || flags & ~known)
		return CUDA_ERROR_INVALID_VALUE;
	if (input->type != CU_DEV_RESOURCE_TYPE_SM || !input->sm.smCount)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	each = (unsigned)align_up(least ? least : 1, partition_of(input->sm.smCount));
	possible = input->sm.smCount / each;
	if (!possible)
		return api_error(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "%u multiprocessors of %u", least, input->sm.smCount);
	wanted = groups ? *count : possible;
	if (wanted > possible)
		wanted = possible;
	for (unsigned i = 0; groups && i < wanted; i++) {
		groups[i] = *input;
		groups[i].sm.smCount = each;
	}
	if (groups && remaining) {
		*remaining = *input;
		remaining->sm.smCount = input->sm.smCount - wanted * each;
		if (!remaining->sm.smCount)
			remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
	}
	*count = wanted;
	return CUDA_SUCCESS;
}

CUresult impl_cuDevResourceGenerateDesc(CUdevResourceDesc *handle, CUdevResource *resources, unsigned int count)
{
	struct description *description;

	REQUIRE_READY();
	if (!handle || !resources || count != 1)
		return CUDA_ERROR_INVALID_VALUE;
	if (resources->type != CU_DEV_RESOURCE_TYPE_SM || !resources->sm.smCount)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	description = handle_create(HANDLE_RESOURCE); /* the API has no call to give it back */
	if (!description)
		return CUDA_ERROR_OUT_OF_MEMORY;
	description->resource = *resources;
	*handle = (CUdevResourceDesc)description;
	return CUDA_SUCCESS;
}

static struct green *green_check(CUgreenCtx handle)
{
	return handle_check(handle, HANDLE_GREEN_CONTEXT);
}

CUresult impl_cuGreenCtxCreate(CUgreenCtx *handle, CUdevResourceDesc description_handle, CUdevice dev, unsigned int flags)
{
	struct description *description = handle_check(description_handle, HANDLE_RESOURCE);
	struct driver_device *device = driver_device(dev);
	struct green *green;
	CUresult status;

	REQUIRE_READY();
	if (!handle || !description || flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	green = handle_create(HANDLE_GREEN_CONTEXT);
	if (!green)
		return CUDA_ERROR_OUT_OF_MEMORY;
	status = context_primary_retain(device, &green->context);
	if (status) {
		handle_destroy(green);
		return status;
	}
	green->id = driver_next_id();
	green->resource = description->resource;
	*handle = (CUgreenCtx)green;
	return CUDA_SUCCESS;
}

CUresult impl_cuGreenCtxDestroy(CUgreenCtx handle)
{
	struct green *green = green_check(handle);
	CUdevice dev;

	REQUIRE_READY();
	if (!green)
		return CUDA_ERROR_INVALID_CONTEXT;
	dev = green->context->device->ordinal;
	handle_destroy(green);
	return impl_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult impl_cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx handle)
{
	struct green *green = green_check(handle);

	REQUIRE_READY();
	if (!context || !green)
		return CUDA_ERROR_INVALID_VALUE;
	*context = (CUcontext)green->context;
	return CUDA_SUCCESS;
}

CUresult impl_cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource *resource, CUdevResourceType type)
{
	struct green *green = green_check(handle);

	REQUIRE_READY();
	if (!resource || !green)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	*resource = green->resource;
	return CUDA_SUCCESS;
}

CUresult impl_cuGreenCtxGetId(CUgreenCtx handle, unsigned long long *id)
{
	struct green *green = green_check(handle);

	REQUIRE_READY();
	if (!id || !green)
		return CUDA_ERROR_INVALID_VALUE;
	*id = green->id;
	return CUDA_SUCCESS;
}

CUresult impl_cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event)
{
	struct green *green = green_check(handle);

	REQUIRE_READY();
	return green ? impl_cuCtxRecordEvent((CUcontext)green->context, event) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult impl_cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event)
{
	struct green *green = green_check(handle);

	REQUIRE_READY();
	return green ? impl_cuCtxWaitEvent((CUcontext)green->context, event) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult impl_cuGreenCtxStreamCreate(CUstream *handle, CUgreenCtx green_handle, unsigned int flags, int priority)
{
	struct green *green = green_check(green_handle);
	struct context *popped;
	struct stream *stream;
	CUresult status;

	REQUIRE_READY();
	if (!green)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle || flags != CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	status = context_push(green->context);
	if (status)
		return status;
	status = impl_cuStreamCreateWithPriority(handle, flags, priority);
	context_pop(&popped);
	stream = status ? NULL : handle_check(*handle, HANDLE_STREAM);
	if (stream)
		stream->green = green;
	return status;
}

CUresult impl_cuStreamGetGreenCtx(CUstream handle, CUgreenCtx *green)
{
	struct stream *stream;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!green)
		return CUDA_ERROR_INVALID_VALUE;
	*green = (CUgreenCtx)handle_check(stream->green, HANDLE_GREEN_CONTEXT);
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetCtx_v2(CUstream handle, CUcontext *context, CUgreenCtx *green_out)
{
	struct stream *stream;
	struct green *green;
	CUresult status = stream_require(handle, &stream);

	if (status)
		return status;
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	green = handle_check(stream->green, HANDLE_GREEN_CONTEXT);
	*context = green ? NULL : (CUcontext)stream->context; /* one or the other */
	if (green_out)
		*green_out = (CUgreenCtx)green;
	return CUDA_SUCCESS;
}
