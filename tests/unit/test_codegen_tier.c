/* Which kernels come in a quick form first, how little of it there is, and what there is once that may not be there for each instruction. */
#include "dump.h"

#include "ir/ir.h"

#define BEGIN_KERNEL                                                                                                   \
	".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"                       \
	".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<5>;\n"                                                        \
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n"        \
	"ld.global.f32 %f1, [%rd3]; mov.b32 %r2, %f1;\n"

/* A kernel of about 3 × `rounds` instructions, which nothing makes fewer. */
static char *long_kernel(unsigned rounds)
{
	struct text text = { 0 };
	text_printf(&text, "%s", BEGIN_KERNEL);
	for (unsigned i = 0; i < rounds; i++)
		text_printf(&text, "fma.rn.f32 %%f1, %%f1, %%f1, %%f1; st.global.f32 [%%rd3], %%f1; ld.global.f32 %%f1, [%%rd3+%u];\n", 4 * i);
	text_printf(&text, "st.global.f32 [%%rd3], %%f1;\nret;\n}\n");
	return text.data;
}

static struct ptx_module *parse_long_kernel(unsigned rounds)
{
	struct ptx_diagnostic diagnostic = { 0 };
	char *text = long_kernel(rounds);
	struct ptx_module *module = ptx_parse(text, strlen(text), "k.ptx", &diagnostic);
	assert_non_null(module);
	free(text);
	return module;
}

static bool comes_quick(unsigned rounds, struct compile_options options, struct kernel_info *info)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct compile_result result;
	struct ptx_module *module = parse_long_kernel(rounds);
	assert_true(dragoman_compiler()->compile(module, ptx_find_entry(module, "k"), &options, &result, &diagnostic));
	bool quick = result.quick;
	*info = result.info;
	compile_result_fini(&result);
	ptx_destroy(module);
	return quick;
}

static void large_kernels_come_quick(void **state)
{
	struct compile_options options = shape(256, 1, 0);
	struct kernel_info info, quick;
	(void)state;
	assert_false(comes_quick(400, options, &info));
	options.may_be_quick = true;
	assert_false(comes_quick(50, options, &quick));
	assert_true(comes_quick(400, options, &quick));
	/* The same for launches, and what warps do in step stays so. */
	assert_int_equal(quick.lanes, info.lanes);
	assert_int_equal(quick.shared_bytes, info.shared_bytes);
	assert_int_equal(quick.flags, info.flags);
	options.opt_level = 0;
	assert_false(comes_quick(400, options, &quick));
}

/* What the IR is for: a kernel that takes long has none of what the full form does to it. */
static uint8_t level_of_ir(unsigned rounds, struct compile_options options)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct arena arena;
	struct ptx_module *module = parse_long_kernel(rounds);
	arena_init(&arena);
	struct ir_func *func = ir_build(&arena, module, ptx_find_entry(module, "k"), &options, &diagnostic);
	assert_non_null(func);
	uint8_t level = func->options.opt_level;
	ir_destroy(func);
	arena_fini(&arena);
	ptx_destroy(module);
	return level;
}

static void quick_forms_are_decided_early(void **state)
{
	struct compile_options options = shape(256, 1, 0);
	(void)state;
	assert_int_equal(level_of_ir(400, options), 2);
	options.may_be_quick = true;
	assert_int_equal(level_of_ir(400, options), 1);
	assert_int_equal(level_of_ir(50, options), 2);
}

/* Matrix products: the second needs no memory of its own for its fragments, and the exchanges of the scalar form are calls of one function. */
static void products_share_their_memory(void **state)
{
#define PRODUCT "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r2, %r2}, {%r2}, {%f1, %f1, %f1, %f1};\n"
#define END     "st.global.f32 [%rd3], %f1;\nret;\n}\n"
	(void)state;
	for (uint8_t lanes = 1; lanes <= 32; lanes += 31) {
		char *one = dump(BEGIN_KERNEL PRODUCT END, shape(256, 1, lanes), "llvm");
		char *three = dump(BEGIN_KERNEL PRODUCT PRODUCT PRODUCT END, shape(256, 1, lanes), "llvm");
		assert_true(count(one, "alloca ") > 0);
		assert_int_equal(count(three, "alloca "), count(one, "alloca "));
		assert_int_equal(count(one, "call void @exchange.32"), lanes == 1 ? 7 : 0);
		assert_int_equal(count(three, "call void @exchange.32"), lanes == 1 ? 21 : 0);
		free(one);
		free(three);
	}
}

