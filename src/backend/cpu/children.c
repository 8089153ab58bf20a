/* Dynamic parallelism: what device code launches, copies and fills by way of the device runtime. CUDA C++ Programming Guide, "CUDA
 * Dynamic Parallelism" (version 2: a grid never waits for its children, but is done only when they are).
 *
 * A call from a kernel only notes what is wanted. When the item that made it is over the worker puts it into the grid's *lanes*, queues of
 * which a device stream is one. Behind the grid itself, in the same queue as the grid, come waits for its lanes and then what was
 * launched into its tail stream; whoever waits for the grid waits for all of that. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"
#include "ir/device_runtime.h"

#include <stdlib.h>

enum { LANES = 32, TAIL = LANES };
enum { STREAM_LEGACY = 1, STREAM_PER_THREAD = 2, STREAM_TAIL = 3, STREAM_FIRE_AND_FORGET = 4 };
enum { MAGIC_BUFFER = 0x6b756642, MAGIC_STREAM = 0x72745342, MAGIC_EVENT = 0x6e764542 };

/* cudaError_t values that the driver API has none for. */
enum {
	ERROR_INVALID_CONFIGURATION = 9,
	ERROR_INVALID_MEMCPY_DIRECTION = 21,
	ERROR_INVALID_DEVICE_FUNCTION = 98,
	ERROR_INVALID_DEVICE = 101,
	ERROR_INVALID_HANDLE = 400
};

static const struct device_driver *driver; /* set once, before anything runs */

void cpu_children_set_driver(const struct device_driver *the_driver)
{
	driver = the_driver;
}

struct object { /* a stream or an event of device code */
	uint32_t magic;
	uint32_t lane;
	struct device_queue *queue; /* where an event was recorded; NULL: not yet */
	uint64_t ticket;
	struct object *next;
};

enum request_kind { REQUEST_LAUNCH, REQUEST_COPY, REQUEST_FILL, REQUEST_RECORD, REQUEST_WAIT };

struct request {
	uint32_t magic; /* of a parameter buffer that has not been launched */
	enum request_kind kind;
	uint32_t lane;
	struct request *next, *next_made;
	union {
		struct {
			struct device_kernel *kernel;
			struct launch_config config;
		} launch;
		struct copy copy;
		struct fill fill;
		struct object *event;
	};
	_Alignas(64) uint8_t parameters[];
};

struct children { /* of one grid */
	struct spinlock lock;
	struct request *made;
	struct request *first, **last;           /* to be put into lanes, in the order of the calls */
	struct request *tail_first, **tail_last; /* for behind the grid */
	struct object *objects;
	bool submitting;
	uint32_t next_lane;
	struct device_queue *lanes[LANES];       /* used by whoever is submitting */
};

static struct children *children_of(struct launch *launch)
{
	struct children *c = atomic_load_explicit(&launch->children, memory_order_acquire);
	if (c)
		return c;
	spinlock_lock(&launch->lock);
	c = atomic_load_explicit(&launch->children, memory_order_relaxed);
	if (!c && (c = calloc(1, sizeof *c))) {
		c->last = &c->first;
		c->tail_last = &c->tail_first;
		atomic_store_explicit(&launch->children, c, memory_order_release);
	}
	spinlock_unlock(&launch->lock);
	return c;
}

/* ---- from requests to commands ----------------------------------------------------------------------- */

static struct command *command_of(struct device_queue *queue, const struct request *request)
{
	int status = STATUS_OUT_OF_MEMORY;
	struct command *command = NULL;
	if (request->kind == REQUEST_LAUNCH)
		command = cpu_command_launch(queue, request->launch.kernel, &request->launch.config, &status);
	else if (request->kind == REQUEST_COPY)
		command = cpu_command_copy(queue, request->copy);
	else if (request->kind == REQUEST_FILL)
		command = cpu_command_fill(queue, request->fill);
	else if (request->event->queue)
		command = cpu_command_wait(queue, request->event->queue, request->event->ticket);
	else
		return NULL; /* waits for an event that was never recorded */
	if (!command)
		cpu_device_fail(queue->device, status);
	return command;
}

