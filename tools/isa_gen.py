#!/usr/bin/env python3
"""spec/ptx.isa -> isa_mods.h, isa_table.c, isa_emit.h (see src/ptx/isa.h for what they hold).

    isa_gen.py SPEC OUTPUT-FOLDER

The notation of the rows is explained at the top of spec/ptx.isa. Anything that is not understood
ends the build with the line's number.
"""
import os
import re
import sys

FLAGS = ['pure', 'reads', 'writes', 'atomic', 'convergent', 'barrier', 'branch', 'call', 'effect',
         'uniform', 'varying', 'traps', 'bits', 'wide', 'select']
SHAPES = ['none', 'mov', 'cvt', 'add', 'sub', 'mul', 'mulwide', 'mad', 'madwide', 'shl', 'shr',
          'and', 'or', 'xor', 'not', 'neg', 'abs', 'min', 'max', 'select', 'compare', 'load']
ROLES = {'label': 'ISA_LABEL', 'symbol': 'ISA_SYMBOL', 'list': 'ISA_LIST', 'any': 'ISA_ANY', 'imm': 'ISA_IMMEDIATE'}
LLVM_BINARY = ['Add', 'Sub', 'Mul', 'And', 'Or', 'Xor', 'FAdd', 'FSub', 'FMul', 'FDiv']
MAX_SLOTS, MAX_OPERANDS = 20, 12


class SpecError(Exception):
    pass


def identifier(name):
    return re.sub(r'[^A-Za-z0-9]', '_', name)


class Row:
    """One form: slots are (optional, [modifier, ...]); operands are dicts of struct isa_operand."""

    def __init__(self, spelling, operands, version, target, properties, sets, types):
        self.opcode, self.slots, self.label = parse_spelling(spelling, sets)
        self.text = self.expanded() if operands == '-' else self.expanded() + '  ' + operands
        self.version = parse_version(version)
        self.sm, self.arch_specific = parse_target(target)
        self.operands = parse_operands(operands, types)
        self.flags, self.shape = [], 'none'
        self.emit, self.llvm = identifier(self.opcode), None
        for word in properties.split():
            self.set_property(word)
        if len(self.slots) > MAX_SLOTS or len(self.operands) > MAX_OPERANDS:
            raise SpecError('too many slots or operands')

    def expanded(self):
        """The spelling with its sets written out: mul.lo.{u16,u32}"""
        text = self.opcode
        for optional, choices in self.slots:
            slot = '.' + (choices[0] if len(choices) == 1 else '{' + ','.join(choices) + '}')
            text += '{' + slot + '}' if optional else slot
        return text

    def set_property(self, word):
        key, _, value = word.partition('=')
        if word in FLAGS:
            self.flags.append(word)
        elif key == 'shape' and value in SHAPES:
            self.shape = value
        elif key == 'emit' and value:
            self.emit = value
        elif word == 'control':
            self.emit, self.llvm = None, 'control'
        elif key == 'llvm' and (value in LLVM_BINARY or value.startswith('intrinsic:llvm.')):
            self.emit, self.llvm = None, value
        else:
            raise SpecError('unknown property ' + word)


def parse_version(text):
    match = re.fullmatch(r'(\d+)\.(\d)', text)
    if not match:
        raise SpecError('version expected, not ' + text)
    return int(match[1]) * 10 + int(match[2])


def parse_target(text):
    if text == '-':
        return 0, False
    match = re.fullmatch(r'sm_(\d+)([af]?)', text)
    if not match:
        raise SpecError('target expected, not ' + text)
    return int(match[1]), match[2] != ''


def parse_spelling(text, sets):
    """add{.sat}.{s32,u32} -> 'add', [(True, ['sat']), (False, ['s32', 'u32'])], 'add_sat_s32u32'"""
    match = re.match(r'[a-z_0-9]+', text)
    opcode, rest, slots, label = match[0], text[match.end():], [], match[0]
    token = re.compile(r'\{\.\{([^{}]*)\}\}|\{\.([\w:]+)\}|\.\{([^{}]*)\}|\.([\w:]+)')
    while rest:
        match = token.match(rest)
        if not match:
            raise SpecError('slot expected at ' + rest)
        optional = match[1] is not None or match[2] is not None
        name = match[2] or match[4]
        if name:
            choices = sets.get(name, [name])
            label += '_' + identifier(name)
        else:
            choices = []
            for choice in (match[1] or match[3]).split(','):
                choices += sets.get(choice.strip(), [choice.strip()])
            label += '_' + identifier(choices[0])
        if not all(re.fullmatch(r'[\w:]+', c) for c in choices):
            raise SpecError('bad choice in ' + match[0])
        slots.append((optional, choices))
        rest = rest[match.end():]
    return opcode, slots, label


