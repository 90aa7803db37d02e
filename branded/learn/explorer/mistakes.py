"""Describe a program that raises an error: the line, the brands in the message, and the parts of the message."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from branded.errors import BrandedError, ExplorerError
from branded.explain.code import Source

T = TypeVar("T")

_FACT = re.compile(r"^  ([^:]+): +(.*)$")
_PLACE = re.compile(r"\bat (\S+):(\d+)|^(\S+):(\d+)$")
_TYPED = re.compile(r"Vec\[([^,]*),")
_NAMED = re.compile(r"(?:brand|over) `([^`]+)`")
_OPENED = re.compile(r"^(opened by .*)$")


def write_source(source: str, file: str) -> str:
    """Write the text to a file, so that tracebacks and messages find its lines, and return its path."""
    path = Path(file).resolve()
    path.write_text(source, encoding="utf-8")
    linecache.checkcache(str(path))
    return str(path)


def mistaken(
    name: str, source: Source, error: BaseException, doc: str | None = None, begins: int | None = None
) -> dict[str, Any]:
    """Return an explanation of a program that ends with an error.

    Args:
        name: The name of the program.
        source: The lines to show.
        error: The error that was raised.
        doc: The docstring of the program.
        begins: The first line of the function in the file, which is marked if the line of the error is unknown.

    Returns:
        The data of an explanation without steps, and with a `failure`.
    """
    own = isinstance(error, BrandedError)
    what, *rest = (in_readers_words(str(error), name) if own else format_error(error, source)).split("\n")
    facts = [m.groups() for line in rest if (m := _FACT.match(line))] if own else []
    return {
        "name": name,
        "doc": doc,
        "source": source.text.rstrip(),
        "file": Path(source.file).name,
        "first_line": source.first_line,
        "arguments": [],
        "brands": _brands(what, facts),
        "called": [],
        "programs": {"operations": [], "primitives": [], "batched": []},
        "steps": [],
        "graph": {"nodes": [], "edges": []},
        "kernels": [],
        "loop": None,
        "result": None,
        "notes": [],
        "failure": {
            "error": type(error).__name__,
            "code": error.code if isinstance(error, BrandedError) and type(error) is not ExplorerError else None,
            "what": what,
            "more": [] if own else rest,
            "facts": [list(fact) for fact in facts if fact[0] not in ("try", "at")],
            "fix": next((text for label, text in facts if label == "try"), None),
            "line": _line(error, facts, source, begins),
        },
    }


def in_own_words(f: Callable[..., Any], args: Sequence[Any], look: Callable[[], T], **kwargs: Any) -> T:
    """Return `look()`, which inspects a call of `f`; if `look` fails and the call itself fails too, raise its error."""
    try:
        return look()
    except BrandedError:
        f(*args, **kwargs)
        raise


def in_readers_words(message: str, name: str) -> str:
    """Remove from a message the names of functions that the page called, because the reader did not write them."""
    words = message.replace("in the body of make_expr", f"in `{name}`, which is written down step by step,")
    return re.sub(r"^(make_expr|explain)(?=: )", f"`{name}`", words.removeprefix("explorer: "))


def place(error: BaseException, file: str) -> int | None:
    """Return the line of the innermost frame of a file in the traceback of an error."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    return lines[-1] if lines else None


def _line(error: BaseException, facts: Sequence[tuple[str, ...]], source: Source, begins: int | None) -> int | None:
    """Return the line of the text to mark, from 1: the line in the message, else the line that raised."""
    named = [m for label, text in facts if label == "at" and (m := _PLACE.search(text))]
    line = next((int(m[4] or m[2]) for m in named if (m[3] or m[1]) == Path(source.file).name), None)
    if (line := line or place(error, source.file) or begins) is None:
        return None
    line -= source.first_line - 1
    return line if 1 <= line <= source.text.count("\n") + 1 else None


def _brands(what: str, facts: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return the brands in a message, with their sizes and where they were opened, if the message has them."""
    sizes: dict[str, int | None] = {}
    for text in (what, *(text for _, text in facts)):
        sizes.update({name: sizes.get(name) for name in _NAMED.findall(text)})
        rows = [part.strip().partition(":") for row in _TYPED.findall(text) for part in row.split("|")]
        sizes.update({name: int(size) for name, _, size in rows if size})
    opened = {label: text for label, text in facts if _OPENED.match(text)}
    return [{"name": name, "size": sizes.get(name), "where": opened.get(name, "")} for name in {**sizes, **opened}]


def format_error(error: BaseException, source: Source) -> str:
    """Format an error as Python does, but message first, and with only the frames of the reader's program."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source.file]
    *before, said = traceback.format_exception_only(error)
    lines = [*traceback.format_list(frames), *before]
    return "".join([said.rstrip(), "\n", *lines]).replace(source.file, Path(source.file).name).rstrip()
