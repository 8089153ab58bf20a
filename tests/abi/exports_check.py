#!/usr/bin/env python3
"""Every function that NVIDIA's libraries export is exported by ours, under the same symbol version.

    exports_check.py CUDA_FOLDER OUR_LIBRARY...

Compares with CUDA_FOLDER's stub libcuda.so and its libcudart, where they are installed; exit status
77 (skipped) where none is."""
import glob
import os
import re
import subprocess
import sys


def exports(library):
    """{function's name: symbol version or ''}"""
    listing = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True, check=True)
    return dict(re.findall(r'^\w+ [TW] (\w+)(?:@@?(\S+))?$', listing.stdout, flags=re.M))


def main():
    folder, ours = sys.argv[1], {os.path.basename(path): path for path in sys.argv[2:]}
    compared, problems = 0, []
    theirs = glob.glob(os.path.join(folder, 'lib*', 'stubs', 'libcuda.so'))[:1] + \
        [p for name in ours if name.startswith('libcudart') for p in glob.glob(os.path.join(folder, 'lib*', name))[:1]]
    for path in theirs:
        name = 'libcuda.so.1' if 'stubs' in path else os.path.basename(path)
        own = exports(ours[name])
        for function, version in exports(path).items():
            compared += 1
            if own.get(function) != version:
                problems.append(f'{name}: {function}@{version} there, {own.get(function, "nothing")} here')
    print('\n'.join(problems + [f'{compared} functions compared, {len(problems)} problems']))
    sys.exit(1 if problems else 0 if compared else 77)


if __name__ == '__main__':
    main()
