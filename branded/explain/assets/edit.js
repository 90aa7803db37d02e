// Edit: the real package, run by Pyodide in a worker, so that the page stays alive and a program can be stopped.

const NOTE =
  "This runs branded itself in your browser, on tinygrad's Python device: no axis may be larger than 16. " +
  "Starting takes about 6 seconds. mypy does not run here, so there are no types from it.";
const editor = { worker: null, ready: false, assets: null, waiting: null };

const progress = (text) => (find("progress").textContent = text);

function showMistake(text) {
  find("mistake").textContent = text;
  find("mistake").hidden = text === "";
}

// A script may be loaded from a file where a fetch may not; so each asset is a script that calls this with its text.
const received = new Map();
window.brandedAsset = (name, text) => received.set(name, text);

function loadScript(name) {
  return new Promise((resolve, reject) => {
    const failed = () => reject(new Error(`${edit.folder}/${name}.js is not beside this page`));
    document.head.append(h("script", { src: `${edit.folder}/${name}.js`, onload: resolve, onerror: failed }));
  });
}

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function loadAssets() {
  const assets = {};
  for (const [i, name] of edit.assets.entries()) {
    progress(`Loading Python: file ${i + 1} of ${edit.assets.length} …`);
    await loadScript(name);
    assets[name] = await unpack(received.get(name));
    received.delete(name);
  }
  return assets;
}

async function startWorker() {
  if (editor.worker) return;
  editor.worker = "loading";
  try {
    editor.assets ??= await loadAssets();
    progress("Starting Python …");
    editor.worker = new Worker(URL.createObjectURL(new Blob([edit.worker], { type: "text/javascript" })));
    editor.worker.onmessage = ({ data }) => RECEIVE[data.kind](data);
    editor.worker.onerror = (event) => RECEIVE.broken({ text: event.message ?? "the worker could not start" });
    editor.worker.postMessage({ kind: "start", assets: editor.assets });
  } catch (error) {
    editor.worker = null;
    RECEIVE.broken({ text: error.message });
  }
}

const RECEIVE = {
  progress: ({ text }) => progress(text),
  ready: () => {
    editor.ready = true;
    progress("Python is ready.");
    if (editor.waiting) send();
  },
  explained: ({ text }) => {
    const found = JSON.parse(text);
    const failure = found[0].failure;
    finish(failure ? "" : "Done.");
    if (failure) showMistake(wholeMessage(found[0]));
    showOwn(found);
  },
  broken: ({ text }) => {
    finish("");
    showMistake(`Python does not run in this browser: ${text}`);
  },
};

function finish(text) {
  editor.waiting = null;
  find("run").disabled = false;
  find("stop").disabled = true;
  progress(text);
}

function runProgram() {
  showMistake("");
  editor.waiting = { source: find("program").value, names: current().choices.map((choice) => choice.explanation.name) };
  find("run").disabled = true;
  find("stop").disabled = false;
  if (editor.ready) send();
  else startWorker();
}

function send() {
  progress("Running …");
  editor.worker.postMessage({ kind: "run", ...editor.waiting });
}

/** A worker that computes hears nothing: it is ended, and the next run starts another one. */
function stopProgram() {
  if (editor.worker !== "loading") {
    editor.worker?.terminate();
    editor.worker = null;
    editor.ready = false;
  }
  finish("Stopped.");
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
  startWorker();
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
  find("stop").addEventListener("click", stopProgram);
  find("example").addEventListener("change", fillEditor);
  find("program").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !find("run").disabled) runProgram();
  });
  fillEditor();
}
