/* The benchmark's rows in CUDA; see rows.h. Kernels are written as programs have them, not tuned to any machine. */
#include <cuda_runtime.h>
#if __has_include(<mma.h>) /* NVIDIA's: clang's build has no tensor cores to offer */
#include <mma.h>
#define HAVE_WMMA 1
#endif

#include "rows.h"

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		cudaError_t status_ = (call);                                                                          \
		if (status_ != cudaSuccess) {                                                                          \
			fprintf(stderr, "bench.cu:%d: %s: %s\n", __LINE__, #call, cudaGetErrorString(status_));   \
			exit(2);                                                                                  \
		}                                                                                                      \
	} while (0)

__global__ void nothing() {}

__global__ void triad(const float *b, const float *c, float *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	a[i] = b[i] + 3.0f * c[i];
}

__global__ void saxpy(const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	y[i] = 0.25f * x[i] + y[i];
}

__global__ void stencil(const float *in, float *out)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	if (x < 1 || x >= GRID_N - 1 || y < 1 || y >= GRID_N - 1)
		return;
	int i = y * GRID_N + x;
	out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - GRID_N] + in[i + GRID_N]);
}

__global__ void transpose(const float *in, float *out)
{
	__shared__ float tile[32][33];
	int x = threadIdx.x, y = threadIdx.y, bx = blockIdx.x * 32, by = blockIdx.y * 32;
	for (int j = 0; j < 32; j += 8)
		tile[y + j][x] = in[(by + y + j) * GRID_N + bx + x];
	__syncthreads();
	for (int j = 0; j < 32; j += 8)
		out[(bx + y + j) * GRID_N + by + x] = tile[x][y + j];
}

__global__ void matmul(const float *a, const float *b, float *c)
{
	int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
	float sum = 0.0f;
	for (int k = 0; k < MATRIX_N; k++)
		sum += a[row * MATRIX_N + k] * b[k * MATRIX_N + column];
	c[row * MATRIX_N + column] = sum;
}

template <int SIDE> __device__ void sgemm(const float *a, const float *b, float *c)
{
	__shared__ float as[SIDE][SIDE], bs[SIDE][SIDE];
	int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * SIDE + ty, column = blockIdx.x * SIDE + tx;
	float sum = 0.0f;
	for (int start = 0; start < MATRIX_N; start += SIDE) {
		as[ty][tx] = a[row * MATRIX_N + start + tx];
		bs[ty][tx] = b[(start + ty) * MATRIX_N + column];
		__syncthreads();
		for (int k = 0; k < SIDE; k++)
			sum += as[ty][k] * bs[k][tx];
		__syncthreads();
	}
	c[row * MATRIX_N + column] = sum;
}

__global__ void sgemm_tiled(const float *a, const float *b, float *c)
{
	sgemm<16>(a, b, c);
}

__global__ void sgemm_tiled_32(const float *a, const float *b, float *c)
{
	sgemm<32>(a, b, c);
}

__global__ void nbody(const float4 *bodies, float4 *forces)
{
	__shared__ float4 tile[256];
	int t = threadIdx.x, i = blockIdx.x * 256 + t;
	float4 me = bodies[i];
	float ax = 0.0f, ay = 0.0f, az = 0.0f;
	for (int start = 0; start < BODIES; start += 256) {
		tile[t] = bodies[start + t];
		__syncthreads();
		for (int j = 0; j < 256; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
			float pull = tile[j].w * inverse * inverse * inverse;
			ax += dx * pull;
			ay += dy * pull;
			az += dz * pull;
		}
		__syncthreads();
	}
	forces[i] = make_float4(ax, ay, az, 0.0f);
}

__global__ void mandelbrot(int *rounds)
{
	int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y, n = 0;
	float cx = -2.0f + column * (3.0f / MANDELBROT_N), cy = -1.5f + row * (3.0f / MANDELBROT_N), x = 0.0f, y = 0.0f;
	while (n < MANDELBROT_ROUNDS) {
		float xx = x * x, yy = y * y;
		if (xx + yy > 4.0f)
			break;
		y = 2.0f * x * y + cy;
		x = xx - yy + cx;
		n++;
	}
	rounds[row * MANDELBROT_N + column] = n;
}

/* The normal distribution. */
__device__ float normal(float x)
{
	return 0.5f * erfcf(-x * 0.70710678f);
}

