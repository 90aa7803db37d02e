// View 4: the graph, laid out in layers by dagre.

const MOST_NODES = 400;

function drawGraph(root, explanation, go) {
  const { nodes, edges } = explanation.graph;
  if (nodes.length === 0 || nodes.length > MOST_NODES) {
    const text = nodes.length ? `The graph has ${nodes.length} nodes: too many to draw.` : "No graph: nothing is left to compute.";
    root.replaceChildren(h("p", { class: "note" }, text));
    return () => {};
  }
  const layout = new dagre.graphlib.Graph();
  layout.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 26, marginx: 6, marginy: 6 });
  layout.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) layout.setNode(String(node.id), { width: Math.max(64, 7.6 * Math.max(node.op.length, node.type.length) + 16), height: 42 });
  for (const [from, to] of edges) layout.setEdge(String(from), String(to));
  dagre.layout(layout);
  const drawn = new Map(nodes.map((node) => [node, drawNode(layout.node(String(node.id)), node, go)]));
  const { width, height } = layout.graph();
  const picture = svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `The graph: ${nodes.length} operations` },
    svg("defs", null, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z" }))),
    ...layout.edges().map((edge) => svg("path", { d: line(layout.edge(edge).points), "marker-end": "url(#tip)", class: "edge" })),
    ...drawn.values(),
  );
  const frame = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "The graph, which scrolls" }, picture);
  root.replaceChildren(frame);
  return (step) => {
    let first = null;
    for (const [node, element] of drawn) {
      const now = node.step === step.number;
      element.classList.toggle("now", now);
      if (now) first ??= layout.node(String(node.id));
    }
    // only inside of the frame: the page itself must not jump
    if (first) frame.scrollTo({ left: first.x - frame.clientWidth / 2, top: first.y - frame.clientHeight / 2 });
  };
}

const line = ([first, ...rest]) => `M${first.x} ${first.y}${rest.map((point) => `L${point.x} ${point.y}`).join("")}`;

function drawNode(place, node, go) {
  const box = svg("rect", { x: -place.width / 2, y: -place.height / 2, width: place.width, height: place.height, rx: 6 });
  const op = svg("text", { y: -3 }, node.op);
  const type = svg("text", { y: 13, class: "small" }, node.type);
  const group = svg("g", { class: "node", transform: `translate(${place.x} ${place.y})` }, box, op, type);
  if (node.step !== null && node.step !== undefined) {
    const act = () => go(node.step - 1);
    group.setAttribute("role", "button");
    group.setAttribute("tabindex", "0");
    group.setAttribute("aria-label", `${node.op} ${node.type}, step ${node.step}`);
    group.addEventListener("click", act);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      act();
    });
  }
  return group;
}
