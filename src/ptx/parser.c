/* Modules and what stands at their level (ISA chapter 11), and what all parts of the parser use.
 *
 * A recursive-descent parser with one token of look-ahead; see parser.h for its parts. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "ptx/parser.h"

enum { HIGHEST_FILE = 1 << 20 };

/* ---- errors and tokens ---- */

_Noreturn void parser_fail(struct parser *p, struct ptx_location location, const char *format, ...)
{
	char message[600];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	ptx_error(p->diagnostic, p->module, p->function, location, "%s", message);
	longjmp(*p->failure, 1);
}

_Noreturn void parser_fail_memory(struct parser *p)
{
	parser_fail(p, (struct ptx_location){ 0 }, "out of memory");
}

_Noreturn void parser_fail_expected(struct parser *p, const char *what)
{
	struct ptx_location location = token_location(&p->token);
	if (p->token.kind == TOKEN_END)
		parser_fail(p, location, "%s expected at the end of the text", what);
	if (p->token.kind == TOKEN_STRING)
		parser_fail(p, location, "%s expected, not a string", what);
	parser_fail(p, location, "%s expected, not '%.*s'", what, p->token.length < 80 ? (int)p->token.length : 80,
		    p->token.text);
}

void parser_next(struct parser *p)
{
	lexer_next(&p->lexer, &p->token);
	if (p->lexer.problem)
		parser_fail(p, token_location(&p->token), "%s", p->lexer.problem);
}

void parser_expect(struct parser *p, unsigned mark, const char *what)
{
	if (!parser_accept(p, mark))
		parser_fail_expected(p, what);
}

bool parser_at_dot(const struct parser *p, const char *word)
{
	size_t length = strlen(word);
	return p->token.kind == TOKEN_DOT && p->token.length == length && !memcmp(p->token.text, word, length);
}

bool parser_accept_dot(struct parser *p, const char *word)
{
	if (!parser_at_dot(p, word))
		return false;
	parser_next(p);
	return true;
}

struct name *parser_take_name(struct parser *p, const char *what)
{
	if (p->token.kind != TOKEN_NAME)
		parser_fail_expected(p, what);
	struct name *name = names_intern(p, p->token.text, p->token.length);
	parser_next(p);
	return name;
}

static const char *take_string(struct parser *p)
{
	if (p->token.kind != TOKEN_STRING)
		parser_fail_expected(p, "a string");
	const char *text = arena_strndup(&p->module->arena, p->token.text, p->token.length);
	parser_next(p);
	return text;
}

uint32_t parser_take_count(struct parser *p)
{
	return (uint32_t)expression_read_unsigned(p, UINT32_MAX, "a count");
}

/* ---- .loc, .file, .section: debugging information (11.5), of which only file names are kept ---- */

static void read_loc(struct parser *p)
{
	/* .loc file line column {, function_name label {+ offset}, inlined_at file line column} */
	parser_next(p);
	for (int i = 0; i < 3; i++)
		parser_take_count(p);
	while (parser_accept(p, ',')) {
		bool inlined = p->token.kind == TOKEN_NAME && p->token.length == 10 &&
			       !memcmp(p->token.text, "inlined_at", 10);
		parser_take_name(p, "function_name or inlined_at");
		if (inlined) {
			for (int i = 0; i < 3; i++)
				parser_take_count(p);
			continue;
		}
		parser_take_name(p, "a label");
		if (parser_accept(p, '+'))
			parser_take_count(p);
	}
}

static void read_file(struct parser *p)
{
	struct ptx_location location = token_location(&p->token);
	parser_next(p);
	uint32_t number = parser_take_count(p);
	if (number > HIGHEST_FILE)
		parser_fail(p, location, "file number %u is too large", number);
	const char *name = take_string(p);
	while (p->module->files.count <= number)
		parser_push(p, &p->module->files, NULL);
	p->module->files.data[number] = name;
	if (parser_accept(p, ',')) {
		parser_take_count(p);
		parser_expect(p, ',', "','");
		parser_take_count(p);
	}
}

