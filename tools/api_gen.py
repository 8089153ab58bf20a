#!/usr/bin/env python3
"""Writes what follows from spec/*.api and spec/errors.def: declarations, entries, version scripts.

    api_gen.py results  LIBRARY        spec/errors.def          the enumeration of status codes
    api_gen.py functions LIBRARY[:GL]  spec/LIBRARY.api         the prototypes of a public header
    api_gen.py pointers LIBRARY        spec/LIBRARY.api         cudaTypedefs.h: types of pointers to functions
    api_gen.py impl     LIBRARY        spec/LIBRARY.api         the impl_ functions that entries call
    api_gen.py entries  LIBRARY:MAJOR  spec/LIBRARY.api         the exported entries and their tables
    api_gen.py map      LIBRARY:MAJOR  spec/LIBRARY.api         the linker's version script
    api_gen.py procs    LIBRARY        spec/LIBRARY.api         names and versions for cuGetProcAddress
    api_gen.py status   LIBRARY        spec/errors.def          the table behind api_status_find()
    api_gen.py types    LIBRARY:MAJOR  spec/LIBRARY.api         the types that the trace shows, as
                                                                api/LIBRARY_types.h has them

Each takes an output file after the input file; `types` then takes the command that preprocesses.
LIBRARY is cuda or cudart."""
import re
import subprocess
import sys

from api_spec import read_errors, read_functions
from c_types import Record, Types

BANNER = '/* Made by tools/api_gen.py from {}: do not edit. */'
# What an entry returns for a function that nothing implements.
UNSUPPORTED = {'CUresult': 'CUDA_ERROR_NOT_SUPPORTED', 'cudaError_t': 'cudaErrorNotSupported'}
STREAMS = {'CUstream': 'CU_STREAM_PER_THREAD', 'cudaStream_t': 'cudaStreamPerThread'}
CURRENT_CUDART = 13


def spaced(type_):
    return type_ if type_.endswith('*') else type_ + ' '


def results(library, path):
    tag, names = {'cuda': ('cudaError_enum', 1), 'cudart': ('cudaError', 2)}[library]
    lines = ['typedef enum cudaError_enum {' if library == 'cuda' else 'enum cudaError {']
    lines += [f'\t{row[names]} = {row[0]},' for row in read_errors(path) if row[names]]
    lines.append('} CUresult;' if library == 'cuda' else '};')
    return [f'#ifndef DRAGOMAN_{tag}', f'#define DRAGOMAN_{tag}', ''] + lines + ['', '#endif']


def declaration(function, suffix='', defaults=False):
    parameters = ', '.join(
        p.declaration + (f' DRAGOMAN_DEFAULT({p.default})' if defaults and p.default else '')
        for p in function.parameters) or 'void'
    return f'{spaced(function.result)}{function.name}{suffix}({parameters});'


def newest(functions):
    """What a plain name means in the newest headers: {name: (function's name, its suffix)}."""
    meaning = {}
    for function in functions:
        if function.base not in meaning or meaning[function.base].version <= function.version:
            meaning[function.base] = function
    for function in functions:
        if 'also' in function.attributes:
            meaning[function.attributes['also'].split('@')[0]] = function
    return meaning


def takes_old_types(function):
    """The first versions of some driver functions take types that programs do not see."""
    return re.search(r'CUdeviceptr_v1|(DESCRIPTOR|MEMCPY\dD)_v1', function.declarations())


def functions(library, path, interop):
    """Prototypes for the public headers: all variants of a driver function are declared, and macros
    give plain names their newest meaning, unless the program asked for every version by name."""
    rows = [f for f in read_functions(path) if f.attributes.get('interop') == interop]
    if library == 'cudart':
        rows = [f for f in rows if f.exported_by(CURRENT_CUDART) and 'removed' not in f.attributes]
    lines = ['#ifdef __cplusplus', '#define DRAGOMAN_DEFAULT(value) = value', '#else',
             '#define DRAGOMAN_DEFAULT(value)', '#endif']
    section = None
    for function in rows:
        if function.section != section:
            section = function.section
            lines += ['', f'/* {section} */']
        lines += ['#ifdef __CUDA_API_VERSION_INTERNAL'] if takes_old_types(function) else []
        lines += [declaration(function, suffix, True) for suffix in function.suffixes()]
        lines += ['#endif'] if takes_old_types(function) else []
    return lines + ['', '#undef DRAGOMAN_DEFAULT', ''] + macros(library, rows)


