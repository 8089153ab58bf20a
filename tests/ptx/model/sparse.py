#!/usr/bin/env python3
"""mma.sp (PTX ISA 9.7.14.6), products of 8-bit floats, of quarters of a warp (.m8n8k4 of .f16, 9.7.14.5.1) and rounded ones of doubles,
against the arithmetic of matrix.py. 8-bit floats are as on Ada: 13 fractional bits, steps of 16, an f32 result cut to 13 bits after each. Which lanes hold which of a row's metadata the manual shows in figures 113 to 126.

    sparse.py OUTPUT.ptx
"""
import sys

import matrix
import ptxtest
from floats import F64, fma

KINDS = {'f16': 'f32', 'bf16': 'f32', 'tf32': 'f32', 's8': 's32', 'u8': 's32', 's4': 's32', 'u4': 's32'}
WIDTH = {'f16': 16, 'bf16': 16, 'tf32': 8}  # places of A that one step of a sparse product covers


def emit(t, name, given, results, counts, wide=32, tail=''):
    """`given`, `results`: a list of words for each lane. counts: registers of a, b, c, d; metadata is a 32-bit word after them."""
    kind, size, total = 'b%d' % wide, wide // 8, len(given[0])
    lines = ['.reg .b64 %%g; .reg .%s %%f<40>; .reg .b32 %%e;' % kind, 'mul.wide.u32 %%g, %%i, %d; add.u64 %%g, %%in, %%g;' % (4 * total)]
    lists, at = [], 0
    for count in counts[:3]:
        lists.append(['%%f%d' % (at + i) for i in range(count)])
        lines += ['ld.global.%s %s, [%%g+%d];' % (kind, r, (at + i) * size) for i, r in enumerate(lists[-1])]
        at += count
    d = ['%%f%d' % (at + i) for i in range(counts[3])]
    if tail:
        lines.append('ld.global.b32 %%e, [%%g+%d];' % (at * size))
    lines.append('%s {%s}, {%s}, {%s}, {%s}%s;' % (name, ', '.join(d), *[', '.join(v) for v in lists], tail))
    lines.append('mul.wide.u32 %%g, %%i, %d; add.u64 %%g, %%out, %%g;' % (size * counts[3]))
    lines += ['st.global.%s [%%g+%d], %s;' % (kind, size * i, r) for i, r in enumerate(d)]
    lines.append('mul.wide.u32 %g, %i, 4; add.u64 %g, %out, %g; bar.warp.sync 0xffffffff; ld.global.u32 %d, [%g];')
    t.file.kernel(name + tail, ' '.join(lines), ['//# once', ptxtest.words('in', sum(given, [])), ptxtest.words('out', sum(results, []))], 32)


# ---- mma.sp ------------------------------------------------------------------------------------------------------------

