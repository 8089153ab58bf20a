/* Dynamic parallelism: what kernels launch, copy and fill by way of the device runtime (src/devlib/amd/launch.c). A grid only notes what is
 * wanted, in a record of its own; HIP knows nothing of it. One thread a device looks at grids that are over, puts what they noted into
 * streams, and sees when all of that is over too, with what those kernels launch in turn. Behind the grid, in its own stream, a host function
 * (the *gate*) waits for that: whoever waits for the grid waits for its children.
 *
 * Grids that run may ask something too (struct amd_question): the same thread answers.
 *
 * A stream of device code is a *lane* of its grid: what is in one goes in order. All grids' lanes share some queues. A kernel that may
 * launch holds its lane up until it and all below it is over. */
#define _GNU_SOURCE
#include "backend/amd/amd.h"
#include "ir/device_runtime.h"

#include <stdlib.h>
#include <time.h>

enum { LANES = 32, TAIL = LANES, QUEUES = 16 };
enum { ROOM = 4 << 20 }; /* bytes of a grid's requests */
enum { WAIT_LEAST_NS = 5000, WAIT_MOST_NS = 200000 };

struct record { /* host memory that the GPU sees */
	struct amd_children *shared;
	uint8_t *requests;
	struct record *next;
};

struct pending { /* a request */
	const struct amd_request *request;
	uint32_t lane;
	size_t record;   /* of an event to wait for: number of the request that records it; SIZE_MAX: none, it is over */
	bool put;
	struct device_queue *queue; /* of a record */
	uint64_t ticket;
};

struct lane {
	size_t *list, count, next; /* numbers of requests */
	struct children *child;    /* holds it up */
	struct device_queue *queue;
	uint64_t ticket;           /* behind all that was put */
};

enum grid_state { GRID_RUNS, GRID_LANES, GRID_TAIL, GRID_OVER };

struct children { /* of a grid */
	struct children *next, *parent;
	struct lane *parent_lane;
	struct device *device;
	struct device_module *module;
	void *owner;                /* the driver's name for the kernel */
	struct record *record;
	struct device_queue *queue; /* the grid's own, and its place there */
	uint64_t ticket;
	uint32_t number;            /* spreads lanes over queues */
	uint32_t next_lane;         /* for what goes to no stream in particular */
	enum grid_state state;
	unsigned below;             /* grids that hold lanes up */
	struct pending *pending;
	size_t count;
	struct lane lanes[LANES + 1];
	bool gated;                 /* a gate waits, and releases this */
};

struct children_pool { /* of a device */
	struct device *device;
	pthread_mutex_t lock;       /* the following */
	pthread_cond_t changed;
	struct children *added;     /* for the thread to take over */
	struct record *records;     /* not in use */
	void *errors;               /* what amd_children.errors points to; NULL: not made yet */
	bool started, stopping;
	pthread_t thread;
	/* The thread's own. */
	struct children *grids;
	struct device_queue *queues[QUEUES];
	uint32_t numbers;
};

static const struct device_driver *driver; /* set once, before anything runs */

void amd_children_set_driver(const struct device_driver *the_driver)
{
	driver = the_driver;
}

/* ---- records ----------------------------------------------------------------------------------------- */

static void *take_host(struct device *device, size_t size)
{
	void *memory = NULL;
	bool good = !amd_enter(device) && !HIP_CALL(hipHostMalloc, &memory, size, HIP_HOST_PORTABLE | HIP_HOST_MAPPED | HIP_HOST_COHERENT);
	return good ? memory : NULL;
}

static struct record *record_make(struct device *device)
{
	struct record *record = calloc(1, sizeof *record);
	void *memory = record ? take_host(device, sizeof *record->shared + 64 + ROOM) : NULL;
	if (!memory) {
		free(record);
		return NULL;
	}
	record->shared = memory;
	record->requests = (uint8_t *)align_up((uintptr_t)(record->shared + 1), 64);
	return record;
}

static const char *text_of(unsigned which, int status)
{
	const char *text = !driver || status == AMD_ERRORS - 1 ? NULL : which ? driver->error_text(status) : driver->error_name(status);
	return text ? text : "unrecognized error code";
}

