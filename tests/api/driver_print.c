/* More output of device code than there is room for: older output gives way, whole lines of the newest are kept, and the process lives.
 * CUDA C++ Programming Guide, "Formatted Output", "Limitations". On an AMD GPU the oldest are kept (docs/amd.md). */
#define _GNU_SOURCE
#include <cuda.h>

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "context.h"

enum { LINES = 300000 };

static const char format[] = "a line of sixty-four bytes, all of the same length: %10d\n";

static const char ptx[] =
	".version 7.8\n.target sm_80\n.address_size 64\n"
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	".global .align 8 .b8 format[] = {FORMAT};\n"
	/* thread t of all prints the numbers from t * count on */
	".visible .entry lines(.param .u32 count) {\n"
	"  .local .align 8 .b32 room[2]; .reg .b64 %f, %a; .reg .b32 %i, %n, %r, %b; .reg .pred %q;\n"
	"  ld.param.u32 %n, [count]; mov.u32 %b, %ctaid.x; mov.u32 %i, %ntid.x; mov.u32 %r, %tid.x; mad.lo.u32 %b, %b, %i, %r; mul.lo.u32 %i, %b, %n; add.u32 %n, %i, %n; cvta.global.u64 %f, format; cvta.local.u64 %a, room;\n"
	"MORE: st.local.u32 [room], %i;\n"
	"  { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %f; st.param.b64 [a], %a; call.uni (r), vprintf, (f, a); ld.param.b32 %r, [r]; }\n"
	"  add.u32 %i, %i, 1; setp.lt.u32 %q, %i, %n; @%q bra MORE; ret; }\n";

/* The PTX with the format's bytes in it, which PTX has no strings for. */
static CUresult load(CUmodule *module)
{
	static char text[4096];
	const char *mark = strstr(ptx, "FORMAT");

	memcpy(text, ptx, (size_t)(mark - ptx));
	for (size_t i = 0; i < sizeof format; i++)
		sprintf(text + strlen(text), "%s%d", i ? "," : "", format[i]);
	strcat(text, mark + strlen("FORMAT"));
	return cuModuleLoadData(module, text);
}

/* Runs the kernel with its output in a file; how many lines came, the numbers of the first and the last. */
static int print_lines(CUfunction function, unsigned grid, unsigned block, unsigned count, int *first, int *last)
{
	void *parameters[] = {&count};
	FILE *file = tmpfile();
	int saved, number, lines = 0, broken = 0;
	char line[256];

	fflush(stdout);
	saved = dup(1);
	dup2(fileno(file), 1);
	CHECK_OK(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, NULL, parameters, NULL));
	CHECK_OK(cuCtxSynchronize());
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	rewind(file);
	while (fgets(line, sizeof line, file)) {
		broken += sscanf(line, "a line of sixty-four bytes, all of the same length: %d", &number) != 1;
		if (!lines++)
			*first = number;
		else if (grid * block == 1)
			broken += number != *last + 1;
		*last = number;
	}
	CHECK_INT(broken, 0);
	fclose(file);
	return lines;
}

static void keep_oldest(CUfunction function)
{
	enum { THREADS = 64, EACH = 1500 };
	int first = -1, last = -1, lines = print_lines(function, 1, THREADS, EACH, &first, &last);

	CHECK(lines < THREADS * EACH && lines >= 1000);
	CHECK(first % EACH == 0); /* some thread's first */
	CHECK_INT(print_lines(function, 1, 1, 1000, &first, &last), 1000); /* there is room again */
	CHECK_INT(first, 0);
}

int main(void)
{
	const char *device = getenv("DRAGOMAN_DEVICE");
	bool amd = device && !strcmp(device, "amd");
	int first = -1, last = -1, lines;
	CUfunction function = NULL;
	CUmodule module;

	context_begin();
	CHECK_OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 512 << 10));
	CHECK_OK(load(&module));
	CHECK_OK(cuModuleGetFunction(&function, module, "lines"));
	if (!function)
		return check_end();
	lines = print_lines(function, 1, 1, 1000, &first, &last); /* there is room for these */
	CHECK_INT(lines, 1000);
	CHECK_INT(first, 0);
	if (amd) {
		keep_oldest(function);
		return check_end();
	}
	lines = print_lines(function, 1, 1, LINES, &first, &last);
	CHECK_INT(last, LINES - 1);
	CHECK(lines < LINES && lines >= 1000);
	CHECK_INT(first, LINES - lines);
	lines = print_lines(function, 300, 1, LINES / 300, &first, &last);
	CHECK(lines < LINES && lines >= 1000);
	return check_end();
}
