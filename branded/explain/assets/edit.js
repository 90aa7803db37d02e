// Edit: the reader's program, run by the real package in the page.

const NOTE =
  "This runs branded itself in your browser, on tinygrad's Python device: no axis may be larger than 16. " +
  "Starting Python takes up to half a minute. mypy does not run here, so there are no types from it.";
const progress = (text) => (find("progress").textContent = text);
const interpreter = edit && new Python(edit, progress);

function showMistake(text) {
  find("mistake").textContent = text;
  find("mistake").hidden = text === "";
}

let stopClock = () => {};

function finish(text) {
  stopClock();
  find("run").disabled = false;
  find("stop").disabled = true;
  progress(text);
}

function broken(error) {
  finish("");
  showMistake(`Python does not run in this browser: ${error.message}`);
}

async function runProgram() {
  showMistake("");
  find("run").disabled = true;
  stopClock = clock(find("progress"));
  find("stop").disabled = false;
  const names = current().choices.map((choice) => choice.explanation.name);
  try {
    const found = JSON.parse(await interpreter.call("branded.learn.explorer.browser", "run", find("program").value, names));
    const failure = found[0].failure;
    finish(failure ? "" : "Done.");
    if (failure) showMistake(wholeMessage(found[0]));
    showOwn(found);
  } catch (error) {
    if (error instanceof Stopped) finish("Stopped.");
    else broken(error);
  }
}

/** The reader's program is the last entry of the menu. */
function showOwn(found) {
  const before = current();
  const same = found.length > 1 && before.choices.every((choice, i) => choice.explanation.name === found[i].name);
  const own = {
    name: "yours",
    title: "Your program",
    group: "Yours",
    program: find("program").value,
    question: same ? before.question : null,
    first: same ? state.choice : 0,
    choices: found.map((each, i) => ({ label: same ? before.choices[i].label : each.name, explanation: each })),
  };
  const at = entries.findIndex((entry) => entry.name === "yours");
  if (at < 0) entries.push(own);
  else entries[at] = own;
  state.answers.clear();
  fillMenu();
  open(entries.indexOf(own));
}

function toggleEditor() {
  const opened = find("editor").hidden;
  find("editor").hidden = !opened;
  find("edit").setAttribute("aria-expanded", String(opened));
  if (!opened) return;
  find("program").focus();
  interpreter.start().catch(broken);
}

/** The text follows the menu, but not over what the reader wrote. */
function fillEditor() {
  if (current().name === "yours") return;
  find("program").value = current().program ?? "";
  find("program").setSelectionRange(0, 0);
}

if (edit) {
  find("edit").hidden = false;
  find("editor-note").textContent = NOTE;
  find("edit").addEventListener("click", toggleEditor);
  find("run").addEventListener("click", runProgram);
  find("stop").addEventListener("click", () => interpreter.stop());
  find("example").addEventListener("change", fillEditor);
  find("program").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !find("run").disabled) runProgram();
  });
  fillEditor();
}
