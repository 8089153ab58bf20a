/* How kernels end that misuse textures and surfaces, and what is launched behind them: refused, also where nobody has waited. PTX ISA
 * 9.7.11 (suld: .trap, alignment); CUDA Driver API, CUDA_ERROR_LAUNCH_FAILED. What is no object is undefined there: here it is an illegal
 * address. Each case runs in a child, because its context does not work any more. */
#define _GNU_SOURCE
#include <cuda.h>

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "context.h"

#define KERNEL(name, body)                                                                                                              \
	".visible .entry " name "(.param .u64 object, .param .u32 at) { .reg .b64 %t; .reg .b32 %x, %r<4>; .reg .f32 %f<4>;\n"          \
	" ld.param.u64 %t, [object]; ld.param.u32 %x, [at]; " body " ret; }\n"

static const char ptx[] = ".version 7.8\n.target sm_80\n.address_size 64\n"
	KERNEL("fetch", "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%t, {%x}];")
	KERNEL("filter", "cvt.rn.f32.s32 %f0, %x; tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%f0, %f0}];")
	KERNEL("load", "suld.b.1d.b32.trap %r0, [%t, {%x}];")
	KERNEL("store", "sust.b.1d.b32.trap [%t, {%x}], %x;")
	KERNEL("ask", "txq.width.b32 %r0, [%t];")
	KERNEL("nothing", "");

enum what { NOTHING, TEXTURE, DESTROYED, SURFACE };

static const struct fault {
	const char *kernel;
	enum what what;
	unsigned at;
	CUresult status;
} faults[] = {
	{ "fetch", NOTHING, 0, CUDA_ERROR_ILLEGAL_ADDRESS },   { "filter", NOTHING, 0, CUDA_ERROR_ILLEGAL_ADDRESS },
	{ "filter", DESTROYED, 0, CUDA_ERROR_ILLEGAL_ADDRESS }, { "filter", SURFACE, 0, CUDA_ERROR_ILLEGAL_ADDRESS },
	{ "store", TEXTURE, 0, CUDA_ERROR_ILLEGAL_ADDRESS },   { "ask", NOTHING, 0, CUDA_ERROR_ILLEGAL_ADDRESS },
	{ "load", SURFACE, 16, CUDA_ERROR_LAUNCH_FAILED },     { "store", SURFACE, -4u, CUDA_ERROR_LAUNCH_FAILED },
	{ "load", SURFACE, 2, CUDA_ERROR_LAUNCH_FAILED },      { "fetch", TEXTURE, 99, CUDA_SUCCESS },
	{ "store", SURFACE, 12, CUDA_SUCCESS },
};

static CUresult make_object(enum what what, CUtexObject *object)
{
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC texture = { .filterMode = CU_TR_FILTER_MODE_LINEAR };
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST };
	CUresult status = cuArray3DCreate(&resource.res.array.hArray, &d);

	*object = 12345;
	if (status || what == NOTHING)
		return status;
	if (what == SURFACE)
		return cuSurfObjectCreate(object, &resource);
	status = cuTexObjectCreate(object, &resource, &texture, NULL);
	return status || what == TEXTURE ? status : cuTexObjectDestroy(*object);
}

/* Launches until one is refused, for ten seconds. */
static CUresult launch_later(CUfunction kernel, void **arguments)
{
	for (int i = 0; i < 2000; i++) {
		CUresult status = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
		if (status)
			return status;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return CUDA_SUCCESS;
}

static void check_fault(const struct fault *fault)
{
	CUtexObject object;
	CUmodule module;
	CUfunction kernel, nothing;
	unsigned at = fault->at;
	void *arguments[] = { &object, &at };

	context_begin();
	CHECK_OK(cuModuleLoadData(&module, ptx));
	CHECK_OK(cuModuleGetFunction(&kernel, module, fault->kernel));
	CHECK_OK(cuModuleGetFunction(&nothing, module, "nothing"));
	CHECK_OK(make_object(fault->what, &object));
	CHECK_OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
	if (fault->status)
		CHECK_INT(launch_later(nothing, arguments), fault->status);
	CHECK_INT(cuCtxSynchronize(), fault->status);
	if (check_failures)
		fprintf(stderr, "… %s at %d of %d\n", fault->kernel, (int)fault->at, (int)fault->what);
}

int main(void)
{
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			check_fault(&faults[i]);
			_exit(check_end());
		}
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	}
	return check_end();
}
