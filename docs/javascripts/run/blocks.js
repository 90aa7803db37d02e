// The blocks of a page of the course: each runs in place, after those before it, and can be changed.

/** The program of a session: without prompts and results. */
function programOf(code) {
  const lines = code.textContent.replace(/\n$/, "").split("\n");
  if (!lines[0].startsWith(">>> ")) return lines.join("\n");
  const typed = lines.filter((line) => /^(>>>|\.\.\.)( |$)/.test(line) || line === "");
  return typed.map((line) => line.slice(4)).join("\n").trim();
}

function block(element, i, blocks) {
  const original = programOf(element.querySelector("code"));
  const name = `${document.title}#${i + 1}`;
  const own = { ran: false, run };
  const code = editor(original, `Block ${i + 1}`, () => go());
  const status = h("span", { class: "run-status", role: "status" });
  const result = h("div", { class: "run-result" });
  const stop = button("Stop", () => interpreter.stop(), { hidden: true });
  const edit = button("Edit", () => change(), { "aria-expanded": "false" });
  const reset = button("Undo changes", () => undo(), { hidden: true });
  const runs = button("Run", () => go(), { class: "run-button run-main", "aria-label": `Run block ${i + 1}` });
  const tools = h("div", { class: "run-tools", role: "group", "aria-label": `Block ${i + 1}` }, runs, edit, reset, stop, status);
  code.area.hidden = true;
  code.area.addEventListener("input", keep);
  element.after(h("div", { class: "run" }, code.area, tools, result));

  function show(edited) {
    code.area.hidden = !edited;
    element.hidden = edited;
    edit.hidden = edited;
    reset.hidden = !edited;
    edit.setAttribute("aria-expanded", String(edited));
    code.fit();
  }

  function change() {
    show(true);
    code.area.focus();
  }

  function undo() {
    code.area.value = original;
    keep();
    show(false);
    edit.focus();
  }

  function keep() {
    kept.write(name, code.area.value === original ? null : { original, text: code.area.value });
  }

  async function run() {
    const found = JSON.parse(await interpreter.call("branded.learn.explorer.blocks", "run", code.area.value, i + 1));
    own.ran = true;
    const { parts, failure } = found;
    const shown = parts.map((part) => (part.picture ? picture(part.picture) : output(part.text)));
    result.replaceChildren(...shown, ...(failure ? [failureOf(failure)] : []));
    status.textContent = failure ? "Ended by an error." : result.children.length ? "Done." : "Done: nothing is printed.";
  }

  /** This block, and before it those that have not run. */
  function go() {
    alone(status, stop, async () => {
      for (const [k, other] of blocks.slice(0, i).entries()) {
        if (other.ran) continue;
        await interpreter.start();
        said = (text) => (status.textContent = text === "Running …" ? `Running block ${k + 1}, which is before this one …` : text);
        await other.run();
      }
      said = (text) => (status.textContent = text);
      await run();
    }).then(() => {
      // Python that was ended has forgotten all
      if (interpreter.worker === null) for (const each of blocks) each.ran = false;
    });
  }

  const before = kept.read(name);
  if (before?.original === original) {
    code.area.value = before.text;
    show(true);
  }
  return own;
}

function course() {
  const found = document.querySelectorAll(".md-content .language-pycon.highlight, .md-content .language-python.highlight");
  const blocks = [];
  for (const [i, element] of [...found].entries()) blocks.push(block(element, i, blocks));
  // not before the first block: there it would part a sentence from its code
  if (found.length) document.querySelector(".md-content .reading, .md-content h1").after(
    h(
      "p",
      { class: "run-note" },
      "The blocks of this page run in it: ",
      h("strong", null, "Run"),
      " starts Python in the browser, which takes up to half a minute, and first runs the blocks before it. Change a block with ",
      h("strong", null, "Edit"),
      "; Ctrl+Enter runs it.",
      document.querySelector(".md-content .language-py.highlight") && " Programs for mypy do not run here.",
    ),
  );
}
