"""Statements without branches, on registers alone."""
from operations import FLOAT_OPS, FLOAT_PREDICATE_OPS, INTEGER_OPS, OTHER_OPS, POOLS, PREDICATE_OPS
from writer import TABLE_WORDS, Writer


class Straight(Writer):
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
