"""Programs of several files with one mistake each: mypy reports one error, at the place to change."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.warm import MYPY, STRICT, warm

HEAD = "from tinygrad import Tensor\nfrom branded import vmap\n"
ROWS = 'from typing import TypeVar\nfrom branded import Brand, Vec\nS = TypeVar("S", bound=Brand)\n'
READ = "def read(x: Tensor) -> float:\n    return x.sum().item()\n"
NAMED = """from branded import Axes, Brand
class Users(Brand): ...
class Items(Brand): ...
class Taste(Brand): ...
"""
LIKED = "    return vmap(lambda u: vmap(lambda i: (u * i).sum())(I))(U)\n"
AXES = """from branded import Axes, Brand, Vec, as_axes, scan
from branded.typing import S, S1
class Users(Brand): ...
class Items(Brand): ...
class Taste(Brand): ...
def unit(x: Vec[S, Axes[Taste]]) -> Vec[S, Axes[Taste]]: return x / x.sum()
def both(x: Vec[S, Axes[Taste]], y: Vec[S1, Axes[Taste]]) -> Vec[S | S1, Axes[Taste]]: return x * y
"""
USES = "print(read, vmap(lambda x: x))\n"
CASES = {
    "a zip of two axes, and then the declared axes of the result": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        f"{AXES}{USES}def f(a: Axes[Taste], U: Axes[Users, Taste]) -> Axes[Users, Taste]:\n"
        "    both_of = vmap(both)(a, U)\n    return vmap(unit)(both_of)\n",
        ("app", "    both_of ="),
    ),
    "a rejected call, and then a result of its result": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        f"{AXES}{USES}def f(a: Axes[Taste], U: Axes[Users, Taste]) -> Axes[Users, Taste]:\n"
        "    rows = vmap(unit, in_axes=1)(U)\n    more = vmap(both, in_axes=(None, 0))(a, rows)\n"
        "    return vmap(unit)(more)\n",
        ("app", "    rows ="),
    ),
    "two arguments of a call with other rows": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        f"{AXES}from typing import Generic, NamedTuple\n{USES}class Root(NamedTuple, Generic[S]):\n"
        "    x: Vec[S]\n    slope: Vec[S]\n"
        "def f(x: Vec[S], y: Vec[S1]) -> Root[S]:\n    return Root(x * y, y + x)\n",
        ("app", "    return Root"),
    ),
    "a key that a dict does not have, and then a result of the entry": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        f"{AXES}{USES}from typing import TypedDict\nclass P(TypedDict):\n    w: Tensor\n"
        'def f(p: P, x: Tensor) -> Tensor:\n    h = x @ p["v"]\n    return h * 2\n',
        ("app", "    h ="),
    ),
    "a zip for outer in the library, which its declared axes show": (
        f"{NAMED}def read(U: Axes[Users, Taste], I: Axes[Items, Taste]) -> Tensor:\n"
        "    return vmap(lambda u, i: (u * i).sum())(U, I)\n",
        "from branded import as_axes\nfrom lib import Items, Taste, Users\n"
        "I = as_axes(Tensor.ones(3, 2), Items, Taste)\n"
        "print(read(as_axes(Tensor.ones(4, 2), Users, Taste), I).numpy(), vmap(lambda x: x)(I))\n",
        ("lib", "    return vmap"),
    ),
    "a result of the library with other axes than it declares": (
        f"{NAMED}def read(U: Axes[Users, Taste], I: Axes[Items, Taste]) -> Axes[Items, Users]:\n{LIKED}",
        "from branded import as_axes\nfrom lib import Items, Taste, Users\n"
        "I = as_axes(Tensor.ones(3, 2), Items, Taste)\n"
        "print(read(as_axes(Tensor.ones(4, 2), Users, Taste), I).numpy(), vmap(lambda x: x)(I))\n",
        ("lib", "    return vmap"),
    ),
    "a wrong out_axes, and then the shape that the program expects": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        "X = Tensor.rand(3, 2)\nr = vmap(lambda x: read(x) * 2, out_axes=None)(X)\nassert r.shape == (3, 2)\n",
        ("app", "r ="),
    ),
    "a wrong out_axes, and then a vmap of the result": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        "X, P = Tensor.rand(3, 2), Tensor.rand(3, 2)\nbest = vmap(lambda p: p.argmax(), out_axes=None)(P)\n"
        "r = vmap(lambda x, b: read(x)[b])(X, best)\n",
        ("app", "best ="),
    ),
    "two vmaps in a line that call a reader": (
        READ,
        "X = Tensor.rand(3, 2)\nr = vmap(lambda x: x * read(x))(X), vmap(lambda y: read(y) * y)(X)\n",
        ("app", "r ="),
    ),
    "two names for the brand of a reader": (
        "def read(x: Tensor) -> Tensor:\n    return x / x.sum().item()\n",
        'X = Tensor.rand(3, 2)\nr = vmap(read, axis_name="a")(X), vmap(read, axis_name="b")(X)\n',
        ("app", "r ="),
    ),
    "a read in the first vmap of a file, which is in a function": (
        "from collections.abc import Callable\nclass Unit:\n    def __init__(self, w: Tensor) -> None:\n"
        "        self.w = w\n    def __call__(self, x: Tensor) -> Tensor:\n        return read(self.w @ x)\n"
        "def read(x: Tensor) -> Tensor:\n    return x / x.sum().item()\n"
        "def mapped(f: Callable[[Tensor], Tensor], xs: Tensor) -> Tensor:\n    return vmap(f)(xs)\n",
        "from lib import Unit, mapped\nx = Tensor([[1.0, 2.0], [3.0, 4.0]])\n"
        "def f() -> None:\n    vmap(Unit(x))(x)\n    mapped(Unit(x), x)\n",
        ("app", "    vmap(Unit"),
    ),
    "a store that two vmaps in a line call": (
        "kept: list[Tensor] = []\ndef read(x: Tensor) -> Tensor:\n    kept.append(x)\n    return x\n",
        'X = Tensor.rand(3, 2)\nr = vmap(read, axis_name="a")(X), vmap(read, axis_name="b")(X)\n',
        ("app", "r ="),
    ),
    "a read that two functions map": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        "def unit(x: Tensor) -> Tensor:\n    return read(x) / x.sum().item()\n"
        "def f(X: Tensor) -> Tensor:\n    return vmap(unit)(X)\n"
        "def g(X: Tensor) -> Tensor:\n    return vmap(lambda x: vmap(unit)(x))(X)\n",
        ("app", "    return read"),
    ),
    "two readers in a line, which are two mistakes": (
        "def read(x: Tensor) -> Tensor:\n    return x / x.sum().item()\n"
        "def other(y: Tensor) -> Tensor:\n    return y / y.max().item()\n",
        "from lib import other\nX = Tensor.rand(3, 2)\nr = vmap(read)(X), vmap(other)(X)\n",
        ("app", "r ="),
        ("app", "r ="),
    ),
    "a vmap in the library of a reader": (
        f"{READ}def reads(X: Tensor) -> Tensor:\n    return vmap(lambda x: x * read(x))(X)\n",
        "from lib import reads\nprint(reads(Tensor.rand(3, 2)).numpy(), vmap(lambda x: x)(Tensor.rand(2)))\n",
        ("lib", "    return x.sum()"),
    ),
    "a test in a function with rows": (
        f"{ROWS}def read(x: Vec[S]) -> Vec[S]:\n    if x.sum() > 0:\n        return x\n    return -x\n",
        "X = Tensor.rand(3, 2)\nprint(vmap(read)(X).numpy())\nprint(vmap(lambda x: read(x) * 2)(X).numpy())\n",
        ("lib", "    if x.sum()"),
    ),
    "a read in a result with rows": (
        READ,
        f"{ROWS}def total(x: Vec[S]) -> Vec[S]:\n    return x.sum().item()\nprint(vmap(total)(Tensor.rand(3, 2)))\n",
        ("app", "    return x.sum()"),
    ),
    "a read in an argument": (
        "def scale(x: Tensor, by: Tensor) -> Tensor:\n    return x * by\nread = scale\n",
        "print(vmap(lambda x: read(x, x.sum().item()))(Tensor.rand(3, 2)).numpy())\n",
        ("app", "print"),
    ),
    "zip for outer, and then an axis of the result": (
        "def read(a: Tensor, b: Tensor) -> Tensor:\n    return (a - b).square().sum()\n",
        "A, B = Tensor.rand(5, 3), Tensor.rand(4, 3)\nD = vmap(read)(A, B)\nprint(D.min(axis=1).numpy())\n",
        ("app", "D ="),
    ),
    "two arguments in the wrong order": (
        'def read(x: Tensor, p: dict[str, Tensor]) -> Tensor:\n    return x * p["w"]\n',
        'P = {"w": Tensor.rand(2)}\nprint(vmap(lambda x: x)(read(P, Tensor.rand(2))))\n',
        ("app", "print"),
    ),
    "two batched arguments of a function of one example": (
        "def read(x: Tensor, y: Tensor) -> Tensor:\n    return x.item() * y\n",
        f"{ROWS}print(vmap(lambda a: read(a, a))(Tensor.rand(3)))\n",
        ("app", "print"),
    ),
    "two mapped arguments of a function of one example": (
        "def read(x: Tensor, y: Tensor) -> Tensor:\n    return x.item() * y\n",
        f"{ROWS}print(vmap(read)(Tensor.rand(3), Tensor.rand(3)))\n",
        ("app", "print"),
    ),
    "one axis of three arguments": (
        "def read(a: Tensor, b: Tensor, c: Tensor) -> Tensor:\n    return (a * b * c).sum()\n",
        "from branded import Axes, Brand\nclass Q(Brand): ...\nclass K(Brand): ...\nq: Axes[Q]\nk: Axes[K]\n"
        "print(vmap(read)(q, k, k).numpy())\n",
        ("app", "print"),
    ),
    "an axis in two operands": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        "def two(x: Tensor) -> Tensor:\n    return x.mean(axis=1) / x.var(axis=1)\n"
        "print(vmap(two)(read(Tensor.rand(3, 2))).numpy())\n",
        ("app", "    return x.mean"),
    ),
    "a key that a dict does not have": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        "from typing import TypedDict\nclass P(TypedDict):\n    w: Tensor\n"
        'def f(p: P, x: Tensor) -> Tensor:\n    return read(x) * p["c"]\nprint(vmap(f, (None, 0)))\n',
        ("app", '    return read(x) * p["c"]'),
    ),
    "a name that is not open, and a result without the name": (
        'from branded import psum\ndef read(x: Tensor) -> Tensor:\n    return psum(x, "rows")\n',
        'print(vmap(lambda x: read(x), axis_name="row", out_axes=None)(Tensor.rand(3)))\n',
        ("app", "print"),
    ),
    "a result with other axes than declared": (
        "def read(x: Tensor) -> Tensor:\n    return x\n",
        f"{ROWS}from branded import Axes\nclass N(Brand): ...\nclass M(Brand): ...\n"
        "def gram(x: Axes[N, M]) -> Axes[N, M]:\n    return vmap(lambda a: a * 2, out_axes=1)(x)\n"
        "def total(x: Axes[N, M]) -> Axes[N, M]:\n    return gram(x) + x\n",
        ("app", "    return vmap"),
    ),
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, int]]]:
    """The files and lines of the errors of each program."""
    folder = tmp_path_factory.mktemp("one")
    for i, (library, application, *_) in enumerate(CASES.values()):
        package = folder / f"p{i}"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "lib.py").write_text(HEAD + library)
        text = f"from lib import read\n{application}".replace("from lib", f"from p{i}.lib")
        (package / "app.py").write_text(HEAD + text)
    warm(folder / ".mypy_cache", MYPY, STRICT)
    (folder / "mypy.ini").write_text(STRICT)
    command = [*MYPY, "--output", "json", *(f"p{i}" for i in range(len(CASES)))]
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120).stdout
    found: dict[str, list[tuple[str, int]]] = {name: [] for name in CASES}
    for m in map(json.loads, out.splitlines()):
        if m["severity"] == "error":
            path = Path(m["file"])
            found[[*CASES][int(path.parent.name[1:])]].append((path.stem, m["line"]))
    return found


@pytest.mark.parametrize("name", CASES)
def test_one_mistake_gives_one_error(name: str, errors: dict[str, list[tuple[str, int]]]) -> None:
    library, application, *places = CASES[name]
    texts = {"lib": HEAD + library, "app": f"{HEAD}\n{application}"}
    wanted = [
        (file, next(n for n, line in enumerate(texts[file].splitlines(), 1) if line.startswith(start)))
        for file, start in places
    ]
    assert errors[name] == wanted
