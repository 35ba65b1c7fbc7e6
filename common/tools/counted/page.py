"""What was counted as one HTML page: the launches, and each kernel's source with the figures beside the lines."""

import html

from counted import predict, show
from counted.advice import advice
from stages import ROOT

STYLE = """
:root { color-scheme: light dark; font-family: sans-serif; }
body { max-width: 90rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .1rem .6rem; text-align: right; white-space: pre; }
thead th, .remark { border-bottom: 1px solid GrayText; }
.text { text-align: left; }
.source td { font-family: monospace; }
.source .code { text-align: left; border-left: 1px solid GrayText; }
.touches { background: color-mix(in srgb, Highlight 12%, Canvas); }
.costly { background: color-mix(in srgb, Mark 45%, Canvas); }
.remark { text-align: left; font-family: sans-serif; white-space: normal; }
"""
COLUMNS = ("requests", "", "B per lane", "each", "least", "lanes")


def element(tag, content, classes=""):
    return f'<{tag} class="{classes}">{content}</{tag}>' if classes else f"<{tag}>{content}</{tag}>"


def html_table(headings, body, numbers):
    """A table in the form of table.as_markdown()."""

    def line(tag, cells):
        found = [
            element(tag, html.escape(cell), "" if number else "text")
            for cell, number in zip(cells, numbers, strict=True)
        ]
        return element("tr", "".join(found))

    rows = "".join(line("td", cells) for cells in body)
    return element("div", element("table", element("thead", line("th", headings)) + rows), "wide")


def cells_of(entry):
    """One line of figures, without what the heading says."""
    requests = entry["requests"]
    each, least = show.cost(entry)
    unit = {"shared": " w", "constant": ""}.get(entry["memory"], " s")
    return [
        f"{requests:,}",
        entry["kind"] if entry["memory"] == "global" else f"{entry['memory']} {entry['kind']}",
        str(entry["bytes_a_lane"]),
        f"{each:.1f}{unit}" if unit else "constant",
        f"{least:.1f}" if unit else "",
        f"{entry['lanes'] / requests:.1f}",
    ]


def branch_cells(entry):
    """The same of a branch: how often warps execute it, and how many of these their lanes leave by different ways."""
    executed, diverge = entry["executed"], 100 * entry["divergent"] / entry["executed"]
    return [f"{executed:,}", "branch", "", f"{diverge:.1f} % diverge", "", f"{entry['lanes'] / executed:.1f}"]


def listing(row):
    """The source around the lines that touch memory."""
    by_line = {}
    for entry in row["lines"]:
        by_line.setdefault(entry["line"], []).append(cells_of(entry))
    for entry in row["branches_by_line"]:
        by_line.setdefault(entry["line"], []).append(branch_cells(entry))
    if not by_line:
        return element("p", "This kernel touches no memory in its own file.")
    source = (ROOT / row["file"]).read_text().splitlines()
    remarks = {}
    for line, text in advice(row["lines"]):
        remarks.setdefault(line, []).append(text)
    rows = [element("tr", "".join(element("th", name) for name in (*COLUMNS, "line", "")))]
    for number in range(max(1, min(by_line) - 4), min(len(source), max(by_line) + 4) + 1):
        kind = "costly" if number in remarks else "touches" if number in by_line else ""
        first, *others = by_line.get(number, [[""] * len(COLUMNS)])
        code = element("td", str(number)) + element("td", html.escape(source[number - 1]), "code")
        rows.append(element("tr", "".join(element("td", cell) for cell in first) + code, kind))
        rows += [
            element("tr", "".join(element("td", cell) for cell in cells) + "<td></td><td class=code></td>", kind)
            for cells in others
        ]
        for text in remarks.get(number, ()):
            cell = f'<td class="remark" colspan="{len(COLUMNS) + 2}">line {number}: {html.escape(text)}</td>'
            rows.append(element("tr", cell, kind))
    return element("div", element("table", "".join(rows), "source"), "wide")


def page(rows, command, device=None):
    """rows: as count.py writes them to JSON; device: of predict.DEVICES, whose least times are shown."""
    parts = [element("h1", "What the kernels do to memory"), element("p", element("code", html.escape(command)))]
    parts.append(show.launch_table(rows, html_table))
    if device:
        parts.append(element("h2", f"The least time on {html.escape(device.title)}"))
        parts.append(element("p", html.escape(device.source)) + predict.predictions(rows, device, html_table))
    parts.append(element("p", "s: sectors of 32 bytes; w: wavefronts of shared memory; of each request."))
    for row in rows:
        parts.append(element("h2", html.escape(f"{row['file']}, {row['launch']}")))
        parts += [element("p", element("code", html.escape(row["kernel"]))), listing(row)]
    head = f'<meta charset="utf-8"><title>psFlip: counters</title>{element("style", STYLE)}'
    body = "\n".join(parts)
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'