static struct compile_options quick_shape(uint32_t x)
{
	struct compile_options options = shape(x, 1, 0);
	options.opt_level = 1;
	return options;
}

#define NEXT_WARP "add.s32 %r5, %r3, 128;\n" /* where a thread of the next warp has something; within 1024 bytes for 128 threads */
#define KERNEL    HEAD "mov.u32 %r9, s;\nshl.b32 %r4, %r2, 2;\nadd.s32 %r3, %r9, %r4;\n" NEXT_WARP

/* Between barriers a group is a vector, and not a warp, where no lane gets anything from a lane of another vector: a quarter of the code. */
static void quick_groups_are_vectors(void **state)
{
#define FILL    "ld.global.u32 %r6, [%rd4];\nst.shared.u32 [%r3], %r6;\nbar.sync 0;\n"
#define ADDRESS "and.b32 %r8, %r6, 31;\nshl.b32 %r8, %r8, 2;\nadd.s32 %r8, %r9, %r8;\n" /* anywhere */
	static const struct {
		const char *text, *lanes;
	} kernels[] = {
		{ KERNEL FILL "ld.shared.u32 %r7, [%r5];\nst.global.u32 [%rd5], %r7;\n" TAIL, "lanes 8," },
		/* what it has written itself, and its neighbour in the vector */
		{ KERNEL FILL "st.shared.u32 [%r3], %r1;\nxor.b32 %r8, %r4, 16;\nadd.s32 %r8, %r9, %r8;\nld.shared.u32 %r7, [%r8];\n"
		  "st.global.u32 [%rd5], %r7;\n" TAIL, "lanes 8," },
		/* and eight lanes further; or where nobody knows */
		{ KERNEL FILL "st.shared.u32 [%r3], %r1;\nxor.b32 %r8, %r4, 32;\nadd.s32 %r8, %r9, %r8;\nld.shared.u32 %r7, [%r8];\n"
		  "st.global.u32 [%rd5], %r7;\n" TAIL, "lanes 32," },
		{ KERNEL FILL ADDRESS "st.shared.u32 [%r3], %r1;\nld.shared.u32 %r7, [%r8];\nst.global.u32 [%rd5], %r7;\n" TAIL, "lanes 32," },
		{ KERNEL FILL ADDRESS "ld.shared.u32 %r7, [%r8];\nbar.sync 0;\nst.shared.u32 [%r3], %r7;\n" TAIL, "lanes 8," },
		{ KERNEL FILL ADDRESS "ld.shared.u32 %r7, [%r8];\nst.shared.u32 [%r3], %r7;\n" TAIL, "lanes 32," },
		/* another parameter's memory is another memory, whatever the index; the same one's is not */
		{ KERNEL FILL "ld.global.u32 %r7, [%rd4+64];\nst.global.u32 [%rd5], %r7;\n" TAIL, "lanes 8," },
		{ KERNEL FILL "ld.global.u32 %r7, [%rd4+64];\nst.global.u32 [%rd4], %r7;\n" TAIL, "lanes 32," },
		{ KERNEL FILL "ld.global.u64 %rd6, [%rd1];\nld.global.u32 %r7, [%rd6];\nst.global.u32 [%rd5], %r7;\n" TAIL, "lanes 32," },
		/* a pointer that a loop carries on */
		{ KERNEL FILL "mov.u64 %rd6, %rd4;\nloop: ld.global.u32 %r7, [%rd6];\nst.global.u32 [%rd5], %r7;\nadd.s64 %rd6, %rd6, 1024;\n"
		  "sub.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra loop;\n" TAIL, "lanes 8," },
		{ KERNEL FILL "mov.u64 %rd6, %rd4;\nloop: ld.global.u32 %r7, [%rd6];\nst.global.u32 [%rd5], %r7;\nadd.s64 %rd6, %rd5, 1024;\n"
		  "sub.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra loop;\n" TAIL, "lanes 32," },
		/* counters in shared memory, read behind a barrier and not */
		{ KERNEL FILL ADDRESS "bar.sync 0;\nred.shared.add.u32 [%r8], 1;\nbar.sync 0;\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd5], %r7;\n" TAIL, "lanes 8," },
		{ KERNEL FILL ADDRESS "bar.sync 0;\nred.shared.add.u32 [%r8], 1;\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd5], %r7;\n" TAIL, "lanes 32," },
		/* warps that show */
		{ KERNEL FILL "shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;\nst.global.u32 [%rd5], %r7;\n" TAIL, "lanes 32," },
		{ KERNEL FILL "mov.u32 %r7, %laneid;\nst.global.u32 [%rd5], %r7;\n" TAIL, "lanes 32," },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(kernels); i++) {
		char *ir = dump(kernels[i].text, quick_shape(128), "ir");
		if (!strstr(ir, kernels[i].lanes))
			fail_msg("kernel %zu: not %s\n%s", i, kernels[i].lanes, ir);
		free(ir);
	}
}

