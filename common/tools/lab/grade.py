"""Judges a submission: PARTS in order, each with a reason and a next step.

Nothing of the submission is believed but its states. It is compiled into psFlip's own programs, whose sources are the
instructor's. The tests report to a file with a name drawn for the run, and every test that is expected must be in it;
so a program that ends early, whatever its exit code and whatever it prints, has passed nothing. And since code inside
a test could forge its report, problems drawn for the run are solved by two programs, the submission's and the
reference's, whose hashes are compared here.
"""

import contextlib
import fcntl
import itertools
import json
import math
import os
import random
import re
import secrets
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from counted import predict
from lab import asked, cases, cuda_rules, diagnose, gates, sandbox, symbols
from lab.course import WEIGHTS, Task
from lab.diagnose import Finding, Source
from lab.wrong import debugging
from models import MAJORITY, REFERENCE_FOLDER
from stages import OPEN_MPI, ROOT, gpu_is_visible, progress

PARTS = tuple(WEIGHTS)  # what is judged, in this order
TAKE_MORE = ("nvcc", "gpu", "sanitizer", "speed")  # than every machine has
SCHEDULES = ("forward", "reversed", "shuffled")
ORDERS = ("forward", "shuffled:1", "shuffled:2")  # of the threads, when races are looked for
SPARED = ("Physics", "VeryManySamples", "VeryLarge", "ObservesAsTheHostDoes")  # take long, look at no index
FULL_SPEED, LEAST_SPEED = 0.8, 0.5  # of the reference's: full points, and passed at all
FEW_UPDATES, LEAST_SECONDS = 10, 0.5  # of a timed run, and how much longer one with many must take
TIMED_RUNS = 2  # of each program and number of updates on each of the problems
CERTAIN = 0.8  # of the least time that a problem's bytes take: what is faster has not moved them
CERTAIN_TIMES = 3  # it has to be so often: a machine with other work may time anything once
BUILD_SECONDS = 900
# Where indices are large: the first and the last block are enough, and touch little of the memory that is asked for.
FAR = {"ASAN_OPTIONS": "detect_leaks=0", "PSFLIP_CPU_BLOCKS": "ends", "PSFLIP_CPU_MEMORY": "8000000000"}
REPORTS = ("--gtest_output=json:report-", "--json")  # options by which a program writes what the checker reads
TOOLS = ("memcheck", "racecheck", "synccheck")  # of compute-sanitizer


@dataclass
class Part:
    name: str  # one of PARTS
    passed: bool | None  # None: cannot be judged here, and counts neither for nor against
    reason: str
    next_step: str = ""
    points: float = 0  # at most
    score: float = 0
    share: float = 1  # of the points, if passed
    command: str = ""  # shows again what is wrong
    picture: str = ""  # of where it is wrong
    seconds: float | None = None  # that judging it took, building included
    value: float | None = None  # what a leaderboard shows, in `unit`
    unit: str = ""


@dataclass
class Result:
    task: Task
    parts: list[Part] = field(default_factory=list)

    @property
    def stage(self):
        return self.task.stage

    def part(self, name):
        return next(part for part in self.parts if part.name == name)

    @property
    def points(self):
        return self.task.points

    @property
    def score(self):
        return sum(part.score for part in self.parts)

    @property
    def passed(self):
        return all(part.passed is not False for part in self.parts)


class Tampering(Exception):
    """The submission wrote where it has no business."""


class NotHere(Exception):
    """The part cannot be judged on this machine; says why."""


def grade_update(stage, update, *, kit, only=PARTS, seconds=60):
    """Judges a file in place of the stage's update.cu. `kit` (lab.kit.Kit) has what is compiled once; `only`: the parts
    to judge, besides the build; `seconds`: the most that one run may take. Returns a Result."""
    return grade(Task(stage), {f"{stage}/update.cu": Path(update).read_bytes()}, kit=kit, only=only, seconds=seconds)


