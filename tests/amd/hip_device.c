/* The emulated devices: DRAGOMAN_EMULATE=gfx1100 (the default), or several separated by commas. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hip_internal.h"

static struct device device_list[DEVICES_MAX];
static int device_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local int current;

/* HIP_VISIBLE_DEVICES: ordinals; the list ends at the first that there is not. */
static void apply_visible(void)
{
	const char *visible = getenv("HIP_VISIBLE_DEVICES");
	struct device kept[DEVICES_MAX];
	int count = 0;

	if (!visible) return;
	while (*visible && count < DEVICES_MAX) {
		char *end;
		long ordinal = strtol(visible, &end, 10);

		if (end == visible || ordinal < 0 || ordinal >= device_count) break;
		kept[count++] = device_list[ordinal];
		visible = *end == ',' ? end + 1 : end;
	}
	memcpy(device_list, kept, (size_t)count * sizeof *kept);
	device_count = count;
}

static void read_environment(void)
{
	const char *names = getenv("DRAGOMAN_EMULATE");
	char name[32];

	if (!names || !*names) names = "gfx1100";
	while (*names && device_count < DEVICES_MAX) {
		size_t length = strcspn(names, ",");
		const struct gpu_model *gpu;

		snprintf(name, sizeof name, "%.*s", (int)length, names);
		gpu = gpu_model_find(name);
		if (gpu) device_list[device_count++] = (struct device){ .gpu = gpu, .stack_bytes = 1024 };
		else fprintf(stderr, "fake HIP: DRAGOMAN_EMULATE: no emulated GPU is called %s\n", name);
		names += length + (names[length] == ',');
	}
	apply_visible();
}

int devices(struct device **list)
{
	pthread_once(&once, read_environment);
	*list = device_list;
	return device_count;
}

struct device *device_at(int ordinal)
{
	struct device *list;
	int count = devices(&list);

	return ordinal >= 0 && ordinal < count ? &list[ordinal] : NULL;
}

struct device *current_device(void) { return device_at(current); }
int device_ordinal(const struct device *device) { return (int)(device - device_list); }

int hipInit(unsigned flags)
{
	if (flags) return HIP_INVALID_VALUE;
	return device_at(0) ? HIP_SUCCESS : HIP_NO_DEVICE;
}

int hipDriverGetVersion(int *version)
{
	if (!version) return HIP_INVALID_VALUE;
	*version = 60443482;	/* 6.4 */
	return HIP_SUCCESS;
}

int hipRuntimeGetVersion(int *version) { return hipDriverGetVersion(version); }

int hipGetDeviceCount(int *count)
{
	struct device *list;

	if (!count) return HIP_INVALID_VALUE;
	*count = devices(&list);
	return *count ? HIP_SUCCESS : HIP_NO_DEVICE;
}

int hipSetDevice(int device)
{
	if (!device_at(device)) return HIP_INVALID_DEVICE;
	current = device;
	return HIP_SUCCESS;
}

int hipGetDevice(int *device)
{
	if (!device) return HIP_INVALID_VALUE;
	if (!current_device()) return HIP_NO_DEVICE;
	*device = current;
	return HIP_SUCCESS;
}

int hipDeviceGetName(char *name, int size, int device)
{
	struct device *d = device_at(device);

	if (!d) return HIP_INVALID_DEVICE;
	if (!name || size <= 0) return HIP_INVALID_VALUE;
	snprintf(name, (size_t)size, "%s", d->gpu->product);
	return HIP_SUCCESS;
}

int hipDeviceGetUuid(uint8_t uuid[16], int device)
{
	struct device *d = device_at(device);

	if (!d) return HIP_INVALID_DEVICE;
	if (!uuid) return HIP_INVALID_VALUE;
	memset(uuid, 0, 16);
	snprintf((char *)uuid, 16, "GPU-%s-%d", d->gpu->name, device);
	return HIP_SUCCESS;
}

