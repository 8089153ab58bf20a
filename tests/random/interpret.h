/* A second opinion on PTX: an interpreter written from the manual, one thread and one instruction at a time, sharing
 * nothing with the compiler but the parser. It serves the random programs (generate.py) and is strict: what PTX leaves undefined
 * (registers read before they are written, accesses out of bounds, threads that wait for ever) makes a program invalid. */
#ifndef RANDOM_INTERPRET_H
#define RANDOM_INTERPRET_H

#include "ptx/ptx.h"

struct interpret_launch {
	uint32_t grid[3], block[3];
	uint8_t *memory; /* the only global memory, but for the module's variables */
	size_t memory_bytes;
	const uint8_t *parameters;
	bool backwards; /* threads and blocks in the opposite order: a program whose result changes is racy */
};

enum interpret_result {
	INTERPRET_DONE,
	INTERPRET_INVALID, /* the program is wrong; why says how */
	INTERPRET_UNKNOWN  /* it uses something that is not modelled here */
};

enum interpret_result interpret_run(const struct ptx_module *module, const struct ptx_function *kernel,
				    const struct interpret_launch *launch, char *why, size_t why_size);

/* arithmetic.c: what a pure instruction makes of its operands. second: the other result of a pair (setp's q). False: not
 * modelled. Operands and results are bit patterns of the types that the instruction has, in the low bits. */
struct interpret_pure {
	const struct ptx_instruction *in;
	uint64_t a[8];
	unsigned count;
	bool carry; /* read and written by the extended-precision instructions */
	uint64_t result, second;
};
bool interpret_pure(struct interpret_pure *p);

#endif
