/* Device memory and the fibers' stacks: alignment, reuse, limits, what is found near an address; printf's formatting; switching
 * between fibers. */
#include "cpu_test.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "base/sanitizer.h"

#define MIB ((uint64_t)1 << 20)

static void allocations_are_apart_and_aligned(void **state)
{
	enum { COUNT = 2000 };
	static struct {
		uint8_t *at;
		uint64_t size;
	} all[COUNT];
	struct memory *memory = cpu_memory_create(4096 * MIB);
	uint64_t random = 1, free_bytes, total;
	(void)state;
	assert_non_null(memory);
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < COUNT; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			if (all[i].at && random >> 63) {
				for (uint64_t k = 0; k < all[i].size; k += 509)
					if (all[i].at[k] != (uint8_t)i)
						fail_msg("allocation %d was overwritten", i);
				RUN(cpu_memory_release(memory, all[i].at));
				all[i].at = NULL;
			} else if (!all[i].at) {
				void *at;
				all[i].size = random >> 60 ? 1 + (random >> 33) % 20000 : 1 + (random >> 33) % (4 * MIB);
				RUN(cpu_memory_allocate(memory, all[i].size, &at));
				assert_int_equal((uintptr_t)at % 512, 0);
				all[i].at = at;
				memset(at, i, all[i].size);
			}
		}
	}
	for (int i = 0; i < COUNT; i++)
		if (all[i].at)
			RUN(cpu_memory_release(memory, all[i].at));
	cpu_memory_info(memory, &free_bytes, &total);
	assert_int_equal(total, 4096 * MIB);
	assert_true(free_bytes == total || free_bytes < total); /* capped by what the machine has */
	void *whole;
	RUN(cpu_memory_allocate(memory, 4096 * MIB, &whole)); /* all of it is there again */
	RUN(cpu_memory_release(memory, whole));
	cpu_memory_destroy(memory);
}

static void impossible_sizes(void **state)
{
	struct memory *memory = cpu_memory_create(64 * MIB);
	void *at = &memory, *first;
	(void)state;
	assert_int_equal(cpu_memory_allocate(memory, 0, &at), STATUS_INVALID_VALUE);
	assert_int_equal(cpu_memory_allocate(memory, 64 * MIB + 1, &at), STATUS_OUT_OF_MEMORY);
	assert_int_equal(cpu_memory_allocate(memory, UINT64_MAX, &at), STATUS_OUT_OF_MEMORY);
	assert_int_equal(cpu_memory_allocate(memory, UINT64_MAX - 1000, &at), STATUS_OUT_OF_MEMORY);
	assert_ptr_equal(at, &memory);
	RUN(cpu_memory_allocate(memory, 40 * MIB, &first));
	assert_int_equal(cpu_memory_allocate(memory, 40 * MIB, &at), STATUS_OUT_OF_MEMORY);
	RUN(cpu_memory_release(memory, first));
	RUN(cpu_memory_allocate(memory, 40 * MIB, &at));
	cpu_memory_destroy(memory);
}

