#!/usr/bin/env python3
"""Matrix instructions whose floats are small whole numbers: sums are exact in any order and however they are rounded, so the results are the same
on machines whose matrix instructions round otherwise than NVIDIA's. Infinities and NaNs come out alike too.

    machine.py OUTPUT.ptx
"""
import struct
import sys

import matrix
import ptxtest

NOT_FLOATS = matrix.code_for


def code_for(random, kind, wild):
    if kind not in matrix.FORMATS or kind == 'f64':
        return NOT_FLOATS(random, kind, wild)
    word = random.word()
    number = word % 17 - 8 if kind != 'f32' else word % 129 - 64
    if wild and word >> 20 & 127 == 0:
        number = (float('inf'), float('-inf'), float('nan'))[word >> 28 & 1 if word >> 29 & 1 else 2]
    if kind == 'f16':
        return struct.unpack('<H', struct.pack('<e', number))[0]
    bits = struct.unpack('<I', struct.pack('<f', number))[0]
    # the bits of .tf32 that do not count may be any, but where they would make a NaN of an infinity
    return bits >> 16 if kind == 'bf16' else bits | random.word() & 0x1fff if kind == 'tf32' and abs(number) < 9 else bits


def main():
    matrix.code_for = code_for
    t = matrix.Tests()
    t.file = ptxtest.File('machine.py')
    for shape, kinds in (('m16n8k8', ('f32.f16.f16.f32', 'f16.f16.f16.f16', 'f32.bf16.bf16.f32', 'f32.tf32.tf32.f32')), ('m16n8k4', ('f32.tf32.tf32.f32',)),
                         ('m16n8k16', ('f32.f16.f16.f32', 'f16.f16.f16.f16', 'f32.bf16.bf16.f32'))):
        for kind in kinds:
            t.mma('mma.sync.aligned.%s.row.col.%s' % (shape, kind))
            t.mma('mma.sync.aligned.%s.row.col.%s' % (shape, kind), True)
    for shape in ('m8n8k16', 'm16n8k16', 'm16n8k32'):
        for kinds in ('s8.s8', 'u8.s8', 's8.u8', 'u8.u8'):
            t.mma('mma.sync.aligned.%s.row.col.s32.%s.s32' % (shape, kinds))
    for shape in ('m8n8k32', 'm16n8k32', 'm16n8k64'):
        for kinds in ('s4.s4', 'u4.s4'):
            t.mma('mma.sync.aligned.%s.row.col.s32.%s.s32' % (shape, kinds))
    for shape in ('m16n16k16', 'm32n8k16', 'm8n32k16'):
        matrix.wmma_case(t, shape, 'f16', 'f32', 'f32', 'row', 'row', 'row')
        matrix.wmma_case(t, shape, 'f16', 'f16', 'f16', 'row', 'col', 'col')
        matrix.wmma_case(t, shape, 'f16', 'f32', 'f16', 'row', 'col', 'row')
        matrix.wmma_case(t, shape, 'bf16', 'f32', 'f32', 'col', 'col', 'row')
        matrix.wmma_case(t, shape, 's8', 's32', 's32', 'row', 'col', 'row')
        matrix.wmma_case(t, shape, 'u8', 's32', 's32', 'col', 'row', 'col')
    matrix.wmma_case(t, 'm16n16k8', 'tf32', 'f32', 'f32', 'row', 'col', 'row')
    matrix.wmma_case(t, 'm8n8k32', 's4', 's32', 's32', 'row', 'col', 'row')
    t.file.save(sys.argv[1])


if __name__ == '__main__':
    main()
