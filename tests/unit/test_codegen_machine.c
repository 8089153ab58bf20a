/* LLVM's machines are made once for a target and a level of optimisation, and used by one compilation at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <llvm-c/Target.h>

#include "codegen/target.h"

static struct target target_of(const char *name)
{
	struct compile_options options = { .target = name };
	struct target target;
	assert_true(target_init(&target, &options));
	return target;
}

static void machines_are_used_again(void **state)
{
	struct target cpu = target_of(NULL);
	struct machine *first = machine_take(&cpu, 2);
	(void)state;
	assert_non_null(first);
	assert_non_null(machine_llvm(first));
	machine_give(first);
	assert_ptr_equal(machine_take(&cpu, 2), first);
	struct machine *second = machine_take(&cpu, 2); /* two at once are two */
	assert_ptr_not_equal(second, first);
	machine_give(first);
	struct machine *other = machine_take(&cpu, 0); /* another level */
	assert_ptr_not_equal(other, first);
	machine_give(second);
	assert_ptr_equal(machine_take(&cpu, 3), second); /* the last one given back; optimised is optimised */
	machine_give(second);
	machine_give(other);
}

/* More of them than are kept: those used last stay. */
static void old_machines_go(void **state)
{
	static const char *const features[] = { "+sse4.2", "+avx", "+avx2", "+bmi", "+bmi2", "+lzcnt" };
	struct target cpu = target_of(NULL);
	struct machine *machines[6];
	(void)state;
	for (int i = 0; i < 6; i++) {
		strcpy(cpu.features, features[i]);
		machines[i] = machine_take(&cpu, 2);
		assert_non_null(machines[i]);
	}
	for (int i = 0; i < 6; i++)
		machine_give(machines[i]);
	for (int i = 2; i < 6; i++) {
		strcpy(cpu.features, features[i]);
		struct machine *again = machine_take(&cpu, 2);
		assert_ptr_equal(again, machines[i]);
		machine_give(again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(machines_are_used_again), cmocka_unit_test(old_machines_go) };
	LLVMInitializeNativeTarget();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
