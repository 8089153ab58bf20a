/* The compiler's interface: one kernel of a parsed module, for one target, in; an object out.
 *
 * The compiler lives in libdragoman-compiler.so, the only object of ours that needs LLVM. Everybody else
 * includes this header and gets compiler_compile() by compiler_load() (src/cache/compiler.c), which opens that
 * library with RTLD_LOCAL on the first cache miss. */
#ifndef DRAGOMAN_CODEGEN_H
#define DRAGOMAN_CODEGEN_H

#include "ptx/ptx.h"

/* Rows of spec/ptx.isa are numbered alike on both sides, or the compiler must not be used. The first
 * number is raised with every change of the structures here. */
enum { COMPILER_INTERFACE = 3 << 24 | ISA_ROW_COUNT << 12 | ISA_MOD_COUNT };

struct compile_options {
	/* Threads that one call of the code runs: 0 lets the compiler choose (a warp as chunks of native vectors);
	 * 1 is the scalar form: a thread a call, meeting others through the runtime. 8, 16, 32: as said. */
	uint8_t lanes;
	uint8_t vector;        /* lanes of a chunk: 0 = the target's natural width; 4, 8, 16 */
	uint8_t opt_level;     /* 2; 1: the quick form, for a kernel that is to run soon rather than fast; 0: as it comes */
	bool may_be_quick;     /* 1 in place of 2 where 2 would take long: compile_result.quick says so (no part of the cache's key) */
	bool small_grid;       /* the launch's threads in each dimension are < 2^31: global indices do not wrap */
	bool check_alignment;  /* of addresses; end the kernel where they are not (DRAGOMAN_CHECK_ALIGNMENT) */
	bool in_step;          /* the scalar form for a machine that runs the 32 threads of a warp in step */
	bool two_warps;        /* in_step: and two warps with each other */
	bool exact_products;   /* AMD: matrix products of floats as NVIDIA's cards round them, to the bit, and not as this one does (DRAGOMAN_MMA=exact) */
	bool fast_products;    /* CPU: products of .f16, .bf16 and .tf32 as chains of float operations, and not as a card makes them (DRAGOMAN_MMA=fast) */
	bool cluster;          /* AMD: for launches in clusters of several blocks (backend/amd/abi.h) */
	bool fibers;           /* barriers always switch fibers: kernels are not cut into regions */
	uint32_t block[3];     /* specialise on this block shape; 0,0,0: any */
	const char *cpu;       /* LLVM names; NULL: the host's */
	const char *features;
	const char *target;    /* "cpu" or "gfx1100" …; NULL: "cpu" */
};

/* What the runtime must know of compiled code; stored with the object in the cache. */
struct kernel_info {
	uint32_t abi;            /* CPU_ABI of backend/cpu/abi.h, AMD_ABI of backend/amd/abi.h */
	uint32_t lanes;          /* threads a call runs */
	uint32_t shared_bytes;   /* static shared memory */
	uint32_t shared_align;
	uint32_t local_bytes;    /* per thread, of .local variables */
	uint32_t parameter_bytes;
	uint32_t max_threads;    /* from .maxntid/.reqntid; 0: none */
	uint32_t registers;      /* estimate, for cuFuncGetAttribute */
	uint32_t flags;          /* enum kernel_flags */
	uint32_t symbol_count;   /* entries of the symbol table below */
	uint32_t context_bytes;  /* for each group of `lanes` threads: what lives across barriers; a multiple of 64 */
};
enum kernel_flags {
	KERNEL_SUSPENDS = 1,     /* calls cpu_services that may wait for other threads: needs a fiber a call */
	KERNEL_COOPERATIVE = 2,  /* meets or waits for other blocks */
	KERNEL_PRINTS = 4,
	KERNEL_TEXTURES = 8,
	KERNEL_YIELDS = 16,      /* spins on memory: blocks must make progress together */
	KERNEL_LAUNCHES = 32,    /* dynamic parallelism */
	KERNEL_PADDED = 64,      /* AMD: backend/amd/abi.h */
	KERNEL_TRAPS = 128,      /* AMD: may end itself; struct amd_service says so */
	KERNEL_ALLOCATES = 256,  /* AMD: calls malloc: struct amd_service has its heap */
	KERNEL_ROWS = 512        /* one call runs several blocks: cpu_block.more_x */
};

struct compile_result {
	bool quick;   /* of opt_level 1, though 2 was asked for */
	struct kernel_info info;
	void *object; /* relocatable ELF for the CPU, loadable code object for AMD; malloc'ed */
	size_t object_size;
	/* Names of the module variables and functions whose addresses the code reads from cpu_launch.symbols[i];
	 * NUL-separated, symbol_count of them; malloc'ed. A function's entry is its scalar form in the same object. */
	char *symbols;
	size_t symbols_size;
};
void compile_result_fini(struct compile_result *result);

/* false and a diagnostic on error. Safe from several threads at once. */
typedef bool compiler_compile_fn(const struct ptx_module *module, const struct ptx_function *kernel,
				 const struct compile_options *options, struct compile_result *result,
				 struct ptx_diagnostic *diagnostic);
/* Text for `dragoman ptx --dump`: what = "ir", "llvm" or "asm". malloc'ed, NULL and a diagnostic on error. */
typedef char *compiler_dump_fn(const struct ptx_module *module, const struct ptx_function *kernel,
			       const struct compile_options *options, const char *what, struct ptx_diagnostic *diagnostic);
struct compiler {
	unsigned interface;    /* COMPILER_INTERFACE */
	const char *version;   /* part of every cache key: our version and LLVM's */
	compiler_compile_fn *compile;
	compiler_dump_fn *dump;
};
/* The one symbol that libdragoman-compiler.so exports. */
const struct compiler *dragoman_compiler(void);

#endif
