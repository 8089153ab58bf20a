/* The kernels of the driver API's tests, as PTX text. */
#ifndef DRAGOMAN_TEST_DRIVER_KERNELS_H
#define DRAGOMAN_TEST_DRIVER_KERNELS_H

static const char kernels_ptx[] =
	".version 7.8\n.target sm_80\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 5;\n"
	".visible .const .align 8 .b8 table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};\n"
	/* *p += v */
	".visible .entry add(.param .u64 p, .param .u32 v) {\n"
	"  .reg .b64 %a; .reg .b32 %x, %y;\n"
	"  ld.param.u64 %a, [p]; ld.param.u32 %y, [v]; cvta.to.global.u64 %a, %a;\n"
	"  ld.global.u32 %x, [%a]; add.u32 %x, %x, %y; st.global.u32 [%a], %x; ret; }\n"
	/* *p *= v */
	".visible .entry multiply(.param .u64 p, .param .u32 v) {\n"
	"  .reg .b64 %a; .reg .b32 %x, %y;\n"
	"  ld.param.u64 %a, [p]; ld.param.u32 %y, [v]; cvta.to.global.u64 %a, %a;\n"
	"  ld.global.u32 %x, [%a]; mul.lo.u32 %x, %x, %y; st.global.u32 [%a], %x; ret; }\n"
	/* p[i] = i for all threads of a grid of one dimension */
	".visible .entry fill(.param .u64 p) {\n"
	"  .reg .b64 %a, %o; .reg .b32 %i, %n, %c;\n"
	"  ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a;\n"
	"  mov.u32 %i, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %i, %c, %n, %i;\n"
	"  mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; st.global.u32 [%a], %i; ret; }\n"
	/* static and dynamic shared memory; at most 64 threads */
	".extern .shared .align 16 .b8 dynamic[];\n"
	".visible .entry bounded(.param .u64 p, .param .u8 odd, .param .align 8 .b8 pair[16]) .maxntid 64, 1, 1 {\n"
	"  .shared .align 4 .b8 fixed[1000]; .reg .b64 %a, %s; .reg .b32 %x;\n"
	"  ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a; ld.param.u32 %x, [pair+12];\n"
	"  st.shared.u32 [fixed], %x; ld.shared.u32 %x, [fixed]; st.global.u32 [%a], %x; ret; }\n"
	/* an address that nothing is at */
	".visible .entry fault() { .reg .b64 %a; mov.u64 %a, 16; st.global.u32 [%a], 1; ret; }\n"
	".visible .entry trap_() { trap; }\n";

/* A context, made current, and the kernels in it. Needs check.h. */
static inline CUmodule kernels_begin(CUcontext *context)
{
	CUmodule module = NULL;

	CHECK_OK(cuInit(0));
	CHECK_OK(cuCtxCreate_v4(context, NULL, 0, 0));
	CHECK_OK(cuModuleLoadData(&module, kernels_ptx));
	return module;
}

static inline CUfunction kernels_get(CUmodule module, const char *name)
{
	CUfunction function = NULL;

	CHECK_OK(cuModuleGetFunction(&function, module, name));
	return function;
}

#endif