static struct device_queue *lane_queue(struct children *c, struct device_queue *parent, uint32_t lane)
{
	if (!c->lanes[lane] && cpu_queue_create(parent->device, parent->priority, &c->lanes[lane]))
		cpu_device_fail(parent->device, STATUS_OUT_OF_MEMORY);
	return c->lanes[lane];
}

static void submit_request(struct children *c, struct device_queue *parent, const struct request *request)
{
	struct device_queue *queue = lane_queue(c, parent, request->lane);
	if (!queue)
		return;
	if (request->kind == REQUEST_RECORD) {
		request->event->queue = queue;
		cpu_queue_ticket(queue, &request->event->ticket);
		return;
	}
	struct command *command = command_of(queue, request);
	if (command)
		cpu_queue_submit(queue, command);
}

/* One worker at a time, so that a stream's order is kept; what comes meanwhile is its work too. */
void cpu_children_submit(struct command *command)
{
	struct launch *launch = command->launch;
	struct children *c = atomic_load_explicit(&launch->children, memory_order_acquire);
	if (!c)
		return;
	spinlock_lock(&c->lock);
	if (c->submitting || !c->first) {
		spinlock_unlock(&c->lock);
		return;
	}
	c->submitting = true;
	while (c->first) {
		struct request *request = c->first;
		c->first = NULL;
		c->last = &c->first;
		spinlock_unlock(&c->lock);
		cpu_launch_finish(launch, command->queue->device); /* what was printed before a launch is seen before what it prints */
		for (; request; request = request->next)
			submit_request(c, command->queue, request);
		spinlock_lock(&c->lock);
	}
	c->submitting = false;
	spinlock_unlock(&c->lock);
}

static void children_destroy(struct children *c)
{
	for (uint32_t lane = 0; lane < LANES; lane++)
		if (c->lanes[lane])
			cpu_queue_unref(c->lanes[lane]);
	while (c->made) {
		struct request *request = c->made;
		c->made = request->next_made;
		free(request);
	}
	while (c->objects) {
		struct object *object = c->objects;
		c->objects = object->next;
		free(object);
	}
	free(c);
}

