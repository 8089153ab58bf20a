/* The Mandelbrot set as a PNG picture. Threads of a warp leave the loop after different numbers of rounds: a test of
 * divergence. Usage: mandelbrot [FILE.png] */
#include "example.h"
#include "png.h"

constexpr int WIDTH = 1200, HEIGHT = 800, ROUNDS = 500;

/* Host and device count rounds with the same operations, none of which may be fused, so that the counts agree. */
#ifdef __CUDA_ARCH__
#define MULTIPLY(a, b) device_multiply(a, b)
static __device__ float device_multiply(float a, float b)
{
	float product;
	asm("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
	return product;
}
#else
#define MULTIPLY(a, b) ((a) * (b))
#endif

__host__ __device__ int escape_rounds(int column, int row)
{
	float cx = MULTIPLY((float)column, 1.0f / 400.0f) - 2.0f, cy = MULTIPLY((float)row, 1.0f / 400.0f) - 1.0f;
	float x = 0.0f, y = 0.0f;
	int rounds = 0;
	for (; rounds < ROUNDS; rounds++) {
		float xx = MULTIPLY(x, x), yy = MULTIPLY(y, y);
		if (xx + yy > 4.0f)
			break;
		y = 2.0f * MULTIPLY(x, y) + cy;
		x = xx - yy + cx;
	}
	return rounds;
}

__global__ void mandelbrot(int *rounds)
{
	int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
	if (column < WIDTH && row < HEIGHT)
		rounds[row * WIDTH + column] = escape_rounds(column, row);
}

/* From deep blue over white to amber; the set itself is black. */
static void colour(uint8_t *rgb, int rounds)
{
	if (rounds == ROUNDS) {
		rgb[0] = rgb[1] = rgb[2] = 0;
		return;
	}
	static const float stops[5][3] = { { 0, 7, 100 }, { 32, 107, 203 }, { 237, 255, 255 }, { 255, 170, 0 }, { 0, 2, 0 } };
	float place = (float)(rounds % 64) / 16.0f;
	int stop = (int)place;
	for (int channel = 0; channel < 3; channel++)
		rgb[channel] = (uint8_t)(stops[stop][channel] + (place - stop) * (stops[stop + 1][channel] - stops[stop][channel]));
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "mandelbrot.png";
	const int pixels = WIDTH * HEIGHT;
	std::vector<int> rounds(pixels);

	int *device_rounds;
	CHECK(cudaMalloc((void **)&device_rounds, pixels * sizeof(int)));
	dim3 block(32, 8), grid((WIDTH + 31) / 32, (HEIGHT + 7) / 8);
	mandelbrot<<<grid, block>>>(device_rounds);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(rounds.data(), device_rounds, pixels * sizeof(int), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device_rounds));

	int wrong = 0;
	png::bytes rgb(pixels * 3);
	for (int i = 0; i < pixels; i++) {
		colour(&rgb[i * 3], rounds[i]);
		if (i % 101 == 0) /* a sample is enough: the host takes its time */
			wrong += rounds[i] != escape_rounds(i % WIDTH, i / WIDTH);
	}
	if (!png::write(path, rgb, WIDTH, HEIGHT))
		return std::fprintf(stderr, "cannot write %s\n", path), 2;
	std::printf("%s: %dx%d pixels, %d wrong in the sample\n", path, WIDTH, HEIGHT, wrong);
	return finish("mandelbrot", wrong == 0);
}
