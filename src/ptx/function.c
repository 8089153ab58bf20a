/* Functions of PTX (ISA chapters 7 and 11.2 to 11.4): heads, parameters, performance directives, and the
 * statements of bodies. */
#include <stdlib.h>

#include "ptx/parser.h"

enum { DEEPEST_BLOCK = 100 };

/* ---- statements of a body ---- */

static void read_guard(struct parser *p, struct ptx_instruction *in)
{
	struct ptx_symbol *symbol;
	in->guard_negated = parser_accept(p, '!');
	if (p->token.kind != TOKEN_NAME)
		parser_fail_expected(p, "a predicate");
	if (!scope_find(p, p->token.text, p->token.length, &in->guard, &symbol))
		parser_fail(p, token_location(&p->token), "undeclared name '%.*s'", (int)p->token.length,
			    p->token.text);
	if (!in->guard || in->guard->type != PTX_PRED || in->guard->vector != 1)
		parser_fail(p, token_location(&p->token), "'%.*s' is not a predicate", (int)p->token.length,
			    p->token.text);
	parser_next(p);
	if (p->token.kind != TOKEN_NAME)
		parser_fail_expected(p, "an instruction");
}

/* L: .branchtargets A, B;   L: .calltargets f, g; */
static void read_targets(struct parser *p, struct name *name, struct ptx_location location, bool labels)
{
	struct ptx_targets *targets = arena_new(&p->module->arena, struct ptx_targets);
	targets->symbol = (struct ptx_symbol){ PTX_SYMBOL_TARGETS, name->text, location };
	parser_next(p);
	p->targets.count = 0;
	do {
		struct ptx_location where = token_location(&p->token);
		struct name *target = parser_take_name(p, labels ? "a label" : "a function");
		const struct ptx_symbol *symbol =
			labels ? &scope_refer_label(p, target, where)->symbol : scope_find_symbol(target);
		if (!symbol || (!labels && symbol->kind != PTX_SYMBOL_FUNCTION))
			parser_fail(p, where, "'%s' is not a function", target->text);
		parser_push(p, &p->targets, symbol);
	} while (parser_accept(p, ','));
	parser_expect(p, ';', "';'");
	targets->count = (uint32_t)p->targets.count;
	targets->targets = arena_array(&p->module->arena, const struct ptx_symbol *, p->targets.count);
	memcpy(targets->targets, p->targets.data, p->targets.count * sizeof *p->targets.data);
	scope_add_symbol(p, name, &targets->symbol);
	parser_push(p, &p->function->targets, targets);
}

static void read_parameters(struct parser *p, struct ptx_function *f, bool results)
{
	parser_expect(p, '(', "'('");
	while (!parser_at(p, ')')) {
		struct ptx_variable *v = variable_read_parameter(p, f->is_entry, true);
		if (results) {
			v->index = (uint32_t)f->results.count;
			parser_push(p, &f->results, v);
		} else {
			v->index = (uint32_t)f->parameters.count;
			parser_push(p, &f->parameters, v);
		}
		if (!parser_accept(p, ','))
			break;
	}
	parser_expect(p, ')', "')'");
}

/* The parameter buffer of a kernel: each at its own alignment, in order. */
static void lay_out_parameters(struct parser *p, struct ptx_function *f)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < f->parameters.count; i++) {
		struct ptx_variable *v = f->parameters.data[i];
		bytes = align_up(bytes, v->align);
		v->offset = (uint32_t)bytes;
		bytes += v->size;
		if (bytes > 32764) /* 5.1.6.1 */
			parser_fail(p, v->symbol.location, "the parameters of a kernel take more than 32764 bytes");
	}
	f->parameter_bytes = (uint32_t)bytes;
}

/* .abi_preserve 4, .abi_preserve_control 2 (11.4): hints to a register allocator */
static bool read_abi_directive(struct parser *p)
{
	if (!parser_at_dot(p, ".abi_preserve") && !parser_at_dot(p, ".abi_preserve_control"))
		return false;
	parser_next(p);
	parser_take_count(p);
	return true;
}

