"""Reads what spin_glass writes, CSV or JSON, into NumPy arrays, and plots it. Needs NumPy, for pictures matplotlib.

import sys; sys.path.insert(0, "07_amsc/physics")
import psflip

run = psflip.read("ladder.csv")          # --averages, --output or --correlations
run.problem["size"], run["e"], run["e_error"]      # columns are arrays; NaN is what was not there
last = run.last()                        # of a ladder: the last bin, a row for each temperature
last["temperature"], last["xi_l"]
run.agreement("q2")                      # how far the last three bins are apart, in errors
psflip.crossing(psflip.read("L8.csv").last(), psflip.read("L10.csv").last(), "xi_l")
psflip.plot({8: run}, "xi_l", "xi.svg")
spins, header = psflip.read_spins("run.spins")     # --write-spins: int8, [sample, replica, z, y, x]
psflip.write_spins("new.spins", spins)             # for --spins
p = psflip.read("p.csv").last().where(temperature=0.7)    # --distribution: p["q"], p["p"]
psflip.autocorrelation(psflip.read("rows.csv"), "overlap_1", since=4096)    # of --output
"""

import csv
import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Run:
    """A file of a run: what its header says, and its columns."""

    header: dict
    columns: dict

    @property
    def problem(self):
        return self.header["problem"]

    def __getitem__(self, name):
        return self.columns[name]

    def __len__(self):
        return len(next(iter(self.columns.values()), ()))

    def where(self, **values):
        """The rows in which these columns have these values: where(sweep=1024)."""
        chosen = np.ones(len(self), bool)
        for name, value in values.items():
            chosen &= self.columns[name] == value
        return Run(self.header, {name: column[chosen] for name, column in self.columns.items()})

    def bins(self):
        """The rows of each measuring time, or of each bin of a ladder, in their order."""
        return [self.where(sweep=sweep) for sweep in np.unique(self["sweep"])]

    def last(self):
        return self.bins()[-1]

    def agreement(self, quantity, row=0, bins=3):
        """How far the last bins of a ladder are apart in a quantity, in errors: the largest difference from the last.
        A row is a temperature, the coldest first. Bins have the same samples, so what differs between them is less than
        their errors; 1 or more is no equilibrium. None if there are fewer bins, or no errors."""
        last = self.bins()[-bins:]
        values = [one[quantity][row] for one in last]
        error = last[-1][f"{quantity}_error"][row]
        if len(last) < bins or not error > 0 or any(map(math.isnan, values)):
            return None
        return max(abs(value - values[-1]) for value in values) / error


def number(text):
    return math.nan if text in ("", None) else float(text)


def read(path):
    """A .csv or .json file of spin_glass. Throws ValueError if it is none."""
    path = Path(path)
    text = path.read_text()
    try:
        if path.suffix == ".json":
            header = json.loads(text)
            rows = header.pop("rows") if "rows" in header else header.pop("averages")
            names = list(rows[0])
            table = [[row[name] for name in names] for row in rows]
        else:
            lines, header = text.splitlines(), {}
            while lines[0].startswith("# "):
                key, value = lines.pop(0)[2:].split(": ", 1)
                header[key] = json.loads(value)
            names, *table = csv.reader(lines)
        columns = np.array([[number(cell) for cell in row] for row in table], float).reshape(len(table), len(names))
        if "problem" not in header:
            raise KeyError("problem")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no table of spin_glass ({error})") from None
    return Run(header, {name: columns[:, i] for i, name in enumerate(names)})


SPINS = struct.Struct("<8sIIQ")  # name, version, 0, bytes of the description; spins_file.hpp has the format


