"""Calls with one or two mistakes from a table, or in surroundings that a program cannot work in."""

import os
import resource
import shutil
import subprocess

from hostile.trial import Wrong
from models import REFERENCE

SMALL = {
    "spin_glass": {"--size": 4, "--sweeps": 3},
    "majority": {"--size": 8, "--steps": 2},
    "linear_solver": {"--matrix": "lap1d:6,0.5", "--histories": 50},
}
READS = ("couplings", "input", "resume", "matrix", "rhs")
REALS = ("temperature", "beta", "ferromagnetic-fraction", "cutoff")
NUMBERS = (
    "",
    " ",
    "-1",
    "--1",
    "five",
    "nan",
    "inf",
    "0x10",
    "5,5",
    "5;",
    "5 5",
    "1e999",
    "٥",
    "1.5.2",
    b"\xff",
    "5\n6",
)
WHOLE = (*NUMBERS, "1.5", "1e1", "010", "+5", "-0", "99999999999999999999", "18446744073709551617")
NAMES = ("", "wrong", " ", "a" * 5000, "%s%n", b"\xff\xfe", "-", "a|b")
VALUES = {
    "device": (*NAMES, "99", "-1", "1.5", "007", "18446744073709551616"),
    "measure": (*NAMES, "every:", "every:0", "every:-1", "every:07", "every:1.5", "log:", "log:0", "log:x", "log:1001"),
    "checkpoint-every": ("", "0", "-1", "007", "1.5", "10s", "m", "h", "5 m", "+5", "1e1", "9999999999", "1m1m"),
    "matrix": ("", "lap1d:", "lap1d:0,1", "lap1d:-5,1", "lap1d:5", "lap1d:5,x", "lap2d:3", "lap2d:3,3,3", "lap3d:3,3"),
    "rhs": ("", "zeros", "cos"),
}
LONG = ("a" * 300, "a/" * 3000)
INPUTS = ("missing", "missing/a", "folder", "loop", "dangling", "junk", "/dev/null", "/proc/self/mem", "junk/a", *LONG)
OUTPUTS = ("missing/a", "folder", "loop", "", "/proc/a", "junk/a", *LONG, "/dev/full")
# The second is the first by another name, or a file that the first needs for itself.
TWINS = (
    ("a.csv", "a.csv"),
    ("a.csv", "./a.csv"),
    ("a.csv", "folder.csv/../a.csv"),
    ("old.csv", "hard.csv"),
    ("old.csv", "soft.csv"),
    ("soft.csv", "hard.csv"),
)
ENVIRONMENT = {
    "PSFLIP_SCHEDULE": ("", "sideways", "shuffled:", "shuffled:x", "shuffled:-1", "Forward"),
    "PSFLIP_CPU_WORKERS": ("", "0", "-1", "many", "1025", "1.5", " 1"),
    "PSFLIP_CPU_DEVICES": ("", "0", "-1", "x", "65"),
    "PSFLIP_CPU_MEMORY": ("", "0", "-1", "1e9", "lots", "99999999999999999999"),
}
NOBODY = 54321  # a user of whom there are no other processes


def furnish(trial):
    """What the table speaks of."""
    folder = trial.folder
    for ending in ("", ".csv", ".png"):
        (folder / f"folder{ending}").mkdir()
        (folder / f"loop{ending}").symlink_to(f"pool{ending}")
        (folder / f"pool{ending}").symlink_to(f"loop{ending}")
        (folder / f"dangling{ending}").symlink_to("nowhere/at/all")
        (folder / f"junk{ending}").write_bytes(trial.random.randbytes(200))
    (folder / "old.csv").write_text("precious\n")
    (folder / "orphan.rows").write_text("precious, without its checkpoint\n")
    os.link(folder / "old.csv", folder / "hard.csv")
    (folder / "soft.csv").symlink_to("old.csv")
    if trial.program.name == "spin_glass":
        words = "--size 4 --sweeps 2 --write-couplings J --checkpoint c --output rows.csv".split()
        trial.succeed(*words, program=trial.program.reference)
        os.link(folder / "J", folder / "J2")
        (folder / "J3").symlink_to("J")


def try_it(trial):
    furnish(trial)
    for _ in range(5):
        mistakes(trial)
    for surroundings in SURROUNDINGS:
        if trial.chance(0.2):
            surroundings(trial)


def small(trial, *without):
    return [word for pair in SMALL[trial.program.name].items() if pair[0] not in without for word in pair]


def refused(trial, *words, **more):
    with trial.unchanged() as result:
        result.append(trial.run(*words, codes=(2,), **more))


def mistakes(trial):
    made = [mistake(trial) for _ in range(trial.random.randint(1, 2))]
    made.sort(key=lambda one: one == ["--size"])  # at the end, or it would take the next mistake for its value
    words = [word for one in made for word in one]
    if "--resume" in words:
        refused(trial, *words)
    else:
        refused(trial, *small(trial, *words, *("--size",) * bool({"--input", "--couplings"} & set(words))), *words)


