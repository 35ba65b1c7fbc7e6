"""One page of all pages, to be printed or saved as a PDF."""

import posixpath
import re
from pathlib import Path

from bs4 import BeautifulSoup

OUTSIDE = re.compile(r"^[a-z]+:")
PAGE = "all.html"


def pages_in_order(app):
    """Names, as the navigation has them."""
    order, waiting = [], [app.config.root_doc]
    while waiting:
        name = waiting.pop(0)
        if name not in order:
            order.append(name)
            waiting = [*app.env.toctree_includes.get(name, []), *waiting]
    return [name for name in order if not name.startswith("site/pages/")]


def prefix(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()) + "--"


def moved(article, name, names):
    """An article whose anchors begin with its page's name, so that none is there twice."""
    folder = posixpath.dirname(name)
    for tag in article.select("script, .headerlink, .controls, .numbers, noscript"):
        tag.decompose()
    for tag in [article, *article.find_all(True)]:
        for key in ("id", "for", "aria-labelledby"):
            if tag.get(key):
                tag[key] = prefix(name) + tag[key]
        for key in ("href", "src"):
            target = tag.get(key)
            if not target or OUTSIDE.match(target):
                continue
            path, _, anchor = target.partition("#")
            place = posixpath.normpath(posixpath.join(folder, path)) if path else f"{name}.html"
            other = place.removesuffix(".html")
            if key == "href" and place.endswith(".html") and other in names:
                tag[key] = "#" + prefix(other) + (anchor or "top")
            else:
                tag[key] = place + (f"#{anchor}" if anchor else "")
    for tag in article.select("svg [marker-end]"):
        tag["marker-end"] = tag["marker-end"].replace("url(#", f"url(#{prefix(name)}")
    return f'<section class="chapter" id="{prefix(name)}top">{article}</section>'


def write(app):
    out, names = Path(app.outdir), pages_in_order(app)
    chapters = []
    for name in names:
        soup = BeautifulSoup((out / f"{name}.html").read_text(), "html.parser")
        chapters.append(moved(soup.find("article"), name, set(names)))
    head = "".join(
        f'<link rel="stylesheet" href="_static/{f}">' for f in ("pygments.css", "styles/furo.css", "style.css")
    )
    (out / PAGE).write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>psFlip, all of it</title>{head}</head>'
        f'<body class="everything">{"".join(chapters)}</body></html>\n'
    )
