/* Running kernels on the CPU device: launches, barriers, exchanges, cooperation, variables, services. What is expected is
 * worked out here from what the kernels (kernels/kernels.c) are said to do. */
#include "cpu_test.h"

static void adds_vectors(void **state)
{
	enum { N = 100003 };
	int *a = allocate(4 * N), *b = allocate(4 * N), *c = allocate(4 * N);
	(void)state;
	for (int i = 0; i < N; i++) {
		a[i] = i;
		b[i] = 3 * i + 1;
	}
	RUN(LAUNCH("vadd", SHAPE((N + 255) / 256, 256), a, b, (uintptr_t)c, N));
	RUN(synchronize(fx.queue));
	for (int i = 0; i < N; i++)
		assert_int_equal(c[i], 4 * i + 1);
	/* A grid and block of three dimensions cover the same numbers. */
	memset(c, 0, 4 * N);
	struct shape shape = { { 7, 5, 13 }, { 8, 4, 8 }, 0, false };
	RUN(LAUNCH("vadd", shape, a, b, (uintptr_t)c, N));
	RUN(synchronize(fx.queue));
	for (int i = 0; i < N; i++)
		assert_int_equal(c[i], i < 7 * 5 * 13 * 256 ? 4 * i + 1 : 0);
}

/* Code that runs several blocks a call gets each once: a row's, but no more than 8192 threads of it and one block. */
static void rows_of_blocks(void **state)
{
	static const struct {
		uint32_t grid[3], most;
	} rows[] = { { { 7, 64, 3 }, 7 }, { { 400, 64, 2 }, 257 }, { { 1, 1, 1 }, 1 } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const uint32_t *grid = rows[i].grid, blocks = grid[0] * grid[1] * grid[2];
		struct shape shape = { { grid[0], grid[1], grid[2] }, { 32, 4, 1 }, 0, false };
		int *counts = allocate(4 * blocks), *most = allocate(4);
		memset(counts, 0, 4 * blocks);
		*most = 0;
		RUN(LAUNCH("count_rows", shape, (uintptr_t)counts, (uintptr_t)most, UINT64_MAX, 0));
		RUN(synchronize(fx.queue));
		for (uint32_t b = 0; b < blocks; b++)
			assert_int_equal(counts[b], 128);
		assert_int_equal(*most, rows[i].most);
	}
}

static void sums_blocks(const char *kernel)
{
	enum { BLOCKS = 100, THREADS = 256 };
	int *in = allocate(4 * BLOCKS * THREADS), *out = allocate(4 * BLOCKS);
	for (int i = 0; i < BLOCKS * THREADS; i++)
		in[i] = i % 1000;
	RUN(LAUNCH(kernel, SHAPE(BLOCKS, THREADS), in, out, 0, 0));
	RUN(synchronize(fx.queue));
	for (int b = 0; b < BLOCKS; b++) {
		int sum = 0;
		for (int t = 0; t < THREADS; t++)
			sum += in[b * THREADS + t];
		assert_int_equal(out[b], sum);
	}
}

static void barriers_by_warp(void **state)
{
	(void)state;
	sums_blocks("block_sum");
}

static void barriers_by_thread(void **state)
{
	(void)state;
	sums_blocks("block_sum_scalar");
}

static void barrier_reductions(void **state)
{
	enum { THREADS = 100 }; /* the last warp is not full */
	uint32_t *out = allocate(4 * 5 * 4);
	(void)state;
	RUN(LAUNCH("barrier_reduce", SHAPE(1, THREADS), out, 0, 0, 0));
	RUN(synchronize(fx.queue));
	for (int warp = 0; warp < 4; warp++) {
		assert_int_equal(out[5 * warp], 34); /* 0, 3, … 99 */
		assert_int_equal(out[5 * warp + 1], 0);
		assert_int_equal(out[5 * warp + 2], 1);
		assert_int_equal(out[5 * warp + 3], 1);
		assert_int_equal(out[5 * warp + 4], 0);
	}
}

static void named_barriers(void **state)
{
	int *out = allocate(40);
	(void)state;
	RUN(LAUNCH("producer", SHAPE(1, 96), out, 0, 0, 0));
	RUN(synchronize(fx.queue));
	for (int i = 0; i < 10; i++)
		assert_int_equal(out[i], i * i);
}

static void exited_threads_are_not_waited_for(void **state)
{
	uint32_t *out = allocate(4 * 100);
	(void)state;
	RUN(LAUNCH("early_exit", SHAPE(1, 100), out, 37, 0, 0));
	RUN(synchronize(fx.queue));
	for (int t = 0; t < 100; t++)
		assert_int_equal(out[t], t < 37 ? 0 : 63);
}

