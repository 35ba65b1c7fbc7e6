"""What is compiled once to judge many submissions: a copy of psFlip's sources, and a build of it for each purpose."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from lab import cases, sandbox, symbols
from lab.assignment import CODE, assigned_sources, copy_sources, model_of, sources_of, update_file
from lab.course import stages_in
from models import REFERENCE_FOLDER, WITH_RANKS
from stages import Failure, progress

# Builds for the CPU path. What a sanitizer looks at is compiled without optimisation: sooner done, and exact lines.
CPU = ["-DPSFLIP_CUDA=OFF"]
BUILDS = {
    "plain": [*CPU, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"],
    "races": [*CPU, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DPSFLIP_SANITIZE=thread"],
    "memory": [*CPU, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DPSFLIP_SANITIZE=address,undefined"],
    "gpu": ["-DPSFLIP_CUDA=ON", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CUDA_FLAGS=-lineinfo"],
}


class Kit:
    """Sources and builds in a folder that stays from call to call. `root` is psFlip, or an assignment; without `cuda`,
    nvcc and GPUs are left alone."""

    def __init__(self, root, folder, cuda=True):
        self.cuda = cuda
        self.root, self.folder = Path(root).resolve(), Path(folder).resolve()
        self.tree = self.folder / "tree"
        self.prepared, self.compilers = set(), {}
        self.copied = set()  # programs of solutions that are kept for the speed of others
        self.has_solutions = (self.root / "common/lab/check").is_file()
        self.stages = stages_in(self.root)
        for tool in ("cmake", "ninja", "g++"):
            if not shutil.which(tool):
                raise Failure(f"there is no {tool} here; apt-get install {tool.replace('ninja', 'ninja-build')}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.lock = (self.folder / "lock").open("w")
        except OSError as error:
            raise Failure(f"{folder}: {error.strerror}") from None
        fcntl.flock(self.lock, fcntl.LOCK_EX)  # one checker at a time in a folder
        self.sources = sources_of(self.stages, self.root)
        wanted = {*self.sources, Path("CMakeLists.txt")}
        for file in [path for path in self.tree.rglob("*") if path.is_file()]:
            if file.relative_to(self.tree) not in wanted:
                file.unlink()
        copy_sources(self.root, {file: file for file in self.sources}, self.tree)

    def model(self, stage):
        return model_of(stage, self.root)

    def put(self, files):
        """Lets these files, {name relative to the root: content}, take their places in the sources; all others are as
        they were."""
        for name in self.sources:
            update_file(self.tree / name, files.get(str(name)) or (self.root / name).read_bytes())

    def configure(self, build):
        folder = self.folder / build
        stamp = folder / "configured_for"
        wanted = "\n".join([*BUILDS[build], str(self.tree), *self.stages])
        if stamp.is_file() and stamp.read_text().startswith(wanted):
            return
        command = ["cmake", "--fresh", "-G", "Ninja", "-S", self.tree, "-B", folder, *BUILDS[build]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            found = re.search(r"CMake Error.*?\n\s*(?P<text>\S.*?)\n", done.stderr, re.DOTALL)
            reason = found["text"] if found else done.stderr.strip()[-300:]
            raise Failure(f"CMake cannot configure the build: {reason}")
        left_out = re.findall(r"psFlip: stage (\d\d) (left out .*)", done.stdout)
        stamp.write_text("\n".join([wanted, *(" ".join(line) for line in left_out)]))

    def left_out(self, build, stage):
        """Why CMake left a stage out of a build; nothing if it did not."""
        said = (self.folder / build / "configured_for").read_text()
        found = re.search(rf"^{stage[:2]} (left out .*)", said, re.MULTILINE)
        return found[1] if found else ""

    def targets(self, build, stage):
        """What is built for a stage: its program, psFlip's test of it, and the reference's program."""
        model = self.model(stage)
        wanted = [f"{stage}_{model}"]
        if build in ("plain", "gpu"):
            wanted.append(f"{stage}_{model}_test")
        if build == "plain":
            wanted.append(f"{REFERENCE_FOLDER}_{model}")
        return wanted

    def prepare(self, build, stage, files, targets=()):
        """Builds all but these files, with psFlip's own in their places, however long that takes: so what a submission
        waits for afterwards is its own. `targets`: instead of all of the stage's."""
        targets = list(targets) or self.targets(build, stage)
        if (build, *targets, *files) in self.prepared:
            return
        self.put({})
        self.configure(build)
        folder = self.folder / build
        if left_out := self.left_out(build, stage):
            raise Failure(f"{stage} cannot be built here: {left_out}")
        if stage[:2] == WITH_RANKS:
            expect_ranks()
        inputs = self.ninja(build, "-t", "inputs", *targets).stdout.split()
        theirs = {output for output, source in self.commands(build) if source in self.places(build, files)}
        objects = [name for name in inputs if name.endswith(".o") and name not in theirs]
        wanted = [*objects, *targets[2:]]  # the reference's program, too
        done = self.ninja_shown(f"{stage}: psFlip's part", build, "-k", "0", *wanted)
        if done.returncode != 0 and not any(name in done.stdout for name in files):
            error = re.search(r"^\S+: (fatal )?error: .*$", done.stdout, re.MULTILINE)
            reason = error[0] if error else done.stdout.strip()[-300:]
            raise Failure(f"psFlip's own part does not build here: {reason}; ninja -C {folder} says more")
        self.prepared.add((build, *targets, *files))

    def ninja(self, build, *options):
        return subprocess.run(["ninja", "-C", self.folder / build, *options], capture_output=True, text=True)

    def ninja_shown(self, what, build, *options):
        """The same, and on a terminal the line of progress says how far it is: [n/m]."""
        command, lines = ["ninja", "-C", self.folder / build, *options], []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            for line in process.stdout:
                lines.append(line)
                if step := re.match(r"\[\d+/\d+\]", line):
                    progress(f"{what}, {build} {step[0]}")
        return subprocess.CompletedProcess(command, process.returncode, "".join(lines), "")

    def build(self, build, stage, seconds, targets=()):
        """Builds a stage's programs, or these targets, with the files that were put. Returns the sandbox's Run."""
        command = ["ninja", "-C", self.folder / build, "-k", "0", *(targets or self.targets(build, stage))]
        return self.compile(command, seconds)

    def compile(self, command, seconds):
        """Runs a compiler, or what calls it, in a home that stays."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return sandbox.run(command, seconds=seconds, cwd=home, file_bytes=1 << 30)

    def places(self, build, files):
        """Where the compilers find these sources: as they are, and rewritten for the CPU."""
        for name in files:
            yield str(self.tree / name)
            yield str(self.folder / build / "rewritten" / name) + (".cpp" if name.endswith(".cu") else "")

    def commands(self, build):
        """(object file relative to the build, source) of everything that is compiled."""
        for command in json.loads((self.folder / build / "compile_commands.json").read_text()):
            yield re.search(r" -o (\S+)", command["command"])[1], command["file"]

    def program(self, build, stage, name):
        return self.folder / build / stage / name

    def objects(self, build, stage, files):
        """The object files of the stage's kernels for the CPU that these files are compiled into."""
        places = set(self.places(build, files))
        found = [
            (output, source)
            for output, source in self.commands(build)
            if f"/rewritten/{stage}/" in source
            and "_counted.dir/" not in output
            and (self.folder / build / output).is_file()
        ]

        def reads_one(output):
            read = self.ninja(build, "-t", "deps", output).stdout.splitlines()
            return any(os.path.normpath(self.folder / build / line.strip()) in places for line in read)

        return [output for output, source in found if source in places or reads_one(output)]

    def allowed(self, task):
        """What files of a task may include of the tree: what its assignment has, but for the reference."""
        return {file for file in assigned_sources([task], self.root) if file.parts[0] != REFERENCE_FOLDER}

    def engines(self):
        return symbols.engines_in((self.root / name).read_text() for name in self.sources if name.suffix in CODE)

    def foreign(self, build, task, files):
        """What the compiler read for these files, and should not have: of this folder all but what they may include,
        and from elsewhere what no compiler looks for by itself."""
        places = set(self.places(build, files))
        objects = [output for output, source in self.commands(build) if source in places]
        lines = self.ninja(build, "-t", "deps", *objects).stdout.splitlines() if objects else []
        read = {Path(os.path.normpath(self.folder / build / line.strip())) for line in lines if line.startswith("    ")}
        allowed, rewritten = self.allowed(task), self.folder / build / "rewritten"

        def is_foreign(path):
            if str(path) in places:
                return False
            for folder in (rewritten, self.tree):
                if path.is_relative_to(folder):
                    return path.relative_to(folder) not in allowed
            return path.is_relative_to(self.folder) or not any(
                path.is_relative_to(own) for own in self.of_compiler(build)
            )

        return sorted(
            str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)
            for path in read
            if is_foreign(path)
        )

    def of_compiler(self, build):
        """The folders in which the compiler of this build looks for its own headers, and those of packages."""
        if build not in self.compilers:
            command = json.loads((self.folder / build / "compile_commands.json").read_text())[0]["command"]
            options = set(re.findall(r"-isystem (\S+)", (self.folder / build / "build.ninja").read_text()))
            words = [word for word in command.split() if not word.endswith("ccache")]
            asked = subprocess.run([words[0], "-xc++", "-E", "-v", "/dev/null"], capture_output=True, text=True).stderr
            found = re.findall(r"^ (/\S+)$", asked, re.MULTILINE)
            self.compilers[build] = [Path(os.path.realpath(path)) for path in (*found, *options)]
            self.compilers[build] += [Path(os.path.normpath(path)) for path in (*found, *options)]
        return self.compilers[build]


def expect_ranks():
    """Failure if MPI cannot start anything on this machine, which no submission can help."""
    run = sandbox.run([*cases.with_ranks(2), "true"], seconds=60)
    if run.code != 0:
        reason = next((line for line in run.stderr.splitlines() if line.strip(" -*")), "it says nothing")
        raise Failure(f"mpirun cannot start two programs here: {reason.strip()}")
