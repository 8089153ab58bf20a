/* For tests of what the compiler makes of a small kernel: the kernel's frame, and what its dumps say. */
#ifndef DRAGOMAN_TESTS_DUMP_H
#define DRAGOMAN_TESTS_DUMP_H

#include "codegen/codegen.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"                                                         \
	     ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n"                                        \
	     ".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<16>;\n.shared .align 4 .b8 s[1024];\n"  \
	     "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r1, [n];\n"                               \
	     "mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
#define TAIL "ret;\n}\n"

static struct compile_options shape(uint32_t x, uint32_t y, uint8_t lanes)
{
	return (struct compile_options){ .opt_level = 2, .vector = 8, .lanes = lanes, .small_grid = true, .block = { x, y, 1 } };
}

static char *dump(const char *text, struct compile_options options, const char *what)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct ptx_module *module = ptx_parse(text, strlen(text), "test.ptx", &diagnostic);
	if (!module)
		fail_msg("%s", diagnostic.message);
	char *out = dragoman_compiler()->dump(module, module->functions.data[0], &options, what, &diagnostic);
	if (!out)
		fail_msg("%s", diagnostic.message);
	ptx_destroy(module);
	ptx_diagnostic_fini(&diagnostic);
	return out;
}

static unsigned count(const char *text, const char *what)
{
	unsigned found = 0;
	for (; (text = strstr(text, what)); text += strlen(what))
		found++;
	return found;
}

/* The line of the IR with `what` in it must say `expected`. */
static inline void assert_line(const char *ir, const char *what, const char *expected)
{
	const char *at = strstr(ir, what);
	if (!at)
		fail_msg("no '%s' in\n%s", what, ir);
	const char *end = strchr(at, '\n'), *found = strstr(at, expected);
	if (!found || found > end)
		fail_msg("'%.*s' is not '%s'", (int)(end - at), at, expected);
}

#endif
