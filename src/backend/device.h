/* What a back end gives the driver: one table of functions, and nothing else is called.
 * A NULL entry means that the driver's generic fallback is used. Times in ns, sizes in bytes; every function returns
 * a CUresult value (0 = success) unless it says otherwise. */
#ifndef DRAGOMAN_BACKEND_DEVICE_H
#define DRAGOMAN_BACKEND_DEVICE_H

#include "backend/texture.h"
#include "codegen/codegen.h"

struct device_driver;
struct device;        /* the back end's own: one per device that a program sees */
struct device_module; /* a loaded module on a device: its global variables, its compiled kernels */
struct device_kernel;
struct device_queue;  /* executes commands one after the other: a stream has one */
struct device_list;   /* launches prepared to be done one after the other, again and again */

/* Filled by the back end; the driver derives every CU_DEVICE_ATTRIBUTE and cudaDeviceProp from it. */
struct device_properties {
	char name[256];
	uint8_t uuid[16];
	int major, minor;            /* compute capability shown to programs (8, 0) */
	int multiprocessors;         /* CPU: workers */
	uint64_t memory;             /* total device memory */
	int clock_khz, memory_clock_khz, bus_width;
	int l2_bytes;
	int pci_domain, pci_bus, pci_device;
	int shared_per_block, shared_per_block_optin, shared_per_multiprocessor;
	int registers_per_block, threads_per_multiprocessor, blocks_per_multiprocessor;
	int async_engines;
	bool integrated, managed_concurrent, pageable_access, cooperative;
	bool virtual_memory;         /* device_ops.virtual_memory works; where that is NULL: host_backed says so */
	bool host_backed;            /* its memory is memory of the host's: the driver reads, writes and maps it itself */
};

struct launch_config {
	uint32_t grid[3], block[3], cluster[3];
	uint32_t dynamic_shared;
	bool cooperative;
	const void *parameters; /* packed as the kernel's parameter buffer; copied at submit */
	size_t parameter_bytes;
};

enum { STAGE_BYTES = 64 << 10 };

struct device_launch {
	struct device_kernel *kernel;
	const struct launch_config *config;
};

/* Of cuCtxSetLimit, those that a back end must know. Values are what the driver made of the program's (rounded, checked). */
enum device_limit {
	DEVICE_LIMIT_STACK, /* bytes a thread */
	DEVICE_LIMIT_HEAP,  /* bytes of malloc in device code */
	DEVICE_LIMIT_PRINTF, /* bytes of output of device code until it is shown */
};

/* Addresses and memory apart (cuMemCreate and so on). Sizes and addresses are multiples of VIRTUAL_UNIT. */
enum { VIRTUAL_UNIT = 2 << 20 };
struct device_virtual_memory {
	int (*create)(struct device *device, uint64_t size, void **memory);
	int (*release)(struct device *device, void *memory); /* its mappings stay */
	int (*reserve)(struct device *device, uint64_t size, uint64_t alignment, void *hint, void **base);
	int (*unreserve)(struct device *device, void *base, uint64_t size);
	int (*map)(struct device *device, void *base, uint64_t size, void *memory); /* all of the memory */
	int (*unmap)(struct device *device, void *base, uint64_t size);             /* all of a mapping */
	int (*set_access)(struct device *device, void *base, uint64_t size, unsigned flags); /* the device's, to a mapping: CUmemAccess_flags */
};

enum { DEVICE_IPC_BYTES = 64 };

/* Is a word of 4 or 8 bytes as a stream waits for it to be? flags: CUstreamWaitValue_flags. */
static inline bool device_value_has_come(uint64_t have, uint64_t want, unsigned bytes, unsigned flags)
{
	bool wide = bytes == 8;
	switch (flags & 3) {
	case 0: /* no less, cyclic: (int)(have - want) >= 0 */
		return wide ? (int64_t)(have - want) >= 0 : (int32_t)((uint32_t)have - (uint32_t)want) >= 0;
	case 1: return have == want;
	case 2: return have & want;
	default: return (uint32_t)~(have | want) || (wide && ~(have | want)); /* NOR */
	}
}