def count_up(word):
    """m64n{8..24..8}k16 -> m64n8k16, m64n16k16, m64n24k16"""
    match = re.fullmatch(r'(\w*)\{(\d+)\.\.(\d+)\.\.(\d+)\}(\w*)', word)
    if not match:
        return [word]
    return [match[1] + str(i) + match[5] for i in range(int(match[2]), int(match[3]) + 1, int(match[4]))]


def split_operands(text):
    text = re.sub(r'\{\s*,\s*([^{}]*(?:\{[^{}]*\})?[^{}]*)\}', lambda m: ', ' + ', '.join(
        part.strip() + '?' for part in m[1].split(',')) if '[' not in m[1] and '{' not in m[1]
        else ', ' + m[1] + '?', text)
    parts, depth, part = [], 0, ''
    for c in text:
        depth += (c in '[{(') - (c in ']})')
        if c == ',' and depth == 0:
            parts.append(part.strip())
            part = ''
        else:
            part += c
    return parts + [part.strip()]


def parse_operands(text, types):
    if text == '-':
        return []
    return [parse_operand(part, types) for part in split_operands(text)]


def parse_operand(text, types):
    operand = dict(role='ISA_VALUE', is_result=False, optional=text.endswith('?'), pair=False,
                   type=None, type_slot=0, pair_type=None)
    text = text.rstrip('?')
    match = re.fullmatch(r'(\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|[A-Za-z]\w*)(?::(\w+))?(?:\|(\w+)(?::(\w+))?)?', text)
    if not match:
        raise SpecError('bad operand ' + text)
    body, kind, pair, pair_kind = match.groups()
    operand['is_result'] = re.fullmatch(r'\{?d\d?\*?\}?', body) is not None
    if body[0] == '[':
        operand['role'] = 'ISA_TEXTURE' if ',' in body else 'ISA_ADDRESS'
    elif body[0] == '{':
        operand['role'] = 'ISA_FRAGMENT' if body.endswith('*}') else 'ISA_VECTOR'
    elif body[0] == '(':
        operand['role'] = 'ISA_LIST'
    elif operand['is_result']:
        operand['role'] = 'ISA_REGISTER'
    if kind in ROLES:
        operand['role'] = ROLES[kind]
    elif kind and re.fullmatch(r'T[0-3]', kind):
        operand['type_slot'] = int(kind[1])
    elif kind == 'reg':
        operand['role'] = 'ISA_REGISTER'
    elif kind:
        if kind not in types:
            raise SpecError('unknown type ' + kind)
        operand['type'] = kind
    if pair:
        operand['pair'] = True
        operand['pair_type'] = pair_kind or 'pred'
    return operand


class Spec:
    def __init__(self, path):
        self.types, self.sets, self.rows, self.sregs, self.needs = [], {}, [], [], {}
        self.mods = set()
        with open(path, encoding='utf-8') as f:
            for number, line in enumerate(f, 1):
                try:
                    self.add_line(line.split('#')[0].rstrip())
                except (SpecError, ValueError, TypeError) as error:
                    sys.exit('%s:%d: %s' % (path, number, error))
        # Stable: rows of one opcode stay in the file's order, where the first match counts.
        self.rows.sort(key=lambda row: row.opcode)
        for row in self.rows:
            for _, choices in row.slots:
                self.mods.update(choices)
        self.mods.update(self.types)
        for name in self.sets:
            if name in self.mods:
                sys.exit('%s: the set %s has the name of a modifier' % (path, name))
        self.mods = sorted(self.mods)
        self.opcodes = sorted({row.opcode for row in self.rows})
        self.name_rows()

    def add_line(self, line):
        if not line.strip():
            return
        fields = re.split(r'\s{2,}', line.strip())
        words = line.split()
        if words[0] == 'types':
            self.types += words[1:]
        elif words[0] == 'set':
            if words[2] != '=':
                raise SpecError('set NAME = choice choice')
            self.sets[words[1]] = [c for w in words[3:] for c in self.sets.get(w, count_up(w))]
        elif words[0] == 'mod':
            self.needs[words[1]] = (parse_version(words[2]), parse_target(words[3])[0])
        elif words[0] == 'sreg':
            self.add_sreg(words[1:])
        elif len(fields) in (4, 5):
            self.rows.append(Row(*fields[:4], fields[4] if len(fields) > 4 else '', self.sets, self.types))
        else:
            raise SpecError('spelling  operands  version  target  properties (two spaces between), not %d fields' % len(fields))

    def add_sreg(self, words):
        """sreg %envreg<32>  b32  1.0  -   or   sreg %tid.v4  u32  1.0  -"""
        name, kind, version, target = words
        components = 4 if name.endswith('.v4') else 1
        name = name.removesuffix('.v4')
        if kind not in self.types:
            raise SpecError('unknown type ' + kind)
        match = re.fullmatch(r'(%\w+)<(\d+)>(\w*)', name)
        names = ['%s%d%s' % (match[1], i, match[3]) for i in range(int(match[2]))] if match else [name]
        for name in names:
            self.sregs.append((name, kind, components, parse_version(version), parse_target(target)[0]))

    def name_rows(self):
        seen = {}
        for row in self.rows:
            count = seen[row.label] = seen.get(row.label, 0) + 1
            row.name = 'ROW_' + row.label + ('_%d' % count if count > 1 else '')


