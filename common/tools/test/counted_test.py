"""count.py and counted/: what is made of a recording. The recorder itself: common/gpu/on_cpu/test/counters."""

import unittest
from dataclasses import replace
from pathlib import Path
from typing import ClassVar
from unittest import mock

import count
import counters
import stages
from counted import page, predict, recording, show
from counted.recording import Branch, Frame, Launch, Place
from models import MAJORITY
from results import read_result
from stages import ROOT, Failure

STAGE = ROOT / "01_naive_gpu/update.cu"
COUNTS = {"requests": 10, "lanes": 160, "sectors": 40, "least_sectors": 20, "wavefronts": 0}
COUNTS |= {"conflicts": 0, "unwritten": 0}


def frame(function, file, line=1):
    return Frame(function, Path(file), line)


def place(line, kind="load", memory="global", **counts):
    return Place(
        (frame("sum_of_five<int>", STAGE, line), frame("update<int>", STAGE, 33)), kind, memory, 4, COUNTS | counts
    )


def launch(*places):
    branch = Branch((frame("update<int>", STAGE, 33),), {"executed": 8, "divergent": 2, "lanes": 160})
    return Launch(3, "update<int>", (2, 1, 1), (16, 10, 1), 0, 0, 7, 5, 9, list(places), [branch])


def course_stage(number, model):
    return next(stage for stage in stages.course(ROOT / "build", model) if stage.number == number)


class Recording(unittest.TestCase):
    def test_names_lose_namespaces_and_parameters(self):
        for function, name in (
            ("void psflip::cpu::convert<signed char, int>(signed char const*, int*)", "convert<signed char, int>"),
            ("update<int, 2>", "update<int, 2>"),
            ("psflip::cpu::(anonymous namespace)::sum_of_five(int)", "sum_of_five"),
            ("operator()<int const*, int>", "operator()"),
            (
                "auto Engine<int>::set(Lattice const&)::{lambda((auto:1)...)#2}::operator()<int*>(int*) const",
                "operator()",
            ),
        ):
            self.assertEqual(recording.plain_name(function), name)

    def test_the_sources_are_those_that_were_written(self):
        self.assertEqual(recording.source("/x/build/rewritten/01_naive_gpu/update.cu.cpp"), STAGE)
        self.assertEqual(recording.source("/x/rewritten/common/a.cuh"), ROOT / "common/a.cuh")
        self.assertEqual(recording.source("/usr/include/c++/12/tuple"), Path("/usr/include/c++/12/tuple"))

    def test_the_runtime_around_a_kernel_is_left_out(self):
        runtime, library = recording.RUNTIME / "runtime/launch.hpp", "/usr/include/c++/12/tuple"
        inner = frame("__ldg", recording.RUNTIME / "kernel/device_functions.hpp")
        own = [frame("load", STAGE, 24), frame("update", STAGE, 33)]
        outer = [frame("apply", library), frame("run_threads", runtime), frame("main", ROOT / "common/app/a.cpp")]
        self.assertEqual(recording.own_frames([inner, *own, *outer]), tuple(own))
        self.assertEqual(recording.own_frames(outer[:2]), ())

    def test_a_kernel_without_a_name_has_that_in_its_source(self):
        self.assertEqual(recording.kernel_at(frame("run_threads<x>", STAGE, 33)), "update")
        self.assertEqual(recording.kernel_at(frame("run_threads<x>", "/nowhere.cu", 33)), "run_threads<x>")

    def test_sums(self):
        found = launch(place(24), place(24), place(30, "store"), place(24, memory="shared", wavefronts=12))
        self.assertEqual(found.warps, 10)
        self.assertEqual(found.total("requests"), 30)
        self.assertEqual(found.total("sectors", kind="load"), 80)
        self.assertEqual(found.asked_bytes(), 3 * 160 * 4)
        by_line = found.by_line(STAGE)
        self.assertEqual(by_line[24, "load", "global", 4]["requests"], 20)
        self.assertEqual(list(by_line), sorted(by_line))
        self.assertEqual(found.by_line(ROOT / "other.cu"), {})
        self.assertEqual(found.file, STAGE)

    def test_launches_are_joined(self):
        one, other = launch(place(24)), launch(place(24), place(30, "store"))
        both = recording.joined([one, other])
        self.assertEqual((both.total("requests"), both.read_sectors, both.block_sectors), (30, 14, 18))
        self.assertEqual((len(both.branches), show.sums(both)["branch_efficiency"]), (2, 75))
        self.assertEqual((one.read_sectors, both.kernel), (7, one.kernel))


