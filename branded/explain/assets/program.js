// The typed program at its three levels, each line linked to its lines in the next, and the kernels.

const LEVELS = [
  ["operations", "the operations you wrote"],
  ["primitives", "tinygrad's primitives, for one example"],
  ["batched", "batched, after the brands are closed"],
];

function drawLevels(root, explanation, step) {
  const linked = { operations: [step.number - 1], primitives: step.primitives, batched: step.batched };
  const columns = LEVELS.map(([level, title]) =>
    h(
      "div",
      null,
      h("h3", null, title),
      h(
        "ol",
        { tabindex: "0", "aria-label": title },
        explanation.programs[level].map((text, i) => {
          const now = linked[level].includes(i);
          return h("li", { class: now ? "now" : null, "aria-current": now ? "step" : null }, typeText(explanation, text));
        }),
      ),
    ),
  );
  root.replaceChildren(h("div", { class: "levels" }, columns));
  for (const list of root.querySelectorAll("ol")) {
    const now = list.querySelector(".now");
    if (now) list.scrollTop = now.offsetTop - list.clientHeight / 3;
  }
}

function drawKernels(root, explanation) {
  const { kernels } = explanation;
  if (kernels.length === 0) {
    root.replaceChildren(h("p", { class: "note" }, "No kernel: nothing has to be computed."));
    return;
  }
  const items = kernels.map((kernel) =>
    h(
      "details",
      null,
      h("summary", null, h("code", null, kernel.name), `, reads ${bytes(kernel.reads)}, writes ${bytes(kernel.writes)}`),
      h("pre", { tabindex: "0", "aria-label": `The code of ${kernel.name}` }, kernel.code),
    ),
  );
  root.replaceChildren(h("p", { class: "note" }, kernels.length === 1 ? "All of it is one kernel." : `${kernels.length} kernels.`), ...items);
}
