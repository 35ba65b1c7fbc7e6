// Which thread updates which spin: the stores of stages 01, 02 and 03.
"use strict";
psflip.figures.threads = (figure, trace) => {
  const { svg, text, box, canvas } = psflip;
  const cell = 22;

  figure.choice("stage", "stage", Object.keys(trace.launches), figure.stage);
  figure.choice("width", "threads along a side", [2, 4, 8], 4);
  figure.slider("b", "b", 1, 4, figure.stage === "01" ? 1 : 2);
  figure.slider("block", "block", 0, 15, 0);
  figure.slider("thread", "thread", 0, 15, 5);

  figure.start(() => {
    const { stage, width } = figure.values;
    figure.limit("b", stage === "01" ? 1 : 4);
    const b = figure.values.b;
    const launch = trace.launches[stage][`${width}x${b}`];
    const inBlock = width * width, blocks = launch.grid * launch.grid;
    figure.limit("block", blocks - 1);
    figure.limit("thread", inBlock - 1);
    const chosen = figure.values.block * inBlock + figure.values.thread;
    const own = launch.owner.flatMap((owner, spin) => (owner === chosen ? [spin] : []));

    const n = trace.size;
    const marks = launch.owner.map((owner, spin) => {
      const block = Math.floor(owner / inBlock), x = spin % n, y = Math.floor(spin / n);
      const colour = (block % launch.grid + 2 * Math.floor(block / launch.grid)) % 6;
      const kind = `c${colour}${block === figure.values.block ? "" : " dim"}`;
      return svg("g", {}, box(x * cell, y * cell, cell - 2, cell - 2, kind),
        text(x * cell + cell / 2 - 1, y * cell + cell / 2 + 3, owner % inBlock,
          { "text-anchor": "middle", ...(block === figure.values.block ? { class: "on" } : {}) }));
    });
    const frames = own.map((spin) => box(spin % n * cell, Math.floor(spin / n) * cell, cell - 2, cell - 2, "frame"));
    figure.draw(canvas(n * cell, n * cell, `stage ${stage}, ${width} x ${width} threads, b = ${b}`, marks, frames));
    const busy = new Set(launch.owner).size;
    figure.tell({
      blocks, threads: blocks * inBlock, "without a spin": blocks * inBlock - busy, "spins of this thread": own.length,
      "load requests": launch.load_requests, "load sectors": launch.load_sectors,
      "store requests": launch.store_requests, "store sectors": launch.store_sectors,
    });
  });
};
