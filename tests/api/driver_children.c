/* Dynamic parallelism: what kernels launch themselves, as nvcc -rdc=true has device code call it. Expectations: CUDA C++ Programming
 * Guide, "CUDA Dynamic Parallelism" (order within device streams, tail launches, fire and forget, the parent that is done when its
 * children are, errors a thread, limits of copies). With NVIDIA's driver the module would have to be linked with libcudadevrt. */
#define _GNU_SOURCE
#include <cuda.h>

#include "check.h"
#include "context.h"

static const char ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n"
	/* NVIDIA's library as PTX defines the names: what it would do is not what is done. */
	".visible .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 buffer, .param .b64 stream) { trap; }\n"
	".extern .func (.param .b32 r) __cudaCDP2StreamCreateWithFlags(.param .b64 s, .param .b32 f);\n"
	".extern .func (.param .b32 r) __cudaCDP2EventCreateWithFlags(.param .b64 e, .param .b32 f);\n"
	".extern .func (.param .b32 r) __cudaCDP2EventRecord(.param .b64 e, .param .b64 s);\n"
	".extern .func (.param .b32 r) __cudaCDP2StreamWaitEvent(.param .b64 s, .param .b64 e, .param .b32 f);\n"
	".extern .func (.param .b32 r) __cudaCDP2MemsetAsync(.param .b64 p, .param .b32 v, .param .b64 n, .param .b64 s);\n"
	".extern .func (.param .b32 r) __cudaCDP2MemcpyAsync_ptsz(.param .b64 d, .param .b64 p, .param .b64 n, .param .b32 k, .param .b64 s);\n"
	".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n"
	".extern .func (.param .b64 r) __cudaCDP2GetErrorString(.param .b32 e);\n.extern .func (.param .b64 r) __cudaCDP2GetErrorName(.param .b32 e);\n"
	".extern .func (.param .b32 r) __cudaCDP2DeviceGetAttribute(.param .b64 v, .param .b32 a, .param .b32 d);\n"
	".extern .func (.param .b32 r) __cudaCDP2DeviceGetLimit(.param .b64 v, .param .b32 l);\n"
	".extern .func (.param .b32 r) __cudaCDP2FuncGetAttributes(.param .b64 v, .param .b64 f);\n"
	".extern .func (.param .b32 r) __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor(.param .b64 n, .param .b64 f, .param .b32 t, .param .b64 s);\n"
	".visible .global .align 4 .u32 at; .visible .global .align 4 .b32 notes[64];\n"
	/* kernel<<<grid, block, 0, stream>>>(a, p): the status, or 1000 where there is no buffer for it */
	".func (.param .b32 r) start(.param .b64 k, .param .b32 g, .param .b32 b, .param .b64 s, .param .b32 a, .param .b64 p) {\n"
	"  .reg .b64 %k, %s, %p, %m; .reg .b32 %g, %b, %a, %r; .reg .pred %q;\n"
	"  ld.param.b64 %k, [k]; ld.param.b32 %g, [g]; ld.param.b32 %b, [b]; ld.param.b64 %s, [s]; ld.param.b32 %a, [a]; ld.param.b64 %p, [p];\n"
	"  { .param .b64 f; .param .align 4 .b8 x[12]; .param .align 4 .b8 y[12]; .param .b32 z; .param .b64 o;\n"
	"    st.param.b64 [f], %k; st.param.b32 [x], %g; st.param.b32 [x+4], 1; st.param.b32 [x+8], 1; st.param.b32 [y], %b; st.param.b32 [y+4], 1;\n"
	"    st.param.b32 [y+8], 1; st.param.b32 [z], 0; call.uni (o), __cudaCDP2GetParameterBufferV2, (f, x, y, z); ld.param.b64 %m, [o]; }\n"
	"  mov.u32 %r, 1000; setp.eq.u64 %q, %m, 0; @%q bra NONE; st.u32 [%m], %a; st.u64 [%m+8], %p;\n"
	"  { .param .b64 m; .param .b64 t; .param .b32 o; st.param.b64 [m], %m; st.param.b64 [t], %s;\n"
	"    call.uni (o), __cudaCDP2LaunchDeviceV2, (m, t); ld.param.b32 %r, [o]; }\n"
	"NONE: st.param.b32 [r], %r; ret; }\n";

