/* LDS: ds_ instructions. Since gfx9 M0 has no part in them; addresses wrap at 32 bits. The cross-lane ones (bpermute, permute, swizzle) touch no memory. */
#include <stdlib.h>
#include <string.h>
#include "machine.h"

enum { PAIR = 1, STRIDE_64 = 2, REVERSED = 4 };

static uint32_t lane_base(struct wave *w, const struct operand *address, unsigned lane)
{
	return address->kind == OPERAND_VECTOR ? wave_row(w, address->reg)[lane] : (uint32_t)scalar_read(w, address, false);
}

static void lds_load(struct wave *w, const struct instruction *in)
{
	const struct access *access = in->access;
	unsigned scale = access->bytes * (in->detail & STRIDE_64 ? 64u : 1u);

	EACH_LANE(w, lane) {
		uint32_t base = lane_base(w, &in->o[1], lane);
		uint8_t *memory;

		if (!(in->detail & PAIR)) {
			if (!(memory = lds_address(w, in, base + (uint32_t)in->offset, access->bytes))) return;
			load_lane(w, access, &in->o[0], memory, lane);
			continue;
		}
		for (unsigned half = 0; half < 2; half++) {
			struct operand d = in->o[0];

			d.reg = (uint16_t)(d.reg + half * access->bytes / 4);
			memory = lds_address(w, in, base + (uint32_t)(half ? in->offset1 : in->offset0) * scale, access->bytes);
			if (!memory) return;
			load_lane(w, access, &d, memory, lane);
		}
	}
}

static void lds_store(struct wave *w, const struct instruction *in)
{
	const struct access *access = in->access;
	unsigned scale = access->bytes * (in->detail & STRIDE_64 ? 64u : 1u);

	EACH_LANE(w, lane) {
		uint32_t base = lane_base(w, &in->o[0], lane);

		for (unsigned half = 0; half < (in->detail & PAIR ? 2u : 1u); half++) {
			uint32_t offset = in->detail & PAIR ? (uint32_t)(half ? in->offset1 : in->offset0) * scale : (uint32_t)in->offset;
			uint8_t *memory = lds_address(w, in, base + offset, access->bytes);

			if (!memory) return;
			store_lane(w, access, &in->o[1 + half], memory, lane);
		}
	}
}

static uint64_t lane_data(struct wave *w, const struct operand *o, unsigned lane, bool wide)
{
	if (o->kind != OPERAND_VECTOR) return scalar_read(w, o, wide);
	return wave_row(w, o->reg)[lane] | (wide ? (uint64_t)wave_row(w, o->reg + 1u)[lane] << 32 : 0);
}

static void lds_atomic(struct wave *w, const struct instruction *in)
{
	const struct access *access = in->access;
	bool wide = access->bytes == 8, two = access->operation == ATOMIC_COMPARE || access->operation == ATOMIC_MSKOR;
	unsigned first = in->returns ? 1 : 0;

	EACH_LANE(w, lane) {
		uint32_t address = lane_base(w, &in->o[first], lane) + (uint32_t)in->offset;
		uint8_t *memory = lds_address(w, in, address, access->bytes);
		uint64_t x = lane_data(w, &in->o[first + 1], lane, wide), y = two ? lane_data(w, &in->o[first + 2], lane, wide) : 0, old;

		if (!memory) return;
		if (address % access->bytes) {
			wave_fail(w, in, DISPATCH_FAULT, "lane %u: the LDS address 0x%x of an atomic is misaligned", lane, address);
			return;
		}
		/* cmpst: the compared value comes first; cmpstore (gfx11): second */
		old = in->detail & REVERSED ? atomic_apply(memory, access->bytes, (enum atomic)access->operation, y, x)
			: atomic_apply(memory, access->bytes, (enum atomic)access->operation, x, y);
		if (!in->returns) continue;
		wave_row(w, in->o[0].reg)[lane] = (uint32_t)old;
		if (wide) wave_row(w, in->o[0].reg + 1u)[lane] = (uint32_t)(old >> 32);
	}
}

/* ---- across lanes ---- */

/* d, address, data: each lane reads the data of lane address/4; lanes that are off give 0, unless `detail` (bpermute_fi) */
static void bpermute(struct wave *w, const struct instruction *in)
{
	union row buffers[2];
	const uint32_t *address = lane_source(w, in, 1, &buffers[0]), *data = lane_source(w, in, 2, &buffers[1]);
	uint64_t exec = wave_exec(w);
	uint32_t result[MAX_LANES];

	for (unsigned i = 0; i < w->lanes; i++) {
		unsigned from = (address[i] + (uint32_t)in->offset) / 4 % w->lanes;

		result[i] = in->detail || exec >> from & 1 ? data[from] : 0;
	}
	vector_write_u32(w, &in->o[0], result, exec);
}

