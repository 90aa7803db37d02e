// View 1: the code, with the type of every line, at run time and as mypy has it.

function drawCode(root, explanation, step, hidden, go) {
  const byLine = new Map();
  for (const each of explanation.steps) {
    const list = byLine.get(each.line) ?? [];
    byLine.set(each.line, [...list, each]);
  }
  const lines = pythonLines(explanation.source).map((pieces, i) => {
    const now = step.line === i + 1;
    const wrong = explanation.failure?.line === i + 1;
    const steps = byLine.get(i + 1) ?? [];
    return h(
      "li",
      { class: wrong ? "wrong-line" : now ? "now" : null, "aria-current": now ? "step" : null },
      wrong && h("span", { class: "unseen" }, "here it goes wrong: "),
      h("span", { class: "at", "aria-hidden": "true" }, explanation.first_line + i),
      h("code", { class: "source" }, pieces.length ? pieces : " "),
      steps.length > 0 && typesOf(explanation, steps, step, hidden, go),
    );
  });
  const elsewhere = byLine.get(null) ?? [];
  root.replaceChildren(
    explanation.source ? h("ol", { class: "lines" }, lines) : "",
    elsewhere.length > 0 ? h("p", { class: "note" }, explanation.source ? "Steps outside these lines" : "The code is in no file; its steps are") : "",
    elsewhere.length > 0 ? typesOf(explanation, elsewhere, step, hidden, go) : "",
    ...(explanation.notes ?? []).map((note) => h("p", { class: "note" }, note)),
  );
}

function typesOf(explanation, steps, step, hidden, go) {
  const items = steps.map((each) => {
    const secret = hidden(each);
    const type = each.results.map((result) => [typeText(explanation, result.type), " "]);
    const mypy = each.static && !secret;
    return h(
      "li",
      { class: each.number === step.number ? "now" : null },
      h(
        "button",
        { type: "button", "data-step": each.number, onclick: () => go(each.number - 1), title: `Go to step ${each.number}` },
        h("code", null, h("span", { class: "of" }, label(each), ": "), secret ? "?" : type),
        mypy && h("code", { class: "said" }, h("span", { class: "tag" }, "mypy"), typeText(explanation, each.static)),
      ),
    );
  });
  return h("ul", { class: "types" }, items);
}

/** What the step works on: the expression, or for a vmap what enters or leaves. */
function label(step) {
  if (step.kind === "enter" || step.kind === "leave") {
    const brands = step.columns.filter((column) => column.how === step.kind).map((column) => column.brand);
    const names = (step.kind === "enter" ? step.operands : step.results).map((value) => value.name);
    return `${names.join(", ")} ${step.kind === "enter" ? "enters" : "leaves"} ${brands.join(", ")}`;
  }
  return step.code || step.op;
}
