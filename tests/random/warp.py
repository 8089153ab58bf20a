"""Exchanges between the lanes of a warp, with masks that hold exactly those that come."""
from dataclasses import replace

from writer import Writer


class Warp(Writer):
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
