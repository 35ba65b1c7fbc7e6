// Lanes to sectors: the requests of a warp, as recorded.
"use strict";
psflip.figures.sectors = (figure, trace) => {
  const { svg, text, box, line, canvas } = psflip;
  const SECTOR = 32, width = 720;

  const names = Object.keys(trace);
  figure.choice("layout", "layout", names, figure.stage === "05" ? "sliced" : "standard");
  figure.slider("request", "request", 1, 16, 3);

  /** Sectors that lanes touch, in ascending order. */
  const touched = ({ offsets, bytes }) =>
    [...new Set(offsets.flatMap((o) => [Math.floor(o / SECTOR), Math.floor((o + bytes - 1) / SECTOR)]))].sort((a, b) => a - b);

  figure.start(() => {
    const layout = trace[figure.values.layout];
    figure.limit("request", layout.warp.length);
    const request = layout.warp[figure.values.request - 1];
    const { lanes, offsets, bytes } = request, sectors = touched(request);
    const lane = width / 32, gap = 6, wide = (width - gap * (sectors.length - 1)) / sectors.length;
    const unit = Math.min(wide, 200), shift = (width - sectors.length * unit - gap * (sectors.length - 1)) / 2;
    const left = (sector) => shift + sectors.indexOf(sector) * (unit + gap);
    const place = (offset) => left(Math.floor(offset / SECTOR)) + (offset % SECTOR + bytes / 2) / SECTOR * unit;
    const marks = [];
    for (let k = 0; k < 32; ++k) {
      const there = lanes.includes(k);
      marks.push(box(k * lane, 0, lane - 2, 20, there ? `c${k % 6}` : "faint"));
      marks.push(text(k * lane + lane / 2 - 1, 14, k, { "text-anchor": "middle", ...(there ? { class: "on" } : {}) }));
    }
    for (const sector of sectors) {
      marks.push(box(left(sector), 150, unit, 22, "faint"));
      if (sectors.length <= 16) marks.push(text(left(sector) + unit / 2, 188, sector * SECTOR, { "text-anchor": "middle" }));
    }
    lanes.forEach((k, i) => {
      const x = place(offsets[i]), size = Math.max(2, bytes / SECTOR * unit - 1);
      marks.push(box(x - size / 2, 150, size, 22, `c${k % 6}`), line(k * lane + lane / 2 - 1, 20, x, 150));
    });
    marks.push(text(0, 210, `line ${request.line}: ${request.source}`, { class: "source" }));
    figure.draw(canvas(width, 216, `a ${request.kind} of ${lanes.length} lanes, ${sectors.length} sectors`, marks));
    figure.tell({
      stage: layout.stage, kind: request.kind, "bytes per lane": bytes, "sectors of this request": sectors.length,
      "requests of the launch": layout.requests, "sectors of the launch": layout.sectors,
      "sectors per request": (layout.sectors / layout.requests).toFixed(2),
    });
  });
};
