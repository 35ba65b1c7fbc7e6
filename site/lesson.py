"""What a page has beyond its Markdown file: a stage's page the exercises, its update.cu and what changes in it; the
first page the way to the others."""

import difflib
import html
import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CudaLexer

import figures
import stages
import tour
from stages import ROOT

EXERCISES = re.compile(r"\]\(((?:[\w.]+/)*)exercises\.md(#[^)]*)?\)")
LINK = re.compile(r"\[([^\]]*)\]\(([\w./-]+)\)")
CONTEXT = 4  # lines around a change that are shown
START = """
<nav class="start" aria-label="Where to begin"><a class="first" href="#two-commands">Run it yourself</a>
<a href="00_cpu_reference/README.html">The first lesson</a>
<a href="site/pages/figures.html">Figures that move</a>
<a href="site/pages/numbers.html">Your own numbers</a> <a href="all.html">All on one page</a></nav>
"""


def complete(app, name, source):
    """Sphinx's source-read. Pages that are no file of the tree are in extra_pages()."""
    folder, _, file = name.rpartition("/")
    text = EXERCISES.sub(lambda m: f"]({m[1]}README.md{m[2] or '#' + title_anchor(folder, m[1])})", source[0])
    text = LINK.sub(lambda m: without_folder(folder, m), text)
    if not re.search(r"^# ", text, re.MULTILINE):
        text = f"# {folder.rpartition('/')[2].capitalize()}\n\n{text}"
    if name == "README":
        text = text.replace("\n## Two commands", f"{START}\n## Two commands", 1) + contents()
    elif name == f"{figures.PAGES}/figures":
        text = text.replace("<!-- figures -->", figures.all_of_them())
    elif file == "README" and (ROOT / folder) in stages.folders():
        text = stage_page(ROOT / folder, text) + inner(app, folder)
    source[0] = text


def without_folder(folder, link):
    """A link to a folder without a README leads nowhere on a site; the folder's name stays."""
    place = (ROOT / folder / link[2]).resolve()
    if not place.is_dir() or (place / "README.md").exists():
        return link[0]
    return f"{link[1]} (`{place.relative_to(ROOT)}`)"


def title_anchor(folder, way):
    target = (ROOT / folder / way).resolve()
    return f"exercises-for-stage-{target.name[:2]}"


def toctree(names, caption=""):
    head = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{head}\n" + "\n".join(names) + "\n```\n"


def contents():
    """The navigation, under the first page."""
    lessons = [f"{folder.name}/README" for folder in stages.folders()]
    own = [f"{figures.PAGES}/{name}" for name in ("figures", "numbers", "class")]
    lab = [f"common/lab/{name}" for name in ("README", "INSTRUCTOR", "SYLLABUS")]
    rest = ["README", "GLOSSARY", "results/README", "gpu/on_cpu/README", "CONTRIBUTING", "CHANGELOG"]
    rest += ["spin_glass/test/instances/README"]
    reference = [f"common/{name}" for name in rest] + ["site/README"]
    return (
        toctree(lessons, "Stages")
        + toctree(own, "In the browser")
        + toctree(lab, "For lecturers")
        + toctree(reference, "Reference")
    )


def inner(app, folder):
    """The other pages of a stage."""
    names = [
        name for name in sorted(app.project.docnames) if name.startswith(f"{folder}/") and name != f"{folder}/README"
    ]
    return toctree([f"/{name}" for name in names]) if names else ""


def stage_page(folder, text):
    """Lesson, figures, exercises, code and changes."""
    parts = [figures.into(text, folder.name[:2])]
    exercises = EXERCISES.sub(lambda m: f"]({m[1]}README.md{m[2] or ''})", (folder / "exercises.md").read_text())
    parts.append(demoted(exercises))
    after, before = tour.sources(folder, earlier(folder))
    own = folder / "update.cu"
    for file in [own] if own.exists() else [folder / f"{model.name}.cpp" for model in stages.models_of(folder)]:
        parts.append(f"## {file.name}\n\n````{{code-block}} cuda\n:linenos:\n\n{file.read_text()}````\n")
    if before and after:
        names = [str(file.relative_to(folder.parent)) for file in (before, after)]
        parts.append(
            f"## {' and '.join(names)} side by side\n\n{side_by_side(before.read_text(), after.read_text(), names)}\n"
        )
    return "\n\n".join(parts)


def earlier(folder):
    """The stage before; None for the first."""
    course = stages.folders()
    return course[course.index(folder) - 1] if folder != course[0] else None


def demoted(text):
    """Headings one level lower; code is left alone."""
    pieces = re.split(r"^(```.*?^```)$", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(p if p.startswith("```") else re.sub(r"^(#+ )", r"#\1", p, flags=re.MULTILINE) for p in pieces)


def coloured(text):
    """The lines of a source as HTML."""
    return highlight(text, CudaLexer(stripnl=False), HtmlFormatter(nowrap=True)).splitlines()


def side_by_side(before, after, names):
    """Two sources as a table; what both have is folded but for some lines."""
    left, right = coloured(before), coloured(after)
    plain = before.splitlines(), after.splitlines()
    rows = []
    for kind, i, i_end, j, j_end in difflib.SequenceMatcher(None, *plain, autojunk=False).get_opcodes():
        if kind == "equal":
            both = [(i + k, j + k) for k in range(i_end - i)]
            begin, end = (CONTEXT if i else 0), (CONTEXT if i_end < len(left) else 0)
            hidden = both[begin : len(both) - end]
            if len(hidden) > 3:
                rows += [cells(a, left, b, right, "same") for a, b in both[:begin]]
                rows.append(f'<tr class="fold"><td colspan="4">{len(hidden)} lines are the same</td></tr>')
                rows += [cells(a, left, b, right, "same") for a, b in both[len(both) - end :]]
            else:
                rows += [cells(a, left, b, right, "same") for a, b in both]
            continue
        for k in range(max(i_end - i, j_end - j)):
            a, b = (i + k if i + k < i_end else None), (j + k if j + k < j_end else None)
            rows.append(cells(a, left, b, right, "changed"))
    head = "".join(f'<th scope="col" colspan="2">{html.escape(name)}</th>' for name in names)
    return (
        f'<div class="diff highlight" tabindex="0" role="region" aria-label="{" and ".join(names)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def cells(a, left, b, right, kind):
    def half(number, lines, name):
        if number is None:
            return '<td class="number"></td><td class="none"></td>'
        mark = f" {name}" if kind == "changed" else ""
        return f'<td class="number">{number + 1}</td><td class="code{mark}">{lines[number]}</td>'

    return f"<tr>{half(a, left, 'gone')}{half(b, right, 'new')}</tr>"
