#!/usr/bin/env python3
"""Integer instructions (PTX ISA 9.7.1, 9.7.2, 9.7.7, 9.7.8, 9.7.18) against plain integer arithmetic written from the manual.

    integer.py OUTPUT.ptx
"""
import re
import sys

import ptxtest
from sweep import triples

TRIPLES = triples()


def mask(bits):
    return (1 << bits) - 1


def signed(value, bits):
    value &= mask(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def bits_of(kind):
    return int(re.search(r'\d+', kind)[0])


def read(value, kind):
    return signed(value, bits_of(kind)) if kind[0] == 's' else value & mask(bits_of(kind))


def clamp(value, kind):
    bits = bits_of(kind)
    low, high = (-(1 << (bits - 1)), mask(bits - 1)) if kind[0] == 's' else (0, mask(bits))
    return min(max(value, low), high)


def divide(x, y):
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def quotient(x, y, bits):
    return mask(bits) if y == 0 else divide(x, y)


def remainder(x, y, bits):
    return mask(bits) if y == 0 else x - divide(x, y) * y


def shift_left(x, n, bits):
    return x << n if n < bits else 0


def shift_right(x, n, bits):
    return x >> min(n, bits)


def bfe(kind, a, b, c):
    msb, pos, length = bits_of(kind) - 1, b & 0xff, c & 0xff
    sign = 0 if kind[0] == 'u' or length == 0 else a >> min(pos + length - 1, msb) & 1
    return sum(((a >> (pos + i) & 1) if i < length and pos + i <= msb else sign) << i for i in range(msb + 1))


def bfi(bits, a, b, c, d):
    f, pos, length = b, c & 0xff, d & 0xff
    for i in range(length):
        if pos + i < bits:
            f = f & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
    return f


def bfind(kind, a, shiftamt):
    bits = bits_of(kind)
    x = read(a, kind)
    x = ~x if x < 0 else x
    position = x.bit_length() - 1
    if position < 0:
        return mask(32)
    return bits - 1 - position if shiftamt else position


def fns(m, base, offset):
    offset = signed(offset, 32)
    if base > 31:
        return mask(32)
    if offset == 0:
        return base if m >> base & 1 else mask(32)
    pos, count, step = base, abs(offset) - 1, 1 if offset > 0 else -1
    while 0 <= pos < 32:
        if m >> pos & 1:
            if count == 0:
                return pos
            count -= 1
        pos += step
    return mask(32)


def bmsk(mode, a, b):
    if mode == 'wrap':
        a, b = a & 31, b & 31
    return (mask(min(b, 64)) << a) & mask(32) if a < 32 else 0


def szext(mode, kind, a, b):
    b = b & 31 if mode == 'wrap' else b
    if b >= 32:
        return a
    field = a & mask(b)
    return field | (mask(32) << b if kind[0] == 's' and b and field >> (b - 1) else 0)


PRMT = {'f4e': [0x3210, 0x4321, 0x5432, 0x6543], 'b4e': [0x5670, 0x6701, 0x7012, 0x0123],
        'rc8': [0x0000, 0x1111, 0x2222, 0x3333], 'ecl': [0x3210, 0x3211, 0x3222, 0x3333],
        'ecr': [0x0000, 0x1110, 0x2210, 0x3210], 'rc16': [0x1010, 0x3232, 0x1010, 0x3232]}


def prmt(mode, a, b, c):
    selector = PRMT[mode][c & 3] if mode else c
    both, result = a | b << 32, 0
    for i in range(4):
        nibble = selector >> (4 * i) & 15
        byte = both >> (8 * (nibble & 7)) & 0xff
        result |= ((0xff if byte & 0x80 else 0) if nibble & 8 else byte) << (8 * i)
    return result


def lop3(table, a, b, c):
    return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i for i in range(32))


def elements(word, count, kind):
    bits = 32 // count
    return [signed(word >> (bits * i), bits) if kind[0] == 's' else word >> (bits * i) & mask(bits) for i in range(count)]


def dot(parts, a, b, c):
    if parts[0] == 'dp4a':
        pairs = zip(elements(a, 4, parts[1]), elements(b, 4, parts[2]))
    else:
        bytes_ = elements(b, 4, parts[3])
        pairs = zip(elements(a, 2, parts[2]), bytes_[2:] if parts[1] == 'hi' else bytes_[:2])
    return c + sum(x * y for x, y in pairs)


