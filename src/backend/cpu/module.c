/* Loaded modules: their variables in device memory, addresses for their functions, and their kernels, each with the variants
 * that were compiled for the block shapes it was launched with. Compiling is done outside of every lock: several threads
 * compile several kernels at once; whoever wants one that is being compiled waits for it. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"
#include "cache/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHAPES = 8 /* a kernel launched with more gets one variant for any */ };

struct body_variable { /* .global or .const inside a function */
	const struct ptx_variable *variable;
	void *address;
};

struct device_module {
	struct device *device;
	const struct ptx_module *ptx;
	void *data;                   /* all variables, one allocation; NULL: none */
	void **variables;             /* address of each module-level one; NULL: it has none here */
	VEC(struct body_variable) bodies;
	pthread_mutex_t lock;
	pthread_cond_t compiled;
	struct code_stubs stubs;      /* one for each function, where any has an address */
	struct device_kernel *kernels;
	bool hashed;
	uint8_t text_hash[32];
};

struct device_kernel {
	struct device_module *module;
	const struct ptx_function *function;
	struct device_kernel *next;
	struct kernel_variant *variants;
	unsigned variant_count;
	_Atomic(struct kernel_variant *) last; /* used; ready */
	_Atomic(void *) owner;                 /* the driver's name for it, or for another of its module */
};

const char *cpu_kernel_name(const struct device_kernel *kernel)
{
	return kernel->function->symbol.name;
}

/* ---- variables ---------------------------------------------------------------------------------- */

/* Bytes of storage here: 0 for shared and local ones, which are the compiler's, and for externs that nobody defines. */
static uint64_t storage_size(const struct ptx_variable *variable)
{
	if (variable->linkage == PTX_EXTERN)
		return 0;
	switch (variable->space) {
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST:
		return variable->size;
	case PTX_SPACE_TEX:
		return 8;
	default:
		return 0;
	}
}

static uint64_t place(uint64_t *end, const struct ptx_variable *variable)
{
	uint64_t align = variable->align > 16 ? variable->align : 16;
	uint64_t at = align_up(*end, align);
	*end = at + storage_size(variable);
	return at;
}

/* The address for variables is known only after the layout, so each visit happens twice: with base NULL to count. */
static bool lay_out(struct device_module *module, uint64_t *end, uint8_t *base)
{
	const struct ptx_module *ptx = module->ptx;
	*end = 0;
	for (size_t i = 0; i < ptx->variables.count; i++) {
		const struct ptx_variable *variable = ptx->variables.data[i];
		uint64_t at = storage_size(variable) ? place(end, variable) : 0;
		if (base && storage_size(variable))
			module->variables[i] = base + at;
	}
	for (size_t f = 0; f < ptx->functions.count; f++) {
		const struct ptx_function *function = ptx->functions.data[f];
		for (size_t i = 0; i < function->variables.count; i++) {
			const struct ptx_variable *variable = function->variables.data[i];
			if (!storage_size(variable))
				continue;
			uint64_t at = place(end, variable);
			struct body_variable body = { variable, base ? base + at : NULL };
			if (base && !vec_push(&module->bodies, body))
				return false;
		}
	}
	return true;
}

static void *variable_address(const struct device_module *module, const struct ptx_variable *variable)
{
	if (!variable->function)
		return variable->index < module->ptx->variables.count && module->ptx->variables.data[variable->index] == variable ?
			       module->variables[variable->index] :
			       NULL;
	for (size_t i = 0; i < module->bodies.count; i++)
		if (module->bodies.data[i].variable == variable)
			return module->bodies.data[i].address;
	return NULL;
}

/* ---- functions ---------------------------------------------------------------------------------- */

/* Where a function's address leads until code that holds it has been loaded. */
static void function_missing(struct cpu_block *block, uint32_t thread, const void *parameters, void *results)
{
	(void)parameters, (void)results;
	log_error("kernel %s calls a function by an address that no kernel compiled so far holds", block->launch->name);
	block->services->trap(block, thread, STATUS_LAUNCH_FAILED);
}

