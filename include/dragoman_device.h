/* The device side of CUDA C++ for clang's CUDA front end: attributes, built-in variables, barriers, warp shuffles and
 * votes, atomics, and the math functions of "CUDA C++ Programming Guide", appendix "Mathematical Functions", written in
 * terms of PTX instructions. With it, clang -nocudainc -nocudalib compiles a .cu file on a machine that has no CUDA
 * toolkit. nvcc brings its own versions and never reads this file.
 *
 * Accuracy is stated where it differs from correct rounding; the bounds are those of CUDA's own functions or better. */
#ifndef DRAGOMAN_DEVICE_H
#define DRAGOMAN_DEVICE_H

#if !defined(__clang__) || !defined(__CUDA__)
#error "dragoman_device.h is for clang -x cuda; nvcc has its own device headers"
#endif

#include <cuda_runtime_api.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define DRAGOMAN_DEVICE static __inline__ __attribute__((always_inline, device))

/* threadIdx, blockIdx, blockDim, gridDim and warpSize come with clang itself. */
#include <__clang_cuda_builtin_vars.h>
DRAGOMAN_DEVICE uint3 dragoman_uint3(unsigned x, unsigned y, unsigned z)
{
	uint3 value;
	value.x = x, value.y = y, value.z = z;
	return value;
}
#define DRAGOMAN_TO_STRUCT(variable)                                                                                    \
	__device__ inline __cuda_builtin_##variable##_t::operator dim3() const { return dim3(x, y, z); }                \
	__device__ inline __cuda_builtin_##variable##_t::operator uint3() const { return dragoman_uint3(x, y, z); }
DRAGOMAN_TO_STRUCT(threadIdx)
DRAGOMAN_TO_STRUCT(blockIdx)
DRAGOMAN_TO_STRUCT(blockDim)
DRAGOMAN_TO_STRUCT(gridDim)
#undef DRAGOMAN_TO_STRUCT

/* ---- barriers and fences ----------------------------------------------------------------------------------------- */

/* __syncthreads() is a builtin of clang. */
DRAGOMAN_DEVICE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
DRAGOMAN_DEVICE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
DRAGOMAN_DEVICE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
DRAGOMAN_DEVICE void __syncwarp(unsigned mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }
DRAGOMAN_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
DRAGOMAN_DEVICE void __threadfence() { __nvvm_membar_gl(); }
DRAGOMAN_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }

/* ---- warp shuffles, votes and masks ------------------------------------------------------------------------------ */

/* The last operand of PTX's shfl.sync: the segment mask in bits 8-12 and the clamp (31, or 0 for "up") below it. */
#define DRAGOMAN_SHUFFLE(name, mode, operand, clamp)                                                                   \
	DRAGOMAN_DEVICE int name(unsigned mask, int value, operand lane, int width = warpSize)                         \
	{                                                                                                              \
		return __nvvm_shfl_sync_##mode##_i32(mask, value, lane, ((warpSize - width) << 8) | (clamp));          \
	}                                                                                                              \
	DRAGOMAN_DEVICE unsigned name(unsigned mask, unsigned value, operand lane, int width = warpSize)               \
	{                                                                                                              \
		return (unsigned)name(mask, (int)value, lane, width);                                                  \
	}                                                                                                              \
	DRAGOMAN_DEVICE float name(unsigned mask, float value, operand lane, int width = warpSize)                     \
	{                                                                                                              \
		return __nvvm_shfl_sync_##mode##_f32(mask, value, lane, ((warpSize - width) << 8) | (clamp));          \
	}                                                                                                              \
	DRAGOMAN_DEVICE unsigned long long name(unsigned mask, unsigned long long value, operand lane,                 \
						int width = warpSize)                                                  \
	{                                                                                                              \
		unsigned low = name(mask, (unsigned)value, lane, width);                                               \
		unsigned high = name(mask, (unsigned)(value >> 32), lane, width);                                      \
		return (unsigned long long)high << 32 | low;                                                           \
	}                                                                                                              \
	DRAGOMAN_DEVICE long long name(unsigned mask, long long value, operand lane, int width = warpSize)             \
	{                                                                                                              \
		return (long long)name(mask, (unsigned long long)value, lane, width);                                  \
	}                                                                                                              \
	DRAGOMAN_DEVICE double name(unsigned mask, double value, operand lane, int width = warpSize)                   \
	{                                                                                                              \
		unsigned long long bits;                                                                               \
		__builtin_memcpy(&bits, &value, sizeof bits);                                                          \
		bits = name(mask, bits, lane, width);                                                                  \
		__builtin_memcpy(&value, &bits, sizeof value);                                                         \
		return value;                                                                                          \
	}
DRAGOMAN_SHUFFLE(__shfl_sync, idx, int, 31)
DRAGOMAN_SHUFFLE(__shfl_up_sync, up, unsigned, 0)
DRAGOMAN_SHUFFLE(__shfl_down_sync, down, unsigned, 31)
DRAGOMAN_SHUFFLE(__shfl_xor_sync, bfly, int, 31)
#undef DRAGOMAN_SHUFFLE