static void permute(struct wave *w, const struct instruction *in)
{
	union row buffers[2];
	const uint32_t *address = lane_source(w, in, 1, &buffers[0]), *data = lane_source(w, in, 2, &buffers[1]);
	uint32_t result[MAX_LANES] = { 0 };

	EACH_LANE(w, lane) result[(address[lane] + (uint32_t)in->offset) / 4 % w->lanes] = data[lane];
	vector_write_u32(w, &in->o[0], result, wave_exec(w));
}

static void swizzle(struct wave *w, const struct instruction *in)
{
	union row buffer;
	const uint32_t *data = lane_source(w, in, 1, &buffer);
	uint32_t offset = (uint32_t)in->offset & 0xffff, result[MAX_LANES];
	uint64_t exec = wave_exec(w);

	if (offset >= 0xe000) {
		wave_fail(w, in, DISPATCH_UNSUPPORTED, "swizzles for FFT are not modelled");
		return;
	}
	for (unsigned i = 0; i < w->lanes; i++) {
		unsigned at = i & 31, from;

		if (offset >= 0xc000) {
			unsigned keep = offset & 31, by = offset >> 5 & 31, turned = offset & 0x400 ? at - by : at + by;

			from = (at & keep) | (turned & ~keep & 31);
		} else if (offset >= 0x8000) {
			from = (at & ~3u) | (offset >> 2 * (at & 3) & 3);
		} else {
			from = ((at & offset) | (offset >> 5 & 31)) & 31;
			from ^= offset >> 10 & 31;
		}
		from |= i & ~31u;
		result[i] = exec >> from & 1 ? data[from] : 0;
	}
	vector_write_u32(w, &in->o[0], result, exec);
}

