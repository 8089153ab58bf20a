/* dragoman selftest: does this device compute what it should, and how fast? For people with hardware that nobody here has: kernels whose
 * results are known, copies, a sample of the tests of PTX, and a report to send in. The programs are PTX, so that the whole way is
 * tested: parser, compiler, code object, loader, launch.
 *
 * A device may end the process that uses it, or never come to an end. So what uses it is a child; where that is gone, or silent for too long, the
 * part that it was at has failed, and another child goes on with the next one. The report is written line by line. */
#include "command.h"
#include "cuda.h"

#include "backend/amd/diagnose.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"

/* i = global thread; return where i >= n; %rd1 = 4 * i */
#define INDEX \
	".reg .u32 %r<20>; .reg .u64 %rd<12>; .reg .f32 %f<20>; .reg .f64 %d<8>; .reg .pred %p<8>;\n" \
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n" \
	"ld.param.u32 %r5, [n]; setp.ge.u32 %p1, %r4, %r5; mul.wide.u32 %rd1, %r4, 4;\n" \
	"ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [in]; cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd3, %rd3;\n"
#define KERNEL(name) HEAD ".visible .entry " name "(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"

static const char saxpy[] = KERNEL("saxpy") INDEX "@%p1 ret;\nadd.u64 %rd4, %rd2, %rd1; add.u64 %rd5, %rd3, %rd1; ld.global.f32 %f1, [%rd5];\n"
	"fma.rn.f32 %f2, %f1, 0f40200000, 0f3F800000; st.global.f32 [%rd4], %f2; ret; }"; /* 2.5 x + 1 */

static const char divide[] = KERNEL("divide") INDEX "@%p1 ret;\nadd.u64 %rd4, %rd2, %rd1; add.u64 %rd5, %rd3, %rd1; ld.global.f32 %f1, [%rd5];\n"
	"add.f32 %f2, %f1, 0f3F800000; div.rn.f32 %f3, %f1, %f2; sqrt.rn.f32 %f4, %f3; st.global.f32 [%rd4], %f4; ret; }";

/* The sum of each warp, by shuffles, in every thread. */
static const char shuffle[] = KERNEL("shuffle") INDEX "add.u64 %rd4, %rd2, %rd1; add.u64 %rd5, %rd3, %rd1; ld.global.u32 %r6, [%rd5];\n"
	"shfl.sync.bfly.b32 %r7, %r6, 16, 31, -1; add.u32 %r6, %r6, %r7; shfl.sync.bfly.b32 %r7, %r6, 8, 31, -1; add.u32 %r6, %r6, %r7;\n"
	"shfl.sync.bfly.b32 %r7, %r6, 4, 31, -1; add.u32 %r6, %r6, %r7; shfl.sync.bfly.b32 %r7, %r6, 2, 31, -1; add.u32 %r6, %r6, %r7;\n"
	"shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1; add.u32 %r6, %r6, %r7; st.global.u32 [%rd4], %r6; ret; }";

/* Each block turned round, through shared memory. */
static const char reverse[] = KERNEL("reverse") ".shared .align 4 .b8 tile[1024];\n" INDEX
	"add.u64 %rd4, %rd2, %rd1; add.u64 %rd5, %rd3, %rd1; ld.global.u32 %r6, [%rd5]; mov.u32 %r7, tile; shl.b32 %r8, %r3, 2;\n"
	"add.u32 %r9, %r7, %r8; st.shared.u32 [%r9], %r6; bar.sync 0; sub.u32 %r10, %r2, %r3; sub.u32 %r10, %r10, 1; shl.b32 %r10, %r10, 2;\n"
	"add.u32 %r10, %r7, %r10; ld.shared.u32 %r11, [%r10]; st.global.u32 [%rd4], %r11; ret; }";

/* Threads count their values' last three bits. */
static const char histogram[] = KERNEL("histogram") INDEX "@%p1 ret;\nadd.u64 %rd5, %rd3, %rd1; ld.global.u32 %r6, [%rd5]; and.b32 %r7, %r6, 7;\n"
	"mul.wide.u32 %rd6, %r7, 4; add.u64 %rd6, %rd2, %rd6; red.global.add.u32 [%rd6], 1; ret; }";

