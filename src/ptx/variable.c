/* Declarations of registers, variables and parameters (ISA 5.1, 5.4, 11.6): space, alignment, type,
 * dimensions, initialisers. */
#include "ptx/parser.h"

enum { MOST_DIMENSIONS = 16, HANDLE_BYTES = 8 };

struct declaration {
	enum ptx_space space;
	enum ptx_type type;
	uint8_t vector;
	uint32_t align;
	bool managed, pointer;
	enum ptx_space pointer_space;
	uint32_t pointer_align;
};

bool variable_at_linkage(struct parser *p, enum ptx_linkage *linkage)
{
	static const struct {
		const char *word;
		enum ptx_linkage linkage;
	} words[] = {
		{ ".visible", PTX_VISIBLE }, { ".extern", PTX_EXTERN }, { ".weak", PTX_WEAK }, { ".common", PTX_COMMON }
	};
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		if (parser_at_dot(p, words[i].word)) {
			*linkage = words[i].linkage;
			return true;
		}
	return false;
}

static const struct {
	const char *word;
	enum ptx_space space;
} spaces[] = {
	{ ".reg", PTX_SPACE_REG },     { ".const", PTX_SPACE_CONST }, { ".global", PTX_SPACE_GLOBAL },
	{ ".local", PTX_SPACE_LOCAL }, { ".param", PTX_SPACE_PARAM }, { ".shared", PTX_SPACE_SHARED },
	{ ".tex", PTX_SPACE_TEX },     { ".sreg", PTX_SPACE_SREG },
};

static bool at_space(const struct parser *p, enum ptx_space *space)
{
	for (size_t i = 0; i < ARRAY_LENGTH(spaces); i++)
		if (parser_at_dot(p, spaces[i].word)) {
			*space = spaces[i].space;
			return true;
		}
	return false;
}

bool variable_at_space(const struct parser *p)
{
	enum ptx_space space;
	return at_space(p, &space);
}

static enum ptx_type type_at(const struct parser *p)
{
	if (p->token.kind != TOKEN_DOT)
		return PTX_TYPE_NONE;
	return ptx_type_of_mod(isa_find_mod(p->token.text + 1, p->token.length - 1));
}

static uint32_t read_align(struct parser *p)
{
	struct ptx_location location = token_location(&p->token);
	uint64_t align = expression_read_unsigned(p, UINT32_C(1) << 30, "an alignment");
	if (!align || align & (align - 1))
		parser_fail(p, location, "alignment %llu is not a power of two", (unsigned long long)align);
	return (uint32_t)align;
}

/* 11.6, 5.4.8: .attribute(.managed), .attribute(.unified(uuid1, uuid2)), lists of them */
static void read_attribute(struct parser *p, struct declaration *d)
{
	parser_next(p);
	parser_expect(p, '(', "'('");
	for (unsigned depth = 1; depth;) {
		if (parser_at_dot(p, ".managed"))
			d->managed = true;
		if (parser_at(p, '('))
			depth++;
		else if (parser_at(p, ')'))
			depth--;
		else if (p->token.kind == TOKEN_END || parser_at(p, ';'))
			parser_fail_expected(p, "')'");
		parser_next(p);
	}
}

/* .ptr .global .align 8 of a kernel parameter (5.1.6.1) */
static void read_pointer(struct parser *p, struct declaration *d)
{
	d->pointer = true;
	parser_next(p);
	if (at_space(p, &d->pointer_space))
		parser_next(p);
	if (parser_accept_dot(p, ".align"))
		d->pointer_align = read_align(p);
}

static bool read_vector(struct parser *p, struct declaration *d)
{
	if (!parser_at_dot(p, ".v2") && !parser_at_dot(p, ".v4") && !parser_at_dot(p, ".v8"))
		return false;
	d->vector = (uint8_t)(p->token.text[2] - '0');
	parser_next(p);
	return true;
}

