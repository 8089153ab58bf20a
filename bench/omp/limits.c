/* What this machine can do at most, measured in the same run as the rows that are held against it (scripts/bench):
 *
 *     limits triad        milliseconds of STREAM's triad with ordinary stores, over the row's arrays
 *     limits nbody        milliseconds of the row's additions and multiplications at the rate of independent vector FMAs
 *     limits sgemm_tiled  milliseconds of OpenBLAS's sgemm (where built with -DWITH_OPENBLAS); sgemm_tiled_32 too
 *
 * Prints a line as the benchmark's programs do (rows.h), the median of ROW_RUNS runs after one that warms up. */
#define _GNU_SOURCE
#include "../rows.h"

#ifdef WITH_OPENBLAS
#include <cblas.h>
#endif

static void triad(const struct row *row)
{
	const float *restrict b = row->data[0], *restrict c = row->data[1];
	float *restrict a = row->data[2];
#pragma omp parallel for simd schedule(static)
	for (int i = 0; i < STREAM_N; i++)
		a[i] = b[i] + 3.0f * c[i];
}

enum {
	CHAINS = 12, LANES = 16, /* enough of them to hide the latency: 12 vectors of 512 bits, or 24 of 256 */
	NBODY_OPERATIONS = 12    /* for each pair: 3 differences, 3 for the distance, 3 products, 3 sums; root and quotient have ports of their own */
};

/* As many FMAs as the row has operations. */
static float fma_rate(void)
{
	float result = 0.0f;
	long rounds = (long)BODIES * BODIES / LANES / CHAINS * NBODY_OPERATIONS;
#pragma omp parallel reduction(+ : result)
	{
		float sums[CHAINS][LANES];
		for (int i = 0; i < CHAINS; i++)
			for (int k = 0; k < LANES; k++)
				sums[i][k] = (float)(i + k);
#pragma omp for schedule(static)
		for (long round = 0; round < rounds; round++)
			for (int i = 0; i < CHAINS; i++)
				for (int k = 0; k < LANES; k++)
					sums[i][k] = sums[i][k] * 0.999f + 0.001f;
		for (int i = 0; i < CHAINS; i++)
			for (int k = 0; k < LANES; k++)
				result += sums[i][k];
	}
	return result;
}

static void run(const struct row *row, const char *name)
{
	static volatile float kept; /* so that the work is done */
	if (!strcmp(name, "triad"))
		triad(row);
	else if (!strcmp(name, "nbody"))
		kept = fma_rate();
#ifdef WITH_OPENBLAS
	else if (!strncmp(name, "sgemm_tiled", 11))
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, MATRIX_N, MATRIX_N, MATRIX_N, 1.0f, row->data[0], MATRIX_N,
			    row->data[1], MATRIX_N, 0.0f, row->data[2], MATRIX_N);
#endif
	else
		exit(2);
	(void)kept;
}

int main(int argc, char **argv)
{
	double times[ROW_RUNS];
	struct row row;
	if (argc != 2 || !row_open(&row, argv[1]))
		return fprintf(stderr, "usage: limits triad|nbody|sgemm_tiled\n"), 2;
	for (int i = -1; i < ROW_RUNS; i++) {
		double start = row_now();
		run(&row, argv[1]);
		if (i >= 0)
			times[i] = row_now() - start;
	}
	row_print(&row, row_median(times, ROW_RUNS));
	row_close(&row);
	return 0;
}
