// Two streams of stage 08: the model of 08_mpi/tools/scaling_model.py.
"use strict";
psflip.figures.timeline = (figure, trace) => {
  const { text, box, line, canvas } = psflip;
  const sizes = Object.keys(trace.alone).map(Number).sort((a, b) => a - b), largest = sizes.at(-1);

  // As in class Model, in microseconds.
  const planeUs = (size) => size in trace.alone ? Math.max(0, (trace.alone[size] - trace.floor) / (size / 2))
    : planeUs(largest) * (size / largest) ** 2;
  const message = (size) => trace.bytes[size] || trace.bytes[largest] * (size / largest) ** 2;
  const updateUs = (size, ranks) => trace.floor + Math.ceil(size / (2 * ranks)) * planeUs(size);
  const linkUs = (size, link) => link[0] + message(size) * link[1];
  const exchangeUs = (size, link) => planeUs(size) + linkUs(size, link);
  const halfSweepUs = (size, ranks, link) => Math.max(updateUs(size, ranks), exchangeUs(size, link));
  const efficiency = (size, ranks, link) =>
    (trace.alone[size] || updateUs(size, 1)) / (ranks * halfSweepUs(size, ranks, link));

  const names = Object.keys(trace.links);
  figure.choice("link", "transport", [...names, "my own"], names[0]);
  figure.slider("gb", "GB/s (my own)", 0, 3, 1.7, 0.01, (e) => (10 ** e).toPrecision(3));
  figure.slider("latency", "latency, µs (my own)", 0, 100, 10);
  figure.slider("size", "L", 0, sizes.length - 1, sizes.length - 2, 1, (i) => sizes[i]);
  figure.slider("ranks", "ranks", 1, 16, 2);

  figure.start(() => {
    const size = sizes[figure.values.size], { ranks, link: name } = figure.values;
    const link = name === "my own" ? [figure.values.latency, 1e-3 / 10 ** figure.values.gb] : trace.links[name];
    const plane = planeUs(size), update = updateUs(size, ranks), exchange = exchangeUs(size, link);
    const half = halfSweepUs(size, ranks, link), width = 640, left = 110, unit = (width - left - 10) / half;
    const bar = (row, from, to, kind, words) => [
      box(left + from * unit, row * 42 + 8, Math.max(1, (to - from) * unit), 26, kind),
      ...((to - from) * unit > 7 * words.length ? [text(left + (from + to) / 2 * unit, row * 42 + 25, words, { "text-anchor": "middle", class: "on" })] : []),
    ];
    const marks = [
      text(0, 25, "stream: bulk"), ...bar(0, 0, update, "c0", `${Math.ceil(size / (2 * ranks))} planes`),
      text(0, 67, "stream: border"), ...bar(1, 0, plane, "c2", "a plane"), ...bar(1, plane, exchange, "c1", "exchange"),
      line(left, 92, width - 10, 92), line(left + half * unit, 4, left + half * unit, 92), text(left, 108, "0"),
      text(left + half * unit, 108, `${half.toPrecision(4)} µs`, { "text-anchor": "end" }),
    ];
    // The efficiency over the ranks.
    const top = 130, high = 110;
    marks.push(text(0, top + 12, "efficiency"), line(left, top + high, width - 10, top + high), line(left, top, width - 10, top, "line", { "stroke-dasharray": "4 4" }));
    for (let n = 1; n <= 16; ++n) {
      const value = efficiency(size, n, link), x = left + (n - 1) / 16 * (width - left - 10);
      marks.push(box(x, top + high - value * high, 26, value * high, n === ranks ? "c1" : "c0 dim"),
        text(x + 13, top + high + 14, n, { "text-anchor": "middle" }));
    }
    figure.draw(canvas(width, top + high + 24, `half a sweep of L = ${size} on ${ranks} ranks`, marks));
    figure.tell({
      L: size, "update, µs": update.toPrecision(6), "exchange, µs": exchange.toPrecision(6), "half a sweep, µs": half.toPrecision(6),
      efficiency: efficiency(size, ranks, link).toPrecision(6), "what decides": update >= exchange ? "the update" : "the exchange",
    });
  });
};
