/* Kernels that wait: for kernels of their own (dynamic parallelism's version 1, CUDA 11's names and cudaDeviceSynchronize()), and for the
 * other blocks of their grid by cudadevrt's functions (cudaCG*, as Numba calls them). Expectations: CUDA C++ Programming Guide 11.8,
 * "Dynamic Parallelism", and "Grid Synchronization"; with NVIDIA's driver the module would have to be linked with libcudadevrt. */
#define _GNU_SOURCE
#include <cuda.h>

#include "check.h"
#include "context.h"

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 align, .param .b64 size);\n"
	".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12],\n"
	"                                               .param .b32 s, .param .b64 t);\n"
	".extern .func (.param .b32 r) cudaDeviceSynchronize();\n"
	".extern .func (.param .b32 r) __cudaDeviceSynchronizeDeprecationAvoidance();\n"
	".extern .func (.param .b32 r) cudaGetLastError();\n"
	".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
	".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
	".extern .func (.param .b32 r) cudaCGSynchronizeGrid(.param .b64 h, .param .b32 f);\n"
	".extern .func (.param .b32 r) cudaCGGetSize(.param .b64 a, .param .b64 b, .param .b64 h);\n"
	".extern .func (.param .b32 r) cudaCGGetRank(.param .b64 a, .param .b64 b, .param .b64 h);\n"
	".extern .func (.param .b64 r) __cuda_syscall_CGS_get_intrinsic_handle(.param .b32 scope);\n"
	".extern .func (.param .b32 r) __cuda_syscall_CGS_sync(.param .b64 h, .param .b32 f);\n"
	/* kernel<<<1, b>>>(a, p): the status */
	".func (.param .b32 r) start(.param .b64 k, .param .b32 b, .param .b32 a, .param .b64 p) {\n"
	"  .reg .b64 %k, %p, %m; .reg .b32 %a, %b, %r;\n"
	"  ld.param.b64 %k, [k]; ld.param.b32 %b, [b]; ld.param.b32 %a, [a]; ld.param.b64 %p, [p];\n"
	"  { .param .b64 x; .param .b64 y; .param .b64 o; st.param.b64 [x], 64; st.param.b64 [y], 16;\n"
	"    call.uni (o), cudaGetParameterBuffer, (x, y); ld.param.b64 %m, [o]; }\n"
	"  st.u32 [%m], %a; st.u64 [%m+8], %p;\n"
	"  { .param .b64 f; .param .b64 m; .param .align 4 .b8 x[12]; .param .align 4 .b8 y[12]; .param .b32 s; .param .b64 t; .param .b32 o;\n"
	"    st.param.b64 [f], %k; st.param.b64 [m], %m; st.param.b32 [x], 1; st.param.b32 [x+4], 1; st.param.b32 [x+8], 1; st.param.b32 [y], %b;\n"
	"    st.param.b32 [y+4], 1; st.param.b32 [y+8], 1; st.param.b32 [s], 0; st.param.b64 [t], 0;\n"
	"    call.uni (o), cudaLaunchDevice, (f, m, x, y, s, t); ld.param.b32 %r, [o]; }\n"
	"  st.param.b32 [r], %r; ret; }\n";

#define KERNEL(name) ".visible .entry " name "(.param .u32 a, .param .u64 p) {\n  .reg .b64 %p, %q, %h; .reg .b32 %a, %i, %j, %n, %e, %v, %w; .reg .pred %c;\n" \
		     "  ld.param.u32 %a, [a]; ld.param.u64 %p, [p];\n"
#define START(kernel, threads, a, p)                                                                                   \
	"  { .param .b64 k_; .param .b32 b_; .param .b32 a_; .param .b64 p_; .param .b32 r_; .reg .b64 %k_; mov.u64 %k_, " kernel ";\n" \
	"  st.param.b64 [k_], %k_; st.param.b32 [b_], " threads "; st.param.b32 [a_], " a "; st.param.b64 [p_], " p ";\n" \
	"  call.uni (r_), start, (k_, b_, a_, p_); ld.param.b32 %e, [r_]; }\n"
#define CALL0(name) "  { .param .b32 r_; call.uni (r_), " name ", (); ld.param.b32 %e, [r_]; }\n"
#define SYNC(name) "  { .param .b64 h_; .param .b32 f_; .param .b32 r_; st.param.b64 [h_], %h; st.param.b32 [f_], 0;\n" \
		   "    call.uni (r_), " name ", (h_, f_); ld.param.b32 %e, [r_]; }\n"
#define HANDLE(name) "  { .param .b32 s_; .param .b64 r_; st.param.b32 [s_], 1; call.uni (r_), " name ", (s_); ld.param.b64 %h, [r_]; }\n"
#define QUERY(name, x, y) "  { .param .b64 a_; .param .b64 b_; .param .b64 h_; .param .b32 r_; st.param.b64 [a_], " x "; st.param.b64 [b_], " y ";\n" \
			  "    st.param.b64 [h_], %h; call.uni (r_), " name ", (a_, b_, h_); ld.param.b32 %e, [r_]; }\n"
