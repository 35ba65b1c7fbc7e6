"""What stage 08 should take on N ranks: a model with three measured numbers and one a size.

A half-sweep updates a slab of p = L / (2N) planes (the next whole number: the slowest rank counts), and meanwhile a
plane travels. Both share the device, so that the bulk's stream ends when all p planes are done, and

    t_half = max(floor + p c,  c + latency + bytes / bandwidth)

- c: what a plane of this L costs, (t_1 / 2 - floor) / (L / 2) of the fastest one-rank sweep. At small L that
  holds what a rank's exchange with itself does not hide. What a small slab gains in the cache is not in it.
- floor: what a kernel costs however little it does, the shortest boundary part that one rank recorded.
- latency, bandwidth: of a transport, least squares of the relative error over the transfers that two or more ranks
  recorded, the median of a row each. A transfer begins in a stream and ends in one, so it holds a floor of its own,
  and the waiting for a neighbour that is late.
"""

import argparse
import math
import statistics
from dataclasses import dataclass
from operator import itemgetter

from results import least


@dataclass(frozen=True)
class Link:
    """How long a plane travels."""

    latency_us: float
    us_per_byte: float  # 0: too little to be seen

    def us(self, size):
        return self.latency_us + size * self.us_per_byte

    def __str__(self):
        if not self.us_per_byte:
            return f"{self.latency_us:.1f} us"
        gb_per_s = 1e-3 / self.us_per_byte
        return f"{self.latency_us:.1f} us + bytes / ({gb_per_s:.{1 if gb_per_s < 100 else 0}f} GB/s)"


class AssumedLink:
    """GB/s,us from the command line."""

    def __init__(self, text):
        try:
            self.gb_per_s, self.latency_us = map(float, text.split(","))
            if not (0 < self.gb_per_s < math.inf and 0 <= self.latency_us < math.inf):
                raise ValueError
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text}; it takes GB/s above 0 and microseconds, as 50,10") from None

    def link(self):
        return Link(self.latency_us, 1e-3 / self.gb_per_s)


def fit(points):
    """The Link with the least squares of relative errors at points (bytes, us), and nothing negative in it."""
    one = sum(1 / us**2 for _, us in points)
    x = sum(size / us**2 for size, us in points)
    xx = sum(size**2 / us**2 for size, us in points)
    y = sum(1 / us for _, us in points)
    xy = sum(size / us for size, us in points)
    determinant = one * xx - x * x
    if determinant > 1e-9 * one * xx:  # else there is one size only
        latency, slope = (y * xx - x * xy) / determinant, (one * xy - x * y) / determinant
        if slope >= 0:
            return Link(latency, slope) if latency >= 0 else Link(0, xy / xx)
    return Link(y / one, 0)


def parts(row, name):
    """Microseconds of the recorded parts of this name."""
    return [end - begin for part, begin, end in row["timeline_us"] if part == name]


class Model:
    """Of the rows of a result, at least one of them of one rank."""

    def __init__(self, rows):
        alone = [row for row in rows if row["ranks"] == 1]
        self.floor_us = min(us for row in alone for us in parts(row, "boundary"))
        best = least(alone, itemgetter("size"), itemgetter("ms_per_sweep"))
        self.alone_us = {size: row["ms_per_sweep"] * 1e3 / 2 for size, row in best.items()}  # a half-sweep on one rank
        self.bytes = {row["size"]: row["message_bytes"] for row in alone}
        transfers = {}
        for row in rows:
            if row["ranks"] > 1:
                point = row["message_bytes"], statistics.median(parts(row, "transfer"))
                transfers.setdefault(row["transport"], []).append(point)
        self.links = {transport: fit(points) for transport, points in transfers.items()}

    @property
    def largest(self):
        return max(self.alone_us)

    def plane_us(self, size):
        """c; beyond the sizes measured, that of the largest, as its area grows."""
        if size not in self.alone_us:
            return self.plane_us(self.largest) * (size / self.largest) ** 2
        return max(0.0, (self.alone_us[size] - self.floor_us) / (size / 2))

    def message(self, size):
        return self.bytes.get(size) or self.bytes[self.largest] * (size / self.largest) ** 2

    def update_us(self, size, ranks):
        return self.floor_us + -(-size // (2 * ranks)) * self.plane_us(size)

    def exchange_us(self, size, link):
        return self.plane_us(size) + link.us(self.message(size))

    def half_sweep_us(self, size, ranks, link):
        return max(self.update_us(size, ranks), self.exchange_us(size, link))

    def efficiency(self, size, ranks, link):
        alone = self.alone_us.get(size) or self.update_us(size, 1)
        return alone / (ranks * self.half_sweep_us(size, ranks, link))

    def hides_up_to(self, size, link):
        """The most ranks with which the plane arrives before the slab is updated; None if not even with two."""
        hidden = [n for n in range(2, size // 2 + 1) if self.exchange_us(size, link) <= self.update_us(size, n)]
        return max(hidden, default=None)
