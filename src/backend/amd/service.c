/* What kernels tell the host (struct amd_service): prints, and why a kernel ended itself. The record lies in host memory that the GPU sees
 * at once; it is read when work was seen to be over.
 *
 * Prints of several kernels may be in the buffer while others still write there: what is complete is shown in its order, and the buffer is
 * emptied when no kernel that prints runs. */
#include "backend/amd/amd.h"

#include <stdio.h>
#include <stdlib.h>

enum { PRINT_ROOM = 4 }; /* bytes of records for one of the program's limit: the format's text is in each */
enum { LOCK_WORDS = AMD_LOCKS * AMD_LOCK_WORDS };
enum { PRINT_MOST = 256 << 20 };

struct service {
	struct device *device;
	struct amd_service *record;
	pthread_mutex_t lock;         /* the following */
	void *print;
	uint64_t print_size;
	uint32_t print_read;          /* so much of it was shown */
	uint64_t heap_size;
	_Atomic bool used;            /* since it was last looked at */
	_Atomic(const struct device_kernel *) last; /* the last kernel launched that may end itself … */
	_Atomic bool several;         /* … and it is not the only one */
};

static void *take_host(struct device *device, uint64_t size)
{
	void *pointer = NULL;
	if (amd_enter(device) || HIP_CALL(hipHostMalloc, &pointer, size, HIP_HOST_PORTABLE | HIP_HOST_MAPPED | HIP_HOST_COHERENT))
		return NULL;
	memset(pointer, 0, size);
	return pointer;
}

static uint64_t print_bytes(const struct device *device)
{
	uint64_t wanted = device->limits[DEVICE_LIMIT_PRINTF] * PRINT_ROOM;
	return align_up(wanted < PRINT_MOST ? wanted : PRINT_MOST, 4096);
}

/* The buffer as large as the limit says. Nothing runs that prints. */
static int make_print_locked(struct service *service)
{
	uint64_t size = print_bytes(service->device);
	if (service->print && service->print_size == size)
		return STATUS_SUCCESS;
	void *print = take_host(service->device, size);
	if (!print)
		return STATUS_OUT_OF_MEMORY;
	if (service->print)
		HIP_CALL(hipHostFree, service->print);
	service->print = print;
	service->print_size = size;
	service->print_read = 0;
	service->record->print = (uintptr_t)print;
	service->record->print_size = (uint32_t)size;
	service->record->print_used = service->record->print_dropped = 0;
	return STATUS_SUCCESS;
}

static void drop_heap_locked(struct service *service)
{
	if (service->record->heap)
		HIP_CALL(hipFree, (void *)(uintptr_t)service->record->heap);
	service->record->heap = service->record->heap_size = service->heap_size = 0;
}

/* malloc's memory, made when a kernel that calls it is launched first. The allocator's words are zero at first. */
static void make_heap_locked(struct service *service)
{
	uint64_t size = align_up(service->device->limits[DEVICE_LIMIT_HEAP], 4096) + AMD_HEAP_START;
	void *heap = NULL;
	if (service->heap_size == size)
		return;
	drop_heap_locked(service);
	void *zeros = calloc(1, AMD_HEAP_START);
	int error = zeros ? HIP_CALL(hipMalloc, &heap, size) : HIP_OUT_OF_MEMORY;
	if (!error)
		error = HIP_CALL(hipMemcpy, heap, zeros, AMD_HEAP_START, HIP_COPY_DEFAULT);
	free(zeros);
	service->heap_size = size; /* also where there is no memory: malloc says so to the kernel */
	if (amd_failed(error, "%llu bytes for malloc in device code", (unsigned long long)size))
		return;
	service->record->heap = (uintptr_t)heap;
	service->record->heap_size = size;
}

