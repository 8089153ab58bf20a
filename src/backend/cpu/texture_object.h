/* Texture and surface objects of the CPU: what is behind device_ops' and cpu_services' entries. */
#ifndef DRAGOMAN_CPU_TEXTURE_OBJECT_H
#define DRAGOMAN_CPU_TEXTURE_OBJECT_H

#include "backend/common/texture.h"
#include "backend/cpu/abi.h"

struct device;

int cpu_texture_create(struct device *device, const struct texture_description *description, uint64_t *object);
void cpu_texture_destroy(struct device *device, uint64_t object);

/* Services; see abi.h. */
void cpu_texture_fetch(struct cpu_block *block, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask,
		       const uint32_t *arguments, uint32_t *out);
void cpu_surface_access(struct cpu_block *block, uint64_t object, uint32_t form, uint32_t lanes, uint32_t mask,
			const int32_t *arguments, uint64_t *data);
uint32_t cpu_texture_query(struct cpu_block *block, uint64_t object, uint32_t what, uint32_t level);

#endif
