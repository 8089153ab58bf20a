#!/usr/bin/env python3
"""Makes a failing program small: takes lines away, guards off, operands and the launch down, as long as the program is valid
(the interpreter says so) and still fails in the same way.

    reduce.py --run BUILD/tests/random/run_random --forms 32:8:2:1 FAILING.ptx > SMALL.ptx

Delta debugging: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002).
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time


class Reducer:
    def __init__(self, arguments, lines):
        self.arguments, self.lines = arguments, lines
        self.folder = tempfile.mkdtemp(prefix='reduce-')
        self.tried = 0
        self.seen = {}
        self.kind = None
        self.kind = self.outcome(lines)
        self.until = time.time() + arguments.seconds

    def outcome(self, lines):
        """'DIFFERENT', 'FAILED', or None where the program agrees or is not valid."""
        text = '\n'.join(lines) + '\n'
        if text in self.seen:
            return self.seen[text]
        self.tried += 1
        path = os.path.join(self.folder, 'try.ptx')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        command = [self.arguments.run, '--timeout', '10', '--forms', self.arguments.forms, path]
        output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        kind = None
        for line in output.splitlines():
            if re.match(r'.*\.ptx: (DIFFERENT|FAILED)', line):
                kind = re.sub(r'.*\.ptx: (DIFFERENT|FAILED: \w+|FAILED).*?(status \d+)?$', lambda m: m.group(1) + (m.group(2) or ''), line)
                if kind.startswith('DIFFERENT'):
                    kind = 'DIFFERENT'
                break
        self.seen[text] = kind
        return kind

    def fails(self, lines):
        return time.time() < self.until and self.outcome(lines) == self.kind

    def keep(self, lines):
        """Takes the candidate where it still fails."""
        if lines != self.lines and self.fails(lines):
            self.lines = lines
            return True
        return False

    # ---- ways to make it smaller -----------------------------------------------------------------------

    @staticmethod
    def removable(line):
        return not re.match(r'(//|\.version|\.target|\.address_size|\.visible|\.func|\{$|\}$|\t\.reg|$)', line)

    def remove_lines(self):
        changed = False
        size = max(1, len(self.lines) // 2)
        while size:
            at = len(self.lines) - size
            while at > -size:
                start = max(at, 0)
                chunk = [i for i in range(start, min(start + size, len(self.lines))) if self.removable(self.lines[i])]
                if chunk:
                    gone = set(chunk)
                    changed |= self.keep([l for i, l in enumerate(self.lines) if i not in gone])
                at -= size
            size //= 2
        return changed

    def remove_blocks(self):
        """{ … } around calls go as a whole; functions, too."""
        changed = False
        at = 0
        while at < len(self.lines):
            if self.lines[at] in ('\t{', '{') :
                end = at
                close = self.lines[at].replace('{', '}')
                while end < len(self.lines) and self.lines[end] != close:
                    end += 1
                start = at - 1 if self.lines[at] == '{' and self.lines[at - 1].startswith('.func') else at
                if self.lines[at] == '\t{' or start < at:
                    if self.keep(self.lines[:start] + self.lines[end + 1:]):
                        changed = True
                        continue
            at += 1
        return changed

    def simplify_lines(self):
        changed = False
        for at in range(len(self.lines) - 1, -1, -1):
            if at >= len(self.lines):
                continue
            line = self.lines[at]
            match = re.match(r'\t@!?(%\w+) (.*)', line)
            if match:
                changed |= self.keep(self.lines[:at] + ['\t' + match.group(2)] + self.lines[at + 1:])
            line = self.lines[at]
            match = re.match(r'(\t(?:@!?%\w+ )?)([\w.:]+) ([^,\[{]+), (.+);$', line)
            if not match or match.group(2).startswith(('bra', 'call', 'ld', 'st', 'atom', 'red.', 'brx')):
                continue
            head, opcode, target, rest = match.groups()
            if '|' in target:
                changed |= self.keep(self.lines[:at] + [f'{head}{opcode} {target.split("|")[0]}, {rest};'] + self.lines[at + 1:])
            kind = opcode.split('.')[-1]
            for value in ('0', '1'):
                number = {'f32': '0f3F800000', 'f64': '0d3FF0000000000000', 'pred': None}.get(kind, value)
                if number and opcode.split('.')[0] not in ('mov', 'cvt', 'setp', 'vote', 'shfl'):
                    changed |= self.keep(self.lines[:at] + [f'{head}mov.{kind} {target}, {number};'] + self.lines[at + 1:])
            parts = rest.split(', ')
            for i, part in enumerate(parts):
                if part.startswith('%') and kind not in ('pred', 'f32', 'f64'):
                    for value in ('0', '1'):
                        new = parts[:i] + [value] + parts[i + 1:]
                        if self.keep(self.lines[:at] + [f'{head}{opcode} {target}, {", ".join(new)};'] + self.lines[at + 1:]):
                            parts = new
                            changed = True
                            break
        return changed

    def smaller_launch(self):
        changed = False
        match = re.match(r'(// launch grid) (\d+ \d+ \d+) block (\d+) (\d+) (\d+) (.*)', self.lines[0])
        _, grid, x, y, z, rest = match.groups()
        size = [int(n) for n in (grid + f' {x} {y} {z}').split()]
        for grid in ('1 1 1', '2 1 1'):
            if int(grid[0]) < size[0] * size[1] * size[2] and self.keep([f'// launch grid {grid} block {x} {y} {z} {rest}'] + self.lines[1:]):
                changed = True
                break
        grid = ' '.join(self.lines[0].split()[3:6])
        for threads in (1, 4, 8, 16, 32, 33, 64):
            if threads < size[3] * size[4] * size[5] and self.keep([f'// launch grid {grid} block {threads} 1 1 {rest}'] + self.lines[1:]):
                changed = True
                break
        return changed

    def drop_declarations(self):
        """Registers, labels and variables that nothing names any more."""
        text = '\n'.join(self.lines)
        lines = []
        for line in self.lines:
            match = re.match(r'\t\.reg (\.\w+) (.*);', line)
            if match:
                names = [n for n in match.group(2).split(', ') if len(re.findall(re.escape(n) + r'\b', text)) > 1]
                if names:
                    lines.append(f'\t.reg {match.group(1)} {", ".join(names)};')
                continue
            match = re.match(r'(\w+):$', line)
            if match and not re.search(rf'\b{match.group(1)}\b[^:]', text):
                continue
            lines.append(line)
        return self.keep(lines)

    def run(self):
        if not self.kind:
            print('the program does not fail', file=sys.stderr)
            return False
        changed = True
        while changed and time.time() < self.until:
            changed = False
            for step in (self.smaller_launch, self.remove_blocks, self.remove_lines, self.simplify_lines, self.drop_declarations):
                changed |= step()
                print(f'{step.__name__}: {len(self.lines)} lines, {self.tried} tried', file=sys.stderr)
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--run', required=True, help='the run_random binary')
    parser.add_argument('--forms', required=True, help='the form that fails: lanes:vector:optimisation:specialised')
    parser.add_argument('--seconds', type=float, default=600)
    parser.add_argument('program')
    arguments = parser.parse_args()
    with open(arguments.program, encoding='utf-8') as file:
        lines = file.read().splitlines()
    reducer = Reducer(arguments, lines)
    if not reducer.run():
        return 1
    print('\n'.join(reducer.lines))
    return 0


if __name__ == '__main__':
    sys.exit(main())