static bool need_stubs_locked(struct device_module *module)
{
	void *missing;
	cpu_function_fn *function = function_missing;
	memcpy(&missing, &function, sizeof missing);
	return module->stubs.code ||
	       cpu_code_stubs_create(&module->stubs, &module->device->code, module->ptx->functions.count, missing);
}

static void *function_address(struct device_module *module, const struct ptx_function *function)
{
	pthread_mutex_lock(&module->lock);
	bool ok = need_stubs_locked(module);
	pthread_mutex_unlock(&module->lock);
	return ok ? cpu_code_stub(&module->stubs, function->index) : NULL;
}

/* The module's functions that a new object holds can be called from now on; the first object's are kept, so that an
 * address means the same everywhere. */
static void adopt_functions(struct device_module *module, const struct code *code)
{
	const char *name;
	void *address;
	for (size_t i = 0; (address = cpu_code_function(code, i, &name)); i++) {
		const struct ptx_symbol *symbol = map_get(&module->ptx->symbols, name);
		if (!symbol || symbol->kind != PTX_SYMBOL_FUNCTION || ((const struct ptx_function *)symbol)->is_entry)
			continue;
		const struct ptx_function *function = (const struct ptx_function *)symbol;
		pthread_mutex_lock(&module->lock);
		void *missing;
		cpu_function_fn *none = function_missing;
		memcpy(&missing, &none, sizeof missing);
		if (need_stubs_locked(module) && atomic_load(&module->stubs.targets[function->index]) == missing)
			atomic_store(&module->stubs.targets[function->index], address);
		pthread_mutex_unlock(&module->lock);
	}
}

static void *symbol_address(struct device_module *module, const struct ptx_symbol *symbol)
{
	if (symbol->kind == PTX_SYMBOL_VARIABLE)
		return variable_address(module, (const struct ptx_variable *)symbol);
	if (symbol->kind == PTX_SYMBOL_FUNCTION)
		return function_address(module, (const struct ptx_function *)symbol);
	return NULL;
}

static const struct ptx_symbol *find_in_function(const struct ptx_function *function, const char *name)
{
	for (size_t i = 0; i < function->variables.count; i++)
		if (!strcmp(function->variables.data[i]->symbol.name, name))
			return &function->variables.data[i]->symbol;
	return NULL;
}

/* By name, as an object's symbol table has it: the kernel's own first, then the module's, then other functions'. */
static void *named_address(struct device_module *module, const struct ptx_function *kernel, const char *name)
{
	const struct ptx_symbol *symbol = find_in_function(kernel, name);
	if (!symbol || !storage_size((const struct ptx_variable *)symbol))
		symbol = map_get(&module->ptx->symbols, name);
	for (size_t i = 0; !symbol && i < module->ptx->functions.count; i++)
		symbol = find_in_function(module->ptx->functions.data[i], name);
	return symbol ? symbol_address(module, symbol) : NULL;
}

/* ---- initial values ------------------------------------------------------------------------------ */

static bool initialise(struct device_module *module, const struct ptx_variable *variable, struct ptx_diagnostic *diagnostic)
{
	uint8_t *at = variable_address(module, variable);
	for (uint32_t i = 0; at && i < variable->initial_count; i++) {
		const struct ptx_initial *initial = &variable->initial[i];
		uint64_t value = initial->bits, size = (ptx_type_bits(initial->type) + 7) / 8;
		if (initial->symbol) {
			void *address = symbol_address(module, initial->symbol);
			if (!address) {
				ptx_error(diagnostic, module->ptx, NULL, variable->symbol.location,
					  "'%s' is initialised with the address of '%s', which has none", variable->symbol.name,
					  initial->symbol->name);
				return false;
			}
			value += (uintptr_t)address;
			if (initial->mask_bytes) {
				value >>= initial->mask_shift;
				if (initial->mask_bytes < 8)
					value &= (UINT64_C(1) << 8 * initial->mask_bytes) - 1;
			}
		}
		if (size <= 8 && initial->offset <= variable->size && size <= variable->size - initial->offset)
			memcpy(at + initial->offset, &value, size);
	}
	return true;
}

