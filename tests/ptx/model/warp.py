#!/usr/bin/env python3
"""Warp operations (PTX ISA 9.7.9.6, 9.7.13) against a model of 32 lanes: shfl, vote, match, redux, activemask, elect; with all lanes, with some
(the others have gone another way), and in tiles with masks of their own.

    warp.py OUTPUT.ptx
"""
import sys

import ptxtest
from floats import F32, is_nan, min_max
from sweep import triples

TRIPLES = triples()
FULL = 0xffffffff


def signed(x):
    return x - (1 << 32) if x >> 31 else x


class Tests:
    def __init__(self):
        self.file = ptxtest.File('warp.py')

    def add(self, name, body, warp_model):
        """warp_model(lanes' (a, b, c), active) -> 32 results; one for all lanes, one for those with a odd only."""
        outs = [w for i in range(0, 256, 32) for w in warp_model(TRIPLES[i:i + 32], list(range(32)))]
        self.file.kernel(name, body, ['//# once', '//# in sweep 768', ptxtest.words('out', [w & FULL for w in outs])])
        outs = []
        for i in range(0, 256, 32):
            lanes = TRIPLES[i:i + 32]
            active = [n for n in range(32) if lanes[n][0] & 1]
            results = warp_model(lanes, active)
            outs += [results[n] & FULL if n in active else 0 for n in range(32)]
        # The mask is found while all are together: the scalar form knows only what it is told.
        some = ('.reg .pred %%odd; .reg .b32 %%here; and.b32 %%here, %%a, 1; setp.ne.u32 %%odd, %%here, 0; '
                'vote.sync.ballot.b32 %%here, %%odd, 0xffffffff; @!%%odd bra SKIP; %s SKIP:') % body.replace('0xffffffff;', '%here;')
        self.file.kernel(name + ' of some lanes', some, ['//# once', '//# in sweep 768', ptxtest.words('out', outs)])


def source(mode, lane, b, c):
    bval, cval, segment = b & 31, c & 31, c >> 8 & 31
    last, first = (lane & segment) | (cval & ~segment), lane & segment
    j, inside = {'up': (lane - bval, lane - bval >= last), 'down': (lane + bval, lane + bval <= last),
                 'bfly': (lane ^ bval, (lane ^ bval) <= last),
                 'idx': (first | (bval & ~segment), (first | (bval & ~segment)) <= last)}[mode]
    return (j if inside else lane), inside


def shuffles(t):
    def model(mode, b_of, c_of):
        def run(lanes, active):
            out = []
            for n in range(32):
                j, inside = source(mode, n, b_of(lanes[n]), c_of(lanes[n]))
                v = lanes[j][0] if j in active else 0
                out.append(v ^ int(inside))
            return out
        return run
    tail = ' selp.u32 %s, 1, 0, %p; xor.b32 %d, %d, %s;'
    head = '.reg .pred %p; .reg .b32 %s; '
    for mode in ('up', 'down', 'bfly', 'idx'):
        for b in (0, 1, 2, 5, 8, 16, 31):
            for c in ((0, 0x1800, 0x1000) if mode == 'up' else (0x1f, 0x181f, 0x100f, 0x1c1f)):
                t.add('shfl.sync.%s.b32 %d %#x' % (mode, b, c), head + 'shfl.sync.%s.b32 %%d|%%p, %%a, %d, %d, 0xffffffff;' % (mode, b, c) + tail,
                      model(mode, lambda x, v=b: v, lambda x, v=c: v))
        c = 0 if mode == 'up' else 0x1f
        t.add('shfl.sync.%s.b32 varying' % mode, head + 'shfl.sync.%s.b32 %%d|%%p, %%a, %%b, %d, 0xffffffff;' % (mode, c) + tail,
              model(mode, lambda x: x[1], lambda x, v=c: v))
        t.add('shfl.sync.%s.b32 varying segments' % mode, head + 'shfl.sync.%s.b32 %%d|%%p, %%a, %%b, %%c, 0xffffffff;' % mode + tail,
              model(mode, lambda x: x[1], lambda x: x[2]))
        t.add('shfl.sync.%s.b32 no predicate' % mode, 'shfl.sync.%s.b32 %%d, %%a, 3, %d, 0xffffffff;' % (mode, c),
              lambda lanes, active, m=mode, v=c: [(lambda j: lanes[j][0] if j in active else 0)(source(m, n, 3, v)[0]) for n in range(32)])


def bits(lanes, active, test):
    return sum(1 << n for n in active if test(lanes[n]))