/* ---- the table ---- */
#define LOAD(name, old, bytes, sign, d16, high) { name, old, ACCESS_LOAD, bytes, sign, d16, high, 0 },
#define STORE(name, old, bytes, high) { name, old, ACCESS_STORE, bytes, false, high, high, 0 },
#define ATOMIC(name, old, bytes, operation) { name, old, ACCESS_ATOMIC, bytes, false, false, false, operation },
#define BOTH(operation32, operation64, op) ATOMIC(operation32, "", 4, op) ATOMIC(operation64, "", 8, op)
static const struct access accesses[] = {
	LOAD("load_u8", "read_u8", 1, false, false, false) LOAD("load_i8", "read_i8", 1, true, false, false)
	LOAD("load_u16", "read_u16", 2, false, false, false) LOAD("load_i16", "read_i16", 2, true, false, false)
	LOAD("load_b32", "read_b32", 4, false, false, false) LOAD("load_b64", "read_b64", 8, false, false, false)
	LOAD("load_b96", "read_b96", 12, false, false, false) LOAD("load_b128", "read_b128", 16, false, false, false)
	LOAD("load_u8_d16", "read_u8_d16", 1, false, true, false) LOAD("load_u8_d16_hi", "read_u8_d16_hi", 1, false, true, true)
	LOAD("load_i8_d16", "read_i8_d16", 1, true, true, false) LOAD("load_i8_d16_hi", "read_i8_d16_hi", 1, true, true, true)
	LOAD("load_u16_d16", "read_u16_d16", 2, false, true, false) LOAD("load_u16_d16_hi", "read_u16_d16_hi", 2, false, true, true)
	LOAD("load_2addr_b32", "read2_b32", 4, false, false, false) LOAD("load_2addr_b64", "read2_b64", 8, false, false, false)
	LOAD("load_2addr_stride64_b32", "read2st64_b32", 4, false, false, false) LOAD("load_2addr_stride64_b64", "read2st64_b64", 8, false, false, false)
	STORE("store_b8", "write_b8", 1, false) STORE("store_b8_d16_hi", "write_b8_d16_hi", 1, true)
	STORE("store_b16", "write_b16", 2, false) STORE("store_b16_d16_hi", "write_b16_d16_hi", 2, true)
	STORE("store_b32", "write_b32", 4, false) STORE("store_b64", "write_b64", 8, false)
	STORE("store_b96", "write_b96", 12, false) STORE("store_b128", "write_b128", 16, false)
	STORE("store_2addr_b32", "write2_b32", 4, false) STORE("store_2addr_b64", "write2_b64", 8, false)
	STORE("store_2addr_stride64_b32", "write2st64_b32", 4, false) STORE("store_2addr_stride64_b64", "write2st64_b64", 8, false)
	BOTH("add_u32", "add_u64", ATOMIC_ADD) BOTH("sub_u32", "sub_u64", ATOMIC_SUB) BOTH("rsub_u32", "rsub_u64", ATOMIC_RSUB)
	BOTH("inc_u32", "inc_u64", ATOMIC_INC) BOTH("dec_u32", "dec_u64", ATOMIC_DEC)
	BOTH("min_i32", "min_i64", ATOMIC_MIN_I) BOTH("max_i32", "max_i64", ATOMIC_MAX_I)
	BOTH("min_u32", "min_u64", ATOMIC_MIN_U) BOTH("max_u32", "max_u64", ATOMIC_MAX_U)
	BOTH("and_b32", "and_b64", ATOMIC_AND) BOTH("or_b32", "or_b64", ATOMIC_OR) BOTH("xor_b32", "xor_b64", ATOMIC_XOR)
	BOTH("mskor_b32", "mskor_b64", ATOMIC_MSKOR)
	BOTH("wrxchg_b32", "wrxchg_b64", ATOMIC_SWAP) BOTH("storexchg_b32", "storexchg_b64", ATOMIC_SWAP)
	BOTH("cmpst_b32", "cmpst_b64", ATOMIC_COMPARE) BOTH("cmpstore_b32", "cmpstore_b64", ATOMIC_COMPARE)
	BOTH("add_f32", "add_f64", ATOMIC_ADD_F) BOTH("min_f32", "min_f64", ATOMIC_MIN_F) BOTH("max_f32", "max_f64", ATOMIC_MAX_F)
	BOTH("min_num_f32", "min_num_f64", ATOMIC_MIN_F) BOTH("max_num_f32", "max_num_f64", ATOMIC_MAX_F)
	ATOMIC("cond_sub_u32", "", 4, ATOMIC_COND_SUB) ATOMIC("sub_clamp_u32", "", 4, ATOMIC_CSUB)
	ATOMIC("pk_add_f16", "", 4, ATOMIC_PK_ADD_F16) ATOMIC("pk_add_bf16", "", 4, ATOMIC_PK_ADD_BF16)
};

/* "add_rtn_u32" → "add_u32", and says that there was one. */
static bool without_return(const char *stem, char *plain, size_t size)
{
	const char *found = strstr(stem, "_rtn_");

	if (!found) return false;
	if ((size_t)(found - stem) + strlen(found + 4) >= size) return false;
	memcpy(plain, stem, (size_t)(found - stem));
	strcpy(plain + (found - stem), found + 4);
	return true;
}

bool lds_bind(struct instruction *in, const char *stem)
{
	static const struct { const char *name; execute_function *execute; uint32_t detail, operands; } lanes[] = {
		{ "bpermute_b32", bpermute, 0, 3 }, { "bpermute_fi_b32", bpermute, 1, 3 }, { "permute_b32", permute, 0, 3 }, { "swizzle_b32", swizzle, 0, 2 } };
	char plain[48];

	for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
		if (strcmp(lanes[i].name, stem)) continue;
		in->execute = lanes[i].execute;
		in->detail = lanes[i].detail;
		return in->operand_count == lanes[i].operands;
	}
	in->returns = without_return(stem, plain, sizeof plain);
	if (in->returns) stem = plain;
	for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
		const struct access *access = &accesses[i];

		if (strcmp(access->name, stem) && strcmp(access->old_name, stem)) continue;
		in->access = access;
		in->execute = access->kind == ACCESS_LOAD ? lds_load : access->kind == ACCESS_STORE ? lds_store : lds_atomic;
		if (strstr(access->name, "2addr")) in->detail |= PAIR;
		if (strstr(access->name, "stride64")) in->detail |= STRIDE_64;
		if (!strncmp(stem, "cmpst_", 6)) in->detail |= REVERSED;
		if (access->operation == ATOMIC_COMPARE || access->operation == ATOMIC_MSKOR) return in->operand_count == 3u + in->returns;
		return in->operand_count == (access->kind == ACCESS_STORE && in->detail & PAIR ? 3u : 2u + in->returns);
	}
	return false;
}
