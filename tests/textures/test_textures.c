/* Texture and surface objects and references, and the instructions that read them (kernels.py). What fetches give was recorded on an RTX 3060 (sm_86) as a hash (FNV-1a) of all
 * results' bits, for texels and coordinates that a generator makes again here: filtering in the four address modes, formats, three
 * dimensions, layers, cubes, levels. The rest is from the CUDA Driver API reference manual, 6.28 to 6.32, and PTX ISA 9.7.10 and
 * 9.7.11.
 *
 *     test_textures KERNELS.ptx */
#define _GNU_SOURCE
#include <cuda.h>

#include <stdint.h>
#include <stdio.h>

#include "../api/check.h"

enum { POINTS = 2048 };

static CUcontext context;
static CUmodule module;
static CUdeviceptr input, output;
static float in[POINTS][4], out[POINTS][4];

/* ---- the generator of the recordings ------------------------------------------------------------------------------------ */

static uint32_t seed;

static uint32_t next_word(void)
{
	return seed = seed * 1664525u + 1013904223u;
}

static float next_float(float low, float high)
{
	return low + (high - low) * (float)(next_word() >> 8) / 16777216.0f;
}

static void set_word(float *to, int32_t value)
{
	memcpy(to, &value, sizeof value);
}

static void launch(const char *kernel, CUtexObject object, int count)
{
	void *arguments[] = { &object, &input, &output };
	CUfunction function;
	CHECK_OK(cuModuleGetFunction(&function, module, kernel));
	CHECK_OK(cuMemcpyHtoD(input, in, sizeof in));
	CHECK_OK(cuLaunchKernel(function, (unsigned)(count + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL));
	CHECK_OK(cuMemcpyDtoH(out, output, sizeof out));
}

/* The first `channels` of each result. */
static void check_hash(const char *kernel, CUtexObject object, int count, int channels, uint64_t expected)
{
	uint64_t hash = 1469598103934665603u;
	launch(kernel, object, count);
	for (int i = 0; i < count; i++)
		for (int c = 0; c < channels; c++)
			for (int b = 0; b < 4; b++)
				hash = (hash ^ ((unsigned char *)&out[i][c])[b]) * 1099511628211u;
	if (hash != expected) {
		fprintf(stderr, "%s: results with hash %016llx, a card gave %016llx\n", kernel, (unsigned long long)hash,
			(unsigned long long)expected);
		check_failures++;
	}
}

/* ---- objects ------------------------------------------------------------------------------------------------------------- */

static CUarray make_array(CUarray_format format, unsigned channels, size_t width, size_t height, size_t depth, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = width, .Height = height, .Depth = depth, .Format = format, .NumChannels = channels, .Flags = flags };
	CUarray array = NULL;
	CHECK_OK(cuArray3DCreate(&array, &d));
	return array;
}

static void fill_array(CUarray array, const void *texels, size_t row, size_t rows, size_t slices)
{
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = texels, .srcPitch = row, .srcHeight = rows,
			       .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .WidthInBytes = row, .Height = rows, .Depth = slices };
	CHECK_OK(cuMemcpy3D(&copy));
}

static CUtexObject make_texture(CUarray array, CUaddress_mode mode, CUfilter_mode filter, unsigned flags)
{
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
	CUDA_TEXTURE_DESC texture = { .addressMode = { mode, mode, mode }, .filterMode = filter, .flags = flags };
	CUtexObject object = 0;
	CHECK_OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
	return object;
}

static void random_floats(float *to, int count, float low, float high)
{
	for (int i = 0; i < count; i++)
		to[i] = next_float(low, high);
}

static void random_points(int count, int axes, const float *low, const float *high)
{
	for (int i = 0; i < count; i++)
		for (int a = 0; a < axes; a++)
			in[i][a] = next_float(low[a], high[a]);
}

/* ---- recordings ------------------------------------------------------------------------------------------------------------ */

