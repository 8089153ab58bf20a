/* Modules, kernels and launches. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hip_internal.h"

struct function {
	const struct kernel *kernel;
	struct module *module;
	struct function *next;
};

struct module {
	struct code_object *object;
	struct device *device;
	struct function *functions;
};

int hipModuleLoadData(hip_module *module, const void *image)
{
	struct device *device = current_device();
	struct module *created;
	char error[256] = "";

	if (!module || !image) return HIP_INVALID_VALUE;
	if (!device) return HIP_NO_DEVICE;
	created = calloc(1, sizeof *created);
	if (!created) return HIP_OUT_OF_MEMORY;
	created->device = device;
	created->object = code_object_load(image, code_object_size(image), error, sizeof error);
	if (!created->object || code_object_gpu(created->object) != device->gpu) {
		int status = created->object ? HIP_NO_BINARY_FOR_GPU : HIP_INVALID_IMAGE;

		if (*error) fprintf(stderr, "fake HIP: %s\n", error);
		code_object_destroy(created->object);
		free(created);
		return status;
	}
	handle_add(created, HANDLE_MODULE);
	*module = created;
	return HIP_SUCCESS;
}

int hipModuleUnload(hip_module handle)
{
	struct module *module = handle;

	if (!module || !handle_remove(module, HANDLE_MODULE)) return HIP_INVALID_HANDLE;
	all_devices_drain();
	while (module->functions) {
		struct function *function = module->functions;

		module->functions = function->next;
		handle_remove(function, HANDLE_FUNCTION);
		free(function);
	}
	code_object_destroy(module->object);
	free(module);
	return HIP_SUCCESS;
}

int hipModuleGetFunction(hip_function *function, hip_module handle, const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct module *module = handle;
	const struct kernel *kernel;
	struct function *found;

	if (!function || !name) return HIP_INVALID_VALUE;
	if (!module || !handle_live(module, HANDLE_MODULE)) return HIP_INVALID_HANDLE;
	kernel = code_object_kernel(module->object, name);
	if (!kernel) return HIP_NOT_FOUND;
	pthread_mutex_lock(&lock);
	for (found = module->functions; found && found->kernel != kernel; found = found->next)
		;
	if (!found && (found = calloc(1, sizeof *found))) {
		*found = (struct function){ kernel, module, module->functions };
		module->functions = found;
		handle_add(found, HANDLE_FUNCTION);
	}
	pthread_mutex_unlock(&lock);
	*function = found;
	return found ? HIP_SUCCESS : HIP_OUT_OF_MEMORY;
}

int hipModuleGetGlobal(void **pointer, size_t *size, hip_module handle, const char *name)
{
	struct module *module = handle;
	size_t bytes;
	void *found;

	if ((!pointer && !size) || !name) return HIP_INVALID_VALUE;
	if (!module || !handle_live(module, HANDLE_MODULE)) return HIP_INVALID_HANDLE;
	found = code_object_variable(module->object, name, &bytes);
	if (!found) return HIP_NOT_FOUND;
	if (pointer) *pointer = found;
	if (size) *size = bytes;
	return HIP_SUCCESS;
}

int hipFuncGetAttribute(int *value, int attribute, hip_function handle)
{
	const struct function *function = handle;

	if (!value) return HIP_INVALID_VALUE;
	if (!function || !handle_live(function, HANDLE_FUNCTION)) return HIP_INVALID_DEVICE_FUNCTION;
	switch (attribute) {
	case HIP_FUNCTION_THREADS_PER_BLOCK: *value = (int)function->kernel->max_threads; break;
	case HIP_FUNCTION_SHARED_BYTES: *value = (int)function->kernel->group_bytes; break;
	case HIP_FUNCTION_LOCAL_BYTES: *value = (int)function->kernel->private_bytes; break;
	case HIP_FUNCTION_REGISTERS: *value = (int)function->kernel->vector_registers; break;
	default: return HIP_INVALID_VALUE;
	}
	return HIP_SUCCESS;
}

/* Blocks that a compute unit holds, by waves, vector registers and LDS. */
static unsigned occupancy(const struct function *function, unsigned threads, size_t dynamic_shared)
{
	const struct kernel *kernel = function->kernel;
	const struct gpu_model *gpu = function->module->device->gpu;
	unsigned wave = kernel->wave_size, waves = (threads + wave - 1) / wave;
	unsigned simds = gpu->generation >= 10 ? 2 : 4, simd_waves = gpu->generation >= 10 ? 16 : 8;
	unsigned registers = (kernel->vector_registers + 7) & ~7u, file = gpu->generation >= 10 ? 1024 * 32 / wave : 512;
	size_t lds = kernel->group_bytes + dynamic_shared;
	unsigned blocks;

	if (registers && file / registers < simd_waves) simd_waves = file / registers;
	blocks = simds * simd_waves / (waves ? waves : 1);
	if (lds && LDS_MAX / lds < blocks) blocks = (unsigned)(LDS_MAX / lds);
	return blocks;
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hip_function handle, int threads, size_t dynamic_shared)
{
	const struct function *function = handle;

	if (!blocks || threads <= 0) return HIP_INVALID_VALUE;
	if (!function || !handle_live(function, HANDLE_FUNCTION)) return HIP_INVALID_DEVICE_FUNCTION;
	*blocks = threads > BLOCK_THREADS_MAX ? 0 : (int)occupancy(function, (unsigned)threads, dynamic_shared);
	return HIP_SUCCESS;
}

