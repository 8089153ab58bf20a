/* The benchmark's rows in plain C with OpenMP; see ../rows.h.
 *
 * Without TUNED, as a port of the kernel comes out: what a thread did is the body of a loop, which OpenMP distributes, and where threads
 * of a block worked together, what they made is made in one loop. With TUNED, what a programmer who knows the machine adds: sums that
 * may be made in another order (omp simd), the order of loops that vectorises, another algorithm (radix_sort). Rows that TUNED changes
 * are listed in scripts/bench. */
#define _GNU_SOURCE
#include "../rows.h"

#define PRAGMA(text) _Pragma(#text)
#ifdef TUNED
#define SIMD(clauses) PRAGMA(omp simd clauses)
#else
#define SIMD(clauses)
#endif

static void triad(const float *restrict b, const float *restrict c, float *restrict a)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < STREAM_N; i++)
		a[i] = b[i] + 3.0f * c[i];
}

static void saxpy(const float *restrict x, float *restrict y)
{
#pragma omp parallel for schedule(static)
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

/* For the matrix rows, which are kernels with one result. */
static void matmul(const float *restrict a, const float *restrict b, float *restrict c)
{
#pragma omp parallel for schedule(static)
	for (int row = 0; row < MATRIX_N; row++) {
		float *restrict sums = &c[row * MATRIX_N];
#ifdef TUNED
		memset(sums, 0, MATRIX_N * sizeof *sums);
		for (int k = 0; k < MATRIX_N; k++) {
			float factor = a[row * MATRIX_N + k];
			for (int column = 0; column < MATRIX_N; column++)
				sums[column] += factor * b[k * MATRIX_N + column];
		}
#else
		for (int column = 0; column < MATRIX_N; column++) {
			float sum = 0.0f;
			for (int k = 0; k < MATRIX_N; k++)
				sum += a[row * MATRIX_N + k] * b[k * MATRIX_N + column];
			sums[column] = sum;
		}
#endif
	}
}

static void nbody(const float *restrict bodies, float *restrict forces)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < BODIES; i++) {
		float ax = 0.0f, ay = 0.0f, az = 0.0f;
SIMD(reduction(+ : ax, ay, az))
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
	return 0.5f * erfcf(-x * 0.70710678f);
}

static void black_scholes(const float *restrict price, const float *restrict strike, const float *restrict years,
			  float *restrict call, float *restrict put)
{
	const float rate = 0.02f, volatility = 0.3f;
#pragma omp parallel for schedule(static)
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
SIMD(reduction(+ : sum))
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

static void nbody_double(const double *restrict bodies, double *restrict forces)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < BODIES_DOUBLE; i++) {
		double ax = 0.0, ay = 0.0, az = 0.0;
SIMD(reduction(+ : ax, ay, az))
		for (int j = 0; j < BODIES_DOUBLE; j++) {
			double dx = bodies[j * 4] - bodies[i * 4], dy = bodies[j * 4 + 1] - bodies[i * 4 + 1];
			double dz = bodies[j * 4 + 2] - bodies[i * 4 + 2];
			double inverse = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 0.01);
			double pull = bodies[j * 4 + 3] * inverse * inverse * inverse;
			ax += dx * pull;
			ay += dy * pull;
			az += dz * pull;
		}
		forces[i * 4] = ax;
		forces[i * 4 + 1] = ay;
		forces[i * 4 + 2] = az;
		forces[i * 4 + 3] = 0.0;
	}
}

static void fft(const float *restrict in, const float *restrict roots, float *restrict out)
{
#pragma omp parallel for schedule(static)
	for (int base = 0; base < FFT_N; base += FFT_POINTS) {
		float *restrict points = &out[2 * base];
		for (int i = 0; i < FFT_POINTS; i++) {
			int to = 0;
			for (int bit = 1; bit < FFT_POINTS; bit *= 2)
				to = 2 * to + ((i & bit) != 0);
			points[2 * to] = in[2 * (base + i)];
			points[2 * to + 1] = in[2 * (base + i) + 1];
		}
		for (int half = 1; half < FFT_POINTS; half *= 2)
			for (int start = 0; start < FFT_POINTS; start += 2 * half)
				for (int k = 0; k < half; k++) {
					float *a = &points[2 * (start + k)], *b = a + 2 * half;
					const float *root = &roots[2 * k * (FFT_POINTS / 2 / half)];
					float x = b[0] * root[0] - b[1] * root[1], y = b[0] * root[1] + b[1] * root[0];
					b[0] = a[0] - x;
					b[1] = a[1] - y;
					a[0] += x;
					a[1] += y;
				}
	}
}

