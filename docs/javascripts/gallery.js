// The index of the gallery is a full list; with this it can be narrowed: by kind, by who finds a mistake, by what the
// program uses, and by a word.  What is chosen stands in the address, so that a list can be linked to.
(() => {
  "use strict";
  const FINDERS = { mypy: 5, pyright: 6, "run time": 7 };  // the column that says "error"
  const lines = [...document.querySelectorAll(".md-content table tbody tr")].filter((tr) => tr.cells.length > FINDERS["run time"]);
  const rows = lines.map((tr) => {
    const table = tr.closest(".md-typeset__scrollwrap, table");
    const cells = [...tr.cells].map((td) => td.textContent.trim());
    const found = Object.keys(FINDERS).filter((who) => cells[FINDERS[who]] === "error");
    if (found.length === 0 && cells[7].startsWith("wrong")) found.push("not detected");
    let heading = table;
    while (heading && heading.tagName !== "H2") heading = heading.previousElementSibling;
    const kind = heading ? heading.firstChild.textContent.trim() : "";
    return { tr, heading, kind, found, uses: cells[1].split(/\s+/), words: tr.textContent.toLowerCase() };
  });
  const heads = [...document.querySelectorAll(".md-content table thead th")].map((th) => th.textContent.trim());
  for (const { tr } of rows) [...tr.cells].forEach((td, i) => { td.dataset.column = heads[i]; });
  if (rows.length === 0) return;

  const form = document.createElement("form");
  form.className = "narrow";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "Mistakes");
  const field = (label, name, control) => {
    const box = document.createElement("label");
    control.name = name;
    box.append(label, control);
    form.append(box);
  };
  const choice = (values) => {
    const select = document.createElement("select");
    select.append(new Option("any", ""), ...values.map((x) => new Option(x, x)));
    return select;
  };
  const distinct = (values) => [...new Set(values)];
  field("Kind", "kind", choice(distinct(rows.map((x) => x.kind))));
  field("Found by", "found", choice([...Object.keys(FINDERS), "not detected"]));
  field("Uses", "uses", choice(distinct(rows.flatMap((x) => x.uses)).sort()));
  const word = document.createElement("input");
  word.type = "search";
  field("Word", "word", word);
  const clear = document.createElement("button");
  clear.type = "reset";
  clear.textContent = "Show all";
  const count = document.createElement("output");
  count.setAttribute("aria-live", "polite");
  form.append(clear, count);
  document.querySelector(".md-content h2").before(form);

  // a section is what stands from one heading to the next
  const section = (heading) => {
    const parts = [heading];
    for (let x = heading.nextElementSibling; x && x.tagName !== "H2"; x = x.nextElementSibling) parts.push(x);
    return parts;
  };

  const narrow = () => {
    const { kind, found, uses } = Object.fromEntries(["kind", "found", "uses"].map((x) => [x, form.elements[x].value]));
    const sought = word.value.trim().toLowerCase();
    for (const x of rows) {
      x.tr.hidden = !((kind === "" || x.kind === kind) && (found === "" || x.found.includes(found))
        && (uses === "" || x.uses.includes(uses)) && x.words.includes(sought));
    }
    for (const heading of distinct(rows.map((x) => x.heading))) {
      const isEmpty = rows.every((x) => x.heading !== heading || x.tr.hidden);
      for (const part of section(heading)) part.hidden = isEmpty;
    }
    count.textContent = `${rows.filter((x) => !x.tr.hidden).length} of ${rows.length} mistakes`;
    const chosen = [...new FormData(form)].filter(([, value]) => value !== "");
    try {
      const query = new URLSearchParams(chosen).toString();
      history.replaceState(null, "", `${location.pathname}${query && `?${query}`}${location.hash}`);
    } catch { /* a page from a file may have one address only */ }
  };
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (form.elements[name]) form.elements[name].value = value;
  }
  for (const select of form.querySelectorAll("select")) {
    if (select.selectedIndex < 0) select.value = "";  // the address names what there is not
  }
  form.addEventListener("input", narrow);
  form.addEventListener("reset", () => setTimeout(narrow));
  form.addEventListener("submit", (event) => event.preventDefault());
  narrow();
})();
