"""Tests of common/tools/torture: of programs with one fault each it finds every one, and none in one that has none."""

import argparse
import contextlib
import io
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from hostile import bad_inputs, kills, session, trial
from stages import ROOT

FAULTLESS = "none"

# A program with the options, files and manners of spin_glass, and next to no physics.
FAKE = r"""#!PYTHON -IS
import fcntl, json, os, re, signal, sys, time, zlib

FAULT = "none"
WHOLE = "--size --sweeps --samples --replicas --samples-per-stream --seed --checkpoint-every".split()
TABLES = ["--output", "--averages", "--correlations"]
FILES = [*TABLES, "--checkpoint", "--resume"]
MANY = ["--write-couplings", "--couplings"]
OWN = (".psflip.part", ".psflip.lock", ".rows")


class No(Exception):
    pass


asked = []


def end_if_asked():
    if asked:
        raise SystemExit(128 + asked[0])


def parse(words):
    given = {}
    while words:
        name = words.pop(0)
        if name == "--help":
            text = [f"  {option} N  help" for option in WHOLE] + [f"  {option} FILE  help" for option in FILES + MANY]
            os.write(1, "\n".join([*text, "  --measure end|log  help", "  --json  help", ""]).encode())
            sys.exit(0)
        if name not in [*WHOLE, *FILES, *MANY, "--measure", "--json"] or name in given or (name != "--json" and not words):
            raise No(f"wrong: {name!a}")
        if name == "--json":
            given[name] = True
        elif name in MANY:
            given[name] = []
            while words and not words[0].startswith("--"):
                given[name].append(words.pop(0))
        else:
            given[name] = words.pop(0)
        value = given[name]
        number = r"[-+ ]?\d{1,7}" if FAULT == "lax" else r"0|[1-9]\d{0,7}"
        if name in WHOLE and not re.fullmatch(number, value, re.ASCII):
            raise No(f"{name}: wrong: {value!a}")
        if name in WHOLE:
            given[name] = int(value)
        if name == "--measure" and not re.fullmatch(r"end|log:2|every:[1-9]\d*", value):
            raise No(f"{name}: wrong: {value!a}")
        if name in TABLES and not value.endswith((".csv", ".json")):
            raise No(f"{name}: wrong: {value!a}")
        if value in ("", []):
            raise No(f"{name}: nothing")
    return given


def lock(path):
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if FAULT == "two at once":
            return file
        os.close(file)
        raise No(f"{path}: another program is writing it") from None
    except OSError:
        pass
    try:
        named = os.stat(path)
        current = named.st_ino == os.fstat(file).st_ino
    except OSError:
        current = False
    if current:
        return file
    os.close(file)
    return lock(path)


class Output:
    def __init__(self, path):
        if os.path.lexists(path):
            os.stat(path)  # a loop
        if os.path.exists(path) and not os.path.isfile(path):
            raise No(f"{path}: no file")
        self.path, self.part = path, path + ".psflip.part"
        self.file = lock(self.part)
        held.append(self)
        os.ftruncate(self.file, 0)

    def commit(self, content):
        if FAULT == "in place" and self.path.endswith("c"):
            with open(self.path, "wb", 0) as file:
                file.write(content[:20])
                file.write(content[20:])
            held.remove(self)
            self.drop()
            os.close(self.file)
            return
        try:
            while content:
                content = content[os.write(self.file, content) :]
            os.fsync(self.file)
        except OSError:
            if FAULT != "ignores errors":
                raise
        os.rename(self.part, self.path)
        held.remove(self)
        os.close(self.file)

    def drop(self):
        os.unlink(self.part)


class Lock:
    def __init__(self, path):
        self.part = path + ".psflip.lock"
        self.file = lock(self.part)
        held.append(self)

    drop = Output.drop


held = []


def read_couplings(path):
    with open(path, "rb") as file:
        found = re.fullmatch(rb"sample (\d) of \d+\n", file.read(100))
    if not found:
        raise No(f"{path}: wrong")


def read_checkpoint(path):
    with open(path, "rb") as file:
        content = file.read()
    body, _, check = content.rpartition(b"\n")
    try:
        if FAULT != "trusts" and int(check) != zlib.crc32(body):
            raise ValueError
        saved = json.loads(body)
        rows = b""
        if saved["rows"] is not None:
            if saved["rows"][0]:
                with open(path + ".rows", "rb") as file:
                    rows = file.read(saved["rows"][0])
            while FAULT == "hangs" and zlib.crc32(rows) != saved["rows"][1]:
                time.sleep(1)
            if zlib.crc32(rows) != saved["rows"][1]:
                raise ValueError
    except (ValueError, KeyError, TypeError):
        raise No(f"{path}: damaged") from None
    return saved, rows


def work(words):
    given = parse(words)
    path = given.get("--resume", given.get("--checkpoint"))
    outputs = {name: [given[name]] for name in TABLES if name in given}
    outputs["--write-couplings"] = given.get("--write-couplings", [])
    if path is not None:
        here = os.path.dirname(path) or "."
        if "--resume" in given and not os.path.isfile(path):
            raise No(f"{path}: there is no such file")
        Lock(path)
        if "--checkpoint" in given and (os.path.lexists(path) or os.path.lexists(path + ".rows")):
            raise No(f"{path}: it exists")
    if "--resume" in given:
        saved, rows = read_checkpoint(path)
        problem, state, done, sweeps = (saved[key] for key in ("problem", "state", "done", "sweeps"))
        sweeps, every, couplings = given.get("--sweeps", sweeps), saved["every"], saved["couplings"]
        if sweeps < done:
            raise No("fewer sweeps than are done")
        for name, files in saved["outputs"].items():
            outputs[name] = outputs.get(name) or [os.path.join(here, file) for file in files]
        couplings = [os.path.join(here, file) for file in couplings]
    else:
        problem = {name[2:]: given.get(name, 1) for name in WHOLE[:-1] if name != "--sweeps"}
        problem |= {"measure": given.get("--measure", "end"), "couplings": given.get("--couplings")}
        sweeps, every, couplings = given.get("--sweeps", 10), given.get("--checkpoint-every", 50), given.get("--couplings", [])
        state, done, rows = zlib.crc32(repr([problem[key] for key in sorted(problem) if key != "couplings"]).encode()), 0, b""
    for file in couplings:
        read_couplings(file)
    known = [*([path, *(path + own for own in OWN)] if path is not None else []), *couplings]
    if couplings and len(couplings) != problem["samples"] and "--samples" in given:
        raise No("--samples: not as many as couplings")
    files = [file for name in [*TABLES, "--write-couplings"] for file in outputs.get(name, [])]
    for file in files:
        real = os.path.realpath(file)
        for other in known:
            if real == os.path.realpath(other) or (os.path.exists(file) and os.path.exists(other) and os.path.samefile(file, other)):
                raise No(f"{file}: twice")
        known += [file, *(file + own for own in OWN)]
    opened = [Output(file) for file in files]

    def answer():
        return {"problem": problem | {"sweeps": sweeps}, "hash": f"{state:08x}"}

    journal = None

    def relative(file):
        whole = os.path.abspath(file)
        return whole if FAULT == "absolute" else os.path.relpath(whole, os.path.abspath(here))

    def save():
        nonlocal journal
        extent = None
        if "--output" in outputs:
            if journal is not None:
                kept = os.lseek(journal, 0, os.SEEK_END)
                while kept < len(rows):
                    kept += os.write(journal, rows[kept:])
                os.fsync(journal)
            extent = [len(rows), zlib.crc32(rows)]
        kept = {name: [relative(file) for file in files] for name, files in outputs.items()}
        saved = {"problem": problem, "state": state, "done": done, "sweeps": sweeps, "every": every, "rows": extent}
        body = json.dumps(saved | {"outputs": kept, "couplings": [relative(file) for file in couplings]}).encode()
        Output(path).commit(body + b"\n%d" % zlib.crc32(body))
        if extent is not None and journal is None:
            journal = os.open(path + ".rows", os.O_RDWR | os.O_CREAT, 0o644)
            os.ftruncate(journal, len(rows))
            os.lseek(journal, 0, os.SEEK_END)

    end_if_asked()
    if path is not None:
        save()
    if sweeps >= 400:
        time.sleep(0.03)
    while done < sweeps:
        state = (state * 1103515245 + 12345) % 2**31
        done += 1
        row = b"row %d\n" % state
        rows += row
        if path is not None and (done % every == 0 or asked or done == sweeps):
            save()
            end_if_asked()
            done += FAULT == "skips a sweep"
    for output in opened:
        content = json.dumps(answer()) if output.path.endswith(".json") else f"# stage: x\n{state}\n"
        if output.path in outputs["--write-couplings"]:
            content = f"sample 1 of {problem['samples']}\n"
        output.commit(content.encode())
    os.write(1, json.dumps(answer()).encode())


def main():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: asked.append(number))
    code, said = 0, ""
    try:
        work(sys.argv[1:])
    except No as no:
        code, said = 2, str(no)
        if FAULT == "touches":
            open("old.csv", "w").close()
    except OSError as error:
        code, said = 2, str(error)
        if FAULT == "crashes":
            os.abort()
    except SystemExit as ended:
        code = ended.code
        said = f"ended by signal {code - 128}" if code else ""
    for output in [] if FAULT == "leaves parts" else held[::-1]:
        try:
            output.drop()
        except OSError:
            pass
    if FAULT == "exit code 1" and "space left" in said:
        code = 1
    if said and FAULT != "silent":
        os.write(2, f"spin_glass: {said}\n".encode() * (2 if FAULT == "two lines" else 1))
    os._exit(code)


main()
""".replace("PYTHON", sys.executable)

