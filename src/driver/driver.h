/* The driver's own structures: what stands behind the handles of the driver API.
 *
 *     init.c      the driver as a whole      device.c    devices        context.c   contexts and their stack
 *     stream.c    streams, default streams   event.c     events         memory.c    allocations
 *     copy.c      copies                     module.c    modules        library.c   libraries and kernels
 *     launch.c    launches                   graph.c     graphs         capture.c   stream capture
 *
 * CUDA Driver API reference manual. Rules that hold everywhere:
 * - A handle from the program goes through handle_check() before it is read.
 * - Every function that works on a context begins with REQUIRE_CONTEXT, which also reports the sticky error of an
 *   earlier asynchronous fault.
 * - Locks, outermost first: library, module, event, context, memory map. The launch path takes none. */
#ifndef DRAGOMAN_DRIVER_DRIVER_H
#define DRAGOMAN_DRIVER_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL /* every version of a function under its own name */
#endif
#include "cuda.h"

#include "api/api.h"
#include "backend/device.h"
#include "base/base.h"
#include "driver/handle.h"
#include "fatbin/fatbin.h"

/* Every status here is a CUresult, which C treats as another type than the shared function's int. */
#define api_error(...) ((CUresult)api_error(__VA_ARGS__))

enum {
	DRIVER_VERSION = 13000, /* CUDA 13.0 */
	WARP_SIZE = 32,
	MAX_BLOCK_THREADS = 1024,
	MAX_PARAMETER_BYTES = 32764,
	DECOMPRESS_MOST = 1 << 30 /* bytes of an item, compressed or not */
};

/* ---- the driver and its devices ---------------------------------------------------------------- */

struct context;

struct driver_device {
	CUdevice ordinal;       /* as the program counts */
	const struct device_ops *ops;
	struct device *device;
	struct device_properties properties;
	pthread_mutex_t lock;   /* the primary context's state, pools */
	struct context *primary;
	unsigned primary_uses;  /* retained and not released */
	unsigned primary_flags;
	struct pool *default_pool, *current_pool;
	_Atomic bool pools_hold; /* pools may hold free memory that a synchronisation should give back */
	uint64_t graph_memory[4]; /* used, used high, reserved, reserved high */
};

struct driver {
	int count;
	struct driver_device *devices;
	bool eager_loading; /* CUDA_MODULE_LOADING=EAGER */
	bool mixed;         /* devices are of several back ends */
	bool compares;      /* compare.h */
};
extern struct driver driver;

/* CUDA_SUCCESS once cuInit() has succeeded in this process. */
CUresult driver_ready(void);
/* The device of that number, or NULL. */
struct driver_device *driver_device(CUdevice ordinal);
uint64_t driver_next_id(void);
#define REQUIRE_READY()                                                                            \
	do {                                                                                       \
		CUresult ready_ = driver_ready();                                                  \
		if (ready_)                                                                        \
			return ready_;                                                             \
	} while (0)

int device_attribute(const struct driver_device *device, CUdevice_attribute attribute, int *value);

/* ---- contexts ------------------------------------------------------------------------------------ */

struct deferred { /* something to release once a queue has passed a ticket */
	struct deferred *next;
	struct queue *queue;
	uint64_t ticket;
	void (*function)(void *);
	void *argument;
};

struct storage { /* context-local storage: private table C693336E */
	struct storage *next;
	void *key, *value;
	void (*destructor)(CUcontext, void *key, void *value);
};

enum { CONTEXT_LIMITS = 7 };

struct context {
	struct handle handle;
	struct driver_device *device;
	const struct device_ops *ops;
	uint64_t id;
	_Atomic bool live;          /* started and not yet destroyed or reset */
	bool primary, of_runtime;   /* of_runtime: the runtime holds its handle and activates it by use */
	unsigned flags, api_version;
	_Atomic unsigned attached;  /* cuCtxAttach() without cuCtxDetach() */
	CUfunc_cache cache_config;
	CUsharedconfig shared_config;
	size_t limits[CONTEXT_LIMITS];
	_Atomic uint64_t peers;     /* bit i: access to device i's memory is enabled */
	pthread_mutex_t lock;       /* the lists below */
	struct stream *legacy;
	struct stream *streams;     /* all others */
	struct event *events;
	struct module *modules;
	struct storage *storage;
	struct deferred *deferred;
	struct queue *dying;        /* queues of destroyed streams that still work */
	_Atomic bool litter;        /* there are deferred releases or dying queues */
	_Atomic(struct stream *) dirty; /* blocking streams with work since the legacy stream's last; under `lock` to change */
	_Atomic uint64_t legacy_order;  /* grows with each submission to the legacy stream */
	_Atomic bool used_heap, used_printf;
	_Atomic uint32_t captures;      /* captures in progress on its streams */
};

HANDLE_FITS(struct context);

