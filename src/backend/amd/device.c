/* AMD GPUs as devices, through HIP: which of them are used and in what order, their properties, memory, and the table of functions
 * that the driver calls.
 *
 * Discrete GPUs come first, then those that share the CPU's memory; within a kind HIP's order (HIP_VISIBLE_DEVICES is HIP's own
 * business). GPUs that Dragoman makes no code for are left out. */
#include "backend/amd/amd.h"
#include "backend/amd/diagnose.h"

#include <stdio.h>
#include <stdlib.h>

enum { HEAP_LIMIT = 8 << 20, STACK_LIMIT = 1024, PRINT_LIMIT = 1 << 20 }; /* cudaLimit…, at first */
enum { SHARED_STATIC = 48 << 10 };                                        /* without opting in, as on sm_80 */

struct found {
	int hip;
	bool integrated, wave64;
	char architecture[32];
};

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct found found[AMD_DEVICES_MOST];
static int found_count = -1; /* not looked yet */
static char why_not[512];
static struct device *devices[AMD_DEVICES_MOST];

/* ---- which devices --------------------------------------------------------------------------------- */

static int attribute(int hip, int which, int fallback)
{
	int value;
	return amd_hip()->hipDeviceGetAttribute && !amd_hip()->hipDeviceGetAttribute(&value, which, hip) ? value : fallback;
}

/* "gfx90a:sramecc+:xnack-" up to the colon: code that says nothing of those features runs with any. */
static bool architecture_of(int hip, char out[32])
{
	const struct hip *table = amd_hip();
	size_t at = table->hipGetDevicePropertiesR0600 ? HIP_ARCHITECTURE_AT_R0600 : HIP_ARCHITECTURE_AT;
	_Alignas(16) char properties[HIP_PROPERTIES_ROOM] = { 0 };
	int (*get)(void *, int) = table->hipGetDevicePropertiesR0600 ? table->hipGetDevicePropertiesR0600 : table->hipGetDeviceProperties;
	if (!get || get(properties, hip))
		return false;
	size_t length = strnlen(properties + at, HIP_ARCHITECTURE_SIZE);
	const char *colon = memchr(properties + at, ':', length);
	snprintf(out, 32, "%.*s", (int)(colon ? colon - (properties + at) : (long)length), properties + at);
	return !strncmp(out, "gfx", 3);
}

static void look_for_devices(int count)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < count && found_count < AMD_DEVICES_MOST; i++) {
			struct found f = { .hip = i, .integrated = attribute(i, HIP_INTEGRATED, 0), .wave64 = attribute(i, HIP_WARP_SIZE, 64) == 64 };
			if (f.integrated != pass)
				continue;
			if (!architecture_of(i, f.architecture)) {
				snprintf(why_not, sizeof why_not, "HIP's GPU %d does not say which architecture it is", i);
			} else if (!amd_is_supported(f.architecture)) {
				snprintf(why_not, sizeof why_not, "HIP's GPU %d is a %s, which Dragoman makes no code for (docs/amd.md lists those it does)",
					 i, f.architecture);
				log_info("%s", why_not);
			} else {
				/* wave64 of HIP's is what the machine prefers; code for gfx10 and later is wave32 */
				f.wave64 = !strncmp(f.architecture, "gfx9", 4);
				found[found_count++] = f;
			}
		}
}

/* What the machine says explains what HIP says, where it has anything to say. */
static void explain(const char *hip, int error)
{
	char line[400];
	const char *name = amd_hip()->hipGetErrorString ? amd_hip()->hipGetErrorString(error) : NULL;
	if (amd_kernel_trouble(line, sizeof line) != AMD_TROUBLE_NONE)
		snprintf(why_not, sizeof why_not, "%s", line);
	else if (error && error != HIP_NO_DEVICE)
		snprintf(why_not, sizeof why_not, "%s does not work: %s (%d)", hip, name ? name : "an error", error);
	else
		snprintf(why_not, sizeof why_not, "%s finds no GPU%s", hip,
			 getenv("HIP_VISIBLE_DEVICES") || getenv("ROCR_VISIBLE_DEVICES") ? "; HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES is set" :
											    ": the driver and the release of ROCm may not fit together");
}