/* ---- launches ---- */
struct launch {
	struct dispatch dispatch;
	struct device *device;
	_Alignas(64) uint8_t kernarg[];
};

/* As ROCm does at an address that is not mapped. */
static void end_process_at(const char *number)
{
	static atomic_uint launches;

	if (++launches == (unsigned)strtoul(number, NULL, 10)) abort();
}

static int run_launch(void *work)
{
	struct launch *launch = work;
	char error[1024] = "";
	enum dispatch_status status;

	if (getenv("DRAGOMAN_EMULATE_ABORT")) end_process_at(getenv("DRAGOMAN_EMULATE_ABORT"));
	launch->dispatch.kernarg = launch->kernarg;
	status = dispatch_run(&launch->dispatch, error, sizeof error);
	if (status == DISPATCH_OK) return HIP_SUCCESS;
	if (hip_stopping) return HIP_LAUNCH_FAILURE;
	fprintf(stderr, "fake HIP: %s: %s\n", launch->device->gpu->name, error);
	return status == DISPATCH_FAULT ? HIP_ILLEGAL_ADDRESS : HIP_LAUNCH_FAILURE;
}

static bool is_hidden(const struct kernel_argument *argument) { return !strncmp(argument->kind, "hidden_", 7); }

/* What HIP itself puts behind the kernel's own arguments. */
static void set_hidden(const struct dispatch *d, const struct kernel_argument *argument, uint8_t *to)
{
	static const char *const zero[] = { "remainder_", "global_offset_", "none", "printf_buffer", "hostcall_buffer", "heap_v1", "multigrid_sync_arg",
		"default_queue", "completion_action", "queue_ptr" };
	const char *kind = argument->kind + 7;
	unsigned axis = (unsigned)(kind[strlen(kind) - 1] - 'x');
	uint64_t value = 0;

	if (!strncmp(kind, "block_count_", 12)) value = d->grid[axis % 3];
	else if (!strncmp(kind, "group_size_", 11)) value = d->block[axis % 3];
	else if (!strcmp(kind, "grid_dims")) value = d->grid[2] > 1 || d->block[2] > 1 ? 3 : d->grid[1] > 1 || d->block[1] > 1 ? 2 : 1;
	else if (!strcmp(kind, "dynamic_lds_size")) value = d->dynamic_group_bytes;
	else if (!strcmp(kind, "private_base")) value = 0x00020000;
	else if (!strcmp(kind, "shared_base")) value = 0x00010000;
	else {
		bool known = false;

		for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) known |= !strncmp(kind, zero[i], strlen(zero[i]));
		if (!known) fprintf(stderr, "fake HIP: hidden argument %s is not known\n", argument->kind);
	}
	memcpy(to + argument->offset, &value, argument->size < 8 ? argument->size : 8);
}

/* The end of the kernel's own arguments. */
static size_t explicit_bytes(const struct kernel *kernel)
{
	size_t end = 0;

	for (unsigned i = 0; i < kernel->argument_count; i++)
		if (!is_hidden(&kernel->arguments[i]) && kernel->arguments[i].offset + kernel->arguments[i].size > end)
			end = kernel->arguments[i].offset + kernel->arguments[i].size;
	return end;
}

/* extra: pairs of key and value, ended by HIP_LAUNCH_END */
static int read_extra(void **extra, const void **buffer, size_t *size)
{
	*buffer = NULL;
	*size = 0;
	for (unsigned i = 0; extra[i] != HIP_LAUNCH_END; i += 2) {
		if (extra[i] == HIP_LAUNCH_BUFFER) *buffer = extra[i + 1];
		else if (extra[i] == HIP_LAUNCH_SIZE) *size = *(const size_t *)extra[i + 1];
		else return HIP_INVALID_VALUE;
	}
	return *buffer || !*size ? HIP_SUCCESS : HIP_INVALID_VALUE;
}