/* All that stands before the name. */
static void read_declaration(struct parser *p, struct declaration *d)
{
	*d = (struct declaration){ .vector = 1 };
	if (!at_space(p, &d->space))
		parser_fail_expected(p, "a state space");
	parser_next(p);
	if (d->space == PTX_SPACE_CONST && parser_accept(p, '[')) { /* banks of PTX 2.1 and before */
		expression_read_unsigned(p, 10, "a constant bank");
		parser_expect(p, ']', "']'");
	}
	while (p->token.kind == TOKEN_DOT) {
		enum ptx_type type = type_at(p);
		if (parser_accept_dot(p, ".align")) {
			d->align = read_align(p);
		} else if (parser_at_dot(p, ".attribute")) {
			read_attribute(p, d);
		} else if (parser_at_dot(p, ".ptr")) {
			read_pointer(p, d);
		} else if (type && !d->type) {
			d->type = type;
			parser_next(p);
		} else if (!read_vector(p, d)) {
			parser_fail(p, token_location(&p->token), "'%.*s' does not belong in a declaration",
				    (int)p->token.length, p->token.text);
		}
	}
	if (!d->type)
		parser_fail_expected(p, "a type");
}

static bool is_opaque(enum ptx_type type)
{
	return type == PTX_TEXREF || type == PTX_SAMPLERREF || type == PTX_SURFREF;
}

static uint32_t element_bytes(const struct ptx_variable *v)
{
	return is_opaque(v->type) ? HANDLE_BYTES : ptx_type_bits(v->type) / 8 * v->vector;
}

static struct ptx_variable *make_variable(struct parser *p, const struct declaration *d, const char *name,
					  struct ptx_location location)
{
	struct ptx_variable *v = arena_new(&p->module->arena, struct ptx_variable);
	v->symbol = (struct ptx_symbol){ PTX_SYMBOL_VARIABLE, name, location };
	v->space = d->space;
	v->type = d->type;
	v->vector = d->vector;
	v->managed = d->managed;
	v->pointer = d->pointer;
	v->pointer_space = d->pointer_space;
	v->pointer_align = d->pointer_align;
	v->function = p->function;
	v->size = element_bytes(v);
	v->align = d->align ? d->align : (uint32_t)v->size;
	if (!v->size && v->type != PTX_PRED)
		parser_fail(p, location, "a variable cannot be of type .%s", ptx_type_name(v->type));
	return v;
}

/* [4][2], [] */
static void read_dimensions(struct parser *p, struct ptx_variable *v)
{
	uint32_t dims[MOST_DIMENSIONS];
	unsigned count = 0;
	while (parser_at(p, '[')) {
		struct ptx_location location = token_location(&p->token);
		parser_next(p);
		if (count == MOST_DIMENSIONS)
			parser_fail(p, location, "more than %d dimensions", MOST_DIMENSIONS);
		v->is_array = true;
		uint64_t n = 0;
		if (parser_at(p, ']')) {
			if (count)
				parser_fail(p, location, "only the first dimension can be left open");
			v->unsized = true;
		} else {
			n = expression_read_unsigned(p, UINT32_MAX, "a dimension");
		}
		parser_expect(p, ']', "']'");
		if (!(count == 0 && v->unsized) && __builtin_mul_overflow(v->size, n, &v->size))
			parser_fail(p, location, "array is too large");
		dims[count++] = (uint32_t)n;
	}
	if (!count)
		return;
	v->dims.data = arena_array(&p->module->arena, uint32_t, count);
	memcpy(v->dims.data, dims, count * sizeof *dims);
	v->dims.count = v->dims.capacity = count;
}

/* ---- initialisers (5.4.4, 5.4.5) ---- */

struct filler {
	struct ptx_variable *variable;
	uint64_t at, high; /* next element's offset; end of what was given */
	uint32_t bytes;    /* of an element's component */
};

/* Tables of bytes would otherwise take ten times the text's size. */
static void push_packed(struct parser *p, struct ptx_initial element, unsigned bytes, uint64_t size)
{
	uint64_t word = element.offset & ~UINT64_C(7);
	if (!element.symbol && bytes < 8 && word + 8 <= size) {
		uint64_t shifted = element.bits << (element.offset - word) * 8;
		struct ptx_initial *last = p->initials.count ? &p->initials.data[p->initials.count - 1] : NULL;
		if (last && last->offset == word && last->type == PTX_B64 && !last->symbol) {
			last->bits |= shifted;
			return;
		}
		element = (struct ptx_initial){ .offset = word, .type = PTX_B64, .bits = shifted };
	}
	parser_push(p, &p->initials, element);
}

static void add_element(struct parser *p, struct filler *f, struct ptx_initial element)
{
	struct ptx_variable *v = f->variable;
	if (!v->unsized && f->at + f->bytes > v->size)
		parser_fail(p, token_location(&p->token), "more values than '%s' has room for", v->symbol.name);
	element.offset = f->at;
	f->at += f->bytes;
	if (f->at > f->high)
		f->high = f->at;
	if (element.symbol || element.bits)
		push_packed(p, element, f->bytes, v->unsized ? 0 : v->size);
}

