/* Launches as programs write them: kernels that are templates, launches in the arguments of launches, shapes of one to
 * three dimensions, dynamic shared memory, structures by value, streams and events. */
#include "example.h"
#include <vector>

struct job {
	char tag;
	double scale;
	int shift[3];
};

template <typename T, int N> __global__ void scale(T *out, job what)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	int z = blockIdx.z * blockDim.z + threadIdx.z;
	int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
	int i = (z * height + y) * width + x;
	out[i] = (T)(i * what.scale) + (T)(what.shift[N] + what.tag);
}

extern __shared__ int shared_words[];

__global__ void reverse(int *values)
{
	int t = threadIdx.x, n = blockDim.x;
	shared_words[t] = values[t];
	__syncthreads();
	values[t] = shared_words[n - 1 - t];
}

__global__ void increment(int *value) { atomicAdd(value, 1); }

static int *shared_counter;

/* A kernel's argument that itself launches. */
static int *launch_inside()
{
	increment<<<2, 32>>>(shared_counter);
	return shared_counter;
}

static bool test_shapes()
{
	const dim3 grid(2, 3, 4), block(4, 2, 3);
	const int count = 2 * 3 * 4 * 4 * 2 * 3;
	std::vector<float> out(count);
	float *device;
	job what = { 3, 0.5, { 100, 200, 300 } };
	int wrong = 0;
	CHECK(cudaMalloc((void **)&device, count * sizeof(float)));
	scale<float, 1><<<grid, block>>>(device, what);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(out.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device));
	for (int i = 0; i < count; i++)
		wrong += out[i] != i * 0.5f + 203.0f;
	return wrong == 0;
}

static bool test_shared()
{
	int values[200], wrong = 0, *device;
	for (int i = 0; i < 200; i++)
		values[i] = i;
	CHECK(cudaMalloc((void **)&device, sizeof values));
	CHECK(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
	reverse<<<1, 200, 200 * sizeof(int)>>>(device);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(values, device, sizeof values, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device));
	for (int i = 0; i < 200; i++)
		wrong += values[i] != 199 - i;
	return wrong == 0;
}

static bool test_nested()
{
	int value = 0;
	CHECK(cudaMalloc((void **)&shared_counter, sizeof(int)));
	CHECK(cudaMemset(shared_counter, 0, sizeof(int)));
	increment<<<1, 5>>>(launch_inside());
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(&value, shared_counter, sizeof value, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(shared_counter));
	return value == 69;
}

/* A chain over two streams: each step waits for the other stream's last by an event. */
static bool test_streams()
{
	cudaStream_t streams[2];
	cudaEvent_t event;
	int value = 0, *device;
	CHECK(cudaMalloc((void **)&device, sizeof(int)));
	CHECK(cudaMemset(device, 0, sizeof(int)));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (cudaStream_t &stream : streams)
		CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < 10; i++) {
		increment<<<1, 32, 0, streams[i % 2]>>>(device);
		CHECK(cudaEventRecord(event, streams[i % 2]));
		CHECK(cudaStreamWaitEvent(streams[(i + 1) % 2], event, 0));
	}
	CHECK(cudaMemcpyAsync(&value, device, sizeof value, cudaMemcpyDeviceToHost, streams[0]));
	CHECK(cudaStreamSynchronize(streams[0]));
	for (cudaStream_t stream : streams)
		CHECK(cudaStreamDestroy(stream));
	CHECK(cudaEventDestroy(event));
	CHECK(cudaFree(device));
	return value == 320;
}

int main()
{
	bool shapes = test_shapes(), shared = test_shared(), nested = test_nested(), streams = test_streams();
	std::printf("shapes %d, dynamic shared memory %d, nested launches %d, streams %d\n", shapes, shared, nested, streams);
	return finish("launches", shapes && shared && nested && streams);
}
