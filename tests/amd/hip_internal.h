/* The fake libamdhip64: HIP's entries that the AMD back end uses (src/backend/amd/hip.h), on the emulator.
 *
 * Calls check their arguments as HIP does. Streams run asynchronously, each on a thread of its own that starts with its first
 * command. What fails in a stream is told once, by the next call that waits for it or asks about it, and on stderr. */
#ifndef AMD_HIP_INTERNAL_H
#define AMD_HIP_INTERNAL_H
#include <pthread.h>
#include <stdbool.h>
#include "backend/amd/hip.h"
#include "emulator.h"

#define HIP_PROTOTYPE(name, result, arguments) __attribute__((visibility("default"))) result name arguments;
HIP_ENTRIES(HIP_PROTOTYPE)
#undef HIP_PROTOTYPE

enum { DEVICES_MAX = 16, BLOCK_THREADS_MAX = 1024, LDS_MAX = 64 << 10 };
static const size_t DEVICE_BYTES = 16ull << 30;

struct device {
	const struct gpu_model *gpu;
	size_t used;		/* bytes allocated, under memory_lock */
	size_t stack_bytes;
	struct stream *null_stream, *streams;	/* all streams of the device, under stream_lock */
};

/* The emulated devices; 0 and a line on stderr if DRAGOMAN_EMULATE names none that there are. */
int devices(struct device **list);
/* The calling thread's device; NULL if there are none. */
struct device *current_device(void);
struct device *device_at(int ordinal);
int device_ordinal(const struct device *device);

/* Live handles, so that one that is not is an error rather than a crash. */
enum handle_kind { HANDLE_STREAM = 1, HANDLE_EVENT, HANDLE_MODULE, HANDLE_FUNCTION, HANDLE_MEMORY };
void handle_add(void *handle, enum handle_kind kind);
bool handle_remove(void *handle, enum handle_kind kind);
bool handle_live(const void *handle, enum handle_kind kind);

/* hip_stream.c. Work in a stream: runs on its thread, in order; the result is a HIP error. */
typedef int work_function(void *work);
/* Takes `work` over: it is freed when it has run. With `wait`, returns when it has, and what has failed in the stream. */
int stream_enqueue(hip_stream stream, work_function *function, void *work, bool wait);
extern volatile bool hip_stopping;			/* the program ends: dispatches stop */
struct device *stream_device(hip_stream stream);	/* NULL: no stream */
int device_drain(struct device *device);		/* waits for all streams; the first error since it was last told */
void all_devices_drain(void);				/* waits, and leaves errors to be told */

/* hip_memory.c: whether HIP knows the memory (device, pinned, registered), and [pointer, pointer + size) is inside of it */
enum memory_kind { MEMORY_UNKNOWN, MEMORY_KNOWN, MEMORY_OVERRUN };
enum memory_kind memory_classify(const void *pointer, size_t size);

#endif