def mul24(kind, a, b):
    cut = (lambda v: signed(v, 24)) if kind[0] == 's' else (lambda v: v & mask(24))
    return cut(a) * cut(b)


COMPARE = {'eq': lambda x, y: x == y, 'ne': lambda x, y: x != y, 'lt': lambda x, y: x < y, 'le': lambda x, y: x <= y,
           'gt': lambda x, y: x > y, 'ge': lambda x, y: x >= y, 'lo': lambda x, y: x < y, 'ls': lambda x, y: x <= y,
           'hi': lambda x, y: x > y, 'hs': lambda x, y: x >= y}
BOOL = {'and': lambda p, q: p and q, 'or': lambda p, q: p or q, 'xor': lambda p, q: p != q}


def basic(parts, kind, x, y, z, raw):
    """One of the opcodes whose operands are all of type `kind`; None where it is none of them."""
    op, bits = parts[0], bits_of(kind)
    a, b, c = raw
    table = {
        'add': lambda: clamp(x + y, kind) if 'sat' in parts else x + y,
        'sub': lambda: clamp(x - y, kind) if 'sat' in parts else x - y,
        'mul': lambda: x * y >> bits if 'hi' in parts else x * y,
        'mad': lambda: clamp((x * y >> bits) + z, kind) if 'sat' in parts else (x * y >> bits if 'hi' in parts else x * y) + z,
        'mul24': lambda: mul24(kind, a, b) >> 16 if 'hi' in parts else mul24(kind, a, b),
        'mad24': lambda: (clamp(signed(mul24(kind, a, b) >> 16, 32) + z, kind) if 'sat' in parts else
                          (mul24(kind, a, b) >> 16 if 'hi' in parts else mul24(kind, a, b)) + z),
        'sad': lambda: z + abs(x - y),
        'div': lambda: quotient(x, y, bits),
        'rem': lambda: remainder(x, y, bits),
        'min': lambda: max(min(x, y), 0) if 'relu' in parts else min(x, y),
        'max': lambda: max(x, y, 0) if 'relu' in parts else max(x, y),
        'abs': lambda: abs(x),
        'neg': lambda: -x,
        'and': lambda: x & y,
        'or': lambda: x | y,
        'xor': lambda: x ^ y,
        'not': lambda: ~x,
        'cnot': lambda: x == 0,
        'popc': lambda: bin(x).count('1'),
        'clz': lambda: bits - x.bit_length(),
        'brev': lambda: int(format(x, '0%db' % bits)[::-1], 2),
        'bfind': lambda: bfind(kind, x, 'shiftamt' in parts),
        'shl': lambda: shift_left(x, c, bits),
        'shr': lambda: shift_right(x, c, bits),
    }
    return int(table[op]()) if op in table else None


UNARY = ['abs', 'neg', 'not', 'cnot', 'popc', 'clz', 'brev', 'bfind']
SHORT_RESULT = ['popc', 'clz', 'bfind']


class Tests:
    def __init__(self):
        self.file = ptxtest.File('integer.py')

    def add(self, name, body, function):
        outs = [function(*t) & mask(32) for t in TRIPLES]
        self.file.kernel(name, body, ['//# in sweep 768', ptxtest.words('out', outs)])

    def basic(self, name):
        """All operands of one type of 16, 32 or 64 bits; 64-bit ones are (a,b), (b,c), (c,a); what comes out is folded."""
        parts = name.split('.')
        kind, op = parts[-1], parts[0]
        bits = bits_of(kind)
        count = 1 if op in UNARY else 3 if op in ('mad', 'mad24', 'sad') else 2
        registers = ['%x', '%y', '%z'][:count]
        if op in ('shl', 'shr'):
            registers = ['%x', '%c']
        result = '%s' if op in SHORT_RESULT else '%x'
        load = {16: 'cvt.u16.u32 %x, %a; cvt.u16.u32 %y, %b; cvt.u16.u32 %z, %c; ',
                32: 'mov.b32 %x, %a; mov.b32 %y, %b; mov.b32 %z, %c; ',
                64: 'mov.b64 %x, {%a, %b}; mov.b64 %y, {%b, %c}; mov.b64 %z, {%c, %a}; '}[bits]
        fold = {16: 'cvt.u32.u16 %d, %x;', 32: 'mov.b32 %d, %x;', 64: 'mov.b64 {%d, %s}, %x; xor.b32 %d, %d, %s;'}[bits]
        if op in SHORT_RESULT:
            fold = 'mov.b32 %d, %s;'
        body = '.reg .b%d %%x, %%y, %%z; .reg .b32 %%s; %s%s %s, %s; %s' % (bits, load, name, result, ', '.join(registers), fold)

        def model(a, b, c):
            raw = (a, b, c)
            wide = (a | b << 32, b | c << 32, c | a << 32) if bits == 64 else raw
            x, y, z = (read(v, kind) for v in wide)
            r = basic(parts, kind, x, y, z, raw)
            if op in SHORT_RESULT:
                return r
            r &= mask(bits)
            return r ^ r >> 32 if bits == 64 else r
        self.add(name, body, model)

    def plain(self, name, operands, function, before='', after=''):
        self.add(name, '%s%s %%d, %s; %s' % (before, name, operands, after), function)


