/* Products of matrices by the machine's own instructions: WMMA (gfx11, gfx12) and MFMA (gfx90a, gfx942), all of them 16 × 16 results.
 *
 * A PTX tile is D (m × 8) = A (m × k) B (k × 8), its fragments spread over 32 lanes 4 g + t (PTX ISA 9.7.14.5). The machine makes the
 * transposed product, D' = B' A': then a lane of D' has one m and, in four registers, four neighbouring n: what a tile has exactly fills 32
 * lanes, also of a wave of 64. k may be in any order as long as A and B agree on it, and so may the rows of D' and its columns; these are
 * chosen so that
 *   - a register of the machine's is one of PTX's, of another lane: lanes' slots along k are pairs (t, block of registers);
 *   - column i of D' is row g = i / 2, or for odd i row g + 8, so that neighbours have what they have to give each other;
 *   - n = 4 h + r is in register r of half h of 32 lanes.
 * The addend is added to the product, in PTX's places. Integers are exact; floats are rounded where the machine does so and once more.
 *
 * In waves of 64 the warp is the lower half, but MFMA takes all lanes for active: its factors are made in whole-wave mode, in which the upper
 * lanes read the lower ones' registers. Lanes that are there are all here: mma is for converged warps. */
#include <string.h>

#include "codegen/amd.h"
#include "codegen/arith.h"
#include "codegen/mma.h"

/* An instruction: lanes form `groups` of 16 with a part of k each; a lane has `registers` for it. */
struct unit {
	const char *machine; /* what the GPU's name begins with */
	enum ptx_type type;  /* of A and B; PTX_S8, PTX_S4: also unsigned ones where `any_sign` */
	const char *name;
	unsigned groups, registers;
	bool any_sign;
};
static const struct unit units[] = {
	{ "gfx11", PTX_F16, "llvm.amdgcn.wmma.f32.16x16x16.f16", 1, 8, false },
	{ "gfx11", PTX_BF16, "llvm.amdgcn.wmma.f32.16x16x16.bf16", 1, 8, false },
	{ "gfx11", PTX_S8, "llvm.amdgcn.wmma.i32.16x16x16.iu8", 1, 4, true },
	{ "gfx11", PTX_S4, "llvm.amdgcn.wmma.i32.16x16x16.iu4", 1, 2, true },
	{ "gfx12", PTX_F16, "llvm.amdgcn.wmma.f32.16x16x16.f16", 2, 4, false },
	{ "gfx12", PTX_BF16, "llvm.amdgcn.wmma.f32.16x16x16.bf16", 2, 4, false },
	{ "gfx12", PTX_S8, "llvm.amdgcn.wmma.i32.16x16x16.iu8", 2, 2, true },
	{ "gfx12", PTX_S4, "llvm.amdgcn.wmma.i32.16x16x32.iu4", 2, 2, true },
	{ "gfx90a", PTX_F16, "llvm.amdgcn.mfma.f32.16x16x16f16", 4, 2, false },
	{ "gfx90a", PTX_BF16, "llvm.amdgcn.mfma.f32.16x16x16bf16.1k", 4, 2, false },
	{ "gfx90a", PTX_TF32, "llvm.amdgcn.mfma.f32.16x16x4f32", 4, 1, false },
	{ "gfx90a", PTX_S8, "llvm.amdgcn.mfma.i32.16x16x16i8", 4, 1, false },
	{ "gfx942", PTX_F16, "llvm.amdgcn.mfma.f32.16x16x16f16", 4, 2, false },
	{ "gfx942", PTX_BF16, "llvm.amdgcn.mfma.f32.16x16x16bf16.1k", 4, 2, false },
	{ "gfx942", PTX_TF32, "llvm.amdgcn.mfma.f32.16x16x4f32", 4, 1, false },
	{ "gfx942", PTX_S8, "llvm.amdgcn.mfma.i32.16x16x32.i8", 4, 2, false },
};

