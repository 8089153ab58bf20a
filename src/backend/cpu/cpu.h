/* Inside the CPU back end: what its files share.
 *
 *     device.c   the device_ops table            memory.c   device memory, look-up of addresses
 *     module.c   modules, kernels, variants      loader.c   objects into executable memory (code.c)
 *     queue.c    streams as lists of commands    pool.c     workers, idling, waking
 *     worker.c   what a thread needs for it      service.c  struct cpu_services
 *     launch.c   the blocks of a launch          block.c    one block: fibers, barriers
 *     children.c what kernels launch themselves  cluster: worker.c, block.c, launch.c
 *     heap.c     malloc and free in kernels      fault.c    signals raised by kernels
 *     fiber.c    context switch                  host.c     what machine this is
 *
 * Locks, outermost first: a module's, a queue's, the pool's dependency lock. Nobody holds one of them
 * while a kernel, a host function or the compiler runs. */
#ifndef DRAGOMAN_CPU_H
#define DRAGOMAN_CPU_H

#include "backend/common/common.h"
#include "backend/cpu/abi.h"
#include "backend/cpu/fiber.h"
#include "backend/device.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	MAX_WORKERS = 1024,
	MAX_BLOCK_THREADS = 1024,
	WARP = 32,
	GUARD = 64 << 10,             /* below every stack: more than a frame that skips probing should be */
	CODE_WHY = 160,               /* bytes of a message of the loader */
	SHARED_STATIC = 48 << 10,     /* without opting in */
	SHARED_OPTIN = 163 << 10,     /* sm_80 */
	SHARED_OPTIN_90 = 227 << 10
};

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb");
#endif
}

/* ---- spin lock: for sections of a few dozen instructions ------------------------------------ */

