/* The PTX of several files of one -rdc=true program as one module (what nvlink does with machine code).
 *
 * Linkage follows ISA 11.5 (.extern, .visible, .weak, .common): a name that is visible outside of its file
 * means one thing, its strongest definition; names that are not are changed where two files use the same.
 * The result is printed and parsed again, so whatever holds for a parsed module holds for it, and messages
 * about it have a text to point at. */
#include <stdlib.h>

#include "ptx/printer.h"

struct link_input {
	const struct ptx_module *module;
	struct map renames;
};

struct linker {
	struct link_input *inputs;
	size_t count;
	struct arena arena;
	struct map chosen; /* name -> the struct ptx_symbol that defines it, or stands for it */
	struct map owners; /* name -> the module of that */
	struct ptx_diagnostic *diagnostic;
	bool failed;
};

static enum ptx_linkage linkage_of(const struct ptx_symbol *symbol)
{
	return symbol->kind == PTX_SYMBOL_FUNCTION ? ((const struct ptx_function *)symbol)->linkage
						   : ((const struct ptx_variable *)symbol)->linkage;
}

/* Dynamic shared memory and the like: `.extern .shared` names no definition anywhere. */
static unsigned strength(const struct ptx_symbol *symbol)
{
	if (symbol->kind == PTX_SYMBOL_FUNCTION && ((const struct ptx_function *)symbol)->is_declaration &&
	    !((const struct ptx_function *)symbol)->alias_of)
		return 0;
	switch (linkage_of(symbol)) {
	case PTX_EXTERN:
		return 0;
	case PTX_COMMON:
		return 1;
	case PTX_WEAK:
		return 2;
	default:
		return 3;
	}
}

static bool same_parameters(struct ptx_variable *const *a, size_t a_count, struct ptx_variable *const *b,
			    size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (a[i]->space != b[i]->space || (a[i]->size != b[i]->size && !a[i]->unsized && !b[i]->unsized))
			return false;
	return true;
}

static bool compatible(const struct ptx_symbol *a, const struct ptx_symbol *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == PTX_SYMBOL_FUNCTION) {
		const struct ptx_function *f = (const struct ptx_function *)a, *g = (const struct ptx_function *)b;
		return f->is_entry == g->is_entry &&
		       same_parameters(f->parameters.data, f->parameters.count, g->parameters.data,
				       g->parameters.count) &&
		       same_parameters(f->results.data, f->results.count, g->results.data, g->results.count);
	}
	const struct ptx_variable *v = (const struct ptx_variable *)a, *w = (const struct ptx_variable *)b;
	bool open = v->unsized || w->unsized || v->linkage == PTX_COMMON || w->linkage == PTX_COMMON ||
		    v->linkage == PTX_WEAK || w->linkage == PTX_WEAK;
	return v->space == w->space && (open || v->size == w->size);
}

static bool is_larger(const struct ptx_symbol *a, const struct ptx_symbol *b)
{
	return a->kind == PTX_SYMBOL_VARIABLE && b->kind == PTX_SYMBOL_VARIABLE &&
	       ((const struct ptx_variable *)a)->size > ((const struct ptx_variable *)b)->size;
}

static void link_error(struct linker *l, const struct ptx_module *module, const struct ptx_symbol *symbol,
		       const char *what, const struct ptx_module *other)
{
	ptx_error(l->diagnostic, module, NULL, symbol->location, "'%s' %s in %s", symbol->name, what, other->name);
	l->failed = true;
}

