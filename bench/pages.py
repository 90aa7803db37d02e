"""`python -m bench pages`: which pages of figures are older than the code that they measure, and how to renew them.

The second line of a page is its stamp: the day, the commit, the machine, and a digest of the sources that it is about.
A page is stale if the sources have another digest today.  Comments, docstrings and formatting do not count.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
STAMP = re.compile(r"^Measured on (\d{4}-\d\d-\d\d) at commit (\w+), ([^;\n]+); sources (\w+)\.$", re.MULTILINE)
CPU = ("branded/backends/cpu", "branded/compile", "branded/tinygrad_compat")
"""The code that determines the speed of a compiled program on the CPU."""
CORE = ("branded/core", "branded/dispatch.py", "branded/graph")
"""The code that determines the graph of a mapped function."""


class Page(NamedTuple):
    """A page of figures: the files that it is about, and the commands that write it."""

    sources: tuple[str, ...]
    commands: tuple[str, ...]


def _page(command: str, *sources: str) -> Page:
    return Page(sources, (command,))


PAGES = {
    "JAX.md": _page("{jax} -m bench jax --clock cpu --markdown {page}", "bench/against", *CPU, *CORE),
    "CLIFFS.md": _page("{jax} -m bench cliffs --markdown {page}", "bench/cliffs.py", *CPU),
    "EAGER.md": _page("{jax} -m bench eager --markdown {page}", "bench/eager.py", *CPU, *CORE),
    "RESULTS.md": _page(
        "{jax} -m bench replay trace --peers --markdown {page}",
        *("bench/replay.py", "bench/trace.py", "bench/workloads.py", "bench/peers.py", *CPU, *CORE),
    ),
    "LOOPS.md": _page("{jax} -m bench.loops --markdown {page}", "bench/loops.py", "branded/control_flow", *CPU),
    "LINALG.md": _page(
        "{jax} -m bench linalg arrays --seconds 1 --markdown {page}",
        *("bench/linalg.py", "bench/arrays.py", "branded/linalg", "branded/functions", *CPU),
    ),
    "COLUMNS.md": _page("{python} -m bench columns --markdown {page}", "bench/columns.py", "tests/conformance", *CORE),
    "SCALE.md": _page("{python} -m bench.scale --minutes 60 --markdown {page}", "bench/scale.py", *CPU, *CORE),
    "PLAIN.md": _page(
        "{python} -m bench.plain --markdown {page}",
        *("bench/plain.py", "bench/naive.toml", "branded/vec.pyi", "branded/_plain.pyi", "tests/types"),
    ),
    "TYPECHECK.md": Page(
        ("bench/typecheck.py", "bench/mapbugs", "branded/mypy"),
        (
            "{python} -m bench.typecheck --markdown {page}",
            "{python} -m bench.typecheck --more --markdown {page}",
            "{python} -m bench.typecheck --foreign rich hypothesis _pytest --markdown {page}",
        ),
    ),
    "GPU.md": _page("{python} -m bench gpu", "bench/gpu.py", *CORE, "branded/compile"),
    "brandbugs/RESULTS.md": _page(
        "{python} -m bench.brandbugs --markdown {page}", "bench/brandbugs", "branded/mypy", "branded/vec.pyi"
    ),
    "axesbugs/RESULTS.md": _page(
        "{python} -m bench.axesbugs --jax {jax} --markdown {page}", "bench/axesbugs", "branded/mypy", "branded/core"
    ),
}
"""The pages in `bench/`."""


def code_of(path: Path) -> bytes:
    """Return the part of a file that affects its behaviour: Python without docstrings, comments and whitespace."""
    text = path.read_text(encoding="utf-8")
    if path.suffix not in (".py", ".pyi"):
        return text.encode()
    lines = text.splitlines()
    begins = True
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token, after in itertools.pairwise(tokens):
        is_text = begins and token.type == tokenize.STRING and after.type == tokenize.NEWLINE
        if token.type == tokenize.COMMENT or is_text:
            (first, column), (last, _) = token.start, token.end
            lines[first - 1 : last] = [lines[first - 1][:column], *[""] * (last - first)]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return "".join("".join(lines).split()).encode()


def files(sources: Sequence[str], root: Path = ROOT) -> Iterator[Path]:
    """Yield the files of some sources in a fixed order, without pages and caches."""
    for source in sources:
        found = sorted((root / source).rglob("*")) if (root / source).is_dir() else [root / source]
        yield from (p for p in found if p.is_file() and p.suffix in (".py", ".pyi", ".toml", ".c", ".ini", ".txt"))


def digest(sources: Sequence[str], root: Path = ROOT) -> str:
    """Return a digest of the code of some sources."""
    made = hashlib.sha256()
    for path in files(sources, root):
        made.update(path.relative_to(root).as_posix().encode() + b"\0" + code_of(path))
    return made.hexdigest()[:12]


def stamped(text: str, stamp: str) -> str:
    """Return a page with this stamp below its title, instead of any earlier stamp."""
    title, _, rest = STAMP.sub("", text).partition("\n")
    return f"{title}\n\n{stamp}\n\n{rest.lstrip()}"


def stamp_of(name: str, machine: str, commit: str, day: str, root: Path = ROOT) -> str:
    """Return the stamp of a page that is measured now."""
    return f"Measured on {day} at commit {commit}, {machine}; sources {digest(PAGES[name].sources, root)}."


def stamp(name: str, machine: str | None) -> None:
    """Put a stamp of now into a page."""
    path = ROOT / "bench" / name
    words = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    made = stamp_of(name, machine or here(), commit, f"{datetime.now(UTC):%Y-%m-%d}")
    path.write_text(stamped(path.read_text(encoding="utf-8"), made), encoding="utf-8")


def here() -> str:
    """Return a name of this machine."""
    from bench.measure import processor

    return processor()


def renew(name: str, python: str, jax: str) -> None:
    """Measure a page anew."""
    for command in PAGES[name].commands:
        words = shlex.split(command.format(python=python, jax=jax, page=f"bench/{name}"))
        subprocess.run(words, cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    stamp(name, None)


def status() -> Iterator[tuple[str, str, bool]]:
    """Yield each page with its stamp, and whether it is stale."""
    for name, page in PAGES.items():
        found = STAMP.search((ROOT / "bench" / name).read_text(encoding="utf-8"))
        if found is None:
            yield name, "no stamp", True
        else:
            day, commit, machine, made = found.groups()
            yield name, f"{day}, {commit}, {machine}", made != digest(page.sources)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the state of all pages, or renew some; not 0 with `--check` if a page is stale."""
    parser = argparse.ArgumentParser(prog="python -m bench pages", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="such as JAX.md; by default those that are stale")
    parser.add_argument("--renew", action="store_true", help="measure the pages again, which takes hours for all")
    parser.add_argument("--stamp", action="store_true", help="write a stamp of now into pages just measured")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a page is stale")
    parser.add_argument("--machine", help="for --stamp: the machine that measured, if it is another one")
    parser.add_argument("--jax", default=".venv/jax/bin/python", help="a Python with JAX and torch (%(default)s)")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.pages if name not in PAGES]:
        parser.error(f"there is no page {unknown[0]}; there are {', '.join(PAGES)}")
    states = [state for state in status() if not options.pages or state[0] in options.pages]
    for name, said, is_stale in states:
        print(f"{name:22} {'stale  ' if is_stale else 'current'}  {said}")
    stale = [name for name, _, is_stale in states if is_stale]
    for name in options.pages or stale:
        if options.renew:
            renew(name, sys.executable, options.jax)
        elif options.stamp:
            stamp(name, options.machine)
    return int(options.check and bool(stale))
