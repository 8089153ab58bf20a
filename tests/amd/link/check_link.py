"""Our AMDGPU linker against ld.lld: for every target, objects that clang makes of kernels.cl are linked by both, and the results mean the
same. Layouts differ, so nothing is compared by address: dynamic symbols by section and offset; what each relocation of the object came to
by the section and offset that the code would reach; all other bytes by being what the object had; segments by what is in them; notes as
they are.

    check_link.py LINK-OBJECT CLANG LLD             the objects of kernels.cl
    check_link.py --kept FOLDER LLD                 every NAME.o in FOLDER, which is NAME.co there (DRAGOMAN_DUMP=object)
    check_link.py --ptx DRAGOMAN LLD FILE.ptx...    what Dragoman makes of the kernels in PTX files for the GPUs that the emulator has"""
import argparse
import glob
import os
import struct
import subprocess
import sys
import tempfile
import traceback

TARGETS = ['gfx906', 'gfx90a', 'gfx942', 'gfx1030', 'gfx1100', 'gfx1101', 'gfx1102', 'gfx1103', 'gfx1150', 'gfx1151', 'gfx1200', 'gfx1201']
EMULATED = ['gfx90a', 'gfx942', 'gfx1030', 'gfx1100', 'gfx1201']
PARTS = 4
ABS64, REL32, REL64, GOTPCREL, GOTPCREL_LO, GOTPCREL_HI, REL32_LO, REL32_HI, RELATIVE64, REL16 = 3, 4, 5, 7, 8, 9, 10, 11, 13, 14
WIDTH = {ABS64: 8, REL64: 8, REL16: 2}
OWN = {'', '.dynsym', '.dynstr', '.hash', '.gnu.hash', '.rela.dyn', '.dynamic', '.got', '.symtab', '.strtab', '.shstrtab', '.comment',
       '.relro_padding'}


class Elf:
    def __init__(self, path):
        with open(path, 'rb') as file:
            self.data = file.read()
        e = struct.unpack_from('<16sHHIQQQIHHHHHH', self.data)
        (self.ident, self.type, self.machine, _, _, phoff, shoff, self.flags, _, _, phnum, _, shnum, shstrndx) = e
        self.sections = [list(struct.unpack_from('<IIQQQQIIQQ', self.data, shoff + 64 * i)) for i in range(shnum)]
        names = self.sections[shstrndx]
        for s in self.sections:
            s[0] = self.string(names[4] + s[0])
        self.segments = [struct.unpack_from('<IIQQQQQQ', self.data, phoff + 56 * i) for i in range(phnum)]

    def string(self, at):
        return self.data[at:self.data.index(b'\0', at)].decode()

    def bytes_of(self, s):
        return bytes(s[5]) if s[1] == 8 else self.data[s[4]:s[4] + s[5]]

    def symbols(self, kind):
        for s in self.sections:
            if s[1] == kind:
                names = self.sections[s[6]][4]
                for at in range(s[4], s[4] + s[5], 24):
                    name, info, other, index, value, size = struct.unpack_from('<IBBHQQ', self.data, at)
                    yield self.string(names + name), info, other, index, value, size

    def relocations(self):
        for s in self.sections:
            if s[1] == 4:
                for at in range(s[4], s[4] + s[5], 24):
                    yield (s, *struct.unpack_from('<QQq', self.data, at))

    def named(self, name):
        found = [s for s in self.sections if s[0] == name]
        assert len(found) == 1, f'{len(found)} sections {name}'
        return found[0]

    def place(self, address):
        """(section, offset) of an address in a linked object."""
        for s in self.sections:
            if s[2] & 2 and s[3] <= address < s[3] + s[5]:
                return s[0], address - s[3]
        raise AssertionError(f'{address:#x} lies in no section')


def dynamic_symbols(elf):
    for name, info, other, index, value, size in elf.symbols(11):
        if name:
            yield name, info, other, size, elf.sections[index][0], value - elf.sections[index][3]


def segments(elf):
    """What each segment holds of the object; ld.lld's padding and its split of writable memory (relro) mean nothing to HIP."""
    held = {}
    for kind, flags, offset, vaddr, _, filesz, memsz, align in elf.segments:
        if kind == 1:
            assert align == 4096 and (vaddr - offset) % 4096 == 0 and memsz >= filesz
            held.setdefault(flags, set()).update(s[0] for s in elf.sections if s[2] & 2 and s[5] and s[0] not in OWN
                                                 and vaddr <= s[3] and s[3] + s[5] <= vaddr + memsz)
        elif kind == 2:
            dynamic = elf.named('.dynamic')
            assert (offset, vaddr) == (dynamic[4], dynamic[3])
            held['dynamic'] = True
        elif kind == 4:
            held['notes'] = elf.data[offset:offset + filesz]
    return {k: v for k, v in held.items() if v}


