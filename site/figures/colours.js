// The two colours against all sites at once.
"use strict";
psflip.figures.colours = (figure) => {
  const { html, paint } = psflip;
  const SIZE = 12;
  const canvas = html("canvas", { role: "img", "aria-label": "a layer of the lattice" });
  let model, time, changed, back;

  figure.choice("how", "update", ["all at once", "red, then blue"]);
  figure.choice("couplings", "couplings", ["all +1", "half +1, half −1"]);
  figure.slider("temperature", "T", 0.1, 6, 0.5, 0.1, (t) => t.toFixed(1));
  figure.button("step", "One sweep", () => (advance(), show()));
  const stop = figure.player(300, () => (advance(), show()));
  figure.button("again", "From the start", () => begin());
  let before = null, earlier = null;
  function begin() {
    stop();
    time = changed = back = 0;
    before = earlier = null;
    const ferromagnetic = figure.values.couplings === "all +1" ? 1 : 0.5;
    model = new psflip.SpinGlass({ size: SIZE, temperature: figure.values.temperature, ferromagnetic });
    show();
  }
  function advance() {
    earlier = before;
    before = model.spins[0].slice();
    if (figure.values.how === "all at once") model.advanceAllAtOnce();
    else model.advance();
    ++time;
    const now = model.spins[0];
    changed = now.reduce((sum, spin, i) => sum + (spin !== before[i]), 0);
    back = earlier ? now.reduce((sum, spin, i) => sum + (spin !== before[i] && spin === earlier[i]), 0) : 0;
  }
  function show() {
    paint(canvas, model.spins[0], SIZE);
    figure.tell({
      sweeps: time, "energy per site": model.energy().toFixed(3), "spins that changed": changed,
      "of them changed back": back, "of": SIZE ** 3,
    });
  }
  figure.draw(canvas);
  figure.start(begin);
};