static void scan(const int *restrict in, int *restrict out)
{
#pragma omp parallel for schedule(static)
	for (int start = 0; start < SCAN_N; start += 256) {
		int sum = 0;
		for (int i = start; i < start + 256; i++)
			out[i] = sum += in[i];
	}
}

#ifdef TUNED
/* By counting: the order of equal keys cannot be told. */
static void sort_piece(const int *restrict in, int *restrict out)
{
	int places[(1 << RADIX_BITS) + 1] = { 0 };
	for (int i = 0; i < 512; i++)
		places[in[i] + 1]++;
	for (int i = 0; i < 1 << RADIX_BITS; i++)
		places[i + 1] += places[i];
	for (int i = 0; i < 512; i++)
		out[places[in[i]]++] = in[i];
}
#else
/* Split by one bit after the other, as the kernel does. */
static void sort_piece(const int *restrict in, int *restrict out)
{
	int keys[512], split[512];
	memcpy(keys, in, sizeof keys);
	for (int bit = 0; bit < RADIX_BITS; bit++) {
		int zeros = 0, before = 0;
		for (int i = 0; i < 512; i++)
			zeros += !(keys[i] >> bit & 1);
		for (int i = 0; i < 512; i++) {
			int one = keys[i] >> bit & 1;
			split[one ? zeros + i - before : before] = keys[i];
			before += !one;
		}
		memcpy(keys, split, sizeof keys);
	}
	memcpy(out, keys, sizeof keys);
}
#endif

static void radix_sort(const int *restrict in, int *restrict out)
{
#pragma omp parallel for schedule(static)
	for (int start = 0; start < SORT_N; start += 512)
		sort_piece(&in[start], &out[start]);
}

static void convolution(const float *restrict in, const float *restrict filter, float *restrict out)
{
	enum { REACH = FILTER / 2 };
#pragma omp parallel for schedule(static)
	for (int y = 0; y < GRID_N; y++) {
		float *restrict sums = &out[y * GRID_N];
		memset(sums, 0, GRID_N * sizeof *sums);
		for (int fy = -REACH; fy <= REACH; fy++)
			for (int fx = -REACH; fx <= REACH && y + fy >= 0 && y + fy < GRID_N; fx++) {
				float weight = filter[(fy + REACH) * FILTER + fx + REACH];
				int from = fx < 0 ? -fx : 0, to = fx > 0 ? GRID_N - fx : GRID_N;
				for (int x = from; x < to; x++)
					sums[x] += weight * in[(y + fy) * GRID_N + x + fx];
			}
	}
}

static void softmax(const float *restrict in, float *restrict out)
{
#pragma omp parallel for schedule(static)
	for (int row = 0; row < NORM_ROWS; row++) {
		const float *restrict from = &in[row * NORM_COLUMNS];
		float *restrict to = &out[row * NORM_COLUMNS], most = from[0], sum = 0.0f;
SIMD(reduction(max : most))
		for (int i = 0; i < NORM_COLUMNS; i++)
			most = from[i] > most ? from[i] : most;
SIMD(reduction(+ : sum))
		for (int i = 0; i < NORM_COLUMNS; i++)
			sum += to[i] = expf(from[i] - most);
		for (int i = 0; i < NORM_COLUMNS; i++)
			to[i] *= 1.0f / sum;
	}
}

static void layer_norm(const float *restrict in, const float *restrict weights, const float *restrict biases, float *restrict out)
{
#pragma omp parallel for schedule(static)
	for (int row = 0; row < NORM_ROWS; row++) {
		const float *restrict from = &in[row * NORM_COLUMNS];
		float sum = 0.0f, squares = 0.0f;
SIMD(reduction(+ : sum))
		for (int i = 0; i < NORM_COLUMNS; i++)
			sum += from[i];
		float mean = sum / NORM_COLUMNS;
SIMD(reduction(+ : squares))
		for (int i = 0; i < NORM_COLUMNS; i++)
			squares += (from[i] - mean) * (from[i] - mean);
		float scale = 1.0f / sqrtf(squares / NORM_COLUMNS + 1e-5f);
SIMD()
		for (int i = 0; i < NORM_COLUMNS; i++)
			out[row * NORM_COLUMNS + i] = (from[i] - mean) * scale * weights[i] + biases[i];
	}
}

