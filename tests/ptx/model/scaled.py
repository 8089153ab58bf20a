#!/usr/bin/env python3
"""Products of matrices of 8, 6 and 4 bits (PTX ISA 9.7.14.3, 9.7.14.5): the kinds of sm_120a, with scales of blocks and without, dense and
sparse, and sparse ones of 8-bit floats as on Ada. Sums are as in MMA-Sim's model of Blackwell: one step, 25 fractional bits (35 of e2m1
pairs), scales taken into the products. Which lanes hold the scales was probed on cards, and is as CUTLASS's layouts have it:
row g + 8i of A in lane 4g + 2s + i, column g of B in lane 4g + s.

    scaled.py OUTPUT.ptx
"""
import sys
from fractions import Fraction

import matrix
import ptxtest
import sparse
from floats import F16, F32, exponent_of, infinity, round_magnitude, sign_bit

SMALL = {'e4m3': (8, 3, 7), 'e5m2': (8, 2, 15), 'e2m3': (6, 3, 1), 'e3m2': (6, 2, 3), 'e2m1': (4, 1, 1)}


def number(code, kind):
    """(value, exponent as its format has it), 'nan' or an infinity."""
    bits, mantissa, bias = SMALL[kind]
    if bits == 8:
        return matrix.small_value(code, kind)
    field, fraction = code >> mantissa & (1 << bits - 1 - mantissa) - 1, code & (1 << mantissa) - 1
    exponent = max(field, 1) - bias
    v = Fraction(fraction + ((1 << mantissa) if field else 0)) * Fraction(2) ** (exponent - mantissa)
    return (-v if code >> bits - 1 else v, exponent)


def scale(code, kind):
    """None is a NaN."""
    if kind == 'ue8m0':
        return None if code == 0xff else Fraction(2) ** (code - 127)
    v = matrix.small_value(code & 0x7f, 'e4m3')
    return None if v == 'nan' else v[0]


def total(products, scales, c, out, fraction):
    """Bits of the sum of products and an addend; scales: of each product, or none."""
    if None in scales:
        return 0x7fffffff
    addend = matrix.number(c, out)
    found = matrix.special(products, addend)
    if found:
        return matrix.encode(found, out)
    terms = [(x[0] * y[0] * s, x[1] + y[1] + exponent_of(s)) for (x, y), s in zip(products, scales) if x[0] and y[0] and s]
    if addend[0]:
        terms.append(addend)
    largest = max([e for _v, e in terms] + [-132 if out == 'f32' else -20])
    unit = Fraction(2) ** (largest - fraction)
    value = sum(int(v / unit) if v >= 0 else -int(-v / unit) for v, _e in terms) * unit
    fmt, mode = (F32, 'rz') if out == 'f32' else (F16, 'rn')
    bits = infinity(fmt) if abs(value) >= Fraction(2) ** (fmt[2] + 1) else round_magnitude(abs(value), value < 0, fmt, mode)
    return bits | (sign_bit(fmt) if value < 0 else 0)


def random_code(random, kind, wild):
    bits = SMALL[kind][0]
    code = random.word() & (1 << bits) - 1
    if not wild and bits == 8 and (kind == 'e4m3' and code & 0x7f == 0x7f or kind == 'e5m2' and code & 0x7f >= 0x7c):
        code ^= 0x20
    return code


def held(code, kind, packed):
    """As it lies in a register."""
    return code << 2 if kind == 'e2m1' and not packed else code


def emit(t, name, given, results, counts, tail, comment, moves=''):
    words = len(given[0])
    lines = ['.reg .b64 %%g; .reg .b32 %%f<40>; .reg .b32 %%e, %%sa, %%sb; .reg .b16 %%ia, %%ta, %%ib, %%tb; mul.wide.u32 %%g, %%i, %d; add.u64 %%g, %%in, %%g;' % (4 * words)]
    lists, at = [], 0
    for count in counts[:3]:
        lists.append(['%%f%d' % (at + i) for i in range(count)])
        lines += ['ld.global.b32 %s, [%%g+%d];' % (r, 4 * (at + i)) for i, r in enumerate(lists[-1])]
        at += count
    lines += ['ld.global.b32 %s, [%%g+%d];' % (r, 4 * (at + i)) for i, r in enumerate(('%e', '%sa', '%sb'))]
    d = ['%%f%d' % (at + i) for i in range(counts[3])]
    lines.append('%s%s {%s}, {%s}, {%s}, {%s}%s;' % (moves, name, ', '.join(d), *[', '.join(v) for v in lists], tail))
    lines.append('mul.wide.u32 %%g, %%i, %d; add.u64 %%g, %%out, %%g;' % (4 * counts[3]))
    lines += ['st.global.b32 [%%g+%d], %s;' % (4 * i, r) for i, r in enumerate(d)]
    lines.append('mul.wide.u32 %g, %i, 4; add.u64 %g, %out, %g; bar.warp.sync 0xffffffff; ld.global.u32 %d, [%g];')
    t.file.kernel(name + comment, ' '.join(lines), ['//# once', ptxtest.words('in', sum(given, [])), ptxtest.words('out', sum(results, []))], 32)


