"""The texts for tinygrad in docs/upstream: `python -m tests.tinygrad_compat.upstream [NAME ...]` runs their programs.

Each program runs in plain tinygrad and in a copy with the change of its page applied, or with `branded` if the page has
no change. The command prints the pages whose outputs differ from the recorded ones.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import tinygrad

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "upstream"
INSTALLED = Path(tinygrad.__file__).parent
SECONDS = 120
"""The time limit of a program."""
ELSEWHERE = {"vectorizer": "clang 22 vectorizes loops over wrapping indices incorrectly"}
"""The patches whose fault is not tinygrad's, with the fault."""
OWNER = re.compile(r"Fixed here by the (?P<kind>patch|hook|module) `(?P<name>[\w/.]+)`\.(?: [^\n]+)?")
_HEAD = """\
# Reports for tinygrad

Each page is the text of a report about a fault of tinygrad 0.14.0. It has a program with its output, the correct
output, and a change of tinygrad. `python -m tests.tinygrad_compat.upstream` runs the programs in plain tinygrad and
in copies with these changes.
[Patches to tinygrad](../tinygrad.md) explains how the same faults are fixed here.

| report | fixed here by |
|---|---|
"""
_PAGE = re.compile(
    r"""# (?P<title>[^\n]+)\n\n(?P<owner>[^\n]+)\n\n(?P<text>.+?)\n\n"""
    r"""## Program\n\n```py\n(?P<program>.+?)\n```\n\n"""
    r"""tinygrad 0\.14\.0 prints:\n\n```text\n(?P<plain>.*?)\n```\n\n"""
    r"""It should print:\n\n```text\n(?P<right>.*?)\n```\n\n"""
    r"""## Change\n\n(?P<why>.*?)(?:```diff\n(?P<diff>.+?)\n```\n)?\n## Upstream\n\n(?P<upstream>.+)""",
    re.DOTALL,
)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Page:
    """A page of docs/upstream: an issue with its program, both outputs, and the change."""

    path: Path
    title: str
    owner: str
    program: str
    plain: str
    right: str
    diff: str
    why: str = ""


class Hunk(NamedTuple):
    """A part of a diff: its file, its first line there, and the lines before and after the change."""

    file: str
    line: int
    before: list[str]
    after: list[str]


def pages() -> list[Page]:
    return [read(path) for path in sorted(FOLDER.glob("[0-9]*.md"))]


def index() -> str:
    """Return the text of the page that lists the reports."""
    rows = [f"| [{p.title}]({p.path.name}) | `{OWNER.fullmatch(p.owner)['name']}` |" for p in pages()]  # type: ignore[index]
    return _HEAD + "".join(f"{row}\n" for row in rows)


def read(path: Path) -> Page:
    """Parse a page, or raise ValueError."""
    if (match := _PAGE.fullmatch(path.read_text(encoding="utf-8"))) is None:
        raise ValueError(f"{path.name} does not have the parts of a page")
    part = match.groupdict()
    names = ("title", "owner", "program", "plain", "right", "why")
    return Page(path, diff=part["diff"] or "", **{name: part[name].strip() for name in names})


def hunks(diff: str) -> Iterator[Hunk]:
    """Parse a unified diff, or raise ValueError if a hunk does not have the lines that its header counts."""
    file, current = "", None
    counts = 0, 0
    for line in diff.splitlines():
        if line.startswith("--- "):
            continue
        if line.startswith("+++ "):
            file = line.removeprefix("+++ b/")
        elif (match := _HUNK.match(line)) is not None:
            if current is not None:
                yield _complete(current, counts)
            current = Hunk(file, int(match[1]), [], [])
            counts = int(match[2] or 1), int(match[4] or 1)
        elif current is None or line[:1] not in {"", " ", "+", "-"}:
            raise ValueError(f"not a line of a diff: {line!r}")
        else:
            if not line.startswith("+"):
                current.before.append(line[1:])
            if not line.startswith("-"):
                current.after.append(line[1:])
    if current is not None:
        yield _complete(current, counts)


