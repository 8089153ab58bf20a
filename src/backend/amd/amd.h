/* Inside the AMD back end: what its files share.
 *
 *     hip.c      libamdhip64, opened when first asked for     device.c   the device_ops table, devices, memory
 *     error.c    HIP's errors as CUDA's                        module.c   modules, kernels, code objects
 *     queue.c    streams: commands, tickets                    service.c  what kernels tell the host: prints, traps
 *     children.c what kernels launch                           diagnose.c why there is no GPU to use (diagnose.h)
 *     texture.c  texture and surface objects                   virtual.c  addresses and memory apart; memory of other processes
 *
 * HIP has a current device for each thread: amd_enter() comes before every call that means one.
 * Locks, outermost first: a module's, a queue's, that of the textures, the service's, the device's. */
#ifndef DRAGOMAN_AMD_H
#define DRAGOMAN_AMD_H

#include "backend/amd/abi.h"
#include "backend/amd/hip.h"
#include "backend/common/common.h"
#include "backend/device.h"

enum { AMD_DEVICES_MOST = 32 };

/* ---- hip.c ----------------------------------------------------------------------------------- */

/* The library's entries; all NULL where there is no library. Opened by the first call; safe from several threads. */
const struct hip *amd_hip(void);
/* Which file that is, or a line on why there is none. */
const char *amd_hip_path(bool *found);
/* hipSuccess, or what the entry gives; HIP_NOT_SUPPORTED, with a line the first time, where the library has no such entry. */
#define HIP_CALL(name, ...) (amd_hip()->name ? amd_hip()->name(__VA_ARGS__) : amd_hip_missing(#name))
int amd_hip_missing(const char *name);

/* ---- error.c --------------------------------------------------------------------------------- */

/* The CUresult of a hipError_t. */
int amd_status(int error);
/* The same, with a line that says what was being done. */
int amd_failed(int error, const char *format, ...) PRINTF_LIKE(2, 3);
/* An error of work that was queued earlier: the device's sticky error. */
bool amd_is_sticky(int status);

/* ---- device.c -------------------------------------------------------------------------------- */

struct amd_event_pool {
	hip_event *events;
	size_t count, capacity;
};

struct service;
struct children_pool;
struct textures;

struct device {
	int ordinal;               /* ours: discrete GPUs first */
	int hip;                   /* HIP's */
	char architecture[32];     /* "gfx90a", without what follows a colon */
	bool wave64;
	int multiprocessors;
	pthread_mutex_t lock;      /* the following */
	struct amd_event_pool plain, timed;
	struct device_queue *queues;
	hip_event reference;       /* a point in time that is over … */
	uint64_t reference_ns;     /* … and when that was, by clock_ns() */
	struct service *service;
	struct children_pool *children; /* NULL: no kernel that launches others was launched yet; under `lock` */
	struct textures *textures;
	_Atomic int error;         /* sticky: a CUresult */
	_Atomic uint64_t grids;    /* launched so far */
	uint64_t limits[3];        /* enum device_limit */
	VEC(void *) dead;          /* released memory that is given back when nothing runs; under `lock` */
	struct stage *stages;      /* pinned memory for small copies, not in use; under `lock` */
};

/* Device memory. What is released while something runs is kept until nothing does, since HIP would wait. */
int amd_release(struct device *device, void *pointer);
/* Makes the device HIP's current one in this thread. */
int amd_enter(struct device *device);
void amd_device_fail(struct device *device, int status); /* the first error counts */
int amd_device_status(struct device *device);
/* An event of the device's, new or used before; NULL where there is none to be had. */
hip_event amd_event_take(struct device *device, bool timed);
void amd_event_give(struct device *device, hip_event event, bool timed);

/* ---- module.c -------------------------------------------------------------------------------- */

struct amd_variant { /* of a kernel */
	struct variant common;
	hip_module module;
	hip_function function;
	uint64_t *symbols;         /* device memory; NULL: the code has no table */
};

int amd_module_load(struct device *device, const struct ptx_module *ptx, struct device_module **module, struct ptx_diagnostic *diagnostic);
void amd_module_unload(struct device_module *module);
int amd_module_variable(struct device_module *module, const struct ptx_variable *variable, void **pointer);
int amd_module_bind(struct device_module *module, const struct ptx_variable *variable, void *pointer);
int amd_module_bind_name(struct device_module *module, const char *name, void *pointer);
int amd_module_kernel(struct device_module *module, const struct ptx_function *function, struct device_kernel **kernel);
int amd_kernel_prepare(struct device_kernel *kernel, const uint32_t block[3], struct kernel_info *info, struct ptx_diagnostic *diagnostic);
/* The code for a launch, compiled if need be. The message of an error is logged once. */
int amd_kernel_variant(struct device_kernel *kernel, const struct launch_config *config, const struct amd_variant **variant);
/* Blocks of a cluster; 1 without. */
static inline uint64_t amd_cluster_blocks(const struct launch_config *config)
{
	const uint32_t *c = config->cluster;
	return (uint64_t)(c[0] ? c[0] : 1) * (c[1] ? c[1] : 1) * (c[2] ? c[2] : 1);
}
const char *amd_kernel_name(const struct device_kernel *kernel);
/* By its value in device code: amd_kernel_value(). */
int amd_module_kernel_by_value(struct device_module *module, uint64_t value, struct device_kernel **kernel);
struct device_module *amd_kernel_module(const struct device_kernel *kernel);
const struct ptx_function *amd_kernel_function(const struct device_kernel *kernel);
void amd_kernel_set_owner(struct device_kernel *kernel, void *owner); /* device_ops.kernel_owner */
void *amd_kernel_owner(const struct device_kernel *kernel);           /* NULL: not named */

