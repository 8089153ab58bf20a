/* Streams: a queue is a list of commands of which the first one runs (CUDA C Programming Guide, "Asynchronous Concurrent
 * Execution"). Launches, copies and fills are done by the pool in items; waits and timestamps by whoever brings the
 * queue there; host functions by a thread of their own. Whoever finishes the last item of a command advances its queue. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <stdlib.h>

enum {
	ITEMS_A_WORKER = 16,
	DEEP = 1024,               /* launches not done yet: whoever wants to add more helps first, as with CUDA's queues */
	WAIT_SPIN_NS = 50000,      /* for the last items, which others run */
	NOT_WORTH_SHARING_NS = 3000, /* a launch that took no longer the last time is one worker's, or the caller's: sharing it costs more */
	NOT_WORTH_WAKING_NS = 20000, /* the caller's, where all workers sleep: it is over before one is awake */
	BLOCKED_SPIN_NS = 2000     /* for a queue that waits for another or for a host function */
};

/* ---- life ------------------------------------------------------------------------------------ */

int cpu_queue_create(struct device *device, int priority, struct device_queue **out)
{
	struct device_queue *queue = aligned_alloc(64, align_up(sizeof *queue, 64));
	if (!queue)
		return STATUS_OUT_OF_MEMORY;
	memset(queue, 0, sizeof *queue);
	queue->device = device;
	queue->priority = priority;
	queue->slot = NO_SLOT;
	atomic_store(&queue->references, 1);
	*out = queue;
	return STATUS_SUCCESS;
}

void cpu_queue_unref(struct device_queue *queue)
{
	if (atomic_fetch_sub(&queue->references, 1) != 1)
		return;
	struct pool *pool = &queue->device->pool;
	spinlock_lock(&pool->lock);
	while (queue->spare) {
		struct command *command = queue->spare;
		queue->spare = command->next;
		command->next = pool->spare_commands;
		pool->spare_commands = command;
	}
	spinlock_unlock(&pool->lock);
	free(queue);
}

void cpu_queue_destroy(struct device_queue *queue)
{
	if (cpu_pool_gone())
		return;
	cpu_queue_synchronize(queue, queue->submitted);
	cpu_queue_unref(queue);
}

/* ---- commands -------------------------------------------------------------------------------- */

static struct command *command_make(struct device *device)
{
	struct pool *pool = &device->pool;
	spinlock_lock(&pool->lock);
	struct command *command = pool->spare_commands;
	if (command)
		pool->spare_commands = command->next;
	spinlock_unlock(&pool->lock);
	if (command)
		return command;
	command = aligned_alloc(64, align_up(sizeof *command, 64));
	if (!command)
		return NULL;
	memset(command, 0, sizeof *command);
	spinlock_lock(&pool->lock);
	command->next_made = pool->made_commands;
	pool->made_commands = command;
	spinlock_unlock(&pool->lock);
	return command;
}

struct command *cpu_command_take(struct device_queue *queue, enum command_kind kind)
{
	spinlock_lock(&queue->lock);
	struct command *command = queue->spare;
	if (command)
		queue->spare = command->next;
	spinlock_unlock(&queue->lock);
	if (!command)
		command = command_make(queue->device);
	if (!command)
		return NULL;
	command->kind = kind;
	command->queue = queue;
	command->list = NULL;
	command->next = NULL;
	atomic_store_explicit(&command->waits, false, memory_order_relaxed);
	command->items = 1;
	return command;
}

static void launch_fini(struct launch *launch)
{
	if (launch->parameters != launch->small)
		free(launch->parameters);
}

static void command_give_locked(struct device_queue *queue, struct command *command)
{
	if (command->kind == COMMAND_LAUNCH && command->list)
		cpu_list_release(command->list);
	else if (command->kind == COMMAND_LAUNCH)
		launch_fini(&command->own);
	else if (command->kind == COMMAND_WAIT)
		cpu_queue_unref(command->wait.queue);
	command->next = queue->spare;
	queue->spare = command;
}