#define INDEX                                                                                                          \
	"  mov.u32 %i, %ctaid.y; mov.u32 %n, %nctaid.x; mov.u32 %v, %ctaid.x; mad.lo.u32 %i, %i, %n, %v; mov.u32 %n, %ntid.y; mul.lo.u32 %i, %i, %n;\n" \
	"  mov.u32 %v, %tid.y; add.u32 %i, %i, %v; mov.u32 %n, %ntid.x; mov.u32 %v, %tid.x; mad.lo.u32 %i, %i, %n, %v;\n"

static const char *const kernels[] = {
	/* A node of a tree, a = depth below it << 16 | its number i: its word becomes 1 + those of its children 2i+1 and 2i+2. */
	KERNEL("node") "  and.b32 %i, %a, 65535; shr.u32 %n, %a, 16; mad.wide.u32 %q, %i, 4, %p; mov.u32 %w, 1; setp.eq.u32 %c, %n, 0; @%c bra LEAF;\n"
	"  sub.u32 %n, %n, 1; shl.b32 %n, %n, 16; shl.b32 %j, %i, 1; add.u32 %j, %j, 1; or.b32 %v, %n, %j;\n" START("node", "1", "%v", "%p")
	"  add.u32 %v, %v, 1;\n" START("node", "1", "%v", "%p") CALL0("cudaDeviceSynchronize")
	"  mad.wide.u32 %h, %j, 4, %p; ld.u32 %v, [%h]; add.u32 %w, %w, %v; ld.u32 %v, [%h+4]; add.u32 %w, %w, %v; add.u32 %w, %w, %e;\n"
	"LEAF: st.u32 [%q], %w; ret; }\n",
	/* p[i] = p[i] * 3 + a */
	KERNEL("step") "  mov.u32 %i, %tid.x; mad.wide.u32 %p, %i, 4, %p; ld.global.u32 %v, [%p]; mad.lo.u32 %v, %v, 3, %a; st.global.u32 [%p], %v; ret; }\n",
	/* Each block has a child for its words, waits for it, and goes on with all its threads. */
	KERNEL("blocks") "  mov.u32 %i, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %v, %ctaid.x; mul.lo.u32 %v, %v, %n; mad.wide.u32 %p, %v, 4, %p;\n"
	"  mad.wide.u32 %q, %i, 4, %p; st.global.u32 [%q], %i; bar.sync 0; setp.ne.u32 %c, %i, 0; @%c bra ON;\n"
	START("step", "%n", "%a", "%p") START("step", "%n", "1", "%p") CALL0("__cudaDeviceSynchronizeDeprecationAvoidance")
	"ON: bar.sync 0; ld.global.u32 %v, [%q]; add.u32 %v, %v, %v; st.global.u32 [%q], %v; ret; }\n",
	KERNEL("bad") "  mov.u64 %p, 16;\n" START("step", "1", "0", "%p") CALL0("cudaDeviceSynchronize") "  ret; }\n",
	/* Every thread reads what its opposite in the grid wrote, three times, each time in another way; words behind: rank and the size. */
	KERNEL("grid") INDEX "  mad.wide.u32 %q, %i, 4, %p; st.global.u32 [%q], %i;\n" HANDLE("cudaCGGetIntrinsicHandle") SYNC("cudaCGSynchronize")
	"  mov.u32 %w, %e; sub.u32 %j, %a, 1; sub.u32 %j, %j, %i; mad.wide.u32 %q, %j, 4, %p; ld.global.u32 %v, [%q]; mul.lo.u32 %v, %v, 5;\n"
	SYNC("cudaCGSynchronizeGrid") "  or.b32 %w, %w, %e; mad.wide.u32 %q, %i, 4, %p; st.global.u32 [%q], %v;\n"
	HANDLE("__cuda_syscall_CGS_get_intrinsic_handle") SYNC("__cuda_syscall_CGS_sync")
	"  or.b32 %w, %w, %e; mad.wide.u32 %q, %j, 4, %p; ld.global.u32 %v, [%q]; add.u32 %v, %v, 7;\n" SYNC("cudaCGSynchronize")
	"  mad.wide.u32 %q, %i, 4, %p; st.global.u32 [%q], %v; add.u32 %w, %w, %e; shl.b32 %j, %a, 2; cvt.u64.u32 %p, %j; add.u64 %q, %q, %p;\n"
	"  st.global.u32 [%q], %w; add.u64 %q, %q, %p;\n" QUERY("cudaCGGetRank", "%q", "0") "  add.u64 %q, %q, %p;\n" QUERY("cudaCGGetSize", "%q", "0")
	"  ret; }\n",
	/* In an ordinary launch there is no handle. */
	KERNEL("alone") "  st.global.u64 [%p+16], 5;\n" HANDLE("cudaCGGetIntrinsicHandle") "  st.global.u64 [%p], %h;\n" SYNC("cudaCGSynchronize")
	"  st.global.u32 [%p+8], %e; add.u64 %q, %p, 16;\n" QUERY("cudaCGGetSize", "%q", "0") "  st.global.u32 [%p+12], %e; ret; }\n",
};