struct device_ops {
	const char *name; /* "cpu", "amd" */
	int (*count)(int *count);                                    /* devices; also initialises the back end */
	const char *(*why_not)(void);                                /* one line on why there is no device; NULL: there are some */
	int (*open)(int ordinal, struct device **device);            /* idempotent */
	void (*close)(struct device *device);
	void (*properties)(struct device *device, struct device_properties *out);
	int (*memory_info)(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes);

	/* Device memory; 512-byte aligned; guarded so that far out-of-range accesses fault. */
	int (*allocate)(struct device *device, uint64_t size, void **pointer);
	int (*release)(struct device *device, void *pointer);
	/* Host memory that the device reaches (pinned) and managed memory. NULL: the driver uses its own. */
	int (*allocate_host)(struct device *device, uint64_t size, unsigned flags, void **pointer);
	int (*release_host)(struct device *device, void *pointer);
	int (*allocate_managed)(struct device *device, uint64_t size, void **pointer);
	/* The program's own memory, to be reached by kernels from now on. NULL: they reach all of it anyway. */
	int (*register_host)(struct device *device, void *pointer, uint64_t size);
	void (*unregister_host)(struct device *device, void *pointer);
	/* Host memory for what a small copy is to read later, at most STAGE_BYTES; NULL where there is none. NULL entries: any memory is right. */
	void *(*stage_take)(struct device *device);
	void (*stage_give)(void *memory); /* from any thread */
	/* Copies at once, from and to whatever the device or the host reaches. NULL: all of its memory is the host's. */
	int (*copy_now)(struct device *device, void *to, const void *from, uint64_t size);

	/* What other processes may open; closing does not wait. NULL: all of its memory is the host's. */
	int (*memory_share)(struct device *device, void *pointer, uint8_t handle[DEVICE_IPC_BYTES]);
	int (*memory_open)(struct device *device, const uint8_t handle[DEVICE_IPC_BYTES], void **pointer, uint64_t *size);
	int (*memory_close)(struct device *device, void *pointer);
	const struct device_virtual_memory *virtual_memory; /* NULL: of the host's memory */

	int (*module_load)(struct device *device, const struct ptx_module *ptx, struct device_module **module,
			   struct ptx_diagnostic *diagnostic);
	void (*module_unload)(struct device_module *module);
	int (*module_variable)(struct device_module *module, const struct ptx_variable *variable, void **pointer);
	/* The variable lives at `pointer`, which the caller keeps: a managed variable, which all devices share. Right after loading. */
	int (*module_bind)(struct device_module *module, const struct ptx_variable *variable, void *pointer);
	/* The same for any variable of that name, also one within a function, in memory of the host; its value stays. */
	int (*module_bind_name)(struct device_module *module, const char *name, void *pointer);
	/* Compiles nothing yet. Valid until the module is unloaded. */
	int (*module_kernel)(struct device_module *module, const struct ptx_function *function, struct device_kernel **kernel);
	/* Compiles for the block shape (0,0,0: the generic form) if needed and says what came of it. */
	int (*kernel_prepare)(struct device_kernel *kernel, const uint32_t block[3], struct kernel_info *info,
			      struct ptx_diagnostic *diagnostic);