static void exchanges(void **state)
{
	uint32_t *out = allocate(4 * 64);
	(void)state;
	RUN(LAUNCH("exchange", SHAPE(1, 64), out, 0, 0, 0));
	RUN(synchronize(fx.queue));
	/* Thread 5 of warp 0 has left: its 6 is missing. */
	for (int t = 0; t < 32; t++)
		assert_int_equal(out[t], t == 5 ? 0 : 32 * 33 / 2 - 6);
	for (int t = 32; t < 64; t++)
		assert_int_equal(out[t], 64 * 65 / 2 - 32 * 33 / 2);
	memset(out, 0, 4 * 64);
	RUN(LAUNCH("exchange", SHAPE(1, 64), out, 1, 0, 0));
	RUN(synchronize(fx.queue));
	for (int t = 0; t < 64; t++) {
		int first = t / 16 * 16, sum = 0;
		for (int i = first; i < first + 16; i++)
			sum += i == 5 ? 0 : i + 1;
		assert_int_equal(out[t], t == 5 ? 0 : sum);
	}
}

static void cooperative_grids(void **state)
{
	enum { BLOCKS = 50, ROUNDS = 20, WARPS = 4 };
	int *counts = allocate(4 * ROUNDS), *good = allocate(4);
	(void)state;
	struct shape shape = { { 10, 5, 1 }, { 128, 1, 1 }, 0, true };
	RUN(LAUNCH("grid_sync", shape, counts, good, ROUNDS, 0));
	RUN(synchronize(fx.queue));
	assert_int_equal(*good, BLOCKS * WARPS * ROUNDS);
}

static void blocks_that_wait_for_later_ones(void **state)
{
	enum { BLOCKS = 90 }; /* what three multiprocessors hold, even if one worker has to do it alone */
	int *flags = allocate(4 * BLOCKS);
	(void)state;
	RUN(LAUNCH("chain", SHAPE(BLOCKS, 64), flags, BLOCKS, 0, 0));
	RUN(synchronize(fx.queue));
	for (int i = 0; i < BLOCKS; i++)
		assert_int_equal(flags[i], 1);
}

static void variables_and_functions(void **state)
{
	void *counter, *table, *small, **seen = allocate(8);
	int *out = allocate(4);
	(void)state;
	RUN(fx.ops->module_variable(fx.module, ptx_find_variable(fx.ptx, "counter"), &counter));
	RUN(fx.ops->module_variable(fx.module, ptx_find_variable(fx.ptx, "table"), &table));
	RUN(fx.ops->module_variable(fx.module, ptx_find_variable(fx.ptx, "small"), &small));
	assert_int_equal(*(uint32_t *)counter, 5);
	assert_ptr_equal(((void **)table)[1], counter);
	assert_ptr_equal(((char **)table)[2], (char *)counter + 4);
	assert_memory_equal(small, ((uint16_t[4]){ 1, 2, 0xffff, 0 }), 8);
	RUN(LAUNCH("count_up", SHAPE(10, 100), seen, 0, 0, 0));
	RUN(synchronize(fx.queue));
	assert_int_equal(*(uint32_t *)counter, 1005);
	assert_ptr_equal(*seen, table);
	RUN(LAUNCH("call_table", SHAPE(1, 1), out, 0, 0, 0));
	RUN(synchronize(fx.queue));
	assert_int_equal(*out, 14);
}

static void device_heap(void **state)
{
	uint64_t *out = allocate(16);
	(void)state;
	RUN(LAUNCH("heap", SHAPE(1, 1), out, 0, 0, 0));
	RUN(synchronize(fx.queue));
	/* 8 MiB hold 83 of them at the most, and not many fewer. */
	assert_in_range(out[0], 80, 83);
	assert_int_equal(out[1], 1);
}

static void limits(void **state)
{
	uint64_t *out = allocate(16);
	int *depth = allocate(4);
	(void)state;
	RUN(fx.ops->set_limit(fx.device, DEVICE_LIMIT_HEAP, 2000000));
	RUN(LAUNCH("heap", SHAPE(1, 1), out, 0, 0, 0));
	RUN(synchronize(fx.queue));
	assert_in_range(out[0], 18, 20);
	/* 30,000 frames of over 256 bytes, more than there is at first (test_cpu_fault.c: stack_overflow). */
	RUN(fx.ops->set_limit(fx.device, DEVICE_LIMIT_STACK, 512 << 10));
	RUN(LAUNCH("recurse", SHAPE(1, 64), depth, 30000, 0, 0));
	RUN(synchronize(fx.queue));
	assert_int_equal(fx.ops->set_limit(fx.device, DEVICE_LIMIT_STACK, 1 << 20), STATUS_INVALID_VALUE);
}

static void local_memory(void **state)
{
	int *out = allocate(4);
	(void)state;
	RUN(LAUNCH("locals", SHAPE(20, 96), out, 0, 0, 0));
	RUN(synchronize(fx.queue));
	assert_int_equal(*out, 20 * 96);
}

static void library_calls(void **state)
{
	char *to = allocate(4096), *from = allocate(4096);
	(void)state;
	for (int i = 0; i < 4096; i++)
		from[i] = (char)(i * 7);
	RUN(LAUNCH("copy_block", SHAPE(1, 1), to, from, 0, 0));
	RUN(synchronize(fx.queue));
	assert_memory_equal(to, from, 4096);
}

