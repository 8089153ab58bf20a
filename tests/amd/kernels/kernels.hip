// The kernels beside this file as a HIP program has them, for clang: what their code is compared with. No headers, so that
// no ROCm is needed: what of them is used is here.
#define DEVICE __attribute__((device))
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

#define TID_X ((int)__builtin_amdgcn_workitem_id_x())
#define TID_Y ((int)__builtin_amdgcn_workitem_id_y())
#define BLOCK_X ((int)__builtin_amdgcn_workgroup_id_x())
#define BLOCK_Y ((int)__builtin_amdgcn_workgroup_id_y())
#define SIZE_X ((int)__builtin_amdgcn_workgroup_size_x())
#define GRID_X ((int)(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()))

struct alignas(16) float4 {
	float x, y, z, w;
};

static DEVICE void sync()
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// As amd_warp_functions.h has it, for a width of 32.
static DEVICE float shuffle_down(float value, int by)
{
	int self = __builtin_amdgcn_mbcnt_lo(~0u, 0), index = (self & 31) + by >= 32 ? self : self + by;
	return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(index << 2, __builtin_bit_cast(int, value)));
}

KERNEL saxpy(int n, float a, const float *x, float *y)
{
	int i = BLOCK_X * SIZE_X + TID_X;
	if (i < n)
		y[i] = a * x[i] + y[i];
}

KERNEL sgemm(int n, const float *A, const float *B, float *C)
{
	SHARED float a[16][16], b[16][16];
	int tx = TID_X, ty = TID_Y, row = BLOCK_Y * 16 + ty, col = BLOCK_X * 16 + tx;
	float sum = 0;
	for (int k = 0; k < n; k += 16) {
		a[ty][tx] = A[row * n + k + tx];
		b[ty][tx] = B[(k + ty) * n + col];
		sync();
		for (int i = 0; i < 16; i++)
			sum += a[ty][i] * b[i][tx];
		sync();
	}
	C[row * n + col] = sum;
}

KERNEL reduce(const float4 *in, float *out, int n)
{
	SHARED float warps[32];
	float sum = 0;
	for (int i = BLOCK_X * SIZE_X + TID_X; i < n; i += GRID_X * SIZE_X) {
		float4 v = in[i];
		sum += (v.x + v.y) + (v.z + v.w);
	}
	for (int o = 16; o; o >>= 1)
		sum += shuffle_down(sum, o);
	int lane = TID_X & 31, warp = TID_X >> 5;
	if (lane == 0)
		warps[warp] = sum;
	sync();
	if (warp)
		return;
	sum = lane < (SIZE_X + 31) / 32 ? warps[lane] : 0;
	for (int o = 16; o; o >>= 1)
		sum += shuffle_down(sum, o);
	if (lane == 0)
		out[BLOCK_X] = sum;
}

static DEVICE float fast_exp(float x)
{
	return __builtin_exp2f(x * 1.44269504f);
}

static DEVICE float normal(float d)
{
	float k = 1 / (1 + 0.2316419f * __builtin_fabsf(d));
	float c = 0.3989422804f * fast_exp(-0.5f * d * d) * (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
	return d > 0 ? 1 - c : c;
}

KERNEL blackscholes(float *call, float *put, const float *S, const float *X, const float *T, float R, float V, int n)
{
	int i = BLOCK_X * SIZE_X + TID_X;
	if (i >= n)
		return;
	float s = S[i], x = X[i], t = T[i], root = __builtin_sqrtf(t);
	float d1 = (__builtin_log2f(s / x) * 0.693147181f + (R + 0.5f * V * V) * t) / (V * root), d2 = d1 - V * root;
	float c1 = normal(d1), c2 = normal(d2), xe = x * fast_exp(-R * t);
	call[i] = s * c1 - xe * c2;
	put[i] = xe * (1 - c2) - s * (1 - c1);
}
