// Results that are dropped into the page, beside the H200's. Nothing leaves the page.
"use strict";
(() => {
  const { text, box, line, svg, canvas, html } = psflip;
  const FORMATS = { "psFlip 2D comparison, version 1": "comparison", "psFlip 3D comparison, version 1": "spin_glass" };
  const WIDTH = 720, LEFT = 250;
  const own = []; // {name, results}
  const h200 = psflip.traces.numbers;

  const ps = (row) => row.ps_per_site ?? row.ps_per_flip;
  const bytes = (row) => row.bytes_per_site ?? row.bytes_per_flip;
  const device = (result) => result.device?.name ?? result.rows.at(-1)?.device ?? "?";
  const label = (row) => [row.stage.slice(0, 2), row.storage ?? row.indexing ?? row.kernel, row.generator,
    row.steps_per_pass > 1 ? `${row.steps_per_pass} steps` : ""].filter(Boolean).join(" ");
  const timed = (result) => result.rows.filter((row) => !row.wrong && ps(row) > 0);

  /** What a file holds, or a line that says why it cannot be shown. */
  function read(name, content) {
    if (name.endsWith(".csv")) {
      const [head, ...lines] = content.trim().split(/\r?\n/).map((l) => l.split(","));
      const rows = lines.map((cells) => Object.fromEntries(head.map((key, i) => [key, cells[i]])));
      if (!head.includes("size") || !head.includes("ps_per_flip")) return `${name}: no columns size and ps_per_flip`;
      return { kind: "sizes", name, rows };
    }
    let result;
    try {
      result = JSON.parse(content);
    } catch {
      return `${name}: not JSON`;
    }
    const kind = FORMATS[result?.format];
    if (!kind || !Array.isArray(result.rows)) return `${name}: the format is ${result?.format ?? "not given"}; allowed are ${Object.keys(FORMATS).join(" and ")}`;
    return { kind, name, result };
  }

  const short = (value) => (value >= 1000 ? String(Math.round(value)) : value.toPrecision(4));
  const ofKind = (kind) => own.filter((one) => one.kind === kind);
  const scale = (values) => {
    const low = Math.floor(Math.log10(Math.min(...values))), high = Math.ceil(Math.log10(Math.max(...values)));
    return { low, high: Math.max(high, low + 1) };
  };
  const power = (e) => String(Number((10 ** e).toPrecision(1)));

  function bars(kind) {
    const series = [{ name: device(h200[kind]), rows: timed(h200[kind]) },
      ...ofKind(kind).map(({ name, result }) => ({ name: `${name}, ${device(result)}`, rows: timed(result) }))];
    const labels = [...new Set(series.flatMap(({ rows }) => rows.map(label)))].sort();
    const { low, high } = scale(series.flatMap(({ rows }) => rows.map(ps)));
    const unit = (WIDTH - LEFT - 60) / (high - low), each = 14, marks = [];
    let y = 18 * series.length + 10;
    series.forEach(({ name }, k) => marks.push(box(0, k * 18, 12, 12, `c${k % 6}`), text(18, k * 18 + 11, name)));
    const top = y;
    for (const words of labels) {
      marks.push(text(0, y + 11, words));
      series.forEach(({ rows }, k) => {
        const row = rows.find((one) => label(one) === words);
        if (!row) return;
        const wide = Math.max(1, (Math.log10(ps(row)) - low) * unit);
        marks.push(box(LEFT, y, wide, each - 2, `c${k % 6}`), text(LEFT + wide + 4, y + 10, short(ps(row)), { "data-bar": `${k} ${words}` }));
        y += each;
      });
      y += 5;
    }
    for (let e = low; e <= high; ++e)
      marks.push(line(LEFT + (e - low) * unit, top, LEFT + (e - low) * unit, y), text(LEFT + (e - low) * unit, y + 14, power(e), { "text-anchor": "middle" }));
    marks.push(text(LEFT, y + 30, kind === "comparison" ? "ps per site, 2D" : "ps per flip, 3D"));
    return canvas(WIDTH, y + 36, "picoseconds of each stage", marks);
  }

  /** A picture with two logarithmic axes. */
  function plot(points, lines, across, up) {
    const x = scale(points.map((p) => p.x)), y = scale([...points.map((p) => p.y), ...lines.flatMap((l) => l.map((p) => p.y))]);
    const high = 320, left = 70, px = (v) => left + (Math.log10(v) - x.low) / (x.high - x.low) * (WIDTH - left - 20);
    const py = (v) => high - (Math.log10(v) - y.low) / (y.high - y.low) * (high - 20);
    const marks = [];
    for (let e = x.low; e <= x.high; ++e) marks.push(line(px(10 ** e), 20, px(10 ** e), high), text(px(10 ** e), high + 14, power(e), { "text-anchor": "middle" }));
    for (let e = y.low; e <= y.high; ++e) marks.push(line(left, py(10 ** e), WIDTH - 20, py(10 ** e)), text(left - 6, py(10 ** e) + 4, `1e${e}`, { "text-anchor": "end" }));
    for (const l of lines) marks.push(line(px(l[0].x), py(l[0].y), px(l[1].x), py(l[1].y), "frame"));
    for (const p of points) marks.push(svg("circle", { cx: px(p.x), cy: py(p.y), r: 5, class: `c${p.series % 6}` }, svg("title", {}, p.title)));
    marks.push(text(left, high + 32, across), text(left, 12, up));
    return canvas(WIDTH, high + 40, `${up} over ${across}`, marks);
  }

  function roofline() {
    const results = ["comparison", "spin_glass"].flatMap((kind) => [h200[kind], ...ofKind(kind).map((one) => one.result)].map((result, k) => [result, k]));
    const points = results.flatMap(([result, series]) => timed(result).filter((row) => row.platform !== "reference" && bytes(row))
      .map((row) => ({ x: bytes(row), y: 1e12 / ps(row), series, title: `${device(result)}, ${label(row)}` })));
    const from = Math.min(...points.map((p) => p.x)), to = Math.max(...points.map((p) => p.x));
    const lines = results.flatMap(([result]) => {
      const copy = Math.max(...result.rows.map((row) => row.platform === "reference" ? 0 : row.copy_gb_per_s ?? 0));
      return copy > 0 ? [[from, to].map((x) => ({ x, y: copy * 1e9 / x }))] : [];
    });
    return plot(points, lines, "bytes per update", "updates per second");
  }

  function sizes() {
    const series = [h200.sizes, ...ofKind("sizes").map((one) => one.rows)];
    const points = series.flatMap((rows, k) => {
      const best = new Map();
      for (const row of rows) best.set(row.size, Math.min(best.get(row.size) ?? Infinity, Number(row.ps_per_flip)));
      return [...best].map(([size, value]) => ({ x: Number(size), y: value, series: k, title: `L = ${size}: ${value}` }));
    });
    return plot(points, [], "L, the fastest launch of each", "ps per flip");
  }

  function show() {
    document.querySelector("#own-bars").replaceChildren(bars("comparison"), bars("spin_glass"));
    document.querySelector("#own-roofline").replaceChildren(roofline());
    document.querySelector("#own-sizes").replaceChildren(sizes());
  }

  document.addEventListener("DOMContentLoaded", () => {
    const place = document.querySelector("#own-numbers"), said = place.querySelector(".said");
    psflip.files(place, async (files) => {
      const words = [];
      for (const file of files) {
        const found = read(file.name, await file.text());
        if (typeof found === "string") words.push(found);
        else {
          own.push(found);
          words.push(`${file.name}: shown`);
        }
      }
      said.replaceChildren(...words.map((w) => html("span", {}, w, html("br"))));
      show();
    });
    show();
  });
})();
