"""Tests of the drawings: whatever sans-serif the reader's machine has, their text fits, and they bring their own
background, for a page may be dark.

Text is measured by font_widths.csv: the advance widths of a wide font and of a narrow one, in thousandths of the font
size. DejaVu Sans is as wide as Verdana, Liberation Sans as Arial and Helvetica; other usual fonts lie between them.
"""

import csv
import functools
import re
import unittest
import xml.etree.ElementTree as ElementTree
from itertools import combinations, product
from pathlib import Path

from stages import ROOT

try:
    from fontTools.ttLib import TTFont
    from matplotlib import get_data_path
except ImportError:
    TTFont = None

WIDTHS = Path(__file__).with_name("font_widths.csv")
FONTS = ("DejaVu Sans", "Liberation Sans")
UP, DOWN = 0.74, 0.22  # of the font size: how far letters reach from the base line
MARGIN = 2  # pixels that a text keeps from the sides of its box, and from those of the picture
UNSEEN = 2 / 3  # of a pixel: what may overlap without anybody seeing it
NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"
OBLONG = re.compile(rf"M\s*({NUMBER})[ ,]?({NUMBER})\s*h({NUMBER})v({NUMBER})h{NUMBER}z")


@functools.cache
def font_widths():
    """{(font, whether bold, character): width}"""
    found = {}
    for row in csv.DictReader(WIDTHS.read_text().splitlines()):
        for font, bold in product(FONTS, (False, True)):
            found[font, bold, chr(int(row["character"], 16))] = float(row[font + bold * " Bold"]) / 1000
    return found


class Drawing:
    """The oblongs (left, top, right, bottom) of a drawing, and its texts, measured with a font."""

    def __init__(self, text, font):
        root = ElementTree.fromstring(text)
        self.font, self.boxes, self.texts = font, [], []
        self.width, self.height = map(float, root.attrib["viewBox"].split()[2:])
        self.walk(root, {}, (0, 0, 1))

    def walk(self, node, inherited, place):
        tag = node.tag.partition("}")[2]
        if tag in ("defs", "title", "style"):
            return
        look = inherited | node.attrib
        if move := node.get("transform"):
            place = moved(place, move)
        if tag == "rect":
            self.box(place, *(float(node.get(name, 0)) for name in ("x", "y", "width", "height")))
        elif tag == "path":
            for found in OBLONG.findall(node.attrib["d"]):
                self.box(place, *map(float, found))
        elif tag == "text":
            self.texts.append((self.extent(node, look, place), "".join(node.itertext())))
            return
        for child in node:
            self.walk(child, look, place)

    def box(self, place, x, y, width, height):
        left, top, scale = place
        self.boxes.append((left + scale * x, top + scale * y, left + scale * (x + width), top + scale * (y + height)))

    def extent(self, node, look, place):
        size, widths = float(look["font-size"]), font_widths()
        length = sum(
            widths[self.font, style.get("font-weight") == "bold", character] * float(style.get("font-size", size))
            for style, text in runs(node, look)
            for character in text
        )
        left, top, scale = place
        x, y = float(node.get("x", 0)), float(node.get("y", 0))
        x -= {"start": 0, "middle": length / 2, "end": length}[look.get("text-anchor", "start")]
        return (
            left + scale * x,
            top + scale * (y - UP * size),
            left + scale * (x + length),
            top + scale * (y + DOWN * size),
        )


def moved(place, transform):
    left, top, scale = place
    for name, numbers in re.findall(r"(\w+)\(([^)]*)\)", transform):
        x, *rest = map(float, numbers.replace(",", " ").split())
        if name == "translate":
            left, top = left + scale * x, top + scale * (rest[0] if rest else 0)
        elif name == "scale" and not rest:
            scale *= x
        else:
            raise AssertionError(f"{transform}: texts are measured under translate(x y) and scale(x) only")
    return left, top, scale


def runs(node, look):
    """The parts of a text, with the look of each."""
    yield look, node.text or ""
    for child in node:
        yield from runs(child, look | child.attrib)
        yield look, child.tail or ""


def overlap(one, other):
    """How far two oblongs overlap: (across, down)."""
    return min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])


def within(inner, outer):
    return all(outer[i] <= inner[i] and inner[i + 2] <= outer[i + 2] for i in (0, 1))


def wide(text):
    left, top, right, bottom = text
    return left - MARGIN, top, right + MARGIN, bottom


def crosses(text, box):
    """Whether a text is partly in a box and partly out of it. It may span boxes that are smaller than it."""
    return min(overlap(text, box)) > UNSEEN and not within(wide(text), box) and not within(box, text)


