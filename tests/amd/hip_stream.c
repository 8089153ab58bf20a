/* Streams and events. A stream is a list of commands and a thread that runs them; a command may first wait for others: the null
 * stream and the blocking ones wait for each other's earlier commands, as HIP's legacy default stream has it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "hip_internal.h"

struct event {
	unsigned flags;
	unsigned references;	/* the handle, and commands */
	uint64_t recorded, completed;	/* how many times */
	uint64_t time;		/* ns, of the completion */
};

struct dependency {
	struct stream *stream;
	uint64_t number;
};

struct command {
	struct command *next;
	uint64_t number;
	work_function *function;
	void *work;
	struct event *event;	/* with `wait` the one to wait for, else to complete */
	bool wait;
	uint64_t event_number;
	struct dependency *dependencies;
	unsigned dependency_count;
};

struct stream {
	struct device *device;
	unsigned flags;
	struct stream *next;		/* of the device */
	struct command *first, *last;
	uint64_t enqueued, done;	/* commands */
	int error;			/* not told yet */
	bool started, ending;
	pthread_t thread;
	unsigned references;		/* the handle, and dependencies on it */
};

/* One lock and one condition for all streams and events: simple, and the traffic is low. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

volatile bool hip_stopping;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void event_release_locked(struct event *event)
{
	if (!--event->references) free(event);
}

static void stream_release_locked(struct stream *stream)
{
	if (!--stream->references) free(stream);
}

static void run_command(struct stream *stream, struct command *command)
{
	int error = HIP_SUCCESS;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < command->dependency_count; i++) {
		while (command->dependencies[i].stream->done < command->dependencies[i].number && !hip_stopping) pthread_cond_wait(&changed, &lock);
		stream_release_locked(command->dependencies[i].stream);
	}
	while (command->wait && command->event->completed < command->event_number && !hip_stopping) pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	if (command->function && !hip_stopping) error = command->function(command->work);
	pthread_mutex_lock(&lock);
	if (error && !stream->error) stream->error = error;
	if (command->event && !command->wait && command->event->completed < command->event_number) {
		command->event->completed = command->event_number;
		command->event->time = now();
	}
	if (command->event) event_release_locked(command->event);
	stream->done = command->number;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	free(command->work);
	free(command->dependencies);
	free(command);
}

static void *stream_thread(void *argument)
{
	struct stream *stream = argument;

	pthread_mutex_lock(&lock);
	for (;;) {
		struct command *command = stream->first;

		if (!command) {
			if (stream->ending) break;
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		stream->first = command->next;
		if (!stream->first) stream->last = NULL;
		pthread_mutex_unlock(&lock);
		run_command(stream, command);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static struct stream *stream_create_locked(struct device *device, unsigned flags)
{
	struct stream *stream = calloc(1, sizeof *stream);

	if (!stream) return NULL;
	stream->device = device;
	stream->flags = flags;
	stream->references = 1;
	stream->next = device->streams;
	device->streams = stream;
	return stream;
}

/* The stream of a handle: NULL is the current device's null stream; hipStreamPerThread is not offered. */
static struct stream *stream_find_locked(hip_stream handle)
{
	struct device *device;

	if (handle) return handle_live(handle, HANDLE_STREAM) ? handle : NULL;
	device = current_device();
	if (!device) return NULL;
	if (!device->null_stream) device->null_stream = stream_create_locked(device, 0);
	return device->null_stream;
}

struct device *stream_device(hip_stream handle)
{
	struct stream *stream;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(handle);
	pthread_mutex_unlock(&lock);
	return stream ? stream->device : NULL;
}

/* What the command has to wait for besides its own stream. */
static void add_dependencies(struct stream *stream, struct command *command)
{
	struct device *device = stream->device;
	bool null = stream == device->null_stream;
	unsigned count = 0;

	if (stream->flags & HIP_STREAM_NON_BLOCKING) return;
	for (struct stream *other = device->streams; other; other = other->next) count++;
	command->dependencies = calloc(count, sizeof *command->dependencies);
	if (!command->dependencies) abort();
	for (struct stream *other = device->streams; other; other = other->next) {
		if (other == stream || other->flags & HIP_STREAM_NON_BLOCKING || (!null && other != device->null_stream)) continue;
		if (other->done == other->enqueued) continue;
		other->references++;
		command->dependencies[command->dependency_count++] = (struct dependency){ other, other->enqueued };
	}
}

