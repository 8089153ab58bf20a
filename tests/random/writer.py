"""What statements are made with: their context, and who writes them down."""
from dataclasses import dataclass

from operations import POOLS

TABLE_WORDS = 1024  # of memory, from its start: only read
ATOMIC_WORDS = 64   # behind them


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


class Writer:
    """Writes the text of one kernel or function, and chooses operands."""

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

    # ---- declarations --------------------------------------------------------------------------------------------------

    def declare_pools(self):
        for kind in self.kinds:
            for name in self.pool(kind):
                self.declared[name] = POOLS[kind][0]

    def declarations(self):
        by_type = {}
        for name, type_ in self.declared.items():
            by_type.setdefault(type_, []).append(name)
        return [f'\t.reg .{type_} {", ".join(names)};' for type_, names in by_type.items()]
