/* Streams on an AMD GPU: a queue is a HIP stream, a ticket the number of commands that it was given. How far it is, HIP says by events: a
 * *mark* is an event recorded behind a ticket. Most tickets are never asked for, so marks are made when somebody asks, behind whatever
 * the queue has by then; for what will be waited for from elsewhere the driver asks for one at its very place (queue_mark).
 *
 * Times are measured from a point that is over (device->reference), which moves along: HIP says distances as floats. */
#define _GNU_SOURCE
#include "backend/amd/amd.h"

#include <stdlib.h>
#include <time.h>

struct mark {
	struct mark *next;
	uint64_t ticket;
	hip_event event;
	uint64_t *when_ns;  /* where the time of it goes; NULL: nowhere */
	uint32_t uses;      /* the list's and those of threads that wait */
	bool timed;
};

struct device_queue {
	struct device *device;
	hip_stream stream;
	pthread_mutex_t lock; /* the following */
	uint64_t submitted;
	_Atomic uint64_t done;
	_Atomic uint64_t printed; /* ticket of the last launch that prints */
	struct mark *first, *last; /* by ticket */
	void *workspace;      /* device memory: the grid barrier of cooperative launches that the program's own code does */
	void *clusters;       /* device memory: struct amd_clusters and shared memory of the last launch in clusters */
	uint64_t cluster_bytes; /* of it */
	struct device_queue *next; /* device->queues */
};

/* As the device runtime's library has it: size, barrier, then room. */
enum { WORKSPACE = 64 };

/* ---- marks ------------------------------------------------------------------------------------------- */

/* Where there are no more devices, nothing is waited for. */
static void give_up_locked(struct device_queue *queue, int status)
{
	if (amd_is_sticky(status))
		amd_device_fail(queue->device, status);
	atomic_store(&queue->done, queue->submitted);
}

static void mark_drop_locked(struct device_queue *queue, struct mark *mark)
{
	if (--mark->uses)
		return;
	amd_event_give(queue->device, mark->event, mark->timed);
	free(mark);
}

/* When a timed event that is over was reached. */
static uint64_t time_of(struct device *device, hip_event event)
{
	float ms = 0;
	pthread_mutex_lock(&device->lock);
	int error = device->reference ? HIP_CALL(hipEventElapsedTime, &ms, device->reference, event) : HIP_UNKNOWN;
	uint64_t when = error ? clock_ns() : device->reference_ns + (uint64_t)(int64_t)((double)ms * 1e6);
	pthread_mutex_unlock(&device->lock);
	return when;
}

/* The reference follows, so that distances stay short and floats of them exact enough. The event that it was comes back. */
static hip_event move_reference(struct device *device, hip_event event, uint64_t when)
{
	hip_event old = event;
	pthread_mutex_lock(&device->lock);
	if (device->reference && when > device->reference_ns) {
		old = device->reference;
		device->reference = event;
		device->reference_ns = when;
	}
	pthread_mutex_unlock(&device->lock);
	return old;
}

static void mark_reached_locked(struct device_queue *queue, struct mark *mark)
{
	if (mark->when_ns) {
		*mark->when_ns = time_of(queue->device, mark->event);
		if (mark->uses == 1) /* nobody waits for this very event */
			mark->event = move_reference(queue->device, mark->event, *mark->when_ns);
	}
	if (mark->ticket > atomic_load(&queue->done))
		atomic_store(&queue->done, mark->ticket);
}

/* Takes out the marks that are reached. */
static void retire_locked(struct device_queue *queue)
{
	struct mark *mark;
	while ((mark = queue->first)) {
		if (atomic_load(&queue->done) < mark->ticket || mark->when_ns) {
			int error = HIP_CALL(hipEventQuery, mark->event);
			if (error == HIP_NOT_READY)
				return;
			if (error)
				give_up_locked(queue, amd_status(error));
		}
		queue->first = mark->next;
		if (!mark->next)
			queue->last = NULL;
		mark_reached_locked(queue, mark);
		mark_drop_locked(queue, mark);
	}
}

