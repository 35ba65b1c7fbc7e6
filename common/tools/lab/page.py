"""The page of a class: scores, the commonest mistakes, who is fast, and which submissions are alike."""

from html import escape

from lab.results import number

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { border-bottom: 1px solid #ddd; padding: 0.2em 0.8em; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.failed { color: #a40000; } td.passed { color: #1a6b1a; } td.open { color: #777; }
"""
ALIKE = """Without what everybody was given, and without comments. Short tasks leave little choice: look at both before
you say anything."""
MARKS = {"passed": "ok", "failed": "fails", "open": "-"}


def row(cells, tag="td", classes=()):
    marked = [*classes] + [""] * (len(cells) - len(classes))
    kinds = [f' class="{name}"' if name else "" for name in marked]
    return "<tr>" + "".join(f"<{tag}{kind}>{escape(str(cell))}</{tag}>" for cell, kind in zip(cells, kinds)) + "</tr>"


def table(head, rows, classes=()):
    return "\n".join(["<table>", row(head, "th", classes), *(row(cells, "td", classes) for cells in rows), "</table>"])


def state(test):
    if test["status"] == "failed":
        return "failed"
    return "open" if test["output"].startswith("not judged here") else "passed"


def parts_of(submissions):
    return list(dict.fromkeys(test["name"] for one in submissions for test in one.tests))


def scores(submissions, names):
    lines = [[names(one), number(one.score), number(one.most), one.seconds, one.problem] for one in submissions]
    return table(["submission", "points", "of", "seconds", ""], lines, ["", "number", "number", "number"])


def details(submissions, names):
    """A table per task: which part of whom passed."""
    parts, text = parts_of(submissions), []
    for task in dict.fromkeys(part.rsplit(": ", 1)[0] for part in parts):
        own = [part for part in parts if part.rsplit(": ", 1)[0] == task]
        lines = []
        for one in submissions:
            found = {test["name"]: state(test) for test in one.tests}
            states = [found.get(part, "open") for part in own]
            lines.append(row([names(one), *(MARKS[it] for it in states)], classes=["", *states]))
        head = row(["submission", *(part.rsplit(": ", 1)[1] for part in own)], "th")
        text.append(f"<h3>{escape(task)}</h3>\n" + "\n".join(["<table>", head, *lines, "</table>"]))
    return "\n".join(text)


def leaderboard(submissions, names):
    speeds = list(dict.fromkeys(name for one in submissions for name in one.speeds))
    if not speeds:
        return "<p>No speed was measured: it takes a GPU.</p>"
    lines = []
    for name in speeds:
        timed = sorted((one for one in submissions if name in one.speeds), key=lambda one: one.speeds[name])
        lines += [[place, names(one), f"{one.speeds[name]:.3g}", name] for place, one in enumerate(timed, 1)]
    return table(["place", "submission", "time", "of what"], lines, ["number", "", "number"])


def alike(pairs, names):
    parts = []
    for task, found in pairs.items():
        who = [
            [f"{100 * ratio:.0f} %", *(one if isinstance(one, str) else names(one) for one in two)]
            for ratio, *two in found
        ]
        rows = table(["words in common", "of", "and of"], who, ["number"]) if who else "<p>Nothing to compare.</p>"
        parts.append(f"<h3>{escape(task)}</h3>\n{rows}")
    return "\n".join(parts)


def of_class(title, submissions, mistakes, pairs, anonymous):
    """submissions: in the order of the page; mistakes, pairs: as lab/classroom.py has them."""

    def names(one):
        return one.alias if anonymous else one.name

    wrong = [[count, task, reason, ", ".join(map(names, who))] for task, reason, count, who in mistakes]
    passed = sum(bool(one.tests) and one.score >= one.most for one in submissions)
    parts = [
        f"<p>{len(submissions)} submissions; {passed} of them have all points.</p>",
        "<h2>Points</h2>",
        scores(submissions, names),
        "<h2>The commonest mistakes</h2>",
        table(["how many", "task and part", "as one of them reads", "who"], wrong, ["number"]),
        "<h2>The parts</h2>",
        details(submissions, names),
        "<h2>Leaderboard</h2>",
        leaderboard(submissions, names),
        "<h2>Alike</h2>",
        f"<p>{ALIKE}</p>",
        alike(pairs, names),
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return "\n".join(
        [
            f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n<h1>{escape(title)}</h1>',
            *parts,
            "</body></html>\n",
        ]
    )
