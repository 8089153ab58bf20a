#!/usr/bin/env python3
"""Floating-point arithmetic and conversion (PTX ISA 9.7.3 to 9.7.7, 9.7.9.21) against exact fractions (floats.py).

    floating.py OUTPUT.ptx

NaN results are the GPU's: 0x7fffffff, 0x7fff; f64 keeps an operand's, which is tested for one operand only.
"""
import sys
from fractions import Fraction

import ptxtest
from floats import (BF16, F16, F32, F64, FORMATS, NAN, add, convert, div, exponent_of, flush, fma, infinity, is_inf, is_nan, is_subnormal,
                    min_max, mul, negative, quiet, round_magnitude, rounded, saturate, sign_bit, sqrt, to_int, value, width)
from sweep import triples

TRIPLES = triples()
MODES = ('rn', 'rz', 'rm', 'rp')
OPS = {'add': (2, lambda x, y, f, m: add(x, y, f, m)), 'sub': (2, lambda x, y, f, m: add(x, y ^ sign_bit(f) if not is_nan(y, f) else y, f, m)),
       'mul': (2, lambda x, y, f, m: mul(x, y, f, m)), 'div': (2, lambda x, y, f, m: div(x, y, f, m)),
       'fma': (3, lambda x, y, z, f, m: fma(x, y, z, f, m)), 'mad': (3, lambda x, y, z, f, m: fma(x, y, z, f, m)),
       'sqrt': (1, lambda x, f, m: sqrt(x, f, m)), 'rcp': (1, lambda x, f, m: div(round_magnitude(1, False, f, 'rn'), x, f, m))}


class Tests:
    def __init__(self):
        self.file = ptxtest.File('floating.py')

    def add(self, name, body, function):
        """A result of None is not checked."""
        outs = [function(*t) for t in TRIPLES]
        self.file.kernel(name, body, ['//# in sweep 768', ptxtest.words('out', [None if o is None else o & 0xffffffff for o in outs])])

    def f64(self, name, count, function):
        """Operands (a,b), (b,c), (c,a); both halves of the result, folded."""
        registers = ', '.join(['%x', '%y', '%z'][:count])
        body = ('.reg .f64 %%x, %%y, %%z; .reg .b32 %%s; mov.b64 %%x, {%%a, %%b}; mov.b64 %%y, {%%b, %%c}; mov.b64 %%z, {%%c, %%a}; '
                '%s %%x, %s; mov.b64 {%%d, %%s}, %%x; xor.b32 %%d, %%d, %%s;') % (name, registers)

        def model(a, b, c):
            r = function(*[a | b << 32, b | c << 32, c | a << 32][:count])
            return None if r is None else r ^ r >> 32
        self.add(name, body, model)

    def f32(self, name, count, function):
        self.add(name, '%s %%d, %s;' % (name, ', '.join(['%a', '%b', '%c'][:count])), lambda *t: function(*t[:count]))

    def packed(self, name, count, function):
        """Of both halves of 32-bit registers."""
        self.f32(name, count, lambda *t: function(*[v & 0xffff for v in t]) | function(*[v >> 16 for v in t]) << 16)

    def half(self, name, count, function):
        body = '.reg .b16 %x, %y, %z; cvt.u16.u32 %x, %a; cvt.u16.u32 %y, %b; cvt.u16.u32 %z, %c; '
        body += '%s %%x, %s; mov.b32 %%d, {%%x, %%x};' % (name, ', '.join(['%x', '%y', '%z'][:count]))
        self.add(name, body, lambda *t: function(*[v & 0xffff for v in t[:count]]) * 0x10001)


def finished(r, fmt, mods, extra=()):
    """What the modifiers make of an exact operation's result."""
    if r is None:
        return 0 if 'sat' in mods else NAN.get(fmt)
    if 'ftz' in mods:
        r = flush(r, fmt)
    if 'sat' in mods:
        return saturate(r, fmt)
    if 'relu' in extra and negative(r, fmt):
        return 0
    return r


def operation(op, fmt, mode, mods):
    count, function = OPS[op]

    def model(*arguments):
        values = [flush(v, fmt) for v in arguments] if 'ftz' in mods else arguments
        nans = [v for v in arguments if is_nan(v, fmt)]
        if fmt == F64 and len(nans) == 1 and (count < 3 or arguments[2] != nans[0]):
            return quiet(nans[0], fmt)
        r = finished(function(*values[:count], fmt, mode), fmt, mods, mods)
        return r
    return count, model


def arithmetic(t):
    for op in ('add', 'sub', 'mul', 'fma'):
        for mode in MODES:
            for mods in ([], ['ftz'], ['sat'], ['ftz', 'sat']):
                count, model = operation(op, F32, mode, mods)
                t.f32('.'.join([op, mode] + mods + ['f32']), count, model)
            count, model = operation(op, F64, mode, [])
            t.f64('%s.%s.f64' % (op, mode), count, model)
        if op != 'fma':
            for mods in ([], ['ftz'], ['sat']):
                count, model = operation(op, F32, 'rn', mods)
                t.f32('.'.join([op] + mods + ['f32']), count, model)
            t.f64(op + '.f64', *operation(op, F64, 'rn', []))
    for op in ('div', 'sqrt', 'rcp'):
        for mode in MODES:
            for mods in ([], ['ftz']):
                count, model = operation(op, F32, mode, mods)
                t.f32('.'.join([op, mode] + mods + ['f32']), count, model)
            t.f64('%s.%s.f64' % (op, mode), *operation(op, F64, mode, []))
    t.f32('mad.rn.f32', *operation('mad', F32, 'rn', []))
    t.f64('mad.rn.f64', *operation('mad', F64, 'rn', []))


