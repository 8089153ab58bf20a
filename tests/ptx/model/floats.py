"""Floating-point numbers as exact fractions, and rounding to a format: what the other models compute with.

Formats are (precision, least exponent, greatest exponent, exponent bits). Results are bits.
"""
from fractions import Fraction
from math import isqrt

F16, BF16, F32, F64 = (11, -14, 15, 5), (8, -126, 127, 8), (24, -126, 127, 8), (53, -1022, 1023, 11)
FORMATS = {'f16': F16, 'bf16': BF16, 'f32': F32, 'f64': F64}
NAN = {F16: 0x7fff, BF16: 0x7fff, F32: 0x7fffffff}


def width(fmt):
    return fmt[0] + fmt[3]


def sign_bit(fmt):
    return 1 << (width(fmt) - 1)


def infinity(fmt):
    return ((1 << fmt[3]) - 1) << (fmt[0] - 1)


def magnitude(bits, fmt):
    return bits & (sign_bit(fmt) - 1)


def is_nan(bits, fmt):
    return magnitude(bits, fmt) > infinity(fmt)


def is_inf(bits, fmt):
    return magnitude(bits, fmt) == infinity(fmt)


def is_zero(bits, fmt):
    return magnitude(bits, fmt) == 0


def is_subnormal(bits, fmt):
    return 0 < magnitude(bits, fmt) < 1 << (fmt[0] - 1)


def negative(bits, fmt):
    return bool(bits & sign_bit(fmt))


def flush(bits, fmt):
    return bits & sign_bit(fmt) if is_subnormal(bits, fmt) else bits


def value(bits, fmt):
    precision, least = fmt[0], fmt[1]
    field = magnitude(bits, fmt) >> (precision - 1)
    fraction = bits & ((1 << (precision - 1)) - 1)
    if field:
        fraction |= 1 << (precision - 1)
    exponent = max(field, 1) + least - 1
    v = Fraction(fraction) * Fraction(2) ** (exponent - precision + 1)
    return -v if negative(bits, fmt) else v


def quiet(bits, fmt):
    return bits | 1 << (fmt[0] - 2)


def exponent_of(v):
    e = v.numerator.bit_length() - v.denominator.bit_length()
    return e if Fraction(2) ** e <= v else e - 1


def round_magnitude(v, minus, fmt, mode):
    """|v| in `fmt`; minus tells which way .rm and .rp go."""
    precision, least, greatest, _bits = fmt
    if v == 0:
        return 0
    exponent = max(exponent_of(v), least)
    scaled = v / Fraction(2) ** (exponent - precision + 1)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    if {'rn': rest > Fraction(1, 2) or rest == Fraction(1, 2) and whole & 1, 'rz': False, 'rm': minus and rest > 0,
            'rp': not minus and rest > 0, 'rna': rest >= Fraction(1, 2)}[mode]:
        whole += 1
    if whole == 1 << precision:
        whole >>= 1
        exponent += 1
    if exponent > greatest:
        away = mode in ('rn', 'rna') or mode == ('rm' if minus else 'rp')
        return infinity(fmt) if away else infinity(fmt) - 1
    if whole < 1 << (precision - 1):
        return whole
    return (exponent - least + 1 << (precision - 1)) + whole - (1 << (precision - 1))


def rounded(v, fmt, mode='rn', zero_negative=False):
    """An exact result; the sign of an exact zero is the caller's."""
    minus = v < 0 or v == 0 and zero_negative
    return (sign_bit(fmt) if minus else 0) | round_magnitude(abs(v), minus, fmt, mode)


def zero_sum_sign(minus_x, minus_y, mode):
    return minus_x if minus_x == minus_y else mode == 'rm'


def add(x, y, fmt, mode='rn'):
    if is_nan(x, fmt) or is_nan(y, fmt):
        return None
    if is_inf(x, fmt) or is_inf(y, fmt):
        if is_inf(x, fmt) and is_inf(y, fmt) and x != y:
            return None
        return x if is_inf(x, fmt) else y
    v = value(x, fmt) + value(y, fmt)
    return rounded(v, fmt, mode, zero_sum_sign(negative(x, fmt), negative(y, fmt), mode))


