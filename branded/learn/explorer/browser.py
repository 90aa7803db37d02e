"""What runs a reader's program in the browser: Pyodide's Python calls `run`, and the page shows what it gives."""

from __future__ import annotations

import inspect
import json
import linecache
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from branded import tree
from branded.errors import BrandedError, ExplorerError
from branded.explain import example_arguments, explain
from branded.explain.data import is_array
from branded.patches import tg
from branded.program import make_expr

LARGEST = 16
"""The size of an axis that tinygrad's Python device still computes while a reader waits."""

FILE = "program.py"


def use_python_device() -> None:
    """Let tinygrad's Python device do the CPU's part: values of no device of their own are computed there."""
    devices = tg._Device
    found = devices.get_class

    def get_class(self: Any, name: str) -> Any:
        return found(self, "PYTHON" if name.split(":")[0] == "CPU" else name)

    devices.get_class = get_class


def run(source: str, names: list[str]) -> tuple[str, str]:
    """Run a program and explain functions of it.

    Args:
        source: The text of the program.
        names: The functions, if the program has them; else its last one is explained.

    Returns:
        `explained` and a JSON list of explanations; or `mistake` and what to tell the reader, with the line.
    """
    path = Path(FILE).resolve()
    path.write_text(source, encoding="utf-8")
    linecache.checkcache()
    module = types.ModuleType("program")
    module.__dict__["__file__"] = str(path)
    sys.modules["program"] = module
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        found = [_explained(f) for f in _functions(module, names)]
    except BrandedError as error:
        return "mistake", f"{_place(error, path)}{error}"
    except (Exception, SystemExit) as error:  # whatever it is, the reader made it and has to see it
        return "mistake", _told(error, path)
    return "explained", json.dumps(found)


def _functions(module: types.ModuleType, names: list[str]) -> Sequence[Callable[..., Any]]:
    own = {k: f for k, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__}
    if wanted := [own[name] for name in names if name in own]:
        return wanted
    if not own:
        raise ExplorerError("explorer: the program has no function", fix="def f(a: Tensor = Tensor([1.0, 2.0])): ...")
    return [list(own.values())[-1]]


def _explained(f: Callable[..., Any]) -> dict[str, Any]:
    args, kwargs = example_arguments(f)
    check_sizes(f, args, kwargs)
    # the page says that mypy does not run here; how to install it is of no use
    return {**explain(f)(*args, **kwargs).data(), "notes": []}


def check_sizes(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise before anything is computed if an axis of a value in the program is too large."""
    fixed = [i for i, a in enumerate(args) if not any(map(is_array, tree.leaves(a)))]
    program = make_expr(f, static_argnums=fixed)(*args, **kwargs).program
    for v in (*program.invars, *program.constvars, *(v for e in program.eqns for v in e.results)):
        if (size := max((*(b.size for b in v.type.row), *v.type.shape), default=0)) > LARGEST:
            raise ExplorerError(
                f"explorer: an axis of {size} is too large for the browser",
                ("value", str(v.type)),
                fix=f"at most {LARGEST}, or `python -m branded explain` on your machine",
            )


def _place(error: BaseException, path: Path) -> str:
    """`line 12: `, the innermost line of the reader's program that the error came through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"line {lines[-1]}: " if lines else ""


def _told(error: BaseException, path: Path) -> str:
    """An error as Python tells it, with the frames of the reader's program only."""
    own = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in own if frame.filename == str(path)]
    told = traceback.format_exception_only(error)
    return "".join([*traceback.format_list(frames), *told]).replace(str(path), FILE).rstrip()
