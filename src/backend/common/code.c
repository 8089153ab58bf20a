/* Kernels' code: each kernel has variants that were made for the block shapes it was launched with, of objects from the cache or the
 * compiler. Compiling is done outside of every lock: several threads compile several kernels at once; whoever wants one that is being
 * compiled waits for it. */
#include "backend/common/common.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHAPES = 8 /* a kernel launched with more gets one variant for any */ };

int capability_shown(void)
{
	const char *text = env_get("DRAGOMAN_COMPUTE_CAPABILITY");
	bool nine = text && !strcmp(text, "9.0");
	if (text && !nine && strcmp(text, "8.0"))
		log_warn("DRAGOMAN_COMPUTE_CAPABILITY=%s is neither 8.0 nor 9.0: ignored", text);
	return nine ? 9 : 8;
}

void code_module_init(struct code_module *module, const struct code_ops *ops, const struct ptx_module *ptx)
{
	module->ops = ops;
	module->ptx = ptx;
	pthread_mutex_init(&module->lock, NULL);
	pthread_cond_init(&module->compiled, NULL);
}

void code_module_fini(struct code_module *module)
{
	pthread_mutex_destroy(&module->lock);
	pthread_cond_destroy(&module->compiled);
}

static void forget(struct code_kernel *kernel, struct variant *variant)
{
	kernel->module->ops->unload(kernel, variant);
	free(variant->message);
	variant->message = NULL;
}

static void variant_free(struct code_kernel *kernel, struct variant *variant)
{
	if (!variant)
		return;
	variant_free(kernel, atomic_load(&variant->better));
	forget(kernel, variant);
	free(variant);
}

void code_module_drop_kernels(struct code_module *module)
{
	background_forget(module);
	while (module->kernels) {
		struct code_kernel *kernel = module->kernels;
		module->kernels = kernel->next;
		while (kernel->variants) {
			struct variant *variant = kernel->variants;
			kernel->variants = variant->next;
			variant_free(kernel, variant);
		}
		free(kernel);
	}
}

struct code_kernel *code_module_kernel(struct code_module *module, const struct ptx_function *function)
{
	pthread_mutex_lock(&module->lock);
	struct code_kernel *kernel = module->kernels;
	while (kernel && kernel->function != function)
		kernel = kernel->next;
	if (!kernel && (kernel = calloc(1, module->ops->kernel_size))) {
		kernel->module = module;
		kernel->function = function;
		kernel->next = module->kernels;
		module->kernels = kernel;
	}
	pthread_mutex_unlock(&module->lock);
	return kernel;
}

const char *code_kernel_name(const struct code_kernel *kernel)
{
	return kernel->function->symbol.name;
}

int code_fail(struct variant *variant, int status, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	free(variant->message);
	variant->message = strdup(text);
	return status;
}

int code_symbols(struct code_kernel *kernel, struct variant *variant, const struct compile_result *result,
		 const struct variables *variables, uint64_t **symbols)
{
	uint64_t *table = *symbols = calloc(result->info.symbol_count + (size_t)1, sizeof *table);
	if (!table)
		return STATUS_OUT_OF_MEMORY;
	const char *name = result->symbols, *end = name + result->symbols_size;
	for (uint32_t i = 0; i < result->info.symbol_count; i++) {
		size_t length = name ? strnlen(name, (size_t)(end - name)) : 0;
		if (!name || name + length == end)
			return code_fail(variant, STATUS_INVALID_IMAGE, "kernel %s: its list of symbols is damaged",
					 code_kernel_name(kernel));
		table[i] = variables_find(variables, kernel->function, name);
		if (!table[i])
			return code_fail(variant, STATUS_SYMBOL_NOT_FOUND, "kernel %s uses '%s', which no module defines",
					 code_kernel_name(kernel), name);
		name += length + 1;
	}
	return STATUS_SUCCESS;
}

/* ---- from the cache, or the compiler ----------------------------------------------------------------- */