def _complete(hunk: Hunk, counts: tuple[int, int]) -> Hunk:
    if (len(hunk.before), len(hunk.after)) != counts:
        raise ValueError(f"{hunk.file}, line {hunk.line}: the header counts {counts} lines")
    return hunk


def apply(diff: str, root: Path) -> dict[Path, str]:
    """Return the changed files of the tinygrad in `root`, or raise ValueError if a hunk does not match its line."""
    changed: dict[Path, list[str]] = {}
    for hunk in reversed([*hunks(diff)]):  # from the end of each file, so that the line numbers stay valid
        path = root / hunk.file
        lines = changed.setdefault(path, path.read_text(encoding="utf-8").splitlines())
        start, stop = hunk.line - 1, hunk.line - 1 + len(hunk.before)
        if lines[start:stop] != hunk.before:
            raise ValueError(f"{hunk.file}, line {hunk.line}: the lines of the diff are not there")
        lines[start:stop] = hunk.after
    return {path: "\n".join(lines) + "\n" for path, lines in changed.items()}


def plain_copy(folder: Path) -> Path:
    """Return a folder with a copy of the installed tinygrad."""
    root = folder / "plain"
    if not root.exists():
        shutil.copytree(INSTALLED, root / "tinygrad", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def patched_copy(folder: Path, page: Page) -> Path:
    """Return a folder with a tinygrad that has the change of a page; unchanged files are links."""
    plain = plain_copy(folder)
    root = folder / f"{page.path.stem}-{hashlib.sha256(page.diff.encode()).hexdigest()[:8]}"
    if not root.exists():
        shutil.copytree(plain / "tinygrad", root / "tinygrad", copy_function=os.link)
        for path, text in apply(page.diff, root).items():
            path.unlink()
            path.write_text(text, encoding="utf-8")
            shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
    return root


def run(page: Page, root: Path, settings: Mapping[str, str]) -> str:
    """Run the program of a page with the packages in `root`, and return its output or the way it ended."""
    with tempfile.TemporaryDirectory() as work:
        script = Path(work) / "program.py"
        script.write_text(page.program + "\n", encoding="utf-8")
        env = {**os.environ, "DEV": "CPU", "PARALLEL": "0", "PYTHONPATH": str(root), **settings}
        try:
            done = subprocess.run(
                [sys.executable, str(script)], cwd=work, env=env, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"(runs for more than {SECONDS} seconds)"
    output = done.stdout.rstrip().splitlines()
    if done.returncode < 0:
        output.append(f"({signal.Signals(-done.returncode).name})")
    elif done.returncode:
        output.append(done.stderr.rstrip().splitlines()[-1])
    return "\n".join(output).replace(work, "/tmp").replace(settings["CC"], "clang")


def main() -> int:
    from tests.project import packages

    parser = argparse.ArgumentParser(
        prog="python -m tests.tinygrad_compat.upstream", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("names", nargs="*", help="the names of pages, without number and suffix; all by default")
    parser.add_argument("--index", action="store_true", help="only write the page that lists the reports")
    options = parser.parse_args()
    if options.index:
        (FOLDER / "index.md").write_text(index(), encoding="utf-8")
        return 0
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = {**packages.compiler(folder), "CACHEDB": f"{folder}/cache.db"}
        for page in pages():
            if options.names and page.path.stem.split("-", 1)[1] not in options.names:
                continue
            plain = run(page, plain_copy(folder), settings)
            if page.diff:
                right = run(page, patched_copy(folder, page), settings)
            else:
                right = run(replace(page, program=f"import branded\n{page.program}"), ROOT, settings)
            found = [(page.plain, plain), (page.right, right)]
            for expected, output in found:
                if output != expected:
                    wrong += 1
                    print(f"{page.path.name}\n  expected: {expected!r}\n  found:    {output!r}", flush=True)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
