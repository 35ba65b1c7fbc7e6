// The cube and its slices: a red site, its neighbours, and where memory has them, in both layouts.
"use strict";
psflip.figures.slicing = (figure, trace) => {
  const { svg, text, box, canvas } = psflip;
  const L = trace.size, half = L ** 3 / 2, cell = 20;
  const mod = (v) => ((v % L) + L) % L;

  // The layouts, as in standard.hpp and sliced.hpp: the site of an element of a colour.
  const sites = {
    standard: (colour, i) => {
      const x = i % (L / 2), row = Math.floor(i / (L / 2)), y = row % L, z = Math.floor(row / L);
      return [2 * x + ((y ^ z ^ colour) & 1), y, z];
    },
    sliced: (colour, i) => {
      const x = i % L, row = Math.floor(i / L), y = row % L, plane = Math.floor(row / L);
      return [x, mod(x + y), mod(2 * plane + colour + y)];
    },
  };
  const elements = (layout) =>
    new Map(Array.from({ length: half }, (_, i) => [sites[layout](1, i).join(), i]));
  const around = ([x, y, z]) =>
    [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]].map(([a, b, c]) => [mod(x + a), mod(y + b), mod(z + c)]);

  figure.choice("layout", "layout", ["standard", "sliced"], "sliced");
  figure.slider("element", "thread", 0, half - 1, 40);
  figure.choice("colour", "cells coloured by", ["slice x − y + z", "colour"]);

  figure.start(() => {
    const { layout, element, colour } = figure.values;
    const site = sites[layout](0, element), next = element + 1 < half ? element + 1 : null;
    const where = elements(layout), neighbours = around(site);
    const predicted = neighbours.map((s) => where.get(s.join())).sort((a, b) => a - b);
    const read = trace.reads[layout][element];
    const marks = [];
    const is = (a, b) => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
    for (let z = 0; z < L; ++z) {
      const left = z % 3 * (L * cell + 24), top = Math.floor(z / 3) * (L * cell + 24) + 14;
      marks.push(text(left, top - 3, `z = ${z}`));
      for (let y = 0; y < L; ++y)
        for (let x = 0; x < L; ++x) {
          const slice = mod(x - y + z), here = [x, y, z];
          const kind = colour === "colour" ? `c${slice % 2 ? 0 : 1}` : `c${slice}`;
          marks.push(box(left + x * cell, top + y * cell, cell - 2, cell - 2, `${kind} dim`));
          if (is(here, site)) marks.push(box(left + x * cell, top + y * cell, cell - 2, cell - 2, "ink"));
          if (neighbours.some((other) => is(other, here)))
            marks.push(svg("g", {}, box(left + x * cell, top + y * cell, cell - 2, cell - 2, kind), box(left + x * cell, top + y * cell, cell - 2, cell - 2, "frame")));
        }
    }
    const top = 2 * (L * cell + 24) + 22, wide = 18, unit = (3 * (L * cell + 24) - 24) / wide;
    marks.push(text(0, top - 5, "the blue spins in memory; framed: what this thread read"));
    for (let i = 0; i < half; ++i) {
      const x = i % wide * unit, y = top + Math.floor(i / wide) * 20, at = sites[layout](1, i);
      const slice = mod(at[0] - at[1] + at[2]);
      marks.push(box(x, y, unit - 2, 17, colour === "colour" ? "c0 dim" : `c${slice} dim`));
      if (read.includes(i)) marks.push(box(x, y, unit - 2, 17, "frame"));
    }
    figure.draw(canvas(3 * (L * cell + 24), top + Math.ceil(half / wide) * 20, `the ${layout} layout, L = ${L}`, marks));
    const shifted = next === null ? 0 : read.filter((i) => trace.reads[layout][next].includes(i + 1)).length;
    figure.tell({
      "site (x, y, z)": `(${site.join(", ")})`, "slice": mod(site[0] - site[1] + site[2]),
      "read from places": read.join(", "), "as the layout says": predicted.join() === read.join() ? "yes" : `no: ${predicted}`,
      "one further for the next thread": `${shifted} of 6`,
    });
  });
};
