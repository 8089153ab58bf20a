/* Everything at once for a while: launches, copies, graphs, pools, modules, streams and events from many threads, each of which
 * checks its own sums. SOAK_SECONDS (default 1) and SOAK_THREADS (default 8) say how long and how many; memory must not grow. */
#define _GNU_SOURCE
#include <cuda.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/sanitizer.h"
#include "check.h"
#include "driver_kernels.h"

enum { CELLS = 64 };

static CUcontext context;
static CUlibrary library;
static double seconds;
static atomic_long rounds;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long resident_kib(void)
{
	long all = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file) {
		if (fscanf(file, "%ld %ld", &all, &resident) != 2)
			resident = 0;
		fclose(file);
	}
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A sum by launches in two streams that events order. */
static void by_launches(CUfunction add, CUdeviceptr cell, CUstream a, CUstream b)
{
	unsigned total = 0, expected = 0;
	CUevent event;

	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuMemsetD32Async(cell, 0, 1, a));
	for (unsigned i = 0; i < 20; i++) {
		CUstream from = i % 2 ? b : a, to = i % 2 ? a : b;
		void *parameters[] = {&cell, &i};

		CHECK_OK(cuEventRecord(event, from));
		CHECK_OK(cuStreamWaitEvent(to, event, 0));
		CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, to, parameters, NULL));
		expected += i;
	}
	CHECK_OK(cuMemcpyDtoHAsync(&total, cell, 4, a));
	CHECK_INT(total, expected);
	CHECK_OK(cuEventDestroy(event));
}

static void by_graph(CUfunction add, CUdeviceptr cell, CUstream stream)
{
	unsigned total = 0, step = 3;
	void *parameters[] = {&cell, &step};
	CUgraph graph;
	CUgraphExec exec;

	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK_OK(cuMemsetD32Async(cell, 1, 1, stream));
	for (int i = 0; i < 5; i++)
		CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
	CHECK_OK(cuStreamEndCapture(stream, &graph));
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cuGraphDestroy(graph));
	for (int i = 0; i < 3; i++)
		CHECK_OK(cuGraphLaunch(exec, stream));
	CHECK_OK(cuMemcpyDtoHAsync(&total, cell, 4, stream));
	CHECK_INT(total, 16);
	CHECK_OK(cuGraphExecDestroy(exec));
}

static void by_pool(CUfunction fill, CUstream stream)
{
	unsigned values[CELLS] = {0};
	CUdeviceptr p, q;
	void *parameters[] = {&p};

	CHECK_OK(cuMemAllocAsync(&p, sizeof values, stream));
	CHECK_OK(cuMemAllocAsync(&q, sizeof values, stream));
	CHECK_OK(cuLaunchKernel(fill, 4, 1, 1, CELLS / 4, 1, 1, 0, stream, parameters, NULL));
	CHECK_OK(cuMemcpyDtoDAsync(q, p, sizeof values, stream));
	CHECK_OK(cuMemFreeAsync(p, stream));
	CHECK_OK(cuMemcpyDtoHAsync(values, q, sizeof values, stream));
	CHECK_OK(cuMemFreeAsync(q, stream));
	for (unsigned i = 0; i < CELLS; i++)
		CHECK_INT(values[i], i);
}

static void by_module(unsigned number)
{
	CUmodule module;
	CUfunction multiply;
	CUdeviceptr counter;
	unsigned value = number % 7, out = 0;
	void *parameters[] = {&counter, &value};

	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunction(&multiply, module, "multiply"));
	CHECK_OK(cuModuleGetGlobal(&counter, NULL, module, "counter"));
	CHECK_OK(cuLaunchKernel(multiply, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, parameters, NULL));
	CHECK_OK(cuMemcpyDtoHAsync(&out, counter, 4, CU_STREAM_PER_THREAD));
	CHECK_INT(out, 5 * value);
	CHECK_OK(cuModuleUnload(module));
}

static void *work(void *unused)
{
	CUfunction add, fill;
	CUkernel kernels[2];
	CUdeviceptr cell;
	CUstream a, b;
	double end = now() + seconds;

	(void)unused;
	CHECK_OK(cuCtxSetCurrent(context));
	CHECK_OK(cuLibraryGetKernel(&kernels[0], library, "add"));
	CHECK_OK(cuLibraryGetKernel(&kernels[1], library, "fill"));
	CHECK_OK(cuKernelGetFunction(&add, kernels[0]));
	CHECK_OK(cuKernelGetFunction(&fill, kernels[1]));
	for (unsigned i = 0; now() < end; i++) {
		CHECK_OK(cuMemAlloc(&cell, 4));
		CHECK_OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
		CHECK_OK(cuStreamCreate(&b, i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
		by_launches(add, cell, a, b);
		by_graph(add, cell, a);
		by_pool(fill, a);
		by_module(i);
		CHECK_OK(cuStreamDestroy(a));
		CHECK_OK(cuStreamDestroy(b));
		CHECK_OK(cuMemFree(cell));
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

static void run(int threads)
{
	pthread_t thread[64];

	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

int main(void)
{
	const char *time = getenv("SOAK_SECONDS"), *count = getenv("SOAK_THREADS");
	int threads = count ? atoi(count) : 8;
	double wanted = time ? atof(time) : 1;
	long before, after;

	if (threads < 1 || threads > 64)
		threads = 8;
	CHECK_OK(cuInit(0));
	CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK_OK(cuCtxSetCurrent(context));
	CHECK_OK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
	seconds = wanted / 4; /* what the first round allocates once is not growth */
	run(threads);
	before = resident_kib();
	seconds = wanted;
	run(threads);
	after = resident_kib();
	fprintf(stderr, "%ld rounds, %ld KiB resident, then %ld\n", (long)atomic_load(&rounds), before, after);
#if !defined(WITH_ASAN) && !defined(WITH_TSAN) /* which keep what was freed, and shadows of it */
	CHECK(after < before + before / 5 + 16384);
#endif
	CHECK_OK(cuLibraryUnload(library));
	CHECK_OK(cuCtxSetCurrent(NULL));
	CHECK_OK(cuDevicePrimaryCtxRelease(0));
	return check_end();
}
