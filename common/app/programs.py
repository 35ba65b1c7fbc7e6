"""What the tests of programs share: a program is run as a user would, and refuses in one line."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = None  # its path, which main() takes from the command line


def run(*arguments, stdin=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, timeout=120)


def result(*arguments, stdin=None):
    """The JSON object of a run that must succeed without a word on stderr."""
    done = run(*arguments, "--json", stdin=stdin)
    assert done.returncode == 0 and done.stderr == b"", done
    return json.loads(done.stdout)


def limited(*arguments, limits=(), user=None, environment=None, folder=None):
    """A run with these limits, pairs of a resource and its value, perhaps as another user."""

    def limit():
        if user is not None:
            os.setgid(user)
            os.setuid(user)
        for which, value in limits:
            resource.setrlimit(which, (value, value))

    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        timeout=120,
        preexec_fn=limit,
        cwd=folder,
        env=os.environ | (environment or {}),
    )


def stage():
    return Path(PROGRAM).parent.name


class InFolder(unittest.TestCase):
    place = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory(dir=self.place)
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def snapshot(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def assert_says_no(self, done, names="", code=2):
        """One line on stderr, with this in it, an exit code, and nothing else. `done`: (code, output, errors)."""
        self.assertEqual(done[:2], (code, ""), done)
        self.assertRegex(done[2], rf"\A{Path(PROGRAM).name}: [^\n]+\n\Z")
        self.assertIn(str(names), done[2])


class Refusing(InFolder):
    """One line on stderr, exit code 2, and nothing written or changed."""

    ending = ""  # of the files that the program writes

    def assert_refused(self, *arguments, names=""):
        existing = self.file("existing" + self.ending, b"precious")
        for output in ([], ["--output", self.folder / f"new{self.ending}"], ["--output", existing]):
            if output and "--output" in arguments:
                continue
            with self.subTest(arguments=arguments + tuple(output)):
                before = self.snapshot()
                done = run(*arguments, *output)
                self.assert_says_no((done.returncode, done.stdout.decode(), done.stderr.decode()), names)
                self.assertEqual(self.snapshot(), before)

    def assert_finds_the_disk_full(self, *arguments):
        done = run(*arguments, "--json")
        self.assertEqual(done.returncode, 2, done)
        self.assertRegex(done.stderr.decode(), rf"\A{Path(PROGRAM).name}: /dev/full: [^\n]+\n\Z")
        self.assertEqual(self.snapshot(), {})

    def assert_refuses_devices(self, *problem):
        self.assert_refused("--device", 99, *problem, names="99")
        self.assert_refused("--device", "tpu", *problem, names="tpu")
        # Where there is a GPU and the stage has a kernel for it, it is taken; anywhere else it is refused.
        done = run("--device", "gpu", *problem, "--json")
        if done.returncode == 0:
            self.assertEqual(json.loads(done.stdout)["device"]["platform"], "gpu")
        else:
            self.assert_refused("--device", "gpu", *problem, names="gpu")


class Ending(InFolder):
    """What the machine may not have: one line, an exit code, and nothing left behind. The arguments are a problem that
    takes host threads and memory on the CPU path."""

    def setUp(self):
        super().setUp()
        self.has_cpu_path = run("--device", "cpu", "--size", 4).returncode == 0

    def expect_cpu_path(self):
        if not self.has_cpu_path:
            self.skipTest("was built for GPUs alone")

    def assert_ends_well(self, done):
        self.assertIn(done.returncode, (1, 2), done)
        self.assertRegex(done.stderr.decode(), rf"\A{Path(PROGRAM).name}: [^\n]+\n\Z")
        self.assertLessEqual(
            {file.name for file in self.snapshot()}, {"c", "c.rows"}
        )  # a checkpoint may be there by then

    def assert_says_that_it_gets_no_threads(self, *problem):
        self.expect_cpu_path()
        nobody = 65534
        self.folder.chmod(0o777)
        try:
            done = limited(
                *problem,
                limits=[(resource.RLIMIT_NPROC, 1)],
                user=nobody if os.getuid() == 0 else None,  # root may have as many as it likes
                # In ASan's build, its search for leaks would take one more process.
                environment={"PSFLIP_CPU_WORKERS": "4", "ASAN_OPTIONS": "detect_leaks=0"},
                folder=self.folder,
            )
        except PermissionError:
            self.skipTest("another user cannot run the program")
        self.assert_ends_well(done)
        self.assertIn(b"host thread", done.stderr)

    def assert_says_that_it_gets_no_memory(self, *problem):
        self.expect_cpu_path()

        def with_megabytes(number):
            return limited(*problem, limits=[(resource.RLIMIT_AS, number << 20)], folder=self.folder)

        if with_megabytes(2048).returncode != 0:
            self.skipTest("a sanitizer, or a GPU's driver, takes address space as it likes")
        for file in self.snapshot():
            file.unlink()
        ended = 0
        loaded = os.path.getsize(PROGRAM) >> 20  # with less the system cannot even begin it
        for number in filter(loaded.__lt__, (*range(8, 64, 4), *range(64, 320, 32))):
            done = with_megabytes(number)
            if done.returncode not in (0, 127):  # 127: not even its libraries have room
                self.assert_ends_well(done)
                ended += 1
            for file in self.snapshot():
                file.unlink()
        self.assertGreater(ended, 0)

    def assert_begins_with_enough_memory_or_says_no(self):
        """Page by page from where it can be loaded: there may be no memory for objects that are made before main()."""

        def with_pages(number):
            limits = [(resource.RLIMIT_AS, number * resource.getpagesize())]
            return limited("--size", 4, limits=limits, folder=self.folder)

        few, enough = 0, (2 << 30) // resource.getpagesize()
        if with_pages(enough).returncode != 0:
            self.skipTest("a sanitizer, or a GPU's driver, takes address space as it likes")
        while enough - few > 1:
            half = (few + enough) // 2
            if with_pages(half).returncode in (127, -signal.SIGKILL, -signal.SIGSEGV):  # not begun
                few = half
            else:
                enough = half
        for number in range(enough, enough + 32):
            done = with_pages(number)
            if done.returncode != 0:
                self.assert_ends_well(done)

    def assert_refuses_settings_before_it_writes(self, *arguments):
        self.expect_cpu_path()
        for variable, value in (("PSFLIP_GUARD", "on"), ("PSFLIP_SCHEDULE", ""), ("PSFLIP_CPU_WORKERS", "0")):
            done = limited(*arguments, environment={variable: value}, folder=self.folder)
            self.assert_says_no(
                (done.returncode, done.stdout.decode(), done.stderr.decode()), f"{variable} is '{value}'"
            )
            self.assertEqual(self.snapshot(), {})


class Printing(InFolder):
    def assert_needs_its_output(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "--size", "4"], stdout=full, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 1)
        name = Path(PROGRAM).name
        self.assertRegex(done.stderr.decode(), rf"\A{name}: cannot write to standard output[^\n]*\n\Z")

    def assert_keeps_closed_streams_out_of_files(self, *arguments, files):
        """What a run writes is the same whichever of its standard streams are closed."""
        expected = None
        for closed in ((), (0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
            with self.subTest(closed=closed):
                for file in files:
                    file.unlink(missing_ok=True)
                done = subprocess.run(
                    [PROGRAM, *map(str, arguments)],
                    capture_output=True,
                    timeout=120,
                    preexec_fn=lambda closed=closed: [os.close(stream) for stream in closed],
                )
                self.assertEqual(done.returncode, 1 if 1 in closed else 0)  # without its report
                written = [file.read_bytes() for file in files]
                expected = expected or written
                self.assertEqual(written, expected)
                self.assertEqual(set(self.snapshot()), set(files))

    def assert_helps_with(self, options):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for option in options.split():
            self.assertIn(f"--{option} ", done.stdout.decode())


def main():
    """The tests of the program that is named first: all, or the classes that follow; after --but, all but these
    classes, so that one that is added need not be named to be run."""
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    if sys.argv[1:2] == ["--but"]:
        own = vars(sys.modules["__main__"]).items()
        cases = [name for name, value in own if isinstance(value, type) and issubclass(value, unittest.TestCase)]
        for name in sys.argv[2:]:
            cases.remove(name)
        sys.argv[1:] = cases
    unittest.main()