def fma(x, y, z, fmt, mode='rn'):
    """None is a NaN."""
    if any(is_nan(v, fmt) for v in (x, y, z)):
        return None
    minus = negative(x, fmt) != negative(y, fmt)
    if is_inf(x, fmt) or is_inf(y, fmt):
        if is_zero(x, fmt) or is_zero(y, fmt) or is_inf(z, fmt) and negative(z, fmt) != minus:
            return None
        return infinity(fmt) | (sign_bit(fmt) if minus else 0)
    if is_inf(z, fmt):
        return z
    v = value(x, fmt) * value(y, fmt) + value(z, fmt)
    return rounded(v, fmt, mode, zero_sum_sign(minus, negative(z, fmt), mode))


def mul(x, y, fmt, mode='rn'):
    if is_nan(x, fmt) or is_nan(y, fmt):
        return None
    sign = (x ^ y) & sign_bit(fmt)
    if is_inf(x, fmt) or is_inf(y, fmt):
        return None if is_zero(x, fmt) or is_zero(y, fmt) else infinity(fmt) | sign
    return round_magnitude(abs(value(x, fmt) * value(y, fmt)), bool(sign), fmt, mode) | sign


def div(x, y, fmt, mode='rn'):
    if is_nan(x, fmt) or is_nan(y, fmt):
        return None
    sign = (x ^ y) & sign_bit(fmt)
    if is_inf(x, fmt) or is_zero(y, fmt):
        return None if is_inf(y, fmt) or is_zero(x, fmt) else infinity(fmt) | sign
    if is_inf(y, fmt):
        return sign
    return round_magnitude(abs(value(x, fmt) / value(y, fmt)), bool(sign), fmt, mode) | sign


def sqrt(x, fmt, mode='rn'):
    if is_nan(x, fmt) or negative(x, fmt) and not is_zero(x, fmt):
        return None
    if is_zero(x, fmt) or is_inf(x, fmt):
        return x
    v = value(x, fmt)
    # The root to twice the precision and one more bit that says whether it is exact.
    shift = 2 * (fmt[0] + 8) - exponent_of(v) // 2 * 2
    scaled = v * Fraction(2) ** shift
    root = isqrt(scaled.numerator // scaled.denominator)
    exact = scaled.denominator == 1 and root * root == scaled.numerator
    return round_magnitude((Fraction(root) if exact else root + Fraction(1, 4)) / Fraction(2) ** (shift // 2), False, fmt, mode)


def saturate(bits, fmt):
    """Of a result that is no NaN."""
    one = round_magnitude(Fraction(1), False, fmt, 'rn')
    if negative(bits, fmt):
        return 0
    return min(bits, one)


def min_max(x, y, fmt, is_max, nan_wins=False):
    if is_nan(x, fmt) or is_nan(y, fmt):
        if nan_wins or is_nan(x, fmt) and is_nan(y, fmt):
            return None
        return y if is_nan(x, fmt) else x
    key = lambda b: (float('-inf') if b & sign_bit(fmt) else float('inf')) if is_inf(b, fmt) else value(b, fmt)
    if key(x) == key(y):
        smaller = x if negative(x, fmt) else y
        return (y if smaller == x else x) if is_max else smaller
    return (x if key(x) > key(y) else y) if is_max else (x if key(x) < key(y) else y)


def convert(bits, source, to, mode='rn'):
    """A number or infinity of `source` in `to`; None for NaN."""
    if is_nan(bits, source):
        return None
    sign = sign_bit(to) if negative(bits, source) else 0
    if is_inf(bits, source):
        return infinity(to) | sign
    return round_magnitude(abs(value(bits, source)), bool(sign), to, mode) | sign


def to_int(bits, fmt, mode):
    """The integer that a finite number rounds to: rni, rzi, rmi, rpi."""
    v = value(bits, fmt)
    floor = v.numerator // v.denominator
    rest = v - floor
    if mode == 'rmi' or rest == 0:
        return floor
    if mode == 'rpi':
        return floor + 1
    if mode == 'rzi':
        return floor if v >= 0 else floor + 1
    return floor + (1 if rest > Fraction(1, 2) or rest == Fraction(1, 2) and floor & 1 else 0)
