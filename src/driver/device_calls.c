/* What device code asks of the driver by way of the device runtime: attributes, limits, names of errors. The same answers as the host
 * gets; CUDA Runtime API, the functions marked __device__. */
#define _GNU_SOURCE
#include "driver/device_calls.h"

#include "api/api.h"

static struct context *context_of(void *owner)
{
	return ((struct function *)owner)->module->context;
}

static int ordinal(void *owner, int *count)
{
	*count = driver.count;
	return context_of(owner)->device->ordinal;
}

static int attribute(void *owner, int number, int *value)
{
	return device_attribute(context_of(owner)->device, (CUdevice_attribute)number, value);
}

static CUresult find(void *owner, const struct ptx_function *kernel, struct function **function)
{
	return module_function(((struct function *)owner)->module, kernel->symbol.name, function);
}

static int attribute_of_function(void *owner, const struct ptx_function *kernel, int number, int *value)
{
	struct function *function;
	CUresult status = find(owner, kernel, &function);

	return (int)(status ? status : (CUresult)function_attribute(function, (CUfunction_attribute)number, value));
}

static int occupancy(void *owner, const struct ptx_function *kernel, int threads, uint64_t dynamic_shared, int *blocks)
{
	struct function *function;
	CUresult status = find(owner, kernel, &function);

	return (int)(status ? status : occupancy_blocks(function, threads, dynamic_shared, blocks));
}

static int limit(void *owner, int number, uint64_t *value)
{
	if (number < 0 || number >= CONTEXT_LIMITS)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*value = context_of(owner)->limits[number];
	return CUDA_SUCCESS;
}

static const char *error_name(int status)
{
	const struct api_status *found = api_status_find(status);

	return found ? found->runtime_name : NULL;
}

static const char *error_text(int status)
{
	const struct api_status *found = api_status_find(status);

	return found ? found->text : NULL;
}

const struct device_driver driver_for_device_code = {
	.ordinal = ordinal,
	.attribute = attribute,
	.function_attribute = attribute_of_function,
	.occupancy = occupancy,
	.limit = limit,
	.error_name = error_name,
	.error_text = error_text,
	.version = DRIVER_VERSION,
};
