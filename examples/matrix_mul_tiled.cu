/* C = A B with square tiles in shared memory: each element of A and B is read from global memory once a tile, and
 * __syncthreads() keeps the tiles whole. The sizes are no multiples of the tile, so the edges are padded with zeros. */
#include "example.h"
#include <cmath>
#include <vector>

constexpr int TILE = 16;

__global__ void multiply(const float *a, const float *b, float *c, int rows, int inner, int columns)
{
	__shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
	int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
	float sum = 0.0f;

	for (int start = 0; start < inner; start += TILE) {
		int ka = start + threadIdx.x, kb = start + threadIdx.y;
		tile_a[threadIdx.y][threadIdx.x] = row < rows && ka < inner ? a[row * inner + ka] : 0.0f;
		tile_b[threadIdx.y][threadIdx.x] = kb < inner && column < columns ? b[kb * columns + column] : 0.0f;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
		__syncthreads();
	}
	if (row < rows && column < columns)
		c[row * columns + column] = sum;
}

static float *upload(const std::vector<float> &values)
{
	float *device;
	CHECK(cudaMalloc((void **)&device, values.size() * sizeof(float)));
	CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
	return device;
}

int main()
{
	const int rows = 250, inner = 310, columns = 203;
	std::vector<float> a(rows * inner), b(inner * columns), c(rows * columns, -1.0f);
	for (size_t i = 0; i < a.size(); i++)
		a[i] = (float)(i * 7 % 13) - 6.0f;
	for (size_t i = 0; i < b.size(); i++)
		b[i] = (float)(i * 5 % 11) - 5.0f;

	float *da = upload(a), *db = upload(b), *dc = upload(c);
	dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
	multiply<<<grid, block>>>(da, db, dc, rows, inner, columns);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(da));
	CHECK(cudaFree(db));
	CHECK(cudaFree(dc));

	int wrong = 0;
	for (int row = 0; row < rows; row++)
		for (int column = 0; column < columns; column++) {
			float sum = 0.0f; /* small integers: exact in any order */
			for (int k = 0; k < inner; k++)
				sum += a[row * inner + k] * b[k * columns + column];
			wrong += c[row * columns + column] != sum;
		}
	std::printf("%dx%d by %dx%d, %d wrong\n", rows, inner, inner, columns, wrong);
	return finish("matrix_mul_tiled", wrong == 0);
}
