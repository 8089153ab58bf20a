/* Modules on an AMD GPU: their variables in device memory, their kernels as code objects that HIP has loaded, each with a table of the
 * addresses that it reads. */
#include "backend/amd/amd.h"

#include <stdlib.h>

struct device_module {
	struct code_module code; /* first: see module_of() */
	struct device *device;
	void *data;                 /* all variables, in device memory; NULL: none */
	struct variables variables;
};

struct device_kernel {
	struct code_kernel code;
	_Atomic(void *) owner;      /* the driver's name for it */
};

static const struct code_ops code_ops;

static struct device_module *module_of(const struct code_kernel *kernel)
{
	return (struct device_module *)kernel->module;
}

const char *amd_kernel_name(const struct device_kernel *kernel)
{
	return code_kernel_name(&kernel->code);
}

/* ---- loading and unloading --------------------------------------------------------------------------- */

/* What variables hold at first is put together here and sent there; on a later call only what other variables' places decide has changed. */
static int send_variables(struct device_module *module, struct ptx_diagnostic *diagnostic)
{
	uint64_t bytes = module->variables.bytes;
	uint8_t *image = calloc(1, bytes ? bytes : 1);
	int status = STATUS_OUT_OF_MEMORY;
	if (image)
		status = variables_initialise(&module->variables, image, diagnostic) ? STATUS_SUCCESS : STATUS_INVALID_PTX;
	if (!status && bytes)
		status = amd_failed(HIP_CALL(hipMemcpy, module->data, image, bytes, HIP_COPY_DEFAULT), "sending a module's variables");
	free(image);
	return status;
}

static uint64_t threads_of(const uint32_t shape[3])
{
	return (uint64_t)shape[0] * (shape[1] ? shape[1] : 1) * (shape[2] ? shape[2] : 1);
}

/* A function's is the same in all kernels: code compares it with those of the functions that it may be (codegen/call.c). A kernel's says
 * what device code must know to launch it. */
static uint64_t function_address(void *context, const struct ptx_function *function)
{
	const struct ptx_module *ptx = ((struct device_module *)context)->code.ptx;
	if (!function->is_entry)
		return (uintptr_t)function;
	for (size_t i = 0; i < ptx->functions.count; i++)
		if (ptx->functions.data[i] == function)
			return amd_kernel_value((uint32_t)i, (uint32_t)threads_of(function->maxntid), function->parameter_bytes);
	return 0;
}

int amd_module_kernel_by_value(struct device_module *module, uint64_t value, struct device_kernel **kernel)
{
	const struct ptx_module *ptx = module->code.ptx;
	uint32_t number = value >> 32 & 0xffffff;
	if (value >> 56 != AMD_KERNEL_TAG || number >= ptx->functions.count || !ptx->functions.data[number]->is_entry)
		return STATUS_INVALID_HANDLE;
	return amd_module_kernel(module, ptx->functions.data[number], kernel);
}

struct device_module *amd_kernel_module(const struct device_kernel *kernel)
{
	return module_of(&kernel->code);
}

void amd_kernel_set_owner(struct device_kernel *kernel, void *owner)
{
	atomic_store_explicit(&kernel->owner, owner, memory_order_relaxed);
}

void *amd_kernel_owner(const struct device_kernel *kernel)
{
	return atomic_load_explicit(&kernel->owner, memory_order_relaxed);
}

const struct ptx_function *amd_kernel_function(const struct device_kernel *kernel)
{
	return kernel->code.function;
}

int amd_module_load(struct device *device, const struct ptx_module *ptx, struct device_module **out, struct ptx_diagnostic *diagnostic)
{
	struct device_module *module = calloc(1, sizeof *module);
	int status = amd_enter(device);
	if (!module)
		return STATUS_OUT_OF_MEMORY;
	module->device = device;
	code_module_init(&module->code, &code_ops, ptx);
	if (!status && !variables_init(&module->variables, ptx))
		status = STATUS_OUT_OF_MEMORY;
	module->variables.function_address = function_address;
	module->variables.context = module;
	if (!status && module->variables.bytes) {
		status = amd_status(HIP_CALL(hipMalloc, &module->data, module->variables.bytes));
		if (!status)
			variables_place(&module->variables, (uintptr_t)module->data);
	}
	if (!status)
		status = send_variables(module, diagnostic);
	if (status) {
		amd_module_unload(module);
		return status;
	}
	*out = module;
	return STATUS_SUCCESS;
}

void amd_module_unload(struct device_module *module)
{
	amd_enter(module->device);
	code_module_drop_kernels(&module->code);
	if (module->data)
		HIP_CALL(hipFree, module->data);
	variables_fini(&module->variables);
	code_module_fini(&module->code);
	free(module);
}

int amd_module_variable(struct device_module *module, const struct ptx_variable *variable, void **pointer)
{
	*pointer = (void *)(uintptr_t)variables_address(&module->variables, variable);
	return *pointer ? STATUS_SUCCESS : STATUS_NOT_FOUND;
}

