"""Run type checkers on the programs in tests/types/plain; `python -m tests.pages.checkers` writes the page.

A program is a section that begins with `# --- title`.  The programs in `accepted` are correct; each one in `rejected`
has a mistake on a line that ends with `# E`.  The docstring of a file names its kind of programs.  Every checker runs
once over all files; only errors count, not warnings.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from tests.support.warm import MYPY, STRICT, warm

TESTS = Path(__file__).resolve().parents[1]
PLAIN = TESTS / "types" / "plain"
PAGE = TESTS.parent / "docs" / "checkers.md"
FILES = [str(file.relative_to(PLAIN)) for file in sorted(PLAIN.glob("*/*.py"))]
PROMISED = ("results", "arguments", "reads", "returns")  # the kinds of mistakes that every checker must find
ERRORS = ("error", "major", "critical")  # `major` and `critical` are ty's
WORDS = {True: ("**false alarm**", "ok"), False: ("**missed**", "found")}

Place: TypeAlias = tuple[str, int]  # a file and a line


class Program(NamedTuple):
    """A section of a file; `places` are all its lines if it is correct, otherwise the lines with the mistake."""

    file: str
    title: str
    is_right: bool
    places: frozenset[Place]

    def passes(self, errors: set[Place]) -> bool:
        """Return whether a correct program is accepted, or a mistake is found at its line."""
        return self.is_right == self.places.isdisjoint(errors)


class Checker(NamedTuple):
    """A type checker: its command, and how to parse its output."""

    name: str
    command: tuple[str, ...]
    messages: Callable[[str], Iterable[dict[str, Any]]]
    place: Callable[[dict[str, Any]], Place]

    def errors(self, folder: Path, files: Iterable[str]) -> Iterator[tuple[Place, str]]:
        """Yield the place and the text of each error; raise FileNotFoundError if the checker is not installed."""
        with TemporaryDirectory() as cache:
            if _PLUGIN in self.command:
                warm(Path(cache), MYPY, STRICT)
            env = {**os.environ, "MYPY_CACHE_DIR": cache, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
            call = [str(Path(sys.executable).parent / self.command[0]), *self.command[1:], *files]
            done = subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{self.name}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        for m in self.messages(done.stdout):
            if m["severity"] in ERRORS:
                file, line = self.place(m)
                yield (os.path.relpath(folder / file, folder), line), m.get("message") or m["description"]

    def run(self) -> set[Place]:
        """Return the place of each error in the programs of this module."""
        return {place for place, _ in self.errors(PLAIN, FILES)}


_STRICT = ("--strict", "--warn-unreachable", "--enable-error-code=truthy-bool")
_MYPY = ("mypy", "--output=json", *_STRICT)
_PLUGIN = f"--config-file={TESTS / 'types' / 'mypy.ini'}"
_ALONE = f"--config-file={TESTS / 'types' / 'plain.ini'}"
_PYRIGHT = (f"--pythonpath={sys.executable}", "--outputjson")
_PYREFLY = (f"--python-interpreter-path={sys.executable}", "--output-format=json", "--preset=default")
_TY = (f"--python={sys.prefix}", "--output-format=gitlab")


def _flat(m: dict[str, Any]) -> Place:
    return m.get("file") or m["path"], m["line"]


def _lines(out: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in out.splitlines() if line)


def _range(m: dict[str, Any]) -> Place:
    return m["file"], m["range"]["start"]["line"] + 1


CHECKERS = (
    Checker("mypy + plugin", (*_MYPY, _PLUGIN), _lines, _flat),
    Checker("mypy", (*_MYPY, _ALONE), _lines, _flat),
    Checker("pyright", ("pyright", *_PYRIGHT), lambda out: json.loads(out)["generalDiagnostics"], _range),
    Checker("basedpyright", ("basedpyright", *_PYRIGHT), lambda out: json.loads(out)["generalDiagnostics"], _range),
    Checker("pyrefly", ("pyrefly", "check", *_PYREFLY), lambda out: json.loads(out)["errors"], _flat),
    Checker(
        "ty", ("ty", "check", *_TY), json.loads, lambda m: _flat(m["location"] | m["location"]["positions"]["begin"])
    ),
)

_MYPY_ALONE = frozenset({"mypy"})
_PLAIN = frozenset(c.name for c in CHECKERS[1:])
ALARMS = {  # the correct programs that are rejected: by which checkers, and why
    "a result of vmap is a Tensor, without unvec": (_MYPY_ALONE, "to mypy without the plugin it is a `Vec[Never]`"),
    "a result of brand.unvec is a Tensor, without unvec": (
        _MYPY_ALONE,
        "to mypy without the plugin it is a `Vec[Never]`",
    ),
    "a named brand is removed from the result": (_MYPY_ALONE, "to mypy without the plugin it is a `Vec[Never]`"),
    "a gradient of a function with type variables is a Tensor, without unvec": (
        _MYPY_ALONE,
        "to mypy without the plugin it is a `Vec[Never]`",
    ),
    "a carry that gains a brand in a step": (
        _PLAIN - {"ty"},
        "annotate the initial carry with all brands: `c: Vec[S] = init`",
    ),
    "a dict of tensors for a dict of batched values": (
        _MYPY_ALONE,
        "write `dict[str, Vec[Never]]` for `dict[str, Tensor]`",
    ),
    "fields of a generic class are Tensors": (_MYPY_ALONE, "to mypy without the plugin it is a `Vec[Never]`"),
    "isinstance of a Vec": (
        {"pyright", "basedpyright", "pyrefly"},
        "to them `Vec` is an alias of the class `Tensor`; write `isinstance(a, Tensor)`, which is the same",
    ),
    "map, which Python has too": ({"pyrefly"}, "it considers Python's `map` too"),
}
UNFOUND = {  # incorrect programs of the promised kinds that a checker misses
    "a list of tensors": {"ty"},
    "a list of tensors is declared": {"ty"},
    "a dict of tensors is declared": {"ty"},
}


def programs() -> Iterator[Program]:
    for file in FILES:
        lines = (PLAIN / file).read_text().splitlines()
        starts = [n for n, line in enumerate(lines, 1) if line.startswith("# --- ")]
        for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
            is_right, title = file.startswith("accepted"), lines[start - 1].removeprefix("# --- ")
            places = ((file, n) for n in range(start, end) if is_right or lines[n - 1].endswith("  # E"))
            yield Program(file, title, is_right, frozenset(places))


PROGRAMS = list(programs())


def run(names: Container[str] | None = None) -> dict[str, set[Place]]:
    """Return the errors of these checkers by name, or of all."""
    return {checker.name: checker.run() for checker in CHECKERS if names is None or checker.name in names}


INTRODUCTION = """\
# Type checkers without the plugin