/* A product on its way. A lane's slots along k in one step are `groups` × `registers`, (t, block) pairs: `blocks` of each of `lanes` ts. */
struct product {
	struct emitter *e;
	const struct unit *unit;
	const struct mma_tile *tile;
	unsigned tiles;                /* of 8 columns, side by side: 2 fill the instruction */
	unsigned ts, blocks;           /* of a step */
	unsigned a_blocks;             /* of the tile: registers along k */
	bool is_float, wave64;
	LLVMValueRef lane;
	LLVMValueRef a_from, b_from;   /* byte addresses, for ds_bpermute, of the lanes that have t = 0 of the lane's row and column */
	LLVMValueRef odd, second;      /* i1: columns of D' that are rows from 8 on; rows of D' that are the second tile's */
};

static LLVMValueRef number(struct product *p, uint32_t value)
{
	return LLVMConstInt(LLVMInt32TypeInContext(p->e->context), value, false);
}

/* (lane & mask) shifted to the left, or to the right where `by` is below 0. */
static LLVMValueRef lane_bits_at(struct product *p, uint32_t mask, int by)
{
	LLVMValueRef v = LLVMBuildAnd(p->e->b, p->lane, number(p, mask), "");
	return by < 0 ? LLVMBuildLShr(p->e->b, v, number(p, (uint32_t)-by), "") : LLVMBuildShl(p->e->b, v, number(p, (uint32_t)by), "");
}

static LLVMValueRef lane_bit(struct product *p, uint32_t bit)
{
	return LLVMBuildICmp(p->e->b, LLVMIntNE, lane_bits_at(p, bit, 0), number(p, 0), "");
}

static LLVMValueRef either(struct product *p, LLVMValueRef a, LLVMValueRef b)
{
	return LLVMBuildOr(p->e->b, a, b, "");
}

/* `value` of the lane at byte address `from` + `bytes`. */
static LLVMValueRef permute(struct product *p, LLVMValueRef value, LLVMValueRef from, uint32_t bytes)
{
	LLVMValueRef arguments[] = { bytes ? LLVMBuildAdd(p->e->b, from, number(p, bytes), "") : from, value };
	return amd_intrinsic(p->e, "llvm.amdgcn.ds.bpermute", NULL, 0, arguments, 2);
}

static LLVMValueRef of_neighbour(struct product *p, LLVMValueRef value)
{
	enum { SWAP_PAIRS = 1 | 0 << 2 | 3 << 4 | 2 << 6 };
	LLVMTypeRef i32 = LLVMInt32TypeInContext(p->e->context);
	LLVMValueRef arguments[] = { value, number(p, SWAP_PAIRS), number(p, 15), number(p, 15),
				     LLVMConstInt(LLVMInt1TypeInContext(p->e->context), 1, false) };
	return amd_intrinsic(p->e, "llvm.amdgcn.mov.dpp", &i32, 1, arguments, 5);
}

/* ---- where things are ------------------------------------------------------------------------------------------------------- */

/* Lanes' addresses and choices. A row or column of PTX's is 4 lanes, 16 bytes. */
static void find_lanes(struct product *p)
{
	struct emitter *e = p->e;
	LLVMValueRef arguments[] = { number(p, UINT32_MAX), number(p, 0) };
	p->lane = amd_intrinsic(e, "llvm.amdgcn.mbcnt.lo", NULL, 0, arguments, 2);
	arguments[1] = p->lane;
	if (p->wave64)
		p->lane = amd_intrinsic(e, "llvm.amdgcn.mbcnt.hi", NULL, 0, arguments, 2);
	p->odd = lane_bit(p, 1);
	p->a_from = lane_bits_at(p, 14, 3);
	switch (p->unit->groups) {
	case 1: /* row 2 r + h of D' is in register r of half h */
		p->b_from = either(p, lane_bits_at(p, 1, 6), lane_bits_at(p, 6, 3));
		p->second = lane_bit(p, 8);
		break;
	case 2: /* row 8 h + r */
		p->b_from = either(p, lane_bits_at(p, 8, 3), lane_bits_at(p, 3, 4));
		p->second = lane_bit(p, 4);
		break;
	default: /* row 4 h + r; there are four h, of which the upper two are not wanted */
		p->b_from = lane_bits_at(p, 7, 4);
		p->second = NULL;
	}
	/* Lanes from 16 on have other ts. */
	if (p->unit->groups > 1) {
		LLVMValueRef group = lane_bits_at(p, 48, -4);
		group = LLVMBuildMul(e->b, group, number(p, 4 * p->ts / p->unit->groups), "");
		p->a_from = LLVMBuildAdd(e->b, p->a_from, group, "");
		p->b_from = LLVMBuildAdd(e->b, p->b_from, group, "");
	}
}

