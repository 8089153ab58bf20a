/* Texels and filtering: see texel.h. CUDA C++ Programming Guide, "Texture Fetching"; where the guide leaves the arithmetic open
 * it is what an Ampere card was recorded to do:
 * - floats: the texels of a footprint are cut to 27 bits (halves 14) below its largest, its sum (with weights of 0 to 256) is floored
 *   to 28 bits below the largest of all footprints, and the whole is rounded once, ties away from zero; subnormals count as 0, NaN comes
 *   out as all ones
 * - normalised integers: 8-bit unsigned ones widen to 16 bits, sums round half up; signed 8-bit ones blend as they are
 * - sRGB: a table of 8-bit values in blocks of eight that share an exponent; a blend has the precision of a half */
#include "backend/cpu/texel.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { SRGB_ONE = 65536, FLOORED = 28 + 8 /* weights are of 1/256 */ };

static inline uint32_t bits_of(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static inline float float_of(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* ---- halves ------------------------------------------------------------------------------------------------------------ */

float half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
	if (exponent == 31)
		return float_of(sign | 0x7f800000 | fraction << 13);
	if (exponent)
		return float_of(sign | (exponent + 112) << 23 | fraction << 13);
	return float_of(sign | bits_of((float)fraction * 0x1p-24f));
}

uint16_t float_to_half_cut(float value)
{
	uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
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
	return (uint16_t)(sign | (uint16_t)(float_of(magnitude) * 0x1p24f));
}

/* ---- sRGB -------------------------------------------------------------------------------------------------------------- */

static uint32_t srgb_values[256];  /* in 1/65536ths */
static uint32_t srgb_units[256];   /* of the block's exponent: what a blend keeps */
static pthread_once_t srgb_made = PTHREAD_ONCE_INIT;

static double srgb_linear(double code)
{
	return code <= 0.04045 ? code / 12.92 : pow((code + 0.055) / 1.055, 2.4);
}

static void srgb_make(void)
{
	for (int block = 0; block < 256; block += 8) {
		uint32_t last = (uint32_t)lround(srgb_linear((block + 7) / 255.0) * SRGB_ONE), unit = 1;
		while (last / unit >= 256)
			unit *= 2;
		for (int i = block; i < block + 8; i++) {
			srgb_values[i] = (uint32_t)lround(srgb_linear(i / 255.0) * SRGB_ONE / unit) * unit;
			srgb_units[i] = unit;
		}
	}
}

static uint32_t srgb_code(float linear)
{
	double v = linear > 0 ? fmin(linear, 1) : 0;
	v = v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055;
	return (uint32_t)floor(v * 255 + 0.5011);
}

/* ---- reading ------------------------------------------------------------------------------------------------------------ */

static void read_packed(const uint8_t *at, int32_t raw[4])
{
	uint32_t word;
	memcpy(&word, at, sizeof word);
	raw[0] = word & 0x3ff;
	raw[1] = word >> 10 & 0x3ff;
	raw[2] = word >> 20 & 0x3ff;
	raw[3] = (int32_t)(word >> 30);
}

void texel_read(const struct texture *t, const uint8_t *at, int32_t raw[4])
{
	bool is_signed = t->d.channel == TEXTURE_SIGNED || t->d.channel == TEXTURE_SNORM;
	memset(raw, 0, 4 * sizeof *raw);
	if (t->d.bits == 10) {
		read_packed(at, raw);
		return;
	}
	if (t->d.bits == 32) {
		for (unsigned c = 0; c < t->d.channels; c++)
			memcpy(&raw[c], at + 4 * c, 4);
		return;
	}
	for (unsigned c = 0; c < t->d.channels; c++) {
		uint16_t half;
		if (t->d.bits == 8) {
			raw[c] = is_signed ? (int8_t)at[c] : at[c];
			continue;
		}
		memcpy(&half, at + 2 * c, sizeof half);
		raw[c] = t->class == TEXEL_HALF ? (int32_t)bits_of(half_to_float(half)) : is_signed ? (int16_t)half : half;
	}
}

/* A number of [0, 1] or [-1, 1] as a code of `bits` (magnitude) bits: cut to four more bits, then rounded as the cards do. */
static int32_t border_code(float value, unsigned bits, bool is_signed)
{
	double v = isnan(value) ? 0 : fmin(fmax(value, is_signed ? -1 : 0), 1);
	int64_t cut = (int64_t)ldexp(fabs(v), (int)bits + 4);
	int64_t code = (cut * ((INT64_C(1) << bits) - 1) + (INT64_C(1) << (bits + 3)) - 1) >> (bits + 4);
	return (int32_t)(v < 0 ? -code : code);
}

static int32_t border_channel(const struct texture *t, unsigned c)
{
	float value = t->d.border[c];
	uint32_t bits = bits_of(value);
	switch (t->class) {
	case TEXEL_FLOAT:
		return (int32_t)bits;
	case TEXEL_HALF:
		return (int32_t)bits_of(half_to_float(float_to_half_cut(value)));
	case TEXEL_UNORM:
		if (c < t->srgb_channels)
			return (int32_t)srgb_code(value);
		return border_code(value, t->d.bits == 10 && c == 3 ? 2 : t->d.bits, false);
	case TEXEL_SNORM:
		return border_code(value, t->d.bits - 1u, true);
	default:
		if (t->d.bits == 32)
			return (int32_t)bits;
		if (t->d.channel == TEXTURE_SIGNED)
			return t->d.bits == 8 ? (int8_t)bits : (int16_t)bits;
		return (int32_t)(bits & ((1u << t->d.bits) - 1));
	}
}

void texel_border(struct texture *t)
{
	if (t->srgb_channels)
		pthread_once(&srgb_made, srgb_make);
	for (unsigned c = 0; c < 4; c++)
		t->border[c] = c < t->d.channels ? border_channel(t, c) : 0;
}

/* ---- results ------------------------------------------------------------------------------------------------------------ */

static uint32_t normalized(int32_t code, int32_t one)
{
	return bits_of((float)(code < -one ? -one : code) / (float)one);
}

/* Unsigned normalised channels filter as 16 bits, whatever they have. */
static int32_t widened(const struct texture *t, int32_t raw, unsigned channel)
{
	switch (t->d.bits) {
	case 8: return raw * 257;
	case 10: return channel == 3 ? raw * 21845 : raw << 6 | raw >> 4;
	default: return raw;
	}
}

static uint32_t channel_result(const struct texture *t, int32_t raw, unsigned c)
{
	switch (t->class) {
	case TEXEL_UNORM:
		if (c < t->srgb_channels)
			return bits_of((float)srgb_values[raw & 255] / SRGB_ONE);
		return normalized(raw, t->d.bits == 10 ? (c == 3 ? 3 : 1023) : (1 << t->d.bits) - 1);
	case TEXEL_SNORM:
		return normalized(raw, (1 << (t->d.bits - 1)) - 1);
	default:
		return (uint32_t)raw;
	}
}

void texel_result(const struct texture *t, const int32_t raw[4], uint32_t out[4])
{
	for (unsigned c = 0; c < 4; c++)
		out[c] = c < t->d.channels ? channel_result(t, raw[c], c) : 0;
}

static uint32_t nan_of(const struct texture *t)
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

uint32_t texel_gathered(const struct texture *t, int32_t raw, unsigned channel)
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
	memcpy(&value, &bits, sizeof value);
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
static bool special_blend(const struct texture *t, const struct footprint *f, unsigned count, unsigned channel, uint32_t *out)
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
	uint32_t bits = bits_of(half ? round_fixed(sum, overall - FLOORED, 11, -24) : round_fixed(sum, overall - FLOORED, 24, -149));
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
			sum += (int64_t)((double)float_of(bits) * scale) * (int64_t)f->weight[i];
	}
	*out = rounded_blend(half, sum * (INT64_C(1) << (FLOORED - 8 - kept)), exponent);
	return true;
}

