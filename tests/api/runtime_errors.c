/* The last error, and errors that stay: a kernel that faults spoils its context, whose calls all fail from then on. Expectations:
 * CUDA Runtime API reference manual, "Error Handling"; statuses and what still works as recorded on a card. For libcudart.so.13 and
 * libcudart.so.12. Each fault has a process of its own. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "device_code.h"

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".visible .entry fine() { ret; }\n"
	".visible .entry wild() { .reg .b64 %d; mov.u64 %d, 16; st.global.u32 [%d], 1; ret; }\n"
	".visible .entry stop() { trap; ret; }\n"
	/* what assert() calls: message, file, line, function, size of a character */
	".global .align 1 .b8 text[4] = {110, 111, 33, 0};\n"
	".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
	".visible .entry claim()\n{\n  .reg .b64 %d;\n"
	"  mov.u64 %d, text; cvta.global.u64 %d, %d;\n"
	"  { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
	"    st.param.b64 [a], %d; st.param.b64 [b], %d; st.param.b32 [c], 7; st.param.b64 [d], %d; st.param.b64 [e], 1;\n"
	"    call.uni __assertfail, (a, b, c, d, e); }\n  ret;\n}\n";

static char fine[1], wild[1], stop[1], claim[1];
static const dim3 one = { 1, 1, 1 };

static void register_code(void)
{
	void **code = __cudaRegisterFatBinary(device_code_wrap(ptx));
	__cudaRegisterFunction(code, fine, (char *)"fine", "fine", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(code, wild, (char *)"wild", "wild", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(code, stop, (char *)"stop", "stop", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(code, claim, (char *)"claim", "claim", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(code);
}

/* ---- the last error -------------------------------------------------------------------------------------------------------- */

static void test_last_error(void)
{
	void *memory;
	CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
	CHECK_INT(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
	CHECK_OK(cudaMalloc(&memory, 4)); /* a success leaves it */
	CHECK_INT(cudaPeekAtLastError(), cudaErrorInvalidValue);
	CHECK_INT(cudaSetDevice(99), cudaErrorInvalidDevice); /* the newest counts */
	CHECK_INT(cudaPeekAtLastError(), cudaErrorInvalidDevice);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidDevice);
	CHECK_INT(cudaGetLastError(), cudaSuccess);
	CHECK_INT(cudaFree((char *)memory + 1), cudaErrorInvalidValue);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidValue);
	CHECK_OK(cudaLaunchKernel(fine, one, one, NULL, 0, NULL));
	CHECK_OK(cudaDeviceSynchronize()); /* these errors do not stay */
	CHECK_OK(cudaFree(memory));
}

/* ---- errors that stay -------------------------------------------------------------------------------------------------------- */

static void test_fault(const void *kernel, cudaError_t expected)
{
	struct cudaDeviceProp properties;
	cudaStream_t stream;
	cudaEvent_t event;
	void *memory, *other;
	int value = 0;
	CHECK_OK(cudaMalloc(&memory, 64));
	CHECK_OK(cudaStreamCreate(&stream));
	CHECK_OK(cudaEventCreate(&event));
	CHECK_OK(cudaLaunchKernel(kernel, one, one, NULL, 0, stream)); /* the launch itself is good */
	CHECK_INT(cudaPeekAtLastError(), cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(stream), expected);
	CHECK_INT(cudaPeekAtLastError(), expected);
	CHECK_INT(cudaGetLastError(), expected);
	CHECK_INT(cudaGetLastError(), cudaSuccess); /* read once */
	/* Whatever needs the context repeats it. */
	CHECK_INT(cudaDeviceSynchronize(), expected);
	CHECK_INT(cudaMalloc(&other, 4), expected);
	CHECK_INT(cudaMemcpy(memory, &value, 4, cudaMemcpyHostToDevice), expected);
	CHECK_INT(cudaStreamQuery(stream), expected);
	CHECK_INT(cudaEventRecord(event, stream), expected);
	CHECK_INT(cudaLaunchKernel(fine, one, one, NULL, 0, NULL), expected);
	CHECK_INT(cudaFree(memory), expected);
	CHECK_INT(cudaGetLastError(), expected);
	/* What is about the device goes on. */
	CHECK_OK(cudaGetDevice(&value));
	CHECK_OK(cudaGetDeviceCount(&value));
	CHECK_OK(cudaSetDevice(0));
	CHECK_OK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
#if RUNTIME_MAJOR == 13
	CHECK_OK(cudaGetDeviceProperties(&properties, 0));
#else
	(void)properties;
#endif
	CHECK_INT(cudaGetLastError(), cudaSuccess);
}

static void fault_wild(void)
{
	test_fault(wild, cudaErrorIllegalAddress);
}

static void fault_stop(void)
{
	test_fault(stop, cudaErrorLaunchFailure);
}

static void fault_claim(void)
{
	test_fault(claim, cudaErrorAssert);
}

/* From a graph, alike. */
static void fault_in_graph(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	struct cudaKernelNodeParams parameters = { .func = wild, .gridDim = { 1, 1, 1 }, .blockDim = { 1, 1, 1 } };
	CHECK_OK(cudaGraphCreate(&graph, 0));
	CHECK_OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &parameters));
	CHECK_OK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cudaGraphLaunch(exec, NULL));
	CHECK_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	CHECK_INT(cudaGetLastError(), cudaErrorIllegalAddress);
	CHECK_INT(cudaGraphLaunch(exec, NULL), cudaErrorIllegalAddress);
}

/* A reset gives the device a new context, in which all is well. */
static void fault_and_reset(void)
{
	void *memory;
	unsigned value = 0;
	CHECK_OK(cudaLaunchKernel(wild, one, one, NULL, 0, NULL));
	CHECK_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	cudaDeviceReset();
	cudaGetLastError();
	CHECK_OK(cudaMalloc(&memory, 4));
	CHECK_OK(cudaMemset(memory, 1, 4));
	CHECK_OK(cudaLaunchKernel(fine, one, one, NULL, 0, NULL));
	CHECK_OK(cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost));
	CHECK_INT(value, 0x01010101);
}

int main(void)
{
	static void (*const tests[])(void) = { test_last_error, fault_wild, fault_stop, fault_claim, fault_in_graph, fault_and_reset };
	register_code();
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
		int status = 0;
		pid_t other = fork();
		if (!other) {
			check_failures = 0;
			tests[i]();
			fflush(NULL);
			_exit(check_end());
		}
		CHECK(waitpid(other, &status, 0) == other);
		CHECK_INT(status, 0);
		if (status)
			fprintf(stderr, "that was number %zu\n", i);
	}
	return check_end();
}
