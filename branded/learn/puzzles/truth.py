"""Find the facts about a program by running it or mypy: its output, the line that raises, and mypy's messages."""

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
from tinygrad import Tensor

from branded import Vec, all_gather, axis_index, brand, brands, cond, fori_loop, grad, hessian, jacfwd, jacrev
from branded import jvp, pmax, pmean, ppermute, psum, random, scan, vec_type, vjp, vmap, while_loop
from branded.typing import S, S1
"""
"""The names that every program, starter and solution can use."""

FILE = "<puzzle>"
_LABEL = re.compile(r"#\s*([A-Z])\s*$")
_LABELS = re.compile(r"[A-Z]( [A-Z])*|none")
_VEC = re.compile(r"Vec\[(?P<row>[^,\[\]]*)(?:,\s*(?P<one>.*))?\]$", re.S | re.I)
_MAKER = re.compile(r"^[A-Za-z_.]+(?=[(\[])")
"""The name in front of numbers: `Tensor([1, 2])`."""
_BETWEEN = re.compile(r"(?<=[\d.)\]])[\s,;x]+(?:and\s+)?(?=[-+]?[\d.(\[])")
"""The characters between two numbers: `1 2`, `1, 2`, `2 x 3`, `1 and 2`."""
_SAID = re.compile(r"^.*puzzle_(?P<number>\d+)\.py:(?P<line>\d+): (?P<text>.*)$", re.M)
_REVEALED = re.compile(r'Revealed type is "(.*)"')


class Asked(Protocol):
    """The attributes of a `Predict` that are needed to find its answer."""

    @property
    def number(self) -> int: ...
    @property
    def given(self) -> str: ...
    @property
    def probe(self) -> str: ...


class Unknown(Exception):
    """Raised if the answer of a puzzle cannot be found; the message names the missing package."""


def run_source(source: str) -> dict[str, Any]:
    """Run a program and return its names."""
    names: dict[str, Any] = {"__name__": "puzzle"}
    exec(compile(PREAMBLE + dedent(source), FILE, "exec", dont_inherit=True), names)
    return names


@functools.cache
def program_output(puzzle: Asked) -> str:
    """Return the output of the program."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run_source(f"{puzzle.given}\n{dedent(puzzle.probe)}")
    return out.getvalue().strip()


@functools.cache
def rejected_line(puzzle: Asked) -> str:
    """Return the label of the line that raises an error when the program runs."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run_source(puzzle.given)
    except BrandedError as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == FILE]
        return _label(puzzle, int(frames[-1].lineno or 0))
    return "none"


ABOUT_MYPY: list[Asked] = []
"""All puzzles whose answer comes from mypy; the module that collects the puzzles fills the list."""


def rejected_by_mypy(puzzle: Asked) -> str:
    """Return the labels of the lines in which mypy finds an error."""
    said = [(line, text) for n, line, text in _mypy() if n == puzzle.number]
    lines = sorted({line for line, text in said if not text.startswith("note: ")})
    return " ".join(_label(puzzle, line) for line in lines) or "none"


def revealed_by_mypy(puzzle: Asked) -> str:
    """Return the type that mypy reports for the program's `reveal_type`."""
    types = [m[1] for n, _, text in _mypy() if n == puzzle.number and (m := _REVEALED.search(text))]
    return "\n".join(types) or "none"


def _label(puzzle: Asked, line: int) -> str:
    text = (PREAMBLE + puzzle.given).splitlines()[line - 1]
    if (found := _LABEL.search(text)) is None:
        raise ValueError(f"puzzle {puzzle.number}: this line has no label: {text}")
    return found[1]


@functools.cache
def _mypy() -> list[tuple[int, int, str]]:
    """Return mypy's messages about all programs in `ABOUT_MYPY` (number, line, text), from a single run of mypy."""
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
    """Return the cache folder of branded, which may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "branded"


def _cache(folder: str) -> Path:
    """Return the folder for mypy's cache, or a folder inside `folder` if the cache is not writable."""
    try:
        cache = own_cache() / "mypy"
        cache.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return Path(folder, "cache")
    return cache if os.access(cache, os.W_OK) else Path(folder, "cache")


