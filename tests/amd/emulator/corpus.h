/* What the corpus needs on both sides: types, ways to take 64 bits as something else, and functions to be called. Builds as C with gcc for
 * the host and with clang for the GPU. */
#ifndef AMD_CORPUS_H
#define AMD_CORPUS_H
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;
typedef _Float16 half;
typedef short short2 __attribute__((vector_size(4)));
typedef unsigned short ushort2 __attribute__((vector_size(4)));
typedef _Float16 half2 __attribute__((vector_size(4)));

#define U(v) ((u32)(v))
#define I(v) ((i32)(v))
#define L(v) ((i64)(v))
#define F(v) bits_f32((u32)(v))
#define D(v) bits_f64(v)
#define H(v) bits_f16((u16)(v))
#define RF(x) f32_bits(x)
#define RD(x) f64_bits(x)
#define RH(x) f16_bits(x)
#define NOINLINE static __attribute__((noinline, unused))
#define INLINE static inline __attribute__((unused))

INLINE float bits_f32(u32 v) { union { u32 u; float f; } x = { v }; return x.f; }
INLINE double bits_f64(u64 v) { union { u64 u; double f; } x = { v }; return x.f; }
INLINE half bits_f16(u16 v) { union { u16 u; half f; } x = { v }; return x.f; }
INLINE u32 f32_bits(float v) { union { float f; u32 u; } x = { v }; return v != v ? 0x7fc00000 : x.u; }
INLINE u64 f64_bits(double v) { union { double f; u64 u; } x = { v }; return v != v ? 0x7ff8000000000000ul : x.u; }
INLINE u32 f16_bits(half v) { union { half f; u16 u; } x = { v }; return (float)v != (float)v ? 0x7e00 : x.u; }
INLINE short2 as_short2(u32 v) { union { u32 u; short2 s; } x = { v }; return x.s; }
INLINE u32 short2_bits(short2 v) { union { short2 s; u32 u; } x = { v }; return x.u; }
INLINE ushort2 as_ushort2(u32 v) { union { u32 u; ushort2 s; } x = { v }; return x.s; }
INLINE u32 ushort2_bits(ushort2 v) { union { ushort2 s; u32 u; } x = { v }; return x.u; }
INLINE half2 as_half2(u32 v) { union { u32 u; half2 s; } x = { v }; return x.s; }

/* Element e of those that a word stands for: a small whole number. */
INLINE i32 SMALL(u64 word, u32 e) { return (i32)((word * 0x9e3779b97f4a7c15ul >> (3 * e % 61)) & 7) - 3; }

INLINE u32 rotate_left(u32 x, u32 n) { return n ? x << n | x >> (32 - n) : x; }

#ifdef __AMDGCN__
INLINE u32 bit_reverse_32(u32 x) { return __builtin_bitreverse32(x); }
INLINE u64 bit_reverse_64(u64 x) { return __builtin_bitreverse64(x); }
#else
INLINE u32 bit_reverse_32(u32 x)
{
	u32 r = 0;

	for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
	return r;
}
INLINE u64 bit_reverse_64(u64 x) { return (u64)bit_reverse_32((u32)x) << 32 | bit_reverse_32((u32)(x >> 32)); }
#endif

static const u32 table[16] = { 3, 141, 59, 26, 535, 89, 793, 23, 84, 62643, 38, 32795, 0, 288, 4197, 169 };

NOINLINE u32 mixed(u32 x, u32 y) { return (x ^ y) * 0x9e3779b1u + (x >> 3); }
NOINLINE u32 other(u32 x, u32 y) { return x - y * 5; }
NOINLINE u32 ackermann_like(u32 x, u32 y) { return !x ? y + 1 : y ? ackermann_like(x - 1, y - 1) + x : ackermann_like(x - 1, 1) * 3; }
NOINLINE u64 sum_three(const u64 *t) { return t[0] + t[1] * 3 + t[2] * 5; }
NOINLINE u64 many_arguments(u32 p, u64 q, float x, double y, u8 s, i16 t, u32 v0, u32 v1, u32 v2, u64 w0, u64 w1, u64 w2)
{
	return p + q * 3 + (x > 0) + (y > 0) * 2u + s * 5u + (u64)(i64)t * 7 + v0 * 11u + v1 * 13u + v2 * 17u + w0 * 19 + w1 * 23 + w2 * 29;
}

#define CASE(name, ...) static void case_##name(u64 a, u64 b, u64 c, u64 *result) { u64 r = 0; (void)a, (void)b, (void)c; __VA_ARGS__; *result = r; }
#include "corpus.inc"
#undef CASE
#endif
