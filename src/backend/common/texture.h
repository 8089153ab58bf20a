/* Texture fetches and surface accesses: what compiled code asks for, the records behind the objects, and the sampling itself, which is one
 * source for all back ends: compiled for the CPU, and by clang for AMD GPUs as a part of the device library (devlib/amd/texture.c).
 *
 *     texel.c     formats, and the arithmetic of the texture units     texture_table.c   objects and their numbers (the host's alone)
 *     fetch.c     coordinates, levels, kinds of fetches, queries       surface.c         surface accesses
 *
 * The arithmetic is what cards of the Ampere generation were recorded to do (filtering is in fixed point, with weights of 1/256).
 * Where many lanes are served by one call, argument a of lane i is word a * lanes + i, result c of lane i word c * lanes + i. */
#ifndef DRAGOMAN_BACKEND_COMMON_TEXTURE_H
#define DRAGOMAN_BACKEND_COMMON_TEXTURE_H

#include "backend/texture.h"

/* Where records and texels lie. Records do not change while a kernel that was given them runs. */
#ifdef __AMDGCN__
#define RECORD const __attribute__((address_space(4)))
#define TEXELS __attribute__((address_space(1)))
#define OUT_OF_LINE __attribute__((noinline))
#define ROLLED _Pragma("clang loop unroll(disable)") /* code is not made larger where texels cost more than turns of a loop */
#else
#define RECORD const
#define TEXELS
#define OUT_OF_LINE
#define ROLLED
#endif

static inline uint32_t float_bits(float value)
{
	uint32_t bits;
	__builtin_memcpy(&bits, &value, sizeof bits);
	return bits;
}

static inline float float_of_bits(uint32_t bits)
{
	float value;
	__builtin_memcpy(&value, &bits, sizeof value);
	return value;
}

/* ---- what code asks for ------------------------------------------------------------------------------------------------- */

/* A fetch: form bits. */
enum {
	FETCH_GEOMETRY = 0x3,      /* enum texture_geometry */
	FETCH_LAYERED = 0x4,
	FETCH_INTEGER = 0x8,       /* coordinates are integers */
	FETCH_LEVEL = 0x10,        /* of an explicit level … */
	FETCH_GRADIENT = 0x20,     /* … or that of these gradients */
	FETCH_GATHER = 0x40,       /* tld4: component in the bits from FETCH_COMPONENT */
	FETCH_COMPONENT = 7,
	FETCH_OFFSET = 0x200,
	/* A sampler says how, in place of the texture: by the bits of SAMPLER_… (backend/texture.h), or each lane has one … */
	FETCH_SAMPLER = 0x400,
	FETCH_SAMPLER_BITS = 0x3ff800,
	FETCH_SAMPLERS = 0x400000, /* … as arguments: the value of an operand that is known when the kernel runs */
	FETCH_SAMPLING = FETCH_SAMPLER | FETCH_SAMPLER_BITS | FETCH_SAMPLERS
};

/* Its arguments, 32-bit words. */
enum {
	FETCH_X, FETCH_Y, FETCH_Z, FETCH_LAYER, FETCH_LOD,
	FETCH_DX,                      /* three components */
	FETCH_DY = FETCH_DX + 3,
	FETCH_SHIFT = FETCH_DY + 3,    /* the offset: three components */
	FETCH_SAMPLER_LOW = FETCH_SHIFT + 3, /* 64 bits in two words */
	FETCH_SAMPLER_HIGH,
	FETCH_ARGUMENTS
};

/* A surface access: form bits. Arguments are x (bytes; texels where FORMATTED), y, z, layer; data are 64-bit words, an element each. */
enum {
	SURFACE_GEOMETRY = 0x3,
	SURFACE_LAYERED = 0x4,
	SURFACE_STORE = 0x8,
	SURFACE_FORMATTED = 0x10,  /* .p */
	SURFACE_REDUCE = 0x20,     /* sured: the operation in the bits from SURFACE_OPERATION */
	SURFACE_CLAMP = 0x40,      /* outside: the nearest place; */
	SURFACE_ZERO = 0x80,       /* zero, or nothing; neither: a trap */
	SURFACE_OPERATION = 8,     /* 3 bits */
	SURFACE_BYTES = 11,        /* 2 bits: log2 of an element's bytes */
	SURFACE_ELEMENTS = 13,     /* 2 bits: log2 of their number */
	SURFACE_SIGNED = 0x8000
};
enum surface_operation { SURFACE_ADD, SURFACE_MIN, SURFACE_MAX, SURFACE_AND, SURFACE_OR };
enum { SURFACE_X, SURFACE_Y, SURFACE_Z, SURFACE_LAYER, SURFACE_ARGUMENTS };

/* What txq and suq ask for. */
enum texture_query {
	QUERY_WIDTH, QUERY_HEIGHT, QUERY_DEPTH, QUERY_CHANNEL_TYPE, QUERY_CHANNEL_ORDER, QUERY_NORMALIZED, QUERY_LAYERS, QUERY_LEVELS,
	QUERY_SAMPLES, QUERY_FILTER, QUERY_ADDRESS_0, QUERY_ADDRESS_1, QUERY_ADDRESS_2, QUERY_LAYOUT, QUERY_UNNORMALIZED,
	QUERY_KIND /* 1: a texture, 2: a surface, 3: a sampler, 0: no object at all */
};

