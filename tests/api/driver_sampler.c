/* Samplers of their own (.texmode_independent): how a texture is read is said by a .samplerref variable of the module and not by the
 * texture. Expectations: PTX ISA 5.3 (fields of a .samplerref) and CUDA C++ Programming Guide, "Texture Fetching", by hand. */
#include <cuda.h>

#include <string.h>

#include "check.h"
#include "context.h"

#define FETCH(sampler, at)                                                                                             \
	"  tex.1d.v4.f32.f32 {%a, %b, %c, %d}, [pixels, " sampler ", {%x}]; st.global.f32 [%o+" #at "], %a;\n"
#define ASK(what, sampler, at) "  txq." what ".b32 %n, [" sampler "]; st.global.u32 [%o+" #at "], %n;\n"

#define START                                                                                                         \
	"  .reg .b64 %i, %o, %t; .reg .f32 %x, %a, %b, %c, %d; .reg .b32 %n;\n"                                       \
	"  ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %n, %tid.x; mul.wide.u32 %t, %n, 4; add.u64 %i, %i, %t; shl.b64 %t, %t, 2;\n" \
	"  add.u64 %o, %o, %t; ld.global.f32 %x, [%i];\n"

static const char ptx[] =
	".version 5.0\n.target sm_50, texmode_independent\n.address_size 64\n"
	".visible .global .texref pixels;\n"
	".global .samplerref edge = { addr_mode_0 = clamp_to_edge, filter_mode = nearest, force_unnormalized_coords = 1 };\n"
	".global .samplerref border = { addr_mode_0 = clamp_to_border, filter_mode = linear, force_unnormalized_coords = 1 };\n"
	".global .samplerref repeat = { addr_mode_0 = wrap, addr_mode_1 = mirror, filter_mode = nearest };\n"
	".global .samplerref mirrored = { addr_mode_0 = mirror };\n"
	".visible .entry sample(.param .u64 in, .param .u64 out) {\n" START
	FETCH("edge", 0) FETCH("border", 4) FETCH("repeat", 8) FETCH("mirrored", 12) "  ret; }\n"
	".visible .entry ask(.param .u64 out) {\n"
	"  .reg .b64 %o; .reg .b32 %n; ld.param.u64 %o, [out];\n"
	ASK("filter_mode", "edge", 0) ASK("filter_mode", "border", 4) ASK("addr_mode_0", "edge", 8) ASK("addr_mode_1", "repeat", 12)
	ASK("force_unnormalized_coords", "border", 16) ASK("force_unnormalized_coords", "mirrored", 20) "  ret; }\n"
	".global .samplerref within = { addr_mode_0 = clamp_ogl, addr_mode_1 = clamp_ogl, filter_mode = linear, force_unnormalized_coords = 1 };\n"
	".global .samplerref inside = { addr_mode_0 = clamp_ogl, filter_mode = linear, force_unnormalized_coords = 1 };\n"
	".global .samplerref nearest = { addr_mode_0 = clamp_ogl, force_unnormalized_coords = 1 };\n"
	".visible .global .texref square;\n"
	".visible .entry ogl(.param .u64 in, .param .u64 out) {\n" START
	FETCH("inside", 0) FETCH("nearest", 4)
	"  tld4.r.2d.v4.f32.f32 {%a, %b, %c, %d}, [square, within, {%x, %x}]; st.global.f32 [%o+8], %d;\n"
	"  tex.2d.v4.f32.f32 {%a, %b, %c, %d}, [square, within, {%x, %x}]; st.global.f32 [%o+12], %a; ret; }\n"
	".visible .entry given(.param .samplerref s, .param .u64 in, .param .u64 out) {\n" START FETCH("s", 0)
	ASK("filter_mode", "s", 4) ASK("addr_mode_0", "s", 8) ASK("force_unnormalized_coords", "s", 12) "  ret; }\n"
	/* odd threads read with one sampler, even ones with the other: by a pointer in a register */
	".visible .entry pointed(.param .u64 in, .param .u64 out) {\n" START
	"  .reg .b64 %s, %q; .reg .pred %p; mov.u64 %s, repeat; mov.u64 %q, edge; and.b32 %n, %n, 1; setp.eq.b32 %p, %n, 1;\n"
	"  selp.b64 %s, %q, %s, %p;\n" FETCH("%s", 0) ASK("addr_mode_1", "%s", 4) ASK("force_unnormalized_coords", "%s", 8)
	"  istypep.samplerref %p, %s; selp.b32 %n, 1, 0, %p; istypep.texref %p, %s; selp.b32 %n, 2, %n, %p; st.global.u32 [%o+12], %n; ret; }\n";

