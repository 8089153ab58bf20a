/* Are two modules the same program? Compares what the text means: not its locations, nor how
 * registers, local variables and labels are called. Functions and variables are paired by name. */
#include "ptx/ptx.h"

struct comparison {
	struct text *why;
	const struct ptx_function *a, *b; /* the functions being compared */
};

static bool differ(const struct comparison *c, const char *format, ...) PRINTF_LIKE(2, 3);
static bool differ(const struct comparison *c, const char *format, ...)
{
	va_list arguments;
	if (!c->why)
		return false;
	if (c->a)
		text_printf(c->why, "%s: ", c->a->symbol.name);
	va_start(arguments, format);
	text_vprintf(c->why, format, arguments);
	va_end(arguments);
	return false;
}

static bool is_parameter(const struct ptx_variable *v)
{
	return v->index < v->function->parameters.count && v->function->parameters.data[v->index] == v;
}

static bool same_symbol(const struct ptx_symbol *a, const struct ptx_symbol *b)
{
	if (!a || !b || a->kind != b->kind)
		return a == b;
	switch (a->kind) {
	case PTX_SYMBOL_LABEL:
		return ((const struct ptx_label *)a)->at == ((const struct ptx_label *)b)->at;
	case PTX_SYMBOL_VARIABLE: {
		const struct ptx_variable *va = (const struct ptx_variable *)a, *vb = (const struct ptx_variable *)b;
		if (va->function && vb->function)
			return va->index == vb->index && va->space == vb->space && va->size == vb->size &&
			       is_parameter(va) == is_parameter(vb);
		return !va->function && !vb->function && !strcmp(a->name, b->name);
	}
	case PTX_SYMBOL_FUNCTION:
		return !strcmp(a->name, b->name);
	default: /* lists and prototypes are compared as such */
		return true;
	}
}

static bool same_register(const struct ptx_register *a, const struct ptx_register *b)
{
	return a == b || (a && b && a->index == b->index && a->type == b->type && a->vector == b->vector);
}

static bool same_operand(const struct ptx_operand *a, const struct ptx_operand *b)
{
	if (a->kind != b->kind || a->part_count != b->part_count || a->negated != b->negated ||
	    a->is_f32 != b->is_f32 || a->is_unsigned != b->is_unsigned || a->component != b->component ||
	    a->selector != b->selector || a->sreg != b->sreg || a->offset != b->offset)
		return false;
	switch (a->kind) {
	case PTX_OP_REGISTER:
		return same_register(a->reg, b->reg);
	case PTX_OP_IMMEDIATE:
	case PTX_OP_FLOAT:
		return a->bits == b->bits;
	case PTX_OP_SYMBOL:
	case PTX_OP_LABEL:
		return same_symbol(a->symbol, b->symbol);
	default:
		for (unsigned i = 0; i < a->part_count; i++)
			if (!same_operand(&a->parts[i], &b->parts[i]))
				return false;
		return true;
	}
}

static bool same_instruction(const struct ptx_instruction *a, const struct ptx_instruction *b)
{
	if (a->form->row != b->form->row || a->form->mod_count != b->form->mod_count ||
	    memcmp(a->form->mods, b->form->mods, sizeof a->form->mods) != 0 || !same_register(a->guard, b->guard) ||
	    a->guard_negated != b->guard_negated || a->operand_count != b->operand_count)
		return false;
	for (unsigned i = 0; i < a->operand_count; i++)
		if (!same_operand(&a->operands[i], &b->operands[i]))
			return false;
	return true;
}

static bool same_initial(const struct ptx_variable *a, const struct ptx_variable *b)
{
	if (a->initial_count != b->initial_count)
		return false;
	for (uint32_t i = 0; i < a->initial_count; i++) {
		const struct ptx_initial *x = &a->initial[i], *y = &b->initial[i];
		if (x->offset != y->offset || x->type != y->type || x->bits != y->bits || x->generic != y->generic ||
		    x->mask_shift != y->mask_shift || x->mask_bytes != y->mask_bytes ||
		    !same_symbol(x->symbol, y->symbol))
			return false;
	}
	return true;
}

static bool same_variable(const struct comparison *c, const struct ptx_variable *a, const struct ptx_variable *b)
{
	bool same = a->space == b->space && a->linkage == b->linkage && a->type == b->type && a->vector == b->vector &&
		    a->is_array == b->is_array && a->unsized == b->unsized && a->managed == b->managed &&
		    a->pointer == b->pointer && a->pointer_space == b->pointer_space &&
		    a->pointer_align == b->pointer_align && a->align == b->align && a->size == b->size &&
		    a->dims.count == b->dims.count && a->offset == b->offset;
	for (size_t i = 0; same && i < a->dims.count; i++)
		same = a->dims.data[i] == b->dims.data[i];
	if (!same)
		return differ(c, "variable '%s' is declared differently", a->symbol.name);
	if (!same_initial(a, b))
		return differ(c, "variable '%s' has another value", a->symbol.name);
	if (!a->opaque != !b->opaque || (a->opaque && strcmp(a->opaque, b->opaque) != 0))
		return differ(c, "variable '%s' has other fields", a->symbol.name);
	return true;
}

static bool same_variables(const struct comparison *c, struct ptx_variable *const *a, size_t a_count,
			   struct ptx_variable *const *b, size_t b_count, const char *what)
{
	if (a_count != b_count)
		return differ(c, "%zu %s, not %zu", b_count, what, a_count);
	for (size_t i = 0; i < a_count; i++)
		if (!same_variable(c, a[i], b[i]))
			return false;
	return true;
}