static int take_error_locked(struct stream *stream)
{
	int error = stream->error;

	stream->error = HIP_SUCCESS;
	return error;
}

static int wait_locked(struct stream *stream, uint64_t number)
{
	int error;

	stream->references++;
	while (stream->done < number) pthread_cond_wait(&changed, &lock);
	error = take_error_locked(stream);
	stream_release_locked(stream);
	return error;
}

static int enqueue(hip_stream handle, const struct command *model, bool wait)
{
	struct command *command = malloc(sizeof *command);
	struct stream *stream;
	int error = HIP_SUCCESS;

	if (!command) return HIP_OUT_OF_MEMORY;
	*command = *model;
	pthread_mutex_lock(&lock);
	stream = stream_find_locked(handle);
	if (!stream) {
		pthread_mutex_unlock(&lock);
		free(command->work);
		free(command);
		return HIP_INVALID_HANDLE;
	}
	if (command->event) {
		if (!command->wait) command->event->recorded++;
		command->event_number = command->event->recorded;
		command->event->references++;
	}
	add_dependencies(stream, command);
	command->number = ++stream->enqueued;
	if (stream->last) stream->last->next = command;
	else stream->first = command;
	stream->last = command;
	if (!stream->started) {
		if (pthread_create(&stream->thread, NULL, stream_thread, stream)) abort();
		stream->started = true;
	}
	pthread_cond_broadcast(&changed);
	if (wait) error = wait_locked(stream, stream->enqueued);
	pthread_mutex_unlock(&lock);
	return error;
}

int stream_enqueue(hip_stream stream, work_function *function, void *work, bool wait)
{
	return enqueue(stream, &(struct command){ .function = function, .work = work }, wait);
}

int device_drain(struct device *device)
{
	int error = HIP_SUCCESS;

	pthread_mutex_lock(&lock);
restart:
	for (struct stream *stream = device->streams; stream; stream = stream->next) {
		int found;

		if (stream->done == stream->enqueued) {
			found = take_error_locked(stream);
			if (!error) error = found;
			continue;
		}
		found = wait_locked(stream, stream->enqueued);
		if (!error) error = found;
		goto restart;	/* the list may have changed */
	}
	pthread_mutex_unlock(&lock);
	return error;
}

void all_devices_drain(void)
{
	struct device *list;
	int count = devices(&list);

	/* What failed is still told by the calls that wait: only the waiting is wanted here. */
	for (int i = 0; i < count; i++) {
		pthread_mutex_lock(&lock);
restart:
		for (struct stream *stream = list[i].streams; stream; stream = stream->next) {
			if (stream->done == stream->enqueued) continue;
			stream->references++;
			while (stream->done < stream->enqueued) pthread_cond_wait(&changed, &lock);
			stream_release_locked(stream);
			goto restart;
		}
		pthread_mutex_unlock(&lock);
	}
}

/* ---- streams ---- */
int hipStreamCreateWithPriority(hip_stream *stream, unsigned flags, int priority)
{
	struct device *device = current_device();

	(void)priority;	/* out of range ones are clamped, and none has an effect */
	if (!stream || flags & ~(unsigned)HIP_STREAM_NON_BLOCKING) return HIP_INVALID_VALUE;
	if (!device) return HIP_NO_DEVICE;
	pthread_mutex_lock(&lock);
	*stream = stream_create_locked(device, flags);
	pthread_mutex_unlock(&lock);
	if (!*stream) return HIP_OUT_OF_MEMORY;
	handle_add(*stream, HANDLE_STREAM);
	return HIP_SUCCESS;
}

int hipStreamCreateWithFlags(hip_stream *stream, unsigned flags) { return hipStreamCreateWithPriority(stream, flags, 0); }