def product(t, kind, kinds, out, k, mods='', scales=None, selectors=(0, 0, 0, 0), is_sparse=False, wild=False, sums=None):
    """`scales`: their type and how many there are along k. `sums`: of a row, a column and an addend, where it is not total()."""
    random, (kind_a, kind_b) = t.random, kinds
    packed = kind in ('mxf4', 'mxf4nvf4')
    fraction, per = (35, 8) if packed else (25, 4)
    width = k // 2 if is_sparse else k
    stored = [[random_code(random, kind_a, wild) for _ in range(width)] for _ in range(16)]
    b = [[random_code(random, kind_b, wild) for _ in range(8)] for _ in range(k)]
    c = [[matrix.code_for(random, out, False) for _ in range(8)] for _ in range(16)]
    nibbles = (4, 8, 9, 12, 13, 14)
    metadata = [sum(nibbles[random.word() % 6] << 4 * i for i in range(8)) for _ in range(32)]
    a = stored
    if is_sparse:
        a = [[0] * k for _ in range(16)]
        for row in range(16):
            for j in range(width):
                a[row][sparse.stored_place('s4' if packed else 's8', metadata, k, 0, row, j)] = stored[row][j]
    words = {}
    for side in 'ab':
        words[side] = [random.word() for _ in range(32)]
        if scales and not wild: # around one, apart from some that are anything
            for lane in range(32):
                near = 0x7f7f7f7f if scales[0] == 'ue8m0' else 0x38383838
                words[side][lane] = near ^ words[side][lane] & (0x03030303 if lane % 5 else 0x0f0f0f0f)
    (type_, count), (ia, ta, ib, tb) = scales or ('ue8m0', 1), selectors

    def scale_at(side, index, at):
        lane = index % 8 * 4 + (2 * ta + index // 8 if side == 'a' else tb)
        return scale(words[side][lane] >> 8 * ((ia if side == 'a' else ib) + at * count // k) & 0xff, type_)

    def cell(i, j):
        pairs = [(number(a[i][x], kind_a), number(b[x][j], kind_b)) for x in range(k)]
        if sums:
            return sums(pairs, c[i][j])
        both = [(scale_at('a', i, x), scale_at('b', j, x)) for x in range(k)] if scales else [(Fraction(1), Fraction(1))] * k
        return total(pairs, [None if None in s else s[0] * s[1] for s in both], c[i][j], out, fraction)
    d = [[cell(i, j) for j in range(8)] for i in range(16)]
    bits, shape = 32 // per, 's4' if packed else 's8'
    counts = [2 * width // (4 * per), k // (4 * per), 2 if out == 'f16' else 4, 2 if out == 'f16' else 4]
    given, results = [], []
    for lane in range(32):
        cells = [[matrix.place_c(lane, r, out, e) for e in range(2 if out == 'f16' else 1)] for r in range(counts[2])]
        mine = [matrix.words_of([held(stored[i][j], kind_a, packed) for i, j in (matrix.place_a(lane, r, e, shape, 16) for e in range(per))], bits)
                for r in range(counts[0])]
        mine += [matrix.words_of([held(b[i][j], kind_b, packed) for i, j in (matrix.place_b(lane, r, e, shape) for e in range(per))], bits)
                 for r in range(counts[1])]
        mine += [matrix.words_of([c[i][j] for i, j in x], 16) for x in cells]
        given.append(mine + [metadata[lane], words['a'][lane], words['b'][lane]])
        results.append([matrix.words_of([d[i][j] for i, j in x], 16) for x in cells])
    name = 'mma.%ssync.aligned.m16n8k%d.row.col%s%s.%s.%s.%s.%s%s' % (
        'sp::ordered_metadata.' if is_sparse else '', k, '.kind::' + kind if kind else '', mods, out, kind_a, kind_b, out, '.' + type_ if scales else '')
    tail = ', %e, 0' if is_sparse else ''
    comment = ' any bits' if wild else ''
    if scales:
        registers = sum(selectors) % 2  # as numbers or in registers
        if registers:
            tail += ', %sa, {%ia, %ta}, %sb, {%ib, %tb}'
            moves = ''.join('mov.b16 %s, %d; ' % (r, v) for r, v in zip(('%ia', '%ta', '%ib', '%tb'), selectors))
        else:
            tail += ', %%sa, {%d, %d}, %%sb, {%d, %d}' % tuple(selectors)
            moves = ''
        comment += ' {%d, %d}, {%d, %d}' % tuple(selectors)
        emit(t, name, given, results, counts, tail, comment, moves)
        return
    emit(t, name, given, results, counts, tail, comment)


def ada(pairs, c):
    """Sums of 8-bit floats as on Ada: 13 fractional bits, an f32 result cut to as many, after each step of 32 places."""
    matrix.FRACTION, before = 13, matrix.FRACTION
    for first in range(0, len(pairs), 32):
        c = matrix.encode(matrix.step(pairs[first:first + 32], matrix.number(c, 'f32'), 'f32'), 'f32')
        c = c if c == 0x7fffffff else c & ~0x3ff
    matrix.FRACTION = before
    return c


def main():
    t = matrix.Tests()
    t.file = ptxtest.File('scaled.py')
    t.file.text[0] = t.file.text[0].replace('sm_100a', 'sm_120a')
    kinds = sorted(SMALL)
    for i, x in enumerate(kinds):
        for j, y in enumerate(kinds):
            if (i - j) % 5 in (2, 4):
                continue
            product(t, 'f8f6f4', (x, y), 'f32' if (i + j) % 3 else 'f16', 32)
            one = '.scale_vec::1X' if i % 2 else ''
            product(t, 'mxf8f6f4', (x, y), 'f32', 32, '.block_scale' + one, ('ue8m0', 1), ((i + j) % 4, i % 2, j % 4, (i + j) % 4))
            if i == j or (i, j) in ((0, 4), (1, 3)):
                product(t, 'f8f6f4', (x, y), 'f32' if i % 2 else 'f16', 64, is_sparse=True)
                product(t, 'mxf8f6f4', (x, y), 'f32', 64, '.block_scale' + one, ('ue8m0', 1), (j % 4, (i + 1) % 2, i % 4, j % 4), True)
    for x in ('e4m3', 'e5m2'):
        for y in ('e4m3', 'e5m2'):
            product(t, 'f8f6f4', (x, y), 'f32', 32, wild=True)
            product(t, 'mxf8f6f4', (x, y), 'f32', 32, '.block_scale', ('ue8m0', 1), (1, 1, 2, 2), wild=True)
            product(t, '', (x, y), 'f32', 64, is_sparse=True, sums=ada)
    pair = ('e2m1', 'e2m1')
    for is_sparse, k in ((False, 64), (True, 128)):
        for mods, type_, count in (('.block_scale', 'ue8m0', 2), ('.block_scale.scale_vec::2X', 'ue8m0', 2)):
            product(t, 'mxf4', pair, 'f32', k, mods, (type_, count), (2, 0, 0, 3), is_sparse)
        for vector, type_, count, selectors in (('2X', 'ue8m0', 2, (0, 1, 2, 1)), ('2X', 'ue4m3', 2, (2, 1, 0, 0)), ('4X', 'ue4m3', 4, (0, 0, 0, 0)),
                                                ('4X', 'ue8m0', 4, (0, 1, 0, 2))):
            product(t, 'mxf4nvf4', pair, 'f32', k, '.block_scale.scale_vec::' + vector, (type_, count), selectors, is_sparse)
        product(t, 'mxf4nvf4', pair, 'f32', k, '.block_scale.scale_vec::4X', ('ue4m3', 4), (0, 1, 0, 1), is_sparse, True)
    t.file.save(sys.argv[1])


if __name__ == '__main__':
    main()
