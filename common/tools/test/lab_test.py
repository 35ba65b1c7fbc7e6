#!/usr/bin/env python3
"""Tests of make_lab and grade, as far as nothing large has to be compiled: common/tools/mutants proves the rest."""

import html
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

from counted import predict, recording, show
from lab import cases, cuda_rules, diagnose, gates, kit, results, sandbox, symbols
from lab.assignment import assigned_sources, make_assignment, origins_of
from lab.course import MARK, WEIGHTS, Course, Task, as_toml, files_of, read_course, stage_called, stages_in
from lab.grade import PARTS, Judge, Part, Result, expected_tests, grade, share_out
from lab.regions import split, starter, without_bodies, without_references
from results import read_result, select
from stages import ANSWERS, ROOT, Failure, without_answers

TOOLS = ROOT / "common/tools"
ZERO = dict.fromkeys(recording.COUNTS, 0)
STAGES = stages_in(ROOT)
# Sections that no student gets: how the code was done, and what came out.
SOLVED = re.compile(
    r"(What changes|The files|Run$|Measured|The kernels|In sixteen|Quality|The 2D rule again|Observables)"
)
EXERCISES = [
    Task(stage, int(mark["number"]))
    for stage in STAGES
    for mark in MARK.finditer((ROOT / stage / "exercises.md").read_text())
    if mark["files"]
]


class Regions(unittest.TestCase):
    def test_bodies_go_and_signatures_stay(self):
        text = """/// Says why, in parentheses (void).
template <class T>
__device__ T f(const T* a, int i) {
  if (i > 0) { return a[i]; }
  return a[0];  // }
}
struct Kept {
  int a[2] = {1, 2};
};
/// Comments (like this one) say nothing about the type, nor does void in them.
__global__ void __launch_bounds__(1024)
    g(int* a) {
  for (;;) { a[0] = '}'; }
}
constexpr int kept[] = {1, 2};
__host__ __device__ constexpr int h(int v) { return v; }
"""
        self.assertEqual(
            without_bodies(text, "x"),
            """/// Says why, in parentheses (void).
template <class T>
__device__ T f(const T* a, int i) {
  return {};
}
struct Kept {
  int a[2] = {1, 2};
};
/// Comments (like this one) say nothing about the type, nor does void in them.
__global__ void __launch_bounds__(1024)
    g(int* a) {
}
constexpr int kept[] = {1, 2};
__host__ __device__ constexpr int h(int v) {
  return {};
}
""",
        )

    def test_bodies_within_a_class_keep_their_indentation(self):
        text = "  /// Why.\n  int f(int a) const {\n    return a;\n  }\n"
        self.assertEqual(without_bodies(text, "x"), "  /// Why.\n  int f(int a) const {\n    return {};\n  }\n")

    def test_broken_regions_are_refused(self):
        for text in (
            "// --- yours: a\n",
            "// --- end\n",
            "// --- end\n// --- yours: a\n",
            "// --- yours: a\n// --- end\n// --- yours: b\n// --- end\n",
        ):
            with self.assertRaisesRegex(ValueError, "update.cu: a region is"):
                starter(text)
        for body in ("int f() {\n", "}\n"):
            with self.assertRaisesRegex(ValueError, "braces"):
                starter(f"// --- yours: a\n{body}// --- end\n")

    def test_text_without_a_region_is_kept(self):
        self.assertEqual(starter("int a;\n"), "int a;\n")

    def test_every_update_has_a_region_with_its_kernel(self):
        for stage in STAGES:
            text = (ROOT / stage / "update.cu").read_text()
            self.assertEqual(text.count("// --- "), 2, stage)
            _, region, after = split(text, stage)
            self.assertIn("update", region, stage)
            self.assertNotIn("__global__", after, stage)
            self.assertLess(len(starter(text)), 0.9 * len(text), stage)
            self.assertEqual(starter(starter(text)), starter(text), stage)

    def test_every_exercise_for_code_has_a_region(self):
        for task in EXERCISES:
            texts = [(ROOT / file).read_text() for file in files_of(task, ROOT)]
            self.assertNotEqual([starter(text) for text in texts], texts, task)


class Courses(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "course.toml")
            path.write_text(text)
            return read_course(path, ROOT)

    def test_all_keys(self):
        course = self.read(
            'title = "A"\ntext = "B"\nhints = false\n[weights]\nspeed = 0\n'
            '[[task]]\nstage = "03"\nexercise = 4\npoints = 2.5\ndue = "soon"\n[[task]]\nstage = "01_naive_gpu"\n'
        )
        self.assertEqual(course.tasks, [Task("03_shared_memory", 4, 2.5, "soon"), Task("01_naive_gpu")])
        self.assertEqual((course.title, course.text, course.hints), ("A", "B", False))
        self.assertEqual(course.weights, WEIGHTS | {"speed": 0})

    def test_written_and_read_again(self):
        course = Course(
            [
                Task("03_shared_memory", 3, 7.5, 'a "quoted" \\ day\n'),
                Task("07_amsc", gates={"load_sectors": 4.5, "bank_conflicts": 0}),
            ],
            "Ärger",
            "x\ny",
            False,
            False,
            WEIGHTS | {"races": 5},
        )
        self.assertEqual(self.read(as_toml(course)), course)
        self.assertTrue(self.read("").hints and self.read("").cuda)

    def test_refusals_name_key_and_value(self):
        for text, part in {
            "x = 1": "a key of the file is 'x'; allowed is title, text, draw, number, hints, cuda, task, weights",
            "hints = 1": "hints is 1; allowed is true or false",
            'cuda = "no"': "cuda is 'no'; allowed is true or false",
            "title = 1": "title is 1; allowed is a text",
            "task = 3": "task is 3",
            '[[task]]\nstage = "99"': "there is no stage '99'",
            "[[task]]\nstage = 3": "stage is 3",
            '[[task]]\nstage = "00"': "there is no stage '00'",
            '[[task]]\nstage = "03"\npoints = -1': "points is -1; allowed is a number from 0",
            '[[task]]\nstage = "03"\npoints = true': "points is True",
            '[[task]]\nstage = "03"\nexercise = 1': "exercise 1: no exercise that the checker can judge",
            '[[task]]\nstage = "03"\ncolour = 1': "a key of a task is 'colour'",
            '[[task]]\nstage = "03"\ngates = 1': "gates is 1; allowed is a table",
            '[[task]]\nstage = "03"\ngates = {beauty = 1}': "a key of gates is 'beauty'; allowed is load_sectors,",
            '[[task]]\nstage = "03"\ngates = {l2_bytes = -1}': "gate l2_bytes is -1",
            "[weights]\nbeauty = 1": "a key of weights is 'beauty'",
            "[weights]\nraces = nan": "weight races is nan",
            "a = ": "not a TOML file",
        }.items():
            with self.subTest(text), self.assertRaises(Failure) as refusal:
                self.read(text)
            self.assertIn(part, str(refusal.exception))
            self.assertNotIn("\n", str(refusal.exception))

    def test_stages_by_number_or_name(self):
        self.assertEqual(stage_called("05", ROOT), "05_sliced")
        self.assertEqual(stage_called("05_sliced", ROOT), "05_sliced")

    def test_files_of_exercises(self):
        self.assertEqual(
            files_of(Task("03_shared_memory", 5), ROOT),
            ["03_shared_memory/update.cu", "common/majority/device_simulation.cuh"],
        )
        self.assertEqual(files_of(Task("05_sliced", 2), ROOT), ["05_sliced/sliced.hpp"])


def tokens(text):
    """The lines of code, without comments and indentation, that say something."""
    lines = (re.sub(r"\s+", " ", line.split("//")[0]).strip() for line in text.splitlines())
    return {line for line in lines if len(line) > 30}


