/* Kernels that go wrong: the error that the program sees, the line that tells what and where, and that the program and its
 * own signal handlers live on. */
#include "cpu_test.h"

#include <signal.h>
#include <sys/wait.h>

static const char *name;
static struct shape shape;
static uint64_t arguments[4];
static int expected;

/* Launches, and checks that the error is met where CUDA says, and again, until the device is reset. */
static void provoke(void)
{
	uint64_t ticket;
	usleep(2000); /* so that the next launch finds that the test's framework has put its handlers over ours */
	RUN(LAUNCH(name, shape, arguments[0], arguments[1], arguments[2], arguments[3]));
	assert_int_equal(synchronize(fx.queue), expected);
	assert_int_equal(fx.ops->error(fx.device), expected);
	assert_int_equal(LAUNCH("empty", SHAPE(1, 1), 0, 0, 0, 0), expected);
	assert_int_equal(fx.ops->queue_copy(fx.queue, &ticket, &ticket, 8), expected);
	assert_int_equal(synchronize(fx.queue), expected);
	fx.ops->reset(fx.device);
	RUN(fx.ops->error(fx.device));
	RUN(LAUNCH("empty", SHAPE(7, 64), 0, 0, 0, 0));
	RUN(synchronize(fx.queue));
}

static void check(int status, const char *format, ...)
{
	char want[1024];
	va_list list;
	va_start(list, format);
	vsnprintf(want, sizeof want, format, list);
	va_end(list);
	expected = status;
	char *text = output_of(STDERR_FILENO, provoke);
	assert_string_equal(text, want);
	free(text);
}

static void set(const char *kernel, struct shape how, uint64_t a, uint64_t b, uint64_t c)
{
	name = kernel;
	shape = how;
	arguments[0] = a;
	arguments[1] = b;
	arguments[2] = c;
}

static void far_address(void **state)
{
	/* The largest allocation of its kind: nothing lies behind it for 2 MiB. */
	enum { SIZE = 3 << 20 };
	uint8_t *at = allocate(SIZE);
	(void)state;
	set("poke", SHAPE(40, 64), (uintptr_t)at + SIZE + 12, 21, 0);
	check(STATUS_ILLEGAL_ADDRESS,
	      "dragoman: kernel poke, block (21,0,0), thread (0,0,0): illegal address 0x%lx, written (12 bytes past "
	      "the end of a 3145728-byte allocation at 0x%lx)\n",
	      (unsigned long)(uintptr_t)at + SIZE + 12, (unsigned long)(uintptr_t)at);
}

static void null_pointer_of_one_thread(void **state)
{
	(void)state;
	set("poke_thread", ((struct shape){ { 2, 3, 2 }, { 4, 4, 2 }, 0, false }), 4, 7, 29);
	check(STATUS_ILLEGAL_ADDRESS, "dragoman: kernel poke_thread, block (1,0,1), thread (1,3,1): illegal address 0x4, read (a null pointer "
				      "with an offset)\n");
}

/* One call ran several blocks. */
static void one_block_of_a_row(void **state)
{
	(void)state;
	int *counts = (int *)(void *)allocate(4096);
	set("count_rows", ((struct shape){ { 20, 3, 2 }, { 32, 4, 1 }, 0, false }), (uintptr_t)counts, (uintptr_t)(counts + 1000), 20 * 3 + 20 + 13);
	arguments[3] = 8;
	setenv("DRAGOMAN_FAULT_THREAD", "0", 1);
	check(STATUS_ILLEGAL_ADDRESS, "dragoman: kernel count_rows, block (13,1,1), one of the threads (0,0,0) to (31,3,0): illegal address 0x8, read (a "
				      "null pointer with an offset)\n");
	unsetenv("DRAGOMAN_FAULT_THREAD");
}

/* Code that runs many threads a call, with and without barriers. */
static void one_thread_of_many(void **state)
{
	struct shape how = { { 5, 1, 1 }, { 16, 8, 1 }, 0, false };
	(void)state;
	set("poke_lane", how, 8, 37, 0);
	check(STATUS_ILLEGAL_ADDRESS, "dragoman: kernel poke_lane, block (2,0,0), thread (5,2,0): illegal address 0x8, read (a null pointer with an "
				      "offset)\n");
	set("poke_group", how, 8, 127, 0);
	check(STATUS_ILLEGAL_ADDRESS, "dragoman: kernel poke_group, block (2,0,0), thread (15,7,0): illegal address 0x8, read (a null pointer with an "
				      "offset)\n");
	/* Where it cannot be found out, as much as is known. */
	setenv("DRAGOMAN_FAULT_THREAD", "0", 1);
	set("poke_group", how, 8, 127, 0);
	check(STATUS_ILLEGAL_ADDRESS, "dragoman: kernel poke_group, block (2,0,0), one of the threads (0,6,0) to (15,7,0): illegal address 0x8, read (a "
				      "null pointer with an offset)\n");
	unsetenv("DRAGOMAN_FAULT_THREAD");
}

