"""What needs no browser and no Sphinx: traces, frames and scripts that belong together. The site itself: site_test.py."""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "common/tools"))

import figures
import make_site
import model
from stages import ROOT, Failure

HERE = Path(__file__).resolve().parent


class Figures(unittest.TestCase):
    def test_every_figure_has_its_scripts_its_frame_and_its_trace(self):
        made = {f"trace_{name}.js" for name in model.data()}
        for figure in figures.FIGURES:
            for script in figure.scripts:
                place = (
                    HERE / "traces" / f"{script[6:-3]}.json"
                    if script.startswith("trace_")
                    else HERE / "figures" / script
                )
                self.assertTrue(script in made or place.exists(), script)
            self.assertIn("<svg", (HERE / "frames" / f"{figure.name}.svg").read_text())

    def test_nothing_is_left_over(self):
        names = {figure.name for figure in figures.FIGURES}
        self.assertEqual({file.stem for file in (HERE / "frames").glob("*")}, names)
        self.assertLessEqual({file.stem for file in (HERE / "traces").glob("*")}, names)

    def test_a_figure_stands_between_idea_and_questions(self):
        text = "# A\n\n## The idea\n\nwords\n\n<!-- answers -->\n## What changes\n\n## Predict\n"
        found = figures.into(text, "03")
        self.assertLess(found.index("words"), found.index('data-figure="tile"'))
        self.assertLess(found.index('data-figure="tile"'), found.index("<!-- answers -->"))
        self.assertEqual(figures.into(text, "06"), text)

    def test_scripts_and_pages_name_no_other_host(self):
        for file in [*HERE.glob("figures/*"), *HERE.glob("pages/*"), *HERE.glob("frames/*"), HERE / "style.css"]:
            hosts = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", file.read_text())) - {"http://www.w3.org"}
            self.assertEqual(hosts, set(), file.name)


class Folder(unittest.TestCase):
    def test_what_is_no_site_stays(self):
        with tempfile.TemporaryDirectory() as name:
            folder, file = Path(name), Path(name, "mine.txt")
            make_site.refuse_what_is_no_site(folder)
            make_site.refuse_what_is_no_site(folder / "new")
            file.touch()
            for place in (folder, file):
                with self.assertRaisesRegex(Failure, f"--site {place}: "):
                    make_site.main(["--site", str(place)])
            (folder / "searchindex.js").touch()
            make_site.refuse_what_is_no_site(folder)


class Traces(unittest.TestCase):
    def trace(self, name):
        return json.loads((HERE / "traces" / f"{name}.json").read_text())

    def test_every_spin_has_a_thread_of_its_launch(self):
        trace = self.trace("threads")
        for launches in trace["launches"].values():
            for name, launch in launches.items():
                width, b = map(int, name.split("x"))
                self.assertEqual(len(launch["owner"]), trace["size"] ** 2)
                self.assertLess(max(launch["owner"]), (launch["grid"] * width) ** 2)
                self.assertLessEqual(max(map(launch["owner"].count, set(launch["owner"]))), b * b)

    def test_every_place_that_is_read_was_loaded(self):
        for tile in self.trace("tile").values():
            self.assertLessEqual({place for _, place in tile["reads"]}, {place for _, place in tile["loads"]})

    def test_stages_of_figures_exist(self):
        stages = {folder.name[:2] for folder in ROOT.glob("[0-9][0-9]_*")}
        self.assertLessEqual({stage for figure in figures.FIGURES for stage in figure.stages}, stages)


if __name__ == "__main__":
    unittest.main()