static void test_filtering(void)
{
	static const uint64_t by_mode[] = { 0xbcc8067f913de8c5, 0xfc9987e6d0da5f24, 0x1f763d8c192fe115, 0x93f6f28a8d9ea2c3 };
	float ramp[4] = { 0, 1, 1, 1 }, row[16];
	CUarray array = make_array(CU_AD_FORMAT_FLOAT, 1, 4, 0, 0, 0);
	fill_array(array, ramp, 16, 1, 1);
	for (int i = 0; i < POINTS; i++)
		in[i][0] = (float)i / 1024;
	check_hash("t1", make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0), POINTS, 1, 0xc311d9fc3af93613);
	seed = 12345;
	random_floats(row, 16, -100, 100);
	array = make_array(CU_AD_FORMAT_FLOAT, 1, 16, 0, 0, 0);
	fill_array(array, row, 64, 1, 1);
	for (int mode = 0; mode < 4; mode++) {
		CUtexObject object = make_texture(array, (CUaddress_mode)mode, CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
		random_points(1024, 1, (float[]){ -1.5f }, (float[]){ 2.5f });
		check_hash("t1", object, 1024, 1, by_mode[mode]);
	}
	random_points(1024, 1, (float[]){ -2 }, (float[]){ 18 });
	check_hash("t1", make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0), 1024, 1, 0x0fcea94d149662b7);
}

static void test_formats(void)
{
	float colours[7 * 5 * 4], cube[4 * 3 * 5];
	unsigned char bytes[6 * 6 * 4];
	uint16_t halves[6 * 6];
	CUarray array = make_array(CU_AD_FORMAT_FLOAT, 4, 7, 5, 0, 0);
	random_floats(colours, 7 * 5 * 4, -10, 10);
	fill_array(array, colours, 7 * 16, 5, 1);
	for (int border = 0; border < 2; border++) {
		random_points(1024, 2, (float[]){ -1, -1 }, (float[]){ 8, 6 });
		check_hash("t2", make_texture(array, border ? CU_TR_ADDRESS_MODE_BORDER : CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0),
			   1024, 4, border ? 0x0ae395e03b7c42d0 : 0x5d7cbaaa7674ba60);
	}
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(next_word() >> 24);
	array = make_array(CU_AD_FORMAT_UNSIGNED_INT8, 4, 6, 6, 0, 0);
	fill_array(array, bytes, 24, 6, 1);
	random_points(1024, 2, (float[]){ -1, -1 }, (float[]){ 2, 2 });
	check_hash("t2", make_texture(array, CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES), 1024, 4,
		   0x100645f6a5a06885);
	for (int i = 0; i < 36; i++)
		next_word();
	random_points(1024, 2, (float[]){ -1, -1 }, (float[]){ 7, 7 });
	for (int i = 0; i < 36; i++)
		halves[i] = (uint16_t)(0x3c00 ^ (next_word() & 0x83ff));
	array = make_array(CU_AD_FORMAT_HALF, 1, 6, 6, 0, 0);
	fill_array(array, halves, 12, 6, 1);
	check_hash("t2", make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0), 1024, 1, 0x0b8b5445ea714eba);
	random_floats(cube, 4 * 3 * 5, -5, 5);
	array = make_array(CU_AD_FORMAT_FLOAT, 1, 4, 3, 5, 0);
	fill_array(array, cube, 16, 3, 5);
	random_points(1024, 3, (float[]){ -1, -1, -1 }, (float[]){ 5, 4, 6 });
	check_hash("t3", make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0), 1024, 1, 0xe6437429b3648715);
}

