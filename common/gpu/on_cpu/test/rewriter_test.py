#!/usr/bin/env python3
"""rewriter_test.py REWRITER COMPILER FLAG ...: what rewrite_launches leaves alone, what it refuses, and how it says so.

That what it writes compiles and does the right thing is tested by semantics/syntax.cu, which holds every kind of launch.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REWRITER, COMPILER = sys.argv[1], sys.argv[2:]

UNTOUCHED = r"""// k<<<1, 1>>>(); a comment that goes on \
   k<<<1, 1>>>(); "here
/* k<<<1, 1>>>(); ' " extern __shared__ int t[]; */
const char* a = "k<<<1, 1>>>(); \" extern __shared__ int t[];";
const char* b = R"(k<<<1, 1>>>() " \)", *c = R"x(k<<<1, 1>>>() )" )x";
const auto* d = u8R"("k<<<1, 1>>>")";
const auto* e = LR"("k<<<1, 1>>>")";
const char f = '"', g = '\'', h = '\\';
const wchar_t i = L'"';
const int j = 1'000'000 + 0x1'f;
#if 0
don't k<<<1, 1 >>>
#endif
#include <vector>
struct external { int shared; };
int shift(int x) { x <<= 2; return x << 2 >> 1; }
__device__ void nothing() { __shared__ int tile[4]; tile[0] = 0; }
extern int elsewhere[];
#define BOUNDED __global__ __launch_bounds__(32) void
__global__ void __launch_bounds__(64, 2) declared(int* out);
"""

LAUNCHES = """__global__ void kernel(int* out) { *out = __LINE__; }
void launch(int* out) {
  kernel
      <<<dim3(1, 2),  // a comment
         4>>>(
          out);
  this_is_a_mistake;
}
"""

# source, and what must be said about which of its lines
REFUSED = [
    ("void f() { k<<<1, 2>>(p); }", 1, "<<< without >>>"),
    ("\nvoid f() { k<<<1, (2>>>(p); }", 2, "<<< without >>>"),
    ("void f() {\n  k<<<1, 2;\n}", 2, "<<< without >>>"),
    ("void f() {\n\n  a]<<<1, 2>>>(p); }", 3, "bracket without its partner"),
    ("k><<<1, 2>>>(p);", 1, "bracket without its partner"),
    ("void f() { ; <<<1, 2>>>(p); }", 1, "launch without a kernel"),
    ("int a;\nextern __shared__ int t[];", 2, "declare dynamic shared memory inside the kernel that uses it"),
    ("namespace a::b {\nextern __shared__ int t[];\n}", 2, "declare dynamic shared memory inside the kernel"),
    (
        "namespace {\nnamespace c {}\nextern __shared__ int t[];\n}",
        3,
        "declare dynamic shared memory inside the kernel",
    ),
    ('extern "C" {\nextern __shared__ int t[];\n}', 2, "declare dynamic shared memory inside the kernel that uses it"),
    ("void f() {}\nextern __shared__ int t[];", 2, "declare dynamic shared memory inside the kernel that uses it"),
    ("void f() {\n  extern __shared__ int t[4];\n}", 2, "is understood as `extern __shared__ type name[];`"),
    ("void f() {\n  extern __shared__ int t[], u[];\n}", 2, "is understood as `extern __shared__ type name[];`"),
    ("void f() {\n  extern __shared__ int a, t[];\n}", 2, "is understood as `extern __shared__ type name[];`"),
    ("void f() {\n  extern __shared__ t[];\n}", 2, "is understood as `extern __shared__ type name[];`"),
    ("void f() {\n  extern __shared__ int t[]\n}", 2, "is understood as `extern __shared__ type name[];`"),
    ('int a;\nconst char* r = R"no parenthesis";', 2, "raw string without ("),
]


class Rewriter(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source, self.output = Path(self.folder.name, "case.cu"), Path(self.folder.name, "made/here/case.cu.cpp")

    def rewrite(self, text):
        self.source.write_text(text)
        self.output.unlink(missing_ok=True)
        return subprocess.run([REWRITER, self.source, self.output], capture_output=True, text=True)

    def rewritten(self, text):
        result = self.rewrite(text)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        lines = self.output.read_text().split("\n", 2)
        self.assertEqual(lines[:2], ["#include <cuda_runtime.h>", f'#line 1 "{self.source}"'])
        return lines[2]

    def compile(self):
        return subprocess.run([*COMPILER, self.output], capture_output=True, text=True)

    def test_leaves_everything_else_alone(self):
        self.assertEqual(self.rewritten(UNTOUCHED), UNTOUCHED)
        result = self.compile()
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_keeps_the_lines(self):
        before, after = LAUNCHES.split("\n"), self.rewritten(LAUNCHES).split("\n")
        self.assertEqual(len(before), len(after))
        self.assertEqual(before[:2] + before[5:], after[:2] + after[5:])
        result = self.compile()
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{self.source}:7:", result.stderr)
        self.assertNotIn(f"{self.source}:6:", result.stderr)

    def test_headers_get_no_include(self):
        self.source = self.source.with_suffix(".cuh")
        self.assertEqual(self.rewrite("int a;\n").returncode, 0)
        self.assertEqual(self.output.read_text(), f'#line 1 "{self.source}"\nint a;\n')

    def test_refuses_what_it_does_not_understand(self):
        for text, line, words in REFUSED:
            with self.subTest(text=text):
                result = self.rewrite(text)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertRegex(result.stderr, rf"\A{self.source}:{line}: [^\n]*\n\Z")
                self.assertIn(words, result.stderr)
                self.assertFalse(self.output.exists())

    def test_refuses_files_that_it_cannot_use(self):
        for arguments in ([], ["one"], ["/no/such/file", self.output], [__file__, "/proc/no/such/file"]):
            with self.subTest(arguments=arguments):
                result = subprocess.run([REWRITER, *arguments], capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
