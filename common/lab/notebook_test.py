#!/usr/bin/env python3
"""notebook_test.py BUILD: runs the cells of psflip.ipynb in order, as a hosted notebook would.

No Jupyter is needed: the cells are plain Python, which this test makes sure of.
"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path

NOTEBOOK = Path(__file__).with_name("psflip.ipynb")
ROOT = NOTEBOOK.parents[2]


class Tee(io.StringIO):
    def write(self, text):
        sys.__stdout__.write(text)
        return super().write(text)


def expect(condition, message):
    if not condition:
        sys.exit(f"psflip.ipynb: {message}")


def main(build):
    notebook = json.loads(NOTEBOOK.read_text())
    expect(notebook["nbformat"] == 4, "not of Jupyter's format 4")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in code:
        expect(not cell["outputs"] and cell["execution_count"] is None, f"{cell['id']} has outputs; clear them")
    ids = [cell["id"] for cell in notebook["cells"]]
    expect(len(set(ids)) == len(ids), "two cells have the same id")

    os.environ["PSFLIP_BUILD"] = str(Path(build).resolve())
    os.chdir(NOTEBOOK.parent)
    said, names = Tee(), {"__name__": "__main__"}
    with tempfile.TemporaryDirectory(prefix="psflip-notebook-") as folder, contextlib.redirect_stdout(said):
        for cell in code:
            # The student's assignment lies beside the course, and a test leaves nothing behind there.
            source = "".join(cell["source"]).replace('Path("lab03")', f"Path({str(Path(folder, 'lab03'))!r})")
            exec(compile(source, cell["id"], "exec"), names)
    output = said.getvalue()
    for number in range(8):
        stage = f"{number:02}"
        expect(re.search(rf"^Stage {stage}: .+$", output, re.MULTILINE), f"stage {stage} was not shown")
        expect(re.search(rf"^{stage}  .* (ref|yes\*?)$", output, re.MULTILINE), f"stage {stage} was not measured")
    expect("WRONG RESULT" not in output, "a stage has wrong bits")
    expect("03_shared_memory: not passed" in output, "the starter of stage 03 was not judged")
    print(f"{len(code)} cells")


if __name__ == "__main__":
    main(*sys.argv[1:])