def dynamic_tags(elf):
    s = elf.named('.dynamic')
    tags = dict(struct.unpack_from('<QQ', elf.data, at) for at in range(s[4], s[4] + s[5], 16))
    symtab, strtab = elf.named('.dynsym'), elf.named('.dynstr')
    assert tags[6] == symtab[3] and tags[11] == 24 and tags[5] == strtab[3] and tags[10] == strtab[5]
    assert tags[4] == elf.named('.hash')[3]
    if 7 in tags:
        rela = elf.named('.rela.dyn')
        assert (tags[7], tags[8], tags[9]) == (rela[3], rela[5], 24)


def hash_finds_all(elf):
    """System V's hash table leads to each symbol, as the loader of a dynamic linker looks them up."""
    at = elf.named('.hash')[4]
    buckets, chains = struct.unpack_from('<II', elf.data, at)
    names = [s[0] for s in elf.symbols(11)]
    assert chains == len(names)
    for name in names[1:]:
        h = 0
        for c in name.encode():
            h = (h << 4) + c
            g = h & 0xf0000000
            h = (h ^ (g >> 24)) & ~g & 0xffffffff
        i, steps = struct.unpack_from('<I', elf.data, at + 8 + 4 * (h % buckets))[0], 0
        while names[i] != name:
            assert i and steps < chains
            i, steps = struct.unpack_from('<I', elf.data, at + 8 + 4 * (buckets + i))[0], steps + 1


def results(source, linked):
    """For each relocation of `source`: what the field in `linked` leads to. And the sections' other bytes must be the object's."""
    run_time, found = {}, []
    dynamic = list(linked.symbols(11))
    for _, offset, info, addend in linked.relocations():
        # ld.lld leaves it to the loader to look up what has default visibility; it finds the same
        assert info & 0xffffffff in (RELATIVE64, ABS64) and offset not in run_time
        run_time[offset] = addend + (dynamic[info >> 32][4] if info & 0xffffffff == ABS64 else 0)
    used, fields = set(), {}
    symbols = list(source.symbols(2))
    halves = {}
    for s, offset, info, addend in source.relocations():
        kind = info & 0xffffffff
        target = source.sections[s[7]]
        if not target[2] & 2:
            continue
        out = linked.named(target[0])
        width = WIDTH.get(kind, 4)
        fields.setdefault(target[0], []).append((offset, width))
        p = out[3] + offset
        raw = int.from_bytes(linked.data[out[4] + offset:out[4] + offset + width], 'little', signed=True)
        name = symbols[info >> 32][0] or source.sections[symbols[info >> 32][3]][0]
        where = (target[0], offset, kind, name)
        if kind == ABS64:
            used.add(p)
            found.append((where, linked.place(run_time[p])))
        elif kind == REL64 or kind == REL32:
            found.append((where, linked.place(raw + p - addend)))
        elif kind == REL16:
            found.append((where, linked.place(raw * 4 + 4 + p - addend)))
        elif kind in (REL32_LO, GOTPCREL_LO):
            halves[target[0], name] = (where, raw & 0xffffffff, p, addend)
        elif kind in (REL32_HI, GOTPCREL_HI):
            # the other half of the same distance, 4 bytes or a few instructions away: both are relative to their own places
            low_where, low, low_p, low_addend = halves[target[0], name]
            distance = (raw << 32) + low
            reached = distance + low_p - low_addend
            assert (reached + addend - p) >> 32 == raw, where
            if kind == GOTPCREL_HI:
                assert linked.place(reached)[0] == '.got', where
                used.add(reached)
                found.append((where, linked.place(run_time[reached])))
            else:
                found.append((where, linked.place(reached)))
        elif kind == GOTPCREL:
            used.add(raw + p - addend)
            found.append((where, linked.place(run_time[raw + p - addend])))
        else:
            raise AssertionError(f'relocation {kind}')
    assert used == set(run_time), 'a relocation for the loader that nothing asked for'
    for s in source.sections:
        if s[2] & 2 and s[5]:
            ours, theirs = bytearray(linked.bytes_of(linked.named(s[0]))), bytearray(source.bytes_of(s))
            for offset, width in fields.get(s[0], []):
                ours[offset:offset + width] = theirs[offset:offset + width] = bytes(width)
            assert ours == theirs, f'{s[0]} has other bytes than the object'
    return found


def check(source_path, ours_path, theirs_path):
    source, ours, theirs = Elf(source_path), Elf(ours_path), Elf(theirs_path)
    assert ours.ident == theirs.ident and ours.type == theirs.type == 3 and ours.machine == theirs.machine == 224
    assert ours.flags == theirs.flags, 'the target'
    symbols = sorted(dynamic_symbols(theirs))
    assert sorted(dynamic_symbols(ours)) == symbols and symbols, 'dynamic symbols'
    assert segments(ours) == segments(theirs), 'segments'
    dynamic_tags(ours)
    hash_finds_all(ours)
    mine, other = results(source, ours), results(source, theirs)
    assert mine == other, f'relocations: {[p for p in zip(mine, other) if p[0] != p[1]][:3]}'
    return len(symbols), len(mine), {w[2] for w, _ in mine}