/* Names and texts of all statuses, for device code to print. With the pool's lock held. */
static void *errors_locked(struct children_pool *pool)
{
	size_t bytes = 2 * AMD_ERRORS * sizeof(uint64_t), at = bytes;
	if (pool->errors)
		return pool->errors;
	for (unsigned i = 0; i < 2 * AMD_ERRORS; i++)
		bytes += strlen(text_of(i / AMD_ERRORS, (int)(i % AMD_ERRORS))) + 1;
	pool->errors = take_host(pool->device, bytes);
	if (!pool->errors)
		return NULL;
	for (unsigned i = 0; i < 2 * AMD_ERRORS; i++) {
		const char *text = text_of(i / AMD_ERRORS, (int)(i % AMD_ERRORS));
		((uint64_t *)pool->errors)[i] = (uintptr_t)pool->errors + at;
		memcpy((char *)pool->errors + at, text, strlen(text) + 1);
		at += strlen(text) + 1;
	}
	return pool->errors;
}

static void record_give(struct children_pool *pool, struct record *record)
{
	pthread_mutex_lock(&pool->lock);
	record->next = pool->records;
	pool->records = record;
	pthread_mutex_unlock(&pool->lock);
}

static struct record *record_take(struct children_pool *pool, void *owner)
{
	pthread_mutex_lock(&pool->lock);
	struct record *record = pool->records;
	if (record)
		pool->records = record->next;
	void *errors = errors_locked(pool);
	pthread_mutex_unlock(&pool->lock);
	if (!record)
		record = record_make(pool->device);
	if (record && !errors)
		record_give(pool, record);
	if (!record || !errors)
		return NULL;
	int count = 1, ordinal = driver && owner ? driver->ordinal(owner, &count) : pool->device->ordinal;
	*record->shared = (struct amd_children){ .requests = (uintptr_t)record->requests,
						 .size = ROOM,
						 .device = ordinal,
						 .device_count = count,
						 .version = driver ? driver->version : 0,
						 .shared_most = AMD_SHARED_MAX,
						 .errors = (uintptr_t)errors };
	return record;
}

/* ---- questions ----------------------------------------------------------------------------------------- */

enum { ERROR_INVALID_DEVICE_FUNCTION = 98 }; /* of the runtime */

static int describe_function(const struct children *c, const struct ptx_function *function, uint64_t *answers)
{
	/* CUfunction_attribute of each */
	static const int attributes[AMD_FUNCTION_SIZES + AMD_FUNCTION_WORDS] = { 1, 2, 3, 0, 4, 5, 6, 7, 8, 9 };
	int value = 0, status = STATUS_SUCCESS;
	for (size_t i = 0; i < ARRAY_LENGTH(attributes) && !status; i++) {
		status = driver->function_attribute(c->owner, function, attributes[i], &value);
		answers[i] = i < AMD_FUNCTION_SIZES ? (uint64_t)value : (uint32_t)value;
	}
	return status;
}

static int find_answer(const struct children *c, struct amd_question *q)
{
	struct device_kernel *kernel = NULL;
	int value = 0, status = STATUS_SUCCESS;
	bool of_kernel = q->call != DEVICE_CALL_DeviceGetAttribute && q->call != DEVICE_CALL_DeviceGetLimit;
	if (!driver || !c->owner)
		return STATUS_NOT_SUPPORTED;
	if (of_kernel && amd_module_kernel_by_value(c->module, q->words[0], &kernel))
		return ERROR_INVALID_DEVICE_FUNCTION;
	if (kernel && !amd_kernel_owner(kernel))
		amd_kernel_set_owner(kernel, c->owner);
	switch (q->call) {
	case DEVICE_CALL_DeviceGetAttribute: status = driver->attribute(c->owner, (int)q->words[0], &value); break;
	case DEVICE_CALL_DeviceGetLimit: return driver->limit(c->owner, (int)q->words[0], &q->answers[0]);
	case DEVICE_CALL_FuncGetAttributes: return describe_function(c, amd_kernel_function(kernel), q->answers);
	case DEVICE_CALL_OccupancyMaxActiveBlocksPerMultiprocessor:
	case DEVICE_CALL_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags:
		status = driver->occupancy(c->owner, amd_kernel_function(kernel), (int)q->words[1], q->words[2], &value);
		break;
	default: return STATUS_NOT_SUPPORTED;
	}
	q->answers[0] = (uint32_t)value;
	return status;
}

