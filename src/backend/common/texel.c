/* Texels and filtering: see texture.h. CUDA C++ Programming Guide, "Texture Fetching"; where the guide leaves the arithmetic open
 * it is what an Ampere card was recorded to do:
 * - floats: the texels of a footprint are cut to 27 bits (halves 14) below its largest, its sum (with weights of 0 to 256) is floored
 *   to 28 bits below the largest of all footprints, and the whole is rounded once, ties away from zero; subnormals count as 0, NaN comes
 *   out as all ones
 * - normalised integers: 8-bit unsigned ones widen to 16 bits, sums round half up; signed 8-bit ones blend as they are
 * - sRGB: a table of 8-bit values in blocks of eight that share an exponent; a blend has the precision of a half */
#include "backend/common/texture.h"

enum { SRGB_ONE = 65536, FLOORED = 28 + 8 /* weights are of 1/256 */ };

/* ---- halves ------------------------------------------------------------------------------------------------------------ */

float half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
	if (exponent == 31)
		return float_of_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent)
		return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
	return float_of_bits(sign | float_bits((float)fraction * 0x1p-24f));
}

uint16_t float_to_half_cut(float value)
{
	uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffff;
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	if (magnitude > 0x7f800000) {
		uint16_t payload = magnitude >> 13 & 0x3ff;
		return (uint16_t)(sign | 0x7c00 | (payload ? payload : 0x3ff));
	}
	if (magnitude == 0x7f800000)
		return sign | 0x7c00;
	if (magnitude >= 0x47800000)
		return sign | 0x7bff;
	if (magnitude >= 0x38800000)
		return (uint16_t)(sign | ((magnitude >> 13) - (112 << 10)));
	return (uint16_t)(sign | (uint16_t)(float_of_bits(magnitude) * 0x1p24f));
}

/* ---- reading ------------------------------------------------------------------------------------------------------------ */

/* Texels and their channels are aligned as their size is. */
static uint32_t read_word(const TEXELS uint8_t *at)
{
	typedef uint32_t __attribute__((may_alias)) word;
	return *(const TEXELS word *)(const TEXELS void *)at;
}

static uint16_t read_half(const TEXELS uint8_t *at)
{
	typedef uint16_t __attribute__((may_alias)) half;
	return *(const TEXELS half *)(const TEXELS void *)at;
}

static void read_packed(const TEXELS uint8_t *at, int32_t raw[4])
{
	uint32_t word = read_word(at);
	raw[0] = word & 0x3ff;
	raw[1] = word >> 10 & 0x3ff;
	raw[2] = word >> 20 & 0x3ff;
	raw[3] = (int32_t)(word >> 30);
}

void texel_read(RECORD struct texture *t, const TEXELS uint8_t *at, int32_t raw[4])
{
	bool is_signed = t->d.channel == TEXTURE_SIGNED || t->d.channel == TEXTURE_SNORM;
	for (unsigned c = 0; c < 4; c++)
		raw[c] = 0;
	if (t->d.bits == 10) {
		read_packed(at, raw);
		return;
	}
	if (t->d.bits == 32) {
		for (unsigned c = 0; c < 4 && c < t->d.channels; c++)
			raw[c] = (int32_t)read_word(at + 4 * c);
		return;
	}
	for (unsigned c = 0; c < 4 && c < t->d.channels; c++) {
		if (t->d.bits == 8) {
			raw[c] = is_signed ? (int8_t)at[c] : at[c];
			continue;
		}
		uint16_t half = read_half(at + 2 * c);
		raw[c] = t->class == TEXEL_HALF ? (int32_t)float_bits(half_to_float(half)) : is_signed ? (int16_t)half : half;
	}
}

/* ---- results ------------------------------------------------------------------------------------------------------------ */

static RECORD struct srgb_table *srgb_of(RECORD struct texture *t)
{
	return (RECORD struct srgb_table *)t->srgb;
}

static uint32_t normalized(int32_t code, int32_t one)
{
	return float_bits((float)(code < -one ? -one : code) / (float)one);
}

/* Unsigned normalised channels filter as 16 bits, whatever they have. */
static int32_t widened(RECORD struct texture *t, int32_t raw, unsigned channel)
{
	switch (t->d.bits) {
	case 8: return raw * 257;
	case 10: return channel == 3 ? raw * 21845 : raw << 6 | raw >> 4;
	default: return raw;
	}
}

static uint32_t channel_result(RECORD struct texture *t, int32_t raw, unsigned c)
{
	switch (t->class) {
	case TEXEL_UNORM:
		if (c < t->srgb_channels)
			return float_bits((float)srgb_of(t)->values[raw & 255] / SRGB_ONE);
		return normalized(raw, t->d.bits == 10 ? (c == 3 ? 3 : 1023) : (1 << t->d.bits) - 1);
	case TEXEL_SNORM:
		return normalized(raw, (1 << (t->d.bits - 1)) - 1);
	default:
		return (uint32_t)raw;
	}
}

