#!/usr/bin/env python3
"""Makes a deck of slides (PDF) of every stage, or of those that are named, from its README:

    common/tools/pictures/slides.py DIR [stage ...]

The box, the idea, what changes, the questions, the table, the answers, the findings and the traps have a slide each, or
several where one is too small, and so has every figure. Of a paragraph the first sentence is shown, and what is bold
before it; tables and figures are those of the results, as readme_tables.py fills them in. Needs WeasyPrint and Markdown
(Debian and Ubuntu: apt-get install weasyprint python3-markdown).
"""

import math
import re
import sys
from pathlib import Path

sys.path.insert(0, __file__.rsplit("/", 2)[0])

import readme_tables
import stages
from options import Parser
from stages import ROOT, Failure, run_tool

LINES, LETTERS = 14, 88  # that a slide holds, about
FEW = 4  # lines that leave room for a figure below them
STYLE = """
@page { size: 25.4cm 14.3cm; margin: 1cm 1.4cm 1cm; @bottom-right { content: counter(page); font: 9pt sans-serif } }
body { font: 15pt/1.35 Helvetica, Arial, sans-serif; color: #222 }
section { break-after: page }
h1 { font-size: 21pt; margin: 0 0 .5cm; color: #1d4e89 }
p, ul, ol { margin: 0 0 .25cm } li { margin: 0 0 .15cm }
img { display: block; margin: 0 auto; max-width: 22.6cm; max-height: 9.8cm }
img[alt=low] { max-height: 7cm }
table { border-collapse: collapse; margin: 0 0 .3cm; font-size: 12pt }
th, td { padding: .1cm .3cm; border-bottom: .02cm solid #bbb }
code { font-size: 90% } blockquote { margin: 0 }
"""
IMAGE = re.compile(r"!\[[^\]]*\]\((.*?)\)")
ITEM = re.compile(r"(?:- |\d+\. )")
SENTENCE = re.compile(r"(?:\*\*[^*]+\*\*[ :,]*)?.*?[^.][.?!](?=\s+[^a-z\s]|$)")


def libraries():
    try:
        import markdown
        import weasyprint
    except ImportError:
        raise Failure(
            "slides need WeasyPrint and Markdown (Debian and Ubuntu: apt-get install weasyprint python3-markdown)"
        ) from None
    return markdown, weasyprint


def plain(text):
    """Without comments, and without links, which a page on the wall cannot follow."""
    text = re.sub(r"<!-- .*? -->| \(\[[^\]]*\]\([^)]*\)\)", "", text)
    return re.sub(r"(?<!!)\[([^\]]*)\]\([^)]*\)", r"\1", text)


def first_sentence(text):
    """The first two, if the first is 'No.', say."""
    found = SENTENCE.match(text)
    if not found:
        return text
    rest = text[found.end() :]
    return found[0] + (" " + first_sentence(rest.lstrip()) if rest and len(found[0]) < 12 else "")


def points(text, shorten=first_sentence):
    """The paragraphs and the items of lists of a text, one line each, and its tables; no code, no figures."""
    found = []
    for block in re.split(r"\n\n|\n(?=(?:- |\d+\. ))", text):
        block = plain(block).strip("\n")
        if block.startswith("| "):
            found.append(block)
        elif block.strip() and not re.match(r" {4}|[<!]", block):
            words = " ".join(block.split())
            item = ITEM.match(words)
            mark = item[0] if item else ""
            found.append(mark + shorten(words[len(mark) :]))
    return found


def sections(text):
    """[(heading, text)] of a README; what stands above the first heading has the README's own."""
    parts = re.split(r"^#{1,2} (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def height(line):
    """In lines of a slide."""
    return sum(math.ceil(len(row) / LETTERS) for row in line.split("\n")) + 0.3


def pages(heading, lines, text=""):
    """The slides for some lines, and for the figures of a text: (heading, Markdown). The first figure stands below the
    lines where they are few."""
    found, used = [[]], 0
    whole = sum(map(height, lines))
    room = min(LINES, whole / math.ceil(whole / LINES or 1) + 2)  # so that none has but the last line
    for line in lines:
        if found[-1] and used + height(line) > room:
            found.append([])
            used = 0
        found[-1].append(line)
        used += height(line)
    shown = [as_list(page) for page in found if page]
    pictures = IMAGE.findall(text)
    if pictures and len(shown) == 1 and used < FEW:
        shown[0] += f"\n\n![low]({pictures.pop(0)})"
    shown += [f"![]({target})" for target in pictures]
    numbers = [""] if len(shown) == 1 else [f" ({i} of {len(shown)})" for i in range(1, len(shown) + 1)]
    return [(heading + number, page) for number, page in zip(numbers, shown)]


def as_list(lines):
    """Items of one list without blank lines between them, for a list goes on over those."""
    text = ""
    for before, line in zip(["", *lines], lines):
        text += ("\n" if ITEM.match(before) and ITEM.match(line) else "\n\n") + line
    return text.strip()


def slides(text):
    """[(heading, Markdown)] of a README whose tables are filled in."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    (title, box), *rest = sections(text)
    answers, found = [], []
    found += pages(title, points(re.sub(r"^> ?", "", box, flags=re.MULTILINE), str))
    for heading, body in rest:
        if heading in ("Run", "Sources"):
            continue
        if heading == "Predict":
            asked, given = body.split("<details>")
            found += pages("Predict", points(asked, str))
            answers = points(given.split("</summary>")[1].split("</details>")[0])
        elif heading.startswith("Measured"):
            table = readme_tables.TABLE.search(body)
            found.append((heading, table[3].split("\n\n")[0]))
            found += pages("Predict: the answers", answers)
            found += pages("Findings", [line for line in points(body) if re.match(r"\d+\. \*\*", line)], body)
        else:
            found += pages(heading, points(body), body)
    return found


def deck(folder, file, root=ROOT):
    markdown, weasyprint = libraries()
    text = readme_tables.filled(root, (folder / "README.md").read_text())
    body = ""
    for heading, content in slides(text):
        below = markdown.markdown(content, extensions=["tables", "sane_lists"], lazy_ol=False)
        below = re.sub(
            r'<ol start="(\d+)">', lambda ol: f'<ol style="counter-reset: list-item {int(ol[1]) - 1}">', below
        )
        body += f"<section>{markdown.markdown('# ' + heading)}{below}</section>"
    page = f'<html lang="en"><head><title>{folder.name}</title><style>{STYLE}</style></head><body>{body}</body></html>'
    weasyprint.HTML(string=page, base_url=f"{folder}/").write_pdf(file)


def main(arguments):
    parser = Parser(description=__doc__)
    parser.add_argument("output", metavar="DIR", type=Path)
    parser.add_argument("numbers", nargs="*", metavar="stage", help="its number, of two digits (all)")
    options = parser.parse_args(arguments)
    known = {folder.name[:2]: folder for folder in stages.folders()}
    for number in options.numbers:
        if number not in known:
            raise Failure(f"{number}: there is no such stage; there are {', '.join(known)}")
    libraries()
    options.output.mkdir(parents=True, exist_ok=True)
    for number in options.numbers or known:
        file = options.output / f"{known[number].name}.pdf"
        deck(known[number], file)
        print(file)
    return 0


if __name__ == "__main__":
    run_tool(main, "slides")