/* As many rounds as a value says: warps whose threads part and meet. Collatz: steps to 1. */
static const char diverge[] = KERNEL("diverge") INDEX "@%p1 ret;\nadd.u64 %rd4, %rd2, %rd1; add.u64 %rd5, %rd3, %rd1; ld.global.u32 %r6, [%rd5];\n"
	"and.b32 %r6, %r6, 255; add.u32 %r6, %r6, 1; mov.u32 %r7, 0;\nagain: setp.eq.u32 %p2, %r6, 1; @%p2 bra done;\n"
	"and.b32 %r8, %r6, 1; setp.eq.u32 %p3, %r8, 0; @%p3 bra even; mad.lo.u32 %r6, %r6, 3, 1; bra count;\neven: shr.u32 %r6, %r6, 1;\n"
	"count: add.u32 %r7, %r7, 1; bra again;\ndone: st.global.u32 [%rd4], %r7; ret; }";

static const char doubles[] = KERNEL("doubles") INDEX "@%p1 ret;\nadd.u64 %rd4, %rd2, %rd1; add.u64 %rd5, %rd3, %rd1; ld.global.f32 %f1, [%rd5];\n"
	"cvt.f64.f32 %d1, %f1; fma.rn.f64 %d2, %d1, %d1, 0d3FF0000000000000; rcp.rn.f64 %d3, %d2; cvt.rn.f32.f64 %f2, %d3;\n"
	"st.global.f32 [%rd4], %f2; ret; }"; /* 1 / (x² + 1) */

/* out = A × B of 256 × 256, 16 × 16 threads a block, by tiles in shared memory; in: A, then B. */
static const char gemm[] = HEAD ".visible .entry gemm(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"
	".shared .align 16 .b8 a[1024]; .shared .align 16 .b8 b[1024];\n"
	".reg .u32 %r<40>; .reg .u64 %rd<16>; .reg .f32 %f<8>; .reg .pred %p<4>;\n"
	"ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; ld.param.u32 %r1, [n]; cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;\n"
	"mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y;\n"
	"shl.b32 %r6, %r4, 4; add.u32 %r6, %r6, %r2; shl.b32 %r7, %r5, 4; add.u32 %r7, %r7, %r3;\n" /* column, row */
	"mul.lo.u32 %r8, %r1, %r1; mul.wide.u32 %rd3, %r8, 4; add.u64 %rd3, %rd2, %rd3;\n" /* B */
	"mov.f32 %f1, 0f00000000; mov.u32 %r9, 0; mov.u32 %r20, a; mov.u32 %r21, b; shl.b32 %r22, %r3, 6; shl.b32 %r23, %r2, 2;\n"
	"add.u32 %r24, %r20, %r22; add.u32 %r25, %r24, %r23; add.u32 %r26, %r21, %r22; add.u32 %r26, %r26, %r23; add.u32 %r27, %r21, %r23;\n"
	"tile:\n"
	"mad.lo.u32 %r10, %r7, %r1, %r9; add.u32 %r10, %r10, %r2; mul.wide.u32 %rd4, %r10, 4; add.u64 %rd4, %rd2, %rd4; ld.global.f32 %f2, [%rd4];\n"
	"add.u32 %r11, %r9, %r3; mad.lo.u32 %r11, %r11, %r1, %r6; mul.wide.u32 %rd5, %r11, 4; add.u64 %rd5, %rd3, %rd5; ld.global.f32 %f3, [%rd5];\n"
	"st.shared.f32 [%r25], %f2; st.shared.f32 [%r26], %f3; bar.sync 0; mov.u32 %r12, 0; mov.u32 %r13, %r24; mov.u32 %r14, %r27;\n"
	"step: ld.shared.f32 %f2, [%r13]; ld.shared.f32 %f3, [%r14]; fma.rn.f32 %f1, %f2, %f3, %f1; add.u32 %r13, %r13, 4; add.u32 %r14, %r14, 64;\n"
	"add.u32 %r12, %r12, 1; setp.lt.u32 %p1, %r12, 16; @%p1 bra step; bar.sync 0; add.u32 %r9, %r9, 16; setp.lt.u32 %p2, %r9, %r1; @%p2 bra tile;\n"
	"mad.lo.u32 %r15, %r7, %r1, %r6; mul.wide.u32 %rd6, %r15, 4; add.u64 %rd6, %rd1, %rd6; st.global.f32 [%rd6], %f1; ret; }";

