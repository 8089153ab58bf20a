/* Status codes: their names and texts, and the log line where one arises. */
#include "api/api.h"

#include <stdatomic.h>
#include <stdio.h>

#include "api/status.h"
#include "cuda.h"

const struct api_status *api_status_find(int code)
{
	unsigned low = 0, high = api_status_count;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		if (api_statuses[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < api_status_count && api_statuses[low].code == code ? &api_statuses[low] : NULL;
}

/* What a user has to know of, whatever the program makes of the status. */
static bool is_grave(int code)
{
	switch (code) {
	case CUDA_ERROR_INVALID_IMAGE:
	case CUDA_ERROR_NO_BINARY_FOR_GPU:
	case CUDA_ERROR_INVALID_PTX:
	case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
	case CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_NOT_SUPPORTED:
	case CUDA_ERROR_UNKNOWN:
		return true;
	default:
		return false;
	}
}

static _Atomic(void (*)(const char *)) error_observer;

void api_error_observe(void (*observer)(const char *message))
{
	atomic_store_explicit(&error_observer, observer, memory_order_release);
}

int api_error(int code, const char *format, ...)
{
	enum log_level level = is_grave(code) ? LOG_WARN : LOG_INFO;
	void (*observer)(const char *) = atomic_load_explicit(&error_observer, memory_order_acquire);
	if (!log_enabled(level) && !observer)
		return code;
	char message[1024], line[1200];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	const struct api_status *status = api_status_find(code);
	const char *name = !status ? "?" : status->driver_name ? status->driver_name : status->runtime_name;
	const char *function = api_function_name();
	snprintf(line, sizeof line, "%s%s%s (%s)", function, *function ? ": " : "", message, name);
	if (log_enabled(level))
		log_line(level, "%s", line);
	if (observer)
		observer(line);
	return code;
}