/* The head is done: the queue's count says so before anybody is told. */
static void pop_locked(struct device_queue *queue)
{
	struct command *command = queue->head;
	queue->head = command->next;
	if (!queue->head)
		queue->tail = NULL;
	atomic_store(&queue->done, command->ticket);
	atomic_store(&queue->done_word, (uint32_t)command->ticket);
	command_give_locked(queue, command);
}

/* Is the other queue there yet? If not, `queue` will be advanced when it is. */
static bool wait_is_over_locked(struct device_queue *queue)
{
	struct device_queue *other = queue->head->wait.queue;
	uint64_t ticket = queue->head->wait.ticket;
	if (atomic_load(&other->done) >= ticket)
		return true;
	struct pool *pool = &queue->device->pool;
	spinlock_lock(&pool->lock);
	struct device_queue *first = atomic_load(&other->dependents);
	queue->next_dependent = first;
	atomic_store(&other->dependents, queue);
	/* It may have got there between; it looks for dependents after it has set `done`. */
	bool over = atomic_load(&other->done) >= ticket;
	if (over)
		atomic_store(&other->dependents, first);
	spinlock_unlock(&pool->lock);
	return over;
}

/* Are all its blocks to take no longer than that, one after the other, as the kernel's blocks did before? */
static bool is_brief(const struct launch *launch, unsigned nanoseconds)
{
	uint64_t each = atomic_load_explicit(&launch->variant->block_time, memory_order_relaxed);
	uint64_t all;
	return each && !launch->concurrent && !__builtin_mul_overflow(each, launch->blocks, &all) && all <= 16 * (uint64_t)nanoseconds;
}

/* The command does the launch next. */
static void command_begin(struct command *command, struct launch *launch, struct device *device)
{
	atomic_store_explicit(&launch->failed, 0, memory_order_relaxed);
	memset(&launch->printed, 0, sizeof launch->printed);
	launch->printed_bytes = 0;
	launch->grid_arrived = launch->grid_exited = 0;
	atomic_store_explicit(&launch->grid_generation, 0, memory_order_relaxed);
	launch->abi.grid_id = atomic_fetch_add_explicit(&device->grids, 1, memory_order_relaxed) + 1;
	if (launch->cooperative) {
		/* The layout that cooperative groups' code expects of its workspace: its size, then the barrier's word. */
		memset(&launch->workspace, 0, sizeof launch->workspace);
		launch->workspace.size = sizeof launch->workspace;
	}
	if (command->list)
		launch->brief = is_brief(launch, NOT_WORTH_SHARING_NS);
	launch->chunk = launch->brief ? launch->blocks : launch->share;
	atomic_store_explicit(&launch->children, NULL, memory_order_relaxed);
	command->launch = launch;
	command->items = (uint32_t)((launch->blocks + launch->chunk - 1) / launch->chunk);
	atomic_store_explicit(&command->waits, launch->concurrent, memory_order_relaxed);
}

/* Sets the head going, past what is done at once; true where workers have something to do (or, with `keep`, the caller). */
static bool start_locked(struct device_queue *queue, bool keep)
{
	while (queue->head) {
		struct command *command = queue->head;
		switch (command->kind) {
		case COMMAND_LAUNCH:
			if (command->list) /* not before: it may have been running for another command of the same list */
				command_begin(command, command->launch, queue->device);
			(keep ? cpu_pool_keep : cpu_pool_publish)(queue->device, queue);
			return true;
		case COMMAND_COPY:
		case COMMAND_FILL:
			cpu_pool_publish(queue->device, queue);
			return true;
		case COMMAND_HOST:
			if (cpu_pool_host_function(queue->device, queue))
				return false;
			cpu_device_fail(queue->device, STATUS_OUT_OF_MEMORY);
			break;
		case COMMAND_WAIT:
			if (!wait_is_over_locked(queue))
				return false;
			break;
		case COMMAND_TIMESTAMP:
			*command->timestamp = clock_ns();
			break;
		}
		pop_locked(queue);
	}
	return false;
}

