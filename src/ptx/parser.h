/* What the parts of the parser share: its state, names and scopes, and each part's way in.
 *
 *     lexer.c       text -> tokens                    form.c      `setp.lt.f32` -> struct ptx_form
 *     names.c       interning, scopes, registers      operand.c   operands and instructions
 *     expression.c  constant expressions              variable.c  declarations and initialisers
 *     parser.c      modules and their directives      function.c  functions and their statements
 *     check.c       operands against their rows       fragment.c  lengths of matrix fragments
 *     error.c       messages
 *
 * The first error ends the parse: parser_fail() jumps back to ptx_parse(), which releases everything
 * (all that is allocated lies in the module's arena, the parser's own, or vectors known to both). */
#ifndef DRAGOMAN_PTX_PARSER_H
#define DRAGOMAN_PTX_PARSER_H

#include <setjmp.h>

#include "ptx/lexer.h"

struct register_range { /* `.reg .b32 %r<100>` */
	struct register_range *outer, *next_in_scope;
	struct name *prefix;
	struct ptx_register *first;
	uint32_t count, depth;
};

struct binding { /* what a name means in a scope */
	struct binding *outer, *next_in_scope;
	struct name *name;
	const struct ptx_register *reg;
	struct ptx_symbol *symbol;
	uint32_t depth;
};

struct label_binding {
	struct label_binding *outer, *next_in_scope;
	struct name *name;
	struct ptx_label *label;
	uint32_t depth;
};

struct name {             /* an interned identifier */
	const char *text; /* in the module's arena */
	uint32_t length, hash;
	struct binding *binding;
	struct label_binding *label;
	struct register_range *range; /* the name is the prefix of numbered registers */
	const char **numbered;        /* their texts */
	uint32_t numbered_count;
	bool has_singles; /* a register such as %r5 was declared by itself beside `%r<…>` */
};

struct scope {
	struct scope *outer;
	struct binding *bindings;
	struct label_binding *labels;
	struct register_range *ranges;
	uint32_t depth; /* 0 module, 1 function, 2 … nested blocks */
};

struct parsed_label {
	struct ptx_label label;
	const struct ptx_label *outer; /* an inner block's label that turned out to be the outer one's */
};

struct parser {
	struct lexer lexer;
	struct token token;
	struct ptx_module *module;
	struct ptx_function *function; /* being read, or NULL */
	struct ptx_diagnostic *diagnostic;
	jmp_buf *failure;

	struct arena scratch; /* lives as long as the parser */
	struct name **names;  /* hash table */
	size_t name_count, name_capacity;
	struct scope *scope;
	struct binding *free_bindings;
	struct map forms; /* spelling -> struct ptx_form */
	uint64_t register_count;

	struct text joined;                     /* a spelling that is written with blanks */
	VEC(struct ptx_initial) initials;       /* of the variable being read */
	VEC(struct ptx_operand) operands;       /* stack of the lists being read */
	VEC(const struct ptx_symbol *) targets; /* of the .branchtargets or .calltargets being read */
	bool has_outer_labels;
	uint32_t instruction_room;
	uint32_t nesting;
};

/* ---- parser.c: errors and tokens ---- */
_Noreturn void parser_fail(struct parser *p, struct ptx_location location, const char *format, ...) PRINTF_LIKE(3, 4);
_Noreturn void parser_fail_expected(struct parser *p, const char *what);
_Noreturn void parser_fail_memory(struct parser *p);
void parser_next(struct parser *p);
static inline bool parser_at(const struct parser *p, unsigned mark)
{
	return p->token.mark == mark && p->token.kind == TOKEN_MARK;
}
static inline bool parser_accept(struct parser *p, unsigned mark)
{
	if (!parser_at(p, mark))
		return false;
	parser_next(p);
	return true;
}
void parser_expect(struct parser *p, unsigned mark, const char *what);
bool parser_at_dot(const struct parser *p, const char *word); /* ".reg" */
bool parser_accept_dot(struct parser *p, const char *word);
struct name *parser_take_name(struct parser *p, const char *what);
uint32_t parser_take_count(struct parser *p);
/* .loc, .file, .section: they may stand anywhere and say nothing about the program. */
bool parser_read_debug_directive(struct parser *p);
void parser_read_pragma(struct parser *p); /* of the function, or of the module outside of one */
#define parser_push(p, vector, value)                                                                                  \
	do {                                                                                                           \
		if (!vec_push((vector), (value)))                                                                      \
			parser_fail_memory(p);                                                                         \
	} while (0)

