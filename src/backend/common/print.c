/* printf of device code (CUDA C++ Programming Guide, "Formatted Output"; PTX's vprintf). The format is the host's, with what
 * GPUs were seen to do where it is not: an unknown conversion and %n are printed as they stand and take no argument.
 * Arguments lie one behind the other, each aligned to its size: int 4 bytes, long, pointers and double 8. */
#include "backend/common/common.h"

#include <stdio.h>

struct arguments {
	const uint8_t *at;
	const char *strings, *strings_end; /* of %s conversions; NULL: their arguments are addresses */
};

static uint64_t next_argument(struct arguments *arguments, size_t size)
{
	uint64_t value = 0;
	arguments->at = (const uint8_t *)align_up((uintptr_t)arguments->at, size);
	memcpy(&value, arguments->at, size);
	arguments->at += size;
	return value;
}

static const char *next_string(struct arguments *arguments)
{
	uint64_t address = next_argument(arguments, 8);
	if (!arguments->strings)
		return address ? (const char *)(uintptr_t)address : "(null)";
	const char *string = arguments->strings;
	size_t room = (size_t)(arguments->strings_end - string), length = strnlen(string, room);
	if (length == room) /* no more of them */
		return "";
	arguments->strings += length + 1;
	return address ? string : "(null)";
}

static int next_int(struct arguments *arguments)
{
	return (int)(uint32_t)next_argument(arguments, 4);
}

struct conversion {
	char text[80];        /* for the host's printf */
	size_t used;
	bool is_long;
	char letter;
};

static void add(struct conversion *c, const char *text, size_t length)
{
	/* Longer ones are cut: no sane format is. */
	if (length > sizeof c->text - 8 - c->used)
		length = sizeof c->text - 8 - c->used;
	memcpy(c->text + c->used, text, length);
	c->used += length;
}

static const char *read_number(struct conversion *c, const char *p, struct arguments *arguments)
{
	if (*p == '*') {
		char digits[16];
		add(c, digits, (size_t)snprintf(digits, sizeof digits, "%d", next_int(arguments)));
		return p + 1;
	}
	size_t length = strspn(p, "0123456789");
	add(c, p, length);
	return p + length;
}

/* Reads what follows a '%'; NULL where it is no conversion that we know. */
static const char *read_conversion(struct conversion *c, const char *p, struct arguments *arguments)
{
	*c = (struct conversion){ .text = "%", .used = 1 };
	struct arguments before = *arguments;
	size_t flags = strspn(p, "-+ #0");
	add(c, p, flags);
	p = read_number(c, p + flags, arguments);
	if (*p == '.') {
		add(c, ".", 1);
		p = read_number(c, p + 1, arguments);
	}
	size_t length = strspn(p, "hlLjztq");
	c->is_long = length && *p != 'h';
	c->letter = p[length];
	if (!c->letter || !strchr("diouxXcspaAeEfFgG", c->letter)) {
		*arguments = before;
		return NULL;
	}
	if (strchr("diouxX", c->letter))
		add(c, c->is_long ? "ll" : p, c->is_long ? 2 : length);
	add(c, &c->letter, 1);
	c->text[c->used] = 0;
	return p + length + 1;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#endif
static void print_conversion(struct text *out, const struct conversion *c, struct arguments *arguments)
{
	if (strchr("aAeEfFgG", c->letter)) {
		uint64_t bits = next_argument(arguments, 8);
		double value;
		memcpy(&value, &bits, sizeof value);
		text_printf(out, c->text, value);
	} else if (c->letter == 's') {
		text_printf(out, c->text, next_string(arguments));
	} else if (c->letter == 'p') {
		text_printf(out, c->text, (void *)(uintptr_t)next_argument(arguments, 8));
	} else if (c->letter != 'c' && c->is_long) {
		text_printf(out, c->text, (long long)next_argument(arguments, 8));
	} else {
		text_printf(out, c->text, next_int(arguments));
	}
}
#pragma GCC diagnostic pop

int32_t print_format(struct text *out, const char *format, const void *values, const char *strings, const char *strings_end)
{
	struct arguments arguments = { values, strings, strings_end };
	struct conversion conversion;
	int32_t count = 0;
	while (*format) {
		size_t plain = strcspn(format, "%");
		text_add(out, format, plain);
		format += plain;
		if (!*format)
			break;
		if (format[1] == '%') {
			text_add(out, "%", 1);
			format += 2;
			continue;
		}
		const char *rest = read_conversion(&conversion, format + 1, &arguments);
		if (!rest) {
			text_add(out, format, 1);
			format++;
			continue;
		}
		print_conversion(out, &conversion, &arguments);
		count++;
		format = rest;
	}
	return count;
}

void print_forget(struct text *text, uint64_t limit)
{
	if (text->count <= limit)
		return;
	size_t from = text->count - (size_t)(limit / 2);
	const char *line = memchr(text->data + from, '\n', text->count - from);
	if (line)
		from = (size_t)(line - text->data) + 1;
	memmove(text->data, text->data + from, text->count - from);
	text->count -= from;
}
