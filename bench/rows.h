/* The rows of the benchmark: their sizes, inputs and checksums, shared by the CUDA, OpenCL and OpenMP programs so that all
 * of them do the same work on the same data. Each program is called with names of rows and prints, for each,
 *
 *     NAME  MILLISECONDS  CHECKSUM
 *
 * where the time is the median of ROW_RUNS runs after one that warms up. ROW_SHIFT (0) makes the work smaller: by one, it is a quarter. */
#ifndef DRAGOMAN_BENCH_ROWS_H
#define DRAGOMAN_BENCH_ROWS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef ROW_SHIFT
#define ROW_SHIFT 0
#endif
/* What grows with the work, and what grows with its square root: sides of squares, bodies that all look at all. */
#define ROW_SIZE(size) ((size) >> 2 * ROW_SHIFT)
#define ROW_SIDE(side) ((side) >> ROW_SHIFT)

enum {
	ROW_RUNS = 7,
	STREAM_N = ROW_SIZE(1 << 24),
	GRID_N = ROW_SIDE(2048),          /* stencil, transpose: a square of that side */
	MATRIX_N = ROW_SIDE(768),         /* whose work grows with the cube */
	BODIES = ROW_SIDE(8192),
	MANDELBROT_N = ROW_SIDE(1024),
	MANDELBROT_ROUNDS = 512,
	OPTIONS_N = ROW_SIZE(1 << 20),
	REDUCE_N = ROW_SIZE(1 << 22),
	HISTOGRAM_N = ROW_SIZE(1 << 22),
	HISTOGRAM_BLOCKS = 128,
	SORT_N = ROW_SIZE(1 << 20),       /* in pieces of 512 */
	SPARSE_ROWS = ROW_SIZE(1 << 17),
	SPARSE_PER_ROW = 16,
	GRAPH_NODES = ROW_SIZE(1 << 18),
	GRAPH_DEGREE = 8,
	BODIES_DOUBLE = ROW_SIDE(4096),
	FFT_POINTS = 512,                 /* of one transform, which is a block's */
	FFT_N = ROW_SIZE(1 << 21),        /* of all */
	SCAN_N = ROW_SIZE(1 << 22),       /* in pieces of 256 */
	RADIX_BITS = 8,         /* of the keys, pieces of SORT_N's 512 */
	FILTER = 5,             /* convolution of the grid with a square of that side */
	NORM_ROWS = ROW_SIZE(4096),       /* softmax, layer norm */
	NORM_COLUMNS = 1024,
	HEADS = ROW_SIZE(32),             /* attention: sequences of HEAD_ROWS queries, keys and values of HEAD_SIZE floats */
	HEAD_ROWS = 256,
	HEAD_SIZE = 64
};

enum row_id {
	ROW_LAUNCH_OVERHEAD, ROW_LAUNCH_QUEUED, ROW_LAUNCH_AFTER_WORK, ROW_LAUNCH_AFTER_IDLE, /* the others are kernels that do something */
	ROW_TRIAD, ROW_SAXPY, ROW_STENCIL, ROW_TRANSPOSE, ROW_MATMUL, ROW_SGEMM_TILED, ROW_SGEMM_TILED_32,
	ROW_NBODY, ROW_MANDELBROT, ROW_BLACK_SCHOLES, ROW_WARP_REDUCE, ROW_BLOCK_REDUCE, ROW_HISTOGRAM, ROW_BITONIC, ROW_SPMV, ROW_BFS,
	ROW_NBODY_DOUBLE, ROW_FFT, ROW_SCAN, ROW_RADIX_SORT, ROW_CONVOLUTION, ROW_SOFTMAX, ROW_LAYER_NORM, ROW_ATTENTION,
	ROW_SGEMM_WMMA, ROW_COUNT
};

static const char *const row_names[ROW_COUNT] = { "launch_overhead", "launch_queued", "launch_after_work", "launch_after_idle", "triad", "saxpy", "stencil", "transpose", "matmul",
	"sgemm_tiled", "sgemm_tiled_32", "nbody", "mandelbrot", "black_scholes", "warp_reduce", "block_reduce", "histogram",
	"bitonic", "spmv", "bfs", "nbody_double", "fft", "scan", "radix_sort", "convolution", "softmax", "layer_norm", "attention", "sgemm_wmma" };