def ones(t):
    """Divisors whose mantissa is all ones: Newton's iteration leaves their reciprocals an ulp off, which shows where powers of two are divided."""
    for mode in MODES:
        for powers in (False, True):
            def model(a, b, c, m=mode, power=powers):
                x, y = a | b << 32, 0xfffffffffffff | c << 32
                if power:
                    x, y = x & 1 << 63 | 0x3f8 << 52, y & ~(0x7ff << 52) | (0x370 | c >> 20 & 0x8f) << 52
                r = finished(div(x, y, F64, m), F64, []) if not is_nan(x, F64) and not is_nan(y, F64) else None
                return None if r is None else r ^ r >> 32
            name = 'div.%s.f64' % mode
            body = '.reg .f64 %x, %y; .reg .b32 %s; or.b32 %s, %c, 0x000fffff; '
            if powers:
                body += ('mov.b32 %a, 0; and.b32 %b, %b, 0x80000000; or.b32 %b, %b, 0x3f800000; and.b32 %c, %s, 0x08f00000; and.b32 %s, %s, 0x800fffff; '
                         'or.b32 %s, %s, %c; or.b32 %s, %s, 0x37000000; ')
            body += 'mov.b64 %x, {%a, %b}; mov.b64 %y, {0xffffffff, %s}; ' + name + ' %x, %x, %y; mov.b64 {%d, %s}, %x; xor.b32 %d, %d, %s;'
            t.add(name + ' by ones' + ' of powers of two' * powers, body, model)


def above_constants(t):
    """As expf has it: a number from 0 to 1, times a constant, plus one that is as large or larger, rounded down."""
    for times, plus in ((0x437c0000, 0x4b400001), (0x3f800000, 0x3f800000), (0x40490fdb, 0x40490fdb), (0x3f7fffff, 0x4b7ffffe), (0, 0x40000000),
                        (0x3f800000, 0x7f000000), (0x40800000, 0x3f800000)):
        for mode in ('rm', 'rz', 'rp'):
            for ftz in ('', '.ftz'):
                def model(a, b, c, x=times, y=plus, m=mode, z=ftz, near=True):
                    a = saturate(a & 0x07ffffff | 0x38000000 if near else 0 if is_nan(a, F32) else a, F32)
                    a = flush(a, F32) if z else a
                    return finished(fma(a, x, y, F32, m), F32, [z[1:]])
                fused = 'cvt.sat.f32.f32 %%a, %%a; fma.%s%s.f32 %%d, %%a, 0f%08x, 0f%08x;' % (mode, ftz, times, plus)
                name = 'fma.%s%s.f32 of .sat %08x %08x' % (mode, ftz, times, plus)
                t.add(name, 'and.b32 %a, %a, 0x07ffffff; or.b32 %a, %a, 0x38000000; ' + fused, model)
                t.add(name + ' any', fused, lambda a, b, c, f=model: f(a, b, c, near=False))


def halves(t):
    for name, fmt in (('f16', F16), ('bf16', BF16)):
        for op in ('add', 'sub', 'mul', 'fma'):
            for mods in ([], ['sat'], ['ftz'], ['ftz', 'sat'], ['relu']):
                if fmt == BF16 and set(mods) & {'sat', 'ftz'} or 'relu' in mods and op != 'fma':
                    continue
                count, model = operation(op, fmt, 'rn', mods)
                spelled = '.'.join([op, 'rn'] + mods + [name])
                t.half(spelled, count, model)
                t.packed(spelled + 'x2', count, model)
                if op != 'fma':
                    t.half(spelled.replace('.rn', ''), count, model)
                    t.packed(spelled.replace('.rn', '') + 'x2', count, model)


def signs(t):
    for name, fmt in FORMATS.items():
        top = sign_bit(fmt)
        for op in ('abs', 'neg'):
            for mods in ([], ['ftz']):
                if mods and name in ('bf16', 'f64'):
                    continue

                def model(x, f=fmt, m=mods, o=op, s=top):
                    if is_nan(x, f):
                        return quiet(x, f) if f == F64 else NAN[f]
                    x = flush(x, f) if m else x
                    return x & ~s if o == 'abs' else x ^ s
                spelled = '.'.join([op] + mods + [name])
                if name == 'f32':
                    t.f32(spelled, 1, model)
                elif name == 'f64':
                    t.f64(spelled, 1, model)
                else:
                    t.half(spelled, 1, model)
                    t.packed(spelled + 'x2', 1, model)
    t.f32('copysign.f32', 2, lambda x, y: x & 0x80000000 | y & 0x7fffffff)
    t.f64('copysign.f64', 2, lambda x, y: x & 1 << 63 | y & ~(1 << 63))