static void read_section(struct parser *p)
{
	struct ptx_location location = token_location(&p->token);
	parser_next(p);
	if (p->token.kind != TOKEN_DOT && p->token.kind != TOKEN_NAME)
		parser_fail_expected(p, "a section's name");
	parser_next(p);
	if (!parser_at(p, '{'))
		parser_fail_expected(p, "'{'");
	if (!lexer_skip_block(&p->lexer))
		parser_fail(p, location, "section without its '}'");
	parser_next(p);
}

/* @@DWARF .4byte … of PTX 1 and 2 compilers: to the end of the line */
static void skip_line(struct parser *p)
{
	const char *newline = memchr(p->lexer.at, '\n', (size_t)(p->lexer.end - p->lexer.at));
	p->lexer.at = newline ? newline : p->lexer.end;
	parser_next(p);
}

/* Directives that may stand anywhere and say nothing about the program. */
bool parser_read_debug_directive(struct parser *p)
{
	if (parser_at_dot(p, ".loc"))
		read_loc(p);
	else if (parser_at_dot(p, ".file"))
		read_file(p);
	else if (parser_at_dot(p, ".section"))
		read_section(p);
	else if (parser_at(p, '@') && p->lexer.at[0] == '@')
		skip_line(p);
	else
		return false;
	return true;
}

void parser_read_pragma(struct parser *p)
{
	parser_next(p);
	do {
		const char *text = take_string(p);
		if (p->function) {
			struct ptx_pragma pragma = { text, p->function->instruction_count };
			parser_push(p, &p->function->pragmas, pragma);
		} else {
			parser_push(p, &p->module->pragmas, text);
		}
	} while (parser_accept(p, ','));
	parser_expect(p, ';', "';'");
}

/* .alias f, g; (11.1): f is another name of g */
static void read_alias(struct parser *p)
{
	struct ptx_function *functions[2] = { 0 };
	parser_next(p);
	for (int i = 0; i < 2; i++) {
		struct ptx_location location = token_location(&p->token);
		struct name *name = parser_take_name(p, "a function's name");
		struct ptx_symbol *symbol = scope_find_symbol(name);
		if (!symbol || symbol->kind != PTX_SYMBOL_FUNCTION || ((struct ptx_function *)symbol)->is_entry)
			parser_fail(p, location, "'%s' is not a function", name->text);
		functions[i] = (struct ptx_function *)symbol;
		if (i == 0)
			parser_expect(p, ',', "','");
	}
	if (functions[0] == functions[1] || functions[1]->alias_of)
		parser_fail(p, token_location(&p->token), "'%s' cannot be an alias of '%s'", functions[0]->symbol.name,
			    functions[1]->symbol.name);
	functions[0]->alias_of = functions[1];
	parser_expect(p, ';', "';'");
}

/* ---- modules ---- */

static void read_version(struct parser *p)
{
	/* The number is two integers with a dot: `.version 10.2` is no decimal fraction. */
	const char *at = lexer_peek(&p->lexer, p->lexer.at);
	unsigned major = 0, minor = 0, digits = 0;
	struct ptx_location location = token_location(&p->token);
	while (lexer_is(*at, CHAR_DIGIT) && digits++ < 3)
		major = major * 10 + (unsigned)(*at++ - '0');
	if (!digits || *at != '.' || !lexer_is(at[1], CHAR_DIGIT))
		parser_fail(p, location, ".version needs a number such as 8.0");
	minor = (unsigned)(at[1] - '0');
	p->lexer.at = at + 2;
	p->module->version = (uint16_t)(major * 10 + minor);
	parser_next(p);
}

static void read_target_name(struct parser *p)
{
	const char *text = p->token.text;
	if (p->token.length < 4 || memcmp(text, "sm_", 3) != 0)
		return;
	unsigned sm = 0;
	uint32_t at = 3;
	while (at < p->token.length && lexer_is(text[at], CHAR_DIGIT) && sm < 1000)
		sm = sm * 10 + (unsigned)(text[at++] - '0');
	if (p->token.length - at > 1 || (p->token.length > at && text[at] != 'a' && text[at] != 'f'))
		parser_fail(p, token_location(&p->token), "unknown target '%.*s'", (int)p->token.length, text);
	p->module->sm = (uint16_t)sm;
	p->module->target = arena_strndup(&p->module->arena, text, p->token.length);
}