class Show(unittest.TestCase):
    def row(self, **ncu):
        found = launch(place(24), place(33, "store"))
        row = {"stage": "01_naive_gpu", "launch": "int32, 16 x 1", "updated_spins": 320, "launches": 1}
        row |= {"kernel": "update<int>", **show.sums(found)}
        row |= {"file": "01_naive_gpu/update.cu", "lines": show.lines_of(found, STAGE)}
        row |= {"branches_by_line": show.branches_of(found, STAGE)}
        return row | {"ncu": {name: row[name] for name in show.COMPARED} | ncu}

    def test_the_table(self):
        headings, line = show.launch_table([self.row()]).splitlines()
        self.assertRegex(headings, "^stage  launch +load requests  sectors each")
        self.assertRegex(
            line, r"^01 +int32, 16 x 1 +10 +4\.0 +10 +4\.0 +4\.0 +0\.90 +0\.70 +0\.50 +- +- +8 +75\.0 +- +-$"
        )

    def test_figures_stand_beside_their_lines(self):
        lines = show.listing(self.row()).splitlines()
        marked = [line for line in lines if " s " in line[:45]]
        self.assertEqual(len(marked), 2)
        self.assertRegex(marked[0], r"^ +10 load    4 B  4\.0/2\.0 s +16\.0 +24   return spin\[below\]")
        branch = next(line for line in lines if "branch" in line)
        self.assertRegex(branch, r"^ +8 branch, 25\.0 % diverge +20\.0$")

    def test_differences(self):
        self.assertEqual(show.difference(1000, 1000), "1,000")
        self.assertEqual(show.difference(1010, 1000), "1,010 (ncu 1,000, +1 %)")
        self.assertEqual(show.difference(5, 0), "5 (ncu 0)")
        self.assertEqual(show.differing(self.row()), [])
        self.assertEqual(show.differing(self.row(load_sectors=39)), ["load_sectors"])
        self.assertEqual(show.differing(self.row(shared_wavefronts=39)), [])
        self.assertIn("40 (ncu 39, +2.6 %)", show.truth([self.row(load_sectors=39)]))
        self.assertEqual((show.truth_of_caches([self.row()]), show.truth_of_branches([self.row()])), ("", ""))

    def test_a_page_has_the_figures_beside_the_source(self):
        text = page.page([self.row()], "common/run --counters <&>", predict.DEVICES["h200"])
        self.assertIn("common/run --counters &lt;&amp;&gt;", text)
        self.assertRegex(text, r"<tr class=\"costly\"><td>10</td><td>load</td><td>4</td><td>4\.0 s</td><td>2\.0</td>")
        self.assertRegex(text, r"<td>8</td><td>branch</td><td></td><td>25\.0 % diverge</td>")
        self.assertRegex(text, r"line 24: lanes lie apart: 4\.0 sectors per load")
        self.assertIn("The least time on H200", text)
        self.assertNotRegex(text, "https?://")


class Predictions(unittest.TestCase):
    """Least times, by hand."""

    DEVICE = predict.Device(
        "D", "", "", 10, clock=1e9, memory=1e12, l2=2e12, l2_bytes=1e6, launch=3e-6, resident=(64, 2, 100), l1_bytes=7
    )
    ROW: ClassVar = {"read_bytes": 8e6, "written_bytes": 3e6, "block_read_bytes": 16e6, "l1_cycles": 1e5, "launches": 2}
    ROW |= {"load_sectors": 2e6, "texture_sectors": 5e5, "store_sectors": 2e5, "atomic_sectors": 5e4}

    def test_bytes_sectors_cycles_and_launches(self):
        found = predict.limits(self.ROW, self.DEVICE)
        self.assertEqual({name: round(time, 9) for name, time in found.items()}, self.EXPECTED)
        self.assertEqual(predict.least(self.ROW, self.DEVICE)[1], "L2")

    EXPECTED: ClassVar = {"memory": 11, "L2": 12, "L1 and shared": 10, "launches": 6}

    def test_the_caches_of_a_device(self):
        self.assertEqual(replace(self.DEVICE, l2_halves=2).caches(registers=56.0), "10,64,2,100,7,500000,56")

    def test_what_fits_into_l2_need_not_come_from_memory(self):
        small = self.ROW | {"read_bytes": 3e5, "written_bytes": 4e5}
        self.assertEqual(predict.limits(small, self.DEVICE)["memory"], 0)

    def test_where_l1_holds_no_loads_every_sector_comes_from_l2(self):
        pascal = replace(self.DEVICE, l1_bytes=0)
        self.assertAlmostEqual(predict.limits(self.ROW, pascal)["L2"], 32 * 2.75e6 / 2e12 * 1e6)

    def test_what_is_not_known_is_no_limit(self):
        unknown = replace(self.DEVICE, l2=None, launch=None)
        self.assertEqual(set(predict.limits(self.ROW, unknown)), {"memory", "L1 and shared"})

    def test_an_unknown_device_is_refused(self):
        with self.assertRaisesRegex(Failure, "--predict pocket: allowed are h200, h100, a100, gtx1070"):
            predict.device_called("pocket")

    def test_no_kernel_was_faster_than_its_least_time(self):
        device = predict.DEVICES["h200"]
        for row in read_result(ROOT / "common/results/h200" / show.TRUTH, show.FORMAT)["rows"]:
            if row.get("kernel", "").startswith("update_wide"):
                continue  # the most that these moved is what the table of devices has for L2
            microseconds, what = predict.least(row, device)
            with self.subTest(row["launch"]):
                self.assertLessEqual(microseconds, row["ncu"]["microseconds"], what)