static void test_layers(void)
{
	static const uint64_t rows[2][2] = { { 0x9d25a685d5ba6e26, 0x97ead67532398996 }, { 0x321ec3a1d078f9ad, 0x1a22df3e46a7ee7b } };
	static const uint64_t planes[2] = { 0x478b8109ff920d5e, 0x3bbb4391c8add2d5 };
	float texels[4 * 3 * 3 * 4];
	CUarray array = make_array(CU_AD_FORMAT_FLOAT, 1, 5, 0, 3, CUDA_ARRAY3D_LAYERED);
	seed = 777;
	random_floats(texels, 15, -50, 50);
	fill_array(array, texels, 20, 1, 3);
	for (int linear = 0; linear < 2; linear++)
		for (int border = 0; border < 2; border++) {
			for (int i = 0; i < 1024; i++) {
				in[i][0] = next_float(-1, 6);
				set_word(&in[i][3], (int32_t)(next_word() % 7) - 2);
			}
			check_hash("a1", make_texture(array, border ? CU_TR_ADDRESS_MODE_BORDER : CU_TR_ADDRESS_MODE_CLAMP, (CUfilter_mode)linear, 0),
				   1024, 1, rows[linear][border]);
		}
	random_floats(texels, 4 * 3 * 3 * 4, -9, 9);
	array = make_array(CU_AD_FORMAT_FLOAT, 4, 4, 3, 3, CUDA_ARRAY3D_LAYERED);
	fill_array(array, texels, 64, 3, 3);
	for (int linear = 0; linear < 2; linear++) {
		for (int i = 0; i < 1024; i++) {
			in[i][0] = next_float(-1, 5);
			in[i][1] = next_float(-1, 4);
			set_word(&in[i][3], (int32_t)(next_word() % 7) - 2);
		}
		check_hash("a2", make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, (CUfilter_mode)linear, 0), 1024, 4, planes[linear]);
	}
}

/* Some directions tie between axes. */
static void cube_directions(void)
{
	for (int i = 0; i < 1024; i++) {
		for (int a = 0; a < 3; a++)
			in[i][a] = next_float(-2, 2);
		if (i % 8 == 1 || i % 8 == 3)
			in[i][1] = in[i][0];
		if (i % 8 == 2)
			in[i][2] = -in[i][0];
		if (i % 8 == 3)
			in[i][2] = in[i][0];
		if (i % 8 == 4)
			in[i][0] = 0;
	}
}

static void test_cubes(void)
{
	static const uint64_t plain[2] = { 0xcd8b0716e8481624, 0x9a18a2d3166c8129 }, layered[2] = { 0xcde213f6cfc9f1fe, 0x423d76c0f35bfced };
	float texels[16 * 12];
	CUarray array = make_array(CU_AD_FORMAT_FLOAT, 1, 4, 4, 6, CUDA_ARRAY3D_CUBEMAP);
	for (int i = 0; i < 96; i++)
		texels[i] = (float)(100 * (i / 16) + i % 16) + next_float(0, 0.5f);
	fill_array(array, texels, 16, 4, 6);
	for (int linear = 0; linear < 2; linear++) {
		cube_directions();
		check_hash("cube", make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, (CUfilter_mode)linear, CU_TRSF_NORMALIZED_COORDINATES), 1024, 1,
			   plain[linear]);
	}
	for (int i = 0; i < 192; i++)
		texels[i] = (float)i + next_float(0, 0.5f);
	array = make_array(CU_AD_FORMAT_FLOAT, 1, 4, 4, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED);
	fill_array(array, texels, 16, 4, 12);
	for (int linear = 0; linear < 2; linear++) {
		for (int i = 0; i < 1024; i++) {
			for (int a = 0; a < 3; a++)
				in[i][a] = next_float(-2, 2);
			set_word(&in[i][3], (int32_t)(next_word() % 4) - 1);
		}
		check_hash("acube", make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, (CUfilter_mode)linear, CU_TRSF_NORMALIZED_COORDINATES), 1024, 1,
			   layered[linear]);
	}
}