class Assignments(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def make(self, *tasks):
        out = self.folder / "-".join(f"{task.stage}.{task.exercise}" for task in tasks)
        make_assignment(Course(list(tasks)), ROOT, out)
        return out

    def test_an_exercise_may_have_a_starter_of_its_own(self):
        file, own = "03_shared_memory/update.cu", "tiles_per_block"
        self.assertIn(own, (self.make(Task("03_shared_memory", 6)) / file).read_text())
        for tasks in ([Task("03_shared_memory", 3)], [Task("03_shared_memory", 3), Task("03_shared_memory", 6)]):
            self.assertNotIn(own, (self.make(*tasks) / file).read_text())

    def test_every_stage_and_exercise_can_be_handed_out_without_its_solution(self):
        for task in [Task(stage) for stage in STAGES] + EXERCISES:
            with self.subTest(task):
                out = self.make(task)
                given = {
                    path.relative_to(out): path.read_text()
                    for path in out.rglob("*")
                    if path.is_file() and path.suffix in (".cu", ".cuh", ".hpp", ".cpp", ".md")
                }
                for file in files_of(task, ROOT):
                    parts = split((ROOT / file).read_text(), file)
                    if not parts:
                        continue
                    origin = ROOT / origins_of([task]).get(file, file)
                    self.assertEqual(given[Path(file)], starter(origin.read_text()))
                    given_away = re.sub(r"\s+", " ", starter("".join(parts), file))
                    secret = {line for line in tokens(parts[1]) if line not in given_away}
                    self.assertTrue(secret)
                    for name, text in given.items():
                        # Other kernels of the same stage do similar things; its own texts must not.
                        if name.suffix == ".md" or name == Path(file):
                            self.assertEqual(
                                {line for line in secret if line in re.sub(r"\s+", " ", text)}, set(), name
                            )

    def test_it_is_whole(self):
        out = self.make(Task("03_shared_memory"), Task("04_checkerboard"))
        for name in (
            "README.md",
            "check",
            "course.toml",
            "CMakeLists.txt",
            "03_shared_memory/README.md",
            "LICENSE",
            "03_shared_memory/figure.svg",
            "00_cpu_reference/majority.cpp",
            "04_checkerboard/bitwise.hpp",
            "common/tools/grade",
            "common/gpu/on_cpu/kernel/block.cpp",
            "common/gpu/on_cpu/cuda/atomic",
        ):
            self.assertTrue((out / name).is_file(), name)
        self.assertTrue(os.access(out / "check", os.X_OK))
        for name in (
            "01_naive_gpu",
            "common/gpu/on_cpu/test",
            "common/gpu/on_cpu/nvcc",
            "common/lab",
            ".git",
            "common/run",
        ):
            self.assertFalse((out / name).exists(), name)
        done = subprocess.run([sys.executable, out / "common/tools/grade", "--help"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)  # it finds all that it imports

    def test_only_the_models_that_are_needed(self):
        self.assertFalse((self.make(Task("02_blocked")) / "common/spin_glass").exists())
        self.assertFalse((self.make(Task("04_checkerboard")) / "common/majority").exists())

    def test_texts_have_no_dead_links_and_no_answers(self):
        for stage in STAGES:
            out = self.make(Task(stage))
            for text in out.rglob("*.md"):
                for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text.read_text()):
                    self.assertTrue("://" in target or (text.parent / target).exists(), f"{text}: {target}")
            readme, handout = (place / stage / "README.md" for place in (ROOT, out))
            given = handout.read_text()
            heads = re.findall(r"^## (.*)", given, re.MULTILINE)
            self.assertIn("Predict", heads)
            self.assertIn("Traps", heads)
            self.assertEqual([head for head in heads if SOLVED.match(head)], [])
            answers = "".join(ANSWERS.findall(readme.read_text())).splitlines()
            lines = {line for line in answers if len(line) > 20}  # shorter ones are rules of tables and the like
            self.assertGreater(len(lines), 20)
            self.assertEqual(lines & set(given.splitlines()), set())
            self.assertEqual(list(out.rglob("measured.md")), [])

    def test_texts_speak_of_nothing_that_is_not_there(self):
        elsewhere = re.compile(r"[Ee]xercises?\s+\d|counters\s+of\s+stages?|\bscroll|measured\.md")
        path = re.compile(r"(?<![\w/.])(?:common|\d\d_[a-z]\w*)/[\w./-]*\w")
        for task in [Task(stage) for stage in STAGES] + EXERCISES:
            with self.subTest(task):
                out = self.make(task)
                for file in (out / "README.md", out / task.stage / "README.md"):
                    text = file.read_text().replace(task.name, "")
                    self.assertEqual(elsewhere.findall(text), [], file)
                    missing = [name for name in path.findall(text) if not (out / name).exists()]
                    # Programs lie in build/, where the path begins with that.
                    self.assertEqual(missing, [], file)

    def test_references_are_taken_out_by_the_sentence(self):
        for text, kept in (
            ("It looks right. Exercise 1 removes it.\nb", "It looks right.\nb"),
            ("a row (exercise 1). The bits", "a row. The bits"),
            ("Why? (You have seen the counters of stages\n   01 and 02.)\n3. b", "Why?\n3. b"),
            ("shows it at once: exercise 1.\nb", "shows it at once.\nb"),
            ("One. Five more are in measured.md.\n\nb", "One.\n\nb"),
            ("One: 1.5 ms. Two.", "One: 1.5 ms. Two."),
        ):
            self.assertEqual(without_references(text), kept)

    def test_an_exercise_comes_with_its_text(self):
        text = (self.make(Task("02_blocked", 2)) / "02_blocked/README.md").read_text()
        self.assertIn("## Your task: A column instead of a square", text)
        self.assertIn("Walk\ndown the column", text)
        self.assertNotIn("interleaved", text)  # exercise 3
        self.assertNotIn("<!--", text)

    def test_answers_whose_end_is_not_marked_are_not_handed_out(self):
        with self.assertRaisesRegex(Failure, "no partner"):
            without_answers("# 03 x\n\n<!-- answers -->\n## Measured\n")
        self.assertEqual(without_answers("a\n<!-- answers -->\n1. x\n<!-- end answers -->\n\nb\n"), "a\nb\n")

    def test_a_folder_that_exists_is_left_alone(self):
        out = self.folder / "there"
        out.mkdir()
        with self.assertRaisesRegex(Failure, "exists already"):
            make_assignment(Course([Task("03_shared_memory")]), ROOT, out)
        self.assertEqual(list(self.folder.iterdir()), [out])
        self.assertEqual(list(out.iterdir()), [])


KEYWORDS = frozenset(
    "auto bool break case class const constexpr continue do double else false float for if int long operator return short "
    "sizeof static struct switch template true typename unsigned using void while".split()
)
A_RUN = 24  # tokens that two texts share by chance where they do the same to a lattice; more is a fragment
PIECE = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|::|<<=|>>=|<<|>>|->|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|\S")


def pieces(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/|^[ \t]*#.*$", "", html.unescape(text), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)
    return [match[0] for match in PIECE.finditer(text)]


def shapes(text, length):
    """(run of so many tokens in which all names are alike, its tokens) throughout a text."""
    words = pieces(text)
    alike = ["$" if (word[0].isalpha() or word[0] == "_") and word not in KEYWORDS else word for word in words]
    for begin in range(len(words) - length + 1):
        yield " ".join(alike[begin : begin + length]), words[begin : begin + length]


def runs(text, length, among=None):
    """All runs of so many tokens, or those of these shapes, with names numbered in the order in which they come: so
    renaming changes nothing."""
    found = set()
    for shape, words in shapes(text, length):
        if among is None or shape in among:
            names = {}
            pairs = zip(shape.split(" "), words)
            found.add(" ".join(f"${names.setdefault(word, len(names))}" if one == "$" else one for one, word in pairs))
    return found


def formulas(text):
    """Lines of logic or arithmetic with several operators, without blanks: what a figure could print."""
    found = re.findall(r"return ([^;]*);|= ([^;=]*);", text)
    found = {re.sub(r"\s", "", max(pair)) for pair in found}
    return {formula for formula in found if len(re.findall(r"[&|^~+*/-]", formula)) >= 5}


class Leaks(unittest.TestCase):
    """An assignment has nothing that answers it."""

    # What an assignment cannot do without, and shares no more with the solution than a loop over the lattice.
    MOST_OF_A_FILE = 16

    def test_a_fragment_is_found_whatever_its_names(self):
        text = "for (int d = 0; d < six; ++d) { sum += spin ^ others[lattice + to[d]] ^ coupling[d]; flips(sum, 3); }"
        renamed = re.sub(r"\b([a-z]{2,})\b", lambda match: match[1] if match[1] in KEYWORDS else match[1] + "_", text)
        self.assertNotEqual(text, renamed)
        self.assertEqual(runs(text, A_RUN), runs(renamed, A_RUN))
        self.assertFalse(runs(text, A_RUN) & runs(text.replace("^", "&"), A_RUN))
        self.assertIn("c12|~s2|(~s1&(c8|(c4&~s0)))", formulas("  return c12 | ~s2 | (~s1 & (c8 | (c4 & ~s0)));"))

    @staticmethod
    def regions(task):
        """The task's regions, as they are and emptied."""
        texts = [(ROOT / file).read_text() for file in files_of(task, ROOT)]
        return [(split(text, "")[1], split(starter(text), "")[1]) for text in texts if split(text, "")]

    def test_no_file_has_fragments_of_the_solution(self):
        tasks, cache = [Task(stage) for stage in STAGES] + EXERCISES, {}
        among = {shape for task in tasks for region, _ in self.regions(task) for shape, _ in shapes(region, A_RUN)}
        for task in tasks:
            with self.subTest(task.name), tempfile.TemporaryDirectory() as folder:
                out = Path(folder, "a")
                make_assignment(Course([task]), ROOT, out)
                secret, secret_formulas = set(), set()
                for region, emptied in self.regions(task):
                    secret |= runs(region, A_RUN) - runs(emptied, A_RUN)
                    secret_formulas |= formulas(region)
                self.assertTrue(secret)
                for path in sorted(out.rglob("*")):
                    if path.suffix not in (".cu", ".cuh", ".hpp", ".cpp", ".md", ".svg", ".h"):
                        continue
                    text, name = path.read_text(), path.relative_to(out)
                    if text not in cache:
                        tight = re.sub(r"\s", "", html.unescape(re.sub(r"<[^>]*>", "", text)))
                        cache[text] = runs(text, A_RUN, among) if path.suffix != ".svg" else set(), tight
                    shared, tight = cache[text]
                    self.assertLessEqual(len(secret & shared), self.MOST_OF_A_FILE, (name, sorted(secret & shared)[:3]))
                    if name.parts[0] not in ("00_cpu_reference", "common"):
                        self.assertEqual({one for one in secret_formulas if one in tight}, set(), name)

    def test_stage_07_has_no_other_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "a")
            make_assignment(Course([Task("07_amsc")]), ROOT, out)
            for name in ("kernels/wide.cu", "kernels/wide.cuh", "kernels/small.cu", "metropolis.hpp", "figure.svg"):
                self.assertFalse((out / "07_amsc" / name).exists(), name)
            self.assertNotIn("make_wide", (out / "07_amsc/kernels/choose.cu").read_text())
            with self.assertRaisesRegex(Failure, r"07_amsc\S+ needs 07_amsc/\S+, which answers a task"):
                make_assignment(Course([Task("07_amsc"), Task("08_mpi")]), ROOT, Path(folder, "b"))

    def test_what_is_left_out_is_there(self):
        for task in [Task(stage) for stage in STAGES] + EXERCISES:
            for pattern in cases.told(task)["left_out"]:
                self.assertTrue(list((ROOT / task.stage).glob(pattern)), (task, pattern))


class Commands(unittest.TestCase):
    def call(self, name, *options):
        return subprocess.run([sys.executable, TOOLS / name, *map(str, options)], capture_output=True, text=True)

    def refused(self, part, *command):
        done = self.call(*command)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(part, done.stderr)

    def test_make_lab_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "x")
            self.refused("there is no stage '12'", "make_lab", "12", "--out", out)
            self.refused("there is no task", "make_lab", "--out", out)
            self.refused("two tasks", "make_lab", "03", "03.4", "--out", out)
            self.refused("the number of an exercise", "make_lab", "03.a", "--out", out)
            self.refused("exists already", "make_lab", "03", "--out", folder)
            self.refused("--out", "make_lab", "03")
            self.refused("No such file", "make_lab", "--course", out, "--out", out)
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_make_lab_without_cuda(self):
        with tempfile.TemporaryDirectory() as folder:
            for options, uses in ((["--no-cuda"], False), ([], True)):
                out = Path(folder, str(uses))
                done = self.call("make_lab", "03", *options, "--out", out)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIs(read_course(out / "course.toml", out).cuda, uses)
                self.assertEqual("nvcc" in (out / "README.md").read_text(), uses)

    def test_grade_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refused("no such folder", "grade", Path(folder, "x"))
            self.refused("course.toml: No such file", "grade", folder)
            self.refused("neither psFlip", "grade", folder, "--reference", folder)
            self.refused("there is no such part", "grade", folder, "--only", "beauty")
            self.refused("--seconds is 0", "grade", folder, "--seconds", "0")
            Path(folder, "course.toml").write_text('[[task]]\nstage = "03"\n')
            self.refused("05_sliced is no task", "grade", folder, "05")
            self.refused("there is no stage 'x'", "grade", folder, "x")

    def test_a_missing_compiler_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "course.toml").write_text('[[task]]\nstage = "03"\n')
            Path(folder, "03_shared_memory").mkdir()
            Path(folder, "03_shared_memory/update.cu").write_text("")
            done = subprocess.run(
                [sys.executable, TOOLS / "grade", folder, "--build-dir", Path(folder, "b")],
                env={"PATH": folder},
                capture_output=True,
                text=True,
            )
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, "grade: there is no cmake here; apt-get install cmake\n")


