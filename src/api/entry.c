/* Entries at run time: the current function, functions that nothing implements, call counters.
 *
 * DRAGOMAN_COUNTERS=1, or a file to append to: how often each function was called, when the
 * program ends. Traces are in trace.c. */
#define _GNU_SOURCE
#include "api/entry.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api.h"
#include "api/trace.h"

_Thread_local const struct api_function *api_current STATIC_TLS;
bool api_watched;

static bool counting;

/* The name in "CUresult cuInit(unsigned int Flags)". */
static const char *name_in(const char *prototype, size_t *length)
{
	const char *end = strchr(prototype, '('), *start = end;
	while (start > prototype && start[-1] != ' ' && start[-1] != '*')
		start--;
	*length = (size_t)(end - start);
	return start;
}

const char *api_function_name(void)
{
	static _Thread_local char name[80];
	size_t length;
	if (!api_current)
		return "";
	const char *start = name_in(api_current->prototype, &length);
	if (length >= sizeof name)
		length = sizeof name - 1;
	memcpy(name, start, length);
	name[length] = 0;
	return name;
}

bool api_per_thread_stream(void)
{
	return api_current && api_current->per_thread;
}

void api_missing(unsigned number, const void *caller)
{
	if (api_watched) {
		api_watch_begin(number);
		if (trace_enabled())
			trace_missing(&api_functions[number]);
	}
	if (atomic_exchange_explicit(&api_missing_told[number], true, memory_order_relaxed))
		return;
	size_t length;
	const char *name = name_in(api_functions[number].prototype, &length);
	Dl_info info = { 0 };
	bool known = dladdr(caller, &info) && info.dli_fname;
	log_warn("%.*s is not supported (called by %s%s%s)", (int)length, name,
		 known ? info.dli_fname : "an unknown object", known && info.dli_sname ? ": " : "",
		 known && info.dli_sname ? info.dli_sname : "");
}

uint64_t api_watch_begin(unsigned number)
{
	atomic_fetch_add_explicit(&api_call_counts[number], 1, memory_order_relaxed);
	return clock_ns();
}

void api_watch_end(unsigned number, uint64_t start, const void *result, const void *const *arguments)
{
	if (trace_enabled())
		trace_call(&api_functions[number], clock_ns() - start, result, arguments);
}

static int by_count(const void *left, const void *right)
{
	uint64_t a = atomic_load(&api_call_counts[*(const unsigned *)left]);
	uint64_t b = atomic_load(&api_call_counts[*(const unsigned *)right]);
	return a < b ? 1 : a > b ? -1 : *(const unsigned *)left < *(const unsigned *)right ? -1 : 1;
}

static void write_counters(void)
{
	unsigned *order = malloc(api_function_count * sizeof *order), count = 0;
	if (!order)
		return;
	for (unsigned i = 0; i < api_function_count; i++)
		if (atomic_load(&api_call_counts[i]))
			order[count++] = i;
	qsort(order, count, sizeof *order, by_count);
	struct text text = { 0 };
	for (unsigned i = 0; i < count; i++) {
		size_t length;
		const char *name = name_in(api_functions[order[i]].prototype, &length);
		text_printf(&text, "%10llu  %.*s\n",
			    (unsigned long long)atomic_load(&api_call_counts[order[i]]), (int)length, name);
	}
	if (text.count)
		trace_write(env_get("DRAGOMAN_COUNTERS"), text.data, text.count);
	text_fini(&text);
	free(order);
}

static __attribute__((constructor)) void watch_init(void)
{
	counting = env_flag("DRAGOMAN_COUNTERS");
	api_watched = trace_enabled() || counting;
}

static __attribute__((destructor)) void watch_fini(void)
{
	if (counting)
		write_counters();
}
