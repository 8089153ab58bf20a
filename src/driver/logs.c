/* The error log that programs may read. CUDA Driver API 6.38, cuLogs*. What api_error() says of a failed call is kept here, the
 * last hundred messages, and told to the program's callbacks at once. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/cuda_impl.h"

enum { KEPT = 100, LENGTH = 256, BUFFER_MOST = 25600, CALLBACKS_MOST = 16 };

struct callback { /* behind CUlogsCallbackHandle */
	struct handle handle;
	CUlogsCallback function;
	void *data;
};

static struct {
	pthread_mutex_t lock;
	unsigned next; /* number of the next message; they are numbered from 0, as iterators are */
	char text[KEPT][LENGTH];
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The callbacks may call the driver, these functions too: no lock is held then. */
static void observe(const char *message)
{
	struct { CUlogsCallback function; void *data; } told[CALLBACKS_MOST];
	char text[LENGTH];
	int length = snprintf(text, sizeof text, "%s", message);
	unsigned count = 0;

	if (length >= (int)sizeof text)
		length = (int)sizeof text - 1;
	pthread_mutex_lock(&kept.lock);
	memcpy(kept.text[kept.next++ % KEPT], text, (size_t)length + 1);
	for (struct callback *c = handle_next(NULL, HANDLE_LOG_CALLBACK); c && count < CALLBACKS_MOST;
	     c = handle_next(c, HANDLE_LOG_CALLBACK)) {
		told[count].function = c->function;
		told[count++].data = c->data;
	}
	pthread_mutex_unlock(&kept.lock);
	while (count-- > 0)
		told[count].function(told[count].data, CU_LOG_LEVEL_ERROR, text, (size_t)length);
}

static __attribute__((constructor)) void logs_init(void)
{
	api_error_observe(observe);
}

CUresult impl_cuLogsRegisterCallback(CUlogsCallback function, void *data, CUlogsCallbackHandle *handle)
{
	struct callback *callback;

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&kept.lock);
	callback = handle_create(HANDLE_LOG_CALLBACK);
	if (callback) {
		callback->function = function;
		callback->data = data;
	}
	pthread_mutex_unlock(&kept.lock);
	if (!callback)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (handle)
		*handle = (CUlogsCallbackHandle)callback;
	return CUDA_SUCCESS;
}

CUresult impl_cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
	struct callback *callback;

	pthread_mutex_lock(&kept.lock);
	callback = handle_check(handle, HANDLE_LOG_CALLBACK);
	if (callback)
		handle_destroy(callback);
	pthread_mutex_unlock(&kept.lock);
	return callback ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuLogsCurrent(CUlogIterator *iterator, unsigned int flags)
{
	if (!iterator || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&kept.lock);
	*iterator = kept.next;
	pthread_mutex_unlock(&kept.lock);
	return CUDA_SUCCESS;
}

static unsigned oldest_locked(void)
{
	return kept.next > KEPT ? kept.next - KEPT : 0;
}

/* The messages from `from` on, a line each, below `room` bytes: where not all fit or are there, the newest, behind a line that
 * says so. Nothing where not even one fits. */
static void collect_locked(struct text *out, unsigned from, size_t room)
{
	unsigned first = from < oldest_locked() ? oldest_locked() : from, at = kept.next;
	char note[64];
	size_t bytes = 0, note_bytes;

	while (at > first && bytes + strlen(kept.text[(at - 1) % KEPT]) + 1 < room)
		bytes += strlen(kept.text[--at % KEPT]) + 1;
	note_bytes = (size_t)snprintf(note, sizeof note, "(%u earlier messages are left out)\n", at - from);
	while (at > from && at < kept.next && bytes + note_bytes >= room) /* room for the note */
		bytes -= strlen(kept.text[at++ % KEPT]) + 1;
	if (at > from && at < kept.next)
		text_printf(out, "(%u earlier messages are left out)\n", at - from);
	for (; at < kept.next; at++)
		text_printf(out, "%s\n", kept.text[at % KEPT]);
}

/* `iterator` goes on to the next message that will come. */
static unsigned begin_locked(CUlogIterator *iterator)
{
	unsigned from = iterator && *iterator <= kept.next ? *iterator : iterator ? kept.next : oldest_locked();

	if (iterator)
		*iterator = kept.next;
	return from;
}

CUresult impl_cuLogsDumpToFile(CUlogIterator *iterator, const char *path, unsigned int flags)
{
	struct text text = {0};
	FILE *file;
	bool written;

	if (!path || flags)
		return CUDA_ERROR_INVALID_VALUE;
	file = fopen(path, "ae");
	if (!file)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&kept.lock);
	collect_locked(&text, begin_locked(iterator), SIZE_MAX);
	pthread_mutex_unlock(&kept.lock);
	written = !text.count || fwrite(text.data, text.count, 1, file) == 1;
	written = !fclose(file) && written;
	text_fini(&text);
	return written ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
	struct text text = {0};
	unsigned from;
	bool none;

	if (!buffer || !size || !*size || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&kept.lock);
	from = begin_locked(iterator);
	none = from == kept.next;
	collect_locked(&text, from, *size < BUFFER_MOST ? *size : BUFFER_MOST);
	pthread_mutex_unlock(&kept.lock);
	if (text.count)
		memcpy(buffer, text.data, text.count);
	buffer[text.count] = '\0';
	*size = text.count;
	text_fini(&text);
	return none || *size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