class Sandbox(unittest.TestCase):
    def run_python(self, code, **options):
        return sandbox.run([sys.executable, "-c", code], **{"seconds": 20} | options)

    def test_what_a_program_says_and_leaves(self):
        run = self.run_python(
            "import sys; open('a', 'w').write('x'); open('b', 'w'); print(1); print(2, file=sys.stderr); sys.exit(3)",
            wanted=["a"],
        )
        self.assertEqual((run.code, run.stdout, run.stderr, run.files), (3, "1\n", "2\n", {"a": "x"}))

    def test_its_folder_is_its_home_and_goes(self):
        run = self.run_python("import os; print(os.getcwd(), os.environ['HOME'], 'SECRET' in os.environ)")
        cwd, home, secret = run.stdout.split()
        self.assertEqual((cwd, secret), (home, "False"))
        self.assertFalse(Path(cwd).exists())

    def test_a_loop_is_ended_with_its_children(self):
        start, long = time.monotonic(), f"300.{random.SystemRandom().randrange(10**9)}"  # found again by its length
        run = self.run_python(f"import subprocess; subprocess.Popen(['sleep', '{long}'])\nwhile True: pass", seconds=1)
        self.assertTrue(run.timed_out)
        self.assertLess(time.monotonic() - start, 15)
        limit = time.monotonic() + 10  # what was killed may take a moment to be gone
        while alive := [path for path in Path("/proc").glob("[0-9]*/cmdline") if self.sleeps(path, long)]:
            self.assertLess(time.monotonic(), limit, alive)
            time.sleep(0.01)

    @staticmethod
    def sleeps(path, long):
        try:
            return path.read_bytes() == f"sleep\0{long}\0".encode()
        except OSError:
            return False

    def test_on_a_busy_machine_it_has_more_time(self):
        for busy, timed_out in ((0.2, True), (9, False)):
            with unittest.mock.patch("os.getloadavg", lambda busy=busy: (busy * os.cpu_count(), 0, 0)):
                run = self.run_python("import time; time.sleep(1.5)", seconds=1)
            self.assertIs(run.timed_out, timed_out)
        with unittest.mock.patch("os.getloadavg", lambda: (1000, 0, 0)):
            self.assertTrue(self.run_python("while True: pass", seconds=0.2).timed_out)

    def test_output_without_end(self):
        run = self.run_python("while True: print('x' * 10**6)")
        self.assertEqual(len(run.stdout), sandbox.MOST_TEXT)
        self.assertNotEqual(run.code, 0)

    def test_a_link_is_not_read(self):
        run = self.run_python("import os; os.symlink('/etc/hostname', 'a')", wanted=["a"])
        self.assertEqual(run.files, {})

    def test_a_crash_has_its_signal(self):
        self.assertEqual(self.run_python("import os; os.abort()").signal, "SIGABRT")

    def test_writes_are_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "a")
            file.write_text("x")
            before = sandbox.snapshot(folder)
            self.assertEqual(sandbox.snapshot(folder), before)
            file.write_text("y")
            self.assertNotEqual(sandbox.snapshot(folder), before)


class Protections(unittest.TestCase):
    """What each mechanism keeps a program from; those that this machine has."""

    TRIES = """
import os, socket, sys
def tried(what):
    try:
        what()
        return "done"
    except OSError:
        return "refused"
def connect():
    socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=5).close()
print(tried(lambda: open("inside", "w").write("x")), tried(lambda: open(sys.argv[1], "w").write("x")), tried(connect))
print(os.path.exists(sys.argv[3]))
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", sys.argv[4]])
"""

    def tried(self, protection):
        """What a program could do: write inside, write outside, connect; see a file in /tmp; leave a process behind."""
        if protection is not sandbox.by_limits and not sandbox.works(protection):
            self.skipTest(f"{protection.__name__.removeprefix('by_')} does not work on this machine")
        long = f"3.{random.SystemRandom().randrange(10**9)}"
        with (
            unittest.mock.patch("lab.sandbox.protection", lambda: protection),
            tempfile.TemporaryDirectory(dir="/var/tmp") as outside,
            tempfile.TemporaryDirectory(dir="/tmp") as hidden,
            socket.create_server(("127.0.0.1", 0)) as server,
        ):
            port = server.getsockname()[1]
            command = [sys.executable, "-c", self.TRIES, f"{outside}/a", port, hidden, long]
            run = sandbox.run(command, seconds=20, wanted=["inside"])
            self.assertEqual(run.files, {"inside": "x"}, run.stderr)
            time.sleep(0.2)
            behind = any(Sandbox.sleeps(path, long) for path in Path("/proc").glob("[0-9]*/cmdline"))
            return [*run.stdout.split(), Path(outside, "a").exists(), behind]

    def test_bubblewrap(self):
        self.assertEqual(self.tried(sandbox.by_bubblewrap), ["done", "refused", "refused", "False", False, False])

    def test_namespaces(self):
        self.assertEqual(self.tried(sandbox.by_namespaces), ["done", "refused", "refused", "False", False, False])

    def test_limits_alone(self):
        self.assertEqual(self.tried(sandbox.by_limits), ["done", "done", "done", "True", True, True])

    def test_the_strongest_that_works_is_taken(self):
        for working in ([sandbox.by_bubblewrap, sandbox.by_namespaces], [sandbox.by_namespaces], []):
            sandbox.protection.cache_clear()
            with unittest.mock.patch("lab.sandbox.works", lambda one, working=working: one in working):
                self.assertIs(sandbox.protection(), [*working, sandbox.by_limits][0])
        sandbox.protection.cache_clear()

    def test_what_does_not_confine_is_not_taken_for_it(self):
        self.assertFalse(sandbox.works(sandbox.by_limits))
        with unittest.mock.patch("lab.sandbox.by_limits", lambda *_: ["no-such-program"]):
            self.assertFalse(sandbox.works(sandbox.by_limits))

    @unittest.skipUnless(shutil.which("mpirun"), "no MPI here")
    def test_ranks_find_each_other(self):
        for protection in (sandbox.by_bubblewrap, sandbox.by_namespaces):
            with self.subTest(protection.__name__):
                if not sandbox.works(protection):
                    self.skipTest(f"{protection.__name__.removeprefix('by_')} does not work on this machine")
                with unittest.mock.patch("lab.sandbox.protection", lambda protection=protection: protection):
                    run = sandbox.run([*cases.with_ranks(3), "printenv", "OMPI_COMM_WORLD_SIZE"], seconds=60)
                self.assertEqual((run.code, run.stdout), (0, "3\n3\n3\n"), run.stderr)


@unittest.skipUnless(shutil.which("mpirun"), "no MPI here")
class Ranks(unittest.TestCase):
    def test_the_machine_s_settings_of_mpi_hold(self):
        kit.expect_ranks()
        with (
            unittest.mock.patch.dict(os.environ, OMPI_MCA_plm="rsh", OMPI_MCA_plm_rsh_agent="no_such_agent"),
            self.assertRaisesRegex(Failure, r"\Ampirun cannot start two programs here: [^\n]+\Z"),
        ):
            kit.expect_ranks()


