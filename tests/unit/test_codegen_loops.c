/* What becomes of loops whose lanes go different numbers of rounds: each test says of a small kernel what must not cost anything in it. */
#include "dump.h"

/* ---- loops over lanes (src/ir/lane_loop.c) -------------------------------------------------------------------------------- */

/* A loop of as many rounds as the lane's data say. */
#define ROUNDS(BODY)                                                                                                   \
	"ld.global.u32 %r3, [%rd4];\nld.global.u32 %r4, [%rd4+4];\nmov.f32 %f1, 0f00000000;\nmul.wide.u32 %rd6, %r3, 4;\n"      \
	"add.s64 %rd6, %rd1, %rd6;\nmov.b64 %rd8, %rd4;\nmov.f32 %f3, 0f3f000000;\n"                                           \
	"again: " BODY "add.s32 %r3, %r3, 1;\nsetp.lt.s32 %p1, %r3, %r4;\n@%p1 bra again;\nst.global.f32 [%rd5], %f1;\n"

/* Rows of a sparse matrix: every access is somewhere else. */
static void test_scattered_rounds(void **state)
{
	(void)state;
	static const char text[] = HEAD ROUNDS("ld.global.u32 %r5, [%rd6];\nmul.wide.s32 %rd7, %r5, 4;\nadd.s64 %rd7, %rd2, %rd7;\n"
					       "ld.global.f32 %f2, [%rd7];\nfma.rn.f32 %f1, %f2, %f3, %f1;\nadd.s64 %rd6, %rd6, 4;\n") TAIL;
	char *ir = dump(text, shape(256, 1, 0), "ir"), *llvm = dump(text, shape(256, 1, 0), "llvm");
	assert_int_equal(count(ir, "lane.mask"), 1);
	assert_line(ir, "= fma.rn.f32", "once; uniform");
	assert_int_equal(count(llvm, "call <8 x float> @llvm.fma"), 0);
	assert_int_equal(count(llvm, "call float @llvm.fma"), 1);
	free(ir);
	free(llvm);
}

/* A search in a graph: few nodes are of this level. Those read by themselves where their edges are, and nothing goes through arrays. */
static void test_few_lanes(void **state)
{
	(void)state;
	static const char text[] = HEAD "ld.global.u32 %r3, [%rd5];\nsetp.ne.s32 %p1, %r3, 3;\n@%p1 bra out;\nld.global.u32 %r4, [%rd4];\n"
					"ld.global.u32 %r5, [%rd4+4];\nsetp.ge.s32 %p2, %r4, %r5;\n@%p2 bra out;\n"
					"again: mul.wide.s32 %rd6, %r4, 4;\nadd.s64 %rd6, %rd1, %rd6;\nld.global.u32 %r6, [%rd6+65536];\n"
					"mul.wide.s32 %rd7, %r6, 4;\nadd.s64 %rd7, %rd2, %rd7;\nld.global.u32 %r7, [%rd7];\nsetp.gt.s32 %p3, %r7, -1;\n"
					"@%p3 bra next;\nmov.u32 %r8, 4;\nst.global.u32 [%rd7], %r8;\nld.global.u32 %r5, [%rd4+4];\n"
					"next: add.s32 %r4, %r4, 1;\nsetp.lt.s32 %p4, %r4, %r5;\n@%p4 bra again;\nout: " TAIL;
	char *ir = dump(text, shape(256, 1, 0), "ir"), *llvm = dump(text, shape(256, 1, 0), "llvm");
	assert_int_equal(count(ir, "lane.mask"), 1);
	assert_int_equal(count(llvm, "load <8 x i32>"), 1);
	assert_int_equal(count(llvm, "masked"), 0);
	assert_int_equal(count(llvm, "%lanes"), 0);
	assert_int_equal(count(llvm, "store <"), 0);
	free(ir);
	free(llvm);
}

