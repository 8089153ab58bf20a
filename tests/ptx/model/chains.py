#!/usr/bin/env python3
"""Products of .f16, .bf16 and .tf32 as DRAGOMAN_MMA=fast makes them: each element of D is a chain of single precision fma in the order of k, from C
on, rounded to .f16 at the end where that is D's type. Each chain is held against the exact sum: PTX ISA 9.7.14 asks for
single precision at least.

    chains.py OUTPUT.ptx
"""
import sys
from fractions import Fraction

import matrix
import ptxtest
from floats import F16, F32, convert, fma, is_inf, is_nan, value


NAN = 0x7fffffff


def or_nan(bits):
    return NAN if bits is None else bits


def single(code, kind):
    return or_nan(convert(code & ~0x1fff if kind == 'tf32' else code, matrix.FORMATS[kind], F32))


def element(row, column, kind_a, kind_b, c, kind_c, out, _mods):
    acc = single(c, kind_c)
    exact, size = [], Fraction(0)
    for x, y in zip(row, column):
        x, y = single(x, kind_a), single(y, kind_b)
        exact.append((x, y))
        acc = or_nan(fma(x, y, acc, F32))
    bits = [single(c, kind_c), acc] + [b for pair in exact for b in pair]
    if not any(is_nan(b, F32) or is_inf(b, F32) for b in bits):
        terms = [value(single(c, kind_c), F32)] + [value(x, F32) * value(y, F32) for x, y in exact]
        size = sum(abs(v) for v in terms)
        assert abs(value(acc, F32) - sum(terms)) <= len(terms) * size / 2 ** 24 * Fraction(9, 8) + Fraction(1, 2 ** 140)
    if is_nan(acc, F32):
        return NAN if out == 'f32' else 0x7fff
    return convert(acc, F32, F16) if out == 'f16' else acc


def main():
    matrix.element = element
    t = matrix.Tests()
    t.file = ptxtest.File('chains.py')
    for shape, kinds in (('m16n8k8', ('f32.f16.f16.f32', 'f16.f16.f16.f16', 'f32.bf16.bf16.f32', 'f32.tf32.tf32.f32')), ('m16n8k4', ('f32.tf32.tf32.f32',)),
                         ('m16n8k16', ('f32.f16.f16.f32', 'f16.f16.f16.f16', 'f32.bf16.bf16.f32'))):
        for kind in kinds:
            for wild in (False, True):
                t.mma('mma.sync.aligned.%s.row.col.%s' % (shape, kind), wild)
    for shape in ('m16n16k16', 'm32n8k16', 'm8n32k16'):
        matrix.wmma_case(t, shape, 'f16', 'f32', 'f32', 'row', 'row', 'row')
        matrix.wmma_case(t, shape, 'f16', 'f16', 'f16', 'col', 'row', 'row')
        matrix.wmma_case(t, shape, 'bf16', 'f32', 'f32', 'row', 'col', 'row')
    matrix.wmma_case(t, 'm16n16k8', 'tf32', 'f32', 'f32', 'row', 'col', 'row')
    t.file.save(sys.argv[1])


if __name__ == '__main__':
    main()