enum { COUNT = 1 << 16, BLOCK = 256, SIDE = 256 };

struct run {
	const struct cuda *cuda;
	FILE *report;
	uint64_t in, out; /* device memory of 2 × COUNT words each */
	uint32_t *given, *got, *wanted;
	unsigned failed;
};

static float as_float(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static uint32_t as_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* What each kernel should leave, by the host's own arithmetic (IEEE 754, as PTX's .rn). */
static void want_saxpy(const uint32_t *in, uint32_t *out)
{
	for (size_t i = 0; i < COUNT; i++)
		out[i] = as_bits(fmaf(as_float(in[i]), 2.5f, 1));
}

static void want_divide(const uint32_t *in, uint32_t *out)
{
	for (size_t i = 0; i < COUNT; i++)
		out[i] = as_bits(sqrtf(as_float(in[i]) / (as_float(in[i]) + 1)));
}

static void want_shuffle(const uint32_t *in, uint32_t *out)
{
	for (size_t i = 0; i < COUNT; i++) {
		out[i] = 0;
		for (size_t k = 0; k < 32; k++)
			out[i] += in[i / 32 * 32 + k];
	}
}

static void want_reverse(const uint32_t *in, uint32_t *out)
{
	for (size_t i = 0; i < COUNT; i++)
		out[i] = in[i / BLOCK * BLOCK + BLOCK - 1 - i % BLOCK];
}

static void want_histogram(const uint32_t *in, uint32_t *out)
{
	for (size_t i = 0; i < COUNT; i++)
		out[in[i] & 7]++;
}

static void want_diverge(const uint32_t *in, uint32_t *out)
{
	for (size_t i = 0; i < COUNT; i++)
		for (uint32_t x = (in[i] & 255) + 1; x != 1; out[i]++)
			x = x & 1 ? 3 * x + 1 : x / 2;
}

static void want_doubles(const uint32_t *in, uint32_t *out)
{
	for (size_t i = 0; i < COUNT; i++) {
		double x = (double)as_float(in[i]);
		out[i] = as_bits((float)(1 / fma(x, x, 1)));
	}
}

static void want_gemm(const uint32_t *in, uint32_t *out)
{
	for (size_t y = 0; y < SIDE; y++)
		for (size_t x = 0; x < SIDE; x++) {
			float sum = 0;
			for (size_t k = 0; k < SIDE; k++)
				sum = fmaf(as_float(in[y * SIDE + k]), as_float(in[SIDE * SIDE + k * SIDE + x]), sum);
			out[y * SIDE + x] = as_bits(sum);
		}
}