static void stream_end(struct stream *stream)
{
	struct stream **link;

	pthread_mutex_lock(&lock);
	stream->ending = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (stream->started) pthread_join(stream->thread, NULL);
	pthread_mutex_lock(&lock);
	for (link = &stream->device->streams; *link != stream; link = &(*link)->next)
		;
	*link = stream->next;
	stream_release_locked(stream);
	pthread_mutex_unlock(&lock);
}

int hipStreamDestroy(hip_stream stream)
{
	if (!stream || !handle_remove(stream, HANDLE_STREAM)) return HIP_INVALID_HANDLE;
	stream_end(stream);	/* after its work, as in HIP */
	return HIP_SUCCESS;
}

int hipStreamSynchronize(hip_stream handle)
{
	struct stream *stream;
	int error;

	if (!handle) return stream_enqueue(NULL, NULL, NULL, true);	/* waits for the blocking streams too */
	pthread_mutex_lock(&lock);
	stream = stream_find_locked(handle);
	error = stream ? wait_locked(stream, stream->enqueued) : HIP_INVALID_HANDLE;
	pthread_mutex_unlock(&lock);
	return error;
}

int hipStreamQuery(hip_stream handle)
{
	struct stream *stream;
	int error;

	pthread_mutex_lock(&lock);
	stream = stream_find_locked(handle);
	error = !stream ? HIP_INVALID_HANDLE : stream->done < stream->enqueued ? HIP_NOT_READY : take_error_locked(stream);
	if (!handle && stream)
		for (struct stream *other = stream->device->streams; other && !error; other = other->next)
			if (!(other->flags & HIP_STREAM_NON_BLOCKING) && other->done < other->enqueued) error = HIP_NOT_READY;
	pthread_mutex_unlock(&lock);
	return error;
}

int hipStreamWaitEvent(hip_stream stream, hip_event event, unsigned flags)
{
	if (flags) return HIP_INVALID_VALUE;
	if (!event || !handle_live(event, HANDLE_EVENT)) return HIP_INVALID_HANDLE;
	return enqueue(stream, &(struct command){ .event = event, .wait = true }, false);
}

struct host_call {
	hip_host_function *function;
	hip_stream_callback *callback;
	hip_stream stream;
	void *argument;
};

static int call_host(void *work)
{
	struct host_call *call = work;

	if (call->function) call->function(call->argument);
	else call->callback(call->stream, HIP_SUCCESS, call->argument);
	return HIP_SUCCESS;
}

static int enqueue_call(hip_stream stream, struct host_call call)
{
	struct host_call *copy = malloc(sizeof *copy);

	if (!copy) return HIP_OUT_OF_MEMORY;
	*copy = call;
	return stream_enqueue(stream, call_host, copy, false);
}

int hipStreamAddCallback(hip_stream stream, hip_stream_callback *callback, void *argument, unsigned flags)
{
	if (!callback || flags) return HIP_INVALID_VALUE;
	return enqueue_call(stream, (struct host_call){ NULL, callback, stream, argument });
}

int hipLaunchHostFunc(hip_stream stream, hip_host_function *function, void *argument)
{
	if (!function) return HIP_INVALID_VALUE;
	return enqueue_call(stream, (struct host_call){ function, NULL, stream, argument });
}

/* ---- values ---- */
struct value_wait {
	const volatile void *address;
	uint64_t value, mask;
	unsigned bytes, flags;
};

/* The race with whoever writes the value is what this is for. */
__attribute__((no_sanitize_thread)) static bool value_is_there(const struct value_wait *w)
{
	uint64_t now = (w->bytes == 4 ? *(const volatile uint32_t *)w->address : *(const volatile uint64_t *)w->address) & w->mask;

	switch (w->flags) {
	case 0: return now >= w->value;
	case 1: return now == w->value;
	case 2: return now & w->value;
	default: return ~(now | w->value) & w->mask;
	}
}

static int wait_for_value(void *work)
{
	while (!value_is_there(work) && !hip_stopping) usleep(50);
	return HIP_SUCCESS;
}

