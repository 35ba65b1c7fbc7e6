"""Wrong kernels that the checker must reject, and what it says of each.

A mutant is a file common/lab/mutants/NN/NAME.patch, or in a room of NN. First come lines "Key: value", then a unified
diff against its stage's update.cu:
    Stage    the folder
    File     what the patch is against, if another file there that can take the place of update.cu
    Exercise the number of one whose file the patch is against; it is judged as that exercise is
    Mistake  what the student did, in a student's words
    Part     the part of the grader's result that must fail; its reason is what the student reads
    Reason   a regular expression for that reason; what it matches goes into the table
    Next     a regular expression for what the student is told to do next; may be left out
    Names    a piece of a line of the wrong update.cu, whose number the reason must give; left out, or more than one
    Seconds  the most that one run may take, if others than the checker's 60
What takes a GPU or nvcc to be judged is only compiled for the CPU where there is none.
A patch that no longer fits its update.cu is an error: so mutants cannot drift away from the solution.
"""

import os
import queue
import re
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from lab.course import Task, files_of, stages_in
from lab.grade import BUILD_SECONDS, PARTS, TAKE_MORE, Judge, grade, grade_update
from lab.kit import Kit
from lab.regions import starter
from models import MAJORITY, MODELS
from options import Parser, adder, whole
from stages import ROOT, Failure, progress
from table import as_markdown

FOLDER = "common/lab/mutants"
GUIDE = "common/lab/INSTRUCTOR.md"
TABLE = re.compile(r"(<!-- mutants -->\n).*?(<!-- end mutants -->)", re.DOTALL)
KEYS = ("Stage", "Mistake", "Part", "Reason")  # one line each
OPTIONAL = ("File", "Exercise", "Next", "Names", "Seconds")


@dataclass(frozen=True)
class Mutant:
    name: str
    stage: str
    exercise: int | None
    file: str
    mistake: str
    part: str
    reason: str
    next_step: str  # empty: any
    names: tuple[str, ...]
    seconds: float
    patch: Path


def read_mutant(path):
    """What a patch's first lines say. Failure, naming the file, if one is missing or unknown."""

    def expect(condition, problem):
        if not condition:
            raise Failure(f"{path.name}: {problem}")

    values = {key: [] for key in KEYS + OPTIONAL}
    for line in filter(None, path.read_text().split("\n--- ", 1)[0].splitlines()):
        key, colon, value = line.partition(":")
        form = f"a line before the diff is 'Key: value' with one of {', '.join(values)}"
        expect(colon and key in values and value.strip(), f"'{line}': {form}")
        values[key].append(value.strip())
    for key in KEYS:
        expect(len(values[key]) == 1, f"it takes one line '{key}: ...', not {len(values[key])}")
    stage, mistake, part, reason = (values[key][0] for key in KEYS)
    expect(len(values["File"]) < 2, "it takes one line 'File: ...' at most")
    expect(len(values["Exercise"]) < 2, "it takes one line 'Exercise: ...' at most")
    exercise = "".join(values["Exercise"])
    expect(exercise.isdecimal() or not exercise, f"Exercise: {exercise} is no whole number")
    exercise = int(exercise) if exercise else None
    file = "".join(values["File"]) or "update.cu"
    if exercise is not None:
        expect(not values["File"], "the exercise says which file it is")
        file = files_of(Task(stage, exercise), ROOT)[0].removeprefix(f"{stage}/")
    expect((ROOT / stage / file).is_file(), f"{'File' if values['File'] else 'Stage'}: there is no {stage}/{file}")
    expect(part in PARTS, f"Part: {part} is none of {', '.join(PARTS)}")
    expect(len(values["Next"]) < 2, "it takes one line 'Next: ...' at most")
    next_step = "".join(values["Next"])
    for key, rule in (("Reason", reason), ("Next", next_step)):
        try:
            re.compile(rule)
        except re.error as error:
            expect(False, f"{key}: {error}")
    seconds = values["Seconds"] or ["60"]
    expect(len(seconds) == 1 and seconds[0].isdecimal(), f"Seconds: {seconds[-1]} is no whole number, or one too many")
    names = tuple(values["Names"])
    return Mutant(path.stem, stage, exercise, file, mistake, part, reason, next_step, names, int(seconds[0]), path)


def read_mutants():
    return [read_mutant(path) for path in sorted((ROOT / FOLDER).rglob("*.patch"), key=lambda path: path.name)]