/* P: .callprototype (.param .b32 _) _ (.param .b64 _, …) .noreturn; */
static void read_prototype(struct parser *p, struct name *name, struct ptx_location location)
{
	struct ptx_prototype *prototype = arena_new(&p->module->arena, struct ptx_prototype);
	prototype->symbol = (struct ptx_symbol){ PTX_SYMBOL_PROTOTYPE, name->text, location };
	parser_push(p, &p->function->prototypes, prototype);
	parser_next(p);
	for (int results = 1; results >= 0; results--) {
		if (results && !parser_at(p, '('))
			continue;
		if (!results) {
			parser_take_name(p, "'_'");
			if (!parser_at(p, '('))
				break;
		}
		parser_next(p);
		while (!parser_at(p, ')')) {
			struct ptx_variable *v = variable_read_parameter(p, false, false);
			v->index = (uint32_t)(results ? prototype->results.count : prototype->parameters.count);
			if (results)
				parser_push(p, &prototype->results, v);
			else
				parser_push(p, &prototype->parameters, v);
			if (!parser_accept(p, ','))
				break;
		}
		parser_expect(p, ')', "')'");
	}
	while (!parser_at(p, ';'))
		if (parser_accept_dot(p, ".noreturn"))
			prototype->noreturn = true;
		else if (!read_abi_directive(p))
			parser_fail_expected(p, "';'");
	parser_next(p);
	scope_add_symbol(p, name, &prototype->symbol);
}

/* `L:`, alone or before a list of targets or a prototype. */
static void read_label(struct parser *p)
{
	struct ptx_location location = token_location(&p->token);
	struct name *name = parser_take_name(p, "a label");
	parser_next(p);
	if (parser_at_dot(p, ".branchtargets"))
		read_targets(p, name, location, true);
	else if (parser_at_dot(p, ".calltargets"))
		read_targets(p, name, location, false);
	else if (parser_at_dot(p, ".callprototype"))
		read_prototype(p, name, location);
	else
		scope_define_label(p, name, location);
}

static bool at_label(const struct parser *p)
{
	const char *after = p->lexer.at;
	if (*after == '.')
		return false;
	after = lexer_is(*after, CHAR_BLANK) ? lexer_peek(&p->lexer, after) : after;
	return after[0] == ':' && after[1] != ':';
}

static void read_body_directive(struct parser *p)
{
	enum ptx_linkage linkage;
	if (parser_at_dot(p, ".reg"))
		variable_read_registers(p);
	else if (variable_at_space(p))
		variable_read(p, PTX_INTERNAL);
	else if (parser_at_dot(p, ".pragma"))
		parser_read_pragma(p);
	else if (variable_at_linkage(p, &linkage)) {
		parser_next(p);
		variable_read(p, linkage);
	} else if (!parser_read_debug_directive(p)) {
		parser_fail(p, token_location(&p->token), "unknown directive '%.*s'", (int)p->token.length,
			    p->token.text);
	}
}

/* Behind a comment or string that begins at `at`; `at` itself where none does. */
static const char *skip_quoted(const struct parser *p, const char *at)
{
	const char *end = p->lexer.end, *found = NULL;
	if (*at == '"')
		for (found = at + 1; found < end && *found != '"' && *found != '\n'; found++)
			found += *found == '\\';
	else if (at[0] == '/' && at[1] == '/')
		found = memchr(at, '\n', (size_t)(end - at));
	else if (at[0] == '/' && at[1] == '*')
		found = strstr(at + 2, "*/");
	else
		return at;
	return found && found < end ? found : end;
}

/* Room for every statement of the body: what is not used of it is never touched. */
static uint32_t count_statements(const struct parser *p)
{
	uint32_t count = 0, depth = 1;
	for (const char *at = p->token.text + 1; depth && at < p->lexer.end; at++) {
		if (*at == '/' || *at == '"')
			at = skip_quoted(p, at);
		count += *at == ';';
		depth += (uint32_t)(*at == '{') - (uint32_t)(*at == '}');
	}
	return count + 1;
}

static void read_statement(struct parser *p)
{
	struct ptx_function *f = p->function;
	if (p->token.kind == TOKEN_NAME && at_label(p)) {
		read_label(p);
		return;
	}
	if (p->token.kind != TOKEN_NAME && !parser_at(p, '@')) {
		if (p->token.kind == TOKEN_DOT)
			read_body_directive(p);
		else if (!parser_accept(p, ';'))
			parser_fail_expected(p, "an instruction or '}'");
		return;
	}
	if (parser_at(p, '@') && parser_read_debug_directive(p))
		return;
	if (f->instruction_count == p->instruction_room)
		parser_fail_expected(p, "'}'");
	struct ptx_instruction *in = &f->instructions[f->instruction_count];
	*in = (struct ptx_instruction){ 0 };
	if (parser_accept(p, '@'))
		read_guard(p, in);
	operand_read_instruction(p, in);
	f->instruction_count++;
}

