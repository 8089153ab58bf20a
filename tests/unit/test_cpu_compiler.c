/* The way from a kernel to its code: from the compiler the first time, from the cache afterwards, where the compiler is not even
 * opened; a cache entry that does not load is compiled again; without a compiler the error says so. Each in a process of its own,
 * since a process looks for the compiler once. */
#include "cpu_test.h"
#include "cache/cache.h"

#include <sys/wait.h>

static char folder[64], compiler[PATH_MAX], said[256];

static bool mapped(const char *what)
{
	char line[PATH_MAX + 128];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps))
		found = found || strstr(line, what);
	if (maps)
		fclose(maps);
	return found;
}

/* Launches count_up once in a new process, with what it says on standard error in `said`; returns 1000 * status + 1 where the compiler
 * was opened. */
static int launch_in_child(void)
{
	int ends[2], status, result[1] = { -1 };
	char log[96];
	snprintf(log, sizeof log, "%s.log", folder);
	fflush(NULL);
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (!child) {
		freopen(log, "w", stderr);
		fixture_begin(NULL);
		setenv("DRAGOMAN_COMPILER", compiler, 1);
		void **seen = allocate(8);
		result[0] = 1000 * LAUNCH("count_up", SHAPE(2, 10), seen, 0, 0, 0);
		if (!result[0]) {
			void *counter;
			RUN(synchronize(fx.queue));
			RUN(fx.ops->module_variable(fx.module, ptx_find_variable(fx.ptx, "counter"), &counter));
			if (*(int *)counter != 5 + 20)
				_exit(1);
		}
		result[0] += mapped("libtest-compiler");
		_exit(write(ends[1], result, sizeof result) != sizeof result);
	}
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], result, sizeof result), sizeof result);
	close(ends[0]);
	FILE *file = fopen(log, "r");
	said[file ? fread(said, 1, sizeof said - 1, file) : 0] = 0;
	if (file)
		fclose(file);
	unlink(log);
	return result[0];
}

static int begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/dragoman-compiler-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	setenv("DRAGOMAN_CACHE_DIR", folder, 1);
	fixture_environment();
	unsetenv("DRAGOMAN_CACHE");
	snprintf(compiler, sizeof compiler, "%s", getenv("DRAGOMAN_COMPILER"));
	return 0;
}

static int end(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	return system(command);
}

static void second_start_needs_no_compiler(void **state)
{
	(void)state;
	assert_int_equal(launch_in_child(), 1);
	assert_int_equal(launch_in_child(), 0);
	/* Nor does it when the compiler has been removed. */
	strcpy(compiler, "/nonexistent/libdragoman-compiler.so");
	assert_int_equal(launch_in_child(), 0);
	assert_string_equal(said, "");
}

static void another_compiler_compiles_again(void **state)
{
	char copy[80];
	static char command[3 * PATH_MAX];
	(void)state;
	assert_int_equal(launch_in_child(), 1);
	/* The same bytes, but a file of another time; with the objects beside it. */
	snprintf(copy, sizeof copy, "%s/other", folder);
	snprintf(command, sizeof command, "mkdir '%s' && cp $(dirname '%s')/kernel_*.o '%s' '%s' && touch -d 2001-01-01 '%s'/*.so", copy, compiler,
		 compiler, copy, copy);
	assert_int_equal(system(command), 0);
	snprintf(compiler, sizeof compiler, "%s/libtest-compiler.so", copy);
	assert_int_equal(launch_in_child(), 1);
}

/* An entry whole by its hash, but whose object is of no use: as if written by a faulty compiler. */
static void useless_entries_are_replaced(void **state)
{
	struct cache_key key;
	struct compile_options options = { .opt_level = 2, .small_grid = true, .block = { 10, 1, 1 } };
	struct compile_result result = { .info = { .abi = CPU_ABI, .lanes = 32 }, .object = strdup("rubbish"), .object_size = 7 };
	uint8_t hash[32];
	struct sha256 sha;
	(void)state;
	assert_int_equal(launch_in_child(), 1); /* remembers the compiler */
	sha256_init(&sha);
	sha256_update(&sha, fixture_ptx, sizeof fixture_ptx - 1);
	sha256_final(&sha, hash);
	cache_key_make(&key, &(struct cache_subject){ hash, "count_up", &options, cpu_host_machine()->features, CPU_ABI });
	struct compile_result good;
	assert_true(cache_get(&key, &good)); /* the very key that the back end uses */
	compile_result_fini(&good);
	cache_put(&key, &result, "count_up", "x");
	compile_result_fini(&result);
	assert_int_equal(launch_in_child(), 1);
	assert_string_equal(said, "dragoman: kernel count_up: its object cannot be loaded: not a relocatable 64-bit ELF object: compiled again\n");
	assert_int_equal(launch_in_child(), 0);
}

static void missing_compilers_are_named(void **state)
{
	(void)state;
	strcpy(compiler, "/nonexistent/libdragoman-compiler.so");
	assert_int_equal(launch_in_child(), 1000 * STATUS_JIT_COMPILER_NOT_FOUND);
	assert_string_equal(said, "dragoman: kernels cannot be compiled: /nonexistent/libdragoman-compiler.so: cannot open shared object file: No such "
				  "file or directory\n"
				  "dragoman: kernel count_up is not in the cache, and there is no compiler\n");
	strcpy(compiler, "libm.so.6");
	assert_int_equal(launch_in_child(), 1000 * STATUS_JIT_COMPILER_NOT_FOUND);
	assert_string_equal(said, "dragoman: kernels cannot be compiled: libm.so.6 is of another version of Dragoman\n"
				  "dragoman: kernel count_up is not in the cache, and there is no compiler\n");
}

int main(void)
{
	/* The one that uses the cache in this process itself comes last. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(second_start_needs_no_compiler, begin, end),
		cmocka_unit_test_setup_teardown(another_compiler_compiles_again, begin, end),
		cmocka_unit_test_setup_teardown(missing_compilers_are_named, begin, end),
		cmocka_unit_test_setup_teardown(useless_entries_are_replaced, begin, end),
	};
	(void)fixture_end;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