DRAGOMAN_DEVICE int __all_sync(unsigned mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate); }
DRAGOMAN_DEVICE int __any_sync(unsigned mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate); }
DRAGOMAN_DEVICE unsigned __ballot_sync(unsigned mask, int predicate)
{
	return __nvvm_vote_ballot_sync(mask, predicate);
}
DRAGOMAN_DEVICE unsigned __activemask()
{
	unsigned mask;
	asm volatile("activemask.b32 %0;" : "=r"(mask));
	return mask;
}

/* ---- atomics: each returns the old value -------------------------------------------------------------------------- */

#define DRAGOMAN_ATOMIC(name, type, order)                                                                             \
	DRAGOMAN_DEVICE type name(type *address, type value)                                                           \
	{                                                                                                              \
		return order(address, value, __ATOMIC_RELAXED);                                                        \
	}
DRAGOMAN_ATOMIC(atomicAdd, int, __atomic_fetch_add)
DRAGOMAN_ATOMIC(atomicAdd, unsigned, __atomic_fetch_add)
DRAGOMAN_ATOMIC(atomicAdd, unsigned long long, __atomic_fetch_add)
DRAGOMAN_ATOMIC(atomicSub, int, __atomic_fetch_sub)
DRAGOMAN_ATOMIC(atomicSub, unsigned, __atomic_fetch_sub)
DRAGOMAN_ATOMIC(atomicAnd, int, __atomic_fetch_and)
DRAGOMAN_ATOMIC(atomicAnd, unsigned, __atomic_fetch_and)
DRAGOMAN_ATOMIC(atomicOr, int, __atomic_fetch_or)
DRAGOMAN_ATOMIC(atomicOr, unsigned, __atomic_fetch_or)
DRAGOMAN_ATOMIC(atomicXor, int, __atomic_fetch_xor)
DRAGOMAN_ATOMIC(atomicXor, unsigned, __atomic_fetch_xor)
DRAGOMAN_ATOMIC(atomicMin, int, __atomic_fetch_min)
DRAGOMAN_ATOMIC(atomicMin, unsigned, __atomic_fetch_min)
DRAGOMAN_ATOMIC(atomicMax, int, __atomic_fetch_max)
DRAGOMAN_ATOMIC(atomicMax, unsigned, __atomic_fetch_max)
DRAGOMAN_ATOMIC(atomicExch, int, __atomic_exchange_n)
DRAGOMAN_ATOMIC(atomicExch, unsigned, __atomic_exchange_n)
#undef DRAGOMAN_ATOMIC

DRAGOMAN_DEVICE float atomicAdd(float *address, float value) { return __nvvm_atom_add_gen_f(address, value); }
DRAGOMAN_DEVICE double atomicAdd(double *address, double value) { return __nvvm_atom_add_gen_d(address, value); }
DRAGOMAN_DEVICE int atomicCAS(int *address, int compare, int value)
{
	return __nvvm_atom_cas_gen_i(address, compare, value);
}
DRAGOMAN_DEVICE unsigned atomicCAS(unsigned *address, unsigned compare, unsigned value)
{
	return (unsigned)__nvvm_atom_cas_gen_i((int *)address, (int)compare, (int)value);
}

/* ---- integers ------------------------------------------------------------------------------------------------------ */

DRAGOMAN_DEVICE int min(int a, int b) { return a < b ? a : b; }
DRAGOMAN_DEVICE int max(int a, int b) { return a > b ? a : b; }
DRAGOMAN_DEVICE unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
DRAGOMAN_DEVICE unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
DRAGOMAN_DEVICE int __popc(unsigned value) { return __builtin_popcount(value); }
DRAGOMAN_DEVICE int __clz(int value) { return value ? __builtin_clz((unsigned)value) : 32; }
DRAGOMAN_DEVICE int __ffs(int value) { return __builtin_ffs(value); }
DRAGOMAN_DEVICE unsigned __brev(unsigned value) { return __builtin_bitreverse32(value); }

/* ---- single precision ----------------------------------------------------------------------------------------------- */

DRAGOMAN_DEVICE float fabsf(float x) { return __nvvm_fabs_f(x); }
DRAGOMAN_DEVICE float fminf(float a, float b) { return __nvvm_fmin_f(a, b); }
DRAGOMAN_DEVICE float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
DRAGOMAN_DEVICE float fmaf(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
DRAGOMAN_DEVICE float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
DRAGOMAN_DEVICE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); } /* 2 ulp */
DRAGOMAN_DEVICE float floorf(float x) { return __nvvm_floor_f(x); }
DRAGOMAN_DEVICE float ceilf(float x) { return __nvvm_ceil_f(x); }
DRAGOMAN_DEVICE float truncf(float x) { return __nvvm_trunc_f(x); }
DRAGOMAN_DEVICE float rintf(float x)
{
	float result;
	asm("cvt.rni.f32.f32 %0, %1;" : "=f"(result) : "f"(x));
	return result;
}
DRAGOMAN_DEVICE float copysignf(float magnitude, float sign) { return __builtin_copysignf(magnitude, sign); }
DRAGOMAN_DEVICE float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
DRAGOMAN_DEVICE float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.44269504f); }
DRAGOMAN_DEVICE float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.69314718f; }
DRAGOMAN_DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
DRAGOMAN_DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }

