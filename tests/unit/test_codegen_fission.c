/* What becomes of barriers (src/ir/region.c, src/codegen/fission.c): where a block can run as regions in one call, that it does, with
 * nothing kept in between that need not be; where it cannot, that its groups still wait on fibers. */
#include "codegen/codegen.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"                                                         \
	     ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n"                                        \
	     ".reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<8>;\n.shared .align 4 .b8 s[1024];\n" \
	     "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r1, [n];\n"                               \
	     "mov.u32 %r2, %tid.x;\nshl.b32 %r3, %r2, 2;\nmov.u32 %r4, s;\nadd.s32 %r4, %r4, %r3;\n"                        \
	     "mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
#define TAIL "ret;\n}\n"

/* A tree in shared memory: a loop that the whole block agrees on, with a barrier in it. */
#define TREE                                                                                                            \
	"ld.global.f32 %f1, [%rd4];\nst.shared.f32 [%r4], %f1;\nbar.sync 0;\nmov.u32 %r5, 128;\n"                            \
	"again: setp.ge.u32 %p1, %r2, %r5;\n@%p1 bra wait;\nshl.b32 %r6, %r5, 2;\nadd.s32 %r6, %r4, %r6;\n"                  \
	"ld.shared.f32 %f1, [%r4];\nld.shared.f32 %f2, [%r6];\nadd.f32 %f1, %f1, %f2;\nst.shared.f32 [%r4], %f1;\n"          \
	"wait: bar.sync 0;\nshr.u32 %r5, %r5, 1;\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra again;\n"                               \
	"ld.shared.f32 %f1, [%r4];\nst.global.f32 [%rd5], %f1;\n"

static struct compile_options shape(uint32_t x)
{
	return (struct compile_options){ .opt_level = 2, .vector = 8, .block = { x, x ? 1 : 0, x ? 1 : 0 } };
}

struct outcome {
	struct kernel_info info;
	char *ir, *llvm;
};

static struct outcome compile(const char *text, struct compile_options options)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct ptx_module *module = ptx_parse(text, strlen(text), "test.ptx", &diagnostic);
	if (!module)
		fail_msg("%s", diagnostic.message);
	const struct compiler *compiler = dragoman_compiler();
	struct compile_result result;
	const struct ptx_function *kernel = module->functions.data[0];
	if (!compiler->compile(module, kernel, &options, &result, &diagnostic))
		fail_msg("%s", diagnostic.message);
	struct outcome outcome = { .info = result.info };
	outcome.ir = compiler->dump(module, kernel, &options, "ir", &diagnostic);
	outcome.llvm = compiler->dump(module, kernel, &options, "llvm", &diagnostic);
	assert_non_null(outcome.ir);
	assert_non_null(outcome.llvm);
	free(result.object);
	free(result.symbols);
	ptx_destroy(module);
	ptx_diagnostic_fini(&diagnostic);
	return outcome;
}

static void outcome_fini(struct outcome *outcome)
{
	free(outcome->ir);
	free(outcome->llvm);
}

static unsigned count(const char *text, const char *what)
{
	unsigned found = 0;
	for (; (text = strstr(text, what)); text += strlen(what))
		found++;
	return found;
}

/* ---- blocks that are cut ------------------------------------------------------------------------------------------- */

static void test_uniform_loop(void **state)
{
	(void)state;
	static const uint32_t shapes[] = { 256, 200, 0 };
	for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
		struct outcome o = compile(HEAD TREE TAIL, shape(shapes[i]));
		assert_int_equal(o.info.flags & KERNEL_SUSPENDS, 0);
		/* the entry, the loop's head, what follows each of two barriers */
		assert_non_null(strstr(o.ir, "4 regions between barriers"));
		outcome_fini(&o);
	}
}

/* Nothing of the tree but the loop's counter lives across its barriers, and the block agrees on that: there is no context. */
static void test_context_is_small(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD TREE TAIL, shape(256));
	assert_int_equal(o.info.context_bytes, 0);
	outcome_fini(&o);
	/* and here one float a lane */
	o = compile(HEAD "ld.global.f32 %f1, [%rd4];\nst.shared.f32 [%r4], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [s];\n"
			 "add.f32 %f1, %f1, %f2;\nst.global.f32 [%rd5], %f1;\n" TAIL, shape(256));
	assert_int_equal(o.info.context_bytes, 128);
	outcome_fini(&o);
}