/* What vectors do well stays so: arithmetic, and rows that all lanes walk along together. */
static void test_vector_rounds(void **state)
{
	(void)state;
	static const char *const texts[] = {
		HEAD ROUNDS("fma.rn.f32 %f1, %f1, %f3, %f3;\nmul.f32 %f3, %f1, %f1;\nadd.f32 %f1, %f1, %f3;\n") TAIL,
		/* scattered, but as many rounds as the thread's number says: lanes side by side go on side by side */
		HEAD "mov.u32 %r3, %r2;\nagain: mul.lo.s32 %r5, %r3, %r3;\nmul.wide.s32 %rd6, %r5, 4;\nadd.s64 %rd6, %rd1, %rd6;\n"
		     "ld.global.u32 %r6, [%rd6];\nst.global.u32 [%rd6+4], %r6;\nadd.s32 %r3, %r3, 1;\nsetp.ne.s32 %p1, %r3, %r1;\n@%p1 bra again;\n" TAIL,
		HEAD ROUNDS("ld.global.f32 %f2, [%rd8];\nfma.rn.f32 %f1, %f2, %f3, %f1;\nadd.s64 %rd8, %rd8, 1024;\n") TAIL,
	};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		char *ir = dump(texts[i], shape(256, 1, 0), "ir");
		assert_int_equal(count(ir, "lane.mask"), 0);
		free(ir);
	}
}

/* ---- lanes that stay together (src/ir/together.c) --------------------------------------------------------------------------- */

/* A loop over a grid: lanes go different numbers of rounds, in the last group. */
#define GRID(STEP, BODY)                                                                                               \
	"setp.ge.s32 %p1, %r2, %r1;\n@%p1 bra done;\nmov.u32 %r3, %r2;\nagain: mul.wide.s32 %rd6, %r3, 4;\nadd.s64 %rd7, %rd1, %rd6;\n" \
	BODY "add.s32 %r3, %r3, " STEP ";\nsetp.lt.s32 %p2, %r3, %r1;\n@%p2 bra again;\ndone: "

static void test_grid_loop(void **state)
{
	(void)state;
	static const char text[] = HEAD GRID("4096", "ld.global.f32 %f1, [%rd7];\nadd.f32 %f1, %f1, %f1;\nst.global.f32 [%rd7], %f1;\n") TAIL;
	char *ir = dump(text, shape(256, 1, 0), "ir"), *llvm = dump(text, shape(256, 1, 0), "llvm");
	assert_int_equal(count(ir, "    vote"), 2); /* before the loop and in it */
	assert_true(strstr(llvm, "load <8 x float>") && strstr(llvm, "store <8 x"));
	assert_int_equal(count(llvm, "@llvm.prefetch.p0(ptr"), 3); /* its declaration, and the two lines of the next round */
	free(ir);
	free(llvm);
	/* nearer rows the machine finds by itself */
	llvm = dump(HEAD GRID("256", "ld.global.f32 %f1, [%rd7];\nadd.f32 %f1, %f1, %f1;\nst.global.f32 [%rd7], %f1;\n") TAIL, shape(256, 1, 0), "llvm");
	assert_int_equal(count(llvm, "@llvm.prefetch"), 0);
	free(llvm);
}

/* ---- round by round for the block (src/ir/rounds.c) ---------------------------------------------------------------------------- */

/* Between barriers, and where a round leads far on: by a number that the grid gives, or a large one. Each vote of the block is one of a group too. */
static void test_rounds(void **state)
{
	(void)state;
#define COUNT(STEP) HEAD ".shared .b32 sum;\nmov.u32 %r4, %nctaid.x;\nshl.b32 %r4, %r4, 8;\nbar.sync 0;\n"                                      \
		GRID(STEP, "ld.global.u32 %r5, [%rd7];\nred.shared.add.u32 [sum], %r5;\n") "bar.sync 0;\n" TAIL
	char *ir = dump(COUNT("%r4"), shape(256, 1, 0), "ir");
	assert_int_equal(count(ir, "    vote all"), 2);
	assert_int_equal(count(ir, "    vote "), 2 + 2 + 1); /* … and two that the switch leads to; the fast copy has one more, in its loop */
	assert_int_equal(count(ir, "    switch"), 1);
	assert_true(strstr(ir, " region 5")); /* before, between, the loop, behind; where all meet that do not agree */
	free(ir);
	ir = dump(COUNT("8192"), shape(256, 1, 0), "ir");
	assert_int_equal(count(ir, "    vote all"), 2);
	free(ir);
	/* nearer rounds are in the caches anyway; one warp has nobody to take turns with */
	ir = dump(COUNT("256"), shape(256, 1, 0), "ir");
	assert_int_equal(count(ir, "    vote all"), 0);
	free(ir);
	ir = dump(COUNT("%r4"), shape(32, 1, 0), "ir");
	assert_int_equal(count(ir, "    vote all"), 0);
	free(ir);
#undef COUNT
}