#define START(kernel, grid, block, stream, a, p)                                                                       \
	"  { .param .b64 k_; .param .b32 g_; .param .b32 b_; .param .b64 s_; .param .b32 a_; .param .b64 p_; .param .b32 r_; .reg .b64 %k_;\n" \
	"  mov.u64 %k_, " kernel "; st.param.b64 [k_], %k_; st.param.b32 [g_], " grid "; st.param.b32 [b_], " block "; st.param.b64 [s_], " stream ";\n" \
	"  st.param.b32 [a_], " a "; st.param.b64 [p_], " p "; call.uni (r_), start, (k_, g_, b_, s_, a_, p_); ld.param.b32 %e, [r_]; }\n"
#define ASK2(name, x, type, y) "  { .param .b64 x_; .param ." type " y_; .param .b32 r_; st.param.b64 [x_], " x "; st.param." type " [y_], " y "; call.uni (r_), " name ", (x_, y_);" \
	" ld.param.b32 %e, [r_]; }\n"
#define ASK3(name, x, y, z) "  { .param .b64 x_; .param .b32 y_; .param .b32 z_; .param .b32 r_; st.param.b64 [x_], " x "; st.param.b32 [y_], " y "; st.param.b32 [z_], " z ";\n" \
	"    call.uni (r_), " name ", (x_, y_, z_); ld.param.b32 %e, [r_]; }\n"
#define KERNEL(name) ".visible .entry " name "(.param .u32 a, .param .u64 p) {\n  .reg .b64 %p, %s, %t, %o; .reg .b32 %a, %i, %n, %e, %v; .reg .pred %q;\n" \
		     "  ld.param.u32 %a, [a]; ld.param.u64 %p, [p];\n"

