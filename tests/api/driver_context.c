/* Contexts: the stack, primary contexts, limits, flags, ends. Expectations: CUDA Driver API reference manual, "Primary
 * Context Management", "Context Management"; statuses as cards answer. */
#define _GNU_SOURCE
#include <cuda.h>

#include <pthread.h>

#include "check.h"

static CUdevice device;

static void test_no_context(void)
{
	CUcontext context = (CUcontext)1;
	CUdeviceptr pointer;
	CUdevice current;
	CUevent event;
	size_t bytes;

	CHECK_OK(cuCtxGetCurrent(&context));
	CHECK(!context);
	CHECK_INT(cuCtxGetDevice(&current), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuMemAlloc(&pointer, 4), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxPopCurrent(&context), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuMemFree(0));
	CHECK_OK(cuMemFreeHost(NULL));
	CHECK_OK(cuDeviceTotalMem(&bytes, device));
	CHECK_INT(cuDevicePrimaryCtxRelease(device), CUDA_ERROR_INVALID_CONTEXT);
}

static void test_primary(void)
{
	CUcontext context, same, current;
	unsigned flags = 77;
	int active = 77;

	CHECK_OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
	CHECK_INT(active, 0);
	CHECK_OK(cuDevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_BLOCKING_SYNC));
	CHECK_INT(cuDevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDevicePrimaryCtxSetFlags(device, CU_CTX_MAP_HOST), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK_OK(cuDevicePrimaryCtxRetain(&same, device));
	CHECK(context == same);
	CHECK_OK(cuCtxGetCurrent(&current));
	CHECK(!current); /* retaining makes nothing current */
	CHECK_OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
	CHECK_INT(active, 1);
	CHECK_INT(flags, CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST);
	CHECK_INT(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuDevicePrimaryCtxRelease(device));
	CHECK_OK(cuDevicePrimaryCtxRelease(device));
	CHECK_INT(cuDevicePrimaryCtxRelease(device), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
	CHECK_INT(active, 0);
	CHECK_INT(cuDevicePrimaryCtxRetain(NULL, device), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuDevicePrimaryCtxRetain(&context, 42), CUDA_ERROR_INVALID_DEVICE);
}

static void test_stack(void)
{
	CUcontext a, b, top;
	CUdevice of;
	unsigned version = 0;
	unsigned long long id_a = 0, id_b = 0;

	CHECK_OK(cuCtxCreate(&a, NULL, 0, device)); /* created contexts become current */
	CHECK_OK(cuCtxCreate(&b, NULL, 0, device));
	CHECK_OK(cuCtxGetCurrent(&top));
	CHECK(top == b);
	CHECK_OK(cuCtxGetId(a, &id_a));
	CHECK_OK(cuCtxGetId(NULL, &id_b));
	CHECK(id_a != id_b);
	CHECK_OK(cuCtxPopCurrent(&top));
	CHECK(top == b);
	CHECK_OK(cuCtxGetCurrent(&top));
	CHECK(top == a);
	CHECK_OK(cuCtxPushCurrent(b));
	CHECK_OK(cuCtxPushCurrent(b)); /* twice is fine */
	CHECK_OK(cuCtxGetDevice(&of));
	CHECK_INT(of, device);
	CHECK_OK(cuCtxGetApiVersion(b, &version));
	CHECK(version > 0);
	CHECK_OK(cuCtxPopCurrent(NULL));
	CHECK_OK(cuCtxSetCurrent(NULL)); /* pops the other b */
	CHECK_OK(cuCtxGetCurrent(&top));
	CHECK(top == a);
	CHECK_OK(cuCtxSetCurrent(b)); /* replaces a */
	CHECK_OK(cuCtxDestroy(a));
	CHECK_OK(cuCtxGetCurrent(&top));
	CHECK(top == b);
	CHECK_OK(cuCtxDestroy(b)); /* the current one: popped */
	CHECK_OK(cuCtxGetCurrent(&top));
	CHECK(!top);
	CHECK_INT(cuCtxDestroy(b), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxPushCurrent(b), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxSetCurrent((CUcontext)0x1234), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxSetCurrent((CUcontext)&a), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_INT(cuCtxCreate(&a, NULL, 3, device), CUDA_ERROR_INVALID_VALUE);
	CHECK_INT(cuCtxCreate(&a, NULL, 0, 99), CUDA_ERROR_INVALID_DEVICE);
	CHECK_INT(cuCtxCreate(NULL, NULL, 0, device), CUDA_ERROR_INVALID_VALUE);
}

static void *destroy_from_outside(void *context)
{
	CHECK_OK(cuCtxDestroy(context));
	return NULL;
}

/* A context that another thread destroys stays on this one's stack and is of no use there. */
static void test_destroyed_elsewhere(void)
{
	CUcontext context, top;
	CUdeviceptr pointer;
	pthread_t thread;

	CHECK_OK(cuCtxCreate(&context, NULL, 0, device));
	pthread_create(&thread, NULL, destroy_from_outside, context);
	pthread_join(thread, NULL);
	CHECK_INT(cuMemAlloc(&pointer, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CHECK_OK(cuCtxPopCurrent(&top));
	CHECK(top == context);
}

/* What a context owned is gone with it; handles of it are refused. */
static void test_end(void)
{
	CUcontext context;
	CUdeviceptr pointer;
	CUstream stream;
	CUevent event;
	CUmemorytype type;

	CHECK_OK(cuCtxCreate(&context, NULL, 0, device));
	CHECK_OK(cuMemAlloc(&pointer, 4096));
	CHECK_OK(cuStreamCreate(&stream, 0));
	CHECK_OK(cuEventCreate(&event, 0));
	CHECK_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer));
	CHECK_INT(type, CU_MEMORYTYPE_DEVICE);
	CHECK_OK(cuCtxDestroy(context));
	CHECK_INT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer), CUDA_ERROR_INVALID_VALUE);
	CHECK(cuStreamQuery(stream) != CUDA_SUCCESS);
	CHECK(cuEventQuery(event) != CUDA_SUCCESS);
}

