#!/usr/bin/env python3
"""The approximate functions of PTX ISA 9.7.3 and 9.7.4: results within the manual's bounds of the true value.

    approximate.py OUTPUT.ptx

True values are computed with 60 decimal digits (decimal: exp and ln; series for the rest); what must come out is a range, widened by
the bound and rounded outwards. Inputs are dense over all exponents, with the edges.
"""
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

import ptxtest
from floats import BF16, F16, F32, NAN, add, convert, flush, infinity, is_inf, is_nan, mul, negative, round_magnitude, value

getcontext().prec = 60
getcontext().Emin, getcontext().Emax = -999999, 999999
LN2 = Decimal(2).ln()


def decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def pi():
    """Machin."""
    def arctan_inverse(n):
        total, term, k = Decimal(0), Decimal(1) / n, 1
        while abs(term) > Decimal(10) ** -70:
            total += term / k
            term, k = -term / (n * n), k + 2
        return total
    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


PI = pi()


def sine(x):
    x = x - (x / (2 * PI)).to_integral_value() * 2 * PI
    total, term, k = Decimal(0), x, 1
    while abs(term) > Decimal(10) ** -55:
        total += term
        term, k = -term * x * x / ((k + 1) * (k + 2)), k + 2
    return total


FUNCTIONS = {
    'ex2': lambda x: (x * LN2).exp(),
    'lg2': lambda x: x.ln() / LN2,
    'sin': sine,
    'cos': lambda x: sine(x + PI / 2),
    'tanh': lambda x: (1 - 2 / ((2 * min(max(x, Decimal(-100)), Decimal(100))).exp() + 1)) if abs(x) > Decimal('1e-20') else x,
    'rcp': lambda x: 1 / x,
    'sqrt': lambda x: x.sqrt(),
    'rsqrt': lambda x: 1 / x.sqrt(),
}


def inputs():
    """Every exponent with a few significands, and round numbers; both signs."""
    words = [0, 1, 0x7fffff, 0x800000, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x3f800000, 0x3f7fffff, 0x3f800001, 0x40490fdb, 0x3fc90fdb,
             0x41000000, 0x42fe0000, 0x43150000, 0x42ff0000, 0x40c90fdb, 0x43160000]
    seed = 12345
    for exponent in range(1, 255):
        for _ in range(3 if 100 < exponent < 150 else 1):
            seed = (seed * 1103515245 + 12345) & 0x7fffffff
            words.append(exponent << 23 | seed & 0x7fffff)
    return words + [w | 0x80000000 for w in words]


def outward(low, high, fmt=F32):
    """Bits of the range of floats that covers [low, high], both Decimals."""
    def bits(v, mode):
        f = Fraction(v)
        return (1 << 31 if f < 0 else 0) | round_magnitude(abs(f), f < 0, fmt, mode)
    return bits(low, 'rm'), bits(high, 'rp')


def special(name, x, ftz):
    """The exact results that the manual's tables give; None where there is none."""
    top = x & 0x80000000
    if is_nan(x, F32):
        return 0x7fffffff
    zero = (flush(x, F32) if ftz else x) & 0x7fffffff == 0
    if is_inf(x, F32):
        return {'ex2': 0 if top else infinity(F32), 'lg2': 0x7fffffff if top else infinity(F32), 'sin': 0x7fffffff, 'cos': 0x7fffffff,
                'tanh': 0x3f800000 | top, 'rcp': top, 'sqrt': 0x7fffffff if top else x, 'rsqrt': 0x7fffffff if top else 0}[name]
    if zero:
        return {'ex2': 0x3f800000, 'lg2': 0xff800000, 'sin': top, 'cos': 0x3f800000, 'tanh': top, 'rcp': 0x7f800000 | top, 'sqrt': top,
                'rsqrt': 0x7f800000 | top}[name]
    return 0x7fffffff if top and name in ('lg2', 'sqrt', 'rsqrt') else None


