/* The test-only emulator of AMD GPUs: loads a code object as ROCr does and executes its kernels, instruction by
 * instruction, on the host. This is what the fake libamdhip64 (hip_*.c) sees of it.
 *
 * Device memory is host memory at its own address; memory.c keeps the table of what is allocated, and an access
 * outside of it is a fault. Nothing here knows of HIP. */
#ifndef AMD_EMULATOR_H
#define AMD_EMULATOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_object;

/* What a GPU of this name can do; NULL for a name that the emulator does not model. */
struct gpu_model {
	const char *name;
	unsigned machine;	/* EF_AMDGPU_MACH */
	unsigned generation;	/* 9 to 12 */
	bool cdna;		/* gfx90a and gfx942: accumulation registers, packed work-item ids, MFMA */
	bool sram_ecc;		/* 16-bit loads clear the other half of the register */
	unsigned compute_units;
	unsigned wave;		/* the wave size that HIP reports */
	unsigned vector_registers;
	const char *product;
};
const struct gpu_model *gpu_model_find(const char *name);
const struct gpu_model *gpu_model_of_machine(unsigned machine);

/* An argument of a kernel, from the code object's metadata. */
struct kernel_argument {
	unsigned offset, size;
	char kind[32];		/* .value_kind: by_value, global_buffer, hidden_… */
};

struct kernel {
	char *name;
	struct code_object *object;
	const uint8_t *descriptor;
	uint64_t entry;		/* address of the first instruction */
	uint32_t group_bytes, private_bytes, kernarg_bytes;
	uint32_t rsrc1, rsrc2, rsrc3;
	uint16_t properties;
	bool has_metadata, dynamic_stack;
	unsigned max_threads, wave_size, vector_registers, scalar_registers;
	struct kernel_argument *arguments;
	unsigned argument_count;
};

/* Loads a code object of `size` bytes. NULL and a line in `error` if it cannot be. */
struct code_object *code_object_load(const void *elf, size_t size, char *error, size_t error_size);
void code_object_destroy(struct code_object *object);
const struct gpu_model *code_object_gpu(const struct code_object *object);
/* The size of the ELF at `elf` by its section headers, as HIP computes it; 0 if there is none. */
size_t code_object_size(const void *elf);
const struct kernel *code_object_kernel(struct code_object *object, const char *name);
/* A global variable: its address and size; NULL if there is none of that name. */
void *code_object_variable(struct code_object *object, const char *name, size_t *size);

/* Work-groups of `block` work-items each, `grid` of them. Kernel arguments: the kernarg segment as the caller laid
 * it out, hidden arguments included. */
struct dispatch {
	const struct kernel *kernel;
	uint32_t grid[3], block[3];
	uint32_t dynamic_group_bytes;
	uint32_t stack_bytes;	/* a lane, for kernels with a dynamic stack */
	bool cooperative;	/* all blocks make progress together */
	unsigned resident;	/* blocks that a host thread may have begun and not ended; 0: one */
	const void *kernarg;
	size_t kernarg_bytes;
	const volatile bool *stop;	/* when set from another thread, the dispatch ends with an error; may be NULL */
};
enum dispatch_status { DISPATCH_OK, DISPATCH_FAULT, DISPATCH_TRAP, DISPATCH_UNSUPPORTED };
/* Runs to the end; `error` gets one line for anything but DISPATCH_OK. */
enum dispatch_status dispatch_run(const struct dispatch *dispatch, char *error, size_t error_size);

/* Instructions executed by the process so far (waves' instructions, and lanes that they were executed for). */
void dispatch_count(uint64_t *instructions, uint64_t *lane_instructions);

/* The table of memory that kernels may touch. */
void memory_add(const void *start, size_t size);
void memory_remove(const void *start);
/* The allocation that holds [address, address + size): true, and its start and size. */
bool memory_find(uint64_t address, size_t size, uint64_t *start, size_t *length);
/* Changes whenever the table does, so that what was looked up can be kept. */
uint64_t memory_generation(void);

#endif