def macros(library, rows):
    plain, per_thread, legacy = [], [], []
    for name, function in sorted(newest(rows).items()):
        meaning = f'#define {name} {function.name}'
        if function.variants:
            per_thread.append(f'{meaning}_{function.variants[0]}')
        if name != function.name:
            (legacy if function.variants else plain).append(meaning)
    lines = ['#ifndef __CUDA_API_VERSION_INTERNAL'] + plain
    if per_thread:
        lines += ['#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM'] + per_thread
        lines += ['#else'] + legacy + ['#endif'] if legacy else ['#endif']
    return lines + ['#endif']


def pointers(_library, path):
    """PFN_cuMemAlloc_v3020, as programs that call cuGetProcAddress name the type of what they get, and
    PFN_cuMemAlloc for the newest variant."""
    rows = [f for f in read_functions(path) if 'interop' not in f.attributes]
    lines = ['#ifndef DRAGOMAN_CUDA_TYPEDEFS_H', '#define DRAGOMAN_CUDA_TYPEDEFS_H', '', '#include "cuda.h"', '',
             '#ifdef __cplusplus', 'extern "C" {', '#endif', '']
    for function in rows:
        for suffix in function.suffixes():
            version = max(function.version, 7000) if suffix else function.version
            lines += ['#ifdef __CUDA_API_VERSION_INTERNAL'] if takes_old_types(function) else []
            lines.append(f'typedef {spaced(function.result)}(CUDAAPI *PFN_{function.base}_v{version}{suffix})'
                         f'({function.declarations()});')
            lines += ['#endif'] if takes_old_types(function) else []
    lines += ['']
    for name, function in sorted(newest(rows).items()):
        plain = f'PFN_{function.base}_v{function.version}'
        if function.variants:
            own = f'PFN_{function.base}_v{max(function.version, 7000)}_{function.variants[0]}'
            lines += ['#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM', f'#define PFN_{name} {own}', '#else',
                      f'#define PFN_{name} {plain}', '#endif']
        else:
            lines.append(f'#define PFN_{name} {plain}')
    return lines + ['', '#ifdef __cplusplus', '}', '#endif', '', '#endif']


def major_guard(function):
    return f'#if DRAGOMAN_CUDART_MAJOR == {function.only}' if function.only else None


def impl(library, path):
    lines = [f'#include "api/{library}_types.h"', '',
             '/* Hidden, so that what is not there is 0 from the link on and no program can put itself there. */',
             '#define API_IMPL extern __attribute__((weak, visibility("hidden")))', '']
    for function in read_functions(path):
        guard = major_guard(function)
        lines += [guard] if guard else []
        lines.append(f'API_IMPL {spaced(function.result)}impl_{function.name}'
                     f'({function.declarations()});')
        lines += ['#endif'] if guard else []
    return lines + ['', '#undef API_IMPL']


