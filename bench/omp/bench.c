/* The benchmark's rows in plain C with OpenMP, as a programmer without a GPU would write them; see ../rows.h. */
#define _GNU_SOURCE
#include "../rows.h"

static void triad(const float *restrict b, const float *restrict c, float *restrict a)
{
#pragma omp parallel for simd schedule(static)
	for (int i = 0; i < STREAM_N; i++)
		a[i] = b[i] + 3.0f * c[i];
}

static void saxpy(const float *restrict x, float *restrict y)
{
#pragma omp parallel for simd schedule(static)
	for (int i = 0; i < STREAM_N; i++)
		y[i] = 0.25f * x[i] + y[i];
}

static void stencil(const float *restrict in, float *restrict out)
{
#pragma omp parallel for schedule(static)
	for (int y = 1; y < GRID_N - 1; y++)
		for (int x = 1; x < GRID_N - 1; x++) {
			int i = y * GRID_N + x;
			out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - GRID_N] + in[i + GRID_N]);
		}
}

static void transpose(const float *restrict in, float *restrict out)
{
#pragma omp parallel for collapse(2) schedule(static)
	for (int by = 0; by < GRID_N; by += 32)
		for (int bx = 0; bx < GRID_N; bx += 32)
			for (int x = bx; x < bx + 32; x++)
				for (int y = by; y < by + 32; y++)
					out[x * GRID_N + y] = in[y * GRID_N + x];
}

/* The order of loops that vectorises: both matrix rows are kernels with the same result. */
static void matmul(const float *restrict a, const float *restrict b, float *restrict c)
{
#pragma omp parallel for schedule(static)
	for (int row = 0; row < MATRIX_N; row++) {
		float *restrict sums = &c[row * MATRIX_N];
		for (int column = 0; column < MATRIX_N; column++)
			sums[column] = 0.0f;
		for (int k = 0; k < MATRIX_N; k++) {
			float factor = a[row * MATRIX_N + k];
			for (int column = 0; column < MATRIX_N; column++)
				sums[column] += factor * b[k * MATRIX_N + column];
		}
	}
}

static void nbody(const float *restrict bodies, float *restrict forces)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < BODIES; i++) {
		float ax = 0.0f, ay = 0.0f, az = 0.0f;
#pragma omp simd reduction(+ : ax, ay, az)
		for (int j = 0; j < BODIES; j++) {
			float dx = bodies[j * 4] - bodies[i * 4], dy = bodies[j * 4 + 1] - bodies[i * 4 + 1];
			float dz = bodies[j * 4 + 2] - bodies[i * 4 + 2];
			float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
			float pull = bodies[j * 4 + 3] * inverse * inverse * inverse;
			ax += dx * pull;
			ay += dy * pull;
			az += dz * pull;
		}
		forces[i * 4] = ax;
		forces[i * 4 + 1] = ay;
		forces[i * 4 + 2] = az;
		forces[i * 4 + 3] = 0.0f;
	}
}

static void mandelbrot(int *rounds)
{
#pragma omp parallel for schedule(dynamic, 8)
	for (int row = 0; row < MANDELBROT_N; row++)
		for (int column = 0; column < MANDELBROT_N; column++) {
			float cx = -2.0f + (float)column * (3.0f / MANDELBROT_N), cy = -1.5f + (float)row * (3.0f / MANDELBROT_N);
			float x = 0.0f, y = 0.0f;
			int n = 0;
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
}

static inline float normal(float x)
{
	float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
	float tail = 0.39894228f * expf(-0.5f * x * x) *
		     (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
	return x > 0.0f ? 1.0f - tail : tail;
}

static void black_scholes(const float *restrict price, const float *restrict strike, const float *restrict years,
			  float *restrict call, float *restrict put)
{
	const float rate = 0.02f, volatility = 0.3f;
#pragma omp parallel for simd schedule(static)
	for (int i = 0; i < OPTIONS_N; i++) {
		float root = sqrtf(years[i]);
		float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
		float d2 = d1 - volatility * root, n1 = normal(d1), n2 = normal(d2);
		float discounted = strike[i] * expf(-rate * years[i]);
		call[i] = price[i] * n1 - discounted * n2;
		put[i] = discounted * (1.0f - n2) - price[i] * (1.0f - n1);
	}
}

static void reduce(const float *restrict in, float *restrict out, int piece)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < REDUCE_N / piece; i++) {
		float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
		for (int k = 0; k < piece; k++)
			sum += in[i * piece + k];
		out[i] = sum;
	}
}

