/* The corpus as kernels: out[i] of three words of in. */
#include "corpus.h"

#define GLOBAL __attribute__((address_space(1)))
#define CASE(name, ...) \
__attribute__((amdgpu_kernel, visibility("protected"))) void name(GLOBAL u64 *out, GLOBAL const u64 *in, u32 count) \
{ \
	u32 i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); \
	u64 r; \
\
	if (i >= count) return; \
	case_##name(in[3 * i], in[3 * i + 1], in[3 * i + 2], &r); \
	out[i] = r; \
}
#include "corpus.inc"
