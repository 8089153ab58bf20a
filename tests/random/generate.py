#!/usr/bin/env python3
"""Random PTX programs: valid by construction, terminating, and with one result whatever the order of threads.

    generate.py --seed 1 --count 300 --out FOLDER      one NNNNNNN.ptx a program, named by its seed

Each program is a kernel (memory, a, b) and its launch in a comment. Memory holds a table that is only read, words for atomics
whose order does not matter, and regions in which each thread has places of its own. In the end every thread writes all of its
registers out.

Where statements may stand depends on how far threads are known to be together (class Context): barriers need the whole
block, exchanges within a warp need a member mask that holds exactly the lanes that come, everything else may stand anywhere,
also amid branches without any structure ("soup") and behind the early exit of some lanes. What surrounds the statements, first
values and the writing out, is there for those registers and variables alone that they mention: most of a program are statements,
and some programs have no barrier.
"""
import argparse
import os
import random
import re
from dataclasses import dataclass, field, replace

NAME = r'%\w+|\barray\b|\bsh\b|\bsa\b'  # a register or a variable

TABLE_WORDS = 1024
ATOMIC_WORDS = 64

SHAPES = [
    (1, 1, 1), (7, 1, 1), (32, 1, 1), (33, 1, 1), (64, 1, 1), (100, 1, 1), (256, 1, 1),
    (16, 16, 1), (8, 8, 4), (5, 3, 2), (32, 4, 1), (128, 1, 1), (4, 4, 4), (24, 2, 1),
]

# registers that statements assign and read, by the letter of their kind
POOLS = {'r': ('b32', 7), 'x': ('b64', 3), 'h': ('b16', 2), 'f': ('f32', 4), 'd': ('f64', 2), 'p': ('pred', 4)}

INTEGER_OPS = [
    # template, kinds: the result's first
    ('add.s32', 'rrr'), ('add.u32', 'rrr'), ('sub.s32', 'rrr'), ('mul.lo.s32', 'rrr'), ('mul.hi.u32', 'rrr'), ('mul.hi.s32', 'rrr'),
    ('mad.lo.s32', 'rrrr'), ('mad.lo.u32', 'rrrr'), ('min.s32', 'rrr'), ('max.u32', 'rrr'), ('min.u32', 'rrr'), ('max.s32', 'rrr'),
    ('and.b32', 'rrr'), ('or.b32', 'rrr'), ('xor.b32', 'rrr'), ('not.b32', 'rr'), ('cnot.b32', 'rr'), ('shl.b32', 'rrr'),
    ('shr.u32', 'rrr'), ('shr.s32', 'rrr'), ('neg.s32', 'rr'), ('abs.s32', 'rr'), ('sad.u32', 'rrrr'), ('sad.s32', 'rrrr'),
    ('add.sat.s32', 'rrr'), ('sub.sat.s32', 'rrr'), ('popc.b32', 'rr'), ('clz.b32', 'rr'), ('brev.b32', 'rr'),
    ('bfind.u32', 'rr'), ('bfind.s32', 'rr'), ('bfind.shiftamt.u32', 'rr'), ('bfe.u32', 'rrrr'), ('bfe.s32', 'rrrr'),
    ('bfi.b32', 'rrrrr'), ('shf.l.wrap.b32', 'rrrr'), ('shf.r.wrap.b32', 'rrrr'), ('shf.l.clamp.b32', 'rrrr'),
    ('shf.r.clamp.b32', 'rrrr'), ('prmt.b32', 'rrrr'), ('div.u32', 'rrr'), ('rem.u32', 'rrr'), ('div.s32', 'rrr'), ('rem.s32', 'rrr'),
    ('mul.wide.u32', 'xrr'), ('mul.wide.s32', 'xrr'), ('mad.wide.u32', 'xrrx'), ('mad.wide.s32', 'xrrx'), ('mul.wide.u16', 'rhh'),
    ('mul.wide.s16', 'rhh'), ('mad.wide.s16', 'rhhr'),
    ('add.s64', 'xxx'), ('sub.s64', 'xxx'), ('mul.lo.s64', 'xxx'), ('mul.hi.u64', 'xxx'), ('mul.hi.s64', 'xxx'), ('min.s64', 'xxx'),
    ('max.u64', 'xxx'), ('and.b64', 'xxx'), ('or.b64', 'xxx'), ('xor.b64', 'xxx'), ('not.b64', 'xx'), ('shl.b64', 'xxr'),
    ('shr.u64', 'xxr'), ('shr.s64', 'xxr'), ('neg.s64', 'xx'), ('abs.s64', 'xx'), ('popc.b64', 'rx'), ('clz.b64', 'rx'),
    ('brev.b64', 'xx'), ('bfind.u64', 'rx'), ('bfe.u64', 'xxrr'), ('bfe.s64', 'xxrr'), ('bfi.b64', 'xxxrr'), ('mad.lo.s64', 'xxxx'),
    ('add.s16', 'hhh'), ('sub.u16', 'hhh'), ('mul.lo.u16', 'hhh'), ('mul.hi.s16', 'hhh'), ('min.s16', 'hhh'), ('max.u16', 'hhh'),
    ('and.b16', 'hhh'), ('xor.b16', 'hhh'), ('not.b16', 'hh'), ('shl.b16', 'hhr'), ('shr.u16', 'hhr'), ('shr.s16', 'hhr'),
    ('neg.s16', 'hh'), ('mad.lo.s16', 'hhhh'), ('div.u16', 'hhh'), ('rem.s16', 'hhh'),
    ('selp.b32', 'rrrp'), ('selp.s32', 'rrrp'), ('selp.b64', 'xxxp'), ('selp.b16', 'hhhp'), ('slct.s32.s32', 'rrrr'),
    ('slct.b64.s32', 'xxxr'),
    ('mov.u32', 'rr'), ('mov.b64', 'xx'), ('mov.u16', 'hh'), ('mov.pred', 'pp'),
    ('cvt.u32.u16', 'rh'), ('cvt.s32.s16', 'rh'), ('cvt.u16.u32', 'hr'), ('cvt.s16.s32', 'hr'), ('cvt.u64.u32', 'xr'), ('cvt.s64.s32', 'xr'),
    ('cvt.u32.u64', 'rx'), ('cvt.s32.s8', 'rr'), ('cvt.u32.u8', 'rr'), ('cvt.sat.u8.s32', 'rr'), ('cvt.sat.s16.s32', 'hr'),
    ('cvt.sat.s32.s64', 'rx'), ('cvt.sat.u32.s32', 'rr'), ('cvt.s64.s8', 'xr'), ('cvt.sat.u16.s64', 'hx'), ('cvt.u64.u16', 'xh'),
    ('cvt.s16.s8', 'hh'), ('set.lt.u32.s32', 'rrr'), ('set.ge.s32.u32', 'rrr'), ('set.eq.and.u32.u32', 'rrrp'),
]
PREDICATE_OPS = [
    ('setp.%s.s32', 'prr', 'eq ne lt le gt ge'), ('setp.%s.u32', 'prr', 'eq ne lt le gt ge lo ls hi hs'),
    ('setp.%s.s64', 'pxx', 'eq ne lt le gt ge'), ('setp.%s.u64', 'pxx', 'lo hi ge'), ('setp.%s.s16', 'phh', 'lt ge'),
    ('setp.%s.u16', 'phh', 'eq ne le'), ('setp.%s.b32', 'prr', 'eq ne'),
    ('setp.%s.and.s32', 'prrp', 'lt ge eq'), ('setp.%s.or.u32', 'prrp', 'lt ne'), ('setp.%s.xor.s32', 'prrp', 'gt eq'),
    ('and.pred', 'ppp', ''), ('or.pred', 'ppp', ''), ('xor.pred', 'ppp', ''), ('not.pred', 'pp', ''),
]
FLOAT_OPS = [
    ('add{rnd}{ftz}.f32', 'fff'), ('sub{rnd}{ftz}.f32', 'fff'), ('mul{rnd}{ftz}.f32', 'fff'), ('fma{rn}{ftz}.f32', 'ffff'),
    ('add{ftz}.sat.f32', 'fff'), ('mul.sat.f32', 'fff'), ('fma{rn}.sat.f32', 'ffff'), ('mad{rn}.f32', 'ffff'),
    ('div{rn}{ftz}.f32', 'fff'), ('rcp{rn}{ftz}.f32', 'ff'), ('sqrt{rn}{ftz}.f32', 'ff'), ('min{ftz}.f32', 'fff'), ('max{ftz}.f32', 'fff'),
    ('neg{ftz}.f32', 'ff'), ('abs{ftz}.f32', 'ff'), ('mov.f32', 'ff'), ('mov.b32', 'fr'), ('mov.b32', 'rf'), ('selp.f32', 'fffp'),
    ('slct.f32.s32', 'fffr'), ('slct.s32.f32', 'rrrf'), ('set.lt.f32.f32', 'fff'), ('set.gtu.u32.f32', 'rff'),
    ('add{rnd}.f64', 'ddd'), ('sub{rnd}.f64', 'ddd'), ('mul{rnd}.f64', 'ddd'), ('fma{rn}.f64', 'dddd'), ('div{rn}.f64', 'ddd'),
    ('sqrt{rn}.f64', 'dd'), ('rcp{rn}.f64', 'dd'), ('min.f64', 'ddd'), ('max.f64', 'ddd'), ('neg.f64', 'dd'), ('abs.f64', 'dd'),
    ('mov.f64', 'dd'), ('selp.f64', 'dddp'),
    ('cvt{rn}.f32.s32', 'fr'), ('cvt{rn}.f32.u32', 'fr'), ('cvt{rn}.f32.s64', 'fx'), ('cvt{rn}.f32.u64', 'fx'), ('cvt.rn.f32.s16', 'fh'),
    ('cvt{rn}.f64.s32', 'dr'), ('cvt{rn}.f64.u64', 'dx'), ('cvt{rni}{ftz}.s32.f32', 'rf'), ('cvt{rni}.u32.f32', 'rf'),
    ('cvt{rni}.s64.f32', 'xf'), ('cvt{rni}.u64.f32', 'xf'), ('cvt{rni}.s32.f64', 'rd'), ('cvt{rni}.u32.f64', 'rd'),
    ('cvt{rni}.s64.f64', 'xd'), ('cvt{rni}.s16.f32', 'hf'),
]
FLOAT_PREDICATE_OPS = [
    ('setp.%s.f32', 'pff', 'eq ne lt le gt ge equ neu ltu leu gtu geu num nan'), ('setp.%s.ftz.f32', 'pff', 'lt ge eq'),
    ('setp.%s.f64', 'pdd', 'eq ne lt le gt ge equ neu ltu leu gtu geu num nan'), ('setp.%s.and.f32', 'pffp', 'lt geu'),
]
# what the interpreter does not know: compared with the scalar form alone
OTHER_OPS = [
    ('add.f16', 'hhh'), ('sub.f16', 'hhh'), ('mul.f16', 'hhh'), ('mul.sat.f16', 'hhh'), ('fma.rn.f16', 'hhhh'), ('fma.rn.relu.f16', 'hhhh'),
    ('min.f16', 'hhh'), ('max.NaN.f16', 'hhh'), ('neg.f16', 'hh'), ('abs.f16', 'hh'), ('add.f16x2', 'rrr'), ('mul.ftz.f16x2', 'rrr'),
    ('fma.rn.f16x2', 'rrrr'), ('min.f16x2', 'rrr'), ('max.NaN.f16x2', 'rrr'), ('fma.rn.bf16x2', 'rrrr'), ('fma.rn.relu.bf16', 'hhhh'),
    ('min.bf16x2', 'rrr'), ('neg.bf16', 'hh'), ('abs.bf16x2', 'rr'), ('cvt.rn.f16.f32', 'hf'), ('cvt.rz.f16.f32', 'hf'), ('cvt.f32.f16', 'fh'),
    ('cvt.rn.bf16.f32', 'hf'), ('cvt.f32.bf16', 'fh'), ('cvt.rn.f16x2.f32', 'rff'), ('cvt.rz.relu.bf16x2.f32', 'rff'), ('cvt{rni}.s32.f16', 'rh'),
    ('cvt{rni}.u64.f16', 'xh'), ('cvt.rn.f16.s32', 'hr'), ('cvt.f64.f16', 'dh'), ('cvt.rn.f16.u64', 'hx'), ('cvt.rna.tf32.f32', 'rf'),
    ('sin.approx{ftz}.f32', 'ff'), ('cos.approx.f32', 'ff'), ('ex2.approx{ftz}.f32', 'ff'), ('lg2.approx.f32', 'ff'), ('rsqrt.approx{ftz}.f32', 'ff'),
    ('rcp.approx.f32', 'ff'), ('sqrt.approx{ftz}.f32', 'ff'), ('div.full.f32', 'fff'), ('div.approx.f32', 'fff'), ('tanh.approx.f32', 'ff'),
    ('tanh.approx.f16', 'hh'), ('ex2.approx.f16x2', 'rr'), ('rsqrt.approx.f64', 'dd'), ('cvt{rni}.f32.f32', 'ff'), ('cvt.sat.f32.f32', 'ff'),
    ('cvt{rni}.f64.f64', 'dd'), ('copysign.f32', 'fff'), ('testp.normal.f32', 'pf'), ('testp.subnormal.f64', 'pd'),
    ('dp4a.u32.s32', 'rrrr'), ('dp4a.s32.s32', 'rrrr'), ('dp2a.lo.s32.u32', 'rrrr'), ('dp2a.hi.u32.u32', 'rrrr'), ('bmsk.clamp.b32', 'rrr'),
    ('szext.wrap.s32', 'rrr'), ('fns.b32', 'rrrr'), ('mul24.lo.s32', 'rrr'), ('mul24.hi.u32', 'rrr'), ('mad24.lo.u32', 'rrrr'),
    ('mad.hi.sat.s32', 'rrrr'), ('mad.lo.cc.u32', 'rrrr'), ('madc.hi.u32', 'rrrr'), ('prmt.b32.f4e', 'rrrr'), ('prmt.b32.ecr', 'rrrr'),
    ('setp.lt.f16', 'phh'), ('setp.neu.f16', 'phh'), ('setp.lt.f16x2', 'prr'), ('set.gt.f16x2.f16x2', 'rrr'), ('set.le.u32.f16x2', 'rrr'),
    ('cvt.pack.sat.s16.s32', 'rrr'), ('cvt.pack.sat.u8.s32.b32', 'rrrr'), ('vadd.s32.s32.u32', 'rrr'), ('vabsdiff4.u32.u32.u32.add', 'rrrr'),
    ('min.s16', 'hhh'),
]


