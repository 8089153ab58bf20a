/* The CPU as a device: its properties, those of an sm_80 GPU where programs rely on them and the machine's own where they are
 * about speed and size, and the table of functions that the driver calls. There is one such device, or as many as
 * DRAGOMAN_DEVICES=cpu:N asks for: they share the processors and divide the memory. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"
#include "backend/cpu/texture_object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEAP_LIMIT = 8 << 20, STACK_LIMIT = 1024 }; /* cudaLimitMallocHeapSize, cudaLimitStackSize at first */

/* cudaLimitPrintfFifoSize at first; and what a byte of it, which holds arguments, may become as text here. */
enum { PRINT_LIMIT = 1 << 20, PRINT_ROOM = 16 };
enum { DEVICES_MOST = 16 };

static struct device *devices[DEVICES_MOST];
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- errors and prints ----------------------------------------------------------------------------- */

void cpu_device_fail(struct device *device, int status)
{
	int none = 0;
	atomic_compare_exchange_strong(&device->error, &none, status);
}

int cpu_device_status(struct device *device)
{
	int gone = cpu_pool_gone();
	if (gone == STATUS_NOT_INITIALIZED) {
		static _Atomic bool told;
		if (!atomic_exchange(&told, true))
			log_error("the parent process has used the device before fork(): its child cannot");
	}
	return gone ? gone : atomic_load_explicit(&device->error, memory_order_acquire);
}

void cpu_device_flush_prints(struct device *device)
{
	if (!atomic_load_explicit(&device->print_waiting, memory_order_acquire))
		return;
	spinlock_lock(&device->print_lock);
	struct text text = device->printed;
	device->printed = (struct text){ 0 };
	atomic_store(&device->print_waiting, false);
	spinlock_unlock(&device->print_lock);
	/* Through stdio, so that it keeps its place among what the program prints itself. */
	if (text.count)
		fwrite(text.data, 1, text.count, stdout);
	text_fini(&text);
}

/* ---- life ------------------------------------------------------------------------------------------ */

static int device_setting(void)
{
	const char *text = env_get("DRAGOMAN_DEVICES");
	char *end;
	long count;
	if (!text)
		return 1;
	count = strtol(!strncmp(text, "cpu:", 4) ? text + 4 : text, &end, 10);
	if (!*end && count >= 1 && count <= DEVICES_MOST)
		return (int)count;
	log_warn("DRAGOMAN_DEVICES=%s is not cpu:1 to cpu:%d: ignored", text, DEVICES_MOST);
	return 1;
}

static int device_count(int *count)
{
	*count = device_setting();
	return STATUS_SUCCESS;
}

/* A number with K, M or G; 0: not given. */
static uint64_t memory_setting(void)
{
	const char *text = env_get("DRAGOMAN_MEMORY");
	if (!text)
		return 0;
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	if (end == text || *text == '-' || end[shift ? 1 : 0] || !value || value > UINT64_MAX >> shift >> 8) {
		log_warn("DRAGOMAN_MEMORY=%s is not a size such as 8G: ignored", text);
		return 0;
	}
	return (uint64_t)value << shift;
}

/* The machine's memory but for an eighth, at least half a GiB, which the system and the program need themselves. */
static uint64_t device_memory(void)
{
	uint64_t memory = memory_setting(), all = cpu_host_machine()->memory, reserve = all / 8;
	if (memory)
		return memory; /* of each device */
	if (reserve < UINT64_C(512) << 20)
		reserve = UINT64_C(512) << 20;
	return (all > 2 * reserve ? all - reserve : all / 2) / (uint64_t)device_setting();
}

static void device_destroy(struct device *device)
{
	cpu_memory_destroy(device->memory);
	cpu_heap_destroy(device->heap);
	cpu_code_arena_fini(&device->code);
	text_fini(&device->printed);
	free(device);
}

static void set_capability(struct device *device)
{
	device->major = capability_shown();
	device->minor = 0;
	device->shared_optin = device->major == 9 ? SHARED_OPTIN_90 : SHARED_OPTIN;
}

static struct device *device_create(int ordinal)
{
	struct device *device = aligned_alloc(64, align_up(sizeof *device, 64));
	if (!device)
		return NULL;
	memset(device, 0, sizeof *device);
	device->ordinal = ordinal;
	cpu_code_arena_init(&device->code);
	device->memory = cpu_memory_create(device_memory());
	device->heap = cpu_heap_create(HEAP_LIMIT);
	device->stack_limit = STACK_LIMIT;
	device->print_limit = PRINT_LIMIT * PRINT_ROOM;
	set_capability(device);
	/* Registered now, so before exit comes to what was set up before the device: the runtime's clean-up among it. */
	static bool registered;
	if (!registered)
		registered = !atexit(cpu_pool_exit);
	if (device->memory && device->heap && cpu_pool_init(&device->pool, cpu_host_machine()->cpus))
		return device;
	device_destroy(device);
	return NULL;
}

static int device_open(int ordinal, struct device **out)
{
	if (ordinal < 0 || ordinal >= device_setting())
		return STATUS_INVALID_VALUE;
	pthread_mutex_lock(&open_lock);
	if (!devices[ordinal])
		devices[ordinal] = device_create(ordinal);
	*out = devices[ordinal];
	pthread_mutex_unlock(&open_lock);
	return *out ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
}