static const char *const kernels[] = {
	KERNEL("note") "  mov.u64 %t, at; atom.global.add.u32 %i, [%t], 1; setp.ge.u32 %q, %i, 64; @%q ret; mov.u64 %t, notes; mul.wide.u32 %o, %i, 4;\n"
		       "  add.u64 %t, %t, %o; st.global.u32 [%t], %a; ret; }\n"
		       ".visible .global .align 8 .u64 table[1] = { note };\n",
	/* p[i] = p[i] * 3 + a */
	KERNEL("step") "  mov.u32 %i, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %v, %ctaid.x; mad.lo.u32 %i, %v, %n, %i; mul.wide.u32 %o, %i, 4; add.u64 %p, %p, %o;\n"
		       "  ld.global.u32 %v, [%p]; mad.lo.u32 %v, %v, 3, %a; st.global.u32 [%p], %v; ret; }\n",
	/* a binary tree of depth a: 2^a leaves */
	KERNEL("tree") "  setp.ne.u32 %q, %a, 0; @%q bra ON; red.global.add.u32 [%p], 1; ret;\nON: sub.u32 %a, %a, 1;\n"
		START("tree", "1", "1", "0", "%a", "%p") START("tree", "1", "1", "4", "%a", "%p") "  ret; }\n",
	KERNEL("inner") "  mov.u64 %t, table; ld.global.u64 %t, [%t];\n" START("%t", "1", "1", "3", "%a", "%p") "  add.u32 %a, %a, 1;\n" START("note", "1", "1", "0", "%a", "%p") "  ret; }\n",
	/* 1 and 2, then the tail: inner's child 31, its own tail 30, then 40 */
	KERNEL("tails") START("inner", "1", "1", "3", "30", "%p") START("note", "1", "1", "3", "40", "%p") START("note", "1", "1", "0", "1", "%p")
		START("note", "1", "1", "0", "2", "%p") "  ret; }\n",
	/* Of 40 threads each asks: an attribute, another device's, a limit, a kernel's attributes, how many blocks; what came of them is at 128 * its number. */
	".visible .entry bounded(.param .u64 p) .maxntid 96, 1, 1 { .shared .align 4 .b8 room[260]; .reg .b64 %p; .reg .b32 %v; ld.param.u64 %p, [p]; cvt.u32.u64 %v, %p;\n"
	"  st.shared.u32 [room], %v; ret; }\n"
	KERNEL("asks") "  .reg .b64 %d; mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 128; add.u64 %p, %p, %o; ld.param.u32 %a, [a];\n"
	ASK3("__cudaCDP2DeviceGetAttribute", "%p", "%a", "0") "  st.u32 [%p+4], %e; add.u64 %t, %p, 8;\n"
	ASK3("__cudaCDP2DeviceGetAttribute", "%t", "%a", "1") "  st.u32 [%p+12], %e; add.u64 %t, %p, 16;\n"
	ASK2("__cudaCDP2DeviceGetLimit", "%t", "b32", "2") "  st.u32 [%p+24], %e; add.u64 %t, %p, 32; mov.u64 %d, bounded;\n"
	ASK2("__cudaCDP2FuncGetAttributes", "%t", "b64", "%d") "  st.u32 [%p+28], %e; add.u64 %t, %p, 96;\n"
	"  { .param .b64 a_; .param .b64 b_; .param .b32 c_; .param .b64 d_; .param .b32 r_; st.param.b64 [a_], %t; st.param.b64 [b_], %d; st.param.b32 [c_], 64;\n"
	"    st.param.b64 [d_], 0; call.uni (r_), __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor, (a_, b_, c_, d_); ld.param.b32 %e, [r_]; }\n"
	"  st.u32 [%p+100], %e; mov.u64 %d, 77; add.u64 %t, %p, 104;\n" ASK2("__cudaCDP2FuncGetAttributes", "%t", "b64", "%d") "  st.u32 [%p+104], %e; ret; }\n",
	KERNEL("astray") "  mov.u64 %p, 16;\n" START("step", "1", "1", "0", "1", "%p") "  ret; }\n",
	/* every thread of every block: its children are in order, whatever the others do */
	KERNEL("crowd") "  mov.u32 %i, %tid.x; mov.u32 %v, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %v, %n, %i; mul.wide.u32 %o, %i, 256; add.u64 %p, %p, %o;\n"
		START("step", "2", "32", "0", "1", "%p") START("step", "2", "32", "1", "2", "%p") START("step", "2", "32", "2", "3", "%p") "  ret; }\n",
};

#define CALL1(name, x) "  { .param .b64 x_; .param .b32 y_; .param .b32 r_; st.param.b64 [x_], " x "; st.param.b32 [y_], %v; call.uni (r_), " name ", (x_, y_); ld.param.b32 %e, [r_]; }\n"
#define EXTEND(offset) "  st.global.u32 [%p+" #offset "], %e;\n"

