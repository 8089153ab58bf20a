/* What the generated entries are made of, and the tables that come with them (tools/api_gen.py). */
#ifndef DRAGOMAN_API_ENTRY_H
#define DRAGOMAN_API_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

#define API_EXPORT __attribute__((visibility("default")))

struct api_function {
	const char *prototype; /* as in spec/, with `out` marks: the trace reads it */
	bool per_thread;       /* a _ptds or _ptsz variant */
};

#pragma GCC visibility push(hidden)

/* One element a function, made with the entries. */
extern const unsigned api_function_count;
extern const struct api_function api_functions[];
extern _Atomic uint64_t api_call_counts[];
extern _Atomic bool api_missing_told[];

/* The function that this thread is in. */
extern _Thread_local const struct api_function *api_current STATIC_TLS;
/* Calls are traced or counted. Set once, before the program's first call. */
extern bool api_watched;

/* Says once that nothing implements the function, and who called it. */
void api_missing(unsigned number, const void *caller) __attribute__((cold));
/* Around a call while api_watched; `arguments` points at each argument. */
uint64_t api_watch_begin(unsigned number) __attribute__((cold));
void api_watch_end(unsigned number, uint64_t start, const void *result, const void *const *arguments)
	__attribute__((cold));

#pragma GCC visibility pop

/* The beginning and the end of an entry; `otherwise` is returned where nothing implements it. */
#define API_ENTER(function, number, otherwise)                                                     \
	if (!(function)) {                                                                         \
		api_missing(number, __builtin_return_address(0));                                  \
		return otherwise;                                                                  \
	}                                                                                          \
	const struct api_function *const api_before = api_current;                                 \
	api_current = &api_functions[number]

#define API_LEAVE() (api_current = api_before)

#define API_WATCHED __builtin_expect(api_watched, 0)

#endif