/* ---- objects ------------------------------------------------------------------------------------------------------------- */

enum texel_class { TEXEL_INTEGER, TEXEL_FLOAT, TEXEL_HALF, TEXEL_UNORM, TEXEL_SNORM };

/* sRGB codes of 8 bits as linear values. */
struct srgb_table {
	uint32_t values[256]; /* in 1/65536ths */
	uint32_t units[256];  /* of the exponent that eight of them share: what a blend keeps */
};

/* A record: the same bytes for the host and for every device. */
struct texture {
	uint64_t object;               /* its number; 0: the place is free */
	uint32_t generation;           /* how often the place was used */
	struct texture_description d;
	enum texel_class class;
	uint32_t texel_bytes;
	uint32_t srgb_channels;        /* so many of them, from the first */
	int32_t border[4];             /* as texel_read() would give it */
	const struct srgb_table *srgb;
};

_Static_assert(sizeof(struct texture) == 768, "the compilers of both sides lay records out alike");

/* An object's number is a place, in chunks, and above it how often the place was used: a stale one is recognised. */
enum { TEXTURE_CHUNK = 256, TEXTURE_CHUNKS = 4096, TEXTURE_NUMBER_BITS = 20 };

static inline uint32_t texture_place(uint64_t object)
{
	return (uint32_t)object & ((1u << TEXTURE_NUMBER_BITS) - 1);
}

/* What is neither a number nor a sampler's state is the address of a reference, which holds one. */
static inline bool texture_is_reference(uint64_t value)
{
	return value >> 32 && !(value & SAMPLER_WORD);
}

/* texture_table.c, the host's: one table for all devices. */
int texture_add(const struct texture_description *description, uint64_t *object); /* CUresult */
void texture_remove(uint64_t object);
const struct texture *texture_find(uint64_t object); /* by its number; NULL: there is none */
const struct texture *texture_at(uint32_t place);    /* NULL: none so far, there or further on; object 0: none now */

/* ---- fetch.c ------------------------------------------------------------------------------------------------------------- */

/* Can fetches of this form read the texture? */
bool texture_fits(RECORD struct texture *texture, uint32_t form);
/* One lane's, of any form. `sampler`: the state of the one that the form speaks of, else of the texture. */
void texture_fetch(RECORD struct texture *texture, uint32_t form, uint64_t sampler, const uint32_t *arguments, uint32_t lanes, uint32_t out[4]);
/* tex1Dfetch() of linear memory, where texture_is_buffer(). */
bool texture_is_buffer(RECORD struct texture *texture, uint32_t form);
void texture_fetch_buffer(RECORD struct texture *texture, uint32_t index, uint32_t out[4]);
/* The state of a texture as that of a sampler; what a fetch's arguments say of one: a state, a number or a reference. */
uint64_t texture_sampler(RECORD struct texture *texture);
static inline uint64_t texture_sampler_argument(const uint32_t *arguments, uint32_t lanes)
{
	return arguments[FETCH_SAMPLER_LOW * lanes] | (uint64_t)arguments[FETCH_SAMPLER_HIGH * lanes] << 32;
}
uint32_t texture_sampler_answer(uint64_t state, enum texture_query query);
uint32_t texture_answer(RECORD struct texture *texture, enum texture_query query, uint32_t level);

/* ---- surface.c ----------------------------------------------------------------------------------------------------------- */

struct surface_access {
	RECORD struct texture *t;
	uint32_t form;
	unsigned bytes, elements;      /* of an element; their number */
	int64_t x, y, slice;           /* x in bytes */
};

enum surface_outcome { SURFACE_DONE, SURFACE_MISALIGNED, SURFACE_OUTSIDE };

/* One lane's access; it is said to `access` what it was of. */
enum surface_outcome surface_do(RECORD struct texture *texture, uint32_t form, const int32_t *arguments, uint64_t *data, uint32_t lanes,
				struct surface_access *access);

/* ---- texel.c ------------------------------------------------------------------------------------------------------------- */

/* A texel's channels: integers as they are, floats and halves as the bits of a float. Absent ones are 0. */
void texel_read(RECORD struct texture *texture, const TEXELS uint8_t *at, int32_t raw[4]);
/* What a fetch of just this texel gives. */
void texel_result(RECORD struct texture *texture, const int32_t raw[4], uint32_t out[4]);
/* One channel as tld4 gives it. */
uint32_t texel_gathered(RECORD struct texture *texture, int32_t raw, unsigned channel);

/* Up to four 2 × 2 footprints (slices, levels), whose weights sum to 256. */
struct footprint {
	int32_t raw[4][4];             /* by texel, channel */
	uint32_t weight[4];
};
void texel_blend(RECORD struct texture *texture, const struct footprint *footprints, unsigned count, uint32_t out[4]);

float half_to_float(uint16_t half);
uint16_t float_to_half_cut(float value); /* toward zero; beyond the largest: the largest */

#endif