static void tell(struct run *run, const char *format, ...) PRINTF_LIKE(2, 3);
static void tell(struct run *run, const char *format, ...)
{
	char line[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	puts(line);
	fflush(stdout);
	if (run->report) {
		fprintf(run->report, "%s\n", line);
		fflush(run->report); /* whatever becomes of this process */
	}
}

static int launch(struct run *run, cuda_handle function, bool square)
{
	uint32_t n = square ? SIDE : COUNT;
	void *parameters[] = { &run->out, &run->in, &n };
	int error = square ? run->cuda->launch(function, SIDE / 16, SIDE / 16, 1, 16, 16, 1, 0, NULL, parameters, NULL) :
			     run->cuda->launch(function, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, parameters, NULL);
	return error ? error : run->cuda->context_wait();
}

static void try_kernel(struct run *run, const char *name, const char *ptx, void (*want)(const uint32_t *, uint32_t *), bool square)
{
	const struct cuda *cuda = run->cuda;
	const size_t bytes = COUNT * sizeof *run->got;
	cuda_handle module = NULL, function;
	size_t wrong = 0, first = 0;
	int error;
	memset(run->wanted, 0, bytes);
	memset(run->got, 0, bytes);
	want(run->given, run->wanted);
	error = cuda->module_load(&module, ptx);
	if (!error)
		error = cuda->module_function(&function, module, name);
	if (!error)
		error = cuda->to_device(run->out, run->got, bytes);
	uint64_t start = clock_ns();
	if (!error)
		error = launch(run, function, square);
	uint64_t first_ns = clock_ns() - start;
	if (!error)
		error = cuda->to_host(run->got, run->out, bytes);
	start = clock_ns();
	if (!error)
		error = launch(run, function, square);
	uint64_t again_ns = clock_ns() - start;
	for (size_t i = COUNT; !error && i-- > 0;)
		if (run->got[i] != run->wanted[i]) {
			first = i;
			wrong++;
		}
	if (error)
		tell(run, "FAIL  %-10s %s (%d)", name, cuda_error(cuda, error), error);
	else if (wrong)
		tell(run, "FAIL  %-10s %zu of %d wrong, the first at %zu: 0x%08x in place of 0x%08x", name, wrong, COUNT, first, run->got[first],
		     run->wanted[first]);
	else if (square)
		tell(run, "ok    %-10s %.3f ms (%.1f ms with compiling), %.2f GFLOP/s", name, (double)again_ns / 1e6, (double)first_ns / 1e6,
		     2.0 * SIDE * SIDE * SIDE / (double)again_ns);
	else
		tell(run, "ok    %-10s %.3f ms (%.1f ms with compiling)", name, (double)again_ns / 1e6, (double)first_ns / 1e6);
	run->failed += error || wrong;
	if (module)
		cuda->module_unload(module);
}

static void measure_copies(struct run *run)
{
	enum { ROUNDS = 8 };
	const size_t bytes = (size_t)32 << 20;
	const struct cuda *cuda = run->cuda;
	uint64_t a = 0, b = 0, times[3];
	void *host = calloc(1, bytes);
	int error = host ? cuda->allocate(&a, bytes) : 2;
	if (!error)
		error = cuda->allocate(&b, bytes);
	for (int way = 0; way < 3 && !error; way++) {
		uint64_t start = clock_ns();
		for (int i = 0; i < ROUNDS && !error; i++)
			error = way == 0 ? cuda->to_device(a, host, bytes) : way == 1 ? cuda->to_host(host, a, bytes) : cuda->copy(b, a, bytes);
		if (!error)
			error = cuda->context_wait();
		times[way] = clock_ns() - start + 1;
	}
	if (error)
		tell(run, "FAIL  %-10s %s (%d)", "copies", cuda_error(cuda, error), error);
	else
		tell(run, "ok    %-10s to the device %.1f GB/s, back %.1f, within %.1f", "copies", (double)(bytes * ROUNDS) / (double)times[0],
		     (double)(bytes * ROUNDS) / (double)times[1], (double)(bytes * ROUNDS) / (double)times[2]);
	run->failed += error != 0;
	cuda->release(a);
	cuda->release(b);
	free(host);
}

/* ---- the tests of PTX ------------------------------------------------------------------------------------------------- */

/* One file of them, by the program that runs them: what fails, then how many. */
static void try_ptx_file(struct run *run, const char *folder, const char *name)
{
	enum { LINES = 20, FILE_SECONDS = 1200 };
	char command[3 * PATH_MAX], line[512], last[512] = "nothing was run";
	unsigned lines = 0;
	snprintf(command, sizeof command, "timeout -k 5 %d '%s/run_ptx' '%s/%s.ptx' 2>&1", FILE_SECONDS, folder, folder, name);
	if (isatty(STDOUT_FILENO)) {
		printf("      ptx: %s …\r", name);
		fflush(stdout);
	}
	FILE *pipe = popen(command, "r");
	uint64_t start = clock_ns();
	while (pipe && fgets(line, sizeof line, pipe)) {
		line[strcspn(line, "\n")] = 0;
		if (lines && lines <= LINES)
			tell(run, "      %s", last);
		lines++;
		snprintf(last, sizeof last, "%s", line);
	}
	int status = pipe ? pclose(pipe) : -1;
	tell(run, "%s  ptx: %-12s %s (%.0f s)", status ? "FAIL" : "ok  ", name, last, (double)(clock_ns() - start) / 1e9);
	run->failed += status != 0;
}

/* They are where Dragoman was built. */
static void try_ptx(struct run *run)
{
	static const char *const names[] = { "hardware", "integer", "floating", "approximate", "warp", "memory", "matrix", "sparse", "scaled", "machine",
					     "barriers", "waiting" }; /* a device may hang in these */
	const char *device = getenv("DRAGOMAN_DEVICE"), *libraries = libraries_folder();
	char folder[PATH_MAX], program[PATH_MAX + 16];
	snprintf(folder, sizeof folder, "%s/../tests/ptx", libraries ? libraries : ".");
	snprintf(program, sizeof program, "%s/run_ptx", folder);
	if (access(program, X_OK) || strchr(folder, '\'')) {
		tell(run, "skip  ptx        the tests of PTX are where Dragoman was built: run build/dragoman");
		return;
	}
	/* Some minutes' worth; the form that GPUs have. */
	setenv("RUN_PTX_EVERY", "8", 0);
	if (device && strcmp(device, "cpu"))
		setenv("RUN_PTX_MODES", "1:0:2", 0);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		/* products of matrices to the bit; those of one file come out alike however the device rounds */
		setenv("DRAGOMAN_MMA", strcmp(names[i], "machine") ? "exact" : "", 1);
		try_ptx_file(run, folder, names[i]);
	}
}