class Symbols(unittest.TestCase):
    def complaint(self, code):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.cpp").write_text(code)
            subprocess.run(["g++", "-std=c++20", "-c", "a.cpp"], cwd=folder, check=True)
            return symbols.complaint(symbols.symbols_of(folder, ["a.o"]))

    def test_tricks_are_called_by_name(self):
        in_kernel = "namespace psflip::cpu {{ auto f() {{ {} }} }}"
        for include, code, part in [
            ("<cstdlib>", "std::exit(0);", "ends the program: exit"),
            ("<unistd.h>", "_exit(0);", "ends the program: _exit"),
            ("<cstdlib>", 'return std::system("ls");', "starts other programs or threads: system"),
            ("<cstdio>", 'return std::fopen("/x", "w");', "touches files: fopen"),
            ("<fstream>", 'std::ofstream("/x") << 1;', "touches files"),
            ("<cstdlib>", 'return std::getenv("PSFLIP_SCHEDULE");', "how it is being checked: getenv"),
        ]:
            with self.subTest(code):
                self.assertIn(part, self.complaint(f"#include {include}\n{in_kernel.format(code)}"))
        call = "namespace psflip::reference { int make_simulation(int); }\n" + in_kernel.format(
            "return reference::make_simulation(1);"
        )
        self.assertIn("calls the reference", self.complaint(call))
        self.assertIn("defines main", self.complaint("int main() {}"))
        hash_of_its_own = "namespace psflip { int state_hash(int) { return 1; } }"
        self.assertIn("defines psflip::state_hash", self.complaint(hash_of_its_own))

    def test_a_kernel_is_no_trick(self):
        self.assertEqual(
            self.complaint(
                """#include <cstdio>
#include <stdexcept>
#include <vector>
namespace { int a; }
namespace psflip::cpu {
int remove_all() {
  printf("%d", a);
  std::vector<int> v(3);
  if (a) throw std::runtime_error("x");
  return v[a];
}
}
"""
            ),
            "",
        )


class SymbolsBelow(unittest.TestCase):
    """Names below those that are usual, and weak ones, which come before a library's own."""

    complaint = Symbols.complaint

    def test_names_below(self):
        for declaration, call, part in [
            ('extern "C" int __open(const char*, int);', '__open("/x", 1)', "touches files: __open"),
            ('extern "C" long syscall(long, ...);', "int(syscall(39))", "calls the system itself: syscall"),
            ("#include <wordexp.h>", 'wordexp("$(ls)", nullptr, 0)', "starts other programs or threads: wordexp"),
        ]:
            with self.subTest(part):
                self.assertIn(
                    part, self.complaint(f"{declaration}\nnamespace psflip::cpu {{ int f() {{ return {call}; }} }}")
                )

    def test_names_that_nm_cannot_read_are_no_names_of_c(self):
        for name in ("_ZNSt14_Function_base13_Base_managerIZZNK6psflip3cpu1fIiEE", "_ZN6psflip3cpu1gEv"):
            self.assertEqual(symbols.complaint([("W", name)]), "")
        self.assertIn("defines strlen for all others", symbols.complaint([("W", "strlen")]))

    def test_weak_definitions(self):
        for code in (
            'extern "C" __attribute__((weak)) int rand() { return 4; }',
            'extern "C" __attribute__((weak)) const char* __tsan_default_options() { return "report_bugs=0"; }',
            "#include <new>\n__attribute__((weak)) void operator delete(void*) noexcept {}",
            "namespace psflip { __attribute__((weak)) int state_hash(int) { return 1; } }",
        ):
            with self.subTest(code):
                self.assertIn("for all others", self.complaint(code))


class Words(unittest.TestCase):
    """What a submitted text may not say."""

    OWN = "#include <cstdint>\nauto a = make_update(1);\n"
    ENGINES = frozenset({"make_update", "make_wide"})

    def said(self, text):
        return symbols.complaint_of_text(text, self.OWN, self.ENGINES)

    def test_refused(self):
        for text, part in {
            "return make_wide(problem, launch);": "lets another engine do the work: make_wide",
            "__attribute__((no_sanitize_thread)) void f();": "no_sanitize_thread",
            '__attribute__((no_sanitize("thread"))) void f();': "no_sanitize",
            "#if defined(__SANITIZE_THREAD__)": "__SANITIZE_THREAD__",
            "#ifdef __SANITIZE_ADDRESS__": "__SANITIZE_ADDRESS__",
            "#ifdef __SANI\\\nTIZE_ADDRESS__": "__SANITIZE_ADDRESS__",
            "#ifndef NDEBUG": "NDEBUG",
            "#define A(a, b) a##b": "joins names",
        }.items():
            with self.subTest(text):
                self.assertIn(part, self.said(text))

    def test_allowed(self):
        for text in (
            self.OWN,
            "// make_wide is faster\n/* __SANITIZE_THREAD__ */ int a;",
            'const char* a = "no_sanitize";',
            "auto b = std::make_unique<int>(make_update(2));",
        ):
            self.assertEqual(self.said(text), "", text)

    def test_every_solution_and_starter_is_allowed(self):
        texts = [path.read_text() for path in ROOT.glob("0*/**/*.cu")]
        engines = symbols.engines_in([*texts, *(path.read_text() for path in ROOT.glob("0*/**/*.hpp"))])
        self.assertLessEqual({"make_simulation", "make_wide", "make_overlapped"}, engines)
        for task in [Task(stage) for stage in STAGES] + EXERCISES:
            allowed = assigned_sources([task], ROOT)
            for file in files_of(task, ROOT):
                text = (ROOT / file).read_text()
                self.assertEqual(symbols.complaint_of_text(text, text, engines), "", file)
                self.assertEqual(symbols.complaint_of_includes(file, text, ROOT, allowed), "", (task, file))

    def test_includes(self):
        allowed = assigned_sources([Task("07_amsc")], ROOT)
        for operand, part in {
            '"07_amsc/kernels/wide.cuh"': "07_amsc/kernels/wide.cuh, which is not part of the task",
            "<07_amsc/kernels/../metropolis.hpp>": "07_amsc/metropolis.hpp, which is not part of the task",
            '"kernels/wide.cuh"': "07_amsc/kernels/wide.cuh, which is not",
            '"../../../plain/rewritten/07_amsc/update.cu.cpp"': "which lies elsewhere",
            '"/etc/passwd"': "/etc/passwd, which lies elsewhere",
            "SOLUTION": "SOLUTION; after #include comes",
            '"07_amsc/multispin.hpp"': "",
            "<vector>": "",
        }.items():
            for how in ("#include ", " # /* a */ include ", "%:include ", "#inc\\\nlude "):
                said = symbols.complaint_of_includes("07_amsc/update.cu", f"int a;\n{how}{operand}\n", ROOT, allowed)
                self.assertIn(part, said)
                self.assertEqual(bool(part), bool(said), (how, operand))


KERNEL = b"""__global__ void update(int* a)
tile[i] = now[j];

next[i] = tile[i + 1];
"""
FILES = {"03_shared_memory/update.cu": KERNEL}


def ended(stderr="", code=1, stdout="", timed_out=False):
    run = sandbox.Run(code, timed_out, 5.0, stdout, stderr, {})
    return diagnose.ended(run, diagnose.Source(FILES), "the test")


class CudaRules(unittest.TestCase):
    """What nvcc 13 says of each of these was read off; without it, it is told from the text."""

    def refused(self, text, part):
        found = [reason for reason, _ in cuda_rules.complaints(text)]
        self.assertTrue(any(part in reason for reason in found), (text, found))

    def test_refused(self):
        for text, part in (
            (
                "template <class Spin> __global__ void k(Spin* p) { extern __shared__ Spin tile[]; tile[0] = p[0]; }",
                '"declaration is incompatible with previous tile"',
            ),
            (
                (
                    "template <int n, typename T>\n__global__ void __launch_bounds__(256)\n k(const T* p) {\n"
                    "  extern __shared__ __align__(16) const T* tile[];\n}"
                ),
                "`extern __shared__ __align__(16) const T* tile[]` in a template",
            ),
            (
                "int helper(int a) { return a; }\n__global__ void k(int* p) { p[0] = helper(p[1]); }",
                'calling a __host__ function("helper") from a __global__ function("k") is not allowed',
            ),
            (
                (
                    "namespace a { namespace { template <class T> T wrap(T v) { if (v) { v = 2; } return v; } }\n"
                    "__device__ int f(int v) { return wrap<int>(v); } }"
                ),
                'calling a __host__ function("wrap") from a __device__ function("f")',
            ),
            ("__global__ void k(int* p) { p[0] = rand(); }", "rand is of the host's library"),
            ("__device__ void k(int* p) { std::vector<int> v; }", "std::vector is of the host's library"),
            (
                "__global__ void k() { __shared__ int tile[128][128]; }",
                "too much shared data, 65536 bytes, 49152 at most",
            ),
            (
                (
                    "constexpr int side = 32, other = 2;\nconstexpr int halo = side + 2;\n"
                    "template <class T> __global__ void k() { __shared__ double a[halo * halo], b; __shared__ T c[41000]; }"
                ),
                "too much shared data, 50248 bytes",
            ),
        ):
            self.refused(text, part)

    def test_sizes(self):
        text = "__global__ void k() { __shared__ unsigned char a[49000], b; __shared__ unsigned c[100]; }"
        self.refused(text, "too much shared data, 49400 bytes")

    def test_allowed(self):
        for text in (
            "template <class Spin> __global__ void k(Spin* p) { extern __shared__ unsigned char raw[]; }",
            "__global__ void k(Other* p) { extern __shared__ Other tile[]; }",
            "__host__ __device__ int helper(int a) { return a; } __global__ void k(int* p) { p[0] = helper(p[1]); }",
            "constexpr int helper(int a) { return a; } __global__ void k(int* p) { p[0] = helper(p[1]); }",
            "int helper(int a) { return a; } void launch(int* p) { k<<<1, 1>>>(p, helper(2)); p = rand(); }",
            "int update(int a) { return a; } __global__ void k(int* p) { auto update = [&](int a) {}; update(2); }",
            "int at(int a) { return a; } __global__ void k(Lattice p) { p.at(2); }",
            "__global__ void k() { __shared__ int tile[64][64]; __shared__ int other[unknown]; }",
            "__global__ void k() { extern __shared__ int tile[]; /* __shared__ int a[100000]; rand() */ }",
            "struct A { int v[100000]; }; void f() { int v[100000]; }",
        ):
            self.assertEqual(list(cuda_rules.complaints(text)), [], text)

    def test_every_solution_and_starter_is_allowed(self):
        for task in [Task(stage) for stage in STAGES] + EXERCISES:
            for file in files_of(task, ROOT):
                text = (ROOT / file).read_text()
                for one in (text, starter(text, file)):
                    self.assertEqual(list(cuda_rules.complaints(one)), [], file)


