/* Memory and events that several processes share. CUDA Driver API 6.13, cuIpc*.
 *
 * An allocation that is exported is moved into a memfd, at its place: its pages are copied there and mapped back over the
 * same addresses, with what neighbours have on them. The importing process opens the file by way of /proc, which lets a process of the same user do so.
 * An event has a page of that kind: what was recorded last, and what of it is done. Memory of a device that does not work on the host's is
 * shared by handles of its own (device_ops.memory_share). */
#define _GNU_SOURCE
#include "driver/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/cuda_impl.h"
#include "driver/capture.h"

enum { IPC_MAGIC = 0x43504944 };

_Static_assert(sizeof(struct ipc_handle) <= CU_IPC_HANDLE_SIZE, "handles of other processes are 64 bytes");

struct shared_event { /* the page */
	_Atomic uint32_t recorded, done; /* numbers of records; `done` is a futex */
};

struct ipc_event {
	_Atomic uint32_t uses; /* the event's, and one for each record on its way */
	struct shared_event *page;
	int file;              /* -1: opened, another process's */
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

CUresult ipc_file(size_t size, int *out)
{
	int file = memfd_create("dragoman-ipc", MFD_CLOEXEC);

	if (file < 0)
		return api_error(CUDA_ERROR_OPERATING_SYSTEM, "memfd_create: %s", strerror(errno));
	if (ftruncate(file, (off_t)size)) {
		close(file);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = file;
	return CUDA_SUCCESS;
}

static uint64_t inode_of(int file)
{
	struct stat info;

	return fstat(file, &info) ? 0 : (uint64_t)info.st_ino;
}

/* A descriptor of this process for the file behind the handle. */
static CUresult handle_open(const struct ipc_handle *handle, bool is_event, bool own, int *out)
{
	char path[64];
	int file;

	if (handle->magic != IPC_MAGIC || handle->is_event != is_event)
		return api_error(CUDA_ERROR_INVALID_VALUE, "the handle was not made for that");
	if (handle->process == getpid() && !own)
		return api_error(CUDA_ERROR_INVALID_CONTEXT, "a process cannot open what it shares itself");
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)handle->process, (int)handle->file);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return api_error(CUDA_ERROR_MAP_FAILED, "%s: %s", path, strerror(errno));
	if (inode_of(file) != handle->inode) {
		close(file);
		return api_error(CUDA_ERROR_MAP_FAILED, "what process %d shared is gone", (int)handle->process);
	}
	*out = file;
	return CUDA_SUCCESS;
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

/* Small allocations share pages with their neighbours: everything within UNIT bytes goes into one file, at its place there, so
 * that a page is never in two files. What is larger has a file of its own. */
enum { UNIT = 2 << 20, PAGE_LEAST = 4096 };

struct unit {
	struct unit *next;
	uintptr_t base;
	int file;
	unsigned uses;
	bool moved[UNIT / PAGE_LEAST]; /* each page: is it in the file? */
};

static struct unit *units; /* under export_lock */
static pthread_mutex_t export_lock = PTHREAD_MUTEX_INITIALIZER;

struct ipc_memory { /* what is shared: also the owner of an exported allocation */
	int file;
	uint64_t offset;   /* of its first byte in the file */
	struct unit *unit; /* whose file it is, or NULL */
};

/* Whole pages: their contents go into the file and are mapped from there. */
static CUresult move_pages(uintptr_t first, size_t size, int file, off_t offset)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);

	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(at, (void *)first, size);
	munmap(at, size);
	if (mmap((void *)first, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, offset) == MAP_FAILED)
		return api_error(CUDA_ERROR_OPERATING_SYSTEM, "mmap: %s", strerror(errno));
	return CUDA_SUCCESS;
}

static CUresult unit_take_locked(uintptr_t base, struct unit **out)
{
	struct unit *unit = units;
	CUresult status;

	while (unit && unit->base != base)
		unit = unit->next;
	if (!unit) {
		unit = calloc(1, sizeof *unit);
		status = unit ? ipc_file(UNIT, &unit->file) : CUDA_ERROR_OUT_OF_MEMORY;
		if (status) {
			free(unit);
			return status;
		}
		unit->base = base;
		unit->next = units;
		units = unit;
	}
	unit->uses++;
	*out = unit;
	return CUDA_SUCCESS;
}

static void unit_drop_locked(struct unit *unit)
{
	struct unit **link = &units;

	if (--unit->uses)
		return;
	while (*link != unit)
		link = &(*link)->next;
	*link = unit->next;
	close(unit->file);
	free(unit);
}