int amd_module_bind(struct device_module *module, const struct ptx_variable *variable, void *pointer)
{
	struct ptx_diagnostic diagnostic = { 0 };
	int status = amd_enter(module->device);
	if (status)
		return status;
	if (!variables_bind(&module->variables, variable, pointer))
		return STATUS_NOT_FOUND;
	status = send_variables(module, &diagnostic);
	ptx_diagnostic_fini(&diagnostic);
	return status;
}

int amd_module_bind_name(struct device_module *module, const char *name, void *pointer)
{
	return variables_bind_name(&module->variables, name, pointer) ? STATUS_SUCCESS : STATUS_NOT_FOUND;
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

static struct device *device_of(const struct code_kernel *kernel)
{
	return module_of(kernel)->device;
}

static void set_options(const struct code_kernel *kernel, const struct variant *variant, struct compile_options *options)
{
	(void)variant;
	options->target = device_of(kernel)->architecture;
	options->lanes = 1;
	options->exact_products = env_is("DRAGOMAN_MMA", "exact");
}

static uint64_t no_features(const struct code_kernel *kernel)
{
	(void)kernel;
	return 0; /* the target's name says all */
}

static const char *target_name(const struct code_kernel *kernel)
{
	return device_of(kernel)->architecture;
}

static int load_symbols(struct code_kernel *kernel, struct amd_variant *mine, const struct compile_result *result)
{
	uint64_t *table, bytes = result->info.symbol_count * sizeof *table;
	int status = code_symbols(kernel, &mine->common, result, &module_of(kernel)->variables, &table);
	if (!status && bytes)
		status = amd_failed(HIP_CALL(hipMalloc, (void **)&mine->symbols, bytes), "memory for a kernel's table");
	if (!status && bytes)
		status = amd_failed(HIP_CALL(hipMemcpy, mine->symbols, table, bytes, HIP_COPY_DEFAULT), "sending a kernel's table");
	free(table);
	return status;
}

static int load_code(struct code_kernel *kernel, struct variant *variant, const struct compile_result *result)
{
	struct amd_variant *mine = (struct amd_variant *)variant;
	const struct device *device = device_of(kernel);
	const char *name = code_kernel_name(kernel);
	int error, status = amd_enter(device_of(kernel));
	if (status)
		return status;
	if (result->info.abi != AMD_ABI)
		return code_fail(variant, STATUS_INVALID_IMAGE, "kernel %s: the object is of another version of Dragoman", name);
	if (result->info.shared_bytes > AMD_SHARED_MAX)
		return code_fail(variant, STATUS_INVALID_PTX, "kernel %s uses %u bytes of shared memory; a block of an AMD GPU has %d", name,
				 result->info.shared_bytes, AMD_SHARED_MAX);
	error = HIP_CALL(hipModuleLoadData, &mine->module, result->object);
	if (error)
		return code_fail(variant, error == HIP_NO_BINARY_FOR_GPU ? STATUS_NO_BINARY_FOR_GPU : STATUS_INVALID_IMAGE,
				 "kernel %s: HIP does not load its code object for %s (%d)", name, device->architecture, error);
	error = HIP_CALL(hipModuleGetFunction, &mine->function, mine->module, "kernel");
	if (error)
		return code_fail(variant, STATUS_INVALID_IMAGE, "kernel %s: its code object holds no 'kernel' (%d)", name, error);
	return load_symbols(kernel, mine, result);
}

static void unload_code(struct code_kernel *kernel, struct variant *variant)
{
	struct amd_variant *mine = (struct amd_variant *)variant;
	amd_enter(device_of(kernel));
	if (mine->symbols)
		HIP_CALL(hipFree, mine->symbols);
	if (mine->module)
		HIP_CALL(hipModuleUnload, mine->module);
	mine->symbols = NULL;
	mine->module = mine->function = NULL;
}

static const struct code_ops code_ops = {
	.kernel_size = sizeof(struct device_kernel),
	.variant_size = sizeof(struct amd_variant),
	.abi = AMD_ABI,
	.any_shape_threads = AMD_PADDED_THREADS_MAX,
	.options = set_options,
	.features = no_features,
	.target = target_name,
	.load = load_code,
	.unload = unload_code,
};

int amd_module_kernel(struct device_module *module, const struct ptx_function *function, struct device_kernel **out)
{
	*out = (struct device_kernel *)code_module_kernel(&module->code, function);
	return *out ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
}

int amd_kernel_variant(struct device_kernel *kernel, const struct launch_config *config, const struct amd_variant **out)
{
	bool small = true;
	for (int i = 0; i < 3; i++)
		small = small && (uint64_t)config->grid[i] * config->block[i] < UINT64_C(1) << 31;
	bool cluster = amd_cluster_blocks(config) > 1;
	struct variant_key key = { { config->block[0], config->block[1], config->block[2] }, small, false, cluster };
	struct variant *variant;
	int status = code_variant_get(&kernel->code, key, &variant);
	*out = (const struct amd_variant *)variant;
	return status;
}

int amd_kernel_prepare(struct device_kernel *kernel, const uint32_t block[3], struct kernel_info *info, struct ptx_diagnostic *diagnostic)
{
	return code_kernel_prepare(&kernel->code, block, info, diagnostic);
}
