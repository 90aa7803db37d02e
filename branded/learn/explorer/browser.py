"""Run a reader's program in the browser: Pyodide calls `run`, and the page shows the result."""

from __future__ import annotations

import inspect
import json
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from branded import tree
from branded.errors import ExplainError, ExplorerError
from branded.explain import example_arguments, explain
from branded.explain.code import Source
from branded.explain.data import is_array
from branded.ir import make_expr
from branded.learn.explorer.mistakes import in_own_words, mistaken, write_source
from branded.tinygrad_compat import private_api

LARGEST = 16
"""The largest axis size that tinygrad's Python device computes fast enough for a reader."""

FILE = "program.py"


def use_python_device() -> None:
    """Replace the CPU by tinygrad's Python device, also for values without a device."""
    devices = private_api._Device
    found = devices.get_class

    def get_class(self: Any, name: str) -> Any:
        return found(self, "PYTHON" if name.split(":")[0] == "CPU" else name)

    devices.get_class = get_class


def run(source: str, names: list[str]) -> str:
    """Run a program and explain functions of it.

    Args:
        source: The text of the program.
        names: The functions to explain; if the program has none of them, its last function is explained.

    Returns:
        A JSON list of explanations.  After an error, the list has one entry with the line and the message.
    """
    path = write_source(source, FILE)
    module = types.ModuleType("program")
    module.__dict__["__file__"] = path
    sys.modules["program"] = module
    name, begins = "the program", None
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
        found = []
        for f in _functions(module, names):
            name, begins = f.__name__, f.__code__.co_firstlineno
            found.append(_explain_call(f))
    except (Exception, SystemExit) as error:  # any error comes from the reader's code, so show it
        found = [mistaken(name, Source(source, path, 1), error, begins=begins)]
    return json.dumps(found)


def _functions(module: types.ModuleType, names: list[str]) -> Sequence[types.FunctionType]:
    own = {k: f for k, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__}
    if wanted := [own[name] for name in names if name in own]:
        return wanted
    if not own:
        raise ExplorerError("explorer: the program has no function", fix="def f(a: Tensor = Tensor([1.0, 2.0])): ...")
    return [list(own.values())[-1]]


def _explain_call(f: types.FunctionType) -> dict[str, Any]:
    args, kwargs = _arguments(f)
    in_own_words(f, args, lambda: check_sizes(f, args, kwargs), **kwargs)
    # drop the notes: mypy cannot be installed in the browser, and the page already says so
    return {**explain(f)(*args, **kwargs).data(), "notes": []}


def _arguments(f: types.FunctionType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the defaults of a function's parameters as arguments."""
    try:
        return example_arguments(f)
    except ExplainError:
        without = [p.name for p in inspect.signature(f).parameters.values() if p.default is p.empty]
        name = f.__name__ if f.__name__.isidentifier() else "f"
        raise ExplorerError(
            f"explorer: there is no default for {', '.join(f'`{each}`' for each in without)}",
            fix=f"def {name}({', '.join(f'{each}=Tensor([1.0, 2.0])' for each in without)}): ...",
        ) from None


def check_sizes(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise an error if an axis of a value in the program is too large; the program is only traced."""
    fixed = [i for i, a in enumerate(args) if not any(map(is_array, tree.leaves(a)))]
    program = make_expr(f, static_argnums=fixed)(*args, **kwargs).program
    for v in (*program.invars, *program.constvars, *(v for e in program.eqns for v in e.results)):
        if (size := max((*(b.size for b in v.type.row), *v.type.shape), default=0)) > LARGEST:
            raise ExplorerError(
                f"explorer: an axis of {size} is too large for the browser",
                ("value", str(v.type)),
                fix=f"use at most {LARGEST}, or `python -m branded explain` on your machine",
            )
