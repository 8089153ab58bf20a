/* The CPU and a GPU as devices of one program (DRAGOMAN_DEVICE=cpu,amd): kernels on both, copies both ways in streams of either, and streams
 * that wait for events of the other's. */
#include <stdio.h>
#include <string.h>

#include "cuda.h"

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".visible .entry twice(.param .u64 at)\n{\n.reg .u32 %r<8>; .reg .u64 %rd<4>;\n"
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3; ld.param.u64 %rd1, [at];\n"
	"cvta.to.global.u64 %rd1, %rd1; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd1, %rd1, %rd2; ld.global.u32 %r5, [%rd1];\n"
	"shl.b32 %r5, %r5, 1; add.u32 %r5, %r5, 1; st.global.u32 [%rd1], %r5; ret;\n}\n";

enum { COUNT = 64 * 100, ROUNDS = 20 };

static int failures;
#define CHECK(call) \
	do { \
		int status_ = (int)(call); \
		if (status_) { \
			printf("%s:%d: %s is %d\n", __FILE__, __LINE__, #call, status_); \
			failures++; \
		} \
	} while (0)

struct side {
	CUcontext context;
	CUfunction function;
	CUstream stream;
	CUevent event;
	CUdeviceptr memory;
};

static void set_up(struct side *side, int ordinal)
{
	CUdevice device;
	CUmodule module;

	CHECK(cuDeviceGet(&device, ordinal));
	CHECK(cuDevicePrimaryCtxRetain(&side->context, device));
	CHECK(cuCtxSetCurrent(side->context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&side->function, module, "twice"));
	CHECK(cuStreamCreate(&side->stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&side->event, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&side->memory, COUNT * sizeof(unsigned)));
}

/* Kernel here, then the data go there, in this stream or in the other's. */
static void hand_over(struct side *from, struct side *to, int in_own_stream)
{
	struct side *carrier = in_own_stream ? from : to;
	void *parameters[] = { &from->memory };

	CHECK(cuCtxSetCurrent(from->context));
	CHECK(cuLaunchKernel(from->function, 100, 1, 1, 64, 1, 1, 0, from->stream, parameters, NULL));
	if (!in_own_stream) {
		CHECK(cuEventRecord(from->event, from->stream));
		CHECK(cuCtxSetCurrent(to->context));
		CHECK(cuStreamWaitEvent(to->stream, from->event, 0));
	}
	CHECK(cuMemcpyPeerAsync(to->memory, to->context, from->memory, from->context, COUNT * sizeof(unsigned), carrier->stream));
	if (in_own_stream) {
		CHECK(cuEventRecord(from->event, from->stream));
		CHECK(cuCtxSetCurrent(to->context));
		CHECK(cuStreamWaitEvent(to->stream, from->event, 0));
	}
}

int main(void)
{
	static unsigned values[COUNT];
	struct side sides[2];
	unsigned wrong = 0, wanted;
	int count = 0;

	memset(sides, 0, sizeof sides);
	CHECK(cuInit(0));
	CHECK(cuDeviceGetCount(&count));
	if (count != 2) {
		printf("%d devices\n", count);
		return 1;
	}
	set_up(&sides[0], 0);
	set_up(&sides[1], 1);
	for (unsigned i = 0; i < COUNT; i++)
		values[i] = i;
	CHECK(cuCtxSetCurrent(sides[0].context));
	CHECK(cuMemcpyHtoD(sides[0].memory, values, sizeof values));
	for (int round = 0; round < ROUNDS; round++)
		hand_over(&sides[round & 1], &sides[!(round & 1)], round >> 1 & 1);
	CHECK(cuCtxSetCurrent(sides[0].context));
	CHECK(cuStreamSynchronize(sides[0].stream));
	CHECK(cuMemcpyDtoH(values, sides[0].memory, sizeof values));
	for (unsigned i = 0; i < COUNT; i++) {
		wanted = i;
		for (int round = 0; round < ROUNDS; round++)
			wanted = 2 * wanted + 1;
		wrong += values[i] != wanted;
	}
	/* A fill by a queue that does not reach the memory is refused. */
	if (cuMemsetD32(sides[1].memory, 1, COUNT) != CUDA_ERROR_NOT_SUPPORTED) {
		puts("the CPU's stream fills the GPU's memory");
		failures++;
	}
	puts(wrong || failures ? "FAIL" : "PASS");
	return wrong || failures;
}