class Nvcc(unittest.TestCase):
    """The part that asks it, with a compiler that is a script."""

    def judged(self, said, own_compiles=True, cuda=True, found="/usr/bin/nvcc"):
        runs = [
            sandbox.Run(1 if said else 0, False, 1, "", said, {}),
            sandbox.Run(0 if own_compiles else 1, False, 1, "", "", {}),
        ]
        stand_in = unittest.mock.MagicMock(cuda=cuda, tree=Path("/t/tree"), folder=Path("/t"))
        stand_in.compile.side_effect = runs
        judge = Judge(Task("03_shared_memory"), {"03_shared_memory/update.cu": b"one\ntwo\n"}, stand_in, 20, ())
        with unittest.mock.patch("shutil.which", lambda name: found):
            return judge.judge("nvcc")

    def test_verdicts(self):
        self.assertTrue(self.judged("").passed)
        part = self.judged("/t/tree/03_shared_memory/update.cu(2): error: not in device code\n")
        self.assertEqual((part.passed, part.reason), (False, "nvcc refuses it: line 2 (two): not in device code"))
        self.assertIn("nvcc -std=c++20", part.command)
        part = self.judged("ptxas error   : Entry function 'k' uses too much shared data (0x13880 bytes, 0xc000 max)\n")
        self.assertEqual(part.passed, False)
        self.assertIn("nvcc refuses it: Entry function 'k' uses too much shared data", part.reason)

    def test_where_it_says_nothing(self):
        for part in (self.judged("x", own_compiles=False), self.judged("x", cuda=False), self.judged("x", found=None)):
            self.assertIs(part.passed, None)


class Diagnoses(unittest.TestCase):
    """What the tools print, shortened; common/tools/mutants has the real thing."""

    def race(self, location):
        return ended(
            f"""==================
WARNING: ThreadSanitizer: data race (pid=1)
  Read of size 4 at 0x7f by thread T3:
    #0 int sum<int>(int const*) /k/tree/03_shared_memory/update.cu:1 (majority+0x1)
    #1 update<int, 3> /k/tree/03_shared_memory/update.cu:4 (majority+0x1)
    #2 operator() /k/tree/common/gpu/on_cpu/launch.hpp:9 (majority+0x2)

  Previous write of size 4 at 0x7f by thread T2:
    #0 update<int, 3> /k/tree/03_shared_memory/update.cu:2 (majority+0x3)

{location}
SUMMARY: ThreadSanitizer: data race
""",
            66,
        )

    def test_a_race_names_both_lines_and_the_barrier(self):
        finding = self.race(
            "  Location is heap block of size 9 at 0x7 allocated by main thread:\n    #0 a\n    #1 launch_kernel<f>\n"
        )
        self.assertEqual(
            finding.reason,
            "a race: line 2 (tile[i] = now[j];) writes what another thread reads at line 1 "
            "(__global__ void update(int* a)), with no barrier between",
        )
        self.assertIn("a __syncthreads() has to stand between line 2 and line 4", finding.next_step)

    def test_a_race_in_device_memory_has_no_barrier(self):
        finding = self.race("the race is in device memory\n")
        self.assertIn("no barrier keeps blocks apart", finding.next_step)

    def test_where_a_barrier_belongs(self):
        self.assertIn("between line 2 and line 4: all must have read", diagnose.barrier_for(4, 2, {}, {}))
        self.assertIn("in every turn", diagnose.barrier_for(2, 2, {}, {}))

    def test_an_index_that_is_too_large(self):
        finding = ended("""/k/tree/03_shared_memory/update.cu:2:11: runtime error: index 128 out of bounds
    #0 0x1 in f /k/x\n""")
        self.assertEqual(finding.reason, "line 2 (tile[i] = now[j];): index 128 out of bounds")
        finding = ended("""==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60
WRITE of size 4 at 0x60 thread T1
    #0 0x5 in update /k/memory/rewritten/03_shared_memory/update.cu.cpp:4
""")
        self.assertEqual(
            finding.reason, "line 4 (next[i] = tile[i + 1];) writes 4 bytes beyond the end of an array in device memory"
        )

    def test_a_deadlock_names_the_barrier(self):
        finding = ended(
            """deadlock in block (0,0,0): 64 of its 64 threads wait for threads that will not come
/k/plain/rewritten/03_shared_memory/update.cu.cpp:4: 64 threads wait at this barrier
""",
            -6,
        )
        self.assertIn("wait at line 4 (next[i] = tile[i + 1];)", finding.reason)

    def test_an_asynchronous_copy_is_told_by_its_beginning_or_by_who_reads_too_early(self):
        finding = ended(
            "/k/plain/rewritten/03_shared_memory/update.cu.cpp:2: block (1,0,0) thread (3,0,0) begins an asynchronous "
            "copy here, and never waits for it\n",
            -6,
        )
        self.assertEqual(
            finding.reason,
            "thread (3,0,0) of block (1,0,0) begins an asynchronous copy here, and never waits for it "
            "(line 2 (tile[i] = now[j];))",
        )
        self.assertIn("waits for all groups but n", finding.next_step)
        said = """==1==ERROR: AddressSanitizer: use-after-poison on address 0x60
READ of size 4 at 0x60 thread T1
    #0 0x5 in update /k/memory/rewritten/03_shared_memory/update.cu.cpp:4
"""
        self.assertNotIn("asynchronous", ended(said).reason)
        copies = {"03_shared_memory/update.cu": KERNEL + b"__pipeline_memcpy_async(a, b, 4);\n"}
        with unittest.mock.patch.dict(FILES, copies):
            self.assertIn("or what an asynchronous copy has yet to bring", ended(said).reason)

    def test_other_ends(self):
        self.assertIn("did not end within 5 s", ended(timed_out=True, code=-9).reason)
        self.assertIn("signal SIGSEGV", ended(code=-11).reason)
        self.assertIn(
            "just behind an array",
            ended(
                "crash: block (0,6,0) thread (0,4,0) touched 0x7f, just behind an array in device memory\n", -11
            ).reason,
        )
        self.assertIn(
            "host code touches device memory",
            ended("crash: host code touched 0x7f, inside device memory, which this code may not touch\n", -11).reason,
        )
        self.assertIsNone(ended(code=1))
        self.assertIsNone(ended(code=0))

    def test_a_compiler_error_is_shown_with_its_line(self):
        finding = diagnose.compiler(
            "/k/plain/rewritten/03_shared_memory/update.cu.cpp:4:3: error: 'tile' was not declared\n"
            "/k/plain/rewritten/03_shared_memory/update.cu.cpp:5:3: error: no\n",
            diagnose.Source(FILES),
        )
        self.assertIn("line 4 (next[i] = tile[i + 1];): 'tile' was not declared, and 1 more error", finding.reason)

    def test_wrong_bits_say_where(self):
        failure = """test.cpp:1
Value of: same(a, b)
  Actual: false (12 of 169 spins are wrong, the first at x = 12, y = 0: 1 instead of -1)
Expected: true
Google Test trace:
/k/tree/common/majority/test.cpp:9: n = 13, storage int32, thread width 8
"""
        finding = diagnose.wrong_bits([failure])
        self.assertIn("12 of 169 spins are wrong, the first at x = 12, y = 0", finding.reason)
        self.assertIn("n = 13, storage int32", finding.reason)
        self.assertIn("edge", finding.next_step)


RACE = """WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 4 at 0x7f by thread T3:
    #0 update<int, 3> /k/tree/03_shared_memory/update.cu:{} (majority+0x1)

  Previous {} of size 4 at 0x7f by thread T2:
    #0 update<int, 3> /k/tree/03_shared_memory/update.cu:{} (majority+0x3)

SUMMARY: ThreadSanitizer: data race
the race is in {} memory
"""