/* Tells those who wait for this queue how far it is. */
static void queue_signal(struct device_queue *queue)
{
	if (atomic_load(&queue->sleepers))
		cpu_futex_wake(&queue->done_word, INT32_MAX);
	if (!atomic_load(&queue->dependents))
		return;
	struct pool *pool = &queue->device->pool;
	struct device_queue *ready = NULL;
	spinlock_lock(&pool->lock);
	struct device_queue *dependent = atomic_load(&queue->dependents), *left = NULL;
	while (dependent) {
		struct device_queue *next = dependent->next_dependent;
		struct device_queue **list = atomic_load(&queue->done) >= dependent->head->wait.ticket ? &ready : &left;
		dependent->next_dependent = *list;
		*list = dependent;
		dependent = next;
	}
	atomic_store(&queue->dependents, left);
	spinlock_unlock(&pool->lock);
	while (ready) {
		struct device_queue *next = ready->next_dependent;
		cpu_queue_advance(ready);
		ready = next;
	}
}

/* What a grid has left to do when its own blocks are done (dynamic parallelism): its children are waited for, launches into its tail
 * stream follow, then the rest of the list that it was in. NULL: nothing, as nearly always. */
static struct command *follow_up(struct device_queue *queue, struct command *command)
{
	struct device_list *list = command->list;
	struct command *first = NULL, **end = cpu_children_follow_up(queue, command->launch, &first);
	if (!list || command->launch == &list->launches[list->count - 1])
		return first;
	struct command *rest = cpu_command_take(queue, COMMAND_LAUNCH);
	if (!rest) {
		cpu_device_fail(queue->device, STATUS_OUT_OF_MEMORY);
		return first;
	}
	atomic_fetch_add(&list->uses, 1);
	rest->list = list;
	rest->launch = command->launch + 1;
	*end = rest;
	return first;
}

/* Behind the head, and done only with the last of them: that one gets the head's ticket. */
static void put_behind_locked(struct device_queue *queue, struct command *first)
{
	struct command *head = queue->head, *last = first;
	uint64_t done = atomic_load_explicit(&queue->done, memory_order_relaxed);
	for (; last->next; last = last->next)
		last->ticket = done;
	last->ticket = head->ticket;
	head->ticket = done;
	last->next = head->next;
	if (!last->next)
		queue->tail = last;
	head->next = first;
}

static bool for_workers(enum command_kind kind)
{
	return kind == COMMAND_LAUNCH || kind == COMMAND_COPY || kind == COMMAND_FILL;
}

void cpu_queue_advance(struct device_queue *queue)
{
	struct device *device = queue->device;
	/* The driver may destroy the queue as soon as it sees it done. */
	atomic_fetch_add(&queue->references, 1);
	struct command *command = queue->head, *more_to_do = NULL;
	if (command->kind == COMMAND_LAUNCH) {
		cpu_launch_finish(command->launch, device);
		more_to_do = follow_up(queue, command);
	}
	bool was_published = for_workers(command->kind);
	spinlock_lock(&queue->lock);
	if (more_to_do)
		put_behind_locked(queue, more_to_do);
	pop_locked(queue);
	bool more = start_locked(queue, false);
	if (was_published && !more)
		cpu_pool_retire(device, queue);
	spinlock_unlock(&queue->lock);
	queue_signal(queue);
	if (more)
		cpu_pool_wake(device);
	cpu_queue_unref(queue);
}

/* Puts a command at the end of the queue, which owns it from here on. true where start_locked() says so. */
static bool submit(struct device_queue *queue, struct command *command, bool keep, uint64_t *ticket)
{
	bool more = false, first;
	spinlock_lock(&queue->lock);
	*ticket = command->ticket = ++queue->submitted;
	first = !queue->head;
	if (first)
		queue->head = command;
	else
		queue->tail->next = command;
	queue->tail = command;
	if (first)
		more = start_locked(queue, keep);
	spinlock_unlock(&queue->lock);
	if (first && !more)
		queue_signal(queue);
	return more;
}

