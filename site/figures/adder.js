// The adder: 32 samples of a site, decided by logic. As flips() in 07_amsc/update.cu.
"use strict";
psflip.figures.adder = (figure, trace) => {
  const { text, box, canvas, thresholds } = psflip;
  const SAMPLES = 32, cell = 17, left = 150;
  let model;

  const fullAdder = (a, b, c) => [a ^ b ^ c, (a & b) | (c & (a ^ b))];
  const everywhere = (answer) => (answer ? -1 : 0);
  function decide(e, draw, limits) {
    const [onesA, twosA] = fullAdder(e[0], e[1], e[2]), [onesB, twosB] = fullAdder(e[3], e[4], e[5]);
    const s0 = onesA ^ onesB, twosC = onesA & onesB;
    const [s1, s2] = fullAdder(twosA, twosB, twosC);
    const c4 = everywhere(draw < limits[2]), c8 = everywhere(draw < limits[1]), c12 = everywhere(draw < limits[0]);
    return { s0, s1, s2, c4, c8, c12, flip: c12 | ~s2 | (~s1 & (c8 | (c4 & ~s0))) };
  }
  /** Satisfied bonds of a site, a bit per sample. */
  function words(site) {
    const e = [0, 0, 0, 0, 0, 0];
    for (let sample = 0; sample < SAMPLES; ++sample)
      model.bonds(sample, site).forEach((term, d) => (e[d] |= (term > 0) << sample));
    return e;
  }
  /** A sweep in which every site is decided by the words. */
  function sweep() {
    const limits = thresholds(model.temperature);
    for (const colour of [0, 1])
      for (const site of model.sitesOf(colour)) {
        const { flip } = decide(words(site), model.draw(site), limits);
        for (let sample = 0; sample < SAMPLES; ++sample) if ((flip >>> sample) & 1) model.spins[sample][site] *= -1;
      }
    model.halfSweeps += 2;
  }

  figure.slider("temperature", "T", 0.5, 8, 2, 0.1, (t) => t.toFixed(1));
  figure.slider("site", "red site", 0, trace.size ** 3 / 2 - 1, 30);
  let swept = 0;
  figure.button("sweep", "A sweep of all sites", () => {
    sweep();
    ++swept;
    show();
  });
  figure.button("again", "From the start", () => (begin(), show()));

  function begin() {
    swept = 0;
    model = new psflip.SpinGlass({ size: trace.size, samples: SAMPLES, temperature: figure.values.temperature });
  }
  function show() {
    const limits = thresholds(figure.values.temperature), site = model.sitesOf(0)[figure.values.site];
    const draw = (16807 * model.streams[site]) % 0x7fffffff - 1; // the next one, still to come
    const e = words(site), found = decide(e, draw, limits);
    const rows = [
      ...["+x", "−x", "+y", "−y", "+z", "−z"].map((name, d) => [`bond ${name} satisfied`, e[d], "c0"]),
      ["sum, bit 2 (s2)", found.s2, "c2"], ["sum, bit 1 (s1)", found.s1, "c2"], ["sum, bit 0 (s0)", found.s0, "c2"],
      ["mask for dE = 4", found.c4, "c4"], ["mask for dE = 8", found.c8, "c4"], ["mask for dE = 12", found.c12, "c4"],
      ["flips", found.flip, "c1"],
    ];
    const marks = rows.flatMap(([name, word, kind], i) => {
      const y = i * (cell + 3) + (i > 5) * 8 + (i > 8) * 8 + (i > 11) * 8;
      const bits = Array.from({ length: SAMPLES }, (_, k) =>
        box(left + k * cell, y, cell - 2, cell - 1, (word >>> k) & 1 ? kind : "faint"));
      return [text(0, y + 12, name), ...bits];
    });
    figure.draw(canvas(left + SAMPLES * cell, rows.length * (cell + 3) + 26, "32 samples of a site", marks));
    const count = (word) => (word >>> 0).toString(2).replaceAll("0", "").length;
    const hash = model.hash(), known = trace.hashes[figure.values.temperature.toFixed(1)];
    figure.tell({
      draw, "thresholds for 4, 8, 12": limits.toReversed().join(", "), "samples that flip": count(found.flip), "flips": (found.flip >>> 0).toString(16).padStart(8, "0"),
      sweeps: swept, hash,
      "stage 07": swept !== 1 || !known ? "recorded after one sweep at T = " + Object.keys(trace.hashes).join(", ") : known === hash ? "the same" : `differs: ${known}`,
    });
  }
  figure.start((name) => {
    if (name !== "site") begin();
    show();
  });
};
