// View 5: the cells of the operands and of the result. An output cell lights the input cells that it comes from.

const MOST_SHOWN = 512;

function drawMemory(root, explanation, step, asked) {
  const result = step.results[0];
  const says = h("p", { class: "says", "aria-live": "polite" });
  const operands = step.operands.map((value, i) => drawValue(explanation, value, asked ? null : aligned(step, value), `operand ${i + 1}`));
  const known = !asked && step.from !== null && result !== undefined && result.cells !== null;
  const output = result && !asked && drawValue(explanation, result, null, "result", known);
  const others = asked ? [] : step.results.slice(1).map((value, i) => drawValue(explanation, value, null, `result ${i + 2}`));
  const which = others.length ? result.name : "the result";
  const quiet = known ? `Point at a cell of ${which}, or go to it with the keyboard, to see where it comes from.` : "";
  says.textContent = quiet;

  const light = (cell) => {
    for (const lit of root.querySelectorAll(".lit")) lit.classList.remove("lit");
    if (cell === null) {
      says.textContent = quiet;
      return;
    }
    output.cells[cell].classList.add("lit");
    const from = step.from[cell] ?? [];
    for (const [operand, at] of from) operands[operand]?.cells?.[at]?.classList.add("lit");
    says.textContent = sentence(step, result, cell, from);
  };
  if (known) listen(output, light, result.sizes);

  root.replaceChildren(
    h("p", { class: "sum" }, sizes(step, asked)),
    step.warning && !asked ? h("p", { class: "warning" }, h("strong", null, "Grows: "), step.warning) : "",
    h("div", { class: "values" }, [...operands, ...(output ? [output] : []), ...others].map((value) => value.element)),
    says,
  );
}

function sizes(step, asked) {
  const read = step.operands.map((value) => value.bytes).reduce((a, b) => a + b, 0);
  if (asked) return `operands ${bytes(read)}`;
  const times = step.grew > 1 ? `, ${Number(step.grew.toPrecision(3))} times its largest operand` : "";
  return `operands ${bytes(read)}, result ${bytes(step.bytes)}${times}`;
}

/** The brands that a result has and this operand lacks: over these it is repeated, and its copies are drawn hatched.
 *  Not before the reader has said what happens: they are the answer. */
function aligned(step, value) {
  if (step.kind !== "broadcast" || isNumber(value)) return null;
  const brands = step.columns.map((column) => ({ name: column.brand, size: column.size, own: value.row.includes(column.brand) }));
  const drawn = product(brands.map((brand) => brand.size)) * product(value.shape);
  return drawn > MOST_SHOWN || brands.every((brand) => brand.own) ? null : brands;
}

/** Where each drawn cell of a repeated operand is in the operand, and whether it is a copy. */
function spread(value, brands) {
  const drawn = [...brands.map((brand) => brand.size), ...value.shape];
  return Array.from({ length: product(drawn) }, (_, i) => {
    const places = unflat(i, drawn);
    const row = value.row.map((name) => places[brands.findIndex((brand) => brand.name === name)]);
    const copy = brands.some((brand, at) => !brand.own && places[at] > 0);
    return { at: flat([...row, ...places.slice(brands.length)], value.sizes), copy };
  });
}

function drawValue(explanation, value, brands, role, focusable = false) {
  const axes = brands
    ? [...brands.map((brand) => ({ ...brand, brand: true })), ...value.shape.map((size) => ({ size, own: true }))]
    : [...value.row.map((name, i) => ({ name, brand: true, own: true, size: value.sizes[i] })), ...value.shape.map((size) => ({ size, own: true }))];
  const head = [
    h("h3", null, h("code", null, value.name), h("span", { class: "note" }, ` ${role}, ${isNumber(value) ? "a number" : bytes(value.bytes)}`)),
    h("p", { class: "axes" }, axes.map((axis, i) => axisLabel(explanation, axis, axes.length - 1 - i))),
  ];
  const count = product(axes.map((axis) => axis.size));
  if (value.cells === null || count > MOST_SHOWN || count === 0) {
    const text = count === 0 ? "no cells" : `${count} cells: too many to draw`;
    return { element: h("div", { class: "value" }, head, h("p", { class: "note" }, text)), cells: null };
  }
  const places = brands ? spread(value, brands) : value.cells.map((_, at) => ({ at, copy: false }));
  const cells = [];
  const label = `${role} ${value.name}`;
  const cell = ({ at, copy }) => {
    if (copy) return h("td", { class: "hatched", "aria-label": "a copy" }, number(value.cells[at]));
    const made = h("td", focusable ? { role: "gridcell", tabindex: at === 0 ? "0" : "-1", "data-cell": at } : { "data-cell": at }, number(value.cells[at]));
    cells[at] = made;
    return made;
  };
  const element = h("div", { class: "value" }, head, grid(places.map(cell), axes.map((axis) => axis.size), label, focusable));
  return { element, cells };
}

const WAYS = [["→", "across: "], ["↓", "down: "], ["[ ]", "table by table: "]];

/** A brand or an axis, with the way in which it runs on the page: the last one goes across, the one before it down. */
function axisLabel(explanation, axis, fromLast) {
  const [sign, said] = WAYS[Math.min(fromLast, 2)];
  const way = [h("span", { "aria-hidden": "true" }, sign), h("span", { class: "unseen" }, said)];
  if (!axis.brand) return h("span", null, way, `axis of ${axis.size}`);
  return h("span", null, way, brandLabel(explanation, axis.name, axis.size), axis.own ? "" : "repeated");
}

/** Pointing, touching and focusing light; the arrow keys move from cell to cell. */
function listen(output, light, axes) {
  const element = output.element;
  const cellOf = (event) => {
    const cell = event.target.closest("[data-cell]");
    return cell ? Number(cell.dataset.cell) : null;
  };
  const across = axes.length ? axes[axes.length - 1] : 1;
  element.addEventListener("mouseover", (event) => light(cellOf(event)));
  element.addEventListener("mouseleave", () => {
    const focused = element.contains(document.activeElement) ? document.activeElement.closest("[data-cell]") : null;
    light(focused ? Number(focused.dataset.cell) : null);
  });
  element.addEventListener("focusin", (event) => light(cellOf(event)));
  element.addEventListener("focusout", () => light(null));
  element.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (cell !== null) move(cell);
  });
  element.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key];
    const at = cellOf(event);
    if (by === undefined || at === null) return;
    event.preventDefault();
    event.stopPropagation();
    if (at + by >= 0 && at + by < output.cells.length) move(at + by);
  });
  const move = (cell) => {
    for (const each of output.cells) each.tabIndex = -1;
    output.cells[cell].tabIndex = 0;
    output.cells[cell].focus();
  };
}

const at = (value, cell) => `${value.name}[${unflat(cell, value.sizes).join(", ")}]`.replace("[]", "");

function sentence(step, result, cell, from) {
  const named = from.slice(0, 8).map(([operand, i]) => at(step.operands[operand], i));
  const more = from.length > 8 ? ` and ${from.length - 8} more` : "";
  const source = from.length ? `comes from ${named.join(", ")}${more}` : "comes from no operand";
  return `${at(result, cell)} = ${number(result.cells[cell])} ${source}`;
}