def wide_products(t):
    for kind in ('u16', 's16'):
        body = '.reg .b16 %%x, %%y; cvt.u16.u32 %%x, %%a; cvt.u16.u32 %%y, %%b; %s %%d, %%x, %%y%s;'
        t.add('mul.wide.' + kind, body % ('mul.wide.' + kind, ''), lambda a, b, c, k=kind: read(a, k) * read(b, k))
        t.add('mad.wide.' + kind, body % ('mad.wide.' + kind, ', %c'), lambda a, b, c, k=kind: read(a, k) * read(b, k) + c)
    for kind in ('u32', 's32'):
        body = '.reg .b64 %%x, %%z; .reg .b32 %%s; mov.b64 %%z, {%%c, %%a}; %s %%x, %%a, %%b%s; mov.b64 {%%d, %%s}, %%x; xor.b32 %%d, %%d, %%s;'

        def folded(r):
            r &= mask(64)
            return r ^ r >> 32
        t.add('mul.wide.' + kind, body % ('mul.wide.' + kind, ''), lambda a, b, c, k=kind: folded(read(a, k) * read(b, k)))
        t.add('mad.wide.' + kind, body % ('mad.wide.' + kind, ', %z'),
              lambda a, b, c, k=kind: folded(read(a, k) * read(b, k) + (c | a << 32)))


