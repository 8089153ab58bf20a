/* Streams: order within one, waits between them, copies and fills of all shapes, host functions, timestamps, and what becomes
 * of the workers when there is nothing to do or the process forks. */
#include "cpu_test.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static struct device_queue *new_queue(int priority)
{
	struct device_queue *queue;
	RUN(fx.ops->queue_create(fx.device, priority, &queue));
	return queue;
}

static uint64_t ticket_of(struct device_queue *queue)
{
	uint64_t ticket;
	RUN(fx.ops->queue_ticket(queue, &ticket));
	return ticket;
}

static int launch_to(struct device_queue *queue, const char *kernel, struct shape shape, void *a, uint64_t b)
{
	return launch_on(queue, kernel, shape, (uintptr_t)a, b, 0, 0);
}

static void copies_of_all_sizes(void **state)
{
	static const uint64_t sizes[] = { 1, 7, 4096, 65536, 65537, 1 << 20, (1 << 20) + 3, (5 << 20) + 1 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		uint64_t n = sizes[i];
		uint8_t *host = malloc(n), *back = calloc(1, n), *a = allocate(n), *b = allocate(n);
		for (uint64_t k = 0; k < n; k++)
			host[k] = (uint8_t)(k * 31 + k / 251);
		RUN(fx.ops->queue_copy(fx.queue, a, host, n));
		RUN(fx.ops->queue_copy(fx.queue, b, a, n));
		RUN(fx.ops->queue_copy(fx.queue, back, b, n));
		RUN(synchronize(fx.queue));
		assert_memory_equal(host, back, n);
		free(host);
		free(back);
		RUN(fx.ops->release(fx.device, a));
		RUN(fx.ops->release(fx.device, b));
	}
	RUN(fx.ops->queue_copy(fx.queue, NULL, NULL, 0));
}

static void pitched_copies(void **state)
{
	enum { W = 1000, H = 700, D = 3, TP = 1024, FP = 1001, TS = TP * 800, FS = FP * H };
	uint8_t *from = malloc(FS * D), *to = allocate(TS * D);
	(void)state;
	for (int i = 0; i < FS * D; i++)
		from[i] = (uint8_t)(i % 253);
	RUN(fx.ops->queue_copy_2d(fx.queue, to, TP, TS, from, FP, FS, W, H, D));
	RUN(synchronize(fx.queue));
	for (int z = 0; z < D; z++)
		for (int y = 0; y < 800; y++)
			for (int x = 0; x < TP; x++)
				if (to[z * TS + y * TP + x] != (x < W && y < H ? from[z * FS + y * FP + x] : 0))
					fail_msg("at %d,%d,%d", x, y, z);
	free(from);
}

static void fills(void **state)
{
	static const struct {
		unsigned element;
		uint32_t value;
		uint64_t width, height;
	} cases[] = { { 1, 0xab, 100, 1 },      { 1, 0x1ab, 3 << 20, 1 }, { 2, 0x1234, 50000, 3 }, { 2, 0x5656, 9, 9 },
		      { 4, 0x01020304, 7, 300 }, { 4, 0, 300000, 2 },     { 4, 0xdeadbeef, 2000003, 1 } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint64_t row = cases[i].width * cases[i].element, pitch = row + 5;
		uint8_t *at = allocate(pitch * cases[i].height);
		RUN(fx.ops->queue_fill(fx.queue, at, pitch, cases[i].value, cases[i].element, cases[i].width, cases[i].height));
		RUN(synchronize(fx.queue));
		for (uint64_t k = 0; k < pitch * cases[i].height; k++) {
			uint64_t x = k % pitch;
			uint8_t want = x < row ? (uint8_t)(cases[i].value >> 8 * (x % cases[i].element)) : 0;
			if (at[k] != want)
				fail_msg("case %zu, byte %lu: %02x, not %02x", i, (unsigned long)k, at[k], want);
		}
		RUN(fx.ops->release(fx.device, at));
	}
	assert_int_equal(fx.ops->queue_fill(fx.queue, NULL, 8, 0, 3, 1, 1), STATUS_INVALID_VALUE);
}