/* The calling thread's context, ready to be used. */
CUresult context_current(struct context **context);
#define REQUIRE_CONTEXT(name)                                                                      \
	struct context *name;                                                                      \
	do {                                                                                       \
		CUresult current_ = context_current(&name);                                        \
		if (current_)                                                                      \
			return current_;                                                           \
	} while (0)
/* The same for functions that work although a kernel has failed (none of the sticky error). */
CUresult context_current_quiet(struct context **context);
struct context *context_check(CUcontext handle); /* NULL where it is not a live context */
CUresult context_push(struct context *context);
CUresult context_pop(struct context **context);  /* NULL where the stack is empty */
CUresult context_set(struct context *context);   /* NULL: pops */
struct context *context_top(void);               /* what cuCtxGetCurrent() says */
CUresult context_primary_retain(struct driver_device *device, struct context **context);
/* The primary context, activated if need be, on the runtime's account. */
CUresult context_primary_use(struct driver_device *device, struct context **context);
/* The primary context's handle, whether or not it is active. */
CUresult context_primary_peek(struct driver_device *device, struct context **context);
CUresult context_error(struct context *context); /* the sticky error */
bool context_flags_are_valid(unsigned flags); /* CU_CTX_… of the manual, one scheduling choice */
/* Waits for all work of all streams; the first failure's status. */
CUresult context_synchronize(struct context *context);
/* Calls function(argument) when `queue` has passed `ticket`: at once, or at a later quiet moment. */
void context_defer(struct context *context, struct queue *queue, uint64_t ticket, void (*function)(void *), void *argument);
void context_reap(struct context *context);

CUresult storage_put(CUcontext handle, void *key, void *value, void (*destructor)(CUcontext, void *, void *));
CUresult storage_remove(CUcontext handle, void *key);
CUresult storage_get(void **value, CUcontext handle, void *key);
void storage_release(struct context *context); /* all of a context's, running the destructors */

/* ---- streams ---------------------------------------------------------------------------------------- */

struct queue { /* a device queue that streams and events hold on to */
	_Atomic uint32_t uses;
	struct device_queue *device_queue;
	struct context *context;
	struct queue *next_dying;
};
void queue_hold(struct queue *queue);
void queue_drop(struct queue *queue);
bool queue_is_done(const struct queue *queue, uint64_t ticket);
uint64_t queue_last(const struct queue *queue); /* ticket of its last command */
uint64_t queue_mark(const struct queue *queue); /* the same, where others will wait for just that command */
/* Makes `queue` wait for another's ticket; the two may be of different back ends. */
CUresult queue_wait_for(struct queue *queue, struct queue *other, uint64_t ticket);

enum stream_rule { STREAM_LEGACY, STREAM_BLOCKING, STREAM_NON_BLOCKING };

struct stream {
	struct handle handle;
	struct context *context;
	struct queue *queue;
	enum stream_rule rule;
	bool per_thread;
	int priority;
	uint64_t id;
	struct stream *next;             /* context->streams */
	struct stream *next_dirty;
	_Atomic bool is_dirty;
	_Atomic uint64_t legacy_seen;    /* context->legacy_order that this stream has waited for */
	_Atomic(struct capture *) capture;
	CUstreamAttrValue access_policy;
	int synchronization_policy;
	CUlaunchMemSyncDomainMap domain_map;
	int domain;
	struct green *green;             /* that it was made in */
};

HANDLE_FITS(struct stream);

/* The stream that a handle of the program's stands for: 0 and CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, or its own. */
CUresult stream_find(struct context *context, CUstream handle, struct stream **stream);
/* stream_find() where the stream's own context counts, not the current one; sticky errors reported. */
CUresult stream_require(CUstream handle, struct stream **stream);
/* To be called before and after handing commands to the stream's queue: the default-stream rules. */
CUresult stream_enter(struct stream *stream);
void stream_leave(struct stream *stream);
CUresult stream_wait(struct stream *stream); /* the host waits for all of its work */
void stream_release(struct stream *stream);
/* Makes the legacy stream wait for everything that all streams were given. */
CUresult context_join(struct context *context);

/* ---- events ------------------------------------------------------------------------------------------ */

struct event {
	struct handle handle;
	struct context *context;
	unsigned flags;
	struct event *next, *previous;
	pthread_mutex_t lock;       /* what was recorded last */
	struct queue *queue;        /* NULL: not recorded yet */
	uint64_t ticket;
	struct stamp *stamp;        /* when; NULL without timing */
	struct stamp *stamps;       /* all that were made */
	_Atomic uint64_t capture_id; /* recorded in a stream under capture; 0: not */
	struct node_set *captured;  /* … after these nodes */
	struct ipc_event *ipc;
};
HANDLE_FITS(struct event);
CUresult event_find(CUevent handle, struct event **event);
CUresult event_record(struct event *event, struct stream *stream);
CUresult event_wait(struct event *event, struct stream *stream);
/* The same for a queue, without the default-stream rules. */
CUresult event_record_in(struct event *event, struct queue *queue);
CUresult event_wait_in(struct event *event, struct queue *queue);
void event_release(struct event *event);