def carries(t):
    body = ('.reg .b32 %%x, %%y; add.cc.%(k)s %%x, %%a, %%b; addc.cc.%(k)s %%y, %%b, %%c; addc.%(k)s %%d, %%c, %%a; '
            'xor.b32 %%d, %%d, %%x; xor.b32 %%d, %%d, %%y;')

    def adds(a, b, c):
        s = (a | b << 32 | c << 64) + (b | c << 32 | a << 64)
        return s ^ s >> 32 ^ s >> 64

    def subs(a, b, c):
        s = (a | b << 32 | c << 64) - (b | c << 32 | a << 64)
        return s ^ s >> 32 ^ s >> 64
    for kind in ('u32', 's32'):
        t.add('add.cc.%s addc' % kind, body % dict(k=kind), adds)
        t.add('sub.cc.%s subc' % kind, body.replace('add', 'sub') % dict(k=kind), subs)
        t.add('mad.cc.%s madc' % kind, ('.reg .b32 %%x, %%y; mad.lo.cc.%(k)s %%x, %%a, %%b, %%c; madc.hi.cc.%(k)s %%y, %%a, %%b, %%a; '
              'madc.lo.%(k)s %%d, %%b, %%c, 0; xor.b32 %%d, %%d, %%x; xor.b32 %%d, %%d, %%y;') % dict(k=kind),
              lambda a, b, c, k=kind: mad_carry(a, b, c, k))
    wide = ('.reg .b64 %%x, %%y, %%p, %%q; .reg .b32 %%s; mov.b64 %%p, {%%a, %%b}; mov.b64 %%q, {%%b, %%c}; add.cc.%(k)s %%x, %%p, %%q; '
            'addc.cc.%(k)s %%y, %%q, %%p; addc.%(k)s %%p, %%p, 0; xor.b64 %%x, %%x, %%y; xor.b64 %%x, %%x, %%p; '
            'mov.b64 {%%d, %%s}, %%x; xor.b32 %%d, %%d, %%s;')

    def wide_adds(a, b, c):
        p, q = a | b << 32, b | c << 32
        s = (p | q << 64 | p << 128) + (q | p << 64)
        s = (s ^ s >> 64 ^ s >> 128) & mask(64)
        return s ^ s >> 32
    def wide_subs(a, b, c):
        p, q = a | b << 32, b | c << 32
        s = (p | q << 64 | p << 128) - (q | p << 64)
        s = (s ^ s >> 64 ^ s >> 128) & mask(64)
        return s ^ s >> 32

    def wide_mads(a, b, c, kind):
        p, q = a | b << 32, b | c << 32
        product = read(p, kind) * read(q, kind)
        low = (product & mask(64)) + q
        high = (product >> 64 & mask(64)) + p + (low >> 64)
        s = (low ^ high) & mask(64)
        return s ^ s >> 32
    mads = ('.reg .b64 %%x, %%y, %%p, %%q; .reg .b32 %%s; mov.b64 %%p, {%%a, %%b}; mov.b64 %%q, {%%b, %%c}; mad.lo.cc.%(k)s %%x, %%p, %%q, %%q; '
            'madc.hi.%(k)s %%y, %%p, %%q, %%p; xor.b64 %%x, %%x, %%y; mov.b64 {%%d, %%s}, %%x; xor.b32 %%d, %%d, %%s;')
    for kind in ('u64', 's64'):
        t.add('add.cc.%s addc' % kind, wide % dict(k=kind), wide_adds)
        t.add('sub.cc.%s subc' % kind, wide.replace('add', 'sub') % dict(k=kind), wide_subs)
        t.add('mad.cc.%s madc' % kind, mads % dict(k=kind), lambda a, b, c, k=kind: wide_mads(a, b, c, k))
    t.add('madc.lo.cc', '.reg .b32 %x, %y; mad.lo.cc.u32 %x, %a, %b, %c; madc.lo.cc.u32 %y, %b, %c, %a; madc.hi.u32 %d, %b, %c, 0; xor.b32 %d, %d, %x; xor.b32 %d, %d, %y;',
          lambda a, b, c: (lambda low: (lambda mid: low ^ mid ^ ((b * c >> 32) + (mid >> 32)))((b * c & mask(32)) + a + (low >> 32)))((a * b & mask(32)) + c))


def mad_carry(a, b, c, kind):
    product = read(a, kind) * read(b, kind)
    low = (product & mask(32)) + c
    high = (product >> 32 & mask(32)) + a + (low >> 32)
    last = (b * c & mask(32)) + (high >> 32)
    return low ^ high ^ last