void cpu_queue_submit(struct device_queue *queue, struct command *command)
{
	uint64_t ticket;
	if (submit(queue, command, false, &ticket))
		cpu_pool_wake(queue->device);
}

/* ---- a host thread that waits helps ------------------------------------------------------------- */

/* A worker to help with; NULL: enough do. */
static struct worker *begin_help(struct device *device)
{
	if (!cpu_pool_help_begin(device))
		return NULL;
	struct worker *worker = cpu_pool_borrow(device);
	if (!worker)
		cpu_pool_help_end(device);
	return worker;
}

static void end_help(struct device *device, struct worker *worker)
{
	cpu_pool_return(device, worker);
	cpu_pool_help_end(device);
}

/* Runs items of the queue until the ticket is reached or nothing was to be had for a while. */
static void help_with(struct device_queue *queue, struct worker *worker, uint64_t ticket)
{
	uint64_t end = 0;
	while (atomic_load_explicit(&queue->done, memory_order_acquire) < ticket) {
		struct command *command = atomic_load_explicit(&queue->current, memory_order_acquire);
		if (command && cpu_pool_run_item(worker, command)) {
			end = 0;
			continue;
		}
		for (int i = 0; i < 16 && atomic_load_explicit(&queue->done, memory_order_acquire) < ticket; i++)
			cpu_relax();
		uint64_t now = clock_ns();
		if (!end)
			end = now + (command ? WAIT_SPIN_NS : BLOCKED_SPIN_NS);
		else if (now > end)
			break;
	}
}

static void help(struct device_queue *queue, uint64_t ticket)
{
	struct worker *worker = begin_help(queue->device);
	if (!worker)
		return;
	help_with(queue, worker, ticket);
	end_help(queue->device, worker);
}

/* What takes no longer than waking a worker is done by the caller, where nothing is before it: no worker looks for it. */
static void submit_brief(struct device_queue *queue, struct command *command)
{
	uint64_t ticket;
	struct worker *worker = begin_help(queue->device);
	if (!worker) {
		cpu_queue_submit(queue, command);
		return;
	}
	if (submit(queue, command, true, &ticket))
		help_with(queue, worker, ticket);
	end_help(queue->device, worker);
}

bool cpu_queue_at_once(struct device_queue *queue, void (*body)(void *), void *argument)
{
	struct worker *worker = cpu_pool_borrow(queue->device);
	if (!worker)
		return false;
	spinlock_lock(&queue->lock);
	bool idle = !queue->head;
	if (idle) {
		if (!cpu_worker_guard(worker, body, argument))
			cpu_fault_report(worker);
		uint64_t ticket = ++queue->submitted;
		atomic_store(&queue->done, ticket);
		atomic_store(&queue->done_word, (uint32_t)ticket);
	}
	spinlock_unlock(&queue->lock);
	cpu_pool_return(queue->device, worker);
	if (idle)
		queue_signal(queue);
	return idle;
}

/* ---- launches -------------------------------------------------------------------------------- */

static int check_shape(const struct launch_config *config, uint64_t *blocks, uint32_t *threads)
{
	uint64_t block = 1, grid = 1;
	for (int i = 0; i < 3; i++) {
		if (!config->grid[i] || !config->block[i] || config->block[i] > MAX_BLOCK_THREADS)
			return STATUS_INVALID_VALUE;
		block *= config->block[i];
		if (__builtin_mul_overflow(grid, config->grid[i], &grid))
			return STATUS_INVALID_VALUE;
	}
	if (block > MAX_BLOCK_THREADS)
		return STATUS_INVALID_VALUE;
	*blocks = grid;
	*threads = (uint32_t)block;
	return STATUS_SUCCESS;
}

static int check_cluster(const struct launch_config *config, uint32_t *blocks)
{
	uint64_t all = 1;
	for (int i = 0; i < 3; i++) {
		if (config->cluster[i] > CLUSTER_BLOCKS || (config->cluster[i] > 1 && config->grid[i] % config->cluster[i]))
			return STATUS_INVALID_CLUSTER_SIZE;
		all *= config->cluster[i] ? config->cluster[i] : 1;
	}
	if (all > CLUSTER_BLOCKS)
		return STATUS_INVALID_CLUSTER_SIZE;
	*blocks = (uint32_t)all;
	return STATUS_SUCCESS;
}

