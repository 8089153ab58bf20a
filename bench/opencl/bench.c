/* Runs bench.cl's rows on the first OpenCL device there is (PoCL, where no other is installed); see ../rows.h.
 * Usage: bench_opencl BENCH.CL NAME... */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "../rows.h"

static void check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "bench_opencl: %s: error %d\n", what, (int)status);
	exit(2);
}

/* Work-items in each dimension, and in a group. */
static const struct {
	size_t global[2], local[2];
} shapes[ROW_COUNT] = {
	[ROW_LAUNCH_OVERHEAD] = { { 32, 1 }, { 32, 1 } },
	[ROW_LAUNCH_QUEUED] = { { 32, 1 }, { 32, 1 } },
	[ROW_LAUNCH_AFTER_WORK] = { { 32, 1 }, { 32, 1 } },
	[ROW_LAUNCH_AFTER_IDLE] = { { 32, 1 }, { 32, 1 } },
	[ROW_TRIAD] = { { STREAM_N, 1 }, { 256, 1 } },
	[ROW_SAXPY] = { { STREAM_N, 1 }, { 256, 1 } },
	[ROW_STENCIL] = { { GRID_N, GRID_N }, { 32, 8 } },
	[ROW_TRANSPOSE] = { { GRID_N, GRID_N / 4 }, { 32, 8 } },
	[ROW_MATMUL] = { { MATRIX_N, MATRIX_N }, { 16, 16 } },
	[ROW_SGEMM_TILED] = { { MATRIX_N, MATRIX_N }, { 16, 16 } },
	[ROW_SGEMM_TILED_32] = { { MATRIX_N, MATRIX_N }, { 32, 32 } },
	[ROW_NBODY] = { { BODIES, 1 }, { 256, 1 } },
	[ROW_MANDELBROT] = { { MANDELBROT_N, MANDELBROT_N }, { 32, 8 } },
	[ROW_BLACK_SCHOLES] = { { OPTIONS_N, 1 }, { 256, 1 } },
	[ROW_WARP_REDUCE] = { { REDUCE_N, 1 }, { 256, 1 } },
	[ROW_BLOCK_REDUCE] = { { REDUCE_N, 1 }, { 256, 1 } },
	[ROW_HISTOGRAM] = { { 256 * HISTOGRAM_BLOCKS, 1 }, { 256, 1 } },
	[ROW_BITONIC] = { { SORT_N, 1 }, { 512, 1 } },
	[ROW_SPMV] = { { SPARSE_ROWS, 1 }, { 256, 1 } },
	[ROW_BFS] = { { GRAPH_NODES, 1 }, { 256, 1 } },
	[ROW_NBODY_DOUBLE] = { { BODIES_DOUBLE, 1 }, { 128, 1 } },
	[ROW_FFT] = { { FFT_N / 2, 1 }, { FFT_POINTS / 2, 1 } },
	[ROW_SCAN] = { { SCAN_N, 1 }, { 256, 1 } },
	[ROW_RADIX_SORT] = { { SORT_N, 1 }, { 512, 1 } },
	[ROW_CONVOLUTION] = { { GRID_N, GRID_N }, { 32, 8 } },
	[ROW_SOFTMAX] = { { NORM_ROWS * 256, 1 }, { 256, 1 } },
	[ROW_LAYER_NORM] = { { NORM_ROWS * 32, 1 }, { 256, 1 } },
	[ROW_ATTENTION] = { { HEAD_ROWS, HEADS }, { 64, 1 } },
	[ROW_SGEMM_WMMA] = { { MATRIX_N, MATRIX_N }, { 16, 16 } },
};

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);
	if (!file || !text || fread(text, 1, (1 << 20) - 1, file) == 0) {
		fprintf(stderr, "bench_opencl: cannot read %s\n", path);
		exit(2);
	}
	fclose(file);
	return text;
}

static cl_program build(cl_context context, cl_device_id device, const char *path)
{
	char options[512], *text = read_file(path);
	cl_int status;
	cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
	check(status, "clCreateProgramWithSource");
	snprintf(options, sizeof options,
		 "-DGRID_N=%d -DMATRIX_N=%d -DBODIES=%d -DMANDELBROT_N=%d -DMANDELBROT_ROUNDS=%d -DHISTOGRAM_N=%d "
		 "-DHISTOGRAM_BLOCKS=%d -DBODIES_DOUBLE=%d -DFFT_POINTS=%d -DRADIX_BITS=%d -DFILTER=%d -DNORM_COLUMNS=%d -DHEAD_ROWS=%d "
		 "-DHEAD_SIZE=%d",
		 GRID_N, MATRIX_N, BODIES, MANDELBROT_N, MANDELBROT_ROUNDS, HISTOGRAM_N, HISTOGRAM_BLOCKS, BODIES_DOUBLE, FFT_POINTS,
		 RADIX_BITS, FILTER, NORM_COLUMNS, HEAD_ROWS, HEAD_SIZE);
	check(clBuildProgram(program, 1, &device, options, NULL, NULL), "clBuildProgram");
	free(text);
	return program;
}

static void measure(cl_context context, cl_command_queue queue, cl_program program, struct row *row)
{
	static double times[ROW_MOST_RUNS];
	int runs = row_runs(row), repeats = row_repeats(row);
	cl_int status;
	cl_mem buffers[ROW_BUFFERS];
	/* OpenCL 1.2 has no tensor cores. */
	cl_kernel kernel = clCreateKernel(program, row->id < ROW_TRIAD ? "nothing" :
						   row->id == ROW_SGEMM_WMMA ? "sgemm_tiled" : row_names[row->id], &status);
	check(status, "clCreateKernel");
	for (int i = 0; i < row->buffers; i++) {
		buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, row->bytes[i], row->data[i], &status);
		check(status, "clCreateBuffer");
		check(clSetKernelArg(kernel, (cl_uint)i, sizeof buffers[i], &buffers[i]), "clSetKernelArg");
	}
	for (int i = -1; i < runs; i++) {
		row_pause(row);
		double start = row_now();
		for (int k = 0; k < repeats; k++)
			check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, shapes[row->id].global, shapes[row->id].local, 0, NULL, NULL),
			      "clEnqueueNDRangeKernel");
		check(clFinish(queue), "clFinish");
		if (i >= 0)
			times[i] = (row_now() - start) / repeats;
	}
	for (int i = 0; i < row->buffers; i++) {
		check(clEnqueueReadBuffer(queue, buffers[i], CL_TRUE, 0, row->bytes[i], row->data[i], 0, NULL, NULL),
		      "clEnqueueReadBuffer");
		clReleaseMemObject(buffers[i]);
	}
	clReleaseKernel(kernel);
	row_print(row, row_median(times, runs));
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;
	if (argc < 2)
		return fprintf(stderr, "usage: bench_opencl BENCH.CL NAME...\n"), 2;
	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	check(status, "clCreateContext");
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
	check(status, "clCreateCommandQueue");
	cl_program program = build(context, device, argv[1]);
	for (int i = 2; i < argc; i++) {
		struct row row;
		if (!row_open(&row, argv[i]))
			return fprintf(stderr, "no row %s\n", argv[i]), 2;
		measure(context, queue, program, &row);
		row_close(&row);
	}
	return 0;
}
