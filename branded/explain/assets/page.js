// The page: what is shown, and how the reader moves through it. Each view is drawn from the state alone.

const { entries, edit, why, site } = JSON.parse(find("data").textContent);
const state = { entry: 0, choice: 0, step: 0, predict: false, answers: new Map() };
let light = () => {}; // marks the nodes of a step in the graph that is drawn

const current = () => entries[state.entry];
const explanation = () => current().choices[state.choice].explanation;
const answerKey = (step) => `${state.entry}/${state.choice}/${step.number}`;

/** In predict mode a step's type and all types after it are unknown until the reader has answered. */
function hidden(step) {
  if (!state.predict) return false;
  const open = explanation().steps.find((each) => ASKED.includes(each.kind) && !state.answers.has(answerKey(each)));
  return open !== undefined && step.number >= open.number;
}

function go(step) {
  state.step = Math.max(0, Math.min(step, explanation().steps.length - 1));
  draw();
}

/** Show an entry from its first step; the views that do not depend on the step are drawn here. */
function open(entry, choice = entries[entry].first, step = 0) {
  Object.assign(state, { entry, choice, step });
  const shown = explanation();
  document.title = `${current().title} – branded`;
  find("title").textContent = current().title;
  find("doc").textContent = shown.doc ?? "";
  find("example").value = String(entry);
  find("slider").max = String(Math.max(1, shown.steps.length));
  light = drawGraph(find("graph"), shown, go);
  drawSwitch();
  drawKernels(find("kernels"), shown);
  draw();
}

function draw() {
  const shown = explanation();
  const step = shown.steps[state.step];
  find("live").textContent = "";
  show(shown, step);
  if (step === undefined) {
    find("count").textContent = "no steps";
    drawCode(find("code"), shown, { number: 0, line: null }, () => false, go);
    drawLevels(find("levels"), shown, { number: 0, primitives: [], batched: [] });
    return;
  }
  const quiz = state.predict && ASKED.includes(step.kind) ? { answer: state.answers.get(answerKey(step)), reply: (kind) => answer(step, kind) } : null;
  const asked = quiz !== null && quiz.answer === undefined;
  drawBar(step, asked);
  drawCode(find("code"), shown, step, hidden, go);
  drawStep(find("step"), shown, step, quiz);
  drawMemory(find("memory"), shown, step, asked);
  light(step);
  reachScrolled();
  // the programs and the loop would tell the answer
  for (const id of ["view-program", "view-graph", "view-switch", "view-kernels"]) find(id).hidden = state.predict && hidden(step);
  drawLevels(find("levels"), shown, step);
  remember();
}

/** Of a program that ends with an error there is its code and what is wrong: nothing of the one before it stays. */
function show(shown, step) {
  const failed = Boolean(shown.failure);
  for (const id of ["view-step", "view-memory"]) find(id).hidden = step === undefined;
  for (const id of ["bar", "loop", "view-program", "view-graph", "view-kernels"]) find(id).hidden = failed;
  find("view-switch").hidden = failed && current().choices.length < 2;
  find("view-mistake").hidden = !failed;
  if (failed) drawMistake(find("mistaken"), shown);
}

function drawBar(step, asked) {
  const count = explanation().steps.length;
  find("slider").value = String(state.step + 1);
  find("slider").setAttribute("aria-valuetext", `step ${step.number} of ${count}: ${label(step)}`);
  find("count").textContent = `step ${step.number} of ${count}`;
  // not `disabled`: a button that is disabled under the reader's finger loses the focus
  find("back").setAttribute("aria-disabled", String(state.step === 0));
  find("forward").setAttribute("aria-disabled", String(state.step === count - 1));
  const said = asked ? "What happens here: zip, broadcast, per example or none?" : `${step.kind}. ${step.results.map((result) => `${result.name}: ${result.type}`).join(", ")}`;
  find("live").textContent = `Step ${step.number} of ${count}${step.line ? `, line ${explanation().first_line + step.line - 1}` : ""}: ${label(step)}. ${said}`;
  const given = explanation().steps.filter((each) => state.answers.has(answerKey(each)));
  const right = given.filter((each) => state.answers.get(answerKey(each)) === each.kind);
  find("score").textContent = state.predict && given.length ? `${right.length} of ${given.length} right` : "";
}

function answer(step, kind) {
  state.answers.set(answerKey(step), kind);
  draw();
  find("forward").focus();
}

// ---- view 6: the same brand, or not ----

