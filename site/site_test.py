#!/usr/bin/env python3
"""Builds the site and drives it in Chromium: site_test.py BUILD_DIR [unittest's options]. In BUILD_DIR are the programs
that the figures' traces are compared with; it is built there what is missing."""

import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "common/tools")]

import trace  # noqa: E402

import figures  # noqa: E402
import frames  # noqa: E402
import make_site  # noqa: E402
import model  # noqa: E402
import stages  # noqa: E402
from browser import SECONDS, Browser  # noqa: E402
from stages import ROOT  # noqa: E402

LARGEST = 1_000_000  # bytes of a page with all that it loads
PAGES = "site/pages"


def setUpModule():
    global folder, site
    folder = tempfile.TemporaryDirectory()
    site = Path(folder.name, "site")
    make_site.build(site, make_site.python_with_sphinx())


def tearDownModule():
    folder.cleanup()


def checked(place):
    command = [make_site.python_with_sphinx(), HERE / "check.py", place]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.splitlines() + done.stderr.splitlines()


class Static(unittest.TestCase):
    def test_links_anchors_hosts_and_html(self):
        self.assertEqual(checked(site), [])

    def test_faults_are_found(self):
        with tempfile.TemporaryDirectory() as place:
            Path(place, "a.css").write_text("body { background: url(https://example.org/a.png) }")
            Path(place, "a.html").write_text(
                '<!doctype html><html lang="en"><head><title>a</title><link rel="stylesheet" href="//example.org/b.css">'
                '</head><body><p id="x"><a href="gone.html">a</a><a href="#y">b</a><i></b></i><img src="a.css">'
                '<b id="x"></b></p></body></html>'
            )
            found = "\n".join(checked(place))
        for words in ("gone.html: there is no such file", "#y: there is no such anchor", "the id x twice"):
            self.assertIn(words, found)
        for words in ("loads //example.org", "loads https://example.org", "unexpected-end-tag", "without alt"):
            self.assertIn(words, found)

    def test_a_newcomer_is_one_click_from_running_it(self):
        text = (site / "index.html").read_text()
        self.assertRegex(text, r'<a class="first" href="#two-commands">Run it yourself</a>')
        self.assertRegex(text, r'<section id="two-commands">')

    def test_a_stage_page_has_all_of_the_stage(self):
        for stage in stages.folders():
            text = (site / stage.name / "index.html").read_text()
            self.assertIn(f'id="exercises-for-stage-{stage.name[:2]}"', text)
            self.assertIn("highlight-cuda", text)
            if stage.name[:2] not in ("00", "01"):
                self.assertIn('class="diff highlight"', text, stage.name)


class Page(unittest.TestCase):
    """In a browser."""

    @classmethod
    def setUpClass(cls):
        cls.page = cls.enterClassContext(Browser())

    def open(self, name):
        self.page.looks(1400)
        self.page.open(f"{site.as_uri()}/{name}")
        self.assertEqual(self.page.errors, [], name)

    def until(self, expression):
        end = time.monotonic() + SECONDS
        while not (value := self.page.value(expression)):
            self.assertLess(time.monotonic(), end, expression)
            time.sleep(0.05)
        return value