static void describe(struct run *run)
{
	struct amd_hip_gpu gpus[16];
	struct utsname machine;
	char line[256];
	int count = 0;
	tell(run, "dragoman %s selftest", DRAGOMAN_VERSION);
	if (!uname(&machine))
		tell(run, "system  %s %s %s", machine.sysname, machine.release, machine.machine);
	run->cuda->device_count(&count);
	run->cuda->device_name(line, sizeof line, 0);
	tell(run, "device  %s (the first of %d)", line, count);
	if (!getenv("DRAGOMAN_DEVICE") || !strcmp(getenv("DRAGOMAN_DEVICE"), "cpu"))
		return;
	amd_hip_release(line, sizeof line);
	tell(run, "hip     %s", line);
	size_t found = amd_hip_gpus(gpus, ARRAY_LENGTH(gpus));
	for (size_t i = 0; i < found; i++)
		tell(run, "gpu     %s, %s%s", gpus[i].name, gpus[i].architecture, gpus[i].ordinal < 0 ? ", not used" : "");
}

/* ---- parts, in children ------------------------------------------------------------------------------------------------- */

static const struct part {
	const char *name, *ptx; /* NULL: not a kernel */
	void (*want)(const uint32_t *, uint32_t *);
	void (*other)(struct run *);
} parts[] = {
	{ "device", NULL, NULL, describe },
	{ "saxpy", saxpy, want_saxpy, NULL },
	{ "divide", divide, want_divide, NULL },
	{ "doubles", doubles, want_doubles, NULL },
	{ "shuffle", shuffle, want_shuffle, NULL },
	{ "reverse", reverse, want_reverse, NULL },
	{ "diverge", diverge, want_diverge, NULL },
	{ "histogram", histogram, want_histogram, NULL },
	{ "gemm", gemm, want_gemm, NULL },
	{ "copies", NULL, NULL, measure_copies },
};

/* What a child says: the part that it begins with, or has done, and what has failed in it. */
struct progress {
	int32_t part;
	uint32_t failed;
	bool done;
};

static void say_progress(int pipe, int part, unsigned failed, bool done)
{
	struct progress progress = { part, failed, done };
	if (write(pipe, &progress, sizeof progress) != sizeof progress)
		_exit(STATUS_NO);
}

static bool prepare(struct run *run)
{
	const size_t bytes = (size_t)2 * COUNT * sizeof(uint32_t);
	uint32_t state = 12345;
	run->given = calloc(3, bytes);
	run->cuda = run->given ? cuda_open() : NULL;
	if (!run->cuda)
		return false;
	run->got = run->given + 2 * COUNT;
	run->wanted = run->given + 4 * COUNT;
	for (size_t i = 0; i < (size_t)2 * COUNT; i++) { /* floats of [0, 1) with varied last bits */
		state = state * 1664525 + 1013904223;
		run->given[i] = as_bits((float)(state >> 8) / (1 << 24));
	}
	return true;
}

/* Memory for the kernels, when the device has been named. */
static bool fill_memory(struct run *run)
{
	const size_t bytes = (size_t)2 * COUNT * sizeof *run->given;
	int error = run->cuda->allocate(&run->in, bytes);
	if (!error)
		error = run->cuda->allocate(&run->out, bytes);
	if (!error)
		error = run->cuda->to_device(run->in, run->given, bytes);
	if (error) {
		tell(run, "FAIL  %-10s %s (%d)", "memory", cuda_error(run->cuda, error), error);
		run->failed++;
	}
	return !error;
}