/* A mark behind all that was submitted. NULL and a status where HIP does not make one. */
static struct mark *mark_here_locked(struct device_queue *queue, bool timed, int *status)
{
	struct mark *mark = queue->last;
	*status = STATUS_SUCCESS;
	if (mark && mark->ticket == queue->submitted && !timed)
		return mark;
	mark = calloc(1, sizeof *mark);
	hip_event event = mark ? amd_event_take(queue->device, timed) : NULL;
	int error = event ? HIP_CALL(hipEventRecord, event, queue->stream) : HIP_OUT_OF_MEMORY;
	if (error) {
		*status = amd_failed(error, "hipEventRecord");
		if (event)
			amd_event_give(queue->device, event, timed);
		free(mark);
		return NULL;
	}
	*mark = (struct mark){ .ticket = queue->submitted, .event = event, .uses = 1, .timed = timed };
	if (queue->last)
		queue->last->next = mark;
	else
		queue->first = mark;
	queue->last = mark;
	return mark;
}

/* The first mark that is not before the ticket; NULL: there is none. */
static struct mark *mark_for_locked(const struct device_queue *queue, uint64_t ticket)
{
	for (struct mark *m = queue->first; m; m = m->next)
		if (m->ticket >= ticket)
			return m;
	return NULL;
}

/* ---- life -------------------------------------------------------------------------------------------- */

static int stream_create(int priority, hip_stream *stream)
{
	const struct hip *hip = amd_hip();
	int least = 0, greatest = 0;
	/* CUDA's priorities, 0 to -5, on what HIP has, which is narrower. */
	if (priority && hip->hipStreamCreateWithPriority && hip->hipDeviceGetStreamPriorityRange &&
	    !hip->hipDeviceGetStreamPriorityRange(&least, &greatest))
		return hip->hipStreamCreateWithPriority(stream, HIP_STREAM_NON_BLOCKING, priority < greatest ? greatest : priority);
	return HIP_CALL(hipStreamCreateWithFlags, stream, HIP_STREAM_NON_BLOCKING);
}

int amd_queue_create(struct device *device, int priority, struct device_queue **out)
{
	int status = amd_enter(device);
	struct device_queue *queue = calloc(1, sizeof *queue);
	if (!queue || status) {
		free(queue);
		return status ? status : STATUS_OUT_OF_MEMORY;
	}
	status = amd_failed(stream_create(priority, &queue->stream), "hipStreamCreate");
	if (status) {
		free(queue);
		return status;
	}
	queue->device = device;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_mutex_lock(&device->lock);
	queue->next = device->queues;
	device->queues = queue;
	pthread_mutex_unlock(&device->lock);
	*out = queue;
	return STATUS_SUCCESS;
}

struct device_queue *amd_queue_next(struct device_queue *queue)
{
	return queue->next;
}

bool amd_queue_is_idle(struct device_queue *queue, int *error)
{
	*error = HIP_CALL(hipStreamQuery, queue->stream);
	return *error != HIP_NOT_READY;
}

bool amd_queue_printed_all(struct device_queue *queue)
{
	return atomic_load(&queue->done) >= atomic_load(&queue->printed);
}