def read_spins(path):
    """The spins of a file of --write-spins, +1 and -1, as [sample, replica, z, y, x], and what the file says of them;
    the first is number header["problem"]["first_sample"]. ValueError if it is none. The checksum is not looked at."""
    data = Path(path).read_bytes()
    try:
        name, version, _, length = SPINS.unpack_from(data)
        if (name, version) != (b"psFlipSp", 1):
            raise ValueError("another name or version")
        header = json.loads(data[SPINS.size : SPINS.size + length])
        problem = header["problem"]
        shape = (problem["samples"], problem["replicas"], *[problem["size"]] * 3)
        bits = np.frombuffer(data[SPINS.size + length : -8], np.uint8)
        spins = np.unpackbits(bits, bitorder="little").reshape(shape).astype(np.int8) * 2 - 1
    except (struct.error, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no spins of spin_glass ({error})") from None
    return spins, header


def write_spins(path, spins, first_sample=0):
    """Writes spins, [sample, replica, z, y, x], for --spins. The checksum is a loop over bytes, which takes time."""
    spins = np.asarray(spins)
    samples, replicas, size = spins.shape[:3]
    if spins.shape[2:] != (size,) * 3 or size % 2 or not np.isin(spins, (-1, 1)).all():
        raise ValueError("spins are +1 and -1, as [sample, replica, z, y, x] with three times the same even size")
    problem = {"size": size, "samples": samples, "first_sample": first_sample, "replicas": replicas}
    text = json.dumps({"problem": problem}).encode()
    data = SPINS.pack(b"psFlipSp", 1, 0, len(text)) + text
    data += np.packbits(spins.ravel() > 0, bitorder="little").tobytes()
    checksum = 0xCBF29CE484222325  # FNV-1a
    for byte in data:
        checksum = (checksum ^ byte) * 0x100000001B3 & (1 << 64) - 1
    Path(path).write_bytes(data + checksum.to_bytes(8, "little"))


def series(run, quantity, since=0):
    """A column of --output as an array [sweep][sample][copy][temperature], and the sweeps, from `since` on; a run
    without a ladder has one copy of each replica, and one temperature. A last sweep out of step is left out."""
    shape = [
        np.unique(run["sweep"]),
        np.unique(run["sample"]),
        np.unique(run["copy" if "copy" in run.columns else "replica"]),
    ]
    shape += [np.unique(run["temperature"])] if "temperature" in run.columns else [np.zeros(1)]
    values = run[quantity].reshape([len(one) for one in shape])  # in this order the program writes them
    sweeps = shape[0]
    if len(sweeps) > 2 and sweeps[-1] - sweeps[-2] != sweeps[1] - sweeps[0]:
        sweeps = sweeps[:-1]
    if len(set(np.diff(sweeps))) != 1:
        raise ValueError("a series is measured with --measure every:N")
    values = values[: len(sweeps)][sweeps >= since]
    present = ~np.isnan(values).all(axis=(0, 1, 3))  # overlaps stand in the rows of one copy only
    return sweeps[sweeps >= since], values[:, :, present]


def autocorrelation(run, quantity, since=0, window=6):
    """The integrated autocorrelation time of a column of --output ("energy", "overlap_1") in sweeps, a row for each
    temperature: tau = dt (1/2 + sum of rho(k), k = 1 .. W), where rho is the autocorrelation of all samples together,
    each about its own mean, and W the first that is at least `window` times that sum (Sokal). A mean has the variance
    2 tau / (length of the run in sweeps) times that of one measurement. Its error is by the jackknife over groups of
    samples. NaN where the series is shorter than tens of tau."""
    sweeps, values = series(run, quantity, since)
    values = values - values.mean(axis=(0, 2), keepdims=True)
    length, samples, copies = values.shape[:3]
    spectrum = np.abs(np.fft.rfft(values, 2 * length, axis=0)) ** 2
    sums = np.fft.irfft(spectrum, axis=0)[:length].sum(axis=2)  # [lag][sample][temperature]
    covariance = sums / copies / (length - np.arange(length))[:, None, None]
    of_group = run.problem["samples_per_stream"]
    groups = np.add.reduceat(covariance, range(0, samples, of_group), axis=1)

    def time(total, windows=None):
        """Of [lag][temperature], with the windows that it has taken. The mean that was taken away varies, too, which
        makes all covariances too small by its variance."""
        for _ in range(2):
            rho = total / total[0]
            partial = np.cumsum(rho, axis=0) - 0.5
            reached = np.arange(length)[:, None] >= window * partial
            at = reached.argmax(axis=0) if windows is None else windows
            tau = np.take_along_axis(partial, at[None], axis=0)[0]
            total = total + np.clip(2 * tau, 0, None) / (length * copies) * total[0]
        return np.where(reached.any(axis=0) & (at < length // 4), tau, np.nan), at

    with np.errstate(invalid="ignore", divide="ignore"):
        total = groups.sum(axis=1)
        tau, at = time(total)
        count = groups.shape[1]
        others = [time(total - groups[:, g], at)[0] for g in range(count)]
        error = np.sqrt((count - 1) / count * np.sum((others - tau) ** 2, axis=0)) if count > 1 else np.nan * tau
    dt = sweeps[1] - sweeps[0]
    temperatures = np.unique(run["temperature"]) if "temperature" in run.columns else [run.problem["temperature"]]
    columns = {"temperature": np.array(temperatures, float), "tau": dt * tau, "tau_error": dt * error}
    return Run(run.header, columns | {"window": dt * at})


def crossing(small, large, quantity, against="temperature", shifts=None):
    """Where two runs have the same value of a quantity, straight lines between their rows, and the error of that. The
    crossing at the highest abscissa; None if there is none. Rows are of the same abscissas.

    The rows of a run are of the same samples, so they are off together: the error is from curves that are shifted as a
    whole, by their errors. `shifts`: where the curves cross, shifted by so many errors each; without an error."""
    x = small[against]
    if not np.array_equal(x, large[against]):
        raise ValueError(f"the runs have other values of {against}")

    def zero(of_small, of_large):
        y = small[quantity] + of_small * small[f"{quantity}_error"]
        y = y - large[quantity] - of_large * large[f"{quantity}_error"]
        at = [i for i in range(len(x) - 1) if y[i] * y[i + 1] <= 0 and y[i] != y[i + 1]]
        return math.nan if not at else x[at[-1]] + (x[at[-1] + 1] - x[at[-1]]) * y[at[-1]] / (y[at[-1]] - y[at[-1] + 1])

    found = zero(*(shifts or (0, 0)))
    if math.isnan(found):
        return None
    if shifts:
        return float(found)
    return float(found), float(math.hypot(zero(1, 0) - zero(-1, 0), zero(0, 1) - zero(0, -1)) / 2)


def plot(runs, quantity, file, against="temperature"):
    """The last bins of ladders, {label: Run}, with their errors; or against "sweep", all bins of the coldest."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for label, run in runs.items():
        rows = run.last() if against != "sweep" else run.where(temperature=run["temperature"].min())
        axes.errorbar(rows[against], rows[quantity], rows[f"{quantity}_error"], label=str(label), capsize=2, lw=1)
    axes.set(xlabel=against, ylabel=quantity)
    if against == "sweep":
        axes.set_xscale("log", nonpositive="mask")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(file)
    pyplot.close(figure)
