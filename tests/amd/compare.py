"""The tests of PTX files on the CPU and, over the same memory, on the emulated GPU: what each launch leaves must be the same (dragoman run
--compare). Tests whose results need only be within bounds may differ there, in what comes out and nowhere else: run_ptx looks at
the CPU's results, and then once more at the GPU's (DRAGOMAN_COMPARE=amd).

    compare.py RUN_PTX FILE.ptx...

RUN_PTX_EVERY and the like are run_ptx's."""
import os
import re
import subprocess
import sys

SUMMARY = re.compile(r'compare: (\d+) launches were done on both devices, (\d+) of them with different results; (\d+) on the CPU alone')
DIFFERENCE = re.compile(r'compare: kernel (\w+), .*: the allocation of (\d+) bytes at .* words differ(.*)$', re.M)


class Test:
    def __init__(self, text):
        self.name = re.search(r'^ *(.*?)\s*$', text, re.M).group(1)
        kernel = re.search(r'^\.visible \.entry (\w+)', text, re.M)
        self.kernel = kernel.group(1) if kernel else None
        self.bytes = 4 * sum(len(words.split()) // 2 for words in re.findall(r'^//# range (.*)$', text, re.M))


def read_tests(path):
    with open(path, encoding='utf-8') as file:
        return [Test(text) for text in re.split(r'^//# name', file.read(), flags=re.M)[1:]]


def run(run_ptx, path, keep):
    environment = os.environ | {'DRAGOMAN_DEVICE': 'cpu,amd', 'DRAGOMAN_COMPARE': keep, 'DRAGOMAN_MMA': 'exact'}
    p = subprocess.run([run_ptx, path], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    found = SUMMARY.search(p.stderr)
    return p, tuple(int(n) for n in found.groups()) if found else (0, 0, 0)


def main():
    failed = 0
    for path in sys.argv[2:]:
        tests = read_tests(path)
        p, (launches, different, alone) = run(sys.argv[1], path, '1')
        # Each kernel that is left out says why once: none may be.
        left_out = set(re.findall(r'kernel (\w+) is not compared: on amd it fails with CUDA error \d+', p.stderr))
        wrong = ['not compared: ' + t.name for t in tests if t.kernel in left_out]
        bounds = {t.kernel: t for t in tests if t.bytes}
        told = DIFFERENCE.findall(p.stderr)
        wrong += ['not in what comes out: kernel ' + kernel for kernel, size, others in told
                  if kernel not in bounds or bounds[kernel].bytes != int(size) or others]
        if different and not told:
            wrong.append('differences that nobody told of')
        if told and not wrong:
            again, (count, _, _) = run(sys.argv[1], path, 'amd')
            if again.returncode or count != launches:
                wrong.append('the GPU\'s results are out of bounds:\n' + again.stdout + again.stderr)
        good = p.returncode == 0 and launches and not wrong and not alone
        failed += not good
        within = f' ({len(told)} kernels within their bounds)' if told and good else ''
        print(f'{os.path.basename(path)[:-4]}: {launches} launches compared, {different} differ{within}, {alone} on the CPU alone'
              + ('' if good else ': not as it shall be'))
        if not good:
            print(p.stdout + p.stderr, end='')
            print('\n'.join(wrong))
    return failed > 0


sys.exit(main())