void amd_queue_destroy(struct device_queue *queue)
{
	struct device *device = queue->device;
	uint64_t last;
	amd_enter(device);
	amd_queue_ticket(queue, &last);
	amd_queue_synchronize(queue, last);
	pthread_mutex_lock(&device->lock);
	struct device_queue **at = &device->queues;
	while (*at != queue)
		at = &(*at)->next;
	*at = queue->next;
	pthread_mutex_unlock(&device->lock);
	while (queue->first) { /* where HIP failed */
		struct mark *mark = queue->first;
		queue->first = mark->next;
		mark_drop_locked(queue, mark);
	}
	HIP_CALL(hipStreamDestroy, queue->stream);
	if (queue->workspace)
		HIP_CALL(hipFree, queue->workspace);
	if (queue->clusters)
		HIP_CALL(hipFree, queue->clusters);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

/* ---- launches ----------------------------------------------------------------------------------------- */

/* The device's, also where a kernel has just ended itself and nobody has waited for it. */
static int status_now(struct device *device)
{
	if (!amd_device_status(device) && amd_service_has_trap(device->service))
		amd_service_collect(device->service);
	return amd_device_status(device);
}

static int check_launch(const struct device_kernel *kernel, const struct launch_config *config, const struct kernel_info *info)
{
	uint64_t threads = (uint64_t)config->block[0] * config->block[1] * config->block[2];
	uint64_t shared = align_up(info->shared_bytes, 16) + align_up(config->dynamic_shared, (size_t)16);
	const char *name = amd_kernel_name(kernel);
	if (!threads || threads > 1024 || (info->max_threads && threads > info->max_threads) || !config->grid[0] || !config->grid[1] ||
	    !config->grid[2])
		return STATUS_INVALID_VALUE;
	if (shared > AMD_SHARED_MAX) {
		log_error("kernel %s: %llu bytes of shared memory; a block of an AMD GPU has %d", name, (unsigned long long)shared, AMD_SHARED_MAX);
		return STATUS_INVALID_VALUE;
	}
	if (info->flags & KERNEL_PADDED && threads > AMD_PADDED_THREADS_MAX) {
		log_error("kernel %s: blocks of %llu threads; with waves of 64 this kernel has %d at most", name, (unsigned long long)threads,
			  AMD_PADDED_THREADS_MAX);
		return STATUS_LAUNCH_OUT_OF_RESOURCES;
	}
	for (int i = 0; i < 3; i++)
		if ((uint64_t)config->grid[i] * (info->flags & KERNEL_PADDED ? 2048 : config->block[i]) > UINT32_MAX) {
			log_error("kernel %s: %u blocks of %u threads in one dimension; HIP has 2^32 threads there at most", name,
				  config->grid[i], config->block[i]);
			return STATUS_INVALID_VALUE;
		}
	return STATUS_SUCCESS;
}

/* The grid barrier's words, zero at first; each barrier leaves them so that the next one works. */
static int need_workspace_locked(struct device_queue *queue)
{
	static const uint64_t zeros[WORKSPACE / 8];
	if (queue->workspace)
		return STATUS_SUCCESS;
	int error = HIP_CALL(hipMalloc, &queue->workspace, WORKSPACE);
	if (!error)
		error = HIP_CALL(hipMemcpy, queue->workspace, zeros, WORKSPACE, HIP_COPY_DEFAULT);
	return amd_failed(error, "memory for a grid's barrier");
}

/* ---- clusters ------------------------------------------------------------------------------------------ */

/* Where the clusters of a launch have their shared memory. */
struct cluster_places {
	uint32_t count, shift;
	uint64_t control_bytes; /* struct amd_clusters; the shared memory is behind it */
};

/* As many places as there can be clusters at once, for it is of no use to have more; and not too much memory. */
static int count_places(const struct device_queue *queue, const struct device_kernel *kernel, const struct launch_config *config,
			const struct amd_variant *variant, uint32_t threads, struct cluster_places *places)
{
	const uint64_t most_bytes = UINT64_C(256) << 20;
	uint64_t blocks = amd_cluster_blocks(config), clusters = (uint64_t)config->grid[0] * config->grid[1] * config->grid[2] / blocks;
	uint64_t shared = align_up(variant->common.info.shared_bytes, 16) + config->dynamic_shared;
	int at_once = 1;
	if (amd_hip()->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor &&
	    amd_hip()->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, variant->function, (int)threads, 0))
		at_once = 1;
	uint64_t resident = (uint64_t)at_once * (uint64_t)queue->device->multiprocessors;
	if (resident < blocks) {
		log_error("kernel %s: clusters of %llu blocks of %u threads; this GPU has room for %llu such blocks at once", amd_kernel_name(kernel),
			  (unsigned long long)blocks, threads, (unsigned long long)resident);
		return STATUS_INVALID_CLUSTER_SIZE;
	}
	for (places->shift = 8; UINT64_C(1) << places->shift < shared;)
		places->shift++;
	uint64_t count = resident / blocks, most = most_bytes / (blocks << places->shift);
	count = count < most ? count : most;
	count = count < clusters ? count : clusters;
	places->count = count ? (uint32_t)count : 1;
	places->control_bytes = align_up(sizeof(struct amd_clusters) + places->count * sizeof(struct amd_cluster), 256);
	return STATUS_SUCCESS;
}

/* Their memory, which launches of a queue have one after the other, its control words zero when this one begins. */
static int need_clusters_locked(struct device_queue *queue, const struct launch_config *config, const struct cluster_places *places)
{
	uint64_t bytes = places->control_bytes + (amd_cluster_blocks(config) * places->count << places->shift);
	if (bytes > queue->cluster_bytes) {
		if (queue->clusters)
			amd_release(queue->device, queue->clusters);
		queue->clusters = NULL;
		queue->cluster_bytes = 0;
		/* Not amd_allocate(), which may wait for what waits for the lock. */
		int error = HIP_CALL(hipMalloc, &queue->clusters, bytes);
		if (error) {
			queue->clusters = NULL;
			return amd_failed(error, "%llu bytes for the shared memory of clusters", (unsigned long long)bytes);
		}
		queue->cluster_bytes = bytes;
	}
	return amd_failed(HIP_CALL(hipMemsetD8Async, queue->clusters, 0, places->control_bytes, queue->stream), "hipMemsetD8Async");
}