static CUresult share_in_unit_locked(uintptr_t first, uintptr_t end, struct ipc_memory *memory)
{
	const size_t page = page_bytes();
	struct unit *unit;
	CUresult status = unit_take_locked(first & ~((uintptr_t)UNIT - 1), &unit);

	if (status)
		return status;
	for (; first < end && !status; first += page) {
		bool *moved = &unit->moved[(first - unit->base) / page];

		if (!*moved)
			status = move_pages(first, page, unit->file, (off_t)(first - unit->base));
		*moved = *moved || !status;
	}
	if (status) {
		unit_drop_locked(unit);
		return status;
	}
	memory->unit = unit;
	memory->file = unit->file;
	return CUDA_SUCCESS;
}

static CUresult share_locked(uintptr_t base, size_t size, struct ipc_memory *memory)
{
	size_t page = page_bytes();
	uintptr_t first = base & ~(page - 1), end = align_up(base + size, page);
	CUresult status;

	if ((first & ~((uintptr_t)UNIT - 1)) == ((end - 1) & ~((uintptr_t)UNIT - 1))) {
		memory->offset = base & (UNIT - 1);
		return share_in_unit_locked(first, end, memory);
	}
	memory->offset = base - first;
	status = ipc_file(end - first, &memory->file);
	if (!status)
		status = move_pages(first, end - first, memory->file, 0);
	if (status && memory->file >= 0)
		close(memory->file);
	return status;
}

static CUresult ipc_share_locked(uintptr_t base, size_t size, struct ipc_memory **out)
{
	struct ipc_memory *memory = malloc(sizeof *memory);
	CUresult status = CUDA_ERROR_OUT_OF_MEMORY;

	if (memory) {
		*memory = (struct ipc_memory){.file = -1};
		status = share_locked(base, size, memory);
	}
	if (status)
		free(memory);
	else
		*out = memory;
	return status;
}

CUresult ipc_share(uintptr_t base, size_t size, struct ipc_memory **out)
{
	CUresult status;

	pthread_mutex_lock(&export_lock);
	status = ipc_share_locked(base, size, out);
	pthread_mutex_unlock(&export_lock);
	return status;
}

/* Its own whole pages are private again; those that neighbours have a part of stay where they are. */
void ipc_unshare(struct ipc_memory *memory, uintptr_t base, size_t size)
{
	size_t page = page_bytes();
	uintptr_t first = align_up(base, page), end = (base + size) & ~(page - 1);

	pthread_mutex_lock(&export_lock);
	if (end > first)
		mmap((void *)first, end - first, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (; memory->unit && first < end; first += page)
		memory->unit->moved[(first - memory->unit->base) / page] = false;
	if (memory->unit)
		unit_drop_locked(memory->unit);
	else
		close(memory->file);
	pthread_mutex_unlock(&export_lock);
	free(memory);
}

struct ipc_handle ipc_describe(const struct ipc_memory *memory, size_t size, int device)
{
	return (struct ipc_handle){IPC_MAGIC, 0, getpid(), memory->file, inode_of(memory->file), memory->offset, size, device, 0};
}

CUresult ipc_map(const struct ipc_handle *handle, bool own, uintptr_t *base)
{
	uint64_t in_page;
	uint8_t *at;
	int file;
	CUresult status = handle_open(handle, false, own, &file);

	if (status)
		return status;
	in_page = handle->offset & (page_bytes() - 1);
	if (!handle->size || handle->size > SIZE_MAX / 2 || handle->offset > SIZE_MAX / 4) {
		close(file);
		return CUDA_ERROR_INVALID_VALUE;
	}
	at = mmap(NULL, align_up(in_page + handle->size, page_bytes()), PROT_READ | PROT_WRITE, MAP_SHARED, file,
		  (off_t)(handle->offset - in_page));
	close(file);
	if (at == MAP_FAILED)
		return CUDA_ERROR_MAP_FAILED;
	*base = (uintptr_t)at + in_page;
	return CUDA_SUCCESS;
}

void ipc_unmap(uintptr_t base, size_t size)
{
	uintptr_t first = base & ~(page_bytes() - 1);

	munmap((void *)first, align_up(base + size, page_bytes()) - first);
}

static void set_owner(struct allocation *allocation, void *owner)
{
	allocation->owner = owner;
}

static CUresult export_locked(const struct allocation *found, struct ipc_memory **out)
{
	struct ipc_memory *memory;
	CUresult status;

	if (found->owner) {
		*out = found->owner;
		return CUDA_SUCCESS;
	}
	status = context_synchronize(found->context); /* nothing may write while the pages are copied */
	if (status)
		return status;
	status = ipc_share_locked(found->base, found->size, &memory);
	if (status)
		return status;
	memory_map_edit(found->base, set_owner, memory);
	*out = memory;
	return CUDA_SUCCESS;
}

void ipc_memory_release(struct allocation *allocation)
{
	if (allocation->kind == MEMORY_DEVICE && allocation->owner)
		ipc_unshare(allocation->owner, allocation->base, allocation->size);
	allocation->owner = NULL;
}

CUresult impl_cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr pointer)
{
	struct ipc_memory *memory;
	struct allocation found;
	struct ipc_handle handle;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!out || !memory_map_find(pointer, &found) || found.kind != MEMORY_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	status = capture_forbid_unsafe();
	if (status)
		return status;
	if (context->ops->memory_share)
		return (CUresult)context->ops->memory_share(context->device->device, (void *)found.base, (uint8_t *)out);
	pthread_mutex_lock(&export_lock);
	status = memory_map_find(pointer, &found) ? export_locked(&found, &memory) : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&export_lock);
	if (status)
		return status;
	handle = ipc_describe(memory, found.size, found.device->ordinal);
	memset(out, 0, sizeof *out);
	memcpy(out, &handle, sizeof handle);
	return CUDA_SUCCESS;
}