/* A name that other files can see: the stronger of what was known and this. */
static void choose(struct linker *l, const struct ptx_module *module, const struct ptx_symbol *symbol)
{
	const struct ptx_symbol *former = map_get(&l->chosen, symbol->name);
	if (!former) {
		map_put(&l->chosen, symbol->name, (void *)(uintptr_t)symbol);
		map_put(&l->owners, symbol->name, (void *)(uintptr_t)module);
		return;
	}
	const struct ptx_module *other = map_get(&l->owners, symbol->name);
	unsigned have = strength(former), more = strength(symbol);
	if (!compatible(former, symbol))
		link_error(l, module, symbol, "is declared differently", other);
	else if (have == 3 && more == 3)
		link_error(l, module, symbol, "is defined a second time; the first is", other);
	else if (more > have || (more == have && more <= 1 && is_larger(symbol, former))) {
		map_put(&l->chosen, symbol->name, (void *)(uintptr_t)symbol);
		map_put(&l->owners, symbol->name, (void *)(uintptr_t)module);
	}
}

/* A .func without .visible that is only declared is another file's; with a body it is this file's own. */
static bool is_private(const struct ptx_symbol *symbol)
{
	if (linkage_of(symbol) != PTX_INTERNAL)
		return false;
	if (symbol->kind != PTX_SYMBOL_FUNCTION)
		return true;
	const struct ptx_function *f = (const struct ptx_function *)symbol;
	return !f->is_entry && (!f->is_declaration || f->alias_of);
}

static void visit(struct linker *l, void (*each)(struct linker *, struct link_input *, const struct ptx_symbol *))
{
	for (size_t i = 0; i < l->count; i++) {
		struct link_input *input = &l->inputs[i];
		for (size_t k = 0; k < input->module->functions.count; k++)
			each(l, input, &input->module->functions.data[k]->symbol);
		for (size_t k = 0; k < input->module->variables.count; k++)
			each(l, input, &input->module->variables.data[k]->symbol);
	}
}

static void choose_shared(struct linker *l, struct link_input *input, const struct ptx_symbol *symbol)
{
	if (!l->failed && !is_private(symbol))
		choose(l, input->module, symbol);
}

static void rename_private(struct linker *l, struct link_input *input, const struct ptx_symbol *symbol)
{
	const char *name = symbol->name;
	if (!is_private(symbol))
		return;
	/* A new name must be new in every file, or it could hide or be hidden. */
	for (unsigned n = 1; map_get(&l->chosen, name); n++) {
		name = arena_printf(&l->arena, "%s$%u", symbol->name, n);
		for (size_t i = 0; i < l->count; i++)
			if (map_get(&l->inputs[i].module->symbols, name))
				name = arena_printf(&l->arena, "%s$", name);
	}
	map_put(&l->chosen, name, (void *)(uintptr_t)symbol);
	if (name != symbol->name)
		map_put(&input->renames, symbol->name, (void *)(uintptr_t)name);
}

static const char *final_name(const struct link_input *input, const struct ptx_symbol *symbol)
{
	const char *name = map_get(&input->renames, symbol->name);
	return name ? name : symbol->name;
}

static bool is_chosen(const struct linker *l, const struct link_input *input, const struct ptx_symbol *symbol)
{
	return map_get(&l->chosen, final_name(input, symbol)) == symbol;
}

/* ---- printing the whole ---- */

static void print_whole_header(const struct linker *l, struct text *out)
{
	struct ptx_module head = { 0 };
	for (size_t i = 0; i < l->count; i++) {
		const struct ptx_module *m = l->inputs[i].module;
		if (m->version > head.version)
			head.version = m->version;
		if (!head.target || m->sm > head.sm || (m->sm == head.sm && strlen(m->target) > strlen(head.target))) {
			head.sm = m->sm;
			head.target = m->target;
		}
		head.texmode_independent |= m->texmode_independent;
		head.debug |= m->debug;
		head.address_size = m->address_size;
	}
	print_header(&head, out);
}