static void check_limit(CUlimit limit, size_t set, CUresult status, size_t get)
{
	size_t value = 0;

	CHECK_INT(cuCtxSetLimit(limit, set), status);
	if (!status) {
		CHECK_OK(cuCtxGetLimit(&value, limit));
		CHECK_INT(value, get);
	}
}

static void test_limits(void)
{
	CUcontext context;
	CUfunc_cache cache;
	size_t value = 0;
	int least = 7, greatest = 7;
	unsigned flags = 0;

	CHECK_OK(cuCtxCreate(&context, NULL, CU_CTX_SCHED_SPIN, device));
	CHECK_OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
	CHECK_INT(value, 1024);
	check_limit(CU_LIMIT_STACK_SIZE, 2001, CUDA_SUCCESS, 2016); /* multiples of 16 */
	check_limit(CU_LIMIT_STACK_SIZE, 1 << 20, CUDA_ERROR_INVALID_VALUE, 0);
	check_limit(CU_LIMIT_PRINTF_FIFO_SIZE, 1, CUDA_SUCCESS, 393216);
	check_limit(CU_LIMIT_MALLOC_HEAP_SIZE, 1, CUDA_SUCCESS, 4 << 20);
	check_limit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 << 20, CUDA_SUCCESS, 64 << 20);
	check_limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 1, CUDA_SUCCESS, 32);
	check_limit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 100, CUDA_ERROR_INVALID_VALUE, 0);
	check_limit((CUlimit)99, 1, CUDA_ERROR_INVALID_VALUE, 0);
	CHECK_INT(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	CHECK_INT(least, 0);
	CHECK(greatest < 0);
	CHECK_OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
	CHECK_OK(cuCtxGetCacheConfig(&cache));
	CHECK_INT(cache, CU_FUNC_CACHE_PREFER_L1);
	CHECK_INT(cuCtxSetCacheConfig((CUfunc_cache)9), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuCtxGetFlags(&flags));
	CHECK_INT(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_SPIN);
	CHECK_INT(cuCtxEnablePeerAccess(context, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED); /* with itself */
	CHECK_INT(cuCtxEnablePeerAccess((CUcontext)8, 0), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_OK(cuCtxDestroy(context));
}

/* cuDevicePrimaryCtxReset() takes what the context owned; the context can be used again after another retain. */
static void test_reset(void)
{
	CUcontext context, again;
	CUdeviceptr pointer;

	CHECK_OK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK_OK(cuCtxSetCurrent(context));
	CHECK_OK(cuMemAlloc(&pointer, 64));
	CHECK_OK(cuDevicePrimaryCtxReset(device));
	CHECK(cuMemAlloc(&pointer, 64) != CUDA_SUCCESS);
	CHECK_OK(cuDevicePrimaryCtxRetain(&again, device));
	CHECK_OK(cuCtxSetCurrent(again));
	CHECK_OK(cuMemAlloc(&pointer, 64));
	CHECK_OK(cuMemFree(pointer));
	CHECK_OK(cuCtxSetCurrent(NULL));
	CHECK_OK(cuDevicePrimaryCtxRelease(device));
}

int main(void)
{
	CHECK_OK(cuInit(0));
	CHECK_OK(cuDeviceGet(&device, 0));
	test_no_context();
	test_primary();
	test_stack();
	test_destroyed_elsewhere();
	test_end();
	test_limits();
	test_reset();
	return check_end();
}
