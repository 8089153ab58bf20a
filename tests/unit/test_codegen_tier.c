/* Which kernels come in a quick form first, and what there is once that may not be there for each instruction. */
#include "dump.h"

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

static bool comes_quick(unsigned rounds, struct compile_options options, struct kernel_info *info)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct compile_result result;
	char *text = long_kernel(rounds);
	struct ptx_module *module = ptx_parse(text, strlen(text), "k.ptx", &diagnostic);
	assert_non_null(module);
	assert_true(dragoman_compiler()->compile(module, ptx_find_entry(module, "k"), &options, &result, &diagnostic));
	bool quick = result.quick;
	*info = result.info;
	compile_result_fini(&result);
	ptx_destroy(module);
	free(text);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_kernels_come_quick),
		cmocka_unit_test(products_share_their_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