def votes(t):
    test = lambda x: x[1] < x[2]
    head = '.reg .pred %p, %q; setp.lt.u32 %p, %b, %c; '
    t.add('vote.sync.ballot.b32', head + 'vote.sync.ballot.b32 %d, %p, 0xffffffff;', lambda lanes, active: [bits(lanes, active, test)] * 32)
    t.add('vote.sync.ballot.b32 negated', head + 'vote.sync.ballot.b32 %d, !%p, 0xffffffff;',
          lambda lanes, active: [bits(lanes, active, lambda x: not test(x))] * 32)
    for name, function in (('all', all), ('any', any), ('uni', lambda v: len(set(v)) == 1)):
        for shape, cond, check in (('mixed', 'setp.lt.u32 %p, %b, %c; ', test), ('true', 'setp.le.u32 %p, 0, %b; ', lambda x: True),
                                   ('false', 'setp.lt.u32 %p, %b, 0; ', lambda x: False)):
            t.add('vote.sync.%s.pred %s' % (name, shape), '.reg .pred %%p, %%q; %svote.sync.%s.pred %%q, %%p, 0xffffffff; selp.u32 %%d, 1, 2, %%q;' % (cond, name),
                  lambda lanes, active, f=function, k=check: [1 if f([k(lanes[n]) for n in active]) else 2] * 32)
    tile = '.reg .b32 %t; mov.u32 %t, %laneid; and.b32 %t, %t, 24; shl.b32 %t, 0xff, %t; '
    t.file.kernel('vote.sync.ballot.b32 of tiles', tile + head + 'vote.sync.ballot.b32 %d, %p, %t;',
                  ['//# once', '//# in sweep 768', ptxtest.words('out', [bits(TRIPLES[i:i + 32], range(n // 8 * 8, n // 8 * 8 + 8), test)
                                                                        for i in range(0, 256, 32) for n in range(32)])])


def matches(t):
    small = '.reg .b32 %v; and.b32 %v, %b, 3; '
    key = lambda x: x[1] & 3
    t.add('match.any.sync.b32', small + 'match.any.sync.b32 %d, %v, 0xffffffff;',
          lambda lanes, active: [bits(lanes, active, lambda x: key(x) == key(lanes[n])) for n in range(32)])
    t.add('match.any.sync.b64', '.reg .b64 %v; .reg .b32 %s; and.b32 %s, %b, 3; mov.b64 %v, {%c, %s}; and.b64 %v, %v, 0x300000001; match.any.sync.b64 %d, %v, 0xffffffff;',
          lambda lanes, active: [bits(lanes, active, lambda x: (x[1] & 3, x[2] & 1) == (lanes[n][1] & 3, lanes[n][2] & 1)) for n in range(32)])
    for name, load, k in (('mixed', small, key), ('equal', '.reg .b32 %v; mov.b32 %v, 7; ', lambda x: 7)):
        def model(lanes, active, f=k):
            here = sum(1 << n for n in active)
            same = len({f(lanes[n]) for n in active}) == 1
            return [here + 0 if same else 1] * 32
        t.add('match.all.sync.b32 ' + name, '.reg .pred %p; ' + load + 'match.all.sync.b32 %d|%p, %v, 0xffffffff; @!%p add.u32 %d, %d, 1;', model)


def reductions(t):
    operations = {'add.u32': lambda v: sum(v), 'add.s32': lambda v: sum(v), 'min.u32': min, 'max.u32': max,
                  'min.s32': lambda v: min(v, key=signed), 'max.s32': lambda v: max(v, key=signed)}

    def fold(function):
        def run(values):
            r = values[0]
            for v in values[1:]:
                r = function(r, v)
            return r
        return run
    operations['and.b32'] = fold(lambda x, y: x & y)
    operations['or.b32'] = fold(lambda x, y: x | y)
    operations['xor.b32'] = fold(lambda x, y: x ^ y)
    for name, function in operations.items():
        before = 'or.b32 %b, %b, 0x10; ' if name == 'and.b32' else ''
        t.add('redux.sync.' + name, before + 'redux.sync.%s %%d, %%b, 0xffffffff;' % name,
              lambda lanes, active, f=function, o=bool(before): [f([lanes[n][1] | (0x10 if o else 0) for n in active])] * 32)
    tile = '.reg .b32 %t; mov.u32 %t, %laneid; and.b32 %t, %t, 16; shl.b32 %t, 0xffff, %t; '
    t.file.kernel('redux.sync.add.u32 of tiles', tile + 'redux.sync.add.u32 %d, %b, %t;',
                  ['//# once', '//# in sweep 768', ptxtest.words('out', [sum(x[1] for x in TRIPLES[i:i + 16]) & FULL
                                                                        for n in range(0, 256, 16) for i in [n] for _ in range(16)])])


def without_sync(t):
    """The old forms, for all lanes."""
    def add(name, body, model):
        outs = [w & FULL for i in range(0, 256, 32) for w in model(TRIPLES[i:i + 32])]
        t.file.kernel(name, body, ['//# once', '//# in sweep 768', ptxtest.words('out', outs)])
    for mode in ('up', 'down', 'bfly', 'idx'):
        c = 0 if mode == 'up' else 0x1f
        add('shfl.%s.b32' % mode, 'shfl.%s.b32 %%d, %%a, 5, %d;' % (mode, c), lambda lanes, m=mode, v=c: [lanes[source(m, n, 5, v)[0]][0] for n in range(32)])
    head = '.reg .pred %p, %q; setp.lt.u32 %p, %b, %c; '
    test = [x[1] < x[2] for x in TRIPLES]
    t.file.kernel('vote.ballot.b32', head + 'vote.ballot.b32 %d, %p;', ['//# once', '//# in sweep 768', ptxtest.words('out', [
        sum(1 << k for k in range(32) if test[n // 32 * 32 + k]) for n in range(256)])])
    for name, function in (('all', all), ('any', any), ('uni', lambda v: len(set(v)) == 1)):
        t.file.kernel('vote.%s.pred' % name, head + 'vote.%s.pred %%q, %%p; selp.u32 %%d, 1, 2, %%q;' % name, ['//# once', '//# in sweep 768', ptxtest.words('out', [
            1 if function(test[n // 32 * 32:n // 32 * 32 + 32]) else 2 for n in range(256)])])
    # Which lanes are together is the implementation's choice; the own lane always is.
    t.file.kernel('activemask.b32', '.reg .b32 %m; activemask.b32 %m; mov.u32 %d, %laneid; shl.b32 %d, 1, %d; and.b32 %d, %d, %m;', ['//# in sweep 768', ptxtest.words('out', [1 << n % 32 for n in range(256)])])


def float_reductions(t):
    for op in ('min', 'max'):
        for mods in ([], ['abs'], ['NaN'], ['abs', 'NaN']):
            def model(lanes, active, o=op, m=mods):
                values = [lanes[n][0] & 0x7fffffff if 'abs' in m else lanes[n][0] for n in active]
                r = values[0]
                for v in values[1:]:
                    r = min_max(r, v, F32, o == 'max', 'NaN' in m)
                    r = 0x7fffffff if r is None else r
                return [0x7fffffff if is_nan(r, F32) else r] * 32
            t.add('.'.join(['redux.sync', op] + mods + ['f32']), '.'.join(['redux.sync', op] + mods + ['f32']) + ' %d, %a, 0xffffffff;', model)


def others(t):
    t.file.kernel('elect.sync', '.reg .pred %p; elect.sync %d|%p, 0xffffffff; @%p add.u32 %d, %d, 100;',
                  ['//# once', '//# in sweep 768', ptxtest.words('out', ([100] + [0] * 31) * 8)])
    t.file.kernel('bar.warp.sync', 'bar.warp.sync 0xffffffff; mov.u32 %d, %a;', ['//# once', '//# in sweep 768', ptxtest.words('out', [x[0] for x in TRIPLES])])
    registers = {'%laneid': lambda n: n % 32, '%warpid': lambda n: n // 32, '%tid.x': lambda n: n, '%tid.y': lambda n: 0, '%ntid.x': lambda n: 256,
                 '%ntid.z': lambda n: 1, '%ctaid.x': lambda n: 0, '%nctaid.x': lambda n: 1, '%nwarpid': lambda n: 8,
                 '%lanemask_eq': lambda n: 1 << n % 32, '%lanemask_lt': lambda n: (1 << n % 32) - 1, '%lanemask_le': lambda n: (2 << n % 32) - 1,
                 '%lanemask_gt': lambda n: FULL & ~((2 << n % 32) - 1), '%lanemask_ge': lambda n: FULL & ~((1 << n % 32) - 1),
                 '%dynamic_smem_size': lambda n: 0, '%cluster_ctarank': lambda n: 0, '%cluster_nctarank': lambda n: 1, '%envreg7': lambda n: 0}
    for name, function in registers.items():
        t.file.kernel(name, 'mov.u32 %%d, %s;' % name, ['//# in sweep 768', ptxtest.words('out', [function(n) for n in range(256)])])


def main():
    t = Tests()
    for family in (shuffles, votes, matches, reductions, float_reductions, without_sync, others):
        family(t)
    t.file.save(sys.argv[1])


if __name__ == '__main__':
    main()