static bool initialise_all(struct device_module *module, struct ptx_diagnostic *diagnostic)
{
	const struct ptx_module *ptx = module->ptx;
	for (size_t i = 0; i < ptx->variables.count; i++)
		if (!initialise(module, ptx->variables.data[i], diagnostic))
			return false;
	for (size_t i = 0; i < module->bodies.count; i++)
		if (!initialise(module, module->bodies.data[i].variable, diagnostic))
			return false;
	return true;
}

/* ---- loading and unloading ------------------------------------------------------------------------ */

int cpu_module_load(struct device *device, const struct ptx_module *ptx, struct device_module **out,
		    struct ptx_diagnostic *diagnostic)
{
	int status = STATUS_OUT_OF_MEMORY;
	uint64_t bytes;
	struct device_module *module = calloc(1, sizeof *module);
	if (!module)
		return status;
	module->device = device;
	module->ptx = ptx;
	pthread_mutex_init(&module->lock, NULL);
	pthread_cond_init(&module->compiled, NULL);
	module->variables = calloc(ptx->variables.count + 1, sizeof *module->variables);
	if (!module->variables || !lay_out(module, &bytes, NULL))
		goto out;
	if (bytes) {
		status = cpu_memory_allocate(device->memory, bytes, &module->data);
		if (status)
			goto out;
		memset(module->data, 0, bytes); /* a slab's grains are used again */
		status = lay_out(module, &bytes, module->data) ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
		if (status)
			goto out;
	}
	status = initialise_all(module, diagnostic) ? STATUS_SUCCESS : STATUS_INVALID_PTX;
out:
	if (status) {
		cpu_module_unload(module);
		return status;
	}
	*out = module;
	return STATUS_SUCCESS;
}

static void variant_destroy(struct kernel_variant *variant, struct code_arena *arena)
{
	cpu_code_unload(variant->code, arena);
	free(variant->symbols);
	free(variant->message);
	free(variant);
}

void cpu_module_unload(struct device_module *module)
{
	if (cpu_pool_gone() == STATUS_DEINITIALIZED)
		return;
	while (module->kernels) {
		struct device_kernel *kernel = module->kernels;
		module->kernels = kernel->next;
		while (kernel->variants) {
			struct kernel_variant *variant = kernel->variants;
			kernel->variants = variant->next;
			variant_destroy(variant, &module->device->code);
		}
		free(kernel);
	}
	cpu_code_stubs_destroy(&module->stubs, &module->device->code);
	if (module->data)
		cpu_memory_release(module->device->memory, module->data);
	vec_fini(&module->bodies);
	free(module->variables);
	pthread_mutex_destroy(&module->lock);
	pthread_cond_destroy(&module->compiled);
	free(module);
}

int cpu_module_variable(struct device_module *module, const struct ptx_variable *variable, void **pointer)
{
	*pointer = variable_address(module, variable);
	return *pointer ? STATUS_SUCCESS : STATUS_NOT_FOUND;
}

/* Other variables may hold its address: they are written again, which is right as long as nothing has run. */
int cpu_module_bind(struct device_module *module, const struct ptx_variable *variable, void *pointer)
{
	const struct ptx_module *ptx = module->ptx;
	struct ptx_diagnostic diagnostic = { 0 };

	if (!variable_address(module, variable) || variable->function)
		return STATUS_NOT_FOUND;
	module->variables[variable->index] = pointer;
	for (size_t i = 0; i < ptx->variables.count; i++)
		for (uint32_t k = 0; k < ptx->variables.data[i]->initial_count; k++)
			if (ptx->variables.data[i]->initial[k].symbol == &variable->symbol)
				initialise(module, ptx->variables.data[i], &diagnostic);
	ptx_diagnostic_fini(&diagnostic);
	return STATUS_SUCCESS;
}

