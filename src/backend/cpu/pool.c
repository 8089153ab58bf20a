/* The workers: threads that take items of commands. One per CPU at most, made when first there is work for them, asleep on
 * a futex of their own when there is none (after spinning for some tens of microseconds, for the next launch). A host
 * thread that waits for a queue helps to run it and stands in for one worker meanwhile, so that no more threads run
 * kernels than there are CPUs.
 *
 * A command in a slot is found by all workers. Waking is a chain: whoever starts work, or takes an item and leaves
 * more behind, wakes one sleeper. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_SPIN_NS = 50000, SHORTEST_SPIN_NS = 1500, SPINS_A_LOOK = 16, TURN_NS = 20000 };

void cpu_futex_wait(_Atomic uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void cpu_futex_wake(_Atomic uint32_t *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

void cpu_spinlock_wait(struct spinlock *lock)
{
	for (unsigned spins = 0;; spins++) {
		if (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
		    !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))
			return;
		if (spins % 256 == 255)
			sched_yield(); /* its holder may have lost its CPU */
		else
			cpu_relax();
	}
}

/* ---- fork and exit ------------------------------------------------------------------------------------ */

static _Atomic bool threads_started;
static _Atomic int gone;

static void after_fork(void)
{
	if (atomic_load(&threads_started))
		atomic_store(&gone, STATUS_NOT_INITIALIZED);
}

void cpu_pool_exit(void)
{
	atomic_store(&gone, STATUS_DEINITIALIZED);
}