static void no_address_at_all(void **state)
{
	(void)state;
	set("poke", SHAPE(1, 1), UINT64_C(0xdead000000000000), 0, 0);
	check(STATUS_ILLEGAL_ADDRESS, "dragoman: kernel poke, block (0,0,0), thread (0,0,0): illegal address: not a valid 64-bit address\n");
}

static void past_the_shared_window(void **state)
{
	(void)state;
	/* As an unsigned 32-bit offset an index of -4 is far behind the window. */
	set("poke_shared", SHAPE(1, 1), 0xfffffffc, 0, 0);
	expected = STATUS_ILLEGAL_ADDRESS;
	char *text = output_of(STDERR_FILENO, provoke);
	assert_non_null(strstr(text, ", written (shared memory, offset 4294967292; the block has 64 bytes)\n"));
	free(text);
}

static void stack_overflow(void **state)
{
	(void)state;
	set("recurse", SHAPE(1, 64), (uintptr_t)allocate(4), 1000000, 0);
	expected = STATUS_ILLEGAL_ADDRESS;
	char *text = output_of(STDERR_FILENO, provoke);
	assert_non_null(strstr(text, "(stack overflow: see cudaLimitStackSize)"));
	free(text);
}

static void traps(void **state)
{
	(void)state;
	set("trap", SHAPE(1, 1), STATUS_LAUNCH_FAILED, 0, 0);
	check(STATUS_LAUNCH_FAILED, "dragoman: kernel trap, block (0,0,0), thread (0,0,0): trap\n");
	set("trap", SHAPE(1, 1), STATUS_MISALIGNED_ADDRESS, 0, 0);
	check(STATUS_MISALIGNED_ADDRESS, "dragoman: kernel trap, block (0,0,0), thread (0,0,0): misaligned address\n");
	set("illegal", SHAPE(1, 1), 0, 0, 0);
	check(STATUS_ILLEGAL_INSTRUCTION, "dragoman: kernel illegal, block (0,0,0), thread (0,0,0): illegal instruction\n");
	set("exchange_foreign", SHAPE(1, 1), 0, 0, 0);
	check(STATUS_ILLEGAL_INSTRUCTION, "dragoman: kernel exchange_foreign, block (0,0,0), thread (0,0,0): illegal instruction\n");
}

static void assertions(void **state)
{
	(void)state;
	set("assert_third", ((struct shape){ { 10, 1, 1 }, { 2, 2, 1 }, 0, false }), 0, 0, 0);
	check(STATUS_ASSERT, "file.cu:12: void f(int): block: [3,0,0], thread: [0,1,0] Assertion `x < 3` failed.\n");
}

static void wrong_release(void **state)
{
	(void)state;
	set("heap_wrong", SHAPE(1, 1), 0, 0, 0);
	expected = STATUS_ILLEGAL_ADDRESS;
	char *text = output_of(STDERR_FILENO, provoke);
	assert_non_null(strstr(text, "kernel heap_wrong, block (0,0,0), thread (0,0,0): free("));
	free(text);
}

static void deadlocks(void **state)
{
	(void)state;
	set("stuck", SHAPE(1, 96), 0, 0, 0);
	check(STATUS_LAUNCH_FAILED, "dragoman: kernel stuck, block (0,0,0): deadlock: no thread can go on, threads 0 to 31 at barrier 3 (32 of 64)\n");
	set("stuck_alone", SHAPE(1, 32), 0, 0, 0);
	check(STATUS_LAUNCH_FAILED,
	      "dragoman: kernel stuck_alone, block (0,0,0): deadlock: no thread can go on, threads 0 to 31 at barrier 3 (32 of 64)\n");
	/* The same where blocks make progress together. */
	struct shape together = SHAPE(3, 32);
	together.cooperative = true;
	set("stuck_alone", together, 0, 0, 0);
	expected = STATUS_LAUNCH_FAILED;
	char *text = output_of(STDERR_FILENO, provoke);
	assert_non_null(strstr(text, ": deadlock: no thread can go on, threads 0 to 31 at barrier 3 (32 of 64)\n"));
	free(text);
}

