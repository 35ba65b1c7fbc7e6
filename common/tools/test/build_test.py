"""Tests of build.py, which builds for common/run and common/test: python3 -m unittest test.build_test."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

import build
from test.tools_test import TOOLS, WithFolder

PYTHON = os.path.dirname(sys.executable)


class WithStubs(WithFolder):
    """Stand-ins for what is on the PATH."""

    def setUp(self):
        super().setUp()
        self.bin, self.log = self.folder / "bin", self.folder / "log"
        self.bin.mkdir()
        self.build_folder = self.folder / "build"

    def stub(self, name, body):
        file = self.bin / name
        file.write_text(f"#!/bin/bash\n{body}\n")
        file.chmod(0o755)

    def environment(self, **variables):
        return {"PATH": f"{self.bin}:{PYTHON}:/usr/bin:/bin", "LOG": str(self.log), "CUDACXX": ""} | variables

    def start(self, *options, **more):
        command = [sys.executable, build.__file__, self.build_folder, *options]
        return subprocess.Popen(command, env=self.environment(), text=True, **more)

    def run_(self, *options):
        with self.start(*options, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            output, errors = process.communicate(timeout=60)
        self.assertEqual(output, "")
        return process.returncode, errors


class ForTests(WithStubs):
    """What is built if some tests are to be run."""

    def built(self, *chosen):
        """What CMake is asked for; the folder has three tests, of which ctest names the chosen."""
        folder = self.build_folder
        folder.mkdir(exist_ok=True)
        (folder / "build.ninja").touch()
        (folder / "CTestTestfile.cmake").write_text(
            f'add_test([=[one.plain]=] "{folder}/one/program" "--filter=*")\n'
            f'set_tests_properties([=[one.plain]=] PROPERTIES COST "8")\n'
            f'add_test([=[two.script]=] "python3" "script.py" "address={folder}/two/a" "{folder}/two/b")\n'
            f'add_test([=[whole]=] "python3" "script.py" "{folder}/two")\n'
        )
        tests = ", ".join(f'{{"name": "{name}"}}' for name in chosen)
        self.stub("ctest", f"echo '{{\"tests\": [{tests}]}}'")
        self.stub("ninja", "printf '%s: LINK\\n' one/program two/a two/b two/c")
        self.stub("cmake", 'echo "$@" >>"$LOG"')
        self.log.write_text("")
        code, _ = self.run_("--tests", "-R", "what the stand-in does not look at")
        self.assertEqual(code, 0)
        asked = [line.partition(" --target ") for line in self.log.read_text().splitlines() if "--build" in line]
        return [targets.split() for _, _, targets in asked]

    def test_programs_of_their_commands(self):
        self.assertEqual(self.built("one.plain"), [["one/program"]])
        self.assertEqual(self.built("one.plain", "two.script"), [["one/program", "two/a", "two/b"]])

    def test_all_for_who_has_a_folder(self):
        self.assertEqual(self.built("one.plain", "whole"), [[]])
        self.assertEqual(self.built("not in the file"), [[]])

    def test_nothing_for_nothing(self):
        self.assertEqual(self.built(), [])


class Configure(WithStubs):
    """When psflip_build configures anew."""

    def build(self, folder, *options, nvcc=""):
        self.stub(
            "cmake",
            """
            echo "$1" >>"$LOG"
            [[ $1 == --build ]] || { mkdir -p "$5" && touch "$5/build.ninja" && echo "$@" >"$LOG.configured"; }
        """,
        )
        self.log.write_text("")
        done = subprocess.run(
            ["bash", "-c", 'set -euo pipefail; source "$0"; psflip_build "$@"', TOOLS / "setup.bash", folder, *options],
            env=self.environment(CUDACXX=nvcc),
            check=True,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.stdout, "")
        self.said = done.stderr
        return self.log.read_text().split()

    def test_only_when_needed(self):
        folder = self.folder / "build"
        anew, straight = ["--fresh", "--build"], ["--build"]
        self.assertEqual(self.build(folder, "-DA=1"), anew)
        self.assertEqual(self.build(folder, "-DA=1"), straight)
        self.assertEqual(self.build(folder), straight)
        self.assertEqual(self.build(folder, "-DA=2"), anew)
        self.assertEqual(self.build(folder, nvcc="/opt/nvcc"), anew)

    def test_a_folder_configured_by_hand_is_kept(self):
        folder = self.folder / "mine"
        folder.mkdir()
        (folder / "build.ninja").touch()
        self.assertEqual(self.build(folder), ["--build"])
        self.assertEqual(self.build(folder, "-DA=1"), ["--build"])
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            self.build(folder, "--cuda")
        self.assertEqual((refused.exception.returncode, self.log.read_text()), (2, ""))
        self.assertEqual(
            refused.exception.stderr,
            f"psFlip: --cuda: somebody configured {folder} by hand; give -DPSFLIP_CUDA=ON to cmake there\n",
        )

    def test_an_interrupted_configuration_is_repeated(self):
        folder = self.folder / "half"
        folder.mkdir()
        (folder / "CMakeCache.txt").touch()
        self.assertEqual(self.build(folder), ["--fresh", "--build"])

    def test_a_gpu_that_came(self):
        folder = self.folder / "build"
        self.build(folder)
        self.stub("nvidia-smi", "echo 'GPU 0: NVIDIA H200'")
        self.assertEqual(self.build(folder), ["--fresh", "--build"])
        self.assertEqual(self.build(folder), ["--build"])

    def test_options_are_whole_words(self):
        folder = self.folder / "build"
        self.build(folder, "-DA=10")
        self.assertEqual(self.build(folder, "-DA=1"), ["--fresh", "--build"])

    def test_cuda_without_a_gpu_is_compiled_if_asked_for_and_that_is_said(self):
        folder, line = self.folder / "build", "there is no GPU, so nothing is compiled with nvcc; --cuda compiles"
        self.build(folder, nvcc="/opt/nvcc")
        self.assertEqual(self.said.count(line), 1)
        self.build(folder, nvcc="/opt/nvcc")
        self.assertEqual(self.said.count(line), 1)
        for option, wanted in (("--cuda", "-DPSFLIP_CUDA=ON"), ("--no-cuda", "-DPSFLIP_CUDA=OFF")):
            self.assertEqual(self.build(folder, option, nvcc="/opt/nvcc"), ["--fresh", "--build"])
            self.assertEqual(self.build(folder, nvcc="/opt/nvcc"), ["--build"])  # as it was configured
            self.assertIn(f" {wanted}\n", (self.folder / "log.configured").read_text())
            self.assertNotIn(line, self.said)
        self.build(self.folder / "another")
        self.assertNotIn(line, self.said)  # no nvcc
        self.stub("nvidia-smi", "echo 'GPU 0: NVIDIA H200'")
        self.build(self.folder / "third", nvcc="/opt/nvcc")
        self.assertNotIn(line, self.said)


NINJA = """
if [[ $1 != --build ]]; then
  echo '-- found'; mkdir -p "$5"; echo 'build a: phony' >"$5/build.ninja"; exit
