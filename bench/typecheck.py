"""Measure the cost of the mypy plugin: mypy with and without it, on one generated program.

    python -m bench.typecheck [--markdown FILE] [--more | --foreign PACKAGE ...]

The program has 1,000 lines and 200 vmaps, in named functions that mypy accepts with and without the plugin.  A cold
run has an empty cache, and a warm run the cache of the run before. `edited` is a warm run after a change of one line.
Each figure is the median CPU time of several runs in seconds; runs with and without the plugin alternate. The plugin is
compiled to bytecode, as an installed package is. Twelve nested lambdas, which only the plugin can follow, are timed as
the difference to one lambda. `--foreign` checks installed packages that do not use `branded`, each with an empty cache;
mypy's output must not change. `--more` also writes the tables of mistakes that `bench.mapbugs` and `bench.plainbugs`
find, and times a project of 200 files and functions that call each other.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.mapbugs import __main__ as mapbugs
from bench.plainbugs import __main__ as plainbugs

HEAD = '''"""A generated program."""

from __future__ import annotations

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, unvec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
'''
BLOCK = """
def distance{i}(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return ((a - b).square().sum() / ((a * a).sum() + (b * b).sum() + {i})).sqrt()

def row{i}(a: Vec[S], ys: Tensor) -> Vec[S]:
    return vmap(distance{i}, in_axes=(None, 0))(a, ys).softmax().exp().sum() * 0.5

def table{i}(xs: Tensor, ys: Tensor) -> Tensor:
    return unvec(vmap(row{i}, in_axes=(0, None))(xs, ys) * 1.0) + xs.mean()

"""
BLOCKS = 100
FOREIGN_ROUNDS = 7
NAMES = "abcdefghijkl"


def program(blocks: int = BLOCKS) -> str:
    """A program of ten lines and two vmaps a block."""
    return HEAD + "".join(BLOCK.format(i=i) for i in range(blocks))


def nested(depth: int) -> str:
    """`vmap(lambda a: vmap(lambda b: … a + b + …)(x))(x)`"""
    body = " + ".join(NAMES[:depth])
    for name in reversed(NAMES[:depth]):
        body = f"vmap(lambda {name}: {body})(x)"
    return f"from tinygrad import Tensor\n\nfrom branded import vmap\n\nx = Tensor([1.0])\nz: Tensor = {body}\n"


def check(file: Path, cache: Path, plugin: bool) -> float:
    """The seconds of CPU that one run of mypy takes, which accepts the program."""
    took, out = run(file, cache, plugin, "strict = True\n")
    if out:
        raise SystemExit(f"mypy does not accept the program:\n{out[-2000:]}")
    return took


def run(file: Path, cache: Path, plugin: bool, options: str) -> tuple[float, str]:
    """Return the CPU time of one run of mypy in seconds, and its output unless it succeeds."""
    config = file.parent / f"{plugin}.ini"
    config.write_text(f"[mypy]\n{options}" + ("plugins = branded.mypy\n" if plugin else ""))
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(cache), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in (0, 1):
        raise SystemExit(f"{done.stdout[-2000:]}{done.stderr}")
    return took, done.stdout if done.returncode else ""


def compare(
    runs: int, prepare: Callable[[Path, Path], None], file: Path, caches: dict[bool, Path]
) -> tuple[float, float]:
    """The medians without and with the plugin, of runs in turn."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(runs):
        for plugin in (False, True):
            prepare(file, caches[plugin])
            times[plugin].append(check(file, caches[plugin], plugin))
    return statistics.median(times[False]), statistics.median(times[True])


def empty(file: Path, cache: Path) -> None:
    shutil.rmtree(cache, ignore_errors=True)


def leave(file: Path, cache: Path) -> None:
    """A warm run."""


def edit(file: Path, cache: Path) -> None:
    file.write_text(file.read_text() + "\nlast = 1\n")


def measure() -> list[str]:
    lines = ["| run | without | with | ratio |", "|---|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        file, caches = root / "program.py", {False: root / "without", True: root / "with"}
        file.write_text(program())
        for name, runs, prepare in (("cold", 3, empty), ("warm", 9, leave), ("edited", 9, edit)):
            without, with_ = compare(runs, prepare, file, caches)
            lines.append(f"| {name} | {without:.2f} s | {with_:.2f} s | {with_ / without:.2f} |")
        deep, cache = root / "deep.py", caches[True]
        times = []
        for depth in (1, len(NAMES)):
            deep.write_text(nested(depth))
            check(deep, cache, plugin=True)
            fresh = []
            for i in range(3):
                # mypy takes a file of the same length and second for unchanged
                deep.write_text(nested(depth) + "#" * (i + 1) + "\n")
                fresh.append(check(deep, cache, plugin=True))
            times.append(statistics.median(fresh))
    lines += ["", f"Twelve nested lambdas take {times[1] - times[0]:.2f} s more to check than one."]
    return lines


FOREIGN = (
    f"Packages that do not use `branded`, with an empty cache: the least CPU time of {FOREIGN_ROUNDS} runs without and "
    "with the plugin, in seconds."
)


def lines_of(own: Sequence[str], kept: str) -> list[str]:
    """Write the figures of the program, and keep those of foreign packages."""
    return ["\n".join(own), *([f"{FOREIGN}\n\n{kept}"] if kept else [])]


def foreign(packages: Sequence[str]) -> list[str]:
    """Measure the cost of the plugin on packages that do not use it, and check that mypy's output is the same."""
    lines = ["| package | files | without | with | ratio | said |", "|---|---:|---:|---:|---:|---|"]
    for name in packages:
        found = importlib.util.find_spec(name)
        if found is None or not found.submodule_search_locations:
            raise SystemExit(f"there is no package {name}")
        times, said = {False: list[float](), True: list[float]()}, dict[bool, set[str]]()
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / name
            shutil.copytree(found.submodule_search_locations[0], copy)
            for _ in range(FOREIGN_ROUNDS):
                for plugin in (False, True):
                    empty(copy, cache := Path(folder) / "cache")
                    took, out = run(copy, cache, plugin, "ignore_missing_imports = True\nfollow_imports = silent\n")
                    times[plugin].append(took)
                    said[plugin] = {line for line in out.splitlines() if ": error:" in line}
        without, with_ = min(times[False]), min(times[True])
        same = "the same" if said[False] == said[True] else "NOT the same"
        n = sum(1 for _ in Path(found.submodule_search_locations[0]).rglob("*.py"))
        lines.append(f"| {name} | {n} | {without:.2f} s | {with_:.2f} s | {with_ / without:.2f} | {same} |")
    return lines


PROJECT_FILES = 200
PROJECT = f"## A project of {PROJECT_FILES} files"
GROWTH = "## Functions that call each other"
_MODULE = """
from tinygrad import Tensor

from branded import vmap
{imports}

def norm{i}(x: Tensor) -> Tensor:
    return x / (x.square().sum() + {i}).sqrt()


def score{i}(w: Tensor, x: Tensor) -> Tensor:
    return (norm{i}(w) * norm{i}(x)).sum(){used}


class Model{i}:
    def __init__(self, n: int) -> None:
        self.w = Tensor.ones(n)

    def __call__(self, X: Tensor) -> Tensor:
        return vmap(score{i}, in_axes=(None, 0))(self.w, X)


def table{i}(X: Tensor, Y: Tensor) -> Tensor:
    return vmap(lambda x: vmap(lambda y: score{i}(x, y))(Y))(X)


def main() -> None:
    X, Y = Tensor.rand(5, 3), Tensor.rand(4, 3)
    print(table{i}(X, Y).shape, Model{i}(3)(X).shape)
"""


def write_project(folder: Path) -> None:
    """Write files that each use functions of the two before."""
    for i in range(PROJECT_FILES):
        before = [j for j in (i - 1, i - 2) if j >= 0]
        imports = "".join(f"from m{j} import score{j}\n" for j in before)
        used = "".join(f" + score{j}(w, x) * 0.5" for j in before[:1]) if i % 10 else ""
        (folder / f"m{i}.py").write_text(_MODULE.format(i=i, imports=imports, used=used))


def project() -> list[str]:
    """The seconds of CPU for the files of a project, from an empty cache and from a full one."""
    lines = ["| run | without | with | ratio |", "|---|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder, "code")
        code.mkdir()
        write_project(code)
        caches = {plugin: Path(folder, str(plugin)) for plugin in (False, True)}
        for name, runs, prepare in (("cold", 1, empty), ("warm", 3, leave)):
            without, with_ = compare(runs, prepare, code, caches)
            lines.append(f"| {name} | {without:.2f} s | {with_:.2f} s | {with_ / without:.2f} |")
    return lines


def calling(n: int) -> str:
    """A program of functions that each call the two before, and ten vmaps of the last ones."""
    head = "from tinygrad import Tensor\n\nfrom branded import vmap\n\n"
    first = "".join(f"def f{i}(x: Tensor) -> Tensor:\n    return x + {i}\n\n" for i in range(2))
    rest = "".join(f"def f{i}(x: Tensor) -> Tensor:\n    return f{i - 1}(x) + f{i - 2}(x)\n\n" for i in range(2, n))
    return (
        head + first + rest + "X = Tensor.ones(3, 2)\n" + "".join(f"y{k} = vmap(f{n - 1 - k})(X)\n" for k in range(10))
    )


def growth() -> list[str]:
    """The seconds of CPU for functions that call each other, with the libraries in the cache."""
    lines = ["| functions | without | with | with, for a function |", "|---:|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        file, caches = Path(folder, "calling.py"), {plugin: Path(folder, str(plugin)) for plugin in (False, True)}
        for n in (80, 150, 600):
            file.write_text(calling(n))
            for plugin, cache in caches.items():
                check(file, cache, plugin)
            without, with_ = compare(3, edit, file, caches)
            lines.append(f"| {n} | {without:.2f} s | {with_:.2f} s | {1000 * with_ / n:.1f} ms |")
    return lines


def with_sections(page: str, sections: dict[str, list[str]]) -> str:
    """Replace the sections of a page that begin with these headings, or add them at its end."""
    for heading, lines in sections.items():
        before, _, after = page.partition(f"{heading}\n")
        rest = after.partition("\n## ")
        page = "\n".join([before.rstrip(), "", heading, "", *lines, "", (rest[1] + rest[2]).strip()]).rstrip() + "\n"
    return page


def more() -> dict[str, list[str]]:
    """The sections about mistakes, a project, and growth."""
    heading, _, *found = mapbugs.lines()
    plain_heading, _, *found_by_others = plainbugs.lines()
    return {
        heading: found,
        plain_heading: found_by_others,
        PROJECT: ["CPU time in seconds; each file uses functions of the two before it.", "", *project()],
        GROWTH: ["Each function calls the two before it; ten are mapped. CPU time in seconds.", "", *growth()],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.typecheck", description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", metavar="FILE", help="also write the table to this file")
    parser.add_argument("--foreign", metavar="PACKAGE", nargs="+", help="packages to check instead of the program")
    parser.add_argument("--more", action="store_true", help="mistakes found, a project of 200 files, and growth")
    args = parser.parse_args()
    if args.more:
        sections = more()
        print(with_sections("", sections))
        if args.markdown:
            Path(args.markdown).write_text(with_sections(Path(args.markdown).read_text(), sections))
        return
    own = f"A program of {len(program().splitlines()):,} lines and {2 * BLOCKS} vmaps."
    lines = [FOREIGN, "", *foreign(args.foreign)] if args.foreign else [own, "", *measure()]
    print("\n".join(lines))
    if args.markdown:
        page = Path(args.markdown).read_text() if Path(args.markdown).exists() else ""
        kept = page.partition(FOREIGN)[0 if args.foreign else 2].strip()
        sections = "".join(page.partition("\n## ")[1:]).strip()
        parts = (
            (kept, "\n".join(lines), sections)
            if args.foreign
            else ("# Cost of the mypy plugin", *lines_of(lines, kept))
        )
        Path(args.markdown).write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
