/* Small parts of the API: profiler control, core dumps, notifications. CUDA Driver API 6.33, 6.35, 6.36.
 * Core dumps of a device are not made here; what a program sets is kept, because it asks for it again. */
#define _GNU_SOURCE
#include "driver/driver.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/cuda_impl.h"

/* ---- profiler ------------------------------------------------------------------------------------------------------ */

CUresult impl_cuProfilerInitialize(const char *config, const char *output, CUoutput_mode mode)
{
	(void)config, (void)output, (void)mode;
	return api_error(CUDA_ERROR_NOT_SUPPORTED, "configuration files of the profiler went with CUDA 11");
}

CUresult impl_cuProfilerStart(void)
{
	REQUIRE_CONTEXT(context);
	(void)context; /* a tool's business */
	return CUDA_SUCCESS;
}

CUresult impl_cuProfilerStop(void)
{
	REQUIRE_CONTEXT(context);
	(void)context;
	return CUDA_SUCCESS;
}

/* ---- core dumps ------------------------------------------------------------------------------------------------------ */

enum { DUMP_TEXT = 1024 };

static struct {
	pthread_mutex_t lock;
	bool on_exception, by_host, lightweight, by_user;
	unsigned flags;
	char file[DUMP_TEXT], pipe[DUMP_TEXT];
} dumps = {.lock = PTHREAD_MUTEX_INITIALIZER, .by_host = true, .file = "core_%t_%h_%p", .pipe = "corepipe_%h_%p"};

/* Where a setting is kept, and its room. */
static void *dump_place(CUcoredumpSettings setting, size_t *size)
{
	*size = sizeof(bool);
	switch ((int)setting) {
	case CU_COREDUMP_ENABLE_ON_EXCEPTION: return &dumps.on_exception;
	case CU_COREDUMP_TRIGGER_HOST: return &dumps.by_host;
	case CU_COREDUMP_LIGHTWEIGHT: return &dumps.lightweight;
	case CU_COREDUMP_ENABLE_USER_TRIGGER: return &dumps.by_user;
	case CU_COREDUMP_GENERATION_FLAGS: *size = sizeof dumps.flags; return &dumps.flags;
	case CU_COREDUMP_FILE: *size = DUMP_TEXT; return dumps.file;
	case CU_COREDUMP_PIPE: *size = DUMP_TEXT; return dumps.pipe;
	default: return NULL;
	}
}

/* `size` says the room on the way in, what is there on the way out; without a place for the value only that. */
static CUresult dump_get(CUcoredumpSettings setting, void *value, size_t *size)
{
	size_t room;
	const void *place = dump_place(setting, &room);

	if (!place || !size)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&dumps.lock);
	if (room == DUMP_TEXT)
		room = strlen(place) + 1;
	if (value && *size)
		memcpy(value, place, *size < room ? *size : room);
	*size = room;
	pthread_mutex_unlock(&dumps.lock);
	return CUDA_SUCCESS;
}

static CUresult dump_set(CUcoredumpSettings setting, const void *value, const size_t *size)
{
	size_t room;
	void *place = dump_place(setting, &room);

	if (!place || !value || !size || !*size || *size > room || (room != DUMP_TEXT && *size != room))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&dumps.lock);
	memcpy(place, value, *size);
	if (room == DUMP_TEXT)
		((char *)place)[*size < DUMP_TEXT ? *size : DUMP_TEXT - 1] = '\0';
	pthread_mutex_unlock(&dumps.lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuCoredumpGetAttribute(CUcoredumpSettings setting, void *value, size_t *size)
{
	REQUIRE_CONTEXT(context);
	(void)context;
	return dump_get(setting, value, size);
}

CUresult impl_cuCoredumpGetAttributeGlobal(CUcoredumpSettings setting, void *value, size_t *size)
{
	return dump_get(setting, value, size);
}

CUresult impl_cuCoredumpSetAttribute(CUcoredumpSettings setting, void *value, size_t *size)
{
	REQUIRE_CONTEXT(context);
	(void)context;
	return dump_set(setting, value, size);
}

CUresult impl_cuCoredumpSetAttributeGlobal(CUcoredumpSettings setting, void *value, size_t *size)
{
	return dump_set(setting, value, size);
}

/* ---- notifications: a device of ours is never told to give up memory -------------------------------------------------------- */

struct entry { /* behind CUasyncCallbackHandle */
	struct handle handle;
	CUdevice device;
};

CUresult impl_cuDeviceRegisterAsyncNotification(CUdevice dev, CUasyncCallback function, void *data, CUasyncCallbackHandle *handle)
{
	struct entry *entry;

	REQUIRE_READY();
	(void)data;
	if (!driver_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!function || !handle)
		return CUDA_ERROR_INVALID_VALUE;
	entry = handle_create(HANDLE_NOTIFICATION);
	if (!entry)
		return CUDA_ERROR_OUT_OF_MEMORY;
	entry->device = dev;
	*handle = (CUasyncCallbackHandle)entry;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceUnregisterAsyncNotification(CUdevice dev, CUasyncCallbackHandle handle)
{
	struct entry *entry = handle_check(handle, HANDLE_NOTIFICATION);

	REQUIRE_READY();
	if (!driver_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!entry || entry->device != dev)
		return CUDA_ERROR_INVALID_VALUE;
	handle_destroy(entry);
	return CUDA_SUCCESS;
}

/* ---- GPUDirect RDMA ------------------------------------------------------------------------------------------------------------ */

CUresult impl_cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope)
{
	REQUIRE_CONTEXT(context);
	(void)context;
	if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
	    (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER && scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
		return CUDA_ERROR_INVALID_VALUE;
	return api_error(CUDA_ERROR_NOT_SUPPORTED, "no device writes past the host's memory order");
}