HEAD = '/* Generated from spec/ptx.isa by tools/isa_gen.py. */\n'


def write_mods(spec, out):
    out.write(HEAD + '#ifndef DRAGOMAN_ISA_MODS_H\n#define DRAGOMAN_ISA_MODS_H\n\n')
    out.write('enum ptx_mod {\n\tMOD_NONE,\n')
    for mod in spec.mods:
        out.write('\tMOD_%s,\n' % identifier(mod))
    out.write('\tISA_MOD_COUNT\n};\n\nenum isa_opcode {\n')
    for opcode in spec.opcodes:
        out.write('\tOP_%s,\n' % identifier(opcode))
    out.write('\tISA_OPCODE_COUNT\n};\n\nenum isa_shape {\n')
    out.write(',\n'.join('\tSHAPE_' + shape for shape in SHAPES))
    out.write('\n};\n\nenum isa_row_index {\n')
    for row in spec.rows:
        out.write('\t%s,\n' % row.name)
    out.write('\tISA_ROW_COUNT\n};\n\nenum ptx_sreg {\n')
    for sreg in spec.sregs:
        out.write('\tSREG_%s,\n' % identifier(sreg[0][1:]))
    out.write('\tISA_SREG_COUNT\n};\n\n#endif\n')


def type_constant(name):
    return 'PTX_' + name.upper() if name else '0'


def c_bool(value):
    return 'true' if value else 'false'


def write_table(spec, out):
    out.write(HEAD + '#include "ptx/ptx.h"\n#include "ptx/isa_index.h"\n\n')
    choices, slots_of = [], {}
    for row in spec.rows:
        for _, names in row.slots:
            key = tuple(names)
            if key not in slots_of:
                slots_of[key] = len(choices)
                choices += names
    out.write('const uint16_t isa_choices[] = {\n')
    for choice in choices:
        out.write('\tMOD_%s,\n' % identifier(choice))
    out.write('};\n\nconst struct isa_row isa_rows[] = {\n')
    for row in spec.rows:
        write_row(row, slots_of, out)
    out.write('};\nconst size_t isa_row_count = ISA_ROW_COUNT;\n\nconst char *const isa_emitters[] = {\n')
    for row in spec.rows:
        out.write('\t"%s",\n' % ('emit_' + row.emit if row.emit else row.llvm))
    out.write('};\n\n')
    out.write('const char *const isa_mod_names[] = {\n\t"",\n')
    for mod in spec.mods:
        out.write('\t"%s",\n' % mod)
    out.write('};\n\nconst uint8_t isa_mod_types[] = {\n')
    for kind in spec.types:
        out.write('\t[MOD_%s] = %s,\n' % (identifier(kind), type_constant(kind)))
    out.write('\t[ISA_MOD_COUNT] = 0\n};\n\nconst struct isa_need isa_mod_needs[] = {\n')
    for name, (version, sm) in spec.needs.items():
        out.write('\t[MOD_%s] = { %d, %d },\n' % (identifier(name), version, sm))
    out.write('\t[ISA_MOD_COUNT] = { 0, 0 }\n};\n\nconst char *const isa_opcode_names[] = {\n')
    for opcode in spec.opcodes:
        out.write('\t"%s",\n' % opcode)
    out.write('};\n\nconst uint16_t isa_opcode_first[] = {\n')
    row_opcodes = [row.opcode for row in spec.rows]
    for opcode in spec.opcodes:
        out.write('\t%d,\n' % row_opcodes.index(opcode))
    out.write('\tISA_ROW_COUNT\n};\n\nconst struct isa_sreg isa_sregs[] = {\n')
    for name, kind, components, version, sm in spec.sregs:
        out.write('\t{ "%s", %s, %d, %d, %d },\n' % (name, type_constant(kind), components, version, sm))
    out.write('};\n\nconst uint16_t isa_sregs_by_name[] = {\n')
    for sreg in sorted(spec.sregs):
        out.write('\tSREG_%s,\n' % identifier(sreg[0][1:]))
    out.write('};\n')


