#!/usr/bin/env python3
"""hardware.txt -> PTX tests: every instruction there on the card's inputs, against the card's hashes.

    hardware.py OUTPUT.ptx
"""
import os
import re
import sys

import ptxtest

CARRY = {
    'add.cc/addc': 'add.cc.u32 %d, %a, %b; addc.cc.u32 %d, %d, %c; addc.u32 %d, %d, 0;',
    'sub.cc/subc': 'sub.cc.u32 %d, %a, %b; subc.cc.u32 %d, %d, %c; subc.u32 %d, %d, 0;',
    'mad.lo.cc/madc.hi': '.reg .u32 %t; mad.lo.cc.u32 %t, %a, %b, %c; madc.hi.u32 %d, %a, %b, %t;',
}
UNARY = 'abs neg brev popc clz bfind sqrt rcp testp not'.split()
TERNARY = 'mad fma sad bfe dp2a dp4a shf prmt fns slct'.split()


def bits_of(kind):
    return int(re.search(r'\d+', kind)[0])


def pack(bits, register):
    """The result register's bits into %d: halves twice."""
    if bits == 16:
        return 'mov.b32 %%d, {%s, %s};' % (register, register)
    return 'mov.b32 %%d, %s;' % register


def arguments(op):
    return ['%a', '%b', '%c'][:1 if op in UNARY else 3 if op in TERNARY else 2]


def unpack64(half):
    return 'mov.b64 {%s}, %%x;' % ('%d, _' if half == 'lo' else '_, %d')


def wide_body(name, op, kind, half):
    """64-bit operands; popc and the like have a 32-bit result."""
    registers = '.reg .b64 %x, %y, %z; mov.b64 %x, {%a, %b}; mov.b64 %y, {%b, %c}; mov.b64 %z, {%c, %a}; '
    if op in ('popc', 'clz', 'bfind'):
        return registers + '%s %%d, %%x;' % name
    if op == 'testp':
        return registers + '.reg .pred %%p; %s %%p, %%x; selp.u32 %%d, 1, 0, %%p;' % name
    if op in ('shr', 'shl'):
        return registers + '%s %%x, %%x, %%c; %s' % (name, unpack64(half))
    count = len(arguments(op))
    return registers + '%s %%x, %s; %s' % (name, ', '.join(['%x', '%y', '%z'][:count]), unpack64(half))


def convert_body(name, to, source, half):
    """cvt from what lies in a (and b)."""
    bits_to, bits_from = bits_of(to), bits_of(source)
    if to == 'bf16x2':
        return '%s %%d, %%a, %%b;' % name
    body = '.reg .b%d %%r; ' % max(bits_to, 16)
    if bits_from == 64:
        body += '.reg .b64 %%x; mov.b64 %%x, {%%a, %%b}; %s %%r, %%x; ' % name
    else:
        body += '%s %%r, %%a; ' % name
    if bits_to == 64:
        return body + 'mov.b64 {%s}, %%r;' % ('%d, _' if half == 'lo' else '_, %d')
    return body + pack(bits_to, '%r')


def body_of(name, half):
    parts = name.split('.')
    op, kind = parts[0], parts[-1]
    if name in CARRY:
        return CARRY[name]
    if op == 'lop3':
        return 'lop3.b32 %%d, %%a, %%b, %%c, %s;' % parts[1]
    if op == 'cvt' and parts[1] == 'pack':
        return '%s %%d, %s;' % (name, '%a, %b, %c' if kind == 'b32' else '%a, %b')
    if op == 'cvt':
        return convert_body(name, parts[-2], kind, half)
    if name.startswith('mul.wide') and bits_of(kind) == 16:
        return '.reg .b16 %%x, %%y; cvt.u16.u32 %%x, %%a; cvt.u16.u32 %%y, %%b; %s %%d, %%x, %%y;' % name
    if name.startswith('mul.wide'):
        return '.reg .b64 %%x; %s %%x, %%a, %%b; %s' % (name, unpack64(half))
    if name.startswith('mad.wide'):
        return '.reg .b64 %%x, %%z; mov.b64 %%z, {%%c, %%a}; %s %%x, %%a, %%b, %%z; %s' % (name, unpack64(half))
    if op == 'bfi':
        return '%s %%d, %%a, %%b, %%c, %%a;' % name
    if kind.endswith('64'):
        return wide_body(name, op, kind, half)
    if op == 'setp':
        return '.reg .pred %%p; %s %%p, %%a, %%b; selp.u32 %%d, 1, 0, %%p;' % name
    if op == 'testp':
        return '.reg .pred %%p; %s %%p, %%a; selp.u32 %%d, 1, 0, %%p;' % name
    return '%s %%d, %s;' % (name, ', '.join(arguments(op)))


def main():
    file = ptxtest.File('hardware.py')
    table = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'hardware.txt')
    with open(table, encoding='utf-8') as lines:
        for line in lines:
            if line.startswith('#'):
                continue
            *words, hashed = line.split()
            half = words[1] if len(words) > 1 else None
            file.kernel(' '.join(words), body_of(words[0], half), ['//# in sweep 768', '//# hash ' + hashed])
    file.save(sys.argv[1])


if __name__ == '__main__':
    main()
