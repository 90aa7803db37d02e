"""An explanation as a story: a text that fits on one screen.

The story shows the brands, the broadcasts and their cost, the kernels with their memory and time, and the equivalent
loop. Then it lists the steps that do more than pair examples, in one block for each vmap, derivative and body.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branded.errors import count_noun, examples
from branded.explain.steps import join_words, readable
from branded.explain.terminal import Line, Span, block, caller_lines, kernel_lines, numbers, section

Data = Mapping[str, Any]
_LONGEST = 110
_MAX_NAMED = 3
"""The maximum number of broadcasts named in the second line."""
_MAX_BODY_STEPS = 12
"""The maximum number of steps shown for a body."""


def story(data: Data, seconds: float | None = None, *, kernels: bool = False) -> list[Line]:
    """Return the lines of the story; `seconds` is the run time of the kernels, if it was measured."""
    out = [_brands(data), _broadcasts(data), _cost(data, seconds)]
    if arguments := _arguments(data):
        out += [[], *arguments]
    out += section("as a loop", block(data["folded_loop"] or ""))
    out += section("more than a zip", [line for each in _step_blocks(data) for line in each])
    if kernels:
        out += kernel_lines(data)
    out += section("result", _result(data))
    return [*out, *([Span(f"note: {note}", "quiet")] for note in data["notes"])]


def _brands(data: Data) -> Line:
    place = f", {data['file']}:{data['first_line']}" if data["file"] else ""
    start = [Span(data["name"], "title"), Span(f"{place}: ", "quiet")]
    brands = [*data["brands"], *_brands_in_bodies(data)]
    if not brands:
        return [*start, Span("no brand, nothing is batched")]
    names: Line = []
    for i, b in enumerate(brands):
        between = "" if i == 0 else " and " if i == len(brands) - 1 else ", "
        names += [Span(between), Span(f"{b['name']}:{b['size']}", f"brand {b['name']}")]
    return [*start, Span(f"{count_noun(len(brands), 'brand')}, "), *names]


def _brands_in_bodies(data: Data) -> list[Data]:
    """Return the brands that the bodies of loops and branches open."""
    columns = {c["brand"]: c for s in _with_body_steps(data["steps"]) for c in s["columns"]}
    names = {b["name"] for b in data["brands"]}
    return [{"name": name, "size": c["size"]} for name, c in columns.items() if name not in names]


def _broadcasts(data: Data) -> Line:
    """Return a line with the broadcasts, and the cost of the largest one."""
    steps = list(_with_body_steps(data["steps"]))
    broadcasts = [s for s in steps if s["kind"] == "broadcast" or _repeats(s)]
    if not broadcasts:
        return [
            Span(
                "nothing broadcasts: each operation takes its examples one by one"
                if data["brands"]
                else "nothing broadcasts"
            )
        ]
    largest = max(broadcasts, key=lambda s: int(s["bytes"]))
    named = list(dict.fromkeys(map(_describe_broadcast, broadcasts)))
    more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    cost = f"; at most {readable(largest['bytes'])}"
    cost += f", {largest['grew']:.4g} times its largest operand" if largest["grew"] > 1 else ""
    return [Span("broadcasts: ", "title"), Span(_truncate("; ".join(named[:_MAX_NAMED]) + more) + cost)]


def _describe_broadcast(step: Data) -> str:
    if step["derived"]:
        return f"the {step['derived']['what']}"
    if _repeats(step):
        return f"{step['results'][0]['name']} is repeated over {_over(step)}"
    return f"{_code(step)} over {_over(step)}"


def _repeats(step: Data) -> bool:
    """Return whether the step leaves a brand, and repeats a value that is the same for all its examples."""
    return any(c["how"] == "leave" and not any(c["operands"]) for c in step["columns"])


def _over(step: Data) -> str:
    names = [c["brand"] for c in step["columns"] if c["how"] == "broadcast" or _repeats(step)]
    return join_words(list(dict.fromkeys(names)))


def _cost(data: Data, seconds: float | None) -> Line:
    time_text = "" if seconds is None else f", {duration(seconds)}"
    return [
        Span(f"{count_noun(len(data['kernels']), 'kernel')}, {readable(data['memory']['peak'])} at most{time_text}")
    ]


def duration(seconds: float) -> str:
    """Format a duration: `4.1 ms`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.2g} {unit}"
    return f"{max(seconds, 1e-8) * 1e6:.2g} µs"


def _arguments(data: Data) -> list[Line]:
    """Return a line for each argument, with its type, its axes and its path."""
    values = data["arguments"]
    names, kinds = (max((len(v[k]) for v in values), default=0) for k in ("name", "type"))
    out: list[Line] = []
    for v in values:
        path = v["path"] or "from outside of the function"
        parts = [v["axes"] or "", path if path != v["name"] else ""]
        note = "   ".join(s for s in parts if s)
        out.append([Span(f"  {v['name']:<{names}}  {v['type']:<{kinds}}   "), Span(note, "quiet")])
    return out


def _step_blocks(data: Data) -> Iterator[list[Line]]:
    """Yield the steps that are more than a zip, as blocks of lines."""
    steps = data["steps"]
    seen: set[tuple[str, str]] = set()
    zips = 0
    for derived, group in itertools.groupby(steps, key=lambda s: tuple((s["derived"] or {}).values())):
        part = list(group)
        if derived and len(part) > 1:
            yield _derivative_lines(part)
            continue
        for step in part:
            if step["op"] in ("enter", "leave"):
                key = (step["where"], step["brand"])
                if key not in seen:
                    seen.add(key)
                    yield _crossings(
                        [s for s in steps if s["op"] in ("enter", "leave") and (s["where"], s["brand"]) == key]
                    )
            elif step["moves_devices"]:
                continue  # the block of the sharded vmap already reports it
            elif step["bodies"] or step["kind"] not in ("zip", "per example", "none") or step["warning"]:
                yield _step(step)
            else:
                zips += 1
    if zips and data["brands"]:
        yield [[Span(f"  and {count_noun(zips, 'step')} without a broadcast", "quiet")]]