/* An index that goes on from round to round is kept as its chunks' first lanes: 4 of 8 bytes, where nothing but addresses comes of it. */
static void test_indices_are_small(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD "mov.u32 %r5, 0;\n"
					"again: ld.global.f32 %f1, [%rd4];\nst.shared.f32 [%r4], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [s];\n"
					"st.global.f32 [%rd5], %f2;\nadd.s64 %rd4, %rd4, 1024;\nadd.s32 %r5, %r5, 1;\nbar.sync 0;\n"
					"setp.ne.u32 %p2, %r5, %r1;\n@%p2 bra again;\n" TAIL, shape(256));
	assert_int_equal(o.info.flags & KERNEL_SUSPENDS, 0);
	assert_in_range(o.info.context_bytes, 32, 64);
	outcome_fini(&o);
}

/* A round of a reduction that 128 of 256 threads take part in: code for these four groups, without a mask, and none for the others. */
static void test_rounds_of_reductions(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD "ld.global.f32 %f1, [%rd4];\nst.shared.f32 [%r4], %f1;\nbar.sync 0;\nsetp.gt.u32 %p1, %r2, 127;\n"
					"@%p1 bra wait;\nld.shared.f32 %f1, [%r4];\nld.shared.f32 %f2, [%r4+512];\nadd.f32 %f1, %f1, %f2;\n"
					"st.shared.f32 [%r4], %f1;\nwait: bar.sync 0;\nld.shared.f32 %f1, [%r4];\nst.global.f32 [%rd5], %f1;\n" TAIL,
				   shape(256));
	assert_int_equal(count(o.llvm, "fadd <8 x float>"), 16);
	assert_int_equal(count(o.llvm, "call <8 x float> @llvm.masked") + count(o.llvm, "call void @llvm.masked"), 0);
	outcome_fini(&o);
}

/* The lanes before one's own are the same in each group. */
static void test_constants_are_remade(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD "and.b32 %r5, %r2, 31;\nmov.u32 %r6, -1;\nshl.b32 %r7, %r6, %r5;\nnot.b32 %r7, %r7;\nst.shared.u32 [%r4], %r7;\n"
					"bar.sync 0;\nld.shared.u32 %r8, [s+64];\nand.b32 %r8, %r8, %r7;\npopc.b32 %r8, %r8;\n"
					"st.global.u32 [%rd5], %r8;\n" TAIL, shape(256));
	assert_int_equal(o.info.context_bytes, 0);
	outcome_fini(&o);
}

/* A round's condition that is used again behind other barriers is made again: it is known there too. */
static void test_conditions_are_remade(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD "ld.global.f32 %f1, [%rd4];\nst.shared.f32 [%r4], %f1;\nbar.sync 0;\nsetp.gt.u32 %p1, %r2, 7;\n"
					"@%p1 bra wait;\nld.shared.f32 %f1, [%r4];\nld.shared.f32 %f2, [%r4+32];\nadd.f32 %f1, %f1, %f2;\n"
					"st.shared.f32 [%r4], %f1;\nwait: bar.sync 0;\n"
					"@%p1 bra more;\nld.shared.f32 %f1, [%r4];\nld.shared.f32 %f2, [%r4+64];\nadd.f32 %f1, %f1, %f2;\n"
					"st.shared.f32 [%r4], %f1;\nmore: bar.sync 0;\nld.shared.f32 %f1, [%r4];\nst.global.f32 [%rd5], %f1;\n" TAIL,
				   shape(256));
	assert_int_equal(o.info.context_bytes, 0);
	assert_int_equal(count(o.llvm, "fadd <8 x float>"), 2); /* one chunk of one group each */
	assert_int_equal(count(o.llvm, "@llvm.masked"), 0);
	outcome_fini(&o);
}

/* Each warp adds up what the warps before it have: one load a place for the whole block, and no comparison is left in the code. All places are
 * read before any warp goes on, so that nothing is written in between (flatten.c); that the contexts are is known to be no matter. */