static void describe_clusters(struct amd_launch *launch, const struct device_queue *queue, const struct launch_config *config,
			      const struct cluster_places *places)
{
	for (int i = 0; i < 3; i++)
		launch->cluster[i] = config->cluster[i] ? config->cluster[i] : 1;
	if (!places->count)
		return;
	launch->clusters = (uintptr_t)queue->clusters;
	launch->cluster_shared = launch->clusters + places->control_bytes;
	launch->cluster_slots = places->count;
	launch->cluster_shift = places->shift;
}

/* ---- one launch ---------------------------------------------------------------------------------------- */

/* The kernel's arguments: parameters, then what abi.h says. */
static void fill_arguments(uint8_t *block, struct device_queue *queue, const struct device_kernel *kernel, const struct launch_config *config,
			   const struct amd_variant *variant, size_t at, uint64_t children, const struct cluster_places *places)
{
	struct device *device = queue->device;
	const struct kernel_info *info = &variant->common.info;
	struct amd_launch launch = {
		.dynamic_shared = config->dynamic_shared,
		.static_shared = info->shared_bytes,
		.sm_count = (uint32_t)device->multiprocessors,
		.grid_id = atomic_fetch_add(&device->grids, 1) + 1,
		.symbols = (uintptr_t)variant->symbols,
		.service = amd_service_use(device->service, kernel, info->flags),
		.children = children,
		.stopped = amd_service_stopped(device->service),
	};
	memcpy(launch.grid, config->grid, sizeof launch.grid);
	memcpy(launch.block, config->block, sizeof launch.block);
	describe_clusters(&launch, queue, config, places);
	if (config->cooperative) {
		launch.envreg[1] = (uint32_t)((uintptr_t)queue->workspace >> 32);
		launch.envreg[2] = (uint32_t)(uintptr_t)queue->workspace;
	}
	size_t given = config->parameter_bytes < at ? config->parameter_bytes : at;
	if (given)
		memcpy(block, config->parameters, given);
	memset(block + given, 0, at - given);
	memcpy(block + at, &launch, sizeof launch);
}

/* All blocks of a cooperative launch must be there at once: HIP sees to it, or we count where its entry is missing. */
static int submit_cooperative(struct device_queue *queue, const struct amd_variant *variant, const uint32_t grid[3], const uint32_t block[3],
			      uint32_t shared, void *arguments, void **extra)
{
	const struct hip *hip = amd_hip();
	int most = 0;
	if (hip->hipModuleLaunchCooperativeKernel)
		return hip->hipModuleLaunchCooperativeKernel(variant->function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
							     queue->stream, &arguments);
	int error = HIP_CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, &most, variant->function, (int)(block[0] * block[1] * block[2]),
			     shared);
	if (!error && (uint64_t)grid[0] * grid[1] * grid[2] > (uint64_t)most * (uint64_t)queue->device->multiprocessors)
		error = HIP_COOPERATIVE_TOO_LARGE;
	return error ? error :
		       HIP_CALL(hipModuleLaunchKernel, variant->function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
				queue->stream, NULL, extra);
}

static int submit_launch_locked(struct device_queue *queue, const struct device_kernel *kernel, const struct launch_config *config,
				const struct amd_variant *variant, uint8_t *arguments, size_t at, uint64_t children)
{
	const struct kernel_info *info = &variant->common.info;
	size_t size = at + sizeof(struct amd_launch);
	void *extra[] = { HIP_LAUNCH_BUFFER, arguments, HIP_LAUNCH_SIZE, &size, HIP_LAUNCH_END };
	uint32_t block[3] = { config->block[0], config->block[1], config->block[2] };
	struct cluster_places places = { 0 };
	int error, status = config->cooperative ? need_workspace_locked(queue) : STATUS_SUCCESS;
	if (info->flags & KERNEL_PADDED) {
		block[0] = amd_padded_threads(block[0] * block[1] * block[2]);
		block[1] = block[2] = 1;
	}
	bool in_clusters = amd_cluster_blocks(config) > 1;
	if (!status && in_clusters)
		status = count_places(queue, kernel, config, variant, block[0] * block[1] * block[2], &places);
	if (!status && in_clusters)
		status = need_clusters_locked(queue, config, &places);
	if (status)
		return status;
	fill_arguments(arguments, queue, kernel, config, variant, at, children, &places);
	/* What the device library keeps lies behind the dynamic part, from a multiple of 16 on. */
	uint32_t dynamic = in_clusters ? 0 : (uint32_t)align_up(config->dynamic_shared, 16);
	if (config->cooperative)
		error = submit_cooperative(queue, variant, config->grid, block, dynamic, arguments, extra);
	else
		error = HIP_CALL(hipModuleLaunchKernel, variant->function, config->grid[0], config->grid[1], config->grid[2], block[0], block[1],
				 block[2], dynamic, queue->stream, NULL, extra);
	if (error == HIP_COOPERATIVE_TOO_LARGE)
		return STATUS_COOPERATIVE_TOO_LARGE;
	status = amd_failed(error, "launching kernel %s", amd_kernel_name(kernel));
	if (!status) {
		queue->submitted++;
		if (info->flags & KERNEL_PRINTS)
			atomic_store(&queue->printed, queue->submitted);
	}
	return status;
}

