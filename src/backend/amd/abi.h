/* The contract between kernels compiled for AMD GPUs and the back end that launches them.
 *
 * A code object has one kernel, `kernel` (descriptor `kernel.kd`). Its arguments are one block of bytes: the PTX parameter buffer
 * (kernel_info.parameter_bytes) padded to a multiple of 16, then struct amd_launch. None of HIP's hidden arguments are used: they differ
 * between versions. Launch it with HIP_LAUNCH_PARAM_BUFFER_POINTER.
 *
 * Threads. Without KERNEL_PADDED the hardware's block is the program's: always with waves of 32, and with waves of 64 for kernels in which
 * nothing shows which threads are a warp (ir_shows_no_warps) and for large blocks. With it (wave64 machines) the hardware's block is flat,
 * amd_padded_threads() × 1 × 1: 64 hardware threads for each warp of 32, of which the upper half leaves at once.
 *
 * Shared memory is LDS: the static part, dynamic shared memory from the next multiple of 16 on, then what the device library keeps there. The
 * kernel's own group segment is kernel_info.shared_bytes, without the dynamic bytes, which are what HIP is asked for as dynamic. All of
 * it together: AMD_SHARED_MAX at most.
 *
 * Traps. Who traps says why in struct amd_service and sets amd_launch.stopped. Kernels of modules in which something may trap or fail an
 * assertion look at that word first and leave (may_stop() in target_amd.c), as does, in any kernel, who waits for others.
 *
 * Grids. %ctaid and %nctaid are the hardware's block numbers and amd_launch.grid.
 *
 * Clusters of several blocks. The code is another one (compile_options.cluster): shared memory is device memory, in which a cluster's blocks have
 * theirs in a row, amd_launch.cluster_shift apart, in one of cluster_slots places; LDS is the device library's alone (AMD_CLUSTER_BYTES,
 * then its barriers). A block takes the next number as it begins, which says the cluster and the rank in it, so that of the clusters
 * that wait for blocks that have not begun there is one at most, whatever order the hardware begins blocks in: it is enough that the
 * device can hold one cluster. A cluster waits until the one that had its place before is over.
 *
 * src/devlib/amd is compiled against this header too, for the GPU: only fixed-width integers here, 64-bit ones for addresses.
 * AMD_ABI changes with it, is kernel_info.abi and so part of every cache key. */
#ifndef DRAGOMAN_AMD_ABI_H
#define DRAGOMAN_AMD_ABI_H

#include <stdint.h>

enum { AMD_ABI = 0x414d0008 };           /* never CPU_ABI */
enum { AMD_SHARED_MAX = 64 << 10 };      /* bytes of LDS a block */
enum { AMD_NO_BARRIERS = 0xfffffff };   /* in place of their offset */
enum { AMD_BARRIER_BYTES = 352 };        /* of which the device library may take so many */
enum { AMD_PADDED_THREADS_MAX = 512 };   /* of the program's, a block, in the padded form; larger ones have two warps to a wave */

/* One launch; copied behind the parameters. */
struct amd_launch {
	uint32_t grid[3], block[3];      /* as the program asked */
	uint32_t cluster[3];             /* blocks */
	uint32_t dynamic_shared;         /* bytes */
	uint32_t static_shared;          /* bytes, the program's own: kernel_info.shared_bytes or less */
	uint32_t sm_count;               /* %nsmid */
	uint64_t grid_id;
	uint32_t envreg[4];              /* %envreg0…3 (1,2: the grid-sync workspace) */
	uint64_t symbols;                /* device address of uint64_t[kernel_info.symbol_count]: addresses, in order */
	uint64_t service;                /* device address of struct amd_service */
	uint64_t children;               /* device address of struct amd_children; 0 without KERNEL_LAUNCHES */
	uint64_t stopped;                /* device address of a word in device memory: not 0 once a kernel has trapped */
	/* For clusters of several blocks, else zeros. */
	uint64_t clusters;               /* device address of struct amd_clusters, zeros before the launch */
	uint64_t cluster_shared;         /* device address of (cluster_slots × blocks a cluster) << cluster_shift bytes */
	uint32_t cluster_slots, cluster_shift;
};

