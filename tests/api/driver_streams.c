/* Streams and events: order, the default streams, waits across streams, host functions, timing, memory operations.
 * Expectations: CUDA Driver API reference manual, "Stream Management", "Event Management", "Stream Memory Operations", "Stream
 * synchronization behavior". */
#define _GNU_SOURCE
#include <cuda.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"
#include "driver_kernels.h"

static CUfunction add, multiply;
static CUdeviceptr cell;
static atomic_int gate, reached;

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void hold(void *unused)
{
	(void)unused;
	atomic_fetch_add(&reached, 1);
	while (!atomic_load(&gate))
		sleep_ms(1);
}

static void note(void *place)
{
	*(unsigned *)place = 1;
}

static CUresult launch(CUfunction function, CUstream stream, unsigned value)
{
	void *parameters[] = {&cell, &value};

	return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static unsigned read_cell(void)
{
	unsigned value = 0;

	CHECK_OK(cuMemcpyDtoH(&value, cell, 4));
	return value;
}

static void test_handles(void)
{
	unsigned long long id = 0, other = 0;
	CUstream a, b;
	CUcontext context, current;
	CUevent event;
	unsigned flags = 9;
	int priority = 9;

	CHECK_INT(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamCreate(&a, 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuStreamCreateWithPriority(&a, CU_STREAM_NON_BLOCKING, -100)); /* clamped */
	CHECK_OK(cuStreamCreate(&b, 0));
	CHECK_OK(cuStreamGetPriority(a, &priority));
	CHECK_INT(priority, -5);
	CHECK_OK(cuStreamGetFlags(a, &flags));
	CHECK_INT(flags, CU_STREAM_NON_BLOCKING);
	CHECK_OK(cuStreamGetId(a, &id));
	CHECK_OK(cuStreamGetId(b, &other));
	CHECK(id != other);
	CHECK_OK(cuStreamGetId(NULL, &id));
	CHECK_OK(cuStreamGetId(CU_STREAM_LEGACY, &other));
	CHECK(id == other);
	CHECK_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &other));
	CHECK(id != other);
	CHECK_OK(cuStreamGetCtx(a, &context, NULL));
	CHECK_OK(cuCtxGetCurrent(&current));
	CHECK(context == current);
	CHECK_OK(cuStreamDestroy(a));
	CHECK_INT(cuStreamDestroy(a), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuStreamQuery(a), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuStreamDestroy(CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuStreamSynchronize((CUstream)0x1234567), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuStreamSynchronize((CUstream)current), CUDA_ERROR_INVALID_HANDLE); /* a handle of another kind */
	CHECK_OK(cuStreamDestroy(b));
	CHECK_INT(cuEventCreate(&event, 0x80), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE); /* needs DISABLE_TIMING */
	CHECK_INT(cuEventDestroy((CUevent)0x88), CUDA_ERROR_INVALID_HANDLE);
}

/* The legacy stream waits for blocking streams, and they for it; a non-blocking one is free. */
static void test_default_streams(void)
{
	CUstream blocking, another, independent;
	unsigned free_ran = 0;

	atomic_store(&gate, 0);
	CHECK_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	CHECK_OK(cuStreamCreate(&another, CU_STREAM_DEFAULT));
	CHECK_OK(cuStreamCreate(&independent, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemsetD32(cell, 2, 1));
	CHECK_OK(launch(add, NULL, 0)); /* compiled before anything is held */
	CHECK_OK(launch(multiply, NULL, 1));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuLaunchHostFunc(blocking, hold, NULL));
	CHECK_OK(launch(add, blocking, 3));
	CHECK_OK(launch(multiply, NULL, 10)); /* after the blocking stream's */
	CHECK_OK(launch(add, another, 7));    /* after the legacy stream's */
	CHECK_INT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	CHECK_INT(cuStreamQuery(another), CUDA_ERROR_NOT_READY);
	CHECK_OK(cuLaunchHostFunc(independent, note, &free_ran));
	atomic_store(&gate, 1);
	CHECK_OK(cuStreamSynchronize(independent));
	CHECK_INT(free_ran, 1);
	CHECK_OK(cuStreamSynchronize(another));
	CHECK_INT(read_cell(), (2 + 3) * 10 + 7);
	/* Destroying a stream at work: the work is done, and the legacy stream still waits for it. */
	atomic_store(&gate, 0);
	CHECK_OK(cuLaunchHostFunc(blocking, hold, NULL));
	CHECK_OK(launch(add, blocking, 100));
	CHECK_OK(cuStreamDestroy(blocking));
	CHECK_OK(launch(multiply, NULL, 2));
	CHECK_INT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	atomic_store(&gate, 1);
	CHECK_INT(read_cell(), 157 * 2);
	CHECK_OK(cuStreamDestroy(another));
	CHECK_OK(cuStreamDestroy(independent));
}

static void test_events(void)
{
	CUstream a, b;
	CUevent first, second, untimed;
	float ms = -1;

	CHECK_OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
	CHECK_OK(cuEventCreate(&second, CU_EVENT_BLOCKING_SYNC));
	CHECK_OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuEventQuery(first)); /* never recorded: as if done */
	CHECK_OK(cuEventSynchronize(first));
	CHECK_INT(cuEventElapsedTime(&ms, first, second), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuStreamWaitEvent(a, first, 0));
	atomic_store(&gate, 0);
	atomic_store(&reached, 0);
	CHECK_OK(cuMemsetD32(cell, 1, 1));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuEventRecord(first, a));
	CHECK_OK(cuLaunchHostFunc(a, hold, NULL));
	CHECK_OK(launch(add, a, 4));
	CHECK_OK(cuEventRecord(second, a));
	CHECK_OK(cuEventRecord(untimed, a));
	CHECK_OK(cuStreamWaitEvent(b, untimed, 0));
	CHECK_OK(launch(multiply, b, 3));
	CHECK_INT(cuEventQuery(second), CUDA_ERROR_NOT_READY);
	CHECK_INT(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	CHECK_INT(cuEventElapsedTime(&ms, first, second), CUDA_ERROR_NOT_READY);
	while (!atomic_load(&reached)) /* the first event is over by then */
		sleep_ms(1);
	sleep_ms(20);
	atomic_store(&gate, 1);
	CHECK_OK(cuEventSynchronize(second));
	CHECK_OK(cuEventElapsedTime(&ms, first, second));
	CHECK(ms >= 19 && ms < 5000);
	CHECK_INT(cuEventElapsedTime(&ms, first, untimed), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuEventElapsedTime(NULL, first, second), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuStreamSynchronize(b));
	CHECK_INT(read_cell(), 15);
	/* A later record does not move a wait that is under way; an event may go while it is waited for. */
	atomic_store(&gate, 0);
	CHECK_OK(cuLaunchHostFunc(a, hold, NULL));
	CHECK_OK(cuEventRecord(first, a));
	CHECK_OK(cuStreamWaitEvent(b, first, 0));
	CHECK_OK(cuEventDestroy(first));
	CHECK_INT(cuEventQuery(first), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	atomic_store(&gate, 1);
	CHECK_OK(cuStreamSynchronize(b));
	CHECK_OK(cuEventDestroy(second));
	CHECK_OK(cuEventDestroy(untimed));
	CHECK_OK(cuStreamDestroy(a));
	CHECK_OK(cuStreamDestroy(b));
}

static void test_copies(void)
{
	CUstream stream;
	CUdeviceptr p;
	unsigned char small[1000], *large = malloc(1 << 20), *back = malloc(1 << 20), *pinned;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemAlloc(&p, 1 << 20));
	CHECK_OK(cuMemHostAlloc((void **)&pinned, 1 << 20, 0));
	atomic_store(&gate, 0);
	CHECK_OK(cuLaunchHostFunc(stream, hold, NULL));
	/* From pageable memory: its owner may use it again as soon as the call is back. */
	memset(small, 5, sizeof small);
	CHECK_OK(cuMemcpyHtoDAsync(p, small, sizeof small, stream));
	memset(small, 9, sizeof small);
	memset(pinned, 6, 1 << 20);
	CHECK_OK(cuMemcpyHtoDAsync(p + 1000, pinned, 1000, stream));
	CHECK_INT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	atomic_store(&gate, 1);
	CHECK_OK(cuMemcpyDtoHAsync(back, p, 2000, stream)); /* to pageable memory: done when the call is back */
	CHECK(back[0] == 5 && back[999] == 5 && back[1000] == 6 && back[1999] == 6);
	memset(large, 7, 1 << 20);
	CHECK_OK(cuMemcpyHtoDAsync(p, large, 1 << 20, stream));
	memset(large, 8, 1 << 20);
	CHECK_OK(cuMemcpyDtoHAsync(pinned, p, 1 << 20, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK(pinned[0] == 7 && pinned[(1 << 20) - 1] == 7);
	CHECK_OK(cuMemFreeHost(pinned));
	CHECK_OK(cuMemFree(p));
	CHECK_OK(cuStreamDestroy(stream));
	free(large);
	free(back);
}

static void test_memory_operations(void)
{
	CUstream waiter, writer;
	CUdeviceptr flags;
	CUstreamBatchMemOpParams batch[2] = {{0}};
	unsigned words[4] = {0};
	unsigned long long wide = 0;

	CHECK_OK(cuStreamCreate(&waiter, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuMemAlloc(&flags, 16));
	CHECK_OK(cuMemsetD32(flags, 0, 4));
	CHECK_OK(cuMemsetD32(cell, 1, 1));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuStreamWaitValue32(waiter, flags, 5, CU_STREAM_WAIT_VALUE_GEQ));
	CHECK_OK(launch(add, waiter, 1));
	CHECK_INT(cuStreamQuery(waiter), CUDA_ERROR_NOT_READY);
	CHECK_OK(cuStreamWriteValue32(writer, flags, 4, 0));
	CHECK_OK(cuStreamSynchronize(writer));
	sleep_ms(5);
	CHECK_INT(cuStreamQuery(waiter), CUDA_ERROR_NOT_READY);
	CHECK_OK(cuStreamWriteValue32(writer, flags, 6, 0));
	CHECK_OK(cuStreamSynchronize(waiter));
	CHECK_INT(read_cell(), 2);
	CHECK_OK(cuStreamWriteValue64(writer, flags + 8, 0x123456789ABCull, 0));
	CHECK_OK(cuStreamWaitValue64(waiter, flags + 8, 0x123456789ABCull, CU_STREAM_WAIT_VALUE_EQ));
	CHECK_OK(cuStreamSynchronize(waiter));
	CHECK_OK(cuMemcpyDtoH(&wide, flags + 8, 8));
	CHECK(wide == 0x123456789ABCull);
	batch[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	batch[0].writeValue.address = flags;
	batch[0].writeValue.value = 77;
	batch[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	batch[1].waitValue.address = flags;
	batch[1].waitValue.value = 64;
	batch[1].waitValue.flags = CU_STREAM_WAIT_VALUE_AND;
	CHECK_OK(cuStreamBatchMemOp(writer, 2, batch, 0));
	CHECK_OK(cuStreamSynchronize(writer));
	CHECK_OK(cuMemcpyDtoH(words, flags, 4));
	CHECK_INT(words[0], 77);
	CHECK_INT(cuStreamWriteValue32(writer, flags + 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamWaitValue32(writer, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamBatchMemOp(writer, 0, batch, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuStreamBatchMemOp(writer, 2, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree(flags));
	CHECK_OK(cuStreamDestroy(waiter));
	CHECK_OK(cuStreamDestroy(writer));
}

static void open_gate(void *unused)
{
	(void)unused;
	atomic_store(&gate, 1);
}

/* A host function may wait for what that of another stream does. */
static void test_host_functions(void)
{
	CUstream streams[4];

	atomic_store(&gate, 0);
	for (int i = 0; i < 4; i++) {
		CHECK_OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		CHECK_OK(cuLaunchHostFunc(streams[i], i < 3 ? hold : open_gate, NULL));
	}
	for (int i = 0; i < 4; i++) {
		CHECK_OK(cuStreamSynchronize(streams[i]));
		CHECK_OK(cuStreamDestroy(streams[i]));
	}
}

/* Each thread: its own stream and its default stream, chains across both by events. */
static void *work(void *number)
{
	CUcontext context = ((void **)number)[0];
	unsigned total = 0;
	CUdeviceptr mine;
	CUstream stream;
	CUevent event;

	CHECK_OK(cuCtxSetCurrent(context));
	CHECK_OK(cuMemAlloc(&mine, 4));
	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cuMemsetD32Async(mine, 0, 1, stream));
	for (unsigned i = 0; i < 200; i++) {
		CUstream to = i % 2 ? stream : CU_STREAM_PER_THREAD;
		void *parameters[] = {&mine, &i};

		CHECK_OK(cuEventRecord(event, i % 2 ? CU_STREAM_PER_THREAD : stream));
		CHECK_OK(cuStreamWaitEvent(to, event, 0));
		CHECK_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, to, parameters, NULL));
	}
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemcpyDtoH(&total, mine, 4));
	CHECK_INT(total, 199 * 100);
	CHECK_OK(cuEventDestroy(event));
	CHECK_OK(cuStreamDestroy(stream));
	CHECK_OK(cuMemFree(mine));
	return NULL;
}

static void test_threads(CUcontext context)
{
	enum { THREADS = 8 };
	pthread_t threads[THREADS];
	void *argument[1] = {context};

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, argument);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	CUcontext context;
	CUmodule module;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate(&context, NULL, 0, 0));
	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	CHECK_OK(cuModuleGetFunction(&add, module, "add"));
	CHECK_OK(cuModuleGetFunction(&multiply, module, "multiply"));
	CHECK_OK(cuMemAlloc(&cell, 4));
	test_handles();
	test_default_streams();
	test_events();
	test_host_functions();
	test_copies();
	test_memory_operations();
	test_threads(context);
	CHECK_OK(cuCtxDestroy(context));
	return check_end();
}
