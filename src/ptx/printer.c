/* struct ptx_module -> PTX text that parses to the same module.
 *
 * Blocks are not kept by the parser, so a function's registers, variables and labels are printed as
 * if all were the function's own; names that two of them share are changed. Functions are declared
 * before everything else, as bodies and initialisers may refer to what comes later. */
#include "ptx/printer.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const linkage_words[] = {
	[PTX_INTERNAL] = "",       [PTX_VISIBLE] = ".visible ", [PTX_WEAK] = ".weak ",
	[PTX_COMMON] = ".common ", [PTX_EXTERN] = ".extern ",
};
static const char *const space_words[] = {
	[PTX_SPACE_GENERIC] = "",     [PTX_SPACE_REG] = ".reg",       [PTX_SPACE_SREG] = ".sreg",
	[PTX_SPACE_CONST] = ".const", [PTX_SPACE_GLOBAL] = ".global", [PTX_SPACE_LOCAL] = ".local",
	[PTX_SPACE_PARAM] = ".param", [PTX_SPACE_SHARED] = ".shared", [PTX_SPACE_SHARED_CLUSTER] = ".shared",
	[PTX_SPACE_TEX] = ".tex",
};

/* ---- names ---- */

static const char *module_name_of(const struct printer *p, const char *name)
{
	const char *other = p->renames ? map_get(p->renames, name) : NULL;
	return other ? other : name;
}

static const char *symbol_name(const struct printer *p, const struct ptx_symbol *symbol)
{
	if (symbol->kind == PTX_SYMBOL_VARIABLE) {
		const struct ptx_variable *v = (const struct ptx_variable *)symbol;
		if (v->function && p->variables && p->function->variables.count > v->index &&
		    p->function->variables.data[v->index] == v)
			return p->variables[v->index];
		return v->function ? symbol->name : module_name_of(p, symbol->name);
	}
	if (symbol->kind == PTX_SYMBOL_FUNCTION)
		return module_name_of(p, symbol->name);
	const char *name = map_get_n(&p->labels, (const char *)&symbol, sizeof symbol);
	return name ? name : symbol->name;
}

/* `name`, or with a number where the function or the module has it already. */
static const char *unique_name(struct printer *p, const char *name)
{
	const char *text = name;
	uintptr_t number = (uintptr_t)map_get(&p->taken, name); /* that was given last; a name has thousands at times */
	while (map_get(&p->taken, text) || map_get(&p->module->symbols, text))
		text = arena_printf(&p->arena, "%s$%u", name, (unsigned)number++);
	if (number)
		map_put(&p->taken, name, (void *)number);
	map_put(&p->taken, text, (void *)(uintptr_t)1);
	return text;
}

static void name_symbol(struct printer *p, const struct ptx_symbol *const *symbol)
{
	map_put_n(&p->labels, (const char *)symbol, sizeof *symbol, (void *)(uintptr_t)unique_name(p, (*symbol)->name));
}

static void keep_name(struct printer *p, const struct ptx_variable *v)
{
	map_put(&p->taken, v->symbol.name, (void *)(uintptr_t)1);
}

static size_t header_registers(const struct ptx_function *f)
{
	size_t count = 0;
	for (size_t i = 0; i < f->results.count; i++)
		count +=
			f->results.data[i]->space == PTX_SPACE_REG && strcmp(f->results.data[i]->symbol.name, "_") != 0;
	for (size_t i = 0; i < f->parameters.count; i++)
		count += f->parameters.data[i]->space == PTX_SPACE_REG &&
			 strcmp(f->parameters.data[i]->symbol.name, "_") != 0;
	return count;
}

