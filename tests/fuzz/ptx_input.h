/* What must hold for any bytes given to the PTX parser: it returns, with a module or a message; and a
 * module's printed text parses to the same module; and heads alone are read as with their bodies. */
#ifndef DRAGOMAN_TEST_PTX_INPUT_H
#define DRAGOMAN_TEST_PTX_INPUT_H

#include <stdio.h>
#include <stdlib.h>

#include "ptx/ptx.h"

static inline void ptx_input_fail(const char *what, const char *detail, const struct text *printed)
{
	fprintf(stderr, "%s: %s\n%s\n", what, detail ? detail : "", printed->data ? printed->data : "");
	abort();
}

static inline void ptx_input_check_heads(const struct ptx_module *module, const char *bytes, size_t length)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct text why = { 0 };
	struct ptx_module *heads = ptx_parse_heads(bytes, length, "input.ptx", &diagnostic);
	if (!heads || heads->functions.count != module->functions.count || heads->variables.count != module->variables.count)
		ptx_input_fail("heads are not read as the whole is", diagnostic.message, &why);
	for (size_t i = 0; i < heads->functions.count; i++) {
		const struct ptx_function *a = heads->functions.data[i], *b = module->functions.data[i];
		if (strcmp(a->symbol.name, b->symbol.name) || a->is_entry != b->is_entry || a->is_declaration != b->is_declaration ||
		    a->symbol.location.line != b->symbol.location.line || a->symbol.location.column != b->symbol.location.column ||
		    a->parameters.count != b->parameters.count || a->parameter_bytes != b->parameter_bytes || a->instruction_count)
			ptx_input_fail("a head is not read as with its body", a->symbol.name, &why);
	}
	const struct ptx_module *whole = ptx_whole(heads, &diagnostic);
	if (!whole || !ptx_equal(module, whole, &why))
		ptx_input_fail("what was read later is another module", whole ? why.data : diagnostic.message, &why);
	ptx_destroy(heads);
	text_fini(&why);
}

/* true where the bytes are a module */
static inline bool ptx_input_check(const char *bytes, size_t length)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct text printed = { 0 }, why = { 0 };
	struct ptx_module *module = ptx_parse(bytes, length, "input.ptx", &diagnostic);
	if (!module) {
		if (!diagnostic.message || !strstr(diagnostic.message, "error: "))
			ptx_input_fail("refused without a message", diagnostic.message, &printed);
		ptx_diagnostic_fini(&diagnostic);
		return false;
	}
	if (diagnostic.message)
		ptx_input_fail("a message beside a module", diagnostic.message, &printed);
	ptx_input_check_heads(module, bytes, length);
	ptx_print(module, &printed);
	struct ptx_module *again = ptx_parse(printed.data, printed.count, "printed.ptx", &diagnostic);
	if (!again)
		ptx_input_fail("the printed text does not parse", diagnostic.message, &printed);
	if (!ptx_equal(module, again, &why))
		ptx_input_fail("the printed text is another module", why.data, &printed);
	ptx_destroy(again);
	ptx_destroy(module);
	text_fini(&printed);
	text_fini(&why);
	return true;
}

#endif