int cpu_module_kernel(struct device_module *module, const struct ptx_function *function, struct device_kernel **out)
{
	pthread_mutex_lock(&module->lock);
	struct device_kernel *kernel = module->kernels;
	while (kernel && kernel->function != function)
		kernel = kernel->next;
	if (!kernel && (kernel = calloc(1, sizeof *kernel))) {
		kernel->module = module;
		kernel->function = function;
		kernel->next = module->kernels;
		module->kernels = kernel;
	}
	pthread_mutex_unlock(&module->lock);
	*out = kernel;
	return kernel ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
}

struct device_kernel *cpu_module_kernel_at(struct device_module *module, uint64_t address)
{
	const struct ptx_module *ptx = module->ptx;
	struct device_kernel *kernel = NULL;
	size_t index;
	pthread_mutex_lock(&module->lock);
	bool found = cpu_code_stub_find(&module->stubs, address, &index) && index < ptx->functions.count;
	pthread_mutex_unlock(&module->lock);
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
	return kernel->module;
}

const struct ptx_function *cpu_kernel_function(const struct device_kernel *kernel)
{
	return kernel->function;
}

/* ---- compiling ----------------------------------------------------------------------------------- */

static void hash_text(struct device_module *module)
{
	pthread_mutex_lock(&module->lock);
	if (!module->hashed) {
		struct sha256 sha;
		sha256_init(&sha);
		sha256_update(&sha, module->ptx->text, module->ptx->text_length);
		sha256_final(&sha, module->text_hash);
		module->hashed = true;
	}
	pthread_mutex_unlock(&module->lock);
}

static int fail(struct kernel_variant *variant, int status, const char *format, ...)
{
	char text[CODE_WHY + 300];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	variant->message = strdup(text);
	return status;
}

static int resolve_symbols(struct device_kernel *kernel, struct kernel_variant *variant, const struct compile_result *result)
{
	variant->symbols = calloc(result->info.symbol_count + (size_t)1, sizeof *variant->symbols);
	if (!variant->symbols)
		return STATUS_OUT_OF_MEMORY;
	const char *name = result->symbols, *end = name + result->symbols_size;
	for (uint32_t i = 0; i < result->info.symbol_count; i++) {
		size_t length = name ? strnlen(name, (size_t)(end - name)) : 0;
		if (!name || name + length == end)
			return fail(variant, STATUS_INVALID_IMAGE, "kernel %s: its list of symbols is damaged", cpu_kernel_name(kernel));
		variant->symbols[i] = named_address(kernel->module, kernel->function, name);
		if (!variant->symbols[i])
			return fail(variant, STATUS_SYMBOL_NOT_FOUND, "kernel %s uses '%s', which no module defines", cpu_kernel_name(kernel),
				    name);
		name += length + 1;
	}
	return STATUS_SUCCESS;
}

static bool info_is_sound(const struct kernel_info *info)
{
	return info->abi == CPU_ABI && info->lanes && info->lanes <= MAX_BLOCK_THREADS && !(info->lanes & (info->lanes - 1)) &&
	       info->shared_bytes <= SHARED_OPTIN && info->local_bytes <= 512 << 10 &&
	       info->context_bytes <= CONTEXT_MAX && !(info->context_bytes % 64);
}