static void test_sums_over_warps(void **state)
{
	(void)state;
	char text[4000], *at = text + snprintf(text, sizeof text, "%s", HEAD "ld.global.u32 %r5, [%rd4];\nst.shared.u32 [%r4], %r5;\nbar.sync 0;\n"
							       "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\n");
	for (int i = 0; i < 8; i++)
		at += sprintf(at, "ld.shared.u32 %%r8, [s+%d];\nadd.u32 %%r6, %%r6, %%r8;\nsetp.gt.u32 %%p1, %%r2, %d;\n"
				  "selp.b32 %%r9, %%r8, 0, %%p1;\nadd.u32 %%r7, %%r7, %%r9;\n", 4 * i, 32 * i + 31);
	sprintf(at, "%s", "and.b32 %r10, %r5, 255;\nshl.b32 %r10, %r10, 2;\nmov.u32 %r11, s;\nadd.u32 %r10, %r10, %r11;\nadd.u32 %r7, %r7, %r5;\n"
			  "st.shared.u32 [%r10], %r7;\nbar.sync 0;\nld.shared.u32 %r5, [%r4];\nadd.u32 %r5, %r5, %r6;\nst.global.u32 [%rd5], %r5;\n" TAIL);
	struct outcome o = compile(text, shape(256));
	const char *second = strstr(strstr(o.ir, "bar.sync") + 1, "bar.sync");
	assert_int_equal(count(o.ir, "ld.shared"), 9);
	assert_int_equal(count(second, "ld.shared"), 1);
	assert_int_equal(count(o.llvm, " select "), 0);
	assert_in_range(count(o.llvm, "load i32, ptr"), 8, 16); /* and what lives across */
	outcome_fini(&o);
}

/* A part reads what threads before it hold, the next one changes its own: one loop over the groups, the last one first, and what was read is
 * never in memory (src/ir/barrier.c). */
#define SCAN(offset, past)                                                                                                \
	"ld.global.u32 %r5, [%rd4];\nst.shared.u32 [%r4], %r5;\nbar.sync 0;\nmov.u32 %r6, 0;\n"                          \
	"setp." past " %p1, %r2, 64;\n@%p1 ld.shared.u32 %r6, [%r4+" offset "];\nbar.sync 0;\nld.shared.u32 %r7, [%r4];\n"  \
	"add.u32 %r7, %r7, %r6;\nst.shared.u32 [%r4], %r7;\nbar.sync 0;\nld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd5], %r5;\n"

static void test_dropped_barriers(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD SCAN("-256", "ge.u32") TAIL, shape(256));
	assert_non_null(strstr(o.ir, "1 barriers dropped, 3 regions"));
	assert_non_null(strstr(o.ir, "region 1 downwards"));
	assert_int_equal(o.info.context_bytes, 0);
	outcome_fini(&o);
	o = compile(HEAD SCAN("256", "lt.u32") TAIL, shape(128)); /* what threads behind hold: upwards */
	assert_non_null(strstr(o.ir, "1 barriers dropped, 3 regions"));
	assert_null(strstr(o.ir, "downwards"));
	outcome_fini(&o);
	/* 64 threads before and, for half of them, behind: nobody may go first */
	o = compile(HEAD "xor.b32 %r8, %r2, 64;\nshl.b32 %r8, %r8, 2;\nmov.u32 %r9, s;\nadd.u32 %r8, %r9, %r8;\n"
			 "ld.global.u32 %r5, [%rd4];\nst.shared.u32 [%r4], %r5;\nbar.sync 0;\nld.shared.u32 %r6, [%r8];\nbar.sync 0;\n"
			 "ld.shared.u32 %r7, [%r4];\nadd.u32 %r7, %r7, %r6;\nst.shared.u32 [%r4], %r7;\n" TAIL, shape(256));
	assert_null(strstr(o.ir, "dropped"));
	outcome_fini(&o);
	/* anywhere, for all that is known */
	o = compile(HEAD "ld.global.u32 %r8, [%rd4];\nand.b32 %r8, %r8, 1020;\nmov.u32 %r9, s;\nadd.u32 %r8, %r9, %r8;\n"
			 "st.shared.u32 [%r4], %r2;\nbar.sync 0;\nld.shared.u32 %r6, [%r8];\nbar.sync 0;\n"
			 "ld.shared.u32 %r7, [%r4];\nadd.u32 %r7, %r7, %r6;\nst.shared.u32 [%r4], %r7;\n" TAIL, shape(256));
	assert_null(strstr(o.ir, "dropped"));
	outcome_fini(&o);
	/* and where the block's shape is not known */
	o = compile(HEAD SCAN("-256", "ge.u32") TAIL, shape(0));
	assert_null(strstr(o.ir, "dropped"));
	outcome_fini(&o);
}

