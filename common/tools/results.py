"""What was measured, read back from its files."""

import csv
import json

from stages import Failure


def read_result(file, form):
    """A JSON file whose member "format" says that it is this."""
    try:
        result = json.loads(file.read_text())
    except ValueError:
        result = None
    if not isinstance(result, dict) or result.get("format") != form:
        raise Failure(f"{file} is not '{form}'")
    return result


def number(text):
    """What a cell of a CSV file was before it was written."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return text or None


def read_csv(file):
    with file.open(newline="") as stream:
        return [{key: number(text) for key, text in row.items()} for row in csv.DictReader(stream)]


def select(rows, **wanted):
    """The rows whose members have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]