/* Unified mode: what a reference's initialiser says holds until the program says otherwise. */
static const char unified[] =
	".version 5.0\n.target sm_50\n.address_size 64\n"
	".visible .global .texref pixels = { addr_mode_0 = clamp_to_border, filter_mode = linear, normalized_coords = 0 };\n"
	".visible .global .texref within = { addr_mode_0 = clamp_ogl, filter_mode = linear };\n"
	".visible .entry sample(.param .u64 in, .param .u64 out) {\n" START
	"  tex.1d.v4.f32.f32 {%a, %b, %c, %d}, [pixels, {%x}]; st.global.f32 [%o], %a;\n"
	"  tex.1d.v4.f32.f32 {%a, %b, %c, %d}, [within, {%x}]; st.global.f32 [%o+4], %a; ret; }\n";

static CUmodule module;
static CUarray line;
static CUdeviceptr in, out;

static void bind(void)
{
	static const float texels[] = {10, 20, 40, 80};
	CUDA_ARRAY_DESCRIPTOR shape = {4, 0, CU_AD_FORMAT_FLOAT, 1};
	CUtexref reference;

	CHECK_OK(cuArrayCreate(&line, &shape));
	CHECK_OK(cuMemcpyHtoA(line, 0, texels, sizeof texels));
	CHECK_OK(cuModuleGetTexRef(&reference, module, "pixels"));
	CHECK_OK(cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES));
	CHECK_OK(cuTexRefSetArray(reference, line, CU_TRSA_OVERRIDE_FORMAT));
}

/* A word that is no float here is checked by its bits. */
static void check_row(const char *what, int row, float x, const float *results, const float *expected, int count)
{
	for (int i = 0; i < count; i++)
		if (memcmp(&results[i], &expected[i], sizeof *results)) {
			fprintf(stderr, "%s %d at %g, result %d: %g, not %g\n", what, row, x, i, results[i], expected[i]);
			check_failures++;
		}
}

static float bits(unsigned word)
{
	float value;
	memcpy(&value, &word, sizeof value);
	return value;
}

static CUresult launch(CUmodule from, const char *name, const float *x, int count, CUtexObject sampler, float (*results)[4])
{
	void *with[] = {&sampler, &in, &out};
	CUfunction function = NULL;
	CUresult status;

	CHECK_OK(cuModuleGetFunction(&function, from, name));
	CHECK_OK(cuMemcpyHtoD(in, x, count * sizeof *x));
	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, count, 1, 1, 0, NULL, sampler ? with : with + 1, NULL));
	status = cuCtxSynchronize();
	if (!status)
		CHECK_OK(cuMemcpyDtoH(results, out, count * sizeof *results));
	return status;
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

/* clamp_ogl: the coordinate stays within [0, size]; a filter that reaches over the edge finds the border's colour there, which is 100
 * for the line and 0 for the square of 16, 32, 64 and 128. */
static void test_clamp_ogl(void)
{
	/* x; the line filtered, and not; the square's texel at the lower coordinates of four; all four filtered */
	static const float cases[][5] = {
		{0.5f, 10, 10, 16, 16}, {0, 55, 10, 0, 4}, {-1, 55, 10, 0, 4}, {-1e30f, 55, 10, 0, 4}, {0.25f, 32.5f, 10, 0, 9},
		{1, 15, 20, 16, 60}, {1.5f, 20, 20, 128, 128}, {1.75f, 25, 20, 128, 72}, {2, 30, 40, 128, 32}, {2.5f, 40, 40, 128, 32},
		{3.75f, 85, 80, 128, 32}, {4, 90, 80, 128, 32}, {9, 90, 80, 128, 32}, {1e30f, 90, 80, 128, 32},
	};
	enum { CASES = sizeof cases / sizeof *cases };
	static const float texels[] = {16, 32, 64, 128};
	CUDA_ARRAY_DESCRIPTOR shape = {2, 2, CU_AD_FORMAT_FLOAT, 1};
	CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = texels, .srcPitch = 8, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			      .WidthInBytes = 8, .Height = 2};
	float x[CASES], results[CASES][4], colour[4] = {100, 100, 100, 100};
	CUtexref reference;

	CHECK_OK(cuArrayCreate(&copy.dstArray, &shape));
	CHECK_OK(cuMemcpy2D(&copy));
	CHECK_OK(cuModuleGetTexRef(&reference, module, "square"));
	CHECK_OK(cuTexRefSetArray(reference, copy.dstArray, CU_TRSA_OVERRIDE_FORMAT));
	CHECK_OK(cuModuleGetTexRef(&reference, module, "pixels"));
	CHECK_OK(cuTexRefSetBorderColor(reference, colour));
	CHECK_OK(cuTexRefSetArray(reference, line, CU_TRSA_OVERRIDE_FORMAT));
	for (int i = 0; i < CASES; i++)
		x[i] = cases[i][0];
	CHECK_OK(launch(module, "ogl", x, CASES, 0, results));
	for (int i = 0; i < CASES; i++)
		check_row("clamp_ogl", i, x[i], results[i], cases[i] + 1, 4);
}

