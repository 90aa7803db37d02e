"""The mistakes with their results: our programs run now, with mypy; other libraries and pyright are recorded."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from branded.mypy.check import check
from tests.gallery.programs import HERE, PEERS, RECORDED, SIDES, Outcome, agree, run, shown
from tests.support.warm import warm


class Kind(NamedTuple):
    """Mistakes of one kind, with an introduction."""

    name: str
    words: str
    mistakes: list[Mistake]


class Mistake(NamedTuple):
    """A mistake: its entry in `words.toml`, and the result of each of its programs."""

    words: dict[str, Any]
    wrong: Outcome
    right: Outcome
    peers: dict[str, Outcome]
    mypy: str
    """The output of `branded check` for the wrong program as shown."""
    mypy_of_right: str
    pyright: str
    pyright_of_right: str
    strict: Outcome | None
    """What the wrong program does under `vmap(strict=True)`, if that finds the mistake."""
    typed: Outcome | None
    """What the wrong program with more types does, if mypy finds the mistake in it."""
    mypy_of_typed: str

    @property
    def title(self) -> str:
        return str(self.words["title"])

    @property
    def slug(self) -> str:
        """The address of the page, which must not change: `gallery/zip-for-outer.html`."""
        return str(self.words["file"]).replace("_", "-")

    @property
    def wanted(self) -> str:
        return str(self.words["wanted"])

    @property
    def is_found_by_mypy(self) -> bool:
        return re.search(r"^app\.py:\d+: (?!note: )", self.mypy, re.M) is not None

    @property
    def uses(self) -> list[str]:
        """The functions of branded that its programs import."""
        found = {name for outcome in (self.wrong, self.right) for name in _imported(outcome.source)}
        return sorted((x for x in found if x[0].islower()), key=lambda x: (x != "vmap", x))

    @property
    def is_silent(self) -> bool:
        """Whether it runs, is wrong, and mypy does not find it."""
        return "wrong" in self.verdict(self.wrong) and not self.is_found_by_mypy

    def verdict(self, outcome: Outcome | None) -> str:
        """Return the result of a program in one or two words."""
        if outcome is None:
            return "·"
        if outcome.error:
            return "error"
        if agree(outcome.printed, self.wanted):
            return "right"
        return "**wrong**, but warns" if outcome.warning else "**wrong**"


def _imported(source: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module == "branded":
            yield from (alias.name for alias in node.names)


def recorded() -> dict[str, Any]:
    """Return the recorded version and outcomes of each other library and of pyright."""
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


def kinds() -> list[Kind]:
    """Return all mistakes in the order of the page."""
    told = tomllib.loads((HERE / "words.toml").read_text())["kinds"]
    files = [words["file"] for kind in told for words in kind["mistakes"]]
    ours = {f"{side}_{file}": run(shown(HERE / side / f"{file}.py")) for file in files for side in SIDES}
    strict, typed = (
        {file.stem: run(shown(file)) for file in sorted((HERE / folder).glob("*.py"))} for folder in ("strict", "typed")
    )
    more = {f"typed_{file}": outcome.source for file, outcome in typed.items()}
    said = _mypy({name: outcome.source for name, outcome in ours.items()} | more)
    record = recorded()

    def mistake(words: dict[str, Any]) -> Mistake:
        file = words["file"]
        wrong, right = (f"{side}_{file}" for side in SIDES)
        peers = {p: Outcome(**did[file]) for p in PEERS if file in (did := record[p]["outcomes"])}
        says = record["pyright"]["outcomes"]
        told = (said[wrong], said[right], says[wrong]["error"], says[right]["error"])
        stricter = strict.get(file), typed.get(file), said.get(f"typed_{file}", "")
        return Mistake(words, ours[wrong], ours[right], peers, *told, *stricter)

    return [Kind(kind["name"], kind["words"], [*map(mistake, kind["mistakes"])]) for kind in told]


def _mypy(sources: dict[str, str]) -> dict[str, str]:
    """Return the output of `branded check` for each program as if it were app.py, from one mypy run."""
    with TemporaryDirectory() as folder:
        for name, source in sources.items():
            Path(folder, f"{name}.py").write_text(source)
        files = [str(Path(folder, f"{name}.py")) for name in sources]
        warm(Path(folder, "cache"))
        text, _ = check(["--config-file=", "--cache-dir", str(Path(folder, "cache")), *files])
    said = dict.fromkeys(sources, "")
    name = ""
    for line in text.replace(folder + "/", "").splitlines():
        if start := re.match(r"(\w+)\.py:", line):
            name = start[1]
        elif not line.startswith(" "):  # an empty line precedes the summary, which is the last line
            name = ""
        if name:
            said[name] += line.replace(f"{name}.py", "app.py") + "\n"
    return said