/* Blocks in a row read memory in a row, and compute in between: each asks for what the next but one will read (src/codegen/prefetch.c). */
static void test_next_block_is_fetched(void **state)
{
	(void)state;
	static const char at[] = "mov.u32 %r8, %ctaid.x;\nshl.b32 %r8, %r8, 8;\nadd.s32 %r8, %r8, %r2;\nmul.wide.s32 %rd6, %r8, 4;\nadd.s64 %rd4, %rd1, %rd6;\n";
	char text[4000];
	snprintf(text, sizeof text, "%s%s%s", HEAD, at, SCAN("-256", "ge.u32") TAIL);
	struct outcome o = compile(text, shape(256));
	assert_int_equal(count(o.llvm, "call void @llvm.prefetch"), 2); /* a warp's two lines */
	outcome_fini(&o);
	o = compile(text, shape(128)); /* its blocks are not side by side */
	assert_int_equal(count(o.llvm, "call void @llvm.prefetch"), 0);
	outcome_fini(&o);
	/* and for the lines that it will write itself, whose addresses it makes only behind the last barrier */
	snprintf(text, sizeof text, "%s%s%s", HEAD, at, SCAN("-256", "ge.u32") "add.s64 %rd7, %rd2, %rd6;\nst.global.u32 [%rd7], %r5;\n" TAIL);
	o = compile(text, shape(256));
	assert_int_equal(count(o.llvm, "call void @llvm.prefetch"), 4);
	assert_int_equal(count(o.llvm, ", i32 1, i32 3, i32 1)"), 2);
	outcome_fini(&o);
}

#define ROUND(number, distance, bytes)                                                                                     \
	"setp.lt.s32 %p1, %r2, " #distance ";\nmov.u32 %r5, 0;\n@%p1 bra few" #number ";\n"                               \
	"ld.shared.u32 %r5, [%r4+-" #bytes "];\nfew" #number ": bar.sync 0;\n"                                         \
	"ld.shared.u32 %r6, [%r4];\nadd.s32 %r6, %r6, %r5;\nst.shared.u32 [%r4], %r6;\nbar.sync 0;\n"

/* Rounds of a scan whose groups have code of their own hand vectors on in registers: each is loaded once, with the one before for
 * s[t - 1], and stored once; and one vector goes through its rounds before the next is loaded. */
static void test_rounds_in_registers(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD "ld.global.u32 %r5, [%rd4];\nst.shared.u32 [%r4], %r5;\nbar.sync 0;\n" ROUND(1, 1, 4) ROUND(2, 8, 32) ROUND(3, 64, 256)
				   "ld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd5], %r5;\n" TAIL, shape(256));
	const char *straight = strstr(o.llvm, "\nrun:"), *end = straight ? strstr(straight, "\n  br ") : NULL;
	assert_non_null(end);
	char *code = strndup(straight, (size_t)(end - straight)), *last = NULL;
	assert_int_equal(count(code, " = load <8 x i32>"), 32 + 31);
	assert_int_equal(count(code, "store <8 x i32>"), 32);
	for (char *at = code; (at = strstr(at, " = load <8 x i32>")); at++)
		last = at;
	assert_true(strstr(code, "store <8 x i32>") < last);
	free(code);
	outcome_fini(&o);
}

/* Threads that have left do not keep the others from being cut. */
/* A sum and an address that a loop carries around its barriers (src/codegen/homes.c). */
#define TILES(keep)                                                                                                     \
	"xor.b32 %r8, %r3, 512;\nmov.u32 %r9, s;\nadd.u32 %r8, %r9, %r8;\nmov.f32 %f1, 0f00000000;\nmov.u32 %r5, 0;\n"       \
	"again: ld.global.f32 %f2, [%rd4];\nst.shared.f32 [%r4], %f2;\nbar.sync 0;\nld.shared.f32 %f2, [%r8];\n"             \
	"add.f32 %f3, %f1, %f2;\nbar.sync 0;\n" keep                                                                        \
	"mov.f32 %f1, %f3;\nadd.s64 %rd4, %rd4, 4096;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, %r1;\n"                 \
	"@%p1 bra again;\nst.global.f32 [%rd5], %f1;\n"

static void test_carried_values(void **state)
{
	(void)state;
	/* the sum has one place, 32 floats, and its address has numbers for four vectors; nothing is copied from one to another: what is
	 * stored are a first zero, the tile, the sum, and the result */
	struct outcome o = compile(HEAD TILES("") TAIL, shape(256));
	assert_non_null(strstr(o.ir, "4 regions between barriers"));
	assert_int_equal(o.info.context_bytes, 192);
	assert_int_equal(count(o.llvm, "store <8 x "), 4 * 4);
	assert_int_equal(count(o.llvm, "store i64"), 1); /* before the loop, for a group; in it the block adds 4096 once */
	outcome_fini(&o);
	/* what it was is read behind the barrier where what it will be is there: two places */
	o = compile(HEAD TILES("st.shared.f32 [%r4], %f1;\n") TAIL, shape(256));
	assert_int_equal(o.info.context_bytes, 320);
	outcome_fini(&o);
}

