/* Sums of a block that all threads read at one place, which is used for the next sum with no barrier in between, as programs do
 * (TransformerEngine's and HeCBench's BlockReduce): a race that warps of a GPU, which leave a barrier together, do not lose. */
#include <cuda.h>

#include "check.h"

/* The first thread of a warp stores warp * scale + scale; the block's first one adds them all up. */
#define SUM(scale, result, label)                                                                                      \
	"  mad.lo.u32 %v, %warp, " scale ", " scale ";\n  @%first st.shared.u32 [%at], %v;\n  bar.sync 0;\n"              \
	"  @%p bra " label ";\n  mov.u32 %v, 0; mov.u32 %i, 0;\n" label "_ADD:\n"                                      \
	"  mad.lo.u32 %a, %i, 4, %base; ld.shared.u32 %x, [%a]; add.u32 %v, %v, %x; add.u32 %i, %i, 1;\n"               \
	"  setp.lt.u32 %more, %i, %warps; @%more bra " label "_ADD;\n  st.shared.u32 [sums], %v;\n" label ":\n  bar.sync 0;\n" \
	"  add.u32 %i, %warp, 1;\n  ld.shared.u32 " result ", [sums];\n"

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry twice(.param .u64 out) {\n"
	"  .shared .align 4 .b8 sums[128]; .reg .b64 %o, %t; .reg .b32 %thread, %warp, %warps, %lane, %v, %i, %a, %x, %at, %base, %r<3>;\n"
	"  .reg .pred %p, %first, %more; ld.param.u64 %o, [out]; mov.u32 %thread, %tid.x; shr.u32 %warp, %thread, 5; mov.u32 %warps, %ntid.x;\n"
	"  shr.u32 %warps, %warps, 5; and.b32 %lane, %thread, 31; setp.eq.u32 %first, %lane, 0; setp.ne.u32 %p, %thread, 0;\n"
	"  mov.u32 %base, sums; mad.lo.u32 %at, %warp, 4, %base; mul.wide.u32 %t, %thread, 12; add.u64 %o, %o, %t;\n"
	SUM("1", "%r0", "ONCE") SUM("100", "%r1", "TWICE") SUM("10000", "%r2", "THRICE")
	"  st.global.u32 [%o], %r0; st.global.u32 [%o+4], %r1; st.global.u32 [%o+8], %r2; ret; }\n";

int main(void)
{
	enum { THREADS = 512 };
	static unsigned results[THREADS][3];
	CUcontext context;
	CUdevice device;
	CUmodule module;
	CUfunction function;
	CUdeviceptr out;
	void *parameters[] = {&out};

	CHECK_OK(cuInit(0));
	CHECK_OK(cuDeviceGet(&device, 0));
	CHECK_OK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK_OK(cuCtxSetCurrent(context));
	CHECK_OK(cuModuleLoadData(&module, ptx));
	CHECK_OK(cuModuleGetFunction(&function, module, "twice"));
	CHECK_OK(cuMemAlloc(&out, sizeof results));
	for (unsigned threads = 32; threads <= THREADS; threads *= 4) {
		unsigned warps = threads / 32, sum = warps * (warps + 1) / 2, scale = 1;
		CHECK_OK(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL));
		CHECK_OK(cuMemcpyDtoH(results, out, sizeof results));
		for (int k = 0; k < 3; k++, scale *= 100)
			for (unsigned i = 0; i < threads; i++)
				if (results[i][k] != sum * scale) {
					fprintf(stderr, "%u threads, thread %u, sum %d: %u, not %u\n", threads, i, k, results[i][k], sum * scale);
					check_failures++;
					break;
				}
	}
	return check_end();
}
