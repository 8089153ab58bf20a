/* What the compiler knows of lanes (src/ir/bits.c and others): each test says of a small kernel what must not cost anything in it. */
#include "dump.h"

/* ---- a thread's number in bits ---------------------------------------------------------------------------------------- */

#define BITS                                                                                                           \
	"and.b32 %r3, %r2, 31;\nshr.u32 %r4, %r2, 5;\nsetp.gt.s32 %p1, %r2, 63;\nsetp.lt.u32 %p2, %r2, 40;\nmul.lo.s32 %r5, %r2, 7;\n" \
	"st.global.u32 [%rd5], %r3;\nst.global.u32 [%rd5+4096], %r4;\n"                                                      \
	"selp.u32 %r6, 1, 2, %p1;\nselp.u32 %r7, 1, 2, %p2;\nst.global.u32 [%rd5+8192], %r6;\nst.global.u32 [%rd5+12288], %r7;\n"

static void test_lane_and_warp(void **state)
{
	(void)state;
	char *ir = dump(HEAD BITS TAIL, shape(256, 1, 32), "ir");
	assert_line(ir, "= and.b32", "affine 1 all over [0, 31]");
	assert_line(ir, "= shr.u32", "once; uniform [0, 7]");
	assert_line(ir, "= setp.gt.s32", "once; uniform");
	assert_line(ir, "= setp.lt.u32", "lanes; affine 0"); /* 40 is a chunk's bound, no warp's */
	free(ir);
	/* eight lanes together */
	ir = dump(HEAD BITS TAIL, shape(256, 1, 8), "ir");
	assert_line(ir, "= and.b32", "affine 1 all over [0, 31]");
	assert_line(ir, "= shr.u32", "once; uniform [0, 7]");
	assert_line(ir, "= setp.lt.u32", "once; uniform");
	free(ir);
	/* two rows to a warp: so in each of its chunks */
	ir = dump(HEAD "and.b32 %r3, %r2, 7;\nshr.u32 %r4, %r2, 3;\nshr.u32 %r5, %r2, 2;\nst.global.u32 [%rd5], %r3;\n"
		       "st.global.u32 [%rd5+4096], %r4;\nst.global.u32 [%rd5+8192], %r5;\n" TAIL, shape(16, 16, 32), "ir");
	assert_line(ir, "= and.b32", "affine 1 [0, 7]");
	assert_line(ir, "= shr.u32", "affine 0 [0, 1]");
	free(ir);
}

/* An index that goes on by whole blocks still begins with a multiple; one that goes on by 33 does not. */
#define STEPS(BY)                                                                                                      \
	"mov.u32 %r5, 0;\nagain: and.b32 %r3, %r2, 31;\nst.global.u32 [%rd5], %r3;\nadd.s32 %r2, %r2, " BY ";\n"               \
	"add.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, %r1;\n@%p1 bra again;\n"

