"""Assignments: the files that one needs, with starters in place of solutions, and texts that give nothing away."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

from lab import cases
from lab.course import as_toml, files_of
from lab.gates import limits_in_words
from lab.hints import as_details, exercises_in, hints_in, without_hints
from lab.regions import starter, without_references
from lab.wrong import debugging
from models import REFERENCE_FOLDER
from stages import Failure, models_of, without_answers

CODE = (".cpp", ".hpp", ".h", ".cu", ".cuh")
NO_SOURCE = (".md", ".py", ".svg", ".png", ".json", ".csv", ".rudy", ".pyc")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
OF_OTHERS = re.compile(r"include\(\S*/\.\./(\d\d_\w+/\w+\.cmake)\)")  # a stage that takes libraries of another
# Only psFlip's own tests need these, and fuzz targets with their inputs; nvcc is a command.
INSTEAD = "lab"  # a stage's folder of files that take the place of its own in an assignment
NOT_BUILT = ("common/gpu/on_cpu/test", "common/gpu/on_cpu/nvcc")


def files_below(folder, root):
    """All files of a folder that a build of it may need, relative to the root."""
    for path, folders, names in os.walk(root / folder):
        folders[:] = sorted(
            name for name in folders if name != "corpus" and Path(path, name) != root / folder / INSTEAD
        )
        for name in sorted(names):
            file = Path(path, name).relative_to(root)
            if file.suffix not in NO_SOURCE and not name.endswith("_fuzz.cpp") and not str(file).startswith(NOT_BUILT):
                yield file


def model_of(stage, root):
    """The model that the stage's update.cu is an engine of; a stage may teach the other one beside it."""
    return models_of(root / stage)[0].name


def sources_of(stages, root):
    """Every file that the build of these stages needs, relative to the root: the parts of common, the reference, their
    own folders, and what these include of other stages."""
    return sorted(closure(stages, root, {}))


def changes_for(task, root):
    """What a task's lab.toml keeps from whoever has the task, as it answers it: {file: None}; and {file: file} that
    takes its place."""
    if not (root / "common/lab/check").is_file():
        return {}  # an assignment is what came of it
    folder, said = Path(task.stage), cases.told(task)
    changes = {}
    for pattern in said["left_out"]:
        found = [path.relative_to(root) for path in (root / folder).glob(pattern) if path.is_file()]
        changes |= dict.fromkeys(found)
    if said["left_out"]:
        instead = folder / INSTEAD
        changes |= {
            folder / file.relative_to(root / instead): file.relative_to(root)
            for file in (root / instead).rglob("*")
            if file.is_file()
        }
    return changes


def assigned_sources(tasks, root):
    """{file in an assignment of these tasks: file of psFlip that it is}, both relative."""
    changes = {}
    for task in tasks:
        changes |= changes_for(task, root)
    files = closure([task.stage for task in tasks], root, changes)
    return {file: changes.get(file, file) for file in sorted(files)}


def refuse_answers(file, needed, changes):
    for place in sorted(needed):
        if changes.get(place, place) is None:
            raise Failure(f"{file} needs {place}, which answers a task; make an assignment of each stage")


def closure(stages, root, changes):
    """sources_of() with these changes. Failure if something needs a file that is left out."""

    def text_of(file):
        return (root / changes.get(file, file)).read_text()

    models = sorted({model.name for stage in stages for model in models_of(root / stage)})
    parts = ["app", "cmake", "gpu", "random", *models]
    found = {Path("common/CMakeLists.txt"), Path(REFERENCE_FOLDER, "CMakeLists.txt")}
    for model in models:
        found |= {Path(REFERENCE_FOLDER, f"{model}{kind}.cpp") for kind in ("", "_test")}
    for folder in [f"common/{part}" for part in parts] + list(stages):
        found |= set(files_below(folder, root))
    found -= {file for file, other in changes.items() if other is None}
    for stage in stages:
        for name in OF_OTHERS.findall(text_of(Path(stage, "CMakeLists.txt"))):
            other = Path(name)
            named = re.findall(r"[\w./]*\w\.(?:cuh?|cpp)\b", (root / other).read_text())
            parts = (other.parent / part.lstrip("/") for part in named)
            needed = {other, *(part for part in parts if (root / part).is_file())}
            found |= needed
            refuse_answers(other, needed, changes)

    waiting = [file for file in found if file.suffix in CODE]
    while waiting:
        file = waiting.pop()
        for name in INCLUDE.findall(text_of(file)):
            for place in (file.parent / name, Path(name), Path("common") / name):
                if (root / place).is_file():
                    place = Path(os.path.normpath(place))
                    refuse_answers(file, [place], changes)
                    if place not in found:
                        found.add(place)
                        waiting.append(place)
                    break
    return found


