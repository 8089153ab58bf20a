/* Trace lines: DRAGOMAN_TRACE=1 (to stderr) or a file to append to. */
#ifndef DRAGOMAN_API_TRACE_H
#define DRAGOMAN_API_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_function;

bool trace_enabled(void);
/* One line: the call's arguments as its prototype names them, what it wrote through its `out`
 * arguments, its result and how long it took. `result` is NULL where the function returns void. */
void trace_call(const struct api_function *function, uint64_t nanoseconds, const void *result,
		const void *const *arguments);
/* A call that nothing implements. */
void trace_missing(const struct api_function *function);
/* Writes the lines to stderr where `where` is a mere "1" or "yes", else to the end of that file. */
void trace_write(const char *where, const char *lines, size_t length);

#endif