/* Each adds to a log that only order makes right. */
struct step {
	unsigned *log, value;
};

static void note(void *argument)
{
	struct step *step = argument;
	*step->log = *step->log * 3 + step->value;
}

static void order_within_a_stream(void **state)
{
	enum { STEPS = 20 };
	int *counter = allocate(4), seen[STEPS];
	unsigned log = 1, want = 1;
	struct step steps[STEPS];
	(void)state;
	for (int i = 0; i < STEPS; i++) {
		RUN(launch_to(fx.queue, "spend", SHAPE(5, 1), counter, 20));
		steps[i] = (struct step){ &log, (unsigned)i };
		RUN(fx.ops->queue_host_function(fx.queue, note, &steps[i]));
		RUN(fx.ops->queue_copy(fx.queue, &seen[i], counter, 4));
		want = want * 3 + (unsigned)i;
	}
	RUN(synchronize(fx.queue));
	assert_int_equal(log, want);
	for (int i = 0; i < STEPS; i++)
		assert_int_equal(seen[i], 5 * (i + 1));
}

/* Lists: kernels that add to b what the one before has left in a, of one block and of many; one that spins among them. Each
 * sees all of the one before it, whoever runs which, also when several streams have work and when the list is released early. */
static void lists_in_order(void **state)
{
	enum { LAUNCHES = 60, ROUNDS = 40, N = 3000, STREAMS = 3 };
	static const uint32_t blocks[] = { 1, 30, 3000, 1, 2 }, threads[] = { 1024, 100, 1, 1000, 256 };
	struct device_launch launches[LAUNCHES];
	struct launch_config configs[LAUNCHES];
	uint64_t parameters[STREAMS][LAUNCHES][4];
	struct device_queue *queues[STREAMS];
	struct device_list *lists[STREAMS];
	int *cells[STREAMS][2], *flags = allocate(64 * sizeof *flags), *counter = allocate(sizeof *counter);
	(void)state;
	for (int s = 0; s < STREAMS; s++) {
		queues[s] = new_queue(s == 1 ? -1 : 0);
		cells[s][0] = allocate(N * sizeof(int));
		cells[s][1] = allocate(N * sizeof(int));
		for (int i = 0; i < N; i++)
			cells[s][0][i] = cells[s][1][i] = 1;
		for (int k = 0; k < LAUNCHES; k++) {
			bool spins = s == 2 && k == 7;
			uint64_t *p = parameters[s][k];
			/* a += b, then b += a: Fibonacci's numbers, modulo 2^32 */
			p[0] = (uintptr_t)(spins ? flags : cells[s][k % 2]);
			p[1] = spins ? 20 : (uintptr_t)cells[s][!(k % 2)];
			p[2] = (uintptr_t)cells[s][k % 2];
			p[3] = N;
			configs[k] = (struct launch_config){ .grid = { spins ? 20 : blocks[k % 5], 1, 1 },
							     .block = { spins ? 1 : threads[k % 5], 1, 1 }, .cluster = { 1, 1, 1 },
							     .parameters = p, .parameter_bytes = 32 };
			if (!spins && (uint64_t)configs[k].grid[0] * configs[k].block[0] < N)
				configs[k].grid[0] = (N + configs[k].block[0] - 1) / configs[k].block[0];
			launches[k] = (struct device_launch){ kernel_of(spins ? "chain" : "vadd"), &configs[k] };
		}
		RUN(fx.ops->list_create(fx.device, launches, LAUNCHES, &lists[s]));
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int s = 0; s < STREAMS; s++) {
			RUN(fx.ops->queue_launch_list(queues[s], lists[s]));
			RUN(launch_to(queues[s], "spend", SHAPE(1, 1), counter, 1));
		}
	for (int s = 0; s < STREAMS; s++) {
		fx.ops->list_release(lists[s]);
		unsigned want[2] = { 1, 1 };
		for (int k = 0; k < ROUNDS * LAUNCHES; k++)
			if (s != 2 || k % LAUNCHES != 7)
				want[k % 2] += want[!(k % 2)];
		RUN(synchronize(queues[s]));
		for (int i = 0; i < N; i++)
			if ((unsigned)cells[s][0][i] != want[0] || (unsigned)cells[s][1][i] != want[1])
				fail_msg("stream %d, element %d: %d, %d", s, i, cells[s][0][i], cells[s][1][i]);
		fx.ops->queue_destroy(queues[s]);
	}
	assert_int_equal(*counter, STREAMS * ROUNDS);
}

