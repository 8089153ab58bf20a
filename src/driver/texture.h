/* Texture and surface objects and references: CUDA Driver API 6.28 to 6.32.
 * texture_object.c makes a back end's object of a resource; texture.c keeps the references of modules, which bind objects
 * of their own. */
#ifndef DRAGOMAN_DRIVER_TEXTURE_H
#define DRAGOMAN_DRIVER_TEXTURE_H

#include "driver/driver.h"

/* The resource as textures read it; `texture` and `view` may be NULL (surfaces). */
CUresult texture_describe(const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view,
			  struct texture_description *out);
void references_release(struct module *module);

#endif
