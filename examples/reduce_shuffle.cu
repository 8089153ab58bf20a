/* The sum of an array: each warp adds with shuffles, the first warp of a block adds the warps' sums, and one atomic a
 * block adds the blocks'. */
#include "example.h"
#include <vector>

__device__ int warp_sum(int value)
{
	for (int distance = 16; distance > 0; distance /= 2)
		value += __shfl_down_sync(0xffffffff, value, distance);
	return value; /* complete in lane 0 */
}

__global__ void reduce(const int *values, int n, int *total)
{
	__shared__ int warp_totals[32];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;

	int sum = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += values[i];
	sum = warp_sum(sum);
	if (lane == 0)
		warp_totals[warp] = sum;
	__syncthreads();
	if (warp == 0) {
		sum = warp_sum(lane < warps ? warp_totals[lane] : 0);
		if (lane == 0)
			atomicAdd(total, sum);
	}
}

int main()
{
	const int n = 3000017;
	std::vector<int> values(n);
	int expected = 0, total = 0;
	for (int i = 0; i < n; i++) {
		values[i] = i % 17 - 7;
		expected += values[i];
	}

	int *device_values, *device_total;
	CHECK(cudaMalloc((void **)&device_values, n * sizeof(int)));
	CHECK(cudaMalloc((void **)&device_total, sizeof(int)));
	CHECK(cudaMemcpy(device_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(device_total, 0, sizeof(int)));
	reduce<<<120, 256>>>(device_values, n, device_total);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(&total, device_total, sizeof(int), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device_values));
	CHECK(cudaFree(device_total));

	std::printf("sum of %d numbers: %d, expected %d\n", n, total, expected);
	return finish("reduce_shuffle", total == expected);
}
