"""Branches, loops, jumps, early ends and calls."""
from dataclasses import replace

from writer import Writer


class Flow(Writer):
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

    def statement_grid_loop(self, context):
        """As a loop over the grid: threads go on by far more than there are, as long as their numbers allow; several in a row now and then."""
        i, q, end = self.temporary('r'), self.temporary('p'), self.label()
        self.emit(f'mov.u32 {i}, {self.pick(["%tid_", "%tid_", "%gtid"])}')
        step = 16 * self.program.threads + self.pick([0, 0, 32, 5])
        limit = step * self.rng.randint(0, 3) + self.rng.randint(0, self.program.threads + 8)
        inner = self.free(context, loops=context.loops + 1)
        straight = [self.statement_assign, self.statement_lop3] + ([self.statement_gather, self.statement_atomic, self.statement_shared_atomic]
                                                                   if self.program.options.memory else [])
        self.emit(f'setp.ge.s32 {q}, {i}, {limit}')
        self.emit(f'@{q} bra {end}')
        for _ in range(self.pick([1, 1, 2])):
            again = self.label()
            self.place(again)
            self.counters.append(i)
            for _ in range(self.rng.randint(1, 3)):
                self.pick(straight)(inner)
            self.counters.pop()
            self.emit(f'add.s32 {i}, {i}, {step}')
            self.emit(f'setp.lt.s32 {q}, {i}, {limit}')
            self.emit(f'@{q} bra {again}')
            limit += self.pick([0, step])
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