class StudentsTerms(unittest.TestCase):
    """What is said of mistakes that were once explained wrongly."""

    def kernel(self, *lines):
        text = "\n".join(["__global__ void update(int* a) {", *lines, "}"])
        return diagnose.Source({"03_shared_memory/update.cu": text.encode()})

    def said(self, stderr, code=66, source=None):
        run = sandbox.Run(code, False, 5.0, "", stderr, {})
        return diagnose.ended(run, source or diagnose.Source(FILES), "the test")

    def test_a_barrier_in_a_loop_that_not_all_go_through(self):
        source = self.kernel(
            "for (int i = t; i < n; i += 64) {", "tile[i] = a[i];", "__syncthreads();", "}", "b[t] = tile[t + 1];"
        )
        finding = self.said(RACE.format(3, "read", 6, "shared"), source=source)
        self.assertIn("the barrier in line 4 is in the loop of line 2", finding.next_step)
        self.assertIn("Put a barrier behind the loop", finding.next_step)

    def test_a_barrier_under_a_condition(self):
        for lines in (
            ("if (blockDim.x > 32)", "__syncthreads();"),
            ("if (blockDim.x > 32) {", "__syncthreads(); }"),
            ("if constexpr (b > 1) { a[0] = 1; } else", "__syncthreads();"),
        ):
            source = self.kernel("tile[t] = a[t];", *lines, "b[t] = tile[t + 1];")
            finding = self.said(RACE.format(2, "read", 5, "shared"), source=source)
            self.assertIn("the barrier in line 4 stands under the condition in line 3", finding.next_step)

    def test_a_barrier_once_in_a_loop(self):
        source = self.kernel(
            "for (;;) {", "tile[t] = a[t];", "/* if ( */", "__syncthreads();", "b[t] = tile[t + 1];", "}"
        )
        finding = self.said(RACE.format(3, "read", 6, "shared"), source=source)
        self.assertIn("keeps them apart once; the loop in line 2 needs another at its end", finding.next_step)

    def test_a_barrier_for_a_warp(self):
        source = self.kernel("tile[t] = a[t];", "__syncwarp();", "b[t] = tile[t + 1];")
        finding = self.said(RACE.format(2, "read", 4, "shared"), source=source)
        self.assertIn("line 3 waits for a warp", finding.next_step)

    def test_a_barrier_that_some_never_reach(self):
        source = self.kernel("tile[t] = a[t];", "__syncthreads();", "b[t] = tile[t + 1];")
        finding = self.said(RACE.format(2, "read", 4, "shared"), source=source)
        self.assertIn("not all threads come to the barrier in line 3", finding.next_step)

    def test_the_address_tells_which_memory(self):
        source = self.kernel("tile[t] = a[t];", "b[t] = tile[t + 1];")
        self.assertIn("__syncthreads()", self.said(RACE.format(2, "read", 3, "shared"), source=source).next_step)
        self.assertIn("to another array", self.said(RACE.format(2, "read", 3, "device"), source=source).next_step)

    def test_written_twice(self):
        found = diagnose.races(
            RACE.format(2, "write", 2, "shared") + RACE.format(2, "read", 4, "shared"), self.kernel()
        )
        self.assertEqual([type(race) for race in found], [diagnose.WrittenTwice, diagnose.Finding])

    def test_ends_by_a_signal(self):
        frame = "    #0 0x5 in update /k/memory/rewritten/03_shared_memory/update.cu.cpp:2\n"
        asan = "==1==ERROR: AddressSanitizer: {} on unknown address {} (pc 0x1)\n==1==The signal is caused by a {} memory access.\n"
        line = r"line 2 \(tile\[i\] = now\[j\];\) "
        for stderr, reason in (
            (asan.format("SEGV", "0x7fff12345678", "WRITE") + frame, line + "writes far outside every array"),
            (asan.format("SEGV", "0x000000000008", "READ") + frame, line + "reads through a null pointer"),
            (asan.format("FPE", "0x000012345678", "READ") + frame, line + "divides an integer by zero"),
            (
                asan.format("SEGV", "0x7fff12345678", "READ").replace("Address", "Thread") + frame,
                line + "reads far outside every array",
            ),
            ("free(): invalid next size (normal)\n", "wrote beyond an array, into what the heap needs itself"),
            ("corrupted size vs. prev_size\n", "wrote beyond an array, into what the heap needs itself"),
        ):
            with self.subTest(stderr):
                finding = self.said(stderr)
                self.assertRegex(finding.reason, reason)
                self.assertNotIn("SEGV", finding.reason)

    def test_too_much_output(self):
        run = sandbox.run(
            [
                sys.executable,
                "-c",
                "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nwhile 1: print('x' * 10**6)",
            ],
            seconds=20,
        )
        self.assertIn("printed more than 64 MB", diagnose.ended(run, diagnose.Source(FILES), "the test").reason)

    def test_a_map_of_the_wrong_spins(self):
        failure = """test.cpp:1
Value of: same(a, b)
  Actual: false ({} of 9 spins are wrong, the first at x = 2, y = 0: 1 instead of -1
where, n = {}, a spin a character:
  | {} |
  | ... |
)
Expected: true
Google Test trace:
/k/tree/common/majority/test.cpp:9: n = {}, storage int8
"""
        found = diagnose.wrong_bits([failure.format(1, 2, "#.", 2), failure.format(3, 3, "..#", 3)])
        self.assertTrue(
            found.reason.startswith("1 of 9 spins are wrong, the first at x = 2, y = 0: 1 instead of -1 (n = 2")
        )
        self.assertEqual(found.picture, "where (n = 3, storage int8), a spin a character:\n  | ..# |\n  | ... |")

    SITE = """test.cpp:1
Value of: same(a, b)
  Actual: false (9 of 99 spins are wrong, the first in sample 0, replica 0, at the red site x = 0, y = 0, z = 0: 1 instead of -1)
Expected: true
after {0} half-sweeps
half-sweep {0} (red) is the first that is wrong
the first: sample 0, replica 0, x = 0, y = 0, z = 0, spin 1
  +x: neighbour 1, bond -1
wrong of all, by satisfied bonds:  0: 0 of 3  1: 0 of 9  2: 0 of 0  3: 0 of 4  4: 2 of 8  5: 7 of 9  6: 0 of 0
"""

    def test_the_first_wrong_site(self):
        found = diagnose.wrong_bits([self.SITE.format(1)])
        self.assertIn("wrong only with 4 or 5 of six bonds satisfied", found.next_step)
        self.assertIn("  +x: neighbour 1, bond -1\nwrong of all", found.picture)

    def test_streams_show_themselves_in_the_second_sweep(self):
        self.assertIn("with one draw a site", diagnose.wrong_bits([self.SITE.format(3)]).next_step)
        blue = self.SITE.format(3).replace("red site", "blue site")
        self.assertIn("with one draw a site", diagnose.wrong_bits([blue]).next_step)

    def test_the_other_colour(self):
        found = diagnose.wrong_bits([self.SITE.format(1) + "7 spins of the other colour have changed\n"])
        self.assertIn("these are of the other", found.next_step)


class Points(unittest.TestCase):
    def result(self, **failed):
        parts = [Part(name, failed.get(name, True), "so it is") for name in PARTS]
        result = Result(Task("03_shared_memory", None, 20), parts)
        share_out(result, WEIGHTS)
        return result

    def test_all(self):
        self.assertAlmostEqual(self.result().score, 20)
        self.assertTrue(self.result().passed)

    def test_what_cannot_be_judged_does_not_count(self):
        result = self.result(gpu=None, sanitizer=None, speed=None)
        self.assertAlmostEqual(result.score, 20)
        self.assertTrue(result.passed)
        self.assertEqual(result.part("speed").points, 0)

    def test_one_failure(self):
        for part in PARTS:
            result = self.result(**{part: False})
            self.assertFalse(result.passed)
            if WEIGHTS[part]:
                self.assertLess(result.score, 20)

    def test_doing_nothing_is_free_of_races_and_worth_nothing(self):
        self.assertEqual(self.result(forward=False, reversed=False, shuffled=False, fresh=False).score, 0)
        self.assertEqual(self.result(**dict.fromkeys(PARTS, False)).score, 0)

    def test_missing_files_are_worth_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "course.toml").write_text('[[task]]\nstage = "03"\n')
            command = [sys.executable, TOOLS / "grade", folder, "--build-dir", Path(folder, "b"), "--json", "-"]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["score"], 0)
            self.assertEqual(report["tests"][0]["output"].split("\n")[0], "03_shared_memory/update.cu is missing")

    def test_reports(self):
        result = self.result(races=False, speed=None)
        result.part("races").next_step = "a barrier"
        result.part("races").command = "PSFLIP_SCHEDULE=forward " + 50 * "x/y "
        result.part("races").seconds = 12.4
        self.assertRegex(results.verdict(result), r"^03_shared_memory: not passed, [\d.]+ of 20 points\n")
        text = results.part_text(result.part("races"))
        self.assertRegex(text, r"\A  races     FAILS  12 s  so it is\n +-> a barrier\n    \$ PSFLIP_SCHEDULE=forward ")
        self.assertEqual(text.count("\n"), 2)  # what is to be pasted is one line
        report = json.loads(json.dumps(results.gradescope([result], 1.4)))
        self.assertAlmostEqual(report["score"], sum(test["score"] for test in report["tests"]), 1)
        self.assertAlmostEqual(sum(test["max_score"] for test in report["tests"]), 20, 1)
        self.assertEqual({test["status"] for test in report["tests"]}, {"passed", "failed"})


# A program that does as if it were a stage's test, or its program, compiled with a submission.
PRETENDER = """#!{python}
import json, os, sys, time
out = [option.split(":", 1)[1] for option in sys.argv if option.startswith("--gtest_output=json:")]
names = {names!r}
def report(names, **changes):
    tests = [dict(zip(["classname", "name"], name.rsplit(".", 1)), result="COMPLETED") | changes for name in names]
    open(out[0], "w").write(json.dumps(dict(testsuites=[dict(testsuite=tests)])))
{behaviour}
"""


class StandInKit:
    """Has programs that are scripts."""

    def __init__(self, folder, behaviour):
        self.folder, self.tree = folder, folder / "tree"
        test = self.tree / "common/majority/test.cpp"
        test.parent.mkdir(parents=True)
        test.write_text((ROOT / "common/majority/test.cpp").read_text())
        names = expected_tests(self.tree, "majority", "cpu")
        self.script = folder / "program"
        self.script.write_text(PRETENDER.format(python=sys.executable, names=names, behaviour=behaviour))
        self.script.chmod(0o755)

    def model(self, stage):
        return "majority"

    def program(self, *which):
        return self.script


class TimedKit:
    """Has a program for a GPU that is the solution, with 200 us a step, or what stands in a submission's file: how long
    a step takes, and how it cheats."""

    has_solutions = cuda = True

    def __init__(self, folder):
        self.folder, self.tree = folder, folder / "tree"
        self.text, self.copied = folder / "program", set()

    def model(self, stage):
        return "majority"

    def prepare(self, build, stage, files, targets=()):
        pass

    def configure(self, build):
        pass

    def put(self, files):
        self.text.write_bytes(next(iter(files.values()), b"2e-4"))

    def build(self, build, stage, seconds, targets=()):
        return sandbox.run(["true"], seconds=seconds)

    def program(self, *which):
        return self.text