def bit_fields(t):
    for kind in ('u32', 's32'):
        t.plain('bfe.' + kind, '%a, %b, %c', lambda a, b, c, k=kind: bfe(k, a, b, c))
        t.plain('bfe.%s' % kind, '%a, %x, %y', lambda a, b, c, k=kind: bfe(k, a, b & 63, c & 63),
                '.reg .b32 %x, %y; and.b32 %x, %b, 63; and.b32 %y, %c, 63; ')
        for mode in ('clamp', 'wrap'):
            name = 'szext.%s.%s' % (mode, kind)
            t.plain(name, '%a, %b', lambda a, b, c, m=mode, k=kind: szext(m, k, a, b))
            t.plain(name, '%a, %x', lambda a, b, c, m=mode, k=kind: szext(m, k, a, b & 63), '.reg .b32 %x; and.b32 %x, %b, 63; ')
    for kind in ('u64', 's64'):
        t.add('bfe.' + kind, '.reg .b64 %%x; .reg .b32 %%s; mov.b64 %%x, {%%a, %%b}; and.b32 %%s, %%c, 127; bfe.%s %%x, %%x, %%s, %%b; '
              'mov.b64 {%%d, %%s}, %%x; xor.b32 %%d, %%d, %%s;' % kind,
              lambda a, b, c, k=kind: (lambda r: (r ^ r >> 32))(bfe(k, a | b << 32, c & 127, b) & mask(64)))
    before = '.reg .b32 %x, %y; and.b32 %x, %b, 63; and.b32 %y, %c, 63; '
    t.plain('bfi.b32', '%a, %b, %x, %y', lambda a, b, c: bfi(32, a, b, b & 63, c & 63), before)
    t.add('bfi.b64', before + '.reg .b64 %p, %q; mov.b64 %p, {%a, %b}; mov.b64 %q, {%b, %c}; bfi.b64 %p, %p, %q, %x, %y; '
          'mov.b64 {%d, %x}, %p; xor.b32 %d, %d, %x;',
          lambda a, b, c: (lambda r: r ^ r >> 32)(bfi(64, a | b << 32, b | c << 32, b & 63, c & 63)))
    for mode in ('clamp', 'wrap'):
        t.plain('bmsk.%s.b32' % mode, '%a, %b', lambda a, b, c, m=mode: bmsk(m, a, b))
        t.plain('bmsk.%s.b32' % mode, '%x, %y', lambda a, b, c, m=mode: bmsk(m, b & 63, c & 63), before)
        for side in 'lr':
            name = 'shf.%s.%s.b32' % (side, mode)

            def funnel(a, b, c, s=side, m=mode):
                n = c & 31 if m == 'wrap' else min(c, 32)
                both = b << 32 | a
                return both << n >> 32 if s == 'l' else both >> n
            t.plain(name, '%a, %b, %c', funnel)
            t.plain(name, '%a, %b, %y', lambda a, b, c, f=funnel: f(a, b, c & 63), before)
    t.plain('fns.b32', '%a, %b, %c', fns)
    t.plain('fns.b32', '%a, %x, %y', lambda a, b, c: fns(a, b & 31, (c & 15) - 8),
            '.reg .b32 %x, %y; and.b32 %x, %b, 31; and.b32 %y, %c, 15; sub.s32 %y, %y, 8; ')
    for mode in [None] + sorted(PRMT):
        name = 'prmt.b32' + ('.' + mode if mode else '')
        t.plain(name, '%a, %b, %c', lambda a, b, c, m=mode: prmt(m, a, b, c))
    for selector in (0x5410, 0x7632, 0x0123, 0x3fb9, 0x4440, 0xd826):
        t.plain('prmt.b32', '%%a, %%b, 0x%x' % selector, lambda a, b, c, s=selector: prmt(None, a, b, s))


def logic(t):
    for table in range(256):
        t.plain('lop3.b32', '%%a, %%b, %%c, 0x%x' % table, lambda a, b, c, n=table: lop3(n, a, b, c))
    for op in ('or', 'and'):
        body = ('.reg .pred %%p, %%q; setp.lt.u32 %%q, %%a, %%b; lop3.%s.b32 %%d|%%p, %%a, %%b, %%c, 0xc8, %%q; '
                '@%%p xor.b32 %%d, %%d, 1;') % op

        def model(a, b, c, o=op):
            d = lop3(0xc8, a, b, c)
            return d ^ int(BOOL[o](d != 0, a < b))
        t.add('lop3.%s.b32' % op, body, model)
    for op in ('and', 'or', 'xor'):
        t.add(op + '.pred', '.reg .pred %%p, %%q; setp.lt.u32 %%p, %%a, %%b; setp.lt.u32 %%q, %%b, %%c; %s.pred %%p, %%p, %%q; '
              'selp.u32 %%d, 1, 0, %%p;' % op, lambda a, b, c, o=op: int(BOOL[o](a < b, b < c)))
    t.add('not.pred', '.reg .pred %p; setp.lt.u32 %p, %a, %b; not.pred %p, %p; selp.u32 %d, 1, 0, %p;', lambda a, b, c: int(a >= b))


def products_of_bytes(t):
    for x in ('u32', 's32'):
        for y in ('u32', 's32'):
            for name in ('dp4a.%s.%s', 'dp2a.lo.%s.%s', 'dp2a.hi.%s.%s'):
                name = name % (x, y)
                t.plain(name, '%a, %b, %c', lambda a, b, c, n=name: dot(n.split('.'), a, b, c))


