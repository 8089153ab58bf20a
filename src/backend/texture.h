/* What a texture or surface object reads, as the driver describes it to a back end (device_ops.texture_create).
 * CUDA C++ Programming Guide, "Texture and Surface Memory"; CUDA Driver API, "Texture Object Management". */
#ifndef DRAGOMAN_BACKEND_TEXTURE_H
#define DRAGOMAN_BACKEND_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

enum { TEXTURE_LEVELS = 16 };

enum texture_geometry { TEXTURE_1D, TEXTURE_2D, TEXTURE_3D, TEXTURE_CUBE };

/* How a channel's bits are read. The normalised ones become floats of [0, 1] or [-1, 1]. */
enum texture_channel { TEXTURE_UNSIGNED, TEXTURE_SIGNED, TEXTURE_FLOAT, TEXTURE_UNORM, TEXTURE_SNORM };

/* As CUaddress_mode numbers them; beyond those OpenGL's GL_CLAMP, which PTX calls clamp_ogl: the coordinate stays within the texture,
 * and where a filter reaches over its edge there is the border. */
enum texture_address { TEXTURE_WRAP, TEXTURE_CLAMP, TEXTURE_MIRROR, TEXTURE_BORDER, TEXTURE_CLAMP_OGL };

/* A sampler's state in one word: what the memory of a .samplerref variable holds. The highest bit tells it from the number of an object
 * and from an address. */
enum {
	SAMPLER_ADDRESS = 11,             /* enum texture_address of each axis, three bits each */
	SAMPLER_FILTERED = 0x100000,
	SAMPLER_UNNORMALIZED = 0x200000   /* coordinates count texels even where the texture says otherwise */
};
#define SAMPLER_WORD (UINT64_C(1) << 63)

struct texture_level {
	uint8_t *base;
	uint64_t row, slice;              /* bytes from row to row, slice to slice; layers and faces are slices */
	uint32_t width, height, depth;    /* texels, at least 1 */
};

struct texture_description {
	enum texture_geometry geometry;
	bool surface;                     /* a surface object: only its first level counts, and no sampling state */
	bool linear_memory;               /* a buffer: reached by integer coordinates only */
	bool layered;
	uint32_t layers;                  /* a cube map's faces are not counted: 1 where it is not layered */
	enum texture_channel channel;
	uint8_t bits, channels;           /* 8, 16 or 32 bits a channel; 10: the packed 10:10:10:2 */
	bool srgb;

	bool normalized;                  /* coordinates of [0, 1) */
	bool filtered;                    /* linear filtering within a level */
	bool mipmapped, mip_filtered;
	enum texture_address address[3];
	float border[4];
	float level_bias, level_least, level_most;

	uint32_t level_count;
	struct texture_level levels[TEXTURE_LEVELS];
};

#endif