static void bad_lists(void **state)
{
	struct launch_config good = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } }, bad = { .grid = { 1, 1, 1 }, .block = { 2000, 1, 1 } };
	struct device_launch launches[2] = { { kernel_of("empty"), &good }, { kernel_of("empty"), &bad } };
	struct device_list *list;
	(void)state;
	assert_int_equal(fx.ops->list_create(fx.device, launches, 0, &list), STATUS_INVALID_VALUE);
	assert_int_equal(fx.ops->list_create(fx.device, launches, 2, &list), STATUS_INVALID_VALUE);
	RUN(fx.ops->list_create(fx.device, launches, 1, &list));
	RUN(fx.ops->queue_launch_list(fx.queue, list));
	fx.ops->list_release(list);
	RUN(synchronize(fx.queue));
}

static void waits_between_streams(void **state)
{
	enum { STREAMS = 80, ROUNDS = 5 }; /* more than the pool has slots */
	struct device_queue *queues[STREAMS];
	int *counter = allocate(4), seen[STREAMS * ROUNDS];
	(void)state;
	for (int i = 0; i < STREAMS; i++)
		queues[i] = new_queue(i % 7 ? 0 : -1);
	/* A relay: each stream goes on where the one before it has got to. */
	for (int k = 0; k < STREAMS * ROUNDS; k++) {
		struct device_queue *queue = queues[k % STREAMS];
		if (k) {
			struct device_queue *before = queues[(k - 1) % STREAMS];
			RUN(fx.ops->queue_wait(queue, before, ticket_of(before)));
		}
		RUN(launch_to(queue, "spend", SHAPE(2, 1), counter, 1));
		RUN(fx.ops->queue_copy(queue, &seen[k], counter, 4));
	}
	RUN(synchronize(queues[(STREAMS * ROUNDS - 1) % STREAMS]));
	for (int k = 0; k < STREAMS * ROUNDS; k++)
		assert_int_equal(seen[k], 2 * (k + 1));
	for (int i = 0; i < STREAMS; i++)
		fx.ops->queue_destroy(queues[i]);
}

static void destroyed_streams_can_be_waited_for(void **state)
{
	struct device_queue *first = new_queue(0), *second = new_queue(0);
	int *counter = allocate(4);
	(void)state;
	RUN(launch_to(first, "spend", SHAPE(4, 1), counter, 1000));
	RUN(fx.ops->queue_wait(second, first, ticket_of(first)));
	fx.ops->queue_destroy(first);
	RUN(synchronize(second));
	assert_int_equal(*counter, 4);
	fx.ops->queue_destroy(second);
}

static _Atomic bool gate;

static void hold(void *argument)
{
	(void)argument;
	while (!atomic_load(&gate))
		usleep(100);
}

