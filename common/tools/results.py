"""What was measured, written to its files and read back."""

import csv
import datetime
import json

from stages import Failure, as_words


def begin_result(form, command, **device):
    """How a result begins. `device`: platform and name, if it ran on one."""
    result = {"format": form, "command": command, "date": datetime.date.today().isoformat()}
    return result | ({"device": device} if device else {})


def begin_report(form, tool, options, report):
    """The same of what a program with Google Benchmark says. `options`: those that the tool takes for the same run;
    where files went is nobody's business."""
    command, context = " ".join([tool, *as_words(options)]), report["context"]
    begin = begin_result(form, command, platform=context["psflip_platform"], name=context["psflip_device"])
    return begin | {"build_type": context["psflip_build_type"]}


def write_result(file, result):
    file.write_text(json.dumps(result, indent=1) + "\n")


def read_result(file, form):
    """A JSON file whose member "format" says that it is this."""
    try:
        result = json.loads(file.read_text())
    except ValueError:
        result = None
    if not isinstance(result, dict) or result.get("format") != form:
        raise Failure(f"{file} is not '{form}'")
    return result


def kept_result(file, form):
    """What was measured before, or None."""
    return read_result(file, form) if file.exists() else None


def number(text):
    """What a cell of a CSV file was before it was written."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return text or None


def write_csv(file, rows, left_out=()):
    with file.open("w", newline="") as stream:
        columns = [key for key in rows[0] if key not in left_out]
        writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(file):
    with file.open(newline="") as stream:
        return [{key: number(text) for key, text in row.items()} for row in csv.DictReader(stream)]


def select(rows, **wanted):
    """The rows whose members have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def least(rows, key, value):
    """{key of a row: the first row with that key and the least value}"""
    found = {}
    for row in rows:
        found[key(row)] = min(found.get(key(row), row), row, key=value)
    return found


def sizes_of(file, rows, wished, where=""):
    """The L that a marker in a README names, each of which has to be there."""
    there, sizes = {row["size"] for row in rows}, list(map(int, wished))
    if missing := [str(size) for size in sorted(set(sizes) - there)]:
        raise Failure(f"{file.parent.name}/{file.name} has no L = {', '.join(missing)}{where}")
    return sizes
