"""Build the packages twice, check them, install them into fresh environments, use and remove them: `make packages`.

    python -m tests.project.packages --python python3.11 --python python3.12

Prints a table, and fails if a row does.  New environments install packages from the network.
"""

from __future__ import annotations

import argparse
import doctest
import hashlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import branded
from branded.tinygrad_compat import zig_clang
from tests.plain.compare import clang

ROOT = Path(__file__).parents[2]
TOOLS = ("build>=1.2", "check-wheel-contents>=0.6", "hatchling>=1.27", "twine>=6")
EPOCH = "1577836800"
"""The time that is written into the packages: 2020-01-01, independent of the time of the build."""
WANTED = (
    "branded/py.typed",
    "branded/vec.pyi",
    "branded/_plain.pyi",
    "tinygrad-stubs/tensor.pyi",
    "LICENSE",
    "branded/learn/data/LICENSE-digits.txt",
)
TESTED = ("conftest.py", "pyproject.toml", "tests/conftest.py", "bench/workloads.py", "docs/index.md")
"""Files of the sdist that the tests need."""


def compiler(folder: Path) -> dict[str, str]:
    """Return the variable CC for processes without `branded`: its default compiler, as one program in `folder`."""
    command = zig_clang.command()
    return {"CC": command[0] if len(command) == 1 else str(clang(folder) / "clang")}


def run(*words: object, cwd: Path | None = None, **env: str) -> str:
    given = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")} | env
    out = subprocess.run(list(map(str, words)), cwd=cwd, env=given, capture_output=True, text=True, check=False)
    if out.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))[:200]}\n{out.stdout[-2000:]}{out.stderr[-2000:]}")
    return out.stdout


STUBS = Path("stubs", "standalone")
"""The package tinygrad-stubs, for programs that do not use branded."""


def build(python: Path, source: Path, to: Path) -> list[Path]:
    """Build the sdists of branded and of tinygrad-stubs, and the wheels from them."""
    for package in (source, source / STUBS):
        run(python, "-m", "build", "--no-isolation", "--outdir", to, package, SOURCE_DATE_EPOCH=EPOCH)
    return sorted(to.iterdir())


def the(name: str, packages: list[Path]) -> Path:
    """The package with a name of this form."""
    (found,) = (path for path in packages if path.match(name))
    return found


def stubs_alone(wheel: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """The stubs in an environment without branded: mypy and pyright accept the examples, and find the mistakes."""
    here = folder / "stubs-alone"
    venv.create(here, with_pip=True)
    own = here / "bin" / "python"
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, *CHECKERS)
    examples = sorted((ROOT / STUBS / "examples").glob("*.py"))
    correct = [path for path in examples if path.stem != "mistakes"]
    checks = {
        "mypy --strict": (own, "-m", "mypy", "--strict"),
        "pyright": (here / "bin" / "pyright", "--pythonpath", own),
    }
    for name, command in checks.items():
        run(*command, *correct, cwd=folder)
        try:
            run(*command, *examples, cwd=folder)
        except RuntimeError:
            yield f"{wheel.name} alone, {name}: {len(correct)} programs without errors, one with", "found"
        else:
            raise RuntimeError(f"{name} finds no mistake")


_DEV = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
CHECKERS = ("mypy", *(requirement for requirement in _DEV if requirement.startswith("pyright")))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as file:
        return {re.sub(r"^branded-[^/]*\.dist-info/licenses/", "", name) for name in file.namelist()}