def extremes(t):
    for name, fmt in FORMATS.items():
        for op in ('min', 'max'):
            for mods in ([], ['ftz'], ['NaN'], ['ftz', 'NaN'], ['xorsign', 'abs'], ['NaN', 'xorsign', 'abs']):
                if name == 'f64' and mods or name == 'bf16' and 'ftz' in mods:
                    continue

                def model(x, y, f=fmt, m=mods, o=op):
                    if f == F64 and (is_nan(x, f) and is_nan(y, f)):
                        return None
                    x, y = (flush(x, f), flush(y, f)) if 'ftz' in m else (x, y)
                    sign = (x ^ y) & sign_bit(f) if 'xorsign' in m else 0
                    if 'xorsign' in m:
                        x, y = x & ~sign_bit(f), y & ~sign_bit(f)
                    r = min_max(x, y, f, o == 'max', 'NaN' in m)
                    return NAN[f] if r is None else r | sign
                spelled = '.'.join([op] + mods + [name])
                if name == 'f32':
                    t.f32(spelled, 2, model)
                elif name == 'f64':
                    t.f64(spelled, 2, model)
                else:
                    t.half(spelled, 2, model)
                    t.packed(spelled + 'x2', 2, model)


def holds(cmp, x, y, fmt):
    if cmp in ('num', 'nan'):
        return (cmp == 'nan') == (is_nan(x, fmt) or is_nan(y, fmt))
    if is_nan(x, fmt) or is_nan(y, fmt):
        return cmp.endswith('u')
    key = lambda b: (-1 if negative(b, fmt) else 1) * (b & ~sign_bit(fmt))
    x, y = key(x), key(y)
    return {'eq': x == y, 'ne': x != y, 'lt': x < y, 'le': x <= y, 'gt': x > y, 'ge': x >= y}[cmp[:2]]


def comparisons(t):
    for cmp in ('eq', 'ne', 'lt', 'le', 'gt', 'ge', 'equ', 'neu', 'ltu', 'leu', 'gtu', 'geu', 'num', 'nan'):
        for ftz in ('', '.ftz'):
            def model(x, y, c=cmp, z=ftz):
                x, y = (flush(x, F32), flush(y, F32)) if z else (x, y)
                return holds(c, x, y, F32)
            name = 'setp.%s%s.f32' % (cmp, ftz)
            t.add(name, '.reg .pred %%p; %s %%p, %%a, %%b; selp.u32 %%d, 1, 0, %%p;' % name, lambda a, b, c, m=model: int(m(a, b)))
            name = 'set.%s%s.u32.f32' % (cmp, ftz)
            t.f32(name, 2, lambda x, y, m=model: 0xffffffff if m(x, y) else 0)
        name = 'setp.%s.f64' % cmp
        t.add(name, ('.reg .f64 %%x, %%y; .reg .pred %%p; mov.b64 %%x, {%%a, %%b}; mov.b64 %%y, {%%b, %%c}; %s %%p, %%x, %%y; '
                     'selp.u32 %%d, 1, 0, %%p;') % name, lambda a, b, c, m=cmp: int(holds(m, a | b << 32, b | c << 32, F64)))
        for kind, fmt in (('f16', F16), ('bf16', BF16)):
            body = '.reg .b16 %%x, %%y; .reg .pred %%p; cvt.u16.u32 %%x, %%a; cvt.u16.u32 %%y, %%b; %s %s, %%x, %%y; %s'
            name = 'setp.%s.%s' % (cmp, kind)
            t.add(name, body % (name, '%p', 'selp.u32 %d, 1, 0, %p;'), lambda a, b, c, m=cmp, f=fmt: int(holds(m, a & 0xffff, b & 0xffff, f)))
            name = 'setp.%s.%sx2' % (cmp, kind)
            t.add(name, '.reg .pred %%p, %%q; %s %%p|%%q, %%a, %%b; selp.u32 %%d, 1, 0, %%p; @%%q add.u32 %%d, %%d, 2;' % name,
                  lambda a, b, c, m=cmp, f=fmt: int(holds(m, a & 0xffff, b & 0xffff, f)) + 2 * int(holds(m, a >> 16, b >> 16, f)))
            one = 0x3c00 if kind == 'f16' else 0x3f80
            for to, true, register in ((kind, one, '%x'), ('u16', 0xffff, '%x'), ('u32', 0xffffffff, '%d')):
                name = 'set.%s.%s.%s' % (cmp, to, kind)
                t.add(name, body % (name, register, '' if to == 'u32' else 'mov.b32 %d, {%x, %x};'),
                      lambda a, b, c, m=cmp, f=fmt, o=true: (o if holds(m, a & 0xffff, b & 0xffff, f) else 0) * (1 if o > 0xffff else 0x10001))
            t.packed('set.%s.%sx2.%sx2' % (cmp, kind, kind), 2, lambda x, y, m=cmp, f=fmt, o=one: o if holds(m, x, y, f) else 0)
    for cmp in ('lt', 'neu'):
        for join in ('and', 'or', 'xor'):
            name = 'setp.%s.%s.f32' % (cmp, join)
            t.add(name, '.reg .pred %%p, %%q, %%r; setp.gt.u32 %%r, %%a, %%c; %s %%p|%%q, %%a, %%b, %%r; selp.u32 %%d, 1, 0, %%p; '
                  '@%%q add.u32 %%d, %%d, 2;' % name, lambda a, b, c, m=cmp, j=join: sum(
                      k * int({'and': p and a > c, 'or': p or a > c, 'xor': p != (a > c)}[j]) for k, p in ((1, holds(m, a, b, F32)), (2, not holds(m, a, b, F32)))))
    joins(t)
    for kind in ('finite', 'infinite', 'number', 'notanumber', 'subnormal'):
        test = {'finite': lambda x, f: (x & ~sign_bit(f)) < infinity(f), 'infinite': is_inf, 'number': lambda x, f: not is_nan(x, f), 'notanumber': is_nan,
                'subnormal': is_subnormal}[kind]
        t.add('testp.%s.f32' % kind, '.reg .pred %%p; testp.%s.f32 %%p, %%a; selp.u32 %%d, 1, 0, %%p;' % kind, lambda a, b, c, f=test: int(f(a, F32)))
        t.add('testp.%s.f64' % kind, '.reg .f64 %%x; .reg .pred %%p; mov.b64 %%x, {%%a, %%b}; testp.%s.f64 %%p, %%x; selp.u32 %%d, 1, 0, %%p;' % kind,
              lambda a, b, c, f=test: int(f(a | b << 32, F64)))


