/* What the compiler makes of the arithmetic that nvcc inlines for expf, erfcf and others: what must not cost anything in it
 * (src/ir/float_range.c, src/ir/nan.c), which chains of it stand side by side (src/codegen/chains.c), and what begins ahead
 * (src/codegen/ahead.c). */
#include "dump.h"

#define LOAD "ld.global.f32 %f1, [%rd4];\n"
#define STORE "st.global.f32 [%rd5], %f1;\n"

/* Of a number of at least 4 nothing is flushed before the division, and behind it one mask is left: no select of the flushed. */
static void test_reciprocal(void **state)
{
	(void)state;
	char *llvm = dump(HEAD LOAD "abs.f32 %f2, %f1;\nadd.f32 %f3, %f2, 0f40800000;\nrcp.approx.ftz.f32 %f1, %f3;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "fdiv"), 1);
	assert_int_equal(count(llvm, "icmp eq <8"), 0);
	assert_int_equal(count(llvm, "fcmp"), 2); /* beyond 2^126; NaN, where it is stored */
	free(llvm);
	/* of any number: zero or subnormal? */
	llvm = dump(HEAD LOAD "rcp.approx.ftz.f32 %f1, %f1;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "icmp eq <8"), 1);
	free(llvm);
}

#define LIMIT                                                                                                          \
	"abs.f32 %f2, %f1;\nsetp.gt.f32 %p1, %f2, 0f42fc0000;\nmov.f32 %f3, 0f42fc0000;\ncopysign.f32 %f4, %f1, %f3;\n"        \
	"selp.f32 %f1, %f4, %f1, %p1;\nadd.f32 %f1, %f1, 0f3f800000;\n"

/* A limit is a comparison at either end, without the NaN's bits; at the end that a square's negative cannot reach it is none. */
static void test_limit(void **state)
{
	(void)state;
	char *llvm = dump(HEAD LOAD LIMIT STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "fcmp"), 3);
	assert_int_equal(count(llvm, "and <8 x i32>"), 0);
	free(llvm);
	llvm = dump(HEAD LOAD "mul.f32 %f1, %f1, %f1;\nneg.f32 %f1, %f1;\n" LIMIT STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "fcmp"), 2);
	free(llvm);
}

