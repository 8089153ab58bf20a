"""Which devices there are and what is said where there is none: `dragoman doctor`, `run --device amd`, `auto`, lists, and --compare; with a
libamdhip64 that has no GPU (the system's own too, where it is installed), and with the double."""
import os
import subprocess
import sys
import tempfile

dragoman, program, none, double = (os.path.abspath(a) for a in sys.argv[1:5])
count, failed = 0, 0


def check(name, passed, detail=''):
    global count, failed
    count += 1
    failed += not passed
    print(f'{"" if passed else "not "}ok {count} - {name}')
    if not passed:
        print('# ' + detail.replace('\n', '\n# '))


def run(arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith('DRAGOMAN_') or k == 'DRAGOMAN_CACHE_DIR'}
    environment.update({k: v for k, v in variables.items() if v is not None})
    p = subprocess.run([dragoman, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    return p.returncode, p.stdout, p.stderr


def machine(folder, kfd=True, version=110000, integrated=False, card=True):
    """What Linux shows of a machine with such a GPU."""
    node = os.path.join(folder, 'sys/class/kfd/kfd/topology/nodes/1')
    os.makedirs(os.path.join(folder, 'dev/dri'))
    os.makedirs(os.path.join(folder, 'sys/class/drm'))
    if card:
        os.makedirs(os.path.join(folder, 'sys/class/drm/card0/device'))
        with open(os.path.join(folder, 'sys/class/drm/card0/device/vendor'), 'w') as f:
            f.write('0x1002\n')
    if kfd:
        os.makedirs(node)
        for name in 'dev/kfd', 'dev/dri/renderD128':
            open(os.path.join(folder, name), 'w').close()
        with open(os.path.join(node, 'properties'), 'w') as f:
            f.write(f'cpu_cores_count {8 * integrated}\nsimd_count 192\ngfx_target_version {version}\ndrm_render_minor 128\n')
    return folder


def without_a_gpu(hip, what, root):
    status, out, err = run(['run', '--device', 'amd', program], DRAGOMAN_HIP=hip, DRAGOMAN_SYSTEM_ROOT=root)
    lines = [line for line in err.splitlines() if line.startswith('dragoman: ')]
    check(f'{what}: run --device amd says why in one line', status != 0 and len(lines) == 1
          and lines[0].startswith('dragoman: device amd cannot be used: '), err)
    status, out, err = run(['run', '--device', 'auto', program], DRAGOMAN_HIP=hip, DRAGOMAN_SYSTEM_ROOT=root)
    check(f'{what}: auto is the CPU, silently', status == 0 and 'dragoman' not in err and 'PASS' in out, out + err)
    status, out, err = run(['doctor'], DRAGOMAN_HIP=hip, DRAGOMAN_SYSTEM_ROOT=root)
    check(f'{what}: doctor warns', status == 0 and any(line.startswith(('warn     gpu ', 'warn     hip ')) for line in out.splitlines()), out)
    status, out, err = run(['doctor'], DRAGOMAN_HIP=hip, DRAGOMAN_SYSTEM_ROOT=root, DRAGOMAN_DEVICE='amd')
    check(f'{what}: doctor misses a GPU that was asked for', status == 1
          and any(line.startswith(('missing  gpu ', 'missing  hip ')) for line in out.splitlines()), out)


def says(name, root, words):
    _, out, _ = run(['doctor'], DRAGOMAN_HIP=none, DRAGOMAN_SYSTEM_ROOT=root)
    line = next((line for line in out.splitlines() if ' gpu ' in line), '')
    check(f'doctor: {name}', words in line, out)


with tempfile.TemporaryDirectory() as folder:
    def place(name):
        return os.path.join(folder, name)

    bare = machine(place('bare'), kfd=False, card=False)
    without_a_gpu(none, 'HIP without a GPU', bare)
    without_a_gpu('/nonexistent/libamdhip64.so', 'no HIP', bare)
    installed = subprocess.run(['ldconfig', '-p'], stdout=subprocess.PIPE, text=True).stdout if not os.path.exists('/dev/kfd') else ''
    if 'libamdhip64.so' in installed:
        without_a_gpu(None, "the system's HIP", None)
    says('no card', bare, 'no AMD GPU: there is no /dev/kfd')
    says('no driver', machine(place('driver'), kfd=False), 'no /dev/kfd: the kernel')
    says('a GPU that there is no code for', machine(place('old'), version=80003), 'the GPU is a gfx803')
    says('all is well but HIP', machine(place('well')), 'does not work: hipErrorInvalidDevice (101)')
    if os.getuid():
        closed = machine(place('closed'))
        os.chmod(os.path.join(closed, 'dev/kfd'), 0)
        says('no access', closed, 'group render')
    rocm = machine(place('rocm'))
    for release in '6.0.60000', '6.2.60200':
        os.makedirs(os.path.join(rocm, f'opt/rocm-{release}/lib'))
        open(os.path.join(rocm, f'opt/rocm-{release}/lib/libamdhip64.so.{release}'), 'w').close()
    _, out, _ = run(['doctor'], DRAGOMAN_HIP=none, DRAGOMAN_SYSTEM_ROOT=rocm)
    check('doctor: several releases', 'several releases of ROCm' in out and '6.0.60000' in out and '6.2.60200' in out, out)

status, out, err = run(['doctor'], DRAGOMAN_HIP=double, DRAGOMAN_EMULATE='gfx1100,gfx90a', DRAGOMAN_DEVICE='amd')
gpus = [line for line in out.splitlines() if ' gpu ' in line]
check('doctor: two GPUs', status == 0 and len(gpus) == 2 and 'gfx1100' in gpus[0] and 'gfx90a' in gpus[1], out)
status, out, err = run(['run', '--device', 'amd', program], DRAGOMAN_HIP=double)
check('a program on the GPU', status == 0 and 'PASS' in out, out + err)
status, out, err = run(['run', '-v', '--device', 'auto', program], DRAGOMAN_HIP=double)
check('auto is the GPU', status == 0 and 'auto, so amd' in err and 'PASS' in out, out + err)
status, out, err = run(['run', '--device', 'cpu,amd', program], DRAGOMAN_HIP=double)
check('both', status == 0 and 'PASS' in out, out + err)
status, out, err = run(['run', '--device', 'amd,amd', program], DRAGOMAN_HIP=double)
check('the same kind twice is refused', status != 0 and 'PASS' not in out, out + err)
status, out, err = run(['run', '--device', 'cpu,amd', '--compare', program], DRAGOMAN_HIP=double)
check('compared', status == 0 and 'PASS' in out and ' 0 of them with different results' in err, out + err)
status, out, err = run(['run', '--device', 'cpu,amd', '--compare', program, 'note'], DRAGOMAN_HIP=double)
check('a difference is named', status == 0 and 'PASS' in out and ' 1 of them with different results' in err
      and 'compare: kernel add, grid (8,1,1), block (128,1,1): variable noted differs first at byte ' in err, out + err)

for kind in 'cpu', 'amd':
    for wanted, said in (None, 'capability 8, clusters 0'), ('9.0', 'capability 9, clusters 1'), ('7.5', 'capability 8, clusters 0'):
        status, out, err = run(['run', '--device', kind, program, 'capability'], DRAGOMAN_HIP=double, DRAGOMAN_COMPUTE_CAPABILITY=wanted)
        check(f'{kind}, {wanted}: {said}', status == 0 and out.strip() == said and ('neither' in err) == (wanted == '7.5'), out + err)

with tempfile.TemporaryDirectory() as folder:
    ptx, cache = os.path.join(folder, 'add.ptx'), os.path.join(folder, 'cache')
    with open(ptx, 'w') as f:
        f.write(subprocess.run([program, 'ptx'], stdout=subprocess.PIPE, text=True).stdout)
    amd = {'DRAGOMAN_HIP': double, 'DRAGOMAN_CACHE_DIR': cache}
    report = os.path.join(folder, 'report')
    status, out, err = run(['selftest', '--quick', report], DRAGOMAN_DEVICE='amd', **amd)
    with open(report) as f:
        check('selftest writes its report', status == 0 and 'all parts passed' in out and out.startswith(f.read()), out + err)
    # The device ends the process at each third launch: the parts that it was at have failed, the others are done.
    status, out, err = run(['selftest', '--quick', report], DRAGOMAN_DEVICE='amd', DRAGOMAN_EMULATE_ABORT='3', **amd)
    with open(report, encoding='utf-8') as f:
        broken = [line.split()[1] for line in out.splitlines() if line.startswith('FAIL')]
        check('selftest survives its device', status == 1 and broken == ['divide', 'shuffle', 'diverge', 'gemm'] and 'signal 6' in out
              and 'ok    copies' in out and '4 parts failed' in out and out.startswith(f.read()), out + err)
    status, out, err = run(['selftest', '--quick', report], DRAGOMAN_DEVICE='amd', DRAGOMAN_DUMP='asm', **amd)
    check('assembly is shown, and the code is right all the same', status == 0 and 'all parts passed' in out and err.count('s_endpgm') >= 8, out + err[-500:])
    run(['cache', 'clear'], DRAGOMAN_CACHE_DIR=cache)
    status, out, err = run(['cache', 'warm', ptx], DRAGOMAN_DEVICE='amd', DRAGOMAN_EMULATE='gfx90a', **amd)
    check('a program compiled ahead', status == 0 and '1 of 1 kernels are in the cache' in out, out + err)
    _, out, _ = run(['cache', 'list'], DRAGOMAN_CACHE_DIR=cache)
    check('the cache has it, for that GPU', len(out.splitlines()) == 1 and out.split()[-2:] == ['gfx90a', 'add'], out)
    status, out, err = run(['run', '--device', 'amd', program], DRAGOMAN_EMULATE='gfx90a', DRAGOMAN_LOG='info', **amd)
    check('it runs without being compiled', status == 0 and 'PASS' in out and 'compiled' not in err, out + err)
    status, out, err = run(['run', '--device', 'amd', program], DRAGOMAN_EMULATE='gfx1100', DRAGOMAN_LOG='info', **amd)
    check('another GPU has code of its own', status == 0 and 'PASS' in out and 'compiled add' in err, out + err)

print(f'1..{count}')
sys.exit(failed > 0)