BOOL = {'and': lambda p, q: p and q, 'or': lambda p, q: p or q, 'xor': lambda p, q: p != q}


def joins(t):
    """Comparisons combined with a predicate, of every format."""
    head = '.reg .pred %p, %q, %r; .reg .b16 %x, %y; setp.gt.u32 %r, %a, %c; cvt.u16.u32 %x, %a; cvt.u16.u32 %y, %b; '
    both = 'selp.u32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;'
    for cmp in ('lt', 'neu', 'nan'):
        for join, function in BOOL.items():
            name = 'set.%s.%s.u32.f32' % (cmp, join)
            t.add(name, head + name + ' %d, %a, %b, %r;', lambda a, b, c, m=cmp, j=function: 0xffffffff if j(holds(m, a, b, F32), a > c) else 0)
            for kind, fmt in (('f16', F16), ('bf16', BF16)):
                def low(a, b, m=cmp, f=fmt):
                    return holds(m, a & 0xffff, b & 0xffff, f)

                def high(a, b, m=cmp, f=fmt):
                    return holds(m, a >> 16, b >> 16, f)
                name = 'setp.%s.%s.%s' % (cmp, join, kind)
                t.add(name, head + name + ' %p|%q, %x, %y, %r; ' + both, lambda a, b, c, j=function, f=low: int(j(f(a, b), a > c)) + 2 * int(j(not f(a, b), a > c)))
                name = 'setp.%s.%s.%sx2' % (cmp, join, kind)
                t.add(name, head + name + ' %p|%q, %a, %b, %r; ' + both, lambda a, b, c, j=function, f=low, g=high: int(j(f(a, b), a > c)) + 2 * int(j(g(a, b), a > c)))
                name = 'set.%s.%s.s32.%s' % (cmp, join, kind)
                t.add(name, head + name + ' %d, %x, %y, %r;', lambda a, b, c, j=function, f=low: 0xffffffff if j(f(a, b), a > c) else 0)
                name = 'set.%s.%s.u32.%sx2' % (cmp, join, kind)
                t.add(name, head + name + ' %d, %a, %b, %r;', lambda a, b, c, j=function, f=low, g=high: (0xffff if j(f(a, b), a > c) else 0) | (0xffff0000 if j(g(a, b), a > c) else 0))