/* Free, which they need not be where a kernel was ended by a fault. Behind them lies amd_launch.stopped. */
static bool clear_locks(struct service *service)
{
	static const uint32_t free_locks[LOCK_WORDS + AMD_LOCK_WORDS];
	void *locks = (void *)(uintptr_t)service->record->locks;
	if (!locks && (amd_enter(service->device) || HIP_CALL(hipMalloc, &locks, sizeof free_locks)))
		return false;
	service->record->locks = (uintptr_t)locks;
	return !HIP_CALL(hipMemcpy, locks, free_locks, sizeof free_locks, HIP_COPY_DEFAULT);
}

struct service *amd_service_create(struct device *device)
{
	struct service *service = calloc(1, sizeof *service);
	int khz = 0;
	if (!service)
		return NULL;
	service->device = device;
	pthread_mutex_init(&service->lock, NULL);
	service->record = take_host(device, sizeof *service->record);
	if (!service->record || !clear_locks(service)) {
		if (service->record)
			HIP_CALL(hipHostFree, service->record);
		pthread_mutex_destroy(&service->lock);
		free(service);
		return NULL;
	}
	if (!amd_hip()->hipDeviceGetAttribute || amd_hip()->hipDeviceGetAttribute(&khz, HIP_WALL_CLOCK_KHZ, device->hip) || khz <= 0)
		khz = 100000;
	service->record->clock_khz = (uint64_t)khz;
	return service;
}

void amd_service_destroy(struct service *service)
{
	drop_heap_locked(service);
	HIP_CALL(hipFree, (void *)(uintptr_t)service->record->locks);
	if (service->print)
		HIP_CALL(hipHostFree, service->print);
	HIP_CALL(hipHostFree, service->record);
	pthread_mutex_destroy(&service->lock);
	free(service);
}

uint64_t amd_service_use(struct service *service, const struct device_kernel *kernel, uint32_t flags)
{
	if (flags & (KERNEL_PRINTS | KERNEL_TRAPS | KERNEL_ALLOCATES)) {
		const struct device_kernel *last = atomic_exchange(&service->last, kernel);
		if (last && last != kernel)
			atomic_store(&service->several, true);
		pthread_mutex_lock(&service->lock);
		if (flags & KERNEL_PRINTS && !service->print)
			make_print_locked(service);
		if (flags & KERNEL_ALLOCATES && !service->heap_size)
			make_heap_locked(service);
		pthread_mutex_unlock(&service->lock);
		atomic_store(&service->used, true);
	}
	return (uintptr_t)service->record;
}

uint64_t amd_service_stopped(const struct service *service)
{
	return service->record->locks + LOCK_WORDS * sizeof(uint32_t);
}

void amd_service_set_textures(struct service *service, uint64_t table)
{
	service->record->textures = table;
}

/* ---- what was told --------------------------------------------------------------------------------------- */

static void show_trap(struct service *service)
{
	struct amd_service *r = service->record;
	uint32_t status = r->status;
	const struct device_kernel *kernel = atomic_load(&service->last);
	const char *name = kernel ? amd_kernel_name(kernel) : "?";
	r->message[sizeof r->message - 1] = r->file[sizeof r->file - 1] = r->function[sizeof r->function - 1] = 0;
	if (status == STATUS_ASSERT)
		fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", r->file, r->line, r->function,
			r->block[0], r->block[1], r->block[2], r->thread[0], r->thread[1], r->thread[2], r->message);
	else
		log_error("%s%s, block (%u,%u,%u), thread (%u,%u,%u): %s", atomic_load(&service->several) ? "a kernel, perhaps " : "kernel ", name,
			  r->block[0], r->block[1], r->block[2], r->thread[0], r->thread[1], r->thread[2],
			  r->message[0]			       ? r->message :
			  status == STATUS_ILLEGAL_INSTRUCTION ? "illegal instruction" :
			  status == STATUS_MISALIGNED_ADDRESS  ? "misaligned address" :
								 "trap");
	amd_device_fail(service->device, status ? (int)status : STATUS_LAUNCH_FAILED);
}