static void fault_in_a_cooperative_grid(void **state)
{
	(void)state;
	struct shape together = SHAPE(3, 1);
	together.cooperative = true;
	set("poke", together, 0, 2, 0);
	check(STATUS_ILLEGAL_ADDRESS, "dragoman: kernel poke, block (2,0,0), thread (0,0,0): illegal address 0x0, written (a null pointer)\n");
}

static void copy_from(void)
{
	usleep(2000);
	RUN(LAUNCH("empty", SHAPE(1, 1), 0, 0, 0, 0));
	RUN(synchronize(fx.queue));
	RUN(fx.ops->queue_copy(fx.queue, (void *)(uintptr_t)arguments[0], &arguments[1], 8));
	assert_int_equal(synchronize(fx.queue), STATUS_ILLEGAL_ADDRESS);
}

static void copies(void **state)
{
	(void)state;
	arguments[0] = 16;
	char *text = output_of(STDERR_FILENO, copy_from);
	assert_string_equal(text, "dragoman: copy or fill of device memory: illegal address 0x10, written (a null pointer with an offset)\n");
	free(text);
}

/* ---- the program's own handlers, each tried in a process of its own ----------------------------- */

static volatile sig_atomic_t handled, handled_code;
static sigjmp_buf jump;

static void plain_handler(int signal)
{
	handled = signal;
	siglongjmp(jump, 1);
}

static void info_handler(int signal, siginfo_t *info, void *context)
{
	(void)context;
	handled = signal;
	handled_code = info->si_code;
	siglongjmp(jump, 1);
}

static void run_one_kernel(void)
{
	usleep(2000);
	RUN(LAUNCH("empty", SHAPE(10, 1), 0, 0, 0, 0));
	RUN(synchronize(fx.queue));
}

static volatile uintptr_t nothing = 8;

static void touch_nothing(void)
{
	*(volatile int *)nothing = 1;
}

static int child_with_default_action(void)
{
	signal(SIGSEGV, SIG_DFL);
	run_one_kernel();
	touch_nothing();
	return 1;
}

static int child_with_plain_handler(void)
{
	signal(SIGSEGV, plain_handler);
	run_one_kernel();
	if (!sigsetjmp(jump, 1))
		touch_nothing();
	return handled == SIGSEGV ? 0 : 1;
}

static int child_with_info_handler(void)
{
	struct sigaction action = { .sa_sigaction = info_handler, .sa_flags = SA_SIGINFO };
	run_one_kernel();
	sigaction(SIGSEGV, &action, NULL); /* over ours */
	run_one_kernel();                  /* ours again in front */
	if (!sigsetjmp(jump, 1))
		touch_nothing();
	if (handled != SIGSEGV || handled_code != SEGV_MAPERR)
		return 1;
	/* And kernels' faults are still kernels'. */
	handled = 0;
	if (LAUNCH("poke", SHAPE(1, 1), 0, 0, 0, 0) || synchronize(fx.queue) != STATUS_ILLEGAL_ADDRESS)
		return 2;
	return handled ? 3 : 0;
}

static int child_that_is_sent_the_signal(void)
{
	signal(SIGSEGV, SIG_IGN);
	run_one_kernel();
	kill(getpid(), SIGSEGV);
	return 0;
}

static int status_of(int (*body)(void))
{
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		if (!getenv("TEST_VERBOSE"))
			freopen("/dev/null", "w", stderr);
		fixture_begin(NULL);
		_exit(body());
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void handlers_of_the_program(void **state)
{
	(void)state;
	int status = status_of(child_with_default_action);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_int_equal(status_of(child_with_plain_handler), 0);
	assert_int_equal(status_of(child_with_info_handler), 0);
	assert_int_equal(status_of(child_that_is_sent_the_signal), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First, while this process has no threads that its children would lack. */
		cmocka_unit_test(handlers_of_the_program),
		FIXTURE(far_address),
		FIXTURE(null_pointer_of_one_thread),
		FIXTURE(one_thread_of_many),
		FIXTURE(one_block_of_a_row),
		FIXTURE(no_address_at_all),
		FIXTURE(past_the_shared_window),
		FIXTURE(stack_overflow),
		FIXTURE(traps),
		FIXTURE(assertions),
		FIXTURE(wrong_release),
		FIXTURE(deadlocks),
		FIXTURE(fault_in_a_cooperative_grid),
		FIXTURE(copies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
