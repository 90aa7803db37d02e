// What the blocks of the course and the puzzles share: Python, what is kept, how a result is drawn.

const base = document.currentScript.dataset.base;
const interpreter = new Python({ ...PARTS, folder: `${base}/explorer/${PARTS.folder}` }, (text) => said(text));

/** Who is told how far Python is: the one that runs. */
let said = () => {};

/** What the reader wrote stays in the browser, where it lets a page keep something. */
const kept = {
  read(name) {
    try {
      return JSON.parse(localStorage.getItem(`branded:${name}`));
    } catch {
      return null;
    }
  },
  write(name, value) {
    try {
      if (value === null) localStorage.removeItem(`branded:${name}`);
      else localStorage.setItem(`branded:${name}`, JSON.stringify(value));
    } catch {
      // then it lasts as long as the page
    }
  },
};

/** A text area that is as high as what is in it. */
function editor(text, label, run) {
  const area = h("textarea", { class: "run-code", "aria-label": label, spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off" });
  const fit = () => (area.rows = Math.max(2, area.value.split("\n").length));
  area.value = text;
  area.addEventListener("input", fit);
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event.preventDefault();
    run();
  });
  fit();
  return { area, fit };
}

const button = (text, onclick, properties) => h("button", { type: "button", class: "run-button", onclick, ...properties }, text);

/** One run at a time on a page: who runs is told how far it is, all others wait. */
let busy = false;

async function alone(status, stop, work) {
  if (busy) {
    status.textContent = "Python is running something else on this page.";
    return;
  }
  busy = true;
  stop.hidden = false;
  said = (text) => (status.textContent = text);
  const stopClock = clock(status);
  try {
    await work();
  } catch (error) {
    if (error instanceof Stopped) status.textContent = "Stopped.";
    else status.textContent = `Python does not run here: ${error.message}`;
  } finally {
    stopClock();
    busy = false;
    stop.hidden = true;
    said = () => {};
  }
}

// ---- what came of it ----

const output = (text) => h("pre", { class: "run-text", tabindex: "0", "aria-label": "output" }, text.replace(/\n$/, ""));

/** The name of an error of ours leads to its page. */
function errorName(name, code) {
  return code ? h("a", { href: `${base}/errors.html#${code}` }, name) : name;
}

/** One of ours has a heading; another one is as Python tells it, which names the line. */
function failureOf({ error, code, line, text }) {
  const where = line ? `, line ${line}` : "";
  return h("div", { class: "run-failure" }, code && h("p", null, h("strong", null, errorName(error, code)), where), output(text));
}

/** A tensor as tables: the axes of its brands first. */
function picture({ type, brands, sizes, cells }) {
  const made = cells.map((cell) => h("td", null, number(cell)));
  const axes = brands.length ? `: ${[...brands, ...sizes.slice(brands.length)].join(" × ")}` : "";
  return h("figure", null, h("figcaption", null, h("code", null, type), axes), grid(made, sizes, type, false));
}