def grade(
    task, files, *, kit, only=PARTS, seconds=60, weights=WEIGHTS, watched=(), attempt=None, tell=lambda part: None
):
    """The same for any task. `files`: {name relative to psFlip's root: content}, those of files_of(task). `watched`:
    folders in which nothing may change meanwhile. `attempt` (debugging.Attempt): where a kernel was to be debugged.
    `tell` is called with each part as soon as it is judged."""
    judge = Judge(task, files, kit, seconds, watched, attempt)
    result = Result(task)
    blocked = ""
    for name in PARTS:
        if (name != "build" and name not in only) or (name == "line" and not task.debug):
            continue
        if name == "asked" and not cases.told(task)["asks"]:
            continue
        if name == "counters" and not cases.gates(task) and list(only) == list(PARTS):
            continue  # it is wanted where something is asked of it, or by name
        if name == "nvcc" and not (kit.cuda and shutil.which("nvcc")) and list(only) == list(PARTS):
            continue
        if blocked and name != "line":
            result.parts.append(Part(name, False, f"not judged: {blocked}"))
            tell(result.parts[-1])
            continue
        progress(f"{task.name}: {name} ..." + (" (the first call takes minutes)" if name == "build" else ""))
        start = time.monotonic()
        part = judge.judge(name)
        part.seconds = time.monotonic() - start
        if part.passed is False and name in ("reversed", "shuffled"):
            if any(other.name == "forward" and other.passed for other in result.parts):
                part.next_step = "right forward, so the result depends on the order of the threads: see 'races'"
            else:
                part.picture = ""  # one is enough
        result.parts.append(part)
        progress("")
        tell(part)
        if judge.tampered:
            blocked = "the code wrote outside its folder"
        elif name == "build" and not part.passed:
            blocked = "there is no program"
        elif judge.hung and not part.passed:
            blocked = f"'{name}' did not end"
    share_out(result, weights)
    if judge.tampered:
        for part in result.parts:
            part.score = 0
    return result


def nothing_to_judge(task, reason, weights):
    """The result of a task whose files are not there."""
    result = Result(task, [Part("build", False, reason, "hand in all files of the task")])
    without = {"line": not task.debug, "asked": not cases.told(task)["asks"]}
    others = [name for name in PARTS[1:] if not without.get(name)]
    result.parts += [Part(name, False, "not judged: there is no program") for name in others]
    share_out(result, weights)
    return result


def share_out(result, weights):
    """Points by weight, among the parts that could be judged. Only what is right can be free of races, or fast. A
    kernel to be debugged was right in most parts from the start: it has the points of all, or none."""
    counting = [part for part in result.parts if part.passed is not None]
    total = sum(weights[part.name] for part in counting)
    right = all(part.passed for part in result.parts if part.name in ("build", "asked", "forward", "fresh"))
    whole = all(part.passed for part in counting if part.name != "line")
    for part in counting:
        part.points = result.task.points * weights[part.name] / total if total else 0
        earned = (whole or part.name == "line") if result.task.debug else (right or part.name in SCHEDULES)
        part.score = part.points * part.share if part.passed and earned else 0
    if total == 0 and all(part.passed for part in counting):  # only parts without a weight were asked for
        counting[0].points = counting[0].score = result.task.points