static void name_everything(struct printer *p, const struct ptx_function *f)
{
	size_t fixed = header_registers(f);
	p->registers = (const char **)arena_text(&p->arena, f->registers.count * sizeof *p->registers + 8);
	p->variables = (const char **)arena_text(&p->arena, f->variables.count * sizeof *p->variables + 8);
	for (size_t i = 0; i < f->results.count; i++)
		keep_name(p, f->results.data[i]);
	for (size_t i = 0; i < f->parameters.count; i++)
		keep_name(p, f->parameters.data[i]);
	for (size_t i = 0; i < f->registers.count; i++)
		p->registers[i] = i < fixed ? f->registers.data[i]->name : unique_name(p, f->registers.data[i]->name);
	for (size_t i = 0; i < f->variables.count; i++)
		p->variables[i] = unique_name(p, f->variables.data[i]->symbol.name);
	for (size_t i = 0; i < f->labels.count; i++)
		name_symbol(p, (const struct ptx_symbol *const *)&f->labels.data[i]);
	for (size_t i = 0; i < f->prototypes.count; i++)
		name_symbol(p, (const struct ptx_symbol *const *)&f->prototypes.data[i]);
	for (size_t i = 0; i < f->targets.count; i++)
		name_symbol(p, (const struct ptx_symbol *const *)&f->targets.data[i]);
}

/* ---- operands ---- */

static void print_operand(const struct printer *p, const struct ptx_operand *o, bool is_result);

static void print_parts(const struct printer *p, const struct ptx_operand *o, const char *open, const char *between,
			const char *close, bool is_result)
{
	text_printf(p->out, "%s", open);
	for (unsigned i = 0; i < o->part_count; i++) {
		text_printf(p->out, "%s", i ? between : "");
		print_operand(p, &o->parts[i], is_result);
	}
	text_printf(p->out, "%s", close);
}

static void print_offset(const struct printer *p, int64_t offset)
{
	if (offset)
		text_printf(p->out, "+%" PRId64, offset);
}

/* Video masks leave out what they do not select, selectors never do (9.7.18.3). */
static void print_suffix(const struct printer *p, const struct ptx_operand *o, bool is_result)
{
	unsigned digits = (unsigned)o->offset;
	if (o->component >= 0)
		text_printf(p->out, ".%c", "xyzw"[o->component & 3]);
	if (o->selector >= 0 && o->selector < 4)
		text_printf(p->out, ".b%d", o->selector);
	else if (o->selector == 4 || o->selector == 5)
		text_printf(p->out, ".h%d", o->selector - 4);
	else if (o->selector == 6)
		text_printf(p->out, ".h%02x", digits);
	else if (o->selector == 7)
		text_printf(p->out, is_result ? ".b%x" : ".b%04x", digits);
}

static void print_immediate(const struct printer *p, const struct ptx_operand *o)
{
	int64_t value = (int64_t)o->bits;
	if (o->is_unsigned)
		text_printf(p->out, "%" PRIu64 "U", o->bits);
	else if (value == INT64_MIN)
		text_printf(p->out, "-9223372036854775807-1");
	else
		text_printf(p->out, "%" PRId64, value);
}

static const char *register_name(const struct printer *p, const struct ptx_register *reg)
{
	return p->registers ? p->registers[reg->index] : reg->name;
}

static void print_operand(const struct printer *p, const struct ptx_operand *o, bool is_result)
{
	switch (o->kind) {
	case PTX_OP_REGISTER:
		text_printf(p->out, "%s%s", o->negated ? o->reg->type == PTX_PRED ? "!" : "-" : "",
			    register_name(p, o->reg));
		print_suffix(p, o, is_result);
		break;
	case PTX_OP_IMMEDIATE:
		print_immediate(p, o);
		break;
	case PTX_OP_FLOAT:
		text_printf(p->out, o->is_f32 ? "0f%08" PRIX64 : "0d%016" PRIX64, o->bits);
		break;
	case PTX_OP_SYMBOL:
		text_printf(p->out, "%s", symbol_name(p, o->symbol));
		print_offset(p, o->offset);
		break;
	case PTX_OP_SREG:
		text_printf(p->out, "%s", isa_sregs[o->sreg].name);
		print_suffix(p, o, false);
		break;
	case PTX_OP_ADDRESS:
		text_printf(p->out, "[");
		print_operand(p, &o->parts[0], false);
		print_offset(p, o->offset);
		text_printf(p->out, "]");
		break;
	case PTX_OP_VECTOR:
		print_parts(p, o, "{", ", ", "}", is_result);
		break;
	case PTX_OP_LIST:
		print_parts(p, o, "(", ", ", ")", is_result);
		break;
	case PTX_OP_TEXTURE:
		print_parts(p, o, "[", ", ", "]", false);
		break;
	case PTX_OP_LABEL:
		text_printf(p->out, "%s", symbol_name(p, o->symbol));
		break;
	case PTX_OP_SINK:
		text_printf(p->out, "_");
		break;
	case PTX_OP_PAIR:
		print_parts(p, o, "", "|", "", is_result);
		break;
	default:
		break;
	}
}

