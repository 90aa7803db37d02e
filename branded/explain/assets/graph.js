// View 4: the graph, laid out in layers by dagre. What a line does is a group; folded, it is one node.

const MOST_NODES = 400; // that are laid out at once
const FOLDED_FROM = 24;
const LABEL = 34;

function drawGraph(root, explanation, go) {
  const { nodes } = explanation.graph;
  if (nodes.length === 0) {
    root.replaceChildren(h("p", { class: "note" }, "No graph: nothing is left to compute."));
    return () => {};
  }
  const { groups, of } = groupsOf(explanation);
  const foldable = groups.length > 1 ? groups.filter((group) => group.nodes.length > 1) : [];
  const view = { explanation, go, of, foldable, folded: new Set(nodes.length > FOLDED_FROM ? foldable : []), scale: 1, step: null };
  view.frame = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "The graph, which scrolls" });
  view.map = h("div", { class: "map", "aria-hidden": "true" });
  view.redraw = (focus) => {
    layOut(view);
    fit(view, 0.6);
    markStep(view);
    if (focus !== undefined) view.frame.querySelector(`[data-group="${focus}"]`)?.focus({ preventScroll: true });
  };
  const all = (fold) => () => {
    view.folded = new Set(fold ? foldable : []);
    view.redraw();
  };
  const button = (text, name, act, off = false) => h("button", { type: "button", title: name, "aria-label": name, onclick: act, disabled: off }, text);
  view.percent = h("output", { class: "note", "aria-live": "polite" });
  const tools = [
    button("−", "Smaller", () => zoom(view, 1 / 1.25)),
    button("+", "Larger", () => zoom(view, 1.25)),
    button("Fit", "The whole graph", () => fit(view, 0)),
    view.percent,
    foldable.length > 0 && button("Fold", "One node for each line", all(true)),
    foldable.length > 0 && button("Unfold", "Every operation", all(false), nodes.length > MOST_NODES),
  ];
  root.replaceChildren(h("div", { class: "tools", role: "group", "aria-label": "The graph's size" }, tools), h("div", { class: "graph" }, view.frame, view.map));
  view.frame.addEventListener("scroll", () => drawMap(view));
  view.frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(view, event.deltaY < 0 ? 1.1 : 1 / 1.1);
  });
  steerByMap(view);
  view.redraw();
  return (step) => {
    view.step = step;
    markStep(view);
  };
}

// ---- the layout ----

const nodeName = (id) => `n${id}`;
const groupName = (group) => `g${group.id}`;

/** The box that stands for a node: its own, or that of its folded group. */
function boxOf({ of, folded }, id) {
  const group = of.get(id);
  return group && folded.has(group) ? groupName(group) : nodeName(id);
}

function layOut(view) {
  const { explanation, folded } = view;
  const { nodes, edges } = explanation.graph;
  const layout = new dagre.graphlib.Graph({ compound: true });
  const open = view.foldable.some((group) => !folded.has(group)); // between its edge and its first node a name stands
  layout.setGraph({ rankdir: "TB", nodesep: 18, ranksep: open ? 42 : 26, marginx: 8, marginy: 8 });
  layout.setDefaultEdgeLabel(() => ({}));
  const width = (...texts) => Math.max(64, 7.6 * Math.max(...texts.map((text) => text.length)) + 16);
  for (const node of nodes) {
    if (boxOf(view, node.id) === nodeName(node.id)) layout.setNode(nodeName(node.id), { width: width(node.op, node.type), height: 42, node });
  }
  for (const group of view.foldable) {
    if (folded.has(group)) layout.setNode(groupName(group), { width: width(cut(group), counted(group)) + 14, height: 42, group });
    else {
      layout.setNode(groupName(group), { group });
      for (const node of group.nodes) layout.setParent(nodeName(node.id), groupName(group));
    }
  }
  for (const [from, to] of edges) {
    const [a, b] = [boxOf(view, from), boxOf(view, to)];
    if (a !== b) layout.setEdge(a, b);
  }
  dagre.layout(layout);
  view.layout = layout;
  view.drawn = new Map();
  const found = layout.nodes().map((name) => [name, layout.node(name)]);
  const clusters = found.map(([, place]) => place).filter(({ group }) => group && !folded.has(group));
  const edgesDrawn = layout.edges().map((edge) => svg("path", { d: line(layout.edge(edge).points), "marker-end": "url(#tip)", class: "edge" }));
  for (const [name, place] of found) {
    if (place.node) view.drawn.set(name, drawNode(place, place.node, view.go));
    else if (folded.has(place.group)) view.drawn.set(name, drawFolded(view, place));
  }
  view.picture = svg(
    "svg",
    { viewBox: `0 0 ${layout.graph().width} ${layout.graph().height}`, role: "group", "aria-label": `The graph: ${nodes.length} operations` },
    svg("defs", null, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z" }))),
    ...clusters.map(drawCluster),
    ...edgesDrawn,
    ...clusters.map((place) => drawHead(view, place)),
    ...view.drawn.values(),
  );
  view.frame.replaceChildren(view.picture);
}

const line = ([first, ...rest]) => `M${first.x} ${first.y}${rest.map((point) => `L${point.x} ${point.y}`).join("")}`;
const cut = ({ place }) => (place.text.length > LABEL ? `${place.text.slice(0, LABEL - 1)}…` : place.text);
const counted = (group) => `${group.nodes.length} operations`;

// ---- what is drawn ----

function acts(element, name, act, attributes = {}) {
  for (const [key, value] of Object.entries({ role: "button", tabindex: "0", "aria-label": name, ...attributes })) element.setAttribute(key, value);
  element.addEventListener("click", act);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  });
  return element;
}

