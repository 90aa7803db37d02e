// What went wrong, of a program that ends with an error: the line, the brands that are named, and what to write.

function drawMistake(root, explanation) {
  const { failure, brands } = explanation;
  const named = brands.map((brand) => h("li", null, brandLabel(explanation, brand.name, brand.size), brand.where && h("span", { class: "note" }, ` ${brand.where}`)));
  const facts = failure.facts
    .filter(([label]) => brandNumber(explanation, label) < 0)
    .map(([label, text]) => [h("dt", null, label), h("dd", null, h("code", null, typeText(explanation, text)))]);
  root.replaceChildren(
    h("p", { class: "what" }, h("strong", { class: "wrong" }, failure.what)),
    failure.more.length > 0 ? h("pre", { class: "told", tabindex: "0", "aria-label": "What Python says" }, failure.more.join("\n")) : "",
    failure.line ? h("p", null, h("strong", null, "The line: "), `${explanation.first_line + failure.line - 1} of ${explanation.file}`) : "",
    named.length > 0 ? h("p", null, h("strong", null, named.length > 1 ? "The brands:" : "The brand:")) : "",
    named.length > 0 ? h("ul", { class: "named" }, named) : "",
    facts.length > 0 ? h("dl", { class: "pair" }, facts) : "",
    failure.fix ? h("p", null, h("strong", null, "Write instead:")) : "",
    failure.fix ? h("pre", { class: "loop fix", tabindex: "0", "aria-label": "Write instead" }, failure.fix) : "",
    failure.code ? whyText(failure.code) : "",
  );
}

/** The page of the error's code: here, since the page asks nobody for anything, and where it stands beside it. */
function whyText(code) {
  const link = site && h("a", { href: `${site}errors.html#${code}` }, `errors.html#${code}`);
  const command = h("code", null, `python -m branded why ${code}`);
  const more = h("p", { class: "note" }, "Also by ", command, link ? [", and at ", link] : "", ".");
  if (!why?.[code]) return more;
  return h("details", { class: "why-more" }, h("summary", null, `Why: the error `, h("code", null, code)), h("pre", { tabindex: "0", "aria-label": `Of the error ${code}` }, why[code]), more);
}

/** The message as Python would print it, for who listens and for who copies it. */
function wholeMessage({ first_line, failure }) {
  const facts = [...failure.facts, ...(failure.fix ? [["try", failure.fix]] : [])];
  const width = Math.max(0, ...facts.map(([label]) => label.length)) + 1;
  const place = failure.line ? `line ${first_line + failure.line - 1}: ` : "";
  return [`${place}${failure.what}`, ...failure.more, ...facts.map(([label, text]) => `  ${`${label}:`.padEnd(width)} ${text}`)].join("\n");
}