def comparisons(t):
    for kind in ('u16', 's16', 'b16', 'u32', 's32', 'b32', 'u64', 's64', 'b64'):
        bits = bits_of(kind)
        load = {16: 'cvt.u16.u32 %x, %a; cvt.u16.u32 %y, %b; ', 32: 'mov.b32 %x, %a; mov.b32 %y, %b; ',
                64: 'mov.b64 %x, {%a, %b}; mov.b64 %y, {%b, %c}; '}[bits]

        def operands(a, b, c, k=kind, n=bits):
            return (read(a | b << 32, k), read(b | c << 32, k)) if n == 64 else (read(a, k), read(b, k))
        for cmp in ('eq', 'ne') if kind[0] == 'b' else ('eq', 'ne', 'lt', 'le', 'gt', 'ge') + (('lo', 'ls', 'hi', 'hs') if kind[0] == 'u' else ()):
            head = '.reg .b%d %%x, %%y; .reg .pred %%p, %%q, %%r; %s' % (bits, load)
            holds = lambda a, b, c, f=COMPARE[cmp], o=operands: f(*o(a, b, c))
            t.add('setp.%s.%s' % (cmp, kind), head + 'setp.%s.%s %%p, %%x, %%y; selp.b32 %%d, %%b, %%c, %%p;' % (cmp, kind),
                  lambda a, b, c, h=holds: b if h(a, b, c) else c)
            for join in ('and', 'or', 'xor') if cmp in ('ne', 'lt') else ():
                body = head + ('setp.gt.u32 %%r, %%a, %%c; setp.%s.%s.%s %%p|%%q, %%x, %%y, %%r; selp.u32 %%d, 1, 0, %%p; '
                               '@%%q add.u32 %%d, %%d, 2;') % (cmp, join, kind)
                t.add('setp.%s.%s.%s' % (cmp, join, kind), body,
                      lambda a, b, c, h=holds, j=BOOL[join]: int(j(h(a, b, c), a > c)) + 2 * int(j(not h(a, b, c), a > c)))
            for join in ('and', 'or', 'xor') if cmp in ('ne', 'lt') else ():
                name = 'set.%s.%s.s32.%s' % (cmp, join, kind)
                t.add(name, head + 'setp.gt.u32 %%r, %%a, %%c; %s %%d, %%x, %%y, %%r;' % name, lambda a, b, c, h=holds, j=BOOL[join]: mask(32) if j(h(a, b, c), a > c) else 0)
            for to, one in (('u32', mask(32)), ('s32', mask(32)), ('f32', 0x3f800000)) if cmp in ('ne', 'ge') else ():
                t.add('set.%s.%s.%s' % (cmp, to, kind), head + 'set.%s.%s.%s %%d, %%x, %%y;' % (cmp, to, kind),
                      lambda a, b, c, h=holds, o=one: o if h(a, b, c) else 0)


def selections(t):
    for kind in ('b16', 'u16', 's16', 'b32', 'u32', 's32', 'f32', 'b64', 'u64', 's64', 'f64'):
        bits = bits_of(kind)
        load = {16: 'cvt.u16.u32 %x, %b; cvt.u16.u32 %y, %c; ', 32: 'mov.b32 %x, %b; mov.b32 %y, %c; ',
                64: 'mov.b64 %x, {%b, %c}; mov.b64 %y, {%c, %a}; '}[bits]
        fold = {16: 'cvt.u32.u16 %d, %x;', 32: 'mov.b32 %d, %x;', 64: 'mov.b64 {%d, _}, %x;'}[bits]
        cut = mask(16) if bits == 16 else mask(32)
        t.add('selp.' + kind, '.reg .b%d %%x, %%y; .reg .pred %%p; %ssetp.lt.s32 %%p, %%a, 0; selp.%s %%x, %%x, %%y, %%p; %s' % (bits, load, kind, fold),
              lambda a, b, c, m=cut: (b if signed(a, 32) < 0 else c) & m)
        t.add('slct.%s.s32' % kind, '.reg .b%d %%x, %%y; %sslct.%s.s32 %%x, %%x, %%y, %%a; %s' % (bits, load, kind, fold),
              lambda a, b, c, m=cut: (b if signed(a, 32) >= 0 else c) & m)


VIDEO = {'vadd': lambda x, y: x + y, 'vsub': lambda x, y: x - y, 'vabsdiff': lambda x, y: abs(x - y), 'vmin': min, 'vmax': max,
         'vavrg': lambda x, y: (x + y + 1 if x + y >= 0 else x + y) >> 1}


