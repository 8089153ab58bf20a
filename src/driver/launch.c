/* Launches. CUDA Driver API 6.22 "Execution Control". The whole path takes no lock and no memory: parameters are
 * packed on the stack, the back end copies them. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"
#include "driver/compare.h"
#include "driver/launch.h"

/* ---- checks --------------------------------------------------------------------------------------------------- */

static const char *kernel_name(const struct function *function)
{
	return function->ptx->symbol.name;
}

/* CUDA 13's runtime passes the driver's status on: what it reports as cudaErrorInvalidConfiguration is a code that the driver
 * API does not name, given to the runtime's kernels alone. */
static CUresult bad_shape(const struct function *function)
{
	const int invalid_configuration = 9;
	bool runtime = function->library_kernel && kernel_is_of_runtime(function->library_kernel);

	return runtime ? (CUresult)invalid_configuration : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_shape(const struct function *function, const struct launch_config *config)
{
	static const uint32_t grid_limit[3] = {2147483647, 65535, 65535}, block_limit[3] = {1024, 1024, 64};
	const uint32_t *required = function->ptx->reqntid;
	uint64_t threads = 1;

	for (int i = 0; i < 3; i++) {
		if (!config->grid[i] || config->grid[i] > grid_limit[i] || !config->block[i] || config->block[i] > block_limit[i])
			return api_error(bad_shape(function), "%s: a grid of %u×%u×%u blocks of %u×%u×%u threads", kernel_name(function),
					 config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1],
					 config->block[2]);
		threads *= config->block[i];
	}
	if (threads > MAX_BLOCK_THREADS)
		return api_error(bad_shape(function), "%s: %llu threads a block, the limit is %d", kernel_name(function),
				 (unsigned long long)threads, MAX_BLOCK_THREADS);
	if (threads > function->max_threads)
		return api_error(CUDA_ERROR_INVALID_VALUE, "%s: %llu threads a block, its limit is %u", kernel_name(function),
				 (unsigned long long)threads, function->max_threads);
	if (required[0])
		for (int i = 0; i < 3; i++)
			if (config->block[i] != (required[i] ? required[i] : 1))
				return api_error(CUDA_ERROR_INVALID_VALUE, "%s must be launched with blocks of %u×%u×%u threads",
						 kernel_name(function), required[0], required[1] ? required[1] : 1,
						 required[2] ? required[2] : 1);
	return CUDA_SUCCESS;
}

static CUresult check_cooperative(const struct function *function, const struct launch_config *config)
{
	const struct device_properties *p = &function->module->context->device->properties;
	uint64_t blocks = (uint64_t)config->grid[0] * config->grid[1] * config->grid[2];
	int each = 0;
	CUresult status = occupancy_blocks(function, (int)(config->block[0] * config->block[1] * config->block[2]),
					   config->dynamic_shared, &each);

	if (!status && blocks > (uint64_t)each * (uint64_t)p->multiprocessors)
		return api_error(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "%s: %llu blocks, %d fit on each of %d multiprocessors",
				 kernel_name(function), (unsigned long long)blocks, each, p->multiprocessors);
	return status;
}

CUresult launch_check(struct function *function, struct launch_config *config)
{
	CUresult status = check_shape(function, config);

	if (status)
		return status;
	if (config->dynamic_shared > function_dynamic_limit(function))
		return api_error(CUDA_ERROR_INVALID_VALUE, "%s: %u bytes of dynamic shared memory, its limit is %u", kernel_name(function),
				 config->dynamic_shared, function_dynamic_limit(function));
	status = cluster_check(function, config);
	return !status && config->cooperative ? check_cooperative(function, config) : status;
}

/* ---- parameters ---------------------------------------------------------------------------------------------- */

/* CU_LAUNCH_PARAM_…: pairs of a key and a pointer, to CU_LAUNCH_PARAM_END. */
static CUresult pack_extra(const struct function *function, void **extra, void *buffer)
{
	const void *source = NULL;
	const size_t *size = NULL;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			source = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!function->parameter_bytes)
		return CUDA_SUCCESS;
	if (!source || !size || *size < function->parameter_bytes)
		return api_error(CUDA_ERROR_INVALID_VALUE, "%s takes %u bytes of parameters, %zu were given", kernel_name(function),
				 function->parameter_bytes, size ? *size : 0);
	memcpy(buffer, source, function->parameter_bytes);
	return CUDA_SUCCESS;
}