class Options(unittest.TestCase):
    def test_what_does_not_fit_together_is_refused(self):
        for words, message in (
            (["--stages", "99"], "--stages 99: there is no such stage"),
            (["--launch", "99:int32:16x1"], "--launch 99:int32:16x1: there is no stage 99"),
            (["--launch", "01:wrong"], "--launch 01:wrong: a launch is written as"),
            (["--launch", "01:int32:16x1", "--stages", "01"], "leave out --stages"),
            (["--size", "100"], "--size is for one model"),
            (["--beside", "h200", "--launch", "01:int32:16x1"], "leave out --launch"),
            (["--beside", "nowhere"], "there is no counters.json"),
            (["--beside", "h200", "--ncu"], "--beside and --ncu: one of them"),
            (["--launch", "07:wide:48"], "a launch of stage 07 is written as in 07:wide:64:philox"),
            (["--beside", "h200", "--stages", "01", "--size", "7"], "nothing that was counted there can be compared"),
        ):
            with self.subTest(words), self.assertRaisesRegex(Failure, message):
                count.wished_points(count.option_parser().parse_args(words))

    def test_ncu_counts_in_proportion(self):
        options = count.option_parser().parse_args(["--beside", "h200", "--stages", "01", "--size", "400"])
        point, *_ = count.wished_points(options)
        self.assertEqual((point.problem, point.launch["thread_width"]), ({"size": 400}, 16))
        self.assertEqual((point.ncu["load_requests"], point.ncu["load_sectors"]), (15625000 // 625, 75000000 // 625))

    def test_wavefronts_are_those_of_the_addresses(self):
        options = count.option_parser().parse_args(["--beside", "h200", "--stages", "03"])
        found = {(point.launch["storage"], point.launch["block"]): point.ncu for point in count.wished_points(options)}
        self.assertEqual(found["int32", 1]["shared_wavefronts"], 31250000 + 13281250)

    def test_of_many_samples_one_word_is_counted(self):
        options = count.option_parser().parse_args(["--beside", "h200", "--stages", "07"])
        first, *_, last = count.wished_points(options)
        self.assertEqual((first.problem["samples"], first.times, first.launches), (32, 128, 2))
        self.assertEqual(first.updated_spins(), first.ncu["updated_spins"])
        self.assertEqual((last.launch["kernel"], last.problem["samples"]), ("wide", 64))
        options = count.option_parser().parse_args(["--launch", "07:resident:128:minstd"])
        (point,) = count.wished_points(options)
        self.assertEqual((point.launches, point.problem["samples_per_stream"]), (1, 128))
        self.assertEqual(point.updated_spins(), 128 * 4 * 64**3)

    def test_ncu_is_asked_for_the_same_launches(self):
        options = count.option_parser().parse_args(["--ncu", "--launch", "07:wide:64", "03:int8:16x2"])
        asked = []

        def profile(command, kernel, launch_skip, launch_count):
            asked.append((" ".join(map(str, command)), launch_skip, launch_count))
            return dict.fromkeys(counters.METRICS, 3)

        with (
            mock.patch("counters.stage_called", lambda number, model, _: course_stage(number, model)),
            mock.patch("counters.profile_command", profile),
        ):
            found = [count.ask_ncu(options, point) for point in count.wished_points(options)]
        self.assertEqual([counts["load_requests"] for counts in found], [3, 3])
        (wide, *two), (tile, *one) = asked
        self.assertRegex(wide, "--size 64.* --samples 64 .*--kernel wide .*--samples-per-word 64 ")
        self.assertRegex(tile, "--size 1600 .*--storage int8 --thread-width 16 --block 2")
        self.assertEqual((two, one), ([2, 2], [2, 1]))

    def test_a_row_says_which_launch_it_is(self):
        """`block` is the option of that name, not the extent of the thread block."""
        for row in read_result(ROOT / "common/results/h200" / show.TRUTH, show.FORMAT)["rows"]:
            if "thread_width" in row:
                self.assertEqual(row["launch"].split(", ")[-1], f"{row['thread_width']} x {row['block']}")
                self.assertEqual(row["block_extent"], [row["thread_width"], row["thread_width"], 1])

    def test_only_whole_blocks(self):
        self.assertTrue(count.covered({"thread_width": 16, "block": 2}, 64, 320))
        self.assertFalse(count.covered({"thread_width": 16, "block": 2}, 64, 48))

    def test_every_model_has_a_problem(self):
        self.assertEqual(set(count.PROBLEMS[MAJORITY]), {"size"})
