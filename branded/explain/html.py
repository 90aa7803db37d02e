"""The HTML page that shows explanations, built from the files in `assets`."""

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
"""The scripts, in order of dependency.  They are joined into one classic script, which also runs from a `file:` URL."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'"
"""The content security policy: the browser blocks every request that the page could make."""

_POLICY_OF_EDIT = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; worker-src blob:; "
    "connect-src blob:; "
    "script-src 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' 'self' file: blob:"
)
"""The same policy, but with scripts from the folder of the page, and a worker built from them."""


def page(explanation: Mapping[str, Any]) -> str:
    """Return one explanation as a self-contained HTML file, without network requests.

    Args:
        explanation: The data of an explanation, as `explain` returns it.

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
    """Return the page of one explanation as an `iframe` that contains everything, for notebooks.

    Args:
        explanation: The data of an explanation, as `explain` returns it.
        height: The height in pixels.

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
    """Return an entry of the page's menu, in the format of the page's script.

    Args:
        title: The text in the menu and in the heading.
        explanations: The explanations to show: one, or one for each answer to the question.
        name: A word for the fragment of the page's URL; by default the title.
        group: The heading of the entry in the menu.
        question: The question that selects an explanation, if there is more than one.
        labels: The answers to the question, one for each explanation.
        first: The index of the explanation that is shown first.
        program: The initial text of `edit`.

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
    """Return the page with these entries in its menu.

    Args:
        entries: The results of `entry`.
        edit: The folder with the parts of Pyodide, relative to the page, and their names, if programs can be edited.
        why: The text for each error code.
        site: The address of the documentation, which ends with `/`: a link back to the course.

    Returns:
        The text of the file.
    """
    title = str(entries[0]["title"]) if len(entries) == 1 else "branded: the explorer"
    # a `<` in a string could end the HTML element that contains the data
    data = json.dumps(
        {"entries": entries, "edit": edit, "why": why, "site": site}, ensure_ascii=False, separators=(",", ":")
    )
    return Template(_read_asset("page.html")).substitute(
        title=html.escape(title),
        policy=_POLICY if edit is None else _POLICY_OF_EDIT,
        style=_read_asset("style.css"),
        data=data.replace("<", "\\u003c"),
        script=_script(),
    )


def _script() -> str:
    code = scripts(*_SCRIPTS, *_PAGE)
    library = _read_asset("vendor/dagre.min.js").partition("\n//# sourceMappingURL")[0]
    return f'{_read_asset("vendor/dagre.min.js.LEGAL.txt")}\n{library}\n(() => {{\n"use strict";\n{code}}})();'


def scripts(*names: str) -> str:
    """Return some scripts as one text, for a page that needs only these.

    Args:
        names: Their names, in order of dependency.
    """
    return "\n".join(_read_asset(f"{name}.js") for name in names)


def _read_asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