static void print_instruction(const struct printer *p, const struct ptx_instruction *in)
{
	const struct isa_row *row = in->form->row;
	if (in->guard)
		text_printf(p->out, "@%s%s ", in->guard_negated ? "!" : "", register_name(p, in->guard));
	text_printf(p->out, "%s", in->form->text);
	for (unsigned i = 0; i < in->operand_count; i++) {
		text_printf(p->out, i ? ", " : " ");
		print_operand(p, &in->operands[i], i < row->operand_count && row->operands[i].is_result);
	}
	text_printf(p->out, ";");
}

void ptx_print_instruction(const struct ptx_instruction *instruction, struct text *out)
{
	struct printer p = { .out = out };
	print_instruction(&p, instruction);
}

/* ---- variables ---- */

static unsigned component_bytes(const struct ptx_variable *v)
{
	return ptx_type_bits(v->type) / 8;
}

static void print_number(const struct printer *p, const struct ptx_variable *v, uint64_t bits)
{
	if (v->type == PTX_F32)
		text_printf(p->out, "0f%08" PRIX64, bits);
	else if (v->type == PTX_F64)
		text_printf(p->out, "0d%016" PRIX64, bits);
	else
		text_printf(p->out, "%" PRIu64, bits);
}

static void print_symbol_value(const struct printer *p, const struct ptx_initial *e)
{
	uint64_t mask = e->mask_bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << e->mask_bytes * 8) - 1;
	if (e->mask_bytes)
		text_printf(p->out, "0x%" PRIX64 "(", mask << e->mask_shift);
	text_printf(p->out, e->generic ? "generic(%s)" : "%s", symbol_name(p, e->symbol));
	print_offset(p, (int64_t)e->bits);
	if (e->mask_bytes)
		text_printf(p->out, ")");
}

/* The component at `offset`; `*next` is the first element not yet passed. */
static void print_component(const struct printer *p, const struct ptx_variable *v, uint64_t offset, uint32_t *next)
{
	unsigned bytes = component_bytes(v);
	while (*next < v->initial_count &&
	       v->initial[*next].offset +
			       (v->initial[*next].symbol ? bytes : ptx_type_bits(v->initial[*next].type) / 8) <=
		       offset)
		++*next;
	const struct ptx_initial *e = *next < v->initial_count ? &v->initial[*next] : NULL;
	uint64_t bits = 0;
	if (e && e->offset <= offset && e->symbol) {
		print_symbol_value(p, e);
		return;
	}
	if (e && e->offset <= offset)
		bits = e->bits >> (offset - e->offset) * 8;
	print_number(p, v, bytes < 8 ? bits & ((UINT64_C(1) << bytes * 8) - 1) : bits);
}

struct initial_cursor {
	const struct ptx_variable *variable;
	uint64_t offset, end; /* of the component to print; behind the last that is not zero */
	uint32_t next;
};

/* The list of one dimension, cut off behind the last value; a vector's is whole (5.4.4). */
static void print_level(const struct printer *p, struct initial_cursor *c, size_t level)
{
	const struct ptx_variable *v = c->variable;
	bool array = level < v->dims.count;
	uint64_t count = array ? v->dims.data[level] : v->vector;
	if (!array && v->vector == 1) {
		print_component(p, v, c->offset, &c->next);
		c->offset += component_bytes(v);
		return;
	}
	text_printf(p->out, "{");
	uint64_t begin = c->offset, stride = component_bytes(v);
	for (size_t i = level + 1; i < v->dims.count; i++)
		stride *= v->dims.data[i];
	stride *= array ? v->vector : 1;
	for (uint64_t i = 0; i < count && (!array || c->offset < c->end); i++) {
		text_printf(p->out, i ? ", " : "");
		if (array) {
			print_level(p, c, level + 1);
		} else {
			print_component(p, v, c->offset, &c->next);
			c->offset += stride;
		}
	}
	if (array)
		c->offset = begin + count * stride;
	text_printf(p->out, "}");
}