	/* Queues. Work of one queue runs in order; queues run beside one another. Submitting never waits for the work;
	 * a launch whose kernel does not compile fails at submit with the compiler's status. */
	int (*queue_create)(struct device *device, int priority, struct device_queue **queue);
	void (*queue_destroy)(struct device_queue *queue);           /* waits for its work */
	int (*queue_launch)(struct device_queue *queue, struct device_kernel *kernel, const struct launch_config *config);
	/* The same launches again and again, prepared once: one command, which does them one after the other. Everything of
	 * `launches` is copied. A list may be in one queue several times, but in two queues only where one waits for the other.
	 * Releasing it leaves the commands that were made of it. All three are there, or none. */
	int (*list_create)(struct device *device, const struct device_launch *launches, size_t count, struct device_list **list);
	void (*list_release)(struct device_list *list);
	int (*queue_launch_list)(struct device_queue *queue, struct device_list *list);
	int (*queue_copy)(struct device_queue *queue, void *to, const void *from, uint64_t size);
	int (*queue_copy_2d)(struct device_queue *queue, void *to, uint64_t to_pitch, uint64_t to_slice, const void *from,
			     uint64_t from_pitch, uint64_t from_slice, uint64_t width, uint64_t height, uint64_t depth);
	int (*queue_fill)(struct device_queue *queue, void *to, uint64_t pitch, uint32_t value, unsigned element, uint64_t width,
			  uint64_t height); /* width in elements of 1, 2 or 4 bytes */
	/* Waits until the word of 4 or 8 bytes at a place that the host need not reach is as CUstreamWaitValue_flags say. NULL: the host waits. */
	int (*queue_wait_value)(struct device_queue *queue, void *address, uint64_t value, unsigned bytes, unsigned flags);
	int (*queue_host_function)(struct device_queue *queue, void (*function)(void *), void *argument);
	/* A point in a queue: tickets of one queue grow. wait_ticket makes `queue` wait for another queue's ticket. */
	int (*queue_ticket)(struct device_queue *queue, uint64_t *ticket); /* that of the last command submitted */
	int (*queue_mark)(struct device_queue *queue, uint64_t *ticket); /* the same where others will wait for just that; NULL: no difference */
	bool (*queue_done)(struct device_queue *queue, uint64_t ticket);
	int (*queue_wait)(struct device_queue *queue, struct device_queue *other, uint64_t ticket);
	int (*queue_synchronize)(struct device_queue *queue, uint64_t ticket); /* host waits; helps to run blocks meanwhile */
	/* Calls `function` with the time at which the queue reached this point (event timing); runs on any thread, quick. */
	int (*queue_timestamp)(struct device_queue *queue, uint64_t *when_ns);
	/* Texture and surface objects: the number that kernels get. Destroying one that kernels still use ends them. */
	int (*texture_create)(struct device *device, const struct texture_description *description, uint64_t *object);
	void (*texture_destroy)(struct device *device, uint64_t object);
	/* Kernels here may use other devices' objects too, all that there are now: for comparing, where the memory is the same. */
	int (*textures_adopt)(struct device *device);
	int (*set_limit)(struct device *device, enum device_limit limit, uint64_t value); /* for later launches */
	void (*set_driver)(const struct device_driver *driver); /* before anything runs */
	void (*kernel_owner)(struct device_kernel *kernel, void *owner); /* what to name when its code asks for struct device_driver's */
	/* The sticky error of a device: 0, or the CUresult of the first kernel that failed. */
	int (*error)(struct device *device);
	void (*reset)(struct device *device); /* after cuDevicePrimaryCtxReset: clears the sticky error; queues are gone by then */
};

/* What device code asks by way of the device runtime, and the driver knows. `owner` is what kernel_owner() named for some kernel of the
 * module. Return CUresult values. */
struct device_driver {
	int (*ordinal)(void *owner, int *count); /* as programs number the devices */
	int (*attribute)(void *owner, int attribute, int *value);
	int (*function_attribute)(void *owner, const struct ptx_function *kernel, int attribute, int *value); /* CUfunction_attribute */
	int (*occupancy)(void *owner, const struct ptx_function *kernel, int threads, uint64_t dynamic_shared, int *blocks);
	int (*limit)(void *owner, int limit, uint64_t *value);
	const char *(*error_name)(int status), *(*error_text)(int status); /* of the runtime; NULL: no such status */
	int version; /* of the runtime */
};

extern const struct device_ops cpu_device_ops;
extern const struct device_ops amd_device_ops;

#endif