struct command **cpu_children_follow_up(struct device_queue *queue, struct launch *launch, struct command **first)
{
	struct children *c = atomic_exchange(&launch->children, NULL);
	struct command **end = first, *command;
	uint64_t ticket;
	if (!c)
		return end;
	for (uint32_t lane = 0; lane < LANES; lane++) {
		if (!c->lanes[lane] || cpu_queue_ticket(c->lanes[lane], &ticket))
			continue;
		command = cpu_command_wait(queue, c->lanes[lane], ticket);
		if (!command)
			cpu_device_fail(queue->device, STATUS_OUT_OF_MEMORY);
		else
			*end = command, end = &command->next;
	}
	for (const struct request *request = c->tail_first; request; request = request->next) {
		command = command_of(queue, request);
		if (command)
			*end = command, end = &command->next;
	}
	children_destroy(c);
	return end;
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

struct call {
	struct block_run *run;
	struct device *device;
	struct children *children;
	const void *const *parameters;
	const struct device_driver *driver; /* NULL: none to ask */
	void *owner;
};

struct thread_errors {
	uint64_t grid, block;
	uint16_t status[MAX_BLOCK_THREADS];
};

/* The calling thread's last error; NULL: no memory for it. */
static uint16_t *last_error(struct block_run *run, uint32_t thread)
{
	struct thread_errors *errors = run->errors;
	if (!errors)
		errors = run->errors = calloc(1, sizeof *errors);
	if (!errors)
		return NULL;
	if (errors->grid != run->launch->abi.grid_id || errors->block != run->number) {
		memset(errors, 0, sizeof *errors);
		errors->grid = run->launch->abi.grid_id;
		errors->block = run->number;
	}
	return &errors->status[thread];
}

#define DEFINE_READ(type)                                                                                              \
	static type read_##type(const struct call *call, unsigned index)                                               \
	{                                                                                                              \
		type value;                                                                                            \
		memcpy(&value, call->parameters[index], sizeof value);                                                 \
		return value;                                                                                          \
	}
DEFINE_READ(uint32_t)
DEFINE_READ(uint64_t)

static void *read_pointer(const struct call *call, unsigned index)
{
	return (void *)(uintptr_t)read_uint64_t(call, index);
}

static void read_shape(const struct call *call, unsigned index, uint32_t shape[3])
{
	memcpy(shape, call->parameters[index], 3 * sizeof *shape);
}

static struct request *request_make(struct children *c, enum request_kind kind, size_t parameter_bytes)
{
	size_t size = align_up(sizeof(struct request) + align_up(parameter_bytes, 64), 64);
	struct request *request = aligned_alloc(64, size);
	if (!request)
		return NULL;
	memset(request, 0, size);
	request->kind = kind;
	spinlock_lock(&c->lock);
	request->next_made = c->made;
	c->made = request;
	spinlock_unlock(&c->lock);
	return request;
}

static void request_put(struct children *c, struct request *request)
{
	spinlock_lock(&c->lock);
	struct request ***last = request->lane == TAIL ? &c->tail_last : &c->last;
	**last = request;
	*last = &request->next;
	spinlock_unlock(&c->lock);
}

static uint32_t any_lane(struct children *c)
{
	spinlock_lock(&c->lock);
	uint32_t lane = c->next_lane++ % LANES;
	spinlock_unlock(&c->lock);
	return lane;
}

/* Where work for the stream goes; each block has a default stream of its own. */
static int find_lane(const struct call *call, uint64_t stream, uint32_t *lane)
{
	const struct object *object;
	switch (stream) {
	case 0:
	case STREAM_LEGACY:
	case STREAM_PER_THREAD:
		*lane = (uint32_t)(call->run->number % LANES);
		return STATUS_SUCCESS;
	case STREAM_TAIL:
		*lane = TAIL;
		return STATUS_SUCCESS;
	case STREAM_FIRE_AND_FORGET:
		*lane = any_lane(call->children);
		return STATUS_SUCCESS;
	default:
		object = (const struct object *)(uintptr_t)stream;
		*lane = object->lane;
		return object->magic == MAGIC_STREAM ? STATUS_SUCCESS : ERROR_INVALID_HANDLE;
	}
}

/* ---- launches */

static int check_launch(const struct call *call, struct device_kernel *kernel, struct launch_config *config)
{
	const struct ptx_function *ptx = cpu_kernel_function(kernel);
	uint64_t threads = (uint64_t)config->block[0] * config->block[1] * config->block[2];
	uint64_t most = (uint64_t)ptx->maxntid[0] * (ptx->maxntid[1] ? ptx->maxntid[1] : 1) * (ptx->maxntid[2] ? ptx->maxntid[2] : 1);
	if (!threads || threads > MAX_BLOCK_THREADS || (most && threads > most) || config->dynamic_shared > call->device->shared_optin)
		return ERROR_INVALID_CONFIGURATION;
	for (int i = 0; i < 3; i++) {
		if (!config->grid[i] || config->block[i] > MAX_BLOCK_THREADS || config->grid[i] > (i ? UINT16_MAX : INT32_MAX))
			return ERROR_INVALID_CONFIGURATION;
		config->cluster[i] = ptx->reqnctapercluster[i];
	}
	return STATUS_SUCCESS;
}

static int find_kernel(const struct call *call, uint64_t address, struct device_kernel **kernel)
{
	*kernel = cpu_module_kernel_at(cpu_kernel_module(call->run->launch->kernel), address);
	if (*kernel && !cpu_kernel_owner(*kernel))
		cpu_kernel_set_owner(*kernel, call->owner);
	return *kernel ? STATUS_SUCCESS : ERROR_INVALID_DEVICE_FUNCTION;
}

static struct request *buffer_make(const struct call *call, size_t bytes)
{
	struct request *request = request_make(call->children, REQUEST_LAUNCH, bytes);
	if (request) {
		request->magic = MAGIC_BUFFER;
		request->launch.config.parameters = request->parameters;
		request->launch.config.parameter_bytes = bytes;
	}
	return request;
}

static struct request *buffer_of(void *parameters)
{
	return (struct request *)(void *)((uint8_t *)parameters - offsetof(struct request, parameters));
}

/* (function, grid, block, shared): room for the parameters. */
static int get_buffer(const struct call *call, void **buffer)
{
	struct launch_config config = { .dynamic_shared = read_uint32_t(call, 3) };
	struct device_kernel *kernel;
	read_shape(call, 1, config.grid);
	read_shape(call, 2, config.block);
	int status = find_kernel(call, read_uint64_t(call, 0), &kernel);
	if (!status)
		status = check_launch(call, kernel, &config);
	if (status)
		return status;
	struct request *request = buffer_make(call, cpu_kernel_function(kernel)->parameter_bytes);
	if (!request)
		return STATUS_OUT_OF_MEMORY;
	config.parameters = request->launch.config.parameters;
	config.parameter_bytes = request->launch.config.parameter_bytes;
	request->launch.config = config;
	request->launch.kernel = kernel;
	*buffer = request->parameters;
	return STATUS_SUCCESS;
}

static int launch_buffer(const struct call *call, void *buffer, uint64_t stream)
{
	struct request *request = buffer_of(buffer);
	if (!buffer || request->magic != MAGIC_BUFFER || !request->launch.kernel)
		return STATUS_INVALID_VALUE;
	int status = find_lane(call, stream, &request->lane);
	if (status)
		return status;
	request->magic = 0;
	request_put(call->children, request);
	return STATUS_SUCCESS;
}

/* (function, buffer, grid, block, shared, stream), the buffer of a certain size. */
static int launch_sized(const struct call *call)
{
	void *buffer = read_pointer(call, 1);
	struct launch_config config = { .dynamic_shared = read_uint32_t(call, 4) };
	struct device_kernel *kernel;
	struct request *request, *own = NULL;
	read_shape(call, 2, config.grid);
	read_shape(call, 3, config.block);
	int status = find_kernel(call, read_uint64_t(call, 0), &kernel);
	if (!status)
		status = check_launch(call, kernel, &config);
	if (status)
		return status;
	if (!buffer) { /* a kernel without parameters */
		own = buffer_make(call, cpu_kernel_function(kernel)->parameter_bytes);
		if (!own)
			return STATUS_OUT_OF_MEMORY;
	}
	request = own ? own : buffer_of(buffer);
	if (request->magic != MAGIC_BUFFER || request->launch.config.parameter_bytes < cpu_kernel_function(kernel)->parameter_bytes)
		return STATUS_INVALID_VALUE;
	config.parameters = request->launch.config.parameters;
	config.parameter_bytes = cpu_kernel_function(kernel)->parameter_bytes;
	request->launch.config = config;
	request->launch.kernel = kernel;
	return launch_buffer(call, request->parameters, read_uint64_t(call, 5));
}

/* ---- streams and events */

static int object_make(const struct call *call, uint32_t magic, struct object **out)
{
	struct object *object = calloc(1, sizeof *object);
	if (!object)
		return STATUS_OUT_OF_MEMORY;
	object->magic = magic;
	object->lane = magic == MAGIC_STREAM ? any_lane(call->children) : 0;
	spinlock_lock(&call->children->lock);
	object->next = call->children->objects;
	call->children->objects = object;
	spinlock_unlock(&call->children->lock);
	*out = object;
	return STATUS_SUCCESS;
}

static int object_create(const struct call *call, uint32_t magic)
{
	uint32_t flags = read_uint32_t(call, 1);
	struct object *object, **out = read_pointer(call, 0);
	/* Streams of device code are non-blocking, its events do not time. */
	uint32_t required = magic == MAGIC_STREAM ? 1 : 2;
	int status = out && flags == required ? object_make(call, magic, &object) : STATUS_INVALID_VALUE;
	if (!status)
		*out = object;
	return status;
}

static int object_destroy(const struct call *call, uint32_t magic)
{
	struct object *object = read_pointer(call, 0);
	if (!object || (uintptr_t)object <= STREAM_FIRE_AND_FORGET || object->magic != magic)
		return ERROR_INVALID_HANDLE;
	object->magic = 0; /* what is in it goes on */
	return STATUS_SUCCESS;
}

static int event_request(const struct call *call, enum request_kind kind, unsigned event_index, unsigned stream_index)
{
	struct object *event = read_pointer(call, event_index);
	uint32_t lane;
	if (!event || event->magic != MAGIC_EVENT)
		return ERROR_INVALID_HANDLE;
	int status = find_lane(call, read_uint64_t(call, stream_index), &lane);
	if (!status && lane == TAIL && kind == REQUEST_RECORD)
		status = STATUS_INVALID_VALUE;
	struct request *request = status ? NULL : request_make(call->children, kind, 0);
	if (!request)
		return status ? status : STATUS_OUT_OF_MEMORY;
	request->lane = lane;
	request->event = event;
	request_put(call->children, request);
	return STATUS_SUCCESS;
}

/* ---- copies and fills */

enum { HOST_TO_HOST = 0, HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };

static int put_copy(const struct call *call, struct copy copy, uint32_t kind, uint64_t stream)
{
	uint32_t lane;
	if (kind <= DEVICE_TO_HOST)
		return ERROR_INVALID_MEMCPY_DIRECTION;
	if (copy.height * copy.depth > 1 && (copy.to_pitch < copy.width || copy.from_pitch < copy.width))
		return STATUS_INVALID_VALUE;
	int status = find_lane(call, stream, &lane);
	if (status || !copy.width || !copy.height || !copy.depth)
		return status;
	struct request *request = request_make(call->children, REQUEST_COPY, 0);
	if (!request)
		return STATUS_OUT_OF_MEMORY;
	request->lane = lane;
	request->copy = copy;
	request_put(call->children, request);
	return STATUS_SUCCESS;
}

static int put_fill(const struct call *call, struct fill fill, uint64_t stream)
{
	uint32_t lane;
	if (fill.height > 1 && fill.pitch < fill.width)
		return STATUS_INVALID_VALUE;
	int status = find_lane(call, stream, &lane);
	if (status || !fill.width || !fill.height)
		return status;
	struct request *request = request_make(call->children, REQUEST_FILL, 0);
	if (!request)
		return STATUS_OUT_OF_MEMORY;
	fill.element = 1;
	fill.value &= 0xff;
	request->lane = lane;
	request->fill = fill;
	request_put(call->children, request);
	return STATUS_SUCCESS;
}

static int copy_1d(const struct call *call)
{
	struct copy copy = { .to = read_pointer(call, 0), .from = read_pointer(call, 1), .width = read_uint64_t(call, 2), .height = 1, .depth = 1 };
	return put_copy(call, copy, read_uint32_t(call, 3), read_uint64_t(call, 4));
}

static int copy_2d(const struct call *call)
{
	struct copy copy = { .to = read_pointer(call, 0), .to_pitch = read_uint64_t(call, 1), .from = read_pointer(call, 2),
			     .from_pitch = read_uint64_t(call, 3), .width = read_uint64_t(call, 4), .height = read_uint64_t(call, 5), .depth = 1 };
	return put_copy(call, copy, read_uint32_t(call, 6), read_uint64_t(call, 7));
}

/* cudaPitchedPtr, cudaPos, cudaExtent, cudaMemcpy3DParms */
struct pitched {
	uint8_t *at;
	uint64_t pitch, width, height;
};
struct corner {
	uint64_t x, y, z;
};
struct parameters_3d {
	void *from_array;
	struct corner from_corner;
	struct pitched from;
	void *to_array;
	struct corner to_corner;
	struct pitched to;
	uint64_t width, height, depth;
	uint32_t kind;
};

static uint8_t *pitched_at(const struct pitched *p, const struct corner *c)
{
	return p->at + (c->z * p->height + c->y) * p->pitch + c->x;
}

static int copy_3d(const struct call *call)
{
	const struct parameters_3d *p = read_pointer(call, 0);
	if (!p || p->from_array || p->to_array)
		return STATUS_INVALID_VALUE; /* device code has no arrays to copy */
	struct copy copy = { .to = pitched_at(&p->to, &p->to_corner), .to_pitch = p->to.pitch, .to_slice = p->to.pitch * p->to.height,
			     .from = pitched_at(&p->from, &p->from_corner), .from_pitch = p->from.pitch,
			     .from_slice = p->from.pitch * p->from.height, .width = p->width, .height = p->height, .depth = p->depth };
	return put_copy(call, copy, p->kind, read_uint64_t(call, 1));
}

static int fill_3d(const struct call *call)
{
	struct pitched to;
	struct { uint64_t width, height, depth; } extent;
	uint64_t stream = read_uint64_t(call, 3);
	int status = STATUS_SUCCESS;
	memcpy(&to, call->parameters[0], sizeof to);
	memcpy(&extent, call->parameters[2], sizeof extent);
	for (uint64_t z = 0; z < extent.depth && !status; z++) {
		struct fill fill = { .to = to.at + z * to.pitch * to.height, .pitch = to.pitch, .width = extent.width, .height = extent.height,
				     .value = read_uint32_t(call, 1) };
		status = put_fill(call, fill, stream);
	}
	return status;
}

/* ---- questions */

static int copy_out(void *to, int value, int status)
{
	if (!to)
		return STATUS_INVALID_VALUE;
	if (!status)
		memcpy(to, &value, sizeof value);
	return status;
}

static int device_attribute(const struct call *call)
{
	int value = 0, count = 0, device = (int)read_uint32_t(call, 2);
	if (!call->driver)
		return STATUS_NOT_SUPPORTED;
	if (device != call->driver->ordinal(call->owner, &count))
		return ERROR_INVALID_DEVICE;
	int status = call->driver->attribute(call->owner, (int)read_uint32_t(call, 1), &value);
	return copy_out(read_pointer(call, 0), value, status);
}

static int device_number(const struct call *call, bool count)
{
	int all = 1, own = call->driver ? call->driver->ordinal(call->owner, &all) : 0;
	return copy_out(read_pointer(call, 0), count ? all : own, STATUS_SUCCESS);
}

static int device_limit(const struct call *call)
{
	uint64_t *out = read_pointer(call, 0), value = 0;
	if (!call->driver)
		return STATUS_NOT_SUPPORTED;
	int status = out ? call->driver->limit(call->owner, (int)read_uint32_t(call, 1), &value) : STATUS_INVALID_VALUE;
	if (!status)
		*out = value;
	return status;
}

static int function_attributes(const struct call *call)
{
	/* struct cudaFuncAttributes: CUfunction_attribute of each word, sizes first; as far as all releases have it. */
	static const int sizes[] = { 1, 2, 3 }, words[] = { 0, 4, 5, 6, 7, 8, 9 };
	uint8_t *out = read_pointer(call, 0);
	struct device_kernel *kernel;
	int status = find_kernel(call, read_uint64_t(call, 1), &kernel), value = 0;
	if (!call->driver)
		return STATUS_NOT_SUPPORTED;
	if (!out)
		return STATUS_INVALID_VALUE;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes) && !status; i++) {
		status = call->driver->function_attribute(call->owner, cpu_kernel_function(kernel), sizes[i], &value);
		uint64_t size = (uint64_t)value;
		memcpy(out + 8 * i, &size, sizeof size);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(words) && !status; i++) {
		status = call->driver->function_attribute(call->owner, cpu_kernel_function(kernel), words[i], &value);
		memcpy(out + 8 * ARRAY_LENGTH(sizes) + 4 * i, &value, sizeof value);
	}
	return status;
}

