/* What back ends have in common: a module's variables in memory, kernels' code from the cache or the compiler, printf of device code.
 *
 *     variables.c   where each variable lies and what it holds at first
 *     code.c        a kernel's variants, one a block shape: found, taken from the cache, or compiled
 *     background.c  what is compiled while a quick form runs, and takes its place
 *     print.c       formats and their arguments
 *     texture.h     textures and surfaces: objects, sampling */
#ifndef DRAGOMAN_BACKEND_COMMON_H
#define DRAGOMAN_BACKEND_COMMON_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend/status.h"
#include "cache/cache.h"
#include "codegen/codegen.h"

/* ---- variables.c ----------------------------------------------------------------------------- */

struct body_variable { /* .global or .const inside a function */
	const struct ptx_variable *variable;
	uint64_t address;
};

/* All of a module's variables lie in one allocation of the device's. */
struct variables {
	const struct ptx_module *ptx;
	uint64_t bytes;      /* of the allocation; 0: there are none */
	uint64_t base;       /* its address on the device */
	uint64_t *addresses; /* of each module-level variable; 0: it has none here */
	VEC(struct body_variable) bodies;
	/* The address that a function has as a value; 0: none. */
	uint64_t (*function_address)(void *context, const struct ptx_function *function);
	void *context;
};

/* `bytes` is known after it. False where memory is gone. */
bool variables_init(struct variables *variables, const struct ptx_module *ptx);
void variables_fini(struct variables *variables);
/* Says where the allocation is; once. */
void variables_place(struct variables *variables, uint64_t base);
/* Writes the initial values into `image`, zeroed, which stands for the allocation; what is bound elsewhere is written where it is. */
bool variables_initialise(struct variables *variables, void *image, struct ptx_diagnostic *diagnostic);
/* The variable lives at `pointer`, in memory of the host. False where it is not one that can. */
bool variables_bind(struct variables *variables, const struct ptx_variable *variable, void *pointer);
/* The same by name, the first variable that has it, also within functions. */
bool variables_bind_name(struct variables *variables, const char *name, void *pointer);
/* Writes those again that hold the address of `variable`. */
void variables_follow(struct variables *variables, void *image, const struct ptx_variable *variable);
uint64_t variables_address(const struct variables *variables, const struct ptx_variable *variable); /* 0: none here */
/* By name, as an object's symbol table has it: the kernel's own first, then the module's, then other functions'. 0: none. */
uint64_t variables_find(const struct variables *variables, const struct ptx_function *kernel, const char *name);

/* ---- code.c ---------------------------------------------------------------------------------- */

/* The major number of the compute capability that devices show, which have no such number. 8 (8.0): what most programs carry PTX for and nothing
 * that only matrix units of later cards have. 9 is for programs that use clusters if they find a device for them
 * (DRAGOMAN_COMPUTE_CAPABILITY). */
int capability_shown(void);

struct variant_key {
	uint32_t block[3];
	bool small_grid; /* see struct compile_options */
	bool by_thread;  /* the scalar form, wanted for an error message: failing to get it is not reported */
	bool cluster;    /* see struct compile_options */
};

enum variant_state { VARIANT_COMPILING, VARIANT_READY, VARIANT_FAILED };

/* A back end's variant of a kernel begins with this. */
struct variant {
	struct variant_key key;
	_Atomic int state;   /* enum variant_state */
	int status;          /* CUresult of a failed compilation */
	char *message;       /* and its text */
	struct kernel_info info;
	_Atomic(struct variant *) better; /* the full form, where this is the quick one: it may be run in place of this from any block on */
	struct variant *next;
};

struct code_kernel;

/* What a back end does with code. */
struct code_ops {
	size_t kernel_size, variant_size; /* of the back end's own, which begin with ours */
	uint32_t abi;
	bool quick;          /* a quick form may come first (see struct compile_options): the back end looks at variant.better */
	uint32_t any_shape_threads; /* blocks of so many run the form for any shape, where the cache has that alone; 0: never */
	void (*options)(const struct code_kernel *kernel, const struct variant *variant, struct compile_options *options);
	uint64_t (*features)(const struct code_kernel *kernel); /* what decides the code beyond the options: part of the cache's key */
	const char *(*target)(const struct code_kernel *kernel); /* for people */
	/* An object, from the compiler or the cache, becomes code that runs; code_fail() where it does not. */
	int (*load)(struct code_kernel *kernel, struct variant *variant, const struct compile_result *result);
	void (*unload)(struct code_kernel *kernel, struct variant *variant); /* all that load() made, also where it failed halfway */
};