class Judge:
    def __init__(self, task, files, kit, seconds, watched, attempt=None):
        self.task, self.files, self.kit, self.seconds = task, files, kit, seconds
        self.attempt = attempt
        self.model = kit.model(task.stage)
        self.source = Source(files)
        self.watched = (kit.tree, *watched)
        self.tampered = self.hung = False
        self.last = ""  # the command that was run last
        self.device = ""  # where programs are timed

    def judge(self, name):
        self.last = f"./check {self.task.stage[:2]} --only {name}"
        try:
            in_order = name in SCHEDULES
            said = self.tests("plain", "cpu", {"PSFLIP_SCHEDULE": name}) if in_order else getattr(self, name)()
            return said if isinstance(said, Part) else Part(name, True, said)
        except Finding as finding:
            command = finding.command or self.last
            if self.task.debug and not self.kit.has_solutions and name not in ("build", "line"):
                return Part(name, False, *withheld(finding.reason), command=command)
            return Part(name, False, finding.reason, finding.next_step, command=command, picture=finding.picture)
        except Tampering as error:
            self.tampered = True
            reason = f"the code wrote outside its folder: {error}"
            return Part(name, False, reason, "a kernel writes to its arrays only")
        except NotHere as reason:
            return Part(name, None, str(reason))

    # ---- building

    def build(self):
        self.refuse_words()
        self.make("plain")
        self.refuse_tricks("plain")
        for content in self.files.values():
            for reason, step in cuda_rules.complaints(content.decode(errors="replace")):
                raise Finding(reason, step)
        return "it compiles"

    def line(self):
        """Whether the line that is wrong was named, of a kernel that was handed out so."""
        self.last = ""
        said = debugging.line_in(self.attempt.answer)
        if not self.attempt.mutant:
            raise NotHere(f"line {said} is named; whether it is the one, who grades this sees")
        if said not in debugging.right_lines(self.attempt.mutant, self.kit.root):
            raise Finding(f"line {said} is not the one", "what shows the mistake need not be what makes it")
        return f"line {said} is the one"

    def asked(self):
        """Whether the code does what the exercise asks for, as far as its text shows."""
        self.last = ""
        own = {name: (self.kit.root / name).read_text() for name in self.files} if self.kit.has_solutions else {}
        texts = {name: content.decode(errors="replace") for name, content in self.files.items()}
        for rule in cases.told(self.task)["asks"]:
            if asked.fails(rule, texts, own):
                raise Finding(rule["says"], "read once more what the exercise asks for")
        return "as far as the text shows, it does what the exercise asks for"

    def make(self, build, targets=()):
        """Builds the stage's programs, or these."""
        self.kit.prepare(build, self.task.stage, self.files, targets)
        self.kit.put(self.files)
        run = self.kit.build(build, self.task.stage, BUILD_SECONDS, targets)
        if run.timed_out:
            raise Finding(f"compiling it takes more than {BUILD_SECONDS} s", "fewer templates, less unrolling")
        if run.code != 0:
            folder = str(self.kit.folder / build).removeprefix(f"{self.kit.folder.parent}/")
            self.last = shlex.join(["ninja", "-C", folder, *(targets or self.kit.targets(build, self.task.stage))])
            raise diagnose.compiler(run.stdout + run.stderr, self.source)

    def refuse_words(self):
        """What the text says, before anything is compiled."""
        allowed, engines = self.kit.allowed(self.task), self.kit.engines()
        for name, content in self.files.items():
            text, own = content.decode(errors="replace"), (self.kit.root / name).read_text()
            trick = symbols.complaint_of_includes(name, text, self.kit.root, allowed)
            self.refuse(trick or symbols.complaint_of_text(text, own, engines))

    def refuse_tricks(self, build):
        objects = self.kit.objects(build, self.task.stage, self.files)
        self.refuse(symbols.complaint(symbols.symbols_of(self.kit.folder / build, objects)))
        foreign = self.kit.foreign(build, self.task, self.files)
        if foreign:
            self.refuse(f"the code includes {foreign[0]}, which is not part of the task")

    @staticmethod
    def refuse(trick):
        if trick:
            raise Finding(trick, "a submission is a kernel and what launches it; take everything else out")

    # ---- running

    def shown(self, command, environ):
        """A command that can be pasted in the assignment. Only reports that the checker reads are left out of it."""
        root = f"{self.kit.folder.parent}/"
        kept = [str(part).removeprefix(root) for part in command if not str(part).startswith(REPORTS)]
        settings = {name: value for name, value in (environ or {}).items() if name != "PSFLIP_COUNTERS"}
        if command[0] == "mpirun" and os.geteuid() == 0:
            settings |= {name: value for name, value in OPEN_MPI.items() if "ROOT" in name}
        return " ".join([f"{name}={shlex.quote(value)}" for name, value in settings.items()] + [shlex.join(kept)])

    def run(self, command, environ=None, wanted=()):
        self.last = self.shown(command, environ)
        before = sandbox.snapshot(*self.watched)
        run = sandbox.run(command, seconds=self.seconds, environ=environ, wanted=wanted)
        after = sandbox.snapshot(*self.watched)
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        if changed:
            raise Tampering(changed[0])
        self.hung = self.hung or run.timed_out
        return run

    def tests(self, build, platform, environ):
        """psFlip's own test of the stage. Every test must be in its report."""
        report = f"report-{secrets.token_hex(8)}.json"
        program = self.kit.program(build, self.task.stage, f"{self.model}_test")
        spared = ":".join(f"*{name}*" for name in SPARED)
        ranks = cases.with_ranks(cases.ranks_of_test(self.task, environ.get("PSFLIP_SCHEDULE")))
        command = [*ranks, program, f"--gtest_filter=*/{platform}-{spared}", f"--gtest_output=json:{report}"]
        run = self.run(command, environ, wanted=[report])
        finding = diagnose.ended(run, self.source, "the test")
        if finding:
            raise finding
        expected = expected_tests(self.kit.tree, self.model, platform)
        try:
            done = {
                f"{test['classname']}.{test['name']}": test
                for suite in json.loads(run.files[report])["testsuites"]
                for test in suite["testsuite"]
            }
        except (KeyError, TypeError, ValueError):
            raise Finding(
                f"the test ended before it was done (exit code {run.code}), and reported nothing",
                "the code must not end the program",
            ) from None
        failed = {name: test for name, test in done.items() if test.get("failures")}
        if failed:
            # The one that compares after the fewest steps says most about what is wrong.
            def rank(item):
                return "spins are wrong" not in str(item[1]["failures"]), ".AgreesForEveryLaunch" not in item[0]

            name, test = min(failed.items(), key=rank)
            finding = diagnose.wrong_bits([failure["failure"] for failure in test["failures"]])
            short = name.split(".")[-1].split("/")[0]
            finding.reason = f"{len(failed)} of {len(expected)} tests fail; {short}: {finding.reason}"
            finding.command = self.shown([*ranks, program, f"--gtest_filter={name}"], environ)
            raise finding
        missing = [name for name in expected if done.get(name, {}).get("result") != "COMPLETED"]
        if missing or run.code != 0:
            raise Finding(
                f"the test ended before it was done: {len(missing)} of {len(expected)} tests are missing",
                "the code must not end the program, nor a test",
            )
        return f"{len(expected)} tests agree with the reference bit for bit"

    def fresh(self):
        rng = random.SystemRandom()
        drawn = cases.fresh(self.task, self.model, rng)
        schedules = rng.sample(SCHEDULES, len(SCHEDULES))  # what one of them hides, another shows: so each has its turn
        for case, schedule in zip(drawn, itertools.cycle(schedules)):
            if schedule == "shuffled":
                schedule += f":{rng.randrange(1000)}"
            strict = {"PSFLIP_SCHEDULE": schedule, "PSFLIP_LAZY_STREAMS": "1", "PSFLIP_GUARD": "1"}
            expected = self.reference_hash(case)
            found = self.hash("plain", case, strict)
            if found == expected:
                continue
            reason = f"{case}: the final state is {found}, the reference has {expected} (order of threads: {schedule})"
            command = self.last
            if self.hash("plain", case, {"PSFLIP_SCHEDULE": schedule}) == expected:
                raise Finding(
                    reason + "; right only if every stream is done at once",
                    "what uses a result must wait for it: an event, or a synchronisation",
                    command,
                )
            raise Finding(reason, "which part of this is new: the size, the launch, the order of threads?", command)
        return f"{len(drawn)} problems drawn for this call end in the states of the reference"

    def hash(self, build, case, environ):
        program = self.kit.program(build, self.task.stage, self.model)
        run = self.run(case.command(program, "--device", "cpu", "--json"), environ)
        finding = diagnose.ended(run, self.source, f"the program ({case})")
        if finding:
            raise finding
        if run.code != 0:
            raise Finding(f"the program ({case}) ended with exit code {run.code}: {run.stderr.strip()[-300:]}")
        return self.hash_in(run, f"the program ({case})")

    @staticmethod
    def hash_in(run, who):
        try:
            return str(json.loads(run.stdout)["hash"])
        except (KeyError, TypeError, ValueError):
            raise Finding(
                f"{who} printed something that is not its report: {run.stdout.strip()[:80]!r}",
                "take your own output out",
            ) from None

    def reference_hash(self, case):
        program = self.kit.program("plain", REFERENCE_FOLDER, self.model)
        done = subprocess.run([program, *case.problem, "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"the reference cannot do {case}: {done.stderr.strip()}")
        return json.loads(done.stdout)["hash"]

    def races(self):
        """Whether one is found depends on which blocks run at the same time: so it is by several host threads, however
        few cores there are, and in several orders."""
        ways = [
            {"TSAN_OPTIONS": "halt_on_error=1", "PSFLIP_CPU_WORKERS": "4", "PSFLIP_SCHEDULE": order} for order in ORDERS
        ]
        try:
            return self.under_sanitizer("races", "no thread reads or overwrites what another writes", ways)
        except diagnose.WrittenTwice as found:
            return self.written_twice(found, ways)

    def written_twice(self, found, ways):
        """Two threads write the same place. If nothing else races, and every run ends in the reference's state, whoever
        comes last, they write the same value: no mistake in CUDA, but work done twice."""
        program = self.kit.program("races", self.task.stage, self.model)
        for case in cases.small(self.task, self.model):
            expected, command = self.reference_hash(case), case.command(program, "--device", "cpu", "--json")
            for way in ways:
                run = self.run(command, way | {"TSAN_OPTIONS": "halt_on_error=0 exitcode=0"})
                races = diagnose.races(run.stderr, self.source)
                other = next((race for race in races if not isinstance(race, diagnose.WrittenTwice)), None)
                if other or run.code != 0 or run.timed_out or self.hash_in(run, f"the program ({case})") != expected:
                    raise other or found
        reason = found.reason.replace("a race:", "a warning:") + "; the value is the same, whoever comes last"
        step = "no points are lost; but let one thread alone write it, and save the others the work"
        return Part("races", True, reason, step, command=found.command)

    def memory(self):
        ways = [{"ASAN_OPTIONS": "detect_leaks=0"}]
        praise = self.under_sanitizer("memory", "every access stays within its array", ways)
        return praise + ("; no index overflows" if self.model == MAJORITY.name and self.reaches_far() else "")

    def reaches_far(self):
        """Whether this machine could look at indices that no int holds. Finding if one overflows."""
        name = f"{self.model}_far"
        self.make("memory", [f"{self.task.stage}_{name}"])
        run = self.run([self.kit.program("memory", self.task.stage, name)], FAR)
        if finding := diagnose.ended(run, self.source, "a step of 46341 x 46341 spins"):
            finding.reason += " (46341 x 46341 spins)"
            raise finding
        return run.code == 0  # else there is too little memory

    def under_sanitizer(self, build, praise, ways):
        self.make(build)
        self.refuse_tricks(build)
        small = cases.small(self.task, self.model)
        for case in small:
            for way in ways:
                self.hash(build, case, way)
        return f"{praise}: {len(small)} small problems"

    def counters(self):
        """What the kernel does to memory, against what the instructor allows."""
        name = f"{self.model}_counted"
        self.make("plain", [f"{self.task.stage}_{name}"])
        case, spins = cases.counted(self.task, self.model)
        program = self.kit.program("plain", self.task.stage, name)
        report = f"recording-{secrets.token_hex(8)}.json"
        run = self.run(case.command(program, "--device", "cpu"), {"PSFLIP_COUNTERS": report}, wanted=[report])
        if finding := diagnose.ended(run, self.source, "the counted program"):
            raise finding
        with tempfile.TemporaryDirectory() as folder:
            recording = Path(folder, report)
            recording.write_text(run.files.get(report, ""))
            launch = gates.update_of(recording, program, with_warm_up=cases.counted_steps(self.task) > 1)
        limits = cases.gates(self.task)
        said = gates.judge(launch, spins, limits, ROOT / self.task.stage / "update.cu")
        return Part("counters", True if limits else None, said)

    def nvcc(self):
        """What is refused where a GPU's machine code is made: that takes no GPU."""
        if not self.kit.cuda or not shutil.which("nvcc"):
            raise NotHere("no nvcc here, or it is not to be used")
        run = self.run_nvcc(self.files)
        if run.code == 0:
            return "nvcc compiles it"
        if self.run_nvcc({}).code != 0:
            raise NotHere("nvcc does not compile psFlip's own file here")
        raise diagnose.compiler(run.stdout + run.stderr, self.source, "nvcc")

    def run_nvcc(self, files):
        self.kit.put(files)
        names = {f"{self.task.stage}/update.cu", *(name for name in self.files if name.endswith(".cu"))}
        units = [str(self.kit.tree / name) for name in sorted(names)]
        folders = [f"-I{folder}" for folder in (self.kit.tree, self.kit.tree / "common")]
        command = ["nvcc", "-std=c++20", "-DPSFLIP_PLATFORM=gpu", *folders, "-cubin", "-o", "/dev/null"]
        self.last = shlex.join([*command, *units]).replace(f"{self.kit.folder.parent}/", "")
        for unit in units:
            run = self.kit.compile([*command, unit], BUILD_SECONDS)
            if run.code != 0:
                break
        return run

    # ---- on a GPU

    def gpu(self):
        self.expect_gpu()
        self.make("gpu")
        return self.tests("gpu", "gpu", {})

    def expect_gpu(self):
        if not self.kit.cuda:
            raise NotHere("no GPU is used: --no-cuda, or cuda = false in course.toml")
        if not gpu_is_visible():
            raise NotHere("no GPU here")
        if not shutil.which("nvcc"):
            raise NotHere("no nvcc here: put the CUDA toolkit's bin folder on the PATH")

    def sanitizer(self):
        self.expect_gpu()
        checker = shutil.which("compute-sanitizer")
        if not checker:
            raise NotHere("no compute-sanitizer here; it comes with the CUDA toolkit")
        self.make("gpu")
        program = self.kit.program("gpu", self.task.stage, self.model)
        for tool in TOOLS:
            for case in cases.small(self.task, self.model):
                checked = [checker, "--tool", tool, "--error-exitcode", "99", "--print-limit", "1"]
                run = self.run([*checked, *case.command(program, "--device", "gpu", "--json")])
                if run.code != 0:
                    raise diagnose.compute_sanitizer(run, self.source, tool)
        return f"compute-sanitizer finds nothing ({', '.join(TOOLS)})"

    def speed(self):
        """Against the solution, on problems drawn for this call. What a timed run computes is compared, too."""
        self.expect_gpu()
        reference = self.reference_program() if self.kit.has_solutions else None
        self.make("gpu", [f"{self.task.stage}_{self.model}"])
        with alone_on_the_gpu():
            return self.timed(reference, self.kit.program("gpu", self.task.stage, self.model))

    def timed(self, reference, program):
        times = []
        for problem in cases.timed(self.task, self.model, random.SystemRandom()):
            programs = [reference, program] if reference else [program]
            updates = self.enough_updates(programs[0], problem)
            times.append(self.possible_times(programs, problem, updates))
        times.sort(key=lambda of: of[0] / of[-1])
        theirs, own = times[len(times) // 2][0], times[len(times) // 2][-1]
        if not reference:
            raise NotHere(f"{own:.3g} ps {self.unit}; the instructor's copy compares it with the reference")
        ratio = theirs / own
        reason = f"{own:.3g} ps {self.unit}, {ratio:.2f} times as fast as the reference ({theirs:.3g} ps)"
        if ratio < LEAST_SPEED:
            raise Finding(reason, "which neighbours in memory do neighbouring threads read? How many bytes move?")
        unit = f"ps {self.unit}"
        return Part("speed", True, reason, share=min(1, ratio / FULL_SPEED), value=float(f"{own:.4g}"), unit=unit)

    def possible_times(self, programs, problem, updates):
        """Times again and again what seems impossible."""
        for _ in range(CERTAIN_TIMES):
            times = self.times_of_update(programs, problem, updates)
            finding = self.impossible(problem, times[0], times[-1])
            if not finding:
                return times
        raise finding

    def impossible(self, problem, theirs, own):
        """A 2D lattice soon changes no more, so its state may be right without most of the steps; but who does them
        moves their bytes. The solution is the limit where it needs less time than this model says."""
        device = predict.device_named(self.device)
        if not device:
            return None
        moved, spins = cases.least_bytes(self.task, self.model, problem), cases.spins(problem)
        least = min(theirs, predict.least_seconds(moved, device) / spins * 1e12)
        if own >= CERTAIN * least:
            return None
        return Finding(
            f"the timed program ({problem}) takes {own:.3g} ps {self.unit}; to move the {moved / spins:.3g} bytes "
            f"that each of them needs, the {device.title} takes {least:.3g} ps",
            "which steps, or which spins, does the code leave out?",
        )

    @property
    def unit(self):
        return "a spin and step" if self.model == "majority" else "a flip"

    def reference_program(self):
        """The solution, built by the first submission to its stage that is timed."""
        copy = self.kit.folder / "reference" / self.task.stage
        if copy not in self.kit.copied:
            self.kit.put({})
            self.kit.configure("gpu")
            run = self.kit.build("gpu", self.task.stage, BUILD_SECONDS, [f"{self.task.stage}_{self.model}"])
            if run.code != 0:
                raise NotHere("the reference does not build for the GPU here")
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(self.kit.program("gpu", self.task.stage, self.model), copy)
            self.kit.copied.add(copy)
        return copy

    def enough_updates(self, program, problem):
        """So many that a run with them takes LEAST_SECONDS longer."""
        start, updates = self.timed_run(program, problem, FEW_UPDATES)[0], 100
        while updates < 10**7:
            longer = self.timed_run(program, problem, FEW_UPDATES + updates)[0] - start
            if longer >= LEAST_SECONDS:
                break
            # A tenth of it can be told from how unequally programs start.
            updates *= 4 if longer < LEAST_SECONDS / 10 else min(4, 1.2 * LEAST_SECONDS / longer)
            updates = math.ceil(updates)
        return updates

    def times_of_update(self, programs, problem, updates):
        """Picoseconds a spin of one update of a large lattice, for each program. Two of its runs differ by so many
        updates, and are timed from outside, so that no clock within the program counts; the programs take turns, so
        that a clock that changes meets all of them. Each has to come to the states of the first."""
        numbers = (FEW_UPDATES, FEW_UPDATES + updates)
        seconds = {(program, number): [] for program in programs for number in numbers}
        hashes = {}
        for _ in range(TIMED_RUNS):
            for program in programs:
                for number in numbers:
                    took, found = self.timed_run(program, problem, number)
                    seconds[program, number].append(took)
                    if hashes.setdefault(number, found) != found:
                        case = cases.with_updates(problem, self.model, number)
                        raise Finding(
                            f"the timed program ({case}) ends in the state {found}, the reference in {hashes[number]}",
                            "does the kernel do all of the work, at this size, too?",
                        )
        few, many = ([min(seconds[program, number]) for program in programs] for number in numbers)
        return [max(1e-9, b - a) / updates / cases.spins(problem) * 1e12 for a, b in zip(few, many)]

    def timed_run(self, program, problem, updates):
        """Its seconds, and the hash of its state. The first program that is timed says on which device."""
        case = cases.with_updates(problem, self.model, updates)
        run = self.run(case.command(program, "--device", "gpu", "--json"))
        finding = diagnose.ended(run, self.source, "the timed program")
        if finding or run.code != 0:
            raise finding or Finding(f"the timed program ended with exit code {run.code}")
        found = self.hash_in(run, f"the timed program ({case})")
        self.device = self.device or json.loads(run.stdout)["device"]["name"]
        return run.seconds, found


def withheld(reason):
    """(reason, next step) for who is to find out by themselves what is wrong, with the tools that found it."""
    mismatch = re.search(r"[^;]*the final state is [^;]*", reason)  # the command does not say what would be right
    return mismatch[0] if mismatch else "something is wrong", "what does this command print, and why?"


@contextlib.contextmanager
def alone_on_the_gpu():
    """One timed submission of a user at a time: a class is judged by several programs."""
    with Path(tempfile.gettempdir(), f"psflip-gpu-{os.getuid()}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def expected_tests(tree, model, platform):
    """The names that Google Test gives to the tests of a model on a platform, from the source of the test."""
    text = next((tree / "common" / model).rglob("test.cpp")).read_text()
    suites = re.findall(r"INSTANTIATE_TEST_SUITE_P\((\w+),\s*(\w+),", text)
    prefixes = {fixture: prefix for prefix, fixture in suites}
    return [
        f"{prefixes[fixture]}/{fixture}.{name}/{platform}"
        for fixture, name in re.findall(r"^TEST_P\((\w+),\s*(\w+)\)", text, re.MULTILINE)
        if "Curand" not in fixture and not any(spared in name for spared in SPARED)
    ]
