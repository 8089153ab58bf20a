/* What a kernel that traps or fails an assertion stops: the rest of its grid, blocks that wait for those that are gone among it, and what was
 * launched behind it, which does not begin. CUDA C++ Programming Guide, "Assertion" and "trap" ("all subsequent host-side calls … return
 * cudaErrorAssert"; "the kernel … is aborted"); CUDA Driver API, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ASSERT. Each case runs in a child. */
#define _GNU_SOURCE
#include <cuda.h>

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "context.h"

#define KERNEL(name, body)                                                                                                     \
	".visible .entry " name "(.param .u64 p) { .reg .b64 %p, %q<4>; .reg .b32 %r<4>; .reg .pred %c; ld.param.u64 %p, [p];\n" \
	body " ret; }\n"
#define WAIT(at, label) label ": ld.volatile.u32 %r0, [%p+" at "]; setp.eq.u32 %c, %r0, 0; @%c bra " label ";\n"

static const char ptx[] = ".version 7.8\n.target sm_80\n.address_size 64\n"
	".global .align 1 .b8 text[3] = { 110, 111, 0 };\n"
	".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
	/* p[0]: the host lets it go on; p[1], p[2]: what nobody ever sets; p[3]: set by those that must not begin */
	KERNEL("stop", WAIT("0", "L") "trap;")
	KERNEL("fails", WAIT("0", "L") "mov.u64 %q0, text; cvta.global.u64 %q0, %q0;\n"
		"{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %q0; st.param.b64 [b], %q0;\n"
		"  st.param.b32 [c], 7; st.param.b64 [d], %q0; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); }\n")
	/* The last block traps, the others wait for it. */
	KERNEL("part", "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; sub.u32 %r2, %r2, 1; setp.eq.u32 %c, %r1, %r2; @%c bra T;\n"
		WAIT("4", "L") "st.u32 [%p+12], 1; ret; T: trap;")
	/* And a warp of its own block, at a barrier with a number. */
	KERNEL("at_barrier", "mov.u32 %r1, %tid.x; setp.ge.u32 %c, %r1, 32; @%c bra T; barrier.sync 3, 64; st.u32 [%p+12], 1; ret; T: trap;")
	KERNEL("mark", "st.u32 [%p+12], 1;");

static const struct stopping {
	const char *kernel;
	unsigned blocks, threads;
	CUresult status;
} cases[] = {
	{ "stop", 1, 1, CUDA_ERROR_LAUNCH_FAILED },
	{ "stop", 2, 64, CUDA_ERROR_LAUNCH_FAILED },
	{ "fails", 1, 1, CUDA_ERROR_ASSERT },
	{ "part", 4, 32, CUDA_ERROR_LAUNCH_FAILED },
	{ "at_barrier", 1, 64, CUDA_ERROR_LAUNCH_FAILED },
};

static void check_case(const struct stopping *s)
{
	CUmodule module;
	CUfunction stop, mark;
	CUstream stream;
	volatile unsigned *words;
	CUdeviceptr p;
	void *arguments[] = { &p };

	context_begin();
	CHECK_OK(cuModuleLoadData(&module, ptx));
	CHECK_OK(cuModuleGetFunction(&stop, module, s->kernel));
	CHECK_OK(cuModuleGetFunction(&mark, module, "mark"));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemHostAlloc((void **)&words, 16, CU_MEMHOSTALLOC_DEVICEMAP));
	CHECK_OK(cuMemHostGetDevicePointer(&p, (void *)words, 0));
	for (int i = 0; i < 4; i++)
		words[i] = 0;
	CHECK_OK(cuLaunchKernel(stop, s->blocks, 1, 1, s->threads, 1, 1, 0, stream, arguments, NULL));
	/* These are queued before it stops, but for kernels that stop at once. */
	for (int i = 0; i < 3; i++) {
		CUresult status = cuLaunchKernel(mark, 4, 1, 1, 64, 1, 1, 0, stream, arguments, NULL);
		CHECK(!status || (s->kernel[0] != 's' && s->kernel[0] != 'f' && status == s->status));
	}
	words[0] = 1;
	CHECK_INT(cuStreamSynchronize(stream), s->status);
	CHECK_INT(cuCtxSynchronize(), s->status);
	CHECK_INT(words[3], 0);
}

int main(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int status = -1;
		pid_t child = fork();

		if (!child) {
			check_case(&cases[i]);
			fflush(NULL);
			_exit(check_end());
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			fprintf(stderr, "in case %zu, %s\n", i, cases[i].kernel);
	}
	return check_end();
}