static void find_once(void)
{
	bool is_there;
	int count = 0, error;
	const char *path = amd_hip_path(&is_there);
	found_count = 0;
	if (!is_there) {
		snprintf(why_not, sizeof why_not, "%s", path);
		return;
	}
	if (!amd_hip()->hipGetDeviceCount) {
		snprintf(why_not, sizeof why_not, "%s is no HIP runtime: it has no hipGetDeviceCount", path);
		return;
	}
	error = amd_hip()->hipInit ? amd_hip()->hipInit(0) : HIP_SUCCESS;
	if (!error)
		error = amd_hip()->hipGetDeviceCount(&count);
	if (error || count <= 0)
		explain(path, error);
	else
		look_for_devices(count);
}

static int device_count(int *count)
{
	pthread_mutex_lock(&open_lock);
	if (found_count < 0)
		find_once();
	*count = found_count;
	pthread_mutex_unlock(&open_lock);
	return found_count ? STATUS_SUCCESS : STATUS_NO_DEVICE;
}

const char *amd_why_not(void)
{
	int count;
	return device_count(&count) ? why_not : NULL;
}

size_t amd_hip_gpus(struct amd_hip_gpu *gpus, size_t most)
{
	const struct hip *hip = amd_hip();
	int all = 0, used, count;
	device_count(&used);
	if (!hip->hipGetDeviceCount || hip->hipGetDeviceCount(&all))
		return 0;
	for (count = 0; count < all && (size_t)count < most; count++) {
		struct amd_hip_gpu *gpu = &gpus[count];
		*gpu = (struct amd_hip_gpu){ .hip = count, .ordinal = -1, .integrated = attribute(count, HIP_INTEGRATED, 0) };
		if (!hip->hipDeviceGetName || hip->hipDeviceGetName(gpu->name, sizeof gpu->name, count))
			snprintf(gpu->name, sizeof gpu->name, "a GPU");
		if (!architecture_of(count, gpu->architecture))
			snprintf(gpu->architecture, sizeof gpu->architecture, "unknown");
		for (int i = 0; i < used; i++)
			if (found[i].hip == count)
				gpu->ordinal = i;
	}
	return (size_t)count;
}

bool amd_hip_release(char *line, size_t size)
{
	bool is_there;
	int version = 0;
	const char *path = amd_hip_path(&is_there);
	if (is_there && amd_hip()->hipRuntimeGetVersion && !amd_hip()->hipRuntimeGetVersion(&version) && version > 0)
		snprintf(line, size, "%s, HIP %d.%d.%d", path, version / 10000000, version / 100000 % 100, version % 100000);
	else
		snprintf(line, size, "%s", path);
	return is_there;
}

/* ---- life ------------------------------------------------------------------------------------------ */

int amd_enter(struct device *device)
{
	static _Thread_local int current = -1;
	if (current == device->hip)
		return STATUS_SUCCESS;
	int error = HIP_CALL(hipSetDevice, device->hip);
	if (error)
		return amd_failed(error, "hipSetDevice(%d)", device->hip);
	current = device->hip;
	return STATUS_SUCCESS;
}

void amd_device_fail(struct device *device, int status)
{
	int none = 0;
	atomic_compare_exchange_strong(&device->error, &none, status);
}

int amd_device_status(struct device *device)
{
	return atomic_load_explicit(&device->error, memory_order_acquire);
}

hip_event amd_event_take(struct device *device, bool timed)
{
	struct amd_event_pool *pool = timed ? &device->timed : &device->plain;
	hip_event event = NULL;
	pthread_mutex_lock(&device->lock);
	if (pool->count)
		event = pool->events[--pool->count];
	pthread_mutex_unlock(&device->lock);
	if (!event && HIP_CALL(hipEventCreateWithFlags, &event, timed ? 0 : HIP_EVENT_NO_TIMING))
		return NULL;
	return event;
}