/* In device memory. */
struct amd_cluster {
	uint32_t rounds;                 /* clusters that had this place and are over */
	uint32_t barrier;                /* of all waves: phase (high half), arrived in it (low half) */
	uint32_t exited;                 /* waves that come to no barrier any more */
	uint32_t left;                   /* waves that look at this no more */
	uint32_t unused[12];
};
struct amd_clusters {
	uint32_t started;                /* blocks */
	uint32_t unused[15];
	struct amd_cluster places[];
};

/* In LDS, from AMD_CLUSTER_AT on, in code for clusters. */
enum { AMD_CLUSTER_AT = 16, AMD_CLUSTER_BYTES = 480, AMD_WAVES_MAX = 32 };
struct amd_cluster_block {
	uint64_t shared;                 /* address of the block's shared memory; 0: the kernel has trapped */
	uint64_t cluster;                /* address of its cluster's struct amd_cluster */
	uint32_t index[3];               /* %ctaid */
	uint32_t rank;
	struct amd_cluster_wave {
		uint32_t phase;          /* of the last arrival, plus 1; 0: none */
		uint32_t lanes[2];       /* that have come to it */
	} waves[AMD_WAVES_MAX];
};

/* What a kernel tells the host: in host memory that the device sees at the same address (fine-grained). One a device. The back end looks at it
 * after each launch that has one of KERNEL_PRINTS, KERNEL_TRAPS, and empties it. */
struct amd_service {
	/* The first thread that traps: it swaps state from 0 to 1, fills the rest, then sets state to 2. */
	uint32_t state;
	uint32_t status;                 /* CUresult: 719 trap, 710 assertion, 715 illegal instruction, 716 misaligned, 700 illegal address */
	uint32_t block[3], thread[3];
	uint32_t line;                   /* of an assertion */
	uint32_t unused;
	char message[256], file[256], function[256]; /* of an assertion, the message also of others; cut, ends with 0 */
	/* printf: records (struct amd_print) one behind the other, in [print, print + print_size). A record that does not fit is dropped
	 * and counted. */
	uint64_t print;                  /* address */
	uint32_t print_size;             /* bytes */
	uint32_t print_used;             /* grows by atomic addition, beyond print_size where records are dropped */
	uint32_t print_dropped;
	uint32_t unused2;
	/* malloc in device code: device memory. The words before AMD_HEAP_START are the allocator's own, zero at first. */
	uint64_t heap;                   /* address, 4096-byte aligned; 0: none */
	uint64_t heap_size;              /* bytes */
	uint64_t clock_khz;              /* of the counter behind %globaltimer (100000 on most) */
	/* Texture and surface objects (backend/common/texture.h): device address of uint64_t[TEXTURE_CHUNKS], each the address of
	 * TEXTURE_CHUNK records or 0; 0: there are no objects. */
	uint64_t textures;
	uint64_t locks;                  /* address, in device memory, of AMD_LOCKS locks of AMD_LOCK_WORDS words: 0 free, 1 taken */
};
enum { AMD_HEAP_START = 4096 };
enum { AMD_ILLEGAL_ADDRESS = 700, AMD_LAUNCH_FAILED = 719 }; /* CUresults */
enum { AMD_LOCKS = 64, AMD_LOCK_WORDS = 16 };
enum { AMD_WIDE_LOAD, AMD_WIDE_EXCHANGE, AMD_WIDE_COMPARE }; /* accesses of 128 bits, which are done under them */

/* printf: `bytes` in all, a multiple of 8. Behind it: the format with its 0, padded to a multiple of 8; then `argument_bytes` as vprintf
 * takes them (a multiple of 8); then the strings of its %s conversions, each with its 0, in order: their arguments are
 * device addresses, which the host replaces. Valid once `ready` is 1: a kernel that ends early may leave one that is not. */
struct amd_print {
	uint32_t bytes, ready;
	uint32_t format_bytes, argument_bytes;
	uint32_t string_bytes, string_count;
};

