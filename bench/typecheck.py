"""What the mypy plugin costs: mypy with it against mypy without it, on one generated program.

    python -m bench.typecheck [--markdown FILE]

The program has 1,000 lines and 200 vmaps, in named functions that mypy accepts with and without the plugin.  A cold
run has an empty cache, a warm one the cache of the run before; `edited` is a warm run after a change of one line.  Each
figure is the median of the seconds of CPU of several runs, the two kinds of run in turn; the plugin is compiled to
bytecode, as an installed package is.  Twelve nested lambdas, which no checker can follow
without the plugin, are timed as the difference to one lambda.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

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
    """The seconds of CPU that one run of mypy takes."""
    config = file.parent / f"{plugin}.ini"
    config.write_text("[mypy]\nstrict = True\n" + ("plugins = branded.mypy\n" if plugin else ""))
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(cache), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode != 0:
        raise SystemExit(f"mypy does not accept the program:\n{done.stdout[-2000:]}{done.stderr}")
    return took


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
                deep.write_text(nested(depth) + f"# {i}\n")
                fresh.append(check(deep, cache, plugin=True))
            times.append(statistics.median(fresh))
    lines += ["", f"Twelve nested lambdas take {times[1] - times[0]:.2f} s more to check than one."]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.typecheck", description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    lines = [f"A program of {len(program().splitlines()):,} lines and {2 * BLOCKS} vmaps.", "", *measure()]
    print("\n".join(lines))
    if args.markdown:
        Path(args.markdown).write_text("# What the mypy plugin costs\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
