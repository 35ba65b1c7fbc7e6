"""Problems on which a submission's program must end in the state that stage 00's ends in: options of both, and options
of the submission alone, which say how to launch."""

from dataclasses import dataclass, replace


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
    """On how many ranks psFlip's own test runs in a schedule: stage 08 on another number in each."""
    return {"forward": 2, "reversed": 3}.get(schedule, 1) if task.stage[:2] == "08" else 1


def options(**values):
    return tuple(part for name, value in values.items() for part in ("--" + name.replace("_", "-"), str(value)))


def launches(task, size, rng=None):
    """Ways to launch what a task asks for; some of them, drawn by rng, or one of each kind."""
    number = task.stage[:2]
    if number <= "03":
        blocks = (1,) if number == "01" else (1, 2, 3, 4, 5)
        if rng:
            storage, width = rng.choice(["int8", "int32"]), rng.choice([3, 4, 7, 8, 10, 12, 16])
            return [options(storage=storage, thread_width=width, block=rng.choice(blocks))]
        return [
            options(storage="int32", thread_width=4, block=blocks[len(blocks) // 2]),
            options(storage="int8", thread_width=6, block=blocks[-1]),
        ]
    power_of_two = size & (size - 1) == 0
    if number == "04":
        found = [options(indexing="standard"), *([options(indexing="bitwise")] if power_of_two else [])]
    elif number == "05":
        found = [
            options(indexing="sliced", load="plain"),
            options(indexing="sliced-grid", load="readonly"),
            options(indexing="standard-grid", load="texture"),
            options(sites_per_thread=2, load="texture"),
            *([options(sites_per_thread=4)] if size % 4 == 0 else []),
        ]
    elif number == "06":
        found = [options(indexing="sliced"), options(indexing="standard"), options(sites_per_thread=1)]
    elif number == "07":
        found = [options(kernel="fused" if task.exercise == 5 else "update")]
    else:
        found = [()]
    return [rng.choice(found)] if rng else found


def generators(task):
    number = task.stage[:2]
    if number == "06" and task.exercise == 3:
        return ["parisi-rapuano"]
    return ["minstd", "parisi-rapuano", "mt19937", "philox"] if number >= "06" else ["minstd"]


def fresh(task, model, rng):
    """Problems that nobody can have the answers to: drawn for this call, awkward sizes among them."""
    if model == "majority":
        some = [5, 7, 11, 13, 17, 19, 23], [29, 31, 33, 37, 63, 64, 65], [47, 48, 49, 96, 97, 127, 128, 129]
        return [
            Case(options(size=size, steps=rng.randint(1, 9), seed=rng.randrange(2**32)), launch)
            for size in (rng.choice(sizes) for sizes in ([1, 2], [3], *some))
            for launch in launches(task, size, rng)
        ]

    def problem(size, generator):
        how = {"size": size, "sweeps": rng.randint(1, 7), "seed": rng.randrange(2**63), "generator": generator}
        how |= {"temperature": round(rng.uniform(0.4, 5), 3), "samples": rng.choice([1, 2, 31, 33, 65])}
        how |= {"replicas": rng.choice([1, 2, 4] if task.stage[:2] == "07" else [1, 2, 3, 4, 5])}
        how |= {"samples_per_stream": rng.choice([1, 7, 32, 64]), "start": rng.choice(["random", "ordered"])}
        return options(**how, ferromagnetic_fraction=round(rng.uniform(0, 1), 3))

    def ranks(size):
        return rng.choice([ranks for ranks in (1, 2, 3, 4) if ranks <= size // 2]) if task.stage[:2] == "08" else 1

    return [
        Case(problem(size, generator), launch, ranks(size))
        for generator in generators(task)
        for size in rng.sample([4, 6, 8, 10, 12], 5 - len(generators(task)))
        for launch in launches(task, size, rng)
    ]


def small(task, model):
    """What a sanitizer can run in a second or two: lattices that no tile divides, one of them smaller than a tile, and
    blocks of many warps as well as of a part of one."""
    if model == "majority":
        some = [({"size": size, "steps": 2, "seed": 7}, launch) for size in (5, 19) for launch in launches(task, size)]
        largest_blocks = options(storage="int8", thread_width=32, block=1 if task.stage[:2] == "01" else 2)
        some.append(({"size": 37, "steps": 2, "seed": 7}, largest_blocks))
    else:
        usual = {"sweeps": 2, "seed": 7, "temperature": 1.1, "samples": 2, "replicas": 2, "samples_per_stream": 1}
        problems = [usual | {"generator": name, "size": size} for name in generators(task) for size in (4, 6)]
        some = [(problem, launch) for problem in problems for launch in launches(task, problem["size"])]
    return [Case(options(**problem), launch) for problem, launch in some]


def timed(task, model, rng):
    """Three problems that take a GPU long enough to be timed, drawn for this call, without the number of updates."""
    if model == "majority":
        blocks = 1 if task.stage[:2] == "01" else 4
        return [
            Case(
                options(size=size, seed=rng.randrange(2**32)),
                options(storage=rng.choice(["int8", "int32"]), thread_width=16, block=rng.randint(1, blocks)),
            )
            for size in rng.sample(range(7900, 8500), 3)
        ]
    sizes, samples = (range(56, 73, 4), 128) if task.stage[:2] >= "07" else (range(112, 145, 4), 4)
    return [
        Case(
            options(
                size=size,
                seed=rng.randrange(2**63),
                generator=rng.choice(generators(task)),
                temperature=round(rng.uniform(0.8, 2), 3),
                samples=samples,
                replicas=4,
            ),
            launches(task, size, rng)[0],
        )
        for size in rng.sample(sizes, 3)
    ]


def with_updates(case, model, updates):
    """The same problem with so many updates of the lattice."""
    return replace(case, problem=(*case.problem, "--steps" if model == "majority" else "--sweeps", str(updates)))


def spins(case):
    """Of all samples and replicas: what one update updates."""
    values = dict(zip(case.problem[::2], case.problem[1::2]))
    size = int(values["--size"])
    return size**3 * int(values["--samples"]) * int(values["--replicas"]) if "--samples" in values else size**2
