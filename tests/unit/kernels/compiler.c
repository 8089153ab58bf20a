/* Stands in for the compiler: hands out the objects of kernels.c by the kernel's name, from the folder that it lies in itself.
 * A kernel that kernels.h does not know "does not compile". DRAGOMAN_TEST_DELAY: milliseconds that each takes.
 * DRAGOMAN_TEST_QUICK: where there may be a quick form it comes first, with 16 bytes of local memory more a thread; the full one then is done
 * when the file DRAGOMAN_TEST_HOLD is no longer there, and, if DRAGOMAN_TEST_FAIL is set, does not compile. */
#define _GNU_SOURCE
#include "backend/cpu/abi.h"
#include "codegen/codegen.h"
#include "kernels.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct test_kernel {
	const char *name;
	struct kernel_info info;
	const char *symbols;
	size_t symbols_size;
} kernels[] = {
#define KERNEL(name_, lanes_, flags_, shared, local, symbols_)                                                         \
	{ #name_,                                                                                                      \
	  { .abi = CPU_ABI, .lanes = lanes_, .shared_bytes = shared, .shared_align = 16, .local_bytes = local,         \
	    .parameter_bytes = 32, .flags = flags_ },                                                                  \
	  symbols_, sizeof symbols_ - 1 },
	TEST_KERNELS
};

static void *read_object(const char *name, size_t *size)
{
	char path[PATH_MAX];
	Dl_info self;
	if (!dladdr(kernels, &self))
		return NULL;
	const char *slash = strrchr(self.dli_fname, '/');
	snprintf(path, sizeof path, "%.*s/kernel_%s.o", (int)(slash - self.dli_fname), self.dli_fname, name);
	FILE *file = fopen(path, "rb");
	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	long length = ftell(file);
	rewind(file);
	void *object = malloc((size_t)length);
	*size = fread(object, 1, (size_t)length, file);
	fclose(file);
	return object;
}

static bool compile(const struct ptx_module *module, const struct ptx_function *function, const struct compile_options *options,
		    struct compile_result *result, struct ptx_diagnostic *diagnostic)
{
	(void)module;
	const char *delay = getenv("DRAGOMAN_TEST_DELAY"), *hold = getenv("DRAGOMAN_TEST_HOLD");
	bool tiers = getenv("DRAGOMAN_TEST_QUICK"), quick = tiers && options->may_be_quick;
	while (tiers && !quick && hold && !access(hold, F_OK))
		usleep(500);
	if (tiers && !quick && getenv("DRAGOMAN_TEST_FAIL")) {
		diagnostic->message = strdup("t.ptx:1:1: error: meant to fail\n");
		return false;
	}
	if (delay)
		usleep((unsigned)atoi(delay) * 1000);
	for (size_t i = 0; i < ARRAY_LENGTH(kernels); i++) {
		const struct test_kernel *k = &kernels[i];
		if (strcmp(k->name, function->symbol.name))
			continue;
		*result = (struct compile_result){ .info = k->info, .symbols_size = k->symbols_size, .quick = quick };
		result->info.local_bytes += quick ? 16 : 0;
		if (options->lanes) /* the bodies do any number of threads a call */
			result->info.lanes = options->lanes;
		result->symbols = malloc(k->symbols_size + 1);
		memcpy(result->symbols, k->symbols, k->symbols_size);
		for (size_t at = 0; at < k->symbols_size; at++)
			result->info.symbol_count += !k->symbols[at];
		result->object = read_object(k->name, &result->object_size);
		return result->object != NULL;
	}
	diagnostic->message = strdup("t.ptx:1:1: error: no such test kernel\n");
	return false;
}

const struct compiler *dragoman_compiler(void);
__attribute__((visibility("default"))) const struct compiler *dragoman_compiler(void)
{
	static const struct compiler compiler = { COMPILER_INTERFACE, "test", compile, NULL };
	return &compiler;
}