def same_prediction(said: str, truth: str) -> bool:
    """Return whether a prediction is correct.

    The order of brands, spaces, missing sizes, and the spelling of numbers and labels do not matter.
    """
    if (a := _value(said)) is not None and (b := _value(truth)) is not None:
        return bool(a == b)
    if _LABELS.fullmatch(truth):
        return _labels(said) == _labels(truth)
    ours, theirs = _type(said), _type(truth)
    return _same_row(ours[0], theirs[0]) and ours[1] == theirs[1]


def what_is_right(said: str, truth: str) -> list[str]:
    """Return a line about the form of a prediction, or about the correct part of a type."""
    text = _plain(said)
    if bracket := _find_unbalanced(text):
        return [bracket]
    if _LABELS.fullmatch(truth):
        return [] if _LABELS.fullmatch(" ".join(_labels(said)).upper()) else ["Answer with the letter of a line."]
    if text.casefold().startswith("vec") and not _VEC.fullmatch(text):
        return ["A type is written as in `Vec[i:3 | j:2, f32[4]]`."]
    if not _VEC.search(text + truth):
        return []
    (ours, one), (theirs, true_one) = _type(said), _type(truth)
    if _same_row(ours, theirs):
        return ["The brands are right; the type of one example is not."]
    if ours.keys() == theirs.keys():
        wrong = " and ".join(f"`{name}`" for name in ours if not _same_size(ours[name], theirs[name]))
        if one == true_one:
            return [f"The type of one example is right; the size of {wrong} is not."]
        return [f"The names of the brands are right; the size of {wrong} and the type of one example are not."]
    return ["The type of one example is right; the brands are not."] if one == true_one else []


Row = dict[str, str]
"""The names of brands, with their sizes if given."""


def _type(text: str) -> tuple[Row, str]:
    """Split `Vec[x:3 | y:2, f32[4]]` into its brands and the type of one example; other texts have no brands."""
    text = _plain(text)
    if (m := _VEC.fullmatch(text)) is None:
        return {}, "".join(text.split()).casefold()
    brands = (b.partition(":") for b in m["row"].split("|"))
    return {name.strip(): size.strip() for name, _, size in brands}, "".join((m["one"] or "Tensor").split()).casefold()


def _same_row(a: Row, b: Row) -> bool:
    return a.keys() == b.keys() and all(_same_size(a[k], b[k]) for k in a)


def _same_size(a: str, b: str) -> bool:
    return not a or not b or a == b


def _plain(text: str) -> str:
    """Return a text without quotes."""
    return re.sub("[`'\"]", "", text).strip()


def _labels(text: str) -> list[str]:
    """Return the letters in `B`, `(B)`, `line B` or `A and B`."""
    return sorted({*re.findall(r"\w+", text.casefold())} - {"line", "lines", "and"})


def _find_unbalanced(text: str) -> str | None:
    """Return a complaint if the text has one opening or closing bracket too many, else None."""
    for opening, closing in ("[]", "()"):
        if (more := text.count(opening) - text.count(closing)) != 0:
            return f"A `{closing}` is missing." if more > 0 else f"There is one `{closing}` too many."
    return None


def _value(text: str) -> Any:
    """Return a number, or nested tuples of numbers, however they are written; None for other texts."""
    try:
        value = _round_numbers(ast.literal_eval(_BETWEEN.sub(", ", _MAKER.sub("", _plain(text)))))
        return value[0] if isinstance(value, tuple) and len(value) == 1 else value  # (3,) is often written as 3
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _round_numbers(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return tuple(map(_round_numbers, x))
    if isinstance(x, int | float):
        return round(float(x), 4)
    raise ValueError
