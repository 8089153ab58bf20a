/* What kernels need besides their code, as programs may ask before they run: read off the bodies of their functions, or known from the cache.
 *
 * Reading all bodies of a large program's module takes longer than all else in a start whose kernels are in the cache. So the first
 * process that has read a text without an error leaves the sizes there, under the text's hash, and the next ones read heads only
 * (ptx_parse_heads()) until something has to be compiled. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdlib.h>

#include "cache/cache.h"

enum { SIZES_FORMAT = 0x53495a31, SHORT_TEXT = 8 << 10 /* is read as fast as the cache's entry */ };

/* ---- from the bodies ---------------------------------------------------------------------------------------- */

struct measure {
	const struct ptx_module *module;
	uint8_t *functions, *variables; /* seen already */
	struct kernel_sizes sizes;
};

static void measure_function(struct measure *measure, const struct ptx_function *function);

static void measure_variable(struct measure *measure, const struct ptx_variable *variable)
{
	uint32_t align = variable->align ? variable->align : 1;

	if (variable->unsized)
		return;
	if (variable->space == PTX_SPACE_SHARED)
		measure->sizes.shared = (uint32_t)(align_up(measure->sizes.shared, align) + variable->size);
	else if (variable->space == PTX_SPACE_LOCAL)
		measure->sizes.local = (uint32_t)(align_up(measure->sizes.local, align) + variable->size);
}

static void measure_symbol(struct measure *measure, const struct ptx_symbol *symbol)
{
	if (symbol->kind == PTX_SYMBOL_FUNCTION) {
		measure_function(measure, (const struct ptx_function *)symbol);
	} else if (symbol->kind == PTX_SYMBOL_VARIABLE) {
		const struct ptx_variable *variable = (const struct ptx_variable *)symbol;

		if (variable->function || variable->space != PTX_SPACE_SHARED || variable->index >= measure->module->variables.count ||
		    measure->variables[variable->index])
			return;
		measure->variables[variable->index] = 1;
		measure_variable(measure, variable);
	}
}

static void measure_operand(struct measure *measure, const struct ptx_operand *operand)
{
	if (operand->kind == PTX_OP_SYMBOL && operand->symbol)
		measure_symbol(measure, operand->symbol);
	for (unsigned i = 0; i < operand->part_count; i++)
		measure_operand(measure, &operand->parts[i]);
}

static void measure_function(struct measure *measure, const struct ptx_function *function)
{
	uint32_t words = 0;

	if (function->index >= measure->module->functions.count || measure->functions[function->index])
		return;
	measure->functions[function->index] = 1;
	for (size_t i = 0; i < function->variables.count; i++)
		measure_variable(measure, function->variables.data[i]);
	for (size_t i = 0; i < function->registers.count; i++)
		words += (ptx_type_bits(function->registers.data[i]->type) * function->registers.data[i]->vector + 31) / 32;
	if (words > measure->sizes.registers)
		measure->sizes.registers = words;
	for (uint32_t i = 0; i < function->instruction_count; i++)
		for (unsigned k = 0; k < function->instructions[i].operand_count; k++)
			measure_operand(measure, &function->instructions[i].operands[k]);
}

static bool measure_kernel(const struct ptx_module *module, const struct ptx_function *function, struct kernel_sizes *sizes)
{
	struct measure measure = {.module = module};

	measure.functions = calloc(module->functions.count + 1, 1);
	measure.variables = calloc(module->variables.count + 1, 1);
	if (measure.functions && measure.variables)
		measure_function(&measure, function);
	*sizes = measure.sizes;
	free(measure.functions);
	free(measure.variables);
	return measure.functions && measure.variables;
}

bool sizes_of(const struct code *code, const struct ptx_function *function, struct kernel_sizes *sizes)
{
	if (!code->sizes)
		return measure_kernel(code->ptx, function, sizes);
	*sizes = code->sizes[function->index];
	return true;
}

/* ---- from the cache ----------------------------------------------------------------------------------------- */

static struct cache_key key_of(const uint8_t text_hash[32])
{
	const struct compile_options none = {0};
	struct cache_key key;

	cache_key_make(&key, &(struct cache_subject){.text_hash = text_hash, .kernel = "", .options = &none, .abi = SIZES_FORMAT});
	return key;
}

/* Variables of the device in a body need a place when the module is loaded. */
static bool has_variables_in_bodies(const struct ptx_module *module)
{
	for (size_t i = 0; i < module->functions.count; i++)
		for (size_t k = 0; k < module->functions.data[i]->variables.count; k++) {
			enum ptx_space space = module->functions.data[i]->variables.data[k]->space;

			if (space != PTX_SPACE_SHARED && space != PTX_SPACE_LOCAL && space != PTX_SPACE_PARAM)
				return true;
		}
	return false;
}

static void keep(const struct ptx_module *module, const struct cache_key *key)
{
	size_t count = module->functions.count;
	struct kernel_sizes *sizes = has_variables_in_bodies(module) ? NULL : calloc(count + 1, sizeof *sizes);
	struct compile_result entry = {.object = sizes, .object_size = count * sizeof *sizes};
	bool all = sizes;

	for (size_t i = 0; i < count && all; i++)
		if (module->functions.data[i]->is_entry)
			all = measure_kernel(module, module->functions.data[i], &sizes[i]);
	if (all)
		cache_put(key, &entry, "sizes of a module's kernels", "ptx");
	free(sizes);
}

static struct ptx_module *heads(struct code *code, const char *text, size_t length, const struct cache_key *key)
{
	struct ptx_diagnostic diagnostic = {0};
	struct compile_result entry;
	struct ptx_module *module;

	if (!cache_get(key, &entry))
		return NULL;
	module = ptx_parse_heads(text, length, "PTX", &diagnostic);
	if (module && entry.object_size == module->functions.count * sizeof *code->sizes) {
		log_debug("PTX of %zu functions: what they need is known, their bodies are not read", module->functions.count);
		code->sizes = entry.object;
		entry.object = NULL;
	} else {
		ptx_destroy(module);
		module = NULL;
		cache_remove(key);
	}
	compile_result_fini(&entry);
	ptx_diagnostic_fini(&diagnostic);
	return module;
}

struct ptx_module *sizes_parse(struct code *code, const char *text, size_t length, struct ptx_diagnostic *diagnostic)
{
	struct ptx_module *module;
	struct sha256 sha;
	struct cache_key key;
	uint8_t hash[32], *kept;

	while (length && !text[length - 1])
		length--;
	if (length < SHORT_TEXT)
		return ptx_parse(text, length, "PTX", diagnostic);
	sha256_init(&sha);
	sha256_update(&sha, text, length);
	sha256_final(&sha, hash);
	key = key_of(hash);
	module = heads(code, text, length, &key);
	if (!module) {
		module = ptx_parse(text, length, "PTX", diagnostic);
		if (module)
			keep(module, &key);
	}
	if (module) {
		kept = arena_alloc(&module->arena, sizeof hash);
		module->text_hash = memcpy(kept, hash, sizeof hash);
	}
	return module;
}