/* ---- queue.c --------------------------------------------------------------------------------- */

int amd_queue_create(struct device *device, int priority, struct device_queue **queue);
void amd_queue_destroy(struct device_queue *queue);
int amd_queue_launch(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config);
/* The same from the thread that looks after what kernels launch. Where the kernel may launch others *child is what they will be. */
struct children;
int amd_queue_launch_child(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config, struct children **child);
int amd_queue_copy(struct device_queue *queue, void *to, const void *from, uint64_t size);
int amd_queue_copy_2d(struct device_queue *queue, void *to, uint64_t to_pitch, uint64_t to_slice, const void *from, uint64_t from_pitch,
		      uint64_t from_slice, uint64_t width, uint64_t height, uint64_t depth);
int amd_queue_fill(struct device_queue *queue, void *to, uint64_t pitch, uint32_t value, unsigned element, uint64_t width, uint64_t height);
int amd_queue_wait_value(struct device_queue *queue, void *address, uint64_t value, unsigned bytes, unsigned flags);
int amd_queue_host_function(struct device_queue *queue, void (*function)(void *), void *argument);
int amd_queue_ticket(struct device_queue *queue, uint64_t *ticket);
int amd_queue_mark(struct device_queue *queue, uint64_t *ticket);
bool amd_queue_done(struct device_queue *queue, uint64_t ticket);
int amd_queue_wait(struct device_queue *queue, struct device_queue *other, uint64_t ticket);
int amd_queue_synchronize(struct device_queue *queue, uint64_t ticket);
int amd_queue_timestamp(struct device_queue *queue, uint64_t *when_ns);
/* Is the last of its launches that print over? With the device's lock held; does not wait. */
bool amd_queue_printed_all(struct device_queue *queue);
/* Has it no work? HIP's error where that failed. */
bool amd_queue_is_idle(struct device_queue *queue, int *error);
struct device_queue *amd_queue_next(struct device_queue *queue);

/* ---- service.c ------------------------------------------------------------------------------- */

struct service *amd_service_create(struct device *device);
void amd_service_destroy(struct service *service);
/* Before a launch of such a kernel: the record's address for it. */
uint64_t amd_service_use(struct service *service, const struct device_kernel *kernel, uint32_t flags);
uint64_t amd_service_stopped(const struct service *service); /* amd_launch.stopped */
/* After work was seen to be over: shows what was printed and notes what failed. */
void amd_service_collect(struct service *service);
/* Has a kernel ended itself? Cheap; collecting tells more. */
bool amd_service_has_trap(const struct service *service);
/* Room for prints and for malloc, as the device's limits say: for kernels launched from now on. */
int amd_service_set_limits(struct service *service);
void amd_service_reset(struct service *service);
void amd_service_set_textures(struct service *service, uint64_t table);

/* ---- texture.c ------------------------------------------------------------------------------- */

struct textures *amd_textures_create(void);
void amd_textures_destroy(struct textures *textures);
int amd_texture_create(struct device *device, const struct texture_description *description, uint64_t *object);
void amd_texture_destroy(struct device *device, uint64_t object);
int amd_textures_adopt(struct device *device);


/* ---- virtual.c ------------------------------------------------------------------------------- */

extern const struct device_virtual_memory amd_virtual_memory;
bool amd_has_virtual_memory(struct device *device);
/* How many of `size` bytes from there on HIP copies or fills at once: not more than there are in one mapping of virtual memory. */
uint64_t amd_bytes_together(const void *address, uint64_t size);
int amd_memory_share(struct device *device, void *pointer, uint8_t handle[DEVICE_IPC_BYTES]);
int amd_memory_open(struct device *device, const uint8_t handle[DEVICE_IPC_BYTES], void **pointer, uint64_t *size);
int amd_memory_close(struct device *device, void *pointer);

/* ---- children.c ------------------------------------------------------------------------------ */

void amd_children_set_driver(const struct device_driver *driver); /* device_ops.set_driver */
/* Before the launch of a kernel that may launch others: where it notes that, struct amd_children, at the device's *address. NULL: no memory. */
struct children *amd_children_begin(struct device *device, const struct device_kernel *kernel, uint64_t *address);
void amd_children_cancel(struct children *children); /* it was not launched */
/* Right after its launch in `queue`. gated: what is put into the queue later waits until all that it launches is over. */
int amd_children_follow(struct children *children, struct device_queue *queue, bool gated);
void amd_children_stop(struct device *device); /* waits for all of it */

#endif
