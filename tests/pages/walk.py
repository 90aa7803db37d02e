"""Write the functions that one example calls into docs/follow-one-example.md: `python -m tests.pages.walk`.

`python -m tests.pages.walk --path grad` prints the path of another call through the folder that implements it.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType, FunctionType, MethodType
from typing import NamedTuple

from mypy import api
from tinygrad import Tensor

import branded
from branded import grad, jit, scan, vmap
from tests.support.warm import MYPY, STRICT, warm

ROOT = Path(branded.__file__).parent
PAGE = ROOT.parent / "docs" / "follow-one-example.md"
APART = ("tinygrad_compat/", "hooks/", "mypy/hooks.py", "errors/calls.py")
"""Code that a path does not follow: tinygrad and mypy call it from any function, or it decorates each public one."""

Program = Callable[[], object]


def _vmap() -> Program:
    x, y = Tensor([1, 2, 3]), Tensor([4, 6, 8])
    return lambda: vmap(lambda a, b: a + b)(x, y)


def _grad() -> Program:
    x = Tensor([1.0, 2.0])
    return lambda: grad(lambda v: v.square().sum())(x)


def _jit() -> Program:
    x, f = Tensor([1.0, 2.0]).realize(), jit(lambda v: v * 2)
    return lambda: f(x)


def _scan() -> Program:
    init, xs = Tensor(0.0).clone(), Tensor([1.0, 2.0, 3.0]).realize()
    return lambda: scan(lambda c, v: (c + v, c * v), init, xs)


def _mypy() -> Program:
    """Prepare a type check of `vmap(lambda a, b: a + b)(x, y)`."""

    def check() -> None:
        with tempfile.TemporaryDirectory() as folder:
            config, program, cache = Path(folder, "mypy.ini"), Path(folder, "app.py"), Path(folder, "cache")
            config.write_text(STRICT)
            program.write_text(
                "from branded import vmap\nfrom tinygrad import Tensor\n"
                "vmap(lambda a, b: a + b)(Tensor([1, 2, 3]), Tensor([4, 6, 8]))\n"
            )
            warm(cache, MYPY, STRICT)
            out, err, status = api.run(["--config-file", str(config), "--cache-dir", str(cache), str(program)])
            assert not status, out + err

    return check


class Example(NamedTuple):
    """A program, and the part of its calls that is shown."""

    prepare: Callable[[], Program]
    folders: tuple[str, ...] = ("",)
    start: str = ""
    """The first function of the path; without it, the program runs once in advance, to fill caches."""


EXAMPLES = {
    "vmap": Example(_vmap),
    "grad": Example(_grad, ("autodiff/",)),
    "jit": Example(_jit, ("compile/",)),
    "scan": Example(_scan, ("control_flow/",)),
    "mypy": Example(_mypy, ("mypy/transforms/", "mypy/axes/", "mypy/analysis/"), "Vmap.apply"),
}


class Call(NamedTuple):
    """A function that is called."""

    file: str
    name: str


Calls = dict[Call, set[str]]
"""The calls in order of first use, with their parameters that are functions of the package."""


def calls_of(example: Example) -> Calls:
    """Return the functions of the package that a program calls."""
    calls: Calls = {}
    active: list[FrameType] = []  # the call of `start`, and inside it a call of code in `APART`

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "return" and active and frame is active[-1]:
            active.pop()
        if event != "call" or not code.co_filename.startswith(f"{ROOT}/"):
            return
        file = code.co_filename.removeprefix(f"{ROOT}/")
        if example.start and not active and code.co_qualname == example.start:
            active.append(frame)
        if len(active) != bool(example.start):
            return
        if file.startswith(APART):
            if example.start:
                active.append(frame)
        elif "<" not in code.co_name:
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            given = {n for n in names if _is_own_function(frame.f_locals.get(n))}
            calls.setdefault(Call(file, code.co_name), set()).update(given)

    program = example.prepare()
    if not example.start:
        program()
        program()
    sys.setprofile(note)
    try:
        program()
    finally:
        sys.setprofile(None)
    return calls


def _is_own_function(x: object) -> bool:
    if isinstance(x, functools.partial):
        return _is_own_function(x.func)
    f = x.__func__ if isinstance(x, MethodType) else x
    return isinstance(f, FunctionType) and f.__code__.co_filename.startswith(f"{ROOT}/")


class Size(NamedTuple):
    """The size of a path."""

    files: int
    changes: int
    """The number of changes from one file to another."""
    callables: int
    """The number of parameters that are functions, in all folders, without the user's functions."""


def size_of(name: str, calls: Calls) -> Size:
    files = [c.file for c in calls if c.file.startswith(EXAMPLES[name].folders)]
    return Size(len({*files}), sum(a != b for a, b in itertools.pairwise(files)), sum(map(len, calls.values())))


def text(name: str, calls: Calls) -> str:
    """Return a line for each change of file."""
    shown = [c for c in calls if c.file.startswith(EXAMPLES[name].folders)]
    parts = itertools.groupby(shown, lambda call: call.file)
    return "\n".join(f"{file:<32} {' '.join(c.name for c in part)}" for file, part in parts)


def said() -> str:
    """Return the path that the page shows."""
    return PAGE.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0].strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", choices=EXAMPLES, help="print the path of this call, and write nothing")
    chosen = parser.parse_args().path
    name = chosen or "vmap"
    path = calls_of(EXAMPLES[name])
    if chosen is None:
        page = PAGE.read_text(encoding="utf-8")
        head = page.partition("```text\n")[0]
        PAGE.write_text(f"{head}```text\n{text(name, path)}\n```\n", encoding="utf-8")
    print(text(name, path), size_of(name, path), sep="\n")