static int occupancy(const struct call *call)
{
	struct device_kernel *kernel;
	int status = find_kernel(call, read_uint64_t(call, 1), &kernel), blocks = 0;
	if (!call->driver)
		return STATUS_NOT_SUPPORTED;
	if (!status)
		status = call->driver->occupancy(call->owner, cpu_kernel_function(kernel), (int)read_uint32_t(call, 2), read_uint64_t(call, 3), &blocks);
	return copy_out(read_pointer(call, 0), blocks, status);
}

static int allocate(const struct call *call)
{
	void **out = read_pointer(call, 0);
	uint64_t size = read_uint64_t(call, 1);
	if (!out)
		return STATUS_INVALID_VALUE;
	*out = size ? cpu_heap_allocate(call->device->heap, size) : NULL;
	return *out || !size ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
}

static int release(const struct call *call)
{
	void *pointer = read_pointer(call, 0);
	return !pointer || cpu_heap_release(call->device->heap, pointer) ? STATUS_SUCCESS : STATUS_INVALID_VALUE;
}

/* ---- waiting for children: version 1 of dynamic parallelism */

struct waiting {
	uint32_t count;
	struct device_queue *queues[LANES];
	uint64_t tickets[LANES];
};

static bool waiting_over(void *argument)
{
	struct waiting *w = argument;
	while (w->count && cpu_queue_done(w->queues[w->count - 1], w->tickets[w->count - 1]))
		w->count--;
	return !w->count;
}

