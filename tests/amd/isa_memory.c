/* Vector and scalar memory: global_, flat_, scratch_ and buffer_ with their addresses, and s_load.
 *
 * Global memory is the host's, where the table of allocations has it. A lane's private memory is a piece of host memory of
 * its own: scratch_ instructions, the private aperture of flat addresses and buffer_ through the private segment's
 * resource all lead there, so that the hardware's swizzle is never seen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "machine.h"

/* ---- addresses ---- */
uint8_t *memory_address(struct wave *w, const struct instruction *in, uint64_t address, unsigned size, unsigned lane)
{
	uint64_t generation, start;
	size_t length;

	if (address - w->memory_start <= w->memory_length - size && w->memory_length >= size && w->memory_generation == memory_generation())
		return (uint8_t *)(uintptr_t)address;
	generation = memory_generation();
	if (!memory_find(address, size, &start, &length)) {
		wave_fail(w, in, DISPATCH_FAULT, "lane %u: %u bytes at address 0x%llx are not allocated", lane, size, (unsigned long long)address);
		return NULL;
	}
	w->memory_start = start;
	w->memory_length = length;
	w->memory_generation = generation;
	return (uint8_t *)(uintptr_t)address;
}

uint8_t *lds_fail(struct wave *w, const struct instruction *in, uint64_t address, unsigned size)
{
	wave_fail(w, in, DISPATCH_FAULT, "%u bytes at LDS address 0x%llx are outside of the block's %u bytes", size, (unsigned long long)address,
		w->block->lds_bytes);
	return NULL;
}

static uint8_t *private_address(struct wave *w, const struct instruction *in, uint32_t address, unsigned size, unsigned lane)
{
	if ((uint64_t)address + size <= w->private_bytes) return w->private_memory + (size_t)lane * w->private_bytes + address;
	wave_fail(w, in, DISPATCH_FAULT, "lane %u: %u bytes at private address 0x%x are outside of the lane's %u bytes", lane, size, address,
		w->private_bytes);
	return NULL;
}

static uint64_t lane_value(struct wave *w, const struct operand *o, unsigned lane, bool wide)
{
	if (o->kind == OPERAND_VECTOR)
		return wave_row(w, o->reg)[lane] | (wide ? (uint64_t)wave_row(w, o->reg + 1u)[lane] << 32 : 0);
	return o->kind == OPERAND_OFF ? 0 : scalar_read(w, o, wide);
}

/* buffer_: base + offsets; *outside where the resource's range ends before it */
static uint8_t *buffer_address(struct wave *w, const struct instruction *in, unsigned size, unsigned lane, bool *outside)
{
	const struct operand *vaddr = &in->o[1], *resource = &in->o[2], *soffset = &in->o[3];
	uint64_t base, offset = (uint64_t)in->offset;
	uint32_t scalar = (uint32_t)scalar_read(w, soffset, false);

	if (in->idxen || resource->kind != OPERAND_SCALAR) {
		wave_fail(w, in, DISPATCH_UNSUPPORTED, "buffers with an index are not modelled");
		return NULL;
	}
	base = w->s[resource->reg] | (uint64_t)(w->s[resource->reg + 1] & 0xffff) << 32;
	if (in->offen) offset += lane_value(w, vaddr, lane, false);
	if (base == PRIVATE_RESOURCE_BASE) return private_address(w, in, (uint32_t)offset + scalar / w->lanes, size, lane);
	if (w->s[resource->reg + 1] >> 16) {
		wave_fail(w, in, DISPATCH_UNSUPPORTED, "buffers with a stride are not modelled");
		return NULL;
	}
	*outside = offset + scalar + size > w->s[resource->reg + 2];
	return *outside ? NULL : memory_address(w, in, base + offset + scalar, size, lane);
}

