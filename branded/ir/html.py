"""A typed program as HTML: each line unfolds to the lines that it becomes one level below."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_STYLE = (
    ".branded-expr{font:13px/1.6 ui-monospace,monospace;overflow-x:auto}"
    ".branded-expr pre,.branded-expr summary{margin:0;white-space:pre;font:inherit}"
    ".branded-expr details details{margin-left:2em;border-left:2px solid #8888;padding-left:.6em}"
    ".branded-expr details>pre{margin-left:2em;border-left:2px solid #8888;padding-left:.6em}"
)


class Shown(NamedTuple):
    """A program at one level: its text, the text of each equation, and links to the equations one level below."""

    text: str
    lines: Sequence[str]
    links: Sequence[Sequence[int]] | None


def html(name: str, levels: Sequence[Shown]) -> str:
    """Return HTML in which each equation of a program unfolds to its equations at the next level."""
    head, *_, last = levels[0].text.split("\n")
    lines = [list(map(escape, level.lines)) for level in levels]
    links = [level.links for level in levels if level.links is not None]

    def line(level: int, i: int) -> str:
        """Return an equation, with the equations that it becomes inside a fold."""
        text = lines[level][i]
        inside = "".join(line(level + 1, j) for j in links[level][i]) if level < len(links) else ""
        return f"<details><summary>{text}</summary>{inside}</details>" if inside else f"<pre>{text}</pre>"

    body = "".join(line(0, i) for i in range(len(lines[0])))
    return (
        f'<div class="branded-expr" role="group" aria-label="typed program, {name}"><style>{_STYLE}</style>'
        f"<pre>{escape(head)}</pre>{body}<pre>{escape(last)}</pre></div>"
    )
