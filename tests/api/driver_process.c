/* Processes and threads coming and going: exit while a kernel runs, fork after work, threads that end with streams of their
 * own, the library opened and closed by hand. Expectations: CUDA Driver API reference manual, "Initialization", "Stream
 * synchronization behavior"; fork(2). Each case runs in a child that is made before cuInit() is called here. */
#define _GNU_SOURCE
#include <cuda.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "driver_kernels.h"

static const char spin_ptx[] = ".version 7.8\n.target sm_80\n.address_size 64\n"
			       ".visible .entry spin(.param .u64 p) { .reg .b64 %a; .reg .b32 %x; .reg .pred %q;\n"
			       " ld.param.u64 %a, [p];\n"
			       "again: ld.volatile.global.u32 %x, [%a]; setp.eq.u32 %q, %x, 0; @%q bra again; ret; }\n";

/* The exit status of body() in a child; -1 where it ended otherwise or hung. */
static int in_child(int (*body)(void))
{
	int status;
	pid_t child = fork();

	if (!child) {
		alarm(30);
		exit(body());
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int start(CUcontext *context)
{
	return cuInit(0) || cuDevicePrimaryCtxRetain(context, 0) || cuCtxSetCurrent(*context);
}

static int exit_at_work(void)
{
	CUcontext context;
	CUmodule module;
	CUfunction spin;
	CUdeviceptr p;
	void *parameters[] = {&p};

	if (start(&context) || cuModuleLoadData(&module, spin_ptx) || cuModuleGetFunction(&spin, module, "spin") || cuMemAlloc(&p, 4) ||
	    cuMemsetD32(p, 0, 1) || cuLaunchKernel(spin, 4, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL))
		return 2;
	return 42;
}

static volatile int *volatile nowhere; /* volatile twice: the compiler must not know what it points to */

static void on_segv(int number)
{
	(void)number;
	_exit(43);
}

/* The program's own handler still gets the program's own faults after a kernel has run. */
static int own_handler(void)
{
	struct sigaction action = {.sa_handler = on_segv};
	CUcontext context;
	CUmodule module;
	CUfunction add;
	CUdeviceptr p;
	unsigned value = 1;
	void *parameters[] = {&p, &value};

	sigaction(SIGSEGV, &action, NULL);
	if (start(&context) || cuModuleLoadData(&module, kernels_ptx) || cuModuleGetFunction(&add, module, "add") || cuMemAlloc(&p, 4) ||
	    cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL) || cuCtxSynchronize())
		return 2;
	nowhere = (volatile int *)8;
	*nowhere = 1;
	return 3;
}

static int fork_after_work(void)
{
	CUcontext context;
	CUdeviceptr p, other;
	unsigned value = 0;
	int status;
	pid_t child;

	if (start(&context) || cuMemAlloc(&p, 4) || cuMemsetD32(p, 7, 1) || cuCtxSynchronize())
		return 2;
	child = fork();
	if (!child)
		_exit(cuMemAlloc(&other, 4) == CUDA_ERROR_NOT_INITIALIZED && cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
			      cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ?
			      0 :
			      1);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
		return 3;
	return cuMemcpyDtoH(&value, p, 4) || value != 7 ? 4 : 44; /* the parent goes on */
}

static void *use_and_end(void *context)
{
	CUdeviceptr p;
	int *bad = ((void **)context)[1];

	if (cuCtxSetCurrent(((void **)context)[0]) || cuMemAlloc(&p, 64) || cuMemsetD8Async(p, 1, 64, CU_STREAM_PER_THREAD) ||
	    cuStreamSynchronize(CU_STREAM_PER_THREAD) || cuMemFree(p))
		*bad = 1;
	return NULL;
}

static int many_threads(void)
{
	CUcontext context;
	int bad = 0;
	void *argument[2];

	if (start(&context))
		return 2;
	argument[0] = context;
	argument[1] = &bad;
	for (int i = 0; i < 500; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, use_and_end, argument))
			return 3;
		pthread_join(thread, NULL);
	}
	return bad ? 4 : 45;
}

/* Their thread-local memory has to fit into what the C library keeps for libraries that are opened later. */
static int opened_by_hand(void)
{
	for (int i = 0; i < 20; i++) {
		void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
		CUresult (*get)(int *);
		int version = 0;

		if (!library)
			return 2;
		*(void **)&get = dlsym(library, "cuDriverGetVersion");
		if (!get || get(&version) || version < 13000)
			return 3;
		if (dlclose(library))
			return 4;
	}
	return dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL) && dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL) ? 46 : 5;
}

int main(void)
{
	CHECK_INT(in_child(exit_at_work), 42);
	CHECK_INT(in_child(own_handler), 43);
	CHECK_INT(in_child(fork_after_work), 44);
	CHECK_INT(in_child(many_threads), 45);
	CHECK_INT(in_child(opened_by_hand), 46);
	return check_end();
}