static const struct ptx_symbol *outermost_label(const struct ptx_symbol *symbol)
{
	const struct ptx_label *label = (const struct ptx_label *)symbol, *outer;
	while ((outer = ((const struct parsed_label *)label)->outer))
		label = outer;
	return &label->symbol;
}

/* Uses of a label in a block that did not define it go to the enclosing block's. */
static void settle_labels(struct parser *p)
{
	struct ptx_function *f = p->function;
	if (!p->has_outer_labels)
		return;
	for (uint32_t i = 0; i < f->instruction_count; i++)
		for (unsigned k = 0; k < f->instructions[i].operand_count; k++) {
			struct ptx_operand *operand = &f->instructions[i].operands[k];
			if (operand->kind == PTX_OP_LABEL)
				operand->symbol = outermost_label(operand->symbol);
		}
	for (size_t t = 0; t < f->targets.count; t++)
		for (uint32_t k = 0; k < f->targets.data[t]->count; k++)
			if (f->targets.data[t]->targets[k]->kind == PTX_SYMBOL_LABEL)
				f->targets.data[t]->targets[k] = outermost_label(f->targets.data[t]->targets[k]);
	p->has_outer_labels = false;
}

static void read_body(struct parser *p)
{
	struct ptx_function *f = p->function;
	p->instruction_room = count_statements(p);
	f->instructions =
		(struct ptx_instruction *)arena_text(&p->module->arena, p->instruction_room * sizeof *f->instructions);
	f->instruction_count = 0;
	parser_next(p);
	for (unsigned depth = 0;;) {
		if (parser_at(p, '{')) {
			if (++depth > DEEPEST_BLOCK)
				parser_fail(p, token_location(&p->token), "blocks are nested too deeply");
			scope_open(p);
			parser_next(p);
		} else if (parser_at(p, '}')) {
			if (depth-- == 0)
				break;
			scope_close(p);
			parser_next(p);
		} else {
			read_statement(p);
		}
	}
	parser_next(p);
}

static void skip_body(struct parser *p)
{
	if (!lexer_skip_block(&p->lexer))
		parser_fail(p, p->function->symbol.location, "a body without an end");
	parser_next(p);
}

/* ---- functions ---- */

static void read_triple(struct parser *p, uint32_t out[3])
{
	out[1] = out[2] = 1;
	for (int i = 0; i < 3 && (i == 0 || parser_accept(p, ',')); i++) {
		struct ptx_location location = token_location(&p->token);
		out[i] = parser_take_count(p);
		if (!out[i])
			parser_fail(p, location, "a dimension must be at least 1");
	}
}

static bool read_performance_directive(struct parser *p, struct ptx_function *f)
{
	if (parser_accept_dot(p, ".maxntid"))
		read_triple(p, f->maxntid);
	else if (parser_accept_dot(p, ".reqntid"))
		read_triple(p, f->reqntid);
	else if (parser_accept_dot(p, ".minnctapersm") || parser_accept_dot(p, ".maxnctapersm"))
		f->minnctapersm = parser_take_count(p);
	else if (parser_accept_dot(p, ".maxnreg"))
		f->maxnreg = parser_take_count(p);
	else if (parser_accept_dot(p, ".maxclusterrank"))
		f->maxclusterrank = parser_take_count(p);
	else if (parser_accept_dot(p, ".reqnctapercluster"))
		read_triple(p, f->reqnctapercluster);
	else if (parser_accept_dot(p, ".explicitcluster"))
		f->explicitcluster = true;
	else if (parser_accept_dot(p, ".blocksareclusters"))
		f->blocksareclusters = true;
	else if (parser_accept_dot(p, ".noreturn"))
		f->noreturn = true;
	else if (parser_at_dot(p, ".pragma"))
		parser_read_pragma(p);
	else
		return read_abi_directive(p) || parser_read_debug_directive(p);
	return true;
}

