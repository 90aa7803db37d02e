// View 1: the code, with the type of every line, at run time and as mypy has it; what it calls stands where it calls it.

function drawCode(root, explanation, step, hidden, go) {
  const view = { explanation, step, hidden, go, byPlace: byPlace(explanation), drawn: new Set() };
  const own = explanation.source ? listing(view, null, explanation) : "";
  const elsewhere = view.byPlace.get("elsewhere") ?? [];
  const apart = (explanation.called ?? []).map((_, i) => (view.drawn.has(i) ? "" : calledFunction(view, i)));
  root.replaceChildren(
    own,
    ...apart,
    elsewhere.length > 0 ? outside(view, elsewhere) : "",
    ...(explanation.notes ?? []).map((note) => h("p", { class: "note" }, note)),
  );
}

/** The steps that no line of the reader's does: many of them are folded. */
function outside(view, steps) {
  if (!view.explanation.source) return h("div", null, h("p", { class: "note" }, "The code is in no file; its steps are"), typesOf(view, steps));
  const open = steps.length <= 6 || steps.some((each) => each.number === view.step.number);
  const derived = [...new Set(steps.flatMap((each) => each.derived?.what ?? []))].join(", ");
  return h("details", { open }, h("summary", null, `${steps.length} steps without a line here${derived && `: ${derived}`}`), typesOf(view, steps));
}

const placeName = (called, line) => `${called ?? "own"}:${line}`;

/** The steps of each line. A vmap leaves where its expression ends: behind the steps of its body. */
function byPlace({ steps }) {
  const found = new Map();
  for (const step of steps) {
    const [called, line] = step.within ?? [null, step.kind === "leave" ? (step.until ?? step.line) : step.line];
    const name = line === null ? "elsewhere" : placeName(called, line);
    found.set(name, [...(found.get(name) ?? []), step]);
  }
  return found;
}

/** The lines of the function itself (null) or of one that it calls, with the steps of each. */
function listing(view, called, { source, first_line }) {
  const { explanation, step } = view;
  const [whose, at] = step.within ?? [null, step.line];
  const lines = pythonLines(source).map((pieces, i) => {
    const now = whose === called && at === i + 1;
    const wrong = called === null && explanation.failure?.line === i + 1;
    return h(
      "li",
      { class: wrong ? "wrong-line" : now ? "now" : null, "aria-current": now ? "step" : null },
      wrong && h("span", { class: "unseen" }, "here it goes wrong: "),
      h("span", { class: "at", "aria-hidden": "true" }, first_line + i),
      h("code", { class: "source" }, pieces.length ? pieces : " "),
      underLine(view, called, i + 1),
    );
  });
  return h("ol", { class: "lines" }, lines);
}

/** The steps of a line, and between them, in the order in which they are done, the functions that it calls. */
function underLine(view, called, line) {
  const { explanation, byPlace, drawn } = view;
  const steps = byPlace.get(placeName(called, line)) ?? [];
  const own = (explanation.called ?? []).flatMap((each, i) => (each.caller && each.caller[0] === called && each.caller[1] === line && !drawn.has(i) ? [i] : []));
  const parts = [];
  let from = 0;
  for (const i of own) {
    drawn.add(i);
    const begins = firstStep(explanation, i);
    const to = steps.findIndex((step) => step.number > begins);
    const before = steps.slice(from, to < 0 ? steps.length : to);
    from += before.length;
    parts.push(before.length > 0 && typesOf(view, before), calledFunction(view, i));
  }
  const rest = steps.slice(from);
  return [...parts, rest.length > 0 && typesOf(view, rest)];
}

/** The number of the first step of a function, or of what it calls. */
function firstStep({ steps, called }, i) {
  const inside = new Set([i]);
  for (let size = 0; size < inside.size; ) {
    size = inside.size;
    called.forEach((each, k) => each.caller && inside.has(each.caller[0]) && inside.add(k));
  }
  return steps.find((step) => step.within && inside.has(step.within[0]))?.number ?? Infinity;
}

function calledFunction(view, i) {
  const called = view.explanation.called[i];
  view.drawn.add(i);
  const head = h("p", { class: "note" }, called.name ? h("code", null, called.name) : "", ` of ${called.file}`);
  return h("div", { class: "called" }, head, listing(view, i, called));
}

/** Steps that differ in nothing but their values, and all that enters or leaves one brand, are one entry. */
function alike(steps) {
  const groups = new Map();
  for (const step of steps) {
    const moves = step.kind === "enter" || step.kind === "leave";
    const what = moves ? step.columns.map((column) => column.brand) : [step.op, label(step), step.static, ...step.results.map((result) => result.type)];
    const key = [step.kind, ...what].join("\n");
    const last = moves ? groups.get(key)?.at(-1) : null;
    const own = last && last.number !== step.number - 1 ? `${key}\n${step.number}` : key;
    groups.set(own, [...(groups.get(own) ?? []), step]);
  }
  return [...groups.values()];
}

function typesOf(view, steps) {
  return h("ul", { class: "types" }, alike(steps).map((group) => entryOf(view, group)));
}

function entryOf({ explanation, step, hidden, go }, group) {
  const [first, ...more] = group;
  const now = group.some((each) => each.number === step.number);
  const toStep = (each) => ({ type: "button", "data-step": each.number, onclick: () => go(each.number - 1), title: `Go to step ${each.number}` });
  const secret = hidden(first);
  const moves = first.kind === "enter" || first.kind === "leave";
  const results = (moves ? group : [first]).flatMap((each) => each.results);
  const types = [...new Set(results.map((result) => result.type))].map((type) => [typeText(explanation, type), " "]);
  const mypy = first.static && !secret;
  return h(
    "li",
    { class: now ? "now" : null },
    h(
      "button",
      toStep(first),
      h("code", null, h("span", { class: "of" }, moves ? movesLabel(group) : label(first), ": "), secret ? "?" : types),
      mypy && h("code", { class: "said" }, h("span", { class: "tag" }, "mypy"), typeText(explanation, first.static)),
    ),
    more.length > 0 &&
      h(
        "span",
        { class: "alike" },
        h("span", { class: "note" }, moves ? "steps " : `${group.length} times: steps `, String(first.number)),
        more.map((each) => h("button", { ...toStep(each), "aria-current": each.number === step.number ? "step" : null }, String(each.number))),
      ),
  );
}

function movesLabel(group) {
  const [{ kind, columns }] = group;
  const brands = columns.filter((column) => column.how === kind).map((column) => column.brand);
  const names = group.flatMap((step) => (kind === "enter" ? step.operands : step.results).map((value) => value.name));
  return `${names.join(", ")} ${kind}${names.length > 1 ? "" : "s"} ${brands.join(", ")}`;
}

/** What the step works on: the expression, or for a vmap what enters or leaves. */
const label = (step) => (step.kind === "enter" || step.kind === "leave" ? movesLabel([step]) : step.code || step.op);
