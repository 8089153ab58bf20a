/* Loaded modules: their variables in device memory, addresses for their functions, and their kernels, each with the variants
 * that were compiled for the block shapes it was launched with (backend/common). */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>

struct device_module {
	struct code_module code; /* first: see module_of() */
	struct device *device;
	void *data;                   /* all variables, one allocation; NULL: none */
	struct variables variables;
	struct code_stubs stubs;      /* one for each function, where any has an address */
};

struct device_kernel {
	struct code_kernel code;
	_Atomic(void *) owner;        /* the driver's name for it, or for another of its module */
};

static const struct code_ops code_ops;

static struct device_module *module_of(const struct code_kernel *kernel)
{
	return (struct device_module *)kernel->module;
}

const char *cpu_kernel_name(const struct device_kernel *kernel)
{
	return code_kernel_name(&kernel->code);
}

/* ---- functions ---------------------------------------------------------------------------------- */

/* Where a function's address leads until code that holds it has been loaded. */
static void function_missing(struct cpu_block *block, uint32_t thread, const void *parameters, void *results, const uint64_t *symbols)
{
	(void)parameters, (void)results, (void)symbols;
	log_error("kernel %s calls a function by an address that no kernel compiled so far holds", block->launch->name);
	block->services->trap(block, thread, STATUS_LAUNCH_FAILED);
}

static bool need_stubs_locked(struct device_module *module)
{
	void *missing;
	cpu_function_fn *function = function_missing;
	memcpy(&missing, &function, sizeof missing);
	return module->stubs.code ||
	       cpu_code_stubs_create(&module->stubs, &module->device->code, module->code.ptx->functions.count, missing);
}

static uint64_t function_address(void *context, const struct ptx_function *function)
{
	struct device_module *module = context;
	pthread_mutex_lock(&module->code.lock);
	bool ok = need_stubs_locked(module);
	pthread_mutex_unlock(&module->code.lock);
	return ok ? (uintptr_t)cpu_code_stub(&module->stubs, function->index) : 0;
}

/* The module's functions that a new object holds can be called from now on; the first object's are kept, so that an
 * address means the same everywhere. */
static void adopt_functions(struct device_module *module, const struct code *code, uint64_t *symbols)
{
	const char *name;
	void *address;
	for (size_t i = 0; (address = cpu_code_function(code, i, &name)); i++) {
		const struct ptx_symbol *symbol = map_get(&module->code.ptx->symbols, name);
		if (!symbol || symbol->kind != PTX_SYMBOL_FUNCTION || ((const struct ptx_function *)symbol)->is_entry)
			continue;
		const struct ptx_function *function = (const struct ptx_function *)symbol;
		pthread_mutex_lock(&module->code.lock);
		void *missing;
		cpu_function_fn *none = function_missing;
		memcpy(&missing, &none, sizeof missing);
		if (need_stubs_locked(module) && atomic_load(&module->stubs.targets[function->index]) == missing) {
			module->stubs.tables[function->index] = symbols;
			atomic_store(&module->stubs.targets[function->index], address);
		}
		pthread_mutex_unlock(&module->code.lock);
	}
}

/* ---- loading and unloading ------------------------------------------------------------------------ */

int cpu_module_load(struct device *device, const struct ptx_module *ptx, struct device_module **out,
		    struct ptx_diagnostic *diagnostic)
{
	int status = STATUS_OUT_OF_MEMORY;
	struct device_module *module = calloc(1, sizeof *module);
	if (!module)
		return status;
	module->device = device;
	module->variables.function_address = function_address;
	module->variables.context = module;
	code_module_init(&module->code, &code_ops, ptx);
	if (!variables_init(&module->variables, ptx))
		goto out;
	if (module->variables.bytes) {
		status = cpu_memory_allocate(device->memory, module->variables.bytes, &module->data);
		if (status)
			goto out;
		memset(module->data, 0, module->variables.bytes); /* a slab's grains are used again */
		variables_place(&module->variables, (uintptr_t)module->data);
	}
	status = variables_initialise(&module->variables, module->data, diagnostic) ? STATUS_SUCCESS : STATUS_INVALID_PTX;
out:
	if (status) {
		cpu_module_unload(module);
		return status;
	}
	*out = module;
	return STATUS_SUCCESS;
}

void cpu_module_unload(struct device_module *module)
{
	if (cpu_pool_gone() == STATUS_DEINITIALIZED)
		return;
	code_module_drop_kernels(&module->code);
	cpu_code_stubs_destroy(&module->stubs, &module->device->code);
	if (module->data)
		cpu_memory_release(module->device->memory, module->data);
	variables_fini(&module->variables);
	code_module_fini(&module->code);
	free(module);
}

int cpu_module_variable(struct device_module *module, const struct ptx_variable *variable, void **pointer)
{
	*pointer = (void *)(uintptr_t)variables_address(&module->variables, variable);
	return *pointer ? STATUS_SUCCESS : STATUS_NOT_FOUND;
}