def error_bound(name, x, y):
    """Absolute, as a Decimal; None where the manual promises nothing."""
    two = Decimal(2)
    if name in ('sin', 'cos'):
        return two ** Decimal('-20.5') if abs(x) <= 2 * PI else two ** Decimal('-14.7') if abs(x) <= 100 * PI else None
    if name == 'lg2' and Decimal('0.5') < x < 2:
        return two ** -22
    relative = {'ex2': two ** -22, 'lg2': two ** -22, 'tanh': two ** -11, 'rcp': two ** -23, 'sqrt': two ** -23,
                'rsqrt': two ** Decimal('-22.9')}[name]
    return abs(y) * relative + (Decimal(2) ** -149 if abs(y) < two ** -126 else 0)


def expected(name, x, ftz):
    exact = special(name, x, ftz)
    if exact is not None:
        return exact, exact
    v = decimal(value(x, F32))
    if name == 'ex2' and abs(v) > 1000:
        return (0, 0) if v < 0 else (infinity(F32),) * 2
    y = FUNCTIONS[name](v)
    bound = error_bound(name, v, y)
    if bound is None:
        return 0xbf800000, 0x3f800000
    low, high = outward(y - bound, y + bound)
    if ftz and flush(low, F32) != low or ftz and flush(high, F32) != high:
        low, high = (flush(low, F32), high) if not negative(low, F32) else (low, flush(high, F32))
    return low, high


def floats(file):
    words = inputs()
    threads = (len(words) + 31) // 32 * 32
    words += [0] * (threads - len(words))
    given = [w for x in words for w in (x, 0, 0)]
    for name in FUNCTIONS:
        for ftz in ('', '.ftz') if name != 'tanh' else ('',):
            spelled = '%s.approx%s.f32' % (name, ftz)
            ranges = [w for x in words for w in expected(name, x, bool(ftz))]
            file.kernel(spelled, '%s %%d, %%a;' % spelled, [ptxtest.words('in', given), ptxtest.words('range', ranges)], threads)


def divisions(file):
    """Two ulp for 2^-126 <= |b| <= 2^126; beyond: zero, or NaN for an infinite dividend. .full is two ulp everywhere."""
    words = inputs()
    pairs = [(words[i], words[(i * 7 + 3) % len(words)]) for i in range(len(words))][:640]
    for kind in ('approx', 'full'):
        for ftz in ('', '.ftz'):
            ranges = []
            for a, b in pairs:
                ranges += quotient_range(a, b, kind, bool(ftz))
            given = [w for a, b in pairs for w in (a, b, 0)]
            spelled = 'div.%s%s.f32' % (kind, ftz)
            file.kernel(spelled, '%s %%d, %%a, %%b;' % spelled, [ptxtest.words('in', given), ptxtest.words('range', ranges)], len(pairs))


def quotient_range(a, b, kind, ftz):
    a, b = (flush(a, F32), flush(b, F32)) if ftz else (a, b)
    sign = (a ^ b) & 0x80000000
    if is_nan(a, F32) or is_nan(b, F32) or is_inf(a, F32) and is_inf(b, F32) or not a << 1 & 0xffffffff and not b << 1 & 0xffffffff:
        return 0x7fffffff, 0x7fffffff
    if is_inf(b, F32) or not a << 1 & 0xffffffff:
        return sign, sign
    if kind == 'approx' and abs(value(b, F32)) > Fraction(2) ** 126:
        return (0x7fffffff,) * 2 if is_inf(a, F32) else (sign, sign)
    if is_inf(a, F32) or not b << 1 & 0xffffffff:
        return (infinity(F32) | sign,) * 2
    if kind == 'approx' and abs(value(b, F32)) < Fraction(2) ** -126:
        return None, None
    q = value(a, F32) / value(b, F32)
    ulp = abs(q) * Fraction(2) ** -22 + Fraction(2) ** -149
    low, high = outward(q - ulp, q + ulp)
    if q > 0 and negative(low, F32):
        low = 0
    if q < 0 and not negative(high, F32):
        high = 0x80000000
    if ftz:
        low, high = (flush(low, F32), high) if q > 0 else (low, flush(high, F32))
    return low, high


