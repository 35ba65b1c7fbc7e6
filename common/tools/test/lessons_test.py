"""Tests of the texts: every stage's README has the same form, answers what it asks, and leads to nothing that is not
there."""

import re
import unittest
import unittest.mock
from pathlib import Path

import stages
from stages import ANSWERS, ROOT

WORDS, COLUMNS, FINDINGS = 2500, 8, 5
SECTIONS = ("The idea", "What changes", "Predict", "Run", "Measured", "Traps", "Sources")
BOX = ("You will know", "You need", "Time", "Remember")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def texts():
    """All Markdown, but of builds and of what is installed."""
    return [file for place in ("*", "common/**/*", "[0-9][0-9]_*/**/*") for file in sorted(ROOT.glob(f"{place}.md"))]


def case_studies():
    """Lessons within a stage, in the stages' form."""
    return [file.parent for file in sorted(ROOT.glob("[0-9][0-9]_*/*/measured.md"))]


def prose(text):
    """Without code, in which nothing is a link, and without comments, which nobody sees."""
    text = re.sub(r"^ {4,}.*$|^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"<!-- .*? -->", "", re.sub(r"`[^`\n]*`", "`", text))


def anchors(text):
    """What GitHub calls the headings of a text."""
    found = []
    for heading in re.findall(
        r"^#+ (.*)", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    ):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return found


def dead_links(file):
    for target in LINK.findall(prose(file.read_text())):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        place = (file.parent / name).resolve() if name else file
        if not place.exists():
            yield f"{target}: there is no such file"
        elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text()):
            yield f"{target}: there is no such heading"


def section(text, heading):
    found = re.search(rf"^## {heading}.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def tables(text):
    """The headings of every table, as lists."""
    found = re.findall(r"^\| (.*) \|\n\|(?: --[-:] \|)+$", text, re.MULTILINE)
    return [re.split(r" ?\| ", line) for line in found]


class Links(unittest.TestCase):
    def test_links_and_anchors_lead_somewhere(self):
        files = texts()
        self.assertGreater(len(files), 20)
        dead = [f"{file.relative_to(ROOT)}: {link}" for file in files for link in dead_links(file)]
        self.assertEqual(dead, [])

    def test_dead_links_are_found(self):
        file = ROOT / "common/tools/test/no_such.md"
        text = (
            "# A `b`\n## A b\n[a](lessons_test.py) [b](gone.md) [c](#a-b-1) [d](#gone) `[e](gone)`\n\n    [f](gone)\n"
        )
        with (
            unittest.mock.patch.object(Path, "read_text", lambda _: text),
            unittest.mock.patch.object(Path, "exists", lambda path: path.name != "gone.md"),
        ):
            dead = list(dead_links(file))
        self.assertEqual([link.split(":")[0] for link in dead], ["gone.md", "#gone"])

    def test_programs_and_files_that_are_named_exist(self):
        wrong = []
        for folder in [*stages.folders(), *case_studies()]:
            for file in {*folder.glob("*.md")} - {folder / "exercises.md"}:  # where files are to be written
                text = file.read_text()
                for name in re.findall(r"(?:^|[ `])((?:common|\d\d_\w+)/[\w./]+\w)", text, re.MULTILINE):
                    if not (ROOT / name).exists() and not name.endswith("/all"):  # a target of the build
                        wrong.append(f"{file.relative_to(ROOT)}: {name}")
        self.assertEqual(wrong, [])


class Form(unittest.TestCase):
    """Of the stages' READMEs, and of the case studies'."""

    def each(self, check):
        for folder in [*stages.folders(), *case_studies()]:
            with self.subTest(folder.name):
                check((folder / "README.md").read_text(), folder)

    def test_sections(self):
        def check(text, folder):
            heads = re.findall(r"^## (.*)", text, re.MULTILINE)
            changes = folder in stages.folders() and folder.name[:2] != stages.REFERENCE
            wanted = [part for part in SECTIONS if part != "What changes" or changes]
            self.assertEqual([part for head in heads for part in SECTIONS if head.startswith(part)], wanted)

        self.each(check)

    def test_box_on_top(self):
        def check(text, _):
            top = text.split("\n## ")[0]
            self.assertEqual(tuple(re.findall(r"^> \*\*(.*?)\*\*", top, re.MULTILINE)), BOX)
            self.assertIn("<!-- value: ", top)  # the figure to remember comes from the results
            self.assertRegex(top, r"\((\.\./)+common/GLOSSARY\.md\)")

        self.each(check)

    def test_no_line_begins_with_a_comment_within_a_paragraph(self):
        """It would end the paragraph."""
        for folder in [*stages.folders(), *case_studies()]:
            for file in folder.glob("*.md"):
                self.assertNotRegex(file.read_text(), r"(?m)^[> ]*<!-- value", file.name)

    def test_length(self):
        self.each(lambda text, _: self.assertLessEqual(len(text.split()), WORDS))

    def test_one_table_of_results_and_few_findings(self):
        def check(text, folder):
            for headings in tables(text):
                self.assertLessEqual(len(headings), COLUMNS, headings)
            measured = section(text, "Measured")
            self.assertEqual(measured.count("<!-- table: "), 1)
            if (folder / "measured.md").exists():
                self.assertIn("(measured.md", measured)
            self.assertIn(len(re.findall(r"^\d\. \*\*", measured, re.MULTILINE)), range(1, FINDINGS + 1))

        self.each(check)

    def test_every_question_has_an_answer(self):
        def check(text, _):
            asked, answers = section(text, "Predict").split("<!-- answers -->\n<details>")
            answers = answers.split("</details>")[0]
            numbers = [re.findall(r"^(\d+)\. ", part, re.MULTILINE) for part in (asked, answers)]
            self.assertGreater(len(numbers[0]), 2)
            self.assertEqual(*numbers)
            self.assertNotIn(answers.strip(), stages.without_answers(text))

        self.each(check)

    def test_commands_say_where_they_run_and_how_long(self):
        def check(text, _):
            commands = [line for line in section(text, "Run").splitlines() if re.match(r" {4}\S", line)]
            self.assertTrue(commands)
            for line in commands:
                self.assertRegex(line, r"# (anywhere|GPU|two GPUs)\b.*(second|minute|hour|day)|\\$")

        self.each(check)

    def test_what_is_measured_is_marked_as_an_answer(self):
        def check(text, _):
            marked = "".join(ANSWERS.findall(text))
            for heading in ("Run", "Measured"):
                self.assertIn(f"\n## {heading}\n", marked)

        self.each(check)


class Glossary(unittest.TestCase):
    def test_one_line_each_in_order(self):
        terms = re.findall(r"^- \*\*(.*?)\*\*: \S", (ROOT / "common/GLOSSARY.md").read_text(), re.MULTILINE)
        self.assertGreater(len(terms), 35)
        self.assertEqual(terms, sorted(terms, key=str.casefold))


if __name__ == "__main__":
    unittest.main()