def three_and_more(t):
    """min and max of three, mad, what only rounds to an integer or a scale."""
    for op in ('min', 'max'):
        for mods in ([], ['ftz'], ['NaN'], ['abs'], ['ftz', 'NaN', 'abs']):
            def model(x, y, z, m=mods, o=op):
                values = [v & 0x7fffffff if 'abs' in m else v for v in (x, y, z)]
                values = [flush(v, F32) for v in values] if 'ftz' in m else values
                r = min_max(values[0], values[1], F32, o == 'max', 'NaN' in m)
                r = min_max(0x7fffffff if r is None else r, values[2], F32, o == 'max', 'NaN' in m)
                return 0x7fffffff if r is None else r
            t.f32('.'.join([op] + mods + ['f32']), 3, model)
    t.f32('mad.f32', *operation('mad', F32, 'rn', []))
    first, second = operation('mul', F32, 'rn', ['ftz'])[1], operation('add', F32, 'rn', ['ftz'])[1]
    t.add('mul.ftz.f32 add.ftz.f32', 'mul.rn.ftz.f32 %d, %a, %b; add.rn.ftz.f32 %d, %d, %c;', lambda a, b, c: second(first(a, b), c))
    t.add('mul.ftz.f32 add.ftz.f32 guarded', '.reg .pred %p; setp.lt.u32 %p, %b, %c; mov.u32 %d, %c; @%p mul.rn.ftz.f32 %d, %a, %b; add.rn.ftz.f32 %d, %d, %a;',
          lambda a, b, c: second(first(a, b) if b < c else c, a))
    for mode in ('rni', 'rzi', 'rmi', 'rpi'):
        def integral(x, m=mode):
            if is_nan(x, BF16):
                return 0x7fff
            if is_inf(x, BF16):
                return x
            n = to_int(x, BF16, m)
            return rounded(n, BF16, 'rn', negative(x, BF16))
        conversion(t, 'cvt.%s.bf16.bf16' % mode, 'bf16', 16, integral)
    tf32 = (11, -126, 127, 8)
    for mode in ('rna', 'rn', 'rz'):
        for relu in ('', '.relu') if mode != 'rna' else ('',):
            def cut(x, m=mode, r=relu):
                if is_nan(x, F32):
                    return None
                v = convert(x, F32, tf32, m) << 13
                v = v - 0x2000 if v & 0x7fffffff == 0x7f800000 else v
                return 0 if r and v >> 31 else v
            t.f32('cvt.%s.satfinite%s.tf32.f32' % (mode, relu), 1, cut)
    for mode in ('rz', 'rp'):
        def scale(x, m=mode):
            if is_nan(x, F32):
                return 255
            x &= 0x7fffffff
            if is_inf(x, F32):
                return 254
            v = value(x, F32)
            for code in range(255):
                if Fraction(2) ** (code - 127) >= v:
                    return code if m == 'rp' or Fraction(2) ** (code - 127) == v or code == 0 else code - 1
            return 254
        name = 'cvt.%s.satfinite.ue8m0x2.f32' % mode
        t.add(name, '.reg .b16 %%y; %s %%y, %%a, %%b; cvt.u32.u16 %%d, %%y;' % name, lambda a, b, c, f=scale: f(a) << 8 | f(b))
        name = 'cvt.%s.satfinite.ue8m0x2.bf16x2' % mode
        t.add(name, '.reg .b16 %%y; %s %%y, %%a; cvt.u32.u16 %%d, %%y;' % name, lambda a, b, c, f=scale: f(a & 0xffff0000) << 8 | f(a << 16 & 0xffffffff))
    t.add('cvt.rn.bf16x2.ue8m0x2', '.reg .b16 %y; cvt.u16.u32 %y, %a; cvt.rn.bf16x2.ue8m0x2 %d, %y;',
          lambda a, b, c: sum((0x7fff if k == 255 else 0x40 if k == 0 else k << 7) << 16 * i for i, k in enumerate((a & 255, a >> 8 & 255))))
    for name in ('rsqrt.approx.f64', 'rsqrt.approx.ftz.f64'):
        # of powers of four: exact
        t.add(name, ('.reg .f64 %%x; .reg .b32 %%s; and.b32 %%s, %%a, 63; shl.b32 %%s, %%s, 21; add.u32 %%s, %%s, 0x3ff00000; mov.b32 %%d, 0; mov.b64 %%x, {%%d, %%s}; '
                     '%s %%x, %%x; mov.b64 {%%s, %%d}, %%x; or.b32 %%d, %%d, %%s;') % name, lambda a, b, c: (1023 - (a & 63)) << 20)


def load_of(kind):
    return {'f16': 'cvt.u16.u32 %x, %a; ', 'bf16': 'cvt.u16.u32 %x, %a; ', 'f32': 'mov.b32 %x, %a; ', 'f64': 'mov.b64 %x, {%a, %b}; '}[kind]


def fold_of(bits):
    return {8: 'cvt.u32.u16 %d, %y;', 16: 'cvt.u32.u16 %d, %y;', 32: 'mov.b32 %d, %y;',
            64: 'mov.b64 {%d, %s}, %y; xor.b32 %d, %d, %s;'}[bits]


def conversion(t, name, source_kind, to_bits, model, load=None):
    source_bits = width(FORMATS[source_kind]) if source_kind in FORMATS else int(source_kind[1:])
    body = '.reg .b%d %%x; .reg .b%d %%y; .reg .b32 %%s; %s%s %%y, %%x; %s' % (
        max(source_bits, 16), max(to_bits, 16), load or load_of(source_kind), name, fold_of(to_bits))

    def folded(a, b, c):
        r = model((a | b << 32) & ((1 << source_bits) - 1))
        if r is None:
            return None
        r &= (1 << max(to_bits, 16)) - 1
        return r ^ r >> 32 if to_bits == 64 else r
    t.add(name, body, folded)