def write_row(row, slots_of, out):
    flags = ' | '.join('ISA_' + flag.upper() for flag in row.flags) or '0'
    out.write('\t[%s] = {\n\t\t.opcode = "%s", .text = "%s",\n' % (row.name, row.opcode, row.text))
    out.write('\t\t.index = %s, .opcode_id = OP_%s, .flags = %s, .shape = SHAPE_%s,\n' % (
        row.name, identifier(row.opcode), flags, row.shape))
    out.write('\t\t.slot_count = %d, .operand_count = %d, .version = %d, .sm = %d, .arch_specific = %s,\n' % (
        len(row.slots), len(row.operands), row.version, row.sm, c_bool(row.arch_specific)))
    if row.slots:
        out.write('\t\t.slots = {\n')
        for optional, names in row.slots:
            out.write('\t\t\t{ %s, %d, %d },\n' % (c_bool(optional), len(names), slots_of[tuple(names)]))
        out.write('\t\t},\n')
    if row.operands:
        out.write('\t\t.operands = {\n')
        for o in row.operands:
            out.write('\t\t\t{ %s, %s, %s, %s, %s, %d, %s },\n' % (
                o['role'], c_bool(o['is_result']), c_bool(o['optional']), c_bool(o['pair']),
                type_constant(o['type']), o['type_slot'], type_constant(o['pair_type'])))
        out.write('\t\t},\n')
    out.write('\t},\n')


def write_emit(spec, out):
    out.write(HEAD + '#ifndef DRAGOMAN_ISA_EMIT_H\n#define DRAGOMAN_ISA_EMIT_H\n\n')
    out.write('#include <llvm-c/Core.h>\n\n#include "ptx/ptx.h"\n\nstruct emitter;\n\n')
    out.write('enum isa_emit_kind { EMIT_FUNCTION, EMIT_BINARY, EMIT_INTRINSIC };\n\n')
    out.write('/* A weak emitter that nobody defines is NULL: the instruction is not supported. */\n'
              'struct isa_emit {\n'
              '\tvoid (*emit)(struct emitter *e, const struct ptx_instruction *in);\n'
              '\tuint8_t kind;          /* enum isa_emit_kind */\n'
              '\tint llvm_opcode;       /* EMIT_BINARY: LLVMOpcode */\n'
              '\tconst char *intrinsic; /* EMIT_INTRINSIC: overloaded on the result type */\n};\n\n')
    names = sorted({row.emit for row in spec.rows if row.emit})
    for name in names:
        out.write('void emit_%s(struct emitter *e, const struct ptx_instruction *in) __attribute__((weak));\n' % name)
    out.write('\nstatic const struct isa_emit isa_emit_table[] = {\n')
    for row in spec.rows:
        if row.emit:
            entry = 'emit_%s, EMIT_FUNCTION, 0, 0' % row.emit
        elif row.llvm == 'control':
            entry = '0, EMIT_FUNCTION, 0, 0'
        elif row.llvm.startswith('intrinsic:'):
            entry = '0, EMIT_INTRINSIC, 0, "%s"' % row.llvm.partition(':')[2]
        else:
            entry = '0, EMIT_BINARY, LLVM%s, 0' % row.llvm
        out.write('\t[%s] = { %s },\n' % (row.name, entry))
    out.write('};\n\n#endif\n')


def main():
    spec = Spec(sys.argv[1])
    for name, write in (('isa_mods.h', write_mods), ('isa_table.c', write_table), ('isa_emit.h', write_emit)):
        with open(os.path.join(sys.argv[2], name), 'w', encoding='utf-8') as out:
            write(spec, out)


if __name__ == '__main__':
    main()