# The checker itself.
LAB = "__init__ asked assignment cases classroom confine course cuda_rules diagnose gates grade hints kit page regions"
LAB += " results sandbox similar symbols wrong/__init__ wrong/debugging wrong/patches"
TOOLS = [f"common/tools/lab/{name}.py" for name in LAB.split()]
TOOLS += [f"common/tools/counted/{name}.py" for name in ("advice", "predict", "recording", "show")]
NEEDED = "grade setup.bash models.py options.py results.py stages.py table.py"
TOOLS += [f"common/tools/{name}" for name in NEEDED.split()]
HINT_TOOLS = ["common/tools/hint"]  # where there are hints to show


def without_dead_links(text, stage, root, present, left_out=()):
    """Links to what the assignment does not have become their text. Returns the pictures that it shows, too."""
    pictures = []

    def link(match):
        target = Path(os.path.normpath(Path(stage, match["target"].split("#")[0])))
        if "://" in match["target"] or target in present:
            return match[0]
        if match["picture"] and (root / target).is_file() and target not in left_out:
            pictures.append(target)
            return match[0]
        return match["text"]

    text = re.sub(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)", link, text)
    return text, pictures


def exercise_of(task, root):
    """Title and text of a task's exercise, with its hints."""
    return exercises_in((root / task.stage / "exercises.md").read_text())[task.exercise]


def exercises_file(task, files, root, hints):
    """The exercises.md of an assignment: for the checker, which files are the student's; for the command hint, the
    hints."""
    title, words = exercise_of(task, root)
    text = f"## {task.exercise}. {title}\n<!-- code: {' '.join(files)} -->\n"
    return text + ("\n" + as_details(hints_in(words)) if hints else "")


def report(mutant, root):
    """What a student reads of a kernel that is to be debugged."""
    shows = debugging.command(mutant, "build-check/plain", model_of(mutant.stage, root))
    return f"## Your task: a report\n\n> {mutant.symptom}\n\nThis shows it, after the first `./check`:\n\n    {shows}\n"


def handout(task, root, present, hints, mutant=None):
    """What a student reads about a task: the idea, what to predict, the traps; for an exercise its text as well, for a
    kernel to be debugged what was reported of it."""
    title, text = without_answers((root / task.stage / "README.md").read_text()).split("\n", 1)
    parts = [f"{title}\n"] + ([report(mutant, root)] if mutant else [])
    if task.exercise is not None:
        exercise, words = exercise_of(task, root)
        parts.append(
            f'## Your task: {exercise}\n\n{without_hints(words)}\n\n"All tests pass" means here: `./check` says so.\n'
        )
        if hints:
            parts.append(
                f"You are stuck? `common/tools/hint {task.stage[:2]}.{task.exercise}` shows three hints, one by one.\n"
            )
    words, left_out = "\n".join([*parts, text.lstrip("\n")]), changes_for(task, root)
    text, pictures = without_dead_links(words, task.stage, root, present, left_out)
    text = without_references(text)
    return re.sub(r"^<!-- .* -->\n", "", text, flags=re.MULTILINE), pictures


# What the README says of GPUs.
USES_GPU = {
    "runs": "on the CPU and, if there is one, on the GPU",
    "toolkit": " With a GPU,\nthe CUDA toolkit's `nvcc` has to be on the PATH.",
    "nvcc": "| nvcc | does nvcc compile it? (only where it is; it takes no GPU) |\n",
    "native": "the same on a GPU, if there is one; how fast it is",
}
# What students do with a file that is to be written, and with one that is to be debugged.
TO_WRITE = """
Your part lies between `// --- yours:` and `// --- end`; the first line is a hint. What is there now compiles and does
nothing. Each folder has a README: the idea, what to predict before you measure, the traps. Predict first.
"""
TO_DEBUG = """
The kernel that you debug is complete, and wrong. The README of its folder begins with the report of somebody who used
it. Find the line, write its number and your reasons into `answer.txt`, and mend `update.cu`. Both count. Lines are
those of `as_handed_out.txt`. `./check` says which parts fail, not why: the command that it shows asks the tool, and you
read the answer. It does not know the line.

| tool | how it is called | what it knows |
| --- | --- | --- |
| order of threads | `PSFLIP_SCHEDULE=reversed`, `shuffled:2`, ... before a program | what depends on the order |
| late streams | `PSFLIP_LAZY_STREAMS=1` before a program | work that nobody waits for |
| ThreadSanitizer | `./check --only races`, then `build-check/races/...` | two threads at one place |
| AddressSanitizer, UBSan | `./check --only memory`, then `build-check/memory/...` | bounds of arrays, overflow |
| counters | `./check --only counters` | loads and stores, the lines that cost most |
{native_tool}| the reference | `build-check/plain/{reference}/PROGRAM`, the same problem | the right hash |
"""
NATIVE_TOOL = (
    "| compute-sanitizer | `compute-sanitizer --tool racecheck` (`memcheck`, `synccheck`) before a program in "
)
NATIVE_TOOL += "`build-check/gpu`, on a GPU | the same as the sanitizers, natively |\n"
USES_NONE = {"runs": "on the CPU", "toolkit": "", "nvcc": "", "native": "not judged: this assignment uses no GPU"}


