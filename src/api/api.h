/* What every entry point of Dragoman's libraries shares: which function the program called, errors
 * with a log line, functions that nothing implements, traces, call counters, and the look-up by
 * name and version. The entries themselves are generated from spec/ (tools/api_gen.py); defining
 * impl_NAME in a linked object is all that an implementation does to be called.
 *
 * A library (libcuda, libcudart.so.13, ...) has its own copy of this code and of its state. */
#ifndef DRAGOMAN_API_API_H
#define DRAGOMAN_API_API_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

/* Logs the message, led by the name of the API function that the program called, and returns
 * `code`, so that a function ends with: return api_error(CUDA_ERROR_INVALID_VALUE, "...");
 * What a program may well be probing for is logged at the info level, what it cannot expect (a
 * kernel that cannot be compiled, a fault, a call that is not supported) as a warning.
 * `code` is a CUresult or a cudaError_t: their numbers agree. */
int api_error(int code, const char *format, ...) PRINTF_LIKE(2, 3);
/* Every message of api_error() goes to the observer too, whatever the log's level; NULL: to none. */
void api_error_observe(void (*observer)(const char *message));

/* The API function that this thread is in, such as "cuMemAlloc_v2"; "" outside of any. The text
 * is valid until the thread calls again. */
const char *api_function_name(void);

/* Whether the program called the variant of the function (..._ptds, ..._ptsz) whose default stream
 * is the calling thread's own. Entries with a stream parameter have already put
 * CU_STREAM_PER_THREAD (cudaStreamPerThread) in the place of stream 0; this is for functions that
 * imply a stream, such as cuMemcpy. */
bool api_per_thread_stream(void);

/* Beside an implementation that checks its arguments and has nothing to do (a hint, a profiler
 * mark): the status pages then say "accepted" and not "implemented". */
#define API_ACCEPTED(function)                                                                     \
	extern const char api_accepted_##function;                                                 \
	const char api_accepted_##function = 1

/* ---- status codes ------------------------------------------------------------------------------ */

struct api_status {
	int code;
	const char *driver_name, *runtime_name; /* NULL where that API has no such code */
	const char *text;                       /* what cuGetErrorString says */
};
/* NULL for a number that is no status code. */
const struct api_status *api_status_find(int code);

/* ---- functions by name (libcuda only) ------------------------------------------------------------ */

struct api_proc {
	const char *name; /* as programs ask: without _v2 and _ptsz */
	uint16_t version; /* that introduced it: 3020 is CUDA 3.2 */
	bool per_thread;  /* _ptsz or _ptds */
	void (*function)(void);
};
enum api_proc_result { API_PROC_FOUND, API_PROC_NOT_FOUND, API_PROC_VERSION_TOO_OLD };

/* The newest variant of `name` that is not newer than `version` (12080 is CUDA 12.8). `per_thread`
 * asks for the variant with the thread's own default stream where there is one. NULL, and the
 * reason in *result (which may be NULL), where there is none. The exact name of an exported
 * function, such as cuMemAlloc_v2, is found too, whatever the version.
 * CUDA Driver API, "Driver Entry Point Access". */
const struct api_proc *api_find_proc(const char *name, int version, bool per_thread,
				     enum api_proc_result *result);

#endif
