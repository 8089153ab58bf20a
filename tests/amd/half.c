/* f16: conversions with MODE's rounding numbers (0 nearest even, 1 up, 2 down, 3 to zero). */
#include <math.h>
#include <string.h>
#include "machine.h"

float half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ff, bits;
	float value;

	if (exponent == 0) {
		value = (float)mantissa * 0x1p-24f;
		memcpy(&bits, &value, 4);
	} else {
		bits = (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13;
	}
	bits |= sign;
	memcpy(&value, &bits, 4);
	return value;
}

uint16_t half_from_double(double value, unsigned round)
{
	uint64_t bits, mantissa, rest, half;
	uint16_t sign;
	int exponent, shift;
	bool up;

	memcpy(&bits, &value, 8);
	sign = (uint16_t)(bits >> 48 & 0x8000);
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	mantissa = bits & 0xfffffffffffffull;
	if (exponent == 1024) {
		if (!mantissa) return sign | 0x7c00;
		return (uint16_t)(sign | 0x7e00 | mantissa >> 42);	/* quiet */
	}
	if (exponent < -26) {	/* less than a quarter of the least denormal */
		up = (bits << 1) && ((round == 1 && !sign) || (round == 2 && sign));
		return (uint16_t)(sign | up);
	}
	mantissa |= 1ull << 52;
	shift = exponent < -14 ? 42 + (-14 - exponent) : 42;
	rest = mantissa & ((1ull << shift) - 1);
	half = mantissa >> shift;
	up = round == 0 ? rest > 1ull << (shift - 1) || (rest == 1ull << (shift - 1) && (half & 1))
		: round == 1 ? rest && !sign : round == 2 ? rest && sign : false;
	half += up;
	if (exponent >= -14) half += (uint64_t)(exponent + 14) << 10;	/* the leading one adds one more */
	if (half >= 0x7c00) {
		bool infinite = round == 0 || (round == 1 && !sign) || (round == 2 && sign);
		return sign | (infinite ? 0x7c00 : 0x7bff);
	}
	return (uint16_t)(sign | half);
}

uint16_t half_from_float(float value, unsigned round)
{
	return half_from_double((double)value, round);
}