static int enqueue_wait(hip_stream stream, struct value_wait wait)
{
	struct value_wait *copy;

	if (getenv("DRAGOMAN_EMULATE_NO_WAIT")) return HIP_INVALID_VALUE; /* as where only memory of hipMallocSignalMemory will do */
	if (!wait.address || wait.flags > 3 || memory_classify((const void *)(uintptr_t)wait.address, wait.bytes) != MEMORY_KNOWN) return HIP_INVALID_VALUE;
	if (!stream_device(stream)) return HIP_INVALID_HANDLE;
	copy = malloc(sizeof *copy);
	if (!copy) return HIP_OUT_OF_MEMORY;
	*copy = wait;
	return stream_enqueue(stream, wait_for_value, copy, false);
}

int hipStreamWaitValue32(hip_stream stream, void *address, uint32_t value, unsigned flags, uint32_t mask)
{
	return enqueue_wait(stream, (struct value_wait){ address, value, mask, 4, flags });
}

int hipStreamWaitValue64(hip_stream stream, void *address, uint64_t value, unsigned flags, uint64_t mask)
{
	return enqueue_wait(stream, (struct value_wait){ address, value, mask, 8, flags });
}

/* ---- events ---- */
int hipEventCreateWithFlags(hip_event *event, unsigned flags)
{
	const unsigned known = 0xe0000007;	/* blocking, no timing, interprocess, and HIP's own about caches */
	struct event *created;

	if (!event || flags & ~known) return HIP_INVALID_VALUE;
	created = calloc(1, sizeof *created);
	if (!created) return HIP_OUT_OF_MEMORY;
	created->flags = flags;
	created->references = 1;
	handle_add(created, HANDLE_EVENT);
	*event = created;
	return HIP_SUCCESS;
}

int hipEventDestroy(hip_event event)
{
	if (!event || !handle_remove(event, HANDLE_EVENT)) return HIP_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	event_release_locked(event);
	pthread_mutex_unlock(&lock);
	return HIP_SUCCESS;
}

int hipEventRecord(hip_event event, hip_stream stream)
{
	if (!event || !handle_live(event, HANDLE_EVENT)) return HIP_INVALID_HANDLE;
	return enqueue(stream, &(struct command){ .event = event }, false);
}

int hipEventQuery(hip_event handle)
{
	struct event *event = handle;
	int error;

	if (!event || !handle_live(event, HANDLE_EVENT)) return HIP_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	error = event->completed < event->recorded ? HIP_NOT_READY : HIP_SUCCESS;
	pthread_mutex_unlock(&lock);
	return error;
}

int hipEventSynchronize(hip_event handle)
{
	struct event *event = handle;
	uint64_t number;

	if (!event || !handle_live(event, HANDLE_EVENT)) return HIP_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	event->references++;
	number = event->recorded;
	while (event->completed < number) pthread_cond_wait(&changed, &lock);
	event_release_locked(event);
	pthread_mutex_unlock(&lock);
	return HIP_SUCCESS;
}

int hipEventElapsedTime(float *ms, hip_event start_handle, hip_event stop_handle)
{
	struct event *start = start_handle, *stop = stop_handle;
	int error = HIP_SUCCESS;

	if (!ms) return HIP_INVALID_VALUE;
	if (!start || !stop || !handle_live(start, HANDLE_EVENT) || !handle_live(stop, HANDLE_EVENT)) return HIP_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	if (!start->recorded || !stop->recorded || (start->flags | stop->flags) & HIP_EVENT_NO_TIMING) error = HIP_INVALID_HANDLE;
	else if (start->completed < start->recorded || stop->completed < stop->recorded) error = HIP_NOT_READY;
	else *ms = (float)((double)((int64_t)(stop->time - start->time)) * 1e-6);
	pthread_mutex_unlock(&lock);
	return error;
}

/* At the program's end what still runs is stopped and the rest dropped, as when a process with a queue exits. */
__attribute__((destructor)) static void end_streams(void)
{
	struct timespec until;
	struct device *list;
	int count = devices(&list);

	hip_stopping = true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < count; i++)
		for (struct stream *stream = list[i].streams; stream; stream = stream->next) stream->ending = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < count; i++)
		for (struct stream *stream = list[i].streams, *next; stream; stream = next) {
			next = stream->next;
			if (stream->started && pthread_timedjoin_np(stream->thread, NULL, &until)) return;	/* in a callback that does not end */
			free(stream);
		}
}