__global__ void black_scholes(const float *price, const float *strike, const float *years, float *call, float *put)
{
	const float rate = 0.02f, volatility = 0.3f;
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float root = sqrtf(years[i]);
	float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
	float d2 = d1 - volatility * root, n1 = normal(d1), n2 = normal(d2);
	float discounted = strike[i] * expf(-rate * years[i]);
	call[i] = price[i] * n1 - discounted * n2;
	put[i] = discounted * (1.0f - n2) - price[i] * (1.0f - n1);
}

__global__ void warp_reduce(const float *in, float *out)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	float value = in[i];
	for (int distance = 16; distance; distance >>= 1)
		value += __shfl_down_sync(0xffffffff, value, distance);
	if (threadIdx.x % 32 == 0)
		out[i / 32] = value;
}

__global__ void block_reduce(const float *in, float *out)
{
	__shared__ float sums[256];
	int t = threadIdx.x;
	sums[t] = in[blockIdx.x * 256 + t];
	__syncthreads();
	for (int half = 128; half > 0; half >>= 1) {
		if (t < half)
			sums[t] += sums[t + half];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = sums[0];
}

__global__ void histogram(const int *values, int *counts)
{
	__shared__ int mine[256];
	int t = threadIdx.x;
	mine[t] = 0;
	__syncthreads();
	for (int i = blockIdx.x * 256 + t; i < HISTOGRAM_N; i += 256 * HISTOGRAM_BLOCKS)
		atomicAdd(&mine[values[i] & 255], 1);
	__syncthreads();
	atomicAdd(&counts[t], mine[t]);
}

__global__ void bitonic(const int *in, int *out)
{
	__shared__ int keys[512];
	int t = threadIdx.x;
	keys[t] = in[blockIdx.x * 512 + t];
	__syncthreads();
	for (int k = 2; k <= 512; k <<= 1)
		for (int j = k >> 1; j > 0; j >>= 1) {
			int other = t ^ j;
			if (other > t) {
				int a = keys[t], b = keys[other];
				if ((t & k) == 0 ? a > b : a < b) {
					keys[t] = b;
					keys[other] = a;
				}
			}
			__syncthreads();
		}
	out[blockIdx.x * 512 + t] = keys[t];
}

__global__ void spmv(const int *starts, const int *columns, const float *values, const float *x, float *y)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0.0f;
	for (int i = starts[row]; i < starts[row + 1]; i++)
		sum += values[i] * x[columns[i]];
	y[row] = sum;
}

__global__ void bfs(const int *starts, const int *edges, int *levels)
{
	int node = blockIdx.x * blockDim.x + threadIdx.x;
	if (levels[node] != 3)
		return;
	for (int i = starts[node]; i < starts[node + 1]; i++)
		if (levels[edges[i]] < 0)
			levels[edges[i]] = 4;
}

struct alignas(16) body {
	double x, y, z, w;
};

__global__ void nbody_double(const body *bodies, body *forces)
{
	__shared__ body tile[128];
	int t = threadIdx.x, i = blockIdx.x * 128 + t;
	body me = bodies[i];
	double ax = 0.0, ay = 0.0, az = 0.0;
	for (int start = 0; start < BODIES_DOUBLE; start += 128) {
		tile[t] = bodies[start + t];
		__syncthreads();
		for (int j = 0; j < 128; j++) {
			double dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			double inverse = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 0.01);
			double pull = tile[j].w * inverse * inverse * inverse;
			ax += dx * pull;
			ay += dy * pull;
			az += dz * pull;
		}
		__syncthreads();
	}
	forces[i] = body{ax, ay, az, 0.0};
}

/* Radix 2 in shared memory: a block's 256 threads do the butterflies of 512 points. */
__global__ void fft(const float2 *in, const float2 *roots, float2 *out)
{
	__shared__ float2 points[FFT_POINTS];
	int t = threadIdx.x, base = blockIdx.x * FFT_POINTS;
	for (int i = t; i < FFT_POINTS; i += FFT_POINTS / 2)
		points[__brev((unsigned)i) >> 23] = in[base + i];
	__syncthreads();
	for (int half = 1; half < FFT_POINTS; half *= 2) {
		int k = t & (half - 1), low = 2 * t - k, high = low + half;
		float2 root = roots[k * (FFT_POINTS / 2 / half)], a = points[low], b = points[high];
		float x = b.x * root.x - b.y * root.y, y = b.x * root.y + b.y * root.x;
		points[low] = make_float2(a.x + x, a.y + y);
		points[high] = make_float2(a.x - x, a.y - y);
		__syncthreads();
	}
	for (int i = t; i < FFT_POINTS; i += FFT_POINTS / 2)
		out[base + i] = points[i];
}