static int check_shape(const struct function *function, const uint32_t grid[3], const uint32_t block[3], unsigned dynamic_shared)
{
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

	for (unsigned i = 0; i < 3; i++) {
		if (!grid[i] || !block[i]) return HIP_INVALID_CONFIGURATION;
		if ((uint64_t)grid[i] * block[i] > UINT32_MAX || block[i] > BLOCK_THREADS_MAX) return HIP_INVALID_CONFIGURATION;
	}
	if (grid[1] > 65535 || grid[2] > 65535) return HIP_INVALID_CONFIGURATION;
	if (threads > BLOCK_THREADS_MAX || threads > function->kernel->max_threads) return HIP_INVALID_CONFIGURATION;
	if ((uint64_t)function->kernel->group_bytes + dynamic_shared > LDS_MAX) return HIP_INVALID_VALUE;
	return HIP_SUCCESS;
}

/* Of a host thread's: half of what the GPU has room for, which also is within bounds here. */
static unsigned residents(const struct function *function, const uint32_t block[3], unsigned dynamic_shared)
{
	enum { MOST = 64 };
	unsigned all = occupancy(function, block[0] * block[1] * block[2], dynamic_shared) * function->module->device->gpu->compute_units;

	return all / 2 > MOST ? MOST : all / 2 ? all / 2 : 1;
}

static int launch(hip_function handle, const uint32_t grid[3], const uint32_t block[3], unsigned dynamic_shared, hip_stream stream, void **arguments,
	void **extra, bool cooperative)
{
	struct function *function = handle;
	const struct kernel *kernel;
	const void *buffer = NULL;
	size_t size = 0, bytes, own;
	struct launch *launch;
	int error;

	if (!function || !handle_live(function, HANDLE_FUNCTION)) return HIP_INVALID_HANDLE;
	kernel = function->kernel;
	if (!stream_device(stream)) return HIP_INVALID_HANDLE;
	if (stream_device(stream) != function->module->device) return HIP_INVALID_DEVICE_FUNCTION;
	if (arguments && extra) return HIP_INVALID_VALUE;
	error = check_shape(function, grid, block, dynamic_shared);
	if (error) return error;
	if (extra && (error = read_extra(extra, &buffer, &size))) return error;
	own = explicit_bytes(kernel);
	if (own && !arguments && size < own) return HIP_INVALID_VALUE;
	bytes = (kernel->kernarg_bytes > size ? kernel->kernarg_bytes : size) + 64;
	bytes = (bytes + 63) & ~(size_t)63;
	launch = aligned_alloc(64, (sizeof *launch + bytes + 63) & ~(size_t)63);
	if (!launch) return HIP_OUT_OF_MEMORY;
	memset(launch, 0, sizeof *launch + bytes);
	launch->device = function->module->device;
	launch->dispatch = (struct dispatch){ .kernel = kernel, .grid = { grid[0], grid[1], grid[2] }, .block = { block[0], block[1], block[2] },
		.resident = residents(function, block, dynamic_shared), .dynamic_group_bytes = dynamic_shared, .stack_bytes = (uint32_t)launch->device->stack_bytes, .cooperative = cooperative, .kernarg_bytes = bytes,
		.stop = &hip_stopping };
	if (buffer) memcpy(launch->kernarg, buffer, size);
	for (unsigned i = 0, next = 0; i < kernel->argument_count; i++) {
		const struct kernel_argument *argument = &kernel->arguments[i];

		if (argument->offset + argument->size > bytes) continue;
		if (is_hidden(argument)) set_hidden(&launch->dispatch, argument, launch->kernarg);
		else if (arguments) memcpy(launch->kernarg + argument->offset, arguments[next++], argument->size);
	}
	return stream_enqueue(stream, run_launch, launch, false);
}

int hipModuleLaunchKernel(hip_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
	unsigned block_z, unsigned dynamic_shared, hip_stream stream, void **arguments, void **extra)
{
	return launch(function, (uint32_t[]){ grid_x, grid_y, grid_z }, (uint32_t[]){ block_x, block_y, block_z }, dynamic_shared, stream, arguments, extra,
		false);
}

int hipModuleLaunchCooperativeKernel(hip_function handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
	unsigned block_z, unsigned dynamic_shared, hip_stream stream, void **arguments)
{
	const struct function *function = handle;

	if (function && handle_live(function, HANDLE_FUNCTION)) {
		uint64_t blocks = (uint64_t)grid_x * grid_y * grid_z, threads = (uint64_t)block_x * block_y * block_z;

		if (threads && threads <= BLOCK_THREADS_MAX
			&& blocks > (uint64_t)occupancy(function, (unsigned)threads, dynamic_shared) * function->module->device->gpu->compute_units)
			return HIP_COOPERATIVE_TOO_LARGE;
	}
	return launch(handle, (uint32_t[]){ grid_x, grid_y, grid_z }, (uint32_t[]){ block_x, block_y, block_z }, dynamic_shared, stream, arguments, NULL,
		true);
}