int cpu_pool_gone(void)
{
	return atomic_load_explicit(&gone, memory_order_relaxed);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int slot_take_locked(struct pool *pool, const struct device_queue *queue)
{
	const uint64_t urgent = (UINT64_C(1) << SLOTS_FOR_PRIORITY) - 1;
	uint64_t free = ~pool->slots_taken & (queue->priority < 0 ? urgent : ~urgent);
	if (!free)
		return NO_SLOT;
	int slot = __builtin_ctzll(free);
	pool->slots_taken |= UINT64_C(1) << slot;
	return slot;
}

static void slot_fill_locked(struct pool *pool, struct device_queue *queue)
{
	atomic_store_explicit(&pool->slot[queue->slot], atomic_load_explicit(&queue->current, memory_order_relaxed),
			      memory_order_release);
	atomic_fetch_or(&pool->active, UINT64_C(1) << queue->slot);
}

/* For who knows of the queue's head: who waits for the queue, and whoever put it there. */
void cpu_pool_keep(struct device *device, struct device_queue *queue)
{
	struct command *command = queue->head;
	atomic_store_explicit(&command->order, atomic_fetch_add(&device->pool.published, 1) + 1, memory_order_relaxed);
	atomic_store_explicit(&command->unfinished, command->items, memory_order_relaxed);
	atomic_store_explicit(&command->remaining, command->items, memory_order_relaxed);
	atomic_store_explicit(&queue->current, command, memory_order_release);
}

void cpu_pool_publish(struct device *device, struct device_queue *queue)
{
	struct pool *pool = &device->pool;
	struct command *command = queue->head;
	spinlock_lock(&pool->lock);
	atomic_store_explicit(&command->order, atomic_fetch_add(&pool->published, 1) + 1, memory_order_relaxed);
	atomic_store_explicit(&queue->current, command, memory_order_release);
	queue->published = true;
	if (queue->slot == NO_SLOT)
		queue->slot = slot_take_locked(pool, queue);
	if (queue->slot != NO_SLOT) {
		slot_fill_locked(pool, queue);
	} else if (!queue->pending) {
		queue->pending = true;
		queue->next_pending = pool->pending;
		pool->pending = queue;
	}
	spinlock_unlock(&pool->lock);
	atomic_store_explicit(&command->unfinished, command->items, memory_order_relaxed);
	/* Last, and before sleepers are looked for: a worker that is about to sleep looks at this after it has said so. */
	atomic_store(&command->remaining, command->items);
}

static void leave_pending_locked(struct pool *pool, struct device_queue *queue)
{
	struct device_queue **link = &pool->pending;
	while (*link != queue)
		link = &(*link)->next_pending;
	*link = queue->next_pending;
	queue->pending = false;
}

void cpu_pool_retire(struct device *device, struct device_queue *queue)
{
	struct pool *pool = &device->pool;
	atomic_store_explicit(&queue->current, NULL, memory_order_relaxed);
	if (!queue->published)
		return;
	queue->published = false;
	spinlock_lock(&pool->lock);
	if (queue->pending)
		leave_pending_locked(pool, queue);
	if (queue->slot != NO_SLOT) {
		uint64_t bit = UINT64_C(1) << queue->slot;
		atomic_fetch_and(&pool->active, ~bit);
		atomic_store_explicit(&pool->slot[queue->slot], NULL, memory_order_relaxed);
		pool->slots_taken &= ~bit;
		queue->slot = NO_SLOT;
		/* Somebody may have waited for one. */
		for (struct device_queue *other = pool->pending; other; other = other->next_pending) {
			other->slot = slot_take_locked(pool, other);
			if (other->slot == NO_SLOT)
				continue;
			leave_pending_locked(pool, other);
			slot_fill_locked(pool, other);
			break;
		}
	}
	spinlock_unlock(&pool->lock);
}

static bool work_waits(struct pool *pool)
{
	uint64_t mask = atomic_load(&pool->active);
	while (mask) {
		int i = __builtin_ctzll(mask);
		mask &= mask - 1;
		struct command *command = atomic_load_explicit(&pool->slot[i], memory_order_acquire);
		if (command && atomic_load(&command->remaining))
			return true;
	}
	return false;
}

/* ---- items ----------------------------------------------------------------------------------- */

static bool take_item(struct command *command, uint32_t *item)
{
	uint32_t left = atomic_load_explicit(&command->remaining, memory_order_acquire);
	while (left) {
		if (atomic_compare_exchange_weak_explicit(&command->remaining, &left, left - 1, memory_order_acq_rel,
							  memory_order_acquire)) {
			*item = command->items - left;
			return true;
		}
	}
	return false;
}

struct transfer {
	const struct command *command;
	uint32_t item;
};

static void run_transfer(void *argument)
{
	const struct transfer *transfer = argument;
	if (transfer->command->kind == COMMAND_COPY)
		cpu_copy_run_item(&transfer->command->copy, transfer->item);
	else
		cpu_fill_run_item(&transfer->command->fill, transfer->item);
}

/* How many items were done. */
static uint32_t run_item(struct worker *worker, struct command *command, uint32_t item)
{
	worker->item = item;
	if (atomic_load_explicit(&worker->device->error, memory_order_relaxed))
		return 1; /* after an error nothing more is done, only counted */
	if (command->kind == COMMAND_LAUNCH) {
		uint32_t done = cpu_launch_run_item(worker, command, item);
		cpu_children_submit(command);
		return done;
	}
	struct transfer transfer = { command, item };
	if (!cpu_worker_guard(worker, run_transfer, &transfer))
		cpu_fault_report(worker);
	return 1;
}

/* The next launch of a list is for all workers. */
static void publish_next(struct device *device, struct command *command)
{
	struct pool *pool = &device->pool;
	uint32_t items = command->items; /* others may be through with it as soon as they see it */
	atomic_store_explicit(&command->order, atomic_fetch_add(&pool->published, 1) + 1, memory_order_relaxed);
	atomic_store_explicit(&command->unfinished, items, memory_order_relaxed);
	atomic_store(&command->remaining, items);
	if (items > 1)
		cpu_pool_wake(device);
}

/* Other queues have work: is it their turn? Urgent ones need not wait, the others for as long as waking somebody takes. */
static bool others_turn(struct pool *pool, const struct device_queue *queue, uint64_t *since)
{
	const uint64_t urgent = (UINT64_C(1) << SLOTS_FOR_PRIORITY) - 1;
	uint64_t active = atomic_load_explicit(&pool->active, memory_order_relaxed);
	if (!(active & (active - 1)))
		return false;
	if (queue->priority >= 0 && active & urgent)
		return true;
	if (!*since)
		*since = clock_ns();
	return clock_ns() - *since > TURN_NS;
}

/* All items of the command are done. Of a list, whoever was last goes on with launches that are one item, unless it is others'
 * turn, or the blocks may wait for what this worker does further out. */
static void command_done(struct worker *worker, struct command *command)
{
	struct device *device = worker->device;
	uint64_t since = 0;
	while (cpu_launch_next(command)) {
		if (command->items > 1 || atomic_load_explicit(&command->waits, memory_order_relaxed) ||
		    others_turn(&device->pool, command->queue, &since)) {
			publish_next(device, command);
			return;
		}
		run_item(worker, command, 0);
	}
	cpu_queue_advance(command->queue);
}

bool cpu_pool_run_item(struct worker *worker, struct command *command)
{
	uint32_t item;
	if (!take_item(command, &item))
		return false;
	struct device *device = worker->device;
	/* More of it, or something else that came while we looked awake: there is work for one more. */
	if (work_waits(&device->pool))
		cpu_pool_wake(device);
	struct command *outer = worker->command;
	worker->command = command;
	uint32_t done = run_item(worker, command, item);
	bool last = atomic_fetch_sub_explicit(&command->unfinished, done, memory_order_acq_rel) == done;
	if (last)
		command_done(worker, command);
	worker->command = outer;
	return true;
}

/* Of the commands in the slots of `mask` that have items left, the one that became its queue's first earliest: as on a GPU, a later
 * one gets what the earlier ones leave. Its data is still in the caches, too. */
static struct command *oldest(struct pool *pool, uint64_t mask, bool plain_only)
{
	struct command *best = NULL;
	uint64_t best_order = 0;
	for (; mask; mask &= mask - 1) {
		struct command *command = atomic_load_explicit(&pool->slot[__builtin_ctzll(mask)], memory_order_acquire);
		if (!command || !atomic_load_explicit(&command->remaining, memory_order_acquire))
			continue;
		if (plain_only && atomic_load_explicit(&command->waits, memory_order_relaxed))
			continue;
		uint64_t order = atomic_load_explicit(&command->order, memory_order_relaxed);
		if (best && order > best_order)
			continue;
		best = command;
		best_order = order;
	}
	return best;
}

/* An item of some command, those of urgent queues first. */
static bool run_any(struct worker *worker, bool plain_only)
{
	struct pool *pool = &worker->device->pool;
	const uint64_t urgent = (UINT64_C(1) << SLOTS_FOR_PRIORITY) - 1;
	for (;;) {
		uint64_t active = atomic_load_explicit(&pool->active, memory_order_acquire);
		struct command *command = active & urgent ? oldest(pool, active & urgent, plain_only) : NULL;
		if (!command && active & ~urgent)
			command = oldest(pool, active & ~urgent, plain_only);
		if (!command)
			return false;
		if (cpu_pool_run_item(worker, command))
			return true; /* else others were quicker: look again */
	}
}

bool cpu_pool_run_plain(struct worker *worker)
{
	return run_any(worker, true);
}

/* ---- workers --------------------------------------------------------------------------------- */

static bool allowed(const struct pool *pool, uint32_t number)
{
	return (int)number < pool->size - atomic_load_explicit(&pool->helpers, memory_order_relaxed);
}

static void worker_sleep(struct worker *worker)
{
	struct pool *pool = &worker->device->pool;
	_Atomic uint64_t *word = &pool->sleeping[worker->number / 64];
	uint64_t bit = UINT64_C(1) << worker->number % 64;
	atomic_store(&worker->wake, 0);
	atomic_fetch_or(word, bit);
	if (atomic_load(&pool->stop) || (work_waits(pool) && allowed(pool, worker->number))) {
		/* If the bit is gone somebody is waking us: no matter, nobody counts wakings. */
		atomic_fetch_and(word, ~bit);
		return;
	}
	while (!atomic_load(&worker->wake))
		cpu_futex_wait(&worker->wake, 0);
}

/* Looks for work for a while; true where there is some. For how long depends on what came of it before: where launches follow
 * each other closely it saves a sleep and a waking, where they do not it may well be the host's own CPU that it takes. */
static bool worker_spin(struct worker *worker)
{
	struct pool *pool = &worker->device->pool;
	bool found = false;
	uint64_t end = 0;
	atomic_fetch_add(&pool->spinning, 1);
	while (!found && allowed(pool, worker->number) && !atomic_load_explicit(&pool->stop, memory_order_relaxed)) {
		for (int i = 0; i < SPINS_A_LOOK && !found; i++) {
			cpu_relax();
			found = atomic_load_explicit(&pool->active, memory_order_relaxed) && work_waits(pool);
		}
		uint64_t now = clock_ns();
		if (!end)
			end = now + worker->spin_ns;
		else if (now > end)
			break;
	}
	atomic_fetch_sub(&pool->spinning, 1);
	if (found && worker->spin_ns < LONGEST_SPIN_NS)
		worker->spin_ns *= 2;
	else if (!found && worker->spin_ns > SHORTEST_SPIN_NS)
		worker->spin_ns /= 2;
	/* Those who saw us spinning have woken nobody. */
	if (!found && work_waits(pool)) {
		if (allowed(pool, worker->number))
			return true;
		cpu_pool_wake(worker->device);
	}
	return found;
}

static void worker_place(const struct worker *worker)
{
	char name[16];
	snprintf(name, sizeof name, "dragoman-%u", worker->number % 1000000);
	pthread_setname_np(pthread_self(), name);
	const struct host_machine *host = cpu_host_machine();
	if (host->cpu_count != worker->device->pool.size || !env_long("DRAGOMAN_PIN", 1, 0, 1))
		return;
	cpu_set_t *set = CPU_ALLOC(MAX_WORKERS);
	size_t bytes = CPU_ALLOC_SIZE(MAX_WORKERS);
	if (!set)
		return;
	CPU_ZERO_S(bytes, set);
	/* Not all processes' first workers on the first CPU. */
	CPU_SET_S((size_t)host->cpu_list[(worker->number + (unsigned)getpid()) % (unsigned)host->cpu_count], bytes, set);
	sched_setaffinity(0, bytes, set);
	CPU_FREE(set);
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	worker_place(worker);
	cpu_fault_thread_begin();
	cpu_fault_set_worker(worker);
	fiber_adopt(&worker->home);
	struct pool *pool = &worker->device->pool;
	worker->spin_ns = SHORTEST_SPIN_NS;
	while (!atomic_load_explicit(&pool->stop, memory_order_relaxed))
		if (!(allowed(pool, worker->number) && run_any(worker, false)) && !worker_spin(worker))
			worker_sleep(worker);
	cpu_fault_set_worker(NULL);
	return NULL;
}

/* Threads of ours leave the program's signals to the program's threads. */
static bool thread_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
	sigset_t all, before;
	sigfillset(&all);
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };
	for (size_t i = 0; i < ARRAY_LENGTH(faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_store(&threads_started, true);
	int error = pthread_create(thread, NULL, body, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		log_error("cannot start a thread: %s", strerror(error));
	return !error;
}

/* One more worker, if there may be one. */
static void worker_start(struct device *device)
{
	struct pool *pool = &device->pool;
	pthread_mutex_lock(&pool->start_lock);
	int number = atomic_load(&pool->started);
	if (number < pool->size && allowed(pool, (uint32_t)number) && !atomic_load(&pool->stop)) {
		struct worker *worker = aligned_alloc(64, align_up(sizeof *worker, 64));
		if (worker && cpu_worker_init(worker, device, (uint32_t)number)) {
			pool->worker[number] = worker;
			if (thread_start(&worker->thread, worker_main, worker)) {
				atomic_store(&pool->started, number + 1);
			} else {
				cpu_worker_fini(worker);
				free(worker);
			}
		} else {
			free(worker);
		}
	}
	pthread_mutex_unlock(&pool->start_lock);
}

/* Wakes the sleeping worker of the lowest number, false where none that may run sleeps. */
static bool wake_one(struct pool *pool)
{
	int limit = pool->size - atomic_load(&pool->helpers);
	for (int base = 0; base < limit; base += 64) {
		uint64_t usable = limit - base >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (limit - base)) - 1, mask;
		while ((mask = atomic_load(&pool->sleeping[base / 64]) & usable)) {
			int i = __builtin_ctzll(mask);
			uint64_t bit = UINT64_C(1) << i;
			if (!(atomic_fetch_and(&pool->sleeping[base / 64], ~bit) & bit))
				continue;
			struct worker *worker = pool->worker[base + i];
			atomic_store(&worker->wake, 1);
			cpu_futex_wake(&worker->wake, 1);
			return true;
		}
	}
	return false;
}

void cpu_pool_wake(struct device *device)
{
	struct pool *pool = &device->pool;
	if (atomic_load(&pool->spinning) > 0 || wake_one(pool))
		return;
	int started = atomic_load(&pool->started);
	if (started < pool->size && allowed(pool, (uint32_t)started))
		worker_start(device);
}

/* ---- host threads that help ------------------------------------------------------------------ */

struct worker *cpu_pool_borrow(struct device *device)
{
	struct pool *pool = &device->pool;
	spinlock_lock(&pool->lock);
	struct worker *worker = pool->spare_helpers;
	if (worker)
		pool->spare_helpers = worker->next_spare;
	uint32_t number = worker ? 0 : pool->helper_count++;
	spinlock_unlock(&pool->lock);
	if (!worker) {
		worker = aligned_alloc(64, align_up(sizeof *worker, 64));
		/* It stands in for one of the last workers: so does its number. */
		if (!worker || !cpu_worker_init(worker, device, (uint32_t)(pool->size - 1) - number % (uint32_t)pool->size)) {
			free(worker);
			return NULL;
		}
		spinlock_lock(&pool->lock);
		worker->next_made = pool->made_helpers;
		pool->made_helpers = worker;
		spinlock_unlock(&pool->lock);
	}
	cpu_fault_thread_begin();
	cpu_fault_set_worker(worker);
	fiber_adopt(&worker->home);
	return worker;
}

void cpu_pool_return(struct device *device, struct worker *worker)
{
	cpu_fault_set_worker(NULL);
	spinlock_lock(&device->pool.lock);
	worker->next_spare = device->pool.spare_helpers;
	device->pool.spare_helpers = worker;
	spinlock_unlock(&device->pool.lock);
}

bool cpu_pool_help_begin(struct device *device)
{
	int helpers = atomic_load(&device->pool.helpers);
	while (helpers < device->pool.size)
		if (atomic_compare_exchange_weak(&device->pool.helpers, &helpers, helpers + 1))
			return true;
	return false;
}

void cpu_pool_help_end(struct device *device)
{
	atomic_fetch_sub(&device->pool.helpers, 1);
	/* The worker we stood in for may have gone to sleep with work left. */
	if (work_waits(&device->pool))
		cpu_pool_wake(device);
}

/* ---- kernels that wait for kernels --------------------------------------------------------------- */

struct stand_in {
	struct device *device;
	uint64_t order;
	bool (*done)(void *argument);
	void *argument;
	bool ran;
};

/* What was published after the command that waits: items of its own, which may wait in the same way, are not piled up on it. */
static struct command *later(struct pool *pool, uint64_t order)
{
	struct command *best = NULL;
	uint64_t best_order = 0;
	for (uint64_t mask = atomic_load_explicit(&pool->active, memory_order_acquire); mask; mask &= mask - 1) {
		struct command *command = atomic_load_explicit(&pool->slot[__builtin_ctzll(mask)], memory_order_acquire);
		if (!command || !atomic_load_explicit(&command->remaining, memory_order_acquire))
			continue;
		uint64_t its = atomic_load_explicit(&command->order, memory_order_relaxed);
		if (its > order && (!best || its < best_order)) {
			best = command;
			best_order = its;
		}
	}
	return best;
}

static void *stand_in_main(void *argument)
{
	enum { SPINS = 2000, NAP_NS = 50000 };
	struct stand_in *s = argument;
	struct worker *worker = cpu_pool_borrow(s->device);
	for (unsigned idle = 0; worker && !s->done(s->argument);) {
		struct command *command = later(&s->device->pool, s->order);
		if (command && cpu_pool_run_item(worker, command))
			idle = 0;
		else if (idle++ < SPINS)
			cpu_relax();
		else /* others are at the last of it */
			nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	}
	s->ran = worker != NULL;
	if (worker)
		cpu_pool_return(s->device, worker);
	return NULL;
}

bool cpu_pool_stand_in(const struct worker *waiting, bool (*done)(void *argument), void *argument)
{
	struct stand_in s = { .device = waiting->device, .done = done, .argument = argument };
	pthread_t thread;
	s.order = atomic_load_explicit(&waiting->command->order, memory_order_relaxed);
	if (!thread_start(&thread, stand_in_main, &s))
		return false;
	pthread_join(thread, NULL);
	return s.ran;
}

/* ---- host functions -------------------------------------------------------------------------- */

static void *host_main(void *argument)
{
	struct device *device = argument;
	struct pool *pool = &device->pool;
	pthread_setname_np(pthread_self(), "dragoman-host");
	pthread_mutex_lock(&pool->host_lock);
	for (;;) {
		struct device_queue *queue = pool->host_first;
		if (!queue) {
			if (atomic_load(&pool->stop))
				break;
			pool->host_idle++;
			pthread_cond_wait(&pool->host_wake, &pool->host_lock);
			pool->host_idle--;
			continue;
		}
		pool->host_waiting--;
		pool->host_first = queue->next_host;
		if (!pool->host_first)
			pool->host_last = NULL;
		pthread_mutex_unlock(&pool->host_lock);
		const struct command *command = queue->head; /* stays the head until we advance the queue */
		command->host.function(command->host.argument);
		cpu_queue_advance(queue);
		pthread_mutex_lock(&pool->host_lock);
	}
	pthread_mutex_unlock(&pool->host_lock);
	return NULL;
}

bool cpu_pool_host_function(struct device *device, struct device_queue *queue)
{
	struct pool *pool = &device->pool;
	pthread_mutex_lock(&pool->host_lock);
	/* A host function may wait for what another queue's does: each that is ready has a thread. */
	if (pool->host_waiting >= pool->host_idle && pool->host_count < HOST_THREADS &&
	    thread_start(&pool->host_thread[pool->host_count], host_main, device))
		pool->host_count++;
	bool ok = pool->host_count;
	if (ok) {
		pool->host_waiting++;
		queue->next_host = NULL;
		if (pool->host_last)
			pool->host_last->next_host = queue;
		else
			pool->host_first = queue;
		pool->host_last = queue;
		pthread_cond_signal(&pool->host_wake);
	}
	pthread_mutex_unlock(&pool->host_lock);
	return ok;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

bool cpu_pool_init(struct pool *pool, int size)
{
	pool->size = size;
	pthread_mutex_init(&pool->start_lock, NULL);
	pthread_mutex_init(&pool->host_lock, NULL);
	pthread_cond_init(&pool->host_wake, NULL);
	return !pthread_atfork(NULL, NULL, after_fork);
}

void cpu_pool_fini(struct device *device)
{
	struct pool *pool = &device->pool;
	bool none = cpu_pool_gone(); /* no threads, in a child of a process that had them */
	int started = 0;
	atomic_store(&pool->stop, true);
	if (!none) {
		pthread_mutex_lock(&pool->start_lock); /* a worker that is being started counts, and no other is started now */
		started = atomic_load(&pool->started);
		pthread_mutex_unlock(&pool->start_lock);
	}
	for (int i = 0; i < started; i++) {
		atomic_store(&pool->worker[i]->wake, 1);
		cpu_futex_wake(&pool->worker[i]->wake, 1);
	}
	for (int i = 0; i < started; i++)
		pthread_join(pool->worker[i]->thread, NULL);
	if (!none) {
		pthread_mutex_lock(&pool->host_lock);
		pthread_cond_broadcast(&pool->host_wake);
		pthread_mutex_unlock(&pool->host_lock);
		for (int i = 0; i < pool->host_count; i++)
			pthread_join(pool->host_thread[i], NULL);
	}
	for (int i = 0; i < started; i++) { /* only now: until it ended, each might wake another */
		cpu_worker_fini(pool->worker[i]);
		free(pool->worker[i]);
	}
	while (pool->made_helpers) {
		struct worker *worker = pool->made_helpers;
		pool->made_helpers = worker->next_made;
		cpu_worker_fini(worker);
		free(worker);
	}
	while (pool->made_commands) {
		struct command *command = pool->made_commands;
		pool->made_commands = command->next_made;
		free(command);
	}
	pthread_mutex_destroy(&pool->start_lock);
	pthread_mutex_destroy(&pool->host_lock);
	pthread_cond_destroy(&pool->host_wake);
}
