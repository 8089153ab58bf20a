/* Functions: what a program may ask of a kernel without running it, and the old calls that shape one.
 * CUDA Driver API 6.22 "Execution Control". The sizes are read off the PTX (sizes.c): nothing is compiled to answer. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

#include "api/cuda_impl.h"
#include "driver/module.h"

enum { NEVER_SET = -1, REGISTERS_LEAST = 16, REGISTERS_MOST = 255 };

/* ---- sizes -------------------------------------------------------------------------------------------------- */

static uint32_t block_limit(const struct ptx_function *ptx)
{
	uint64_t most = (uint64_t)ptx->maxntid[0] * (ptx->maxntid[1] ? ptx->maxntid[1] : 1) * (ptx->maxntid[2] ? ptx->maxntid[2] : 1);
	uint64_t exact = (uint64_t)ptx->reqntid[0] * (ptx->reqntid[1] ? ptx->reqntid[1] : 1) * (ptx->reqntid[2] ? ptx->reqntid[2] : 1);

	if (exact)
		most = exact;
	return most && most < MAX_BLOCK_THREADS ? (uint32_t)most : MAX_BLOCK_THREADS;
}

/* There is no register file here. PTX names about ten values for each register that a GPU's code would need; the
 * estimate never forbids a block that the kernel's launch bounds allow. */
static uint32_t estimate_registers(const struct function *function, uint32_t words)
{
	uint32_t estimate = (uint32_t)align_up(REGISTERS_LEAST + words / 10, 8);
	uint32_t room = (uint32_t)function->module->context->device->properties.registers_per_block;
	uint32_t most = room / (uint32_t)align_up(function->max_threads, WARP_SIZE) & ~7u;

	if (function->ptx->maxnreg && estimate > function->ptx->maxnreg)
		estimate = function->ptx->maxnreg;
	if (most >= REGISTERS_LEAST && estimate > most)
		estimate = most;
	return estimate > REGISTERS_MOST ? REGISTERS_MOST : estimate;
}