static LLVMTypeRef factor_type(struct product *p)
{
	LLVMContextRef context = p->e->context;
	LLVMTypeRef i32 = LLVMInt32TypeInContext(context);
	unsigned registers = p->unit->registers;
	switch (p->unit->type) {
	case PTX_F16:
		return LLVMVectorType(LLVMHalfTypeInContext(context), 2 * registers);
	case PTX_BF16:
		return LLVMVectorType(LLVMInt16TypeInContext(context), 2 * registers);
	case PTX_TF32:
		return LLVMFloatTypeInContext(context);
	default:
		return registers == 1 ? i32 : p->wave64 ? LLVMInt64TypeInContext(context) : LLVMVectorType(i32, registers);
	}
}

static LLVMTypeRef result_type(struct product *p)
{
	LLVMTypeRef element = p->is_float ? LLVMFloatTypeInContext(p->e->context) : LLVMInt32TypeInContext(p->e->context);
	return LLVMVectorType(element, p->wave64 ? 4 : 8);
}

/* ---- factors ------------------------------------------------------------------------------------------------------------------ */

/* The lanes' register for slot `slot` of a step; `first` tells the step's first t and block. Blocks that the tile does not have are zeros. */
static LLVMValueRef factor_register(struct product *p, LLVMValueRef const *a, LLVMValueRef const *b, unsigned first_t, unsigned first_block, unsigned slot)
{
	unsigned block = first_block + slot % p->blocks, bytes = 4 * (first_t + slot / p->blocks), halves = p->tile->m / 8;
	if (block >= p->a_blocks)
		return number(p, 0);
	if (a) {
		LLVMValueRef v = permute(p, a[block * halves], p->a_from, bytes);
		return halves == 1 ? v : LLVMBuildSelect(p->e->b, p->odd, permute(p, a[block * halves + 1], p->a_from, bytes), v, "");
	}
	LLVMValueRef v = permute(p, b[block], p->b_from, bytes);
	return p->tiles == 1 ? v : LLVMBuildSelect(p->e->b, p->second, permute(p, b[p->a_blocks + block], p->b_from, bytes), v, "");
}

static LLVMValueRef factor(struct product *p, LLVMValueRef const *a, LLVMValueRef const *b, unsigned first_t, unsigned first_block)
{
	LLVMTypeRef type = LLVMVectorType(LLVMInt32TypeInContext(p->e->context), p->unit->registers);
	LLVMValueRef all = LLVMGetPoison(type);
	for (unsigned slot = 0; slot < p->unit->registers; slot++)
		all = LLVMBuildInsertElement(p->e->b, all, factor_register(p, a, b, first_t, first_block, slot), number(p, slot), "");
	return LLVMBuildBitCast(p->e->b, all, factor_type(p), "");
}

static LLVMValueRef sign_of(struct product *p, enum ptx_type type)
{
	return LLVMConstInt(LLVMInt1TypeInContext(p->e->context), type == PTX_S8 || type == PTX_S4, false);
}

