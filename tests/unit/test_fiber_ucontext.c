/* The fibers' fallback for machines that the assembly does not know: the same interface over ucontext. */
#define FIBER_UCONTEXT
#include "backend/cpu/fiber.c"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include <setjmp.h>
#include <cmocka.h>

static struct fiber home, ping, pong;
static int traced;

static void ping_main(void *argument)
{
	volatile double kept = *(double *)argument;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(traced++, 2 * i);
		fiber_switch(&ping, &pong);
		assert_true(kept == 1.5);
	}
	fiber_jump(&ping, &home);
}

static void pong_main(void *argument)
{
	for (int i = 0;; i++) {
		assert_int_equal(traced++, 2 * i + 1);
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
		fiber_make(&pong, b, SIZE, pong_main, &ping); /* left in the middle each time */
		fiber_switch(&home, &ping);
		assert_int_equal(traced, 10);
	}
	fiber_release(&ping);
	fiber_release(&pong);
	fiber_release(&home);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(fibers) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