/* What device code asks the host while it runs, a thread at a time: it swaps state from 0 to 1, fills in the question and sets 2; the host
 * answers and sets 3, the thread sets 0. It keeps its place meanwhile, and nothing else has to run on the device for that. */
struct amd_question {
	uint32_t state;                  /* enum amd_question_state */
	uint32_t call;                   /* enum device_call */
	uint64_t words[3];
	uint32_t status, unused;         /* a cudaError_t */
	uint64_t answers[10];            /* a number; of a function: its sizes, then the other words of struct cudaFuncAttributes */
};
enum amd_question_state { AMD_QUESTION_NONE, AMD_QUESTION_BEGUN, AMD_QUESTION_ASKED, AMD_QUESTION_ANSWERED };
enum { AMD_FUNCTION_SIZES = 3, AMD_FUNCTION_WORDS = 7 };

/* What a kernel with KERNEL_LAUNCHES launches, copies and fills by way of the device runtime: in host memory as above, one a launch. The host
 * reads it when the grid is over. Requests (struct amd_request) lie one behind the other in [requests, requests + size), each from a
 * multiple of 64 on; what finds no room is refused. */
struct amd_children {
	uint64_t requests;               /* address */
	uint64_t size;                   /* bytes there */
	uint64_t used;                   /* grows by atomic addition, also by what finds no room */
	uint32_t order;                  /* requests put so far */
	uint32_t names;                  /* streams and events made so far */
	int32_t device, device_count, version; /* cudaGetDevice() etc. say so */
	uint32_t shared_most;            /* bytes of dynamic shared memory a block may have */
	uint64_t errors;                 /* address of uint64_t[2][AMD_ERRORS]: addresses of each cudaError_t's name, then of its text */
	struct amd_question question;
};
enum { AMD_ERRORS = 1024 };              /* the last one stands for all that there are not */

enum amd_request_kind { AMD_REQUEST_LAUNCH = 1, AMD_REQUEST_COPY, AMD_REQUEST_FILL, AMD_REQUEST_RECORD, AMD_REQUEST_WAIT };

struct amd_request {
	uint32_t bytes;                  /* in all */
	uint32_t kind;                   /* enum amd_request_kind */
	uint32_t order;                  /* 1 and up, by the order of the calls; 0: not put, such as parameters of what is not launched */
	uint32_t block;                  /* number of the block that put it */
	uint64_t stream;                 /* as the program has it */
	uint64_t unused;
	union {
		struct {                     /* the parameters are behind the request */
			uint64_t kernel;     /* amd_kernel_value() */
			uint32_t grid[3], block[3];
			uint32_t dynamic_shared, parameter_bytes;
		} launch;
		struct {
			uint64_t to, to_pitch, to_slice, from, from_pitch, from_slice, width, height, depth;
		} copy;
		struct {
			uint64_t to, pitch, width, height, value;
		} fill;
		uint64_t event;
	};
	uint64_t unused2[3];
};

/* The handles of streams and events that device code makes, with a number in the low half. */
enum { AMD_STREAM_HANDLE = 0x72745342, AMD_EVENT_HANDLE = 0x6e764542 };
/* Streams that there are without making them. */
enum { AMD_STREAM_LEGACY = 1, AMD_STREAM_PER_THREAD = 2, AMD_STREAM_TAIL = 3, AMD_STREAM_FIRE_AND_FORGET = 4 };

/* A kernel as a value in device code: its number among the module's functions, and what a launch must know. */
enum { AMD_KERNEL_TAG = 0x4b };
static inline uint64_t amd_kernel_value(uint32_t number, uint32_t max_threads, uint32_t parameter_bytes)
{
	return (uint64_t)AMD_KERNEL_TAG << 56 | (uint64_t)(number & 0xffffff) << 32 | (max_threads & 0xffffu) << 16 | (parameter_bytes & 0xffffu);
}

static inline uint32_t amd_launch_offset(uint32_t parameter_bytes)
{
	return (parameter_bytes + 15u) & ~15u;
}

static inline uint32_t amd_padded_threads(uint32_t threads)
{
	return (threads + 31u) / 32u * 64u;
}

#endif
