"""Run a program of the gallery, and compare its output with the intended output.

This file needs only Python, so it also runs where only another library is installed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import math
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json"
PEERS = ("jax", "torch", "numpy")
SIDES = ("wrong", "right")
"""The folders of our programs."""


class Outcome(NamedTuple):
    """The result of a program: the statements shown, the output, and the final error or warning.

    `source` ends with the statement that raised, since later statements did not run.
    """

    source: str
    printed: str
    error: str = ""
    warning: str = ""


def shown(file: Path) -> str:
    """Return the program as shown on the page: without blank lines, so that readers can count its lines."""
    return "".join(line + "\n" for line in file.read_text().splitlines() if line.strip())


def run(source: str) -> Outcome:
    """Run a program as `app.py`, statement by statement, until one raises."""
    lines, printed, said = source.splitlines(keepends=True), io.StringIO(), ""
    names: dict[str, Any] = {"__name__": "app"}
    linecache.cache["app.py"] = (len(source), None, lines, "app.py")  # messages quote the lines of a file
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for statement in ast.parse(source).body:
            try:
                exec(compile(ast.Module([statement], []), "app.py", "exec"), names)
            except Exception as error:
                said, lines = f"{_name(error)}: {error}", lines[: statement.end_lineno]
                break
    del linecache.cache["app.py"]
    warning = "".join(f"{w.category.__name__}: {w.message}" for w in told[:1])
    return Outcome("".join(lines), printed.getvalue().strip(), _same_each_time(said), _same_each_time(warning))


def _name(error: Exception) -> str:
    cls = type(error)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def _same_each_time(message: str) -> str:
    """Remove from a message the parts that differ between runs or machines."""
    message = re.sub(r"0x[0-9a-f]{6,}|(?<=object id )\d+", "…", message)
    return re.sub(r"(?<![:\w/.])(?:/[\w.+-]+)+/(?=[\w-]+\.\w+)", "", message)


def agree(printed: str, wanted: str) -> bool:
    """Return whether two outputs agree up to rounding."""
    try:
        return _close(ast.literal_eval(printed), ast.literal_eval(wanted))
    except (SyntaxError, ValueError):  # not a literal, such as nan
        return False


def _close(a: object, b: object) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, bool | int | float) and isinstance(b, bool | int | float):
        return isinstance(a, bool) == isinstance(b, bool) and math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
    return False