static CUresult open_memory(const struct context *context, const CUipcMemHandle *bytes, struct allocation *allocation)
{
	struct ipc_handle handle;
	uint64_t size = 0;
	void *pointer = NULL;
	CUresult status;

	if (context->ops->memory_open) {
		status = (CUresult)context->ops->memory_open(context->device->device, (const uint8_t *)bytes, &pointer, &size);
		allocation->base = (uintptr_t)pointer;
		allocation->size = size;
		return status;
	}
	memcpy(&handle, bytes, sizeof handle);
	allocation->size = handle.size;
	return ipc_map(&handle, false, &allocation->base);
}

CUresult impl_cuIpcOpenMemHandle_v2(CUdeviceptr *pointer, CUipcMemHandle bytes, unsigned int flags)
{
	struct allocation *allocation;
	CUresult status;

	REQUIRE_CONTEXT(context);
	if (!pointer || flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	allocation = calloc(1, sizeof *allocation);
	if (!allocation)
		return CUDA_ERROR_OUT_OF_MEMORY;
	allocation->kind = MEMORY_IPC;
	allocation->context = context;
	allocation->device = context->device;
	status = open_memory(context, &bytes, allocation);
	if (status) {
		free(allocation);
		return status;
	}
	status = memory_map_add(allocation);
	if (status) {
		ipc_memory_close(allocation);
		free(allocation);
		return CUDA_ERROR_MAP_FAILED;
	}
	*pointer = (CUdeviceptr)allocation->base;
	return CUDA_SUCCESS;
}

CUresult impl_cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned int flags)
{
	return impl_cuIpcOpenMemHandle_v2(pointer, handle, flags);
}

void ipc_memory_close(const struct allocation *allocation)
{
	const struct context *context = allocation->context;

	if (context->ops->memory_close)
		context->ops->memory_close(context->device->device, (void *)allocation->base);
	else
		ipc_unmap(allocation->base, allocation->size);
}

CUresult impl_cuIpcCloseMemHandle(CUdeviceptr pointer)
{
	struct allocation found, *allocation;
	CUresult status;

	REQUIRE_CONTEXT(context);
	(void)context;
	if (!memory_map_find(pointer, &found) || found.kind != MEMORY_IPC || found.base != pointer)
		return CUDA_ERROR_INVALID_VALUE;
	status = context_synchronize(found.context);
	allocation = memory_map_remove(pointer);
	if (!allocation)
		return CUDA_ERROR_INVALID_VALUE;
	ipc_memory_close(allocation);
	free(allocation);
	return status;
}

/* ---- events ----------------------------------------------------------------------------------------------------------- */

static void futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void ipc_event_release(struct ipc_event *ipc)
{
	if (atomic_fetch_sub(&ipc->uses, 1) != 1)
		return;
	munmap(ipc->page, page_bytes());
	if (ipc->file >= 0)
		close(ipc->file);
	free(ipc);
}

static CUresult ipc_event_create(int file, bool own, struct ipc_event **out)
{
	struct ipc_event *ipc = calloc(1, sizeof *ipc);
	void *page = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (!ipc || page == MAP_FAILED) {
		if (page != MAP_FAILED)
			munmap(page, page_bytes());
		free(ipc);
		close(file);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!own)
		close(file);
	ipc->file = own ? file : -1;
	ipc->page = page;
	atomic_init(&ipc->uses, 1);
	*out = ipc;
	return CUDA_SUCCESS;
}

/* Either side may record: what counts is in the page. */
bool ipc_event_is_foreign(const struct ipc_event *ipc)
{
	return ipc->page;
}