/* ---- memory -------------------------------------------------------------------------------------------- */

enum memory_kind { MEMORY_DEVICE, MEMORY_HOST, MEMORY_REGISTERED, MEMORY_MANAGED, MEMORY_POOL, MEMORY_MAPPED,
		   MEMORY_SYMBOL, MEMORY_ARRAY, MEMORY_GRAPH, MEMORY_IPC,
		   MEMORY_LOW }; /* LOW: below 4 GiB, for 32-bit device pointers */

struct allocation { /* a range of addresses that programs may use; see memory_map.c */
	struct allocation *left, *right;
	uint32_t weight;
	enum memory_kind kind;
	uintptr_t base;
	size_t size;
	struct context *context;
	struct driver_device *device; /* NULL for host memory of no device */
	uint64_t id;
	unsigned flags;               /* of the call that made it */
	bool sync_memops, read_only;
	struct pool *pool;
	/* managed memory: the advice given and where it was last sent; it never moves here */
	bool read_mostly;
	CUmemLocation preferred, prefetched;
	uint64_t accessed_by;         /* bit i: device i; bit 63: the CPU */
	void *owner;                  /* vmm.c, ipc.c: their own */
};

CUresult memory_map_add(struct allocation *allocation);    /* it must not overlap another */
/* Takes the range that starts at `base` out of the map; NULL where none starts there. */
struct allocation *memory_map_remove(uintptr_t base);
/* A copy of the range that holds `address`; false where none does. */
bool memory_map_find(uintptr_t address, struct allocation *out);
/* Calls visit() on the range that holds the address, under the map's lock; false where none does. */
bool memory_map_edit(uintptr_t address, void (*visit)(struct allocation *, void *), void *argument);
bool memory_map_overlaps(uintptr_t base, size_t size);
/* Calls visit() on every range, under the map's lock. */
void memory_map_each(void (*visit)(const struct allocation *, void *), void *argument);
/* Takes out any range of the context; NULL where none is left. */
struct allocation *memory_map_take(const struct context *context);

/* Is [address, address + size) memory that the device of `context` may use? `found` may be NULL. */
bool memory_is_device(uintptr_t address, size_t size, struct allocation *found);
/* May the host side of an asynchronous copy be used after the call returns (pinned, managed, device)? */
bool memory_is_pinned(const void *address);
/* The whole of an allocating call: the current context's memory, or why there is none. */
CUresult memory_allocate(size_t size, enum memory_kind kind, unsigned flags, void **pointer);
/* Allocates and records. `flags` as the program gave them. */
CUresult allocation_create(struct context *context, size_t size, enum memory_kind kind, unsigned flags,
			   struct allocation **allocation);
void allocation_release(struct allocation *allocation); /* one that is out of the map */
void allocation_release_all(struct context *context);
/* The host copies to or from memory of the context's device, at once. */
CUresult memory_copy_now(struct context *context, void *to, const void *from, size_t size);
/* Records a module's variable; memory_map_remove() and free() undo it. */
CUresult allocation_note(struct context *context, void *base, size_t size, bool managed);

/* ---- commands: what streams and graphs do ------------------------------------------------------------------ */

struct copy { /* all of the copy functions come down to this */
	void *to;
	const void *from;
	size_t to_pitch, to_slice, from_pitch, from_slice;
	size_t width, height, depth; /* bytes, rows, slices */
	bool to_host, from_host;     /* memory the device did not allocate */
};

struct fill {
	void *to;
	size_t pitch, width, height; /* width in elements */
	uint32_t value;
	unsigned element;
};

struct kernel_launch {
	struct function *function;
	struct launch_config config;
};

/* Queue the command behind what the stream has; under capture it becomes a node of the graph. */
CUresult command_copy(struct stream *stream, const struct copy *copy, bool wait);
CUresult command_fill(struct stream *stream, const struct fill *fill);
CUresult command_host(struct stream *stream, void (*function)(void *), void *argument);
/* The parts that graphs use too: no default-stream rules, no capture. */
CUresult queue_put_copy(struct queue *queue, const struct copy *copy);
CUresult queue_put_fill(struct queue *queue, const struct fill *fill);
CUresult fill_check(const struct fill *fill, struct allocation *found); /* its shape, and that the memory is a device's */

/* ---- code ------------------------------------------------------------------------------------------------------ */