class Reading(Page):
    def test_stage_pages_are_small_and_ask_no_other_host(self):
        for stage in stages.folders():
            self.open(f"{stage.name}/index.html")
            self.assertLess(self.page.bytes, LARGEST, stage.name)
            self.assertGreater(self.page.bytes, 100_000, stage.name)  # else nothing was counted
            self.assertEqual([url for url in self.page.requests if not url.startswith(("file:", "data:"))], [])
            shown = self.page.value(
                "[...document.querySelectorAll('figure[data-figure]')].map((f) => f.dataset.figure)"
            )
            self.assertEqual(shown, [figure.name for figure in figures.of_stage(stage.name[:2])])

    def test_nothing_is_wider_than_a_phone(self):
        for name in ("index", "03_shared_memory/index", "07_amsc/index", f"{PAGES}/figures", f"{PAGES}/numbers"):
            self.open(f"{name}.html")
            self.page.looks(400)
            self.assertLessEqual(self.page.value("document.documentElement.scrollWidth"), 400, name)

    def test_dark(self):
        self.open("index.html")
        found = set()
        for dark in (False, True):
            self.page.looks(1400, dark)
            found.add(self.page.value("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(found), 2)

    def test_search(self):
        self.open("search.html?q=halo")
        self.until("document.querySelectorAll('#search-results li a').length > 3")

    def test_a_table_is_sorted_by_its_heading(self):
        self.open("03_shared_memory/index.html")
        table = "[...document.querySelectorAll('table')].find((t) => t.textContent.includes('ps/site'))"
        column = f"[...{table}.tBodies[0].rows].map((row) => Number(row.cells[4].textContent))"
        before = self.page.value(column)
        self.page.value(f"{table}.tHead.rows[0].cells[4].querySelector('button').focus()")
        self.page.key("Enter", 13, "\r")
        self.assertEqual(self.page.value(column), sorted(before))
        self.page.key("Enter", 13, "\r")
        self.assertEqual(self.page.value(column), sorted(before, reverse=True))

    def test_terms_lead_to_the_glossary(self):
        self.open("03_shared_memory/index.html")
        link = "document.querySelector('a.term[href$=\"#term-halo\"]')"
        self.assertEqual(self.page.value(f"{link}.textContent"), "halo")
        self.assertIn("border", self.page.value(f"{link}.title"))

    def test_without_scripts_the_frames_stand(self):
        self.page.ask("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.open(f"{PAGES}/figures.html")
            document = self.page.ask("DOM.getDocument", depth=-1)["root"]["nodeId"]
            found = self.page.ask("DOM.querySelectorAll", nodeId=document, selector="figure .picture svg")["nodeIds"]
            self.assertEqual(len(found), len(figures.FIGURES))
        finally:
            self.page.ask("Emulation.setScriptExecutionDisabled", value=False)

    def test_frames_are_what_the_figures_draw(self):
        for name, text in frames.frames(site).items():
            self.assertEqual((HERE / "frames" / f"{name}.svg").read_text(), text, f"{name}: call site/frames.py")


class Driving(Page):
    """Every figure by its controls; what it shows is compared with what the tools say."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page.looks(1400)
        cls.page.open(f"{site.as_uri()}/{PAGES}/figures.html")

    def tearDown(self):
        self.assertEqual(self.page.errors, [])

    def set(self, figure, **values):
        for name, value in values.items():
            control = f"document.querySelector('#figure-{figure} [name={name}]')"
            change = (
                f"c.checked = {json.dumps(value)}" if isinstance(value, bool) else f"c.value = {json.dumps(str(value))}"
            )
            self.page.value(f"(() => {{ const c = {control}; {change}; c.dispatchEvent(new Event('input')); }})()")

    def click(self, figure, name):
        self.page.value(f"document.querySelector('#figure-{figure} button[name={name}]').click()")

    def said(self, figure):
        return self.page.value(
            f"Object.fromEntries([...document.querySelectorAll('#figure-{figure} dd')]"
            ".map((d) => [d.dataset.name, d.textContent]))"
        )

    def trace(self, name):
        return json.loads((HERE / "traces" / f"{name}.json").read_text())

    def test_traces_are_what_the_kernels_do_now(self):
        self.assertEqual(trace.main(["--check", "--build-dir", BUILD]), 0)

    def test_keyboard(self):
        self.set("threads", stage="02", width=4, b=1, thread=0)
        self.assertEqual(self.said("threads")["spins of this thread"], "1")
        self.page.value("document.querySelector('#figure-threads [name=b]').focus()")
        self.page.key("ArrowRight", 39)
        self.assertEqual(self.said("threads")["spins of this thread"], "4")
        self.page.key("Tab", 9)
        self.assertEqual(self.page.value("document.activeElement.name"), "block")

    def test_threads(self):
        for number, launches in self.trace("threads")["launches"].items():
            for name, launch in launches.items():
                width, b = name.split("x")
                self.set("threads", stage=number, width=width, b=b, block=0, thread=0)
                said = self.said("threads")
                self.assertEqual(said["load sectors"], str(launch["load_sectors"]))
                self.assertEqual(said["store requests"], str(launch["store_requests"]))
                self.assertEqual(said["spins of this thread"], str(launch["owner"].count(0)))
                threads = (launch["grid"] * int(width)) ** 2
                self.assertEqual(said["without a spin"], str(threads - len(set(launch["owner"]))))

    def test_tile(self):
        for name, tile in self.trace("tile").items():
            threads, loader = tile["threads"], {place: thread for thread, place in tile["loads"]}
            later = {"forward": lambda one, other: one > other, "reversed": lambda one, other: one < other}
            for order, behind in later.items():
                self.set("tile", launch=name, order=order, barrier=True, time=2 * threads)
                self.assertEqual(self.said("tile")["reads before the load"], "0")
                self.set("tile", barrier=False, time=threads)
                early = sum(behind(loader[place], thread) for thread, place in tile["reads"])
                self.assertGreater(early, 0)
                self.assertEqual(self.said("tile")["reads before the load"], str(early))
                self.assertEqual(self.said("tile")["reads done"], str(len(tile["reads"])))

    def test_sectors(self):
        for name, layout in self.trace("sectors").items():
            self.set("sectors", layout=name)
            for number, request in enumerate(layout["warp"], 1):
                self.set("sectors", request=number)
                said, last = self.said("sectors"), request["bytes"] - 1
                sectors = {(offset + byte) // 32 for offset in request["offsets"] for byte in (0, last)}
                self.assertEqual(said["sectors of this request"], str(len(sectors)))
            self.assertEqual(said["requests of the launch"], str(layout["requests"]))
            self.assertEqual(said["sectors of the launch"], str(layout["sectors"]))

    def test_colours(self):
        energies = {}
        for how in ("all at once", "red, then blue"):
            self.set("colours", how=how)
            for _ in range(6):
                self.click("colours", "step")
            said = self.said("colours")
            energies[how] = float(said["energy per site"])
            if how == "all at once":
                self.assertGreater(int(said["of them changed back"]), int(said["spins that changed"]) * 0.8)
        self.assertLess(energies["red, then blue"], energies["all at once"] - 0.5)

    def test_slicing(self):
        trace = self.trace("slicing")
        for layout, reads in trace["reads"].items():
            self.set("slicing", layout=layout)
            for element, places in enumerate(reads):
                self.set("slicing", element=element)
                said = self.said("slicing")
                self.assertEqual(said["read from places"], ", ".join(map(str, places)))
                self.assertEqual(said["as the layout says"], "yes")

    def test_adder(self):
        for temperature, expected in self.trace("adder")["hashes"].items():
            self.set("adder", temperature=temperature)
            self.click("adder", "sweep")
            self.assertEqual(self.said("adder")["hash"], expected)
            self.assertEqual(self.said("adder")["stage 07"], "the same")

    def test_timeline(self):
        h200 = model.h200()
        sizes = sorted(h200.alone_us)
        for name, link in h200.links.items():
            for size in sizes:
                for ranks in (1, 2, 5, 16):
                    self.set("timeline", link=name, size=sizes.index(size), ranks=ranks)
                    said = self.said("timeline")
                    for key, value in (
                        ("update, µs", h200.update_us(size, ranks)),
                        ("exchange, µs", h200.exchange_us(size, link)),
                        ("half a sweep, µs", h200.half_sweep_us(size, ranks, link)),
                        ("efficiency", h200.efficiency(size, ranks, link)),
                    ):
                        self.assertAlmostEqual(float(said[key]) / value, 1, delta=6e-6, msg=f"{key}, {size}, {ranks}")

    def test_lattice(self):
        for rule, known in (("2D majority", "majority"), ("3D spin glass, a layer", "spin_glass")):
            self.set("lattice", model=rule)
            for steps, button in ((1, "step"), (11, "ten")):
                self.click("lattice", button)
                expected = self.trace("lattice")[known]["hashes"].get(str(steps))
                if expected:
                    self.assertEqual(self.said("lattice")["hash"], expected)
                    self.assertEqual(self.said("lattice")["stage 00"], "the same")
            self.click("lattice", "again")
            self.click("lattice", "ten")
            self.assertEqual(self.said("lattice")["hash"], self.trace("lattice")[known]["hashes"]["10"])


class Files(Page):
    """What is dropped into a page."""

    def test_own_numbers(self):
        self.open(f"{PAGES}/numbers.html")
        result = json.loads((ROOT / "common/results/h200/comparison.json").read_text())
        row = next(row for row in result["rows"] if row["stage"].startswith("02") and row["storage"] == "int32")
        row["ps_per_site"], result["device"]["name"] = 7.125, "My GPU"
        own = Path(folder.name, "my.json")
        own.write_text(json.dumps(result))
        self.page.choose("#own-numbers input", own)
        self.until("document.querySelector('.said').textContent.includes('my.json: shown')")
        bars = "document.querySelector('#own-bars')"
        self.assertIn("My GPU", self.page.value(f"{bars}.textContent"))
        self.assertEqual(self.page.value(f"{bars}.querySelector('[data-bar=\"1 02 int32\"]').textContent"), "7.125")
        self.assertGreater(self.page.value("document.querySelectorAll('#own-roofline circle.c1').length"), 3)
        own.write_text('{"format": "something else"}')  # under the same name
        self.page.choose("#own-numbers input", own)
        self.until("document.querySelector('.said').textContent.includes('the format is something else')")
        self.page.choose("#own-numbers input", ROOT / "common/results/h200/spin_glass_sizes.csv")
        self.until("document.querySelectorAll('#own-sizes circle.c1').length > 3")
        self.assertEqual(self.page.errors, [])

    def test_a_class(self):
        self.open(f"{PAGES}/class.html")
        names = {"ada": 3, "bob": 1}
        for name, score in names.items():
            tests = [
                {
                    "name": "03: bits",
                    "score": score,
                    "max_score": 3,
                    "output": "x",
                    "status": "failed" if score < 3 else "passed",
                }
            ]
            Path(folder.name, f"{name}.json").write_text(json.dumps({"score": score, "tests": tests}))
        self.page.choose(
            "#of-class input:not([webkitdirectory])", *(Path(folder.name, f"{name}.json") for name in names)
        )
        self.until("document.querySelector('.said').textContent.includes('2 graded')")
        points = self.page.value("document.querySelector('#class-points').textContent")
        self.assertLess(points.index("ada3 of 3"), points.index("bob1 of 3"))
        self.assertIn("1 of 2", self.page.value("document.querySelector('#class-parts').textContent"))
        self.assertEqual(self.page.errors, [])


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
