/* Texture and surface references: what is bound to them, how it is read, and the launches of CUDA 3 that they belong to. Every
 * version of the functions. Expectations: CUDA Driver API reference manual, "Texture Reference Management [DEPRECATED]", "Surface
 * Reference Management [DEPRECATED]", "Execution Control [DEPRECATED]"; statuses as cards answer. */
#define _GNU_SOURCE
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "check.h"

enum { WIDTH = 8, HEIGHT = 4, PITCH = 512 };

/* p[i] = line(i), p[8y + x] = plane(x, y); *p = a + (int)b, for the launches of CUDA 3 */
static const char ptx[] =
	".version 7.8\n.target sm_80\n.address_size 64\n"
	".global .texref line;\n.global .texref plane;\n.global .surfref surface;\n"
	".visible .entry read_line(.param .u64 p) {\n"
	"  .reg .b64 %a, %o; .reg .b32 %i, %r<4>;\n"
	"  ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a; mov.u32 %i, %tid.x;\n"
	"  tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [line, {%i}];\n"
	"  mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; st.global.u32 [%a], %r0; ret; }\n"
	".visible .entry read_plane(.param .u64 p) {\n"
	"  .reg .b64 %a, %o; .reg .b32 %x, %y, %i, %r<4>;\n"
	"  ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a; mov.u32 %x, %tid.x; mov.u32 %y, %tid.y;\n"
	"  tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [plane, {%x, %y}];\n"
	"  mad.lo.u32 %i, %y, 8, %x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; st.global.u32 [%a], %r0; ret; }\n"
	".visible .entry old(.param .u64 p, .param .u32 a, .param .f32 b) {\n"
	"  .reg .b64 %a; .reg .b32 %x, %y; .reg .f32 %f;\n"
	"  ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a; ld.param.u32 %x, [a]; ld.param.f32 %f, [b];\n"
	"  cvt.rzi.s32.f32 %y, %f; add.u32 %x, %x, %y; atom.global.add.u32 %x, [%a], %x; ret; }\n";

static CUfunction read_line, read_plane, old;
static CUtexref line, plane;
static CUdeviceptr_v1 words; /* below 4 GiB: both versions take it */
static CUdeviceptr out;