struct code { /* a program's device code, parsed at most once; shared by libraries' contexts */
	_Atomic uint32_t uses;
	pthread_mutex_t lock;
	struct ptx_module *ptx;    /* once parsed */
	CUresult failure;          /* why it cannot be */
	char *message;
	struct fatbin fatbin;      /* while `undecided`: the image stays where it is, and decompressing waits */
	bool undecided;
	struct fatbin_choice choice;
	struct kernel_sizes *sizes; /* by functions' numbers, where `ptx` has heads only (sizes.c) */
};

struct kernel_sizes {
	uint32_t shared, local; /* static, bytes */
	uint32_t registers;     /* 32-bit words that PTX names */
};
bool sizes_of(const struct code *code, const struct ptx_function *function, struct kernel_sizes *sizes); /* false: out of memory */
/* ptx_parse(), or, for what an earlier process has read, ptx_parse_heads(). */
struct ptx_module *sizes_parse(struct code *code, const char *text, size_t length, struct ptx_diagnostic *diagnostic);

struct jit_log { /* CU_JIT_INFO_LOG_BUFFER and the rest, taken apart; CU_JIT_MAX_REGISTERS too */
	char *info, *error;
	size_t info_size, error_size;
	void **info_count, **error_count; /* where the filled size goes */
	void **wall_time;
	uint64_t begin_ns;
	uint32_t max_registers; /* of each thread; 0: as many as a kernel likes */
};
CUresult jit_log_open(struct jit_log *log, unsigned count, const CUjit_option *options, void **values);
void jit_log_write(struct jit_log *log, bool error, const char *text);

void jit_log_close(struct jit_log *log);
/* Kernels say themselves that they have no more registers than the options allow, as .maxnreg has it. */
void jit_limit_registers(const struct jit_log *log, struct ptx_module *ptx);

/* Opens an image and picks its PTX; `keep`: the image stays where it is as long as the code. */
CUresult code_open(const void *image, size_t size, bool keep, struct jit_log *log, struct code **code);
struct code *code_of_ptx(struct ptx_module *ptx); /* takes it; NULL where memory is gone */
CUresult code_parse(struct code *code, struct jit_log *log);
void code_hold(struct code *code);
void code_drop(struct code *code);

struct module {
	struct handle handle;
	struct context *context;
	struct code *code;
	struct device_module *device_module;
	struct module *next;             /* context->modules */
	struct library *library;         /* it is a library's instance in the context */
	pthread_mutex_t lock;            /* the tables below */
	struct map functions;            /* name -> struct function */
	uintptr_t *noted;                /* addresses of its variables in the memory map */
	size_t noted_count;
	struct reference *references;    /* texture and surface references */
};
void module_destroy(struct module *module);
HANDLE_FITS(struct module);
CUresult module_function(struct module *module, const char *name, struct function **function);
CUresult module_global(struct module *module, const char *name, void **pointer, size_t *size);

struct parameter {
	uint32_t offset, size;
};

struct function {
	struct handle handle;
	struct module *module;
	const struct ptx_function *ptx;
	struct device_kernel *kernel;
	struct kernel *library_kernel;
	struct parameter *parameters;
	uint32_t parameter_count, parameter_bytes;
	uint32_t static_shared, local_bytes, registers, max_threads, constant_bytes;
	_Atomic uint32_t max_dynamic;    /* -1u: never set */
	_Atomic int carveout;
	_Atomic bool loaded;
	CUfunc_cache cache_config;
	uint32_t block[3];               /* cuFuncSetBlockShape() and the other old calls */
	uint32_t shared_size, old_parameter_size;
	char *old_parameters;
	uint32_t required_cluster[3];
	bool non_portable_cluster;
	int cluster_scheduling;
};
HANDLE_FITS(struct function);

/* A CUfunction, or a CUkernel passed in its place (its instance in the context). */
CUresult function_find(CUfunction handle, struct context *context, struct function **function);
CUresult function_attribute(const struct function *function, CUfunction_attribute attribute, int *value);
CUresult function_set_attribute(struct function *function, CUfunction_attribute attribute, int value);
uint32_t function_dynamic_limit(const struct function *function);
/* Blocks of that many threads that a multiprocessor holds; the documented formula. */
CUresult occupancy_blocks(const struct function *function, int block_size, size_t dynamic_shared, int *blocks);
void function_destroy(struct function *function);

bool kernel_is_of_runtime(const struct kernel *kernel);
CUresult kernel_instance(struct kernel *kernel, struct context *context, struct function **function);
void library_forget_context(struct context *context);

/* ---- launches ------------------------------------------------------------------------------------------------------ */

/* Checks a launch and packs its parameters into `buffer` (MAX_PARAMETER_BYTES); config->parameters then points there. */
CUresult launch_check(struct function *function, struct launch_config *config);
CUresult launch_pack(struct function *function, void **parameters, void **extra, void *buffer, struct launch_config *config);
CUresult launch_submit(struct stream *stream, struct function *function, const struct launch_config *config);

#endif