static bool set_parameters(struct launch *launch, const struct launch_config *config, const struct kernel_info *info)
{
	size_t size = config->parameter_bytes > info->parameter_bytes ? config->parameter_bytes : info->parameter_bytes;
	size_t padded = align_up(size ? size : 1, 64);
	launch->parameters = padded <= sizeof launch->small ? launch->small : aligned_alloc(64, padded);
	if (!launch->parameters)
		return false;
	if (config->parameter_bytes)
		memcpy(launch->parameters, config->parameters, config->parameter_bytes);
	memset(launch->parameters + config->parameter_bytes, 0, padded - config->parameter_bytes);
	return true;
}

static void set_abi(struct launch *launch, struct device *device, const struct launch_config *config,
		    struct device_kernel *kernel)
{
	struct cpu_launch *abi = &launch->abi;
	*abi = (struct cpu_launch){
		.parameters = launch->parameters,
		.services = &cpu_services,
		.dynamic_shared = config->dynamic_shared,
		.static_shared = launch->variant->common.info.shared_bytes,
		.sm_count = (uint32_t)device->pool.size,
		.name = cpu_kernel_name(kernel),
		.runtime = device,
	};
	memcpy(abi->grid, config->grid, sizeof abi->grid);
	memcpy(abi->block, config->block, sizeof abi->block);
	for (int i = 0; i < 3; i++)
		abi->cluster[i] = config->cluster[i] ? config->cluster[i] : 1;
	launch->cooperative = config->cooperative;
	if (config->cooperative) {
		abi->envreg[1] = (uint32_t)((uintptr_t)&launch->workspace >> 32);
		abi->envreg[2] = (uint32_t)(uintptr_t)&launch->workspace;
	}
}

/* How large the items are that the grid is cut into, and how many blocks of a concurrent one a worker holds. */
static void set_share(struct launch *launch, const struct device *device, uint32_t threads)
{
	uint64_t blocks = launch->blocks, workers = (uint64_t)device->pool.size;
	uint32_t flags = launch->variant->common.info.flags;
	launch->concurrent = launch->cooperative || launch->cluster_blocks > 1 || (flags & (KERNEL_COOPERATIVE | KERNEL_YIELDS));
	launch->share = launch->concurrent ? 1 : blocks / (workers * ITEMS_A_WORKER);
	if (blocks > UINT32_MAX && launch->share < blocks >> 31)
		launch->share = blocks >> 31;
	if (!launch->share)
		launch->share = 1;
	/* Whole rows of blocks, where these are gone through together. */
	if (flags & KERNEL_ROWS && launch->share > launch->abi.grid[0] && !launch->concurrent)
		launch->share -= launch->share % launch->abi.grid[0];
	launch->share += (launch->cluster_blocks - launch->share % launch->cluster_blocks) % launch->cluster_blocks;
	/* What cooperates must be resident as a whole; what merely spins, as many blocks as the GPU's multiprocessor holds. */
	launch->resident_limit = 2048 / threads > 32 ? 32 : 2048 / threads;
	if (launch->cooperative || (flags & KERNEL_COOPERATIVE))
		launch->resident_limit = UINT32_MAX;
}

/* The code for the launch, if it may be launched so. */
static int find_variant(const struct device *device, struct device_kernel *kernel, const struct launch_config *config, uint32_t threads,
			const struct kernel_variant **variant)
{
	bool small = true;
	for (int i = 0; i < 3; i++)
		small = small && (uint64_t)config->grid[i] * config->block[i] < UINT64_C(1) << 31;
	struct variant_key key = { { config->block[0], config->block[1], config->block[2] }, small, false, false };
	int status = cpu_kernel_variant_get(kernel, key, variant);
	if (status)
		return status;
	const struct kernel_info *info = &(*variant)->common.info;
	if (align_up(info->shared_bytes, 16) + (uint64_t)config->dynamic_shared > device->shared_optin ||
	    (info->max_threads && threads > info->max_threads))
		return STATUS_INVALID_VALUE;
	return STATUS_SUCCESS;
}

