/* Shuffles of every kind and width, votes, and barriers that count, in code that diverges. The expected values are
 * computed on the host from the definitions in the CUDA C++ Programming Guide, "Warp Shuffle Functions". */
#include "example.h"

enum { KINDS = 4, WIDTHS = 3, BLOCK = 96 };

__global__ void shuffle(int *out)
{
	int t = threadIdx.x, value = t * 3 + 1;
	for (int w = 0; w < WIDTHS; w++) {
		int width = 8 << w;
		int *row = &out[w * KINDS * BLOCK];
		row[t] = __shfl_sync(0xffffffff, value, t * 5, width);
		row[BLOCK + t] = __shfl_up_sync(0xffffffff, value, 3, width);
		row[2 * BLOCK + t] = __shfl_down_sync(0xffffffff, value, 3, width);
		row[3 * BLOCK + t] = __shfl_xor_sync(0xffffffff, value, 5, width);
	}
}

static int expected(int kind, int width, int t)
{
	int warp = t / 32 * 32, lane = t % 32, base = lane / width * width, place = lane - base, source;
	switch (kind) {
	case 0: source = base + t * 5 % width; break;
	case 1: source = place >= 3 ? lane - 3 : lane; break;
	case 2: source = place + 3 < width ? lane + 3 : lane; break;
	default: source = lane ^ 5; break;
	}
	return (warp + source) * 3 + 1;
}

__global__ void votes(unsigned *out)
{
	int t = threadIdx.x;
	unsigned odd = __ballot_sync(0xffffffff, t & 1);
	int all = __all_sync(0xffffffff, t < 64), any = __any_sync(0xffffffff, t == 70);
	int count = __syncthreads_count(t % 3 == 0);
	unsigned active = 0;
	if (t % 32 < 5)
		active = __ballot_sync(0x1f, t % 2 == 0);
	out[t * 5] = odd;
	out[t * 5 + 1] = (unsigned)all;
	out[t * 5 + 2] = (unsigned)any;
	out[t * 5 + 3] = (unsigned)count;
	out[t * 5 + 4] = active;
}

/* Some threads are gone before the barrier, and others wait behind different branches. */
__global__ void early(int *out)
{
	__shared__ int sum;
	int t = threadIdx.x;
	if (t == 0)
		sum = 0;
	__syncthreads();
	if (t >= 70)
		return;
	int rounds = t % 7, mine = 0;
	for (int i = 0; i < rounds; i++)
		mine += i;
	atomicAdd(&sum, mine);
	__syncthreads();
	out[t] = sum;
}

template <class T> static void fetch(T *host, T *device, size_t count)
{
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(device));
}

int main()
{
	static int shuffled[WIDTHS * KINDS * BLOCK], sums[BLOCK];
	static unsigned voted[BLOCK * 5];
	int *device, wrong = 0;
	unsigned *device_votes;

	CHECK(cudaMalloc((void **)&device, sizeof shuffled));
	shuffle<<<1, BLOCK>>>(device);
	fetch(shuffled, device, WIDTHS * KINDS * BLOCK);
	for (int w = 0; w < WIDTHS; w++)
		for (int kind = 0; kind < KINDS; kind++)
			for (int t = 0; t < BLOCK; t++)
				wrong += shuffled[(w * KINDS + kind) * BLOCK + t] != expected(kind, 8 << w, t);

	CHECK(cudaMalloc((void **)&device_votes, sizeof voted));
	votes<<<1, BLOCK>>>(device_votes);
	fetch(voted, device_votes, BLOCK * 5);
	for (int t = 0; t < BLOCK; t++)
		wrong += voted[t * 5] != 0xaaaaaaaa || voted[t * 5 + 1] != (t < 64) || voted[t * 5 + 2] != (t >= 64) ||
			 voted[t * 5 + 3] != 32 || voted[t * 5 + 4] != (t % 32 < 5 ? 0x15u : 0u);

	CHECK(cudaMalloc((void **)&device, sizeof sums));
	CHECK(cudaMemset(device, 0, sizeof sums));
	early<<<1, BLOCK>>>(device);
	fetch(sums, device, BLOCK);
	int total = 0;
	for (int t = 0; t < 70; t++)
		total += t % 7 * (t % 7 - 1) / 2;
	for (int t = 0; t < BLOCK; t++)
		wrong += sums[t] != (t < 70 ? total : 0);
	std::printf("%d wrong\n", wrong);
	return finish("warps", wrong == 0);
}
