/* blocks.inc as kernels, one block each: out[t] of three words of in; counters are zero at first. */
#include "corpus.h"

#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#if __AMDGCN_WAVEFRONT_SIZE == 64
#define ON_GFX9(...) __VA_ARGS__
#define ON_GFX10(...)
#define BALLOT(x) __builtin_amdgcn_ballot_w64(x)
#else
#define ON_GFX9(...)
#define ON_GFX10(...) __VA_ARGS__
#define BALLOT(x) __builtin_amdgcn_ballot_w32(x)
#endif
#define ON_ALL(...) __VA_ARGS__
#define ON_WMMA11(...)
#define ON_WMMA12(...)
#define ON_MFMA(...)
#define ON_MFMA90A(...)
#define ON_MFMA942(...)
#if defined __gfx1100__
#undef ON_WMMA11
#define ON_WMMA11(...) __VA_ARGS__
#elif defined __gfx1201__
#undef ON_WMMA12
#define ON_WMMA12(...) __VA_ARGS__
#elif defined __gfx90a__ || defined __gfx942__
#undef ON_MFMA
#define ON_MFMA(...) __VA_ARGS__
#endif
#if defined __gfx90a__
#undef ON_MFMA90A
#define ON_MFMA90A(...) __VA_ARGS__
#elif defined __gfx942__
#undef ON_MFMA942
#define ON_MFMA942(...) __VA_ARGS__
#endif
#define DPP(old, value, control, rows, banks, bound) __builtin_amdgcn_update_dpp(old, value, control, rows, banks, bound)
#define FENCE() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#define BARRIER() do { \
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
	__builtin_amdgcn_s_barrier(); \
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
} while (0)
#if __has_builtin(__builtin_amdgcn_global_atomic_fadd_f64) && __AMDGCN_WAVEFRONT_SIZE == 64
#define ATOMIC_ADD_F32(p, v) __builtin_amdgcn_global_atomic_fadd_f32(p, v)
#define ATOMIC_ADD_F64(p, v) __builtin_amdgcn_global_atomic_fadd_f64(p, v)
#else
#define ATOMIC_ADD_F32(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define ATOMIC_ADD_F64(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#endif

#define VECTOR(type, count) type __attribute__((vector_size((count) * sizeof(type))))
/* Whole numbers as elements of a lane's registers, from a word; as words of bytes or nibbles; as 1.0 and so on. */
#define FILL(v, count, type, word) for (u32 e_ = 0; e_ < count; e_++) v[e_] = (type)SMALL(word, e_)
#define PACK(v, count, bits, word) for (u32 e_ = 0; e_ < count; e_++) \
	v[e_ * bits / 32] = (e_ * bits % 32 ? v[e_ * bits / 32] : 0) | (i32)((u32)(SMALL(word, e_) & ((1 << bits) - 1)) << e_ * bits % 32)
INLINE short bf16_of(i32 x) { return (short)(f32_bits((float)x) >> 16); }
#define FILL_BF16(v, count, word) for (u32 e_ = 0; e_ < count; e_++) v[e_] = bf16_of(SMALL(word, e_))
#define FOLD(v, count) for (u32 e_ = 0; e_ < count; e_++) r += (u64)(i64)v[e_] * (2 * e_ + 1)

NOINLINE u32 sum_generic(const u32 *p) { return p[0]; }

#define GPU(...) __VA_ARGS__;
#define HOST(...)
#define BLOCK(name, where, ...) ON_##where( \
__attribute__((amdgpu_kernel, visibility("protected"))) void block_##name(GLOBAL u64 *out, GLOBAL const u64 *in, GLOBAL u32 *counters) \
{ \
	static SHARED u32 shared[512] __attribute__((loader_uninitialized)); \
	SHARED u64 *wide = (SHARED u64 *)shared; \
	const u32 width = __AMDGCN_WAVEFRONT_SIZE; \
	u32 t = __builtin_amdgcn_workitem_id_x(), lane = t % width; \
	u64 a = in[3 * t], b = in[3 * t + 1], c = in[3 * t + 2], r = 0; \
\
	(void)wide, (void)lane, (void)b, (void)c, (void)counters; \
	__VA_ARGS__ \
	out[t] = r; \
})
#include "blocks.inc"
