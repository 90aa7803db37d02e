"""A complete explanation as text, with a color for each brand if `rich` is installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from branded.explain.steps import readable

Data = Mapping[str, Any]


class Span(NamedTuple):
    """A piece of a line, and its style."""

    text: str
    style: str = ""


Line = list[Span]
_COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")
_STYLES = {"title": "bold", "quiet": "dim", "warning": "bold red"}
_NONE = "·"
"""The table entry for a brand that a value does not vary over."""


def text(lines: Sequence[Line]) -> str:
    """Return the lines as plain text."""
    return "\n".join("".join(s.text for s in line).rstrip() for line in lines)


def show(brands: Sequence[Data], lines: Sequence[Line], file: TextIO | None = None) -> None:
    """Print lines, with colors if `rich` is installed and the terminal supports them."""
    out = sys.stdout if file is None else file
    try:
        # import by name, so that mypy does not read the 500 modules of rich
        console = importlib.import_module("rich.console").Console(file=out, highlight=False, soft_wrap=True)
        assemble = importlib.import_module("rich.text").Text.assemble
    except ModuleNotFoundError:
        print(text(lines), file=out)
        return
    colors = {b["name"]: _COLORS[i % len(_COLORS)] for i, b in enumerate(brands)}
    for line in lines:
        spans = [(s.text, _STYLES.get(s.style) or colors.get(s.style.removeprefix("brand "), "")) for s in line]
        rich_text = assemble(*spans)
        rich_text.rstrip()
        console.print(rich_text)


def lines(data: Data) -> list[Line]:
    """Return every line of the explanation."""
    place = f"{data['file']}:{data['first_line']}" if data["file"] else ""
    out: list[Line] = [[Span(data["name"], "title"), Span(f"  {place}", "quiet")]]
    out += block(data["source"])
    out += [[], *_arguments(data)]
    for step in data["steps"]:
        out += [[], *_step_lines(step, data)]
    out += section("as a loop", block(data["loop"] or ""))
    out += section("the batched graph", [[Span(f"  {x}")] for e in data["programs"]["batched"] for x in e.split("\n")])
    out += kernel_lines(data)
    memory = data["memory"]
    parts = ", ".join(f"{name} {readable(memory[name])}" for name in ("arguments", "results", "between", "work"))
    out += section("memory", [[Span(f"  {readable(memory['peak'])} at most: {parts}")]])
    if data["result"] is not None:
        out += section("result", [[Span(f"  {numbers(data['result'])}")]])
    out += [[Span(f"note: {note}", "quiet")] for note in data["notes"]]
    return out


def kernel_lines(data: Data) -> list[Line]:
    """Return the kernels, with their loops as C."""
    out: list[Line] = []
    for k in data["kernels"]:
        size = f"  reads {readable(k['reads'])}, writes {readable(k['writes'])}"
        out += [[Span(f"  {k['name']}"), Span(size, "quiet")], *block(k["code"], 4)]
    return section("kernels", out)


def numbers(x: Any) -> str:
    """Format nested lists, with floats to six significant digits."""
    if isinstance(x, list):
        return f"[{', '.join(map(numbers, x))}]"
    text = f"{x:.6g}" if isinstance(x, float) else str(x)
    return text if not isinstance(x, float) or "." in text or "e" in text else f"{text}.0"


def section(title: str, body: Sequence[Line]) -> list[Line]:
    return [[], [Span(title, "title")], *body] if body else []


def block(source: str, indent: int = 2) -> list[Line]:
    return [[Span(" " * indent + line)] for line in source.splitlines()]


def _arguments(data: Data) -> list[Line]:
    values = data["arguments"]
    names, kinds = (max((len(v[k]) for v in values), default=0) for k in ("name", "type"))
    out: list[Line] = []
    for v in values:
        row = f"  {v['name']:<{names}}  {v['type']:<{kinds}}  {readable(v['bytes']):>9}   "
        out.append([Span(row), Span(v["path"] or "from outside of the function", "quiet")])
    return out


def _step_lines(step: Data, data: Data) -> list[Line]:
    number = f"{step['number']:>2}  "
    where = f"  line {step['line']}" if step["line"] else ""
    out: list[Line] = [[Span(number), Span(step["op"], "title"), Span(f"  {step['code']}"), Span(where, "quiet")]]
    out += _columns(step, data["brands"])
    out += caller_lines(step)
    out += [[Span(f"      {sentence}")] for sentence in step["why"].split("\n")]
    for v in step["results"]:
        out.append([Span("      runs    ", "quiet"), Span(v["type"])])
    if step["static"] is not None:
        out.append([Span("      mypy    ", "quiet"), Span(step["static"])])
    for i, line in enumerate((step["loop"] or "").splitlines()):
        out.append([Span("      loop    " if i == 0 else " " * 14, "quiet"), Span(line)])
    grew = f", {step['grew']:.4g} times its largest operand" if step["grew"] > 1 else ""
    out.append([Span("      memory  ", "quiet"), Span(readable(step["bytes"]) + grew)])
    if step["warning"]:
        out.append([Span("      warning ", "warning"), Span(step["warning"], "warning")])
    return out


def caller_lines(step: Data) -> list[Line]:
    """Return a line that relates the names in a called function to its caller's names, if they differ."""
    call = step["caller"]
    if not call or not call["names"]:
        return []
    same = ", ".join(f"{inner} is {name}" for inner, name in call["names"].items())
    return [[Span(f"      in {call['code']}, {call['where']}: {same}", "quiet")]]


def _columns(step: Data, brands: Sequence[Data]) -> list[Line]:
    """Return a line for each operand and result, with a column for each brand of the program."""
    values = [*step["operands"], *step["results"]]
    heads = [f"{b['name']}:{b['size']}" for b in brands]
    hows = {c["brand"]: c["how"] for c in step["columns"]}
    widths = [max(len(head), 11) for head in heads]  # as wide as "per example"
    names = max(len(v["name"]) for v in values)
    kinds = max(len(_per_example(v)) for v in values)
    pad = " " * (6 + names + 3)
    out: list[Line] = []
    if brands:
        out.append([Span(pad), *_cells(brands, widths, heads)])
    for i, v in enumerate(values):
        sign = "= " if i == len(step["operands"]) else "  "
        cells = [str(b["size"]) if b["name"] in v["row"] else _NONE for b in brands]
        type_span = Span(f"{_per_example(v):<{kinds}}  {readable(v['bytes']):>9}" if v["bytes"] else _per_example(v))
        out.append([Span(f"    {sign}{v['name']:<{names}}   "), *_cells(brands, widths, cells), type_span])
    if hows:
        out.append([Span(pad), *_cells(brands, widths, [hows.get(b["name"], "") for b in brands])])
    return out


def _per_example(v: Data) -> str:
    return f"{v['dtype']}[{', '.join(map(str, v['shape']))}]" if v["bytes"] else v["dtype"]


def _cells(brands: Sequence[Data], widths: Sequence[int], cells: Sequence[str]) -> list[Span]:
    return [Span(f"{c:<{w}}  ", f"brand {b['name']}") for b, w, c in zip(brands, widths, cells, strict=True)]