static uint32_t float_blend(const struct texture *t, const struct footprint *f, unsigned count, unsigned channel)
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

static uint32_t srgb_blend(const struct footprint *f, unsigned count, unsigned channel)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < count; i++) {
		uint32_t unit = 1;
		for (unsigned j = 0; j < 4; j++)
			if (f[i].weight[j] && srgb_units[f[i].raw[j][channel] & 255] > unit)
				unit = srgb_units[f[i].raw[j][channel] & 255];
		for (unsigned j = 0; j < 4; j++)
			sum += (uint64_t)(srgb_values[f[i].raw[j][channel] & 255] / unit * unit) * f[i].weight[j];
	}
	return bits_of(round_fixed((int64_t)sum, -24, 11, -24));
}

static int32_t weighted_sum(const struct texture *t, const struct footprint *f, unsigned count, unsigned channel)
{
	int32_t sum = 0;
	for (unsigned i = 0; i < 4 * count; i++) {
		int32_t raw = f[i / 4].raw[i % 4][channel];
		sum += (t->class == TEXEL_UNORM ? widened(t, raw, channel) : raw) * (int32_t)f[i / 4].weight[i % 4];
	}
	return sum;
}

static uint32_t blend_channel(const struct texture *t, const struct footprint *f, unsigned count, unsigned c)
{
	switch (t->class) {
	case TEXEL_FLOAT:
	case TEXEL_HALF:
		return float_blend(t, f, count, c);
	case TEXEL_UNORM:
		if (c < t->srgb_channels)
			return srgb_blend(f, count, c);
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

void texel_blend(const struct texture *t, const struct footprint *footprints, unsigned count, uint32_t out[4])
{
	for (unsigned c = 0; c < 4; c++)
		out[c] = c < t->d.channels ? blend_channel(t, footprints, count, c) : 0;
}
