// Small helpers that all views share.

const find = (id) => document.getElementById(id);

/** An element with its properties and children: h("p", {class: "note"}, "text", other). */
function h(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes ?? {}))
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** What is wider than its frame can be scrolled by keyboard; the focus passes over what fits. */
function reachScrolled() {
  for (const frame of document.querySelectorAll(".block.scroll")) {
    const within = frame.querySelector("[tabindex='0']");
    if (frame.scrollWidth > frame.clientWidth && !within) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  }
}

const UNITS = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];

function bytes(n) {
  const [unit, scale] = (n >= 10000 && UNITS.find(([, size]) => n >= size)) || ["bytes", 1];
  return `${Number((n / scale).toPrecision(4))} ${unit}`;
}

/** A cell in few characters. JSON has no infinities and no NaN: they come as text. */
function number(x) {
  if (typeof x !== "number") return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e6) return String(x);
  const short = String(Number(x.toPrecision(3)));
  return short.length > 7 ? x.toExponential(1) : short;
}

/** Seconds that run behind a text of progress; what this returns stops them, and the duration stays. */
function clock(place) {
  let shown = place.nextElementSibling;
  if (!shown?.classList.contains("clock")) place.after((shown = h("span", { class: "clock" })));
  const began = performance.now();
  const show = (digits, least) => {
    const seconds = (performance.now() - began) / 1000;
    shown.textContent = seconds < least ? "" : ` ${seconds.toFixed(digits)} s`;
  };
  show(0, 1);
  const ticks = setInterval(show, 1000, 0, 0);
  return () => {
    clearInterval(ticks);
    show(1, 1);
  };
}

const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

/** The places of a flat index in an array of these sizes, the last axis fastest. */
function unflat(index, sizes) {
  const places = new Array(sizes.length);
  for (let i = sizes.length - 1; i >= 0; i--) {
    places[i] = index % sizes[i];
    index = Math.floor(index / sizes[i]);
  }
  return places;
}

const flat = (places, sizes) => places.reduce((at, place, i) => at * sizes[i] + place, 0);
