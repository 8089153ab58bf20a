/* The fundamental, packed and opaque types of PTX (ISA 5.2, 5.3) by name and size. */
#include "ptx/ptx.h"

#include "ptx/isa_index.h"

static const struct {
	const char *name;
	uint8_t bits;
} types[PTX_TYPE_COUNT] = {
	[PTX_TYPE_NONE] = { "", 0 },
	[PTX_PRED] = { "pred", 1 },
	[PTX_B8] = { "b8", 8 },
	[PTX_B16] = { "b16", 16 },
	[PTX_B32] = { "b32", 32 },
	[PTX_B64] = { "b64", 64 },
	[PTX_B128] = { "b128", 128 },
	[PTX_U8] = { "u8", 8 },
	[PTX_U16] = { "u16", 16 },
	[PTX_U32] = { "u32", 32 },
	[PTX_U64] = { "u64", 64 },
	[PTX_S8] = { "s8", 8 },
	[PTX_S16] = { "s16", 16 },
	[PTX_S32] = { "s32", 32 },
	[PTX_S64] = { "s64", 64 },
	[PTX_F16] = { "f16", 16 },
	[PTX_F16X2] = { "f16x2", 32 },
	[PTX_BF16] = { "bf16", 16 },
	[PTX_BF16X2] = { "bf16x2", 32 },
	[PTX_TF32] = { "tf32", 32 },
	[PTX_F32] = { "f32", 32 },
	[PTX_F32X2] = { "f32x2", 64 },
	[PTX_F64] = { "f64", 64 },
	[PTX_E4M3] = { "e4m3", 8 },
	[PTX_E5M2] = { "e5m2", 8 },
	[PTX_E4M3X2] = { "e4m3x2", 16 },
	[PTX_E5M2X2] = { "e5m2x2", 16 },
	[PTX_E2M1X2] = { "e2m1x2", 8 },
	[PTX_E2M3X2] = { "e2m3x2", 16 },
	[PTX_E3M2X2] = { "e3m2x2", 16 },
	[PTX_UE8M0X2] = { "ue8m0x2", 16 },
	[PTX_E4M3X4] = { "e4m3x4", 32 },
	[PTX_E5M2X4] = { "e5m2x4", 32 },
	[PTX_E2M1X4] = { "e2m1x4", 16 },
	[PTX_E2M3X4] = { "e2m3x4", 32 },
	[PTX_E3M2X4] = { "e3m2x4", 32 },
	[PTX_U4] = { "u4", 4 },
	[PTX_S4] = { "s4", 4 },
	[PTX_B1] = { "b1", 1 },
	[PTX_U16X2] = { "u16x2", 32 },
	[PTX_S16X2] = { "s16x2", 32 },
	[PTX_E2M1] = { "e2m1", 4 },
	[PTX_E2M3] = { "e2m3", 6 },
	[PTX_E3M2] = { "e3m2", 6 },
	[PTX_TEXREF] = { "texref", 0 },
	[PTX_SAMPLERREF] = { "samplerref", 0 },
	[PTX_SURFREF] = { "surfref", 0 },
};

unsigned ptx_type_bits(enum ptx_type type)
{
	return type < PTX_TYPE_COUNT ? types[type].bits : 0;
}

const char *ptx_type_name(enum ptx_type type)
{
	return type < PTX_TYPE_COUNT ? types[type].name : "";
}

enum ptx_type ptx_type_of_mod(enum ptx_mod mod)
{
	return mod < ISA_MOD_COUNT ? (enum ptx_type)isa_mod_types[mod] : PTX_TYPE_NONE;
}
