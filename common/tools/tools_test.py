"""Tests of the tools in this folder: python3 -m unittest discover --pattern '*_test.py'. common/test runs them."""

import contextlib
import io
import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import compare
import readme_tables
import stages
import sweep
import table
from stages import Failure

TOOLS = Path(__file__).parent
FAKE_00 = 100 + 3 * 6 + 1  # ms a step of the fake stage 00


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="psFlip test ")  # a space, as in many people's paths
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class WithBuild(WithFolder):
    """A build folder of fake benchmarks for the stages 00 to 03."""

    def setUp(self):
        super().setUp()
        for name in ("00_cpu_reference", "01_naive_gpu", "02_blocked", "03_shared_memory"):
            (self.folder / name).mkdir()
            shutil.copy(TOOLS / "fake_benchmark.py", self.folder / name / "majority_benchmark")

    def compare(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = compare.main(["--build-dir", str(self.folder), *arguments])
        return code, output.getvalue()

    def json(self, *arguments):
        file = self.folder / "result.json"
        self.compare("--json", str(file), *arguments)
        return json.loads(file.read_text())


class Comparison(WithBuild):
    def test_table_has_a_row_for_each_stage_and_storage(self):
        code, output = self.compare()
        self.assertEqual(code, 0)
        rows = [line.split() for line in output.splitlines() if line[:2].isdigit() and line[2:4] == "  "]
        self.assertEqual([row[0] for row in rows], ["00", "01", "02", "03", "01", "02", "03"])
        self.assertEqual([row[-1] for row in rows], ["reference"] + 6 * ["yes"])
        self.assertIn("CPU, DEBUG", output)
        self.assertIn("DEBUG build: these times mean nothing", output)

    def test_best_shape_is_chosen_and_its_median_taken(self):
        row = self.json("--stages", "02", "--storage", "int32")["rows"][1]
        self.assertEqual((row["thread_width"], row["block"]), (10, 2))
        self.assertEqual(row["ms_per_step"], 25)
        self.assertEqual(row["shapes_tried"], 25)

    def test_derived_figures(self):
        rows = self.json("--size", "1000", "--storage", "int32,int8")["rows"]
        self.assertEqual([row["ms_per_step"] for row in rows[:4]], [FAKE_00, 50, 25, 12.5])
        factors = [row["factor_reference"] for row in rows[:4]]
        self.assertEqual(factors, [None, FAKE_00 / 50, FAKE_00 / 25, FAKE_00 / 12.5])
        stage_2 = rows[2]
        self.assertAlmostEqual(stage_2["ps_per_site"], 25e-3 / 1e6 * 1e12)
        self.assertAlmostEqual(stage_2["gb_per_s"], 8 * 1e6 / 25e-3 * 1e-9)
        self.assertAlmostEqual(stage_2["of_copy"], stage_2["gb_per_s"] / 100)
        self.assertAlmostEqual(stage_2["factor_before"], 50 / 25)
        # The first stage of the second storage comes after stage 00, not after the last of the first storage.
        self.assertEqual((rows[4]["stage"][:2], rows[4]["storage"]), ("01", "int8"))
        self.assertEqual(rows[4]["factor_before"], rows[4]["factor_reference"])

    def test_refused_shapes_are_kept_with_their_reason(self):
        row = self.json("--stages", "03", "--storage", "int32")["rows"][1]
        refused = [shape for shape in row["shapes"] if "refused" in shape]
        self.assertEqual({shape["thread_width"] for shape in refused}, {32})
        self.assertEqual(refused[0]["refused"], "a tile too large")

    def test_a_stage_that_can_do_none_of_the_shapes_is_an_error(self):
        with self.assertRaisesRegex(Failure, "03_shared_memory: a tile too large"):
            self.compare("--stages", "03", "--thread-width", "32")

    def test_wrong_bits_are_loud(self):
        (self.folder / "02_blocked/WRONG").touch()
        code, output = self.compare("--storage", "int8")
        self.assertEqual(code, 1)
        self.assertIn("*** WRONG RESULT *** 02_blocked (int8)", output)
        line = next(line for line in output.splitlines() if line.startswith("02"))
        self.assertTrue(line.endswith("NO"), line)

    def test_no_paths_in_the_json(self):
        self.assertNotIn(str(self.folder), json.dumps(self.json()))

    def test_unknown_stage(self):
        with self.assertRaisesRegex(Failure, "--stages 07"):
            self.compare("--stages", "01,07")


class Sweep(WithBuild):
    def sweep(self, *arguments):
        build, out = str(self.folder), str(self.folder / "out")
        options = compare.parse_options(["--build-dir", build, "--sweep", out, *arguments])
        reference, others = sweep.chosen_stages(options)
        options.storage, options.repetitions = ["int32"], 3
        return sweep.measure_all(options, reference, others)

    def test_figure_4_has_a_row_a_shape_and_the_published_times_where_they_belong(self):
        points, wrong = self.sweep("--size", "10000,500", "--steps", "10")
        self.assertEqual(wrong, [])
        one_spin_a_thread = [p for p in points if not p["stage"].startswith("01") or p["block"] == 1]
        rows = {(row["width"], row["b"]): row for row in sweep.figure_4(one_spin_a_thread, "int32", 10000, 10)}
        self.assertEqual(len(rows), 25)
        published = "{} GTX 1070 (published) ms".format
        self.assertEqual(rows[8, 4]["v1 ms"], rows[8, 1]["v1 ms"])  # v1 has no b
        self.assertEqual(rows[8, 4]["v3 ms"], "205.000")
        self.assertEqual(rows[32, 4]["v3 ms"], "")  # refused
        self.assertEqual([rows[16, b][published("v3")] for b in (3, 4)], ["", "75 to 90"])
        self.assertEqual([rows[w, 3][published("v2")] for w in (16, 32)], ["112 to 142", ""])
        smaller = sweep.figure_4(one_spin_a_thread, "int32", 500, 10)
        self.assertNotIn(published("v1"), smaller[0])

    def test_figure_5_takes_the_fastest_shape(self):
        points, _ = self.sweep("--size", "500", "--steps", "10")
        rows = {row["stage"][:2]: row for row in sweep.figure_5(points, "int32")}
        self.assertEqual((rows["02"]["thread_width"], rows["02"]["block"], rows["02"]["ms"]), (10, 2, 250))

    def test_wrong_bits_are_told(self):
        (self.folder / "02_blocked/WRONG").touch()
        points, wrong = self.sweep("--size", "500", "--steps", "10")
        self.assertEqual(len(wrong), 25)
        self.assertFalse([p for p in points if p["stage"].startswith("02")])


class ReadmeTables(WithBuild):
    """A stale table is found, whatever made it stale."""

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        results = self.root / "common/results/gpu"
        results.mkdir(parents=True)
        self.compare("--json", str(results / "comparison.json"))
        self.results = results / "comparison.json"
        self.readme = self.root / "README.md"
        self.write("gpu comparison", "gpu comparison 00 02", "gpu shapes 03 int8")
        self.stage = self.root / "02_blocked/README.md"
        self.stage.parent.mkdir()
        self.stage.write_text("# 02 Blocks: more work for a thread\n")
        self.assertEqual(self.run_tool(), 0)

    def write(self, *tables):
        blocks = [f"<!-- table: {table} -->\n<!-- end table -->\n\nbetween\n" for table in tables]
        self.readme.write_text("Top\n" + "".join(blocks))

    def run_tool(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()):
            return readme_tables.main(["--root", str(self.root), *arguments])

    def test_filled_tables_are_fresh_and_leave_the_rest(self):
        text = self.readme.read_text()
        self.assertEqual(text.count("between"), 3)
        self.assertIn("| 02 | more work for a thread |", text)
        self.assertIn("width 8", text)
        self.assertEqual(self.run_tool("--check"), 0)
        self.assertEqual(self.readme.read_text(), text)

    def test_a_changed_figure_in_the_readme_is_stale(self):
        self.readme.write_text(self.readme.read_text().replace("| 25.00 |", "| 24.00 |", 1))
        self.assertEqual(self.run_tool("--check"), 1)
        self.assertIn("| 24.00 |", self.readme.read_text())  # --check changes nothing

    def test_a_new_measurement_makes_stale(self):
        result = json.loads(self.results.read_text())
        result["rows"][2]["ms_per_step"] *= 1.1
        self.results.write_text(json.dumps(result))
        self.assertEqual(self.run_tool("--check"), 1)
        self.assertEqual(self.run_tool(), 0)
        self.assertEqual(self.run_tool("--check"), 0)

    def test_a_new_heading_makes_stale(self):
        self.stage.write_text("# 02 Blocks: less work for a thread\n")
        self.assertEqual(self.run_tool("--check"), 1)

    def test_wrong_results_are_not_published(self):
        result = json.loads(self.results.read_text())
        result["rows"][2]["bits_agree"] = False
        self.results.write_text(json.dumps(result))
        with self.assertRaisesRegex(Failure, "not to be published"):
            self.run_tool("--check")

    def test_markers_that_cannot_be_filled(self):
        for what in ("nowhere comparison", "gpu", "gpu graph", "gpu comparison 09", "gpu shapes 03", "gpu figure4 int8"):
            self.write(what)
            with self.subTest(what), self.assertRaises(Failure):
                self.run_tool("--check")
        self.readme.write_text("<!-- table: gpu comparison -->\nno end\n")
        with self.assertRaisesRegex(Failure, "no partner"):
            self.run_tool("--check")


class Ideas(WithFolder):
    def test_idea_is_the_heading_after_the_colon(self):
        (self.folder / "03_x").mkdir()
        (self.folder / "03_x/README.md").write_text("<img>\n\n# 03 Shared memory: the tile: its halo\n\n# Another: x\n")
        self.assertEqual(stages.idea("03_x", self.folder), "the tile: its halo")

    def test_without_a_readme_it_is_the_folder(self):
        self.assertEqual(stages.idea("03_shared_memory", self.folder), "shared memory")


class Figures(unittest.TestCase):
    def test_significant(self):
        for value, text in ((12345.6, "12,346"), (999.96, "1,000"), (3.14159, "3.142"), (0.01234, "0.01234")):
            self.assertEqual(table.significant(value), text)


class Setup(WithFolder):
    """setup.bash with stand-ins for the tools that know and change the machine."""

    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in ("bash", "dirname", "env"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.stub("dpkg-query", 'case $3 in there) echo "ii ";; removed) echo "rc ";; *) exit 1;; esac')
        self.log = self.folder / "log"

    def stub(self, name, body):
        file = self.bin / name
        file.write_text(f"#!/bin/bash\n{body}\n")
        file.chmod(0o755)

    def stub_apt(self, code=0):
        self.stub("apt-get", f'echo "apt-get $*" >>"{self.log}"; [[ $1 == update ]] || exit {code}')

    def install(self, *packages, root=True):
        # EUID is bash's own and read-only; the function under test gets another one under another name.
        script = (TOOLS / "setup.bash").read_text().replace("EUID", "TEST_EUID")
        copy = self.folder / "a/b/setup.bash"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(script)
        done = subprocess.run(
            ["bash", "-c", 'set -euo pipefail; source "$0"; psflip_install "$@"; echo went on', str(copy), *packages],
            env={"PATH": str(self.bin), "TEST_EUID": "0" if root else "1000"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        log = self.log.read_text().splitlines() if self.log.exists() else []
        return done, log

    def test_nothing_missing_touches_nothing(self):
        self.stub_apt()
        self.stub("tool", "")
        done, log = self.install("there", "package:tool", root=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr, log), (0, "went on\n", "", []))

    def test_root_installs_only_what_is_missing(self):
        self.stub_apt()
        done, log = self.install("there", "missing", "removed", "package:absent")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("installing missing removed package", done.stderr)
        install = "apt-get install -qq -y --no-install-recommends missing removed package"
        self.assertEqual(log, ["apt-get update -qq", install])
        self.assertEqual(done.stdout, "went on\n")

    def test_a_user_installs_through_sudo(self):
        self.stub_apt()
        self.stub("sudo", f'[[ $1 != -n ]] || exit 0; echo sudo >>"{self.log}"; "$@"')
        done, log = self.install("missing", root=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[0] for line in log], ["sudo", "apt-get", "sudo", "apt-get"])

    def check_gives_up(self, done, log, advice):
        self.assertEqual((done.returncode, done.stdout, log), (2, "", []))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(advice, done.stderr)

    def test_sudo_that_wants_a_password_without_a_terminal(self):
        self.stub_apt()
        self.stub("sudo", "exit 1")
        self.check_gives_up(*self.install("missing", root=False), "sudo apt-get install missing")

    def test_a_user_without_sudo(self):
        self.stub_apt()
        self.check_gives_up(*self.install("missing", "there", root=False), "sudo apt-get install missing")

    def test_a_machine_without_apt(self):
        self.check_gives_up(*self.install("missing"), "--no-install")

    def test_an_installation_that_fails(self):
        self.stub_apt(code=100)
        done, _ = self.install("missing")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("apt-get install missing", done.stderr)


class Configure(WithFolder):
    """When psflip_build configures anew."""

    def build(self, folder, *options, nvcc=""):
        stubs = self.folder / "bin"
        stubs.mkdir(exist_ok=True)
        stub = stubs / "cmake"
        stub.write_text("""#!/bin/bash
            echo "$1" >>"$LOG"
            [[ $1 == --build ]] || { mkdir -p "$5" && touch "$5/build.ninja"; }
        """)
        stub.chmod(0o755)
        log = self.folder / "log"
        log.write_text("")
        subprocess.run(
            ["bash", "-c", 'set -euo pipefail; source "$0"; psflip_build "$@"', TOOLS / "setup.bash", folder, *options],
            env={"PATH": f"{stubs}:/usr/bin:/bin", "LOG": str(log), "CUDACXX": nvcc},
            check=True,
            capture_output=True,
        )
        return log.read_text().split()

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

    def test_an_interrupted_configuration_is_repeated(self):
        folder = self.folder / "half"
        folder.mkdir()
        (folder / "CMakeCache.txt").touch()
        self.assertEqual(self.build(folder), ["--fresh", "--build"])


if __name__ == "__main__":
    unittest.main()