/* sum + what the step's slots give */
static LLVMValueRef step(struct product *p, LLVMValueRef const *a, LLVMValueRef const *b, LLVMValueRef sum, unsigned first_t, unsigned first_block)
{
	LLVMValueRef rows = factor(p, NULL, b, first_t, first_block), columns = factor(p, a, NULL, first_t, first_block);
	LLVMTypeRef types[] = { result_type(p), factor_type(p) };
	if (p->wave64) {
		LLVMValueRef arguments[] = { rows, columns, sum, number(p, 0), number(p, 0), number(p, 0) };
		return amd_intrinsic(p->e, p->unit->name, NULL, 0, arguments, 6);
	}
	if (p->is_float) {
		LLVMValueRef arguments[] = { rows, columns, sum };
		return amd_intrinsic(p->e, p->unit->name, types, 2, arguments, 3);
	}
	LLVMValueRef wraps = LLVMConstInt(LLVMInt1TypeInContext(p->e->context), 0, false);
	LLVMValueRef arguments[] = { sign_of(p, p->tile->b), rows, sign_of(p, p->tile->a), columns, sum, wraps };
	return amd_intrinsic(p->e, p->unit->name, types, 2, arguments, 6);
}

/* A register as both halves of the wave may see it; the lower 13 bits of .tf32 do not count. */
static LLVMValueRef entering(struct product *p, LLVMValueRef value)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(p->e->context);
	LLVMValueRef arguments[] = { value, number(p, 0) };
	if (p->unit->type == PTX_TF32)
		arguments[0] = LLVMBuildAnd(p->e->b, value, number(p, ~UINT32_C(0x1fff)), "");
	return p->wave64 ? amd_intrinsic(p->e, "llvm.amdgcn.set.inactive", &i32, 1, arguments, 2) : arguments[0];
}

/* ---- results -------------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef leaving(struct product *p, LLVMValueRef sum, unsigned index)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(p->e->context);
	LLVMValueRef v = LLVMBuildExtractElement(p->e->b, sum, number(p, index), "");
	v = LLVMBuildBitCast(p->e->b, v, i32, "");
	return p->wave64 ? amd_intrinsic(p->e, "llvm.amdgcn.strict.wwm", &i32, 1, &v, 1) : v;
}

/* Elements 0 to 3 of a tile's accumulator in the lanes that PTX has them in: columns 2 t and 2 t + 1 of row g, then of row g + 8. Neighbours
 * give each other half of what they have. */
static void tile_results(struct product *p, LLVMValueRef sum, unsigned tile, LLVMValueRef to[4])
{
	LLVMBuilderRef b = p->e->b;
	bool both = p->tile->m == 16;
	LLVMValueRef r[4], from = either(p, either(p, lane_bits_at(p, 2, 5), lane_bits_at(p, 28, 1)), lane_bits_at(p, 1, 2));
	for (unsigned i = 0; i < 4; i++)
		r[i] = leaving(p, sum, 4 * tile + i);
	for (unsigned i = 0; i < 2; i++) {
		to[i] = LLVMBuildSelect(b, p->odd, both ? of_neighbour(p, r[2 + i]) : r[2 + i], r[i], "");
		to[2 + i] = both ? LLVMBuildSelect(b, p->odd, r[2 + i], of_neighbour(p, r[i]), "") : NULL;
	}
	for (unsigned i = 0; i < p->tile->m / 4; i++)
		to[i] = permute(p, to[i], from, 0);
}

static LLVMValueRef half_at(struct product *p, LLVMValueRef word, unsigned i)
{
	struct emitter *e = p->e;
	LLVMTypeRef pair = LLVMVectorType(LLVMHalfTypeInContext(e->context), 2);
	LLVMValueRef half = LLVMBuildExtractElement(e->b, LLVMBuildBitCast(e->b, word, pair, ""), number(p, i), "");
	return LLVMBuildFPExt(e->b, half, LLVMFloatTypeInContext(e->context), "");
}