def entry(function, suffix, number):
    """One exported function. The watched path works on copies, so that the usual one need not keep
    its arguments in memory."""
    implementation, arguments = f'impl_{function.name}', []
    for p in function.parameters:
        stream = STREAMS.get(p.type) if suffix == '_ptsz' else None
        arguments.append(f'{p.name} ? {p.name} : {stream}' if stream else p.name)
    signature = f'{spaced(function.result)}{function.name}{suffix}({function.declarations()})'
    returns = function.result != 'void'
    fallback = UNSUPPORTED.get(function.result,
                               f'({function.result})' + ('{ 0 }' if 'struct' in function.result else '0'))
    copies = ', '.join(f'&{p.name}_' for p in function.parameters) or '0'
    call = f'{implementation}({", ".join(arguments)});'
    store = 'api_result = ' if returns else ''
    return ([f'API_EXPORT {signature};', f'API_EXPORT {signature}', '{'] +
            ([f'\t{spaced(function.result)}api_result;'] if returns else []) +
            [f'\tAPI_ENTER({implementation}, {number}, {fallback if returns else ""});',
             '\tif (API_WATCHED) {'] +
            [f'\t\t{spaced(p.type)}{p.name}_ = {p.name};' for p in function.parameters] +
            [f'\t\tconst void *const api_arguments[] = {{ {copies} }};',
             f'\t\tconst uint64_t api_start = api_watch_begin({number});',
             f'\t\t{store}{call}',
             f'\t\tapi_watch_end({number}, api_start, {"&api_result" if returns else "0"}, api_arguments);',
             '\t} else {', f'\t\t{store}{call}', '\t}', '\tAPI_LEAVE();'] +
            (['\treturn api_result;'] if returns else []) + ['}', ''])


def numbered(rows, major):
    return [(f, s) for f in rows if f.exported_by(major) for s in f.suffixes()]


def entries(library, path, major):
    rows = numbered(read_functions(path), major)
    lines = ['#define DRAGOMAN_TYPES_ONLY /* the prototypes are those of this release, below */',
             f'#include "api/{library}_impl.h"', '#include "api/entry.h"', '',
             f'const unsigned api_function_count = {len(rows)};',
             f'_Atomic uint64_t api_call_counts[{len(rows)}];',
             f'_Atomic bool api_missing_told[{len(rows)}];',
             f'const struct api_function api_functions[{len(rows)}] = {{']
    lines += [f'\t{{ "{f.prototype(s)}", {"true" if s else "false"} }},' for f, s in rows] + ['};', '']
    for number, (function, suffix) in enumerate(rows):
        lines += entry(function, suffix, number)
    return lines


def version_map(library, path, major):
    names = [f.name + s for f, s in numbered(read_functions(path), major)]
    node = '' if library == 'cuda' else f'lib{library}.so.{major} '
    return [f'{node}{{', 'global:'] + [f'\t{name};' for name in names] + ['local:', '\t*;', '};']


def procs(library, path):
    rows, exports = [], []
    for function in read_functions(path):
        names = [(function.base, function.version)]
        if 'also' in function.attributes:
            name, version = function.attributes['also'].split('@')
            major, minor = version.split('.')
            names.append((name, int(major) * 1000 + int(minor) * 10))
        for suffix in function.suffixes():
            # The per-thread variants of functions older than CUDA 7.0 came with that release.
            since = (lambda v: max(v, 7000)) if suffix else (lambda v: v)
            rows += [(name, bool(suffix), since(version), function.name + suffix) for name, version in names]
            exports.append((function.name + suffix, bool(suffix), since(function.version), function.name + suffix))
    lines = ['#include "api/proc_address.h"', '']
    lines += [f'void {function}(void);' for function in sorted(e[0] for e in exports)]
    for table, content in ('api_procs', sorted(rows)), ('api_exports', sorted(exports)):
        lines += ['', f'const struct api_proc {table}[] = {{']
        lines += [f'\t{{ "{name}", {version}, {str(own).lower()}, {function} }},'
                  for name, own, version, function in content] + ['};']
        lines.append(f'const unsigned {table[:-1]}_count = {len(content)};')
    return lines


def status(_library, path):
    lines = ['#include "api/api.h"', '', '#include "api/status.h"', '',
             'const struct api_status api_statuses[] = {']
    for number, driver, runtime, text in read_errors(path):
        quoted = ['"%s"' % name if name else 'NULL' for name in (driver, runtime)]
        lines.append(f'\t{{ {number}, {quoted[0]}, {quoted[1]}, "{text}" }},')
    return lines + ['};', f'const unsigned api_status_count = {len(lines) - 5};']


