"""Tests of the slides: what of a README is shown, and that a deck is made."""

import unittest

from pictures import slides
from stages import ROOT, Failure, folders
from test.tools_test import WithFolder

README = """# 09 Title

> **You will know** this; see the [glossary](g.md).
>
> **Time**: <!-- value: x -->an hour<!-- end value -->.

## The idea

A first sentence, of 0.83 ps. A second.

    code

![what it shows](figure.svg)

- **Bold.** Its first sentence. More.
- No. Because of that ([more](m.md)). More.

## Predict

1. How many? Which?

<details><summary>Answers</summary>

1. Seven. They are many.

</details>

## Run

    command

## Measured

<!-- table: x -->
| a | b |
| --- | --: |
| 1 | 2 |

Below.
<!-- end table -->

1. **A finding**: here it is. More.

## Sources

- A book.
"""


class Slides(WithFolder):
    def test_what_is_shown(self):
        found = dict(slides.slides(README))
        self.assertEqual(
            found,
            {
                "09 Title": "**You will know** this; see the glossary.\n\n**Time**: an hour.",
                "The idea": "A first sentence, of 0.83 ps.\n\n- **Bold.** Its first sentence.\n- No. Because of that.\n\n![low](figure.svg)",
                "Predict": "1. How many? Which?",
                "Measured": "| a | b |\n| --- | --: |\n| 1 | 2 |",
                "Predict: the answers": "1. Seven. They are many.",
                "Findings": "1. **A finding**: here it is.",
            },
        )

    def test_what_is_too_long_goes_on(self):
        lines = [f"{number}. {'x' * 100}" for number in range(1, 9)]
        found = slides.pages("Many", lines, "![a](one.svg) ![b](two.svg)")
        self.assertEqual([heading for heading, _ in found], [f"Many ({number} of 4)" for number in range(1, 5)])
        self.assertEqual("\n".join(page for _, page in found[:2]), "\n".join(lines))
        self.assertEqual([page for _, page in found[2:]], ["![](one.svg)", "![](two.svg)"])

    def test_every_stage_has_some_slides(self):
        for folder in folders():
            found = slides.slides((folder / "README.md").read_text())
            self.assertIn(len(found), range(6, 20), folder.name)
            for heading, text in found:
                self.assertNotIn("<!--", heading + text, folder.name)
                self.assertTrue(text, f"{folder.name}: {heading}")

    def test_a_deck(self):
        try:
            slides.libraries()
        except Failure as failure:
            self.skipTest(str(failure))
        file = self.folder / "deck.pdf"
        slides.deck(ROOT / "00_cpu_reference", file)
        self.assertEqual(file.read_bytes()[:5], b"%PDF-")


if __name__ == "__main__":
    unittest.main()