@dataclass(frozen=True)
class Context:
    """How far the threads that come here are together, and what may be jumped to."""
    block: bool = False          # the whole block is here (but for threads that have ended)
    mask: str = ''               # member mask that holds exactly the lanes that are here; '' where none is known
    whole_warp: bool = False     # the mask is that of the whole warp
    depth: int = 0
    loops: int = 0               # loops around
    jumps: tuple = ()            # labels that may be jumped to, by some lanes alone
    may_return: bool = True      # lanes may end here alone


@dataclass
class Options:
    floats: bool = True
    warps: bool = True
    memory: bool = True
    calls: bool = True
    exits: bool = True
    flow: int = 1                # weight of branches and loops
    others: bool = False         # instructions that the interpreter does not know
    size: int = 26


class Body:
    """Statements of one kernel or function."""

    def __init__(self, program, rng, name, is_kernel):
        self.program, self.rng, self.name, self.is_kernel = program, rng, name, is_kernel
        self.lines = []
        self.declared = {}       # register -> type
        self.labels = 0
        self.temporaries = 0
        self.budget = 0
        self.tables = []         # .branchtargets
        self.kinds = list(POOLS) if program.options.floats else ['r', 'x', 'h', 'p']
        self.counters = []       # loop counters in scope, readable
        self.local = False

    # ---- text ---------------------------------------------------------------------------------------

    def emit(self, text):
        self.lines.append('\t' + text + ';')

    def label(self):
        self.labels += 1
        return f'L{self.labels}'

    def place(self, label):
        self.lines.append(label + ':')

    def temporary(self, kind):
        self.temporaries += 1
        name = f'%t{kind}{self.temporaries}'
        self.declared[name] = {**{k: v[0] for k, v in POOLS.items()}}[kind]
        return name

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, items):
        return self.rng.choice(items)

    # ---- operands ------------------------------------------------------------------------------------

    def pool(self, kind):
        return [f'%{kind}{i}' for i in range(POOLS[kind][1])]

    def immediate(self, kind):
        rng = self.rng
        if kind == 'f':
            return self.pick(['0f3F800000', '0fBF000000', '0f00000000', '0f40490FDB', '0f7F800000', '0f80000000', '0f3DCCCCCD', '0f4B800001'])
        if kind == 'd':
            return self.pick(['0d3FF0000000000000', '0dC000000000000000', '0d3FB999999999999A', '0d0000000000000000', '0d41E0000000200000'])
        bits = {'r': 32, 'x': 64, 'h': 16}[kind]
        value = self.pick([0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 255, -1, -2, -7, 1 << (bits - 1), (1 << (bits - 1)) - 1,
                           rng.getrandbits(8), rng.getrandbits(bits)])
        return str(value)

    def source(self, kind, immediates=True):
        """An operand to read, of any uniformity."""
        if kind == 'p':
            if self.is_kernel and self.chance(0.15):
                return self.pick(['%up0', '%up1'])
            return self.pick(self.pool('p'))
        roll = self.rng.random()
        if immediates and roll < 0.2:
            return self.immediate(kind)
        if kind == 'r' and self.is_kernel:
            if roll < 0.35:
                return self.pick(['%u0', '%u1', '%u2', '%tidx', '%gtid', '%lane', '%w0', '%w1'])
            if roll < 0.42 and self.counters:
                return self.pick(self.counters)
        return self.pick(self.pool(kind))

    def uniform(self):
        """A value that is the same in all threads of the block."""
        numbers = [str(self.rng.getrandbits(5)), str(self.rng.getrandbits(32))]
        return self.pick(numbers + (['%u0', '%u1', '%u2', '%ctaid_'] if self.is_kernel else []))

    def guard(self):
        if not self.chance(0.18):
            return ''
        return f'@{self.pick(["", "!"])}{self.source("p")} '

    # ---- straight-line statements ----------------------------------------------------------------------

    def spell(self, template):
        rng = self.rng
        return (template.replace('{rnd}', self.pick(['', '', '.rn', '.rz', '.rm', '.rp'])).replace('{rn}', self.pick(['.rn', '.rn', '.rz', '.rm', '.rp']))
                .replace('{rni}', self.pick(['.rni', '.rzi', '.rzi', '.rmi', '.rpi'])).replace('{ftz}', self.pick(['', '', '.ftz'])))

    def statement_assign(self, context):
        floats = self.program.options.floats
        for _ in range(self.rng.randint(1, 4)):
            table = FLOAT_OPS if floats and self.chance(0.3) else INTEGER_OPS
            if floats and self.program.options.others and self.chance(0.4):
                table = OTHER_OPS
            template, kinds = self.pick(table)
            opcode = self.spell(template)
            operands = [self.pick(self.pool(kinds[0]))]
            operands += [self.source(k, opcode.split('.')[0] != 'mov' and table is not OTHER_OPS) for k in kinds[1:]]
            if opcode.split('.')[0] in ('div', 'rem') and kinds[0] == 'h':
                t = self.temporary('h')
                self.emit(f'or.b16 {t}, {self.pick(self.pool("h"))}, 1')
                operands[-1] = t
            if opcode.startswith(('mov.b32', 'mov.b64')) and operands[1][0] != '%':
                operands[1] = self.pick(self.pool(kinds[1]))
            self.emit(f'{self.guard()}{opcode} {", ".join(operands)}')
            self.budget -= 1

    def statement_lop3(self, context):
        self.emit(f'{self.guard()}lop3.b32 {self.pick(self.pool("r"))}, {self.source("r")}, {self.source("r")}, {self.source("r")}, '
                  f'{self.rng.getrandbits(8)}')

    def statement_pack(self, context):
        r, x, h = (self.pool(k) for k in 'rxh')
        self.emit(self.guard() + self.pick([
            f'mov.b64 {self.pick(x)}, {{{self.pick(r)}, {self.pick(r)}}}', f'mov.b64 {{{r[0]}, {r[1]}}}, {self.pick(x)}',
            f'mov.b32 {self.pick(r)}, {{{self.pick(h)}, {self.pick(h)}}}', f'mov.b32 {{{h[0]}, {h[1]}}}, {self.pick(r)}']))

    def statement_predicate(self, context):
        table = FLOAT_PREDICATE_OPS if self.program.options.floats and self.chance(0.25) else PREDICATE_OPS
        template, kinds, choices = self.pick(table)
        opcode = template % self.pick(choices.split()) if choices else template
        d = self.pick(self.pool('p'))
        if opcode.startswith('setp') and self.chance(0.2):
            d += '|' + self.pick([q for q in self.pool('p') if q != d])
        operands = [self.source(k, opcode.startswith('setp')) for k in kinds[1:]]
        if kinds[-1] == 'p' and opcode.startswith('setp') and self.chance(0.3):
            operands[-1] = '!' + operands[-1]
        self.emit(f'{self.guard()}{opcode} {d}, {", ".join(operands)}')

    def statement_swap(self, context):
        kind = self.pick([k for k in self.kinds if k != 'p'])
        a, b = self.rng.sample(self.pool(kind), 2)
        t = self.temporary(kind)
        mov = 'mov.' + POOLS[kind][0]
        guard = self.guard()
        for d, s in ((t, a), (a, b), (b, t)):
            self.emit(f'{guard if d != t else ""}{mov} {d}, {s}')

    def statement_carry(self, context):
        kind, bits = self.pick([('r', '32'), ('x', '64')])
        minus = self.chance(0.4)
        sign = self.pick('us')
        low, high = ('sub.cc', 'subc') if minus else ('add.cc', 'addc')
        self.emit(f'{low}.{sign}{bits} {self.pick(self.pool(kind))}, {self.source(kind)}, {self.source(kind)}')
        for _ in range(self.rng.randint(0, 2)):
            self.emit(f'{high}.cc.{sign}{bits} {self.pick(self.pool(kind))}, {self.source(kind)}, {self.source(kind)}')
        self.emit(f'{high}.{sign}{bits} {self.pick(self.pool(kind))}, {self.source(kind)}, {self.source(kind)}')

    def statement_special(self, context):
        d = self.pick(self.pool('r'))
        self.emit(f'mov.u32 {d}, {self.pick(["%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ctaid.x", "%laneid", "%lanemask_lt", "%lanemask_ge", "%nctaid.x"])}')

    def statement_convert_double(self, context):
        """Between f32 and f64: NaNs' bits are left alone."""
        q = self.temporary('p')
        if self.chance(0.5):
            f = self.temporary('f')
            s, d = self.pick(self.pool('f')), self.pick(self.pool('d'))
            self.emit(f'setp.nan.f32 {q}, {s}, {s}')
            self.emit(f'selp.f32 {f}, 0f40400000, {s}, {q}')
            self.emit(f'{self.guard()}cvt.f64.f32 {d}, {f}')
        else:
            t = self.temporary('d')
            s, d = self.pick(self.pool('d')), self.pick(self.pool('f'))
            self.emit(f'setp.nan.f64 {q}, {s}, {s}')
            self.emit(f'selp.f64 {t}, 0d4008000000000000, {s}, {q}')
            self.emit(f'{self.guard()}cvt{self.pick([".rn", ".rz", ".rm", ".rp"])}.f32.f64 {d}, {t}')

    # ---- uniform values ---------------------------------------------------------------------------------

    def statement_uniform(self, context):
        d = self.pick(['%u0', '%u1', '%u2'])
        if self.chance(0.3):
            self.emit(f'setp.{self.pick(["lt", "ge", "eq", "ne"])}.{self.pick("us")}32 {self.pick(["%up0", "%up1"])}, {self.uniform()}, {self.uniform()}'
                      if self.chance(0.8) else 'not.pred %up0, %up1')
            return
        if self.chance(0.2) and self.program.options.memory:
            t, a = self.temporary('r'), self.temporary('x')
            self.emit(f'and.b32 {t}, {d}, {TABLE_WORDS - 1}')
            self.emit(f'mad.wide.u32 {a}, {t}, 4, %mem')
            self.emit(f'ld.global{self.pick(["", ".nc", ".ca"])}.u32 {d}, [{a}]')
            return
        op = self.pick(['add.s32', 'sub.s32', 'mul.lo.s32', 'xor.b32', 'and.b32', 'shr.u32', 'max.s32', 'min.u32'])
        self.emit(f'{op} {d}, {self.uniform()}, {self.uniform()}')

    # ---- branches -----------------------------------------------------------------------------------------

    def condition(self, context):
        """A predicate to branch on: of any kind."""
        if self.is_kernel and self.chance(0.2):
            return self.pick(['%up0', '%up1'])
        if self.chance(0.4):
            self.statement_predicate(context)
        if self.chance(0.3):
            q = self.temporary('p')
            self.emit(f'setp.{self.pick(["eq", "ne", "lt", "gt"])}.s32 {q}, {self.source("r")}, {self.source("r")}')
            return q
        if self.chance(0.3):
            q, t = self.temporary('p'), self.temporary('r')
            self.emit(f'and.b32 {t}, {self.pick(self.pool("r") + (["%tidx", "%lane"] if self.is_kernel else []))}, {self.pick([1, 3, 4, 7])}')
            self.emit(f'setp.{self.pick(["eq", "ne"])}.s32 {q}, {t}, {self.pick([0, 0, 1, 3])}')
            return q
        return self.pick(self.pool('p'))

    def free(self, context, **more):
        """The context within a branch that lanes may take alone."""
        return replace(context, block=False, mask='', whole_warp=False, depth=context.depth + 1, **more)

    def statement_if(self, context):
        condition = self.condition(context)
        sense = self.pick(['', '!'])
        end = self.label()
        inner = self.free(context)
        if self.chance(0.5):
            other = self.label()
            self.emit(f'@{sense}{condition} bra {other}')
            self.statements(inner, 1, 4)
            self.emit(f'bra{self.pick(["", ".uni"] if condition.startswith("%up") else [""])} {end}')
            self.place(other)
            self.statements(inner, 1, 3)
        else:
            self.emit(f'@{sense}{condition} bra {end}')
            self.statements(inner, 1, 4)
        self.place(end)

    def statement_uniform_if(self, context):
        """Branches of which the whole block takes the same way."""
        condition = self.pick(['%up0', '%up1'])
        q = self.temporary('p')
        self.emit(f'mov.pred {q}, {condition}')
        end, other = self.label(), self.label()
        inner = replace(context, depth=context.depth + 1)
        self.emit(f'@{q} bra{self.pick(["", ".uni"])} {other}')
        self.statements(inner, 1, 3)
        self.emit(f'bra {end}')
        self.place(other)
        if self.chance(0.5):
            self.statements(inner, 1, 3)
        self.place(end)

    def bound(self, context, uniform):
        """How often a loop runs."""
        rng = self.rng
        if self.chance(0.3):
            return str(rng.randint(0, 4))
        t = self.temporary('r')
        source = self.uniform() if uniform else self.source('r', False)
        if source[0] != '%':
            return str(rng.randint(1, 3))
        self.emit(f'and.b32 {t}, {source}, {self.pick([1, 3, 3, 7] if context.loops < 1 else [1, 3])}')
        return t

    def statement_loop(self, context):
        """Runs as often as each lane says; may be left or continued from inside, also from loops within it."""
        counter, again, onward, end = self.temporary('r'), self.label(), self.label(), self.label()
        bound = self.bound(context, self.chance(0.3))
        inner = self.free(context, loops=context.loops + 1, jumps=context.jumps + (onward, end))
        at_end = self.chance(0.5)
        q = self.temporary('p')
        self.emit(f'mov.u32 {counter}, 0')
        self.place(again)
        if not at_end:
            self.emit(f'setp.ge.s32 {q}, {counter}, {bound}')
            self.emit(f'@{q} bra {end}')
        self.counters.append(counter)
        self.statements(inner, 1, 5)
        self.counters.pop()
        self.place(onward)
        self.emit(f'add.s32 {counter}, {counter}, 1')
        if at_end:
            self.emit(f'setp.lt.s32 {q}, {counter}, {bound}')
            if self.chance(0.3):
                self.emit(f'and.pred {q}, {q}, {self.source("p")}')
            self.emit(f'@{q} bra {again}')
        else:
            self.emit(f'bra {again}')
        self.place(end)

    def statement_uniform_loop(self, context):
        """All threads of the block run it equally often."""
        counter, again, end = self.temporary('r'), self.label(), self.label()
        bound = self.bound(context, True)
        inner = replace(context, depth=context.depth + 1, loops=context.loops + 1, jumps=())
        q = self.temporary('p')
        self.emit(f'mov.u32 {counter}, 0')
        self.place(again)
        self.emit(f'setp.ge.u32 {q}, {counter}, {bound}')
        self.emit(f'@{q} bra {end}')
        self.counters.append(counter)
        self.statements(inner, 1, 4)
        self.counters.pop()
        self.emit(f'add.u32 {counter}, {counter}, 1')
        self.emit(f'bra.uni {again}')
        self.place(end)

    def statement_jump(self, context):
        """Out of, or on in, any of the loops around."""
        self.emit(f'@{self.pick(["", "!"])}{self.condition(context)} bra {self.pick(context.jumps)}')

    def statement_return(self, context):
        condition = self.condition(context)
        sense = self.pick(['', '!'])
        q = self.temporary('p')
        t = self.temporary('r')
        # rarely all of them
        self.emit(f'and.b32 {t}, {self.source("r", False)}, 7')
        self.emit(f'setp.eq.s32 {q}, {t}, {self.rng.randint(0, 7)}')
        other = self.temporary('p')
        if sense:
            self.emit(f'not.pred {other}, {condition}')
            condition = other
        self.emit(f'and.pred {q}, {q}, {condition}')
        if not self.is_kernel and self.chance(0.8):
            end = self.label()
            self.emit(f'@!{q} bra {end}')
            self.finish_function()
            self.emit('ret')
            self.place(end)
        elif not self.is_kernel:
            self.emit(f'@{q} exit')
        else:
            self.emit(f'@{q} {self.pick(["exit", "ret"])}')

    def statement_switch(self, context):
        count = self.rng.randint(2, 5)
        labels = [self.label() for _ in range(count)]
        end = self.label()
        index = self.temporary('r')
        if self.chance(0.3):
            labels[-1] = labels[0]
        self.emit(f'rem.u32 {index}, {self.source("r", False)}, {count}')
        table = f'T{len(self.tables)}'
        self.tables.append(table)
        self.lines.append(f'\t{table}: .branchtargets {", ".join(labels)};')
        self.emit(f'brx.idx {index}, {table}')
        inner = self.free(context)
        for label in dict.fromkeys(labels):
            self.place(label)
            self.statements(inner, 1, 2)
            if self.chance(0.7):
                self.emit(f'bra {end}')
        self.place(end)

    def statement_soup(self, context):
        """Blocks that branch to one another at will, loops with several entries included, as long as there is fuel."""
        fuel, q = self.temporary('r'), self.temporary('p')
        count = self.rng.randint(2, 6)
        labels = [self.label() for _ in range(count)]
        exits = [self.label() for _ in range(self.rng.randint(1, 2))]
        inner = self.free(context, loops=context.loops + 2, jumps=context.jumps + tuple(exits))
        self.emit(f'mov.u32 {fuel}, {self.rng.randint(2, 6)}' if self.chance(0.5) else f'and.b32 {fuel}, {self.source("r", False)}, 7')
        if self.chance(0.6):
            self.emit(f'@{self.condition(context)} bra {self.pick(labels)}')
        self.counters.append(fuel)
        for i, label in enumerate(labels):
            self.place(label)
            self.emit(f'sub.s32 {fuel}, {fuel}, 1')
            self.emit(f'setp.lt.s32 {q}, {fuel}, 0')
            self.emit(f'@{q} bra {self.pick(exits)}')
            self.statements(inner, 1, 2)
            for _ in range(self.rng.randint(0, 2)):
                self.emit(f'@{self.pick(["", "!"])}{self.condition(inner)} bra {self.pick(labels + exits)}')
            if self.chance(0.3):
                self.emit(f'bra {self.pick(labels)}')
        self.counters.pop()
        for label in exits:
            self.place(label)
            self.statement_assign(context)

    # ---- memory -------------------------------------------------------------------------------------------------

    def table_address(self):
        """Somewhere in the table that is only read: the same place, places side by side, or anywhere."""
        a, t = self.temporary('x'), self.temporary('r')
        if self.is_kernel and self.chance(0.4):
            self.emit(f'add.s32 {t}, {self.pick(["%tidx", "%gtid", "%lane"])}, {self.pick([str(self.rng.randint(0, 200)), "%u0"])}')
            self.emit(f'and.b32 {t}, {t}, {TABLE_WORDS - 1}')
        else:
            self.emit(f'and.b32 {t}, {self.source("r", False)}, {TABLE_WORDS - 1}')
        if self.chance(0.5):
            self.emit(f'mad.wide.u32 {a}, {t}, 4, %mem')
        else:
            self.emit(f'shl.b32 {t}, {t}, 2')
            b = self.temporary('x')
            self.emit(f'cvt.{self.pick(["u64.u32", "s64.s32"])} {b}, {t}')
            self.emit(f'add.s64 {a}, %mem, {b}')
        return a

    def statement_gather(self, context):
        a = self.table_address()
        space = self.pick(['.global', '.global.nc', '', '.global'])
        kind, types = self.pick([('r', ['u32', 's32', 'b32', 'u16', 's16', 'u8', 's8']), ('h', ['u16', 's16', 'u8']), ('x', ['u32', 's16']),
                                 ('f', ['f32'])])
        if kind not in self.kinds:
            return
        self.emit(f'{self.guard()}ld{space}.{self.pick(types)} {self.pick(self.pool(kind))}, [{a}]')

    def own_place(self):
        """(address, offset, bytes) of a place that only this thread uses."""
        region = self.pick(self.program.regions)
        if self.chance(0.5):
            return region, f'%a{region.number}'
        a = self.temporary('x')
        region.write_address(self, a)
        return region, a

    def statement_own(self, context):
        region, a = self.own_place()
        if region.words == 1:
            offset, kinds = 0, [('r', 'u32 s32 b32'), ('h', 'u16 s16'), ('r', 'u8 s8 u16 s16'), ('f', 'f32')]
        elif region.words == 2:
            offset, kinds = self.pick([0, 4]), [('r', 'u32'), ('x', 'u64 s64 b64'), ('rr', 'v2.u32'), ('r', 'u16')]
        elif region.words == 3:
            offset, kinds = self.pick([0, 4, 8]), [('r', 'u32'), ('f', 'f32'), ('h', 's16')]
        else:
            offset, kinds = self.pick([0, 4, 8, 12]), [('r', 'u32'), ('rrrr', 'v4.u32'), ('rr', 'v2.u32'), ('x', 'b64'), ('xx', 'v2.u64')]
        kind, types = self.pick(kinds)
        if kind[0] not in self.kinds:
            return
        type_ = self.pick(types.split())
        size = {'u8': 1, 's8': 1, 'u16': 2, 's16': 2, 'v2.u32': 8, 'u64': 8, 's64': 8, 'b64': 8, 'v4.u32': 16, 'v2.u64': 16}.get(type_, 4)
        offset = offset // size * size
        if size < 4 and self.chance(0.4):
            offset += size
        space = self.pick(['.global', '.global', ''])
        volatile = self.pick(['', '', '', '.volatile'])
        where = f'[{a}+{offset}]' if offset or self.chance(0.2) else f'[{a}]'
        guard = self.guard()
        if self.chance(0.5):
            data = [self.source(kind[0], False) for _ in kind]
            self.emit(f'{guard}st{volatile}{space}.{type_} {where}, {data[0] if len(data) == 1 else "{" + ", ".join(data) + "}"}')
        else:
            data = self.rng.sample(self.pool(kind[0]), len(kind))
            self.emit(f'{guard}ld{volatile}{space}.{type_} {data[0] if len(data) == 1 else "{" + ", ".join(data) + "}"}, {where}')

    def statement_own_atomic(self, context):
        region, a = self.own_place()
        d = self.pick(self.pool('r'))
        op = self.pick(['exch.b32', 'cas.b32', 'add.u32', 'min.s32', 'max.u32', 'inc.u32', 'dec.u32', 'xor.b32'])
        operands = f'{self.source("r")}, {self.source("r")}' if op.startswith('cas') else self.source('r')
        self.emit(f'{self.guard()}atom{self.pick(["", ".relaxed.gpu"])}{self.pick([".global", ""])}.{op} {d}, [{a}], {operands}')

    def statement_atomic(self, context):
        """A word that all may change, always in the same way: nobody looks before the end."""
        ops = ['add.u32', 'min.s32', 'max.u32', 'and.b32', 'or.b32', 'xor.b32', 'min.u32', 'max.s32']
        which = self.rng.randrange(ATOMIC_WORDS // 2)
        word = TABLE_WORDS + which
        op = ops[which % len(ops)]
        if self.chance(0.3):
            which = self.rng.randrange(ATOMIC_WORDS // 4)
            word = TABLE_WORDS + ATOMIC_WORDS // 2 + 2 * which
            op = ['add.u64', 'min.s64', 'max.u64', 'xor.b64'][which % 4]
        value = self.source('x' if '64' in op else 'r')
        guard = self.guard()
        if self.chance(0.6):
            self.emit(f'{guard}red{self.pick(["", ".relaxed.gpu"])}.global.{op} [%mem+{4 * word}], {value}')
        else:
            self.emit(f'{guard}atom.global.{op} {self.temporary("x" if "64" in op else "r")}, [%mem+{4 * word}], {value}')

    def statement_local(self, context):
        """An array that each thread has of its own."""
        self.local = True
        t, a, d = self.temporary('r'), self.temporary('x'), self.pick(self.pool('r'))
        self.emit(f'and.b32 {t}, {self.source("r")}, 7')
        self.emit(f'mad.wide.u32 {a}, {t}, 4, %loc')
        space = '.local'
        if self.chance(0.3):
            self.emit(f'cvta.local.u64 {a}, {a}')
            space = ''
        if self.chance(0.5):
            self.emit(f'{self.guard()}st{space}.u32 [{a}], {self.source("r", False)}')
        else:
            self.emit(f'{self.guard()}ld{space}.u32 {d}, [{a}]')

    def index(self):
        """A number that grows evenly along the lanes, and may wrap around."""
        t = self.temporary('r')
        source = self.pick(['%tidx', '%gtid', '%lane', '%tid_']) if self.is_kernel else '%r0'
        step = self.pick(['1', '1', '2', '-1', '3', '4', '-4', str(self.rng.getrandbits(32)), str(1 << self.rng.randrange(32)), '%u0'
                          if self.is_kernel else '5'])
        offset = self.pick([str(self.rng.randint(-40, 40)), str(self.rng.randint(0, 900)), str(self.rng.getrandbits(32)), self.uniform()])
        way = self.rng.randrange(4)
        if way == 0:
            self.emit(f'mad.lo.{self.pick("us")}32 {t}, {source}, {step}, {offset}')
        elif way == 1:
            self.emit(f'mul.lo.s32 {t}, {source}, {step}')
            self.emit(f'{self.pick(["add", "sub"])}.s32 {t}, {t}, {offset}')
        elif way == 2:
            self.emit(f'shl.b32 {t}, {source}, {self.rng.choice([0, 1, 2, 3, 28, 31])}')
            self.emit(f'sub.u32 {t}, {offset}, {t}')
        else:
            self.emit(f'xor.b32 {t}, {source}, {self.pick(["1", "3", "7", "-1", offset])}')
        return t

    def statement_index(self, context):
        """What becomes of such a number when it is widened, compared, narrowed."""
        t = self.index()
        x, r, p, h = (self.pick(self.pool(k)) for k in 'xrph')
        self.emit(self.guard() + self.pick([
            f'mul.wide.{self.pick("us")}32 {x}, {t}, {self.pick(["4", "-8", "1", "%r1"])}', f'cvt.{self.pick(["u64.u32", "s64.s32"])} {x}, {t}',
            f'cvt.{self.pick(["u16.u32", "s16.s32"])} {h}, {t}', f'mad.wide.{self.pick("us")}32 {x}, {t}, {self.rng.randint(1, 20)}, {self.pick(self.pool("x"))}',
            f'setp.{self.pick(["lt", "ge", "eq"])}.{self.pick("us")}32 {p}, {t}, {self.source("r")}', f'mov.u32 {r}, {t}',
            f'shr.{self.pick("us")}32 {r}, {t}, {self.pick([1, 2, 5, 31])}', f'and.b32 {r}, {t}, {self.pick([-32, 31, 1, 255])}',
            f'rem.u32 {r}, {t}, {self.pick([3, 32, 7])}', f'min.s32 {r}, {t}, {self.source("r")}', f'selp.b32 {r}, {t}, {self.source("r")}, {self.source("p")}',
            f'neg.s32 {r}, {t}', f'cvt.{self.pick(["s32.s8", "u32.u16", "u32.u8"])} {r}, {t}']))

    def statement_stencil(self, context):
        """A neighbour's word, where there is such a neighbour."""
        t, q, a, d = self.index(), self.temporary('p'), self.temporary('x'), self.pick(self.pool('r'))
        self.emit(f'setp.{self.pick(["lt", "lo"])}.u32 {q}, {t}, {TABLE_WORDS}')
        way = self.rng.randrange(4)
        b = self.temporary('x')
        if way == 0:
            self.emit(f'mad.wide.{self.pick("us")}32 {a}, {t}, 4, %mem')
        elif way == 1:
            self.emit(f'mul.wide.{self.pick("us")}32 {b}, {t}, 4')
            self.emit(f'add.s64 {a}, %mem, {b}')
        elif way == 2:
            self.emit(f'cvt.{self.pick(["u64.u32", "s64.s32"])} {b}, {t}')
            self.emit(f'shl.b64 {b}, {b}, 2')
            self.emit(f'add.s64 {a}, %mem, {b}')
        else:
            self.emit(f'shl.b32 {t}, {t}, 2')
            self.emit(f'cvt.u64.u32 {b}, {t}')
            self.emit(f'add.s64 {a}, {b}, %mem')
        load = f'ld{self.pick([".global", ".global.nc", ""])}.{self.pick(["u32", "s32", "u16", "s8"])} {d}, [{a}]'
        if self.chance(0.5):
            self.emit(f'@{q} {load}')
        else:
            end = self.label()
            self.emit(f'@!{q} bra {end}')
            self.emit(load)
            if self.chance(0.5):
                self.statements(self.free(context), 1, 1)
            self.place(end)

    def statement_const(self, context):
        t, a = self.temporary('r'), self.temporary('x')
        self.emit(f'and.b32 {t}, {self.source("r")}, 15')
        self.emit(f'mov.u64 {a}, ctable')
        self.emit(f'mad.wide.u32 {a}, {t}, 4, {a}')
        self.emit(f'{self.guard()}ld.const.u32 {self.pick(self.pool("r"))}, [{a}]')

    def shared_address(self, which):
        """32-bit or generic address of a thread's word, which: its number."""
        a = self.temporary('r')
        self.emit(f'mov.u32 {a}, sh')
        self.emit(f'mad.lo.u32 {a}, {which}, 4, {a}')
        if self.chance(0.2):
            x = self.temporary('x')
            self.emit(f'cvt.u64.u32 {x}, {a}')
            self.emit(f'cvta.shared.u64 {x}, {x}')
            return x, ''
        return a, '.shared'

    def statement_exchange(self, context):
        """Through shared memory, around barriers."""
        threads = self.program.threads
        a, space = self.shared_address('%tid_')
        self.emit(f'{self.guard()}st{space}.u32 [{a}], {self.source("r", False)}')
        self.barrier(context)
        t = self.temporary('r')
        way = self.rng.randrange(6)
        if way >= 4:
            self.neighbour(threads)
            self.barrier(context)
            return
        if way == 0:
            self.emit(f'sub.s32 {t}, {threads - 1}, %tid_')
        elif way == 1:
            self.emit(f'xor.b32 {t}, %tid_, {self.pick([1, 2, 5, 16, 33])}')
            self.emit(f'rem.u32 {t}, {t}, {threads}')
        elif way == 2:
            self.emit(f'add.u32 {t}, %tid_, {self.rng.randrange(threads)}')
            self.emit(f'rem.u32 {t}, {t}, {threads}')
        else:
            self.emit(f'rem.u32 {t}, {self.source("r", False)}, {threads}')
        b, space = self.shared_address(t)
        self.emit(f'{self.guard()}ld{space}.u32 {self.pick(self.pool("r"))}, [{b}]')
        self.barrier(context)

    def neighbour(self, threads):
        """Another thread's shared word, where there is such a thread."""
        t, q = self.index(), self.temporary('p')
        self.emit(f'setp.lt.u32 {q}, {t}, {threads}')
        a, space = self.shared_address(t)
        self.emit(f'@{q} ld{space}.u32 {self.pick(self.pool("r"))}, [{a}]')

    def statement_barrier(self, context):
        self.barrier(context, True)

    def barrier(self, context, extra=None):
        """extra: nothing depends on it, so that it may have a guard."""
        number = self.pick(['0', '0', '0', '1', '5'])
        roll = self.rng.random()
        guard = '' if self.chance(0.8) or extra is None else f'@{self.pick(["", "!"])}{self.pick(["%up0", "%up1"])} '
        if roll < 0.6:
            self.emit(f'{guard}{self.pick(["bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.cta.sync"])} {number}')
        elif roll < 0.8:
            self.emit(f'{guard}bar.red.popc.u32 {self.pick(["%u0", "%u1", self.pool("r")[0]])}, {number}, {self.pick(["", "!"])}{self.source("p")}')
        else:
            self.emit(f'{guard}bar.red.{self.pick(["and", "or"])}.pred {self.pick(["%up0", "%up1", self.pool("p")[0]])}, {number}, {self.source("p")}')

    def statement_shared_atomic(self, context):
        ops = ['add.u32', 'min.s32', 'max.u32', 'and.b32', 'or.b32', 'xor.b32']
        which = self.rng.randrange(12)
        self.emit(f'{self.guard()}{self.pick(["red.shared", "red.relaxed.cta.shared"])}.{ops[which % 6]} [sa+{4 * which}], {self.source("r")}')

    # ---- warps ------------------------------------------------------------------------------------------------------

    def all_here(self, context):
        return context.whole_warp and self.program.threads % 32 == 0 and not self.program.exits

    def statement_shuffle(self, context):
        d, s = self.pick(self.pool('r')), self.source('r', False)
        if self.program.options.floats and self.chance(0.2):
            d, s = self.pick(self.pool('f')), self.pick(self.pool('f'))
        pair = '|' + self.pick(self.pool('p')) if self.chance(0.3) else ''
        if self.all_here(context):
            mode = self.pick(['up', 'down', 'bfly', 'idx'])
            width = self.pick([32, 32, 32, 16, 8, 4])
            c = (32 - width) << 8 | (0 if mode == 'up' else 31)
            by = self.pick([str(self.rng.randrange(32)), self.source('r'), '1', '16', '%u1'])
            self.emit(f'{self.guard_all()}shfl.sync.{mode}.b32 {d}{pair}, {s}, {by}, {c if self.chance(0.8) else self.constant_in_register(c)}, {context.mask}')
            return
        # from lanes that are known to be here
        here, t, q, own = self.temporary('r'), self.temporary('r'), self.temporary('p'), self.temporary('r')
        self.emit(f'vote.sync.ballot.b32 {here}, %true, {context.mask}')
        if self.chance(0.4):
            self.emit(f'brev.b32 {t}, {here}')
            self.emit(f'clz.b32 {t}, {t}')
        else:
            self.emit(f'and.b32 {t}, {self.source("r")}, 31' if self.chance(0.5) else f'xor.b32 {t}, %lane, {self.rng.randrange(32)}')
        self.emit(f'shr.u32 {own}, {here}, {t}')
        self.emit(f'and.b32 {own}, {own}, 1')
        self.emit(f'setp.ne.u32 {q}, {own}, 0')
        self.emit(f'selp.b32 {t}, {t}, %lane, {q}')
        self.emit(f'shfl.sync.idx.b32 {d}{pair}, {s}, {t}, 31, {context.mask}')

    def guard_all(self):
        return ''

    def constant_in_register(self, value):
        t = self.temporary('r')
        self.emit(f'mov.u32 {t}, {value}')
        return t

    def warp_result(self, context, pool):
        """Where a result goes that is the same in all lanes of the mask."""
        if pool == 'r' and context.whole_warp and self.chance(0.4):
            return self.pick(['%w0', '%w1'])
        return self.pick(self.pool(pool))

    def statement_vote(self, context):
        mode = self.pick(['all', 'any', 'uni', 'ballot', 'ballot'])
        d = self.warp_result(context, 'r' if mode == 'ballot' else 'p')
        p = self.pick(['', '', '!']) + self.source('p')
        self.emit(f'vote.sync.{mode}.{"b32" if mode == "ballot" else "pred"} {d}, {p}, {context.mask}')

    def statement_redux(self, context):
        op = self.pick(['add.u32', 'add.s32', 'min.s32', 'max.s32', 'min.u32', 'max.u32', 'and.b32', 'or.b32', 'xor.b32'])
        self.emit(f'redux.sync.{op} {self.warp_result(context, "r")}, {self.source("r", False)}, {context.mask}')

    def statement_match(self, context):
        s, t = self.source('r', False), self.temporary('r')
        self.emit(f'and.b32 {t}, {s}, {self.pick([1, 3, 7, -1])}')
        if self.chance(0.5):
            self.emit(f'match.any.sync.b32 {self.pick(self.pool("r"))}, {t}, {context.mask}')
        else:
            self.emit(f'match.all.sync.b32 {self.pick(self.pool("r"))}|{self.pick(self.pool("p"))}, {t}, {context.mask}')

    def statement_warp_sync(self, context):
        self.emit(f'bar.warp.sync {context.mask}')

    def statement_masked_if(self, context):
        """Lanes part, each side knows who is there."""
        p, q = self.condition(context), self.temporary('p')
        self.emit(f'mov.pred {q}, {p}')
        yes, no = self.temporary('r'), self.temporary('r')
        self.emit(f'vote.sync.ballot.b32 {yes}, {q}, {context.mask}')
        self.emit(f'vote.sync.ballot.b32 {no}, !{q}, {context.mask}')
        other, end = self.label(), self.label()
        inner = replace(context, block=False, whole_warp=False, depth=context.depth + 1)
        self.emit(f'@!{q} bra {other}')
        self.statements(replace(inner, mask=yes, jumps=()), 1, 3)
        self.emit(f'bra {end}')
        self.place(other)
        if self.chance(0.6):
            self.statements(replace(inner, mask=no, jumps=()), 1, 3)
        self.place(end)

    def statement_masked_loop(self, context):
        """Lanes leave one after the other, those that stay know who does."""
        mask, counter, q, again, end = self.temporary('r'), self.temporary('r'), self.temporary('p'), self.label(), self.label()
        bound = self.bound(context, False)
        inner = replace(context, block=False, whole_warp=False, depth=context.depth + 1, loops=context.loops + 1, mask=mask, jumps=())
        self.emit(f'mov.u32 {mask}, {context.mask}')
        self.emit(f'mov.u32 {counter}, 0')
        self.place(again)
        self.emit(f'setp.lt.s32 {q}, {counter}, {bound}')
        if self.chance(0.3):
            self.emit(f'and.pred {q}, {q}, {self.source("p")}')
        self.emit(f'vote.sync.ballot.b32 {mask}, {q}, {mask}')
        self.emit(f'@!{q} bra {end}')
        self.counters.append(counter)
        self.statements(inner, 1, 3)
        self.counters.pop()
        self.emit(f'add.s32 {counter}, {counter}, 1')
        self.emit(f'bra {again}')
        self.place(end)

    # ---- calls -----------------------------------------------------------------------------------------------------

    def statement_call(self, context):
        callable_ = self.program.functions
        if not callable_:
            return
        function = self.pick(callable_)
        d = self.pick(self.pool('r'))
        n = self.temporary('r')
        self.emit(f'and.b32 {n}, {self.source("r")}, 3')
        self.write_call(function.name, n, self.source('r', False), d)

    def write_call(self, name, first, second, result):
        self.lines.append('\t{')
        for parameter, type_ in (('qa', 'b32'), ('qb', 'b32'), ('qm', 'b64'), ('qr', 'b32')):
            self.lines.append(f'\t.param .{type_} {parameter};')
        self.emit(f'st.param.b32 [qa], {first}')
        self.emit(f'st.param.b32 [qb], {second}')
        self.emit('st.param.b64 [qm], %mem')
        self.emit(f'call{self.pick(["", ".uni"])} (qr), {name}, (qa, qb, qm)')
        self.emit(f'ld.param.b32 {result}, [qr]')
        self.lines.append('\t}')

    def finish_function(self):
        self.emit(f'st.param.b32 [result], {self.pick(self.pool("r"))}')

    # ---- choice ------------------------------------------------------------------------------------------------------

    def choices(self, context):
        o = self.program.options
        table = [(self.statement_assign, 30), (self.statement_predicate, 8), (self.statement_swap, 3), (self.statement_carry, 3),
                 (self.statement_special, 3), (self.statement_lop3, 2), (self.statement_pack, 2)]
        nest = context.depth < 5 and self.budget > 0
        if o.floats:
            table.append((self.statement_convert_double, 2))
        if nest:
            table += [(self.statement_if, 12 * o.flow), (self.statement_switch, 3 * o.flow)]
            if context.loops < 3:
                table.append((self.statement_loop, 9 * o.flow))
            if context.loops < 2:
                table.append((self.statement_soup, 4 * o.flow))
        if context.jumps and not context.mask:
            table.append((self.statement_jump, 12 * o.flow))
        if o.exits and self.program.exits and context.may_return and not (context.mask and not context.whole_warp):
            table.append((self.statement_return, 3))
        if o.memory:
            table += [(self.statement_gather, 8), (self.statement_stencil, 4)]
            if self.is_kernel:
                table += [(self.statement_own, 10), (self.statement_atomic, 3), (self.statement_local, 4), (self.statement_const, 2),
                          (self.statement_own_atomic, 2), (self.statement_shared_atomic, 2)]
        if o.calls and self.program.functions and (self.is_kernel or context.loops < 2):
            table.append((self.statement_call, 4))
        table.append((self.statement_index, 3))
        if self.is_kernel and context.block:
            table.append((self.statement_uniform, 8))
            if nest and context.loops < 2:
                table += [(self.statement_uniform_if, 5), (self.statement_uniform_loop, 5)]
            if o.memory:
                table += [(self.statement_exchange, 6), (self.statement_barrier, 2)]
        if context.mask and o.warps:
            table += [(self.statement_shuffle, 6), (self.statement_vote, 5), (self.statement_redux, 3), (self.statement_match, 2),
                      (self.statement_warp_sync, 1)]
            if nest:
                table.append((self.statement_masked_if, 7))
                if context.loops < 2:
                    table.append((self.statement_masked_loop, 5))
        return table

    def statements(self, context, least, most):
        for _ in range(self.rng.randint(least, most)):
            table = self.choices(context)
            choice = self.rng.choices([c for c, _ in table], [w for _, w in table])[0]
            self.budget -= 1
            choice(context)

    # ---- the whole ---------------------------------------------------------------------------------------------------

    def declare_pools(self):
        for kind in self.kinds:
            for name in self.pool(kind):
                self.declared[name] = POOLS[kind][0]

    def declarations(self):
        by_type = {}
        for name, type_ in self.declared.items():
            by_type.setdefault(type_, []).append(name)
        return [f'\t.reg .{type_} {", ".join(names)};' for type_, names in by_type.items()]


class Region:
    """A part of memory in which each thread has `words` words of its own."""

    def __init__(self, number, start, words, way, threads, constant):
        self.number, self.start, self.words, self.way, self.threads, self.constant = number, start, words, way, threads, constant

    def write_address(self, body, a):
        """Into register `a`: in one of the ways in which compilers write it."""
        index = '%gtid'
        if self.way == 'reversed':
            index = body.temporary('r')
            body.emit(f'sub.s32 {index}, {self.threads - 1}, %gtid')
        elif self.way == 'xor':
            index = body.temporary('r')
            body.emit(f'xor.b32 {index}, %gtid, {self.constant}')
        size = 4 * self.words
        way = body.rng.randrange(3)
        if way == 0:
            body.emit(f'mad.wide.u32 {a}, {index}, {size}, %mem')
            body.emit(f'add.s64 {a}, {a}, {4 * self.start}')
        elif way == 1:
            t = body.temporary('x')
            body.emit(f'mul.wide.s32 {t}, {index}, {size}')
            body.emit(f'add.s64 {t}, {t}, %mem')
            body.emit(f'add.s64 {a}, {t}, {4 * self.start}')
        else:
            t, u = body.temporary('r'), body.temporary('x')
            body.emit(f'mul.lo.s32 {t}, {index}, {size}')
            body.emit(f'add.s32 {t}, {t}, {4 * self.start}')
            body.emit(f'cvt.{body.pick(["u64.u32", "s64.s32"])} {u}, {t}')
            body.emit(f'add.s64 {a}, {u}, %mem')


class Program:
    def __init__(self, seed, options):
        self.seed, self.options = seed, options
        self.rng = random.Random(seed)
        rng = self.rng
        self.shape = rng.choice(SHAPES)
        self.grid = rng.choice([(1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 1, 1)])
        self.threads = self.shape[0] * self.shape[1] * self.shape[2]
        self.total = self.threads * self.grid[0] * self.grid[1] * self.grid[2]
        self.exits = options.exits and rng.random() < 0.4
        self.functions = []
        self.regions = []
        self.words = TABLE_WORDS + ATOMIC_WORDS
        for number, words in enumerate([1, 1, 2, 4, 3]):
            ways = ['plain', 'plain', 'reversed'] + (['xor'] if self.total % 32 == 0 else [])
            self.words = (self.words + 3) // 4 * 4
            self.regions.append(Region(number, self.words, words, rng.choice(ways), self.total, rng.choice([1, 4, 7, 16, 31])))
            self.words += words * self.total

    def prologue(self, body):
        declared = body.declared
        for name in ('%mem', '%loc'):
            declared[name] = 'b64'
        for name in ('%u0', '%u1', '%u2', '%w0', '%w1', '%tidx', '%tid_', '%gtid', '%lane', '%ctaid_', '%wm'):
            declared[name] = 'b32'
        for name in ('%up0', '%up1', '%true'):
            declared[name] = 'pred'
        e = body.emit
        e('ld.param.u64 %mem, [memory]')
        e('ld.param.u32 %u0, [a]')
        e('ld.param.u32 %u1, [b]')
        e('mov.u32 %tidx, %tid.x')
        x, y, z = self.shape
        t, n = body.temporary('r'), body.temporary('r')
        if y == 1 and z == 1:
            e('mov.u32 %tid_, %tid.x')
        else:
            e(f'mov.u32 {t}, %tid.z')
            e(f'mov.u32 {n}, %ntid.y')
            e(f'mul.lo.u32 {t}, {t}, {n}')
            e(f'mov.u32 {n}, %tid.y')
            e(f'add.u32 {t}, {t}, {n}')
            e(f'mov.u32 {n}, %ntid.x')
            e(f'mad.lo.u32 %tid_, {t}, {n}, %tidx')
        e('mov.u32 %ctaid_, %ctaid.x')
        if self.grid[1] > 1:
            e(f'mov.u32 {t}, %ctaid.y')
            e(f'mov.u32 {n}, %nctaid.x')
            e(f'mad.lo.u32 %ctaid_, {t}, {n}, %ctaid_')
        e(f'mad.lo.{body.pick("us")}32 %gtid, %ctaid_, {self.threads}, %tid_')
        e('mov.u32 %lane, %laneid')
        e('mov.u32 %u2, %ctaid_')
        e('mov.u32 %w0, %u0')
        e('mov.u32 %w1, 5')
        e('setp.eq.u32 %true, 0, 0')
        e('setp.lt.s32 %up0, %u0, %u1')
        e('setp.eq.s32 %up1, %ctaid_, 1')
        if self.threads % 32 == 0:
            e('mov.u32 %wm, -1')
        elif self.threads < 32:
            e(f'mov.u32 %wm, {(1 << self.threads) - 1}')
        else:
            whole = self.threads // 32 * 32
            e(f'setp.lt.u32 %p0, %tid_, {whole}')
            e(f'selp.b32 %wm, -1, {(1 << (self.threads - whole)) - 1}, %p0')
        e('mov.u64 %loc, array')
        for i in range(8):
            e(f'st.local.u32 [array+{4 * i}], {body.pick(["%gtid", "%u1", str(i)])}')
        for region in self.regions:
            declared[f'%a{region.number}'] = 'b64'
            region.write_address(body, f'%a{region.number}')
        self.first_values(body)

    def prologue_shared(self, body, mentions):
        """First values of the shared variables that are used."""
        e = body.emit
        if mentions('sh'):
            a, space = body.shared_address('%tid_')
            e(f'st{space}.u32 [{a}], %gtid')
        if mentions('sa'):
            self.prologue_counters(body)
        if mentions('sh') or mentions('sa'):
            e('bar.sync 0')

    @staticmethod
    def prologue_counters(body):
        e = body.emit
        q = body.temporary('p')
        e(f'setp.ne.u32 {q}, %tid_, 0')
        skip = body.label()
        e(f'@{q} bra {skip}')
        for i in range(12):
            e(f'st.shared.u32 [sa+{4 * i}], {body.rng.getrandbits(32)}')
        body.place(skip)

    def first_values(self, body):
        """All registers of the pools get values: uniform, lane by lane, and anything."""
        e = body.emit
        for i, name in enumerate(body.pool('r')):
            way = body.rng.randrange(5)
            if way == 0:
                e(f'mov.u32 {name}, {body.rng.getrandbits(body.pick([4, 32]))}')
            elif way == 1:
                e(f'mov.u32 {name}, {body.pick(["%u0", "%u1", "%ctaid_"])}')
            elif way == 2:
                e(f'mad.lo.s32 {name}, {body.pick(["%tidx", "%gtid", "%lane", "%tid_"])}, {body.rng.randint(-3, 9)}, {body.rng.randint(-40, 40)}')
            elif way == 3:
                a = body.temporary('x')
                e(f'and.b32 {name}, %gtid, {TABLE_WORDS - 1}')
                e(f'mad.wide.u32 {a}, {name}, 4, %mem')
                e(f'ld.global.u32 {name}, [{a}]')
            else:
                e(f'mul.lo.u32 {name}, %gtid, {body.rng.getrandbits(32) | 1}')
        self.derive(body)

    @staticmethod
    def derive(body):
        """The other pools' first values from %r registers."""
        e = body.emit
        r = body.pool('r')
        for name in body.pool('x'):
            e(f'mul.wide.{body.pick("us")}32 {name}, {body.pick(r)}, {body.rng.getrandbits(31)}')
        for name in body.pool('h'):
            e(f'cvt.u16.u32 {name}, {body.pick(r)}')
        for name in body.pool('p'):
            t = body.temporary('r')
            e(f'and.b32 {t}, {body.pick(r)}, {body.pick([1, 2, 4])}')
            e(f'setp.eq.s32 {name}, {t}, 0')
        if 'f' in body.kinds:
            for name in body.pool('f'):
                e(body.pick([f'mov.b32 {name}, {body.pick(r)}', f'cvt.rn.f32.s32 {name}, {body.pick(r)}']))
            for name in body.pool('d'):
                e(f'cvt.rn.f64.s32 {name}, {body.pick(r)}')

    def epilogue(self, body, mentions):
        """Everything that was used is written where it can be seen."""
        e = body.emit
        place = body.temporary('x')
        e(f'mad.wide.u32 {place}, %gtid, 4, %mem')
        at = self.words

        def put(type_, name):
            nonlocal at
            e(f'st.global.{type_} [{place}+{4 * at}], {name}')
            at += self.total

        def used(kind):
            return [name for name in body.pool(kind) if mentions(name)]

        for name in used('r') + [name for name in ['%u0', '%u1', '%u2', '%w0', '%w1'] if mentions(name)]:
            put('u32', name)
        for name in used('x'):
            low, high = body.temporary('r'), body.temporary('r')
            e(f'mov.b64 {{{low}, {high}}}, {name}')
            put('u32', low)
            put('u32', high)
        if used('h'):
            bits = body.temporary('r')
            e(f'mov.b32 {bits}, {{{", ".join(body.pool("h"))}}}')
            put('u32', bits)
        bits, one = body.temporary('r'), body.temporary('r')
        e(f'mov.u32 {bits}, 0')
        for i, name in enumerate(used('p')):
            e(f'selp.u32 {one}, {1 << i}, 0, {name}')
            e(f'or.b32 {bits}, {bits}, {one}')
        put('u32', bits)
        if 'f' in body.kinds:
            for name in used('f'):
                put('f32', name)
            for name in used('d'):
                q, low, high, t = body.temporary('p'), body.temporary('r'), body.temporary('r'), body.temporary('d')
                e(f'setp.nan.f64 {q}, {name}, {name}')
                e(f'selp.f64 {t}, 0d7FF8000000000000, {name}, {q}')
                e(f'mov.b64 {{{low}, {high}}}, {t}')
                put('u32', low)
                put('u32', high)
        # shared memory, when all are done
        t = body.temporary('r')
        if mentions('sh') or mentions('sa'):
            e('bar.sync 0')
        if mentions('sh'):
            a, space = body.shared_address('%tid_')
            e(f'ld{space}.u32 {t}, [{a}]')
            put('u32', t)
        if mentions('sa'):
            q = body.temporary('p')
            e(f'setp.ge.u32 {q}, %tid_, 12')
            end = body.label()
            e(f'@{q} bra {end}')
            e(f'shl.b32 {t}, %tid_, 2')
            s = body.temporary('r')
            e(f'mov.u32 {s}, sa')
            e(f'add.u32 {s}, {s}, {t}')
            e(f'ld.shared.u32 {t}, [{s}]')
            put('u32', t)
            body.place(end)
        self.words = at
        e('ret')

    @staticmethod
    def trim(head, rest):
        """Without the first values that nobody reads: `head` is straight code, in which each instruction but stores has one result."""
        needed = set(re.findall(NAME, '\n'.join(rest)))
        kept = []
        for line in reversed(head):
            names = re.findall(NAME, line)
            if ('array' in needed or '%loc' in needed) if 'st.local' in line else names[0] in needed:
                kept.append(line)
                needed.update(names)
        return kept[::-1]

    def make_function(self, number):
        body = Body(self, self.rng, f'f{number}', False)
        body.declare_pools()
        body.declared['%mem'] = 'b64'
        e = body.emit
        e('ld.param.b32 %r0, [pa]')
        e('ld.param.b32 %r1, [pb]')
        e('ld.param.b64 %mem, [pm]')
        for name in body.pool('r')[2:]:
            e(f'mad.lo.s32 {name}, {body.pick(["%r0", "%r1"])}, {body.rng.getrandbits(8)}, {body.rng.getrandbits(5)}')
        self.derive(body)
        body.budget = 8
        recursive = self.rng.random() < 0.15
        context = Context(depth=2, loops=1)
        body.statements(context, 1, 3)
        if recursive:
            end, q, n, d = body.label(), body.temporary('p'), body.temporary('r'), body.pick(body.pool('r'))
            e(f'ld.param.b32 {n}, [pa]')
            e(f'setp.le.s32 {q}, {n}, 0')
            e(f'@{q} bra {end}')
            e(f'sub.s32 {n}, {n}, 1')
            body.write_call(body.name, n, body.pick(body.pool('r')), d)
            body.place(end)
            body.statement_assign(context)
        body.finish_function()
        e('ret')
        return body

    def text(self):
        if self.options.calls and self.rng.random() < 0.3:
            for number in range(self.rng.randint(1, 2)):
                self.functions.append(self.make_function(number))
        body = Body(self, self.rng, 'kernel', True)
        body.declare_pools()
        self.prologue(body)
        head, body.lines = body.lines, []
        body.budget = self.options.size + self.rng.randint(0, self.options.size)
        context = Context(block=True, mask='%wm', whole_warp=True)
        while body.budget > 0:
            body.statements(context, 1, 2)
        statements, body.lines = body.lines, []
        mentioned = set(re.findall(NAME, '\n'.join(statements))) | ({'sh'} if self.rng.random() < 0.4 else set())
        self.prologue_shared(body, mentioned.__contains__)
        body.lines += statements
        self.epilogue(body, mentioned.__contains__)
        body.lines = self.trim(head, body.lines) + body.lines
        out = [f'// launch grid {" ".join(map(str, self.grid))} block {" ".join(map(str, self.shape))} words {self.words} seed {self.seed}',
               '.version 8.0', '.target sm_80', '.address_size 64',
               '.const .align 4 .u32 ctable[16] = {' + ', '.join(str(self.rng.getrandbits(32)) for _ in range(16)) + '};']
        for function in self.functions:
            out += [f'.func (.param .b32 result) {function.name} (.param .b32 pa, .param .b32 pb, .param .b64 pm)', '{']
            out += function.declarations() + function.lines + ['}']
        out += ['.visible .entry kernel (.param .u64 memory, .param .u32 a, .param .u32 b)', '{']
        out += body.declarations()
        out += ['\t.local .align 16 .b8 array[32];', f'\t.shared .align 16 .b8 sh[{4 * self.threads}];', '\t.shared .align 4 .b8 sa[48];']
        out += body.lines + ['}', '']
        return '\n'.join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seed', type=int, default=1, help='of the first program; the next one has the next')
    parser.add_argument('--count', type=int, default=1)
    parser.add_argument('--out', default='.')
    parser.add_argument('--no', action='append', default=[], choices=['floats', 'warps', 'memory', 'calls', 'exits'])
    parser.add_argument('--size', type=int, default=26, help='statements, about')
    arguments = parser.parse_args()
    options = Options(size=arguments.size, **{name: False for name in arguments.no})
    os.makedirs(arguments.out, exist_ok=True)
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        with open(os.path.join(arguments.out, f'{seed:07}.ptx'), 'w', encoding='utf-8') as file:
            file.write(Program(seed, options).text())


if __name__ == '__main__':
    main()
