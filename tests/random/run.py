#!/usr/bin/env python3
"""Random PTX programs by the hundred: generates, runs and compares them; those that fail are kept.

    run.py --run BUILD/tests/random/run_random --count 20000 --seed 1 --jobs 8 --keep FOLDER
    run.py --run … --files tests/random/regressions/*.ptx      programs that once failed, in all forms

To make one that fails small: reduce.py.
"""
import argparse
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import generate

BATCH = 100
THOROUGH = 4  # of so many batches one has LLVM's code as users get it; most of a program's time goes there, and LLVM is not what is tested
FEATURES = ('floats', 'warps', 'memory', 'calls', 'exits')


def options_of(seed, size):
    """Most programs have everything, but what is rare among everything is common where there is little else."""
    rng = random.Random(seed)
    options = generate.Options(size=rng.choice([1, 2, 4, size]), flow=rng.choice([1, 1, 3]), others=rng.random() < 0.2)
    if rng.random() < 0.5:
        for name in rng.sample(FEATURES, rng.randint(1, len(FEATURES))):
            setattr(options, name, False)
    return options


def run(arguments, files, pick, quick=False):
    """What run_random says of the files, and the files of which it says something bad."""
    command = [arguments.run, '--jobs', str(arguments.jobs), '--timeout', str(arguments.timeout)]
    if pick:
        command += ['--pick', str(pick)]
    if quick:
        command += ['--quick']
    output = subprocess.run(command + files, stdout=subprocess.PIPE, text=True, check=False).stdout
    bad = sorted(set(re.findall(r'^(\S+\.ptx): (?:DIFFERENT|FAILED|INVALID)', output, re.M)))
    return output, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--run', required=True, help='the run_random binary')
    parser.add_argument('--count', type=int, default=300)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--size', type=int, default=6, help='statements, about, at most')
    parser.add_argument('--pick', type=int, default=1, help='forms a program')
    parser.add_argument('--jobs', type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument('--timeout', type=int, default=120)
    parser.add_argument('--keep', default='', help='folder for programs that fail')
    parser.add_argument('--files', nargs='*', help='these programs, in all forms, in place of random ones')
    arguments = parser.parse_args()
    if arguments.files is not None:
        files = [f for pattern in arguments.files for f in sorted(glob.glob(pattern))]
        output, bad = run(arguments, files, 0)
        print(output, end='')
        return 1 if bad or not files else 0
    failed = 0
    for start in range(arguments.seed, arguments.seed + arguments.count, BATCH):
        with tempfile.TemporaryDirectory(prefix='random-') as folder:
            files = []
            for seed in range(start, min(start + BATCH, arguments.seed + arguments.count)):
                files.append(os.path.join(folder, f'{seed:07}.ptx'))
                with open(files[-1], 'w', encoding='utf-8') as file:
                    file.write(generate.Program(seed, options_of(seed, arguments.size)).text())
            output, bad = run(arguments, files, arguments.pick, (start - arguments.seed) // BATCH % THOROUGH != 0)
            for line in output.splitlines():
                if '.ptx: ' in line:
                    print(os.path.basename(line.split(': ')[0]) + ': ' + line.split(': ', 1)[1])
            failed += len(bad)
            for path in bad if arguments.keep else []:
                os.makedirs(arguments.keep, exist_ok=True)
                shutil.copy(path, arguments.keep)
            sys.stdout.flush()
    print(f'{arguments.count} programs, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