void texel_result(RECORD struct texture *t, const int32_t raw[4], uint32_t out[4])
{
	for (unsigned c = 0; c < 4; c++)
		out[c] = c < t->d.channels ? channel_result(t, raw[c], c) : 0;
}

static uint32_t nan_of(RECORD struct texture *t)
{
	return t->class == TEXEL_HALF ? 0x7fffe000 : 0x7fffffff;
}

static bool is_nan(uint32_t bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

/* S = 256 × code: to 16 bits, as the cards do. */
static int32_t snorm8_sum(int32_t sum)
{
	return sum + ((257 * (sum >> 4) + 1024) >> 11);
}

uint32_t texel_gathered(RECORD struct texture *t, int32_t raw, unsigned channel)
{
	uint32_t bits = (uint32_t)raw;
	if (channel >= t->d.channels)
		return 0;
	if (t->class == TEXEL_FLOAT || t->class == TEXEL_HALF) {
		if (is_nan(bits))
			return nan_of(t);
		return bits & 0x7f800000 ? bits : bits & 0x80000000;
	}
	if (t->class == TEXEL_SNORM && t->d.bits == 8)
		return normalized(snorm8_sum(256 * raw), 32767);
	return channel_result(t, raw, channel);
}

/* ---- blending ------------------------------------------------------------------------------------------------------------ */

/* Of a normal double. */
static double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double value;
	__builtin_memcpy(&value, &bits, sizeof value);
	return value;
}

/* value × 2^exponent to `precision` bits, not below 2^least, ties away from zero. */
static float round_fixed(int64_t value, int exponent, int precision, int least)
{
	uint64_t magnitude = (uint64_t)(value < 0 ? -value : value);
	if (!magnitude)
		return 0;
	int length = 64 - __builtin_clzll(magnitude), cut = length - precision;
	if (exponent + cut < least)
		cut = least - exponent;
	if (cut > 0) {
		magnitude = cut > 63 ? 0 : (magnitude + (UINT64_C(1) << (cut - 1))) >> cut;
		exponent += cut;
	}
	float r = (float)((double)magnitude * power_of_two(exponent));
	return value < 0 ? -r : r;
}

static int exponent_of(uint32_t bits)
{
	return (int)(bits >> 23 & 255) - 127;
}

/* Largest exponent of the weighted texels; INT32_MIN where they are all zero (or subnormal). */
static int footprint_exponent(const struct footprint *f, unsigned channel)
{
	int largest = INT32_MIN;
	for (unsigned i = 0; i < 4; i++) {
		int exponent = exponent_of((uint32_t)f->raw[i][channel]);
		if (f->weight[i] && exponent > -127 && exponent > largest)
			largest = exponent;
	}
	return largest;
}

/* The sum of the weighted texels in units of 2^(overall - FLOORED), floored. */
static int64_t footprint_sum(const struct footprint *f, unsigned channel, int largest, int overall, int kept)
{
	int64_t sum = 0;
	for (unsigned i = 0; i < 4; i++) {
		uint32_t bits = (uint32_t)f->raw[i][channel];
		int exponent = exponent_of(bits), down = largest - exponent + 23 - kept;
		if (!f->weight[i] || exponent == -127 || down > 23)
			continue;
		int64_t v = (bits & 0x7fffff) | 0x800000;
		v = down < 0 ? v << -down : v >> down;
		sum += (bits >> 31 ? -v : v) * (int64_t)f->weight[i];
	}
	int shift = overall - FLOORED - (largest - kept - 8);
	return shift > 62 ? sum >> 63 : shift >= 0 ? sum >> shift : sum * (INT64_C(1) << -shift);
}

/* Infinities and NaNs; false where there is neither. */
static bool special_blend(RECORD struct texture *t, const struct footprint *f, unsigned count, unsigned channel, uint32_t *out)
{
	bool positive = false, negative = false, nan = false;
	for (unsigned i = 0; i < 4 * count; i++) {
		uint32_t bits = (uint32_t)f[i / 4].raw[i % 4][channel];
		if (!f[i / 4].weight[i % 4] || (bits & 0x7f800000) != 0x7f800000)
			continue;
		nan |= is_nan(bits);
		positive |= bits == 0x7f800000;
		negative |= bits == 0xff800000;
	}
	*out = nan || (positive && negative) ? nan_of(t) : positive ? 0x7f800000 : 0xff800000;
	return nan || positive || negative;
}

/* -0 where all that counts is -0. */
static uint32_t zero_blend(const struct footprint *f, unsigned count, unsigned channel)
{
	for (unsigned i = 0; i < 4 * count; i++)
		if (f[i / 4].weight[i % 4] && (uint32_t)f[i / 4].raw[i % 4][channel] >> 31 == 0)
			return 0;
	return 0x80000000;
}