static void test_levels(void)
{
	static const struct {
		CUfilter_mode filter, between;
		float bias, least, most;
		uint64_t level, plain;
	} cases[] = {
		{ 0, 0, 0, 0, 100, 0x03dc0dae6fd8f537, 0x1c28abaae27f50ee },       { 0, 1, 0, 0, 100, 0xaf242d4f60218947, 0x1c28abaae27f50ee },
		{ 1, 0, 0, 0, 100, 0xd7176b02b7292b1a, 0x4a0b79ff4166cd32 },       { 1, 1, 0, 0, 100, 0x2c2f1edb48cf061a, 0x4a0b79ff4166cd32 },
		{ 1, 1, -0.3f, 0, 100, 0xcec671de4178a43f, 0x4a0b79ff4166cd32 },   { 1, 1, 0.61f, 0, 100, 0xb268c469a43013a2, 0x4a0b79ff4166cd32 },
		{ 1, 1, 0.17f, 0.7f, 2.3f, 0xa87e44d55146bf4c, 0xc4c7b96ba331d0d7 }, { 0, 1, -1.1f, 0.33f, 3.1f, 0x2542ee6892b8fc15, 0xddb9a6864d1471a1 },
	};
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 16, .Height = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY };
	float texels[128];
	CUmipmappedArray array;
	seed = 4242;
	CHECK_OK(cuMipmappedArrayCreate(&array, &d, 5));
	for (unsigned l = 0; l < 5; l++) {
		size_t width = 16 >> l ? 16 >> l : 1, height = 8 >> l ? 8 >> l : 1;
		CUarray level;
		random_floats(texels, (int)(width * height), -100, 100);
		CHECK_OK(cuMipmappedArrayGetLevel(&level, array, l));
		fill_array(level, texels, width * 4, height, 1);
	}
	for (int i = 0; i < POINTS; i++) {
		in[i][0] = next_float(-0.2f, 1.2f);
		in[i][1] = next_float(-0.2f, 1.2f);
		in[i][3] = next_float(-1.5f, 6.5f);
	}
	resource.res.mipmap.hMipmappedArray = array;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		CUDA_TEXTURE_DESC texture = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP },
					      .filterMode = cases[i].filter, .mipmapFilterMode = cases[i].between,
					      .flags = CU_TRSF_NORMALIZED_COORDINATES, .mipmapLevelBias = cases[i].bias,
					      .minMipmapLevelClamp = cases[i].least, .maxMipmapLevelClamp = cases[i].most };
		CUtexObject object;
		CHECK_OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
		check_hash("l2", object, POINTS, 1, cases[i].level);
		check_hash("t2", object, POINTS, 1, cases[i].plain);
		CHECK_OK(cuTexObjectDestroy(object));
	}
}

/* ---- rules ------------------------------------------------------------------------------------------------------------------- */

static int32_t word_of(float value)
{
	int32_t word;
	memcpy(&word, &value, sizeof word);
	return word;
}

static void test_memory(void)
{
	float numbers[8] = { 10, 20, 30, 40, 99, 99, 99, 99 };
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_LINEAR }, back;
	CUDA_TEXTURE_DESC texture = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP } }, texture_back;
	CUDA_RESOURCE_VIEW_DESC view;
	CUtexObject object;
	CUdeviceptr p;
	CHECK_OK(cuMemAlloc(&p, sizeof numbers));
	CHECK_OK(cuMemcpyHtoD(p, numbers, sizeof numbers));
	resource.res.linear.devPtr = p;
	resource.res.linear.format = CU_AD_FORMAT_FLOAT;
	resource.res.linear.numChannels = 1;
	resource.res.linear.sizeInBytes = 16;
	CHECK_OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
	for (int i = 0; i < 6; i++)
		set_word(&in[i][3], i - 1);
	launch("i1", object, 6);
	for (int i = 0; i < 6; i++)
		CHECK_INT(out[i][0], i >= 1 && i <= 4 ? 10 * i : 0);
	launch("q", object, 1);
	CHECK_INT(word_of(out[0][0]), 4);
	CHECK_OK(cuTexObjectGetResourceDesc(&back, object));
	CHECK_INT(back.res.linear.devPtr, p);
	CHECK_OK(cuTexObjectGetTextureDesc(&texture_back, object));
	CHECK_INT(texture_back.addressMode[0], CU_TR_ADDRESS_MODE_CLAMP);
	CHECK_INT(cuTexObjectGetResourceViewDesc(&view, object), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuTexObjectDestroy(object));
	CHECK_INT(cuTexObjectDestroy(object), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexObjectGetResourceDesc(&back, object), CUDA_ERROR_INVALID_VALUE);
	resource.res.linear.numChannels = 3;
	CHECK_INT(cuTexObjectCreate(&object, &resource, &texture, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexObjectCreate(&object, NULL, &texture, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemFree(p));
}

/* A texel's square, counter-clockwise from the lower left. */
static void test_gather(void)
{
	float texels[4] = { 1, 2, 3, 4 };
	static const int expected[4] = { 3, 4, 2, 1 };
	CUarray array = make_array(CU_AD_FORMAT_FLOAT, 1, 2, 2, 0, CUDA_ARRAY3D_TEXTURE_GATHER);
	fill_array(array, texels, 8, 2, 1);
	in[0][0] = in[0][1] = 1;
	launch("g2", make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0), 1);
	for (int i = 0; i < 4; i++)
		CHECK_INT(out[0][i], expected[i]);
}