static bool is_target_option(const struct token *token, const char *word)
{
	return token->length == strlen(word) && !memcmp(token->text, word, token->length);
}

static void read_target(struct parser *p)
{
	static const char *const others[] = { "texmode_unified", "map_f64_to_f32", "texmode_raw" };
	struct ptx_location location = token_location(&p->token);
	parser_next(p);
	do {
		if (p->token.kind != TOKEN_NAME)
			parser_fail_expected(p, "a target");
		bool known = p->token.length > 3 && !memcmp(p->token.text, "sm_", 3) &&
			     lexer_is(p->token.text[3], CHAR_DIGIT);
		for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
			known |= is_target_option(&p->token, others[i]);
		if (is_target_option(&p->token, "texmode_independent"))
			known = p->module->texmode_independent = true;
		if (is_target_option(&p->token, "debug"))
			known = p->module->debug = true;
		if (!known)
			parser_fail(p, token_location(&p->token), "unknown target '%.*s'", (int)p->token.length,
				    p->token.text);
		read_target_name(p);
		parser_next(p);
	} while (parser_accept(p, ','));
	if (!*p->module->target)
		parser_fail(p, location, ".target names no architecture such as sm_80");
}

static void read_address_size(struct parser *p)
{
	parser_next(p);
	struct ptx_location location = token_location(&p->token);
	uint64_t size = expression_read_unsigned(p, UINT32_MAX, "an address size");
	if (size != 32 && size != 64)
		parser_fail(p, location, ".address_size must be 32 or 64");
	p->module->address_size = (uint8_t)size;
}

static void read_module_directive(struct parser *p)
{
	enum ptx_linkage linkage = PTX_INTERNAL;
	if (variable_at_linkage(p, &linkage))
		parser_next(p);
	if (parser_at_dot(p, ".entry") || parser_at_dot(p, ".func"))
		function_read(p, linkage);
	else if (variable_at_space(p))
		variable_read(p, linkage);
	else if (linkage != PTX_INTERNAL)
		parser_fail_expected(p, "a function or a variable");
	else if (parser_at_dot(p, ".target"))
		read_target(p);
	else if (parser_at_dot(p, ".address_size"))
		read_address_size(p);
	else if (parser_at_dot(p, ".alias"))
		read_alias(p);
	else if (parser_at_dot(p, ".pragma"))
		parser_read_pragma(p);
	else if (!parser_read_debug_directive(p) && !parser_accept(p, ';')) {
		if (p->token.kind != TOKEN_DOT)
			parser_fail_expected(p, "a directive");
		parser_fail(p, token_location(&p->token), "unknown directive '%.*s'", (int)p->token.length,
			    p->token.text);
	}
}

/* In the function that calls setjmp its variables could be in registers that the jump back restores, of which gcc warns (on Arm, say). */
__attribute__((noinline)) static void read_module(struct parser *p)
{
	names_init(p);
	scope_open(p);
	parser_next(p);
	while (parser_read_debug_directive(p))
		;
	if (!parser_at_dot(p, ".version"))
		parser_fail_expected(p, "'.version'");
	read_version(p);
	while (parser_read_debug_directive(p))
		;
	if (!parser_at_dot(p, ".target"))
		parser_fail_expected(p, "'.target'");
	while (p->token.kind != TOKEN_END)
		read_module_directive(p);
	scope_close(p);
}

static void parser_fini(struct parser *p)
{
	names_fini(p);
	map_fini(&p->forms);
	vec_fini(&p->operands);
	vec_fini(&p->initials);
	vec_fini(&p->targets);
	text_fini(&p->joined);
	arena_fini(&p->scratch);
}

static struct ptx_module *make_module(const char *text, size_t length, const char *name)
{
	struct ptx_module *module = calloc(1, sizeof *module);
	if (!module)
		return NULL;
	while (length && !text[length - 1])
		length--;
	char *copy = arena_text(&module->arena, length + 8);
	memcpy(copy, text, length);
	memset(copy + length, 0, 8);
	module->text = copy;
	module->text_length = length;
	module->name = arena_strndup(&module->arena, name ? name : "PTX", strlen(name ? name : "PTX"));
	module->target = "";
	module->address_size = 32; /* 11.1.3: where the directive is absent */
	return module;
}

