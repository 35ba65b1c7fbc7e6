#!/usr/bin/env python3
"""What this machine has for psFlip, what it lacks, and the next command. Changes nothing; common/run --device-report
calls it before anything is installed or built."""

import argparse
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import build
from models import WITH_RANKS
from options import Parser
from stages import ROOT, run_tool

TOOLKIT = "/usr/local/cuda/bin"  # where the toolkit's packages put nvcc and ncu, often without a word in PATH


@dataclass
class Line:
    """One thing that is there, or not."""

    name: str
    there: bool
    text: str
    remedy: str = ""  # what to do about it, if it lacks

    def __str__(self):
        mark = "has  " if self.there else "lacks"
        return f"{mark}  {self.name:<12}  {self.text}" + (f"\n{'':21}-> {self.remedy}" if self.remedy else "")


def output_of(*command):
    """What a command prints; None if it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def found(pattern, text):
    match = re.search(pattern, text or "")
    return match[1] if match else None


def read(file):
    try:
        return file.read_text()
    except OSError:
        return ""


def find(program):
    return shutil.which(program) or shutil.which(program, path=TOOLKIT)


def version(text):
    return tuple(int(part) for part in text.split("."))


def processor(root=Path("/")):
    return found(r"model name\s*: (.*)", read(root / "proc/cpuinfo")) or os.uname().machine


def release_of(nvcc):
    return found(r"release ([\d.]+)", output_of(nvcc, "--version"))


def host(root):
    kilobytes = int(found(r"MemTotal:\s*(\d+)", read(root / "proc/meminfo")) or 0)
    return Line("processor", True, f"{processor(root)}, {build.cores()} cores, {kilobytes / 2**20:.0f} GiB")


def build_tools():
    """The packages that common/run installs, as it looks for them itself."""
    script = 'source "$1"; for entry in "${psflip_packages[@]}"; do psflip_has "$entry" || echo "${entry%%:*}"; done'
    missing = output_of("bash", "-c", script, "bash", str(ROOT / "common/tools/setup.bash"))
    if missing is None:
        return Line("build tools", False, "bash or dpkg does not answer", "common/README.md lists what psFlip needs")
    if missing.split():
        return Line("build tools", False, "missing: " + ", ".join(missing.split()), "common/run installs them")
    compiler = (output_of("g++", "-dumpfullversion") or "?").strip()
    cmake = found(r"version (\S+)", output_of("cmake", "--version"))
    return Line("build tools", True, f"g++ {compiler}, CMake {cmake}, and the libraries")


@dataclass
class Gpu:
    name: str
    memory: str
    capability: str  # "9.0"


def gpus():
    """What nvidia-smi lists, and the driver's version; nothing where there is no driver."""
    query = "--query-gpu=name,memory.total,compute_cap,driver_version"
    listed = output_of("nvidia-smi", query, "--format=csv,noheader")
    rows = [[cell.strip() for cell in row.split(",")] for row in (listed or "").splitlines()]
    rows = [row for row in rows if len(row) == 4]
    return [Gpu(*row[:3]) for row in rows], rows[0][3] if rows else None


def driver_and_gpus(root, cards, driver):
    if not driver:
        loaded = found(r"Module\s+(\S+)", read(root / "proc/driver/nvidia/version"))
        text = f"the module {loaded} is loaded, but nvidia-smi lists no GPU" if loaded else "no NVIDIA driver answers"
        remedy = "in a container, start it with --gpus all" if loaded else "not needed: everything runs on the CPU path"
        return [Line("driver", False, text, remedy)]
    newest = found(r"CUDA Version: ([\d.]+)", output_of("nvidia-smi"))
    lines = [Line("driver", True, f"{driver}, for CUDA up to {newest or 'an unknown version'}")]
    for name, memory, capability in sorted({(card.name, card.memory, card.capability) for card in cards}):
        number = sum(card.name == name for card in cards)
        lines.append(Line("GPU", True, f"{number} x {name}, {memory}, compute capability {capability}"))
    return lines


