"""The tests of PTX files on the CPU and, over the same memory, on the emulated GPU: what each launch leaves must be the same (dragoman run
--compare).

    compare.py RUN_PTX FILE.ptx...

RUN_PTX_REFUSED names, as for run_ptx, the tests that the GPU may refuse. RUN_PTX_EVERY and the like are run_ptx's."""
import os
import re
import subprocess
import sys

SUMMARY = re.compile(r'compare: (\d+) launches were done on both devices, (\d+) of them with different results; (\d+) on the CPU alone')


def main():
    failed = 0
    environment = os.environ | {'DRAGOMAN_DEVICE': 'cpu,amd', 'DRAGOMAN_COMPARE': '1', 'DRAGOMAN_MMA': 'exact'}
    for path in sys.argv[2:]:
        p = subprocess.run([sys.argv[1], path], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        found = SUMMARY.search(p.stderr)
        launches, different, alone = (int(n) for n in found.groups()) if found else (0, 0, 0)
        # Each kernel that is left out says why once: only what is refused by name may be.
        reasons = re.findall(r'kernel (\w+) is not compared: on amd it fails with CUDA error (\d+)', p.stderr)
        refused = {kernel for kernel, status in reasons if status == '801'}
        with open(path, encoding='utf-8') as file:
            names = re.findall(r'^//# name *(.*?)\s*$.*?^\.visible \.entry (\w+)', file.read(), flags=re.M | re.S)
        allowed = os.environ.get('RUN_PTX_REFUSED')
        unexpected = [name for name, kernel in names if kernel in {k for k, _ in reasons} and not (kernel in refused and allowed and allowed in name)]
        good = p.returncode == 0 and found and launches and not different and not unexpected and (not alone or reasons)
        failed += not good
        print(f'{os.path.basename(path)[:-4]}: {launches} launches compared, {different} differ, {alone} on the CPU alone{"" if good else ": not as it shall be"}')
        if not good:
            print(p.stdout + p.stderr, end='')
            print('\n'.join('not compared: ' + name for name in unexpected))
    return failed > 0


sys.exit(main())
