/* What module.c, library.c and function.c say to one another. */
#ifndef DRAGOMAN_DRIVER_MODULE_H
#define DRAGOMAN_DRIVER_MODULE_H

#include "driver/driver.h"

/* The managed variables of a library: one each for all devices, wherever the library is loaded. */
struct managed;
CUresult managed_bind(struct managed *managed, struct module *module); /* called with the library's lock held */

/* `managed` is NULL for a module that is no library's: its managed variables are its own. */
CUresult module_create(struct context *context, struct code *code, struct managed *managed, struct jit_log *log,
		       struct module **module);
CUresult function_create(struct module *module, const struct ptx_function *ptx, struct function **function);
CUresult module_load_image(CUmodule *handle, const void *image);
CUresult file_read(const char *path, void **bytes, size_t *size); /* malloc'ed, a NUL behind it */
unsigned code_kernel_count(const struct code *code);
CUresult function_check_attribute(const struct function *function, CUfunction_attribute attribute, int value);

#endif
