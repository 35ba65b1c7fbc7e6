"""Proves the checker by wrong kernels (lab/wrong/patches.py), each of which it must reject, and by what it says.

What takes a GPU or nvcc to be judged is only compiled for the CPU where there is none.
"""

import queue
import re
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from lab import cases
from lab.course import MARK, WEIGHTS, Task, files_of, stages_in
from lab.diagnose import Finding
from lab.grade import BUILD_SECONDS, TAKE_MORE, Judge, Result, grade, grade_update, share_out
from lab.kit import Kit
from lab.regions import starter
from lab.wrong import debugging
from lab.wrong.patches import FOLDER, apply, read_mutants
from models import MAJORITY, MODELS
from options import Parser, adder, whole
from stages import ROOT, Failure, progress
from table import as_markdown

GUIDE = "common/lab/INSTRUCTOR.md"
PATIENCE = 600  # seconds that a run of a right kernel may take: it ends, however busy the machine is
TABLE = re.compile(r"(<!-- mutants -->\n).*?(<!-- end mutants -->)", re.DOTALL)


def lines_with(piece, file):
    return [number for number, line in enumerate(file.read_text().splitlines(), 1) if piece in line]


@dataclass
class Verdict:
    """How a grading came out against what was expected of it."""

    name: str
    problem: str = ""  # why it is not as expected
    caught: str = ""  # the words of the reason that the table shows
    note: str = ""  # why it was not judged, or what was said of a solution


def try_mutant(mutant, kit, times=1):
    """Builds it once and judges it so many times. Yields verdicts."""
    with tempfile.TemporaryDirectory(prefix="psflip-mutant-") as folder:
        update = apply(mutant, Path(folder))
        task = Task(mutant.stage, mutant.exercise)
        own = files_of(task, ROOT)[0] if mutant.exercise is None else f"{mutant.stage}/{mutant.file}"
        files = {own: update.read_bytes()}
        result = grade(task, files, kit=kit, only=(mutant.part,), seconds=mutant.seconds)
        yield verdict_on(mutant, result.part(mutant.part), update)
        for _ in range(times - 1):
            again = Judge(task, files, kit, mutant.seconds, ()).judge(mutant.part)
            yield verdict_on(mutant, again, update)


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
    result = grade_update(stage, ROOT / stage / "update.cu", kit=kit, seconds=PATIENCE)
    failed = [f"{part.name}: {part.reason}" for part in result.parts if part.passed is False]
    return Verdict(f"solution of {stage}", "; ".join(failed) if failed or result.passed else "does not pass")


def try_debugging(mutant, mended, kit):
    """A kernel that is handed out to be debugged: the right line with the mended kernel passes; any other answer does
    not, and has the points of what is right in it. `mended`: what was judged of the right kernel."""
    lines = debugging.right_lines(mutant)
    right, wrong = min(lines), next(n for n in range(max(lines), 0, -1) if n not in lines)
    given = parts_of(mutant, debugging.handed_out(mutant), mutant.part, kit, mutant.seconds)
    problems = [] if shows_symptom(mutant, kit) else [f"'{mutant.shows}' shows nothing"]
    for what, parts, line, expected in (
        ("mended, right line", mended, right, (True, True)),
        ("mended, wrong line", mended, wrong, (True, False)),
        ("as handed out, right line", given, right, (False, True)),
        ("as handed out, wrong line", given, wrong, (False, False)),
    ):
        task, attempt = Task(mutant.stage, debug=True), debugging.Attempt(f"line: {line}\n", mutant)
        named = Judge(task, {}, kit, mutant.seconds, (), attempt).judge("line")
        result = Result(task, [replace(part) for part in parts] + [named])
        share_out(result, WEIGHTS)
        earned = any(part.score for part in result.parts[:-1]), result.parts[-1].score > 0
        if earned != expected or result.passed != all(expected):
            said = "; ".join(f"{part.name}: {part.score:g} of {part.points:g}, {part.reason}" for part in result.parts)
            problems.append(f"{what}: {said}")
    return Verdict(mutant.name, "; ".join(problems), caught="as reported")


def parts_of(mutant, text, part, kit, seconds):
    """The parts of a kernel that was to be debugged, but for the line."""
    files = {f"{mutant.stage}/update.cu": text.encode()}
    task = Task(mutant.stage, debug=True)
    return grade(task, files, kit=kit, only=(part,), seconds=seconds).parts


