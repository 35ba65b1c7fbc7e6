"""What a submission's kernel may do to memory at most, as an instructor asks. Counted on the CPU path."""

from counted import show
from counted.advice import advice
from counted.recording import joined, read_recording
from lab.diagnose import Finding

# What may be limited: how it is said, and how it follows from the sums of a launch and its number of updated spins.
GATES = {
    "load_sectors": ("sectors per load request", lambda of, spins: ratio(loads(of, "sectors"), loads(of, "requests"))),
    "store_sectors": ("sectors per store request", lambda of, spins: ratio(of["store_sectors"], of["store_requests"])),
    "load_requests": ("load requests per 32 spins", lambda of, spins: 32 * loads(of, "requests") / spins),
    "bank_conflicts": (
        "bank conflicts per 100 wavefronts of shared memory",
        lambda of, spins: 100 * ratio(of["shared_bank_conflicts"], of["shared_wavefronts"]),
    ),
    "l2_bytes": ("bytes per spin from L2", lambda of, spins: of["block_read_bytes"] / spins),
    "memory_bytes": (
        "bytes per spin from and to memory",
        lambda of, spins: (of["read_bytes"] + of["written_bytes"]) / spins,
    ),
}
ROUNDING = 1.0005  # 4.5 is said of 4.50003


def ratio(part, whole):
    return part / whole if whole else 0


def loads(sums, what):
    return sums[f"load_{what}"] + sums[f"texture_{what}"]


def update_of(recording, program, with_warm_up=False):
    """The launches of the update kernel that a program does after its warm-up, which is of as many, as one; or those of
    the warm-up, too. Finding if there is none: then nothing can be said for it."""
    found = [launch for launch in read_recording(recording, program) if launch.kernel.startswith("update")]
    if not found:
        raise Finding("no kernel whose name begins with 'update' touches memory", "what is counted is the kernel")
    return joined(found[0 if with_warm_up else len(found) // 2 :])


def figures(launch, spins):
    """{name of a gate: what the kernel does}"""
    sums = show.sums(launch)
    return {name: value(sums, spins) for name, (_, value) in GATES.items()}


def in_words(found, names=tuple(GATES)):
    """'4.8 sectors per load request, ...'"""
    return ", ".join(f"{found[name]:.3g} {GATES[name][0]}" for name in names)


def judge(launch, spins, gates, file):
    """The figures in words. Finding if one of the gates, {name: the most}, does not hold; `file`: where the student's
    lines are."""
    found = figures(launch, spins)
    for name, most in gates.items():
        if found[name] > most * ROUNDING:
            costly = "; ".join(f"line {line}: {text}" for line, text in advice(show.lines_of(launch, file)))
            raise Finding(
                f"{in_words(found, [name])}; at most {most:g} allowed",
                costly or "which lanes of a warp touch which addresses?",
            )
    return in_words(found)


def limits_in_words(gates):
    """'at most 4.5 sectors per load request, ...'"""
    return ", ".join(f"at most {most:g} {GATES[name][0]}" for name, most in gates.items())
