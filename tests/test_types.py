"""What mypy says of tests/types, with the plugin, is what the comments there say.

A program is a section that begins with `# --- what it is about`.  `# E: text` on a line wants an error that has the text,
`# N: text` a note; any other error or note is a failure.  The notes under an error are part of it.  All files are
checked by one run of mypy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mypy import api

HERE = Path(__file__).parent / "types"
FILES = sorted(HERE.glob("*/*.py"))
WANTED = re.compile(r"([EN]): (.*?)(?=  [EN]: |$)")


class Program(NamedTuple):
    file: Path
    title: str
    first: int
    last: int


def programs() -> Iterator[Program]:
    for file in FILES:
        lines = file.read_text().splitlines()
        starts = [i for i, line in enumerate(lines, 1) if line.startswith("# --- ")]
        for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
            yield Program(file, lines[start - 1].removeprefix("# --- "), start, end - 1)


PROGRAMS = list(programs())


@pytest.fixture(scope="session")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """What mypy says of each line of each file."""
    cache = tmp_path_factory.mktemp("mypy")
    config = ["--config-file", str(HERE / "mypy.ini"), "--cache-dir", str(cache), "--output", "json"]
    out, err, _ = api.run([*config, "--show-traceback", *map(str, FILES)])
    assert not err, err
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for line in out.splitlines():
        message = json.loads(line)
        found.setdefault((str(Path(message["file"]).resolve()), message["line"]), []).append(message)
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.file.parent.name}/{p.file.stem}: {p.title}")
def test_program(program: Program, said: dict[tuple[str, int], list[dict[str, Any]]]) -> None:
    lines = program.file.read_text().splitlines()
    errors = 0
    for n in range(program.first, program.last + 1):
        wanted = WANTED.findall(lines[n - 1].partition("  # ")[2])
        got = [
            (m["severity"][0].upper(), f"{m['message']}\n{m['hint'] or ''}")
            for m in said.get((str(program.file), n), [])
        ]
        errors += sum(kind == "E" for kind, _ in wanted)
        for kind, text in wanted:
            match = next((g for g in got if g[0] == kind and text in g[1]), None)
            assert match, f"{program.file.name}:{n}: wanted {kind}: {text}\nmypy said {got}"
            got.remove(match)
        assert not got, f"{program.file.name}:{n}: {got}"
    assert (errors > 0) == (program.file.parent.name == "rejected"), "accepted programs have no errors, rejected ones do"


def test_there_are_enough_programs() -> None:
    kinds = [p.file.parent.name for p in PROGRAMS]
    assert kinds.count("accepted") >= 60
    assert kinds.count("rejected") >= 80
    titles = [(p.file, p.title) for p in PROGRAMS]
    assert len(set(titles)) == len(titles)
