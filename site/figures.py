"""The interactive figures: where they stand, and what is written about them."""

import html
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = "site/pages"
OWN_SCRIPTS = {
    f"{PAGES}/numbers": ["figure.js", "trace_numbers.js", "numbers.js"],
    f"{PAGES}/class": ["figure.js", "class.js"],
}


@dataclass(frozen=True)
class Figure:
    name: str  # of its script, its still frame and its trace
    title: str
    text: str
    stages: tuple[str, ...]
    shares: tuple[str, ...] = ()  # further scripts
    trace: bool = True

    @property
    def scripts(self):
        traces = [f"trace_{self.name}.js"] if self.trace else []
        return ["figure.js", *self.shares, *traces, f"{self.name}.js"]

    def markup(self, stage):
        """As it stands on a page; a script replaces the still frame."""
        frame = HERE / "frames" / f"{self.name}.svg"
        still = frame.read_text().strip() if frame.exists() else ""
        return (
            f'<figure class="moving" id="figure-{self.name}" data-figure="{self.name}" data-stage="{stage}">'
            f"<figcaption><strong>{html.escape(self.title)}</strong> {html.escape(self.text)}</figcaption>"
            f'<div class="controls"></div><div class="picture">{still}</div><dl class="numbers"></dl>'
            f"<noscript><p>This frame stands still: scripts are off.</p></noscript></figure>"
        )


FIGURES = (
    Figure(
        "lattice",
        "A lattice, updated here",
        "The rule of stage 00, in this page: the 2D majority rule, or one layer of the 3D spin glass. The hash of the "
        "state is the one that the program prints.",
        ("00",),
        ("spins.js",),
    ),
    Figure(
        "threads",
        "Which thread updates which spin",
        "Recorded from the kernel on 16 x 16 spins. A colour is a thread block; the framed spins belong to the chosen "
        "thread.",
        ("01", "02", "03"),
    ),
    Figure(
        "tile",
        "Tile and halo",
        "A block's loads and reads of shared memory, as recorded. Move the threads through the kernel one by one, then "
        "take the barrier away: red places are read before anybody has written them.",
        ("03",),
    ),
    Figure(
        "sectors",
        "Lanes to sectors",
        "The requests of a block's first warp, as recorded at L = 16 with one replica: which sectors of 32 bytes the "
        "lanes touch.",
        ("04", "05"),
    ),
    Figure(
        "colours",
        "Two colours, or all at once",
        "A layer of a 3D lattice, from a random start. Red, then blue: the energy falls. All at once: every spin "
        "answers to what its neighbours were, and many change back and forth.",
        ("04",),
        ("spins.js",),
        trace=False,
    ),
    Figure(
        "slicing",
        "The cube, cut along its diagonal",
        "A red site, its six blue neighbours in the cube, and where the kernel found them in memory, in both layouts.",
        ("05",),
    ),
    Figure(
        "adder",
        "32 samples at once",
        "One site of 32 samples at L = 4: six words of satisfied bonds, their sum in three bits, the three masks that "
        "a draw gives, and which samples flip.",
        ("07",),
        ("spins.js",),
    ),
    Figure(
        "timeline",
        "Two streams",
        "Half a sweep on N ranks by the model of stage 08: the update of the planes, and beside it the exchange of "
        "one. What is measured on the H200 sets the start; the sliders are yours.",
        ("08",),
    ),
)


def of_stage(number):
    return [figure for figure in FIGURES if number in figure.stages]


def scripts(page):
    """What a page loads."""
    if page in OWN_SCRIPTS:
        return OWN_SCRIPTS[page]
    stage = page[:2] if re.fullmatch(r"\d\d_\w+/README", page) else ""
    own = FIGURES if page == f"{PAGES}/figures" else of_stage(stage)
    return list(dict.fromkeys(script for figure in own for script in figure.scripts))


def into(text, number):
    """A lesson with its figures, where its idea ends."""
    own = "\n\n".join(figure.markup(number) for figure in of_stage(number))
    place = re.search(r"^(<!-- answers -->\n)?## (What changes|Predict)", text, re.MULTILINE)
    return text[: place.start()] + own + "\n\n" + text[place.start() :] if own and place else text


def all_of_them():
    """The page of figures."""
    parts = []
    for figure in FIGURES:
        parts.append(f"## {figure.title}\n\n{figure.markup(figure.stages[0])}\n")
    return "\n".join(parts)