/* In a process whose addresses are limited the device is smaller. */
static UNUSED void limited_addresses(void **state)
{
	(void)state;
	pid_t child = fork();
	if (!child) {
		struct rlimit limit = { 2048 * MIB, 2048 * MIB };
		uint64_t free_bytes, total;
		void *at;
		if (setrlimit(RLIMIT_AS, &limit))
			_exit(1);
		struct memory *memory = cpu_memory_create(8192 * MIB);
		if (!memory || cpu_memory_allocate(memory, 100 * MIB, &at))
			_exit(2);
		cpu_memory_info(memory, &free_bytes, &total);
		_exit(total < 2048 * MIB ? 0 : 3);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void wrong_releases(void **state)
{
	struct memory *memory = cpu_memory_create(64 * MIB);
	void *small, *large;
	(void)state;
	RUN(cpu_memory_allocate(memory, 3000, &small));
	RUN(cpu_memory_allocate(memory, 3 * MIB, &large));
	assert_int_equal(cpu_memory_release(memory, (char *)small + 512), STATUS_INVALID_VALUE);
	assert_int_equal(cpu_memory_release(memory, (char *)small + 8192), STATUS_INVALID_VALUE);
	assert_int_equal(cpu_memory_release(memory, (char *)small + 1), STATUS_INVALID_VALUE);
	assert_int_equal(cpu_memory_release(memory, (char *)large + 2 * MIB), STATUS_INVALID_VALUE);
	assert_int_equal(cpu_memory_release(memory, &memory), STATUS_INVALID_VALUE);
	assert_int_equal(cpu_memory_release(memory, NULL), STATUS_INVALID_VALUE);
	RUN(cpu_memory_release(memory, small));
	RUN(cpu_memory_release(memory, large));
	assert_int_equal(cpu_memory_release(memory, small), STATUS_INVALID_VALUE);
	assert_int_equal(cpu_memory_release(memory, large), STATUS_INVALID_VALUE);
	cpu_memory_destroy(memory);
}

static void descriptions(void **state)
{
	struct memory *memory = cpu_memory_create(64 * MIB);
	void *small, *large;
	char text[160], want[160];
	(void)state;
	RUN(cpu_memory_allocate(memory, 4096, &small));
	RUN(cpu_memory_allocate(memory, 3 * MIB, &large));
	uint64_t s = (uintptr_t)small, l = (uintptr_t)large;
	const struct {
		uint64_t address, distance;
		const char *format;
		uint64_t start;
	} cases[] = {
		{ s + 4108, 12, " (%lu bytes past the end of a 4096-byte allocation at 0x%lx)", s },
		{ s + 100, 100, " (%lu bytes into a 4096-byte allocation at 0x%lx)", s },
		{ l + 3 * MIB, 0, " (%lu bytes past the end of a 3145728-byte allocation at 0x%lx)", l },
		{ l - 4, 4, " (%lu bytes before a 3145728-byte allocation at 0x%lx)", l },
		{ l + 8 * MIB, 5 * MIB, " (%lu bytes past the end of a 3145728-byte allocation at 0x%lx)", l },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		snprintf(want, sizeof want, cases[i].format, (unsigned long)cases[i].distance, (unsigned long)cases[i].start);
		cpu_memory_describe(memory, cases[i].address, text, sizeof text);
		assert_string_equal(text, want);
	}
	cpu_memory_describe(memory, l + 24 * MIB, text, sizeof text);
	assert_string_equal(text, " (in no allocation)");
	cpu_memory_describe(memory, 0, text, sizeof text);
	assert_string_equal(text, " (a null pointer)");
	cpu_memory_describe(memory, (uintptr_t)&memory, text, sizeof text);
	assert_string_equal(text, " (not device memory)");
	cpu_memory_destroy(memory);
}

/* ---- printf ---------------------------------------------------------------------------------- */

struct packed {
	int a;
	double b;
	long long c;
	const char *d;
	int e;
	short half;
};

static void formats(void **state)
{
	struct packed values = { -5, 3.14159, 1234567890123, "text", 70000, 0 };
	struct text out = { 0 };
	char want[256];
	(void)state;
	assert_int_equal(print_format(&out, "%d|%8.2f|%lld|%-8s|%hd|%%\n", &values, NULL, NULL), 5);
	snprintf(want, sizeof want, "%d|%8.2f|%lld|%-8s|%hd|%%\n", -5, 3.14159, 1234567890123LL, "text", (short)70000);
	assert_string_equal(out.data, want);
	text_fini(&out);
	const struct {
		int width, value;
	} star = { 6, 42 };
	print_format(&out, "[%*d]", &star, NULL, NULL);
	assert_string_equal(out.data, "[    42]");
	text_fini(&out);
	/* Unknown ones stand as they are and take nothing. */
	const int one = 1;
	assert_int_equal(print_format(&out, "%n %y %d 100%", &one, NULL, NULL), 1);
	assert_string_equal(out.data, "%n %y 1 100%");
	text_fini(&out);
	const char *const null[2] = { NULL, NULL };
	print_format(&out, "%s %p", null, NULL, NULL);
	assert_string_equal(out.data, "(null) (nil)");
	text_fini(&out);
	/* Strings that came along, in place of addresses; where they run out, nothing is read past them. */
	static const char strings[] = "one\0two";
	const uint64_t addresses[4] = { 0x1000, 7, 0x2000, 0x3000 };
	assert_int_equal(print_format(&out, "%s %lld %s [%s]", addresses, strings, strings + sizeof strings), 4);
	assert_string_equal(out.data, "one 7 two []");
	text_fini(&out);
}

/* ---- fibers ------------------------------------------------------------------------------------ */

static struct fiber home, ping, pong;
static int trace[32], traced;

static void ping_main(void *argument)
{
	volatile double kept = *(double *)argument;
	for (int i = 0; i < 5; i++) {
		trace[traced++] = 2 * i;
		fiber_switch(&ping, &pong);
		assert_true(kept == 1.5);
	}
	fiber_jump(&ping, &home);
}

static void pong_main(void *argument)
{
	char aligned[64] __attribute__((aligned(16)));
	assert_int_equal((uintptr_t)aligned % 16, 0);
	for (int i = 0;; i++) {
		trace[traced++] = 2 * i + 1;
		memset(aligned, i, sizeof aligned);
		fiber_switch(&pong, argument);
	}
}

static void fibers(void **state)
{
	enum { SIZE = 64 << 10 };
	double value = 1.5;
	void *a = malloc(SIZE), *b = malloc(SIZE);
	(void)state;
	fiber_adopt(&home);
	for (int round = 0; round < 3; round++) {
		traced = 0;
		fiber_make(&ping, a, SIZE, ping_main, &value);
		fiber_make(&pong, b, SIZE - 192 * (size_t)round, pong_main, &ping); /* left in the middle each time */
		fiber_switch(&home, &ping);
		assert_int_equal(traced, 10);
		for (int i = 0; i < 10; i++)
			assert_int_equal(trace[i], i);
	}
	fiber_release(&ping);
	fiber_release(&pong);
	fiber_release(&home);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_are_apart_and_aligned),
		cmocka_unit_test(impossible_sizes),
#if !defined(WITH_ASAN) && !defined(WITH_TSAN) /* which need more addresses than that */
		cmocka_unit_test(limited_addresses),
#endif
		cmocka_unit_test(wrong_releases),
		cmocka_unit_test(descriptions),
		cmocka_unit_test(formats),
		cmocka_unit_test(fibers),
	};
	(void)fixture_begin, (void)fixture_end;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
