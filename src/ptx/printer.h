/* Printing for printer.c and link.c: one module's parts, with names that may have been changed. */
#ifndef DRAGOMAN_PTX_PRINTER_H
#define DRAGOMAN_PTX_PRINTER_H

#include "ptx/ptx.h"

struct printer {
	struct text *out;
	const struct ptx_module *module;
	const struct map *renames; /* module-level name -> another; NULL: none */
	/* of the function being printed: its own names made unique, as blocks are not printed */
	const struct ptx_function *function;
	struct arena arena;
	const char **registers, **variables;
	struct map taken;  /* every name used */
	struct map labels; /* a label's, list's or prototype's struct as text key -> name */
};

void print_header(const struct ptx_module *module, struct text *out);
void print_variable_declaration(struct printer *p, const struct ptx_variable *v, enum ptx_linkage linkage, bool value);
void print_function_head(struct printer *p, const struct ptx_function *f, enum ptx_linkage linkage);
void print_function(struct printer *p, const struct ptx_function *f);
/* Kernels need to be declared first where their address is taken: by the names that were found. */
void print_find_named(const struct ptx_module *module, struct map *named);
bool print_needs_declaration(const struct map *named, const struct ptx_function *f);

#endif
