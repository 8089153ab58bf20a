/* Trace lines. The prototype of the function, as spec/ has it, says what each argument is called,
 * of which type it is and whether the function writes through it; trace_types has what the types
 * hold. Memory of the program is read with process_vm_readv, so that a wild pointer shows as a mere
 * pointer and never ends the program. */
#define _GNU_SOURCE
#include "api/trace.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api/api.h"
#include "api/entry.h"
#include "api/trace_types.h"

enum {
	LONGEST_STRING = 80,
	MOST_MEMBERS = 12, /* of a struct, and of an array in it */
	MOST_ELEMENTS = 4,
	DEEPEST = 3,
	PAGE = 4096
};

/* One parameter in a prototype: "out const struct cudaExtent *name". */
struct parameter {
	const char *type, *name;
	size_t type_length, name_length;
	unsigned stars;
	bool out, is_const;
};

static pthread_once_t trace_once = PTHREAD_ONCE_INIT;
static int trace_fd = -1;

static int open_sink(const char *where)
{
	static const char *const terminal[] = { "1", "yes", "on", "true", "stderr" };
	for (size_t i = 0; i < ARRAY_LENGTH(terminal); i++)
		if (!strcmp(where, terminal[i]))
			return STDERR_FILENO;
	int fd = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		log_warn("cannot write to %s: %s", where, strerror(errno));
	return fd;
}

static void write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t written = write(fd, bytes, length);
		if (written <= 0)
			return;
		bytes += written;
		length -= (size_t)written;
	}
}

static void trace_open(void)
{
	if (env_flag("DRAGOMAN_TRACE"))
		trace_fd = open_sink(env_get("DRAGOMAN_TRACE"));
}

bool trace_enabled(void)
{
	pthread_once(&trace_once, trace_open);
	return trace_fd >= 0;
}

void trace_write(const char *where, const char *lines, size_t length)
{
	int fd = open_sink(where);
	if (fd < 0)
		return;
	write_all(fd, lines, length);
	if (fd != STDERR_FILENO)
		close(fd);
}

/* Copies up to `size` bytes of the program's memory; the bytes that could be read, from the first. */
static size_t peek(void *to, const void *from, size_t size)
{
	size_t first = PAGE - (uintptr_t)from % PAGE;
	struct iovec local = { to, size }, remote[2] = {
		{ (void *)(uintptr_t)from, size < first ? size : first },
		{ (char *)(uintptr_t)from + first, size < first ? 0 : size - first },
	};
	ssize_t count = process_vm_readv(getpid(), &local, 1, remote, remote[1].iov_len ? 2 : 1, 0);
	return count < 0 ? 0 : (size_t)count;
}

