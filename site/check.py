"""What is wrong with a built site: dead links and anchors, other hosts, HTML that is not valid. Needs no browser."""

import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import html5lib

LOADS = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}
CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page:
    def __init__(self, file):
        parser = html5lib.HTMLParser(namespaceHTMLElements=False)
        self.tree = parser.parse(file.read_text())
        self.errors = [f"line {place[0]}: {code}" for place, code, _ in parser.errors]
        self.ids = [node.get("id") for node in self.tree.iter() if isinstance(node.tag, str) and node.get("id")]
        self.loads, self.links = [], []
        for node in self.tree.iter():
            if not isinstance(node.tag, str):
                continue
            if node.get(LOADS.get(node.tag, "")):
                self.loads.append(node.get(LOADS[node.tag]))
            if node.tag == "a" and node.get("href"):
                self.links.append(node.get("href"))
        self.unlabelled = [node.get("src") for node in self.tree.iter("img") if node.get("alt") is None]


def elsewhere(target):
    return bool(urlsplit(target).netloc) or target.startswith("//")


def faults(folder):
    """Lines, each with the page and what is wrong there."""
    pages = {file: Page(file) for file in sorted(folder.rglob("*.html"))}
    for file, page in pages.items():
        name = file.relative_to(folder)
        yield from (f"{name}: {error}" for error in page.errors)
        yield from (f"{name}: the id {i} twice" for i in sorted({i for i in page.ids if page.ids.count(i) > 1}))
        yield from (f"{name}: an image without alt: {image}" for image in page.unlabelled)
        yield from (f"{name}: loads {target}" for target in page.loads if elsewhere(target))
        for target in page.links + page.loads:
            yield from (f"{name}: {target}: {why}" for why in dead(target, file, pages))
    for file in sorted(folder.rglob("*.css")):
        for found in CSS_URL.findall(file.read_text()):
            if elsewhere("".join(found)):
                yield f"{file.relative_to(folder)}: loads {''.join(found)}"


def dead(target, file, pages):
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    place = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not place.is_file():
        yield "there is no such file"
    elif parts.fragment and place in pages and unquote(parts.fragment) not in pages[place].ids:
        yield "there is no such anchor"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1]).resolve()))
    for fault in found:
        print(fault)
    sys.exit(bool(found))
