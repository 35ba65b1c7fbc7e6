"""What the tests of the stages' own tools share: a fake in the place of the program that the tool calls."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from stages import Failure


class WithProgram(unittest.TestCase):
    """A build folder with the program, a Python script that finds files beside it."""

    tool = None  # the module
    program = ""  # its place in the build folder
    text = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="psFlip test ")  # a space, as in many people's paths
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.put(self.program, self.text)
        self.stage = (self.folder / self.program).parent

    def put(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def run_tool(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(self.tool.main(["--build-dir", str(self.folder), *arguments]), 0)
        return output.getvalue()

    def result(self, *arguments):
        """What the tool writes with --json."""
        file = self.folder / f"{self.tool.__name__}.json"
        self.run_tool("--json", str(file), *arguments)
        return json.loads(file.read_text())

    def calls(self):
        """A line for each call of the program."""
        file = self.stage / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def refuses(self, *cases):
        """Each case: arguments, and what has to be said of them."""
        for arguments, message in cases:
            with self.subTest(arguments), self.assertRaisesRegex(Failure, message):
                self.run_tool(*arguments)

    def cells(self, markdown):
        """A table's lines: heading -> cell."""
        lines = [line.strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
        headings, _, *body = [[cell.strip() for cell in line] for line in lines]
        self.assertEqual({len(headings)}, set(map(len, body)))
        return [dict(zip(headings, line)) for line in body]