/* A kernel that may launch others is followed by what waits for them; from the thread that looks after them that is up to it. */
static int launch(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config, struct children **child)
{
	enum { SMALL = 1024 };
	const struct amd_variant *variant;
	_Alignas(16) uint8_t small[SMALL];
	int status = status_now(queue->device);
	if (!status)
		status = amd_enter(queue->device);
	if (!status)
		status = amd_kernel_variant(kernel, config, &variant);
	if (!status)
		status = check_launch(kernel, config, &variant->common.info);
	if (status)
		return status;
	size_t at = amd_launch_offset(variant->common.info.parameter_bytes), size = at + sizeof(struct amd_launch);
	uint8_t *arguments = size <= SMALL ? small : malloc(size);
	uint64_t children_address = 0;
	bool launches = variant->common.info.flags & KERNEL_LAUNCHES;
	struct children *children = launches && arguments ? amd_children_begin(queue->device, kernel, &children_address) : NULL;
	if (!arguments || (launches && !children)) {
		if (arguments != small)
			free(arguments);
		return STATUS_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&queue->lock);
	status = submit_launch_locked(queue, kernel, config, variant, arguments, at, children_address);
	if (amd_is_sticky(status))
		give_up_locked(queue, status);
	pthread_mutex_unlock(&queue->lock);
	if (arguments != small)
		free(arguments);
	if (children && status) {
		amd_children_cancel(children);
	} else if (children) {
		status = amd_children_follow(children, queue, !child);
		if (child && !status)
			*child = children;
	}
	return status;
}

int amd_queue_launch(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config)
{
	return launch(queue, kernel, config, NULL);
}

int amd_queue_launch_child(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config, struct children **child)
{
	return launch(queue, kernel, config, child);
}

/* ---- copies and fills ------------------------------------------------------------------------------------ */

/* Before and after a command. HIP is not called under the lock: a copy of memory that is not pinned waits for the stream, which may wait for a
 * thread that needs the lock. A command counts once HIP has it, so that a mark is never before what its ticket says. */
static int begin(struct device_queue *queue)
{
	int status = status_now(queue->device);
	return status ? status : amd_enter(queue->device);
}

static int end(struct device_queue *queue, int error, const char *what)
{
	int status = amd_failed(error, "%s", what);
	pthread_mutex_lock(&queue->lock);
	queue->submitted += !status;
	if (amd_is_sticky(status))
		give_up_locked(queue, status);
	pthread_mutex_unlock(&queue->lock);
	return status;
}

static int copy_row(struct device_queue *queue, uint8_t *to, const uint8_t *from, uint64_t size)
{
	int error = HIP_SUCCESS;
	while (size && !error) {
		uint64_t bytes = amd_bytes_together(to, amd_bytes_together(from, size));
		error = HIP_CALL(hipMemcpyAsync, to, from, bytes, HIP_COPY_DEFAULT, queue->stream);
		to += bytes;
		from += bytes;
		size -= bytes;
	}
	return error;
}

int amd_queue_copy(struct device_queue *queue, void *to, const void *from, uint64_t size)
{
	int status = begin(queue);
	return status ? status : end(queue, copy_row(queue, to, from, size), "hipMemcpyAsync");
}

/* Do rows that far apart lie within one mapping? */
static bool are_together(const void *first, uint64_t pitch, uint64_t width, uint64_t height)
{
	uint64_t bytes = (height - 1) * pitch + width;
	return amd_bytes_together(first, bytes) == bytes;
}