static void print_initial(const struct printer *p, const struct ptx_variable *v)
{
	if (!v->initial_count)
		return;
	const struct ptx_initial *last = &v->initial[v->initial_count - 1];
	struct initial_cursor cursor = { .variable = v };
	if (last->symbol || last->type != PTX_B64) {
		cursor.end = last->offset + component_bytes(v);
	} else {
		unsigned bytes = (unsigned)(71 - __builtin_clzll(last->bits | 1)) / 8;
		cursor.end = last->offset + (bytes ? bytes : 1);
	}
	text_printf(p->out, " = ");
	print_level(p, &cursor, 0);
}

/* .param .align 8 .b8 name[16] */
static void print_declarator(const struct printer *p, const struct ptx_variable *v, const char *name, bool sized)
{
	text_printf(p->out, "%s", space_words[v->space]);
	if (v->managed)
		text_printf(p->out, " .attribute(.managed)");
	if (v->space != PTX_SPACE_REG && v->align)
		text_printf(p->out, " .align %u", v->align);
	if (v->vector > 1)
		text_printf(p->out, " .v%u", v->vector);
	text_printf(p->out, " .%s", ptx_type_name(v->type));
	if (v->pointer) {
		text_printf(p->out, " .ptr");
		if (v->pointer_space)
			text_printf(p->out, " %s", space_words[v->pointer_space]);
		if (v->pointer_align)
			text_printf(p->out, " .align %u", v->pointer_align);
	}
	text_printf(p->out, " %s", name);
	for (size_t i = 0; i < v->dims.count; i++)
		if (i == 0 && (v->unsized || !sized))
			text_printf(p->out, "[]");
		else
			text_printf(p->out, "[%u]", v->dims.data[i]);
}

void print_variable_declaration(struct printer *p, const struct ptx_variable *v, enum ptx_linkage linkage, bool value)
{
	text_printf(p->out, "%s", linkage_words[linkage]);
	print_declarator(p, v, symbol_name(p, &v->symbol), true);
	if (value)
		print_initial(p, v);
	if (value && v->opaque)
		text_printf(p->out, " = { %s }", v->opaque);
	text_printf(p->out, ";\n");
}

/* ---- functions ---- */

static void print_parameters(const struct printer *p, struct ptx_variable *const *list, size_t count)
{
	text_printf(p->out, "(");
	for (size_t i = 0; i < count; i++) {
		text_printf(p->out, i ? ", " : "");
		print_declarator(p, list[i], list[i]->symbol.name, true);
	}
	text_printf(p->out, ")");
}

static void print_triple(const struct printer *p, const char *word, const uint32_t v[3])
{
	if (v[0])
		text_printf(p->out, "\n%s %u, %u, %u", word, v[0], v[1], v[2]);
}

static void print_directives(const struct printer *p, const struct ptx_function *f)
{
	print_triple(p, ".maxntid", f->maxntid);
	print_triple(p, ".reqntid", f->reqntid);
	print_triple(p, ".reqnctapercluster", f->reqnctapercluster);
	if (f->minnctapersm)
		text_printf(p->out, "\n.minnctapersm %u", f->minnctapersm);
	if (f->maxnreg)
		text_printf(p->out, "\n.maxnreg %u", f->maxnreg);
	if (f->maxclusterrank)
		text_printf(p->out, "\n.maxclusterrank %u", f->maxclusterrank);
	if (f->explicitcluster)
		text_printf(p->out, "\n.explicitcluster");
	if (f->blocksareclusters)
		text_printf(p->out, "\n.blocksareclusters");
}

void print_function_head(struct printer *p, const struct ptx_function *f, enum ptx_linkage linkage)
{
	text_printf(p->out, "%s%s ", linkage_words[linkage], f->is_entry ? ".entry" : ".func");
	if (f->results.count) {
		print_parameters(p, f->results.data, f->results.count);
		text_printf(p->out, " ");
	}
	text_printf(p->out, "%s", module_name_of(p, f->symbol.name));
	if (f->parameters.count || !f->is_entry)
		print_parameters(p, f->parameters.data, f->parameters.count);
	if (f->noreturn)
		text_printf(p->out, "\n.noreturn");
}

