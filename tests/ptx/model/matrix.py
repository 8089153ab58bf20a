#!/usr/bin/env python3
"""Matrix instructions (PTX ISA 9.7.14) against exact arithmetic: mma and wmma as the published models of Ampere's tensor cores have it
(arXiv 2511.10909, 2512.07004: products aligned to the largest exponent, cut to 24 fractional bits, added, rounded once), integers and bits
exactly, f64 as a chain of fma; and ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store as moves.

    matrix.py OUTPUT.ptx
"""
import re
import sys
from fractions import Fraction

import ptxtest
from floats import BF16, F16, F32, F64, fma, infinity, is_inf, is_nan, is_zero, negative, round_magnitude, sign_bit, value
from sweep import sweep

FORMATS = {'f16': F16, 'bf16': BF16, 'tf32': F32, 'f32': F32, 'f64': F64}
SMALL = {'e4m3': (3, 7), 'e5m2': (2, 15)}
BITS = {'f16': 16, 'bf16': 16, 'tf32': 32, 's8': 8, 'u8': 8, 's4': 4, 'u4': 4, 'b1': 1, 'f64': 64, 'e4m3': 8, 'e5m2': 8}
FRACTION = 24


class Random:
    def __init__(self, seed):
        self.state = seed

    def word(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        return self.state >> 32


# ---- numbers -----------------------------------------------------------------------------------------------

def small_value(code, kind):
    """(value, unnormalised exponent), or 'nan', '+inf', '-inf'."""
    mantissa, bias = SMALL[kind]
    field, fraction = code >> mantissa & (1 << 7 - mantissa) - 1, code & (1 << mantissa) - 1
    if kind == 'e4m3' and code & 0x7f == 0x7f or kind == 'e5m2' and code & 0x7f > 0x7c:
        return 'nan'
    if kind == 'e5m2' and code & 0x7f == 0x7c:
        return '-inf' if code & 0x80 else '+inf'
    exponent = max(field, 1) - bias
    v = Fraction(fraction + ((1 << mantissa) if field else 0)) * Fraction(2) ** (exponent - mantissa)
    return (-v if code & 0x80 else v, exponent)


def number(bits, kind):
    if kind in SMALL:
        return small_value(bits, kind)
    fmt = FORMATS[kind]
    if kind == 'tf32':
        bits &= ~0x1fff
    if is_nan(bits, fmt):
        return 'nan'
    if is_inf(bits, fmt):
        return '-inf' if negative(bits, fmt) else '+inf'
    field = (bits & sign_bit(fmt) - 1) >> fmt[0] - 1
    return (value(bits, fmt), max(field, 1) + fmt[1] - 1)


def special(products, c):
    """Infinities and NaNs as plain arithmetic has them; None where all are finite."""
    signs = set()
    for x, y in products + [(c, (Fraction(1), 0))]:
        if 'nan' in (x, y):
            return 'nan'
        if isinstance(x, str) or isinstance(y, str):
            if not isinstance(x, str) and x[0] == 0 or not isinstance(y, str) and y[0] == 0:
                return 'nan'
            minus = (x == '-inf' if isinstance(x, str) else x[0] < 0) != (y == '-inf' if isinstance(y, str) else y[0] < 0)
            signs.add('-inf' if minus else '+inf')
    return None if not signs else 'nan' if len(signs) > 1 else signs.pop()


def step(products, c, out):
    """Products and an addend into one result, as number()."""
    found = special(products, c)
    if found:
        return found
    terms = [(x[0] * y[0], x[1] + y[1]) for x, y in products if x[0] and y[0]]
    terms.append((c[0], c[1] if c[0] else -126))
    largest = max(e for _v, e in terms)
    unit = Fraction(2) ** (largest - FRACTION)
    total = sum(int(v / unit) if v >= 0 else -int(-v / unit) for v, _e in terms) * unit
    fmt, mode = (F32, 'rz') if out == 'f32' else (F16, 'rn')
    if abs(total) >= Fraction(2) ** (fmt[2] + 1):
        return '-inf' if total < 0 else '+inf'
    bits = round_magnitude(abs(total), total < 0, fmt, mode)
    if bits == infinity(fmt):
        return '-inf' if total < 0 else '+inf'
    return number(bits | (sign_bit(fmt) if total < 0 else 0), out)


def encode(v, out):
    fmt = FORMATS[out]
    if v == 'nan':
        return 0x7fffffff if out == 'f32' else 0x7fff
    if isinstance(v, str):
        return infinity(fmt) | (sign_bit(fmt) if v == '-inf' else 0)
    return round_magnitude(abs(v[0]), v[0] < 0, fmt, 'rz') | (sign_bit(fmt) if v[0] < 0 else 0)


def signed_of(code, kind):
    bits = BITS[kind]
    return code - (1 << bits) if kind[0] == 's' and code >> bits - 1 else code


def element(row, column, kind_a, kind_b, c, kind_c, out, mods):
    """One element of D: row of A and column of B as codes, c as bits."""
    if kind_a == 'f64':
        for x, y in zip(row, column):
            c = fma(x, y, c, F64)
        return c
    if kind_a == 'b1':
        join = (lambda x, y: x & y) if 'and' in mods else (lambda x, y: x ^ y)
        return (c + sum(join(x, y) for x, y in zip(row, column))) & 0xffffffff
    if kind_a in ('s8', 'u8', 's4', 'u4'):
        total = (c - (1 << 32) if c >> 31 else c) + sum(signed_of(x, kind_a) * signed_of(y, kind_b) for x, y in zip(row, column))
        if 'satfinite' in mods:
            total = min(max(total, -(1 << 31)), (1 << 31) - 1)
        return total & 0xffffffff
    width = {'tf32': 4, 'f16': 8, 'bf16': 8}.get(kind_a, 16)
    acc = number(c, kind_c)
    products = [(number(x, kind_a), number(y, kind_b)) for x, y in zip(row, column)]
    for k in range(0, len(products), width):
        acc = step(products[k:k + width], acc, out)
    return encode(acc, out)


# ---- fragments: 9.7.14.5 --------------------------------------------------------------------------------------

def elements_in(kind):
    return 64 // 64 if kind == 'f64' else 32 // BITS[kind]


def place_a(lane, register, index, kind, rows):
    g, t, per = lane >> 2, lane & 3, elements_in(kind)
    blocks = rows // 8
    return g + 8 * (register % blocks), 4 * per * (register // blocks) + t * per + index


def place_b(lane, register, index, kind):
    g, t, per = lane >> 2, lane & 3, elements_in(kind)
    return 4 * per * register + t * per + index, g


def place_c(lane, register, kind, index=0):
    g, t = lane >> 2, lane & 3
    if kind == 'f16':
        return g + 8 * register, 2 * t + index
    return g + 8 * (register // 2), 2 * t + register % 2


def code_for(random, kind, wild):
    """A random element; `wild`: any bits at all."""
    word = random.word()
    if kind in ('f16', 'bf16', 'tf32', 'f32') and not wild:
        fmt = FORMATS[kind]
        exponent = {'f16': 8 + word % 12, 'bf16': 118 + word % 20, 'tf32': 118 + word % 20, 'f32': 112 + word % 24}[kind]
        bits = exponent << fmt[0] - 1 | random.word() & (1 << fmt[0] - 1) - 1 | (sign_bit(fmt) if word >> 20 & 1 else 0)
        return 0 if word >> 21 & 7 == 0 else bits
    if kind == 'f64':
        return (0x3f8 + word % 16) << 52 | (word >> 24 & 1) << 63 | random.word() << 20 | random.word() & 0xfffff
    bits = BITS.get(kind, 32)
    return word & (1 << bits) - 1


# Exponent fields at the ends of what src/codegen/mma_fast.c takes: elements, and addends to products of .f16 and of others.
ENDS = {'f16': (0, 0, 1, 2, 15, 29, 30), 'bf16': (0, 87, 88, 127, 166, 167), 'tf32': (0, 87, 88, 127, 166, 167)}
ADDEND_ENDS = {'f16': (0, 84, 85, 127, 186), 'bf16': (0, 42, 43, 127, 186), 'tf32': (0, 42, 43, 127, 186)}


def end_for(random, kind, of, beyond):
    """An element, or an addend (kind .f32) of products of kind `of`, whose exponent is at an end; `beyond`: one past it, now and then."""
    word = random.word()
    ends = ENDS[kind] if kind in ENDS else ADDEND_ENDS[of]
    fmt = FORMATS[kind]
    field = ends[word % len(ends)]
    fraction = random.word() & (1 << fmt[0] - 1) - 1 if word >> 8 & 3 else (1 << fmt[0] - 1) - 1 if word >> 10 & 1 else 0
    if field == 0 and (kind != 'f16' or word >> 11 & 1):
        fraction = 0
    if beyond and word >> 12 & 63 == 0 and kind != 'f16':
        field += 1 if field > 100 else -1 if field > 1 else 0
    return field << fmt[0] - 1 | fraction | (sign_bit(fmt) if word >> 20 & 1 else 0)


def words_of(codes, bits):
    return sum(c << bits * i for i, c in enumerate(codes))


class Tests:
    def __init__(self):
        self.file = ptxtest.File('matrix.py')
        self.random = Random(2024)

    def mma(self, name, wild=False, ends=None):
        parts = name.split('.')
        m, n, k = map(int, re.search(r'm(\d+)n(\d+)k(\d+)', name).groups())
        kinds = [p for p in parts if p in BITS or p in ('f32', 's32')]
        out, kind_a, kind_b, kind_c = kinds[:4]
        def code(kind):
            return code_for(self.random, kind, wild) if ends is None else end_for(self.random, kind, kind_a, ends)
        a = [[code(kind_a) for _ in range(k)] for _ in range(m)]
        b = [[code(kind_b) for _ in range(n)] for _ in range(k)]
        c = [[code(kind_c) for _ in range(n)] for _ in range(m)]
        d = [[element(a[i], [b[l][j] for l in range(k)], kind_a, kind_b, c[i][j], kind_c, out, parts) for j in range(n)] for i in range(m)]
        per, wide = elements_in(kind_a), 64 if kind_a == 'f64' else 32
        count_a, count_b = m // 8 * k // (4 * per), k // (4 * per)
        count_c, count_d = (m // 8 * (1 if kind == 'f16' else 2) for kind in (kind_c, out))
        given = []
        for lane in range(32):
            registers = []
            for r in range(count_a):
                registers.append(words_of([a[i][j] for i, j in (place_a(lane, r, e, kind_a, m) for e in range(per))], BITS[kind_a]))
            for r in range(count_b):
                registers.append(words_of([b[i][j] for i, j in (place_b(lane, r, e, kind_b) for e in range(per))], BITS[kind_b]))
            for r in range(count_c):
                cells = [place_c(lane, r, kind_c, e) for e in range(2 if kind_c == 'f16' else 1)]
                registers.append(words_of([c[i][j] for i, j in cells], 16))
            given += [w for r in registers for w in ([r & 0xffffffff, r >> 32] if wide == 64 else [r])]
        expected = []
        for r in range(count_d):
            for lane in range(32):
                cells = [place_c(lane, r, out, e) for e in range(2 if out == 'f16' else 1)]
                w = words_of([d[i][j] for i, j in cells], 16)
                expected += [w & 0xffffffff, w >> 32] if wide == 64 else [w]
        what = ' any bits' if wild else '' if ends is None else ' past the ends' if ends else ' at the ends'
        self.file.kernel(name + what, body_of(name, wide, count_a, count_b, count_c, count_d),
                         ['//# once', ptxtest.words('in', given), ptxtest.words('out', expected)], 32)


def body_of(name, wide, *counts):
    kind, size = 'b%d' % wide, wide // 8
    lines, at = ['.reg .b64 %%g; .reg .%s %%f<32>;' % kind, 'mul.wide.u32 %%g, %%i, %d; add.u64 %%g, %%in, %%g;' % (size * sum(counts[:3]))], 0
    lists = []
    for count in counts[:3]:
        lists.append(['%%f%d' % (at + i) for i in range(count)])
        lines += ['ld.global.%s %s, [%%g+%d];' % (kind, r, (at + i) * size) for i, r in enumerate(lists[-1])]
        at += count
    results = ['%%f%d' % (at + i) for i in range(counts[3])]
    lines.append('%s {%s}, {%s}, {%s}, {%s};' % (name, ', '.join(results), *[', '.join(v) for v in lists]))
    lines.append('mul.wide.u32 %%g, %%i, %d; add.u64 %%g, %%out, %%g;' % size)
    lines += ['st.global.%s [%%g+%d], %s;' % (kind, 32 * size * i, r) for i, r in enumerate(results)]
    # What the frame stores is what stands there already.
    lines.append('mul.wide.u32 %g, %i, 4; add.u64 %g, %out, %g; bar.warp.sync 0xffffffff; ld.global.u32 %d, [%g];')
    return ' '.join(lines)


def products(t):
    names = []
    for k in (8, 16):
        for out in ('f32', 'f16'):
            names.append('mma.sync.aligned.m16n8k%d.row.col.%s.f16.f16.%s' % (k, out, out))
        names.append('mma.sync.aligned.m16n8k%d.row.col.f32.bf16.bf16.f32' % k)
    for k in (4, 8):
        names.append('mma.sync.aligned.m16n8k%d.row.col.f32.tf32.tf32.f32' % k)
    for name in names:
        t.mma(name)
        t.mma(name)
        t.mma(name, True)
        t.mma(name, ends=False)
        t.mma(name, ends=True)
    for sat in ('', '.satfinite'):
        for x in ('s8', 'u8'):
            for y in ('s8', 'u8'):
                for shape in ('m8n8k16', 'm16n8k16', 'm16n8k32'):
                    t.mma('mma.sync.aligned.%s.row.col%s.s32.%s.%s.s32' % (shape, sat, x, y))
        for x in ('s4', 'u4'):
            for y in ('s4', 'u4'):
                for shape in ('m8n8k32', 'm16n8k32', 'm16n8k64'):
                    t.mma('mma.sync.aligned.%s.row.col%s.s32.%s.%s.s32' % (shape, sat, x, y))
    for shape in ('m8n8k128', 'm16n8k128', 'm16n8k256'):
        for op in ('xor', 'and'):
            t.mma('mma.sync.aligned.%s.row.col.s32.b1.b1.s32.%s.popc' % (shape, op))
    for shape in ('m8n8k4', 'm16n8k4', 'm16n8k8', 'm16n8k16'):
        t.mma('mma.sync.aligned.%s.row.col.f64.f64.f64.f64' % shape)


# ---- moves ---------------------------------------------------------------------------------------------------------

SHARED = '.shared .align 32 .b8 tile[1024]; .reg .b32 %s, %t; .reg .b32 %r<4>; mov.u32 %s, tile; shl.b32 %t, %i, 2; add.u32 %t, %s, %t; '


def half_at(words, row, column):
    """Of 8 × 8 halves in rows of 4 words."""
    return words[row * 4 + column // 2] >> 16 * (column & 1) & 0xffff


def spread(words, transposed):
    """An 8 × 8 matrix of halves as one register of each lane."""
    pick = (lambda r, c: half_at(words, c, r)) if transposed else (lambda r, c: half_at(words, r, c))
    return [pick(lane >> 2, 2 * (lane & 3)) | pick(lane >> 2, 2 * (lane & 3) + 1) << 16 for lane in range(32)]


def moves(t):
    words = sweep(96)
    matrices = [words[i::3] for i in range(3)] + [words[0::3]]
    fill = ''.join('st.shared.b32 [%%t+%d], %s; ' % (128 * i, r) for i, r in enumerate(('%a', '%b', '%c', '%a'))) + 'bar.warp.sync 0xffffffff; '
    for count in (1, 2, 4):
        for trans in ('', '.trans'):
            registers = ['%%r%d' % i for i in range(count)]
            results = [spread(m, bool(trans)) for m in matrices[:count]]
            outs = []
            for lane in range(32):
                d = results[0][lane]
                for r in results[1:]:
                    d = ((d << 1 | d >> 31) & 0xffffffff) ^ r[lane]
                outs.append(d)
            # The second is as old compilers and programs write it.
            for name in ('m8n8.x%d%s' % (count, trans), 'x%d%s.m8n8.shared' % (count, trans), 'm8n8.x%d%s.shared::cta' % (count, trans)):
                name = 'ldmatrix.sync.aligned.%s.b16' % name
                generic = '' if 'shared' in name else '.reg .b64 %%g; cvt.u64.u32 %%g, %%t; cvta.shared.u64 %%g, %%g; '
                body = SHARED + fill + ('shl.b32 %%t, %%i, 4; add.u32 %%t, %%s, %%t; ' + generic + '%s {%s}, [%s]; ') % (
                    name, ', '.join(registers), '%g' if generic else '%t')
                body += 'mov.u32 %d, %r0; ' + ''.join('shf.l.wrap.b32 %%d, %%d, %%d, 1; xor.b32 %%d, %%d, %s; ' % r for r in registers[1:])
                t.file.kernel(name, body, ['//# once', '//# in sweep 96', ptxtest.words('out', outs)], 32)
            name = 'stmatrix.sync.aligned.m8n8.x%d%s.shared.b16' % (count, trans)
            body = SHARED + 'mov.u32 %%r0, %%a; mov.u32 %%r1, %%b; mov.u32 %%r2, %%c; mov.u32 %%r3, %%a; shl.b32 %%r0, %%i, 4; add.u32 %%t, %%s, %%r0; '
            body = (body + 'mov.u32 %%r0, %%a; %s [%%t], {%s}; bar.warp.sync 0xffffffff; ' % (name, ', '.join(registers))).replace('%%', '%')
            body += 'shl.b32 %t, %i, 2; add.u32 %t, %s, %t; ld.shared.b32 %d, [%t]; '
            body += ''.join('shf.l.wrap.b32 %%d, %%d, %%d, 1; ld.shared.b32 %%r0, [%%t+%d]; xor.b32 %%d, %%d, %%r0; ' % (128 * i) for i in range(1, count))
            stored = [spread(m, bool(trans)) for m in matrices[:count]]
            outs = []
            for lane in range(32):
                d = stored[0][lane]
                for r in stored[1:]:
                    d = ((d << 1 | d >> 31) & 0xffffffff) ^ r[lane]
                outs.append(d)
            t.file.kernel(name, body, ['//# once', '//# in sweep 96', ptxtest.words('out', outs)], 32)
    t.file.kernel('movmatrix.sync.aligned.m8n8.trans.b16', 'movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;',
                  ['//# once', '//# in sweep 96', ptxtest.words('out', spread(matrices[0], True))], 32)


def byte_rows(words, count):
    """Of memory as 16 bytes a row."""
    data = b''.join(w.to_bytes(4, 'little') for w in words)
    return [data[16 * i:16 * i + 16] for i in range(count)]


def unpacked(row, bits):
    value = int.from_bytes(row, 'little')
    return [value >> bits * i & (1 << bits) - 1 for i in range(16)]


def folded(registers):
    d = registers[0]
    for r in registers[1:]:
        d = (d << 1 | d >> 31) & 0xffffffff ^ r
    return d


def byte_moves(t):
    """.b8 and what unpacks to it, of sm_100a: 9.7.14.5.15 and 16. Four words of each lane are the 32 rows that the lanes' addresses name,
    in another order than they lie in memory."""
    words = sweep(96)
    memory = [words[3 * lane + k] for k in (0, 1, 2, 0) for lane in range(32)]
    stored = byte_rows(memory, 32)
    rows = [stored[lane ^ 5] for lane in range(32)]
    fill = ''.join('st.shared.b32 [%%t+%d], %s; ' % (128 * i, r) for i, r in enumerate(('%a', '%b', '%c', '%a'))) + 'bar.warp.sync 0xffffffff; '
    address = 'xor.b32 %t, %i, 5; shl.b32 %t, %t, 4; add.u32 %t, %s, %t; '
    for shape, count in (('m16n16', 1), ('m16n16', 2), ('m8n16', 1), ('m8n16', 2), ('m8n16', 4)):
        for kind, bits in (('b8', 8), ('b8x16.b6x16_p32', 6), ('b8x16.b4x16_p64', 4)):
            if shape == 'm8n16' and bits == 8:
                continue
            registers = count * 2 if shape == 'm16n16' else count
            for space in ('.shared', '.shared::cta', ''):
                name = 'ldmatrix.sync.aligned.%s.x%d%s%s.%s' % (shape, count, '.trans' if shape == 'm16n16' else '', space, kind)
                generic = '' if space else '.reg .b64 %g; cvt.u64.u32 %g, %t; cvta.shared.u64 %g, %g; '
                names = ['%%r%d' % i for i in range(registers)]
                body = SHARED + fill + address + generic + '%s {%s}, [%s]; mov.u32 %%d, %%r0; ' % (name, ', '.join(names), '%t' if space else '%g')
                body += ''.join('shf.l.wrap.b32 %%d, %%d, %%d, 1; xor.b32 %%d, %%d, %s; ' % r for r in names[1:])
                outs = []
                for lane in range(32):
                    g, q, got = lane >> 2, lane & 3, []
                    for r in range(registers):
                        if shape == 'm16n16':
                            elements = [unpacked(rows[16 * (r // 2) + 4 * q + j], bits)[g + 8 * (r % 2)] for j in range(4)]
                        else:
                            elements = [unpacked(rows[8 * r + g], bits)[4 * q + j] for j in range(4)]
                        got.append(words_of(elements, 8))
                    outs.append(folded(got))
                t.file.kernel(name, body, ['//# once', '//# in sweep 96', ptxtest.words('out', outs)], 32)
    for count in (1, 2, 4):
        for space in ('.shared', ''):
            name = 'stmatrix.sync.aligned.m16n8.x%d.trans%s.b8' % (count, space)
            sources = ['%a', '%b', '%c', '%a'][:count]
            generic = '' if space else '.reg .b64 %g; cvt.u64.u32 %g, %t; cvta.shared.u64 %g, %g; '
            body = SHARED + address + generic + '%s [%s], {%s}; bar.warp.sync 0xffffffff; ' % (name, '%t' if space else '%g', ', '.join(sources))
            body += 'shl.b32 %%t, %%i, %d; add.u32 %%t, %%s, %%t; ld.shared.b32 %%d, [%%t]; ' % (2 if count == 1 else 3 if count == 2 else 4)
            body += ''.join('shf.l.wrap.b32 %%d, %%d, %%d, 1; ld.shared.b32 %%r0, [%%t+%d]; xor.b32 %%d, %%d, %%r0; ' % (4 * i) for i in range(1, count))
            tile = {}
            for lane in range(32):
                g, q = lane >> 2, lane & 3
                for m in range(count):
                    word = words[3 * lane + (0, 1, 2, 0)[m]]
                    for j in range(4):
                        tile[(8 * m + 2 * q + j % 2) ^ 5, g + 8 * (j // 2)] = word >> 8 * j & 0xff
            data = [sum(tile[(4 * w + k) // 16, (4 * w + k) % 16] << 8 * k for k in range(4)) for w in range(32 * count)]
            outs = [folded(data[lane * count:lane * count + count]) for lane in range(32)]
            t.file.kernel(name, body, ['//# once', '//# in sweep 96', ptxtest.words('out', outs)], 32)


def wmma_case(t, shape, kind_ab, kind_c, out, layout_a, layout_b, layout_c, mods='', space='.global'):
    """Through memory: A, B, C from `in`, D to `out`; strides a little larger than the rows are long."""
    m, n, k = map(int, re.fullmatch(r'm(\d+)n(\d+)k(\d+)', shape).groups())
    random, bits = t.random, BITS[kind_ab]
    a = [[code_for(random, kind_ab, False) for _ in range(k)] for _ in range(m)]
    b = [[code_for(random, kind_ab, False) for _ in range(n)] for _ in range(k)]
    c = [[code_for(random, kind_c, False) for _ in range(n)] for _ in range(m)]
    d = [[element(a[i], [b[l][j] for l in range(k)], kind_ab, kind_ab, c[i][j], kind_c, out, mods) for j in range(n)] for i in range(m)]
    c_bits = {'f16': 16, 'f64': 64}.get(kind_c, 32)
    d_bits = {'f16': 16, 'f64': 64}.get(out, 32)
    pad = max(128 // bits, 1) if bits < 32 else 8

    def lay(matrix, layout, size, padding):
        rows = matrix if layout == 'row' else [list(r) for r in zip(*matrix)]
        stride = len(rows[0]) + padding
        packed = sum(v << size * (i * stride + j) for i, r in enumerate(rows) for j, v in enumerate(r))
        total = (len(rows) * stride * size + 255) // 256 * 8
        return [packed >> 32 * i & 0xffffffff for i in range(total)], stride
    (wa, sa), (wb, sb), (wc, sc) = lay(a, layout_a, bits, pad), lay(b, layout_b, bits, pad), lay(c, layout_c, c_bits, 8)
    wd, _sd = lay(d, layout_c, d_bits, 0)
    prefix = '.sync.aligned.'
    counts = {'a': fragment(shape, kind_ab, 'a'), 'b': fragment(shape, kind_ab, 'b'), 'c': fragment(shape, kind_c, 'c'), 'd': fragment(shape, out, 'c')}
    reg = {'f64': 'f64', 'f32': 'f32'}
    lines, names, offset = [], {}, 0
    begin, end = '%in', '%out'
    if space == '.shared': # there and back again
        count = len(wa + wb + wc)
        lines.append('.shared .align 32 .b8 room[%d]; .reg .b64 %%from, %%to, %%step; .reg .b32 %%w; mov.u64 %%from, room; add.u64 %%to, %%from, %d; ' % (4 * (count + len(wd)) + 64, 4 * count))
        for at in range(0, count, 32):
            lines.append('add.u32 %%w, %%i, %d; mul.wide.u32 %%step, %%w, 4; add.u64 %%g, %%in, %%step; ld.global.u32 %%w, [%%g]; add.u64 %%g, %%from, %%step; st.shared.u32 [%%g], %%w;' % at)
        lines.append('bar.warp.sync 0xffffffff;')
        begin, end = '%from', '%to'
    for part, kind, stride, layout, size in (('a', kind_ab, sa, layout_a, len(wa)), ('b', kind_ab, sb, layout_b, len(wb)), ('c', kind_c, sc, layout_c, len(wc))):
        names[part] = ['%%%s%d' % (part + 'x', i) for i in range(counts[part])]
        lines.append('.reg .%s %%%sx<%d>;' % (reg.get(kind, 'b32'), part, counts[part]))
        lines.append('add.u64 %%g, %s, %d; wmma.load.%s%s%s.%s%s.%s {%s}, [%%g], %d;' % (
            begin, 4 * offset, part, prefix, layout, shape, space, kind, ', '.join(names[part]), stride))
        offset += size
    names['d'] = ['%%dx%d' % i for i in range(counts['d'])]
    lines.append('.reg .%s %%dx<%d>;' % (reg.get(out, 'b32'), counts['d']))
    types = '%s.%s' % (out, kind_c) if kind_ab == 'f16' else '%s.%s.%s.%s' % (out, kind_ab, kind_ab, kind_c)
    operation = 'wmma.mma' + ('.%s.popc' % mods if kind_ab == 'b1' else '')
    lines.append('%s%s%s.%s.%s.%s%s {%s}, {%s}, {%s}, {%s};' % (
        operation, prefix, layout_a, layout_b, shape, types, mods if kind_ab != 'b1' else '', *[', '.join(names[p]) for p in 'dabc']))
    lines.append('wmma.store.d%s%s.%s%s.%s [%s], {%s}, %d;' % (prefix, layout_c, shape, space, out, end, ', '.join(names['d']), n if layout_c == 'row' else m))
    if space == '.shared':
        lines.append('bar.warp.sync 0xffffffff;')
        for at in range(0, len(wd), 32):
            lines.append('add.u32 %%w, %%i, %d; mul.wide.u32 %%step, %%w, 4; add.u64 %%g, %%to, %%step; ld.shared.u32 %%w, [%%g]; add.u64 %%g, %%out, %%step; st.global.u32 [%%g], %%w;' % at)
    lines.append('mul.wide.u32 %g, %i, 4; add.u64 %g, %out, %g; bar.warp.sync 0xffffffff; ld.global.u32 %d, [%g];')
    t.file.kernel('wmma %s %s %s %s %s%s%s' % (shape, types, layout_a, layout_b, layout_c, mods, space if space != '.global' else ''), '.reg .b64 %g; ' + ' '.join(lines),
                  ['//# once', ptxtest.words('in', wa + wb + wc), ptxtest.words('out', wd)], 32)


def fragment(shape, kind, part):
    """Registers of a wmma fragment (9.7.14.4)."""
    m, n, k = map(int, re.fullmatch(r'm(\d+)n(\d+)k(\d+)', shape).groups())
    if part == 'c':
        return {'f16': 4, 'f32': 8, 's32': 2 if m * n == 64 else 8, 'f64': 2}[kind]
    if kind == 'f16':
        return 8
    size = m * k if part == 'a' else k * n
    return max(size * BITS[kind] // 32 // (64 if kind == 'f64' else 32), 1)


def wmma(t):
    for shape in ('m16n16k16', 'm32n8k16', 'm8n32k16'):
        for la in ('row', 'col'):
            for lb in ('row', 'col'):
                wmma_case(t, shape, 'f16', 'f32', 'f32', la, lb, 'row')
        wmma_case(t, shape, 'f16', 'f16', 'f16', 'row', 'col', 'col')
        wmma_case(t, shape, 'bf16', 'f32', 'f32', 'row', 'col', 'row')
        for kind in ('s8', 'u8'):
            wmma_case(t, shape, kind, 's32', 's32', 'row', 'col', 'row')
            wmma_case(t, shape, kind, 's32', 's32', 'col', 'row', 'col', '.satfinite')
    wmma_case(t, 'm16n16k8', 'tf32', 'f32', 'f32', 'row', 'col', 'row')
    wmma_case(t, 'm16n16k8', 'tf32', 'f32', 'f32', 'col', 'row', 'col')
    wmma_case(t, 'm8n8k4', 'f64', 'f64', 'f64', 'row', 'col', 'row')
    wmma_case(t, 'm8n8k4', 'f64', 'f64', 'f64', 'col', 'row', 'col')
    for space in ('', '.shared'):
        wmma_case(t, 'm16n16k16', 'f16', 'f32', 'f32', 'row', 'col', 'row', '', space)
        wmma_case(t, 'm16n16k16', 'f16', 'f16', 'f16', 'col', 'row', 'row', '', space)
        wmma_case(t, 'm16n16k16', 'bf16', 'f32', 'f32', 'row', 'col', 'row', '', space)
        wmma_case(t, 'm16n16k16', 'u8', 's32', 's32', 'row', 'col', 'row', '', space)
        wmma_case(t, 'm16n16k8', 'tf32', 'f32', 'f32', 'row', 'col', 'row', '', space)
        wmma_case(t, 'm8n8k4', 'f64', 'f64', 'f64', 'row', 'col', 'row', '', space)
    wmma_case(t, 'm8n8k4', 'f64', 'f64', 'f64', 'row', 'col', 'row', '.rn')
    for kind in ('s4', 'u4'):
        wmma_case(t, 'm8n8k32', kind, 's32', 's32', 'row', 'col', 'row')
    for op in ('xor', 'and'):
        wmma_case(t, 'm8n8k128', 'b1', 's32', 's32', 'row', 'col', 'row', op)


def main():
    t = Tests()
    products(t)
    moves(t)
    byte_moves(t)
    wmma(t)
    t.file.save(sys.argv[1])


if __name__ == '__main__':
    main()
