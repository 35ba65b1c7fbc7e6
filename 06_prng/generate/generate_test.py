"""Runs the program `generate` as a user would, with right and wrong input.

generate_test.py <path of generate>
"""

import functools
import os
import pty
import struct
import subprocess
import sys
import unittest

PROGRAM = None
GENERATORS = ("minstd", "parisi-rapuano", "mt19937", "philox", "philox-planes")
MASK_32, MASK_64 = (1 << 32) - 1, (1 << 64) - 1
MODULUS = 2**31 - 1


def run(*arguments):
    return subprocess.run([PROGRAM, "--device", "cpu", *map(str, arguments)], capture_output=True, timeout=120)


def numbers(*arguments):
    """What a run that must succeed writes, as whole numbers."""
    done = run(*arguments)
    assert done.returncode == 0 and done.stderr == b"" and len(done.stdout) % 4 == 0, done
    return list(struct.unpack(f"<{len(done.stdout) // 4}I", done.stdout))


# The contract, once more: common/random/streams.hpp and the generators' definitions.
def mix(z):
    z = (z + 0x9E3779B97F4A7C15) & MASK_64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK_64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK_64
    return z ^ z >> 31


def stream_seed(seed, site):
    return mix((mix(mix(mix(seed))) + site) & MASK_64)


def minstd_states(state):
    while True:
        state = 16807 * state % MODULUS
        yield state


def minstd(seed, site):
    return (state - 1 for state in minstd_states(1 + stream_seed(seed, site) % (MODULUS - 1)))


def wheel(history, store_the_number=False):
    history = list(history)
    while True:
        total = (history[-24] + history[-55]) & MASK_32
        number = total ^ history[-61]
        history = history[1:] + [number if store_the_number else total]
        yield number


def splitmix_history(seed, site):
    state = stream_seed(seed, site)
    return [mix((state + i * 0x9E3779B97F4A7C15) & MASK_64) >> 32 for i in range(61)]


def parisi_rapuano(seed, site):
    return wheel(splitmix_history(seed, site))


def mt19937_from(word):
    words = [word & MASK_32]
    for i in range(1, 624):
        words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + i) & MASK_32)
    while True:
        joined = (words[0] & 0x80000000) | (words[1] & 0x7FFFFFFF)
        y = words[397] ^ joined >> 1 ^ (0x9908B0DF if joined & 1 else 0)
        words = words[1:] + [y]
        y ^= y >> 11
        y ^= y << 7 & 0x9D2C5680
        y ^= y << 15 & 0xEFC60000
        yield y ^ y >> 18


def mt19937(seed, site):
    return mt19937_from(stream_seed(seed, site))


@functools.cache
def philox_quadruple(seed, *counter):
    key = [seed & MASK_32, seed >> 32]
    for _ in range(10):
        one, other = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [other >> 32 ^ counter[1] ^ key[0], other & MASK_32, one >> 32 ^ counter[3] ^ key[1], one & MASK_32]
        key = [(key[0] + 0x9E3779B9) & MASK_32, (key[1] + 0xBB67AE85) & MASK_32]
    return counter


def philox(seed, site):
    for n in range(1 << 32):
        yield from philox_quadruple(seed, site, 0, n, 0)


def philox_planes(seed, site):
    word, bit = divmod(site, 32)
    for n in range(1 << 32):
        sweep, replica = divmod(n, 4)
        planes = [*philox_quadruple(seed, word, replica, sweep, 0), *philox_quadruple(seed, word, replica, sweep, 1)]
        upper = sum((plane >> bit & 1) << 7 - i for i, plane in enumerate(planes))
        zeros_before = sum(all(plane >> other & 1 == 0 for plane in planes) for other in range(bit))
        tail = philox_quadruple(seed, word, 0, sweep, (1 << 31) + zeros_before)[replica] >> 8
        yield upper << 24 if upper else tail


DEFINITIONS = {
    "minstd": minstd,
    "parisi-rapuano": parisi_rapuano,
    "mt19937": mt19937,
    "philox": philox,
    "philox-planes": philox_planes,
}


