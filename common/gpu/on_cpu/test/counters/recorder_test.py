#!/usr/bin/env python3
"""What the recorder counts for kernels.cu: recorder_test.py PROGRAM. Every figure is worked out by hand."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from counted import show
from counted.advice import advice
from counted.recording import read_recording
from stages import Failure

SOURCE = Path(__file__).resolve().with_name("kernels.cu")
BY_SCHEDULE = {}


def launches(schedule, caches="2,256,2,233472,262144,1048576,0"):
    """{kernel: its launch}"""
    key = schedule, caches
    if key not in BY_SCHEDULE:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "recording.json")
            settings = {"PSFLIP_COUNTERS": str(file), "PSFLIP_SCHEDULE": schedule}
            settings |= {"PSFLIP_CACHES": caches, "PSFLIP_REQUESTS": "1"}
            subprocess.run([PROGRAM], env=os.environ | settings, check=True)
            BY_SCHEDULE[key] = {launch.kernel: launch for launch in read_recording(file)}
    return BY_SCHEDULE[key]


def where(launch):
    """What no order of the threads changes of its requests to memory on the chip and in the device."""
    return [
        (r.block, r.phase, r.time, r.warp, r.lanes, r.offsets) for r in launch.requests if r.place.memory != "constant"
    ]


def line_of(kernel, comment):
    """The first line behind the kernel's name, or from the function that it calls, with this comment."""
    lines = SOURCE.read_text().splitlines()
    name = "transpose" if kernel in ("conflicts", "padded") else kernel
    begin = next(i for i, line in enumerate(lines) if re.search(rf"(void) {name}\(", line))
    return next(i + 1 for i, line in enumerate(lines) if i > begin and line.endswith(f"// {comment}"))