def read_me(course, files, root):
    rows = [
        f"| [{task.name}]({task.stage}/README.md) | {', '.join(f'`{file}`' for file in edited(task, files[task]))} "
        f"| {task.points:g} "
        f"| {task.due or '-'} |"
        for task in course.tasks
    ]
    first = course.tasks[0].stage
    text = f"\n{course.text.strip()}\n" if course.text.strip() else ""
    text += "".join(
        f"\n{task.name}: the kernel may take {limits_in_words(cases.gates(task))}; `./check` counts it without a GPU.\n"
        for task in course.tasks
        if cases.gates(task)
    )
    uses = USES_GPU if course.cuda else USES_NONE
    words = {"title": course.title, "text": text, "tasks": "\n".join(rows)}
    words["todo"] = (TO_WRITE if any(not task.debug for task in course.tasks) else "") + (
        TO_DEBUG.format(reference=REFERENCE_FOLDER, native_tool=NATIVE_TOOL if course.cuda else "")
        if course.number
        else ""
    )
    template = (root / "common/lab/README.template.md").read_text()
    return template.format(number=first[:2], stage=first, model=model_of(first, root), **uses, **words)


def edited(task, files):
    return files + [f"{task.stage}/{debugging.ANSWER}"] * task.debug


def copy_sources(root, sources, folder):
    """Brings these files, {where: which}, and what builds them into a folder; files that have not changed keep their
    time."""
    for file, source in sources.items():
        update_file(folder / file, (root / source).read_bytes())
    update_file(folder / "CMakeLists.txt", assignment_cmake(root).read_bytes())


def update_file(target, content):
    """Writes a file unless it has this content already."""
    if target.is_file() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def assignment_cmake(root):
    """In psFlip the build of an assignment lies with the lab; in an assignment it lies on top."""
    template = root / "common/lab/CMakeLists.txt"
    return template if template.is_file() else root / "CMakeLists.txt"


def origins_of(tasks):
    """{update.cu: file that its starter is made of}, where all tasks of a stage say the same."""
    said = {
        stage: {cases.told(task)["starter"] for task in tasks if task.stage == stage}
        for stage in {task.stage for task in tasks}
    }
    return {f"{stage}/update.cu": f"{stage}/{files.pop()}" for stage, files in said.items() if len(files) == 1}


def make_assignment(course, root, out):
    """Writes the assignment into a new folder. Failure if there is one, and nothing is written."""
    if not course.tasks:
        raise Failure("there is no task: name a stage, or give a file with --course")
    if not (root / "common/lab/check").is_file():
        raise Failure(f"{root}: an assignment is made from psFlip, not from another assignment")
    if out.exists():
        raise Failure(f"--out {out}: exists already; give a new folder")
    files = {task: files_of(task, root) for task in course.tasks}
    yours = {file for task in course.tasks for file in files[task]}
    mutants = {
        task: debugging.drawn(task.stage, course.number, course.draw, root) for task in course.tasks if task.debug
    }
    sources = assigned_sources(course.tasks, root)
    present = {*sources, *(Path(task.stage, "README.md") for task in course.tasks)}
    try:
        emptied = {file for task in course.tasks for file in cases.told(task)["emptied"]}
        origins = origins_of(course.tasks)
        starters = {
            file: starter((root / origins.get(file, file)).read_text(), file) for file in sorted(yours | emptied)
        }
    except ValueError as error:
        raise Failure(str(error)) from None
    for task, mutant in mutants.items():
        wrong = debugging.handed_out(mutant, root)
        starters |= {f"{task.stage}/update.cu": wrong, f"{task.stage}/{debugging.AS_IT_WAS}": wrong}
        starters[f"{task.stage}/{debugging.ANSWER}"] = debugging.FORM

    part = out.with_name(out.name + ".part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir()
        copy_sources(root, sources, part)
        for file, text in starters.items():
            (part / file).write_text(text)
        with_hints = course.hints and any(task.exercise is not None for task in course.tasks)
        for file in TOOLS + (HINT_TOOLS if with_hints else []):
            (part / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / file, part / file)
        for task in course.tasks:
            text, pictures = handout(task, root, present, course.hints, mutants.get(task))
            (part / task.stage / "README.md").write_text(text)
            if task.exercise is not None:
                text = exercises_file(task, files[task], root, course.hints)
                (part / task.stage / "exercises.md").write_text(text)
            for picture in pictures:
                shutil.copy(root / picture, part / picture)
        shutil.copy(root / "common/lab/check", part / "check")
        (part / ".github/workflows").mkdir(parents=True)
        shutil.copy(root / "common/lab/check.yml", part / ".github/workflows/check.yml")
        shutil.copy(root / "LICENSE", part / "LICENSE")
        (part / "course.toml").write_text(as_toml(replace(course, draw="")))
        (part / "README.md").write_text(read_me(course, files, root))
        (part / ".gitignore").write_text("/build*/\n__pycache__/\n")
        part.rename(out)
    except OSError as error:
        raise Failure(f"--out {out}: {error.strerror}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
