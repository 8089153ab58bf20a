/* Names of PTX (ISA 4.4) and their scopes: a module, a function, nested blocks that may shadow.
 *
 * Every identifier is interned, and what it means now hangs on the interned name, so that finding it
 * costs one hash look-up. Numbered registers (`.reg .b32 %r<100>`, 11.6) are found through their
 * prefix instead: a function has a handful of prefixes and often 100,000 registers. Labels are
 * known before they are defined, and a block may use one that stands outside of it. */
#include <stdlib.h>

#include "ptx/parser.h"

enum { REGISTER_LIMIT = 1 << 20 };

void names_init(struct parser *p)
{
	p->name_capacity = 1024;
	p->names = calloc(p->name_capacity, sizeof *p->names);
	if (!p->names)
		parser_fail_memory(p);
}

void names_fini(struct parser *p)
{
	free(p->names);
	p->names = NULL;
}

static void grow(struct parser *p)
{
	size_t capacity = p->name_capacity * 2;
	struct name **names = calloc(capacity, sizeof *names);
	if (!names)
		parser_fail_memory(p);
	for (size_t i = 0; i < p->name_capacity; i++) {
		struct name *name = p->names[i];
		if (!name)
			continue;
		size_t at = name->hash & (capacity - 1);
		while (names[at])
			at = (at + 1) & (capacity - 1);
		names[at] = name;
	}
	free(p->names);
	p->names = names;
	p->name_capacity = capacity;
}

static struct name **find_slot(struct parser *p, const char *text, size_t length, uint32_t hash)
{
	size_t at = hash & (p->name_capacity - 1);
	struct name *name;
	while ((name = p->names[at])) {
		if (name->hash == hash && name->length == length && !memcmp(name->text, text, length))
			break;
		at = (at + 1) & (p->name_capacity - 1);
	}
	return &p->names[at];
}

struct name *names_intern(struct parser *p, const char *text, size_t length)
{
	uint32_t hash = (uint32_t)hash_bytes(text, length, 0);
	struct name **slot = find_slot(p, text, length, hash);
	if (*slot)
		return *slot;
	if (p->name_count * 4 >= p->name_capacity * 3) {
		grow(p);
		slot = find_slot(p, text, length, hash);
	}
	struct name *name = arena_new(&p->scratch, struct name);
	name->text = arena_strndup(&p->module->arena, text, length);
	name->length = (uint32_t)length;
	name->hash = hash;
	*slot = name;
	p->name_count++;
	return name;
}

static struct name *find_name(struct parser *p, const char *text, size_t length)
{
	return *find_slot(p, text, length, (uint32_t)hash_bytes(text, length, 0));
}

/* ---- scopes ---- */

void scope_open(struct parser *p)
{
	struct scope *scope = arena_new(&p->scratch, struct scope);
	scope->outer = p->scope;
	scope->depth = p->scope ? p->scope->depth + 1 : 0;
	p->scope = scope;
}

/* A label that a block uses but does not define is the enclosing block's. */
static void hand_out_label(struct parser *p, struct label_binding *binding)
{
	struct ptx_label *label = binding->label;
	if (label->defined)
		return;
	if (p->scope->depth == 1)
		parser_fail(p, label->symbol.location, "undefined label '%s'", label->symbol.name);
	struct scope *inner = p->scope;
	p->scope = inner->outer;
	struct ptx_label *outer = scope_refer_label(p, binding->name, label->symbol.location);
	p->scope = inner;
	((struct parsed_label *)label)->outer = outer;
	p->has_outer_labels = true;
}

void scope_close(struct parser *p)
{
	struct scope *scope = p->scope;
	for (struct binding *b = scope->bindings, *next; b; b = next) {
		next = b->next_in_scope;
		b->name->binding = b->outer;
		b->next_in_scope = p->free_bindings;
		p->free_bindings = b;
	}
	for (struct register_range *r = scope->ranges; r; r = r->next_in_scope)
		r->prefix->range = r->outer;
	for (struct label_binding *l = scope->labels; l; l = l->next_in_scope) {
		l->name->label = l->outer;
		hand_out_label(p, l);
	}
	p->scope = scope->outer;
}

/* Mostly on top; a function is named outside of the scope of its parameters when those are known already. */
static struct binding *bind(struct parser *p, struct name *name)
{
	struct binding **place = &name->binding;
	while (*place && (*place)->depth > p->scope->depth)
		place = &(*place)->outer;
	if (*place && (*place)->depth == p->scope->depth)
		parser_fail(p, token_location(&p->token), "'%s' is declared twice", name->text);
	struct binding *binding = p->free_bindings;
	if (binding)
		p->free_bindings = binding->next_in_scope;
	else
		binding = arena_new(&p->scratch, struct binding);
	*binding = (struct binding){
		.outer = *place, .name = name, .depth = p->scope->depth, .next_in_scope = p->scope->bindings
	};
	*place = binding;
	p->scope->bindings = binding;
	return binding;
}

void scope_add_symbol(struct parser *p, struct name *name, struct ptx_symbol *symbol)
{
	bind(p, name)->symbol = symbol;
}

static void count_registers(struct parser *p, uint64_t count)
{
	p->register_count += count;
	if (count > REGISTER_LIMIT + p->module->text_length ||
	    p->register_count > REGISTER_LIMIT + p->module->text_length)
		parser_fail(p, token_location(&p->token), "more registers than a text of this length can use");
}