function drawSwitch() {
  const { choices, question } = current();
  const shown = explanation();
  const buttons = choices.map((choice, i) =>
    h(
      "label",
      { class: "check" },
      h("input", { type: "radio", name: "choice", value: i, checked: i === state.choice, onchange: () => switchTo(i) }),
      choice.label,
    ),
  );
  const asked = choices.length > 1 && h("fieldset", null, h("legend", null, question ?? "Which function?"), h("div", { class: "options" }, buttons));
  find("switch").replaceChildren(...(asked ? [asked] : []));
  const mistaken = choices.some((choice) => choice.explanation.failure);
  find("switch-title").textContent = mistaken ? "Mistake and fix" : asked && question ? "Same brand?" : "The same, as a loop";
  const result = shown.result === null ? "" : h("p", { class: "says" }, "result ", h("code", { id: "result" }, short(shown.result)));
  const loop = shown.loop
    ? h("pre", { class: "loop", tabindex: "0", "aria-label": "The whole function as a loop" }, python(shown.loop))
    : h("p", { class: "note" }, "There is no short loop for this one.");
  find("loop").replaceChildren(loop, result);
}

/** The other answer, at the step of the same kind of work: the switch is there to compare. */
function switchTo(choice) {
  const op = explanation().steps[state.step]?.op;
  const steps = current().choices[choice].explanation.steps;
  const same = steps.findIndex((step) => step.op === op && step.kind !== "enter" && step.kind !== "leave");
  open(state.entry, choice, Math.max(0, same < 0 ? Math.min(state.step, steps.length - 1) : same));
  find("switch").querySelector("input:checked").focus();
}

function short(value) {
  const text = JSON.stringify(value, (_, x) => (typeof x === "number" && !Number.isInteger(x) ? Number(x.toPrecision(4)) : x));
  return text.length > 400 ? `${text.slice(0, 400)} …` : text.replaceAll(",", ", ");
}

// ---- the address says which example and step ----

function remember() {
  if (entries.length < 2) return;
  try {
    history.replaceState(null, "", `#${current().name}/${state.choice}/${state.step + 1}`);
  } catch {
    // inside of another page there is no address to write
  }
}

function openFromAddress() {
  const [name, choice, step] = location.hash.slice(1).split("/");
  const entry = entries.findIndex((each) => each.name === name);
  const known = entry >= 0 && entries[entry].choices[Number(choice)];
  if (!known) return open(Math.max(0, entry));
  return open(entry, Number(choice), Math.max(0, Math.min(Number(step) || 1, known.explanation.steps.length) - 1));
}

// ---- the reader's hands ----

const KEYS = { ArrowLeft: () => state.step - 1, ArrowRight: () => state.step + 1, Home: () => 0, End: () => Infinity };

function onKey(event) {
  // a checkbox has no use for the arrows, so they step also after *predict*
  const own = event.target.closest("input:not([type=checkbox]), select, textarea, [role=grid]");
  // what is wider than its frame needs the arrows itself, to be read to its end
  const scrolls = event.target !== document.body && event.target.scrollWidth > event.target.clientWidth && event.target.tabIndex === 0;
  if (own || scrolls || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  go(KEYS[event.key]());
}

function fillMenu() {
  const groups = new Map();
  entries.forEach((entry, i) => groups.set(entry.group, [...(groups.get(entry.group) ?? []), h("option", { value: i }, entry.title)]));
  find("example").replaceChildren(...[...groups].map(([group, options]) => (group ? h("optgroup", { label: group }, options) : options)).flat());
  find("choose").hidden = entries.length < 2 && !edit;
}

/** The way back to the course, where this page lies beside it. */
function linkBack() {
  find("back-to").hidden = !site;
  if (!site) return;
  find("to-course").href = `${site}course/1-map-and-vmap.html`;
  find("to-gallery").href = `${site}gallery.html`;
  find("to-errors").href = `${site}errors.html`;
}

linkBack();
find("about").open = entries.length > 1;
fillMenu();
find("example").addEventListener("change", (event) => open(Number(event.target.value)));
find("slider").addEventListener("input", (event) => go(Number(event.target.value) - 1));
find("back").addEventListener("click", () => go(state.step - 1));
find("forward").addEventListener("click", () => go(state.step + 1));
find("predict").addEventListener("change", (event) => {
  state.predict = event.target.checked;
  state.answers.clear();
  draw();
});
document.addEventListener("keydown", onKey);
window.addEventListener("resize", reachScrolled);
window.addEventListener("hashchange", openFromAddress);
openFromAddress();
