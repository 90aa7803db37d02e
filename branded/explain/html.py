"""The one page that shows explanations: its text, made of the files in `assets`."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

ASSETS = Path(__file__).parent / "assets"

_SCRIPTS = ("dom", "text", "code", "step", "cells", "memory", "groups", "graph", "program", "mistake")
_PAGE = ("python", "page", "edit")
"""In the order in which they use one another; together they are one classic script, which also runs from a file."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'"
"""The browser itself refuses every request that the page could make."""

_POLICY_OF_EDIT = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; worker-src blob:; "
    "connect-src blob:; "
    "script-src 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' 'self' file: blob:"
)
"""As above, but scripts from beside the page, and a worker that is made of them."""


def page(explanation: Mapping[str, Any]) -> str:
    """One explanation as one self-contained HTML file, which asks for nothing over the network.

    Args:
        explanation: The data of an explanation, as `explain` makes it.

    Returns:
        The text of the file.

    Example:
        >>> from branded.explain import explain
        >>> from branded.explain.html import page
        >>> from tinygrad import Tensor
        >>> page(explain(lambda x: x + 1, Tensor([1, 2])).data()).startswith("<!doctype html>")
        True
    """
    return document([entry(str(explanation["name"]), [explanation])])


def frame(explanation: Mapping[str, Any], height: int = 760) -> str:
    """The page of one explanation inside another page, for notebooks: an `iframe` that carries all of it.

    Args:
        explanation: The data of an explanation, as `explain` makes it.
        height: How high it is, in pixels.

    Returns:
        HTML for `_repr_html_`.

    Example:
        >>> from branded.explain import explain
        >>> from branded.explain.html import frame
        >>> from tinygrad import Tensor
        >>> frame(explain(lambda x: x + 1, Tensor([1, 2])).data()).startswith("<iframe srcdoc=")
        True
    """
    text = html.escape(page(explanation))
    title = html.escape(f"The explanation of {explanation['name']}")
    return f'<iframe srcdoc="{text}" title="{title}" style="width: 100%; height: {height}px; border: 0"></iframe>'


def entry(
    title: str,
    explanations: Sequence[Mapping[str, Any]],
    *,
    name: str | None = None,
    group: str = "",
    question: str | None = None,
    labels: Sequence[str] = (),
    first: int = 0,
    program: str | None = None,
) -> dict[str, Any]:
    """A line of the page's menu, as the page's script wants it.

    Args:
        title: What the menu and the heading say.
        explanations: What is shown: one, or one for each answer to the question.
        name: A word for the page's address; without one, the title.
        group: The heading in the menu under which it stands.
        question: What the switch asks, where there is more than one explanation.
        labels: The answers, one for each explanation.
        first: The number of the explanation that is shown first.
        program: The text that `edit` starts with.

    Returns:
        The entry, ready for JSON.
    """
    answers = labels or [str(e["name"]) for e in explanations]
    return {
        "name": name or title,
        "title": title,
        "group": group,
        "question": question,
        "program": program,
        "first": first,
        "choices": [{"label": a, "explanation": e} for a, e in zip(answers, explanations, strict=True)],
    }


def document(
    entries: Sequence[Mapping[str, Any]],
    edit: Mapping[str, Any] | None = None,
    why: Mapping[str, str] | None = None,
    site: str | None = None,
) -> str:
    """The page with these entries in its menu.

    Args:
        entries: What `entry` makes.
        edit: The folder of the parts of Pyodide beside the page and their names, if programs can be edited.
        why: What is said of each code of an error.
        site: The address of the documentation, with a `/` at its end: a way back to the course.

    Returns:
        The text of the file.
    """
    title = str(entries[0]["title"]) if len(entries) == 1 else "branded: the explorer"
    # a `<` inside a string could end the element that carries the data
    data = json.dumps(
        {"entries": entries, "edit": edit, "why": why, "site": site}, ensure_ascii=False, separators=(",", ":")
    )
    return Template(_read("page.html")).substitute(
        title=html.escape(title),
        policy=_POLICY if edit is None else _POLICY_OF_EDIT,
        style=_read("style.css"),
        data=data.replace("<", "\\u003c"),
        script=_script(),
    )


def _script() -> str:
    own = scripts(*_SCRIPTS, *_PAGE)
    library = _read("vendor/dagre.min.js").partition("\n//# sourceMappingURL")[0]
    return f'{_read("vendor/dagre.min.js.LEGAL.txt")}\n{library}\n(() => {{\n"use strict";\n{own}}})();'


def scripts(*names: str) -> str:
    """Parts of the script, for a page that needs these alone.

    Args:
        names: Their names, in the order in which they use one another.
    """
    return "\n".join(_read(f"{name}.js") for name in names)


def _read(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
