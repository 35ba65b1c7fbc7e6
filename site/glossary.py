"""Terms: each has a place in the glossary that one can link to, and the first of its kind on a page leads there."""

import re

from docutils import nodes

PAGE = "common/GLOSSARY"
# Also ordinary words, or explained by every table that has them.
UNLINKED = {"draw", "element", "graph", "L", "launch", "report, the", "step", "word", "sample", "flip", "stall"}
SKIPPED = (nodes.reference, nodes.literal, nodes.title, nodes.raw, nodes.literal_block, nodes.caption)


def anchor(term):
    return "term-" + re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def names(term):
    """'L1, L2' -> L1, L2; 'magnetisation (M, m)' -> magnetisation"""
    return [name.split(" (")[0].strip() for name in term.split(", ")]


def entries(doctree):
    """(list item, term) of the glossary."""
    for item in doctree.findall(nodes.list_item):
        strong = next(iter(item.findall(nodes.strong)), None)
        if strong is not None:
            yield item, strong.astext()


def name_terms(app, doctree):
    if app.env.docname != PAGE:
        return
    found = {}
    for item, term in entries(doctree):
        item["ids"].append(anchor(term))
        text = item.astext().split(": ", 1)[1]
        if term not in UNLINKED:
            found |= {name: (anchor(term), text) for name in names(term)}
    app.env.psflip_terms = found


def link_terms(app, doctree, name):
    terms = getattr(app.env, "psflip_terms", {})
    if name == PAGE or not terms or not re.match(r"\d\d_|README$", name):
        return
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(terms, key=len, reverse=True)))})(s?)(?![\w-])")
    seen = set()
    place = app.builder.get_relative_uri(name, PAGE)
    for text in list(doctree.findall(nodes.Text)):
        parents, parent = [], text.parent
        while parent is not None:
            parents.append(parent)
            parent = parent.parent
        if any(isinstance(node, SKIPPED) for node in parents) or not any(
            isinstance(n, nodes.paragraph) for n in parents
        ):
            continue
        new, end = [], 0
        for match in pattern.finditer(text):
            where, words = terms[match[1]]
            if where in seen:
                continue
            seen.add(where)
            new += [nodes.Text(text[end : match.start()])] if match.start() > end else []
            link = nodes.reference("", match[0], refuri=f"{place}#{where}", internal=True, classes=["term"])
            link["reftitle"] = words.replace("\n", " ")
            new.append(link)
            end = match.end()
        if new:
            text.parent.replace(text, [*new, nodes.Text(text[end:])] if end < len(text) else new)
