/* What module.c, library.c and function.c say to one another. */
#ifndef DRAGOMAN_DRIVER_MODULE_H
#define DRAGOMAN_DRIVER_MODULE_H

#include "driver/driver.h"

CUresult function_create(struct module *module, const struct ptx_function *ptx, struct function **function);
CUresult module_load_image(CUmodule *handle, const void *image);
CUresult file_read(const char *path, void **bytes, size_t *size); /* malloc'ed, a NUL behind it */
unsigned code_kernel_count(const struct code *code);
CUresult function_check_attribute(const struct function *function, CUfunction_attribute attribute, int value);

#endif