void amd_event_give(struct device *device, hip_event event, bool timed)
{
	struct amd_event_pool *pool = timed ? &device->timed : &device->plain;
	pthread_mutex_lock(&device->lock);
	bool kept = vec_reserve(&pool->events, &pool->capacity, pool->count, sizeof *pool->events);
	if (kept)
		pool->events[pool->count++] = event;
	pthread_mutex_unlock(&device->lock);
	if (!kept)
		HIP_CALL(hipEventDestroy, event);
}

/* A first point of time that events are measured from. */
static void set_reference(struct device *device)
{
	hip_stream stream;
	hip_event event = amd_event_take(device, true);
	if (event && !HIP_CALL(hipStreamCreateWithFlags, &stream, HIP_STREAM_NON_BLOCKING)) {
		if (!HIP_CALL(hipEventRecord, event, stream) && !HIP_CALL(hipEventSynchronize, event)) {
			device->reference = event;
			device->reference_ns = clock_ns();
		}
		HIP_CALL(hipStreamDestroy, stream);
	}
}

static void enable_peers(const struct device *device)
{
	const struct hip *hip = amd_hip();
	int can = 0;
	for (int i = 0; i < found_count && hip->hipDeviceCanAccessPeer && hip->hipDeviceEnablePeerAccess; i++)
		if (found[i].hip != device->hip && !hip->hipDeviceCanAccessPeer(&can, device->hip, found[i].hip) && can)
			hip->hipDeviceEnablePeerAccess(found[i].hip, 0); /* enabled already is no trouble */
}

static void set_first_limits(struct device *device)
{
	device->limits[DEVICE_LIMIT_STACK] = STACK_LIMIT;
	device->limits[DEVICE_LIMIT_HEAP] = HEAP_LIMIT;
	device->limits[DEVICE_LIMIT_PRINTF] = PRINT_LIMIT;
}

/* HIP's copies from memory that it has not pinned wait for what the stream has. */
struct stage {
	struct stage *next;
	struct device *device;
	_Alignas(64) uint8_t bytes[STAGE_BYTES];
};

static void *stage_take(struct device *device)
{
	void *memory;
	pthread_mutex_lock(&device->lock);
	struct stage *stage = device->stages;
	if (stage)
		device->stages = stage->next;
	pthread_mutex_unlock(&device->lock);
	if (!stage && (amd_enter(device) || HIP_CALL(hipHostMalloc, &memory, sizeof *stage, HIP_HOST_PORTABLE)))
		return NULL;
	stage = stage ? stage : memory;
	stage->device = device;
	return stage->bytes;
}

static void stage_give(void *memory)
{
	struct stage *stage = (struct stage *)((uint8_t *)memory - offsetof(struct stage, bytes));
	struct device *device = stage->device;
	pthread_mutex_lock(&device->lock);
	stage->next = device->stages;
	device->stages = stage;
	pthread_mutex_unlock(&device->lock);
}

static void device_close(struct device *device)
{
	pthread_mutex_lock(&open_lock);
	devices[device->ordinal] = NULL;
	pthread_mutex_unlock(&open_lock);
	amd_children_stop(device);
	amd_enter(device);
	amd_service_destroy(device->service);
	amd_textures_destroy(device->textures);
	for (size_t i = 0; i < device->dead.count; i++)
		HIP_CALL(hipFree, device->dead.data[i]);
	vec_fini(&device->dead);
	for (size_t i = 0; i < device->plain.count; i++)
		HIP_CALL(hipEventDestroy, device->plain.events[i]);
	for (size_t i = 0; i < device->timed.count; i++)
		HIP_CALL(hipEventDestroy, device->timed.events[i]);
	if (device->reference)
		HIP_CALL(hipEventDestroy, device->reference);
	while (device->stages) {
		struct stage *stage = device->stages;
		device->stages = stage->next;
		HIP_CALL(hipHostFree, stage);
	}
	vec_free(device->plain.events);
	vec_free(device->timed.events);
	pthread_mutex_destroy(&device->lock);
	free(device);
}