LIMIT = 'abs.f32 %y, %x; setp.gt.f32 %q, %y, 0f42fc0000; mov.f32 %z, 0f42fc0000; copysign.f32 %z, %x, %z; selp.f32 %x, %z, %x, %q; '


def limited(x):
    """|x| > 126 ? copysign(126, x) : x"""
    return x if x & 0x7fffffff <= 0x42fc0000 else x & 0x80000000 | 0x42fc0000


def in_ranges(file):
    """Arguments whose range the compiler knows (src/ir/float_range.c), or all but knows."""
    words = inputs()
    threads = (len(words) + 31) // 32 * 32
    words += [0] * (threads - len(words))
    given = [w for x in words for w in (x, 0, 0)]

    def chain(name, before, argument, moved=False):
        """`argument` of a number; of NaN it is NaN, or where it is only moved that one."""
        arguments = [argument(x) if not is_nan(x, F32) else x if moved else NAN[F32] for x in words]
        ranges = [w for x in arguments for w in (expected(name, x, True) if name else (x, x))]
        function = '%s.approx.ftz.f32 %%x, %%x; ' % name if name else ''
        file.kernel('%s in a range' % (name or 'selp'), '.reg .f32 %x, %y, %z; .reg .pred %q; mov.b32 %x, %a; ' + before + function + 'mov.b32 %d, %x;',
                    [ptxtest.words('in', given), ptxtest.words('range', ranges)], threads)

    for least in (0x40800000, 0x00800000, 0x007fffff):
        above = 'abs.f32 %%x, %%x; add.f32 %%x, %%x, 0f%08x; ' % least
        chain('rcp', above, lambda x: add(x & 0x7fffffff, least, F32))
        chain('rcp', above + 'neg.f32 %x, %x; ', lambda x: add(x & 0x7fffffff, least, F32) | 0x80000000)
        chain('rsqrt', above, lambda x: add(x & 0x7fffffff, least, F32))
    minus_square = 'mul.f32 %x, %x, %x; neg.f32 %x, %x; '
    chain('ex2', LIMIT, limited)
    chain('ex2', minus_square + LIMIT, lambda x: limited(mul(x, x, F32) | 0x80000000))
    chain('ex2', minus_square, lambda x: mul(x, x, F32) | 0x80000000)
    chain(None, LIMIT, limited, moved=True)
    chain(None, minus_square + LIMIT, lambda x: limited(mul(x, x, F32) | 0x80000000))


def or_nan(bits):
    return NAN[F32] if bits is None or is_nan(bits, F32) else bits


