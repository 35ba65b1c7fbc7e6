#!/usr/bin/env python3
"""The course in a terminal: for every stage what it adds, the lines that change, what to predict, and then what is
measured on this machine. common/run --tour builds the programs and calls this.

On a terminal it waits after every part, and takes your prediction. Piped, it prints everything.
"""

import argparse
import difflib
import re
import sys
from pathlib import Path

import compare
import stages
import table
from comparison import compare as measure
from models import MAJORITY, SPIN_GLASS
from stages import REFERENCE, ROOT, Failure, refuse

RULE = 100  # columns
DIFF = re.compile(r"^ *diff (\S+) (\S+)\n+", re.MULTILINE)  # in a README: what to compare


class Stop(Exception):
    """The reader has seen enough."""


def folders(root=ROOT):
    """The stages, in order."""
    return [folder for folder in sorted(root.glob("[0-9][0-9]_*")) if (folder / "README.md").exists()]


def section(readme, heading):
    """A section of a README without its heading, figures and links; '' if there is none. `heading`: its first words."""
    found = re.search(rf"^## {heading}.*?\n(.*?)(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL)
    if not found:
        return ""
    text = re.sub(r"^!\[.*\n+", "", found[1], flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).strip()


def idea_of(source):
    """The comment at the top of a source file: its idea in a few lines, without the marks and the stage's name."""
    lines = []
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.lstrip("/").removeprefix(" "))
    return "\n".join(lines[1:]).strip()


def sources(folder, before):
    """The file to read, and the one to compare it with: what the README compares, else the update.cu of the stage
    before. Either is None where there is none."""
    said = DIFF.search((folder / "README.md").read_text())
    if said:
        return folder.parent / said[2], folder.parent / said[1]
    own = folder / "update.cu"
    if not own.exists():
        return None, None
    other = before / "update.cu" if before else None
    return own, other if other and other.exists() else None


def models_of(folder):
    """The models of a stage; the first is the one that its update.cu is about."""
    text = (folder / "CMakeLists.txt").read_text()
    return [model for name in re.findall(r"psflip_add_stage\((\w+)", text) for model in (MAJORITY, SPIN_GLASS)
            if model.name == name]  # fmt: skip


def difference(own, other, root):
    """The changed lines with two lines around them, or one line if nearly all of them change."""
    new, old = own.read_text().splitlines(), other.read_text().splitlines()
    names = [str(file.relative_to(root)) for file in (other, own)]
    if difflib.SequenceMatcher(None, old, new, autojunk=False).ratio() < 0.3:
        return [f"Nearly every line is new: read {names[1]} beside {names[0]}."]
    return list(difflib.unified_diff(old, new, *names, n=2, lineterm=""))


def coloured(line):
    if not sys.stdout.isatty():
        return line
    colours = {"+": "32", "-": "31", "@": "36"}
    return f"\033[{colours[line[0]]}m{line}\033[0m" if line[:1] in colours else line


class Reader:
    """Who sits at the terminal; nobody, if there is none."""

    def __init__(self):
        self.there = sys.stdin.isatty() and sys.stdout.isatty()

    def ask(self, question):
        if not self.there:
            return ""
        try:
            answer = input(f"\n[{question}] ").strip()
        except EOFError:
            raise Stop from None
        print()
        if answer == "q":
            raise Stop
        return answer


def heading(text):
    print(f"\n{text}\n{'-' * len(text)}\n")


def show_measured(folder, before, options):
    for model in models_of(folder):
        numbers = [before.name[:2]] if before and model in models_of(before) else []
        arguments = ["--model", model.name.replace("_", "-"), "--device", options.device, "--build-dir",
                     str(options.build_dir), "--stages", ",".join([*numbers, folder.name[:2]])]  # fmt: skip
        result = measure(model, compare.parse_options(arguments))
        print(table.summary(result), table.as_text(result), table.remarks(result), sep="\n\n")
        if not all(row["bits_agree"] for row in result["rows"]):
            raise Failure(f"{folder.name}: its bits are not those of stage 00; common/test -R {folder.name} says where")


def show_stage(folder, before, options, reader):
    title = f"Stage {folder.name[:2]}: {stages.idea(folder.name, folder.parent)}"
    print(f"\n{'=' * RULE}\n{title}\n{'=' * RULE}")
    readme = (folder / "README.md").read_text()
    own, other = sources(folder, before)

    heading("What it adds")
    print(idea_of(own) if own else section(readme, "The idea"))
    changes = DIFF.sub("", section(readme, "What changes"))
    if changes:
        print(f"\n{changes}")
    if own and other:
        reader.ask("Enter: the lines that change; q: stop")
        heading(f"{other.relative_to(folder.parent)} -> {own.relative_to(folder.parent)}")
        for line in difference(own, other, folder.parent):
            print(coloured(line))

    reader.ask("Enter: what to predict; q: stop")
    heading("Predict")
    print(section(readme, "Predict"))
    guess = reader.ask("your numbers in a line, then Enter; q: stop")

    if options.measure:
        heading("Measured on this machine")
        show_measured(folder, before, options)
        if guess:
            print(f"You predicted: {guess}")
    print(f"\nWhy: {folder.name}/README.md, from \"Measured\" on. Next: {folder.name}/exercises.md.")
    reader.ask("Enter: the next stage; q: stop")


def option_parser():
    parser = argparse.ArgumentParser(prog="common/run --tour", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.error = refuse
    parser.add_argument("--stages", type=compare.comma_list(str), metavar="01,03", help="only these (all)")
    parser.add_argument("--device", default="auto", help="auto, cpu, gpu, or the number of a GPU")
    parser.add_argument("--no-measure", dest="measure", action="store_false", help="to read: build and time nothing")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build", help=argparse.SUPPRESS)
    parser.add_argument("--parse-only", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(arguments):
    options = option_parser().parse_args(arguments)
    course = folders()
    numbers = [folder.name[:2] for folder in course]
    for number in options.stages or []:
        if number not in numbers:
            raise Failure(f"--stages {number}: there is no such stage; there are {', '.join(numbers)}")
    if options.parse_only:
        return 0
    reader = Reader()
    try:
        for before, folder in zip([None, *course], course):
            if not options.stages or folder.name[:2] in options.stages:
                show_stage(folder, before if before and before.name[:2] != REFERENCE else None, options, reader)
    except Stop:
        pass
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print(f"common/run --tour: {failure}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # a pager that was closed
        sys.stderr.close()
        sys.exit(0)