static bool same_lists(const struct comparison *c)
{
	const struct ptx_function *a = c->a, *b = c->b;
	if (a->targets.count != b->targets.count || a->prototypes.count != b->prototypes.count ||
	    a->pragmas.count != b->pragmas.count)
		return differ(c, "other numbers of target lists, prototypes or pragmas");
	for (size_t i = 0; i < a->targets.count; i++) {
		const struct ptx_targets *x = a->targets.data[i], *y = b->targets.data[i];
		bool same = x->count == y->count;
		for (uint32_t k = 0; same && k < x->count; k++)
			same = same_symbol(x->targets[k], y->targets[k]);
		if (!same)
			return differ(c, "target list '%s' differs", x->symbol.name);
	}
	for (size_t i = 0; i < a->prototypes.count; i++) {
		const struct ptx_prototype *x = a->prototypes.data[i], *y = b->prototypes.data[i];
		if (x->noreturn != y->noreturn ||
		    !same_variables(c, x->results.data, x->results.count, y->results.data, y->results.count,
				    "results of a prototype") ||
		    !same_variables(c, x->parameters.data, x->parameters.count, y->parameters.data, y->parameters.count,
				    "parameters of a prototype"))
			return false;
	}
	for (size_t i = 0; i < a->pragmas.count; i++)
		if (a->pragmas.data[i].at != b->pragmas.data[i].at ||
		    strcmp(a->pragmas.data[i].text, b->pragmas.data[i].text) != 0)
			return differ(c, "pragma \"%s\" differs", a->pragmas.data[i].text);
	return true;
}

static bool same_head(const struct comparison *c)
{
	const struct ptx_function *a = c->a, *b = c->b;
	bool same = a->is_entry == b->is_entry && a->is_declaration == b->is_declaration &&
		    a->noreturn == b->noreturn && a->linkage == b->linkage &&
		    a->parameter_bytes == b->parameter_bytes && !memcmp(a->maxntid, b->maxntid, sizeof a->maxntid) &&
		    !memcmp(a->reqntid, b->reqntid, sizeof a->reqntid) &&
		    !memcmp(a->reqnctapercluster, b->reqnctapercluster, sizeof a->reqnctapercluster) &&
		    a->minnctapersm == b->minnctapersm && a->maxnreg == b->maxnreg &&
		    a->maxclusterrank == b->maxclusterrank && a->explicitcluster == b->explicitcluster &&
		    a->blocksareclusters == b->blocksareclusters;
	if (!same)
		return differ(c, "declared differently");
	if (!a->alias_of != !b->alias_of ||
	    (a->alias_of && strcmp(a->alias_of->symbol.name, b->alias_of->symbol.name) != 0))
		return differ(c, "an alias of another function");
	return same_variables(c, a->results.data, a->results.count, b->results.data, b->results.count, "results") &&
	       same_variables(c, a->parameters.data, a->parameters.count, b->parameters.data, b->parameters.count,
			      "parameters");
}

static bool same_function(struct text *why, const struct ptx_function *a, const struct ptx_function *b)
{
	struct comparison c = { .why = why, .a = a, .b = b };
	if (!same_head(&c) || !same_lists(&c) ||
	    !same_variables(&c, a->variables.data, a->variables.count, b->variables.data, b->variables.count,
			    "variables"))
		return false;
	if (a->registers.count != b->registers.count)
		return differ(&c, "%zu registers, not %zu", b->registers.count, a->registers.count);
	for (size_t i = 0; i < a->registers.count; i++)
		if (!same_register(a->registers.data[i], b->registers.data[i]))
			return differ(&c, "register '%s' differs", a->registers.data[i]->name);
	if (a->labels.count != b->labels.count)
		return differ(&c, "%zu labels, not %zu", b->labels.count, a->labels.count);
	for (size_t i = 0; i < a->labels.count; i++)
		if (a->labels.data[i]->at != b->labels.data[i]->at)
			return differ(&c, "label '%s' stands elsewhere", a->labels.data[i]->symbol.name);
	if (a->instruction_count != b->instruction_count)
		return differ(&c, "%u instructions, not %u", b->instruction_count, a->instruction_count);
	for (uint32_t i = 0; i < a->instruction_count; i++)
		if (!same_instruction(&a->instructions[i], &b->instructions[i]))
			return differ(&c, "instruction %u (%s, line %u) differs", i, a->instructions[i].form->text,
				      a->instructions[i].location.line);
	return true;
}

bool ptx_equal(const struct ptx_module *a, const struct ptx_module *b, struct text *why)
{
	struct comparison c = { .why = why };
	if (a->version != b->version || strcmp(a->target, b->target) != 0 || a->address_size != b->address_size ||
	    a->texmode_independent != b->texmode_independent || a->debug != b->debug)
		return differ(&c, "version, target or address size");
	if (a->variables.count != b->variables.count || a->functions.count != b->functions.count)
		return differ(&c, "%zu variables and %zu functions, not %zu and %zu", b->variables.count,
			      b->functions.count, a->variables.count, a->functions.count);
	for (size_t i = 0; i < a->variables.count; i++) {
		const struct ptx_variable *other = ptx_find_variable(b, a->variables.data[i]->symbol.name);
		if (!other)
			return differ(&c, "no variable '%s'", a->variables.data[i]->symbol.name);
		if (!same_variable(&c, a->variables.data[i], other))
			return false;
	}
	for (size_t i = 0; i < a->functions.count; i++) {
		const struct ptx_symbol *other = map_get(&b->symbols, a->functions.data[i]->symbol.name);
		if (!other || other->kind != PTX_SYMBOL_FUNCTION)
			return differ(&c, "no function '%s'", a->functions.data[i]->symbol.name);
		if (!same_function(why, a->functions.data[i], (const struct ptx_function *)other))
			return false;
	}
	return true;
}