def float_conversions(t):
    for source, fs in FORMATS.items():
        for to, ft in FORMATS.items():
            if source == to:
                continue
            narrows = ft[0] < fs[0] or ft[1] > fs[1]
            modes = MODES if narrows else ('',)
            for mode in modes:
                for mods in ([], ['sat'], ['ftz']):
                    if 'ftz' in mods and 'f32' not in (source, to) or 'bf16' in (source, to) and mods:
                        continue

                    def model(x, f=fs, g=ft, m=mode or 'rn', z=mods):
                        if is_nan(x, f) and 'sat' not in z:
                            if f == F64 and g in (F32, F16):
                                return x >> 63 << width(g) - 1 | infinity(g) | 1 << g[0] - 2 | x >> (53 - g[0]) & (1 << g[0] - 1) - 1
                            if f == F32 and g == F64:
                                return 0x7fffffffe0000000 if 'ftz' in z else quiet(x >> 31 << 63 | 0x7ff << 52 | (x & 0x7fffff) << 29, F64)
                            return None if g in (F64, F16) and f == BF16 or f == BF16 and g == F32 else NAN.get(g)
                        x = flush(x, F32) if 'ftz' in z and f == F32 else x
                        r = convert(x, f, g, m)
                        r = 0 if r is None else saturate(r, g) if 'sat' in z else r
                        return flush(r, F32) if 'ftz' in z and g == F32 else r
                    conversion(t, '.'.join(filter(None, ['cvt', mode] + mods + [to, source])), source, width(ft),
                               model if source != 'f16' or to != 'f64' else lambda x, m=model: None if is_nan(x, F16) else m(x))
    for kind in ('f32', 'f64', 'f16'):
        fmt = FORMATS[kind]
        for mode in ('rni', 'rzi', 'rmi', 'rpi'):
            def integral(x, f=fmt, m=mode):
                if is_nan(x, f):
                    return NAN.get(f)
                if is_inf(x, f):
                    return x
                return rounded(to_int(x, f, m), f, 'rn', negative(x, f)) | (x & sign_bit(f) if to_int(x, f, m) == 0 else 0)
            conversion(t, 'cvt.%s.%s.%s' % (mode, kind, kind), kind, width(fmt), integral)
    conversion(t, 'cvt.sat.f32.f32', 'f32', 32, lambda x: 0 if is_nan(x, F32) else saturate(x, F32))


def to_integers(t):
    for source, fmt in FORMATS.items():
        for to in ('s8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64'):
            bits = int(to[1:])
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to[0] == 's' else (0, (1 << bits) - 1)
            for mode in ('rni', 'rzi', 'rmi', 'rpi'):
                for mods in ([], ['ftz']) if source == 'f32' and bits == 32 else ([],):
                    def model(x, f=fmt, m=mode, lo=low, hi=high, n=bits, z=mods):
                        if is_nan(x, f):
                            if n < 16 and f == F64 or f in (F16, BF16) and n != 32:
                                return None
                            return 1 << n - 1 if f == F64 or n == 64 else 0
                        x = flush(x, f) if z else x
                        if is_inf(x, f):
                            return lo if negative(x, f) else hi
                        return min(max(to_int(x, f, m), lo), hi)
                    conversion(t, '.'.join(['cvt', mode] + mods + [to, source]), source, bits, model)


def from_integers(t):
    for source in ('s8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64'):
        bits = int(source[1:])
        load = {8: 'cvt.u16.u32 %x, %a; ', 16: 'cvt.u16.u32 %x, %a; ', 32: 'mov.b32 %x, %a; ', 64: 'mov.b64 %x, {%a, %b}; '}[bits]
        for to, fmt in FORMATS.items():
            for mode in MODES:
                def model(x, f=fmt, m=mode, n=bits, k=source[0]):
                    v = x - (1 << n) if k == 's' and x >> n - 1 else x
                    return rounded(v, f, m)
                conversion(t, 'cvt.%s.%s.%s' % (mode, to, source), source, width(fmt), model, load)


def two_halves(t):
    for kind, fmt in (('f16', F16), ('bf16', BF16)):
        for mode in ('rn', 'rz'):
            for mods in ([], ['relu'], ['satfinite'], ['relu', 'satfinite']):
                def model(x, f=fmt, m=mode, z=mods):
                    r = convert(x, F32, f, m)
                    if r is None:
                        return NAN[f]
                    if 'satfinite' in z and is_inf(r, f):
                        r -= 1
                    return 0 if 'relu' in z and negative(r, f) else r
                name = '.'.join(['cvt', mode] + mods + [kind])
                t.f32(name + 'x2.f32', 2, lambda x, y, m=model: m(x) << 16 | m(y))
                conversion(t, name + '.f32', 'f32', 16, model)
    tf32 = (11, -126, 127, 8)
    for mode in ('rna', 'rn', 'rz'):
        t.f32('cvt.%s.tf32.f32' % mode, 1, lambda x, m=mode: None if is_nan(x, F32) and m != 'rna' else x & ~0x1fff if is_nan(x, F32) else
              convert(x, F32, tf32, m) << 13)


SMALL = {'e4m3': (4, -6, 448, 8), 'e5m2': (3, -14, 57344, 8), 'e2m3': (4, 0, 7.5, 8), 'e3m2': (3, -2, 28, 8), 'e2m1': (2, 0, 6, 4)}
SMALL_BITS = {'e4m3': 8, 'e5m2': 8, 'e2m3': 6, 'e3m2': 6, 'e2m1': 4}


