/* Device, pinned, managed and registered memory, virtual memory, memory of other processes, copies and fills. All of it is the host's memory,
 * entered in the emulator's table. Device memory is a mapping of its own, so that it can become one of a file that others open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "hip_internal.h"

enum allocation_kind { ALLOCATION_DEVICE, ALLOCATION_HOST, ALLOCATION_MANAGED, ALLOCATION_REGISTERED, ALLOCATION_OPENED, ALLOCATION_MAPPED };
struct allocation {
	uint8_t *start;
	size_t size;
	enum allocation_kind kind;
	struct device *device;
	int file;		/* plus 1: that other processes may open; 0: none */
	struct allocation *next;
};
static struct allocation *allocations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { RUBBISH = 0xa5, RUBBISH_MAX = 1 << 16 };

static struct allocation *find_locked(const void *pointer)
{
	for (struct allocation *a = allocations; a; a = a->next)
		if ((const uint8_t *)pointer >= a->start && (const uint8_t *)pointer < a->start + a->size) return a;
	return NULL;
}

static int add(void *start, size_t size, enum allocation_kind kind, struct device *device)
{
	struct allocation *a = malloc(sizeof *a);

	if (!a) return HIP_OUT_OF_MEMORY;
	*a = (struct allocation){ start, size, kind, device, 0, allocations };
	allocations = a;
	memory_add(start, size);
	return HIP_SUCCESS;
}

static size_t pages(size_t size) { return (size + 4095) & ~(size_t)4095; }

