/* The device libraries as LLVM bitcode, in the compiler. */
#ifndef DRAGOMAN_DEVLIB_LIBRARY_H
#define DRAGOMAN_DEVLIB_LIBRARY_H

#include <stddef.h>

/* src/devlib/amd, compiled; 0 bytes where there was no clang to compile it. */
extern const unsigned char amd_library[];
extern const size_t amd_library_size;

#endif
