"""Tests of the exercises' hints: all are there, `hint` shows them, and an assignment has them or not."""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from lab.assignment import make_assignment
from lab.course import Course, Task
from lab.hints import as_details, exercises_in, hints_in, without_hints
from stages import ROOT

TEXTS = {file.parent.name: file.read_text() for file in sorted(ROOT.glob("[0-9][0-9]_*/exercises.md"))}


def hint(*options, root=ROOT):
    command = [sys.executable, root / "common/tools/hint", *options]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Exercises(unittest.TestCase):
    def test_each_has_three_hints_behind_its_text(self):
        found = 0
        for stage, text in TEXTS.items():
            self.assertEqual(len(exercises_in(text)), len(re.findall(r"^## ", text, re.MULTILINE)), stage)
            for number, (_, words) in exercises_in(text).items():
                with self.subTest(stage=stage, exercise=number):
                    found += 1
                    hints = hints_in(words)
                    self.assertEqual(len(hints), 3)
                    self.assertTrue(all(len(hint.split()) >= 10 for hint in hints), "one says next to nothing")
                    # nothing else is folded, nothing comes between, and nothing behind
                    task = without_hints(words)
                    self.assertNotIn("<details", task)
                    self.assertEqual(words.strip("\n"), f"{task}\n\n{as_details(hints)}".strip("\n"))
        self.assertEqual(len(TEXTS), 9)
        self.assertGreaterEqual(found, 53)

    def test_hints_are_what_the_marks_say(self):
        hints = ["one\n\n    code\n", "two", "three"]
        text = "\nDo it.\n\n" + as_details(hints)
        self.assertEqual(without_hints(text), "Do it.")
        for broken in (text.replace("Hint 2<", "Hint2<"), text.replace("</details>", "", 1)):
            self.assertNotEqual(hints_in(broken), hints)


class Command(unittest.TestCase):
    def test_it_shows_every_hint_of_every_exercise(self):
        for stage, text in TEXTS.items():
            for number, (title, words) in exercises_in(text).items():
                done = hint(f"{stage[:2]}.{number}", "--all")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                parts = re.split(r"\n+Hint \d of 3\n\n", done.stdout.strip("\n"))
                self.assertEqual(parts, [f"{stage[:2]}.{number}: {title}", *hints_in(words)])

    def test_one_at_a_time(self):
        first, second, third = hints_in(exercises_in(TEXTS["03_shared_memory"])[2][1])
        for options, shown in {
            (): first,
            ("--hint", "1"): first,
            ("--hint", "2"): second,
            ("--hint", "3"): third,
        }.items():
            done = hint("03.2", *options)
            self.assertEqual(
                [text in done.stdout for text in (first, second, third)],
                [text == shown for text in (first, second, third)],
            )
            self.assertEqual("--hint 2" in done.stdout, options == ())
        self.assertEqual(
            hint("03_shared_memory.2").stdout.split("\n", 1)[1].replace("03_shared_memory.2", "03.2"),
            hint("03.2").stdout.split("\n", 1)[1],
        )

    def test_on_a_terminal_enter_shows_the_next(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [sys.executable, ROOT / "common/tools/hint", "00.2"], stdin=theirs, stdout=theirs
        ) as process:
            os.close(theirs)
            seen = ""
            for number in (1, 2, 3):
                while f"Hint {number} of 3" not in seen or (number < 3 and not seen.endswith("Ctrl-C ends. ")):
                    self.assertTrue(select.select([ours], [], [], 60)[0], f"it says nothing more after {seen}")
                    seen += os.read(ours, 1000).decode()
                self.assertNotIn(f"Hint {number + 1} of 3", seen)
                if number < 3:
                    os.write(ours, b"\n")
            self.assertEqual(process.wait(10), 0)
        os.close(ours)

    def test_it_refuses_in_one_line(self):
        for options, part in {
            ("09.1",): "09.1: there is no stage '09'",
            ("03.9",): "03.9: there is no such exercise; there are 03.1, 03.2",
            ("03",): "03: there is no such exercise",
            ("03.²",): "there is no such exercise",
            ("",): "there is no stage ''",
            ("03.1", "--hint", "4"): "--hint 4: the exercise has 3 hints",
            ("03.1", "--hint", "0"): "it must be a whole number",
            (): "required",
        }.items():
            with self.subTest(options):
                done = hint(*options)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, r"\Ahint: .*\n\Z")
                self.assertIn(part, done.stderr)


class Assignments(unittest.TestCase):
    def make(self, *tasks, hints):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        out = Path(folder.name, "lab")
        make_assignment(Course(list(tasks), hints=hints), ROOT, out)
        return out

    def test_with_hints_the_command_shows_them(self):
        out = self.make(Task("02_blocked", 2), Task("03_shared_memory"), hints=True)
        self.assertEqual(hint("02.2", "--all", root=out).stdout, hint("02.2", "--all").stdout)
        read_me = (out / "02_blocked/README.md").read_text()
        self.assertIn("common/tools/hint 02.2", read_me)
        self.assertNotIn("<details>", read_me)  # who only reads the task does not see them
        for other in ("02.1", "03.1"):
            self.assertEqual(hint(other, root=out).returncode, 2)

    def test_without_hints_there_are_none(self):
        out = self.make(Task("02_blocked", 2), hints=False)
        self.assertFalse((out / "common/tools/hint").exists())
        words = exercises_in(TEXTS["02_blocked"])[2][1]
        for file in out.rglob("*.md"):
            text = " ".join(file.read_text().split())
            self.assertNotIn("details>", text, file)
            self.assertNotIn("tools/hint", text, file)
            for secret in hints_in(words):
                self.assertNotIn(" ".join(secret.split()), text, file)
        self.assertIn("hints = false", (out / "course.toml").read_text())

    def test_a_stage_that_is_no_exercise_has_no_hints(self):
        out = self.make(Task("03_shared_memory"), hints=True)
        self.assertFalse((out / "common/tools/hint").exists())


if __name__ == "__main__":
    unittest.main()