/* Hillis and Steele's inclusive scan of 256. */
__global__ void scan(const int *in, int *out)
{
	__shared__ int sums[256];
	int t = threadIdx.x, i = blockIdx.x * 256 + t;
	sums[t] = in[i];
	__syncthreads();
	for (int distance = 1; distance < 256; distance *= 2) {
		int other = t >= distance ? sums[t - distance] : 0;
		__syncthreads();
		sums[t] += other;
		__syncthreads();
	}
	out[i] = sums[t];
}

/* Splits by one bit after the other: those with a 0 go in front, in order, and how many there are is a sum over warps. */
__global__ void radix_sort(const int *in, int *out)
{
	__shared__ int keys[512], zeros[16];
	int t = threadIdx.x, lane = t & 31, warp = t >> 5;
	keys[t] = in[blockIdx.x * 512 + t];
	__syncthreads();
	for (int bit = 0; bit < RADIX_BITS; bit++) {
		int key = keys[t], one = key >> bit & 1;
		unsigned vote = __ballot_sync(0xffffffff, !one);
		if (lane == 0)
			zeros[warp] = __popc(vote);
		__syncthreads();
		int before = 0, all = 0;
		for (int i = 0; i < 16; i++) {
			before += i < warp ? zeros[i] : 0;
			all += zeros[i];
		}
		before += __popc(vote & ((1u << lane) - 1));
		keys[one ? all + t - before : before] = key;
		__syncthreads();
	}
	out[blockIdx.x * 512 + t] = keys[t];
}

/* A tile with its border in shared memory; outside of the grid is nothing. */
__global__ void convolution(const float *in, const float *filter, float *out)
{
	enum { REACH = FILTER / 2 };
	__shared__ float tile[8 + 2 * REACH][32 + 2 * REACH], weights[FILTER * FILTER];
	int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 32 - REACH, y0 = blockIdx.y * 8 - REACH, t = ty * 32 + tx;
	if (t < FILTER * FILTER)
		weights[t] = filter[t];
	for (int y = ty; y < 8 + 2 * REACH; y += 8)
		for (int x = tx; x < 32 + 2 * REACH; x += 32) {
			bool inside = x0 + x >= 0 && x0 + x < GRID_N && y0 + y >= 0 && y0 + y < GRID_N;
			tile[y][x] = inside ? in[(y0 + y) * GRID_N + x0 + x] : 0.0f;
		}
	__syncthreads();
	float sum = 0.0f;
	for (int y = 0; y < FILTER; y++)
		for (int x = 0; x < FILTER; x++)
			sum += weights[y * FILTER + x] * tile[ty + y][tx + x];
	out[(blockIdx.y * 8 + ty) * GRID_N + blockIdx.x * 32 + tx] = sum;
}

/* A block a row. */
__global__ void softmax(const float *in, float *out)
{
	__shared__ float values[256];
	int t = threadIdx.x;
	const float *row = in + blockIdx.x * NORM_COLUMNS;
	float most = row[t], sum = 0.0f;
	for (int i = t + 256; i < NORM_COLUMNS; i += 256)
		most = fmaxf(most, row[i]);
	values[t] = most;
	__syncthreads();
	for (int half = 128; half > 0; half >>= 1) {
		if (t < half)
			values[t] = fmaxf(values[t], values[t + half]);
		__syncthreads();
	}
	most = values[0];
	__syncthreads();
	for (int i = t; i < NORM_COLUMNS; i += 256)
		sum += expf(row[i] - most);
	values[t] = sum;
	__syncthreads();
	for (int half = 128; half > 0; half >>= 1) {
		if (t < half)
			values[t] += values[t + half];
		__syncthreads();
	}
	sum = 1.0f / values[0];
	for (int i = t; i < NORM_COLUMNS; i += 256)
		out[blockIdx.x * NORM_COLUMNS + i] = expf(row[i] - most) * sum;
}

__device__ float warp_sum(float value)
{
	for (int distance = 16; distance; distance >>= 1)
		value += __shfl_xor_sync(0xffffffff, value, distance);
	return value;
}

/* A warp a row. */
__global__ void layer_norm(const float *in, const float *weights, const float *biases, float *out)
{
	int lane = threadIdx.x & 31, row = blockIdx.x * 8 + (threadIdx.x >> 5);
	float sum = 0.0f, squares = 0.0f;
	for (int i = lane; i < NORM_COLUMNS; i += 32)
		sum += in[row * NORM_COLUMNS + i];
	float mean = warp_sum(sum) / NORM_COLUMNS;
	for (int i = lane; i < NORM_COLUMNS; i += 32) {
		float off = in[row * NORM_COLUMNS + i] - mean;
		squares += off * off;
	}
	float scale = 1.0f / sqrtf(warp_sum(squares) / NORM_COLUMNS + 1e-5f);
	for (int i = lane; i < NORM_COLUMNS; i += 32)
		out[row * NORM_COLUMNS + i] = (in[row * NORM_COLUMNS + i] - mean) * scale * weights[i] + biases[i];
}

