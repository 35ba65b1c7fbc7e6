"""Who may know whom: no circle among imports or includes, nothing in common that includes a stage or names one. And
whether commands can be run and find their modules, and folders can be taken in."""

import ast
import graphlib
import os
import re
import subprocess
import sys
import unittest
from collections import Counter

from stages import ROOT
from test.tools_test import WithFolder

CPP = (".hpp", ".cpp", ".cu", ".cuh")
INCLUDE = re.compile(r'^\s*#\s*include\s*"(.*?)"', re.MULTILINE)
# A stage's number or folder. ":": a time of day; ".": a fraction or a version.
NAMED = re.compile(r"(?<![\w.:%])0\d(?![\w.])|\b\d\d_[a-z]+")
# Words about the course, and what tests and fuzz targets are told, may name stages.
NO_CODE = re.compile(r"(^|/)(test|corpus|results|mutants|__pycache__)/|_test\.\w+$|\.(md|ipynb)$|/transcript\.txt$")
DATA = re.compile(r"(^|/)(corpus|results|__pycache__)(/|$)")
NAMES_STAGES = {
    "common/tools/models.py": "the table of stages",
    "common/cmake/stages.cmake": "the reference's folder: CMake does not read the table",
    "common/lab/check.yml": "the reference's folder: the hosting service does not read the table",
    "common/app/progress.hpp": "no stage, a time: 3 h 05 min",
}


def files(root):
    """All files of the tree, without those of builds."""
    return [
        file
        for top in ("common", "site", "[0-9][0-9]_*")
        for file in sorted(root.glob(f"{top}/**/*"))
        if file.is_file()
    ]


def is_python(file):
    return file.suffix == ".py" or (not file.suffix and file.read_bytes().startswith(b"#!/usr/bin/env python3"))


def first_there(name, folders):
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def imported(tree, file, root):
    """The files of the tree that a syntax tree's imports load."""
    folders = (file.parent, root / "common/tools")
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
        for name in names:
            place = name.replace(".", "/")
            found = first_there(f"{place}.py", folders) or first_there(f"{place}/__init__.py", folders)
            if found:
                yield found


def import_graph(root):
    trees = {file: ast.parse(file.read_text()) for file in files(root) if is_python(file)}
    return {file: set(imported(tree, file, root)) for file, tree in trees.items()}


def imports_in_functions(root):
    found = []
    for file in filter(is_python, files(root)):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                found += [
                    f"{file.relative_to(root)}: {node.name}() imports {other.name}"
                    for other in imported(node, file, root)
                ]
    return found


def include_graph(root):
    """Every C++ file's own headers. Fails for one that is nowhere."""
    graph = {}
    for file in files(root):
        if file.suffix in CPP:
            folders = (file.parent, root, root / "common", root / "common/gpu/on_cpu")
            graph[file] = set()
            for name in INCLUDE.findall(file.read_text()):
                found = first_there(name, folders)
                if not found:
                    raise AssertionError(f'{file.relative_to(root)}: there is no "{name}"')
                graph[file].add(found.resolve())
    return graph


def named_stages(root):
    """{file of common: the first stage that its code names}"""
    found = {}
    for file in files(root):
        name = str(file.relative_to(root))
        if name.startswith("common/") and not NO_CODE.search(name):
            named = NAMED.search(file.read_text())
            if named:
                found[name] = named[0]
    return found


