"""Random class bodies whose objects and methods are mapped: the plugin never fails, whatever a body does.

    python -m tests.fuzz.classes --programs 2000 --seed 7

A program is a class with a base, fields, and methods of random statements, and vmaps of its object, its methods and a
function that calls them.  mypy may report errors; it must not crash, and the plugin must not fail.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mypy import main

from tests.support.warm import MYPY, ROOT, STRICT, apart, warm

IMPORTS = """from __future__ import annotations
import abc, dataclasses, enum, functools
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar, Final, Generic, NamedTuple, Protocol, Self, TypeVar, TypedDict, overload
from tinygrad import Tensor, nn
from branded import vmap, grad, jit, scan, cond
T = TypeVar("T")
X = Tensor.ones(3, 4)
kept: list[Tensor] = []
"""
HEADS = (
    "class {name}:",
    "class {name}(Base{name}):",
    "class {name}(Base{name}, Other{name}):",
    "class {name}(Generic[T]):",
    "class {name}(Protocol):",
    "class {name}(abc.ABC):",
    "class {name}(NamedTuple):",
    "class {name}(nn.Linear):",
    "class {name}(enum.Enum):",
    "class {name}(dict[str, Tensor]):",
    "class {name}(Unknown):",
    "class {name}(TypedDict):",
    "@dataclass\nclass {name}:",
    "@dataclass(frozen=True)\nclass {name}(Base{name}):",
    "@functools.total_ordering\nclass {name}:",
)
FIELDS = (
    "w: Tensor = X",
    "size = 3",
    "k: ClassVar[int] = 1",
    "n: Final = 2",
    "__slots__ = ('size', 'w')",
    "act = staticmethod(lambda x: x * 2)",
    "f: Callable[[Tensor], Tensor] = lambda x: x + 1",
    "w: Tensor",
    "items: list[Tensor] = []",
    "helper = inner = None",
    "y = vmap(lambda a: a * 2)(X)",
    "class Inner:\n    def __call__(self, x: Tensor) -> Tensor:\n        self.seen = x\n        return x",
)
STATEMENTS = (
    "self.size = 3",
    "self.w = x",
    "self.w: Tensor = x * 2",
    "self.a, self.b = x, 1",
    "self.a = self.b = x",
    "self.size += 1",
    "self.items = [x]",
    "self.items.append(x)",
    "self.d = {}\nself.d['x'] = x",
    "self.none = None",
    "self.none = x",
    "self.empty = []",
    "self.empty.append(x)",
    "self.f = lambda y: y * x",
    "self.cls = type(self)",
    "type(self).size = 4",
    "kept.append(x)",
    "x = self.inner(x)",
    "x = self.prop * x",
    "x = self.stat(x)",
    "x = self.made(x)",
    "x = super().inner(x)",
    "x = self(x)",
    "x = self.Inner()(x)",
    "x = vmap(self.inner)(x)",
    "x = vmap(lambda r: self.inner(r) + x)(X)",
    "x = grad(lambda r: (r * x).sum())(x)",
    "x = jit(self.inner)(x)",
    "z = [self.inner(i) for i in (x, x)]",
    "z2 = {k: v for k, v in zip('ab', (x, x))}",
    "for i in range(2):\n    self.i = i\n    x = x + i",
    "while False:\n    self.loop = x",
    "if x.ndim > 1:\n    self.branch = x\nelse:\n    self.branch = None",
    "if (y := x * 2).ndim:\n    self.walrus = y",
    "try:\n    self.t = x\nexcept ValueError as e:\n    self.e = e\nfinally:\n    self.done = True",
    "with open('f') as self.file:\n    pass",
    "def nested(y: Tensor) -> Tensor:\n    self.nested = y\n    return y * x\nx = nested(x)",
    "class Local:\n    def __init__(self, v: Tensor) -> None:\n        self.v = v\nx = Local(x).v",
    "global kept\nkept = [x]",
    "del self.w",
    "assert isinstance(x, Tensor)",
    "match x:\n    case Tensor() as m:\n        self.m = m\n    case _:\n        self.m = None",
    "@dataclass\nclass D:\n    v: Tensor\nself.data = D(x)\nx = self.data.v",
    "self.unknown.thing = x",
    "setattr(self, 'q', x)",
    "return x.item()",
    "raise ValueError(x)",
    "x: int = 3",
    "self.__class__ = Other",
    "yield x",
    "lambda: (self, x)",
    "print(f'{x} {self.size}')",
    "import math\nself.pi = math.pi",
)
METHODS = (
    "def __call__(self, x: Tensor) -> Tensor:",
    "def inner(self, x: Tensor) -> Tensor:",
    "def inner(self, x: Tensor, k: int = 1, *rest: Tensor, **named: Tensor) -> Tensor:",
    "@property\ndef prop(self) -> Tensor:",
    "@functools.cached_property\ndef prop(self) -> Tensor:",
    "@staticmethod\ndef stat(x: Tensor) -> Tensor:",
    "@classmethod\ndef made(cls, x: Tensor) -> Tensor:",
    "def __init__(self, x: Tensor = X) -> None:",
    "def __init__(self) -> None:",
    "def me(self: Self, x: Tensor) -> Self:",
    "def __getattr__(self, name: str) -> Any:",
    "def __add__(self, x: Tensor) -> Tensor:",
    "def untyped(self, x):",
    "async def later(self, x: Tensor) -> Tensor:",
    "@functools.lru_cache\ndef inner(self, x: Tensor) -> Tensor:",
    "@abc.abstractmethod\ndef inner(self, x: Tensor) -> Tensor:",
    "@overload\ndef inner(self, x: Tensor) -> Tensor: ...\n@overload\ndef inner(self, x: int) -> int: ...\n"
    "def inner(self, x: Any) -> Any:",
    "if bool(X.ndim):\n    def __call__(self, x: Tensor) -> Tensor:\n        return x\n"
    "else:\n  def __call__(self, x: Tensor) -> Tensor:",
)
USES = (
    "vmap({name}())(X)",
    "vmap({name}.__call__, in_axes=(None, 0))({name}(), X)",
    "vmap({name}().inner)(X)",
    "vmap({name}.stat)(X)",
    "vmap({name}.made)(X)",
    "vmap(lambda a: {name}()(a))(X)",
    "vmap(lambda a: {name}(a))(X)",
    "vmap(lambda a: {name}(a).prop)(X)",
    "o{name} = {name}()\nvmap(o{name})(X)\nvmap(o{name}.me)(X)\nvmap(o{name}.untyped)(X)",
    "def use{name}(o: {name}, x: Tensor) -> Tensor:\n    o.w = x\n    return o.inner(x)\n"
    "vmap(use{name}, in_axes=(None, 0))({name}(), X)",
    "class Use{name}:\n    o = {name}()\n    y = vmap(o)(X)\n"
    "    def run(self, x: Tensor) -> Tensor:\n        self.y = vmap(self.o)(x)\n        return vmap(self.o.inner)(x)",
    "scan(lambda c, x: (c, {name}()(x)), X, X)",
    "vmap(grad(lambda a: {name}()(a).sum()))(X)",
)


def indented(text: str, by: str = "    ") -> str:
    return "\n".join(by + line for line in text.split("\n"))


def program(random: random.Random, name: str) -> str:
    """Return a class, and statements that use it."""

    def body() -> str:
        return "\n".join([*random.sample(STATEMENTS, random.randrange(4)), "return x"])

    # method names must be unique: mypy itself can crash on duplicates
    methods = {re.findall(r"def (\w+)", m)[0]: m for m in random.sample(METHODS, random.randrange(1, 6))}.values()
    parts = [*random.sample(FIELDS, random.randrange(3)), *(f"{m}\n{indented(body())}" for m in methods)]
    base = f"class Base{name}:\n    w: Tensor = X\n    size: int = 0\n    def inner(self, x: Tensor) -> Tensor:\n"
    base += f"{indented(body(), ' ' * 8)}\nclass Other{name}:\n    size = 1\n    a = None\n"
    head = random.choice(HEADS).format(name=name)
    uses = [use.format(name=name) for use in random.sample(USES, random.randrange(1, 5))]
    return "\n".join([base + head, *map(indented, parts), *uses, ""])


def said(file: Path, cache: Path) -> str:
    """Return the output of mypy for a file."""
    os.chdir(file.parent)
    out = io.StringIO()
    with contextlib.redirect_stderr(out), contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main.main(stdout=out, stderr=out, args=["--cache-dir", str(cache), file.name], clean_exit=True)
    return out.getvalue()


said_of = apart(said)


FAILED = re.compile(r":(\d+): error: (?:branded: the plugin failed|INTERNAL ERROR).*")


def failing(
    make: Callable[[random.Random, str], Sequence[str]], heads: Sequence[str], n: int, seed: int
) -> Iterator[str]:
    """Find the programs for which mypy crashes or the plugin fails.

    `make` returns the text of a program in each file; the last file imports the others.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "project")
        folder.mkdir()
        (folder / "mypy.ini").write_text(STRICT)
        warm(Path(name, "cache"), MYPY, STRICT)
        for first in range(seed, seed + n, 50):  # a run of mypy takes much longer than one program
            programs = [make(random.Random(i), f"C{i}") for i in range(first, min(first + 50, seed + n))]
            yield from _failing(programs, heads, folder, Path(name, "cache"))