/* A back end's module has one. */
struct code_module {
	const struct code_ops *ops;
	const struct ptx_module *ptx;
	struct code_kernel *kernels;
	pthread_mutex_t lock;
	pthread_cond_t compiled;
	bool hashed;
	uint8_t text_hash[32];
};
void code_module_init(struct code_module *module, const struct code_ops *ops, const struct ptx_module *ptx);
void code_module_drop_kernels(struct code_module *module); /* all of them, with their code */
void code_module_fini(struct code_module *module);

/* A back end's kernel begins with this, all else in it zeroed. */
struct code_kernel {
	struct code_module *module;
	struct code_kernel *next;
	const struct ptx_function *function;
	struct variant *variants;
	unsigned variant_count;
	_Atomic(struct variant *) last; /* used; ready */
};
/* The module's kernel of that function, made where there is none; NULL without memory. */
struct code_kernel *code_module_kernel(struct code_module *module, const struct ptx_function *function);
const char *code_kernel_name(const struct code_kernel *kernel);
int code_fail(struct variant *variant, int status, const char *format, ...) PRINTF_LIKE(3, 4); /* `status`; the message is kept */
/* The addresses that the code reads from its table, malloc'ed, one more than there are. */
int code_symbols(struct code_kernel *kernel, struct variant *variant, const struct compile_result *result,
		 const struct variables *variables, uint64_t **symbols);

/* Finds the variant or has it made, waiting where somebody else makes it. Its status; *out also where it failed, NULL only without memory. */
int code_variant_make(struct code_kernel *kernel, struct variant_key key, struct variant **out);

static inline bool variant_is_for(const struct variant *variant, const struct variant_key *key)
{
	return !memcmp(variant->key.block, key->block, sizeof key->block) && variant->key.small_grid == key->small_grid &&
	       variant->key.by_thread == key->by_thread && variant->key.cluster == key->cluster;
}

static inline int code_variant_get(struct code_kernel *kernel, struct variant_key key, struct variant **out)
{
	struct variant *variant = atomic_load_explicit(&kernel->last, memory_order_acquire);
	*out = variant;
	return variant && variant_is_for(variant, &key) ? STATUS_SUCCESS : code_variant_make(kernel, key, out);
}

/* device_ops.kernel_prepare */
int code_kernel_prepare(struct code_kernel *kernel, const uint32_t block[3], struct kernel_info *info, struct ptx_diagnostic *diagnostic);

/* ---- background.c ---------------------------------------------------------------------------- */

/* Has the full form made for a variant that is in its quick one, and kept under `key`, the quick one no longer under `quick_key`. Never waits. */
void background_compile(struct code_kernel *kernel, struct variant *variant, const struct compile_options *options,
			const struct cache_key *key, const struct cache_key *quick_key, const char *target);
bool background_began(const struct cache_key *key); /* has this process asked for it? */
/* Before the module's kernels are dropped. Waits while code is loaded, not while it is compiled. */
void background_forget(struct code_module *module);
struct background_counts {
	uint64_t begun, done, replaced; /* jobs: given to background_compile(), compiled, and now run by their kernels */
};
struct background_counts background_wait(void); /* until nothing is left to do: for tests */

/* ---- print.c --------------------------------------------------------------------------------- */

/* Appends what vprintf(format, values) prints; how many conversions there were. `strings`: what the %s conversions show, each with its 0, one
 * behind the other until `strings_end`; NULL: their arguments are addresses here. */
int32_t print_format(struct text *out, const char *format, const void *values, const char *strings, const char *strings_end);
/* Drops the oldest lines where there are more than `limit` bytes. */
void print_forget(struct text *text, uint64_t limit);

#endif
