"""Tests of the debugging lab without a build: what is handed out, which lines are right, and what answers are worth.
common/tools/mutants --debug tries them on the real kernels."""

import functools
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab.assignment import make_assignment
from lab.course import WEIGHTS, Course, Task
from lab.diagnose import Finding
from lab.grade import Judge, Part, Result, share_out, withheld
from lab.wrong import debugging
from lab.wrong.patches import read_mutants
from models import REFERENCE_FOLDER
from stages import ROOT, Failure

CASES = [mutant for mutant in read_mutants() if mutant.symptom]
STAGES = sorted({mutant.stage for mutant in read_mutants()})
WORD = re.compile(r"[A-Za-z_]\w+")
# Words of a report that name what is wrong, not what was seen.
TELLING = "barrier sync halo wrap guard index bracket mask carry parity stored forgot missing boundary neighbour modulo"
# What a user says of a program, and a mutant may be named after.
SEEN = set("a all as at blocks first for in is it large no not of one replica row size state the to too wrong".split())


def patch_lines(mutant, sign):
    """The lines that a patch takes out (-) or puts in (+)."""
    text = mutant.patch.read_text()
    return [line[1:] for line in text.splitlines() if line.startswith(sign) and not line.startswith(3 * sign)]


def words_of(text):
    return {word.lower() for word in WORD.findall(text)}


def squeezed(text):
    return re.sub(r"\s+", "", text)


tight = functools.cache(squeezed)


class Cases(unittest.TestCase):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(CASES), 15)
        for stage in STAGES:
            self.assertGreaterEqual(sum(mutant.stage == stage for mutant in CASES), 2, stage)

    def test_a_report_says_what_was_seen(self):
        for mutant in CASES:
            with self.subTest(mutant.name):
                symptom = re.sub(r"--[\w-]+", "", mutant.symptom).lower()  # options are what a user knows
                lines = [line.split("//")[0] for sign in "+-" for line in patch_lines(mutant, sign)]
                of_name = set(mutant.name.split("_")[1:])
                self.assertEqual(words_of(symptom) & ((words_of(" ".join(lines)) | of_name) - SEEN), set())
                self.assertNotRegex(symptom, TELLING.replace(" ", "|"))
                self.assertTrue(mutant.shows)

    def test_few_lines_are_right(self):
        for mutant in CASES:
            with self.subTest(mutant.name):
                text, right = debugging.handed_out(mutant).splitlines(), debugging.right_lines(mutant)
                self.assertTrue(1 <= len(right) <= 8 and max(right) <= len(text), sorted(right))
                for line in patch_lines(mutant, "+"):
                    if line.strip() and not line.strip().startswith(("//", "}")):
                        self.assertTrue({n for n, own in enumerate(text, 1) if own == line} & right, line)

    def test_the_line_of_a_small_mistake(self):
        right = ["int f() {", "  int a = 1;", "  wait();", "", "  g(a,", "    2);", "}"]
        self.assertEqual(debugging.changed(right, right[:4] + ["  g(a,", "    3);", "}"]), {5, 6})
        self.assertEqual(debugging.changed(right, right[:2] + right[3:]), {2, 3, 4})
        self.assertEqual(debugging.changed(right, right), set())


class Draw(unittest.TestCase):
    def test_the_same_number_has_the_same_kernel(self):
        for stage in STAGES:
            names = {debugging.drawn(stage, f"{number}", "").name for number in range(100)}
            self.assertEqual(names, {mutant.name for mutant in CASES if mutant.stage == stage})
            self.assertEqual(debugging.drawn(stage, "7", ""), debugging.drawn(stage, "7", ""))

    def test_words_that_students_do_not_know_change_it(self):
        both = [[debugging.drawn(STAGES[2], f"{number}", words).name for number in range(50)] for words in ("", "x")]
        self.assertNotEqual(*both)

    def test_bad_numbers(self):
        for number in ("", "a b", "../x", 65 * "1"):
            with self.assertRaisesRegex(Failure, "the student's number is '.*'; allowed are"):
                debugging.drawn(STAGES[0], number, "")