CUresult launch_pack(struct function *function, void **parameters, void **extra, void *buffer, struct launch_config *config)
{
	if (function->parameter_bytes > MAX_PARAMETER_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	config->parameters = buffer;
	config->parameter_bytes = function->parameter_bytes;
	if (extra) {
		if (parameters)
			return api_error(CUDA_ERROR_INVALID_VALUE, "both kernelParams and extra were given");
		return pack_extra(function, extra, buffer);
	}
	if (function->parameter_count && !parameters)
		return api_error(CUDA_ERROR_INVALID_VALUE, "%s takes %u parameters, none were given", kernel_name(function),
				 function->parameter_count);
	for (uint32_t i = 0; i < function->parameter_count; i++) {
		const struct parameter *p = &function->parameters[i];

		if (!parameters[i])
			return api_error(CUDA_ERROR_INVALID_VALUE, "%s: the pointer to parameter %u is NULL", kernel_name(function), i);
		memcpy((char *)buffer + p->offset, parameters[i], p->size);
	}
	return CUDA_SUCCESS;
}

CUresult launch_put(struct queue *queue, struct function *function, const struct launch_config *config)
{
	struct launch_config scaled;
	CUresult status;

	if (cluster_scale_grid(function, config, &scaled))
		config = &scaled;
	status = driver.compares ? compare_launch(queue, function, config) :
				   (CUresult)queue->context->ops->queue_launch(queue->device_queue, function->kernel, config);
	if (!atomic_load_explicit(&function->loaded, memory_order_relaxed) && !status)
		atomic_store_explicit(&function->loaded, true, memory_order_relaxed);
	return status;
}

CUresult launch_submit(struct stream *stream, struct function *function, const struct launch_config *config)
{
	CUresult status = stream_enter(stream);

	if (!status)
		status = launch_put(stream->queue, function, config);
	stream_leave(stream);
	return status;
}

/* ---- entries -------------------------------------------------------------------------------------------------- */

struct launch_events { /* of launch attributes: recorded behind the kernel */
	CUevent events[2];
	unsigned count;
};

static CUresult launch_in(struct stream *stream, struct function *function, struct launch_config *config, void **parameters,
			  void **extra, const struct launch_events *events)
{
	_Alignas(64) uint8_t small[4096];
	void *buffer = small, *large = NULL;
	CUresult status;

	if (function->module->context != stream->context)
		return api_error(CUDA_ERROR_INVALID_HANDLE, "%s and the stream are of different contexts", kernel_name(function));
	status = launch_check(function, config);
	if (status)
		return status;
	if (function->parameter_bytes > sizeof small) {
		buffer = large = malloc(function->parameter_bytes);
		if (!large)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	status = launch_pack(function, parameters, extra, buffer, config);
	if (!status && atomic_load_explicit(&stream->capture, memory_order_acquire))
		status = capture_launch(stream, function, config);
	else if (!status)
		status = launch_submit(stream, function, config);
	free(large);
	for (unsigned i = 0; events && i < events->count && !status; i++) {
		struct event *event;

		status = event_find(events->events[i], &event);
		if (!status && atomic_load_explicit(&stream->capture, memory_order_acquire))
			status = capture_event_record(stream, event, false);
		else if (!status)
			status = event_record(event, stream);
	}
	return status;
}

static CUresult launch(CUfunction handle, struct launch_config *config, CUstream stream_handle, void **parameters, void **extra,
		       const struct launch_events *events)
{
	struct function *function;
	struct stream *stream;
	CUresult status;

	REQUIRE_CONTEXT(context);
	status = function_find(handle, context, &function);
	if (!status)
		status = stream_find(context, stream_handle, &stream);
	return status ? status : launch_in(stream, function, config, parameters, extra, events);
}

CUresult impl_cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
			     unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
			     CUstream stream, void **parameters, void **extra)
{
	struct launch_config config = {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .dynamic_shared = shared};

	return launch(function, &config, stream, parameters, extra, NULL);
}

CUresult impl_cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
					unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
					CUstream stream, void **parameters)
{
	struct launch_config config = {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .dynamic_shared = shared,
				       .cooperative = true};

	return launch(function, &config, stream, parameters, NULL, NULL);
}