static void test_early_exit(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD "setp.ge.u32 %p3, %r2, %r1;\n@%p3 bra gone;\n" TREE "gone: ret;\n}\n", shape(256));
	assert_int_equal(o.info.flags & KERNEL_SUSPENDS, 0);
	assert_int_equal(o.info.context_bytes, 128); /* the mask: 32 lanes of 4 bytes */
	outcome_fini(&o);
}

static void test_reduction(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD "setp.lt.u32 %p1, %r2, %r1;\nbar.red.popc.u32 %r5, 0, %p1;\nst.global.u32 [%rd5], %r5;\n" TAIL,
				   shape(256));
	assert_int_equal(o.info.flags & KERNEL_SUSPENDS, 0);
	outcome_fini(&o);
}

/* A block that is one group needs no barrier, and no regions. */
static void test_one_group(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD TREE TAIL, shape(32));
	assert_int_equal(o.info.flags & KERNEL_SUSPENDS, 0);
	assert_int_equal(o.info.context_bytes, 0);
	assert_non_null(strstr(o.ir, "barriers: one group"));
	outcome_fini(&o);
}

/* ---- blocks that are not --------------------------------------------------------------------------------------------- */

static void test_fibers(void **state)
{
	(void)state;
	static const char *const texts[] = {
		/* half of the block is at another barrier */
		HEAD "setp.lt.u32 %p1, %r2, 128;\n@%p1 bra low;\nbar.sync 0;\nbra end;\nlow: st.shared.u32 [%r4], %r2;\nbar.sync 0;\n"
		     "end: st.global.u32 [%rd5], %r2;\n" TAIL,
		/* not all threads meet */
		HEAD "bar.sync 1, 64;\nst.global.u32 [%rd5], %r2;\n" TAIL,
		HEAD "bar.arrive 1, 256;\nbar.sync 0;\nst.global.u32 [%rd5], %r2;\n" TAIL,
		/* how often depends on what a warp has voted */
		HEAD "setp.lt.u32 %p1, %r2, %r1;\nagain: bar.sync 0;\nvote.sync.any.pred %p2, %p1, -1;\n@%p2 bra again;\nbar.sync 0;\n"
		     "st.global.u32 [%rd5], %r2;\n" TAIL,
		/* a thread waits for another that comes later */
		HEAD "again: ld.volatile.shared.u32 %r5, [s];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra again;\nbar.sync 0;\n"
		     "st.global.u32 [%rd5], %r2;\n" TAIL,
	};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct outcome o = compile(texts[i], shape(256));
		if (!(o.info.flags & KERNEL_SUSPENDS) || o.info.context_bytes)
			fail_msg("kernel %zu does not wait on fibers:\n%s", i, o.ir);
		outcome_fini(&o);
	}
}

/* ---- masks ---------------------------------------------------------------------------------------------------------------- */

/* Behind an if all lanes are back: what follows needs no mask. Inside, an access has one only where not all lanes came. */
static void test_masks_end(void **state)
{
	(void)state;
	struct outcome o = compile(HEAD "setp.lt.u32 %p1, %r2, %r1;\n@!%p1 bra join;\nst.shared.u32 [%r4], %r2;\n"
					"join: ld.global.u32 %r5, [%rd4];\nst.global.u32 [%rd5], %r5;\nadd.s32 %r5, %r5, 1;\n"
					"st.global.u32 [%rd5+4096], %r5;\n" TAIL, shape(256));
	assert_int_equal(count(o.llvm, "call void @llvm.masked.store"), 0); /* lanes that are off write what is there */
	assert_int_equal(count(o.llvm, "= select <8 x i1>"), 1);             /* a vector of lanes: no barrier, no warp */
	assert_int_equal(count(o.llvm, "call <8 x i32> @llvm.masked.load"), 0);
	assert_true(count(o.llvm, "store <8 x i32>") >= 3);
	outcome_fini(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uniform_loop), cmocka_unit_test(test_context_is_small), cmocka_unit_test(test_carried_values), cmocka_unit_test(test_early_exit),
		cmocka_unit_test(test_reduction),    cmocka_unit_test(test_one_group),        cmocka_unit_test(test_fibers),
		cmocka_unit_test(test_masks_end),    cmocka_unit_test(test_indices_are_small),
		cmocka_unit_test(test_rounds_of_reductions), cmocka_unit_test(test_conditions_are_remade),
		cmocka_unit_test(test_sums_over_warps), cmocka_unit_test(test_constants_are_remade), cmocka_unit_test(test_dropped_barriers),
		cmocka_unit_test(test_next_block_is_fetched),
		cmocka_unit_test(test_rounds_in_registers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