static void print_function_heads(struct linker *l, struct text *out)
{
	struct map named = { 0 };
	for (size_t i = 0; i < l->count; i++)
		print_find_named(l->inputs[i].module, &named);
	for (size_t i = 0; i < l->count; i++) {
		struct printer p = { .out = out, .module = l->inputs[i].module, .renames = &l->inputs[i].renames };
		for (size_t k = 0; k < p.module->functions.count; k++) {
			const struct ptx_function *f = p.module->functions.data[k];
			if (!is_chosen(l, &l->inputs[i], &f->symbol) || !print_needs_declaration(&named, f))
				continue;
			print_function_head(&p, f, f->linkage);
			text_printf(out, ";\n");
		}
	}
	map_fini(&named);
}

/* Initialisers may name variables of other files: all of them are declared first. */
static void print_variables(struct linker *l, struct text *out)
{
	for (int value = 0; value < 2; value++)
		for (size_t i = 0; i < l->count; i++) {
			struct printer p = { .out = out,
					     .module = l->inputs[i].module,
					     .renames = &l->inputs[i].renames };
			for (size_t k = 0; k < p.module->variables.count; k++) {
				const struct ptx_variable *v = p.module->variables.data[k];
				if (is_chosen(l, &l->inputs[i], &v->symbol) &&
				    (value || (v->linkage != PTX_EXTERN && !v->opaque)))
					print_variable_declaration(&p, v, value ? v->linkage : PTX_EXTERN, value);
			}
		}
}

static void print_bodies(struct linker *l, struct text *out)
{
	for (size_t i = 0; i < l->count; i++) {
		struct printer p = { .out = out, .module = l->inputs[i].module, .renames = &l->inputs[i].renames };
		for (size_t k = 0; k < p.module->functions.count; k++) {
			const struct ptx_function *f = p.module->functions.data[k];
			if (!f->is_declaration && is_chosen(l, &l->inputs[i], &f->symbol))
				print_function(&p, f);
		}
	}
	for (size_t i = 0; i < l->count; i++) {
		const struct link_input *input = &l->inputs[i];
		for (size_t k = 0; k < input->module->functions.count; k++) {
			const struct ptx_function *f = input->module->functions.data[k];
			if (f->alias_of && is_chosen(l, input, &f->symbol))
				text_printf(out, ".alias %s, %s;\n", final_name(input, &f->symbol),
					    final_name(input, &f->alias_of->symbol));
		}
	}
}

static struct ptx_module *link_modules(struct linker *l)
{
	for (size_t i = 1; i < l->count; i++)
		if (l->inputs[i].module->address_size != l->inputs[0].module->address_size) {
			ptx_error(l->diagnostic, l->inputs[i].module, NULL, (struct ptx_location){ 0 },
				  ".address_size %u, but %u in %s", l->inputs[i].module->address_size,
				  l->inputs[0].module->address_size, l->inputs[0].module->name);
			return NULL;
		}
	visit(l, choose_shared);
	if (l->failed)
		return NULL;
	visit(l, rename_private);
	struct text text = { 0 };
	print_whole_header(l, &text);
	print_function_heads(l, &text);
	print_variables(l, &text);
	print_bodies(l, &text);
	struct ptx_module *module = text.data ? ptx_parse(text.data, text.count, "linked PTX", l->diagnostic) : NULL;
	text_fini(&text);
	return module;
}

struct ptx_module *ptx_link(const struct ptx_module *const *modules, size_t count, struct ptx_diagnostic *diagnostic)
{
	struct linker l = { .inputs = calloc(count ? count : 1, sizeof *l.inputs),
			    .count = count,
			    .diagnostic = diagnostic };
	struct ptx_module *module = NULL;
	if (!l.inputs || !count) {
		ptx_error(diagnostic, NULL, NULL, (struct ptx_location){ 0 },
			  count ? "out of memory" : "no modules to link");
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		l.inputs[i].module = modules[i];
	module = link_modules(&l);
out:
	for (size_t i = 0; l.inputs && i < count; i++)
		map_fini(&l.inputs[i].renames);
	free(l.inputs);
	map_fini(&l.chosen);
	map_fini(&l.owners);
	arena_fini(&l.arena);
	return module;
}