static void histogram(const int *values, int *counts)
{
#pragma omp parallel
	{
		int mine[256] = { 0 };
#pragma omp for schedule(static)
		for (int i = 0; i < HISTOGRAM_N; i++)
			mine[values[i] & 255]++;
		for (int i = 0; i < 256; i++)
#pragma omp atomic
			counts[i] += mine[i];
	}
}

static void bitonic(const int *restrict in, int *restrict out)
{
#pragma omp parallel for schedule(static)
	for (int start = 0; start < SORT_N; start += 512) {
		int *keys = &out[start];
		for (int t = 0; t < 512; t++)
			keys[t] = in[start + t];
		for (int k = 2; k <= 512; k <<= 1)
			for (int j = k >> 1; j > 0; j >>= 1)
				for (int t = 0; t < 512; t++) {
					int other = t ^ j;
					if (other <= t)
						continue;
					int a = keys[t], b = keys[other];
					if ((t & k) == 0 ? a > b : a < b) {
						keys[t] = b;
						keys[other] = a;
					}
				}
	}
}

static void spmv(const int *restrict starts, const int *restrict columns, const float *restrict values,
		 const float *restrict x, float *restrict y)
{
#pragma omp parallel for schedule(static)
	for (int row = 0; row < SPARSE_ROWS; row++) {
		float sum = 0.0f;
		for (int i = starts[row]; i < starts[row + 1]; i++)
			sum += values[i] * x[columns[i]];
		y[row] = sum;
	}
}

static void bfs(const int *starts, const int *edges, int *levels)
{
#pragma omp parallel for schedule(static)
	for (int node = 0; node < GRAPH_NODES; node++) {
		if (levels[node] != 3)
			continue;
		for (int i = starts[node]; i < starts[node + 1]; i++)
			if (levels[edges[i]] < 0)
				levels[edges[i]] = 4;
	}
}

static int nothing_done;

static void nothing(void)
{
#pragma omp parallel
	{
#pragma omp master
		*(volatile int *)&nothing_done = 1;
	}
}

static void run(const struct row *row)
{
	void *const *d = row->data;
	switch (row->id) {
	case ROW_LAUNCH_OVERHEAD: nothing(); break;
	case ROW_TRIAD: triad(d[0], d[1], d[2]); break;
	case ROW_SAXPY: saxpy(d[0], d[1]); break;
	case ROW_STENCIL: stencil(d[0], d[1]); break;
	case ROW_TRANSPOSE: transpose(d[0], d[1]); break;
	case ROW_MATMUL:
	case ROW_SGEMM_TILED: matmul(d[0], d[1], d[2]); break;
	case ROW_NBODY: nbody(d[0], d[1]); break;
	case ROW_MANDELBROT: mandelbrot(d[0]); break;
	case ROW_BLACK_SCHOLES: black_scholes(d[0], d[1], d[2], d[3], d[4]); break;
	case ROW_WARP_REDUCE: reduce(d[0], d[1], 32); break;
	case ROW_BLOCK_REDUCE: reduce(d[0], d[1], 256); break;
	case ROW_HISTOGRAM: histogram(d[0], d[1]); break;
	case ROW_BITONIC: bitonic(d[0], d[1]); break;
	case ROW_SPMV: spmv(d[0], d[1], d[2], d[3], d[4]); break;
	case ROW_BFS: bfs(d[0], d[1], d[2]); break;
	case ROW_COUNT: break;
	}
}

int main(int argc, char **argv)
{
	static double times[2001];
	for (int i = 1; i < argc; i++) {
		struct row row;
		if (!row_open(&row, argv[i]))
			return fprintf(stderr, "no row %s\n", argv[i]), 2;
		int runs = row.id == ROW_LAUNCH_OVERHEAD ? 2001 : ROW_RUNS;
		for (int k = -1; k < runs; k++) {
			double start = row_now();
			run(&row);
			if (k >= 0)
				times[k] = row_now() - start;
		}
		row_print(&row, row_median(times, runs));
		row_close(&row);
	}
	return 0;
}