int hipDeviceGetAttribute(int *value, int attribute, int device)
{
	struct device *d = device_at(device);
	bool rdna = d && d->gpu->generation >= 10;
	const struct { int attribute, value; } values[] = {
		{ HIP_ASYNC_ENGINES, 2 }, { HIP_CLOCK_KHZ, 2000000 }, { HIP_CONCURRENT_MANAGED, 0 }, { HIP_COOPERATIVE, 1 }, { HIP_INTEGRATED, 0 },
		{ HIP_L2_BYTES, 6 << 20 }, { HIP_MANAGED, 1 }, { HIP_THREADS_PER_BLOCK, BLOCK_THREADS_MAX },
		{ HIP_THREADS_PER_MULTIPROCESSOR, rdna ? 1024 : 2048 }, { HIP_MEMORY_BUS_WIDTH, 256 }, { HIP_MEMORY_CLOCK_KHZ, 1000000 },
		{ HIP_MULTIPROCESSORS, d ? (int)d->gpu->compute_units : 0 }, { HIP_PAGEABLE_ACCESS, 0 }, { HIP_PCI_BUS, 3 + device }, { HIP_PCI_DEVICE, 0 },
		{ HIP_PCI_DOMAIN, 0 }, { HIP_REGISTERS_PER_BLOCK, 65536 }, { HIP_SHARED_PER_BLOCK, LDS_MAX }, { HIP_WARP_SIZE, d ? (int)d->gpu->wave : 0 },
		{ HIP_SHARED_PER_MULTIPROCESSOR, LDS_MAX }, { HIP_LARGE_BAR, 0 }, { HIP_FINE_GRAIN, 0 }, { HIP_WALL_CLOCK_KHZ, 100000 } };

	if (!value) return HIP_INVALID_VALUE;
	if (!d) return HIP_INVALID_DEVICE;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		if (values[i].attribute != attribute) continue;
		*value = values[i].value;
		return HIP_SUCCESS;
	}
	return HIP_INVALID_VALUE;
}

int hipDeviceTotalMem(size_t *bytes, int device)
{
	if (!bytes) return HIP_INVALID_VALUE;
	if (!device_at(device)) return HIP_INVALID_DEVICE;
	*bytes = DEVICE_BYTES;
	return HIP_SUCCESS;
}

static int properties(uint8_t *to, size_t size, size_t memory_at, size_t architecture_at, int device)
{
	struct device *d = device_at(device);
	const char *features = !d || !d->gpu->cdna ? "" : ":sramecc+:xnack-";

	if (!to) return HIP_INVALID_VALUE;
	if (!d) return HIP_INVALID_DEVICE;
	memset(to, 0, size);
	snprintf((char *)to, 256, "%s", d->gpu->product);
	memcpy(to + memory_at, &DEVICE_BYTES, sizeof DEVICE_BYTES);
	snprintf((char *)to + architecture_at, HIP_ARCHITECTURE_SIZE, "%s%s", d->gpu->name, features);
	return HIP_SUCCESS;
}

int hipGetDeviceProperties(void *to, int device) { return properties(to, 792, 256, HIP_ARCHITECTURE_AT, device); }
int hipGetDevicePropertiesR0600(void *to, int device) { return properties(to, 1472, 288, HIP_ARCHITECTURE_AT_R0600, device); }

int hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	if (least) *least = 1;
	if (greatest) *greatest = -1;
	return HIP_SUCCESS;
}

int hipDeviceSetLimit(int limit, size_t value)
{
	struct device *d = current_device();

	if (!d) return HIP_NO_DEVICE;
	if (limit == HIP_LIMIT_HEAP) return HIP_SUCCESS;
	if (limit != HIP_LIMIT_STACK) return HIP_UNSUPPORTED_LIMIT;
	if (value > 131056) return HIP_INVALID_VALUE;
	d->stack_bytes = value;
	return HIP_SUCCESS;
}

int hipDeviceCanAccessPeer(int *can, int device, int peer)
{
	if (!can) return HIP_INVALID_VALUE;
	if (!device_at(device) || !device_at(peer)) return HIP_INVALID_DEVICE;
	*can = device != peer;
	return HIP_SUCCESS;
}

int hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
	static bool enabled[DEVICES_MAX][DEVICES_MAX];

	if (flags) return HIP_INVALID_VALUE;
	if (!device_at(peer) || peer == current) return HIP_INVALID_DEVICE;
	if (__atomic_exchange_n(&enabled[current][peer], true, __ATOMIC_RELAXED)) return HIP_PEER_ACCESS_ALREADY_ENABLED;
	return HIP_SUCCESS;
}

int hipDeviceSynchronize(void)
{
	struct device *d = current_device();

	return d ? device_drain(d) : HIP_NO_DEVICE;
}

