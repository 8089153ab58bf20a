/* Messages about PTX text: name:line:column, what is wrong and in which function, the line, a caret. */
#include <stdlib.h>

#include "ptx/parser.h"

enum { LONGEST_LINE = 160 };

void ptx_diagnostic_fini(struct ptx_diagnostic *diagnostic)
{
	free(diagnostic->message);
	*diagnostic = (struct ptx_diagnostic){ 0 };
}

static const char *find_line(const struct ptx_module *module, uint32_t line)
{
	const char *at = module->text, *end = module->text + module->text_length;
	for (uint32_t i = 1; at && i < line; i++) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (at)
			at++;
	}
	return at;
}

const char *ptx_text_at(const struct ptx_module *module, struct ptx_location location)
{
	const char *line = module->text && location.line ? find_line(module, location.line) : NULL;
	return line ? line + location.column - 1 : NULL;
}

/* The line without its indentation, and the caret under `column`. */
static void add_source(struct text *out, const struct ptx_module *module, struct ptx_location location)
{
	const char *line = module && module->text && location.line ? find_line(module, location.line) : NULL;
	if (!line)
		return;
	size_t length = strcspn(line, "\r\n"), indent = strspn(line, " \t");
	size_t caret = location.column ? location.column - 1 : 0;
	if (caret > length)
		caret = length;
	if (indent > caret)
		indent = caret;
	size_t begin = indent;
	if (caret - begin > LONGEST_LINE / 2) /* a minified text: what is around the place */
		begin = caret - LONGEST_LINE / 2;
	size_t shown = length - begin < LONGEST_LINE ? length - begin : LONGEST_LINE;
	if (!shown)
		return;
	text_add(out, "    ", 4);
	for (size_t i = 0; i < shown; i++) {
		char c = line[begin + i];
		/* A byte is a column: what is none of ASCII's characters, whatever it is meant to be, is one too. */
		text_add(out, (unsigned char)c < ' ' ? " " : (unsigned char)c > '~' ? "?" : &c, 1);
	}
	text_printf(out, "\n    %*s^\n", (int)(caret - begin), "");
}

void ptx_error(struct ptx_diagnostic *out, const struct ptx_module *module, const struct ptx_function *function,
	       struct ptx_location location, const char *format, ...)
{
	if (!out || out->message)
		return;
	struct text text = { 0 };
	va_list arguments;
	text_printf(&text, "%s", module && module->name ? module->name : "PTX");
	if (location.line)
		text_printf(&text, ":%u:%u", location.line, location.column);
	text_printf(&text, ": error: ");
	va_start(arguments, format);
	text_vprintf(&text, format, arguments);
	va_end(arguments);
	if (function)
		text_printf(&text, " (in %s '%s')", function->is_entry ? "kernel" : "function", function->symbol.name);
	text_add(&text, "\n", 1);
	add_source(&text, module, location);
	out->message = text.data;
	out->location = location;
}