/* What the running grid asks, if anything. */
static bool answer(const struct children *c)
{
	struct amd_question *q = &c->record->shared->question;
	if (__atomic_load_n(&q->state, __ATOMIC_ACQUIRE) != AMD_QUESTION_ASKED)
		return false;
	q->status = (uint32_t)find_answer(c, q);
	__atomic_store_n(&q->state, AMD_QUESTION_ANSWERED, __ATOMIC_RELEASE);
	return true;
}

/* ---- a grid's requests ------------------------------------------------------------------------------- */

static int by_order(const void *a, const void *b)
{
	uint32_t x = ((const struct pending *)a)->request->order, y = ((const struct pending *)b)->request->order;
	return x < y ? -1 : x > y;
}

/* Each block has a default stream of its own. */
static uint32_t lane_of(struct children *c, const struct amd_request *r)
{
	switch (r->stream) {
	case 0:
	case AMD_STREAM_LEGACY:
	case AMD_STREAM_PER_THREAD: return r->block % LANES;
	case AMD_STREAM_TAIL: return TAIL;
	case AMD_STREAM_FIRE_AND_FORGET: return c->next_lane++ % LANES;
	default: return (uint32_t)r->stream % LANES;
	}
}

/* The record of that event that a wait, request number `before`, is for. */
static size_t find_record(const struct children *c, uint64_t event, size_t before)
{
	while (before-- > 0)
		if (c->pending[before].request->kind == AMD_REQUEST_RECORD && c->pending[before].request->event == event)
			return before;
	return SIZE_MAX;
}

/* What the grid noted, in the order of the calls. Device code wrote it: sizes are looked at before they are believed. */
static bool collect(struct children *c)
{
	const struct amd_children *shared = c->record->shared;
	uint64_t end = shared->used < ROOM ? shared->used : ROOM, wanted = shared->order;
	if (!wanted)
		return true;
	c->pending = calloc(wanted, sizeof *c->pending);
	if (!c->pending)
		return false;
	for (uint64_t at = 0; at + sizeof(struct amd_request) <= end && c->count < wanted;) {
		const struct amd_request *r = (const struct amd_request *)(const void *)(c->record->requests + at);
		if (r->bytes < sizeof *r || r->bytes % 64 || r->bytes > end - at)
			break;
		if (r->order)
			c->pending[c->count++].request = r;
		at += r->bytes;
	}
	if (c->count)
		qsort(c->pending, c->count, sizeof *c->pending, by_order);
	for (size_t i = 0; i < c->count; i++) {
		struct pending *p = &c->pending[i];
		p->lane = lane_of(c, p->request);
		p->record = p->request->kind == AMD_REQUEST_WAIT ? find_record(c, p->request->event, i) : SIZE_MAX;
		c->lanes[p->lane].count++;
	}
	for (uint32_t l = 0; l <= LANES; l++) {
		struct lane *lane = &c->lanes[l];
		if (lane->count && !(lane->list = calloc(lane->count, sizeof *lane->list)))
			return false;
		lane->count = 0;
	}
	for (size_t i = 0; i < c->count; i++) {
		struct lane *lane = &c->lanes[c->pending[i].lane];
		lane->list[lane->count++] = i;
	}
	return true;
}

static struct device_queue *queue_for(struct children_pool *pool, const struct children *c, uint32_t lane)
{
	struct device_queue **queue = &pool->queues[(c->number + lane) % QUEUES];
	if (!*queue && amd_queue_create(pool->device, 0, queue))
		amd_device_fail(pool->device, STATUS_OUT_OF_MEMORY);
	return *queue;
}

static int put_launch(struct children *c, struct lane *lane, const struct amd_request *r)
{
	struct device_kernel *kernel;
	struct children *child = NULL;
	struct launch_config config = { .dynamic_shared = r->launch.dynamic_shared,
					.parameters = r + 1,
					.parameter_bytes = r->launch.parameter_bytes };
	if (r->launch.parameter_bytes > r->bytes - sizeof *r)
		return STATUS_INVALID_VALUE;
	int status = amd_module_kernel_by_value(c->module, r->launch.kernel, &kernel);
	if (status)
		return status;
	if (!amd_kernel_owner(kernel))
		amd_kernel_set_owner(kernel, c->owner);
	memcpy(config.grid, r->launch.grid, sizeof config.grid);
	memcpy(config.block, r->launch.block, sizeof config.block);
	memcpy(config.cluster, amd_kernel_function(kernel)->reqnctapercluster, sizeof config.cluster);
	status = amd_queue_launch_child(lane->queue, kernel, &config, &child);
	if (child) {
		child->parent = c;
		child->parent_lane = lane;
		lane->child = child;
		c->below++;
	}
	return status;
}