def video(t):
    for count in (2, 4):
        for op in ('vadd', 'vsub', 'vavrg', 'vabsdiff', 'vmin', 'vmax'):
            for kinds in ('u32.u32.u32', 's32.s32.s32', 's32.u32.s32'):
                for tail in ('', '.sat', '.add'):
                    name = '%s%d.%s%s' % (op, count, kinds, tail)
                    t.plain(name, '%a, %b, %c', lambda a, b, c, o=op, k=kinds.split('.'), n=count, s=tail: simd(o, n, k, s, a, b, c))
        for cmp in ('lt', 'ne', 'ge'):
            for tail in ('', '.add'):
                name = 'vset%d.u32.s32.%s%s' % (count, cmp, tail)
                t.plain(name, '%a, %b, %c', lambda a, b, c, f=COMPARE[cmp], n=count, s=tail: simd_set(f, n, s, a, b, c))
    for op in ('vadd', 'vsub', 'vabsdiff', 'vmin', 'vmax'):
        for kinds in ('u32.u32.u32', 's32.s32.s32', 's32.u32.s32'):
            for tail in ('', '.sat'):
                name = '%s.%s%s' % (op, kinds, tail)
                for select in (('', 32, 0), ('.b1', 8, 8), ('.h1', 16, 16)):
                    t.plain(name, '%%a%s, %%b%s' % (select[0], select[0]),
                            lambda a, b, c, o=op, k=kinds.split('.'), s=select, sat=tail: scalar_video(o, k, s, sat, a, b))


def scalar_video_more(t):
    for kinds in ('u32.u32.u32', 's32.s32.s32', 's32.u32.u32'):
        to, x_kind, y_kind = kinds.split('.')
        for mode in ('clamp', 'wrap'):
            for sat in ('', '.sat'):
                def shifted(a, b, c, left, k=x_kind, m=mode, s=sat, d=to):
                    n = (b & 31) if m == 'wrap' else min(b, 32)
                    r = read(a, k) << n if left else read(a, k) >> n
                    return clamp(r, d) if s else r
                if y_kind == 'u32':
                    t.plain('vshl.%s.%s.u32%s.%s' % (to, x_kind, sat, mode), '%a, %b', lambda a, b, c, f=shifted: f(a, b, c, True))
                    t.plain('vshr.%s.%s.u32%s.%s' % (to, x_kind, sat, mode), '%a, %b', lambda a, b, c, f=shifted: f(a, b, c, False))
        for scale, shift in (('', 0), ('.shr7', 7), ('.shr15', 15)):
            for extra in ('', '.po'):
                for sat in ('', '.sat'):
                    def mad(a, b, c, n=shift, e=extra, s=sat, x=x_kind, y=y_kind):
                        is_signed = 's' in (x[0], y[0])
                        r = read(a, x[0] + '16') * read(b, y[0] + '16') + (signed(c, 32) if is_signed else c) + (1 if e else 0)
                        r >>= n
                        return clamp(r, 's32' if is_signed else 'u32') if s else r
                    t.plain('vmad.%s%s%s%s' % (kinds, extra, sat, scale), '%a.h0, %b.h0, %c', mad)
    for cmp in ('eq', 'ne', 'lt', 'le', 'gt', 'ge'):
        for kinds in ('u32.u32', 's32.u32', 's32.s32'):
            x, y = kinds.split('.')
            f = lambda a, b, c, k=x, n=y, h=COMPARE[cmp]: int(h(read(a, k), read(b, n)))
            t.plain('vset.%s.%s' % (kinds, cmp), '%a, %b', f)
            t.plain('vset.%s.%s.add' % (kinds, cmp), '%a, %b, %c', lambda a, b, c, g=f: g(a, b, c) + c)


def narrow_packs(t):
    for kind in ('u2', 's2', 'u4', 's4', 'u8', 's8'):
        bits = int(kind[1])
        t.plain('cvt.pack.sat.%s.s32.b32' % kind, '%a, %b, %c',
                lambda a, b, c, k=kind, n=bits: c << 2 * n | (clamp(signed(a, 32), k) & mask(n)) << n | clamp(signed(b, 32), k) & mask(n))
    for kind in ('u16', 's16'):
        t.plain('cvt.pack.sat.%s.s32' % kind, '%a, %b', lambda a, b, c, k=kind: (clamp(signed(a, 32), k) & mask(16)) << 16 | clamp(signed(b, 32), k) & mask(16))