/* A record's parts lie within it; device code wrote it, so nothing is believed. */
static bool show_print(struct text *out, const uint8_t *at, uint32_t room, uint32_t *bytes)
{
	struct amd_print p;
	if (room < sizeof p)
		return false;
	memcpy(&p, at, sizeof p);
	*bytes = p.bytes;
	if (p.bytes < sizeof p || p.bytes > room || p.bytes % 8)
		return false;
	uint64_t format = sizeof p, values = format + align_up(p.format_bytes, 8), strings = values + p.argument_bytes, end = strings + p.string_bytes;
	if (!p.ready || !p.format_bytes || end > p.bytes || !memchr(at + format, 0, p.format_bytes))
		return true;
	/* As many arguments as the format asks for are read, and no more may be there than were passed. */
	uint8_t *copy = calloc(1, p.argument_bytes + (size_t)p.format_bytes * 8 + 8);
	if (!copy)
		return true;
	memcpy(copy, at + values, p.argument_bytes);
	print_format(out, (const char *)at + format, copy, (const char *)at + strings, (const char *)at + end);
	free(copy);
	return true;
}

/* Everything that prints is over: the buffer may be emptied. */
static bool printers_are_done(struct device *device)
{
	bool done = true;
	pthread_mutex_lock(&device->lock);
	for (struct device_queue *q = device->queues; q && done; q = amd_queue_next(q))
		done = amd_queue_printed_all(q);
	pthread_mutex_unlock(&device->lock);
	return done;
}

static void show_prints_locked(struct service *service)
{
	struct amd_service *r = service->record;
	bool quiet = printers_are_done(service->device);
	uint32_t used = __atomic_load_n(&r->print_used, __ATOMIC_ACQUIRE);
	struct text out = { 0 };
	if (used > service->print_size)
		used = (uint32_t)service->print_size;
	while (service->print_read < used) {
		const uint8_t *at = (const uint8_t *)service->print + service->print_read;
		uint32_t bytes;
		const struct amd_print *head = (const struct amd_print *)at;
		if (!quiet && (used - service->print_read < sizeof *head || !__atomic_load_n(&head->ready, __ATOMIC_ACQUIRE)))
			break;
		if (!show_print(&out, at, used - service->print_read, &bytes))
			break; /* what follows cannot be found */
		service->print_read += bytes;
	}
	if (quiet && r->print_used) {
		if (r->print_dropped)
			log_warn("%u printf() of device code found no room: see cudaLimitPrintfFifoSize", r->print_dropped);
		memset(service->print, 0, used);
		service->print_read = 0;
		r->print_dropped = 0;
		__atomic_store_n(&r->print_used, 0, __ATOMIC_RELEASE);
	}
	if (out.count)
		fwrite(out.data, 1, out.count, stdout); /* through stdio, in its place among what the program prints itself */
	text_fini(&out);
}

bool amd_service_has_trap(const struct service *service)
{
	return __atomic_load_n(&service->record->state, __ATOMIC_ACQUIRE) == 2;
}

void amd_service_collect(struct service *service)
{
	if (!atomic_load_explicit(&service->used, memory_order_acquire))
		return;
	pthread_mutex_lock(&service->lock);
	if (service->print)
		show_prints_locked(service);
	if (amd_service_has_trap(service) && !amd_device_status(service->device))
		show_trap(service);
	pthread_mutex_unlock(&service->lock);
}

int amd_service_set_limits(struct service *service)
{
	int status = amd_enter(service->device);
	if (status)
		return status;
	pthread_mutex_lock(&service->lock);
	if (service->print && printers_are_done(service->device))
		status = make_print_locked(service);
	if (service->heap_size)
		make_heap_locked(service);
	pthread_mutex_unlock(&service->lock);
	return status;
}

void amd_service_reset(struct service *service)
{
	if (amd_enter(service->device))
		return;
	pthread_mutex_lock(&service->lock);
	drop_heap_locked(service);
	clear_locks(service);
	service->record->state = service->record->status = 0;
	service->record->print_used = service->record->print_dropped = 0;
	service->print_read = 0;
	if (service->print)
		memset(service->print, 0, service->print_size);
	atomic_store(&service->last, NULL);
	atomic_store(&service->several, false);
	atomic_store(&service->used, false);
	pthread_mutex_unlock(&service->lock);
}