static int put_request(struct children *c, struct lane *lane, struct pending *p)
{
	const struct amd_request *r = p->request;
	int status = STATUS_SUCCESS;
	switch (r->kind) {
	case AMD_REQUEST_LAUNCH: return put_launch(c, lane, r);
	case AMD_REQUEST_COPY:
		if (r->copy.height * r->copy.depth == 1)
			return amd_queue_copy(lane->queue, (void *)(uintptr_t)r->copy.to, (const void *)(uintptr_t)r->copy.from, r->copy.width);
		return amd_queue_copy_2d(lane->queue, (void *)(uintptr_t)r->copy.to, r->copy.to_pitch, r->copy.to_slice,
					 (const void *)(uintptr_t)r->copy.from, r->copy.from_pitch, r->copy.from_slice, r->copy.width,
					 r->copy.height, r->copy.depth);
	case AMD_REQUEST_FILL:
		return amd_queue_fill(lane->queue, (void *)(uintptr_t)r->fill.to, r->fill.pitch, (uint32_t)r->fill.value, 1, r->fill.width,
				      r->fill.height);
	case AMD_REQUEST_RECORD:
		p->queue = lane->queue;
		return amd_queue_mark(lane->queue, &p->ticket);
	case AMD_REQUEST_WAIT:
		if (p->record != SIZE_MAX)
			status = amd_queue_wait(lane->queue, c->pending[p->record].queue, c->pending[p->record].ticket);
		return status;
	default: return STATUS_INVALID_VALUE;
	}
}

/* As much of a lane as can be put now. Was any? */
static bool advance_lane(struct children_pool *pool, struct children *c, uint32_t number)
{
	struct lane *lane = &c->lanes[number];
	bool any = false;
	while (lane->next < lane->count && !lane->child) {
		struct pending *p = &c->pending[lane->list[lane->next]];
		if (p->record != SIZE_MAX && !c->pending[p->record].put && !amd_device_status(pool->device))
			break;
		lane->queue = queue_for(pool, c, number);
		if (lane->queue && !amd_device_status(pool->device)) {
			int status = put_request(c, lane, p);
			if (status)
				amd_device_fail(pool->device, status);
		}
		p->put = any = true;
		lane->next++;
	}
	if (any && lane->queue && amd_queue_mark(lane->queue, &lane->ticket))
		lane->ticket = 0;
	return any;
}

static bool lane_is_over(const struct lane *lane)
{
	return lane->next == lane->count && !lane->child && (!lane->queue || amd_queue_done(lane->queue, lane->ticket));
}

/* ---- grids ------------------------------------------------------------------------------------------- */

static void release(struct children *c)
{
	for (uint32_t l = 0; l <= LANES; l++)
		free(c->lanes[l].list);
	free(c->pending);
	free(c);
}

static bool step(struct children_pool *pool, struct children *c)
{
	bool any = false, over = true;
	uint32_t first = c->state == GRID_TAIL ? TAIL : 0, end = c->state == GRID_TAIL ? TAIL + 1 : LANES;
	if (c->state == GRID_RUNS) {
		if (!amd_queue_done(c->queue, c->ticket))
			return answer(c);
		c->number = pool->numbers++;
		if (!amd_device_status(pool->device) && !collect(c))
			amd_device_fail(pool->device, STATUS_OUT_OF_MEMORY);
		c->state = GRID_LANES;
		return true;
	}
	for (uint32_t l = first; l < end; l++) {
		any |= advance_lane(pool, c, l);
		over = over && lane_is_over(&c->lanes[l]);
	}
	if (over && !c->below)
		c->state = c->state == GRID_LANES ? GRID_TAIL : GRID_OVER;
	return any || over;
}