CUresult launch_apply_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue *value, struct launch_config *config)
{
	switch ((int)id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		config->cooperative = value->cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		config->cluster[0] = value->clusterDim.x;
		config->cluster[1] = value->clusterDim.y;
		config->cluster[2] = value->clusterDim.z;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return value->deviceUpdatableKernelNode.deviceUpdatable ?
			       api_error(CUDA_ERROR_NOT_SUPPORTED, "kernel nodes that the device updates are not supported") :
			       CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: /* the following change speed on a GPU, never results */
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult read_attributes(const CUlaunchConfig *from, struct launch_config *config, struct launch_events *events)
{
	if (from->numAttrs && !from->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < from->numAttrs; i++) {
		const CUlaunchAttribute *attribute = &from->attrs[i];
		CUresult status = CUDA_SUCCESS;

		if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT && events->count < 2)
			events->events[events->count++] = attribute->value.programmaticEvent.event;
		else if (attribute->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT && events->count < 2)
			events->events[events->count++] = attribute->value.launchCompletionEvent.event;
		else
			status = launch_apply_attribute(attribute->id, &attribute->value, config);
		if (status)
			return status;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuLaunchKernelEx(const CUlaunchConfig *from, CUfunction function, void **parameters, void **extra)
{
	struct launch_events events = {.count = 0};
	struct launch_config config;
	CUresult status;

	REQUIRE_READY();
	if (!from)
		return CUDA_ERROR_INVALID_VALUE;
	config = (struct launch_config){.grid = {from->gridDimX, from->gridDimY, from->gridDimZ},
					.block = {from->blockDimX, from->blockDimY, from->blockDimZ},
					.dynamic_shared = from->sharedMemBytes};
	status = read_attributes(from, &config, &events);
	if (status)
		return status;
	return launch(function, &config, from->hStream || !api_per_thread_stream() ? from->hStream : CU_STREAM_PER_THREAD, parameters,
		      extra, &events);
}

CUresult impl_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned int count, unsigned int flags)
{
	REQUIRE_READY();
	if (!list || !count || flags & ~3u)
		return CUDA_ERROR_INVALID_VALUE;
	/* CUDA 13 has dropped it; one device is an ordinary cooperative launch. */
	if (count > 1)
		return api_error(CUDA_ERROR_NOT_SUPPORTED, "grids over several devices are not supported");
	return impl_cuLaunchCooperativeKernel(list->function, list->gridDimX, list->gridDimY, list->gridDimZ, list->blockDimX,
					      list->blockDimY, list->blockDimZ, list->sharedMemBytes, list->hStream,
					      list->kernelParams);
}

/* ---- the calls of CUDA 2: a function carries its own shape and parameters --------------------------------------- */

static CUresult find_here(CUfunction handle, struct function **function)
{
	struct context *context;
	CUresult status = context_current(&context);

	return status ? status : function_find(handle, context, function);
}

CUresult impl_cuFuncSetBlockShape(CUfunction handle, int x, int y, int z)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (x <= 0 || y <= 0 || z <= 0 || (uint64_t)x * (uint64_t)y * (uint64_t)z > function->max_threads)
		return CUDA_ERROR_INVALID_VALUE;
	function->block[0] = (uint32_t)x;
	function->block[1] = (uint32_t)y;
	function->block[2] = (uint32_t)z;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncSetSharedSize(CUfunction handle, unsigned int bytes)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (!status)
		function->shared_size = bytes;
	return status;
}

CUresult impl_cuParamSetSize(CUfunction handle, unsigned int bytes)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (bytes > MAX_PARAMETER_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	function->old_parameter_size = bytes;
	return CUDA_SUCCESS;
}

CUresult impl_cuParamSetv(CUfunction handle, int offset, void *data, unsigned int bytes)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (offset < 0 || (bytes && !data) || (size_t)offset + bytes > MAX_PARAMETER_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function->old_parameters)
		function->old_parameters = calloc(1, MAX_PARAMETER_BYTES);
	if (!function->old_parameters)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(function->old_parameters + offset, data, bytes);
	return CUDA_SUCCESS;
}

CUresult impl_cuParamSeti(CUfunction handle, int offset, unsigned int value)
{
	return impl_cuParamSetv(handle, offset, &value, sizeof value);
}

CUresult impl_cuParamSetf(CUfunction handle, int offset, float value)
{
	return impl_cuParamSetv(handle, offset, &value, sizeof value);
}

static CUresult launch_old(CUfunction handle, int width, int height, CUstream stream)
{
	struct launch_config config = {.grid = {(uint32_t)width, (uint32_t)height, 1}};
	struct function *function;
	size_t size;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, NULL, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (width <= 0 || height <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (function->old_parameter_size > function->parameter_bytes)
		return api_error(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "%u bytes of parameters were set, %s takes %u",
				 function->old_parameter_size, kernel_name(function), function->parameter_bytes);
	if (!function->old_parameters)
		function->old_parameters = calloc(1, MAX_PARAMETER_BYTES);
	if (!function->old_parameters)
		return CUDA_ERROR_OUT_OF_MEMORY;
	size = function->parameter_bytes;
	extra[1] = function->old_parameters;
	memcpy(config.block, function->block, sizeof config.block);
	config.dynamic_shared = function->shared_size;
	return launch((CUfunction)function, &config, stream, NULL, extra, NULL);
}

CUresult impl_cuLaunch(CUfunction function)
{
	return launch_old(function, 1, 1, NULL);
}

CUresult impl_cuLaunchGrid(CUfunction function, int width, int height)
{
	return launch_old(function, width, height, NULL);
}

CUresult impl_cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream)
{
	return launch_old(function, width, height, stream);
}