def shows_symptom(mutant, kit):
    """Whether the kernel that was built last ends as the reference does not, where it should."""
    environ, problem, launch = debugging.shown(mutant)
    case = cases.Case(tuple(problem), tuple(launch), debugging.ranks_of(mutant))
    judge = Judge(Task(mutant.stage), {}, kit, mutant.seconds, ())
    try:
        return judge.hash("plain", case, environ) != judge.reference_hash(case)
    except Finding:
        return True


def prove_debugging(model, mutants, folder):
    """Tries every kernel that is handed out to be debugged, a stage at a time, and that what was reported of it is not
    so of the right one. Yields verdicts."""
    kit = kit_of(model, folder)
    for stage in (stage for stage in kit.stages if kit.model(stage) == model):
        own = [mutant for mutant in mutants if mutant.stage == stage]
        if own:
            solution = debugging.without_marks((ROOT / stage / "update.cu").read_text())
            mended = parts_of(own[0], solution, "forward", kit, PATIENCE)
            always = [mutant.shows for mutant in own if shows_symptom(mutant, kit)]
            said = f"these show something with the right kernel, too: {always}" if always else ""
            yield Verdict(f"right kernel of {stage}", said)
        for mutant in own:
            yield try_debugging(mutant, mended, kit)


def kit_of(model, folder):
    """The 2D model's is where common/tools/grade looks, too."""
    return Kit(ROOT, folder if model == MAJORITY.name else folder.with_name(f"{folder.name}-3d"))


def try_untouched(task, kit):
    """The stage's solution, with its right bits, is none of an exercise."""
    files = {name: (ROOT / name).read_bytes() for name in files_of(task, ROOT)}
    result = grade(task, files, kit=kit, only=("asked", "counters"))
    passed = [f"{part.name}: {part.reason}" for part in result.parts]
    return Verdict(f"untouched {task.name}", f"passes: {'; '.join(passed)}" if result.passed else "")


def exercises_of(stage):
    """The exercises of a stage that ask for code."""
    marks = MARK.finditer((ROOT / stage / "exercises.md").read_text())
    return [Task(stage, int(mark["number"])) for mark in marks if mark["files"]]


def prove(model, mutants, with_stages, folder, times=1):
    """Tries everything that belongs to a model, its mutants so many times. Yields verdicts."""
    kit = kit_of(model, folder)
    for stage in (stage for stage in kit.stages if with_stages and kit.model(stage) == model):
        yield try_solution(stage, kit)
        yield try_starter(stage, kit)
        for task in exercises_of(stage):
            yield try_untouched(task, kit)
    for mutant in mutants:
        if kit.model(mutant.stage) == model:
            yield from try_mutant(mutant, kit, times)


def in_both_models(tries):
    """The verdicts that tries(model) yields, in any order. The two models have nothing in common but the machine: each
    has a kit of its own."""
    verdicts = queue.SimpleQueue()

    def work(model):
        try:
            for verdict in tries(model):
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
    for what in ("starter", "solution", "untouched exercise"):
        count = sum(what.split()[0] in name for name in others)
        parts += [f"{count} {what}s"] * (count > 0)
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
    repeat = "build every mutant once, judge it so many times by what was built, and fill no table (1)"
    add("--repeat", "N", repeat, whole, default=1)
    debugging = "only the kernels that are handed out to be debugged: every right answer passes, and no wrong one"
    parser.add_argument("--debug", action="store_true", help=debugging)
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
    if options.debug:
        mutants = [mutant for mutant in mutants if mutant.symptom]
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name:28} {mutant.part:9} {mutant.symptom if options.debug else mutant.mistake}")
        return 0

    alone = bool(options.names or options.speed or options.debug or options.repeat > 1)
    folder = options.build_dir
    if options.speed:
        tried = speed(stages, mutants, folder)
    elif options.debug:
        again = [mutant for mutant in mutants for _ in range(options.repeat)]  # so each is compiled once
        tried = in_both_models(lambda model: prove_debugging(model, again, folder))
    else:
        tried = in_both_models(lambda model: prove(model, mutants, not alone, folder, options.repeat))
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