/* Elements by their number: without a mask but in one group, also where a row and a column are asked for together. */
static void test_guard(void **state)
{
	(void)state;
	char *llvm = dump(HEAD "setp.ge.s32 %p1, %r2, %r1;\nmov.u32 %r3, %ctaid.y;\nsetp.ge.s32 %p2, %r3, %r1;\nor.pred %p3, %p1, %p2;\n"
			       "@%p3 bra done;\nld.global.f32 %f1, [%rd4];\nst.global.f32 [%rd5], %f1;\ndone: " TAIL, shape(256, 1, 0), "llvm");
	assert_int_equal(count(llvm, "= load <8 x i32>") + count(llvm, "= load <8 x float>"), 4); /* asked for 32 lanes at once */
	assert_int_equal(count(llvm, "@llvm.masked.load.v8f32.p0(ptr") + count(llvm, "@llvm.masked.load.v8i32.p0(ptr"), 5); /* with its declaration */
	free(llvm);
}

/* What data decide, and what picks a lane, is there once. */
static void test_no_vote(void **state)
{
	(void)state;
	static const char *const texts[] = {
		HEAD "ld.global.u32 %r3, [%rd4];\nsetp.ge.s32 %p1, %r3, %r1;\n@%p1 bra done;\nst.global.u32 [%rd5], %r3;\ndone: " TAIL,
		HEAD "setp.ne.s32 %p1, %r2, %r1;\n@%p1 bra done;\nst.global.u32 [%rd5], %r1;\ndone: " TAIL,
		HEAD ROUNDS("fma.rn.f32 %f1, %f1, %f3, %f3;\n") TAIL,
	};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		char *ir = dump(texts[i], shape(256, 1, 0), "ir");
		assert_int_equal(count(ir, "    vote"), 0);
		free(ir);
	}
}

/* ---- exits (src/ir/exits.c), masks from block to block (wide_masks.c), two vectors (src/ir/pair.c) --------------------------- */

/* A loop that was unrolled three times, with an exit in each round that says which it was. */
#define STEP(EXIT) "mul.f32 %f2, %f1, %f1;\nfma.rn.f32 %f1, %f2, %f3, %f1;\nsetp.gt.f32 %p1, %f1, 0f40800000;\n@%p1 bra " EXIT ";\n"
#define UNROLLED                                                                                                       \
	"ld.global.f32 %f1, [%rd4];\nmov.f32 %f3, 0f3f000000;\nmov.u32 %r3, 0;\n"                                         \
	"again: " STEP("done") STEP("out1") STEP("out2")                                                              \
	"add.s32 %r3, %r3, 3;\nsetp.lt.s32 %p2, %r3, %r1;\n@%p2 bra again;\nbra done;\n"                                 \
	"out1: add.s32 %r3, %r3, 1;\nbra done;\nout2: add.s32 %r3, %r3, 2;\ndone: st.global.u32 [%rd5], %r3;\n"

static void test_exits(void **state)
{
	(void)state;
	struct compile_options no_mask_registers = shape(256, 1, 8);
	no_mask_registers.cpu = "haswell";
	no_mask_registers.features = "+avx2,+fma";
	char *ir = dump(HEAD UNROLLED TAIL, no_mask_registers, "ir"), *llvm = dump(HEAD UNROLLED TAIL, no_mask_registers, "llvm");
	assert_int_equal(count(ir, "block "), 8); /* four of the loop, and in front, behind, done, the exit: none for a way out */
	/* one mask of those that have left, for the three exits */
	assert_int_equal(count(llvm, "= phi <8 x i1>"), 0);
	assert_true(count(llvm, "= phi <8 x i32>") <= 4);
	free(ir);
	free(llvm);
	char *code = dump(HEAD UNROLLED TAIL, no_mask_registers, "asm");
	assert_int_equal(count(code, "vpackss") + count(code, "vpmovzx"), 0);
	assert_int_equal(count(code, "vcmp"), 3); /* those that stay are not compared for, they are those that do not leave */
	free(code);
}

static void test_pairs(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned vectors; /* of a group: additions for the one in the text */
	} rows[] = {
		{ HEAD ROUNDS("cvt.rn.f32.s32 %f2, %r3;\nadd.f32 %f1, %f1, %f2;\n") TAIL, 2 },
		/* this waits for memory */
		{ HEAD ROUNDS("ld.global.f32 %f2, [%rd8];\nadd.f32 %f1, %f2, %f1;\nadd.s64 %rd8, %rd8, 1024;\n") TAIL, 1 },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *llvm = dump(rows[i].text, shape(256, 1, 0), "llvm");
		assert_int_equal(count(llvm, "fadd <8 x float>"), rows[i].vectors);
		free(llvm);
	}
}

