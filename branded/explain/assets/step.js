// Views 2 and 3: one step, its rows in columns, and why; and the question before the answer.

const SIGNS = { enter: "↓", leave: "↑", zip: "=", broadcast: "×", "per example": "→", none: "·" };
const MEANINGS = {
  enter: "an axis becomes a brand",
  leave: "a brand becomes an axis",
  zip: "all operands have the same brands: their examples are paired",
  broadcast: "an operand lacks a brand of another, and is repeated over it",
  "per example": "the only operand is batched; numbers do not count",
  none: "no operand is batched",
};
const ASKED = ["zip", "broadcast", "per example", "none"];

function drawStep(root, explanation, step, quiz) {
  const asked = quiz !== null && quiz.answer === undefined;
  const parts = [
    h("div", { class: "what" }, h("code", null, python(step.code || step.op)), h("span", { class: "note" }, step.op)),
    quiz && question(quiz, step),
    !asked && h("p", { class: "what" }, kindText(step)),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Brand rows" }, rows(explanation, step, asked)),
  ];
  if (!asked) {
    parts.push(
      step.why && h("p", { class: "why" }, step.why),
      h("dl", { class: "pair" }, resultTypes(explanation, step)),
      step.loop && h("h3", null, "This step as a loop"),
      step.loop && h("pre", { class: "loop", tabindex: "0", "aria-label": "This step as a loop" }, python(step.loop)),
    );
  }
  root.replaceChildren(...parts.filter(Boolean));
}

function kindText(step) {
  return [h("span", { class: "kind", "data-sign": SIGNS[step.kind] }, step.kind), h("span", { class: "note" }, MEANINGS[step.kind])];
}

function resultTypes(explanation, step) {
  const types = step.results.map((result) => [
    h("dt", null, "at run time"),
    h("dd", null, h("code", { class: "type" }, `${result.name}: `, typeText(explanation, result.type))),
  ]);
  const said = step.static && [h("dt", null, "mypy says"), h("dd", null, h("code", null, typeText(explanation, step.static)))];
  return [types, said].filter(Boolean);
}

/** The operands and the result under one another, one column for each brand: own, repeated (hatched), or not there. */
function rows(explanation, step, asked) {
  const brands = step.columns.map((column) => column.brand);
  const head = h(
    "tr",
    null,
    h("td", { style: "border:0" }),
    step.columns.map((column) => h("th", { scope: "col" }, brandLabel(explanation, column.brand))),
    h("th", { scope: "col" }, "one example"),
  );
  const line = (value, cells, out) =>
    h("tr", { class: out ? "out" : null }, h("th", { scope: "row" }, h("code", null, value.name)), cells, h("td", null, isNumber(value) ? value.type : `${value.dtype}[${value.shape.join(", ")}]`));
  const operands = step.operands.map((value, i) =>
    line(value, step.columns.map((column) => rowCell(explanation, isNumber(value) ? { ...column, how: "" } : column, column.operands[i], asked))),
  );
  const results = asked
    ? [h("tr", { class: "out" }, h("th", { scope: "row" }, h("code", null, step.results.map((r) => r.name).join(", "))), h("td", { colspan: brands.length + 1 }, "?"))]
    : step.results.map((value) => line(value, step.columns.map((column) => rowCell(explanation, { ...column, how: "" }, value.row.includes(column.brand))), true));
  return h("table", { class: "rows" }, h("thead", null, head), h("tbody", null, operands, results));
}

/** A number in the program is the same for all, and nobody minds: its type has no brackets. */
const isNumber = (value) => !value.type.includes("[");

function rowCell(explanation, column, own, asked) {
  if (own) return h("td", { class: `own ${brandClass(explanation, column.brand)}` }, brandLabel(explanation, column.brand, column.size));
  const repeated = column.how === "broadcast" && !asked;
  if (repeated) return h("td", { class: "hatched" }, h("span", null, `repeated ${column.size}×`));
  return h("td", null, h("span", { class: "note" }, column.how === "enter" && !asked ? `axis of ${column.size}` : "–"));
}

// ---- predict ----

function question(quiz, step) {
  if (quiz.answer !== undefined) {
    const right = quiz.answer === step.kind;
    return h(
      "p",
      { class: "quiz", role: "status" },
      h("span", { class: right ? "right" : "wrong" }, right ? "✓ Right: " : "✗ Not quite: "),
      right ? `${step.kind}.` : `you said ${quiz.answer}, it is ${step.kind}.`,
    );
  }
  return h(
    "fieldset",
    { class: "quiz" },
    h("legend", null, "What happens here?"),
    h("div", { class: "buttons" }, ASKED.map((kind) => h("button", { type: "button", "data-guess": kind, onclick: () => quiz.reply(kind) }, kind))),
  );
}
