#!/usr/bin/env python3
"""Builds the course as a site of static pages, which need no other host: open DIR/index.html, or serve the folder.

Sphinx with MyST makes it from the Markdown of this tree. The first call gets them from PyPI, into build-site/venv;
after that no network is needed.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[1] / "common/tools"))
    import interrupt  # noqa: F401

import shutil
import subprocess

import stages
from options import Parser
from stages import ROOT, Broken, Failure, run_tool

HERE = ROOT / "site"
PLACE = ROOT / "build-site"
REQUIREMENTS = HERE / "requirements.txt"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def python_with_sphinx():
    """The Python that has what requirements.txt names, and nothing newer."""
    venv, mark = PLACE / "venv", PLACE / "venv/requirements.txt"
    if not mark.exists() or mark.read_text() != REQUIREMENTS.read_text():
        stages.say("getting Sphinx from PyPI, into build-site/venv")
        shutil.rmtree(venv, ignore_errors=True)
        PLACE.mkdir(exist_ok=True)
        quietly([sys.executable, "-m", "venv", venv], "there is no venv here; Debian calls it python3-venv")
        pip = [venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]
        quietly(pip, "Sphinx could not be had from PyPI")
        mark.write_text(REQUIREMENTS.read_text())
    return venv / "bin/python"


def quietly(command, otherwise):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise Broken(otherwise, said=(done.stdout + done.stderr).strip())


def build(folder, python):
    """The site, anew. Every warning of Sphinx, a dead link, say, is a failure."""
    shutil.rmtree(folder, ignore_errors=True)
    sphinx = [python, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--fresh-env", "--nitpicky"]
    sphinx += ["--no-color", "-d", PLACE / "doctrees", "-c", HERE, ROOT, folder]
    quietly(sphinx, "the site could not be built")


def pdf(folder, file):
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if not browser:
        raise Failure(f"--pdf {file}: it takes Chromium, which is not here")
    page = (folder / "all.html").resolve().as_uri()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    quietly([browser, *options, f"--print-to-pdf={file.resolve()}", page], "Chromium could not print it")


def refuse_what_is_no_site(folder):
    """The folder is emptied, so it has to be new, empty, or a site."""
    if folder.exists() and not folder.is_dir():
        raise Failure(f"--site {folder}: that is a file; give a folder")
    if folder.exists() and any(folder.iterdir()) and not (folder / "searchindex.js").exists():
        raise Failure(f"--site {folder}: there is something else in it; give a new folder, or one of an earlier site")


def main(arguments):
    parser = Parser(prog="common/run --site", description=__doc__)
    parser.add_argument("--site", nargs="?", type=Path, default=PLACE / "site", const=PLACE / "site", metavar="DIR")
    parser.add_argument("--pdf", type=Path, metavar="FILE", help="print all pages into one file, by Chromium")
    options = parser.parse_args(arguments)
    folder = options.site
    refuse_what_is_no_site(folder)
    build(folder, python_with_sphinx())
    if options.pdf:
        pdf(folder, options.pdf)
    stages.say(f"the site is in {folder}; begin with {folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    run_tool(main, "common/run --site")