def nans(file):
    """Where a NaN's bits show, and where what they made is multiplied with another NaN (src/ir/nan.c)."""
    words = inputs() + [0x7fc00001, 0xffc00000, 0xffffffff, 0x7f800001]
    threads = (len(words) + 31) // 32 * 32
    words += [0] * (threads - len(words))
    given = [w for x in words for w in (x, 0x3f800000, 0)]

    def case(name, body, model):
        ranges = [w for x in words for w in (or_nan(model(x)),) * 2]
        file.kernel(name, '.reg .f32 %x, %y, %z; .reg .b32 %r; .reg .pred %q; mov.b32 %x, %a; mov.b32 %z, %b; ' + body + 'mov.b32 %d, %x;',
                    [ptxtest.words('in', given), ptxtest.words('range', ranges)], threads)

    def power(x):
        """The bits of x + 127 + 1.5 2^23, to the left by 23."""
        return or_nan(add(x, 0x4b40007f, F32)) << 23 & 0xffffffff

    to_power = 'add.f32 %y, %x, 0f4b40007f; mov.b32 %r, %y; shl.b32 %r, %r, 23; mov.b32 %y, %r; '
    case('2^n times NaN of n', to_power + 'fma.rn.f32 %z, %x, 0f00000000, 0f3f800000; mul.f32 %x, %y, %z; ',
         lambda x: mul(power(x), or_nan(add(or_nan(mul(x, 0, F32)), 0x3f800000, F32)), F32))
    case('2^n of NaN times a number', to_power + 'mul.f32 %x, %y, %z; ', lambda x: mul(power(x), 0x3f800000, F32))
    case('2^n of NaN added', to_power + 'fma.rn.f32 %z, %x, 0f00000000, 0f3f800000; fma.rn.f32 %x, %y, %b, 0f3f800000; ',
         lambda x: add(power(x), 0x3f800000, F32))
    case('one of two sums', 'add.f32 %y, %x, 0f3f800000; mul.f32 %z, %x, %x; setp.lt.f32 %q, %x, 0f00000000; selp.f32 %x, %y, %z, %q; ',
         lambda x: add(x, 0x3f800000, F32) if not is_nan(x, F32) and x >> 31 and x << 1 & 0xffffffff else mul(x, x, F32))


def halves(file):
    """All halves, two a thread. Bounds: ex2 2^-9.9 relative, tanh 2^-10.987 absolute for f16; 2^-7 and 2^-8 for bf16."""
    for name, bounds in (('ex2', {'f16': ('relative', '-9.9'), 'bf16': ('relative', '-7')}),
                         ('tanh', {'f16': ('absolute', '-10.987'), 'bf16': ('absolute', '-8')})):
        for kind, fmt in (('f16', F16), ('bf16', BF16)):
            spelled = name + '.approx' + ('.ftz' if name == 'ex2' and kind == 'bf16' else '') + '.' + kind
            codes = [h for h in range(0, 0x10000, 67)][:960]
            given = [w for h in codes for w in (h, 0, 0)]
            ranges = [w for h in codes for w in half_range(name, h, fmt, bounds[kind])]
            back = 'cvt.f32.%s %%d, %%x;' % kind
            file.kernel(spelled, '.reg .b16 %%x; cvt.u16.u32 %%x, %%a; %s %%x, %%x; %s' % (spelled, back),
                        [ptxtest.words('in', given), ptxtest.words('range', ranges)], len(codes))
            file.kernel(spelled + 'x2', '.reg .b16 %%x; prmt.b32 %%d, %%a, %%a, 0x1010; %sx2 %%d, %%d; mov.b32 {_, %%x}, %%d; %s' % (spelled, back),
                        [ptxtest.words('in', given), ptxtest.words('range', ranges)], len(codes))


def half_range(name, h, fmt, bound):
    if is_nan(h, fmt):
        return (None, None) if fmt == BF16 else (0x7fffffff, 0x7fffffff)
    wide = convert(h, fmt, F32)
    exact = special(name, wide, fmt == BF16 and name == 'ex2')
    if exact is not None:
        return exact, exact
    v = decimal(value(h, fmt))
    if name == 'ex2' and abs(v) > 1000:
        return (0, 0) if v < 0 else (infinity(F32),) * 2
    y = FUNCTIONS[name](v)
    error = Decimal(2) ** Decimal(bound[1]) * (abs(y) if bound[0] == 'relative' else 1)
    if name == 'ex2':
        error += Decimal(2) ** -25 if fmt == F16 else Decimal(2) ** -126
    low, high = outward(y - error, y + error)
    if Fraction(y + error) >= Fraction(2) ** (16 if fmt == F16 else 128) * Fraction(2047, 2048):
        high = infinity(F32)
    return low, high


def main():
    file = ptxtest.File('approximate.py')
    floats(file)
    divisions(file)
    in_ranges(file)
    nans(file)
    halves(file)
    file.save(sys.argv[1])


if __name__ == '__main__':
    main()
