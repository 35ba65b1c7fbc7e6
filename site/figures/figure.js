// What all figures share: drawing, controls that take the keyboard, and the numbers under the picture.
"use strict";
globalThis.psflip ??= {};
(() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children.flat());
    return node;
  }
  const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(NAMESPACE, tag), attributes, children);
  const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const text = (x, y, words, attributes = {}) => svg("text", { x, y, ...attributes }, String(words));
  const box = (x, y, width, height, kind, attributes = {}) => svg("rect", { x, y, width, height, class: kind, ...attributes });
  const line = (x1, y1, x2, y2, kind = "line", attributes = {}) => svg("line", { x1, y1, x2, y2, class: kind, ...attributes });
  const canvas = (width, height, label, ...children) =>
    svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, ...(width > 500 ? { class: "wide" } : {}) }, ...children);

  class Figure {
    constructor(root) {
      this.root = root;
      this.stage = root.dataset.stage;
      this.controls = root.querySelector(".controls");
      this.picture = root.querySelector(".picture");
      this.values = {};
      this.inputs = {};
      this.update = () => {};
      root.querySelector("noscript")?.remove();
    }

    add(name, words, input, read, ...more) {
      this.controls.append(html("label", {}, words, input, ...more));
      input.name = name;
      this.inputs[name] = input;
      this.values[name] = read();
      input.addEventListener("input", () => {
        this.values[name] = read();
        this.update(name);
      });
    }
    choice(name, words, options, value = options[0]) {
      const list = html("select", {}, options.map((option) => html("option", {}, String(option))));
      list.value = value;
      this.add(name, words, list, () => list.value);
    }
    slider(name, words, min, max, value, step = 1, show = String) {
      const input = html("input", { type: "range", min, max, step, value });
      const said = html("output", {}, show(Number(input.value)));
      this.add(name, words, input, () => {
        said.textContent = show(Number(input.value));
        return Number(input.value);
      }, said);
    }
    check(name, words, value) {
      const input = html("input", { type: "checkbox" });
      input.checked = value;
      this.add(name, words, input, () => input.checked);
    }
    button(name, words, action) {
      const button = html("button", { type: "button", name }, words);
      button.addEventListener("click", action);
      this.controls.append(button);
      return button;
    }
    /** A button that lets `step` happen again and again, every so many milliseconds. Returns what stops it. */
    player(milliseconds, step) {
      let playing = null;
      const stop = () => {
        clearInterval(playing);
        playing = null;
        button.textContent = "Play";
      };
      const button = this.button("play", "Play", () => {
        if (playing) stop();
        else {
          playing = setInterval(step, milliseconds);
          button.textContent = "Pause";
        }
      });
      return stop;
    }
    /** Moves the end of a slider; its value stays within. */
    limit(name, max) {
      const input = this.inputs[name];
      if (Number(input.max) === max) return;
      input.max = max;
      this.values[name] = Number(input.value);
      input.nextSibling.textContent = input.value;
    }
    set(name, value) {
      this.inputs[name].value = value;
      this.inputs[name].dispatchEvent(new Event("input"));
    }
    draw(picture) {
      this.picture.replaceChildren(picture);
    }
    /** {what: number}, in the order in which they are shown. */
    tell(numbers) {
      const rows = Object.entries(numbers).map(([name, value]) =>
        html("div", {}, html("dt", {}, name), html("dd", { "data-name": name }, String(value))));
      this.root.querySelector(".numbers").replaceChildren(...rows);
    }
    start(update) {
      this.update = update;
      update();
    }
  }

  /** Files that are chosen or dropped at a place; they are read here and go nowhere. */
  function files(place, take) {
    for (const input of place.querySelectorAll("input[type=file]"))
      input.addEventListener("change", () => {
        take([...input.files]);
        input.value = ""; // so that the same file can be chosen again
      });
    for (const kind of ["dragover", "dragleave", "drop"])
      place.addEventListener(kind, (event) => {
        event.preventDefault();
        place.classList.toggle("over", kind === "dragover");
        if (kind === "drop") take([...event.dataTransfer.files]);
      });
  }

  Object.assign(psflip, { files, svg, html, text, box, line, canvas, Figure, figures: {} });

  document.addEventListener("DOMContentLoaded", () => {
    for (const root of document.querySelectorAll("figure[data-figure]")) {
      const name = root.dataset.figure;
      psflip.figures[name](new Figure(root), psflip.traces?.[name]);
      root.dataset.ready = "yes";
    }
  });
})();
