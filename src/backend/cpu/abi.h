/* The contract between compiled kernels and the CPU runtime that calls them.
 *
 * Compiled code is one function a kernel, `kernel`, run for `lanes` threads a call (struct kernel_info):
 *
 *     void kernel(struct cpu_block *block, uint32_t first_thread, uint32_t end_thread);
 *
 * It runs the threads [first_thread, end_thread) of the block, numbered x-fastest; first_thread is a multiple of
 * `lanes`. Where KERNEL_SUSPENDS is set it must be called once for each group of `lanes` threads, each call on a fiber of its
 * own; otherwise one call may run all threads of the block. Where KERNEL_ROWS is set one call runs all threads of the block and of the `more_x`
 * blocks that follow it in x, and leaves in index[0] which of them it was at. Code reads what it needs through `block`; it has no other
 * state, no relocations to the outside but the C library's memcpy/memmove/memset, and is position independent.
 *
 * The offsets below are known to src/codegen (it uses offsetof), so both sides are compiled from this header;
 * CPU_ABI changes with it and is part of every cache key. */
#ifndef DRAGOMAN_CPU_ABI_H
#define DRAGOMAN_CPU_ABI_H

#include <stdint.h>

enum { CPU_ABI = 8 };
enum {
	CONTEXT_MAX = 256 << 10,  /* of kernel_info.context_bytes */
	SHARED_WINDOW = 256 << 10 /* readable and writable bytes of a block's shared memory, some more than a program may ask for */
};

struct cpu_block;
typedef void cpu_kernel_fn(struct cpu_block *block, uint32_t first_thread, uint32_t end_thread);
/* Scalar form of a .func, for indirect and recursive calls: parameters and results as byte buffers laid out as PTX says
 * (each naturally aligned, in order; `results` first element at 0, and a byte behind them that says whether the thread has exited). `symbols`:
 * the table of the object that the function is in, which need not be the running kernel's. */
typedef void cpu_function_fn(struct cpu_block *block, uint32_t thread, const void *parameters, void *results, const uint64_t *symbols);

/* The blocks of a cluster have their shared memory at steps of 1 << CLUSTER_SHIFT, in the order of their ranks: the distance from a
 * block's own is the shared address of another's (signed, in 32 bits), and generic addresses are the same for all. */
enum { CLUSTER_SHIFT = 24, CLUSTER_BLOCKS = 16 };

/* Services of the runtime that code calls through block->services. Those marked S may suspend the caller's fiber. A
 * `mask` holds the calling group's lanes that take part (bit i = thread first_thread + i); for lanes = 1 it is 1. */