/* Tells whoever waits. */
static void finish(struct children_pool *pool, struct children *c)
{
	record_give(pool, c->record);
	if (c->parent) {
		c->parent_lane->child = NULL;
		c->parent->below--;
	}
	if (!c->gated) {
		release(c);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	c->gated = false;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
}

/* Takes over what was added; false: nothing to do any more. Waits where there is nothing else. */
static bool take_added(struct children_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (!pool->grids && !pool->added && !pool->stopping)
		pthread_cond_wait(&pool->changed, &pool->lock);
	while (pool->added) {
		struct children *c = pool->added;
		pool->added = c->next;
		c->next = pool->grids;
		pool->grids = c;
	}
	pthread_mutex_unlock(&pool->lock);
	return pool->grids;
}

static void *look_after(void *argument)
{
	struct children_pool *pool = argument;
	struct timespec pause = { 0, WAIT_LEAST_NS };
	amd_enter(pool->device);
	while (take_added(pool)) {
		bool any = false;
		for (struct children **at = &pool->grids; *at;) {
			struct children *c = *at;
			any |= step(pool, c);
			if (c->state == GRID_OVER) {
				*at = c->next;
				finish(pool, c);
			} else {
				at = &c->next;
			}
		}
		if (any) {
			pause.tv_nsec = WAIT_LEAST_NS;
			continue;
		}
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec * 2 < WAIT_MOST_NS ? pause.tv_nsec * 2 : WAIT_MOST_NS;
	}
	for (unsigned i = 0; i < QUEUES; i++)
		if (pool->queues[i])
			amd_queue_destroy(pool->queues[i]);
	memset(pool->queues, 0, sizeof pool->queues);
	return NULL;
}

/* ---- for the other files ------------------------------------------------------------------------------- */

static struct children_pool *pool_of(struct device *device)
{
	pthread_mutex_lock(&device->lock);
	struct children_pool *pool = device->children;
	if (!pool && (pool = calloc(1, sizeof *pool))) {
		pool->device = device;
		pthread_mutex_init(&pool->lock, NULL);
		pthread_cond_init(&pool->changed, NULL);
		device->children = pool;
	}
	pthread_mutex_unlock(&device->lock);
	return pool;
}

struct children *amd_children_begin(struct device *device, const struct device_kernel *kernel, uint64_t *address)
{
	struct children_pool *pool = pool_of(device);
	struct children *c = pool ? calloc(1, sizeof *c) : NULL;
	if (!c)
		return NULL;
	c->device = device;
	c->module = amd_kernel_module(kernel);
	c->owner = amd_kernel_owner(kernel);
	c->record = record_take(pool, c->owner);
	if (!c->record) {
		free(c);
		return NULL;
	}
	*address = (uintptr_t)c->record->shared;
	return c;
}

void amd_children_cancel(struct children *c)
{
	record_give(c->device->children, c->record);
	release(c);
}

static void gate(void *argument)
{
	struct children *c = argument;
	struct children_pool *pool = c->device->children;
	pthread_mutex_lock(&pool->lock);
	while (c->gated)
		pthread_cond_wait(&pool->changed, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	release(c);
}

int amd_children_follow(struct children *c, struct device_queue *queue, bool gated)
{
	struct children_pool *pool = c->device->children;
	int status = amd_queue_mark(queue, &c->ticket);
	c->queue = queue;
	c->gated = gated;
	pthread_mutex_lock(&pool->lock);
	if (!status && !pool->started) {
		pool->stopping = false;
		pool->started = !pthread_create(&pool->thread, NULL, look_after, pool);
		status = pool->started ? STATUS_SUCCESS : STATUS_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&pool->lock);
	if (!status && gated)
		status = amd_queue_host_function(queue, gate, c);
	if (status) {
		c->gated = false;
		uint64_t last;
		amd_queue_ticket(queue, &last);
		amd_queue_synchronize(queue, last); /* the grid writes into the record */
		amd_children_cancel(c);
		return status;
	}
	pthread_mutex_lock(&pool->lock);
	c->next = pool->added;
	pool->added = c;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return STATUS_SUCCESS;
}

void amd_children_stop(struct device *device)
{
	struct children_pool *pool = device->children;
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	bool started = pool->started;
	pool->started = false;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	if (started)
		pthread_join(pool->thread, NULL);
	amd_enter(device);
	while (pool->records) {
		struct record *record = pool->records;
		pool->records = record->next;
		HIP_CALL(hipHostFree, record->shared);
		free(record);
	}
	if (pool->errors)
		HIP_CALL(hipHostFree, pool->errors);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
	device->children = NULL;
}
