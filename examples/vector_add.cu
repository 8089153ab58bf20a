/* c = a + b, one thread an element: the first program of every CUDA course. */
#include "example.h"
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 1000003; /* a prime: the last block is not full */
	if (n < 1)
		return std::fprintf(stderr, "usage: vector_add [ELEMENTS]\n"), 2;
	size_t bytes = (size_t)n * sizeof(float);
	std::vector<float> a(n), b(n), c(n);
	for (int i = 0; i < n; i++) {
		a[i] = (float)(i % 1000);
		b[i] = 0.5f * (float)(i % 77);
	}

	float *da, *db, *dc;
	CHECK(cudaMalloc((void **)&da, bytes));
	CHECK(cudaMalloc((void **)&db, bytes));
	CHECK(cudaMalloc((void **)&dc, bytes));
	CHECK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
	add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(da));
	CHECK(cudaFree(db));
	CHECK(cudaFree(dc));

	int wrong = 0;
	for (int i = 0; i < n; i++)
		wrong += c[i] != a[i] + b[i]; /* halves below 2^23: the sums are exact */
	std::printf("%d elements, %d wrong\n", n, wrong);
	return finish("vector_add", wrong == 0);
}
