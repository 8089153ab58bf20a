/* instructions.inc as kernels: out[i] of three words of in. */
#include "corpus.h"

#define GLOBAL __attribute__((address_space(1)))
#if defined __gfx90a__
#define ON_GFX9(...) __VA_ARGS__
#define ON_GFX942(...)
#define ON_GFX10(...)
#define ON_GFX11(...)
#elif defined __gfx942__
#define ON_GFX9(...) __VA_ARGS__
#define ON_GFX942(...) __VA_ARGS__
#define ON_GFX10(...)
#define ON_GFX11(...)
#elif defined __gfx1030__
#define ON_GFX9(...)
#define ON_GFX942(...)
#define ON_GFX10(...) __VA_ARGS__
#define ON_GFX11(...)
#else
#define ON_GFX9(...)
#define ON_GFX942(...)
#define ON_GFX10(...) __VA_ARGS__
#define ON_GFX11(...) __VA_ARGS__
#endif
#define ON_ALL(...) __VA_ARGS__
#if __AMDGCN_WAVEFRONT_SIZE == 64
#define VCC "vcc"
#else
#define VCC "vcc_lo"
#endif
#if defined __gfx1200__ || defined __gfx1201__
#define GFX12_NAMES
#endif

#define KERNEL(name, type, text) \
__attribute__((amdgpu_kernel, visibility("protected"))) void name(GLOBAL u64 *out, GLOBAL const u64 *in, u32 count) \
{ \
	u32 i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); \
	type r; \
\
	if (i >= count) return; \
	__asm__ volatile(text : "=&v"(r) : "v"((type)in[3 * i]), "v"((type)in[3 * i + 1]), "v"((type)in[3 * i + 2]) \
		: "vcc", "scc", "s4", "s5", "s6", "s7", "v4", "v5"); \
	out[i] = r; \
}
#define ASM(name, where, text, ...) ON_##where(KERNEL(asm_##name, u32, text))
#define WIDE(name, where, text, ...) ON_##where(KERNEL(asm_##name, u64, text))
#include "instructions.inc"