def metadata_place(kind, k, selector, row, chunk):
    """Lane and first bit of a chunk's four. Of 16 and 32 bits: four chunks of a row, above them those of row + 8; else eight chunks."""
    chunks = k // 2 if kind == 'tf32' else k // 4 if matrix.BITS[kind] > 4 else k // 8
    if matrix.BITS[kind] > 8:
        return row % 8 * 4 + selector * (chunks // 4) + chunk // 4, chunk % 4 * 4 + row // 8 * 16
    return row % 8 * 4 + selector * (chunks // 4) + chunk // 8 * 2 + row // 8, chunk % 8 * 4


def stored_place(kind, metadata, k, selector, row, j):
    """Where the j-th stored element of a row stands."""
    unit = 2 if matrix.BITS[kind] == 4 else 1  # elements of four bits come in pairs
    kept, size = (1, 2) if kind == 'tf32' else (2, 4)
    chunk, i = j // unit // kept, j // unit % kept
    lane, shift = metadata_place(kind, k, selector, row, chunk)
    nibble = metadata[lane] >> shift & 15
    index = {4: 0, 14: 1}[nibble] if kind == 'tf32' else nibble >> 2 * i & 3
    return (chunk * size + index) * unit + j % unit


def accumulate(row, column, kind, c, out):
    if kind not in WIDTH:
        return matrix.element(row, column, kind, kind, c, 's32', 's32', ())
    acc, n = matrix.number(c, out), WIDTH[kind]
    products = [(matrix.number(x, kind), matrix.number(y, kind)) for x, y in zip(row, column)]
    for k in range(0, len(products), n):
        acc = matrix.step(products[k:k + n], acc, out)
    return matrix.encode(acc, out)


def sparse(t, kind, k, selector, out, wild):
    random = t.random
    nibbles = (4, 14) if kind == 'tf32' else (4, 8, 9, 12, 13, 14)
    metadata = [sum(nibbles[random.word() % len(nibbles)] << 4 * i for i in range(8)) for _ in range(32)]
    stored = [[matrix.code_for(random, kind, wild) for _ in range(k // 2)] for _ in range(16)]
    b = [[matrix.code_for(random, kind, wild) for _ in range(8)] for _ in range(k)]
    c = [[matrix.code_for(random, out, wild) for _ in range(8)] for _ in range(16)]
    a = [[0] * k for _ in range(16)]
    for row in range(16):
        for j in range(k // 2):
            a[row][stored_place(kind, metadata, k, selector, row, j)] = stored[row][j]
    d = [[accumulate(a[i], [b[l][j] for l in range(k)], kind, c[i][j], out) for j in range(8)] for i in range(16)]
    name = 'mma.sp::ordered_metadata.sync.aligned.m16n8k%d.row.col.%s.%s.%s.%s' % (k, out, kind, kind, out)
    emit_tile(t, name, kind, out, (stored, b, c, d), metadata, ', %%e, %d' % selector)


def emit_tile(t, name, kind, out, matrices, metadata=None, tail=''):
    a, b, c, d = matrices
    per, bits = matrix.elements_in(kind), matrix.BITS[kind]
    counts = [2 * len(a[0]) // (4 * per), len(b) // (4 * per), 2 if out == 'f16' else 4, 2 if out == 'f16' else 4]
    given, results = [], []
    for lane in range(32):
        cells = [[matrix.place_c(lane, r, out, e) for e in range(2 if out == 'f16' else 1)] for r in range(counts[2])]
        words = [matrix.words_of([a[i][j] for i, j in (matrix.place_a(lane, r, e, kind, 16) for e in range(per))], bits)
                 for r in range(counts[0])]
        words += [matrix.words_of([b[i][j] for i, j in (matrix.place_b(lane, r, e, kind) for e in range(per))], bits) for r in range(counts[1])]
        words += [matrix.words_of([c[i][j] for i, j in cell], 16) for cell in cells] + ([metadata[lane]] if metadata else [])
        given.append(words)
        results.append([matrix.words_of([d[i][j] for i, j in cell], 16) for cell in cells])
    emit(t, name, given, results, counts, tail=tail)


def eight_bits(t, k, kind_a, kind_b, out):
    a, b, c = ([[matrix.code_for(t.random, kind, False) for _ in range(n)] for _ in range(m)]
               for kind, m, n in ((kind_a, 16, k), (kind_b, k, 8), (out, 16, 8)))
    d = [[0] * 8 for _ in range(16)]
    matrix.FRACTION, before = 13, matrix.FRACTION
    for i in range(16):
        for j in range(8):
            bits = c[i][j]
            for first in range(0, k, 16):
                pairs = [(matrix.number(a[i][x], kind_a), matrix.number(b[x][j], kind_b)) for x in range(first, first + 16)]
                bits = matrix.encode(matrix.step(pairs, matrix.number(bits, out), out), out)
                if out == 'f32' and bits != 0x7fffffff:
                    bits &= ~0x3ff
            d[i][j] = bits
    matrix.FRACTION = before
    emit_tile(t, 'mma.sync.aligned.m16n8k%d.row.col.%s.%s.%s.%s' % (k, out, kind_a, kind_b, out), kind_a, out, (a, b, c, d))


# ---- .m8n8k4 of .f16: lanes 4q … 4q + 3 and 4q + 16 … 4q + 19 make one product -------------------------------------------

def factor_place(lane, i, lane_is_k):
    upper = lane // 16 * 4
    return (i + upper, lane % 4) if lane_is_k else (lane % 4 + upper, i)


def accumulator_place(lane, i, kind):
    upper = lane // 16 * 4
    if kind == 'f16':
        return lane % 4 + upper, i
    return (lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)


def quarters(t, layout_a, layout_b, out, kind_c):
    random = t.random
    a, b = ([[[matrix.code_for(random, 'f16', False) for _ in range(4)] for _ in range(8)] for _ in range(4)] for _ in 'ab')
    c = [[[matrix.code_for(random, kind_c, False) for _ in range(8)] for _ in range(8)] for _ in range(4)]
    given, results = [], []
    for lane in range(32):
        q = lane % 16 // 4
        x = [a[q][r][k] for r, k in (factor_place(lane, i, layout_a == 'col') for i in range(4))]
        y = [b[q][n][k] for n, k in (factor_place(lane, i, layout_b == 'row') for i in range(4))]
        z = [c[q][r][n] for r, n in (accumulator_place(lane, i, kind_c) for i in range(8))]
        w = [matrix.element(a[q][r], b[q][n], 'f16', 'f16', c[q][r][n], kind_c, out, ())
             for r, n in (accumulator_place(lane, i, out) for i in range(8))]
        pack = lambda v, kind: [v[i] | v[i + 1] << 16 for i in range(0, len(v), 2)] if kind == 'f16' else v  # noqa: E731
        given.append(pack(x, 'f16') + pack(y, 'f16') + pack(z, kind_c))
        results.append(pack(w, out))
    name = 'mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s' % (layout_a, layout_b, out, kind_c)
    emit(t, name, given, results, [2, 2, 4 if kind_c == 'f16' else 8, 4 if out == 'f16' else 8])


def doubles(t, mode):
    a, b, c = ([[matrix.code_for(t.random, 'f64', False) for _ in range(n)] for _ in range(8)] for n in (4, 4, 8))
    given, results = [], []
    for lane in range(32):
        g, q = lane // 4, lane % 4
        codes, w = [a[g][q], b[g][q], c[g][2 * q], c[g][2 * q + 1]], []
        for n in (2 * q, 2 * q + 1):
            v = c[g][n]
            for k in range(4):
                v = fma(a[g][k], b[n][k], v, F64, mode)
            w.append(v)
        given.append([x >> 32 * i & 0xffffffff for x in codes for i in range(2)])
        results.append([x >> 32 * i & 0xffffffff for x in w for i in range(2)])
    emit(t, 'mma.sync.aligned.m8n8k4.row.col.%s.f64.f64.f64.f64' % mode, given, results, [1, 1, 2, 2], 64)


def main():
    t = matrix.Tests()
    t.file = ptxtest.File('sparse.py')
    for kind, shapes in (('f16', ((16, 4), (32, 2))), ('bf16', ((16, 4), (32, 2))), ('tf32', ((8, 4), (16, 2))), ('s8', ((32, 2), (64, 1))),
                         ('u8', ((32, 2), (64, 1))), ('s4', ((64, 2), (128, 1))), ('u4', ((64, 2), (128, 1)))):
        for k, selectors in shapes:
            for selector in range(selectors):
                sparse(t, kind, k, selector, KINDS[kind], False)
            if kind in WIDTH:
                sparse(t, kind, k, 0, 'f32', True)
        if kind == 'f16':
            for k in (16, 32):
                sparse(t, kind, k, 1, 'f16', False)
    for layout_a in ('row', 'col'):
        for layout_b in ('row', 'col'):
            for out, kind_c in (('f32', 'f32'), ('f16', 'f16'), ('f32', 'f16')):
                quarters(t, layout_a, layout_b, out, kind_c)
    for mode in ('rz', 'rm', 'rp'):
        doubles(t, mode)
    for kind_a in ('e4m3', 'e5m2'):
        for kind_b in ('e4m3', 'e5m2'):
            for k in (16, 32):
                for out in ('f32', 'f16'):
                    eight_bits(t, k, kind_a, kind_b, out)
    t.file.save(sys.argv[1])


if __name__ == '__main__':
    main()
