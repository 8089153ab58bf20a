/* Texels: reading them in the formats of arrays, and the arithmetic of the texture units, which docs in the open recorded on cards of
 * the Ampere generation (filtering is in fixed point, with weights of 1/256). */
#ifndef DRAGOMAN_CPU_TEXEL_H
#define DRAGOMAN_CPU_TEXEL_H

#include "backend/texture.h"

enum texel_class { TEXEL_INTEGER, TEXEL_FLOAT, TEXEL_HALF, TEXEL_UNORM, TEXEL_SNORM };

struct texture {
	uint64_t object;               /* its number; 0: the place is free */
	uint32_t generation;           /* how often the place was used */
	struct texture_description d;
	enum texel_class class;
	uint32_t texel_bytes;
	uint32_t srgb_channels;        /* so many of them, from the first */
	int32_t border[4];             /* as texel_read() would give it */
};

/* A texel's channels: integers as they are, floats and halves as the bits of a float. Absent ones are 0. */
void texel_read(const struct texture *texture, const uint8_t *at, int32_t raw[4]);
void texel_border(struct texture *texture); /* the description's colour in the texture's format */
/* What a fetch of just this texel gives. */
void texel_result(const struct texture *texture, const int32_t raw[4], uint32_t out[4]);
/* One channel as tld4 gives it. */
uint32_t texel_gathered(const struct texture *texture, int32_t raw, unsigned channel);

/* Up to four 2 × 2 footprints (slices, levels), whose weights sum to 256. */
struct footprint {
	int32_t raw[4][4];             /* by texel, channel */
	uint32_t weight[4];
};
void texel_blend(const struct texture *texture, const struct footprint *footprints, unsigned count, uint32_t out[4]);

float half_to_float(uint16_t half);
uint16_t float_to_half_cut(float value); /* toward zero; beyond the largest: the largest */

#endif
