#!/usr/bin/env python3
"""The course in a terminal: for every stage what it adds, the lines that change, what to predict, and then what is
measured on this machine.

On a terminal it waits after every part, and takes your prediction; while you read, it builds what is to be measured.
Piped, it prints everything.
"""

if __name__ == "__main__":
    import interrupt  # noqa: F401

import difflib
import re
import sys

import build
import compare
import stages
import table
from measure.comparison import Comparison, is_there
from models import REFERENCE
from options import Parser, add_device, add_stages, expect_stages
from stages import Failure, folders, models_of, run_tool

RULE = 100  # columns
DIFF = re.compile(r"^ *diff (\S+) (\S+)\n+", re.MULTILINE)  # in a README: what to compare


class Stop(Exception):
    """The reader has seen enough."""


def section(readme, heading):
    """A section of a README without its heading, figures and links; '' if there is none. `heading`: its first words."""
    found = re.search(rf"^## {heading}.*?\n(.*?)(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL)
    if not found:
        return ""
    text = re.sub(r"^!\[.*\n+|<!-- .*? -->", "", found[1], flags=re.MULTILINE)
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


def difference(own, other, root):
    """The changed lines with two lines around them, or one line if nearly all of them change."""
    new, old = own.read_text().splitlines(), other.read_text().splitlines()
    names = [str(file.relative_to(root)) for file in (other, own)]
    if difflib.SequenceMatcher(None, old, new, autojunk=False).ratio() < 0.3:
        return [f"Nearly every line is new: read {names[1]} beside {names[0]}."]
    return list(difflib.unified_diff(old, new, *names, n=2, lineterm=""))


def coloured(line):
    colours = {"+": "32", "-": "31", "@": "36"}
    return table.coloured(line, colours[line[0]]) if line[:1] in colours else line


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


def comparisons(folder, before, options):
    """A stage's models, each to be measured beside the stage before."""
    for model in models_of(folder):
        numbers = [before.name[:2]] if before and model in models_of(before) else []
        if not is_there(options.builder, stages.stage_of(folder, model, options.build_dir)):
            print(f"Not measured: CMake left {folder.name} out; {options.builder.log} says why.")
            continue
        wished = {"model": model.name.replace("_", "-"), "stages": [*numbers, folder.name[:2]]}
        own = compare.parse_options(stages.as_words(wished | {"device": options.device}))
        own.builder = options.builder
        yield Comparison(model, own)


def build_stage(folder, before, options):
    """Builds what is to be measured."""
    for comparison in comparisons(folder, before, options):
        options.builder.plan(comparison.groups())
        options.builder.need(*(stage.target for stage in [comparison.reference, *comparison.others]))


def show_measured(folder, before, options):
    for comparison in comparisons(folder, before, options):
        if not compare.agree(compare.show(comparison)):
            raise Failure(f"{folder.name}: its bits are not the reference's; common/test -R {folder.name} says where")
        print()


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
    if options.measure and reader.there:
        options.builder.behind(lambda: build_stage(folder, before, options))
    if own and other:
        reader.ask("Enter: the lines that change; q: stop")
        heading(f"{other.relative_to(folder.parent)} -> {own.relative_to(folder.parent)}")
        for line in difference(own, other, folder.parent):
            print(coloured(line))

    reader.ask("Enter: what to predict; q: stop")
    heading("Predict")
    print(section(stages.without_answers(readme), "Predict"))
    guess = reader.ask("your numbers in a line, then Enter; q: stop")

    if options.measure:
        heading("Measured on this machine")
        if reader.there:
            options.builder.wait()
        else:
            build_stage(folder, before, options)
        show_measured(folder, before, options)
        if guess:
            print(f"You predicted: {guess}")
    print(f'\nWhy: {folder.name}/README.md, from "Measured" on. Next: {folder.name}/exercises.md.')
    reader.ask("Enter: the next stage; q: stop")


def option_parser():
    parser = Parser(prog="common/run --tour", description=__doc__)
    add_stages(parser, "only these (all)")
    add_device(parser)
    parser.add_argument("--no-measure", dest="measure", action="store_false", help="to read: build and time nothing")
    build.add_options(parser)
    return parser


def main(arguments):
    options = option_parser().parse_args(arguments)
    course = folders()
    numbers = [folder.name[:2] for folder in course]
    expect_stages(options.stages, numbers)
    options.builder = build.builder_for(options)
    reader = Reader()
    try:
        for before, folder in zip([None, *course], course):
            if not options.stages or folder.name[:2] in options.stages:
                show_stage(folder, before if before and before.name[:2] != REFERENCE else None, options, reader)
    except Stop:
        pass
    return 0


if __name__ == "__main__":
    run_tool(main, "common/run --tour")
