/* Samplers of their own (.texmode_independent): how a texture is read is said by a .samplerref variable of the module and not by the
 * texture. Expectations: PTX ISA 5.3 (fields of a .samplerref) and CUDA C++ Programming Guide, "Texture Fetching", by hand. */
#include <cuda.h>

#include "check.h"
#include "context.h"

#define FETCH(sampler, at)                                                                                             \
	"  tex.1d.v4.f32.f32 {%a, %b, %c, %d}, [pixels, " sampler ", {%x}]; st.global.f32 [%o+" #at "], %a;\n"
#define ASK(what, sampler, at) "  txq." what ".b32 %n, [" sampler "]; st.global.u32 [%o+" #at "], %n;\n"

static const char ptx[] =
	".version 5.0\n.target sm_50, texmode_independent\n.address_size 64\n"
	".visible .global .texref pixels;\n"
	".global .samplerref edge = { addr_mode_0 = clamp_to_edge, filter_mode = nearest, force_unnormalized_coords = 1 };\n"
	".global .samplerref border = { addr_mode_0 = clamp_to_border, filter_mode = linear, force_unnormalized_coords = 1 };\n"
	".global .samplerref repeat = { addr_mode_0 = wrap, addr_mode_1 = mirror, filter_mode = nearest };\n"
	".global .samplerref mirrored = { addr_mode_0 = mirror };\n"
	".visible .entry sample(.param .u64 in, .param .u64 out) {\n"
	"  .reg .b64 %i, %o, %t; .reg .f32 %x, %a, %b, %c, %d; .reg .b32 %n;\n"
	"  ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %n, %tid.x; mul.wide.u32 %t, %n, 4; add.u64 %i, %i, %t; shl.b64 %t, %t, 2;\n"
	"  add.u64 %o, %o, %t; ld.global.f32 %x, [%i];\n"
	FETCH("edge", 0) FETCH("border", 4) FETCH("repeat", 8) FETCH("mirrored", 12) "  ret; }\n"
	".visible .entry ask(.param .u64 out) {\n"
	"  .reg .b64 %o; .reg .b32 %n; ld.param.u64 %o, [out];\n"
	ASK("filter_mode", "edge", 0) ASK("filter_mode", "border", 4) ASK("addr_mode_0", "edge", 8) ASK("addr_mode_1", "repeat", 12)
	ASK("force_unnormalized_coords", "border", 16) ASK("force_unnormalized_coords", "mirrored", 20) "  ret; }\n"
	".visible .entry given(.param .samplerref s, .param .u64 out) {\n"
	"  .reg .b64 %o; .reg .f32 %x, %a, %b, %c, %d; ld.param.u64 %o, [out]; mov.f32 %x, 0f00000000;\n" FETCH("s", 0) "  ret; }\n";

static CUmodule module;
static CUdeviceptr in, out;

static void bind(void)
{
	static const float texels[] = {10, 20, 40, 80};
	CUDA_ARRAY_DESCRIPTOR shape = {4, 0, CU_AD_FORMAT_FLOAT, 1};
	CUtexref reference;
	CUarray array;

	CHECK_OK(cuArrayCreate(&array, &shape));
	CHECK_OK(cuMemcpyHtoA(array, 0, texels, sizeof texels));
	CHECK_OK(cuModuleGetTexRef(&reference, module, "pixels"));
	CHECK_OK(cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES));
	CHECK_OK(cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT));
}

static void test_fetches(void)
{
	/* x, and what is there: by edge and border in texels, by the others in widths of the texture */
	static const float cases[][5] = {
		{0.5f, 10, 10, 40, 40}, {0, 10, 5, 10, 10}, {-1, 10, 0, 10, 80}, {1, 20, 15, 10, 80}, {2.25f, 40, 35, 20, 20}, {4, 80, 40, 10, 10},
		{9, 80, 0, 10, 80}, {1.3125f, 20, 18.125f, 20, 40}, {-0.125f, 10, 3.75f, 80, 10},
	};
	enum { CASES = sizeof cases / sizeof *cases };
	float x[CASES], results[CASES][4];
	void *parameters[] = {&in, &out};
	CUfunction function = NULL;

	for (int i = 0; i < CASES; i++)
		x[i] = cases[i][0];
	CHECK_OK(cuModuleGetFunction(&function, module, "sample"));
	CHECK_OK(cuMemcpyHtoD(in, x, sizeof x));
	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, CASES, 1, 1, 0, NULL, parameters, NULL));
	CHECK_OK(cuMemcpyDtoH(results, out, sizeof results));
	for (int i = 0; i < CASES; i++)
		for (int s = 0; s < 4; s++)
			if (results[i][s] != cases[i][1 + s]) {
				fprintf(stderr, "sampler %d at %g: %g, not %g\n", s, cases[i][0], results[i][s], cases[i][1 + s]);
				check_failures++;
			}
}

static void test_questions(void)
{
	static const unsigned expected[] = {CU_TR_FILTER_MODE_POINT, CU_TR_FILTER_MODE_LINEAR, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_MIRROR, 1, 0};
	unsigned answers[6];
	void *parameters[] = {&out};
	CUfunction function = NULL;

	CHECK_OK(cuModuleGetFunction(&function, module, "ask"));
	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	CHECK_OK(cuMemcpyDtoH(answers, out, sizeof answers));
	for (int i = 0; i < 6; i++)
		CHECK_INT(answers[i], expected[i]);
}

/* A sampler as a parameter: no call of the driver's sets one, so that kernel alone is refused. */
static void test_refused(void)
{
	CUdeviceptr nothing = 0;
	void *parameters[] = {&nothing, &out};
	CUfunction function = NULL;

	CHECK_OK(cuModuleGetFunction(&function, module, "given"));
	CHECK_INT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
	context_begin();
	CHECK_OK(cuModuleLoadData(&module, ptx));
	CHECK_OK(cuMemAlloc(&in, 4096));
	CHECK_OK(cuMemAlloc(&out, 4096));
	if (!module || !in || !out)
		return check_end();
	bind();
	test_fetches();
	test_questions();
	test_refused();
	return check_end();
}