enum { ROW_BUFFERS = 5 };

enum row_value { ROW_FLOATS, ROW_INTS, ROW_DOUBLES };

/* Buffers in the order of the kernels' parameters; the results are the last of them (two for black_scholes). */
struct row {
	enum row_id id;
	void *data[ROW_BUFFERS];
	size_t bytes[ROW_BUFFERS];
	int buffers, results;
	enum row_value result;
};

static unsigned row_random_state;

static unsigned row_random(void)
{
	row_random_state = row_random_state * 1664525u + 1013904223u;
	return row_random_state >> 8;
}

static void *row_add(struct row *row, size_t bytes)
{
	void *data = NULL;
	if (posix_memalign(&data, 64, bytes))
		exit(2);
	memset(data, 0, bytes);
	row->data[row->buffers] = data;
	row->bytes[row->buffers++] = bytes;
	return data;
}

static void row_add_floats(struct row *row, size_t count, float low, float high)
{
	float *values = (float *)row_add(row, count * sizeof(float));
	for (size_t i = 0; i < count; i++)
		values[i] = low + (high - low) * (float)(row_random() & 0xffff) / 65536.0f;
}

/* `low` is the first of `span` values; negative spans give 0, 1, 2, ... times -span. */
static void row_add_ints(struct row *row, size_t count, int span)
{
	int *values = (int *)row_add(row, count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		values[i] = span < 0 ? (int)i * -span : (int)(row_random() % (unsigned)span);
}

/* Of the binary16 numbers, which a tensor core multiplies without rounding. */
static void row_add_halves(struct row *row, size_t count)
{
	float *values = (float *)row_add(row, count * sizeof(float));
	for (size_t i = 0; i < count; i++)
		values[i] = (float)(row_random() & 1023) / 1024.0f;
}

static int row_open(struct row *row, const char *name)
{
	memset(row, 0, sizeof *row);
	row_random_state = 1;
	int id = 0;
	while (id < ROW_COUNT && strcmp(name, row_names[id]))
		id++;
	row->id = (enum row_id)id;
	row->results = 1;
	switch (id) {
	case ROW_LAUNCH_OVERHEAD:
	case ROW_LAUNCH_QUEUED:
	case ROW_LAUNCH_AFTER_WORK:
	case ROW_LAUNCH_AFTER_IDLE:
		row->results = 0;
		return 1;
	case ROW_TRIAD:
		row_add_floats(row, STREAM_N, 0, 1);
		row_add_floats(row, STREAM_N, 0, 1);
		row_add(row, STREAM_N * sizeof(float));
		return 1;
	case ROW_SAXPY: /* y grows by the same in each run */
		row_add_floats(row, STREAM_N, 0, 1);
		row_add_floats(row, STREAM_N, 0, 1);
		return 1;
	case ROW_STENCIL:
	case ROW_TRANSPOSE:
		row_add_floats(row, (size_t)GRID_N * GRID_N, 0, 1);
		row_add(row, (size_t)GRID_N * GRID_N * sizeof(float));
		return 1;
	case ROW_MATMUL:
	case ROW_SGEMM_TILED:
	case ROW_SGEMM_TILED_32:
		row_add_floats(row, (size_t)MATRIX_N * MATRIX_N, 0, 1);
		row_add_floats(row, (size_t)MATRIX_N * MATRIX_N, 0, 1);
		row_add(row, (size_t)MATRIX_N * MATRIX_N * sizeof(float));
		return 1;
	case ROW_NBODY:
		row_add_floats(row, (size_t)BODIES * 4, 0, 1);
		row_add(row, (size_t)BODIES * 4 * sizeof(float));
		return 1;
	case ROW_MANDELBROT:
		row_add(row, (size_t)MANDELBROT_N * MANDELBROT_N * sizeof(int));
		row->result = ROW_INTS;
		return 1;
	case ROW_BLACK_SCHOLES: /* price, strike, years */
		row_add_floats(row, OPTIONS_N, 5, 30);
		row_add_floats(row, OPTIONS_N, 1, 100);
		row_add_floats(row, OPTIONS_N, 0.25f, 10);
		row_add(row, OPTIONS_N * sizeof(float));
		row_add(row, OPTIONS_N * sizeof(float));
		row->results = 2;
		return 1;
	case ROW_WARP_REDUCE:
		row_add_floats(row, REDUCE_N, 0, 1);
		row_add(row, REDUCE_N / 32 * sizeof(float));
		return 1;
	case ROW_BLOCK_REDUCE:
		row_add_floats(row, REDUCE_N, 0, 1);
		row_add(row, REDUCE_N / 256 * sizeof(float));
		return 1;
	case ROW_HISTOGRAM: /* adds up over the runs */
		row_add_ints(row, HISTOGRAM_N, 1 << 20);
		row_add(row, 256 * sizeof(int));
		row->result = ROW_INTS;
		return 1;
	case ROW_BITONIC:
		row_add_ints(row, SORT_N, 1 << 20);
		row_add(row, SORT_N * sizeof(int));
		row->result = ROW_INTS;
		return 1;
	case ROW_SPMV: /* row starts, columns, values, x, y */
		row_add_ints(row, SPARSE_ROWS + 1, -SPARSE_PER_ROW);
		row_add_ints(row, (size_t)SPARSE_ROWS * SPARSE_PER_ROW, SPARSE_ROWS);
		row_add_floats(row, (size_t)SPARSE_ROWS * SPARSE_PER_ROW, 0, 1);
		row_add_floats(row, SPARSE_ROWS, 0, 1);
		row_add(row, SPARSE_ROWS * sizeof(float));
		return 1;
	case ROW_BFS: { /* edge starts, edges, levels: one step out of an eighth of the nodes */
		row_add_ints(row, GRAPH_NODES + 1, -GRAPH_DEGREE);
		row_add_ints(row, (size_t)GRAPH_NODES * GRAPH_DEGREE, GRAPH_NODES);
		int *levels = (int *)row_add(row, GRAPH_NODES * sizeof(int));
		for (int i = 0; i < GRAPH_NODES; i++)
			levels[i] = row_random() % 8 == 0 ? 3 : -1;
		row->result = ROW_INTS;
		return 1;
	}
	case ROW_NBODY_DOUBLE: {
		double *bodies = (double *)row_add(row, (size_t)BODIES_DOUBLE * 4 * sizeof(double));
		for (int i = 0; i < BODIES_DOUBLE * 4; i++)
			bodies[i] = (double)(row_random() & 0xffff) / 65536.0;
		row_add(row, (size_t)BODIES_DOUBLE * 4 * sizeof(double));
		row->result = ROW_DOUBLES;
		return 1;
	}
	case ROW_FFT: { /* complex numbers, the roots of unity, the transforms */
		row_add_floats(row, (size_t)FFT_N * 2, 0, 1);
		float *roots = (float *)row_add(row, FFT_POINTS * sizeof(float));
		for (int i = 0; i < FFT_POINTS / 2; i++) {
			roots[2 * i] = (float)cos(-2.0 * 3.14159265358979323846 * i / FFT_POINTS);
			roots[2 * i + 1] = (float)sin(-2.0 * 3.14159265358979323846 * i / FFT_POINTS);
		}
		row_add(row, (size_t)FFT_N * 2 * sizeof(float));
		return 1;
	}
	case ROW_SCAN:
		row_add_ints(row, SCAN_N, 1 << 10);
		row_add(row, SCAN_N * sizeof(int));
		row->result = ROW_INTS;
		return 1;
	case ROW_RADIX_SORT:
		row_add_ints(row, SORT_N, 1 << RADIX_BITS);
		row_add(row, SORT_N * sizeof(int));
		row->result = ROW_INTS;
		return 1;
	case ROW_CONVOLUTION:
		row_add_floats(row, (size_t)GRID_N * GRID_N, 0, 1);
		row_add_floats(row, FILTER * FILTER, 0, 1);
		row_add(row, (size_t)GRID_N * GRID_N * sizeof(float));
		return 1;
	case ROW_SOFTMAX:
		row_add_floats(row, (size_t)NORM_ROWS * NORM_COLUMNS, -4, 4);
		row_add(row, (size_t)NORM_ROWS * NORM_COLUMNS * sizeof(float));
		return 1;
	case ROW_LAYER_NORM: /* rows, weights, biases */
		row_add_floats(row, (size_t)NORM_ROWS * NORM_COLUMNS, 1, 4);
		row_add_floats(row, NORM_COLUMNS, 0, 1);
		row_add_floats(row, NORM_COLUMNS, 0, 1);
		row_add(row, (size_t)NORM_ROWS * NORM_COLUMNS * sizeof(float));
		return 1;
	case ROW_ATTENTION: /* queries, keys, values */
		for (int i = 0; i < 3; i++)
			row_add_floats(row, (size_t)HEADS * HEAD_ROWS * HEAD_SIZE, i < 2 ? -1 : 0, 1);
		row_add(row, (size_t)HEADS * HEAD_ROWS * HEAD_SIZE * sizeof(float));
		return 1;
	case ROW_SGEMM_WMMA:
		row_add_halves(row, (size_t)MATRIX_N * MATRIX_N);
		row_add_halves(row, (size_t)MATRIX_N * MATRIX_N);
		row_add(row, (size_t)MATRIX_N * MATRIX_N * sizeof(float));
		return 1;
	}
	return 0;
}

enum { ROW_MOST_RUNS = 2001, ROW_PAUSE_MS = 20 };

static int row_runs(const struct row *row)
{
	switch (row->id) {
	case ROW_LAUNCH_OVERHEAD: return ROW_MOST_RUNS;
	case ROW_LAUNCH_QUEUED: return 21;
	case ROW_LAUNCH_AFTER_WORK:
	case ROW_LAUNCH_AFTER_IDLE: return 101;
	default: return ROW_RUNS;
	}
}

static double row_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* How often it is launched before it is waited for; the time printed is for one of them. */
static int row_repeats(const struct row *row)
{
	return row->id == ROW_LAUNCH_QUEUED ? 1000 : 1;
}

/* What comes before the clock is looked at: a pause in which workers go to sleep, and the host does too or does not. */
static void row_pause(const struct row *row)
{
	struct timespec pause = { 0, ROW_PAUSE_MS * 1000000 };
	if (row->id == ROW_LAUNCH_AFTER_IDLE)
		nanosleep(&pause, NULL);
	for (double end = row_now() + ROW_PAUSE_MS; row->id == ROW_LAUNCH_AFTER_WORK && row_now() < end;)
		continue;
}

static void row_close(struct row *row)
{
	for (int i = 0; i < row->buffers; i++)
		free(row->data[i]);
}

/* Weighted by place, so that results in the wrong order show; a mean, so that sizes do not matter. */
static double row_checksum(const struct row *row)
{
	double sum = 0.0;
	for (int i = row->buffers - row->results; i < row->buffers; i++) {
		size_t count = row->bytes[i] / (row->result == ROW_DOUBLES ? 8 : 4);
		double part = 0.0;
		for (size_t k = 0; k < count; k++) {
			double value = row->result == ROW_INTS   ? (double)((const int *)row->data[i])[k] :
				       row->result == ROW_FLOATS ? (double)((const float *)row->data[i])[k] :
								   ((const double *)row->data[i])[k];
			part += value * (double)(1 + k % 7);
		}
		sum += part / (double)count;
	}
	return sum;
}

static int row_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double row_median(double *times, int count)
{
	qsort(times, (size_t)count, sizeof *times, row_compare);
	return times[count / 2];
}

static void row_print(const struct row *row, double milliseconds)
{
	printf("%s %.6f %.9g\n", row_names[row->id], milliseconds, row_checksum(row));
	fflush(stdout);
}

#endif
