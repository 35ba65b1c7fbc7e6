"""Judges the submissions of a whole class, several at a time, and writes what they came to: a page, a table, and for
each the file that a course platform reads."""

import csv
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from lab import page, similar
from lab.course import files_of
from stages import ROOT, Failure, progress

PLACE = re.compile(
    r"\([^()]*\)|'[^']*'|0x[0-9a-f]+|\b[0-9a-f]{16}\b|-?\d+(\.\d+)?"
)  # what differs from one to the next
SHOWN = 60  # characters of a mistake that say of what kind it is


@dataclass
class Submission:
    name: str  # the folder's
    folder: Path
    alias: str = ""  # for a page without names
    report: dict = field(default_factory=dict)  # as lab/results.py writes it
    problem: str = ""  # why there is none

    @property
    def score(self):
        return self.report.get("score", 0)

    @property
    def most(self):
        return round(sum(test["max_score"] for test in self.tests), 3)

    @property
    def tests(self):
        return self.report.get("tests", [])

    @property
    def seconds(self):
        return self.report.get("execution_time", 0)

    @property
    def speeds(self):
        """{what: picoseconds}, where a GPU was there."""
        return {entry["name"]: entry["value"] for entry in self.report.get("leaderboard", [])}


def submissions_in(folder):
    """A submission is a folder. They are numbered in an order that says nothing about their names."""
    try:
        folders = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError as error:
        raise Failure(f"--class {folder}: {error.strerror}") from None
    if not folders:
        raise Failure(f"--class {folder}: there is no folder in it; each submission is one")
    return [Submission(path.name, path) for path in folders]


def number_them(submissions, rng):
    order = list(submissions)
    rng.shuffle(order)
    for number, submission in enumerate(order, 1):
        submission.alias = f"submission {number}"


def judge(submission, command, build, out):
    """By a program of its own, with builds of its own. Nothing that goes wrong with one ends the others."""
    file = out / f"{submission.name}.json"
    own = [*command, submission.folder, "--json", file, "--build-dir", build]
    done = subprocess.run(list(map(str, own)), capture_output=True, text=True)
    try:
        submission.report = json.loads(file.read_text())
    except (OSError, ValueError):
        submission.problem = (done.stderr.strip().splitlines() or [f"grade ended with code {done.returncode}"])[-1]


def judge_all(submissions, command, builds, out, jobs):
    """`command`: of grade, with all that is the same for everybody."""
    waiting, done = queue.SimpleQueue(), queue.SimpleQueue()
    for submission in submissions:
        waiting.put(submission)

    def work(number):
        while True:
            try:
                submission = waiting.get_nowait()
            except queue.Empty:
                return
            judge(submission, command, builds / str(number), out)
            done.put(submission)

    for number in range(min(jobs, len(submissions))):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    for count in range(len(submissions)):
        progress(f"{count} of {len(submissions)} judged, up to {jobs} at a time ...")
        done.get()
    progress("")
    problems = {submission.problem for submission in submissions}
    if "" not in problems and len(problems) == 1:
        raise Failure(f"nothing could be judged: {problems.pop()}")


def mistakes(submissions):
    """[(of which task and part, the words of one, how many, who)], the commonest first. What differs from one to the
    next (lines, numbers, names) does not count."""
    found, words = {}, {}
    for submission in submissions:
        for test in submission.tests:
            reason = test["output"].split("\n")[0]
            if test["status"] == "failed" and not reason.startswith("not judged"):
                kind = test["name"], " ".join(PLACE.sub("", reason).split())[:SHOWN]
                found.setdefault(kind, []).append(submission)
                words.setdefault(kind, reason)
    counts = Counter({kind: len(who) for kind, who in found.items()})
    return [(kind[0], words[kind], count, found[kind]) for kind, count in counts.most_common()]


def ranking(submissions):
    """By points; among equals by speed where it was measured, then by name."""
    return sorted(submissions, key=lambda one: (-one.score, sum(one.speeds.values()) or float("inf"), one.alias))


def write_table(file, submissions):
    parts = list(dict.fromkeys(test["name"] for submission in submissions for test in submission.tests))
    speeds = list(dict.fromkeys(name for submission in submissions for name in submission.speeds))
    with file.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(["submission", "alias", "score", "of", "seconds", *parts, *speeds, "problem"])
        for one in submissions:
            scores = {test["name"]: test["score"] for test in one.tests}
            row = [one.name, one.alias, one.score, one.most, one.seconds]
            row += [scores.get(part, "") for part in parts] + [one.speeds.get(name, "") for name in speeds]
            writer.writerow([*row, one.problem])


def grade_class(options, course, tasks, root, rng):
    """What grade does with --class. Returns the submissions."""
    out = options.out
    submissions = submissions_in(options.class_folder.resolve())
    if out.exists():
        raise Failure(f"--out {out}: exists already; give a new folder")
    builds = Path(options.build_dir or ROOT / "build-lab-class")
    number_them(submissions, rng)
    try:
        (out / "json").mkdir(parents=True)
    except OSError as error:
        raise Failure(f"--out {out}: {error.strerror}") from None
    command = [sys.executable, ROOT / "common/tools/grade", *options.stages, "--no-install", "--reference", root]
    command += ["--course", options.course or options.class_folder / "course.toml", "--only", ",".join(options.only)]
    command += ["--seconds", options.seconds] + ["--no-cuda"] * options.no_cuda
    jobs = options.jobs or len(os.sched_getaffinity(0))
    judge_all(submissions, command, builds.resolve(), (out / "json").resolve(), jobs)

    write_table(out / "scores.csv", submissions)
    # Who debugs writes a line or two, and has all others from psFlip: that says nothing.
    names = {task: files_of(task, root) for task in tasks if not task.debug}
    pairs = {task.name: similar.pairs(submissions, files, root) for task, files in names.items()}
    text = page.of_class(course.title, ranking(submissions), mistakes(submissions), pairs, options.anonymous)
    (out / "index.html").write_text(text)
    return submissions