def _failing(programs: list[Sequence[str]], heads: Sequence[str], folder: Path, cache: Path) -> Iterator[str]:
    for file, head, texts in zip(("lib.py", "app.py")[-len(heads) :], heads, zip(*programs, strict=True), strict=True):
        (folder / file).write_text("".join([head, *texts]))
    try:
        told = said_of(folder / "app.py", cache)
    except EOFError:
        told = "the process died"
    found = FAILED.search(told)
    if found is None and re.search(r"^(?:Success|Found \d)", told, re.MULTILINE):
        return
    if len(programs) > 1:
        half = len(programs) // 2
        yield from _failing(programs[:half], heads, folder, cache)
        yield from _failing(programs[half:], heads, folder, cache)
    else:
        yield "\n".join([found[0] if found else told, *programs[0]])


def wrong(count: int, seed: int) -> Iterator[str]:
    """Find the classes for which mypy crashes or the plugin fails."""
    return failing(lambda random, name: [program(random, name)], [IMPORTS], count, seed)


def run_all(name: str, about: str, wrong: Callable[[int, int], Iterator[str]]) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m tests.fuzz.{name}", description=about.splitlines()[0])
    parser.add_argument("--programs", type=int, default=500, help="the number of programs (default 500)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="the seed of the first")
    args = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory() as root:
        os.environ.setdefault(ROOT, root)
        for w in wrong(args.programs, args.seed):
            print(w, flush=True)
            count += 1
    print(f"seed {args.seed}: {count} of {args.programs} programs are wrong")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(run_all("classes", __doc__, wrong))