FAULTS = {  # and the kind of trial that finds them
    "lax": "bad_inputs",
    "touches": "bad_inputs",
    "in place": "kills",
    "skips a sweep": "kills",
    "silent": "kills",
    "leaves parts": "errors",
    "two lines": "errors",
    "ignores errors": "errors",
    "crashes": "errors",
    "trusts": "damages",
    "hangs": "damages",
    "exit code 1": "full_disk",
    "absolute": "moves",
    "two at once": "pairs",
}


class WithFake(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(
            prefix="psFlip test ", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
        )
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        (self.folder / "rooms").mkdir()
        self.machine = session.look_around(self.folder)
        self.machine.mpi = None
        for module, name, value in ((bad_inputs, "SURROUNDINGS", []), (trial, "HANGS", 2)):
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def session(self, fault, kind):
        path = self.folder / "build/04_fake/spin_glass"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FAKE.replace('FAULT = "none"', f'FAULT = "{fault}"'))
        path.chmod(0o755)
        options = argparse.Namespace(seed=1, keep=False, build_dir=path.parents[1])
        programs = session.programs_in(options.build_dir, None, self.machine)
        return session.Session(programs, [kind], self.machine, options, self.folder / "rooms")

    def failures(self, fault, kind, most, enough=1):
        """What is printed about the first of so many trials that fail."""
        told = self.session(fault, kind)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            for number in range(most):
                told.try_one(told.programs[0], kind, number)
                if told.failures >= enough:
                    break
        return output.getvalue()


