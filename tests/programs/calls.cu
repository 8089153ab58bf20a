/* Calls that no compiler resolves: virtual functions of objects that one kernel makes and another uses, pointers to functions in a table, and
 * recursion; with variables of the device, constants, and both kinds of the block's memory in what is called. Expectations: C++, and CUDA C++
 * Programming Guide, "Virtual Functions", "__shared__". */
#include "example.h"

__device__ int factor = 3, offsets[4] = { 100, 200, 300, 400 };
__constant__ int limit = 7;
__device__ int before, behind = 5; /* what else the kernels name, each in its own order */

struct Shape {
	int size;
	__device__ static void *operator new(size_t, void *at) { return at; }
	__device__ static void operator delete(void *, void *) {}
	__device__ Shape(int size) : size(size) {}
	__device__ virtual int area() const = 0;
	__device__ virtual int named(int which) const { return offsets[which & 3] + area(); }
};
struct Square : Shape {
	__device__ Square(int size) : Shape(size) {}
	__device__ int area() const override { return size * size * factor; }
};
struct Bar : Shape {
	__device__ Bar(int size) : Shape(size) {}
	__device__ int area() const override { return size * limit; }
	__device__ int named(int which) const override { return -area() - which; }
};

enum { COUNT = 200 };
__device__ void *room[COUNT][2]; /* of the objects: a table, and a size */

/* No virtual function is called here, but its tables are made. */
__global__ void make(Shape **shapes, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < count)
		shapes[i] = i % 2 ? (Shape *)new (room[i]) Square(i) : (Shape *)new (room[i]) Bar(i);
}

__global__ void use(Shape *const *shapes, int *out, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	before = behind;
	if (i < count)
		out[i] = shapes[i]->named(i);
}

__global__ void use_again(Shape *const *shapes, int *out, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < count)
		out[i] = shapes[count - 1 - i]->area() + behind;
}

/* Each call reads the neighbour's number from the block's static memory and adds to its own in the dynamic part. */
__shared__ int numbers[64];

__device__ __noinline__ int walk(int at, int steps)
{
	extern __shared__ int visited[];
	if (!steps)
		return 0;
	atomicAdd(&visited[at], 1);
	int here = numbers[at];
	return here + walk((at + here) % 64, steps - 1);
}

__global__ void walks(int *out)
{
	extern __shared__ int visited[];
	__shared__ int own[64];
	int t = threadIdx.x;
	own[t] = 1000 + t;
	visited[t] = 0;
	numbers[t] = t % 5 + 1;
	__syncthreads();
	int sum = walk(t, 6);
	__syncthreads();
	out[t] = sum;
	out[64 + t] = visited[t];
	out[128 + t] = own[t];
	out[192 + t] = numbers[t];
}

static bool same(int got, int expected)
{
	if (got != expected)
		printf("%d, not %d\n", got, expected);
	return got == expected;
}

int main()
{
	bool right = true;
	Shape **shapes;
	int *device, got[COUNT], walked[256];
	CHECK(cudaMalloc((void **)&shapes, COUNT * sizeof *shapes));
	CHECK(cudaMalloc((void **)&device, sizeof walked + sizeof got));
	make<<<4, 64>>>(shapes, COUNT);
	CHECK_LAUNCH();
	use<<<4, 64>>>(shapes, device, COUNT);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
	for (int i = 0; i < COUNT; i++)
		right &= same(got[i], i % 2 ? 100 * (i % 4 + 1) + i * i * 3 : -7 * i - i);
	use_again<<<4, 64>>>(shapes, device, COUNT);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
	for (int i = 0; i < COUNT; i++) {
		int k = COUNT - 1 - i;
		right &= same(got[i], (k % 2 ? k * k * 3 : 7 * k) + 5);
	}
	walks<<<1, 64, 64 * sizeof(int)>>>(device);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(walked, device, sizeof walked, cudaMemcpyDeviceToHost));
	int visits[64] = {};
	for (int t = 0; t < 64; t++) {
		int sum = 0;
		for (int at = t, steps = 6; steps; steps--) {
			visits[at]++;
			sum += at % 5 + 1;
			at = (at + at % 5 + 1) % 64;
		}
		right &= same(walked[t], sum);
	}
	for (int t = 0; t < 64; t++) {
		right &= same(walked[64 + t], visits[t]);
		right &= same(walked[128 + t], 1000 + t);
		right &= same(walked[192 + t], t % 5 + 1);
	}
	CHECK(cudaFree(shapes));
	CHECK(cudaFree(device));
	return finish("calls", right);
}