/* For what the block has launched: here, what the grid has launched. The worker waits, and a thread stands in for it. */
static int synchronize(const struct call *call)
{
	struct children *c = call->children;
	struct worker *worker = call->run->worker;
	struct waiting waiting = { 0 };
	for (bool mine = false; !mine;) { /* whoever is submitting may have requests of ours in hand */
		cpu_children_submit(worker->command);
		spinlock_lock(&c->lock);
		mine = !c->submitting && !c->first;
		c->submitting |= mine;
		spinlock_unlock(&c->lock);
		cpu_relax();
	}
	for (uint32_t lane = 0; lane < LANES; lane++)
		if (c->lanes[lane] && !cpu_queue_ticket(c->lanes[lane], &waiting.tickets[waiting.count]))
			waiting.queues[waiting.count++] = c->lanes[lane];
	spinlock_lock(&c->lock);
	c->submitting = false;
	spinlock_unlock(&c->lock);
	cpu_children_submit(worker->command); /* what others have left to us meanwhile */
	if (!waiting_over(&waiting) && !cpu_pool_stand_in(worker, waiting_over, &waiting))
		return STATUS_OUT_OF_MEMORY;
	return cpu_device_status(call->device);
}

/* ---- the calls by number */

static struct fill fill_of(const struct call *call, bool two_dimensions)
{
	unsigned after = two_dimensions ? 2 : 1;
	return (struct fill){ .to = read_pointer(call, 0), .pitch = two_dimensions ? read_uint64_t(call, 1) : 0, .value = read_uint32_t(call, after),
			      .width = read_uint64_t(call, after + 1), .height = two_dimensions ? read_uint64_t(call, 4) : 1 };
}