static void host_float_modes_do_not_matter(void **state)
{
	float *v = allocate(12);
	(void)state;
	v[0] = 1e-38f;
	v[1] = 0.1f;
#if defined(__x86_64__)
	unsigned saved = __builtin_ia32_stmxcsr();
	__builtin_ia32_ldmxcsr(saved | 0x8040); /* flush to zero, denormals are zero */
	RUN(LAUNCH("rounding", SHAPE(1, 1), v, 0, 0, 0));
	RUN(synchronize(fx.queue));
	assert_int_equal(__builtin_ia32_stmxcsr() & 0x8040, 0x8040);
	__builtin_ia32_ldmxcsr(saved);
#else
	RUN(LAUNCH("rounding", SHAPE(1, 1), v, 0, 0, 0));
	RUN(synchronize(fx.queue));
#endif
	uint32_t bits;
	memcpy(&bits, &v[2], 4);
	assert_int_equal(bits, 0x000ae398); /* 1e-39 as a subnormal: round(1e-39 * 2^149) = 713624 */
}

static void greet(void)
{
	int *out = allocate(4);
	printf("before\n");
	RUN(LAUNCH("greet", SHAPE(3, 2), out, 0, 0, 0));
	RUN(synchronize(fx.queue));
	printf("after %d\n", *out);
}

static void prints_in_order(void **state)
{
	(void)state;
	char *text = output_of(STDOUT_FILENO, greet);
	assert_string_equal(text, "before\n"
				  "block 0 thread 0: hello 1.50\nblock 0 thread 1: hello 1.50\n"
				  "block 1 thread 0: hello 1.50\nblock 1 thread 1: hello 1.50\n"
				  "block 2 thread 0: hello 1.50\nblock 2 thread 1: hello 1.50\n"
				  "after 4\n");
	free(text);
}

static void refuses_impossible_launches(void **state)
{
	(void)state;
	assert_int_equal(LAUNCH("empty", SHAPE(0, 32), 0, 0, 0, 0), STATUS_INVALID_VALUE);
	assert_int_equal(LAUNCH("empty", SHAPE(1, 0), 0, 0, 0, 0), STATUS_INVALID_VALUE);
	assert_int_equal(LAUNCH("empty", SHAPE(1, 1025), 0, 0, 0, 0), STATUS_INVALID_VALUE);
	struct shape shape = SHAPE(1, 32);
	shape.dynamic_shared = SHARED_OPTIN + 1;
	assert_int_equal(LAUNCH("empty", shape, 0, 0, 0, 0), STATUS_INVALID_VALUE);
	shape.dynamic_shared = SHARED_OPTIN;
	RUN(LAUNCH("empty", shape, 0, 0, 0, 0));
	RUN(synchronize(fx.queue));
}

static void launch_unknown(void)
{
	assert_int_equal(LAUNCH("unknown", SHAPE(1, 1), 0, 0, 0, 0), STATUS_INVALID_PTX);
	assert_int_equal(LAUNCH("unknown", SHAPE(1, 1), 0, 0, 0, 0), STATUS_INVALID_PTX);
	assert_int_equal(LAUNCH("undefined", SHAPE(1, 1), 0, 0, 0, 0), STATUS_SYMBOL_NOT_FOUND);
}

static void compile_errors_are_of_the_kernel(void **state)
{
	(void)state;
	char *text = output_of(STDERR_FILENO, launch_unknown);
	assert_string_equal(text, "dragoman: t.ptx:1:1: error: no such test kernel\n\n"
				  "dragoman: kernel undefined uses 'nowhere', which no module defines\n");
	free(text);
	RUN(LAUNCH("empty", SHAPE(1, 1), 0, 0, 0, 0)); /* no harm to others */
	RUN(synchronize(fx.queue));
}

static void many_shapes(void **state)
{
	int *out = allocate(4);
	struct kernel_info info;
	struct ptx_diagnostic diagnostic = { 0 };
	(void)state;
	for (uint32_t n = 1; n <= 40; n++) {
		RUN(LAUNCH("locals", SHAPE(1, n), out, 0, 0, 0));
		RUN(synchronize(fx.queue));
	}
	assert_int_equal(*out, 40 * 41 / 2);
	RUN(fx.ops->kernel_prepare(kernel_of("block_sum"), (uint32_t[3]){ 0 }, &info, &diagnostic));
	assert_int_equal(info.shared_bytes, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE(adds_vectors), FIXTURE(rows_of_blocks),
		FIXTURE(barriers_by_warp),
		FIXTURE(barriers_by_thread),
		FIXTURE(barrier_reductions),
		FIXTURE(named_barriers),
		FIXTURE(exited_threads_are_not_waited_for),
		FIXTURE(exchanges),
		FIXTURE(cooperative_grids),
		FIXTURE(blocks_that_wait_for_later_ones),
		FIXTURE(variables_and_functions),
		FIXTURE(device_heap),
		FIXTURE(limits),
		FIXTURE(local_memory),
		FIXTURE(library_calls),
		FIXTURE(host_float_modes_do_not_matter),
		FIXTURE(prints_in_order),
		FIXTURE(refuses_impossible_launches),
		FIXTURE(compile_errors_are_of_the_kernel),
		FIXTURE(many_shapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
