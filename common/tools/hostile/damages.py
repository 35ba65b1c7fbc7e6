"""Files that a program reads, damaged: it refuses them, or its results are right."""

import re

from hostile.runs import Run
from hostile.trial import Wrong

NUMBERS = b"-1 0 1 2 007 1.5 1e400 1e300 1e-308 1e-320 nan inf x 2147483647 2147483648 4294967296 99999999999".split()
NUMBERS += [b"", b"1 1", b"9223372036854775807", b"18446744073709551617", b"9" * 400]


def damaged(content, draw):
    """Another content, in one of many ways."""
    at, to = sorted((draw.randint(0, len(content)), draw.randint(0, len(content))))
    to = min(to, at + draw.choice((1, 8, 100, len(content))))
    part = content[at:to]
    other = draw.randint(0, max(0, len(content) - len(part)))
    words = [found.span() for found in re.finditer(rb"[-+.\w]+", content)]
    if words and content.isascii() and draw.random() < 0.5:  # numbers that look like numbers
        for begin, end in sorted(draw.sample(words, min(len(words), draw.randint(1, 2))), reverse=True):
            content = content[:begin] + draw.choice(NUMBERS) + content[end:]
        return content
    flipped = bytes([content[at] ^ 1 << draw.randrange(8)]) if at < len(content) else b""
    ways = (
        lambda: content[:at] + flipped + content[at + 1 :],
        lambda: content[:at] + draw.randbytes(draw.choice((1, 4, 1000))) + content[at:],
        lambda: content[:at],
        lambda: content[:at] + content[to:],
        lambda: content + draw.randbytes(draw.choice((1, 8, 5000))),
        lambda: content + part,
        lambda: content[:at] + bytes(len(part)) + content[to:],
        lambda: content[:other] + part + content[other + len(part) :],
        lambda: content[:at] + part[::-1] + content[to:],
        lambda: b"",
    )
    return draw.choice(ways)()


def try_it(trial):
    {"spin_glass": of_spin_glass, "majority": of_majority, "linear_solver": of_linear_solver}[trial.program.name](trial)


def of_spin_glass(trial):
    run = Run(trial)
    files = ["c"]
    if "--output" in run.outputs:
        files += ["c.rows", "c.rows"]
    couplings = run.outputs.get("--write-couplings", [])
    run.begun()
    name = trial.random.choice(files + couplings[:1])
    path = trial.folder / name
    good = path.read_bytes()
    path.write_bytes(damaged(good, trial.random))
    with trial.unchanged() as result:
        if name in couplings:  # which may be other couplings now, and just as good
            result.append(trial.run("--couplings", *couplings, "--sweeps", 2))
            if result[0].code == 0:
                return
        else:
            result.append(trial.run("--resume", "c", "--sweeps", run.sweeps, "--json"))
            if result[0].code == 0:
                run.verify(result[0])
                return
    path.write_bytes(good)
    if trial.program.mpi is None or trial.chance(0.3):
        run.go_on()


def of_majority(trial):
    size = trial.random.choice((4, 7, 32))
    form = ["--plain"] if trial.chance(0.6) else []
    trial.succeed("--size", size, "--steps", 0, "--output", "a.pbm", *form)
    read_damaged(trial, "a.pbm", "--input", "a.pbm", "--steps", 2, "--output", "b.pbm")


def of_linear_solver(trial):
    """A matrix or a right-hand side in Matrix Market's format."""
    n = trial.random.randint(3, 6)
    symmetric = trial.chance(0.5)
    entries = [(i, i, 4) for i in range(1, n + 1)] + [(i + 1, i, -1) for i in range(1, n)]
    entries += [] if symmetric else [(i, i + 1, -1) for i in range(1, n)]
    head = f"%%MatrixMarket matrix coordinate real {'symmetric' if symmetric else 'general'}\n% a comment\n"
    lines = [f"{n} {n} {len(entries)}", *(f"{i} {j} {value:.3f}" for i, j, value in entries)]
    (trial.folder / "a.mtx").write_text(head + "\n".join(lines) + "\n")
    (trial.folder / "b.mtx").write_text(f"%%MatrixMarket matrix array real general\n{n} 1\n" + "1\n" * n)
    words = ["--matrix", "a.mtx", "--rhs", "b.mtx", "--histories", 50, "--output", "x.csv"]
    read_damaged(trial, trial.random.choice(("a.mtx", "a.mtx", "b.mtx")), *words)


def read_damaged(trial, name, *words):
    """First as it is, then damaged; what comes of that is anybody's guess, but it ends well."""
    trial.succeed(*words)
    good = (trial.folder / name).read_bytes()
    for _ in range(8):
        (trial.folder / name).write_bytes(damaged(good, trial.random))
        read_it(trial, *words)


def read_it(trial, *words):
    with trial.unchanged() as result:
        done = trial.run(*words)
        result.append(done)
        if re.search(r"\bnan\b", done.out):
            raise Wrong("exit code 0, and it has no result but nan", done)