static CUresult function_measure(struct function *function)
{
	const struct ptx_module *module = function->module->code->ptx;
	struct kernel_sizes sizes;

	if (!sizes_of(function->module->code, function->ptx, &sizes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	function->static_shared = sizes.shared;
	function->local_bytes = sizes.local;
	function->max_threads = block_limit(function->ptx);
	function->registers = estimate_registers(function, sizes.registers);
	for (size_t i = 0; i < module->variables.count; i++)
		if (module->variables.data[i]->space == PTX_SPACE_CONST)
			function->constant_bytes += (uint32_t)module->variables.data[i]->size;
	return CUDA_SUCCESS;
}

/* ---- making functions ------------------------------------------------------------------------------------------ */

static CUresult describe_parameters(struct function *function)
{
	const struct ptx_function *ptx = function->ptx;

	function->parameter_count = (uint32_t)ptx->parameters.count;
	function->parameter_bytes = ptx->parameter_bytes;
	function->parameters = calloc(function->parameter_count + 1, sizeof *function->parameters);
	if (!function->parameters)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < function->parameter_count; i++)
		function->parameters[i] = (struct parameter){ptx->parameters.data[i]->offset, (uint32_t)ptx->parameters.data[i]->size};
	return CUDA_SUCCESS;
}

CUresult function_create(struct module *module, const struct ptx_function *ptx, struct function **out)
{
	struct function *function = handle_create(HANDLE_FUNCTION);
	CUresult status;

	if (!function)
		return CUDA_ERROR_OUT_OF_MEMORY;
	function->module = module;
	function->ptx = ptx;
	function->cache_config = CU_FUNC_CACHE_PREFER_NONE;
	atomic_init(&function->max_dynamic, (uint32_t)NEVER_SET);
	atomic_init(&function->carveout, CU_SHAREDMEM_CARVEOUT_DEFAULT);
	function->block[0] = function->block[1] = function->block[2] = 1;
	memcpy(function->required_cluster, ptx->reqnctapercluster, sizeof function->required_cluster);
	status = describe_parameters(function);
	if (!status)
		status = function_measure(function);
	if (!status)
		status = (CUresult)module->context->ops->module_kernel(module->device_module, ptx, &function->kernel);
	if (!status && module->context->ops->kernel_owner)
		module->context->ops->kernel_owner(function->kernel, function);
	if (status) {
		function_destroy(function);
		return status;
	}
	*out = function;
	return CUDA_SUCCESS;
}

void function_destroy(struct function *function)
{
	free(function->parameters);
	free(function->old_parameters);
	handle_destroy(function);
}

CUresult function_find(CUfunction handle, struct context *context, struct function **out)
{
	struct function *function = handle_check(handle, HANDLE_FUNCTION);
	struct kernel *kernel;

	if (function) {
		*out = function;
		return CUDA_SUCCESS;
	}
	kernel = handle_check(handle, HANDLE_KERNEL);
	return kernel ? kernel_instance(kernel, context, out) : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static uint32_t shared_room(const struct function *function, bool optin)
{
	const struct device_properties *p = &function->module->context->device->properties;
	uint32_t most = (uint32_t)(optin ? p->shared_per_block_optin : p->shared_per_block);

	return most > function->static_shared ? most - function->static_shared : 0;
}

uint32_t function_dynamic_limit(const struct function *function)
{
	uint32_t set = atomic_load_explicit(&function->max_dynamic, memory_order_relaxed);

	return set == (uint32_t)NEVER_SET ? shared_room(function, false) : set;
}

CUresult function_attribute(const struct function *function, CUfunction_attribute attribute, int *value)
{
	const struct device_properties *p = &function->module->context->device->properties;

	switch ((int)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)function->max_threads; break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)function->static_shared; break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)function->constant_bytes; break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)function->local_bytes; break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)function->registers; break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = function->module->code->ptx->sm; break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = p->major * 10 + p->minor; break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = (int)function_dynamic_limit(function); break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = atomic_load(&function->carveout); break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = function->ptx->explicitcluster; break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = (int)function->required_cluster[0]; break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = (int)function->required_cluster[1]; break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = (int)function->required_cluster[2]; break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = function->non_portable_cluster; break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = function->cluster_scheduling; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult function_set_attribute(struct function *function, CUfunction_attribute attribute, int value)
{
	switch ((int)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || (uint32_t)value > shared_room(function, true))
			return api_error(CUDA_ERROR_INVALID_VALUE, "%d bytes of dynamic shared memory: %s has room for %u", value,
					 function->ptx->symbol.name, shared_room(function, true));
		atomic_store(&function->max_dynamic, (uint32_t)value);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		atomic_store(&function->carveout, value);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		if (value < 0)
			return CUDA_ERROR_INVALID_VALUE;
		if (function->ptx->reqnctapercluster[0])
			return api_error(CUDA_ERROR_NOT_PERMITTED, "%s was compiled for one cluster size", function->ptx->symbol.name);
		function->required_cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (uint32_t)value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		function->non_portable_cluster = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		if (value < 0 || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
			return CUDA_ERROR_INVALID_VALUE;
		function->cluster_scheduling = value;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE; /* unknown, or read only */
	}
}

static CUresult find_here(CUfunction handle, struct function **function)
{
	struct context *context;
	CUresult status = context_current(&context);

	return status ? status : function_find(handle, context, function);
}

CUresult impl_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	return value ? function_attribute(function, attribute, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	return status ? status : function_set_attribute(function, attribute, value);
}

CUresult impl_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if ((int)config < 0 || config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	function->cache_config = config;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	return (int)config < 0 || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult impl_cuFuncGetModule(CUmodule *module, CUfunction handle)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	*module = (CUmodule)function->module;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncGetName(const char **name, CUfunction handle)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = function->ptx->symbol.name;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (!offset || index >= function->parameter_count)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = function->parameters[index].offset;
	if (size)
		*size = function->parameters[index].size;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	*state = atomic_load(&function->loaded) ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncLoad(CUfunction handle)
{
	static const uint32_t any_block[3];
	struct ptx_diagnostic diagnostic = {0};
	struct kernel_info info;
	struct function *function;
	CUresult status = find_here(handle, &function);

	if (status)
		return status;
	status = (CUresult)function->module->context->ops->kernel_prepare(function->kernel, any_block, &info, &diagnostic);
	if (status)
		api_error(status, "%s", diagnostic.message ? diagnostic.message : "the kernel cannot be compiled");
	else
		atomic_store(&function->loaded, true);
	ptx_diagnostic_fini(&diagnostic);
	return status;
}