static int do_call(const struct call *call, uint32_t number, uint64_t *result)
{
	void *buffer = NULL;
	int status;
	switch (number) {
	case DEVICE_CALL_GetParameterBufferV2:
		status = get_buffer(call, &buffer);
		*result = (uintptr_t)buffer;
		return status;
	case DEVICE_CALL_GetParameterBuffer: {
		struct request *request = buffer_make(call, read_uint64_t(call, 1));
		*result = request ? (uintptr_t)request->parameters : 0;
		return request ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
	}
	case DEVICE_CALL_LaunchDeviceV2: return launch_buffer(call, read_pointer(call, 0), read_uint64_t(call, 1));
	case DEVICE_CALL_LaunchDevice: return launch_sized(call);
	case DEVICE_CALL_StreamCreateWithFlags: return object_create(call, MAGIC_STREAM);
	case DEVICE_CALL_StreamDestroy: return object_destroy(call, MAGIC_STREAM);
	case DEVICE_CALL_StreamWaitEvent: return event_request(call, REQUEST_WAIT, 1, 0);
	case DEVICE_CALL_EventCreateWithFlags: return object_create(call, MAGIC_EVENT);
	case DEVICE_CALL_EventRecord:
	case DEVICE_CALL_EventRecordWithFlags: return event_request(call, REQUEST_RECORD, 0, 1);
	case DEVICE_CALL_EventDestroy: return object_destroy(call, MAGIC_EVENT);
	case DEVICE_CALL_MemcpyAsync: return copy_1d(call);
	case DEVICE_CALL_Memcpy2DAsync: return copy_2d(call);
	case DEVICE_CALL_Memcpy3DAsync: return copy_3d(call);
	case DEVICE_CALL_MemsetAsync: return put_fill(call, fill_of(call, false), read_uint64_t(call, 3));
	case DEVICE_CALL_Memset2DAsync: return put_fill(call, fill_of(call, true), read_uint64_t(call, 5));
	case DEVICE_CALL_Memset3DAsync: return fill_3d(call);
	case DEVICE_CALL_Malloc: return allocate(call);
	case DEVICE_CALL_Free: return release(call);
	case DEVICE_CALL_DeviceGetAttribute: return device_attribute(call);
	case DEVICE_CALL_DeviceGetLimit: return device_limit(call);
	case DEVICE_CALL_DeviceGetCacheConfig:
	case DEVICE_CALL_DeviceGetSharedMemConfig: return copy_out(read_pointer(call, 0), 0, STATUS_SUCCESS);
	case DEVICE_CALL_GetDeviceCount: return device_number(call, true);
	case DEVICE_CALL_GetDevice: return device_number(call, false);
	case DEVICE_CALL_FuncGetAttributes: return function_attributes(call);
	case DEVICE_CALL_DeviceSynchronize: return synchronize(call);
	case DEVICE_CALL_OccupancyMaxActiveBlocksPerMultiprocessor:
	case DEVICE_CALL_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags: return occupancy(call);
	case DEVICE_CALL_RuntimeGetVersion:
		return copy_out(read_pointer(call, 0), call->driver ? call->driver->version : 0, call->driver ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
	default: return STATUS_NOT_SUPPORTED;
	}
}

static uint64_t error_text(const struct call *call, bool name)
{
	int status = (int)read_uint32_t(call, 0);
	const char *text = !call->driver ? NULL : name ? call->driver->error_name(status) : call->driver->error_text(status);
	return (uintptr_t)(text ? text : "unrecognized error code");
}

/* Errors are the calling thread's to ask for, as well as being returned. */
uint64_t cpu_device_call(struct cpu_block *block, uint32_t thread, uint32_t number, const void *parameters)
{
	struct block_run *run = block->worker;
	struct call call = { run, run->worker->device, children_of(run->launch), parameters, NULL, cpu_kernel_owner(run->launch->kernel) };
	uint16_t *last = last_error(run, thread);
	uint64_t result = 0;
	call.driver = call.owner ? driver : NULL;
	if (!call.children || !last)
		return STATUS_OUT_OF_MEMORY;
	switch (number) {
	case DEVICE_CALL_GetLastError:
	case DEVICE_CALL_PeekAtLastError:
		result = *last;
		if (number == DEVICE_CALL_GetLastError)
			*last = 0;
		return result;
	case DEVICE_CALL_GetErrorString: return error_text(&call, false);
	case DEVICE_CALL_GetErrorName: return error_text(&call, true);
	default: break;
	}
	int status = do_call(&call, number, &result);
	if (status)
		*last = (uint16_t)status;
	bool returns_pointer = number == DEVICE_CALL_GetParameterBuffer || number == DEVICE_CALL_GetParameterBufferV2;
	return returns_pointer ? result : (uint64_t)status;
}
