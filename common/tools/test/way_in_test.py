"""Tests of common/tools/first_table on a repository whose commands are small scripts."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import readme_tables
from measure import way_in

TOOL = Path(__file__).parents[1] / "first_table"

RUN = """#!/bin/bash
set -e
[[ $* == --no-install && $CCACHE_DISABLE == 1 ]]
echo "building, says nobody who prints tables" >&2
mkdir -p build
if [[ ! -e build/.ninja_log ]]; then
  printf '# ninja log v5\\n1\\t2\\t0\\ta.o\\tx\\n1\\t2\\t0\\tb.o\\tx\\n1\\t2\\t0\\tprogram\\tx\\n' >build/.ninja_log
fi
echo "On 2 cores, no GPU here"
echo "2D majority, 64 x 64 spins"
echo "stage  idea"
echo "00     loop"
echo "01     threads"
sleep 0
echo "07     bits"
echo "10000 spins are not a row's stage"
echo "3D spin glass"
sleep 0
echo "00     loop"
echo "05     slices"
command -v nvcc >with_nvcc || true
"""
TEST = """#!/bin/bash
echo "$*" >>called
[[ $1 == --no-install ]]
"""


class FirstTable(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="psFlip test ")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.repository = self.folder / "repository"
        self.clones = self.folder / "clones"
        self.clones.mkdir()
        self.environment = {**os.environ, "PATH": way_in.without_nvcc(os.environ["PATH"])}
        self.environment |= dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), "/dev/null")
        self.commit(RUN, TEST)

    def commit(self, run, test):
        (self.repository / "common").mkdir(parents=True, exist_ok=True)
        for name, text in (("run", run), ("test", test)):
            (self.repository / "common" / name).write_text(text)
            (self.repository / "common" / name).chmod(0o755)
        who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
        for command in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "-m", "Begin"]):
            subprocess.run(["git", *command], cwd=self.repository, env=self.environment, check=True)

    def add_nvcc(self):
        place = self.folder / "bin"
        place.mkdir()
        (place / "nvcc").write_text("#!/bin/bash\necho 'Cuda compilation tools, release 12.9, V12.9.86'\n")
        (place / "nvcc").chmod(0o755)
        self.environment["PATH"] += f":{place}"

    def call(self, *arguments):
        command = [sys.executable, TOOL, "--repository", self.repository, "--folder", self.clones, *arguments]
        return subprocess.run(map(str, command), env=self.environment, capture_output=True, text=True, timeout=60)

    def rows(self, *arguments):
        """Those of a call that must succeed, by what was measured and nvcc."""
        file = self.folder / "first_table.json"
        done = self.call("--json", file, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {(row["what"], row["nvcc"]): row for row in json.loads(file.read_text())["rows"]}

    def refused(self, part, *arguments):
        done = self.call(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Acommon/tools/first_table: [^\n]+\n\Z")
        self.assertIn(part, done.stderr)
        return done.stderr

    def test_rows_are_timed_when_they_come(self):
        self.commit(RUN.replace("sleep 0", "sleep 0.4"), TEST)
        rows = self.rows("--parts", "run")
        self.assertEqual(set(rows), {("common/run", None), ("common/run, again", None)})
        first, again = rows.values()
        for row in (first, again):
            self.assertGreater(row["first_table"], 0.4)
            self.assertGreater(row["both_tables"], 0.8)
            self.assertGreater(row["both_tables"], row["first_row"] + 0.4)  # or the reader was very late
            self.assertGreaterEqual(row["end"], row["both_tables"])
            self.assertGreater(row["core_seconds"], 0)
        self.assertEqual((first["steps"], again["steps"]), (3, 0))
        self.assertEqual(list(self.clones.iterdir()), [])

    def test_only_what_is_committed(self):
        (self.repository / "common/run").write_text("#!/bin/bash\nexit 1\n")
        self.assertEqual(len(self.rows("--parts", "run")), 2)

    def test_tests(self):
        rows = self.rows("--parts", "test")
        self.assertEqual(
            [what for what, _ in rows], ["common/test", "common/test, again", "common/test --quick, again"]
        )

    def test_a_stage_alone(self):
        stage = self.repository / way_in.STAGE
        stage.mkdir()
        (stage / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(one LANGUAGES CXX)\nadd_executable(one one.cpp)\n"
        )
        (stage / "one.cpp").write_text("int main() {}\n")
        self.commit(RUN, TEST)
        (row,) = self.rows("--parts", "stage").values()
        self.assertEqual((row["objects"], row["steps"]), (1, 2))

    def test_with_nvcc_and_without(self):
        self.add_nvcc()
        rows = self.rows("--parts", "run")
        self.assertEqual({nvcc for _, nvcc in rows}, {None, "12.9"})
        self.commit(RUN.replace("|| true", "&& exit 3 || exit 0"), TEST)
        done = self.call("--parts", "run", "--nvcc", "without")
        self.assertEqual((done.returncode, done.stderr), (0, ""))  # it did not see the one that is there
        self.refused("ended with code 3", "--parts", "run", "--nvcc", "with")

    def test_results_are_added_to_those_of_the_same_commit(self):
        self.rows("--parts", "test")
        self.assertEqual(len(self.rows("--parts", "run")), 5)
        self.commit(RUN + "\n", TEST)
        self.refused("has no results of this commit", "--parts", "run", "--json", self.folder / "first_table.json")

    def test_a_failure_names_the_log(self):
        self.commit("#!/bin/bash\necho 'no compiler here' >&2\nexit 1\n", TEST)
        said = self.refused("common/run --no-install ended with code 1", "--parts", "run")
        log = Path(said.rstrip("\n").split("what it said is in ")[1])
        self.assertIn("no compiler here", log.read_text())
        self.commit(RUN.replace('echo "00 ', 'echo "04 '), TEST)
        self.refused("0 tables that begin with 00", "--parts", "run")

    def test_refusals(self):
        self.refused("--parts has 'runs': allowed are run, stage, test", "--parts", "runs")
        self.refused("--nvcc with: there is no nvcc", "--nvcc", "with")
        self.refused("nowhere", "--commit", "nowhere")
        self.refused("is no folder", "--folder", self.folder / "nowhere")
        self.refused("there is no folder", "--json", self.folder / "nowhere/x.json")

    def test_a_readme_shows_them(self):
        self.rows("--parts", "run,test")
        results = self.folder / "common/results/cpu"
        results.mkdir(parents=True)
        (self.folder / "first_table.json").rename(results / "first_table.json")
        text = readme_tables.render(self.folder, "cpu first_table")
        self.assertEqual(text.count("\n| common/"), 5)
        self.assertIn("| common/run | none | 0.", text)
        self.assertIn("packages installed; commit ", text)
        (results / "first_table.json").write_text("{}")
        with self.assertRaisesRegex(way_in.Failure, "is not 'psFlip way in"):
            readme_tables.render(self.folder, "cpu first_table")


if __name__ == "__main__":
    unittest.main()
