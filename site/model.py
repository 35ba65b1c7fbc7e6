"""The numbers of stage 08's model, for the timeline: what scaling_model.py makes of the results."""

import csv
import json
import sys

from stages import ROOT

sys.path.append(str(ROOT / "08_mpi/tools"))

from scaling_model import Model

RESULTS = ROOT / "common/results/h200"


def h200():
    return Model(json.loads((RESULTS / "scaling/scaling.json").read_text())["rows"])


def data():
    """{name of a trace: what its script has}: of the timeline, and of the page of own numbers"""
    model = h200()
    links = {name: [link.latency_us, link.us_per_byte] for name, link in model.links.items()}
    numbers = {"floor": model.floor_us, "alone": model.alone_us, "bytes": model.bytes, "links": links}
    measured = {name: json.loads((RESULTS / f"{name}.json").read_text()) for name in ("comparison", "spin_glass")}
    own = {name: slim(result) for name, result in measured.items()}
    with (RESULTS / "spin_glass_sizes.csv").open(newline="") as stream:
        own["sizes"] = [
            {name: row[name] for name in ("size", "stage", "indexing", "ps_per_flip")} for row in csv.DictReader(stream)
        ]
    return {"timeline": numbers, "numbers": own}


def slim(result):
    """What the page of own numbers shows of a comparison."""
    kept = ("stage", "storage", "indexing", "generator", "kernel", "steps_per_pass", "platform", "wrong", "of_copy")
    kept += ("ps_per_site", "ps_per_flip", "bytes_per_site", "bytes_per_flip", "copy_gb_per_s", "device")
    rows = [{name: row[name] for name in kept if row.get(name) is not None} for row in result["rows"]]
    return {name: result[name] for name in ("format", "device", "problem")} | {"rows": rows}