/* An error that stays ends the child: the next one has the device anew. */
static void try_parts(struct run *run, int first, int pipe)
{
	if (!prepare(run))
		_exit(STATUS_NO);
	for (int i = first; i < (int)ARRAY_LENGTH(parts); i++) {
		say_progress(pipe, i, 0, false);
		run->failed = 0;
		if (i && !run->in && !fill_memory(run)) {
			say_progress(pipe, (int)ARRAY_LENGTH(parts), run->failed, true);
			return;
		}
		if (parts[i].ptx)
			try_kernel(run, parts[i].name, parts[i].ptx, parts[i].want, parts[i].want == want_gemm);
		else
			parts[i].other(run);
		say_progress(pipe, i, run->failed, true);
		if (run->failed && run->cuda->context_wait())
			return;
	}
}

/* One child, from a part on. The part to go on with; -1: there is no device. */
static int watch_child(struct run *run, int first)
{
	enum { SECONDS = 120 };
	struct progress now = { first, 0, false };
	int ends[2], status = 0;
	bool silent = false, any = false;
	fflush(NULL);
	pid_t child = pipe(ends) ? -1 : fork();
	if (!child) {
		close(ends[0]);
		try_parts(run, first, ends[1]);
		fflush(NULL);
		_exit(STATUS_OK);
	}
	if (child < 0) {
		say("no process can be made");
		return -1;
	}
	close(ends[1]);
	for (;;) {
		struct pollfd wait = { ends[0], POLLIN, 0 };
		silent = poll(&wait, 1, SECONDS * 1000) == 0;
		if (silent || read(ends[0], &now, sizeof now) != sizeof now)
			break;
		any = true;
		run->failed += now.failed;
	}
	close(ends[0]);
	if (silent)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	if (!any)
		return -1;
	if (now.done)
		return now.part + 1;
	if (silent)
		tell(run, "FAIL  %-10s not over after %d s", parts[now.part].name, SECONDS);
	else if (WIFSIGNALED(status))
		tell(run, "FAIL  %-10s signal %d (%s) ended the process", parts[now.part].name, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		tell(run, "FAIL  %-10s the process ended, with status %d", parts[now.part].name, WEXITSTATUS(status));
	run->failed++;
	return now.part + 1;
}

static int selftest(int argc, char **argv)
{
	static const struct option options[] = { { "quick", no_argument, NULL, 'q' }, { 0 } };
	struct run run = { 0 };
	bool quick = false;
	int part = 0;
	for (int option; (option = next_option(&command_selftest, argc, argv, ":q", options)) != -1;) {
		if (option != 'q')
			return STATUS_USAGE;
		quick = true;
	}
	const char *path = optind < argc ? argv[optind] : "dragoman-selftest.txt";
	if (optind + 1 < argc)
		return usage_error(&command_selftest, "no argument '%s'", argv[optind + 1]);
	run.report = fopen(path, "w");
	if (!run.report) {
		say("%s cannot be written", path);
		return STATUS_NO;
	}
	while (part >= 0 && part < (int)ARRAY_LENGTH(parts))
		part = watch_child(&run, part);
	if (part < 0) {
		tell(&run, "there is no device to test");
		fclose(run.report);
		return STATUS_NO;
	}
	if (!quick)
		try_ptx(&run);
	if (run.failed)
		tell(&run, "%u parts failed", run.failed);
	else
		tell(&run, "all parts passed");
	fclose(run.report);
	printf("The report is in %s: please attach it where you tell of this device.\n", path);
	return run.failed ? STATUS_NO : STATUS_OK;
}

const struct command command_selftest = {
	.name = "selftest",
	.usage = "[--quick] [REPORT]",
	.summary = "try a device with kernels whose results are known, and write a report",
	.help = "Runs small kernels on the device that DRAGOMAN_DEVICE names (cpu, amd or auto) and compares every\n"
		"result with the host's own arithmetic, measures a matrix product and copies, then runs a sample of\n"
		"the tests of PTX, which takes some minutes. What comes of it goes to standard output and to REPORT\n"
		"(dragoman-selftest.txt).\n\n"
		"  -q, --quick  without the tests of PTX: seconds\n\n"
		"The exit status is 1 where anything failed.",
	.run = selftest,
};