def interleaved(streams, count):
    """Number 0 of all streams, number 1 of all, ..."""
    found = []
    while len(found) < count:
        found += [next(stream) for stream in streams]
    return found[:count]


class Numbers(unittest.TestCase):
    maxDiff = 500

    def test_streams_of_the_contract_step_by_step(self):
        for generator in GENERATORS:
            for streams in (1, 3, 130):
                with self.subTest(generator=generator, streams=streams):
                    count = 150 * streams - streams // 2  # the last step is cut
                    found = numbers("--generator", generator, "--streams", streams, "--seed", 5 << 40, "--count", count)
                    expected = interleaved([DEFINITIONS[generator](5 << 40, id) for id in range(streams)], count)
                    self.assertEqual(found, expected)

    def test_goes_on_from_one_launch_to_the_next(self):
        # 5 steps of so many streams do not fit into the program's buffer of 2^22 numbers.
        streams = 1_000_003
        for generator in ("minstd", "parisi-rapuano", "philox", "philox-planes"):
            with self.subTest(generator=generator):
                found = numbers("--generator", generator, "--streams", streams, "--count", 5 * streams)
                for id in (0, 1, streams - 1):
                    self.assertEqual(found[id::streams], interleaved([DEFINITIONS[generator](1, id)], 5))

    def test_more_streams_than_the_buffer_has_numbers(self):
        streams = (1 << 22) + 1
        found = numbers("--streams", streams, "--count", 2 * streams)
        for id in (0, streams - 1):
            self.assertEqual(found[id::streams], interleaved([minstd(1, id)], 2))
        found = numbers("--streams", streams, "--count", streams, "--pack", "halves")
        one, other = interleaved([minstd(1, streams - 1)], 2)
        self.assertEqual(found[-1], (one >> 15) << 16 | other >> 15)

    def test_consecutive_seeds(self):
        consecutive = ["--seeding", "consecutive", "--streams", 3, "--count", 200]
        states = [minstd_states(id) for id in (7, 8, 9)]
        self.assertEqual(numbers("--seed", 7, *consecutive), [state - 1 for state in interleaved(states, 200)])
        # There are 2^31 - 2 states: after the last comes the first.
        states = [minstd_states(id) for id in (MODULUS - 1, 1, 2)]
        found = numbers("--seed", MODULUS - 1, *consecutive)
        self.assertEqual(found, [state - 1 for state in interleaved(states, 200)])

        found = numbers("--generator", "mt19937", "--seed", 5489, *consecutive)
        self.assertEqual(found, interleaved([mt19937_from(seed) for seed in (5489, 5490, 5491)], 200))
        self.assertEqual(found[:6:3], [3499211612, 581869302])  # published

        histories = [[next(states) for _ in range(61)] for states in map(minstd_states, (1, 2, 3))]
        found = numbers("--generator", "parisi-rapuano", *consecutive)
        self.assertEqual(found, interleaved([wheel(history) for history in histories], 200))
        self.assertEqual(found[:12:3], [1725422658, 3312017616, 3842062065, 2918707334])

    def test_the_posters_variant(self):
        found = numbers("--generator", "parisi-rapuano", "--variant", "poster", "--streams", 2, "--count", 400)
        histories = [splitmix_history(1, id) for id in (0, 1)]
        self.assertEqual(found, interleaved([wheel(history, store_the_number=True) for history in histories], 400))
        self.assertNotEqual(found, numbers("--generator", "parisi-rapuano", "--streams", 2, "--count", 400))

    def test_halves(self):
        raw = numbers("--streams", 3, "--count", 60)
        pairs = [(raw[6 * k + id], raw[6 * k + 3 + id]) for k in range(10) for id in range(3)]
        packed = [(one >> 15) << 16 | other >> 15 for one, other in pairs]
        self.assertEqual(numbers("--streams", 3, "--count", 30, "--pack", "halves"), packed)
        self.assertEqual(numbers("--streams", 3, "--count", 29, "--pack", "halves"), packed[:29])

    def test_bits_of_planes(self):
        """All words hold the bits of the draws in their order; or of the tails, of which there are enough to see."""
        streams, draws = 64, 20000
        raw = numbers("--generator", "philox-planes", "--streams", streams, "--count", streams * draws)
        used = "".join(f"{draw >> 24:08b}" if draw >> 24 else f"{draw:032b}" for draw in raw)
        tails = "".join(f"{draw:024b}" for draw in raw if draw >> 24 == 0)
        self.assertAlmostEqual(len(tails) / 24, len(raw) / 256, delta=4 * (len(raw) / 256) ** 0.5)
        for pack, bits in ("used", used), ("tails", tails):
            for count in (1, 3000, len(bits) // 32):
                found = numbers("--generator", "philox-planes", "--streams", streams, "--pack", pack, "--count", count)
                self.assertEqual(found, [int(bits[32 * i : 32 * i + 32], 2) for i in range(count)], pack)

    def test_no_numbers(self):
        self.assertEqual(numbers("--count", 0), [])

    def test_ends_quietly_when_its_reader_does(self):
        for options in ([], ["--streams", "5", "--pack", "halves"]):
            process = subprocess.Popen([PROGRAM, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(len(process.stdout.read(1000)), 1000)
            process.stdout.close()
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()


class Refusals(unittest.TestCase):
    """One line on stderr, exit code 2, no numbers."""

    def assert_refused(self, *arguments, names):
        with self.subTest(arguments=arguments):
            done = run(*arguments, "--count", 1)
            self.assertEqual((done.returncode, done.stdout), (2, b""), done)
            self.assertRegex(done.stderr.decode(), r"\Agenerate: [^\n]+\n\Z")
            self.assertIn(str(names), done.stderr.decode())

    def test_options(self):
        self.assert_refused("--generator", "rand", names="rand")
        self.assert_refused("--seeding", "bad", names="bad")
        self.assert_refused("--pack", "tight", names="tight")
        self.assert_refused("--sise", 1, names="--sise")
        for streams in (0, -1, (1 << 24) + 1, "1e3", "010", ""):
            self.assert_refused("--streams", streams, names="--streams")
        for seed in (-1, 1 << 63, "x"):
            self.assert_refused("--seed", seed, names="--seed")
        done = run("--count", "-1")
        self.assertEqual((done.returncode, done.stdout), (2, b""))

    def test_what_does_not_go_together(self):
        for generator in ("minstd", "mt19937", "philox", "philox-planes"):
            self.assert_refused("--generator", generator, "--variant", "poster", names="--variant poster")
        for generator in GENERATORS[1:]:
            self.assert_refused("--generator", generator, "--pack", "halves", names="--pack halves")
        for generator in GENERATORS[:4]:
            for pack in ("used", "tails"):
                self.assert_refused("--generator", generator, "--pack", pack, names=f"--pack {pack}")
        for generator in ("philox", "philox-planes"):
            self.assert_refused("--generator", generator, "--seeding", "consecutive", names="--seeding consecutive")

    def test_memory(self):
        os.environ["PSFLIP_CPU_MEMORY"] = str(1 << 28)
        try:
            self.assert_refused("--generator", "mt19937", "--streams", 1 << 20, names="--streams 1048576 needs 2.65 GB")
        finally:
            del os.environ["PSFLIP_CPU_MEMORY"]

    def test_devices(self):
        done = subprocess.run([PROGRAM, "--device", "99", "--count", "1"], capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr.decode(), r"\Agenerate: --device 99[^\n]+\n\Z")

    def test_a_terminal_and_a_full_disk(self):
        ours, theirs = pty.openpty()
        done = subprocess.run([PROGRAM, "--count", "1"], stdout=theirs, stderr=subprocess.PIPE)
        os.close(ours)
        os.close(theirs)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), r"\Agenerate: [^\n]*terminal[^\n]*\n\Z")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "--count", "1"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"\Agenerate: [^\n]+\n\Z")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
