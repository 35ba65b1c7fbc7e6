"""Tests of common/tools/mutants without a build, and of what the lab's pages promise."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab.course import MARK, Task
from lab.grade import Part, Result
from lab.wrong import mutants
from lab.wrong.mutants import Verdict, filled, in_numbers, lines_with, speed, try_mutant, verdict_on
from lab.wrong.patches import apply, read_mutant, read_mutants
from stages import ROOT, Failure

LAB = ROOT / "common/lab"
HEAD = "Stage: 03_shared_memory\nMistake: I forgot.\nPart: races\nReason: a race\nNames: __syncthreads\n"
DIFF = """
--- a/03_shared_memory/update.cu
+++ b/03_shared_memory/update.cu
@@ -1,4 +1,4 @@
-// Stage 03: the tile and its halo in shared memory.
+// Stage 03: wrong.
 //
 // Threads of one block have neighbours in common, too. So a block first loads its tile of the lattice, and the rows and
 // columns around it (the halo), into memory that all its threads share and that lies on the chip. After the barrier
"""


class WithPatch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="psFlip test ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def mutant(self, text=HEAD + DIFF):
        file = self.folder / "some.patch"
        file.write_text(text)
        return read_mutant(file)


class Patches(WithPatch):
    def test_all_fit_and_change_the_file(self):
        for mutant in read_mutants():
            with self.subTest(mutant.name):
                update = apply(mutant, self.folder / mutant.name)
                self.assertNotEqual(update.read_text(), (ROOT / mutant.stage / mutant.file).read_text())
                for piece in mutant.names:
                    self.assertTrue(lines_with(piece, update), piece)
                self.assertEqual(mutant.name[:2], mutant.stage[:2])
                self.assertRegex(mutant.mistake, r"[.!?]$")

    def test_there_are_enough_for_every_stage(self):
        found = read_mutants()
        self.assertGreaterEqual(len(found), 25)
        stages = {path.parent.name for path in ROOT.glob("[0-9][0-9]_*/update.cu")}
        self.assertEqual({mutant.stage for mutant in found}, stages)

    def test_a_patch_that_drifted_is_an_error(self):
        root = self.folder / "root"
        (root / "03_shared_memory").mkdir(parents=True)
        text = (ROOT / "03_shared_memory/update.cu").read_text()
        (root / "03_shared_memory/update.cu").write_text(text.replace("its halo in shared", "the halo in shared"))
        with self.assertRaisesRegex(Failure, r"^some.patch does not fit 03_shared_memory/update.cu: .*patch failed"):
            apply(self.mutant(), self.folder / "out", root)

    def test_heads(self):
        mutant = self.mutant(HEAD + "Names: tile\nSeconds: 5\n" + DIFF)
        self.assertEqual(
            (mutant.name, mutant.part, mutant.names, mutant.seconds), ("some", "races", ("__syncthreads", "tile"), 5)
        )
        for text, message in (
            (HEAD.replace("Part", "Parts"), "'Parts: races': a line before the diff is 'Key: value' with one of Stage"),
            (HEAD.replace("Part: races\n", ""), "it takes one line 'Part: ...', not 0"),
            (HEAD + "Part: memory\n", "it takes one line 'Part: ...', not 2"),
            (HEAD.replace("races", "luck"), "Part: luck is none of build, line, asked, forward"),
            (HEAD.replace("03_shared", "13_shared"), "Stage: there is no 13_shared_memory/update.cu"),
            (HEAD + "File: none.cu\n", "File: there is no 03_shared_memory/none.cu"),
            (HEAD.replace("a race", "a (race"), "Reason: missing"),
            (HEAD + "Next: (\n", "Next: missing"),
            (HEAD + "Next: a\nNext: b\n", "it takes one line 'Next: ...' at most"),
            (HEAD + "Seconds: soon\n", "Seconds: soon is no whole number"),
        ):
            with self.assertRaisesRegex(Failure, "^some.patch: " + re.escape(message)):
                self.mutant(text + DIFF)


WRONG = HEAD.replace("__syncthreads", "// Stage 03: wrong") + DIFF


class Verdicts(WithPatch):
    def verdict(self, passed, reason, text=WRONG):
        result = Result(Task("03_shared_memory"), [Part("build", True, ""), Part("races", passed, reason)])
        with mock.patch("lab.wrong.mutants.grade", return_value=result):
            return next(try_mutant(self.mutant(text), None))

    def test_the_right_reason_and_line(self):
        verdict = self.verdict(False, "a race: line 1 writes")
        self.assertEqual((verdict.problem, verdict.caught), ("", "a race"))

    def test_everything_else_is_a_problem(self):
        for passed, reason, problem in (
            (True, "fine", "races does not fail: fine"),
            (None, "no tool", "races does not fail: no tool"),
            (False, "wrong bits", "races fails, but not with /a race/: wrong bits"),
            (False, "a race: line 11 writes", "races does not name line 1, '// Stage 03: wrong'"),
        ):
            self.assertIn(problem, self.verdict(passed, reason).problem)
        followed = WRONG.replace("Names:", "Next: a barrier\nNames:", 1)
        self.assertIn("is not followed by /a barrier/", self.verdict(False, "a race: line 1", followed).problem)
        nowhere = self.verdict(False, "a race", HEAD.replace("__sync", "x") + DIFF)
        self.assertIn("no line of the wrong update.cu has 'xthreads'", nowhere.problem)

    def test_it_is_built_once_and_judged_often(self):
        """What is found once and not again is a problem of that time."""
        mutant = self.mutant(WRONG)
        found, lost = Part("races", False, "a race: line 1 writes"), Part("races", True, "fine")
        judge = mock.Mock(**{"return_value.judge.side_effect": [lost, found]})
        built = mock.Mock(return_value=Result(mutant, [found]))
        with mock.patch.multiple("lab.wrong.mutants", grade=built, Judge=judge):
            verdicts = list(try_mutant(mutant, None, 3))
        self.assertEqual([verdict.problem for verdict in verdicts], ["", "races does not fail: fine", ""])
        built.assert_called_once()

    def test_a_file_of_an_exercise_is_judged_in_its_place(self):
        for name, file in (
            ("07_dice_no_tail", "synchronous/dice.hpp"),
            ("07_march_no_wait", "kernels/overlapped/march.cuh"),
        ):
            mutant = next(one for one in read_mutants() if one.name == name)
            task = Task("07_amsc", mutant.exercise)
            result = Result(task, [Part("build", True, ""), Part(mutant.part, False, "")])
            with mock.patch("lab.wrong.mutants.grade", return_value=result) as grade:
                list(try_mutant(mutant, None))
            self.assertEqual((grade.call_args.args[0], list(grade.call_args.args[1])), (task, [f"07_amsc/{file}"]))

    def test_what_takes_a_gpu_is_not_judged_without_one(self):
        text = WRONG.replace("races", "speed").replace("Names: // Stage 03: wrong\n", "")
        for passed, reason, problem in (
            (None, "no GPU here", ""),
            (False, "a race against time", ""),
            (True, "very fast", "speed does not fail: very fast"),
        ):
            mutant = self.mutant(text)
            verdict = verdict_on(mutant, Part("speed", passed, reason), None)
            self.assertEqual(verdict.problem, problem)
            self.assertEqual(verdict.caught, "" if problem else "a race")  # for the table, the same everywhere

    def test_only_the_speed(self):
        """Of the solutions, which have to be judged to the end, and of what cheats there."""
        mutant = self.mutant(WRONG.replace("races", "speed").replace("Names: // Stage 03: wrong\n", ""))
        for of_solution, of_mutant, problems in (
            ((True, "fast"), (False, "a race"), ["", ""]),
            ((None, "no GPU here"), (None, "no GPU here"), ["no GPU here", ""]),
            ((False, "slow"), (True, "fast"), ["slow", "speed does not fail: fast"]),
        ):
            parts = [Part("speed", *of_solution), Part("speed", *of_mutant)]
            kit = mock.MagicMock(**{"left_out.side_effect": lambda build, stage: "no MPI" if stage == "08_mpi" else ""})
            judge = mock.Mock(**{"return_value.judge.side_effect": parts})
            with mock.patch.multiple("lab.wrong.mutants", Kit=mock.Mock(return_value=kit), Judge=judge):
                verdicts = list(speed(["03_shared_memory", "08_mpi"], [mutant], Path("x")))
            self.assertEqual([verdict.problem for verdict in verdicts], [*problems, "no MPI"])

    def test_the_table(self):
        guide = "before\n<!-- mutants -->\nold\n<!-- end mutants -->\nafter\n"
        text = filled(guide, [self.mutant()], [Verdict("some", caught="a | b")])
        row = "| 03 | I forgot. | races | `a \\| b`, naming `__syncthreads` | `some` |\n"
        self.assertIn(f"{row}<!-- end mutants -->\nafter\n", text)
        self.assertNotIn("old", text)
        self.assertEqual(filled(text, [self.mutant()], [Verdict("some", caught="a | b")]), text)
        with self.assertRaisesRegex(Failure, "one pair of <!-- mutants -->"):
            filled("nothing", [], [])

    def test_what_was_tried_in_numbers(self):
        mutant, others = self.mutant(), [Verdict(f"{what} of 03") for what in ("starter", "solution")]
        self.assertEqual(in_numbers([mutant], [Verdict("some"), *others], 1), "1 mutants, 1 starters, 1 solutions: ")
        self.assertEqual(in_numbers([mutant], 20 * [Verdict("some")], 20), "1 mutants, 20 times each: ")

    def test_bad_input_is_one_line_and_exit_code_2(self):
        for arguments, message in ((["03_none"], "'03_none': there is no such mutant"), (["--fast"], "unrecognized")):
            done = subprocess.run([ROOT / "common/tools/mutants", *arguments], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, rf"\Acommon/tools/mutants: {message}.*\n\Z")


class Pages(unittest.TestCase):
    def test_the_guide_has_every_mutant(self):
        table = mutants.TABLE.search((LAB / "INSTRUCTOR.md").read_text())[0]
        self.assertEqual(re.findall(r"`(\w+)` \|$", table, re.MULTILINE), [mutant.name for mutant in read_mutants()])

    def test_the_syllabus_has_every_exercise_and_says_who_checks_it(self):
        rows = re.findall(r"^\| (\d\d)\.(\d+) (.+?) \| .+ \| (.+) \|$", (LAB / "SYLLABUS.md").read_text(), re.MULTILINE)
        wanted = []
        for file in sorted(ROOT.glob("[0-9][0-9]_*/exercises.md")):
            for mark in MARK.finditer(file.read_text()):
                title = re.sub(r" \((easy|medium|hard)(, paper)?\)$", "", mark["title"])
                wanted.append((file.parent.name[:2], mark["number"], title, bool(mark["files"])))
        self.assertEqual([(*row[:3], row[3].startswith("checker")) for row in rows], wanted)

    def test_links(self):
        for page in LAB.glob("*.md"):
            for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text()):
                self.assertTrue((LAB / target).exists() or "{" in target, f"{page.name}: {target}")

    def test_the_devcontainer_calls_what_is_there(self):
        container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
        made = container["postCreateCommand"]
        self.assertEqual(subprocess.run(["bash", "-n", "-c", made], capture_output=True).returncode, 0)
        script = made.replace("psflip_install ", "echo ")  # what it would install
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cmake:cmake", done.stdout.split())
        self.assertTrue(shutil.which(str(ROOT / container["postStartCommand"].split()[0])))

    def test_the_workflows_call_what_is_there(self):
        for workflow in (ROOT / ".github/workflows").glob("*.yml"):
            commands = re.findall(r"^\s+- run: (\.?\w\S*/\S+)", workflow.read_text(), re.MULTILINE)
            self.assertTrue(commands, workflow.name)
            for command in commands:
                self.assertTrue(shutil.which(str(ROOT / command)), f"{workflow.name}: {command}")


if __name__ == "__main__":
    unittest.main()