static void test_references(void)
{
	float texels[4] = { 10, 20, 30, 40 };
	CUarray array = make_array(CU_AD_FORMAT_FLOAT, 1, 4, 0, 0, 0), bound;
	CUaddress_mode mode;
	CUtexref reference, other;
	fill_array(array, texels, 16, 1, 1);
	CHECK_OK(cuModuleGetTexRef(&reference, module, "reference"));
	CHECK_INT(cuModuleGetTexRef(&other, module, "absent"), CUDA_ERROR_NOT_FOUND);
	CHECK_INT(cuTexRefSetArray(reference, array, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefGetArray(&bound, reference), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT));
	CHECK_OK(cuTexRefGetArray(&bound, reference));
	CHECK(bound == array);
	in[0][0] = -1;
	in[1][0] = 2.5f;
	launch("r1", 0, 2);
	CHECK_INT(out[0][0], 10);
	CHECK_INT(out[1][0], 30);
	CHECK_OK(cuTexRefSetAddressMode(reference, 0, CU_TR_ADDRESS_MODE_BORDER));
	CHECK_OK(cuTexRefGetAddressMode(&mode, reference, 0));
	CHECK_INT(mode, CU_TR_ADDRESS_MODE_BORDER);
	launch("r1", 0, 2);
	CHECK_INT(out[0][0], 0);
	CHECK_INT(cuTexRefSetAddressMode(reference, 3, CU_TR_ADDRESS_MODE_BORDER), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefDestroy(reference), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuTexRefCreate(&other));
	CHECK_OK(cuTexRefSetFilterMode(other, CU_TR_FILTER_MODE_LINEAR));
	CHECK_OK(cuTexRefDestroy(other));
}

static void test_surfaces(void)
{
	uint32_t texels[4] = { 5, 6, 7, 8 };
	CUarray array = make_array(CU_AD_FORMAT_UNSIGNED_INT32, 1, 4, 0, 0, CUDA_ARRAY3D_SURFACE_LDST);
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array }, back;
	CUsurfObject object;
	CUsurfref reference;
	fill_array(array, texels, 16, 1, 1);
	CHECK_OK(cuSurfObjectCreate(&object, &resource));
	for (int i = 0; i < POINTS; i++)
		set_word(&in[i][3], i < 6 ? i - 1 : -1);
	launch("s1", object, 6);
	for (int i = 0; i < 6; i++) /* clamped to the first and the last */
		CHECK_INT(word_of(out[i][0]), i < 1 ? 5 : i > 4 ? 8 : 4 + i);
	CHECK_OK(cuModuleGetSurfRef(&reference, module, "screen"));
	CHECK_OK(cuSurfRefSetArray(reference, array, 0));
	launch("s2", 0, 6);
	for (int i = 0; i < 6; i++)
		CHECK_INT(word_of(out[i][0]), i < 1 || i > 4 ? 0 : 5 + i);
	CHECK_OK(cuSurfObjectGetResourceDesc(&back, object));
	CHECK(back.res.array.hArray == array);
	CHECK_OK(cuSurfObjectDestroy(object));
	resource.resType = CU_RESOURCE_TYPE_LINEAR;
	CHECK_INT(cuSurfObjectCreate(&object, &resource), CUDA_ERROR_INVALID_VALUE);
}

