"""What an instructor asks for: tasks, their points and deadlines, in a TOML file as in common/lab/README.md."""

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from lab.gates import GATES
from stages import Failure

# The parts of a result, in the order in which they are judged, and what each counts. A part that cannot be judged (no
# GPU) counts neither for nor against.
WEIGHTS = {"build": 0, "line": 4}  # the line that is wrong, of a kernel to be debugged
WEIGHTS |= {"asked": 1}  # where an exercise asks for more than right bits
WEIGHTS |= {"forward": 2, "reversed": 1, "shuffled": 1, "fresh": 1, "races": 2, "memory": 1}
WEIGHTS |= {"nvcc": 1, "counters": 1}  # where there is nvcc; where a task has gates
WEIGHTS |= {"gpu": 1, "sanitizer": 0, "speed": 1}  # these take a GPU
MARK = re.compile(r"^## (?P<number>\d+)\. (?P<title>.+)\n(?:<!-- code: (?P<files>.+) -->\n)?", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    stage: str  # the folder's name
    exercise: int | None = None
    points: float = 10
    due: str = ""
    gates: dict = field(default_factory=dict, hash=False)
    debug: bool = False  # a wrong kernel is handed out, whose line is to be named and mended

    @property
    def name(self):
        if self.debug:
            return f"{self.stage}, debugging"
        return self.stage if self.exercise is None else f"{self.stage}, exercise {self.exercise}"


@dataclass
class Course:
    tasks: list[Task]
    title: str = "psFlip"
    text: str = ""
    hints: bool = True
    cuda: bool = True  # a GPU is used where there is one
    weights: dict = field(default_factory=lambda: dict(WEIGHTS))
    draw: str = ""  # by this and the student's number a wrong kernel is drawn; never handed out
    number: str = ""  # the student's, in an assignment of kernels to be debugged


def stages_in(root):
    """The folders of the stages that have a part for students."""
    return sorted(
        path.parent.name for path in root.glob("[0-9][0-9]_*/CMakeLists.txt") if (path.parent / "update.cu").is_file()
    )


def stage_called(wish, root):
    """The folder of a stage by its number or its name."""
    folders = stages_in(root)
    for folder in folders:
        if wish in (folder, folder[:2]):
            return folder
    raise Failure(f"there is no stage '{wish}' to hand out; there are {', '.join(folders)}")


def files_of(task, root):
    """The files that a student may edit, relative to the root, the stage's own first."""
    if task.exercise is None:
        return [f"{task.stage}/update.cu"]
    exercises = {int(mark["number"]): mark for mark in MARK.finditer((root / task.stage / "exercises.md").read_text())}
    asks = [number for number, mark in exercises.items() if mark["files"]]
    if task.exercise not in asks:
        known = f"these are {', '.join(map(str, asks))}" if asks else "the stage has none"
        raise Failure(f"{task.name}: no exercise that the checker can judge; {known}")
    names = exercises[task.exercise]["files"].split()
    files = [f"{task.stage}/{name}" if (root / task.stage / name).is_file() else name for name in names]
    for file in files:
        if not (root / file).is_file():
            raise Failure(f"{task.name}: there is no file {file}")
    return files


def course_from(table, where, root):
    """The course that a parsed TOML file describes. Failure, naming the key, if something in it makes no sense."""

    def expect(condition, key, value, allowed):
        if not condition:
            raise Failure(f"{where}: {key} is {value!r}; allowed is {allowed}")

    def known(part, keys, name):
        for key in part:
            expect(key in keys, f"a key of {name}", key, ", ".join(keys))

    def expect_number(key, value):
        expect(type(value) in (int, float) and 0 <= value < 1e6, key, value, "a number from 0")

    usual = {"title": "psFlip", "text": "", "draw": "", "number": ""}
    texts = {key: table.get(key, usual[key]) for key in usual}
    known(table, [*texts, "hints", "cuda", "task", "weights"], "the file")
    for key, value in texts.items():
        expect(isinstance(value, str), key, value, "a text")
    flags = {key: table.get(key, True) for key in ("hints", "cuda")}
    for key, value in flags.items():
        expect(type(value) is bool, key, value, "true or false")
    tasks = table.get("task", [])
    are_tables = isinstance(tasks, list) and all(isinstance(task, dict) for task in tasks)
    expect(are_tables, "task", tasks, "a list of [[task]]")
    result, keys = [], ["stage", "exercise", "points", "due", "gates", "debug"]
    for task in tasks:
        known(task, keys, "a task")
        usual = {"points": 10, "due": "", "gates": {}, "debug": False}
        stage, exercise, points, due, gates, debug = ((usual | task).get(key) for key in keys)
        expect(isinstance(stage, str), "stage", stage, "a stage's number or name in quotes")
        expect_number("points", points)
        expect(isinstance(due, str), "due", due, "a text")
        is_number = type(exercise) is int and exercise > 0
        expect(exercise is None or is_number, "exercise", exercise, "a number from 1")
        expect(type(debug) is bool, "debug", debug, "true or false")
        expect(not debug or exercise is None, "exercise", exercise, "none where debug is true")
        expect(isinstance(gates, dict), "gates", gates, "a table")
        known(gates, list(GATES), "gates")
        for name, most in gates.items():
            expect_number(f"gate {name}", most)
        result.append(Task(stage_called(stage, root), exercise, points, due, gates, debug))
        files_of(result[-1], root)
    weights = table.get("weights", {})
    expect(isinstance(weights, dict), "weights", weights, "a table")
    known(weights, list(WEIGHTS), "weights")
    for name, weight in weights.items():
        expect_number(f"weight {name}", weight)
    return Course(result, **texts, **flags, weights=WEIGHTS | weights)


def one_task_a_stage(course):
    stages = [task.stage for task in course.tasks]
    for stage in stages:
        if stages.count(stage) > 1:
            raise Failure(f"{stage} has two tasks, which would edit the same files; make an assignment of each")
    return course


def read_course(path, root):
    try:
        with Path(path).open("rb") as file:
            return course_from(tomllib.load(file), str(path), root)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: not a TOML file: {error}") from None


def as_toml(course):
    """The file that read_course() reads as this course. A JSON string of ASCII is a TOML string, too."""
    lines = [f"title = {json.dumps(course.title)}", f"text = {json.dumps(course.text)}"]
    lines += [f"{key} = {json.dumps(value)}" for key in ("draw", "number") if (value := getattr(course, key))]
    lines += [f"{key} = false" for key in ("hints", "cuda") if not getattr(course, key)]
    for task in course.tasks:
        lines += ["", "[[task]]", f"stage = {json.dumps(task.stage)}", f"points = {task.points}"]
        lines += [f"exercise = {task.exercise}"] if task.exercise is not None else []
        lines += ["debug = true"] if task.debug else []
        lines += [f"due = {json.dumps(task.due)}"] if task.due else []
        gates = ", ".join(f"{name} = {most}" for name, most in task.gates.items())
        lines += [f"gates = {{ {gates} }}"] if gates else []
    changed = {name: weight for name, weight in course.weights.items() if weight != WEIGHTS[name]}
    if changed:
        lines += ["", "[weights]", *(f"{name} = {weight}" for name, weight in changed.items())]
    return "\n".join(lines) + "\n"