/* ---- function.c ---- */
void function_read(struct parser *p, enum ptx_linkage linkage); /* .entry or .func */
void function_free(struct ptx_function *f);                     /* what lies outside of the arena */

/* ---- names.c ---- */
void names_init(struct parser *p);
void names_fini(struct parser *p);
struct name *names_intern(struct parser *p, const char *text, size_t length);
void scope_open(struct parser *p);
void scope_close(struct parser *p);
/* Declares; an error where the scope has the name already. */
void scope_add_symbol(struct parser *p, struct name *name, struct ptx_symbol *symbol);
struct ptx_register *scope_add_register(struct parser *p, struct name *name, enum ptx_type type, unsigned vector);
void scope_add_registers(struct parser *p, struct name *prefix, uint64_t count, enum ptx_type type, unsigned vector);
/* Finds; both NULL where the name means nothing. */
struct ptx_symbol *scope_find_symbol(const struct name *name);
struct ptx_symbol *scope_find_global(const struct name *name); /* at module level, hidden or not */
bool scope_find(struct parser *p, const char *text, uint32_t length, const struct ptx_register **reg,
		struct ptx_symbol **symbol);
struct ptx_label *scope_refer_label(struct parser *p, struct name *name, struct ptx_location location);
void scope_define_label(struct parser *p, struct name *name, struct ptx_location location);

/* ---- form.c ---- */
/* The form of a spelling, made when it is met first; fails where PTX has no such instruction. */
const struct ptx_form *form_find(struct parser *p, const char *text, size_t length, struct ptx_location location);

/* ---- expression.c ---- */
struct constant {
	uint64_t bits; /* integer, or a double's bits; a float's where is_f32 */
	bool is_unsigned, is_float, is_f32;
};
struct constant expression_read(struct parser *p);
uint64_t expression_read_unsigned(struct parser *p, uint64_t limit, const char *what);
uint64_t expression_read_before_angle(struct parser *p, uint64_t limit,
				      const char *what); /* n of `%r<n>`: '>' ends it */
/* A constant of `type` as its bits: narrows, converts between integer and floating types. */
uint64_t constant_bits(struct constant constant, enum ptx_type type);

/* ---- operand.c ---- */
void operand_read_instruction(struct parser *p, struct ptx_instruction *instruction);

/* ---- variable.c ---- */
bool variable_at_linkage(struct parser *p, enum ptx_linkage *linkage);
bool variable_at_space(const struct parser *p);
/* `.global .align 4 .b8 x[4] = {…};` up to and with the semicolon. */
void variable_read(struct parser *p, enum ptx_linkage linkage);
void variable_read_registers(struct parser *p); /* `.reg …;` */
/* One of a parameter list; NULL name allowed as `_`. `formal`: of a definition or declaration, so the name is declared. */
struct ptx_variable *variable_read_parameter(struct parser *p, bool is_entry, bool declare);

/* ---- error.c ---- */
const char *ptx_text_at(const struct ptx_module *module,
			struct ptx_location location); /* NULL where there is no text */

/* ---- fragment.c ---- */
struct fragment {
	unsigned least, most, bits; /* registers, and the size of one; 0: nothing is known */
};
struct fragment fragment_of(const struct ptx_form *form, unsigned operand);
struct fragment fragment_coordinates(const struct ptx_form *form);

/* ---- check.c ---- */
void check_instruction(struct parser *p, const struct ptx_instruction *instruction);
void check_function(struct parser *p, const struct ptx_function *function);

#endif
