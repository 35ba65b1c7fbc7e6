// A lattice that is updated live, by the port of stage 00.
"use strict";
psflip.figures.lattice = (figure, trace) => {
  const { html, paint } = psflip;
  const canvas = html("canvas", { role: "img", "aria-label": "the spins" });
  let model, time;

  figure.choice("model", "rule", ["2D majority", "3D spin glass, a layer"]);
  figure.slider("temperature", "T", 0.2, 4, 1.1, 0.1, (t) => t.toFixed(1));
  figure.button("step", "One step", () => (advance(), show()));
  figure.button("ten", "Ten steps", () => {
    for (let i = 0; i < 10; ++i) advance();
    show();
  });
  const stop = figure.player(150, () => (advance(), show()));
  figure.button("again", "From the start", () => begin());
  const plane = () => figure.values.model === "2D majority";
  function begin() {
    stop();
    time = 0;
    model = plane() ? new psflip.Majority(trace.majority.size)
      : new psflip.SpinGlass({ size: trace.spin_glass.size, temperature: figure.values.temperature });
    show();
  }
  function advance() {
    model.advance();
    ++time;
  }
  function show() {
    paint(canvas, model.spins.length === 1 ? model.spins[0] : model.spins, model.size);
    const known = plane() ? trace.majority : trace.spin_glass;
    const same = plane() || figure.values.temperature === known.temperature ? known.hashes[time] : undefined;
    const hash = model.hash();
    figure.tell({
      [plane() ? "steps" : "sweeps"]: time, "energy per site": model.energy().toFixed(3), hash,
      "stage 00": same === undefined ? "not recorded here" : same === hash ? "the same" : `differs: ${same}`,
    });
  }
  figure.draw(canvas);
  figure.start(begin);
};