/* A thread a query, keys and values by tiles, the softmax as it goes (Milakov and Gimelshein, 2018). */
__global__ void attention(const float *queries, const float *keys, const float *values, float *out)
{
	__shared__ float k[16][HEAD_SIZE], v[16][HEAD_SIZE];
	int t = threadIdx.x, base = blockIdx.y * HEAD_ROWS * HEAD_SIZE, row = base + (blockIdx.x * 64 + t) * HEAD_SIZE;
	float query[HEAD_SIZE], sums[HEAD_SIZE], most = -1e30f, total = 0.0f;
	for (int i = 0; i < HEAD_SIZE; i++) {
		query[i] = queries[row + i] * 0.125f;
		sums[i] = 0.0f;
	}
	for (int start = 0; start < HEAD_ROWS; start += 16) {
		for (int i = 0; i < 16; i++) {
			k[i][t] = keys[base + (start + i) * HEAD_SIZE + t];
			v[i][t] = values[base + (start + i) * HEAD_SIZE + t];
		}
		__syncthreads();
		for (int j = 0; j < 16; j++) {
			float score = 0.0f;
			for (int i = 0; i < HEAD_SIZE; i++)
				score += query[i] * k[j][i];
			float larger = fmaxf(most, score), fade = expf(most - larger), weight = expf(score - larger);
			total = total * fade + weight;
			for (int i = 0; i < HEAD_SIZE; i++)
				sums[i] = sums[i] * fade + weight * v[j][i];
			most = larger;
		}
		__syncthreads();
	}
	for (int i = 0; i < HEAD_SIZE; i++)
		out[row + i] = sums[i] / total;
}

