/* Texture and surface references of modules. */
#define _GNU_SOURCE
#include "driver/texture.h"

void references_release(struct module *module)
{
	(void)module;
}