/* Loads and stores of whole matrices: a call a register, of three functions. */
static void quick_matrices_are_called(void **state)
{
#define REGISTERS "{%r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18}"
#define MATRICES  "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 " REGISTERS ", [s], %r1;\nwmma.load.b.sync.aligned.row.m16n16k16.shared.f16 " REGISTERS ", [s], %r1;\n" \
		  "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1}, %r1;\n"
	(void)state;
	char *code = dump(HEAD MATRICES MATRICES TAIL, quick_shape(128), "llvm");
	assert_int_equal(count(code, "call void @matrix.rows"), 2 * 4);
	assert_int_equal(count(code, "call void @matrix.columns"), 2 * 4);
	assert_int_equal(count(code, "call void @matrix.pairs"), 2 * 4);
	const char *kernel = strstr(code, "@kernel(");
	assert_non_null(kernel);
	const char *end = strstr(kernel, "\n}");
	for (const char *at = strstr(kernel, "shufflevector <8 x i16>"); at; at = strstr(at + 1, "shufflevector <8 x i16>"))
		assert_true(at > end);
	free(code);
}

/* Instructions of LLVM's that the quick form is made of: what compiling takes goes by their number. */
static unsigned size_of(const char *text, uint32_t threads)
{
	char *code = dump(text, quick_shape(threads), "llvm");
	unsigned size = count(code, "\n  ");
	free(code);
	return size;
}

/* How often the bits of a vector's mask are asked for as such. */
static unsigned bits_of(const char *text, uint32_t threads)
{
	char *code = dump(text, quick_shape(threads), "llvm");
	unsigned bits = count(code, "bitcast <8 x i1>") + count(code, "shufflevector <8 x i1>") + count(code, "sext <8 x i32>");
	free(code);
	return bits;
}

/* `rounds` rounds of a sort that exchanges with the thread 16 further, of a kernel with no other code. */
static unsigned of_sort(unsigned rounds, unsigned (*measure)(const char *text, uint32_t threads))
{
	struct text text = { 0 };
	text_printf(&text, "%s", KERNEL "xor.b32 %r10, %r2, 16;\nsetp.lt.s32 %p1, %r10, %r2;\nshl.b32 %r10, %r10, 2;\nadd.s32 %r10, %r9, %r10;\n");
	for (unsigned i = 0; i < rounds; i++)
		text_printf(&text, "@%%p1 bra skip%u;\nld.shared.u32 %%r11, [%%r3];\nld.shared.u32 %%r12, [%%r10];\nsetp.le.s32 %%p2, %%r11, %%r12;\n"
			    "@%%p2 bra skip%u;\nst.shared.u32 [%%r3], %%r12;\nst.shared.u32 [%%r10], %%r11;\nskip%u: bar.sync 0;\n", i, i, i);
	text_printf(&text, "%s", TAIL);
	unsigned result = measure(text.data, 256);
	text_fini(&text);
	return result;
}

