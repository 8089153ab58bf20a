/* SHA-256 (FIPS 180-4): the cache's keys and the check of its entries. */
#include "base.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t K[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void block_plain(uint32_t state[8], const uint8_t *p)
{
	uint32_t w[64], s[8];
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
	memcpy(s, state, sizeof s);
	for (int i = 0; i < 64; i++) {
		uint32_t e = rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25);
		uint32_t t1 = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + K[i] + w[i];
		uint32_t a = rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22);
		uint32_t t2 = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof s[0]);
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

#ifdef __x86_64__
/* By the processor's instructions for it, four rounds at a time. They want the state as ABEF and CDGH. Intel, "Intel SHA Extensions", 2013. */
__attribute__((target("sha,sse4.1"))) static void block_sha(uint32_t state[8], const uint8_t *p)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i dcba = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
	__m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
	__m128i abef = _mm_alignr_epi8(dcba, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, dcba, 0xf0), w[4];
	const __m128i abef_before = abef, cdgh_before = cdgh;
#pragma GCC unroll 16
	for (int i = 0; i < 16; i++) {
		__m128i now;
		if (i < 4) {
			now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), swap);
		} else {
			const __m128i last = w[(i + 3) % 4];
			now = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
			now = _mm_sha256msg2_epu32(now, last);
		}
		w[i % 4] = now;
		now = _mm_add_epi32(now, _mm_loadu_si128((const __m128i *)(K + 4 * i)));
		cdgh = _mm_sha256rnds2_epu32(cdgh, abef, now);
		abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(now, 0x0e));
	}
	abef = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
	cdgh = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(abef, cdgh, 0xf0));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(cdgh, abef, 8));
}

static bool has_sha(void)
{
	unsigned a, b, c, d;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 29 && __builtin_cpu_supports("sse4.1");
}
#endif

static void sha256_block(struct sha256 *sha, const uint8_t *p)
{
#ifdef __x86_64__
	static _Atomic signed char known; /* 1: there are such instructions, -1: there are none */
	if (!known)
		known = has_sha() ? 1 : -1;
	if (known > 0) {
		block_sha(sha->state, p);
		return;
	}
#endif
	block_plain(sha->state, p);
}

void sha256_init(struct sha256 *sha)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	memcpy(sha->state, start, sizeof start);
	sha->length = 0;
}

void sha256_update(struct sha256 *sha, const void *bytes, size_t length)
{
	const uint8_t *p = bytes;
	size_t used = sha->length % 64;
	sha->length += length;
	while (length) {
		if (!used && length >= 64) {
			sha256_block(sha, p);
			p += 64;
			length -= 64;
			continue;
		}
		size_t take = 64 - used < length ? 64 - used : length;
		memcpy(sha->block + used, p, take);
		p += take;
		length -= take;
		used += take;
		if (used == 64) {
			sha256_block(sha, sha->block);
			used = 0;
		}
	}
}

void sha256_final(struct sha256 *sha, uint8_t digest[32])
{
	uint64_t bits = sha->length * 8;
	static const uint8_t pad[64] = { 0x80 };
	size_t used = sha->length % 64;
	sha256_update(sha, pad, used < 56 ? 56 - used : 120 - used);
	uint8_t length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_update(sha, length, 8);
	for (int i = 0; i < 32; i++)
		digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}