class Finds(WithFake):
    def test_no_fault_where_there_is_none(self):
        for kind in session.KINDS:
            with self.subTest(kind):
                self.assertEqual(self.failures(FAULTLESS, kind, 8 if kind == "bad_inputs" else 4), "")
        self.machine.strace = self.machine.mount = False
        for kind in ("kills", "full_disk"):
            # Python, asked by SIGINT while it starts, says more than a line.
            with self.subTest(kind, strace=False), mock.patch.object(kills, "ASKS", [signal.SIGTERM]):
                self.assertEqual(self.failures(FAULTLESS, kind, 4), "")
        self.assertEqual(list((self.folder / "rooms").iterdir()), [])

    def test_every_fault(self):
        for fault, kind in FAULTS.items():
            with self.subTest(fault):
                if kind == "errors" and not self.machine.strace:
                    continue
                said = self.failures(fault, kind, 80)
                self.assertRegex(said, rf"\AFAILED 04/spin_glass:{kind}:\d+: [^\n]+\n    again: \S+torture .*--trial ")


class Command(WithFake):
    def call(self, *arguments):
        words = [ROOT / "common/tools/torture", "--build-dir", self.folder / "build", *arguments]
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_a_session_and_a_trial_of_it_again(self):
        self.session("absolute", "moves")
        code, out, err = self.call("--seconds", "1", "--seed", "7", "--kinds", "moves")
        self.assertEqual((code, err), (1, ""))
        self.assertRegex(out, r"\Aseed 7, 1 s: 04/spin_glass")
        self.assertRegex(out, r"\| all \| \d+ \(\d+\) \| \d+ \(\d+\) \| \d+ \|\n\Z")
        name, said = out.split("FAILED ")[1].splitlines()[0].split(": ", 1)
        code, again, err = self.call("--seed", "7", "--trial", name)
        self.assertEqual((code, err), (1, ""))
        without_folder = [text.split("psflip-torture-")[0] for text in (said, again.split(f"FAILED {name}: ")[1])]
        self.assertTrue(without_folder[1].startswith(without_folder[0].split(": ")[0]), (said, again))

    def test_refusals(self):
        self.session(FAULTLESS, "moves")
        for arguments, part in (
            (["--kinds", "luck"], "luck"),
            (["--stages", "09"], "--stages 09"),
            (["--seconds", "0"], "0"),
            (["--trial", "04/spin_glass:moves:1"], "--seed"),
            (["--trial", "04/spin_glass:luck:1", "--seed", "1"], "luck"),
            (["--build-dir", "/nowhere"], "/nowhere"),
        ):
            code, _, err = self.call(*arguments)
            self.assertEqual((code, err.count("\n")), (2, 1), err)
            self.assertIn(part, err)


if __name__ == "__main__":
    unittest.main()