static const char *const streams[] = {
	KERNEL("streams") "  .local .align 8 .b8 room[32]; .reg .b64 %x, %y, %w;\n  cvta.local.u64 %t, room; mov.u32 %v, 1; add.u64 %o, %t, 8;\n"
	CALL1("__cudaCDP2StreamCreateWithFlags", "%t") EXTEND(4096) CALL1("__cudaCDP2StreamCreateWithFlags", "%o") EXTEND(4100)
	"  mov.u32 %v, 2; add.u64 %o, %t, 16;\n" CALL1("__cudaCDP2EventCreateWithFlags", "%o") EXTEND(4104)
	"  mov.u32 %v, 0; add.u64 %o, %t, 24;\n" CALL1("__cudaCDP2StreamCreateWithFlags", "%o") EXTEND(4108) /* blocking streams: none */
	"  ld.u64 %x, [%t]; ld.u64 %y, [%t+8]; ld.u64 %w, [%t+16];\n"
	"  { .param .b64 a_; .param .b32 b_; .param .b64 c_; .param .b64 d_; .param .b32 r_; st.param.b64 [a_], %p; st.param.b32 [b_], 0; st.param.b64 [c_], 1024;\n"
	"    st.param.b64 [d_], %x; call.uni (r_), __cudaCDP2MemsetAsync, (a_, b_, c_, d_); ld.param.b32 %e, [r_]; }\n" EXTEND(4112)
	START("step", "4", "64", "%x", "1", "%p") START("step", "4", "64", "%x", "2", "%p")
	"  { .param .b64 a_; .param .b64 b_; .param .b32 r_; st.param.b64 [a_], %w; st.param.b64 [b_], %x; call.uni (r_), __cudaCDP2EventRecord, (a_, b_); ld.param.b32 %e, [r_]; }\n" EXTEND(4116)
	"  { .param .b64 a_; .param .b64 b_; .param .b32 c_; .param .b32 r_; st.param.b64 [a_], %y; st.param.b64 [b_], %w; st.param.b32 [c_], 0;\n"
	"    call.uni (r_), __cudaCDP2StreamWaitEvent, (a_, b_, c_); ld.param.b32 %e, [r_]; }\n" EXTEND(4120),
	START("step", "4", "64", "%y", "100", "%p")
	"  add.u64 %o, %p, 1024; { .param .b64 a_; .param .b64 b_; .param .b64 c_; .param .b32 k_; .param .b64 d_; .param .b32 r_; st.param.b64 [a_], %o; st.param.b64 [b_], %p;\n"
	"    st.param.b64 [c_], 1024; st.param.b32 [k_], 3; st.param.b64 [d_], %y; call.uni (r_), __cudaCDP2MemcpyAsync_ptsz, (a_, b_, c_, k_, d_); ld.param.b32 %e, [r_]; }\n" EXTEND(4124)
	"  { .param .b64 a_; .param .b64 b_; .param .b64 c_; .param .b32 k_; .param .b64 d_; .param .b32 r_; st.param.b64 [a_], %o; st.param.b64 [b_], %p;\n"
	"    st.param.b64 [c_], 1024; st.param.b32 [k_], 2; st.param.b64 [d_], 0; call.uni (r_), __cudaCDP2MemcpyAsync_ptsz, (a_, b_, c_, k_, d_); ld.param.b32 %e, [r_]; }\n" EXTEND(4128)
	"  { .param .b32 r_; call.uni (r_), __cudaCDP2GetLastError, (); ld.param.b32 %e, [r_]; }\n" EXTEND(4132)
	START("step", "1", "1025", "0", "0", "%p") EXTEND(4136) "  { .param .b32 r_; call.uni (r_), __cudaCDP2GetLastError, (); ld.param.b32 %e, [r_]; }\n" EXTEND(4140)
	"  { .param .b32 r_; call.uni (r_), __cudaCDP2GetLastError, (); ld.param.b32 %e, [r_]; }\n" EXTEND(4144)
	"  ret; }\n",
};

/* The name and the text of status a, the first 32 bytes of each, up to the 0. */
#define TEXT(call, done, more)                                                                                         \
	"  { .param .b32 e_; .param .b64 r_; st.param.b32 [e_], %a; call.uni (r_), " call ", (e_); ld.param.b64 %s, [r_]; }\n  mov.u32 %n, 0;\n" \
	more ": ld.u8 %v, [%s]; setp.eq.u32 %q, %v, 0; @%q bra " done "; st.global.u8 [%p], %v; add.u64 %s, %s, 1; add.u64 %p, %p, 1;\n" \
	"  add.u32 %n, %n, 1; setp.lt.u32 %q, %n, 31; @%q bra " more ";\n" done ": cvt.u64.u32 %t, %n; sub.u64 %p, %p, %t; add.u64 %p, %p, 32;\n"
