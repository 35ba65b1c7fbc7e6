// Every table with a column of numbers can be sorted: its headings become buttons.
"use strict";
(() => {
  const number = (cell) => {
    const found = cell.textContent.replaceAll(",", "").replace("−", "-").match(/-?\d+(\.\d+)?/);
    return found ? Number(found[0]) : null;
  };

  function sort(table, column, button) {
    const heading = button.parentElement;
    const falling = heading.getAttribute("aria-sort") === "ascending";
    const numeric = heading.classList.contains("text-right");
    const key = (row) => (numeric ? number(row.cells[column]) : row.cells[column].textContent);
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (a === b) return 0;
      if (a === null || a === "") return 1; // what is not there comes last
      if (b === null || b === "") return -1;
      return (numeric ? a - b : a.localeCompare(b)) * (falling ? -1 : 1);
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const table of document.querySelectorAll("article table")) {
      const head = table.tHead?.rows[0];
      if (!head || !head.querySelector(".text-right") || !table.tBodies[0]) continue;
      [...head.cells].forEach((heading, column) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "sort";
        button.append(...heading.childNodes);
        heading.append(button);
        button.addEventListener("click", () => sort(table, column, button));
      });
    }
  });
})();