/* While one stream waits for the host, another gets on. */
static void streams_are_independent(void **state)
{
	struct device_queue *held = new_queue(0), *freed = new_queue(0);
	int *a = allocate(4), *b = allocate(4);
	(void)state;
	atomic_store(&gate, false);
	RUN(fx.ops->queue_host_function(held, hold, NULL));
	RUN(launch_to(held, "spend", SHAPE(1, 1), a, 0));
	uint64_t ticket = ticket_of(held);
	RUN(launch_to(freed, "spend", SHAPE(10, 1), b, 0));
	RUN(synchronize(freed));
	assert_int_equal(*b, 10);
	assert_false(fx.ops->queue_done(held, ticket));
	assert_int_equal(*(volatile int *)a, 0);
	atomic_store(&gate, true);
	RUN(synchronize(held));
	assert_true(fx.ops->queue_done(held, ticket));
	assert_int_equal(*a, 1);
	fx.ops->queue_destroy(held);
	fx.ops->queue_destroy(freed);
}

/* A kernel that spins on memory, another stream's kernel that sets it, on one worker. */
static void spinning_kernels_let_others_run(void **state)
{
	struct device_queue *other = new_queue(0);
	int *flags = allocate(12);
	(void)state;
	/* Block 0 of 1 waits for flags[1], which the other stream sets. */
	RUN(launch_on(fx.queue, "chain", SHAPE(1, 32), (uintptr_t)flags, 2, 0, 0));
	RUN(launch_to(other, "spend", SHAPE(1, 1), flags + 1, 0));
	RUN(synchronize(fx.queue));
	assert_int_equal(flags[0], 1);
	fx.ops->queue_destroy(other);
}

static void timestamps(void **state)
{
	uint64_t before = 0, after = 0;
	int *counter = allocate(4);
	(void)state;
	RUN(fx.ops->queue_timestamp(fx.queue, &before));
	RUN(launch_to(fx.queue, "spend", SHAPE(1, 1), counter, 3000));
	RUN(fx.ops->queue_timestamp(fx.queue, &after));
	RUN(synchronize(fx.queue));
	assert_true(after - before >= 3000000);
	assert_true(after <= clock_ns());
}

static void *submit_many(void *argument)
{
	int *counter = argument;
	struct device_queue *own = new_queue(0);
	for (int i = 0; i < 200; i++) {
		RUN(launch_to(own, "spend", SHAPE(3, 1), counter, 0));
		RUN(launch_to(fx.queue, "spend", SHAPE(1, 1), counter, 0));
		if (i % 20 == 0)
			RUN(synchronize(own));
	}
	RUN(synchronize(own));
	RUN(synchronize(fx.queue));
	fx.ops->queue_destroy(own);
	return NULL;
}

static void many_host_threads(void **state)
{
	pthread_t threads[4];
	int *counter = allocate(4);
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_create(&threads[i], NULL, submit_many, counter);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(*counter, 4 * 200 * 4);
}

static void *launch_named(void *argument)
{
	int *out = allocate(4 * 1024);
	RUN(launch_to(fx.queue, argument, SHAPE(1, 64), out, 1));
	return NULL;
}