class Recorder(unittest.TestCase):
    def expect(self, kernel, comment, kind, memory, **counts):
        """What all requests of a line of the kernel add up to; `bytes` of a lane."""
        for schedule in ("forward", "reversed", "shuffled"):
            found = launches(schedule)[kernel].by_line(SOURCE)
            key = (line_of(kernel, comment), kind, memory, counts.get("bytes", 4))
            self.assertIn(key, found, schedule)
            expected = {name: value for name, value in counts.items() if name != "bytes"}
            self.assertEqual({name: found[key][name] for name in expected}, expected, schedule)

    def test_a_warp_of_neighbouring_words_is_a_request_of_four_sectors(self):
        for comment, kind in (("load", "load"), ("store", "store")):
            self.expect("coalesced", comment, kind, "global", requests=12, lanes=384, sectors=48, least_sectors=48)

    def test_requests_that_are_kept_are_those_that_are_counted(self):
        first, *others = (launches(schedule) for schedule in ("forward", "reversed", "shuffled"))
        for kernel, launch in first.items():
            by_place = Counter(id(request.place) for request in launch.requests)
            self.assertEqual(
                [by_place[id(place)] for place in launch.places], [p.counts["requests"] for p in launch.places]
            )
            for other in others:
                self.assertEqual(where(other[kernel]), where(launch), kernel)

    def test_a_request_has_the_addresses_of_its_lanes(self):
        store = [r for r in launches("forward")["coalesced"].requests if r.place.kind == "store"]
        self.assertEqual([r.lanes for r in store], [tuple(range(32))] * 12)
        words = sorted(offset // 4 for request in store for offset in request.offsets)
        self.assertEqual(words, list(range(12 * 32)))

    def test_every_other_word_takes_twice_the_sectors(self):
        for comment, kind in (("load", "load"), ("store", "store")):
            self.expect("stride_two", comment, kind, "global", requests=12, sectors=96, least_sectors=48)

    def test_a_column_takes_a_sector_a_lane(self):
        self.expect("column_major", "load", "load", "global", requests=4, sectors=128, least_sectors=16)

    def test_words_that_begin_one_later_touch_a_fifth_sector(self):
        self.expect("misaligned", "load", "load", "global", requests=12, sectors=60, least_sectors=48)

    def test_bytes(self):
        for comment, kind in (("load", "load"), ("store", "store")):
            self.expect("single_bytes", comment, kind, "global", bytes=1, requests=12, sectors=12, least_sectors=12)

    def test_a_word_for_all_lanes_is_one_sector(self):
        self.expect("one_word_for_all", "load", "load", "global", requests=12, lanes=384, sectors=12, least_sectors=12)

    def test_lanes_that_returned_take_no_part(self):
        self.expect("half_a_warp", "load", "load", "global", requests=12, lanes=192, sectors=24, least_sectors=24)

    def test_a_loop_in_one_lane_is_a_request_an_iteration(self):
        for comment, kind in (("load", "load"), ("store", "store")):
            self.expect("one_lane", comment, kind, "global", requests=384, lanes=384, sectors=384)

    def test_vectors_move_whole(self):
        for comment, kind in (("load", "load"), ("store", "store")):
            self.expect("vectors", comment, kind, "global", bytes=16, requests=12, sectors=192, least_sectors=192)

    def test_atomics(self):
        self.expect("count_up", "atomic", "atomic", "global", requests=12, lanes=384, sectors=12)

    def test_a_column_of_a_tile_is_in_one_bank(self):
        self.expect("conflicts", "into the tile", "load", "global", requests=64, sectors=256)
        self.expect("conflicts", "into the tile", "store", "shared", requests=64, wavefronts=64, conflicts=0)
        self.expect("conflicts", "out of the tile", "load", "shared", requests=64, wavefronts=2048, conflicts=1984)

    def test_padding_spreads_it_over_all_banks(self):
        self.expect("padded", "into the tile", "store", "shared", requests=32, wavefronts=32, conflicts=0)
        self.expect("padded", "out of the tile", "load", "shared", requests=32, wavefronts=32, conflicts=0)

    def test_sixteen_bytes_a_lane_take_a_wavefront_a_quarter(self):
        self.expect("shared_vectors", "into the tile", "store", "shared", bytes=16, requests=4, wavefronts=16)
        self.expect("shared_vectors", "out of the tile", "load", "shared", bytes=16, wavefronts=16, conflicts=0)

    def test_eight_bytes_a_lane_take_a_wavefront_a_half(self):
        self.expect("shared_pairs", "into the tile", "store", "shared", bytes=8, wavefronts=16, conflicts=8)

    def test_an_asynchronous_copy_is_a_load_and_a_store_of_its_line(self):
        self.expect("copied", "into the tile", "load", "global", bytes=16, requests=12, sectors=192, unwritten=0)
        self.expect("copied", "into the tile", "store", "shared", bytes=16, requests=12, wavefronts=48, conflicts=0)
        self.assertEqual(launches("shuffled")["copied"].total("unwritten"), 0)

    def test_constant_memory(self):
        self.expect("from_constants", "load", "load", "constant", requests=12, lanes=384, sectors=0)

    def test_shared_memory_that_nobody_wrote(self):
        self.expect("half_a_tile", "every other is not there", "load", "shared", requests=8, unwritten=128)
        self.expect("half_a_tile", "the last 28 are not there", "load", "shared", requests=8, unwritten=56)
        found = advice(show.lines_of(launches("forward")["half_a_tile"], SOURCE))
        self.assertIn("reads shared memory that no thread of the block has written: 128 times", dict(found).values())
        for kernel in ("conflicts", "padded", "shared_vectors", "shared_pairs"):
            self.assertEqual(launches("shuffled")[kernel].total("unwritten", memory="shared"), 0, kernel)

    def test_device_memory_that_nobody_wrote(self):
        self.expect("half_an_array", "all but the first block's are not there", "load", "global", unwritten=256)
        found = advice(show.lines_of(launches("forward")["half_an_array"], SOURCE))
        self.assertIn("reads device memory that nobody has written: 256 times", dict(found).values())
        for kernel in ("coalesced", "vectors", "count_up"):
            self.assertEqual(launches("shuffled")[kernel].total("unwritten"), 0, kernel)

    def test_a_sector_that_two_blocks_read_counts_twice(self):
        for kernel, different, of_blocks in (
            ("coalesced", 48, 48),
            ("one_word_for_all", 1, 3),
            ("column_major", 32, 32),
        ):
            launch = launches("shuffled")[kernel]
            self.assertEqual((launch.read_sectors, launch.block_sectors), (different, of_blocks), kernel)

    def test_nothing_else_is_counted(self):
        for kernel, accesses in (("coalesced", 2), ("conflicts", 4), ("from_constants", 2), ("count_up", 1)):
            self.assertEqual(len(launches("forward")[kernel].by_line(SOURCE)), accesses, kernel)

    def test_of_a_launch(self):
        launch = launches("forward")["conflicts"]
        self.assertEqual((launch.grid, launch.block, launch.warps), ((2, 1, 1), (128, 1, 1), 8))
        self.assertEqual((launch.barriers, launch.read_sectors, launch.written_sectors), (2, 128, 128))
        self.assertEqual(launch.total("sectors", kind="load"), 256)
        self.assertEqual(launches("forward")["padded"].shared_bytes, 32 * 33 * 4)

    def test_branches(self):
        for schedule in ("forward", "shuffled"):
            found = launches(schedule)["branches"].branches_by_line(SOURCE)
            for comment, executed, divergent, lanes in (
                ("every other lane", 12, 12, 384),
                ("every other warp", 12, 0, 384),
                # Four times a warp, by 32, 24, 16 and 8 lanes; the last ones leave together.
                ("once to four times", 48, 36, 960),
            ):
                expected = {"executed": executed, "divergent": divergent, "lanes": lanes}
                self.assertEqual(found.pop(line_of("branches", comment)), expected, schedule)
            self.assertEqual(found, {})
        self.assertEqual(launches("forward")["half_a_warp"].branches[0].counts["divergent"], 12)
        self.assertEqual(launches("forward")["no_branches"].branches, [])
        self.assertEqual(show.sums(launches("forward")["branches"])["branch_efficiency"], 100 * 24 / 72)

    def test_caches(self):
        """Two passes over 32 KiB that are read and 32 KiB that are written, 1024 sectors each."""
        for l1, l2, hits, read, written in (
            (262144, 1048576, 2048, 1024, 0),  # all is still there in the second pass
            (16384, 1048576, 0, 1024, 0),  # not in L1
            (16384, 32768, 0, 2048, 1536),  # nor in L2, in which 512 written sectors are at the end
        ):
            found = launches("forward", f"2,256,2,233472,{l1},{l2},0")["twice"].caches
            self.assertEqual((found["l1_sectors"], found["l1_hits"]), (4096, hits))
            self.assertEqual((found["memory_read"], found["memory_written"]), (read, written))

    def test_blocks_of_a_multiprocessor_share_l1(self):
        """Three blocks of four warps read a word for each block, and write: these of one multiprocessor share a sector."""
        for multiprocessors, hits in ((1, 9 + 2), (2, 9 + 1), (3, 9)):
            for schedule in ("forward", "shuffled"):
                found = launches(schedule, f"{multiprocessors},256,2,233472,262144,1048576,0")["one_word_for_all"]
                self.assertEqual(found.caches["l1_hits"], hits, multiprocessors)

    def test_a_name_that_cannot_be_written_is_refused(self):
        for variable, value, message in (
            ("PSFLIP_COUNTERS", "/nowhere/recording.json", "No such file or directory"),
            ("PSFLIP_CACHES", "2,256,2", "allowed are seven numbers with commas"),
            ("PSFLIP_CACHES", "2,256,2,233472,262144,1048576,0,", "allowed are seven numbers with commas"),
        ):
            env = os.environ | {"PSFLIP_COUNTERS": os.devnull, variable: value}
            done = subprocess.run([PROGRAM], env=env, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, rf"^\S+: {variable} is '{value}': {message}[^\n]*\n$")

    def test_a_program_without_lines_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            program, file = Path(folder, "stripped"), Path(folder, "recording.json")
            subprocess.run(["strip", "--strip-debug", "-o", program, PROGRAM], check=True)
            subprocess.run([program], env=os.environ | {"PSFLIP_COUNTERS": str(file)}, check=True)
            with self.assertRaisesRegex(Failure, "stripped: addr2line finds no line of .* in it; build it anew"):
                read_recording(file)


class Advice(unittest.TestCase):
    """Kernels whose bits are right, and that are slow: each is told by its line."""

    def test_slow_kernels(self):
        for kernel, comment, said in (
            ("column_major", "load", "lanes lie apart: 32.0 sectors per load, where 4.0"),
            ("stride_two", "load", "lanes lie apart: 8.0 sectors per load, where 4.0"),
            ("misaligned", "load", "begins inside a sector: 5.0 sectors per load, where 4.0"),
            ("single_bytes", "load", "1 byte a lane: words would take fewer requests"),
            ("one_lane", "load", "one lane of 32 is at work in a load: 384 requests, where 12"),
            ("conflicts", "out of the tile", "bank conflicts: 32.0 wavefronts per load, where 1.0"),
        ):
            with self.subTest(kernel):
                found = advice(show.lines_of(launches("shuffled")[kernel], SOURCE))
                line = line_of(kernel, comment)
                self.assertTrue(any(at == line and text.startswith(said) for at, text in found), found)

    def test_good_kernels(self):
        for kernel in ("coalesced", "padded", "vectors", "shared_vectors", "one_word_for_all", "half_a_warp"):
            self.assertEqual(advice(show.lines_of(launches("shuffled")[kernel], SOURCE)), [], kernel)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
