/* The interpreter's arithmetic: PTX ISA 9.7.1 to 9.7.9 for the instructions that the generator uses. */
#include "interpret.h"

#include <fenv.h>
#include <math.h>

static uint64_t low_bits(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static int64_t sign_extend(uint64_t v, unsigned bits)
{
	return bits >= 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static bool is_signed(enum ptx_type type)
{
	return type >= PTX_S8 && type <= PTX_S64;
}

static bool is_float(enum ptx_type type)
{
	return type == PTX_F32 || type == PTX_F64;
}

static float to_f32(uint64_t bits)
{
	uint32_t word = (uint32_t)bits;
	float f;
	memcpy(&f, &word, 4);
	return f;
}

static double to_f64(uint64_t bits)
{
	double d;
	memcpy(&d, &bits, 8);
	return d;
}

static uint64_t raw_f32(float f)
{
	uint32_t word;
	memcpy(&word, &f, 4);
	return word;
}

/* Every NaN that f32 arithmetic makes is 0x7fffffff. */
static uint64_t from_f32(float f)
{
	return isnan(f) ? 0x7fffffff : raw_f32(f);
}

static uint64_t from_f64(double d)
{
	uint64_t bits;
	memcpy(&bits, &d, 8);
	return bits;
}

static const struct ptx_form *form_of(const struct interpret_pure *p)
{
	return p->in->form;
}

static bool has(const struct interpret_pure *p, enum ptx_mod mod)
{
	return ptx_has(form_of(p), mod);
}

static int rounding(const struct interpret_pure *p)
{
	if (has(p, MOD_rz) || has(p, MOD_rzi))
		return FE_TOWARDZERO;
	if (has(p, MOD_rm) || has(p, MOD_rmi))
		return FE_DOWNWARD;
	if (has(p, MOD_rp) || has(p, MOD_rpi))
		return FE_UPWARD;
	return FE_TONEAREST;
}

static float flush(const struct interpret_pure *p, float f)
{
	return has(p, MOD_ftz) && fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

static float saturate(const struct interpret_pure *p, float f)
{
	if (!has(p, MOD_sat))
		return f;
	return f > 0 ? f < 1 ? f : 1 : 0; /* NaN, and -0: +0 */
}

/* ---- integers ------------------------------------------------------------------------------------------------ */

static uint64_t high_product(uint64_t a, uint64_t b, unsigned bits, bool is_s)
{
	if (bits < 64) {
		if (is_s)
			return (uint64_t)((sign_extend(a, bits) * sign_extend(b, bits)) >> bits);
		return (a * b) >> bits;
	}
	uint64_t al = a & UINT32_MAX, ah = a >> 32, bl = b & UINT32_MAX, bh = b >> 32;
	uint64_t mid = ah * bl + (al * bl >> 32), other = al * bh + (mid & UINT32_MAX);
	uint64_t high = ah * bh + (mid >> 32) + (other >> 32);
	if (is_s)
		high -= ((int64_t)a < 0 ? b : 0) + ((int64_t)b < 0 ? a : 0);
	return high;
}

static uint64_t divide(uint64_t a, uint64_t b, unsigned bits, bool is_s, bool rest)
{
	if (!b)
		return UINT64_MAX; /* as recorded from cards; the manual leaves it open */
	if (!is_s)
		return rest ? a % b : a / b;
	int64_t x = sign_extend(a, bits), y = sign_extend(b, bits);
	if (y == -1)
		return rest ? 0 : 0 - (uint64_t)x;
	return (uint64_t)(rest ? x % y : x / y);
}

static uint64_t shift(uint64_t a, uint64_t amount, unsigned bits, enum ptx_type type, bool left)
{
	if (left)
		return amount >= bits ? 0 : a << amount;
	if (is_signed(type))
		return (uint64_t)(sign_extend(a, bits) >> (amount >= bits ? bits - 1 : amount));
	return amount >= bits ? 0 : a >> amount;
}

static uint64_t extract(uint64_t a, uint64_t position, uint64_t length, unsigned bits, bool is_s)
{
	uint64_t r = 0;
	unsigned pos = position & 0xff, len = length & 0xff, msb = bits - 1, last = pos + len - 1;
	bool sign = is_s && len && (a >> (last < msb ? last : msb) & 1);
	for (unsigned i = 0; i <= msb; i++) {
		bool bit = i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign;
		r |= (uint64_t)bit << i;
	}
	return r;
}

static uint64_t insert(uint64_t a, uint64_t b, uint64_t position, uint64_t length, unsigned bits)
{
	unsigned pos = position & 0xff, len = length & 0xff;
	for (unsigned i = 0; i < len && pos + i < bits; i++)
		b = (b & ~(UINT64_C(1) << (pos + i))) | (a >> i & 1) << (pos + i);
	return b;
}

static uint64_t find_bit(uint64_t a, unsigned bits, bool is_s, bool amount)
{
	if (is_s && a >> (bits - 1) & 1)
		a = low_bits(~a, bits);
	for (unsigned i = bits; i-- > 0;)
		if (a >> i & 1)
			return amount ? bits - 1 - i : i;
	return UINT32_MAX;
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t select)
{
	uint64_t bytes = a | b << 32, r = 0;
	for (unsigned i = 0; i < 4; i++) {
		unsigned n = select >> (4 * i) & 0xf;
		uint64_t byte = bytes >> (8 * (n & 7)) & 0xff;
		if (n & 8)
			byte = byte & 0x80 ? 0xff : 0;
		r |= byte << (8 * i);
	}
	return r;
}

static uint64_t lookup(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
	uint64_t r = 0;
	for (unsigned i = 0; i < 32; i++) {
		unsigned index = (unsigned)((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1));
		r |= (table >> index & 1) << i;
	}
	return r;
}

static uint64_t saturated_sum(int64_t sum)
{
	return (uint64_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
}

/* Sums and differences with a carry in and out, 9.7.2. */
static void extended(struct interpret_pure *p, unsigned bits, bool subtract, bool in_carry)
{
	uint64_t a = p->a[0], b = subtract ? low_bits(~p->a[1], bits) : p->a[1];
	/* a - b is a + ~b + 1; the borrow is the carry's complement */
	uint64_t carry = in_carry ? p->carry ^ subtract : subtract;
	uint64_t half = (a & UINT32_MAX) + (b & UINT32_MAX) + carry, high = (a >> 32) + (b >> 32) + (half >> 32);
	bool out = bits == 32 ? half >> 32 & 1 : high >> 32 & 1;
	p->result = high << 32 | (half & UINT32_MAX);
	if (has(p, MOD_cc))
		p->carry = out ^ subtract;
}

static bool integer(struct interpret_pure *p, enum ptx_type type)
{
	unsigned bits = ptx_type_bits(type);
	bool s = is_signed(type), cc = has(p, MOD_cc);
	uint64_t *a = p->a;
	switch (form_of(p)->row->opcode_id) {
	case OP_add:
		if (cc)
			extended(p, bits, false, false);
		else
			p->result = has(p, MOD_sat) ? saturated_sum(sign_extend(a[0], 32) + sign_extend(a[1], 32)) : a[0] + a[1];
		return true;
	case OP_addc:
		extended(p, bits, false, true);
		return true;
	case OP_sub:
		if (cc)
			extended(p, bits, true, false);
		else
			p->result = has(p, MOD_sat) ? saturated_sum(sign_extend(a[0], 32) - sign_extend(a[1], 32)) : a[0] - a[1];
		return true;
	case OP_subc:
		extended(p, bits, true, true);
		return true;
	case OP_mul:
	case OP_mad:
		if (cc || has(p, MOD_sat))
			return false;
		if (has(p, MOD_hi))
			p->result = high_product(a[0], a[1], bits, s);
		else if (has(p, MOD_wide) && s)
			p->result = (uint64_t)(sign_extend(a[0], bits) * sign_extend(a[1], bits));
		else
			p->result = a[0] * a[1];
		if (form_of(p)->row->opcode_id == OP_mad)
			p->result += a[2];
		return true;
	case OP_sad:
		if (s ? sign_extend(a[0], bits) < sign_extend(a[1], bits) : a[0] < a[1])
			p->result = a[2] + (a[1] - a[0]);
		else
			p->result = a[2] + (a[0] - a[1]);
		return true;
	case OP_div:
	case OP_rem:
		p->result = divide(a[0], a[1], bits, s, form_of(p)->row->opcode_id == OP_rem);
		return true;
	case OP_abs:
		p->result = sign_extend(a[0], bits) < 0 ? 0 - a[0] : a[0];
		return true;
	case OP_neg:
		p->result = 0 - a[0];
		return true;
	case OP_min:
		p->result = (s ? sign_extend(a[0], bits) < sign_extend(a[1], bits) : a[0] < a[1]) ? a[0] : a[1];
		return true;
	case OP_max:
		p->result = (s ? sign_extend(a[0], bits) > sign_extend(a[1], bits) : a[0] > a[1]) ? a[0] : a[1];
		return true;
	case OP_popc:
		p->result = (uint64_t)__builtin_popcountll(a[0]);
		return true;
	case OP_clz:
		p->result = a[0] ? (uint64_t)__builtin_clzll(a[0]) - (64 - bits) : bits;
		return true;
	case OP_brev:
		p->result = 0;
		for (unsigned i = 0; i < bits; i++)
			p->result |= (a[0] >> i & 1) << (bits - 1 - i);
		return true;
	case OP_bfind:
		p->result = find_bit(a[0], bits, s, has(p, MOD_shiftamt));
		return true;
	case OP_bfe:
		p->result = extract(a[0], a[1], a[2], bits, s);
		return true;
	case OP_bfi:
		p->result = insert(a[0], a[1], a[2], a[3], bits);
		return true;
	default:
		return false;
	}
}

static bool logic(struct interpret_pure *p, enum ptx_type type)
{
	unsigned bits = ptx_type_bits(type), amount;
	uint64_t *a = p->a, both;
	switch (form_of(p)->row->opcode_id) {
	case OP_and:
		p->result = a[0] & a[1];
		return true;
	case OP_or:
		p->result = a[0] | a[1];
		return true;
	case OP_xor:
		p->result = a[0] ^ a[1];
		return true;
	case OP_not:
		p->result = ~a[0];
		return true;
	case OP_cnot:
		p->result = !a[0];
		return true;
	case OP_shl:
		p->result = shift(a[0], a[1], bits, type, true);
		return true;
	case OP_shr:
		p->result = shift(a[0], a[1], bits, type, false);
		return true;
	case OP_shf:
		amount = (unsigned)(has(p, MOD_wrap) ? a[2] & 31 : a[2] > 32 ? 32 : a[2]);
		both = a[1] << 32 | a[0];
		if (has(p, MOD_l))
			p->result = amount == 32 ? a[0] : (both << amount) >> 32;
		else
			p->result = both >> amount;
		return true;
	case OP_prmt:
		p->result = permute(a[0], a[1], a[2]);
		return has(p, MOD_b32) && form_of(p)->row->slot_count > 0 && !has(p, MOD_f4e) && !has(p, MOD_b4e) && !has(p, MOD_rc8) &&
		       !has(p, MOD_ecl) && !has(p, MOD_ecr) && !has(p, MOD_rc16);
	case OP_lop3:
		p->result = lookup(a[0], a[1], a[2], a[3]);
		return p->count == 4;
	case OP_mov:
		p->result = a[0];
		return true;
	case OP_selp:
		p->result = a[2] ? a[0] : a[1];
		return true;
	case OP_slct:
		p->result = (form_of(p)->types[1] == PTX_F32 ? to_f32(a[2]) >= 0 : (int32_t)a[2] >= 0) ? a[0] : a[1];
		return !has(p, MOD_ftz);
	default:
		return false;
	}
}

/* ---- comparison ------------------------------------------------------------------------------------------------ */

/* The number that bits of a type stand for; every one is exact in binary64 (an infinity and a NaN included). */
static double number_of(struct interpret_pure *p, enum ptx_type type, uint64_t bits)
{
	switch (type) {
	case PTX_F64:
		return to_f64(bits);
	case PTX_F32:
		return flush(p, to_f32((uint32_t)bits));
	case PTX_BF16:
		return to_f32((uint32_t)bits << 16);
	default: { /* binary16 */
		int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
		double size = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
		return bits >> 15 & 1 ? -size : size;
	}
	}
}

static bool compare(struct interpret_pure *p, enum ptx_type type, bool *out)
{
	static const struct {
		enum ptx_mod mod;
		bool less, equal, greater, unordered, as_unsigned;
	} rows[] = {
		{ MOD_eq, 0, 1, 0, 0, 0 },  { MOD_ne, 1, 0, 1, 0, 0 },  { MOD_lt, 1, 0, 0, 0, 0 },  { MOD_le, 1, 1, 0, 0, 0 },
		{ MOD_gt, 0, 0, 1, 0, 0 },  { MOD_ge, 0, 1, 1, 0, 0 },  { MOD_lo, 1, 0, 0, 0, 1 },  { MOD_ls, 1, 1, 0, 0, 1 },
		{ MOD_hi, 0, 0, 1, 0, 1 },  { MOD_hs, 0, 1, 1, 0, 1 },  { MOD_equ, 0, 1, 0, 1, 0 }, { MOD_neu, 1, 0, 1, 1, 0 },
		{ MOD_ltu, 1, 0, 0, 1, 0 }, { MOD_leu, 1, 1, 0, 1, 0 }, { MOD_gtu, 0, 0, 1, 1, 0 }, { MOD_geu, 0, 1, 1, 1, 0 },
		{ MOD_num, 1, 1, 1, 0, 0 }, { MOD_nan, 0, 0, 0, 1, 0 },
	};
	unsigned bits = ptx_type_bits(type), row = 0;
	while (row < ARRAY_LENGTH(rows) && !has(p, rows[row].mod))
		row++;
	if (row == ARRAY_LENGTH(rows))
		return false;
	bool less, equal, unordered = false, half = type == PTX_F16 || type == PTX_BF16;
	if (type == PTX_F16X2 || type == PTX_BF16X2 || (half && has(p, MOD_ftz)))
		return false;
	if (is_float(type) || half) {
		double a = number_of(p, type, p->a[0]), b = number_of(p, type, p->a[1]);
		unordered = isnan(a) || isnan(b);
		less = a < b;
		equal = a == b;
	} else {
		bool s = is_signed(type) && !rows[row].as_unsigned;
		less = s ? sign_extend(p->a[0], bits) < sign_extend(p->a[1], bits) : p->a[0] < p->a[1];
		equal = p->a[0] == p->a[1];
	}
	*out = unordered ? rows[row].unordered : less ? rows[row].less : equal ? rows[row].equal : rows[row].greater;
	return true;
}

static bool set_predicate(struct interpret_pure *p)
{
	const struct ptx_form *form = form_of(p);
	bool set = form->row->opcode_id == OP_set, r;
	if (set && form->types[0] != PTX_F32 && ptx_type_bits(form->types[0]) != 32)
		return false; /* a half's 1.0, or a pair's */
	if (!compare(p, form->types[set ? 1 : 0], &r))
		return false;
	bool other = !r, c = p->count > 2 ? p->a[2] : false;
	if (p->count > 2) {
		bool is_and = has(p, MOD_and), is_or = has(p, MOD_or);
		r = is_and ? r && c : is_or ? r || c : r != c;
		other = is_and ? other && c : is_or ? other || c : other != c;
	}
	p->result = set ? r ? form->types[0] == PTX_F32 ? 0x3f800000 : UINT32_MAX : 0 : r;
	p->second = other;
	return true;
}

/* ---- floats ------------------------------------------------------------------------------------------------------ */

static double smaller(double a, double b, bool greater)
{
	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	if (a == b)
		return (signbit(a) != 0) != greater ? a : b;
	return (a < b) != greater ? a : b;
}

static bool float_f32(struct interpret_pure *p)
{
	volatile float x = flush(p, to_f32(p->a[0])), y = p->count > 1 ? flush(p, to_f32(p->a[1])) : 0,
		       z = p->count > 2 ? flush(p, to_f32(p->a[2])) : 0, r;
	int opcode = form_of(p)->row->opcode_id;
	if (has(p, MOD_approx) || has(p, MOD_full) || has(p, MOD_NaN) || has(p, MOD_abs))
		return false;
	fesetround(rounding(p));
	switch (opcode) {
	case OP_add:
		r = x + y;
		break;
	case OP_sub:
		r = x - y;
		break;
	case OP_mul:
		r = x * y;
		break;
	case OP_fma:
	case OP_mad:
		r = fmaf(x, y, z);
		break;
	case OP_div:
		r = x / y;
		break;
	case OP_rcp:
		r = 1 / x;
		break;
	case OP_sqrt:
		r = sqrtf(x);
		break;
	case OP_abs:
		r = fabsf(x);
		break;
	case OP_neg:
		r = -x;
		break;
	case OP_min:
	case OP_max:
		r = (float)smaller(x, y, opcode == OP_max);
		break;
	default:
		fesetround(FE_TONEAREST);
		return false;
	}
	fesetround(FE_TONEAREST);
	p->result = from_f32(saturate(p, flush(p, r)));
	return true;
}

static bool float_f64(struct interpret_pure *p)
{
	volatile double x = to_f64(p->a[0]), y = to_f64(p->a[1]), z = to_f64(p->a[2]), r;
	int opcode = form_of(p)->row->opcode_id;
	if (has(p, MOD_approx))
		return false;
	fesetround(rounding(p));
	switch (opcode) {
	case OP_add:
		r = x + y;
		break;
	case OP_sub:
		r = x - y;
		break;
	case OP_mul:
		r = x * y;
		break;
	case OP_fma:
	case OP_mad:
		r = fma(x, y, z);
		break;
	case OP_div:
		r = x / y;
		break;
	case OP_rcp:
		r = 1 / x;
		break;
	case OP_sqrt:
		r = sqrt(x);
		break;
	case OP_abs:
		r = fabs(x);
		break;
	case OP_neg:
		r = -x;
		break;
	case OP_min:
	case OP_max:
		r = smaller(x, y, opcode == OP_max);
		break;
	default:
		fesetround(FE_TONEAREST);
		return false;
	}
	fesetround(FE_TONEAREST);
	p->result = from_f64(r);
	return true;
}

/* ---- conversion --------------------------------------------------------------------------------------------------- */

static uint64_t clamp_integer(double whole, enum ptx_type to)
{
	unsigned bits = ptx_type_bits(to);
	if (is_signed(to)) {
		double end = ldexp(1, (int)bits - 1);
		return whole >= end ? (UINT64_C(1) << (bits - 1)) - 1 : whole < -end ? UINT64_C(1) << (bits - 1) : (uint64_t)(int64_t)whole;
	}
	return whole >= ldexp(1, (int)bits) ? UINT64_MAX : whole <= 0 ? 0 : (uint64_t)whole;
}

static uint64_t saturate_integer(uint64_t v, enum ptx_type from, enum ptx_type to)
{
	unsigned to_bits = ptx_type_bits(to);
	bool negative = is_signed(from) && (int64_t)v < 0;
	uint64_t most = is_signed(to) ? (UINT64_C(1) << (to_bits - 1)) - 1 : low_bits(UINT64_MAX, to_bits);
	if (negative) {
		if (!is_signed(to))
			return 0;
		int64_t least = -(int64_t)most - 1;
		return (int64_t)v < least ? (uint64_t)least : v;
	}
	return v > most ? most : v;
}

static bool is_number(enum ptx_type type)
{
	return type == PTX_F32 || type == PTX_F64 || (type >= PTX_U8 && type <= PTX_U64) || (type >= PTX_S8 && type <= PTX_S64);
}

static bool convert(struct interpret_pure *p)
{
	enum ptx_type to = form_of(p)->types[0], from = form_of(p)->type_count > 1 ? form_of(p)->types[1] : to;
	unsigned from_bits = ptx_type_bits(from);
	if (!is_number(from) || !is_number(to) || form_of(p)->type_count < 2 || p->count != 1)
		return false;
	if (!is_float(from) && !is_float(to)) {
		uint64_t v = is_signed(from) ? (uint64_t)sign_extend(p->a[0], from_bits) : low_bits(p->a[0], from_bits);
		p->result = has(p, MOD_sat) ? saturate_integer(v, from, to) : v;
		return true;
	}
	volatile double r;
	volatile float f;
	fesetround(rounding(p));
	if (!is_float(from)) {
		uint64_t v = is_signed(from) ? (uint64_t)sign_extend(p->a[0], from_bits) : low_bits(p->a[0], from_bits);
		if (to == PTX_F32) {
			f = is_signed(from) ? (float)(int64_t)v : (float)v;
			fesetround(FE_TONEAREST);
			p->result = from_f32(saturate(p, f));
		} else {
			r = is_signed(from) ? (double)(int64_t)v : (double)v;
			fesetround(FE_TONEAREST);
			p->result = from_f64(r);
		}
		return !has(p, MOD_sat) || to == PTX_F32;
	}
	r = from == PTX_F32 ? flush(p, to_f32(p->a[0])) : to_f64(p->a[0]);
	bool to_whole = has(p, MOD_rni) || has(p, MOD_rzi) || has(p, MOD_rmi) || has(p, MOD_rpi);
	bool nan = isnan(r);
	if (to_whole)
		r = nearbyint(r);
	if (!is_float(to)) {
		fesetround(FE_TONEAREST);
		unsigned bits = ptx_type_bits(to);
		if (nan && from == PTX_F32)
			p->result = bits == 64 ? UINT64_C(1) << 63 : 0;
		else if (nan)
			p->result = UINT64_C(1) << (bits - 1);
		else
			p->result = clamp_integer(r, to);
		return bits >= 16 || !nan;
	}
	f = to == PTX_F32 ? (float)r : 0;
	fesetround(FE_TONEAREST);
	if (nan) /* payloads: not modelled */
		return false;
	p->result = to == PTX_F32 ? from_f32(saturate(p, flush(p, f))) : from_f64(r);
	return !has(p, MOD_sat) || to == PTX_F32;
}

bool interpret_pure(struct interpret_pure *p)
{
	const struct ptx_form *form = form_of(p);
	p->second = 0;
	switch (form->row->opcode_id) {
	case OP_setp:
	case OP_set:
		return set_predicate(p);
	case OP_cvt:
		return convert(p);
	case OP_and:
	case OP_or:
	case OP_xor:
	case OP_not:
	case OP_cnot:
	case OP_shl:
	case OP_shr:
	case OP_shf:
	case OP_prmt:
	case OP_lop3:
	case OP_mov:
	case OP_selp:
	case OP_slct:
		return logic(p, form->types[0]);
	default:
		if (form->types[0] == PTX_F32)
			return float_f32(p);
		if (form->types[0] == PTX_F64)
			return float_f64(p);
		if (form->types[0] < PTX_B16 || form->types[0] > PTX_S64 || ptx_type_bits(form->types[0]) > 64)
			return false;
		return integer(p, form->types[0]);
	}
}