/* Four kernels that take 100 ms each to compile, asked for by five threads: at the same time, and one of them only once. */
static void kernels_compile_beside_one_another(void **state)
{
	static char *const names[] = { "locals", "early_exit", "exchange", "producer", "locals" };
	pthread_t threads[ARRAY_LENGTH(names)];
	(void)state;
	setenv("DRAGOMAN_TEST_DELAY", "100", 1);
	uint64_t start = clock_ns();
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_create(&threads[i], NULL, launch_named, names[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	unsetenv("DRAGOMAN_TEST_DELAY");
	assert_true(clock_ns() - start < 350000000);
	RUN(synchronize(fx.queue));
}

static void idle_costs_nothing(void **state)
{
	struct rusage before, after;
	(void)state;
	RUN(LAUNCH("empty", SHAPE(100, 32), 0, 0, 0, 0));
	RUN(synchronize(fx.queue));
	usleep(20000);
	getrusage(RUSAGE_SELF, &before);
	usleep(300000);
	getrusage(RUSAGE_SELF, &after);
	long spent = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 + after.ru_utime.tv_usec - before.ru_utime.tv_usec;
	assert_true(spent < 5000);
}

static void a_child_is_told(void **state)
{
	(void)state;
	RUN(LAUNCH("empty", SHAPE(4, 32), 0, 0, 0, 0));
	RUN(synchronize(fx.queue));
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		freopen("/dev/null", "w", stderr);
		int wrong = 0;
		wrong |= (LAUNCH("empty", SHAPE(4, 32), 0, 0, 0, 0) != STATUS_NOT_INITIALIZED) << 0;
		wrong |= (fx.ops->queue_synchronize(fx.queue, UINT64_MAX) != STATUS_NOT_INITIALIZED) << 1;
		wrong |= (fx.ops->error(fx.device) != STATUS_NOT_INITIALIZED) << 2;
		_exit(wrong);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	RUN(LAUNCH("empty", SHAPE(4, 32), 0, 0, 0, 0)); /* the parent goes on */
	RUN(synchronize(fx.queue));
}

/* Forking before anything ran harms nobody: no thread is started before there is work. */
static void a_child_of_an_idle_process_works(void **state)
{
	(void)state;
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		fixture_begin(NULL);
		int *counter = allocate(4);
		RUN(launch_to(fx.queue, "spend", SHAPE(10, 1), counter, 0));
		RUN(synchronize(fx.queue));
		_exit(*counter == 10 ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A process may exit while a kernel runs: it is not waited for, and nothing is taken away under it. */
static void exit_does_not_wait(void **state)
{
	(void)state;
	fflush(NULL);
	uint64_t start = clock_ns();
	pid_t child = fork();
	if (!child) {
		fixture_begin(NULL);
		int *counter = allocate(4);
		RUN(launch_to(fx.queue, "spend", SHAPE(20, 1), counter, 10000000));
		/* What a program's own clean-up would do, in exit's order: after ours. */
		cpu_pool_exit();
		if (synchronize(fx.queue) != STATUS_DEINITIALIZED)
			_exit(1);
		fixture_end(NULL);
		exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(clock_ns() - start < UINT64_C(5000000000));
}

/* A kernel whose launches have been short is run by the caller: it is done when the launch returns, and who sleeps goes on sleeping. */
static void short_launches_wake_nobody(void **state)
{
	enum { TRIES = 200, WARM = 50 };
	int *counter = allocate(4), launches = 0;
	bool alone = false;
	(void)state;
	*counter = 0;
	for (int i = 0; i < WARM; i++, launches++) {
		RUN(launch_to(fx.queue, "spend", SHAPE(1, 1), counter, 0));
		RUN(synchronize(fx.queue));
	}
	for (int i = 0; i < TRIES && !alone; i++, launches++) {
		usleep(1000); /* workers spin for 50 us at most */
		uint64_t before = atomic_load(&fx.device->pool.sleeping[0]);
		RUN(launch_to(fx.queue, "spend", SHAPE(1, 1), counter, 0));
		alone = before && fx.ops->queue_done(fx.queue, ticket_of(fx.queue)) && atomic_load(&fx.device->pool.sleeping[0]) == before;
		RUN(synchronize(fx.queue));
	}
	assert_true(alone);
	assert_int_equal(*counter, launches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_of_an_idle_process_works),
		cmocka_unit_test(exit_does_not_wait),
		FIXTURE(copies_of_all_sizes),
		FIXTURE(short_launches_wake_nobody),
		FIXTURE(pitched_copies),
		FIXTURE(fills),
		FIXTURE(order_within_a_stream),
		FIXTURE(lists_in_order),
		FIXTURE(bad_lists),
		FIXTURE(waits_between_streams),
		FIXTURE(destroyed_streams_can_be_waited_for),
		FIXTURE(streams_are_independent),
		FIXTURE(spinning_kernels_let_others_run),
		FIXTURE(timestamps),
		FIXTURE(many_host_threads),
		FIXTURE(kernels_compile_beside_one_another),
		FIXTURE(idle_costs_nothing),
		FIXTURE(a_child_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
