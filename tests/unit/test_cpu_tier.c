/* Kernels in two forms: the quick one runs until the full one has been made in the background, from then on the full one does, also for
 * the blocks left of a launch that has begun; modules and processes that end meanwhile do not wait. The stand-in for the compiler
 * makes a full form only when the file `hold` is gone. */
#include "cpu_test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

enum { BLOCKS = 64, QUICK = 17, FULL = 1 }; /* what the kernel which_form says */

static char hold[64];
static struct background_counts before;

static void set_hold(bool held)
{
	if (held)
		close(open(hold, O_CREAT | O_WRONLY, 0600));
	else
		unlink(hold);
}

static int begin(void **state)
{
	snprintf(hold, sizeof hold, "/tmp/dragoman-tier-test-%d", (int)getpid());
	setenv("DRAGOMAN_TEST_QUICK", "1", 1);
	setenv("DRAGOMAN_TEST_HOLD", hold, 1);
	unsetenv("DRAGOMAN_TEST_FAIL");
	unsetenv("DRAGOMAN_TIER");
	set_hold(true);
	before = background_wait();
	return fixture_begin(state);
}

static int end(void **state)
{
	set_hold(false);
	background_wait();
	return fixture_end(state);
}

static struct background_counts since(struct background_counts now)
{
	return (struct background_counts){ now.begun - before.begun, now.done - before.done, now.replaced - before.replaced };
}

static void expect_forms(const volatile uint32_t *out, uint32_t first, uint32_t end_block, uint32_t form)
{
	for (uint32_t i = first; i < end_block; i++)
		assert_int_equal(out[i], form);
}

static void launch_whole(uint32_t *out, uint32_t *gate)
{
	memset(out, 0, BLOCKS * sizeof *out);
	*gate = BLOCKS;
	RUN(LAUNCH("which_form", SHAPE(BLOCKS, 32), out, gate, 0, 0));
	RUN(synchronize(fx.queue));
}

static void full_form_follows_quick_one(void **state)
{
	uint32_t *out = allocate(BLOCKS * sizeof *out), *gate = allocate(sizeof *gate);
	(void)state;
	for (int i = 0; i < 3; i++) {
		launch_whole(out, gate);
		expect_forms(out, 0, BLOCKS, QUICK);
	}
	set_hold(false);
	struct background_counts done = since(background_wait());
	assert_int_equal(done.begun, 1);
	assert_int_equal(done.done, 1);
	assert_int_equal(done.replaced, 1);
	launch_whole(out, gate);
	expect_forms(out, 0, BLOCKS, FULL);
	assert_int_equal(since(background_wait()).begun, 1);
}

static void launch_goes_on_in_full_form(void **state)
{
	enum { EARLY = 10, BEGUN = EARLY + 4 /* workers, and who waits */ };
	uint32_t *out = allocate(BLOCKS * sizeof *out), *gate = allocate(sizeof *gate);
	(void)state;
	*gate = EARLY;
	RUN(LAUNCH("which_form", SHAPE(BLOCKS, 32), out, gate, 0, 0));
	for (uint32_t i = 0; i < EARLY; i++)
		while (!((volatile uint32_t *)out)[i])
			usleep(100);
	set_hold(false);
	assert_int_equal(since(background_wait()).replaced, 1);
	__atomic_store_n(gate, BLOCKS, __ATOMIC_RELEASE);
	RUN(synchronize(fx.queue));
	expect_forms(out, 0, EARLY, QUICK);
	expect_forms(out, BEGUN, BLOCKS, FULL);
}

static void one_form_where_asked_for(void **state)
{
	uint32_t *out = allocate(BLOCKS * sizeof *out), *gate = allocate(sizeof *gate);
	(void)state;
	set_hold(false);
	setenv("DRAGOMAN_TIER", "full", 1);
	launch_whole(out, gate);
	expect_forms(out, 0, BLOCKS, FULL);
	assert_int_equal(since(background_wait()).begun, 0);
}