static const struct ptx_symbol *read_address_of(struct parser *p, bool *generic)
{
	struct ptx_location location = token_location(&p->token);
	struct name *name = parser_take_name(p, "a name");
	if (!strcmp(name->text, "generic") && parser_at(p, '(') && !*generic) {
		parser_next(p);
		*generic = true;
		const struct ptx_symbol *symbol = read_address_of(p, generic);
		parser_expect(p, ')', "')'");
		return symbol;
	}
	const struct ptx_symbol *symbol = scope_find_symbol(name);
	if (!symbol)
		parser_fail(p, location, "undeclared name '%s'", name->text);
	if (symbol->kind != PTX_SYMBOL_VARIABLE && symbol->kind != PTX_SYMBOL_FUNCTION)
		parser_fail(p, location, "'%s' has no address", name->text);
	return symbol;
}

static void read_symbol_element(struct parser *p, struct ptx_initial *element)
{
	element->symbol = read_address_of(p, &element->generic);
	if (!parser_at(p, '+') && !parser_at(p, '-'))
		return;
	struct ptx_location location = token_location(&p->token);
	struct constant c = expression_read(p);
	if (c.is_float)
		parser_fail(p, location, "an offset must be an integer");
	element->bits = c.bits;
}

/* 0xFF00(symbol): whole bytes side by side */
static void read_mask(struct parser *p, struct ptx_initial *element)
{
	uint64_t mask = p->token.bits;
	struct ptx_location location = token_location(&p->token);
	unsigned shift = 0, bytes = 0;
	while (shift < 64 && !(mask >> shift & 0xFF))
		shift += 8;
	while (shift + bytes * 8 < 64 && (mask >> (shift + bytes * 8) & 0xFF) == 0xFF)
		bytes++;
	if (!bytes || (shift + bytes * 8 < 64 && mask >> (shift + bytes * 8)))
		parser_fail(p, location, "the mask of an address must be whole bytes, such as 0xFF00");
	parser_next(p);
	parser_expect(p, '(', "'('");
	read_symbol_element(p, element);
	parser_expect(p, ')', "')'");
	element->mask_shift = (uint8_t)shift;
	element->mask_bytes = (uint8_t)bytes;
}

static uint64_t read_number(struct parser *p, enum ptx_type type)
{
	struct ptx_location location = token_location(&p->token);
	struct constant c = expression_read(p);
	if (c.is_float && type != PTX_F32 && type != PTX_F64)
		parser_fail(p, location, "a floating-point constant where .%s is expected", ptx_type_name(type));
	return constant_bits(c, type);
}

static void read_element(struct parser *p, struct filler *f)
{
	struct ptx_initial element = { .type = f->variable->type };
	if (p->token.kind == TOKEN_INTEGER && *lexer_peek(&p->lexer, p->lexer.at) == '(')
		read_mask(p, &element);
	else if (p->token.kind == TOKEN_NAME && !(p->token.length == 7 && !memcmp(p->token.text, "WARP_SZ", 7)))
		read_symbol_element(p, &element);
	else
		element.bits = read_number(p, element.type);
	add_element(p, f, element);
}

/* {…} of the dimension `level`; the elements of a vector type are one more. */
static void read_braces(struct parser *p, struct filler *f, unsigned level)
{
	const struct ptx_variable *v = f->variable;
	uint64_t stride = f->bytes, begin = f->at;
	for (size_t i = level + 1; i < v->dims.count; i++)
		stride *= v->dims.data[i];
	if (level < v->dims.count)
		stride *= v->vector;
	parser_next(p);
	if (level > v->dims.count)
		parser_fail(p, token_location(&p->token), "'{' within the elements of '%s'", v->symbol.name);
	while (!parser_at(p, '}')) {
		if (parser_at(p, '{')) {
			uint64_t into = stride ? (f->at - begin) % stride : 0;
			uint64_t next = into ? f->at + stride - into : f->at;
			f->at = next;
			read_braces(p, f, level + 1);
			f->at = next + stride;
		} else {
			read_element(p, f);
		}
		if (!parser_accept(p, ','))
			break;
	}
	parser_expect(p, '}', "'}'");
}