static const char *const texts[] = {
	KERNEL("texts") TEXT("__cudaCDP2GetErrorName", "NAMED", "NAME") TEXT("__cudaCDP2GetErrorString", "SAID", "SAY") "  ret; }\n",
};

static CUmodule module;
static CUdeviceptr p;

static CUresult load(void)
{
	static char text[32768];

	strcpy(text, ptx);
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		strcat(text, kernels[i]);
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		strcat(text, streams[i]);
	strcat(text, texts[0]);
	return cuModuleLoadData(&module, text);
}

static CUresult launch(const char *name, unsigned grid, unsigned block, unsigned a, CUstream stream)
{
	void *parameters[] = {&a, &p};
	CUfunction function = NULL;
	CUresult status = cuModuleGetFunction(&function, module, name);

	return status ? status : cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, NULL);
}

static void check_notes(const unsigned *expected, unsigned count)
{
	unsigned words[64], noted = 0;
	CUdeviceptr at, notes;

	CHECK_OK(cuModuleGetGlobal(&at, NULL, module, "at"));
	CHECK_OK(cuModuleGetGlobal(&notes, NULL, module, "notes"));
	CHECK_OK(cuMemcpyDtoH(&noted, at, 4));
	CHECK_OK(cuMemcpyDtoH(words, notes, sizeof words));
	CHECK_INT(noted, count);
	for (unsigned i = 0; i < count && i < noted; i++)
		CHECK_INT(words[i], expected[i]);
	CHECK_OK(cuMemsetD32(at, 0, 1));
	CHECK_OK(cuCtxSynchronize()); /* other streams do not wait for it */
}

static void test_tree(void)
{
	unsigned leaves = 0;

	for (unsigned depth = 0; depth < 9; depth += 4) {
		CHECK_OK(cuMemsetD32(p, 0, 1));
		CHECK_OK(launch("tree", 1, 1, depth, NULL));
		CHECK_OK(cuMemcpyDtoH(&leaves, p, 4)); /* in stream order: behind all of them */
		CHECK_INT(leaves, 1 << depth);
	}
	CHECK_OK(cuMemsetD32(p, 0, 1));
	CHECK_OK(launch("tree", 3, 5, 4, NULL));
	CHECK_OK(cuMemcpyDtoH(&leaves, p, 4));
	CHECK_INT(leaves, 3 * 5 * 16);
}

static void test_order(void)
{
	static const unsigned expected[] = {1, 2, 31, 30, 40, 99}, twice[] = {1, 2, 31, 30, 40, 7, 1, 2, 31, 30, 40};
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;
	CUstream stream;

	CHECK_OK(launch("tails", 1, 1, 0, NULL));
	CHECK_OK(launch("note", 1, 1, 99, NULL));
	CHECK_OK(cuCtxSynchronize());
	check_notes(expected, 6);
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_OK(launch("tails", 1, 1, 0, stream));
	CHECK_OK(launch("note", 1, 1, 7, stream));
	CHECK_OK(launch("tails", 1, 1, 0, stream));
	CHECK_OK(cuStreamEndCapture(stream, &graph));
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 2; i++) {
		CHECK_OK(cuGraphLaunch(exec, stream));
		CHECK_OK(cuStreamSynchronize(stream));
		check_notes(twice, 11);
	}
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuStreamDestroy(stream));
}

static void test_crowd(void)
{
	enum { BLOCKS = 40, THREADS = 20, WORDS = BLOCKS * THREADS * 64 };
	unsigned *words = malloc(4 * WORDS), wrong = 0;

	CHECK_OK(cuMemsetD32(p, 1, WORDS));
	CHECK_OK(launch("crowd", BLOCKS, THREADS, 0, NULL));
	CHECK_OK(cuMemcpyDtoH(words, p, 4 * WORDS));
	for (unsigned i = 0; i < WORDS; i++)
		wrong += words[i] != ((1 * 3 + 1) * 3 + 2) * 3 + 3;
	CHECK_INT(wrong, 0);
	free(words);
}

