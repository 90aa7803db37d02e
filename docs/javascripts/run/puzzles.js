// The puzzles in their page: an editor, hints one by one, and what was expected beside what was got.

const SIGN = { solved: "✓ solved", "not yet": "not yet", untouched: "" };

/** The elements from a heading to the next one. */
function below(heading) {
  const found = [];
  for (let next = heading.nextElementSibling; next && !/^H[123]$/.test(next.tagName); next = next.nextElementSibling) found.push(next);
  return found;
}

/** Two results beside each other; cells that are not the same are marked. */
function compared({ given, wanted, got }) {
  const tables = wanted.tables.length > 0 && got.tables.length > 0;
  return h(
    "div",
    { class: "run-compared" },
    output(given.map((line, i) => `${i ? "     " : "with "}${line}`).join("\n")),
    side("expected", wanted, tables ? got : null, ""),
    side("got", got, tables ? wanted : null, "differs"),
  );
}

function side(title, { tables, text, code }, other, mark) {
  const shapes = tables.map(({ sizes }) => `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`).join(", ");
  const head = h("figcaption", null, h("strong", null, title), shapes && ` shape ${shapes}`);
  if (!tables.length) {
    const [, name, rest] = code ? text.match(/^(\w+)([^]*)$/) : [null, null, null];
    return h("figure", { class: "run-failure" }, head, name ? h("p", null, errorName(name, code)) : null, output(name ? rest.replace(/^: /, "") : text));
  }
  return h("figure", null, head, tables.map((table) => drawnTable(title, table, other?.tables.find((each) => each.path === table.path), mark)));
}

function drawnTable(title, { path, sizes, cells }, other, mark) {
  const same = other && String(other.sizes) === String(sizes);
  const near = (a, b) => a === b || Math.abs(a - b) <= 1e-6 + 1e-5 * Math.abs(b);
  const made = cells.map((cell, i) => {
    const differs = mark && same && !near(cell, other.cells[i]);
    return h("td", differs ? { class: "run-differs" } : null, number(cell), differs && h("span", { class: "run-unseen" }, " differs"));
  });
  return h("div", null, path && h("code", null, path), grid(made, sizes, `${title} ${path}`.trim(), false));
}

class Puzzle {
  constructor(heading, { number: place, start, right }, changed) {
    const [hints] = below(heading).filter((element) => element.tagName === "DETAILS");
    Object.assign(this, { heading, place, start: start ?? "", changed, name: heading.firstChild.textContent.replace(/^\d+\. /, "puzzle: ") });
    this.right = right;
    this.hints = [...hints.querySelectorAll("li")];
    this.mark = h("span", { class: "run-mark" });
    this.status = h("span", { class: "run-status", role: "status" });
    this.result = h("div", { class: "run-result" });
    this.given = h("ol", { class: "run-hints" });
    this.stop = button("Stop", () => interpreter.stop(), { hidden: true });
    this.hint = button("Hint", () => this.giveHint());
    this.reset = button("Start again", () => this.again().focus(), { hidden: true });
    heading.append(this.mark);
    hints.hidden = true;
    hints.before(this.form(start !== undefined));
    this.recall();
  }

  form(isFunction) {
    const run = () => this.run();
    const label = `Your answer to puzzle ${this.place}`;
    if (isFunction) Object.assign(this, editor(this.start, label, run));
    else this.area = h("input", { class: "run-code", type: "text", "aria-label": label, placeholder: "what the program does", spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
    if (!isFunction) this.area.addEventListener("keydown", (event) => event.key === "Enter" && run());
    this.area.addEventListener("input", () => this.keep({ text: this.area.value }));
    const runs = button(isFunction ? "Run" : "Check", run, { class: "run-button run-main", "aria-label": `${isFunction ? "Run" : "Check"} puzzle ${this.place}` });
    const tools = h("div", { class: "run-tools", role: "group", "aria-label": `Puzzle ${this.place}` }, runs, this.hint, this.reset, this.stop, this.status);
    return h("div", { class: "run" }, this.area, tools, this.given, this.result);
  }

  recall() {
    this.state = { text: this.start, solved: false, hints: 0, ...kept.read(this.name) };
    this.area.value = this.state.text;
    this.show();
  }

  keep(change) {
    Object.assign(this.state, change);
    const { text, solved, hints } = this.state;
    kept.write(this.name, text === this.start && !solved && !hints ? null : this.state);
    this.show();
  }

  show() {
    this.fit?.();
    this.mark.textContent = this.state.solved ? SIGN.solved : "";
    this.reset.hidden = this.state.text === this.start && !this.state.hints && !this.state.solved;
    this.given.replaceChildren(...this.hints.slice(0, this.state.hints).map((hint) => h("li", null, [...hint.cloneNode(true).childNodes])));
    const left = this.hints.length - this.state.hints;
    this.hint.textContent = this.state.hints ? `Next hint (${left} left)` : `Hint (${left})`;
    this.hint.setAttribute("aria-disabled", String(left === 0));
    this.changed();
  }

  giveHint() {
    if (this.state.hints < this.hints.length) this.keep({ hints: this.state.hints + 1 });
  }

  again() {
    this.area.value = this.start;
    this.result.replaceChildren();
    this.status.textContent = "";
    this.keep({ text: this.start, solved: false, hints: 0 });
    return this.area;
  }

  run() {
    return alone(this.status, this.stop, async () => {
      const words = ["branded.learn.explorer.puzzles", "judge", this.place, this.area.value, this.right];
      const { status, lines, difference, out, failure } = JSON.parse(await interpreter.call(...words));
      this.status.textContent = status === "untouched" ? "There is no answer yet." : SIGN[status];
      this.result.replaceChildren(
        ...[
          failure && failureOf(failure),
          difference && compared(difference),
          ...lines.map((line) => h("p", null, line)),
          out && output(out),
        ].filter(Boolean),
      );
      if (status === "solved") this.keep({ solved: true });
    });
  }
}

function puzzles(key) {
  const headings = [...document.querySelectorAll(".md-content h3")].filter((each) => /^\d+\. /.test(each.textContent));
  const count = h("span", { role: "status" });
  const anew = button("Forget all answers", () => all.forEach((puzzle) => puzzle.again()), { hidden: true });
  const all = [];
  const changed = () => {
    const solved = all.filter((puzzle) => puzzle.state.solved).length;
    count.textContent = `${solved} of ${key.length} solved here. Answers stay in this browser. `;
    anew.hidden = all.every((puzzle) => puzzle.reset.hidden);
  };
  for (const heading of headings) {
    const own = key.find((each) => each.number === parseInt(heading.textContent, 10));
    all.push(new Puzzle(heading, own, changed));
  }
  document.querySelector(".md-content h2").before(h("p", { class: "run-note" }, count, "The first answer that is judged starts Python, which takes up to half a minute. ", anew));
  changed();
}
