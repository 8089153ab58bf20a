/* Variables of device code: templates, namespaces, statics, initialised data and pointers to variables; copies in all
 * directions. What the kernels see follows from the copies. */
#include "example.h"

template <typename T> __constant__ T coefficients[4];
namespace first { __device__ int value = 11; }
namespace second { __device__ int value = 22; }
static __constant__ unsigned char bytes[5] = { 1, 2, 3, 4, 5 };
__device__ int unused[3] = { 7, 8, 9 };
__device__ int *pointer = &first::value;
__device__ double big[1000];

__global__ void read(double *out)
{
	int sum = 0;
	double real = 0.0;
	for (int i = 0; i < 4; i++) {
		sum += coefficients<int>[i];
		real += coefficients<double>[i];
	}
	out[0] = sum;
	out[1] = real;
	out[2] = first::value * 100 + second::value;
	out[3] = bytes[4] * 10 + bytes[0];
	out[4] = *pointer;
	out[5] = big[999];
}

int main()
{
	int integers[4] = { 5, 6, 7, 8 }, seventy_seven = 77, three = 33, back[3] = {};
	double doubles[4] = { 0.5, 1.5, 0.0, 0.0 }, out[6], *device, last = 0.125;
	size_t size = 0;
	CHECK(cudaMalloc((void **)&device, sizeof out));
	CHECK(cudaMemcpyToSymbol(coefficients<int>, integers, sizeof integers));
	CHECK(cudaMemcpyToSymbol(coefficients<int>, &seventy_seven, 4, 8));
	CHECK(cudaMemcpyToSymbol(coefficients<double>, doubles, sizeof doubles));
	CHECK(cudaMemcpyToSymbol(second::value, &three, 4));
	CHECK(cudaMemcpyToSymbol(big, &last, 8, 999 * 8));
	read<<<1, 1>>>(device);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device));
	bool right = out[0] == 96 && out[1] == 2.0 && out[2] == 1133 && out[3] == 51 && out[4] == 11 && out[5] == 0.125;

	CHECK(cudaMemcpyFromSymbol(back, unused, 12));
	right &= back[0] == 7 && back[1] == 8 && back[2] == 9;
	CHECK(cudaGetSymbolSize(&size, bytes));
	right &= size == 5;
	CHECK(cudaGetSymbolSize(&size, coefficients<double>));
	right &= size == 32;
	right &= cudaMemcpyToSymbol(coefficients<int>, integers, 16, 4) == cudaErrorInvalidValue;
	right &= cudaMemcpyToSymbol(three, &three, 4) == cudaErrorInvalidSymbol;
	right &= cudaGetLastError() == cudaErrorInvalidSymbol;
	return finish("symbols", right);
}
