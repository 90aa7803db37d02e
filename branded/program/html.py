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
    head, *_ = str(expr).split("\n")
    last = str(expr).split("\n")[-1]
    body = "".join(_line(expr, i) for i in range(len(expr.program.eqns)))
    what = f"typed program, {expr.level}"
    return (
        f'<div class="branded-expr" role="group" aria-label="{what}"><style>{_STYLE}</style>'
        f"<pre>{escape(head)}</pre>{body}<pre>{escape(last)}</pre></div>"
    )


def _line(expr: Expr, i: int) -> str:
    """An equation, with those that it becomes behind a fold."""
    text = escape(expr.lines()[i])
    if not expr.has_links:
        return f"<pre>{text}</pre>"
    below = expr.below()
    inside = "".join(_line(below, j) for j in expr.links()[i])
    return f"<details><summary>{text}</summary>{inside}</details>" if inside else f"<pre>{text}</pre>"
