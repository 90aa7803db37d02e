"""Notebooks for mypy: their code cells as one Python file, and the cell and line of each of its lines."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SUFFIX = ".ipynb"
PYTHON_MAGICS = {"capture", "debug", "prun", "time", "timeit"}
"""The cell magics under which a cell is still Python."""
CODES = {"no-redef", "top-level-await"}
"""The codes that are not errors in a notebook: cells redefine names, and await outside of functions."""
NAMES = ("display", "get_ipython")
"""The names that IPython defines in each notebook."""


class Place(NamedTuple):
    """The place of a line: its cell (from 1, also cells of text), its line in the cell, and its line in the file."""

    cell: int
    line: int
    in_file: int


class Notebook(NamedTuple):
    """A notebook, and its code as a Python file; `places` has an entry for each line of that file."""

    path: str
    python: Path
    places: tuple[Place, ...]

    def place(self, line: int) -> Place:
        return self.places[min(max(line, 1), len(self.places)) - 1]

    def line_of(self, cell: int, line: int) -> int:
        """Return the line of the Python file for a line of a cell."""
        return next((i for i, p in enumerate(self.places, 1) if (p.cell, p.line) == (cell, line)), 0)

    def rename(self, text: str) -> str:
        """Return a text in which the lines of the Python file are lines of cells: `notes.ipynb:cell 2:1`."""
        named = re.compile(rf"(?:[^\s(\"']*[/\\])?{re.escape(self.python.name)}(?::(\d+))?")
        return named.sub(lambda m: self._named(int(m[1])) if m[1] else self.path, text)

    def _named(self, line: int) -> str:
        at = self.place(line)
        return f"{self.path}:cell {at.cell}:{at.line}"

    def is_of_notebooks(self, code: str, text: str) -> bool:
        """Return whether a message of mypy is an error in a file, but not in a notebook."""
        return code in CODES or any(text == f'Name "{name}" is not defined' for name in NAMES)


def find_notebooks(path: str) -> list[str]:
    """Return the notebooks of a path: itself, or those of a folder."""
    if path.endswith(SUFFIX):
        return [path]
    found = Path(path).rglob(f"*{SUFFIX}") if Path(path).is_dir() else ()
    return sorted(str(p) for p in found if not any(part.startswith(".") for part in p.relative_to(path).parts))


def convert(path: str, folder: Path) -> Notebook:
    """Write the code cells of a notebook to a Python file in a folder.

    Raises:
        ValueError: The file is not a notebook.
    """
    text = Path(path).read_text(encoding="utf-8")
    try:
        cells: list[dict[str, Any]] = json.loads(text)["cells"]
        sources = [(n, "".join(c["source"])) for n, c in enumerate(cells, 1) if c["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: this is not a notebook of format 4: {type(error).__name__}: {error}") from None
    code = [(n, line, shown) for n, source in sources for line, shown in enumerate(_python(source).splitlines(), 1)]
    physical = _lines_in_file(text.splitlines(), [line for _, source in sources for line in source.splitlines()])
    places = tuple(Place(n, line, at) for (n, line, _), at in zip(code, physical, strict=True))
    stem, digest = re.sub(r"\W", "_", Path(path).stem), hashlib.sha256(str(Path(path).resolve()).encode()).hexdigest()
    python = folder / f"{stem}_{digest[:8]}.py"
    python.write_text("".join(f"{shown}\n" for _, _, shown in code), encoding="utf-8")
    return Notebook(path, python, places or (Place(1, 1, 1),))


def _python(source: str) -> str:
    """Return a cell without the lines that only IPython reads; the number of lines stays."""
    lines = source.splitlines()
    first = lines[0].strip() if lines else ""
    if first.startswith("%%") and first[2:].split(" ")[0] not in PYTHON_MAGICS:
        return "\n" * len(lines)
    try:
        ast.parse(source)
    except SyntaxError:
        return "\n".join(map(_plain_line, lines))
    return "\n".join(lines)


def _plain_line(line: str) -> str:
    bare = line.strip()
    if timed := re.match(r"%time\s+(.+)", bare):
        return line[: len(line) - len(line.lstrip())] + timed[1]
    is_magic = bare.startswith(("%", "!", "?")) or bare.endswith("?") or re.match(r"\w+\s*=\s*[%!]", bare)
    return line[: len(line) - len(line.lstrip())] + "pass" if is_magic else line


def _lines_in_file(text: list[str], lines: list[str]) -> Iterator[int]:
    """Find the lines of the code in the JSON of the notebook, where each is a string."""
    at = 0
    for line in lines:
        forms = {json.dumps(line, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
        wanted = {f'"{form}{end}"' for form in forms for end in ("", "\\n")}
        found = next((i for i in range(at, len(text)) if text[i].strip().rstrip(",") in wanted), None)
        at = at if found is None else found + 1
        yield max(at, 1)