static void read_initial(struct parser *p, struct ptx_variable *v)
{
	struct filler f = { .variable = v, .bytes = element_bytes(v) / v->vector };
	if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST)
		parser_fail(p, token_location(&p->token), "only .global and .const variables can be initialised");
	p->initials.count = 0;
	if (parser_at(p, '{'))
		read_braces(p, &f, 0);
	else
		read_element(p, &f);
	if (v->unsized) { /* the values say how long it is */
		uint64_t row = element_bytes(v);
		for (size_t i = 1; i < v->dims.count; i++)
			row *= v->dims.data[i];
		v->dims.data[0] = row ? (uint32_t)((f.high + row - 1) / row) : 0;
		v->size = v->dims.data[0] * row;
		v->unsized = false;
		size_t count = p->initials.count;
		p->initials.count = 0;
		for (size_t i = 0; i < count; i++) /* what is packed takes no more places than it had */
			push_packed(p, p->initials.data[i], f.bytes, v->size);
	}
	v->initial_count = (uint32_t)p->initials.count;
	v->initial = arena_array(&p->module->arena, struct ptx_initial, p->initials.count);
	if (p->initials.count)
		memcpy(v->initial, p->initials.data, p->initials.count * sizeof *v->initial);
}

static int8_t *sampling_field(struct ptx_sampling *s, const char *name)
{
	static const struct { const char *name; size_t offset; } fields[] = {
		{ "addr_mode_0", offsetof(struct ptx_sampling, address[0]) },
		{ "addr_mode_1", offsetof(struct ptx_sampling, address[1]) },
		{ "addr_mode_2", offsetof(struct ptx_sampling, address[2]) },
		{ "filter_mode", offsetof(struct ptx_sampling, linear) },
		{ "normalized_coords", offsetof(struct ptx_sampling, normalized) },
		{ "force_unnormalized_coords", offsetof(struct ptx_sampling, unnormalized) },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++)
		if (!strcmp(fields[i].name, name))
			return (int8_t *)s + fields[i].offset;
	return NULL;
}

/* -1: no value of an addr_mode or filter_mode. */
static int8_t sampling_value(const char *value)
{
	static const struct { const char *name; int8_t value; } values[] = {
		{ "wrap", PTX_ADDRESS_WRAP }, { "mirror", PTX_ADDRESS_MIRROR }, { "clamp_ogl", PTX_ADDRESS_CLAMP_OGL },
		{ "clamp_to_edge", PTX_ADDRESS_CLAMP_TO_EDGE }, { "clamp_to_border", PTX_ADDRESS_CLAMP_TO_BORDER },
		{ "nearest", 0 }, { "linear", 1 },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(values); i++)
		if (!strcmp(values[i].name, value))
			return values[i].value;
	return -1;
}

/* .samplerref s = { addr_mode_0 = clamp_to_border, … } (5.3): kept as "name = value, …" */
static void read_opaque_initial(struct parser *p, struct ptx_variable *v)
{
	struct text *fields = &p->joined;
	struct ptx_sampling *sampling = arena_array(&p->module->arena, struct ptx_sampling, 1);
	fields->count = 0;
	memset(sampling, -1, sizeof *sampling);
	parser_expect(p, '{', "'{'");
	while (!parser_at(p, '}')) {
		const char *field = parser_take_name(p, "a field's name")->text;
		int8_t *known = sampling_field(sampling, field);
		struct ptx_location location;
		text_printf(fields, "%s%s = ", fields->count ? ", " : "", field);
		parser_expect(p, '=', "'='");
		location = token_location(&p->token);
		if (p->token.kind == TOKEN_NAME) {
			const char *value = parser_take_name(p, "a value")->text;
			text_printf(fields, "%s", value);
			if (known && (*known = sampling_value(value)) < 0)
				parser_fail(p, location, "'%s' is no value of %s", value, field);
		} else {
			uint32_t value = parser_take_count(p);
			text_printf(fields, "%u", value);
			if (known)
				*known = value != 0;
		}
		if (!parser_accept(p, ','))
			break;
	}
	parser_expect(p, '}', "'}'");
	v->sampling = sampling;
	v->opaque = arena_strndup(&p->module->arena, fields->count ? fields->data : "", fields->count);
}

/* ---- variables of a module or a function ---- */

static bool same_variable(const struct ptx_variable *a, const struct ptx_variable *b)
{
	return a->space == b->space && a->type == b->type && a->vector == b->vector &&
	       (a->unsized || b->unsized || a->size == b->size);
}

