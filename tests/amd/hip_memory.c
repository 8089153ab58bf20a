/* Device, pinned, managed and registered memory, copies and fills. All of it is the host's memory, entered in the emulator's table. */
#include <stdlib.h>
#include <string.h>
#include "hip_internal.h"

enum allocation_kind { ALLOCATION_DEVICE, ALLOCATION_HOST, ALLOCATION_MANAGED, ALLOCATION_REGISTERED };
struct allocation {
	uint8_t *start;
	size_t size;
	enum allocation_kind kind;
	struct device *device;
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
	*a = (struct allocation){ start, size, kind, device, allocations };
	allocations = a;
	memory_add(start, size);
	return HIP_SUCCESS;
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
		if (a->kind != ALLOCATION_REGISTERED) {
			if (a->kind != ALLOCATION_HOST) a->device->used -= a->size;
			free(a->start);
		}
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
	memory = error ? NULL : aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
	if (!memory) error = HIP_OUT_OF_MEMORY;
	else error = add(memory, size, kind, device);
	if (!error && kind != ALLOCATION_HOST) device->used += size;
	pthread_mutex_unlock(&lock);
	if (error) {
		free(memory);
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
