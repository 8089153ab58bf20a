/* Functions that device code calls and that the system has: those that are written in PTX. */
#ifndef DRAGOMAN_BUILTIN_H
#define DRAGOMAN_BUILTIN_H

#include "ptx/ptx.h"

/* The function of that name, NULL where there is none; lives as long as the library. */
const struct ptx_function *ir_builtin(const char *name);

#endif