/* The memory that a lane touches; `first` is the operand with the address. NULL after a failure, or *outside. */
static uint8_t *lane_address(struct wave *w, const struct instruction *in, unsigned first, unsigned size, unsigned lane, bool *outside)
{
	const struct operand *vaddr = &in->o[first];
	const struct operand *saddr = &in->o[in->operand_count - 1];
	uint64_t address;

	*outside = false;
	switch (in->space) {
	case 'b':
		return buffer_address(w, in, size, lane, outside);
	case 's':
		return private_address(w, in, (uint32_t)(lane_value(w, vaddr, lane, false) + lane_value(w, saddr, lane, false) + (uint64_t)in->offset),
			size, lane);
	case 'g':
		if (saddr->kind == OPERAND_SCALAR && saddr->reg != SGPR_NULL) address = scalar_read(w, saddr, true) + lane_value(w, vaddr, lane, false);
		else address = lane_value(w, vaddr, lane, true);
		return memory_address(w, in, address + (uint64_t)(int64_t)in->offset, size, lane);
	default:
		address = lane_value(w, vaddr, lane, true) + (uint64_t)(int64_t)in->offset;
		if (address >> 32 == SHARED_APERTURE) return lds_address(w, in, (uint32_t)address, size);
		if (address >> 32 == PRIVATE_APERTURE) return private_address(w, in, (uint32_t)address, size, lane);
		return memory_address(w, in, address, size, lane);
	}
}

/* ---- loads and stores ---- */
void load_narrow(struct wave *w, const struct access *access, const struct operand *d, const uint8_t *memory, unsigned lane)
{
	uint32_t value = 0;

	memcpy(&value, memory, access->bytes);
	if (access->sign) value = access->bytes == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
	if (access->d16) {
		/* the other half is kept, but where ECC of the registers clears it */
		uint32_t old = w->gpu->sram_ecc ? 0 : wave_row(w, d->reg)[lane];

		value = access->high || d->high ? (old & 0xffff) | value << 16 : (old & 0xffff0000) | (value & 0xffff);
	}
	wave_row(w, d->reg)[lane] = value;
}

void store_narrow(struct wave *w, const struct access *access, const struct operand *data, uint8_t *memory, unsigned lane)
{
	uint32_t value = wave_row(w, data->reg)[lane] >> (access->high || data->high ? 16 : 0);

	memcpy(memory, &value, access->bytes);
}

static void load(struct wave *w, const struct instruction *in)
{
	const struct access *access = in->access;
	static const uint8_t zeros[16];
	bool outside;

	EACH_LANE(w, lane) {
		const uint8_t *memory = lane_address(w, in, 1, access->bytes, lane, &outside);

		if (!memory && !outside) return;
		load_lane(w, access, &in->o[0], memory ? memory : zeros, lane);
	}
}

static void store(struct wave *w, const struct instruction *in)
{
	const struct access *access = in->access;
	bool buffer = in->space == 'b', outside;

	EACH_LANE(w, lane) {
		uint8_t *memory = lane_address(w, in, 0, access->bytes, lane, &outside);

		if (!memory && !outside) return;
		if (memory) store_lane(w, access, &in->o[buffer ? 0 : 1], memory, lane);
	}
}

/* ---- atomics ---- */
static uint32_t pk_add(uint32_t a, uint32_t b, bool bfloat)
{
	uint32_t result = 0;

	for (unsigned i = 0; i < 32; i += 16) {
		uint16_t x = (uint16_t)(a >> i), y = (uint16_t)(b >> i);
		float sum;

		if (bfloat) {
			uint32_t p = (uint32_t)x << 16, q = (uint32_t)y << 16, r;
			float f, g;

			memcpy(&f, &p, 4);
			memcpy(&g, &q, 4);
			sum = f + g;
			memcpy(&r, &sum, 4);
			r = sum != sum ? 0x7fc0 : (r + 0x7fff + (r >> 16 & 1)) >> 16;
			result |= r << i;
		} else {
			sum = half_to_float(x) + half_to_float(y);
			result |= (uint32_t)half_from_float(sum, 0) << i;
		}
	}
	return result;
}

static uint32_t atomic_float(uint64_t old, enum atomic operation, uint64_t x)
{
	float f, g, r;
	uint32_t bits;

	memcpy(&f, &old, 4);
	memcpy(&g, &x, 4);
	r = operation == ATOMIC_ADD_F ? f + g : operation == ATOMIC_MIN_F ? fminf(f, g) : fmaxf(f, g);
	memcpy(&bits, &r, 4);
	return r != r ? 0x7fc00000 : bits;
}

static uint64_t atomic_double(uint64_t old, enum atomic operation, uint64_t x)
{
	double f, g, r;
	uint64_t bits;

	memcpy(&f, &old, 8);
	memcpy(&g, &x, 8);
	r = operation == ATOMIC_ADD_F ? f + g : operation == ATOMIC_MIN_F ? fmin(f, g) : fmax(f, g);
	memcpy(&bits, &r, 8);
	return r != r ? 0x7ff8000000000000ull : bits;
}

