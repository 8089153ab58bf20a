/* What must hold for any bytes given to the PTX parser: it returns, with a module or a message; and a
 * module's printed text parses to the same module. */
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