def small_code(x, fmt, kind, relu):
    precision, least, largest, _spacing = SMALL[kind]
    bits = SMALL_BITS[kind]
    if is_nan(x, fmt):
        return 0x7f if bits == 8 else (1 << bits - 1) - 1
    sign = 1 << bits - 1 if negative(x, fmt) else 0
    if relu and sign:
        return 0
    wide = (precision, least, 1000, 20)
    code = round_magnitude(abs(value_or_huge(x, fmt)), False, wide, 'rn')
    greatest = round_magnitude(Fraction(largest), False, wide, 'rn')
    return min(code, greatest) | sign


def value_or_huge(x, fmt):
    return Fraction(2) ** 900 if is_inf(x, fmt) else value(x, fmt)


def small_formats(t):
    for kind in ('e4m3', 'e5m2', 'e2m3', 'e3m2', 'e2m1'):
        for relu in ('', '.relu'):
            spacing = SMALL[kind][3]
            result = '.reg .b16 %y; ' if spacing == 8 else '.reg .b8 %y; '
            fold = ' cvt.u32.u16 %d, %y;' if spacing == 8 else ' cvt.u32.u8 %d, %y;'
            name = 'cvt.rn.satfinite%s.%sx2.f32' % (relu, kind)
            t.add(name, result + name + ' %y, %a, %b;' + fold,
                  lambda a, b, c, k=kind, r=relu, s=spacing: small_code(a, F32, k, r) << s | small_code(b, F32, k, r))
            if kind in ('e4m3', 'e5m2'):
                name = 'cvt.rn.satfinite%s.%sx2.f16x2' % (relu, kind)
                t.add(name, result + name + ' %y, %a;' + fold,
                      lambda a, b, c, k=kind, r=relu: small_code(a >> 16, F16, k, r) << 8 | small_code(a & 0xffff, F16, k, r))
        # Back: exact.
        codes = {small_code(convert(h, F16, F32), F32, kind, ''): h for h in range(0x10000) if not is_nan(h, F16) and not is_inf(h, F16)
                 and small_exact(h, kind)}
        bits, spacing = SMALL_BITS[kind], SMALL[kind][3]

        def back(a, b, c, k=codes, n=bits, s=spacing):
            parts = [k.get(a >> s * i & (1 << n) - 1) for i in range(2)]
            return None if None in parts else parts[0] | parts[1] << 16
        load = '.reg .b16 %x; cvt.u16.u32 %x, %a; ' if spacing == 8 else '.reg .b8 %x; cvt.u8.u32 %x, %a; '
        if bits == 6:
            load = '.reg .b16 %x; and.b32 %a, %a, 0x3f3f; cvt.u16.u32 %x, %a; '
        name = 'cvt.rn.f16x2.%sx2' % kind
        t.add(name, load + name + ' %d, %x;', back)