static void attention(const float *restrict queries, const float *restrict keys, const float *restrict values, float *restrict out)
{
#pragma omp parallel for collapse(2) schedule(static)
	for (int head = 0; head < HEADS; head++)
		for (int row = 0; row < HEAD_ROWS; row++) {
			const float *restrict query = &queries[(head * HEAD_ROWS + row) * HEAD_SIZE];
			float *restrict sums = &out[(head * HEAD_ROWS + row) * HEAD_SIZE];
			float scores[HEAD_ROWS], most = -1e30f, total = 0.0f;
			for (int j = 0; j < HEAD_ROWS; j++) {
				float score = 0.0f;
SIMD(reduction(+ : score))
				for (int i = 0; i < HEAD_SIZE; i++)
					score += query[i] * keys[(head * HEAD_ROWS + j) * HEAD_SIZE + i];
				scores[j] = score * 0.125f;
				most = scores[j] > most ? scores[j] : most;
			}
SIMD(reduction(+ : total))
			for (int j = 0; j < HEAD_ROWS; j++)
				total += scores[j] = expf(scores[j] - most);
			memset(sums, 0, HEAD_SIZE * sizeof *sums);
			for (int j = 0; j < HEAD_ROWS; j++)
				for (int i = 0; i < HEAD_SIZE; i++)
					sums[i] += scores[j] / total * values[(head * HEAD_ROWS + j) * HEAD_SIZE + i];
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
	case ROW_LAUNCH_OVERHEAD:
	case ROW_LAUNCH_QUEUED:
	case ROW_LAUNCH_AFTER_WORK:
	case ROW_LAUNCH_AFTER_IDLE: nothing(); break;
	case ROW_TRIAD: triad(d[0], d[1], d[2]); break;
	case ROW_SAXPY: saxpy(d[0], d[1]); break;
	case ROW_STENCIL: stencil(d[0], d[1]); break;
	case ROW_TRANSPOSE: transpose(d[0], d[1]); break;
	case ROW_MATMUL:
	case ROW_SGEMM_TILED:
	case ROW_SGEMM_TILED_32:
	case ROW_SGEMM_WMMA: matmul(d[0], d[1], d[2]); break;
	case ROW_NBODY: nbody(d[0], d[1]); break;
	case ROW_MANDELBROT: mandelbrot(d[0]); break;
	case ROW_BLACK_SCHOLES: black_scholes(d[0], d[1], d[2], d[3], d[4]); break;
	case ROW_WARP_REDUCE: reduce(d[0], d[1], 32); break;
	case ROW_BLOCK_REDUCE: reduce(d[0], d[1], 256); break;
	case ROW_HISTOGRAM: histogram(d[0], d[1]); break;
	case ROW_BITONIC: bitonic(d[0], d[1]); break;
	case ROW_SPMV: spmv(d[0], d[1], d[2], d[3], d[4]); break;
	case ROW_BFS: bfs(d[0], d[1], d[2]); break;
	case ROW_NBODY_DOUBLE: nbody_double(d[0], d[1]); break;
	case ROW_FFT: fft(d[0], d[1], d[2]); break;
	case ROW_SCAN: scan(d[0], d[1]); break;
	case ROW_RADIX_SORT: radix_sort(d[0], d[1]); break;
	case ROW_CONVOLUTION: convolution(d[0], d[1], d[2]); break;
	case ROW_SOFTMAX: softmax(d[0], d[1]); break;
	case ROW_LAYER_NORM: layer_norm(d[0], d[1], d[2], d[3]); break;
	case ROW_ATTENTION: attention(d[0], d[1], d[2], d[3]); break;
	case ROW_COUNT: break;
	}
}

int main(int argc, char **argv)
{
	static double times[ROW_MOST_RUNS];
	for (int i = 1; i < argc; i++) {
		struct row row;
		if (!row_open(&row, argv[i]))
			return fprintf(stderr, "no row %s\n", argv[i]), 2;
		int runs = row_runs(&row), repeats = row_repeats(&row);
		for (int k = -1; k < runs; k++) {
			row_pause(&row);
			double start = row_now();
			for (int r = 0; r < repeats; r++)
				run(&row);
			if (k >= 0)
				times[k] = (row_now() - start) / repeats;
		}
		row_print(&row, row_median(times, runs));
		row_close(&row);
	}
	return 0;
}