const rectangle = (place) => svg("rect", { x: -place.width / 2, y: -place.height / 2, width: place.width, height: place.height, rx: 6 });

function drawNode(place, node, go) {
  const texts = [svg("text", { y: -3 }, node.op), svg("text", { y: 13, class: "small" }, node.type)];
  const group = svg("g", { class: "node", transform: `translate(${place.x} ${place.y})` }, rectangle(place), ...texts);
  if (node.step === null || node.step === undefined) return group;
  return acts(group, `${node.op} ${node.type}, step ${node.step}`, () => go(node.step - 1));
}

function drawFolded(view, place) {
  const { group } = place;
  const below = svg("rect", { x: -place.width / 2 + 4, y: -place.height / 2 + 4, width: place.width, height: place.height, rx: 6 });
  const texts = [svg("text", { y: -3 }, cut(group)), svg("text", { y: 13, class: "small" }, `▸ ${counted(group)}`)];
  const element = svg("g", { class: "node folded", transform: `translate(${place.x} ${place.y})` }, below, rectangle(place), ...texts);
  const unfold = () => {
    view.folded.delete(group);
    view.redraw(group.id);
  };
  return acts(element, `${group.place.text}: ${counted(group)}`, unfold, { "aria-expanded": "false", "data-group": group.id });
}

const corner = (place) => ({ x: place.x - place.width / 2, y: place.y - place.height / 2, width: place.width });

const drawCluster = (place) => svg("g", { class: "cluster" }, svg("rect", { ...corner(place), height: place.height, rx: 8 }));

function drawHead(view, place) {
  const { group } = place;
  const fold = () => {
    view.folded.add(group);
    view.redraw(group.id);
  };
  const most = Math.max(6, Math.floor(place.width / 7.2) - 3);
  const text = group.place.text.length > most ? `${group.place.text.slice(0, most - 1)}…` : group.place.text;
  const { x, y, width } = corner(place);
  const head = svg("g", { class: "head" }, svg("rect", { x: x + 1, y: y + 1, width: width - 2, height: 18, rx: 7 }), svg("text", { x: x + 6, y: y + 14 }, `▾ ${text}`));
  return acts(head, `Fold ${group.place.text}`, fold, { "aria-expanded": "true", "data-group": group.id });
}

/** Mark what belongs to the step, and bring it into the frame: only there, the page itself must not jump. */
function markStep(view) {
  const { step, frame, layout, scale } = view;
  if (step === null) return;
  let first = null;
  for (const [name, element] of view.drawn) {
    const { node, group } = layout.node(name);
    const now = node ? node.step === step.number : group.nodes.some((each) => each.step === step.number);
    element.classList.toggle("now", now);
    if (now) first ??= layout.node(name);
  }
  if (first) frame.scrollTo({ left: first.x * scale - frame.clientWidth / 2, top: first.y * scale - frame.clientHeight / 2 });
  drawMap(view);
}

// ---- how large it is, and what of it is seen ----

function setScale(view, scale) {
  const { width, height } = view.layout.graph();
  view.scale = Math.min(3, Math.max(0.05, scale));
  view.picture.setAttribute("width", width * view.scale);
  view.picture.setAttribute("height", height * view.scale);
  view.percent.textContent = `${Math.round(100 * view.scale)} %`;
  drawMap(view);
}

/** All of it in the frame, but not smaller than this, and never larger than it is. */
function fit(view, least) {
  const { width, height } = view.layout.graph();
  const [across, down] = [view.frame.clientWidth || 500, parseFloat(getComputedStyle(view.frame).maxHeight) || 520];
  setScale(view, Math.min(1, Math.max(least, Math.min(across / width, down / height))));
}

function zoom(view, by) {
  const { frame, scale } = view;
  const [x, y] = [(frame.scrollLeft + frame.clientWidth / 2) / scale, (frame.scrollTop + frame.clientHeight / 2) / scale];
  setScale(view, scale * by);
  frame.scrollTo({ left: x * view.scale - frame.clientWidth / 2, top: y * view.scale - frame.clientHeight / 2 });
}

const MAP = 96;

/** The whole graph in a corner, with a frame around what is seen, where there is more than that. */
function drawMap(view) {
  const { frame, map, layout, scale } = view;
  const { width, height } = layout.graph();
  map.hidden = frame.scrollWidth <= frame.clientWidth + 1 && frame.scrollHeight <= frame.clientHeight + 1;
  if (map.hidden) return;
  const small = MAP / Math.max(width, height);
  const seen = { x: frame.scrollLeft / scale, y: frame.scrollTop / scale, width: Math.min(width, frame.clientWidth / scale), height: Math.min(height, frame.clientHeight / scale) };
  const boxes = [...view.drawn].map(([name, element]) => {
    const place = layout.node(name);
    return svg("rect", { x: place.x - place.width / 2, y: place.y - place.height / 2, width: place.width, height: place.height, class: element.classList.contains("now") ? "now" : null });
  });
  map.replaceChildren(svg("svg", { width: width * small, height: height * small, viewBox: `0 0 ${width} ${height}` }, ...boxes, svg("rect", { ...seen, class: "seen" })));
}

/** Pointing into the map moves the graph. */
function steerByMap({ map, frame }) {
  const move = (event) => {
    if (event.buttons !== 1) return;
    const box = map.firstChild.getBoundingClientRect();
    frame.scrollTo({
      left: ((event.clientX - box.left) / box.width) * frame.scrollWidth - frame.clientWidth / 2,
      top: ((event.clientY - box.top) / box.height) * frame.scrollHeight - frame.clientHeight / 2,
    });
  };
  map.addEventListener("pointerdown", move);
  map.addEventListener("pointermove", move);
}