struct reached {
	struct ipc_event *ipc;
	uint32_t number;
};

static void event_reached(void *argument)
{
	struct reached reached = *(struct reached *)argument;

	free(argument);
	atomic_store(&reached.ipc->page->done, reached.number);
	futex(&reached.ipc->page->done, FUTEX_WAKE, INT32_MAX, NULL);
	ipc_event_release(reached.ipc);
}

CUresult ipc_event_record(struct ipc_event *ipc, struct queue *queue)
{
	struct reached *reached = malloc(sizeof *reached);
	CUresult status;

	if (!reached)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_fetch_add(&ipc->uses, 1);
	*reached = (struct reached){ipc, atomic_fetch_add(&ipc->page->recorded, 1) + 1};
	status = (CUresult)queue->context->ops->queue_host_function(queue->device_queue, event_reached, reached);
	if (status) {
		ipc_event_release(ipc);
		free(reached);
	}
	return status;
}

static bool is_reached(const struct ipc_event *ipc, uint32_t number)
{
	return (int32_t)(atomic_load(&ipc->page->done) - number) >= 0;
}

static void wait_until(struct ipc_event *ipc, uint32_t number)
{
	const struct timespec patience = {0, 50000000}; /* the other process may have died between the two stores */
	uint32_t done;

	while (!is_reached(ipc, number)) {
		done = atomic_load(&ipc->page->done);
		if ((int32_t)(done - number) < 0)
			futex(&ipc->page->done, FUTEX_WAIT, done, &patience);
	}
}

static void wait_in_queue(void *argument)
{
	struct reached reached = *(struct reached *)argument;

	free(argument);
	wait_until(reached.ipc, reached.number);
	ipc_event_release(reached.ipc);
}

CUresult ipc_event_wait(struct ipc_event *ipc, struct queue *queue)
{
	uint32_t number = atomic_load(&ipc->page->recorded);
	struct reached *reached;
	CUresult status;

	if (is_reached(ipc, number))
		return CUDA_SUCCESS;
	reached = malloc(sizeof *reached);
	if (!reached)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_fetch_add(&ipc->uses, 1);
	*reached = (struct reached){ipc, number};
	status = (CUresult)queue->context->ops->queue_host_function(queue->device_queue, wait_in_queue, reached);
	if (status) {
		ipc_event_release(ipc);
		free(reached);
	}
	return status;
}

CUresult ipc_event_query(struct ipc_event *ipc)
{
	return is_reached(ipc, atomic_load(&ipc->page->recorded)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult ipc_event_synchronize(struct ipc_event *ipc)
{
	wait_until(ipc, atomic_load(&ipc->page->recorded));
	return CUDA_SUCCESS;
}

CUresult impl_cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event_handle)
{
	struct ipc_handle handle;
	struct event *event;
	int file;
	CUresult status = event_find(event_handle, &event);

	if (status)
		return status;
	if (!out || !(event->flags & CU_EVENT_INTERPROCESS) || !(event->flags & CU_EVENT_DISABLE_TIMING))
		return api_error(CUDA_ERROR_INVALID_VALUE, "the event was not made to be shared");
	pthread_mutex_lock(&event->lock);
	if (!event->ipc) {
		status = ipc_file(page_bytes(), &file);
		if (!status)
			status = ipc_event_create(file, true, &event->ipc);
		/* What was recorded before counts as reached once it is: the host waits for it here. */
		if (!status && event->queue)
			status = (CUresult)event->queue->context->ops->queue_synchronize(event->queue->device_queue, event->ticket);
	}
	if (!status && event->ipc->file < 0)
		status = api_error(CUDA_ERROR_INVALID_VALUE, "the event is another process's");
	if (!status) {
		handle = (struct ipc_handle){IPC_MAGIC, 1, getpid(), event->ipc->file, inode_of(event->ipc->file), 0, 0,
					     event->context->device->ordinal, 0};
		memset(out, 0, sizeof *out);
		memcpy(out, &handle, sizeof handle);
	}
	pthread_mutex_unlock(&event->lock);
	return status;
}

CUresult impl_cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle bytes)
{
	struct ipc_handle handle;
	struct event *event;
	int file;
	CUresult status;

	REQUIRE_CONTEXT(context);
	(void)context;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&handle, &bytes, sizeof handle);
	status = handle_open(&handle, true, false, &file);
	if (!status) {
		status = impl_cuEventCreate(out, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
		if (status)
			close(file);
	}
	if (status)
		return status;
	event = handle_check(*out, HANDLE_EVENT);
	status = ipc_event_create(file, false, &event->ipc);
	if (status)
		event_release(event);
	return status;
}