fi
"""
STEPS = """
echo '[0/2] Re-checking globbed directories...'
echo '[1/2] Building CXX object some/where/a.cpp.o'
echo 'a.cpp:1:1: warning: unused'
sleep 0.5
echo '[2/2] Linking CXX executable a'
"""


class Quiet(WithStubs):
    """What is said while it builds."""

    def test_a_line_when_it_begins_and_one_when_it_ends(self):
        self.stub("cmake", NINJA + STEPS)
        code, errors = self.run_("--target", "a")
        log = self.build_folder / "build.log"
        self.assertEqual(
            (code, re.sub(r"in \d s", "in 0 s", errors)),
            (
                0,
                (
                    f"psFlip: configuring in {self.build_folder}; all output goes to {log}\n"
                    f"psFlip: building a in {self.build_folder}, 2 steps\n"
                    "psFlip: built a: 2 steps in 0 s\n"
                ),
            ),
        )
        self.assertIn("warning: unused", log.read_text())
        self.assertIn("--build", log.read_text())
        code, errors = self.run_("--target", "a")
        self.assertIn(f"2 steps; all output goes to {log}\n", errors)
        self.assertEqual(log.read_text().count("warning: unused"), 2)  # of earlier builds, too

    def test_nothing_where_nothing_is_to_be_done(self):
        self.stub("cmake", NINJA + "echo '[0/2] Re-checking globbed directories...'; echo 'ninja: no work to do.'")
        self.run_()
        self.assertEqual(self.run_(), (0, ""))

    def test_one_line_that_is_rewritten_on_a_terminal(self):
        self.stub("cmake", NINJA + STEPS)
        mine, terminal = pty.openpty()
        with self.start("--target", "a", stdout=terminal, stderr=terminal) as process:
            os.close(terminal)
            text = b""
            with open(mine, "rb", buffering=0) as reader:
                while True:
                    try:
                        part = reader.read(4096)
                    except OSError:  # the other end is closed
                        break
                    if not part:
                        break
                    text += part
        self.assertEqual(process.returncode, 0)
        self.assertIn("building a: 1 of 2, 0 s, a.cpp.o", text.decode())
        self.assertNotIn("unused", text.decode())
        self.assertTrue(text.endswith(b"\r\033[K"))  # it is taken away in the end
        self.assertEqual(text.count(b"psFlip: "), 1)

    def test_only_what_failed_is_shown(self):
        self.stub(
            "cmake",
            NINJA
            + """
            echo '[1/3] Building CXX object a.cpp.o'; echo 'a.cpp:1:1: warning: unused'
            echo 'FAILED: b.cpp.o '; echo '/usr/bin/c++ -o b.cpp.o'; echo 'b.cpp:2:2: error: no such thing'
            echo '[3/3] Building CXX object c.cpp.o'; echo 'c.cpp:1:1: warning: unused'
            echo 'ninja: build stopped: subcommand failed.'; exit 1
        """,
        )
        self.run_("--target", "a")
        code, errors = self.run_("--target", "a")
        self.assertEqual(code, 1)
        self.assertEqual(
            errors.splitlines()[-3:],
            [
                "FAILED: b.cpp.o ",
                "b.cpp:2:2: error: no such thing",
                f"psFlip: building a failed; everything that was said is in {self.build_folder / 'build.log'}",
            ],
        )
        self.assertNotIn("warning", errors)
        self.assertEqual((self.build_folder / "build.log").read_text().count("a.cpp:1:1: warning"), 2)

    def test_a_configuration_that_failed_is_shown_and_done_again(self):
        self.stub("cmake", "echo '-- found'; echo 'CMake Error at x:1:'; echo '  no such package'; exit 1")
        for _ in range(2):
            code, errors = self.run_()
            self.assertEqual(code, 1)
            self.assertIn("\nCMake Error at x:1:\n  no such package\npsFlip: configuring failed;", errors)
            self.assertNotIn("found", errors)

    def test_without_cmake(self):
        with mock.patch("shutil.which", lambda name: None), self.assertRaisesRegex(build.Failure, "no cmake here"):
            build.Builder(self.build_folder).need("a")

    def test_real_builders_words(self):
        """Of a folder that is configured by hand, for Ninja or make."""
        source = self.folder / "source"
        source.mkdir()
        (source / "CMakeLists.txt").write_text("""
            cmake_minimum_required(VERSION 3.25)
            project(x NONE)
            add_custom_target(good COMMAND echo fine COMMENT "Making it")
            add_custom_target(bad COMMAND echo because && false COMMENT "Trying it")
        """)
        for generator, program in (("Ninja", "ninja"), ("Unix Makefiles", "make")):
            if not shutil.which(program):
                continue
            self.build_folder = self.folder / program
            subprocess.run(
                ["cmake", "-S", source, "-B", self.build_folder, "-G", generator], check=True, capture_output=True
            )
            builder = build.Builder(self.build_folder)
            self.assertEqual([builder.has(name) for name in ("good", "bad", "goo", "ugly")], [True, True, False, False])
            code, errors = self.run_("--target", "good")
            self.assertEqual(code, 0)
            self.assertRegex(
                errors, r"psFlip: building good in .*; all output goes to .*\npsFlip: built good: .* in \d+ s\n"
            )
            code, errors = self.run_("--target", "bad")
            self.assertEqual(code, 1)
            self.assertIn("\nbecause\n", errors)


class CtrlC(WithStubs):
    def interrupted(self, number=signal.SIGINT):
        """Exit code and words of a build to which a signal is sent when cmake's child has begun; that has ended, too."""
        with self.start("--target", "a", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            late = time.monotonic() + 10
            while not self.log.exists() or not self.log.read_text().strip():
                self.assertLess(time.monotonic(), late)
                time.sleep(0.01)
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        child = int(self.log.read_text())
        self.log.unlink()
        try:
            state = re.search(r"State:\t(.)", Path(f"/proc/{child}/status").read_text())[1]
        except OSError:
            state = "gone"
        self.assertIn(state, ("gone", "Z"))
        return process.returncode, errors

    def test_while_it_builds(self):
        self.stub("cmake", NINJA + 'sleep 60 & echo $! >"$LOG"; wait')
        for number in (signal.SIGINT, signal.SIGTERM):
            code, errors = self.interrupted(number)
            self.assertEqual(code, 128 + number)
            self.assertNotIn("Traceback", errors)
        self.stub("cmake", NINJA + STEPS)
        code, errors = self.run_("--target", "a")
        self.assertEqual(code, 0)
        self.assertNotIn("configuring", errors)  # the next call goes on

    def test_while_it_configures(self):
        self.build_folder.mkdir()
        self.stub("cmake", 'sleep 60 & echo $! >"$LOG"; wait')
        code, errors = self.interrupted()
        self.assertEqual(code, 130)
        self.assertNotIn("Traceback", errors)
        (self.build_folder / "build.ninja").touch()  # left by an earlier configuration
        self.stub("cmake", NINJA + STEPS)
        code, errors = self.run_("--target", "a")
        self.assertIn("configuring", errors)


class Background(WithStubs):
    def setUp(self):
        super().setUp()
        self.stub("cmake", NINJA + 'sleep 0.3; echo "[1/1] ${@: -1}"; echo ${@: -1} >>"$LOG"')
        path = mock.patch.dict(os.environ, self.environment())
        path.start()
        self.addCleanup(path.stop)
        self.said = []
        say = mock.patch("build.say", self.said.append)
        say.start()
        self.addCleanup(say.stop)
        self.builder = build.Builder(self.build_folder)

    def built(self):
        return self.log.read_text().split() if self.log.exists() else []

    def test_the_next_group_is_begun_and_then_waited_for(self):
        self.builder.plan([("one", ["a", "b"]), ("two", ["c", "d"]), ("three", ["e"])])
        self.builder.need("a")
        self.assertEqual(self.built(), ["b"])  # the last word of the group's command
        self.builder.ahead()
        self.assertEqual(self.built(), ["b"])
        self.builder.need("c")
        self.assertEqual(self.built(), ["b", "d"])
        self.builder.need("a", "d", "c")
        self.assertEqual(self.built(), ["b", "d"])

    def test_behind_the_readers_back(self):
        self.builder.behind(lambda: self.builder.need("a"))
        self.builder.wait()
        self.assertEqual(self.built(), ["a"])
        self.builder.need("a")
        self.assertEqual(self.built(), ["a"])
        self.stub("cmake", "echo 'FAILED: x'; exit 1")
        self.builder = build.Builder(self.build_folder)
        self.builder.behind(lambda: self.builder.need("b"))
        with self.assertRaisesRegex(build.Failure, "b failed"):
            self.builder.wait()


class Brought(WithFolder):
    def test_programs_from_another_machine_are_taken_as_they_are(self):
        (self.folder / "01_naive_gpu").mkdir()
        (self.folder / "01_naive_gpu/majority").touch()
        builder = build.Builder(self.folder)
        builder.need("anything")
        self.assertFalse(builder.has("anything"))
        self.assertEqual({file.name for file in self.folder.iterdir()}, {"01_naive_gpu"})


if __name__ == "__main__":
    unittest.main()
