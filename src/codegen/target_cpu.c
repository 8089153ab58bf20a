/* The CPU as a target: what LLVM calls it, and what is worth doing on it. */
#include "codegen/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_feature(const struct target *target, const char *name)
{
	const char *at = target->features;
	size_t length = strlen(name);
	while ((at = strstr(at, name))) {
		if (at > target->features && at[-1] == '+' && (at[length] == ',' || !at[length]))
			return true;
		at += length;
	}
	return false;
}

bool target_init(struct target *target, const struct compile_options *options)
{
	if (options->target && strcmp(options->target, "cpu"))
		return target_init_amd(target, options);
	*target = (struct target){ .name = "cpu", .width = 4, .model = LLVMCodeModelSmall };
	char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
	snprintf(target->triple, sizeof target->triple, "%s", triple);
	snprintf(target->cpu, sizeof target->cpu, "%s", options->cpu ? options->cpu : cpu);
	snprintf(target->features, sizeof target->features, "%s", options->features ? options->features : features);
	LLVMDisposeMessage(triple);
	LLVMDisposeMessage(cpu);
	LLVMDisposeMessage(features);
	if (has_feature(target, "avx2"))
		target->width = 8;
	target->has_signs = !strncmp(target->triple, "x86_64", 6) && has_feature(target, "avx2");
	if (has_feature(target, "avx512vl") && has_feature(target, "avx512bw") && has_feature(target, "avx512dq")) {
		target->bit_masks = target->fast_masked_memory = target->fast_gather = true;
		/* 256-bit registers with mask registers: no lower clock, and half the lanes to waste when lanes part */
		target->width = 8;
	}
	target->byte_sums = has_feature(target, "avx2") && !has_feature(target, "avx512vpopcntdq");
	if (options->vector)
		target->width = options->vector;
	return true;
}