def simd(op, count, kinds, tail, a, b, c):
    bits = 32 // count
    values = [VIDEO[op](x, y) for x, y in zip(elements(a, count, kinds[1]), elements(b, count, kinds[2]))]
    if tail == '.sat':
        values = [clamp(v, kinds[0][0] + str(bits)) for v in values]
    if tail == '.add':
        return c + sum(values)
    return sum((v & mask(bits)) << (bits * i) for i, v in enumerate(values))


def simd_set(compare, count, tail, a, b, c):
    values = [int(compare(x, y)) for x, y in zip(elements(a, count, 'u32'), elements(b, count, 's32'))]
    return c + sum(values) if tail else sum(v << (32 // count * i) for i, v in enumerate(values))


def scalar_video(op, kinds, select, sat, a, b):
    _name, bits, shift = select
    x, y = read(a >> shift, kinds[1][0] + str(bits)), read(b >> shift, kinds[2][0] + str(bits))
    r = VIDEO[op](x, y)
    return clamp(r, kinds[0]) if sat else r


def packed(t):
    for op in ('add', 'min', 'max'):
        for kind in ('u16x2', 's16x2'):
            for relu in ('', '.relu') if op != 'add' and kind[0] == 's' else ('',):
                name = op + relu + '.' + kind
                t.plain(name, '%a, %b', lambda a, b, c, o=op, k=kind, r=relu: sum(
                    (basic([o] + (['relu'] if r else []), k[0] + '16', x, y, 0, (0, 0, 0)) & 0xffff) << (16 * i)
                    for i, (x, y) in enumerate(zip(elements(a, 2, k), elements(b, 2, k)))))
    for op in ('min', 'max'):
        t.basic(op + '.relu.s32')


def conversions(t):
    kinds = ['u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64']
    for to in kinds:
        for source in kinds:
            for sat in ('', '.sat'):
                to_bits, from_bits = max(bits_of(to), 16), max(bits_of(source), 16)
                load = {16: 'cvt.u16.u32 %x, %a; ', 32: 'mov.b32 %x, %a; ', 64: 'mov.b64 %x, {%a, %b}; '}[from_bits]
                fold = {16: 'cvt.u32.u16 %d, %y;', 32: 'mov.b32 %d, %y;', 64: 'mov.b64 {%d, %s}, %y; xor.b32 %d, %d, %s;'}[to_bits]
                name = 'cvt%s.%s.%s' % (sat, to, source)

                def model(a, b, c, k=to, f=source, s=sat, n=to_bits):
                    v = read(a | b << 32, f)
                    v = clamp(v, k) if s else v
                    v = read(v, k) & mask(n)
                    return v ^ v >> 32 if n == 64 else v
                t.add(name, '.reg .b%d %%x; .reg .b%d %%y; .reg .b32 %%s; %s%s %%y, %%x; %s' % (from_bits, to_bits, load, name, fold), model)


def main():
    t = Tests()
    for kind in ('u16', 's16', 'u32', 's32', 'u64', 's64'):
        for op in ('add', 'sub', 'mul.lo', 'mul.hi', 'mad.lo', 'mad.hi', 'sad', 'div', 'rem', 'min', 'max', 'shr'):
            t.basic('%s.%s' % (op, kind))
        if kind[0] == 's':
            t.basic('abs.' + kind)
            t.basic('neg.' + kind)
    for name in ('add.sat.s32', 'sub.sat.s32', 'mad.hi.sat.s32', 'mad24.hi.sat.s32'):
        t.basic(name)
    for kind in ('u32', 's32'):
        for op in ('mul24.lo', 'mul24.hi', 'mad24.lo', 'mad24.hi', 'bfind', 'bfind.shiftamt'):
            t.basic('%s.%s' % (op, kind))
    for kind in ('u64', 's64'):
        t.basic('bfind.' + kind)
        t.basic('bfind.shiftamt.' + kind)
    for kind in ('b16', 'b32', 'b64'):
        for op in ('and', 'or', 'xor', 'not', 'cnot', 'shl', 'shr'):
            t.basic('%s.%s' % (op, kind))
    for kind in ('b32', 'b64'):
        for op in ('popc', 'clz', 'brev'):
            t.basic('%s.%s' % (op, kind))
    for family in (wide_products, carries, bit_fields, logic, products_of_bytes, comparisons, selections, video, scalar_video_more, packed, narrow_packs, conversions):
        family(t)
    t.file.save(sys.argv[1])


if __name__ == '__main__':
    main()
