/* What each thread has for itself, and threads beside one another: last errors, current devices, per-thread default
 * streams, allocation from several threads, and a reset while other threads have used the device. For libcudart.so.13 and
 * libcudart.so.12. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { THREADS = 6, ROUNDS = 40 };

static void *own_error(void *unused)
{
	(void)unused;
	CHECK_INT(cudaPeekAtLastError(), cudaSuccess); /* the main thread's is not seen here */
	CHECK_INT(cudaSetDevice(-5), cudaErrorInvalidDevice);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidDevice);
	return NULL;
}

static void test_errors(void)
{
	pthread_t thread;
	CHECK_INT(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
	pthread_create(&thread, NULL, own_error, NULL);
	pthread_join(thread, NULL);
	CHECK_INT(cudaGetLastError(), cudaErrorInvalidValue);
}

static void *churn(void *number)
{
	unsigned char seed = (unsigned char)(size_t)number, bytes[512], back[512];
	cudaStream_t stream;
	CHECK_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int round = 0; round < ROUNDS; round++) {
		void *memory = NULL, *second = NULL;
		memset(bytes, seed + round, sizeof bytes);
		CHECK_OK(cudaMalloc(&memory, sizeof bytes));
		CHECK_OK(cudaMallocAsync(&second, sizeof bytes, stream));
		CHECK_OK(cudaMemcpyAsync(memory, bytes, sizeof bytes, cudaMemcpyHostToDevice, cudaStreamPerThread));
		CHECK_OK(cudaStreamSynchronize(cudaStreamPerThread));
		CHECK_OK(cudaMemcpyAsync(second, memory, sizeof bytes, cudaMemcpyDeviceToDevice, stream));
		CHECK_OK(cudaMemcpyAsync(back, second, sizeof bytes, cudaMemcpyDeviceToHost, stream));
		CHECK_OK(cudaFreeAsync(second, stream));
		CHECK_OK(cudaStreamSynchronize(stream));
		CHECK(!memcmp(bytes, back, sizeof bytes));
		CHECK_OK(cudaFree(memory));
	}
	CHECK_OK(cudaStreamDestroy(stream));
	CHECK_INT(cudaGetLastError(), cudaSuccess);
	return NULL;
}

static void test_churn(void)
{
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, churn, (void *)(i * 40));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static pthread_barrier_t barrier;

static void *use_after_reset(void *unused)
{
	void *memory = NULL;
	(void)unused;
	CHECK_OK(cudaMalloc(&memory, 64));
	pthread_barrier_wait(&barrier); /* the main thread resets */
	pthread_barrier_wait(&barrier);
	CHECK_OK(cudaMalloc(&memory, 64));
	CHECK_OK(cudaMemset(memory, 1, 64));
	CHECK_OK(cudaDeviceSynchronize());
	CHECK_OK(cudaFree(memory));
	return NULL;
}

static void test_reset(void)
{
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, use_after_reset, NULL);
	pthread_barrier_wait(&barrier);
	CHECK_OK(cudaDeviceReset());
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
	CHECK_OK(cudaDeviceSynchronize());
}

int main(void)
{
	test_errors();
	test_churn();
	test_reset();
	return check_end();
}
