#!/usr/bin/env python3
"""Compiles the device library and writes it as an array of C: embed.py NAME OUT.c [COMPILER ARGUMENT... -- SOURCE...]
Without a compiler the array is empty."""
import os
import subprocess
import sys
import tempfile

name, out, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
data = b''
if rest:
    at = rest.index('--')
    command, sources = rest[:at], rest[at + 1:]
    with tempfile.TemporaryDirectory() as folder:
        # One unit: LLVM sees them together, and nothing has to link them.
        unit = os.path.join(folder, 'library.c')
        with open(unit, 'w') as f:
            f.writelines(f'#include "{os.path.abspath(s)}"\n' for s in sources)
        bitcode = os.path.join(folder, 'library.bc')
        subprocess.run(command + ['-c', '-emit-llvm', unit, '-o', bitcode], check=True)
        with open(bitcode, 'rb') as f:
            data = f.read()
with open(out, 'w') as f:
    f.write('#include "devlib/library.h"\n\n')
    f.write(f'const unsigned char {name}[] = {{ {", ".join(map(str, data)) or "0"} }};\n')
    f.write(f'const size_t {name}_size = {len(data)};\n')