/* `.extern` before or after the definition, or twice: one variable. */
static bool redeclare(struct parser *p, struct ptx_variable *v, struct name *name)
{
	struct ptx_symbol *former = p->function ? NULL : scope_find_symbol(name);
	if (!former || former->kind != PTX_SYMBOL_VARIABLE)
		return false;
	struct ptx_variable *old = (struct ptx_variable *)former;
	if (old->linkage != PTX_EXTERN && v->linkage != PTX_EXTERN && v->linkage != PTX_COMMON &&
	    v->linkage != PTX_WEAK)
		return false;
	if (!same_variable(old, v))
		parser_fail(p, v->symbol.location, "'%s' is declared differently before", name->text);
	if (v->linkage != PTX_EXTERN) {
		uint32_t index = old->index;
		*old = *v;
		old->index = index;
	}
	return true;
}

static void add_variable(struct parser *p, struct ptx_variable *v, struct name *name)
{
	if (redeclare(p, v, name))
		return;
	scope_add_symbol(p, name, &v->symbol);
	if (p->function) {
		v->index = (uint32_t)p->function->variables.count;
		parser_push(p, &p->function->variables, v);
		return;
	}
	v->index = (uint32_t)p->module->variables.count;
	parser_push(p, &p->module->variables, v);
	map_put_n(&p->module->symbols, name->text, name->length, &v->symbol);
}

static void check_place(struct parser *p, const struct declaration *d, struct ptx_location location)
{
	if (p->function ? d->space == PTX_SPACE_TEX : d->space == PTX_SPACE_PARAM || d->space == PTX_SPACE_REG)
		parser_fail(p, location, "this state space cannot be declared here");
}

void variable_read(struct parser *p, enum ptx_linkage linkage)
{
	struct declaration d;
	struct ptx_location location = token_location(&p->token);
	read_declaration(p, &d);
	check_place(p, &d, location);
	do {
		location = token_location(&p->token);
		struct name *name = parser_take_name(p, "a variable's name");
		struct ptx_variable *v = make_variable(p, &d, name->text, location);
		v->linkage = linkage;
		read_dimensions(p, v);
		if (parser_accept(p, '=')) {
			if (is_opaque(v->type))
				read_opaque_initial(p, v);
			else
				read_initial(p, v);
		} else if (v->unsized && linkage != PTX_EXTERN && d.space != PTX_SPACE_SHARED) {
			parser_fail(p, location, "the size of '%s' is not given", name->text);
		}
		if (v->unsized)
			v->size = 0;
		add_variable(p, v, name);
	} while (parser_accept(p, ','));
	parser_expect(p, ';', "';'");
}

void variable_read_registers(struct parser *p)
{
	struct declaration d;
	read_declaration(p, &d);
	do {
		if (is_opaque(d.type))
			parser_fail(p, token_location(&p->token), "a register cannot be of type .%s",
				    ptx_type_name(d.type));
		struct name *name = parser_take_name(p, "a register's name");
		if (parser_accept(p, '<')) {
			uint64_t count = expression_read_before_angle(p, UINT32_MAX, "a number of registers");
			scope_add_registers(p, name, count, d.type, d.vector);
			parser_expect(p, '>', "'>'");
		} else {
			scope_add_register(p, name, d.type, d.vector);
		}
	} while (parser_accept(p, ','));
	parser_expect(p, ';', "';'");
}

struct ptx_variable *variable_read_parameter(struct parser *p, bool is_entry, bool declare)
{
	struct declaration d;
	struct ptx_location location = token_location(&p->token);
	read_declaration(p, &d);
	if (d.space != PTX_SPACE_PARAM && (is_entry || d.space != PTX_SPACE_REG))
		parser_fail(p, location, "a parameter must be in .param%s space", is_entry ? "" : " or .reg");
	location = token_location(&p->token);
	struct name *name = parser_take_name(p, "a parameter's name");
	struct ptx_variable *v = make_variable(p, &d, name->text, location);
	read_dimensions(p, v);
	if (v->unsized)
		v->size = 0;
	if (!declare || !strcmp(name->text, "_"))
		return v;
	if (d.space == PTX_SPACE_REG)
		scope_add_register(p, name, d.type, d.vector);
	else
		scope_add_symbol(p, name, &v->symbol);
	return v;
}