/* An object, from the compiler or the cache, becomes code that runs. */
static int load_result(struct device_kernel *kernel, struct kernel_variant *variant, const struct compile_result *result)
{
	char why[CODE_WHY];
	const char *name = cpu_kernel_name(kernel);
	if (result->info.shared_bytes > SHARED_OPTIN)
		return fail(variant, STATUS_INVALID_PTX, "kernel %s uses %u bytes of shared memory; a block has %d", name,
			    result->info.shared_bytes, SHARED_OPTIN);
	if (!info_is_sound(&result->info))
		return fail(variant, STATUS_INVALID_IMAGE, "kernel %s: the object is of another version of Dragoman", name);
	variant->info = result->info;
	variant->code = cpu_code_load(&kernel->module->device->code, result->object, result->object_size, name, why);
	if (!variant->code)
		return fail(variant, STATUS_INVALID_IMAGE, "kernel %s: its object cannot be loaded: %s", name, why);
	void *entry = cpu_code_symbol(variant->code, "kernel");
	memcpy(&variant->entry, &entry, sizeof entry);
	if (!entry)
		return fail(variant, STATUS_INVALID_IMAGE, "kernel %s: its object holds no function 'kernel'", name);
	adopt_functions(kernel->module, variant->code);
	return resolve_symbols(kernel, variant, result);
}

static void forget(struct kernel_variant *variant, struct code_arena *arena)
{
	cpu_code_unload(variant->code, arena);
	free(variant->symbols);
	free(variant->message);
	variant->code = NULL;
	variant->symbols = NULL;
	variant->message = NULL;
}

static int compile(struct device_kernel *kernel, const struct compile_options *options, struct kernel_variant *variant,
		   struct compile_result *result)
{
	int status;
	struct ptx_diagnostic diagnostic = { 0 };
	const struct compiler *compiler = compiler_load(&status);
	if (!compiler)
		return fail(variant, status, "kernel %s is not in the cache, and there is no compiler", cpu_kernel_name(kernel));
	uint64_t start = clock_ns();
	if (compiler->compile(kernel->module->ptx, kernel->function, options, result, &diagnostic)) {
		log_info("compiled %s for blocks of (%u,%u,%u): %" PRIu64 " us", cpu_kernel_name(kernel), options->block[0],
			 options->block[1], options->block[2], (clock_ns() - start) / 1000);
		return STATUS_SUCCESS;
	}
	status = diagnostic.unsupported ? STATUS_NOT_SUPPORTED : STATUS_INVALID_PTX;
	if (diagnostic.message)
		variant->message = strdup(diagnostic.message);
	else
		fail(variant, status, "kernel %s does not compile", cpu_kernel_name(kernel));
	ptx_diagnostic_fini(&diagnostic);
	return status;
}

/* From the cache if it is there and sound, else from the compiler. */
static int obtain(struct device_kernel *kernel, struct kernel_variant *variant)
{
	struct device_module *module = kernel->module;
	bool any = env_flag("DRAGOMAN_ANY_SHAPE"); /* for tests: code for all block shapes in place of one */
	struct compile_options options = {
		.lanes = variant->key.by_thread ? 1 : (uint8_t)env_long("DRAGOMAN_LANES", 0, 0, 32),
		.vector = (uint8_t)env_long("DRAGOMAN_VECTOR", 0, 0, 16),
		.opt_level = (uint8_t)env_long("DRAGOMAN_OPT", 2, 0, 2),
		.small_grid = variant->key.small_grid,
		.debug = env_flag("DRAGOMAN_DEBUG"),
		.fibers = env_flag("DRAGOMAN_FIBERS"), /* for tests: barriers as they are where blocks cannot be cut at them */
		.cpu = env_get("DRAGOMAN_CPU"), /* LLVM's names: code for an older machine, for tests */
		.features = env_get("DRAGOMAN_CPU_FEATURES"),
		.block = { any ? 0 : variant->key.block[0], any ? 0 : variant->key.block[1], any ? 0 : variant->key.block[2] },
	};
	struct cache_subject subject = { .text_hash = module->text_hash,
					 .kernel = cpu_kernel_name(kernel),
					 .options = &options,
					 .features = cpu_host_machine()->features,
					 .abi = CPU_ABI };
	struct cache_key key;
	struct compile_result result;
	hash_text(module);
	cache_key_make(&key, &subject);
	/* What is dumped is dumped by the compiler. */
	bool dumps = env_get("DRAGOMAN_DUMP") != NULL;
	if (!dumps && cache_get(&key, &result)) {
		int status = load_result(kernel, variant, &result);
		compile_result_fini(&result);
		if (status != STATUS_INVALID_IMAGE)
			return status;
		log_warn("%s: compiled again", variant->message);
		cache_remove(&key);
		forget(variant, &module->device->code);
	}
	result = (struct compile_result){ 0 };
	int status = compile(kernel, &options, variant, &result);
	if (!status)
		status = load_result(kernel, variant, &result);
	if (!status)
		cache_put(&key, &result, cpu_kernel_name(kernel), cpu_host_machine()->name);
	compile_result_fini(&result);
	return status;
}