static int device_create(int ordinal, struct device **out)
{
	const struct found *f = &found[ordinal];
	struct device *device = calloc(1, sizeof *device);
	if (!device)
		return STATUS_OUT_OF_MEMORY;
	device->ordinal = ordinal;
	device->hip = f->hip;
	device->wave64 = f->wave64;
	device->multiprocessors = attribute(f->hip, HIP_MULTIPROCESSORS, 1);
	snprintf(device->architecture, sizeof device->architecture, "%s", f->architecture);
	pthread_mutex_init(&device->lock, NULL);
	set_first_limits(device);
	int status = amd_enter(device);
	if (!status) {
		enable_peers(device);
		set_reference(device);
		device->service = amd_service_create(device);
		device->textures = amd_textures_create();
		status = device->service && device->textures ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
	}
	if (status) {
		pthread_mutex_destroy(&device->lock);
		free(device);
		return status;
	}
	*out = device;
	return STATUS_SUCCESS;
}

static int device_open(int ordinal, struct device **out)
{
	int count, status = STATUS_SUCCESS;
	device_count(&count);
	if (ordinal < 0 || ordinal >= count)
		return STATUS_INVALID_VALUE;
	pthread_mutex_lock(&open_lock);
	if (!devices[ordinal])
		status = device_create(ordinal, &devices[ordinal]);
	*out = devices[ordinal];
	pthread_mutex_unlock(&open_lock);
	return status;
}

static void device_reset(struct device *device)
{
	amd_children_stop(device);
	amd_service_collect(device->service);
	atomic_store(&device->error, 0);
	set_first_limits(device);
	amd_service_reset(device->service);
}

static int device_set_limit(struct device *device, enum device_limit limit, uint64_t value)
{
	enum { LARGEST_STACK = 128 << 10 }; /* HIP's */
	if (limit == DEVICE_LIMIT_STACK && value > LARGEST_STACK)
		return STATUS_INVALID_VALUE;
	device->limits[limit] = value;
	/* Scratch is what each kernel says of itself; HIP's limit is for those that cannot know (recursion). */
	if (limit == DEVICE_LIMIT_STACK)
		return amd_hip()->hipDeviceSetLimit && !amd_enter(device) ?
			       (amd_hip()->hipDeviceSetLimit(HIP_LIMIT_STACK, value), STATUS_SUCCESS) :
			       STATUS_SUCCESS;
	return amd_service_set_limits(device->service);
}

/* ---- properties ------------------------------------------------------------------------------------- */

static int memory_info(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
	size_t available = 0, total = 0;
	int status = amd_enter(device);
	if (status)
		return status;
	int error = HIP_CALL(hipMemGetInfo, &available, &total);
	*free_bytes = available;
	*total_bytes = total;
	return amd_failed(error, "hipMemGetInfo");
}