/* 2 ulp, as exp2f is documented: ex2.approx is that good over the whole range. */
DRAGOMAN_DEVICE float exp2f(float x) { return __nvvm_ex2_approx_f(x); }

/* 2^n * e^r with r = x - n ln 2 in two steps, so that only ex2.approx of |r| < 0.35 is taken. 2^n is split in two
 * because n reaches -149 for subnormal results. */
DRAGOMAN_DEVICE float expf(float x)
{
	float n = rintf(fminf(fmaxf(x, -110.0f), 90.0f) * 1.44269504f);
	float r = fmaf(n, -0.693145752f, x);
	r = fmaf(n, -1.42860682e-6f, r);
	float half_n = truncf(n * 0.5f);
	float result = __nvvm_ex2_approx_f(r * 1.44269504f) * __nvvm_ex2_approx_f(half_n) * __nvvm_ex2_approx_f(n - half_n);
	return x < -110.0f ? 0.0f : x > 90.0f ? __builtin_inff() : x != x ? x : result;
}

/* log x = 2 atanh((m - 1) / (m + 1)) + e ln 2 with m in [sqrt(1/2), sqrt(2)); 2 ulp. */
DRAGOMAN_DEVICE float logf(float x)
{
	if (!(x > 0.0f) || x == __builtin_inff())
		return x == 0.0f ? -__builtin_inff() : x > 0.0f ? x : __builtin_nanf("");
	float scale = 0.0f;
	if (x < 1.17549435e-38f)
		x *= 8388608.0f, scale = -23.0f;
	int bits = __builtin_bit_cast(int, x);
	int e = (bits - 0x3f3504f3) >> 23;
	float m = __builtin_bit_cast(float, bits - (e << 23));
	float s = (m - 1.0f) / (m + 1.0f), z = s * s;
	float p = fmaf(z, 0.24279078f, 0.28498787f);
	p = fmaf(p, z, 0.40000972f);
	p = fmaf(p, z, 0.66666662f) * z;
	float exponent = (float)e + scale;
	return fmaf(exponent, 0.693145752f, fmaf(exponent, 1.42860682e-6f, fmaf(s, p, 2.0f * s)));
}
DRAGOMAN_DEVICE float log2f(float x) { return logf(x) * 1.44269504f; }

/* The sine (quadrant 0) or cosine (1) of x = q pi/2 + r, |r| <= pi/4. pi/2 is subtracted in three parts for moderate
 * x (the classic Cody-Waite scheme), in double precision beyond; 2 ulp up to 1e9. */
DRAGOMAN_DEVICE float dragoman_sincos(float x, int quadrant)
{
	float q = rintf(x * 0.636619772f), r;
	if (fabsf(x) < 48039.0f) {
		r = fmaf(q, -1.57079601e+0f, x);
		r = fmaf(q, -3.13916473e-7f, r);
		r = fmaf(q, -5.39030253e-15f, r);
		quadrant += (int)q;
	} else {
		double n = __nvvm_floor_d((double)x * 0.63661977236758134 + 0.5);
		r = (float)__nvvm_fma_rn_d(n, -6.123233995736766e-17, __nvvm_fma_rn_d(n, -1.5707963267948966, (double)x));
		quadrant += (int)(long long)n;
	}
	float z = r * r, result;
	if (quadrant & 1) {
		result = fmaf(z, 2.44331571e-5f, -1.38873162e-3f);
		result = fmaf(result, z, 4.16666456e-2f);
		result = fmaf(result, z, -0.5f);
		result = fmaf(result, z, 1.0f);
	} else {
		result = fmaf(z, -1.95152959e-4f, 8.33216087e-3f);
		result = fmaf(result, z, -1.66666546e-1f);
		result = fmaf(result * z, r, r);
	}
	return quadrant & 2 ? -result : result;
}
DRAGOMAN_DEVICE float sinf(float x) { return dragoman_sincos(x, 0); }
DRAGOMAN_DEVICE float cosf(float x) { return dragoman_sincos(x, 1); }
DRAGOMAN_DEVICE float tanf(float x) { return sinf(x) / cosf(x); }

/* ---- double precision ----------------------------------------------------------------------------------------------- */

DRAGOMAN_DEVICE double fabs(double x) { return __nvvm_fabs_d(x); }
DRAGOMAN_DEVICE double fmin(double a, double b) { return __nvvm_fmin_d(a, b); }
DRAGOMAN_DEVICE double fmax(double a, double b) { return __nvvm_fmax_d(a, b); }
DRAGOMAN_DEVICE double fma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
DRAGOMAN_DEVICE double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
DRAGOMAN_DEVICE double floor(double x) { return __nvvm_floor_d(x); }
DRAGOMAN_DEVICE double ceil(double x) { return __nvvm_ceil_d(x); }
DRAGOMAN_DEVICE double trunc(double x) { return __nvvm_trunc_d(x); }

#endif