static bool is_for(const struct kernel_variant *variant, const struct variant_key *key)
{
	return !memcmp(variant->key.block, key->block, sizeof key->block) && variant->key.small_grid == key->small_grid &&
	       variant->key.by_thread == key->by_thread;
}

/* The variant, new and *mine to be compiled, or one that somebody has compiled or is compiling. */
static struct kernel_variant *find_locked(struct device_kernel *kernel, struct variant_key key, bool *mine)
{
	bool any = !(key.block[0] | key.block[1] | key.block[2]);
	for (struct kernel_variant *v = kernel->variants; v; v = v->next)
		if (is_for(v, &key))
			return v;
	if (kernel->variant_count >= SHAPES && !any) {
		memset(key.block, 0, sizeof key.block);
		return find_locked(kernel, key, mine);
	}
	struct kernel_variant *variant = calloc(1, sizeof *variant);
	if (!variant)
		return NULL;
	variant->key = key;
	atomic_store(&variant->state, VARIANT_COMPILING);
	variant->next = kernel->variants;
	kernel->variants = variant;
	kernel->variant_count++;
	*mine = true;
	return variant;
}

int cpu_kernel_variant_get(struct device_kernel *kernel, struct variant_key key, const struct kernel_variant **out)
{
	struct kernel_variant *variant = atomic_load_explicit(&kernel->last, memory_order_acquire);
	*out = variant;
	if (variant && is_for(variant, &key))
		return STATUS_SUCCESS;
	struct device_module *module = kernel->module;
	bool mine = false;
	pthread_mutex_lock(&module->lock);
	variant = find_locked(kernel, key, &mine);
	while (variant && !mine && atomic_load(&variant->state) == VARIANT_COMPILING)
		pthread_cond_wait(&module->compiled, &module->lock);
	pthread_mutex_unlock(&module->lock);
	if (!variant)
		return STATUS_OUT_OF_MEMORY;
	if (mine) {
		variant->status = obtain(kernel, variant);
		if (variant->status && !key.by_thread)
			log_error("%s", variant->message ? variant->message : "out of memory");
		pthread_mutex_lock(&module->lock);
		atomic_store(&variant->state, variant->status ? VARIANT_FAILED : VARIANT_READY);
		pthread_cond_broadcast(&module->compiled);
		pthread_mutex_unlock(&module->lock);
	}
	*out = variant;
	if (!variant->status)
		atomic_store_explicit(&kernel->last, variant, memory_order_release);
	return variant->status;
}

int cpu_kernel_prepare(struct device_kernel *kernel, const uint32_t block[3], struct kernel_info *info,
		       struct ptx_diagnostic *diagnostic)
{
	const struct kernel_variant *variant;
	int status = cpu_kernel_variant_get(kernel, (struct variant_key){ { block[0], block[1], block[2] }, true, false }, &variant);
	if (!status)
		*info = variant->info;
	else if (variant && variant->message && !diagnostic->message)
		diagnostic->message = strdup(variant->message);
	return status;
}
