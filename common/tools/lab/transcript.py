#!/usr/bin/env python3
"""Makes common/lab/transcript.txt: what a student sees on the way from a starter to the right kernel.

The student's work is played: first the starter, then the solution without its barrier (a mutant), then the solution.
The commands are run and their output is kept, so the page cannot promise what the checker does not do.
"""

import difflib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, __file__.rsplit("/", 2)[0])

from lab.course import stage_called
from lab.wrong.patches import apply, read_mutant
from options import Parser, adder
from stages import ROOT, Failure, run_tool

FILE = "common/lab/transcript.txt"
(WITHOUT_BARRIER,) = ROOT.glob("common/lab/mutants/*/*_no_barrier.patch")
NUMBER = WITHOUT_BARRIER.parent.name
STAGE, HOME = stage_called(NUMBER, ROOT), f"stage{NUMBER}"
PARTS = "build,forward,reversed,shuffled,fresh,races,memory"  # what every machine can judge


class Student:
    """Plays and writes down. `kit`: where the checker keeps what it compiles once."""

    def __init__(self, folder, kit):
        self.folder, self.kit, self.text = folder, kit, ""

    def say(self, words):
        self.text += f"# {words}\n"

    def run(self, shown, *command):
        done = subprocess.run([str(part) for part in command], cwd=self.folder, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise Failure(f"'{shown}' ended with exit code {done.returncode}: {done.stderr.strip()}")
        self.text += f"$ {shown}\n{done.stdout}(exit code {done.returncode})\n\n"

    def check(self):
        # In an assignment of its own ./check would compile for minutes what the course's tree has compiled already.
        own = "--no-install", "--reference", ROOT, "--build-dir", self.kit, "--only", PARTS
        self.run("./check", self.folder / HOME / "check", *own)

    def write(self, update):
        shutil.copy(update, self.folder / HOME / STAGE / "update.cu")


def play(folder, kit):
    student = Student(folder, kit)
    student.say(f"The lecturer makes an assignment of stage {NUMBER}.")
    made = NUMBER, "--out", HOME
    student.run(" ".join(["common/tools/make_lab", *made]), ROOT / "common/tools/make_lab", *made)
    student.say("A student checks the starter as it was handed out.")
    student.check()
    student.say("The kernel is written, and the barrier between loading the tile and adding was forgotten.")
    student.write(apply(read_mutant(WITHOUT_BARRIER), folder / "wrong"))
    student.check()
    student.say("With __syncthreads() there.")
    student.write(ROOT / STAGE / "update.cu")
    student.check()
    text = student.text.replace(f"{kit.name}/", "build-check/")  # where an assignment has its builds
    return text.replace(str(folder), "...").rstrip() + "\n"


def comparable(text):
    """What a run must have in common with the one before: the commands, which parts fail, the lines of the race. How
    many spins are wrong without a barrier depends on what shared memory held, `fresh` draws its problems, and seconds
    are the machine's."""
    text = re.sub(r"^(  \w+ +(?:ok|FAILS|-) +)\d+ s  ", r"\1", text, flags=re.MULTILINE)

    def lines_of_race(match):
        return f"{match[1]}{sorted(set(re.findall(r'line [0-9]+', ' '.join(match[2].split()))))}\n"

    part = r"^(  {} +FAILS  )(.*?)(?=^  \w|^\w|^\()"
    text = re.sub(part.format("races"), lines_of_race, text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(part.format("(?:forward|reversed|shuffled|fresh)"), r"\1\n", text, flags=re.MULTILINE | re.DOTALL)


def main(arguments):
    parser = Parser(prog="common/tools/lab/transcript.py", description=f"Plays a student's path and writes {FILE}.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if the file is stale")
    adder(parser)("--build-dir", "DIR", "what is compiled once (build-lab)", Path, default=ROOT / "build-lab")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="psflip-student-") as folder:
        new = play(Path(folder), options.build_dir.resolve())
    file = ROOT / FILE
    old = file.read_text() if file.exists() else ""
    if comparable(new) == comparable(old):
        return 0
    if not options.check:
        file.write_text(new)
        print(f"{FILE} written")
        return 0
    both = [comparable(text).splitlines() for text in (old, new)]
    print(*difflib.unified_diff(*both, FILE, "now", n=1, lineterm=""), sep="\n")
    print(f"{FILE}: stale; run common/tools/lab/transcript.py")
    return 1


if __name__ == "__main__":
    run_tool(main, "common/tools/lab/transcript.py")