/* The tile's registers of D: product + C. */
static void add_tile(struct product *p, LLVMValueRef const product[4], LLVMValueRef const *c, LLVMValueRef *d)
{
	struct emitter *e = p->e;
	LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context), f32 = LLVMFloatTypeInContext(e->context);
	LLVMTypeRef f16 = LLVMHalfTypeInContext(e->context), pair = LLVMVectorType(f16, 2);
	LLVMValueRef halves = NULL;
	for (unsigned i = 0; i < p->tile->m / 4; i++) {
		if (!p->is_float) {
			d[i] = LLVMBuildAdd(e->b, product[i], c[i], "");
			continue;
		}
		LLVMValueRef addend = p->tile->c == PTX_F16 ? half_at(p, c[i / 2], i % 2) : LLVMBuildBitCast(e->b, c[i], f32, "");
		LLVMValueRef sum = LLVMBuildFAdd(e->b, LLVMBuildBitCast(e->b, product[i], f32, ""), addend, "");
		if (p->tile->d != PTX_F16) {
			d[i] = LLVMBuildBitCast(e->b, canonical_nan(e, sum), i32, "");
			continue;
		}
		sum = canonical_nan(e, LLVMBuildFPTrunc(e->b, sum, f16, ""));
		halves = LLVMBuildInsertElement(e->b, i % 2 ? halves : LLVMGetPoison(pair), sum, number(p, i % 2), "");
		d[i / 2] = LLVMBuildBitCast(e->b, halves, i32, "");
	}
}

/* ---- the product ------------------------------------------------------------------------------------------------------------------- */

static const struct unit *find_unit(struct emitter *e, const struct mma_tile *tile)
{
	bool is_signed = tile->a == tile->b && (tile->a == PTX_S8 || tile->a == PTX_S4), is_float = type_is_float(tile->a) || tile->a == PTX_TF32;
	enum ptx_type type = tile->a == PTX_U8 ? PTX_S8 : tile->a == PTX_U4 ? PTX_S4 : tile->a;
	if (tile->sparse || tile->newest || tile->satfinite || (is_float && e->ir->options.exact_products))
		return NULL;
	for (size_t i = 0; i < ARRAY_LENGTH(units); i++)
		if (!strncmp(e->target->cpu, units[i].machine, strlen(units[i].machine)) && units[i].type == type)
			return is_float || is_signed || units[i].any_sign ? &units[i] : NULL;
	return NULL;
}

static void multiply_tiles(struct product *p, LLVMValueRef const *a, LLVMValueRef const *b, LLVMValueRef const *c, LLVMValueRef *d)
{
	LLVMValueRef sum = LLVMConstNull(result_type(p)), product[4];
	for (unsigned block = 0; block < p->a_blocks; block += p->blocks)
		for (unsigned t = 0; t < 4; t += p->ts)
			sum = step(p, a, b, sum, t, block);
	for (unsigned tile = 0; tile < p->tiles; tile++) {
		tile_results(p, sum, tile, product);
		add_tile(p, product, c + tile * mma_c_registers(p->tile, p->tile->c), d + tile * mma_c_registers(p->tile, p->tile->d));
	}
}

bool amd_multiply(struct emitter *e, const struct mma_tile *tile, unsigned columns, LLVMValueRef const *a, LLVMValueRef const *b,
		  LLVMValueRef const *c, LLVMValueRef *d)
{
	enum { MOST_REGISTERS = 64 };
	const struct unit *unit = find_unit(e, tile);
	unsigned a_registers = mma_a_registers(tile), b_registers = columns * mma_b_registers(tile);
	LLVMValueRef own_a[MOST_REGISTERS], own_b[MOST_REGISTERS];
	if (!unit || a_registers > MOST_REGISTERS || b_registers > MOST_REGISTERS || amd_is_packed(e))
		return false;
	unsigned slots = unit->groups * unit->registers;
	struct product p = { .e = e, .unit = unit, .tile = tile, .is_float = unit->type != PTX_S8 && unit->type != PTX_S4, .wave64 = e->target->wave64 };
	p.ts = slots < 4 ? slots : 4;
	p.blocks = slots / p.ts;
	p.a_blocks = mma_b_registers(tile);
	find_lanes(&p);
	for (unsigned i = 0; i < a_registers; i++)
		own_a[i] = entering(&p, a[i]);
	for (unsigned i = 0; i < b_registers; i++)
		own_b[i] = entering(&p, b[i]);
	for (unsigned column = 0; column < columns; column += p.tiles) {
		p.tiles = p.second && columns - column > 1 ? 2 : 1;
		multiply_tiles(&p, own_a, own_b + column * p.a_blocks, c + column * mma_c_registers(tile, tile->c), d + column * mma_c_registers(tile, tile->d));
	}
	return true;
}
