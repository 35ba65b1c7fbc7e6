#!/usr/bin/env python3
"""Writes the still frames of the figures, what a reader without scripts sees: the first picture of each, drawn by
Chromium from a built site. frames.py [SITE]"""

import sys
from pathlib import Path

from browser import Browser

HERE = Path(__file__).resolve().parent
PAGE = "site/pages/figures.html"
# A canvas becomes squares, those of a colour as one path.
STILL = """(figure) => {
  const canvas = figure.querySelector("canvas");
  if (!canvas) return figure.querySelector(".picture svg").outerHTML;
  const n = canvas.width, pixels = canvas.getContext("2d").getImageData(0, 0, n, n).data, cell = Math.floor(384 / n);
  let up = "", first = pixels.slice(0, 3).join();
  for (let i = 0; i < n * n; ++i)
    if (pixels.slice(4 * i, 4 * i + 3).join() !== first)
      up += `M${i % n * cell} ${Math.floor(i / n) * cell}h${cell}v${cell}h-${cell}z`;
  const size = n * cell;
  return `<svg viewBox="0 0 ${size} ${size}" width="${size}" height="${size}" role="img" aria-label="the spins">` +
    `<rect width="${size}" height="${size}" class="c0"></rect><path class="c1" d="${up}"></path></svg>`;
}"""


def frames(site):
    """{name of a figure: its first picture}"""
    with Browser() as page:
        page.looks(1400)
        page.open(f"{site.resolve().as_uri()}/{PAGE}")
        names = page.value("[...document.querySelectorAll('figure[data-figure]')].map((f) => f.dataset.figure)")
        return {name: page.value(f"({STILL})(document.querySelector('#figure-{name}'))") + "\n" for name in names}


def main():
    site = Path(sys.argv[1] if sys.argv[1:] else HERE.parent / "build-site/site")
    for name, text in frames(site).items():
        (HERE / "frames" / f"{name}.svg").write_text(text)


if __name__ == "__main__":
    main()