static void hash_text(struct code_module *module)
{
	pthread_mutex_lock(&module->lock);
	if (!module->hashed && module->ptx->text_hash) {
		memcpy(module->text_hash, module->ptx->text_hash, sizeof module->text_hash);
		module->hashed = true;
	}
	if (!module->hashed) {
		struct sha256 sha;
		sha256_init(&sha);
		sha256_update(&sha, module->ptx->text, module->ptx->text_length);
		sha256_final(&sha, module->text_hash);
		module->hashed = true;
	}
	pthread_mutex_unlock(&module->lock);
}

static int compile(struct code_kernel *kernel, const struct compile_options *options, struct variant *variant,
		   struct compile_result *result)
{
	int status;
	struct ptx_diagnostic diagnostic = { 0 };
	const struct compiler *compiler = compiler_load(&status);
	if (!compiler)
		return code_fail(variant, status, "kernel %s is not in the cache, and there is no compiler", code_kernel_name(kernel));
	uint64_t start = clock_ns();
	const struct ptx_module *ptx = ptx_whole(kernel->module->ptx, &diagnostic);
	if (ptx && compiler->compile(ptx, ptx->functions.data[kernel->function->index], options, result, &diagnostic)) {
		log_info("compiled %s for blocks of (%u,%u,%u)%s: %" PRIu64 " us", code_kernel_name(kernel), options->block[0],
			 options->block[1], options->block[2], result->quick ? " in a quick form" : "", (clock_ns() - start) / 1000);
		return STATUS_SUCCESS;
	}
	status = diagnostic.unsupported ? STATUS_NOT_SUPPORTED : STATUS_INVALID_PTX;
	if (diagnostic.message)
		variant->message = strdup(diagnostic.message);
	else
		code_fail(variant, status, "kernel %s does not compile", code_kernel_name(kernel));
	ptx_diagnostic_fini(&diagnostic);
	return status;
}

static int load(struct code_kernel *kernel, struct variant *variant, const struct compile_result *result)
{
	variant->info = result->info;
	return kernel->module->ops->load(kernel, variant, result);
}

/* The form for any block shape, where that was compiled ahead and is no worse. */
static bool get_for_any_shape(const struct code_kernel *kernel, struct cache_subject subject, struct cache_key *key,
			      struct compile_result *result)
{
	struct compile_options options = *subject.options;
	const uint32_t *block = options.block;
	struct cache_key other;
	if (!block[0] || (uint64_t)block[0] * block[1] * block[2] > kernel->module->ops->any_shape_threads)
		return false;
	memset(options.block, 0, sizeof options.block);
	subject.options = &options;
	cache_key_make(&other, &subject);
	if (!cache_get(&other, result))
		return false;
	*key = other;
	return true;
}

enum tier { TIER_AUTO, TIER_QUICK, TIER_FULL };

/* What kernels run in: their quick form until the full one is there, or one of them alone. */
static enum tier tier_setting(const struct code_ops *ops)
{
	const char *text = env_get("DRAGOMAN_TIER");
	if (!ops->quick || (text && !strcmp(text, "full")))
		return TIER_FULL;
	if (text && !strcmp(text, "quick"))
		return TIER_QUICK;
	if (text && strcmp(text, "auto"))
		log_warn("DRAGOMAN_TIER=%s is neither auto, quick nor full: ignored", text);
	return TIER_AUTO;
}

/* May the kernel come in a quick form first? It may not a second time: where the cache has that and an earlier process left it there, that one
 * ended before the full form was made, and so might this one, and the next. `quick` becomes the quick form's key. */
static bool may_be_quick(const struct code_kernel *kernel, struct cache_subject subject, const struct cache_key *full, struct cache_key *quick)
{
	struct compile_options options = *subject.options;
	struct compile_result result = { 0 };
	options.opt_level = 1;
	subject.options = &options;
	cache_key_make(quick, &subject);
	if (background_began(full) || !cache_get(quick, &result))
		return true;
	compile_result_fini(&result);
	log_info("kernel %s: its full form is waited for, which was not there when the run before ended", code_kernel_name(kernel));
	return false;
}