class Assignments(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="psFlip test ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def make(self, mutant):
        """The assignment of somebody whose number draws this kernel."""
        number = next(f"{n}" for n in range(10**4) if debugging.drawn(mutant.stage, f"{n}", "w") == mutant)
        out = self.folder / mutant.name
        make_assignment(Course([Task(mutant.stage, debug=True)], number=number, draw="w"), ROOT, out)
        return out

    def test_nothing_gives_the_answer_away(self):
        """What is beside the kernel is the same for all numbers of a stage."""
        for stage in STAGES:
            known = [mutant for mutant in CASES if mutant.stage == stage]
            out = self.make(known[0])
            own = {out / stage / name for name in ("update.cu", debugging.AS_IT_WAS, "README.md")}
            texts = {path: path.read_text(errors="replace") for path in out.rglob("*") if path.is_file()}
            for mutant in known:
                wrong = debugging.handed_out(mutant)
                self.assertNotIn("// ---", wrong)
                if mutant == known[0]:
                    self.assertEqual(
                        {texts[out / stage / name] for name in ("update.cu", debugging.AS_IT_WAS)}, {wrong}
                    )
                told = {path: text for path, text in texts.items() if path not in own or mutant == known[0]}
                told["update.cu"] = wrong
                of_right = {squeezed(line.split("//")[0]) for line in patch_lines(mutant, "-")}
                of_right = {line for line in of_right if len(line) > 30 and line not in squeezed(wrong)}
                for path, text in told.items():
                    for secret in (mutant.name, mutant.mistake, "+++ b/"):
                        if secret in text:
                            self.fail(f"{path} has '{secret}'")
                    if path == "update.cu" or path.relative_to(out).parts[0] not in ("common", REFERENCE_FOLDER):
                        self.assertEqual({line for line in of_right if line in tight(text)}, set(), path)
                theirs = (ROOT / stage / "update.cu").read_text()
                comments = {line.split("//", 1)[1].strip() for line in patch_lines(mutant, "+") if "//" in line}
                self.assertEqual({comment for comment in comments if comment not in theirs}, set(), mutant.name)

    def test_what_is_handed_out(self):
        mutant = next(mutant for mutant in CASES if mutant.stage == STAGES[2])
        out = self.make(mutant)
        page, first = (out / mutant.stage / "README.md").read_text(), (out / "README.md").read_text()
        self.assertIn(f"> {mutant.symptom}\n", page)
        self.assertIn(f"build-check/plain/{mutant.stage}/majority", page)
        self.assertIn(f"`{mutant.stage}/update.cu`, `{mutant.stage}/answer.txt`", first)
        for tool in ("PSFLIP_SCHEDULE", "ThreadSanitizer", "AddressSanitizer", "counters", "compute-sanitizer"):
            self.assertIn(tool, first)
        self.assertNotIn("--- yours", first)
        said = (out / "course.toml").read_text()
        self.assertRegex(said, r'(?m)^number = "\d+"\n(.*\n)*debug = true$')
        self.assertNotIn("draw", said)
        with self.assertRaisesRegex(Finding, "answer.txt: behind 'line:' stands 0 numbers"):
            debugging.line_in((out / mutant.stage / "answer.txt").read_text())

    def call(self, name, *options):
        command = [ROOT / "common/tools" / name, *map(str, options)]
        return subprocess.run(command, capture_output=True, text=True)

    def test_refusals(self):
        out = self.folder / "x"
        for options, message in (
            (("--debug", "03"), "--debug takes --number"),
            (("03", "--number", "1"), "--number goes with kernels to be debugged: --debug"),
            (("--debug", "03.3", "--number", "1"), "--debug takes stages, not exercises: 03_shared_memory, exercise 3"),
            (("--debug", "03", "--number", "a b"), "the student's number is 'a b'"),
        ):
            done = self.call("make_lab", *options, "--out", out)
            self.assertEqual((done.returncode, done.stdout, out.exists()), (2, "", False), options)
            self.assertIn(message, done.stderr)
        self.assertEqual(self.call("make_lab", "--debug", "01", "--number", "4711", "--out", out).returncode, 0)
        done = self.call("grade", ROOT, "--number", "1", "--course", out / "course.toml", "--build-dir", "/dev/null/x")
        self.assertIn("/dev/null/x", done.stderr)  # --number is allowed here
        (out / "course.toml").write_text('[[task]]\nstage = "01"\n')
        self.assertIn("there is none", self.call("grade", out, "--number", "1").stderr)


class StandIn:
    root = ROOT
    tree = Path("/none")

    def __init__(self, has_solutions):
        self.has_solutions = has_solutions

    def model(self, stage):
        return "majority"


class Answers(unittest.TestCase):
    mutant = CASES[0]

    def line(self, text, mutant=mutant, has_solutions=True):
        attempt = debugging.Attempt(text, mutant)
        return Judge(Task(self.mutant.stage, debug=True), {}, StandIn(has_solutions), 1, (), attempt).judge("line")

    def test_every_line_of_every_kernel(self):
        for mutant in CASES:
            right = debugging.right_lines(mutant)
            for number in range(1, len(debugging.handed_out(mutant).splitlines()) + 1):
                part = self.line(f"line: {number}\nwhy: ...\n", mutant)
                self.assertEqual(part.passed, number in right, (mutant.name, number))

    def test_an_assignment_does_not_know_it(self):
        part = self.line("# line: 3\nline: 12\n", None, has_solutions=False)
        self.assertEqual((part.passed, "line 12 is named" in part.reason), (None, True))

    def test_what_is_no_answer(self):
        for text, said in (
            ("", "0 numbers"),
            ("line:\n", "0 numbers"),
            ("line: 3\nline: 4\n", "2 numbers"),
            ("line: the third\n", "'the third'"),
            ("line: 3, 4\n", "'3, 4'"),
            ("line: -3\n", "'-3'"),
        ):
            part = self.line(text)
            self.assertEqual((part.passed, part.reason), (False, f"answer.txt: behind 'line:' stands {said}"), text)

    def test_in_an_assignment_the_tool_says_what_is_wrong(self):
        judge = Judge(Task(self.mutant.stage, debug=True), {}, StandIn(False), 1, ())
        judge.forward = judge.races = judge.build = lambda: self.fail()
        for name, told in (("races", False), ("build", True)):
            setattr(judge, name, self.finds)
            part = judge.judge(name)
            self.assertEqual((part.passed, "line 44" in part.reason, part.command), (False, told, "the tool"))
        self.assertEqual(
            withheld("--size 3: the final state is a, the reference has b (x); why")[0],
            "--size 3: the final state is a, the reference has b (x)",
        )

    @staticmethod
    def finds():
        raise Finding("a race: line 44 (tile) writes", "put a barrier there", "the tool", "a picture")


class Points(unittest.TestCase):
    def scores(self, **passed):
        task = Task(STAGES[2], debug=True)
        parts = [
            Part(name, passed.get(name, True), "")
            for name in ("build", "line", "forward", "reversed", "fresh", "races")
        ]
        result = Result(task, parts)
        share_out(result, WEIGHTS)
        return result.passed, round(result.part("line").score, 3), round(result.score, 3)

    def test_both_count(self):
        self.assertEqual(self.scores(), (True, 4.0, 10.0))
        self.assertEqual(self.scores(line=False), (False, 0, 6.0))

    def test_a_kernel_that_is_not_mended_is_worth_nothing(self):
        for part in ("forward", "races", "build"):
            self.assertEqual(self.scores(**{part: False}), (False, 4.0, 4.0), part)
            self.assertEqual(self.scores(**{part: False}, line=False), (False, 0, 0), part)


if __name__ == "__main__":
    unittest.main()
