/* Addresses that are no multiple of the access's size: PTX leaves undefined what comes of them, a card reports CUDA_ERROR_MISALIGNED_ADDRESS.
 * Here they work (vectors of 16 bytes may not), but where DRAGOMAN_CHECK_ALIGNMENT asks for what the card does. With an argument: only that case, as a process of its own. */
#define _GNU_SOURCE
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "context.h"

/* Thread t uses byte t * step + offset, of the kind of memory and in the way that the kernel's name says. */
#define KERNEL(name, body)                                                                                             \
	".visible .entry " name "(.param .u64 p, .param .u32 step, .param .u32 offset) {\n"                            \
	"  .reg .b64 %p, %o; .reg .b32 %t, %s, %f, %v, %w, %x, %y; .reg .b16 %h; .reg .pred %q; .shared .align 16 .b8 room[1024];\n" \
	"  ld.param.u64 %p, [p]; ld.param.u32 %s, [step]; ld.param.u32 %f, [offset]; mov.u32 %t, %tid.x;\n"            \
	"  mad.lo.u32 %s, %t, %s, %f; cvt.u64.u32 %o, %s; add.u64 %p, %p, %o;\n" body "  ret; }\n"

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	KERNEL("load", "  ld.global.u32 %v, [%p]; st.global.u8 [%p], %v;\n")
	KERNEL("store", "  st.global.u16 [%p], %h;\n")
	KERNEL("vector", "  ld.global.v4.u32 {%v, %w, %x, %y}, [%p]; st.global.u8 [%p], %y;\n")
	KERNEL("shared", "  mov.u32 %v, room; add.u32 %v, %v, %s; st.shared.u32 [%v], %t;\n")
	KERNEL("atomic", "  red.global.add.u32 [%p], 1;\n")
	/* only the threads whose address is right take part */
	KERNEL("guarded", "  and.b32 %v, %s, 3; setp.eq.u32 %q, %v, 0; @%q st.global.u32 [%p], %t;\n");

static const struct {
	const char *kernel;
	unsigned step, offset;
	int status;
} cases[] = {
	{"load", 4, 0, 0}, {"load", 4, 2, 716}, {"load", 6, 0, 716}, {"load", 0, 8, 0}, {"load", 0, 9, 716}, {"store", 2, 0, 0}, {"store", 2, 1, 716},
	{"vector", 16, 16, 0}, {"vector", 16, 8, 716}, {"shared", 4, 0, 0}, {"shared", 4, 1, 716}, {"atomic", 4, 4, 0}, {"atomic", 8, 2, 716},
	{"guarded", 3, 0, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

static int run(int number)
{
	CUmodule module;
	CUfunction function;
	CUdeviceptr p;
	unsigned step = cases[number].step, offset = cases[number].offset;
	void *parameters[] = {&p, &step, &offset};

	context_begin();
	CHECK_OK(cuModuleLoadData(&module, ptx));
	CHECK_OK(cuModuleGetFunction(&function, module, cases[number].kernel));
	CHECK_OK(cuMemAlloc(&p, 65536));
	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 40, 1, 1, 0, NULL, parameters, NULL));
	if (getenv("DRAGOMAN_CHECK_ALIGNMENT"))
		CHECK_INT(cuCtxSynchronize(), cases[number].status);
	else if (strcmp(cases[number].kernel, "vector"))
		CHECK_OK(cuCtxSynchronize());
	return check_end();
}

int main(int argc, char **argv)
{
	char text[16];

	if (argc > 1)
		return run(atoi(argv[1]));
	for (int i = 0; i < 2 * CASES; i++) { /* the error stays with a process */
		int status;

		snprintf(text, sizeof text, "%d", i / 2);
		if (i % 2)
			setenv("DRAGOMAN_CHECK_ALIGNMENT", "1", 1);
		else
			unsetenv("DRAGOMAN_CHECK_ALIGNMENT");
		if (!fork()) {
			execl("/proc/self/exe", argv[0], text, NULL);
			_exit(127);
		}
		CHECK(wait(&status) > 0);
		if (status)
			fprintf(stderr, "case %d: %s, step %u, offset %u: failed\n", i / 2, cases[i / 2].kernel, cases[i / 2].step, cases[i / 2].offset);
		check_failures += status != 0;
	}
	return check_end();
}
