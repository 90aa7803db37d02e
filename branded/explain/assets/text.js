// Python and types as text with marks.

const WORDS = new Set(
  ("False None True and as assert break class continue def del elif else except finally for from global if import in is " +
    "lambda nonlocal not or pass raise return try while with yield").split(" "),
);
const TOKEN = /(#[^\n]*)|("""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(\d[\w.]*)|\b([A-Za-z_]\w*)|([^]+?)/gy;

/** Python as a list of [text, class or null]. */
function tokens(source) {
  const found = [];
  for (const [text, comment, string, digits, word] of source.matchAll(TOKEN)) {
    const kind = comment ? "t-comment" : string ? "t-string" : digits ? "t-number" : WORDS.has(word) ? "t-word" : null;
    const last = found[found.length - 1];
    if (last && last[1] === kind) last[0] += text;
    else found.push([text, kind]);
  }
  return found;
}

const marked = ([text, kind]) => (kind ? h("span", { class: kind }, text) : text);

const python = (source) => tokens(source).map(marked);

/** Python as one list of marked pieces for each line; a string of many lines is cut at their ends. */
function pythonLines(source) {
  const lines = [[]];
  for (const [text, kind] of tokens(source.replace(/\n+$/, ""))) {
    text.split("\n").forEach((part, i) => {
      if (i > 0) lines.push([]);
      if (part) lines[lines.length - 1].push(marked([part, kind]));
    });
  }
  return lines;
}

const brandNumber = (explanation, name) => explanation.brands.findIndex((brand) => brand.name === name);

/** The class that gives a brand its colour and its pattern, the same wherever it stands. */
function brandClass(explanation, name) {
  const at = brandNumber(explanation, name);
  return at < 0 ? "b7" : `b${at % 8}`;
}

const swatch = (explanation, name) => h("i", { class: `swatch ${brandClass(explanation, name)}`, "aria-hidden": "true" });

function brandLabel(explanation, name, size) {
  return h("span", { class: "brand" }, swatch(explanation, name), size === undefined || size === null ? name : `${name}:${size}`);
}

/** A type in which each brand is marked with its colour: Vec[x:3 | y:2, f32[]]. */
function typeText(explanation, text) {
  const at = text.indexOf("Vec[");
  if (at < 0) return [text];
  const row = /^([^,]*)(,[^]*)$/.exec(text.slice(at + 4)) ?? [null, text.slice(at + 4), ""];
  const pieces = row[1].split(/([\w.]+)/).map((piece) =>
    brandNumber(explanation, piece) < 0 ? piece : h("span", { class: `in-type ${brandClass(explanation, piece)}` }, piece),
  );
  return [text.slice(0, at + 4), pieces, ...(row[2].includes("Vec[") ? typeText(explanation, row[2]) : [row[2]])];
}
