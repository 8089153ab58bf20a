/* dragoman cache warm: compiles a program's kernels ahead, so that they are in the cache when it starts. What is compiled is the form for
 * any block shape, which the AMD back end uses where the one for the launch's own shape is not there yet. */
#include "command.h"
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct progress {
	unsigned done, all, failed;
	bool bar;
};

static void show(const struct progress *p, const char *name)
{
	enum { WIDTH = 30 };
	if (!p->bar)
		return;
	unsigned full = p->all ? p->done * WIDTH / p->all : 0;
	fprintf(stderr, "\r[%.*s%*s] %u of %u  %-40.40s", (int)full, "##############################", (int)(WIDTH - full), "", p->done, p->all, name);
	if (p->done == p->all)
		fprintf(stderr, "\r%*s\r", WIDTH + 64, "");
	fflush(stderr);
}

static char *ptx_of(const struct fatbin_entry *entry)
{
	struct fatbin_error error = { 0 };
	char *bytes;
	size_t size;
	return fatbin_payload(entry, &bytes, &size, &error) ? NULL : bytes; /* ends in a zero */
}

static bool count_one(void *argument, const char *name)
{
	(void)name;
	++*(unsigned *)argument;
	return true;
}

/* The PTX that the driver would choose in each unit. */
static const struct fatbin_entry *chosen(const struct program_info *info, uint32_t unit)
{
	return program_unit_runs(info, unit) ? fatbin_best_ptx(&info->code, unit, 80) : NULL;
}

static void warm_module(const struct cuda *cuda, const char *ptx, struct progress *p)
{
	cuda_handle module, *functions;
	unsigned count = 0;
	int error = cuda->module_load(&module, ptx);
	if (error) {
		say("a module does not load: %s", cuda_error(cuda, error));
		p->failed++;
		return;
	}
	cuda->module_count(&count, module);
	functions = calloc(count + 1, sizeof *functions);
	if (functions && !cuda->module_functions(functions, count, module))
		for (unsigned i = 0; i < count; i++) {
			const char *name = "?";
			cuda->function_name(&name, functions[i]);
			show(p, name);
			error = cuda->function_load(functions[i]);
			if (error) {
				say("%s%s: %s", p->bar ? "\n" : "", name, cuda_error(cuda, error));
				p->failed++;
			}
			p->done++;
		}
	show(p, "");
	free(functions);
	cuda->module_unload(module);
}

int cache_warm(const char *program)
{
	struct progress p = { .bar = isatty(STDERR_FILENO) };
	struct program_info info;
	struct fatbin_error error = { 0 };
	const struct cuda *cuda;
	if (!program_scan(program, &info, &error)) {
		say("%s", error.message);
		return STATUS_NO;
	}
	for (uint32_t unit = 0; unit < info.code.unit_count; unit++)
		if (chosen(&info, unit))
			program_kernels(chosen(&info, unit), count_one, &p.all);
	if (info.code.relocatable || !p.all) {
		say("%s: %s", program, info.code.relocatable ? "its device code is linked when it starts, and cannot be compiled ahead" : "no kernels with PTX");
		program_fini(&info);
		return STATUS_NO;
	}
	cuda = cuda_open();
	for (uint32_t unit = 0; cuda && unit < info.code.unit_count; unit++) {
		const struct fatbin_entry *entry = chosen(&info, unit);
		char *ptx = entry ? ptx_of(entry) : NULL;
		if (ptx)
			warm_module(cuda, ptx, &p);
		free(ptx);
	}
	if (cuda)
		printf("%s: %u of %u kernels are in the cache\n", program, p.done - (p.failed < p.done ? p.failed : p.done), p.all);
	program_fini(&info);
	return cuda && !p.failed ? STATUS_OK : STATUS_NO;
}