def toolkit(cards, driver):
    """nvcc, and whether it makes code that the driver takes and for the architecture that the GPU has."""
    nvcc = find("nvcc")
    if not nvcc:
        remedy = "install NVIDIA's CUDA toolkit, put its bin folder on the PATH" if cards else ""
        return [Line("toolkit", False, "no nvcc: the GPU path cannot be built", remedy)]
    release = release_of(nvcc)
    if not release:
        return [Line("toolkit", False, f"{nvcc} does not say its version", "install the CUDA toolkit again")]
    if not shutil.which("nvcc"):
        text = f"CUDA {release} is there, but not on the PATH"
        return [Line("toolkit", False, text, f"export PATH=$PATH:{Path(nvcc).parent}")]
    lines = [Line("toolkit", True, f"CUDA {release}")]
    newest = found(r"CUDA Version: ([\d.]+)", output_of("nvidia-smi")) if driver else None
    if newest and version(release)[0] > version(newest)[0]:
        text = f"CUDA {release}, but the driver is for CUDA up to {newest}"
        lines = [Line("toolkit", False, text, "a newer driver, or an older toolkit")]
    known = re.findall(r"compute_(\d+)", output_of(nvcc, "--list-gpu-arch") or "")
    for capability in sorted({card.capability for card in cards}):
        wanted = capability.replace(".", "")
        oldest, latest = (min(map(int, known)), max(map(int, known))) if known else (0, 0)
        if wanted in known:
            lines.append(Line("architecture", True, f"nvcc compiles for {capability}, and common/run does"))
        elif known and int(wanted) < oldest:
            text = f"this nvcc no longer compiles for {capability}"
            lines.append(Line("architecture", False, text, "an older toolkit"))
        elif known and int(wanted) > latest:
            lines.append(Line("architecture", False, f"this nvcc does not know {capability} yet", "a newer toolkit"))
    return lines


def mpi():
    """For the stage that takes it."""
    text = output_of("mpirun", "--version")
    if text is None:
        lacking = f"no mpirun: stage {WITH_RANKS} needs it"
        return Line("MPI", False, lacking, "apt-get install libopenmpi-dev openmpi-bin")
    open_mpi = found(r"\(Open MPI\) ([\d.]+)", text)
    name = f"Open MPI {open_mpi}" if open_mpi else text.strip().splitlines()[0]
    if not shutil.which("mpicxx"):
        return Line("MPI", False, f"{name}, without its compiler wrapper", "apt-get install libopenmpi-dev")
    aware = found(r"mpi_built_with_cuda_support:value:(\w+)", output_of("ompi_info", "--parsable", "--all"))
    note = {"true": ", CUDA-aware", "false": ", not CUDA-aware: halos go through host memory or between peers"}
    return Line("MPI", True, name + note.get(aware, ""))


def counters(root, cards):
    """Nsight Compute reads the hardware's counters only if the driver lets this user."""
    if not cards:
        return []
    ncu = find("ncu")
    admin_only = found(r"RmProfilingAdminOnly: (\d)", read(root / "proc/driver/nvidia/params"))
    if not ncu:
        return [Line("counters", False, "no ncu (Nsight Compute)", "it comes with the CUDA toolkit")]
    if admin_only == "1" and os.geteuid() != 0:
        remedy = "sudo ncu ..., or the module option NVreg_RestrictProfilingToAdminUsers=0"
        return [Line("counters", False, "the driver keeps them for root", remedy)]
    where = "" if shutil.which("ncu") else f", in {Path(ncu).parent}"
    may = "; the driver does not say who may read them" if admin_only is None else ", and this user may read them"
    return [Line("counters", True, f"ncu{where}{may}")]


def report(root=Path("/")):
    cards, driver = gpus()
    lines = [host(root), build_tools(), *driver_and_gpus(root, cards, driver), *toolkit(cards, driver), mpi()]
    return lines + counters(root, cards), bool(cards)


def conclusion(lines, has_gpu):
    """What psFlip will do here, and the next command."""
    lacks = {line.name for line in lines if not line.there}
    if has_gpu and not lacks & {"toolkit", "architecture"}:
        return "psFlip runs here on the GPU and on the CPU path. Next: common/run"
    if has_gpu:
        line = next(line for line in lines if line.name in ("toolkit", "architecture") and not line.there)
        return f"The GPU is not used until this is mended: {line.text}. The CPU path is complete. Next: {line.remedy}"
    more = ": all results and checks, no GPU times"
    more = more if "toolkit" in lacks else ", and compiles the GPU path for another machine"
    return f"psFlip runs here on the CPU path{more}. Next: common/run"


def in_a_line(options, root=Path("/")):
    """For the first line of common/run: where it runs, and what is missing for more. Takes no time."""
    cards, driver = gpus()
    missing = [] if driver else ["a GPU"]
    missing += [name for name, program in (("nvcc", "nvcc"), ("MPI", "mpirun")) if not shutil.which(program)]
    on_gpu = cards and options.device != "cpu" and options.cuda != "--no-cuda" and shutil.which("nvcc")
    where = f"{len(cards)} x {cards[0].name}" if on_gpu else "the CPU path"
    lacks = f" Missing for more: {', '.join(missing)}." if missing else ""
    return f"psFlip on {where}: {host(root).text}.{lacks}"


def main(arguments):
    parser = Parser(as_written=False, prog="common/run --device-report", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("/"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    lines, has_gpu = report(options.root)
    print("\n".join(map(str, lines)))
    print(f"\n{conclusion(lines, has_gpu)}")
    return 0


if __name__ == "__main__":
    run_tool(main, "common/run --device-report")