/* Everything about a launch that stays the same however often it is done. */
static int launch_init(struct launch *launch, struct device *device, struct device_kernel *kernel, const struct launch_config *config)
{
	uint64_t blocks;
	uint32_t threads, cluster_blocks;
	int status = check_shape(config, &blocks, &threads);
	if (!status)
		status = check_cluster(config, &cluster_blocks);
	if (!status)
		status = find_variant(device, kernel, config, threads, &launch->variant);
	if (status)
		return status;
	launch->kernel = kernel;
	launch->blocks = blocks;
	launch->cluster_blocks = cluster_blocks;
	if (!set_parameters(launch, config, &launch->variant->common.info))
		return STATUS_OUT_OF_MEMORY;
	set_abi(launch, device, config, kernel);
	set_share(launch, device, threads);
	bool awake = atomic_load_explicit(&device->pool.spinning, memory_order_relaxed);
	launch->brief = is_brief(launch, awake ? NOT_WORTH_SHARING_NS : NOT_WORTH_WAKING_NS);
	return STATUS_SUCCESS;
}

bool cpu_launch_next(struct command *command)
{
	struct device_list *list = command->list;
	if (command->kind != COMMAND_LAUNCH || !list || command->launch == &list->launches[list->count - 1])
		return false;
	if (atomic_load_explicit(&command->launch->children, memory_order_relaxed))
		return false; /* they come first: follow_up() */
	cpu_launch_finish(command->launch, list->device);
	command_begin(command, command->launch + 1, list->device);
	return true;
}

/* Before a launch: what it needs of the device, and what the device shows at such times. */
static int launch_enter(struct device_queue *queue)
{
	struct device *device = queue->device;
	int status = cpu_device_status(device);
	if (status)
		return status;
	/* Not a wait: a queue that cannot go on, because what it waits for is still to come from this thread, grows. */
	uint64_t submitted = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
	if (submitted > DEEP && atomic_load_explicit(&queue->done, memory_order_relaxed) < submitted - DEEP)
		help(queue, submitted - DEEP / 2);
	cpu_device_flush_prints(device); /* as the programming guide has it, at the start of a launch too */
	cpu_fault_install();
	return STATUS_SUCCESS;
}

struct command *cpu_command_launch(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config, int *status)
{
	struct command *command = cpu_command_take(queue, COMMAND_LAUNCH);
	*status = STATUS_OUT_OF_MEMORY;
	if (!command)
		return NULL;
	command->own.parameters = command->own.small;
	*status = launch_init(&command->own, queue->device, kernel, config);
	if (*status) {
		spinlock_lock(&queue->lock);
		command_give_locked(queue, command);
		spinlock_unlock(&queue->lock);
		return NULL;
	}
	command_begin(command, &command->own, queue->device);
	return command;
}

int cpu_queue_launch(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config)
{
	int status = launch_enter(queue);
	if (status)
		return status;
	struct command *command = cpu_command_launch(queue, kernel, config, &status);
	if (!command)
		return status;
	if (command->own.brief)
		submit_brief(queue, command);
	else
		cpu_queue_submit(queue, command);
	return STATUS_SUCCESS;
}

int cpu_list_create(struct device *device, const struct device_launch *launches, size_t count, struct device_list **out)
{
	size_t size = align_up(sizeof(struct device_list), 64) + count * sizeof(struct launch);
	if (!count || count > UINT32_MAX)
		return STATUS_INVALID_VALUE;
	struct device_list *list = aligned_alloc(64, align_up(size, 64));
	if (!list)
		return STATUS_OUT_OF_MEMORY;
	memset(list, 0, size);
	atomic_init(&list->uses, 1);
	list->device = device;
	int status = STATUS_SUCCESS;
	for (size_t i = 0; i < count && !status; i++) {
		struct launch *launch = &list->launches[i];
		launch->parameters = launch->small;
		list->count++;
		status = launch_init(launch, device, launches[i].kernel, launches[i].config);
	}
	if (status)
		cpu_list_release(list);
	else
		*out = list;
	return status;
}