def _head(step: Data) -> Line:
    place = f"  {step['where']}  " if step["where"] else "  "
    return [Span(place, "quiet"), Span(_code(step), "title")]


def _code(step: Data) -> str:
    return str(step["code"] or step["op"])


def _size(step: Data) -> Span:
    kinds = ", ".join(dict.fromkeys(v["type"] for v in step["results"]))
    return Span(f"   {_truncate(kinds)}, {readable(step['bytes'])}", "quiet")


def _step(step: Data) -> list[Line]:
    out: list[Line] = [[*_head(step), _size(step)]]
    out += caller_lines(step)
    out += [[Span(f"      {line}")] for line in step["reason"]]
    if step["warning"]:
        out.append([Span(f"      {step['warning']}", "warning")])
    for body in step["bodies"]:
        out += _body(body, 6)
    return out


def _body(body: Data, indent: int) -> list[Line]:
    """Return a line for each step of a loop's body, a branch or a function."""
    pad = " " * indent
    takes = ", ".join(f"{v['name']}: {v['type']}" for v in body["takes"])
    out: list[Line] = [[Span(f"{pad}{body['name']}({_truncate(takes)})", "quiet")]]
    steps = [s for s in body["steps"] if s["op"] not in ("enter", "leave")]
    for step in steps[:_MAX_BODY_STEPS]:
        kind = step["kind"] if step["kind"] != "none" else "the same for all"
        place = f"{step['where']}  " if step["where"] else ""
        first = step["results"][0]
        line = [Span(f"{pad}  {place}", "quiet"), Span(_code(step)), Span(f"   {kind}, {first['type']}", "quiet")]
        out.append(line)
        for inner in step["bodies"]:
            out += _body(inner, indent + 4)
    if len(steps) > _MAX_BODY_STEPS:
        out.append([Span(f"{pad}  and {len(steps) - _MAX_BODY_STEPS} more", "quiet")])
    return out


def _derivative_lines(part: Sequence[Data]) -> list[Line]:
    """Summarize the generated steps of a derivative."""
    what, where = part[0]["derived"]["what"], part[0]["derived"]["where"]
    kind, _, name = what.partition(" of ")
    last = part[-1]
    head: Line = [
        Span(f"  {where}  " if where else "  ", "quiet"),
        Span(f"{kind} of `{name}`, {len(part)} steps", "title"),
    ]
    out: list[Line] = [[*head, _size(last)]]
    spread = [s for s in part if s["kind"] == "broadcast"]
    if spread:
        most = max(int(s["bytes"]) for s in spread)
        times = "once" if len(spread) == 1 else f"{len(spread)} times"
        over = join_words(
            list(dict.fromkeys(c["brand"] for s in spread for c in s["columns"] if c["how"] == "broadcast"))
        )
        out.append([Span(f"      it broadcasts {times} over {over}, {readable(most)} at most")])
    out += [[Span(f"      {s['warning']}", "warning")] for s in part if s["warning"]]
    return out


def _crossings(steps: Sequence[Data]) -> list[Line]:
    """Describe the values that enter and leave a brand at one vmap."""
    first = steps[0]
    brand, size = first["brand"], next(c["size"] for c in first["columns"] if c["brand"] == first["brand"])
    entered = [s for s in steps if s["op"] == "enter"]
    leaving = [s for s in steps if s["op"] == "leave"]
    clauses = []
    if entered:
        axes = [(f"axis {axis}", [s["operands"][0]["name"] for s in same]) for axis, same in _by_axis(entered)]
        clauses.append(f"{brand}:{size} is {join_words([f'{axis} of {join_words(names)}' for axis, names in axes])}")
    if leaving:
        same_for_all = [s for s in leaving if _repeats(s)]
        axes = [(f"axis {axis}", [s["results"][0]["name"] for s in same]) for axis, same in _by_axis(leaving)]
        clauses.append(f"it leaves as {join_words([f'{axis} of {join_words(names)}' for axis, names in axes])}")
        if same_for_all:
            names = [s["results"][0]["name"] for s in same_for_all]
            be = "is" if len(names) == 1 else "are"
            clauses.append(f"{join_words(names)} {be} the same for all {examples(size)}, and repeated")
    out: list[Line] = [_head(first), [Span(f"      {'; '.join(clauses)}")]]
    if devices := next((s["devices"] for s in steps if s["devices"]), None):
        each = size // len(devices)
        out.append([Span(f"      shard over {brand}: {examples(each)} on each of {join_words(devices)}")])
    return out


def _by_axis(steps: Sequence[Data]) -> list[tuple[int, list[Data]]]:
    axes = list(dict.fromkeys(s["axis"] for s in steps))
    return [(axis, [s for s in steps if s["axis"] == axis]) for axis in axes]


def _with_body_steps(steps: Sequence[Data]) -> Iterator[Data]:
    for step in steps:
        yield step
        for body in step["bodies"]:
            yield from _with_body_steps(body["steps"])


def _result(data: Data) -> list[Line]:
    results = data["results"]
    width = max((len(r["path"]) for r in results), default=0)
    out: list[Line] = []
    for r in results:
        value = "" if r["cells"] is None else numbers(r["cells"])
        shown = value if value and len(value) <= _LONGEST else r["type"]
        out.append([Span(f"  {r['path']:<{width}}{'  ' if width else ''}{shown}")])
    return out


def _truncate(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