/* How many registers from `first` on are prefix0, prefix1, … of one type. */
static size_t register_run(const struct printer *p, const struct ptx_function *f, size_t first, size_t *prefix)
{
	const char *name = p->registers[first];
	size_t length = strlen(name), count = 1;
	*prefix = length - 1;
	if (length < 2 || name[length - 1] != '0' || (name[length - 2] >= '0' && name[length - 2] <= '9'))
		return 1;
	while (first + count < f->registers.count) {
		char expected[24];
		const char *next = p->registers[first + count];
		const struct ptx_register *a = f->registers.data[first], *b = f->registers.data[first + count];
		snprintf(expected, sizeof expected, "%zu", count);
		if (strncmp(next, name, *prefix) != 0 || strcmp(next + *prefix, expected) != 0 || a->type != b->type ||
		    a->vector != b->vector)
			break;
		count++;
	}
	return count;
}

static void print_registers(const struct printer *p, const struct ptx_function *f)
{
	for (size_t i = header_registers(f); i < f->registers.count;) {
		const struct ptx_register *reg = f->registers.data[i];
		size_t prefix, run = register_run(p, f, i, &prefix);
		text_printf(p->out, "\t.reg ");
		if (reg->vector > 1)
			text_printf(p->out, ".v%u ", reg->vector);
		if (run > 1)
			text_printf(p->out, ".%s %.*s<%zu>;\n", ptx_type_name(reg->type), (int)prefix, p->registers[i],
				    run);
		else
			text_printf(p->out, ".%s %s;\n", ptx_type_name(reg->type), p->registers[i]);
		i += run;
	}
}

static void print_lists(const struct printer *p, const struct ptx_function *f)
{
	for (size_t i = 0; i < f->prototypes.count; i++) {
		const struct ptx_prototype *prototype = f->prototypes.data[i];
		text_printf(p->out, "\t%s: .callprototype ", symbol_name(p, &prototype->symbol));
		if (prototype->results.count)
			print_parameters(p, prototype->results.data, prototype->results.count);
		text_printf(p->out, " _ ");
		print_parameters(p, prototype->parameters.data, prototype->parameters.count);
		text_printf(p->out, "%s;\n", prototype->noreturn ? " .noreturn" : "");
	}
	for (size_t i = 0; i < f->targets.count; i++) {
		const struct ptx_targets *targets = f->targets.data[i];
		bool labels = targets->count && targets->targets[0]->kind == PTX_SYMBOL_LABEL;
		text_printf(p->out, "\t%s: %s ", symbol_name(p, &targets->symbol),
			    labels ? ".branchtargets" : ".calltargets");
		for (uint32_t k = 0; k < targets->count; k++)
			text_printf(p->out, "%s%s", k ? ", " : "", symbol_name(p, targets->targets[k]));
		text_printf(p->out, ";\n");
	}
}

static void print_body(const struct printer *p, const struct ptx_function *f)
{
	size_t label = 0, pragma = 0;
	text_printf(p->out, "\n{\n");
	print_registers(p, f);
	for (size_t i = 0; i < f->variables.count; i++) {
		const struct ptx_variable *v = f->variables.data[i];
		text_printf(p->out, "\t%s", linkage_words[v->linkage]);
		print_declarator(p, v, p->variables[i], true);
		print_initial(p, v);
		text_printf(p->out, ";\n");
	}
	print_lists(p, f);
	for (uint32_t i = 0; i <= f->instruction_count; i++) {
		for (; pragma < f->pragmas.count && f->pragmas.data[pragma].at == i; pragma++)
			text_printf(p->out, "\t.pragma \"%s\";\n", f->pragmas.data[pragma].text);
		for (; label < f->labels.count && f->labels.data[label]->at == i; label++)
			text_printf(p->out, "%s:\n", symbol_name(p, &f->labels.data[label]->symbol));
		if (i == f->instruction_count)
			break;
		text_printf(p->out, "\t");
		print_instruction(p, &f->instructions[i]);
		text_printf(p->out, "\n");
	}
	text_printf(p->out, "}\n");
}