#ifdef HAVE_WMMA
/* Four warps, each with a 32 by 32 square of a block's 64 by 64, in binary16 with sums in binary32. */
__global__ void sgemm_wmma(const float *a, const float *b, float *c)
{
	using namespace nvcuda;
	__shared__ __half as[64][32], bs[32][64];
	int t = threadIdx.x, warp = t >> 5, y = warp / 2 * 32, x = warp % 2 * 32, row = blockIdx.y * 64, column = blockIdx.x * 64;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
	for (int i = 0; i < 4; i++)
		wmma::fill_fragment(sums[i / 2][i % 2], 0.0f);
	for (int start = 0; start < MATRIX_N; start += 32) {
		for (int i = t; i < 64 * 32; i += 128) {
			as[i / 32][i % 32] = __float2half(a[(row + i / 32) * MATRIX_N + start + i % 32]);
			bs[i / 64][i % 64] = __float2half(b[(start + i / 64) * MATRIX_N + column + i % 64]);
		}
		__syncthreads();
		for (int k = 0; k < 32; k += 16) {
			wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left[2];
			wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right[2];
			for (int i = 0; i < 2; i++) {
				wmma::load_matrix_sync(left[i], &as[y + 16 * i][k], 32);
				wmma::load_matrix_sync(right[i], &bs[k][x + 16 * i], 64);
			}
			for (int i = 0; i < 4; i++)
				wmma::mma_sync(sums[i / 2][i % 2], left[i / 2], right[i % 2], sums[i / 2][i % 2]);
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		wmma::store_matrix_sync(&c[(row + y + i / 2 * 16) * MATRIX_N + column + x + i % 2 * 16], sums[i / 2][i % 2], MATRIX_N,
					wmma::mem_row_major);
}
#endif

template <class... Parameters> static void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, void **device)
{
	void *arguments[ROW_BUFFERS];
	for (int i = 0; i < ROW_BUFFERS; i++)
		arguments[i] = &device[i];
	CHECK(cudaLaunchKernel((const void *)kernel, grid, block, arguments, 0, 0));
}

static void run(enum row_id id, void **device)
{
	switch (id) {
	case ROW_LAUNCH_OVERHEAD:
	case ROW_LAUNCH_QUEUED:
	case ROW_LAUNCH_AFTER_WORK:
	case ROW_LAUNCH_AFTER_IDLE: launch(nothing, 1, 32, device); break;
	case ROW_TRIAD: launch(triad, STREAM_N / 256, 256, device); break;
	case ROW_SAXPY: launch(saxpy, STREAM_N / 256, 256, device); break;
	case ROW_STENCIL: launch(stencil, dim3(GRID_N / 32, GRID_N / 8), dim3(32, 8), device); break;
	case ROW_TRANSPOSE: launch(transpose, dim3(GRID_N / 32, GRID_N / 32), dim3(32, 8), device); break;
	case ROW_MATMUL: launch(matmul, dim3(MATRIX_N / 16, MATRIX_N / 16), dim3(16, 16), device); break;
	case ROW_SGEMM_TILED: launch(sgemm_tiled, dim3(MATRIX_N / 16, MATRIX_N / 16), dim3(16, 16), device); break;
	case ROW_SGEMM_TILED_32: launch(sgemm_tiled_32, dim3(MATRIX_N / 32, MATRIX_N / 32), dim3(32, 32), device); break;
	case ROW_NBODY: launch(nbody, BODIES / 256, 256, device); break;
	case ROW_MANDELBROT: launch(mandelbrot, dim3(MANDELBROT_N / 32, MANDELBROT_N / 8), dim3(32, 8), device); break;
	case ROW_BLACK_SCHOLES: launch(black_scholes, OPTIONS_N / 256, 256, device); break;
	case ROW_WARP_REDUCE: launch(warp_reduce, REDUCE_N / 256, 256, device); break;
	case ROW_BLOCK_REDUCE: launch(block_reduce, REDUCE_N / 256, 256, device); break;
	case ROW_HISTOGRAM: launch(histogram, HISTOGRAM_BLOCKS, 256, device); break;
	case ROW_BITONIC: launch(bitonic, SORT_N / 512, 512, device); break;
	case ROW_SPMV: launch(spmv, SPARSE_ROWS / 256, 256, device); break;
	case ROW_BFS: launch(bfs, GRAPH_NODES / 256, 256, device); break;
	case ROW_NBODY_DOUBLE: launch(nbody_double, BODIES_DOUBLE / 128, 128, device); break;
	case ROW_FFT: launch(fft, FFT_N / FFT_POINTS, FFT_POINTS / 2, device); break;
	case ROW_SCAN: launch(scan, SCAN_N / 256, 256, device); break;
	case ROW_RADIX_SORT: launch(radix_sort, SORT_N / 512, 512, device); break;
	case ROW_CONVOLUTION: launch(convolution, dim3(GRID_N / 32, GRID_N / 8), dim3(32, 8), device); break;
	case ROW_SOFTMAX: launch(softmax, NORM_ROWS, 256, device); break;
	case ROW_LAYER_NORM: launch(layer_norm, NORM_ROWS / 8, 256, device); break;
	case ROW_ATTENTION: launch(attention, dim3(HEAD_ROWS / 64, HEADS), 64, device); break;
#ifdef HAVE_WMMA
	case ROW_SGEMM_WMMA: launch(sgemm_wmma, dim3(MATRIX_N / 64, MATRIX_N / 64), 128, device); break;
#else
	case ROW_SGEMM_WMMA: fprintf(stderr, "bench.cu: built without mma.h\n"); exit(2);
#endif
	case ROW_COUNT: break;
	}
}

static void measure(struct row *row)
{
	static double times[ROW_MOST_RUNS];
	int runs = row_runs(row), repeats = row_repeats(row);
	void *device[ROW_BUFFERS] = {};
	for (int i = 0; i < row->buffers; i++) {
		CHECK(cudaMalloc(&device[i], row->bytes[i]));
		CHECK(cudaMemcpy(device[i], row->data[i], row->bytes[i], cudaMemcpyHostToDevice));
	}
	for (int i = -1; i < runs; i++) {
		row_pause(row);
		double start = row_now();
		for (int k = 0; k < repeats; k++)
			run(row->id, device);
		CHECK(cudaDeviceSynchronize());
		if (i >= 0)
			times[i] = (row_now() - start) / repeats;
	}
	for (int i = 0; i < row->buffers; i++) {
		CHECK(cudaMemcpy(row->data[i], device[i], row->bytes[i], cudaMemcpyDeviceToHost));
		CHECK(cudaFree(device[i]));
	}
	row_print(row, row_median(times, runs));
}

/* What a process has to do before its first kernel has run. */
static void first_launch()
{
	void *device;
	CHECK(cudaMalloc(&device, sizeof(int)));
	launch(nothing, 1, 32, &device);
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct row row;
		if (!strcmp(argv[i], "warm_start")) {
			first_launch();
			continue;
		}
		if (!row_open(&row, argv[i]))
			return fprintf(stderr, "no row %s\n", argv[i]), 2;
		measure(&row);
		row_close(&row);
	}
	return 0;
}