/* Level k of a mipmapped array of 16 × 16 (cubes: 6 faces) holds the number k + 1. */
static CUtexObject numbered_levels(unsigned flags, size_t height, size_t depth)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 16, .Height = height, .Depth = depth, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = flags };
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY };
	CUDA_TEXTURE_DESC texture = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP },
				      .flags = CU_TRSF_NORMALIZED_COORDINATES, .maxMipmapLevelClamp = 9 };
	static float texels[16 * 16 * 6];
	CUtexObject object = 0;
	CUmipmappedArray array;
	CHECK_OK(cuMipmappedArrayCreate(&array, &d, 3));
	for (unsigned l = 0; l < 3; l++) {
		CUarray level;
		for (int i = 0; i < 16 * 16 * 6; i++)
			texels[i] = (float)(l + 1);
		CHECK_OK(cuMipmappedArrayGetLevel(&level, array, l));
		fill_array(level, texels, 64 >> l, height ? height >> l : 1, depth ? depth : 1);
	}
	resource.res.mipmap.hMipmappedArray = array;
	CHECK_OK(cuTexObjectCreate(&object, &resource, &texture, NULL));
	return object;
}

static void set_point(int i, float x, float y, float z, float w)
{
	in[i][0] = x;
	in[i][1] = y;
	in[i][2] = z;
	in[i][3] = w;
}

/* A gradient of two texels an axis is level 1; of none, the first. As halves, 1.0 is 3c00, 2.0 is 4000. */
static void test_gradients(void)
{
	static const char *const plain[] = { "d2", "d_cube" }, *const pairs[] = { "d2_pair", "d_cube_pair" };
	CUtexObject row = numbered_levels(0, 0, 0), objects[] = { numbered_levels(0, 16, 0), numbered_levels(CUDA_ARRAY3D_CUBEMAP, 16, 6) };
	set_point(0, 0.5f, 0.5f, 0.25f, 2.0f / 16);
	set_point(1, 0.5f, 0.5f, 0.25f, 0);
	launch("d1", row, 2);
	CHECK_INT(out[0][0], 2);
	CHECK_INT(out[1][0], 1);
	for (int i = 0; i < 2; i++) {
		launch(plain[i], objects[i], 2);
		CHECK_INT(out[0][0], 2);
		CHECK_INT(out[1][0], 1);
		launch(pairs[i], objects[i], 2);
		CHECK_INT(word_of(out[0][0]), 0x4000);
		CHECK_INT(word_of(out[1][0]), 0x3c00);
	}
	set_point(0, 0.5f, 0.5f, 0.25f, 1);
	launch("l_cube", objects[1], 1);
	CHECK_INT(out[0][0], 2);
	launch("l_cube_pair", objects[1], 1);
	CHECK_INT(word_of(out[0][0]), 0x4000);
	launch("cube_pair", objects[1], 1);
	CHECK_INT(word_of(out[0][0]), 0x3c00);
	launch("l2_pair", objects[0], 1);
	CHECK_INT(word_of(out[0][0]), 0x4000);
	launch("q_state", objects[0], 1);
	CHECK_INT(word_of(out[0][0]), 1);
	CHECK_INT(word_of(out[0][1]), CU_TR_FILTER_MODE_POINT);
	CHECK_INT(word_of(out[0][2]), CU_TR_ADDRESS_MODE_CLAMP);
	CHECK_INT(word_of(out[0][3]), 8);
}

