/* From LLVM's relocatable AMDGPU object to the loadable code object that HIP's loader wants: what `ld.lld -shared` does for one
 * object that needs nothing from outside. */
#ifndef DRAGOMAN_AMD_LINK_H
#define DRAGOMAN_AMD_LINK_H

#include <stddef.h>

/* The loadable object, malloc'ed, of `size` bytes that need no alignment and are not trusted. NULL and a line in `error` where the object
 * is damaged or asks for what is not done here. */
void *amd_link(const void *object, size_t size, size_t *linked_size, char *error, size_t error_size);

#endif