def mistake(trial):
    """The words of one."""
    draw, options = trial.random, trial.program.options
    shape = draw.random()
    if shape < 0.1:
        wrong = [["--sise", 5], ["5"], ["-x"], [""], ["--size"], ["--=5"]]
        option = draw.choice(sorted(SMALL[trial.program.name]))
        return draw.choice([*wrong, [option, 4, option, 6]])
    if shape < 0.3 and trial.program.name == "spin_glass":
        return twins(draw)
    option = draw.choice(sorted(name for name, what in options.items() if what))
    what = options[option]
    ending = ".csv" if option in ("output", "averages", "correlations") else ""
    if option in VALUES and (option not in READS or draw.random() < 0.5):
        value = draw.choice(VALUES[option])
    elif option in READS:
        value = draw.choice(INPUTS)
    elif what == "FILE" or option == "picture":
        value = draw.choice(OUTPUTS)
        if value in ("folder", "loop", "junk/a", "missing/a", "/proc/a", "a" * 300):
            value += ".png" if option == "picture" and value in ("folder", "loop") else ending
        elif trial.program.name == "spin_glass" and ending and draw.random() < 0.2:
            value = draw.choice(("a.txt", "a", "a.csv.psflip.part", ".csv.gz"))
        elif option == "checkpoint" and draw.random() < 0.3:
            value = draw.choice(("c", "/dev/null", "junk", "rows.csv"))  # which are there
    elif "|" in what:
        value = draw.choice(NAMES)
    else:
        value = draw.choice(NUMBERS if option in REALS else WHOLE)
    if value == "/dev/full":  # fails when it is written
        return [f"--{option}", value, *(["--plain"] if "plain" in options and option == "output" else [])]
    return [f"--{option}", value]


def twins(draw):
    tables = ["--output", "--averages", "--correlations"]
    first, second = draw.choice(TWINS)
    one, other = draw.sample([*tables, "--write-couplings"], 2)
    own = draw.choice((".psflip.part", ".psflip.lock", ".rows"))
    return draw.choice(
        (
            [one, first, other, second],
            ["--couplings", draw.choice(("J", "J2", "J3", "./J")), "--write-couplings", draw.choice(("J", "J2", "J3"))],
            ["--checkpoint", "new.csv", draw.choice(tables), draw.choice(("new.csv", "./new.csv"))],
            ["--checkpoint", "new", "--write-couplings", f"new{own}"],
            ["--checkpoint", "orphan", "--output", "a.csv"],
            [
                "--resume",
                "c",
                "--write-couplings",
                draw.choice(("c", "./c", "c.rows", "c.psflip.part", "c.psflip.lock")),
            ],
            [draw.choice(tables), "a.csv", "--write-couplings", "a.csv.psflip.part"],
        )
    )


def standard_streams(trial):
    """Closed, full or of the wrong kind. A program is content without what it does not need."""
    draw, program = trial.random, trial.program
    if program.mpi is not None:
        return  # mpirun has those, and gives the ranks others
    closed = draw.sample(range(3), draw.randint(0, 2))
    broken = 1 not in closed and draw.random() < 0.7
    kinds = (("/dev/full", os.O_WRONLY), ("/dev/null", os.O_RDONLY))
    stream = os.open(*draw.choice(kinds)) if broken else None
    try:
        process = trial.start(
            *small(trial),
            stdout=subprocess.PIPE if stream is None else stream,
            preexec_fn=lambda: [os.close(number) for number in closed],
        )
    finally:
        if stream is not None:
            os.close(stream)
    done = trial.finish(process)
    code = 1 if broken or 1 in closed else 0
    if 2 in closed:
        done.err = f"{program.name}: who knows\n" if done.code else ""
    trial.check(done, (code,))


def environment(trial):
    if "device" not in trial.program.options or trial.program.stage.startswith(REFERENCE):
        return
    name = trial.random.choice(sorted(ENVIRONMENT))
    value = trial.random.choice(ENVIRONMENT[name])
    words = [*small(trial), "--device", "cpu", "--output", "old.csv"]
    try:
        refused(trial, *words, env={name: value})
    except Wrong as wrong:
        raise Wrong(f"{wrong}. With {name}={value!r}", wrong.done) from None


def limited(trial, what, limit, *words, **more):
    """With too little of something: it goes well, or ends well; what a library says before main() is not ours."""
    try:
        with trial.unchanged() as result:
            done = trial.finish(trial.start(*words, preexec_fn=limit, **more))
            if done.code != 127 or "error while loading shared libraries" not in done.err:
                result.append(trial.check(done, (0, 1, 2)))
    except Wrong as wrong:
        raise Wrong(f"{wrong}. With {what}", wrong.done) from None


def memory(trial):
    if trial.program.mpi is not None:
        return  # MPI itself needs it, and has its own words for that
    most = trial.random.choice((trial.random.randint(10, 60), trial.random.randint(10, 400))) << 20
    size = {
        "spin_glass": ["--size", trial.random.choice((8, 32, 64)), "--sweeps", 1],
        "majority": ["--size", trial.random.choice((100, 2000, 5000)), "--steps", 1],
        "linear_solver": ["--matrix", "lap1d:500,0.5", "--histories", 20],
    }[trial.program.name]
    words = [*size, "--output", "old.csv"]
    limited(
        trial,
        f"{most} bytes of memory (ulimit -v {most >> 10})",
        lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
        *words,
    )


def threads(trial):
    if trial.program.mpi is not None:
        return
    most = trial.random.randint(1, 3)
    more = {}
    if trial.machine.root:  # to whom the limit does not apply
        if not os.access(trial.program.path, os.X_OK) or not reachable(trial.program.path):
            return
        more = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        shutil.chown(trial.folder, NOBODY)
        for path in trial.folder.iterdir():
            shutil.chown(path, NOBODY) if not path.is_symlink() else None
    limited(
        trial,
        f"{most} processes and threads (ulimit -u {most})",
        lambda: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)),
        *small(trial),
        "--output",
        "old.csv",
        **more,
    )


def reachable(path):
    return all(os.stat(folder).st_mode & 1 for folder in path.parents)


SURROUNDINGS = [standard_streams, environment, memory, threads]
