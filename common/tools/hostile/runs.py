"""Small runs of spin_glass, drawn at random, and what comes of one that nobody disturbs."""

import contextlib
import json
import re
import time

from hostile.trial import NothingToTry, Wrong, contents, differences
from stages import with_minstd_alone

GENERATORS = ("minstd", "parisi-rapuano", "mt19937", "philox")
OF_THE_STAGE = ("stage", "device", "launch", "remark", "seconds", "ps_per_flip")
SAVED = ("c", "c.rows")


class Run:
    """`words`: all that it is told; it saves itself in the file c."""

    def __init__(self, trial, sweeps=(60, 400)):
        if trial.program.name != "spin_glass":
            raise NothingToTry
        self.trial, draw = trial, trial.random
        samples = draw.randint(1, 4)
        self.sweeps = draw.randint(*sweeps)
        self.problem = ["--size", draw.choice((4, 6, 8)), "--samples", samples, "--replicas", draw.randint(2, 3)]
        self.problem += ["--samples-per-stream", draw.randint(1, 3), "--seed", draw.randint(0, 10**6)]
        self.problem += ["--measure", draw.choice(("end", "log:2", "every:7", f"every:{self.sweeps // 3}"))]
        if trial.program.stage[:2] not in with_minstd_alone():
            self.problem += ["--generator", draw.choice(GENERATORS)]
        self.outputs = {}
        for option, name in (("--output", "states"), ("--averages", "averages"), ("--correlations", "c4")):
            if trial.chance(0.7):
                self.outputs[option] = [name + draw.choice((".csv", ".json"))]
        if trial.chance(0.5):
            self.outputs["--write-couplings"] = [f"couplings.{i}" for i in range(samples)]
        self.saving = ["--checkpoint", "c", "--checkpoint-every", draw.randint(3, self.sweeps)]
        self.files, self.answer, self.seconds = self.undisturbed()

    def named(self, where=""):
        """The options of the outputs, in that folder."""
        return [word for option, names in self.outputs.items() for word in (option, *(f"{where}{n}" for n in names))]

    def of(self, sweeps):
        return [*self.problem, "--sweeps", sweeps]

    @property
    def words(self):
        return [*self.of(self.sweeps), *self.named(), *self.saving, "--json"]

    def undisturbed(self):
        """By the reference, where that is built: every stage gives the same."""
        trial = self.trial
        folder = trial.room / "undisturbed"
        folder.mkdir()
        begin = time.monotonic()
        words = [*self.of(self.sweeps), *self.named(), "--json"]
        done = trial.succeed(*words, folder=folder, program=trial.program.reference)
        return self.files_in(folder), self.bits(json.loads(done.out)), time.monotonic() - begin

    @staticmethod
    def bits(answer):
        """What does not depend on the stage, nor on the names of files."""
        answer = {key: value for key, value in answer.items() if key not in OF_THE_STAGE}
        given = {"ferromagnetic_fraction": None, "couplings": None}  # the hash of the couplings says it all
        return answer | {"problem": answer["problem"] | given}

    def files_in(self, folder):
        """The outputs that are there, without what the stage says of itself."""
        found = {}
        for name in (name for names in self.outputs.values() for name in names):
            if (folder / name).exists():
                text = (folder / name).read_text(errors="replace")
                if name.endswith(".json"):
                    with contextlib.suppress(ValueError, KeyError, TypeError):  # as text it is wrong, too
                        text = self.bits(json.loads(text))
                else:
                    text = re.sub(rf"(?m)^# ({'|'.join(OF_THE_STAGE)}): .*\n", "", text)
                    text = re.sub(r'"(ferromagnetic_fraction|couplings)":(\[.*?\]|[^,}]*)', "", text)
                found[name] = text
        return found

    def verify(self, done, folder=None, others=()):
        """A run that went to its end: its answer, its files, and nothing beside them."""
        folder = folder or self.trial.folder
        try:
            answer = self.bits(json.loads(done.out))
        except (ValueError, KeyError, TypeError):
            raise Wrong(f"no answer, but {self.trial.quoted(done.out)}", done) from None
        if answer != self.answer:
            wrong = next(key for key in self.answer if answer.get(key) != self.answer[key])
            raise Wrong(f"another result: {wrong} is {answer.get(wrong)}, not {self.answer[wrong]}", done)
        self.compare(self.files, self.files_in(folder), done)
        expected = {*self.files, "c", *others} | ({"c.rows"} if "--output" in self.outputs else set())
        found = set(contents(folder))
        if not expected - {"c", "c.rows"} <= found <= expected:
            raise Wrong(f"the folder has {', '.join(sorted(found))}; expected: {', '.join(sorted(expected))}", done)

    @staticmethod
    def compare(expected, found, done):
        if expected != found:
            raise Wrong(f"its files are not those of an undisturbed run: {differences(expected, found)}", done)

    def check_what_is_left(self, before, done):
        """Of a run that failed: what it was, but for a checkpoint that may be a later one, and outputs that are whole
        and right."""
        folder = self.trial.folder
        after, right = contents(folder), self.files_in(folder)
        for name in {**before, **after}:
            kept = before.get(name) == after.get(name)
            complete = name in right and right[name] == self.files.get(name)
            if not kept and not complete and not (name in SAVED and name in after) and not self.may_stay(name):
                raise Wrong(f"it failed, and {differences(before, after)}", done)
        if "c.rows" in after and "c" not in after:
            raise Wrong("c.rows is there without c", done)

    def may_stay(self, name):
        return bool(self.trial.kills) and name.endswith((".psflip.part", ".psflip.lock"))

    def go_on(self, folder=None, others=()):
        """To the end, from the checkpoint if there is one."""
        folder = folder or self.trial.folder
        words = ["--resume", "c", "--sweeps", self.sweeps, "--json"] if (folder / "c").exists() else self.words
        self.verify(self.trial.succeed(*words, folder=folder), folder, others)

    def begun(self, folder=None, words=None):
        """A run that has done a part of its sweeps; its folder is then what an interrupted run's is, but that its
        outputs are there, too."""
        part = self.trial.random.randint(1, self.sweeps - 1)
        words = words or [*self.named(), *self.saving]
        self.trial.succeed(*self.of(part), *words, "--json", folder=folder)
        return part