def timed_run(judge, command):
    """Instead of running such a program: it starts in 2 s, every third time in 3. The state is that of the steps that it
    has done on the lattice that it was given, which changes no more after 50, as the real one does."""
    judge.starts = getattr(judge, "starts", 0) + 1
    values = dict(zip(command[1::2], command[2::2]))
    done = steps = int(values["--steps"])
    seconds_a_step, _, cheat = Path(command[0]).read_text().partition(" ")
    size, seed = int(values["--size"]), int(values["--seed"])
    if cheat == "skips large ones" and size > 5000:
        done = 0
    if cheat == "does fewer steps":
        done = steps // 2
    if cheat == "has the last step short":
        done = steps - 0.1
    if cheat == "stops when nothing changes":
        done = min(steps, 50)
    if (cheat, seed) == ("knows the seed", 7) or (cheat, size) == ("knows the size", 8192):
        steps = 0
    if cheat == "has cached an answer":
        size, seed, steps = 8192, 7, 0
    seconds = 2 + (judge.starts % 3 == 0) + min(done, steps) * float(seconds_a_step)
    if cheat == "is timed wrongly at first" and steps > 10:
        judge.wrong = getattr(judge, "wrong", 0) + 1
        seconds = 2 if judge.wrong <= 2 else seconds
    report = {"hash": f"{size} {seed} {min(done, 50)}", "device": {"name": judge.runs_on}}
    return sandbox.Run(0, False, seconds, json.dumps(report), "", {})


class Timing(unittest.TestCase):
    def speed(self, submission, device="NVIDIA H200"):
        with (
            tempfile.TemporaryDirectory() as folder,
            unittest.mock.patch.multiple(Judge, expect_gpu=unittest.mock.DEFAULT, run=timed_run),
        ):
            files = {"03_shared_memory/update.cu": submission}
            judge = Judge(Task("03_shared_memory"), files, TimedKit(Path(folder)), 20, ())
            judge.runs_on = device
            return judge.judge("speed")

    def test_without_cuda_no_gpu_is_used(self):
        """Nor looked for: what would be found is there."""
        parts = {}
        for cuda in (True, False):
            stand_in = unittest.mock.Mock(cuda=cuda, tree=ROOT / "none")
            judge = Judge(Task("03_shared_memory"), {}, stand_in, 20, ())
            found = {"gpu_is_visible": lambda: True, "shutil": unittest.mock.Mock(**{"which.return_value": "/nvcc"})}
            with (
                unittest.mock.patch.multiple("lab.grade", **found),
                unittest.mock.patch.object(judge, "make", side_effect=diagnose.Finding("nvcc was called")),
            ):
                stand_in.has_solutions = False
                parts[cuda] = [judge.judge(name) for name in ("gpu", "sanitizer", "speed")]
        self.assertEqual({part.reason for part in parts[True]}, {"nvcc was called"})
        self.assertEqual({part.passed for part in parts[False]}, {None})
        self.assertIn("--no-cuda", parts[False][0].reason)

    def test_as_fast_as_the_solution(self):
        part = self.speed(b"2e-4")
        self.assertTrue(part.passed, part.reason)
        found = re.search(r"(\S+) ps a spin and step, 1\.00 times as fast as the reference \((\S+) ps\)", part.reason)
        self.assertTrue(found, part.reason)
        for ps in found.groups():  # 200 us a step, of 7900^2 to 8500^2 spins
            self.assertTrue(2.7 < float(ps) < 3.3, part.reason)
        self.assertAlmostEqual(part.share, 1)

    def test_much_slower(self):
        part = self.speed(b"1e-3")
        self.assertIs(part.passed, False)
        self.assertIn("0.20 times as fast as the reference", part.reason)

    def test_somewhat_slower_costs_points(self):
        part = self.speed(b"3.2e-4")
        self.assertTrue(part.passed, part.reason)
        self.assertAlmostEqual(part.share, 1 / 1.6 / 0.8)

    def test_what_is_not_computed_is_not_fast(self):
        for cheat in ("skips large ones", "does fewer steps", "has the last step short", "has cached an answer"):
            with self.subTest(cheat):
                part = self.speed(f"2e-5 {cheat}".encode())
                self.assertIs(part.passed, False)
                self.assertRegex(
                    part.reason, r"the timed program \(--size \d+ .*\) ends in the state .*, the reference in "
                )

    def test_what_the_states_cannot_show(self):
        """In 2D, where nothing changes any more; least times do, on the devices that are known."""
        part = self.speed(b"2e-4 stops when nothing changes")
        self.assertIs(part.passed, False)
        self.assertRegex(
            part.reason, r"takes \d\S* ps a spin and step; to move the [28] bytes .*, the H200 takes \d\S* ps"
        )
        self.assertTrue(self.speed(b"2e-4 stops when nothing changes", "Another GPU").passed)
        self.assertTrue(self.speed(b"2e-4", "Another GPU").passed)

    def test_a_machine_with_other_work_may_time_anything_once(self):
        part = self.speed(b"2e-4 is timed wrongly at first")
        self.assertTrue(part.passed, part.reason)

    def test_the_least_time_is_no_limit_for_who_is_right(self):
        """No measured kernel is faster than what its problem's bytes take."""
        device, rng = predict.DEVICES["h200"], random.Random(1)
        best = {}
        for file, key, last in (("comparison", "ps_per_site", "03"), ("spin_glass", "ps_per_flip", "08")):
            for row in json.loads((ROOT / f"common/results/h200/{file}.json").read_text())["rows"]:
                if row["stage"][:2] <= last:
                    best[row["stage"][:2]] = min(row[key], best.get(row["stage"][:2], 1e9))
        best["08"] = best["07"]  # its kernels
        for stage in STAGES:
            task, model = Task(stage), "majority" if stage < "04" else "spin_glass"
            for problem in cases.timed(task, model, rng):
                moved = cases.least_bytes(task, model, problem)
                least = predict.least_seconds(moved, device) / cases.spins(problem) * 1e12
                self.assertGreater(least, 0)
                self.assertLess(least, best[stage[:2]], (stage, problem))
        steps_in_one_pass = Task("03_shared_memory", 5)
        self.assertEqual(cases.least_bytes(steps_in_one_pass, "majority", problem), 0)

    def test_problems_are_drawn_anew(self):
        for known in ("knows the seed", "knows the size"):
            part = self.speed(f"2e-4 {known}".encode())
            self.assertTrue(part.passed, part.reason)
            self.assertAlmostEqual(part.share, 1, places=2)  # and gains nothing
        rng = random.Random(1)
        for stage, model in (("01_naive_gpu", "majority"), ("05_sliced", "spin_glass"), ("07_amsc", "spin_glass")):
            drawn = [cases.timed(Task(stage), model, rng) for _ in range(20)]
            for problems in drawn:
                self.assertEqual(len({problem.problem[1] for problem in problems}), 3)  # sizes
            self.assertEqual(len({str(problem) for problems in drawn for problem in problems}), 60)