int cpu_module_bind(struct device_module *module, const struct ptx_variable *variable, void *pointer)
{
	if (!variables_bind(&module->variables, variable, pointer))
		return STATUS_NOT_FOUND;
	variables_follow(&module->variables, module->data, variable);
	return STATUS_SUCCESS;
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

static struct kernel_variant *own(struct variant *variant)
{
	return (struct kernel_variant *)variant; /* whose first member it is */
}

static void set_options(const struct code_kernel *kernel, const struct variant *variant, struct compile_options *options)
{
	(void)kernel;
	long lanes = variant->key.by_thread ? 1 : env_long("DRAGOMAN_LANES", 0, 0, 32);
	options->lanes = lanes & (lanes - 1) ? 0 : (uint8_t)lanes;
	options->vector = (uint8_t)env_long("DRAGOMAN_VECTOR", 0, 0, 16);
	options->fibers = env_flag("DRAGOMAN_FIBERS"); /* for tests: barriers as they are where blocks cannot be cut at them */
	options->fast_products = env_is("DRAGOMAN_MMA", "fast");
	options->cpu = env_get("DRAGOMAN_CPU"); /* LLVM's names: code for an older machine, for tests */
	options->features = env_get("DRAGOMAN_CPU_FEATURES");
}

static uint64_t host_features(const struct code_kernel *kernel)
{
	(void)kernel;
	return cpu_host_machine()->features;
}

static const char *host_name(const struct code_kernel *kernel)
{
	(void)kernel;
	return cpu_host_machine()->name;
}

static bool info_is_sound(const struct kernel_info *info)
{
	return info->abi == CPU_ABI && info->lanes && info->lanes <= MAX_BLOCK_THREADS && !(info->lanes & (info->lanes - 1)) &&
	       info->shared_bytes <= SHARED_OPTIN && info->local_bytes <= 512 << 10 &&
	       info->context_bytes <= CONTEXT_MAX && !(info->context_bytes % 64);
}

static int load_code(struct code_kernel *code, struct variant *variant, const struct compile_result *result)
{
	struct device_module *module = module_of(code);
	struct kernel_variant *mine = own(variant);
	char why[CODE_WHY];
	const char *name = code_kernel_name(code);
	if (result->info.shared_bytes > SHARED_OPTIN)
		return code_fail(variant, STATUS_INVALID_PTX, "kernel %s uses %u bytes of shared memory; a block has %d", name,
				 result->info.shared_bytes, SHARED_OPTIN);
	if (!info_is_sound(&result->info))
		return code_fail(variant, STATUS_INVALID_IMAGE, "kernel %s: the object is of another version of Dragoman", name);
	mine->code = cpu_code_load(&module->device->code, result->object, result->object_size, name, why);
	if (!mine->code)
		return code_fail(variant, STATUS_INVALID_IMAGE, "kernel %s: its object cannot be loaded: %s", name, why);
	void *entry = cpu_code_symbol(mine->code, "kernel");
	memcpy(&mine->entry, &entry, sizeof entry);
	if (!entry)
		return code_fail(variant, STATUS_INVALID_IMAGE, "kernel %s: its object holds no function 'kernel'", name);
	int status = code_symbols(code, variant, result, &module->variables, &mine->symbols);
	if (!status)
		adopt_functions(module, mine->code, mine->symbols);
	return status;
}

static void unload_code(struct code_kernel *code, struct variant *variant)
{
	struct kernel_variant *mine = own(variant);
	cpu_code_unload(mine->code, &module_of(code)->device->code);
	free(mine->symbols);
	mine->code = NULL;
	mine->symbols = NULL;
}

static const struct code_ops code_ops = {
	.kernel_size = sizeof(struct device_kernel),
	.variant_size = sizeof(struct kernel_variant),
	.abi = CPU_ABI,
	.quick = true,
	.options = set_options,
	.features = host_features,
	.target = host_name,
	.load = load_code,
	.unload = unload_code,
};

int cpu_module_kernel(struct device_module *module, const struct ptx_function *function, struct device_kernel **out)
{
	*out = (struct device_kernel *)code_module_kernel(&module->code, function);
	return *out ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
}

struct device_kernel *cpu_module_kernel_at(struct device_module *module, uint64_t address)
{
	const struct ptx_module *ptx = module->code.ptx;
	struct device_kernel *kernel = NULL;
	size_t index;
	pthread_mutex_lock(&module->code.lock);
	bool found = cpu_code_stub_find(&module->stubs, address, &index) && index < ptx->functions.count;
	pthread_mutex_unlock(&module->code.lock);
	if (found && ptx->functions.data[index]->is_entry && !ptx->functions.data[index]->is_declaration)
		cpu_module_kernel(module, ptx->functions.data[index], &kernel);
	return kernel;
}

void cpu_kernel_set_owner(struct device_kernel *kernel, void *owner)
{
	atomic_store_explicit(&kernel->owner, owner, memory_order_relaxed);
}

void *cpu_kernel_owner(const struct device_kernel *kernel)
{
	return atomic_load_explicit(&kernel->owner, memory_order_relaxed);
}

struct device_module *cpu_kernel_module(const struct device_kernel *kernel)
{
	return module_of(&kernel->code);
}

const struct ptx_function *cpu_kernel_function(const struct device_kernel *kernel)
{
	return kernel->code.function;
}

int cpu_kernel_variant_get(struct device_kernel *kernel, struct variant_key key, const struct kernel_variant **out)
{
	struct variant *variant;
	int status = code_variant_get(&kernel->code, key, &variant);
	*out = own(variant);
	return status;
}

int cpu_kernel_prepare(struct device_kernel *kernel, const uint32_t block[3], struct kernel_info *info,
		       struct ptx_diagnostic *diagnostic)
{
	return code_kernel_prepare(&kernel->code, block, info, diagnostic);
}
