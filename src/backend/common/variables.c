/* The variables of a loaded module: one allocation, laid out in the order of the text, and what it holds at first. Addresses are the
 * device's; where that is not the host's memory, initial values are written into a copy that the back end sends there. */
#include "backend/common/common.h"
#include "backend/sampler.h"

#include <stdlib.h>

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

static uint64_t lay_out(struct variables *v)
{
	const struct ptx_module *ptx = v->ptx;
	uint64_t end = 0;
	for (size_t i = 0; i < ptx->variables.count; i++)
		if (storage_size(ptx->variables.data[i]))
			v->addresses[i] = place(&end, ptx->variables.data[i]);
	for (size_t i = 0; i < v->bodies.count; i++)
		v->bodies.data[i].address = place(&end, v->bodies.data[i].variable);
	return end;
}

bool variables_init(struct variables *v, const struct ptx_module *ptx)
{
	v->ptx = ptx;
	v->addresses = calloc(ptx->variables.count + 1, sizeof *v->addresses);
	if (!v->addresses)
		return false;
	for (size_t f = 0; f < ptx->functions.count; f++) {
		const struct ptx_function *function = ptx->functions.data[f];
		for (size_t i = 0; i < function->variables.count; i++) {
			struct body_variable body = { function->variables.data[i], 0 };
			if (storage_size(body.variable) && !vec_push(&v->bodies, body))
				return false;
		}
	}
	v->bytes = lay_out(v);
	return true;
}

void variables_fini(struct variables *v)
{
	vec_fini(&v->bodies);
	free(v->addresses);
	v->addresses = NULL;
}

void variables_place(struct variables *v, uint64_t base)
{
	v->base = base;
	for (size_t i = 0; i < v->ptx->variables.count; i++)
		if (storage_size(v->ptx->variables.data[i]))
			v->addresses[i] += base;
	for (size_t i = 0; i < v->bodies.count; i++)
		v->bodies.data[i].address += base;
}

uint64_t variables_address(const struct variables *v, const struct ptx_variable *variable)
{
	if (!variable->function)
		return variable->index < v->ptx->variables.count && v->ptx->variables.data[variable->index] == variable ?
			       v->addresses[variable->index] :
			       0;
	for (size_t i = 0; i < v->bodies.count; i++)
		if (v->bodies.data[i].variable == variable)
			return v->bodies.data[i].address;
	return 0;
}

static uint64_t symbol_address(const struct variables *v, const struct ptx_symbol *symbol)
{
	if (symbol->kind == PTX_SYMBOL_VARIABLE)
		return variables_address(v, (const struct ptx_variable *)symbol);
	if (symbol->kind == PTX_SYMBOL_FUNCTION && v->function_address)
		return v->function_address(v->context, (const struct ptx_function *)symbol);
	return 0;
}

static const struct ptx_symbol *find_in_function(const struct ptx_function *function, const char *name)
{
	for (size_t i = 0; i < function->variables.count; i++)
		if (!strcmp(function->variables.data[i]->symbol.name, name))
			return &function->variables.data[i]->symbol;
	return NULL;
}

uint64_t variables_find(const struct variables *v, const struct ptx_function *kernel, const char *name)
{
	const struct ptx_symbol *symbol = find_in_function(kernel, name);
	if (!symbol || !storage_size((const struct ptx_variable *)symbol))
		symbol = map_get(&v->ptx->symbols, name);
	for (size_t i = 0; !symbol && i < v->ptx->functions.count; i++)
		symbol = find_in_function(v->ptx->functions.data[i], name);
	return symbol ? symbol_address(v, symbol) : 0;
}

/* ---- initial values ------------------------------------------------------------------------------ */

static bool initialise(struct variables *v, uint8_t *image, const struct ptx_variable *variable, struct ptx_diagnostic *diagnostic)
{
	uint64_t address = variables_address(v, variable), inside = address - v->base;
	uint8_t *at = inside < v->bytes ? image + inside : (uint8_t *)(uintptr_t)address;
	if (address && variable->type == PTX_SAMPLERREF && variable->linkage != PTX_EXTERN)
		memcpy(at, &(uint64_t){ sampler_word(variable) }, sizeof(uint64_t));
	for (uint32_t i = 0; address && i < variable->initial_count; i++) {
		const struct ptx_initial *initial = &variable->initial[i];
		uint64_t value = initial->bits, size = (ptx_type_bits(initial->type) + 7) / 8;
		if (initial->symbol) {
			uint64_t target = symbol_address(v, initial->symbol);
			if (!target) {
				ptx_error(diagnostic, v->ptx, NULL, variable->symbol.location,
					  "'%s' is initialised with the address of '%s', which has none", variable->symbol.name,
					  initial->symbol->name);
				return false;
			}
			value += target;
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

bool variables_initialise(struct variables *v, void *image, struct ptx_diagnostic *diagnostic)
{
	const struct ptx_module *ptx = v->ptx;
	for (size_t i = 0; i < ptx->variables.count; i++)
		if (!initialise(v, image, ptx->variables.data[i], diagnostic))
			return false;
	for (size_t i = 0; i < v->bodies.count; i++)
		if (!initialise(v, image, v->bodies.data[i].variable, diagnostic))
			return false;
	return true;
}

bool variables_bind(struct variables *v, const struct ptx_variable *variable, void *pointer)
{
	if (!variables_address(v, variable) || variable->function)
		return false;
	v->addresses[variable->index] = (uintptr_t)pointer;
	return true;
}

bool variables_bind_name(struct variables *v, const char *name, void *pointer)
{
	const struct ptx_symbol *symbol = map_get(&v->ptx->symbols, name);
	if (symbol && symbol->kind == PTX_SYMBOL_VARIABLE)
		return variables_bind(v, (const struct ptx_variable *)symbol, pointer);
	for (size_t i = 0; i < v->bodies.count; i++)
		if (!strcmp(v->bodies.data[i].variable->symbol.name, name)) {
			v->bodies.data[i].address = (uintptr_t)pointer;
			return true;
		}
	return false;
}

/* Right as long as nothing has run. */
void variables_follow(struct variables *v, void *image, const struct ptx_variable *variable)
{
	struct ptx_diagnostic diagnostic = { 0 };
	for (size_t i = 0; i < v->ptx->variables.count; i++)
		for (uint32_t k = 0; k < v->ptx->variables.data[i]->initial_count; k++)
			if (v->ptx->variables.data[i]->initial[k].symbol == &variable->symbol)
				initialise(v, image, v->ptx->variables.data[i], &diagnostic);
	ptx_diagnostic_fini(&diagnostic);
}