static void quick_form_stays_where_full_one_fails(void **state)
{
	uint32_t *out = allocate(BLOCKS * sizeof *out), *gate = allocate(sizeof *gate);
	(void)state;
	setenv("DRAGOMAN_TEST_FAIL", "1", 1);
	launch_whole(out, gate);
	set_hold(false);
	struct background_counts done = since(background_wait());
	assert_int_equal(done.done, 1);
	assert_int_equal(done.replaced, 0);
	launch_whole(out, gate);
	expect_forms(out, 0, BLOCKS, QUICK);
}

/* One kernel is being compiled and others wait; the module goes before that is over. */
static void unloading_does_not_wait(void **state)
{
	struct ptx_diagnostic diagnostic = { 0 };
	uint32_t *out = allocate(BLOCKS * sizeof *out), *gate = allocate(sizeof *gate);
	(void)state;
	launch_whole(out, gate);
	RUN(LAUNCH("empty", SHAPE(1, 32), 0, 0, 0, 0));
	RUN(LAUNCH("empty", SHAPE(1, 64), 0, 0, 0, 0));
	RUN(synchronize(fx.queue));
	fx.ops->module_unload(fx.module);
	ptx_destroy(fx.ptx);
	assert_int_equal(access(hold, F_OK), 0);
	fx.ptx = ptx_parse(fixture_ptx, sizeof fixture_ptx - 1, "t.ptx", &diagnostic);
	RUN(fx.ops->module_load(fx.device, fx.ptx, &fx.module, &diagnostic));
	launch_whole(out, gate);
	expect_forms(out, 0, BLOCKS, QUICK);
	set_hold(false);
	struct background_counts done = since(background_wait());
	assert_int_equal(done.begun, 4);
	assert_int_equal(done.replaced, 1); /* of the second module's one kernel */
	launch_whole(out, gate);
	expect_forms(out, 0, BLOCKS, FULL);
}

/* exit() during a compilation, and in the child of a fork at such a time. */
static void processes_end_meanwhile(void **state)
{
	int status;
	(void)state;
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		fixture_begin(NULL);
		uint32_t *out = allocate(BLOCKS * sizeof *out), *gate = allocate(sizeof *gate);
		launch_whole(out, gate);
		pid_t grandchild = fork();
		if (grandchild)
			waitpid(grandchild, &status, 0);
		exit(grandchild ? status : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(access(hold, F_OK), 0);
	set_hold(false);
}

/* What a process with that cache runs first; its exit status. */
static int first_form(const char *cache)
{
	int status;
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		setenv("DRAGOMAN_CACHE_DIR", cache, 1);
		unsetenv("DRAGOMAN_CACHE");
		fixture_begin(NULL);
		uint32_t *out = allocate(BLOCKS * sizeof *out), *gate = allocate(sizeof *gate);
		launch_whole(out, gate);
		exit((int)out[0]);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A process ended too soon for the full form: the next one waits for it, so that not every one runs in the quick one. */
static void second_process_waits(void **state)
{
	char cache[] = "/tmp/dragoman-tier-cache-XXXXXX", command[64];
	(void)state;
	assert_non_null(mkdtemp(cache));
	assert_int_equal(first_form(cache), QUICK);
	set_hold(false);
	assert_int_equal(first_form(cache), FULL);
	set_hold(true);
	assert_int_equal(first_form(cache), FULL); /* from the cache */
	set_hold(false);
	snprintf(command, sizeof command, "rm -r %s", cache);
	assert_int_equal(system(command), 0);
}

static int begin_alone(void **state)
{
	int status = begin(state);
	return status ? status : fixture_end(state);
}

int main(void)
{
	/* Those that fork come first: the device must not have been used by then. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(second_process_waits, begin_alone),
		cmocka_unit_test_setup(processes_end_meanwhile, begin_alone),
		cmocka_unit_test_setup_teardown(full_form_follows_quick_one, begin, end),
		cmocka_unit_test_setup_teardown(launch_goes_on_in_full_form, begin, end),
		cmocka_unit_test_setup_teardown(one_form_where_asked_for, begin, end),
		cmocka_unit_test_setup_teardown(quick_form_stays_where_full_one_fails, begin, end),
		cmocka_unit_test_setup_teardown(unloading_does_not_wait, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
