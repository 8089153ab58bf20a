#!/usr/bin/env python3
"""Memory instructions (PTX ISA 9.7.9, 9.7.13.5): ld and st of every type, vector and space, generic addresses, atom and red of every
operation, asynchronous copies and mbarrier, against plain models of memory.

    memory.py OUTPUT.ptx
"""
import re
import struct
import sys

import ptxtest
from floats import BF16, F16, F32, NAN, add as float_add, flush, is_nan, min_max
from integer import mask, signed
from sweep import sweep, triples

TRIPLES = triples()
TYPES = ['b8', 'u8', 's8', 'b16', 'u16', 's16', 'b32', 'u32', 's32', 'f32', 'b64', 'u64', 's64', 'f64']


def bits_of(kind):
    return int(re.search(r'\d+', kind)[0])


class Tests:
    def __init__(self):
        self.file = ptxtest.File('memory.py')

    def add(self, name, body, function, once=False):
        outs = [function(i, *t) for i, t in enumerate(TRIPLES)]
        self.file.kernel(name, body, (['//# once'] if once else []) + ['//# in sweep 1280', ptxtest.words('out', [o if o is None else o & mask(32) for o in outs])])


def accesses(t):
    """A thread's 16 or 32 bytes are written in one piece and read in another."""
    spaces = {
        'global': ('', '%p', 'add.u64 %p, %out, 65536; mul.wide.u32 %q, %i, 32; add.u64 %p, %p, %q; '),
        'shared': ('.shared .align 32 .b8 room[8192]; ', '%s', 'mov.u32 %s, room; shl.b32 %t, %i, 5; add.u32 %s, %s, %t; '),
        'local': ('.local .align 32 .b8 room[32]; ', '%s', 'mov.u32 %s, room; '),
        'generic': ('.shared .align 32 .b8 room[8192]; ', '%p', 'cvta.shared.u64 %p, room; mul.wide.u32 %q, %i, 32; add.u64 %p, %p, %q; '),
        'generic local': ('.local .align 32 .b8 room[32]; ', '%p', 'cvta.local.u64 %p, room; '),
    }
    head = '.reg .b64 %p, %q; .reg .b32 %s, %t; '
    for space, (declare, base, address) in spaces.items():
        dotted = '.' + space if space in ('global', 'shared', 'local') else ''
        if space == 'global':
            # Room behind the results does not exist: the input is written over, by its own thread, instead.
            address = 'mul.wide.u32 %q, %i, 12; add.u64 %p, %in, %q; '
        for kind in TYPES:
            bits = bits_of(kind)
            for vector in (1, 2, 4):
                size = bits // 8 * vector
                if size > 16 or space == 'global' and size > 4:
                    continue
                register = '.reg .b%d ' % max(bits, 16)
                names = ['%%v%d' % i for i in range(vector)]
                shape = '.v%d' % vector if vector > 1 else ''
                group = '{%s}' % ', '.join(names) if vector > 1 else names[0]
                write = ''.join('st%s.b32 [%s+%d], %s; ' % (dotted, base, 4 * i, r) for i, r in enumerate(['%a', '%b', '%c', '%a'][:max(size // 4, 1)]))
                body = declare + head + register + '%v<4>; ' + address + write + 'ld%s%s.%s %s, [%s]; ' % (dotted, shape, kind, group, base)
                body += fold(names, bits)
                t.add('ld%s%s.%s' % (dotted, shape, kind) + (' ' + space if not dotted else ''), body,
                      lambda i, a, b, c, k=kind, n=vector: folded_load((a, b, c, a), k, n))
                body = declare + head + register + '%v<4>; ' + address + write + spill(names, bits) + 'st%s%s.%s [%s], %s; ' % (dotted, shape, kind, base, group)
                body += ''.join('ld%s.b32 %%t, [%s+%d]; shf.l.wrap.b32 %%d, %%d, %%d, 3; xor.b32 %%d, %%d, %%t; ' % (dotted, base, 4 * j) for j in range(max(size // 4, 1)))
                t.add('st%s%s.%s' % (dotted, shape, kind) + (' ' + space if not dotted else ''), body,
                      lambda i, a, b, c, k=kind, n=vector: folded_store((a, b, c, a), k, n, (c, a, b, c)))


def fold(names, bits):
    wide = max(bits, 16)
    out = ''
    for r in names:
        out += {16: 'cvt.u32.u16 %%t, %s; ', 32: 'mov.b32 %%t, %s; ', 64: 'mov.b64 {%%s, %%t}, %s; xor.b32 %%t, %%s, %%t; '}[wide] % r
        out += 'shf.l.wrap.b32 %d, %d, %d, 3; xor.b32 %d, %d, %t; '
    return out


def rotate(x):
    return (x << 3 | x >> 29) & mask(32)


def folded_load(words, kind, count):
    data, bits, d = sum(w << 32 * i for i, w in enumerate(words)), bits_of(kind), 0
    for i in range(count):
        v = data >> bits * i & mask(bits)
        v = signed(v, bits) & mask(max(bits, 16)) if kind[0] == 's' else v
        d = rotate(d) ^ (v ^ v >> 32 if bits == 64 else v)
        d &= mask(32)
    return d


def spill(names, bits):
    """Registers with other words than memory has."""
    sources = ['%c', '%a', '%b', '%c']
    return ''.join({16: 'cvt.u16.u32 %s, %s; ' % (r, s), 32: 'mov.b32 %s, %s; ' % (r, s),
                    64: 'mov.b64 %s, {%s, %s}; ' % (r, s, n)}[max(bits, 16)] for r, s, n in zip(names, sources, sources[1:] + sources[:1]))


def folded_store(words, kind, count, sources):
    bits = bits_of(kind)
    data, size, d = sum(w << 32 * i for i, w in enumerate(words)), bits // 8 * count, 0
    for i in range(count):
        v = (sources[i] | sources[(i + 1) % len(sources)] << 32) & mask(bits)
        data = data & ~(mask(bits) << bits * i) | v << bits * i
    for j in range(max(size // 4, 1)):
        d = rotate(d) ^ (data >> 32 * j & mask(32))
    return d


def modifiers(t):
    """Spellings that change nothing in one thread's view."""
    address = '.reg .b64 %p, %q; .reg .b32 %x, %y; mul.wide.u32 %q, %i, 12; add.u64 %p, %in, %q; '
    for name in ('ld.volatile.global', 'ld.relaxed.gpu.global', 'ld.acquire.sys.global', 'ld.relaxed.cta', 'ld.acquire.gpu', 'ld.global.nc', 'ld.global.cs', 'ld.global.cg',
                 'ld.ca', 'ld.cg', 'ld.global.L1::no_allocate', 'ld.global.L2::128B', 'ld.mmio.relaxed.sys.global', 'ldu.global'):
        t.add(name + '.u32', address + name + '.u32 %d, [%p+8];', lambda i, a, b, c: c)
    for name in ('st.volatile.global', 'st.relaxed.gpu.global', 'st.release.sys.global', 'st.relaxed.cta', 'st.release.gpu', 'st.global.cs', 'st.global.cg', 'st.cg', 'st.global.wt'):
        t.add(name + '.u32', address + name + '.u32 [%p+4], %a; ld.global.u32 %d, [%p+4];', lambda i, a, b, c: a)
    for name in ('membar.cta', 'membar.gl', 'membar.sys', 'fence.sc.cta', 'fence.acq_rel.gpu', 'fence.sc.sys', 'fence.proxy.alias', 'fence.mbarrier_init.release.cluster',
                 'nanosleep.u32 20', 'pmevent 1', 'prefetch.global.L2 [%p]', 'prefetchu.L1 [%p]', 'prefetch.L1 [%p]',
                 'griddepcontrol.wait', 'griddepcontrol.launch_dependents', 'cp.async.commit_group', 'cp.async.wait_all', 'cp.async.wait_group 0'):
        t.add(name, address + name + '; mov.u32 %d, %b;', lambda i, a, b, c: b)
    t.add('ld.volatile.shared.u32', '.shared .b32 room[256]; .reg .b32 %s, %t; mov.u32 %s, room; shl.b32 %t, %i, 2; add.u32 %s, %s, %t; '
          'st.volatile.shared.u32 [%s], %a; ld.volatile.shared.u32 %d, [%s];', lambda i, a, b, c: a)
    own = '.shared .b32 room[256]; .reg .b32 %s, %t; mov.u32 %s, room; shl.b32 %t, %i, 2; add.u32 %s, %s, %t; '
    for kind in ('f32', 's32', 'b32'):
        t.add('ld.volatile.shared.' + kind, own + 'st.volatile.shared.{0} [%s], %a; ld.volatile.shared.{0} %d, [%s];'.format(kind), lambda i, a, b, c: a)
    for kind, register in (('b16', '.reg .b16 %w<2>; mov.b32 {%w0, %w1}, %a; '), ('u32', ''), ('b32', ''), ('s32', ''), ('f32', '')):
        for count in (2, 4):
            names = ['%w0', '%w1'] if register else ['%a', '%b', '%c', '%i']
            group = (names * 2)[:count]
            results = ', '.join('%%v%d' % i for i in range(count))
            body = '.reg .%s %%v<4>; ' % kind + register + 'mov.v%d.%s {%s}, {%s}; ' % (count, kind, results, ', '.join(group))
            if register:
                body += 'mov.b32 %%d, {%%v1, %%v%d};' % (count - 2)
                t.add('mov.v%d.%s' % (count, kind), body, lambda i, a, b, c: (a << 16 | a >> 16) & mask(32))
            else:
                body += 'mov.b32 %%d, %%v0; shl.b32 %%d, %%d, 1; .reg .b32 %%y; mov.b32 %%y, %%v%d; xor.b32 %%d, %%d, %%y;' % (count - 1)
                t.add('mov.v%d.%s' % (count, kind), body, lambda i, a, b, c, n=count: a << 1 ^ (b if n == 2 else i))
    t.add('mov.v2.u64', '.reg .b64 %p, %q, %v<2>; .reg .b32 %x; mov.b64 %p, {%a, %b}; mov.b64 %q, {%c, %a}; mov.v2.u64 {%v0, %v1}, {%q, %p}; mov.b64 {%x, %d}, %v1;', lambda i, a, b, c: b)
    t.add('mov.v4.u32 of a vector', '.reg .v4 .u32 %v; .reg .b32 %x, %y, %z; mov.v4.u32 %v, {%a, %b, %c, %i}; mov.v4.u32 {%x, %y, %z, %d}, %v; xor.b32 %d, %x, %v.z;', lambda i, a, b, c: a ^ c)
    t.add('ld.v4 and st.v4 of a vector', '.shared .align 16 .b8 room[4096]; .reg .v4 .b32 %v; .reg .v2 .u32 %w; .reg .b32 %s, %t; mov.u32 %s, room; shl.b32 %t, %i, 4; add.u32 %s, %s, %t; '
          'mov.v4.b32 %v, {%a, %b, %c, %a}; st.shared.v4.b32 [%s], %v; ld.shared.v2.u32 %w, [%s+4]; ld.shared.v4.b32 %v, [%s]; xor.b32 %d, %v.z, %w.x; xor.b32 %d, %d, %w.y;',
          lambda i, a, b, c: b)
    t.add('ld.const.u32', '.reg .b64 %p, %q; mov.u64 %p, table; mul.wide.u32 %q, %i, 4; and.b64 %q, %q, 12; add.u64 %p, %p, %q; ld.const.u32 %d, [%p];',
          lambda i, a, b, c: (11, 22, 33, 44)[i % 4])
    t.add('ld.param.u32', 'ld.param.u32 %d, [lanes]; or.b32 %d, %d, 0xffffffff;', lambda i, a, b, c: mask(32))
    t.add('mov.b64 unpacked', '.reg .b64 %p; .reg .b32 %x; mov.b64 %p, {%a, %b}; mov.b64 {%x, %d}, %p;', lambda i, a, b, c: b)
    t.add('mov.b32 of halves', '.reg .b16 %x, %y; mov.b32 {%x, %y}, %a; mov.b32 %d, {%y, %x};', lambda i, a, b, c: (a << 16 | a >> 16) & mask(32))
    t.add('mov.b64 of four', '.reg .b64 %p; .reg .b16 %x, %y, %z, %w; .reg .b32 %s; mov.b64 %p, {%a, %b}; mov.b64 {%x, %y, %z, %w}, %p; mov.b32 %d, {%w, %x};',
          lambda i, a, b, c: b >> 16 | (a & 0xffff) << 16)
    t.add('mov.b128', '.reg .b128 %p; .reg .b64 %x, %y; mov.b64 %x, {%a, %b}; mov.b64 %y, {%c, %a}; mov.b128 %p, {%x, %y}; mov.b128 {%y, %x}, %p; '
          '.reg .b32 %s; mov.b64 {%d, %s}, %x; xor.b32 %d, %d, %s;', lambda i, a, b, c: c ^ a)


def spaces(t):
    head = '.shared .b32 room[4]; .local .b32 own[4]; .reg .b64 %p, %q; .reg .pred %g, %s, %l; '
    for pointer, load in (('shared', 'cvta.shared.u64 %p, room; '), ('local', 'cvta.local.u64 %p, own; '), ('global', 'mov.b64 %p, %in; ')):
        body = head + load + 'isspacep.global %g, [%p]; '.replace('[%p]', '%p') + 'isspacep.shared %s, %p; isspacep.local %l, %p; '
        body += 'selp.u32 %d, 1, 0, %g; @%s add.u32 %d, %d, 2; @%l add.u32 %d, %d, 4;'
        t.add('isspacep ' + pointer, body, lambda i, a, b, c, r={'global': 1, 'shared': 2, 'local': 4}[pointer]: r)
    for space in ('shared', 'local', 'global', 'const'):
        name = {'shared': 'room', 'local': 'own', 'global': 'cell', 'const': 'table'}[space]
        t.add('cvta.%s.u64 and back' % space, head + 'mov.u64 %%p, %s; cvta.%s.u64 %%q, %%p; cvta.to.%s.u64 %%q, %%q; setp.eq.u64 %%g, %%p, %%q; selp.u32 %%d, 1, 0, %%g;'
              % (name, space, space), lambda i, a, b, c: 1)
    t.add('mapa.shared::cluster.u32', head + '.reg .b32 %x, %y; mov.u32 %x, room; mapa.shared::cluster.u32 %y, %x, 0; st.shared.u32 [%x], 77; bar.warp.sync 0xffffffff; '
          'ld.shared::cluster.u32 %d, [%y];', lambda i, a, b, c: 77, True)
    t.add('getctarank.shared::cluster.u32', head + '.reg .b32 %x; mov.u32 %x, room; getctarank.shared::cluster.u32 %d, %x;', lambda i, a, b, c: 0)
    t.add('createpolicy', '.reg .b64 %p; createpolicy.fractional.L2::evict_last.b64 %p, 0f3f800000; mov.u32 %d, %a;', lambda i, a, b, c: a)


ATOMIC = {'add': lambda x, y, z, k: x + y, 'and': lambda x, y, z, k: x & y, 'or': lambda x, y, z, k: x | y, 'xor': lambda x, y, z, k: x ^ y,
          'exch': lambda x, y, z, k: y, 'cas': lambda x, y, z, k: z if x == y else x,
          'inc': lambda x, y, z, k: 0 if x >= y else x + 1, 'dec': lambda x, y, z, k: y if x == 0 or x > y else x - 1,
          'min': lambda x, y, z, k: min(x, y, key=lambda v: signed(v, bits_of(k)) if k[0] == 's' else v),
          'max': lambda x, y, z, k: max(x, y, key=lambda v: signed(v, bits_of(k)) if k[0] == 's' else v)}
FORMS = [('add', 'u32'), ('add', 's32'), ('add', 'u64'), ('min', 'u32'), ('min', 's32'), ('min', 'u64'), ('min', 's64'), ('max', 'u32'), ('max', 's32'), ('max', 'u64'),
         ('max', 's64'), ('and', 'b32'), ('and', 'b64'), ('or', 'b32'), ('or', 'b64'), ('xor', 'b32'), ('xor', 'b64'), ('exch', 'b32'), ('exch', 'b64'),
         ('cas', 'b16'), ('cas', 'b32'), ('cas', 'b64'), ('inc', 'u32'), ('dec', 'u32')]


def atomics(t):
    """A word of each thread's own, old value and new; then all threads at one place."""
    places = {'.global': ('mul.wide.u32 %q, %i, 12; add.u64 %p, %in, %q; ', '%p', ''),
              '.shared': ('mov.u32 %s, room; shl.b32 %t, %i, 3; add.u32 %s, %s, %t; ', '%s', '.shared .align 8 .b8 room[2048]; '),
              '': ('cvta.shared.u64 %p, room; mul.wide.u32 %q, %i, 8; add.u64 %p, %p, %q; ', '%p', '.shared .align 8 .b8 room[2048]; ')}
    for op, kind in FORMS:
        bits = bits_of(kind)
        for space, (address, base, declare) in places.items():
            if bits == 64 and space == '.global':
                address = 'mul.wide.u32 %q, %i, 8; add.u64 %p, %in, %q; add.u64 %p, %p, 3072; '
            for sem in ('', '.relaxed.gpu', '.acq_rel.cta') if op in ('add', 'cas', 'exch') else ('',):
                name = 'atom%s%s.%s.%s' % (sem, space, op, kind)
                load = {16: 'cvt.u16.u32 %x, %a; cvt.u16.u32 %y, %b; cvt.u16.u32 %z, %c; ', 32: 'mov.b32 %x, %a; mov.b32 %y, %b; mov.b32 %z, %c; ',
                        64: 'mov.b64 %x, {%a, %b}; mov.b64 %y, {%b, %c}; mov.b64 %z, {%c, %a}; '}[bits]
                # Every other thread compares with what is there.
                same = '.reg .pred %e; .reg .b32 %o; and.b32 %o, %i, 1; setp.eq.u32 %e, %o, 0; ' + '@%e mov.b{0} %y, %x; '.format(bits) if op == 'cas' else ''
                body = declare + '.reg .b64 %%p, %%q; .reg .b32 %%s, %%t, %%u; .reg .b%d %%x, %%y, %%z, %%w; ' % bits + address + load + same
                plain = space or ''
                body += 'st%s.b%d [%s], %%x; %s %%w, [%s], %%y%s; ld%s.b%d %%x, [%s]; ' % (plain, bits, base, name, base, ', %z' if op == 'cas' else '', plain, bits, base)
                body += {16: 'mov.b32 %d, {%x, %w};', 32: 'shf.l.wrap.b32 %d, %x, %x, 7; xor.b32 %d, %d, %w;',
                         64: 'mov.b64 {%s, %t}, %x; mov.b64 {%u, %d}, %w; xor.b32 %d, %d, %s; shf.l.wrap.b32 %u, %u, %u, 7; xor.b32 %d, %d, %u; xor.b32 %d, %d, %t;'}[bits]

                def model(i, a, b, c, o=op, k=kind, n=bits):
                    x, y, z = ((a | b << 32) & mask(n), (b | c << 32) & mask(n), (c | a << 32) & mask(n))
                    if o == 'cas' and i % 2 == 0:
                        y = x
                    new = ATOMIC[o](x, y, z, k) & mask(n)
                    if n == 16:
                        return new | x << 16
                    if n == 32:
                        return (new << 7 | new >> 25) & mask(32) ^ x
                    u = x & mask(32)
                    return x >> 32 ^ new & mask(32) ^ (u << 7 | u >> 25) & mask(32) ^ new >> 32
                t.add(name, body, model)
                if op not in ('exch', 'cas') and not sem:
                    body = body.replace('%s %%w, [%s]' % (name, base), 'mov.b%d %%w, %%x; red%s.%s.%s [%s]' % (bits, space, op, kind, base))
                    t.add('red%s.%s.%s' % (space, op, kind), body, model)
    together(t)


def together(t):
    """All lanes on one word: the result does not depend on the order; old values are a permutation, so their sum is known."""
    for space in ('global', 'shared'):
        base = 'add.u64 %p, %in, 0; ' if space == 'global' else 'mov.u64 %p, room; '
        declare = '.shared .b32 room[4]; .reg .b64 %p; .reg .b32 %o, %z; .reg .pred %f; '
        begin = base + 'setp.eq.u32 %%f, %%i, 0; @%%f st.%s.u32 [%%p], 0; bar.sync 0; ' % space
        body = declare + begin + 'and.b32 %%z, %%a, 0xff; atom.%s.add.u32 %%o, [%%p], %%z; bar.sync 0; ld.%s.u32 %%d, [%%p];' % (space, space)
        t.add('atom.%s.add.u32 together' % space, body, lambda i, a, b, c: sum(x[0] & 0xff for x in TRIPLES), True)
        body = declare + begin + 'atom.%s.inc.u32 %%o, [%%p], 1000; bar.sync 0; ld.%s.u32 %%d, [%%p];' % (space, space)
        t.add('atom.%s.inc.u32 together' % space, body, lambda i, a, b, c: 256, True)
        body = declare + begin + 'atom.%s.max.u32 %%o, [%%p], %%a; bar.sync 0; ld.%s.u32 %%d, [%%p];' % (space, space)
        t.add('atom.%s.max.u32 together' % space, body, lambda i, a, b, c: max(x[0] for x in TRIPLES), True)
        # Each lane's own old value is what those before it added: all different.
        body = declare + begin + 'atom.%s.add.u32 %%o, [%%p], 1; mov.u32 %%d, 0; mul.wide.u32 %%p, %%o, 4; add.u64 %%p, %%out, %%p; st.global.u32 [%%p], %%o; ' % space
        body += 'bar.sync 0; mul.wide.u32 %p, %i, 4; add.u64 %p, %out, %p; ld.global.u32 %d, [%p];'
        t.add('atom.%s.add.u32 tickets' % space, body, lambda i, a, b, c: i, True)


def float_atomics(t):
    def packed(function):
        return lambda x, y: function(x & 0xffff, y & 0xffff) | function(x >> 16, y >> 16) << 16

    def half(fmt):
        return lambda x, y: NAN[fmt] if float_add(x, y, fmt) is None else float_add(x, y, fmt)

    def single(flushes):
        def run(x, y):
            x, y = (flush(x, F32), flush(y, F32)) if flushes else (x, y)
            r = float_add(x, y, F32)
            return 0x7fffffff if r is None else flush(r, F32) if flushes else r
        return run
    for space in ('.global', '.shared'):
        address = 'mul.wide.u32 %p, %i, 12; add.u64 %p, %in, %p; ' if space == '.global' else \
            'mov.u64 %p, room; mul.wide.u32 %q, %i, 8; add.u64 %p, %p, %q; '
        declare = '.shared .align 8 .b8 room[2048]; .reg .b64 %p, %q; .reg .b32 %x; '
        for kind, function in (('f32', single(space == '.global')), ('noftz.f16x2', packed(half(F16))), ('noftz.bf16x2', packed(half(BF16)))):
            for opcode in ('atom', 'red'):
                name = '%s%s.add.%s' % (opcode, space, kind)
                body = declare + address + 'st%s.b32 [%%p], %%a; ' % space
                body += '%s %%x, [%%p], %%b; ' % name if opcode == 'atom' else 'mov.b32 %%x, %%a; %s [%%p], %%b; ' % name
                body += 'ld%s.b32 %%d, [%%p]; shf.l.wrap.b32 %%d, %%d, %%d, 7; xor.b32 %%d, %%d, %%x;' % space

                def model(i, a, b, c, f=function):
                    new = f(a, b)
                    return (new << 7 | new >> 25) & mask(32) ^ a
                t.add(name, body, model)
        for kind, fmt in (('noftz.f16', F16), ('noftz.bf16', BF16)):
            body = declare + '.reg .b16 %y, %z; ' + address + 'st%s.b32 [%%p], %%a; cvt.u16.u32 %%y, %%b; atom%s.add.%s %%z, [%%p], %%y; ld%s.b32 %%d, [%%p];' % (space, space, kind, space)
            t.add('atom%s.add.%s' % (space, kind), body, lambda i, a, b, c, f=half(fmt): a & 0xffff0000 | f(a & 0xffff, b & 0xffff))
    body = '.reg .b64 %p, %q; .reg .f64 %x, %y; .reg .b32 %s; mul.wide.u32 %q, %i, 8; add.u64 %p, %in, %q; add.u64 %p, %p, 3072; mov.b64 %x, {%a, %b}; and.b32 %c, %c, 0x3fffffff; ' \
        'mov.b64 %y, {%b, %c}; mov.b64 %x, 0d3FF8000000000000; st.global.f64 [%p], %x; atom.global.add.f64 %x, [%p], %y; add.f64 %x, %x, %y; ld.global.f64 %y, [%p]; ' \
        '.reg .pred %f; setp.eq.f64 %f, %x, %y; selp.u32 %d, 1, 0, %f;'
    t.add('atom.global.add.f64', body, lambda i, a, b, c: 1)


def asynchronous(t):
    room = '.shared .align 16 .b8 room[4096]; .reg .b64 %p, %q; .reg .b32 %s, %t, %x, %y; mov.u32 %s, room; shl.b32 %t, %i, 4; add.u32 %s, %s, %t; '
    source = 'and.b32 %t, %i, 127; mul.wide.u32 %q, %t, 16; add.u64 %p, %in, %q; '
    words = [w for x in TRIPLES for w in x]

    def xor(values):
        r = 0
        for v in values:
            r ^= v
        return r
    read = ''.join('ld.shared.b32 %%x, [%%s+%d]; xor.b32 %%d, %%d, %%x; ' % (4 * i) for i in range(4))
    clear = ''.join('st.shared.b32 [%%s+%d], 0; ' % (4 * i) for i in range(4))
    for kind, size in (('ca', 4), ('ca', 8), ('ca', 16), ('cg', 16)):
        for extra, keep in (('', None), (', 0', 0), (', 4', 4)):
            name = 'cp.async.%s.shared.global [%%s], [%%p], %d%s' % (kind, size, extra)
            count = (size if keep is None else min(keep, size)) // 4
            t.add(name, room + source + clear + name + '; cp.async.commit_group; cp.async.wait_group 0; ' + read,
                  lambda i, a, b, c, n=count: xor(words[i % 128 * 4:i % 128 * 4 + n]))
    for kind in ('ca', 'cg'):
        for hint in ('.L2::128B', '.L2::256B', '.L2::64B'):
            t.add('cp.async.%s.shared.global%s' % (kind, hint), room + source + clear + 'cp.async.%s.shared.global%s [%%s], [%%p], 16; cp.async.wait_all; ' % (kind, hint) + read,
                  lambda i, a, b, c: xor(words[i % 128 * 4:i % 128 * 4 + 4]))
    t.add('cp.async of varying size', room + source + clear + 'and.b32 %y, %a, 15; cp.async.cg.shared.global [%s], [%p], 16, %y; cp.async.wait_all; ' + read,
          lambda i, a, b, c: xor((lambda data: [int.from_bytes(data[k:k + 4], 'little') for k in range(0, 16, 4)])(
              b''.join(w.to_bytes(4, 'little') for w in words[i % 128 * 4:i % 128 * 4 + 4])[:a & 15] + bytes(16 - (a & 15)))))
    barrier = '.shared .align 8 .b64 bar; .reg .b64 %m, %w; .reg .b32 %n; .reg .pred %f, %g; mov.u32 %n, bar; setp.eq.u32 %f, %i, 0; '
    init = '@%f mbarrier.init.shared.b64 [%n], 256; bar.sync 0; '
    wait = 'WAIT: mbarrier.%s.shared.b64 %%g, [%%n], %s; @!%%g bra WAIT; '
    rest = 'xor.b32 %%t, %%i, 255; shl.b32 %%t, %%t, 2; mov.u32 %%s, room; add.u32 %%t, %%s, %%t; shl.b32 %%x, %%i, 2; add.u32 %%s, %%s, %%x; '
    room2 = '.shared .b32 room[256]; .reg .b32 %s, %t, %x; ' + rest.replace('%%', '%')
    for name, how in (('test_wait', '%w'), ('try_wait', '%w'), ('test_wait.parity', '0'), ('try_wait.parity', '0')):
        body = barrier + room2 + init + 'st.shared.b32 [%s], %a; mbarrier.arrive.shared.b64 %w, [%n]; ' + wait % (name, how) + 'ld.shared.b32 %d, [%t];'
        t.add('mbarrier.%s.shared.b64' % name, body, lambda i, a, b, c: TRIPLES[255 - i][0], True)
    body = barrier + '.shared .align 16 .b8 room[1024]; .reg .b32 %s, %t, %x; mov.u32 %s, room; ' \
        '@%f mbarrier.init.shared::cta.b64 [%n], 1; bar.sync 0; ' \
        '@%f mbarrier.arrive.expect_tx.shared::cta.b64 %w, [%n], 1024; ' \
        '@%f cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 1024, [%n]; ' \
        'WAIT: mbarrier.try_wait.parity.shared::cta.b64 %g, [%n], 0; @!%g bra WAIT; shl.b32 %t, %i, 2; add.u32 %s, %s, %t; ld.shared.b32 %d, [%s];'
    t.add('cp.async.bulk.shared::cluster.global', body, lambda i, a, b, c: words[i], True)
    body = barrier + room2 + '@%f mbarrier.init.shared.b64 [%n], 256; bar.sync 0; st.shared.b32 [%s], %b; cp.async.mbarrier.arrive.noinc.shared.b64 [%n]; ' \
        'WAIT: mbarrier.test_wait.parity.shared.b64 %g, [%n], 0; @!%g bra WAIT; mbarrier.inval.shared.b64 [%n]; ld.shared.b32 %d, [%t];'
    t.add('cp.async.mbarrier.arrive.noinc.shared.b64', body, lambda i, a, b, c: TRIPLES[255 - i][1], True)
    t.add('mbarrier.pending_count.b64', barrier + init + 'setp.eq.u32 %f, %i, 0; @%f mbarrier.arrive.noComplete.shared.b64 %w, [%n], 6; '
          '@!%f mov.b64 %w, 0; mbarrier.pending_count.b64 %d, %w;', lambda i, a, b, c: 256 if i == 0 else 0, True)


LOADS = """ld.global.nc.f32 ld.global.v4.u32 ld.global.u64 ld.global.nc.u16 ld.global.v2.f32 ld.global.v4.f32 ld.global.nc.u8 ld.global.nc.v4.u32 ld.global.nc.f64
ld.global.nc.u64 ld.global.nc.v2.f32 ld.global.nc.v4.f32 ld.global.cs.f32 ld.global.v2.u32 ld.global.cs.v4.s32 ld.global.nc.v2.u32 ld.relaxed.gpu.v2.u32 ld.relaxed.gpu.v2.u64
ld.global.L2::128B.v4.u32 ld.global.cs.b16 ld.volatile.u32 ld.acquire.cta.u32 ld.acquire.sys.global.u8 ld.global.cg.b32 ld.global.nc.v2.f64 ld.global.nc.v2.u16 ld.global.nc.v4.u16
ld.global.nc.v4.u8 ld.global.v2.f64 ld.global.v2.u64 ld.relaxed.cta.b32 ld.relaxed.gpu.u32 ld.relaxed.sys.b64 ld.volatile.global.f32 ld.global.v8.b32 ld.global.v8.f32 ld.global.v4.b64
ld.global.v4.f64 ld.global.L1::evict_last.u32 ld.global.L1::no_allocate.L2::256B.v2.u32 ld.volatile.v2.u32 ld.acquire.gpu.global.v2.u32 ldu.global.v4.f32 ldu.global.v2.f64 ld.volatile.global.v4.b64 ld.volatile.global.v8.f32
ld.volatile.v2.f64 ld.relaxed.gpu.global.v4.u64 ld.acquire.sys.v8.b32 ld.mmio.relaxed.sys.global.u64 multimem.ld_reduce.relaxed.gpu.global.add.u32 multimem.ld_reduce.weak.global.min.s64
multimem.ld_reduce.relaxed.gpu.global.and.b32 multimem.ld_reduce.weak.global.xor.b64 multimem.ld_reduce.relaxed.sys.global.add.v2.f32 multimem.ld_reduce.weak.global.add.f64""".split()
STORES = """st.global.v4.u32 st.global.u64 st.global.v2.f32 st.global.v2.u32 st.global.v4.f32 st.global.cs.f32 st.global.v2.u64 st.relaxed.gpu.v2.u32 st.relaxed.gpu.v2.u64 st.volatile.u32
st.global.cg.v4.s32 st.global.cs.b16 st.global.cs.v4.s32 st.global.v2.f64 st.global.v4.u16 st.relaxed.cta.b32 st.release.sys.global.u8 st.volatile.global.f32 st.global.v8.b32
st.global.v4.f64 st.global.wb.u32 st.release.gpu.global.v2.u32 st.global.L1::no_allocate.v4.u32 st.mmio.relaxed.sys.global.u32 st.volatile.global.v4.b64 st.volatile.global.v8.u32
st.volatile.v2.u64 st.relaxed.gpu.global.v4.f64 st.release.sys.v8.b32 st.async.release.gpu.global.u32 st.async.mmio.release.sys.global.b64 multimem.st.relaxed.gpu.global.u32 multimem.st.weak.global.v2.f32""".split()


def whole_forms(t):
    """Each thread's 32 bytes of global memory, behind the words a, b, c of all."""
    words = sweep(768 + 256 * 8)
    address = '.reg .b64 %p, %q; .reg .b32 %s, %t; mul.wide.u32 %q, %i, 32; add.u64 %p, %in, %q; add.u64 %p, %p, 3072; '

    def add(name, body, function):
        outs = [function(words[768 + 8 * i:776 + 8 * i], *TRIPLES[i]) & mask(32) for i in range(256)]
        t.file.kernel(name, body, ['//# in sweep 2816', ptxtest.words('out', outs)])
    for name in LOADS + STORES:
        kind = name.split('.')[-1]
        bits, vector = bits_of(kind), int((re.search(r'\.v(\d)\.', name) or [0, '1'])[1])
        names = ['%%v%d' % i for i in range(vector)]
        group = '{%s}' % ', '.join(names) if vector > 1 else names[0]
        register = '.reg .b%d %%v<8>; ' % max(bits, 16)
        if name.startswith('ld') or 'ld_reduce' in name:
            add(name, address + register + '%s %s, [%%p]; ' % (name, group) + fold(names, bits), lambda w, a, b, c, k=kind, n=vector: folded_load(w, k, n))
            continue
        size = bits // 8 * vector
        body = address + register + spill8(names, bits) + '%s [%%p], %s; ' % (name, group)
        body += ''.join('ld.global.b32 %%t, [%%p+%d]; shf.l.wrap.b32 %%d, %%d, %%d, 3; xor.b32 %%d, %%d, %%t; ' % (4 * j) for j in range(max(size // 4, 1)))
        add(name, body, lambda w, a, b, c, k=kind, n=vector: folded_store(w, k, n, [(c, a, b)[i % 3] for i in range(10)]))


def spill8(names, bits):
    sources = ['%c', '%a', '%b'] * 3
    return ''.join({16: 'cvt.u16.u32 %s, %s; ' % (r, sources[i]), 32: 'mov.b32 %s, %s; ' % (r, sources[i]),
                    64: 'mov.b64 %s, {%s, %s}; ' % (r, sources[i], sources[i + 1])}[max(bits, 16)] for i, r in enumerate(names))


def parameters(t):
    """A kernel's parameters in pieces are what they are as a whole."""
    for kind in ('u8', 's8', 'b8', 'u16', 's16', 'b16', 'u32', 's32', 'b32', 'f32', 'b64', 'u64', 's64', 'f64'):
        for vector in (1, 2, 4):
            bits = bits_of(kind)
            if bits * vector > 64:
                continue
            names = ['%%v%d' % i for i in range(vector)]
            group = '{%s}' % ', '.join(names) if vector > 1 else names[0]
            name = 'ld.param%s.%s' % ('.v%d' % vector if vector > 1 else '', kind)
            body = '.reg .b%d %%v<4>; .reg .b64 %%w, %%x, %%y; .reg .b32 %%s; .reg .pred %%e; ld.param.u64 %%w, [in]; mov.b64 %%y, 0; ' % max(bits, 16)
            for at in range(0, 8, bits * vector // 8):
                body += '%s %s, [in+%d]; ' % (name, group, at)
                for i, r in enumerate(names):
                    shift = 8 * at + bits * i
                    body += {8: 'cvt.u64.u16 %%x, %s; ', 16: 'cvt.u64.u16 %%x, %s; ', 32: 'mov.b64 %%x, {%s, 0}; ', 64: 'mov.b64 %%x, %s; '}[bits] % r
                    body += 'and.b64 %%x, %%x, %#x; shl.b64 %%x, %%x, %d; or.b64 %%y, %%y, %%x; ' % (mask(bits), shift)
            t.add(name, body.replace('{%s, 0}', '{%s, %s}') + 'setp.eq.u64 %e, %w, %y; selp.u32 %d, 1, 0, %e;', lambda i, a, b, c: 1)
    t.add('cvta.param.u64', '.reg .b64 %p, %x, %y; .reg .pred %e; mov.b64 %p, in; cvta.param.u64 %p, %p; ld.u64 %x, [%p]; ld.param.u64 %y, [in]; '
          'setp.eq.u64 %e, %x, %y; selp.u32 %d, 1, 0, %e;', lambda i, a, b, c: 1)
    for kind, value in (('u16', 22 << 16 | 11), ('f32', 11), ('f64', 22), ('v2.u32', 11 ^ 22), ('v4.u32', 11 ^ 22 ^ 33 ^ 44)):
        body = {'u16': '.reg .b16 %x, %y; ld.const.u16 %x, [table]; ld.const.u16 %y, [table+4]; mov.b32 %d, {%x, %y};', 'f32': 'ld.const.f32 %d, [table];',
                'f64': '.reg .b64 %x; ld.const.f64 %x, [table]; mov.b64 {_, %d}, %x;',
                'v2.u32': '.reg .b32 %x, %y; ld.const.v2.u32 {%x, %y}, [table]; xor.b32 %d, %x, %y;',
                'v4.u32': '.reg .b32 %x, %y, %z, %w; ld.const.v4.u32 {%x, %y, %z, %w}, [table]; xor.b32 %d, %x, %y; xor.b32 %d, %d, %z; xor.b32 %d, %d, %w;'}[kind]
        t.add('ld.const.' + kind, body, lambda i, a, b, c, v=value: v)


FUNCTIONS = """.func (.param .b32 r) factorial(.param .b32 x)
{
	.reg .b32 %r<3>; .reg .pred %p;
	ld.param.b32 %r0, [x];
	mov.u32 %r1, 1;
	setp.lt.u32 %p, %r0, 2;
	@%p bra LAST;
	{
		.param .b32 y; .param .b32 z;
		sub.u32 %r1, %r0, 1;
		st.param.b32 [y], %r1;
		call (z), factorial, (y);
		ld.param.b32 %r1, [z];
	}
	mul.lo.u32 %r1, %r0, %r1;
LAST:
	st.param.b32 [r], %r1;
	ret;
}
.func (.param .b32 r) takes(.param .b32 x)
{
	.reg .b32 %r<3>; .reg .b64 %p;
	ld.param.b32 %r0, [x];
	alloca.u64 %p, 256;
	st.local.u32 [%p+128], %r0; ld.local.u32 %r1, [%p+128];
	st.param.b32 [r], %r1;
	ret;
}
.func (.param .b32 r) sum3(.param .b32 x, .param .b32 y, .param .b64 z)
{
	.reg .b32 %r<4>; .reg .b64 %z;
	ld.param.b32 %r0, [x]; ld.param.b32 %r1, [y]; ld.param.b64 %z, [z];
	mov.b64 {%r2, %r3}, %z;
	mad.lo.u32 %r0, %r0, 3, %r1; xor.b32 %r0, %r0, %r2; add.u32 %r0, %r0, %r3;
	st.param.b32 [r], %r0;
	ret;
}
.func (.reg .f32 r) half_of(.reg .f32 x, .param .f64 y)
{
	.reg .f64 %y; .reg .f32 %z;
	ld.param.f64 %y, [y]; cvt.rn.f32.f64 %z, %y;
	mul.f32 r, x, 0f3F000000; add.f32 r, r, %z;
	ret.uni;
}
.func (.param .align 8 .b8 r[16]) swapped(.param .align 8 .b8 x[16])
{
	.reg .b64 %x<2>;
	ld.param.v2.u64 {%x0, %x1}, [x];
	st.param.b64 [r], %x1; st.param.b64 [r+8], %x0;
	ret;
}
"""


def calls(t):
    t.add('call.uni', '{ .param .b32 p0; .param .b32 p1; .param .b64 p2; .param .b32 r0; .reg .b64 %z; mov.b64 %z, {%c, %a}; st.param.b32 [p0], %a; st.param.b32 [p1], %b; '
          'st.param.b64 [p2], %z; call.uni (r0), sum3, (p0, p1, p2); ld.param.b32 %d, [r0]; }', lambda i, a, b, c: (((a * 3 + b) & mask(32)) ^ c) + a)
    t.add('call in one way only', '{ .param .b32 p0; .param .b32 p1; .param .b64 p2; .param .b32 r0; .reg .b64 %z; .reg .pred %o; .reg .b32 %n; and.b32 %n, %a, 1; setp.eq.u32 %o, %n, 0; '
          'mov.u32 %d, %b; @%o bra AFTER; mov.b64 %z, {%c, %a}; st.param.b32 [p0], %a; st.param.b32 [p1], %b; st.param.b64 [p2], %z; call (r0), sum3, (p0, p1, p2); ld.param.b32 %d, [r0]; AFTER: }',
          lambda i, a, b, c: (((a * 3 + b) & mask(32)) ^ c) + a if a & 1 else b)
    t.add('call with .reg parameters', '{ .reg .f32 %x, %r; .reg .f64 %y; .param .f64 p1; cvt.rn.f32.u32 %x, %i; cvt.rn.f64.u32 %y, %i; mul.f64 %y, %y, 0d4008000000000000; st.param.f64 [p1], %y; '
          'call (%r), half_of, (%x, p1); cvt.rzi.u32.f32 %d, %r; }', lambda i, a, b, c: int(i * 3.5))
    t.add('call with arrays', '{ .param .align 8 .b8 p0[16]; .param .align 8 .b8 r0[16]; .param .f32 unused; .reg .b64 %x, %y; mov.b64 %x, {%a, %b}; mov.b64 %y, {%c, %a}; '
          'st.param.v2.u64 [p0], {%x, %y}; st.param.f32 [unused], 0f00000000; call (r0), swapped, (p0); ld.param.b64 %x, [r0]; ld.param.b64 %y, [r0+8]; mov.b64 {%d, _}, %x; mov.b64 {%a, %b}, %y; '
          'xor.b32 %d, %d, %b; }', lambda i, a, b, c: c ^ b)
    t.add('exit', '.reg .pred %o; .reg .b64 %p; .reg .b32 %n; and.b32 %n, %i, 1; setp.eq.u32 %o, %n, 1; mov.u32 %d, 5; @!%o bra GO; mul.wide.u32 %p, %i, 4; add.u64 %p, %out, %p; st.global.u32 [%p], 9; exit; GO:',
          lambda i, a, b, c: 9 if i & 1 else 5)
    t.add('brx.idx', 'LIST: .branchtargets L0, L1, L2, L3; .reg .b32 %n; and.b32 %n, %a, 3; brx.idx %n, LIST; L0: mov.u32 %d, 7; bra.uni OUT; L1: mov.u32 %d, %b; bra.uni OUT; '
          'L2: add.u32 %d, %b, %c; bra.uni OUT; L3: mov.u32 %d, %c; OUT:', lambda i, a, b, c: (7, b, b + c, c)[a & 3])
    for kind in ('f32', 'u16', 'f64', 's32', 'pred', 'b16', 'u64', 's64', 's16'):
        body = {'f32': 'mov.f32 %d, %a;', 's32': 'mov.s32 %d, %a;', 'pred': '.reg .pred %x, %y; setp.ne.u32 %x, %a, 0; mov.pred %y, %x; selp.u32 %d, %a, 0, %y;'}.get(kind)
        if kind in ('u16', 'b16', 's16'):
            body = '.reg .b16 %%x, %%y, %%z; mov.b32 {%%x, %%y}, %%a; mov.%s %%z, %%x; mov.b32 %%d, {%%z, %%y};' % kind
        if kind in ('f64', 'u64', 's64'):
            body = '.reg .b64 %%x, %%y; mov.b64 %%x, {%%b, %%a}; mov.%s %%y, %%x; mov.b64 {_, %%d}, %%y;' % kind
        t.add('mov.' + kind, body, lambda i, a, b, c: a)
    t.add('barrier.cluster', 'barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned; mov.u32 %d, %a;',
          lambda i, a, b, c: a, True)
    t.add('setmaxnreg', 'setmaxnreg.inc.sync.aligned.u32 120; setmaxnreg.dec.sync.aligned.u32 40; mov.u32 %d, %a;', lambda i, a, b, c: a, True)
    t.add('rcp.approx.ftz.f64', '.reg .f64 %x; .reg .b32 %s; cvt.rn.f64.u32 %x, %i; add.f64 %x, %x, 0d3FF0000000000000; rcp.approx.ftz.f64 %x, %x; mov.b64 {%s, %d}, %x; shr.u32 %d, %d, 2; or.b32 %d, %d, %s;',
          lambda i, a, b, c: double_bits(1 / (i + 1)) >> 34)


def double_bits(x):
    return struct.unpack('<Q', struct.pack('<d', x))[0]


def scoped_atomics(t):
    head = '.reg .b64 %p, %q; .reg .b32 %x; mul.wide.u32 %q, %i, 12; add.u64 %p, %in, %q; '
    for op, kind in (('add', 'u32'), ('and', 'b32'), ('cas', 'b32'), ('exch', 'b32'), ('max', 's32'), ('min', 's32'), ('or', 'b32'), ('xor', 'b32'), ('inc', 'u32'), ('dec', 'u32')):
        for name in ('atom.global.sys.%s.%s' % (op, kind), 'atom.%s.acq_rel.cta.%s' % (op, kind), 'atom.%s.release.gpu.%s' % (op, kind), 'atom.%s.acquire.cta.%s' % (op, kind), 'atom.%s.relaxed.cta.%s' % (op, kind)):
            t.add(name, head + '%s %%x, [%%p], %%b%s; ld.global.u32 %%d, [%%p]; xor.b32 %%d, %%d, %%x;' % (name, ', %c' if op == 'cas' else ''),
                  lambda i, a, b, c, o=op, k=kind: ATOMIC[o](a, b, c, k) & mask(32) ^ a)
    t.add('red.and.release.cta.b32', head + 'red.and.release.cta.b32 [%p], %b; ld.global.u32 %d, [%p];', lambda i, a, b, c: a & b)
    for name in ('atom.shared.add.f64', 'atom.global.sys.add.f64'):
        body = '.shared .align 8 .b8 room[2048]; .reg .b64 %p, %q; .reg .f64 %x, %y; mov.u64 %p, room; mul.wide.u32 %q, %i, 8; add.u64 %p, %p, %q; '
        if 'global' in name:
            body = body.replace('mov.u64 %p, room; ', 'add.u64 %p, %in, 3072; ')
        space = '.shared' if 'shared' in name else '.global'
        body += 'cvt.rn.f64.u32 %%x, %%a; cvt.rn.f64.u32 %%y, %%b; st%s.f64 [%%p], %%x; %s %%x, [%%p], %%y; ld%s.f64 %%y, [%%p]; sub.f64 %%y, %%y, %%x; cvt.rzi.u32.f64 %%d, %%y;' % (space, name, space)
        t.add(name, body, lambda i, a, b, c: b)


def wide_words(t):
    """128 bits as one."""
    head = '.reg .b64 %p, %q, %u, %v; .reg .b128 %w, %x; .reg .b32 %s; mul.wide.u32 %q, %i, 32; add.u64 %p, %in, %q; add.u64 %p, %p, 3072; '
    words = sweep(768 + 256 * 8)
    tail = 'mov.b128 {%u, %v}, %w; xor.b64 %u, %u, %v; mov.b64 {%d, %s}, %u; xor.b32 %d, %d, %s;'

    def xor4(i):
        w = words[768 + 8 * i:772 + 8 * i]
        return w[0] ^ w[1] ^ w[2] ^ w[3]

    def add(name, body, function):
        t.file.kernel(name, body, ['//# in sweep 2816', ptxtest.words('out', [function(i, *TRIPLES[i]) & mask(32) for i in range(256)])])
    for name in ('ld.global.b128', 'ld.volatile.global.b128', 'ld.relaxed.gpu.global.b128', 'ld.acquire.sys.b128', 'ldu.global.b128'):
        add(name, head + name + ' %w, [%p]; ' + tail, lambda i, a, b, c: xor4(i))
    make = 'mov.b64 %u, {%a, %b}; mov.b64 %v, {%c, %i}; mov.b128 %x, {%u, %v}; '
    for name in ('st.global.b128', 'st.volatile.global.b128', 'st.relaxed.gpu.global.b128', 'st.release.sys.b128'):
        add(name, head + make + name + ' [%p], %x; ld.global.v2.u64 {%u, %v}, [%p]; xor.b64 %u, %u, %v; mov.b64 {%d, %s}, %u; xor.b32 %d, %d, %s;', lambda i, a, b, c: a ^ b ^ c ^ i)
    add('atom.global.exch.b128', head + make + 'atom.global.exch.b128 %w, [%p], %x; ' + tail, lambda i, a, b, c: xor4(i))
    add('atom.relaxed.gpu.global.cas.b128', head + make + 'ld.global.b128 %w, [%p]; atom.relaxed.gpu.global.cas.b128 %w, [%p], %w, %x; ld.global.b128 %w, [%p]; ' + tail, lambda i, a, b, c: a ^ b ^ c ^ i)
    add('atom.global.cas.b128', head + make + 'atom.global.cas.b128 %w, [%p], %x, %x; ' + tail, lambda i, a, b, c: xor4(i))
    # All at one place: two counters that must never be seen apart, and none of whose steps may be lost. The last one says so behind the others' words.
    step = ('LOOP: ld.relaxed.gpu%(space)s.b128 %%w, [%%p]; mov.b128 {%%u, %%v}, %%w; add.u64 %%y, %%u, 1; add.u64 %%z, %%v, 3; mov.b128 %%x, {%%y, %%z}; '
            'atom.relaxed.gpu%(space)s.cas.b128 %%x, [%%p], %%w, %%x; mov.b128 {%%y, %%z}, %%x; setp.ne.u64 %%f, %%y, %%u; @%%f bra LOOP; '
            'setp.ne.u64 %%f, %%z, %%v; @%%f bra LOOP; mul.lo.u64 %%z, %%u, 3; setp.eq.u64 %%f, %%v, %%z; selp.u32 %%d, 1, 0, %%f; '
            'setp.eq.u64 %%f, %%u, %(last)d; @%%f st.global.u32 [%%out+%(end)d], %%d; ')
    start = '.reg .b64 %p, %u, %v, %y, %z; .reg .b128 %w, %x; .reg .pred %f; '
    for blocks, threads in ((1, 256), (4, 64)):
        shared = ('.shared', '.shared .align 16 .b8 place[16]; mov.u64 %p, place; mov.b64 %u, 0; st.shared.v2.u64 [%p], {%u, %u}; bar.sync 0; ')
        for space, where in (('.global', 'add.u64 %p, %in, 3072; '), ('', 'add.u64 %p, %in, 3072; '), shared)[:3 if blocks == 1 else 2]:
            lines = ['//# blocks %d' % blocks, '//# once', ptxtest.words('in', [7] * 768 + [0] * 4), ptxtest.words('out', [1] * 257)]
            t.file.kernel('atom%s.cas.b128 of all threads of %d' % (space, blocks), start + where + step % dict(space=space, last=255, end=1024), lines, threads)


def vector_atomics(t):
    head = '.reg .b64 %p, %q; .reg .b32 %x, %y, %z, %w; .reg .b16 %g, %h, %j, %k; mul.wide.u32 %q, %i, 32; add.u64 %p, %in, %q; add.u64 %p, %p, 3072; st.global.v2.u32 [%p], {%a, %b}; '

    def add(name, body, function):
        t.file.kernel(name, body, ['//# in sweep 2816', ptxtest.words('out', [function(*TRIPLES[i]) & mask(32) for i in range(256)])])

    def sum32(x, y):
        r = float_add(flush(x, F32), flush(y, F32), F32)
        return 0x7fffffff if r is None else flush(r, F32)

    def half(op, fmt):
        def run(x, y):
            r = float_add(x, y, fmt) if op == 'add' else min_max(x, y, fmt, op == 'max')
            return NAN[fmt] if r is None else r
        return lambda x, y: run(x & 0xffff, y & 0xffff) | run(x >> 16, y >> 16) << 16
    add('atom.global.v2.f32.add', head + 'atom.global.add.v2.f32 {%x, %y}, [%p], {%c, %a}; ld.global.v2.u32 {%z, %w}, [%p]; shl.b32 %x, %x, 1; xor.b32 %d, %x, %y; xor.b32 %d, %d, %z; shl.b32 %w, %w, 2; xor.b32 %d, %d, %w;',
        lambda a, b, c: a << 1 ^ b ^ sum32(a, c) ^ sum32(b, a) << 2)
    add('red.global.add.v2.f32', head + 'red.global.add.v2.f32 [%p], {%c, %a}; ld.global.v2.u32 {%z, %w}, [%p]; shl.b32 %w, %w, 2; xor.b32 %d, %z, %w;', lambda a, b, c: sum32(a, c) ^ sum32(b, a) << 2)
    for op in ('add', 'min', 'max'):
        for kind, fmt in (('f16', F16), ('bf16', BF16)):
            f = half(op, fmt)
            add('atom.global.%s.noftz.v2.%sx2' % (op, kind), head + 'atom.global.%s.noftz.v2.%sx2 {%%x, %%y}, [%%p], {%%c, %%a}; ld.global.v2.u32 {%%z, %%w}, [%%p]; shl.b32 %%x, %%x, 1; xor.b32 %%d, %%x, %%y; '
                'xor.b32 %%d, %%d, %%z; shl.b32 %%w, %%w, 2; xor.b32 %%d, %%d, %%w;' % (op, kind), lambda a, b, c, g=f: a << 1 ^ b ^ g(a, c) ^ g(b, a) << 2)
            add('red.global.%s.noftz.v2.%sx2' % (op, kind), head + 'red.global.%s.noftz.v2.%sx2 [%%p], {%%c, %%a}; ld.global.v2.u32 {%%z, %%w}, [%%p]; shl.b32 %%w, %%w, 2; xor.b32 %%d, %%z, %%w;' % (op, kind),
                lambda a, b, c, g=f: g(a, c) ^ g(b, a) << 2)
            add('atom.global.%s.noftz.v2.%s' % (op, kind), head + 'mov.b32 {%%j, %%k}, %%c; atom.global.%s.noftz.v2.%s {%%g, %%h}, [%%p], {%%j, %%k}; mov.b32 %%x, {%%h, %%g}; ld.global.u32 %%z, [%%p]; xor.b32 %%d, %%x, %%z;' % (op, kind),
                lambda a, b, c, g=f: (a << 16 | a >> 16) & mask(32) ^ g(a, c))
            add('red.global.%s.noftz.v2.%s' % (op, kind), head + 'mov.b32 {%%j, %%k}, %%c; red.global.%s.noftz.v2.%s [%%p], {%%j, %%k}; ld.global.u32 %%d, [%%p];' % (op, kind), lambda a, b, c, g=f: g(a, c))
    add('red.global.add.noftz.f16', head + 'cvt.u16.u32 %g, %c; red.global.add.noftz.f16 [%p], %g; ld.global.u32 %d, [%p];', lambda a, b, c, g=half('add', F16): a & 0xffff0000 | g(a, c) & 0xffff)
    add('red.global.add.f64', head + '.reg .f64 %r, %e; cvt.rn.f64.u32 %r, %a; cvt.rn.f64.u32 %e, %b; st.global.f64 [%p], %r; red.global.add.f64 [%p], %e; ld.global.f64 %e, [%p]; sub.f64 %e, %e, %r; cvt.rzi.u32.f64 %d, %e;',
        lambda a, b, c: b)
    for op, kind in (('add', 'u32'), ('min', 's32'), ('max', 'u32'), ('and', 'b32'), ('xor', 'b32')):
        add('multimem.red.relaxed.gpu.global.%s.%s' % (op, kind), head + 'multimem.red.relaxed.gpu.global.%s.%s [%%p], %%c; ld.global.u32 %%d, [%%p];' % (op, kind),
            lambda a, b, c, o=op, k=kind: ATOMIC[o](a, c, 0, k))
    add('multimem.red.relaxed.gpu.global.add.f32', head + 'multimem.red.relaxed.gpu.global.add.f32 [%p], %c; ld.global.u32 %d, [%p];', lambda a, b, c: sum32(a, c))
    for kind in ('e4m3x4', 'e5m2x4'):
        add('multimem.ld_reduce.relaxed.gpu.global.add.acc::f16.' + kind, head + 'multimem.ld_reduce.relaxed.gpu.global.add.acc::f16.%s %%d, [%%p];' % kind, lambda a, b, c: a)
        add('multimem.ld_reduce.weak.global.min.v2.' + kind, head + 'multimem.ld_reduce.weak.global.min.v2.%s {%%x, %%d}, [%%p]; xor.b32 %%d, %%d, %%x;' % kind, lambda a, b, c: a ^ b)
        add('multimem.st.relaxed.gpu.global.v2.' + kind, head + 'multimem.st.relaxed.gpu.global.v2.%s [%%p], {%%c, %%a}; ld.global.v2.u32 {%%x, %%d}, [%%p]; shl.b32 %%d, %%d, 1; xor.b32 %%d, %%d, %%x;' % kind,
            lambda a, b, c: a << 1 ^ c)
    add('red.async.release.gpu.global.add.u32', head + 'red.async.release.gpu.global.add.u32 [%p], %c; ld.global.u32 %d, [%p];', lambda a, b, c: a + c)


def bulk(t):
    words = [w for x in TRIPLES for w in x]
    head = '.shared .align 16 .b8 room[2048]; .shared .align 8 .b64 bar; .reg .b64 %w, %p, %q; .reg .b32 %n, %s, %t, %x, %y; .reg .pred %f, %g; mov.u32 %n, bar; setp.eq.u32 %f, %i, 0; mov.u32 %s, room; '
    init = '@%f mbarrier.init.shared.b64 [%n], 1; bar.sync 0; '
    wait = 'WAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %g, [%n], 0; @!%g bra WAIT; shl.b32 %t, %i, 2; add.u32 %t, %s, %t; ld.shared.b32 %d, [%t];'
    fill = 'shl.b32 %t, %i, 2; add.u32 %t, %s, %t; st.shared.b32 [%t], %a; st.shared.b32 [%t+1024], %b; bar.sync 0; '

    def add(name, body, function, count=768):
        t.file.kernel(name, body, ['//# once', '//# in sweep %d' % count, ptxtest.words('out', [function(i, *TRIPLES[i]) & mask(32) for i in range(256)])])
    add('cp.async.bulk.shared::cta.global', head + init + '@%f mbarrier.arrive.expect_tx.shared::cta.b64 %w, [%n], 1024; @%f cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%in], 1024, [%n]; ' + wait,
        lambda i, a, b, c: words[i])
    add('cp.async.bulk.shared::cluster.shared::cta', head + fill + init + '@%f mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%n], 1024; add.u32 %x, %s, 1024; '
        '@%f cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%s], [%x], 1024, [%n]; @%f mbarrier.arrive.release.cta.shared::cta.b64 %w, [%n]; ' + wait, lambda i, a, b, c: b)
    add('cp.async.bulk.global.shared::cta', head + fill + 'add.u64 %p, %in, 3072; @%f cp.async.bulk.global.shared::cta.bulk_group [%p], [%s], 1024; @%f cp.async.bulk.commit_group; @%f cp.async.bulk.wait_group.read 0; '
        'cp.async.bulk.wait_group 0; cp.async.bulk.prefetch.L2.global [%in], 64; bar.sync 0; mul.wide.u32 %q, %i, 4; add.u64 %p, %p, %q; ld.global.u32 %d, [%p];', lambda i, a, b, c: a, 1280)
    for op, kind in (('and', 'b32'), ('add', 'u32'), ('inc', 'u32'), ('min', 's32')):
        add('cp.reduce.async.bulk.shared::cluster %s.%s' % (op, kind), head + fill + init + '@%%f mbarrier.arrive.expect_tx.shared::cta.b64 %%w, [%%n], 1024; add.u32 %%x, %%s, 1024; '
            '@%%f cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.%s.%s [%%s], [%%x], 1024, [%%n]; ' % (op, kind) + wait, lambda i, a, b, c, o=op, k=kind: ATOMIC[o](a, b, 0, k))
    for op, kind in (('or', 'b32'), ('add', 's32'), ('dec', 'u32'), ('max', 'u32')):
        add('cp.reduce.async.bulk.global %s.%s' % (op, kind), head + fill + 'add.u64 %%p, %%in, 3072; mul.wide.u32 %%q, %%i, 4; add.u64 %%q, %%p, %%q; st.global.u32 [%%q], %%c; bar.sync 0; '
            '@%%f cp.reduce.async.bulk.global.shared::cta.bulk_group.%s.%s [%%p], [%%s], 1024; bar.sync 0; ld.global.u32 %%d, [%%q];' % (op, kind), lambda i, a, b, c, o=op, k=kind: ATOMIC[o](c, a, 0, k), 1280)

    for mask_, how in ((0x0f03, '0x0f03'), (0x8001, '%h'), (0xffff, '0xffff')):
        def some(i, a, b, c, m=mask_):
            return sum(((a if m >> (4 * i + k) % 16 & 1 else c) >> 8 * k & 0xff) << 8 * k for k in range(4))
        add('cp.async.bulk.global.shared::cta.bulk_group.cp_mask ' + how, head + fill + '.reg .b16 %h; mov.b16 %h, {m}; add.u64 %p, %in, 3072; mul.wide.u32 %q, %i, 4; add.u64 %q, %p, %q; st.global.u32 [%q], %c; '
            'bar.sync 0; @%f cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%p], [%s], 1024, {how}; @%f cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; bar.sync 0; ld.global.u32 %d, [%q];'
            .replace('{m}', str(mask_)).replace('{how}', how), some, 1280)
    # A request may be refused, and is where no block is left to begin: there is but one. What a handle says is said alike by both forms.
    for space, where in (('.shared::cta', '%s'), ('', '%q')):
        for every in ('', '.multicast::cluster::all'):
            ask = ('cvta.shared.u64 %q, room; .reg .b64 %m; cvta.shared.u64 %m, bar; ' if not space else '') + '@%f mbarrier.arrive.expect_tx.shared::cta.b64 %w, [%n], 16; '
            ask += '@%f clusterlaunchcontrol.try_cancel.async{space}.mbarrier::complete_tx::bytes{every}.b128 [{to}], [{bar}]; '
            ask = ask.replace('{space}', space).replace('{every}', every).replace('{to}', where).replace('{bar}', '%n' if space else '%m')
            look = 'WAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %g, [%n], 0; @!%g bra WAIT; .reg .b128 %h; ld.shared.b128 %h, [%s]; ' \
                'clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %g, %h; selp.u32 %d, 1, 2, %g; '
            add('clusterlaunchcontrol.try_cancel' + space + every, head + fill + init + ask + look, lambda i, a, b, c: 2)
    add('clusterlaunchcontrol.query_cancel', head + '.reg .b128 %h; .reg .b64 %u, %v; .reg .b32 %v0, %v1, %v2, %v3, %w0, %w1, %w2; mov.b64 %u, {%a, %b}; mov.b64 %v, {%c, %a}; mov.b128 %h, {%u, %v}; '
        'clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%v0, %v1, %v2, %v3}, %h; clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %w0, %h; '
        'clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %w1, %h; clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %w2, %h; '
        'xor.b32 %v0, %v0, %w0; xor.b32 %v1, %v1, %w1; xor.b32 %v2, %v2, %w2; or.b32 %d, %v0, %v1; or.b32 %d, %d, %v2;', lambda i, a, b, c: 0)

    def half(x, y):
        r = float_add(x, y, F16)
        return NAN[F16] if r is None else r
    add('cp.reduce.async.bulk.global add.noftz.f16', head + fill + 'add.u64 %p, %in, 3072; mul.wide.u32 %q, %i, 4; add.u64 %q, %p, %q; st.global.u32 [%q], %c; bar.sync 0; '
        '@%f cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%p], [%s], 1024; bar.sync 0; ld.global.u32 %d, [%q];',
        lambda i, a, b, c: half(c & 0xffff, a & 0xffff) | half(c >> 16, a >> 16) << 16, 1280)
    add('st.async', head + init + '@%f mbarrier.arrive.expect_tx.shared::cta.b64 %w, [%n], 2048; shl.b32 %t, %i, 3; add.u32 %t, %s, %t; '
        'st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%t], {%a, %b}, [%n]; ' + wait.replace('shl.b32 %t, %i, 2', 'xor.b32 %t, %i, 3; shl.b32 %t, %t, 3'), lambda i, a, b, c: TRIPLES[i ^ 3][0])
    for op, kind in (('add', 'u32'), ('xor', 'b32'), ('max', 's32')):
        add('red.async %s.%s' % (op, kind), head + fill + init + '@%%f mbarrier.arrive.expect_tx.shared::cta.b64 %%w, [%%n], 1024; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%s.%s [%%t], %%c, [%%n]; '
            % (op, kind) + wait, lambda i, a, b, c, o=op, k=kind: ATOMIC[o](a, c, 0, k))
    add('mbarrier.complete_tx', head + fill + '@%f mbarrier.init.shared.b64 [%n], 256; bar.sync 0; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%n], 8; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%n], 8; '
        'mbarrier.arrive.release.cta.shared::cta.b64 %w, [%n]; WAIT: mbarrier.test_wait.acquire.cta.shared::cta.b64 %g, [%n], %w; @!%g bra WAIT; mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %g, [%n], 0; '
        'selp.u32 %d, 1, 0, %g;', lambda i, a, b, c: 1)
    add('mbarrier.arrive_drop', head + '@%f mbarrier.init.shared.b64 [%n], 256; bar.sync 0; mbarrier.arrive_drop.shared.b64 %w, [%n]; bar.sync 0; mbarrier.test_wait.parity.shared.b64 %g, [%n], 0; selp.u32 %d, 1, 0, %g;',
        lambda i, a, b, c: 1)
    add('mbarrier.arrive.shared::cluster.b64', head + '@%f mbarrier.init.shared::cta.b64 [%n], 512; bar.sync 0; mbarrier.arrive.shared::cluster.b64 _, [%n]; mbarrier.arrive.shared::cta.b64 %w, [%n]; '
        'cp.async.mbarrier.arrive.shared.b64 [%n]; bar.sync 0; mbarrier.test_wait.parity.shared.b64 %g, [%n], 0; selp.u32 %d, 1, 0, %g;', lambda i, a, b, c: 1)
    add('st.bulk', head + fill + '@%f { .reg .b64 %z; mov.u64 %z, room; st.bulk.weak.shared::cta [%s], 1024, 0; } bar.sync 0; ld.shared.u32 %x, [%t]; ld.shared.u32 %y, [%t+1024]; xor.b32 %d, %x, %y;'.replace(
        '@%f { .reg .b64 %z; mov.u64 %z, room; ', '@%f ').replace('0; } bar', '0; bar'), lambda i, a, b, c: b)


def stacks(t):
    """alloca: words of each thread's own, some of them given back, in loops and by the end of a function."""
    for bits, base in ((32, '%s'), (64, '%p')):
        head = '.reg .b%d %%p0, %%p1, %%p2, %%save, %%size; .reg .b32 %%n, %%k, %%t; .reg .pred %%e; ' % bits
        u = 'u%d' % bits
        # As many words as the thread's number says, filled, then another piece that must not touch them; d: the sum of both.
        body = head + 'stacksave.{u} %save; and.b32 %n, %a, 7; add.u32 %n, %n, 1; cvt.{u}.u32 %size, %n; shl.b{w} %size, %size, 2; alloca.{u} %p0, %size; ' \
            'mov.{u} %p1, %p0; mov.u32 %k, 0; FILL: add.u32 %t, %b, %k; st.local.u32 [%p1], %t; add.{u} %p1, %p1, 4; add.u32 %k, %k, 1; setp.lt.u32 %e, %k, %n; @%e bra FILL; ' \
            'alloca.{u} %p2, 64, 64; st.local.u32 [%p2], %c; st.local.u32 [%p2+60], %c; mov.u32 %k, 0; mov.{u} %p1, %p0; ' \
            'SUM: ld.local.u32 %t, [%p1]; add.u32 %d, %d, %t; add.{u} %p1, %p1, 4; add.u32 %k, %k, 1; setp.lt.u32 %e, %k, %n; @%e bra SUM; ld.local.u32 %t, [%p2+60]; add.u32 %d, %d, %t; ' \
            'stackrestore.{u} %save; alloca.{u} %p1, 8; and.b{w} %p1, %p1, 7; setp.eq.{u} %e, %p1, 0; @!%e mov.u32 %d, 0;'
        body = body.replace('{u}', u).replace('{w}', str(bits))
        t.add('alloca.%s' % u, body, lambda i, a, b, c: sum(b + k for k in range((a & 7) + 1)) + c)
        # A piece taken and given back in each of a thousand rounds fits.
        body = head + 'mov.u32 %k, 0; AGAIN: stacksave.{u} %save; alloca.{u} %p0, 256; st.local.u32 [%p0+252], %a; ld.local.u32 %t, [%p0+252]; add.u32 %d, %d, %t; stackrestore.{u} %save; ' \
            'add.u32 %k, %k, 1; setp.lt.u32 %e, %k, 1000; @%e bra AGAIN;'
        t.add('stackrestore.%s in a loop' % u, body.replace('{u}', u), lambda i, a, b, c: a * 1000)
    body = '.reg .b32 %k, %t; .reg .pred %e; mov.u32 %k, 0; AGAIN: { .param .b32 x; .param .b32 y; st.param.b32 [x], %a; call (y), takes, (x); ld.param.b32 %t, [y]; } add.u32 %d, %d, %t; ' \
        'add.u32 %k, %k, 1; setp.lt.u32 %e, %k, 500; @%e bra AGAIN;'
    t.add('alloca in a function', body, lambda i, a, b, c: a * 500)


def guarded_calls(t):
    """@p call of what is not inlined: recursion."""
    t.add('call of some', '.reg .pred %p, %q; and.b32 %d, %a, 7; setp.gt.u32 %p, %d, 3; setp.gt.u32 %q, %d, 8; { .param .b32 x; .param .b32 y; st.param.b32 [x], %d; st.param.b32 [y], 5; '
          '@%p call (y), factorial, (x); @%q call (y), factorial, (x); @!%p st.param.b32 [y], 5; ld.param.b32 %d, [y]; }',
          lambda i, a, b, c: {4: 24, 5: 120, 6: 720, 7: 5040}.get(a & 7, 5))


def stops(t):
    """Some threads stop the kernel, or none does."""
    for name in ('trap', 'brkpt'):
        mark = '.reg .pred %p; '
        t.file.kernel(name, mark + 'setp.eq.u32 %%p, %%i, 77; @%%p %s; mov.u32 %%d, %%a;' % name, ['//# fails CUDA_ERROR_LAUNCH_FAILED'])
        t.file.kernel(name + ' of all', '%s; mov.u32 %%d, %%a;' % name, ['//# fails CUDA_ERROR_LAUNCH_FAILED'])
        t.add(name + ' of none', mark + 'setp.eq.u32 %%p, %%i, 777; @%%p %s; mov.u32 %%d, %%a;' % name, lambda i, a, b, c: a)


def hints(t):
    head = '.reg .b64 %p, %q; mul.wide.u32 %q, %i, 12; add.u64 %p, %in, %q; '
    for name in ('applypriority.global.L2::evict_normal [%in], 128', 'prefetch.global.L2::evict_last [%p]', 'prefetch.global.L2::evict_normal [%p]', 'createpolicy.cvt.L2.b64 %q, %q',
                 'createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %q, [%p], 128, 256', 'membar.proxy.alias', 'fence.acquire.cluster', 'fence.release.gpu',
                 'fence.acquire.sync_restrict::shared::cluster.cluster', 'fence.release.sync_restrict::shared::cta.cluster', 'fence.proxy.async', 'fence.proxy.async.global', 'fence.proxy.async.shared::cta',
                 'fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster', 'fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster'):
        t.add(name, head + name + '; mov.u32 %d, %c;', lambda i, a, b, c: c)
    t.add('discard.global.L2', head + '.reg .pred %z; setp.ne.u32 %z, %i, %i; @%z discard.global.L2 [%in], 128; mov.u32 %d, %c;', lambda i, a, b, c: c)
    for name in ('L2::cache_hint', 'L1::evict_first.L2::cache_hint'):
        t.add('ld.global.' + name, head + 'createpolicy.fractional.L2::evict_first.b64 %%q, 0f3f000000; ld.global.%s.u32 %%d, [%%p+4], %%q;' % name, lambda i, a, b, c: b)
    t.add('isspacep.param', head + '.reg .pred %e, %f; mov.b64 %q, in; cvta.param.u64 %q, %q; isspacep.param %e, %q; isspacep.param::entry %f, %p; selp.u32 %d, 1, 0, %e; @%f add.u32 %d, %d, 2;', lambda i, a, b, c: 1)
    t.add('cvta.to.param', head + '.reg .b64 %x, %y; .reg .pred %e; mov.b64 %q, in; cvta.param.u64 %x, %q; cvta.to.param.u64 %y, %x; ld.param.u64 %y, [%y]; setp.eq.u64 %e, %y, %in; selp.u32 %d, 1, 0, %e;', lambda i, a, b, c: 1)


def barriers(t):
    odd2 = '.reg .pred %p, %q; .reg .b32 %o; and.b32 %o, %a, 1; setp.eq.u32 %p, %o, 1; '
    t.add('barrier.red.popc.aligned.u32', odd2 + 'barrier.red.popc.aligned.u32 %d, 0, %p;', lambda i, a, b, c: sum(x[0] & 1 for x in TRIPLES), True)
    t.add('barrier.red.and.pred', odd2 + 'barrier.red.and.pred %q, 1, 256, %p; selp.u32 %d, 1, 2, %q;', lambda i, a, b, c: 2, True)
    t.add('barrier.cta.red.or.aligned.pred', odd2 + 'barrier.cta.red.or.aligned.pred %q, 1, %p; selp.u32 %d, 1, 2, %q;', lambda i, a, b, c: 1, True)
    t.add('barrier.arrive', '.reg .pred %p; setp.lt.u32 %p, %i, 128; mov.u32 %d, %a; @%p barrier.arrive.aligned 3, 256; @!%p barrier.sync.aligned 3, 256;', lambda i, a, b, c: a, True)
    room = '.shared .b32 room[256]; .reg .b32 %s, %t, %x; mov.u32 %s, room; shl.b32 %x, %i, 2; add.u32 %t, %s, %x; xor.b32 %x, %x, 1020; add.u32 %s, %s, %x; st.shared.b32 [%t], %a; '
    for name in ('bar.sync 0', 'bar.sync 3, 256', 'barrier.sync 5', 'barrier.sync.aligned 1, 256', 'bar.cta.sync 0'):
        t.add(name, room + name + '; ld.shared.b32 %d, [%s];', lambda i, a, b, c: TRIPLES[255 - i][0], True)
    odd = '.reg .pred %p, %q; .reg .b32 %o; and.b32 %o, %a, 1; setp.eq.u32 %p, %o, 1; '
    count = sum(x[0] & 1 for x in TRIPLES)
    t.add('bar.red.popc.u32', odd + 'bar.red.popc.u32 %d, 0, %p;', lambda i, a, b, c: count, True)
    t.add('bar.red.and.pred', odd + 'bar.red.and.pred %q, 0, %p; selp.u32 %d, 1, 2, %q;', lambda i, a, b, c: 2, True)
    t.add('bar.red.or.pred', odd + 'bar.red.or.pred %q, 1, 256, !%p; selp.u32 %d, 1, 2, %q;', lambda i, a, b, c: 1, True)
    body = room + '.reg .pred %p; setp.lt.u32 %p, %i, 128; @%p bra FIRST; bar.sync 2, 256; ld.shared.b32 %d, [%s]; bra ALL; FIRST: bar.arrive 2, 256; mov.u32 %d, %b; ALL: '
    t.add('bar.arrive', body, lambda i, a, b, c: b if i < 128 else TRIPLES[255 - i][0], True)


def main():
    t = Tests()
    t.file.text[0] += '.const .align 16 .u32 table[4] = { 11, 22, 33, 44 };\n.global .align 4 .u32 cell;\n' + FUNCTIONS
    for family in (accesses, modifiers, spaces, atomics, float_atomics, scoped_atomics, whole_forms, parameters, calls, asynchronous, wide_words, vector_atomics, bulk, stacks, guarded_calls, stops, hints, barriers):
        family(t)
    t.file.save(sys.argv[1])


if __name__ == '__main__':
    main()