class Judging(unittest.TestCase):
    def judge(self, behaviour, seconds=20):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        stand_in = StandInKit(Path(folder.name), behaviour.replace("TREE", f"{folder.name}/tree"))
        return Judge(Task("03_shared_memory"), FILES, stand_in, seconds, ())

    def said(self, behaviour, **options):
        part = self.judge(behaviour, **options).judge("forward")
        return part.passed, part.reason

    def test_a_complete_report_passes(self):
        passed, reason = self.said("report(names)")
        self.assertTrue(passed, reason)
        self.assertRegex(reason, r"^\d+ tests agree with the reference bit for bit$")

    def test_nothing_else_does(self):
        for behaviour, part in {
            "pass": "ended before it was done (exit code 0), and reported nothing",
            "print('[  PASSED  ] 10 tests.'); sys.exit(0)": "reported nothing",
            "report(names[1:])": "1 of",
            "report([])": "tests are missing",
            "report(names, result='SKIPPED')": "tests are missing",
            "report(names); sys.exit(3)": "exit code 3",
            "report(names); sys.exit(1)": "ended before it was done",
            "open(out[0], 'w').write('{')": "reported nothing",
            "open(out[0], 'w').write('[]')": "reported nothing",
            "open('report.json', 'w').write('x')": "reported nothing",
            "report(names); os.kill(os.getpid(), 11)": "signal SIGSEGV",
            "report(names, failures=[dict(failure='test.cpp:1\\n5 of 9 spins are wrong, the first at x = 1, y = 2')])": "5 of 9 spins are wrong, the first at x = 1, y = 2",
        }.items():
            with self.subTest(behaviour):
                passed, reason = self.said(behaviour)
                self.assertIs(passed, False)
                self.assertIn(part, reason)

    def test_a_program_without_end(self):
        passed, reason = self.said("report(names)\nwhile True: time.sleep(1)", seconds=1)
        self.assertIs(passed, False)
        self.assertRegex(reason, r"did not end within \d+ s")  # longer on a busy machine

    def test_fresh_problems_are_solved_in_every_schedule(self):
        judge, seen = self.judge("pass"), []
        judge.reference_hash = lambda case: "a"
        judge.hash = lambda build, case, environ: seen.append(environ["PSFLIP_SCHEDULE"].split(":")[0]) or "a"
        self.assertTrue(judge.judge("fresh").passed)
        self.assertEqual(set(seen), {"forward", "reversed", "shuffled"})

    def test_writing_elsewhere_is_never_a_pass(self):
        judge = self.judge("report(names); open('TREE/common/majority/test.cpp', 'a').write('//')")
        with unittest.mock.patch("lab.sandbox.protection", lambda: sandbox.by_limits):
            part = judge.judge("forward")
        self.assertIs(part.passed, False)
        self.assertIn("wrote outside its folder", part.reason)
        self.assertTrue(judge.tampered)

    def races(self, *reports, state="abc"):
        """A program that has these races, and ends in a state."""
        text = "".join(reports)
        behaviour = f"""
print({text!r}, file=sys.stderr)
print(json.dumps(dict(hash={state!r})))
sys.exit(66 if "halt_on_error=1" in os.environ["TSAN_OPTIONS"] else 0)"""
        judge = self.judge(behaviour)
        with unittest.mock.patch.multiple(
            judge,
            make=unittest.mock.DEFAULT,
            refuse_tricks=unittest.mock.DEFAULT,
            reference_hash=unittest.mock.MagicMock(return_value="abc"),
        ):
            return judge.judge("races")

    def test_equal_values_written_twice_are_a_warning(self):
        twice, read = RACE.format(2, "write", 2, "shared"), RACE.format(2, "read", 4, "shared")
        part = self.races(twice)
        self.assertTrue(part.passed, part.reason)
        self.assertIn("a warning: line 2 (tile[i] = now[j];) writes where another thread overwrites", part.reason)
        self.assertEqual(part.share, 1)
        for wrong, reason in (
            (self.races(twice, state="abd"), "a race: line 2"),  # the values differ
            (self.races(twice, read), "with no barrier between"),  # somebody reads, too
        ):
            self.assertIs(wrong.passed, False)
            self.assertIn(reason, wrong.reason)

    def test_every_finding_has_a_command(self):
        for behaviour in ("sys.exit(3)", "report(names[1:])", "os.kill(os.getpid(), 11)"):
            command = self.judge(behaviour).judge("forward").command
            self.assertRegex(command, r"^PSFLIP_SCHEDULE=forward \S+/program '--gtest_filter=")
            self.assertNotIn("report-", command)

    def test_a_command_can_be_pasted(self):
        judge = self.judge("print('here', os.environ['PSFLIP_SCHEDULE'], sys.argv[1:]); sys.exit(3)")
        case = cases.Case(("--size", "3"), ("--block", "2"))
        with self.assertRaises(diagnose.Finding):
            judge.hash("plain", case, {"PSFLIP_SCHEDULE": "shuffled:7"})
        done = subprocess.run(judge.last, shell=True, cwd=judge.kit.folder.parent, capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout, "here shuffled:7 ['--size', '3', '--block', '2', '--device', 'cpu']\n")

    def test_hashes_are_compared_with_those_of_another_process(self):
        case = cases.Case(("--size", "3"))
        self.assertEqual(self.judge("print(json.dumps(dict(hash='abc')))").hash("plain", case, {}), "abc")
        for behaviour, part in {
            "print('hash: abc')": "printed something that is not its report",
            "print('{}')": "printed something that is not its report",
            "print('here'); print(json.dumps(dict(hash='abc')))": "printed something that is not its report",
            "sys.exit(2)": "exit code 2",
        }.items():
            with self.subTest(behaviour), self.assertRaisesRegex(diagnose.Finding, part):
                self.judge(behaviour).hash("plain", case, {})


class Gates(unittest.TestCase):
    """What a kernel does to memory, against what its task allows."""

    FILE = ROOT / "01_naive_gpu/update.cu"

    def launch(self, *places):
        frames = (recording.Frame("update<int>", self.FILE, 33),)
        found = [recording.Place(frames, kind, memory, 4, ZERO | counts) for kind, memory, counts in places]
        return recording.Launch(1, "update<int>", (1, 1, 1), (32, 1, 1), 0, 0, 4, 4, 6, found)

    def test_figures(self):
        launch = self.launch(
            ("load", "global", {"requests": 10, "lanes": 320, "sectors": 48, "least_sectors": 40}),
            ("load", "texture", {"requests": 6, "lanes": 192, "sectors": 16, "least_sectors": 16}),
            ("store", "global", {"requests": 2, "lanes": 64, "sectors": 16, "least_sectors": 8}),
            ("load", "shared", {"requests": 4, "lanes": 128, "wavefronts": 8, "conflicts": 4}),
        )
        expected = {"load_sectors": 4, "store_sectors": 8, "load_requests": 8, "bank_conflicts": 50}
        expected |= {"l2_bytes": 3, "memory_bytes": 4}
        self.assertEqual(gates.figures(launch, spins=64), expected)
        self.assertIn("4 sectors per load request", gates.judge(launch, 64, {"load_sectors": 4}, self.FILE))
        with self.assertRaises(diagnose.Finding) as found:
            gates.judge(launch, 64, {"load_sectors": 4, "store_sectors": 7.9}, self.FILE)
        self.assertEqual(found.exception.reason, "8 sectors per store request; at most 7.9 allowed")
        self.assertIn("line 33: lanes lie apart: 8.0 sectors per store", found.exception.next_step)

    def test_a_kernel_that_shares_nothing_has_no_conflicts(self):
        launch = self.launch(("store", "global", {"requests": 2, "lanes": 64, "sectors": 16, "least_sectors": 8}))
        self.assertIn("0 bank conflicts", gates.judge(launch, 64, {"bank_conflicts": 0, "load_sectors": 0}, self.FILE))

    def test_the_warm_up_is_left_out(self):
        launches = [self.launch(), self.launch(("load", "global", {"requests": 3}))]
        other = recording.replace(self.launch(("load", "global", {"requests": 9})), kernel="set")
        with unittest.mock.patch("lab.gates.read_recording", lambda *_: [other, *launches]):
            self.assertEqual(gates.update_of("recording", "program").total("requests"), 3)
        with unittest.mock.patch("lab.gates.read_recording", lambda *_: [other]), self.assertRaises(diagnose.Finding):
            gates.update_of("recording", "program")

    def test_exercises_have_their_own(self):
        column = Task("02_blocked", 2, gates={"l2_bytes": 9})
        self.assertEqual(cases.gates(column), {"load_requests": 4, "store_sectors": 4, "l2_bytes": 9})
        self.assertEqual(cases.gates(Task("02_blocked")), {})
        case, _ = cases.counted(Task("03_shared_memory", 4), "majority")
        self.assertEqual(case.launch[-2:], ("--block", "1"))
        for task in EXERCISES:
            self.assertLessEqual(set(cases.gates(task)), set(gates.GATES), task)

    def test_the_stage_s_kernel_is_no_solution_of_them(self):
        """By what was counted of it (16 x 2 spins and threads, or 16 x 1); its bits are right."""
        rows = read_result(ROOT / "common/results/h200" / show.TRUTH, show.FORMAT)["rows"]
        for task in EXERCISES:
            if task.stage == "03_shared_memory" and cases.gates(task):
                launch = f"int32, 16 x {1 if task.exercise == 4 else 2}"
                (row,) = select(rows, stage=task.stage, launch=launch)
                found = {name: value(row, row["updated_spins"]) for name, (_, value) in gates.GATES.items()}
                self.assertTrue(any(found[name] > most for name, most in cases.gates(task).items()), task)

    def test_only_where_they_are_set_or_asked_for(self):
        with unittest.mock.patch.object(Judge, "judge", lambda _, name: Part(name, True, "")):
            for limits, only, judged in (
                ({}, PARTS, False),
                ({"l2_bytes": 9}, PARTS, True),
                ({}, ("build", "counters"), True),
                ({"l2_bytes": 9}, ("build", "forward"), False),
            ):
                result = grade(Task("01_naive_gpu", gates=limits), {}, kit=unittest.mock.MagicMock(), only=only)
                self.assertEqual("counters" in [part.name for part in result.parts], judged, (limits, only))


class Expectations(unittest.TestCase):
    def test_tests_are_those_of_the_source(self):
        found = expected_tests(ROOT, "majority", "cpu")
        self.assertIn("Majority/EngineAgainstReference.AgreesOnStructuredStarts/cpu", found)
        self.assertNotIn("Majority/EngineAgainstReference.AgreesOnVeryLargeLattices/cpu", found)
        self.assertGreater(len(found), 8)
        self.assertGreater(len(expected_tests(ROOT, "spin_glass", "cpu")), 15)

    def test_problems_are_drawn_anew_and_others_are_small(self):
        import random

        for task in [Task(stage) for stage in STAGES] + EXERCISES:
            model = "majority" if task.stage[:2] in ("01", "02", "03") else "spin_glass"
            drawn = [cases.fresh(task, model, random.Random(seed)) for seed in range(3)]
            self.assertNotEqual(drawn[0], drawn[1])
            self.assertTrue(all(drawn))
            self.assertTrue(cases.small(task, model))

    def test_some_ranks_have_more_than_one_plane(self):
        import random

        for seed in range(50):
            drawn = cases.fresh(Task("08_mpi"), "spin_glass", random.Random(seed))
            self.assertTrue(any(4 * case.ranks <= int(cases.value(case.problem, "--size")) for case in drawn))

    def test_exchanges_are_judged_on_ladders(self):
        import random

        task, rng = Task("07_amsc", 8), random.Random(1)
        drawn = [*cases.fresh(task, "spin_glass", rng), *cases.small(task, "spin_glass")]
        drawn += cases.timed(task, "spin_glass", rng)
        for case in drawn:
            self.assertLess({"--temperatures", "--copies", "--exchange-every"}, set(case.problem))
            self.assertTrue({"--temperature", "--replicas"}.isdisjoint(case.problem))
        case = drawn[-1]  # 5 temperatures in 4 copies, which share their couplings
        size, samples = (int(cases.value(case.problem, name)) for name in ("--size", "--samples"))
        self.assertEqual(cases.spins(case), size**3 * samples * 20)
        self.assertEqual(cases.least_bytes(task, "spin_glass", case), cases.spins(case) / 8 * (2 + 3 / 20))


if __name__ == "__main__":
    unittest.main()