/* The part of a numbered register's name before its number, if it can be one of a range. */
static uint32_t prefix_length(const char *text, uint32_t length, uint32_t *number)
{
	uint32_t at = length;
	while (at && lexer_is(text[at - 1], CHAR_DIGIT))
		at--;
	if (at == length || at == 0 || length - at > 9 || (text[at] == '0' && length - at > 1))
		return 0;
	uint32_t value = 0;
	for (uint32_t i = at; i < length; i++)
		value = value * 10 + (uint32_t)(text[i] - '0');
	*number = value;
	return at;
}

struct ptx_register *scope_add_register(struct parser *p, struct name *name, enum ptx_type type, unsigned vector)
{
	struct ptx_register *reg = arena_new(&p->module->arena, struct ptx_register);
	uint32_t number, prefix = prefix_length(name->text, name->length, &number);
	count_registers(p, 1);
	*reg = (struct ptx_register){ .name = name->text,
				      .type = type,
				      .vector = (uint8_t)vector,
				      .index = (uint32_t)p->function->registers.count };
	if (prefix)
		names_intern(p, name->text, prefix)->has_singles = true;
	parser_push(p, &p->function->registers, reg);
	bind(p, name)->reg = reg;
	return reg;
}

static void name_registers(struct parser *p, struct name *prefix, uint32_t count)
{
	if (prefix->numbered_count >= count)
		return;
	/* Texts of the smaller range stay: they are in use. */
	const char **texts = (const char **)arena_text(&p->scratch, count * sizeof *texts);
	if (prefix->numbered_count)
		memcpy(texts, prefix->numbered, prefix->numbered_count * sizeof *texts);
	for (uint32_t i = prefix->numbered_count; i < count; i++) {
		char digits[12], *d = digits + sizeof digits;
		uint32_t value = i;
		do
			*--d = (char)('0' + value % 10);
		while (value /= 10);
		size_t length = (size_t)(digits + sizeof digits - d);
		char *text = arena_strndup(&p->module->arena, prefix->text, prefix->length + length);
		memcpy(text + prefix->length, d, length);
		texts[i] = text;
	}
	prefix->numbered = texts;
	prefix->numbered_count = count;
}

void scope_add_registers(struct parser *p, struct name *prefix, uint64_t count, enum ptx_type type, unsigned vector)
{
	if (prefix->range && prefix->range->depth == p->scope->depth)
		parser_fail(p, token_location(&p->token), "'%s<…>' is declared twice", prefix->text);
	count_registers(p, count);
	name_registers(p, prefix, (uint32_t)count);
	struct ptx_register *first = arena_array(&p->module->arena, struct ptx_register, count);
	for (uint32_t i = 0; i < count; i++) {
		first[i] = (struct ptx_register){ .name = prefix->numbered[i],
						  .type = type,
						  .vector = (uint8_t)vector,
						  .index = (uint32_t)p->function->registers.count };
		parser_push(p, &p->function->registers, &first[i]);
	}
	struct register_range *range = arena_new(&p->scratch, struct register_range);
	*range = (struct register_range){ .outer = prefix->range,
					  .next_in_scope = p->scope->ranges,
					  .prefix = prefix,
					  .first = first,
					  .count = (uint32_t)count,
					  .depth = p->scope->depth };
	prefix->range = range;
	p->scope->ranges = range;
}

struct ptx_symbol *scope_find_global(const struct name *name)
{
	const struct binding *binding = name->binding;
	while (binding && binding->depth)
		binding = binding->outer;
	return binding ? binding->symbol : NULL;
}

struct ptx_symbol *scope_find_symbol(const struct name *name)
{
	return name->binding ? name->binding->symbol : NULL;
}

/* The innermost of a numbered register and a name declared by itself. */
bool scope_find(struct parser *p, const char *text, uint32_t length, const struct ptx_register **reg,
		struct ptx_symbol **symbol)
{
	uint32_t number = 0, prefix = prefix_length(text, length, &number), depth = 0;
	*reg = NULL;
	*symbol = NULL;
	if (prefix) {
		const struct name *name = find_name(p, text, prefix);
		const struct register_range *range = name ? name->range : NULL;
		while (range && number >= range->count)
			range = range->outer;
		if (range) {
			*reg = &range->first[number];
			depth = range->depth;
			if (!name->has_singles)
				return true;
		}
	}
	const struct name *name = find_name(p, text, length);
	if (name && name->binding && name->binding->depth >= depth) {
		*reg = name->binding->reg;
		*symbol = name->binding->symbol;
	}
	return *reg || *symbol;
}

/* ---- labels ---- */

static struct ptx_label *label_here(struct parser *p, struct name *name, struct ptx_location location)
{
	if (name->label && name->label->depth == p->scope->depth)
		return name->label->label;
	struct ptx_label *label = &arena_new(&p->module->arena, struct parsed_label)->label;
	label->symbol = (struct ptx_symbol){ PTX_SYMBOL_LABEL, name->text, location };
	struct label_binding *binding = arena_new(&p->scratch, struct label_binding);
	*binding = (struct label_binding){ .outer = name->label,
					   .next_in_scope = p->scope->labels,
					   .name = name,
					   .label = label,
					   .depth = p->scope->depth };
	name->label = binding;
	p->scope->labels = binding;
	return label;
}

struct ptx_label *scope_refer_label(struct parser *p, struct name *name, struct ptx_location location)
{
	return label_here(p, name, location);
}

void scope_define_label(struct parser *p, struct name *name, struct ptx_location location)
{
	struct ptx_label *label = label_here(p, name, location);
	if (label->defined)
		parser_fail(p, location, "label '%s' is defined twice", name->text);
	label->defined = true;
	label->at = p->function->instruction_count;
	label->symbol.location = location;
	parser_push(p, &p->function->labels, label);
}
