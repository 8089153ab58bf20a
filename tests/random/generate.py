#!/usr/bin/env python3
"""Random PTX programs: valid by construction, terminating, and with one result whatever the order of threads.

    generate.py --seed 1 --count 300 --out FOLDER      one NNNNNNN.ptx a program, named by its seed

Each program is a kernel (memory, a, b) and its launch in a comment. Memory holds a table that is only read, words for atomics
whose order does not matter, and regions in which each thread has places of its own. In the end every thread writes all of its
registers out.

Where statements may stand depends on how far threads are known to be together (Context in writer.py): barriers need the whole
block, exchanges within a warp need a member mask that holds exactly the lanes that come, everything else may stand anywhere,
also amid branches without any structure ("soup") and behind the early exit of some lanes. What surrounds the statements, first
values and the writing out, is there for those registers and variables alone that they mention: most of a program are statements,
and some programs have no barrier.
"""
import argparse
import os
import random
import re

from flow import Flow
from memory import Memory
from straight import Straight
from warp import Warp
from writer import ATOMIC_WORDS, TABLE_WORDS, Context, Options

NAME = r'%\w+|\barray\b|\bsh\b|\bsa\b'  # a register or a variable

SHAPES = [
    (1, 1, 1), (7, 1, 1), (32, 1, 1), (33, 1, 1), (64, 1, 1), (100, 1, 1), (256, 1, 1),
    (16, 16, 1), (8, 8, 4), (5, 3, 2), (32, 4, 1), (128, 1, 1), (4, 4, 4), (24, 2, 1),
]


class Body(Straight, Flow, Memory, Warp):
    """Statements of one kernel or function."""

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
            table += [(self.statement_uniform, 8), (self.statement_grid_loop, 3)]
            if nest and context.loops < 2:
                table += [(self.statement_uniform_if, 5), (self.statement_uniform_loop, 5)]
            if o.memory:
                table += [(self.statement_exchange, 6), (self.statement_rounds, 4), (self.statement_barrier, 2)]
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
