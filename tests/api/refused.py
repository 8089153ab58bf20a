"""Functions that are refused for good: each returns the not-supported status, names itself once on standard error, and
touches nothing that it was given.

    refused.py LIBRARY      libcuda.so.1, libcudart.so.13 or .12"""
import ctypes
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tools'))
sys.dont_write_bytecode = True
from api_spec import read_functions  # noqa: E402

NOT_SUPPORTED = 801
SPEC, _, MAJOR = os.path.basename(sys.argv[1])[len('lib'):].partition('.so.')
REFUSED = [f for f in read_functions(os.path.join(ROOT, 'spec', SPEC + '.api')) if f.refused and f.exported_by(int(MAJOR))]


def call_all(path):
    """Prints "NAME STATUS" for each, called twice with a pointer to a word that must stay as it is."""
    library = ctypes.CDLL(path)
    if SPEC == 'cuda':
        library.cuInit(0)
    for function in REFUSED:
        for suffix in function.suffixes():
            word = ctypes.c_uint64(0x5a5a5a5a5a5a5a5a)
            arguments = [ctypes.byref(word) if p.declaration.count('*') else 0 for p in function.parameters]
            entry = getattr(library, function.name + suffix)
            statuses = {entry(*arguments), entry(*arguments)}
            print(function.name + suffix, *statuses, '' if word.value == 0x5a5a5a5a5a5a5a5a else 'written to', flush=True)


def main():
    if len(sys.argv) == 3:
        call_all(sys.argv[1])
        return 0
    child = subprocess.run([sys.executable, __file__, sys.argv[1], 'call'], capture_output=True, text=True, check=False)
    answers = dict(line.split(' ', 1) for line in child.stdout.splitlines())
    failures = [] if child.returncode == 0 else [f'it ended with {child.returncode}']
    for function in REFUSED:
        for name in (function.name + suffix for suffix in function.suffixes()):
            if answers.get(name, '').strip() != str(NOT_SUPPORTED):
                failures.append(f'{name}: {answers.get(name, "was not reached").strip()}')
        told = sum(f' {function.name} is not supported' in line for line in child.stderr.splitlines())
        if not told:
            failures.append(f'{function.name}: does not say its name')
    print('\n'.join(failures) or f'{len(REFUSED)} functions are refused by name')
    return bool(failures)


if __name__ == '__main__':
    sys.exit(main())