def dropped(x, fmt, count, random):
    """|x| cut to a format, one more where `count` random bits and the uppermost ones that are cut off carry (.rs)."""
    precision, least = fmt[0], fmt[1]
    v = abs(value(x, F32))
    if v == 0:
        return 0
    # A float's bits that go: as many as its place leaves below the result's last one.
    unit = max(exponent_of(v), least) - precision + 1
    scaled = v / Fraction(2) ** unit
    whole = scaled.numerator // scaled.denominator
    rest = (scaled - whole) * 2 ** count
    whole += (rest.numerator // rest.denominator + random) >> count
    if unit == least - precision + 1:
        return whole
    return (unit - (least - precision + 1) << precision - 1) + whole


def stochastic(t):
    for kind, fmt in (('f16', F16), ('bf16', BF16)):
        count = 13 if kind == 'f16' else 16
        for mods in ([], ['relu'], ['satfinite'], ['relu', 'satfinite']):
            def one(x, random, f=fmt, n=count, z=mods):
                if is_nan(x, F32):
                    return NAN[f]
                if 'relu' in z and negative(x, F32):
                    return 0
                code = infinity(f) if is_inf(x, F32) else dropped(x, f, n, random & (1 << n) - 1)
                return min(code, infinity(f) - ('satfinite' in z)) | (sign_bit(f) if negative(x, F32) else 0)
            name = '.'.join(['cvt.rs'] + mods + [kind + 'x2.f32'])
            t.f32(name, 3, lambda a, b, c, m=one: m(a, c >> 16) << 16 | m(b, c & 0xffff))
    for kind in SMALL:
        precision, least, largest, spacing = SMALL[kind]
        bits = SMALL_BITS[kind]
        wide = (precision, least, 1000, 20)
        greatest = round_magnitude(Fraction(largest), False, wide, 'rn')
        for relu in ('', '.relu'):
            def code(x, random, w=wide, g=greatest, n=bits, r=relu):
                if is_nan(x, F32):
                    return 0x7f if n == 8 else (1 << n - 1) - 1
                if r and negative(x, F32):
                    return 0
                magnitude = g if is_inf(x, F32) else min(dropped(x, w, 16, random), g)
                return magnitude | (1 << n - 1 if negative(x, F32) else 0)

            def four(a, b, c, f=code, k=kind, s=spacing):
                e, g = a ^ 0x00800000, b ^ 0x80000400
                if k == 'e2m1':
                    low, high = c & 0xff | c >> 8 & 0xff00, c >> 8 & 0xff | c >> 16 & 0xff00
                else:
                    low, high = c & 0xffff, c >> 16
                return f(a, high) << 3 * s | f(b, high) << 2 * s | f(e, low) << s | f(g, low)
            name = 'cvt.rs%s.satfinite.%sx4.f32' % (relu, kind)
            head = '.reg .b32 %e, %f; xor.b32 %e, %a, 0x00800000; xor.b32 %f, %b, 0x80000400; '
            if kind == 'e2m1':
                t.add(name, head + '.reg .b16 %y; ' + name + ' %y, {%a, %b, %e, %f}, %c; cvt.u32.u16 %d, %y;', four)
            else:
                t.add(name, head + name + ' %d, {%a, %b, %e, %f}, %c;', four)


def out_of_bounds(t):
    """fma.oob: a factor of 0xffff, which stands for an element outside a tensor, makes the result +0."""
    for kind, fmt in (('f16', F16), ('bf16', BF16)):
        for relu in ('', '.relu'):
            def one(x, y, z, f=fmt, r=relu):
                if 0xffff in (x, y):
                    return 0
                return finished(fma(x, y, z, f, 'rn'), f, [], ['relu'] if r else [])
            mark = ('.reg .pred %e, %f; and.b32 %i, %a, 7; setp.eq.u32 %e, %i, 1; setp.eq.u32 %f, %i, 2; @%e or.b32 %a, %a, 0xffff; @%f or.b32 %b, %b, 0xffff0000; '
                    'mov.u32 %i, %tid.x; ')

            def marked(a, b, c):
                return a | (0xffff if a & 7 == 1 else 0), b | (0xffff0000 if a & 7 == 2 else 0), c

            def pair(a, b, c, f=one):
                a, b, c = marked(a, b, c)
                return f(a & 0xffff, b & 0xffff, c & 0xffff) | f(a >> 16, b >> 16, c >> 16) << 16
            name = 'fma.rn.oob%s.%s' % (relu, kind)
            t.add(name + 'x2', mark + name + 'x2 %d, %a, %b, %c;', pair)

            def low(a, b, c, f=one):
                a, b, c = marked(a, b, c)
                return f(a & 0xffff, b >> 16, c & 0xffff)
            t.add(name, mark + '.reg .b16 %x, %y, %z, %w; mov.b32 {%x, %w}, %a; mov.b32 {%w, %y}, %b; mov.b32 {%z, %w}, %c; ' + name +
                  ' %x, %x, %y, %z; cvt.u32.u16 %d, %x;', low)


def small_exact(h, kind):
    """Is the half a number of the format?"""
    precision, least, largest, _spacing = SMALL[kind]
    v = abs(value(h, F16))
    if v > Fraction(largest):
        return False
    if v == 0:
        return True
    unit = Fraction(2) ** (max(exponent_of(v), least) - precision + 1)
    return (v / unit).denominator == 1


def pairs(t):
    """.f32x2: two floats in 64 bits."""
    for op in ('add', 'sub', 'mul', 'fma'):
        for mode in MODES:
            for mods in ([], ['ftz']):
                count, model = operation(op, F32, mode, mods)
                name = '.'.join([op, mode] + mods + ['f32x2'])
                registers = ', '.join(['%x', '%y', '%z'][:count])
                body = ('.reg .b64 %%x, %%y, %%z; .reg .b32 %%s; mov.b64 %%x, {%%a, %%b}; mov.b64 %%y, {%%b, %%c}; mov.b64 %%z, {%%c, %%a}; '
                        '%s %%x, %s; mov.b64 {%%d, %%s}, %%x; xor.b32 %%d, %%d, %%s;') % (name, registers)
                t.add(name, body, lambda a, b, c, m=model, n=count: m(*[a, b, c][:n]) ^ m(*[b, c, a][:n]))


def mixed(t):
    for kind, fmt in (('f16', F16), ('bf16', BF16)):
        for op in ('add', 'sub', 'fma'):
            for mode in MODES:
                count, model = operation(op, F32, mode, [])
                name = '%s.%s.f32.%s' % (op, mode, kind)
                operands = '%x, %y, %c' if op == 'fma' else '%x, %c'

                def mixed_model(a, b, c, m=model, f=fmt, o=op):
                    wide = [convert(v & 0xffff, f, F32) for v in (a, b)]
                    wide = [0x7fffffff if v is None else v for v in wide]
                    return m(wide[0], wide[1], c) if o == 'fma' else m(wide[0], c)
                t.add(name, '.reg .b16 %%x, %%y; cvt.u16.u32 %%x, %%a; cvt.u16.u32 %%y, %%b; %s %%d, %s;' % (name, operands), mixed_model)


def main():
    t = Tests()
    for family in (arithmetic, ones, above_constants, halves, signs, extremes, comparisons, float_conversions, to_integers, from_integers, two_halves,
                   small_formats, stochastic, out_of_bounds, pairs, mixed, three_and_more):
        family(t)
    t.file.save(sys.argv[1])


if __name__ == '__main__':
    main()
