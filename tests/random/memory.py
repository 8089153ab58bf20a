"""Statements that read and write memory: each thread its own places, tables, shared memory behind barriers."""
from writer import ATOMIC_WORDS, TABLE_WORDS, Writer


class Memory(Writer):
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

    def statement_rounds(self, context):
        """Rounds of a scan or a tree over the block's words: places at a distance, of the threads from or up to a number on."""
        threads = self.program.threads
        for _ in range(self.rng.randint(2, 5)):
            distance = self.pick([1, 2, 3, 4, 8, 16, 24, 32, threads // 2, self.rng.randrange(threads)])
            other, q = self.temporary('r'), self.temporary('p')
            self.emit(f'mov.u32 {other}, {self.source("r")}')
            way, end = self.rng.randrange(4), self.label()
            a, space = self.shared_address('%tid_')
            self.emit(f'setp.{"lt" if way == 0 else "ge"}.s32 {q}, %tid_, {distance if way == 0 else threads - distance}')
            if way < 2:
                self.emit(f'@{q} bra {end}')
                self.emit(f'ld{space}.u32 {other}, [{a}{4 * distance if way else -4 * distance:+}]')
                self.place(end)
            elif way == 2:
                self.emit(f'ld.shared.u32 {other}, [sh+{4 * (distance % threads)}]')
            else:
                t = self.temporary('r')
                self.emit(f'xor.b32 {t}, %tid_, {self.pick([1, 2, 3, 4, 8, 16])}')
                self.emit(f'min.u32 {t}, {t}, {threads - 1}')
                b, space = self.shared_address(t)
                self.emit(f'ld{space}.u32 {other}, [{b}]')
            self.emit('bar.sync 0')
            own, end = self.temporary('r'), self.label()
            a, space = self.shared_address('%tid_')
            if self.chance(0.3):
                self.emit(f'setp.{self.pick(["lt", "ge"])}.s32 {q}, %tid_, {self.pick([distance, threads // 2, 5, 40])}')
                self.emit(f'@{q} bra {end}')
            self.emit(f'ld{space}.u32 {own}, [{a}]')
            self.emit(f'{self.pick(["add.u32", "xor.b32", "sub.u32", "max.s32"])} {own}, {own}, {other}')
            guard = f'@{self.pick(["", "!"])}{self.source("p")} ' if self.chance(0.15) else ''
            self.emit(f'{guard}st{space}.u32 [{a}], {own}')
            self.place(end)
            self.emit('bar.sync 0')

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