/* A sampler as a parameter is the state of a texture object; that object's texels do not matter. */
static void test_given(void)
{
	static const float x[] = {0.5f, 0, -1, 1, 4}, border[] = {10, 55, 100, 15, 90}, wrapped[] = {40, 10, 10, 10, 10};
	enum { CASES = sizeof x / sizeof *x };
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = line};
	CUDA_TEXTURE_DESC texture = {.addressMode = {CU_TR_ADDRESS_MODE_BORDER, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP},
				     .filterMode = CU_TR_FILTER_MODE_LINEAR};
	float results[CASES][4];
	CUtexObject filtered = 0, repeated = 0;

	CHECK_OK(cuTexObjectCreate(&filtered, &resource, &texture, NULL));
	texture = (CUDA_TEXTURE_DESC){.flags = CU_TRSF_NORMALIZED_COORDINATES};
	CHECK_OK(cuTexObjectCreate(&repeated, &resource, &texture, NULL));
	CHECK_OK(launch(module, "given", x, CASES, filtered, results));
	for (int i = 0; i < CASES; i++)
		check_row("given", i, x[i], results[i], (float[]){border[i], bits(CU_TR_FILTER_MODE_LINEAR), bits(CU_TR_ADDRESS_MODE_BORDER), bits(1)}, 4);
	CHECK_OK(launch(module, "given", x, CASES, repeated, results));
	for (int i = 0; i < CASES; i++)
		check_row("repeated", i, x[i], results[i], (float[]){wrapped[i], bits(CU_TR_FILTER_MODE_POINT), bits(CU_TR_ADDRESS_MODE_WRAP), bits(0)}, 4);
	CHECK_OK(cuTexObjectDestroy(filtered));
	CHECK_OK(cuTexObjectDestroy(repeated));
}

static void test_pointed(void)
{
	/* even threads repeat, in widths of the texture; odd ones count texels */
	static const float x[] = {0.5f, 0.5f, 0.25f, 2.25f, -0.25f, -7, 1.75f, 99}, expected[] = {40, 10, 20, 40, 80, 10, 80, 80};
	float results[8][4];

	CHECK_OK(launch(module, "pointed", x, 8, 0, results));
	for (int i = 0; i < 8; i++)
		check_row("pointed", i, x[i], results[i],
			  (float[]){expected[i], bits(i & 1 ? CU_TR_ADDRESS_MODE_WRAP : CU_TR_ADDRESS_MODE_MIRROR), bits(i & 1), bits(1)}, 4);
}

static void test_unified(void)
{
	static const float x[] = {0.5f, 0, -1, 4, 9}, border[] = {10, 5, 0, 40, 0}, within[] = {10, 5, 5, 40, 40}, edge[] = {10, 10, 10, 80, 80};
	CUtexref references[2];
	CUmodule other;
	float results[5][4];

	CHECK_OK(cuModuleLoadData(&other, unified));
	CHECK_OK(cuModuleGetTexRef(&references[0], other, "pixels"));
	CHECK_OK(cuModuleGetTexRef(&references[1], other, "within"));
	for (int i = 0; i < 2; i++)
		CHECK_OK(cuTexRefSetArray(references[i], line, CU_TRSA_OVERRIDE_FORMAT));
	CHECK_OK(launch(other, "sample", x, 5, 0, results));
	for (int i = 0; i < 5; i++)
		check_row("unified", i, x[i], results[i], (float[]){border[i], within[i]}, 2);
	for (int i = 0; i < 2; i++) {
		CHECK_OK(cuTexRefSetAddressMode(references[i], 0, CU_TR_ADDRESS_MODE_CLAMP));
		CHECK_OK(cuTexRefSetArray(references[i], line, CU_TRSA_OVERRIDE_FORMAT));
	}
	CHECK_OK(launch(other, "sample", x, 5, 0, results));
	for (int i = 0; i < 5; i++)
		check_row("set", i, x[i], results[i], (float[]){edge[i], edge[i]}, 2);
	CHECK_OK(cuModuleUnload(other));
}

/* The last one: the context is not usable after it. */
static void test_no_sampler(void)
{
	float x = 0, results[1][4];

	CHECK_INT(launch(module, "given", &x, 1, 12345, results), CUDA_ERROR_ILLEGAL_ADDRESS);
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
	test_clamp_ogl();
	test_given();
	test_pointed();
	test_unified();
	test_no_sampler();
	return check_end();
}