static uint32_t rounded_blend(bool half, int64_t sum, int overall)
{
	uint32_t bits = float_bits(half ? round_fixed(sum, overall - FLOORED, 11, -24) : round_fixed(sum, overall - FLOORED, 24, -149));
	return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

/* float_blend() of one footprint of normal numbers and zeros, as most are; false where it is another. */
static bool quick_blend(bool half, const struct footprint *f, unsigned channel, uint32_t *out)
{
	uint32_t largest = 0;
	int64_t sum = 0;
	for (unsigned i = 0; i < 4; i++) {
		uint32_t magnitude = (uint32_t)f->raw[i][channel] & 0x7fffffff;
		if (f->weight[i] && magnitude > largest)
			largest = magnitude;
	}
	if (largest < 0x00800000 || largest >= 0x7f800000)
		return false;
	int exponent = exponent_of(largest), kept = half ? 14 : 27;
	double scale = power_of_two(kept - exponent);
	for (unsigned i = 0; i < 4; i++) {
		uint32_t bits = (uint32_t)f->raw[i][channel];
		if (f->weight[i] && bits & 0x7f800000)
			sum += (int64_t)((double)float_of_bits(bits) * scale) * (int64_t)f->weight[i];
	}
	*out = rounded_blend(half, sum * (INT64_C(1) << (FLOORED - 8 - kept)), exponent);
	return true;
}

static uint32_t float_blend(RECORD struct texture *t, const struct footprint *f, unsigned count, unsigned channel)
{
	bool half = t->class == TEXEL_HALF;
	int exponents[4], overall = INT32_MIN;
	int64_t sum = 0;
	uint32_t special;
	if (count == 1 && quick_blend(half, f, channel, &special))
		return special;
	if (special_blend(t, f, count, channel, &special))
		return special;
	for (unsigned i = 0; i < count; i++) {
		exponents[i] = footprint_exponent(&f[i], channel);
		overall = exponents[i] > overall ? exponents[i] : overall;
	}
	if (overall == INT32_MIN)
		return zero_blend(f, count, channel);
	for (unsigned i = 0; i < count; i++)
		if (exponents[i] != INT32_MIN)
			sum += footprint_sum(&f[i], channel, exponents[i], overall, half ? 14 : 27);
	return rounded_blend(half, sum, overall);
}

static uint32_t srgb_blend(RECORD struct texture *t, const struct footprint *f, unsigned count, unsigned channel)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < count; i++) {
		uint32_t unit = 1; /* a power of two */
		for (unsigned j = 0; j < 4; j++)
			if (f[i].weight[j] && srgb_of(t)->units[f[i].raw[j][channel] & 255] > unit)
				unit = srgb_of(t)->units[f[i].raw[j][channel] & 255];
		for (unsigned j = 0; j < 4; j++)
			sum += (uint64_t)(srgb_of(t)->values[f[i].raw[j][channel] & 255] & ~(unit - 1)) * f[i].weight[j];
	}
	return float_bits(round_fixed((int64_t)sum, -24, 11, -24));
}

static int32_t weighted_sum(RECORD struct texture *t, const struct footprint *f, unsigned count, unsigned channel)
{
	int32_t sum = 0;
	for (unsigned i = 0; i < 4 * count; i++) {
		int32_t raw = f[i / 4].raw[i % 4][channel];
		sum += (t->class == TEXEL_UNORM ? widened(t, raw, channel) : raw) * (int32_t)f[i / 4].weight[i % 4];
	}
	return sum;
}

static uint32_t blend_channel(RECORD struct texture *t, const struct footprint *f, unsigned count, unsigned c)
{
	switch (t->class) {
	case TEXEL_FLOAT:
	case TEXEL_HALF:
		return float_blend(t, f, count, c);
	case TEXEL_UNORM:
		if (c < t->srgb_channels)
			return srgb_blend(t, f, count, c);
		return normalized((weighted_sum(t, f, count, c) + 128) >> 8, 65535);
	case TEXEL_SNORM: {
		int32_t sum = weighted_sum(t, f, count, c);
		return normalized(t->d.bits == 8 ? snorm8_sum(sum) : (sum + 128) >> 8, 32767);
	}
	default: /* integers are not filtered: the texel of the largest weight is the first with any */
		for (unsigned i = 0; i < 4 * count; i++)
			if (f[i / 4].weight[i % 4])
				return (uint32_t)f[i / 4].raw[i % 4][c];
		return 0;
	}
}

void texel_blend(RECORD struct texture *t, const struct footprint *footprints, unsigned count, uint32_t out[4])
{
	ROLLED
	for (unsigned c = 0; c < 4; c++)
		out[c] = c < t->d.channels ? blend_channel(t, footprints, count, c) : 0;
}