static void device_close(struct device *device)
{
	if (cpu_pool_gone() == STATUS_DEINITIALIZED)
		return;
	pthread_mutex_lock(&open_lock);
	devices[device->ordinal] = NULL;
	pthread_mutex_unlock(&open_lock);
	cpu_device_flush_prints(device);
	cpu_pool_fini(device);
	device_destroy(device);
}

static void device_reset(struct device *device)
{
	struct heap *fresh = cpu_heap_create(HEAP_LIMIT);
	cpu_device_flush_prints(device);
	atomic_store(&device->error, 0);
	atomic_store(&device->stack_limit, STACK_LIMIT);
	atomic_store(&device->print_limit, PRINT_LIMIT * PRINT_ROOM);
	if (!fresh)
		return;
	cpu_heap_destroy(device->heap);
	device->heap = fresh;
}

static int device_set_limit(struct device *device, enum device_limit limit, uint64_t value)
{
	enum { LARGEST_STACK = 512 << 10 }; /* of local memory a thread: CUDA's technical specifications */
	if (limit == DEVICE_LIMIT_HEAP)
		cpu_heap_set_limit(device->heap, value);
	else if (limit == DEVICE_LIMIT_PRINTF)
		atomic_store_explicit(&device->print_limit, value * PRINT_ROOM, memory_order_relaxed);
	else if (value > LARGEST_STACK)
		return STATUS_INVALID_VALUE;
	else
		atomic_store_explicit(&device->stack_limit, value, memory_order_relaxed);
	return STATUS_SUCCESS;
}

static int device_error(struct device *device)
{
	return cpu_device_status(device);
}

/* ---- properties ------------------------------------------------------------------------------------- */

static void device_properties(struct device *device, struct device_properties *out)
{
	const struct host_machine *host = cpu_host_machine();
	uint64_t free_bytes;
	*out = (struct device_properties){
		.major = device->major,
		.minor = device->minor,
		.multiprocessors = device->pool.size,
		.clock_khz = host->clock_khz,
		.memory_clock_khz = 1600000,
		.bus_width = 128,
		.l2_bytes = host->l2_bytes,
		.shared_per_block = SHARED_STATIC,
		.shared_per_block_optin = (int)device->shared_optin,
		.shared_per_multiprocessor = (int)device->shared_optin + 1024,
		.registers_per_block = 65536,
		.threads_per_multiprocessor = 2048,
		.blocks_per_multiprocessor = 32,
		.async_engines = 3,
		.pci_bus = device->ordinal,
		.integrated = false,
		.managed_concurrent = true,
		.pageable_access = true,
		.host_backed = true,
		.cooperative = true,
	};
	snprintf(out->name, sizeof out->name, "%s", host->name);
	uint64_t words[2] = { hash_bytes(host->name, strlen(host->name), 1), host->features + (uint64_t)device->ordinal };
	memcpy(out->uuid, words, sizeof out->uuid);
	cpu_memory_info(device->memory, &free_bytes, &out->memory);
}

static int device_memory_info(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	cpu_memory_info(device->memory, free_bytes, total_bytes);
	return STATUS_SUCCESS;
}

static int device_allocate(struct device *device, uint64_t size, void **pointer)
{
	return cpu_memory_allocate(device->memory, size, pointer);
}

static int device_release(struct device *device, void *pointer)
{
	if (cpu_pool_gone() == STATUS_DEINITIALIZED)
		return STATUS_DEINITIALIZED;
	return cpu_memory_release(device->memory, pointer);
}

const struct device_ops cpu_device_ops = {
	.name = "cpu",
	.count = device_count,
	.open = device_open,
	.close = device_close,
	.properties = device_properties,
	.memory_info = device_memory_info,
	.allocate = device_allocate,
	.release = device_release,
	.module_load = cpu_module_load,
	.module_unload = cpu_module_unload,
	.module_variable = cpu_module_variable,
	.module_bind = cpu_module_bind,
	.module_kernel = cpu_module_kernel,
	.kernel_prepare = cpu_kernel_prepare,
	.queue_create = cpu_queue_create,
	.queue_destroy = cpu_queue_destroy,
	.queue_launch = cpu_queue_launch,
	.list_create = cpu_list_create,
	.list_release = cpu_list_release,
	.queue_launch_list = cpu_queue_launch_list,
	.queue_copy = cpu_queue_copy,
	.queue_copy_2d = cpu_queue_copy_2d,
	.queue_fill = cpu_queue_fill,
	.queue_host_function = cpu_queue_host_function,
	.queue_ticket = cpu_queue_ticket,
	.queue_done = cpu_queue_done,
	.queue_wait = cpu_queue_wait,
	.queue_synchronize = cpu_queue_synchronize,
	.queue_timestamp = cpu_queue_timestamp,
	.texture_create = cpu_texture_create,
	.texture_destroy = cpu_texture_destroy,
	.set_limit = device_set_limit,
	.set_driver = cpu_children_set_driver,
	.kernel_owner = cpu_kernel_set_owner,
	.error = device_error,
	.reset = device_reset,
};
