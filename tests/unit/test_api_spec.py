#!/usr/bin/env python3
"""The readers behind the generated code: rows of spec/*.api, and the types in C headers."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
sys.dont_write_bytecode = True
from api_spec import read_functions  # noqa: E402
from c_types import Types  # noqa: E402


def functions(text):
    with tempfile.NamedTemporaryFile('w', suffix='.api') as file:
        file.write(text)
        file.flush()
        return read_functions(file.name)


class Rows(unittest.TestCase):
    def test_row(self):
        [function] = functions('12.8  const char *f(out struct s **p, size_t n = 0, const int *const *q)  ptsz\n')
        self.assertEqual(function.version, 12080)
        self.assertEqual(function.result, 'const char *')
        self.assertEqual([p.name for p in function.parameters], ['p', 'n', 'q'])
        self.assertEqual([p.out for p in function.parameters], [True, False, False])
        self.assertEqual([p.default for p in function.parameters], ['', '0', ''])
        self.assertEqual(function.parameters[0].type, 'struct s **')
        self.assertEqual(function.prototype('_ptsz'),
                         'const char *f_ptsz(out struct s **p, size_t n, const int *const *q)')
        self.assertEqual(function.suffixes(), ['', '_ptsz'])

    def test_bad_rows(self):
        for text, complaint in (('3.2 int f(void)  bogus=1\n', 'unknown attribute "bogus"'),
                                ('three int f(void)\n', ':1: not a row'),
                                ('3.2 int f(void)\n\n4.0 int f(int a)\n', ':3: f is also at'),
                                ('3.2 int f_v2(void)  base=f\n', ':1: no function f')):
            with self.assertRaises(SyntaxError) as caught:
                functions(text)
            self.assertIn(complaint, caught.exception.msg)

    def test_same_name_in_two_releases(self):
        old, new = functions('3.2 int f(void)  only=12\n4.0 int f(int a)  only=13\n')
        self.assertTrue(old.exported_by(12) and not old.exported_by(13))
        self.assertTrue(new.exported_by(13) and not new.exported_by(12))


class Headers(unittest.TestCase):
    def test_types(self):
        types = Types('''
            typedef enum E_enum { A, B = (1 << 2), C } E;
            typedef struct __attribute__((aligned(16))) S_st {
                const void *p; E e[3]; union { int fd; struct { void *h; } win; } u; union { long x; char y[4]; };
            } S_v1;
            typedef S_v1 S;
            typedef struct H_st *H;
            typedef void (*fn)(void *, S);
            static inline int f(int a) { if (a) { return 1; } return 0; }
            extern int g(S *s);
            struct later { H h; };
        ''')
        self.assertEqual(types.enums[types.resolve('E')[0]], ['A', 'B', 'C'])
        self.assertEqual(list(types.records['S_v1'].paths()),
                         ['p', 'e', 'u', 'u.fd', 'u.win', 'u.win.h', 'x', 'y'])
        self.assertEqual(types.resolve('S')[0], 'struct S_st')
        self.assertEqual(types.resolve('H'), ('struct H_st', 1, False))
        self.assertTrue(types.resolve('fn')[2])
        self.assertIn('struct later', types.records)


if __name__ == '__main__':
    unittest.main()
