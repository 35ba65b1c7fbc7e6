// The results of a class: what common/tools/grade wrote, and comparisons that were handed in.
"use strict";
(() => {
  const { text, box, canvas, html } = psflip;
  const WIDTH = 720, LEFT = 260;
  const graded = new Map(), times = new Map(); // by the file's name

  function rows(list, words, empty) {
    if (list.length === 0) return html("p", {}, empty);
    const most = Math.max(...list.map(([, value]) => value), Number.MIN_VALUE);
    const marks = list.flatMap(([name, value, said], i) => [
      text(0, i * 20 + 13, name.length > 42 ? `${name.slice(0, 41)}…` : name), box(LEFT, i * 20 + 2, Math.max(1, value / most * (WIDTH - LEFT - 90)), 14, "c0"),
      text(LEFT + value / most * (WIDTH - LEFT - 90) + 6, i * 20 + 13, said),
    ]);
    return canvas(WIDTH, list.length * 20 + 4, words, marks);
  }

  const open = (test) => test.output?.startsWith("not judged here");
  function show() {
    const points = [...graded].map(([name, { score, tests }]) => {
      const most = tests.reduce((sum, test) => sum + test.max_score, 0);
      return [name, score, `${score} of ${Number(most.toFixed(3))}`];
    }).sort((a, b) => b[1] - a[1]);
    const parts = new Map();
    for (const { tests } of graded.values())
      for (const test of tests)
        if (!open(test)) {
          const [failed, all] = parts.get(test.name) ?? [0, 0];
          parts.set(test.name, [failed + (test.status === "failed"), all + 1]);
        }
    const failures = [...parts].map(([name, [failed, all]]) => [name, failed, `${failed} of ${all}`]).sort((a, b) => b[1] - a[1]);
    const speeds = [
      ...[...graded].flatMap(([name, { leaderboard = [] }]) => leaderboard.map((entry) => [`${name}, ${entry.name}`, entry.value, entry.value.toPrecision(3)])),
      ...[...times].flatMap(([name, result]) => result.rows.filter((row) => !row.wrong && row.platform !== "reference" && (row.ps_per_site ?? row.ps_per_flip)).map((row) => {
        const value = row.ps_per_site ?? row.ps_per_flip;
        return [`${name}, ${row.stage} ${row.storage ?? row.indexing ?? ""}`, value, `${value.toPrecision(4)} ps`];
      })),
    ].sort((a, b) => a[1] - b[1]);
    document.querySelector("#class-points").replaceChildren(rows(points, "points of each", "No grades yet."));
    document.querySelector("#class-parts").replaceChildren(rows(failures, "how often each part fails", "No grades yet."));
    document.querySelector("#class-times").replaceChildren(rows(speeds, "times of each", "No times yet."));
  }

  document.addEventListener("DOMContentLoaded", () => {
    const place = document.querySelector("#of-class"), said = place.querySelector(".said");
    psflip.files(place, async (files) => {
      const wrong = [];
      for (const file of files) {
        if (!file.name.endsWith(".json")) continue;
        const name = file.name.replace(/\.json$/, "");
        try {
          const result = JSON.parse(await file.text());
          if (Array.isArray(result.tests) && Number.isFinite(result.score)) graded.set(name, result);
          else if (/^psFlip [23]D comparison/.test(result.format) && Array.isArray(result.rows)) times.set(name, result);
          else wrong.push(`${file.name}: neither a grade nor a comparison`);
        } catch {
          wrong.push(`${file.name}: not JSON`);
        }
      }
      const words = [`${graded.size} graded, ${times.size} with times`, ...wrong];
      said.replaceChildren(...words.map((w) => html("span", {}, w, html("br"))));
      show();
    });
    show();
  });
})();