def first_block() -> str:
    """Return the first program of the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    examples = doctest.DocTestParser().get_examples(found[1])
    return "".join(f"assert repr({e.source.strip()}) == {e.want.strip()!r}\n" if e.want else e.source for e in examples)


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if "__pycache__" not in p.parts}


def import_time(python: Path, what: str, cwd: Path) -> float:
    """Return the milliseconds to import a module in a new process, the median of nine."""
    program = f"import time; t = time.perf_counter(); import {what}; print(time.perf_counter() - t)"
    return statistics.median(float(run(python, "-c", program, cwd=cwd)) for _ in range(9)) * 1e3


def installed(python: str, wheel: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Install into a fresh environment without extras, run the README's first program, and find nothing left behind."""
    here, version = folder / Path(python).name, run(python, "-c", "import platform; print(platform.python_version())")
    run(python, "-m", "venv", here)
    own = here / "bin" / "python"
    before = files(here)
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    env = {"HOME": str(home), "XDG_CACHE_HOME": str(home), **compiler(folder)}
    run(own, "-W", "error", "-c", first_block(), cwd=folder, **env)
    yield f"Python {version.strip()}: installed without extras, the README's first program", "runs"
    alone, both = import_time(own, "tinygrad", folder), import_time(own, "branded", folder)
    yield f"Python {version.strip()}: import tinygrad, import branded", f"{alone:.0f} ms, {both:.0f} ms"
    run(own, "-m", "branded", "cache", "--clear", "all", cwd=folder, **env)
    if (shown := run(own, "-m", "branded", "cache", cwd=folder, **env)).count("\n") != 1:
        raise RuntimeError(f"the cache is not empty: {shown}")
    yield f"Python {version.strip()}: branded cache --clear all", "empty"
    run(own, "-m", "pip", "uninstall", "--quiet", "--yes", "branded")
    left = {p for p in files(here) - before if "branded" in p.lower() or p.startswith("tinygrad-stubs")}
    left |= {p for p in files(home) if "branded" in p}
    if left:
        raise RuntimeError(f"left behind: {sorted(left)}")
    yield f"Python {version.strip()}: uninstalled", "nothing left"


def oldest(wheel: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Install the oldest versions of our requirements that we allow."""
    here = folder / "oldest"
    venv.create(here, with_pip=True)
    own = here / "bin" / "python"
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, *OLDEST)
    run(own, "-c", first_block(), cwd=folder, **compiler(folder))
    yield f"with {', '.join(OLDEST)}", "runs"


OLDEST = ("numpy==1.26.0", "typing_extensions==4.12.0", "tinygrad==0.14.0")


def report(pythons: list[str], folder: Path) -> Iterator[tuple[str, str]]:
    tools = folder / "tools"
    venv.create(tools, with_pip=True)
    python = tools / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS)
    first = build(python, ROOT, folder / "first")
    yield from ((path.name, f"{path.stat().st_size / 1e6:.1f} MB") for path in first)
    with tarfile.open(the("branded-*.tar.gz", first)) as file:
        file.extractall(folder / "unpacked", filter="data")
    second = build(python, next((folder / "unpacked").iterdir()), folder / "second")
    if list(map(digest, first)) != list(map(digest, second)):
        raise RuntimeError("built twice, from the checkout and from the sdist, the packages differ")
    yield "built twice, from the checkout and from the sdist", "the same bytes"
    wheel, stubs = the("branded-*.whl", first), the("tinygrad_stubs-*.whl", first)
    if missing := [name for name in WANTED if name not in names(wheel)]:
        raise RuntimeError(f"not in the wheel: {missing}")
    yield "stubs, py.typed, licenses in the wheel", "there"
    unpacked = next((folder / "unpacked").iterdir())
    if missing := [name for name in TESTED if not (unpacked / name).exists()]:
        raise RuntimeError(f"not in the sdist: {missing}")
    yield "the tests, and all that they need, in the sdist", "there"
    run(python, "-m", "twine", "check", "--strict", *first)
    yield "twine check --strict", "passed"
    # W002: the licenses of data are stored next to the data and in the metadata
    run(tools / "bin" / "check-wheel-contents", "--toplevel", "branded,tinygrad-stubs", "--ignore", "W002", wheel)
    run(tools / "bin" / "check-wheel-contents", "--toplevel", "tinygrad-stubs", stubs)
    yield "check-wheel-contents", "passed"
    yield from stubs_alone(stubs, folder)
    for each in pythons:
        yield from installed(each, wheel, folder)
    yield from oldest(wheel, folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make packages", description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="the folder for the packages, for a release")
    parser.add_argument("--python", action="append", help="an interpreter to install for (default: this one)")
    args = parser.parse_args()
    print(f"branded {branded.__version__}\n\n| what | result |\n|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for what, result in report(args.python or [sys.executable], Path(folder)):
            print(f"| {what} | {result} |", flush=True)
        if args.keep is not None:
            args.keep.mkdir(parents=True, exist_ok=True)
            for path in sorted(Path(folder, "first").iterdir()):
                shutil.copy(path, args.keep)
                print(f"\n{digest(path)}  {args.keep / path.name}", end="")
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
