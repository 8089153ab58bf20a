/* Texture and surface objects: an object's number is the address of its description in memory that the GPU reads; the device library samples. */
#include "backend/amd/amd.h"

int amd_texture_create(struct device *device, const struct texture_description *description, uint64_t *object)
{
	(void)device, (void)description, (void)object;
	return STATUS_NOT_SUPPORTED;
}

void amd_texture_destroy(struct device *device, uint64_t object)
{
	(void)device, (void)object;
}