void cpu_list_release(struct device_list *list)
{
	if (atomic_fetch_sub(&list->uses, 1) != 1)
		return;
	for (uint32_t i = 0; i < list->count; i++)
		launch_fini(&list->launches[i]);
	free(list);
}

int cpu_queue_launch_list(struct device_queue *queue, struct device_list *list)
{
	int status = launch_enter(queue);
	if (status)
		return status;
	struct command *command = cpu_command_take(queue, COMMAND_LAUNCH);
	if (!command)
		return STATUS_OUT_OF_MEMORY;
	atomic_fetch_add(&list->uses, 1);
	command->list = list;
	command->launch = list->launches;
	cpu_queue_submit(queue, command);
	return STATUS_SUCCESS;
}

/* ---- the rest -------------------------------------------------------------------------------- */

int cpu_queue_host_function(struct device_queue *queue, void (*function)(void *), void *argument)
{
	if (cpu_pool_gone())
		return cpu_pool_gone();
	struct command *command = cpu_command_take(queue, COMMAND_HOST);
	if (!command)
		return STATUS_OUT_OF_MEMORY;
	command->host.function = function;
	command->host.argument = argument;
	cpu_queue_submit(queue, command);
	return STATUS_SUCCESS;
}

int cpu_queue_ticket(struct device_queue *queue, uint64_t *ticket)
{
	spinlock_lock(&queue->lock);
	*ticket = queue->submitted;
	spinlock_unlock(&queue->lock);
	return STATUS_SUCCESS;
}

bool cpu_queue_done(struct device_queue *queue, uint64_t ticket)
{
	return atomic_load(&queue->done) >= ticket || cpu_pool_gone();
}

struct command *cpu_command_wait(struct device_queue *queue, struct device_queue *other, uint64_t ticket)
{
	struct command *command = cpu_command_take(queue, COMMAND_WAIT);
	if (!command)
		return NULL;
	command->wait.queue = other;
	command->wait.ticket = ticket;
	atomic_fetch_add(&other->references, 1);
	return command;
}

int cpu_queue_wait(struct device_queue *queue, struct device_queue *other, uint64_t ticket)
{
	if (cpu_pool_gone())
		return cpu_pool_gone();
	if (queue == other || atomic_load(&other->done) >= ticket)
		return STATUS_SUCCESS; /* in order anyway, or there already */
	struct command *command = cpu_command_wait(queue, other, ticket);
	if (!command)
		return STATUS_OUT_OF_MEMORY;
	cpu_queue_submit(queue, command);
	return STATUS_SUCCESS;
}

int cpu_queue_timestamp(struct device_queue *queue, uint64_t *when_ns)
{
	if (cpu_pool_gone())
		return cpu_pool_gone();
	struct command *command = cpu_command_take(queue, COMMAND_TIMESTAMP);
	if (!command)
		return STATUS_OUT_OF_MEMORY;
	command->timestamp = when_ns;
	cpu_queue_submit(queue, command);
	return STATUS_SUCCESS;
}

int cpu_queue_synchronize(struct device_queue *queue, uint64_t ticket)
{
	struct device *device = queue->device;
	if (cpu_pool_gone())
		return cpu_pool_gone();
	if (atomic_load_explicit(&queue->done, memory_order_acquire) < ticket)
		help(queue, ticket);
	while (atomic_load(&queue->done) < ticket) {
		atomic_fetch_add(&queue->sleepers, 1);
		uint32_t word = atomic_load(&queue->done_word);
		if (atomic_load(&queue->done) < ticket)
			cpu_futex_wait(&queue->done_word, word);
		atomic_fetch_sub(&queue->sleepers, 1);
	}
	cpu_device_flush_prints(device);
	return cpu_device_status(device);
}
