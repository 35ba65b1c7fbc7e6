// Tile and halo: what the threads of a block bring to shared memory and read there, with the barrier and without.
"use strict";
psflip.figures.tile = (figure, trace) => {
  const { svg, text, box, canvas } = psflip;
  const cell = 30;

  figure.choice("launch", "threads x b", Object.keys(trace), "4x1");
  figure.choice("order", "threads run", ["forward", "reversed"]);
  figure.check("barrier", "barrier", true);
  figure.slider("time", "turns taken", 0, 32, 16);

  figure.start(() => {
    const { launch, order, barrier } = figure.values;
    const { side, threads, loads, reads } = trace[launch];
    figure.limit("time", barrier ? 2 * threads : threads);
    const turns = figure.values.time;
    const turn = (thread) => (order === "forward" ? thread : threads - 1 - thread);
    // With the barrier all load, then all compute. Without it a thread does both in its turn.
    const loadedAt = new Map(loads.map(([thread, place]) => [place, turn(thread)]));
    const readAt = (thread) => turn(thread) + (barrier ? threads : 0);
    const now = barrier && turns > threads ? "computes" : "loads";
    const early = new Set();
    let done = 0, tooEarly = 0;
    for (const [thread, place] of reads) {
      const at = readAt(thread);
      if (at >= turns) continue;
      ++done;
      if (loadedAt.get(place) > at) {
        ++tooEarly;
        early.add(place);
      }
    }
    const running = turns > 0 ? turns - 1 : -1;
    const marks = [];
    for (let place = 0; place < side * side; ++place) {
      const x = place % side, y = Math.floor(place / side), at = loadedAt.get(place);
      const halo = x === 0 || y === 0 || x === side - 1 || y === side - 1;
      const there = at !== undefined && at < turns;
      const kind = early.has(place) ? "bad" : there ? (halo ? "c1" : "c0") : "faint";
      const loader = loads.find(([, p]) => p === place)?.[0];
      marks.push(svg("g", {}, box(x * cell, y * cell, cell - 2, cell - 2, kind),
        text(x * cell + cell / 2 - 1, y * cell + cell / 2 + 3, there || early.has(place) ? loader : "", { "text-anchor": "middle", class: "on" })));
      const touched = now === "loads" ? at === running : false;
      if (touched) marks.push(box(x * cell, y * cell, cell - 2, cell - 2, "frame"));
    }
    if (now === "computes")
      for (const [thread, place] of reads)
        if (readAt(thread) === running)
          marks.push(box(place % side * cell, Math.floor(place / side) * cell, cell - 2, cell - 2, "frame"));
    figure.draw(canvas(side * cell, side * cell, `a tile of ${side} x ${side} spins`, marks));
    const brought = loads.filter(([thread]) => turn(thread) < turns).length;
    figure.tell({
      "places loaded": brought, "of them halo": loads.filter(([thread, p]) => turn(thread) < turns &&
        (p % side === 0 || p % side === side - 1 || p < side || p >= side * (side - 1))).length,
      "reads done": done, "reads before the load": tooEarly, barrier: barrier ? (turns > threads ? "passed" : "closed") : "none",
    });
  });
};