/* From the cache if it is there and sound, else from the compiler. */
static int obtain(struct code_kernel *kernel, struct variant *variant)
{
	const struct code_ops *ops = kernel->module->ops;
	bool any = env_flag("DRAGOMAN_ANY_SHAPE"); /* for tests: code for all block shapes in place of one */
	struct compile_options options = {
		.opt_level = (uint8_t)env_long("DRAGOMAN_OPT", 2, 0, 2),
		.small_grid = variant->key.small_grid,
		.cluster = variant->key.cluster,
		.check_alignment = env_flag("DRAGOMAN_CHECK_ALIGNMENT"),
		.block = { any ? 0 : variant->key.block[0], any ? 0 : variant->key.block[1], any ? 0 : variant->key.block[2] },
	};
	enum tier tier = tier_setting(ops);
	if (tier == TIER_QUICK && options.opt_level > 1)
		options.opt_level = 1;
	ops->options(kernel, variant, &options);
	hash_text(kernel->module);
	struct cache_subject subject = { .text_hash = kernel->module->text_hash,
					 .kernel = code_kernel_name(kernel),
					 .options = &options,
					 .features = ops->features(kernel),
					 .abi = ops->abi };
	struct cache_key key, quick_key;
	struct compile_result result;
	cache_key_make(&key, &subject);
	/* What is dumped is dumped by the compiler; options of LLVM's are no part of the key. */
	bool uncached = env_get("DRAGOMAN_DUMP") || env_get("DRAGOMAN_LLVM");
	if (!uncached && (cache_get(&key, &result) || get_for_any_shape(kernel, subject, &key, &result))) {
		int status = load(kernel, variant, &result);
		compile_result_fini(&result);
		if (status != STATUS_INVALID_IMAGE)
			return status;
		log_warn("%s: compiled again", variant->message);
		cache_remove(&key);
		forget(kernel, variant);
	}
	result = (struct compile_result){ 0 };
	bool two_forms = tier == TIER_AUTO && !uncached && !variant->key.by_thread;
	options.may_be_quick = two_forms && may_be_quick(kernel, subject, &key, &quick_key);
	int status = compile(kernel, &options, variant, &result);
	if (!status)
		status = load(kernel, variant, &result);
	if (!status && result.quick) {
		cache_put(&quick_key, &result, code_kernel_name(kernel), ops->target(kernel));
		background_compile(kernel, variant, &options, &key, &quick_key, ops->target(kernel));
	} else if (!status && !env_get("DRAGOMAN_LLVM"))
		cache_put(&key, &result, code_kernel_name(kernel), ops->target(kernel));
	if (!status && two_forms && !options.may_be_quick)
		cache_remove(&quick_key);
	compile_result_fini(&result);
	return status;
}

/* ---- variants ------------------------------------------------------------------------------------------ */

/* The variant, new and *mine to be compiled, or one that somebody has compiled or is compiling. */
static struct variant *find_locked(struct code_kernel *kernel, struct variant_key key, bool *mine)
{
	bool any = !(key.block[0] | key.block[1] | key.block[2]);
	for (struct variant *v = kernel->variants; v; v = v->next)
		if (variant_is_for(v, &key))
			return v;
	if (kernel->variant_count >= SHAPES && !any) {
		memset(key.block, 0, sizeof key.block);
		return find_locked(kernel, key, mine);
	}
	struct variant *variant = calloc(1, kernel->module->ops->variant_size);
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

int code_variant_make(struct code_kernel *kernel, struct variant_key key, struct variant **out)
{
	struct code_module *module = kernel->module;
	bool mine = false;
	pthread_mutex_lock(&module->lock);
	struct variant *variant = *out = find_locked(kernel, key, &mine);
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
	if (!variant->status)
		atomic_store_explicit(&kernel->last, variant, memory_order_release);
	return variant->status;
}

int code_kernel_prepare(struct code_kernel *kernel, const uint32_t block[3], struct kernel_info *info, struct ptx_diagnostic *diagnostic)
{
	struct variant *variant;
	int status = code_variant_get(kernel, (struct variant_key){ { block[0], block[1], block[2] }, true, false, false }, &variant);
	if (!status)
		*info = variant->info;
	else if (variant && variant->message && !diagnostic->message)
		diagnostic->message = strdup(variant->message);
	return status;
}
