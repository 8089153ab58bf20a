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


/* Files named libamdhip64.so.N of different releases that the loader or ROCm's own folders hold, one a line: "path (release)"; how many. More
 * than one is how programs come to load the wrong one. */
struct text;
size_t amd_list_runtimes(struct text *out);

/* A GPU as HIP shows it, whether or not it is used. */
struct amd_hip_gpu {
	int hip;               /* HIP's number */
	int ordinal;           /* Dragoman's; -1: not used */
	bool integrated;
	char name[128], architecture[32];
};
/* False where HIP has none, or there is no HIP. */
size_t amd_hip_gpus(struct amd_hip_gpu *gpus, size_t most);
/* "/opt/rocm/lib/libamdhip64.so.6, HIP 6.2.41133"; a line on why there is none. */
bool amd_hip_release(char *line, size_t size);
/* Why no GPU can be used, in one line; NULL: one can. */
const char *amd_why_not(void);

#endif