def misfits(text):
    """What of a drawing does not fit, as sentences."""
    found = []
    for font in FONTS:
        drawing = Drawing(text, font)
        picture = (0, 0, drawing.width, drawing.height)
        for extent, words in drawing.texts:
            if not within(wide(extent), picture):
                found.append(f"'{words}' leaves the picture in {font}: {rounded(extent)} of {rounded(picture)}")
            for box in drawing.boxes:
                if crosses(extent, box):
                    found.append(f"'{words}' crosses the edge of a box in {font}: {rounded(extent)}, {rounded(box)}")
        for (one, words), (other, others) in combinations(drawing.texts, 2):
            if min(overlap(one, other)) > UNSEEN:
                found.append(f"'{words}' and '{others}' overlap in {font}: {rounded(one)}, {rounded(other)}")
    return found


def rounded(extent):
    return tuple(round(x, 1) for x in extent)


def light_background(text):
    """Whether what is drawn first is an oblong as large as the picture, and white."""
    root = ElementTree.fromstring(text)
    first = next((node for node in root if node.tag.partition("}")[2] not in ("title", "style", "defs")), root)
    size = root.attrib["viewBox"].split()[2:]
    return [first.get(name) for name in ("width", "height", "fill")] == [*size, "#fff"]


def drawings():
    """Those drawn by hand; what matplotlib draws is under common/results, its text as outlines."""
    return sorted(ROOT.glob("[0-9][0-9]_*/**/*.svg"))


class Drawings(unittest.TestCase):
    def test_text_fits_in_a_wide_and_in_a_narrow_font(self):
        self.assertGreater(len(drawings()), 10)
        for file in drawings():
            with self.subTest(file.relative_to(ROOT)):
                found = misfits(file.read_text())
                self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_background_of_their_own(self):
        for file in drawings():
            with self.subTest(file.relative_to(ROOT)):
                self.assertTrue(light_background(file.read_text()))

    @unittest.skipUnless(TTFont, "needs matplotlib, which brings DejaVu Sans")
    def test_widths_are_those_of_the_font(self):
        for name, bold in (("DejaVuSans", False), ("DejaVuSans-Bold", True)):
            font = TTFont(f"{get_data_path()}/fonts/ttf/{name}.ttf")
            glyphs, em = font.getBestCmap(), font["head"].unitsPerEm
            for (family, heavy, character), width in font_widths().items():
                if (family, heavy) == (FONTS[0], bold):
                    advance, _ = font["hmtx"][glyphs[ord(character)]]
                    self.assertAlmostEqual(width, advance / em, 3, character)


class WhatIsWrong(unittest.TestCase):
    def found(self, inside, fonts=FONTS):
        text = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100" font-size="10">{inside}</svg>'
        found = misfits(text)
        self.assertEqual([font for font in FONTS if any(f" in {font}: " in line for line in found)], list(fonts))
        return found

    def test_text_that_leaves_the_picture(self):
        for place in ('x="170" y="50"', 'x="30" y="50" text-anchor="end"', 'x="190" y="50" text-anchor="middle"'):
            self.assertIn("'too long' leaves the picture", self.found(f"<text {place}>too long</text>")[0])
        self.found('<text x="9" y="5">too high</text>')
        self.found('<text x="9" y="99">too low</text>')
        self.found('<g transform="translate(150 20) scale(2)"><text x="1" y="9">scaled</text></g>')
        self.found('<text x="9" y="50">fits</text>', ())

    def test_text_that_leaves_it_in_the_wide_font_only(self):
        self.found('<text x="100" y="50">as wide as it may be</text>', FONTS[:1])
        self.found('<text x="130" y="50" font-weight="bold">as wide as it</text>', FONTS[:1])
        self.found('<text x="130" y="50">as wide as it</text>', ())
        self.found('<text x="130" y="50">as <tspan font-weight="bold">wide as it</tspan></text>', FONTS[:1])

    def test_text_that_leaves_its_box(self):
        for box in ('<rect x="20" y="20" width="40" height="30"/>', '<path d="M0 0h1v1h-1zM20 20h40v30h-40z"/>'):
            self.assertIn("'much too long' crosses", self.found(f'{box}<text x="22" y="40">much too long</text>')[0])
            self.found(f'{box}<text x="22" y="40">fits</text>', ())
            self.found(f'{box}<text x="50" y="40" text-anchor="end">into it, from outside</text>')
            self.found(f'{box}<text x="30" y="54">over its side</text>')
            self.found(f'{box}<text x="22" y="64">below</text>', ())

    def test_text_over_text(self):
        self.assertIn("overlap", self.found('<text x="9" y="50">one</text><text x="20" y="52">other</text>')[0])
        self.found('<text x="9" y="50">one</text><text x="9" y="60">other</text>', ())

    def test_no_background(self):
        wrong = ("", '<rect width="200" height="90" fill="#fff"/>', '<rect width="200" height="100" fill="#222"/>')
        for first in (*wrong, '<rect width="200" height="100"/>'):
            text = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100">{first}<path d="M0 0"/></svg>'
            self.assertFalse(light_background(text), first)


if __name__ == "__main__":
    unittest.main()