static void test_streams(void)
{
	/* of the calls: all right but for a stream that blocks, a copy to the host, a block of 1025 threads; errors are asked for once */
	static const unsigned expected[] = {0, 0, 0, 1, 0, 0, 0, 0, 21, 21, 1000, 9, 0};
	unsigned words[1024 + 13], wrong = 0;

	CHECK_OK(cuMemsetD32(p, 5, 1024 + 13));
	CHECK_OK(launch("streams", 1, 1, 0, NULL));
	CHECK_OK(cuMemcpyDtoH(words, p, sizeof words));
	for (unsigned i = 0; i < 512; i++) /* zeros, steps of 1 and 2, then of 100; the second half is a copy */
		wrong += words[i] != (1 * 3 + 2) * 3 + 100;
	CHECK_INT(wrong, 0);
	for (unsigned i = 0; i < 13; i++)
		CHECK_INT(words[1024 + i], expected[i]);
}

/* Device code hears what the host does. */
static void test_questions(void)
{
	enum { THREADS = 40, WORDS = 32 };
	static unsigned words[THREADS * WORDS];
	unsigned long long sizes[3];
	int processors = 0, most = 0, registers = 0, blocks = 0;
	CUfunction bounded = NULL;
	size_t heap = 0;

	CHECK_OK(cuModuleGetFunction(&bounded, module, "bounded"));
	CHECK_OK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CHECK_OK(cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE)); /* cudaLimitMallocHeapSize is 2 too */
	CHECK_OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
	CHECK_OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, bounded));
	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 64, 0));
	CHECK_OK(launch("asks", 1, THREADS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, NULL));
	CHECK_OK(cuMemcpyDtoH(words, p, sizeof words));
	CHECK_INT(most, 96);
	for (unsigned i = 0; i < THREADS; i++) {
		const unsigned *w = words + WORDS * i;

		CHECK_INT(w[0], processors);
		CHECK_INT(w[1], 0);
		CHECK_INT(w[3], CUDA_ERROR_INVALID_DEVICE);
		CHECK(w[4] == (unsigned)heap && w[5] == (unsigned)((unsigned long long)heap >> 32));
		CHECK_INT(w[6], 0);
		CHECK_INT(w[7], 0);
		memcpy(sizes, w + 8, sizeof sizes);
		CHECK_INT(sizes[0], 260); /* shared */
		CHECK_INT(w[14], 96);
		CHECK_INT(w[15], registers);
		CHECK_INT(w[24], blocks);
		CHECK_INT(w[25], 0);
		CHECK_INT(w[26], 98); /* cudaErrorInvalidDeviceFunction */
	}
}

static void test_texts(void)
{
	static const struct {
		unsigned status;
		const char *name, *text;
	} expected[] = {
		{0, "cudaSuccess", "no error"},
		{2, "cudaErrorMemoryAllocation", "out of memory"},
		{12345, "unrecognized error code", "unrecognized error code"},
	};
	char got[65];

	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		CHECK_OK(cuMemsetD8(p, 0, 65));
		CHECK_OK(launch("texts", 1, 1, expected[i].status, NULL));
		CHECK_OK(cuMemcpyDtoH(got, p, sizeof got));
		CHECK(!strcmp(got, expected[i].name));
		CHECK(!strcmp(got + 32, expected[i].text));
	}
}

/* Last: the error of a child is its parent's, and stays. */
static void test_failing_child(void)
{
	CHECK_OK(launch("astray", 1, 1, 0, NULL));
	CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
	context_begin();
	CHECK_OK(load());
	CHECK_OK(cuMemAlloc(&p, 1 << 20));
	if (!module || !p)
		return check_end();
	test_tree();
	test_order();
	test_crowd();
	test_streams();
	test_questions();
	test_texts();
	test_failing_child();
	return check_end();
}