static int copy_slice(struct device_queue *queue, uint8_t *to, uint64_t to_pitch, const uint8_t *from, uint64_t from_pitch, uint64_t width,
		      uint64_t height)
{
	int error = HIP_SUCCESS;
	if (are_together(to, to_pitch, width, height) && are_together(from, from_pitch, width, height))
		return HIP_CALL(hipMemcpy2DAsync, to, to_pitch, from, from_pitch, width, height, HIP_COPY_DEFAULT, queue->stream);
	for (uint64_t y = 0; y < height && !error; y++)
		error = copy_row(queue, to + y * to_pitch, from + y * from_pitch, width);
	return error;
}

int amd_queue_copy_2d(struct device_queue *queue, void *to, uint64_t to_pitch, uint64_t to_slice, const void *from, uint64_t from_pitch,
		      uint64_t from_slice, uint64_t width, uint64_t height, uint64_t depth)
{
	int error = HIP_SUCCESS, status = begin(queue);
	if (status)
		return status;
	if (height == 1) { /* slices of one row: rows */
		height = depth;
		depth = 1;
		to_pitch = to_slice;
		from_pitch = from_slice;
	}
	/* A lone row has no pitch to speak of; HIP wants one that is no less than the width. */
	to_pitch = height == 1 ? width : to_pitch;
	from_pitch = height == 1 ? width : from_pitch;
	for (uint64_t z = 0; z < depth && width && height && !error; z++)
		error = copy_slice(queue, (uint8_t *)to + z * to_slice, to_pitch, (const uint8_t *)from + z * from_slice, from_pitch, width, height);
	return end(queue, error, "hipMemcpy2DAsync");
}

static int fill_some(struct device_queue *queue, uint8_t *to, uint32_t value, unsigned element, uint64_t count)
{
	if (element == 1)
		return HIP_CALL(hipMemsetD8Async, to, (unsigned char)value, count, queue->stream);
	if (element == 2)
		return HIP_CALL(hipMemsetD16Async, to, (unsigned short)value, count, queue->stream);
	return HIP_CALL(hipMemsetD32Async, to, (int)value, count, queue->stream);
}

static int fill_row(struct device_queue *queue, uint8_t *to, uint32_t value, unsigned element, uint64_t count)
{
	int error = HIP_SUCCESS;
	while (count && !error) { /* mappings are multiples of VIRTUAL_UNIT, and so of elements */
		uint64_t some = amd_bytes_together(to, count * element) / element;
		some = some ? some : 1;
		error = fill_some(queue, to, value, element, some);
		to += some * element;
		count -= some;
	}
	return error;
}

int amd_queue_fill(struct device_queue *queue, void *to, uint64_t pitch, uint32_t value, unsigned element, uint64_t width, uint64_t height)
{
	int error = HIP_SUCCESS, status = begin(queue);
	if (status)
		return status;
	if (height > 1 && pitch == width * element) {
		width *= height;
		height = 1;
	}
	/* Bytes that are all alike are a fill of bytes, whatever the element. */
	if ((element == 4 && value == (value & 0xff) * 0x01010101u) || (element == 2 && (value & 0xffff) == (value & 0xff) * 0x0101u)) {
		width *= element;
		element = 1;
	}
	if (element == 1 && height > 1 && width && are_together(to, pitch, width, height)) {
		error = HIP_CALL(hipMemset2DAsync, to, pitch, (int)(value & 0xff), width, height, queue->stream);
	} else {
		for (uint64_t y = 0; y < height && width && !error; y++)
			error = fill_row(queue, (uint8_t *)to + y * pitch, value, element, width);
	}
	return end(queue, error, "hipMemsetAsync");
}

/* ---- host functions ---------------------------------------------------------------------------------------- */

struct callback {
	void (*function)(void *);
	void *argument;
};

static void call_back(hip_stream stream, int status, void *argument)
{
	struct callback callback = *(struct callback *)argument;
	(void)stream, (void)status;
	free(argument);
	callback.function(callback.argument);
}

