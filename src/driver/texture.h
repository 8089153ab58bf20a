/* Texture and surface references of modules. CUDA Driver API 6.29 "Texture Reference Management". */
#ifndef DRAGOMAN_DRIVER_TEXTURE_H
#define DRAGOMAN_DRIVER_TEXTURE_H

#include "driver/driver.h"

void references_release(struct module *module);

#endif