struct cpu_services {
	/* S: bar.sync/barrier.sync id {, count}; count 0 = all threads of the block that have not exited. op: 0 none,
	 * 1 popc, 2 and, 3 or of `predicate` bits over all participating threads; returns the reduction. */
	uint32_t (*barrier)(struct cpu_block *, uint32_t first_thread, uint32_t mask, uint32_t id, uint32_t count, uint32_t op,
			    uint32_t predicate);
	void (*barrier_arrive)(struct cpu_block *, uint32_t first_thread, uint32_t mask, uint32_t id, uint32_t count);
	/* S: scalar form only: the warp-wide exchange. Waits until the threads of `membermask` (of this warp, not exited) are
	 * all in an exchange, then each gets every lane's `value`: values[32], and the mask of those present. */
	uint32_t (*exchange)(struct cpu_block *, uint32_t thread, uint32_t membermask, uint64_t value, uint64_t values[32]);
	/* S: lets others run; called on the back-edge of loops that wait for memory, and by nanosleep. */
	void (*yield)(struct cpu_block *, uint32_t first_thread);
	/* S: waits for all blocks (grid sync). */
	void (*grid_barrier)(struct cpu_block *, uint32_t first_thread, uint32_t mask);
	/* barrier.cluster.arrive, which does not wait; S: .wait, for all threads of the cluster that have not exited. */
	void (*cluster_arrive)(struct cpu_block *, uint32_t first_thread, uint32_t mask);
	void (*cluster_wait)(struct cpu_block *, uint32_t first_thread, uint32_t mask);
	/* vprintf(format, arguments) of the manual's system calls; addresses are generic. Returns the argument count. */
	int32_t (*print)(struct cpu_block *, uint32_t thread, const char *format, const void *arguments);
	void *(*allocate)(struct cpu_block *, uint32_t thread, uint64_t size);
	void (*release)(struct cpu_block *, uint32_t thread, void *pointer);
	/* These end the kernel; they do not return. */
	void (*assert_fail)(struct cpu_block *, uint32_t thread, const char *message, const char *file, uint32_t line,
			    const char *function);
	void (*trap)(struct cpu_block *, uint32_t thread, uint32_t status); /* CUresult to report: 719 trap, 715 illegal instruction, 716 misaligned */
	/* Textures and surfaces for the lanes of `mask` among `lanes`; forms and arguments as in backend/common/texture.h. They do not
	 * return where an object or an address is not valid. */
	void (*texture)(struct cpu_block *, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask, const uint32_t *arguments,
			uint32_t *out);
	void (*surface)(struct cpu_block *, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask, const int32_t *arguments,
			uint64_t *data);
	uint32_t (*query)(struct cpu_block *, uint64_t object, uint32_t what, uint32_t level);
	/* A call of the device runtime (enum device_call of ir/device_runtime.h): pointers to its parameters; its result. */
	uint64_t (*syscall)(struct cpu_block *, uint32_t thread, uint32_t number, const void *parameters);
	uint64_t (*global_timer)(void); /* ns */
	uint64_t (*clock)(void);        /* cycles at the device's clock rate */
	/* cudaGraphSetConditional: the handle is the address of the value. */
	void (*set_conditional)(struct cpu_block *, uint32_t thread, uint64_t handle, uint32_t value);
};

/* One launch, shared by all of its blocks; read only while it runs. */
struct cpu_launch {
	const uint8_t *parameters;     /* the kernel's parameter buffer, 64-byte aligned, zero-padded to a multiple of 64 */
	const struct cpu_services *services;
	uint32_t grid[3], block[3];
	uint32_t cluster[3];           /* blocks a cluster; 1,1,1 */
	uint32_t dynamic_shared;       /* bytes */
	uint32_t static_shared;        /* bytes; dynamic shared memory starts at static_shared rounded up to 16 */
	uint64_t grid_id;
	uint32_t envreg[4];            /* %envreg0…3 (1,2: the grid-sync workspace) */
	uint32_t sm_count;             /* %nsmid */
	const char *name;              /* of the kernel, for messages */
	void *runtime;                 /* backend/cpu's own */
};

/* One block in flight. Changed only by the worker that runs it. */
struct cpu_block {
	const struct cpu_launch *launch;
	const uint8_t *parameters;     /* = launch->parameters: one load less in the code */
	const uint64_t *symbols;       /* addresses of the kernel_info's symbols, in order */
	const struct cpu_services *services;
	uint8_t *shared;               /* the block's shared memory; also the base of the shared window: shared addresses are offsets from it.
	                                * [shared, shared + shared_window) is mapped for this worker alone */
	uint8_t *local;                /* the threads' local memory: thread t has [local + t*local_stride, + local_bytes) */
	uint64_t local_stride;         /* local_bytes rounded up to 16 */
	uint32_t index[3];             /* %ctaid */
	uint32_t shared_window;        /* bytes */
	uint32_t block[3];             /* %ntid  (= launch->block) */
	uint32_t grid[3];              /* %nctaid */
	uint32_t thread_count;
	uint32_t smid;                 /* the worker's number */
	void *worker;                  /* backend/cpu's own */
	uint32_t cluster_rank;         /* 0 without clusters */
	uint32_t cluster_window;       /* bytes from the shared memory of rank 0 to the end of the last rank's */
	uint32_t more_x;               /* blocks in x that the call runs too (KERNEL_ROWS) */
	uint8_t *context;              /* kernel_info.context_bytes for each group of lanes: the code's own, 64-byte aligned */
};

#endif