Every type checker finds four kinds of batching mistakes without a plugin: a result with other brands than declared, a
`Vec` that is passed to a function of tensors, a read of a `Vec`, and a brand that leaves its scope by the return
type. This works because `Vec[S]` is covariant in its brands, because every method of `Tensor` has a type with brands,
and because a `Tensor` is a `Vec[Never]`. One exception: in a list or a dict display such as `[a]`, ty accepts a
`Vec[S]` as a `Tensor`.

Without the plugin `vmap(f)` has the type of `f`, and returns a `Vec[Never]` for plain tensors. For pyright,
basedpyright, pyrefly and ty this is the same as `Tensor`, and they print it as `Vec[Never, Any]` or `Vec`. For mypy
without the plugin `Tensor` is a subclass of it. The function `unvec` converts, and does nothing at run time:

```python
from branded import Vec, unvec, vmap
from branded.typing import S
from tinygrad import Tensor


def double(a: Vec[S]) -> Vec[S]:
    return a * 2


doubled: Tensor = unvec(vmap(double)(Tensor([1, 2])))
assert doubled.tolist() == [2, 4]
```

In pyright and pyrefly, a parameter of a mapped lambda has the type `ExampleArgument`, and a result computed from it is
an `Example`: a tensor that must not be read. A parameter may also be a tree, so its items and attributes are `Any`.
These types need a lambda whose parameters are all mapped, and that returns an `Example`, a number or a pair. In other
lambdas, and in all lambdas in ty, parameters have no types. Write a named function with type variables there. Three
correct programs are errors without the plugin:

- a call of a function of plain tensors with a `Vec`: use `lift`
- `grad` of a lambda that passes a dict or a TypedDict to another function: use a named function
- in pyright, `Tensor.sin(x)` of a `Vec`: use `x.sin()`

The mypy plugin gives each `vmap` a fresh brand and removes it from the result. It therefore rejects a body that accepts
only tensors, axes that do not fit, and a brand that is kept by a function. It infers the parameters of lambdas, and
`unvec` is not needed. It finds all uses as a truth value (`if`, `bool()`, `and`); other checkers find most.

In the tables, *false alarm* is an error in a correct program, and *missed* is a mistake without an error. The correct
programs are written for checkers without a plugin, except those in *limits*. Only errors count, not warnings. mypy
runs with `--strict --warn-unreachable --enable-error-code=truthy-bool`, pyrefly with `--preset=default`, the others
with their defaults. Two files that call untyped functions of tinygrad begin with `# mypy: allow-untyped-calls`.

`python -m tests.pages.checkers` writes this page from `tests/types/plain`.
"""


def page(errors: Mapping[str, set[Place]]) -> str:
    return "\n".join([INTRODUCTION, *_totals(errors), *_kinds(errors)])


def _totals(errors: Mapping[str, set[Place]]) -> Iterator[str]:
    wrong = [p for p in PROGRAMS if not p.is_right]
    parts = {
        "correct programs accepted": [p for p in PROGRAMS if p.is_right],
        "incorrect programs found": wrong,
        "incorrect programs of the four promised kinds found": [p for p in wrong if Path(p.file).stem in PROMISED],
    }
    yield from _head("")
    yield _row("version", (version(c.name.split()[0]) for c in CHECKERS))
    for title, some in parts.items():
        yield _row(title, (f"{sum(p.passes(errors[c.name]) for p in some)} of {len(some)}" for c in CHECKERS))


def _kinds(errors: Mapping[str, set[Place]]) -> Iterator[str]:
    for file in FILES:
        kind = (PLAIN / file).read_text().splitlines()[0].strip('"')
        mine = [p for p in PROGRAMS if p.file == file]
        verdict = "Correct" if mine[0].is_right else "Incorrect"
        yield from ("", f"## {verdict} programs: {Path(file).stem}", "", kind, "")
        yield from _head("program")
        for p in mine:
            yield _row(p.title, (WORDS[p.is_right][p.passes(errors[c.name])] for c in CHECKERS))
        if known := [p.title for p in mine if p.title in ALARMS]:
            yield from ("", *(f"- *{title}*: {ALARMS[title][1]}." for title in known))
    yield ""


def _head(first: str) -> Iterator[str]:
    yield _row(first, (c.name for c in CHECKERS))
    yield f"|{'---|' * (len(CHECKERS) + 1)}"


def _row(first: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join([first, *cells])} |"


if __name__ == "__main__":
    PAGE.write_text(page(run()))
    print(f"wrote {PAGE}")