static void device_properties(struct device *device, struct device_properties *out)
{
	int hip = device->hip;
	size_t total = 0;
	int shared = attribute(hip, HIP_SHARED_PER_BLOCK, AMD_SHARED_MAX);
	shared = shared < AMD_SHARED_MAX ? shared : AMD_SHARED_MAX;
	*out = (struct device_properties){
		.major = capability_shown(),
		.minor = 0,
		.multiprocessors = device->multiprocessors,
		.clock_khz = attribute(hip, HIP_CLOCK_KHZ, 1000000),
		.memory_clock_khz = attribute(hip, HIP_MEMORY_CLOCK_KHZ, 1000000),
		.bus_width = attribute(hip, HIP_MEMORY_BUS_WIDTH, 64),
		.l2_bytes = attribute(hip, HIP_L2_BYTES, 0),
		.pci_domain = attribute(hip, HIP_PCI_DOMAIN, 0),
		.pci_bus = attribute(hip, HIP_PCI_BUS, 0),
		.pci_device = attribute(hip, HIP_PCI_DEVICE, 0),
		.shared_per_block = shared < SHARED_STATIC ? shared : SHARED_STATIC,
		.shared_per_block_optin = shared,
		.shared_per_multiprocessor = attribute(hip, HIP_SHARED_PER_MULTIPROCESSOR, shared),
		.registers_per_block = attribute(hip, HIP_REGISTERS_PER_BLOCK, 65536),
		/* a warp of 32 takes a wave of 64 where the machine has no smaller */
		.threads_per_multiprocessor = attribute(hip, HIP_THREADS_PER_MULTIPROCESSOR, 2048) / (device->wave64 ? 2 : 1),
		.blocks_per_multiprocessor = 32,
		.async_engines = attribute(hip, HIP_ASYNC_ENGINES, 1),
		.integrated = attribute(hip, HIP_INTEGRATED, 0),
		.managed_concurrent = attribute(hip, HIP_CONCURRENT_MANAGED, 0),
		.pageable_access = attribute(hip, HIP_PAGEABLE_ACCESS, 0),
		.cooperative = attribute(hip, HIP_COOPERATIVE, 0),
		.virtual_memory = amd_has_virtual_memory(device),
	};
	if (!amd_hip()->hipDeviceGetName || amd_hip()->hipDeviceGetName(out->name, sizeof out->name, hip) || !out->name[0])
		snprintf(out->name, sizeof out->name, "AMD %s", device->architecture);
	if (!amd_hip()->hipDeviceGetUuid || amd_hip()->hipDeviceGetUuid(out->uuid, hip)) {
		uint64_t words[2] = { hash_bytes(out->name, strlen(out->name), 2), (uint64_t)out->pci_bus << 8 | (unsigned)out->pci_device };
		memcpy(out->uuid, words, sizeof out->uuid);
	}
	if (amd_hip()->hipDeviceTotalMem && !amd_hip()->hipDeviceTotalMem(&total, hip))
		out->memory = total;
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static int allocated(int error, const char *what, uint64_t size)
{
	return error == HIP_OUT_OF_MEMORY ? STATUS_OUT_OF_MEMORY : amd_failed(error, "%s of %llu bytes", what, (unsigned long long)size);
}

/* Nothing runs on the device. A failure that only this sees is the device's. */
static bool is_idle(struct device *device)
{
	int error = HIP_SUCCESS;
	bool idle = true;
	pthread_mutex_lock(&device->lock);
	for (struct device_queue *q = device->queues; q && idle; q = amd_queue_next(q)) {
		idle = amd_queue_is_idle(q, &error);
		if (idle && error)
			amd_device_fail(device, amd_status(error));
	}
	pthread_mutex_unlock(&device->lock);
	return idle;
}

/* hipFree waits for all that runs, and the driver's callers do not: while something does, memory is kept. `wait`: it is needed now. True where
 * there was any. */
static bool bury(struct device *device, bool wait)
{
	pthread_mutex_lock(&device->lock);
	bool any = device->dead.count;
	pthread_mutex_unlock(&device->lock);
	if (!any || (!wait && !is_idle(device)))
		return false;
	pthread_mutex_lock(&device->lock);
	size_t count = device->dead.count;
	void **dead = device->dead.data;
	memset(&device->dead, 0, sizeof device->dead);
	pthread_mutex_unlock(&device->lock);
	for (size_t i = 0; i < count; i++)
		amd_failed(HIP_CALL(hipFree, dead[i]), "hipFree(%p)", dead[i]);
	vec_free(dead);
	return true;
}

static int allocate(struct device *device, uint64_t size, void **pointer)
{
	int status = amd_enter(device);
	if (status)
		return status;
	bury(device, false);
	int error = HIP_CALL(hipMalloc, pointer, size);
	if (error == HIP_OUT_OF_MEMORY && bury(device, true))
		error = HIP_CALL(hipMalloc, pointer, size);
	return allocated(error, "hipMalloc", size);
}

int amd_release(struct device *device, void *pointer)
{
	int status = amd_enter(device);
	if (status)
		return status;
	if (is_idle(device)) {
		bury(device, true);
		return amd_failed(HIP_CALL(hipFree, pointer), "hipFree(%p)", pointer);
	}
	pthread_mutex_lock(&device->lock);
	bool kept = vec_push(&device->dead, pointer);
	pthread_mutex_unlock(&device->lock);
	return kept ? STATUS_SUCCESS : amd_failed(HIP_CALL(hipFree, pointer), "hipFree(%p)", pointer);
}

static int allocate_host(struct device *device, uint64_t size, unsigned flags, void **pointer)
{
	enum { WRITE_COMBINED = 4 }; /* CU_MEMHOSTALLOC_WRITECOMBINED */
	unsigned wanted = HIP_HOST_PORTABLE | HIP_HOST_MAPPED | (flags & WRITE_COMBINED ? HIP_HOST_WRITE_COMBINED : 0);
	int status = amd_enter(device);
	return status ? status : allocated(HIP_CALL(hipHostMalloc, pointer, size, wanted), "hipHostMalloc", size);
}

static int release_host(struct device *device, void *pointer)
{
	int status = amd_enter(device);
	return status ? status : amd_failed(HIP_CALL(hipHostFree, pointer), "hipHostFree(%p)", pointer);
}

static int allocate_managed(struct device *device, uint64_t size, void **pointer)
{
	int status = amd_enter(device);
	return status ? status : allocated(HIP_CALL(hipMallocManaged, pointer, size, HIP_ATTACH_GLOBAL), "hipMallocManaged", size);
}

/* Host memory of the program's own, from now on in the GPU's reach. */
static int register_host(struct device *device, void *pointer, uint64_t size)
{
	int status = amd_enter(device);
	if (status)
		return status;
	int error = HIP_CALL(hipHostRegister, pointer, size, HIP_HOST_PORTABLE | HIP_HOST_MAPPED);
	return error == HIP_HOST_MEMORY_ALREADY_REGISTERED ? STATUS_SUCCESS : amd_failed(error, "hipHostRegister(%p)", pointer);
}

static void unregister_host(struct device *device, void *pointer)
{
	if (!amd_enter(device))
		HIP_CALL(hipHostUnregister, pointer);
}

static int copy_now(struct device *device, void *to, const void *from, uint64_t size)
{
	int status = amd_enter(device);
	return status ? status : amd_failed(HIP_CALL(hipMemcpy, to, from, size, HIP_COPY_DEFAULT), "a copy of %llu bytes", (unsigned long long)size);
}

const struct device_ops amd_device_ops = {
	.name = "amd",
	.count = device_count,
	.why_not = amd_why_not,
	.open = device_open,
	.close = device_close,
	.properties = device_properties,
	.memory_info = memory_info,
	.allocate = allocate,
	.release = amd_release,
	.allocate_host = allocate_host,
	.release_host = release_host,
	.allocate_managed = allocate_managed,
	.register_host = register_host,
	.unregister_host = unregister_host,
	.stage_take = stage_take,
	.stage_give = stage_give,
	.copy_now = copy_now,
	.memory_share = amd_memory_share,
	.memory_open = amd_memory_open,
	.memory_close = amd_memory_close,
	.virtual_memory = &amd_virtual_memory,
	.module_load = amd_module_load,
	.module_unload = amd_module_unload,
	.module_variable = amd_module_variable,
	.module_bind = amd_module_bind,
	.module_bind_name = amd_module_bind_name,
	.module_kernel = amd_module_kernel,
	.kernel_prepare = amd_kernel_prepare,
	.queue_create = amd_queue_create,
	.queue_destroy = amd_queue_destroy,
	.queue_launch = amd_queue_launch,
	.queue_copy = amd_queue_copy,
	.queue_copy_2d = amd_queue_copy_2d,
	.queue_fill = amd_queue_fill,
	.queue_wait_value = amd_queue_wait_value,
	.queue_host_function = amd_queue_host_function,
	.queue_ticket = amd_queue_ticket,
	.queue_mark = amd_queue_mark,
	.queue_done = amd_queue_done,
	.queue_wait = amd_queue_wait,
	.queue_synchronize = amd_queue_synchronize,
	.queue_timestamp = amd_queue_timestamp,
	.texture_create = amd_texture_create,
	.texture_destroy = amd_texture_destroy,
	.textures_adopt = amd_textures_adopt,
	.set_limit = device_set_limit,
	.set_driver = amd_children_set_driver,
	.kernel_owner = amd_kernel_set_owner,
	.error = amd_device_status,
	.reset = device_reset,
};