static bool same_parameters(struct ptx_variable *const *a, size_t a_count, struct ptx_variable *const *b,
			    size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (a[i]->space != b[i]->space || a[i]->size != b[i]->size || a[i]->unsized != b[i]->unsized)
			return false;
	return true;
}

/* Where the name was declared before, the definition takes the declaration's place. */
static struct ptx_function *find_declared(struct parser *p, const struct ptx_function *f, const struct name *name)
{
	struct ptx_symbol *former = scope_find_global(name);
	if (!former)
		return NULL;
	struct ptx_function *old = (struct ptx_function *)former;
	if (former->kind != PTX_SYMBOL_FUNCTION || (!old->is_declaration && !f->is_declaration))
		parser_fail(p, f->symbol.location, "'%s' is declared twice", name->text);
	if (old->is_entry != f->is_entry ||
	    !same_parameters(old->parameters.data, old->parameters.count, f->parameters.data, f->parameters.count) ||
	    !same_parameters(old->results.data, old->results.count, f->results.data, f->results.count))
		parser_fail(p, f->symbol.location, "'%s' is declared differently before", name->text);
	return old;
}

void function_free(struct ptx_function *f)
{
	vec_fini(&f->results);
	vec_fini(&f->parameters);
	vec_fini(&f->registers);
	vec_fini(&f->variables);
	vec_fini(&f->labels);
	vec_fini(&f->prototypes);
	vec_fini(&f->targets);
	vec_fini(&f->pragmas);
}

/* Makes `f` known outside of its own scope, so that it may call itself. */
static struct ptx_function *add_function(struct parser *p, struct ptx_function *f, struct name *name)
{
	struct ptx_function *old = find_declared(p, f, name);
	if (!old) {
		struct scope *inner = p->scope;
		f->index = (uint32_t)p->module->functions.count;
		parser_push(p, &p->module->functions, f);
		map_put_n(&p->module->symbols, name->text, name->length, &f->symbol);
		p->scope = inner->outer;
		scope_add_symbol(p, name, &f->symbol);
		p->scope = inner;
		return f;
	}
	if (f->is_declaration) {
		function_free(f);
		return old;
	}
	function_free(old);
	f->index = old->index;
	*old = *f;
	*f = (struct ptx_function){ 0 };
	for (size_t i = 0; i < old->parameters.count; i++)
		old->parameters.data[i]->function = old;
	for (size_t i = 0; i < old->results.count; i++)
		old->results.data[i]->function = old;
	return old;
}

/* What `.attribute(.unified(…))` says about a function changes nothing here. */
static void skip_attribute(struct parser *p)
{
	while (parser_accept_dot(p, ".attribute")) {
		parser_expect(p, '(', "'('");
		for (unsigned depth = 1; depth; parser_next(p)) {
			depth += (unsigned)parser_at(p, '(') - (unsigned)parser_at(p, ')');
			if (p->token.kind == TOKEN_END)
				parser_fail_expected(p, "')'");
		}
	}
}

void function_read(struct parser *p, enum ptx_linkage linkage)
{
	struct ptx_function *f = arena_new(&p->module->arena, struct ptx_function);
	f->is_entry = parser_at_dot(p, ".entry");
	f->linkage = linkage;
	f->module = p->module;
	f->symbol.kind = PTX_SYMBOL_FUNCTION;
	f->symbol.name = "";
	p->function = f;
	scope_open(p);
	parser_next(p);
	skip_attribute(p);
	if (!f->is_entry && parser_at(p, '('))
		read_parameters(p, f, true);
	f->symbol.location = token_location(&p->token);
	struct name *name = parser_take_name(p, f->is_entry ? "a kernel's name" : "a function's name");
	f->symbol.name = name->text;
	if (parser_at(p, '('))
		read_parameters(p, f, false);
	if (f->is_entry)
		lay_out_parameters(p, f);
	while (read_performance_directive(p, f))
		;
	f->is_declaration = !parser_at(p, '{');
	p->function = f = add_function(p, f, name);
	if (parser_at(p, '{') && p->module->heads_only) {
		skip_body(p);
	} else if (parser_at(p, '{')) {
		read_body(p);
		check_function(p, f);
	} else if (!parser_accept(p, ';') && p->token.kind != TOKEN_DOT) { /* PTX 1.x: no ';' behind a declaration */
		parser_fail_expected(p, "'{' or ';'");
	}
	scope_close(p);
	settle_labels(p);
	p->function = NULL;
}
