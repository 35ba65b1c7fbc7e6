"""What Sphinx is told: the tree's own Markdown is the site; what is added to it is in lesson.py and glossary.py."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "common/tools")]

import everything  # noqa: E402
import figures  # noqa: E402
import glossary  # noqa: E402
import lesson  # noqa: E402
import model  # noqa: E402

project = author = "psFlip"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "[0-9][0-9]_*/**.md", "common/**.md", "site/**.md"]
exclude_patterns = ["**/exercises.md", "build*", "out"]
exclude_patterns += ["common/lab/README.template.md"]
myst_heading_anchors = 6
myst_html_meta = {"description": "A course in CUDA, from one for loop to a multi-GPU spin-glass code"}
pygments_style, pygments_dark_style = "friendly", "native"

html_theme = "furo"
html_title = "psFlip"
html_copy_source = False
html_show_sphinx = html_show_copyright = False
html_use_index = False
html_show_search_summary = False  # it fetches pages, which a browser does not do from a disk
html_static_path = ["style.css", "figures"]
html_css_files = ["style.css"]
html_js_files = [("tables.js", {"defer": "defer"})]
html_theme_options = {"top_of_page_buttons": []}


def write_traces(folder):
    """Traces become scripts, which a page may load wherever it lies, on a disk, too; JSON it may not."""
    traces = {file.stem: json.loads(file.read_text()) for file in sorted((HERE / "traces").glob("*.json"))}
    for name, trace in (traces | model.data()).items():
        text = json.dumps(trace, separators=(",", ":"))
        (folder / f"trace_{name}.js").write_text(
            f"globalThis.psflip ??= {{}};\n(psflip.traces ??= {{}}).{name} = {text};\n"
        )


def add_scripts(app, page, _template, _context, _doctree):
    """A page loads the scripts of its own figures."""
    for script in figures.scripts(page):
        app.add_js_file(script, defer="defer")


def finish(app, error):
    """Whoever asks for a folder gets its README."""
    if error:
        return
    write_traces(Path(app.outdir, "_static"))
    for file in Path(app.outdir).rglob("README.html"):
        file.with_name("index.html").write_text(file.read_text())
    everything.write(app)


def setup(app):
    app.connect("source-read", lesson.complete)
    app.connect("doctree-read", glossary.name_terms)
    app.connect("doctree-resolved", glossary.link_terms)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", finish)