def apply(mutant, folder, root=ROOT):
    """The wrong update.cu, in a folder of its own. Failure if the patch does not fit."""
    target = folder / mutant.stage / mutant.file
    target.parent.mkdir(parents=True)
    target.write_bytes((root / mutant.stage / mutant.file).read_bytes())
    # Without a repository, so that git changes the folder's file and not one of the tree's.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_DIR": str(folder / "none")}
    done = subprocess.run(["git", "apply", mutant.patch], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[0]
        raise Failure(f"{mutant.patch.name} does not fit {mutant.stage}/{mutant.file}: {reason}")
    return target


def lines_with(piece, file):
    return [number for number, line in enumerate(file.read_text().splitlines(), 1) if piece in line]


@dataclass
class Verdict:
    """How a grading came out against what was expected of it."""

    name: str
    problem: str = ""  # why it is not as expected
    caught: str = ""  # the words of the reason that the table shows
    note: str = ""  # why it was not judged, or what was said of a solution


def try_mutant(mutant, kit):
    with tempfile.TemporaryDirectory(prefix="psflip-mutant-") as folder:
        update = apply(mutant, Path(folder))
        task = Task(mutant.stage, mutant.exercise)
        files = {files_of(task, ROOT)[0]: update.read_bytes()}
        result = grade(task, files, kit=kit, only=(mutant.part,), seconds=mutant.seconds)
        return verdict_on(mutant, result.part(mutant.part), update)


def verdict_on(mutant, part, update):
    """Whether a part is what it should be of a mutant."""
    if part.passed is None and mutant.part in TAKE_MORE:
        return Verdict(mutant.name, caught=mutant.reason, note=f"not judged: {part.reason}")
    if part.passed is not False:
        return Verdict(mutant.name, f"{mutant.part} does not fail: {part.reason}")
    found = re.search(mutant.reason, part.reason)
    if not found:
        return Verdict(mutant.name, f"{mutant.part} fails, but not with /{mutant.reason}/: {part.reason}")
    if not re.search(mutant.next_step, part.next_step):
        return Verdict(mutant.name, f"{mutant.part} is not followed by /{mutant.next_step}/: {part.next_step}")
    for piece in mutant.names:
        lines = lines_with(piece, update)
        if not lines:
            return Verdict(mutant.name, f"Names: no line of the wrong update.cu has '{piece}'")
        if not any(re.search(rf"\bline {line}\b", part.reason) for line in lines):
            return Verdict(mutant.name, f"{mutant.part} does not name line {lines[0]}, '{piece}': {part.reason}")
    # The table is the same with and without a GPU.
    caught = mutant.reason if mutant.part in TAKE_MORE else " ".join(found[0].split())
    return Verdict(mutant.name, caught=caught, note=part.reason)


def try_starter(stage, kit):
    """A starter compiles, and gives wrong answers."""
    with tempfile.TemporaryDirectory(prefix="psflip-starter-") as folder:
        update = Path(folder, "update.cu")
        update.write_text(starter((ROOT / stage / "update.cu").read_text()))
        result = grade_update(stage, update, kit=kit, only=("forward",))
    name = f"starter of {stage}"
    if result.part("build").passed is not True:
        return Verdict(name, f"does not compile: {result.part('build').reason}")
    if result.part("forward").passed is not False:
        return Verdict(name, "passes")
    return Verdict(name)


def try_solution(stage, kit):
    """A solution passes every part that can be judged here."""
    result = grade_update(stage, ROOT / stage / "update.cu", kit=kit)
    failed = [f"{part.name}: {part.reason}" for part in result.parts if part.passed is False]
    return Verdict(f"solution of {stage}", "; ".join(failed) if failed or result.passed else "does not pass")


def prove(model, mutants, with_stages, folder):
    """Tries everything that belongs to a model. Yields verdicts."""
    # The 2D model's is where common/tools/grade looks, too.
    kit = Kit(ROOT, folder if model == MAJORITY.name else folder.with_name(f"{folder.name}-3d"))
    for stage in (stage for stage in kit.stages if with_stages and kit.model(stage) == model):
        yield try_solution(stage, kit)
        yield try_starter(stage, kit)
    for mutant in mutants:
        if kit.model(mutant.stage) == model:
            yield try_mutant(mutant, kit)


def prove_all(mutants, with_stages, folder):
    """The verdicts, in any order. The two models have nothing in common but the machine: each has a kit of its own."""
    verdicts = queue.SimpleQueue()

    def work(model):
        try:
            for verdict in prove(model, mutants, with_stages, folder):
                verdicts.put(verdict)
        except Exception as error:  # whoever reads the queue raises it
            verdicts.put(error)
        verdicts.put(None)

    for model in MODELS:
        threading.Thread(target=work, args=(model.name,), daemon=True).start()
    ended = 0
    while ended < len(MODELS):
        verdict = verdicts.get()
        if isinstance(verdict, Exception):
            raise verdict
        if verdict:
            yield verdict
        else:
            ended += 1


def speed(stages, mutants, folder):
    """What only a GPU shows, one after another: how fast the solutions are, and that cheats get no points for speed.
    Yields verdicts."""
    kit = Kit(ROOT, folder)
    kit.configure("gpu")
    kit.put({})
    here = [stage for stage in stages if not kit.left_out("gpu", stage)]
    progress("building for the GPU ...")
    kit.build("gpu", "", BUILD_SECONDS, [kit.targets("gpu", stage)[0] for stage in here])

    def judged(stage, update, seconds):
        return Judge(Task(stage), {f"{stage}/update.cu": update.read_bytes()}, kit, seconds, ()).judge("speed")

    for stage in stages:
        if stage in here:
            part = judged(stage, ROOT / stage / "update.cu", 60)
            yield Verdict(f"solution of {stage}", "" if part.passed else part.reason, note=part.reason)
        else:
            yield Verdict(f"solution of {stage}", kit.left_out("gpu", stage))
        for mutant in (mutant for mutant in mutants if mutant.stage == stage and stage in here):
            with tempfile.TemporaryDirectory(prefix="psflip-mutant-") as place:
                update = apply(mutant, Path(place))
                yield verdict_on(mutant, judged(stage, update, mutant.seconds), update)


def table(mutants, verdicts):
    caught = {verdict.name: verdict.caught for verdict in verdicts}

    def words(mutant):
        pieces = " and ".join(f"`{piece}`" for piece in mutant.names)
        return f"`{caught[mutant.name]}`" + (f", naming {pieces}" if pieces else "")

    rows = [[mutant.stage[:2], mutant.mistake, mutant.part, words(mutant), f"`{mutant.name}`"] for mutant in mutants]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return as_markdown(["stage", "what the student did", "caught by", "as", "mutant"], rows, 5 * [False])


def filled(text, mutants, verdicts):
    if len(TABLE.findall(text)) != 1:
        raise Failure(f"{GUIDE}: it takes one pair of <!-- mutants --> and <!-- end mutants -->")
    return TABLE.sub(lambda match: f"{match[1]}{table(mutants, verdicts)}\n{match[2]}", text)


def in_numbers(mutants, verdicts, repeat):
    """'9 mutants, 20 times each: '"""
    names = {mutant.name for mutant in mutants}
    others = [verdict.name for verdict in verdicts if verdict.name not in names]
    parts = [f"{len(mutants)} mutants" + (f", {repeat} times each" if repeat > 1 else "")]
    parts += [f"{count} {what}s" for what in ("starter", "solution") if (count := sum(what in name for name in others))]
    return ", ".join(parts) + ": "


def option_parser():
    parser = Parser(
        as_written=False,
        prog="common/tools/mutants",
        description="Proves the checker: every starter compiles and fails, every solution passes, and every wrong "
        f"kernel of {FOLDER} is rejected for the right reason. Then fills the table of {GUIDE}.",
    )
    add = adder(parser)
    add("names", "MUTANT", "only these, or those of a stage, by its number, and fill no table (all of them)", nargs="*")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if the table is stale, too")
    where = "what is compiled once: the 2D model's here, the 3D one's in DIR-3d (build-lab)"
    add("--build-dir", "DIR", where, Path, default=ROOT / "build-lab")
    add("--repeat", "N", "try every mutant so many times, and fill no table (1)", whole, default=1)
    on_gpu = "on a machine with a GPU: only the speed of the solutions, and what cheats there"
    parser.add_argument("--speed", action="store_true", help=on_gpu)
    parser.add_argument("--list", action="store_true", help="only list them")
    return parser


def main(arguments):
    options = option_parser().parse_args(arguments)
    mutants = read_mutants()
    known = [mutant.name for mutant in mutants]
    stages = stages_in(ROOT)
    for name in options.names:
        if name not in known and name not in [stage[:2] for stage in stages]:
            raise Failure(f"'{name}': there is no such mutant or stage; --list names the mutants")
    if options.names:
        mutants = [mutant for mutant in mutants if {mutant.name, mutant.stage[:2]} & set(options.names)]
        stages = [stage for stage in stages if stage[:2] in options.names]
    if options.speed:
        mutants = [mutant for mutant in mutants if mutant.part == "speed"]
        stages = sorted({*stages, *(mutant.stage for mutant in mutants)})
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name:28} {mutant.part:9} {mutant.mistake}")
        return 0

    alone = bool(options.names or options.speed or options.repeat > 1)
    again = [mutant for mutant in mutants for _ in range(options.repeat)]  # so each is compiled once
    tried = (
        speed(stages, mutants, options.build_dir) if options.speed else prove_all(again, not alone, options.build_dir)
    )
    verdicts = []
    for verdict in tried:
        verdicts.append(verdict)
        progress(f"{len(verdicts)} tried, last {verdict.name}")
        if verdict.problem:
            print(f"{verdict.name}: {verdict.problem}", flush=True)
        elif options.speed or verdict.note.startswith("not judged"):
            print(f"{verdict.name}: {'as it should be: ' if verdict.caught else ''}{verdict.note}", flush=True)
    wrong = sum(bool(verdict.problem) for verdict in verdicts)
    print(
        in_numbers(mutants, verdicts, options.repeat)
        + (f"{wrong} not as they should be" if wrong else "all as they should be")
    )
    if wrong or alone:
        return 1 if wrong else 0

    guide = ROOT / GUIDE
    old = guide.read_text()
    new = filled(old, mutants, verdicts)
    if new != old:
        print(f"{GUIDE}: {'stale; run common/tools/mutants' if options.check else 'table filled'}")
        if not options.check:
            guide.write_text(new)
    return 1 if options.check and new != old else 0