def check_kept(folder, lld):
    """How many objects, relocations, and the objects that were linked in another way than ld.lld's."""
    objects, relocations, wrong = sorted(glob.glob(os.path.join(folder, '*.o'))), 0, []
    for path in objects:
        theirs = path[:-2] + '.lld'
        try:
            subprocess.run([lld, '-shared', path, '-o', theirs], check=True)
            relocations += check(path, path[:-2] + '.co', theirs)[1]
        except (AssertionError, KeyError, ValueError, OSError, subprocess.CalledProcessError) as problem:
            wrong.append(f'{path}: {type(problem).__name__} {problem} (line {traceback.extract_tb(problem.__traceback__)[-1].lineno})')
        if os.path.exists(theirs):
            os.remove(theirs)
    return len(objects), relocations, wrong


def kept(arguments):
    objects, relocations, wrong = check_kept(*arguments)
    print('\n'.join(wrong + [f'{objects} linked objects, {relocations} relocations, {len(wrong)} differ from ld.lld']))
    return bool(wrong) or not objects


def of_ptx(arguments):
    dragoman, lld, *files = arguments
    failed = 0
    print(f'1..{len(EMULATED)}')
    for number, target in enumerate(EMULATED):
        with tempfile.TemporaryDirectory() as folder:
            for file in files:
                subprocess.run([dragoman, 'ptx', '--compile', '--target', target, file], check=True, stdout=subprocess.DEVNULL,
                               env=os.environ | {'DRAGOMAN_DUMP': 'object', 'DRAGOMAN_DUMP_FOLDER': folder})
            objects, relocations, wrong = check_kept(folder, lld)
            failed += bool(wrong) or not relocations
            print('\n'.join(['# ' + line for line in wrong]
                            + [f'{"not " if wrong or not relocations else ""}ok {number + 1} - {target}: {objects} objects, {relocations} relocations']))
    return failed > 0


def main():
    if sys.argv[1:2] in (['--kept'], ['--ptx']):
        return (kept if sys.argv[1] == '--kept' else of_ptx)(sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument('tool')
    parser.add_argument('clang')
    parser.add_argument('lld')
    arguments = parser.parse_args()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'kernels.cl')
    failed, kinds, count = 0, set(), 0
    print(f'1..{len(TARGETS) * PARTS + 3}')
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            for part in range(PARTS):
                path = os.path.join(folder, f'{target}-{part}')
                subprocess.run([arguments.clang, '-x', 'cl', '-cl-std=CL2.0', '-Xclang', '-finclude-default-header', '-nogpulib', '-fPIC',
                                '--target=amdgcn-amd-amdhsa', f'-mcpu={target}', '-O2', f'-DPART={part}', '-w', '-c', source, '-o', path + '.o'],
                               check=True)
                subprocess.run([arguments.lld, '-shared', path + '.o', '-o', path + '.lld'], check=True)
                count += 1
                try:
                    subprocess.run([arguments.tool, path + '.o', path + '.ours'], check=True)
                    symbols, relocations, seen = check(path + '.o', path + '.ours', path + '.lld')
                    kinds |= seen
                    print(f'ok {count} - {target}, part {part}: {symbols} symbols, {relocations} relocations')
                except (AssertionError, KeyError, ValueError, subprocess.CalledProcessError) as problem:
                    failed += 1
                    print(f'not ok {count} - {target}, part {part}: {type(problem).__name__} {problem}'
                          f' (line {traceback.extract_tb(problem.__traceback__)[-1].lineno})')
        missing = {ABS64, REL64, GOTPCREL_HI, REL32_HI} - kinds  # a low half is seen with its high half
        print(f'{"not " if missing else ""}ok {count + 1} - every kind of relocation was seen {missing or ""}')
        mutated = all(subprocess.run([arguments.tool, '--mutate', '4000', str(part + 1), os.path.join(folder, f'gfx1100-{part}.o')],
                                     stdout=subprocess.DEVNULL).returncode == 0 for part in range(PARTS))
        print(f'{"" if mutated else "not "}ok {count + 2} - damaged objects do no harm')
        path = os.path.join(folder, 'outside')
        with open(path + '.cl', 'w') as file:
            file.write('int outside(int);\nkernel void k(global int *p) { *p = outside(*p); }\n')
        subprocess.run([arguments.clang, '-x', 'cl', '-nogpulib', '-fPIC', '--target=amdgcn-amd-amdhsa', '-mcpu=gfx1100', '-c', path + '.cl',
                        '-o', path + '.o'], check=True)
        told = subprocess.run([arguments.tool, path + '.o', path], stderr=subprocess.PIPE, text=True).stderr.split(': ')[-1]
        named = told == "'outside' is not defined\n" and not os.path.exists(path)
        print(f'{"" if named else "not "}ok {count + 3} - what is not defined is refused by its name')
    return failed > 0 or bool(missing) or not mutated or not named


sys.exit(main())