/* ---- lanes in another order (src/ir/bits.c, src/codegen/address.c) ------------------------------------------------------------------- */

static void test_flipped_lanes(void **state)
{
	(void)state;
	static const char exchange[] = HEAD "mov.u32 %r7, s;\nxor.b32 %r3, %r2, 5;\nshl.b32 %r4, %r3, 2;\nadd.s32 %r5, %r7, %r4;\nmul.wide.u32 %rd6, %r3, 4;\n"
		"add.s64 %rd7, %rd1, %rd6;\nld.global.u32 %r6, [%rd7];\nst.shared.u32 [%r5], %r6;\nld.shared.u32 %r8, [%r5+0];\nst.global.u32 [%rd5], %r8;\n" TAIL;
	char *ir = dump(exchange, shape(256, 1, 0), "ir"), *llvm = dump(exchange, shape(256, 1, 0), "llvm");
	assert_line(ir, "= xor.b32", "1 * lane ^ 5");
	assert_int_equal(count(ir, "4 * lane ^ 5"), 4); /* shl, add, mul.wide, add */
	assert_int_equal(count(llvm, "load i32"), 0);
	assert_int_equal(count(llvm, "store i32"), 0);
	free(ir);
	free(llvm);
	/* data decide: each lane asks for itself */
	ir = dump(HEAD "ld.global.u32 %r3, [%rd4];\nxor.b32 %r3, %r3, 5;\nst.global.u32 [%rd5], %r3;\n" TAIL, shape(256, 1, 0), "ir");
	assert_int_equal(count(ir, "lane ^"), 0);
	free(ir);
}

/* ---- stores of some lanes to shared memory (src/codegen/address.c) ------------------------------------------------------------------ */

/* Threads whose partner is `distance` away exchange what they have where it is out of order: a step of a bitonic sort. */
#define EXCHANGE(DISTANCE, BIT)                                                                                        \
	"mov.u32 %r7, s;\nshl.b32 %r8, %r2, 2;\nadd.s32 %r9, %r7, %r8;\nxor.b32 %r3, %r2, " DISTANCE ";\nshl.b32 %r4, %r3, 2;\n"       \
	"add.s32 %r5, %r7, %r4;\nsetp.le.s32 %p1, %r3, %r2;\n@%p1 bra done;\nld.shared.u32 %r10, [%r5];\nld.shared.u32 %r11, [%r9];\n"   \
	"and.b32 %r6, %r2, " BIT ";\nsetp.eq.s32 %p2, %r6, 0;\nsetp.gt.s32 %p1, %r11, %r10;\nsetp.lt.s32 %p3, %r11, %r10;\n"             \
	"selp.u32 %r12, -1, 0, %p1;\nselp.u32 %r13, -1, 0, %p3;\nselp.b32 %r12, %r12, %r13, %p2;\nsetp.eq.s32 %p1, %r12, 0;\n"           \
	"@%p1 bra done;\nst.shared.u32 [%r9], %r10;\nst.shared.u32 [%r5], %r11;\ndone: "

static void test_exchange(void **state)
{
	(void)state;
	static const char *const texts[] = { HEAD EXCHANGE("64", "128") TAIL, HEAD EXCHANGE("2", "4") TAIL, HEAD EXCHANGE("1", "64") TAIL };
	struct compile_options no_mask_registers = shape(256, 1, 0);
	no_mask_registers.cpu = "haswell";
	no_mask_registers.features = "+avx2,+fma";
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		char *llvm = dump(texts[i], no_mask_registers, "llvm"), *code = dump(texts[i], no_mask_registers, "asm");
		assert_int_equal(count(llvm, "@llvm.masked."), 0);
		assert_int_equal(count(code, "vpmaskmov") + count(code, "vmaskmov"), 0);
		assert_int_equal(count(code, "vpackss") + count(code, "vpmovsxw"), 0);
		assert_int_equal(count(llvm, ", ptr %scratch"), 0); /* they write within the block's memory, whoever takes part */
		free(llvm);
		free(code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scattered_rounds), cmocka_unit_test(test_few_lanes), cmocka_unit_test(test_vector_rounds), cmocka_unit_test(test_grid_loop), cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_guard), cmocka_unit_test(test_no_vote), cmocka_unit_test(test_exits), cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_flipped_lanes), cmocka_unit_test(test_exchange),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
