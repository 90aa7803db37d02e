// The nodes of the graph by the reader's lines: what a line does is one group, which can be folded.

/** The group of each node, and what is said of each: its name, its nodes. What is given belongs to none. */
function groupsOf(explanation) {
  const { nodes, edges } = explanation.graph;
  const before = new Map(nodes.map((node) => [node.id, []]));
  for (const [from, to] of edges) before.get(to).push(from);
  const groups = [];
  const of = new Map();
  const latest = new Map(); // the last group of each line
  for (const node of nodes) {
    if (node.step === null && before.get(node.id).length === 0) continue;
    const into = [...new Set(before.get(node.id).map((id) => of.get(id)).filter(Boolean))];
    const place = lineOf(explanation, node.step);
    let group = latest.get(place.key);
    // a line that is done again later is another group: between groups no path leads back
    if (!group || into.some((other) => other !== group && reaches(group, other))) {
      group = { id: groups.length, place, nodes: [], next: new Set() };
      groups.push(group);
      latest.set(place.key, group);
    }
    group.nodes.push(node);
    of.set(node.id, group);
    for (const other of into) if (other !== group) other.next.add(group);
  }
  return { groups, of };
}

function reaches(from, to, seen = new Set()) {
  if (from === to) return true;
  seen.add(from);
  return [...from.next].some((each) => !seen.has(each) && reaches(each, to, seen));
}

/** The line of the reader's that a step stands in. */
function lineOf(explanation, number) {
  const step = number === null || number === undefined ? null : explanation.steps[number - 1];
  const [called, line] = step?.within ?? [null, step?.line ?? null];
  if (line === null && step?.derived) return { key: `${step.derived.what} ${step.derived.where}`, text: step.derived.what };
  if (line === null) return { key: "none", text: "without a line" };
  const { source, first_line } = called === null ? explanation : explanation.called[called];
  return { key: placeName(called, line), text: `${first_line + line - 1}  ${(source.split("\n")[line - 1] ?? "").trim()}` };
}