static void check_line(const char *call, unsigned first)
{
	void *parameters[] = {&out};
	unsigned got[WIDTH];

	CHECK_OK(cuMemsetD32_v2(out, 0, WIDTH));
	CHECK_OK(cuLaunchKernel(read_line, 1, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
	CHECK_OK(cuMemcpyDtoH_v2(got, out, sizeof got));
	for (unsigned i = 0; i < WIDTH; i++)
		if (got[i] != first + i) {
			fprintf(stderr, "after %s: element %u is %u\n", call, i, got[i]);
			check_failures++;
		}
}

static void check_plane(const char *call)
{
	void *parameters[] = {&out};
	unsigned got[HEIGHT][WIDTH];

	CHECK_OK(cuMemsetD32_v2(out, 0, WIDTH * HEIGHT));
	CHECK_OK(cuLaunchKernel(read_plane, 1, 1, 1, WIDTH, HEIGHT, 1, 0, NULL, parameters, NULL));
	CHECK_OK(cuMemcpyDtoH_v2(got, out, sizeof got));
	for (unsigned y = 0; y < HEIGHT; y++)
		for (unsigned x = 0; x < WIDTH; x++)
			if (got[y][x] != y * (PITCH / 4) + x) {
				fprintf(stderr, "after %s: element %u, %u is %u\n", call, x, y, got[y][x]);
				check_failures++;
			}
}

static void test_lines(void)
{
	CUdeviceptr_v1 narrow = 0;
	CUdeviceptr wide = 0;
	unsigned before32 = 99;
	size_t before = 99;
	CUarray_format format;
	int channels = 0;

	CHECK_OK(cuTexRefSetFormat(line, CU_AD_FORMAT_UNSIGNED_INT32, 1));
	CHECK_OK(cuTexRefSetFlags(line, CU_TRSF_READ_AS_INTEGER));
	CHECK_OK(cuTexRefGetFormat(&format, &channels, line));
	CHECK(format == CU_AD_FORMAT_UNSIGNED_INT32 && channels == 1);
	CHECK_INT(cuTexRefSetFormat(line, CU_AD_FORMAT_UNSIGNED_INT32, 3), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefGetFormat(NULL, &channels, line), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuTexRefSetAddress_v2(&before, line, words, PITCH));
	CHECK_INT(before, 0);
	check_line("cuTexRefSetAddress_v2", 0);
	CHECK_OK(cuTexRefGetAddress_v2(&wide, line));
	CHECK(wide == words);
	CHECK_OK(cuTexRefSetAddress(&before32, line, words + PITCH, PITCH));
	CHECK_INT(before32, 0);
	check_line("cuTexRefSetAddress", PITCH / 4);
	CHECK_OK(cuTexRefGetAddress(&narrow, line));
	CHECK(narrow == words + PITCH);
	/* An address that is not aligned is bound from before it, and how far is told. */
	CHECK_OK(cuTexRefSetAddress(&before32, line, words + 16, PITCH));
	CHECK_INT(before32, 16);
	CHECK_INT(cuTexRefSetAddress(NULL, line, words + 16, PITCH), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefSetAddress_v2(&before, NULL, words, PITCH), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefGetAddress_v2(NULL, line), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefGetAddress(&narrow, plane), CUDA_ERROR_INVALID_VALUE); /* nothing is bound to it */
}

static void test_planes(void)
{
	CUDA_ARRAY_DESCRIPTOR_v1 old_shape = {WIDTH, HEIGHT, CU_AD_FORMAT_UNSIGNED_INT32, 1};
	CUDA_ARRAY_DESCRIPTOR shape = {WIDTH, HEIGHT, CU_AD_FORMAT_UNSIGNED_INT32, 1};

	CHECK_OK(cuTexRefSetFlags(plane, CU_TRSF_READ_AS_INTEGER));
	CHECK_OK(cuTexRefSetAddress2D(plane, &old_shape, words, PITCH));
	check_plane("cuTexRefSetAddress2D");
	CHECK_OK(cuTexRefSetAddress2D_v2(plane, &shape, words, PITCH));
	check_plane("cuTexRefSetAddress2D_v2");
	CHECK_OK(cuTexRefSetAddress2D_v3(plane, &shape, words, PITCH));
	check_plane("cuTexRefSetAddress2D_v3");
	CHECK_INT(cuTexRefSetAddress2D(plane, NULL, words, PITCH), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefSetAddress2D_v2(NULL, &shape, words, PITCH), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefSetAddress2D_v3(plane, &shape, words, 8), CUDA_ERROR_INVALID_VALUE); /* rows are longer */
}

/* How it is read: each setting is what was set, and nothing else is. */
static void test_settings(void)
{
	CUfilter_mode filter;
	CUaddress_mode address;
	CUtexref reference;
	unsigned flags = 0;
	float a = -1, b = -1, color[4] = {0.25f, 0.5f, 0.75f, 1}, got[4] = {0};
	int anisotropy = -1;

	CHECK_OK(cuTexRefCreate(&reference));
	CHECK_OK(cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
	CHECK_OK(cuTexRefGetFilterMode(&filter, reference));
	CHECK_INT(filter, CU_TR_FILTER_MODE_LINEAR);
	CHECK_OK(cuTexRefGetMipmapFilterMode(&filter, reference));
	CHECK_INT(filter, CU_TR_FILTER_MODE_POINT);
	CHECK_OK(cuTexRefSetMipmapFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
	CHECK_OK(cuTexRefGetMipmapFilterMode(&filter, reference));
	CHECK_INT(filter, CU_TR_FILTER_MODE_LINEAR);
	CHECK_OK(cuTexRefSetMipmapLevelBias(reference, 0.5f));
	CHECK_OK(cuTexRefGetMipmapLevelBias(&a, reference));
	CHECK(a == 0.5f);
	CHECK_OK(cuTexRefSetMipmapLevelClamp(reference, 1, 3));
	CHECK_OK(cuTexRefGetMipmapLevelClamp(&a, &b, reference));
	CHECK(a == 1 && b == 3);
	CHECK_OK(cuTexRefSetMaxAnisotropy(reference, 4));
	CHECK_OK(cuTexRefGetMaxAnisotropy(&anisotropy, reference));
	CHECK_INT(anisotropy, 4);
	CHECK_OK(cuTexRefSetBorderColor(reference, color));
	CHECK_OK(cuTexRefGetBorderColor(got, reference));
	CHECK(!memcmp(color, got, sizeof got));
	CHECK_OK(cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES));
	CHECK_OK(cuTexRefGetFlags(&flags, reference));
	CHECK_INT(flags, CU_TRSF_NORMALIZED_COORDINATES);
	CHECK_OK(cuTexRefSetAddressMode(reference, 1, CU_TR_ADDRESS_MODE_MIRROR));
	CHECK_OK(cuTexRefGetAddressMode(&address, reference, 1));
	CHECK_INT(address, CU_TR_ADDRESS_MODE_MIRROR);
	CHECK_INT(cuTexRefSetFilterMode(reference, (CUfilter_mode)2), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefSetMipmapFilterMode(reference, (CUfilter_mode)2), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefSetFlags(reference, 0x80), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefSetBorderColor(reference, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefGetMipmapLevelClamp(&a, NULL, reference), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuTexRefDestroy(reference));
	CHECK_INT(cuTexRefSetMaxAnisotropy(reference, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefGetFlags(&flags, reference), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexRefSetMipmapLevelBias(NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

static void test_arrays(CUmodule module)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = 16, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1,
					 .Flags = CUDA_ARRAY3D_SURFACE_LDST};
	CUmipmappedArray mipmap, got = NULL;
	CUarray array, found = NULL;
	CUsurfref surface;

	CHECK_OK(cuMipmappedArrayCreate(&mipmap, &shape, 3));
	CHECK_OK(cuArray3DCreate_v2(&array, &shape));
	CHECK_OK(cuTexRefSetMipmappedArray(plane, mipmap, CU_TRSA_OVERRIDE_FORMAT));
	CHECK_OK(cuTexRefGetMipmappedArray(&got, plane));
	CHECK(got == mipmap);
	CHECK_INT(cuTexRefGetArray(&found, plane), CUDA_ERROR_INVALID_VALUE); /* it is the other kind */
	CHECK_OK(cuTexRefSetArray(plane, array, CU_TRSA_OVERRIDE_FORMAT));
	CHECK_OK(cuTexRefGetArray(&found, plane));
	CHECK(found == array);
	CHECK_INT(cuTexRefGetMipmappedArray(&got, plane), CUDA_ERROR_INVALID_VALUE);
	CHECK(cuTexRefSetMipmappedArray(plane, (CUmipmappedArray)array, CU_TRSA_OVERRIDE_FORMAT) != CUDA_SUCCESS);
	CHECK_OK(cuModuleGetSurfRef(&surface, module, "surface"));
	CHECK_OK(cuSurfRefSetArray(surface, array, 0));
	CHECK_OK(cuSurfRefGetArray(&found, surface));
	CHECK(found == array);
	CHECK_INT(cuSurfRefGetArray(NULL, surface), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMipmappedArrayDestroy(mipmap));
	CHECK_OK(cuArrayDestroy(array));
}

/* A texture object that sees an array otherwise than it was made, and says so; one that does not has nothing to say. */
static void test_views(void)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = 16, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};
	CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_UINT_1X32, .width = 16, .height = 16}, got;
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
	CUDA_TEXTURE_DESC texture = {.flags = CU_TRSF_READ_AS_INTEGER};
	CUtexObject viewed, plain_object;
	CUarray array;

	memset(&got, 0, sizeof got);
	CHECK_OK(cuArray3DCreate_v2(&array, &shape));
	resource.res.array.hArray = array;
	CHECK_OK(cuTexObjectCreate(&viewed, &resource, &texture, &view));
	CHECK_OK(cuTexObjectCreate(&plain_object, &resource, &texture, NULL));
	CHECK_OK(cuTexObjectGetResourceViewDesc(&got, viewed));
	CHECK(got.format == CU_RES_VIEW_FORMAT_UINT_1X32 && got.width == 16 && got.height == 16);
	CHECK_INT(cuTexObjectGetResourceViewDesc(&got, plain_object), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuTexObjectGetResourceViewDesc(NULL, viewed), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuTexObjectDestroy(viewed));
	CHECK_OK(cuTexObjectDestroy(plain_object));
	CHECK_OK(cuArrayDestroy(array));
}

/* A function that carries its own shape and parameters. */
static void test_old_launches(void)
{
	CUstream stream;
	unsigned value = 0, sum = 0;
	float b = 2.5f;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	CHECK_OK(cuMemsetD32_v2(out, 0, 1));
	CHECK_OK(cuFuncSetBlockShape(old, 4, 1, 1));
	CHECK_OK(cuFuncSetSharedSize(old, 64));
	CHECK_OK(cuParamSetv(old, 0, &out, sizeof out));
	CHECK_OK(cuParamSeti(old, 8, 10));
	CHECK_OK(cuParamSetf(old, 12, b));
	CHECK_OK(cuParamSetSize(old, 16));
	CHECK_OK(cuLaunch(old)); /* one block: 4 × (10 + 2) */
	CHECK_OK(cuMemcpyDtoH_v2(&value, out, 4));
	CHECK_INT(value, sum += 4 * 12);
	CHECK_OK(cuLaunchGrid(old, 3, 2)); /* six */
	CHECK_OK(cuMemcpyDtoH_v2(&value, out, 4));
	CHECK_INT(value, sum += 6 * 4 * 12);
	CHECK_OK(cuParamSeti(old, 8, 1));
	CHECK_OK(cuLaunchGridAsync(old, 2, 1, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemcpyDtoH_v2(&value, out, 4));
	CHECK_INT(value, sum += 2 * 4 * 3);
	CHECK_OK(cuParamSetTexRef(read_line, CU_PARAM_TR_DEFAULT, line));
	CHECK_INT(cuParamSetTexRef(read_line, 3, line), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuParamSetTexRef(read_line, CU_PARAM_TR_DEFAULT, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuFuncSetSharedMemConfig(old, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
	CHECK_INT(cuFuncSetSharedMemConfig(old, (CUsharedconfig)3), CUDA_ERROR_INVALID_VALUE);
	/* More parameters than it has, none of a shape, no blocks; nothing was launched. */
	CHECK_OK(cuParamSetSize(old, 20));
	CHECK_INT(cuLaunch(old), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	CHECK_OK(cuParamSetSize(old, 16));
	CHECK_INT(cuLaunchGrid(old, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuLaunchGridAsync(old, 1, -1, stream), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuFuncSetBlockShape(old, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuFuncSetBlockShape(old, 1025, 1, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuParamSetv(old, -4, &out, 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuParamSetv(old, 0, NULL, 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuParamSetSize(old, 1 << 20), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuParamSeti((CUfunction)stream, 0, 1), CUDA_ERROR_INVALID_HANDLE);
	CHECK_INT(cuFuncSetSharedSize(NULL, 1), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuMemcpyDtoH_v2(&value, out, 4));
	CHECK_INT(value, sum);
	CHECK_OK(cuStreamDestroy_v2(stream));
}

int main(void)
{
	static unsigned in[HEIGHT * PITCH / 4];
	CUcontext context;
	CUmodule module;

	for (unsigned i = 0; i < HEIGHT * PITCH / 4; i++)
		in[i] = i;
	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate_v2(&context, 0, 0));
	CHECK_OK(cuModuleLoadData(&module, ptx));
	CHECK_OK(cuModuleGetFunction(&read_line, module, "read_line"));
	CHECK_OK(cuModuleGetFunction(&read_plane, module, "read_plane"));
	CHECK_OK(cuModuleGetFunction(&old, module, "old"));
	CHECK_OK(cuModuleGetTexRef(&line, module, "line"));
	CHECK_OK(cuModuleGetTexRef(&plane, module, "plane"));
	CHECK_OK(cuMemAlloc(&words, sizeof in));
	CHECK_OK(cuMemAlloc_v2(&out, WIDTH * HEIGHT * 4));
	CHECK_OK(cuMemcpyHtoD_v2(words, in, sizeof in));
	test_lines();
	test_planes();
	test_settings();
	test_arrays(module);
	test_views();
	test_old_launches();
	CHECK_OK(cuCtxDestroy_v2(context));
	return check_end();
}