struct spinlock {
	_Atomic uint32_t held;
};
void cpu_spinlock_wait(struct spinlock *lock);
static inline void spinlock_lock(struct spinlock *lock)
{
	if (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))
		cpu_spinlock_wait(lock);
}
static inline void spinlock_unlock(struct spinlock *lock)
{
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* ---- host.c ---------------------------------------------------------------------------------- */

struct host_machine {
	char name[128];       /* of the CPU, for people */
	uint64_t features;    /* hash of everything that decides which instructions may be used */
	uint64_t memory;      /* bytes this process may use: of the machine, or of the control group */
	int clock_khz;
	int l2_bytes;         /* the largest cache, shared or not */
	int cpus;             /* that may be used: affinity and control-group quota */
	int cpu_list[MAX_WORKERS];
	int cpu_count;        /* of cpu_list: the affinity mask alone */
};
const struct host_machine *cpu_host_machine(void);
uint64_t cpu_host_memory_available(void);

/* ---- code.c: executable memory --------------------------------------------------------------- */

struct code_chunk;
struct code_arena { /* pages for code, a device's; several objects share a mapping, none a page */
	pthread_mutex_t lock;
	struct code_chunk *chunks;
};
void cpu_code_arena_init(struct code_arena *arena);
void cpu_code_arena_fini(struct code_arena *arena);
void *cpu_code_arena_take(struct code_arena *arena, size_t bytes); /* readable and writable, zero; NULL: no memory */
bool cpu_code_arena_seal(void *at, size_t bytes);                  /* from now on readable and executable */
void cpu_code_arena_give(struct code_arena *arena, void *at, size_t bytes);

/* Jumps through pointers: addresses that are known before the functions are. All zero: made by cpu_code_stubs_create. */
struct code_stubs {
	uint8_t *code;
	_Atomic(void *) *targets; /* where stub i jumps to */
	void **tables;            /* and the symbols that it gives: to be written before */
	size_t bytes;
};
bool cpu_code_stubs_create(struct code_stubs *stubs, struct code_arena *arena, size_t count, void *target);
void cpu_code_stubs_destroy(struct code_stubs *stubs, struct code_arena *arena);
void *cpu_code_stub(const struct code_stubs *stubs, size_t index);
bool cpu_code_stub_find(const struct code_stubs *stubs, uint64_t address, size_t *index);

/* ---- loader.c -------------------------------------------------------------------------------- */

struct code; /* an object in executable memory */
/* NULL and a message in `why` where the object is damaged or asks for what we do not have. `name` is for profilers. */
struct code *cpu_code_load(struct code_arena *arena, const void *object, size_t size, const char *name, char why[CODE_WHY]);
void cpu_code_unload(struct code *code, struct code_arena *arena);
void *cpu_code_symbol(const struct code *code, const char *name);
/* The object's functions, one after the other; NULL: no more. */
void *cpu_code_function(const struct code *code, size_t index, const char **name);
/* Layout and relocation alone, as if `image` lay at `base`: for tests of the other machine's relocations. False where it
 * does not fit or the object is refused. */
bool cpu_code_relocate_at(const void *object, size_t size, uint16_t machine, void *image, size_t image_size, uint64_t base,
		      char why[CODE_WHY]);

/* ---- memory.c -------------------------------------------------------------------------------- */

struct memory;
struct memory *cpu_memory_create(uint64_t total);
void cpu_memory_destroy(struct memory *memory);
int cpu_memory_allocate(struct memory *memory, uint64_t size, void **pointer);
int cpu_memory_release(struct memory *memory, void *pointer);
void cpu_memory_info(struct memory *memory, uint64_t *free_bytes, uint64_t *total_bytes);
/* The allocation that holds `address`, or the nearest one before it; false where there is none. */
bool cpu_memory_find(struct memory *memory, uint64_t address, uint64_t *start, uint64_t *size);
/* " (12 bytes past the end of a 4096-byte allocation at 0x…)", or "" where nothing is near. */
void cpu_memory_describe(struct memory *memory, uint64_t address, char *out, size_t size);

/* ---- module.c -------------------------------------------------------------------------------- */

struct kernel_variant {
	struct variant common;
	struct code *code;
	cpu_kernel_fn *entry;
	uint64_t *symbols;
	_Atomic uint32_t block_time; /* of the last launches: in sixteenths of a nanosecond, and at least one; 0: not known */
};

/* What a block that begins now runs: the full form from when it is there. */
static inline const struct kernel_variant *cpu_variant_now(const struct kernel_variant *variant)
{
	const struct variant *better = atomic_load_explicit(&variant->common.better, memory_order_acquire);
	return better ? (const struct kernel_variant *)better : variant;
}

int cpu_module_load(struct device *device, const struct ptx_module *ptx, struct device_module **module,
		struct ptx_diagnostic *diagnostic);
void cpu_module_unload(struct device_module *module);
int cpu_module_variable(struct device_module *module, const struct ptx_variable *variable, void **pointer);
int cpu_module_bind(struct device_module *module, const struct ptx_variable *variable, void *pointer);
int cpu_module_kernel(struct device_module *module, const struct ptx_function *function, struct device_kernel **kernel);
int cpu_kernel_prepare(struct device_kernel *kernel, const uint32_t block[3], struct kernel_info *info,
		   struct ptx_diagnostic *diagnostic);
/* The code for a launch, compiled if need be. The message of an error is logged once. */
int cpu_kernel_variant_get(struct device_kernel *kernel, struct variant_key key, const struct kernel_variant **variant);
const char *cpu_kernel_name(const struct device_kernel *kernel);
/* The module's kernel whose address, as device code sees it, this is; NULL: none. */
struct device_kernel *cpu_module_kernel_at(struct device_module *module, uint64_t address);
struct device_module *cpu_kernel_module(const struct device_kernel *kernel);
const struct ptx_function *cpu_kernel_function(const struct device_kernel *kernel);
void cpu_kernel_set_owner(struct device_kernel *kernel, void *owner);
void *cpu_kernel_owner(const struct device_kernel *kernel);

/* ---- commands -------------------------------------------------------------------------------- */

enum command_kind {
	COMMAND_LAUNCH, COMMAND_COPY, COMMAND_FILL, /* done by workers, in items */
	COMMAND_HOST,                               /* done by the device's host-function thread */
	COMMAND_WAIT, COMMAND_TIMESTAMP             /* done by whoever advances the queue */
};

struct children;
struct thread_errors;

struct print_part { /* what one block printed */
	uint64_t block;
	char *data;
	size_t length;
};

struct launch {
	struct cpu_launch abi;
	struct device_kernel *kernel;
	const struct kernel_variant *variant;
	uint64_t blocks, chunk;           /* chunk: blocks an item */
	uint64_t share;                   /* what chunk is where the workers share the launch */
	uint32_t cluster_blocks;          /* begun together; 1 without clusters */
	bool concurrent;                  /* blocks make progress together */
	bool brief;                       /* as such launches took the last time: no more than sharing it costs */
	bool cooperative;
	uint32_t resident_limit;          /* of blocks a worker, where concurrent */
	_Atomic int failed;               /* the first error's status: the rest is skipped */
	struct spinlock lock;             /* guards the following */
	VEC(struct print_part) printed;
	uint64_t printed_bytes;
	uint64_t grid_arrived, grid_exited;
	_Atomic uint32_t grid_generation;
	_Atomic(struct children *) children; /* what its threads have launched; NULL: nothing */
	struct { uint32_t size, barrier, reserved[14]; } workspace; /* grid synchronisation done by the program's own code */
	uint8_t *parameters;              /* = small, or malloc'ed */
	_Alignas(64) uint8_t small[256];
};

struct copy {
	uint8_t *to;
	const uint8_t *from;
	uint64_t to_pitch, to_slice, from_pitch, from_slice, width, height, depth, rows; /* rows an item */
};

struct fill {
	uint8_t *to;
	uint64_t pitch, width, height, rows;
	uint32_t value;
	unsigned element;
};

/* Commands are reused but never given back while the device lives, so a worker may hold on to a stale pointer: what
 * it takes from `remaining` is an item of whatever command that is by then. */
struct command {
	_Alignas(64) _Atomic uint32_t remaining; /* items not yet taken; only a command that may run has any */
	_Atomic uint32_t unfinished;             /* items not yet done */
	_Atomic uint64_t order;                  /* in which commands became their queues' first */
	uint32_t items;
	enum command_kind kind;
	_Atomic bool waits;                      /* a launch whose blocks may wait for each other */
	struct command *next;
	struct command *next_made;               /* all of the device's */
	struct device_queue *queue;
	uint64_t ticket;
	struct launch *launch;                   /* = &own, or the list's that runs now; to be read by who has an item */
	struct device_list *list;                /* of launches, or NULL */
	union {
		struct launch own;
		struct copy copy;
		struct fill fill;
		struct { void (*function)(void *); void *argument; } host;
		struct { struct device_queue *queue; uint64_t ticket; } wait;
		uint64_t *timestamp;
	};
};

/* ---- queue.c --------------------------------------------------------------------------------- */

struct device_list { /* launches that are prepared once and done one after the other, as one command */
	_Atomic uint32_t uses; /* its maker's, and one for each command */
	struct device *device;
	uint32_t count;
	struct launch launches[];
};

enum { NO_SLOT = -1 };

struct device_queue {
	struct device *device;
	struct spinlock lock;
	_Atomic int references;              /* the driver's, one for each wait command that names it, short ones of workers */
	struct command *head, *tail;         /* head is the one that runs */
	struct command *spare;               /* finished commands, for reuse */
	int priority;
	_Atomic uint64_t submitted;          /* ticket of the last command; changed with the lock held */
	_Alignas(64) _Atomic(struct command *) current; /* head while workers may take items of it */
	_Atomic uint64_t done;
	_Atomic uint32_t done_word;          /* changes with done: for futex */
	_Atomic uint32_t sleepers;           /* hosts asleep on done_word */
	/* guarded by the pool's lock */
	int slot;
	bool pending;                        /* wants a slot */
	bool published;                      /* since there was nothing to do last */
	struct device_queue *next_pending;
	_Atomic(struct device_queue *) dependents; /* queues whose head waits for one of our tickets */
	struct device_queue *next_dependent;
	/* guarded by the pool's host_lock */
	struct device_queue *next_host;
};

int cpu_queue_create(struct device *device, int priority, struct device_queue **queue);
void cpu_queue_destroy(struct device_queue *queue);
int cpu_queue_launch(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config);
int cpu_list_create(struct device *device, const struct device_launch *launches, size_t count, struct device_list **out);
void cpu_list_release(struct device_list *list);
int cpu_queue_launch_list(struct device_queue *queue, struct device_list *list);
int cpu_queue_copy(struct device_queue *queue, void *to, const void *from, uint64_t size);
int cpu_queue_copy_2d(struct device_queue *queue, void *to, uint64_t to_pitch, uint64_t to_slice, const void *from,
		  uint64_t from_pitch, uint64_t from_slice, uint64_t width, uint64_t height, uint64_t depth);
int cpu_queue_fill(struct device_queue *queue, void *to, uint64_t pitch, uint32_t value, unsigned element, uint64_t width,
	       uint64_t height);
int cpu_queue_host_function(struct device_queue *queue, void (*function)(void *), void *argument);
int cpu_queue_ticket(struct device_queue *queue, uint64_t *ticket);
bool cpu_queue_done(struct device_queue *queue, uint64_t ticket);
int cpu_queue_wait(struct device_queue *queue, struct device_queue *other, uint64_t ticket);
int cpu_queue_synchronize(struct device_queue *queue, uint64_t ticket);
int cpu_queue_timestamp(struct device_queue *queue, uint64_t *when_ns);
void cpu_queue_advance(struct device_queue *queue); /* its head is done */
/* Commands that are not in the queue yet; NULL: no memory, or (`status`) why not. */
struct command *cpu_command_launch(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config, int *status);
struct command *cpu_command_take(struct device_queue *queue, enum command_kind kind); /* empty; NULL: out of memory */
struct command *cpu_command_copy(struct device_queue *queue, struct copy copy);
struct command *cpu_command_fill(struct device_queue *queue, struct fill fill);
struct command *cpu_command_wait(struct device_queue *queue, struct device_queue *other, uint64_t ticket);
void cpu_queue_submit(struct device_queue *queue, struct command *command);
/* The caller runs body(argument) as if it had been submitted, where the queue is idle; else false. */
bool cpu_queue_at_once(struct device_queue *queue, void (*body)(void *), void *argument);
void cpu_queue_unref(struct device_queue *queue);
/* The command's launch is done: makes the next one of its list the command's; false: there is none. */
bool cpu_launch_next(struct command *command);
void cpu_copy_run_item(const struct copy *copy, uint32_t item);
void cpu_fill_run_item(const struct fill *fill, uint32_t item);

/* ---- pool.c ---------------------------------------------------------------------------------- */

struct block_run;

/* One thread's means to run commands: a worker has one, a host thread that helps borrows one. */
struct worker {
	struct device *device;
	uint32_t number;
	struct fiber home;                /* the thread's own stack: where an item ends, by itself or by a fault */
	struct fiber main;                /* runs an item, on a stack of known size */
	uint8_t *stack;
	struct block_run *run;            /* the one used again and again */
	struct block_run *spare;          /* more, for blocks that make progress together */
	struct block_run *residents;      /* of the launch that runs; here, since leak checkers see no frames below a fiber's */
	struct cluster *spare_clusters;
	struct block_run *active;         /* the one whose code runs now; NULL outside kernels */
	struct command *command;          /* the one whose item runs now */
	uint32_t item;                    /* its number */
	bool guarded;                     /* a fault now is the item's, not the program's */
	struct fault {                    /* the signal that ended the item; 0: none */
		int signal, code;
		uint64_t address, pc;
		bool write;
	} fault;
	uint64_t spin_ns;                 /* how long to look for work before sleeping */
	_Atomic uint32_t wake;
	struct worker *next_spare, *next_made;
	pthread_t thread;
};

enum { SLOTS = 64, SLOTS_FOR_PRIORITY = 16 };

enum { HOST_THREADS = 64 };

struct pool {
	int size;                                  /* workers at most */
	_Atomic int started;                       /* workers that exist */
	_Atomic int helpers;                       /* host threads that stand in for a worker */
	_Atomic int spinning;                      /* workers awake with nothing to do */
	_Atomic bool stop;
	_Alignas(64) _Atomic uint64_t active;      /* slots in use */
	_Atomic(struct command *) slot[SLOTS];
	_Alignas(64) _Atomic uint64_t sleeping[MAX_WORKERS / 64];
	struct spinlock lock;                      /* slots, dependents, lists of helpers and commands */
	uint64_t slots_taken;
	_Atomic uint64_t published;
	struct device_queue *pending;              /* queues that wait for a slot */
	struct worker *spare_helpers, *made_helpers;
	uint32_t helper_count;
	struct command *made_commands, *spare_commands;
	pthread_mutex_t start_lock;
	struct worker *worker[MAX_WORKERS];
	/* the thread for host functions */
	pthread_mutex_t host_lock;
	pthread_cond_t host_wake;
	pthread_t host_thread[HOST_THREADS];
	int host_count, host_idle, host_waiting;   /* threads; of them idle; queues that wait for one */
	struct device_queue *host_first, *host_last;
};

bool cpu_pool_init(struct pool *pool, int size);
void cpu_pool_fini(struct device *device);                      /* ends the threads; all queues are gone by then */
/* 0, or the CUresult of everything from now on: in a child of the process that started the workers nothing can run, and
 * while the process exits nothing is waited for, nor given back that a worker may still use. */
int cpu_pool_gone(void);
void cpu_pool_exit(void); /* the process exits */
void cpu_pool_publish(struct device *device, struct device_queue *queue); /* its head is for workers; queue's lock held */
void cpu_pool_keep(struct device *device, struct device_queue *queue);    /* for the caller; the same */
void cpu_pool_retire(struct device *device, struct device_queue *queue);  /* its head is not; queue's lock held */
void cpu_pool_wake(struct device *device);                      /* there is more to do */
bool cpu_pool_host_function(struct device *device, struct device_queue *queue); /* its head is a host function */
bool cpu_pool_run_item(struct worker *worker, struct command *command); /* takes and runs one; false: none left */
bool cpu_pool_run_plain(struct worker *worker);                 /* one item of any command whose items do not wait */
struct worker *cpu_pool_borrow(struct device *device);          /* for a host thread; NULL: no memory */
void cpu_pool_return(struct device *device, struct worker *worker);
/* A kernel's thread waits: another thread runs what came after its command until it is done. False: there is no memory for one. */
bool cpu_pool_stand_in(const struct worker *waiting, bool (*done)(void *argument), void *argument);
bool cpu_pool_help_begin(struct device *device);                /* stands in for a worker; false: enough do */
void cpu_pool_help_end(struct device *device);
void cpu_futex_wait(_Atomic uint32_t *word, uint32_t value);
void cpu_futex_wake(_Atomic uint32_t *word, int count);

/* ---- worker.c, block.c, launch.c --------------------------------------------------------------------------------- */

enum group_state { GROUP_DONE, GROUP_READY, GROUP_AT_BARRIER, GROUP_IN_EXCHANGE, GROUP_AT_GRID, GROUP_AT_CLUSTER };

/* The threads that one call of the code runs, on a fiber of their own. */
struct group {
	struct fiber fiber;
	struct block_run *run;
	uint32_t index;           /* among its block's */
	uint32_t first, end;
	uint32_t units;           /* what it counts at barriers: its threads, the block's last warp rounded up */
	uint8_t state;            /* enum group_state */
	uint8_t barrier;
	uint32_t result;          /* of the barrier; threads present, of the exchange */
	uint32_t membermask;
	uint32_t cluster_lanes;   /* that have come to the arrival counted last: 0: none; lanes may come apart */
	uint32_t cluster_phase;   /* of the cluster's barrier, then */
	uint64_t value;
	uint64_t *values;
};

struct barrier {
	uint32_t arrived, expected; /* units; expected 0: all that have not exited */
	uint32_t popc, missing;     /* threads whose predicate was true, false */
	uint32_t op;
	uint64_t waiting[MAX_BLOCK_THREADS / 64]; /* groups, a bit each */
};

enum { BARRIERS = 16 };

/* Blocks that share their shared memory. One worker runs all of them in turn, so nothing here is seen by two threads. */
struct cluster {
	struct block_run *runs[CLUSTER_BLOCKS]; /* by rank; NULL: over */
	uint32_t size, left;                    /* blocks: at first, not over */
	uint32_t units, exited, arrived;        /* threads, as barriers count them: all, exited, arrived and not exited */
	uint32_t phase;                         /* of barrier.cluster */
	uint8_t *map, *shared;                  /* shared: of rank 0 */
	size_t map_bytes;
	struct cluster *next;
};

struct block_run {
	struct cpu_block block;   /* first: services get a pointer to it */
	struct worker *worker;
	struct launch *launch;
	const struct kernel_variant *form; /* of its variant that runs */
	uint64_t number;          /* of the block, x fastest */
	struct group *groups, *current;
	uint32_t group_count, group_capacity, lanes, lane_shift;
	uint32_t alive;           /* groups not done */
	uint32_t words;           /* of group bits in use */
	uint64_t ready[MAX_BLOCK_THREADS / 64]; /* groups that can run, a bit each */
	uint32_t begun;           /* barriers that somebody has arrived at, a bit each */
	uint32_t units, exited;   /* of barriers: all, of those exited */
	uint32_t at_grid;         /* groups at the grid barrier */
	uint32_t grid_generation; /* that was when the block arrived there */
	bool grid_arrived;
	bool direct;              /* one group, run without a fiber of its own */
	bool yielded;             /* went home by itself */
	uint64_t at_cluster[MAX_BLOCK_THREADS / 64]; /* groups at the cluster's barrier, a bit each */
	struct cluster *cluster;  /* with more than one block, or `alone` */
	struct cluster alone;
	struct fiber *home;       /* whom to switch to with nothing to run */
	struct barrier barriers[BARRIERS];
	struct warp_state {       /* of the scalar form: lanes not exited, lanes in an exchange */
		uint32_t alive, exchanging;
	} warps[MAX_BLOCK_THREADS / WARP];
	size_t stack_size, stacks_bytes;
	uint32_t stacks_count;
	uint8_t *stacks;
	uint8_t *local;
	size_t local_bytes;
	size_t context_bytes;
	uint8_t *shared_map;
	size_t shared_map_bytes;
	struct text printed;
	struct thread_errors *errors; /* of calls of the device runtime; NULL: none so far */
	struct block_run *next;
};

/* worker.c */
bool cpu_worker_init(struct worker *worker, struct device *device, uint32_t number);
void cpu_worker_fini(struct worker *worker);
/* Runs body(argument) on the worker's main fiber; false where a fault ended it. */
bool cpu_worker_guard(struct worker *worker, void (*body)(void *), void *argument);
_Noreturn void cpu_worker_abandon(struct worker *worker); /* from a service or a signal handler: ends what runs guarded */
unsigned long cpu_float_enter(void);                      /* sets what PTX assumes; what was set before */
void cpu_float_leave(unsigned long saved);
struct block_run *cpu_block_run_create(struct worker *worker);
void cpu_block_run_destroy(struct block_run *run);
/* Makes the run fit for the launch's blocks; false where memory is gone. */
bool cpu_run_bind(struct block_run *run, struct launch *launch, struct fiber *home);
struct cluster *cpu_cluster_take(struct worker *worker, uint32_t size); /* NULL: no memory */
void cpu_cluster_give(struct worker *worker, struct cluster *cluster);
void cpu_run_join(struct block_run *run, struct cluster *cluster, uint32_t rank); /* after binding */
bool cpu_run_shares(const struct block_run *run, uint64_t address); /* the address is of its shared memory, or its cluster's */
void cpu_run_set_block(struct block_run *run, uint64_t number);
void *cpu_run_stack(const struct block_run *run, uint32_t index, size_t *size); /* of a group */

/* block.c */
void cpu_block_begin(struct block_run *run);
/* Runs the block's groups until none can run, or one has yielded for all. */
void cpu_block_continue(struct block_run *run, struct fiber *home);
bool cpu_block_can_run(const struct block_run *run);
void cpu_block_report_stuck(struct block_run *run);
_Noreturn void cpu_block_stuck(struct block_run *run); /* reports, and ends the launch */
void cpu_grid_arrive(struct block_run *run);
void cpu_grid_exit(struct launch *launch);
void cpu_grid_release(struct block_run *run);
bool cpu_cluster_waits(const struct block_run *run);  /* at the cluster's barrier, which other blocks can still come to */
void cpu_cluster_leave(struct block_run *run);        /* the block is over; the last one's cluster is spare */
uint32_t cpu_block_barrier(struct cpu_block *block, uint32_t first_thread, uint32_t mask, uint32_t id, uint32_t count,
			   uint32_t op, uint32_t predicate);
void cpu_block_barrier_arrive(struct cpu_block *block, uint32_t first_thread, uint32_t mask, uint32_t id, uint32_t count);
uint32_t cpu_block_exchange(struct cpu_block *block, uint32_t thread, uint32_t membermask, uint64_t value, uint64_t values[32]);
void cpu_block_yield(struct cpu_block *block, uint32_t first_thread);
void cpu_block_grid_barrier(struct cpu_block *block, uint32_t first_thread, uint32_t mask);
void cpu_block_cluster_arrive(struct cpu_block *block, uint32_t first_thread, uint32_t mask);
void cpu_block_cluster_wait(struct cpu_block *block, uint32_t first_thread, uint32_t mask);

/* launch.c */
/* Runs the blocks of one item of a launch, or of several where blocks make progress together; returns how many. */
uint32_t cpu_launch_run_item(struct worker *worker, struct command *command, uint32_t item);
void cpu_launch_run_block(struct worker *worker, struct launch *launch, uint64_t number);
void cpu_launch_finish(struct launch *launch, struct device *device); /* shows what blocks printed so far */

/* children.c */
void cpu_children_set_driver(const struct device_driver *driver);
uint64_t cpu_device_call(struct cpu_block *block, uint32_t thread, uint32_t number, const void *parameters);
void cpu_children_submit(struct command *command); /* what threads have launched so far */
/* The grid is done: commands for what is to be waited for and done behind it are put at *first; where the next one goes. */
struct command **cpu_children_follow_up(struct device_queue *queue, struct launch *launch, struct command **first);

/* find_thread.c */
/* Which thread of the block caused worker->fault; false where it could not be found out. */
bool cpu_find_thread(struct worker *worker, uint32_t *thread);

/* ---- service.c, heap.c ----------------------------------------------------------------------- */

extern const struct cpu_services cpu_services;
_Noreturn void cpu_service_end(struct cpu_block *block, int status); /* ends the kernel, as a service's error does */
void cpu_launch_fail(struct launch *launch, struct device *device, int status); /* the first error counts */

struct heap;
struct heap *cpu_heap_create(uint64_t limit);
void cpu_heap_destroy(struct heap *heap);
void *cpu_heap_allocate(struct heap *heap, uint64_t size);
bool cpu_heap_release(struct heap *heap, void *pointer); /* false: no such allocation */
void cpu_heap_set_limit(struct heap *heap, uint64_t limit);

/* ---- fault.c --------------------------------------------------------------------------------- */

void cpu_fault_install(void);      /* the handlers; once, cheap afterwards */
void cpu_fault_thread_begin(void); /* an alternate signal stack for the calling thread; cheap afterwards */
void cpu_fault_recheck(void);      /* has the program put its own handler over ours? */
void cpu_fault_report(struct worker *worker); /* fails the launch or the device for worker->fault */
void cpu_fault_set_worker(struct worker *worker); /* that the calling thread is or has borrowed; NULL: none */

/* ---- device.c -------------------------------------------------------------------------------- */

struct device {
	struct pool pool;
	int ordinal;
	struct memory *memory;
	struct code_arena code;
	struct heap *heap;
	_Atomic int error;
	struct spinlock print_lock;
	struct text printed;               /* waits for a host thread that synchronises */
	_Atomic bool print_waiting;
	_Atomic uint64_t print_limit;      /* bytes of text: older output gives way, as in CUDA's circular buffer */
	_Atomic uint64_t grids;
	_Atomic uint64_t stack_limit;      /* cudaLimitStackSize: bytes a thread */
	int major, minor;                  /* the compute capability that programs are shown */
	uint32_t shared_optin;             /* bytes of shared memory a block at most */
};
void cpu_device_fail(struct device *device, int status);
void cpu_device_flush_prints(struct device *device);
int cpu_device_status(struct device *device); /* the sticky error, or that of a forked child */

#endif