static void test_zeros_in_loops(void **state)
{
	(void)state;
	char *ir = dump(HEAD STEPS("256") TAIL, shape(256, 1, 32), "ir");
	assert_line(ir, "= and.b32", "affine 1 all over [0, 31]");
	free(ir);
	ir = dump(HEAD STEPS("33") TAIL, shape(256, 1, 32), "ir");
	assert_line(ir, "= and.b32", "varying");
	free(ir);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------------ */

/* A row by blocks, as nvcc counts its rounds: four at a time after what is left over. All lanes have as many, and i / 32 is one warp's. */
static void test_rows(void **state)
{
	(void)state;
	char *ir = dump(HEAD "add.s32 %r3, %r2, 256;\nmax.s32 %r3, %r3, 1024;\nadd.s32 %r3, %r3, -1;\nsub.s32 %r4, %r3, %r2;\nshr.u32 %r5, %r4, 8;\n"
			     "mov.u32 %r6, %r2;\nagain: shr.s32 %r7, %r6, 31;\nshr.u32 %r7, %r7, 27;\nadd.s32 %r7, %r6, %r7;\nshr.s32 %r8, %r7, 5;\n"
			     "mul.wide.s32 %rd6, %r8, 4;\nadd.s64 %rd6, %rd1, %rd6;\nld.global.f32 %f1, [%rd6];\nst.global.f32 [%rd5], %f1;\n"
			     "add.s32 %r9, %r6, 256;\nsetp.lt.s32 %p1, %r6, 768;\nmov.u32 %r6, %r9;\n@%p1 bra again;\n"
			     "st.global.u32 [%rd5], %r5;\n" TAIL,
			shape(256, 1, 32), "ir");
	assert_line(ir, "= max.s32", "uniform [1024, 1024]");
	assert_line(ir, "= shr.u32", "uniform [3, 3]"); /* 1023 - t, by 256 */
	assert_line(ir, "= phi", "affine 1 all over [0, 1023]");
	assert_line(ir, "= shr.s32", "uniform [0, 0]"); /* the sign */
	assert_line(ir, "= mul.wide.s32", "once; uniform [0, 124]");
	assert_line(ir, "= ld.global.f32", "once; uniform");
	assert_null(strstr(ir, "; divergent"));
	free(ir);
	/* a bound that may let the counter come round tells nothing */
	ir = dump(HEAD "mov.u32 %r6, %r2;\nagain: st.global.u32 [%rd5], %r6;\nadd.s32 %r6, %r6, 256;\nsetp.lt.s32 %p1, %r6, %r1;\n@%p1 bra again;\n" TAIL,
		  shape(256, 1, 32), "ir");
	assert_line(ir, "= phi", "affine 1 all over\n");
	free(ir);
}

/* Bits side by side: a sum of the group's and the lanes'. */
static void test_joined_bits(void **state)
{
	(void)state;
	char *ir = dump(HEAD "and.b32 %r3, %r2, 31;\nshl.b32 %r4, %r1, 5;\nor.b32 %r5, %r4, %r3;\ncvt.s64.s32 %rd6, %r5;\nst.global.u64 [%rd5], %rd6;\n" TAIL,
			shape(256, 1, 32), "ir");
	assert_line(ir, "= or.b32", "affine 1 all over");
	assert_line(ir, "= cvt.s64.s32", "affine 1 all over  :"); /* a number too, as no lane has wrapped */
	free(ir);
	ir = dump(HEAD "and.b32 %r3, %r2, 31;\nshl.b32 %r4, %r1, 4;\nor.b32 %r5, %r4, %r3;\nst.global.u32 [%rd5], %r5;\n" TAIL, shape(256, 1, 32), "ir");
	assert_line(ir, "= or.b32", "affine 1  :"); /* in chunks: a bit of the group's may be one of the lanes' */
	free(ir);
}

/* ---- warps ------------------------------------------------------------------------------------------------------------ */

#define DOWN(BY) "mov.b32 %r4, %f1;\nshfl.sync.down.b32 %r5|%p2, %r4, " BY ", 31, -1;\nmov.b32 %f2, %r5;\nadd.f32 %f1, %f1, %f2;\n"

/* Lane 0 stores a warp's sum: one store, in no loop over lanes; of the sums only what it needs, and no NaN made canonical but its own. */
static void test_warp_sum(void **state)
{
	(void)state;
	char *llvm = dump(HEAD "ld.global.f32 %f1, [%rd4];\n" DOWN("16") DOWN("8") DOWN("4") DOWN("2") DOWN("1")
			       "and.b32 %r3, %r2, 31;\nsetp.ne.s32 %p1, %r3, 0;\n@%p1 bra out;\nst.global.f32 [%rd5], %f1;\nout: " TAIL,
			  shape(256, 1, 32), "llvm");
	assert_in_range(count(llvm, "fadd <8 x float>"), 1, 12); /* 20 where every lane's sum is made */
	assert_int_equal(count(llvm, "fcmp"), 1);
	assert_int_equal(count(llvm, "\n  store i32") + count(llvm, "\n  store float"), 1);
	assert_int_equal(count(llvm, "\n  store "), 1);
	assert_int_equal(count(llvm, "masked"), 0);
	free(llvm);
}

/* ---- several warps together ------------------------------------------------------------------------------------------------ */

/* c[row][column] = sum of a[row][k] b[k][column], 16 by 16 threads. */
#define MATRICES(MORE)                                                                                                 \
	"mov.u32 %r3, %tid.y;\nmov.u32 %r4, 0;\nmov.f32 %f1, 0f00000000;\nmul.wide.u32 %rd6, %r3, 64;\nadd.s64 %rd6, %rd1, %rd6;\n" \
	"again: mul.wide.u32 %rd7, %r4, 64;\nadd.s64 %rd7, %rd4, %rd7;\nmul.wide.u32 %rd8, %r4, 4;\nadd.s64 %rd8, %rd6, %rd8;\nld.global.f32 %f2, [%rd8];\nld.global.f32 %f3, [%rd7];\nfma.rn.f32 %f1, %f2, %f3, %f1;\n" MORE              \
	"add.s32 %r4, %r4, 1;\nsetp.lt.s32 %p1, %r4, %r1;\n@%p1 bra again;\n" \
	"st.global.f32 [%rd5], %f1;\n"

static void test_jam(void **state)
{
	(void)state;
	char *ir = dump(HEAD MATRICES("") TAIL, shape(16, 16, 0), "ir"), *llvm = dump(HEAD MATRICES("") TAIL, shape(16, 16, 0), "llvm");
	assert_line(ir, "kernel", "lanes 64, width 8");
	assert_int_equal(count(llvm, "call <8 x float> @llvm.fma"), 8);
	const char *loop = strstr(llvm, "\nblock2:"), *end = loop ? strstr(loop, "\n\n") : NULL;
	assert_non_null(end);
	char *body = strndup(loop, (size_t)(end - loop));
	assert_int_equal(count(body, "load <8 x float>"), 2); /* four rows share two vectors of b */
	assert_int_equal(count(body, "load float") + count(body, "load i32"), 4);
	free(body);
	free(ir);
	free(llvm);
	/* not where the warp shows, lanes part, or threads are no multiple of so many */
	ir = dump(HEAD MATRICES("mov.u32 %r5, %laneid;\nst.global.u32 [%rd5], %r5;\n") TAIL, shape(16, 16, 0), "ir");
	assert_null(strstr(ir, "lanes 64"));
	free(ir);
	ir = dump(HEAD MATRICES("setp.gt.u32 %p2, %r2, 3;\n@%p2 bra skip;\nst.global.u32 [%rd5], %r3;\nskip: ") TAIL, shape(16, 16, 0), "ir");
	assert_null(strstr(ir, "lanes 64"));
	free(ir);
	ir = dump(HEAD MATRICES("") TAIL, shape(16, 6, 0), "ir");
	assert_null(strstr(ir, "lanes 64"));
	free(ir);
}

/* ---- part of a warp ----------------------------------------------------------------------------------------------------- */

/* Sums over what the block has put into shared memory, two doubles of them a thread. */
#define SUMS(BEFORE)                                                                                                    \
	".reg .f64 %d<8>;\nmov.f64 %d1, 0d0000000000000000;\nmov.f64 %d2, %d1;\nmov.u32 %r5, 0;\nld.global.f64 %d3, [%rd4];\n"   \
	"mov.u32 %r8, s;\nshl.b32 %r9, %r2, 3;\nadd.s32 %r9, %r8, %r9;\nst.shared.f64 [%r9], %d3;\nbar.sync 0;\n" BEFORE         \
	"again: ld.shared.f64 %d4, [%r8];\nsub.f64 %d5, %d4, %d3;\nadd.f64 %d1, %d1, %d5;\nfma.rn.f64 %d2, %d5, %d5, %d2;\n"     \
	"add.s32 %r8, %r8, 8;\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, %r1;\n@%p1 bra again;\nadd.f64 %d1, %d1, %d2;\n"      \
	"st.global.f64 [%rd5], %d1;\n"

/* Floats: two are carried along, the others come from outside. */
#define FLOAT_SUMS(BEFORE, OTHERS)                                                                                      \
	".reg .f32 %g<20>;\nmov.f32 %g1, 0f00000000;\nmov.f32 %g2, %g1;\nmov.u32 %r5, 0;\nld.global.f32 %g3, [%rd4];\n"      \
	"mov.u32 %r8, s;\nshl.b32 %r9, %r2, 2;\nadd.s32 %r9, %r8, %r9;\nst.shared.f32 [%r9], %g3;\n" BEFORE "bar.sync 0;\n" \
	"again: ld.shared.f32 %g4, [%r8];\nsub.f32 %g5, %g4, %g3;\nadd.f32 %g1, %g1, %g5;\n" OTHERS                         \
	"fma.rn.f32 %g2, %g5, %g5, %g2;\nadd.s32 %r8, %r8, 4;\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, %r1;\n"           \
	"@%p1 bra again;\nadd.f32 %g1, %g1, %g2;\nst.global.f32 [%rd5], %g1;\n"
#define OTHER(N) "ld.global.nc.f32 %g" #N ", [%rd4+4*" #N "];\n"
#define ADD(N) "fma.rn.f32 %g5, %g5, %g" #N ", %g4;\n"

static void test_part_of_a_warp(void **state)
{
	static const struct {
		const char *text, *lanes;
	} rows[] = {
		{ HEAD FLOAT_SUMS(OTHER(6) OTHER(7), ADD(6) ADD(7)) TAIL, "lanes 8," },  /* 5 a lane, 20 registers of a warp */
		{ HEAD FLOAT_SUMS(OTHER(6), ADD(6)) TAIL, "lanes 32," },                 /* 16 */
		{ HEAD FLOAT_SUMS(OTHER(6) OTHER(7) OTHER(8) OTHER(9) OTHER(10) OTHER(11) OTHER(12) OTHER(13) OTHER(14) OTHER(15),
				  ADD(6) ADD(7) ADD(8) ADD(9) ADD(10) ADD(11) ADD(12) ADD(13) ADD(14) ADD(15)) TAIL, "lanes 32," }, /* 13, too many for a quarter */
		{ HEAD SUMS("") TAIL, "lanes 8," },
		/* read where others have written, or will write, with no barrier in between */
		{ HEAD SUMS("ld.shared.f64 %d6, [%r9];\nst.shared.f64 [%r9+8], %d6;\n") TAIL, "lanes 32," },
		{ HEAD SUMS("ld.global.f64 %d6, [%rd5];\nst.global.f64 [%rd5+8], %d6;\n") TAIL, "lanes 32," },
		{ HEAD SUMS("ld.f64 %d6, [%rd5];\n") TAIL, "lanes 32," },
		{ HEAD SUMS("st.shared.u32 [%r9], %r2;\nbar.sync 0;\n") TAIL, "lanes 8," },
		{ HEAD SUMS("ld.global.nc.f64 %d6, [%rd5];\nadd.f64 %d1, %d1, %d6;\n") TAIL, "lanes 8," },
		{ HEAD SUMS("shfl.sync.idx.b32 %r6, %r2, 0, 31, -1;\nst.global.u32 [%rd5+8], %r6;\n") TAIL, "lanes 32," },
		{ HEAD SUMS("red.global.add.u32 [%rd2], 1;\n") TAIL, "lanes 32," },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *ir = dump(rows[i].text, shape(128, 1, 0), "ir");
		if (!strstr(ir, rows[i].lanes))
			fail_msg("case %zu is not %s %.100s", i, rows[i].lanes, ir);
		free(ir);
	}
}

/* ---- blocks row by row ---------------------------------------------------------------------------------------------- */

/* A point of a picture, where blocks of BX x 8 threads are side by side. */
#define POINT(LAST, EXTRA)                                                                                             \
	"mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmad.lo.s32 %r3, %r3, %r4, %r2;\nmov.u32 %r4, %tid.y;\nmov.u32 %r5, %ctaid.y;\n" \
	"shl.b32 %r5, %r5, 3;\nadd.s32 %r4, %r4, %r5;\nmad.lo.s32 %r5, %r4, 2048, %r3;\nmul.wide.s32 %rd6, %r5, 4;\n"          \
	"add.s64 %rd7, %rd1, %rd6;\nadd.s64 %rd8, %rd2, %rd6;\nld.global.f32 %f1, [%rd7];\nadd.f32 %f1, %f1, %f1;\n" EXTRA      \
	"st.global.f32 [" LAST "], %f1;\n"

static void test_rows_of_blocks(void **state)
{
	(void)state;
	char *ir = dump(HEAD POINT("%rd8", "") TAIL, shape(32, 8, 0), "ir");
	assert_line(ir, "kernel", "rows of 32 across blocks");
	free(ir);
	/* several groups to a row, and two rows of a block to a group */
	ir = dump(HEAD POINT("%rd8", "") TAIL, shape(24, 8, 0), "ir");
	assert_line(ir, "kernel", "lanes 8, width 8, shared 0, local 0, rows of 24 across blocks");
	free(ir);
	ir = dump(HEAD POINT("%rd8", "") TAIL, shape(16, 8, 32), "ir");
	assert_line(ir, "kernel", "rows of 32 across blocks");
	free(ir);
	/* what a row agrees on is computed in front of its blocks: the loop over these knows nothing of %ctaid.y */
	char *llvm = dump(HEAD POINT("%rd8", "") TAIL, shape(32, 8, 32), "llvm");
	const char *loop = strstr(llvm, "\nblock_x:"), *end = loop ? strstr(loop, "\n\n") : NULL;
	assert_non_null(end);
	char *body = strndup(loop, (size_t)(end - loop));
	assert_int_equal(count(body, "load <8 x float>"), 4);
	assert_int_equal(count(body, "load i32"), 0);
	free(body);
	free(llvm);
	static const struct {
		const char *text;
		uint32_t x, y;
	} apart[] = {
		{ HEAD POINT("%rd8", "") TAIL, 256, 1 }, /* there is one row */
		{ HEAD POINT("%rd8", "") TAIL, 20, 8 },  /* groups of eight are not of one row, nor of several */
		{ HEAD POINT("%rd8", "st.shared.f32 [s], %f1;\n") TAIL, 32, 8 },
		{ HEAD POINT("%rd8", "cvta.shared.u64 %rd8, 0;\n") TAIL, 32, 8 },
		{ HEAD POINT("%rd8", "bar.sync 0;\n") TAIL, 32, 8 },
		{ HEAD POINT("%rd8", "red.global.add.u32 [%rd2], 1;\n") TAIL, 32, 8 },
		{ HEAD POINT("%rd8", "mov.u32 %r6, %warpid;\nst.global.u32 [%rd8+4], %r6;\n") TAIL, 32, 8 },
		/* down a column: the next row's threads are beside these */
		{ HEAD POINT("%rd9", "mad.lo.s32 %r6, %r3, 2048, %r4;\nmul.wide.s32 %rd9, %r6, 4;\nadd.s64 %rd9, %rd2, %rd9;\n") TAIL, 32, 8 },
		/* each goes where the number that it reads says */
		{ HEAD POINT("%rd9", "cvt.rzi.s32.f32 %r6, %f1;\nmul.wide.s32 %rd9, %r6, 4;\nadd.s64 %rd9, %rd2, %rd9;\n") TAIL, 32, 8 },
		/* rounds */
		{ HEAD "mov.u32 %r7, 0;\nagain: " POINT("%rd8", "add.s32 %r7, %r7, 1;\nsetp.lt.s32 %p1, %r7, %r1;\n") "@%p1 bra again;\n" TAIL, 32, 8 },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(apart); i++) {
		ir = dump(apart[i].text, shape(apart[i].x, apart[i].y, 0), "ir");
		if (strstr(ir, "across blocks"))
			fail_msg("case %zu: %.200s", i, ir);
		free(ir);
	}
}

/* ---- expf --------------------------------------------------------------------------------------------------------------- */

/* The rounding down in it is of a number from 0 to 1: no double is needed. */
static void test_rounded_down(void **state)
{
	(void)state;
	char *llvm = dump(HEAD "ld.global.f32 %f1, [%rd4];\ncvt.sat.f32.f32 %f2, %f1;\nfma.rm.f32 %f3, %f2, 0f437C0000, 0f4B400001;\n"
			       "st.global.f32 [%rd5], %f3;\n" TAIL, shape(256, 1, 8), "llvm");
	assert_int_equal(count(llvm, "double"), 0);
	assert_int_equal(count(llvm, "call <8 x float> @llvm.fma"), 2);
	free(llvm);
	llvm = dump(HEAD "ld.global.f32 %f1, [%rd4];\nfma.rm.f32 %f3, %f1, 0f437C0000, 0f4B400001;\nst.global.f32 [%rd5], %f3;\n" TAIL,
		    shape(256, 1, 8), "llvm");
	assert_in_range(count(llvm, "double"), 1, 1000);
	free(llvm);
}

/* ---- matrices --------------------------------------------------------------------------------------------------------- */

static char *dump_wmma(bool fast)
{
	struct compile_options options = shape(32, 1, 32);
	options.fast_products = fast;
	return dump(HEAD ".reg .b32 %a<8>, %b<8>;\n.reg .f32 %c<8>;\n.shared .align 32 .b8 m[1024];\n"
			 "mov.u32 %r3, m;\nmov.f32 %c0, 0f00000000;\n"
			 "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, [%r3];\n"
			 "wmma.load.b.sync.aligned.row.m16n16k16.shared.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, [%r3+512];\n"
			 "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7}, {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, "
			 "{%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, {%c0,%c0,%c0,%c0,%c0,%c0,%c0,%c0};\n"
			 "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7};\n" TAIL,
		    options, "llvm");
}

/* A product in vectors with its exact form behind it; matrices in rows of 16 bytes and of 32. */
static void test_wmma(void **state)
{
	(void)state;
	char *llvm = dump_wmma(false);
	assert_int_equal(count(llvm, "call void @mma.fast.16x16"), 1);
	assert_int_equal(count(llvm, "call void @mma.0.16x8x16"), 2); /* where its conditions fail: for both tiles */
	assert_int_equal(count(llvm, "load <8 x i16>") + count(llvm, "load <4 x i32>"), 2 * 4 * 8);
	assert_int_equal(count(llvm, "load i16") + count(llvm, "store float"), 0);
#if defined(__x86_64__) /* a sum becomes a float in one operation, where the processor rounds towards zero */
	assert_int_equal(count(llvm, "call void @llvm.x86.sse.ldmxcsr"), 2);
	assert_int_equal(count(llvm, "@llvm.abs"), 0);
#endif
	free(llvm);
}

/* Four rows of sixteen columns a round: a fused operation for each eight products, six loads for eight of them, and nothing else of the exact form. */
static void test_fast_wmma(void **state)
{
	(void)state;
	char *llvm = dump_wmma(true);
	assert_int_equal(count(llvm, "call void @mma.plain.16x16"), 1);
	assert_int_equal(count(llvm, "call <8 x float> @llvm.fma.v8f32"), 4 * 2 * 16);
	assert_int_equal(count(llvm, "@mma.0") + count(llvm, "fptosi"), 0);
	free(llvm);
}

/* What all lanes write and a lane that is singled out then reads, with nothing in between: a warp is one group, as programs expect. */
static void test_handed_over(void **state)
{
	(void)state;
	static const struct {
		const char *text, *lanes;
	} rows[] = {
		{ HEAD "st.global.u32 [%rd4], %r2;\nsetp.ne.s32 %p1, %r2, 0;\n@%p1 bra done;\nld.global.u32 %r3, [%rd1+124];\nst.global.u32 [%rd2], %r3;\ndone: " TAIL,
		  "lanes 32," },
		/* which lanes is for data to say */
		{ HEAD "ld.global.u32 %r3, [%rd4];\nst.global.u32 [%rd5], %r2;\nsetp.ne.s32 %p1, %r3, 0;\n@%p1 bra done;\nld.global.u32 %r3, [%rd4+124];\n"
		       "st.global.u32 [%rd5], %r3;\ndone: " TAIL, "lanes 8," },
		/* nothing is read then */
		{ HEAD "st.global.u32 [%rd4], %r2;\nsetp.ne.s32 %p1, %r2, 0;\n@%p1 bra done;\nst.global.u32 [%rd2], %r1;\ndone: " TAIL, "lanes 8," },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *ir = dump(rows[i].text, shape(256, 1, 0), "ir");
		assert_line(ir, "kernel k:", rows[i].lanes);
		free(ir);
	}
}

/* Threads' numbers over a grid without a bound, unsigned as many write them: blocks begin at multiples, so no lane is behind 2^32. */
static void test_unsigned_index(void **state)
{
	(void)state;
	struct compile_options options = shape(256, 1, 32);
	options.small_grid = false;
	static const char *const text[] = { HEAD "mov.u32 %r3, %ctaid.x;\nshl.b32 %r3, %r3, 8;\nadd.u32 %r3, %r3, %r2;\n",
					    HEAD "mad.lo.u32 %r3, %r1, 9, %r2;\n" };
	static const char rest[] = "mul.wide.u32 %rd6, %r3, 4;\nadd.s64 %rd6, %rd2, %rd6;\nst.global.u32 [%rd6], %r2;\n" TAIL;
	for (unsigned i = 0; i < 2; i++) {
		char whole[2000];
		snprintf(whole, sizeof whole, "%s%s", text[i], rest);
		char *ir = dump(whole, options, "ir");
		const char *index = strstr(strstr(ir, "= mul.wide.u32") + 1, "= mul.wide.u32"); /* behind the frame's */
		assert_line(index, "= mul.wide.u32", i ? "varying" : "affine 4 all over");
		free(ir);
	}
}

/* Places in shared memory that lanes have from data: two are one move out of a vector, a shift and a move (src/codegen/memory.c). */
static void test_scattered(void **state)
{
	(void)state;
	char *llvm = dump(HEAD "ld.global.u32 %r3, [%rd4];\nand.b32 %r4, %r3, 1020;\nmov.u32 %r5, s;\nadd.u32 %r5, %r5, %r4;\n"
			       "st.shared.u32 [%r5], %r3;\nld.shared.u32 %r6, [s+64];\nst.global.u32 [%rd5], %r6;\n" TAIL, shape(256, 1, 32), "llvm");
	assert_int_equal(count(llvm, "= lshr i64"), 16);
	assert_int_equal(count(llvm, "extractelement <8 x ptr>"), 0);
	free(llvm);
}

/* Of places that lanes have read side by side two are one word, read again; unless something was written since. */
#define COUNTED(BETWEEN) "ld.global.u32 %r3, [%rd4];\n" BETWEEN "shl.b32 %r4, %r3, 2;\nand.b32 %r4, %r4, 1020;\nmov.u32 %r5, s;\n" \
			 "add.u32 %r5, %r5, %r4;\natom.shared.add.u32 %r6, [%r5], 1;\nld.shared.u32 %r6, [s+64];\nst.global.u32 [%rd5], %r6;\n"

static void test_side_by_side(void **state)
{
	(void)state;
	char *llvm = dump(HEAD COUNTED("") TAIL, shape(256, 1, 32), "llvm");
	assert_int_equal(count(llvm, "%two"), 3 * 16); /* made, and each lane */
	assert_int_equal(count(llvm, "extractelement"), 0);
	free(llvm);
	llvm = dump(HEAD COUNTED("st.global.u32 [%rd5], %r2;\n") TAIL, shape(256, 1, 32), "llvm");
	assert_int_equal(count(llvm, "%two"), 0);
	free(llvm);
}

static void test_counted_bits(void **state)
{
	(void)state;
#ifdef __x86_64__
	struct compile_options options = shape(256, 1, 32);
	options.cpu = "x86-64-v3";
	options.features = "+avx2,+popcnt";
	char *llvm = dump(HEAD "ld.global.u32 %r3, [%rd4];\npopc.b32 %r3, %r3;\nst.global.u32 [%rd5], %r3;\n" TAIL, options, "llvm");
	assert_int_equal(count(llvm, "call <8 x i32> @llvm.x86.avx2.pmadd.wd"), 4);
	free(llvm);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lane_and_warp), cmocka_unit_test(test_zeros_in_loops), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_joined_bits), cmocka_unit_test(test_warp_sum), cmocka_unit_test(test_rounded_down), cmocka_unit_test(test_jam),
		cmocka_unit_test(test_wmma), cmocka_unit_test(test_fast_wmma),
		cmocka_unit_test(test_handed_over), cmocka_unit_test(test_unsigned_index), cmocka_unit_test(test_scattered), cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_counted_bits),
		cmocka_unit_test(test_rows_of_blocks), cmocka_unit_test(test_part_of_a_warp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
