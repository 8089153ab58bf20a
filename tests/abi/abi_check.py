#!/usr/bin/env python3
"""Compares our public headers with NVIDIA's, where those are installed: the size of every type, the
offset of every member, the value of every enumerator and numeric macro, the prototype of every
function; and names what they have and ours have not.

    abi_check.py BUILD_FOLDER_FOR_FILES NVIDIA_INCLUDE OUR_INCLUDE... -- COMPILER...

Exit status 77 (skipped) where NVIDIA's headers are not there."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
from c_types import Types  # noqa: E402

HEADERS = ['cuda.h', 'cuda_runtime_api.h', 'library_types.h', 'cudaProfiler.h']
INCLUDES = '#define __CUDA_API_VERSION_INTERNAL\n#define __CUDA_API_VERSION_INTERNAL_ODR\n#include <stddef.h>\n#include <stdio.h>\n' + \
    ''.join(f'#include <{h}>\n' for h in HEADERS)
CUDA_NAME = re.compile(r'(enum |struct |union )?(CU|cu|CUDA|lib|dim3|[a-z]+[1-4](_\d\da)?$)')
# The names of ours that programs do not see, and compiler-internal names of theirs.
NOT_COMPARED = re.compile(r'^_|DRAGOMAN|dragoman|_H$|_H_$|^CUDA_CB$|^CUDAAPI$|^CUDART_DEVICE$|^CUDARTAPI|'
                          r'BEEN_DEFINED|^CUDART_CB$|^EXCLUDE_FROM_RTC|^__')


def run(command, source=None):
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f'{" ".join(command)}:\n{done.stderr}')
    return done.stdout


def interface(compiler, folders):
    """(Types, {name of a numeric macro}) of the headers found in `folders`."""
    options = [f'-I{folder}' for folder in folders] + ['-x', 'c', '-']
    types = Types(run(compiler + ['-E', '-P'] + options, INCLUDES))
    macros = dict(re.findall(r'^#define (\w+) +(.+)$', run(compiler + ['-E', '-dM'] + options, INCLUDES),
                             flags=re.M))
    return types, {name for name, value in macros.items() if is_constant(name, value, types)}


def is_constant(name, value, types):
    """Whether a macro is a constant of the interface, and not a type's or a function's other name."""
    return bool(re.match(r'CU|cu', name) and not NOT_COMPARED.search(name) and value not in types.typedefs and
                not re.match(r'(__CUDA|cuda?[A-Z])\w*(\(|_v\d|$)', value) or
                re.match(r'(cudaLaunchAttribute|CU_LAUNCH_ATTRIBUTE)', value) and value not in types.typedefs)


def facts(types, macros):
    """{C name or path: the expression that measures it}"""
    found = {}
    for name, enumerators in types.enums.items():
        if CUDA_NAME.match(name):
            found[f'sizeof {name}'] = f'sizeof({name})'
            found.update({e: f'(long long)({e})' for e in enumerators})
    for name, record in types.records.items():
        if not CUDA_NAME.match(name) or not record.members:
            continue
        found[f'sizeof {name}'] = f'sizeof({name})'
        found[f'alignof {name}'] = f'_Alignof({name})'
        for path in record.paths():
            found[f'{name}.{path}'] = f'offsetof({name}, {path})'
    for name in types.typedefs:
        if CUDA_NAME.match(name) and name not in types.enums and not types.typedefs[name][2]:
            words, stars, _function = types.resolve(name)
            complete = stars or words in types.records or words in types.enums or ' ' not in words or \
                re.match(r'(un)?signed|long|short|int|char', words)
            if complete and words != 'void':
                found[f'sizeof {name}'] = f'sizeof({name})'
    found.update({m: f'(long long)({m})' for m in macros})
    return found


def measure(compiler, folders, expressions, folder, label):
    source, program = (os.path.join(folder, f'abi_{label}{end}') for end in ('.c', ''))
    with open(source, 'w', encoding='utf-8') as file:
        file.write(INCLUDES + 'int main(void)\n{\n')
        for name, expression in sorted(expressions.items()):
            file.write(f'\tprintf("%s\\t%lld\\n", "{name}", (long long)({expression}));\n')
        file.write('\treturn 0;\n}\n')
    run(compiler + ['-w'] + [f'-I{f}' for f in folders] + [source, '-o', program])
    return dict(line.split('\t') for line in run([program]).splitlines())


def check_prototypes(compiler, nvidia, ours):
    """Declares every function again, as we do, after NVIDIA's headers, and the types of pointers to the
    driver's: a C compiler refuses what differs."""
    source = INCLUDES + '#include <cudaTypedefs.h>\n' + \
        '#include "dragoman/cuda_functions.h"\n#include "dragoman/cudart_functions.h"\n' + \
        ''.join(f'#include "{f}/cudaTypedefs.h"\n' for f in ours if os.path.exists(f'{f}/cudaTypedefs.h'))
    done = subprocess.run(compiler + ['-w', '-fsyntax-only', f'-I{nvidia}'] + [f'-I{f}' for f in ours] +
                          ['-x', 'c', '-'], input=source, capture_output=True, text=True, check=False)
    return [line for line in done.stderr.splitlines() if 'error:' in line]


def main():
    split = sys.argv.index('--')
    folder, nvidia = sys.argv[1:3]
    ours, compiler = sys.argv[3:split], sys.argv[split + 1:]
    if not os.path.exists(os.path.join(nvidia, 'cuda_runtime_api.h')):
        print(f'skipped: no CUDA headers at {nvidia}')
        sys.exit(77)
    their_types, their_macros = interface(compiler, [nvidia])
    our_types, our_macros = interface(compiler, ours)
    theirs, own = facts(their_types, their_macros), facts(our_types, our_macros)
    problems = [f'missing: {name}' for name in sorted(theirs) if name not in own]
    both = {name: expression for name, expression in theirs.items() if name in own}
    their_values = measure(compiler, [nvidia], both, folder, 'theirs')
    our_values = measure(compiler, ours, both, folder, 'ours')
    problems += [f'different: {name}: {their_values[name]} there, {our_values[name]} here'
                 for name in sorted(both) if their_values[name] != our_values[name]]
    problems += check_prototypes(compiler, nvidia, ours)
    print('\n'.join(problems))
    print(f'{len(both)} sizes, offsets and values compared, {len(problems)} problems')
    sys.exit(1 if problems or len(both) < 3000 else 0)


if __name__ == '__main__':
    main()
