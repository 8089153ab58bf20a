"""Reads the types out of preprocessed C: enumerations, structs and unions, typedefs.

This is no C parser: it reads declarations as the CUDA headers write them (ours and NVIDIA's), and
passes over functions."""
import re

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\d[\w.]*|<<|>>|[^\s\w]')
# Words before a type or a name that say nothing of the layout's names.
NOISE = {'__extension__', 'extern', 'static', '__inline__', 'inline', '__inline', 'volatile', '__restrict',
         '__restrict__', '_Noreturn'}
GROUPED_NOISE = {'__attribute__', '__declspec', '_Alignas', 'alignas', '__asm__'}


class Member:
    def __init__(self, name, type_, stars, array):
        self.name, self.type, self.stars, self.array = name, type_, stars, array


class Record:
    """A struct or union. `type` of a member is its words ("unsigned int", "struct dim3"), or another
    Record where it is defined in place; `name` of an anonymous one is None."""

    def __init__(self, kind, tag):
        self.kind, self.tag, self.members = kind, tag, []

    def paths(self, prefix=''):
        """Every member that offsetof() can name."""
        for member in self.members:
            inner = member.type if isinstance(member.type, Record) else None
            if member.name:
                yield prefix + member.name
            if inner and not member.stars and not member.array:
                yield from inner.paths(prefix + member.name + '.' if member.name else prefix)


class Types:
    def __init__(self, text):
        self.enums = {}     # C name of the type -> [enumerators in order]
        self.records = {}   # C name of the type -> Record
        self.typedefs = {}  # name -> (words of the type, stars, is a function pointer)
        self.tokens = TOKEN.findall(re.sub(r'^\s*#.*$', '', text, flags=re.M))
        self.at = 0
        while self.at < len(self.tokens):
            self.external()

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ''

    def take(self):
        token = self.peek()
        self.at += 1
        return token

    def skip_group(self, opening, closing):
        """After `opening`: past the matching `closing`."""
        depth = 1
        while depth and self.at < len(self.tokens):
            token = self.take()
            depth += (token == opening) - (token == closing)

    def skip_noise(self):
        while self.peek() in NOISE or self.peek() in GROUPED_NOISE:
            if self.take() in GROUPED_NOISE and self.peek() == '(':
                self.take()
                self.skip_group('(', ')')

    def external(self):
        if self.peek() == 'extern' and self.tokens[self.at + 1].startswith('"'):
            self.at += 2  # extern "C" {
            if self.peek() == '{':
                self.take()
            return
        if self.peek() in ('}', ';'):
            self.take()
            return
        if self.peek() == 'typedef':
            self.take()
            type_ = self.specifiers()
            for name, stars, _array, function in self.declarators():
                self.define(name, type_, stars, function)
            return
        type_ = self.specifiers()
        if isinstance(type_, Record) and type_.tag:
            self.records.setdefault(f'{type_.kind} {type_.tag}', type_)
        self.declarators()

    def define(self, name, type_, stars, function):
        if isinstance(type_, Record):
            if not stars:
                self.records.setdefault(name, type_)
            if type_.tag:
                self.records.setdefault(f'{type_.kind} {type_.tag}', type_)
            type_ = f'{type_.kind} {type_.tag}' if type_.tag else name
        elif isinstance(type_, list):
            self.enums.setdefault(name, type_)
            type_ = name
        self.typedefs[name] = (type_, stars, function)

    def specifiers(self):
        """Words of a type; a Record or, for an enumeration without a tag, its enumerators."""
        words = []
        while True:
            self.skip_noise()
            token = self.peek()
            if token in ('struct', 'union', 'enum'):
                self.take()
                return self.tagged(token)
            if not re.match(r'[A-Za-z_]', token):
                break
            following = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ''
            # The last word before one of these is the declared name, unless there is no type yet.
            if words and [w for w in words if w != 'const'] and following in (';', ',', '[', '(', ':', '=', ')'):
                break
            words.append(self.take())
        return ' '.join(w for w in words if w != 'const')

    def tagged(self, kind):
        self.skip_noise()
        tag = self.take() if re.match(r'[A-Za-z_]', self.peek()) else None
        self.skip_noise()
        if self.peek() != '{':
            return f'{kind} {tag}'
        self.take()
        if kind == 'enum':
            names = self.enumerators()
            if tag:
                self.enums.setdefault(f'enum {tag}', names)
            self.skip_noise()
            return f'enum {tag}' if tag else names
        record = Record(kind, tag)
        while self.peek() not in ('}', ''):
            before = self.at
            type_ = self.specifiers()
            names = self.declarators()
            if not names and isinstance(type_, Record):
                names = [(None, 0, '', False)]
            if isinstance(type_, Record) and type_.tag:
                self.records.setdefault(f'{type_.kind} {type_.tag}', type_)
            record.members += [Member(n, type_, s, a) for n, s, a, _f in names]
            if self.at == before:
                raise SyntaxError(f'cannot read: {" ".join(self.tokens[before:before + 12])}')
        self.take()
        self.skip_noise()
        return record

    def enumerators(self):
        names = []
        while self.peek() not in ('}', ''):
            names.append(self.take())
            depth = 0
            while self.peek() and (depth or self.peek() not in (',', '}')):
                depth += (self.peek() == '(') - (self.peek() == ')')
                self.take()
            if self.peek() == ',':
                self.take()
        self.take()
        return names

    def declarators(self):
        """[(name, stars, array, is a function pointer)] up to the `;`, or past a function's body."""
        found = []
        while True:
            self.skip_noise()
            stars = 0
            while self.peek() in ('*', 'const') or self.peek() in NOISE:
                stars += self.take() == '*'
            self.skip_noise()
            token, function = self.peek(), False
            if token == '(':  # (*name)(arguments)
                self.take()
                while self.peek() in ('*', 'const') or self.peek() in NOISE:
                    stars += self.take() == '*'
                token, function = self.take(), True
                self.skip_group('(', ')')
            elif re.match(r'[A-Za-z_]', token):
                self.take()
            else:
                token = None
            array = ''
            while self.peek() in ('[', '(', ':') or self.peek() in GROUPED_NOISE:
                opening = self.take()
                if opening == '[':
                    start = self.at
                    self.skip_group('[', ']')
                    array += '[' + ' '.join(self.tokens[start:self.at - 1]) + ']'
                elif opening == '(':
                    function = True
                    self.skip_group('(', ')')
                elif opening == ':':
                    self.take()
                else:
                    self.take()
                    self.skip_group('(', ')')
            if self.peek() == '=':
                while self.peek() not in (',', ';', ''):
                    self.take()
            if token:
                found.append((token, stars, array, function))
            following = self.take()
            if following == '{':
                self.skip_group('{', '}')
                return []
            if following != ',':
                return found

    def resolve(self, words):
        """Through typedefs to what a type is: (words, stars, is a function pointer)."""
        stars = 0
        while words in self.typedefs:
            target, more, function = self.typedefs[words]
            if function:
                return target, stars + more, True
            stars += more
            if target == words:
                break
            words = target
        return words, stars, False