/* Of `bytes`, 4 or 8: what is above them in the result does not count. */
static uint64_t atomic_value(uint64_t old, enum atomic operation, uint64_t x, uint64_t y, unsigned bytes)
{
	int64_t old_signed = bytes == 4 ? (int32_t)old : (int64_t)old, x_signed = bytes == 4 ? (int32_t)x : (int64_t)x;

	switch (operation) {
	case ATOMIC_ADD: return old + x;
	case ATOMIC_SUB: return old - x;
	case ATOMIC_RSUB: return x - old;
	case ATOMIC_SWAP: return x;
	case ATOMIC_COMPARE: return old == y ? x : old;
	case ATOMIC_MIN_I: return x_signed < old_signed ? x : old;
	case ATOMIC_MIN_U: return x < old ? x : old;
	case ATOMIC_MAX_I: return x_signed > old_signed ? x : old;
	case ATOMIC_MAX_U: return x > old ? x : old;
	case ATOMIC_AND: return old & x;
	case ATOMIC_OR: return old | x;
	case ATOMIC_XOR: return old ^ x;
	case ATOMIC_INC: return old >= x ? 0 : old + 1;
	case ATOMIC_DEC: return old == 0 || old > x ? x : old - 1;
	case ATOMIC_CSUB: return old < x ? 0 : old - x;
	case ATOMIC_COND_SUB: return old < x ? old : old - x;
	case ATOMIC_MSKOR: return (old & ~x) | y;
	case ATOMIC_PK_ADD_F16: return pk_add((uint32_t)old, (uint32_t)x, false);
	case ATOMIC_PK_ADD_BF16: return pk_add((uint32_t)old, (uint32_t)x, true);
	default: break;
	}
	return bytes == 4 ? atomic_float(old, operation, x) : atomic_double(old, operation, x);
}

