// Numbers as tables.

/** Cells as tables: the last axis goes across, the one before it goes down, those before number the tables. */
function grid(cells, axes, label, focusable) {
  const across = axes.length ? axes[axes.length - 1] : 1;
  const down = axes.length > 1 ? axes[axes.length - 2] : 1;
  const outer = axes.slice(0, -2);
  const blocks = [];
  for (let b = 0; b < product(outer); b++) {
    const where = unflat(b, outer).join(", ");
    const lines = Array.from({ length: down }, (_, i) => {
      const start = (b * down + i) * across;
      return h("tr", focusable ? { role: "row" } : null, cells.slice(start, start + across));
    });
    const name = outer.length ? `${label}, [${where}]` : label;
    const table = h("table", { class: "cells", role: focusable ? "grid" : null, "aria-label": name }, h("tbody", focusable ? { role: "rowgroup" } : null, lines));
    blocks.push(h("div", { class: "block scroll" }, outer.length ? h("div", { class: "where", "aria-hidden": "true" }, `[${where}]`) : "", table));
  }
  return h("div", { class: "blocks" }, blocks);
}