def circle(graph, root):
    """'a -> b -> a', or '' if there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return " -> ".join(str(file.relative_to(root)) for file in error.args[1][::-1])
    return ""


def points_up(graph, root):
    """What in common knows a stage."""
    return [
        f"{file.relative_to(root)} -> {other.relative_to(root)}"
        for file, known in graph.items()
        for other in sorted(known)
        if file.is_relative_to(root / "common") and not other.is_relative_to(root / "common")
    ]


class Tree(unittest.TestCase):
    def test_imports(self):
        graph = import_graph(ROOT)
        self.assertIn(ROOT / "common/tools/stages.py", graph[ROOT / "common/tools/grade"])
        self.assertEqual(circle(graph, ROOT), "")
        self.assertEqual(points_up(graph, ROOT), [])
        self.assertEqual(imports_in_functions(ROOT), [])

    def test_every_command_finds_its_modules(self):
        commands = [
            file for file in filter(is_python, files(ROOT)) if re.search(r"^    run_tool\(", file.read_text(), re.M)
        ]
        commands.remove(ROOT / "common/tools/build.py")  # which takes a folder's name
        self.assertGreater(len(commands), 12)
        for command in commands:
            with self.subTest(command):
                done = subprocess.run([sys.executable, command, "--help"], cwd="/", capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_every_command_can_be_run(self):
        commands = [file for file in files(ROOT) if file.read_bytes()[:2] == b"#!"]
        self.assertGreater(len(commands), 40)
        self.assertEqual([file for file in commands if not os.access(file, os.X_OK)], [])

    def test_includes(self):
        graph = include_graph(ROOT)
        self.assertIn(ROOT / "common/app/invalid_input.hpp", set().union(*graph.values()))
        self.assertEqual(circle(graph, ROOT), "")
        self.assertEqual(points_up(graph, ROOT), [])

    def test_a_folder_can_be_taken_in(self):
        count = Counter(str(file.parent.relative_to(ROOT)) for file in files(ROOT))
        full = {folder: n for folder, n in count.items() if n > 20 and not DATA.search(folder)}
        self.assertEqual(full, {}, "more than 20 files: make a room of some")

    def test_stages_are_named_in_their_table(self):
        self.assertEqual(set(named_stages(ROOT)) - set(NAMES_STAGES), set())
        self.assertEqual(set(NAMES_STAGES) - set(named_stages(ROOT)), set(), "an exception that is none any more")


class WhatIsWrong(WithFolder):
    def write(self, name, text):
        file = self.folder.resolve() / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def test_a_circle_of_imports(self):
        self.write("common/tools/a.py", "def f():\n    from room import b\n")
        self.write("common/tools/room/b.py", "import json\nimport c\n")
        self.write("common/tools/c.py", "if True:\n    import a\n")
        self.write("01_x/command", "#!/usr/bin/env python3\nimport a\n")
        root = self.folder.resolve()
        found = circle(import_graph(root), root)
        self.assertEqual(set(found.split(" -> ")), {f"common/tools/{name}.py" for name in ("a", "room/b", "c")})
        self.assertIn("room/b.py -> common/tools/c.py -> common/tools/a.py", found + found.partition(".py")[2])
        self.assertEqual(imports_in_functions(root), ["common/tools/a.py: f() imports b.py"])

    def test_a_stage_that_is_named(self):
        for text in ('if number == "05":', "as stage 03 does", "--stages 01,02", "see 08_mpi/tools", "03:int32:16x2"):
            self.write("common/tools/a.py", text)
            self.assertEqual(list(named_stages(self.folder.resolve())), ["common/tools/a.py"], text)
        for text in ("0.05", "ubuntu-24.04", "until 14:05", "%02d", "x0 = 0", "2 ** 08.5", "int8_t", "16_777_216"):
            self.write("common/tools/a.py", text)
            self.assertEqual(named_stages(self.folder.resolve()), {}, text)
        for name in ("01_x/a.py", "common/README.md", "common/tools/test/a.py", "common/app/b_test.cpp"):
            self.write(name, "stage 03")
        self.assertEqual(named_stages(self.folder.resolve()), {})

    def test_a_circle_of_includes_and_a_stage_in_common(self):
        self.write("01_x/a.hpp", '#include "b.hpp"\n')
        self.write("common/b.hpp", '#include <map>\n#include "01_x/a.hpp"\n')
        root = self.folder.resolve()
        graph = include_graph(root)
        self.assertEqual(points_up(graph, root), ["common/b.hpp -> 01_x/a.hpp"])
        self.assertIn(circle(graph, root).count("01_x/a.hpp"), (1, 2))
        self.write("01_x/a.hpp", '#include "c.hpp"\n')
        with self.assertRaisesRegex(AssertionError, '01_x/a.hpp: there is no "c.hpp"'):
            include_graph(root)


if __name__ == "__main__":
    unittest.main()