static struct ptx_module *parse(const char *text, size_t length, const char *name, bool heads_only, struct ptx_diagnostic *diagnostic)
{
	jmp_buf failure;
	struct parser *p = calloc(1, sizeof *p);
	struct ptx_module *volatile module = p ? make_module(text, length, name) : NULL;
	if (!module) {
		free(p);
		ptx_error(diagnostic, NULL, NULL, (struct ptx_location){ 0 }, "out of memory");
		return NULL;
	}
	module->heads_only = heads_only;
	p->module = module;
	p->diagnostic = diagnostic;
	p->failure = &failure;
	lexer_init(&p->lexer, module->text, module->text_length);
	if (setjmp(failure) == 0) {
		read_module(p);
	} else {
		/* A definition that was to replace a declaration is in no list. */
		if (p->function &&
		    p->function != (struct ptx_function *)map_get(&module->symbols, p->function->symbol.name))
			function_free(p->function);
		ptx_destroy(module);
		module = NULL;
	}
	parser_fini(p);
	free(p);
	return module;
}

struct ptx_module *ptx_parse(const char *text, size_t length, const char *name, struct ptx_diagnostic *diagnostic)
{
	return parse(text, length, name, false, diagnostic);
}

struct ptx_module *ptx_parse_heads(const char *text, size_t length, const char *name, struct ptx_diagnostic *diagnostic)
{
	return parse(text, length, name, true, diagnostic);
}

const struct ptx_module *ptx_whole(const struct ptx_module *module, struct ptx_diagnostic *diagnostic)
{
	_Atomic(struct ptx_module *) *place = &((struct ptx_module *)(uintptr_t)module)->whole;
	struct ptx_module *whole = atomic_load(place), *none = NULL;
	if (!module->heads_only || whole)
		return whole ? whole : module;
	whole = ptx_parse(module->text, module->text_length, module->name, diagnostic);
	if (!whole)
		return NULL;
	for (size_t i = 0; i < whole->functions.count && i < module->functions.count; i++)
		whole->functions.data[i]->maxnreg = module->functions.data[i]->maxnreg; /* which options may have set */
	if (atomic_compare_exchange_strong(place, &none, whole))
		return whole;
	ptx_destroy(whole); /* another thread was first */
	return none;
}

struct ptx_module *ptx_keep(const struct ptx_module *module)
{
	struct ptx_module *kept = (struct ptx_module *)(uintptr_t)module;
	atomic_fetch_add(&kept->owners, 1);
	return kept;
}

void ptx_destroy(struct ptx_module *module)
{
	if (!module || atomic_fetch_sub(&module->owners, 1))
		return;
	ptx_destroy(atomic_load(&module->whole));
	for (size_t i = 0; i < module->functions.count; i++) {
		struct ptx_function *f = module->functions.data[i];
		for (size_t k = 0; k < f->prototypes.count; k++) {
			vec_fini(&f->prototypes.data[k]->results);
			vec_fini(&f->prototypes.data[k]->parameters);
		}
		function_free(f);
	}
	vec_fini(&module->variables);
	vec_fini(&module->functions);
	vec_fini(&module->files);
	vec_fini(&module->pragmas);
	map_fini(&module->symbols);
	arena_fini(&module->arena);
	free(module);
}

/* ---- looking things up ---- */

const struct ptx_function *ptx_find_entry(const struct ptx_module *module, const char *name)
{
	const struct ptx_symbol *symbol = map_get(&module->symbols, name);
	if (!symbol || symbol->kind != PTX_SYMBOL_FUNCTION)
		return NULL;
	const struct ptx_function *f = (const struct ptx_function *)symbol;
	return f->is_entry && !f->is_declaration ? f : NULL;
}

const struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name)
{
	const struct ptx_symbol *symbol = map_get(&module->symbols, name);
	return symbol && symbol->kind == PTX_SYMBOL_VARIABLE ? (const struct ptx_variable *)symbol : NULL;
}
