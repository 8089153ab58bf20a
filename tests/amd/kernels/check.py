#!/usr/bin/env python3
"""Looks at the code of four kernels: no scratch memory, shared memory in LDS, loads as wide as the program's, and how many
instructions there are, beside the same kernel written in HIP and compiled by clang; and at which kernels have two warps in a wave
of 64, or threads that are resumed; and at what is refused: check.py DRAGOMAN CLANG"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Threads of a block; bytes of LDS; instructions that must be there, by GPU.
KERNELS = {
    'saxpy': ('256', 0, {}),
    'sgemm': ('16,16', 2048, {'gfx1100': ['ds_load', 'ds_store', 's_barrier'], 'gfx90a': ['ds_read', 'ds_write', 's_barrier']}),
    'reduce': ('256', 128, {'gfx1100': ['global_load_b128', 'ds_bpermute_b32'], 'gfx90a': ['global_load_dwordx4', 'ds_bpermute_b32']}),
    'blackscholes': ('256', 0, {'gfx1100': ['v_exp_f32', 'v_log_f32'], 'gfx90a': ['v_exp_f32', 'v_log_f32']}),
}
# Instructions for one of clang's. Beside what is alike, ours make NaNs the GPU's own where they are stored.
MOST = 1.15
# Waits and hints of the scheduler's are not what a kernel computes.
INSTRUCTION = re.compile(r'^\s+((?:v|s|ds|global|flat|scratch|buffer)_[a-z0-9_]+)', re.M)
HINTS = ('s_waitcnt', 's_delay_alu', 's_nop', 's_clause', 's_sendmsg', 's_code_end')


def instructions(text):
    return [name for name in INSTRUCTION.findall(text) if not name.startswith(HINTS)]


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def check_warps(dragoman):
    """A padded block of 64 threads is launched as 128 of the hardware's."""
    text = run([dragoman, 'ptx', '--target', 'gfx90a', '--block', '64', '--dump', 'asm', os.path.join(HERE, 'warps.ptx')])
    kernels = re.findall(r'^\.entry (\w+)', open(os.path.join(HERE, 'warps.ptx')).read(), re.M)
    sizes = re.findall(r'\.max_flat_workgroup_size: (\d+)', text)
    bad = [name for name, size in zip(kernels, sizes) if int(size) != (128 if name.startswith('padded') else 64)]
    if bad or len(sizes) != len(kernels):
        print(f'gfx90a: {len(kernels)} kernels, {len(sizes)} compiled; not as they are called:', *bad)
    return bool(bad) or len(sizes) != len(kernels)


def check_resumed(dragoman):
    """Only where threads wait for others of their wave are they resumed: in blocks of 1024 threads two warps share one."""
    wrong = []
    large = {'padded_broadcast', 'padded_flag', 'padded_lock', 'padded_mbarrier', 'padded_numbered', 'padded_other', 'padded_reduced'}
    for block, wanted in (('64', {'padded_lock'}), ('1024', large)):
        text = run([dragoman, 'ptx', '--target', 'gfx90a', '--block', block, '--dump', 'ir', os.path.join(HERE, 'warps.ptx')])
        parts = re.split(r'^kernel (\w+):', text, flags=re.M)
        resumed = {name for name, code in zip(parts[1::2], parts[2::2]) if ' = turn ' in code}
        wrong += [f'{block} threads: {name}' for name in sorted(resumed ^ wanted)]
    if wrong:
        print('gfx90a: threads are resumed where they need not be, or are not:', *wrong, sep='\n  ')
    return bool(wrong)


def check_refused(dragoman):
    """What would hang is said instead."""
    p = subprocess.run([dragoman, 'ptx', '--target', 'gfx1100', '--block', '64', '--dump', 'asm', os.path.join(HERE, 'refused.ptx')],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    good = p.returncode and 'lanes of a warp that wait for what another of them may do, in a function that is called and not inlined' in p.stdout
    if not good:
        print('gfx1100: a lock that is taken in a function and given back elsewhere is not refused:', p.stdout, sep='\n')
    return not good


def main():
    dragoman, clang = sys.argv[1:3]
    bad = 0
    for gpu in ('gfx1100', 'gfx90a'):
        hip = run([clang, '-x', 'hip', '--offload-arch=' + gpu, '-nogpulib', '-nogpuinc', '--cuda-device-only', '-O3', '-S', '-o', '-',
                   os.path.join(HERE, 'kernels.hip')])
        for kernel, (block, lds, wanted) in KERNELS.items():
            ours = run([dragoman, 'ptx', '--target', gpu, '--block', block, '--dump', 'asm', os.path.join(HERE, kernel + '.ptx')])
            theirs = hip.split('\n' + kernel + ':')[1].split('s_endpgm\n\t.section')[0]
            names, count = instructions(ours), len(instructions(theirs))
            why = [f'no {name}' for name in wanted.get(gpu, []) if not any(n.startswith(name) for n in names)]
            why += [f'there is {name}' for name in sorted(set(names)) if name.startswith(('scratch_', 'flat_', 'buffer_load', 'buffer_store'))]
            if '.amdhsa_private_segment_fixed_size 0\n' not in ours:
                why.append('it takes scratch memory')
            if f'.amdhsa_group_segment_fixed_size {lds}\n' not in ours:
                why.append(f'its LDS is not {lds} bytes')
            if len(names) > MOST * count:
                why.append(f'more than {MOST} for one of clang\'s')
            print(f'{gpu} {kernel}: {len(names)} instructions, {count} of clang\'s, {len(names) / count:.2f}', *why, sep='; ' if why else '')
            bad += bool(why)
    return bad + check_warps(dragoman) + check_resumed(dragoman) + check_refused(dragoman) > 0


if __name__ == '__main__':
    sys.exit(main())
