"""Reads spec/*.api and spec/errors.def: one function, or one status code, a line.

The form of the rows is described at the top of spec/cuda.api and spec/errors.def."""
import re

ROW = re.compile(r'(\d+)\.(\d+)\s+(.*?)([A-Za-z_]\w*)\((.*?)\)(?:\s\s+(.*))?$')


class Parameter:
    """One parameter: `out enum cudaLimit *name = default`."""

    def __init__(self, text):
        text, _, self.default = (part.strip() for part in text.partition(' = '))
        self.out = text.startswith('out ')
        self.declaration = text[4:] if self.out else text
        self.name = re.search(r'(\w+)(\[\w*\])?$', self.declaration).group(1)
        self.type = re.sub(r'\s*\w+(\[\w*\])?$', '', self.declaration)


class Function:
    def __init__(self, match, section, place):
        major, minor, result, self.name, parameters, attributes = match.groups()
        self.version = int(major) * 1000 + int(minor) * 10
        self.result = result.strip()
        self.section, self.place = section, place
        self.parameters = [] if parameters == 'void' else [Parameter(p) for p in parameters.split(', ')]
        words = (attributes or '').split()
        self.attributes = dict(word.partition('=')[::2] for word in words)
        known = {'base', 'also', 'ptsz', 'ptds', 'interop', 'removed', 'only', 'refused'}
        for word in self.attributes:
            if word not in known:
                raise SyntaxError(f'{place}: unknown attribute "{word}"')
        self.base = self.attributes.get('base', self.name)
        self.only = int(self.attributes['only']) if 'only' in self.attributes else None
        self.variants = [s for s in ('ptsz', 'ptds') if s in self.attributes]

    def declarations(self):
        return ', '.join(p.declaration for p in self.parameters) or 'void'

    def prototype(self, suffix=''):
        """The prototype as the trace reads it: with `out` marks, without default arguments."""
        parameters = ', '.join(('out ' if p.out else '') + p.declaration for p in self.parameters)
        space = '' if self.result.endswith('*') else ' '
        return f'{self.result}{space}{self.name}{suffix}({parameters})'

    @property
    def refused(self):
        """Why the function is refused by name for good, or None."""
        return self.attributes.get('refused', 'graphics' if 'interop' in self.attributes else None)

    def exported_by(self, major):
        return self.only in (None, major)

    def suffixes(self):
        return [''] + ['_' + variant for variant in self.variants]


def read_functions(path):
    functions, section = [], None
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip()
            if line.startswith('# ') and not line.startswith('#  '):
                section = line[2:]
            if not line or line.startswith('#'):
                continue
            match = ROW.match(line)
            if not match:
                raise SyntaxError(f'{path}:{number}: not a row: {line}')
            functions.append(Function(match, section, f'{path}:{number}'))
    check(functions)
    return functions


def check(functions):
    seen = {}
    for function in functions:
        for major in (11, 12, 13):
            if function.exported_by(major):
                former = seen.setdefault((function.name, major), function)
                if former is not function:
                    raise SyntaxError(f'{function.place}: {function.name} is also at {former.place}')
    for function in functions:
        if not any(other.name == function.base for other in functions):
            raise SyntaxError(f'{function.place}: no function {function.base}')


def read_errors(path):
    """[(number, driver name or None, runtime name or None, text)]"""
    errors = []
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.strip() and not line.startswith('#'):
                number, driver, runtime, text = line.split(None, 3)
                errors.append((int(number), driver if driver != '-' else None,
                               runtime if runtime != '-' else None, text.strip()))
    return errors