/* 3 × 2 texels of four bytes, texel i being i, i + 16, 200 + i, -i. */
static void test_results(void)
{
	static const CUarray_format formats[] = { CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_SIGNED_INT8 };
	unsigned char bytes[6][4], planes[12][4] = { [6] = { 77, 0, 0, 78 } };
	CUtexObject objects[2], normal;
	CUarray array = NULL, layers;
	for (int i = 0; i < 6; i++) {
		bytes[i][0] = (unsigned char)i;
		bytes[i][1] = (unsigned char)(16 + i);
		bytes[i][2] = (unsigned char)(200 + i);
		bytes[i][3] = (unsigned char)-i;
	}
	for (int i = 0; i < 2; i++) {
		array = make_array(formats[i], 4, 3, 2, 0, 0);
		fill_array(array, bytes, 12, 2, 1);
		objects[i] = make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER);
	}
	set_point(0, 2, 1, 0, 0); /* texel 5 */
	set_word(&in[0][3], 1);   /* texel 4, by integers */
	launch("unsigned", objects[0], 1);
	CHECK_INT(word_of(out[0][2]), 205);
	CHECK_INT(word_of(out[0][3]), 251);
	launch("signed", objects[1], 1);
	CHECK_INT(word_of(out[0][2]), 205 - 256);
	CHECK_INT(word_of(out[0][3]), -5);
	launch("i2", objects[0], 1);
	CHECK_INT(word_of(out[0][0]), 4);
	CHECK_INT(word_of(out[0][3]), 252);
	launch("sample", objects[0], 1);
	CHECK_INT(word_of(out[0][0]), 4);
	CHECK_INT(word_of(out[0][3]), 252);
	layers = make_array(CU_AD_FORMAT_UNSIGNED_INT8, 4, 3, 2, 2, CUDA_ARRAY3D_LAYERED);
	fill_array(layers, planes, 12, 2, 2);
	launch("sample_layer", make_texture(layers, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER), 1);
	CHECK_INT(word_of(out[0][0]), 77); /* of layer 1 */
	CHECK_INT(word_of(out[0][3]), 78);
	set_point(0, 1, 1, 0, 0);
	launch("g2_alpha", objects[0], 1); /* texels 3, 4, 1, 0 */
	CHECK_INT(word_of(out[0][0]), 253);
	CHECK_INT(word_of(out[0][3]), 0);
	fill_array(array, (unsigned char[6][4]){ { 127, 0, 0x81, 0x80 } }, 12, 2, 1);
	normal = make_texture(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	set_point(0, 0, 0, 0, 0);
	launch("t2", normal, 1); /* the two least codes are both -1 */
	CHECK_INT(out[0][0], 1);
	CHECK_INT(out[0][2], -1);
	CHECK_INT(out[0][3], -1);
	launch("half", normal, 1);
	CHECK_INT(word_of(out[0][0]), 0x00003c00);
	CHECK_INT((uint32_t)word_of(out[0][1]), 0xbc00bc00);
	launch("pair", normal, 1);
	CHECK_INT((uint32_t)word_of(out[0][1]), 0xbc00bc00);
	launch("sample_pair", normal, 1);
	CHECK_INT((uint32_t)word_of(out[0][1]), 0xbc00bc00);
	set_point(0, 0, 1, 0, 0);
	launch("offset", normal, 1); /* one to the right and up: texel 1 */
	CHECK_INT(out[0][0], 0);
	CHECK_INT(out[0][1], 1);
}

static uint32_t word_in(CUarray array, size_t x, size_t y)
{
	uint32_t word = 0;
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .srcXInBytes = x, .srcY = y,
			       .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = &word, .WidthInBytes = 4, .Height = 1 };
	CHECK_OK(cuMemcpy2D(&copy));
	return word;
}

static CUsurfObject make_surface(CUarray array)
{
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
	CUsurfObject object = 0;
	CHECK_OK(cuSurfObjectCreate(&object, &resource));
	return object;
}

