/* A CUDA program for test_devices.py: adds one to a thousand numbers and checks that; with an argument it also has its kernel note the time, which
 * is another on each device. With `ptx` it prints its PTX instead, with `capability` what the device says of itself. */
#include <stdio.h>
#include <string.h>

#include "cuda.h"

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".visible .global .align 8 .u64 noted;\n"
	".visible .entry add(.param .u64 at, .param .u32 n, .param .u32 note)\n{\n"
	".reg .u32 %r<10>; .reg .u64 %rd<6>; .reg .pred %p<3>;\n"
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3; ld.param.u32 %r5, [n];\n"
	"setp.ge.u32 %p1, %r4, %r5; @%p1 ret; ld.param.u64 %rd1, [at]; cvta.to.global.u64 %rd1, %rd1; mul.wide.u32 %rd2, %r4, 4;\n"
	"add.u64 %rd1, %rd1, %rd2; ld.global.u32 %r6, [%rd1]; add.u32 %r6, %r6, 1; st.global.u32 [%rd1], %r6;\n"
	"ld.param.u32 %r7, [note]; setp.eq.u32 %p2, %r7, 0; @%p2 ret; mov.u64 %rd3, %globaltimer; st.global.u64 [noted], %rd3; ret;\n}\n";

enum { COUNT = 1000 };

int main(int argc, char **argv)
{
	static unsigned values[COUNT];
	unsigned n = COUNT, note = argc > 1, wrong = 0;
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUdeviceptr memory;
	void *parameters[] = { &memory, &n, &note };

	if (note && !strcmp(argv[1], "ptx"))
		return fputs(ptx, stdout) < 0;
	if (note && !strcmp(argv[1], "capability")) {
		int major = 0, clusters = 0;
		if (cuInit(0) || cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) ||
		    cuDeviceGetAttribute(&clusters, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0))
			return 1;
		printf("capability %d, clusters %d\n", major, clusters);
		return 0;
	}
	if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context) ||
	    cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&function, module, "add") || cuMemAlloc(&memory, sizeof values))
		return 1;
	for (unsigned i = 0; i < COUNT; i++)
		values[i] = i * 3;
	if (cuMemcpyHtoD(memory, values, sizeof values) || cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL) ||
	    cuMemcpyDtoH(values, memory, sizeof values))
		return 1;
	for (unsigned i = 0; i < COUNT; i++)
		wrong += values[i] != i * 3 + 1;
	puts(wrong ? "FAIL" : "PASS");
	return wrong != 0;
}
