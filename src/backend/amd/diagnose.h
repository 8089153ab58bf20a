/* What the machine itself says about AMD GPUs, without HIP: for the back end's one line, and for `dragoman doctor`. */
#ifndef DRAGOMAN_AMD_DIAGNOSE_H
#define DRAGOMAN_AMD_DIAGNOSE_H

#include <stdbool.h>
#include <stddef.h>

extern const char *const amd_architectures[]; /* for which there is code; NULL at the end */
bool amd_is_supported(const char *architecture);

struct amd_kernel_gpu { /* as the kernel's driver sees it */
	char architecture[32]; /* "gfx1100" */
	int minor;             /* /dev/dri/renderD… */
	bool integrated;       /* shares a node with a CPU */
};
size_t amd_kernel_gpus(struct amd_kernel_gpu *gpus, size_t most);

enum amd_trouble {
	AMD_TROUBLE_NONE, AMD_TROUBLE_NO_CARD, AMD_TROUBLE_NO_DRIVER, AMD_TROUBLE_NO_ACCESS, AMD_TROUBLE_UNSUPPORTED,
};
/* The first thing in the way, and a line on it and what to do. */
enum amd_trouble amd_kernel_trouble(char *line, size_t size);

#endif
