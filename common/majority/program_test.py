"""Runs the program `majority` as a user would, with right and wrong input.

program_test.py <path of majority>
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from app import programs
from app.programs import result, run


def storages():
    """Those that the stage has, its choice first."""
    default = result("--size", 1, "--steps", 0)["launch"]["storage"]
    others = [name for name in ("int32", "int8", "bit") if name != default]
    return [default] + [name for name in others if run("--size", 1, "--steps", 0, "--storage", name).returncode == 0]


class Endings(programs.Ending):
    def setUp(self):
        super().setUp()
        if programs.stage().startswith("00_"):
            self.skipTest("has no CPU path")

    def test_threads(self):
        self.assert_says_that_it_gets_no_threads("--size", 100, "--device", "cpu", "--output", "a.pbm")

    def test_memory(self):
        self.assert_says_that_it_gets_no_memory("--size", 100, "--device", "cpu", "--output", "a.pbm")

    def test_memory_before_it_begins(self):
        self.assert_begins_with_enough_memory_or_says_no()

    def test_settings(self):
        self.assert_refuses_settings_before_it_writes("--size", 10, "--output", "a.pbm")


class Refusals(programs.Refusing):
    ending = ".pbm"

    def test_options(self):
        self.assert_refused("--sise", 5, names="--sise")
        self.assert_refused("5", names="5")
        self.assert_refused("--size", names="--size")
        self.assert_refused("--size", "ten", names="ten")
        self.assert_refused("--steps", -1, names="-1")
        self.assert_refused("--seed", 1 << 32, names=1 << 32)
        self.assert_refused("--storage", "int16", names="int16")
        for storage in {"int32", "int8", "bit"} - set(storages()):
            self.assert_refused("--storage", storage, "--size", 10, names=storage)

    def test_sizes(self):
        for size in (0, -3, 99999999999, 3000000, 1 << 62, 1 << 64, "1e3", "0x10", ""):
            self.assert_refused("--size", size, names="--size")
        self.assert_refused("--size", 3000000, names="at most")

    def test_launches(self):
        for width in (33, 1000, 0, -1):
            self.assert_refused("--thread-width", width, "--size", 10, names=width)
        for block in (0, -1):
            self.assert_refused("--block", block, "--size", 10, names=block)
        for steps in (0, -1, 1000, 65536):
            self.assert_refused("--steps-per-pass", steps, "--size", 10, names=steps)
        if "bit" in storages():
            self.assert_refused("--thread-width", 8, "--size", 10, names="--thread-width")
            self.assert_refused("--block", 2, "--size", 10, names="--block")
        else:
            self.assert_refused("--steps-per-pass", 2, "--size", 10, names="--steps-per-pass")

    def test_devices(self):
        self.assert_refuses_devices("--size", 10)

    def test_inputs(self):
        wrong = {
            "empty.pbm": b"",
            "text.pbm": b"hello\n",
            "grey.pbm": b"P5\n2 2\n255\nabcd",
            "not_square_plain.pbm": b"P1\n3 2\n101010\n",
            "not_square_packed.pbm": b"P4\n2 3\n\x80\x80\x80",
            "truncated_plain.pbm": b"P1\n3 3\n10101\n",
            "truncated_packed.pbm": b"P4\n3 3\n\x80\x80",
            "truncated_header.pbm": b"P4\n3",
            "no_sites.pbm": b"P1\n0 0\n",
            "two_images.pbm": b"P4\n1 1\n\x80P4\n1 1\n\x80",
            "wrong_digit.pbm": b"P1\n2 2\n1 0 2 1\n",
            "huge.pbm": b"P4\n3000000 3000000\n\x80",
        }
        for name, content in wrong.items():
            path = self.file(name, content)
            self.assert_refused("--input", path, names=path)
        self.assert_refused("--input", self.folder / "missing.pbm", names="missing.pbm")
        self.assert_refused("--input", self.folder, names=self.folder)
        good = self.file("good.pbm", b"P1\n2 2\n1001\n")
        self.assert_refused("--input", good, "--size", 3, names="--size 3")
        self.assert_refused("--input", good, "--seed", 3, names="--seed")

    def test_outputs(self):
        for option in ("--output", "--picture"):
            for place in (self.folder / "missing" / "b", self.folder, "/proc/b", ""):
                self.assert_refused(option, place, "--size", 10, names=place)
        both = self.folder / "both"
        self.assert_refused("--output", both, "--picture", both, "--size", 10, names=both)
        for option in ("--output", "--picture"):
            self.assert_refused(option, "/dev/stdout", "--json", names="--json")
        done = run("--plain", "--size", 10)
        self.assertEqual((done.returncode, done.stderr.count(b"\n"), done.stdout), (2, 1, b""))

    def test_full_disk(self):
        for arguments in (
            ["--output", "/dev/full"],
            ["--picture", "/dev/full"],
            ["--picture", "/dev/full", "--output", self.folder / "b.pbm"],
        ):
            for size in (10, 1000):
                self.assert_finds_the_disk_full("--size", size, *arguments)


class Runs(programs.Printing):
    def test_published_hashes(self):
        start = result("--size", 64, "--steps", 0)
        self.assertEqual((start["hash"], start["magnetisation"], start["energy"]), ("6d9bdfa9445da604", 54, -44))
        end = result("--size", 64, "--steps", 10, "--seed", 42)
        self.assertEqual((end["hash"], end["magnetisation"], end["energy"]), ("c6f3b5ff575f52bc", 138, -5176))
        for storage in storages():
            one = result("--size", 100, "--steps", 1, "--storage", storage)
            self.assertEqual((one["hash"], one["magnetisation"], one["energy"]), ("b2a14d1263ef9f4a", 146, -5412))

    def test_json_says_the_whole_problem(self):
        storage = storages()[-1]
        answer = result("--size", 12, "--steps", 3, "--seed", 7, "--storage", storage)
        self.assertEqual(answer["program"], "majority")
        self.assertEqual(answer["stage"], programs.stage())
        self.assertEqual(answer["problem"], {"size": 12, "steps": 3, "seed": 7, "input": None})
        self.assertEqual(answer["launch"]["storage"], storage)
        self.assertEqual(set(answer["launch"]), {"storage", "thread_width", "block", "steps_per_pass"})
        self.assertEqual(answer["device"]["index"], 0)
        self.assertIn(answer["device"]["platform"], ("gpu", "cpu", "reference"))
        self.assertNotEqual(answer["device"]["name"], "")
        self.assertGreaterEqual(answer["seconds"], 0)

    def test_defaults(self):
        answer = result()
        self.assertEqual(answer["problem"], {"size": 1000, "steps": 10, "seed": 42, "input": None})
        self.assertIn(answer["launch"]["storage"], ("int32", "bit"))

    def test_report(self):
        done = run("--size", 64)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = done.stdout.decode().splitlines()
        self.assertTrue(lines[0].startswith("device"))
        self.assertIn(result("--size", 64)["device"]["name"], lines[0])
        self.assertIn("c6f3b5ff575f52bc", done.stdout.decode())

    def test_help(self):
        options = "size steps seed input output plain picture device storage thread-width block steps-per-pass json"
        self.assert_helps_with(options)

    def test_files_carry_the_state(self):
        """Ten steps at once, or three, a file and seven."""
        whole = result("--size", 65, "--steps", 10)
        for name, plain, magic in (("packed.pbm", [], b"P4"), ("plain.pbm", ["--plain"], b"P1")):
            path = self.folder / name
            part = result("--size", 65, "--steps", 3, "--output", path, *plain)
            self.assertTrue(path.read_bytes().startswith(magic))
            copy = self.folder / "copy.pbm"
            again = result("--input", path, "--steps", 0, "--output", copy, *plain)
            self.assertEqual(again["hash"], part["hash"])
            self.assertEqual(again["problem"], {"size": 65, "steps": 0, "seed": None, "input": str(path)})
            self.assertEqual(copy.read_bytes(), path.read_bytes())
            self.assertEqual(result("--input", path, "--size", 65, "--steps", 7)["hash"], whole["hash"])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["copy.pbm", "packed.pbm", "plain.pbm"])

    def test_file_pixels_are_spins(self):
        path = self.file("corner.pbm", b"P1\n4 4\n1000\n0000\n0000\n0000\n")
        self.assertEqual(result("--input", path, "--steps", 0)["magnetisation"], 1 - 15)
        self.assertEqual(result("--input", path, "--steps", 1)["magnetisation"], -16)

    def test_an_input_may_be_its_own_output(self):
        path = self.file("state.pbm", b"P1\n4 4\n1000\n0000\n0000\n0000\n")
        result("--input", path, "--steps", 1, "--output", path, "--plain")
        self.assertEqual(path.read_bytes(), b"P1\n4 4\n0000\n0000\n0000\n0000\n")

    def test_nothing_else_is_written_over(self):
        good = self.file("a.pbm", b"P1\n1 1\n1\n")
        part = self.file("b.pbm.psflip.part", b"P1\n1 1\n1\n")
        (self.folder / "link.pbm").hardlink_to(good)
        for options in (
            ("--input", good, "--picture", self.folder / "link.pbm"),
            ("--input", good, "--output", good, "--picture", self.folder / "link.pbm"),
            ("--output", self.folder / "new.pbm", "--picture", f"{self.folder}/./new.pbm"),
            ("--input", part, "--output", self.folder / "b.pbm"),
        ):
            before = self.snapshot()
            done = run("--size", 1, *options)
            self.assert_says_no((done.returncode, done.stdout.decode(), done.stderr.decode()), ".pbm: ")
            self.assertEqual(self.snapshot(), before)

    def test_picture(self):
        path = self.folder / "p.png"
        result("--size", 1500, "--steps", 1, "--picture", path)
        content = path.read_bytes()
        self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(int.from_bytes(content[16:20], "big"), 1024)  # width, from the header chunk
        self.assertEqual(int.from_bytes(content[20:24], "big"), 1024)

    def test_standard_streams(self):
        piped = run("--size", 64, "--steps", 3, "--output", "/dev/stdout")
        self.assertEqual(piped.returncode, 0)
        self.assertTrue(piped.stderr.decode().startswith("device"))  # the report makes way
        path = self.folder / "state.pbm"
        result("--size", 64, "--steps", 3, "--output", path)
        self.assertEqual(piped.stdout, path.read_bytes())
        again = run("--input", "/dev/stdin", "--steps", 7, "--json", stdin=piped.stdout)
        self.assertEqual(json.loads(again.stdout)["hash"], "c6f3b5ff575f52bc")

    def test_full_standard_output_is_a_failure(self):
        self.assert_needs_its_output()

    def test_closed_streams_stay_out_of_files(self):
        bitmap, picture = self.folder / "state.pbm", self.folder / "state.png"
        problem = ("--size", 9, "--steps", 2, "--output", bitmap, "--picture", picture)
        self.assert_keeps_closed_streams_out_of_files(*problem, files=[bitmap, picture])


if __name__ == "__main__":
    programs.main()