uint64_t atomic_apply(uint8_t *memory, unsigned bytes, enum atomic operation, uint64_t operand, uint64_t operand2)
{
	if (bytes == 4) {
		uint32_t *p = (uint32_t *)(void *)memory, old = __atomic_load_n(p, __ATOMIC_RELAXED), new;

		do new = (uint32_t)atomic_value(old, operation, (uint32_t)operand, (uint32_t)operand2, 4);
		while (!__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
		return old;
	}
	uint64_t *p = (uint64_t *)(void *)memory, old = __atomic_load_n(p, __ATOMIC_RELAXED), new;

	do new = atomic_value(old, operation, operand, operand2, 8);
	while (!__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return old;
}

static void atomic(struct wave *w, const struct instruction *in)
{
	const struct access *access = in->access;
	bool wide = access->bytes == 8, buffer = in->space == 'b', outside;
	/* [d,] address, data, off; buffers: data, address, resource, offset */
	unsigned address = buffer ? 1 : in->returns ? 1 : 0, data = buffer ? 0 : address + 1;
	const struct operand *operand = &in->o[data];
	unsigned words = wide ? 2 : 1;

	EACH_LANE(w, lane) {
		uint8_t *memory = lane_address(w, in, address, access->bytes, lane, &outside);
		uint64_t value = lane_value(w, operand, lane, wide), compared = 0, old;

		if (!memory && !outside) return;
		if ((uintptr_t)memory % access->bytes) {
			wave_fail(w, in, DISPATCH_FAULT, "lane %u: the address %p of an atomic is misaligned", lane, (void *)memory);
			return;
		}
		if (access->operation == ATOMIC_COMPARE) {
			compared = wave_row(w, operand->reg + words)[lane];
			if (wide) compared |= (uint64_t)wave_row(w, operand->reg + 3u)[lane] << 32;
		}
		old = memory ? atomic_apply(memory, access->bytes, (enum atomic)access->operation, value, compared) : 0;
		if (!in->returns) continue;
		wave_row(w, in->o[0].reg)[lane] = (uint32_t)old;
		if (wide) wave_row(w, in->o[0].reg + 1u)[lane] = (uint32_t)(old >> 32);
	}
}

/* ---- the table ---- */
#define LOAD(name, old, bytes, sign, d16, high) { name, old, ACCESS_LOAD, bytes, sign, d16, high, 0 },
#define STORE(name, old, bytes, high) { name, old, ACCESS_STORE, bytes, false, high, high, 0 },
#define ATOMIC(name, old, bytes, operation) { name, old, ACCESS_ATOMIC, bytes, false, false, false, operation },
static const struct access accesses[] = {
	LOAD("load_u8", "load_ubyte", 1, false, false, false) LOAD("load_i8", "load_sbyte", 1, true, false, false)
	LOAD("load_u16", "load_ushort", 2, false, false, false) LOAD("load_i16", "load_sshort", 2, true, false, false)
	LOAD("load_b32", "load_dword", 4, false, false, false) LOAD("load_b64", "load_dwordx2", 8, false, false, false)
	LOAD("load_b96", "load_dwordx3", 12, false, false, false) LOAD("load_b128", "load_dwordx4", 16, false, false, false)
	LOAD("load_d16_u8", "load_ubyte_d16", 1, false, true, false) LOAD("load_d16_hi_u8", "load_ubyte_d16_hi", 1, false, true, true)
	LOAD("load_d16_i8", "load_sbyte_d16", 1, true, true, false) LOAD("load_d16_hi_i8", "load_sbyte_d16_hi", 1, true, true, true)
	LOAD("load_d16_b16", "load_short_d16", 2, false, true, false) LOAD("load_d16_hi_b16", "load_short_d16_hi", 2, false, true, true)
	STORE("store_b8", "store_byte", 1, false) STORE("store_d16_hi_b8", "store_byte_d16_hi", 1, true)
	STORE("store_b16", "store_short", 2, false) STORE("store_d16_hi_b16", "store_short_d16_hi", 2, true)
	STORE("store_b32", "store_dword", 4, false) STORE("store_b64", "store_dwordx2", 8, false)
	STORE("store_b96", "store_dwordx3", 12, false) STORE("store_b128", "store_dwordx4", 16, false)
	ATOMIC("atomic_swap_b32", "atomic_swap", 4, ATOMIC_SWAP) ATOMIC("atomic_swap_b64", "atomic_swap_x2", 8, ATOMIC_SWAP)
	ATOMIC("atomic_cmpswap_b32", "atomic_cmpswap", 4, ATOMIC_COMPARE) ATOMIC("atomic_cmpswap_b64", "atomic_cmpswap_x2", 8, ATOMIC_COMPARE)
	ATOMIC("atomic_add_u32", "atomic_add", 4, ATOMIC_ADD) ATOMIC("atomic_add_u64", "atomic_add_x2", 8, ATOMIC_ADD)
	ATOMIC("atomic_sub_u32", "atomic_sub", 4, ATOMIC_SUB) ATOMIC("atomic_sub_u64", "atomic_sub_x2", 8, ATOMIC_SUB)
	ATOMIC("atomic_min_i32", "atomic_smin", 4, ATOMIC_MIN_I) ATOMIC("atomic_min_i64", "atomic_smin_x2", 8, ATOMIC_MIN_I)
	ATOMIC("atomic_min_u32", "atomic_umin", 4, ATOMIC_MIN_U) ATOMIC("atomic_min_u64", "atomic_umin_x2", 8, ATOMIC_MIN_U)
	ATOMIC("atomic_max_i32", "atomic_smax", 4, ATOMIC_MAX_I) ATOMIC("atomic_max_i64", "atomic_smax_x2", 8, ATOMIC_MAX_I)
	ATOMIC("atomic_max_u32", "atomic_umax", 4, ATOMIC_MAX_U) ATOMIC("atomic_max_u64", "atomic_umax_x2", 8, ATOMIC_MAX_U)
	ATOMIC("atomic_and_b32", "atomic_and", 4, ATOMIC_AND) ATOMIC("atomic_and_b64", "atomic_and_x2", 8, ATOMIC_AND)
	ATOMIC("atomic_or_b32", "atomic_or", 4, ATOMIC_OR) ATOMIC("atomic_or_b64", "atomic_or_x2", 8, ATOMIC_OR)
	ATOMIC("atomic_xor_b32", "atomic_xor", 4, ATOMIC_XOR) ATOMIC("atomic_xor_b64", "atomic_xor_x2", 8, ATOMIC_XOR)
	ATOMIC("atomic_inc_u32", "atomic_inc", 4, ATOMIC_INC) ATOMIC("atomic_inc_u64", "atomic_inc_x2", 8, ATOMIC_INC)
	ATOMIC("atomic_dec_u32", "atomic_dec", 4, ATOMIC_DEC) ATOMIC("atomic_dec_u64", "atomic_dec_x2", 8, ATOMIC_DEC)
	ATOMIC("atomic_csub_u32", "atomic_csub", 4, ATOMIC_CSUB) ATOMIC("atomic_sub_clamp_u32", "", 4, ATOMIC_CSUB)
	ATOMIC("atomic_cond_sub_u32", "", 4, ATOMIC_COND_SUB)
	ATOMIC("atomic_add_f32", "", 4, ATOMIC_ADD_F) ATOMIC("atomic_add_f64", "", 8, ATOMIC_ADD_F)
	ATOMIC("atomic_min_f32", "atomic_fmin", 4, ATOMIC_MIN_F) ATOMIC("atomic_min_f64", "atomic_fmin_x2", 8, ATOMIC_MIN_F)
	ATOMIC("atomic_max_f32", "atomic_fmax", 4, ATOMIC_MAX_F) ATOMIC("atomic_max_f64", "atomic_fmax_x2", 8, ATOMIC_MAX_F)
	ATOMIC("atomic_min_num_f32", "", 4, ATOMIC_MIN_F) ATOMIC("atomic_max_num_f32", "", 4, ATOMIC_MAX_F)
	ATOMIC("atomic_pk_add_f16", "", 4, ATOMIC_PK_ADD_F16) ATOMIC("atomic_pk_add_bf16", "", 4, ATOMIC_PK_ADD_BF16)
};

bool memory_bind(struct instruction *in, const char *stem, const struct gpu_model *gpu)
{
	unsigned least = in->space == 'b' ? 4 : in->space == 'f' ? 2 : 3;

	(void)gpu;
	for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
		const struct access *access = &accesses[i];

		if (strcmp(access->name, stem) && strcmp(access->old_name, stem)) continue;
		in->access = access;
		if (access->kind == ACCESS_ATOMIC && in->returns && in->space != 'b') least++;
		in->execute = access->kind == ACCESS_LOAD ? load : access->kind == ACCESS_STORE ? store : atomic;
		if (in->to_lds || in->operand_count != least) return false;
		if (access->kind != ACCESS_ATOMIC) in->returns = false;	/* there it is a cache hint */
		return true;
	}
	return false;
}

/* ---- scalar loads ---- */
static void scalar_load(struct wave *w, const struct instruction *in)
{
	unsigned bytes = in->detail & 255;
	uint64_t address = scalar_read(w, &in->o[1], true) + (uint64_t)(int64_t)in->offset;
	const struct operand *offset = &in->o[2];
	const uint8_t *memory;

	if (offset->kind == OPERAND_CONSTANT) address += (uint64_t)offset->integer;
	else address += (uint32_t)scalar_read(w, offset, false);
	if (bytes >= 4) address &= ~3ull;
	memory = memory_address(w, in, address, bytes, 0);
	if (!memory) return;
	if (bytes < 4) {
		uint32_t value = 0;

		memcpy(&value, memory, bytes);
		if (in->detail & 256) value = bytes == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
		scalar_write(w, &in->o[0], value, false);
		return;
	}
	if (in->o[0].reg != SGPR_NULL) memcpy(&w->s[in->o[0].reg], memory, bytes);
}

bool scalar_memory_bind(struct instruction *in, const char *stem)
{
	static const struct { const char *name; uint32_t detail; } loads[] = {
		{ "b32", 4 }, { "b64", 8 }, { "b96", 12 }, { "b128", 16 }, { "b256", 32 }, { "b512", 64 },
		{ "dword", 4 }, { "dwordx2", 8 }, { "dwordx4", 16 }, { "dwordx8", 32 }, { "dwordx16", 64 },
		{ "u8", 1 }, { "i8", 1 | 256 }, { "u16", 2 }, { "i16", 2 | 256 } };

	if (strncmp(stem, "s_load_", 7)) return false;
	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
		if (strcmp(loads[i].name, stem + 7)) continue;
		in->detail = loads[i].detail;
		in->execute = scalar_load;
		return in->operand_count == 3 && in->o[0].kind == OPERAND_SCALAR && in->o[0].reg + (loads[i].detail & 255) / 4 <= SGPRS;
	}
	return false;
}
