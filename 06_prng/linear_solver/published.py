"""What the report has measured: S. Hamilton, M. Lupo Pasini, Monte Carlo Linear Solvers in CUDA (Profugus), on a GPU of
the Titan's generation.

published.csv has the numbers of all its 43 tables. Places of ldg: 1 search in P, 2 start of a walk, 3 next state,
4 tally. A total time has the set-up in it. A relative time is a total by that of the same row in another table.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("published.csv")
SYSTEMS = {"1D shifted Laplacian": "1D", "2D Laplacian": "2D", "SP_1": "SP_1"}
MANY, FEW = 10**7, 10**4  # walks of the adjoint method; the few only in one dimension

# Our experiment and variant -> {how walks end: (the report's table, the one it is compared with)}.
COUNTERPARTS = {
    ("a", "XORWOW, consecutive seeds"): {"fixed": (2, 1)},
    ("a", "XORWOW, random seeds"): {"fixed": (3, 1)},
    ("a", "XORWOW, subsequences, batches of 5"): {"fixed": (18, 4)},  # theirs with consecutive seeds
    ("b", "ldg-p"): {"cutoff": (12, 11), "fixed": (5, 4)},
    ("b", "ldg-index"): {"cutoff": (14, 11), "fixed": (7, 4)},  # the nearest to their place 3
    ("b", "ldg-all"): {"cutoff": (17, 11), "fixed": (10, 4)},
    ("c", "structs"): {"cutoff": (21, 17), "fixed": (20, 10)},
    ("d", "a thread per walk, atomics"): {"cutoff": (24, 25), "fixed": (22, 23)},
    ("e", "-dlcm=cg"): {"cutoff": (11, 33), "fixed": (4, 32)},  # their L1 was off by default
    ("f", "cutoff 1e-9"): {"cutoff": (11, 4)},
}
RESIDUALS = {"subsequences": 1, "consecutive": 2, "random": 3}  # tables, by seeding


@dataclass(frozen=True)
class Row:
    table: int
    system: str
    walks: int
    ms: float
    residual: float | None
    base: int | None  # the table that it is compared with
    ratio: str  # of the times, as printed

    @property
    def key(self):
        return self.system, self.walks


def row_of(line):
    residual, base = line["residual"], line["compared_with_table"]
    return Row(
        table=int(line["table"]),
        system=SYSTEMS[line["system"]],
        walks=int(line["histories"]),
        ms=float(line["total_ms"]),
        residual=float(residual) if residual else None,
        base=None if base == "-" else int(base),
        ratio=line["relative_time"],
    )


def tables(file=FILE):
    """{number: {(system, walks): Row}}"""
    found = {}
    with file.open(newline="") as stream:
        for row in map(row_of, csv.DictReader(stream)):
            found.setdefault(row.table, {})[row.key] = row
    return found


def of_system(table, system):
    """The row of a system, with the most walks."""
    rows = [row for row in table.values() if row.system == system]
    return max(rows, key=lambda row: row.walks) if rows else None


def x_as_fast(found, experiment, variant, system, end):
    """How many times as fast as the compared table's, set-up and all; None if the report does not say."""
    pair = COUNTERPARTS.get((experiment, variant), {}).get(end)
    if not pair:
        return None
    own, base = (of_system(found[number], system) for number in pair)
    return base.ms / own.ms


def less_set_up(found, experiment, variant, system):
    """The same for the walks alone, where the time of a thousandth of the walks is there to be taken off. With the
    cutoff that leaves no more than the set-up varies, so fixed steps are taken if there are any."""
    pairs = COUNTERPARTS.get((experiment, variant), {})
    pair = pairs.get("fixed") or pairs.get("cutoff")
    if not pair:
        return None
    rows = [[found[number].get((system, walks)) for walks in (MANY, FEW)] for number in pair]
    if not all(map(all, rows)):
        return None
    own, base = (many.ms - few.ms for many, few in rows)
    return base / own


def comparable(found, experiment, variant, system):
    """The report's ratio that ours, which has no set-up in it, can be compared with. 900 rows take none worth speaking
    of; a million rows take nearly all of the time."""
    if system == "1D":
        return less_set_up(found, experiment, variant, system)
    ends = ("cutoff", "fixed")
    return next(filter(None, (x_as_fast(found, experiment, variant, system, end) for end in ends)), None)


def verdict(ours, theirs, same=1.05):
    """What became of the report's finding. Up to 5 % are no difference."""

    def side(ratio):
        return 0 if 1 / same <= ratio <= same else 1 if ratio > 1 else -1

    if ours is None or theirs is None:
        return "-"
    here, there = side(ours), side(theirs)
    return "held" if here == there else "void" if here == 0 else "new" if there == 0 else "reversed"


def residual(found, seeding, system, walks):
    """Of adjoint walks; None if the report has none. 9,984 walks, a multiple of 32, stand for its 10,000."""
    row = found[RESIDUALS[seeding]].get((system, FEW if walks == 9984 else walks))
    return row and row.residual


def follows(row, base):
    """Whether the printed ratio is that of the times, give or take two units of its last digit."""
    unit = 10.0 ** -len(row.ratio.partition(".")[2])
    return abs(row.ms / base.ms - float(row.ratio)) <= 2 * unit


def repeated(found):
    """{table: the earlier one with the same times}"""
    seen, again = {}, {}
    for number, table in found.items():
        if all(row.base for row in table.values()):  # table 4 is table 2 on purpose: what others are compared with
            times = tuple((row.key, row.ms) for row in table.values())
            if times in seen:
                again[number] = seen[times]
            seen.setdefault(times, number)
    return again


def doubts(found):
    """What does not add up: (row, its base, remark) for each ratio that its times do not give."""
    again = repeated(found)
    for number, table in found.items():
        for row in table.values():
            base = row.base and found[row.base][row.key]
            if not base or follows(row, base):
                continue
            upside_down = abs(base.ms / row.ms - float(row.ratio)) < 0.001
            why = f"the times are table {again[number]}'s" if number in again else "upside down" if upside_down else ""
            yield row, base, why