static void *obtain(size_t size, enum allocation_kind kind)
{
	void *memory;

	if (kind != ALLOCATION_DEVICE) return aligned_alloc(4096, pages(size));
	memory = mmap(NULL, pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void give_back(void *memory, size_t size, enum allocation_kind kind)
{
	if (memory && (kind == ALLOCATION_DEVICE || kind == ALLOCATION_OPENED)) munmap(memory, pages(size));
	else if (kind != ALLOCATION_REGISTERED && kind != ALLOCATION_MAPPED) free(memory);
}

/* Takes the allocation that starts at `pointer` out; its kind is in the set `kinds`. */
static bool take(void *pointer, unsigned kinds)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (struct allocation **link = &allocations; *link; link = &(*link)->next) {
		struct allocation *a = *link;

		if (a->start != pointer || !(kinds >> a->kind & 1)) continue;
		*link = a->next;
		memory_remove(a->start);
		if (a->kind == ALLOCATION_DEVICE || a->kind == ALLOCATION_MANAGED) a->device->used -= a->size;
		if (a->file) close(a->file - 1);
		give_back(a->start, a->size, a->kind);
		free(a);
		found = true;
		break;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static int allocate(void **pointer, size_t size, enum allocation_kind kind)
{
	struct device *device = current_device();
	void *memory;
	int error;

	if (!pointer) return HIP_INVALID_VALUE;
	if (!device) return HIP_NO_DEVICE;
	*pointer = NULL;
	if (!size) return HIP_SUCCESS;
	if (size > DEVICE_BYTES) return HIP_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	error = kind != ALLOCATION_HOST && size > DEVICE_BYTES - device->used ? HIP_OUT_OF_MEMORY : HIP_SUCCESS;
	memory = error ? NULL : obtain(size, kind);
	if (!memory) error = HIP_OUT_OF_MEMORY;
	else error = add(memory, size, kind, device);
	if (!error && kind != ALLOCATION_HOST) device->used += size;
	pthread_mutex_unlock(&lock);
	if (error) {
		give_back(memory, size, kind);
		return error;
	}
	if (kind != ALLOCATION_MANAGED) memset(memory, RUBBISH, size < RUBBISH_MAX ? size : RUBBISH_MAX);
	*pointer = memory;
	return HIP_SUCCESS;
}

int hipMalloc(void **pointer, size_t size) { return allocate(pointer, size, ALLOCATION_DEVICE); }

int hipMallocManaged(void **pointer, size_t size, unsigned flags)
{
	if (flags != HIP_ATTACH_GLOBAL && flags != 2) return HIP_INVALID_VALUE;
	if (!size) return HIP_INVALID_VALUE;
	return allocate(pointer, size, ALLOCATION_MANAGED);
}

int hipHostMalloc(void **pointer, size_t size, unsigned flags)
{
	const unsigned known = 0xf000000f;	/* portable, mapped, write-combined, NUMA user, coherent, non-coherent, uncached */

	if (flags & ~known) return HIP_INVALID_VALUE;
	return allocate(pointer, size, ALLOCATION_HOST);
}

int hipFree(void *pointer)
{
	if (!pointer) return HIP_SUCCESS;
	all_devices_drain();
	return take(pointer, 1u << ALLOCATION_DEVICE | 1u << ALLOCATION_MANAGED) ? HIP_SUCCESS : HIP_INVALID_VALUE;
}

int hipHostFree(void *pointer)
{
	if (!pointer) return HIP_SUCCESS;
	all_devices_drain();
	return take(pointer, 1u << ALLOCATION_HOST) ? HIP_SUCCESS : HIP_INVALID_VALUE;
}

int hipHostRegister(void *pointer, size_t size, unsigned flags)
{
	struct device *device = current_device();
	int error;

	if (!pointer || !size || flags & ~15u) return HIP_INVALID_VALUE;
	if (!device) return HIP_NO_DEVICE;
	pthread_mutex_lock(&lock);
	error = find_locked(pointer) || find_locked((uint8_t *)pointer + size - 1) ? HIP_HOST_MEMORY_ALREADY_REGISTERED
		: add(pointer, size, ALLOCATION_REGISTERED, device);
	pthread_mutex_unlock(&lock);
	return error;
}

int hipHostUnregister(void *pointer)
{
	if (!pointer) return HIP_INVALID_VALUE;
	all_devices_drain();
	return take(pointer, 1u << ALLOCATION_REGISTERED) ? HIP_SUCCESS : HIP_HOST_MEMORY_NOT_REGISTERED;
}

int hipHostGetDevicePointer(void **device_pointer, void *host_pointer, unsigned flags)
{
	struct allocation *a;

	if (!device_pointer || !host_pointer || flags) return HIP_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	a = find_locked(host_pointer);
	pthread_mutex_unlock(&lock);
	if (!a || a->kind == ALLOCATION_DEVICE) return HIP_INVALID_VALUE;
	*device_pointer = host_pointer;
	return HIP_SUCCESS;
}

int hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	struct device *device = current_device();

	if (!free_bytes || !total_bytes) return HIP_INVALID_VALUE;
	if (!device) return HIP_NO_DEVICE;
	pthread_mutex_lock(&lock);
	*free_bytes = DEVICE_BYTES - device->used;
	pthread_mutex_unlock(&lock);
	*total_bytes = DEVICE_BYTES;
	return HIP_SUCCESS;
}

enum memory_kind memory_classify(const void *pointer, size_t size)
{
	enum memory_kind kind = MEMORY_UNKNOWN;
	struct allocation *a;

	pthread_mutex_lock(&lock);
	a = find_locked(pointer);
	if (a) kind = size <= a->size - (size_t)((const uint8_t *)pointer - a->start) ? MEMORY_KNOWN : MEMORY_OVERRUN;
	pthread_mutex_unlock(&lock);
	return kind;
}

int hipMemGetAddressRange(void **base, size_t *size, void *pointer)
{
	struct allocation *a;

	pthread_mutex_lock(&lock);
	a = find_locked(pointer);
	if (a && base) *base = a->start;
	if (a && size) *size = a->size;
	pthread_mutex_unlock(&lock);
	return a ? HIP_SUCCESS : HIP_INVALID_VALUE;
}

/* ---- other processes ---- */
struct shared_memory {	/* in a struct hip_ipc_handle */
	int32_t process, file;
	uint64_t inode, size, offset;
};
_Static_assert(sizeof(struct shared_memory) <= sizeof(struct hip_ipc_handle), "a handle has room for it");

/* Moves the allocation's pages into a file, at their place. */
static int share_locked(struct allocation *a)
{
	int file = memfd_create("fake HIP", MFD_CLOEXEC);
	size_t size = pages(a->size);

	if (file < 0) return HIP_OUT_OF_MEMORY;
	if (ftruncate(file, (off_t)size) || pwrite(file, a->start, size, 0) != (ssize_t)size
		|| mmap(a->start, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
		close(file);
		return HIP_OUT_OF_MEMORY;
	}
	a->file = file + 1;
	return HIP_SUCCESS;
}

int hipIpcGetMemHandle(struct hip_ipc_handle *handle, void *pointer)
{
	struct shared_memory shared = { .process = getpid() };
	struct allocation *a;
	struct stat info;
	int error = HIP_INVALID_VALUE;

	if (!handle || !pointer) return HIP_INVALID_VALUE;
	all_devices_drain();
	pthread_mutex_lock(&lock);
	a = find_locked(pointer);
	if (a && a->kind == ALLOCATION_DEVICE) error = a->file ? HIP_SUCCESS : share_locked(a);
	if (!error && fstat(a->file - 1, &info)) error = HIP_INVALID_VALUE;
	if (!error) {
		shared.file = a->file - 1;
		shared.inode = info.st_ino;
		shared.size = a->size;
		shared.offset = (uint64_t)((uint8_t *)pointer - a->start);
		memset(handle, 0, sizeof *handle);
		memcpy(handle, &shared, sizeof shared);
	}
	pthread_mutex_unlock(&lock);
	return error;
}

int hipIpcOpenMemHandle(void **pointer, struct hip_ipc_handle handle, unsigned flags)
{
	struct device *device = current_device();
	struct shared_memory shared;
	struct stat info;
	char path[64];
	void *memory;
	int file, error;

	if (!pointer || flags != HIP_IPC_PEERS) return HIP_INVALID_VALUE;
	if (!device) return HIP_NO_DEVICE;
	memcpy(&shared, &handle, sizeof shared);
	if (shared.process == getpid()) return HIP_INVALID_CONTEXT;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)shared.process, (int)shared.file);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0) return HIP_INVALID_VALUE;
	memory = fstat(file, &info) || info.st_ino != shared.inode || shared.offset >= shared.size ? MAP_FAILED
		: mmap(NULL, pages(shared.size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (memory == MAP_FAILED) return HIP_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	error = add(memory, shared.size, ALLOCATION_OPENED, device);
	pthread_mutex_unlock(&lock);
	if (error) munmap(memory, pages(shared.size));
	else *pointer = (uint8_t *)memory + shared.offset;
	return error;
}

int hipIpcCloseMemHandle(void *pointer)
{
	void *base;
	size_t size;

	if (!pointer || hipMemGetAddressRange(&base, &size, pointer)) return HIP_INVALID_VALUE;
	all_devices_drain();
	return take(base, 1u << ALLOCATION_OPENED) ? HIP_SUCCESS : HIP_INVALID_VALUE;
}

/* ---- virtual memory ---- */
enum { GRANULARITY = 4096 };

struct physical {	/* behind a hip_memory */
	int file;
	size_t size;
	struct device *device;
	unsigned uses;		/* the handle's, and a mapping's each */
};

struct mapping {
	uint8_t *base;
	size_t size;
	struct physical *physical;
	struct mapping *next;
};

struct range {
	uint8_t *base;
	size_t size;
	struct range *next;
};

static struct mapping *mappings;	/* under lock */
static struct range *ranges;

static int check_properties(const struct hip_memory_properties *p)
{
	if (!p || p->type != HIP_PINNED || p->location.type != HIP_LOCATION_DEVICE || !device_at(p->location.id)) return HIP_INVALID_VALUE;
	return p->handle_type ? HIP_NOT_SUPPORTED : HIP_SUCCESS;
}

int hipMemGetAllocationGranularity(size_t *size, const struct hip_memory_properties *properties, int option)
{
	if (!size || check_properties(properties) || (option != 0 && option != 1)) return HIP_INVALID_VALUE;
	*size = GRANULARITY;
	return HIP_SUCCESS;
}

int hipMemAddressReserve(void **base, size_t size, size_t alignment, void *hint, unsigned long long flags)
{
	struct range *range;
	uint8_t *at, *start;

	if (!base || flags) return HIP_INVALID_VALUE;
	if (!size || size % GRANULARITY || alignment & (alignment - 1)) return HIP_OUT_OF_MEMORY;
	alignment = alignment > GRANULARITY ? alignment : GRANULARITY;
	range = malloc(sizeof *range);
	at = mmap(hint, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!range || at == MAP_FAILED) {
		if (at != MAP_FAILED) munmap(at, size + alignment);
		free(range);
		return HIP_OUT_OF_MEMORY;
	}
	start = (uint8_t *)(((uintptr_t)at + alignment - 1) & ~(uintptr_t)(alignment - 1));
	if (start > at) munmap(at, (size_t)(start - at));
	if (at + alignment > start) munmap(start + size, (size_t)(at + alignment - start));
	pthread_mutex_lock(&lock);
	*range = (struct range){ start, size, ranges };
	ranges = range;
	pthread_mutex_unlock(&lock);
	*base = start;
	return HIP_SUCCESS;
}

int hipMemAddressFree(void *base, size_t size)
{
	struct range *found = NULL;

	pthread_mutex_lock(&lock);
	for (struct range **link = &ranges; *link; link = &(*link)->next) {
		if ((*link)->base != base || (*link)->size != size) continue;
		found = *link;
		*link = found->next;
		break;
	}
	pthread_mutex_unlock(&lock);
	if (!found) return HIP_INVALID_VALUE;
	munmap(found->base, found->size);
	free(found);
	return HIP_SUCCESS;
}

static void physical_drop_locked(struct physical *physical)
{
	if (--physical->uses) return;
	physical->device->used -= physical->size;
	close(physical->file);
	free(physical);
}

int hipMemCreate(hip_memory *memory, size_t size, const struct hip_memory_properties *properties, unsigned long long flags)
{
	int error = check_properties(properties);
	struct physical *physical;

	if (error) return error;
	if (!memory || !size || flags || size % GRANULARITY) return HIP_INVALID_VALUE;
	physical = calloc(1, sizeof *physical);
	if (!physical) return HIP_OUT_OF_MEMORY;
	*physical = (struct physical){ memfd_create("fake HIP", MFD_CLOEXEC), size, device_at(properties->location.id), 1 };
	pthread_mutex_lock(&lock);
	if (physical->file < 0 || size > DEVICE_BYTES - physical->device->used || ftruncate(physical->file, (off_t)size)) error = HIP_OUT_OF_MEMORY;
	else physical->device->used += size;
	pthread_mutex_unlock(&lock);
	if (error) {
		if (physical->file >= 0) close(physical->file);
		free(physical);
		return error;
	}
	handle_add(physical, HANDLE_MEMORY);
	*memory = physical;
	return HIP_SUCCESS;
}

int hipMemRelease(hip_memory memory)
{
	if (!memory || !handle_remove(memory, HANDLE_MEMORY)) return HIP_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	physical_drop_locked(memory);
	pthread_mutex_unlock(&lock);
	return HIP_SUCCESS;
}

static bool is_reserved_locked(const uint8_t *base, size_t size)
{
	for (struct range *r = ranges; r; r = r->next)
		if (base >= r->base && base - r->base + size <= r->size) return true;
	return false;
}

static struct mapping **mapping_at_locked(const void *base, size_t size)
{
	struct mapping **link = &mappings;

	while (*link && ((*link)->base != base || (*link)->size != size)) link = &(*link)->next;
	return link;
}

/* Nobody reaches it before hipMemSetAccess(). */
int hipMemMap(void *base, size_t size, size_t offset, hip_memory memory, unsigned long long flags)
{
	struct physical *physical = memory;
	struct mapping *mapping = malloc(sizeof *mapping);
	int error = HIP_SUCCESS;

	if (!mapping) return HIP_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	if (!base || offset || flags || !physical || !handle_live(physical, HANDLE_MEMORY) || size > physical->size || size % GRANULARITY || !is_reserved_locked(base, size))
		error = HIP_INVALID_VALUE;
	for (struct mapping *m = mappings; m && !error; m = m->next)
		if (m->base < (uint8_t *)base + size && (uint8_t *)base < m->base + m->size) error = HIP_INVALID_VALUE;
	if (!error && mmap(base, size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0) == MAP_FAILED) error = HIP_OUT_OF_MEMORY;
	if (!error) {
		*mapping = (struct mapping){ base, size, physical, mappings };
		mappings = mapping;
		physical->uses++;
	}
	pthread_mutex_unlock(&lock);
	if (error) free(mapping);
	return error;
}

int hipMemUnmap(void *base, size_t size)
{
	struct mapping **link, *found;

	all_devices_drain();
	take(base, 1u << ALLOCATION_MAPPED);
	pthread_mutex_lock(&lock);
	link = mapping_at_locked(base, size);
	found = *link;
	if (found) {
		*link = found->next;
		mmap(base, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		physical_drop_locked(found->physical);
	}
	pthread_mutex_unlock(&lock);
	free(found);
	return found ? HIP_SUCCESS : HIP_INVALID_VALUE;
}

int hipMemSetAccess(void *base, size_t size, const struct hip_access *access, size_t count)
{
	struct mapping *found;
	int error = HIP_SUCCESS, flags = 0;

	if (!base || !size || !access || !count) return HIP_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (access[i].location.type != HIP_LOCATION_DEVICE || !device_at(access[i].location.id)) return HIP_INVALID_VALUE;
		if (access[i].flags != 0 && access[i].flags != 1 && access[i].flags != 3) return HIP_INVALID_VALUE;
		flags |= access[i].flags;
	}
	all_devices_drain();
	take(base, 1u << ALLOCATION_MAPPED);
	pthread_mutex_lock(&lock);
	found = *mapping_at_locked(base, size);
	if (!found) error = HIP_INVALID_VALUE;
	else if (mprotect(base, size, flags == 3 ? PROT_READ | PROT_WRITE : flags ? PROT_READ : PROT_NONE)) error = HIP_UNKNOWN;
	else if (flags) error = add(base, size, ALLOCATION_MAPPED, found->physical->device);
	pthread_mutex_unlock(&lock);
	return error;
}

/* ---- copies and fills: rows of `width` bytes ---- */
struct transfer {
	uint8_t *to;
	const uint8_t *from;	/* NULL: a fill */
	size_t to_pitch, from_pitch, width, height;
	uint32_t value;
	unsigned element;	/* bytes, of a fill */
};

static int run_transfer(void *work)
{
	struct transfer *t = work;

	for (size_t y = 0; y < t->height; y++) {
		uint8_t *to = t->to + y * t->to_pitch;

		if (t->from) memmove(to, t->from + y * t->from_pitch, t->width);
		else if (t->element == 1) memset(to, (int)t->value, t->width);
		else for (size_t i = 0; i < t->width; i += t->element) memcpy(to + i, &t->value, t->element);
	}
	return HIP_SUCCESS;
}

/* The bytes from the first to the last of a rectangle. */
static size_t extent(size_t pitch, size_t width, size_t height) { return height ? (height - 1) * pitch + width : 0; }

static int transfer(const struct transfer *t, hip_stream stream, bool wait)
{
	enum memory_kind to = memory_classify(t->to, extent(t->to_pitch, t->width, t->height));
	enum memory_kind from = t->from ? memory_classify(t->from, extent(t->from_pitch, t->width, t->height)) : MEMORY_KNOWN;
	struct transfer *copy;

	if (!stream_device(stream)) return HIP_INVALID_HANDLE;
	if (!t->width || !t->height) return HIP_SUCCESS;
	if (!t->to || to == MEMORY_OVERRUN || from == MEMORY_OVERRUN) return HIP_INVALID_VALUE;
	if (!t->from && to == MEMORY_UNKNOWN) return HIP_INVALID_VALUE;
	copy = malloc(sizeof *copy);
	if (!copy) return HIP_OUT_OF_MEMORY;
	*copy = *t;
	/* memory that is not pinned is read and written before the call returns */
	return stream_enqueue(stream, run_transfer, copy, wait || to == MEMORY_UNKNOWN || from == MEMORY_UNKNOWN);
}

static int check_copy(const void *to, const void *from, size_t size, int kind)
{
	if (kind < 0 || kind > 4) return HIP_INVALID_COPY_DIRECTION;
	return size && (!to || !from) ? HIP_INVALID_VALUE : HIP_SUCCESS;
}

int hipMemcpy(void *to, const void *from, size_t size, int kind)
{
	int error = check_copy(to, from, size, kind);

	return error ? error : transfer(&(struct transfer){ .to = to, .from = from, .width = size, .height = 1 }, NULL, true);
}

int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, hip_stream stream)
{
	int error = check_copy(to, from, size, kind);

	return error ? error : transfer(&(struct transfer){ .to = to, .from = from, .width = size, .height = 1 }, stream, false);
}

int hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind, hip_stream stream)
{
	int error = check_copy(to, from, width && height, kind);

	if (error) return error;
	if (width > to_pitch || width > from_pitch) return HIP_INVALID_PITCH;
	return transfer(&(struct transfer){ .to = to, .from = from, .to_pitch = to_pitch, .from_pitch = from_pitch, .width = width, .height = height },
		stream, false);
}

static int fill(void *to, uint32_t value, unsigned element, size_t count, hip_stream stream)
{
	if (!to && count) return HIP_INVALID_VALUE;
	if (count > SIZE_MAX / element || (uintptr_t)to % element) return HIP_INVALID_VALUE;
	return transfer(&(struct transfer){ .to = to, .value = value, .element = element, .width = count * element, .height = 1 }, stream, false);
}

int hipMemsetD8Async(void *to, unsigned char value, size_t count, hip_stream stream) { return fill(to, value, 1, count, stream); }
int hipMemsetD16Async(void *to, unsigned short value, size_t count, hip_stream stream) { return fill(to, value, 2, count, stream); }
int hipMemsetD32Async(void *to, int value, size_t count, hip_stream stream) { return fill(to, (uint32_t)value, 4, count, stream); }

int hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, hip_stream stream)
{
	if (width > pitch) return HIP_INVALID_VALUE;
	return transfer(&(struct transfer){ .to = to, .value = (uint8_t)value, .element = 1, .to_pitch = pitch, .width = width, .height = height },
		stream, false);
}
