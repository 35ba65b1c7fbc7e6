"""The least time that what was counted takes on a device, and what sets it: bytes, sectors, wavefronts or launches.

What such a model cannot see: instructions, waiting (latency, with too few warps to hide it) and barriers. So it says
how fast a kernel could be if it kept its memory busy, and a kernel that takes much longer than that waits or computes.
"""

from dataclasses import dataclass

import table
from counted.show import FORMAT, TRUTH
from results import read_result
from stages import Failure

MICRO = 1e6


@dataclass(frozen=True)
class Device:
    title: str
    name: str  # as the driver says it
    source: str
    multiprocessors: int
    clock: float  # Hz, the highest
    memory: float  # bytes per second, read and written together
    l2: float | None  # bytes per second between L2 and the multiprocessors; None: not published
    l2_bytes: float
    launch: float | None  # seconds from one launch to the next in a stream, at least; None: not measured
    resident: tuple[int, int, int]  # on a multiprocessor at once, at most: threads, blocks, bytes of shared memory
    l1_bytes: int  # of a multiprocessor, with shared memory; 0: loads are not held there
    l2_halves: int = 1  # parts of L2, each of which holds what the multiprocessors near it ask for

    def caches(self, registers=0):
        """For PSFLIP_CACHES; registers: of a thread, if known."""
        l2 = int(self.l2_bytes / self.l2_halves)
        return ",".join(map(str, (self.multiprocessors, *self.resident, self.l1_bytes, l2, int(registers))))


DEVICES = {
    "h200": Device(
        "H200",
        "NVIDIA H200",
        "measured: copy bandwidth; the most that a kernel here moved to and from L2, as if at ncu's 100 %; the "
        "shortest launch",
        multiprocessors=132,
        clock=1.98e9,
        memory=4.26e12,
        l2=6.9e12,
        l2_bytes=60e6,
        launch=2.5e-6,
        resident=(2048, 32, 233472),
        l1_bytes=262144,
        l2_halves=2,
    ),
    "h100": Device(
        "H100 (SXM, 80 GB)",
        "NVIDIA H100 80GB HBM3",
        "published limits (NVIDIA, data sheet of the H100); not measured, and the bandwidth of its L2 is not published",
        multiprocessors=132,
        clock=1.98e9,
        memory=3.35e12,
        l2=None,
        l2_bytes=50e6,
        launch=None,
        resident=(2048, 32, 233472),
        l1_bytes=262144,
        l2_halves=2,
    ),
    "a100": Device(
        "A100 (SXM, 40 GB)",
        "NVIDIA A100-SXM4-40GB",
        "published limits (NVIDIA, A100 Tensor Core GPU Architecture); not measured",
        multiprocessors=108,
        clock=1.41e9,
        memory=1.555e12,
        l2=5120 * 1.41e9,
        l2_bytes=40e6,
        launch=None,
        resident=(2048, 32, 167936),
        l1_bytes=196608,
        l2_halves=2,
    ),
    "gtx1070": Device(
        "GTX 1070",
        "NVIDIA GeForce GTX 1070",
        "published limits (NVIDIA's specification); not measured, and the bandwidth of its L2 is not published",
        multiprocessors=15,
        clock=1.683e9,
        memory=256e9,
        l2=None,
        l2_bytes=2e6,
        launch=None,
        resident=(2048, 32, 98304),
        l1_bytes=0,  # Pascal Tuning Guide, GP104: by default global loads are cached in L2 only
    ),
}


def device_called(name):
    if name not in DEVICES:
        raise Failure(f"--predict {name}: allowed are {', '.join(DEVICES)}")
    return DEVICES[name]


def device_named(name):
    """The device that the driver calls so; None if it is not in the table."""
    return next((device for device in DEVICES.values() if device.name == name), None)


def least_seconds(moved, device):
    """For bytes that every update of a problem reads and writes. What stays in L2 from one update to the next is
    neither read from memory nor written to it."""
    from_l2 = moved / device.l2 if device.l2 else 0
    return max(from_l2, (moved - 2 * device.l2_bytes) / device.memory)


def limits(row, device):
    """{what: microseconds that it takes at least}. row: as count.py writes it."""
    moved = row["read_bytes"] + row["written_bytes"]
    reads = row["block_read_bytes"] if device.l1_bytes else 32 * (row["load_sectors"] + row["texture_sectors"])
    found = {
        "memory": moved / device.memory if moved > device.l2_bytes else 0,
        "L2": (reads + 32 * (row["store_sectors"] + row["atomic_sectors"])) / device.l2 if device.l2 else None,
        "L1 and shared": row["l1_cycles"] / (device.multiprocessors * device.clock),
        "launches": row["launches"] * device.launch if device.launch else None,
    }
    return {what: seconds * MICRO for what, seconds in found.items() if seconds is not None}


def least(row, device):
    """(microseconds, what takes them)"""
    found = limits(row, device)
    what = max(found, key=found.get)
    return found[what], what


def predictions_of_folder(folder):
    """The table in common/gpu/on_cpu/README.md, of what count.py --beside wrote."""
    return predictions(read_result(folder / TRUTH, FORMAT)["rows"], device_called(folder.name), table.as_markdown)


def predictions(rows, device, form=table.aligned):
    """The least times of launches, and beside them the measured ones where a row has one."""
    lines = []
    for row in sorted(rows, key=lambda row: row["stage"]):
        found = limits(row, device)
        microseconds, what = least(row, device)
        measured = row.get("ncu", {}).get("microseconds") if device is DEVICES["h200"] else None
        lines.append(
            {"stage": row["stage"][:2], "launch": row["launch"]}
            | {f"{name}, µs": table.significant(found[name], 3) if found[name] else "-" for name in found}
            | {"least, µs": table.significant(microseconds, 3), "limit": what}
            | {"ps per spin": table.significant(MICRO * microseconds / row["updated_spins"], 3)}
            | ({"measured, µs": table.significant(measured, 3)} if measured else {})
            | ({"of least": f"{measured / microseconds:.1f}"} if measured else {})
        )
    return table.table_of(lines, ("stage", "launch", "limit"), form)