static CUmodule module;
static CUdeviceptr p;

static CUresult load(void)
{
	static char text[32768];

	strcpy(text, ptx);
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		strcat(text, kernels[i]);
	return cuModuleLoadData(&module, text);
}

static CUfunction find(const char *name)
{
	CUfunction function = NULL;

	CHECK_OK(cuModuleGetFunction(&function, module, name));
	return function;
}

static CUresult launch(const char *name, unsigned grid, unsigned block, unsigned a)
{
	void *parameters[] = {&a, &p};

	return cuLaunchKernel(find(name), grid, 1, 1, block, 1, 1, 0, NULL, parameters, NULL);
}

/* Waiting in waiting kernels, to a depth of a, in each of `grid` blocks the same tree. */
static void test_tree(void)
{
	for (unsigned depth = 0; depth < 6; depth++) {
		unsigned words[64] = {0};

		CHECK_OK(cuMemsetD32(p, 0, 64));
		CHECK_OK(launch("node", 1, 1, depth << 16));
		CHECK_OK(cuMemcpyDtoH(words, p, sizeof words));
		for (unsigned i = 0; i < (2u << depth) - 1; i++) {
			unsigned level = 31 - (unsigned)__builtin_clz(i + 1);

			CHECK_INT(words[i], (2 << (depth - level)) - 1);
		}
	}
}

static void test_blocks(void)
{
	enum { BLOCKS = 50, THREADS = 40 };
	static unsigned words[BLOCKS * THREADS];
	unsigned wrong = 0;

	CHECK_OK(launch("blocks", BLOCKS, THREADS, 2));
	CHECK_OK(cuMemcpyDtoH(words, p, sizeof words));
	for (unsigned i = 0; i < BLOCKS * THREADS; i++)
		wrong += words[i] != 2 * ((i % THREADS * 3 + 2) * 3 + 1);
	CHECK_INT(wrong, 0);
}

static void test_grid(unsigned across, unsigned down, unsigned x, unsigned y)
{
	enum { MOST = 4096 };
	static unsigned words[4 * MOST];
	unsigned threads = across * down * x * y, wrong = 0;
	void *parameters[] = {&threads, &p};

	CHECK_OK(cuMemsetD32(p, 9, 4 * MOST));
	CHECK_OK(cuLaunchCooperativeKernel(find("grid"), across, down, 1, x, y, 1, 0, NULL, parameters));
	CHECK_OK(cuMemcpyDtoH(words, p, sizeof words));
	for (unsigned i = 0; i < threads; i++) {
		wrong += words[i] != 5 * i + 7; /* the opposite of the opposite */
		wrong += words[threads + i] != 0 || words[2 * threads + i] != i || words[3 * threads + i] != threads;
	}
	CHECK_INT(wrong, 0);
}

static void test_alone(void)
{
	unsigned words[5];

	CHECK_OK(launch("alone", 1, 1, 0));
	CHECK_OK(cuMemcpyDtoH(words, p, sizeof words));
	CHECK_INT(words[0], 0);
	CHECK_INT(words[1], 0);
	CHECK_INT(words[2], 999);
	CHECK_INT(words[3], 999);
	CHECK_INT(words[4], 0);
}

/* More blocks than are there at a time. */
static void test_large_grid(void)
{
	unsigned threads = 0;
	void *parameters[] = {&threads, &p};

	CHECK_INT(cuLaunchCooperativeKernel(find("grid"), 1 << 20, 1, 1, 32, 1, 1, 0, NULL, parameters), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

int main(void)
{
	const char *device = getenv("DRAGOMAN_DEVICE");

	context_begin();
	CHECK_OK(load());
	CHECK_OK(cuMemAlloc(&p, 1 << 20));
	if (!module || !p)
		return check_end();
	test_grid(1, 1, 1, 1);
	test_grid(8, 1, 64, 1);
	test_grid(3, 4, 7, 5);
	test_large_grid();
	test_alone();
	if (device && !strcmp(device, "amd")) { /* where kernels cannot wait for kernels */
		CHECK_INT(launch("node", 1, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
		return check_end();
	}
	test_tree();
	test_blocks();
	/* Last: the error of a child is the context's, and stays. */
	CHECK_OK(launch("bad", 1, 1, 0));
	CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	return check_end();
}
