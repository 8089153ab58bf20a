/* What a .samplerref variable's initialiser says (PTX ISA 5.3), as back ends read it. */
#ifndef DRAGOMAN_BACKEND_SAMPLER_H
#define DRAGOMAN_BACKEND_SAMPLER_H

#include "backend/texture.h"
#include "ptx/ptx.h"

static inline enum texture_address texture_address_of(enum ptx_address_mode mode)
{
	static const enum texture_address modes[] = {
		[PTX_ADDRESS_WRAP] = TEXTURE_WRAP, [PTX_ADDRESS_MIRROR] = TEXTURE_MIRROR, [PTX_ADDRESS_CLAMP_OGL] = TEXTURE_CLAMP_OGL,
		[PTX_ADDRESS_CLAMP_TO_EDGE] = TEXTURE_CLAMP, [PTX_ADDRESS_CLAMP_TO_BORDER] = TEXTURE_BORDER,
	};
	return modes[mode];
}

/* The word of its memory. What is left out is wrap, nearest, and as the texture has it. */
static inline uint64_t sampler_word(const struct ptx_variable *v)
{
	const struct ptx_sampling *s = v->sampling;
	uint64_t word = SAMPLER_WORD;
	if (!s)
		return word;
	for (unsigned axis = 0; axis < 3; axis++)
		if (s->address[axis] >= 0)
			word |= (uint64_t)texture_address_of((enum ptx_address_mode)s->address[axis]) << (SAMPLER_ADDRESS + 3 * axis);
	return word | (s->linear > 0 ? SAMPLER_FILTERED : 0) | (s->unnormalized > 0 ? SAMPLER_UNNORMALIZED : 0);
}

#endif