/* All threads of a block take part: 128 of them. */
static void test_surface_updates(void)
{
	uint32_t words[2][4] = { { 10, 11, 12, 13 }, { 0x04030201, 0x08070605, 0, 0 } };
	CUarray row = make_array(CU_AD_FORMAT_UNSIGNED_INT32, 1, 4, 0, 0, CUDA_ARRAY3D_SURFACE_LDST);
	CUarray plane = make_array(CU_AD_FORMAT_UNSIGNED_INT8, 2, 8, 2, 0, CUDA_ARRAY3D_SURFACE_LDST);
	CUarray layers = make_array(CU_AD_FORMAT_UNSIGNED_INT32, 1, 2, 0, 3, CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_LAYERED);
	CUsurfObject object = make_surface(row);
	fill_array(row, words[0], 16, 1, 1);
	for (int i = 0; i < POINTS; i++)
		set_word(&in[i][3], i % 4);
	launch("s_add", object, 128);
	CHECK_INT(word_in(row, 4, 0), 11 + 32 * 3);
	launch("s_or", object, 128);
	CHECK_INT(word_in(row, 0, 0), (10 + 96) | 16);
	launch("s_min", object, 128);
	CHECK_INT((int32_t)word_in(row, 12, 0), -2);
	launch("q_surface", object, 1);
	CHECK_INT(word_of(out[0][0]), 4);
	fill_array(plane, words, 16, 2, 1);
	object = make_surface(plane);
	for (int i = 0; i < POINTS; i++)
		set_word(&in[i][3], 0);
	launch("s_bytes", object, 1);
	CHECK_INT(word_of(out[0][0]), 0x00020001);
	CHECK_INT(word_of(out[0][1]), 0x00040003);
	launch("s_wide", object, 1);
	CHECK_INT(word_of(out[0][1]), 0x08070605);
	CHECK_INT(word_in(plane, 12, 1), 0x08070605);
	launch("s_word", object, 1);
	CHECK_INT(word_of(out[0][0]), 7);
	CHECK_INT(word_in(plane, 0, 1), 7);
	launch("s_store", object, 1); /* clamped to the format: 300 and 2^32 - 1 to bytes */
	CHECK_INT(word_in(plane, 0, 0), 10 | 0xffff);
	object = make_surface(layers);
	for (int i = 0; i < POINTS; i++)
		set_word(&in[i][3], 2);
	launch("s_layer", object, 1);
	CHECK_INT(word_of(out[0][0]), 7);
	fill_array(row, (uint32_t[4]){ 3, 0, 9, 0 }, 16, 1, 1);
	CHECK_OK(cuSurfObjectDestroy(object));
	row = make_array(CU_AD_FORMAT_UNSIGNED_INT32, 2, 2, 0, 0, CUDA_ARRAY3D_SURFACE_LDST);
	fill_array(row, (uint32_t[4]){ 3, 0, 9, 0 }, 16, 1, 1);
	for (int i = 0; i < POINTS; i++)
		set_word(&in[i][3], i % 2);
	launch("s_max", make_surface(row), 2);
	CHECK_INT(word_in(row, 0, 0), 5);
	CHECK_INT(word_in(row, 8, 0), 9);
}

static void test_kinds(void)
{
	CUtexObject object = make_texture(make_array(CU_AD_FORMAT_FLOAT, 1, 4, 0, 0, 0), CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	launch("kind", object, 1);
	CHECK_INT(word_of(out[0][0]), 1);
	CHECK_INT(word_of(out[0][1]), 0);
	CHECK_INT(word_of(out[0][2]), 1);
	CHECK_INT(word_of(out[0][3]), 0);
}

/* Its context is gone. */
static void test_orphan(CUdevice device)
{
	CUtexObject object = make_texture(make_array(CU_AD_FORMAT_FLOAT, 1, 4, 0, 0, 0), CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
	CHECK_OK(cuDevicePrimaryCtxReset(device));
	CHECK_OK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK_OK(cuCtxSetCurrent(context));
	cuTexObjectDestroy(object); /* whatever it says, the program goes on */
	CHECK_INT(cuTexObjectDestroy(object), CUDA_ERROR_INVALID_VALUE);
}

int main(int argc, char **argv)
{
	CUdevice device;
	if (argc < 2)
		return 2;
	CHECK_OK(cuInit(0));
	CHECK_OK(cuDeviceGet(&device, 0));
	CHECK_OK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK_OK(cuCtxSetCurrent(context));
	CHECK_OK(cuModuleLoad(&module, argv[1]));
	CHECK_OK(cuMemAlloc(&input, sizeof in));
	CHECK_OK(cuMemAlloc(&output, sizeof out));
	test_filtering();
	test_formats();
	test_layers();
	test_cubes();
	test_levels();
	test_memory();
	test_gather();
	test_gradients();
	test_results();
	test_references();
	test_surfaces();
	test_surface_updates();
	test_kinds();
	test_orphan(device);
	return check_end();
}
