"""The truth about a program, from the library itself: what it prints, which line is refused, what mypy says of it."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import re
import tempfile
import traceback
from pathlib import Path
from textwrap import dedent
from typing import Any, Protocol

from branded.errors import BrandedError

PREAMBLE = """\
from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, all_gather, axis_index, brand, brands, cond, fori_loop, grad, hessian, jacfwd, jacrev
from branded import jvp, pmax, pmean, ppermute, psum, random, scan, vec_type, vjp, vmap, while_loop

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
"""
"""What every program, every starter and every solution finds."""

FILE = "<puzzle>"
_LABEL = re.compile(r"#\s*([A-Z])\s*$")
_VEC = re.compile(r"Vec\[(?P<row>[^,\[\]]*)(?:,\s*(?P<one>.*))?\]$", re.S)
_SAID = re.compile(r"^.*puzzle_(?P<number>\d+)\.py:(?P<line>\d+): (?P<text>.*)$", re.M)
_REVEALED = re.compile(r'Revealed type is "(.*)"')


class Asked(Protocol):
    """What a `Predict` says of its program."""

    @property
    def number(self) -> int: ...
    @property
    def given(self) -> str: ...
    @property
    def probe(self) -> str: ...


class Unknown(Exception):
    """The truth cannot be found here; the message says what is missing."""


def run_source(source: str) -> dict[str, Any]:
    """The names of a program after it has run."""
    names: dict[str, Any] = {"__name__": "puzzle"}
    exec(compile(PREAMBLE + dedent(source), FILE, "exec", dont_inherit=True), names)
    return names


# ---- ways to the truth ----


@functools.cache
def printed(puzzle: Asked) -> str:
    """What the program prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run_source(f"{puzzle.given}\n{dedent(puzzle.probe)}")
    return out.getvalue().strip()


@functools.cache
def refused(puzzle: Asked) -> str:
    """The label of the line that is refused when the program runs."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run_source(puzzle.given)
    except BrandedError as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == FILE]
        return _label(puzzle, int(frames[-1].lineno or 0))
    return "none"


ABOUT_MYPY: list[Asked] = []
"""All puzzles that mypy answers; who collects the puzzles puts them here."""


def refused_by_mypy(puzzle: Asked) -> str:
    """The labels of the lines in which mypy finds an error."""
    said = [(line, text) for n, line, text in _mypy() if n == puzzle.number]
    lines = sorted({line for line, text in said if not text.startswith("note: ")})
    return " ".join(_label(puzzle, line) for line in lines) or "none"


def revealed_by_mypy(puzzle: Asked) -> str:
    """The type that mypy gives for the program's `reveal_type`."""
    types = [m[1] for n, _, text in _mypy() if n == puzzle.number and (m := _REVEALED.search(text))]
    return "\n".join(types) or "none"


def _label(puzzle: Asked, line: int) -> str:
    text = (PREAMBLE + puzzle.given).splitlines()[line - 1]
    if (found := _LABEL.search(text)) is None:
        raise ValueError(f"puzzle {puzzle.number}: this line has no label: {text}")
    return found[1]


@functools.cache
def _mypy() -> list[tuple[int, int, str]]:
    """What mypy says of all programs that are about it: number, line and text; one run for all."""
    try:
        from branded.mypy.check import check
    except ModuleNotFoundError:
        raise Unknown("mypy answers this one, and is not here: pip install 'branded[mypy]'") from None
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for p in ABOUT_MYPY:
            files.append(Path(folder, f"puzzle_{p.number}.py"))
            files[-1].write_text(PREAMBLE + p.given + "\n")
        text, status = check(["--config-file=", f"--cache-dir={_cache(folder)}", *map(str, files)])
    if status == 2:
        raise Unknown(f"mypy could not check the programs: {text}")
    return [(int(m["number"]), int(m["line"]), m["text"]) for m in _SAID.finditer(text)]


def own_cache() -> Path:
    """Where things are kept from one run to the next, whether there is such a folder yet or not."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "branded"


def _cache(folder: str) -> Path:
    """Where mypy keeps what it knows of tinygrad from one run to the next; in `folder`, if it cannot be kept."""
    try:
        cache = own_cache() / "mypy"
        cache.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return Path(folder, "cache")
    return cache if os.access(cache, os.W_OK) else Path(folder, "cache")


# ---- comparing ----


def same_prediction(said: str, truth: str) -> bool:
    """Is a prediction the truth, in whatever order of brands, with whatever spaces, with or without sizes?"""
    if (a := _value(said)) is not None and (b := _value(truth)) is not None:
        return bool(a == b)
    ours, theirs = _type(said), _type(truth)
    return _same_row(ours[0], theirs[0]) and ours[1] == theirs[1]


def what_is_right(said: str, truth: str) -> list[str]:
    """Which half of a type is right, for one who has the other half wrong."""
    ours, theirs = _type(said), _type(truth)
    if not _VEC.search(said + truth):
        return []
    if ours[1] == theirs[1]:
        return ["The type of one example is right; the brands are not."]
    return ["The brands are right; the type of one example is not."] if _same_row(ours[0], theirs[0]) else []


Row = dict[str, str]
"""The names of brands, with the size of each where it is said."""


def _type(text: str) -> tuple[Row, str]:
    """`Vec[x:3 | y:2, f32[4]]` as the row and the type of one example; any other text has the empty row."""
    text = text.strip("`'\" \n")
    if (m := _VEC.fullmatch(text)) is None:
        return {}, "".join(text.split()).casefold().removeprefix("line")
    brands = (b.partition(":") for b in m["row"].split("|"))
    return {name.strip(): size.strip() for name, _, size in brands}, "".join((m["one"] or "Tensor").split()).casefold()


def _same_row(a: Row, b: Row) -> bool:
    return a.keys() == b.keys() and all(not a[k] or not b[k] or a[k] == b[k] for k in a)


def _value(text: str) -> Any:
    """A number, or nested tuples of numbers; None for any other text."""
    try:
        value = _rounded(ast.literal_eval(text.strip("`'\" \n")))
        return value[0] if isinstance(value, tuple) and len(value) == 1 else value  # the shape (3,) is 3 to many
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _rounded(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return tuple(map(_rounded, x))
    if isinstance(x, int | float):
        return round(float(x), 4)
    raise ValueError
