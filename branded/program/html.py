"""A typed program as HTML: each line unfolds to the lines that it becomes one level below."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from branded.program.expr import Expr

_STYLE = (
    ".branded-expr{font:13px/1.6 ui-monospace,monospace;overflow-x:auto}"
    ".branded-expr pre,.branded-expr summary{margin:0;white-space:pre;font:inherit}"
    ".branded-expr details details{margin-left:2em;border-left:2px solid #8888;padding-left:.6em}"
    ".branded-expr details>pre{margin-left:2em;border-left:2px solid #8888;padding-left:.6em}"
)


def html(expr: Expr) -> str:
    """The program as a tree of folds."""
    head, *_, last = str(expr).split("\n")
    levels = [expr]
    while levels[-1].has_links:
        levels.append(levels[-1].below())
    lines = [list(map(escape, e.lines())) for e in levels]
    links = [e.links() for e in levels if e.has_links]

    def line(level: int, i: int) -> str:
        """An equation, with those that it becomes behind a fold."""
        text = lines[level][i]
        inside = "".join(line(level + 1, j) for j in links[level][i]) if level < len(links) else ""
        return f"<details><summary>{text}</summary>{inside}</details>" if inside else f"<pre>{text}</pre>"

    body = "".join(line(0, i) for i in range(len(lines[0])))
    return (
        f'<div class="branded-expr" role="group" aria-label="typed program, {expr.level}"><style>{_STYLE}</style>'
        f"<pre>{escape(head)}</pre>{body}<pre>{escape(last)}</pre></div>"
    )