static const struct trace_type *find_type(const char *name, size_t length)
{
	unsigned low = 0, high = trace_type_count;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		const char *candidate = trace_types[middle].name;
		int order = strncmp(candidate, name, length);
		if (!order && candidate[length])
			order = 1;
		if (!order)
			return &trace_types[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void show_string(struct text *line, const char *string, size_t limit, bool whole)
{
	size_t i;
	text_add(line, "\"", 1);
	for (i = 0; i < limit && string[i]; i++) {
		unsigned char c = (unsigned char)string[i];
		if (c == '"' || c == '\\')
			text_printf(line, "\\%c", c);
		else if (c == '\n')
			text_add(line, "\\n", 2);
		else if (isprint(c))
			text_add(line, string + i, 1);
		else
			text_printf(line, "\\x%02x", c);
	}
	text_printf(line, "\"%s", i == limit && !whole ? "..." : "");
}

/* Not all that a const char * leads to is text: the address of a host function travels so too. */
static bool is_text(const char *string, size_t limit)
{
	for (size_t i = 0; i < limit && string[i]; i++)
		if (iscntrl((unsigned char)string[i]) && !isspace((unsigned char)string[i]))
			return false;
	return true;
}

static void show_pointer(struct text *line, const void *pointer)
{
	if (pointer)
		text_printf(line, "%p", pointer);
	else
		text_add(line, "NULL", 4);
}

static void show_integer(struct text *line, const struct trace_type *type, const void *at)
{
	uint64_t bits = 0;
	memcpy(&bits, at, type->size < sizeof bits ? type->size : sizeof bits);
	if (type->kind == TRACE_ADDRESS) {
		text_printf(line, "0x%llx", (unsigned long long)bits);
	} else if (type->kind == TRACE_UNSIGNED) {
		text_printf(line, "%llu", (unsigned long long)bits);
	} else {
		unsigned unused = 64 - 8 * type->size;
		text_printf(line, "%lld", (long long)((int64_t)(bits << unused) >> unused));
	}
}

static void show_enum(struct text *line, const struct trace_type *type, const void *at)
{
	int value;
	memcpy(&value, at, sizeof value);
	for (unsigned i = 0; i < type->count; i++) {
		if (type->names[i].value == value) {
			text_printf(line, "%s", type->names[i].name);
			return;
		}
	}
	text_printf(line, "%d", value);
}

static void show_record(struct text *line, const struct trace_type *type, const char *at, unsigned depth);

static void show_value(struct text *line, const struct trace_type *type, const void *at, unsigned depth)
{
	const void *pointer;
	double real;
	switch (type->kind) {
	case TRACE_FLOAT:
		if (type->size == sizeof(float)) {
			float narrow;
			memcpy(&narrow, at, sizeof narrow);
			real = (double)narrow;
		} else {
			memcpy(&real, at, sizeof real);
		}
		text_printf(line, "%g", real);
		break;
	case TRACE_POINTER:
		memcpy(&pointer, at, sizeof pointer);
		show_pointer(line, pointer);
		break;
	case TRACE_ENUM:
		show_enum(line, type, at);
		break;
	case TRACE_RECORD:
		if (depth < DEEPEST)
			show_record(line, type, at, depth + 1);
		else
			text_add(line, "{...}", 5);
		break;
	case TRACE_OPAQUE:
		text_add(line, "?", 1);
		break;
	default:
		show_integer(line, type, at);
		break;
	}
}

static void show_member(struct text *line, const struct trace_member *member, const char *at, unsigned depth)
{
	const struct trace_type *type = find_type(member->type, strlen(member->type));
	size_t size = member->stars ? sizeof(void *) : type ? type->size : 0;
	if (!member->stars && type && type->kind == TRACE_CHAR && member->count > 1) {
		show_string(line, at, member->count, true);
		return;
	}
	if (member->count > 1)
		text_add(line, "[", 1);
	for (unsigned i = 0; i < member->count; i++) {
		const void *pointer;
		if (i)
			text_add(line, ", ", 2);
		if (i == MOST_ELEMENTS) {
			text_add(line, "...", 3);
			break;
		}
		if (member->stars || !type) {
			memcpy(&pointer, at + i * size, sizeof pointer);
			show_pointer(line, pointer);
		} else {
			show_value(line, type, at + i * size, depth);
		}
	}
	if (member->count > 1)
		text_add(line, "]", 1);
}

static void show_record(struct text *line, const struct trace_type *type, const char *at, unsigned depth)
{
	text_add(line, "{", 1);
	for (unsigned i = 0; i < type->count; i++) {
		if (i)
			text_add(line, ", ", 2);
		if (i == MOST_MEMBERS || !type->members[i].name) {
			text_add(line, "...", 3);
			break;
		}
		text_printf(line, "%s=", type->members[i].name);
		show_member(line, &type->members[i], at + type->members[i].offset, depth);
	}
	text_add(line, "}", 1);
}

/* What the pointer leads to: a value, or one pointer more. Says whether it could be read. */
static bool show_target(struct text *line, const char *before, const struct trace_type *type, unsigned stars,
			const void *pointer)
{
	char bytes[2048];
	size_t size = stars ? sizeof(void *) : type ? type->size : 0;
	if (!size || size > sizeof bytes || peek(bytes, pointer, size) != size)
		return false;
	text_printf(line, "%s", before);
	if (stars) {
		void *target;
		memcpy(&target, bytes, sizeof target);
		show_pointer(line, target);
	} else {
		show_value(line, type, bytes, 0);
	}
	return true;
}

static void show_argument(struct text *line, const struct parameter *parameter, const void *at, bool succeeded)
{
	const struct trace_type *type = find_type(parameter->type, parameter->type_length);
	const void *pointer;
	char string[LONGEST_STRING + 1];
	if (!parameter->stars && type) {
		show_value(line, type, at, 0);
		return;
	}
	memcpy(&pointer, at, sizeof pointer);
	bool readable_string = parameter->is_const ? !parameter->out : parameter->out && succeeded;
	if (pointer && type && type->kind == TRACE_CHAR && parameter->stars == 1 && readable_string) {
		size_t count = peek(string, pointer, LONGEST_STRING);
		if (count && is_text(string, count)) {
			show_string(line, string, count, false);
			return;
		}
	}
	show_pointer(line, pointer);
	if (!pointer || !type)
		return;
	if (parameter->out && succeeded)
		show_target(line, " -> ", type, parameter->stars - 1, pointer);
	else if (parameter->is_const && parameter->stars == 1 && type->kind == TRACE_RECORD)
		show_target(line, " ", type, 0, pointer);
}

static bool take_word(const char **at, const char *word)
{
	size_t length = strlen(word);
	if (strncmp(*at, word, length))
		return false;
	*at += length;
	return true;
}

/* Reads one parameter and moves past it; false at the end of the list. */
static bool next_parameter(const char **at, struct parameter *parameter)
{
	while (**at == ' ' || **at == ',')
		++*at;
	if (**at == ')' || !**at)
		return false;
	*parameter = (struct parameter){ 0 };
	parameter->out = take_word(at, "out ");
	parameter->is_const = take_word(at, "const ");
	parameter->type = *at;
	const char *end = *at + strcspn(*at, ",)"), *name = end;
	while (name > *at && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
		name--;
	parameter->name = name;
	parameter->name_length = (size_t)(end - name);
	const char *type_end = name;
	for (const char *c = *at; c < name; c++) {
		if (*c == '*' && !parameter->stars++)
			type_end = c;
	}
	while (type_end > *at && type_end[-1] == ' ')
		type_end--;
	parameter->type_length = (size_t)(type_end - *at);
	*at = end;
	return true;
}

static void show_result(struct text *line, const char *prototype, size_t length, const void *result)
{
	struct parameter parameter = { .type = prototype };
	while (length && (prototype[length - 1] == ' ' || prototype[length - 1] == '*'))
		parameter.stars += prototype[--length] == '*';
	parameter.is_const = take_word(&parameter.type, "const ");
	parameter.type_length = length - (size_t)(parameter.type - prototype);
	text_add(line, ") = ", 4);
	show_argument(line, &parameter, result, true);
}

/* Where the function's name begins in its prototype, and where its parameters do. */
static const char *name_of(const struct api_function *function, const char **open)
{
	const char *name = *open = strchr(function->prototype, '(');
	while (name > function->prototype && name[-1] != ' ' && name[-1] != '*')
		name--;
	return name;
}

void trace_missing(const struct api_function *function)
{
	const char *open, *name = name_of(function, &open);
	struct text line = { 0 };
	text_printf(&line, "[%d] %.*s(...) is not supported\n", gettid(), (int)(open - name), name);
	write_all(trace_fd, line.data, line.count);
	text_fini(&line);
}

void trace_call(const struct api_function *function, uint64_t nanoseconds, const void *result,
		const void *const *arguments)
{
	const char *open, *name = name_of(function, &open), *at = open + 1;
	int status = 0;
	if (!strncmp(function->prototype, "CUresult ", 9) || !strncmp(function->prototype, "cudaError_t ", 12))
		memcpy(&status, result, sizeof status);
	struct text line = { 0 };
	struct parameter parameter;
	text_printf(&line, "[%d] %.*s(", gettid(), (int)(open - name), name);
	for (unsigned i = 0; next_parameter(&at, &parameter); i++) {
		text_printf(&line, "%s%.*s=", i ? ", " : "", (int)parameter.name_length, parameter.name);
		show_argument(&line, &parameter, arguments[i], !status);
	}
	if (result)
		show_result(&line, function->prototype, (size_t)(name - function->prototype), result);
	else
		text_add(&line, ")", 1);
	double microseconds = (double)nanoseconds / 1000;
	text_printf(&line, "  %.*f us\n", microseconds < 10 ? 1 : 0, microseconds);
	write_all(trace_fd, line.data, line.count);
	text_fini(&line);
}