/* ---- errors ---- */
static const struct { int error; const char *name, *text; } errors[] = {
	{ HIP_SUCCESS, "hipSuccess", "no error" },
	{ HIP_INVALID_VALUE, "hipErrorInvalidValue", "invalid argument" },
	{ HIP_OUT_OF_MEMORY, "hipErrorOutOfMemory", "out of memory" },
	{ HIP_NOT_INITIALIZED, "hipErrorNotInitialized", "initialization error" },
	{ HIP_DEINITIALIZED, "hipErrorDeinitialized", "driver shutting down" },
	{ HIP_INVALID_CONFIGURATION, "hipErrorInvalidConfiguration", "invalid configuration argument" },
	{ HIP_INVALID_PITCH, "hipErrorInvalidPitchValue", "invalid pitch argument" },
	{ HIP_INVALID_SYMBOL, "hipErrorInvalidSymbol", "invalid device symbol" },
	{ HIP_INVALID_DEVICE_POINTER, "hipErrorInvalidDevicePointer", "invalid device pointer" },
	{ HIP_INVALID_COPY_DIRECTION, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy" },
	{ HIP_NO_DEVICE, "hipErrorNoDevice", "no ROCm-capable device is detected" },
	{ HIP_INVALID_DEVICE, "hipErrorInvalidDevice", "invalid device ordinal" },
	{ HIP_INVALID_IMAGE, "hipErrorInvalidImage", "device kernel image is invalid" },
	{ HIP_INVALID_CONTEXT, "hipErrorInvalidContext", "invalid device context" },
	{ HIP_NO_BINARY_FOR_GPU, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device" },
	{ HIP_UNSUPPORTED_LIMIT, "hipErrorUnsupportedLimit", "limit is not supported on device" },
	{ HIP_INVALID_HANDLE, "hipErrorInvalidHandle", "invalid resource handle" },
	{ HIP_NOT_FOUND, "hipErrorNotFound", "named symbol not found" },
	{ HIP_NOT_READY, "hipErrorNotReady", "device not ready" },
	{ HIP_ILLEGAL_ADDRESS, "hipErrorIllegalAddress", "an illegal memory access was encountered" },
	{ HIP_LAUNCH_OUT_OF_RESOURCES, "hipErrorLaunchOutOfResources", "out of resources" },
	{ HIP_PEER_ACCESS_ALREADY_ENABLED, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled" },
	{ HIP_HOST_MEMORY_ALREADY_REGISTERED, "hipErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped" },
	{ HIP_HOST_MEMORY_NOT_REGISTERED, "hipErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region" },
	{ HIP_LAUNCH_FAILURE, "hipErrorLaunchFailure", "unspecified launch failure" },
	{ HIP_COOPERATIVE_TOO_LARGE, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch" },
	{ HIP_NOT_SUPPORTED, "hipErrorNotSupported", "operation not supported" },
};

const char *hipGetErrorName(int error)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].error == error) return errors[i].name;
	return "hipErrorUnknown";
}

const char *hipGetErrorString(int error)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].error == error) return errors[i].text;
	return "unknown error";
}

/* ---- handles ---- */
static struct { void *handle; enum handle_kind kind; } *handles;
static size_t handle_count, handle_capacity;
static pthread_mutex_t handle_lock = PTHREAD_MUTEX_INITIALIZER;

void handle_add(void *handle, enum handle_kind kind)
{
	pthread_mutex_lock(&handle_lock);
	if (handle_count == handle_capacity) {
		handle_capacity = handle_capacity ? 2 * handle_capacity : 64;
		handles = realloc(handles, handle_capacity * sizeof *handles);
		if (!handles) abort();
	}
	handles[handle_count].handle = handle;
	handles[handle_count++].kind = kind;
	pthread_mutex_unlock(&handle_lock);
}

static size_t find_handle(const void *handle, enum handle_kind kind)
{
	for (size_t i = handle_count; i-- > 0;)
		if (handles[i].handle == handle && handles[i].kind == kind) return i;
	return SIZE_MAX;
}

bool handle_remove(void *handle, enum handle_kind kind)
{
	size_t at;

	pthread_mutex_lock(&handle_lock);
	at = find_handle(handle, kind);
	if (at != SIZE_MAX) handles[at] = handles[--handle_count];
	if (!handle_count) {
		free(handles);
		handles = NULL;
		handle_capacity = 0;
	}
	pthread_mutex_unlock(&handle_lock);
	return at != SIZE_MAX;
}

bool handle_live(const void *handle, enum handle_kind kind)
{
	bool live;

	pthread_mutex_lock(&handle_lock);
	live = find_handle(handle, kind) != SIZE_MAX;
	pthread_mutex_unlock(&handle_lock);
	return live;
}