int amd_queue_host_function(struct device_queue *queue, void (*function)(void *), void *argument)
{
	int status = begin(queue);
	if (status)
		return status;
	if (amd_hip()->hipLaunchHostFunc)
		return end(queue, amd_hip()->hipLaunchHostFunc(queue->stream, function, argument), "hipLaunchHostFunc");
	struct callback *callback = malloc(sizeof *callback);
	if (!callback)
		return end(queue, HIP_OUT_OF_MEMORY, "a host function");
	*callback = (struct callback){ function, argument };
	int error = HIP_CALL(hipStreamAddCallback, queue->stream, call_back, callback, 0);
	if (error)
		free(callback);
	return end(queue, error, "hipStreamAddCallback");
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* Where HIP has no such wait, or none for this memory: a thread of the host reads the word again and again, and a host function holds the
 * stream up until the thread has seen it. */
struct watch {
	struct device *device;
	const void *address;
	uint64_t value;
	unsigned bytes, flags;
	pthread_mutex_t lock; /* the following */
	pthread_cond_t changed;
	bool seen;
	unsigned uses; /* the thread's and the host function's */
};

static void watch_drop_locked(struct watch *w)
{
	bool last = !--w->uses;
	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Ends where the memory can no longer be read too: whoever waits then hears of that elsewhere. */
static void *watch_value(void *argument)
{
	const struct timespec pause = { 0, 50000 };
	struct watch *w = argument;
	uint64_t have = 0;
	int error = amd_enter(w->device);
	while (!error) {
		error = HIP_CALL(hipMemcpy, &have, w->address, w->bytes, HIP_COPY_DEFAULT);
		if (!error && device_value_has_come(have, w->value, w->bytes, w->flags))
			break;
		nanosleep(&pause, NULL);
	}
	pthread_mutex_lock(&w->lock);
	w->seen = true;
	pthread_cond_broadcast(&w->changed);
	watch_drop_locked(w);
	return NULL;
}

static void hold_until_seen(void *argument)
{
	struct watch *w = argument;
	pthread_mutex_lock(&w->lock);
	while (!w->seen)
		pthread_cond_wait(&w->changed, &w->lock);
	watch_drop_locked(w);
}

static int wait_by_host(struct device_queue *queue, const void *address, uint64_t value, unsigned bytes, unsigned flags)
{
	struct watch *w = calloc(1, sizeof *w);
	pthread_t thread;
	if (!w)
		return STATUS_OUT_OF_MEMORY;
	*w = (struct watch){ .device = queue->device, .address = address, .value = value, .bytes = bytes, .flags = flags, .uses = 2 };
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	if (pthread_create(&thread, NULL, watch_value, w)) {
		w->uses = 1;
		pthread_mutex_lock(&w->lock);
		watch_drop_locked(w);
		return STATUS_OUT_OF_MEMORY;
	}
	pthread_detach(thread);
	int status = amd_queue_host_function(queue, hold_until_seen, w);
	if (status) {
		pthread_mutex_lock(&w->lock);
		watch_drop_locked(w);
	}
	return status;
}

/* The flags are HIP's too, but for a flush, which it does not need; "no less" is cyclic for CUDA only. */
int amd_queue_wait_value(struct device_queue *queue, void *address, uint64_t value, unsigned bytes, unsigned flags)
{
	const struct hip *hip = amd_hip();
	int error = HIP_NOT_SUPPORTED, status = begin(queue);
	if (status)
		return status;
	if (bytes == 4 && hip->hipStreamWaitValue32)
		error = hip->hipStreamWaitValue32(queue->stream, address, (uint32_t)value, flags & 3, UINT32_MAX);
	else if (bytes == 8 && hip->hipStreamWaitValue64)
		error = hip->hipStreamWaitValue64(queue->stream, address, value, flags & 3, UINT64_MAX);
	if (error == HIP_NOT_SUPPORTED || error == HIP_INVALID_VALUE) /* some releases have it for memory of a kind of its own */
		return wait_by_host(queue, address, value, bytes, flags);
	return end(queue, error, "hipStreamWaitValue");
}

/* ---- tickets ------------------------------------------------------------------------------------------------- */

int amd_queue_ticket(struct device_queue *queue, uint64_t *ticket)
{
	pthread_mutex_lock(&queue->lock);
	*ticket = queue->submitted;
	pthread_mutex_unlock(&queue->lock);
	return STATUS_SUCCESS;
}

int amd_queue_mark(struct device_queue *queue, uint64_t *ticket)
{
	int status = amd_enter(queue->device);
	if (status)
		return status;
	pthread_mutex_lock(&queue->lock);
	*ticket = queue->submitted;
	if (atomic_load(&queue->done) < queue->submitted)
		mark_here_locked(queue, false, &status);
	pthread_mutex_unlock(&queue->lock);
	return status;
}

/* Events say that they were reached, streams whether what came before them failed. */
static int check_stream_locked(struct device_queue *queue)
{
	int error = HIP_CALL(hipStreamQuery, queue->stream);
	int status = error == HIP_NOT_READY ? STATUS_SUCCESS : amd_failed(error, "a stream's work");
	if (status)
		give_up_locked(queue, status);
	return status;
}

/* Is it over? Asks HIP. */
static bool poll_locked(struct device_queue *queue, uint64_t ticket)
{
	int status;
	retire_locked(queue);
	if (atomic_load(&queue->done) >= ticket) {
		check_stream_locked(queue);
		return true;
	}
	if (mark_for_locked(queue, ticket))
		return false;
	int error = HIP_CALL(hipStreamQuery, queue->stream);
	if (error == HIP_NOT_READY) {
		/* so that a queue that never empties is seen to get there */
		if (ticket < queue->submitted)
			mark_here_locked(queue, false, &status);
		return false;
	}
	if (error)
		give_up_locked(queue, amd_failed(error, "a stream's work"));
	atomic_store(&queue->done, queue->submitted);
	retire_locked(queue);
	return true;
}

bool amd_queue_done(struct device_queue *queue, uint64_t ticket)
{
	if (atomic_load_explicit(&queue->done, memory_order_acquire) >= ticket)
		return true;
	if (amd_enter(queue->device))
		return true;
	pthread_mutex_lock(&queue->lock);
	bool done = poll_locked(queue, ticket);
	pthread_mutex_unlock(&queue->lock);
	if (done)
		amd_service_collect(queue->device->service);
	return done;
}

int amd_queue_wait(struct device_queue *queue, struct device_queue *other, uint64_t ticket)
{
	int status = STATUS_SUCCESS;
	if (queue == other || amd_queue_done(other, ticket))
		return STATUS_SUCCESS; /* in order anyway, or there already */
	pthread_mutex_lock(&other->lock);
	struct mark *mark = mark_for_locked(other, ticket);
	if (!mark && !amd_enter(other->device))
		mark = mark_here_locked(other, false, &status);
	if (mark)
		mark->uses++;
	pthread_mutex_unlock(&other->lock);
	if (!mark)
		return status ? status : STATUS_UNKNOWN;
	status = begin(queue);
	if (!status)
		status = end(queue, HIP_CALL(hipStreamWaitEvent, queue->stream, mark->event, 0), "hipStreamWaitEvent");
	pthread_mutex_lock(&other->lock);
	mark_drop_locked(other, mark);
	pthread_mutex_unlock(&other->lock);
	return status;
}

static void reached_locked(struct device_queue *queue, uint64_t ticket)
{
	if (atomic_load(&queue->done) < ticket)
		atomic_store(&queue->done, ticket);
}

static int wait_for_mark(struct device_queue *queue, struct mark *mark)
{
	int error = HIP_CALL(hipEventSynchronize, mark->event), status;
	pthread_mutex_lock(&queue->lock);
	status = error ? amd_failed(error, "a stream's work") : check_stream_locked(queue);
	if (error)
		give_up_locked(queue, status);
	reached_locked(queue, mark->ticket);
	mark_drop_locked(queue, mark);
	retire_locked(queue);
	pthread_mutex_unlock(&queue->lock);
	return status;
}

int amd_queue_synchronize(struct device_queue *queue, uint64_t ticket)
{
	int status = amd_enter(queue->device);
	if (status)
		return status;
	pthread_mutex_lock(&queue->lock);
	retire_locked(queue);
	struct mark *mark = NULL;
	/* Not the stream as a whole: what it is given meanwhile may wait for the caller. */
	if (atomic_load(&queue->done) < ticket) {
		mark = mark_for_locked(queue, ticket);
		if (!mark)
			mark = mark_here_locked(queue, false, &status);
		if (mark)
			mark->uses++;
		else
			give_up_locked(queue, status);
	}
	pthread_mutex_unlock(&queue->lock);
	if (mark)
		status = wait_for_mark(queue, mark);
	amd_service_collect(queue->device->service);
	int sticky = amd_device_status(queue->device);
	return sticky ? sticky : status;
}

int amd_queue_timestamp(struct device_queue *queue, uint64_t *when_ns)
{
	int status = begin(queue);
	if (status)
		return status;
	pthread_mutex_lock(&queue->lock);
	queue->submitted++;
	struct mark *mark = mark_here_locked(queue, true, &status);
	if (mark)
		mark->when_ns = when_ns;
	else
		queue->submitted--;
	pthread_mutex_unlock(&queue->lock);
	return status;
}
