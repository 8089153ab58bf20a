/* Logging, the environment and the clock. */
#define _GNU_SOURCE
#include "base.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_once_t log_once = PTHREAD_ONCE_INIT;
static enum log_level log_threshold = LOG_WARN;
static int log_fd = STDERR_FILENO;

const char *env_get(const char *name)
{
	const char *value = secure_getenv(name);
	return value && *value ? value : NULL;
}

bool env_is(const char *name, const char *value)
{
	const char *is = env_get(name);
	return is && !strcmp(is, value);
}

bool env_flag(const char *name)
{
	const char *value = env_get(name);
	return value && strcmp(value, "0") && strcmp(value, "no") && strcmp(value, "off");
}

long env_long(const char *name, long fallback, long low, long high)
{
	const char *value = env_get(name);
	if (!value)
		return fallback;
	char *end;
	long number = strtol(value, &end, 0);
	if (*end || number < low || number > high) {
		log_warn("%s=%s is not a number from %ld to %ld: ignored", name, value, low, high);
		return fallback;
	}
	return number;
}

bool env_dump(const char *what)
{
	const char *list = env_get("DRAGOMAN_DUMP");
	size_t length = strlen(what);
	while (list) {
		const char *end = strchrnul(list, ',');
		if ((size_t)(end - list) == length && !memcmp(list, what, length))
			return true;
		list = *end ? end + 1 : NULL;
	}
	return false;
}

static void log_open(void)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	const char *value = env_get("DRAGOMAN_LOG");
	if (!value)
		return;
	const char *end = strchrnul(value, ':');
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if ((size_t)(end - value) == strlen(names[i]) && !memcmp(value, names[i], strlen(names[i])))
			log_threshold = (enum log_level)i;
	if (*end) {
		int fd = open(end + 1, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (fd >= 0)
			log_fd = fd;
	}
}

bool log_enabled(enum log_level level)
{
	pthread_once(&log_once, log_open);
	return level <= log_threshold;
}

void log_line(enum log_level level, const char *format, ...)
{
	if (!log_enabled(level))
		return;
	char line[4096];
	int used = snprintf(line, sizeof line, "dragoman: ");
	va_list arguments;
	va_start(arguments, format);
	int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
	va_end(arguments);
	size_t length = (size_t)used + (size_t)(more < 0 ? 0 : more);
	if (length > sizeof line - 2)
		length = sizeof line - 2;
	line[length++] = '\n';
	/* One write a line: lines of several threads or processes do not mix. */
	ssize_t written = write(log_fd, line, length);
	(void)written;
}

static pthread_once_t folder_once = PTHREAD_ONCE_INIT;
static char folder[PATH_MAX]; /* not thread-local: libraries that are dlopened have little room for that */

static void find_folder(void)
{
	Dl_info info;
	char *slash;

	if (!dladdr((void *)(uintptr_t)&env_library_folder, &info) || !info.dli_fname || !realpath(info.dli_fname, folder)) {
		folder[0] = '\0';
		return;
	}
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
}

const char *env_library_folder(void)
{
	pthread_once(&folder_once, find_folder);
	return folder[0] ? folder : NULL;
}

uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