void print_function(struct printer *p, const struct ptx_function *f)
{
	p->function = f;
	name_everything(p, f);
	print_function_head(p, f, f->linkage);
	print_directives(p, f);
	print_body(p, f);
	map_fini(&p->taken);
	map_fini(&p->labels);
	arena_fini(&p->arena);
	p->registers = p->variables = NULL;
	p->function = NULL;
}

/* ---- modules ---- */

void print_header(const struct ptx_module *module, struct text *out)
{
	text_printf(out, ".version %u.%u\n.target %s", module->version / 10U, module->version % 10U, module->target);
	if (module->texmode_independent)
		text_printf(out, ", texmode_independent");
	if (module->debug)
		text_printf(out, ", debug");
	text_printf(out, "\n.address_size %u\n", module->address_size);
	for (size_t i = 0; i < module->files.count; i++)
		if (module->files.data[i])
			text_printf(out, ".file %zu \"%s\"\n", i, module->files.data[i]);
	for (size_t i = 0; i < module->pragmas.count; i++)
		text_printf(out, ".pragma \"%s\";\n", module->pragmas.data[i]);
}

static void note_function(struct map *named, const struct ptx_symbol *symbol)
{
	if (symbol && symbol->kind == PTX_SYMBOL_FUNCTION)
		map_put(named, symbol->name, (void *)(uintptr_t)symbol);
}

static void note_operand(struct map *named, const struct ptx_operand *o)
{
	if (o->kind == PTX_OP_SYMBOL)
		note_function(named, o->symbol);
	for (unsigned i = 0; i < o->part_count; i++)
		note_operand(named, &o->parts[i]);
}

void print_find_named(const struct ptx_module *module, struct map *named)
{
	for (size_t i = 0; i < module->variables.count; i++)
		for (uint32_t k = 0; k < module->variables.data[i]->initial_count; k++)
			note_function(named, module->variables.data[i]->initial[k].symbol);
	for (size_t i = 0; i < module->functions.count; i++) {
		const struct ptx_function *f = module->functions.data[i];
		for (uint32_t k = 0; k < f->instruction_count; k++)
			for (unsigned n = 0; n < f->instructions[k].operand_count; n++)
				note_operand(named, &f->instructions[k].operands[n]);
	}
}

bool print_needs_declaration(const struct map *named, const struct ptx_function *f)
{
	return !f->is_entry || map_get(named, f->symbol.name);
}

/* Variables whose initialisers go back and forth: those named before their turn are declared first. */
static void print_variables(struct printer *p)
{
	const struct ptx_module *module = p->module;
	for (size_t i = 0; i < module->variables.count; i++) {
		const struct ptx_variable *v = module->variables.data[i];
		for (uint32_t k = 0; k < v->initial_count; k++) {
			const struct ptx_variable *named = (const struct ptx_variable *)v->initial[k].symbol;
			if (named && named->symbol.kind == PTX_SYMBOL_VARIABLE && !named->function &&
			    named->index >= i && named->linkage != PTX_EXTERN)
				print_variable_declaration(p, named, PTX_EXTERN, false);
		}
		print_variable_declaration(p, v, v->linkage, true);
	}
}

void ptx_print(const struct ptx_module *module, struct text *out)
{
	struct printer p = { .out = out, .module = module };
	struct map named = { 0 };
	print_header(module, out);
	print_find_named(module, &named);
	for (size_t i = 0; i < module->functions.count; i++) {
		const struct ptx_function *f = module->functions.data[i];
		if (!print_needs_declaration(&named, f) && !f->is_declaration)
			continue;
		print_function_head(&p, f, f->linkage);
		text_printf(out, ";\n");
	}
	map_fini(&named);
	print_variables(&p);
	for (size_t i = 0; i < module->functions.count; i++)
		if (!module->functions.data[i]->is_declaration)
			print_function(&p, module->functions.data[i]);
	for (size_t i = 0; i < module->functions.count; i++)
		if (module->functions.data[i]->alias_of)
			text_printf(out, ".alias %s, %s;\n", module->functions.data[i]->symbol.name,
				    module->functions.data[i]->alias_of->symbol.name);
}
