"""Problems on which a submission's program must end in the state that the reference's ends in: options of both, and
options of the submission alone, which say how to launch. What belongs to one stage is in its lab.toml."""

import functools
import tomllib
from dataclasses import dataclass, replace

from models import MAJORITY, SPIN_GLASS
from stages import ROOT

# What a stage's lab.toml may say, or under [exercise.N] for an exercise alone.
USUAL = {
    "blocks": MAJORITY.trials["block"],  # 2D: the sides of a thread's square
    "launches": [{}],  # 3D: options, of all sizes or of those in `sizes`
    "generators": SPIN_GLASS.rows["generator"][:1],
    "replicas": [1, 2, 3, 4, 5],
    "samples": [1, 2, 31, 33, 65],  # 3D: of problems drawn for a call
    "sweeps": [1, 7],  # 3D: from, to, of problems drawn for a call
    "ladders": [],  # 3D: LO:HI:N, temperatures of replica exchange; then `replicas` are copies
    "ranks": [1],  # of MPI
    "timed": {"sizes": [112, 144], "samples": 4},  # from, to; what takes a GPU long enough
    "counted": {},  # the problem and the launch on which memory accesses are counted, where not as in counted()
    "spin_bits": 8,  # 3D: of a spin in device memory, which every sweep reads and writes; 0: nothing is known
    "asks": [],  # what the text of a solution shows that the stage's own does not: lab/asked.py
    "gates": {},  # what the kernel may do to memory at most, whatever else the instructor asks: lab/gates.py
    "left_out": [],  # files that answer the task, kept from its assignment; the stage's lab/ is there instead
    "starter": "update.cu",  # the file of the stage of which its update.cu is made in the assignment
    "emptied": [],  # files of other stages whose region answers it
}
SIZES = {"powers of two": lambda size: size & (size - 1) == 0, "multiples of four": lambda size: size % 4 == 0}


@functools.cache
def told(task):
    file = ROOT / task.stage / "lab.toml"
    found = tomllib.loads(file.read_text()) if file.exists() else {}
    return USUAL | found | found.get("exercise", {}).get(str(task.exercise), {})


def on_ladder(task, problem, rng=None):
    """The same problem on a ladder of temperatures, drawn by rng or the longest, if the task is about exchanges."""
    ladders = told(task)["ladders"]
    if not ladders:
        return problem
    ladder, every = (rng.choice(ladders), rng.randint(1, 3)) if rng else (ladders[-1], 1)
    kept = {name: value for name, value in problem.items() if name not in ("temperature", "replicas")}
    return kept | {"temperatures": ladder, "copies": problem["replicas"], "exchange_every": every}


@dataclass(frozen=True)
class Case:
    problem: tuple
    launch: tuple = ()
    ranks: int = 1  # of MPI

    def __str__(self):
        return (f"{self.ranks} ranks: " if self.ranks > 1 else "") + " ".join((*self.problem, *self.launch))

    def command(self, program, *more):
        return (*with_ranks(self.ranks), program, *self.problem, *self.launch, *more)


def with_ranks(ranks):
    """What starts a program on so many ranks."""
    return ("mpirun", "--oversubscribe", "-n", str(ranks)) if ranks > 1 else ()


def ranks_of_test(task, schedule):
    """On how many ranks psFlip's own test runs in a schedule: on another number in each, where there can be many."""
    return {"forward": 2, "reversed": 3}.get(schedule, 1) if len(told(task)["ranks"]) > 1 else 1


def options(**values):
    return tuple(part for name, value in values.items() for part in ("--" + name.replace("_", "-"), str(value)))