static bool has_avx2(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

static bool has_avx512(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx512vl");
#else
	return false;
#endif
}

/* Elements of lanes that are not side by side: a call for the lane's eight bytes together, which no other thread may see half of. */
static void quick_pairs_are_called(void **state)
{
	(void)state;
	char *code = dump(KERNEL "mad.lo.s32 %r13, %r2, 24, 0;\ncvt.u64.u32 %rd6, %r13;\nadd.s64 %rd7, %rd1, %rd6;\nadd.s64 %rd8, %rd2, %rd6;\n"
			  "ld.global.v2.f32 {%f1, %f2}, [%rd7];\nst.global.v2.f32 [%rd8], {%f2, %f1};\n"
			  "ld.global.v2.f32 {%f1, %f2}, [%rd7+8];\nst.global.v2.f32 [%rd8+8], {%f2, %f1};\n" TAIL, quick_shape(256), "llvm");
	assert_int_equal(count(code, "call <8 x i64> @load.strided.8.8("), 2);
	assert_int_equal(count(code, "call void @store.strided.8.8("), 2);
	free(code);
}

/* A condition that is the same for the warp joins masks as full lanes, and is never one of eight bits. */
static void uniform_masks_are_lanes(void **state)
{
	(void)state;
	char *code = dump(HEAD "ld.global.u32 %r3, [%rd4];\nsetp.eq.u32 %p1, %r1, 3;\nsetp.lt.s32 %p2, %r3, %r2;\n@%p2 bra skip;\nst.global.u32 [%rd5], %r2;\n"
			  "skip: xor.pred %p3, %p1, %p2;\n@%p3 st.global.u32 [%rd5+4096], %r3;\n" TAIL, quick_shape(256), "llvm");
	if (has_avx2() && !has_avx512()) {
		assert_true(count(code, "sext i1 ") > 0);
		assert_int_equal(count(code, "insertelement <8 x i1>"), 0);
	}
	free(code);
}

static void quick_form_is_small(void **state)
{
	char columns[4000] = KERNEL "mad.lo.s32 %r13, %r2, 68, 0;\ncvt.u64.u32 %rd6, %r13;\nadd.s64 %rd7, %rd1, %rd6;\nadd.s64 %rd8, %rd2, %rd6;\n";
	(void)state;
	/* A round: 8 instructions of PTX, of one vector. (With a warp a group they were four times as many, and stores there twice more still.) */
	unsigned few = of_sort(8, size_of), many = of_sort(40, size_of);
	if (many - few > 32 * 45)
		fail_msg("a round of a sort is %u instructions", (many - few) / 32);
	/* Masks are lanes, whose signs the machine tells: of bits LLVM makes a dozen instructions, and takes ten times as long for it. */
	if (has_avx2())
		assert_int_equal(of_sort(8, bits_of), 0);
	/* Lanes that are not side by side: a call. */
	unsigned before = size_of(strcat(columns, TAIL), 256);
	columns[strlen(columns) - strlen(TAIL)] = 0;
	for (unsigned i = 0; i < 16; i++)
		snprintf(columns + strlen(columns), sizeof columns - strlen(columns), "ld.global.f32 %%f1, [%%rd7+%u];\nst.global.f32 [%%rd8+%u], %%f1;\n", 4 * i, 4 * i);
	strcat(columns, TAIL);
	unsigned after = size_of(columns, 256);
	if (after - before > 16 * 8 + 130) /* and the two functions */
		fail_msg("a load and a store of columns are %u instructions", (after - before) / 16);
	/* Rounds of a sum, of which the full form has code for each group. */
	unsigned sum = size_of(KERNEL "setp.lt.u32 %p1, %r2, 8;\n@!%p1 bra skip;\nld.shared.u32 %r7, [%r3+32];\nld.shared.u32 %r8, [%r3];\nadd.s32 %r7, %r7, %r8;\n"
			       "st.shared.u32 [%r3], %r7;\nskip: bar.sync 0;\nld.shared.u32 %r7, [s];\nst.global.u32 [%rd5], %r7;\n" TAIL, 256);
	if (sum > 60)
		fail_msg("a round of a sum is %u instructions", sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_kernels_come_quick),
		cmocka_unit_test(quick_forms_are_decided_early),
		cmocka_unit_test(products_share_their_memory),
		cmocka_unit_test(quick_groups_are_vectors),
		cmocka_unit_test(quick_matrices_are_called),
		cmocka_unit_test(quick_pairs_are_called),
		cmocka_unit_test(uniform_masks_are_lanes),
		cmocka_unit_test(quick_form_is_small),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
