/* A code-generation target as one table. */
#ifndef DRAGOMAN_TARGET_H
#define DRAGOMAN_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "codegen/emit.h"

struct target {
	const char *name;        /* "cpu" */
	unsigned width;          /* native lanes of 32 bits */
	bool fast_gather;        /* llvm.masked.gather/scatter are instructions worth using */
	bool fast_masked_memory; /* masked contiguous loads and stores cost about what plain ones do */
	bool bit_masks;          /* masks live in mask registers (AVX-512): <n x i1> may cross blocks */
	char triple[64], cpu[64], features[2048];
	LLVMTargetMachineRef (*machine)(const struct target *target, unsigned opt_level);
};

/* false where LLVM has no such target. */
bool target_init(struct target *target, const struct compile_options *options);

#endif