/* ex2 of what is below 128 needs no upper limit: the comparison with -126, the one with 0, and the NaN's. */
static void test_power(void **state)
{
	(void)state;
	char *llvm = dump(HEAD LOAD "abs.f32 %f2, %f1;\nneg.f32 %f3, %f2;\nex2.approx.ftz.f32 %f1, %f3;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	unsigned known = count(llvm, "fcmp");
	free(llvm);
	llvm = dump(HEAD LOAD "ex2.approx.ftz.f32 %f1, %f1;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "fcmp"), known + 1);
	free(llvm);
}

/* 2^n times 2^f, as nvcc makes them: n's bits are shifted, and where n is NaN f is too. Of two sums one is taken, and made the NaN then. */
static void test_nans(void **state)
{
	(void)state;
	char *llvm = dump(HEAD LOAD "add.f32 %f2, %f1, 0f4b40007f;\nmov.b32 %r3, %f2;\nshl.b32 %r4, %r3, 23;\nmov.b32 %f3, %r4;\n"
				    "fma.rn.f32 %f4, %f1, 0fbf317218, %f1;\nmul.f32 %f1, %f4, %f3;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "fcmp uno"), 1); /* the product's, where it is stored */
	free(llvm);
	llvm = dump(HEAD LOAD "add.f32 %f2, %f1, 0f4b40007f;\nmov.b32 %r3, %f2;\nshl.b32 %r4, %r3, 23;\nmov.b32 %f3, %r4;\n"
			      "fma.rn.f32 %f1, %f1, 0fbf317218, %f3;\nmul.f32 %f1, %f3, %f3;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "fcmp uno"), 2); /* the shift's too */
	free(llvm);
	llvm = dump(HEAD LOAD "add.f32 %f2, %f1, 0f3f800000;\nmul.f32 %f3, %f1, %f1;\nsetp.lt.f32 %p1, %f1, 0f00000000;\n"
			      "selp.f32 %f1, %f2, %f3, %p1;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "fcmp uno"), 1);
	free(llvm);
}

/* What is made of a reciprocal, or of a power, and taken only where its argument is small, needs no look at large ones. Where another instruction
 * takes it too, it does. */
static void test_choice(void **state)
{
#define RECIPROCAL "abs.f32 %f2, %f1;\nadd.f32 %f3, %f2, 0f40800000;\nrcp.approx.ftz.f32 %f3, %f3;\nfma.rn.f32 %f3, %f3, %f2, 0f3f800000;\n"
#define CHOSEN "setp.gt.f32 %p1, %f2, 0f41200000;\nselp.f32 %f1, 0f00000000, %f3, %p1;\n"
/* e^-x^2, with n kept in [-126, 126], in %f5 */
#define POWER "abs.f32 %f2, %f1;\nmul.f32 %f3, %f2, %f2;\nneg.f32 %f3, %f3;\nmul.f32 %f4, %f3, 0f3fb8aa3b;\ncvt.rzi.f32.f32 %f4, %f4;\nabs.f32 %f5, %f4;\n" \
	"setp.gt.f32 %p1, %f5, 0f42fc0000;\nmov.f32 %f6, 0f42fc0000;\ncopysign.f32 %f6, %f4, %f6;\nselp.f32 %f4, %f6, %f4, %p1;\n" \
	"fma.rn.f32 %f5, %f4, 0fbf317218, %f3;\nmul.f32 %f5, %f5, 0f3fb8aa3b;\nex2.approx.ftz.f32 %f3, %f5;\n"
	(void)state;
	char *llvm = dump(HEAD LOAD RECIPROCAL CHOSEN STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "0x47D0000000000000"), 0); /* 2^126 */
	free(llvm);
	llvm = dump(HEAD LOAD RECIPROCAL CHOSEN "add.f32 %f1, %f1, %f3;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	assert_true(count(llvm, "0x47D0000000000000") > 0);
	free(llvm);
	llvm = dump(HEAD LOAD RECIPROCAL "setp.lt.f32 %p1, %f2, 0f41200000;\nselp.f32 %f1, 0f00000000, %f3, %p1;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	assert_true(count(llvm, "0x47D0000000000000") > 0);
	free(llvm);
	llvm = dump(HEAD LOAD POWER CHOSEN STORE TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "fcmp oge"), 0);
	free(llvm);
	llvm = dump(HEAD LOAD POWER "mov.f32 %f1, %f3;\n" STORE TAIL, shape(256, 1, 8), "llvm");
	assert_true(count(llvm, "fcmp oge") > 0);
	free(llvm);
}

/* ---- chains side by side -------------------------------------------------------------------------------------------------- */

/* 400 steps in %f3, then as many in the register, of blocks of so many threads. */
static char *dump_chains(const char *second, unsigned threads)
{
	static char text[65536];
	size_t length = (size_t)snprintf(text, sizeof text, "%s", HEAD LOAD "add.f32 %f2, %f1, 0f3f800000;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f2;\n");
	for (int i = 0; i < 800; i++)
		length += (size_t)snprintf(text + length, sizeof text - length, "fma.rn.f32 %s, %s, %%f1, %%f2;\n", i < 400 ? "%f3" : second,
					   i < 400 ? "%f3" : second);
	snprintf(text + length, sizeof text - length, "%s", "sub.f32 %f1, %f3, %f4;\n" STORE TAIL);
	return dump(text, shape(threads, 1, 8), "llvm");
}

/* Two chains, one behind the other, are taken in turn: a step does not read what the one before it in the text has made. One chain stays as
 * it is. */
static void test_chains(void **state)
{
	static const char step[] = "@llvm.fma.v8f32(<8 x float> %";
	unsigned turns = 0, steps = 0, last = 0;
	(void)state;
	char *llvm = dump_chains("%f4", 32);
	assert_true(count(llvm, "call void @llvm.codeview.annotation") >= 800 / 32);
	for (const char *at = strstr(llvm, step); at; at = strstr(at + 1, step), steps++) {
		const char *line = at;
		while (line > llvm && line[-1] != '\n')
			line--;
		turns += last && strtoul(at + sizeof step - 1, NULL, 10) != last;
		last = (unsigned)strtoul(strchr(line, '%') + 1, NULL, 10);
	}
	assert_int_equal(steps, 800);
	assert_true(turns > 700);
	free(llvm);
	llvm = dump_chains("%f3", 32);
	assert_int_equal(count(llvm, step), 800);
	assert_int_equal(count(llvm, "llvm.codeview.annotation"), 0);
	free(llvm);
}

/* ---- the next group ahead --------------------------------------------------------------------------------------------------- */

/* Of one chain of 800 steps, in a block of many groups, half of the next group's is computed beside half of this one's: all steps of one are in
 * the loop, half of them once more in front of it, and a few vectors go around the loop. A block of few groups is left alone. */
static void test_ahead(void **state)
{
	static const char step[] = "@llvm.fma.v8f32(<8 x float> %", around[] = "phi <8 x float>";
	(void)state;
	char *llvm = dump_chains("%f3", 256), *loop = strstr(llvm, "\ngroup:");
	assert_non_null(loop);
	assert_int_equal(count(loop, step), 800);
	assert_in_range(count(llvm, step), 800 + 350, 800 + 450);
	assert_in_range(count(loop, around), 1, 4);
	assert_true(count(loop, "call void @llvm.codeview.annotation") >= 800 / 32); /* the halves are side by side */
	free(llvm);
	llvm = dump_chains("%f3", 32);
	assert_int_equal(count(llvm, around), 0);
	free(llvm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reciprocal), cmocka_unit_test(test_limit), cmocka_unit_test(test_power), cmocka_unit_test(test_nans), cmocka_unit_test(test_choice),
		cmocka_unit_test(test_chains), cmocka_unit_test(test_ahead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