def launches(task, model, size, rng=None):
    """Ways to launch what a task asks for; some of them, drawn by rng, or one of each kind."""
    if model == "majority":
        blocks = told(task)["blocks"]
        if rng:
            storage, width = rng.choice(["int8", "int32"]), rng.choice([3, 4, 7, 8, 10, 12, 16])
            return [options(storage=storage, thread_width=width, block=rng.choice(blocks))]
        return [
            options(storage="int32", thread_width=4, block=blocks[len(blocks) // 2]),
            options(storage="int8", thread_width=6, block=blocks[-1]),
        ]
    found = [
        options(**{name: value for name, value in launch.items() if name != "sizes"})
        for launch in told(task)["launches"]
        if "sizes" not in launch or SIZES[launch["sizes"]](size)
    ]
    return [rng.choice(found)] if rng else found


def fresh(task, model, rng):
    """Problems that nobody can have the answers to: drawn for this call, awkward sizes among them."""
    if model == "majority":
        some = [5, 7, 11, 13, 17, 19, 23], [29, 31, 33, 37, 63, 64, 65], [47, 48, 49, 96, 97, 127, 128, 129]
        return [
            Case(options(size=size, steps=rng.randint(1, 9), seed=rng.randrange(2**32)), launch)
            for size in (rng.choice(sizes) for sizes in ([1, 2], [3], *some))
            for launch in launches(task, model, size, rng)
        ]
    generators = told(task)["generators"]

    def problem(size, generator):
        sweeps = rng.randint(*told(task)["sweeps"])
        how = {"size": size, "sweeps": sweeps, "seed": rng.randrange(2**63), "generator": generator}
        how |= {"temperature": round(rng.uniform(0.4, 5), 3), "samples": rng.choice(told(task)["samples"])}
        how |= {"replicas": rng.choice(told(task)["replicas"])}
        shared = 1 if generator == "philox-planes" else rng.choice([1, 7, 32, 64])
        how |= {"samples_per_stream": shared, "start": rng.choice(["random", "ordered"])}
        return options(**on_ladder(task, how, rng), ferromagnetic_fraction=round(rng.uniform(0, 1), 3))

    def ranks(size, generator):
        """With the first generator every rank has two planes at least: where it has one, much cannot go wrong."""
        planes = 2 if generator == generators[0] else 1
        return rng.choice([ranks for ranks in told(task)["ranks"] if ranks * planes <= size // 2])

    return [
        Case(problem(size, generator), launch, ranks(size, generator))
        for generator in generators
        for size in rng.sample([4, 6, 8, 10, 12], 5 - len(generators))
        for launch in launches(task, model, size, rng)
    ]


def gates(task):
    """{name of a gate: the most}: what the task itself asks, and what the instructor does."""
    return told(task)["gates"] | task.gates


def counted(task, model):
    """What takes seconds to count, on whole blocks of threads; and how many spins are updated where one step or sweep
    counts, or where the warm-up, which is one step, counts with several."""
    if model == "majority":
        launch = {"storage": "int32", "thread_width": 16, "block": min(2, told(task)["blocks"][-1])}
        launch |= {name: value for name, value in told(task)["counted"].items() if name != "steps"}
        steps = counted_steps(task)
        return Case(options(size=1600, steps=steps, seed=7), options(**launch)), 1600**2 * (steps + (steps > 1))
    problem = {"size": 32, "samples": 1} | told(task)["counted"]
    problem |= {"sweeps": 1, "seed": 7, "replicas": 4, "generator": told(task)["generators"][0]}
    problem["samples_per_stream"] = problem["samples"]
    spins = problem["size"] ** 3 * problem["samples"] * problem["replicas"]
    return Case(options(**problem), launches(task, model, problem["size"])[0]), spins


def counted_steps(task):
    return told(task)["counted"].get("steps", 1)


def small(task, model):
    """What a sanitizer can run in a second or two: lattices that no tile divides, one of them smaller than a tile, one
    of three tiles a side, and blocks of many warps as well as of a part of one."""
    if model == "majority":
        some = [
            ({"size": size, "steps": 2, "seed": 7}, launch)
            for size in (5, 29)
            for launch in launches(task, model, size)
        ]
        largest_blocks = options(storage="int8", thread_width=32, block=min(2, told(task)["blocks"][-1]))
        some.append(({"size": 37, "steps": 2, "seed": 7}, largest_blocks))
    else:
        replicas, (fewest, _) = told(task)["replicas"], told(task)["sweeps"]
        usual = {"sweeps": max(2, fewest), "seed": 7, "temperature": 1.1, "samples": 2, "samples_per_stream": 1}
        usual["replicas"] = 2 if 2 in replicas else replicas[0]
        problems = [usual | {"generator": name, "size": size} for name in told(task)["generators"] for size in (4, 6)]
        problems = [on_ladder(task, problem) for problem in problems]
        some = [(problem, launch) for problem in problems for launch in launches(task, model, problem["size"])]
    return [Case(options(**problem), launch) for problem, launch in some]


def timed(task, model, rng):
    """Three problems that take a GPU long enough to be timed, drawn for this call, without the number of updates."""
    if model == "majority":
        return [
            Case(
                options(size=size, seed=rng.randrange(2**32)),
                options(
                    storage=rng.choice(["int8", "int32"]), thread_width=16, block=rng.choice(told(task)["blocks"][:4])
                ),
            )
            for size in rng.sample(range(7900, 8500), 3)
        ]
    first, last = told(task)["timed"]["sizes"]
    return [
        Case(
            options(
                **on_ladder(
                    task,
                    {
                        "size": size,
                        "seed": rng.randrange(2**63),
                        "generator": rng.choice(told(task)["generators"]),
                        "temperature": round(rng.uniform(0.8, 2), 3),
                        "samples": told(task)["timed"]["samples"],
                        "replicas": 4,
                    },
                )
            ),
            launches(task, model, size, rng)[0],
        )
        for size in rng.sample(range(first, last + 1, 4), 3)
    ]


def least_bytes(task, model, case):
    """What one update of all spins moves between memory and chip at least: every spin once in and once out, and in 3D
    a spin's three couplings, which its replicas share."""
    bits = told(task)["spin_bits"]
    if model != "majority":
        return spins(case) * bits / 8 * (2 + 3 / replicas_of(case))
    return spins(case) * 2 * {"int8": 1, "int32": 4}[value(case.launch, "--storage")] if bits else 0


def with_updates(case, model, updates):
    """The same problem with so many updates of the lattice."""
    return replace(case, problem=(*case.problem, "--steps" if model == "majority" else "--sweeps", str(updates)))


def value(options, name, usual="1"):
    return dict(zip(options[::2], options[1::2])).get(name, usual)


def replicas_of(case):
    """On a ladder LO:HI:N there are N for each copy."""
    ladder = value(case.problem, "--temperatures", "")
    of_ladder = int(ladder.split(":")[2]) * int(value(case.problem, "--copies")) if ladder else 1
    return of_ladder * int(value(case.problem, "--replicas"))


def spins(case):
    """Of all samples and replicas: what one update updates."""
    size = int(value(case.problem, "--size"))
    if "--samples" not in case.problem:
        return size**2
    return size**3 * int(value(case.problem, "--samples")) * replicas_of(case)