ADDRESSES = re.compile(r'CUdeviceptr|CUtexObject|CUsurfObject|cuda(Texture|Surface)Object_t|Handle|size_t$')


def kind_of(name, types):
    """The enum trace_kind of a type."""
    words, stars, function = types.resolve(name)
    if function and not stars:
        return 'OPAQUE'
    if stars:
        return 'POINTER'
    if words in types.enums:
        return 'ENUM'
    if words in types.records:
        return 'RECORD'
    if words in ('float', 'double'):
        return 'FLOAT'
    if words == 'char':
        return 'CHAR'
    if re.search(r'\b(void|struct|union)\b', words):
        return 'OPAQUE'
    if 'unsigned' in words:
        return 'ADDRESS' if ADDRESSES.search(name) and name != 'size_t' else 'UNSIGNED'
    return 'SIGNED'


def member_row(name, member):
    if isinstance(member.type, (Record, list)) or not member.name:
        return '\t{ 0 },'  # a union: which of its members is meant is not known here
    count = member.array[1:-1] if member.array.count('[') == 1 else '1'
    return (f'\t{{ "{member.name}", "{member.type}", offsetof({name}, {member.name}), {count}, '
            f'{member.stars} }},')


def types(library, path, major):
    header = f'#include "api/{library}_types.h"\n'
    known = Types(subprocess.run(sys.argv[5:], input=header, stdout=subprocess.PIPE, text=True, check=True).stdout)
    wanted = set()
    for function in read_functions(path):
        if function.exported_by(major):
            wanted.update(re.sub(r'\bconst\b|\*', '', t).strip()
                          for t in [function.result] + [p.type for p in function.parameters])
    pending = list(wanted)
    while pending:
        record = known.records.get(known.resolve(pending.pop())[0])
        for member in record.members if record else []:
            if isinstance(member.type, str) and member.type not in wanted:
                wanted.add(member.type)
                pending.append(member.type)
    lines = [f'#include "api/{library}_types.h"', '#include "api/trace_types.h"', '']
    rows = []
    for number, name in enumerate(sorted(wanted)):
        kind, detail = kind_of(name, known), '0, %s, NULL, NULL'
        words = known.resolve(name)[0]
        if kind == 'ENUM':
            lines += [f'static const struct trace_name names_{number}[] = {{']
            lines += [f'\t{{ (int){e}, "{e}" }},' for e in known.enums[words]] + ['};']
            detail = f'{len(known.enums[words])}, %s, names_{number}, NULL'
        elif kind == 'RECORD':
            members = known.records[words].members
            lines += [f'static const struct trace_member members_{number}[] = {{']
            lines += [member_row(name, m) for m in members] + ['};']
            detail = f'{len(members)}, %s, NULL, members_{number}'
        size = '0' if kind == 'OPAQUE' else f'sizeof({name})'
        rows.append(f'\t{{ "{name}", TRACE_{kind}, {detail % size} }},')
    return lines + ['', 'const struct trace_type trace_types[] = {'] + rows + \
        ['};', f'const unsigned trace_type_count = {len(rows)};']


def main():
    kind, library, source, output = sys.argv[1:5]
    library, _, detail = library.partition(':')
    if kind in ('entries', 'map', 'types'):
        lines = {'entries': entries, 'map': version_map, 'types': types}[kind](library, source, int(detail))
    elif kind == 'functions':
        lines = functions(library, source, detail or None)
    else:
        lines = {'results': results, 'pointers': pointers, 'impl': impl, 'procs': procs,
                 'status': status}[kind](library, source)
    spec = source.split('/')
    with open(output, 'w', encoding='utf-8') as file:
        file.write('\n'.join([BANNER.format('/'.join(spec[-2:]))] + lines) + '\n')


if __name__ == '__main__':
    try:
        main()
    except SyntaxError as error:
        sys.exit(f'api_gen.py: {error.msg}')
