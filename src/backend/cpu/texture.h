/* Texture fetches and surface accesses as compiled code asks for them (struct cpu_services), and the objects behind them.
 *
 * A call serves the lanes of a chunk: argument a of lane i is word a * lanes + i, result c of lane i word c * lanes + i. */
#ifndef DRAGOMAN_CPU_TEXTURE_H
#define DRAGOMAN_CPU_TEXTURE_H

#include <stdint.h>

#include "backend/texture.h"

/* cpu_services.texture: form bits */
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

/* cpu_services.surface: form bits. Arguments are x (bytes; texels where FORMATTED), y, z, layer; data are 64-bit words, an element each. */
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

/* cpu_services.query: what txq and suq ask for. */
enum texture_query {
	QUERY_WIDTH, QUERY_HEIGHT, QUERY_DEPTH, QUERY_CHANNEL_TYPE, QUERY_CHANNEL_ORDER, QUERY_NORMALIZED, QUERY_LAYERS, QUERY_LEVELS,
	QUERY_SAMPLES, QUERY_FILTER, QUERY_ADDRESS_0, QUERY_ADDRESS_1, QUERY_ADDRESS_2, QUERY_LAYOUT, QUERY_UNNORMALIZED,
	QUERY_KIND /* 1: a texture, 2: a surface, 3: a sampler, 0: no object at all */
};

#endif
